/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What an adapter says it lacks, it refuses with the code the clause gives, and without effect.
 * What it has is proved elsewhere, so each test skips it.
 */
#include "harness.h"

#include <dat2/dat_registry.h>

static const DAT_DTO_COOKIE cookie = { .as_64 = 1 };

/* ---- RMR ---- */

static void rmr_1_no_remote_regions(void **state)
{
	struct ct_ia *ia = *state;
	DAT_PZ_HANDLE pz = ct_pz(ia->ia);
	DAT_RMR_HANDLE rmr;

	if (ia->attr.max_rmrs > 0)
		harness_skip("the adapter has remote memory regions");
	assert_int_equal(ia->attr.max_rmrs, 0);
	expect_type(dat_rmr_create(pz, &rmr), DAT_MODEL_NOT_SUPPORTED);
	expect_type(dat_rmr_create_for_ep(pz, &rmr), DAT_MODEL_NOT_SUPPORTED);
	/* Nothing holds the zone. */
	expect_ok(dat_pz_free(pz));
}

static void rmr_4_a_scope_that_is_not_there(void **state)
{
	struct ct_ia *ia = *state;
	DAT_PZ_HANDLE pz = ct_pz(ia->ia);
	DAT_RMR_HANDLE rmr;

	if (ia->attr.max_rmrs == 0 || ia->prov.rmr_scope_supported == DAT_RMR_SCOPE_ANY)
		harness_skip("the adapter has both scopes or none");
	if (ia->prov.rmr_scope_supported == DAT_RMR_SCOPE_EP)
		expect_type(dat_rmr_create(pz, &rmr), DAT_MODEL_NOT_SUPPORTED);
	else
		expect_type(dat_rmr_create_for_ep(pz, &rmr), DAT_MODEL_NOT_SUPPORTED);
}

static void dto_54_no_read_to_a_remote_region(void **state)
{
	struct ct_ia *ia = *state;
	struct ct_end a = { 0 }, p = { 0 };
	DAT_RMR_TRIPLET to, from;

	if (ia->attr.max_rmrs > 0)
		harness_skip("the adapter has remote memory regions");
	ct_end_open(&a, ia->ia, NULL);
	ct_end_open(&p, ia->ia, NULL);
	ct_end_connect(&a, &p);
	to = ct_target(&a.mem, 0, 64);
	from = ct_target(&p.mem, 0, 64);
	expect_type(
		dat_ep_post_rdma_read_to_rmr(a.ep, &to, cookie, &from, DAT_COMPLETION_DEFAULT_FLAG),
		DAT_MODEL_NOT_SUPPORTED);
	ct_empty(a.request);
	assert_int_equal(ct_ep_state(a.ep), DAT_EP_STATE_CONNECTED);
}

static void dto_62_no_send_with_invalidate(void **state)
{
	struct ct_ia *ia = *state;
	struct ct_end a = { 0 }, p = { 0 };
	DAT_LMR_TRIPLET segment;

	if (ia->attr.max_rmrs > 0)
		harness_skip("the adapter has remote memory regions");
	ct_end_open(&a, ia->ia, NULL);
	ct_end_open(&p, ia->ia, NULL);
	ct_end_connect(&a, &p);
	expect_ok(ct_post_recv(&p, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	segment = ct_segment(&a.mem, 0, 64);
	/* Also when nothing is to be invalidated. */
	for (int flag = DAT_FALSE; flag <= DAT_TRUE; flag++)
		expect_type(dat_ep_post_send_with_invalidate(a.ep, 1, &segment, cookie,
							     DAT_COMPLETION_DEFAULT_FLAG,
							     (DAT_BOOLEAN)flag, p.mem.rmr_context),
			    DAT_MODEL_NOT_SUPPORTED);
	ct_empty(a.request);
	/* The receive waits for the next ordinary send. */
	expect_ok(ct_post_send(&a, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	ct_completion(p.recv, 1, DAT_DTO_SUCCESS);
}

/* ---- SRQ ---- */

static void srq_2_no_shared_receive_queues(void **state)
{
	struct ct_ia *ia = *state;
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 4, .max_recv_iov = 1 };
	DAT_PZ_HANDLE pz = ct_pz(ia->ia);
	DAT_SRQ_HANDLE srq;

	if (ia->prov.srq_supported)
		harness_skip("the adapter has shared receive queues");
	assert_int_equal(ia->attr.max_srqs, 0);
	expect_type(dat_srq_create(ia->ia, pz, &attr, &srq), DAT_MODEL_NOT_SUPPORTED);
	expect_ok(dat_pz_free(pz));
}

static void ep_54_no_endpoint_with_a_shared_queue(void **state)
{
	struct ct_ia *ia = *state;
	struct ct_end end = { 0 };
	DAT_EP_ATTR attr;
	DAT_EP_HANDLE ep;

	if (ia->prov.srq_supported)
		harness_skip("the adapter has shared receive queues");
	ct_default_attr(ia->ia, &attr);
	ct_end_open(&end, ia->ia, NULL);
	/* There is no queue to name. */
	expect_unsupported(dat_ep_create_with_srq(ia->ia, end.pz, end.recv, end.request,
						  end.connect, end.ep, &attr, &ep));
	ct_end_close(&end);
}

static void srq_20_posting_to_no_queue(void **state)
{
	DAT_LMR_TRIPLET segment = { 0 };
	DAT_SRQ_PARAM param;

	(void)state;
	expect_handle(dat_srq_post_recv(DAT_HANDLE_NULL, 1, &segment, cookie), SRQ);
	expect_handle(dat_srq_query(DAT_HANDLE_NULL, DAT_SRQ_FIELD_ALL, &param), SRQ);
	expect_handle(dat_srq_resize(DAT_HANDLE_NULL, 8), SRQ);
	expect_handle(dat_srq_set_lw(DAT_HANDLE_NULL, 1), SRQ);
	expect_handle(dat_srq_free(DAT_HANDLE_NULL), SRQ);
}

static void srq_44_no_watermarks(void **state)
{
	struct ct_ia *ia = *state;
	struct ct_end end = { 0 };

	if ((ia->prov.srq_watermarks_supported & 6) != 0)
		harness_skip("the adapter has watermarks");
	ct_end_open(&end, ia->ia, NULL);
	expect_type(dat_ep_set_watermark(end.ep, 5, DAT_WATERMARK_INFINITE),
		    DAT_MODEL_NOT_SUPPORTED);
	expect_type(dat_ep_set_watermark(end.ep, DAT_WATERMARK_INFINITE, 5),
		    DAT_MODEL_NOT_SUPPORTED);
	expect_type(dat_ep_set_watermark(end.ep, 0, 0), DAT_MODEL_NOT_SUPPORTED);
	/* Disabling what never was is no refusal. */
	expect_ok(dat_ep_set_watermark(end.ep, DAT_WATERMARK_INFINITE, DAT_WATERMARK_INFINITE));
	ct_end_close(&end);
}

static void ep_120_receive_counts_as_announced(void **state)
{
	struct ct_ia *ia = *state;
	DAT_COUNT allocated = -7, span = -7;
	struct ct_end end = { 0 };

	ct_end_open(&end, ia->ia, NULL);
	expect_ok(ct_post_recv(&end, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	if (ia->prov.ep_recv_info_supported == 0) {
		expect_unsupported(dat_ep_recv_query(end.ep, &allocated, &span));
		expect_unsupported(dat_ep_recv_query(end.ep, NULL, NULL));
		return;
	}
	expect_ok(dat_ep_recv_query(end.ep, &allocated, &span));
	assert_int_equal(allocated, ia->prov.ep_recv_info_supported & 1 ? 1 : DAT_VALUE_UNKNOWN);
	assert_int_equal(span, ia->prov.ep_recv_info_supported & 2 ? 1 : DAT_VALUE_UNKNOWN);
	expect_ok(dat_ep_recv_query(end.ep, NULL, NULL));
}

/* ---- Connections ---- */

static DAT_RETURN connect_with(struct ct_ia *ia, struct ct_end *end, DAT_QOS qos, int flags)
{
	return dat_ep_connect(end->ep, ia->attr.ia_address_ptr, 1, CT_US, 0, NULL, qos,
			      (DAT_CONNECT_FLAGS)flags);
}

static void ha_13_no_required_multipath(void **state)
{
	struct ct_ia *ia = *state;
	struct ct_end end = { 0 };

	if (ia->prov.supports_multipath)
		harness_skip("the adapter has multipath connections");
	ct_end_open(&end, ia->ia, NULL);
	expect_type(
		connect_with(ia, &end, DAT_QOS_BEST_EFFORT, DAT_CONNECT_MULTIPATH_REQUIRED_FLAG),
		DAT_MODEL_NOT_SUPPORTED);
	expect_type(connect_with(ia, &end, DAT_QOS_BEST_EFFORT, 3), DAT_MODEL_NOT_SUPPORTED);
	assert_int_equal(ct_ep_state(end.ep), DAT_EP_STATE_UNCONNECTED);
}

static void ha_12_requested_multipath_is_a_preference(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG);
	struct ct_end a = { 0 }, p = { 0 };
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;

	ct_end_open(&a, ia->ia, NULL);
	ct_end_open(&p, ia->ia, NULL);
	expect_ok(dat_psp_create_any(ia->ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	expect_ok(dat_ep_connect(a.ep, ia->attr.ia_address_ptr, qual, CT_US, 0, NULL,
				 DAT_QOS_BEST_EFFORT, DAT_CONNECT_MULTIPATH_REQUESTED_FLAG));
	ct_next(evd, DAT_CONNECTION_REQUEST_EVENT, &event);
	expect_ok(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, p.ep, 0, NULL));
	ct_next(a.connect, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	assert_int_equal(ct_ep_state(a.ep), DAT_EP_STATE_CONNECTED);
}

static void ep_74_no_other_quality_of_service(void **state)
{
	static const DAT_QOS all[] = { DAT_QOS_HIGH_THROUGHPUT, DAT_QOS_LOW_LATENCY,
				       DAT_QOS_ECONOMY, DAT_QOS_PREMIUM };
	struct ct_ia *ia = *state;
	struct ct_end end = { 0 };

	ct_end_open(&end, ia->ia, NULL);
	for (int i = 0; i < 4; i++)
		if ((ia->prov.dat_qos_supported & all[i]) == 0)
			expect_type(connect_with(ia, &end, all[i], 0), DAT_MODEL_NOT_SUPPORTED);
	assert_int_equal(ct_ep_state(end.ep), DAT_EP_STATE_UNCONNECTED);
}

static void psp_6_who_makes_endpoints(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG);
	DAT_EP_CREATOR_FOR_PSP creator = ia->prov.ep_creator;
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;

	if (creator == DAT_PSP_CREATES_EP_ALWAYS)
		expect_type(dat_psp_create_any(ia->ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp),
			    DAT_MODEL_NOT_SUPPORTED);
	else
		expect_ok(dat_psp_create_any(ia->ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	if (creator == DAT_PSP_CREATES_EP_NEVER)
		expect_type(dat_psp_create_any(ia->ia, &qual, evd, DAT_PSP_PROVIDER_FLAG, &psp),
			    DAT_MODEL_NOT_SUPPORTED);
	else
		expect_ok(dat_psp_create_any(ia->ia, &qual, evd, DAT_PSP_PROVIDER_FLAG, &psp));
}

/* ---- Memory ---- */

static DAT_RETURN create_lmr(struct ct_ia *ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION desc,
			     int priv, DAT_VA_TYPE va_type)
{
	DAT_LMR_HANDLE lmr;

	return dat_lmr_create(ia->ia, type, desc, 4096, ct_pz(ia->ia), (DAT_MEM_PRIV_FLAGS)priv,
			      va_type, &lmr, NULL, NULL, NULL, NULL);
}

static void lmr_20_no_zero_based_addresses(void **state)
{
	static char memory[4096];
	struct ct_ia *ia = *state;
	DAT_REGION_DESCRIPTION desc = { .for_va = memory };

	if (ia->attr.zb_supported)
		harness_skip("the adapter has zero-based addresses");
	expect_type(
		create_lmr(ia, DAT_MEM_TYPE_VIRTUAL, desc, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_ZB),
		DAT_MODEL_NOT_SUPPORTED);
}

static void lmr_25_no_remote_atomics(void **state)
{
	static char memory[4096];
	struct ct_ia *ia = *state;
	DAT_REGION_DESCRIPTION desc = { .for_va = memory };

	if (ia->attr.extension_supported == DAT_EXTENSION_IB)
		harness_skip("the adapter has the InfiniBand extension");
	expect_arg(create_lmr(ia, DAT_MEM_TYPE_VIRTUAL, desc, DAT_MEM_PRIV_ALL_FLAG | 0x40,
			      DAT_VA_TYPE_VA),
		   6);
}

/* ---- Extensions, relationships, vendor attributes ---- */

static void gen_30_no_extension(void **state)
{
	struct ct_ia *ia = *state;
	struct ct_end end = { 0 };

	expect(dat_extension_op(DAT_HANDLE_NULL, 1), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (ia->attr.extension_supported != DAT_EXTENSION_NONE)
		harness_skip("the adapter has an extension");
	ct_end_open(&end, ia->ia, NULL);
	for (int op = 0; op < 16; op++) {
		expect_type(dat_extension_op(ia->ia, op), DAT_NOT_IMPLEMENTED);
		expect_type(dat_extension_op(end.ep, op), DAT_NOT_IMPLEMENTED);
	}
}

static void ha_4_an_adapter_is_related_to_itself(void **state)
{
	DAT_HA_RELATIONSHIP relation = (DAT_HA_RELATIONSHIP)-1;

	(void)state;
	expect_ok(dat_registry_providers_related(harness_ia_name(), harness_ia_name(), &relation));
	assert_int_equal(relation, DAT_HA_TRUE);
}

static DAT_RETURN set_named(DAT_EP_HANDLE ep, const char *name, const char *value)
{
	DAT_NAMED_ATTR attr = { .name = name, .value = value };
	DAT_EP_PARAM param;

	memset(&param, 0, sizeof(param));
	param.ep_attr.ep_provider_specific_count = 1;
	param.ep_attr.ep_provider_specific = &attr;
	return dat_ep_modify(ep,
			     DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR |
				     DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR,
			     &param);
}

static bool delayed_ack_supported(const struct ct_ia *ia)
{
	for (DAT_COUNT i = 0; i < ia->attr.num_vendor_attr; i++) {
		if (strcmp(ia->attr.vendor_attr[i].name, "delayed_ack_supported") == 0)
			return strcmp(ia->attr.vendor_attr[i].value, "true") == 0;
	}
	return false;
}

static void vnd_17_named_attributes(void **state)
{
	struct ct_ia *ia = *state;
	struct ct_end end = { 0 };

	ct_end_open(&end, ia->ia, NULL);
	expect_arg(set_named(end.ep, "no_such_attribute", "true"), 3);
	expect_arg(set_named(end.ep, "delayed_ack", "maybe"), 3);
	if (!delayed_ack_supported(ia))
		expect_arg(set_named(end.ep, "delayed_ack", "true"), 3);
	else
		expect_ok(set_named(end.ep, "delayed_ack", "true"));
}

/* What programs avoid on AIX is here either announced and works, or announced as lacking and
 * refused. */
static void vnd_19_what_is_announced_works(void **state)
{
	struct ct_ia *ia = *state;
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 4, .max_recv_iov = 1 };
	DAT_PZ_HANDLE pz = ct_pz(ia->ia);
	DAT_LMR_TRIPLET none = { 0 };
	struct ct_end end = { 0 };
	DAT_RMR_HANDLE rmr;
	DAT_SRQ_HANDLE srq;

	ct_end_open(&end, ia->ia, NULL);
	if (ia->attr.max_srqs > 0)
		expect_ok(dat_srq_create(ia->ia, pz, &attr, &srq));
	else
		expect_unsupported(dat_srq_create(ia->ia, pz, &attr, &srq));
	if (ia->prov.ep_recv_info_supported != 0)
		expect_ok(dat_ep_recv_query(end.ep, NULL, NULL));
	else
		expect_unsupported(dat_ep_recv_query(end.ep, NULL, NULL));
	if ((ia->prov.srq_watermarks_supported & 2) != 0)
		expect_ok(dat_ep_set_watermark(end.ep, 5, DAT_WATERMARK_INFINITE));
	else
		expect_unsupported(dat_ep_set_watermark(end.ep, 5, DAT_WATERMARK_INFINITE));
	if (ia->attr.max_rmrs > 0 && ia->prov.rmr_scope_supported != DAT_RMR_SCOPE_EP)
		expect_ok(dat_rmr_create(pz, &rmr));
	else
		expect_unsupported(dat_rmr_create(pz, &rmr));
	expect_ok(dat_lmr_sync_rdma_read(ia->ia, &none, 0));
	expect_ok(dat_lmr_sync_rdma_write(ia->ia, &none, 0));
}

#define T(f) cmocka_unit_test_setup_teardown(f, ct_setup, ct_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(rmr_1_no_remote_regions),
		T(rmr_4_a_scope_that_is_not_there),
		T(dto_54_no_read_to_a_remote_region),
		T(dto_62_no_send_with_invalidate),
		T(srq_2_no_shared_receive_queues),
		T(ep_54_no_endpoint_with_a_shared_queue),
		T(srq_20_posting_to_no_queue),
		T(srq_44_no_watermarks),
		T(ep_120_receive_counts_as_announced),
		T(ha_13_no_required_multipath),
		T(ha_12_requested_multipath_is_a_preference),
		T(ep_74_no_other_quality_of_service),
		T(psp_6_who_makes_endpoints),
		T(lmr_20_no_zero_based_addresses),
		T(lmr_25_no_remote_atomics),
		T(gen_30_no_extension),
		T(ha_4_an_adapter_is_related_to_itself),
		T(vnd_17_named_attributes),
		T(vnd_19_what_is_announced_works),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
