/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Watermarks of queues and endpoints, and the count of receives at an endpoint. */
#include "srq_util.h"

#define NONE DAT_WATERMARK_INFINITE

/* A watermark event about an object (EVT-25 to EVT-27). */
static void told(struct cu_rig *rig, DAT_HANDLE object, int reason)
{
	DAT_HANDLE_TYPE type;
	DAT_EVENT event;

	cu_poll(rig->async, &event);
	assert_int_equal(event.event_number, DAT_ASYNC_ERROR_EP_BROKEN);
	assert_ptr_equal(event.event_data.asynch_error_event_data.dat_handle, object);
	assert_int_equal(event.event_data.asynch_error_event_data.reason, reason);
	expect_ok(dat_get_handle_type(object, &type));
	assert_true(type == DAT_HANDLE_TYPE_SRQ || type == DAT_HANDLE_TYPE_EP);
}

#define LOW(rig, srq) told((rig), (srq), DAT_SRQ_LOW_WATERMARK_EVENT)
#define SOFT(rig, ep) told((rig), (ep), DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT)

static void quiet(struct cu_rig *rig)
{
	cu_quiet(rig->async, 20);
}

/* ---- The low watermark of a queue -------------------------------------- */

static void need_low(const struct cu_rig *rig)
{
	su_need(rig);
	if (!(rig->prov.srq_watermarks_supported & 1))
		harness_skip("the adapter has no low watermark");
}

static DAT_RETURN create_low(struct cu_rig *rig, DAT_PZ_HANDLE pz, DAT_COUNT low,
			     DAT_SRQ_HANDLE *srq)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 10, .max_recv_iov = 1, .low_watermark = low };

	return dat_srq_create(rig->ia, pz, &attr, srq);
}

static void srq_6_armed_at_creation(void **state)
{
	struct cu_rig *rig = *state;
	DAT_PZ_HANDLE pz = ct_pz(rig->ia);
	DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;

	su_need(rig);
	if (!(rig->prov.srq_watermarks_supported & 1)) {
		expect_type(create_low(rig, pz, 1, &srq), DAT_MODEL_NOT_SUPPORTED);
		return;
	}
	expect_ok(create_low(rig, pz, 10, &srq));
	LOW(rig, srq);
	assert_int_equal(su_query(srq).low_watermark, 10);
	quiet(rig);
	expect_ok(dat_srq_free(srq));
	expect_ok(create_low(rig, pz, DAT_SRQ_LW_DEFAULT, &srq));
	quiet(rig);
}

/* SRQ-30 */
static void srq_25_26_27_once_for_each_setting(void **state)
{
	struct cu_rig *rig = *state;
	struct su_queue q;
	struct ct_end a = { 0 }, p = { 0 };

	need_low(rig);
	su_open(rig, &q, 10);
	su_pair(rig, &a, &p, &q);
	su_fill(&q, 0, 4);
	expect_ok(dat_srq_set_lw(q.srq, 4));
	assert_int_equal(su_query(q.srq).low_watermark, 4);
	su_send(&a, 8, 1);
	su_taken(&p, &q, 8, 1); /* 4 are left: not less than 4 */
	quiet(rig);
	su_send(&a, 8, 2);
	su_taken(&p, &q, 8, 2);
	LOW(rig, q.srq);
	/* Neither more takers nor more receives make another. */
	su_send(&a, 8, 3);
	su_taken(&p, &q, 8, 3);
	su_fill(&q, 5, 9);
	for (unsigned i = 0; i < 6; i++) {
		su_send(&a, 8, i);
		su_taken(&p, &q, 8, i);
	}
	quiet(rig);
	/* At once, if it is so already; and again. */
	expect_ok(dat_srq_set_lw(q.srq, 3));
	LOW(rig, q.srq);
	expect_ok(dat_srq_set_lw(q.srq, 4));
	LOW(rig, q.srq);
	quiet(rig);
}

static void srq_25_28_replaced_and_disarmed(void **state)
{
	struct cu_rig *rig = *state;
	struct su_queue q;
	struct ct_end a = { 0 }, p = { 0 };

	need_low(rig);
	su_open(rig, &q, 10);
	su_pair(rig, &a, &p, &q);
	su_fill(&q, 0, 4);
	expect_ok(dat_srq_set_lw(q.srq, 5));
	expect_ok(dat_srq_set_lw(q.srq, 2));
	su_send(&a, 8, 1);
	su_taken(&p, &q, 8, 1);
	quiet(rig);
	expect_ok(dat_srq_set_lw(q.srq, 0));
	for (unsigned i = 0; i < 4; i++) {
		su_send(&a, 8, i);
		su_taken(&p, &q, 8, i);
	}
	quiet(rig);
	assert_int_equal(su_query(q.srq).low_watermark, 0);
}

static void srq_29_values_that_are_refused(void **state)
{
	struct cu_rig *rig = *state;
	struct su_queue q;

	su_open(rig, &q, 10);
	expect_arg(dat_srq_set_lw(q.srq, -1), 2);
	expect_arg(dat_srq_set_lw(q.srq, su_query(q.srq).max_recv_dtos + 1), 2);
	expect_ok(dat_srq_set_lw(q.srq, 0));
	if (!(rig->prov.srq_watermarks_supported & 1))
		expect_type(dat_srq_set_lw(q.srq, 1), DAT_MODEL_NOT_SUPPORTED);
	quiet(rig);
	su_close(&q);
}

/* ---- The watermarks of an endpoint ------------------------------------- */

static void need_high(const struct cu_rig *rig, int bits)
{
	if ((rig->prov.srq_watermarks_supported & bits) != bits)
		harness_skip("the adapter has no high watermarks");
}

/* Receives at an ordinary endpoint. */
static void post(struct ct_end *end, uint64_t first, uint64_t last)
{
	for (uint64_t i = first; i <= last; i++)
		expect_ok(cu_recv(end, i * 64, 64, i));
}

/* EP-121, EP-122, EP-123 */
static void srq_39_40_41_soft_once_for_each_setting(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;

	need_high(rig, 2);
	expect_ok(dat_ep_set_watermark(p->ep, 3, NONE));
	post(p, 0, 2);
	quiet(rig); /* 3 do not exceed 3 */
	post(p, 3, 3);
	SOFT(rig, p->ep);
	post(p, 4, 6);
	quiet(rig);
	/* Nothing else happens to it. */
	STATE(p->ep, CONNECTED);
	for (unsigned i = 0; i < 7; i++) {
		su_send(a, 8, i);
		DONE(p->recv, p->ep, i, DAT_DTO_RECEIVE, 8);
	}
	post(p, 0, 6);
	quiet(rig);
	/* EP-126, EP-127 */
	expect_ok(dat_ep_set_watermark(p->ep, 6, NONE));
	SOFT(rig, p->ep);
	expect_ok(dat_ep_set_watermark(p->ep, 7, NONE));
	quiet(rig);
	expect_ok(dat_ep_set_watermark(p->ep, 8, NONE)); /* replaces the one before */
	post(p, 7, 7);
	quiet(rig);
	post(p, 8, 8);
	SOFT(rig, p->ep);
}

/* What was completed does not count, whether its event was taken or not. */
static void srq_40_completed_receives_do_not_count(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;

	need_high(rig, 2);
	expect_ok(dat_ep_set_watermark(p->ep, 2, NONE));
	for (unsigned i = 0; i < 5; i++) {
		post(p, i, i);
		su_send(a, 8, i);
		DONE(p->recv, p->ep, i, DAT_DTO_RECEIVE, 8);
	}
	post(p, 0, 1);
	quiet(rig);
	post(p, 2, 2);
	SOFT(rig, p->ep);
}

static void srq_39_unconnected_and_disabled(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end end = { 0 };

	need_high(rig, 6);
	ct_end_open(&end, rig->ia, NULL);
	expect_ok(dat_ep_set_watermark(end.ep, 1, NONE));
	expect_ok(dat_ep_set_watermark(end.ep, NONE, NONE));
	post(&end, 0, 3);
	quiet(rig);
	expect_ok(dat_ep_set_watermark(end.ep, 0, NONE));
	SOFT(rig, end.ep);
	expect_ok(dat_ep_set_watermark(end.ep, NONE, 2));
	STATE(end.ep, UNCONNECTED);
	quiet(rig);
	ct_end_close(&end);
}

static void srq_43_44_values_that_are_refused(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end end = { 0 };

	ct_end_open(&end, rig->ia, NULL);
	expect_arg(dat_ep_set_watermark(end.ep, -2, NONE), 2);
	expect_arg(dat_ep_set_watermark(end.ep, NONE, -2), 3);
	expect_arg(dat_ep_set_watermark(end.ep, INT32_MIN, INT32_MIN), 2);
	expect_ok(dat_ep_set_watermark(end.ep, NONE, NONE));
	if (!(rig->prov.srq_watermarks_supported & 2))
		expect_type(dat_ep_set_watermark(end.ep, 5, NONE), DAT_MODEL_NOT_SUPPORTED);
	if (!(rig->prov.srq_watermarks_supported & 4))
		expect_type(dat_ep_set_watermark(end.ep, NONE, 5), DAT_MODEL_NOT_SUPPORTED);
	expect_ok(dat_ep_free(end.ep));
	expect_handle(dat_ep_set_watermark(end.ep, NONE, NONE), EP);
}

/* The connection of p has been broken by its own side; the peer sees an end. */
static void broken(struct ct_end *a, struct ct_end *p)
{
	DAT_EVENT event;

	cu_conn_event(p->connect, p->ep, DAT_CONNECTION_EVENT_BROKEN, &event);
	STATE(p->ep, DISCONNECTED);
	cu_conn_ended(a->connect, a->ep);
}

/* EP-124 */
static void srq_42_hard_breaks_the_connection(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;

	need_high(rig, 4);
	expect_ok(dat_ep_set_watermark(p->ep, NONE, 3));
	post(p, 0, 2);
	cu_quiet(p->connect, 20);
	STATE(p->ep, CONNECTED);
	post(p, 3, 3);
	broken(a, p);
	for (uint64_t i = 0; i < 4; i++)
		FLUSHED(p->recv, p->ep, i, DAT_DTO_RECEIVE);
	quiet(rig); /* no asynchronous event (SRQ-41 is the other one) */
}

/* EP-126 */
static void srq_42_hard_exceeded_at_the_call(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;

	need_high(rig, 4);
	post(p, 0, 4);
	expect_ok(dat_ep_set_watermark(p->ep, NONE, 5));
	STATE(p->ep, CONNECTED);
	expect_ok(dat_ep_set_watermark(p->ep, NONE, 4));
	broken(a, p);
}

static void srq_42_hard_before_the_connection(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end a = { 0 }, p = { 0 };
	DAT_EVENT event;

	need_high(rig, 4);
	ct_end_open(&a, rig->ia, NULL);
	ct_end_open(&p, rig->ia, NULL);
	post(&p, 0, 4);
	expect_ok(dat_ep_set_watermark(p.ep, NONE, 2));
	STATE(p.ep, UNCONNECTED);
	expect_ok(cu_connect(&a, rig->qual, CT_US));
	expect_ok(dat_cr_accept(cu_take_cr(rig->cr), p.ep, 0, NULL));
	cu_conn_event(p.connect, p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	cu_conn_event(a.connect, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	broken(&a, &p);
}

/* IA-67, EP-34: an attribute is the initial soft one, and 0 is none there. */
static void srq_32_41_soft_as_an_attribute(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end end = { 0 };
	DAT_EP_PARAM param;
	DAT_EP_ATTR attr;

	need_high(rig, 2);
	ct_default_attr(rig->ia, &attr);
	attr.srq_soft_hw = 2;
	ct_end_open(&end, rig->ia, &attr);
	cu_query(end.ep, &param);
	assert_int_equal(param.ep_attr.srq_soft_hw, 2);
	post(&end, 0, 1);
	quiet(rig);
	post(&end, 2, 2);
	SOFT(rig, end.ep);
	param.ep_attr.srq_soft_hw = 0;
	expect_ok(dat_ep_modify(end.ep, DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW, &param));
	post(&end, 3, 3);
	quiet(rig);
	param.ep_attr.srq_soft_hw = 3;
	expect_ok(dat_ep_modify(end.ep, DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW, &param));
	SOFT(rig, end.ep);
	ct_end_close(&end);
}

/* ---- With a queue: what was taken counts ------------------------------- */

/*
 * Where messages are taken at once, one receive is at the endpoint at a time, and only for a
 * moment: watermarks that it must pass are told apart from those it never does.
 */
static void srq_40_41_soft_with_a_queue(void **state)
{
	struct cu_rig *rig = *state;
	struct su_queue q;
	struct ct_end a = { 0 }, p = { 0 };

	need_high(rig, 2);
	su_open(rig, &q, 10);
	su_pair(rig, &a, &p, &q);
	expect_ok(dat_ep_set_watermark(p.ep, 5, NONE));
	su_fill(&q, 0, 9); /* they are the queue's, not the endpoint's */
	for (unsigned i = 0; i < 3; i++) {
		su_send(&a, 8, i);
		su_taken(&p, &q, 8, i);
	}
	quiet(rig);
	expect_ok(dat_ep_set_watermark(p.ep, 0, NONE));
	su_send(&a, 8, 4);
	su_taken(&p, &q, 8, 4);
	SOFT(rig, p.ep);
	su_send(&a, 8, 5);
	su_taken(&p, &q, 8, 5);
	quiet(rig);
	STATE(p.ep, CONNECTED);
}

static void srq_42_hard_with_a_queue(void **state)
{
	struct cu_rig *rig = *state;
	struct su_queue q;
	struct ct_end a = { 0 }, p = { 0 };

	need_high(rig, 4);
	su_open(rig, &q, 10);
	su_fill(&q, 0, 9);
	su_pair(rig, &a, &p, &q);
	expect_ok(dat_ep_set_watermark(p.ep, NONE, 3));
	su_send(&a, 8, 1);
	su_taken(&p, &q, 8, 1);
	STATE(p.ep, CONNECTED);
	expect_ok(dat_ep_set_watermark(p.ep, NONE, 0));
	expect_ok(ct_post_send(&a, 0, 8, 2, DAT_COMPLETION_DEFAULT_FLAG));
	broken(&a, &p);
}

/* ---- How many there are ------------------------------------------------ */

static void check_count(struct cu_rig *rig, DAT_EP_HANDLE ep, DAT_COUNT count)
{
	DAT_COUNT allocated = -7, span = -7, alone = -7;

	expect_ok(dat_ep_recv_query(ep, &allocated, &span));
	if (allocated != DAT_VALUE_UNKNOWN) {
		assert_true(rig->prov.ep_recv_info_supported & 1);
		assert_int_equal(allocated, count);
	}
	if (span != DAT_VALUE_UNKNOWN) {
		assert_true(rig->prov.ep_recv_info_supported & 2);
		assert_int_equal(span, count);
	}
	expect_ok(dat_ep_recv_query(ep, &alone, NULL));
	assert_int_equal(alone, allocated);
	expect_ok(dat_ep_recv_query(ep, NULL, &alone));
	assert_int_equal(alone, span);
	expect_ok(dat_ep_recv_query(ep, NULL, NULL));
}

/* EP-117, EP-118 */
static void srq_45_46_47_receives_at_an_endpoint(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;

	if (rig->prov.ep_recv_info_supported == 0)
		harness_skip("the adapter does not count receives");
	check_count(rig, p->ep, 0);
	post(p, 0, 4);
	check_count(rig, p->ep, 5);
	su_send(a, 8, 1);
	DONE(p->recv, p->ep, 0, DAT_DTO_RECEIVE, 8);
	check_count(rig, p->ep, 4);
	cu_end_connection(a, p);
	check_count(rig, p->ep, 0);
}

/* EP-117, EP-119 */
static void srq_45_46_of_a_queue(void **state)
{
	struct cu_rig *rig = *state;
	struct su_queue q;
	struct ct_end a = { 0 }, p = { 0 };

	if (rig->prov.ep_recv_info_supported == 0)
		harness_skip("the adapter does not count receives");
	su_open(rig, &q, 10);
	su_pair(rig, &a, &p, &q);
	su_fill(&q, 0, 9);
	check_count(rig, p.ep, 0);
	su_send(&a, 8, 1);
	su_taken(&p, &q, 8, 1);
	check_count(rig, p.ep, 0);
}

static void srq_36_more_endpoints_than_allowed(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end first = { 0 };
	DAT_COUNT most = rig->attr.max_ep_per_srq;
	DAT_EP_HANDLE ep;
	struct su_queue q;
	DAT_EP_PARAM param;

	su_need(rig);
	if (most > 1024)
		harness_skip("the adapter allows %d endpoints to a queue", most);
	su_open(rig, &q, 10);
	su_end_open(rig, &first, &q);
	cu_query(first.ep, &param);
	for (DAT_COUNT i = 1; i < most; i++)
		expect_ok(dat_ep_create_with_srq(rig->ia, q.pz, first.recv, first.request,
						 first.connect, q.srq, &param.ep_attr, &ep));
	expect(dat_ep_create_with_srq(rig->ia, q.pz, first.recv, first.request, first.connect,
				      q.srq, &param.ep_attr, &ep),
	       DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
}

#define I(f) cmocka_unit_test_setup_teardown(f, cu_setup_ia, cu_teardown)
#define C(f) cmocka_unit_test_setup_teardown(f, cu_setup_connected, cu_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		I(srq_6_armed_at_creation),
		I(srq_25_26_27_once_for_each_setting),
		I(srq_25_28_replaced_and_disarmed),
		I(srq_29_values_that_are_refused),
		C(srq_39_40_41_soft_once_for_each_setting),
		C(srq_40_completed_receives_do_not_count),
		I(srq_39_unconnected_and_disabled),
		I(srq_43_44_values_that_are_refused),
		C(srq_42_hard_breaks_the_connection),
		C(srq_42_hard_exceeded_at_the_call),
		I(srq_42_hard_before_the_connection),
		I(srq_32_41_soft_as_an_attribute),
		I(srq_40_41_soft_with_a_queue),
		I(srq_42_hard_with_a_queue),
		C(srq_45_46_47_receives_at_an_endpoint),
		I(srq_45_46_of_a_queue),
		I(srq_36_more_endpoints_than_allowed),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
