/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Two devices of the software engine in one process, driven through dapl/transport.h alone. */
#ifndef TEST_SOFT_UTIL_H
#define TEST_SOFT_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dapl/transport.h"
#include "providers/soft/base/addr.h"
#include "providers/soft/cm/cm.h"
#include "providers/soft/cm/listener.h"
#include "providers/soft/base/config.h"
#include "providers/soft/base/device.h"
#include "providers/soft/engine/conn.h"
#include "providers/soft/engine/cq.h"
#include "providers/soft/engine/drive.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/engine/srq.h"
#include "providers/soft/link/link.h"
#include "providers/soft/memory/stag.h"
#include "providers/soft/memory/window.h"
#include "providers/soft/wire/mpa.h"

enum {
	DEADLINE_MS = 30000,
	MAX_EVENTS = 8,
	MAX_DATA = 600,
};

/* One open device with a listener. */
struct node {
	struct dapl_loop *loop;
	struct tp_device *dev;
	struct tp_pd *pd;
	struct tp_listener *listener;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Under lock. */
	int refuse; /* what conn_request returns */
	unsigned requests;
	struct tp_conn *request[64];
	uint8_t data[MAX_DATA]; /* of the last one */
	uint32_t data_len;
	unsigned turns, asyncs;
	enum tp_async_event async;
	void *async_object;
};

struct event {
	enum tp_conn_event event;
	unsigned turn; /* among all of the node */
	int err;
	uint32_t len;
	uint8_t data[MAX_DATA];
};

/* One QP with its CQs and its connection. */
struct end {
	struct node *node;
	struct tp_cq *send_cq, *recv_cq;
	struct tp_qp *qp;
	struct tp_qp_attr attr; /* it was made with */
	struct tp_conn *conn;
	bool foreign_cq; /* recv_cq is the caller's */
	/* Under node->lock. */
	struct event events[MAX_EVENTS];
	unsigned num_events, next_event;
	atomic_uint cq_events;
};

struct end_options {
	uint32_t depth, sge, read_in, read_out;
	bool one_cq, ud;
	struct tp_cq *recv_cq; /* NULL: one of its own; else it stays the caller's */
};

void node_open(struct node *node, const char *params);
/* Fails the test if something is left behind. */
void node_close(struct node *node);
/* The next request, within the deadline. */
struct tp_conn *node_request(struct node *node);
/* What conn_request returns from now on. */
void node_refuse(struct node *node, int rc);
unsigned node_asyncs(struct node *node);
/* Waits until so many came. */
void node_await_asyncs(struct node *node, unsigned num);

/* CQs, each with the lock that the core gives it. */
void new_cq(struct tp_device *dev, uint32_t cqe, void *owner, struct tp_cq **cq);
void free_cq(struct tp_cq *cq);
void arm_cq(struct tp_cq *cq, enum tp_arm how);
void disarm_cq(struct tp_cq *cq);
bool cq_sleeps(struct tp_cq *cq);

void end_create(struct end *end, struct node *node, const struct end_options *options);
void end_destroy(struct end *end);
/* connect, to the listener of a node. */
void end_connect(struct end *end, struct node *to, const void *data, uint32_t len);
/* Connects two ends and waits for both ESTABLISHED. */
void ends_connect(struct end *active, struct end *passive);
/* Takes the next connection event, which must be this one. */
struct event *end_event(struct end *end, enum tp_conn_event event);
/* Ditto, either one. */
struct event *end_event2(struct end *end, enum tp_conn_event a, enum tp_conn_event b);
/* Ditto, whichever it is. */
struct event *end_any_event(struct end *end);
/* How many came so far. */
unsigned end_events(struct end *end);
/* No further event within ms. */
void end_quiet(struct end *end, int ms);
/* Whether its connection has buffers beside those that are always there. */
bool end_has_buffers(struct end *end);
/* Waits, within the deadline, until neither has. */
void ends_lose_buffers(struct end *a, struct end *b);
/* Releases the connection and makes the QP idle. */
void end_reset(struct end *end);

/* Takes the next completion by polling; fails after the deadline. */
struct tp_wc take_wc(struct tp_cq *cq);
/* Ditto by arming and sleeping on the descriptor. */
struct tp_wc wait_wc(struct end *end, struct tp_cq *cq);
bool try_wc(struct tp_cq *cq, struct tp_wc *wc);
/* Nothing is there, so many times. */
void poll_in_vain(struct tp_cq *cq, unsigned times);
#define assert_wc(wc, id, state)                             \
	do {                                                 \
		struct tp_wc wc_ = (wc);                     \
		assert_int_equal(wc_.wr_id, (id));           \
		assert_int_equal(wc_.status, TP_WC_##state); \
	} while (0)

struct tp_mr *reg(struct node *node, void *addr, size_t len, uint32_t access);
void dereg(struct tp_mr *mr);
#define FULL (TP_ACCESS_LOCAL_WRITE | TP_ACCESS_REMOTE_READ | TP_ACCESS_REMOTE_WRITE)

void post_recv(struct end *end, uint64_t id, void *addr, uint32_t len, struct tp_mr *mr);
void post_send(struct end *end, uint64_t id, const void *addr, uint32_t len, struct tp_mr *mr,
	       uint32_t flags);
void post_rdma(struct end *end, enum tp_opcode opcode, uint64_t id, const void *addr, uint32_t len,
	       struct tp_mr *mr, const void *remote, uint32_t rkey, uint32_t flags);

void fill(void *buf, size_t len, unsigned seed);
bool filled(const void *buf, size_t len, unsigned seed);
/* Waits for a short while, by poll(2). */
void pause_ms(int ms);
uint64_t now_ms(void);
/* Open descriptors of this process. */
unsigned count_fds(void);

#endif
