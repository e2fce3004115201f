/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Callers that do the loop's work in its place: their turns, and how they are cancelled. */
#include "test/unit/core_loop_util.h"
#include "dapl/base/lock.h"
#include "dapl/base/loop.h"
#include "util/compiler.h"

#include <errno.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>

/* Nothing of it runs beside who has entered; what was posted before has run. */
static void who_enters_is_alone(void **state)
{
	struct dapl_loop *loop = *state;
	struct alarm_clock clock = { .timer.expired = alarm_expires, .loop = loop };
	const struct timespec moment = { .tv_nsec = 20 * MS };
	struct job before = job_on(loop), after = job_on(loop);
	struct watched w;

	watched_add(loop, &w, EPOLLIN);
	dapl_loop_post(loop, &before.task);
	dapl_loop_enter(loop);
	assert_true(dapl_loop_is_self(loop));
	assert_int_equal(atomic_load(&before.runs), 1);
	dapl_loop_post(loop, &after.task);
	dapl_loop_timer(loop, &clock.timer, dapl_now());
	watched_poke(&w);
	nanosleep(&moment, NULL);
	assert_int_equal(atomic_load(&after.runs), 0);
	assert_int_equal(atomic_load(&clock.calls), 0);
	assert_int_equal(atomic_load(&w.calls), 0);
	dapl_loop_leave(loop);
	assert_false(dapl_loop_is_self(loop));
	assert_int_equal(atomic_load(&after.runs), 1);
	await(atomic_load(&clock.calls) == 1);
	await(atomic_load(&w.calls) == 1);
	watched_remove(&w);
}

struct entering {
	struct dapl_loop *loop;
	unsigned int *alone, times;
};

static void *enter_often(void *arg)
{
	struct entering *e = arg;

	for (unsigned int i = 0; i < e->times; i++) {
		dapl_loop_enter(e->loop);
		(*e->alone)++;
		dapl_loop_leave(e->loop);
	}
	return NULL;
}

/* Neither of them waits for ever, nor does the loop. */
static void many_enter_in_turn(void **state)
{
	struct dapl_loop *loop = *state;
	struct job busy = job_on(loop);
	unsigned int alone = 0;
	struct entering e = { loop, &alone, 2000 };
	pthread_t threads[4];

	busy.again = UINT32_MAX;
	dapl_loop_post(loop, &busy.task);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, enter_often, &e), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	dapl_loop_cancel(loop, &busy.task);
	assert_int_equal(alone, 4 * e.times);
	assert_true(atomic_load(&busy.runs) > e.times);
}

static void *enter_cancelled(void *arg)
{
	pthread_cancel(pthread_self());
	dapl_loop_enter(arg);
	pthread_testcancel();
	dapl_loop_leave(arg);
	pthread_testcancel();
	return arg;
}

/* A thread that is cancelled leaves first, also while it waits for its turn. */
static void who_is_cancelled_leaves(void **state)
{
	struct dapl_loop *loop = *state;
	const struct timespec moment = { .tv_nsec = 20 * MS };
	pthread_t thread;
	void *rc;

	dapl_loop_enter(loop);
	assert_int_equal(pthread_create(&thread, NULL, enter_cancelled, loop), 0);
	nanosleep(&moment, NULL);
	dapl_loop_leave(loop);
	pthread_join(thread, &rc);
	assert_ptr_equal(rc, PTHREAD_CANCELED);
	dapl_loop_enter(loop);
	dapl_loop_leave(loop);
}

struct slow {
	struct tp_task task;
	struct dapl_loop *loop;
	atomic_bool runs;
};

static void take_time(struct tp_task *task)
{
	const struct timespec moment = { .tv_nsec = 50 * MS };

	atomic_store(&((struct slow *)task)->runs, true);
	nanosleep(&moment, NULL);
}

static void *cancel_as_cancelled(void *arg)
{
	struct slow *slow = arg;

	pthread_cancel(pthread_self());
	dapl_loop_cancel(slow->loop, &slow->task);
	pthread_testcancel();
	return arg;
}

/* To wait for a callback is no cancellation point: the loop's lock would be gone with the thread. */
static void who_is_cancelled_waits(void **state)
{
	struct dapl_loop *loop = *state;
	struct slow slow = { .task.run = take_time, .loop = loop };
	pthread_t thread;
	void *rc;

	dapl_loop_post(loop, &slow.task);
	await(atomic_load(&slow.runs));
	assert_int_equal(pthread_create(&thread, NULL, cancel_as_cancelled, &slow), 0);
	pthread_join(thread, &rc);
	assert_ptr_equal(rc, PTHREAD_CANCELED);
	dapl_loop_enter(loop);
	dapl_loop_leave(loop);
}

struct caller {
	struct slow *after; /* NULL: at once */
	struct dapl_loop *loop;
	int before, left; /* PTHREAD_CANCEL_ENABLE or PTHREAD_CANCEL_DISABLE */
};

static void *enter_once(void *arg)
{
	struct caller *caller = arg;
	int old;

	pthread_setcancelstate(caller->before, &old);
	if (caller->after)
		await(atomic_load(&caller->after->runs));
	dapl_loop_enter(caller->loop);
	dapl_loop_leave(caller->loop);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &caller->left);
	return NULL;
}

static void post_slow(struct tp_task *task)
{
	struct slow *slow = container_of(task, struct slow, task);

	slow->task.run = take_time;
	dapl_loop_post(slow->loop, &slow->task);
}

/* The second one has its turn while the first one runs what was queued. */
static void each_is_cancelled_as_before(void **state)
{
	struct dapl_loop *loop = *state;
	const struct timespec moment = { .tv_nsec = 20 * MS };

	for (int before = 0; before < 2; before++) {
		struct slow slow = { .task.run = post_slow, .loop = loop };
		struct caller callers[2] = { { .loop = loop, .before = before },
					     { .loop = loop, .before = !before, .after = &slow } };
		pthread_t threads[2];

		dapl_loop_enter(loop);
		for (int i = 0; i < 2; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, enter_once, &callers[i]),
					 0);
		nanosleep(&moment, NULL);
		dapl_loop_post(loop, &slow.task);
		dapl_loop_leave(loop);
		for (int i = 0; i < 2; i++) {
			pthread_join(threads[i], NULL);
			assert_int_equal(callers[i].left, callers[i].before);
		}
	}
}

struct crowd {
	struct dapl_loop *loop;
	pthread_barrier_t begin;
};

enum {
	CROWD = 32,
	TURNS = 100
};

/* Returns how often it slept. Others come meanwhile. */
static void *enter_slowly(void *arg)
{
	struct crowd *crowd = arg;
	struct rusage before, after;

	pthread_barrier_wait(&crowd->begin);
	getrusage(RUSAGE_THREAD, &before);
	for (int i = 0; i < TURNS; i++) {
		dapl_loop_enter(crowd->loop);
		sched_yield();
		dapl_loop_leave(crowd->loop);
	}
	getrusage(RUSAGE_THREAD, &after);
	return (void *)(intptr_t)(after.ru_nvcsw - before.ru_nvcsw);
}

/* However many wait, who ends his turn wakes one of them. */
static void a_turn_wakes_one(void **state)
{
	struct crowd crowd = { .loop = *state };
	pthread_t threads[CROWD];
	intptr_t sleeps = 0;
	void *rc;

	pthread_barrier_init(&crowd.begin, NULL, CROWD);
	for (int i = 0; i < CROWD; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, enter_slowly, &crowd), 0);
	for (int i = 0; i < CROWD; i++) {
		pthread_join(threads[i], &rc);
		sleeps += (intptr_t)rc;
	}
	pthread_barrier_destroy(&crowd.begin);
	print_message("%d sleeps for %d turns\n", (int)sleeps, CROWD * TURNS);
	assert_true(sleeps > CROWD);
	assert_true(sleeps < 4 * CROWD * TURNS);
}

struct waking {
	struct tp_task task;
	struct dapl_loop *loop;
	uint32_t word[10];
	atomic_bool returns;
};

static void wake_all(struct tp_task *task)
{
	struct waking *w = (struct waking *)task;
	const struct timespec moment = { .tv_nsec = 20 * MS };

	for (int i = 0; i < 10; i++)
		__atomic_store_n(&w->word[i], 1, __ATOMIC_SEQ_CST);
	for (int i = 0; i < 8; i++)
		assert_true(dapl_loop_wake_later(w->loop, &w->word[i]));
	nanosleep(&moment, NULL);
	atomic_store(&w->returns, true);
	for (int i = 8; i < 10; i++) {
		assert_false(dapl_loop_wake_later(w->loop, &w->word[i]));
		dapl_futex_wake(&w->word[i], 1);
	}
}

static void *sleep_on(void *arg)
{
	return (void *)(intptr_t)dapl_futex_wait(arg, 0, dapl_now() + 10000 * MS);
}

/* Nobody is left asleep, and who wakes up finds the callback at its end. */
static void sleepers_are_woken_behind_the_callback(void **state)
{
	struct waking w = { .task.run = wake_all, .loop = *state };
	const struct timespec moment = { .tv_nsec = 50 * MS };
	pthread_t threads[10];
	void *rc;

	for (int i = 0; i < 10; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, sleep_on, &w.word[i]), 0);
	nanosleep(&moment, NULL);
	assert_false(dapl_loop_wake_later(w.loop, &w.word[0]));
	dapl_loop_post(w.loop, &w.task);
	for (int i = 0; i < 10; i++) {
		pthread_join(threads[i], &rc);
		/* Unless it was too late to fall asleep. */
		assert_true((intptr_t)rc == -EAGAIN || (!rc && atomic_load(&w.returns)));
	}
	dapl_loop_cancel(w.loop, &w.task);
}

/* ---- All at once ---- */

#define T(f) cmocka_unit_test_setup_teardown(f, loop_setup, loop_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(who_enters_is_alone),
		T(many_enter_in_turn),
		T(a_turn_wakes_one),
		T(who_is_cancelled_waits),
		T(each_is_cancelled_as_before),
		T(who_is_cancelled_leaves),
		T(sleepers_are_woken_behind_the_callback),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
