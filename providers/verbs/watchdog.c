/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/verbs/watchdog.h"

#include "providers/verbs/qp.h"

/* Whether nothing that is outstanding was taken off a queue since the last time. */
static bool stands_still(struct vrb_queue *queue, const struct vrb_srq *srq)
{
	uint64_t place = (uintptr_t)vrb_queue_head(queue), seen = queue->seen;

	if (srq)
		place = atomic_load(&srq->completed);
	else if (!vrb_queue_used(queue))
		return false;
	queue->seen = place;
	return place == seen;
}

/* dev->lock held */
static void start(struct vrb_dev *dev)
{
	dapl_loop_timer(dev->base.loop, &dev->watchdog,
			dapl_now() + (uint64_t)dev->config->watchdog_ms * 1000000);
}

static void check(struct tp_timer *timer)
{
	struct vrb_dev *dev = container_of(timer, struct vrb_dev, watchdog);
	struct vrb_qp *qp;

	pthread_mutex_lock(&dev->lock);
	for (qp = dev->qps; qp; qp = qp->next) {
		if (!atomic_load(&qp->live))
			continue;
		if (dev->quirks.needs_wake)
			vrb_qp_wake_peer(qp);
		if (qp->sq.cq && stands_still(&qp->sq, NULL))
			vrb_cq_collect(qp->sq.cq);
		if (qp->rq.cq && stands_still(&qp->rq, qp->srq))
			vrb_cq_collect(qp->rq.cq);
	}
	dev->watching = dev->num_open;
	if (dev->watching)
		start(dev);
	pthread_mutex_unlock(&dev->lock);
}

void vrb_watchdog_init(struct vrb_dev *dev)
{
	dev->watchdog.expired = check;
}

void vrb_watchdog_stop(struct vrb_dev *dev)
{
	dapl_loop_timer_cancel(dev->base.loop, &dev->watchdog);
}

void vrb_watchdog_add(struct vrb_dev *dev)
{
	pthread_mutex_lock(&dev->lock);
	dev->num_open++;
	if (!dev->watching)
		start(dev);
	dev->watching = true;
	pthread_mutex_unlock(&dev->lock);
}

void vrb_watchdog_remove(struct vrb_dev *dev)
{
	pthread_mutex_lock(&dev->lock);
	dev->num_open--;
	pthread_mutex_unlock(&dev->lock);
}
