/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* DDP segment headers: written, and read with the checks that need no state. Pure. */
#ifndef SOFT_DDP_H
#define SOFT_DDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "providers/soft/wire/wire.h"

/* A segment's header as received. */
struct soft_ddp {
	bool tagged, last;
	uint8_t opcode;
	uint8_t header; /* bytes of it */
	uint16_t ulpdu; /* bytes of header and payload */
	uint32_t stag;	/* tagged; of an untagged one the tag to be invalidated */
	uint64_t to;
	uint32_t qn, msn, mo;		     /* untagged */
	uint8_t raw[WIRE_DDP_UNTAGGED_SIZE]; /* as it came, for Terminate */
};

/* Why a Terminate is sent, or was received (RFC 5040 section 4.8). */
struct soft_error {
	uint8_t layer, etype, code;
};

/* Bytes of the header that starts with this octet. */
static inline size_t soft_ddp_header(uint8_t control)
{
	return control & WIRE_DDP_TAGGED ? WIRE_DDP_TAGGED_SIZE : WIRE_DDP_UNTAGGED_SIZE;
}

/*
 * Reads the header of a ULPDU of which the whole header is there. false: it is not one (versions,
 * opcode and queue that do not fit; RFC 5041 section 7.1, RFC 5040 section 7.2), and error says
 * what to tell the peer; ddp is filled even so.
 */
bool soft_ddp_decode(const uint8_t *buf, uint16_t ulpdu, struct soft_ddp *ddp,
		     struct soft_error *error);

/* Write a header; return its size. */
size_t soft_ddp_put_tagged(uint8_t *buf, uint8_t opcode, bool last, uint32_t stag, uint64_t to);
size_t soft_ddp_put_untagged(uint8_t *buf, uint8_t opcode, bool last, uint32_t qn, uint32_t msn,
			     uint32_t mo);
/* Puts the tag to be invalidated into an untagged one. */
void soft_ddp_put_invalidate(uint8_t *buf, uint32_t stag);

#endif
