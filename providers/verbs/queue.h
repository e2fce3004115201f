/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One direction of a QP: a ring of the work requests whose completion is not known yet. So a queue
 * can be flushed when the device cannot, receives can be posted before there is a QP to post them
 * to, and outstanding work can be counted.
 */
#ifndef VERBS_QUEUE_H
#define VERBS_QUEUE_H

#include "providers/verbs/device.h"

struct vrb_cq;
struct vrb_qp;
struct vrb_srq;

enum vrb_mode {
	VRB_QUEUE_IDLE,	    /* receives stay here, requests are refused */
	VRB_QUEUE_ACTIVE,   /* the device has what is in the ring */
	VRB_QUEUE_FLUSHING, /* the device has what is before hw_end and is to flush it; the rest
			       stays here */
	VRB_QUEUE_FLUSHED,  /* what comes is flushed at once */
};

/* What a work request is besides a plain one that was posted the fast way. */
enum {
	VRB_WR_SLOW = 0x1,	 /* its segments are beside the ring, not in its tp_wr */
	VRB_WR_INTERNAL = 0x2,	 /* of this transport: a drain, an invalidation */
	VRB_WR_UNSIGNALED = 0x4, /* success makes no completion */
	VRB_WR_FETCH = 0x8,	 /* a read or an atomic: writes to its segments */
	VRB_WR_DONE = 0x10,	 /* its completion came out of order and waits here; CQ lock */
	VRB_WR_POLLED = 0x20,	 /* its success is told by poll, not by the fast way */
	VRB_WR_FAILS = 0x40,	 /* the device has a harmless one instead of it; it fails */
};

struct vrb_wr {
	uint64_t id;		 /* the core's; of a request the address of its tp_wr */
	struct vrb_queue *queue; /* for good, as is next */
	struct vrb_wr *next;
	uint32_t flags;
	uint16_t num_sge; /* of what is beside the ring: see copies_sge */
	struct tp_wc wc;
};

struct vrb_queue {
	_Atomic(struct vrb_wr *) next; /* of the ring, to be used */
	_Atomic(struct vrb_wr *) head; /* the oldest; CQ lock or, in VRB_QUEUE_IDLE, QP lock */
	/* No completion is taken the fast way: for what is below, and qp->draining. */
	_Atomic uint32_t slow;
	bool recv;
	bool plain_recv;	  /* of a QP of RC: the fast path may tell of them */
	bool out_of_order;	  /* the device completes reads behind what was posted later */
	_Atomic uint32_t fetches; /* out_of_order: reads and atomics posted; QP lock */
	uint32_t fetched;	  /* and done; CQ lock */
	uint32_t waiting;	  /* entries with VRB_WR_DONE; CQ lock */
	bool failed;		  /* a completion was no success; CQ lock */
	bool deferring;		  /* successful completions wait: see vrb_cq_defer; CQ lock */
	enum vrb_mode mode;	  /* QP lock */
	struct vrb_wr *done;	  /* end of those that wait, if any do; CQ lock */
	struct vrb_wr *hw_end;	  /* VRB_QUEUE_FLUSHING: end of what the device has */
	struct vrb_wr *flush_to;  /* and of what it makes completions of */
	uint32_t mask;
	uint64_t seen;	     /* how far it was when the watchdog looked last */
	struct vrb_srq *srq; /* this is the SRQ's: no ring */
	struct vrb_wr *wr;
	struct vrb_cq *cq;
	struct vrb_qp *qp;
	struct tp_sge *sge; /* max_sge for each of the ring */
	bool copies_sge;    /* of every receive; else of those with other than one segment */
	bool pads_sge;	    /* a receive without a segment goes to the device with an empty one */
	uint32_t max_sge, max_wr;
	uint32_t extra; /* requests of our own beside the core's max_wr */
};

static inline struct vrb_wr *vrb_queue_head(struct vrb_queue *queue)
{
	return atomic_load_explicit(&queue->head, memory_order_acquire);
}

static inline struct vrb_wr *vrb_queue_next(struct vrb_queue *queue)
{
	return atomic_load_explicit(&queue->next, memory_order_relaxed);
}

/* How far wr is ahead of from. */
static inline uint32_t vrb_queue_span(const struct vrb_queue *queue, const struct vrb_wr *from,
				      const struct vrb_wr *wr)
{
	return (uint32_t)(wr - from) & queue->mask;
}

static inline uint32_t vrb_queue_used(struct vrb_queue *queue)
{
	return vrb_queue_span(queue, vrb_queue_head(queue), vrb_queue_next(queue));
}

/* The entry before wr. */
static inline struct vrb_wr *vrb_queue_before(struct vrb_queue *queue, const struct vrb_wr *wr)
{
	return &queue->wr[(uint32_t)(wr - queue->wr - 1) & queue->mask];
}

/* ---- QP lock held ---- */

static inline bool vrb_queue_full(struct vrb_queue *queue)
{
	return vrb_queue_next(queue)->next == vrb_queue_head(queue);
}

/* The ring's next entry, which there is; its flags are what they were. */
static inline struct vrb_wr *vrb_queue_next_entry(struct vrb_queue *queue, uint64_t id)
{
	struct vrb_wr *wr = vrb_queue_next(queue);

	atomic_store_explicit(&queue->next, wr->next, memory_order_relaxed);
	wr->id = id;
	return wr;
}

static inline struct vrb_wr *vrb_queue_reserve(struct vrb_queue *queue, uint64_t id, uint32_t flags)
{
	struct vrb_wr *wr = vrb_queue_next_entry(queue, id);

	wr->flags = flags;
	return wr;
}

/* Undoes it, for the newest. */
static inline void vrb_queue_unreserve(struct vrb_queue *queue, struct vrb_wr *wr)
{
	wr->flags = 0;
	atomic_store_explicit(&queue->next, wr, memory_order_relaxed);
}

/* The place of an entry's segments beside the ring. */
static inline struct tp_sge *vrb_queue_sge(const struct vrb_queue *queue, const struct vrb_wr *wr)
{
	return queue->sge + (size_t)(wr - queue->wr) * queue->max_sge;
}

static inline struct tp_sge *vrb_wr_sge(const struct vrb_wr *wr)
{
	return vrb_queue_sge(wr->queue, wr);
}

/* An idle queue, for max_wr of the core's and extra of our own. -ENOMEM, with a message. */
int vrb_queue_init(struct vrb_queue *queue, const struct vrb_dev *dev, bool recv, uint32_t max_wr,
		   uint32_t extra, uint32_t max_sge);
void vrb_queue_fini(struct vrb_queue *queue);
/* Idle again; what was in it is forgotten. */
void vrb_queue_reset(struct vrb_queue *queue);
/* Puts a queue with its contents into another place. */
void vrb_queue_move(struct vrb_queue *to, const struct vrb_queue *from);
/* Receives of an idle queue go over to a ring of other dimensions. */
void vrb_queue_move_receives(struct vrb_queue *to, struct vrb_queue *from);
/* Copies the segments that name bytes, up to a total of length, beside the ring. */
void vrb_wr_copy_sge(struct vrb_wr *wr, const struct tp_sge *sge, uint32_t num, uint64_t length);
/* Why a device does not take what is posted. No lock needed. */
const char *vrb_post_strerror(int err);
/* A receive with its segments beside the ring, as the device takes it. */
void vrb_wr_recv(const struct vrb_wr *wr, struct ibv_recv_wr *ib);

/* The same with the core's segments, which are copied only if need be. */
static inline void vrb_wr_recv_from(const struct vrb_queue *queue, struct vrb_wr *wr,
				    const struct tp_sge *sge, uint32_t num, struct ibv_recv_wr *ib)
{
	if (unlikely(num != 1 || !sge->length)) {
		vrb_wr_copy_sge(wr, sge, num, UINT64_MAX);
		vrb_wr_recv(wr, ib);
		return;
	}
	if (queue->copies_sge) {
		*vrb_queue_sge(queue, wr) = *sge;
		wr->num_sge = 1;
	}
	*ib = (struct ibv_recv_wr){ .wr_id = (uintptr_t)wr,
				    .sg_list = (struct ibv_sge *)sge,
				    .num_sge = 1 };
}

#endif
