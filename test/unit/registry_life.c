/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The life of a provider library: load, init, opens, fini, unload; and what a failing open leaves
 * behind. */
#include "test/unit/dat_util.h"
#include "test/unit/counting.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNTING   MODULE_DIR "/counting.so"
#define FORWARDING MODULE_DIR "/forwarding.so"
#define NOFINI	   MODULE_DIR "/nofini.so"

static struct counting one, two, threaded, keeper, failing, late, forwarded, silent, both, stray;

static int is_loaded(void)
{
	void *dl = dlopen(COUNTING, RTLD_NOW | RTLD_NOLOAD);

	if (dl)
		dlclose(dl);
	return dl != NULL;
}

static DAT_IA_HANDLE open_ia(const char *name)
{
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;

	assert_int_equal(util_open(name, 2, 0, DAT_FALSE, &ia), DAT_SUCCESS);
	assert_non_null(ia);
	return ia;
}

static void close_ia(DAT_IA_HANDLE ia)
{
	assert_int_equal(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
}

/* REG-41, REG-43, REG-47; REG-50: the module has no dapl_extensions; REG-51: its query tells
 * nothing */
static void reg_t3(void **state)
{
	DAT_IA_HANDLE a, b;

	(void)state;
	assert_false(is_loaded());
	a = open_ia("one");
	b = open_ia("one");
	assert_int_equal(one.inits, 1);
	assert_int_equal(one.opens, 2);
	assert_true(is_loaded());
	close_ia(a);
	assert_int_equal(one.finis, 0);
	close_ia(b);
	assert_int_equal(one.finis, 1);
	assert_false(is_loaded());
	a = open_ia("one");
	assert_int_equal(one.inits, 2);
	close_ia(a);
	assert_int_equal(one.finis, 2);
	assert_int_equal(one.wrong, 0);
}

static void reg_45_instance_data(void **state)
{
	char expected[256];

	(void)state;
	close_ia(open_ia("two"));
	snprintf(expected, sizeof(expected), "%p a \"b\" \\", (void *)&two);
	assert_string_equal(two.instance_data, expected);
	assert_string_equal(two.info.ia_name, "two");
	assert_int_equal(two.info.dapl_version_major, 2);
	assert_int_equal(two.info.dapl_version_minor, 0);
	assert_int_equal(two.info.is_thread_safe, DAT_FALSE);
}

static void reg_49_shared_library(void **state)
{
	DAT_IA_HANDLE a = open_ia("one"), b = open_ia("two");
	int finis = one.finis;

	(void)state;
	close_ia(a);
	assert_int_equal(one.finis, finis + 1);
	assert_true(is_loaded());
	close_ia(b);
	assert_false(is_loaded());
	assert_int_equal(one.wrong + two.wrong, 0);
}

/* A registry that held its lock would hang here until the time limit. */
static void reg_7_no_lock_over_init_and_fini(void **state)
{
	(void)state;
	threaded.from_thread = 1;
	close_ia(open_ia("threaded"));
	assert_int_equal(threaded.inits, 1);
	assert_int_equal(threaded.finis, 1);
	assert_int_equal(threaded.add_rc, DAT_SUCCESS);
	assert_int_equal(threaded.wrong, 0);
}

static void reg_48_entry_left_by_fini(void **state)
{
	(void)state;
	keeper.leave_entry = 1;
	close_ia(open_ia("keeper"));
	assert_int_equal(keeper.finis, 1);
	close_ia(open_ia("keeper"));
	assert_int_equal(keeper.inits, 2);
	assert_int_equal(keeper.finis, 2);
	assert_int_equal(keeper.add_rc, DAT_SUCCESS);
}

static void reg_52_failed_open(void **state)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = (DAT_IA_HANDLE)&evd;

	(void)state;
	failing.open_rc = RC(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE);
	assert_int_equal(dat_ia_openv((DAT_NAME_PTR) "failing", 8, &evd, &ia, 2, 0, DAT_FALSE),
			 failing.open_rc);
	assert_null(ia);
	assert_null(evd);
	assert_int_equal(failing.inits, 1);
	assert_int_equal(failing.finis, 1);
	assert_false(is_loaded());
	failing.open_rc = DAT_SUCCESS;
	close_ia(open_ia("failing"));
	assert_int_equal(failing.wrong, 0);
}

static void reg_49_own_registration_is_kept(void **state)
{
	void *dl = dlopen(COUNTING, RTLD_NOW | RTLD_LOCAL);
	DAT_PROVIDER_INIT_FUNC init;
	DAT_PROVIDER_FINI_FUNC fini;
	DAT_PROVIDER_INFO info = util_info("own", 2, 0, DAT_FALSE);
	struct counting own = { 0 };
	char data[64];

	(void)state;
	assert_non_null(dl);
	*(void **)&init = dlsym(dl, "dat_provider_init");
	*(void **)&fini = dlsym(dl, "dat_provider_fini");
	snprintf(data, sizeof(data), "%p", (void *)&own);
	init(&info, data);
	close_ia(open_ia("own"));
	close_ia(open_ia("own"));
	assert_int_equal(own.inits, 1);
	assert_int_equal(own.finis, 0);
	fini(&info);
	assert_int_equal(own.wrong, 0);
	dlclose(dl);
}

/* The tests below use a provider in the program itself. */
static struct fake local;

static struct fake early;

static void *register_early(void *arg)
{
	(void)arg;
	return dat_registry_add_provider(&early.table, &early.info) ? arg : NULL;
}

/* What the program registers while a module is in init is not the module's, and stays. */
static void reg_49_a_registration_during_init_is_kept(void **state)
{
	int opens = fake.opens;

	(void)state;
	fake_init(&early, "late", 2, 0, DAT_FALSE);
	late.meanwhile = register_early;
	for (int i = 0; i < 2; i++)
		close_ia(open_ia("late"));
	assert_int_equal(late.add_rc, RC(DAT_PROVIDER_ALREADY_REGISTERED, 0));
	assert_int_equal(fake.opens, opens + 2);
	assert_int_equal(late.inits, 1);
	assert_int_equal(late.finis, 0);
	assert_false(is_loaded());
	assert_int_equal(dat_registry_remove_provider(&early.table, &early.info), DAT_SUCCESS);
	late.meanwhile = NULL;
	close_ia(open_ia("late"));
	assert_int_equal(late.finis, 1);
	assert_int_equal(late.wrong, 0);
}

/* REG-49: nor is it the module's where that registers nothing. */
static void reg_49_a_silent_module_takes_nothing(void **state)
{
	int opens = fake.opens;

	(void)state;
	fake_init(&early, "silent", 2, 0, DAT_FALSE);
	silent.skip_register = 1;
	silent.meanwhile = register_early;
	for (int i = 0; i < 2; i++)
		close_ia(open_ia("silent"));
	assert_int_equal(fake.opens, opens + 2);
	assert_int_equal(silent.inits, 1);
	assert_int_equal(dat_registry_remove_provider(&early.table, &early.info), DAT_SUCCESS);
}

/* What a thread of the module's has registered is the module's, whoever else in it tries. */
static void reg_49_two_threads_of_a_module_register(void **state)
{
	(void)state;
	both.twice = 1;
	for (int i = 1; i <= 2; i++) {
		close_ia(open_ia("both"));
		assert_int_equal(both.inits, i);
		assert_int_equal(both.finis, i);
	}
	assert_int_equal(both.wrong, 0);
}

/* A module may have another library register, which it brings, from any thread. */
static void reg_49_a_module_forwards(void **state)
{
	(void)state;
	for (int i = 1; i <= 2; i++) {
		forwarded.from_thread = i == 2;
		close_ia(open_ia("forwarded"));
		assert_int_equal(forwarded.inits, i);
		assert_int_equal(forwarded.finis, i);
	}
	assert_int_equal(forwarded.wrong, 0);
}

static void reg_49_a_library_in_use_registers_from_a_thread(void **state)
{
	DAT_IA_HANDLE first = open_ia("one");
	int finis = both.finis;

	(void)state;
	close_ia(open_ia("both"));
	assert_int_equal(both.finis, finis + 1);
	close_ia(first);
}

/* An entry whose code is no longer there would take the next open with it. */
static void reg_44_no_entry_of_a_constructor_is_left(void **state)
{
	DAT_IA_HANDLE ia;

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_int_equal(util_open("constructed", 2, 0, DAT_FALSE, &ia),
				 RC(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED));
}

/* Nor where a thread of the module's has registered another name. */
static void reg_46_no_entry_of_another_name_is_left(void **state)
{
	const DAT_RETURN none = RC(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	DAT_IA_HANDLE ia;

	(void)state;
	stray.from_thread = stray.other_name = 1;
	assert_int_equal(util_open("stray", 2, 0, DAT_FALSE, &ia), none);
	assert_int_equal(stray.add_rc, DAT_SUCCESS);
	assert_false(is_loaded());
	assert_int_equal(util_open("another-name", 2, 0, DAT_FALSE, &ia), none);
}

static void ia_8_failure_leaves_the_evd(void **state)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = (DAT_IA_HANDLE)&evd;

	(void)state;
	fake.open_rc = RC(DAT_INTERNAL_ERROR, 0);
	assert_int_equal(dat_ia_openv((DAT_NAME_PTR) "local", 8, &evd, &ia, 2, 0, DAT_FALSE),
			 fake.open_rc);
	assert_null(evd);
	assert_null(ia);
	fake.open_rc = DAT_SUCCESS;
	assert_int_equal(dat_ia_openv((DAT_NAME_PTR) "local", 8, &evd, &ia, 2, 0, DAT_FALSE),
			 DAT_SUCCESS);
	assert_ptr_equal(evd, &fake);
	close_ia(ia);
}

static void ia_9_query_failure_is_no_open_failure(void **state)
{
	int queries = fake.queries;

	(void)state;
	fake.query_rc = RC(DAT_INTERNAL_ERROR, 0);
	close_ia(open_ia("local"));
	assert_int_equal(fake.queries, queries + 1);
	fake.query_rc = DAT_SUCCESS;
}

static void open_arguments(void **state)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = (DAT_IA_HANDLE)&evd;
	char name[257];
	int opens = fake.opens;

	(void)state;
	memset(name, 'n', sizeof(name));
	assert_int_equal(dat_ia_openv(NULL, 8, &evd, &ia, 2, 0, DAT_FALSE),
			 RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
	assert_null(ia); /* IA-8 */
	assert_int_equal(dat_ia_openv((DAT_NAME_PTR) "", 8, &evd, &ia, 2, 0, DAT_FALSE),
			 RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
	assert_int_equal(dat_ia_openv(name, 8, &evd, &ia, 2, 0, DAT_FALSE),
			 RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
	assert_int_equal(dat_ia_openv((DAT_NAME_PTR) "local", 0, &evd, &ia, 2, 0, DAT_FALSE),
			 RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	assert_int_equal(dat_ia_openv((DAT_NAME_PTR) "local", -1, &evd, &ia, 2, 0, DAT_FALSE),
			 RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	assert_int_equal(dat_ia_openv((DAT_NAME_PTR) "local", 8, NULL, &ia, 2, 0, DAT_FALSE),
			 RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3));
	assert_int_equal(dat_ia_openv((DAT_NAME_PTR) "local", 8, &evd, NULL, 2, 0, DAT_FALSE),
			 RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4));
	assert_int_equal(dat_ia_openv((DAT_NAME_PTR) "local", 8, &evd, &ia, 2, 0, (DAT_BOOLEAN)2),
			 RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7));
	evd = DAT_EVD_OUT_OF_SCOPE;
	assert_int_equal(dat_ia_openv((DAT_NAME_PTR) "local", 8, &evd, &ia, 2, 0, DAT_FALSE),
			 RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_ASYNC));
	assert_ptr_equal(evd, DAT_EVD_OUT_OF_SCOPE);
	assert_int_equal(fake.opens, opens);
	/* Without an EVD to be made the length does not matter (IA-5, IA-6). */
	evd = DAT_EVD_ASYNC_EXISTS;
	assert_int_equal(dat_ia_openv((DAT_NAME_PTR) "local", -7, &evd, &ia, 2, 0, DAT_FALSE),
			 DAT_SUCCESS);
	close_ia(ia);
}

static void close_arguments(void **state)
{
	DAT_IA_HANDLE ia = open_ia("local");

	(void)state;
	assert_int_equal(dat_ia_close(ia, (DAT_CLOSE_FLAGS)2),
			 RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	fake.close_rc = RC(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE);
	assert_int_equal(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), fake.close_rc);
	assert_int_equal(dat_registry_remove_provider(&local.table, &local.info),
			 RC(DAT_PROVIDER_IN_USE, 0));
	fake.close_rc = DAT_SUCCESS;
	close_ia(ia);
	/* IA-90 */
	assert_int_equal(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG),
			 RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA));
	assert_int_equal(dat_ia_close(DAT_HANDLE_NULL, DAT_CLOSE_GRACEFUL_FLAG),
			 RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA));
	assert_int_equal(dat_registry_remove_provider(&local.table, &local.info), DAT_SUCCESS);
	assert_int_equal(dat_registry_add_provider(&local.table, &local.info), DAT_SUCCESS);
}

static int setup(void **state)
{
	static const struct {
		const char *name, *library;
		struct counting *counting;
	} entries[] = {
		{ "one", COUNTING, &one },	     { "two", COUNTING, &two },
		{ "threaded", COUNTING, &threaded }, { "keeper", COUNTING, &keeper },
		{ "failing", COUNTING, &failing },   { "late", COUNTING, &late },
		{ "silent", COUNTING, &silent },     { "both", COUNTING, &both },
		{ "stray", COUNTING, &stray },	     { "forwarded", FORWARDING, &forwarded },
		{ "constructed", NOFINI, NULL },
	};
	char text[4096] = "";
	size_t i;

	(void)state;
	for (i = 0; i < NUM_OF(entries); i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "%s u2.0 nonthreadsafe default %s p.1.0 \"%p a \\\"b\\\" \\\\\" \"\"\n",
			 entries[i].name, entries[i].library, (void *)entries[i].counting);
	util_conf(text);
	fake_init(&local, "local", 2, 0, DAT_FALSE);
	return dat_registry_add_provider(&local.table, &local.info) != DAT_SUCCESS;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reg_t3),
		cmocka_unit_test(reg_45_instance_data),
		cmocka_unit_test(reg_49_shared_library),
		cmocka_unit_test(reg_7_no_lock_over_init_and_fini),
		cmocka_unit_test(reg_48_entry_left_by_fini),
		cmocka_unit_test(reg_52_failed_open),
		cmocka_unit_test(reg_49_own_registration_is_kept),
		cmocka_unit_test(reg_49_a_registration_during_init_is_kept),
		cmocka_unit_test(reg_49_a_silent_module_takes_nothing),
		cmocka_unit_test(reg_49_two_threads_of_a_module_register),
		cmocka_unit_test(reg_49_a_module_forwards),
		cmocka_unit_test(reg_49_a_library_in_use_registers_from_a_thread),
		cmocka_unit_test(reg_44_no_entry_of_a_constructor_is_left),
		cmocka_unit_test(reg_46_no_entry_of_another_name_is_left),
		cmocka_unit_test(ia_8_failure_leaves_the_evd),
		cmocka_unit_test(ia_9_query_failure_is_no_open_failure),
		cmocka_unit_test(open_arguments),
		cmocka_unit_test(close_arguments),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, util_cleanup);
}
