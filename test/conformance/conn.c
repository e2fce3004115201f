/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connecting: arguments, every outcome, and silence after it (EP-66 to EP-79, EV-T1, EV-T2). */
#include "conn_util.h"
#include "peer.h"

#include <arpa/inet.h>

/* What both ends are after an outcome stays so, and nothing more is told (EV-T2, EV-T1, EP-149,
 * EP-151). */
static void check_silence(struct cu_rig *rig)
{
	DAT_EP_STATE a = ct_ep_state(rig->a.ep), p = ct_ep_state(rig->p.ep);

	cu_quiet(rig->a.connect, CU_QUIET);
	cu_quiet(rig->p.connect, 0);
	cu_check_state(rig->a.ep, a, __FILE__, __LINE__);
	cu_check_state(rig->p.ep, p, __FILE__, __LINE__);
}

static void no_data(const DAT_EVENT *event)
{
	assert_int_equal(event->event_data.connect_event_data.private_data_size, 0);
	assert_null(event->event_data.connect_event_data.private_data);
}

static struct sockaddr_in in4(const char *text)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };

	assert_int_equal(inet_pton(AF_INET, text, &sin.sin_addr), 1);
	return sin;
}

static DAT_RETURN connect_to(struct cu_rig *rig, const void *addr, DAT_CONN_QUAL qual,
			     DAT_TIMEOUT timeout)
{
	return dat_ep_connect(rig->a.ep, (DAT_IA_ADDRESS_PTR)(uintptr_t)addr, qual, timeout, 0,
			      NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

/* ---- The outcomes ------------------------------------------------------ */

/* EP-78, EV-1, CR-15, EV-15 */
static void ev_6_7_established(void **state)
{
	struct cu_rig *rig = *state;
	uint8_t data[5] = "abcd";
	DAT_CR_HANDLE cr = cu_request(rig, &rig->a);
	DAT_EVENT event;

	expect_ok(dat_cr_accept(cr, rig->p.ep, sizeof(data), data));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	/* EP-4: the state is there before the event can be taken. */
	STATE(rig->a.ep, CONNECTED);
	assert_int_equal(event.event_data.connect_event_data.private_data_size, sizeof(data));
	assert_memory_equal(event.event_data.connect_event_data.private_data, data, sizeof(data));
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	STATE(rig->p.ep, CONNECTED);
	no_data(&event);
	check_silence(rig);
}

/* DTO-78, EV-4 */
static void ev_8_peer_rejected(void **state)
{
	struct cu_rig *rig = *state;
	uint8_t data[7] = "sorry!";
	DAT_EVENT event;

	expect_ok(cu_recv(&rig->a, 0, 64, 3));
	expect_ok(dat_cr_reject(cu_request(rig, &rig->a), sizeof(data), data));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED, &event);
	STATE(rig->a.ep, DISCONNECTED);
	assert_int_equal(event.event_data.connect_event_data.private_data_size, sizeof(data));
	assert_memory_equal(event.event_data.connect_event_data.private_data, data, sizeof(data));
	/* EP-135, FL-9 */
	FLUSHED(rig->a.recv, rig->a.ep, 3, DAT_DTO_RECEIVE);
	check_silence(rig);
}

static void ev_9_nobody_listens(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EVENT event;

	expect_ok(cu_recv(&rig->a, 0, 64, 3));
	expect_ok(cu_connect(&rig->a, cu_free_qual(rig), CT_US));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, &event);
	STATE(rig->a.ep, DISCONNECTED);
	no_data(&event);
	FLUSHED(rig->a.recv, rig->a.ep, 3, DAT_DTO_RECEIVE);
	check_silence(rig);
}

static void ep_71_qualifier_zero_has_no_listener(void **state)
{
	struct cu_rig *rig = *state;

	expect_ok(cu_connect(&rig->a, 0, CT_US));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL);
	STATE(rig->a.ep, DISCONNECTED);
	check_silence(rig);
}

static void ep_71_qualifier_beyond_the_transport(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EVENT event;

	/* It must not reach the point whose qualifier has the same low bits. */
	expect_ok(cu_connect(&rig->a, rig->qual | UINT64_C(1) << 40, CT_US));
	assert_true(cu_next(rig->a.connect, CT_MS, &event));
	assert_int_equal(event.event_number, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	cu_quiet(rig->cr, 0);
}

static void ev_9_queue_of_the_service_point_is_full(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EVD_HANDLE cr = ct_evd(rig->ia, 1, NULL, DAT_EVD_CR_FLAG | DAT_EVD_SOFTWARE_FLAG);
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_EVENT event;

	expect_ok(dat_psp_create_any(rig->ia, &qual, cr, DAT_PSP_CONSUMER_FLAG, &psp));
	while (ct_post_se(cr, 1) == DAT_SUCCESS)
		;
	expect_ok(cu_connect(&rig->a, qual, CT_US));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, &event);
	STATE(rig->a.ep, DISCONNECTED);
	check_silence(rig);
	/* PSP-4: no request, no event. */
	while (dat_evd_dequeue(cr, &event) == DAT_SUCCESS)
		assert_int_equal(event.event_number, DAT_SOFTWARE_EVENT);
	expect_ok(dat_ep_reset(rig->a.ep));
	expect_ok(cu_connect(&rig->a, qual, CT_US));
	cu_take_cr(cr);
}

static void ev_13_silent_service_point(void **state)
{
	struct cu_rig *rig = *state;
	uint64_t begun = ct_now_us();
	DAT_EVENT event;

	expect_ok(cu_recv(&rig->a, 0, 64, 3));
	expect_ok(cu_connect(&rig->a, rig->qual, 200000));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_TIMED_OUT, &event);
	assert_true(ct_now_us() - begun >= 200000);
	STATE(rig->a.ep, DISCONNECTED);
	no_data(&event);
	FLUSHED(rig->a.recv, rig->a.ep, 3, DAT_DTO_RECEIVE);
	check_silence(rig);
}

/* TMO-6: the transport may give up first */
static void ev_14_address_without_host(void **state)
{
	/* Of the blocks for documentation: no host has one. */
	struct sockaddr_in nowhere = in4("192.0.2.77");
	struct cu_rig *rig = *state;
	uint64_t begun = ct_now_us();
	DAT_EVENT event;
	DAT_RETURN rc;

	rc = connect_to(rig, &nowhere, 4711, 1000000);
	if (rc != DAT_SUCCESS) {
		/* EP-70, EP-155 */
		expect_type(rc, DAT_INVALID_ADDRESS);
		STATE(rig->a.ep, UNCONNECTED);
		check_silence(rig);
		return;
	}
	assert_true(cu_next(rig->a.connect, CT_MS, &event));
	/* EV-16 */
	if (event.event_number != DAT_CONNECTION_EVENT_UNREACHABLE)
		assert_int_equal(event.event_number, DAT_CONNECTION_EVENT_TIMED_OUT);
	assert_true(ct_now_us() - begun < 2100000);
	STATE(rig->a.ep, DISCONNECTED);
	check_silence(rig);
}

static void ep_93_ev_11_disconnect_in_a_aborts(void **state)
{
	static const DAT_CLOSE_FLAGS flags[] = { DAT_CLOSE_ABRUPT_FLAG, DAT_CLOSE_GRACEFUL_FLAG };
	struct cu_rig *rig = *state;
	DAT_EVENT event;

	for (unsigned int i = 0; i < 2; i++) {
		DAT_CR_HANDLE cr;

		expect_ok(cu_recv(&rig->a, 0, 64, 3));
		cr = cu_request(rig, &rig->a);
		expect_ok(dat_ep_disconnect(rig->a.ep, flags[i]));
		cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
		STATE(rig->a.ep, DISCONNECTED);
		no_data(&event);
		FLUSHED(rig->a.recv, rig->a.ep, 3, DAT_DTO_RECEIVE);
		check_silence(rig);
		expect_ok(dat_cr_reject(cr, 0, NULL));
		expect_ok(dat_ep_reset(rig->a.ep));
	}
}

/* Whatever step the attempt is at. */
static void ep_93_disconnect_at_any_moment(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EVENT event;
	uint64_t until;

	for (unsigned int i = 0; i < harness_rounds(400); i++) {
		expect_ok(cu_connect(&rig->a, rig->qual, CT_US));
		until = ct_now_us() + (i % 2 ? i % 20 : 0);
		while (ct_now_us() < until)
			;
		expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_ABRUPT_FLAG));
		cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
		expect_ok(dat_ep_reset(rig->a.ep));
		while (cu_next(rig->cr, 0, &event))
			dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0, NULL);
	}
}

/* SIM-4: ACCEPT_COMPLETION_ERROR, or ESTABLISHED and then DISCONNECTED. */
static void passive_of_an_abort(struct cu_rig *rig)
{
	DAT_EVENT event;

	assert_true(cu_next(rig->p.connect, CT_MS, &event));
	assert_ptr_equal(event.event_data.connect_event_data.ep_handle, rig->p.ep);
	if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	else if (event.event_number != DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR)
		fail_msg("%s after the active side had gone", cu_event_name(event.event_number));
	STATE(rig->p.ep, DISCONNECTED);
	cu_quiet(rig->p.connect, CU_QUIET);
}

static void sim_4_active_free_before_accept(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CR_HANDLE cr = cu_request(rig, &rig->a);

	expect_ok(dat_ep_free(rig->a.ep));
	expect_ok(dat_cr_accept(cr, rig->p.ep, 0, NULL));
	passive_of_an_abort(rig);
	cu_quiet(rig->a.connect, 0);
}

static void sim_4_active_disconnect_before_accept(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CR_HANDLE cr = cu_request(rig, &rig->a);

	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_ok(dat_cr_accept(cr, rig->p.ep, 0, NULL));
	passive_of_an_abort(rig);
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	cu_quiet(rig->a.connect, 0);
}

static void ep_141_active_side_gone_before_the_answer(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CONN_QUAL qual = cu_free_qual(rig);
	DAT_RSP_HANDLE rsp;
	DAT_CR_HANDLE cr;

	for (unsigned int i = 0; i < 2; i++) {
		expect_ok(dat_rsp_create(rig->ia, qual, rig->p.ep, rig->cr, &rsp));
		expect_ok(cu_connect(&rig->a, qual, DAT_TIMEOUT_INFINITE));
		cr = cu_take_cr(rig->cr);
		expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_ABRUPT_FLAG));
		cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
		cu_quiet(rig->p.connect, 100);
		STATE(rig->p.ep, PASSIVE_CONNECTION_PENDING);
		expect_ok(dat_rsp_free(rsp));
		if (i == 0) {
			expect_ok(dat_cr_reject(cr, 0, NULL));
			STATE(rig->p.ep, UNCONNECTED);
			expect_ok(dat_ep_reset(rig->a.ep));
		}
	}
	expect_ok(dat_cr_accept(cr, NULL, 0, NULL));
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR,
		      NULL);
	STATE(rig->p.ep, DISCONNECTED);
}

static void ev_17_ia_close_looks_like_disconnected(void **state)
{
	struct cu_rig *rig = *state, *other = cu_rig_open();

	ct_end_open(&other->a, other->ia, NULL);
	cu_establish(rig, &other->a, &rig->p);
	cu_rig_close(other);
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	STATE(rig->p.ep, DISCONNECTED);
	cu_quiet(rig->p.connect, CU_QUIET);
}

static void ia_88_close_with_a_pending_request(void **state)
{
	struct cu_rig *rig = *state, *other = cu_rig_open();

	expect_ok(cu_connect_to(&rig->a, other, DAT_TIMEOUT_INFINITE));
	cu_take_cr(other->cr);
	cu_rig_close(other);
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL);
	check_silence(rig);
}

/* ---- Arguments of dat_ep_connect --------------------------------------- */

static DAT_RETURN with_qos(struct cu_rig *rig, DAT_QOS qos, DAT_CONNECT_FLAGS flags)
{
	return dat_ep_connect(rig->a.ep, rig->attr.ia_address_ptr, rig->qual, DAT_TIMEOUT_INFINITE,
			      0, NULL, qos, flags);
}

static void ep_66_to_75_arguments(void **state)
{
	struct cu_rig *rig = *state;
	uint8_t data[4] = { 0 };
	DAT_IA_ADDRESS_PTR addr = rig->attr.ia_address_ptr;

	expect_handle(dat_ep_connect(NULL, addr, rig->qual, 1, 0, NULL, DAT_QOS_BEST_EFFORT,
				     DAT_CONNECT_DEFAULT_FLAG),
		      EP);
	expect_arg(connect_to(rig, NULL, rig->qual, DAT_TIMEOUT_INFINITE), 2);
	expect_arg(connect_to(rig, addr, rig->qual, 0), 4);
	expect_arg(dat_ep_connect(rig->a.ep, addr, rig->qual, 1, -1, data, DAT_QOS_BEST_EFFORT,
				  DAT_CONNECT_DEFAULT_FLAG),
		   5);
	expect_arg(dat_ep_connect(rig->a.ep, addr, rig->qual, 1, 1, NULL, DAT_QOS_BEST_EFFORT,
				  DAT_CONNECT_DEFAULT_FLAG),
		   6);
	expect_arg(with_qos(rig, (DAT_QOS)0x10, DAT_CONNECT_DEFAULT_FLAG), 7);
	expect_arg(with_qos(rig, DAT_QOS_BEST_EFFORT, (DAT_CONNECT_FLAGS)4), 8);
	/* EP-155 */
	STATE(rig->a.ep, UNCONNECTED);
	cu_quiet(rig->cr, 50);
	/* EP-73: a pointer with size 0 is fine. */
	expect_ok(dat_ep_connect(rig->a.ep, addr, rig->qual, DAT_TIMEOUT_INFINITE, 0, data,
				 DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

static void ep_68_needs_pz_and_connect_evd_only(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end bare = rig->a;

	expect_ok(dat_ep_create(rig->ia, NULL, NULL, NULL, rig->a.connect, NULL, &bare.ep));
	expect_state(cu_connect(&bare, rig->qual, CT_US), EP_NOTREADY);
	STATE(bare.ep, UNCONNECTED);
	expect_ok(dat_ep_free(bare.ep));
	expect_ok(dat_ep_create(rig->ia, rig->a.pz, NULL, NULL, NULL, NULL, &bare.ep));
	expect_handle(cu_connect(&bare, rig->qual, CT_US), EVD_CONN);
	STATE(bare.ep, UNCONNECTED);
	expect_ok(dat_ep_free(bare.ep));
	expect_ok(dat_ep_create(rig->ia, rig->a.pz, NULL, NULL, rig->a.connect, NULL, &bare.ep));
	cu_establish(rig, &bare, &rig->p);
	expect_ok(dat_ep_free(bare.ep));
}

static void ep_69_address_is_copied_and_its_port_ignored(void **state)
{
	struct cu_rig *rig = *state;
	struct sockaddr_storage addr = { 0 };
	socklen_t len = rig->attr.ia_address_ptr->sa_family == AF_INET6
				? sizeof(struct sockaddr_in6)
				: sizeof(struct sockaddr_in);

	memcpy(&addr, rig->attr.ia_address_ptr, len);
	((struct sockaddr_in *)&addr)->sin_port = htons(1);
	expect_ok(connect_to(rig, &addr, rig->qual, DAT_TIMEOUT_INFINITE));
	memset(&addr, 0, sizeof(addr));
	expect_ok(dat_cr_accept(cu_take_cr(rig->cr), rig->p.ep, 0, NULL));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
}

/* Refused at once with this type, or by event. */
static void bad_address(struct cu_rig *rig, const void *addr, int subtype)
{
	DAT_RETURN rc = connect_to(rig, addr, 4711, 1000000);
	DAT_EVENT event;

	if (rc != DAT_SUCCESS) {
		expect(rc, DAT_INVALID_ADDRESS, subtype);
		STATE(rig->a.ep, UNCONNECTED);
		return;
	}
	assert_true(cu_next(rig->a.connect, CT_MS, &event));
	if (event.event_number != DAT_CONNECTION_EVENT_UNREACHABLE)
		fail_msg("%s instead of UNREACHABLE", cu_event_name(event.event_number));
	STATE(rig->a.ep, DISCONNECTED);
	expect_ok(dat_ep_reset(rig->a.ep));
}

static void ep_70_bad_addresses(void **state)
{
	struct cu_rig *rig = *state;
	struct sockaddr unknown = { .sa_family = 250 };
	struct sockaddr_in zero = in4("0.0.0.0"), reserved = in4("250.1.2.3");
	struct sockaddr_in group = in4("224.0.0.251"), broadcast = in4("255.255.255.255");

	bad_address(rig, &unknown, DAT_INVALID_ADDRESS_MALFORMED);
	bad_address(rig, &zero, DAT_INVALID_ADDRESS_MALFORMED);
	bad_address(rig, &reserved, DAT_INVALID_ADDRESS_MALFORMED);
	bad_address(rig, &group, DAT_INVALID_ADDRESS_UNSUPPORTED);
	bad_address(rig, &broadcast, DAT_INVALID_ADDRESS_UNSUPPORTED);
	check_silence(rig);
}

static void ep_74_qos(void **state)
{
	static const DAT_QOS all[] = { DAT_QOS_HIGH_THROUGHPUT, DAT_QOS_LOW_LATENCY,
				       DAT_QOS_ECONOMY, DAT_QOS_PREMIUM };
	struct cu_rig *rig = *state;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (rig->prov.dat_qos_supported & all[i])
			continue;
		expect_type(with_qos(rig, all[i], DAT_CONNECT_DEFAULT_FLAG),
			    DAT_MODEL_NOT_SUPPORTED);
		STATE(rig->a.ep, UNCONNECTED);
	}
}

static void ep_75_ha_12_to_14_connect_flags(void **state)
{
	struct cu_rig *rig = *state;
	const DAT_CONNECT_FLAGS required = DAT_CONNECT_MULTIPATH_REQUIRED_FLAG;

	if (!rig->prov.supports_multipath) {
		expect_type(with_qos(rig, DAT_QOS_BEST_EFFORT, required), DAT_MODEL_NOT_SUPPORTED);
		expect_type(with_qos(rig, DAT_QOS_BEST_EFFORT, (DAT_CONNECT_FLAGS)3),
			    DAT_MODEL_NOT_SUPPORTED);
		STATE(rig->a.ep, UNCONNECTED);
	}
	/* HA-12: a preference; the connection is made. */
	expect_ok(with_qos(rig, DAT_QOS_BEST_EFFORT, DAT_CONNECT_MULTIPATH_REQUESTED_FLAG));
	expect_ok(dat_cr_accept(cu_take_cr(rig->cr), rig->p.ep, 0, NULL));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	STATE(rig->a.ep, CONNECTED);
}

/* ---- What both ends know of each other --------------------------------- */

static void ep_13_to_15_76_addresses_and_ports(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CR_HANDLE cr = cu_request(rig, &rig->a);
	DAT_EP_PARAM a, p;
	DAT_CR_PARAM param;

	expect_ok(dat_ep_query(rig->a.ep, DAT_EP_FIELD_ALL, &a));
	expect_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	assert_int_equal(a.remote_port_qual, rig->qual);
	assert_int_equal(a.local_port_qual, param.remote_port_qual);
	expect_ok(dat_cr_accept(cr, rig->p.ep, 0, NULL));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	expect_ok(dat_ep_query(rig->a.ep, DAT_EP_FIELD_ALL, &a));
	expect_ok(dat_ep_query(rig->p.ep, DAT_EP_FIELD_ALL, &p));
	assert_int_equal(a.remote_port_qual, rig->qual);
	assert_int_equal(p.local_port_qual, rig->qual);
	assert_int_equal(p.remote_port_qual, a.local_port_qual);
	for (unsigned int i = 0; i < 2; i++) {
		const struct sockaddr *remote =
			i ? p.remote_ia_address_ptr : a.remote_ia_address_ptr;

		assert_int_equal(remote->sa_family, rig->attr.ia_address_ptr->sa_family);
		if (remote->sa_family == AF_INET)
			assert_int_equal(
				((const struct sockaddr_in *)remote)->sin_addr.s_addr,
				((struct sockaddr_in *)rig->attr.ia_address_ptr)->sin_addr.s_addr);
	}
}

static void ep_77_explicit_read_depths_stay(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end a = { 0 }, p = { 0 };
	DAT_EP_ATTR attr;
	DAT_EP_PARAM param;

	ct_default_attr(rig->ia, &attr);
	attr.max_rdma_read_in = 1;
	attr.max_rdma_read_out = rig->attr.max_rdma_read_per_ep_out;
	ct_end_open(&a, rig->ia, &attr);
	attr.max_rdma_read_in = 2;
	attr.max_rdma_read_out = 1;
	ct_end_open(&p, rig->ia, &attr);
	cu_establish(rig, &a, &p);
	expect_ok(dat_ep_query(a.ep, DAT_EP_FIELD_ALL, &param));
	assert_int_equal(param.ep_attr.max_rdma_read_in, 1);
	assert_int_equal(param.ep_attr.max_rdma_read_out, rig->attr.max_rdma_read_per_ep_out);
	expect_ok(dat_ep_query(p.ep, DAT_EP_FIELD_ALL, &param));
	assert_int_equal(param.ep_attr.max_rdma_read_in, 2);
	assert_int_equal(param.ep_attr.max_rdma_read_out, 1);
	ct_end_close(&a);
	ct_end_close(&p);
}

/* DTO-23 */
static void ep_79_receives_posted_before_connecting(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;

	for (unsigned int i = 0; i < 8; i++) {
		expect_ok(cu_recv(a, i * 64, 64, i));
		expect_ok(cu_recv(p, i * 64, 64, 100 + i));
	}
	cu_establish(rig, a, p);
	for (unsigned int i = 0; i < 8; i++) {
		cu_fill(a->mem.base + 4096, 64, i);
		expect_ok(ct_post_send(a, 4096, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
		DONE(p->recv, p->ep, 100 + i, DAT_DTO_RECEIVE, 64);
		FILLED(p->mem.base + i * 64, 64, i);
		DONE(a->request, a->ep, i, DAT_DTO_SEND, 64);
		cu_fill(p->mem.base + 4096, 64, 50 + i);
		expect_ok(ct_post_send(p, 4096, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
		DONE(a->recv, a->ep, i, DAT_DTO_RECEIVE, 64);
		FILLED(a->mem.base + i * 64, 64, 50 + i);
	}
}

static void sim_1_crossing_connects_are_two_connections(void **state)
{
	struct cu_rig *rig = *state, *other = cu_rig_open();
	struct ct_end passive[2] = { { 0 }, { 0 } };

	ct_end_open(&other->a, other->ia, NULL);
	ct_end_open(&passive[0], rig->ia, NULL);
	ct_end_open(&passive[1], other->ia, NULL);
	expect_ok(cu_connect_to(&rig->a, other, DAT_TIMEOUT_INFINITE));
	expect_ok(cu_connect_to(&other->a, rig, DAT_TIMEOUT_INFINITE));
	expect_ok(dat_cr_accept(cu_take_cr(rig->cr), passive[0].ep, 0, NULL));
	expect_ok(dat_cr_accept(cu_take_cr(other->cr), passive[1].ep, 0, NULL));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	cu_conn_event(other->a.connect, other->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	cu_conn_event(passive[0].connect, passive[0].ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	cu_conn_event(passive[1].connect, passive[1].ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	ct_end_close(&passive[0]);
	ct_end_close(&passive[1]);
	cu_rig_close(other);
}

#define T(f) cmocka_unit_test_setup_teardown(f, cu_setup_ends, cu_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(ev_6_7_established),
		T(ev_8_peer_rejected),
		T(ev_9_nobody_listens),
		T(ep_71_qualifier_zero_has_no_listener),
		T(ep_71_qualifier_beyond_the_transport),
		T(ev_9_queue_of_the_service_point_is_full),
		T(ev_13_silent_service_point),
		T(ev_14_address_without_host),
		T(ep_93_ev_11_disconnect_in_a_aborts),
		T(ep_93_disconnect_at_any_moment),
		T(sim_4_active_free_before_accept),
		T(sim_4_active_disconnect_before_accept),
		T(ep_141_active_side_gone_before_the_answer),
		T(ev_17_ia_close_looks_like_disconnected),
		T(ia_88_close_with_a_pending_request),
		T(ep_66_to_75_arguments),
		T(ep_68_needs_pz_and_connect_evd_only),
		T(ep_69_address_is_copied_and_its_port_ignored),
		T(ep_70_bad_addresses),
		T(ep_74_qos),
		T(ep_75_ha_12_to_14_connect_flags),
		T(ep_13_to_15_76_addresses_and_ports),
		T(ep_77_explicit_read_depths_stay),
		T(ep_79_receives_posted_before_connecting),
		T(sim_1_crossing_connects_are_two_connections),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
