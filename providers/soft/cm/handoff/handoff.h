/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Handing a connection request on (CR-20): what handoff.c, which hands on, and door.c, which takes
 * in, have in common.
 *
 * Inside a process the loop of the other device is given second descriptors of what carries the
 * connection, TCP socket, or Unix socket and memory, and the MPA request. To another process of the
 * user the same goes through an abstract Unix socket. Each device that listens has one there, its
 * door, in one of SOFT_DOORS places per user and address. All are asked at once; a conversation is
 *   ask      who hands on: does somebody listen on this qualifier?
 *   answer   0 or a negative errno
 *   give     the MPA request, and the descriptor or the two
 *   answer   ditto; once 0 is sent the request belongs to the other side
 * Both check that the other one is a process of the same user. Who hands on and is left without the
 * last answer shuts its socket before it looks for the answer once more: if none is there, none can
 * be sent after that, and the request is still its own.
 */
#ifndef SOFT_HANDOFF_H
#define SOFT_HANDOFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>

#include "dapl/transport.h"
#include "providers/soft/wire/wire.h"

struct soft_dev;
struct soft_listener;

/* A listener comes and goes; the latter on the loop. */
void soft_handoff_enter(struct soft_listener *listener);
void soft_handoff_leave(struct soft_listener *listener);
int soft_handoff(struct tp_conn *conn, uint64_t conn_qual);
/* Once per device. */
void soft_door_open(struct soft_dev *dev);
/* On the loop. */
void soft_door_close(struct soft_dev *dev);

/* ---- Between its two files ---- */

enum {
	SOFT_DOORS = 32,
	SOFT_VISITORS = 8, /* conversations of a door at one time */
};

#define SOFT_HANDOFF_ASK  0x7564617001000001u
#define SOFT_HANDOFF_GIVE 0x7564617001000002u

/* One packet each; integers of the host. */
struct soft_handoff_ask {
	uint64_t kind;
	uint64_t qual;
};

struct soft_handoff_give {
	uint64_t kind;
	uint8_t frame[WIRE_MPA_FRAME_MAX]; /* as long as it is */
};

/* The name of a door; returns its length. */
socklen_t soft_door_name(const struct soft_dev *dev, uint32_t place, struct sockaddr_un *name);
/* Other users' processes that have doors' names, which are anybody's to take. */
struct soft_door_others {
	uint32_t num;
	uid_t user; /* the last one's */
};

/* Whether a Unix socket's other end is another process of the same user. Notes who is another's. */
bool soft_door_ours(int fd, struct soft_door_others *others);
/* Says that something failed, if there are others. */
void soft_door_taken(const struct soft_dev *dev, const char *what,
		     const struct soft_door_others *others);

/* Whether somebody listens on a qualifier of the device. Any thread. */
bool soft_handoff_listens(struct soft_dev *dev, uint64_t qual);
/*
 * Takes a request in as if it had arrived at the qualifier. The descriptors are taken unless this
 * fails: -ECONNREFUSED, -ENOMEM, -EPROTO. On the loop of the device.
 */
int soft_handoff_take(struct soft_dev *dev, uint64_t qual, const int *fds, int num,
		      const uint8_t *frame, size_t len);
/* Closes them. */
void soft_handoff_close(const int *fds, int num);

#endif
