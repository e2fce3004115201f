/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Objects that more than one thread ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <pthread.h>
#include <time.h>

#include "dapl/object/object.h"

enum {
	ROUNDS = 5,
	THREADS = 3,
	ASLEEP_MS = 30, /* in which all of them have come to the lock, but for a busy machine */
};

static const struct dapl_class class = {
	DAPL_CLASS(PZ),
	.in_use = DAT_INVALID_STATE_PZ_IN_USE,
};

struct ender {
	struct dapl_object *obj;
	DAT_RETURN rc;
};

static void *end_it(void *arg)
{
	struct ender *ender = arg;

	ender->rc = dapl_object_retire_unused(ender->obj, &class);
	if (!ender->rc)
		dapl_object_release(ender->obj);
	return NULL;
}

/* All sleep at the object's lock before the first has ended it. How many have. */
static unsigned int end_in_threads(struct dapl_object *obj)
{
	const struct timespec asleep = { .tv_nsec = ASLEEP_MS * 1000000 };
	struct ender ender[THREADS];
	pthread_t thread[THREADS];
	unsigned int i, started, ended = 0;

	dapl_lock(&obj->lock);
	for (started = 0; started < THREADS; started++) {
		ender[started] = (struct ender){ .obj = obj };
		if (pthread_create(&thread[started], NULL, end_it, &ender[started]))
			break;
	}
	nanosleep(&asleep, NULL);
	dapl_unlock(&obj->lock);
	for (i = 0; i < started; i++) {
		pthread_join(thread[i], NULL);
		if (!ender[i].rc)
			ended++;
		else
			assert_int_equal(DAT_GET_TYPE(ender[i].rc), DAT_INVALID_HANDLE);
	}
	assert_int_equal(started, THREADS);
	return ended;
}

/* Which programs may not do (GEN-24): one succeeds, the others are told that there is none. */
static void of_several_threads_one_ends_it(void **state)
{
	static const DAT_PROVIDER table;
	struct dapl_object *obj;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		obj = dapl_object_alloc(sizeof(*obj));
		assert_non_null(obj);
		dapl_object_init(obj, &class, NULL, &table);
		assert_int_equal(end_in_threads(obj), 1);
	}
}

static void one_in_use_stays(void **state)
{
	static const DAT_PROVIDER table;
	struct dapl_object *obj = dapl_object_alloc(sizeof(*obj));

	(void)state;
	assert_non_null(obj);
	dapl_object_init(obj, &class, NULL, &table);
	assert_ptr_equal(dapl_object_use_arg(obj, DAPL_TYPE_PZ), obj);
	assert_int_equal(DAT_GET_TYPE(dapl_object_retire_unused(obj, &class)), DAT_INVALID_STATE);
	dapl_object_unuse(obj);
	assert_int_equal(dapl_object_retire_unused(obj, &class), DAT_SUCCESS);
	assert_null(dapl_object_use_arg(obj, DAPL_TYPE_PZ));
	dapl_object_release(obj);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_several_threads_one_ends_it),
		cmocka_unit_test(one_in_use_stays),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
