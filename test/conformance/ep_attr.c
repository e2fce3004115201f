/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Endpoints: creation, query, modify, attributes with their defaults and limits (EP-9 to EP-65,
 * EP-T2). */
#include "conn_util.h"

static int min_int(int a, int b)
{
	return a < b ? a : b;
}

/* ---- Query of a new endpoint ------------------------------------------- */

static void ep_9_to_20_parameters_of_a_new_endpoint(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EP_PARAM param;

	cu_query(rig->a.ep, &param);
	assert_ptr_equal(param.ia_handle, rig->ia);
	assert_int_equal(param.ep_state, DAT_EP_STATE_UNCONNECTED);
	assert_non_null(param.local_ia_address_ptr);
	assert_int_equal(param.local_ia_address_ptr->sa_family,
			 rig->attr.ia_address_ptr->sa_family);
	assert_memory_equal(param.local_ia_address_ptr->sa_data + 2,
			    rig->attr.ia_address_ptr->sa_data + 2, 4);
	assert_ptr_equal(param.pz_handle, rig->a.pz);
	assert_ptr_equal(param.recv_evd_handle, rig->a.recv);
	assert_ptr_equal(param.request_evd_handle, rig->a.request);
	assert_ptr_equal(param.connect_evd_handle, rig->a.connect);
	assert_null(param.srq_handle);
}

static void ep_11_default_communicator(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EP_PARAM param;

	cu_query(rig->a.ep, &param);
	assert_int_equal(param.comm.domain, rig->attr.ia_address_ptr->sa_family);
	assert_int_equal(param.comm.type, SOCK_STREAM);
	assert_int_equal(param.comm.protocol, 0);
}

static void ep_22_to_38_defaults(void **state)
{
	struct cu_rig *rig = *state;
	const DAT_IA_ATTR *ia = &rig->attr;
	const uint32_t top = UINT32_C(1) << 31;
	DAT_EP_PARAM param;
	DAT_EP_ATTR *attr = &param.ep_attr;

	cu_query(rig->a.ep, &param);
	assert_int_equal(attr->service_type, DAT_SERVICE_TYPE_RC);
	assert_int_equal(attr->max_message_size,
			 ia->max_message_size < top ? ia->max_message_size : top);
	assert_int_equal(attr->max_rdma_size, ia->max_rdma_size < top ? ia->max_rdma_size : top);
	assert_int_equal(attr->qos, DAT_QOS_BEST_EFFORT);
	assert_int_equal(attr->recv_completion_flags, DAT_COMPLETION_EVD_THRESHOLD_FLAG);
	assert_int_equal(attr->request_completion_flags, DAT_COMPLETION_EVD_THRESHOLD_FLAG);
	assert_int_equal(attr->max_recv_dtos, min_int(16, ia->max_dto_per_ep));
	assert_int_equal(attr->max_request_dtos, min_int(16, ia->max_dto_per_ep));
	assert_int_equal(attr->max_recv_iov, min_int(4, ia->max_iov_segments_per_dto));
	assert_int_equal(attr->max_request_iov, min_int(4, ia->max_iov_segments_per_dto));
	assert_int_equal(attr->max_rdma_read_in, min_int(4, ia->max_rdma_read_per_ep_in));
	assert_int_equal(attr->max_rdma_read_out, min_int(4, ia->max_rdma_read_per_ep_out));
	assert_int_equal(attr->srq_soft_hw, DAT_HW_DEFAULT);
	assert_int_equal(attr->max_rdma_read_iov, 0);
	assert_int_equal(attr->max_rdma_write_iov, 0);
	assert_int_equal(attr->ep_transport_specific_count, 0);
	assert_null(attr->ep_transport_specific);
}

static void ep_28_29_defaults_without_completion_evds(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EP_HANDLE ep;
	DAT_EP_PARAM param;

	expect_ok(
		dat_ep_create(rig->ia, rig->a.pz, NULL, rig->a.request, rig->a.connect, NULL, &ep));
	cu_query(ep, &param);
	assert_int_equal(param.ep_attr.max_recv_dtos, 0);
	assert_true(param.ep_attr.max_request_dtos > 0);
	expect_ok(dat_ep_free(ep));
	expect_ok(dat_ep_create(rig->ia, rig->a.pz, rig->a.recv, NULL, rig->a.connect, NULL, &ep));
	cu_query(ep, &param);
	assert_true(param.ep_attr.max_recv_dtos > 0);
	assert_int_equal(param.ep_attr.max_request_dtos, 0);
	expect_ok(dat_ep_free(ep));
}

/* EP-42 */
static void ep_5_43_everything_may_be_null(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EP_HANDLE ep;
	DAT_EP_PARAM param;

	expect_ok(dat_ep_create(rig->ia, NULL, NULL, NULL, NULL, NULL, &ep));
	cu_query(ep, &param);
	assert_int_equal(param.ep_state, DAT_EP_STATE_UNCONNECTED);
	assert_null(param.pz_handle);
	assert_null(param.recv_evd_handle);
	assert_null(param.request_evd_handle);
	assert_null(param.connect_evd_handle);
	expect_ok(dat_ep_free(ep));
}

static void ep_45_created_exactly_as_requested(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EP_ATTR want;
	DAT_EP_PARAM param;
	struct ct_end end = { 0 };

	ct_default_attr(rig->ia, &want);
	want.max_message_size = 12345;
	want.max_rdma_size = 54321;
	want.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	want.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	want.max_recv_dtos = 7;
	want.max_request_dtos = 9;
	want.max_recv_iov = 1;
	want.max_request_iov = rig->attr.max_iov_segments_per_dto > 1 ? 2 : 1;
	want.max_rdma_read_in = 1;
	want.max_rdma_read_out = 2;
	want.max_rdma_read_iov = 1;
	want.max_rdma_write_iov = 1;
	ct_end_open(&end, rig->ia, &want);
	cu_query(end.ep, &param);
	assert_in_range(param.ep_attr.max_request_dtos, 9, rig->attr.max_dto_per_ep);
	assert_in_range(param.ep_attr.max_request_iov, want.max_request_iov,
			rig->attr.max_iov_segments_per_dto);
	want.max_request_dtos = param.ep_attr.max_request_dtos;
	want.max_request_iov = param.ep_attr.max_request_iov;
	assert_memory_equal(&param.ep_attr, &want,
			    offsetof(DAT_EP_ATTR, ep_transport_specific_count));
	ct_end_close(&end);
}

static void ep_39_srq_soft_hw_zero_means_not_set(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EP_ATTR attr;
	DAT_EP_PARAM param;
	DAT_EP_HANDLE ep;

	ct_default_attr(rig->ia, &attr);
	attr.srq_soft_hw = 0;
	expect_ok(dat_ep_create(rig->ia, rig->a.pz, rig->a.recv, rig->a.request, rig->a.connect,
				&attr, &ep));
	cu_query(ep, &param);
	/* EP-45 and EP-34 allow either to be reported. */
	if (param.ep_attr.srq_soft_hw != 0)
		assert_int_equal(param.ep_attr.srq_soft_hw, DAT_HW_DEFAULT);
	/* Receives beyond 0 make no watermark event. */
	for (unsigned int i = 0; i < 4; i++) {
		struct ct_end end = rig->a;

		end.ep = ep;
		expect_ok(cu_recv(&end, 0, 64, i));
	}
	cu_quiet(rig->async, 50);
	expect_ok(dat_ep_free(ep));
}

static void ep_48_size_zero_is_legal(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EP_ATTR attr;
	DAT_EP_HANDLE ep;

	ct_default_attr(rig->ia, &attr);
	attr.max_message_size = 0;
	attr.max_rdma_size = 0;
	attr.max_rdma_read_iov = 0;
	attr.max_rdma_write_iov = 0;
	expect_ok(dat_ep_create(rig->ia, rig->a.pz, rig->a.recv, rig->a.request, rig->a.connect,
				&attr, &ep));
	expect_ok(dat_ep_free(ep));
}

/* ---- Limits ------------------------------------------------------------ */

static DAT_RETURN create(struct cu_rig *rig, const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
	return dat_ep_create(rig->ia, rig->a.pz, rig->a.recv, rig->a.request, rig->a.connect, attr,
			     ep);
}

/* ---- Other attribute errors -------------------------------------------- */

/* EP-46, EP-47: refused in strict mode, else without effect. */
static void no_effect(struct cu_rig *rig, const DAT_EP_ATTR *attr, DAT_RETURN type)
{
	DAT_EP_ATTR defaults;
	DAT_EP_PARAM param;
	DAT_EP_HANDLE ep;

	ct_default_attr(rig->ia, &defaults);
	if (harness_strict()) {
		expect_type(create(rig, attr, &ep), type);
		return;
	}
	expect_ok(create(rig, attr, &ep));
	cu_query(ep, &param);
	assert_memory_equal(&param.ep_attr, &defaults,
			    offsetof(DAT_EP_ATTR, ep_transport_specific_count));
	param.ep_attr = *attr;
	expect_ok(dat_ep_modify(ep,
				DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE | DAT_EP_FIELD_EP_ATTR_QOS |
					DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW,
				&param));
	cu_query(ep, &param);
	assert_memory_equal(&param.ep_attr, &defaults,
			    offsetof(DAT_EP_ATTR, ep_transport_specific_count));
	expect_ok(dat_ep_free(ep));
}

static int unsupported_values(void)
{
	struct cu_rig *rig;
	DAT_EP_ATTR attr;
	void *state;

	cu_setup_ends(&state);
	rig = state;
	ct_default_attr(rig->ia, &attr);
	attr.service_type = (DAT_SERVICE_TYPE)77;
	no_effect(rig, &attr, DAT_INVALID_PARAMETER);
	ct_default_attr(rig->ia, &attr);
	attr.qos = DAT_QOS_PREMIUM;
	no_effect(rig, &attr, DAT_MODEL_NOT_SUPPORTED);
	ct_default_attr(rig->ia, &attr);
	attr.srq_soft_hw = -5;
	no_effect(rig, &attr, DAT_INVALID_PARAMETER);
	attr.srq_soft_hw = 2;
	if (!(rig->prov.srq_watermarks_supported & 2))
		no_effect(rig, &attr, DAT_MODEL_NOT_SUPPORTED);
	return cu_teardown(&state);
}

/* GEN-31 */
static void ep_46_47_unsupported_values(void **state)
{
	(void)state;
	harness_both_strict("unsupported-values");
}

static void ep_46_named_attributes(void **state)
{
	DAT_NAMED_ATTR unknown = { .name = "udapl_no_such_attribute", .value = "true" };
	struct cu_rig *rig = *state;
	DAT_EP_ATTR attr;
	DAT_EP_HANDLE ep;

	ct_default_attr(rig->ia, &attr);
	attr.ep_provider_specific_count = 1;
	expect_arg(create(rig, &attr, &ep), 6);
	attr.ep_provider_specific = &unknown;
	expect_arg(create(rig, &attr, &ep), 6);
	attr.ep_provider_specific_count = 0;
	attr.ep_provider_specific = NULL;
	attr.ep_transport_specific_count = 1;
	expect_arg(create(rig, &attr, &ep), 6);
	attr.ep_transport_specific = &unknown;
	expect_arg(create(rig, &attr, &ep), 6);
}

static const DAT_COMPLETION_FLAGS recv_flags_legal[] = {
	DAT_COMPLETION_DEFAULT_FLAG,
	DAT_COMPLETION_UNSIGNALLED_FLAG,
	DAT_COMPLETION_SOLICITED_WAIT_FLAG,
	DAT_COMPLETION_EVD_THRESHOLD_FLAG,
};

static bool recv_flags_are_legal(unsigned int flags)
{
	for (size_t i = 0; i < sizeof(recv_flags_legal) / sizeof(recv_flags_legal[0]); i++) {
		if (flags == (unsigned int)recv_flags_legal[i])
			return true;
	}
	return false;
}

/* DTO-24: the bits 0x01, 0x02 and 0x08 may be added without effect. */
static bool request_flags_are_legal(unsigned int flags)
{
	unsigned int base = flags & ~0x0bU;

	return base == DAT_COMPLETION_DEFAULT_FLAG || base == DAT_COMPLETION_UNSIGNALLED_FLAG ||
	       base == DAT_COMPLETION_EVD_THRESHOLD_FLAG;
}

/* Every combination of the low seven bits, as receive and as request flags. Each EP has EVDs of its
 * own, so that EP-41 says nothing. */
static void flags_both_ways(bool strict)
{
	struct cu_rig *rig = cu_rig_open();
	DAT_EP_ATTR defaults, attr;
	DAT_EVD_HANDLE recv = ct_evd(rig->ia, 16, NULL, DAT_EVD_DTO_FLAG);
	DAT_EVD_HANDLE req = ct_evd(rig->ia, 16, NULL, DAT_EVD_DTO_FLAG);
	DAT_EP_HANDLE ep;

	ct_default_attr(rig->ia, &defaults);
	for (unsigned int flags = 0; flags < 0x80; flags++) {
		attr = defaults;
		attr.recv_completion_flags = (DAT_COMPLETION_FLAGS)flags;
		if (strict && !recv_flags_are_legal(flags)) {
			expect_arg(dat_ep_create(rig->ia, NULL, recv, req, NULL, &attr, &ep), 6);
		} else {
			expect_ok(dat_ep_create(rig->ia, NULL, recv, req, NULL, &attr, &ep));
			expect_ok(dat_ep_free(ep));
		}
		attr = defaults;
		attr.request_completion_flags = (DAT_COMPLETION_FLAGS)flags;
		if (strict && !request_flags_are_legal(flags)) {
			expect_arg(dat_ep_create(rig->ia, NULL, recv, req, NULL, &attr, &ep), 6);
		} else {
			expect_ok(dat_ep_create(rig->ia, NULL, recv, req, NULL, &attr, &ep));
			expect_ok(dat_ep_free(ep));
		}
	}
	cu_rig_close(rig);
}

static int completion_flags(void)
{
	flags_both_ways(harness_strict());
	return 0;
}

/* GEN-31 */
static void dto_24_completion_flags(void **state)
{
	(void)state;
	harness_both_strict("completion-flags");
}

/* GEN-22 in strict mode only: programs of release 2.1.10 give EPs of all opens one connect EVD. */
static int foreign_connect_evd(void)
{
	struct cu_rig *rig = cu_rig_open(), *other = cu_rig_open();
	DAT_EVD_HANDLE conn = ct_evd(rig->ia, 16, NULL, DAT_EVD_CONNECTION_FLAG);
	struct ct_end end = { 0 }, peer = { 0 };
	DAT_EP_PARAM param;
	DAT_EP_HANDLE ep;

	ct_end_open(&end, other->ia, NULL);
	ct_end_open(&peer, other->ia, NULL);
	if (harness_strict()) {
		expect_handle(
			dat_ep_create(other->ia, end.pz, end.recv, end.request, conn, NULL, &ep),
			EVD_CONN);
		ct_end_close(&end);
		ct_end_close(&peer);
		cu_rig_close(other);
		cu_rig_close(rig);
		return 0;
	}
	expect_ok(dat_ep_create(other->ia, end.pz, end.recv, end.request, conn, NULL, &ep));
	expect_state(dat_evd_free(conn), EVD_IN_USE);
	expect_ok(dat_ep_connect(ep, other->attr.ia_address_ptr, other->qual, CT_MS * 1000, 0, NULL,
				 DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	expect_ok(dat_cr_accept(cu_take_cr(other->cr), peer.ep, 0, NULL));
	cu_conn_event(peer.connect, peer.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	cu_conn_event(conn, ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);

	/* The owner goes, and the EVD with it; the EP goes on without. */
	cu_rig_close(rig);
	cu_query(ep, &param);
	assert_null(param.connect_evd_handle);
	expect_ok(dat_ep_disconnect(peer.ep, DAT_CLOSE_ABRUPT_FLAG));
	cu_await_state(ep, DAT_EP_STATE_DISCONNECTED);
	expect_ok(dat_ep_free(ep));
	ct_end_close(&end);
	ct_end_close(&peer);
	cu_rig_close(other);
	return 0;
}

static void gen_22_31_connect_evd_of_another_open(void **state)
{
	(void)state;
	harness_both_strict("foreign-connect-evd");
}

static void ep_44_evds_need_the_stream_flag(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EVD_HANDLE dto = ct_evd(rig->ia, 16, NULL, DAT_EVD_DTO_FLAG);
	DAT_EVD_HANDLE conn = ct_evd(rig->ia, 16, NULL, DAT_EVD_CONNECTION_FLAG);
	DAT_EP_HANDLE ep;

	expect_handle(dat_ep_create(rig->ia, NULL, conn, dto, conn, NULL, &ep), EVD_RECV);
	expect_handle(dat_ep_create(rig->ia, NULL, dto, conn, conn, NULL, &ep), EVD_REQUEST);
	expect_handle(dat_ep_create(rig->ia, NULL, dto, dto, dto, NULL, &ep), EVD_CONN);
	expect_ok(dat_ep_create(rig->ia, NULL, dto, dto, conn, NULL, &ep));
}

static void ep_create_handles(void **state)
{
	struct cu_rig *rig = *state, *other = cu_rig_open();
	struct ct_end *a = &rig->a, foreign = { 0 };
	DAT_PZ_HANDLE freed;
	DAT_EP_HANDLE ep;

	ct_end_open(&foreign, other->ia, NULL);
	expect_ok(dat_pz_create(rig->ia, &freed));
	expect_ok(dat_pz_free(freed));
	expect_handle(dat_ep_create(NULL, a->pz, a->recv, a->request, a->connect, NULL, &ep), IA);
	expect_handle(dat_ep_create(rig->ia, freed, a->recv, a->request, a->connect, NULL, &ep),
		      PZ);
	expect_handle(dat_ep_create(rig->ia, a->recv, a->recv, a->request, a->connect, NULL, &ep),
		      PZ);
	expect_handle(dat_ep_create(rig->ia, a->pz, a->pz, a->request, a->connect, NULL, &ep),
		      EVD_RECV);
	expect_handle(dat_ep_create(rig->ia, a->pz, a->recv, a->pz, a->connect, NULL, &ep),
		      EVD_REQUEST);
	expect_handle(dat_ep_create(rig->ia, a->pz, a->recv, a->request, a->pz, NULL, &ep),
		      EVD_CONN);
	/* GEN-22: objects of another open of the IA. */
	expect_handle(
		dat_ep_create(rig->ia, foreign.pz, a->recv, a->request, a->connect, NULL, &ep), PZ);
	expect_handle(
		dat_ep_create(rig->ia, a->pz, foreign.recv, a->request, a->connect, NULL, &ep),
		EVD_RECV);
	expect_handle(
		dat_ep_create(rig->ia, a->pz, a->recv, foreign.request, a->connect, NULL, &ep),
		EVD_REQUEST);
	expect_arg(dat_ep_create(rig->ia, a->pz, a->recv, a->request, a->connect, NULL, NULL), 7);
	ct_end_close(&foreign);
	cu_rig_close(other);
}

static void ep_3_references_keep_objects_in_use(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a;

	expect_ok(dat_lmr_free(a->mem.lmr));
	expect_state(dat_pz_free(a->pz), PZ_IN_USE);
	expect_state(dat_evd_free(a->recv), EVD_IN_USE);
	expect_state(dat_evd_free(a->request), EVD_IN_USE);
	expect_state(dat_evd_free(a->connect), EVD_IN_USE);
	expect_ok(dat_ep_free(a->ep));
	expect_ok(dat_pz_free(a->pz));
	expect_ok(dat_evd_free(a->recv));
	expect_ok(dat_evd_free(a->request));
	expect_ok(dat_evd_free(a->connect));
}

static void ep_49_to_54_create_with_srq_unsupported(void **state)
{
	struct cu_rig *rig = *state;
	DAT_SRQ_ATTR srq_attr = { .max_recv_dtos = 4, .max_recv_iov = 1, .low_watermark = 0 };
	DAT_SRQ_HANDLE srq;

	if (rig->prov.srq_supported || rig->attr.max_srqs > 0)
		skip(); /* the SRQ programs prove it */
	/* Without an SRQ there is no valid handle for the third; SRQ-2 for the rest. */
	expect_unsupported(dat_srq_create(rig->ia, rig->a.pz, &srq_attr, &srq));
}

/* ---- dat_ep_query ------------------------------------------------------ */

static void ep_55_query_arguments(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EP_PARAM param;

	expect_handle(dat_ep_query(NULL, DAT_EP_FIELD_ALL, &param), EP);
	expect_handle(dat_ep_query(rig->a.pz, DAT_EP_FIELD_ALL, &param), EP);
	expect_arg(dat_ep_query(rig->a.ep, UINT64_C(0x80000000), &param), 2);
	expect_arg(dat_ep_query(rig->a.ep, UINT64_C(1) << 63, &param), 2);
	expect_arg(dat_ep_query(rig->a.ep, DAT_EP_FIELD_EP_STATE, NULL), 3);
	expect_ok(dat_ep_query(rig->a.ep, 0, NULL));
	expect_ok(dat_ep_query(rig->a.ep, 0, &param));
}

static void ep_55_each_field_alone(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EP_PARAM all, one;

	cu_query(rig->a.ep, &all);
	for (unsigned int bit = 0; bit < 31; bit++) {
		memset(&one, 0, sizeof(one));
		expect_ok(dat_ep_query(rig->a.ep, UINT64_C(1) << bit, &one));
	}
	memset(&one, 0, sizeof(one));
	expect_ok(dat_ep_query(rig->a.ep, DAT_EP_FIELD_PZ_HANDLE, &one));
	assert_ptr_equal(one.pz_handle, all.pz_handle);
	expect_ok(dat_ep_query(rig->a.ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &one));
	assert_int_equal(one.ep_attr.max_recv_dtos, all.ep_attr.max_recv_dtos);
	expect_ok(dat_ep_query(rig->a.ep, DAT_EP_FIELD_IA_HANDLE, &one));
	assert_ptr_equal(one.ia_handle, rig->ia);
}

/* Programs look at the peer's address whatever the state. */
static void ep_14_56_addresses_outside_their_states(void **state)
{
	static const struct sockaddr_in6 nobody;
	struct cu_rig *rig = *state;
	DAT_EP_PARAM param;

	cu_query(rig->a.ep, &param);
	assert_memory_equal(param.remote_ia_address_ptr, &nobody, sizeof(nobody));
	cu_establish(rig, &rig->a, &rig->p);
	cu_query(rig->a.ep, &param);
	assert_int_equal(param.remote_ia_address_ptr->sa_family,
			 rig->attr.ia_address_ptr->sa_family);
	cu_end_connection(&rig->a, &rig->p);
	cu_query(rig->a.ep, &param);
	assert_non_null(param.remote_ia_address_ptr);
	assert_int_equal(param.local_ia_address_ptr->sa_family,
			 rig->attr.ia_address_ptr->sa_family);
	expect_ok(dat_ep_reset(rig->a.ep));
	cu_query(rig->a.ep, &param);
	assert_memory_equal(param.remote_ia_address_ptr, &nobody, sizeof(nobody));
}

#define T(f) cmocka_unit_test_setup_teardown(f, cu_setup_ends, cu_teardown)

int main(int argc, char **argv)
{
	static const struct harness_child children[] = {
		{ "completion-flags", completion_flags },
		{ "foreign-connect-evd", foreign_connect_evd },
		{ "unsupported-values", unsupported_values },
		{ NULL, NULL },
	};
	static const struct CMUnitTest tests[] = {
		T(ep_9_to_20_parameters_of_a_new_endpoint),
		T(ep_11_default_communicator),
		T(ep_22_to_38_defaults),
		T(ep_28_29_defaults_without_completion_evds),
		T(ep_5_43_everything_may_be_null),
		T(ep_45_created_exactly_as_requested),
		T(ep_39_srq_soft_hw_zero_means_not_set),
		T(ep_48_size_zero_is_legal),
		cmocka_unit_test(ep_46_47_unsupported_values),
		T(ep_46_named_attributes),
		T(dto_24_completion_flags),
		T(ep_44_evds_need_the_stream_flag),
		T(ep_create_handles),
		T(ep_3_references_keep_objects_in_use),
		T(ep_49_to_54_create_with_srq_unsupported),
		T(ep_55_query_arguments),
		T(ep_55_each_field_alone),
		T(ep_14_56_addresses_outside_their_states),
		T(gen_22_31_connect_evd_of_another_open),
	};

	harness_child_main(argc, argv, children);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
