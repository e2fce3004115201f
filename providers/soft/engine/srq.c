/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared receive queues: posting, limits, life. Taking is recv.c. */
#include "providers/soft/engine/srq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "providers/soft/base/device.h"
#include "providers/soft/engine/conn.h"
#include "providers/soft/engine/drive.h"
#include "providers/soft/engine/qp.h"
#include "trace/log.h"
#include "util/thread.h"

static struct soft_srq *soft_srq(struct tp_srq *srq)
{
	return container_of(srq, struct soft_srq, base);
}

/* ---- Waking ---- */

/* Wakes those who wait, as many as there are receives. A QP stays for as long as it is woken. */
static __attribute__((noinline)) void wake(struct soft_srq *srq)
{
	struct soft_qp *qp;

	pthread_mutex_lock(&srq->lock);
	while (!list_empty(&srq->waiting) && soft_ring_used(&srq->ring)) {
		qp = container_of(srq->waiting.next, struct soft_qp, srq_node);
		soft_recv_leave_line(srq, qp);
		qp->waking++;
		pthread_mutex_unlock(&srq->lock);
		soft_drive(qp, SOFT_DRIVE_RX);
		pthread_mutex_lock(&srq->lock);
		if (!--qp->waking)
			pthread_cond_broadcast(&srq->all_woken);
	}
	pthread_mutex_unlock(&srq->lock);
}

/* ---- Limits ---- */

/* The limit was reached, or a receive was returned. */
static void srq_run(struct tp_task *task)
{
	struct soft_srq *srq = container_of(task, struct soft_srq, task);
	struct tp_device *dev = srq->base.dev;

	if (atomic_load(&srq->num_waiting))
		wake(srq);
	for (uint32_t n = atomic_exchange(&srq->events, 0); n; n--)
		dev->up->async(dev->owner, TP_ASYNC_SRQ_LIMIT, srq->base.owner);
}

static int srq_arm(struct tp_srq *base, uint32_t limit)
{
	struct soft_srq *srq = soft_srq(base);

	pthread_mutex_lock(&srq->lock);
	srq->limit = limit;
	soft_recv_check_limit(srq);
	pthread_mutex_unlock(&srq->lock);
	return 0;
}

static void recv_limit_run(struct tp_task *task)
{
	struct soft_qp *qp = container_of(task, struct soft_qp, limit_task);

	for (uint32_t n = atomic_exchange(&qp->limit_events, 0); n; n--)
		qp->base.dev->up->async(qp->base.dev->owner, TP_ASYNC_QP_RECV_LIMIT,
					qp->base.owner);
}

/* ---- Posting ---- */

static int srq_post(struct tp_srq *base, uint64_t wr_id, const struct tp_sge *sge, uint32_t num_sge)
{
	struct soft_srq *srq = soft_srq(base);
	uint32_t tail = atomic_load_explicit(&srq->ring.tail, memory_order_relaxed);
	struct soft_rqe *rqe;

	if (soft_ring_used(&srq->ring) > srq->ring.mask)
		return -ENOMEM;
	if (num_sge > srq->ring.max_sge)
		return -EINVAL;
	rqe = soft_ring_at(&srq->ring, tail);
	rqe->wr_id = wr_id;
	rqe->num_sge = soft_copy_sge(rqe->sge, sge, num_sge);
	atomic_store(&srq->ring.tail, tail + 1);
	if (atomic_load(&srq->num_waiting))
		wake(srq);
	return 0;
}

static uint32_t srq_available(struct tp_srq *base)
{
	return soft_ring_used(&soft_srq(base)->ring);
}

/* ---- QPs ---- */

void soft_srq_attach(struct soft_qp *qp, struct tp_srq *srq)
{
	qp->srq = soft_srq(srq);
	qp->soft_limit = qp->hard_limit = UINT32_MAX;
	qp->limit_task.run = recv_limit_run;
	list_init(&qp->srq_node);
}

void soft_srq_detach(struct soft_qp *qp)
{
	struct soft_srq *srq = qp->srq;

	pthread_mutex_lock(&srq->lock);
	soft_recv_leave_line(srq, qp);
	while (qp->waking)
		dats_cond_wait(&srq->all_woken, &srq->lock);
	pthread_mutex_unlock(&srq->lock);
	dapl_loop_cancel(qp->base.dev->loop, &qp->limit_task);
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
	srq->task.run = srq_run;
	list_init(&srq->waiting);
	pthread_mutex_init(&srq->lock, NULL);
	pthread_cond_init(&srq->all_woken, NULL);
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
	pthread_cond_destroy(&srq->all_woken);
	pthread_mutex_destroy(&srq->lock);
	free(srq->ring.slots);
	free(srq);
}

static int srq_resize(struct tp_srq *base, uint32_t max_wr)
{
	struct soft_srq *srq = soft_srq(base);
	struct soft_ring ring;

	if (max_wr <= srq->ring.mask)
		return 0;
	if (soft_ring_init(&ring, max_wr, srq->ring.max_sge, sizeof(struct soft_rqe))) {
		dapl_err("%s: shared receive queue not enlarged to %u: %s",
			 soft_dev(base->dev)->name, max_wr, dapl_strerror(ENOMEM));
		return -ENOMEM;
	}
	pthread_mutex_lock(&srq->lock);
	soft_ring_replace(&srq->ring, &ring);
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
