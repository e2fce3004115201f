/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Datagrams of UD endpoints, and of the exchange by which they learn of each other, in UDP. Pure:
 * bytes in, bytes out. All numbers are big endian.
 *
 *   active                                        passive
 *   REQUEST, from a socket of its own     ---->   the service point's port
 *                                         <----   WAIT, to a REQUEST that came before
 *                                         <----   REPLY, or REJECT
 *   ACK                                   ---->
 *
 * REQUEST and REPLY say where datagrams go: to their sender's address and the port that they name,
 * with number and key of the queue pair there. They are repeated until they are answered.
 */
#ifndef SOFT_WIRE_UD_H
#define SOFT_WIRE_UD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "providers/soft/wire/wire.h"

enum soft_ud_type {
	SOFT_UD_DATA,
	SOFT_UD_REQUEST,
	SOFT_UD_WAIT,
	SOFT_UD_REPLY,
	SOFT_UD_REJECT,
	SOFT_UD_ACK,
	SOFT_UD_TYPES,
};

enum {
	SOFT_UD_SOLICITED = 0x1, /* DATA: the sender asks for notification */
	SOFT_UD_PROGRAM = 0x2,	 /* REJECT: by the program, whose data it carries */
};

enum {
	SOFT_UD_MAX = 4096, /* bytes of a datagram */
	SOFT_UD_HEADER = 28,
	SOFT_UD_FRAME_MAX = SOFT_UD_HEADER + SOFT_UD_MAX,
	SOFT_UD_QPN_MASK = 0xffffff,
};

struct soft_ud_frame {
	uint8_t type; /* enum soft_ud_type */
	uint8_t flags;
	uint16_t port; /* REQUEST, REPLY: the sender's queue pair's */
	uint32_t qpn;  /* ditto; DATA: the receiver's */
	uint32_t qkey; /* ditto */
	uint64_t id;   /* of the exchange: the active side's choice; DATA: 0 */
	const uint8_t *data;
	uint16_t len;
};

/* Writes the header of a frame of frame->len bytes of data to buf. */
void soft_ud_encode(uint8_t buf[SOFT_UD_HEADER], const struct soft_ud_frame *frame);
/* Takes a whole frame apart; data points into buf. False: it is none. */
bool soft_ud_decode(const uint8_t *buf, size_t len, struct soft_ud_frame *frame);

#endif
