/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How often is said what others can cause. */
#include "trace/limit.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "dapl/transport.h"

enum {
	MANY = 1000,
	THREADS = 4,
};

static struct dapl_limit limit;
static atomic_uint passed;

static unsigned pass_many(void)
{
	uint32_t missed;
	unsigned num = 0;

	for (int i = 0; i < MANY; i++)
		num += dapl_limit_pass(&limit, &missed);
	return num;
}

/* The period under way began long ago. */
static void age(void)
{
	atomic_store(&limit.start, dapl_now() - DAPL_LIMIT_SECONDS * 1000000000ull);
}

static void a_burst_passes(void **state)
{
	uint32_t missed = 7;

	(void)state;
	assert_true(dapl_limit_pass(&limit, &missed));
	assert_int_equal(missed, 0);
	assert_int_equal(pass_many(), DAPL_LIMIT_BURST - 1);
	age();
	assert_true(dapl_limit_pass(&limit, &missed));
	assert_int_equal(missed, MANY + 1 - DAPL_LIMIT_BURST);
	assert_true(dapl_limit_pass(&limit, &missed));
	assert_int_equal(missed, 0);
	age();
	assert_true(dapl_limit_pass(&limit, &missed));
	assert_int_equal(missed, 0);
}

static void *thread(void *arg)
{
	(void)arg;
	atomic_fetch_add(&passed, pass_many());
	return NULL;
}

static void of_all_threads(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	atomic_store(&limit.start, dapl_now());
	atomic_store(&limit.num, 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, thread, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	/* A second period may begin meanwhile. */
	assert_true(passed >= DAPL_LIMIT_BURST && passed <= 2 * DAPL_LIMIT_BURST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_burst_passes),
		cmocka_unit_test(of_all_threads),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
