/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What becomes of work that the device does not have. */
#include <errno.h>
#include <stdlib.h>

#include "trace/log.h"
#include "providers/verbs/qp.h"

void vrb_queue_set_mode(struct vrb_queue *queue, enum vrb_mode mode)
{
	queue->mode = mode;
	if (!queue->recv)
		vrb_qp_choose_post(queue->qp);
}

static void flush_one(struct vrb_queue *queue, uint64_t id)
{
	const struct tp_wc wc = { .wr_id = id,
				  .status = TP_WC_FLUSHED,
				  .flags = queue->recv ? TP_WC_RECV : 0 };

	vrb_cq_push(queue->cq, queue->qp, &wc);
}

void vrb_queue_post_flushed(struct vrb_queue *queue, uint64_t id)
{
	struct vrb_wr *wr = vrb_queue_reserve(queue, id, 0);
	struct vrb_cq *cq = queue->cq;

	if (queue->mode != VRB_QUEUE_FLUSHED)
		return;
	vrb_cq_lock(cq);
	flush_one(queue, id);
	atomic_store(&queue->head, wr->next);
	vrb_cq_unlock(cq);
	vrb_cq_notify(cq);
}

/* Whether the device makes no completion of its success. */
static bool unsignaled(const struct vrb_queue *queue, const struct vrb_wr *wr)
{
	return (wr->flags & VRB_WR_UNSIGNALED) && !queue->qp->ud &&
	       !(queue->out_of_order && (wr->flags & VRB_WR_FETCH));
}

struct vrb_wr *vrb_queue_last_signaled(struct vrb_queue *queue)
{
	struct vrb_wr *head = vrb_queue_head(queue), *wr = vrb_queue_next(queue);

	while (wr != head && unsignaled(queue, vrb_queue_before(queue, wr)))
		wr = vrb_queue_before(queue, wr);
	return wr;
}

void vrb_queue_stop(struct vrb_queue *queue)
{
	vrb_qp_lock(queue->qp);
	switch (queue->mode) {
	case VRB_QUEUE_IDLE:
		queue->hw_end = queue->flush_to = vrb_queue_head(queue);
		vrb_queue_set_mode(queue, VRB_QUEUE_FLUSHING);
		break;
	case VRB_QUEUE_ACTIVE:
		if (!queue->recv && vrb_queue_last_signaled(queue) != vrb_queue_next(queue))
			vrb_qp_post_drain(queue->qp);
		queue->hw_end = vrb_queue_next(queue);
		queue->flush_to = vrb_queue_last_signaled(queue);
		vrb_queue_set_mode(queue, VRB_QUEUE_FLUSHING);
		break;
	case VRB_QUEUE_FLUSHING:
	case VRB_QUEUE_FLUSHED:
		break;
	}
	vrb_qp_unlock(queue->qp);
}

/* Both locks held. */
static void flush_all(struct vrb_queue *queue, bool gave_up)
{
	struct vrb_wr *wr, *end = vrb_queue_next(queue);
	bool failed = gave_up || queue->failed;

	for (wr = vrb_queue_head(queue); wr != end; wr = wr->next) {
		/* The device is through: silent ones it has not told of succeeded, up to the first
		 * that it should have told of. */
		failed |= wr == queue->hw_end ||
			  !(unsignaled(queue, wr) || (wr->flags & VRB_WR_INTERNAL));
		if (failed && !(wr->flags & VRB_WR_INTERNAL))
			flush_one(queue, wr->id);
		wr->flags = 0;
	}
	queue->fetched = atomic_load(&queue->fetches);
	queue->waiting = 0;
	queue->done = end;
	atomic_store(&queue->head, end);
}

/* Both locks held. What comes of the old ring is dropped: it is no QP's. */
static void change_ring(struct vrb_queue *queue, struct vrb_queue *spare)
{
	struct vrb_queue old = *queue;

	vrb_queue_move(queue, spare);
	queue->cq = old.cq;
	queue->qp = old.qp;
	vrb_queue_move(spare, &old);
	spare->qp = NULL;
	spare->failed = true;
	spare->slow = 1;
}

void vrb_queue_flush(struct vrb_queue *queue, bool gave_up, struct vrb_queue *spare)
{
	struct vrb_qp *qp = queue->qp;
	struct vrb_cq *cq = queue->cq;
	bool done;

	vrb_qp_lock(qp);
	done = !cq || queue->mode == VRB_QUEUE_FLUSHED;
	if (!done) {
		vrb_cq_lock(cq);
		flush_all(queue, gave_up);
		if (spare)
			change_ring(queue, spare);
		vrb_cq_unlock(cq);
	}
	vrb_queue_set_mode(queue, VRB_QUEUE_FLUSHED);
	vrb_qp_unlock(qp);
	if (!done)
		vrb_cq_notify(cq);
}

/*
 * The device refused what it should take. A QP that is in error already may do so; what was posted
 * is flushed behind the rest then.
 */
int vrb_queue_refused(struct vrb_queue *queue, struct vrb_wr *wr, int result)
{
	int err = abs(result); /* not all drivers agree on the sign */
	struct vrb_qp *qp = queue->qp;
	bool internal = wr->flags & VRB_WR_INTERNAL;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (queue->out_of_order && (wr->flags & VRB_WR_FETCH))
		atomic_fetch_sub(&queue->fetches, 1);
	vrb_queue_unreserve(queue, wr);
	if (!atomic_load(&qp->dev->gone) &&
	    (ibv_query_qp(qp->ibqp, &attr, IBV_QP_STATE, &init) || attr.qp_state == IBV_QPS_RTS ||
	     attr.qp_state == IBV_QPS_INIT || attr.qp_state == IBV_QPS_RTR)) {
		dapl_err("%s: QP 0x%x does not take a %s: %s", qp->dev->name, qp->ibqp->qp_num,
			 queue->recv ? "receive" : "request", vrb_post_strerror(err));
		return err == ENOMEM ? -ENOMEM : -EIO;
	}
	queue->hw_end = vrb_queue_next(queue);
	queue->flush_to = vrb_queue_last_signaled(queue);
	vrb_queue_set_mode(queue, VRB_QUEUE_FLUSHING);
	if (!internal)
		vrb_queue_post_flushed(queue, wr->id);
	return 0;
}
