/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What is cancelled, freed or destroyed while it runs, and all at once. */
#include "test/unit/core_loop_util.h"
#include "dapl/base/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

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
		watched_poke(&s->w);
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
		storms[i].clock =
			(struct alarm_clock){ .timer.expired = alarm_expires, .loop = loop };
		watched_add(loop, &storms[i].w, EPOLLIN);
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
	assert_int_equal(pthread_attr_setstacksize(&attr, without ? SIZE_MAX / 4 * 3 : usual), 0);
	assert_int_equal(pthread_setattr_default_np(&attr), 0);
	pthread_attr_destroy(&attr);
}

static void what_finds_no_thread_waits_for_the_next_start(void **state)
{
	struct dapl_loop *loop = *state;
	struct alarm_clock clock = { .timer.expired = alarm_expires };
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
	struct alarm_clock clock = { .timer.expired = alarm_expires };
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

#define T(f) cmocka_unit_test_setup_teardown(f, loop_setup, loop_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
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
