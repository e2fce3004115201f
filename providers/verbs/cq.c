/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completion queues. The device's queue is as long as all requests attached to it, so that it never
 * overflows. What is taken off it for another reason than the core's asking waits in the stash.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "dapl/trace.h"
#include "providers/verbs/map.h"
#include "providers/verbs/verbs.h"

#define BATCH	   16	/* completions taken at once when collecting */
#define FIXED_SIZE 4096 /* of CQs that cannot be resized, where that is more than asked for */
#define ACK_AFTER  64	/* acknowledging takes a lock of libibverbs */

/* ---- Stash; lock held ---- */

static bool grow_stash(struct vrb_cq *cq, uint32_t num)
{
	uint32_t size = cq->size ? cq->size : 16, i;
	struct tp_wc *stash;

	if (num <= cq->size)
		return true;
	while (size < num)
		size *= 2;
	stash = malloc((size_t)size * sizeof(*stash));
	if (!stash)
		return false;
	for (i = 0; i < cq->count; i++)
		stash[i] = cq->stash[(cq->first + i) & (cq->size - 1)];
	free(cq->stash);
	cq->stash = stash;
	cq->size = size;
	cq->first = 0;
	return true;
}

void vrb_cq_push(struct vrb_cq *cq, const struct tp_wc *wc)
{
	if (cq->count == cq->size && !grow_stash(cq, cq->count + 1)) {
		dapl_err("%s: a completion was lost: %s", cq->dev->name, dapl_strerror(ENOMEM));
		return;
	}
	cq->stash[(cq->first + cq->count++) & (cq->size - 1)] = *wc;
}

static void pop(struct vrb_cq *cq, struct tp_wc *wc)
{
	*wc = cq->stash[cq->first & (cq->size - 1)];
	cq->first++;
	cq->count--;
}

/* A message that came before its connection was announced (EVD-12). */
static bool hold(struct vrb_cq *cq, struct vrb_qp *qp, const struct tp_wc *wc)
{
	uint32_t size = cq->held_size ? cq->held_size * 2 : 16;
	struct vrb_qp **by;
	struct tp_wc *held;

	if (cq->num_held == cq->held_size) {
		held = realloc(cq->held, size * sizeof(*held));
		if (held)
			cq->held = held;
		by = realloc(cq->held_by, size * sizeof(*by));
		if (by)
			cq->held_by = by;
		if (!held || !by)
			return false;
		cq->held_size = size;
	}
	cq->held[cq->num_held] = *wc;
	cq->held_by[cq->num_held++] = qp;
	return true;
}

void vrb_cq_unhold(struct vrb_cq *cq, struct vrb_qp *qp)
{
	uint32_t i, kept = 0;
	bool any;

	vrb_lock(&cq->lock);
	for (i = 0; i < cq->num_held; i++) {
		if (cq->held_by[i] == qp) {
			vrb_cq_push(cq, &cq->held[i]);
			continue;
		}
		cq->held[kept] = cq->held[i];
		cq->held_by[kept++] = cq->held_by[i];
	}
	any = kept != cq->num_held;
	cq->num_held = kept;
	qp->rq.gated = false;
	vrb_unlock(&cq->lock);
	if (any)
		cq->dev->base.up->cq_event(cq->base.owner);
}

/* ---- Completions of the device; lock held ---- */

/* Whether the core is to have a completion whose turn has come. */
static bool give(struct vrb_cq *cq, struct vrb_wr *wr, struct tp_wc *wc)
{
	struct vrb_queue *queue = wr->queue;

	/* FL-2: what comes behind a failure did not succeed, whatever the device says. */
	if (queue->failed)
		wc->status = TP_WC_FLUSHED;
	queue->failed |= wc->status;
	if (wr->internal || (wr->silent && !wc->status))
		return false;
	return !queue->gated || wc->status || !hold(cq, queue->qp, wc);
}

/*
 * Gives out in turn what is done. A request without completion of its own is done when a later one
 * is, but for reads, which all have one here.
 */
static void give_in_turn(struct vrb_cq *cq, struct vrb_queue *queue)
{
	uint32_t seq = atomic_load(&queue->head);
	struct vrb_wr *wr;

	for (; (int32_t)(queue->done - seq) > 0; seq++) {
		wr = &queue->wr[seq & queue->mask];
		if (!wr->done && (!wr->silent || wr->sink))
			break;
		if (wr->done && give(cq, wr, &wr->wc))
			vrb_cq_push(cq, &wr->wc);
		wr->done = false;
	}
	atomic_store_explicit(&queue->head, seq, memory_order_release);
}

static void fail(struct vrb_cq *cq, struct vrb_wr *wr, const struct ibv_wc *ib, struct tp_wc *wc)
{
	struct vrb_queue *queue = wr->queue;
	uint32_t none = 0;

	wc->status = vrb_map_wc(ib->status);
	if (queue->failed)
		wc->status = TP_WC_FLUSHED;
	else if (queue->keeps && (wc->status == TP_WC_LOCAL_EP || wc->status == TP_WC_TRANSPORT))
		wc->status = vrb_qp_explain(wr, wc->status);
	if (wc->status <= TP_WC_FLUSHED)
		return;
	dapl_trace(verbs_wc_failed, DAPL_TRC_ERROR, cq,
		   "ia=%s qp=0x%x kind=%s status=%s vendor_code=0x%x", cq->dev->name, ib->qp_num,
		   queue->recv ? "receive" : "request", ibv_wc_status_str(ib->status),
		   ib->vendor_err);
	if (atomic_compare_exchange_strong(&queue->qp->fault, &none, wc->status))
		vrb_qp_kick(queue->qp);
}

/* What is not a plain success in its turn; true if the core is to have it now. */
static bool take_rare(struct vrb_cq *cq, struct vrb_wr *wr, const struct ibv_wc *ib,
		      struct tp_wc *wc)
{
	struct vrb_queue *queue = wr->queue;
	bool given = false;

	if (ib->status)
		fail(cq, wr, ib, wc);
	if (queue->unordered) {
		wr->wc = *wc;
		wr->done = true;
		if ((int32_t)(wr->seq + 1 - queue->done) > 0)
			queue->done = wr->seq + 1;
		give_in_turn(cq, queue);
	} else {
		given = give(cq, wr, wc);
		atomic_store_explicit(&queue->head, wr->seq + 1, memory_order_release);
	}
	return given;
}

/* One completion of the device; true if the core is to have it. */
static inline bool take(struct vrb_cq *cq, const struct ibv_wc *ib, struct tp_wc *wc)
{
	struct vrb_wr *wr = (struct vrb_wr *)(uintptr_t)ib->wr_id;
	struct vrb_queue *queue = wr->queue;
	bool rare = ib->status || wr->internal || queue->gated || queue->unordered, given = true;

	wc->wr_id = wr->id;
	wc->status = TP_WC_SUCCESS;
	/* Verbs does not say which messages were solicited: they all are. */
	wc->flags = queue->recv ? TP_WC_RECV | TP_WC_SOLICITED : 0;
	wc->byte_len = ib->byte_len;
	if (vrb_unlikely(rare))
		given = take_rare(cq, wr, ib, wc);
	else /* It and all before it are done. */
		atomic_store_explicit(&queue->head, wr->seq + 1, memory_order_release);
	if (vrb_unlikely(atomic_load_explicit(&queue->qp->draining, memory_order_relaxed)) &&
	    !queue->recv)
		vrb_qp_kick(queue->qp);
	return given;
}

void vrb_cq_collect(struct vrb_cq *cq)
{
	struct ibv_wc ib[BATCH];
	uint32_t before;
	struct tp_wc wc;
	bool any;
	int i, n;

	vrb_lock(&cq->lock);
	before = cq->count;
	while ((n = ibv_poll_cq(cq->ibcq, BATCH, ib)) > 0)
		for (i = 0; i < n; i++)
			if (take(cq, &ib[i], &wc))
				vrb_cq_push(cq, &wc);
	any = cq->count != before;
	vrb_unlock(&cq->lock);
	if (any)
		cq->dev->base.up->cq_event(cq->base.owner);
}

static int cq_poll(struct tp_cq *base, struct tp_wc *wc)
{
	struct vrb_cq *cq = vrb_container(base, struct vrb_cq, base);
	struct ibv_wc ib;
	int n = 0;

	vrb_lock(&cq->lock);
	while (vrb_likely(!cq->count) && (n = ibv_poll_cq(cq->ibcq, 1, &ib)) > 0)
		if (take(cq, &ib, wc))
			goto unlock;
	/* Completions may also have come out of turn and got theirs now. */
	n = cq->count;
	if (n)
		pop(cq, wc);
unlock:
	vrb_unlock(&cq->lock);
	return n > 0;
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
		atomic_store(&cq->armed, false);
		if (atomic_fetch_add(&cq->unacked, 1) + 1 == ACK_AFTER) {
			atomic_fetch_sub(&cq->unacked, ACK_AFTER);
			ibv_ack_cq_events(cq->ibcq, ACK_AFTER);
		}
	}
	return any;
}

static void request(struct vrb_cq *cq)
{
	int err;

	if (atomic_exchange(&cq->armed, true))
		return;
	err = ibv_req_notify_cq(cq->ibcq, 0);
	if (err && !atomic_load(&cq->dev->gone))
		dapl_err("%s: completion notification not requested: %s", cq->dev->name,
			 dapl_strerror(err));
}

/* The loop hears of the next event. */
static void watch(struct vrb_cq *cq)
{
	struct dapl_loop *loop = cq->dev->base.loop;

	request(cq);
	vrb_lock(&cq->lock);
	if (atomic_load(&cq->watched))
		dapl_loop_mod(loop, &cq->watch, EPOLLIN | EPOLLONESHOT);
	else if (!dapl_loop_add(loop, &cq->watch, EPOLLIN | EPOLLONESHOT))
		atomic_store(&cq->watched, true);
	vrb_unlock(&cq->lock);
}

static bool has_drainers(struct vrb_cq *cq)
{
	bool any;

	vrb_lock(&cq->lock);
	any = cq->drainers;
	vrb_unlock(&cq->lock);
	return any;
}

static void serve_drainers(struct vrb_cq *cq)
{
	if (!has_drainers(cq))
		return;
	watch(cq);
	vrb_cq_collect(cq);
}

static void ready(struct tp_watch *w, uint32_t events)
{
	struct vrb_cq *cq = vrb_container(w, struct vrb_cq, watch);

	(void)events;
	consume(cq);
	serve_drainers(cq);
	cq->dev->base.up->cq_event(cq->base.owner);
}

void vrb_cq_drain(struct vrb_cq *cq, bool begin)
{
	vrb_lock(&cq->lock);
	cq->drainers += begin ? 1 : -1u;
	vrb_unlock(&cq->lock);
	if (begin)
		serve_drainers(cq);
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
	if (consume(cq) && vrb_unlikely(atomic_load(&cq->watched)))
		serve_drainers(cq);
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
	int rc = 0;

	if (!cq || !num)
		return 0;
	vrb_lock(&cq->lock);
	if (!grow_stash(cq, cq->count + cq->attached + num)) {
		dapl_err("%s: completion queue not extended by %u: %s", cq->dev->name, num,
			 dapl_strerror(ENOMEM));
		rc = -ENOMEM;
	} else {
		cq->attached += num;
		resize(cq, cq->attached > cq->cqe ? cq->attached : cq->cqe);
	}
	vrb_unlock(&cq->lock);
	return rc;
}

void vrb_cq_detach(struct vrb_cq *cq, uint32_t num)
{
	if (!cq)
		return;
	vrb_lock(&cq->lock);
	cq->attached -= num;
	vrb_unlock(&cq->lock);
}

static int cq_resize(struct tp_cq *base, uint32_t cqe)
{
	struct vrb_cq *cq = vrb_container(base, struct vrb_cq, base);
	int rc;

	vrb_lock(&cq->lock);
	rc = resize(cq, cqe);
	if (!rc)
		cq->cqe = cqe;
	vrb_unlock(&cq->lock);
	return rc;
}

/* ---- Life ---- */

static int open_channel(struct vrb_cq *cq)
{
	int flags;

	errno = 0;
	cq->channel = ibv_create_comp_channel(cq->dev->ctx);
	if (!cq->channel)
		return errno ? -errno : -ENOMEM;
	flags = fcntl(cq->channel->fd, F_GETFL);
	if (flags >= 0 && fcntl(cq->channel->fd, F_SETFL, flags | O_NONBLOCK) >= 0)
		return 0;
	return -errno;
}

static int open_cq(struct vrb_cq *cq, uint32_t cqe)
{
	uint32_t size = cqe;

	if (cq->dev->no_resize && size < FIXED_SIZE)
		size = FIXED_SIZE < cq->dev->attr.max_cqe ? FIXED_SIZE : cq->dev->attr.max_cqe;
	errno = 0;
	cq->ibcq = ibv_create_cq(cq->dev->ctx, (int)size, cq, cq->channel, 0);
	return cq->ibcq ? 0 : -(errno ? errno : ENOMEM);
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
	rc = open_channel(cq);
	if (rc)
		goto close_channel;
	rc = open_cq(cq, cqe);
	if (rc)
		goto close_channel;
	cq->watch = (struct tp_watch){ .ready = ready, .fd = cq->channel->fd };
	*out = &cq->base;
	return 0;

close_channel:
	if (cq->channel)
		ibv_destroy_comp_channel(cq->channel);
	free(cq);
fail:
	dapl_err("%s: completion queue of %u not created: %s", dev->name, cqe, dapl_strerror(rc));
	return rc == -EMFILE || rc == -ENFILE || rc == -ENOSPC ? rc : -ENOMEM;
}

static void cq_destroy(struct tp_cq *base)
{
	struct vrb_cq *cq = vrb_container(base, struct vrb_cq, base);
	int err;

	if (atomic_load(&cq->watched))
		dapl_loop_del(cq->dev->base.loop, &cq->watch);
	consume(cq);
	ibv_ack_cq_events(cq->ibcq, atomic_load(&cq->unacked));
	err = ibv_destroy_cq(cq->ibcq);
	if (err)
		dapl_err("%s: completion queue not destroyed: %s", cq->dev->name,
			 dapl_strerror(err));
	else
		ibv_destroy_comp_channel(cq->channel);
	free(cq->held);
	free(cq->held_by);
	free(cq->stash);
	free(cq);
}

const struct dapl_cq_ops vrb_cq_ops = {
	.create = cq_create,
	.destroy = cq_destroy,
	.resize = cq_resize,
	.poll = cq_poll,
	.arm = cq_arm,
	.disarm = cq_disarm,
	.fd = cq_fd,
};
