/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Endpoints: modify, status, receive counts and watermarks (EP-58 to EP-65, EP-102 to EP-128). */
#include "srq_util.h"

/* ---- dat_ep_modify ----------------------------------------------------- */

static void ep_59_never_modifiable(void **state)
{
	static const DAT_EP_PARAM_MASK fixed[] = {
		DAT_EP_FIELD_IA_HANDLE,
		DAT_EP_FIELD_EP_STATE,
		DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR,
		DAT_EP_FIELD_LOCAL_PORT_QUAL,
		DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR,
		DAT_EP_FIELD_REMOTE_PORT_QUAL,
		DAT_EP_FIELD_SRQ_HANDLE,
	};
	struct cu_rig *rig = *state;
	DAT_EP_PARAM param;

	cu_query(rig->a.ep, &param);
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		expect_arg(dat_ep_modify(rig->a.ep, fixed[i], &param), 2);
		expect_arg(dat_ep_modify(rig->a.ep, fixed[i] | DAT_EP_FIELD_PZ_HANDLE, &param), 2);
	}
	expect_arg(dat_ep_modify(rig->a.ep, DAT_EP_FIELD_ALL, &param), 2);
	cu_check_params(rig->a.ep, &param);
}

static void ep_59_comm_in_unconnected(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EP_PARAM param;

	cu_query(rig->a.ep, &param);
	param.comm.protocol = IPPROTO_TCP;
	expect_ok(dat_ep_modify(rig->a.ep, DAT_EP_FIELD_COMM, &param));
	cu_query(rig->a.ep, &param);
	assert_int_equal(param.comm.protocol, IPPROTO_TCP);
}

static void ep_58_all_or_none(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EP_PARAM before, param;

	cu_query(rig->a.ep, &before);
	param = before;
	param.ep_attr.max_recv_dtos = before.ep_attr.max_recv_dtos - 1;
	param.ep_attr.max_rdma_read_out = -1;
	expect_arg(dat_ep_modify(rig->a.ep,
				 DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
					 DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT,
				 &param),
		   3);
	cu_check_params(rig->a.ep, &before);
}

static void ep_60_provider_attributes(void **state)
{
	DAT_NAMED_ATTR unknown = { .name = "udapl_no_such_attribute", .value = "true" };
	const DAT_EP_PARAM_MASK both = DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR |
				       DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR;
	struct cu_rig *rig = *state;
	DAT_EP_PARAM param;
	DAT_COUNT count;
	DAT_RETURN rc;

	cu_query(rig->a.ep, &param);
	count = param.ep_attr.ep_provider_specific_count;
	param.ep_attr.ep_provider_specific_count = 1;
	param.ep_attr.ep_provider_specific = &unknown;
	expect_arg(dat_ep_modify(rig->a.ep, both, &param), 3);
	param.ep_attr.ep_provider_specific = NULL;
	expect_arg(dat_ep_modify(rig->a.ep, both, &param), 3);
	/* One bit alone changes nothing; whether it is an error is open. */
	rc = dat_ep_modify(rig->a.ep, DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR, &param);
	if (rc != DAT_SUCCESS)
		expect_type(rc, DAT_INVALID_PARAMETER);
	cu_query(rig->a.ep, &param);
	assert_int_equal(param.ep_attr.ep_provider_specific_count, count);
}

static bool delays_acks(const DAT_IA_ATTR *attr)
{
	for (DAT_COUNT i = 0; i < attr->num_vendor_attr; i++) {
		if (strcmp(attr->vendor_attr[i].name, "delayed_ack_supported") == 0)
			return strcmp(attr->vendor_attr[i].value, "true") == 0;
	}
	return false;
}

static const char *delayed_ack_of(DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM param;

	cu_query(ep, &param);
	for (DAT_COUNT i = 0; i < param.ep_attr.ep_provider_specific_count; i++) {
		if (strcmp(param.ep_attr.ep_provider_specific[i].name, "delayed_ack") == 0)
			return param.ep_attr.ep_provider_specific[i].value;
	}
	fail_msg("no attribute delayed_ack");
	return NULL;
}

static void vnd_14_15_18_delayed_ack(void **state)
{
	DAT_NAMED_ATTR yes = { .name = "delayed_ack", .value = "true" };
	const DAT_EP_PARAM_MASK both = DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR |
				       DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR;
	struct cu_rig *rig = *state;
	DAT_EP_PARAM param;

	if (!delays_acks(&rig->attr))
		harness_skip("the adapter has no delayed acknowledgements");
	assert_string_equal(delayed_ack_of(rig->p.ep), "false");
	cu_query(rig->p.ep, &param);
	param.ep_attr.ep_provider_specific_count = 1;
	param.ep_attr.ep_provider_specific = &yes;
	expect_ok(dat_ep_modify(rig->p.ep, both, &param));
	assert_string_equal(delayed_ack_of(rig->p.ep), "true");
	cu_establish(rig, &rig->a, &rig->p);
	cu_fill(rig->a.mem.base, 4096, 1);
	expect_ok(cu_recv(&rig->p, 0, 4096, 1));
	expect_ok(ct_post_send(&rig->a, 0, 4096, 2, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->a.request, rig->a.ep, 2, DAT_DTO_SEND, 4096);
	/* Not yet at the sender's completion: DTO-5 promises it nothing. */
	DONE(rig->p.recv, rig->p.ep, 1, DAT_DTO_RECEIVE, 4096);
	FILLED(rig->p.mem.base, 4096, 1);
}

static void ep_61_bad_handles(void **state)
{
	struct cu_rig *rig = *state, *other = cu_rig_open();
	struct ct_end foreign = { 0 };
	DAT_EP_PARAM before, param;

	ct_end_open(&foreign, other->ia, NULL);
	cu_query(rig->a.ep, &before);
	param = before;
	param.pz_handle = foreign.pz;
	expect_arg(dat_ep_modify(rig->a.ep, DAT_EP_FIELD_PZ_HANDLE, &param), 3);
	param.pz_handle = rig->a.recv;
	expect_arg(dat_ep_modify(rig->a.ep, DAT_EP_FIELD_PZ_HANDLE, &param), 3);
	param.recv_evd_handle = rig->a.connect; /* lacks the stream flag */
	expect_arg(dat_ep_modify(rig->a.ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param), 3);
	param.request_evd_handle = foreign.request;
	expect_arg(dat_ep_modify(rig->a.ep, DAT_EP_FIELD_REQUEST_EVD_HANDLE, &param), 3);
	param.connect_evd_handle = rig->a.recv;
	expect_arg(dat_ep_modify(rig->a.ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param), 3);
	cu_check_params(rig->a.ep, &before);
	ct_end_close(&foreign);
	cu_rig_close(other);
}

static void ep_62_handles_can_be_replaced_and_dropped(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a;
	DAT_EVD_HANDLE recv = ct_evd(rig->ia, 16, NULL, DAT_EVD_DTO_FLAG);
	DAT_EP_PARAM param, now;
	DAT_PZ_HANDLE pz;

	expect_ok(dat_pz_create(rig->ia, &pz));
	cu_query(a->ep, &param);
	param.pz_handle = pz;
	param.recv_evd_handle = recv;
	expect_ok(dat_ep_modify(a->ep, DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE,
				&param));
	cu_query(a->ep, &now);
	assert_ptr_equal(now.pz_handle, pz);
	assert_ptr_equal(now.recv_evd_handle, recv);
	expect_ok(dat_evd_free(a->recv));
	expect_ok(dat_lmr_free(a->mem.lmr));
	expect_ok(dat_pz_free(a->pz));
	expect_state(dat_evd_free(recv), EVD_IN_USE);
	expect_state(dat_pz_free(pz), PZ_IN_USE);
	param.pz_handle = param.recv_evd_handle = param.connect_evd_handle = NULL;
	param.ep_attr.max_recv_dtos = 0;
	expect_ok(dat_ep_modify(a->ep,
				DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
					DAT_EP_FIELD_CONNECT_EVD_HANDLE |
					DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS,
				&param));
	expect_ok(dat_evd_free(recv));
	expect_ok(dat_evd_free(a->connect));
	expect_ok(dat_pz_free(pz));
}

static void ep_61_counts_and_evds_stay_together(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EP_PARAM before, param;
	DAT_RETURN rc;

	cu_query(rig->a.ep, &before);
	param = before;
	param.ep_attr.max_request_dtos = 0;
	expect_arg(dat_ep_modify(rig->a.ep, DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &param), 3);
	cu_check_params(rig->a.ep, &before);
	param = before;
	param.recv_evd_handle = NULL;
	expect_arg(dat_ep_modify(rig->a.ep,
				 DAT_EP_FIELD_RECV_EVD_HANDLE | DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS,
				 &param),
		   3);
	cu_check_params(rig->a.ep, &before);
	/* The EVD alone: the count follows it (EP-28, EP-62), or the combination is refused. */
	rc = dat_ep_modify(rig->a.ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param);
	if (rc != DAT_SUCCESS) {
		expect_arg(rc, 3);
		cu_check_params(rig->a.ep, &before);
		return;
	}
	cu_query(rig->a.ep, &param);
	assert_null(param.recv_evd_handle);
	assert_int_equal(param.ep_attr.max_recv_dtos, 0);
}

static void ep_63_receives_stay_posted_across_modify(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;
	DAT_EP_PARAM param;

	for (unsigned int i = 0; i < 3; i++)
		expect_ok(cu_recv(p, i * 64, 64, 100 + i));
	cu_query(p->ep, &param);
	param.recv_evd_handle = ct_evd(rig->ia, 32, NULL, DAT_EVD_DTO_FLAG);
	param.ep_attr.max_recv_dtos = 32;
	param.ep_attr.max_request_dtos = 40;
	param.ep_attr.max_recv_iov = 2;
	expect_ok(dat_ep_modify(p->ep,
				DAT_EP_FIELD_RECV_EVD_HANDLE | DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
					DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS |
					DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV,
				&param));
	expect_ok(cu_recv(p, 3 * 64, 64, 103));
	cu_establish(rig, a, p);
	for (unsigned int i = 0; i < 4; i++) {
		cu_fill(a->mem.base + i * 64, 64, i);
		expect_ok(ct_post_send(a, i * 64, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
		DONE(a->request, a->ep, i, DAT_DTO_SEND, 64);
		DONE(param.recv_evd_handle, p->ep, 100 + i, DAT_DTO_RECEIVE, 64);
		FILLED(p->mem.base + i * 64, 64, i);
	}
}

/* A message to p, which takes its receive from the queue. */
static void one_message(struct ct_end *a, struct ct_end *p, struct su_queue *q, unsigned int seed)
{
	expect_ok(su_post(q, seed % 8));
	su_send(a, 32, seed);
	assert_int_equal(su_taken(p, q, 32, seed), seed % 8);
}

/* SRQ-31, SRQ-38 */
static void ep_62_receives_of_a_queue_across_modify(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, p = { 0 };
	DAT_EVD_HANDLE first;
	struct su_queue q;
	DAT_EP_PARAM param;

	su_open(rig, &q, 8);
	su_end_open(rig, &p, &q);
	cu_query(p.ep, &param);
	param.ep_attr.max_request_dtos = 40;
	expect_ok(dat_ep_modify(p.ep, DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &param));
	cu_establish(rig, a, &p);
	one_message(a, &p, &q, 1);
	cu_end_connection(a, &p);
	expect_ok(dat_ep_reset(a->ep));
	expect_ok(dat_ep_reset(p.ep));
	first = p.recv;
	p.recv = param.recv_evd_handle = ct_evd(rig->ia, 64, NULL, DAT_EVD_DTO_FLAG);
	expect_ok(dat_ep_modify(p.ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
	cu_establish(rig, a, &p);
	one_message(a, &p, &q, 2);
	ct_empty(first);
	expect_ok(dat_evd_free(first));
}

/* What is not an endpoint any more takes no receives of the queue's. */
static void ep_62_queues_of_endpoints_that_come_and_go(void **state)
{
	enum {
		ENDS = 6
	};
	struct cu_rig *rig = *state;
	struct ct_end p[ENDS] = { { 0 } };
	struct su_queue q;
	DAT_EP_PARAM param;

	su_open(rig, &q, 8);
	for (unsigned int round = 0; round < 4; round++) {
		for (unsigned int i = 0; i < ENDS; i++) {
			p[i] = (struct ct_end){ .recv = p[0].recv };
			su_end_open(rig, &p[i], &q);
			cu_query(p[i].ep, &param);
			param.ep_attr.max_request_dtos += 1 + (DAT_COUNT)i;
			expect_ok(dat_ep_modify(p[i].ep, DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS,
						&param));
		}
		for (unsigned int i = 0; i < ENDS; i += 2)
			expect_ok(dat_ep_free(p[i].ep));
		for (unsigned int i = 1; i < ENDS; i += 2) {
			cu_establish(rig, &rig->a, &p[i]);
			one_message(&rig->a, &p[i], &q, round * ENDS + i);
			cu_end_connection(&rig->a, &p[i]);
			expect_ok(dat_ep_reset(rig->a.ep));
			expect_ok(dat_ep_free(p[i].ep));
		}
	}
}

static void ep_64_limit_below_what_is_posted(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EP_PARAM before, param;

	for (unsigned int i = 0; i < 4; i++)
		expect_ok(cu_recv(&rig->a, 0, 64, i));
	cu_query(rig->a.ep, &before);
	param = before;
	param.ep_attr.max_recv_dtos = 3;
	expect_state(dat_ep_modify(rig->a.ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param),
		     EP_UNCONNECTED);
	cu_check_params(rig->a.ep, &before);
	param.ep_attr.max_recv_dtos = 4;
	expect_ok(dat_ep_modify(rig->a.ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param));
}

static void ep_59_recv_flags_with_receives_posted(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EP_PARAM param;

	cu_query(rig->a.ep, &param);
	param.ep_attr.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	expect_ok(dat_ep_modify(rig->a.ep, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, &param));
	expect_ok(cu_recv(&rig->a, 0, 64, 0));
	param.ep_attr.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
	expect_state(dat_ep_modify(rig->a.ep, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, &param),
		     EP_UNCONNECTED);
}

static void ep_65_modify_arguments(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EP_PARAM param;

	cu_query(rig->a.ep, &param);
	expect_handle(dat_ep_modify(NULL, DAT_EP_FIELD_PZ_HANDLE, &param), EP);
	expect_handle(dat_ep_modify(rig->a.connect, DAT_EP_FIELD_PZ_HANDLE, &param), EP);
	expect_ok(dat_ep_modify(rig->a.ep, 0, &param));
	expect_ok(dat_ep_modify(rig->a.ep, 0, NULL));
	expect_arg(dat_ep_modify(rig->a.ep, DAT_EP_FIELD_PZ_HANDLE, NULL), 3);
	expect_arg(dat_ep_modify(rig->a.ep, UINT64_C(0x80000000), &param), 2);
	expect_arg(dat_ep_modify(rig->a.ep, UINT64_C(1) << 40 | DAT_EP_FIELD_PZ_HANDLE, &param), 2);
	cu_check_params(rig->a.ep, &param);
}

/* ---- Status, receive counts, watermarks -------------------------------- */

/* EP-105 */
static void ep_102_103_status(void **state)
{
	struct cu_rig *rig = *state;
	DAT_BOOLEAN recv_idle = 77, request_idle = 77;
	DAT_EP_STATE ep_state = 77;

	expect_handle(dat_ep_get_status(NULL, &ep_state, &recv_idle, &request_idle), EP);
	expect_ok(dat_ep_get_status(rig->a.ep, NULL, NULL, NULL));
	expect_ok(dat_ep_get_status(rig->a.ep, &ep_state, &recv_idle, &request_idle));
	assert_int_equal(ep_state, DAT_EP_STATE_UNCONNECTED);
	assert_int_equal(recv_idle, DAT_TRUE);
	assert_int_equal(request_idle, DAT_TRUE);
	expect_ok(cu_recv(&rig->a, 0, 64, 0));
	expect_ok(dat_ep_get_status(rig->a.ep, NULL, &recv_idle, &request_idle));
	assert_int_equal(recv_idle, DAT_FALSE);
	assert_int_equal(request_idle, DAT_TRUE);
}

static void ep_117_to_120_recv_query(void **state)
{
	struct cu_rig *rig = *state;
	DAT_COUNT allocated = 77, span = 77;

	expect_handle(dat_ep_recv_query(NULL, &allocated, &span), EP);
	if (rig->prov.ep_recv_info_supported == 0) {
		expect_unsupported(dat_ep_recv_query(rig->a.ep, &allocated, &span));
		return;
	}
	expect_ok(dat_ep_recv_query(rig->a.ep, NULL, NULL));
	for (unsigned int i = 0; i < 3; i++)
		expect_ok(cu_recv(&rig->a, 0, 64, i));
	expect_ok(dat_ep_recv_query(rig->a.ep, &allocated, &span));
	if (rig->prov.ep_recv_info_supported & 1)
		assert_int_equal(allocated, 3);
	else
		assert_int_equal(allocated, DAT_VALUE_UNKNOWN);
	if (rig->prov.ep_recv_info_supported & 2)
		assert_int_equal(span, 3);
	else
		assert_int_equal(span, DAT_VALUE_UNKNOWN);
}

static void ep_121_to_128_watermarks(void **state)
{
	struct cu_rig *rig = *state;

	expect_handle(dat_ep_set_watermark(NULL, -1, -1), EP);
	if (rig->prov.srq_watermarks_supported & 6) {
		expect_arg(dat_ep_set_watermark(rig->a.ep, -2, -1), 2);
		expect_arg(dat_ep_set_watermark(rig->a.ep, -1, -2), 3);
		expect_ok(dat_ep_set_watermark(rig->a.ep, -1, -1));
		return;
	}
	/* SRQ-44 */
	expect_unsupported(dat_ep_set_watermark(rig->a.ep, 4, -1));
	expect_unsupported(dat_ep_set_watermark(rig->a.ep, -1, 4));
}

#define T(f) cmocka_unit_test_setup_teardown(f, cu_setup_ends, cu_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(ep_59_never_modifiable),
		T(ep_59_comm_in_unconnected),
		T(ep_58_all_or_none),
		T(ep_60_provider_attributes),
		T(vnd_14_15_18_delayed_ack),
		T(ep_61_bad_handles),
		T(ep_62_handles_can_be_replaced_and_dropped),
		T(ep_61_counts_and_evds_stay_together),
		T(ep_63_receives_stay_posted_across_modify),
		T(ep_62_receives_of_a_queue_across_modify),
		T(ep_62_queues_of_endpoints_that_come_and_go),
		T(ep_64_limit_below_what_is_posted),
		T(ep_59_recv_flags_with_receives_posted),
		T(ep_65_modify_arguments),
		T(ep_102_103_status),
		T(ep_117_to_120_recv_query),
		T(ep_121_to_128_watermarks),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
