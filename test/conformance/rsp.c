/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reserved service points (RSP-1 to RSP-10, RSP-T1). */
#include "conn_util.h"
#include "peer.h"

/* An RSP on the rig's passive endpoint; its qualifier. */
static DAT_CONN_QUAL reserve(struct cu_rig *rig, DAT_RSP_HANDLE *rsp)
{
	DAT_CONN_QUAL qual = cu_free_qual(rig);

	expect_ok(dat_rsp_create(rig->ia, qual, rig->p.ep, rig->cr, rsp));
	STATE(rig->p.ep, RESERVED);
	return qual;
}

static DAT_CR_HANDLE arrive(struct cu_rig *rig, DAT_CONN_QUAL qual, DAT_RSP_HANDLE rsp)
{
	DAT_CR_ARRIVAL_EVENT_DATA *data;
	DAT_EVENT event;

	expect_ok(cu_connect(&rig->a, qual, DAT_TIMEOUT_INFINITE));
	assert_true(cu_next(rig->cr, CT_MS, &event));
	assert_int_equal(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
	data = &event.event_data.cr_arrival_event_data;
	assert_ptr_equal(data->sp_handle.rsp_handle, rsp);
	assert_int_equal(data->conn_qual, qual);
	STATE(rig->p.ep, PASSIVE_CONNECTION_PENDING);
	return data->cr_handle;
}

/* RSP-1 */
static void rsp_t1_accept(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end third = { 0 };
	DAT_RSP_HANDLE rsp;
	DAT_CONN_QUAL qual = reserve(rig, &rsp);
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;

	ct_end_open(&third, rig->ia, NULL);
	cr = arrive(rig, qual, rsp);
	expect_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	assert_ptr_equal(param.local_ep_handle, rig->p.ep);
	expect_ok(dat_rsp_free(rsp));
	STATE(rig->p.ep, PASSIVE_CONNECTION_PENDING);
	/* RSP-6 */
	expect_ok(cu_connect(&third, qual, DAT_TIMEOUT_INFINITE));
	cu_conn_event(third.connect, third.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL);
	/* CR-11 */
	expect_handle(dat_cr_accept(cr, rig->p.ep, 0, NULL), EP);
	expect_ok(dat_cr_accept(cr, NULL, 0, NULL));
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	STATE(rig->p.ep, CONNECTED);
}

static void rsp_t1_8_reject(void **state)
{
	struct cu_rig *rig = *state;
	DAT_RSP_HANDLE rsp;
	DAT_CONN_QUAL qual;
	DAT_CR_HANDLE cr;
	DAT_BOOLEAN idle;

	expect_ok(cu_recv(&rig->p, 0, 64, 1));
	qual = reserve(rig, &rsp);
	cr = arrive(rig, qual, rsp);
	expect_ok(dat_cr_reject(cr, 0, NULL));
	STATE(rig->p.ep, UNCONNECTED);
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED, NULL);
	/* CR-18, FL-9: the Receive is still posted. */
	expect_ok(dat_ep_get_status(rig->p.ep, NULL, &idle, NULL));
	assert_int_equal(idle, DAT_FALSE);
	cu_quiet(rig->p.recv, 0);
	/* RSP-8: the RSP does not come back. */
	expect_ok(dat_ep_reset(rig->a.ep));
	expect_ok(cu_connect(&rig->a, qual, DAT_TIMEOUT_INFINITE));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL);
	expect_ok(dat_rsp_free(rsp));
	STATE(rig->p.ep, UNCONNECTED);
}

static void rsp_2_endpoint_must_be_unconnected(void **state)
{
	struct cu_rig *rig = *state;
	DAT_RSP_HANDLE rsp, second;

	reserve(rig, &rsp);
	expect_state(dat_rsp_create(rig->ia, cu_free_qual(rig), rig->p.ep, rig->cr, &second),
		     EP_RESERVED);
	expect_ok(dat_rsp_free(rsp));
	STATE(rig->p.ep, UNCONNECTED);
	cu_establish(rig, &rig->a, &rig->p);
	expect_state(dat_rsp_create(rig->ia, cu_free_qual(rig), rig->p.ep, rig->cr, &second),
		     EP_CONNECTED);
	STATE(rig->p.ep, CONNECTED);
}

static void rsp_3_null_endpoint(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CONN_QUAL qual = cu_free_qual(rig);
	DAT_RSP_HANDLE rsp;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	DAT_RETURN rc;

	rc = dat_rsp_create(rig->ia, qual, NULL, rig->cr, &rsp);
	if (rig->prov.ep_creator == DAT_PSP_CREATES_EP_NEVER) {
		expect_type(rc, DAT_MODEL_NOT_SUPPORTED);
		return;
	}
	expect_ok(rc);
	expect_ok(cu_connect(&rig->a, qual, DAT_TIMEOUT_INFINITE));
	cr = cu_take_cr(rig->cr);
	expect_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	STATE(param.local_ep_handle, TENTATIVE_CONNECTION_PENDING);
	expect_ok(dat_cr_reject(cr, 0, NULL));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED, NULL);
}

static void rsp_4_create_arguments(void **state)
{
	struct cu_rig *rig = *state, *other = cu_rig_open();
	DAT_CONN_QUAL qual = cu_free_qual(rig);
	struct ct_end foreign = { 0 };
	DAT_RSP_HANDLE rsp;

	ct_end_open(&foreign, other->ia, NULL);
	expect_handle(dat_rsp_create(NULL, qual, rig->p.ep, rig->cr, &rsp), IA);
	expect_handle(dat_rsp_create(rig->ia, qual, rig->p.pz, rig->cr, &rsp), EP);
	expect_handle(dat_rsp_create(rig->ia, qual, foreign.ep, rig->cr, &rsp), EP);
	expect_handle(dat_rsp_create(rig->ia, qual, rig->p.ep, NULL, &rsp), EVD_CR);
	expect_handle(dat_rsp_create(rig->ia, qual, rig->p.ep, rig->p.recv, &rsp), EVD_CR);
	expect_handle(dat_rsp_create(rig->ia, qual, rig->p.ep, other->cr, &rsp), EVD_CR);
	expect_arg(dat_rsp_create(rig->ia, 0, rig->p.ep, rig->cr, &rsp), 2);
	expect_arg(dat_rsp_create(rig->ia, qual, rig->p.ep, rig->cr, NULL), 5);
	expect_type(dat_rsp_create(rig->ia, rig->qual, rig->p.ep, rig->cr, &rsp),
		    DAT_CONN_QUAL_IN_USE);
	STATE(rig->p.ep, UNCONNECTED);
	expect_ok(dat_rsp_create(rig->ia, qual, rig->p.ep, rig->cr, &rsp));
	expect_type(dat_psp_create(rig->ia, qual, rig->cr, DAT_PSP_CONSUMER_FLAG, &rsp),
		    DAT_CONN_QUAL_IN_USE);
	ct_end_close(&foreign);
	cu_rig_close(other);
}

static void rsp_4_connect_evd_may_come_until_the_accept(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CONN_QUAL qual = cu_free_qual(rig);
	DAT_RSP_HANDLE rsp;
	DAT_EP_PARAM param;
	DAT_CR_HANDLE cr;

	expect_ok(dat_ep_query(rig->p.ep, DAT_EP_FIELD_ALL, &param));
	param.connect_evd_handle = NULL;
	expect_ok(dat_ep_modify(rig->p.ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
	expect_ok(dat_rsp_create(rig->ia, qual, rig->p.ep, rig->cr, &rsp));
	cr = arrive(rig, qual, rsp);
	/* CR-12, CR-16 */
	expect_handle(dat_cr_accept(cr, NULL, 0, NULL), EP);
	STATE(rig->p.ep, PASSIVE_CONNECTION_PENDING);
	param.connect_evd_handle = rig->p.connect;
	expect_ok(dat_ep_modify(rig->p.ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
	expect_ok(dat_cr_accept(cr, NULL, 0, NULL));
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
}

static void rsp_5_qualifier_becomes_free(void **state)
{
	struct cu_rig *rig = *state;
	DAT_RSP_HANDLE rsp;
	DAT_CONN_QUAL qual = reserve(rig, &rsp);
	DAT_PSP_HANDLE psp;

	arrive(rig, qual, rsp);
	expect_ok(dat_psp_create(rig->ia, qual, rig->cr, DAT_PSP_CONSUMER_FLAG, &psp));
}

static void rsp_7_spent_point(void **state)
{
	struct cu_rig *rig = *state;
	DAT_RSP_HANDLE rsp;
	DAT_CONN_QUAL qual = reserve(rig, &rsp);
	DAT_RSP_PARAM param;
	DAT_CR_HANDLE cr = arrive(rig, qual, rsp);

	memset(&param, 0xa5, sizeof(param));
	expect_ok(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param));
	assert_ptr_equal(param.ia_handle, rig->ia);
	assert_int_equal(param.conn_qual, qual);
	assert_ptr_equal(param.ep_handle, rig->p.ep);
	expect_ok(dat_cr_accept(cr, NULL, 0, NULL));
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	expect_ok(dat_rsp_free(rsp));
	STATE(rig->p.ep, CONNECTED);
	cu_quiet(rig->p.connect, 50);
	expect_handle(dat_rsp_free(rsp), RSP);
}

static void rsp_7_spent_point_does_not_count_as_in_use(void **state)
{
	struct cu_rig *rig = *state;
	DAT_RSP_HANDLE rsp;
	DAT_CONN_QUAL qual = reserve(rig, &rsp);
	DAT_EVD_HANDLE async = NULL;

	expect_ok(dat_cr_reject(arrive(rig, qual, rsp), 0, NULL));
	ct_end_close(&rig->p);
	ct_end_close(&rig->a);
	expect_ok(dat_psp_free(rig->psp));
	expect_ok(dat_evd_free(rig->cr));
	expect_ok(dat_ia_close(rig->ia, DAT_CLOSE_GRACEFUL_FLAG));
	expect_ok(dat_ia_open(harness_ia_name(), 8, &async, &rig->ia));
}

static void rsp_9_free_of_a_waiting_point(void **state)
{
	struct cu_rig *rig = *state;
	DAT_RSP_HANDLE rsp;
	DAT_CONN_QUAL qual = reserve(rig, &rsp);

	expect_ok(cu_recv(&rig->p, 0, 64, 1));
	expect_ok(dat_rsp_free(rsp));
	STATE(rig->p.ep, UNCONNECTED);
	expect_handle(dat_rsp_free(rsp), RSP);
	expect_ok(cu_connect(&rig->a, qual, DAT_TIMEOUT_INFINITE));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL);
	cu_quiet(rig->cr, 0);
	cu_quiet(rig->p.recv, 0);
	expect_handle(dat_rsp_free(NULL), RSP);
	expect_handle(dat_rsp_free(rig->psp), RSP);
}

static void rsp_9_free_while_a_request_arrives(void **state)
{
	struct cu_rig *rig = *state;

	for (unsigned int i = 0; i < 50; i++) {
		DAT_RSP_HANDLE rsp;
		DAT_CONN_QUAL qual = reserve(rig, &rsp);
		DAT_EVENT event;

		expect_ok(cu_connect(&rig->a, qual, DAT_TIMEOUT_INFINITE));
		expect_ok(dat_rsp_free(rsp));
		if (ct_ep_state(rig->p.ep) == DAT_EP_STATE_UNCONNECTED) {
			cu_quiet(rig->cr, 0);
			cu_conn_event(rig->a.connect, rig->a.ep,
				      DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL);
		} else {
			STATE(rig->p.ep, PASSIVE_CONNECTION_PENDING);
			assert_true(cu_next(rig->cr, CT_MS, &event));
			expect_ok(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0,
						NULL));
			cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED,
				      NULL);
		}
		expect_ok(dat_ep_reset(rig->a.ep));
	}
}

static void rsp_10_query(void **state)
{
	struct cu_rig *rig = *state;
	DAT_RSP_HANDLE rsp;
	DAT_CONN_QUAL qual = reserve(rig, &rsp);
	DAT_RSP_PARAM param;

	memset(&param, 0xa5, sizeof(param));
	expect_ok(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param));
	assert_ptr_equal(param.ia_handle, rig->ia);
	assert_int_equal(param.conn_qual, qual);
	assert_ptr_equal(param.evd_handle, rig->cr);
	assert_ptr_equal(param.ep_handle, rig->p.ep);
	expect_ok(dat_rsp_query(rsp, (DAT_RSP_PARAM_MASK)0, NULL));
	expect_arg(dat_rsp_query(rsp, (DAT_RSP_PARAM_MASK)0x10, &param), 2);
	expect_arg(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, NULL), 3);
	expect_handle(dat_rsp_query(NULL, DAT_RSP_FIELD_ALL, &param), RSP);
	expect_handle(dat_rsp_query(rig->psp, DAT_RSP_FIELD_ALL, &param), RSP);
}

#define T(f) cmocka_unit_test_setup_teardown(f, cu_setup_ends, cu_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(rsp_t1_accept),
		T(rsp_t1_8_reject),
		T(rsp_2_endpoint_must_be_unconnected),
		T(rsp_3_null_endpoint),
		T(rsp_4_create_arguments),
		T(rsp_4_connect_evd_may_come_until_the_accept),
		T(rsp_5_qualifier_becomes_free),
		T(rsp_7_spent_point),
		T(rsp_7_spent_point_does_not_count_as_in_use),
		T(rsp_9_free_of_a_waiting_point),
		T(rsp_9_free_while_a_request_arrives),
		T(rsp_10_query),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
