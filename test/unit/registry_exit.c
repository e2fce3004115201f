/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* After finalisation (REG-6). Linked with libdat2's objects, since a program cannot call that. */
#include "test/unit/dat_util.h"

#include "dat/registry.h"

static void reg_6_invalid_state(void **state)
{
	const DAT_RETURN expected = RC(DAT_INVALID_STATE, 0);
	DAT_PROVIDER_INFO info, *list[1] = { &info };
	DAT_HA_RELATIONSHIP relationship;
	DAT_IA_HANDLE ia, kept;
	struct fake early, late;
	DAT_COUNT num = -1;

	(void)state;
	fake_init(&early, "early", 2, 0, DAT_FALSE);
	fake_init(&late, "late", 2, 0, DAT_FALSE);
	assert_int_equal(dat_registry_add_provider(&early.table, &early.info), DAT_SUCCESS);
	assert_int_equal(util_open("early", 2, 0, DAT_FALSE, &kept), DAT_SUCCESS);
	dat_registry_finalise();
	assert_int_equal(dat_registry_add_provider(&late.table, &late.info), expected);
	assert_int_equal(dat_registry_remove_provider(&early.table, &early.info), expected);
	assert_int_equal(dat_registry_list_providers(1, &num, list), expected);
	assert_int_equal(num, 1);
	assert_int_equal(util_open("early", 2, 0, DAT_FALSE, &ia), expected);
	assert_null(ia);
	assert_int_equal(dat_registry_providers_related((DAT_NAME_PTR) "early",
							(DAT_NAME_PTR) "early", &relationship),
			 expected);
	/* What is open can still be closed by whoever runs late. */
	assert_int_equal(dat_ia_close(kept, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reg_6_invalid_state),
	};

	util_conf("listed u2.0 nonthreadsafe default l p.1.0 x y\n");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, util_cleanup);
}
