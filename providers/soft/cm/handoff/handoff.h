/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Handing a connection request on (CR-20): to another device of the process, whose loop is given
 * second descriptors of what carries the connection, TCP socket, or Unix socket and memory, and the
 * MPA request; or to another process of the user, where the same goes through an abstract Unix
 * socket. Each device that listens has a server there, under one of SOFT_HANDOFF_NAMES names per
 * user and address. All are asked at once; a session is
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

/* Listens; the first listener of a device opens its server. */
int soft_handoff_listen(struct tp_device *dev, uint64_t conn_qual, void *owner,
			struct tp_listener **out);
int soft_handoff(struct tp_conn *conn, uint64_t conn_qual);
/* Closes the device's server. On the loop. */
void soft_handoff_close(struct soft_dev *dev);

/* ---- Between send.c and receive.c ---- */

enum {
	SOFT_HANDOFF_NAMES = 32,
	SOFT_HANDOFF_SESSIONS = 8, /* of a server at one time */
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

/* The name of a server; returns its length. */
socklen_t soft_handoff_name(const struct soft_dev *dev, uint32_t place, struct sockaddr_un *name);
/* Other users' processes that have servers' names, which are anybody's to take. */
struct soft_handoff_others {
	uint32_t num;
	uid_t user; /* the last one's */
};

/* Whether a Unix socket's other end is another process of the same user. Notes who is another's. */
bool soft_handoff_own_user(int fd, struct soft_handoff_others *others);
/* Says that something failed, if there are others. */
void soft_handoff_explain(const struct soft_dev *dev, const char *what,
			  const struct soft_handoff_others *others);
/*
 * Takes a request in as if it had arrived at the qualifier. The descriptors are taken unless this
 * fails: -ECONNREFUSED, -ENOMEM, -EPROTO. On the loop of the device.
 */
int soft_handoff_take(struct soft_dev *dev, uint64_t qual, const int *fds, int num,
		      const uint8_t *frame, size_t len);
void soft_handoff_close_fds(const int *fds, int num);

#endif
