/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A host that never answers: its attempts end in their time and hold nothing else up. The host is
 * the one that UDAPL_SILENT_HOST names; otherwise a TCP port here whose queue of connections is
 * full, so that the system drops what else arrives, which serves transports that connect by TCP.
 * UDAPL_PORT_OF_0 is the port that qualifier 0 would have there (0). UDAPL_SILENT_QP is a QP's number
 * that nobody has, for transports whose addresses have one (UCM-2).
 */
#include "conn_util.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define TIMEOUT 2000000U /* of the attempts */

enum {
	N = 6, /* attempts at once */
	IN_QUEUE = 2
};

struct silent {
	struct sockaddr_storage addr;
	DAT_CONN_QUAL qual;
	int listener, queued[IN_QUEUE];
};

static socklen_t size_of(const struct sockaddr_storage *addr)
{
	return addr->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					   : sizeof(struct sockaddr_in);
}

static void fill_queue(struct silent *silent)
{
	const char *first = getenv("UDAPL_PORT_OF_0");
	socklen_t size = size_of(&silent->addr);

	silent->listener = socket(silent->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(silent->listener, (struct sockaddr *)&silent->addr, size), 0);
	assert_int_equal(listen(silent->listener, 0), 0);
	assert_int_equal(getsockname(silent->listener, (struct sockaddr *)&silent->addr, &size), 0);
	for (int i = 0; i < IN_QUEUE; i++) {
		silent->queued[i] = socket(silent->addr.ss_family,
					   SOCK_STREAM | SOCK_CLOEXEC | (i ? SOCK_NONBLOCK : 0), 0);
		connect(silent->queued[i], (struct sockaddr *)&silent->addr, size);
	}
	silent->qual = (uint16_t)(ntohs(((struct sockaddr_in *)&silent->addr)->sin_port) -
				  (first ? atoi(first) : 0));
}

static void silent_open(struct silent *silent, const struct cu_rig *rig)
{
	const char *host = getenv("UDAPL_SILENT_HOST"), *qp = getenv("UDAPL_SILENT_QP");
	struct sockaddr_in *in = (struct sockaddr_in *)&silent->addr;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&silent->addr;

	*silent = (struct silent){ .qual = 45999, .listener = -1 };
	if (qp) {
		memcpy(in6, rig->attr.ia_address_ptr, sizeof(*in6));
		in6->sin6_flowinfo = htonl((uint32_t)strtoul(qp, NULL, 0));
		return;
	}
	if (host) {
		in->sin_family = strchr(host, ':') ? AF_INET6 : AF_INET;
		assert_int_equal(inet_pton(in->sin_family, host,
					   in->sin_family == AF_INET ? (void *)&in->sin_addr
								     : (void *)&in6->sin6_addr),
				 1);
		return;
	}
	silent->addr = cu_service(rig, 0);
	fill_queue(silent);
}

static void silent_close(struct silent *silent)
{
	if (silent->listener < 0)
		return;
	for (int i = 0; i < IN_QUEUE; i++)
		close(silent->queued[i]);
	close(silent->listener);
}

static void ask(struct silent *silent, DAT_EP_HANDLE ep, DAT_TIMEOUT timeout)
{
	expect_ok(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&silent->addr, silent->qual, timeout, 0,
				 NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

static DAT_EP_HANDLE one_more(struct cu_rig *rig, const struct ct_end *like)
{
	DAT_EP_HANDLE ep;

	expect_ok(dat_ep_create(rig->ia, like->pz, like->recv, like->request, like->connect, NULL,
				&ep));
	return ep;
}

/* Endpoints with the end's queues that ask the host, which the transport must not answer itself. */
static void ask_often(struct cu_rig *rig, struct ct_end *end, struct silent *silent,
		      DAT_TIMEOUT timeout, DAT_EP_HANDLE ep[N])
{
	DAT_EVENT event;

	silent_open(silent, rig);
	for (int i = 0; i < N; i++) {
		ep[i] = one_more(rig, end);
		ask(silent, ep[i], timeout);
	}
	if (silent->listener < 0 || !cu_next(end->connect, 300, &event))
		return;
	assert_int_equal(event.event_number, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	silent_close(silent);
	harness_skip("# the transport does not connect by TCP; UDAPL_SILENT_HOST names no host");
}

/* EP-138, EV-16, TMO-6: the end of one attempt. */
static DAT_EP_HANDLE ended(struct ct_end *end)
{
	DAT_EVENT event;

	assert_true(cu_next(end->connect, CT_MS, &event));
	if (event.event_number != DAT_CONNECTION_EVENT_UNREACHABLE)
		assert_int_equal(event.event_number, DAT_CONNECTION_EVENT_TIMED_OUT);
	return event.event_data.connect_event_data.ep_handle;
}

static void tmo_2_4_silent_host_holds_nobody_up(void **state)
{
	struct cu_rig *rig = *state;
	uint64_t begun = ct_now_us(), took;
	struct silent silent;
	DAT_EP_HANDLE ep[N];
	struct ct_end end = { 0 };

	ct_end_open(&end, rig->ia, NULL);
	ask_often(rig, &end, &silent, TIMEOUT, ep);
	/* Another connection comes and goes meanwhile. */
	cu_establish(rig, &rig->a, &rig->p);
	cu_end_connection(&rig->a, &rig->p);
	ct_empty(end.connect);
	for (int i = 0; i < N; i++) {
		DAT_EP_HANDLE which = ended(&end);

		STATE(which, DISCONNECTED);
		took = ct_now_us() - begun;
		assert_in_range(took, TIMEOUT, TIMEOUT + TIMEOUT / 10 + 1000000);
		expect_ok(dat_ep_reset(which));
	}
	/* TMO-3: and all of them are as new. */
	for (int i = 0; i < N; i++) {
		STATE(ep[i], UNCONNECTED);
		expect_ok(dat_ep_free(ep[i]));
	}
	cu_quiet(end.connect, CU_QUIET);
	silent_close(&silent);
	ct_end_close(&end);
}

static void tmo_8_ending_the_attempts_takes_no_time(void **state)
{
	struct cu_rig *rig = *state;
	struct silent silent;
	DAT_EP_HANDLE ep[N];
	uint64_t begun;

	ask_often(rig, &rig->a, &silent, DAT_TIMEOUT_INFINITE, ep);
	cu_quiet(rig->a.connect, 200);
	for (int i = 0; i < N; i++) {
		begun = ct_now_us();
		if (i % 2) {
			expect_ok(dat_ep_disconnect(ep[i], DAT_CLOSE_ABRUPT_FLAG));
			cu_conn_event(rig->a.connect, ep[i], DAT_CONNECTION_EVENT_DISCONNECTED,
				      NULL);
		}
		expect_ok(dat_ep_free(ep[i]));
		assert_true(ct_now_us() - begun < 1000000);
	}
	silent_close(&silent);
}

/* TMO-8 */
static void ia_84_closing_does_not_wait_for_a_silent_host(void **state)
{
	struct cu_rig *rig = cu_rig_open();
	struct silent silent;
	DAT_EP_HANDLE ep[N];
	uint64_t begun;

	(void)state;
	ct_end_open(&rig->a, rig->ia, NULL);
	ask_often(rig, &rig->a, &silent, DAT_TIMEOUT_INFINITE, ep);
	cu_quiet(rig->a.connect, 200);
	begun = ct_now_us();
	cu_rig_close(rig);
	print_message("# closing took %llu us\n", (unsigned long long)(ct_now_us() - begun));
	assert_true(ct_now_us() - begun < 3000000);
	silent_close(&silent);
}

#define T(f) cmocka_unit_test_setup_teardown(f, cu_setup_ends, cu_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(tmo_2_4_silent_host_holds_nobody_up),
		T(tmo_8_ending_the_attempts_takes_no_time),
		cmocka_unit_test(ia_84_closing_does_not_wait_for_a_silent_host),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
