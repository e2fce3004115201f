/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */

#include "providers/soft/engine/conn.h"
#include "providers/soft/engine/cq.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/memory/window.h"

/*
 * Gives one without more to say to the poll that drives, unless another is before it: those of this
 * QP were added under its lock. false: it is for the queue.
 */
static inline bool give_to_poll(struct soft_qp *qp, struct soft_cq *cq, const struct tp_wc *wc)
{
	struct tp_wr *wr = (struct tp_wr *)(uintptr_t)wc->wr_id;

	if (qp->poller != cq || !cq->takes || !(wc->flags & SOFT_WC_PLAIN) ||
	    atomic_load_explicit(&cq->head, memory_order_relaxed) !=
		    atomic_load_explicit(&cq->tail, memory_order_relaxed) ||
	    atomic_load_explicit(&cq->armed, memory_order_relaxed))
		return false;
	if (wc->flags & TP_WC_RECV)
		wr->length = wc->byte_len;
	*cq->takes = wr;
	cq->takes = NULL;
	return true;
}

/* Adds a completion; wakes whoever asked. false: the queue is full. */
static inline bool cq_try_add(struct soft_cq *cq, const struct tp_wc *wc)
{
	bool full = false, armed;
	uint32_t head;

	dapl_lock(&cq->lock);
	head = atomic_load_explicit(&cq->head, memory_order_relaxed);
	if (head - atomic_load_explicit(&cq->tail, memory_order_acquire) >= cq->limit) {
		full = true;
	} else {
		cq->ring[head & (cq->size - 1)] = *wc;
		atomic_store_explicit(&cq->head, head + 1, memory_order_release);
	}
	armed = atomic_load_explicit(&cq->armed, memory_order_relaxed);
	dapl_unlock(&cq->lock);
	if (armed && atomic_exchange(&cq->armed, 0))
		cq->base.dev->up->cq_event(cq->base.owner);
	return !full;
}

/* Ditto; false: it was lost. */
static bool cq_add(struct soft_cq *cq, const struct tp_wc *wc)
{
	if (cq_try_add(cq, wc))
		return true;
	dapl_loop_post(cq->base.dev->loop, &cq->overflow);
	return false;
}

/* What a completion may say to be one without more to say, and requests that have such ones. */
#define PLAIN_RECV   (TP_WC_RECV | TP_WC_SOLICITED)
#define ANSWERED_OPS (TP_CAN(TP_RDMA_READ) | TP_CAN(TP_READ_TO_RKEY) | TP_ATOMICS)
#define PLAIN_OPS    (1u << TP_SEND | 1u << TP_RDMA_WRITE | 1u << TP_RDMA_READ)

/* A completion that is lost, which false tells, ends the connection (EVD-95); lock held. */
static bool add_completion(struct soft_qp *qp, struct soft_cq *cq, const struct tp_wc *wc)
{
	if (give_to_poll(qp, cq, wc) || cq_add(cq, wc))
		return true;
	if (qp->conn)
		soft_conn_refuse(
			qp->conn,
			(struct soft_error){ WIRE_LAYER_RDMAP, WIRE_RDMAP_CATASTROPHIC, 0 }, NULL,
			"a completion found its queue full");
	return false;
}

void soft_complete_recv(struct soft_qp *qp, const struct tp_wc *result)
{
	uint32_t head = atomic_load_explicit(&qp->rq.head, memory_order_relaxed);
	const struct soft_rqe *rqe = soft_ring_at(&qp->rq, head);
	struct tp_wc wc = *result;

	wc.wr_id = rqe->wr_id;
	wc.qp_owner = qp->base.owner;
	if (wc.status == TP_WC_SUCCESS && !(wc.flags & ~PLAIN_RECV) && !qp->srq)
		wc.flags |= SOFT_WC_PLAIN;
	wc.flags |= SOFT_WC_CAME;
	atomic_store_explicit(&qp->rq.head, head + 1, memory_order_release);
	if (add_completion(qp, qp->recv_cq, &wc))
		return;
	/* One of a shared queue would be that queue's no more, and count as posted for ever; and a
	 * datagram endpoint, which has no connection that breaks, would be left with none. */
	if (qp->srq)
		soft_recv_return(qp, rqe);
	else if (qp->ud)
		atomic_store_explicit(&qp->rq.head, head, memory_order_release);
}

static void complete_request(struct soft_qp *qp, uint32_t status)
{
	uint32_t head = atomic_load_explicit(&qp->sq.head, memory_order_relaxed);
	struct soft_sqe *sqe = soft_sqe(qp, head);
	struct tp_wc wc = { .wr_id = sqe->wr_id, .status = status };
	bool told = status != TP_WC_SUCCESS || (sqe->flags & TP_WR_SIGNALED);

	if (status == TP_WC_SUCCESS && sqe->opcode < 32 && (PLAIN_OPS >> sqe->opcode & 1))
		wc.flags = SOFT_WC_PLAIN;
	if (sqe->opcode < 32 && (ANSWERED_OPS >> sqe->opcode & 1) && !sqe->direct)
		wc.flags |= SOFT_WC_CAME;
	atomic_store_explicit(&qp->sq.head, head + 1, memory_order_release);
	if (told)
		add_completion(qp, qp->send_cq, &wc);
}

void soft_complete_at_once(struct soft_qp *qp, uint64_t wr_id)
{
	const struct tp_wc wc = { .wr_id = wr_id, .status = TP_WC_SUCCESS, .flags = SOFT_WC_PLAIN };

	add_completion(qp, qp->send_cq, &wc);
}

void soft_complete_sends(struct soft_qp *qp)
{
	struct soft_conn *conn = qp->conn;

	while (atomic_load_explicit(&qp->sq.head, memory_order_relaxed) != qp->sq_next &&
	       soft_sqe(qp, atomic_load_explicit(&qp->sq.head, memory_order_relaxed))->done)
		complete_request(qp, TP_WC_SUCCESS);
	if (conn && conn->draining && !soft_ring_used(&qp->sq) &&
	    !atomic_exchange(&conn->drained, true))
		dapl_loop_post(conn->base.dev->loop, &conn->task);
}

/* ---- Flushing ---- */

static void flush_recvs(struct soft_qp *qp, uint32_t status)
{
	while (soft_ring_used(&qp->rq)) {
		soft_complete_recv(qp, &(struct tp_wc){ .status = status, .flags = TP_WC_RECV });
		status = TP_WC_FLUSHED;
	}
}

static void flush_requests(struct soft_qp *qp)
{
	struct soft_sqe *sqe;

	soft_complete_sends(qp);
	while (soft_ring_used(&qp->sq)) {
		sqe = soft_sqe(qp, atomic_load_explicit(&qp->sq.head, memory_order_relaxed));
		if (sqe->opcode == SOFT_OP_BIND)
			soft_window_drop(soft_sqe_bind(sqe));
		complete_request(qp, sqe->status);
	}
	qp->sq_next = atomic_load_explicit(&qp->sq.head, memory_order_relaxed);
}

void soft_complete_flush(struct soft_qp *qp, uint32_t recv_status)
{
	atomic_store(&qp->state, SOFT_QP_ERROR);
	atomic_store(&qp->prot.stream, 0);
	if (qp->srq)
		soft_recv_leave(qp);
	flush_recvs(qp, recv_status);
	flush_requests(qp);
	atomic_store(&qp->rx_starved, false);
}

bool soft_complete_posted(struct soft_qp *qp, const struct tp_wc *wc)
{
	return cq_try_add(qp->send_cq, wc);
}

void soft_complete_late(struct soft_qp *qp)
{
	flush_recvs(qp, TP_WC_FLUSHED);
	flush_requests(qp);
}
