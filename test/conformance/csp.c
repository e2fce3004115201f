/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Common service points (CSP-1 to CSP-7). */
#include "conn_util.h"
#include "peer.h"

static DAT_COMM comm_of(const struct cu_rig *rig)
{
	return (DAT_COMM){ .domain = rig->attr.ia_address_ptr->sa_family, .type = SOCK_STREAM };
}

/* Listens on a port, 0: any; *csp is set on success. */
static DAT_RETURN create(struct cu_rig *rig, DAT_CONN_QUAL port, DAT_CSP_HANDLE *csp)
{
	struct sockaddr_storage addr = cu_service(rig, port);
	DAT_COMM comm = comm_of(rig);

	return dat_csp_create(rig->ia, &comm, (DAT_IA_ADDRESS_PTR)&addr, rig->cr, csp);
}

static uint16_t port_of(const struct sockaddr *addr)
{
	return ntohs(addr->sa_family == AF_INET6 ? ((const struct sockaddr_in6 *)addr)->sin6_port
						 : ((const struct sockaddr_in *)addr)->sin_port);
}

/* The port that a query tells. */
static uint16_t port_told(DAT_CSP_HANDLE csp)
{
	DAT_CSP_PARAM param;

	expect_ok(dat_csp_query(csp, DAT_CSP_FIELD_ALL, &param));
	return port_of((const struct sockaddr *)param.address_ptr);
}

static DAT_RETURN common_connect(struct cu_rig *rig, struct ct_end *end, DAT_CONN_QUAL port)
{
	struct sockaddr_storage to = cu_service(rig, port);

	return dat_ep_common_connect(end->ep, (DAT_IA_ADDRESS_PTR)&to, DAT_TIMEOUT_INFINITE, 0,
				     NULL);
}

static void established(struct cu_rig *rig)
{
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
}

/* ---- Creation ---------------------------------------------------------- */

/* CSP-5: and what the event says. */
static void csp_1_5_delivers_requests_until_freed(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CONN_QUAL port = cu_free_qual(rig);
	DAT_CR_ARRIVAL_EVENT_DATA *data;
	DAT_CR_PARAM request;
	DAT_CSP_HANDLE csp;
	DAT_EVENT event;

	expect_ok(create(rig, port, &csp));
	for (int i = 0; i < 3; i++) {
		expect_ok(common_connect(rig, &rig->a, port));
		assert_true(cu_next(rig->cr, CT_MS, &event));
		assert_int_equal(event.event_number, DAT_CONNECTION_REQUEST_EVENT);
		data = &event.event_data.cr_arrival_event_data;
		assert_ptr_equal(data->sp_handle.csp_handle, csp);
		assert_int_equal(data->conn_qual, port);
		assert_int_equal(data->truncate_flag, DAT_FALSE);
		expect_ok(dat_cr_query(data->cr_handle, DAT_CR_FIELD_ALL, &request));
		assert_null(request.local_ep_handle);
		expect_handle(dat_cr_accept(data->cr_handle, NULL, 0, NULL), EP);
		expect_ok(dat_cr_accept(data->cr_handle, rig->p.ep, 0, NULL));
		established(rig);
		cu_end_connection(&rig->a, &rig->p);
		expect_ok(dat_ep_reset(rig->a.ep));
		expect_ok(dat_ep_reset(rig->p.ep));
	}
	expect_ok(dat_csp_free(csp));
}

static void csp_2_communicators(void **state)
{
	struct cu_rig *rig = *state;
	struct sockaddr_storage addr = cu_service(rig, 0);
	DAT_IA_ADDRESS_PTR to = (DAT_IA_ADDRESS_PTR)&addr;
	DAT_COMM good = comm_of(rig);
	const DAT_COMM bad[] = {
		{ .domain = good.domain == AF_INET ? AF_INET6 : AF_INET, .type = SOCK_STREAM },
		{ .domain = AF_UNIX, .type = SOCK_STREAM },
		{ .domain = good.domain, .type = SOCK_DGRAM },
		{ .domain = good.domain, .type = SOCK_STREAM, .protocol = IPPROTO_UDP },
	};
	DAT_CSP_PARAM param;
	DAT_CSP_HANDLE csp;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		DAT_COMM comm = bad[i];

		expect_type(dat_csp_create(rig->ia, &comm, to, rig->cr, &csp),
			    DAT_COMM_NOT_SUPPORTED);
	}
	good.protocol = IPPROTO_TCP;
	expect_ok(dat_csp_create(rig->ia, &good, to, rig->cr, &csp));
	/* It was copied. */
	good.protocol = 77;
	expect_ok(dat_csp_query(csp, DAT_CSP_FIELD_COMM, &param));
	assert_ptr_not_equal(param.comm, &good);
	assert_int_equal(param.comm->domain, rig->attr.ia_address_ptr->sa_family);
	assert_int_equal(param.comm->type, SOCK_STREAM);
	assert_int_equal(param.comm->protocol, IPPROTO_TCP);
}

static void csp_3_addresses(void **state)
{
	struct cu_rig *rig = *state;
	struct sockaddr_storage wild = { 0 }, foreign = cu_service(rig, 0), other = { 0 };
	bool v6 = foreign.ss_family == AF_INET6;
	DAT_COMM comm = comm_of(rig);
	DAT_CSP_HANDLE csp;
	DAT_RETURN rc;

	wild.ss_family = foreign.ss_family;
	expect_ok(dat_csp_create(rig->ia, &comm, (DAT_IA_ADDRESS_PTR)&wild, rig->cr, &csp));
	expect_ok(common_connect(rig, &rig->a, port_told(csp)));
	cu_take_cr(rig->cr);
	expect_ok(dat_csp_free(csp));
	/* An address for documentation, which is no adapter's. */
	if (v6)
		((struct sockaddr_in6 *)&foreign)->sin6_addr =
			(struct in6_addr){ .s6_addr = { 0x20, 1, 0xd, 0xb8, [15] = 9 } };
	else
		((struct sockaddr_in *)&foreign)->sin_addr.s_addr = htonl(0xc0000209);
	expect(dat_csp_create(rig->ia, &comm, (DAT_IA_ADDRESS_PTR)&foreign, rig->cr, &csp),
	       DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED);
	other.ss_family = v6 ? AF_INET : AF_INET6;
	rc = dat_csp_create(rig->ia, &comm, (DAT_IA_ADDRESS_PTR)&other, rig->cr, &csp);
	expect(rc, DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED);
}

static void csp_3_port_of_the_provider(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CSP_HANDLE one, two;

	expect_ok(create(rig, 0, &one));
	expect_ok(create(rig, 0, &two));
	assert_true(port_told(one) >= 1024);
	assert_true(port_told(two) >= 1024);
	assert_int_not_equal(port_told(one), port_told(two));
	expect_ok(common_connect(rig, &rig->a, port_told(two)));
	cu_take_cr(rig->cr);
}

static void csp_create_arguments(void **state)
{
	struct cu_rig *rig = *state, *other = cu_rig_open();
	struct sockaddr_storage addr = cu_service(rig, 0);
	DAT_IA_ADDRESS_PTR to = (DAT_IA_ADDRESS_PTR)&addr;
	DAT_EVD_HANDLE plain = ct_evd(rig->ia, 8, NULL, DAT_EVD_DTO_FLAG);
	DAT_COMM comm = comm_of(rig);
	DAT_CSP_HANDLE csp;

	expect_handle(dat_csp_create(NULL, &comm, to, rig->cr, &csp), IA);
	/* PSP-3 */
	expect_handle(dat_csp_create(rig->ia, &comm, to, NULL, &csp), EVD_CR);
	expect_handle(dat_csp_create(rig->ia, &comm, to, plain, &csp), EVD_CR);
	expect_handle(dat_csp_create(rig->ia, &comm, to, other->cr, &csp), EVD_CR);
	expect_arg(dat_csp_create(rig->ia, NULL, to, rig->cr, &csp), 2);
	expect_arg(dat_csp_create(rig->ia, &comm, NULL, rig->cr, &csp), 3);
	expect_arg(dat_csp_create(rig->ia, &comm, to, rig->cr, NULL), 5);
	/* Nothing of it is left. */
	expect_ok(dat_evd_free(plain));
	cu_rig_close(other);
}

/* ---- Who has the port -------------------------------------------------- */

static void csp_4_port_and_qualifier_are_one(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CONN_QUAL port = cu_free_qual(rig);
	DAT_CSP_HANDLE csp, second;
	DAT_PSP_HANDLE psp;
	DAT_RSP_HANDLE rsp;

	expect_type(create(rig, rig->qual, &csp), DAT_PORT_IN_USE);
	expect_ok(create(rig, port, &csp));
	expect_type(create(rig, port, &second), DAT_PORT_IN_USE);
	expect_type(dat_psp_create(rig->ia, port, rig->cr, DAT_PSP_CONSUMER_FLAG, &psp),
		    DAT_CONN_QUAL_IN_USE);
	expect_type(dat_rsp_create(rig->ia, port, rig->p.ep, rig->cr, &rsp), DAT_CONN_QUAL_IN_USE);
	STATE(rig->p.ep, UNCONNECTED);
	/* CSP-7: free again at once, for either kind. */
	expect_ok(dat_csp_free(csp));
	expect_ok(dat_rsp_create(rig->ia, port, rig->p.ep, rig->cr, &rsp));
	expect_type(create(rig, port, &csp), DAT_PORT_IN_USE);
	expect_ok(dat_rsp_free(rsp));
	expect_ok(create(rig, port, &csp));
}

static void child_listens(int fd)
{
	struct cu_rig *rig = cu_rig_open();

	peer_put_word(fd, rig->qual);
	peer_get_word(fd);
	cu_rig_close(rig);
}

static void csp_4_port_in_use_by_another_process(void **state)
{
	struct cu_rig *rig = *state;
	struct peer *peer = peer_start("listens");
	DAT_CSP_HANDLE csp;

	expect_type(create(rig, peer_get_word(peer->fd), &csp), DAT_PORT_IN_USE);
	peer_put_word(peer->fd, 1);
	peer_finish(peer);
}

/* PSP-4 */
static void csp_5_full_queue_refuses(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EVD_HANDLE small = ct_evd(rig->ia, 1, NULL, DAT_EVD_CR_FLAG | DAT_EVD_SOFTWARE_FLAG);
	struct sockaddr_storage addr = cu_service(rig, 0);
	DAT_COMM comm = comm_of(rig);
	DAT_CSP_HANDLE csp;
	DAT_EVENT event;

	expect_ok(dat_csp_create(rig->ia, &comm, (DAT_IA_ADDRESS_PTR)&addr, small, &csp));
	while (ct_post_se(small, 1) == DAT_SUCCESS)
		;
	expect_ok(common_connect(rig, &rig->a, port_told(csp)));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL);
	while (dat_evd_dequeue(small, &event) == DAT_SUCCESS)
		assert_int_equal(event.event_number, DAT_SOFTWARE_EVENT);
	expect_ok(dat_ep_reset(rig->a.ep));
	expect_ok(common_connect(rig, &rig->a, port_told(csp)));
	cu_take_cr(small);
	expect_state(dat_evd_free(small), EVD_IN_USE);
}

/* EP-88 */
static void ep_88_dat_ep_connect_reaches_it_by_qualifier(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CSP_HANDLE csp;

	expect_ok(create(rig, 0, &csp));
	expect_ok(cu_connect(&rig->a, port_told(csp), DAT_TIMEOUT_INFINITE));
	expect_ok(dat_cr_accept(cu_take_cr(rig->cr), rig->p.ep, 0, NULL));
	established(rig);
}

/* ---- Query and end ----------------------------------------------------- */

static void csp_6_query(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CONN_QUAL port = cu_free_qual(rig);
	struct sockaddr_storage addr = cu_service(rig, port);
	DAT_CSP_PARAM param, again;
	DAT_CSP_HANDLE csp;

	expect_ok(create(rig, port, &csp));
	memset(&param, 0xa5, sizeof(param));
	expect_ok(dat_csp_query(csp, DAT_CSP_FIELD_ALL, &param));
	assert_ptr_equal(param.ia_handle, rig->ia);
	assert_ptr_equal(param.evd_handle, rig->cr);
	assert_memory_equal(param.address_ptr, &addr,
			    addr.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						       : sizeof(struct sockaddr_in));
	expect_ok(dat_csp_query(csp, DAT_CSP_FIELD_ALL, &again));
	assert_ptr_equal(again.comm, param.comm);
	assert_ptr_equal(again.address_ptr, param.address_ptr);
	expect_ok(dat_csp_query(csp, (DAT_CSP_PARAM_MASK)0, NULL));
	expect_arg(dat_csp_query(csp, (DAT_CSP_PARAM_MASK)0x10, &param), 2);
	expect_arg(dat_csp_query(csp, DAT_CSP_FIELD_ALL, NULL), 3);
	expect_handle(dat_csp_query(NULL, DAT_CSP_FIELD_ALL, &param), CSP);
	expect_handle(dat_csp_query(rig->psp, DAT_CSP_FIELD_ALL, &param), CSP);
}

static void csp_7_requests_outlive_the_point(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CSP_HANDLE csp;
	uint16_t port;
	DAT_CR_HANDLE cr;

	expect_ok(create(rig, 0, &csp));
	port = port_told(csp);
	expect_ok(common_connect(rig, &rig->a, port));
	cr = cu_take_cr(rig->cr);
	expect_ok(dat_csp_free(csp));
	expect_handle(dat_csp_free(csp), CSP);
	expect_handle(dat_csp_free(NULL), CSP);
	expect_handle(dat_csp_free(rig->psp), CSP);
	expect_ok(dat_cr_accept(cr, rig->p.ep, 0, NULL));
	established(rig);
	cu_end_connection(&rig->a, &rig->p);
	expect_ok(dat_ep_reset(rig->a.ep));
	expect_ok(common_connect(rig, &rig->a, port));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL);
}

/* IA-83 */
static void csp_keeps_the_adapter_in_use(void **state)
{
	struct ct_ia ia;
	struct cu_rig view = { 0 };
	DAT_CSP_HANDLE csp;

	(void)state;
	ct_open(&ia);
	view.ia = ia.ia;
	view.attr = ia.attr;
	view.cr = ct_evd(ia.ia, 8, NULL, DAT_EVD_CR_FLAG);
	expect_ok(create(&view, 0, &csp));
	expect_state(dat_ia_close(ia.ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
	expect_state(dat_evd_free(view.cr), EVD_IN_USE);
	expect_ok(dat_csp_free(csp));
	expect_ok(dat_evd_free(view.cr));
	expect_ok(dat_ia_close(ia.ia, DAT_CLOSE_GRACEFUL_FLAG));
}

#define T(f) cmocka_unit_test_setup_teardown(f, cu_setup_ends, cu_teardown)

int main(int argc, char **argv)
{
	static const struct peer_role roles[] = { { "listens", child_listens }, { NULL, NULL } };
	static const struct CMUnitTest tests[] = {
		T(csp_1_5_delivers_requests_until_freed),
		T(csp_2_communicators),
		T(csp_3_addresses),
		T(csp_3_port_of_the_provider),
		T(csp_create_arguments),
		T(csp_4_port_and_qualifier_are_one),
		T(csp_4_port_in_use_by_another_process),
		T(csp_5_full_queue_refuses),
		T(ep_88_dat_ep_connect_reaches_it_by_qualifier),
		T(csp_6_query),
		T(csp_7_requests_outlive_the_point),
		cmocka_unit_test(csp_keeps_the_adapter_in_use),
	};

	peer_main(argc, argv, roles);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
