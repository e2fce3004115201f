/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Disconnecting and connection events (EP-90 to EP-101, EP-142 to EP-153, EV-18 to EV-21). */
#include "conn_util.h"
#include "peer.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void check_both_disconnected(struct cu_rig *rig)
{
	const struct ct_end *e[] = { &rig->a, &rig->p };
	DAT_EVENT event;

	for (int i = 0; i < 2; i++) {
		cu_conn_event(e[i]->connect, e[i]->ep, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
		assert_int_equal(event.event_data.connect_event_data.private_data_size, 0);
		assert_null(event.event_data.connect_event_data.private_data);
		STATE(e[i]->ep, DISCONNECTED);
	}
	cu_quiet(rig->a.connect, CU_QUIET);
	cu_quiet(rig->p.connect, 0);
}

static void ep_94_abrupt_by_the_active_side(void **state)
{
	struct cu_rig *rig = *state;

	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	check_both_disconnected(rig);
}

/* EP-98, EP-100: the peer sees the same */
static void ep_94_abrupt_by_the_passive_side(void **state)
{
	struct cu_rig *rig = *state;

	expect_ok(dat_ep_disconnect(rig->p.ep, DAT_CLOSE_ABRUPT_FLAG));
	check_both_disconnected(rig);
}

/* EP-98, EP-100: the peer sees the same */
static void ep_95_graceful_with_nothing_to_do(void **state)
{
	struct cu_rig *rig = *state;

	expect_ok(dat_ep_disconnect(rig->p.ep, DAT_CLOSE_GRACEFUL_FLAG));
	check_both_disconnected(rig);
}

static void ep_97_one_event_however_often_called(void **state)
{
	struct cu_rig *rig = *state;

	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	check_both_disconnected(rig);
}

static void ep_92_disconnect_after_the_peer_did(void **state)
{
	struct cu_rig *rig = *state;

	cu_end_connection(&rig->a, &rig->p);
	expect_ok(dat_ep_disconnect(rig->p.ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_ok(dat_ep_disconnect(rig->p.ep, DAT_CLOSE_GRACEFUL_FLAG));
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	cu_quiet(rig->a.connect, CU_QUIET);
	cu_quiet(rig->p.connect, 0);
}

/* A Send that cannot end: nobody receives it and it is larger than what is buffered on the way. */
static void send_endlessly(struct cu_rig *rig, struct ct_end *end)
{
	struct ct_mem *big = cu_extra_mem(rig, end->pz, CU_BIG, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	DAT_LMR_TRIPLET seg = ct_segment(big, 0, CU_BIG);

	expect_ok(
		dat_ep_post_send(end->ep, 1, &seg, cu_cookie(0xb16), DAT_COMPLETION_DEFAULT_FLAG));
}

static void ep_96_abrupt_ends_a_graceful_disconnect(void **state)
{
	struct cu_rig *rig = *state;

	send_endlessly(rig, &rig->a);
	expect_ok(cu_recv(&rig->a, 0, 64, 1));
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	STATE(rig->a.ep, DISCONNECT_PENDING);
	cu_quiet(rig->a.connect, 200);
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	STATE(rig->a.ep, DISCONNECT_PENDING);
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	STATE(rig->a.ep, DISCONNECTED);
	FLUSHED(rig->a.request, rig->a.ep, 0xb16, DAT_DTO_SEND);
	FLUSHED(rig->a.recv, rig->a.ep, 1, DAT_DTO_RECEIVE);
	cu_conn_ended(rig->p.connect, rig->p.ep);
	cu_quiet(rig->a.connect, CU_QUIET);
}

static void ep_147_graceful_ends_when_the_last_request_does(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_mem *sink = cu_extra_mem(rig, rig->p.pz, CU_BIG, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	DAT_LMR_TRIPLET seg = ct_segment(sink, 0, CU_BIG);

	send_endlessly(rig, &rig->a);
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	STATE(rig->a.ep, DISCONNECT_PENDING);
	cu_quiet(rig->a.connect, 100);
	/* Now the peer receives it. */
	expect_ok(dat_ep_post_recv(rig->p.ep, 1, &seg, cu_cookie(5), DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->a.request, rig->a.ep, 0xb16, DAT_DTO_SEND, CU_BIG);
	DONE(rig->p.recv, rig->p.ep, 5, DAT_DTO_RECEIVE, CU_BIG);
	check_both_disconnected(rig);
}

/* Nobody ever receives what this side sent. */
static int never_received(void)
{
	struct cu_rig *rig;
	void *state;

	cu_setup_connected(&state);
	rig = state;
	send_endlessly(rig, &rig->a);
	expect_ok(cu_recv(&rig->a, 0, 64, 1));
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	STATE(rig->a.ep, DISCONNECTED);
	FLUSHED(rig->a.request, rig->a.ep, 0xb16, DAT_DTO_SEND);
	FLUSHED(rig->a.recv, rig->a.ep, 1, DAT_DTO_RECEIVE);
	cu_conn_ended(rig->p.connect, rig->p.ep);
	cu_quiet(rig->a.connect, CU_QUIET);
	cu_quiet(rig->async, 0);
	/* The time is over for this connection only. */
	expect_ok(dat_ep_reset(rig->a.ep));
	expect_ok(dat_ep_reset(rig->p.ep));
	cu_establish(rig, &rig->a, &rig->p);
	cu_quiet(rig->a.connect, CU_QUIET);
	cu_teardown(&state);
	return 0;
}

static void tmo_8_graceful_does_not_wait_for_a_receive_for_ever(void **state)
{
	static const char *const env[] = { "DAPL_DRAIN=300", NULL };

	(void)state;
	harness_spawn_ok("never-received", env);
}

enum {
	SLOW_SENDS = 4,
	TOO_SLOW = 77,
};

/*
 * Sends are received one at a time, and slowly; whether each took clearly less than a drain waits
 * for: the sender has its completions a little before or after the receiver.
 */
static bool receive_slowly(struct cu_rig *rig, struct ct_mem *sink, size_t len, uint64_t drain)
{
	uint64_t last = ct_now_us(), begun = last, longest = 0;
	DAT_LMR_TRIPLET seg = ct_segment(sink, 0, len);

	for (unsigned int i = 0; i < SLOW_SENDS && longest < drain * 3 / 4; i++) {
		while (ct_now_us() < last + drain * 2 / 5)
			ct_pause();
		expect_ok(dat_ep_post_recv(rig->p.ep, 1, &seg, cu_cookie(i),
					   DAT_COMPLETION_DEFAULT_FLAG));
		cu_completion(rig->p.recv);
		longest = ct_now_us() - last > longest ? ct_now_us() - last : longest;
		last = ct_now_us();
	}
	return longest < drain * 3 / 4 && last - begun > drain;
}

/* A verbs device needs no full buffers to let a Send wait. */
static bool sends_wait_anyhow(const struct cu_rig *rig)
{
	const DAT_NAMED_ATTR *attr = rig->prov.provider_specific_attr;
	const char *name = "";

	for (DAT_COUNT i = 0; i < rig->prov.num_provider_specific_attr; i++)
		if (!strcmp(attr[i].name, "DAT_IB_PROVIDER_NAME"))
			name = attr[i].value;
	return !strcmp(name, "CMA") || !strcmp(name, "SCM");
}

/* As long as requests complete, however slowly, a graceful disconnect waits. */
static int slowly_received(void)
{
	struct ct_mem *from, *sink;
	struct cu_rig *rig;
	DAT_LMR_TRIPLET seg;
	void *state;
	size_t len;

	cu_setup_connected(&state);
	rig = state;
	len = sends_wait_anyhow(rig) ? 65536 : CU_BIG;
	from = cu_extra_mem(rig, rig->a.pz, len, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	sink = cu_extra_mem(rig, rig->p.pz, len, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	seg = ct_segment(from, 0, len);
	for (unsigned int i = 0; i < SLOW_SENDS; i++)
		expect_ok(dat_ep_post_send(rig->a.ep, 1, &seg, cu_cookie(i),
					   DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	if (!receive_slowly(rig, sink, len, strtoull(getenv("DAPL_DRAIN"), NULL, 0) * 1000))
		_exit(TOO_SLOW); /* what it leaves is no leak */
	for (unsigned int i = 0; i < SLOW_SENDS; i++)
		DONE(rig->a.request, rig->a.ep, i, DAT_DTO_SEND, len);
	check_both_disconnected(rig);
	cu_teardown(&state);
	return 0;
}

/* A slow machine gets more time. */
static void ep_95_graceful_waits_as_long_as_requests_complete(void **state)
{
	static const char *const envs[][2] = { { "DAPL_DRAIN=3000", NULL },
					       { "DAPL_DRAIN=20000", NULL },
					       { "DAPL_DRAIN=60000", NULL } };
	static struct harness_result result;
	unsigned int i = 0;

	(void)state;
	do
		harness_spawn("slowly-received", envs[i], &result);
	while (WIFEXITED(result.status) && WEXITSTATUS(result.status) == TOO_SLOW && ++i < 3);
	if (result.status)
		fail_msg("%s: status 0x%x; it wrote:\n%s%s", envs[i < 3 ? i : 2][0],
			 (unsigned int)result.status, result.out, result.err);
}

static void ep_148_peer_disconnects_meanwhile(void **state)
{
	struct cu_rig *rig = *state;

	send_endlessly(rig, &rig->a);
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	STATE(rig->a.ep, DISCONNECT_PENDING);
	expect_ok(dat_ep_disconnect(rig->p.ep, DAT_CLOSE_ABRUPT_FLAG));
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	STATE(rig->a.ep, DISCONNECTED);
	FLUSHED(rig->a.request, rig->a.ep, 0xb16, DAT_DTO_SEND);
	cu_quiet(rig->a.connect, CU_QUIET);
}

static void ep_101_arguments(void **state)
{
	struct cu_rig *rig = *state;

	expect_handle(dat_ep_disconnect(NULL, DAT_CLOSE_ABRUPT_FLAG), EP);
	expect_handle(dat_ep_disconnect(rig->psp, DAT_CLOSE_ABRUPT_FLAG), EP);
	expect_arg(dat_ep_disconnect(rig->a.ep, (DAT_CLOSE_FLAGS)2), 2);
	expect_arg(dat_ep_disconnect(rig->a.ep, (DAT_CLOSE_FLAGS)-1), 2);
	STATE(rig->a.ep, CONNECTED);
}

static void ep_152_nothing_follows_the_end(void **state)
{
	struct cu_rig *rig = *state;

	for (unsigned int i = 0; i < 8; i++)
		expect_ok(
			cu_write(&rig->a, 0, 8192, i, &rig->p.mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(dat_ep_disconnect(rig->p.ep, DAT_CLOSE_ABRUPT_FLAG));
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	cu_conn_ended(rig->a.connect, rig->a.ep);
	for (unsigned int i = 0; i < 8; i++)
		assert_int_equal(cu_completion(rig->a.request).user_cookie.as_64, i);
	cu_quiet(rig->a.connect, CU_QUIET);
	cu_quiet(rig->p.connect, 0);
	cu_quiet(rig->a.request, 0);
}

/* What is on its way, or comes, when the peer's program ends the connection. */
static const struct traffic {
	const char *name;
	DAT_DTOS op;
	unsigned int before, after; /* requests */
	size_t len;
} traffics[] = {
	{ "nothing", DAT_DTO_SEND, 0, 0, 0 },
	{ "Sends", DAT_DTO_SEND, 12, 0, 16384 },
	{ "RDMA Writes", DAT_DTO_RDMA_WRITE, 12, 0, 16384 },
	{ "long RDMA Writes", DAT_DTO_RDMA_WRITE, 6, 0, 1 << 20 },
	{ "Sends after it", DAT_DTO_SEND, 1, 4, 64 },
	{ "RDMA Writes after it", DAT_DTO_RDMA_WRITE, 1, 4, 64 },
	{ "RDMA Reads after it", DAT_DTO_RDMA_READ, 0, 4, 64 },
};

enum {
	NUM_TRAFFICS = sizeof(traffics) / sizeof(traffics[0])
};

static void post_traffic(struct cu_rig *rig, const struct traffic *traffic, unsigned int first,
			 unsigned int num)
{
	size_t len = traffic->len < CU_BIG ? traffic->len : CU_BIG;
	DAT_LMR_TRIPLET here = ct_segment(&rig->extra[0], 0, len);
	DAT_RMR_TRIPLET there = ct_target(&rig->extra[1], 0, len);
	DAT_EP_HANDLE ep = rig->a.ep;

	for (unsigned int i = first; i < first + num; i++) {
		if (traffic->op == DAT_DTO_SEND)
			expect_ok(dat_ep_post_send(ep, 1, &here, cu_cookie(i),
						   DAT_COMPLETION_DEFAULT_FLAG));
		else if (traffic->op == DAT_DTO_RDMA_WRITE)
			expect_ok(dat_ep_post_rdma_write(ep, 1, &here, cu_cookie(i), &there,
							 DAT_COMPLETION_DEFAULT_FLAG));
		else
			expect_ok(dat_ep_post_rdma_read(ep, 1, &here, cu_cookie(i), &there,
							DAT_COMPLETION_DEFAULT_FLAG));
	}
}

/* A prefix that succeeded and the rest flushed (FL-2, FL-3). */
static void check_prefix(DAT_EVD_HANDLE evd, unsigned int num)
{
	DAT_DTO_COMPLETION_STATUS last = DAT_DTO_SUCCESS;
	DAT_DTO_COMPLETION_EVENT_DATA done;

	for (unsigned int i = 0; i < num; i++) {
		done = cu_completion(evd);
		assert_int_equal(done.user_cookie.as_64, i);
		if (last != DAT_DTO_SUCCESS || done.status != DAT_DTO_SUCCESS)
			assert_int_equal(done.status, DAT_DTO_ERR_FLUSHED);
		last = done.status;
	}
}

/* How a heard of the end. */
static DAT_EVENT_NUMBER end_under(struct cu_rig *rig, const struct traffic *traffic)
{
	unsigned int num = traffic->before + traffic->after;
	bool sends = traffic->op == DAT_DTO_SEND;
	DAT_EVENT_NUMBER how;

	for (unsigned int i = 0; sends && i < num; i++)
		expect_ok(cu_recv(&rig->p, 0, traffic->len, i));
	post_traffic(rig, traffic, 0, traffic->before);
	expect_ok(dat_ep_disconnect(rig->p.ep, DAT_CLOSE_ABRUPT_FLAG));
	post_traffic(rig, traffic, traffic->before, traffic->after);
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	how = cu_conn_ended(rig->a.connect, rig->a.ep);
	check_prefix(rig->a.request, num);
	if (sends)
		check_prefix(rig->p.recv, num);
	return how;
}

/* The peer's program ended the connection in order, whatever that meets. */
static void ep_142_the_peer_ends_under_traffic(void **state)
{
	struct cu_rig *rig = *state;
	unsigned int rounds = harness_rounds(30), bad = 0;
	DAT_EVENT event;

	cu_extra_mem(rig, rig->a.pz, CU_BIG, DAT_MEM_PRIV_ALL_FLAG);
	cu_extra_mem(rig, rig->p.pz, CU_BIG, DAT_MEM_PRIV_ALL_FLAG);
	for (unsigned int t = 0; t < NUM_TRAFFICS; t++) {
		unsigned int in_order = 0, asynchronous = 0;

		for (unsigned int i = 0; i < rounds; i++) {
			in_order +=
				end_under(rig, &traffics[t]) == DAT_CONNECTION_EVENT_DISCONNECTED;
			expect_ok(dat_ep_reset(rig->a.ep));
			expect_ok(dat_ep_reset(rig->p.ep));
			while (dat_evd_dequeue(rig->async, &event) == DAT_SUCCESS)
				asynchronous++;
			cu_establish(rig, &rig->a, &rig->p);
		}
		print_message("%s: %u of %u ended in order, with %u asynchronous events\n",
			      traffics[t].name, in_order, rounds, asynchronous);
		bad += rounds - in_order + asynchronous;
	}
	assert_int_equal(bad, 0);
}

/* A thread that ends the connection of ep once so many requests were posted. */
struct ender {
	DAT_EP_HANDLE ep;
	_Atomic unsigned int posted;
	unsigned int at;
};

static void *end_at(void *arg)
{
	struct ender *ender = arg;

	while (atomic_load(&ender->posted) < ender->at)
		sched_yield();
	expect_ok(dat_ep_disconnect(ender->ep, DAT_CLOSE_ABRUPT_FLAG));
	return NULL;
}

/* Writes until a has heard of the end; how. */
static DAT_EVENT_NUMBER end_a_stream(struct cu_rig *rig, unsigned int at)
{
	const struct traffic stream = { .op = DAT_DTO_RDMA_WRITE, .len = 4096 };
	struct ender ender = { .ep = rig->p.ep, .at = at };
	unsigned int posted = 0, done = 0;
	DAT_EVENT_NUMBER how;
	pthread_t thread;
	DAT_EVENT event;

	assert_int_equal(pthread_create(&thread, NULL, end_at, &ender), 0);
	while (ct_ep_state(rig->a.ep) == DAT_EP_STATE_CONNECTED) {
		if (posted - done < 12) {
			post_traffic(rig, &stream, posted, 1);
			atomic_store(&ender.posted, ++posted);
		}
		while (dat_evd_dequeue(rig->a.request, &event) == DAT_SUCCESS)
			done++;
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	how = cu_conn_ended(rig->a.connect, rig->a.ep);
	for (; done < posted; done++)
		cu_completion(rig->a.request);
	return how;
}

static void ep_142_the_peer_ends_a_stream(void **state)
{
	struct cu_rig *rig = *state;
	unsigned int rounds = harness_rounds(30), in_order = 0, asynchronous = 0;
	DAT_EVENT event;

	cu_extra_mem(rig, rig->a.pz, 4096, DAT_MEM_PRIV_ALL_FLAG);
	cu_extra_mem(rig, rig->p.pz, 4096, DAT_MEM_PRIV_ALL_FLAG);
	for (unsigned int i = 0; i < rounds; i++) {
		in_order += end_a_stream(rig, 50 + i) == DAT_CONNECTION_EVENT_DISCONNECTED;
		expect_ok(dat_ep_reset(rig->a.ep));
		expect_ok(dat_ep_reset(rig->p.ep));
		while (dat_evd_dequeue(rig->async, &event) == DAT_SUCCESS)
			asynchronous++;
		cu_establish(rig, &rig->a, &rig->p);
	}
	print_message("a stream: %u of %u ended in order, with %u asynchronous events\n", in_order,
		      rounds, asynchronous);
	assert_int_equal(in_order, rounds);
	assert_int_equal(asynchronous, 0);
}

static void ep_153_freeing_cancels_what_was_not_generated(void **state)
{
	struct cu_rig *rig = *state;

	expect_ok(dat_ep_free(rig->a.ep));
	cu_quiet(rig->a.connect, CU_QUIET);
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
}

/* ---- Events ------------------------------------------------------------ */

static void ev_19_full_connect_evd_loses_the_event_not_the_state(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end a = { 0 };
	DAT_EVENT event;

	a.connect = ct_evd(rig->ia, 1, NULL, DAT_EVD_CONNECTION_FLAG | DAT_EVD_SOFTWARE_FLAG);
	ct_end_open(&a, rig->ia, NULL);
	cu_establish(rig, &a, &rig->p);
	while (ct_post_se(a.connect, 1) == DAT_SUCCESS)
		;
	expect_ok(dat_ep_disconnect(rig->p.ep, DAT_CLOSE_ABRUPT_FLAG));
	ct_next(rig->async, DAT_ASYNC_ERROR_EVD_OVERFLOW, &event);
	assert_ptr_equal(event.event_data.asynch_error_event_data.dat_handle, a.connect);
	cu_await_state(a.ep, DAT_EP_STATE_DISCONNECTED);
	while (dat_evd_dequeue(a.connect, &event) == DAT_SUCCESS)
		assert_int_equal(event.event_number, DAT_SOFTWARE_EVENT);
	/* EVD-99: the EVD works again. */
	expect_ok(dat_ep_reset(a.ep));
	expect_ok(dat_ep_reset(rig->p.ep));
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	cu_establish(rig, &a, &rig->p);
	ct_end_close(&a);
}

static void ev_18_the_evd_at_the_time_of_the_event(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end a = { 0 };
	DAT_EP_PARAM param;

	ct_end_open(&a, rig->ia, NULL);
	expect_ok(dat_ep_disconnect(rig->p.ep, DAT_CLOSE_ABRUPT_FLAG));
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	expect_ok(dat_ep_reset(rig->p.ep));
	param.connect_evd_handle = rig->a.connect;
	expect_ok(dat_ep_modify(a.ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	expect_ok(cu_connect(&a, rig->qual, CT_US));
	expect_ok(dat_cr_accept(cu_take_cr(rig->cr), rig->p.ep, 0, NULL));
	cu_conn_event(rig->a.connect, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	cu_quiet(a.connect, 0);
	ct_end_close(&a);
}

static void ev_20_order_on_one_evd(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end a = { 0 };
	DAT_EVENT event;

	/* Both streams of both ends on one EVD, taken only when all is over. */
	ct_end_open(&a, rig->ia, NULL);
	cu_end_connection(&rig->a, &rig->p);
	expect_ok(dat_ep_reset(rig->p.ep));
	expect_ok(cu_connect(&a, rig->qual, CT_US));
	expect_ok(dat_cr_accept(cu_take_cr(rig->cr), rig->p.ep, 0, NULL));
	cu_await_state(a.ep, DAT_EP_STATE_CONNECTED);
	cu_await_state(rig->p.ep, DAT_EP_STATE_CONNECTED);
	expect_ok(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG));
	cu_await_state(rig->p.ep, DAT_EP_STATE_DISCONNECTED);
	cu_conn_event(a.connect, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	cu_conn_event(a.connect, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
	ct_end_close(&a);
}

static void ev_21_connection_events_wake_waiters(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_waiter *waiter = ct_evd_waiter(rig->p.connect, DAT_TIMEOUT_INFINITE, 1);

	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	ct_waiter_join(waiter);
	expect_ok(waiter->rc);
	assert_int_equal(waiter->event.event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static void ev_21_connection_and_cr_events_trigger_cnos(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CNO_HANDLE cno = ct_cno(rig->ia);
	DAT_EVD_HANDLE hint;
	struct ct_end a = { 0 };

	cu_end_connection(&rig->a, &rig->p);
	expect_ok(dat_evd_modify_cno(rig->cr, cno));
	ct_end_open(&a, rig->ia, NULL);
	expect_ok(dat_evd_modify_cno(a.connect, cno));
	expect_ok(dat_ep_reset(rig->p.ep));
	expect_ok(cu_connect(&a, rig->qual, DAT_TIMEOUT_INFINITE));
	expect_ok(dat_cno_wait(cno, CT_US, &hint));
	assert_ptr_equal(hint, rig->cr);
	expect_ok(dat_cr_accept(cu_take_cr(rig->cr), rig->p.ep, 0, NULL));
	expect_ok(dat_cno_wait(cno, CT_US, &hint));
	assert_ptr_equal(hint, a.connect);
	cu_conn_event(a.connect, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
}

#define C(f) cmocka_unit_test_setup_teardown(f, cu_setup_connected, cu_teardown)
#define E(f) cmocka_unit_test_setup_teardown(f, cu_setup_ends, cu_teardown)

int main(int argc, char **argv)
{
	static const struct harness_child children[] = { { "never-received", never_received },
							 { "slowly-received", slowly_received },
							 { NULL, NULL } };
	static const struct CMUnitTest tests[] = {
		C(ep_94_abrupt_by_the_active_side),
		C(ep_94_abrupt_by_the_passive_side),
		C(ep_95_graceful_with_nothing_to_do),
		C(ep_97_one_event_however_often_called),
		C(ep_92_disconnect_after_the_peer_did),
		C(ep_96_abrupt_ends_a_graceful_disconnect),
		C(ep_147_graceful_ends_when_the_last_request_does),
		E(tmo_8_graceful_does_not_wait_for_a_receive_for_ever),
		E(ep_95_graceful_waits_as_long_as_requests_complete),
		C(ep_148_peer_disconnects_meanwhile),
		C(ep_101_arguments),
		C(ep_152_nothing_follows_the_end),
		C(ep_142_the_peer_ends_under_traffic),
		C(ep_142_the_peer_ends_a_stream),
		C(ep_153_freeing_cancels_what_was_not_generated),
		E(ev_19_full_connect_evd_loses_the_event_not_the_state),
		C(ev_18_the_evd_at_the_time_of_the_event),
		C(ev_20_order_on_one_evd),
		C(ev_21_connection_events_wake_waiters),
		C(ev_21_connection_and_cr_events_trigger_cnos),
	};

	harness_child_main(argc, argv, children);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
