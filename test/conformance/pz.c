/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Protection zones: PZ-1 to PZ-10 of the memory chapter. */
#include "harness.h"

static void pz_1_every_create_makes_a_distinct_zone(void **state)
{
	struct ct_ia *ia = *state;
	DAT_PZ_HANDLE pz[4];

	for (int i = 0; i < 4; i++) {
		pz[i] = ct_pz(ia->ia);
		for (int j = 0; j < i; j++)
			assert_ptr_not_equal(pz[i], pz[j]);
	}
	for (int i = 0; i < 4; i++)
		expect_ok(dat_pz_free(pz[i]));
}

static void pz_2_create_refuses_a_null_pointer(void **state)
{
	struct ct_ia *ia = *state;

	expect_arg(dat_pz_create(ia->ia, NULL), 2);
}

static void pz_4_query_reports_the_programs_adapter_handle(void **state)
{
	struct ct_ia *ia = *state;
	DAT_PZ_PARAM param = { .ia_handle = (DAT_IA_HANDLE)-1 };
	DAT_PZ_HANDLE pz = ct_pz(ia->ia);

	expect_ok(dat_pz_query(pz, DAT_PZ_FIELD_IA_HANDLE, &param));
	assert_ptr_equal(param.ia_handle, ia->ia);
	expect_ok(dat_pz_query(pz, DAT_PZ_FIELD_ALL, &param));
	assert_ptr_equal(param.ia_handle, ia->ia);
	expect_ok(dat_pz_free(pz));
}

static void pz_5_query_checks_mask_and_structure(void **state)
{
	struct ct_ia *ia = *state;
	DAT_PZ_HANDLE pz = ct_pz(ia->ia);
	DAT_PZ_PARAM param;

	for (unsigned int bit = 0x2; bit != 0; bit <<= 1)
		expect_arg(dat_pz_query(pz, (DAT_PZ_PARAM_MASK)bit, &param), 2);
	expect_arg(dat_pz_query(pz, DAT_PZ_FIELD_ALL, NULL), 3);
	/* GEN-13 */
	expect_ok(dat_pz_query(pz, (DAT_PZ_PARAM_MASK)0, NULL));
	expect_ok(dat_pz_query(pz, (DAT_PZ_PARAM_MASK)0, &param));
	expect_ok(dat_pz_free(pz));
}

static void pz_6_a_freed_zone_is_no_handle(void **state)
{
	struct ct_ia *ia = *state;
	DAT_PZ_HANDLE pz = ct_pz(ia->ia);
	DAT_PZ_PARAM param;

	expect_ok(dat_pz_free(pz));
	expect_handle(dat_pz_free(pz), PZ);
	expect_handle(dat_pz_query(pz, DAT_PZ_FIELD_ALL, &param), PZ);
}

static void pz_7_a_region_keeps_its_zone_in_use(void **state)
{
	struct ct_ia *ia = *state;
	DAT_PZ_HANDLE pz = ct_pz(ia->ia);
	struct ct_mem mem;

	ct_mem_open(&mem, ia->ia, pz, 4096, DAT_MEM_PRIV_ALL_FLAG);
	expect_state(dat_pz_free(pz), PZ_IN_USE);
	/* Nothing has changed: the zone still takes regions. */
	expect_state(dat_pz_free(pz), PZ_IN_USE);
	ct_mem_close(&mem);
	expect_ok(dat_pz_free(pz));
}

static void pz_7_an_endpoint_keeps_its_zone_in_use(void **state)
{
	struct ct_ia *ia = *state;
	DAT_PZ_HANDLE pz = ct_pz(ia->ia);
	DAT_EP_HANDLE ep;

	expect_ok(dat_ep_create(ia->ia, pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL, NULL,
				&ep));
	expect_state(dat_pz_free(pz), PZ_IN_USE);
	expect_ok(dat_ep_free(ep));
	expect_ok(dat_pz_free(pz));
}

static void pz_8_an_endpoint_moved_away_gives_its_zone_free(void **state)
{
	struct ct_ia *ia = *state;
	DAT_PZ_HANDLE from = ct_pz(ia->ia), to = ct_pz(ia->ia);
	DAT_EP_PARAM param = { .pz_handle = to };
	DAT_EP_HANDLE ep;

	expect_ok(dat_ep_create(ia->ia, from, DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL,
				NULL, &ep));
	expect_ok(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &param));
	expect_ok(dat_pz_free(from));
	expect_state(dat_pz_free(to), PZ_IN_USE);
	expect_ok(dat_ep_free(ep));
	expect_ok(dat_pz_free(to));
}

static void pz_10_another_instance_refuses_the_zone(void **state)
{
	struct ct_ia *ia = *state;
	DAT_PZ_HANDLE pz = ct_pz(ia->ia);
	DAT_REGION_DESCRIPTION region;
	static char memory[4096];
	struct ct_ia other;
	DAT_LMR_HANDLE lmr;
	DAT_EP_HANDLE ep;

	ct_open(&other);
	region.for_va = memory;
	expect_handle(dat_lmr_create(other.ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(memory), pz,
				     DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr, NULL, NULL, NULL,
				     NULL),
		      PZ);
	expect_handle(dat_ep_create(other.ia, pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL,
				    NULL, &ep),
		      PZ);
	ct_close(&other);
	expect_ok(dat_pz_free(pz));
}

static void pz_11_an_endpoint_may_have_no_zone(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EP_PARAM param;
	DAT_EP_HANDLE ep;

	expect_ok(dat_ep_create(ia->ia, DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL,
				DAT_HANDLE_NULL, NULL, &ep));
	expect_ok(dat_ep_query(ep, DAT_EP_FIELD_PZ_HANDLE, &param));
	assert_null(param.pz_handle);
	param.pz_handle = ct_pz(ia->ia);
	expect_ok(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &param));
	expect_state(dat_pz_free(param.pz_handle), PZ_IN_USE);
	expect_ok(dat_ep_free(ep));
	expect_ok(dat_pz_free(param.pz_handle));
}

static void pz_resources_a_refused_create_beyond_the_limit(void **state)
{
	struct ct_ia *ia = *state;
	DAT_PZ_HANDLE pz[1025];
	DAT_RETURN rc = DAT_SUCCESS;
	int n = 0;

	if (ia->attr.max_pzs > 1024)
		harness_skip("the adapter has %d zones", ia->attr.max_pzs);
	while (n <= ia->attr.max_pzs && (rc = dat_pz_create(ia->ia, &pz[n])) == DAT_SUCCESS)
		n++;
	expect(rc, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_PROTECTION_DOMAIN);
	while (n > 0)
		expect_ok(dat_pz_free(pz[--n]));
}

#define T(f) cmocka_unit_test_setup_teardown(f, ct_setup, ct_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(pz_1_every_create_makes_a_distinct_zone),
		T(pz_2_create_refuses_a_null_pointer),
		T(pz_4_query_reports_the_programs_adapter_handle),
		T(pz_5_query_checks_mask_and_structure),
		T(pz_6_a_freed_zone_is_no_handle),
		T(pz_7_a_region_keeps_its_zone_in_use),
		T(pz_7_an_endpoint_keeps_its_zone_in_use),
		T(pz_8_an_endpoint_moved_away_gives_its_zone_free),
		T(pz_10_another_instance_refuses_the_zone),
		T(pz_11_an_endpoint_may_have_no_zone),
		T(pz_resources_a_refused_create_beyond_the_limit),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
