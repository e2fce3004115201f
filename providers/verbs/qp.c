/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Queue pairs: posting, and what becomes of work that the device does not have. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/trace.h"
#include "providers/verbs/verbs.h"

static_assert(sizeof(struct tp_sge) == sizeof(struct ibv_sge) &&
		      offsetof(struct tp_sge, addr) == offsetof(struct ibv_sge, addr) &&
		      offsetof(struct tp_sge, length) == offsetof(struct ibv_sge, length) &&
		      offsetof(struct tp_sge, lkey) == offsetof(struct ibv_sge, lkey),
	      "a segment passes through as it is");

void vrb_qp_kick(struct vrb_qp *qp)
{
	dapl_loop_post(qp->dev->base.loop, &qp->task);
}

/* ---- The ring; queue->lock held ---- */

static inline bool full(struct vrb_queue *queue)
{
	return queue->tail - atomic_load_explicit(&queue->head, memory_order_acquire) > queue->mask;
}

static inline struct vrb_wr *next_wr(struct vrb_queue *queue, uint64_t id)
{
	struct vrb_wr *wr = &queue->wr[queue->tail & queue->mask];

	wr->id = id;
	wr->seq = queue->tail++;
	wr->internal = false;
	wr->silent = false;
	wr->sink = false;
	return wr;
}

static struct tp_sge *kept_sge(struct vrb_queue *queue, uint32_t seq)
{
	return queue->sge + (size_t)(seq & queue->mask) * queue->max_sge;
}

/* Copies segments that name bytes, up to a total of length. */
static uint32_t copy_sge(struct tp_sge *to, const struct tp_sge *from, uint32_t num,
			 uint64_t length)
{
	uint32_t used = 0, i;

	for (i = 0; i < num && length; i++) {
		if (!from[i].length)
			continue;
		to[used] = from[i];
		if (to[used].length > length)
			to[used].length = (uint32_t)length;
		length -= to[used++].length;
	}
	return used;
}

static void keep(struct vrb_queue *queue, struct vrb_wr *own, const struct tp_sge *sge,
		 uint32_t num)
{
	own->num_sge = (uint16_t)copy_sge(kept_sge(queue, own->seq), sge, num, UINT64_MAX);
}

enum tp_wc_status vrb_qp_explain(const struct vrb_wr *wr, enum tp_wc_status status)
{
	struct vrb_queue *queue = wr->queue;
	struct vrb_qp *qp = queue->qp;

	if (!vrb_mr_allows(qp->dev, qp->pd, kept_sge(queue, wr->seq), wr->num_sge,
			   queue->recv || wr->sink))
		return TP_WC_LOCAL_PROTECTION;
	/* Nothing but its length is left to be wrong with a receive. */
	if (queue->recv)
		return TP_WC_LOCAL_LENGTH;
	if (!qp->dev->iwarp || status != TP_WC_LOCAL_EP)
		return status;
	/* iWARP: the peer refused a read; anything else was under way when the connection ended. */
	return wr->sink ? TP_WC_REMOTE_ACCESS : TP_WC_FLUSHED;
}

/* ---- Giving back ---- */

static void give_back(struct vrb_queue *queue, uint64_t id)
{
	const struct tp_wc wc = { .wr_id = id,
				  .status = TP_WC_FLUSHED,
				  .flags = queue->recv ? TP_WC_RECV : 0 };

	vrb_cq_push(queue->cq, &wc);
}

/* A post to a queue in error. */
static void post_late(struct vrb_queue *queue, uint64_t id)
{
	struct vrb_cq *cq = queue->cq;

	next_wr(queue, id);
	if (queue->mode != VRB_DONE)
		return;
	vrb_lock(&cq->lock);
	give_back(queue, id);
	atomic_store(&queue->head, queue->tail);
	vrb_unlock(&cq->lock);
	cq->dev->base.up->cq_event(cq->base.owner);
}

/* Whether the device makes no completion of its success. */
static bool untold(const struct vrb_queue *queue, const struct vrb_wr *wr)
{
	return wr->silent && !(queue->unordered && wr->sink);
}

/* Where the last of the device's completions will be, for want of a marker. */
static uint32_t last_told(struct vrb_queue *queue)
{
	uint32_t seq = queue->tail, head = atomic_load(&queue->head);

	while (seq != head && untold(queue, &queue->wr[(seq - 1) & queue->mask]))
		seq--;
	return seq;
}

static int post_marker(struct vrb_qp *qp);

void vrb_queue_stop(struct vrb_queue *queue)
{
	vrb_lock(&queue->lock);
	switch (queue->mode) {
	case VRB_KEEP:
		queue->hw_tail = queue->flush_to = atomic_load(&queue->head);
		queue->mode = VRB_FLUSH;
		break;
	case VRB_HW:
		if (!queue->recv && last_told(queue) != queue->tail)
			post_marker(queue->qp);
		queue->hw_tail = queue->tail;
		queue->flush_to = last_told(queue);
		queue->mode = VRB_FLUSH;
		break;
	case VRB_FLUSH:
	case VRB_DONE:
		break;
	}
	vrb_unlock(&queue->lock);
}

void vrb_queue_finish(struct vrb_queue *queue, bool gave_up)
{
	struct vrb_cq *cq = queue->cq;
	uint32_t seq;
	struct vrb_wr *wr;

	vrb_lock(&queue->lock);
	if (!cq || queue->mode == VRB_DONE) {
		queue->mode = VRB_DONE;
		vrb_unlock(&queue->lock);
		return;
	}
	vrb_lock(&cq->lock);
	for (seq = atomic_load(&queue->head); seq != queue->tail; seq++) {
		wr = &queue->wr[seq & queue->mask];
		/* The device is through: silent ones it has not told of succeeded. */
		if (wr->internal || (wr->silent && !gave_up && (int32_t)(queue->hw_tail - seq) > 0))
			continue;
		give_back(queue, wr->id);
	}
	atomic_store(&queue->head, queue->tail);
	vrb_unlock(&cq->lock);
	queue->mode = VRB_DONE;
	vrb_unlock(&queue->lock);
	cq->dev->base.up->cq_event(cq->base.owner);
}

/*
 * The device refused what it should take. A QP that is in error already may do so; what was posted
 * is flushed behind the rest then.
 */
static int refused(struct vrb_queue *queue, int err)
{
	struct vrb_qp *qp = queue->qp;
	struct ibv_qp_init_attr init;
	uint64_t id;
	struct ibv_qp_attr attr;

	id = queue->wr[--queue->tail & queue->mask].id;
	if (!atomic_load(&qp->dev->gone) &&
	    (ibv_query_qp(qp->ibqp, &attr, IBV_QP_STATE, &init) || attr.qp_state == IBV_QPS_RTS ||
	     attr.qp_state == IBV_QPS_INIT || attr.qp_state == IBV_QPS_RTR)) {
		dapl_err("%s: QP 0x%x does not take a %s: %s", qp->dev->name, qp->ibqp->qp_num,
			 queue->recv ? "receive" : "request", dapl_strerror(err));
		return err == ENOMEM ? -ENOMEM : -EIO;
	}
	queue->hw_tail = queue->tail;
	queue->flush_to = last_told(queue);
	queue->mode = VRB_FLUSH;
	post_late(queue, id);
	return 0;
}

/* ---- Requests ---- */

static const enum ibv_wr_opcode opcodes[] = {
	[TP_SEND] = IBV_WR_SEND,
	[TP_RDMA_WRITE] = IBV_WR_RDMA_WRITE,
	[TP_RDMA_READ] = IBV_WR_RDMA_READ,
};

static inline unsigned int send_flags(const struct tp_wr *wr)
{
	return (wr->flags & TP_WR_SIGNALED ? IBV_SEND_SIGNALED : 0) |
	       /* A read has nothing to wait for: those before it are executed before it. */
	       (wr->flags & TP_WR_FENCE && wr->opcode != TP_RDMA_READ ? IBV_SEND_FENCE : 0) |
	       (wr->flags & TP_WR_SOLICITED && wr->opcode == TP_SEND ? IBV_SEND_SOLICITED : 0);
}

static inline bool may_inline(struct vrb_qp *qp, const struct ibv_send_wr *ib,
			      const struct tp_wr *wr)
{
	int i;

	if (wr->length > qp->max_inline || wr->opcode == TP_RDMA_READ || !wr->length)
		return false;
	for (i = 0; i < ib->num_sge; i++)
		if (!vrb_mr_covers(qp->dev, &qp->hint, qp->pd,
				   (const struct tp_sge *)&ib->sg_list[i]))
			return false;
	return true;
}

static inline int post_request(struct vrb_qp *qp, const struct tp_wr *wr)
{
	struct vrb_queue *queue = &qp->sq;
	struct ibv_send_wr ib, *bad;
	struct vrb_wr *own;
	int err;

	if (vrb_unlikely(full(queue)))
		return -ENOMEM;
	own = next_wr(queue, wr->wr_id);
	own->silent = !(wr->flags & TP_WR_SIGNALED);
	ib.wr_id = (uintptr_t)own;
	ib.next = NULL;
	ib.opcode = opcodes[wr->opcode];
	ib.send_flags = send_flags(wr);
	ib.wr.rdma.remote_addr = wr->remote_addr;
	ib.wr.rdma.rkey = wr->rkey;
	/* A read of nothing is as good as a write of nothing, and not every iWARP device ends it.
	 */
	if (vrb_unlikely(!wr->length) && wr->opcode == TP_RDMA_READ && qp->dev->iwarp)
		ib.opcode = IBV_WR_RDMA_WRITE;
	if (vrb_likely(wr->num_sge == 1 && wr->length && wr->sge->length == wr->length)) {
		ib.sg_list = (struct ibv_sge *)wr->sge;
		ib.num_sge = 1;
	} else {
		ib.sg_list = (struct ibv_sge *)queue->sge;
		ib.num_sge = (int)copy_sge(queue->sge, wr->sge, wr->num_sge, wr->length);
	}
	if (vrb_unlikely(queue->keeps))
		keep(queue, own, wr->sge, wr->num_sge);
	if (vrb_unlikely(queue->unordered || queue->keeps) && wr->opcode == TP_RDMA_READ) {
		own->sink = true;
		ib.send_flags |= queue->unordered ? IBV_SEND_SIGNALED : 0;
	}
	if (may_inline(qp, &ib, wr))
		ib.send_flags |= IBV_SEND_INLINE;
	err = ibv_post_send(qp->ibqp, &ib, &bad);
	return vrb_likely(!err) ? 0 : refused(queue, err);
}

int vrb_qp_post_send(struct tp_qp *base, const struct tp_wr *wr)
{
	struct vrb_qp *qp = vrb_qp(base);
	struct vrb_queue *queue = &qp->sq;
	int rc = 0;

	vrb_lock(&queue->lock);
	if (vrb_likely(queue->mode == VRB_HW))
		rc = post_request(qp, wr);
	else if (queue->mode == VRB_KEEP)
		rc = -ENOTCONN;
	else if (full(queue))
		rc = -ENOMEM;
	else
		post_late(queue, wr->wr_id);
	vrb_unlock(&queue->lock);
	return rc;
}

/* queue->lock held */
static int post_marker(struct vrb_qp *qp)
{
	struct ibv_send_wr ib = { .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED };
	struct vrb_queue *queue = &qp->sq;
	struct ibv_send_wr *bad;
	struct vrb_wr *own;
	int err;

	if (full(queue))
		return -ENOMEM;
	own = next_wr(queue, 0);
	own->internal = true;
	ib.wr_id = (uintptr_t)own;
	err = ibv_post_send(qp->ibqp, &ib, &bad);
	if (err)
		queue->tail--;
	return -abs(err);
}

int vrb_qp_post_marker(struct vrb_qp *qp)
{
	struct vrb_queue *queue = &qp->sq;
	int rc = 0;

	vrb_lock(&queue->lock);
	if (queue->mode == VRB_HW && last_told(queue) != queue->tail)
		rc = post_marker(qp);
	vrb_unlock(&queue->lock);
	return rc;
}

/* ---- Receives ---- */

static int post_receive(struct vrb_qp *qp, struct vrb_wr *own, const struct tp_sge *sge,
			uint32_t num)
{
	struct ibv_recv_wr ib = { .wr_id = (uintptr_t)own,
				  .sg_list = (struct ibv_sge *)sge,
				  .num_sge = (int)num };
	struct ibv_recv_wr *bad;

	return ibv_post_recv(qp->ibqp, &ib, &bad);
}

/* The ring's entry has room for a copy where segments are to be left out. */
static int post_now(struct vrb_queue *queue, uint64_t wr_id, const struct tp_sge *sge, uint32_t num)
{
	struct vrb_wr *own = next_wr(queue, wr_id);
	int err;

	if (vrb_unlikely(num != 1 || !sge->length || queue->keeps)) {
		keep(queue, own, sge, num);
		num = own->num_sge;
		sge = kept_sge(queue, own->seq);
		/* Not every iWARP device takes a receive without a segment. */
		if (!num && queue->qp->dev->iwarp) {
			kept_sge(queue, own->seq)[0] = (struct tp_sge){ .length = 0 };
			num = 1;
		}
	}
	err = post_receive(queue->qp, own, sge, num);
	return vrb_likely(!err) ? 0 : refused(queue, err);
}

int vrb_qp_post_recv(struct tp_qp *base, uint64_t wr_id, const struct tp_sge *sge, uint32_t num_sge)
{
	struct vrb_queue *queue = &vrb_qp(base)->rq;
	int rc = 0;

	vrb_lock(&queue->lock);
	if (vrb_unlikely(full(queue)))
		rc = -ENOMEM;
	else if (vrb_unlikely(num_sge > queue->max_sge))
		rc = -EINVAL;
	else if (vrb_likely(queue->mode == VRB_HW))
		rc = post_now(queue, wr_id, sge, num_sge);
	else if (queue->mode == VRB_KEEP)
		keep(queue, next_wr(queue, wr_id), sge, num_sge);
	else
		post_late(queue, wr_id);
	vrb_unlock(&queue->lock);
	return rc;
}

int vrb_qp_post_kept(struct vrb_qp *qp)
{
	struct vrb_queue *queue = &qp->rq;
	struct vrb_wr *wr;
	uint32_t seq;
	int err = 0;

	vrb_lock(&queue->lock);
	for (seq = atomic_load(&queue->head); seq != queue->tail && !err; seq++) {
		wr = &queue->wr[seq & queue->mask];
		err = post_receive(qp, wr, kept_sge(queue, seq), wr->num_sge);
	}
	/* Also if it failed: what the device has it will give back. */
	queue->mode = VRB_HW;
	if (err) {
		queue->hw_tail = queue->flush_to = seq - 1;
		queue->mode = VRB_FLUSH;
		dapl_err("%s: QP 0x%x does not take its receives: %s", qp->dev->name,
			 qp->ibqp->qp_num, dapl_strerror(err));
	}
	vrb_unlock(&queue->lock);
	return -abs(err);
}
