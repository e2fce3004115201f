/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared receive queues. */
#include "ext_util.h"
#include "srq_util.h"

/* ---- The queue itself -------------------------------------------------- */

static void srq_2_3_as_announced(void **state)
{
	struct cu_rig *rig = *state;

	assert_int_equal(rig->prov.srq_supported != 0, rig->attr.max_srqs > 0);
	assert_int_equal(rig->prov.srq_watermarks_supported & ~7, 0);
	assert_int_equal(rig->prov.srq_info_supported & ~3, 0);
	assert_int_equal(rig->prov.ep_recv_info_supported & ~3, 0);
	if (!rig->prov.srq_supported)
		return;
	assert_true(rig->attr.max_ep_per_srq > 0);
	assert_true(rig->attr.max_recv_per_srq > 0);
}

static DAT_RETURN create(struct cu_rig *rig, DAT_PZ_HANDLE pz, DAT_COUNT num, DAT_COUNT iov,
			 DAT_COUNT low, DAT_SRQ_HANDLE *srq)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = num, .max_recv_iov = iov, .low_watermark = low };

	return dat_srq_create(rig->ia, pz, &attr, srq);
}

/* PZ-7, PZ-8 */
static void srq_4_16_20_a_new_queue(void **state)
{
	struct cu_rig *rig = *state;
	DAT_PZ_HANDLE pz = ct_pz(rig->ia);
	DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
	DAT_SRQ_PARAM param;

	su_need(rig);
	expect_ok(create(rig, pz, 10, 3, 0, &srq));
	param = su_query(srq);
	assert_ptr_equal(param.ia_handle, rig->ia);
	assert_int_equal(param.srq_state, DAT_SRQ_STATE_OPERATIONAL);
	assert_ptr_equal(param.pz_handle, pz);
	assert_true(param.max_recv_dtos >= 10);
	assert_true(param.max_recv_iov >= 3);
	assert_int_equal(param.low_watermark, 0);
	assert_int_equal(param.outstanding_dto_count,
			 rig->prov.srq_info_supported & 2 ? 0 : DAT_VALUE_UNKNOWN);
	/* SRQ-18 */
	assert_int_equal(param.available_dto_count,
			 rig->prov.srq_info_supported & 1 ? 0 : DAT_VALUE_UNKNOWN);
	expect_state(dat_pz_free(pz), PZ_IN_USE);
	expect_ok(dat_srq_free(srq));
	expect_ok(dat_pz_free(pz));
	expect_handle(dat_srq_free(srq), SRQ);
}

static void srq_5_wrong_attributes(void **state)
{
	struct cu_rig *rig = *state;
	DAT_PZ_HANDLE pz = ct_pz(rig->ia);
	DAT_COUNT most = rig->attr.max_recv_per_srq, iov = rig->attr.max_iov_segments_per_dto;
	DAT_SRQ_ATTR good = { .max_recv_dtos = 4, .max_recv_iov = 1 };
	DAT_SRQ_HANDLE srq;

	su_need(rig);
	expect_arg(create(rig, pz, 0, 1, 0, &srq), 3);
	expect_arg(create(rig, pz, -1, 1, 0, &srq), 3);
	if (most < INT32_MAX)
		expect_arg(create(rig, pz, most + 1, 1, 0, &srq), 3);
	expect_arg(create(rig, pz, 4, -1, 0, &srq), 3);
	expect_arg(create(rig, pz, 4, iov + 1, 0, &srq), 3);
	expect_arg(create(rig, pz, 4, 1, -1, &srq), 3);
	expect_arg(create(rig, pz, 4, 1, 5, &srq), 3);
	expect_arg(dat_srq_create(rig->ia, pz, NULL, &srq), 3);
	expect_arg(dat_srq_create(rig->ia, pz, &good, NULL), 4);
	expect_handle(dat_srq_create(rig->ia, DAT_HANDLE_NULL, &good, &srq), PZ);
	expect_handle(dat_srq_create(rig->ia, rig->cr, &good, &srq), PZ);
	expect_ok(dat_pz_free(pz));
}

static void srq_19_masks(void **state)
{
	struct cu_rig *rig = *state;
	struct su_queue q;
	DAT_SRQ_PARAM param;

	su_open(rig, &q, 4);
	expect_arg(dat_srq_query(q.srq, (DAT_SRQ_PARAM_MASK)0x100, &param), 2);
	expect_arg(dat_srq_query(q.srq, (DAT_SRQ_PARAM_MASK)-1, &param), 2);
	expect_arg(dat_srq_query(q.srq, DAT_SRQ_FIELD_MAX_RECV_DTO, NULL), 3);
	expect_ok(dat_srq_query(q.srq, 0, NULL));
	su_close(&q);
}

static void srq_10_11_posting_without_endpoints(void **state)
{
	struct cu_rig *rig = *state;
	struct su_queue q;
	DAT_LMR_TRIPLET segments[3];
	DAT_COUNT most;

	su_open(rig, &q, 6);
	for (int i = 0; i < 3; i++)
		segments[i] = ct_segment(&q.mem, 0, 64);
	expect_arg(dat_srq_post_recv(q.srq, -1, segments, cu_cookie(1)), 2);
	expect_arg(
		dat_srq_post_recv(q.srq, su_query(q.srq).max_recv_iov + 1, segments, cu_cookie(1)),
		2);
	expect_arg(dat_srq_post_recv(q.srq, 1, NULL, cu_cookie(1)), 3);
	most = su_query(q.srq).max_recv_dtos;
	for (DAT_COUNT i = 0; i < most; i++)
		expect_ok(su_post(&q, (uint64_t)i));
	expect_type(su_post(&q, 9), DAT_INSUFFICIENT_RESOURCES);
	if (rig->prov.srq_info_supported & 2)
		assert_int_equal(su_query(q.srq).outstanding_dto_count, most);
	if (rig->prov.srq_info_supported & 1)
		assert_int_equal(su_query(q.srq).available_dto_count, most);
	su_close(&q); /* SRQ-7: they are discarded */
}

/* ---- Endpoints: creation ----------------------------------------------- */

static DAT_RETURN ep_create(struct cu_rig *rig, struct ct_end *parts, DAT_SRQ_HANDLE srq,
			    const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
	return dat_ep_create_with_srq(rig->ia, parts->pz, parts->recv, parts->request,
				      parts->connect, srq, attr, ep);
}

/* EP-49, EP-50, EP-54 */
static void srq_31_32_33_37_attributes(void **state)
{
	struct cu_rig *rig = *state;
	struct su_queue q;
	struct ct_end end = { 0 };
	DAT_EP_HANDLE ep;
	DAT_EP_PARAM param;
	DAT_EP_ATTR attr;

	su_open(rig, &q, 8);
	su_end_open(rig, &end, &q);
	ct_default_attr(rig->ia, &attr);
	attr.max_recv_iov = 0; /* ignored */
	attr.max_recv_dtos = 0;
	attr.max_request_dtos = 7;
	attr.max_rdma_read_in = 1;
	attr.max_message_size = 4096;
	expect_ok(ep_create(rig, &end, q.srq, &attr, &ep));
	cu_query(ep, &param);
	assert_ptr_equal(param.srq_handle, q.srq);
	assert_int_equal(param.ep_state, DAT_EP_STATE_UNCONNECTED);
	assert_true(param.ep_attr.max_request_dtos >= 7);
	assert_int_equal(param.ep_attr.max_recv_dtos, 0);
	assert_int_equal(param.ep_attr.max_rdma_read_in, 1);
	assert_int_equal(param.ep_attr.max_message_size, 4096);
	expect_ok(dat_ep_free(ep));
	/* SRQ-38 */
	expect_ok(dat_ep_create_with_srq(rig->ia, end.pz, end.recv, end.request, DAT_HANDLE_NULL,
					 q.srq, &attr, &ep));
	expect_ok(dat_ep_free(ep));
	expect_arg(ep_create(rig, &end, q.srq, &attr, NULL), 8);
	attr.max_request_dtos = -1;
	expect_arg(ep_create(rig, &end, q.srq, &attr, &ep), 7);
	ct_end_open(&rig->a, rig->ia, NULL);
	cu_query(rig->a.ep, &param);
	assert_null(param.srq_handle);
}

static int no_attributes(void)
{
	struct cu_rig *rig = cu_rig_open();
	struct ct_end end = { 0 };
	struct su_queue q;
	DAT_EP_PARAM param;
	DAT_EP_HANDLE ep;

	su_open(rig, &q, 8);
	su_end_open(rig, &end, &q);
	if (harness_strict()) {
		expect_arg(ep_create(rig, &end, q.srq, NULL, &ep), 7);
	} else {
		expect_ok(ep_create(rig, &end, q.srq, NULL, &ep));
		cu_query(ep, &param);
		assert_ptr_equal(param.srq_handle, q.srq);
		assert_int_equal(param.ep_attr.max_request_dtos, 16);
		assert_int_equal(param.ep_attr.max_request_iov, 4);
	}
	cu_rig_close(rig);
	return 0;
}

/* Programs of release 2.1.10 get the defaults. */
static void srq_32_without_attributes(void **state)
{
	su_need(*state);
	harness_both_strict("no-attributes");
}

/* EP-52, EP-53, GEN-22 */
static void srq_34_35_handles_and_zones(void **state)
{
	struct cu_rig *rig = *state;
	struct su_queue q;
	struct ct_end end = { 0 };
	struct ct_ia other;
	DAT_PZ_HANDLE pz = ct_pz(rig->ia);
	DAT_EP_HANDLE ep;
	DAT_EP_ATTR attr;
	DAT_SRQ_HANDLE freed;

	ct_default_attr(rig->ia, &attr);
	su_open(rig, &q, 8);
	su_end_open(rig, &end, &q);
	expect_handle(ep_create(rig, &end, DAT_HANDLE_NULL, &attr, &ep), SRQ);
	expect_handle(ep_create(rig, &end, end.ep, &attr, &ep), SRQ);
	expect_ok(create(rig, pz, 4, 1, 0, &freed));
	expect_ok(dat_srq_free(freed));
	expect_handle(ep_create(rig, &end, freed, &attr, &ep), SRQ);
	ct_open(&other);
	expect_handle(dat_ep_create_with_srq(other.ia, DAT_HANDLE_NULL, DAT_HANDLE_NULL,
					     DAT_HANDLE_NULL, DAT_HANDLE_NULL, q.srq, &attr, &ep),
		      SRQ);
	ct_close(&other);
	expect_handle(dat_ep_create_with_srq(rig->ia, end.ep, end.recv, end.request, end.connect,
					     q.srq, &attr, &ep),
		      PZ);
	expect_handle(dat_ep_create_with_srq(rig->ia, end.pz, end.connect, end.request, end.connect,
					     q.srq, &attr, &ep),
		      EVD_RECV);
	end.pz = pz;
	if (rig->prov.srq_ep_pz_difference_supported) {
		expect_ok(ep_create(rig, &end, q.srq, &attr, &ep));
		expect_ok(dat_ep_free(ep));
	} else {
		expect_arg(ep_create(rig, &end, q.srq, &attr, &ep), 2);
	}
}

/* EP-51 */
static void dto_43_nothing_is_posted_to_the_endpoint(void **state)
{
	struct cu_rig *rig = *state;
	struct su_queue q;
	struct ct_end a = { 0 }, p = { 0 };

	su_open(rig, &q, 8);
	su_pair(rig, &a, &p, &q);
	expect_state(ct_post_recv(&p, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG), SRQ_IN_USE);
	expect_state(dat_ep_post_recv(p.ep, 0, NULL, cu_cookie(1), DAT_COMPLETION_DEFAULT_FLAG),
		     SRQ_IN_USE);
	cu_end_connection(&a, &p);
	expect_state(ct_post_recv(&p, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG), SRQ_IN_USE);
}

/* EP-49 */
static void srq_31_the_association_stays(void **state)
{
	struct cu_rig *rig = *state;
	struct su_queue q;
	struct ct_end a = { 0 }, p = { 0 };
	DAT_EP_PARAM param;

	su_open(rig, &q, 8);
	su_pair(rig, &a, &p, &q);
	su_fill(&q, 0, 1);
	su_send(&a, 10, 1);
	su_taken(&p, &q, 10, 1);
	for (int i = 0; i < 2; i++) {
		cu_end_connection(&a, &p);
		expect_ok(dat_ep_reset(a.ep));
		expect_ok(dat_ep_reset(p.ep));
		cu_query(p.ep, &param);
		assert_ptr_equal(param.srq_handle, q.srq);
		param.srq_handle = DAT_HANDLE_NULL;
		expect_arg(dat_ep_modify(p.ep, DAT_EP_FIELD_SRQ_HANDLE, &param), 2);
		expect_state(dat_srq_free(q.srq), SRQ_IN_USE); /* SRQ-8 */
		cu_establish(rig, &a, &p);
		if (i == 0) {
			su_send(&a, 20, 2); /* the one that was left */
			su_taken(&p, &q, 20, 2);
		}
	}
}

/* EP-114, SRQ-8 */
static void srq_8_in_use_by_an_endpoint(void **state)
{
	struct cu_rig *rig = *state;
	struct su_queue q;
	struct ct_end end = { 0 };

	su_open(rig, &q, 8);
	su_end_open(rig, &end, &q);
	expect_state(dat_srq_free(q.srq), SRQ_IN_USE);
	expect_ok(su_post(&q, 1));
	expect_ok(dat_ep_free(end.ep));
	expect_ok(dat_srq_free(q.srq));
	expect_handle(su_post(&q, 1), SRQ);
}

/* ---- Counts ------------------------------------------------------------ */

static void srq_17_18_what_is_available_and_outstanding(void **state)
{
	struct cu_rig *rig = *state;
	struct su_queue q;
	struct ct_end a = { 0 }, p = { 0 };

	su_open(rig, &q, 10);
	su_pair(rig, &a, &p, &q);
	su_fill(&q, 0, 2);
	su_check_counts(rig, q.srq, 3, 3);
	su_send(&a, 8, 1);
	if (rig->prov.srq_info_supported & 1) {
		ct_await(su_query(q.srq).available_dto_count == 2);
		su_check_counts(rig, q.srq, 2, 3);
	}
	su_taken(&p, &q, 8, 1);
	su_check_counts(rig, q.srq, 2, 2);
}

/* SRQ-9 */
static void srq_9_17_what_is_kept_counts(void **state)
{
	struct cu_rig *rig = *state;
	struct su_queue q;
	struct ct_end a = { 0 }, p = { 0 };
	DAT_EVENT event;
	DAT_COUNT more;

	su_open(rig, &q, 10);
	su_pair(rig, &a, &p, &q);
	su_fill(&q, 0, 4);
	for (unsigned i = 0; i < 3; i++)
		su_send(&a, 8, 7);
	expect_ok(dat_evd_wait(p.recv, CT_US, 3, &event, &more));
	assert_int_equal(more, 2);
	su_check_counts(rig, q.srq, 2, 4);
	su_taken(&p, &q, 8, 7);
	su_check_counts(rig, q.srq, 2, 3);
	/* With its endpoint and the queue gone, the last one stays or vanishes (DTO-80). */
	expect_ok(dat_ep_free(p.ep));
	expect_ok(dat_srq_free(q.srq));
	q.srq = DAT_HANDLE_NULL;
	assert_true(ct_drain(p.recv) <= 1);
}

/* ---- Resizing ---------------------------------------------------------- */

static void srq_21_24_resize(void **state)
{
	struct cu_rig *rig = *state;
	struct su_queue q;
	struct ct_end a = { 0 }, p = { 0 };
	DAT_RETURN rc;
	DAT_COUNT most;

	su_open(rig, &q, 4);
	su_pair(rig, &a, &p, &q);
	su_fill(&q, 0, 3);
	rc = dat_srq_resize(q.srq, 20);
	if (cu_unsupported(rc))
		harness_skip("the adapter does not resize its queues");
	expect_ok(rc);
	most = su_query(q.srq).max_recv_dtos;
	assert_true(most >= 20);
	for (DAT_COUNT i = 4; i < most; i++)
		expect_ok(su_post(&q, (uint64_t)i % 1000));
	expect_type(su_post(&q, 999), DAT_INSUFFICIENT_RESOURCES);
	for (unsigned i = 0; i < 12; i++) { /* none was lost */
		su_send(&a, 8, i);
		su_taken(&p, &q, 8, i);
	}
	expect_ok(dat_srq_resize(q.srq, most - 12));
	assert_true(su_query(q.srq).max_recv_dtos >= most - 12);
	su_send(&a, 8, 50);
	su_taken(&p, &q, 8, 50);
}

static void srq_22_23_sizes_that_are_refused(void **state)
{
	struct cu_rig *rig = *state;
	struct su_queue q;

	su_open(rig, &q, 8);
	su_fill(&q, 0, 3);
	expect_arg(dat_srq_resize(q.srq, 0), 2);
	expect_arg(dat_srq_resize(q.srq, -5), 2);
	if (rig->attr.max_recv_per_srq < INT32_MAX)
		expect_arg(dat_srq_resize(q.srq, rig->attr.max_recv_per_srq + 1), 2);
	expect_type(dat_srq_resize(q.srq, 3), DAT_INVALID_STATE);
	assert_true(su_query(q.srq).max_recv_dtos >= 8);
	if (rig->prov.srq_watermarks_supported & 1) {
		expect_ok(dat_srq_set_lw(q.srq, 6));
		expect_type(dat_srq_resize(q.srq, 5), DAT_INVALID_STATE);
		/* Equal is not less. */
		expect_ok(dat_srq_resize(q.srq, 6));
	}
	expect_ok(dat_srq_resize(q.srq, 8));
	su_close(&q);
}

/* ---- The end, threads -------------------------------------------------- */

#define I(f) cmocka_unit_test_setup_teardown(f, cu_setup_ia, cu_teardown)

int main(int argc, char **argv)
{
	static const struct harness_child children[] = { { "no-attributes", no_attributes },
							 { NULL, NULL } };
	static const struct CMUnitTest tests[] = {
		I(srq_2_3_as_announced),
		I(srq_4_16_20_a_new_queue),
		I(srq_5_wrong_attributes),
		I(srq_19_masks),
		I(srq_10_11_posting_without_endpoints),
		I(srq_31_32_33_37_attributes),
		I(srq_32_without_attributes),
		I(srq_34_35_handles_and_zones),
		I(dto_43_nothing_is_posted_to_the_endpoint),
		I(srq_31_the_association_stays),
		I(srq_8_in_use_by_an_endpoint),
		I(srq_17_18_what_is_available_and_outstanding),
		I(srq_9_17_what_is_kept_counts),
		I(srq_21_24_resize),
		I(srq_22_23_sizes_that_are_refused),
	};

	harness_child_main(argc, argv, children);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
