/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Destroying what the kernel takes its time to let go. */
#ifndef VERBS_REAP_H
#define VERBS_REAP_H

#include <pthread.h>
#include <stdbool.h>

struct vrb_dev;

struct vrb_reap {
	void (*run)(struct vrb_reap *item);
	struct vrb_reap *next;
};

struct vrb_reaper {
	pthread_mutex_t lock; /* a leaf; everything below */
	pthread_cond_t more;
	struct vrb_reap *first;
	bool busy, stop, started;
	pthread_t thread;
};

void vrb_reaper_init(struct vrb_reaper *reaper);
/* Everything is done when it returns. */
void vrb_reaper_end(struct vrb_reaper *reaper);

/* run, which may block, comes when all before it have run; of the second, before it returns if
 * there are none. */
void vrb_reap(struct vrb_dev *dev, struct vrb_reap *item);
void vrb_reap_after(struct vrb_dev *dev, struct vrb_reap *item);

#endif
