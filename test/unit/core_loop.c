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
#include <sys/resource.h>
#include <cmocka.h>

/* What epoll_wait is refused with, as by a filter of calls; 0: it is not. */
static int no_wait;

int __real_epoll_wait(int epfd, struct epoll_event *events, int num, int timeout);
int __wrap_epoll_wait(int epfd, struct epoll_event *events, int num, int timeout);
int __wrap_epoll_wait(int epfd, struct epoll_event *events, int num, int timeout)
{
	if (!no_wait)
		return __real_epoll_wait(epfd, events, num, timeout);
	errno = no_wait;
	return -1;
}

/* It would never hear of anything. */
static void a_loop_that_cannot_wait_is_an_error(void **state)
{
	static const int refusals[] = { EPERM, EACCES, ENOSYS };
	struct dapl_loop *loop;

	(void)state;
	for (unsigned int i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		no_wait = refusals[i];
		assert_int_equal(dapl_loop_create(&loop), -refusals[i]);
	}
	no_wait = 0;
}

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

struct counting {
	struct tp_task task;
	_Atomic long sleeps; /* of the thread so far; 0: not known yet */
};

static void count_sleeps(struct tp_task *task)
{
	struct counting *c = (struct counting *)task;
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	atomic_store(&c->sleeps, usage.ru_nvcsw + 1);
}

static long sleeps_of(struct dapl_loop *loop)
{
	struct counting c = { .task.run = count_sleeps };

	dapl_loop_post(loop, &c.task);
	await(atomic_load(&c.sleeps));
	dapl_loop_cancel(loop, &c.task);
	return atomic_load(&c.sleeps);
}

/* Most are cancelled: to be told of each costs two switches of threads. */
static void timers_that_are_far_wake_nobody(void **state)
{
	struct dapl_loop *loop = *state;
	struct alarm_clock clock = { .timer.expired = alarm_expires, .loop = loop };
	long before = sleeps_of(loop);

	for (int i = 0; i < 200; i++) {
		dapl_loop_timer(loop, &clock.timer, dapl_now() + 5000 * MS);
		usleep(200);
		dapl_loop_timer_cancel(loop, &clock.timer);
	}
	assert_true(sleeps_of(loop) - before < 50);
	assert_int_equal(atomic_load(&clock.calls), 0);
}

/* As they are about as far as that, and when nothing has happened for longer. */
static void timers_that_are_far_go_off(void **state)
{
	static const unsigned int ms[] = { 990, 1010, 1040, 1060, 1200 };
	struct dapl_loop *loop = *state;
	struct alarm_clock clocks[5], late = { .timer.expired = alarm_expires, .loop = loop };
	uint64_t start;

	sleeps_of(loop);
	start = dapl_now();
	for (int i = 0; i < 5; i++) {
		clocks[i] = (struct alarm_clock){ .timer.expired = alarm_expires, .loop = loop };
		dapl_loop_timer(loop, &clocks[i].timer, start + ms[i] * MS);
	}
	for (int i = 0; i < 5; i++) {
		await(atomic_load(&clocks[i].calls) == 1);
		assert_true(atomic_load(&clocks[i].at) >= start + ms[i] * MS);
	}
	usleep(1200000);
	start = dapl_now();
	dapl_loop_timer(loop, &late.timer, start + 1100 * MS);
	await(atomic_load(&late.calls) == 1);
	assert_true(atomic_load(&late.at) >= start + 1100 * MS);
}

struct limit {
	struct tp_timer timer;
	struct watched awaited;
	atomic_uint found, calls;
};

static void limit_expires(struct tp_timer *timer)
{
	struct limit *limit = (struct limit *)((char *)timer - offsetof(struct limit, timer));

	atomic_store(&limit->found, atomic_load(&limit->awaited.calls));
	atomic_fetch_add(&limit->calls, 1);
}

/* Nobody looked while it came, behind others, and its time ran out. */
static void expect_it_in_time(struct dapl_loop *loop, struct watched *others, int num, bool asap)
{
	struct limit limit = { .timer.expired = limit_expires };
	struct alarm_clock at_once = { .timer.expired = alarm_expires, .loop = loop };
	struct gate gate;

	watched_add(loop, &limit.awaited, EPOLLIN);
	gate_stop(loop, &gate);
	for (int i = 0; i < num; i++)
		watched_poke(&others[i]);
	watched_poke(&limit.awaited);
	dapl_loop_timer(loop, &limit.timer, dapl_now() + 100 * MS);
	if (asap)
		dapl_loop_timer(loop, &at_once.timer, 0);
	usleep(500000);
	gate_go_on(loop, &gate);
	await(atomic_load(&limit.calls) == 1);
	assert_int_equal(atomic_load(&limit.found), 1);
	if (asap)
		await(atomic_load(&at_once.calls) == 1);
	watched_remove(&limit.awaited);
}

static void what_came_meanwhile_comes_before_a_late_timer(void **state)
{
	struct dapl_loop *loop = *state;
	static struct watched others[100];
	int i, num = sizeof(others) / sizeof(others[0]);

	expect_it_in_time(loop, NULL, 0, false);
	expect_it_in_time(loop, NULL, 0, true);
	for (i = 0; i < num; i++)
		watched_add(loop, &others[i], EPOLLIN);
	expect_it_in_time(loop, others, num, false);
	for (i = 0; i < num; i++)
		watched_remove(&others[i]);
}

#define T(f) cmocka_unit_test_setup_teardown(f, loop_setup, loop_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_loop_that_cannot_wait_is_an_error),
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
		T(timers_that_are_far_wake_nobody),
		T(timers_that_are_far_go_off),
		T(what_came_meanwhile_comes_before_a_late_timer),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
