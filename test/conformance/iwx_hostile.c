/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Socket service points whose peer, or program, breaks the rules (IWX-10 to IWX-13). */
#include "sock_util.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a child process has from setup on, where a test needs settings of its own. */
static struct cu_rig *child_rig(void)
{
	void *state = NULL;

	cu_setup_ends(&state);
	return state;
}

/* Settings with a short handshake; the time that they leave an event. */
#define HASTE_MS 400
static const char *const haste[] = { "DAPL_SOFT_HANDSHAKE=400", NULL };

/* IWX-12: one event, and all is as before the service point. */
static void expect_over(struct cu_rig *rig, DAT_IW_SSP_HANDLE ssp)
{
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR,
		      NULL);
	assert_int_equal(so_state(ssp), DAT_IW_SSP_STATE_NON_OPERATIONAL);
	STATE(rig->p.ep, UNCONNECTED);
	cu_quiet(rig->p.connect, 50);
	cu_quiet(rig->cr, 0);
	expect_ok(dat_iw_ssp_free(ssp));
	STATE(rig->p.ep, UNCONNECTED);
}

/* ---- Peers ---- */

static void garbage(int fd)
{
	so_put(fd, "GET / HTTP/1.1\r\nHost: here\r\n\r\n", 30);
}

static void half_a_request(int fd)
{
	so_put(fd, "MPA ID Req Frame", 16);
	shutdown(fd, SHUT_WR);
}

static void nothing_and_end(int fd)
{
	shutdown(fd, SHUT_WR);
}

static void a_reply(int fd)
{
	so_put_frame(fd, true, 0, "", 0);
}

static void too_much_private_data(int fd)
{
	static const uint8_t head[20] = "MPA ID Req Frame\0\1\xff\xff";

	so_put(fd, head, sizeof(head));
}

static void iwx_12_no_request_comes(void **state)
{
	static void (*const peers[])(int fd) = { garbage, half_a_request, nothing_and_end, a_reply,
						 too_much_private_data };
	struct cu_rig *rig = *state;
	DAT_IW_SSP_HANDLE ssp;
	struct so_pair pair;

	SO_NEED(rig);
	expect_ok(cu_recv(&rig->p, 0, 4096, 7));
	for (size_t i = 0; i < sizeof(peers) / sizeof(peers[0]); i++) {
		pair = so_connect();
		ssp = so_ssp(rig, pair.p);
		peers[i](pair.a);
		expect_over(rig, ssp);
		so_ended(pair.a);
		so_close(&pair);
	}
	/* The Receive is still posted, and the next one is connected. */
	so_establish(rig, &ssp);
	expect_ok(ct_post_send(&rig->a, 0, 8, 8, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->p.recv, rig->p.ep, 7, DAT_DTO_RECEIVE, 8);
}

static int silent_peers(void)
{
	struct cu_rig *rig = child_rig();
	struct so_pair pair = so_connect();
	uint64_t begun = ct_now_us();
	DAT_IW_SSP_HANDLE ssp = so_ssp(rig, pair.p);

	expect_over(rig, ssp);
	assert_true(ct_now_us() - begun >= HASTE_MS * 1000 / 2);
	so_ended(pair.a);
	so_close(&pair);
	/* One that stops in the middle. */
	pair = so_connect();
	so_put(pair.a, "MPA ID", 6);
	expect_over(rig, so_ssp(rig, pair.p));
	so_close(&pair);
	cu_rig_close(rig);
	return 0;
}

static void iwx_11_12_a_silent_peer(void **state)
{
	struct harness_result result;
	struct cu_rig *rig = *state;

	SO_NEED(rig);
	harness_spawn("silent-peers", haste, &result);
	assert_int_equal(result.status, 0);
	assert_non_null(strstr(result.err, "option handshake"));
}

/* ---- Room for the event ---- */

/* An EVD for requests that has so many free places. */
static DAT_EVD_HANDLE evd_with_room(struct cu_rig *rig, unsigned int places)
{
	DAT_EVENT event = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_EVD_HANDLE evd = ct_evd(rig->ia, 8, NULL, DAT_EVD_CR_FLAG | DAT_EVD_SOFTWARE_FLAG);
	DAT_COUNT qlen = ct_evd_param(evd).evd_qlen;

	for (DAT_COUNT i = (DAT_COUNT)places; i < qlen; i++)
		expect_ok(dat_evd_post_se(evd, &event));
	return evd;
}

static int no_room(void)
{
	struct cu_rig *rig = child_rig();
	DAT_EVD_HANDLE evd = evd_with_room(rig, 0);
	struct so_pair pair = so_connect();
	DAT_IW_SSP_HANDLE ssp;

	expect_ok(dat_iw_ssp_create(rig->ia, pair.p, rig->p.ep, evd, NULL, 0, &ssp));
	so_put_frame(pair.a, false, 0, "", 0);
	expect_over(rig, ssp);
	so_ended(pair.a);
	so_close(&pair);
	cu_rig_close(rig);
	return 0;
}

/* Both requests arrive while the process is stopped, so that both find room. */
static void request_together(const struct so_pair *one, const struct so_pair *two)
{
	pid_t stopped = getpid(), pid = fork();
	int status;

	if (!pid) {
		if (kill(stopped, SIGSTOP))
			_exit(1);
		so_put_frame(one->a, false, 0, "", 0);
		so_put_frame(two->a, false, 0, "", 0);
		_exit(kill(stopped, SIGCONT));
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* Which of two ends is told that its request is refused. */
static unsigned int refused_of(struct ct_end *const ends[2])
{
	DAT_EVENT event;

	for (unsigned int i = 0; i < CT_MS / 50; i++) {
		if (!cu_next(ends[i % 2]->connect, 50, &event))
			continue;
		assert_int_equal(event.event_number, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
		assert_ptr_equal(event.event_data.connect_event_data.ep_handle, ends[i % 2]->ep);
		return i % 2;
	}
	fail_msg("no event for either of the two");
	return 0;
}

static int one_place(void)
{
	struct cu_rig *rig = child_rig();
	DAT_EVD_HANDLE evd = evd_with_room(rig, 1);
	struct so_pair pairs[2] = { so_connect(), so_connect() };
	struct ct_end *const ends[2] = { &rig->p, &rig->a };
	DAT_IW_SSP_HANDLE ssps[2];
	unsigned int refused, i;

	for (i = 0; i < 2; i++)
		expect_ok(dat_iw_ssp_create(rig->ia, pairs[i].p, ends[i]->ep, evd, NULL, 0,
					    &ssps[i]));
	request_together(&pairs[0], &pairs[1]);
	/* Either may be read first, and have the place. */
	refused = refused_of(ends);
	cu_await_state(ends[!refused]->ep, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	STATE(ends[refused]->ep, UNCONNECTED);
	assert_int_equal(so_state(ssps[refused]), DAT_IW_SSP_STATE_NON_OPERATIONAL);
	so_ended(pairs[refused].a);
	cu_quiet(ends[!refused]->connect, 50);
	so_close(&pairs[0]);
	so_close(&pairs[1]);
	cu_rig_close(rig);
	return 0;
}

static void iwx_12_no_room(void **state)
{
	struct harness_result result;
	struct cu_rig *rig = *state;

	SO_NEED(rig);
	harness_spawn("no-room", NULL, &result);
	assert_int_equal(result.status, 0);
	assert_non_null(strstr(result.err, "knob: evd_min_qlen"));
	harness_spawn_ok("one-place", NULL);
}

/* ---- Final messages ---- */

enum {
	LONG = 32 << 20,
	PERIOD = 251,
};

static void fill(uint8_t *to, size_t len)
{
	size_t done = PERIOD;

	for (size_t i = 0; i < PERIOD; i++)
		to[i] = (uint8_t)i;
	for (; done < len; done += PERIOD)
		memcpy(to + done, to, len - done < PERIOD ? len - done : PERIOD);
}

static void *sleepy_reader(void *arg)
{
	const int *fd = arg;
	static uint8_t buf[1 << 16], expected[sizeof(buf) + PERIOD];
	size_t got = 0;
	ssize_t n;

	fill(expected, sizeof(expected));
	while (got < LONG) {
		n = recv(*fd, buf, sizeof(buf), 0);
		if (n <= 0)
			return "the message ended early";
		if (memcmp(buf, expected + got % PERIOD, (size_t)n))
			return "wrong bytes";
		got += (size_t)n;
	}
	return NULL;
}

static uint8_t *long_message(void)
{
	uint8_t *message = malloc(LONG);

	assert_non_null(message);
	fill(message, LONG);
	return message;
}

/* IWX-7: it is copied, and goes out whole before the request is looked at. */
static void iwx_7_a_message_longer_than_the_socket(void **state)
{
	struct cu_rig *rig = *state;
	uint8_t *message;
	struct so_pair pair;
	DAT_IW_SSP_HANDLE ssp;
	pthread_t reader;
	void *wrong;

	SO_NEED(rig);
	pair = so_connect();
	message = long_message();
	/* It returns though nobody reads yet. */
	expect_ok(dat_iw_ssp_create(rig->ia, pair.p, rig->p.ep, rig->cr, message, LONG, &ssp));
	memset(message, 0, LONG);
	free(message);
	assert_int_equal(pthread_create(&reader, NULL, sleepy_reader, &pair.a), 0);
	assert_int_equal(pthread_join(reader, &wrong), 0);
	assert_null(wrong);
	expect_ok(dat_iw_socket_connect(rig->a.ep, pair.a, CT_US, 0, NULL));
	so_close(&pair);
	expect_ok(dat_cr_accept(so_request(rig, ssp), NULL, 0, NULL));
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
}

static int reads_nothing(void)
{
	struct cu_rig *rig = child_rig();
	struct so_pair pair = so_connect();
	uint8_t *message = long_message();
	DAT_IW_SSP_HANDLE ssp;
	uint64_t cpu;

	/* Its request is there, but that is not looked for meanwhile, also not by the way. */
	so_put_frame(pair.a, false, 0, "", 0);
	expect_ok(dat_iw_ssp_create(rig->ia, pair.p, rig->p.ep, rig->cr, message, LONG, &ssp));
	free(message);
	cpu = ct_process_cpu_us();
	expect_over(rig, ssp);
	if (!harness_sanitized())
		assert_true(ct_process_cpu_us() - cpu < HASTE_MS * 1000 / 2);
	so_close(&pair);
	cu_rig_close(rig);
	return 0;
}

static void iwx_7_11_a_peer_that_does_not_read(void **state)
{
	struct cu_rig *rig = *state;

	SO_NEED(rig);
	harness_spawn_ok("reads-nothing", haste);
}

/* ---- The program ---- */

static void iwx_10_free_while_it_waits(void **state)
{
	struct cu_rig *rig = *state;
	DAT_IW_SSP_HANDLE ssp;
	struct so_pair pair;

	SO_NEED(rig);
	pair = so_connect();
	ssp = so_ssp(rig, pair.p);
	expect_state(dat_ep_free(rig->p.ep), EP_RESERVED);
	expect_state(dat_evd_free(rig->cr), EVD_IN_USE);
	expect_type(dat_ia_close(rig->ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
	expect_ok(dat_iw_ssp_free(ssp));
	STATE(rig->p.ep, UNCONNECTED);
	/* Although the program has a descriptor of it. */
	so_ended(pair.a);
	so_close(&pair);
	cu_quiet(rig->p.connect, 50);
	so_establish(rig, &ssp);
}

static void iwx_10_close_while_it_waits(void **state)
{
	struct cu_rig *rig = *state, *other;
	DAT_IW_SSP_HANDLE ssp;
	struct so_pair pair, asked;

	SO_NEED(rig);
	other = cu_rig_open();
	ct_end_open(&other->p, other->ia, NULL);
	pair = so_connect();
	asked = so_connect();
	so_ssp(other, pair.p);
	/* And one whose request nobody has answered. */
	expect_ok(dat_iw_ssp_create(other->ia, asked.p, NULL, other->cr, NULL, 0, &ssp));
	so_put_frame(asked.a, false, 0, "", 0);
	so_request(other, ssp);
	cu_rig_close(other);
	so_ended(pair.a);
	so_ended(asked.a);
	so_close(&pair);
	so_close(&asked);
}

/* IWX-10: either refused or announced, and the endpoint's state says which. */
static void iwx_10_free_while_the_request_arrives(void **state)
{
	struct cu_rig *rig = *state;
	unsigned int rounds = harness_rounds(200);
	DAT_IW_SSP_HANDLE ssp;
	struct so_pair pair;
	DAT_EVENT event;

	SO_NEED(rig);
	for (unsigned int i = 0; i < rounds; i++) {
		pair = so_connect();
		ssp = so_ssp(rig, pair.p);
		so_put_frame(pair.a, false, 0, "", 0);
		for (unsigned int spin = 0; spin < i * 50; spin++)
			(void)so_state(ssp);
		expect_ok(dat_iw_ssp_free(ssp));
		if (cu_next(rig->cr, 0, &event))
			expect_ok(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0,
						NULL));
		STATE(rig->p.ep, UNCONNECTED);
		so_ended(pair.a);
		so_close(&pair);
	}
	cu_quiet(rig->p.connect, 0);
}

/* IWX-5: a child has neither the provider's descriptor nor a say in the connection. */
static void iwx_5_a_forked_child(void **state)
{
	struct cu_rig *rig = *state;
	DAT_IW_SSP_HANDLE ssp;
	struct so_pair pair;
	int status;
	pid_t pid;

	SO_NEED(rig);
	pair = so_connect();
	ssp = so_ssp(rig, pair.p);
	pid = fork();
	if (!pid) {
		/* The program's descriptors are the child's, too, and stay open. */
		pause();
		_exit(1);
	}
	assert_true(pid > 0);
	expect_ok(dat_iw_ssp_free(ssp));
	so_ended(pair.a);
	so_close(&pair);
	so_establish(rig, &ssp);
	cu_end_connection(&rig->a, &rig->p);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

/* IWX-5: nor is it known to who goes on with the connection that the program has it open. */
static void iwx_5_handed_on_and_refused(void **state)
{
	struct cu_rig *rig = *state, *other;
	DAT_IW_SSP_HANDLE ssp;
	struct so_pair pair;

	SO_NEED(rig);
	other = cu_rig_open();
	pair = so_connect();
	ssp = so_ssp(rig, pair.p);
	so_put_frame(pair.a, false, 0, "", 0);
	expect_ok(dat_cr_handoff(so_request(rig, ssp), other->qual));
	cu_take_cr(other->cr);
	cu_rig_close(other);
	so_ended(pair.a);
	so_close(&pair);
}

/* ---- The active side ---- */

static void iwx_13_no_reply_comes(void **state)
{
	static void (*const peers[])(int fd) = { garbage, half_a_request, nothing_and_end };
	struct cu_rig *rig = *state;
	struct so_pair pair;

	SO_NEED(rig);
	for (size_t i = 0; i < sizeof(peers) / sizeof(peers[0]); i++) {
		pair = so_connect();
		expect_ok(dat_iw_socket_connect(rig->a.ep, pair.a, CT_US, 0, NULL));
		peers[i](pair.p);
		cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
			      NULL);
		so_ended(pair.p);
		so_close(&pair);
		expect_ok(dat_ep_reset(rig->a.ep));
	}
}

/* MPA lets a peer of revision 1 send more than any consumer of ours can. */
static void pd_7_an_answer_longer_than_the_limit(void **state)
{
	static const uint8_t flags[] = { 0, SO_MPA_REJECT };
	uint8_t asked[512], answer[512];
	struct cu_rig *rig = *state;
	struct so_pair pair;
	DAT_EVENT event;
	uint16_t len;

	SO_NEED(rig);
	memset(answer, 0x5a, sizeof(answer));
	for (size_t i = 0; i < sizeof(flags); i++) {
		pair = so_connect();
		expect_ok(dat_iw_socket_connect(rig->a.ep, pair.a, CT_US, 0, NULL));
		len = sizeof(asked);
		so_get_frame(pair.p, false, asked, &len);
		so_put_frame(pair.p, true, flags[i], answer, sizeof(answer));
		cu_conn_event(rig->a.connect, rig->a.ep,
			      flags[i] ? DAT_CONNECTION_EVENT_PEER_REJECTED
				       : DAT_CONNECTION_EVENT_ESTABLISHED,
			      &event);
		assert_int_equal(event.event_data.connect_event_data.private_data_size,
				 rig->prov.max_private_data_size);
		assert_memory_equal(event.event_data.connect_event_data.private_data, answer,
				    (size_t)rig->prov.max_private_data_size);
		so_close(&pair);
		dat_ep_disconnect(rig->a.ep, DAT_CLOSE_ABRUPT_FLAG);
		if (!flags[i])
			cu_next(rig->a.connect, CT_MS, &event);
		expect_ok(dat_ep_reset(rig->a.ep));
	}
}

static void iwx_13_time_is_over(void **state)
{
	struct cu_rig *rig = *state;
	struct so_pair pair;

	SO_NEED(rig);
	pair = so_connect();
	expect_ok(dat_iw_socket_connect(rig->a.ep, pair.a, 100000, 0, NULL));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_TIMED_OUT, NULL);
	so_ended(pair.p);
	so_close(&pair);
	cu_quiet(rig->a.connect, 50);
}

static void iwx_13_disconnect_and_free_while_it_waits(void **state)
{
	struct cu_rig *rig = *state;
	struct so_pair pair;

	SO_NEED(rig);
	pair = so_connect();
	expect_ok(dat_iw_socket_connect(rig->a.ep, pair.a, CT_US, 0, NULL));
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	so_ended(pair.p);
	so_close(&pair);
	expect_ok(dat_ep_reset(rig->a.ep));
	pair = so_connect();
	expect_ok(dat_iw_socket_connect(rig->a.ep, pair.a, CT_US, 0, NULL));
	expect_ok(dat_ep_free(rig->a.ep));
	rig->a.ep = NULL;
	so_ended(pair.p);
	so_close(&pair);
}

/* The peer had reset the connection before the call. */
static void iwx_12_13_a_connection_that_is_over(void **state)
{
	struct cu_rig *rig = *state;
	DAT_IW_SSP_HANDLE ssp;
	struct so_pair pair;

	SO_NEED(rig);
	pair = so_connect();
	close(pair.a);
	pair.a = -1;
	ssp = so_ssp(rig, pair.p);
	expect_over(rig, ssp);
	so_close(&pair);
	pair = so_connect();
	close(pair.p);
	pair.p = -1;
	expect_ok(dat_iw_socket_connect(rig->a.ep, pair.a, CT_US, 0, NULL));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL);
	so_close(&pair);
}

#define T(f) cmocka_unit_test_setup_teardown(f, cu_setup_ends, cu_teardown)

int main(int argc, char **argv)
{
	static const struct harness_child children[] = { { "silent-peers", silent_peers },
							 { "reads-nothing", reads_nothing },
							 { "no-room", no_room },
							 { "one-place", one_place },
							 { NULL, NULL } };
	static const struct CMUnitTest tests[] = {
		T(iwx_12_no_request_comes),
		T(iwx_11_12_a_silent_peer),
		T(iwx_12_no_room),
		T(iwx_7_a_message_longer_than_the_socket),
		T(iwx_7_11_a_peer_that_does_not_read),
		T(iwx_10_free_while_it_waits),
		T(iwx_10_close_while_it_waits),
		T(iwx_10_free_while_the_request_arrives),
		T(iwx_5_a_forked_child),
		T(iwx_5_handed_on_and_refused),
		T(iwx_13_no_reply_comes),
		T(pd_7_an_answer_longer_than_the_limit),
		T(iwx_13_time_is_over),
		T(iwx_13_disconnect_and_free_while_it_waits),
		T(iwx_12_13_a_connection_that_is_over),
	};

	harness_child_main(argc, argv, children);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
