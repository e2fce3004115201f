/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completion queues. The device's queue is as long as all requests attached to it, so that it never
 * overflows. What is taken off it for another reason than the core's asking waits in the backlog,
 * which has as many places as the core asked for: more is an overflow of the core's queue (EVD-95).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "dapl/base/fd.h"
#include "trace/log.h"
#include "providers/verbs/map.h"
#include "providers/verbs/verbs.h"

#define BATCH	   16	/* completions taken at once when collecting */
#define FIXED_SIZE 4096 /* of CQs that cannot be resized, where that is more than asked for */
#define ACK_AFTER  64	/* acknowledging takes a lock of libibverbs */

static struct tp_wr *take(struct tp_cq *base);

/* ---- Stash; CQ lock held ---- */

/* The short way is there for what follows the backlog only. */
static void choose_take(struct vrb_cq *cq)
{
	cq->base.take = cq->count ? dapl_plain_take : take;
}

static bool grow_backlog(struct vrb_cq *cq, uint32_t num)
{
	uint32_t size = cq->size ? cq->size : 16, i;
	struct tp_wc *backlog;

	if (num <= cq->size)
		return true;
	while (size < num)
		size *= 2;
	backlog = malloc((size_t)size * sizeof(*backlog));
	if (!backlog)
		return false;
	for (i = 0; i < cq->count; i++)
		backlog[i] = cq->backlog[(cq->first + i) & (cq->size - 1)];
	free(cq->backlog);
	cq->backlog = backlog;
	cq->size = size;
	cq->first = 0;
	return true;
}

static void overflown(struct tp_task *task)
{
	struct vrb_cq *cq = vrb_container(task, struct vrb_cq, overflow);

	if (cq->base.owner) /* else the core has freed it */
		cq->dev->base.up->async(cq->dev->base.owner, TP_ASYNC_CQ_OVERFLOW, cq->base.owner);
}

static __attribute__((cold)) void lose_completion(struct vrb_cq *cq, struct vrb_qp *qp)
{
	uint32_t none = 0;

	if (atomic_compare_exchange_strong(&qp->fault, &none, TP_WC_TRANSPORT))
		dapl_trace_limited(verbs_cq_full, DAPL_TRC_ERROR, qp, "ia=%s qp=0x%x length=%u",
				   cq->dev->name, qp->ibqp ? qp->ibqp->qp_num : 0, cq->cqe);
	vrb_qp_notify(qp);
	dapl_loop_post(cq->dev->base.loop, &cq->overflow);
}

void vrb_cq_push(struct vrb_cq *cq, struct vrb_qp *qp, const struct tp_wc *wc)
{
	if (cq->count >= cq->cqe || (cq->count == cq->size && !grow_backlog(cq, cq->count + 1))) {
		lose_completion(cq, qp);
		return;
	}
	cq->backlog[(cq->first + cq->count++) & (cq->size - 1)] = *wc;
	choose_take(cq);
}

static void pop(struct vrb_cq *cq, struct tp_wc *wc)
{
	*wc = cq->backlog[cq->first & (cq->size - 1)];
	cq->first++;
	cq->count--;
	choose_take(cq);
}

/* A message that came before its connection was announced (EVD-12). */
static bool defer(struct vrb_cq *cq, struct vrb_qp *qp, const struct tp_wc *wc)
{
	uint32_t size = cq->deferred_size ? cq->deferred_size * 2 : 16;
	struct vrb_qp **by;
	struct tp_wc *held;

	if (cq->num_deferred == cq->deferred_size) {
		held = realloc(cq->deferred, size * sizeof(*held));
		if (held)
			cq->deferred = held;
		by = realloc(cq->deferred_by, size * sizeof(*by));
		if (by)
			cq->deferred_by = by;
		if (!held || !by)
			return false;
		cq->deferred_size = size;
	}
	cq->deferred[cq->num_deferred] = *wc;
	cq->deferred_by[cq->num_deferred++] = qp;
	return true;
}

void vrb_cq_defer(struct vrb_cq *cq, struct vrb_qp *qp)
{
	vrb_cq_lock(cq);
	qp->rq.deferring = true;
	vrb_cq_unlock(cq);
}

void vrb_cq_deliver(struct vrb_cq *cq, struct vrb_qp *qp)
{
	uint32_t i, kept = 0;
	bool any;

	vrb_cq_lock(cq);
	for (i = 0; i < cq->num_deferred; i++) {
		if (cq->deferred_by[i] == qp) {
			vrb_cq_push(cq, qp, &cq->deferred[i]);
			continue;
		}
		cq->deferred[kept] = cq->deferred[i];
		cq->deferred_by[kept++] = cq->deferred_by[i];
	}
	any = kept != cq->num_deferred;
	cq->num_deferred = kept;
	qp->rq.deferring = false;
	vrb_cq_unlock(cq);
	if (any)
		cq->dev->base.up->cq_event(cq->base.owner);
}

/* ---- Completions of the device; CQ lock held ---- */

/* Whether the core is to have a completion of qp whose turn has come. */
static bool deliver(struct vrb_cq *cq, struct vrb_queue *queue, struct vrb_qp *qp,
		    uint32_t wr_flags, struct tp_wc *wc)
{
	/* FL-2: what comes behind a failure did not succeed, whatever the device says. */
	if (queue->failed)
		wc->status = TP_WC_FLUSHED;
	queue->failed |= wc->status != 0;
	if ((wr_flags & VRB_WR_INTERNAL) || ((wr_flags & VRB_WR_UNSIGNALED) && !wc->status))
		return false;
	return !queue->deferring || wc->status || !defer(cq, qp, wc);
}

/*
 * Gives out in turn what is done. A request without completion of its own is done when a later one
 * is, but for those that bring data, which all have one here.
 */
static void deliver_in_order(struct vrb_cq *cq, struct vrb_queue *queue)
{
	struct vrb_wr *wr = vrb_queue_head(queue);

	for (; wr != queue->done; wr = wr->next) {
		if (!(wr->flags & VRB_WR_DONE) &&
		    (!(wr->flags & VRB_WR_UNSIGNALED) || (wr->flags & VRB_WR_FETCH)))
			break;
		queue->fetched += wr->flags & VRB_WR_FETCH ? 1 : 0;
		if ((wr->flags & VRB_WR_DONE) && deliver(cq, queue, queue->qp, wr->flags, &wr->wc))
			vrb_cq_push(cq, queue->qp, &wr->wc);
		wr->flags = 0;
	}
	atomic_store_explicit(&queue->head, wr, memory_order_release);
}

static void fail(struct vrb_queue *queue, struct vrb_qp *qp, struct vrb_wr *wr,
		 const struct ibv_wc *ib, struct tp_wc *wc)
{
	struct vrb_dev *dev = qp->dev;
	uint32_t none = 0;

	wc->status = queue->recv ? vrb_map_received(ib->status) : vrb_map_wc(ib->status);
	if (queue->failed)
		wc->status = TP_WC_FLUSHED;
	else if (!ib->status)
		wc->status = TP_WC_REMOTE_RESPONDER;
	else if (dev->vague && (wc->status == TP_WC_LOCAL_EP || wc->status == TP_WC_TRANSPORT))
		wc->status = vrb_wr_diagnose(wr, wc->status);
	if (wc->status <= TP_WC_FLUSHED) {
		if (ib->status == IBV_WC_LOC_QP_OP_ERR)
			atomic_store(&qp->peer_closed, true);
		return;
	}
	dapl_trace_limited(verbs_wc_failed, DAPL_TRC_ERROR, qp,
			   "ia=%s qp=0x%x kind=%s status=%s vendor_code=0x%x", dev->name,
			   ib->qp_num, queue->recv ? "receive" : "request",
			   ib->status ? ibv_wc_status_str(ib->status)
				      : "atomic of a crooked address",
			   ib->vendor_err);
	if (atomic_compare_exchange_strong(&qp->fault, &none, wc->status))
		vrb_qp_notify(qp);
}

/* What a success says besides. */
static void describe(struct vrb_dev *dev, const struct ibv_wc *ib, bool recv, struct tp_wc *wc)
{
	wc->flags = vrb_map_wc_flags(ib, recv);
	if (recv && dev->siw)
		wc->flags ^= TP_WC_PERHAPS | TP_WC_SOLICITED;
	/* Soft-RoCE gives the kernel's number of the flag, which means something else here. */
	if (dev->vague && recv && (ib->wc_flags & IBV_WC_IP_CSUM_OK))
		wc->flags |= TP_WC_INVALIDATED;
	wc->byte_len = ib->byte_len;
	wc->data = ib->imm_data;
	if (wc->flags & TP_WC_INVALIDATED) {
		wc->data = ib->invalidated_rkey;
		vrb_mw_invalidated(dev, wc->data);
	}
}

/*
 * Whether the next completion of the queue is to be looked at closely. A poster may have changed
 * the answer meanwhile: it counts first and then warns.
 */
static void choose_path(struct vrb_queue *queue)
{
	bool slow = queue->recv || queue->failed || queue->deferring ||
		    atomic_load(&queue->qp->draining);

	atomic_store(&queue->slow, slow);
	if (atomic_load(&queue->fetches) != queue->fetched)
		atomic_store(&queue->slow, 1);
}

void vrb_queue_choose_path(struct vrb_queue *queue)
{
	vrb_cq_lock(queue->cq);
	choose_path(queue);
	vrb_cq_unlock(queue->cq);
}

/* A receive from an SRQ; its QP is found by its number. */
static struct vrb_qp *process_shared(struct vrb_cq *cq, const struct ibv_wc *ib, struct vrb_wr *wr,
				     struct tp_wc *wc)
{
	struct vrb_qp *qp = vrb_srq_find(cq->dev, ib->qp_num);
	bool given;

	if (!qp) {
		dapl_err_limited("%s: a receive of QP 0x%x, which is gone, is lost", cq->dev->name,
				 ib->qp_num);
		vrb_srq_return(wr->queue->srq, wr);
		return NULL;
	}
	if (ib->status)
		fail(&qp->rq, qp, wr, ib, wc);
	else
		describe(cq->dev, ib, true, wc);
	wc->flags |= TP_WC_RECV;
	wc->qp_owner = qp->base.owner;
	given = deliver(cq, &qp->rq, qp, 0, wc);
	vrb_srq_return(wr->queue->srq, wr);
	return given ? qp : NULL;
}

/* A completion waits for its turn. The short way leaves done behind, where nothing waits. */
static void done_out_of_order(struct vrb_queue *queue, struct vrb_wr *wr, const struct tp_wc *wc)
{
	struct vrb_wr *head = vrb_queue_head(queue);
	uint32_t end = vrb_queue_span(queue, head, queue->done);

	wr->wc = *wc;
	wr->flags |= VRB_WR_DONE;
	if (end > vrb_queue_span(queue, head, vrb_queue_next(queue)) ||
	    vrb_queue_span(queue, head, wr) >= end)
		queue->done = wr->next;
}

/* Any completion of the device; its QP if the core is to have it now. */
static struct vrb_qp *process(struct vrb_cq *cq, const struct ibv_wc *ib, struct tp_wc *wc)
{
	struct vrb_wr *wr = (struct vrb_wr *)(uintptr_t)ib->wr_id;
	struct vrb_queue *queue = wr->queue;
	bool given = false;

	*wc = (struct tp_wc){ .wr_id = wr->id };
	if (queue->srq)
		return process_shared(cq, ib, wr, wc);
	if (ib->status || (wr->flags & VRB_WR_FAILS))
		fail(queue, queue->qp, wr, ib, wc);
	else
		describe(cq->dev, ib, queue->recv, wc);
	if (queue->out_of_order) {
		done_out_of_order(queue, wr, wc);
		deliver_in_order(cq, queue);
	} else {
		given = deliver(cq, queue, queue->qp, wr->flags, wc);
		wr->flags = 0;
		atomic_store_explicit(&queue->head, wr->next, memory_order_release);
	}
	if (!queue->recv && atomic_load(&queue->qp->draining))
		vrb_qp_notify(queue->qp);
	choose_path(queue);
	return given ? queue->qp : NULL;
}

/* Flags of a receive that may have more to say: see describe. */
#define TELLING (IBV_WC_WITH_IMM | IBV_WC_WITH_INV | IBV_WC_IP_CSUM_OK)

/* Whether a receive is one that the short way can tell of. */
static bool is_plain_receive(const struct vrb_queue *queue, const struct ibv_wc *ib)
{
	return queue->recv && !queue->srq && !queue->failed && !queue->deferring && !ib->status &&
	       ib->opcode == IBV_WC_RECV && !(ib->wc_flags & TELLING);
}

/* The core gets it later. */
static void process_to_backlog(struct vrb_cq *cq, const struct ibv_wc *ib)
{
	struct tp_wc wc;
	struct vrb_qp *qp = process(cq, ib, &wc);

	if (qp)
		vrb_cq_push(cq, qp, &wc);
}

/* What the short way found but cannot tell of goes into the backlog. */
static __attribute__((noinline)) struct tp_wr *take_slow(struct vrb_cq *cq)
{
	const struct ibv_wc *ib = &cq->ib;
	struct vrb_wr *wr = (struct vrb_wr *)(uintptr_t)ib->wr_id;
	struct tp_wr *own = (struct tp_wr *)(uintptr_t)wr->id;

	if (is_plain_receive(wr->queue, ib)) {
		atomic_store_explicit(&wr->queue->head, wr->next, memory_order_release);
		own->length = ib->byte_len;
		return own;
	}
	process_to_backlog(cq, ib);
	return NULL;
}

/* It and all before it are done. */
static struct tp_wr *take(struct tp_cq *base)
{
	struct vrb_cq *cq = vrb_container(base, struct vrb_cq, base);
	struct vrb_queue *queue;
	struct vrb_wr *wr;

	if (vrb_unlikely(cq->ib_poll(cq->ibcq, 1, &cq->ib) != 1))
		return NULL;
	wr = (struct vrb_wr *)(uintptr_t)cq->ib.wr_id;
	queue = wr->queue;
	if (vrb_unlikely((uint32_t)cq->ib.status | wr->flags |
			 atomic_load_explicit(&queue->slow, memory_order_relaxed)))
		return take_slow(cq);
	atomic_store_explicit(&queue->head, wr->next, memory_order_release);
	return (struct tp_wr *)(uintptr_t)wr->id;
}

/* CQ lock held; whether there is something new. */
static bool collect(struct vrb_cq *cq)
{
	struct ibv_wc ib[BATCH];
	uint32_t before = cq->count;
	int i, n;

	while ((n = ibv_poll_cq(cq->ibcq, BATCH, ib)) > 0)
		for (i = 0; i < n; i++)
			process_to_backlog(cq, &ib[i]);
	return cq->count != before;
}

void vrb_cq_collect(struct vrb_cq *cq)
{
	bool any;

	vrb_cq_lock(cq);
	any = collect(cq);
	vrb_cq_unlock(cq);
	if (any)
		cq->dev->base.up->cq_event(cq->base.owner);
}

static int cq_poll(struct tp_cq *base, struct tp_wc *wc)
{
	struct vrb_cq *cq = vrb_container(base, struct vrb_cq, base);
	struct ibv_wc ib;

	while (!cq->count && ibv_poll_cq(cq->ibcq, 1, &ib) > 0)
		if (process(cq, &ib, wc))
			return 1;
	/* Completions may also have come out of turn and got theirs now. */
	if (!cq->count)
		return 0;
	pop(cq, wc);
	return 1;
}

static void cq_extract(struct tp_cq *base, bool (*remove)(void *arg, const struct tp_wc *wc),
		       void *arg)
{
	struct vrb_cq *cq = vrb_container(base, struct vrb_cq, base);
	uint32_t i, kept = 0;
	struct tp_wc wc;

	if (collect(cq))
		cq->dev->base.up->cq_event(cq->base.owner);
	for (i = 0; i < cq->count; i++) {
		wc = cq->backlog[(cq->first + i) & (cq->size - 1)];
		if (!remove(arg, &wc))
			cq->backlog[(cq->first + kept++) & (cq->size - 1)] = wc;
	}
	cq->count = kept;
	choose_take(cq);
}

/* ---- Notification ---- */

/* Takes the events off the channel; any thread. Whether there were any. */
static bool consume(struct vrb_cq *cq)
{
	struct ibv_cq *ibcq;
	bool any = false;
	void *context;

	while (!ibv_get_cq_event(cq->channel, &ibcq, &context)) {
		any = true;
		atomic_store(&cq->armed, VRB_NOT_ARMED);
		atomic_store(&cq->announced, true);
		if (atomic_fetch_add(&cq->unacked, 1) + 1 == ACK_AFTER) {
			atomic_fetch_sub(&cq->unacked, ACK_AFTER);
			ibv_ack_cq_events(cq->ibcq, ACK_AFTER);
		}
	}
	return any;
}

/* The device forgets no earlier request for a later one of less. */
static void request(struct vrb_cq *cq)
{
	int kind = cq->base.solicited && !cq->dev->siw ? VRB_ARMED_SOLICITED : VRB_ARMED_ALL, err;

	if (atomic_load(&cq->armed) >= kind)
		return;
	atomic_store(&cq->armed, kind);
	err = ibv_req_notify_cq(cq->ibcq, kind == VRB_ARMED_SOLICITED);
	if (err && !atomic_load(&cq->dev->gone))
		dapl_err("%s: completion notification not requested: %s", cq->dev->name,
			 dapl_strerror(err));
}

/* The loop hears of the next event; CQ lock held. */
static void watch(struct vrb_cq *cq)
{
	struct dapl_loop *loop = cq->dev->base.loop;

	request(cq);
	if (cq->watched)
		dapl_loop_mod(loop, &cq->watch, EPOLLIN | EPOLLONESHOT);
	else if (!dapl_loop_add(loop, &cq->watch, EPOLLIN | EPOLLONESHOT))
		cq->watched = true;
}

/* CQ lock held */
static void serve_drainers(struct vrb_cq *cq)
{
	if (!cq->drainers)
		return;
	watch(cq);
	if (collect(cq))
		cq->dev->base.up->cq_event(cq->base.owner);
}

static void ready(struct tp_watch *w, uint32_t events)
{
	struct vrb_cq *cq = vrb_container(w, struct vrb_cq, watch);

	(void)events;
	consume(cq);
	vrb_cq_lock(cq);
	serve_drainers(cq);
	vrb_cq_unlock(cq);
	cq->dev->base.up->cq_event(cq->base.owner);
}

void vrb_cq_drain(struct vrb_cq *cq, bool begin)
{
	vrb_cq_lock(cq);
	cq->drainers += begin ? 1 : -1u;
	if (begin)
		serve_drainers(cq);
	vrb_cq_unlock(cq);
}

static void cq_arm(struct tp_cq *base, enum tp_arm how)
{
	struct vrb_cq *cq = vrb_container(base, struct vrb_cq, base);

	if (how == TP_ARM_NOTIFY)
		watch(cq);
	else
		request(cq);
}

static void cq_disarm(struct tp_cq *base)
{
	struct vrb_cq *cq = vrb_container(base, struct vrb_cq, base);

	/* The loop may have counted on an event that is taken here. */
	if (consume(cq) && cq->watched)
		serve_drainers(cq);
}

/* Verbs does not say which messages were solicited, only that one was. */
static bool cq_announced(struct tp_cq *base)
{
	return atomic_exchange(&vrb_container(base, struct vrb_cq, base)->announced, false);
}

static int cq_fd(struct tp_cq *base)
{
	return vrb_container(base, struct vrb_cq, base)->channel->fd;
}

/* ---- Size ---- */

/* Has the device's queue hold cqe completions at least; lock held. */
static int resize(struct vrb_cq *cq, uint32_t cqe)
{
	int err;

	if (cqe <= (uint32_t)cq->ibcq->cqe)
		return 0;
	err = ibv_resize_cq(cq->ibcq, (int)cqe);
	if (!err)
		return 0;
	if (err == ENOSYS || err == EOPNOTSUPP)
		err = ENOSPC;
	dapl_trace(verbs_cq_not_resized, DAPL_TRC_ERROR, cq, "ia=%s from=%d to=%u why=%s",
		   cq->dev->name, cq->ibcq->cqe, cqe, dapl_strerror(err));
	return err == ENOMEM ? -ENOMEM : -ENOSPC;
}

/*
 * A queue that cannot grow is used as it is: it overflows only if the program leaves more in it
 * than it asked room for.
 */
int vrb_cq_attach(struct vrb_cq *cq, uint32_t num)
{
	uint32_t kept;
	int rc = 0;

	if (!cq || !num)
		return 0;
	vrb_cq_lock(cq);
	kept = cq->count + cq->attached + num;
	if (!grow_backlog(cq, kept < cq->cqe ? kept : cq->cqe)) {
		dapl_err("%s: completion queue not extended by %u: %s", cq->dev->name, num,
			 dapl_strerror(ENOMEM));
		rc = -ENOMEM;
	} else {
		cq->attached += num;
		resize(cq, cq->attached > cq->cqe ? cq->attached : cq->cqe);
	}
	vrb_cq_unlock(cq);
	return rc;
}

void vrb_cq_detach(struct vrb_cq *cq, uint32_t num)
{
	if (!cq)
		return;
	vrb_cq_lock(cq);
	cq->attached -= num;
	vrb_cq_unlock(cq);
}

/* CQ lock held */
static int cq_resize(struct tp_cq *base, uint32_t cqe)
{
	struct vrb_cq *cq = vrb_container(base, struct vrb_cq, base);
	int rc = resize(cq, cqe);

	if (!rc)
		cq->cqe = cqe;
	return rc;
}

/* ---- Life ---- */

static int open_channel(struct vrb_cq *cq)
{
	int flags, rc;

	errno = 0;
	cq->channel = ibv_create_comp_channel(cq->dev->ctx);
	if (!cq->channel)
		return errno ? -errno : -ENOMEM;
	rc = vrb_own_fd(&cq->channel->fd);
	if (rc)
		return rc;
	flags = fcntl(cq->channel->fd, F_GETFL);
	if (flags >= 0 && fcntl(cq->channel->fd, F_SETFL, flags | O_NONBLOCK) >= 0)
		return 0;
	return -errno;
}

static void close_channel(struct vrb_cq *cq)
{
	dapl_fd_disown(cq->channel->fd);
	ibv_destroy_comp_channel(cq->channel);
}

static int open_cq(struct vrb_cq *cq, uint32_t cqe)
{
	uint32_t size = cqe;

	if (cq->dev->no_resize && size < FIXED_SIZE)
		size = FIXED_SIZE < cq->dev->attr.max_cqe ? FIXED_SIZE : cq->dev->attr.max_cqe;
	errno = 0;
	cq->ibcq = ibv_create_cq(cq->dev->ctx, (int)size, cq, cq->channel, 0);
	if (!cq->ibcq)
		return -(errno ? errno : ENOMEM);
	cq->ib_poll = cq->ibcq->context->ops.poll_cq;
	return 0;
}

static int cq_create(struct tp_device *base, uint32_t cqe, void *owner, struct tp_cq **out)
{
	struct vrb_dev *dev = vrb_dev(base);
	struct vrb_cq *cq = calloc(1, sizeof(*cq));
	int rc = -ENOMEM;

	if (!cq)
		goto fail;
	cq->base = (struct tp_cq){
		.dev = base, .ops = &vrb_cq_ops, .owner = owner, .take = dapl_plain_take
	};
	cq->dev = dev;
	cq->cqe = cqe;
	cq->overflow.run = overflown;
	choose_take(cq);
	rc = open_channel(cq);
	if (rc)
		goto free_cq;
	rc = open_cq(cq, cqe);
	if (rc)
		goto free_cq;
	cq->watch = (struct tp_watch){ .ready = ready, .fd = cq->channel->fd };
	*out = &cq->base;
	return 0;

free_cq:
	if (cq->channel)
		close_channel(cq);
	free(cq);
fail:
	dapl_err("%s: completion queue of %u not created: %s", dev->name, cqe, dapl_strerror(rc));
	return rc == -EMFILE || rc == -ENFILE || rc == -ENOSPC ? rc : -ENOMEM;
}

static void cq_finish(struct vrb_reap *item)
{
	struct vrb_cq *cq = vrb_container(item, struct vrb_cq, reap);
	int err;

	consume(cq);
	ibv_ack_cq_events(cq->ibcq, atomic_load(&cq->unacked));
	err = ibv_destroy_cq(cq->ibcq);
	if (err)
		dapl_err("%s: completion queue not destroyed: %s", cq->dev->name,
			 dapl_strerror(err));
	else
		close_channel(cq);
	dapl_loop_cancel(cq->dev->base.loop, &cq->overflow); /* of a last event */
	free(cq->deferred);
	free(cq->deferred_by);
	free(cq->backlog);
	free(cq);
}

static void cq_destroy(struct tp_cq *base)
{
	struct vrb_cq *cq = vrb_container(base, struct vrb_cq, base);

	if (cq->watched)
		dapl_loop_del(cq->dev->base.loop, &cq->watch);
	cq->base.owner = NULL;
	dapl_loop_cancel(cq->dev->base.loop, &cq->overflow);
	cq->reap.run = cq_finish;
	vrb_reap_after(cq->dev, &cq->reap);
}

const struct dapl_cq_ops vrb_cq_ops = {
	.create = cq_create,
	.destroy = cq_destroy,
	.resize = cq_resize,
	.poll = cq_poll,
	.extract = cq_extract,
	.arm = cq_arm,
	.disarm = cq_disarm,
	.announced = cq_announced,
	.fd = cq_fd,
};
