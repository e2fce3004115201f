/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the kernel takes its time to let go. Of an iWARP connection that the peer has not answered
 * it destroys neither id nor QP before the device's own timer has run out (iwcm waits for the
 * reply), and so long the QP keeps its completion queues and its protection domain. A thread
 * waits in the program's stead, for one thing after the other, as what is freed later may belong to
 * what is waited for.
 */
#include <string.h>

#include "trace/log.h"
#include "providers/verbs/device.h"

static void *reap(void *arg)
{
	struct vrb_reaper *reaper = arg;
	struct vrb_reap *item;

	pthread_mutex_lock(&reaper->lock);
	while (reaper->first || !reaper->stop) {
		item = reaper->first;
		if (!item) {
			pthread_cond_wait(&reaper->more, &reaper->lock);
			continue;
		}
		reaper->first = item->next;
		reaper->busy = true;
		pthread_mutex_unlock(&reaper->lock);
		item->run(item);
		pthread_mutex_lock(&reaper->lock);
		reaper->busy = false;
	}
	pthread_mutex_unlock(&reaper->lock);
	return NULL;
}

/* lock held */
static bool start(struct vrb_dev *dev)
{
	struct vrb_reaper *reaper = &dev->reaper;
	int err;

	if (reaper->started)
		return true;
	err = dapl_thread_start(&reaper->thread, "dapl-reaper", DAPL_SMALL_STACK, reap, reaper);
	if (err) {
		dapl_err("%s: thread that ends connection attempts not started: %s", dev->name,
			 dapl_strerror(err));
		return false;
	}
	reaper->started = true;
	return true;
}

/* lock held */
static void append(struct vrb_reaper *reaper, struct vrb_reap *item)
{
	struct vrb_reap **end = &reaper->first;

	while (*end)
		end = &(*end)->next;
	item->next = NULL;
	*end = item;
	pthread_cond_signal(&reaper->more);
}

void vrb_reap(struct vrb_dev *dev, struct vrb_reap *item)
{
	bool started;

	pthread_mutex_lock(&dev->reaper.lock);
	started = start(dev);
	if (started)
		append(&dev->reaper, item);
	pthread_mutex_unlock(&dev->reaper.lock);
	if (!started)
		item->run(item);
}

void vrb_reap_after(struct vrb_dev *dev, struct vrb_reap *item)
{
	bool behind;

	pthread_mutex_lock(&dev->reaper.lock);
	behind = dev->reaper.busy || dev->reaper.first;
	if (behind)
		append(&dev->reaper, item);
	pthread_mutex_unlock(&dev->reaper.lock);
	if (!behind)
		item->run(item);
}

void vrb_reaper_init(struct vrb_reaper *reaper)
{
	memset(reaper, 0, sizeof(*reaper));
	pthread_mutex_init(&reaper->lock, NULL);
	pthread_cond_init(&reaper->more, NULL);
}

void vrb_reaper_end(struct vrb_reaper *reaper)
{
	pthread_mutex_lock(&reaper->lock);
	reaper->stop = true;
	pthread_cond_signal(&reaper->more);
	pthread_mutex_unlock(&reaper->lock);
	if (reaper->started)
		pthread_join(reaper->thread, NULL);
	pthread_cond_destroy(&reaper->more);
	pthread_mutex_destroy(&reaper->lock);
}
