/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The numbers that programs hold for open IAs. */
#include "test/unit/dat_util.h"

#define MANY 300

static struct fake provider;

static DAT_IA_HANDLE open_ia(void)
{
	DAT_IA_HANDLE ia;

	assert_int_equal(util_open("local", 2, 0, DAT_FALSE, &ia), DAT_SUCCESS);
	return ia;
}

static void close_ia(DAT_IA_HANDLE ia)
{
	assert_int_equal(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}

static void gen_17_small_integers(void **state)
{
	static DAT_IA_HANDLE ias[MANY];
	DAT_IA_HANDLE again;
	size_t i, j;

	(void)state;
	for (i = 0; i < MANY; i++) {
		ias[i] = open_ia();
		assert_in_range((uintptr_t)ias[i], 1, MANY);
		for (j = 0; j < i; j++)
			assert_ptr_not_equal(ias[i], ias[j]);
	}
	/* A released number comes back. */
	close_ia(ias[70]);
	again = open_ia();
	assert_ptr_equal(again, ias[70]);
	for (i = 0; i < MANY; i++)
		close_ia(ias[i]);
}

static void gen_18_both_ways(void **state)
{
	DAT_IA_HANDLE a = open_ia(), a_ptr = fake.last_ia, b = open_ia(), b_ptr = fake.last_ia, out;

	(void)state;
	assert_int_equal(dats_get_ia_handle(a, &out), DAT_SUCCESS);
	assert_ptr_equal(out, a_ptr);
	assert_int_equal(dats_get_ia_handle(b_ptr, &out), DAT_SUCCESS);
	assert_ptr_equal(out, b);
	assert_int_equal(dats_get_ia_handle(a_ptr, &out), DAT_SUCCESS);
	assert_ptr_equal(out, a);
	close_ia(a);
	assert_int_equal(dats_get_ia_handle(a, &out),
			 RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA));
	assert_int_equal(dats_get_ia_handle(a_ptr, &out),
			 RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA));
	assert_int_equal(dats_get_ia_handle(b_ptr, &out), DAT_SUCCESS);
	close_ia(b);
	assert_int_equal(dats_get_ia_handle(NULL, &out),
			 RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA));
	assert_int_equal(dats_get_ia_handle((DAT_IA_HANDLE)&out, &out),
			 RC(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA));
	assert_int_equal(dats_get_ia_handle(b, NULL), RC(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gen_17_small_integers),
		cmocka_unit_test(gen_18_both_ways),
	};

	fake_init(&provider, "local", 2, 0, DAT_FALSE);
	if (dat_registry_add_provider(&provider.table, &provider.info) != DAT_SUCCESS)
		return 99;
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
