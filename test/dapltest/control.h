/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The connection over which client and server agree on a test and tell how it ended. */
#ifndef DAPLTEST_CONTROL_H
#define DAPLTEST_CONTROL_H

#include "link.h"
#include "pool.h"
#include "reap.h"
#include "wire.h"

#define DT_CONTROL_RECVS 4

struct dt_control {
	struct dt_actor *actor; /* whose failures these are */
	struct dt_link link;
	struct dt_evds evds;
	struct dt_pool out;
	struct dt_pool in;
	uint32_t timeout_s;
};

/* An endpoint with its receives posted. `cm_flags` are further streams of its connection EVD. */
int dt_control_create(struct dt_control *control, struct dt_actor *actor, const struct dt_ia *ia,
		      DAT_PZ_HANDLE pz, uint32_t cm_qlen, DAT_EVD_FLAGS cm_flags,
		      uint32_t timeout_s);
void dt_control_destroy(struct dt_control *control);

/* Where to encode the next message; dt_control_send() sends it and waits until it has left. */
void *dt_control_buffer(struct dt_control *control);
int dt_control_send(struct dt_control *control, size_t length);

/*
 * For the last message of a connection that the receiver ends: it may do so before the sender has
 * its completion, which then says that the message was flushed (FL-2).
 */
int dt_control_send_last(struct dt_control *control, size_t length);

/* Waits for a message and returns its type; it stays readable until dt_control_consumed(). */
int dt_control_recv(struct dt_control *control, void **message);
int dt_control_consumed(struct dt_control *control, void *message);

#endif
