/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The device's QP: making it, its states, and destroying it. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "dapl/base/clock.h"
#include "dapl/base/lock.h"
#include "trace/log.h"
#include "providers/verbs/async.h"
#include "providers/verbs/map.h"
#include "providers/verbs/qp.h"

/* Between two looks whether a flush is over: twice as long each time. */
#define FIRST_PAUSE_NS 20000
#define LAST_PAUSE_NS  1000000

#define FEW_BINDS 8 /* where the program has no window, yet */

static uint32_t lesser(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

uint32_t vrb_qp_extra(struct vrb_dev *dev, uint32_t max_send_wr)
{
	uint32_t num = vrb_qp_own_wrs(dev), most = dev->max_qp_wr - max_send_wr, binds = 0;

	if (!max_send_wr)
		return 0;
	if (dev->windows)
		binds = vrb_mw_any(dev) ? max_send_wr : lesser(max_send_wr, FEW_BINDS);
	return lesser(num + binds, most > num ? most : num);
}

static uint32_t at_least_one(uint32_t value)
{
	return value ? value : 1;
}

static struct ibv_cq *cq_of(const struct vrb_queue *queue)
{
	return queue->cq ? queue->cq->ibcq : queue->qp->dev->null_cq;
}

static uint32_t inline_wanted(const struct vrb_qp *qp)
{
	return qp->dev->quirks.no_inline || qp->ud ? 0 : (uint32_t)qp->dev->config->max_inline;
}

/* The regions' rights decide, whatever the depths of a connection. */
static unsigned int access_flags(const struct vrb_dev *dev)
{
	unsigned int flags =
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

	if (dev->attr.operations & TP_ATOMICS)
		flags |= IBV_ACCESS_REMOTE_ATOMIC;
	if (dev->windows)
		flags |= IBV_ACCESS_MW_BIND;
	return flags;
}

/* Where that fails the connection says so. */
static bool early_init(struct vrb_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = qp->dev->port,
				    .qp_access_flags = access_flags(qp->dev) };

	return qp->dev->quirks.init_without_route && !qp->ud &&
	       !ibv_modify_qp(qp->ibqp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

/* With inline data if that can be; how much. */
static uint32_t make(struct vrb_qp *qp, const struct ibv_qp_init_attr *init)
{
	struct ibv_qp_init_attr attempt = *init;

	errno = 0;
	qp->ibqp = VRB_GLOBAL(ibv_create_qp(qp->pd->ibpd, &attempt));
	if (!qp->ibqp && init->cap.max_inline_data) {
		attempt = *init;
		attempt.cap.max_inline_data = 0;
		qp->ibqp = VRB_GLOBAL(ibv_create_qp(qp->pd->ibpd, &attempt));
	}
	return attempt.cap.max_inline_data;
}

/* What the announced limit leaves: one or two windows can be bound again at once. */
static uint32_t least_extra(const struct vrb_qp *qp)
{
	return lesser(qp->sq.extra, VRB_DRAIN_WRS + VRB_WAKE_WRS);
}

static vrb_post_fn *device_post(const struct vrb_qp *qp)
{
	const struct vrb_quirks *quirks = &qp->dev->quirks;

	if (!quirks->post_is_a_call)
		return qp->ibqp->context->ops.post_send;
	return quirks->post_raises_sigpipe ? vrb_qp_post_by_call_quietly : vrb_qp_post_by_call;
}

/* Whose it is the device learns later: see vrb_qp_adopt_ib. */
int vrb_qp_make_ib(struct vrb_qp *qp)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq_of(&qp->sq),
		.recv_cq = cq_of(&qp->rq),
		.srq = qp->srq ? qp->srq->ibsrq : NULL,
		.cap = { .max_send_wr = at_least_one(qp->sq.max_wr + qp->sq.extra),
			 .max_recv_wr = at_least_one(qp->rq.max_wr),
			 .max_send_sge = at_least_one(qp->sq.max_sge),
			 .max_recv_sge = at_least_one(qp->rq.max_sge),
			 .max_inline_data = inline_wanted(qp) },
		.qp_type = qp->ud ? IBV_QPT_UD : IBV_QPT_RC,
	};
	uint32_t max_inline;
	int err;

	if (!qp->pd)
		return 0;
	max_inline = make(qp, &init);
	if (!qp->ibqp && qp->sq.extra > least_extra(qp)) {
		qp->sq.extra = least_extra(qp);
		init.cap.max_send_wr = at_least_one(qp->sq.max_wr + qp->sq.extra);
		max_inline = make(qp, &init);
	}
	if (qp->ibqp) {
		qp->ib_post = device_post(qp);
		qp->init = early_init(qp);
		qp->max_inline = lesser(max_inline, inline_wanted(qp));
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
void vrb_qp_adopt_ib(struct vrb_qp *qp)
{
	if (!qp->ibqp)
		return;
	qp->ibqp->qp_context = qp;
	atomic_store(&qp->last_wqe, false);
	if (qp->srq)
		vrb_qp_list_number(qp);
}

int vrb_qp_prepare(struct vrb_qp *qp)
{
	int rc;

	vrb_qp_make_room(qp);
	if (qp->ibqp)
		return 0;
	rc = vrb_qp_make_ib(qp);
	if (!rc)
		vrb_qp_adopt_ib(qp);
	return rc;
}

/* The device's QP, which is no longer this one's. */
static struct ibv_qp *orphan_ib(struct vrb_qp *qp)
{
	struct ibv_qp *ibqp = qp->ibqp;

	if (!ibqp)
		return NULL;
	vrb_mw_qp_gone(qp->dev, qp);
	qp->ibqp = NULL;
	atomic_store(&qp->live, false);
	vrb_dev_disown(qp->dev, &ibqp->qp_context);
	return ibqp;
}

/*
 * Completions of the SRQ's receives that bear its number are nobody's from here on. Who polls has
 * the CQ's lock from finding the QP by its number until he is through with it.
 */
static void leave_srq(struct vrb_qp *qp)
{
	struct vrb_cq *cq = qp->rq.cq;

	if (!qp->srq)
		return;
	if (cq) {
		vrb_cq_collect(cq);
		vrb_cq_lock(cq);
	}
	vrb_qp_unlist_number(qp);
	if (cq)
		vrb_cq_unlock(cq);
}

/* With what it has; nothing of it completes any more. */
void vrb_qp_destroy_ib(struct vrb_qp *qp)
{
	struct ibv_qp *ibqp = orphan_ib(qp);
	int err = ibqp ? VRB_GLOBAL(ibv_destroy_qp(ibqp)) : 0;

	if (vrb_dev_kept(qp->dev, err))
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

int vrb_qp_to_init(struct vrb_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	attr->qp_access_flags = access_flags(qp->dev);
	return modify(qp, attr, mask, "take receives");
}

void vrb_path_options(const struct vrb_config *config, struct ibv_ah_attr *path)
{
	if (config->sl >= 0)
		path->sl = (uint8_t)config->sl;
	if (!path->is_global)
		return;
	if (config->tclass >= 0)
		path->grh.traffic_class = (uint8_t)config->tclass;
	if (config->hop_limit)
		path->grh.hop_limit = (uint8_t)config->hop_limit;
}

int vrb_qp_to_rtr(struct vrb_qp *qp, struct ibv_qp_attr *attr, int mask, uint8_t reads_in)
{
	const struct vrb_config *config = qp->dev->config;

	attr->max_dest_rd_atomic = reads_in;
	attr->min_rnr_timer = (uint8_t)config->rnr_timer;
	mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	if ((mask & IBV_QP_PATH_MTU) && config->mtu)
		attr->path_mtu = vrb_map_mtu(config->mtu, attr->path_mtu);
	if (mask & IBV_QP_AV)
		vrb_path_options(config, &attr->ah_attr);
	return modify(qp, attr, mask, "receive");
}

int vrb_qp_to_rts(struct vrb_qp *qp, struct ibv_qp_attr *attr, int mask, uint8_t reads_out)
{
	uint8_t max_retry = qp->dev->quirks.max_retry;

	attr->max_rd_atomic = reads_out;
	mask |= IBV_QP_MAX_QP_RD_ATOMIC;
	if (max_retry && attr->retry_cnt > max_retry)
		attr->retry_cnt = max_retry;
	if (qp->dev->config->ack_timer && (mask & IBV_QP_TIMEOUT))
		attr->timeout = (uint8_t)qp->dev->config->ack_timer;
	return modify(qp, attr, mask, "send");
}

/* QP lock held. */
static void break_if_mute(struct vrb_qp *qp)
{
	if (qp->sq.mode != VRB_QUEUE_ACTIVE || !vrb_qp_is_mute(qp))
		return;
	vrb_qp_set_fault(qp, TP_WC_TRANSPORT);
	vrb_qp_notify(qp);
}

void vrb_qp_cq_died(struct vrb_dev *dev)
{
	struct vrb_qp *qp;

	pthread_mutex_lock(&dev->lock);
	for (qp = dev->qps; qp; qp = qp->next) {
		if (!atomic_load(&qp->live)) /* nor has a new one its lock: see vrb_qp_open */
			continue;
		vrb_qp_lock(qp);
		break_if_mute(qp);
		vrb_qp_unlock(qp);
	}
	pthread_mutex_unlock(&dev->lock);
}

void vrb_qp_open(struct vrb_qp *qp)
{
	qp->checks = 0;
	vrb_qp_lock(qp);
	if (qp->sq.mode == VRB_QUEUE_IDLE)
		qp->sq.mode = VRB_QUEUE_ACTIVE;
	qp->connected = vrb_queue_next(&qp->sq);
	vrb_qp_choose_post(qp);
	break_if_mute(qp);
	vrb_qp_unlock(qp);
}

/* ---- Out of service ---- */

/*
 * QP lock held. The head is at flush_to; or at hw_end, where the suppressed ones behind flush_to
 * failed, and so have completions as well.
 */
static bool is_flushed(struct vrb_queue *queue)
{
	const struct vrb_wr *head = vrb_queue_head(queue);

	return queue->mode == VRB_QUEUE_FLUSHED || head == queue->flush_to || head == queue->hw_end;
}

static bool flushed(struct vrb_queue *queue)
{
	bool all;

	vrb_qp_lock(queue->qp);
	all = is_flushed(queue);
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

enum outcome {
	FLUSHED,
	WILL_NOT, /* the device never does */
	TOO_LATE, /* it may still do it */
};

/*
 * Whether the device gave everything back in time. It mostly has when the QP is in error: of 2,532
 * flushes on soft-RoCE, beside twenty other processes on two processors, 2,469 were over at the
 * first look and all others at the second; soft-iWARP flushes at once. A descriptor would be the
 * CQ's, whose events belong to who waits for completions there.
 */
static enum outcome await_flush(struct vrb_qp *qp)
{
	uint64_t deadline = dapl_now() + (uint64_t)qp->dev->config->flush_ms * 1000000;
	struct timespec pause = { .tv_nsec = FIRST_PAUSE_NS };

	for (;;) {
		vrb_qp_collect(qp);
		if (flushed(&qp->sq) && flushed(&qp->rq))
			return FLUSHED;
		if (atomic_load(&qp->dev->gone) || qp->dev->quirks.flushes_at_once ||
		    vrb_qp_is_mute(qp))
			return WILL_NOT;
		if (dapl_now() > deadline)
			break;
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < LAST_PAUSE_NS)
			pause.tv_nsec *= 2;
	}
	dapl_err("%s: QP 0x%x: the device did not give back its work in %llu ms", qp->dev->name,
		 qp->ibqp->qp_num, (unsigned long long)qp->dev->config->flush_ms);
	return TOO_LATE;
}

void vrb_qp_last_wqe(struct vrb_qp *qp)
{
	atomic_store(&qp->last_wqe, true);
}

/*
 * Until there is an event, or somebody else may have read it. The service thread alone is not
 * counted on: it may wait for the connection, which is locked here.
 */
static void await_async(struct vrb_qp *qp)
{
	struct pollfd fd = { .fd = qp->dev->ctx->async_fd, .events = POLLIN };

	if (poll(&fd, 1, 1) <= 0)
		return;
	vrb_async_poll(qp->dev);
	if (!(fd.revents & POLLIN)) /* a device that was torn away tells nothing any more */
		vrb_qp_last_wqe(qp);
}

/* Whether a receive of the SRQ may come back: one whose CQ is dead is lost. */
static bool may_have_receive(const struct vrb_qp *qp)
{
	return !atomic_load(&qp->last_wqe) && !atomic_load(&qp->dev->gone) &&
	       !(qp->rq.cq && atomic_load(&qp->rq.cq->dead));
}

/* A QP in error may still have a receive of its SRQ, which is lost if it is destroyed then. */
static void await_last_wqe(struct vrb_qp *qp)
{
	uint64_t deadline = dapl_now() + (uint64_t)qp->dev->config->flush_ms * 1000000;

	vrb_async_poll(qp->dev);
	while (may_have_receive(qp) && dapl_now() < deadline)
		await_async(qp);
	vrb_qp_collect(qp);
}

/* left: where the QP goes, if it has to, instead of being destroyed. */
static void to_error(struct vrb_qp *qp, struct ibv_qp **left)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	/* A QP that never met a peer has nothing but receives, and no completions. */
	enum outcome outcome = WILL_NOT;
	struct vrb_late *late = NULL;
	struct ibv_qp *ibqp = NULL;

	vrb_queue_stop(&qp->sq);
	vrb_queue_stop(&qp->rq);
	if (qp->rq.cq)
		vrb_cq_deliver(qp->rq.cq, qp);
	if (atomic_load(&qp->live)) {
		/* It may be there already, or its device gone, or refuse. */
		ibv_modify_qp(qp->ibqp, &attr, IBV_QP_STATE);
		outcome = await_flush(qp);
		if (qp->srq && !qp->dev->quirks.no_last_wqe)
			await_last_wqe(qp);
	}
	if (outcome == TOO_LATE)
		late = vrb_late_new(qp);
	if (late || (outcome == WILL_NOT && left))
		ibqp = orphan_ib(qp);
	else if (outcome)
		vrb_qp_destroy_ib(qp);
	vrb_queue_flush(&qp->sq, outcome, late ? &late->sq : NULL);
	vrb_queue_flush(&qp->rq, outcome, late ? &late->rq : NULL);
	if (ibqp)
		leave_srq(qp);
	if (late)
		vrb_late_keep(late);
	if (left)
		*left = ibqp;
	else if (late)
		vrb_late_destroy(late, ibqp);
}

/* The QP is in error, and nothing is outstanding. */
static bool in_error(struct vrb_qp *qp)
{
	bool over;

	vrb_qp_lock(qp);
	over = qp->sq.mode == VRB_QUEUE_FLUSHED && qp->rq.mode == VRB_QUEUE_FLUSHED;
	vrb_qp_unlock(qp);
	return over;
}

void vrb_qp_to_error(struct vrb_qp *qp)
{
	if (!in_error(qp))
		to_error(qp, NULL);
}

struct ibv_qp *vrb_qp_orphan(struct vrb_qp *qp)
{
	struct ibv_qp *left = NULL;

	to_error(qp, &left);
	if (left)
		return left;
	left = orphan_ib(qp);
	if (left)
		leave_srq(qp);
	return left;
}

/*
 * Whether the device put it in error by itself, as it does where it finds a fault of the peer's.
 */
bool vrb_qp_found_fault(struct vrb_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return !qp->dev->quirks.error_at_every_end && atomic_load(&qp->live) &&
	       !atomic_load(&qp->dev->gone) &&
	       !ibv_query_qp(qp->ibqp, &attr, IBV_QP_STATE, &init) && attr.qp_state == IBV_QPS_ERR;
}
