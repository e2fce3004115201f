/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Posting. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/log.h"
#include "util/signals.h"
#include "providers/verbs/qp.h"

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

/* ---- Software devices ---- */

/*
 * soft-iWARP's kernel refuses the call while it ends the connection, and flushes what is queued.
 * For any other reason the device stays silent for good.
 */
static __attribute__((noinline)) int not_told(struct ibv_qp *ibqp, int err)
{
	struct vrb_qp *qp = ibqp->qp_context;
	int reason = errno;

	if (abs(err) == EINVAL || abs(err) == ENOMEM) /* the library's: not queued */
		return abs(err);
	if (reason == ENOTCONN)
		return 0;
	dapl_err_limited("%s: QP 0x%x: the device is not told of a request: %s", qp->dev->name,
			 ibqp->qp_num, dapl_strerror(reason));
	if (vrb_qp_set_fault(qp, TP_WC_TRANSPORT))
		vrb_qp_notify(qp);
	return 0;
}

static inline int post_by_call(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
			       struct ibv_send_wr **bad)
{
	int err = ibqp->context->ops.post_send(ibqp, wr, bad);

	return unlikely(err) ? not_told(ibqp, err) : 0;
}

int vrb_qp_post_by_call(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	return post_by_call(ibqp, wr, bad);
}

int vrb_qp_post_by_call_quietly(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
				struct ibv_send_wr **bad)
{
	struct dats_signals signals;
	int err;

	dats_signals_block(&signals);
	err = vrb_qp_post_by_call(ibqp, wr, bad);
	dats_signals_restore(&signals);
	return err;
}

/* ---- The fast path ---- */

/* What the device refuses of it vrb_qp_post_send takes back. */
static inline struct ibv_send_wr *reserve(struct vrb_qp *qp, struct tp_wr *wr)
{
	wr->wr_id = (uintptr_t)vrb_queue_reserve(&qp->sq, (uintptr_t)wr, 0);
	return (struct ibv_send_wr *)(void *)wr;
}

static int post_plain(struct tp_qp *base, struct tp_wr *wr)
{
	struct vrb_qp *qp = vrb_qp(base);

	return qp->ib_post(qp->ibqp, reserve(qp, wr), &qp->bad);
}

/* The same by vrb_qp_post_by_call. */
static int post_called(struct tp_qp *base, struct tp_wr *wr)
{
	struct vrb_qp *qp = vrb_qp(base);

	return post_by_call(qp->ibqp, reserve(qp, wr), &qp->bad);
}

static int post_inline(struct tp_qp *base, struct tp_wr *wr)
{
	struct vrb_qp *qp = vrb_qp(base);
	uint32_t flags = wr->flags;
	int err;

	if (wr->length <= qp->max_inline && vrb_mr_covers(qp->dev, &qp->hint, qp->pd, &wr->one))
		wr->flags |= IBV_SEND_INLINE;
	err = post_plain(base, wr);
	wr->flags = flags;
	return err;
}

static int post_inactive(struct tp_qp *base, struct tp_wr *wr)
{
	/* Else it has the entry of the one that was in this slot before. */
	wr->wr_id = (uintptr_t)wr;
	return vrb_qp_post_inactive(vrb_qp(base), (uintptr_t)wr);
}

void vrb_qp_choose_post(struct vrb_qp *qp)
{
	if (qp->sq.mode != VRB_QUEUE_ACTIVE)
		qp->base.post_plain = post_inactive;
	else if (qp->ib_post == vrb_qp_post_by_call)
		qp->base.post_plain = post_called;
	else
		qp->base.post_plain = qp->max_inline ? post_inline : post_plain;
}

int vrb_qp_post_inactive(struct vrb_qp *qp, uint64_t id)
{
	if (qp->sq.mode == VRB_QUEUE_IDLE)
		return -ENOTCONN;
	if (vrb_queue_full(&qp->sq))
		return -ENOMEM;
	vrb_queue_post_flushed(&qp->sq, id);
	return 0;
}

/* ---- Requests ---- */

int vrb_qp_post_ib(struct vrb_qp *qp, struct vrb_wr *wr, struct ibv_send_wr *ib)
{
	int err;

	ib->wr_id = (uintptr_t)wr;
	ib->next = NULL;
	err = qp->ib_post(qp->ibqp, ib, &qp->bad);
	return likely(!err) ? 0 : vrb_queue_refused(&qp->sq, wr, err);
}

static bool may_inline(struct vrb_qp *qp, const struct ibv_send_wr *ib, const struct tp_wr *wr)
{
	int i;

	if (wr->length > qp->max_inline || !wr->length ||
	    (ib->num_sge > 1 && !qp->dev->quirks.inlines_segments) ||
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
	return wr->opcode == TP_RDMA_READ || tp_is_atomic(wr->opcode);
}

static bool is_misaligned(const struct tp_wr *wr)
{
	return tp_is_atomic(wr->opcode) && wr->remote_addr % sizeof(uint64_t);
}

#define PLAIN_OPS                                                         \
	(TP_CAN(TP_SEND) | TP_CAN(TP_RDMA_WRITE) | TP_CAN(TP_RDMA_READ) | \
	 TP_CAN(TP_SEND_INVALIDATE))

static uint32_t flags_of(const struct vrb_queue *queue, const struct tp_wr *wr)
{
	return (wr->flags & TP_WR_SIGNALED ? 0 : VRB_WR_UNSIGNALED) |
	       (PLAIN_OPS & TP_CAN(wr->opcode) ? 0 : VRB_WR_POLLED) |
	       (queue->out_of_order && is_fetch(wr) ? VRB_WR_FETCH : 0);
}

/* What a device makes of flags that the contract explains for all requests. */
static inline unsigned int send_flags(const struct tp_wr *wr)
{
	const uint32_t to_receives =
		TP_CAN(TP_SEND) | TP_CAN(TP_SEND_INVALIDATE) | TP_CAN(TP_RDMA_WRITE_IMM);

	/* A read has nothing to wait for: those before it are executed before it. */
	if (wr->opcode == TP_RDMA_READ)
		return wr->flags & IBV_SEND_SIGNALED;
	return wr->flags & (IBV_SEND_SIGNALED | IBV_SEND_FENCE |
			    (to_receives & TP_CAN(wr->opcode) ? IBV_SEND_SOLICITED : 0u));
}

/* Those that are the caller's are kept where the device does not say what is wrong with them. */
static void keep_segments(struct vrb_wr *own, const struct tp_wr *wr)
{
	vrb_wr_copy_sge(own, wr->sge, wr->num_sge, wr->length);
	own->flags |= VRB_WR_SLOW | (is_fetch(wr) ? VRB_WR_FETCH : 0);
}

/* out_of_order: a read's or atomic's completion may wait for its turn; the flag it goes with. */
static unsigned int await_turn(struct vrb_queue *queue)
{
	atomic_fetch_add(&queue->fetches, 1);
	atomic_store(&queue->slow, 1);
	return IBV_SEND_SIGNALED;
}

/* What some devices do not do as they should. */
static void heed_quirks(struct vrb_qp *qp, const struct tp_wr *wr, struct vrb_wr *own,
			struct ibv_send_wr *ib)
{
	const struct vrb_quirks *quirks = &qp->dev->quirks;
	struct vrb_queue *queue = &qp->sq;

	if (!wr->length && wr->opcode == TP_RDMA_READ && quirks->empty_read_hangs) {
		ib->opcode = IBV_WR_RDMA_WRITE;
		own->flags &= ~(uint32_t)VRB_WR_FETCH;
	}
	if (quirks->checks_atomic_alignment && is_misaligned(wr)) {
		ib->opcode = IBV_WR_RDMA_WRITE;
		ib->send_flags |= IBV_SEND_SIGNALED;
		ib->num_sge = 0;
		own->flags |= VRB_WR_FAILS;
	}
	if (queue->out_of_order && (own->flags & VRB_WR_FETCH))
		ib->send_flags |= await_turn(queue);
}

static __attribute__((noinline)) int post_request(struct vrb_qp *qp, const struct tp_wr *wr,
						  uint64_t id)
{
	struct ibv_send_wr ib;
	struct vrb_wr *own;

	memcpy(&ib, wr, offsetof(struct tp_wr, one));
	own = vrb_queue_reserve(&qp->sq, id, flags_of(&qp->sq, wr));
	ib.send_flags = send_flags(wr);
	keep_segments(own, wr);
	ib.sg_list = (struct ibv_sge *)vrb_wr_sge(own);
	ib.num_sge = own->num_sge;
	if (is_fetch(wr))
		heed_quirks(qp, wr, own, &ib);
	else if (may_inline(qp, &ib, wr))
		ib.send_flags |= IBV_SEND_INLINE;
	return vrb_qp_post_ib(qp, own, &ib);
}

/* The id of a request; the entry that the fast path took for it is free again. */
static uint64_t take_back(struct vrb_queue *queue, const struct tp_wr *wr)
{
	struct vrb_wr *last = vrb_queue_before(queue, vrb_queue_next(queue));

	if (wr->wr_id != (uintptr_t)last || last->id != (uintptr_t)wr)
		return wr->wr_id;
	vrb_queue_unreserve(queue, last);
	return last->id;
}

/* Whether a request can go to the device as it is. */
static inline bool goes_as_it_is(struct vrb_qp *qp, const struct tp_wr *wr)
{
	return qp->sq.mode == VRB_QUEUE_ACTIVE && (wr->flags & TP_WR_WHOLE) &&
	       !vrb_queue_full(&qp->sq);
}

/* As keep_segments, of a request that is whole. */
static inline void keep_whole(const struct vrb_queue *queue, struct vrb_wr *own,
			      const struct tp_wr *wr)
{
	memcpy(vrb_queue_sge(queue, own), wr->sge, wr->num_sge * sizeof(*wr->sge));
	own->num_sge = (uint16_t)wr->num_sge;
	own->flags |= VRB_WR_SLOW | (is_fetch(wr) ? VRB_WR_FETCH : 0);
}

/* The device did not take it. */
static __attribute__((noinline)) int refused(struct vrb_qp *qp, const struct tp_wr *wr, int err)
{
	return vrb_queue_refused(&qp->sq, (struct vrb_wr *)(uintptr_t)wr->wr_id, err);
}

static int post_as_it_is(struct vrb_qp *qp, struct tp_wr *wr)
{
	struct ibv_send_wr *ib = (struct ibv_send_wr *)(void *)wr;
	struct vrb_wr *own = vrb_queue_reserve(&qp->sq, (uintptr_t)wr,
					       wr->flags & TP_WR_SIGNALED ? 0 : VRB_WR_UNSIGNALED);
	int err;

	if (unlikely(wr->sge != &wr->one && qp->sq.copies_sge))
		keep_whole(&qp->sq, own, wr);
	wr->wr_id = (uintptr_t)own;
	wr->flags = send_flags(wr);
	if (unlikely(wr->opcode == TP_RDMA_READ && qp->sq.out_of_order)) {
		own->flags |= VRB_WR_FETCH;
		wr->flags |= await_turn(&qp->sq);
	}
	if (wr->length <= qp->max_inline && may_inline(qp, ib, wr))
		wr->flags |= IBV_SEND_INLINE;
	err = qp->ib_post(qp->ibqp, ib, &qp->bad);
	return likely(!err) ? 0 : refused(qp, wr, err);
}

/* It goes another way; QP lock held. */
static __attribute__((noinline)) int post_else(struct vrb_qp *qp, struct tp_wr *wr)
{
	uint64_t id = take_back(&qp->sq, wr);

	if (qp->sq.mode != VRB_QUEUE_ACTIVE)
		return vrb_qp_post_inactive(qp, id);
	return vrb_queue_full(&qp->sq) ? -ENOMEM : post_request(qp, wr, id);
}

int vrb_qp_post_send(struct tp_qp *base, struct tp_wr *wr)
{
	struct vrb_qp *qp = vrb_qp(base);

	return likely(goes_as_it_is(qp, wr)) ? post_as_it_is(qp, wr) : post_else(qp, wr);
}

/* QP lock held */
int vrb_qp_post_drain(struct vrb_qp *qp)
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
	err = qp->ib_post(qp->ibqp, &ib, &qp->bad);
	if (err)
		vrb_queue_unreserve(queue, own);
	return -abs(err);
}

int vrb_qp_drain(struct vrb_qp *qp)
{
	struct vrb_queue *queue = &qp->sq;
	int rc = 0;

	vrb_qp_lock(qp);
	if (queue->mode == VRB_QUEUE_ACTIVE &&
	    vrb_queue_last_signaled(queue) != vrb_queue_next(queue))
		rc = vrb_qp_post_drain(qp);
	vrb_qp_unlock(qp);
	return rc;
}

/* Checks of the watchdog after a connection was established. */
#define FIRST_WAKE 2
#define LAST_WAKE  5

/*
 * soft-iWARP reads what TCP has when TCP says that there is more, and does not listen to that yet
 * in the moment in which it establishes a connection (siw_qp_socket_assoc): what came in before
 * lies there until more comes. So more comes, where there may have been something: a write of
 * nothing.
 */
void vrb_qp_wake_peer(struct vrb_qp *qp)
{
	if (qp->checks >= LAST_WAKE)
		return;
	vrb_qp_lock(qp);
	if (qp->sq.mode == VRB_QUEUE_ACTIVE) {
		qp->checks++;
		if ((qp->checks == FIRST_WAKE || qp->checks == LAST_WAKE) &&
		    vrb_queue_next(&qp->sq) != qp->connected)
			vrb_qp_post_drain(qp);
	}
	vrb_qp_unlock(qp);
}

/* ---- Receives ---- */

static int post_now(struct vrb_queue *queue, uint64_t wr_id, const struct tp_sge *sge, uint32_t num)
{
	struct vrb_wr *own = vrb_queue_next_entry(queue, wr_id);
	struct ibv_recv_wr ib, *bad;
	int err;

	vrb_wr_recv_from(queue, own, sge, num, &ib);
	err = ibv_post_recv(queue->qp->ibqp, &ib, &bad);
	return likely(!err) ? 0 : vrb_queue_refused(queue, own, err);
}

int vrb_qp_post_recv(struct tp_qp *base, uint64_t wr_id, const struct tp_sge *sge, uint32_t num_sge)
{
	struct vrb_queue *queue = &vrb_qp(base)->rq;

	if (unlikely(vrb_queue_full(queue)))
		return -ENOMEM;
	if (unlikely(num_sge > queue->max_sge))
		return -EINVAL;
	if (likely(queue->mode == VRB_QUEUE_ACTIVE))
		return post_now(queue, wr_id, sge, num_sge);
	if (queue->mode == VRB_QUEUE_IDLE)
		vrb_wr_copy_sge(vrb_queue_next_entry(queue, wr_id), sge, num_sge, UINT64_MAX);
	else
		vrb_queue_post_flushed(queue, wr_id);
	return 0;
}

int vrb_qp_post_receives(struct vrb_qp *qp)
{
	struct vrb_queue *queue = &qp->rq;
	struct vrb_wr *wr, *last = NULL;
	struct ibv_recv_wr ib, *bad;
	int err = 0;

	vrb_qp_lock(qp);
	for (wr = vrb_queue_head(queue); wr != vrb_queue_next(queue) && !err; wr = wr->next) {
		vrb_wr_recv(wr, &ib);
		err = ibv_post_recv(qp->ibqp, &ib, &bad);
		last = wr;
	}
	/* Also if it failed: what the device has it will give back. */
	vrb_queue_set_mode(queue, VRB_QUEUE_ACTIVE);
	if (err) {
		queue->hw_end = queue->flush_to = last;
		vrb_queue_set_mode(queue, VRB_QUEUE_FLUSHING);
		dapl_err("%s: QP 0x%x does not take its receives: %s", qp->dev->name,
			 qp->ibqp->qp_num, vrb_post_strerror(err));
	}
	vrb_qp_unlock(qp);
	return -abs(err);
}
