/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A QP with a shared receive queue takes a Receive when a message arrives for it, into the one
 * place of its own queue, and has it until the message is complete. A QP that finds none waits in
 * line, and is driven again, one for each Receive that is posted.
 */

#include <errno.h>
#include <string.h>

#include "providers/soft/engine/conn.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/engine/srq.h"
#include "providers/soft/memory/copy.h"
#include "providers/soft/memory/stag.h"

/* ---- Limits ---- */

void soft_recv_check_limit(struct soft_srq *srq)
{
	if (soft_ring_used(&srq->ring) >= srq->limit)
		return;
	srq->limit = 0;
	atomic_fetch_add(&srq->events, 1);
	dapl_loop_post(srq->base.dev->loop, &srq->task);
}

/* The QP has taken one, or its limits are new; the QP's lock held. */
static void look_at_qp_limits(struct soft_qp *qp)
{
	struct soft_fault fault = {
		.event = TP_CONN_BROKEN,
		.err = -ENOBUFS,
		.terminate = true,
		.recv_status = TP_WC_FLUSHED,
		.term = { .error = { WIRE_LAYER_RDMAP, WIRE_RDMAP_CATASTROPHIC, 0 } },
		.why = "more receives taken from the shared queue than the hard high watermark",
	};
	uint32_t taken = atomic_load(&qp->rq.tail) - atomic_load(&qp->rq.head);

	if (taken > qp->soft_limit) {
		qp->soft_limit = UINT32_MAX;
		atomic_fetch_add(&qp->limit_events, 1);
		dapl_loop_post(qp->base.dev->loop, &qp->limit_task);
	}
	if (taken > qp->hard_limit && qp->conn)
		soft_conn_fail(qp->conn, &fault);
}

int soft_recv_set_limits(struct tp_qp *base, uint32_t soft, uint32_t hard)
{
	struct soft_qp *qp = soft_qp(base);

	if (!qp->srq)
		return -EOPNOTSUPP;
	dapl_lock(&qp->lock);
	qp->soft_limit = soft;
	qp->hard_limit = hard;
	look_at_qp_limits(qp);
	dapl_unlock(&qp->lock);
	return 0;
}

/* ---- Taking ---- */

/* Moves the oldest receive to the QP; lock held, one is there. */
static void take(struct soft_srq *srq, struct soft_qp *qp)
{
	uint32_t head = atomic_load(&srq->ring.head), tail = atomic_load(&qp->rq.tail);
	const struct soft_rqe *from = soft_ring_at(&srq->ring, head);
	struct soft_rqe *to = soft_ring_at(&qp->rq, tail);

	to->wr_id = from->wr_id;
	to->num_sge = from->num_sge;
	memcpy(to->sge, from->sge, from->num_sge * sizeof(from->sge[0]));
	atomic_store(&srq->ring.head, head + 1);
	atomic_store(&qp->rq.tail, tail + 1);
	soft_recv_check_limit(srq);
}

static void wait_in_line(struct soft_srq *srq, struct soft_qp *qp)
{
	if (!list_empty(&qp->srq_node))
		return;
	list_add(&srq->waiting, &qp->srq_node);
	atomic_fetch_add(&srq->num_waiting, 1);
}

void soft_recv_leave_line(struct soft_srq *srq, struct soft_qp *qp)
{
	if (list_empty(&qp->srq_node))
		return;
	list_del(&qp->srq_node);
	atomic_fetch_sub(&srq->num_waiting, 1);
}

static bool take_shared(struct soft_qp *qp)
{
	struct soft_srq *srq = qp->srq;
	bool got;

	pthread_mutex_lock(&srq->lock);
	got = soft_ring_used(&srq->ring);
	if (!got) {
		/* A post that does not see this is seen by the second look. */
		wait_in_line(srq, qp);
		got = soft_ring_used(&srq->ring);
	}
	if (got) {
		soft_recv_leave_line(srq, qp);
		take(srq, qp);
	}
	pthread_mutex_unlock(&srq->lock);
	if (got)
		look_at_qp_limits(qp);
	return got;
}

void soft_recv_return(struct soft_qp *qp, const struct soft_rqe *rqe)
{
	struct soft_srq *srq = qp->srq;
	struct soft_rqe *to;
	uint32_t head;

	pthread_mutex_lock(&srq->lock);
	/* There is room: it still counts as posted, so that nobody has posted to its place. */
	head = atomic_load(&srq->ring.head) - 1;
	to = soft_ring_at(&srq->ring, head);
	to->wr_id = rqe->wr_id;
	to->num_sge = rqe->num_sge;
	memcpy(to->sge, rqe->sge, rqe->num_sge * sizeof(rqe->sge[0]));
	atomic_store(&srq->ring.head, head);
	pthread_mutex_unlock(&srq->lock);
	/* Others may wait for it, whose locks are not to be taken here. */
	dapl_loop_post(srq->base.dev->loop, &srq->task);
}

void soft_recv_leave(struct soft_qp *qp)
{
	pthread_mutex_lock(&qp->srq->lock);
	soft_recv_leave_line(qp->srq, qp);
	pthread_mutex_unlock(&qp->srq->lock);
}

bool soft_recv_ready(struct soft_qp *qp)
{
	if (soft_ring_used(&qp->rq)) {
		if (atomic_load_explicit(&qp->rx_starved, memory_order_relaxed))
			atomic_store(&qp->rx_starved, false);
		return true;
	}
	if (qp->srq)
		return take_shared(qp);
	/* A post that does not see this is seen by the second look. */
	atomic_store(&qp->rx_starved, true);
	if (!soft_ring_used(&qp->rq))
		return false;
	atomic_store(&qp->rx_starved, false);
	return true;
}

/* ---- Where bytes go ---- */

static const struct soft_rqe *oldest(struct soft_qp *qp)
{
	return soft_ring_at(&qp->rq, atomic_load_explicit(&qp->rq.head, memory_order_relaxed));
}

uint64_t soft_recv_room(struct soft_qp *qp)
{
	const struct soft_rqe *rqe = oldest(qp);
	uint64_t room = 0;

	for (uint32_t i = 0; i < rqe->num_sge; i++)
		room += rqe->sge[i].length;
	return room;
}

bool soft_recv_plain(struct soft_qp *qp, const uint8_t *payload, uint32_t len)
{
	const struct soft_rqe *rqe = oldest(qp);
	uint8_t *mem;

	if (qp->srq || !soft_ring_used(&qp->rq))
		return false;
	if (!len)
		return true;
	return rqe->num_sge == 1 && len <= rqe->sge[0].length &&
	       soft_stag_check_recv(&qp->prot, qp->prot.pd, rqe->sge[0].lkey, rqe->sge[0].addr, len,
				    &mem) &&
	       soft_copy_in(mem, payload, len);
}

int soft_recv_iov(struct soft_qp *qp, uint32_t from, uint32_t len, struct iovec *iov, int max)
{
	const struct tp_pd *pd = qp->srq ? qp->srq->pd : qp->prot.pd;
	const struct soft_rqe *rqe = oldest(qp);
	const struct tp_sge *sge = rqe->sge;
	uint32_t n, num = rqe->num_sge;
	uint8_t *mem;
	int used = 0;

	for (; num && len && used < max; num--, sge++) {
		if (from >= sge->length) {
			from -= sge->length;
			continue;
		}
		n = sge->length - from < len ? sge->length - from : len;
		if (!soft_stag_check_recv(&qp->prot, pd, sge->lkey, sge->addr + from, n, &mem))
			return -1;
		iov[used++] = (struct iovec){ .iov_base = mem, .iov_len = n };
		len -= n;
		from = 0;
	}
	return used;
}
