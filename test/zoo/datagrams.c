/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Endpoints of datagrams, by the datagram connection manager: many peers of one, what becomes of
 * address handles, and what fails in the adapter. zoo.sh runs it where the manager does.
 */
#include "test/conformance/ud_util.h"

#include <unistd.h>

#include "test/zoo/asks.h"

#define PEERS	 40
#define MANAGERS 1 /* the manager's own handle, of the adapter itself */

static int end_rig(void **state)
{
	return *state ? cu_teardown(state) : 0;
}

static void nothing_is_left(void **state)
{
	cu_rig_close(*state);
	*state = NULL;
	assert_int_equal(count("qps") + count("cqs") + count("mrs") + count("pds") + count("ahs"),
			 0);
}

static void flushed_receive(struct ct_end *end, uint64_t cookie)
{
	XDONE(end->recv, end->ep, cookie, DAT_DTO_ERR_FLUSHED, DAT_IB_DTO_RECV_UD, DAT_IB_UD_RECV,
	      0, 0);
}

static void flushed_send(struct ct_end *end, uint64_t cookie)
{
	XDONE(end->request, end->ep, cookie, DAT_DTO_ERR_FLUSHED, DAT_IB_DTO_SEND_UD,
	      DAT_IB_UD_SEND, 0, 0);
}

static void deliver(struct ct_end *from, const DAT_IB_ADDR_HANDLE *to, struct ct_end *at)
{
	expect_ok(cu_recv(at, 0, 1024, 1));
	expect_ok(uu_send(from, 8, 2, to));
	uu_sent(from, 2, 8);
	uu_received(at, 1, 8);
}

/* ---- Peers and handles ---- */

/* IBX-58, IBX-88: one endpoint with all of them; a handle goes when it is given back, or with its endpoint. */
static void one_endpoint_has_many_peers(void **state)
{
	DAT_IB_EXTENSION_EVENT_DATA active[PEERS], passive[PEERS];
	struct ct_end peer[PEERS] = { { 0 } };
	struct cu_rig *rig = *state;
	int i;

	for (i = 0; i < PEERS; i++) {
		uu_end_open(rig, &peer[i]);
		uu_resolve(rig, &rig->a, &peer[i], &active[i], &passive[i]);
	}
	assert_int_equal(count("ahs"), 2 * PEERS + MANAGERS);
	for (i = 0; i < PEERS; i++) {
		deliver(&rig->a, &active[i].remote_ah, &peer[i]);
		deliver(&peer[i], &passive[i].remote_ah, &rig->a);
	}
	for (i = 0; i < PEERS; i += 2) {
		expect_ok(dat_ib_ud_ah_free(rig->a.ep, &active[i].remote_ah));
		expect_ok(dat_ib_ud_cm_free(rig->a.ep, active[i].context.as_ptr));
	}
	assert_int_equal(count("ahs"), 2 * PEERS - PEERS / 2 + MANAGERS);
	deliver(&rig->a, &active[1].remote_ah, &peer[1]);
	expect_ok(dat_ep_free(rig->a.ep));
	rig->a.ep = DAT_HANDLE_NULL;
	assert_int_equal(count("ahs"), PEERS + MANAGERS);
	for (i = 0; i < PEERS; i++)
		ct_end_close(&peer[i]);
	assert_int_equal(count("ahs"), MANAGERS);
	nothing_is_left(state);
}

/* Endpoints are freed while answers to them arrive. */
static void an_endpoint_is_freed_at_any_moment(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CR_HANDLE cr;
	DAT_EVENT event;
	struct ct_end end;

	for (int i = 0; i < 100; i++) {
		end = rig->a;
		end.ep = DAT_HANDLE_NULL;
		uu_end_open(rig, &end);
		expect_ok(cu_recv(&end, 0, 64, 1));
		expect_ok(uu_connect(&end, rig->qual, CT_US, NULL));
		cr = uu_take_cr(rig);
		expect_ok(uu_accept(cr, rig->p.ep, NULL));
		usleep((useconds_t)(i * 5));
		expect_ok(dat_ep_free(end.ep));
		/* Whether the answer was in time or not: one of the two (IBX-77). */
		assert_true(cu_next(rig->p.connect, CT_MS, &event));
		if (event.event_number != (DAT_EVENT_NUMBER)DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED)
			assert_int_equal(event.event_number, DAT_IB_UD_CONNECTION_ERROR_EVENT);
		ct_drain(rig->a.connect);
	}
	cu_quiet(rig->p.connect, 20);
	nothing_is_left(state);
}

/* ---- What fails ---- */

static void a_removed_adapter_ends_everything(void **state)
{
	struct cu_rig *rig = *state;
	DAT_IB_EXTENSION_EVENT_DATA active, passive;
	DAT_EVENT event;

	uu_resolve(rig, &rig->a, &rig->p, &active, &passive);
	expect_ok(cu_recv(&rig->a, 0, 64, 1));
	expect_ok(cu_recv(&rig->p, 0, 64, 2));
	expect_ok(uu_connect(&rig->a, rig->qual, CT_US, NULL));
	uu_take_cr(rig);
	set("removed", 0);
	assert_true(cu_next(rig->async, CT_MS, &event));
	assert_int_equal(event.event_number, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	uu_event(&rig->a, DAT_IB_UD_CONNECTION_ERROR_EVENT, DAT_IB_UD_CONNECT_ERROR, NULL, &event);
	flushed_receive(&rig->a, 1);
	flushed_receive(&rig->p, 2);
	expect_ok(uu_send(&rig->a, 8, 3, &active.remote_ah));
	flushed_send(&rig->a, 3);
	expect_ok(dat_ib_ud_ah_free(rig->a.ep, &active.remote_ah));
	nothing_is_left(state);
}

/* The others go on. */
static void a_failed_qp_is_out_of_service(void **state)
{
	struct cu_rig *rig = *state;
	DAT_IB_EXTENSION_EVENT_DATA active, passive, other, back;
	struct ct_end end = { .ia = DAT_HANDLE_NULL };
	DAT_EVENT event;

	uu_resolve(rig, &rig->a, &rig->p, &active, &passive);
	uu_end_open(rig, &end);
	uu_resolve(rig, &rig->a, &end, &other, &back);
	expect_ok(cu_recv(&rig->p, 0, 64, 1));
	set("fail_qp", active.remote_ah.qpn);
	flushed_receive(&rig->p, 1);
	assert_true(cu_next(rig->async, CT_MS, &event));
	assert_int_equal(event.event_number, DAT_ASYNC_ERROR_EP_BROKEN);
	expect_ok(uu_send(&rig->p, 8, 2, &passive.remote_ah));
	flushed_send(&rig->p, 2);
	expect_ok(cu_recv(&rig->p, 0, 64, 3));
	flushed_receive(&rig->p, 3);
	expect_ok(uu_connect(&rig->p, rig->qual, CT_US, NULL));
	uu_event(&rig->p, DAT_IB_UD_CONNECTION_ERROR_EVENT, DAT_IB_UD_CONNECT_ERROR, NULL, &event);
	expect_ok(uu_send(&rig->a, 8, 4, &active.remote_ah));
	uu_sent(&rig->a, 4, 8);
	deliver(&rig->a, &other.remote_ah, &end);
	deliver(&end, &back.remote_ah, &rig->a);
	ct_end_close(&end);
	nothing_is_left(state);
}

/* ZOO_FAIL counts the manager's own first. */
static int no_handle(bool active)
{
	void *state = NULL;
	struct cu_rig *rig;
	DAT_EVENT event;

	uu_setup(&state);
	rig = state;
	expect_ok(uu_connect(&rig->a, rig->qual, CT_US, "question"));
	expect_ok(uu_accept(uu_take_cr(rig), rig->p.ep, "answer"));
	if (active)
		uu_event(&rig->a, DAT_IB_UD_CONNECTION_ERROR_EVENT, DAT_IB_UD_CONNECT_ERROR, NULL,
			 &event);
	else
		uu_event(&rig->a, DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED, DAT_IB_UD_REMOTE_AH,
			 "answer", &event);
	uu_event(&rig->p, DAT_IB_UD_CONNECTION_ERROR_EVENT, DAT_IB_UD_CONNECT_ERROR, NULL, &event);
	cu_quiet(rig->a.connect, 50);
	cu_quiet(rig->p.connect, 0);
	nothing_is_left(&state);
	return 0;
}

static int no_active_handle(void)
{
	return no_handle(true);
}

static int no_passive_handle(void)
{
	return no_handle(false);
}

static void a_handle_that_cannot_be_made_is_an_error(void **state)
{
	static const char *const second[] = { "ZOO_FAIL=create_ah:2", NULL };
	static const char *const third[] = { "ZOO_FAIL=create_ah:3", NULL };

	(void)state;
	harness_spawn_ok("no_active_handle", second);
	harness_spawn_ok("no_passive_handle", third);
}

#define T(f) cmocka_unit_test_setup_teardown(f, uu_setup, end_rig)

int main(int argc, char **argv)
{
	static const struct harness_child children[] = { { "no_active_handle", no_active_handle },
							 { "no_passive_handle", no_passive_handle },
							 { NULL, NULL } };
	static const struct CMUnitTest tests[] = {
		T(one_endpoint_has_many_peers),
		T(an_endpoint_is_freed_at_any_moment),
		T(a_failed_qp_is_out_of_service),
		cmocka_unit_test(a_handle_that_cannot_be_made_is_an_error),
		T(a_removed_adapter_ends_everything), /* it stays so */
	};

	harness_child_main(argc, argv, children);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
