/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Send with invalidate, and RDMA Read into a remote memory region. */
#include "bind_util.h"

#define WINDOW 4096
#define LENGTH 1024

static DAT_RETURN send_inv(struct ct_end *end, size_t len, uint64_t cookie, int flag,
			   DAT_RMR_CONTEXT context, DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET segment = ct_segment(&end->mem, 0, len);

	return dat_ep_post_send_with_invalidate(end->ep, 1, &segment, cu_cookie(cookie), flags,
						(DAT_BOOLEAN)flag, context);
}

/* No attribute says whether the call is there: an unsupported one says so before all else. */
static void need_send(struct cu_rig *rig)
{
	if (cu_unsupported(dat_ep_post_send_with_invalidate(
		    rig->a.ep, -1, NULL, cu_cookie(0), DAT_COMPLETION_DEFAULT_FLAG, DAT_FALSE, 0)))
		harness_skip("the adapter has no send with invalidate");
}

static void need_read(struct cu_rig *rig)
{
	if (cu_unsupported(dat_ep_post_rdma_read_to_rmr(rig->a.ep, NULL, cu_cookie(0), NULL,
							DAT_COMPLETION_DEFAULT_FLAG)))
		harness_skip("the adapter has no read into a remote memory region");
}

static DAT_RMR_CONTEXT window(struct cu_rig *rig, DAT_RMR_HANDLE *rmr)
{
	*rmr = bu_rmr(rig, rig->p.pz, DAT_RMR_SCOPE_EP);
	return bu_bound(&rig->p, *rmr, &rig->p.mem, WINDOW, LENGTH);
}

static DAT_RMR_TRIPLET inside(const struct ct_end *p, DAT_RMR_CONTEXT context)
{
	return bu_target((DAT_VADDR)(uintptr_t)p->mem.base + WINDOW, 64, context);
}

static DAT_RETURN read_from(struct ct_end *end, DAT_RMR_TRIPLET from, uint64_t cookie)
{
	DAT_LMR_TRIPLET to = ct_segment(&end->mem, 2048, from.segment_length);

	return dat_ep_post_rdma_read(end->ep, 1, &to, cu_cookie(cookie), &from,
				     DAT_COMPLETION_DEFAULT_FLAG);
}

/* A receive that invalidated a context (EVT-12). */
static void invalidated(struct ct_end *end, uint64_t cookie, size_t len, DAT_RMR_CONTEXT context)
{
	DAT_DTO_COMPLETION_EVENT_DATA dto = cu_completion(end->recv);

	assert_int_equal(dto.status, DAT_DTO_SUCCESS);
	assert_ptr_equal(dto.ep_handle, end->ep);
	assert_true(dto.user_cookie.as_64 == cookie);
	assert_int_equal(dto.operation, DAT_DTO_RECEIVE_WITH_INVALIDATE);
	assert_int_equal(dto.transfered_length, len);
	assert_int_equal(dto.rmr_context, context);
}

/* ---- Send with invalidate ---------------------------------------------- */

/* RMR-34, EVT-11 */
static void dto_58_60_the_message_takes_the_context_away(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;
	DAT_RMR_HANDLE rmr;
	DAT_RMR_CONTEXT context;

	need_send(rig);
	context = window(rig, &rmr);
	expect_ok(read_from(a, inside(p, context), 1));
	DONE(a->request, a->ep, 1, DAT_DTO_RDMA_READ, 64);
	cu_fill(a->mem.base, 100, 1);
	expect_ok(cu_recv(p, 0, 128, 2));
	expect_ok(send_inv(a, 100, 3, DAT_TRUE, context, DAT_COMPLETION_DEFAULT_FLAG));
	invalidated(p, 2, 100, context);
	FILLED(p->mem.base, 100, 1);
	DONE(a->request, a->ep, 3, DAT_DTO_SEND, 100);
	/* By now nothing can use it. */
	expect_ok(read_from(a, inside(p, context), 4));
	assert_int_equal(cu_completion(a->request).status, DAT_DTO_ERR_REMOTE_ACCESS);
	cu_conn_ended(a->connect, a->ep);
	cu_conn_ended(p->connect, p->ep);
}

/* RMR-19 */
static void rmr_35_unbound_and_free_to_be_bound_again(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;
	DAT_RMR_HANDLE rmr;
	DAT_RMR_CONTEXT context, next;

	need_send(rig);
	context = window(rig, &rmr);
	for (uint64_t i = 0; i < 10; i++) {
		expect_ok(cu_recv(p, 0, 64, i));
		expect_ok(send_inv(a, 8, i, DAT_TRUE, context, DAT_COMPLETION_DEFAULT_FLAG));
		invalidated(p, i, 8, context);
		DONE(a->request, a->ep, i, DAT_DTO_SEND, 8);
		assert_int_equal(bu_query(rmr).rmr_context, 0);
		assert_int_equal(bu_query(rmr).lmr_triplet.segment_length, 0);
		next = bu_bound(p, rmr, &p->mem, WINDOW, LENGTH);
		assert_int_not_equal(next, context);
		context = next;
		expect_ok(read_from(a, inside(p, context), 99));
		DONE(a->request, a->ep, 99, DAT_DTO_RDMA_READ, 64);
	}
	expect_ok(cu_recv(p, 0, 64, 20));
	expect_ok(send_inv(a, 8, 21, DAT_TRUE, context, DAT_COMPLETION_DEFAULT_FLAG));
	invalidated(p, 20, 8, context);
	bu_free_lmr(&p->mem);
}

/* The bind's own completion may not have been looked at, or not be wanted at all. */
static void rmr_35_before_the_bind_was_seen_to_complete(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;
	struct ct_mem *mem;
	struct bu_bind bind = {
		.len = 64, .priv = BU_REMOTE, .cookie = 7, .flags = DAT_COMPLETION_SUPPRESS_FLAG
	};
	DAT_RMR_CONTEXT context = 0;
	DAT_RMR_HANDLE rmr;

	need_send(rig);
	rmr = bu_rmr(rig, p->pz, DAT_RMR_SCOPE_EP);
	mem = cu_extra_mem(rig, p->pz, 4096, DAT_MEM_PRIV_ALL_FLAG);
	bind.mem = mem;
	expect_ok(cu_recv(a, 0, 64, 1));
	expect_ok(cu_recv(p, 0, 64, 2));
	expect_ok(bu_post(p, rmr, bind, &context));
	expect_ok(ct_post_send(p, 0, 8, 3, DAT_COMPLETION_SUPPRESS_FLAG));
	DONE(a->recv, a->ep, 1, DAT_DTO_RECEIVE, 8); /* the bind is done (RMR-10) */
	expect_ok(send_inv(a, 8, 4, DAT_TRUE, context, DAT_COMPLETION_DEFAULT_FLAG));
	invalidated(p, 2, 8, context);
	assert_int_equal(bu_query(rmr).rmr_context, 0);
	bu_free_lmr(mem);
}

static void dto_59_without_the_flag_it_is_a_send(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;
	DAT_RMR_HANDLE rmr;
	DAT_RMR_CONTEXT context;

	need_send(rig);
	context = window(rig, &rmr);
	for (uint64_t i = 0; i < 2; i++) {
		expect_ok(cu_recv(p, 0, 64, i));
		expect_ok(send_inv(a, 16, i, DAT_FALSE, i ? context : 0xffffffff,
				   DAT_COMPLETION_DEFAULT_FLAG));
		DONE(p->recv, p->ep, i, DAT_DTO_RECEIVE, 16);
		DONE(a->request, a->ep, i, DAT_DTO_SEND, 16);
	}
	expect_ok(read_from(a, inside(p, context), 9));
	DONE(a->request, a->ep, 9, DAT_DTO_RDMA_READ, 64);
}

/* DTO-11, DTO-12, DTO-91 */
static void dto_63_arguments(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;
	DAT_LMR_TRIPLET segments[32];
	DAT_COMPLETION_FLAGS none = DAT_COMPLETION_DEFAULT_FLAG;
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;

	need_send(rig);
	for (int i = 0; i < 32; i++)
		segments[i] = ct_segment(&a->mem, 0, 1);
	expect_arg(send_inv(a, 8, 1, 2, 5, none), 6);
	expect_arg(dat_ep_post_send_with_invalidate(a->ep, -1, segments, cu_cookie(1), none,
						    DAT_TRUE, 5),
		   2);
	expect_arg(dat_ep_post_send_with_invalidate(a->ep, 32, segments, cu_cookie(1), none,
						    DAT_TRUE, 5),
		   2);
	expect_arg(
		dat_ep_post_send_with_invalidate(a->ep, 1, NULL, cu_cookie(1), none, DAT_TRUE, 5),
		3);
	expect_handle(dat_ep_post_send_with_invalidate(a->pz, 1, segments, cu_cookie(1), none,
						       DAT_TRUE, 5),
		      EP);
	ct_empty(a->request);
	context = window(rig, &rmr);
	expect_ok(cu_recv(p, 0, 64, 2));
	expect_ok(dat_ep_post_send_with_invalidate(a->ep, 0, NULL, cu_cookie(3), none, DAT_TRUE,
						   context));
	invalidated(p, 2, 0, context);
	DONE(a->request, a->ep, 3, DAT_DTO_SEND, 0);
}

/* DTO-20, DTO-26 */
static void dto_63_states_and_suppression(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p, spare = { 0 };
	DAT_RMR_HANDLE rmr;
	DAT_RMR_CONTEXT context;

	need_send(rig);
	ct_end_open(&spare, rig->ia, NULL);
	expect_state(send_inv(&spare, 8, 1, DAT_TRUE, 5, DAT_COMPLETION_DEFAULT_FLAG),
		     EP_UNCONNECTED);
	context = window(rig, &rmr);
	expect_ok(cu_recv(p, 0, 64, 2));
	expect_ok(send_inv(a, 8, 3, DAT_TRUE, context, DAT_COMPLETION_SUPPRESS_FLAG));
	invalidated(p, 2, 8, context);
	ct_empty(a->request);
	cu_end_connection(a, p);
	expect_ok(send_inv(a, 8, 4, DAT_TRUE, 5, DAT_COMPLETION_SUPPRESS_FLAG));
	FLUSHED(a->request, a->ep, 4, DAT_DTO_SEND);
}

/* DTO-25: it notifies as a receive does. */
static void dto_58_events_that_are_kept(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;
	DAT_RMR_HANDLE rmr;
	DAT_RMR_CONTEXT context;
	DAT_EVENT event;
	DAT_COUNT more;

	need_send(rig);
	context = window(rig, &rmr);
	expect_ok(cu_recv(p, 0, 64, 1));
	expect_ok(cu_recv(p, 0, 64, 2));
	expect_ok(ct_post_send(a, 0, 8, 3, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(send_inv(a, 8, 4, DAT_TRUE, context, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(dat_evd_wait(p->recv, CT_US, 2, &event, &more));
	assert_int_equal(event.event_data.dto_completion_event_data.operation, DAT_DTO_RECEIVE);
	assert_int_equal(event.event_data.dto_completion_event_data.rmr_context, 0);
	assert_int_equal(more, 1);
	invalidated(p, 2, 8, context);
}

/* What must not be invalidated (RMR-36, DTO-84): both ends, and nothing happens to it. */
static void refused(struct cu_rig *rig, DAT_RMR_CONTEXT context)
{
	struct ct_end *a = &rig->a, *p = &rig->p;
	DAT_DTO_COMPLETION_STATUS status;

	expect_ok(cu_recv(p, 0, 64, 1));
	expect_ok(send_inv(a, 8, 2, DAT_TRUE, context, DAT_COMPLETION_DEFAULT_FLAG));
	status = cu_completion(a->request).status;
	assert_true(status == DAT_DTO_SUCCESS || status == DAT_DTO_ERR_REMOTE_ACCESS);
	assert_int_equal(cu_completion(p->recv).status, DAT_DTO_ERR_LOCAL_PROTECTION);
	cu_conn_ended(a->connect, a->ep);
	cu_conn_ended(p->connect, p->ep);
}

static void dto_61_unknown_contexts(void **state)
{
	struct cu_rig *rig = *state;

	need_send(rig);
	refused(rig, 0x12345678);
}

static void dto_61_no_longer_valid(void **state)
{
	struct cu_rig *rig = *state;
	DAT_RMR_HANDLE rmr;
	DAT_RMR_CONTEXT context;

	need_send(rig);
	context = window(rig, &rmr);
	bu_unbound(&rig->p, rmr);
	refused(rig, context);
}

static void rmr_36_scope_zone(void **state)
{
	struct cu_rig *rig = *state;
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;

	need_send(rig);
	rmr = bu_rmr(rig, rig->p.pz, DAT_RMR_SCOPE_PZ);
	context = bu_bound(&rig->p, rmr, &rig->p.mem, WINDOW, LENGTH);
	refused(rig, context); /* DTO-61 */
	assert_int_equal(bu_query(rmr).rmr_context, context);
	bu_in_use(&rig->p.mem);
}

static void rmr_36_an_lmrs_context(void **state)
{
	struct cu_rig *rig = *state;

	need_send(rig);
	refused(rig, rig->p.mem.rmr_context);
}

static void rmr_36_of_another_endpoint(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end a = { 0 }, p = { .pz = rig->p.pz };
	DAT_RMR_HANDLE rmr;
	DAT_RMR_CONTEXT context;

	need_send(rig);
	rmr = bu_rmr(rig, rig->p.pz, DAT_RMR_SCOPE_EP);
	ct_end_open(&a, rig->ia, NULL);
	ct_end_open(&p, rig->ia, NULL);
	cu_establish(rig, &a, &p);
	context = bu_bound(&p, rmr, &p.mem, WINDOW, LENGTH);
	refused(rig, context);
	/* The one it belongs to notices nothing. */
	expect_ok(read_from(&a, inside(&p, context), 5));
	DONE(a.request, a.ep, 5, DAT_DTO_RDMA_READ, 64);
	assert_int_equal(bu_query(rmr).rmr_context, context);
}

/* ---- RDMA Read to RMR -------------------------------------------------- */

static DAT_RETURN read_to(struct ct_end *end, DAT_RMR_TRIPLET to, DAT_RMR_TRIPLET from,
			  uint64_t cookie, DAT_COMPLETION_FLAGS flags)
{
	return dat_ep_post_rdma_read_to_rmr(end->ep, &to, cu_cookie(cookie), &from, flags);
}

static void dto_52_into_a_binding(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;
	DAT_RMR_TRIPLET from = ct_target(&p->mem, 0, 200), to;
	DAT_RMR_CONTEXT context;

	need_read(rig);
	cu_fill(p->mem.base, 200, 2);
	for (int scope = DAT_RMR_SCOPE_EP; scope <= (int)DAT_RMR_SCOPE_PZ; scope++) {
		if (!bu_has_scope(rig, (DAT_RMR_SCOPE)scope))
			continue;
		context = bu_bound(a, bu_rmr(rig, a->pz, (DAT_RMR_SCOPE)scope), &a->mem, WINDOW,
				   LENGTH);
		cu_set(a->mem.base, 0, 8192);
		to = bu_target((DAT_VADDR)(uintptr_t)a->mem.base + WINDOW + 10, 200, context);
		expect_ok(read_to(a, to, from, 1, DAT_COMPLETION_DEFAULT_FLAG));
		DONE(a->request, a->ep, 1, DAT_DTO_RDMA_READ, 200);
		FILLED(a->mem.base + WINDOW + 10, 200, 2);
		ALL(a->mem.base + WINDOW, 0, 10);
		ALL(a->mem.base + WINDOW + 210, 0, 100);
	}
}

/* The context of an LMR will do as well. */
static void dto_52_into_an_lmr(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;

	need_read(rig);
	cu_fill(p->mem.base, 64, 3);
	expect_ok(read_to(a, ct_target(&a->mem, 512, 64), ct_target(&p->mem, 0, 64), 1,
			  DAT_COMPLETION_DEFAULT_FLAG));
	DONE(a->request, a->ep, 1, DAT_DTO_RDMA_READ, 64);
	FILLED(a->mem.base + 512, 64, 3);
	/* Suppressed, and the next one behind a fence. */
	expect_ok(read_to(a, ct_target(&a->mem, 1024, 64), ct_target(&p->mem, 0, 64), 2,
			  DAT_COMPLETION_SUPPRESS_FLAG));
	expect_ok(read_to(a, ct_target(&a->mem, 2048, 64), ct_target(&p->mem, 0, 64), 3,
			  DAT_COMPLETION_BARRIER_FENCE_FLAG));
	DONE(a->request, a->ep, 3, DAT_DTO_RDMA_READ, 64);
	FILLED(a->mem.base + 1024, 64, 3);
	FILLED(a->mem.base + 2048, 64, 3);
}

static void dto_53_null_triplets(void **state)
{
	struct cu_rig *rig = *state;
	DAT_RMR_TRIPLET triplet = ct_target(&rig->p.mem, 0, 64);

	need_read(rig);
	expect_arg(dat_ep_post_rdma_read_to_rmr(rig->a.ep, NULL, cu_cookie(1), &triplet,
						DAT_COMPLETION_DEFAULT_FLAG),
		   2);
	expect_arg(dat_ep_post_rdma_read_to_rmr(rig->a.ep, &triplet, cu_cookie(1), NULL,
						DAT_COMPLETION_DEFAULT_FLAG),
		   4);
	ct_empty(rig->a.request);
}

/* The sink must let remote writes in, and be this endpoint's. */
static void sink_refused(struct cu_rig *rig, DAT_RMR_TRIPLET to)
{
	struct ct_end *a = &rig->a;
	DAT_DTO_COMPLETION_STATUS status;

	expect_ok(read_to(a, to, ct_target(&rig->p.mem, 0, 64), 1, DAT_COMPLETION_DEFAULT_FLAG));
	status = cu_completion(a->request).status;
	assert_int_equal(status, DAT_DTO_ERR_LOCAL_PROTECTION);
	cu_conn_ended(a->connect, a->ep);
}

static void dto_52_the_sink_is_writable_from_afar(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a;
	DAT_RMR_HANDLE rmr;
	struct bu_bind bind = {
		.offset = WINDOW, .len = LENGTH, .priv = DAT_MEM_PRIV_REMOTE_READ_FLAG, .cookie = 5
	};
	DAT_RMR_CONTEXT context = 0;

	need_read(rig);
	bind.mem = &a->mem;
	rmr = bu_any_rmr(rig, a->pz);
	expect_ok(bu_post(a, rmr, bind, &context));
	BOUND(a->request, rmr, 5);
	cu_set(a->mem.base, 0, 8192);
	sink_refused(rig, bu_target((DAT_VADDR)(uintptr_t)a->mem.base + WINDOW, 64, context));
	ALL(a->mem.base, 0, 8192);
}

static void dto_52_the_sink_is_inside(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a;
	DAT_RMR_CONTEXT context;

	need_read(rig);
	context = bu_bound(a, bu_any_rmr(rig, a->pz), &a->mem, WINDOW, LENGTH);
	sink_refused(rig, bu_target((DAT_VADDR)(uintptr_t)a->mem.base + WINDOW + LENGTH - 63, 64,
				    context));
}

static void dto_52_of_another_endpoint(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end a = { 0 }, p = { 0 };
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;

	need_read(rig);
	rmr = bu_rmr(rig, rig->a.pz, DAT_RMR_SCOPE_EP);
	a.pz = rig->a.pz;
	ct_end_open(&a, rig->ia, NULL);
	ct_end_open(&p, rig->ia, NULL);
	cu_establish(rig, &a, &p);
	context = bu_bound(&a, rmr, &a.mem, 0, 64);
	sink_refused(rig, bu_target((DAT_VADDR)(uintptr_t)a.mem.base, 64, context));
}

#define C(f) cmocka_unit_test_setup_teardown(f, cu_setup_connected, cu_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		C(dto_58_60_the_message_takes_the_context_away),
		C(rmr_35_unbound_and_free_to_be_bound_again),
		C(rmr_35_before_the_bind_was_seen_to_complete),
		C(dto_59_without_the_flag_it_is_a_send),
		C(dto_63_arguments),
		C(dto_63_states_and_suppression),
		C(dto_58_events_that_are_kept),
		C(dto_61_unknown_contexts),
		C(dto_61_no_longer_valid),
		C(rmr_36_scope_zone),
		C(rmr_36_an_lmrs_context),
		C(rmr_36_of_another_endpoint),
		C(dto_52_into_a_binding),
		C(dto_52_into_an_lmr),
		C(dto_53_null_triplets),
		C(dto_52_the_sink_is_writable_from_afar),
		C(dto_52_the_sink_is_inside),
		C(dto_52_of_another_endpoint),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
