/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The service thread: watches, tasks, timers, and their ends. */
#include "dapl/base/loop.h"

#include <errno.h>
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

static int setup(void **state)
{
	struct dapl_loop *loop;

	if (dapl_loop_create(&loop))
		return -1;
	*state = loop;
	return 0;
}

static int teardown(void **state)
{
	dapl_loop_destroy(*state);
	return 0;
}

/* A gate the loop stops at, so that a test can arrange things behind its back. */
struct gate {
	struct tp_task task;
	pthread_barrier_t in, out;
};

static void stand(struct tp_task *task)
{
	struct gate *gate = (struct gate *)((char *)task - offsetof(struct gate, task));

	pthread_barrier_wait(&gate->in);
	pthread_barrier_wait(&gate->out);
}

/* The loop stands in a task when it returns. */
static void stop(struct dapl_loop *loop, struct gate *gate)
{
	*gate = (struct gate){ .task.run = stand };
	pthread_barrier_init(&gate->in, NULL, 2);
	pthread_barrier_init(&gate->out, NULL, 2);
	dapl_loop_post(loop, &gate->task);
	pthread_barrier_wait(&gate->in);
}

static void go_on(struct dapl_loop *loop, struct gate *gate)
{
	pthread_barrier_wait(&gate->out);
	dapl_loop_cancel(loop, &gate->task);
	pthread_barrier_destroy(&gate->in);
	pthread_barrier_destroy(&gate->out);
}

/* ---- Watches ---- */

struct watched {
	struct tp_watch watch;
	struct dapl_loop *loop;
	atomic_uint calls;
	struct watched *victim; /* to be ended by the callback */
	atomic_bool keep;	/* what made it readable */
};

static void readable(struct tp_watch *watch, uint32_t events)
{
	struct watched *w = (struct watched *)((char *)watch - offsetof(struct watched, watch));
	uint64_t value;

	if (!(events & EPOLLIN) || !dapl_loop_is_self(w->loop))
		abort();
	if (!w->keep && read(w->watch.fd, &value, sizeof(value)) < 0 && errno != EAGAIN)
		abort();
	if (w->victim)
		dapl_loop_del(w->loop, &w->victim->watch);
	atomic_fetch_add(&w->calls, 1);
}

static void watch(struct dapl_loop *loop, struct watched *w, uint32_t events)
{
	*w = (struct watched){ .loop = loop };
	w->watch.ready = readable;
	w->watch.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_true(w->watch.fd >= 0);
	assert_int_equal(dapl_loop_add(loop, &w->watch, events), 0);
}

static void unwatch(struct watched *w)
{
	dapl_loop_del(w->loop, &w->watch);
	close(w->watch.fd);
}

static void poke(struct watched *w)
{
	uint64_t one = 1;

	assert_int_equal(write(w->watch.fd, &one, sizeof(one)), sizeof(one));
}

static void a_watch_tells_of_input(void **state)
{
	struct dapl_loop *loop = *state;
	struct watched w;
	unsigned int i;

	assert_false(dapl_loop_is_self(loop));
	watch(loop, &w, EPOLLIN);
	for (i = 1; i <= 100; i++) {
		poke(&w);
		await(atomic_load(&w.calls) == i);
	}
	unwatch(&w);
}

static void a_level_is_told_again_and_a_shot_once(void **state)
{
	struct dapl_loop *loop = *state;
	struct watched level, shot;

	watch(loop, &level, EPOLLIN);
	level.keep = true;
	watch(loop, &shot, EPOLLIN | EPOLLONESHOT);
	shot.keep = true;
	poke(&shot);
	await(atomic_load(&shot.calls) == 1);
	poke(&level);
	await(atomic_load(&level.calls) > 50);
	assert_int_equal(atomic_load(&shot.calls), 1);
	assert_int_equal(dapl_loop_mod(loop, &shot.watch, EPOLLIN | EPOLLONESHOT), 0);
	await(atomic_load(&shot.calls) == 2);
	assert_int_equal(dapl_loop_mod(loop, &level.watch, 0), 0);
	unwatch(&level);
	unwatch(&shot);
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
		stop(loop, &gate);
		watch(loop, &a, EPOLLIN);
		watch(loop, &b, EPOLLIN);
		a.victim = &b;
		b.victim = &a;
		poke(&a);
		poke(&b);
		go_on(loop, &gate);
		await(atomic_load(&a.calls) + atomic_load(&b.calls) == 1);
		/* The place is used again at once: its generation tells them apart. */
		watch(loop, &fresh, EPOLLIN);
		stop(loop, &gate);
		go_on(loop, &gate);
		assert_int_equal(atomic_load(&a.calls) + atomic_load(&b.calls), 1);
		assert_int_equal(atomic_load(&fresh.calls), 0);
		unwatch(&fresh);
		unwatch(&a);
		unwatch(&b);
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
		stop(loop, &gate);
		watch(loop, &s.own, EPOLLIN);
		s.own.watch.ready = swap;
		watch(loop, &victim, EPOLLIN);
		watch(loop, &heir, EPOLLIN);
		dapl_loop_del(loop, &heir.watch);
		poke(&s.own);
		poke(&victim);
		go_on(loop, &gate);
		await(atomic_load(&s.own.calls) == 1);
		stop(loop, &gate);
		go_on(loop, &gate);
		inherited += atomic_load(&heir.calls) != 0;
		unwatch(&s.own);
		unwatch(&victim);
		unwatch(&heir);
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
			watch(loop, &w[i], EPOLLIN);
		for (i = 0; i < MANY; i += 3)
			poke(&w[i]);
		for (i = 0; i < MANY; i += 3)
			await(atomic_load(&w[i].calls) == 1);
		for (i = 0; i < MANY; i++) {
			assert_int_equal(atomic_load(&w[i].calls), i % 3 == 0);
			unwatch(&w[i]);
		}
	}
	free(w);
}

/* ---- Tasks ---- */

struct job {
	struct tp_task task;
	struct dapl_loop *loop;
	atomic_uint runs;
	unsigned int again; /* posts itself so many times more */
	unsigned int *order, place;
};

static void work(struct tp_task *task)
{
	struct job *job = (struct job *)((char *)task - offsetof(struct job, task));

	if (job->order)
		job->place = (*job->order)++;
	if (job->again) {
		job->again--;
		dapl_loop_post(job->loop, task);
	}
	atomic_fetch_add(&job->runs, 1);
}

static struct job job_on(struct dapl_loop *loop)
{
	return (struct job){ .task.run = work, .loop = loop };
}

static void tasks_run_in_order_and_once_per_post(void **state)
{
	struct dapl_loop *loop = *state;
	unsigned int order = 0, i;
	struct job jobs[8];
	struct gate gate;

	stop(loop, &gate);
	for (i = 0; i < 8; i++) {
		jobs[i] = job_on(loop);
		jobs[i].order = &order;
		dapl_loop_post(loop, &jobs[i].task);
		dapl_loop_post(loop, &jobs[i].task);
	}
	dapl_loop_post(loop, &jobs[0].task);
	go_on(loop, &gate);
	for (i = 0; i < 8; i++)
		await(atomic_load(&jobs[i].runs) == 1);
	stop(loop, &gate);
	go_on(loop, &gate);
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
		stop(loop, &gate);
		for (i = 0; i < 3; i++) {
			jobs[i] = job_on(loop);
			dapl_loop_post(loop, &jobs[i].task);
		}
		dapl_loop_cancel(loop, &jobs[which].task);
		dapl_loop_cancel(loop, &jobs[which].task);
		go_on(loop, &gate);
		for (i = 0; i < 3; i++)
			if (i != which)
				await(atomic_load(&jobs[i].runs) == 1);
		assert_int_equal(atomic_load(&jobs[which].runs), 0);
	}
}

static void expire(struct tp_timer *timer);

struct alarm_clock {
	struct tp_timer timer;
	struct dapl_loop *loop;
	_Atomic uint64_t at; /* when it went off; 0: not yet */
	atomic_uint calls;
	uint64_t repeat;
};

/* One that posts itself for ever leaves room for the others, even where the last one of a round is
 * cancelled meanwhile. */
static void a_busy_task_starves_nobody(void **state)
{
	struct dapl_loop *loop = *state;
	struct alarm_clock clock = { .timer.expired = expire, .loop = loop };
	struct job busy = job_on(loop), other = job_on(loop);
	struct watched w;
	struct gate gate;
	unsigned int i;

	watch(loop, &w, EPOLLIN);
	busy.again = UINT32_MAX;
	dapl_loop_post(loop, &busy.task);
	for (i = 1; i <= 200; i++) {
		dapl_loop_post(loop, &other.task);
		dapl_loop_cancel(loop, &other.task);
	}
	poke(&w);
	dapl_loop_timer(loop, &clock.timer, dapl_now() + MS);
	await(atomic_load(&w.calls) == 1);
	await(atomic_load(&clock.calls) == 1);
	dapl_loop_cancel(loop, &busy.task);
	i = atomic_load(&busy.runs);
	stop(loop, &gate);
	go_on(loop, &gate);
	assert_int_equal(atomic_load(&busy.runs), i);
	unwatch(&w);
}

/* ---- Timers ---- */

static void expire(struct tp_timer *timer)
{
	struct alarm_clock *clock =
		(struct alarm_clock *)((char *)timer - offsetof(struct alarm_clock, timer));

	atomic_store(&clock->at, dapl_now());
	if (clock->repeat)
		dapl_loop_timer(clock->loop, timer, dapl_now() + clock->repeat);
	atomic_fetch_add(&clock->calls, 1);
}

static void timers_are_never_early(void **state)
{
	struct dapl_loop *loop = *state;
	struct alarm_clock clocks[40];
	uint64_t deadline[40];
	unsigned int i;

	for (i = 0; i < 40; i++) {
		clocks[i] = (struct alarm_clock){ .timer.expired = expire, .loop = loop };
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
	struct alarm_clock clock = { .timer.expired = expire, .loop = loop };
	struct alarm_clock later = { .timer.expired = expire, .loop = loop };
	uint64_t start = dapl_now();
	struct gate gate;

	dapl_loop_timer(loop, &clock.timer, start + 3600000 * MS);
	dapl_loop_timer(loop, &later.timer, start + 1800000 * MS);
	dapl_loop_timer(loop, &clock.timer, start + 10 * MS);
	await(atomic_load(&clock.calls) == 1);
	assert_true(atomic_load(&clock.at) >= start + 10 * MS);
	/* Behind the loop's back: it must not go off before it is cancelled. */
	stop(loop, &gate);
	dapl_loop_timer(loop, &clock.timer, dapl_now() + 10 * MS);
	dapl_loop_timer(loop, &later.timer, dapl_now() + 20 * MS);
	dapl_loop_timer_cancel(loop, &clock.timer);
	dapl_loop_timer_cancel(loop, &clock.timer);
	go_on(loop, &gate);
	await(atomic_load(&later.calls) == 1);
	assert_int_equal(atomic_load(&clock.calls), 1);
	/* In the past means at once. */
	dapl_loop_timer(loop, &clock.timer, 0);
	await(atomic_load(&clock.calls) == 2);
}

static void a_timer_sets_itself_again(void **state)
{
	struct dapl_loop *loop = *state;
	struct alarm_clock clock = { .timer.expired = expire, .loop = loop, .repeat = MS / 2 };

	dapl_loop_timer(loop, &clock.timer, dapl_now());
	await(atomic_load(&clock.calls) > 20);
	dapl_loop_timer_cancel(loop, &clock.timer);
	assert_null(clock.timer.prev);
}

/* ---- Waiting for callbacks ---- */

struct slow {
	struct tp_task task;
	struct tp_timer timer;
	struct tp_watch watch;
	struct dapl_loop *loop;
	atomic_bool inside, done;
};

static void dawdle(struct slow *slow)
{
	atomic_store(&slow->inside, true);
	usleep(20000);
	atomic_store(&slow->done, true);
}

static void slow_task(struct tp_task *task)
{
	dawdle((struct slow *)((char *)task - offsetof(struct slow, task)));
}

static void slow_timer(struct tp_timer *timer)
{
	dawdle((struct slow *)((char *)timer - offsetof(struct slow, timer)));
}

static void slow_watch(struct tp_watch *watched, uint32_t events)
{
	(void)events;
	dawdle((struct slow *)((char *)watched - offsetof(struct slow, watch)));
}

static struct slow *slow_on(struct dapl_loop *loop)
{
	struct slow *slow = calloc(1, sizeof(*slow));

	assert_non_null(slow);
	slow->loop = loop;
	slow->task.run = slow_task;
	slow->timer.expired = slow_timer;
	slow->watch.ready = slow_watch;
	return slow;
}

/* The memory may go as soon as cancel has returned. */
static void cancel_waits_for_a_running_callback(void **state)
{
	struct dapl_loop *loop = *state;
	struct slow *slow = slow_on(loop);
	uint64_t one = 1;
	int fd;

	dapl_loop_post(loop, &slow->task);
	await(atomic_load(&slow->inside));
	dapl_loop_cancel(loop, &slow->task);
	assert_true(atomic_load(&slow->done));
	free(slow);

	slow = slow_on(loop);
	dapl_loop_timer(loop, &slow->timer, dapl_now());
	await(atomic_load(&slow->inside));
	dapl_loop_timer_cancel(loop, &slow->timer);
	assert_true(atomic_load(&slow->done));
	free(slow);

	slow = slow_on(loop);
	fd = slow->watch.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_int_equal(dapl_loop_add(loop, &slow->watch, EPOLLIN | EPOLLONESHOT), 0);
	assert_int_equal(write(fd, &one, sizeof(one)), sizeof(one));
	await(atomic_load(&slow->inside));
	dapl_loop_del(loop, &slow->watch);
	assert_true(atomic_load(&slow->done));
	free(slow);
	close(fd);
}

struct suicide {
	struct tp_task task;
	struct tp_timer timer;
	struct dapl_loop *loop;
	atomic_uint *ends;
};

static void end_by_task(struct tp_task *task)
{
	struct suicide *s = (struct suicide *)((char *)task - offsetof(struct suicide, task));
	atomic_uint *ends = s->ends;

	dapl_loop_timer_cancel(s->loop, &s->timer);
	dapl_loop_cancel(s->loop, task);
	free(s);
	atomic_fetch_add(ends, 1);
}

static void end_by_timer(struct tp_timer *timer)
{
	struct suicide *s = (struct suicide *)((char *)timer - offsetof(struct suicide, timer));

	end_by_task(&s->task);
}

/* On the loop nothing waits, and a callback may free what it belongs to. */
static void a_callback_may_free_itself(void **state)
{
	struct dapl_loop *loop = *state;
	atomic_uint ends = 0;
	struct suicide *s;
	unsigned int i;

	for (i = 0; i < 20; i++) {
		s = calloc(1, sizeof(*s));
		assert_non_null(s);
		*s = (struct suicide){ .task.run = end_by_task,
				       .timer.expired = end_by_timer,
				       .loop = loop,
				       .ends = &ends };
		dapl_loop_timer(loop, &s->timer, dapl_now() + (i & 1 ? 3600000 * MS : MS));
		if (i & 1)
			dapl_loop_post(loop, &s->task);
	}
	await(atomic_load(&ends) == 20);
}

/* ---- All at once ---- */

struct storm {
	struct dapl_loop *loop;
	struct job job;
	struct alarm_clock clock;
	struct watched w;
};

static void *rage(void *arg)
{
	struct storm *s = arg;
	unsigned int i;

	for (i = 0; i < 500; i++) {
		dapl_loop_post(s->loop, &s->job.task);
		dapl_loop_timer(s->loop, &s->clock.timer, dapl_now() + i % 3 * MS / 10);
		if (!s->w.watch.id && dapl_loop_add(s->loop, &s->w.watch, EPOLLIN))
			abort();
		poke(&s->w);
		if (i % 2)
			dapl_loop_cancel(s->loop, &s->job.task);
		if (i % 5 == 0)
			dapl_loop_timer_cancel(s->loop, &s->clock.timer);
		if (i % 7 == 0)
			dapl_loop_del(s->loop, &s->w.watch);
	}
	dapl_loop_del(s->loop, &s->w.watch);
	dapl_loop_cancel(s->loop, &s->job.task);
	dapl_loop_timer_cancel(s->loop, &s->clock.timer);
	return NULL;
}

static void threads_do_it_all_at_once(void **state)
{
	struct dapl_loop *loop = *state;
	struct storm storms[4];
	unsigned int i, runs, calls;
	pthread_t threads[4];

	for (i = 0; i < 4; i++) {
		storms[i] = (struct storm){ .loop = loop, .job = job_on(loop) };
		storms[i].clock = (struct alarm_clock){ .timer.expired = expire, .loop = loop };
		watch(loop, &storms[i].w, EPOLLIN);
	}
	for (i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, rage, &storms[i]), 0);
	for (i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		close(storms[i].w.watch.fd);
	}
	/* It still works. */
	runs = atomic_load(&storms[0].job.runs);
	calls = atomic_load(&storms[0].clock.calls);
	dapl_loop_post(loop, &storms[0].job.task);
	dapl_loop_timer(loop, &storms[0].clock.timer, dapl_now());
	await(atomic_load(&storms[0].job.runs) == runs + 1);
	await(atomic_load(&storms[0].clock.calls) == calls + 1);
}

/* As long as no thread can be made: its stack would be larger than the address space. */
static void without_threads(bool without)
{
	static size_t usual;
	pthread_attr_t attr;

	assert_int_equal(pthread_getattr_default_np(&attr), 0);
	if (without)
		assert_int_equal(pthread_attr_getstacksize(&attr, &usual), 0);
	assert_int_equal(pthread_attr_setstacksize(&attr, without ? (size_t)1 << 50 : usual), 0);
	assert_int_equal(pthread_setattr_default_np(&attr), 0);
	pthread_attr_destroy(&attr);
}

static void what_finds_no_thread_waits_for_the_next_start(void **state)
{
	struct dapl_loop *loop = *state;
	struct alarm_clock clock = { .timer.expired = expire };
	struct tp_watch watched = { .fd = -1 };
	struct job job = job_on(loop), second = job_on(loop);

	without_threads(true);
	dapl_loop_post(loop, &job.task);
	dapl_loop_timer(loop, &clock.timer, dapl_now() + MS);
	assert_true(dapl_loop_add(loop, &watched, EPOLLIN) < 0);
	assert_false(dapl_loop_is_self(loop));
	without_threads(false);
	assert_int_equal(atomic_load(&job.runs), 0);
	dapl_loop_post(loop, &second.task);
	await(atomic_load(&second.runs) == 1);
	await(atomic_load(&clock.calls) == 1);
	assert_int_equal(atomic_load(&job.runs), 1);
}

static void a_loop_that_never_ran_is_destroyed(void **state)
{
	struct dapl_loop *loop;

	(void)state;
	assert_int_equal(dapl_loop_create(&loop), 0);
	dapl_loop_destroy(loop);
}

/* Nothing that is left behind runs afterwards; the thread ends although it sleeps for ever. */
static void destroy_ends_a_sleeping_thread(void **state)
{
	struct alarm_clock clock = { .timer.expired = expire };
	struct dapl_loop *loop;
	struct job job;
	int i;

	(void)state;
	for (i = 0; i < 50; i++) {
		assert_int_equal(dapl_loop_create(&loop), 0);
		job = job_on(loop);
		dapl_loop_post(loop, &job.task);
		dapl_loop_timer(loop, &clock.timer, dapl_now() + 3600000 * MS);
		if (i % 2)
			await(atomic_load(&job.runs) == 1);
		dapl_loop_timer_cancel(loop, &clock.timer);
		dapl_loop_destroy(loop);
		assert_int_equal(atomic_load(&clock.calls), 0);
	}
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

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
		T(cancel_waits_for_a_running_callback),
		T(a_callback_may_free_itself),
		T(threads_do_it_all_at_once),
		T(what_finds_no_thread_waits_for_the_next_start),
		cmocka_unit_test(a_loop_that_never_ran_is_destroyed),
		cmocka_unit_test(destroy_ends_a_sleeping_thread),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
