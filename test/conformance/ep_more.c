/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Endpoints: which events go where, what stays a side's own, what any end of an attempt allows. */
#include "conn_util.h"

static void ep_2_each_event_goes_to_its_dispatcher(void **state)
{
	struct cu_rig *rig = *state;

	cu_establish(rig, &rig->a, &rig->p);
	expect_ok(cu_recv(&rig->p, 0, 64, 1));
	expect_ok(ct_post_send(&rig->a, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(cu_write(&rig->a, 0, 64, 3, &rig->p.mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->a.request, rig->a.ep, 2, DAT_DTO_SEND, 64);
	DONE(rig->a.request, rig->a.ep, 3, DAT_DTO_RDMA_WRITE, 64);
	DONE(rig->p.recv, rig->p.ep, 1, DAT_DTO_RECEIVE, 64);
	cu_end_connection(&rig->a, &rig->p);
	cu_quiet(rig->a.recv, 20);
	cu_quiet(rig->a.request, 0);
	cu_quiet(rig->a.connect, 0);
	cu_quiet(rig->p.recv, 0);
	cu_quiet(rig->p.request, 0);
	cu_quiet(rig->p.connect, 0);
	cu_quiet(rig->async, 0);
}

static void ep_7_attributes_are_not_exchanged(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end small = { 0 };
	DAT_EP_PARAM before, peer, after;
	DAT_EP_ATTR attr;

	ct_default_attr(rig->ia, &attr);
	attr.max_message_size = 512;
	attr.max_rdma_size = 1024;
	attr.max_recv_dtos = 3;
	attr.max_request_dtos = 2;
	ct_end_open(&small, rig->ia, &attr);
	cu_query(small.ep, &before);
	cu_query(rig->p.ep, &peer);
	cu_establish(rig, &small, &rig->p);
	cu_query(small.ep, &after);
	assert_int_equal(after.ep_attr.max_message_size, before.ep_attr.max_message_size);
	assert_int_equal(after.ep_attr.max_rdma_size, before.ep_attr.max_rdma_size);
	assert_int_equal(after.ep_attr.max_recv_dtos, before.ep_attr.max_recv_dtos);
	cu_query(rig->p.ep, &after);
	assert_int_equal(after.ep_attr.max_message_size, peer.ep_attr.max_message_size);
	assert_int_equal(after.ep_attr.max_rdma_size, peer.ep_attr.max_rdma_size);
	assert_int_equal(after.ep_attr.max_recv_dtos, peer.ep_attr.max_recv_dtos);
	ct_end_close(&small);
}

static void ep_21_40_the_masks(void **state)
{
	(void)state;
	assert_true(DAT_EP_FIELD_EP_ATTR_ALL == 0x7ffff000);
	assert_true(DAT_EP_FIELD_ALL == 0x7fffffff);
	assert_true(DAT_EP_FIELD_COMM == 0x4);
	assert_true(DAT_EP_FIELD_SRQ_HANDLE == 0x800);
}

/* The address of the peer, which may move, but not away from valid memory. */
static void ep_57_pointers_are_valid_until_the_endpoint_is_freed(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EP_PARAM first, again;

	cu_establish(rig, &rig->a, &rig->p);
	cu_query(rig->a.ep, &first);
	cu_end_connection(&rig->a, &rig->p);
	expect_ok(dat_ep_reset(rig->a.ep));
	expect_ok(dat_ep_reset(rig->p.ep));
	cu_establish(rig, &rig->a, &rig->p);
	cu_query(rig->a.ep, &again);
	assert_int_equal(first.remote_ia_address_ptr->sa_family,
			 again.remote_ia_address_ptr->sa_family);
	assert_int_equal(first.local_ia_address_ptr->sa_family,
			 rig->attr.ia_address_ptr->sa_family);
}

/* A provider may refuse an endpoint that does not fit the request, and then nothing has changed. */
static void cr_13_an_endpoint_without_reads(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end none = { 0 };
	DAT_EP_ATTR attr;
	DAT_CR_HANDLE cr;
	DAT_RETURN rc;

	ct_default_attr(rig->ia, &attr);
	attr.max_rdma_read_in = attr.max_rdma_read_out = 0;
	ct_end_open(&none, rig->ia, &attr);
	cr = cu_request(rig, &rig->a);
	rc = dat_cr_accept(cr, none.ep, 0, NULL);
	if (rc != DAT_SUCCESS) {
		expect_arg(rc, 2);
		STATE(none.ep, UNCONNECTED);
		STATE(rig->a.ep, ACTIVE_CONNECTION_PENDING);
		expect_ok(dat_cr_accept(cr, rig->p.ep, 0, NULL));
	}
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	expect_ok(cu_write(&rig->a, 0, 64, 1, rc == DAT_SUCCESS ? &none.mem : &rig->p.mem, 0,
			   DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->a.request, rig->a.ep, 1, DAT_DTO_RDMA_WRITE, 64);
	ct_end_close(&none);
}

static void again(struct cu_rig *rig)
{
	expect_ok(dat_ep_reset(rig->a.ep));
	expect_ok(dat_ep_reset(rig->p.ep));
	cu_establish(rig, &rig->a, &rig->p);
	cu_end_connection(&rig->a, &rig->p);
	expect_ok(dat_ep_reset(rig->a.ep));
	expect_ok(dat_ep_reset(rig->p.ep));
}

/* Whatever the event was, a reset makes the endpoint good for the next attempt. */
static void ev_23_any_other_event_ends_the_attempt(void **state)
{
	struct cu_rig *rig = *state;
	DAT_TIMEOUT timeout = 50000;
	DAT_CR_HANDLE cr;
	uint64_t begun;

	/* No event at all: still unconnected. */
	again(rig);
	expect_ok(dat_cr_reject(cu_request(rig, &rig->a), 0, NULL));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED, NULL);
	again(rig);
	expect_ok(cu_connect(&rig->a, cu_free_qual(rig), DAT_TIMEOUT_INFINITE));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL);
	again(rig);
	cr = cu_request_in(rig, &rig->a, &timeout, &begun);
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_TIMED_OUT, NULL);
	expect_ok(dat_cr_reject(cr, 0, NULL));
	again(rig);
	cu_request(rig, &rig->a);
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	again(rig);
}

/* The request is legal from the event on, which is all that the passive side has. */
static void dto_21_requests_after_established(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CR_HANDLE cr;

	expect_ok(cu_recv(&rig->a, 0, 64, 1));
	cr = cu_request(rig, &rig->a);
	expect_state(ct_post_send(&rig->p, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG), EP_UNCONNECTED);
	expect_ok(dat_cr_accept(cr, rig->p.ep, 0, NULL));
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	expect_ok(ct_post_send(&rig->p, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->p.request, rig->p.ep, 2, DAT_DTO_SEND, 64);
	DONE(rig->a.recv, rig->a.ep, 1, DAT_DTO_RECEIVE, 64);
}

#define T(f) cmocka_unit_test_setup_teardown(f, cu_setup_ends, cu_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(ep_2_each_event_goes_to_its_dispatcher),
		T(ep_7_attributes_are_not_exchanged),
		T(ep_21_40_the_masks),
		T(ep_57_pointers_are_valid_until_the_endpoint_is_freed),
		T(cr_13_an_endpoint_without_reads),
		T(ev_23_any_other_event_ends_the_attempt),
		T(dto_21_requests_after_established),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
