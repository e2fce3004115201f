/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Queue pairs: posting, and what becomes of work that the device does not have. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/log.h"
#include "providers/verbs/verbs.h"

static_assert(sizeof(struct tp_sge) == sizeof(struct ibv_sge) &&
		      offsetof(struct tp_sge, addr) == offsetof(struct ibv_sge, addr) &&
		      offsetof(struct tp_sge, length) == offsetof(struct ibv_sge, length) &&
		      offsetof(struct tp_sge, lkey) == offsetof(struct ibv_sge, lkey),
	      "a segment passes through as it is");

#define same_place(member)                                                                        \
	static_assert(offsetof(struct tp_wr, member) == offsetof(struct ibv_send_wr, member), "w" \
											      "r")
#define same_as(member, ib) \
	static_assert(offsetof(struct tp_wr, member) == offsetof(struct ibv_send_wr, ib), "wr")
/* Nor is a request copied. */
same_place(wr_id);
same_place(next);
same_as(sge, sg_list);
same_place(num_sge);
same_place(opcode);
same_as(flags, send_flags);
same_as(immediate, imm_data);
same_as(invalidate, invalidate_rkey);
same_as(remote_addr, wr.rdma.remote_addr);
same_as(rkey, wr.rdma.rkey);
same_as(remote_addr, wr.atomic.remote_addr);
same_as(atomic.compare_add, wr.atomic.compare_add);
same_as(atomic.swap, wr.atomic.swap);
same_as(atomic.rkey, wr.atomic.rkey);
static_assert((int)TP_SEND == IBV_WR_SEND && (int)TP_RDMA_WRITE == IBV_WR_RDMA_WRITE &&
		      (int)TP_RDMA_READ == IBV_WR_RDMA_READ &&
		      (int)TP_RDMA_WRITE_IMM == IBV_WR_RDMA_WRITE_WITH_IMM &&
		      (int)TP_CMP_AND_SWAP == IBV_WR_ATOMIC_CMP_AND_SWP &&
		      (int)TP_FETCH_AND_ADD == IBV_WR_ATOMIC_FETCH_AND_ADD &&
		      (int)TP_SEND_INVALIDATE == IBV_WR_SEND_WITH_INV,
	      "opcodes");
static_assert((int)TP_WR_FENCE == IBV_SEND_FENCE && (int)TP_WR_SIGNALED == IBV_SEND_SIGNALED &&
		      (int)TP_WR_SOLICITED == IBV_SEND_SOLICITED,
	      "flags");

void vrb_qp_notify(struct vrb_qp *qp)
{
	dapl_loop_post(qp->dev->base.loop, &qp->task);
}

/* ---- The ring; QP lock held ---- */

bool vrb_queue_full(struct vrb_queue *queue)
{
	return vrb_queue_used(queue) == queue->mask;
}

static inline struct vrb_wr *reserve(struct vrb_queue *queue, uint64_t id)
{
	struct vrb_wr *wr = vrb_queue_next(queue);

	atomic_store_explicit(&queue->next, wr->next, memory_order_relaxed);
	wr->id = id;
	return wr;
}

struct vrb_wr *vrb_queue_reserve(struct vrb_queue *queue, uint64_t id, uint32_t wr_flags)
{
	struct vrb_wr *wr = reserve(queue, id);

	wr->flags = wr_flags;
	return wr;
}

static struct vrb_wr *before(struct vrb_queue *queue, const struct vrb_wr *wr)
{
	return &queue->wr[(uint32_t)(wr - queue->wr - 1) & queue->mask];
}

static void unreserve(struct vrb_queue *queue, struct vrb_wr *wr)
{
	wr->flags = 0;
	atomic_store_explicit(&queue->next, wr, memory_order_relaxed);
}

static void set_mode(struct vrb_queue *queue, enum vrb_mode mode)
{
	queue->mode = mode;
	if (!queue->recv)
		vrb_qp_choose_post(queue->qp);
}

static struct tp_sge *kept_sge(const struct vrb_queue *queue, const struct vrb_wr *wr)
{
	return queue->sge + (size_t)(wr - queue->wr) * queue->max_sge;
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

struct tp_sge *vrb_wr_sge(struct vrb_wr *own)
{
	return kept_sge(own->queue, own);
}

void vrb_wr_copy_sge(struct vrb_wr *own, const struct tp_sge *sge, uint32_t num)
{
	own->num_sge = (uint16_t)copy_sge(kept_sge(own->queue, own), sge, num, UINT64_MAX);
}

/* Whether the segments are the program's to use as they were used. */
static bool segments_allowed(const struct vrb_wr *wr)
{
	const struct vrb_queue *queue = wr->queue;
	struct vrb_dev *dev = queue->srq ? queue->srq->dev : queue->qp->dev;
	const struct vrb_pd *pd = queue->srq ? queue->srq->pd : queue->qp->pd;

	if (!queue->recv && !(wr->flags & VRB_WR_SLOW))
		return vrb_mr_allows(dev, pd, &((const struct tp_wr *)(uintptr_t)wr->id)->one, 1,
				     false);
	return vrb_mr_allows(dev, pd, kept_sge(queue, wr), wr->num_sge,
			     queue->recv || (wr->flags & VRB_WR_FETCH));
}

enum tp_wc_status vrb_wr_diagnose(const struct vrb_wr *wr, enum tp_wc_status status)
{
	const struct vrb_queue *queue = wr->queue;
	bool iwarp = queue->srq ? queue->srq->dev->iwarp : queue->qp->dev->iwarp;

	if (!(wr->flags & VRB_WR_INTERNAL) && !segments_allowed(wr))
		return TP_WC_LOCAL_PROTECTION;
	/* Nothing but its length is left to be wrong with a receive; iWARP names that itself. */
	if (queue->recv)
		return iwarp ? TP_WC_PARTIAL_PACKET : TP_WC_LOCAL_LENGTH;
	/* iWARP: the peer had closed before it was sent. */
	return iwarp && status == TP_WC_LOCAL_EP ? TP_WC_FLUSHED : status;
}

/* ---- Giving back ---- */

static void flush_one(struct vrb_queue *queue, uint64_t id)
{
	const struct tp_wc wc = { .wr_id = id,
				  .status = TP_WC_FLUSHED,
				  .flags = queue->recv ? TP_WC_RECV : 0 };

	vrb_cq_push(queue->cq, queue->qp, &wc);
}

/* A post to a queue in error. */
static void post_flushed(struct vrb_queue *queue, uint64_t id)
{
	struct vrb_wr *wr = vrb_queue_reserve(queue, id, 0);
	struct vrb_cq *cq = queue->cq;

	if (queue->mode != VRB_QUEUE_FLUSHED)
		return;
	vrb_cq_lock(cq);
	flush_one(queue, id);
	atomic_store(&queue->head, wr->next);
	vrb_cq_unlock(cq);
	cq->dev->base.up->cq_event(cq->base.owner);
}

/* Whether the device makes no completion of its success. */
static bool unsignaled(const struct vrb_queue *queue, const struct vrb_wr *wr)
{
	return (wr->flags & VRB_WR_UNSIGNALED) &&
	       !(queue->out_of_order && (wr->flags & VRB_WR_FETCH));
}

/* Where the last of the device's completions will be, for want of a marker. */
static struct vrb_wr *last_signaled(struct vrb_queue *queue)
{
	struct vrb_wr *head = vrb_queue_head(queue), *wr = vrb_queue_next(queue);

	while (wr != head && unsignaled(queue, before(queue, wr)))
		wr = before(queue, wr);
	return wr;
}

static int post_drain(struct vrb_qp *qp);

void vrb_queue_stop(struct vrb_queue *queue)
{
	vrb_qp_lock(queue->qp);
	switch (queue->mode) {
	case VRB_QUEUE_IDLE:
		queue->hw_end = queue->flush_to = vrb_queue_head(queue);
		set_mode(queue, VRB_QUEUE_FLUSHING);
		break;
	case VRB_QUEUE_ACTIVE:
		if (!queue->recv && last_signaled(queue) != vrb_queue_next(queue))
			post_drain(queue->qp);
		queue->hw_end = vrb_queue_next(queue);
		queue->flush_to = last_signaled(queue);
		set_mode(queue, VRB_QUEUE_FLUSHING);
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
	bool hw = true;

	for (wr = vrb_queue_head(queue); wr != end; wr = wr->next) {
		hw &= wr != queue->hw_end;
		/* The device is through: silent ones it has not told of succeeded. */
		if (!(wr->flags & VRB_WR_INTERNAL) &&
		    (!(wr->flags & VRB_WR_UNSIGNALED) || gave_up || !hw))
			flush_one(queue, wr->id);
		wr->flags = 0;
	}
	queue->fetched = atomic_load(&queue->fetches);
	queue->done = end;
	atomic_store(&queue->head, end);
}

void vrb_queue_flush(struct vrb_queue *queue, bool gave_up)
{
	struct vrb_cq *cq = queue->cq;
	bool done;

	vrb_qp_lock(queue->qp);
	done = !cq || queue->mode == VRB_QUEUE_FLUSHED;
	if (!done) {
		vrb_cq_lock(cq);
		flush_all(queue, gave_up);
		vrb_cq_unlock(cq);
	}
	set_mode(queue, VRB_QUEUE_FLUSHED);
	vrb_qp_unlock(queue->qp);
	if (!done)
		cq->dev->base.up->cq_event(cq->base.owner);
}

/*
 * The device refused what it should take. A QP that is in error already may do so; what was posted
 * is flushed behind the rest then.
 */
static int refused(struct vrb_queue *queue, struct vrb_wr *wr, int result)
{
	int err = abs(result); /* not all drivers agree on the sign */
	struct vrb_qp *qp = queue->qp;
	bool internal = wr->flags & VRB_WR_INTERNAL;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	unreserve(queue, wr);
	if (!atomic_load(&qp->dev->gone) &&
	    (ibv_query_qp(qp->ibqp, &attr, IBV_QP_STATE, &init) || attr.qp_state == IBV_QPS_RTS ||
	     attr.qp_state == IBV_QPS_INIT || attr.qp_state == IBV_QPS_RTR)) {
		dapl_err("%s: QP 0x%x does not take a %s: %s", qp->dev->name, qp->ibqp->qp_num,
			 queue->recv ? "receive" : "request", dapl_strerror(err));
		return err == ENOMEM ? -ENOMEM : -EIO;
	}
	queue->hw_end = vrb_queue_next(queue);
	queue->flush_to = last_signaled(queue);
	set_mode(queue, VRB_QUEUE_FLUSHING);
	if (!internal)
		post_flushed(queue, wr->id);
	return 0;
}

int vrb_qp_refused(struct vrb_qp *qp, struct vrb_wr *wr, int err)
{
	return refused(&qp->sq, wr, err);
}

/* ---- Requests ---- */

/* Pulses after a connection was established. */
#define FIRST_WAKE 2
#define LAST_WAKE  5

/* The second one is the third argument of a call. */
#ifdef __x86_64__
#define LOADED_BEFORE(first, third) __asm__ volatile("" : "+r"(first), "+d"(third) : : "memory")
#else
#define LOADED_BEFORE(first, third) __asm__ volatile("" : "+r"(first), "+r"(third) : : "memory")
#endif

static int post_fast(struct tp_qp *base, struct tp_wr *wr)
{
	struct vrb_qp *qp = vrb_qp(base);
	struct vrb_wr *own = vrb_queue_next(&qp->sq), *next = own->next;
	__typeof__(qp->ib_post) post = qp->ib_post;

	atomic_store_explicit(&qp->sq.next, next, memory_order_relaxed);
	own->id = (uintptr_t)wr;
	wr->wr_id = (uintptr_t)own;
	/* Loaded before the QP, whose register is free for the device's then. */
	LOADED_BEFORE(post, next);
	/* What the driver says of a bad request lands in an entry that is not in use. */
	return post(qp->ibqp, (struct ibv_send_wr *)(void *)wr, (struct ibv_send_wr **)next);
}

/* Where requests without completions were posted, which leave their marks behind. */
static int post_clean(struct tp_qp *base, struct tp_wr *wr)
{
	vrb_queue_next(&vrb_qp(base)->sq)->flags = 0;
	return post_fast(base, wr);
}

static int post_inline(struct tp_qp *base, struct tp_wr *wr)
{
	struct vrb_qp *qp = vrb_qp(base);
	uint32_t flags = wr->flags;
	int err;

	if (wr->length <= qp->max_inline && vrb_mr_covers(qp->dev, &qp->hint, qp->pd, &wr->one))
		wr->flags |= IBV_SEND_INLINE;
	err = post_clean(base, wr);
	wr->flags = flags;
	return err;
}

int vrb_qp_post_inactive(struct vrb_qp *qp, uint64_t id)
{
	if (qp->sq.mode == VRB_QUEUE_IDLE)
		return -ENOTCONN;
	if (vrb_queue_full(&qp->sq))
		return -ENOMEM;
	post_flushed(&qp->sq, id);
	return 0;
}

static int post_inactive(struct tp_qp *base, struct tp_wr *wr)
{
	return vrb_qp_post_inactive(vrb_qp(base), (uintptr_t)wr);
}

int vrb_qp_unpost(struct tp_qp *base, struct tp_wr *wr, int result)
{
	struct vrb_queue *queue = &vrb_qp(base)->sq;

	(void)wr;
	if (queue->mode != VRB_QUEUE_ACTIVE)
		return result;
	return refused(queue, before(queue, vrb_queue_next(queue)), result);
}

void vrb_qp_choose_post(struct vrb_qp *qp)
{
	if (qp->sq.mode != VRB_QUEUE_ACTIVE)
		qp->base.post = post_inactive;
	else if (qp->max_inline)
		qp->base.post = post_inline;
	else
		qp->base.post = qp->silent ? post_clean : post_fast;
}

int vrb_qp_post_ib(struct vrb_qp *qp, struct vrb_wr *wr, struct ibv_send_wr *ib)
{
	int err;

	ib->wr_id = (uintptr_t)wr;
	ib->next = NULL;
	if ((wr->flags & VRB_WR_UNSIGNALED) && !qp->silent) {
		qp->silent = true;
		vrb_qp_choose_post(qp);
	}
	err = ibv_post_send(qp->ibqp, ib, &qp->bad);
	return vrb_likely(!err) ? 0 : refused(&qp->sq, wr, err);
}

static bool may_inline(struct vrb_qp *qp, const struct ibv_send_wr *ib, const struct tp_wr *wr)
{
	int i;

	if (wr->length > qp->max_inline || !wr->length ||
	    (wr->opcode != TP_SEND && wr->opcode != TP_RDMA_WRITE &&
	     wr->opcode != TP_RDMA_WRITE_IMM))
		return false;
	for (i = 0; i < ib->num_sge; i++)
		if (!vrb_mr_covers(qp->dev, &qp->hint, qp->pd,
				   (const struct tp_sge *)&ib->sg_list[i]))
			return false;
	return true;
}

static bool is_fetch(const struct tp_wr *wr)
{
	return wr->opcode == TP_RDMA_READ || wr->opcode == TP_CMP_AND_SWAP ||
	       wr->opcode == TP_FETCH_AND_ADD;
}

/* Librxe takes no atomic that the peer would refuse for its address (IBX-40). */
static bool is_misplaced(const struct tp_wr *wr)
{
	return (wr->opcode == TP_CMP_AND_SWAP || wr->opcode == TP_FETCH_AND_ADD) &&
	       wr->remote_addr % sizeof(uint64_t);
}

static uint32_t flags_of(const struct tp_wr *wr)
{
	bool plain = wr->opcode == TP_SEND || wr->opcode == TP_RDMA_WRITE ||
		     wr->opcode == TP_RDMA_READ || wr->opcode == TP_SEND_INVALIDATE;

	return VRB_WR_SLOW | (wr->flags & TP_WR_SIGNALED ? 0 : VRB_WR_UNSIGNALED) |
	       (is_fetch(wr) ? VRB_WR_FETCH : 0) | (plain ? 0 : VRB_WR_POLLED);
}

/* What a device makes of flags that the contract explains for all requests. */
static unsigned int send_flags(const struct tp_wr *wr)
{
	unsigned int flags = wr->flags;

	/* A read has nothing to wait for: those before it are executed before it. */
	if (wr->opcode == TP_RDMA_READ)
		flags &= ~(unsigned int)IBV_SEND_FENCE;
	if (wr->opcode != TP_SEND && wr->opcode != TP_SEND_INVALIDATE &&
	    wr->opcode != TP_RDMA_WRITE_IMM)
		flags &= ~(unsigned int)IBV_SEND_SOLICITED;
	return flags;
}

static int post_request(struct vrb_qp *qp, const struct tp_wr *wr)
{
	struct vrb_queue *queue = &qp->sq;
	struct ibv_send_wr ib;
	struct vrb_wr *own;

	memcpy(&ib, wr, offsetof(struct tp_wr, one));
	own = vrb_queue_reserve(queue, wr->wr_id, flags_of(wr));
	ib.send_flags = send_flags(wr);
	/* A read of nothing is as good as a write of nothing, and not every iWARP device ends it.
	 */
	if (!wr->length && wr->opcode == TP_RDMA_READ && qp->dev->iwarp) {
		ib.opcode = IBV_WR_RDMA_WRITE;
		own->flags &= ~(uint32_t)VRB_WR_FETCH;
	}
	ib.sg_list = (struct ibv_sge *)kept_sge(queue, own);
	own->num_sge = (uint16_t)copy_sge(kept_sge(queue, own), wr->sge, wr->num_sge, wr->length);
	ib.num_sge = own->num_sge;
	if (qp->dev->vague && is_misplaced(wr)) {
		ib.opcode = IBV_WR_RDMA_WRITE;
		ib.send_flags |= IBV_SEND_SIGNALED;
		ib.num_sge = 0;
		own->flags |= VRB_WR_FAILS;
	}
	if (queue->out_of_order && (own->flags & VRB_WR_FETCH)) {
		ib.send_flags |= IBV_SEND_SIGNALED;
		atomic_fetch_add(&queue->fetches, 1);
		atomic_store(&queue->slow, 1);
	}
	if (may_inline(qp, &ib, wr))
		ib.send_flags |= IBV_SEND_INLINE;
	return vrb_qp_post_ib(qp, own, &ib);
}

int vrb_qp_post_send(struct tp_qp *base, const struct tp_wr *wr)
{
	struct vrb_qp *qp = vrb_qp(base);

	if (qp->sq.mode != VRB_QUEUE_ACTIVE)
		return vrb_qp_post_inactive(qp, wr->wr_id);
	return vrb_queue_full(&qp->sq) ? -ENOMEM : post_request(qp, wr);
}

/* QP lock held */
static int post_drain(struct vrb_qp *qp)
{
	struct ibv_send_wr ib = { .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED };
	struct vrb_queue *queue = &qp->sq;
	struct vrb_wr *own;
	int err;

	if (vrb_queue_full(queue))
		return -ENOMEM;
	own = vrb_queue_reserve(queue, 0, VRB_WR_SLOW | VRB_WR_INTERNAL);
	own->num_sge = 0;
	ib.wr_id = (uintptr_t)own;
	err = ibv_post_send(qp->ibqp, &ib, &qp->bad);
	if (err)
		unreserve(queue, own);
	return -abs(err);
}

int vrb_qp_post_drain(struct vrb_qp *qp)
{
	struct vrb_queue *queue = &qp->sq;
	int rc = 0;

	vrb_qp_lock(qp);
	if (queue->mode == VRB_QUEUE_ACTIVE && last_signaled(queue) != vrb_queue_next(queue))
		rc = post_drain(qp);
	vrb_qp_unlock(qp);
	return rc;
}

/*
 * soft-iWARP reads what TCP has when TCP says that there is more, and does not listen to that yet
 * in the moment in which it establishes a connection (siw_qp_socket_assoc): what came in before
 * lies there until more comes. So more comes, where there may have been something: a write of
 * nothing.
 */
void vrb_qp_wake_peer(struct vrb_qp *qp)
{
	if (qp->pulses >= LAST_WAKE)
		return;
	vrb_qp_lock(qp);
	if (qp->sq.mode == VRB_QUEUE_ACTIVE) {
		qp->pulses++;
		if ((qp->pulses == FIRST_WAKE || qp->pulses == LAST_WAKE) &&
		    vrb_queue_next(&qp->sq) != qp->opened)
			post_drain(qp);
	}
	vrb_qp_unlock(qp);
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
	struct vrb_wr *own = reserve(queue, wr_id);
	int err;

	if (vrb_unlikely(num != 1 || !sge->length || queue->copies_sge)) {
		vrb_wr_copy_sge(own, sge, num);
		num = own->num_sge;
		sge = kept_sge(queue, own);
		/* Not every iWARP device takes a receive without a segment. */
		if (!num && queue->qp->dev->iwarp) {
			kept_sge(queue, own)[0] = (struct tp_sge){ .length = 0 };
			num = 1;
		}
	}
	err = post_receive(queue->qp, own, sge, num);
	return vrb_likely(!err) ? 0 : refused(queue, own, err);
}

int vrb_qp_post_recv(struct tp_qp *base, uint64_t wr_id, const struct tp_sge *sge, uint32_t num_sge)
{
	struct vrb_queue *queue = &vrb_qp(base)->rq;

	if (vrb_unlikely(vrb_queue_full(queue)))
		return -ENOMEM;
	if (vrb_unlikely(num_sge > queue->max_sge))
		return -EINVAL;
	if (vrb_likely(queue->mode == VRB_QUEUE_ACTIVE))
		return post_now(queue, wr_id, sge, num_sge);
	if (queue->mode == VRB_QUEUE_IDLE)
		vrb_wr_copy_sge(reserve(queue, wr_id), sge, num_sge);
	else
		post_flushed(queue, wr_id);
	return 0;
}

int vrb_qp_post_receives(struct vrb_qp *qp)
{
	struct vrb_queue *queue = &qp->rq;
	struct vrb_wr *wr, *last = NULL;
	int err = 0;

	vrb_qp_lock(qp);
	for (wr = vrb_queue_head(queue); wr != vrb_queue_next(queue) && !err; wr = wr->next) {
		err = post_receive(qp, wr, kept_sge(queue, wr), wr->num_sge);
		last = wr;
	}
	/* Also if it failed: what the device has it will give back. */
	set_mode(queue, VRB_QUEUE_ACTIVE);
	if (err) {
		queue->hw_end = queue->flush_to = last;
		set_mode(queue, VRB_QUEUE_FLUSHING);
		dapl_err("%s: QP 0x%x does not take its receives: %s", qp->dev->name,
			 qp->ibqp->qp_num, dapl_strerror(err));
	}
	vrb_qp_unlock(qp);
	return -abs(err);
}
