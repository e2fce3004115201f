/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Making, changing and destroying queue pairs. */
#include "providers/verbs/qp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/unsupported.h"
#include "trace/log.h"

static void notify_cm(struct tp_task *task)
{
	struct vrb_qp *qp = container_of(task, struct vrb_qp, task);

	qp->dev->qp_event(qp);
}

static void notify_core(struct tp_task *task)
{
	struct vrb_qp *qp = container_of(task, struct vrb_qp, notice);

	qp->dev->base.up->async(qp->dev->base.owner, TP_ASYNC_QP_ERROR, qp->base.owner);
}

static void enlist(struct vrb_qp *qp)
{
	struct vrb_dev *dev = qp->dev;

	pthread_mutex_lock(&dev->lock);
	qp->next = dev->qps;
	if (qp->next)
		qp->next->link = &qp->next;
	qp->link = &dev->qps;
	dev->qps = qp;
	pthread_mutex_unlock(&dev->lock);
}

static void delist(struct vrb_qp *qp)
{
	struct vrb_dev *dev = qp->dev;

	pthread_mutex_lock(&dev->lock);
	*qp->link = qp->next;
	if (qp->next)
		qp->next->link = qp->link;
	pthread_mutex_unlock(&dev->lock);
}

/* Completions that a queue may have outstanding. */
static uint32_t room(const struct vrb_queue *queue)
{
	if (!queue->cq || !queue->max_wr)
		return 0;
	return queue->max_wr + queue->extra;
}

static int attach(struct vrb_qp *qp)
{
	int rc = vrb_cq_attach(qp->sq.cq, room(&qp->sq));

	if (rc)
		return rc;
	rc = qp->srq ? vrb_srq_attach(qp->srq, qp->rq.cq) : vrb_cq_attach(qp->rq.cq, room(&qp->rq));
	if (rc)
		vrb_cq_detach(qp->sq.cq, room(&qp->sq));
	return rc;
}

static void detach(struct vrb_qp *qp)
{
	vrb_cq_detach(qp->sq.cq, room(&qp->sq));
	if (qp->srq)
		vrb_srq_detach(qp->srq, qp->rq.cq);
	else
		vrb_cq_detach(qp->rq.cq, room(&qp->rq));
}

/* What attr asks for, in a fresh qp. */
static int alloc_parts(struct vrb_qp *qp, const struct tp_qp_attr *attr, uint32_t recv_sge)
{
	uint32_t extra = qp->ud ? 0 : vrb_qp_extra(qp->dev, attr->max_send_wr);
	int rc;

	qp->pd = vrb_pd(attr->pd);
	qp->max_read_in = attr->max_read_in;
	qp->max_read_out = attr->max_read_out;
	rc = vrb_queue_init(&qp->sq, qp->dev, false, attr->max_send_wr, extra, attr->max_send_sge);
	if (rc)
		return rc;
	rc = vrb_queue_init(&qp->rq, qp->dev, true, attr->max_recv_wr, 0, recv_sge);
	if (rc)
		goto fini_sq;
	qp->rq.plain_recv = !qp->ud;
	qp->rq.copies_sge |= qp->ud; /* the device may have to get them again */
	qp->sq.qp = qp->rq.qp = qp;
	qp->sq.cq = vrb_cq(attr->send_cq);
	qp->rq.cq = vrb_cq(attr->recv_cq);
	rc = attach(qp);
	if (rc)
		goto fini_rq;
	rc = vrb_qp_make_ib(qp);
	if (rc)
		goto detach;
	return 0;

detach:
	detach(qp);
fini_rq:
	vrb_queue_fini(&qp->rq);
fini_sq:
	vrb_queue_fini(&qp->sq);
	return rc;
}

static void free_parts(struct vrb_qp *qp)
{
	vrb_qp_destroy_ib(qp);
	detach(qp);
	vrb_queue_fini(&qp->rq);
	vrb_queue_fini(&qp->sq);
}

static const struct dapl_qp_ops ud_qp_ops;

static int qp_create(struct tp_device *base, const struct tp_qp_attr *attr, void *owner,
		     struct tp_qp **out)
{
	struct vrb_dev *dev = vrb_dev(base);
	struct vrb_qp *qp = calloc(1, sizeof(*qp));
	int rc;

	if (!qp) {
		dapl_err("%s: queue pair not made: %s", dev->name, dapl_strerror(ENOMEM));
		return -ENOMEM;
	}
	qp->base = (struct tp_qp){ .dev = base,
				   .ops = attr->ud ? &ud_qp_ops : &vrb_qp_ops,
				   .owner = owner };
	qp->dev = dev;
	qp->ud = attr->ud;
	qp->task.run = notify_cm;
	qp->notice.run = notify_core;
	qp->srq = vrb_srq(attr->srq);
	rc = alloc_parts(qp, attr, attr->max_recv_sge);
	if (rc) {
		free(qp);
		return rc;
	}
	vrb_qp_adopt_ib(qp);
	vrb_qp_choose_post(qp);
	enlist(qp);
	*out = &qp->base;
	return 0;
}

static bool unchanged(const struct vrb_qp *qp, const struct tp_qp_attr *attr)
{
	return qp->pd == vrb_pd(attr->pd) && qp->sq.cq == vrb_cq(attr->send_cq) &&
	       qp->rq.cq == vrb_cq(attr->recv_cq) && qp->sq.max_wr == attr->max_send_wr &&
	       qp->rq.max_wr == attr->max_recv_wr && qp->sq.max_sge == attr->max_send_sge &&
	       qp->rq.max_sge == attr->max_recv_sge;
}

/* An idle QP has nothing that the device knows of: a new one takes its place. */
static int remake(struct vrb_qp *qp, const struct tp_qp_attr *attr)
{
	struct vrb_qp fresh = { .dev = qp->dev, .srq = qp->srq, .ud = qp->ud };
	uint32_t recv_sge = attr->max_recv_sge;
	int rc;

	/* What is posted stays posted, with all its segments (EP-63). */
	if (vrb_queue_used(&qp->rq) && recv_sge < qp->rq.max_sge)
		recv_sge = qp->rq.max_sge;
	rc = alloc_parts(&fresh, attr, recv_sge);
	if (rc)
		return rc;
	vrb_queue_move_receives(&fresh.rq, &qp->rq);
	free_parts(qp);
	vrb_queue_move(&qp->sq, &fresh.sq);
	vrb_queue_move(&qp->rq, &fresh.rq);
	qp->sq.qp = qp->rq.qp = qp;
	qp->pd = fresh.pd;
	qp->ibqp = fresh.ibqp;
	qp->ib_post = fresh.ib_post;
	qp->init = fresh.init;
	qp->max_inline = fresh.max_inline;
	vrb_qp_adopt_ib(qp);
	memset(&qp->hint, 0, sizeof(qp->hint));
	return 0;
}

static int qp_modify(struct tp_qp *base, const struct tp_qp_attr *attr)
{
	struct vrb_qp *qp = vrb_qp(base);
	int rc = unchanged(qp, attr) ? 0 : remake(qp, attr);

	if (rc)
		return rc;
	qp->max_read_in = attr->max_read_in;
	qp->max_read_out = attr->max_read_out;
	vrb_qp_choose_post(qp);
	return 0;
}

/* Where that cannot be it goes without. */
void vrb_qp_make_room(struct vrb_qp *qp)
{
	const struct tp_qp_attr attr = { .pd = qp->pd ? &qp->pd->base : NULL,
					 .send_cq = qp->sq.cq ? &qp->sq.cq->base : NULL,
					 .recv_cq = qp->rq.cq ? &qp->rq.cq->base : NULL,
					 .max_send_wr = qp->sq.max_wr,
					 .max_send_sge = qp->sq.max_sge,
					 .max_recv_wr = qp->rq.max_wr,
					 .max_recv_sge = qp->rq.max_sge };

	if (!qp->dev->windows || qp->ud || vrb_qp_extra(qp->dev, qp->sq.max_wr) <= qp->sq.extra)
		return;
	vrb_qp_lock(qp);
	if (qp->sq.mode == VRB_QUEUE_IDLE && !remake(qp, &attr))
		vrb_qp_choose_post(qp);
	vrb_qp_unlock(qp);
}

/* The next connection gets a QP of another number: nothing of this one can reach it (SIM-11). */
static int qp_reset(struct tp_qp *base)
{
	struct vrb_qp *qp = vrb_qp(base);

	vrb_qp_to_error(qp);
	vrb_qp_destroy_ib(qp);
	atomic_store(&qp->fault, 0);
	atomic_store(&qp->fault_told, false);
	atomic_store(&qp->peer_sent, false);
	atomic_store(&qp->peer_closed, false);
	atomic_store(&qp->ended, false);
	atomic_store(&qp->draining, false);
	vrb_qp_lock(qp);
	vrb_queue_reset(&qp->sq);
	vrb_queue_reset(&qp->rq);
	vrb_qp_choose_post(qp);
	vrb_qp_unlock(qp);
	return 0;
}

static void qp_destroy(struct tp_qp *base)
{
	struct vrb_qp *qp = vrb_qp(base);

	if (atomic_load(&qp->live))
		vrb_qp_to_error(qp);
	delist(qp);
	free_parts(qp);
	dapl_loop_cancel(qp->dev->base.loop, &qp->task);
	dapl_loop_cancel(qp->dev->base.loop, &qp->notice);
	free(qp);
}

/* What the device has finished counts as generated. Of an SRQ, nobody can tell what was taken. */
static void qp_pending(struct tp_qp *base, uint32_t *recv, uint32_t *send)
{
	struct vrb_qp *qp = vrb_qp(base);

	vrb_qp_collect(qp);
	*recv = vrb_queue_used(&qp->rq);
	*send = vrb_queue_used(&qp->sq);
}

const struct dapl_qp_ops vrb_qp_ops = {
	.create = qp_create,
	.modify = qp_modify,
	.reset = qp_reset,
	.destroy = qp_destroy,
	.post_send = vrb_qp_post_send,
	.post_recv = vrb_qp_post_recv,
	.limit_recv = dapl_unsupported_limit_recv,
	.pending = qp_pending,
};

/* ---- Of datagrams ---- */

static void ud_destroy(struct tp_qp *base)
{
	vrb_ud_qp_leave(vrb_qp(base));
	qp_destroy(base);
}

static const struct dapl_qp_ops ud_qp_ops = {
	.modify = qp_modify,
	.reset = dapl_unsupported_reset,
	.destroy = ud_destroy,
	.post_send = vrb_ud_post_send,
	.post_recv = vrb_qp_post_recv,
	.limit_recv = dapl_unsupported_limit_recv,
	.pending = qp_pending,
};
