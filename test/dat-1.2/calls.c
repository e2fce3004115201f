/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What calls of DAT 1.2 do where they are not those of 2.0, on a real adapter. */
#include "test/dat-1.2/native.h"

#include <dat-1.2/dat/dat_registry.h>
#include <limits.h>
#include <stdlib.h>

static void d12_25_26_handles(void **state)
{
	struct ct_ia *ia = *state;
	DAT_CONTEXT context = { .as_64 = 77 }, got = { .as_64 = 0 };
	DAT_PZ_HANDLE pz = ct_pz(ia->ia);
	DAT_HANDLE_TYPE type = DAT_HANDLE_TYPE_SRQ;
	DAT_PZ_PARAM param;

	expect_ok(dat_pz_query(pz, DAT_PZ_FIELD_ALL, &param));
	assert_ptr_equal(param.ia_handle, ia->ia);
	expect_ok(dat_set_consumer_context(ia->ia, context));
	expect_ok(dat_get_consumer_context(ia->ia, &got));
	assert_true(got.as_64 == 77);
	expect_ok(dat_get_handle_type(ia->ia, &type));
	assert_int_equal(type, DAT_HANDLE_TYPE_IA);
}

/* D12-T5 */
static void d12_35_to_37_texts(void **state)
{
	const char *major, *minor;

	(void)state;
	for (uint32_t bare = 0; bare <= 101; bare++) {
		expect_exact(dat_strerror(bare, &major, &minor), DAT_SUCCESS);
		assert_string_equal(major, "DAT_SUCCESS");
		assert_true(bare == 0 ? minor[0] == '\0' : strncmp(minor, "DAT_", 4) == 0);
	}
	for (uint32_t type = 0; type <= DAT_CONN_QUAL_UNAVAILABLE; type += 0x10000)
		expect_exact(
			dat_strerror(DAT_CLASS_ERROR | type | DAT_INVALID_ARG3, &major, &minor),
			DAT_SUCCESS);
	assert_string_equal(minor, "DAT_INVALID_ARG3");
	expect_exact(dat_strerror(0xffff0000, &major, &minor), DAT_SUCCESS);
	assert_string_equal(major, "DAT_NOT_IMPLEMENTED");
	expect_exact(dat_strerror(0xbfff0000, &major, NULL), DAT_SUCCESS);
	assert_string_equal(major, "DAT_NOT_IMPLEMENTED");
	major = minor = NULL;
	expect_arg(dat_strerror(0x3abc0000, &major, &minor), 1);
	assert_non_null(major);
	assert_non_null(minor);
}

static void d12_17_100_other_versions(void **state)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	char *name = harness_ia_name();

	(void)state;
	for (DAT_UINT32 v = 0; v < 4; v++) {
		if (v != 1)
			expect(dat_ia_openv(name, 8, &async, &ia, v, 0, DAT_FALSE),
			       DAT_PROVIDER_NOT_FOUND, DAT_MAJOR_NOT_FOUND);
		if (v != 2)
			expect(dat_ia_openv(name, 8, &async, &ia, 1, v, DAT_FALSE),
			       DAT_PROVIDER_NOT_FOUND, DAT_MINOR_NOT_FOUND);
		assert_null(async);
	}
	expect_type(dat_ia_open(name, 8, &async, NULL), DAT_INVALID_PARAMETER); /* D12-112 */
}

static void d12_20_modules_of_1_2_are_refused(void **state)
{
	DAT_PROVIDER_INFO info = { .ia_name = "of-old",
				   .dapl_version_major = 1,
				   .dapl_version_minor = 2 };

	expect_type(dat_registry_add_provider((const DAT_PROVIDER *)state, &info),
		    DAT_MODEL_NOT_SUPPORTED);
	expect_type(dat_registry_remove_provider((const DAT_PROVIDER *)state, &info),
		    DAT_MODEL_NOT_SUPPORTED);
}

static void d12_107_108_the_list(void **state)
{
	DAT_PROVIDER_INFO infos[64], *list[64];
	DAT_COUNT n = -1;

	(void)state;
	for (int i = 0; i < 64; i++)
		list[i] = &infos[i];
	expect_arg(dat_registry_list_providers(0, &n, list), 1);
	expect_ok(dat_registry_list_providers(64, &n, list));
	assert_true(n > 0);
	for (DAT_COUNT i = 0; i < n; i++) {
		assert_int_equal(list[i]->dapl_version_major, 1);
		assert_int_equal(list[i]->dapl_version_minor, 2);
		assert_int_equal(list[i]->is_thread_safe, DAT_FALSE);
		for (DAT_COUNT j = 0; j < i; j++)
			assert_string_not_equal(list[i]->ia_name, list[j]->ia_name);
	}
	expect_ok(dat_registry_list_providers(1, &n, list));
}

/* D12-41: and nothing is posted; D12-71 */
static void d12_41_71_lengths_that_2_0_cannot_say(void **state)
{
	struct ct_ia *ia = *state;
	struct ct_end a = { 0 }, p = { 0 };
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_LMR_TRIPLET iov[2];
	DAT_RMR_TRIPLET to;

	ct_end_open(&a, ia->ia, NULL);
	ct_end_open(&p, ia->ia, NULL);
	ct_end_connect(&a, &p);
	iov[0] = iov[1] = ct_segment(&a.mem, 0, 64);
	to = ct_target(&p.mem, 0, 128);
	for (int i = 0; i < 2; i++) {
		iov[i].segment_length = (UINT64_C(1) << 32) + 64;
		expect_type(dat_ep_post_send(a.ep, i + 1, iov, cookie, DAT_COMPLETION_DEFAULT_FLAG),
			    DAT_LENGTH_ERROR);
		expect_type(dat_ep_post_recv(a.ep, i + 1, iov, cookie, DAT_COMPLETION_DEFAULT_FLAG),
			    DAT_LENGTH_ERROR);
		expect_type(dat_ep_post_rdma_write(a.ep, i + 1, iov, cookie, &to,
						   DAT_COMPLETION_DEFAULT_FLAG),
			    DAT_LENGTH_ERROR);
		iov[i].segment_length = 64;
	}
	to.segment_length = UINT64_C(1) << 32;
	expect_type(dat_ep_post_rdma_read(a.ep, 1, iov, cookie, &to, DAT_COMPLETION_DEFAULT_FLAG),
		    DAT_LENGTH_ERROR);
	ct_empty(a.request);
	expect_arg(dat_lmr_sync_rdma_read(ia->ia, iov, (DAT_VLEN)INT_MAX + 1), 3);
	expect_arg(dat_lmr_sync_rdma_write(ia->ia, iov, UINT64_MAX), 3);
	expect_ok(dat_lmr_sync_rdma_read(ia->ia, iov, 2));
	ct_end_close(&a);
	ct_end_close(&p);
}

/* A window on memory that the triplet's context names (D12-68, D12-91). */
static void bind_to(struct ct_end *a, DAT_RMR_HANDLE rmr, DAT_LMR_TRIPLET what,
		    DAT_RMR_CONTEXT *context)
{
	DAT_RMR_COOKIE cookie = { .as_64 = 9 };
	DAT_EVENT event;

	expect_ok(dat_rmr_bind(rmr, &what,
			       what.segment_length == 0 ? DAT_MEM_PRIV_NONE_FLAG
							: DAT_MEM_PRIV_ALL_FLAG,
			       a->ep, cookie, DAT_COMPLETION_DEFAULT_FLAG, context));
	ct_next(a->request, DAT_RMR_BIND_COMPLETION_EVENT, &event);
	assert_int_equal(event.event_data.rmr_completion_event_data.status, DAT_DTO_SUCCESS);
	assert_ptr_equal(event.event_data.rmr_completion_event_data.rmr_handle, rmr);
}

static void d12_67_68_91_to_94_binds_name_contexts(void **state)
{
	struct ct_ia *ia = *state;
	struct ct_end a = { 0 }, p = { 0 };
	DAT_RMR_COOKIE cookie = { .as_64 = 1 };
	DAT_LMR_TRIPLET what, none = { .segment_length = 0 };
	DAT_RMR_CONTEXT context = 0;
	DAT_RMR_HANDLE rmr;
	DAT_RMR_PARAM param;
	struct ct_mem other;

	if (ia->attr.max_rmrs == 0)
		harness_skip("the adapter has no windows");
	a.request = ct_evd(ia->ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	ct_end_open(&a, ia->ia, NULL);
	ct_end_open(&p, ia->ia, NULL);
	ct_end_connect(&a, &p);
	expect_ok(dat_rmr_create(a.pz, &rmr));
	ct_mem_open(&other, ia->ia, a.pz, 4096, DAT_MEM_PRIV_ALL_FLAG);
	what = ct_segment(&other, 64, 128);
	bind_to(&a, rmr, what, &context);
	assert_int_not_equal(context, 0);
	expect_ok(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	assert_int_equal(param.lmr_triplet.lmr_context, what.lmr_context);
	assert_true(param.lmr_triplet.virtual_address == what.virtual_address);
	assert_true(param.lmr_triplet.segment_length == 128);
	assert_int_equal(param.rmr_context, context);
	bind_to(&a, rmr, none, &context);
	ct_mem_close(&other);
	/* The context went with its region. */
	expect_arg(dat_rmr_bind(rmr, &what, DAT_MEM_PRIV_ALL_FLAG, a.ep, cookie,
				DAT_COMPLETION_DEFAULT_FLAG, &context),
		   2);
	expect_arg(dat_rmr_bind(rmr, NULL, DAT_MEM_PRIV_ALL_FLAG, a.ep, cookie,
				DAT_COMPLETION_DEFAULT_FLAG, &context),
		   2);
	expect_ok(dat_rmr_free(rmr));
	ct_end_close(&a);
	ct_end_close(&p);
}

static void d12_66_78_reject_and_dequeue(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG);
	struct ct_end a = { 0 };
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;

	ct_end_open(&a, ia->ia, NULL);
	expect_ok(dat_psp_create_any(ia->ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	expect_exact(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY);
	expect_ok(dat_ep_connect(a.ep, ia->attr.ia_address_ptr, qual, CT_US, 0, NULL,
				 DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	ct_next(evd, DAT_CONNECTION_REQUEST_EVENT, &event);
	expect_ok(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle));
	ct_next(a.connect, DAT_CONNECTION_EVENT_PEER_REJECTED, &event);
	expect_ok(dat_psp_free(psp));
	expect_ok(dat_evd_free(evd));
	ct_end_close(&a);
}

/* D12-61 */
static void d12_126_calls_that_were_not_implemented(void **state)
{
	struct ct_ia *ia = *state;
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 4, .max_recv_iov = 1 };
	DAT_PZ_HANDLE pz = ct_pz(ia->ia);
	DAT_SRQ_PARAM param;
	DAT_SRQ_HANDLE srq;

	if (!ia->prov.srq_supported)
		harness_skip("the adapter has no shared receive queues");
	expect_ok(dat_srq_create(ia->ia, pz, &attr, &srq));
	expect_ok(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param));
	assert_int_equal(param.srq_state, DAT_SRQ_STATE_OPERATIONAL);
	/* D12-59: a state that was not asked for is none of DAT 2.0's. */
	expect_ok(dat_srq_query(srq, DAT_SRQ_FIELD_PZ_HANDLE, &param));
	assert_int_equal(param.srq_state, DAT_SRQ_STATE_OPERATIONAL);
	expect_ok(dat_srq_free(srq));
	expect_ok(dat_pz_free(pz));
}

#define T(f) cmocka_unit_test_setup_teardown(f, ct_setup, ct_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(d12_25_26_handles),
		cmocka_unit_test(d12_35_to_37_texts),
		cmocka_unit_test(d12_17_100_other_versions),
		cmocka_unit_test(d12_20_modules_of_1_2_are_refused),
		cmocka_unit_test(d12_107_108_the_list),
		T(d12_41_71_lengths_that_2_0_cannot_say),
		T(d12_67_68_91_to_94_binds_name_contexts),
		T(d12_66_78_reject_and_dequeue),
		T(d12_126_calls_that_were_not_implemented),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
