/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Timers: which one is first, whatever was set, moved and cancelled; and what one of many costs. */
#include "dapl/base/timers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

enum {
	SOME = 64,
	FEW = 100,
	MANY = 20000,
	CHANGES = 2000,
	ROUNDS = 5,
};

static uint32_t seed;

static uint32_t any(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

/* ---- Order ---- */

/* What is set, checked one by one. */
struct set {
	struct tp_timer *first, timers[SOME];
	bool armed[SOME];
};

static void check(const struct set *set)
{
	uint64_t earliest = UINT64_MAX;
	unsigned int i, num = 0;

	for (i = 0; i < SOME; i++) {
		assert_int_equal(set->timers[i].prev != NULL, set->armed[i]);
		if (!set->armed[i])
			continue;
		num++;
		if (set->timers[i].deadline < earliest)
			earliest = set->timers[i].deadline;
	}
	assert_int_equal(set->first != NULL, num != 0);
	if (num)
		assert_int_equal(set->first->deadline, earliest);
}

static void cancel(struct set *set, unsigned int i)
{
	dapl_timers_del(&set->first, &set->timers[i]);
	set->armed[i] = false;
}

static void arm(struct set *set, unsigned int i, uint64_t deadline)
{
	cancel(set, i);
	set->timers[i].deadline = deadline;
	dapl_timers_add(&set->first, &set->timers[i]);
	set->armed[i] = true;
}

static void the_first_is_the_earliest(void **state)
{
	uint32_t start;
	struct set set;
	unsigned int i;

	(void)state;
	for (start = 1; start < 40; start++) {
		seed = start;
		memset(&set, 0, sizeof(set));
		for (i = 0; i < CHANGES; i++) {
			/* Few deadlines, so that many are equal. */
			if (any(3))
				arm(&set, any(SOME), any(100));
			else if (any(2))
				cancel(&set, any(SOME));
			else if (set.first)
				cancel(&set, (unsigned int)(set.first - set.timers));
			check(&set);
		}
	}
}

static void all_come_in_order(void **state)
{
	struct set set = { 0 };
	uint64_t last = 0;
	unsigned int i;

	(void)state;
	seed = 7;
	for (i = 0; i < SOME; i++)
		arm(&set, i, any(1000));
	for (i = 0; i < SOME; i++) {
		assert_non_null(set.first);
		assert_true(set.first->deadline >= last);
		last = set.first->deadline;
		cancel(&set, (unsigned int)(set.first - set.timers));
		check(&set);
	}
	assert_null(set.first);
}

/* ---- Cost ---- */

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* For one of num that are there, with the same timeout: to be set, moved and cancelled. */
static uint64_t cost(unsigned int num)
{
	struct tp_timer *timers = calloc(num, sizeof(*timers)), *first = NULL;
	uint64_t now = 0, start;
	unsigned int i;

	assert_non_null(timers);
	for (i = 0; i < num; i++) {
		timers[i].deadline = ++now;
		dapl_timers_add(&first, &timers[i]);
	}
	start = cpu_ns();
	for (i = 0; i < CHANGES; i++) {
		struct tp_timer *timer = &timers[any(num)];

		dapl_timers_del(&first, timer);
		timer->deadline = ++now;
		dapl_timers_add(&first, timer);
		if (i % 10)
			continue;
		/* The first one goes off, and is set again. */
		timer = first;
		dapl_timers_del(&first, timer);
		timer->deadline = ++now;
		dapl_timers_add(&first, timer);
	}
	start = cpu_ns() - start;
	free(timers);
	return start;
}

static uint64_t least(unsigned int num)
{
	uint64_t best = UINT64_MAX, one;
	unsigned int i;

	seed = 3;
	for (i = 0; i < ROUNDS; i++) {
		one = cost(num);
		best = one < best ? one : best;
	}
	return best;
}

/* A walk over all would cost 200 times as much. */
static void many_cost_hardly_more_than_few(void **state)
{
	uint64_t few = least(FEW), many = least(MANY);

	(void)state;
	print_message("# %d timers: %.0f ns for one; %d: %.0f ns\n", FEW, (double)few / CHANGES,
		      MANY, (double)many / CHANGES);
	assert_true(many < 40 * few);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_is_the_earliest),
		cmocka_unit_test(all_come_in_order),
		cmocka_unit_test(many_cost_hardly_more_than_few),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
