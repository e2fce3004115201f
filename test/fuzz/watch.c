/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "test/fuzz/watch.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "test/fuzz/insist.h"

enum {
	WATCH_SECONDS = 60, /* beyond every deadline of a harness */
};

static atomic_ulong turns; /* odd: within an input */

static void *watch(void *arg)
{
	unsigned long seen = 0, now;

	for (;; seen = now) {
		sleep(WATCH_SECONDS);
		now = atomic_load(&turns);
		insist(now % 2 == 0 || now != seen);
	}
	return arg;
}

void watch_start(void)
{
	pthread_t thread;
	sigset_t alarm;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm, NULL);
	insist(!pthread_create(&thread, NULL, watch, NULL));
	pthread_detach(thread);
}

void watch_begin(void)
{
	atomic_fetch_add(&turns, 1);
}

void watch_end(void)
{
	atomic_fetch_add(&turns, 1);
}
