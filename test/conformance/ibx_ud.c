/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Datagram endpoints: what they are, and how they learn of each other. */
#include "ud_util.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>

/* ---- Endpoints ---- */

static void ibx_57_61_message_size(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EP_HANDLE ep;
	DAT_EP_PARAM param;
	DAT_EP_ATTR attr;
	DAT_COUNT mtu;

	xu_need(rig, DAT_IB_ATTR_UD);
	mtu = atoi(xu_named(rig, "DAT_IB_TRANSPORT_MTU"));
	uu_default_attr(rig, &attr);
	attr.max_message_size = (DAT_VLEN)mtu + 1;
	expect_type(dat_ep_create(rig->ia, rig->a.pz, rig->a.recv, rig->a.request, rig->a.connect,
				  &attr, &ep),
		    DAT_INVALID_PARAMETER);
	attr.max_message_size = (DAT_VLEN)mtu;
	attr.max_rdma_size = 1; /* ignored, as all of RDMA */
	attr.max_rdma_read_in = 1;
	expect_ok(dat_ep_create(rig->ia, rig->a.pz, rig->a.recv, rig->a.request, rig->a.connect,
				&attr, &ep));
	cu_query(ep, &param);
	assert_int_equal(param.ep_attr.service_type, DAT_IB_SERVICE_TYPE_UD);
	assert_int_equal(param.ep_attr.max_message_size, mtu);
	expect_ok(dat_ep_free(ep));
}

static void ibx_63_calls_of_connections(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a;
	DAT_LMR_TRIPLET seg;
	DAT_RMR_TRIPLET target;
	DAT_EP_HANDLE stream;
	DAT_RSP_HANDLE rsp;
	DAT_RETURN rc;

	xu_need(rig, DAT_IB_ATTR_UD);
	seg = ct_segment(&a->mem, 0, 8);
	target = ct_target(&rig->p.mem, 0, 8);
	expect_handle(dat_ep_post_send(a->ep, 1, &seg, cu_cookie(1), DAT_COMPLETION_DEFAULT_FLAG),
		      EP);
	expect_handle(dat_ep_post_rdma_write(a->ep, 1, &seg, cu_cookie(1), &target,
					     DAT_COMPLETION_DEFAULT_FLAG),
		      EP);
	expect_handle(dat_ep_post_rdma_read(a->ep, 1, &seg, cu_cookie(1), &target,
					    DAT_COMPLETION_DEFAULT_FLAG),
		      EP);
	rc = dat_ep_post_send_with_invalidate(a->ep, 1, &seg, cu_cookie(1),
					      DAT_COMPLETION_DEFAULT_FLAG, DAT_TRUE, 1);
	if (!cu_unsupported(rc))
		expect_handle(rc, EP);
	expect_handle(xu_write_immed(a, 8, &rig->p.mem, 0, 1, 1), EP); /* IBX-33 */
	expect_ok(dat_ep_create(rig->ia, a->pz, a->recv, a->request, a->connect, NULL, &stream));
	expect_handle(dat_ep_dup_connect(stream, a->ep, CT_US, 0, NULL, DAT_QOS_BEST_EFFORT), EP);
	expect_handle(dat_ep_dup_connect(a->ep, stream, CT_US, 0, NULL, DAT_QOS_BEST_EFFORT), EP);
	expect_handle(dat_rsp_create(rig->ia, rig->qual + 1, a->ep, rig->cr, &rsp), EP);
	cu_quiet(a->request, 20);
	expect_ok(dat_ep_free(stream));
}

static void ibx_63_no_binds(void **state)
{
	struct cu_rig *rig = *state;
	DAT_LMR_TRIPLET seg;
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	DAT_RETURN rc;

	xu_need(rig, DAT_IB_ATTR_UD);
	rc = dat_rmr_create(rig->a.pz, &rmr);
	if (cu_unsupported(rc))
		harness_skip("the adapter has no memory windows");
	expect_ok(rc);
	seg = ct_segment(&rig->a.mem, 0, 64);
	expect_handle(dat_rmr_bind(rmr, rig->a.mem.lmr, &seg, DAT_MEM_PRIV_REMOTE_READ_FLAG,
				   DAT_VA_TYPE_VA, rig->a.ep, cu_cookie(1),
				   DAT_COMPLETION_DEFAULT_FLAG, &context),
		      EP);
	expect_ok(dat_rmr_free(rmr));
}

static void ibx_58_64_nothing_to_disconnect_or_reset(void **state)
{
	struct cu_rig *rig = *state;
	DAT_IB_EXTENSION_EVENT_DATA active, passive;

	xu_need(rig, DAT_IB_ATTR_UD);
	expect_ok(dat_ep_reset(rig->a.ep));
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	uu_resolve(rig, &rig->a, &rig->p, &active, &passive);
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	expect_ok(dat_ep_reset(rig->a.ep));
	cu_quiet(rig->a.connect, CU_QUIET);
	cu_quiet(rig->p.connect, 0);
	/* What was resolved still is. */
	expect_ok(cu_recv(&rig->p, 0, 1024, 1));
	expect_ok(uu_send(&rig->a, 8, 2, &active.remote_ah));
	uu_received(&rig->p, 1, 8);
}

static void ibx_65_free_at_any_time(void **state)
{
	struct cu_rig *rig = *state;
	DAT_IB_EXTENSION_EVENT_DATA active, passive;
	DAT_CR_HANDLE cr;

	xu_need(rig, DAT_IB_ATTR_UD);
	uu_resolve(rig, &rig->a, &rig->p, &active, &passive);
	expect_ok(cu_recv(&rig->a, 0, 1024, 1));
	expect_ok(uu_connect(&rig->a, rig->qual, CT_US, "more"));
	cr = uu_take_cr(rig);
	expect_ok(dat_ep_free(rig->a.ep));
	rig->a.ep = DAT_HANDLE_NULL;
	cu_quiet(rig->a.connect, 200);
	expect_ok(dat_cr_reject(cr, 0, NULL));
}

/* GEN-8: what only an unconnected endpoint allows is allowed still. EP-70: the reason is told. */
static void ibx_62_a_connect_that_fails_changes_nothing(void **state)
{
	/* Of RFC 5737, and of all on a network: there is no way from a loopback address. */
	static const uint32_t addresses[] = { 0xc0000201, 0x7fffffff };
	struct sockaddr_in nobody = { .sin_family = AF_INET };
	struct cu_rig *rig = *state;
	DAT_EP_PARAM param = { .pz_handle = rig->p.pz };
	DAT_RETURN rc;
	size_t i;

	xu_need(rig, DAT_IB_ATTR_UD);
	for (i = 0; i < 2; i++) {
		nobody.sin_addr.s_addr = htonl(addresses[i]);
		rc = dat_ep_connect(rig->a.ep, (DAT_IA_ADDRESS_PTR)&nobody, rig->qual, CT_US, 0,
				    NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
		if (!rc)
			harness_skip("this adapter finds out later that nobody is there");
		expect(rc, DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE);
	}
	STATE(rig->a.ep, UNCONNECTED);
	expect_ok(dat_ep_modify(rig->a.ep, DAT_EP_FIELD_PZ_HANDLE, &param));
}

/* ---- Resolution ---- */

static void ibx_66_67_71_both_learn_of_each_other(void **state)
{
	struct cu_rig *rig = *state;
	DAT_IB_EXTENSION_EVENT_DATA active, passive;
	const struct sockaddr *own;

	xu_need(rig, DAT_IB_ATTR_UD);
	uu_resolve(rig, &rig->a, &rig->p, &active, &passive);
	own = (const struct sockaddr *)rig->attr.ia_address_ptr;
	assert_int_not_equal(active.remote_ah.qpn, passive.remote_ah.qpn);
	assert_int_equal(((const struct sockaddr *)&active.remote_ah.ia_addr)->sa_family,
			 own->sa_family);
	assert_int_equal(active.val.immed.data, 0); /* IBX-22 */
	cu_quiet(rig->a.connect, 50);
	cu_quiet(rig->p.connect, 0);
}

/* One PSP, both kinds; each wants an endpoint of its own. */
static void ibx_67_68_kinds_do_not_mix(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end stream = { .ia = DAT_HANDLE_NULL }, other = { .ia = DAT_HANDLE_NULL };
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	xu_need(rig, DAT_IB_ATTR_UD);
	ct_end_open(&stream, rig->ia, NULL);
	ct_end_open(&other, rig->ia, NULL);
	expect_ok(uu_connect(&rig->a, rig->qual, CT_US, NULL));
	cr = uu_take_cr(rig);
	expect_handle(uu_accept(cr, stream.ep, NULL), EP);
	expect_ok(uu_accept(cr, rig->p.ep, NULL)); /* it was still there */
	uu_event(&rig->a, DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED, DAT_IB_UD_REMOTE_AH, NULL,
		 &event);
	expect_ok(cu_connect(&other, rig->qual, CT_US));
	cr = cu_take_cr(rig->cr);
	expect_handle(uu_accept(cr, rig->p.ep, NULL), EP);
	expect_ok(uu_accept(cr, stream.ep, NULL));
	cu_conn_event(other.connect, other.ep, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	expect_ok(dat_ep_free(stream.ep));
	expect_ok(dat_ep_free(other.ep));
}

static void ibx_68_endpoints_of_the_provider(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EP_PARAM param = { .pz_handle = DAT_HANDLE_NULL };
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_CR_PARAM cr;
	DAT_EVENT event;
	struct ct_end end;

	xu_need(rig, DAT_IB_ATTR_UD);
	expect_ok(dat_psp_create_any(rig->ia, &qual, rig->cr, DAT_PSP_PROVIDER_FLAG, &psp));
	expect_ok(uu_connect(&rig->a, qual, CT_US, "x"));
	assert_true(cu_next(rig->cr, CT_MS, &event));
	assert_int_equal(event.event_number, DAT_IB_UD_CONNECTION_REQUEST_EVENT);
	expect_ok(dat_cr_query(event.event_data.cr_arrival_event_data.cr_handle, DAT_CR_FIELD_ALL,
			       &cr));
	end = rig->p;
	end.ep = cr.local_ep_handle;
	assert_ptr_not_equal(end.ep, DAT_HANDLE_NULL);
	param.pz_handle = end.pz;
	param.recv_evd_handle = end.recv;
	param.request_evd_handle = end.request;
	param.connect_evd_handle = end.connect;
	expect_ok(dat_ep_modify(end.ep,
				DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
					DAT_EP_FIELD_REQUEST_EVD_HANDLE |
					DAT_EP_FIELD_CONNECT_EVD_HANDLE,
				&param));
	expect_ok(
		uu_accept(event.event_data.cr_arrival_event_data.cr_handle, DAT_HANDLE_NULL, "y"));
	uu_event(&rig->a, DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED, DAT_IB_UD_REMOTE_AH, "y", &event);
	uu_event(&end, DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED, DAT_IB_UD_PASSIVE_REMOTE_AH, "x",
		 &event);
	expect_ok(dat_psp_free(psp));
	expect_ok(dat_ep_free(end.ep));
}

static void ibx_69_74_query_and_reject(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	xu_need(rig, DAT_IB_ATTR_UD);
	expect_ok(uu_connect(&rig->a, rig->qual, CT_US, "who"));
	cr = uu_take_cr(rig);
	expect_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	assert_int_equal(param.private_data_size, 3);
	assert_memory_equal(param.private_data, "who", 3);
	expect_ok(dat_cr_reject(cr, 2, (DAT_PVOID)(uintptr_t) "no"));
	uu_event(&rig->a, DAT_IB_UD_CONNECTION_REJECT_EVENT, DAT_IB_UD_CONNECT_REJECT, "no",
		 &event);
	/* Nobody listens: the same event, without data. */
	expect_ok(uu_connect(&rig->a, cu_free_qual(rig), CT_US, "who"));
	uu_event(&rig->a, DAT_IB_UD_CONNECTION_REJECT_EVENT, DAT_IB_UD_CONNECT_REJECT, NULL,
		 &event);
	cu_quiet(rig->p.connect, 20);
}

/* Two programs that tell each other where they listen may ask a moment before they do. */
static void ibx_66_asks_before_it_listens(void **state)
{
	struct cu_rig *rig = *state, there = *rig;
	DAT_EVENT event;

	xu_need(rig, DAT_IB_ATTR_UD);
	if (strncmp(harness_ia_name(), "soft", 4))
		harness_skip("a kernel's connection manager answers at once");
	there.qual = cu_free_qual(rig);
	expect_ok(uu_connect(&rig->a, there.qual, CT_US, "soon"));
	ct_pause();
	expect_ok(dat_psp_create(rig->ia, there.qual, rig->cr, DAT_PSP_CONSUMER_FLAG, &there.psp));
	expect_ok(dat_cr_reject(uu_take_cr(&there), 2, (DAT_PVOID)(uintptr_t) "no"));
	uu_event(&rig->a, DAT_IB_UD_CONNECTION_REJECT_EVENT, DAT_IB_UD_CONNECT_REJECT, "no",
		 &event);
	expect_ok(dat_psp_free(there.psp));
}

/* Each asks the other as well: two events for each, of one type each. */
static void ibx_62_70_both_directions(void **state)
{
	struct cu_rig *rig = *state;
	DAT_IB_EXTENSION_EVENT_DATA active, passive;

	xu_need(rig, DAT_IB_ATTR_UD);
	uu_resolve(rig, &rig->a, &rig->p, &active, &passive);
	uu_resolve(rig, &rig->p, &rig->a, &active, &passive);
	uu_resolve(rig, &rig->a, &rig->p, &active, &passive); /* and again */
	cu_quiet(rig->a.connect, CU_QUIET);
	cu_quiet(rig->p.connect, 0);
}

/* Many under way at once on both sides; each has one outcome. */
static void ibx_62_66_77_many_at_once(void **state)
{
	enum {
		NUM = 16
	};
	struct cu_rig *rig = *state;
	DAT_CR_HANDLE cr[NUM];
	DAT_EVENT event;

	xu_need(rig, DAT_IB_ATTR_UD);
	for (int i = 0; i < NUM; i++)
		expect_ok(uu_connect(&rig->a, rig->qual, CT_US, NULL));
	for (int i = 0; i < NUM; i++)
		cr[i] = uu_take_cr(rig);
	for (int i = 0; i < NUM; i++)
		expect_ok(uu_accept(cr[i], rig->p.ep, NULL));
	for (int i = 0; i < NUM; i++) {
		uu_event(&rig->a, DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED, DAT_IB_UD_REMOTE_AH, NULL,
			 &event);
		uu_event(&rig->p, DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED,
			 DAT_IB_UD_PASSIVE_REMOTE_AH, NULL, &event);
	}
	cu_quiet(rig->a.connect, CU_QUIET);
	cu_quiet(rig->p.connect, 0);
	cu_quiet(rig->cr, 0);
}

static void ibx_75_77_no_answer(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	xu_need(rig, DAT_IB_ATTR_UD);
	expect_ok(uu_connect(&rig->a, rig->qual, 300000, NULL));
	cr = uu_take_cr(rig);
	assert_true(cu_next(rig->a.connect, CT_MS, &event));
	if (event.event_number != DAT_CONNECTION_EVENT_UNREACHABLE)
		assert_int_equal(event.event_number, DAT_CONNECTION_EVENT_TIMED_OUT);
	assert_ptr_equal(event.event_data.connect_event_data.ep_handle, rig->a.ep);
	assert_int_equal(event.event_data.connect_event_data.private_data_size, 0);
	expect_ok(dat_cr_reject(cr, 0, NULL));
	cu_quiet(rig->a.connect, 200);
}

/* The active side is gone when the accept comes. */
static int unacknowledged(void)
{
	void *state = NULL;
	struct cu_rig *rig;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	uu_setup(&state);
	rig = state;
	expect_ok(uu_connect(&rig->a, rig->qual, CT_US, "gone"));
	cr = uu_take_cr(rig);
	expect_ok(dat_ep_free(rig->a.ep));
	expect_ok(uu_accept(cr, rig->p.ep, NULL));
	uu_event(&rig->p, DAT_IB_UD_CONNECTION_ERROR_EVENT, DAT_IB_UD_CONNECT_ERROR, NULL, &event);
	cu_quiet(rig->p.connect, 200);
	rig->a.ep = DAT_HANDLE_NULL;
	cu_teardown(&state);
	return 0;
}

static void ibx_76_77_no_acknowledgement(void **state)
{
	static const char *const env[] = { "DAPL_SOFT_HANDSHAKE=3000", NULL };

	xu_need(*state, DAT_IB_ATTR_UD);
	harness_spawn_ok("unacknowledged", env);
}

/* ---- What is given back ---- */

static void ibx_88_89_90_address_handles(void **state)
{
	struct cu_rig *rig = *state;
	DAT_IB_EXTENSION_EVENT_DATA active, passive, again;
	DAT_IB_ADDR_HANDLE foreign = { .ah = (struct ibv_ah *)(uintptr_t)rig };

	xu_need(rig, DAT_IB_ATTR_UD);
	uu_resolve(rig, &rig->a, &rig->p, &active, &passive);
	uu_resolve(rig, &rig->p, &rig->a, &again, &passive);
	/* Both of a name p: freeing the one leaves the other. */
	expect_ok(dat_ib_ud_ah_free(rig->a.ep, &passive.remote_ah));
	expect_ok(cu_recv(&rig->p, 0, 1024, 1));
	expect_ok(uu_send(&rig->a, 8, 2, &active.remote_ah));
	uu_sent(&rig->a, 2, 8);
	uu_received(&rig->p, 1, 8);
	expect_ok(dat_ib_ud_ah_free(rig->a.ep, &active.remote_ah));
	expect_arg(dat_ib_ud_ah_free(rig->a.ep, &active.remote_ah), 3);
	expect_arg(dat_ib_ud_ah_free(rig->a.ep, NULL), 3);
	expect_arg(dat_ib_ud_ah_free(rig->a.ep, &foreign), 3);
	expect_arg(dat_ib_ud_ah_free(rig->a.ep, &again.remote_ah), 3); /* p's */
	expect_ok(dat_ib_ud_ah_free(rig->p.ep, &again.remote_ah));
}

static void ibx_72_73_91_92_cm_objects(void **state)
{
	struct cu_rig *rig = *state;
	DAT_IB_EXTENSION_EVENT_DATA active, passive;
	DAT_CONTEXT none = { .as_64 = 0 };
	DAT_EP_HANDLE stream;
	DAT_EVENT event;

	xu_need(rig, DAT_IB_ATTR_UD);
	expect_ok(uu_connect(&rig->a, rig->qual, CT_US, "question"));
	expect_ok(uu_accept(uu_take_cr(rig), rig->p.ep, "answer"));
	active = uu_event(&rig->a, DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED, DAT_IB_UD_REMOTE_AH,
			  "answer", &event);
	passive = uu_event(&rig->p, DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED,
			   DAT_IB_UD_PASSIVE_REMOTE_AH, "question", &event);
	/* The data of p's event are there until it is freed. */
	expect_ok(dat_ib_ud_cm_free(rig->a.ep, active.context.as_ptr));
	assert_memory_equal(event.event_data.connect_event_data.private_data, "question", 8);
	expect_handle(dat_ib_ud_cm_free(rig->a.ep, active.context.as_ptr), EP);
	expect_handle(dat_ib_ud_cm_free(rig->a.ep, passive.context.as_ptr), EP);
	expect_handle(dat_ib_ud_cm_free(rig->a.ep, none.as_64), EP);
	expect_ok(dat_ep_create(rig->ia, rig->a.pz, rig->a.recv, rig->a.request, rig->a.connect,
				NULL, &stream));
	expect_handle(dat_ib_ud_cm_free(stream, passive.context.as_ptr), EP);
	expect_ok(dat_ep_free(stream));
	/* The addresses are good without them. */
	expect_ok(cu_recv(&rig->p, 0, 1024, 1));
	expect_ok(uu_send(&rig->a, 8, 2, &active.remote_ah));
	uu_received(&rig->p, 1, 8);
	expect_ok(dat_ib_ud_cm_free(rig->p.ep, passive.context.as_ptr));
}

#define U(f) cmocka_unit_test_setup_teardown(f, uu_setup, cu_teardown)

int main(int argc, char **argv)
{
	static const struct harness_child children[] = { { "unacknowledged", unacknowledged },
							 { NULL, NULL } };
	static const struct CMUnitTest tests[] = {
		U(ibx_57_61_message_size),
		U(ibx_63_calls_of_connections),
		U(ibx_63_no_binds),
		U(ibx_58_64_nothing_to_disconnect_or_reset),
		U(ibx_62_a_connect_that_fails_changes_nothing),
		U(ibx_65_free_at_any_time),
		U(ibx_66_67_71_both_learn_of_each_other),
		U(ibx_67_68_kinds_do_not_mix),
		U(ibx_68_endpoints_of_the_provider),
		U(ibx_69_74_query_and_reject),
		U(ibx_66_asks_before_it_listens),
		U(ibx_62_70_both_directions),
		U(ibx_62_66_77_many_at_once),
		U(ibx_75_77_no_answer),
		U(ibx_76_77_no_acknowledgement),
		U(ibx_88_89_90_address_handles),
		U(ibx_72_73_91_92_cm_objects),
	};

	harness_child_main(argc, argv, children);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
