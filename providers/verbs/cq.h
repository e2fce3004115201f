/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completion queues. The device's queue is as long as all requests attached to it, so that it never
 * overflows. What is taken off it for another reason than the core's asking waits in the backlog,
 * which has as many places as the core asked for: more is an overflow of the core's queue (EVD-95).
 */
#ifndef VERBS_CQ_H
#define VERBS_CQ_H

#include "dapl/base/lock.h"
#include "providers/verbs/queue.h"

enum vrb_armed {
	VRB_NOT_ARMED,
	VRB_ARMED_SOLICITED,
	VRB_ARMED_ALL,
};

struct vrb_deferred {
	struct tp_wc wc;
	struct vrb_qp *qp;
};

struct vrb_cq {
	struct tp_cq base;
	struct vrb_dev *dev;
	struct ibv_cq *ibcq;
	int (*ib_poll)(struct ibv_cq *cq, int num, struct ibv_wc *wc); /* the device's own */
	struct ibv_wc ib; /* what the fast path looks at; CQ lock */
	struct ibv_comp_channel *channel;
	/* Under the CQ lock, but for armed and what follows. */

	/* A ring of completions that the core gets before those of the device. */
	struct tp_wc *backlog;
	uint32_t first, count, size;
	/* Those of connections the program does not know to be established yet. */
	struct vrb_deferred *deferred;
	uint32_t num_deferred, deferred_size;

	uint32_t attached; /* work requests that may be outstanding at once */
	uint32_t cqe;	   /* asked for by the core */
	uint32_t drainers; /* QPs whose last request is waited for */

	_Atomic int armed; /* enum vrb_armed */
	_Atomic uint32_t unacked;
	struct tp_task overflow; /* a completion was lost */
	atomic_bool dead;	 /* by the device, which completes nothing here any more */
	struct vrb_reap reap;
	struct tp_watch watch;
	bool watched; /* CQ lock; and */
	bool torn;    /* its device was torn away: the channel tells nothing any more */
};

static inline struct vrb_cq *vrb_cq(struct tp_cq *base)
{
	return base ? container_of(base, struct vrb_cq, base) : NULL;
}

extern const struct dapl_cq_ops vrb_cq_ops;

static inline void vrb_cq_lock(struct vrb_cq *cq)
{
	dapl_lock(cq->base.lock);
}

static inline void vrb_cq_unlock(struct vrb_cq *cq)
{
	dapl_unlock(cq->base.lock);
}

/* The core is told that there is something to poll; any lock. */
static inline void vrb_cq_notify(struct vrb_cq *cq)
{
	cq->dev->base.up->cq_event(cq->base.owner);
}

/* ---- cq.c; these take the lock ---- */

/* Room for num more outstanding work requests; the end of it. */
int vrb_cq_attach(struct vrb_cq *cq, uint32_t num);
void vrb_cq_detach(struct vrb_cq *cq, uint32_t num);
/* Takes everything off the device's queue. */
void vrb_cq_collect(struct vrb_cq *cq);
/* The loop polls until drain is ended as often as it was begun. */
void vrb_cq_drain(struct vrb_cq *cq, bool begin);

/* ---- The backlog (cq_backlog.c); lock held ---- */

bool vrb_cq_grow(struct vrb_cq *cq, uint32_t num);
/* Adds a completion of qp, which fails where there is no room (EVD-95). */
void vrb_cq_push(struct vrb_cq *cq, struct vrb_qp *qp, const struct tp_wc *wc);
void vrb_cq_pop(struct vrb_cq *cq, struct tp_wc *wc);
/* Keeps a completion of qp for vrb_cq_deliver. False: no memory. */
bool vrb_cq_keep(struct vrb_cq *cq, struct vrb_qp *qp, const struct tp_wc *wc);
/* Takes the lock: what qp receives is deferred from now on (EVD-12); is delivered, as is what comes
 * later. */
void vrb_cq_defer(struct vrb_cq *cq, struct vrb_qp *qp);
void vrb_cq_deliver(struct vrb_cq *cq, struct vrb_qp *qp);

/* ---- The device's completions (cq_poll.c) ---- */

/* Any completion of the device; its QP if the core is to have it now. Lock held, as below. */
struct vrb_qp *vrb_cq_process(struct vrb_cq *cq, const struct ibv_wc *ib, struct tp_wc *wc);
/* The core gets it later. */
void vrb_cq_process_later(struct vrb_cq *cq, const struct ibv_wc *ib);
/* tp_cq.poll_plain */
struct tp_wr *vrb_cq_poll_plain(struct tp_cq *base);
/* Takes the lock: decides whether the queue's next completion may be taken the fast way. */
void vrb_queue_choose_path(struct vrb_queue *queue);

/* QPs with an SRQ are found by their number. */
void vrb_qp_list_number(struct vrb_qp *qp);
void vrb_qp_unlist_number(struct vrb_qp *qp);
struct vrb_qp *vrb_qp_by_number(struct vrb_dev *dev, uint32_t number);

#endif
