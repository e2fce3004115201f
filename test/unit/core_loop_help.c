/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Threads that do the service thread's work while they poll. */
#include "dapl/loop.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <cmocka.h>

#define MS	 UINT64_C(1000000)
#define DEADLINE (10000 * MS)

static atomic_bool resting;

/* Does something until what must come true has. */
#define until(condition, something)                                          \
	do {                                                                 \
		uint64_t until_ = dapl_now() + DEADLINE;                     \
		while (!(condition)) {                                       \
			if (dapl_now() > until_)                             \
				fail_msg("never came true: %s", #condition); \
			something;                                           \
		}                                                            \
	} while (0)

/* An event that counts its callbacks, and by whom they are run. */
struct bell {
	struct tp_watch watch;
	struct dapl_loop *loop;
	atomic_uint calls, mine; /* all, and those on the thread that made it */
	pthread_t maker;
	atomic_uint inside; /* callbacks at a time, of all bells that share it */
	struct bell *first;
	_Atomic(pthread_barrier_t *) in; /* where the next callback stands, if not NULL */
	pthread_barrier_t *out;		 /* and until when; set before in */
};

static void rung(struct tp_watch *watch, uint32_t events)
{
	struct bell *bell = (struct bell *)((char *)watch - offsetof(struct bell, watch));
	pthread_barrier_t *in = atomic_exchange(&bell->in, NULL);
	uint64_t value;

	(void)events;
	if (atomic_fetch_add(&bell->first->inside, 1) || !dapl_loop_is_self(bell->loop))
		abort();
	if (read(bell->watch.fd, &value, sizeof(value)) != sizeof(value))
		abort();
	if (in) {
		pthread_barrier_wait(in);
		pthread_barrier_wait(bell->out);
	}
	if (pthread_equal(bell->maker, pthread_self()))
		atomic_fetch_add(&bell->mine, 1);
	atomic_fetch_sub(&bell->first->inside, 1);
	atomic_fetch_add(&bell->calls, 1);
}

static void hang(struct dapl_loop *loop, struct bell *bell, struct bell *first)
{
	*bell = (struct bell){ .loop = loop, .maker = pthread_self(), .first = first };
	bell->watch.ready = rung;
	bell->watch.fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	assert_true(bell->watch.fd >= 0);
	assert_int_equal(dapl_loop_add(loop, &bell->watch, EPOLLIN), 0);
}

static void take_down(struct bell *bell)
{
	dapl_loop_del(bell->loop, &bell->watch);
	close(bell->watch.fd);
}

static void ring(struct bell *bell)
{
	uint64_t one = 1;

	assert_int_equal(write(bell->watch.fd, &one, sizeof(one)), sizeof(one));
}

struct stage {
	struct dapl_loop *loop;
	struct bell bell;
};

static int setup(void **state)
{
	struct stage *stage = calloc(1, sizeof(*stage));

	if (!stage || dapl_loop_create(&stage->loop, &resting))
		return -1;
	hang(stage->loop, &stage->bell, &stage->bell);
	*state = stage;
	return 0;
}

static int teardown(void **state)
{
	struct stage *stage = *state;

	take_down(&stage->bell);
	dapl_loop_destroy(stage->loop);
	assert_false(resting);
	free(stage);
	return 0;
}

/* The thread has stepped aside for this one when it returns; the bell may still be rung. */
static void step_in(struct stage *stage)
{
	unsigned int calls = atomic_load(&stage->bell.calls);

	ring(&stage->bell);
	until(atomic_load(&resting), {
		dapl_loop_help(stage->loop);
		if (atomic_load(&stage->bell.calls) != calls) {
			calls = atomic_load(&stage->bell.calls);
			ring(&stage->bell);
		}
	});
}

static void who_polls_runs_what_is_due(void **state)
{
	struct stage *stage = *state;
	unsigned int i;

	dapl_loop_expect(stage->loop, 1);
	for (i = 0; i < 20; i++)
		until(atomic_load(&stage->bell.mine) > i, {
			step_in(stage);
			ring(&stage->bell);
			dapl_loop_help(stage->loop);
		});
	assert_false(dapl_loop_is_self(stage->loop));
	dapl_loop_expect(stage->loop, -1);
}

static void without_anything_expected_nobody_helps(void **state)
{
	struct stage *stage = *state;
	unsigned int i, k;

	for (i = 1; i <= 200; i++) {
		ring(&stage->bell);
		for (k = 0; k < 50; k++)
			dapl_loop_help(stage->loop);
		until(atomic_load(&stage->bell.calls) == i, dapl_loop_help(stage->loop));
		assert_false(resting);
	}
	assert_int_equal(atomic_load(&stage->bell.mine), 0);
}

static void the_thread_takes_over_from_who_stops(void **state)
{
	struct stage *stage = *state;
	unsigned int i, calls, mine;

	dapl_loop_expect(stage->loop, 1);
	for (i = 0; i < 20; i++) {
		step_in(stage);
		until(!atomic_load(&resting), usleep(500));
		until(atomic_load(&stage->bell.first->inside) == 0, usleep(100));
		calls = atomic_load(&stage->bell.calls);
		mine = atomic_load(&stage->bell.mine);
		ring(&stage->bell);
		until(atomic_load(&stage->bell.calls) > calls, usleep(100));
		assert_int_equal(atomic_load(&stage->bell.mine), mine);
	}
	dapl_loop_expect(stage->loop, -1);
}

/* Who looks in vain for long is told that there is nothing without a question to the kernel. */
static void the_thread_waits_again_where_nothing_comes(void **state)
{
	struct stage *stage = *state;
	uint64_t quiet;

	dapl_loop_expect(stage->loop, 1);
	step_in(stage);
	quiet = dapl_now();
	until(dapl_now() - quiet > 200 * MS, {
		if (atomic_load(&resting))
			quiet = dapl_now();
		dapl_loop_help(stage->loop);
	});
	dapl_loop_expect(stage->loop, -1);
}

static void who_goes_to_sleep_says_so(void **state)
{
	struct stage *stage = *state;

	dapl_loop_expect(stage->loop, 1);
	step_in(stage);
	dapl_loop_resume(stage->loop);
	until(!atomic_load(&resting), );
	step_in(stage);
	dapl_loop_expect(stage->loop, -1);
	until(!atomic_load(&resting), );
}

/* Who looks for a while before each sleep is served at once; a few times the thread is late. */
static void looks_before_a_sleep_do_not_count(void **state)
{
	struct stage *stage = *state;
	unsigned int i, calls, rests = 0;

	dapl_loop_expect(stage->loop, 1);
	for (i = 0; i < 100; i++) {
		usleep(1000);
		calls = atomic_load(&stage->bell.calls);
		dapl_loop_help(stage->loop);
		dapl_loop_help(stage->loop);
		dapl_loop_resume(stage->loop);
		ring(&stage->bell);
		until(atomic_load(&stage->bell.calls) > calls, );
		usleep(1000);
		rests += atomic_load(&resting);
	}
	assert_in_range(rests, 0, 20);
	assert_int_equal(atomic_load(&stage->bell.mine), 0);
	dapl_loop_expect(stage->loop, -1);
}

/* ---- Others meanwhile ---- */

static void *look(void *arg)
{
	struct stage *stage = arg;

	until(!atomic_load(&stage->bell.in), {
		if (atomic_load(&resting))
			ring(&stage->bell);
		dapl_loop_help(stage->loop);
	});
	return NULL;
}

struct ending {
	struct bell *bell;
	atomic_bool done;
};

static void *end(void *arg)
{
	struct ending *ending = arg;

	dapl_loop_del(ending->bell->loop, &ending->bell->watch);
	atomic_store(&ending->done, true);
	return NULL;
}

/* The callback of a helping thread is waited for like the loop's. */
static void an_end_waits_for_a_helper_in_a_callback(void **state)
{
	struct stage *stage = *state;
	struct ending ending = { .bell = &stage->bell };
	pthread_barrier_t in, out;
	pthread_t helper, ender;

	pthread_barrier_init(&in, NULL, 2);
	pthread_barrier_init(&out, NULL, 2);
	dapl_loop_expect(stage->loop, 1);
	step_in(stage);
	stage->bell.out = &out;
	atomic_store(&stage->bell.in, &in);
	assert_int_equal(pthread_create(&helper, NULL, look, stage), 0);
	pthread_barrier_wait(&in);
	assert_int_equal(pthread_create(&ender, NULL, end, &ending), 0);
	usleep(20000);
	assert_false(ending.done);
	dapl_loop_help(stage->loop); /* nothing: the turn is the other's */
	pthread_barrier_wait(&out);
	pthread_join(ender, NULL);
	pthread_join(helper, NULL);
	assert_true(ending.done);
	assert_int_equal(atomic_load(&stage->bell.inside), 0);
	dapl_loop_expect(stage->loop, -1);
	assert_int_equal(dapl_loop_add(stage->loop, &stage->bell.watch, EPOLLIN), 0);
	pthread_barrier_destroy(&in);
	pthread_barrier_destroy(&out);
}

struct job {
	struct tp_task task;
	struct tp_timer timer;
	pthread_t maker;
	atomic_uint runs, mine, expiries;
};

static void work(struct tp_task *task)
{
	struct job *job = (struct job *)((char *)task - offsetof(struct job, task));

	if (pthread_equal(job->maker, pthread_self()))
		atomic_fetch_add(&job->mine, 1);
	atomic_fetch_add(&job->runs, 1);
}

static void expire(struct tp_timer *timer)
{
	struct job *job = (struct job *)((char *)timer - offsetof(struct job, timer));

	atomic_fetch_add(&job->expiries, 1);
}

static void tasks_and_timers_go_on(void **state)
{
	struct stage *stage = *state;
	struct job job = { .task.run = work, .timer.expired = expire, .maker = pthread_self() };
	unsigned int i;

	dapl_loop_expect(stage->loop, 1);
	for (i = 1; i <= 50; i++) {
		step_in(stage);
		dapl_loop_timer(stage->loop, &job.timer, dapl_now() + MS);
		dapl_loop_post(stage->loop, &job.task);
		until(atomic_load(&job.runs) == 2 * i - 1, dapl_loop_help(stage->loop));
		dapl_loop_post(stage->loop, &job.task);
		until(atomic_load(&job.runs) == 2 * i, dapl_loop_help(stage->loop));
		until(atomic_load(&job.expiries) == i, dapl_loop_help(stage->loop));
	}
	assert_in_range(job.mine, 60, 100); /* of 100: the thread rests 5 ms at a time */
	dapl_loop_cancel(stage->loop, &job.task);
	dapl_loop_timer_cancel(stage->loop, &job.timer);
	dapl_loop_expect(stage->loop, -1);
}

/* ---- All at once ---- */

#define BELLS 4
#define RINGS 3000

struct crowd {
	struct dapl_loop *loop;
	struct bell bells[BELLS];
	atomic_bool stop;
};

static void *help(void *arg)
{
	struct crowd *crowd = arg;
	unsigned int i = 0;

	while (!atomic_load(&crowd->stop)) {
		dapl_loop_help(crowd->loop);
		if (!(++i % 512))
			dapl_loop_resume(crowd->loop);
	}
	return NULL;
}

/* Every ring is heard once, one callback at a time, whoever runs it. */
static void no_event_is_lost_or_heard_twice(void **state)
{
	struct stage *stage = *state;
	struct crowd crowd = { .loop = stage->loop };
	pthread_t helpers[3];
	unsigned int i, calls;

	for (i = 0; i < BELLS; i++)
		hang(stage->loop, &crowd.bells[i], &crowd.bells[0]);
	dapl_loop_expect(stage->loop, 1);
	for (i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&helpers[i], NULL, help, &crowd), 0);
	for (i = 0; i < RINGS; i++) {
		ring(&crowd.bells[i % BELLS]);
		dapl_loop_help(stage->loop);
	}
	until((calls = crowd.bells[0].calls + crowd.bells[1].calls + crowd.bells[2].calls +
		       crowd.bells[3].calls) >= RINGS,
	      usleep(100));
	atomic_store(&crowd.stop, true);
	for (i = 0; i < 3; i++)
		pthread_join(helpers[i], NULL);
	dapl_loop_expect(stage->loop, -1);
	assert_int_equal(calls, RINGS);
	for (i = 0; i < BELLS; i++) {
		assert_int_equal(crowd.bells[i].calls, RINGS / BELLS);
		take_down(&crowd.bells[i]);
	}
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(who_polls_runs_what_is_due),
		T(without_anything_expected_nobody_helps),
		T(the_thread_takes_over_from_who_stops),
		T(the_thread_waits_again_where_nothing_comes),
		T(who_goes_to_sleep_says_so),
		T(looks_before_a_sleep_do_not_count),
		T(an_end_waits_for_a_helper_in_a_callback),
		T(tasks_and_timers_go_on),
		T(no_event_is_lost_or_heard_twice),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
