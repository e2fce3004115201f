/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two processes: data between them, a peer that is killed in every phase (EP-140 to EP-148, EV-17),
 * and a target that leaves its program alone.
 */
#include "conn_util.h"
#include "peer.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- What the other process does --------------------------------------- */

/* A process that connects to the test's service point and tells when it has. */
static struct cu_rig *active_start(int fd, unsigned int receives)
{
	struct cu_rig *rig = cu_rig_open();
	struct peer_service there = peer_get_service(fd);

	ct_end_open(&rig->a, rig->ia, NULL);
	for (unsigned int i = 0; i < receives; i++)
		expect_ok(cu_recv(&rig->a, i * 64, 64, i));
	expect_ok(peer_connect(&rig->a, &there, DAT_TIMEOUT_INFINITE));
	peer_put_word(fd, 1);
	return rig;
}

/* Connects, and then stays until it is killed. */
static void stay(int fd, unsigned int receives)
{
	struct cu_rig *rig = active_start(fd, receives);
	DAT_EVENT event;

	cu_next(rig->a.connect, 60000, &event);
	peer_put_word(fd, event.event_number);
	peer_put_word(fd, (uintptr_t)rig->a.mem.base);
	peer_put_word(fd, rig->a.mem.rmr_context);
	/* The end of the socket is the end of the test. */
	peer_get_word(fd);
}

static void connector(int fd)
{
	stay(fd, 8);
}

/* A device receives for a process that stands still. */
static void non_receiver(int fd)
{
	stay(fd, 0);
}

/* The same, but leaves without a word to DAT as soon as it is told. */
static void leaver(int fd)
{
	struct cu_rig *rig = active_start(fd, 8);

	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	peer_put_word(fd, 2);
	peer_get_word(fd);
	_exit(0);
}

/* Sends a message that no one can buffer. */
static void sender(int fd)
{
	struct cu_rig *rig = active_start(fd, 8);
	struct ct_mem *big = cu_extra_mem(rig, rig->a.pz, CU_BIG, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	DAT_LMR_TRIPLET seg = ct_segment(big, 0, CU_BIG);

	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	expect_ok(dat_ep_post_send(rig->a.ep, 1, &seg, cu_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
	peer_put_word(fd, 2);
	peer_get_word(fd);
}

/* Listens and does not answer. */
static void silent(int fd)
{
	struct cu_rig *rig = cu_rig_open();

	peer_put_service(fd, rig);
	cu_take_cr(rig->cr);
	peer_put_word(fd, 1);
	peer_get_word(fd);
}

/* ---- Phases of a connection to another process ------------------------- */

static DAT_CR_HANDLE requested(struct cu_rig *rig, struct peer **peer, const char *role)
{
	DAT_CR_HANDLE cr;

	*peer = peer_start(role);
	peer_put_service((*peer)->fd, rig);
	cr = cu_take_cr(rig->cr);
	assert_int_equal(peer_get_word((*peer)->fd), 1);
	return cr;
}

/* The rig's passive end is connected to the process. */
static struct peer *connected(struct cu_rig *rig, const char *role)
{
	struct peer *peer;
	DAT_CR_HANDLE cr = requested(rig, &peer, role);

	expect_ok(dat_cr_accept(cr, rig->p.ep, 0, NULL));
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	STATE(rig->p.ep, CONNECTED);
	return peer;
}

static struct ct_mem remote_memory(struct peer *peer)
{
	struct ct_mem mem = { 0 };

	assert_int_equal(peer_get_word(peer->fd), DAT_CONNECTION_EVENT_ESTABLISHED);
	mem.base = (uint8_t *)(uintptr_t)peer_get_word(peer->fd);
	mem.rmr_context = (DAT_RMR_CONTEXT)peer_get_word(peer->fd);
	mem.len = 65536;
	return mem;
}

static unsigned int fds; /* of this process when there was no connection */

/* One connection and one wait before, so that what is made at the first need is there. */
static int setup(void **state)
{
	struct cu_rig *rig;

	cu_setup_connected(state);
	rig = *state;
	cu_quiet(rig->p.recv, 1);
	cu_quiet(rig->p.request, 1);
	cu_quiet(rig->cr, 1);
	cu_end_connection(&rig->a, &rig->p);
	expect_ok(dat_ep_reset(rig->a.ep));
	expect_ok(dat_ep_reset(rig->p.ep));
	cu_quiet(rig->a.connect, 1);
	cu_quiet(rig->p.connect, 1);
	/* Without a connection other things are waited for. */
	cu_quiet(rig->p.recv, 1);
	cu_quiet(rig->p.request, 1);
	cu_quiet(rig->a.recv, 1);
	cu_quiet(rig->a.request, 1);
	/* The ends of a connection may linger; settled when two looks agree. */
	fds = 0;
	for (unsigned int same = 0; same < 50; same++) {
		if (cu_count_fds() != fds)
			same = 0;
		fds = cu_count_fds();
		ct_pause();
	}
	return 0;
}

/* Every test here ends so: no further event, no descriptor, the endpoint works, everything can be
 * freed. */
static void nothing_is_left(struct cu_rig *rig)
{
	cu_quiet(rig->p.connect, 100);
	ct_await(cu_count_fds() <= fds);
	if (ct_ep_state(rig->p.ep) == DAT_EP_STATE_DISCONNECTED)
		expect_ok(dat_ep_reset(rig->p.ep));
	cu_establish(rig, &rig->a, &rig->p);
	cu_end_connection(&rig->a, &rig->p);
	for (unsigned int i = 0; i < rig->num_extra; i++)
		ct_mem_close(&rig->extra[i]);
	rig->num_extra = 0;
	ct_end_close(&rig->a);
	ct_end_close(&rig->p);
	expect_ok(dat_psp_free(rig->psp));
	expect_ok(dat_evd_free(rig->cr));
}

static int teardown(void **state)
{
	struct cu_rig *rig = *state;

	peer_end_all();
	*state = NULL;
	/* After nothing_is_left() no object may be left; a failed test has some. */
	if (rig->p.ep == DAT_HANDLE_NULL)
		expect_ok(dat_ia_close(rig->ia, DAT_CLOSE_GRACEFUL_FLAG));
	else
		expect_ok(dat_ia_close(rig->ia, DAT_CLOSE_ABRUPT_FLAG));
	ct_waiters_free();
	free(rig);
	return 0;
}

/* ---- Killed before the connection -------------------------------------- */

static void ep_141_killed_before_the_accept(void **state)
{
	struct cu_rig *rig = *state;
	struct peer *peer;
	DAT_CR_HANDLE cr = requested(rig, &peer, "connector");

	expect_ok(cu_recv(&rig->p, 0, 64, 1));
	peer_kill(peer);
	expect_ok(dat_cr_accept(cr, rig->p.ep, 0, NULL));
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR,
		      NULL);
	STATE(rig->p.ep, DISCONNECTED);
	FLUSHED(rig->p.recv, rig->p.ep, 1, DAT_DTO_RECEIVE);
	nothing_is_left(rig);
}

static void ep_141_killed_before_the_reject(void **state)
{
	struct cu_rig *rig = *state;
	struct peer *peer;
	DAT_CR_HANDLE cr = requested(rig, &peer, "connector");

	peer_kill(peer);
	cu_quiet(rig->cr, 100);
	expect_ok(dat_cr_reject(cr, 0, NULL));
	nothing_is_left(rig);
}

static void ep_140_killed_while_the_accept_completes(void **state)
{
	struct cu_rig *rig = *state;
	struct peer *peer;
	DAT_CR_HANDLE cr = requested(rig, &peer, "connector");
	DAT_EVENT event;

	expect_ok(cu_recv(&rig->p, 0, 64, 1));
	peer_stop(peer);
	expect_ok(dat_cr_accept(cr, rig->p.ep, 0, NULL));
	if (cu_next(rig->p.connect, 100, &event)) {
		/* A transport that completes without its peer. */
		assert_int_equal(event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
		peer_kill(peer);
		cu_conn_ended(rig->p.connect, rig->p.ep);
	} else {
		STATE(rig->p.ep, COMPLETION_PENDING);
		peer_kill(peer);
		cu_conn_event(rig->p.connect, rig->p.ep,
			      DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, NULL);
	}
	STATE(rig->p.ep, DISCONNECTED);
	FLUSHED(rig->p.recv, rig->p.ep, 1, DAT_DTO_RECEIVE);
	nothing_is_left(rig);
}

static void ep_136_passive_side_killed_before_it_answers(void **state)
{
	struct cu_rig *rig = *state;
	struct peer *peer = peer_start("silent");
	struct peer_service there = peer_get_service(peer->fd);

	expect_ok(cu_recv(&rig->p, 0, 64, 1));
	expect_ok(peer_connect(&rig->p, &there, DAT_TIMEOUT_INFINITE));
	assert_int_equal(peer_get_word(peer->fd), 1);
	STATE(rig->p.ep, ACTIVE_CONNECTION_PENDING);
	peer_kill(peer);
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, NULL);
	STATE(rig->p.ep, DISCONNECTED);
	FLUSHED(rig->p.recv, rig->p.ep, 1, DAT_DTO_RECEIVE);
	nothing_is_left(rig);
}

/* ---- Killed while connected -------------------------------------------- */

static void ev_17_killed_while_idle(void **state)
{
	struct cu_rig *rig = *state;
	struct peer *peer = connected(rig, "connector");

	for (unsigned int i = 0; i < 4; i++)
		expect_ok(cu_recv(&rig->p, 0, 64, i));
	peer_kill(peer);
	cu_conn_ended(rig->p.connect, rig->p.ep);
	for (unsigned int i = 0; i < 4; i++)
		FLUSHED(rig->p.recv, rig->p.ep, i, DAT_DTO_RECEIVE);
	nothing_is_left(rig);
}

static void ev_17_process_ends_in_order(void **state)
{
	struct cu_rig *rig = *state;
	struct peer *peer = connected(rig, "leaver");

	assert_int_equal(peer_get_word(peer->fd), 2);
	peer_put_word(peer->fd, 0);
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	peer_finish(peer);
	nothing_is_left(rig);
}

/* A request that cannot complete: DTO-84, "peer process died". */
static void cut_off(struct cu_rig *rig, uint64_t cookie)
{
	DAT_DTO_COMPLETION_EVENT_DATA done = cu_completion(rig->p.request);

	assert_int_equal(done.user_cookie.as_64, cookie);
	if (done.status != DAT_DTO_ERR_FLUSHED)
		assert_int_equal(done.status, DAT_DTO_ERR_TRANSPORT);
}

static void post_big_send(struct cu_rig *rig)
{
	struct ct_mem *big = cu_extra_mem(rig, rig->p.pz, CU_BIG, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	DAT_LMR_TRIPLET seg = ct_segment(big, 0, CU_BIG);

	expect_ok(dat_ep_post_send(rig->p.ep, 1, &seg, cu_cookie(7), DAT_COMPLETION_DEFAULT_FLAG));
}

static void ep_143_killed_while_it_does_not_receive(void **state)
{
	struct cu_rig *rig = *state;
	struct peer *peer = connected(rig, "non_receiver");

	remote_memory(peer);
	peer_stop(peer);
	post_big_send(rig);
	cu_quiet(rig->p.request, 100);
	peer_kill(peer);
	cu_conn_ended(rig->p.connect, rig->p.ep);
	cut_off(rig, 7);
	nothing_is_left(rig);
}

static void ep_143_killed_while_it_sends(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_mem *sink = cu_extra_mem(rig, rig->p.pz, CU_BIG, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	DAT_LMR_TRIPLET seg = ct_segment(sink, 0, CU_BIG);
	struct peer *peer = connected(rig, "sender");
	DAT_DTO_COMPLETION_EVENT_DATA done;

	/* It has begun to send and stands still in the middle. */
	assert_int_equal(peer_get_word(peer->fd), 2);
	peer_stop(peer);
	expect_ok(dat_ep_post_recv(rig->p.ep, 1, &seg, cu_cookie(3), DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(cu_recv(&rig->p, 0, 64, 4));
	cu_quiet(rig->p.recv, 100);
	peer_kill(peer);
	cu_conn_ended(rig->p.connect, rig->p.ep);
	done = cu_completion(rig->p.recv);
	assert_int_equal(done.user_cookie.as_64, 3);
	if (done.status != DAT_DTO_ERR_FLUSHED)
		assert_int_equal(done.status, DAT_DTO_ERR_PARTIAL_PACKET);
	FLUSHED(rig->p.recv, rig->p.ep, 4, DAT_DTO_RECEIVE);
	nothing_is_left(rig);
}

static void ep_143_killed_while_it_is_read(void **state)
{
	struct cu_rig *rig = *state;
	struct peer *peer = connected(rig, "connector");
	struct ct_mem there = remote_memory(peer);
	unsigned int served = 0;
	DAT_EVENT event;

	expect_ok(cu_read(&rig->p, 0, 4096, 1, &there, 0, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->p.request, rig->p.ep, 1, DAT_DTO_RDMA_READ, 4096);
	peer_stop(peer);
	for (unsigned int i = 0; i < 4; i++)
		expect_ok(
			cu_read(&rig->p, 0, 4096, 10 + i, &there, 0, DAT_COMPLETION_DEFAULT_FLAG));
	/* A device needs no help of the process to be read. */
	while (served < 4 && cu_next(rig->p.request, 100, &event)) {
		assert_int_equal(event.event_data.dto_completion_event_data.status,
				 DAT_DTO_SUCCESS);
		served++;
	}
	peer_kill(peer);
	cu_conn_ended(rig->p.connect, rig->p.ep);
	for (unsigned int i = served; i < 4; i++)
		cut_off(rig, 10 + i);
	nothing_is_left(rig);
}

static void ep_148_killed_during_a_graceful_disconnect(void **state)
{
	struct cu_rig *rig = *state;
	struct peer *peer = connected(rig, "non_receiver");

	remote_memory(peer);
	peer_stop(peer);
	post_big_send(rig);
	expect_ok(dat_ep_disconnect(rig->p.ep, DAT_CLOSE_GRACEFUL_FLAG));
	STATE(rig->p.ep, DISCONNECT_PENDING);
	cu_quiet(rig->p.connect, 100);
	peer_kill(peer);
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	STATE(rig->p.ep, DISCONNECTED);
	cut_off(rig, 7);
	nothing_is_left(rig);
}

static void ep_142_killed_after_disconnect(void **state)
{
	struct cu_rig *rig = *state;
	struct peer *peer = connected(rig, "connector");

	remote_memory(peer);
	peer_stop(peer);
	expect_ok(dat_ep_disconnect(rig->p.ep, DAT_CLOSE_ABRUPT_FLAG));
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	peer_kill(peer);
	nothing_is_left(rig);
}

static void dto_89_others_go_on_when_a_peer_dies(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end a = { 0 }, p = { 0 };
	struct peer *peer;

	ct_end_open(&a, rig->ia, NULL);
	ct_end_open(&p, rig->ia, NULL);
	cu_establish(rig, &a, &p);
	peer = connected(rig, "connector");
	remote_memory(peer);
	peer_kill(peer);
	for (unsigned int i = 0; i < 100; i++) {
		expect_ok(cu_recv(&p, 0, 64, i));
		expect_ok(ct_post_send(&a, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
		DONE(a.request, a.ep, i, DAT_DTO_SEND, 64);
		DONE(p.recv, p.ep, i, DAT_DTO_RECEIVE, 64);
	}
	cu_quiet(a.connect, 0);
	cu_quiet(p.connect, 0);
	cu_conn_ended(rig->p.connect, rig->p.ep);
	ct_end_close(&a);
	ct_end_close(&p);
	nothing_is_left(rig);
}

/* ---- A target that never calls DAT ------------------------------------- */

/* Writes patterns into the test's memory and reads them back, then says so. */
static void initiator(int fd)
{
	struct cu_rig *rig = active_start(fd, 8);
	struct ct_mem there = { 0 };

	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	there.base = (uint8_t *)(uintptr_t)peer_get_word(fd);
	there.rmr_context = (DAT_RMR_CONTEXT)peer_get_word(fd);
	for (unsigned int i = 0; i < 200; i++) {
		size_t len = 1 + i * 150;

		cu_fill(rig->a.mem.base, len, i);
		cu_set(rig->a.mem.base + 32768, 0, 32768);
		expect_ok(cu_write(&rig->a, 0, len, i, &there, 0, DAT_COMPLETION_SUPPRESS_FLAG));
		expect_ok(cu_read(&rig->a, 32768, len, i, &there, 0, DAT_COMPLETION_DEFAULT_FLAG));
		DONE(rig->a.request, rig->a.ep, i, DAT_DTO_RDMA_READ, len);
		FILLED(rig->a.mem.base + 32768, len, i);
	}
	peer_put_word(fd, 2);
	peer_get_word(fd);
	cu_rig_close(rig);
}

static void target_serves_rdma_without_its_program(void **state)
{
	struct cu_rig *rig = *state;
	struct peer *peer = connected(rig, "initiator");
	uint64_t cpu = ct_thread_cpu_us();

	peer_put_word(peer->fd, (uintptr_t)rig->p.mem.base);
	peer_put_word(peer->fd, rig->p.mem.rmr_context);
	/* From here on this program sleeps in poll(2) until the other one has finished. */
	assert_int_equal(peer_get_word(peer->fd), 2);
	assert_true(ct_thread_cpu_us() - cpu < 100000);
	FILLED(rig->p.mem.base, 1 + 199 * 150, 199);
	peer_put_word(peer->fd, 0);
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	peer_finish(peer);
	nothing_is_left(rig);
}

static void a_waiting_program_uses_no_processor(void **state)
{
	struct cu_rig *rig = *state;
	struct peer *peer = connected(rig, "connector");
	uint64_t cpu;

	remote_memory(peer);
	expect_ok(cu_recv(&rig->p, 0, 64, 1));
	cpu = ct_process_cpu_us();
	cu_quiet(rig->p.recv, 1000);
	cpu = ct_process_cpu_us() - cpu;
	print_message("# %llu us of processor time in a second\n", (unsigned long long)cpu);
	assert_true(cpu < 20000);
	peer_kill(peer);
	cu_conn_ended(rig->p.connect, rig->p.ep);
	nothing_is_left(rig);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(int argc, char **argv)
{
	static const struct peer_role roles[] = {
		{ "connector", connector },
		{ "non_receiver", non_receiver },
		{ "leaver", leaver },
		{ "sender", sender },
		{ "silent", silent },
		{ "initiator", initiator },
		{ NULL, NULL },
	};
	static const struct CMUnitTest tests[] = {
		T(ep_141_killed_before_the_accept),
		T(ep_141_killed_before_the_reject),
		T(ep_140_killed_while_the_accept_completes),
		T(ep_136_passive_side_killed_before_it_answers),
		T(ev_17_killed_while_idle),
		T(ev_17_process_ends_in_order),
		T(ep_143_killed_while_it_does_not_receive),
		T(ep_143_killed_while_it_sends),
		T(ep_143_killed_while_it_is_read),
		T(ep_148_killed_during_a_graceful_disconnect),
		T(ep_142_killed_after_disconnect),
		T(dto_89_others_go_on_when_a_peer_dies),
		T(target_serves_rdma_without_its_program),
		T(a_waiting_program_uses_no_processor),
	};

	peer_main(argc, argv, roles);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
