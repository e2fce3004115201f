/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Handing a connection request on (CR-20) to another listener of the address, of this process or of
 * another one of the user. Each listener has a Unix socket under an abstract name, made of its
 * address and qualifier. Who hands on connects there and sends one packet: the MPA request, with the
 * descriptors of what carries the connection, TCP socket, or Unix socket and memory. The answer is 0
 * or a negative errno; once 0 is sent the request belongs to the other side.
 *
 * Both check that the other one is a process of the same user. Who hands on and is left without the
 * answer shuts its socket before it looks for the answer once more: if none is there, none can be
 * sent after that, and the request is still its own.
 */
#ifndef SOFT_HANDOFF_H
#define SOFT_HANDOFF_H

#include <stdint.h>

#include "providers/soft/wire/wire.h"

struct soft_listener;
struct tp_conn;

/* The name begins with it, see soft_link_name. */
#define SOFT_HANDOFF_NAME "udapl-handoff"

/* The other side waits for its answer: not on the loop. */
int soft_handoff(struct tp_conn *conn, uint64_t conn_qual);

/* Makes a listener's socket: its descriptor, or a negative errno. */
int soft_handoff_listen(const struct soft_listener *listener);
/* Takes in who has connected to it: 0, or why nobody could be. On the loop, as what follows. */
int soft_handoff_accept(struct soft_listener *listener, int fd);
/* Ends those who have connected. */
void soft_handoff_stop(struct soft_listener *listener);

/* ---- The packet ---- */

enum {
	SOFT_HANDOFF_SESSIONS = 8, /* who may be connected to a listener at one time */
};

#define SOFT_HANDOFF_MAGIC 0x7564617001000003u

/* Integers of the host. */
struct soft_handoff_packet {
	uint64_t magic;
	uint8_t frame[WIRE_MPA_FRAME_MAX]; /* as long as it is */
};

#endif
