/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Queue pairs: posting, life. */
#include "providers/soft/engine/qp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "providers/soft/base/device.h"
#include "providers/soft/engine/conn.h"
#include "providers/soft/engine/drive.h"
#include "providers/soft/engine/srq.h"
#include "providers/soft/engine/ud.h"
#include "trace/log.h"

/* ---- Posting ---- */

/* What is not simply data to be sent. */
#define SPECIAL_OPS (TP_CAN(TP_RDMA_READ) | TP_CAN(TP_READ_TO_RKEY) | TP_ATOMICS)

static __attribute__((noinline)) void special(struct soft_sqe *sqe, const struct tp_wr *wr)
{
	sqe->flags |= SOFT_WR_CAREFUL;
	if (!tp_is_atomic(sqe->opcode))
		return;
	sqe->rkey = wr->atomic.rkey;
	sqe->length = sizeof(uint64_t);
	*soft_sqe_operands(sqe) = (struct soft_operands){ .compare_add = wr->atomic.compare_add,
							  .swap = wr->atomic.swap };
}

int soft_qp_reserve(struct soft_qp *qp, struct soft_sqe **sqe)
{
	uint32_t tail = atomic_load_explicit(&qp->sq.tail, memory_order_relaxed);

	if (atomic_load_explicit(&qp->state, memory_order_relaxed) == SOFT_QP_IDLE)
		return -ENOTCONN;
	if (soft_ring_full(&qp->sq, tail))
		return -ENOMEM;
	*sqe = soft_sqe(qp, tail);
	return 0;
}

void soft_qp_submit(struct soft_qp *qp)
{
	/* Whoever drives sees it: taking over, or being asked, comes after. */
	atomic_store_explicit(&qp->sq.tail,
			      atomic_load_explicit(&qp->sq.tail, memory_order_relaxed) + 1,
			      memory_order_release);
	soft_drive(qp, SOFT_DRIVE_TX);
}

enum {
	AT_ONCE_MAX = UINT16_MAX, /* more is in no FPDU */
};

static bool is_plain(const struct tp_wr *wr)
{
	return (wr->opcode == TP_SEND || wr->opcode == TP_RDMA_WRITE) &&
	       wr->length <= AT_ONCE_MAX && !(wr->flags & TP_WR_FENCE);
}

static int qp_post_send(struct tp_qp *base, struct tp_wr *wr)
{
	struct soft_qp *qp = soft_qp(base);
	struct soft_sqe *sqe;
	int rc;

	if (wr->num_sge > qp->sq.max_sge)
		return -EINVAL;
	if (is_plain(wr) && soft_drive_post(qp, wr))
		return 0;
	rc = soft_qp_reserve(qp, &sqe);
	if (rc)
		return rc;
	sqe->wr_id = wr->wr_id;
	sqe->remote_addr = wr->remote_addr;
	sqe->rkey = wr->rkey;
	sqe->data = wr->immediate;
	sqe->length = wr->length;
	sqe->opcode = (uint8_t)wr->opcode;
	sqe->flags = (uint8_t)wr->flags;
	sqe->status = TP_WC_FLUSHED;
	sqe->started = sqe->done = sqe->direct = false;
	sqe->num_sge = (uint16_t)soft_copy_sge(sqe->sge, wr->sge, wr->num_sge);
	if (TP_CAN(wr->opcode) & SPECIAL_OPS)
		special(sqe, wr);
	soft_qp_submit(qp);
	return 0;
}

int soft_qp_post_recv(struct tp_qp *base, uint64_t wr_id, const struct tp_sge *sge,
		      uint32_t num_sge)
{
	struct soft_qp *qp = soft_qp(base);
	uint32_t tail = atomic_load_explicit(&qp->rq.tail, memory_order_relaxed);
	struct soft_rqe *rqe;

	if (soft_ring_full(&qp->rq, tail))
		return -ENOMEM;
	if (num_sge > qp->rq.max_sge)
		return -EINVAL;
	rqe = soft_ring_at(&qp->rq, tail);
	rqe->wr_id = wr_id;
	rqe->num_sge = soft_copy_sge(rqe->sge, sge, num_sge);
	atomic_store(&qp->rq.tail, tail + 1);
	if (atomic_load(&qp->rx_starved) || atomic_load(&qp->state) == SOFT_QP_ERROR)
		soft_drive(qp, SOFT_DRIVE_RX);
	return 0;
}

void soft_qp_pending(struct tp_qp *base, uint32_t *recv, uint32_t *send)
{
	struct soft_qp *qp = soft_qp(base);

	*recv = soft_ring_used(&qp->rq);
	*send = soft_ring_used(&qp->sq);
}

/* A flush enters the error state before it completes anything. */
static bool qp_unfinished(struct tp_qp *base, uint32_t *num)
{
	struct soft_qp *qp = soft_qp(base);

	*num = soft_ring_used(&qp->sq);
	return atomic_load(&qp->state) == SOFT_QP_LIVE;
}

/* ---- Life ---- */

static struct soft_cq *cq_or_null(struct tp_cq *cq)
{
	return cq ? soft_cq(cq) : NULL;
}

/* What it has of its attributes beside its rings. */
static void take_attr(struct soft_qp *qp, const struct tp_qp_attr *attr)
{
	qp->prot.pd = attr->pd;
	qp->send_cq = cq_or_null(attr->send_cq);
	qp->recv_cq = cq_or_null(attr->recv_cq);
	qp->max_read_in = attr->max_read_in;
	qp->max_read_out = attr->max_read_out;
	qp->delayed_ack = attr->delayed_ack;
}

static int qp_create(struct tp_device *base, const struct tp_qp_attr *attr, void *owner,
		     struct tp_qp **out)
{
	uint32_t recvs = attr->srq ? 1 : attr->max_recv_wr, recv_sge = attr->max_recv_sge;
	struct soft_dev *dev = soft_dev(base);
	struct soft_qp *qp = calloc(1, sizeof(*qp));
	int rc;

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
	take_attr(qp, attr);
	dapl_lock_init(&qp->lock);
	pthread_mutex_lock(&dev->lock);
	list_add(&dev->qps, &qp->node);
	pthread_mutex_unlock(&dev->lock);
	rc = attr->ud ? soft_ud_open(qp) : 0;
	if (rc) {
		soft_qp_destroy(&qp->base);
		return rc;
	}
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

int soft_qp_modify(struct tp_qp *base, const struct tp_qp_attr *attr)
{
	struct soft_qp *qp = soft_qp(base);
	struct soft_ring sq = { 0 }, rq = { 0 };
	uint32_t recv_sge = attr->max_recv_sge;

	/* What is posted stays posted, with all its segments (EP-63). */
	if (soft_ring_used(&qp->rq) && recv_sge < qp->rq.max_sge)
		recv_sge = qp->rq.max_sge;
	if (soft_ring_init(&sq, attr->max_send_wr, attr->max_send_sge, sizeof(struct soft_sqe)))
		return -ENOMEM;
	if (!qp->srq && soft_ring_init(&rq, attr->max_recv_wr, recv_sge, sizeof(struct soft_rqe))) {
		free(sq.slots);
		return -ENOMEM;
	}
	dapl_lock(&qp->lock);
	take_attr(qp, attr);
	soft_ring_replace(&qp->sq, &sq);
	if (!qp->srq)
		soft_ring_replace(&qp->rq, &rq);
	dapl_unlock(&qp->lock);
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

	dapl_lock(&qp->lock);
	if (atomic_load(&qp->state) == SOFT_QP_ERROR) {
		atomic_store(&qp->rq.head, atomic_load(&qp->rq.tail));
		drop_requests(qp);
		atomic_store(&qp->state, SOFT_QP_IDLE);
	}
	dapl_unlock(&qp->lock);
	return 0;
}

void soft_qp_destroy(struct tp_qp *base)
{
	struct soft_qp *qp = soft_qp(base);
	struct soft_dev *dev = qp->dev;

	pthread_mutex_lock(&dev->lock);
	list_del(&qp->node);
	pthread_mutex_unlock(&dev->lock);
	if (qp->srq)
		soft_srq_detach(qp);
	drop_requests(qp);
	dapl_lock_fini(&qp->lock);
	free(qp->sq.slots);
	free(qp->rq.slots);
	free(qp);
}

static bool qp_starved(struct tp_qp *base)
{
	struct soft_qp *qp = soft_qp(base);
	bool starved;

	if (!dapl_trylock(&qp->lock))
		return false;
	starved = qp->conn && soft_conn_starved(qp->conn);
	dapl_unlock(&qp->lock);
	return starved;
}

const struct dapl_qp_ops soft_qp_ops = {
	.create = qp_create,
	.modify = soft_qp_modify,
	.reset = qp_reset,
	.destroy = soft_qp_destroy,
	.post_send = qp_post_send,
	.post_recv = soft_qp_post_recv,
	.limit_recv = soft_recv_set_limits,
	.pending = soft_qp_pending,
	.unfinished = qp_unfinished,
	.starved = qp_starved,
};
