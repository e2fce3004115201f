/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the tests of the loop share: watches, tasks and timers that count, and a loop that stands
 * still.
 */
#ifndef CORE_LOOP_UTIL_H
#define CORE_LOOP_UTIL_H

#include "dapl/base/loop.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <cmocka.h>

#define MS	 UINT64_C(1000000)
#define DEADLINE (10000 * MS)

/* Polls for what must come true. */
#define await(condition)                                                     \
	do {                                                                 \
		uint64_t until_ = dapl_now() + DEADLINE;                     \
		while (!(condition)) {                                       \
			if (dapl_now() > until_)                             \
				fail_msg("never came true: %s", #condition); \
			usleep(200);                                         \
		}                                                            \
	} while (0)

int loop_setup(void **state);
int loop_teardown(void **state);

/* A gate the loop stops at, so that a test can arrange things behind its back. */
struct gate {
	struct tp_task task;
	pthread_barrier_t in, out;
};

/* The loop stands in a task when it returns. */
void gate_stop(struct dapl_loop *loop, struct gate *gate);
void gate_go_on(struct dapl_loop *loop, struct gate *gate);

struct watched {
	struct tp_watch watch;
	struct dapl_loop *loop;
	atomic_uint calls;
	struct watched *victim; /* to be ended by the callback */
	atomic_bool keep;	/* what made it readable */
};

void readable(struct tp_watch *watch, uint32_t events);
void watched_add(struct dapl_loop *loop, struct watched *w, uint32_t events);
void watched_remove(struct watched *w);
void watched_poke(struct watched *w);

struct job {
	struct tp_task task;
	struct dapl_loop *loop;
	atomic_uint runs;
	unsigned int again; /* posts itself so many times more */
	unsigned int *order, place;
};

struct job job_on(struct dapl_loop *loop);

struct alarm_clock {
	struct tp_timer timer;
	struct dapl_loop *loop;
	_Atomic uint64_t at; /* when it went off; 0: not yet */
	atomic_uint calls;
	uint64_t repeat;
};

void alarm_expires(struct tp_timer *timer);

#endif
