/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared receive queues. Their receives complete in any order, on the CQ of whichever QP took them:
 * an entry goes back to the poster over a list that needs no lock.
 */
#ifndef VERBS_SRQ_H
#define VERBS_SRQ_H

#include "providers/verbs/memory/memory.h"
#include "providers/verbs/queue.h"

struct vrb_srq_use;

/* Entries, which come in any order; queue is what they name. */
struct vrb_srq_block {
	struct vrb_queue queue;
	struct vrb_srq_block *next;
};

struct vrb_srq {
	struct tp_srq base;
	struct vrb_dev *dev;
	struct vrb_pd *pd;
	struct ibv_srq *ibsrq;
	struct vrb_srq_block *blocks;
	pthread_mutex_t lock;		   /* uses and max_wr; before the CQ's */
	struct vrb_srq_use *uses;	   /* CQs where its receives may complete */
	struct vrb_wr *unused;		   /* SRQ lock of the core */
	_Atomic(struct vrb_wr *) returned; /* completed; any CQ lock */
	uint32_t max_wr, max_sge;
	uint32_t posted;	      /* SRQ lock */
	_Atomic uint32_t completed;   /* any CQ lock */
	atomic_bool armed;	      /* a limit was set, and not told yet (SRQ-27) */
	atomic_bool at_limit, broken; /* to be told from the loop */
	struct tp_task task;
	struct vrb_reap reap;
};

static inline struct vrb_srq *vrb_srq(struct tp_srq *base)
{
	return base ? container_of(base, struct vrb_srq, base) : NULL;
}

extern const struct dapl_srq_ops vrb_srq_ops;

/* Room in cq for all receives, however many there will be, as long as a QP takes them there. */
int vrb_srq_attach(struct vrb_srq *srq, struct vrb_cq *cq);
void vrb_srq_detach(struct vrb_srq *srq, struct vrb_cq *cq);
/* On the loop: the device reports its limit or a fault. */
void vrb_srq_event(struct vrb_srq *srq, enum tp_async_event event);

/* A receive completed; any CQ lock held. */
static inline void vrb_srq_return(struct vrb_srq *srq, struct vrb_wr *wr)
{
	struct vrb_wr *first = atomic_load_explicit(&srq->returned, memory_order_relaxed);

	do
		wr->next = first;
	while (!atomic_compare_exchange_weak_explicit(&srq->returned, &first, wr,
						      memory_order_release, memory_order_relaxed));
	atomic_fetch_add_explicit(&srq->completed, 1, memory_order_relaxed);
}

#endif
