/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connection requests (CR-1 to CR-23). */
#include "conn_util.h"
#include "peer.h"

static uint8_t data[16] = "0123456789abcde";

/* The connect call with 16 bytes of private data. */
static DAT_CR_HANDLE request_with_data(struct cu_rig *rig)
{
	expect_ok(dat_ep_connect(rig->a.ep, rig->attr.ia_address_ptr, rig->qual,
				 DAT_TIMEOUT_INFINITE, sizeof(data), data, DAT_QOS_BEST_EFFORT,
				 DAT_CONNECT_DEFAULT_FLAG));
	return cu_take_cr(rig->cr);
}

static void established(struct cu_rig *rig)
{
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	STATE(rig->a.ep, CONNECTED);
	STATE(rig->p.ep, CONNECTED);
}

/* ---- Life -------------------------------------------------------------- */

static void cr_1_outlives_service_point_and_evd(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CR_HANDLE cr = request_with_data(rig);
	DAT_CR_PARAM param;

	expect_ok(dat_psp_free(rig->psp));
	expect_ok(dat_evd_free(rig->cr));
	expect_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	assert_memory_equal(param.private_data, data, sizeof(data));
	expect_ok(dat_cr_accept(cr, rig->p.ep, 0, NULL));
	established(rig);
}

static void cr_1_9_consumed_by_accept(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end third = { 0 };
	DAT_CR_HANDLE cr = cu_request(rig, &rig->a);
	DAT_CR_PARAM param;

	ct_end_open(&third, rig->ia, NULL);
	expect_ok(dat_cr_accept(cr, rig->p.ep, 0, NULL));
	expect_handle(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), CR);
	expect_handle(dat_cr_accept(cr, third.ep, 0, NULL), CR);
	expect_handle(dat_cr_reject(cr, 0, NULL), CR);
	expect_handle(dat_cr_handoff(cr, rig->qual), CR);
	STATE(third.ep, UNCONNECTED);
	established(rig);
}

static void cr_17_consumed_by_reject(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CR_HANDLE cr = cu_request(rig, &rig->a);

	expect_ok(dat_cr_reject(cr, 0, NULL));
	expect_handle(dat_cr_reject(cr, 0, NULL), CR);
	expect_handle(dat_cr_accept(cr, rig->p.ep, 0, NULL), CR);
	STATE(rig->p.ep, UNCONNECTED);
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED, NULL);
	cu_quiet(rig->cr, 0);
}

static void cr_1_pending_request_forbids_graceful_close(void **state)
{
	struct cu_rig *rig = *state, *other = cu_rig_open();
	DAT_CR_HANDLE cr;

	/* IA-83: the request alone keeps the IA in use. */
	expect_ok(cu_connect_to(&rig->a, other, DAT_TIMEOUT_INFINITE));
	cr = cu_take_cr(other->cr);
	expect_ok(dat_psp_free(other->psp));
	expect_ok(dat_evd_free(other->cr));
	expect_state(dat_ia_close(other->ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
	expect_ok(dat_cr_reject(cr, 0, NULL));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED, NULL);
	cu_rig_close(other);
}

/* The active side gives up; whatever way it does, the request stays valid. */
static void gone(struct cu_rig *rig, DAT_CR_HANDLE *cr)
{
	*cr = request_with_data(rig);
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
}

static void cr_2_abandoned_request_can_be_queried_and_rejected(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;

	gone(rig, &cr);
	expect_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	assert_int_equal(param.private_data_size, sizeof(data));
	assert_memory_equal(param.private_data, data, sizeof(data));
	expect_ok(dat_cr_reject(cr, sizeof(data), data));
	cu_quiet(rig->a.connect, 50);
}

/* EV-10 */
static void cr_2_accept_of_an_abandoned_request(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CR_HANDLE cr;

	gone(rig, &cr);
	expect_ok(cu_recv(&rig->p, 0, 64, 7));
	expect_ok(dat_cr_accept(cr, rig->p.ep, 0, NULL));
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR,
		      NULL);
	STATE(rig->p.ep, DISCONNECTED);
	FLUSHED(rig->p.recv, rig->p.ep, 7, DAT_DTO_RECEIVE);
	cu_quiet(rig->p.connect, CU_QUIET);
}

/* ---- Query ------------------------------------------------------------- */

static void cr_3_to_7_query(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CR_HANDLE cr = request_with_data(rig);
	const struct sockaddr_in *own = (const struct sockaddr_in *)rig->attr.ia_address_ptr;
	DAT_CR_PARAM param, again;
	DAT_EP_PARAM ep;

	memset(&param, 0xa5, sizeof(param));
	expect_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	assert_int_equal(param.remote_ia_address_ptr->sa_family, own->sin_family);
	if (own->sin_family == AF_INET)
		assert_int_equal(
			((struct sockaddr_in *)param.remote_ia_address_ptr)->sin_addr.s_addr,
			own->sin_addr.s_addr);
	expect_ok(dat_ep_query(rig->a.ep, DAT_EP_FIELD_ALL, &ep));
	assert_int_equal(param.remote_port_qual, ep.local_port_qual);
	assert_int_equal(param.private_data_size, sizeof(data));
	assert_memory_equal(param.private_data, data, sizeof(data));
	assert_null(param.local_ep_handle);
	/* PD-9 */
	expect_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &again));
	assert_ptr_equal(again.private_data, param.private_data);
}

static void cr_6_no_private_data(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CR_HANDLE cr = cu_request(rig, &rig->a);
	DAT_CR_PARAM param;

	memset(&param, 0xa5, sizeof(param));
	expect_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	assert_int_equal(param.private_data_size, 0);
	assert_null(param.private_data);
}

static void cr_8_query_arguments(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CR_HANDLE cr = cu_request(rig, &rig->a);
	DAT_CR_PARAM param;

	expect_handle(dat_cr_query(NULL, DAT_CR_FIELD_ALL, &param), CR);
	expect_handle(dat_cr_query(rig->psp, DAT_CR_FIELD_ALL, &param), CR);
	expect_arg(dat_cr_query(cr, (DAT_CR_PARAM_MASK)0x20, &param), 2);
	expect_arg(dat_cr_query(cr, DAT_CR_FIELD_ALL, NULL), 3);
	expect_ok(dat_cr_query(cr, (DAT_CR_PARAM_MASK)0, NULL));
	/* What shipped programs pass. */
	expect_ok(dat_cr_query(cr, (DAT_CR_PARAM_MASK)DAT_CSP_FIELD_ALL, &param));
	for (unsigned int bit = 1; bit <= 0x10; bit <<= 1)
		expect_ok(dat_cr_query(cr, (DAT_CR_PARAM_MASK)bit, &param));
}

/* ---- Accept ------------------------------------------------------------ */

static void cr_10_needs_an_unconnected_endpoint_of_the_ia(void **state)
{
	struct cu_rig *rig = *state, *other = cu_rig_open();
	struct ct_end foreign = { 0 }, third = { 0 };
	DAT_CR_HANDLE cr, second;

	ct_end_open(&foreign, other->ia, NULL);
	ct_end_open(&third, rig->ia, NULL);
	cr = cu_request(rig, &rig->a);
	expect_handle(dat_cr_accept(cr, NULL, 0, NULL), EP);
	expect_handle(dat_cr_accept(cr, foreign.ep, 0, NULL), EP);
	expect_handle(dat_cr_accept(cr, rig->p.pz, 0, NULL), EP);
	expect_state(dat_cr_accept(cr, rig->a.ep, 0, NULL), EP_ACTCONNPENDING);
	STATE(rig->a.ep, ACTIVE_CONNECTION_PENDING);
	/* CR-16: all that failed, the request is still good. */
	expect_ok(dat_cr_accept(cr, rig->p.ep, 0, NULL));
	established(rig);
	/* SIM-7: one endpoint for two requests. */
	second = cu_request(rig, &third);
	expect_state(dat_cr_accept(second, rig->p.ep, 0, NULL), EP_CONNECTED);
	STATE(rig->p.ep, CONNECTED);
	expect_ok(dat_cr_reject(second, 0, NULL));
	cu_rig_close(other);
}

static void cr_12_endpoint_needs_pz_and_connect_evd(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CR_HANDLE cr = cu_request(rig, &rig->a);
	DAT_EP_HANDLE bare;

	expect_ok(dat_ep_create(rig->ia, NULL, rig->p.recv, rig->p.request, rig->p.connect, NULL,
				&bare));
	expect_handle(dat_cr_accept(cr, bare, 0, NULL), EP);
	STATE(bare, UNCONNECTED);
	expect_ok(dat_ep_free(bare));
	expect_ok(
		dat_ep_create(rig->ia, rig->p.pz, rig->p.recv, rig->p.request, NULL, NULL, &bare));
	expect_handle(dat_cr_accept(cr, bare, 0, NULL), EP);
	STATE(bare, UNCONNECTED);
	expect_ok(dat_cr_accept(cr, rig->p.ep, 0, NULL));
	established(rig);
}

static void cr_14_private_data_may_be_the_requests_own(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CR_HANDLE cr = request_with_data(rig);
	DAT_CR_PARAM param;
	DAT_EVENT event;

	expect_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	((uint8_t *)param.private_data)[0] = 'X';
	expect_ok(dat_cr_accept(cr, rig->p.ep, param.private_data_size, param.private_data));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	assert_int_equal(event.event_data.connect_event_data.private_data_size, sizeof(data));
	assert_int_equal(((uint8_t *)event.event_data.connect_event_data.private_data)[0], 'X');
	assert_memory_equal((uint8_t *)event.event_data.connect_event_data.private_data + 1,
			    data + 1, sizeof(data) - 1);
}

static void cr_16_failing_accept_changes_nothing(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CR_HANDLE cr = request_with_data(rig);
	DAT_COUNT max = rig->prov.max_private_data_size;
	DAT_CR_PARAM param;

	expect_handle(dat_cr_accept(NULL, rig->p.ep, 0, NULL), CR);
	expect_handle(dat_cr_accept(rig->psp, rig->p.ep, 0, NULL), CR);
	expect_arg(dat_cr_accept(cr, rig->p.ep, -1, data), 3);
	expect_arg(dat_cr_accept(cr, rig->p.ep, max + 1, data), 3);
	expect_arg(dat_cr_accept(cr, rig->p.ep, 1, NULL), 4);
	STATE(rig->p.ep, UNCONNECTED);
	STATE(rig->a.ep, ACTIVE_CONNECTION_PENDING);
	expect_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	assert_memory_equal(param.private_data, data, sizeof(data));
	cu_quiet(rig->a.connect, 50);
	expect_ok(dat_cr_accept(cr, rig->p.ep, 0, NULL));
	established(rig);
}

/* ---- Reject ------------------------------------------------------------ */

static void cr_19_reject_arguments(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CR_HANDLE cr = cu_request(rig, &rig->a);
	DAT_COUNT max = rig->prov.max_private_data_size;

	expect_handle(dat_cr_reject(NULL, 0, NULL), CR);
	expect_handle(dat_cr_reject(rig->a.ep, 0, NULL), CR);
	expect_arg(dat_cr_reject(cr, -1, data), 2);
	expect_arg(dat_cr_reject(cr, max + 1, data), 2);
	expect_arg(dat_cr_reject(cr, 1, NULL), 3);
	STATE(rig->a.ep, ACTIVE_CONNECTION_PENDING);
	cu_quiet(rig->a.connect, 50);
	expect_ok(dat_cr_reject(cr, 0, data));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED, NULL);
}

#define T(f) cmocka_unit_test_setup_teardown(f, cu_setup_ends, cu_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(cr_1_outlives_service_point_and_evd),
		T(cr_1_9_consumed_by_accept),
		T(cr_17_consumed_by_reject),
		T(cr_1_pending_request_forbids_graceful_close),
		T(cr_2_abandoned_request_can_be_queried_and_rejected),
		T(cr_2_accept_of_an_abandoned_request),
		T(cr_3_to_7_query),
		T(cr_6_no_private_data),
		T(cr_8_query_arguments),
		T(cr_10_needs_an_unconnected_endpoint_of_the_ia),
		T(cr_12_endpoint_needs_pz_and_connect_evd),
		T(cr_14_private_data_may_be_the_requests_own),
		T(cr_16_failing_accept_changes_nothing),
		T(cr_19_reject_arguments),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
