/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "test/minimal/minimal.h"

#include <errno.h>
#include <stdlib.h>

struct cq {
	struct tp_cq base;
	pthread_mutex_t lock;
	struct tp_wc *wc;
	uint32_t size, head, count;
	bool armed;
	struct tp_task overflow;
};

static void tell_overflow(struct tp_task *task)
{
	struct cq *cq = mini_container(task, cq, overflow);
	struct tp_device *dev = cq->base.dev;

	dev->up->async(dev->owner, TP_ASYNC_CQ_OVERFLOW, cq->base.owner);
}

static int cq_create(struct tp_device *dev, uint32_t cqe, void *owner, struct tp_cq **out)
{
	struct cq *cq = calloc(1, sizeof(*cq));

	if (!cq)
		return -ENOMEM;
	cq->wc = malloc(cqe * sizeof(*cq->wc));
	if (!cq->wc) {
		free(cq);
		return -ENOMEM;
	}
	cq->base = (struct tp_cq){ .dev = dev, .ops = &mini_cq_ops, .owner = owner };
	cq->size = cqe;
	cq->overflow.run = tell_overflow;
	pthread_mutex_init(&cq->lock, NULL);
	*out = &cq->base;
	return 0;
}

static void cq_destroy(struct tp_cq *base)
{
	struct cq *cq = mini_container(base, cq, base);

	dapl_loop_cancel(base->dev->loop, &cq->overflow);
	pthread_mutex_destroy(&cq->lock);
	free(cq->wc);
	free(cq);
}

static int cq_resize(struct tp_cq *base, uint32_t cqe)
{
	struct cq *cq = mini_container(base, cq, base);
	struct tp_wc *wc;
	uint32_t i;

	pthread_mutex_lock(&cq->lock);
	if (cqe < cq->count)
		cqe = cq->count;
	wc = malloc(cqe * sizeof(*wc));
	if (wc) {
		for (i = 0; i < cq->count; i++)
			wc[i] = cq->wc[(cq->head + i) % cq->size];
		free(cq->wc);
		cq->wc = wc;
		cq->size = cqe;
		cq->head = 0;
	}
	pthread_mutex_unlock(&cq->lock);
	return wc ? 0 : -ENOMEM;
}

static int cq_poll(struct tp_cq *base, struct tp_wc *wc)
{
	struct cq *cq = mini_container(base, cq, base);
	bool found;

	pthread_mutex_lock(&cq->lock);
	found = cq->count;
	if (found) {
		*wc = cq->wc[cq->head];
		cq->head = (cq->head + 1) % cq->size;
		cq->count--;
	}
	pthread_mutex_unlock(&cq->lock);
	return found;
}

static void cq_extract(struct tp_cq *base, bool (*remove)(void *arg, const struct tp_wc *wc),
		       void *arg)
{
	struct cq *cq = mini_container(base, cq, base);
	struct tp_wc wc;
	uint32_t i, num;

	/* Every one goes round once. */
	pthread_mutex_lock(&cq->lock);
	for (i = 0, num = cq->count; i < num; i++) {
		wc = cq->wc[cq->head];
		cq->head = (cq->head + 1) % cq->size;
		if (remove(arg, &wc))
			cq->count--;
		else
			cq->wc[(cq->head + cq->count - 1) % cq->size] = wc;
	}
	pthread_mutex_unlock(&cq->lock);
}

static void cq_arm(struct tp_cq *base, enum tp_arm how)
{
	struct cq *cq = mini_container(base, cq, base);

	(void)how; /* data moves without anybody polling */
	pthread_mutex_lock(&cq->lock);
	cq->armed = true;
	pthread_mutex_unlock(&cq->lock);
}

static void cq_disarm(struct tp_cq *base)
{
	(void)base;
}

static int cq_fd(struct tp_cq *base)
{
	(void)base;
	return -1;
}

const struct dapl_cq_ops mini_cq_ops = {
	.create = cq_create,
	.destroy = cq_destroy,
	.resize = cq_resize,
	.poll = cq_poll,
	.extract = cq_extract,
	.arm = cq_arm,
	.disarm = cq_disarm,
	.fd = cq_fd,
};

bool mini_cq_add(struct tp_cq *base, const struct tp_wc *wc)
{
	struct cq *cq = mini_container(base, cq, base);
	bool room;

	pthread_mutex_lock(&cq->lock);
	room = cq->count < cq->size;
	if (room) {
		cq->wc[(cq->head + cq->count++) % cq->size] = *wc;
		if (cq->armed)
			base->dev->up->cq_event(base->owner);
		cq->armed = false;
	}
	pthread_mutex_unlock(&cq->lock);
	if (!room)
		dapl_loop_post(base->dev->loop, &cq->overflow);
	return room;
}
