/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Public service points (PSP-1 to PSP-13, PSP-T1). */
#include "conn_util.h"
#include "peer.h"

static void refused(struct cu_rig *rig, struct ct_end *end, DAT_CONN_QUAL qual)
{
	(void)rig;
	expect_ok(cu_connect(end, qual, DAT_TIMEOUT_INFINITE));
	cu_conn_event(end->connect, end->ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL);
	STATE(end->ep, DISCONNECTED);
	expect_ok(dat_ep_reset(end->ep));
}

/* ---- Creation ---------------------------------------------------------- */

static void psp_1_2_a_request_becomes_one_event(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CR_ARRIVAL_EVENT_DATA *data;
	DAT_EVENT event;

	memset(&event, 0xa5, sizeof(event));
	expect_ok(cu_connect(&rig->a, rig->qual, DAT_TIMEOUT_INFINITE));
	assert_true(cu_next(rig->cr, CT_MS, &event));
	assert_int_equal(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
	data = &event.event_data.cr_arrival_event_data;
	assert_ptr_equal(data->sp_handle.psp_handle, rig->psp);
	assert_int_equal(data->conn_qual, rig->qual);
	assert_non_null(data->cr_handle);
	assert_int_equal(data->truncate_flag, DAT_FALSE);
	assert_non_null(data->local_ia_address_ptr);
	assert_int_equal(data->local_ia_address_ptr->sa_family,
			 rig->attr.ia_address_ptr->sa_family);
	cu_quiet(rig->cr, 50);
	/* EV-3 */
	STATE(rig->a.ep, ACTIVE_CONNECTION_PENDING);
}

static void psp_3_several_points_share_an_evd(void **state)
{
	struct cu_rig *rig = *state;
	DAT_PSP_HANDLE second;
	DAT_CONN_QUAL qual;
	DAT_EVENT event;

	expect_ok(dat_psp_create_any(rig->ia, &qual, rig->cr, DAT_PSP_CONSUMER_FLAG, &second));
	assert_true(qual != rig->qual);
	expect_ok(cu_connect(&rig->a, qual, DAT_TIMEOUT_INFINITE));
	assert_true(cu_next(rig->cr, CT_MS, &event));
	assert_ptr_equal(event.event_data.cr_arrival_event_data.sp_handle.psp_handle, second);
	assert_int_equal(event.event_data.cr_arrival_event_data.conn_qual, qual);
	expect_ok(cu_connect(&rig->p, rig->qual, DAT_TIMEOUT_INFINITE));
	assert_true(cu_next(rig->cr, CT_MS, &event));
	assert_ptr_equal(event.event_data.cr_arrival_event_data.sp_handle.psp_handle, rig->psp);
	expect_state(dat_evd_free(rig->cr), EVD_IN_USE);
}

static void psp_3_evd_must_fit(void **state)
{
	struct cu_rig *rig = *state, *other = cu_rig_open();
	DAT_CONN_QUAL qual = cu_free_qual(rig);
	DAT_PSP_HANDLE psp;

	expect_handle(dat_psp_create(rig->ia, qual, NULL, DAT_PSP_CONSUMER_FLAG, &psp), EVD_CR);
	expect_handle(dat_psp_create(rig->ia, qual, rig->a.connect, DAT_PSP_CONSUMER_FLAG, &psp),
		      EVD_CR);
	expect_handle(dat_psp_create(rig->ia, qual, rig->a.pz, DAT_PSP_CONSUMER_FLAG, &psp),
		      EVD_CR);
	expect_handle(dat_psp_create(rig->ia, qual, other->cr, DAT_PSP_CONSUMER_FLAG, &psp),
		      EVD_CR);
	expect_handle(dat_psp_create_any(rig->ia, &qual, NULL, DAT_PSP_CONSUMER_FLAG, &psp),
		      EVD_CR);
	expect_handle(dat_psp_create_any(rig->ia, &qual, rig->a.recv, DAT_PSP_CONSUMER_FLAG, &psp),
		      EVD_CR);
	cu_rig_close(other);
}

static void psp_5_9_create_arguments(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CONN_QUAL qual = cu_free_qual(rig);
	DAT_PSP_HANDLE psp;

	expect_handle(dat_psp_create(NULL, qual, rig->cr, DAT_PSP_CONSUMER_FLAG, &psp), IA);
	expect_arg(dat_psp_create(rig->ia, 0, rig->cr, DAT_PSP_CONSUMER_FLAG, &psp), 2);
	expect_arg(dat_psp_create(rig->ia, qual, rig->cr, (DAT_PSP_FLAGS)2, &psp), 4);
	expect_arg(dat_psp_create(rig->ia, qual, rig->cr, DAT_PSP_CONSUMER_FLAG, NULL), 5);
	expect_handle(dat_psp_create_any(NULL, &qual, rig->cr, DAT_PSP_CONSUMER_FLAG, &psp), IA);
	expect_arg(dat_psp_create_any(rig->ia, NULL, rig->cr, DAT_PSP_CONSUMER_FLAG, &psp), 2);
	expect_arg(dat_psp_create_any(rig->ia, &qual, rig->cr, (DAT_PSP_FLAGS)-1, &psp), 4);
	expect_arg(dat_psp_create_any(rig->ia, &qual, rig->cr, DAT_PSP_CONSUMER_FLAG, NULL), 5);
	/* GEN-8: none of them listens. */
	expect_ok(dat_psp_create(rig->ia, cu_free_qual(rig), rig->cr, DAT_PSP_CONSUMER_FLAG, &psp));
}

/* On a qualifier beyond port numbers, or on one like it if another process has what it maps to. */
static DAT_RETURN listen_wide(const struct cu_rig *rig, DAT_CONN_QUAL *wide, DAT_PSP_HANDLE *psp)
{
	const DAT_CONN_QUAL first = *wide;
	DAT_RETURN rc;

	for (DAT_CONN_QUAL i = 0; i < 20; i++) {
		*wide = first ^ i << 20;
		rc = dat_psp_create(rig->ia, *wide, rig->cr, DAT_PSP_CONSUMER_FLAG, psp);
		if (DAT_GET_TYPE(rc) != DAT_CONN_QUAL_IN_USE)
			break;
	}
	return rc;
}

static void psp_9_qualifier_the_transport_cannot_express(void **state)
{
	static const DAT_CONN_QUAL wide[] = { UINT64_C(0x10000), UINT64_C(1) << 32 | 5000,
					      UINT64_MAX };
	struct cu_rig *rig = *state;

	for (size_t i = 0; i < sizeof(wide) / sizeof(wide[0]); i++) {
		DAT_CONN_QUAL qual = wide[i];
		DAT_PSP_HANDLE psp;
		DAT_PSP_PARAM param;
		DAT_RETURN rc;

		rc = listen_wide(rig, &qual, &psp);
		if (rc != DAT_SUCCESS) {
			expect_arg(rc, 2);
			continue;
		}
		/* A transport that can: the qualifier is the one given (PSP-11). */
		expect_ok(dat_psp_query(psp, DAT_PSP_FIELD_ALL, &param));
		assert_int_equal(param.conn_qual, qual);
		expect_ok(dat_psp_free(psp));
	}
}

/* Beyond a port number: as release 2.1.10 maps them, or not at all under strict rules. */
static int large_qualifiers(void)
{
	DAT_CONN_QUAL wide = UINT64_C(184527646);
	struct cu_rig *rig = cu_rig_open();
	DAT_PSP_HANDLE psp, second;
	struct ct_end end = { 0 };
	DAT_PSP_PARAM param;
	DAT_RETURN rc;

	rc = listen_wide(rig, &wide, &psp);
	if (harness_strict()) {
		expect_arg(rc, 2);
		cu_rig_close(rig);
		return 0;
	}
	expect_ok(rc);
	expect_ok(dat_psp_query(psp, DAT_PSP_FIELD_ALL, &param));
	assert_int_equal(param.conn_qual, wide);
	expect_type(dat_psp_create(rig->ia, wide % 32001 + 33534, rig->cr, DAT_PSP_CONSUMER_FLAG,
				   &second),
		    DAT_CONN_QUAL_IN_USE);
	ct_end_open(&end, rig->ia, NULL);
	expect_ok(cu_connect(&end, wide, CT_US));
	expect_ok(dat_cr_reject(cu_take_cr(rig->cr), 0, NULL));
	cu_conn_event(end.connect, end.ep, DAT_CONNECTION_EVENT_PEER_REJECTED, NULL);
	ct_end_close(&end);
	expect_ok(dat_psp_free(psp));
	cu_rig_close(rig);
	return 0;
}

/* EP-71, PSP-11, GEN-31 */
static void psp_9_large_qualifiers_of_old_programs(void **state)
{
	(void)state;
	harness_both_strict("large-qualifiers");
}

static void psp_8_qualifier_in_use(void **state)
{
	struct cu_rig *rig = *state;
	DAT_PSP_HANDLE psp;

	expect_type(dat_psp_create(rig->ia, rig->qual, rig->cr, DAT_PSP_CONSUMER_FLAG, &psp),
		    DAT_CONN_QUAL_IN_USE);
	expect_ok(dat_psp_free(rig->psp));
	expect_ok(dat_psp_create(rig->ia, rig->qual, rig->cr, DAT_PSP_CONSUMER_FLAG, &rig->psp));
}

static void psp_8_qualifier_in_use_by_another_open(void **state)
{
	struct cu_rig *rig = *state, *other = cu_rig_open();
	DAT_PSP_HANDLE psp;

	expect_type(dat_psp_create(other->ia, rig->qual, other->cr, DAT_PSP_CONSUMER_FLAG, &psp),
		    DAT_CONN_QUAL_IN_USE);
	expect_ok(dat_psp_free(rig->psp));
	expect_ok(dat_psp_create(other->ia, rig->qual, other->cr, DAT_PSP_CONSUMER_FLAG, &psp));
	cu_rig_close(other);
	expect_ok(dat_psp_create(rig->ia, rig->qual, rig->cr, DAT_PSP_CONSUMER_FLAG, &rig->psp));
}

static void listener(int fd)
{
	struct cu_rig *rig = cu_rig_open();

	peer_put_service(fd, rig);
	peer_get_word(fd);
	cu_rig_close(rig);
}

static void psp_8_qualifier_in_use_by_another_process(void **state)
{
	struct cu_rig *rig = *state;
	struct peer *peer = peer_start("listener");
	DAT_CONN_QUAL qual = peer_get_service(peer->fd).qual;
	DAT_PSP_HANDLE psp;

	expect_type(dat_psp_create(rig->ia, qual, rig->cr, DAT_PSP_CONSUMER_FLAG, &psp),
		    DAT_CONN_QUAL_IN_USE);
	peer_put_word(peer->fd, 0);
	peer_finish(peer);
	expect_ok(dat_psp_create(rig->ia, qual, rig->cr, DAT_PSP_CONSUMER_FLAG, &psp));
}

static void psp_8_free_again_at_once_after_connections(void **state)
{
	struct cu_rig *rig = *state;

	for (unsigned int i = 0; i < 10; i++) {
		cu_establish(rig, &rig->a, &rig->p);
		expect_ok(dat_psp_free(rig->psp));
		expect_ok(dat_psp_create(rig->ia, rig->qual, rig->cr, DAT_PSP_CONSUMER_FLAG,
					 &rig->psp));
		cu_end_connection(i % 2 ? &rig->a : &rig->p, i % 2 ? &rig->p : &rig->a);
		expect_ok(dat_ep_reset(rig->a.ep));
		expect_ok(dat_ep_reset(rig->p.ep));
	}
}

static void psp_10_create_any(void **state)
{
	enum {
		N = 50
	};
	struct cu_rig *rig = *state;
	DAT_PSP_HANDLE psp[N];
	DAT_CONN_QUAL qual[N];

	for (unsigned int i = 0; i < N; i++) {
		expect_ok(dat_psp_create_any(rig->ia, &qual[i], rig->cr, DAT_PSP_CONSUMER_FLAG,
					     &psp[i]));
		assert_true(qual[i] >= 1024);
		for (unsigned int k = 0; k < i; k++)
			assert_true(qual[k] != qual[i]);
	}
	for (unsigned int i = 0; i < N; i++)
		expect_ok(dat_psp_free(psp[i]));
}

/* ---- Query ------------------------------------------------------------- */

static void psp_11_query(void **state)
{
	struct cu_rig *rig = *state;
	DAT_PSP_PARAM param;

	memset(&param, 0xa5, sizeof(param));
	expect_ok(dat_psp_query(rig->psp, DAT_PSP_FIELD_ALL, &param));
	assert_ptr_equal(param.ia_handle, rig->ia);
	assert_int_equal(param.conn_qual, rig->qual);
	assert_ptr_equal(param.evd_handle, rig->cr);
	assert_int_equal(param.psp_flags, DAT_PSP_CONSUMER_FLAG);
	for (unsigned int bit = 1; bit <= 8; bit <<= 1)
		expect_ok(dat_psp_query(rig->psp, (DAT_PSP_PARAM_MASK)bit, &param));
	expect_ok(dat_psp_query(rig->psp, (DAT_PSP_PARAM_MASK)0, NULL));
	expect_arg(dat_psp_query(rig->psp, (DAT_PSP_PARAM_MASK)0x10, &param), 2);
	expect_arg(dat_psp_query(rig->psp, DAT_PSP_FIELD_ALL, NULL), 3);
	expect_handle(dat_psp_query(NULL, DAT_PSP_FIELD_ALL, &param), PSP);
	expect_handle(dat_psp_query(rig->cr, DAT_PSP_FIELD_ALL, &param), PSP);
}

/* ---- Free -------------------------------------------------------------- */

static void psp_12_later_requests_find_no_listener(void **state)
{
	struct cu_rig *rig = *state;

	expect_ok(dat_psp_free(rig->psp));
	refused(rig, &rig->a, rig->qual);
	cu_quiet(rig->cr, 0);
}

static void psp_12_requests_and_connections_outlive_the_point(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end third = { 0 }, fourth = { 0 };
	DAT_CR_HANDLE cr;

	ct_end_open(&third, rig->ia, NULL);
	ct_end_open(&fourth, rig->ia, NULL);
	cu_establish(rig, &rig->a, &rig->p);
	cr = cu_request(rig, &third);
	expect_ok(dat_psp_free(rig->psp));
	expect_ok(dat_cr_accept(cr, fourth.ep, 0, NULL));
	cu_conn_event(fourth.connect, fourth.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	cu_conn_event(third.connect, third.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	cu_quiet(rig->a.connect, 50);
	expect_ok(cu_recv(&rig->p, 0, 64, 1));
	expect_ok(ct_post_send(&rig->a, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->p.recv, rig->p.ep, 1, DAT_DTO_RECEIVE, 64);
}

static void psp_13_free(void **state)
{
	struct cu_rig *rig = *state;

	expect_handle(dat_psp_free(NULL), PSP);
	expect_handle(dat_psp_free(rig->cr), PSP);
	expect_ok(dat_psp_free(rig->psp));
	expect_handle(dat_psp_free(rig->psp), PSP);
	expect_ok(dat_evd_free(rig->cr));
}

/* SIM-9 */
static void psp_12_free_while_requests_arrive(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a;

	for (unsigned int i = 0; i < 50; i++) {
		DAT_EVENT event;

		expect_ok(cu_connect(a, rig->qual, DAT_TIMEOUT_INFINITE));
		expect_ok(dat_psp_free(rig->psp));
		/* Either an event and a request, or a refusal without a trace. */
		if (cu_next(rig->cr, 20, &event)) {
			expect_ok(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0,
						NULL));
			cu_conn_event(a->connect, a->ep, DAT_CONNECTION_EVENT_PEER_REJECTED, NULL);
		} else {
			cu_conn_event(a->connect, a->ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
				      NULL);
		}
		expect_ok(dat_ep_reset(a->ep));
		expect_ok(dat_psp_create(rig->ia, rig->qual, rig->cr, DAT_PSP_CONSUMER_FLAG,
					 &rig->psp));
	}
}

/* ---- The queue of the EVD is the backlog ------------------------------- */

#define SURPLUS 4

static void psp_t1_full_queue_refuses(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EVD_HANDLE cr = ct_evd(rig->ia, 2, NULL, DAT_EVD_CR_FLAG);
	unsigned int q = (unsigned int)ct_evd_param(cr).evd_qlen, refusals = 0, requests;
	struct ct_end *ends = test_calloc(q + SURPLUS, sizeof(*ends));
	uint64_t deadline = ct_now_us() + CT_US;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_EVENT event;

	expect_ok(dat_psp_create_any(rig->ia, &qual, cr, DAT_PSP_CONSUMER_FLAG, &psp));
	for (unsigned int i = 0; i < q + SURPLUS; i++) {
		ends[i].connect = rig->a.connect;
		ends[i].recv = rig->a.recv;
		ends[i].request = rig->a.request;
		ends[i].pz = rig->a.pz;
		ends[i].ia = rig->ia;
		expect_ok(dat_ep_create(rig->ia, rig->a.pz, rig->a.recv, rig->a.request,
					rig->a.connect, NULL, &ends[i].ep));
		expect_ok(cu_connect(&ends[i], qual, DAT_TIMEOUT_INFINITE));
	}
	while (refusals < SURPLUS && ct_now_us() < deadline) {
		if (!cu_next(rig->a.connect, 100, &event))
			continue;
		assert_int_equal(event.event_number, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
		refusals++;
	}
	assert_int_equal(refusals, SURPLUS);
	cu_quiet(rig->a.connect, CU_QUIET);
	for (requests = 0; dat_evd_dequeue(cr, &event) == DAT_SUCCESS; requests++)
		expect_ok(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0, NULL));
	assert_int_equal(requests, q);
	for (unsigned int i = 0; i < q; i++) {
		assert_true(cu_next(rig->a.connect, CT_MS, &event));
		assert_int_equal(event.event_number, DAT_CONNECTION_EVENT_PEER_REJECTED);
	}
	/* Now there is room again. */
	expect_ok(cu_connect(&rig->p, qual, DAT_TIMEOUT_INFINITE));
	cu_take_cr(cr);
	for (unsigned int i = 0; i < q + SURPLUS; i++)
		expect_ok(dat_ep_free(ends[i].ep));
	test_free(ends);
}

/* ---- The provider's endpoints ------------------------------------------ */

static void psp_6_flags_against_ep_creator(void **state)
{
	struct cu_rig *rig = *state;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_RETURN rc;

	rc = dat_psp_create_any(rig->ia, &qual, rig->cr, DAT_PSP_PROVIDER_FLAG, &psp);
	if (rig->prov.ep_creator == DAT_PSP_CREATES_EP_NEVER)
		expect_type(rc, DAT_MODEL_NOT_SUPPORTED);
	else
		expect_ok(rc);
	rc = dat_psp_create_any(rig->ia, &qual, rig->cr, DAT_PSP_CONSUMER_FLAG, &psp);
	if (rig->prov.ep_creator == DAT_PSP_CREATES_EP_ALWAYS)
		expect_type(rc, DAT_MODEL_NOT_SUPPORTED);
	else
		expect_ok(rc);
}

/* A request at a point with the PROVIDER flag; its endpoint. */
static DAT_EP_HANDLE provided(struct cu_rig *rig, DAT_CR_HANDLE *cr)
{
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_PSP_PARAM sp;
	DAT_CR_PARAM param;

	if (rig->prov.ep_creator == DAT_PSP_CREATES_EP_NEVER)
		harness_skip("# the provider creates no endpoints");
	expect_ok(dat_psp_create_any(rig->ia, &qual, rig->cr, DAT_PSP_PROVIDER_FLAG, &psp));
	expect_ok(dat_psp_query(psp, DAT_PSP_FIELD_ALL, &sp));
	assert_int_equal(sp.psp_flags, DAT_PSP_PROVIDER_FLAG);
	expect_ok(cu_connect(&rig->a, qual, DAT_TIMEOUT_INFINITE));
	*cr = cu_take_cr(rig->cr);
	expect_ok(dat_cr_query(*cr, DAT_CR_FIELD_ALL, &param));
	assert_non_null(param.local_ep_handle);
	return param.local_ep_handle;
}

static void psp_7_provided_endpoint_is_tentative(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EP_PARAM param;
	DAT_CR_HANDLE cr;
	DAT_EP_HANDLE ep = provided(rig, &cr);

	STATE(ep, TENTATIVE_CONNECTION_PENDING);
	expect_ok(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	assert_ptr_equal(param.ia_handle, rig->ia);
	assert_null(param.pz_handle);
	assert_null(param.recv_evd_handle);
	assert_null(param.request_evd_handle);
	assert_null(param.connect_evd_handle);
	/* CR-12: it cannot be accepted as it is, and nothing changes. */
	expect_handle(dat_cr_accept(cr, NULL, 0, NULL), EP);
	STATE(ep, TENTATIVE_CONNECTION_PENDING);
	/* CR-11: nor by naming it. */
	expect_handle(dat_cr_accept(cr, ep, 0, NULL), EP);
	expect_handle(dat_cr_accept(cr, rig->p.ep, 0, NULL), EP);
	STATE(rig->a.ep, ACTIVE_CONNECTION_PENDING);
}

static void psp_7_pz_and_connect_evd_suffice_to_accept(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EP_PARAM param = { 0 };
	DAT_CR_HANDLE cr;
	DAT_EP_HANDLE ep = provided(rig, &cr);

	param.pz_handle = rig->p.pz;
	param.connect_evd_handle = rig->p.connect;
	expect_ok(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_CONNECT_EVD_HANDLE,
				&param));
	expect_ok(dat_cr_accept(cr, NULL, 0, NULL));
	cu_conn_event(rig->p.connect, ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	STATE(ep, CONNECTED);
	/* RDMA works without completion EVDs on the target's side. */
	cu_fill(rig->a.mem.base, 4096, 3);
	expect_ok(cu_write(&rig->a, 0, 4096, 1, &rig->p.mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->a.request, rig->a.ep, 1, DAT_DTO_RDMA_WRITE, 4096);
	expect_ok(cu_read(&rig->a, 8192, 4096, 2, &rig->p.mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->a.request, rig->a.ep, 2, DAT_DTO_RDMA_READ, 4096);
	FILLED(rig->a.mem.base + 8192, 4096, 3);
	/* Afterwards it is an ordinary endpoint. */
	expect_ok(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
	cu_conn_event(rig->p.connect, ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	expect_ok(dat_ep_reset(ep));
	STATE(ep, UNCONNECTED);
	expect_ok(dat_ep_free(ep));
}

static void psp_7_handle_is_invalid_after_reject(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EP_PARAM param;
	DAT_CR_HANDLE cr;
	DAT_EP_HANDLE ep = provided(rig, &cr);

	expect_state(dat_ep_free(ep), EP_TENTCONNPENDING);
	expect_ok(dat_cr_reject(cr, 0, NULL));
	expect_handle(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param), EP);
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED, NULL);
}

#define T(f) cmocka_unit_test_setup_teardown(f, cu_setup_ends, cu_teardown)

int main(int argc, char **argv)
{
	static const struct peer_role roles[] = { { "listener", listener }, { NULL, NULL } };
	static const struct harness_child children[] = { { "large-qualifiers", large_qualifiers },
							 { NULL, NULL } };
	static const struct CMUnitTest tests[] = {
		T(psp_1_2_a_request_becomes_one_event),
		T(psp_3_several_points_share_an_evd),
		T(psp_3_evd_must_fit),
		T(psp_5_9_create_arguments),
		T(psp_9_qualifier_the_transport_cannot_express),
		T(psp_9_large_qualifiers_of_old_programs),
		T(psp_8_qualifier_in_use),
		T(psp_8_qualifier_in_use_by_another_open),
		T(psp_8_qualifier_in_use_by_another_process),
		T(psp_8_free_again_at_once_after_connections),
		T(psp_10_create_any),
		T(psp_11_query),
		T(psp_12_later_requests_find_no_listener),
		T(psp_12_requests_and_connections_outlive_the_point),
		T(psp_13_free),
		T(psp_12_free_while_requests_arrive),
		T(psp_t1_full_queue_refuses),
		T(psp_6_flags_against_ep_creator),
		T(psp_7_provided_endpoint_is_tentative),
		T(psp_7_pz_and_connect_evd_suffice_to_accept),
		T(psp_7_handle_is_invalid_after_reject),
	};

	peer_main(argc, argv, roles);
	harness_child_main(argc, argv, children);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
