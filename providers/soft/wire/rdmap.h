/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* RDMAP: read requests, atomics, Terminate, and what a Terminate means for the request it names.
 * Pure. */
#ifndef SOFT_RDMAP_H
#define SOFT_RDMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "providers/soft/wire/ddp.h"

struct soft_read_request {
	uint32_t sink_stag;
	uint64_t sink_to;
	uint32_t size;
	uint32_t source_stag;
	uint64_t source_to;
};

void soft_rdmap_put_read(uint8_t *buf, const struct soft_read_request *read);
void soft_rdmap_get_read(const uint8_t *buf, struct soft_read_request *read);

/* An atomic operation (RFC 7306 section 5.1); integers of the host. */
struct soft_atomic {
	uint8_t code; /* WIRE_ATOMIC_* */
	uint32_t id, stag;
	uint64_t to;
	uint64_t data, mask;
	uint64_t compare, compare_mask;
};

void soft_rdmap_put_atomic(uint8_t *buf, const struct soft_atomic *atomic);
void soft_rdmap_get_atomic(const uint8_t *buf, struct soft_atomic *atomic);
void soft_rdmap_put_value(uint8_t *buf, uint32_t id, uint64_t value);
void soft_rdmap_get_value(const uint8_t *buf, uint32_t *id, uint64_t *value);

/* Whether it is an operation there is. */
static inline bool soft_atomic_known(const struct soft_atomic *atomic)
{
	return atomic->code == WIRE_ATOMIC_FETCH_ADD || atomic->code == WIRE_ATOMIC_CMP_SWAP;
}

/* What the operation leaves where it finds old. */
uint64_t soft_atomic_result(const struct soft_atomic *atomic, uint64_t old);

/* A Terminate message. */
struct soft_terminate {
	struct soft_error error;
	bool has_ddp;
	struct soft_ddp ddp; /* of the offending segment */
	bool has_read;
	struct soft_read_request read; /* the request, advanced to where it stopped */
};

enum {
	SOFT_TERMINATE_MAX = sizeof(struct wire_terminate) + 2 + WIRE_DDP_UNTAGGED_SIZE +
			     sizeof(struct wire_read_request),
};

/* Writes the message's payload; returns its size. */
size_t soft_rdmap_put_terminate(uint8_t *buf, const struct soft_terminate *term);
/* Reads one of len bytes, whatever they are; false if it is too short to say anything. */
bool soft_rdmap_get_terminate(const uint8_t *buf, size_t len, struct soft_terminate *term);

#endif
