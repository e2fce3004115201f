/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Threads that wait on a dispatcher or a notification object, and record how that ended. */
#include "harness.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct ct_waiter_thread {
	struct ct_waiter waiter;
	struct ct_waiter_thread *next;
	pthread_t thread;
	atomic_int tid;
	atomic_bool done;
	bool joined;
	DAT_EVD_HANDLE evd; /* null: wait on the CNO */
	DAT_CNO_HANDLE cno;
	DAT_TIMEOUT timeout;
	DAT_COUNT threshold;
};

static struct ct_waiter_thread *threads;

static void *wait_thread(void *arg)
{
	struct ct_waiter_thread *t = arg;
	struct ct_waiter *w = &t->waiter;
	uint64_t cpu, start;

	start = ct_now_us();
	cpu = ct_thread_cpu_us();
	atomic_store(&t->tid, (int)syscall(SYS_gettid));
	if (t->evd != DAT_HANDLE_NULL)
		w->rc = dat_evd_wait(t->evd, t->timeout, t->threshold, &w->event, &w->more);
	else
		w->rc = dat_cno_wait(t->cno, t->timeout, &w->hint);
	w->cpu_us = ct_thread_cpu_us() - cpu;
	w->elapsed_us = ct_now_us() - start;
	atomic_store(&t->done, true);
	return NULL;
}

/* Reads state and number of voluntary switches of a thread; the state is '?' when it is gone. */
static char thread_state(int tid, unsigned long *switches)
{
	char path[64], line[128], state = '?';
	FILE *file;

	*switches = 0;
	snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	file = fopen(path, "re");
	if (file == NULL)
		return '?';
	while (fgets(line, sizeof(line), file) != NULL) {
		sscanf(line, "State: %c", &state);
		sscanf(line, "voluntary_ctxt_switches: %lu", switches);
	}
	fclose(file);
	return state;
}

/* Asleep means: in the same sleep at three looks in a row, so that a short wait for a lock does not
 * count. */
static bool asleep_or(int tid, const atomic_bool *done)
{
	uint64_t deadline = ct_now_us() + CT_US;
	unsigned long before = 0, now;
	int same = 0;

	while (same < 3) {
		char state = thread_state(tid, &now);

		if (done != NULL && atomic_load(done))
			return true;
		same = state == 'S' && now == before ? same + 1 : 0;
		before = now;
		if (ct_now_us() > deadline)
			return false;
		ct_pause();
	}
	return true;
}

void ct_await_asleep(int tid)
{
	if (!asleep_or(tid, NULL))
		fail_msg("the thread never sleeps");
}

static struct ct_waiter *start(DAT_EVD_HANDLE evd, DAT_CNO_HANDLE cno, DAT_TIMEOUT timeout,
			       DAT_COUNT threshold)
{
	struct ct_waiter_thread *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	t->evd = evd;
	t->cno = cno;
	t->timeout = timeout;
	t->threshold = threshold;
	t->waiter.thread = t;
	t->waiter.more = -1;
	t->waiter.hint = (DAT_EVD_HANDLE)&threads;
	memset(&t->waiter.event, 0xa5, sizeof(t->waiter.event));
	assert_int_equal(pthread_create(&t->thread, NULL, wait_thread, t), 0);
	t->next = threads;
	threads = t;
	ct_await(atomic_load(&t->tid) != 0);
	if (!asleep_or(atomic_load(&t->tid), &t->done))
		fail_msg("the waiting thread never sleeps");
	return &t->waiter;
}

struct ct_waiter *ct_evd_waiter(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold)
{
	return start(evd, DAT_HANDLE_NULL, timeout, threshold);
}

struct ct_waiter *ct_cno_waiter(DAT_CNO_HANDLE cno, DAT_TIMEOUT timeout)
{
	return start(DAT_HANDLE_NULL, cno, timeout, 0);
}

bool ct_waiter_done(const struct ct_waiter *waiter)
{
	return atomic_load(&waiter->thread->done);
}

void ct_waiter_signal(struct ct_waiter *waiter, int signo)
{
	assert_int_equal(pthread_kill(waiter->thread->thread, signo), 0);
}

static bool join(struct ct_waiter_thread *t)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += CT_MS / 1000;
	t->joined = t->joined || pthread_timedjoin_np(t->thread, NULL, &until) == 0;
	return t->joined;
}

void ct_waiter_join(struct ct_waiter *waiter)
{
	if (!join(waiter->thread))
		fail_msg("the waiting thread does not return");
}

void ct_waiters_free(void)
{
	struct ct_waiter_thread *t;

	while ((t = threads) != NULL) {
		threads = t->next;
		/* A thread that is stuck keeps its memory; the test has failed already. */
		if (join(t))
			free(t);
	}
}
