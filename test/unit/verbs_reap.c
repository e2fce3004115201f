/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What waits for the kernel in the program's stead does so in order, and to the end. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <semaphore.h>
#include <stdlib.h>
#include <cmocka.h>

#include "providers/verbs/device.h"

enum {
	ITEMS = 4
};

struct job {
	struct vrb_reap reap;
	sem_t *wait; /* until it may end */
	int *count;
	int place; /* in the order of their ends */
	pthread_t by;
};

struct bench {
	struct vrb_dev *dev;
	sem_t may_end;
	int count;
	struct job job[ITEMS];
};

static void run(struct vrb_reap *item)
{
	struct job *job = container_of(item, struct job, reap);

	if (job->wait)
		while (sem_wait(job->wait))
			;
	job->by = pthread_self();
	job->place = ++*job->count;
}

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	b->dev = calloc(1, sizeof(*b->dev));
	assert_non_null(b->dev);
	vrb_reaper_init(&b->dev->reaper);
	sem_init(&b->may_end, 0, 0);
	for (int i = 0; i < ITEMS; i++)
		b->job[i] = (struct job){ .reap.run = run, .count = &b->count };
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	sem_destroy(&b->may_end);
	free(b->dev);
	free(b);
	return 0;
}

static void nothing_is_put_off_without_need(void **state)
{
	struct bench *b = *state;

	vrb_reap_after(b->dev, &b->job[0].reap);
	assert_int_equal(b->job[0].place, 1);
	assert_true(pthread_equal(b->job[0].by, pthread_self()));
	assert_false(b->dev->reaper.started);
	vrb_reaper_end(&b->dev->reaper);
}

static void the_caller_does_not_wait_and_the_order_stays(void **state)
{
	struct bench *b = *state;

	b->job[0].wait = &b->may_end;
	vrb_reap(b->dev, &b->job[0].reap);
	for (int i = 1; i < ITEMS; i++)
		vrb_reap_after(b->dev, &b->job[i].reap);
	/* The first holds them all up. */
	assert_int_equal(b->count, 0);
	sem_post(&b->may_end);
	vrb_reaper_end(&b->dev->reaper);
	for (int i = 0; i < ITEMS; i++) {
		assert_int_equal(b->job[i].place, i + 1);
		assert_false(pthread_equal(b->job[i].by, pthread_self()));
	}
}

static void the_end_waits_for_what_is_under_way(void **state)
{
	struct bench *b = *state;

	for (int i = 0; i < ITEMS; i++) {
		b->job[i].wait = &b->may_end;
		vrb_reap(b->dev, &b->job[i].reap);
		sem_post(&b->may_end);
	}
	vrb_reaper_end(&b->dev->reaper);
	assert_int_equal(b->count, ITEMS);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(nothing_is_put_off_without_need),
		T(the_caller_does_not_wait_and_the_order_stays),
		T(the_end_waits_for_what_is_under_way),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
