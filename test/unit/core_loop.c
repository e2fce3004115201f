/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The service thread: watches, tasks, timers, and their ends. */
#include "test/unit/core_loop_util.h"
#include "dapl/base/lock.h"
#include "dapl/base/loop.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* ---- Watches ---- */

static void a_watch_tells_of_input(void **state)
{
	struct dapl_loop *loop = *state;
	struct watched w;
	unsigned int i;

	assert_false(dapl_loop_is_self(loop));
	watched_add(loop, &w, EPOLLIN);
	for (i = 1; i <= 100; i++) {
		watched_poke(&w);
		await(atomic_load(&w.calls) == i);
	}
	watched_remove(&w);
}

static void a_level_is_told_again_and_a_shot_once(void **state)
{
	struct dapl_loop *loop = *state;
	struct watched level, shot;

	watched_add(loop, &level, EPOLLIN);
	level.keep = true;
	watched_add(loop, &shot, EPOLLIN | EPOLLONESHOT);
	shot.keep = true;
	watched_poke(&shot);
	await(atomic_load(&shot.calls) == 1);
	watched_poke(&level);
	await(atomic_load(&level.calls) > 50);
	assert_int_equal(atomic_load(&shot.calls), 1);
	assert_int_equal(dapl_loop_mod(loop, &shot.watch, EPOLLIN | EPOLLONESHOT), 0);
	await(atomic_load(&shot.calls) == 2);
	assert_int_equal(dapl_loop_mod(loop, &level.watch, 0), 0);
	watched_remove(&level);
	watched_remove(&shot);
}

static void what_cannot_be_watched_is_an_error(void **state)
{
	struct dapl_loop *loop = *state;
	struct tp_watch bad = { .ready = readable, .fd = -1 };

	assert_int_equal(dapl_loop_add(loop, &bad, EPOLLIN), -EBADF);
	assert_int_equal(bad.id, 0);
	dapl_loop_del(loop, &bad);
}

/* Both are ready when the loop looks; whichever comes first ends the other. */
static void an_ended_watch_hears_no_stale_event(void **state)
{
	struct dapl_loop *loop = *state;
	struct watched a, b, fresh;
	struct gate gate;
	int round;

	for (round = 0; round < 50; round++) {
		gate_stop(loop, &gate);
		watched_add(loop, &a, EPOLLIN);
		watched_add(loop, &b, EPOLLIN);
		a.victim = &b;
		b.victim = &a;
		watched_poke(&a);
		watched_poke(&b);
		gate_go_on(loop, &gate);
		await(atomic_load(&a.calls) + atomic_load(&b.calls) == 1);
		/* The place is used again at once: its generation tells them apart. */
		watched_add(loop, &fresh, EPOLLIN);
		gate_stop(loop, &gate);
		gate_go_on(loop, &gate);
		assert_int_equal(atomic_load(&a.calls) + atomic_load(&b.calls), 1);
		assert_int_equal(atomic_load(&fresh.calls), 0);
		watched_remove(&fresh);
		watched_remove(&a);
		watched_remove(&b);
	}
}

struct swapper {
	struct watched own;
	struct watched *victim, *heir;
};

static void swap(struct tp_watch *watched, uint32_t events)
{
	struct swapper *s = (struct swapper *)((char *)watched - offsetof(struct swapper, own) -
					       offsetof(struct watched, watch));
	uint64_t value;

	(void)events;
	if (read(s->own.watch.fd, &value, sizeof(value)) < 0)
		abort();
	if (s->victim->watch.id) {
		dapl_loop_del(s->own.loop, &s->victim->watch);
		if (dapl_loop_add(s->own.loop, &s->heir->watch, EPOLLIN))
			abort();
	}
	atomic_fetch_add(&s->own.calls, 1);
}

/* A callback gives its victim's place to somebody else while the victim's event is waiting. */
static void an_heir_does_not_get_its_predecessors_event(void **state)
{
	struct dapl_loop *loop = *state;
	struct watched victim, heir;
	struct swapper s = { .victim = &victim, .heir = &heir };
	struct gate gate;
	int round, inherited = 0;

	for (round = 0; round < 50; round++) {
		gate_stop(loop, &gate);
		watched_add(loop, &s.own, EPOLLIN);
		s.own.watch.ready = swap;
		watched_add(loop, &victim, EPOLLIN);
		watched_add(loop, &heir, EPOLLIN);
		dapl_loop_del(loop, &heir.watch);
		watched_poke(&s.own);
		watched_poke(&victim);
		gate_go_on(loop, &gate);
		await(atomic_load(&s.own.calls) == 1);
		gate_stop(loop, &gate);
		gate_go_on(loop, &gate);
		inherited += atomic_load(&heir.calls) != 0;
		watched_remove(&s.own);
		watched_remove(&victim);
		watched_remove(&heir);
	}
	assert_int_equal(inherited, 0);
}

static void many_watches_come_and_go(void **state)
{
	enum {
		MANY = 300
	};
	struct watched *w = calloc(MANY, sizeof(*w));
	struct dapl_loop *loop = *state;
	int i, round;

	assert_non_null(w);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < MANY; i++)
			watched_add(loop, &w[i], EPOLLIN);
		for (i = 0; i < MANY; i += 3)
			watched_poke(&w[i]);
		for (i = 0; i < MANY; i += 3)
			await(atomic_load(&w[i].calls) == 1);
		for (i = 0; i < MANY; i++) {
			assert_int_equal(atomic_load(&w[i].calls), i % 3 == 0);
			watched_remove(&w[i]);
		}
	}
	free(w);
}

/* ---- Tasks ---- */

static void tasks_run_in_order_and_once_per_post(void **state)
{
	struct dapl_loop *loop = *state;
	unsigned int order = 0, i;
	struct job jobs[8];
	struct gate gate;

	gate_stop(loop, &gate);
	for (i = 0; i < 8; i++) {
		jobs[i] = job_on(loop);
		jobs[i].order = &order;
		dapl_loop_post(loop, &jobs[i].task);
		dapl_loop_post(loop, &jobs[i].task);
	}
	dapl_loop_post(loop, &jobs[0].task);
	gate_go_on(loop, &gate);
	for (i = 0; i < 8; i++)
		await(atomic_load(&jobs[i].runs) == 1);
	gate_stop(loop, &gate);
	gate_go_on(loop, &gate);
	for (i = 0; i < 8; i++) {
		assert_int_equal(atomic_load(&jobs[i].runs), 1);
		assert_int_equal(jobs[i].place, i);
	}
}

static void a_cancelled_task_does_not_run(void **state)
{
	struct dapl_loop *loop = *state;
	struct job jobs[3];
	struct gate gate;
	unsigned int i, which;

	for (which = 0; which < 3; which++) {
		gate_stop(loop, &gate);
		for (i = 0; i < 3; i++) {
			jobs[i] = job_on(loop);
			dapl_loop_post(loop, &jobs[i].task);
		}
		dapl_loop_cancel(loop, &jobs[which].task);
		dapl_loop_cancel(loop, &jobs[which].task);
		gate_go_on(loop, &gate);
		for (i = 0; i < 3; i++)
			if (i != which)
				await(atomic_load(&jobs[i].runs) == 1);
		assert_int_equal(atomic_load(&jobs[which].runs), 0);
	}
}

/* One that posts itself for ever leaves room for the others, even where the last one of a round is
 * cancelled meanwhile. */
static void a_busy_task_starves_nobody(void **state)
{
	struct dapl_loop *loop = *state;
	struct alarm_clock clock = { .timer.expired = alarm_expires, .loop = loop };
	struct job busy = job_on(loop), other = job_on(loop);
	struct watched w;
	struct gate gate;
	unsigned int i;

	watched_add(loop, &w, EPOLLIN);
	busy.again = UINT32_MAX;
	dapl_loop_post(loop, &busy.task);
	for (i = 1; i <= 200; i++) {
		dapl_loop_post(loop, &other.task);
		dapl_loop_cancel(loop, &other.task);
	}
	watched_poke(&w);
	dapl_loop_timer(loop, &clock.timer, dapl_now() + MS);
	await(atomic_load(&w.calls) == 1);
	await(atomic_load(&clock.calls) == 1);
	dapl_loop_cancel(loop, &busy.task);
	i = atomic_load(&busy.runs);
	gate_stop(loop, &gate);
	gate_go_on(loop, &gate);
	assert_int_equal(atomic_load(&busy.runs), i);
	watched_remove(&w);
}

/* ---- Timers ---- */

static void timers_are_never_early(void **state)
{
	struct dapl_loop *loop = *state;
	struct alarm_clock clocks[40];
	uint64_t deadline[40];
	unsigned int i;

	for (i = 0; i < 40; i++) {
		clocks[i] = (struct alarm_clock){ .timer.expired = alarm_expires, .loop = loop };
		/* Not in order, and not in whole milliseconds. */
		deadline[i] = dapl_now() + (i * 7 % 40) * 1234567;
		dapl_loop_timer(loop, &clocks[i].timer, deadline[i]);
	}
	for (i = 0; i < 40; i++) {
		await(atomic_load(&clocks[i].calls) == 1);
		assert_true(atomic_load(&clocks[i].at) >= deadline[i]);
		assert_true(atomic_load(&clocks[i].at) < deadline[i] + DEADLINE);
	}
}

static void a_timer_is_moved_and_cancelled(void **state)
{
	struct dapl_loop *loop = *state;
	struct alarm_clock clock = { .timer.expired = alarm_expires, .loop = loop };
	struct alarm_clock later = { .timer.expired = alarm_expires, .loop = loop };
	uint64_t start = dapl_now();
	struct gate gate;

	dapl_loop_timer(loop, &clock.timer, start + 3600000 * MS);
	dapl_loop_timer(loop, &later.timer, start + 1800000 * MS);
	dapl_loop_timer(loop, &clock.timer, start + 10 * MS);
	await(atomic_load(&clock.calls) == 1);
	assert_true(atomic_load(&clock.at) >= start + 10 * MS);
	/* Behind the loop's back: it must not go off before it is cancelled. */
	gate_stop(loop, &gate);
	dapl_loop_timer(loop, &clock.timer, dapl_now() + 10 * MS);
	dapl_loop_timer(loop, &later.timer, dapl_now() + 20 * MS);
	dapl_loop_timer_cancel(loop, &clock.timer);
	dapl_loop_timer_cancel(loop, &clock.timer);
	gate_go_on(loop, &gate);
	await(atomic_load(&later.calls) == 1);
	assert_int_equal(atomic_load(&clock.calls), 1);
	/* In the past means at once. */
	dapl_loop_timer(loop, &clock.timer, 0);
	await(atomic_load(&clock.calls) == 2);
}

static void a_timer_sets_itself_again(void **state)
{
	struct dapl_loop *loop = *state;
	struct alarm_clock clock = { .timer.expired = alarm_expires,
				     .loop = loop,
				     .repeat = MS / 2 };

	dapl_loop_timer(loop, &clock.timer, dapl_now());
	await(atomic_load(&clock.calls) > 20);
	dapl_loop_timer_cancel(loop, &clock.timer);
	assert_null(clock.timer.prev);
}

/* ---- Others in its place ---- */

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
}

/* ---- All at once ---- */

#define T(f) cmocka_unit_test_setup_teardown(f, loop_setup, loop_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_watch_tells_of_input),
		T(a_level_is_told_again_and_a_shot_once),
		T(what_cannot_be_watched_is_an_error),
		T(an_ended_watch_hears_no_stale_event),
		T(an_heir_does_not_get_its_predecessors_event),
		T(many_watches_come_and_go),
		T(tasks_run_in_order_and_once_per_post),
		T(a_cancelled_task_does_not_run),
		T(a_busy_task_starves_nobody),
		T(timers_are_never_early),
		T(a_timer_is_moved_and_cancelled),
		T(a_timer_sets_itself_again),
		T(who_enters_is_alone),
		T(many_enter_in_turn),
		T(who_is_cancelled_leaves),
		T(sleepers_are_woken_behind_the_callback),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
