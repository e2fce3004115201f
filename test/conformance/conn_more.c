/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connecting like another endpoint, and by address and port (EP-80 to EP-89). */
#include "conn_util.h"

#include <netinet/in.h>

/* ---- dat_ep_dup_connect ------------------------------------------------ */

static DAT_RETURN dup_connect(struct ct_end *end, struct ct_end *model)
{
	return dat_ep_dup_connect(end->ep, model->ep, CT_US, 0, NULL, DAT_QOS_BEST_EFFORT);
}

/* Accepts the next request on an endpoint made for it, which goes with the IA. */
static struct ct_end accept_next(struct cu_rig *rig, struct ct_end *active)
{
	struct ct_end passive = { 0 };

	ct_end_open(&passive, rig->ia, NULL);
	expect_ok(dat_cr_accept(cu_take_cr(rig->cr), passive.ep, 0, NULL));
	cu_conn_event(active->connect, active->ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	cu_conn_event(passive.connect, passive.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	return passive;
}

static void check_transfer(struct ct_end *from, struct ct_end *to)
{
	cu_fill(from->mem.base, 512, 5);
	expect_ok(cu_recv(to, 1024, 512, 1));
	expect_ok(ct_post_send(from, 0, 512, 2, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(to->recv, to->ep, 1, DAT_DTO_RECEIVE, 512);
	FILLED(to->mem.base + 1024, 512, 5);
}

static void ep_80_same_peer_other_connection(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end copy = { 0 }, passive = { 0 };
	uint8_t data[6] = "other";
	DAT_EP_PARAM first, second;
	DAT_CR_PARAM request;
	DAT_CR_HANDLE cr;

	cu_establish(rig, &rig->a, &rig->p);
	ct_end_open(&copy, rig->ia, NULL);
	ct_end_open(&passive, rig->ia, NULL);
	expect_ok(dat_ep_dup_connect(copy.ep, rig->a.ep, CT_US, sizeof(data), data,
				     DAT_QOS_BEST_EFFORT));
	cr = cu_take_cr(rig->cr);
	/* The private data is this call's own. */
	expect_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &request));
	assert_int_equal(request.private_data_size, sizeof(data));
	assert_memory_equal(request.private_data, data, sizeof(data));
	expect_ok(dat_cr_accept(cr, passive.ep, 0, NULL));
	cu_conn_event(copy.connect, copy.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	cu_conn_event(passive.connect, passive.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	cu_query(rig->a.ep, &first);
	cu_query(copy.ep, &second);
	assert_int_equal(second.remote_port_qual, rig->qual);
	assert_int_equal(second.remote_port_qual, first.remote_port_qual);
	assert_int_not_equal(second.local_port_qual, first.local_port_qual);
	check_transfer(&copy, &passive);
	check_transfer(&rig->a, &rig->p);
}

/* Requested multipath is a preference and goes along (HA-12). */
static void ep_80_same_flags(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end copy = { 0 }, first, second;

	ct_end_open(&copy, rig->ia, NULL);
	expect_ok(dat_ep_connect(rig->a.ep, rig->attr.ia_address_ptr, rig->qual, CT_US, 0, NULL,
				 DAT_QOS_BEST_EFFORT, DAT_CONNECT_MULTIPATH_REQUESTED_FLAG));
	first = accept_next(rig, &rig->a);
	expect_ok(dup_connect(&copy, &rig->a));
	second = accept_next(rig, &copy);
	check_transfer(&copy, &second);
	check_transfer(&first, &rig->a);
}

static void ep_81_states(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end copy = { 0 };

	ct_end_open(&copy, rig->ia, NULL);
	expect_state(dup_connect(&copy, &rig->a), EP_UNCONNECTED);
	STATE(copy.ep, UNCONNECTED);
	expect_ok(cu_connect(&rig->a, rig->qual, DAT_TIMEOUT_INFINITE));
	expect_state(dup_connect(&copy, &rig->a), EP_ACTCONNPENDING);
	expect_ok(dat_cr_accept(cu_take_cr(rig->cr), rig->p.ep, 0, NULL));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	expect_state(dup_connect(&rig->a, &rig->a), EP_CONNECTED);
	expect_state(dup_connect(&rig->p, &rig->a), EP_CONNECTED);
	cu_end_connection(&rig->a, &rig->p);
	expect_state(dup_connect(&copy, &rig->a), EP_DISCONNECTED);
	STATE(copy.ep, UNCONNECTED);
	cu_quiet(rig->cr, 0);
}

static void ep_82_endpoints_of_two_ias(void **state)
{
	struct cu_rig *rig = *state, *other = cu_rig_open();
	struct ct_end copy = { 0 };

	ct_end_open(&copy, other->ia, NULL);
	cu_establish(rig, &rig->a, &rig->p);
	expect_handle(dup_connect(&copy, &rig->a), EP);
	STATE(copy.ep, UNCONNECTED);
	ct_end_close(&copy);
	cu_rig_close(other);
}

static void ep_83_model_on_the_passive_side(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end copy = { 0 };

	ct_end_open(&copy, rig->ia, NULL);
	cu_establish(rig, &rig->a, &rig->p);
	expect_ok(dup_connect(&copy, &rig->p));
	cu_conn_event(copy.connect, copy.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL);
	STATE(copy.ep, DISCONNECTED);
	STATE(rig->p.ep, CONNECTED);
	cu_quiet(rig->cr, 0);
}

static void ep_85_model_is_only_read(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end copy = { 0 }, passive;

	ct_end_open(&copy, rig->ia, NULL);
	cu_establish(rig, &rig->a, &rig->p);
	expect_ok(dup_connect(&copy, &rig->a));
	ct_end_close(&rig->a);
	memset(&rig->a, 0, sizeof(rig->a));
	passive = accept_next(rig, &copy);
	check_transfer(&copy, &passive);
}

static void ep_86_arguments(void **state)
{
	struct cu_rig *rig = *state;
	DAT_COUNT max = rig->prov.max_private_data_size;
	struct ct_end copy = { 0 };
	DAT_EP_PARAM param;
	char data[8] = "";
	DAT_EP_HANDLE a;

	ct_end_open(&copy, rig->ia, NULL);
	cu_establish(rig, &rig->a, &rig->p);
	a = rig->a.ep;
	expect_handle(dat_ep_dup_connect(NULL, a, CT_US, 0, NULL, DAT_QOS_BEST_EFFORT), EP);
	expect_handle(dat_ep_dup_connect(copy.ep, NULL, CT_US, 0, NULL, DAT_QOS_BEST_EFFORT), EP);
	expect_handle(dat_ep_dup_connect(copy.ep, rig->psp, CT_US, 0, NULL, DAT_QOS_BEST_EFFORT),
		      EP);
	expect_arg(dat_ep_dup_connect(copy.ep, a, 0, 0, NULL, DAT_QOS_BEST_EFFORT), 3);
	expect_arg(dat_ep_dup_connect(copy.ep, a, CT_US, -1, data, DAT_QOS_BEST_EFFORT), 4);
	expect_arg(dat_ep_dup_connect(copy.ep, a, CT_US, max + 1, data, DAT_QOS_BEST_EFFORT), 4);
	expect_arg(dat_ep_dup_connect(copy.ep, a, CT_US, 1, NULL, DAT_QOS_BEST_EFFORT), 5);
	expect_arg(dat_ep_dup_connect(copy.ep, a, CT_US, 0, NULL, (DAT_QOS)0x100), 6);
	if (!(rig->prov.dat_qos_supported & DAT_QOS_PREMIUM))
		expect_type(dat_ep_dup_connect(copy.ep, a, CT_US, 0, NULL, DAT_QOS_PREMIUM),
			    DAT_MODEL_NOT_SUPPORTED);
	cu_query(copy.ep, &param);
	param.connect_evd_handle = NULL;
	expect_ok(dat_ep_modify(copy.ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
	expect_handle(dup_connect(&copy, &rig->a), EVD_CONN);
	param.connect_evd_handle = copy.connect;
	param.pz_handle = NULL;
	expect_ok(dat_ep_modify(copy.ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE | DAT_EP_FIELD_PZ_HANDLE,
				&param));
	expect_state(dup_connect(&copy, &rig->a), EP_NOTREADY);
	STATE(copy.ep, UNCONNECTED);
	cu_quiet(rig->cr, 0);
}

/* ---- dat_ep_common_connect --------------------------------------------- */

static DAT_RETURN common_connect(struct ct_end *end, struct sockaddr_storage *to)
{
	return dat_ep_common_connect(end->ep, (DAT_IA_ADDRESS_PTR)to, CT_US, 0, NULL);
}

static void ep_87_by_address_and_port(void **state)
{
	struct cu_rig *rig = *state;
	struct sockaddr_storage to = cu_service(rig, rig->qual);
	uint8_t data[4] = "abc", answer[3] = "ok";
	DAT_CR_PARAM request;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	expect_ok(dat_ep_common_connect(rig->a.ep, (DAT_IA_ADDRESS_PTR)&to, CT_US, sizeof(data),
					data));
	/* EP-69: the address has been copied. */
	memset(&to, 0xff, sizeof(to));
	/* EP-88: a PSP with that qualifier is what it reaches. */
	cr = cu_take_cr(rig->cr);
	expect_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &request));
	assert_int_equal(request.private_data_size, sizeof(data));
	assert_memory_equal(request.private_data, data, sizeof(data));
	expect_ok(dat_cr_accept(cr, rig->p.ep, sizeof(answer), answer));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	assert_int_equal(event.event_data.connect_event_data.private_data_size, sizeof(answer));
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	check_transfer(&rig->a, &rig->p);
}

static void ep_84_model_connected_by_address_and_port(void **state)
{
	struct cu_rig *rig = *state;
	struct sockaddr_storage to = cu_service(rig, rig->qual);
	struct ct_end copy = { 0 }, first, second;

	ct_end_open(&copy, rig->ia, NULL);
	expect_ok(common_connect(&rig->a, &to));
	first = accept_next(rig, &rig->a);
	expect_ok(dup_connect(&copy, &rig->a));
	second = accept_next(rig, &copy);
	check_transfer(&copy, &second);
	check_transfer(&rig->a, &first);
}

static void ep_87_outcomes_of_connect(void **state)
{
	struct cu_rig *rig = *state;
	struct sockaddr_storage to = cu_service(rig, cu_free_qual(rig));
	DAT_EVENT event;

	expect_ok(common_connect(&rig->a, &to));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL);
	STATE(rig->a.ep, DISCONNECTED);
	expect_ok(dat_ep_reset(rig->a.ep));
	to = cu_service(rig, rig->qual);
	expect_ok(common_connect(&rig->a, &to));
	expect_ok(dat_cr_reject(cu_take_cr(rig->cr), 0, NULL));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED, NULL);
	expect_ok(dat_ep_reset(rig->a.ep));
	/* TMO-1 to TMO-4 */
	expect_ok(dat_ep_common_connect(rig->a.ep, (DAT_IA_ADDRESS_PTR)&to, 200000, 0, NULL));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_TIMED_OUT, &event);
	STATE(rig->a.ep, DISCONNECTED);
}

static void ep_89_communicators(void **state)
{
	struct cu_rig *rig = *state;
	struct sockaddr_storage to = cu_service(rig, rig->qual);
	int family = rig->attr.ia_address_ptr->sa_family;
	const DAT_COMM bad[] = {
		{ .domain = family == AF_INET ? AF_INET6 : AF_INET, .type = SOCK_STREAM },
		{ .domain = AF_UNIX, .type = SOCK_STREAM },
		{ .domain = family, .type = SOCK_DGRAM },
		{ .domain = family, .type = SOCK_STREAM, .protocol = IPPROTO_SCTP },
	};
	DAT_EP_PARAM param;

	cu_query(rig->a.ep, &param);
	/* EP-11 */
	assert_int_equal(param.comm.domain, family);
	assert_int_equal(param.comm.type, SOCK_STREAM);
	assert_int_equal(param.comm.protocol, 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		param.comm = bad[i];
		expect_ok(dat_ep_modify(rig->a.ep, DAT_EP_FIELD_COMM, &param));
		expect_type(common_connect(&rig->a, &to), DAT_COMM_NOT_SUPPORTED);
		STATE(rig->a.ep, UNCONNECTED);
	}
	/* It says nothing about dat_ep_connect, and named in full it is as good as the default. */
	param.comm = (DAT_COMM){ .domain = family, .type = SOCK_STREAM, .protocol = IPPROTO_TCP };
	expect_ok(dat_ep_modify(rig->a.ep, DAT_EP_FIELD_COMM, &param));
	expect_ok(common_connect(&rig->a, &to));
	accept_next(rig, &rig->a);
}

static void ep_89_arguments(void **state)
{
	struct cu_rig *rig = *state;
	DAT_COUNT max = rig->prov.max_private_data_size;
	struct sockaddr_storage storage = cu_service(rig, rig->qual), bad = storage;
	DAT_IA_ADDRESS_PTR to = (DAT_IA_ADDRESS_PTR)&storage;
	DAT_EP_HANDLE ep = rig->a.ep;
	DAT_EP_PARAM param;
	char data[8] = "";

	expect_handle(dat_ep_common_connect(NULL, to, CT_US, 0, NULL), EP);
	expect_handle(dat_ep_common_connect(rig->psp, to, CT_US, 0, NULL), EP);
	expect_arg(dat_ep_common_connect(ep, NULL, CT_US, 0, NULL), 2);
	expect_arg(dat_ep_common_connect(ep, to, 0, 0, NULL), 3);
	expect_arg(dat_ep_common_connect(ep, to, CT_US, -1, data), 4);
	expect_arg(dat_ep_common_connect(ep, to, CT_US, max + 1, data), 4);
	expect_arg(dat_ep_common_connect(ep, to, CT_US, 1, NULL), 5);
	bad.ss_family = AF_UNSPEC;
	expect_type(common_connect(&rig->a, &bad), DAT_INVALID_ADDRESS);
	bad = cu_service(rig, 0);
	expect_type(common_connect(&rig->a, &bad), DAT_INVALID_ADDRESS);
	STATE(ep, UNCONNECTED);
	cu_query(ep, &param);
	param.connect_evd_handle = NULL;
	expect_ok(dat_ep_modify(ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
	expect_handle(dat_ep_common_connect(ep, to, CT_US, 0, NULL), EVD_CONN);
	param.connect_evd_handle = rig->a.connect;
	param.pz_handle = NULL;
	expect_ok(dat_ep_modify(ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE | DAT_EP_FIELD_PZ_HANDLE,
				&param));
	expect_state(dat_ep_common_connect(ep, to, CT_US, 0, NULL), EP_NOTREADY);
	cu_quiet(rig->cr, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, cu_setup_ends, cu_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(ep_80_same_peer_other_connection),
		T(ep_80_same_flags),
		T(ep_81_states),
		T(ep_82_endpoints_of_two_ias),
		T(ep_83_model_on_the_passive_side),
		T(ep_84_model_connected_by_address_and_port),
		T(ep_85_model_is_only_read),
		T(ep_86_arguments),
		T(ep_87_by_address_and_port),
		T(ep_87_outcomes_of_connect),
		T(ep_89_communicators),
		T(ep_89_arguments),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
