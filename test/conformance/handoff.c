/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Requests handed to another service point (CR-20 to CR-23). */
#include "conn_util.h"
#include "peer.h"

#include <stdlib.h>

static uint8_t data[9] = "original";

/* A second public service point, with an EVD of its own. */
struct other {
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
};

static struct other other_point(struct cu_rig *rig)
{
	struct other other = { .evd = ct_evd(rig->ia, 8, NULL, DAT_EVD_CR_FLAG) };

	expect_ok(dat_psp_create_any(rig->ia, &other.qual, other.evd, DAT_PSP_CONSUMER_FLAG,
				     &other.psp));
	return other;
}

/* A request with private data at the rig's own point. */
static DAT_CR_HANDLE request(struct cu_rig *rig)
{
	expect_ok(dat_ep_connect(rig->a.ep, rig->attr.ia_address_ptr, rig->qual,
				 DAT_TIMEOUT_INFINITE, sizeof(data), data, DAT_QOS_BEST_EFFORT,
				 DAT_CONNECT_DEFAULT_FLAG));
	return cu_take_cr(rig->cr);
}

static void established(struct ct_end *a, struct ct_end *p)
{
	cu_conn_event(a->connect, a->ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	cu_conn_event(p->connect, p->ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
}

static void check_transfer(struct ct_end *from, struct ct_end *to)
{
	cu_fill(from->mem.base, 512, 5);
	expect_ok(cu_recv(to, 1024, 512, 1));
	expect_ok(ct_post_send(from, 0, 512, 2, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(to->recv, to->ep, 1, DAT_DTO_RECEIVE, 512);
	FILLED(to->mem.base + 1024, 512, 5);
}

/* ---- Inside the adapter ------------------------------------------------ */

static void cr_20_as_if_it_had_arrived_there(void **state)
{
	struct cu_rig *rig = *state;
	struct other other = other_point(rig);
	DAT_CR_HANDLE cr = request(rig);
	struct sockaddr_storage from = { 0 };
	DAT_CR_ARRIVAL_EVENT_DATA *arrival;
	DAT_CR_PARAM before, after;
	DAT_EP_PARAM param;
	DAT_EVENT event;

	expect_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &before));
	memcpy(&from, before.remote_ia_address_ptr, sizeof(struct sockaddr_in));
	expect_ok(dat_cr_handoff(cr, other.qual));
	expect_handle(dat_cr_query(cr, DAT_CR_FIELD_ALL, &after), CR);
	expect_handle(dat_cr_accept(cr, rig->p.ep, 0, NULL), CR);
	expect_handle(dat_cr_handoff(cr, other.qual), CR);
	assert_true(cu_next(other.evd, CT_MS, &event));
	assert_int_equal(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
	arrival = &event.event_data.cr_arrival_event_data;
	assert_ptr_equal(arrival->sp_handle.psp_handle, other.psp);
	assert_int_equal(arrival->conn_qual, other.qual);
	assert_int_equal(arrival->truncate_flag, DAT_FALSE);
	expect_ok(dat_cr_query(arrival->cr_handle, DAT_CR_FIELD_ALL, &after));
	assert_int_equal(after.private_data_size, sizeof(data));
	assert_memory_equal(after.private_data, data, sizeof(data));
	assert_int_equal(after.remote_port_qual, before.remote_port_qual);
	assert_memory_equal(after.remote_ia_address_ptr, &from, sizeof(struct sockaddr_in));
	/* No local event, and the active side does not notice. */
	cu_quiet(rig->cr, 50);
	cu_quiet(rig->a.connect, 0);
	STATE(rig->a.ep, ACTIVE_CONNECTION_PENDING);
	expect_ok(dat_cr_accept(arrival->cr_handle, rig->p.ep, 0, NULL));
	established(&rig->a, &rig->p);
	/* EP-15: the qualifier it connected to. */
	cu_query(rig->a.ep, &param);
	assert_int_equal(param.remote_port_qual, rig->qual);
	check_transfer(&rig->a, &rig->p);
	check_transfer(&rig->p, &rig->a);
	cu_end_connection(&rig->a, &rig->p);
}

static void cr_20_rejected_there(void **state)
{
	struct cu_rig *rig = *state;
	struct other other = other_point(rig);
	uint8_t answer[3] = "no";
	DAT_EVENT event;

	expect_ok(dat_cr_handoff(request(rig), other.qual));
	expect_ok(dat_cr_reject(cu_take_cr(other.evd), sizeof(answer), answer));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED, &event);
	assert_int_equal(event.event_data.connect_event_data.private_data_size, sizeof(answer));
	assert_memory_equal(event.event_data.connect_event_data.private_data, answer,
			    sizeof(answer));
}

static void cr_20_several_times(void **state)
{
	struct cu_rig *rig = *state;
	struct other other = other_point(rig);
	DAT_CR_HANDLE cr = request(rig);
	DAT_CR_PARAM param;

	for (int i = 0; i < 20; i++) {
		expect_ok(dat_cr_handoff(cr, i % 2 ? rig->qual : other.qual));
		cr = cu_take_cr(i % 2 ? rig->cr : other.evd);
	}
	/* To where it is already. */
	expect_ok(dat_cr_handoff(cr, rig->qual));
	cr = cu_take_cr(rig->cr);
	expect_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	assert_int_equal(param.private_data_size, sizeof(data));
	assert_memory_equal(param.private_data, data, sizeof(data));
	expect_ok(dat_cr_accept(cr, rig->p.ep, 0, NULL));
	established(&rig->a, &rig->p);
}

/* RSP-5 */
static void cr_20_to_a_reserved_point(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CONN_QUAL qual = cu_free_qual(rig);
	DAT_RSP_HANDLE rsp;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	expect_ok(dat_rsp_create(rig->ia, qual, rig->p.ep, rig->cr, &rsp));
	cr = request(rig);
	STATE(rig->p.ep, RESERVED);
	expect_ok(dat_cr_handoff(cr, qual));
	assert_true(cu_next(rig->cr, CT_MS, &event));
	assert_ptr_equal(event.event_data.cr_arrival_event_data.sp_handle.rsp_handle, rsp);
	STATE(rig->p.ep, PASSIVE_CONNECTION_PENDING);
	expect_ok(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, NULL, 0, NULL));
	established(&rig->a, &rig->p);
	/* The point is spent. */
	expect_ok(dat_rsp_free(rsp));
	STATE(rig->p.ep, CONNECTED);
}

static void cr_20_to_a_common_point(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CONN_QUAL qual = cu_free_qual(rig);
	struct sockaddr_storage addr = cu_service(rig, qual);
	DAT_COMM comm = { .domain = addr.ss_family, .type = SOCK_STREAM };
	DAT_CSP_HANDLE csp;
	DAT_CR_HANDLE cr;

	expect_ok(dat_csp_create(rig->ia, &comm, (DAT_IA_ADDRESS_PTR)&addr, rig->cr, &csp));
	cr = request(rig);
	expect_ok(dat_cr_handoff(cr, qual));
	expect_ok(dat_cr_accept(cu_take_cr(rig->cr), rig->p.ep, 0, NULL));
	established(&rig->a, &rig->p);
}

static void cr_21_nobody_listens(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CR_HANDLE cr = request(rig);
	DAT_CR_PARAM param;
	DAT_RETURN rc = dat_cr_handoff(cr, cu_free_qual(rig));

	if (rc == DAT_SUCCESS) {
		/* The provider could not tell. */
		cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
			      NULL);
		return;
	}
	if (!cu_unsupported(rc))
		expect_arg(rc, 2);
	expect_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	assert_memory_equal(param.private_data, data, sizeof(data));
	STATE(rig->a.ep, ACTIVE_CONNECTION_PENDING);
	expect_ok(dat_cr_accept(cr, rig->p.ep, 0, NULL));
	established(&rig->a, &rig->p);
}

static void cr_21_23_arguments(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CR_HANDLE cr = request(rig);
	DAT_RETURN rc;

	expect_handle(dat_cr_handoff(NULL, rig->qual), CR);
	expect_handle(dat_cr_handoff(rig->psp, rig->qual), CR);
	expect_arg(dat_cr_handoff(cr, 0), 2);
	/* It must not reach the point whose qualifier has the same low bits. */
	rc = dat_cr_handoff(cr, rig->qual | UINT64_C(1) << 40);
	if (!cu_unsupported(rc)) /* a provider that cannot look beyond this process */
		expect_arg(rc, 2);
	cu_quiet(rig->cr, 0);
	expect_ok(dat_cr_accept(cr, rig->p.ep, 0, NULL));
	established(&rig->a, &rig->p);
}

static void cr_22_endpoint_of_a_reserved_point(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CONN_QUAL qual = cu_free_qual(rig);
	DAT_BOOLEAN idle;
	DAT_RSP_HANDLE rsp;
	DAT_CR_HANDLE cr;

	expect_ok(cu_recv(&rig->p, 0, 64, 1));
	expect_ok(dat_rsp_create(rig->ia, qual, rig->p.ep, rig->cr, &rsp));
	expect_ok(cu_connect(&rig->a, qual, DAT_TIMEOUT_INFINITE));
	cr = cu_take_cr(rig->cr);
	STATE(rig->p.ep, PASSIVE_CONNECTION_PENDING);
	expect_ok(dat_cr_handoff(cr, rig->qual));
	/* As by reject (CR-18): the consumer's again, with its receive. */
	STATE(rig->p.ep, UNCONNECTED);
	expect_ok(dat_ep_get_status(rig->p.ep, NULL, &idle, NULL));
	assert_int_equal(idle, DAT_FALSE);
	expect_ok(dat_cr_accept(cu_take_cr(rig->cr), rig->p.ep, 0, NULL));
	established(&rig->a, &rig->p);
	expect_ok(ct_post_send(&rig->a, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->p.recv, rig->p.ep, 1, DAT_DTO_RECEIVE, 64);
}

static void cr_22_endpoint_of_the_provider(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;

	if (rig->prov.ep_creator == DAT_PSP_CREATES_EP_NEVER)
		harness_skip("the provider makes no endpoints");
	expect_ok(dat_psp_create_any(rig->ia, &qual, rig->cr, DAT_PSP_PROVIDER_FLAG, &psp));
	expect_ok(cu_connect(&rig->a, qual, DAT_TIMEOUT_INFINITE));
	cr = cu_take_cr(rig->cr);
	expect_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	STATE(param.local_ep_handle, TENTATIVE_CONNECTION_PENDING);
	expect_ok(dat_cr_handoff(cr, rig->qual));
	expect_handle(dat_ep_get_status(param.local_ep_handle, NULL, NULL, NULL), EP);
	cr = cu_take_cr(rig->cr);
	expect_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	assert_null(param.local_ep_handle);
	/* And the other way round, where one is made. */
	expect_ok(dat_cr_handoff(cr, qual));
	cr = cu_take_cr(rig->cr);
	expect_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	STATE(param.local_ep_handle, TENTATIVE_CONNECTION_PENDING);
	expect_ok(dat_cr_reject(cr, 0, NULL));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED, NULL);
}

static void cr_22_timer_keeps_running(void **state)
{
	struct cu_rig *rig = *state;
	struct other other = other_point(rig);
	DAT_TIMEOUT timeout = 400000;
	uint64_t start;
	DAT_CR_HANDLE cr = cu_request_in(rig, &rig->a, &timeout, &start);
	DAT_EVENT event;

	expect_ok(dat_cr_handoff(cr, other.qual));
	assert_true(cu_next(rig->a.connect, CT_MS, &event));
	assert_int_equal(event.event_number, DAT_CONNECTION_EVENT_TIMED_OUT);
	ct_took(ct_now_us() - start, timeout);
	/* CR-2 */
	expect_ok(dat_cr_reject(cu_take_cr(other.evd), 0, NULL));
}

/* PSP-12, SIM-9: what is handed off while the point goes is somewhere, once. */
static void cr_20_while_the_point_goes(void **state)
{
	struct cu_rig *rig = *state;
	struct other other = other_point(rig);
	DAT_CR_HANDLE cr = request(rig);
	DAT_RETURN rc;

	expect_ok(dat_cr_handoff(cr, other.qual));
	expect_ok(dat_psp_free(other.psp));
	cr = cu_take_cr(other.evd);
	rc = dat_cr_handoff(cr, other.qual);
	assert_int_not_equal(rc, DAT_SUCCESS);
	expect_ok(dat_cr_handoff(cr, rig->qual));
	expect_ok(dat_cr_accept(cu_take_cr(rig->cr), rig->p.ep, 0, NULL));
	established(&rig->a, &rig->p);
}

/* ---- Between processes ------------------------------------------------- */

/* Listens, and serves the request that is handed to it. */
static void server(int fd)
{
	struct cu_rig *rig = cu_rig_open();
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;

	ct_end_open(&rig->p, rig->ia, NULL);
	peer_put_service(fd, rig);
	if (!peer_get_word(fd)) {
		cu_rig_close(rig);
		return;
	}
	cr = cu_take_cr(rig->cr);
	expect_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	assert_int_equal(param.private_data_size, sizeof(data));
	assert_memory_equal(param.private_data, data, sizeof(data));
	peer_put_word(fd, param.remote_port_qual);
	expect_ok(cu_recv(&rig->p, 1024, 512, 1));
	expect_ok(dat_cr_accept(cr, rig->p.ep, sizeof(data), data));
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	DONE(rig->p.recv, rig->p.ep, 1, DAT_DTO_RECEIVE, 512);
	FILLED(rig->p.mem.base + 1024, 512, 5);
	cu_fill(rig->p.mem.base, 512, 6);
	expect_ok(ct_post_send(&rig->p, 0, 512, 2, DAT_COMPLETION_DEFAULT_FLAG));
	cu_conn_ended(rig->p.connect, rig->p.ep);
	cu_rig_close(rig);
}

static void cr_20_to_another_process(void **state)
{
	struct cu_rig *rig = *state;
	struct peer *peer = peer_start("server");
	DAT_CONN_QUAL there = peer_get_service(peer->fd).qual;
	DAT_CR_HANDLE cr = request(rig);
	DAT_EP_PARAM param;
	DAT_EVENT event;
	DAT_RETURN rc;

	rc = dat_cr_handoff(cr, there);
	peer_put_word(peer->fd, rc == DAT_SUCCESS);
	if (cu_unsupported(rc)) {
		/* CR-23: the request is unchanged. */
		expect_ok(dat_cr_accept(cr, rig->p.ep, 0, NULL));
		established(&rig->a, &rig->p);
		peer_finish(peer);
		harness_skip("the provider hands off inside an adapter's process only");
	}
	expect_ok(rc);
	cu_query(rig->a.ep, &param);
	assert_int_equal(peer_get_word(peer->fd), param.local_port_qual);
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	assert_int_equal(event.event_data.connect_event_data.private_data_size, sizeof(data));
	expect_ok(cu_recv(&rig->a, 2048, 512, 3));
	cu_fill(rig->a.mem.base, 512, 5);
	expect_ok(ct_post_send(&rig->a, 0, 512, 4, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->a.recv, rig->a.ep, 3, DAT_DTO_RECEIVE, 512);
	FILLED(rig->a.mem.base + 2048, 512, 6);
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	peer_finish(peer);
}

/* A client process, whose request is handed on between two points here. */
static void client(int fd)
{
	struct cu_rig *rig = cu_rig_open();
	struct peer_service there = peer_get_service(fd);

	ct_end_open(&rig->a, rig->ia, NULL);
	expect_ok(peer_connect(&rig->a, &there, DAT_TIMEOUT_INFINITE));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	cu_fill(rig->a.mem.base, 512, 5);
	expect_ok(ct_post_send(&rig->a, 0, 512, 4, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->a.request, rig->a.ep, 4, DAT_DTO_SEND, 512);
	peer_get_word(fd);
	cu_rig_close(rig);
}

static void cr_20_of_a_client_in_another_process(void **state)
{
	struct cu_rig *rig = *state;
	struct other other = other_point(rig);
	struct peer *peer = peer_start("client");

	expect_ok(cu_recv(&rig->p, 1024, 512, 1));
	peer_put_service(peer->fd, rig);
	expect_ok(dat_cr_handoff(cu_take_cr(rig->cr), other.qual));
	expect_ok(dat_cr_accept(cu_take_cr(other.evd), rig->p.ep, 0, NULL));
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	DONE(rig->p.recv, rig->p.ep, 1, DAT_DTO_RECEIVE, 512);
	FILLED(rig->p.mem.base + 1024, 512, 5);
	peer_put_word(peer->fd, 1);
	peer_finish(peer);
}

#define T(f) cmocka_unit_test_setup_teardown(f, cu_setup_ends, cu_teardown)

int main(int argc, char **argv)
{
	static const struct peer_role roles[] = {
		{ "server", server },
		{ "client", client },
		{ NULL, NULL },
	};
	static const struct CMUnitTest tests[] = {
		T(cr_20_as_if_it_had_arrived_there),
		T(cr_20_rejected_there),
		T(cr_20_several_times),
		T(cr_20_to_a_reserved_point),
		T(cr_20_to_a_common_point),
		T(cr_21_nobody_listens),
		T(cr_21_23_arguments),
		T(cr_22_endpoint_of_a_reserved_point),
		T(cr_22_endpoint_of_the_provider),
		T(cr_22_timer_keeps_running),
		T(cr_20_while_the_point_goes),
		T(cr_20_to_another_process),
		T(cr_20_of_a_client_in_another_process),
	};

	/* A loaded machine, or one where other programs listen that stand still, needs longer. */
	setenv("DAPL_SOFT_HANDOFF", "10000", 0);
	peer_main(argc, argv, roles);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
