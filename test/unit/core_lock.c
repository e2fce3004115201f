/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The lock of the posting and polling paths, and waiting for it until a deadline. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "dapl/base/lock.h"
#include "dapl/transport.h"

#define MS 1000000ull

static struct dapl_lock lock;
static unsigned counted;

static int set_up(void **state)
{
	(void)state;
	dapl_lock_init(&lock);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	dapl_lock_fini(&lock);
	return 0;
}

static void *run(void *(*fn)(void *), void *arg)
{
	pthread_t thread;
	void *got;

	assert_int_equal(pthread_create(&thread, NULL, fn, arg), 0);
	assert_int_equal(pthread_join(thread, &got), 0);
	return got;
}

static void *wait_until(void *deadline)
{
	return dapl_lock_until(&lock, *(uint64_t *)deadline) ? &lock : NULL;
}

static void a_free_lock_is_had_at_once(void **state)
{
	(void)state;
	assert_true(dapl_lock_until(&lock, 0));
	assert_false(dapl_trylock(&lock));
	dapl_unlock(&lock);
	assert_true(dapl_trylock(&lock));
	dapl_unlock(&lock);
}

static void a_held_lock_is_waited_for_until_the_deadline(void **state)
{
	uint64_t deadline = dapl_now() + 20 * MS;

	(void)state;
	dapl_lock(&lock);
	assert_null(run(wait_until, &deadline));
	assert_true(dapl_now() >= deadline);
	/* A deadline that has passed. */
	assert_null(run(wait_until, &deadline));
	dapl_unlock(&lock);

	/* The one who gave up left nothing behind. */
	assert_true(dapl_trylock(&lock));
	dapl_unlock(&lock);
}

static void *free_later(void *arg)
{
	const struct timespec pause = { .tv_nsec = 20 * MS };

	dapl_lock(&lock);
	*(_Atomic bool *)arg = true;
	nanosleep(&pause, NULL);
	dapl_unlock(&lock);
	return NULL;
}

static void freed_before_the_deadline_it_is_had(void **state)
{
	_Atomic bool held = false;
	uint64_t start;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, free_later, &held), 0);
	while (!held)
		sched_yield();
	start = dapl_now();
	assert_true(dapl_lock_until(&lock, start + 20000 * MS));
	assert_true(dapl_now() < start + 10000 * MS);
	assert_false(dapl_trylock(&lock));
	dapl_unlock(&lock);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

enum {
	THREADS = 4,
	TURNS = 20000
};

static void *takes_turns(void *timed)
{
	int i;

	for (i = 0; i < TURNS; i++) {
		if (timed)
			while (!dapl_lock_until(&lock, dapl_now() + MS / 100))
				;
		else
			dapl_lock(&lock);
		counted++;
		dapl_unlock(&lock);
	}
	return NULL;
}

/* Nobody who waits without a deadline misses the end of a turn for those who give up. */
static void one_at_a_time(void **state)
{
	pthread_t threads[THREADS];
	int i;

	(void)state;
	counted = 0;
	for (i = 0; i < THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, takes_turns, i % 2 ? &lock : NULL), 0);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(counted, THREADS * TURNS);
}

/* ---- Taken in order to serve ---- */

enum {
	REQUEST = 0x08,
	OTHER = 0x10,
};

static void *requests(void *request)
{
	return dapl_serve(&lock, (uint32_t)(uintptr_t)request) ? &lock : NULL;
}

/* Nobody waits for who serves, and he is told of each request once. */
static void who_serves_is_asked(void **state)
{
	(void)state;
	assert_true(dapl_serve(&lock, REQUEST));
	assert_false(dapl_trylock(&lock));
	assert_false(dapl_serve_try(&lock));
	assert_null(run(requests, (void *)REQUEST));
	assert_null(run(requests, (void *)OTHER));
	assert_null(run(requests, (void *)REQUEST));
	assert_int_equal(dapl_serve_end(&lock), REQUEST | OTHER);
	/* It is held all the time. */
	assert_false(dapl_trylock(&lock));
	assert_null(run(requests, (void *)OTHER));
	assert_int_equal(dapl_serve_end(&lock), OTHER);
	assert_int_equal(dapl_serve_end(&lock), 0);
	assert_true(dapl_trylock(&lock));
	dapl_unlock(&lock);
}

/* The one who merely has it does not do what others ask for: they wait, and do it. */
static void who_does_not_serve_is_waited_for(void **state)
{
	_Atomic bool held = false;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, free_later, &held), 0);
	while (!held)
		sched_yield();
	assert_true(dapl_serve(&lock, REQUEST));
	assert_int_equal(dapl_serve_end(&lock), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void *takes_it(void *taken)
{
	dapl_lock(&lock);
	*(_Atomic bool *)taken = true;
	dapl_unlock(&lock);
	return NULL;
}

/* Who wants the lock itself waits for who serves, and sleeps until that ends. */
static void who_serves_is_waited_for(void **state)
{
	const struct timespec pause = { .tv_nsec = 20 * MS };
	_Atomic bool taken = false;
	pthread_t thread;

	(void)state;
	assert_true(dapl_serve_try(&lock));
	assert_int_equal(pthread_create(&thread, NULL, takes_it, &taken), 0);
	nanosleep(&pause, NULL);
	assert_null(run(requests, (void *)REQUEST));
	assert_false(taken);
	assert_int_equal(dapl_serve_end(&lock), REQUEST);
	assert_false(taken);
	assert_int_equal(dapl_serve_end(&lock), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(taken);
}

/* Who has served long enough keeps the lock, and the next to ask takes it over. */
static void who_served_long_stops(void **state)
{
	const struct timespec pause = { .tv_nsec = 20 * MS };
	_Atomic bool taken = false;
	pthread_t thread;

	(void)state;
	assert_true(dapl_serve(&lock, REQUEST));
	assert_null(run(requests, (void *)OTHER));
	assert_int_equal(dapl_serve_stop(&lock), OTHER);
	assert_false(dapl_trylock(&lock));
	assert_int_equal(pthread_create(&thread, NULL, takes_it, &taken), 0);
	nanosleep(&pause, NULL);
	assert_false(taken);
	dapl_unlock(&lock);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(taken);
	assert_true(dapl_serve(&lock, REQUEST));
	assert_int_equal(dapl_serve_stop(&lock), 0);
	dapl_unlock(&lock);
}

/* One that is wanted is free if nobody holds it: its last holder may not have come to say so. */
static void wanted_is_not_held(void **state)
{
	(void)state;
	lock.state = DAPL_LOCK_WANTED;
	assert_true(dapl_serve_try(&lock));
	assert_false(dapl_serve_try(&lock));
	assert_int_equal(dapl_serve_end(&lock), 0);
	assert_int_equal(lock.state, 0);
}

static _Atomic unsigned wanted[THREADS];
static unsigned served[THREADS];

static void serve_all(void)
{
	for (int i = 0; i < THREADS; i++)
		served[i] += atomic_exchange(&wanted[i], 0);
	counted++;
}

static void *wants(void *arg)
{
	_Atomic unsigned *mine = arg;

	uint32_t more;

	for (int i = 0; i < TURNS; i++) {
		if (i % 64 == 63) {
			dapl_lock(&lock);
			counted++;
			dapl_unlock(&lock);
		}
		atomic_fetch_add(mine, 1);
		if (!dapl_serve(&lock, i % 2 ? REQUEST : OTHER))
			continue;
		serve_all();
		more = dapl_serve_end(&lock);
		if (!more)
			continue;
		dapl_serve_stop(&lock);
		serve_all();
		dapl_unlock(&lock);
	}
	return NULL;
}

/* What was there before it was asked for is seen by whoever serves. */
static void no_request_is_lost(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, wants, &wanted[i]), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(served[i], TURNS);
	assert_int_equal(lock.state, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_free_lock_is_had_at_once),
		cmocka_unit_test(a_held_lock_is_waited_for_until_the_deadline),
		cmocka_unit_test(freed_before_the_deadline_it_is_had),
		cmocka_unit_test(one_at_a_time),
		cmocka_unit_test(who_serves_is_asked),
		cmocka_unit_test(who_does_not_serve_is_waited_for),
		cmocka_unit_test(who_serves_is_waited_for),
		cmocka_unit_test(who_served_long_stops),
		cmocka_unit_test(wanted_is_not_held),
		cmocka_unit_test(no_request_is_lost),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
