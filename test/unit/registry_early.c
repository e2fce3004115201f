/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A provider that registers before libdat2 was initialised. Linked with libdat2's objects, so that
 * a constructor of the program can come first. */
#include "test/unit/dat_util.h"

#include <stdlib.h>

static struct fake early;
static DAT_RETURN added = DAT_INTERNAL_ERROR;

__attribute__((constructor(101))) static void before_everything(void)
{
	fake_init(&early, "early", 2, 0, DAT_FALSE);
	added = dat_registry_add_provider(&early.table, &early.info);
}

static void reg_4_an_early_registration_is_not_lost(void **state)
{
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;

	(void)state;
	assert_int_equal(added, DAT_SUCCESS);
	assert_int_equal(dat_registry_add_provider(&early.table, &early.info),
			 RC(DAT_PROVIDER_ALREADY_REGISTERED, 0));
	assert_int_equal(util_open("early", 2, 0, DAT_FALSE, &ia), DAT_SUCCESS);
	assert_int_equal(fake.opens, 1);
	assert_int_equal(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	assert_int_equal(dat_registry_remove_provider(&early.table, &early.info), DAT_SUCCESS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reg_4_an_early_registration_is_not_lost),
	};

	util_conf("");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, util_cleanup);
}
