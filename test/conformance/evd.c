/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Event dispatchers as objects: creation, query, CNO, enabling; EVD-16 to EVD-44 and EVD-82 to
 * EVD-92. */
#include "objects.h"

#define ALL_STREAMS                                                                             \
	(DAT_EVD_SOFTWARE_FLAG | DAT_EVD_CR_FLAG | DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG | \
	 DAT_EVD_RMR_BIND_FLAG | DAT_EVD_ASYNC_FLAG)

static const DAT_EVD_FLAGS streams[] = {
	DAT_EVD_SOFTWARE_FLAG,	 DAT_EVD_CR_FLAG,	DAT_EVD_DTO_FLAG,
	DAT_EVD_CONNECTION_FLAG, DAT_EVD_RMR_BIND_FLAG, DAT_EVD_ASYNC_FLAG,
};

/* ---- Creation ---- */

/* EVD-16, EVD-20 */
static void evd_18_a_new_dispatcher(void **state)
{
	struct ct_ia *ia = *state;

	for (size_t i = 0; i < 6; i++) {
		DAT_EVD_HANDLE evd = ct_evd(ia->ia, 10, DAT_HANDLE_NULL, streams[i]);
		DAT_EVD_PARAM param = ct_evd_param(evd);

		assert_int_equal(param.evd_state, DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_WAITABLE);
		assert_ptr_equal(param.ia_handle, ia->ia);
		assert_null(param.cno_handle);
		assert_int_equal(param.evd_flags, streams[i]);
		assert_true(param.evd_qlen >= 10);
		ct_empty(evd);
		expect_ok(dat_evd_free(evd));
	}
}

static void evd_21_the_length_is_a_lower_bound(void **state)
{
	static const DAT_COUNT qlens[] = { 1, 2, 3, 7, 8, 9, 100, 255, 256, 257, 1000 };
	struct ct_ia *ia = *state;

	for (size_t i = 0; i < sizeof(qlens) / sizeof(qlens[0]); i++) {
		DAT_EVD_HANDLE evd;

		if (qlens[i] > ia->attr.max_evd_qlen)
			break;
		evd = ct_evd(ia->ia, qlens[i], DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG);
		assert_true(ct_evd_param(evd).evd_qlen >= qlens[i]);
		expect_ok(dat_evd_free(evd));
		evd = ct_evd(ia->ia, qlens[i], DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG);
		assert_true(ct_evd_param(evd).evd_qlen >= qlens[i]);
		expect_ok(dat_evd_free(evd));
	}
}

static void evd_22_no_length_is_refused(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd;

	expect_arg(dat_evd_create(ia->ia, 0, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd), 2);
	expect_arg(dat_evd_create(ia->ia, -1, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd), 2);
	expect_arg(dat_evd_create(ia->ia, -0x7fffffff - 1, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG,
				  &evd),
		   2);
}

static void evd_23_a_length_above_the_limit_is_refused(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd;

	if (ia->attr.max_evd_qlen == 0x7fffffff)
		harness_skip("no number is above the limit");
	for (size_t i = 0; i < 6; i++)
		expect(dat_evd_create(ia->ia, ia->attr.max_evd_qlen + 1, DAT_HANDLE_NULL,
				      streams[i], &evd),
		       DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	expect(dat_evd_create(ia->ia, 0x7fffffff, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd),
	       DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
}

static void evd_24_a_cno_given_at_creation_is_in_use(void **state)
{
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE cno = ct_cno(ia->ia);
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 4, cno, DAT_EVD_SOFTWARE_FLAG);

	assert_ptr_equal(ct_evd_param(evd).cno_handle, cno);
	expect_state(dat_cno_free(cno), CNO_IN_USE);
	expect_ok(dat_evd_free(evd));
	expect_ok(dat_cno_free(cno));
}

static void evd_24_a_cno_of_another_adapter_is_refused(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd;
	struct ct_ia other;
	DAT_CNO_HANDLE cno;

	ct_open(&other);
	cno = ct_cno(other.ia);
	expect_handle(dat_evd_create(ia->ia, 4, cno, DAT_EVD_SOFTWARE_FLAG, &evd), CNO);
	evd = ct_evd(ia->ia, 4, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG);
	expect_handle(dat_evd_modify_cno(evd, cno), CNO);
	assert_null(ct_evd_param(evd).cno_handle);
	expect_ok(dat_cno_free(cno));
	ct_close(&other);
}

static void evd_25_flags_are_some_and_known(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd;

	expect_arg(dat_evd_create(ia->ia, 4, DAT_HANDLE_NULL, (DAT_EVD_FLAGS)0, &evd), 4);
	for (int bit = 0; bit < 32; bit++) {
		unsigned int flag = 1u << bit;

		if ((flag & 0x3f1) != 0)
			continue;
		expect_arg(dat_evd_create(ia->ia, 4, DAT_HANDLE_NULL, (DAT_EVD_FLAGS)flag, &evd),
			   4);
		expect_arg(dat_evd_create(ia->ia, 4, DAT_HANDLE_NULL,
					  (DAT_EVD_FLAGS)(flag | DAT_EVD_SOFTWARE_FLAG), &evd),
			   4);
	}
}

static void evd_27_every_combination_of_streams(void **state)
{
	struct ct_ia *ia = *state;

	assert_int_equal(DAT_EVD_DEFAULT_FLAG, ALL_STREAMS & ~DAT_EVD_SOFTWARE_FLAG);
	for (unsigned int set = 1; set < 64; set++) {
		unsigned int flags = 0;
		DAT_EVD_HANDLE evd;

		for (int i = 0; i < 6; i++)
			flags |= (set >> i & 1) != 0 ? streams[i] : 0;
		evd = ct_evd(ia->ia, 4, DAT_HANDLE_NULL, (DAT_EVD_FLAGS)flags);
		assert_int_equal(ct_evd_param(evd).evd_flags, flags);
		expect_ok(dat_evd_free(evd));
	}
}

static void evd_31_create_refuses_a_null_pointer(void **state)
{
	struct ct_ia *ia = *state;

	expect_arg(dat_evd_create(ia->ia, 4, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, NULL), 5);
}

/* ---- EVD-28: a dispatcher accepts only the streams it was made for ---- */

static DAT_RETURN create_ep(struct ct_ia *ia, DAT_EVD_HANDLE recv, DAT_EVD_HANDLE request,
			    DAT_EVD_HANDLE connect)
{
	DAT_EP_HANDLE ep;

	return dat_ep_create(ia->ia, DAT_HANDLE_NULL, recv, request, connect, NULL, &ep);
}

static void evd_28_endpoints_need_the_stream_of_the_role(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE no_dto =
		ct_evd(ia->ia, 32, DAT_HANDLE_NULL, ALL_STREAMS & ~DAT_EVD_DTO_FLAG);
	DAT_EVD_HANDLE no_conn =
		ct_evd(ia->ia, 32, DAT_HANDLE_NULL, ALL_STREAMS & ~DAT_EVD_CONNECTION_FLAG);

	expect_handle(create_ep(ia, no_dto, DAT_HANDLE_NULL, DAT_HANDLE_NULL), EVD_RECV);
	expect_handle(create_ep(ia, DAT_HANDLE_NULL, no_dto, DAT_HANDLE_NULL), EVD_REQUEST);
	expect_handle(create_ep(ia, DAT_HANDLE_NULL, DAT_HANDLE_NULL, no_conn), EVD_CONN);
	expect_ok(dat_evd_free(no_dto));
	expect_ok(dat_evd_free(no_conn));
}

static void evd_28_service_points_need_the_request_stream(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 32, DAT_HANDLE_NULL, ALL_STREAMS & ~DAT_EVD_CR_FLAG);
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_RSP_HANDLE rsp;
	DAT_EP_HANDLE ep;

	expect_ok(dat_ep_create(ia->ia, ct_pz(ia->ia), DAT_HANDLE_NULL, DAT_HANDLE_NULL,
				DAT_HANDLE_NULL, NULL, &ep));
	expect_handle(dat_psp_create_any(ia->ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp), EVD_CR);
	expect_handle(dat_psp_create(ia->ia, 40001, evd, DAT_PSP_CONSUMER_FLAG, &psp), EVD_CR);
	expect_handle(dat_rsp_create(ia->ia, 40001, ep, evd, &rsp), EVD_CR);
	assert_int_equal(ct_ep_state(ep), DAT_EP_STATE_UNCONNECTED);
	expect_ok(dat_evd_free(evd));
}

static void evd_28_opening_needs_the_async_stream(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 8, DAT_HANDLE_NULL, ALL_STREAMS & ~DAT_EVD_ASYNC_FLAG);
	DAT_EVD_HANDLE async = evd;
	DAT_IA_HANDLE other;

	expect_handle(dat_ia_open(harness_ia_name(), 8, &async, &other), EVD_ASYNC);
	expect_ok(dat_evd_free(evd));
	/* With it, next to any other stream. */
	async = evd = ct_evd(ia->ia, 8, DAT_HANDLE_NULL, ALL_STREAMS);
	expect_ok(dat_ia_open(harness_ia_name(), 8, &async, &other));
	expect_ok(dat_ia_close(other, DAT_CLOSE_GRACEFUL_FLAG));
	expect_ok(dat_evd_free(evd));
}

static void evd_29_binds_need_no_stream_of_their_own(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE dto = ct_evd(ia->ia, 32, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG);
	DAT_EVD_HANDLE both =
		ct_evd(ia->ia, 32, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);

	expect_ok(create_ep(ia, DAT_HANDLE_NULL, dto, DAT_HANDLE_NULL));
	expect_ok(create_ep(ia, DAT_HANDLE_NULL, both, DAT_HANDLE_NULL));
}

/* ---- Query ---- */

static void evd_32_each_field_alone_agrees_with_all(void **state)
{
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE cno = ct_cno(ia->ia);
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 12, cno, DAT_EVD_SOFTWARE_FLAG | DAT_EVD_CR_FLAG);
	DAT_EVD_PARAM all = ct_evd_param(evd), one;

	memset(&one, 0xa5, sizeof(one));
	expect_ok(dat_evd_query(evd, DAT_EVD_FIELD_IA_HANDLE, &one));
	assert_ptr_equal(one.ia_handle, ia->ia);
	expect_ok(dat_evd_query(evd, DAT_EVD_FIELD_EVD_QLEN, &one));
	assert_int_equal(one.evd_qlen, all.evd_qlen);
	expect_ok(dat_evd_query(evd, DAT_EVD_FIELD_EVD_STATE, &one));
	assert_int_equal(one.evd_state, all.evd_state);
	expect_ok(dat_evd_query(evd, DAT_EVD_FIELD_CNO, &one));
	assert_ptr_equal(one.cno_handle, cno);
	expect_ok(dat_evd_query(evd, DAT_EVD_FIELD_EVD_FLAGS, &one));
	assert_int_equal(one.evd_flags, DAT_EVD_SOFTWARE_FLAG | DAT_EVD_CR_FLAG);
}

static void evd_33_34_query_checks_mask_and_structure(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 4, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG);
	DAT_EVD_PARAM param;

	assert_int_equal(DAT_EVD_FIELD_ALL, 0x1f);
	for (int bit = 5; bit < 32; bit++)
		expect_arg(dat_evd_query(evd, (DAT_EVD_PARAM_MASK)(1u << bit), &param), 2);
	expect_arg(dat_evd_query(evd, DAT_EVD_FIELD_ALL, NULL), 3);
	expect_ok(dat_evd_query(evd, (DAT_EVD_PARAM_MASK)0, &param));
	expect_ok(dat_evd_query(evd, (DAT_EVD_PARAM_MASK)0, NULL));
}

static void evd_35_query_works_on_the_adapters_dispatcher(void **state)
{
	struct ct_ia *ia = *state;

	assert_int_equal(ct_evd_param(ia->async).evd_flags, DAT_EVD_ASYNC_FLAG);
}

/* ---- CNO, enabled and disabled ---- */

static void evd_36_the_use_of_a_cno_moves(void **state)
{
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE first = ct_cno(ia->ia), second = ct_cno(ia->ia);
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 4, first, DAT_EVD_SOFTWARE_FLAG);

	expect_ok(dat_evd_modify_cno(evd, second));
	assert_ptr_equal(ct_evd_param(evd).cno_handle, second);
	expect_ok(dat_cno_free(first));
	expect_state(dat_cno_free(second), CNO_IN_USE);
	/* The same again. */
	expect_ok(dat_evd_modify_cno(evd, second));
	expect_state(dat_cno_free(second), CNO_IN_USE);
	expect_ok(dat_evd_modify_cno(evd, DAT_HANDLE_NULL));
	assert_null(ct_evd_param(evd).cno_handle);
	expect_ok(dat_cno_free(second));
	expect_ok(dat_evd_modify_cno(evd, DAT_HANDLE_NULL));
}

static void evd_37_38_only_later_arrivals_trigger_the_new_cno(void **state)
{
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE first = ct_cno(ia->ia), second = ct_cno(ia->ia);
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 8, first, DAT_EVD_SOFTWARE_FLAG);
	DAT_EVD_HANDLE hint;

	expect_ok(ct_post_se(evd, 1));
	expect_ok(dat_evd_modify_cno(evd, second));
	expect_exact(dat_cno_wait(second, 0, &hint), DAT_QUEUE_EMPTY);
	expect_ok(dat_cno_wait(first, 0, &hint));
	assert_ptr_equal(hint, evd);
	expect_ok(ct_post_se(evd, 2));
	expect_exact(dat_cno_wait(first, 0, &hint), DAT_QUEUE_EMPTY);
	expect_ok(dat_cno_wait(second, 0, &hint));
	assert_ptr_equal(hint, evd);
	/* EVD-39 */
	ct_take_se(evd, 1);
	ct_take_se(evd, 2);
}

static void evd_40_the_cno_changes_under_a_waiter(void **state)
{
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE cno = ct_cno(ia->ia);
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG);
	struct ct_waiter *waiter = ct_evd_waiter(evd, DAT_TIMEOUT_INFINITE, 1);

	expect_ok(dat_evd_modify_cno(evd, cno));
	assert_false(ct_waiter_done(waiter));
	expect_ok(ct_post_se(evd, 5));
	ct_waiter_join(waiter);
	expect_ok(waiter->rc);
	expect_ok(dat_evd_modify_cno(evd, DAT_HANDLE_NULL));
	/* On the adapter's dispatcher too. */
	expect_ok(dat_evd_modify_cno(ia->async, cno));
	expect_ok(dat_evd_modify_cno(ia->async, DAT_HANDLE_NULL));
	expect_ok(dat_cno_free(cno));
}

static void evd_41_a_disabled_dispatcher_does_not_trigger(void **state)
{
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE cno = ct_cno(ia->ia);
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 8, cno, DAT_EVD_SOFTWARE_FLAG);
	DAT_EVD_HANDLE hint;

	expect_ok(dat_evd_disable(evd));
	assert_int_equal(ct_evd_param(evd).evd_state & 3, DAT_EVD_STATE_DISABLED);
	expect_ok(ct_post_se(evd, 1));
	expect_exact(dat_cno_wait(cno, 0, &hint), DAT_QUEUE_EMPTY);
	/* EVD-43: what came meanwhile does not trigger afterwards. */
	expect_ok(dat_evd_enable(evd));
	assert_int_equal(ct_evd_param(evd).evd_state & 3, DAT_EVD_STATE_ENABLED);
	expect_exact(dat_cno_wait(cno, 0, &hint), DAT_QUEUE_EMPTY);
	expect_ok(ct_post_se(evd, 2));
	expect_ok(dat_cno_wait(cno, 0, &hint));
	assert_ptr_equal(hint, evd);
	ct_take_se(evd, 1);
	ct_take_se(evd, 2);
}

static void evd_41_a_disabled_dispatcher_still_releases_its_waiter(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 8, ct_cno(ia->ia), DAT_EVD_SOFTWARE_FLAG);
	struct ct_waiter *waiter;

	expect_ok(dat_evd_disable(evd));
	waiter = ct_evd_waiter(evd, DAT_TIMEOUT_INFINITE, 1);
	expect_ok(ct_post_se(evd, 1));
	ct_waiter_join(waiter);
	expect_ok(waiter->rc);
}

static void evd_42_enabling_and_disabling_are_idempotent(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG);

	for (int i = 0; i < 2; i++) {
		expect_ok(dat_evd_enable(evd));
		expect_ok(dat_evd_enable(evd));
		expect_ok(dat_evd_disable(evd));
		expect_ok(dat_evd_disable(evd));
		assert_int_equal(ct_evd_param(evd).evd_state,
				 DAT_EVD_STATE_DISABLED | DAT_EVD_STATE_WAITABLE);
	}
}

static void evd_82_85_the_waitable_state(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG);

	for (int i = 0; i < 2; i++) {
		expect_ok(dat_evd_set_unwaitable(evd));
		expect_ok(dat_evd_set_unwaitable(evd));
		assert_int_equal(ct_evd_param(evd).evd_state & 0xc, DAT_EVD_STATE_UNWAITABLE);
		expect_ok(dat_evd_clear_unwaitable(evd));
		expect_ok(dat_evd_clear_unwaitable(evd));
		assert_int_equal(ct_evd_param(evd).evd_state & 0xc, DAT_EVD_STATE_WAITABLE);
	}
	/* EVD-85: in any state. */
	expect_ok(dat_evd_disable(evd));
	expect_ok(dat_evd_set_unwaitable(evd));
	assert_int_equal(ct_evd_param(evd).evd_state & 0xf,
			 DAT_EVD_STATE_DISABLED | DAT_EVD_STATE_UNWAITABLE);
}

static void evd_83_unwaitable_leaves_cno_and_dequeue_alone(void **state)
{
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE cno = ct_cno(ia->ia);
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 8, cno, DAT_EVD_SOFTWARE_FLAG);
	DAT_EVD_HANDLE hint;

	expect_ok(dat_evd_set_unwaitable(evd));
	expect_ok(ct_post_se(evd, 3));
	expect_ok(dat_cno_wait(cno, 0, &hint));
	assert_ptr_equal(hint, evd);
	ct_take_se(evd, 3);
}

/* ---- Freeing ---- */

static void evd_87_freeing_discards_events(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG);
	DAT_EVD_PARAM param;
	DAT_EVENT event;

	expect_ok(ct_post_se(evd, 1));
	expect_ok(dat_evd_free(evd));
	expect_handle(dat_evd_free(evd), EVD_REQUEST);
	expect_handle(dat_evd_dequeue(evd, &event), EVD_REQUEST);
	expect_handle(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param), EVD_REQUEST);
	expect_handle(ct_post_se(evd, 1), EVD_REQUEST);
}

static void in_use_then_free(DAT_EVD_HANDLE evd, DAT_RETURN (*drop)(DAT_HANDLE), DAT_HANDLE user)
{
	expect_state(dat_evd_free(evd), EVD_IN_USE);
	expect_ok(drop(user));
	expect_ok(dat_evd_free(evd));
}

static void evd_88_an_endpoint_keeps_its_dispatchers_in_use(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EP_HANDLE ep;

	for (int role = 0; role < 3; role++) {
		DAT_EVD_HANDLE evd = ct_evd(ia->ia, 64, DAT_HANDLE_NULL,
					    DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);

		expect_ok(dat_ep_create(ia->ia, DAT_HANDLE_NULL, role == 0 ? evd : DAT_HANDLE_NULL,
					role == 1 ? evd : DAT_HANDLE_NULL,
					role == 2 ? evd : DAT_HANDLE_NULL, NULL, &ep));
		in_use_then_free(evd, dat_ep_free, ep);
	}
}

static void evd_88_an_endpoint_moved_away_gives_its_dispatcher_free(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG);
	DAT_EP_PARAM param = { .connect_evd_handle = DAT_HANDLE_NULL };
	DAT_EP_HANDLE ep;

	expect_ok(dat_ep_create(ia->ia, DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL, evd,
				NULL, &ep));
	expect_state(dat_evd_free(evd), EVD_IN_USE);
	expect_ok(dat_ep_modify(ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
	expect_ok(dat_evd_free(evd));
	expect_ok(dat_ep_free(ep));
}

static void evd_88_service_points_keep_their_dispatcher_in_use(void **state)
{
	struct ct_ia *ia = *state;
	struct ct_object object;

	for (const struct ct_kind *kind = ct_kinds; kind->name != NULL; kind++) {
		if (kind->type != DAT_HANDLE_TYPE_PSP && kind->type != DAT_HANDLE_TYPE_RSP)
			continue;
		assert_true(ct_object_make(&object, kind, ia));
		expect_state(dat_evd_free(object.evd), EVD_IN_USE);
		ct_object_cleanup(&object);
	}
}

static void evd_92_undelivered_requests_are_refused(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG);
	struct ct_end end = { 0 };
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_EVENT event;
	DAT_COUNT more;

	ct_end_open(&end, ia->ia, NULL);
	expect_ok(dat_psp_create_any(ia->ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	expect_ok(dat_ep_connect(end.ep, ia->attr.ia_address_ptr, qual, DAT_TIMEOUT_INFINITE, 0,
				 NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	/* The request is there when two events, which never come, are waited for: one is left in
	 * the queue. */
	ct_await(dat_evd_wait(evd, 0, 2, &event, &more) == DAT_TIMEOUT_EXPIRED && more == 1);
	expect_ok(dat_psp_free(psp));
	expect_ok(dat_evd_free(evd));
	ct_next(end.connect, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, &event);
	ct_end_close(&end);
	/* Nothing of the request is left. */
	expect_ok(dat_ia_close(ia->ia, DAT_CLOSE_GRACEFUL_FLAG));
	ia->ia = DAT_HANDLE_NULL;
}

#define T(f) cmocka_unit_test_setup_teardown(f, ct_setup, ct_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(evd_18_a_new_dispatcher),
		T(evd_21_the_length_is_a_lower_bound),
		T(evd_22_no_length_is_refused),
		T(evd_23_a_length_above_the_limit_is_refused),
		T(evd_24_a_cno_given_at_creation_is_in_use),
		T(evd_24_a_cno_of_another_adapter_is_refused),
		T(evd_25_flags_are_some_and_known),
		T(evd_27_every_combination_of_streams),
		T(evd_31_create_refuses_a_null_pointer),
		T(evd_28_endpoints_need_the_stream_of_the_role),
		T(evd_28_service_points_need_the_request_stream),
		T(evd_28_opening_needs_the_async_stream),
		T(evd_29_binds_need_no_stream_of_their_own),
		T(evd_32_each_field_alone_agrees_with_all),
		T(evd_33_34_query_checks_mask_and_structure),
		T(evd_35_query_works_on_the_adapters_dispatcher),
		T(evd_36_the_use_of_a_cno_moves),
		T(evd_37_38_only_later_arrivals_trigger_the_new_cno),
		T(evd_40_the_cno_changes_under_a_waiter),
		T(evd_41_a_disabled_dispatcher_does_not_trigger),
		T(evd_41_a_disabled_dispatcher_still_releases_its_waiter),
		T(evd_42_enabling_and_disabling_are_idempotent),
		T(evd_82_85_the_waitable_state),
		T(evd_83_unwaitable_leaves_cno_and_dequeue_alone),
		T(evd_87_freeing_discards_events),
		T(evd_88_an_endpoint_keeps_its_dispatchers_in_use),
		T(evd_88_an_endpoint_moved_away_gives_its_dispatcher_free),
		T(evd_88_service_points_keep_their_dispatcher_in_use),
		T(evd_92_undelivered_requests_are_refused),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
