/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Every object of the core and every way a connection goes, over the minimal transport. */
#include "test/minimal/rig.h"

/* ---- Life ---- */

static void every_object_is_made_and_freed(void **state)
{
	struct ct_ia ia;
	struct ct_end end = { 0 };
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;
	DAT_RSP_HANDLE rsp;
	DAT_CONN_QUAL qual;

	(void)state;
	ct_open(&ia);
	cno = ct_cno(ia.ia);
	evd = ct_evd(ia.ia, 8, cno, DAT_EVD_CR_FLAG);
	ct_end_open(&end, ia.ia, NULL);
	expect_ok(dat_psp_create_any(ia.ia, &qual, evd, DAT_PSP_PROVIDER_FLAG, &psp));
	expect(dat_rsp_create(ia.ia, qual, end.ep, evd, &rsp), DAT_CONN_QUAL_IN_USE, 0);
	assert_int_equal(ct_ep_state(end.ep), DAT_EP_STATE_UNCONNECTED);
	expect_ok(dat_rsp_create(ia.ia, qual + 1, end.ep, evd, &rsp));
	assert_int_equal(ct_ep_state(end.ep), DAT_EP_STATE_RESERVED);
	expect_state(dat_ia_close(ia.ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
	expect_state(dat_ep_free(end.ep), EP_RESERVED);
	expect_state(dat_evd_free(evd), EVD_IN_USE);
	expect_state(dat_cno_free(cno), CNO_IN_USE);
	expect_state(dat_pz_free(end.pz), PZ_IN_USE);
	expect_ok(dat_rsp_free(rsp));
	expect_handle(dat_rsp_free(rsp), RSP);
	expect_ok(dat_psp_free(psp));
	expect_handle(dat_psp_free(psp), PSP);
	ct_end_close(&end);
	expect_ok(dat_evd_free(evd));
	expect_handle(dat_evd_free(evd), EVD_REQUEST);
	expect_ok(dat_cno_free(cno));
	expect_ok(dat_ia_close(ia.ia, DAT_CLOSE_GRACEFUL_FLAG));
	expect_handle(dat_ia_close(ia.ia, DAT_CLOSE_GRACEFUL_FLAG), IA);
}

/* ---- Connections ---- */

static void private_data_goes_both_ways(void **state)
{
	struct rig *rig = *state;
	char ask[] = "May I?", answer[256];
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	memset(answer, 'y', sizeof(answer));
	expect_ok(dat_ep_connect(rig->a.ep, rig->ib.attr.ia_address_ptr, rig->qual, CT_US,
				 sizeof(ask), ask, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	cr = rig_take_cr(rig);
	expect_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	assert_int_equal(param.private_data_size, sizeof(ask));
	assert_string_equal(param.private_data, ask);
	expect_arg(dat_cr_accept(cr, rig->b.ep, sizeof(answer) + 1, answer), 3);
	expect_ok(dat_cr_accept(cr, rig->b.ep, sizeof(answer), answer));
	expect_handle(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), CR);
	ct_next(rig->a.connect, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	assert_int_equal(event.event_data.connect_event_data.private_data_size, sizeof(answer));
	assert_memory_equal(event.event_data.connect_event_data.private_data, answer,
			    sizeof(answer));
	ct_next(rig->b.connect, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	assert_int_equal(event.event_data.connect_event_data.private_data_size, 0);
	assert_null(event.event_data.connect_event_data.private_data);
}

static void both_ends_are_known_by_the_same_names(void **state)
{
	struct rig *rig = *state;
	DAT_EP_PARAM a, b;

	expect_ok(dat_ep_query(rig->a.ep, DAT_EP_FIELD_ALL, &a));
	expect_ok(dat_ep_query(rig->b.ep, DAT_EP_FIELD_ALL, &b));
	assert_int_equal(a.ep_state, DAT_EP_STATE_CONNECTED);
	assert_int_equal(a.remote_port_qual, rig->qual);
	assert_int_equal(b.local_port_qual, rig->qual);
	assert_int_equal(a.local_port_qual, b.remote_port_qual);
	assert_int_equal(((struct sockaddr_in *)b.remote_ia_address_ptr)->sin_addr.s_addr,
			 ((struct sockaddr_in *)rig->ia.attr.ia_address_ptr)->sin_addr.s_addr);
	assert_ptr_equal(a.ia_handle, rig->ia.ia);
}

static void a_rejection_carries_data(void **state)
{
	struct rig *rig = *state;
	char why[] = "not today";
	DAT_EVENT event;

	rig_connect(rig, CT_US);
	expect_ok(dat_cr_reject(rig_take_cr(rig), sizeof(why), why));
	ct_next(rig->a.connect, DAT_CONNECTION_EVENT_PEER_REJECTED, &event);
	assert_int_equal(event.event_data.connect_event_data.private_data_size, sizeof(why));
	assert_string_equal(event.event_data.connect_event_data.private_data, why);
	assert_int_equal(ct_ep_state(rig->a.ep), DAT_EP_STATE_DISCONNECTED);
}

static void nobody_listening_is_an_event(void **state)
{
	struct rig *rig = *state;

	expect_ok(ct_post_recv(&rig->a, 0, 8, 1, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(dat_psp_free(rig->psp));
	rig_connect(rig, CT_US);
	rig_conn_event(&rig->a, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	ct_completion(rig->a.recv, 1, DAT_DTO_ERR_FLUSHED);
}

static void a_foreign_address_is_unreachable(void **state)
{
	struct sockaddr_in foreign = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(0xc0000201) };
	struct rig *rig = *state;

	expect_ok(dat_ep_connect(rig->a.ep, (DAT_IA_ADDRESS_PTR)&foreign, rig->qual, CT_US, 0, NULL,
				 DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	rig_conn_event(&rig->a, DAT_CONNECTION_EVENT_UNREACHABLE);
}

static void a_silent_peer_times_the_connect_out(void **state)
{
	struct rig *rig = *state;
	uint64_t start = ct_now_us();
	DAT_EP_STATE pending;

	expect_ok(ct_post_recv(&rig->a, 0, 8, 1, DAT_COMPLETION_DEFAULT_FLAG));
	rig_connect(rig, 200000);
	pending = ct_ep_state(rig->a.ep);
	if (ct_now_us() - start < 200000) /* or it may be over: this thread stood still */
		assert_int_equal(pending, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	rig_conn_event(&rig->a, DAT_CONNECTION_EVENT_TIMED_OUT);
	ct_took(ct_now_us() - start, 200000);
	ct_completion(rig->a.recv, 1, DAT_DTO_ERR_FLUSHED);
	/* The request can still be accepted, which comes to nothing (CR-2). */
	expect_ok(ct_post_recv(&rig->b, 0, 8, 2, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(dat_cr_accept(rig_take_cr(rig), rig->b.ep, 0, NULL));
	rig_conn_event(&rig->b, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	ct_completion(rig->b.recv, 2, DAT_DTO_ERR_FLUSHED);
	/* Both can be used again. */
	expect_ok(dat_ep_reset(rig->a.ep));
	expect_ok(dat_ep_reset(rig->b.ep));
	rig_establish(rig);
}

static void an_attempt_is_given_up(void **state)
{
	struct rig *rig = *state;
	DAT_CR_HANDLE cr;

	rig_connect(rig, DAT_TIMEOUT_INFINITE);
	cr = rig_take_cr(rig);
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	rig_conn_event(&rig->a, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_ok(dat_cr_reject(cr, 0, NULL));
	expect_ok(dat_ep_reset(rig->a.ep));
	rig_connect(rig, DAT_TIMEOUT_INFINITE);
	expect_ok(dat_ep_free(rig->a.ep));
	expect_ok(dat_cr_accept(rig_take_cr(rig), rig->b.ep, 0, NULL));
	rig_conn_event(&rig->b, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	ct_empty(rig->a.connect);
}

/* EP-13 to EP-15 in P and T. */
static void knows_who_asks(DAT_EP_HANDLE ep, DAT_CR_HANDLE cr)
{
	DAT_CR_PARAM asks;
	DAT_EP_PARAM param;

	expect_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &asks));
	expect_ok(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
	assert_non_null(param.remote_ia_address_ptr);
	assert_int_equal(param.remote_port_qual, asks.remote_port_qual);
	assert_memory_equal(param.remote_ia_address_ptr, asks.remote_ia_address_ptr,
			    sizeof(struct sockaddr_in));
}

static void a_reserved_service_point_is_spent_by_one_request(void **state)
{
	struct rig *rig = *state;
	DAT_RSP_HANDLE rsp;
	DAT_EVENT event;
	DAT_CR_HANDLE cr;

	expect_ok(dat_psp_free(rig->psp));
	expect_ok(dat_rsp_create(rig->ib.ia, rig->qual, rig->b.ep, rig->cr, &rsp));
	rig_connect(rig, CT_US);
	ct_next(rig->cr, DAT_CONNECTION_REQUEST_EVENT, &event);
	assert_ptr_equal(event.event_data.cr_arrival_event_data.sp_handle.rsp_handle, rsp);
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	assert_int_equal(ct_ep_state(rig->b.ep), DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	knows_who_asks(rig->b.ep, cr);
	/* The qualifier is free again. */
	expect_ok(dat_psp_create(rig->ib.ia, rig->qual, rig->cr, DAT_PSP_CONSUMER_FLAG, &rig->psp));
	expect_handle(dat_cr_accept(cr, rig->b.ep, 0, NULL), EP);
	expect_ok(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
	rig_conn_event(&rig->a, DAT_CONNECTION_EVENT_ESTABLISHED);
	rig_conn_event(&rig->b, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_ok(dat_rsp_free(rsp));
}

/* RSP-3: a request for which no endpoint can be made is refused, and another one may come. */
static void a_reserved_service_point_outlives_a_want_of_endpoints(void **state)
{
	static DAT_EP_HANDLE eps[10000];
	struct rig *rig = *state;
	DAT_RSP_HANDLE rsp;
	DAT_EVENT event;
	size_t num = 0;

	expect_ok(dat_psp_free(rig->psp));
	expect_ok(dat_rsp_create(rig->ib.ia, rig->qual, DAT_HANDLE_NULL, rig->cr, &rsp));
	while (!dat_ep_create(rig->ib.ia, rig->b.pz, rig->b.recv, rig->b.request, rig->b.connect,
			      NULL, &eps[num]))
		assert_true(++num < RIG_NUM_OF(eps));
	rig_connect(rig, CT_US);
	rig_conn_event(&rig->a, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	ct_empty(rig->cr);
	expect_ok(dat_ep_free(eps[--num]));
	expect_ok(dat_ep_reset(rig->a.ep));
	rig_connect(rig, CT_US);
	ct_next(rig->cr, DAT_CONNECTION_REQUEST_EVENT, &event);
	expect_ok(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0, NULL));
	rig_conn_event(&rig->a, DAT_CONNECTION_EVENT_PEER_REJECTED);
	while (num)
		expect_ok(dat_ep_free(eps[--num]));
	expect_ok(dat_rsp_free(rsp));
}

static void the_provider_makes_the_endpoint_if_asked(void **state)
{
	struct rig *rig = *state;
	DAT_EP_PARAM param = { .pz_handle = rig->b.pz,
			       .recv_evd_handle = rig->b.recv,
			       .request_evd_handle = rig->b.request,
			       .connect_evd_handle = rig->b.connect };
	DAT_CR_PARAM cr_param;
	DAT_CR_HANDLE cr;

	expect_ok(dat_psp_free(rig->psp));
	expect_ok(dat_psp_create(rig->ib.ia, rig->qual, rig->cr, DAT_PSP_PROVIDER_FLAG, &rig->psp));
	rig_connect(rig, CT_US);
	cr = rig_take_cr(rig);
	expect_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &cr_param));
	expect_ok(dat_ep_free(rig->b.ep));
	rig->b.ep = cr_param.local_ep_handle;
	assert_int_equal(ct_ep_state(rig->b.ep), DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	knows_who_asks(rig->b.ep, cr);
	expect_handle(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL), EP);
	expect_ok(dat_ep_modify(rig->b.ep,
				DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
					DAT_EP_FIELD_REQUEST_EVD_HANDLE |
					DAT_EP_FIELD_CONNECT_EVD_HANDLE,
				&param));
	expect_ok(ct_post_recv(&rig->b, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
	rig_conn_event(&rig->a, DAT_CONNECTION_EVENT_ESTABLISHED);
	rig_conn_event(&rig->b, DAT_CONNECTION_EVENT_ESTABLISHED);
	expect_ok(ct_post_send(&rig->a, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	ct_completion(rig->b.recv, 1, DAT_DTO_SUCCESS);
	/* A rejected one goes. */
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	rig_conn_event(&rig->a, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_ok(dat_ep_reset(rig->a.ep));
	rig_connect(rig, CT_US);
	cr = rig_take_cr(rig);
	expect_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &cr_param));
	expect_ok(dat_cr_reject(cr, 0, NULL));
	expect_handle(dat_ep_free(cr_param.local_ep_handle), EP);
}

/* ---- Transfers ---- */

static void bytes_arrive(void **state)
{
	struct rig *rig = *state;
	DAT_LMR_TRIPLET from[3] = { ct_segment(&rig->a.mem, 0, 10), ct_segment(&rig->a.mem, 100, 0),
				    ct_segment(&rig->a.mem, 20, 30) };
	DAT_LMR_TRIPLET to[2] = { ct_segment(&rig->b.mem, 1000, 25),
				  ct_segment(&rig->b.mem, 2000, 100) };
	DAT_DTO_COOKIE cookie = { .as_64 = 7 };
	DAT_EVENT event;
	int i;

	for (i = 0; i < 64; i++)
		rig->a.mem.base[i] = (uint8_t)i;
	expect_ok(dat_ep_post_recv(rig->b.ep, 2, to, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(dat_ep_post_send(rig->a.ep, 3, from, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	ct_completion(rig->a.request, 7, DAT_DTO_SUCCESS);
	ct_next(rig->b.recv, DAT_DTO_COMPLETION_EVENT, &event);
	assert_int_equal(event.event_data.dto_completion_event_data.transfered_length, 40);
	assert_int_equal(event.event_data.dto_completion_event_data.operation, DAT_DTO_RECEIVE);
	assert_memory_equal(rig->b.mem.base + 1000, rig->a.mem.base, 10);
	assert_memory_equal(rig->b.mem.base + 1010, rig->a.mem.base + 20, 15);
	assert_memory_equal(rig->b.mem.base + 2000, rig->a.mem.base + 35, 15);
}

static void rdma_writes_and_reads(void **state)
{
	struct rig *rig = *state;
	DAT_LMR_TRIPLET local = ct_segment(&rig->a.mem, 0, 4096);
	DAT_RMR_TRIPLET remote = ct_target(&rig->b.mem, 8192, 4096);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	memset(rig->a.mem.base, 0x5a, 4096);
	expect_ok(dat_ep_post_rdma_write(rig->a.ep, 1, &local, cookie, &remote,
					 DAT_COMPLETION_DEFAULT_FLAG));
	ct_completion(rig->a.request, 1, DAT_DTO_SUCCESS);
	assert_memory_equal(rig->b.mem.base + 8192, rig->a.mem.base, 4096);
	memset(rig->b.mem.base + 8192, 0xa5, 4096);
	expect_ok(dat_ep_post_rdma_read(rig->a.ep, 1, &local, cookie, &remote,
					DAT_COMPLETION_BARRIER_FENCE_FLAG));
	ct_completion(rig->a.request, 1, DAT_DTO_SUCCESS);
	assert_memory_equal(rig->b.mem.base + 8192, rig->a.mem.base, 4096);
}

static void a_send_waits_for_its_receive(void **state)
{
	struct rig *rig = *state;
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE ep_state;

	expect_ok(ct_post_send(&rig->a, 0, 8, 1, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(dat_ep_get_status(rig->a.ep, &ep_state, &recv_idle, &request_idle));
	assert_int_equal(request_idle, DAT_FALSE);
	assert_int_equal(recv_idle, DAT_TRUE);
	ct_empty(rig->a.request);
	/* Graceful: it still goes through. */
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	assert_int_equal(ct_ep_state(rig->a.ep), DAT_EP_STATE_DISCONNECT_PENDING);
	expect_state(ct_post_send(&rig->a, 0, 8, 2, DAT_COMPLETION_DEFAULT_FLAG), EP_DISCPENDING);
	expect_ok(ct_post_recv(&rig->b, 0, 8, 3, DAT_COMPLETION_DEFAULT_FLAG));
	ct_completion(rig->b.recv, 3, DAT_DTO_SUCCESS);
	ct_completion(rig->a.request, 1, DAT_DTO_SUCCESS);
	rig_conn_event(&rig->a, DAT_CONNECTION_EVENT_DISCONNECTED);
	rig_conn_event(&rig->b, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static void an_abrupt_end_cuts_a_graceful_one_short(void **state)
{
	struct rig *rig = *state;

	expect_ok(ct_post_send(&rig->a, 0, 8, 1, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	ct_completion(rig->a.request, 1, DAT_DTO_ERR_FLUSHED);
	rig_conn_event(&rig->a, DAT_CONNECTION_EVENT_DISCONNECTED);
	rig_conn_event(&rig->b, DAT_CONNECTION_EVENT_DISCONNECTED);
	ct_empty(rig->a.connect);
}

/* FL-3, FL-5, FL-8 on one EVD for everything. */
static void the_flush_comes_in_order_and_before_the_event(void **state)
{
	struct rig *rig = *state;
	struct ct_end a = { 0 };
	DAT_EVENT event;
	uint64_t i;

	rig_merged_end(&a, rig->ia.ia, NULL);
	ct_end_connect(&a, &rig->b);
	for (i = 0; i < 5; i++)
		expect_ok(ct_post_recv(&a, 0, 8, i, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(ct_post_send(&rig->b, 0, 8, 9, DAT_COMPLETION_DEFAULT_FLAG));
	ct_completion(rig->b.request, 9, DAT_DTO_SUCCESS);
	expect_ok(dat_ep_disconnect(rig->b.ep, DAT_CLOSE_ABRUPT_FLAG));
	ct_await(ct_ep_state(a.ep) == DAT_EP_STATE_DISCONNECTED);
	ct_completion(a.recv, 0, DAT_DTO_SUCCESS);
	for (i = 1; i < 5; i++)
		ct_completion(a.recv, i, DAT_DTO_ERR_FLUSHED);
	ct_next(a.recv, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
	expect_ok(ct_post_recv(&a, 0, 8, 50, DAT_COMPLETION_DEFAULT_FLAG));
	ct_completion(a.recv, 50, DAT_DTO_ERR_FLUSHED);
	expect_ok(ct_post_send(&a, 0, 8, 51, DAT_COMPLETION_SUPPRESS_FLAG));
	ct_completion(a.recv, 51, DAT_DTO_ERR_FLUSHED);
	ct_empty(a.recv);
	ct_end_close(&a);
}

static void suppressed_requests_give_their_slots_back(void **state)
{
	struct rig *rig = *state;
	DAT_EP_PARAM param;
	int i, round;

	expect_ok(dat_ep_query(rig->a.ep, DAT_EP_FIELD_ALL, &param));
	for (round = 0; round < 4; round++) {
		for (i = 0; i < param.ep_attr.max_request_dtos; i++) {
			expect_ok(ct_post_recv(&rig->b, 0, 8, 1, DAT_COMPLETION_DEFAULT_FLAG));
			expect_ok(ct_post_send(&rig->a, 0, 8, (uint64_t)i,
					       i + 1 < param.ep_attr.max_request_dtos
						       ? DAT_COMPLETION_SUPPRESS_FLAG
						       : DAT_COMPLETION_DEFAULT_FLAG));
			ct_completion(rig->b.recv, 1, DAT_DTO_SUCCESS);
		}
		expect(ct_post_send(&rig->a, 0, 8, 99, DAT_COMPLETION_DEFAULT_FLAG),
		       DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
		ct_completion(rig->a.request, (uint64_t)param.ep_attr.max_request_dtos - 1,
			      DAT_DTO_SUCCESS);
		ct_empty(rig->a.request);
	}
}

/* ---- Faults ---- */

static void a_wrong_context_breaks_both_ends(void **state)
{
	struct rig *rig = *state;
	DAT_LMR_TRIPLET local = ct_segment(&rig->a.mem, 0, 64);
	DAT_RMR_TRIPLET remote = ct_target(&rig->b.mem, 65536 - 32, 64);
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };
	DAT_EVENT event;

	expect_ok(ct_post_recv(&rig->a, 0, 8, 2, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(dat_ep_post_rdma_write(rig->a.ep, 1, &local, cookie, &remote,
					 DAT_COMPLETION_SUPPRESS_FLAG));
	ct_completion(rig->a.request, 1, DAT_DTO_ERR_REMOTE_ACCESS);
	ct_completion(rig->a.recv, 2, DAT_DTO_ERR_FLUSHED);
	rig_conn_event(&rig->a, DAT_CONNECTION_EVENT_BROKEN);
	rig_conn_event(&rig->b, DAT_CONNECTION_EVENT_BROKEN);
	ct_next(rig->ib.async, DAT_ASYNC_ERROR_EP_BROKEN, &event);
	assert_ptr_equal(event.event_data.asynch_error_event_data.dat_handle, rig->b.ep);
}

static void a_message_too_long_breaks_both_ends(void **state)
{
	struct rig *rig = *state;

	expect_ok(ct_post_recv(&rig->b, 0, 8, 1, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(ct_post_recv(&rig->b, 0, 8, 2, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(ct_post_send(&rig->a, 0, 9, 3, DAT_COMPLETION_DEFAULT_FLAG));
	ct_completion(rig->a.request, 3, DAT_DTO_ERR_REMOTE_RESPONDER);
	ct_completion(rig->b.recv, 1, DAT_DTO_ERR_LOCAL_LENGTH);
	ct_completion(rig->b.recv, 2, DAT_DTO_ERR_FLUSHED);
	rig_conn_event(&rig->a, DAT_CONNECTION_EVENT_BROKEN);
	rig_conn_event(&rig->b, DAT_CONNECTION_EVENT_BROKEN);
}

static void freed_memory_is_no_source(void **state)
{
	struct rig *rig = *state;

	expect_ok(dat_lmr_free(rig->a.mem.lmr));
	expect_ok(ct_post_recv(&rig->b, 0, 8, 1, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(ct_post_send(&rig->a, 0, 8, 2, DAT_COMPLETION_DEFAULT_FLAG));
	ct_completion(rig->a.request, 2, DAT_DTO_ERR_LOCAL_PROTECTION);
	ct_completion(rig->b.recv, 1, DAT_DTO_ERR_FLUSHED);
	rig_conn_event(&rig->b, DAT_CONNECTION_EVENT_BROKEN);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_object_is_made_and_freed),
		RIG_TEST(private_data_goes_both_ways),
		RIG_CONNECTED(both_ends_are_known_by_the_same_names),
		RIG_TEST(a_rejection_carries_data),
		RIG_TEST(nobody_listening_is_an_event),
		RIG_TEST(a_foreign_address_is_unreachable),
		RIG_TEST(a_silent_peer_times_the_connect_out),
		RIG_TEST(an_attempt_is_given_up),
		RIG_TEST(a_reserved_service_point_is_spent_by_one_request),
		RIG_TEST(a_reserved_service_point_outlives_a_want_of_endpoints),
		RIG_TEST(the_provider_makes_the_endpoint_if_asked),
		RIG_CONNECTED(bytes_arrive),
		RIG_CONNECTED(rdma_writes_and_reads),
		RIG_CONNECTED(a_send_waits_for_its_receive),
		RIG_CONNECTED(an_abrupt_end_cuts_a_graceful_one_short),
		RIG_TEST(the_flush_comes_in_order_and_before_the_event),
		RIG_CONNECTED(suppressed_requests_give_their_slots_back),
		RIG_CONNECTED(a_wrong_context_breaks_both_ends),
		RIG_CONNECTED(a_message_too_long_breaks_both_ends),
		RIG_CONNECTED(freed_memory_is_no_source),
	};

	rig_main();
	return harness_run(tests, RIG_NUM_OF(tests));
}
