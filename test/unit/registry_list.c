/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dat_registry_list_providers. */
#include "test/unit/dat_util.h"

#include <stdlib.h>
#include <string.h>

static DAT_PROVIDER_INFO infos[4];
static DAT_PROVIDER_INFO *list[4] = { &infos[0], &infos[1], &infos[2], &infos[3] };

static void setup_list(void)
{
	memset(infos, 0x55, sizeof(infos));
}

static void reg_29_file_order(void **state)
{
	struct fake dynamic;
	DAT_COUNT num = -1;

	(void)state;
	fake_init(&dynamic, "dynamic", 2, 0, DAT_FALSE);
	assert_int_equal(dat_registry_add_provider(&dynamic.table, &dynamic.info), DAT_SUCCESS);
	setup_list();
	assert_int_equal(dat_registry_list_providers(4, &num, list), DAT_SUCCESS);
	assert_int_equal(num, 3);
	assert_string_equal(infos[0].ia_name, "zebra");
	assert_int_equal(infos[0].dapl_version_major, 2);
	assert_int_equal(infos[0].dapl_version_minor, 7);
	assert_int_equal(infos[0].is_thread_safe, DAT_TRUE);
	assert_string_equal(infos[1].ia_name, "ape");
	assert_string_equal(infos[2].ia_name, "zebra");
	assert_int_equal(infos[2].is_thread_safe, DAT_FALSE);
	assert_int_equal(infos[3].ia_name[0], 0x55); /* REG-30 */
	assert_int_equal(dat_registry_remove_provider(&dynamic.table, &dynamic.info), DAT_SUCCESS);
}

static void reg_31_null_arguments(void **state)
{
	DAT_PROVIDER_INFO *holes[4] = { &infos[0], &infos[1], NULL, NULL };
	DAT_COUNT num = -1;

	(void)state;
	assert_int_equal(dat_registry_list_providers(4, NULL, list),
			 RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
	assert_int_equal(dat_registry_list_providers(4, &num, NULL),
			 RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3));
	assert_int_equal(num, 3); /* REG-34 */
	num = -1;
	setup_list();
	assert_int_equal(dat_registry_list_providers(4, &num, holes),
			 RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3));
	assert_int_equal(num, 3);
	assert_int_equal(infos[0].ia_name[0], 0x55); /* GEN-8 */
	/* A hole that is not needed does not matter. */
	assert_int_equal(dat_registry_list_providers(2, &num, holes), DAT_SUCCESS);
	holes[2] = &infos[2];
	assert_int_equal(dat_registry_list_providers(4, &num, holes), DAT_SUCCESS);
	assert_int_equal(num, 3);
}

static void reg_32_size_query(void **state)
{
	DAT_COUNT num = -1;

	(void)state;
	assert_int_equal(dat_registry_list_providers(0, &num, NULL),
			 RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
	assert_int_equal(num, 3);
	num = -1;
	assert_int_equal(dat_registry_list_providers(-1, &num, list),
			 RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
	assert_int_equal(num, 3);
}

static void reg_33_short_list(void **state)
{
	DAT_COUNT num = -1;

	(void)state;
	setup_list();
	assert_int_equal(dat_registry_list_providers(1, &num, list), DAT_SUCCESS);
	assert_int_equal(num, 1);
	assert_string_equal(infos[0].ia_name, "zebra");
	assert_int_equal(infos[1].ia_name[0], 0x55);
}

static int list_of_nothing(void *arg)
{
	DAT_COUNT num = -1;

	(void)arg;
	EXPECT_RC(dat_registry_list_providers(4, &num, list), DAT_SUCCESS);
	EXPECT(num == 0);
	num = -1;
	EXPECT_RC(dat_registry_list_providers(0, &num, NULL),
		  RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
	EXPECT(num == 0);
	return 0;
}

/* What is listed may be gone, or never have been there. */
static void reg_35_a_listed_entry_may_fail_to_open(void **state)
{
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
	DAT_COUNT num = -1;

	(void)state;
	setup_list();
	assert_int_equal(dat_registry_list_providers(4, &num, list), DAT_SUCCESS);
	assert_string_equal(infos[1].ia_name, "ape");
	assert_int_equal(util_open("ape", 2, 0, DAT_FALSE, &ia),
			 RC(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED));
	assert_int_equal(dat_registry_list_providers(0, &num, NULL),
			 RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
	assert_int_equal(num, 3);
}

static void reg_36_empty_registry(void **state)
{
	struct outcome o;

	(void)state;
	setenv("DAT_OVERRIDE", "/nonexistent/dat.conf", 1);
	util_child(list_of_nothing, NULL, &o);
	util_conf("");
	util_child(list_of_nothing, NULL, &o);
	assert_string_equal(o.err, "");
	util_conf("zebra u2.7 threadsafe default l p.1.0 x y\n"
		  "ape u2.0 nonthreadsafe default l p.1.0 x y\n"
		  "cow u2.0 nonthreadsafe nondefault l p.1.0 x y\n"
		  "zebra u2.7 threadsafe default m p.1.0 x y\n"
		  "zebra u2.7 nonthreadsafe default l p.1.0 x y\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reg_36_empty_registry), /* before this process reads its own file
							  */
		cmocka_unit_test(reg_35_a_listed_entry_may_fail_to_open),
		cmocka_unit_test(reg_29_file_order),
		cmocka_unit_test(reg_31_null_arguments),
		cmocka_unit_test(reg_32_size_query),
		cmocka_unit_test(reg_33_short_list),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, util_cleanup);
}
