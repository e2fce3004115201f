/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/verbs/cq.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "dapl/base/fd.h"
#include "trace/log.h"

#define BATCH	   16	/* completions taken at once when collecting */
#define FIXED_SIZE 4096 /* of CQs that cannot be resized, where that is more than asked for */
#define ACK_AFTER  64	/* acknowledging takes a lock of libibverbs */

/* ---- Polling ---- */

/* The device may still have what it did not give now. */
static __attribute__((noinline)) void not_polled(const struct vrb_cq *cq, int err)
{
	if (!atomic_load(&cq->dev->gone))
		dapl_err_limited("%s: completion queue not polled: %s", cq->dev->name,
				 err == -1 ? "of no reason that the device tells"
					   : dapl_strerror(abs(err)));
}

/* CQ lock held; whether there is something new. */
static bool collect(struct vrb_cq *cq)
{
	struct ibv_wc ib[BATCH];
	uint32_t before = cq->count;
	int i, n;

	while ((n = ibv_poll_cq(cq->ibcq, BATCH, ib)) > 0)
		for (i = 0; i < n; i++)
			vrb_cq_process_later(cq, &ib[i]);
	if (unlikely(n < 0))
		not_polled(cq, n);
	return cq->count != before;
}

void vrb_cq_collect(struct vrb_cq *cq)
{
	bool any;

	vrb_cq_lock(cq);
	any = collect(cq);
	vrb_cq_unlock(cq);
	if (any)
		vrb_cq_notify(cq);
}

static int cq_poll(struct tp_cq *base, struct tp_wc *wc)
{
	struct vrb_cq *cq = vrb_cq(base);
	struct ibv_wc ib;
	int n = 0;

	while (!cq->count && (n = ibv_poll_cq(cq->ibcq, 1, &ib)) > 0)
		if (vrb_cq_process(cq, &ib, wc))
			return 1;
	if (unlikely(n < 0))
		not_polled(cq, n);
	/* Completions may also have come out of turn and got theirs now. */
	if (!cq->count)
		return 0;
	vrb_cq_pop(cq, wc);
	return 1;
}

static void cq_extract(struct tp_cq *base, bool (*remove)(void *arg, const struct tp_wc *wc),
		       void *arg)
{
	struct vrb_cq *cq = vrb_cq(base);
	uint32_t i, kept = 0;
	struct tp_wc wc;

	if (collect(cq))
		vrb_cq_notify(cq);
	for (i = 0; i < cq->count; i++) {
		wc = cq->backlog[(cq->first + i) & (cq->size - 1)];
		if (!remove(arg, &wc))
			cq->backlog[(cq->first + kept++) & (cq->size - 1)] = wc;
	}
	cq->count = kept;
}

/* ---- Notification ---- */

/*
 * Takes the events off the channel; any thread. Whether there were any: verbs does not say which
 * messages were solicited, only that one was.
 */
static bool consume(struct vrb_cq *cq)
{
	struct ibv_cq *ibcq;
	bool any = false;
	void *context;

	while (!ibv_get_cq_event(cq->channel, &ibcq, &context)) {
		any = true;
		atomic_store(&cq->armed, VRB_NOT_ARMED);
		atomic_store(&cq->base.notified, true);
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
	int kind = cq->base.solicited && !cq->dev->quirks.no_solicited ? VRB_ARMED_SOLICITED
								       : VRB_ARMED_ALL,
	    err;

	if (atomic_load(&cq->armed) >= kind)
		return;
	atomic_store(&cq->armed, kind);
	err = ibv_req_notify_cq(cq->ibcq, kind == VRB_ARMED_SOLICITED);
	if (!err)
		return;
	atomic_store(&cq->armed, VRB_NOT_ARMED); /* the next one asks again */
	if (!atomic_load(&cq->dev->gone))
		dapl_err_limited("%s: completion notification not requested: %s", cq->dev->name,
				 dapl_strerror(abs(err)));
}

/* The loop hears of the next event; CQ lock held. */
static void watch(struct vrb_cq *cq)
{
	struct dapl_loop *loop = cq->dev->base.loop;

	request(cq);
	if (cq->torn)
		return;
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
		vrb_cq_notify(cq);
}

static void ready(struct tp_watch *w, uint32_t events)
{
	struct vrb_cq *cq = container_of(w, struct vrb_cq, watch);

	consume(cq);
	vrb_cq_lock(cq);
	cq->torn |= events & (EPOLLERR | EPOLLHUP);
	serve_drainers(cq);
	vrb_cq_unlock(cq);
	vrb_cq_notify(cq);
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
	struct vrb_cq *cq = vrb_cq(base);

	if (how == TP_ARM_NOTIFY)
		watch(cq);
	else
		request(cq);
}

static void cq_disarm(struct tp_cq *base)
{
	struct vrb_cq *cq = vrb_cq(base);

	/* The loop may have counted on an event that is taken here. */
	if (consume(cq) && cq->watched)
		serve_drainers(cq);
}

static int cq_fd(struct tp_cq *base)
{
	return vrb_cq(base)->channel->fd;
}

/* ---- Size ---- */

/* Has the device's queue hold cqe completions at least; lock held. */
static int resize(struct vrb_cq *cq, uint32_t cqe)
{
	int err;

	if (cqe <= (uint32_t)cq->ibcq->cqe)
		return 0;
	err = abs(VRB_GLOBAL(
		ibv_resize_cq(cq->ibcq, (int)cqe))); /* not all drivers agree on the sign */
	if (err == EBUSY) { /* bnxt_re: until somebody polled since the last time */
		if (collect(cq))
			vrb_cq_notify(cq);
		err = abs(VRB_GLOBAL(ibv_resize_cq(cq->ibcq, (int)cqe)));
	}
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
	if (!vrb_cq_grow(cq, kept < cq->cqe ? kept : cq->cqe)) {
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
	struct vrb_cq *cq = vrb_cq(base);
	int rc = resize(cq, cqe);

	if (!rc)
		cq->cqe = cqe;
	else
		dapl_err("%s: completion queue of %d not resized to %u: %s", cq->dev->name,
			 cq->ibcq->cqe, cqe, dapl_strerror(-rc));
	return rc;
}

/* ---- Life ---- */

static void overflown(struct tp_task *task)
{
	struct vrb_cq *cq = container_of(task, struct vrb_cq, overflow);

	if (cq->base.owner) /* else the core has freed it */
		cq->dev->base.up->async(cq->dev->base.owner, TP_ASYNC_CQ_OVERFLOW, cq->base.owner);
}

static int open_channel(struct vrb_cq *cq)
{
	errno = 0;
	cq->channel = ibv_create_comp_channel(cq->dev->ctx);
	if (!cq->channel)
		return errno ? -errno : -ENOMEM;
	return vrb_own_fd(&cq->channel->fd, true);
}

static void close_channel(struct vrb_cq *cq)
{
	dapl_fd_disown(cq->channel->fd);
	ibv_destroy_comp_channel(cq->channel);
}

/* Interrupts are spread over the processors. */
static int next_vector(struct vrb_dev *dev)
{
	int num = dev->ctx->num_comp_vectors;

	return num > 1 ? (int)(atomic_fetch_add(&dev->next_vector, 1) % (uint32_t)num) : 0;
}

static int open_cq(struct vrb_cq *cq, uint32_t cqe)
{
	uint32_t size = cqe;

	if (cq->dev->no_resize && size < FIXED_SIZE)
		size = FIXED_SIZE < cq->dev->attr.max_cqe ? FIXED_SIZE : cq->dev->attr.max_cqe;
	errno = 0;
	cq->ibcq = VRB_GLOBAL(
		ibv_create_cq(cq->dev->ctx, (int)size, cq, cq->channel, next_vector(cq->dev)));
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
		.dev = base, .ops = &vrb_cq_ops, .owner = owner, .poll_plain = vrb_cq_poll_plain
	};
	cq->dev = dev;
	cq->cqe = cqe;
	cq->overflow.run = overflown;
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
	struct vrb_cq *cq = container_of(item, struct vrb_cq, reap);
	int err;

	consume(cq);
	ibv_ack_cq_events(cq->ibcq, atomic_load(&cq->unacked));
	err = VRB_GLOBAL(ibv_destroy_cq(cq->ibcq));
	if (err) {
		vrb_dev_disown(cq->dev, &cq->ibcq->cq_context);
		if (vrb_dev_kept(cq->dev, err))
			dapl_err("%s: completion queue not destroyed: %s", cq->dev->name,
				 dapl_strerror(err));
		dapl_fd_close(cq->channel->fd);
	} else {
		close_channel(cq);
	}
	dapl_loop_cancel(cq->dev->base.loop, &cq->overflow); /* of a last event */
	free(cq->deferred);
	free(cq->backlog);
	free(cq);
}

static void cq_destroy(struct tp_cq *base)
{
	struct vrb_cq *cq = vrb_cq(base);

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
	.fd = cq_fd,
};
