/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Opening adapters: IA-1 to IA-12, what the registry shows through it, and handles (GEN-17,
 * GEN-18). */
#include "harness.h"

#include <dat2/dat_ib_extensions.h>
#include <dat2/dat_registry.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NO_IA ((DAT_IA_HANDLE)(uintptr_t)0x5a5a)

/* Opens with all arguments good but those given. */
static DAT_RETURN openv(const char *name, DAT_UINT32 major, DAT_UINT32 minor, int thread_safety)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = NO_IA;
	DAT_RETURN rc = dat_ia_openv((char *)name, 8, &async, &ia, major, minor,
				     (DAT_BOOLEAN)thread_safety);

	if (rc == DAT_SUCCESS) {
		expect_ok(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
		return rc;
	}
	/* IA-8 */
	assert_null(ia);
	assert_null(async);
	return rc;
}

static DAT_RETURN open_with(DAT_COUNT qlen, DAT_EVD_HANDLE *async, DAT_IA_HANDLE *ia)
{
	*ia = NO_IA;
	return dat_ia_open(harness_ia_name(), qlen, async, ia);
}

static void ia_1_instances_of_one_name_are_separate(void **state)
{
	struct ct_ia *ia = *state;
	struct ct_ia others[3];

	for (int i = 0; i < 3; i++) {
		ct_open(&others[i]);
		assert_ptr_not_equal(others[i].ia, ia->ia);
		assert_ptr_not_equal(others[i].async, ia->async);
		for (int j = 0; j < i; j++) {
			assert_ptr_not_equal(others[i].ia, others[j].ia);
			assert_ptr_not_equal(others[i].async, others[j].async);
		}
	}
	/* An object counts for its own instance only. */
	ct_evd(ia->ia, 4, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG);
	for (int i = 0; i < 3; i++)
		expect_ok(dat_ia_close(others[i].ia, DAT_CLOSE_GRACEFUL_FLAG));
	expect_state(dat_ia_close(ia->ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
}

static void ia_2_dat_ia_open_asks_for_2_0_nonthreadsafe(void **state)
{
	(void)state;
	assert_int_equal(DAT_VERSION_MAJOR, 2);
	assert_int_equal(DAT_VERSION_MINOR, 0);
	assert_int_equal(DAT_THREADSAFE, DAT_FALSE);
	expect_ok(openv(harness_ia_name(), 2, 0, DAT_FALSE));
}

static void reg_25_the_subtype_tells_what_did_not_match(void **state)
{
	(void)state;
	expect(openv("no-adapter-has-this-name", 2, 0, DAT_FALSE), DAT_PROVIDER_NOT_FOUND,
	       DAT_NAME_NOT_REGISTERED);
	expect(openv(harness_ia_name(), 1, 0, DAT_FALSE), DAT_PROVIDER_NOT_FOUND,
	       DAT_MAJOR_NOT_FOUND);
	expect(openv(harness_ia_name(), 3, 0, DAT_FALSE), DAT_PROVIDER_NOT_FOUND,
	       DAT_MAJOR_NOT_FOUND);
	expect(openv(harness_ia_name(), 2, 1, DAT_FALSE), DAT_PROVIDER_NOT_FOUND,
	       DAT_MINOR_NOT_FOUND);
	expect(openv(harness_ia_name(), 2, 0, DAT_TRUE), DAT_PROVIDER_NOT_FOUND,
	       DAT_THREAD_SAFETY_NOT_FOUND);
}

/* One vendor's manual puts it before the name; here it is part of the name. */
static void ia_12_a_prefix_is_part_of_the_name(void **state)
{
	char name[DAT_NAME_MAX_LENGTH];

	(void)state;
	snprintf(name, sizeof(name), "RO_AWARE_%s", harness_ia_name());
	expect(openv(name, 2, 0, DAT_FALSE), DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
}

static void reg_3_names_are_case_sensitive_and_whole(void **state)
{
	char name[DAT_NAME_MAX_LENGTH];

	(void)state;
	strncpy(name, harness_ia_name(), sizeof(name) - 2);
	name[sizeof(name) - 2] = '\0';
	name[strlen(name) + 1] = '\0';
	name[strlen(name)] = 'x';
	expect(openv(name, 2, 0, DAT_FALSE), DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	strcpy(name, harness_ia_name());
	name[0] ^= 0x20;
	expect(openv(name, 2, 0, DAT_FALSE), DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
}

static void reg_28_the_list_shows_the_adapter(void **state)
{
	DAT_PROVIDER_INFO *info, **list;
	DAT_COUNT count = -1;
	bool seen = false;

	(void)state;
	/* REG-32: the size query. */
	expect_arg(dat_registry_list_providers(0, &count, NULL), 1);
	assert_true(count > 0);
	info = calloc((size_t)count, sizeof(*info));
	list = calloc((size_t)count, sizeof(*list));
	assert_non_null(info);
	assert_non_null(list);
	for (int i = 0; i < count; i++)
		list[i] = &info[i];
	expect_ok(dat_registry_list_providers(count, &count, list));
	for (int i = 0; i < count; i++)
		seen |= strcmp(info[i].ia_name, harness_ia_name()) == 0 &&
			info[i].dapl_version_major == 2 && info[i].is_thread_safe == DAT_FALSE;
	free(list);
	free(info);
	assert_true(seen);
}

static void ia_3_null_makes_a_dispatcher(void **state)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	(void)state;
	expect_ok(open_with(8, &async, &ia));
	assert_non_null(async);
	assert_ptr_not_equal(async, DAT_EVD_ASYNC_EXISTS);
	assert_ptr_not_equal(async, DAT_EVD_OUT_OF_SCOPE);
	expect_ok(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

static void ia_4_the_dispatcher_made_by_the_open(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_PARAM param = ct_evd_param(ia->async);
	DAT_CNO_HANDLE cno = ct_cno(ia->ia);
	DAT_EVENT event;
	DAT_COUNT more;

	assert_true(param.evd_qlen >= 64);
	assert_int_equal(param.evd_flags, DAT_EVD_ASYNC_FLAG);
	assert_null(param.cno_handle);
	assert_int_equal(param.evd_state & 0xf, DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_WAITABLE);
	assert_ptr_equal(param.ia_handle, ia->ia);

	expect_ok(dat_evd_resize(ia->async, param.evd_qlen * 2));
	assert_true(ct_evd_param(ia->async).evd_qlen >= param.evd_qlen * 2);
	expect_ok(dat_evd_modify_cno(ia->async, cno));
	assert_ptr_equal(ct_evd_param(ia->async).cno_handle, cno);
	ct_empty(ia->async);
	expect_exact(dat_evd_wait(ia->async, 0, 1, &event, &more), DAT_TIMEOUT_EXPIRED);
	expect_ok(dat_evd_modify_cno(ia->async, DAT_HANDLE_NULL));
	expect_ok(dat_cno_free(cno));
}

static void ia_5_an_explicit_dispatcher_is_used_and_qlen_ignored(void **state)
{
	static const DAT_COUNT qlens[] = { -1, 0, 1, 0x7fffffff };
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE own = ct_evd(ia->ia, 8, DAT_HANDLE_NULL, DAT_EVD_ASYNC_FLAG);

	for (int i = 0; i < 4; i++) {
		DAT_EVD_HANDLE async = own, reported = DAT_HANDLE_NULL;
		DAT_IA_HANDLE other;

		expect_ok(open_with(qlens[i], &async, &other));
		assert_ptr_equal(async, own);
		expect_ok(dat_ia_query(other, &reported, 0, NULL, 0, NULL));
		assert_ptr_equal(reported, own);
		expect_ok(dat_ia_close(other, DAT_CLOSE_GRACEFUL_FLAG));
	}
	/* IA-85: none of the closes destroyed it. */
	ct_empty(own);
	expect_ok(dat_evd_free(own));
}

static void ia_6_async_exists_opens_without_a_dispatcher(void **state)
{
	DAT_EVD_HANDLE async = DAT_EVD_ASYNC_EXISTS, reported = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	(void)state;
	expect_ok(open_with(-5, &async, &ia));
	assert_ptr_equal(async, DAT_EVD_OUT_OF_SCOPE);
	/* IA-14 */
	expect_ok(dat_ia_query(ia, &reported, 0, NULL, 0, NULL));
	assert_ptr_equal(reported, DAT_EVD_OUT_OF_SCOPE);
	expect_ok(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

static void refused_evd(DAT_EVD_HANDLE evd)
{
	DAT_EVD_HANDLE async = evd;
	DAT_IA_HANDLE ia;

	expect_handle(open_with(8, &async, &ia), EVD_ASYNC);
	assert_ptr_equal(async, evd);
	assert_null(ia);
}

static void ia_3_out_of_scope_and_other_handles_are_refused(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG);
	int local = 0;

	refused_evd(DAT_EVD_OUT_OF_SCOPE);
	refused_evd(evd);
	refused_evd(ct_cno(ia->ia));
	refused_evd(ct_pz(ia->ia));
	refused_evd((DAT_EVD_HANDLE)&local);
	refused_evd((DAT_EVD_HANDLE)(uintptr_t)3);
	refused_evd((char *)ia->async + 1);
	expect_ok(dat_evd_free(evd));
	refused_evd(evd);
}

static void ia_10_a_borrowed_dispatcher_is_in_use(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE async = ia->async;
	DAT_IA_HANDLE other;

	expect_ok(open_with(8, &async, &other));
	expect_state(dat_evd_free(ia->async), EVD_IN_USE);
	expect_state(dat_ia_close(ia->ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
	expect_ok(dat_ia_close(other, DAT_CLOSE_GRACEFUL_FLAG));
	expect_ok(dat_ia_close(ia->ia, DAT_CLOSE_GRACEFUL_FLAG));
	ia->ia = DAT_HANDLE_NULL;
}

static void ia_10_a_borrower_survives_the_abrupt_close_of_the_owner(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE async = ia->async, reported = DAT_HANDLE_NULL;
	DAT_IA_HANDLE other;

	expect_ok(open_with(8, &async, &other));
	ct_close(ia);
	expect_ok(dat_ia_query(other, &reported, 0, NULL, 0, NULL));
	assert_ptr_equal(reported, DAT_EVD_OUT_OF_SCOPE);
	expect_ok(dat_pz_free(ct_pz(other)));
	expect_ok(dat_ia_close(other, DAT_CLOSE_GRACEFUL_FLAG));
}

static void ia_t1_life_of_a_shared_dispatcher(void **state)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL, reported = DAT_HANDLE_NULL, second;
	DAT_IA_HANDLE ia, other;

	(void)state;
	expect_ok(open_with(8, &async, &ia));
	expect_ok(dat_ia_query(ia, &reported, 0, NULL, 0, NULL));
	assert_ptr_equal(reported, async);
	second = async;
	expect_ok(open_with(8, &second, &other));
	expect_ok(dat_ia_query(other, &reported, 0, NULL, 0, NULL));
	assert_ptr_equal(reported, async);
	expect_ok(dat_ia_close(other, DAT_CLOSE_ABRUPT_FLAG));
	ct_empty(async);
	expect_state(dat_evd_free(async), EVD_IN_USE);
	expect_ok(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

static void ia_open_checks_each_argument(void **state)
{
	char long_name[DAT_NAME_MAX_LENGTH + 8];
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	char *name = harness_ia_name();

	(void)state;
	memset(long_name, 'n', sizeof(long_name));
	expect_arg(openv(NULL, 2, 0, DAT_FALSE), 1);
	expect_arg(openv("", 2, 0, DAT_FALSE), 1);
	expect_arg(openv(long_name, 2, 0, DAT_FALSE), 1);
	expect_arg(open_with(0, &async, &ia), 2);
	assert_null(ia);
	expect_arg(open_with(-1, &async, &ia), 2);
	assert_null(ia);
	expect_arg(dat_ia_open(name, 8, NULL, &ia), 3);
	assert_null(ia);
	expect_arg(dat_ia_open(name, 8, &async, NULL), 4);
	expect_arg(openv(name, 2, 0, 2), 7);
	expect_arg(openv(name, 2, 0, -1), 7);
	assert_null(async);
}

static void ia_open_refuses_an_impossible_queue(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE other;

	if (ia->attr.max_evd_qlen == 0x7fffffff)
		harness_skip("no number is above the limit");
	expect(open_with(ia->attr.max_evd_qlen + 1, &async, &other), DAT_INSUFFICIENT_RESOURCES,
	       DAT_RESOURCE_TEVD);
	assert_null(other);
	assert_null(async);
}

static void gen_17_handles_are_small_numbers_and_reused(void **state)
{
	struct ct_ia *ia = *state;
	uintptr_t highest = 0;

	assert_in_range((uintptr_t)ia->ia, 1, 4096);
	/* Numbers that were released come again: the table does not grow for ever. */
	for (int i = 0; i < 200; i++) {
		struct ct_ia other;

		ct_open(&other);
		if ((uintptr_t)other.ia > highest)
			highest = (uintptr_t)other.ia;
		ct_close(&other);
	}
	assert_in_range(highest, 1, 128);
}

static void gen_17_the_table_grows_on_demand(void **state)
{
	enum {
		MANY = 80
	}; /* more than the 64 of the first table */
	DAT_IA_HANDLE ias[MANY];

	(void)state;
	for (int i = 0; i < MANY; i++) {
		DAT_EVD_HANDLE async = DAT_EVD_ASYNC_EXISTS;

		expect_ok(open_with(1, &async, &ias[i]));
	}
	for (int i = 0; i < MANY; i++) {
		DAT_IA_ATTR attr;

		expect_ok(dat_ia_query(ias[i], NULL, DAT_IA_FIELD_IA_MAX_EPS, &attr, 0, NULL));
		expect_ok(dat_ia_close(ias[i], DAT_CLOSE_GRACEFUL_FLAG));
	}
}

static void gen_18_number_and_pointer_map_to_each_other(void **state)
{
	struct ct_ia *ia = *state;
	DAT_IA_HANDLE pointer = DAT_HANDLE_NULL, number = DAT_HANDLE_NULL, none;

	expect_ok(dats_get_ia_handle(ia->ia, &pointer));
	assert_ptr_not_equal(pointer, ia->ia);
	expect_ok(dats_get_ia_handle(pointer, &number));
	assert_ptr_equal(number, ia->ia);
	expect_handle(dats_get_ia_handle((DAT_IA_HANDLE)(uintptr_t)63, &none), IA);
	expect_handle(dats_get_ia_handle((DAT_IA_HANDLE)(uintptr_t)-1, &none), IA);
	expect_handle(dats_get_ia_handle(DAT_HANDLE_NULL, &none), IA);
}

/* ---- IA-11, GEN-25: any thread may open and close ---- */

enum {
	OPENERS = 4,
	ROUNDS = 25
};

static void *open_and_close(void *arg)
{
	DAT_RETURN *worst = arg;

	for (int i = 0; i < ROUNDS; i++) {
		DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
		DAT_IA_HANDLE ia;
		DAT_RETURN rc = dat_ia_open(harness_ia_name(), 8, &async, &ia);

		if (rc == DAT_SUCCESS)
			rc = dat_ia_close(ia,
					  i & 1 ? DAT_CLOSE_ABRUPT_FLAG : DAT_CLOSE_GRACEFUL_FLAG);
		if (rc != DAT_SUCCESS)
			*worst = rc;
	}
	return NULL;
}

/* IA-11 */
static void gen_25_threads_open_and_close_at_once(void **state)
{
	DAT_RETURN worst[OPENERS] = { DAT_SUCCESS };
	pthread_t threads[OPENERS];

	(void)state;
	for (int i = 0; i < OPENERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, open_and_close, &worst[i]), 0);
	for (int i = 0; i < OPENERS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	for (int i = 0; i < OPENERS; i++)
		expect_ok(worst[i]);
}

/* The same as the first thing a process does, when the library is loaded by several threads at
 * once. */
static int first_opens(void)
{
	DAT_RETURN worst[OPENERS] = { DAT_SUCCESS };
	pthread_t threads[OPENERS];

	for (int i = 0; i < OPENERS; i++)
		pthread_create(&threads[i], NULL, open_and_close, &worst[i]);
	for (int i = 0; i < OPENERS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < OPENERS; i++) {
		if (worst[i] != DAT_SUCCESS)
			return 1;
	}
	return 0;
}

static void gen_25_threads_race_for_the_first_open(void **state)
{
	(void)state;
	harness_spawn_ok("first_opens", NULL);
}

/* ---- Several entries of one name ---------------------------------------- */

#define MINORS 3

/* Which entry it is that minor asks for. */
static DAT_IA_HANDLE open_minor(DAT_UINT32 minor)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_PROVIDER_ATTR prov;
	DAT_IA_HANDLE ia;

	expect_ok(dat_ia_openv(harness_ia_name(), 8, &async, &ia, 2, minor, DAT_FALSE));
	expect_ok(dat_ia_query(ia, NULL, (DAT_IA_ATTR_MASK)0, NULL, DAT_PROVIDER_FIELD_ALL, &prov));
	assert_int_equal(prov.dapl_version_minor, minor);
	return ia;
}

/* Each is opened again while all are open, in every order. */
static int each_entry_again(void)
{
	DAT_IA_HANDLE ia[MINORS], again;
	DAT_PROVIDER_ATTR prov;
	DAT_HANDLE query;

	for (DAT_UINT32 i = 0; i < MINORS; i++)
		ia[i] = open_minor(i);
	for (DAT_UINT32 i = 0; i < 2 * MINORS; i++) {
		again = open_minor((MINORS - i % MINORS) % MINORS);
		expect_ok(dat_ia_close(again, DAT_CLOSE_ABRUPT_FLAG));
	}
	/* IBX-106 */
	expect_ok(dat_ib_open_query(harness_ia_name(), &query, DAT_IA_FIELD_ALL, NULL,
				    DAT_PROVIDER_FIELD_ALL, &prov));
	assert_int_equal(prov.dapl_version_minor, 0);
	expect_ok(dat_ib_close_query(query));
	for (DAT_UINT32 i = 0; i < MINORS; i++)
		expect_ok(dat_ia_close(ia[i], DAT_CLOSE_ABRUPT_FLAG));
	return 0;
}

/* The adapter's line in three versions. */
static void write_versions(FILE *out)
{
	const char *from = getenv("DAT_OVERRIDE");
	FILE *in = fopen(from ? from : "/etc/dat.conf", "re");
	size_t len = strlen(harness_ia_name());
	char line[1024], *version;

	assert_non_null(in);
	while (fgets(line, sizeof(line), in) != NULL) {
		version = strstr(line, " u2.0 ");
		if (strncmp(line, harness_ia_name(), len) != 0 || line[len] != ' ' || !version)
			continue;
		for (int i = 0; i < MINORS; i++) {
			version[4] = (char)('0' + i);
			fputs(line, out);
		}
	}
	fclose(in);
}

/* REG-2: a name may have several entries, and each open is of the one that it asks for. */
static void ia_2_the_version_selects_the_entry(void **state)
{
	char path[] = "/tmp/udapl-ia-XXXXXX", env[64];
	const char *const envs[] = { env, NULL };
	int fd = mkstemp(path);
	FILE *out = fdopen(fd, "w");
	struct harness_result result;

	(void)state;
	assert_non_null(out);
	write_versions(out);
	fclose(out);
	snprintf(env, sizeof(env), "DAT_OVERRIDE=%s", path);
	harness_spawn("each-entry-again", envs, &result);
	unlink(path);
	if (result.status != 0)
		fail_msg("status 0x%x: %s%s", (unsigned int)result.status, result.out, result.err);
}

#define T(f) cmocka_unit_test_setup_teardown(f, ct_setup, ct_teardown)

int main(int argc, char **argv)
{
	static const struct harness_child children[] = {
		{ "first_opens", first_opens },
		{ "each-entry-again", each_entry_again },
		{ NULL, NULL },
	};
	static const struct CMUnitTest tests[] = {
		T(ia_1_instances_of_one_name_are_separate),
		T(ia_2_dat_ia_open_asks_for_2_0_nonthreadsafe),
		T(reg_25_the_subtype_tells_what_did_not_match),
		T(reg_3_names_are_case_sensitive_and_whole),
		T(ia_12_a_prefix_is_part_of_the_name),
		T(reg_28_the_list_shows_the_adapter),
		T(ia_3_null_makes_a_dispatcher),
		T(ia_4_the_dispatcher_made_by_the_open),
		T(ia_5_an_explicit_dispatcher_is_used_and_qlen_ignored),
		T(ia_6_async_exists_opens_without_a_dispatcher),
		T(ia_3_out_of_scope_and_other_handles_are_refused),
		T(ia_10_a_borrowed_dispatcher_is_in_use),
		T(ia_10_a_borrower_survives_the_abrupt_close_of_the_owner),
		T(ia_t1_life_of_a_shared_dispatcher),
		T(ia_open_checks_each_argument),
		T(ia_open_refuses_an_impossible_queue),
		T(gen_17_handles_are_small_numbers_and_reused),
		T(gen_17_the_table_grows_on_demand),
		T(gen_18_number_and_pointer_map_to_each_other),
		T(gen_25_threads_open_and_close_at_once),
		T(gen_25_threads_race_for_the_first_open),
		cmocka_unit_test(ia_2_the_version_selects_the_entry),
	};

	harness_child_main(argc, argv, children);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
