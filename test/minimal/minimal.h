/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A transport as small as the contract allows, written from dapl/transport.h alone: memory to
 * memory inside one process. Devices of the process find each other through one table of listeners.
 *
 * One lock covers everything but the completion queues, which have their own and nest inside it.
 * Whoever posts does the copying; requests are executed one after the other, so that reads need no
 * fence.
 */
#ifndef MINIMAL_H
#define MINIMAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl/transport.h"

#define mini_container(ptr, type, member) \
	((struct type *)((char *)(ptr)-offsetof(struct type, member)))

enum {
	MINI_MAX_DATA = 256, /* private data */
	MINI_FIRST_QUAL = 1024,
	MINI_LAST_QUAL = 65535,
};

extern pthread_mutex_t mini_lock;

/* ---- Memory (mem.c) ---- */

/* One side of a transfer: whose segments, and the right that they need, 0 for local read. */
struct mini_side {
	const struct tp_pd *pd;
	const struct tp_sge *sge;
	uint32_t num_sge, access;
};

enum mini_copied {
	MINI_COPIED,
	MINI_BAD_SOURCE,
	MINI_BAD_SINK,
};

/* Whether all segments are what they must be; lock held. */
bool mini_allowed(const struct mini_side *side);
/* Moves len bytes in the order of the segments, each of which is looked at when its turn comes;
 * lock held. */
enum mini_copied mini_copy(const struct mini_side *from, const struct mini_side *to, uint64_t len);

extern const struct dapl_pd_ops mini_pd_ops;
extern const struct dapl_mr_ops mini_mr_ops;

/* ---- Completion queues (cq.c) ---- */

/* False: no room, the completion is lost. */
bool mini_cq_add(struct tp_cq *cq, const struct tp_wc *wc);

extern const struct dapl_cq_ops mini_cq_ops;

/* ---- Queue pairs (qp.c) ---- */

struct mini_work {
	struct mini_work *next;
	struct tp_wr wr;
	struct tp_sge sge[];
};

struct mini_queue {
	struct mini_work *first, **end;
	uint32_t count;
};

enum mini_state {
	MINI_IDLE,
	MINI_CONNECTED,
	MINI_ERROR,
};

struct mini_qp {
	struct tp_qp base;
	struct tp_qp_attr attr;
	enum mini_state state;
	struct mini_queue send, recv;
	struct mini_conn *conn; /* while connected */
};

/* Enters error and flushes; lock held. */
void mini_qp_fail(struct mini_qp *qp);
/* Executes what was posted, as far as possible; lock held. */
void mini_qp_run(struct mini_qp *qp);

extern const struct dapl_qp_ops mini_qp_ops;

/* ---- Connections (cm.c) ---- */

struct mini_conn {
	struct tp_conn base;
	struct mini_qp *qp;	/* NULL: a request that was not accepted */
	struct mini_conn *peer; /* NULL: ended, or not there */
	struct mini_conn *next; /* among a listener's requests */
	struct tp_conn_addr addr;
	struct tp_task task;
	bool active;
	bool told; /* ESTABLISHED is being reported, or was */
	bool open; /* that is done: data may move */
	bool draining;
	bool fault; /* to be reported: the peer's access failed here */
	bool due;   /* to be reported: event */
	enum tp_conn_event event;
	bool busy; /* the task is in an upcall */
	bool dead; /* released there */
	uint32_t len;
	uint8_t data[MINI_MAX_DATA];
};

/* The thread that told the core of an event last; tests find it by dlsym. */
extern _Atomic uintptr_t mini_told_by;
/* Called, if set, before the core is told of a request, and before a QP is destroyed; ditto. */
extern void (*_Atomic mini_before_request)(void), (*_Atomic mini_before_destroy)(void);

/* Ends both sides and tells both; lock held. */
void mini_conn_end(struct mini_conn *conn, enum tp_conn_event event);

extern const struct dapl_cm_ops mini_cm_ops;

#endif
