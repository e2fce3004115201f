/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections over sockets that peers ask for, by the clauses and tries of doc/spec/08-cm-wire.md. */
#include "test/unit/verbs_socket_util.h"

/* TS-1, CM-5 to CM-7, SCM-12 */
static void ts_1_a_request_is_answered(void **state)
{
	uint8_t bytes[XCHG_MOST];
	struct tp_conn_addr addr;
	struct tp_conn *conn;
	struct scm_msg reply;
	const char *why;
	int fd = sk_peer_request(9, "hello");

	(void)state;
	conn = sk_request(1);
	assert_int_equal(sk_count(&sk.len), 5);
	assert_memory_equal(sk.data, "hello", 5);
	vrb_cm_ops.addr(conn, &addr);
	assert_int_equal(addr.local_qual, sk.listener->conn_qual);
	sk_accept(conn, "hi");
	assert_int_equal(sk_take(fd, bytes, XCHG_HEADER + 2), XCHG_HEADER + 2);
	assert_int_equal(scm_decode(bytes, XCHG_HEADER + 2, true, &reply, &why), 0);
	assert_int_equal(reply.op, SCM_REP);
	assert_int_equal(reply.version, 9);
	assert_int_equal(reply.end.mtu, IBV_MTU_1024);
	assert_int_equal(reply.end.qpn, 0x4711);
	assert_int_equal(reply.end.lid, 0x11);
	assert_int_equal(reply.end.reads_in, 4);
	assert_memory_equal(reply.data, "hi", 2);
	assert_int_equal(sk.rtr.path_mtu, IBV_MTU_1024);
	assert_int_equal(sk.rtr.dest_qp_num, 0x222);
	assert_int_equal(sk.rtr.ah_attr.dlid, 0x22);
	assert_int_equal(sk.rtr.ah_attr.is_global, 0);
	assert_int_equal(sk.rtr.rq_psn, 1);
	assert_int_equal(sk.rtr.max_dest_rd_atomic, 4);
	assert_int_equal(sk.rts.max_rd_atomic, 2);
	assert_int_equal(sk.rts.timeout, 20);
	assert_int_equal(sk_count(&sk.num_events), 0);
	sk_confirm(fd);
	sk_event(TP_CONN_ESTABLISHED);
	assert_int_equal(sk_count(&sk.len), 0);
	sk_put(fd, scm_end_word, SCM_WORD);
	sk_event(TP_CONN_DISCONNECTED);
	/* SCM-18: it answers with its own. */
	assert_int_equal(sk_take(fd, bytes, SCM_WORD), SCM_WORD);
	assert_memory_equal(bytes, scm_end_word, SCM_WORD);
	sk_assert_ended(fd);
	sk_done(conn);
}

/* TS-3 */
static void ts_3_a_request_comes_in_pieces(void **state)
{
	uint8_t bytes[XCHG_MOST];
	size_t len = sk_message(bytes, SCM_REQ, 9, "pieces"), i;
	int fd = sk_peer();

	(void)state;
	for (i = 0; i < len; i++) {
		sk_put(fd, bytes + i, 1);
		usleep(200);
	}
	sk_request(1);
	assert_int_equal(sk_count(&sk.len), 6);
	vrb_cm_ops.release(sk.request);
	/* IA-88: as if nobody listened. */
	assert_int_equal(sk_take(fd, bytes, XCHG_HEADER), XCHG_HEADER);
	assert_int_equal(bytes[3], SCM_REJ_CM);
	sk_assert_ended(fd);
}

/* TS-5 */
static void ts_5_a_rejection_has_its_data(void **state)
{
	uint8_t bytes[XCHG_MOST];
	int fd = sk_peer_request(9, "12345");

	(void)state;
	assert_int_equal(vrb_cm_ops.reject(sk_request(1), "no", 2), 0);
	assert_int_equal(sk_take(fd, bytes, XCHG_MOST), XCHG_HEADER + 2);
	assert_int_equal(bytes[3], SCM_REJ_USER);
	assert_int_equal(scm_size(bytes, XCHG_HEADER), XCHG_HEADER + 2);
	assert_memory_equal(bytes + XCHG_HEADER, "no", 2);
	sk_assert_ended(fd);
}

/* SCM-14: who gets no answer asks again, and the program would have one more request. */
static void an_accept_that_fails_is_a_refusal(void **state)
{
	static const enum ibv_qp_state refused[] = { IBV_QPS_RTR, IBV_QPS_RTS };
	uint8_t bytes[XCHG_MOST];
	unsigned int i;
	int fd;

	(void)state;
	for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		sk.refused = refused[i];
		fd = sk_peer_request(9, "12345");
		sk_accept(sk_request(i + 1), "hi");
		sk_event(TP_CONN_BROKEN);
		assert_int_equal(sk.err, -EIO);
		assert_int_equal(sk_take(fd, bytes, XCHG_MOST), XCHG_HEADER);
		assert_int_equal(bytes[3], SCM_REJ_CM);
		assert_int_equal(scm_size(bytes, XCHG_HEADER), XCHG_HEADER);
		sk_assert_ended(fd);
		sk_done(sk.request);
	}
}

/* What is on its way to the loop has its turn before what is posted behind this. */
static void others_turn(struct tp_task *task)
{
	(void)task;
	usleep(50000);
}

/* EP-141: the connection that the peer confirmed unasked, and ended, never was. */
static void a_confirmation_comes_before_an_accept_that_fails(void **state)
{
	uint8_t bytes[XCHG_MOST + SCM_WORD];
	size_t len = sk_message(bytes, SCM_REQ, 9, "12345");
	struct tp_task others = { .run = others_turn };
	int fd = sk_peer();

	(void)state;
	scm_put_rtu(bytes + len, 9);
	sk_put(fd, bytes, len + SCM_WORD);
	sk_request(1);
	sk.refused = IBV_QPS_RTR;
	dapl_loop_enter(sk.dev.base.loop);
	dapl_loop_post(sk.dev.base.loop, &others);
	sk_accept(sk.request, "hi");
	shutdown(fd, SHUT_WR);
	dapl_loop_leave(sk.dev.base.loop);
	sk_event(TP_CONN_BROKEN);
	assert_int_equal(sk.err, -EIO);
	sk_done(sk.request);
	assert_int_equal(sk_count(&sk.num_events), 1);
	close(fd);
}

/* TS-7, SCM-15 */
static void ts_7_who_asks_again_has_two_bytes_more(void **state)
{
	uint8_t bytes[XCHG_MOST];
	size_t len = sk_message(bytes, SCM_REQ, 9, "again");
	int fd = sk_peer();

	(void)state;
	memmove(bytes + XCHG_HEADER + 2, bytes + XCHG_HEADER, len - XCHG_HEADER);
	sk_put(fd, bytes, len + 2);
	sk_accept(sk_request(1), "");
	assert_int_equal(sk_count(&sk.len), 5);
	assert_memory_equal(sk.data, "again", 5);
	assert_int_equal(sk_take(fd, bytes, XCHG_HEADER), XCHG_HEADER);
	sk_confirm(fd);
	sk_event(TP_CONN_ESTABLISHED);
	close(fd);
	sk_event(TP_CONN_DISCONNECTED);
	sk_done(sk.request);
}

/* TS-9: RTU and end in one segment. */
static void ts_9_confirmed_and_ended_at_once(void **state)
{
	uint8_t bytes[XCHG_MOST], words[2 * SCM_WORD];
	int fd = sk_peer_request(9, "");

	(void)state;
	sk_accept(sk_request(1), "");
	assert_int_equal(sk_take(fd, bytes, XCHG_HEADER), XCHG_HEADER);
	scm_put_rtu(words, 9);
	memcpy(words + SCM_WORD, scm_end_word, SCM_WORD);
	sk_put(fd, words, sizeof(words));
	sk_event(TP_CONN_ESTABLISHED);
	sk_event(TP_CONN_DISCONNECTED);
	close(fd);
	sk_done(sk.request);
	assert_int_equal(sk_count(&sk.num_events), 2);
}

static void nonsense_is_no_confirmation(void **state)
{
	static const uint8_t words[][SCM_WORD] = {
		{ 0, 0, 0xde, 0xad }, { 0, 5, 0, 5 }, { 0, 9, 0, 1 }, { 0xff, 0xff, 0xff, 0xff }
	};
	uint8_t bytes[XCHG_MOST];
	unsigned int i;
	int fd;

	(void)state;
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		fd = sk_peer_request(9, "");
		sk_accept(sk_request(i + 1), "");
		assert_int_equal(sk_take(fd, bytes, XCHG_HEADER), XCHG_HEADER);
		sk_put(fd, words[i], SCM_WORD);
		sk_event(TP_CONN_BROKEN);
		close(fd);
		sk_done(sk.request);
	}
}

/* EP-144: the device found a fault, and the peer was faster to end the connection. */
static void a_fault_is_the_reason_of_an_end(void **state)
{
	uint8_t bytes[XCHG_MOST];
	int fd;

	(void)state;
	sk.state = IBV_QPS_ERR;
	fd = sk_peer_request(9, "");
	sk_accept(sk_request(1), "");
	assert_int_equal(sk_take(fd, bytes, XCHG_HEADER), XCHG_HEADER);
	sk_confirm(fd);
	sk_event(TP_CONN_ESTABLISHED);
	sk_put(fd, scm_end_word, SCM_WORD);
	sk_event(TP_CONN_BROKEN);
	assert_int_equal(sk.err, -EIO);
	sk_done(sk.request);
	close(fd);
}

/* CR-2, EP-141, TS-11 */
static void the_peer_is_gone_before_the_answer(void **state)
{
	struct linger reset = { .l_onoff = 1 };
	int fd, i;

	(void)state;
	for (i = 0; i < 2; i++) {
		fd = sk_peer_request(9, "");
		sk_request((unsigned int)i + 1);
		if (i)
			setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		close(fd);
		usleep(20000);
		sk_accept(sk.request, "");
		sk_event(TP_CONN_BROKEN);
		sk_done(sk.request);
	}
}

/* TMO-7 */
static void a_confirmation_that_does_not_come_is_told(void **state)
{
	uint8_t bytes[XCHG_MOST];
	int fd;

	(void)state;
	sk.config.handshake_ms = SOON_MS;
	fd = sk_peer_request(9, "");
	sk_accept(sk_request(1), "");
	sk_event(TP_CONN_BROKEN);
	assert_int_equal(sk.err, -ETIMEDOUT);
	assert_int_equal(sk_take(fd, bytes, XCHG_HEADER), XCHG_HEADER);
	sk_done(sk.request);
	close(fd);
}

/* TS-13 */
static void ts_13_who_says_nothing_delays_nobody(void **state)
{
	uint8_t bytes[XCHG_MOST];
	size_t len = sk_message(bytes, SCM_REQ, 9, "half");
	int silent = sk_peer(), half = sk_peer(), no_data = sk_peer(), fd;

	(void)state;
	sk_put(half, bytes, XCHG_HEADER / 2);
	sk_put(no_data, bytes, XCHG_HEADER);
	fd = sk_peer_request(9, "whole");
	sk_request(1);
	assert_int_equal(sk_count(&sk.len), 5);
	vrb_cm_ops.release(sk.request);
	close(fd);
	sk_put(half, bytes + XCHG_HEADER / 2, len - XCHG_HEADER / 2);
	sk_request(2);
	vrb_cm_ops.release(sk.request);
	close(half);
	close(no_data);
	close(silent);
}

static void who_says_nothing_is_refused_in_time(void **state)
{
	int fd;

	(void)state;
	sk.config.handshake_ms = SOON_MS;
	fd = sk_peer();
	sk_assert_ended(fd);
	assert_int_equal(sk_count(&sk.num_requests), 0);
}

/* Option half_open: those that have said nothing give way, oldest first. */
static void a_flood_is_bounded(void **state)
{
	int fds[MANY], i, fd, open = 0;
	uint8_t byte;

	(void)state;
	dapl_loop_enter(sk.dev.base.loop);
	sk.config.half_open = BUDGET;
	dapl_loop_leave(sk.dev.base.loop);
	for (i = 0; i < MANY; i++)
		fds[i] = sk_peer();
	fd = sk_peer_request(9, "real");
	sk_request(1);
	assert_int_equal(sk_count(&sk.len), 4);
	vrb_cm_ops.release(sk.request);
	for (i = 0; i < MANY; i++) {
		open += recv(fds[i], &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
		close(fds[i]);
	}
	assert_in_range(open, 1, BUDGET);
	close(fd);
}

/* TS-15, TS-16 */
static void ts_16_requests_without_sense_are_refused(void **state)
{
	static const struct {
		size_t at;
		uint8_t value;
	} rows[] = {
		{ 1, 6 },     { 1, 5 },	 { 1, 0 },     { 3, 2 },  { 17, 69 },
		{ 16, 0xff }, { 32, 6 }, { 38, 0xc0 }, { 40, 1 }, { 63, 3 },
	};
	uint8_t bytes[XCHG_MOST];
	size_t i, len;
	int fd;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		len = sk_message(bytes, SCM_REQ, 9, "");
		bytes[rows[i].at] = rows[i].value;
		fd = sk_peer();
		sk_put(fd, bytes, len);
		sk_assert_ended(fd);
	}
	assert_int_equal(sk_count(&sk.num_requests), 0);
	/* UD endpoints are refused as if nobody listened. */
	len = sk_message(bytes, SCM_REQ, 9, "");
	bytes[63] = XCHG_QPT_UD;
	fd = sk_peer();
	sk_put(fd, bytes, len);
	assert_int_equal(sk_take(fd, bytes, XCHG_HEADER), XCHG_HEADER);
	assert_int_equal(bytes[3], SCM_REJ_CM);
	sk_assert_ended(fd);
	assert_int_equal(sk_count(&sk.num_requests), 0);
}

/* TS-15, SCM-42, VER-5; PD-7 */
static void ts_15_versions(void **state)
{
	static const uint16_t version[] = { 7, 8, 10, 65535 };
	uint8_t bytes[XCHG_MOST];
	unsigned int i;
	size_t header;
	int fd;

	(void)state;
	for (i = 0; i < 4; i++) {
		header = XCHG_HEADER + (version[i] < 8 ? 2 : 0);
		fd = sk_peer_request(version[i], "old");
		sk_accept(sk_request(i + 1), "x");
		assert_int_equal(sk_count(&sk.len), 3);
		assert_memory_equal(sk.data, "old", 3);
		assert_int_equal(sk_take(fd, bytes, header + 1), header + 1);
		assert_int_equal(bytes[1], XCHG_VERSION);
		assert_int_equal(bytes[header], 'x');
		close(fd);
		sk_event(TP_CONN_BROKEN);
		sk_done(sk.request);
	}
}

/* PSP-12, IA-88 */
static void unlisten_leaves_nobody(void **state)
{
	uint8_t bytes[XCHG_MOST];
	int half = sk_peer(), fd = sk_peer_request(9, "");

	(void)state;
	sk_request(1);
	vrb_cm_ops.unlisten(sk.listener);
	sk.listener = NULL;
	sk_assert_ended(half);
	sk_accept(sk.request, "");
	assert_int_equal(sk_take(fd, bytes, XCHG_HEADER), XCHG_HEADER);
	sk_confirm(fd);
	sk_event(TP_CONN_ESTABLISHED);
	sk_done(sk.request);
	assert_int_equal(sk_take(fd, bytes, SCM_WORD), SCM_WORD);
	sk_assert_ended(fd);
}

/* TS-20, CM-7 */
static void ts_20_a_global_route(void **state)
{
	uint8_t bytes[XCHG_MOST];
	int fd;

	(void)state;
	sk.config.global_routing = 1;
	sk.config.gid_index = 3;
	fd = sk_peer_request(9, "");
	sk_accept(sk_request(1), "");
	assert_int_equal(sk_take(fd, bytes, XCHG_HEADER), XCHG_HEADER);
	assert_int_equal(sk.rtr.ah_attr.is_global, 1);
	assert_int_equal(sk.rtr.ah_attr.grh.sgid_index, 3);
	assert_int_equal(sk.rtr.ah_attr.grh.hop_limit, 255);
	close(fd);
	sk_event(TP_CONN_BROKEN);
	sk_done(sk.request);
}

#define T(f) cmocka_unit_test_setup_teardown(f, sk_setup, sk_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(ts_1_a_request_is_answered),
		T(ts_3_a_request_comes_in_pieces),
		T(ts_5_a_rejection_has_its_data),
		T(an_accept_that_fails_is_a_refusal),
		T(a_confirmation_comes_before_an_accept_that_fails),
		T(ts_7_who_asks_again_has_two_bytes_more),
		T(ts_9_confirmed_and_ended_at_once),
		T(nonsense_is_no_confirmation),
		T(a_fault_is_the_reason_of_an_end),
		T(the_peer_is_gone_before_the_answer),
		T(a_confirmation_that_does_not_come_is_told),
		T(ts_13_who_says_nothing_delays_nobody),
		T(who_says_nothing_is_refused_in_time),
		T(a_flood_is_bounded),
		T(ts_16_requests_without_sense_are_refused),
		T(ts_15_versions),
		T(unlisten_leaves_nobody),
		T(ts_20_a_global_route),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
