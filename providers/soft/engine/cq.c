/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completion queues. Many connections add, one consumer takes (under the core's EVD lock). A
 * consumer that finds nothing drives the connections that feed the queue.
 */
#include "providers/soft/engine/cq.h"

#include <errno.h>
#include <stdlib.h>

#include "dapl/base/fd.h"
#include "providers/soft/base/device.h"
#include "providers/soft/engine/drive.h"
#include "trace/log.h"

static void overflow_run(struct tp_task *task)
{
	struct soft_cq *cq = container_of(task, struct soft_cq, overflow);

	cq->dev->base.up->async(cq->dev->base.owner, TP_ASYNC_CQ_OVERFLOW, cq->base.owner);
}

/* ---- Taking ---- */

static inline void note_poll(struct soft_cq *cq, uint32_t weight)
{
	atomic_store_explicit(&cq->polls,
			      atomic_load_explicit(&cq->polls, memory_order_relaxed) + weight,
			      memory_order_relaxed);
}

/* Who takes what came from peers polls for it, also where the service thread was faster. */
static inline void note_taken(struct soft_cq *cq, uint32_t flags)
{
	if (flags & SOFT_WC_CAME)
		note_poll(cq, SOFT_CQ_POLLED);
}

static inline bool pop(struct soft_cq *cq, struct tp_wc *wc)
{
	uint32_t tail = atomic_load_explicit(&cq->tail, memory_order_relaxed);

	if (tail == atomic_load_explicit(&cq->head, memory_order_acquire))
		return false;
	*wc = cq->ring[tail & (cq->size - 1)];
	note_taken(cq, wc->flags);
	wc->flags &= ~SOFT_WC_OURS;
	atomic_store_explicit(&cq->tail, tail + 1, memory_order_release);
	return true;
}

/* As poll_plain, of what is in the queue. */
static inline struct tp_wr *pop_plain(struct soft_cq *cq)
{
	uint32_t tail = atomic_load_explicit(&cq->tail, memory_order_relaxed);
	const struct tp_wc *wc = &cq->ring[tail & (cq->size - 1)];
	struct tp_wr *wr;

	if (tail == atomic_load_explicit(&cq->head, memory_order_acquire))
		return NULL;
	if (!(wc->flags & SOFT_WC_PLAIN))
		return TP_WR_UNTOLD;
	wr = (struct tp_wr *)(uintptr_t)wc->wr_id;
	if (wc->flags & TP_WC_RECV)
		wr->length = wc->byte_len;
	note_taken(cq, wc->flags);
	atomic_store_explicit(&cq->tail, tail + 1, memory_order_release);
	return wr;
}

static int cq_poll(struct tp_cq *base, struct tp_wc *wc)
{
	struct soft_cq *cq = soft_cq(base);

	if (pop(cq, wc))
		return 1;
	note_poll(cq, soft_cq_drive(cq) ? SOFT_CQ_POLLED : 1);
	return pop(cq, wc);
}

static struct tp_wr *cq_poll_plain(struct tp_cq *base)
{
	struct soft_cq *cq = soft_cq(base);
	struct tp_wr *done = pop_plain(cq);
	bool moved;

	if (done)
		return done;
	cq->takes = &done;
	moved = soft_cq_drive(cq);
	cq->takes = NULL;
	note_poll(cq, moved ? SOFT_CQ_POLLED : 1);
	return done ? done : pop_plain(cq);
}

/* In tp_wc.flags while completions are removed: this one is. */
#define REMOVED 0x40000000u

static struct tp_wc *entry(struct soft_cq *cq, uint32_t at)
{
	return &cq->ring[at & (cq->size - 1)];
}

/* Whoever adds writes behind head alone: the rest closes up towards it. */
static void cq_extract(struct tp_cq *base, bool (*remove)(void *arg, const struct tp_wc *wc),
		       void *arg)
{
	struct soft_cq *cq = soft_cq(base);
	uint32_t tail = atomic_load_explicit(&cq->tail, memory_order_relaxed);
	uint32_t head = atomic_load_explicit(&cq->head, memory_order_acquire), at, to;
	struct tp_wc wc;

	for (at = tail; at != head; at++) {
		wc = *entry(cq, at);
		wc.flags &= ~SOFT_WC_OURS;
		if (remove(arg, &wc))
			entry(cq, at)->flags |= REMOVED;
	}
	for (to = head; at != tail;)
		if (!(entry(cq, --at)->flags & REMOVED))
			*entry(cq, --to) = *entry(cq, at);
	atomic_store_explicit(&cq->tail, to, memory_order_release);
}

/* ---- Waiting ---- */

static void cq_arm(struct tp_cq *base, enum tp_arm how)
{
	struct soft_cq *cq = soft_cq(base);

	if (how == TP_ARM_WAITER) {
		atomic_store(&cq->waiter, true);
		soft_cq_watch(cq);
		if (atomic_load(&cq->blind)) {
			atomic_store(&cq->waiter, false);
			how = TP_ARM_NOTIFY;
		}
	}
	if (how == TP_ARM_SLEEPER)
		atomic_store(&cq->waiter, true);
	/* Whoever adds before this is found by the next poll; whoever does after it tells. */
	dapl_lock(&cq->lock);
	atomic_store(&cq->armed, (int)how + 1);
	dapl_unlock(&cq->lock);
	if (how == TP_ARM_NOTIFY)
		soft_drive_look(cq->dev, true);
}

static void cq_disarm(struct tp_cq *base)
{
	struct soft_cq *cq = soft_cq(base);

	atomic_store(&cq->armed, 0);
	atomic_store(&cq->waiter, false);
	cq->woken = true;
	soft_drive_look(cq->dev, false);
}

static int cq_fd(struct tp_cq *base)
{
	return atomic_load(&soft_cq(base)->epfd);
}

/* ---- Life ---- */

static int cq_create(struct tp_device *base, uint32_t cqe, void *owner, struct tp_cq **out)
{
	struct soft_cq *cq = calloc(1, sizeof(*cq));

	if (!cq)
		goto no_memory;
	cq->size = soft_ring_size(cqe);
	cq->limit = cqe;
	cq->ring = calloc(cq->size, sizeof(*cq->ring));
	if (!cq->ring)
		goto free_cq;
	cq->base = (struct tp_cq){
		.dev = base, .ops = &soft_cq_ops, .owner = owner, .poll_plain = cq_poll_plain
	};
	cq->dev = soft_dev(base);
	cq->overflow.run = overflow_run;
	list_init(&cq->members);
	list_init(&cq->busy);
	list_init(&cq->calm);
	dapl_lock_init(&cq->lock);
	pthread_mutex_init(&cq->doze, NULL);
	pthread_cond_init(&cq->is_up, NULL);
	atomic_init(&cq->epfd, -1);
	*out = &cq->base;
	return 0;

free_cq:
	free(cq);
no_memory:
	dapl_err("%s: completion queue of %u not created: %s", soft_dev(base)->name, cqe,
		 dapl_strerror(ENOMEM));
	return -ENOMEM;
}

static void cq_destroy(struct tp_cq *base)
{
	struct soft_cq *cq = soft_cq(base);

	dapl_loop_cancel(base->dev->loop, &cq->overflow);
	if (atomic_load(&cq->epfd) >= 0)
		dapl_fd_close(atomic_load(&cq->epfd));
	pthread_cond_destroy(&cq->is_up);
	pthread_mutex_destroy(&cq->doze);
	dapl_lock_fini(&cq->lock);
	free(cq->ring);
	free(cq);
}

static int cq_resize(struct tp_cq *base, uint32_t cqe)
{
	struct soft_cq *cq = soft_cq(base);
	uint32_t size = soft_ring_size(cqe), head, at;
	struct tp_wc *ring = calloc(size, sizeof(*ring)), *old;

	if (!ring) {
		dapl_err("%s: completion queue not resized to %u: %s", soft_dev(base->dev)->name,
			 cqe, dapl_strerror(ENOMEM));
		return -ENOMEM;
	}
	dapl_lock(&cq->lock);
	at = atomic_load_explicit(&cq->tail, memory_order_relaxed);
	head = atomic_load_explicit(&cq->head, memory_order_relaxed);
	if (head - at > cqe) { /* more than fits: keep the larger ring (EVD-76) */
		dapl_unlock(&cq->lock);
		free(ring);
		return 0;
	}
	for (; at != head; at++)
		ring[at & (size - 1)] = cq->ring[at & (cq->size - 1)];
	old = cq->ring;
	cq->ring = ring;
	cq->size = size;
	cq->limit = cqe;
	dapl_unlock(&cq->lock);
	free(old);
	return 0;
}

const struct dapl_cq_ops soft_cq_ops = {
	.create = cq_create,
	.destroy = cq_destroy,
	.resize = cq_resize,
	.poll = cq_poll,
	.extract = cq_extract,
	.arm = cq_arm,
	.disarm = cq_disarm,
	.fd = cq_fd,
	.sleeps = soft_cq_sleeps,
	.sleep = soft_cq_sleep,
	.wake = soft_cq_wake,
};
