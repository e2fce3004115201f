/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Registry calls, opens and closes from many threads at once (GEN-25); made for ThreadSanitizer. */
#include "test/unit/dat_util.h"
#include "test/unit/counting.h"

#define DATS_WEAK
#include "dat/dats.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COUNTING MODULE_DIR "/counting.so"
#define ROUNDS	 150

static struct counting first, second, failing;
static int errors;

static void count_error(int failed)
{
	if (failed)
		__atomic_fetch_add(&errors, 1, __ATOMIC_RELAXED);
}

static void *open_and_close(void *name)
{
	DAT_IA_HANDLE ia, ptr;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		if (util_open(name, 2, 0, DAT_FALSE, &ia) != DAT_SUCCESS) {
			count_error(1);
			continue;
		}
		count_error(dats_get_ia_handle(ia, &ptr) != DAT_SUCCESS);
		count_error(dats_get_ia_handle(ptr, &ptr) != DAT_SUCCESS || ptr != ia);
		count_error(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG) != DAT_SUCCESS);
	}
	return NULL;
}

static void *fail_to_open(void *name)
{
	DAT_IA_HANDLE ia;
	int i;

	for (i = 0; i < ROUNDS; i++)
		count_error(util_open(name, 2, 0, DAT_FALSE, &ia) != failing.open_rc);
	return NULL;
}

static void *add_and_remove(void *name)
{
	struct fake provider;
	DAT_IA_HANDLE ia;
	int i;

	fake_init(&provider, name, 2, 0, DAT_FALSE);
	for (i = 0; i < ROUNDS; i++) {
		count_error(dat_registry_add_provider(&provider.table, &provider.info) !=
			    DAT_SUCCESS);
		count_error(util_open(name, 2, 0, DAT_FALSE, &ia) != DAT_SUCCESS);
		count_error(dat_registry_remove_provider(&provider.table, &provider.info) !=
			    RC(DAT_PROVIDER_IN_USE, 0));
		count_error(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) != DAT_SUCCESS);
		count_error(dat_registry_remove_provider(&provider.table, &provider.info) !=
			    DAT_SUCCESS);
	}
	return NULL;
}

static void *ask_around(void *arg)
{
	DAT_HA_RELATIONSHIP relationship;
	DAT_PROVIDER_INFO infos[4], *list[4] = { &infos[0], &infos[1], &infos[2], &infos[3] };
	const char *major, *minor;
	DAT_COUNT num;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		count_error(dat_registry_list_providers(4, &num, list) != DAT_SUCCESS || num != 3);
		count_error(dat_registry_providers_related((DAT_NAME_PTR) "first",
							   (DAT_NAME_PTR) "second",
							   &relationship) != DAT_SUCCESS);
		count_error(dat_strerror(DAT_ABORT, &major, &minor) != DAT_SUCCESS);
		count_error(dat_ep_free((DAT_EP_HANDLE)arg) !=
			    RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP));
	}
	return NULL;
}

static void *use_arena(void *arg)
{
	void *chunk;
	int i;

	(void)arg;
	for (i = 0; i < ROUNDS; i++) {
		if (dats_arena_grant(&chunk)) {
			count_error(1);
			continue;
		}
		count_error(dat_ep_free(chunk) != RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP));
		memset((char *)chunk + 8, i, 64);
		dats_arena_return(chunk);
	}
	return NULL;
}

static void gen_25_all_at_once(void **state)
{
	static const struct {
		void *(*body)(void *);
		const char *arg;
	} work[] = {
		{ open_and_close, "first" },  { open_and_close, "first" },
		{ open_and_close, "first" },  { open_and_close, "second" },
		{ open_and_close, "second" }, { fail_to_open, "failing" },
		{ fail_to_open, "failing" },  { add_and_remove, "mine" },
		{ add_and_remove, "yours" },  { ask_around, NULL },
		{ use_arena, NULL },	      { use_arena, NULL },
	};
	pthread_t threads[NUM_OF(work)];
	size_t i;

	(void)state;
	failing.open_rc = RC(DAT_INVALID_ADDRESS, 0);
	for (i = 0; i < NUM_OF(work); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work[i].body,
						(void *)(uintptr_t)work[i].arg),
				 0);
	for (i = 0; i < NUM_OF(work); i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(errors, 0);
	assert_int_equal(first.opens, 3 * ROUNDS);
	assert_int_equal(first.closes, 3 * ROUNDS);
	assert_int_equal(second.closes, 2 * ROUNDS);
	assert_int_equal(first.inits, first.finis);
	assert_int_equal(second.inits, second.finis);
	assert_int_equal(failing.inits, failing.finis);
	assert_int_equal(first.wrong + second.wrong + failing.wrong, 0);
	assert_int_equal(fake.opens, 2 * ROUNDS);
	assert_int_equal(fake.closes, 2 * ROUNDS);
}

#define CLOSERS 4

static DAT_IA_HANDLE shared;
static int winners, inside;
static sem_t losers;

/* Lets the other closers fail first. */
static DAT_RETURN slow_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	struct timespec deadline;
	int i;

	(void)ia;
	(void)flags;
	count_error(__atomic_add_fetch(&inside, 1, __ATOMIC_RELAXED) != 1);
	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += 10;
	for (i = 0; i < CLOSERS - 1; i++)
		count_error(sem_timedwait(&losers, &deadline));
	__atomic_sub_fetch(&inside, 1, __ATOMIC_RELAXED);
	return DAT_SUCCESS;
}

static DAT_PROVIDER slow_objects = { .ia_close_func = slow_close };
static DAT_PROVIDER *slow_object = &slow_objects;

static DAT_RETURN slow_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *evd,
			    DAT_IA_HANDLE *ia)
{
	(void)name;
	(void)qlen;
	(void)evd;
	*ia = (DAT_IA_HANDLE)&slow_object;
	return DAT_SUCCESS;
}

static void *close_shared(void *arg)
{
	DAT_RETURN rc;

	(void)arg;
	rc = dat_ia_close(shared, DAT_CLOSE_ABRUPT_FLAG);
	if (rc == DAT_SUCCESS) {
		__atomic_fetch_add(&winners, 1, __ATOMIC_RELAXED);
	} else {
		count_error(rc != RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA));
		sem_post(&losers);
	}
	return NULL;
}

/* IA-90 with several closes at once: all but one of them come too late. */
static void ia_90_double_close(void **state)
{
	pthread_t threads[CLOSERS];
	struct fake slow;
	int i;

	(void)state;
	fake_init(&slow, "slow", 2, 0, DAT_FALSE);
	slow.table.ia_open_func = slow_open;
	slow.table.ia_query_func = NULL;
	sem_init(&losers, 0, 0);
	assert_int_equal(dat_registry_add_provider(&slow.table, &slow.info), DAT_SUCCESS);
	assert_int_equal(util_open("slow", 2, 0, DAT_FALSE, &shared), DAT_SUCCESS);
	for (i = 0; i < CLOSERS; i++)
		pthread_create(&threads[i], NULL, close_shared, NULL);
	for (i = 0; i < CLOSERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(winners, 1);
	assert_int_equal(errors, 0);
	assert_int_equal(dat_registry_remove_provider(&slow.table, &slow.info), DAT_SUCCESS);
	sem_destroy(&losers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gen_25_all_at_once),
		cmocka_unit_test(ia_90_double_close),
	};
	char text[2048];

	snprintf(text, sizeof(text),
		 "first u2.0 nonthreadsafe default " COUNTING " p.1.0 \"%p\" \"\"\n"
		 "second u2.0 nonthreadsafe default " COUNTING " p.1.0 \"%p\" \"\"\n"
		 "failing u2.0 nonthreadsafe default " COUNTING " p.1.0 \"%p\" \"\"\n",
		 (void *)&first, (void *)&second, (void *)&failing);
	util_conf(text);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, util_cleanup);
}
