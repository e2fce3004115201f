/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Timeouts of connection establishment (TMO-1 to TMO-8). The peers are service points that do not
 * answer. */
#include "conn_util.h"
#include "peer.h"

/* TMO-4: never earlier, and later by one second and a tenth at most. */
static void check_took(uint64_t begun, uint64_t timeout_us)
{
	uint64_t took = ct_now_us() - begun;

	print_message("# %llu us took %llu us\n", (unsigned long long)timeout_us,
		      (unsigned long long)took);
	assert_true(took >= timeout_us);
	assert_true(took <= timeout_us + timeout_us / 10 + 1000000);
}

static void tmo_1_zero_is_refused(void **state)
{
	struct cu_rig *rig = *state;
	DAT_RETURN rc;

	expect_arg(cu_connect(&rig->a, rig->qual, 0), 4);
	STATE(rig->a.ep, UNCONNECTED);
	rc = dat_ep_common_connect(rig->a.ep, rig->attr.ia_address_ptr, 0, 0, NULL);
	if (!cu_unsupported(rc))
		expect_arg(rc, 3);
	cu_quiet(rig->a.connect, 0);
}

static void times_out(struct cu_rig *rig, DAT_TIMEOUT timeout)
{
	uint64_t begun;
	DAT_CR_HANDLE cr = cu_request_in(rig, &rig->a, &timeout, &begun);

	expect_ok(cu_recv(&rig->a, 0, 64, 1));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_TIMED_OUT, NULL);
	check_took(begun, timeout);
	/* TMO-3 */
	STATE(rig->a.ep, DISCONNECTED);
	FLUSHED(rig->a.recv, rig->a.ep, 1, DAT_DTO_RECEIVE);
	expect_ok(dat_cr_reject(cr, 0, NULL));
	expect_ok(dat_ep_reset(rig->a.ep));
}

static void tmo_2_to_4_silent_consumer(void **state)
{
	struct cu_rig *rig = *state;

	times_out(rig, 50000);
	times_out(rig, 200000);
	times_out(rig, 1500000);
}

static void tmo_2_one_microsecond(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EVENT event;

	expect_ok(cu_connect(&rig->a, rig->qual, 1));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_TIMED_OUT, NULL);
	STATE(rig->a.ep, DISCONNECTED);
	/* The request may have arrived meanwhile. */
	if (cu_next(rig->cr, 50, &event))
		expect_ok(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0, NULL));
	cu_quiet(rig->a.connect, 50);
}

static void tmo_3_a_late_answer_is_ignored(void **state)
{
	struct cu_rig *rig = *state;
	DAT_TIMEOUT timeout = 100000;
	uint64_t begun;
	DAT_CR_HANDLE cr = cu_request_in(rig, &rig->a, &timeout, &begun);

	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_TIMED_OUT, NULL);
	expect_ok(dat_cr_accept(cr, rig->p.ep, 0, NULL));
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR,
		      NULL);
	STATE(rig->a.ep, DISCONNECTED);
	STATE(rig->p.ep, DISCONNECTED);
	cu_quiet(rig->a.connect, CU_QUIET);
	cu_quiet(rig->p.connect, 0);
}

static void tmo_5_infinite_waits(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CR_HANDLE cr = cu_request(rig, &rig->a);

	cu_quiet(rig->a.connect, 1500);
	STATE(rig->a.ep, ACTIVE_CONNECTION_PENDING);
	expect_ok(dat_cr_accept(cr, rig->p.ep, 0, NULL));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
}

/* Whether the connection is there before the time is over; if not, both endpoints are as before. */
static bool established_in(struct cu_rig *rig, DAT_TIMEOUT *timeout)
{
	DAT_CR_HANDLE cr;
	DAT_EVENT event;
	uint64_t begun;

	cr = cu_request_in(rig, &rig->a, timeout, &begun);
	expect_ok(dat_cr_accept(cr, rig->p.ep, 0, NULL));
	assert_true(cu_next(rig->a.connect, CT_MS, &event));
	if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
		return true;
	assert_int_equal(event.event_number, DAT_CONNECTION_EVENT_TIMED_OUT);
	/* TMO-2: that must not be said too early. */
	assert_true(ct_now_us() - begun >= *timeout);
	cu_await_state(rig->p.ep, DAT_EP_STATE_DISCONNECTED);
	expect_ok(dat_ep_reset(rig->a.ep));
	expect_ok(dat_ep_reset(rig->p.ep));
	return false;
}

static void tmo_2_the_timer_ends_with_the_outcome(void **state)
{
	struct cu_rig *rig = *state;
	DAT_TIMEOUT timeout = 300000;

	/* A loaded machine may need longer. */
	while (!established_in(rig, &timeout)) {
		timeout *= 2;
		assert_true(timeout < CT_US);
	}
	cu_quiet(rig->a.connect, timeout / 1000 + 200);
	STATE(rig->a.ep, CONNECTED);
}

static void tmo_4_many_timers(void **state)
{
	enum {
		N = 16
	};
	struct cu_rig *rig = *state;
	DAT_EP_HANDLE ep[N];
	uint64_t begun[N];
	struct ct_end end = rig->a;
	DAT_EVENT event;

	for (unsigned int i = 0; i < N; i++) {
		expect_ok(dat_ep_create(rig->ia, end.pz, end.recv, end.request, end.connect, NULL,
					&ep[i]));
		end.ep = ep[i];
		begun[i] = ct_now_us();
		/* The last to start is the first to end, unless starting them takes long. */
		expect_ok(cu_connect(&end, rig->qual, (N - i) * 60000));
	}
	for (unsigned int ended = 0; ended < N; ended++) {
		unsigned int i = 0;

		ct_next(end.connect, DAT_CONNECTION_EVENT_TIMED_OUT, &event);
		while (i < N && ep[i] != event.event_data.connect_event_data.ep_handle)
			i++;
		assert_in_range(i, 0, N - 1);
		check_took(begun[i], (N - i) * 60000);
		expect_ok(dat_ep_free(ep[i]));
		ep[i] = DAT_HANDLE_NULL;
	}
}

static void tmo_7_a_request_waits_for_its_consumer(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CR_HANDLE cr = cu_request(rig, &rig->a);
	DAT_CR_PARAM param;

	cu_quiet(rig->a.connect, 1000);
	expect_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	expect_ok(dat_cr_accept(cr, rig->p.ep, 0, NULL));
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
}

/* ---- TMO-8: nothing needs the peer's help ------------------------------ */

static void partner(int fd)
{
	struct cu_rig *rig = cu_rig_open();
	struct peer_service there = peer_get_service(fd);

	ct_end_open(&rig->a, rig->ia, NULL);
	expect_ok(peer_connect(&rig->a, &there, DAT_TIMEOUT_INFINITE));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	peer_put_word(fd, 1);
	peer_get_word(fd);
	cu_conn_ended(rig->a.connect, rig->a.ep);
	cu_rig_close(rig);
}

static struct peer *connect_partner(struct cu_rig *rig)
{
	struct peer *peer = peer_start("partner");

	peer_put_service(peer->fd, rig);
	expect_ok(dat_cr_accept(cu_take_cr(rig->cr), rig->p.ep, 0, NULL));
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	assert_int_equal(peer_get_word(peer->fd), 1);
	peer_stop(peer);
	return peer;
}

static void check_short(uint64_t begun)
{
	assert_true(ct_now_us() - begun < 2000000);
}

static void tmo_8_ep_99_disconnect_and_reset_without_the_peer(void **state)
{
	struct cu_rig *rig = *state;
	struct peer *peer = connect_partner(rig);
	uint64_t begun = ct_now_us();

	expect_ok(dat_ep_disconnect(rig->p.ep, DAT_CLOSE_ABRUPT_FLAG));
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	STATE(rig->p.ep, DISCONNECTED);
	check_short(begun);
	expect_ok(dat_ep_reset(rig->p.ep));
	STATE(rig->p.ep, UNCONNECTED);
	check_short(begun);
	peer_continue(peer);
	peer_put_word(peer->fd, 0);
	peer_finish(peer);
}

static void tmo_8_free_without_the_peer(void **state)
{
	struct cu_rig *rig = *state;
	struct peer *peer = connect_partner(rig);
	uint64_t begun = ct_now_us();

	expect_ok(dat_ep_free(rig->p.ep));
	check_short(begun);
	peer_continue(peer);
	peer_put_word(peer->fd, 0);
	peer_finish(peer);
}

static void tmo_8_disconnect_with_work_the_peer_does_not_take(void **state)
{
	struct cu_rig *rig = *state;
	struct peer *peer = connect_partner(rig);
	struct ct_mem *big = cu_extra_mem(rig, rig->p.pz, CU_BIG, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	DAT_LMR_TRIPLET seg = ct_segment(big, 0, CU_BIG);
	uint64_t begun;

	expect_ok(dat_ep_post_send(rig->p.ep, 1, &seg, cu_cookie(9), DAT_COMPLETION_DEFAULT_FLAG));
	cu_quiet(rig->p.request, 100);
	begun = ct_now_us();
	expect_ok(dat_ep_disconnect(rig->p.ep, DAT_CLOSE_ABRUPT_FLAG));
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	FLUSHED(rig->p.request, rig->p.ep, 9, DAT_DTO_SEND);
	check_short(begun);
	peer_continue(peer);
	peer_put_word(peer->fd, 0);
	peer_finish(peer);
}

#define T(f) cmocka_unit_test_setup_teardown(f, cu_setup_ends, cu_teardown)

int main(int argc, char **argv)
{
	static const struct peer_role roles[] = { { "partner", partner }, { NULL, NULL } };
	static const struct CMUnitTest tests[] = {
		T(tmo_1_zero_is_refused),
		T(tmo_2_to_4_silent_consumer),
		T(tmo_2_one_microsecond),
		T(tmo_3_a_late_answer_is_ignored),
		T(tmo_5_infinite_waits),
		T(tmo_2_the_timer_ends_with_the_outcome),
		T(tmo_4_many_timers),
		T(tmo_7_a_request_waits_for_its_consumer),
		T(tmo_8_ep_99_disconnect_and_reset_without_the_peer),
		T(tmo_8_free_without_the_peer),
		T(tmo_8_disconnect_with_work_the_peer_does_not_take),
	};

	peer_main(argc, argv, roles);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
