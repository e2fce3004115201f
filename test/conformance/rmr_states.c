/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Binds of several endpoints, in their states, and the end of what is bound. */
#include "bind_util.h"

/* ---- Several endpoints ------------------------------------------------- */

/* A second pair that shares zone and memory with the first. */
static void second_pair(struct cu_rig *rig, struct ct_end *a, struct ct_end *p)
{
	memset(a, 0, sizeof(*a));
	memset(p, 0, sizeof(*p));
	p->pz = rig->p.pz;
	ct_end_open(a, rig->ia, NULL);
	ct_end_open(p, rig->ia, NULL);
	cu_establish(rig, a, p);
}

static void rmr_20_any_endpoint_of_the_zone_re_binds(void **state)
{
	struct cu_rig *rig = *state;
	DAT_RMR_HANDLE rmr = bu_rmr(rig, rig->p.pz, DAT_RMR_SCOPE_PZ);
	struct ct_mem *one = cu_extra_mem(rig, rig->p.pz, 4096, DAT_MEM_PRIV_ALL_FLAG);
	struct ct_end a, p;

	second_pair(rig, &a, &p);
	bu_bound(&rig->p, rmr, one, 0, 64);
	bu_bound(&p, rmr, &p.mem, 0, 64);
	bu_free_lmr(one);
	bu_unbound(&rig->p, rmr);
	bu_check_unbound(rmr);
}

static void rmr_21_one_endpoint_at_a_time(void **state)
{
	struct cu_rig *rig = *state;
	DAT_RMR_HANDLE rmr = bu_rmr(rig, rig->p.pz, DAT_RMR_SCOPE_EP);
	struct ct_end a, p;

	second_pair(rig, &a, &p);
	bu_bound(&rig->p, rmr, &rig->p.mem, 0, 64);
	expect_type(bu_bind(&p, rmr, &p.mem, 0, 64, 1, NULL), DAT_INVALID_STATE);
	bu_bound(&rig->p, rmr, &rig->p.mem, 64, 64);
	expect_type(bu_bind(&p, rmr, &p.mem, 0, 64, 1, NULL), DAT_INVALID_STATE);
	bu_unbound(&rig->p, rmr);
	bu_bound(&p, rmr, &p.mem, 0, 64);
	ct_empty(rig->p.request);
	/* The endpoint it was bound through has left the connected state. */
	cu_end_connection(&a, &p);
	bu_bound(&rig->p, rmr, &rig->p.mem, 0, 64);
}

/* ---- States ------------------------------------------------------------ */

static void rmr_24_states_without_a_connection(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end end = { 0 };
	DAT_RMR_HANDLE rmr;

	end.pz = rig->p.pz;
	ct_end_open(&end, rig->ia, NULL);
	rmr = bu_any_rmr(rig, end.pz);
	expect_state(bu_bind(&end, rmr, &end.mem, 0, 64, 1, NULL), EP_UNCONNECTED);
	expect_state(bu_unbind(&end, rmr, 1), EP_UNCONNECTED);
	ct_empty(end.request);
	bu_free_lmr(&end.mem);
}

/* EVT-17 */
static void rmr_24_flushed_it_stays_as_it_was(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *p = &rig->p;
	struct ct_mem *one = cu_extra_mem(rig, p->pz, 4096, DAT_MEM_PRIV_ALL_FLAG);
	DAT_RMR_HANDLE rmr = bu_any_rmr(rig, p->pz);
	DAT_RMR_CONTEXT context = bu_bound(p, rmr, &p->mem, 128, 64);

	cu_end_connection(&rig->a, p);
	expect_ok(bu_bind(p, rmr, one, 0, 64, 2, NULL));
	bu_in_use(one);
	BIND_FLUSHED(p->request, rmr, 2);
	bu_check_bound(rmr, &p->mem, 128, 64, context);
	bu_free_lmr(one);
	expect_ok(bu_unbind(p, rmr, 3));
	BIND_FLUSHED(p->request, rmr, 3);
	bu_check_bound(rmr, &p->mem, 128, 64, context);
	bu_in_use(&p->mem);
	expect_ok(dat_rmr_free(rmr));
	bu_free_lmr(&p->mem);
}

/* EVD-93: also where the completion that would have said so is lost. */
static void rmr_24_flushed_unheard_it_stays_as_it_was(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end a = { 0 }, p = { .pz = rig->p.pz };
	DAT_RMR_HANDLE rmr = bu_any_rmr(rig, p.pz);
	DAT_EVENT event;
	DAT_COUNT qlen;

	p.request = ct_evd(rig->ia, 1, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG);
	qlen = ct_evd_param(p.request).evd_qlen;
	if (qlen > 8)
		harness_skip("the shortest queue has %d places", qlen);
	ct_end_open(&a, rig->ia, NULL);
	ct_end_open(&p, rig->ia, NULL);
	cu_establish(rig, &a, &p);
	cu_end_connection(&a, &p);
	for (DAT_COUNT i = 0; i < qlen; i++)
		expect_ok(ct_post_send(&p, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(bu_bind(&p, rmr, &p.mem, 0, 64, 2, NULL));
	cu_poll(rig->async, &event);
	assert_int_equal(event.event_number, DAT_ASYNC_ERROR_EVD_OVERFLOW);
	expect_ok(dat_ep_reset(p.ep));
	bu_check_unbound(rmr);
	bu_free_lmr(&p.mem);
}

static void rmr_19_24_queued_binds_are_flushed(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *p = &rig->p;
	struct ct_mem *one = cu_extra_mem(rig, p->pz, 4096, DAT_MEM_PRIV_ALL_FLAG);
	DAT_RMR_HANDLE rmr = bu_any_rmr(rig, p->pz);
	DAT_RMR_CONTEXT context;
	DAT_EVENT event;

	bu_stall(p); /* DTO-90 */
	expect_ok(bu_bind(p, rmr, one, 0, 64, 2, &context));
	expect_ok(dat_ep_disconnect(p->ep, DAT_CLOSE_ABRUPT_FLAG));
	cu_poll(p->request, &event); /* the send */
	cu_poll(p->request, &event);
	assert_int_equal(event.event_number, DAT_RMR_BIND_COMPLETION_EVENT);
	if (event.event_data.rmr_completion_event_data.status == DAT_DTO_SUCCESS) {
		/* The transport did not wait for a receive of the peer. */
		bu_check_bound(rmr, one, 0, 64, context);
		bu_in_use(one);
		return;
	}
	assert_int_equal(event.event_data.rmr_completion_event_data.status, DAT_DTO_ERR_FLUSHED);
	bu_check_unbound(rmr);
	bu_free_lmr(one);
}

/* ---- The end ----------------------------------------------------------- */

static void rmr_32_a_bound_region_is_freed(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *p = &rig->p;
	DAT_RMR_HANDLE rmr = bu_any_rmr(rig, p->pz), other = bu_any_rmr(rig, p->pz);

	bu_bound(p, rmr, &p->mem, 0, 64);
	expect_ok(dat_rmr_free(rmr));
	ct_empty(p->request);
	bu_bound(p, other, &p->mem, 0, 64);
	cu_end_connection(&rig->a, p);
	expect_ok(dat_rmr_free(other)); /* no connection is needed */
	bu_free_lmr(&p->mem);
}

static void rmr_33_freed_while_its_bind_waits(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *p = &rig->p;
	DAT_RMR_HANDLE rmr = bu_any_rmr(rig, p->pz);
	const DAT_RMR_BIND_COMPLETION_EVENT_DATA *data;
	DAT_EVENT event;

	bu_stall(p); /* DTO-90 */
	expect_ok(bu_bind(p, rmr, &p->mem, 0, 64, 5, NULL));
	expect_ok(dat_rmr_free(rmr));
	if (ct_ep_state(p->ep) != DAT_EP_STATE_CONNECTED)
		harness_skip("the connection does not wait for a receive");
	bu_free_lmr(&p->mem); /* RMR-32 */
	expect_ok(cu_recv(&rig->a, 0, 64, 1));
	cu_poll(p->request, &event);
	cu_poll(p->request, &event);
	assert_int_equal(event.event_number, DAT_RMR_BIND_COMPLETION_EVENT);
	data = &event.event_data.rmr_completion_event_data;
	assert_ptr_equal(data->rmr_handle, rmr);
	assert_true(data->user_cookie.as_64 == 5);
	assert_true(data->status == DAT_DTO_SUCCESS || data->status == DAT_RMR_OPERATION_FAILED ||
		    data->status == DAT_DTO_ERR_FLUSHED);
}

/* EP-114 */
static void rmr_37_bound_until_the_endpoint_is_freed(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *p = &rig->p;
	DAT_RMR_HANDLE rmr = bu_rmr(rig, p->pz, DAT_RMR_SCOPE_EP);
	DAT_RMR_CONTEXT context = bu_bound(p, rmr, &p->mem, 0, 64);

	cu_end_connection(&rig->a, p);
	bu_check_bound(rmr, &p->mem, 0, 64, context);
	bu_in_use(&p->mem);
	expect_ok(dat_ep_reset(p->ep));
	bu_in_use(&p->mem);
	expect_ok(dat_ep_free(p->ep));
	p->ep = DAT_HANDLE_NULL;
	bu_check_unbound(rmr);
	bu_free_lmr(&p->mem);
	expect_ok(dat_rmr_free(rmr));
}

static void rmr_37_the_zones_binding_outlives_the_endpoint(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *p = &rig->p;
	DAT_RMR_HANDLE rmr = bu_rmr(rig, p->pz, DAT_RMR_SCOPE_PZ);
	DAT_RMR_CONTEXT context = bu_bound(p, rmr, &p->mem, 0, 64);

	cu_end_connection(&rig->a, p);
	expect_ok(dat_ep_free(p->ep));
	p->ep = DAT_HANDLE_NULL;
	bu_check_bound(rmr, &p->mem, 0, 64, context);
	bu_in_use(&p->mem);
	expect_ok(dat_rmr_free(rmr));
	bu_free_lmr(&p->mem);
}

/* Nothing told that it was done, and nothing is told of it when the endpoint goes (RMR-23). */
static void rmr_37_nor_does_the_binding_of_a_suppressed_bind_go(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;
	DAT_RMR_HANDLE rmr = bu_rmr(rig, p->pz, DAT_RMR_SCOPE_PZ);
	DAT_RMR_HANDLE second = bu_rmr(rig, p->pz, DAT_RMR_SCOPE_PZ);
	struct ct_mem *one = cu_extra_mem(rig, p->pz, 4096, DAT_MEM_PRIV_ALL_FLAG);
	struct bu_bind bind = {
		.mem = &p->mem, .len = 64, .priv = BU_REMOTE, .flags = DAT_COMPLETION_SUPPRESS_FLAG
	};
	DAT_RMR_CONTEXT context;

	bu_bound(p, second, one, 0, 64);
	expect_ok(cu_recv(a, 0, 64, 1));
	expect_ok(bu_post(p, rmr, bind, &context));
	bind.len = 0;
	expect_ok(bu_post(p, second, bind, NULL));
	/* Behind them (RMR-10). */
	expect_ok(ct_post_send(p, 0, 64, 2, DAT_COMPLETION_SUPPRESS_FLAG));
	DONE(a->recv, a->ep, 1, DAT_DTO_RECEIVE, 64);
	expect_ok(dat_ep_free(p->ep));
	p->ep = DAT_HANDLE_NULL;
	ct_empty(p->request);
	bu_check_bound(rmr, &p->mem, 0, 64, context);
	bu_in_use(&p->mem);
	bu_check_unbound(second);
	bu_free_lmr(one);
	expect_ok(dat_rmr_free(rmr));
	bu_free_lmr(&p->mem);
}

/* RMR-19: the last one posted holds, in whichever places of the queue they stand. */
static void rmr_37_the_last_of_suppressed_binds_holds(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;
	DAT_RMR_HANDLE rmr = bu_rmr(rig, p->pz, DAT_RMR_SCOPE_PZ);
	struct ct_mem *old = cu_extra_mem(rig, p->pz, 4096, DAT_MEM_PRIV_ALL_FLAG);
	struct bu_bind bind = {
		.mem = old, .len = 64, .priv = BU_REMOTE, .flags = DAT_COMPLETION_SUPPRESS_FLAG
	};
	DAT_RMR_CONTEXT context;
	DAT_EP_PARAM param;
	int places = 1;

	expect_ok(dat_ep_query(p->ep, DAT_EP_FIELD_ALL, &param));
	while (places < param.ep_attr.max_request_dtos)
		places *= 2;
	/* The first of them in the last place, the other one in the first. */
	for (int i = 0; i < places - 1; i++) {
		expect_ok(cu_write(p, 0, 0, 3, &a->mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
		DONE(p->request, p->ep, 3, DAT_DTO_RDMA_WRITE, 0);
	}
	expect_ok(cu_recv(a, 0, 64, 1));
	expect_ok(bu_post(p, rmr, bind, NULL));
	bind.mem = &p->mem;
	expect_ok(bu_post(p, rmr, bind, &context));
	expect_ok(ct_post_send(p, 0, 64, 2, DAT_COMPLETION_SUPPRESS_FLAG));
	DONE(a->recv, a->ep, 1, DAT_DTO_RECEIVE, 64);
	expect_ok(dat_ep_free(p->ep));
	p->ep = DAT_HANDLE_NULL;
	bu_check_bound(rmr, &p->mem, 0, 64, context);
	bu_free_lmr(old);
	bu_in_use(&p->mem);
	expect_ok(dat_rmr_free(rmr));
	bu_free_lmr(&p->mem);
}

/* IA-84, IA-83 */
static void ia_83_84_closing_with_bound_regions(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end a = { 0 }, p = { 0 };
	struct ct_ia other;
	DAT_RMR_HANDLE rmr;

	ct_open(&other);
	ct_end_open(&a, other.ia, NULL);
	ct_end_open(&p, rig->ia, NULL);
	cu_establish(rig, &a, &p);
	rmr = bu_any_rmr(rig, a.pz);
	bu_bound(&a, rmr, &a.mem, 0, 64);
	expect_ok(bu_bind(&a, rmr, &a.mem, 64, 64, 2, NULL));
	expect_state(dat_ia_close(other.ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
	ct_close(&other); /* abrupt */
	expect_handle(dat_rmr_free(rmr), RMR);
	cu_conn_ended(p.connect, p.ep);
	a.mem.lmr = DAT_HANDLE_NULL;
	ct_mem_close(&a.mem);
}

#define C(f) cmocka_unit_test_setup_teardown(f, cu_setup_connected, cu_teardown)
#define I(f) cmocka_unit_test_setup_teardown(f, cu_setup_ia, cu_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		C(rmr_20_any_endpoint_of_the_zone_re_binds),
		C(rmr_21_one_endpoint_at_a_time),
		C(rmr_24_states_without_a_connection),
		C(rmr_24_flushed_it_stays_as_it_was),
		C(rmr_24_flushed_unheard_it_stays_as_it_was),
		C(rmr_19_24_queued_binds_are_flushed),
		C(rmr_32_a_bound_region_is_freed),
		C(rmr_33_freed_while_its_bind_waits),
		C(rmr_37_bound_until_the_endpoint_is_freed),
		C(rmr_37_the_zones_binding_outlives_the_endpoint),
		C(rmr_37_nor_does_the_binding_of_a_suppressed_bind_go),
		C(rmr_37_the_last_of_suppressed_binds_holds),
		I(ia_83_84_closing_with_bound_regions),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
