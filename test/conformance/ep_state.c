/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The table of EP-129 (EP-T1): one test per row, each call in every state that one host can reach:
 * return type, subtype, new state and events.
 */
#include "ep_cell.h"

/* A call that the state refuses: type, subtype, and the state stays. */
#define REFUSED(c, call)                                                       \
	do {                                                                   \
		expect(call, DAT_INVALID_STATE, cu_state_subtype((c)->state)); \
		cu_check_state((c)->me->ep, (c)->state, __FILE__, __LINE__);   \
	} while (0)

static bool in(const struct cell *c, DAT_EP_STATE state)
{
	return c->state == state;
}

static bool is_early(const struct cell *c) /* U, R, P, T */
{
	return in(c, DAT_EP_STATE_UNCONNECTED) || in(c, DAT_EP_STATE_RESERVED) ||
	       in(c, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING) ||
	       in(c, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
}

/* EP-T1 */
static void in_each_state(void (*row)(struct cell *))
{
	for (const struct cell_state *s = cell_states; s->name != NULL; s++) {
		struct cell c;

		print_message("# state %s\n", s->name);
		cell_open(&c, s->state);
		if (cell_reach(&c))
			row(&c);
		else
			print_message("# skipped: the transport does not stay there\n");
		cell_close(&c);
	}
}

/* ---- Calls that are legal everywhere ----------------------------------- */

static void row_query(struct cell *c)
{
	DAT_CONTEXT context = { .as_64 = UINT64_C(0x0123456789abcdef) }, got;
	DAT_EP_PARAM param;
	DAT_HANDLE_TYPE type;
	DAT_COUNT n;
	DAT_RETURN rc;

	expect_ok(dat_ep_query(c->me->ep, DAT_EP_FIELD_ALL, &param));
	assert_int_equal(param.ep_state, c->state);
	assert_ptr_equal(param.ia_handle, c->rig->ia);
	rc = dat_ep_recv_query(c->me->ep, &n, NULL);
	if (c->rig->prov.ep_recv_info_supported)
		expect_ok(rc);
	else
		expect_unsupported(rc);
	rc = dat_ep_set_watermark(c->me->ep, DAT_WATERMARK_INFINITE, DAT_WATERMARK_INFINITE);
	assert_true(rc == DAT_SUCCESS || cu_unsupported(rc));
	expect_ok(dat_set_consumer_context(c->me->ep, context));
	expect_ok(dat_get_consumer_context(c->me->ep, &got));
	assert_true(got.as_64 == context.as_64);
	expect_ok(dat_get_handle_type(c->me->ep, &type));
	assert_int_equal(type, DAT_HANDLE_TYPE_EP);
	cu_check_state(c->me->ep, c->state, __FILE__, __LINE__);
}

static void ep_129_query_and_context_calls(void **state)
{
	(void)state;
	in_each_state(row_query);
}

/* ---- dat_ep_modify ----------------------------------------------------- */

static void row_modify(struct cell *c)
{
	static const DAT_EP_PARAM_MASK group[] = {
		DAT_EP_FIELD_RECV_EVD_HANDLE,
		DAT_EP_FIELD_REQUEST_EVD_HANDLE,
		DAT_EP_FIELD_CONNECT_EVD_HANDLE,
		DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE,
		DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE,
		DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE,
		DAT_EP_FIELD_EP_ATTR_QOS,
		DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS,
		DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS,
		DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS,
		DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV,
		DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV,
		DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN,
		DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT,
		DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV,
		DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV,
		DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS,
	};
	DAT_EP_PARAM param;

	expect_ok(dat_ep_query(c->me->ep, DAT_EP_FIELD_ALL, &param));
	if (in(c, DAT_EP_STATE_UNCONNECTED))
		expect_ok(dat_ep_modify(c->me->ep, DAT_EP_FIELD_COMM, &param));
	else
		REFUSED(c, dat_ep_modify(c->me->ep, DAT_EP_FIELD_COMM, &param));
	if (in(c, DAT_EP_STATE_UNCONNECTED) || in(c, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING))
		expect_ok(dat_ep_modify(c->me->ep, DAT_EP_FIELD_PZ_HANDLE, &param));
	else
		REFUSED(c, dat_ep_modify(c->me->ep, DAT_EP_FIELD_PZ_HANDLE, &param));
	for (size_t i = 0; i < sizeof(group) / sizeof(group[0]); i++) {
		if (is_early(c))
			expect_ok(dat_ep_modify(c->me->ep, group[i], &param));
		else
			REFUSED(c, dat_ep_modify(c->me->ep, group[i], &param));
	}
	expect_arg(dat_ep_modify(c->me->ep, DAT_EP_FIELD_EP_STATE, &param), 2);
	expect_ok(dat_ep_modify(c->me->ep, 0, &param));
	cu_check_state(c->me->ep, c->state, __FILE__, __LINE__);
}

static void ep_59_129_modify(void **state)
{
	(void)state;
	in_each_state(row_modify);
}

/* ---- Calls that start a connection ------------------------------------- */

static void exchange(struct ct_end *from, struct ct_end *to)
{
	expect_ok(cu_recv(to, 0, 64, 1));
	expect_ok(ct_post_send(from, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(from->request, from->ep, 2, DAT_DTO_SEND, 64);
	DONE(to->recv, to->ep, 1, DAT_DTO_RECEIVE, 64);
}

static void row_connect(struct cell *c)
{
	if (in(c, DAT_EP_STATE_UNCONNECTED)) {
		expect_ok(cu_connect(c->me, c->rig->qual, DAT_TIMEOUT_INFINITE));
		STATE(c->me->ep, ACTIVE_CONNECTION_PENDING);
		return;
	}
	REFUSED(c, cu_connect(c->me, c->rig->qual, DAT_TIMEOUT_INFINITE));
	if (in(c, DAT_EP_STATE_CONNECTED)) {
		/* EP-67: the connection is unaffected. */
		exchange(c->me, c->other);
		exchange(c->other, c->me);
	}
}

/* EP-1: at most one connection */
static void ep_129_67_connect(void **state)
{
	(void)state;
	in_each_state(row_connect);
}

static void row_common_connect(struct cell *c)
{
	struct sockaddr_storage to = cu_service(c->rig, c->rig->qual);
	DAT_RETURN rc;

	rc = dat_ep_common_connect(c->me->ep, (DAT_IA_ADDRESS_PTR)&to, DAT_TIMEOUT_INFINITE, 0,
				   NULL);
	if (!ct_has_ports(c->rig->attr.ia_address_ptr))
		expect_type(rc, DAT_COMM_NOT_SUPPORTED);
	else if (in(c, DAT_EP_STATE_UNCONNECTED))
		expect_ok(rc);
	else
		REFUSED(c, rc);
}

static void ep_129_common_connect(void **state)
{
	(void)state;
	in_each_state(row_common_connect);
}

static void row_dup_connect(struct cell *c)
{
	struct ct_end model = { 0 }, acceptor = { 0 }, spare = { 0 };
	DAT_RETURN rc;

	ct_end_open(&model, c->rig->ia, NULL);
	ct_end_open(&acceptor, c->rig->ia, NULL);
	ct_end_open(&spare, c->rig->ia, NULL);
	ct_drain(c->rig->cr);
	cu_establish(c->rig, &model, &acceptor);
	rc = dat_ep_dup_connect(c->me->ep, model.ep, DAT_TIMEOUT_INFINITE, 0, NULL,
				DAT_QOS_BEST_EFFORT);
	if (in(c, DAT_EP_STATE_UNCONNECTED)) {
		expect_ok(rc);
		return; /* it is no longer in the state that the second half needs */
	}
	REFUSED(c, rc);
	rc = dat_ep_dup_connect(spare.ep, c->me->ep, DAT_TIMEOUT_INFINITE, 0, NULL,
				DAT_QOS_BEST_EFFORT);
	if (in(c, DAT_EP_STATE_CONNECTED))
		expect_ok(rc);
	else
		REFUSED(c, rc);
}

static void ep_129_dup_connect(void **state)
{
	(void)state;
	in_each_state(row_dup_connect);
}

/* ---- Service points and requests --------------------------------------- */

static void row_rsp_create(struct cell *c)
{
	DAT_RSP_HANDLE rsp;
	DAT_CONN_QUAL qual = cu_free_qual(c->rig);

	if (!in(c, DAT_EP_STATE_UNCONNECTED)) {
		REFUSED(c, dat_rsp_create(c->rig->ia, qual, c->me->ep, c->rig->cr, &rsp));
		return;
	}
	expect_ok(dat_rsp_create(c->rig->ia, qual, c->me->ep, c->rig->cr, &rsp));
	STATE(c->me->ep, RESERVED);
	expect_ok(dat_rsp_free(rsp));
	STATE(c->me->ep, UNCONNECTED);
}

static void ep_129_rsp_create_and_free(void **state)
{
	(void)state;
	in_each_state(row_rsp_create);
}

static void row_accept_given(struct cell *c)
{
	struct ct_end third = { 0 };
	DAT_CR_HANDLE cr;

	ct_end_open(&third, c->rig->ia, NULL);
	ct_drain(c->rig->cr);
	cr = cu_request(c->rig, &third);
	if (!in(c, DAT_EP_STATE_UNCONNECTED)) {
		REFUSED(c, dat_cr_accept(cr, c->me->ep, 0, NULL));
		/* CR-16: the request can still be accepted on another. */
		expect_ok(dat_cr_reject(cr, 0, NULL));
		cu_conn_event(third.connect, third.ep, DAT_CONNECTION_EVENT_PEER_REJECTED, NULL);
		return;
	}
	expect_ok(dat_cr_accept(cr, c->me->ep, 0, NULL));
	assert_true(ct_ep_state(c->me->ep) == DAT_EP_STATE_COMPLETION_PENDING ||
		    ct_ep_state(c->me->ep) == DAT_EP_STATE_CONNECTED);
	cu_conn_event(c->me->connect, c->me->ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	STATE(c->me->ep, CONNECTED);
}

static void ep_129_accept_on_a_given_endpoint(void **state)
{
	(void)state;
	in_each_state(row_accept_given);
}

static void row_accept_own(struct cell *c)
{
	if (c->cr == NULL)
		return;
	expect_ok(dat_cr_accept(c->cr, NULL, 0, NULL));
	assert_true(ct_ep_state(c->me->ep) == DAT_EP_STATE_COMPLETION_PENDING ||
		    ct_ep_state(c->me->ep) == DAT_EP_STATE_CONNECTED);
	cu_conn_event(c->me->connect, c->me->ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	cu_conn_event(c->other->connect, c->other->ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	STATE(c->me->ep, CONNECTED);
	exchange(c->me, c->other);
	exchange(c->other, c->me);
}

static void ep_129_accept_on_the_own_endpoint(void **state)
{
	(void)state;
	in_each_state(row_accept_own);
}

static void row_reject(struct cell *c)
{
	DAT_EP_STATE got;

	if (c->cr == NULL)
		return;
	expect_ok(dat_cr_reject(c->cr, 0, NULL));
	if (in(c, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING))
		STATE(c->me->ep, UNCONNECTED);
	else
		expect_handle(dat_ep_get_status(c->me->ep, &got, NULL, NULL), EP);
	cu_quiet(c->me->connect, 0);
	cu_conn_event(c->other->connect, c->other->ep, DAT_CONNECTION_EVENT_PEER_REJECTED, NULL);
	STATE(c->other->ep, DISCONNECTED);
}

static void ep_129_reject(void **state)
{
	(void)state;
	in_each_state(row_reject);
}

/* ---- Disconnect -------------------------------------------------------- */

/* EP-91 */
static void row_disconnect(struct cell *c, DAT_CLOSE_FLAGS flags)
{
	if (is_early(c)) {
		REFUSED(c, dat_ep_disconnect(c->me->ep, flags));
		return;
	}
	expect_ok(dat_ep_disconnect(c->me->ep, flags));
	if (in(c, DAT_EP_STATE_DISCONNECT_PENDING) && flags == DAT_CLOSE_GRACEFUL_FLAG) {
		STATE(c->me->ep, DISCONNECT_PENDING);
		cu_quiet(c->me->connect, 50);
		return;
	}
	if (!in(c, DAT_EP_STATE_DISCONNECTED))
		cu_conn_event(c->me->connect, c->me->ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	STATE(c->me->ep, DISCONNECTED);
	expect_ok(dat_ep_disconnect(c->me->ep, flags));
	cu_quiet(c->me->connect, 50);
}

static void row_disconnect_abrupt(struct cell *c)
{
	row_disconnect(c, DAT_CLOSE_ABRUPT_FLAG);
}

static void row_disconnect_graceful(struct cell *c)
{
	row_disconnect(c, DAT_CLOSE_GRACEFUL_FLAG);
}

static void row_disconnect_flags(struct cell *c)
{
	expect_arg(dat_ep_disconnect(c->me->ep, (DAT_CLOSE_FLAGS)2), 2);
	cu_check_state(c->me->ep, c->state, __FILE__, __LINE__);
}

static void ep_129_disconnect_abrupt(void **state)
{
	(void)state;
	in_each_state(row_disconnect_abrupt);
}

static void ep_129_disconnect_graceful(void **state)
{
	(void)state;
	in_each_state(row_disconnect_graceful);
}

static void ep_90_disconnect_with_bad_flags(void **state)
{
	struct cell c;

	(void)state;
	/* GEN-7: only where nothing else is wrong with the call. */
	cell_open(&c, DAT_EP_STATE_CONNECTED);
	assert_true(cell_reach(&c));
	row_disconnect_flags(&c);
	cu_end_connection(c.me, c.other);
	c.state = DAT_EP_STATE_DISCONNECTED;
	row_disconnect_flags(&c);
	cell_close(&c);
}

/* ---- Reset, free, close ------------------------------------------------ */

static void row_reset(struct cell *c)
{
	if (in(c, DAT_EP_STATE_UNCONNECTED) || in(c, DAT_EP_STATE_DISCONNECTED)) {
		expect_ok(dat_ep_reset(c->me->ep));
		STATE(c->me->ep, UNCONNECTED);
	} else {
		REFUSED(c, dat_ep_reset(c->me->ep));
	}
	cu_quiet(c->me->connect, 0);
}

static void ep_129_reset(void **state)
{
	(void)state;
	in_each_state(row_reset);
}

static void row_free(struct cell *c)
{
	DAT_EP_STATE got;

	if (is_early(c) && !in(c, DAT_EP_STATE_UNCONNECTED)) {
		REFUSED(c, dat_ep_free(c->me->ep));
		return;
	}
	expect_ok(dat_ep_free(c->me->ep));
	expect_handle(dat_ep_get_status(c->me->ep, &got, NULL, NULL), EP);
	/* EP-112 */
	cu_quiet(c->me->connect, 50);
}

/* EP-116 */
static void ep_129_free(void **state)
{
	(void)state;
	in_each_state(row_free);
}

static void row_close(struct cell *c)
{
	DAT_EP_STATE got;
	DAT_IA_HANDLE ia = c->rig->ia;
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	expect_ok(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	expect_handle(dat_ep_get_status(c->me->ep, &got, NULL, NULL), EP);
	/* The rig closes once more. */
	expect_ok(dat_ia_open(harness_ia_name(), 8, &async, &c->rig->ia));
}

static void ep_129_ia_close_abrupt(void **state)
{
	(void)state;
	in_each_state(row_close);
}

/* ---- Posts ------------------------------------------------------------- */

static void row_post_recv(struct cell *c)
{
	DAT_BOOLEAN idle;

	expect_ok(cu_recv(c->me, 0, 64, 5));
	if (in(c, DAT_EP_STATE_DISCONNECTED)) {
		FLUSHED(c->me->recv, c->me->ep, 5, DAT_DTO_RECEIVE);
		return;
	}
	/* FL-10 */
	expect_ok(dat_ep_get_status(c->me->ep, NULL, &idle, NULL));
	assert_int_equal(idle, DAT_FALSE);
	cu_quiet(c->me->recv, 20);
	if (!in(c, DAT_EP_STATE_DISCONNECT_PENDING))
		return;
	expect_ok(dat_ep_disconnect(c->me->ep, DAT_CLOSE_ABRUPT_FLAG));
	FLUSHED(c->me->recv, c->me->ep, 5, DAT_DTO_RECEIVE);
}

/* DTO-37 */
static void ep_129_post_recv(void **state)
{
	(void)state;
	in_each_state(row_post_recv);
}

static void row_post_request(struct cell *c)
{
	struct ct_mem *to = &c->other->mem;

	if (in(c, DAT_EP_STATE_CONNECTED)) {
		expect_ok(cu_recv(c->other, 0, 64, 0));
		expect_ok(ct_post_send(c->me, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
		expect_ok(cu_write(c->me, 0, 64, 2, to, 0, DAT_COMPLETION_DEFAULT_FLAG));
		expect_ok(cu_read(c->me, 0, 64, 3, to, 0, DAT_COMPLETION_DEFAULT_FLAG));
		DONE(c->me->request, c->me->ep, 1, DAT_DTO_SEND, 64);
		DONE(c->me->request, c->me->ep, 2, DAT_DTO_RDMA_WRITE, 64);
		DONE(c->me->request, c->me->ep, 3, DAT_DTO_RDMA_READ, 64);
	} else if (in(c, DAT_EP_STATE_DISCONNECTED)) {
		expect_ok(ct_post_send(c->me, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
		expect_ok(cu_write(c->me, 0, 64, 2, to, 0, DAT_COMPLETION_SUPPRESS_FLAG));
		expect_ok(cu_read(c->me, 0, 64, 3, to, 0, DAT_COMPLETION_DEFAULT_FLAG));
		FLUSHED(c->me->request, c->me->ep, 1, DAT_DTO_SEND);
		FLUSHED(c->me->request, c->me->ep, 2, DAT_DTO_RDMA_WRITE);
		FLUSHED(c->me->request, c->me->ep, 3, DAT_DTO_RDMA_READ);
	} else {
		REFUSED(c, ct_post_send(c->me, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
		REFUSED(c, cu_write(c->me, 0, 64, 2, to, 0, DAT_COMPLETION_DEFAULT_FLAG));
		REFUSED(c, cu_read(c->me, 0, 64, 3, to, 0, DAT_COMPLETION_DEFAULT_FLAG));
	}
	cu_quiet(c->me->request, 0);
}

static void ep_129_post_requests(void **state)
{
	(void)state;
	in_each_state(row_post_request);
}

static void row_post_invalidate(struct cell *c)
{
	DAT_LMR_TRIPLET seg = ct_segment(&c->me->mem, 0, 64);
	DAT_RETURN rc;

	rc = dat_ep_post_send_with_invalidate(c->me->ep, 1, &seg, cu_cookie(1),
					      DAT_COMPLETION_DEFAULT_FLAG, DAT_FALSE, 0);
	if (cu_unsupported(rc))
		cu_quiet(c->me->request, 0); /* DTO-62 */
	else if (in(c, DAT_EP_STATE_CONNECTED) || in(c, DAT_EP_STATE_DISCONNECTED))
		expect_ok(rc);
	else
		REFUSED(c, rc);
	if (rc == DAT_SUCCESS && in(c, DAT_EP_STATE_DISCONNECTED))
		FLUSHED(c->me->request, c->me->ep, 1, DAT_DTO_SEND);
	cu_check_state(c->me->ep, c->state, __FILE__, __LINE__);
}

static void ep_129_post_send_with_invalidate(void **state)
{
	(void)state;
	in_each_state(row_post_invalidate);
}

static void row_bind(struct cell *c)
{
	DAT_LMR_TRIPLET range = ct_segment(&c->me->mem, 0, 64);
	DAT_RMR_HANDLE rmr;
	DAT_RETURN rc;

	rc = c->rig->prov.rmr_scope_supported == DAT_RMR_SCOPE_EP
		     ? dat_rmr_create_for_ep(c->me->pz, &rmr)
		     : dat_rmr_create(c->me->pz, &rmr);
	if (c->rig->attr.max_rmrs == 0) {
		expect_unsupported(rc); /* RMR-1 */
		return;
	}
	expect_ok(rc);
	rc = dat_rmr_bind(rmr, c->me->mem.lmr, &range, DAT_MEM_PRIV_REMOTE_READ_FLAG,
			  DAT_VA_TYPE_VA, c->me->ep, cu_cookie(1), DAT_COMPLETION_DEFAULT_FLAG,
			  NULL);
	if (in(c, DAT_EP_STATE_CONNECTED) || in(c, DAT_EP_STATE_DISCONNECTED))
		expect_ok(rc);
	else
		REFUSED(c, rc);
}

static void ep_129_rmr_bind(void **state)
{
	(void)state;
	in_each_state(row_bind);
}

#define T(f) cmocka_unit_test_teardown(f, cu_teardown)

int main(int argc, char **argv)
{
	static const struct peer_role roles[] = { CELL_PEER, { NULL, NULL } };
	static const struct CMUnitTest tests[] = {
		T(ep_129_query_and_context_calls),
		T(ep_59_129_modify),
		T(ep_129_67_connect),
		T(ep_129_common_connect),
		T(ep_129_dup_connect),
		T(ep_129_rsp_create_and_free),
		T(ep_129_accept_on_a_given_endpoint),
		T(ep_129_accept_on_the_own_endpoint),
		T(ep_129_reject),
		T(ep_129_disconnect_abrupt),
		T(ep_129_disconnect_graceful),
		T(ep_90_disconnect_with_bad_flags),
		T(ep_129_reset),
		T(ep_129_free),
		T(ep_129_ia_close_abrupt),
		T(ep_129_post_recv),
		T(ep_129_post_requests),
		T(ep_129_post_send_with_invalidate),
		T(ep_129_rmr_bind),
	};

	peer_main(argc, argv, roles);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
