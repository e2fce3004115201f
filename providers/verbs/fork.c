/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/verbs/fork.h"

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

enum {
	PATIENCE = 1, /* seconds */
};

/* Held for reading within a call, for writing by who forks, whom those who come later let go first. */
static pthread_rwlock_t calls = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static _Thread_local bool forking;

void vrb_fork_enter(void)
{
	pthread_rwlock_rdlock(&calls);
}

void vrb_fork_leave(void)
{
	pthread_rwlock_unlock(&calls);
}

static void before(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE;
	forking = !pthread_rwlock_timedwrlock(&calls, &until);
}

static void in_parent(void)
{
	if (forking)
		pthread_rwlock_unlock(&calls);
}

/* This thread is another one by now, and not the lock's. */
static void in_child(void)
{
	calls = (pthread_rwlock_t)PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(before, in_parent, in_child);
}
