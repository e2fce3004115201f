/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared receive queues. A QP takes a receive when a message arrives for it, into the one place of
 * its own receive queue, and has it until the message is complete. A QP that finds none waits in
 * line and is waked, one for each receive that is posted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "providers/soft/base/config.h"
#include "providers/soft/base/device.h"
#include "providers/soft/engine/conn.h"
#include "providers/soft/engine/drive.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/engine/srq.h"
#include "trace/log.h"

static struct soft_srq *soft_srq(struct tp_srq *srq)
{
	return soft_container(srq, struct soft_srq, base);
}

static struct soft_rqe *slot(struct soft_srq *srq, uint32_t index)
{
	return (struct soft_rqe *)(void *)(srq->ring.slots +
					   (size_t)(index & srq->ring.mask) * srq->ring.stride);
}

static uint32_t available(struct soft_srq *srq)
{
	return atomic_load(&srq->ring.tail) - atomic_load(&srq->ring.head);
}

/* ---- Limits ---- */

static void limit_run(struct tp_task *task)
{
	struct soft_srq *srq = soft_container(task, struct soft_srq, task);
	struct tp_device *dev = srq->base.dev;

	for (uint32_t n = atomic_exchange(&srq->events, 0); n; n--)
		dev->up->async(dev->owner, TP_ASYNC_SRQ_LIMIT, srq->base.owner);
}

/* One event if there are fewer than asked (SRQ-26, SRQ-27); lock held. */
static void look_at_limit(struct soft_srq *srq)
{
	if (available(srq) >= srq->limit)
		return;
	srq->limit = 0;
	atomic_fetch_add(&srq->events, 1);
	dapl_loop_post(srq->base.dev->loop, &srq->task);
}

static int srq_arm(struct tp_srq *base, uint32_t limit)
{
	struct soft_srq *srq = soft_srq(base);

	pthread_mutex_lock(&srq->lock);
	srq->limit = limit;
	look_at_limit(srq);
	pthread_mutex_unlock(&srq->lock);
	return 0;
}

static void recv_limit_run(struct tp_task *task)
{
	struct soft_qp *qp = soft_container(task, struct soft_qp, limit_task);

	for (uint32_t n = atomic_exchange(&qp->limit_events, 0); n; n--)
		qp->base.dev->up->async(qp->base.dev->owner, TP_ASYNC_QP_RECV_LIMIT,
					qp->base.owner);
}

/* The QP has taken one, or its limits are new; the QP's lock held. */
static void look_at_limits(struct soft_qp *qp)
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

int soft_srq_limit_recv(struct tp_qp *base, uint32_t soft, uint32_t hard)
{
	struct soft_qp *qp = soft_qp(base);

	if (!qp->srq)
		return -EOPNOTSUPP;
	pthread_mutex_lock(&qp->lock);
	qp->soft_limit = soft;
	qp->hard_limit = hard;
	look_at_limits(qp);
	pthread_mutex_unlock(&qp->lock);
	return 0;
}

/* ---- Taking ---- */

/* Moves the oldest receive to the QP; lock held, one is there. */
static void take(struct soft_srq *srq, struct soft_qp *qp)
{
	uint32_t head = atomic_load(&srq->ring.head), tail = atomic_load(&qp->rq.tail);
	const struct soft_rqe *from = slot(srq, head);
	struct soft_rqe *to = soft_rqe(qp, tail);

	to->wr_id = from->wr_id;
	to->num_sge = from->num_sge;
	memcpy(to->sge, from->sge, from->num_sge * sizeof(from->sge[0]));
	atomic_store(&srq->ring.head, head + 1);
	atomic_store(&qp->rq.tail, tail + 1);
	look_at_limit(srq);
}

static void wait_in_line(struct soft_srq *srq, struct soft_qp *qp)
{
	if (!soft_list_empty(&qp->srq_node))
		return;
	soft_list_add(&srq->waiting, &qp->srq_node);
	atomic_fetch_add(&srq->num_waiting, 1);
}

static void leave_line(struct soft_srq *srq, struct soft_qp *qp)
{
	if (soft_list_empty(&qp->srq_node))
		return;
	soft_list_del(&qp->srq_node);
	atomic_fetch_sub(&srq->num_waiting, 1);
}

bool soft_srq_take(struct soft_qp *qp)
{
	struct soft_srq *srq = qp->srq;
	bool got;

	pthread_mutex_lock(&srq->lock);
	got = available(srq);
	if (!got) {
		/* A post that does not see this is seen by the second look. */
		wait_in_line(srq, qp);
		got = available(srq);
	}
	if (got) {
		leave_line(srq, qp);
		take(srq, qp);
	}
	pthread_mutex_unlock(&srq->lock);
	if (got)
		look_at_limits(qp);
	return got;
}

/* ---- Posting ---- */

/* Wakes those who wait, as many as there are receives. A QP stays for as long as it is waked. */
static __attribute__((noinline)) void wake(struct soft_srq *srq)
{
	struct soft_qp *qp;

	pthread_mutex_lock(&srq->lock);
	while (!soft_list_empty(&srq->waiting) && available(srq)) {
		qp = soft_container(srq->waiting.next, struct soft_qp, srq_node);
		leave_line(srq, qp);
		qp->waking++;
		pthread_mutex_unlock(&srq->lock);
		soft_drive(qp, SOFT_DRIVE_RX);
		pthread_mutex_lock(&srq->lock);
		if (!--qp->waking)
			pthread_cond_broadcast(&srq->waked);
	}
	pthread_mutex_unlock(&srq->lock);
}

static int srq_post(struct tp_srq *base, uint64_t wr_id, const struct tp_sge *sge, uint32_t num_sge)
{
	struct soft_srq *srq = soft_srq(base);
	uint32_t tail = atomic_load_explicit(&srq->ring.tail, memory_order_relaxed);
	struct soft_rqe *rqe;

	if (available(srq) > srq->ring.mask)
		return -ENOMEM;
	if (num_sge > srq->ring.max_sge)
		return -EINVAL;
	rqe = slot(srq, tail);
	rqe->wr_id = wr_id;
	rqe->num_sge = 0;
	for (uint32_t i = 0; i < num_sge; i++)
		if (sge[i].length)
			rqe->sge[rqe->num_sge++] = sge[i];
	atomic_store(&srq->ring.tail, tail + 1);
	if (atomic_load(&srq->num_waiting))
		wake(srq);
	return 0;
}

static uint32_t srq_available(struct tp_srq *base)
{
	return available(soft_srq(base));
}

/* ---- QPs ---- */

void soft_srq_attach(struct soft_qp *qp, struct tp_srq *srq)
{
	qp->srq = soft_srq(srq);
	qp->soft_limit = qp->hard_limit = UINT32_MAX;
	qp->limit_task.run = recv_limit_run;
	soft_list_init(&qp->srq_node);
}

void soft_srq_detach(struct soft_qp *qp)
{
	struct soft_srq *srq = qp->srq;

	pthread_mutex_lock(&srq->lock);
	leave_line(srq, qp);
	while (qp->waking)
		pthread_cond_wait(&srq->waked, &srq->lock);
	pthread_mutex_unlock(&srq->lock);
	dapl_loop_cancel(qp->base.dev->loop, &qp->limit_task);
}

void soft_srq_leave(struct soft_qp *qp)
{
	pthread_mutex_lock(&qp->srq->lock);
	leave_line(qp->srq, qp);
	pthread_mutex_unlock(&qp->srq->lock);
}

/* ---- Life ---- */

static int srq_create(struct tp_device *base, const struct tp_srq_attr *attr, void *owner,
		      struct tp_srq **out)
{
	struct soft_srq *srq = calloc(1, sizeof(*srq));

	if (!srq)
		goto no_memory;
	if (soft_ring_init(&srq->ring, attr->max_wr, attr->max_sge, sizeof(struct soft_rqe)))
		goto free_srq;
	srq->base = (struct tp_srq){ .dev = base, .ops = &soft_srq_ops, .owner = owner };
	srq->pd = attr->pd;
	srq->task.run = limit_run;
	soft_list_init(&srq->waiting);
	pthread_mutex_init(&srq->lock, NULL);
	pthread_cond_init(&srq->waked, NULL);
	*out = &srq->base;
	return 0;

free_srq:
	free(srq);
no_memory:
	dapl_err("%s: shared receive queue of %u not created: %s", soft_dev(base)->name,
		 attr->max_wr, dapl_strerror(ENOMEM));
	return -ENOMEM;
}

static void srq_destroy(struct tp_srq *base)
{
	struct soft_srq *srq = soft_srq(base);

	dapl_loop_cancel(base->dev->loop, &srq->task);
	pthread_cond_destroy(&srq->waked);
	pthread_mutex_destroy(&srq->lock);
	free(srq->ring.slots);
	free(srq);
}

static int srq_resize(struct tp_srq *base, uint32_t max_wr)
{
	struct soft_srq *srq = soft_srq(base);
	struct soft_ring ring;
	uint32_t head, tail;

	if (max_wr <= srq->ring.mask)
		return 0;
	if (soft_ring_init(&ring, max_wr, srq->ring.max_sge, sizeof(struct soft_rqe))) {
		dapl_err("%s: shared receive queue not enlarged to %u: %s",
			 soft_dev(base->dev)->name, max_wr, dapl_strerror(ENOMEM));
		return -ENOMEM;
	}
	pthread_mutex_lock(&srq->lock);
	head = atomic_load(&srq->ring.head);
	tail = atomic_load(&srq->ring.tail);
	for (uint32_t i = head; i != tail; i++)
		memcpy(ring.slots + (size_t)(i & ring.mask) * ring.stride, slot(srq, i),
		       ring.stride);
	free(srq->ring.slots);
	srq->ring.slots = ring.slots;
	srq->ring.mask = ring.mask;
	pthread_mutex_unlock(&srq->lock);
	return 0;
}

const struct dapl_srq_ops soft_srq_ops = {
	.create = srq_create,
	.destroy = srq_destroy,
	.resize = srq_resize,
	.post = srq_post,
	.available = srq_available,
	.arm = srq_arm,
};
