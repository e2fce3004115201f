/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/verbs/fork.h"

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#include "dapl/base/fork.h"

enum {
	PATIENCE_MS = 1000,
	GRACE_MS = 5,
};

/*
 * Who wants to make a call while somebody is about to fork waits, but not for ever: one within a
 * call may wait for him, as rdma_destroy_id does for events to be acknowledged.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static uint32_t calls, forks;

static struct timespec in_ms(uint32_t ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	return until;
}

/* Until it is 0, or the time is over. */
static void await_none(const uint32_t *count, uint32_t ms)
{
	struct timespec until;
	int rc = 0;

	if (!*count)
		return;
	until = in_ms(ms);
	while (*count && !rc)
		rc = pthread_cond_clockwait(&changed, &lock, CLOCK_MONOTONIC, &until);
}

void vrb_fork_enter(void)
{
	pthread_mutex_lock(&lock);
	await_none(&forks, GRACE_MS);
	calls++;
	pthread_mutex_unlock(&lock);
}

void vrb_fork_leave(void)
{
	pthread_mutex_lock(&lock);
	if (!--calls && forks)
		pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void before(void)
{
	pthread_mutex_lock(&lock);
	forks++;
	await_none(&calls, PATIENCE_MS);
}

static void in_parent(void)
{
	if (!--forks)
		pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

/* Of this process no thread is within a call. */
static void in_child(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	calls = forks = 0;
}

__attribute__((constructor)) static void watch_forks(void)
{
	static struct dats_fork_watcher watcher = { before, in_parent, in_child, NULL };

	dapl_fork_watch(&watcher);
}
