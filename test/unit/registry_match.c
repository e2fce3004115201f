/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which entry an open gets, what it is told if there is none, and what may be added and removed. */
#include "test/unit/dat_util.h"

#include <stdlib.h>
#include <string.h>

static void add(struct fake *provider, const char *name, DAT_UINT32 major, DAT_UINT32 minor,
		DAT_BOOLEAN thread_safety)
{
	fake_init(provider, name, major, minor, thread_safety);
	assert_int_equal(dat_registry_add_provider(&provider->table, &provider->info), DAT_SUCCESS);
}

static void withdraw(struct fake *provider)
{
	assert_int_equal(dat_registry_remove_provider(&provider->table, &provider->info),
			 DAT_SUCCESS);
}

static void not_found(const char *name, DAT_UINT32 major, DAT_UINT32 minor,
		      DAT_BOOLEAN thread_safety, DAT_RETURN subtype)
{
	DAT_IA_HANDLE ia = (DAT_IA_HANDLE)&ia;

	assert_int_equal(util_open(name, major, minor, thread_safety, &ia),
			 RC(DAT_PROVIDER_NOT_FOUND, subtype));
	assert_null(ia);
}

/* The open goes through this provider and no other. */
static void opens(struct fake *provider, DAT_UINT32 major, DAT_UINT32 minor,
		  DAT_BOOLEAN thread_safety)
{
	DAT_IA_HANDLE ia;

	assert_int_equal(util_open(provider->info.ia_name, major, minor, thread_safety, &ia),
			 DAT_SUCCESS);
	assert_int_equal(dat_registry_remove_provider(&provider->table, &provider->info),
			 RC(DAT_PROVIDER_IN_USE, 0));
	assert_int_equal(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
}

/* REG-24 */
static void reg_t2(void **state)
{
	struct fake x;

	(void)state;
	add(&x, "x", 2, 3, DAT_FALSE);
	opens(&x, 2, 0, DAT_FALSE);
	not_found("y", 2, 0, DAT_FALSE, DAT_NAME_NOT_REGISTERED);
	not_found("x", 1, 0, DAT_FALSE, DAT_MAJOR_NOT_FOUND);
	not_found("x", 2, 4, DAT_FALSE, DAT_MINOR_NOT_FOUND);
	not_found("x", 2, 0, DAT_TRUE, DAT_THREAD_SAFETY_NOT_FOUND);
	withdraw(&x);
	not_found("x", 2, 0, DAT_FALSE, DAT_NAME_NOT_REGISTERED);
}

static void reg_23_smallest_minor(void **state)
{
	struct fake nine, five, two, safe;

	(void)state;
	add(&nine, "x", 2, 9, DAT_FALSE);
	add(&five, "x", 2, 5, DAT_FALSE);
	add(&two, "x", 2, 2, DAT_FALSE);
	add(&safe, "x", 2, 3, DAT_TRUE);
	opens(&two, 2, 0, DAT_FALSE);
	opens(&two, 2, 2, DAT_FALSE);
	opens(&five, 2, 3, DAT_FALSE);
	opens(&five, 2, 5, DAT_FALSE);
	opens(&nine, 2, 6, DAT_FALSE);
	opens(&safe, 2, 1, DAT_TRUE);
	not_found("x", 2, 10, DAT_FALSE, DAT_MINOR_NOT_FOUND);
	not_found("x", 2, 4, DAT_TRUE, DAT_THREAD_SAFETY_NOT_FOUND);
	withdraw(&nine);
	withdraw(&five);
	withdraw(&two);
	withdraw(&safe);
}

static void reg_25_furthest_criterion(void **state)
{
	struct fake one, two;

	(void)state;
	add(&one, "x", 1, 9, DAT_FALSE);
	add(&two, "x", 2, 0, DAT_TRUE);
	not_found("x", 3, 0, DAT_FALSE, DAT_MAJOR_NOT_FOUND);
	not_found("x", 2, 0, DAT_FALSE, DAT_THREAD_SAFETY_NOT_FOUND);
	not_found("x", 2, 1, DAT_TRUE, DAT_MINOR_NOT_FOUND);
	not_found("X", 2, 0, DAT_TRUE, DAT_NAME_NOT_REGISTERED);
	/* The static registry counts too. */
	not_found("static", 1, 0, DAT_FALSE, DAT_MAJOR_NOT_FOUND);
	not_found("static", 2, 2, DAT_FALSE, DAT_MINOR_NOT_FOUND);
	not_found("static", 2, 0, DAT_TRUE, DAT_THREAD_SAFETY_NOT_FOUND);
	withdraw(&one);
	withdraw(&two);
}

/* REG-1 */
static void reg_27_dynamic_first(void **state)
{
	struct fake same, larger;

	(void)state;
	/* The file's library does not exist, so an open that succeeds did not go there. */
	not_found("static", 2, 1, DAT_FALSE, DAT_NAME_NOT_REGISTERED);
	add(&same, "static", 2, 1, DAT_FALSE);
	opens(&same, 2, 1, DAT_FALSE);
	withdraw(&same);
	add(&larger, "static", 2, 7, DAT_FALSE);
	opens(&larger, 2, 1, DAT_FALSE);
	withdraw(&larger);
}

/* REG-2 */
static void reg_39_add(void **state)
{
	struct fake x, y, z;
	DAT_PROVIDER_INFO info;

	(void)state;
	fake_init(&x, "x", 2, 0, DAT_FALSE);
	assert_int_equal(dat_registry_add_provider(NULL, &x.info),
			 RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
	assert_int_equal(dat_registry_add_provider(&x.table, NULL),
			 RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	info = util_info("", 2, 0, DAT_FALSE);
	assert_int_equal(dat_registry_add_provider(&x.table, &info),
			 RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	memset(info.ia_name, 'x', sizeof(info.ia_name));
	assert_int_equal(dat_registry_add_provider(&x.table, &info),
			 RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	info.ia_name[255] = '\0';
	assert_int_equal(dat_registry_add_provider(&x.table, &info), DAT_SUCCESS);
	assert_int_equal(dat_registry_remove_provider(&x.table, &info), DAT_SUCCESS);
	add(&x, "x", 2, 0, DAT_FALSE);
	fake_init(&y, "x", 2, 0, DAT_FALSE);
	assert_int_equal(dat_registry_add_provider(&x.table, &x.info),
			 RC(DAT_PROVIDER_ALREADY_REGISTERED, 0));
	assert_int_equal(dat_registry_add_provider(&y.table, &y.info),
			 RC(DAT_PROVIDER_ALREADY_REGISTERED, 0));
	/* Any other key is another entry, also with the same table (REG-37, REG-40). */
	add(&y, "x", 2, 0, DAT_TRUE);
	add(&z, "x", 2, 1, DAT_FALSE);
	withdraw(&y);
	withdraw(&z);
	info = util_info("second", 2, 0, DAT_FALSE);
	assert_int_equal(dat_registry_add_provider(&x.table, &info), DAT_SUCCESS);
	assert_int_equal(dat_registry_remove_provider(&x.table, &info), DAT_SUCCESS);
	withdraw(&x);
}

static void reg_38_info_is_copied(void **state)
{
	struct fake x;
	DAT_PROVIDER_INFO info;

	(void)state;
	fake_init(&x, "x", 2, 0, DAT_FALSE);
	info = x.info;
	assert_int_equal(dat_registry_add_provider(&x.table, &info), DAT_SUCCESS);
	memset(&info, 0, sizeof(info));
	opens(&x, 2, 0, DAT_FALSE);
	withdraw(&x);
}

/* REG-41 */
static void reg_42_remove(void **state)
{
	struct fake x, y;
	DAT_IA_HANDLE ia;

	(void)state;
	add(&x, "x", 2, 0, DAT_FALSE);
	fake_init(&y, "x", 2, 0, DAT_FALSE);
	assert_int_equal(dat_registry_remove_provider(NULL, &x.info),
			 RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
	assert_int_equal(dat_registry_remove_provider(&x.table, NULL),
			 RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	assert_int_equal(dat_registry_remove_provider(&y.table, &y.info),
			 RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	y.info.dapl_version_minor = 1;
	assert_int_equal(dat_registry_remove_provider(&x.table, &y.info),
			 RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	assert_int_equal(util_open("x", 2, 0, DAT_FALSE, &ia), DAT_SUCCESS);
	assert_int_equal(dat_registry_remove_provider(&x.table, &x.info),
			 RC(DAT_PROVIDER_IN_USE, 0));
	assert_int_equal(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	withdraw(&x);
	assert_int_equal(dat_registry_remove_provider(&x.table, &x.info),
			 RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reg_t2),
		cmocka_unit_test(reg_23_smallest_minor),
		cmocka_unit_test(reg_25_furthest_criterion),
		cmocka_unit_test(reg_27_dynamic_first),
		cmocka_unit_test(reg_39_add),
		cmocka_unit_test(reg_38_info_is_copied),
		cmocka_unit_test(reg_42_remove),
	};

	util_conf("static u2.1 nonthreadsafe default /nonexistent/lib.so p.1.0 x y\n");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, util_cleanup);
}
