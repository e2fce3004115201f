/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Queue pairs: making them, bringing them into service and out of it. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "trace/log.h"
#include "providers/verbs/map.h"
#include "providers/verbs/verbs.h"

/* ---- Rings ---- */

/* Requests of the transport's own: markers, nudges, and an invalidation before a window is bound
 * again. */
static uint32_t extra(const struct vrb_queue *queue)
{
	uint32_t most, num = VRB_DRAIN_WRS;

	if (queue->recv || !queue->max_wr)
		return 0;
	if (queue->qp->dev->siw)
		num += VRB_WAKE_WRS;
	if (queue->qp->dev->windows) {
		most = queue->qp->dev->max_qp_wr - queue->max_wr;
		num = queue->max_wr + num < most ? queue->max_wr + num : most;
	}
	return num;
}

static int queue_init(struct vrb_queue *queue, struct vrb_qp *qp, bool recv, struct vrb_cq *cq,
		      uint32_t max_wr, uint32_t max_sge)
{
	uint32_t size = 1, i;

	memset(queue, 0, sizeof(*queue));
	queue->recv = recv;
	queue->qp = qp;
	queue->cq = cq;
	queue->max_wr = max_wr;
	queue->max_sge = max_sge;
	while (size <= max_wr + extra(queue))
		size *= 2;
	queue->mask = size - 1;
	queue->wr = calloc(size, sizeof(*queue->wr));
	queue->copies_sge = qp->dev->vague;
	queue->out_of_order = !recv && qp->dev->iwarp;
	queue->slow = recv;
	queue->sge = calloc((size_t)size * (max_sge ? max_sge : 1), sizeof(*queue->sge));
	if (!queue->wr || !queue->sge) {
		dapl_err("%s: queue of %u %s not made: %s", qp->dev->name, max_wr,
			 recv ? "receives" : "requests", dapl_strerror(ENOMEM));
		free(queue->wr);
		free(queue->sge);
		return -ENOMEM;
	}
	for (i = 0; i < size; i++) {
		queue->wr[i].queue = queue;
		queue->wr[i].next = &queue->wr[(i + 1) & queue->mask];
	}
	queue->done = queue->wr;
	atomic_store(&queue->head, queue->wr);
	atomic_store(&queue->next, queue->wr);
	return 0;
}

static void queue_fini(struct vrb_queue *queue)
{
	free(queue->wr);
	free(queue->sge);
}

static uint32_t room(const struct vrb_queue *queue)
{
	if (!queue->cq || !queue->max_wr)
		return 0;
	return queue->max_wr + extra(queue);
}

/* Puts a queue with its contents into another place. */
static void queue_move(struct vrb_queue *to, const struct vrb_queue *from)
{
	uint32_t i;

	*to = *from;
	for (i = 0; i <= to->mask; i++)
		to->wr[i].queue = to;
}

/* Kept receives go over to a ring of other dimensions. */
static void move_receives(struct vrb_queue *to, struct vrb_queue *from)
{
	struct vrb_wr *old, *wr;

	for (old = vrb_queue_head(from); old != vrb_queue_next(from); old = old->next) {
		wr = vrb_queue_reserve(to, old->id, 0);
		wr->num_sge = old->num_sge;
		memcpy(to->sge + (size_t)(wr - to->wr) * to->max_sge,
		       from->sge + (size_t)(old - from->wr) * from->max_sge,
		       wr->num_sge * sizeof(*to->sge));
	}
}

/* ---- The device's QP ---- */

static uint32_t at_least_one(uint32_t value)
{
	return value ? value : 1;
}

static struct ibv_cq *cq_of(const struct vrb_queue *queue)
{
	return queue->cq ? queue->cq->ibcq : queue->qp->dev->null_cq;
}

/* Devices made of software have the kernel copy the data anyway. */
static uint32_t inline_wanted(const struct vrb_dev *dev)
{
	return dev->vague ? 0 : (uint32_t)dev->config->max_inline;
}

/* The regions' rights decide, whatever the depths of a connection. */
static unsigned int access_flags(const struct vrb_dev *dev)
{
	unsigned int flags =
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

	if (dev->attr.fetch_and_add)
		flags |= IBV_ACCESS_REMOTE_ATOMIC;
	if (dev->windows)
		flags |= IBV_ACCESS_MW_BIND;
	return flags;
}

/*
 * RoCE has one partition: a QP needs to know nothing of its connection to take receives, and a
 * step less is taken while the peer waits. Where that fails the connection says so.
 */
static bool early_init(struct vrb_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = qp->dev->port,
				    .qp_access_flags = access_flags(qp->dev) };

	return qp->dev->roce &&
	       !ibv_modify_qp(qp->ibqp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

/* Whose it is the device learns later: see adopt. */
static int make_ibqp(struct vrb_qp *qp)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq_of(&qp->sq),
		.recv_cq = cq_of(&qp->rq),
		.srq = qp->srq ? qp->srq->ibsrq : NULL,
		.cap = { .max_send_wr = at_least_one(qp->sq.max_wr + extra(&qp->sq)),
			 .max_recv_wr = at_least_one(qp->rq.max_wr),
			 .max_send_sge = at_least_one(qp->sq.max_sge),
			 .max_recv_sge = at_least_one(qp->rq.max_sge),
			 .max_inline_data = inline_wanted(qp->dev) },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp_init_attr attempt = init;
	int err;

	if (!qp->pd)
		return 0;
	errno = 0;
	qp->ibqp = ibv_create_qp(qp->pd->ibpd, &attempt);
	if (!qp->ibqp && init.cap.max_inline_data) {
		attempt = init;
		attempt.cap.max_inline_data = 0;
		qp->ibqp = ibv_create_qp(qp->pd->ibpd, &attempt);
	}
	if (qp->ibqp) {
		qp->ib_post = qp->ibqp->context->ops.post_send;
		qp->init = early_init(qp);
		qp->max_inline = attempt.cap.max_inline_data < inline_wanted(qp->dev)
					 ? attempt.cap.max_inline_data
					 : inline_wanted(qp->dev);
		return 0;
	}
	err = errno ? errno : ENOMEM;
	dapl_err("%s: QP of %u requests of %u segments and %u receives of %u not created: %s "
		 "(device limit: %u)",
		 qp->dev->name, qp->sq.max_wr, qp->sq.max_sge, qp->rq.max_wr, qp->rq.max_sge,
		 dapl_strerror(err), qp->dev->attr.max_qp_wr);
	return err == EMFILE || err == ENFILE || err == ENOSPC ? -err : -ENOMEM;
}

/* What the device says of its QP it says of this one, which stays where it is, from here on. */
static void adopt(struct vrb_qp *qp)
{
	if (!qp->ibqp)
		return;
	qp->ibqp->qp_context = qp;
	if (qp->srq)
		vrb_srq_list(qp);
}

int vrb_qp_prepare(struct vrb_qp *qp)
{
	int rc;

	if (qp->ibqp)
		return 0;
	rc = make_ibqp(qp);
	if (!rc)
		adopt(qp);
	return rc;
}

/* The device's QP, which is no longer this one's. */
static struct ibv_qp *part_with(struct vrb_qp *qp)
{
	struct ibv_qp *ibqp = qp->ibqp;

	if (!ibqp)
		return NULL;
	vrb_mw_qp_gone(qp);
	qp->ibqp = NULL;
	atomic_store(&qp->live, false);
	ibqp->qp_context = NULL;
	return ibqp;
}

/* Completions of the SRQ's receives that bear its number are nobody's from here on. */
static void leave_srq(struct vrb_qp *qp)
{
	if (!qp->srq)
		return;
	if (qp->rq.cq)
		vrb_cq_collect(qp->rq.cq);
	vrb_srq_delist(qp);
}

/* With what it has; nothing of it completes any more. */
static void discard(struct vrb_qp *qp)
{
	struct ibv_qp *ibqp = part_with(qp);
	int err = ibqp ? ibv_destroy_qp(ibqp) : 0;

	if (err)
		dapl_err("%s: QP 0x%x not destroyed: %s", qp->dev->name, ibqp->qp_num,
			 dapl_strerror(err));
	if (ibqp)
		leave_srq(qp);
}

/* ---- Into service ---- */

static int modify(struct vrb_qp *qp, struct ibv_qp_attr *attr, int mask, const char *what)
{
	int err = mask ? ibv_modify_qp(qp->ibqp, attr, mask) : 0;

	if (err)
		dapl_err("%s: QP 0x%x not made ready to %s: %s", qp->dev->name, qp->ibqp->qp_num,
			 what, dapl_strerror(err));
	return -abs(err);
}

static int attr_for(struct vrb_qp *qp, struct rdma_cm_id *id, enum ibv_qp_state state,
		    struct ibv_qp_attr *attr, int *mask)
{
	int err;

	memset(attr, 0, sizeof(*attr));
	attr->qp_state = state;
	*mask = 0;
	if (!rdma_init_qp_attr(id, attr, mask))
		return 0;
	err = errno;
	dapl_trace(rdma_no_qp_attr, DAPL_TRC_ERROR, qp, "ia=%s why=%s", qp->dev->name,
		   dapl_strerror(err));
	return -err;
}

int vrb_qp_to_init(struct vrb_qp *qp, struct rdma_cm_id *id)
{
	struct ibv_qp_attr attr;
	int mask, rc;

	if (qp->init)
		return 0;
	rc = attr_for(qp, id, IBV_QPS_INIT, &attr, &mask);
	if (rc)
		return rc;
	attr.qp_access_flags = access_flags(qp->dev);
	return modify(qp, &attr, mask, "take receives");
}

/* What the operator wants instead of what the route says. */
static void steer(const struct vrb_config *config, struct ibv_qp_attr *attr, int mask)
{
	if ((mask & IBV_QP_PATH_MTU) && config->mtu)
		attr->path_mtu = vrb_map_mtu(config->mtu, attr->path_mtu);
	if (!(mask & IBV_QP_AV))
		return;
	if (config->sl >= 0)
		attr->ah_attr.sl = (uint8_t)config->sl;
	if (!attr->ah_attr.is_global)
		return;
	if (config->tclass >= 0)
		attr->ah_attr.grh.traffic_class = (uint8_t)config->tclass;
	if (config->hop_limit)
		attr->ah_attr.grh.hop_limit = (uint8_t)config->hop_limit;
}

/* soft-RoCE counts to six; seven, which the peer may have asked for, is for ever. */
#define RETRIES_THAT_END 6

int vrb_qp_to_rts(struct vrb_qp *qp, struct rdma_cm_id *id, const struct vrb_depth *depth)
{
	struct ibv_qp_attr attr;
	int mask, rc;

	atomic_store(&qp->live, true);
	if (qp->dev->iwarp)
		return 0;
	rc = attr_for(qp, id, IBV_QPS_RTR, &attr, &mask);
	if (rc)
		return rc;
	attr.max_dest_rd_atomic = depth->in;
	attr.min_rnr_timer = (uint8_t)qp->dev->config->rnr_timer;
	mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	steer(qp->dev->config, &attr, mask);
	rc = modify(qp, &attr, mask, "receive");
	if (rc)
		return rc;
	rc = attr_for(qp, id, IBV_QPS_RTS, &attr, &mask);
	if (rc)
		return rc;
	attr.max_rd_atomic = depth->out;
	mask |= IBV_QP_MAX_QP_RD_ATOMIC;
	if (qp->dev->vague && attr.retry_cnt > RETRIES_THAT_END)
		attr.retry_cnt = RETRIES_THAT_END;
	if (qp->dev->config->ack_timer && (mask & IBV_QP_TIMEOUT))
		attr.timeout = (uint8_t)qp->dev->config->ack_timer;
	return modify(qp, &attr, mask, "send");
}

void vrb_qp_open(struct vrb_qp *qp)
{
	qp->pulses = 0;
	vrb_qp_lock(qp);
	if (qp->sq.mode == VRB_QUEUE_IDLE)
		qp->sq.mode = VRB_QUEUE_ACTIVE;
	qp->opened = vrb_queue_next(&qp->sq);
	vrb_qp_choose_post(qp);
	vrb_qp_unlock(qp);
}

/* ---- Out of service ---- */

static bool flushed(struct vrb_queue *queue)
{
	bool all;

	vrb_qp_lock(queue->qp);
	all = queue->mode == VRB_QUEUE_FLUSHED || vrb_queue_head(queue) == queue->flush_to;
	vrb_qp_unlock(queue->qp);
	return all;
}

void vrb_qp_collect(struct vrb_qp *qp)
{
	if (qp->sq.cq)
		vrb_cq_collect(qp->sq.cq);
	if (qp->rq.cq && qp->rq.cq != qp->sq.cq)
		vrb_cq_collect(qp->rq.cq);
}

/* Whether the device gave everything back in time. */
static bool await_flush(struct vrb_qp *qp)
{
	uint64_t deadline = dapl_now() + (uint64_t)qp->dev->config->flush_ms * 1000000;

	for (;;) {
		vrb_qp_collect(qp);
		if (flushed(&qp->sq) && flushed(&qp->rq))
			return true;
		/* soft-iWARP gives back what it does while the QP changes to error, and forgets
		 * what was posted after it had gone there by itself. */
		if (atomic_load(&qp->dev->gone) || qp->dev->siw)
			return false;
		if (dapl_now() > deadline)
			break;
		sched_yield();
	}
	dapl_err("%s: QP 0x%x: the device did not give back its work in %llu ms", qp->dev->name,
		 qp->ibqp->qp_num, (unsigned long long)qp->dev->config->flush_ms);
	return false;
}

/* left: where the QP goes, if it has to, instead of being destroyed. */
static void fail(struct vrb_qp *qp, struct ibv_qp **left)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	bool gave_up = false;

	vrb_queue_stop(&qp->sq);
	vrb_queue_stop(&qp->rq);
	if (qp->rq.cq)
		vrb_cq_deliver(qp->rq.cq, qp);
	if (atomic_load(&qp->live)) {
		/* It may be there already, or its device gone. */
		ibv_modify_qp(qp->ibqp, &attr, IBV_QP_STATE);
		gave_up = !await_flush(qp);
	} else {
		/* A QP that never met a peer has nothing but receives, and no completions. */
		gave_up = true;
	}
	if (gave_up && left)
		*left = part_with(qp);
	else if (gave_up)
		discard(qp);
	vrb_queue_flush(&qp->sq, gave_up);
	vrb_queue_flush(&qp->rq, gave_up);
}

void vrb_qp_to_error(struct vrb_qp *qp)
{
	fail(qp, NULL);
}

struct ibv_qp *vrb_qp_orphan(struct vrb_qp *qp)
{
	struct ibv_qp *left = NULL;

	fail(qp, &left);
	if (!left)
		left = part_with(qp);
	if (left)
		leave_srq(qp);
	return left;
}

/*
 * Whether the device put it in error by itself, as it does where it finds a fault of the peer's.
 * The QPs of iWARP go there at every end of a connection.
 */
bool vrb_qp_found_fault(struct vrb_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return !qp->dev->iwarp && atomic_load(&qp->live) && !atomic_load(&qp->dev->gone) &&
	       !ibv_query_qp(qp->ibqp, &attr, IBV_QP_STATE, &init) && attr.qp_state == IBV_QPS_ERR;
}

static void queue_reset(struct vrb_queue *queue)
{
	uint32_t i;

	vrb_qp_lock(queue->qp);
	for (i = 0; i <= queue->mask; i++)
		queue->wr[i].flags = 0;
	queue->done = vrb_queue_next(queue);
	atomic_store(&queue->head, vrb_queue_next(queue));
	queue->mode = VRB_QUEUE_IDLE;
	queue->failed = false;
	queue->slow = queue->recv;
	queue->fetched = atomic_load(&queue->fetches);
	queue->qp->silent = false;
	vrb_qp_choose_post(queue->qp);
	vrb_qp_unlock(queue->qp);
}

/* The next connection gets a QP of another number: nothing of this one can reach it (SIM-11). */
static int qp_reset(struct tp_qp *base)
{
	struct vrb_qp *qp = vrb_qp(base);

	vrb_qp_to_error(qp);
	discard(qp);
	atomic_store(&qp->fault, 0);
	atomic_store(&qp->peer_closed, false);
	atomic_store(&qp->draining, false);
	queue_reset(&qp->sq);
	queue_reset(&qp->rq);
	return 0;
}

/* ---- Life ---- */

static void look(struct tp_task *task)
{
	vrb_cm_look(vrb_container(task, struct vrb_qp, task));
}

static void tell(struct tp_task *task)
{
	struct vrb_qp *qp = vrb_container(task, struct vrb_qp, notice);

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

/* Everything that attr says but the queue locks, into a fresh qp. */
static int equip(struct vrb_qp *qp, const struct tp_qp_attr *attr, uint32_t recv_sge)
{
	int rc;

	qp->pd = attr->pd ? vrb_pd(attr->pd) : NULL;
	qp->max_read_in = attr->max_read_in;
	qp->max_read_out = attr->max_read_out;
	rc = queue_init(&qp->sq, qp, false, vrb_cq(attr->send_cq), attr->max_send_wr,
			attr->max_send_sge);
	if (rc)
		return rc;
	rc = queue_init(&qp->rq, qp, true, vrb_cq(attr->recv_cq), attr->max_recv_wr, recv_sge);
	if (rc)
		goto fini_sq;
	rc = attach(qp);
	if (rc)
		goto fini_rq;
	rc = make_ibqp(qp);
	if (rc)
		goto detach;
	return 0;

detach:
	detach(qp);
fini_rq:
	queue_fini(&qp->rq);
fini_sq:
	queue_fini(&qp->sq);
	return rc;
}

static void strip(struct vrb_qp *qp)
{
	discard(qp);
	detach(qp);
	queue_fini(&qp->rq);
	queue_fini(&qp->sq);
}

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
	qp->base = (struct tp_qp){
		.dev = base, .ops = &vrb_qp_ops, .owner = owner, .post = dapl_plain_post
	};
	qp->dev = dev;
	qp->task.run = look;
	qp->notice.run = tell;
	qp->srq = vrb_srq(attr->srq);
	rc = equip(qp, attr, attr->max_recv_sge);
	if (rc) {
		free(qp);
		return rc;
	}
	adopt(qp);
	vrb_qp_choose_post(qp);
	enlist(qp);
	*out = &qp->base;
	return 0;
}

static bool unchanged(const struct vrb_qp *qp, const struct tp_qp_attr *attr)
{
	return qp->pd == (attr->pd ? vrb_pd(attr->pd) : NULL) &&
	       qp->sq.cq == vrb_cq(attr->send_cq) && qp->rq.cq == vrb_cq(attr->recv_cq) &&
	       qp->sq.max_wr == attr->max_send_wr && qp->rq.max_wr == attr->max_recv_wr &&
	       qp->sq.max_sge == attr->max_send_sge && qp->rq.max_sge == attr->max_recv_sge;
}

/* What mask does not name stays as it is. */
static void complete_attr(const struct vrb_qp *qp, struct tp_qp_attr *attr, uint32_t mask)
{
	if (!(mask & TP_QP_PD))
		attr->pd = qp->pd ? &qp->pd->base : NULL;
	if (!(mask & TP_QP_SEND_CQ))
		attr->send_cq = qp->sq.cq ? &qp->sq.cq->base : NULL;
	if (!(mask & TP_QP_RECV_CQ))
		attr->recv_cq = qp->rq.cq ? &qp->rq.cq->base : NULL;
	if (!(mask & TP_QP_SEND_CAP)) {
		attr->max_send_wr = qp->sq.max_wr;
		attr->max_send_sge = qp->sq.max_sge;
	}
	if (!(mask & TP_QP_RECV_CAP)) {
		attr->max_recv_wr = qp->rq.max_wr;
		attr->max_recv_sge = qp->rq.max_sge;
	}
	if (!(mask & TP_QP_READ_DEPTH)) {
		attr->max_read_in = qp->max_read_in;
		attr->max_read_out = qp->max_read_out;
	}
}

/* An idle QP has nothing that the device knows of: a new one takes its place. */
static int qp_modify(struct tp_qp *base, const struct tp_qp_attr *given, uint32_t mask)
{
	struct vrb_qp *qp = vrb_qp(base), fresh = { .dev = qp->dev };
	struct tp_qp_attr attr = *given;
	uint32_t recv_sge;
	int rc;

	complete_attr(qp, &attr, mask);
	recv_sge = attr.max_recv_sge;
	if (!unchanged(qp, &attr)) {
		/* What is posted stays posted, with all its segments (EP-63). */
		if (vrb_queue_used(&qp->rq) && recv_sge < qp->rq.max_sge)
			recv_sge = qp->rq.max_sge;
		fresh.srq = qp->srq;
		rc = equip(&fresh, &attr, recv_sge);
		if (rc)
			return rc;
		move_receives(&fresh.rq, &qp->rq);
		strip(qp);
		queue_move(&qp->sq, &fresh.sq);
		queue_move(&qp->rq, &fresh.rq);
		qp->sq.qp = qp->rq.qp = qp;
		qp->pd = fresh.pd;
		qp->ibqp = fresh.ibqp;
		qp->ib_post = fresh.ib_post;
		qp->init = fresh.init;
		qp->max_inline = fresh.max_inline;
		adopt(qp);
		memset(&qp->hint, 0, sizeof(qp->hint));
	}
	qp->max_read_in = attr.max_read_in;
	qp->max_read_out = attr.max_read_out;
	vrb_qp_choose_post(qp);
	return 0;
}

static void qp_destroy(struct tp_qp *base)
{
	struct vrb_qp *qp = vrb_qp(base);

	if (atomic_load(&qp->live))
		vrb_qp_to_error(qp);
	delist(qp);
	strip(qp);
	/* Nobody has anything to say of it any more. */
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
	.unpost = vrb_qp_unpost,
	.post_recv = vrb_qp_post_recv,
	.limit_recv = dapl_lacking_limit_recv,
	.pending = qp_pending,
};
