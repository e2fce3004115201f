/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What tests of the socket connection manager share: a device and a core that are the program's, and
 * peers that are its sockets.
 */
#ifndef VERBS_SOCKET_UTIL_H
#define VERBS_SOCKET_UTIL_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <cmocka.h>

#include "dapl/base/loop.h"
#include "providers/verbs/cm/socket.h"

enum {
	RING = 4,
	WAIT_MS = 10000,
	SOON_MS = 150, /* option handshake, where it is to run out */
	MANY = 40,
	BUDGET = 8,
};

extern struct sk {
	struct vrb_dev dev;
	struct vrb_scm scm;
	struct ibv_context ctx;
	struct ibv_pd ibpd;
	struct vrb_pd pd;
	struct ibv_qp ibqp;
	struct vrb_qp qp;
	struct dapl_lock qp_lock;
	struct vrb_wr ring[2][RING];
	struct tp_listener *listener;
	struct vrb_config config;
	struct ibv_qp_attr rtr, rts; /* as last set */
	enum ibv_qp_state state; /* of the QP, if it is not ready to send; before it is connected */
	enum ibv_qp_state refused; /* once: it is not put in this one */
	uint16_t port;

	/* What the core has heard, on the loop. */
	pthread_mutex_t lock;
	struct tp_conn *request;
	unsigned int num_requests, num_events, seen;
	enum tp_conn_event event[64];
	int err;
	uint8_t data[256];
	uint32_t len;
	bool truncated;
} sk;

int sk_setup(void **state);
int sk_teardown(void **state);

/* Waits until a counter of what the core has heard is at least num. */
void sk_await(const unsigned int *counter, unsigned int num);
/* What one of these, or another number that was heard, is now. */
unsigned int sk_count(const unsigned int *counter);
/* The next event is this one. */
void sk_event(enum tp_conn_event event);
struct tp_conn *sk_request(unsigned int num);
void sk_accept(struct tp_conn *conn, const char *data);
void sk_done(struct tp_conn *conn);

/* A peer: its socket. */
int sk_peer(void);
/* Its message, of QP 0x222 at LID 0x22. */
size_t sk_message(uint8_t bytes[XCHG_MOST], enum scm_op op, uint16_t version, const char *data);
int sk_peer_request(uint16_t version, const char *data);
void sk_put(int fd, const void *bytes, size_t len);
/* How many bytes came until len or the end; -1: none but a reset. */
ssize_t sk_take(int fd, uint8_t *to, size_t len);
void sk_assert_ended(int fd);
void sk_confirm(int fd);

#endif
