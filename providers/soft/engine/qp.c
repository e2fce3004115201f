/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Queue pairs: posting, completing in order, flushing. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "providers/soft/base/config.h"
#include "providers/soft/base/device.h"
#include "providers/soft/engine/conn.h"
#include "providers/soft/engine/drive.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/engine/srq.h"
#include "providers/soft/link/link.h"
#include "trace/log.h"

/* ---- Rings ---- */

int soft_ring_init(struct soft_ring *ring, uint32_t num, uint32_t max_sge, size_t entry)
{
	memset(ring, 0, sizeof(*ring));
	ring->max_sge = max_sge;
	if (max_sge < SOFT_MIN_SGE)
		max_sge = SOFT_MIN_SGE;
	ring->stride = (uint32_t)(entry + max_sge * sizeof(struct tp_sge));
	if (!num)
		return 0;
	ring->mask = soft_ring_size(num) - 1;
	ring->slots = malloc(((size_t)ring->mask + 1) * ring->stride);
	return ring->slots ? 0 : -ENOMEM;
}

static inline uint32_t ring_used(struct soft_ring *ring)
{
	return atomic_load(&ring->tail) - atomic_load(&ring->head);
}

static inline bool ring_full(struct soft_ring *ring, uint32_t tail)
{
	return !ring->slots ||
	       tail - atomic_load_explicit(&ring->head, memory_order_acquire) > ring->mask;
}

/* Copies the segments that name bytes. */
static inline uint32_t copy_sge(struct tp_sge *to, const struct tp_sge *from, uint32_t num)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < num; i++)
		if (from[i].length)
			to[used++] = from[i];
	return used;
}

/* ---- Completing ---- */

/* What a completion may say to be one without more to say, and requests that have such ones. */
#define PLAIN_RECV (TP_WC_RECV | TP_WC_SOLICITED)
#define PLAIN_OPS  (1u << TP_SEND | 1u << TP_RDMA_WRITE | 1u << TP_RDMA_READ)

/* A completion that is lost ends the connection (EVD-95); lock held. */
static void add_completion(struct soft_qp *qp, struct soft_cq *cq, const struct tp_wc *wc)
{
	if (!soft_cq_add(cq, wc) && qp->conn)
		soft_conn_refuse(
			qp->conn,
			(struct soft_error){ WIRE_LAYER_RDMAP, WIRE_RDMAP_CATASTROPHIC, 0 }, NULL,
			"a completion found its queue full");
}

void soft_qp_recv_done(struct soft_qp *qp, const struct tp_wc *result)
{
	uint32_t head = atomic_load_explicit(&qp->rq.head, memory_order_relaxed);
	struct tp_wc wc = *result;

	wc.wr_id = soft_rqe(qp, head)->wr_id;
	wc.qp_owner = qp->base.owner;
	if (wc.status == TP_WC_SUCCESS && !(wc.flags & ~PLAIN_RECV) && !qp->srq)
		wc.flags |= SOFT_WC_PLAIN;
	atomic_store_explicit(&qp->rq.head, head + 1, memory_order_release);
	add_completion(qp, qp->recv_cq, &wc);
}

static void complete_request(struct soft_qp *qp, uint32_t status)
{
	uint32_t head = atomic_load_explicit(&qp->sq.head, memory_order_relaxed);
	struct soft_sqe *sqe = soft_sqe(qp, head);
	struct tp_wc wc = { .wr_id = sqe->wr_id, .status = status };
	bool told = status != TP_WC_SUCCESS || (sqe->flags & TP_WR_SIGNALED);

	if (status == TP_WC_SUCCESS && sqe->opcode < 32 && (PLAIN_OPS >> sqe->opcode & 1))
		wc.flags = SOFT_WC_PLAIN;
	atomic_store_explicit(&qp->sq.head, head + 1, memory_order_release);
	if (told)
		add_completion(qp, qp->send_cq, &wc);
}

void soft_qp_send_done(struct soft_qp *qp)
{
	struct soft_conn *conn = qp->conn;

	while (atomic_load_explicit(&qp->sq.head, memory_order_relaxed) != qp->sq_next &&
	       soft_sqe(qp, atomic_load_explicit(&qp->sq.head, memory_order_relaxed))->done)
		complete_request(qp, TP_WC_SUCCESS);
	if (conn && conn->draining && !ring_used(&qp->sq) && !atomic_exchange(&conn->drained, true))
		dapl_loop_post(conn->base.dev->loop, &conn->task);
}

bool soft_qp_recv_ready(struct soft_qp *qp)
{
	if (ring_used(&qp->rq))
		return true;
	if (qp->srq)
		return soft_srq_take(qp);
	/* A post that does not see this is seen by the second look. */
	atomic_store(&qp->rx_starved, true);
	if (!ring_used(&qp->rq))
		return false;
	atomic_store(&qp->rx_starved, false);
	return true;
}

bool soft_qp_recv_there(struct soft_qp *qp)
{
	return ring_used(&qp->rq);
}

/* ---- Flushing ---- */

static void flush_recvs(struct soft_qp *qp, uint32_t status)
{
	while (ring_used(&qp->rq)) {
		soft_qp_recv_done(qp, &(struct tp_wc){ .status = status, .flags = TP_WC_RECV });
		status = TP_WC_FLUSHED;
	}
}

static void flush_requests(struct soft_qp *qp)
{
	struct soft_sqe *sqe;

	soft_qp_send_done(qp);
	while (ring_used(&qp->sq)) {
		sqe = soft_sqe(qp, atomic_load_explicit(&qp->sq.head, memory_order_relaxed));
		if (sqe->opcode == SOFT_OP_BIND)
			soft_window_drop(soft_sqe_bind(sqe));
		complete_request(qp, sqe->status);
	}
	qp->sq_next = atomic_load_explicit(&qp->sq.head, memory_order_relaxed);
}

void soft_qp_flush(struct soft_qp *qp, uint32_t recv_status)
{
	atomic_store(&qp->state, SOFT_QP_ERROR);
	atomic_store(&qp->prot.stream, 0);
	if (qp->srq)
		soft_srq_leave(qp);
	flush_recvs(qp, recv_status);
	flush_requests(qp);
	atomic_store(&qp->rx_starved, false);
	atomic_store(&qp->tx_stalled, false);
}

void soft_qp_flush_late(struct soft_qp *qp)
{
	flush_recvs(qp, TP_WC_FLUSHED);
	flush_requests(qp);
}

/* ---- Posting ---- */

enum {
	/* What is not simply data to be sent, one bit each. */
	SPECIAL_OPS = 1 << TP_RDMA_READ | 1 << TP_CMP_AND_SWAP | 1 << TP_FETCH_AND_ADD,
};

static __attribute__((noinline)) void special(struct soft_sqe *sqe, const struct tp_wr *wr)
{
	sqe->flags |= SOFT_WR_CAREFUL;
	if (wr->opcode == TP_READ_TO_RKEY)
		sqe->opcode = SOFT_OP_READ_TO_RKEY;
	if (!soft_sqe_is_atomic(sqe))
		return;
	sqe->rkey = wr->atomic.rkey;
	sqe->length = sizeof(uint64_t);
	*soft_sqe_operands(sqe) = (struct soft_operands){ .compare_add = wr->atomic.compare_add,
							  .swap = wr->atomic.swap };
}

static inline int reserve(struct soft_qp *qp, struct soft_sqe **sqe)
{
	uint32_t tail = atomic_load_explicit(&qp->sq.tail, memory_order_relaxed);

	if (atomic_load_explicit(&qp->state, memory_order_relaxed) == SOFT_QP_IDLE)
		return -ENOTCONN;
	if (ring_full(&qp->sq, tail))
		return -ENOMEM;
	*sqe = soft_sqe(qp, tail);
	return 0;
}

static inline void submit(struct soft_qp *qp)
{
	/* Whoever drives sees it: taking over, or being asked, comes after. */
	atomic_store_explicit(&qp->sq.tail,
			      atomic_load_explicit(&qp->sq.tail, memory_order_relaxed) + 1,
			      memory_order_release);
	soft_drive(qp, SOFT_DRIVE_TX);
}

int soft_qp_reserve(struct soft_qp *qp, struct soft_sqe **sqe)
{
	return reserve(qp, sqe);
}

void soft_qp_submit(struct soft_qp *qp)
{
	submit(qp);
}

static int qp_post_send(struct tp_qp *base, const struct tp_wr *wr)
{
	struct soft_qp *qp = soft_qp(base);
	struct soft_sqe *sqe;
	int rc = reserve(qp, &sqe);

	if (rc)
		return rc;
	if (wr->num_sge > qp->sq.max_sge)
		return -EINVAL;
	sqe->wr_id = wr->wr_id;
	sqe->remote_addr = wr->remote_addr;
	sqe->rkey = wr->rkey;
	sqe->data = wr->immediate;
	sqe->length = wr->length;
	sqe->opcode = (uint8_t)wr->opcode;
	sqe->flags = (uint8_t)wr->flags;
	sqe->status = TP_WC_FLUSHED;
	sqe->started = sqe->done = false;
	sqe->num_sge = (uint16_t)copy_sge(sqe->sge, wr->sge, wr->num_sge);
	if (wr->opcode > TP_SEND_INVALIDATE || (SPECIAL_OPS >> wr->opcode & 1))
		special(sqe, wr);
	submit(qp);
	return 0;
}

static int qp_post_recv(struct tp_qp *base, uint64_t wr_id, const struct tp_sge *sge,
			uint32_t num_sge)
{
	struct soft_qp *qp = soft_qp(base);
	uint32_t tail = atomic_load_explicit(&qp->rq.tail, memory_order_relaxed);
	struct soft_rqe *rqe;

	if (ring_full(&qp->rq, tail))
		return -ENOMEM;
	if (num_sge > qp->rq.max_sge)
		return -EINVAL;
	rqe = soft_rqe(qp, tail);
	rqe->wr_id = wr_id;
	rqe->num_sge = copy_sge(rqe->sge, sge, num_sge);
	atomic_store(&qp->rq.tail, tail + 1);
	if (atomic_load(&qp->rx_starved) || atomic_load(&qp->state) == SOFT_QP_ERROR)
		soft_drive(qp, SOFT_DRIVE_RX);
	return 0;
}

static void qp_pending(struct tp_qp *base, uint32_t *recv, uint32_t *send)
{
	struct soft_qp *qp = soft_qp(base);

	*recv = ring_used(&qp->rq);
	*send = ring_used(&qp->sq);
}

/* ---- Life ---- */

static struct soft_cq *cq_or_null(struct tp_cq *cq)
{
	return cq ? soft_cq(cq) : NULL;
}

static int qp_create(struct tp_device *base, const struct tp_qp_attr *attr, void *owner,
		     struct tp_qp **out)
{
	uint32_t recvs = attr->srq ? 1 : attr->max_recv_wr, recv_sge = attr->max_recv_sge;
	struct soft_dev *dev = soft_dev(base);
	struct soft_qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		goto no_memory;
	if (attr->srq) {
		soft_srq_attach(qp, attr->srq);
		recv_sge = qp->srq->ring.max_sge;
	}
	if (soft_ring_init(&qp->sq, attr->max_send_wr, attr->max_send_sge, sizeof(struct soft_sqe)))
		goto free_qp;
	if (soft_ring_init(&qp->rq, recvs, recv_sge, sizeof(struct soft_rqe)))
		goto free_sq;
	qp->base = (struct tp_qp){ .dev = base, .ops = &soft_qp_ops, .owner = owner };
	qp->dev = dev;
	qp->prot.stags = dev->stags;
	qp->prot.pd = attr->pd;
	qp->send_cq = cq_or_null(attr->send_cq);
	qp->recv_cq = cq_or_null(attr->recv_cq);
	qp->max_read_in = attr->max_read_in;
	qp->max_read_out = attr->max_read_out;
	qp->delayed_ack = attr->delayed_ack;
	pthread_mutex_init(&qp->lock, NULL);
	pthread_mutex_lock(&dev->lock);
	soft_list_add(&dev->qps, &qp->node);
	pthread_mutex_unlock(&dev->lock);
	*out = &qp->base;
	return 0;

free_sq:
	free(qp->sq.slots);
free_qp:
	free(qp);
no_memory:
	dapl_err("%s: queue pair of %u requests and %u receives not created: %s", dev->name,
		 attr->max_send_wr, attr->max_recv_wr, dapl_strerror(ENOMEM));
	return -ENOMEM;
}

/* Moves posted receives to a ring of other dimensions. */
static void move_recvs(struct soft_qp *qp, struct soft_ring *to)
{
	uint32_t head = atomic_load(&qp->rq.head), tail = atomic_load(&qp->rq.tail), n = 0;
	size_t size = qp->rq.stride < to->stride ? qp->rq.stride : to->stride;

	for (; head != tail; head++, n++)
		memcpy(to->slots + (size_t)n * to->stride, soft_rqe(qp, head), size);
	free(qp->rq.slots);
	qp->rq.slots = to->slots;
	qp->rq.stride = to->stride;
	qp->rq.mask = to->mask;
	qp->rq.max_sge = to->max_sge;
	atomic_store(&qp->rq.head, 0);
	atomic_store(&qp->rq.tail, n);
}

/* The queue is empty: an idle QP has no requests. */
static void replace_requests(struct soft_qp *qp, struct soft_ring *to)
{
	free(qp->sq.slots);
	qp->sq.slots = to->slots;
	qp->sq.stride = to->stride;
	qp->sq.mask = to->mask;
	qp->sq.max_sge = to->max_sge;
	atomic_store(&qp->sq.head, 0);
	atomic_store(&qp->sq.tail, 0);
	qp->sq_next = 0;
}

static void modify_locked(struct soft_qp *qp, const struct tp_qp_attr *attr, uint32_t mask)
{
	if (mask & TP_QP_PD)
		qp->prot.pd = attr->pd;
	if (mask & TP_QP_SEND_CQ)
		qp->send_cq = cq_or_null(attr->send_cq);
	if (mask & TP_QP_RECV_CQ)
		qp->recv_cq = cq_or_null(attr->recv_cq);
	if (mask & TP_QP_READ_DEPTH) {
		qp->max_read_in = attr->max_read_in;
		qp->max_read_out = attr->max_read_out;
	}
	if (mask & TP_QP_DELAYED_ACK)
		qp->delayed_ack = attr->delayed_ack;
}

static int qp_modify(struct tp_qp *base, const struct tp_qp_attr *attr, uint32_t mask)
{
	struct soft_qp *qp = soft_qp(base);
	struct soft_ring sq = { 0 }, rq = { 0 };
	uint32_t recv_sge = attr->max_recv_sge;

	if (qp->srq)
		mask &= ~(uint32_t)TP_QP_RECV_CAP;
	/* What is posted stays posted, with all its segments (EP-63). */
	if (ring_used(&qp->rq) && recv_sge < qp->rq.max_sge)
		recv_sge = qp->rq.max_sge;
	if ((mask & TP_QP_SEND_CAP) &&
	    soft_ring_init(&sq, attr->max_send_wr, attr->max_send_sge, sizeof(struct soft_sqe)))
		return -ENOMEM;
	if ((mask & TP_QP_RECV_CAP) &&
	    soft_ring_init(&rq, attr->max_recv_wr, recv_sge, sizeof(struct soft_rqe))) {
		free(sq.slots);
		return -ENOMEM;
	}
	pthread_mutex_lock(&qp->lock);
	modify_locked(qp, attr, mask);
	if (mask & TP_QP_SEND_CAP)
		replace_requests(qp, &sq);
	if (mask & TP_QP_RECV_CAP)
		move_recvs(qp, &rq);
	pthread_mutex_unlock(&qp->lock);
	return 0;
}

static void drop_requests(struct soft_qp *qp)
{
	uint32_t head = atomic_load(&qp->sq.head), tail = atomic_load(&qp->sq.tail);

	for (; head != tail; head++)
		if (soft_sqe(qp, head)->opcode == SOFT_OP_BIND)
			soft_window_drop(soft_sqe_bind(soft_sqe(qp, head)));
	atomic_store(&qp->sq.head, tail);
	qp->sq_next = tail;
}

static int qp_reset(struct tp_qp *base)
{
	struct soft_qp *qp = soft_qp(base);

	pthread_mutex_lock(&qp->lock);
	if (atomic_load(&qp->state) == SOFT_QP_ERROR) {
		atomic_store(&qp->rq.head, atomic_load(&qp->rq.tail));
		drop_requests(qp);
		atomic_store(&qp->state, SOFT_QP_IDLE);
	}
	pthread_mutex_unlock(&qp->lock);
	return 0;
}

static void qp_destroy(struct tp_qp *base)
{
	struct soft_qp *qp = soft_qp(base);
	struct soft_dev *dev = qp->dev;

	pthread_mutex_lock(&dev->lock);
	soft_list_del(&qp->node);
	pthread_mutex_unlock(&dev->lock);
	if (qp->srq)
		soft_srq_detach(qp);
	drop_requests(qp);
	pthread_mutex_destroy(&qp->lock);
	free(qp->sq.slots);
	free(qp->rq.slots);
	free(qp);
}

const struct dapl_qp_ops soft_qp_ops = {
	.create = qp_create,
	.modify = qp_modify,
	.reset = qp_reset,
	.destroy = qp_destroy,
	.post_send = qp_post_send,
	.post_recv = qp_post_recv,
	.limit_recv = soft_srq_limit_recv,
	.pending = qp_pending,
};
