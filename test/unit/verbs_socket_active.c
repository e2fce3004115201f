/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections over sockets that peers are asked for, by the clauses and tries of doc/spec/08-cm-wire.md. */
#include "test/unit/verbs_socket_util.h"

#include <poll.h>

/* A listener of the peer's, and a connection that asks it. */
static int peer_listen(void)
{
	struct sockaddr_in name = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(name);

	name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_equal(listen(fd, 8), 0);
	getsockname(fd, (struct sockaddr *)&name, &len);
	sk.port = ntohs(name.sin_port);
	return fd;
}

static struct tp_conn *ask(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	struct tp_connect param = { .remote = (struct sockaddr *)&to,
				    .conn_qual = scm_qual(sk.port),
				    .private_data = "ask",
				    .private_data_len = 3 };
	struct tp_conn *conn;

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(vrb_cm_ops.connect(&sk.qp.base, &param, &sk.qp, &conn), 0);
	return conn;
}

/* The request of an attempt; header: how long it is. */
static int taken(int listener, size_t header)
{
	uint8_t bytes[XCHG_MOST];
	int fd = accept(listener, NULL, NULL);

	assert_true(fd >= 0);
	assert_int_equal(sk_take(fd, bytes, header + 3), header + 3);
	assert_int_equal(bytes[1], XCHG_VERSION);
	assert_int_equal(bytes[3], SCM_REQ);
	assert_int_equal(bytes[28], 4);
	assert_memory_equal(bytes + header, "ask", 3);
	return fd;
}

/* TS-1, TS-3, TS-4, SCM-17 */
static void ts_4_an_answer_comes_in_pieces(void **state)
{
	uint8_t bytes[XCHG_MOST];
	size_t len = sk_message(bytes, SCM_REP, 11, "answer"), i;
	int listener = peer_listen(), fd;
	struct tp_conn *conn = ask();

	(void)state;
	fd = taken(listener, XCHG_HEADER);
	for (i = 0; i < len; i++) {
		sk_put(fd, bytes + i, 1);
		usleep(200);
	}
	assert_int_equal(sk_take(fd, bytes, SCM_WORD), SCM_WORD);
	assert_true(scm_is_rtu(bytes));
	assert_int_equal(bytes[1], 11);
	sk_event(TP_CONN_ESTABLISHED);
	assert_int_equal(sk_count(&sk.len), 6);
	assert_memory_equal(sk.data, "answer", 6);
	assert_int_equal(sk.rtr.dest_qp_num, 0x222);
	assert_int_equal(sk.rts.max_rd_atomic, 2);
	/* SCM-18, SCM-19 */
	vrb_cm_ops.disconnect(conn, false);
	assert_int_equal(sk_take(fd, bytes, SCM_WORD), SCM_WORD);
	assert_memory_equal(bytes, scm_end_word, SCM_WORD);
	sk_assert_ended(fd);
	vrb_cm_ops.release(conn);
	assert_int_equal(sk_count(&sk.num_events), 1);
	close(listener);
}

/* TS-9: REP and end in one segment. */
static void ts_9_accepted_and_ended_at_once(void **state)
{
	uint8_t bytes[XCHG_MOST + SCM_WORD];
	size_t len = sk_message(bytes, SCM_REP, 9, "");
	int listener = peer_listen(), fd;
	struct tp_conn *conn = ask();

	(void)state;
	fd = taken(listener, XCHG_HEADER);
	memcpy(bytes + len, scm_end_word, SCM_WORD);
	sk_put(fd, bytes, len + SCM_WORD);
	sk_event(TP_CONN_ESTABLISHED);
	sk_event(TP_CONN_DISCONNECTED);
	close(fd);
	sk_done(conn);
	close(listener);
}

/* TS-5, SCM-7, SCM-47 */
static void ts_5_rejections(void **state)
{
	static const struct {
		uint16_t op;
		enum tp_conn_event event;
		const char *data;
	} rows[] = {
		{ SCM_REJ_USER, TP_CONN_REJECTED, "because" },
		{ SCM_REJ_USER, TP_CONN_REJECTED, "" },
		{ SCM_REJ_CM, TP_CONN_REFUSED, "" },
		{ 77, TP_CONN_REFUSED, "" },
	};
	int listener = peer_listen(), fd;
	uint8_t bytes[2 * XCHG_MOST];
	struct tp_conn *conn;
	unsigned int i;
	size_t len;

	(void)state;
	for (i = 0; i < 4; i++) {
		conn = ask();
		fd = taken(listener, XCHG_HEADER);
		len = sk_message(bytes, (enum scm_op)rows[i].op, 9, rows[i].data);
		memcpy(bytes + len, bytes, len);
		sk_put(fd, bytes, 2 * len);
		sk_event(rows[i].event);
		assert_int_equal(sk_count(&sk.len), strlen(rows[i].data));
		assert_memory_equal(sk.data, rows[i].data, sk.len);
		close(fd);
		sk_done(conn);
	}
	close(listener);
}

/* TS-8: the peer resets, until it is asked no more. */
static void ts_8_resets_are_bounded(void **state)
{
	struct linger reset = { .l_onoff = 1 };
	int listener = peer_listen(), i, fd;
	struct tp_conn *conn = ask();

	(void)state;
	for (i = 0; i < 5; i++) {
		fd = taken(listener, XCHG_HEADER);
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		close(fd);
	}
	sk_event(TP_CONN_REFUSED);
	sk_done(conn);
	close(listener);
}

/* TS-7, SCM-14, SCM-15: releases before 2.1.5 close where the form is not theirs. */
static void scm_14_a_close_is_asked_once_more(void **state)
{
	uint8_t bytes[XCHG_MOST];
	size_t len = sk_message(bytes, SCM_REP, 7, "old");
	int listener = peer_listen(), fd;
	struct tp_conn *conn = ask();

	(void)state;
	close(taken(listener, XCHG_HEADER));
	fd = taken(listener, XCHG_HEADER + XCHG_STRAY);
	sk_put(fd, bytes, len);
	assert_int_equal(sk_take(fd, bytes, SCM_WORD), SCM_WORD);
	assert_int_equal(bytes[1], 7);
	sk_event(TP_CONN_ESTABLISHED);
	assert_int_equal(sk_count(&sk.len), 3);
	/* CM-5: it states no MTU, and this port has 1024. */
	assert_int_equal(sk.rtr.path_mtu, IBV_MTU_1024);
	close(fd);
	sk_event(TP_CONN_DISCONNECTED);
	sk_done(conn);
	conn = ask();
	close(taken(listener, XCHG_HEADER));
	close(taken(listener, XCHG_HEADER + XCHG_STRAY));
	sk_event(TP_CONN_REFUSED);
	sk_done(conn);
	close(listener);
}

/* TS-6 */
static void ts_6_nobody_listens(void **state)
{
	int listener = peer_listen();
	struct tp_conn *conn;

	(void)state;
	close(listener);
	conn = ask();
	sk_event(TP_CONN_REFUSED);
	assert_int_equal(sk.err, -ECONNREFUSED);
	sk_done(conn);
}

/* TS-11, CM-12: the program's time is over while the peer holds the request. */
static void ts_11_an_attempt_is_withdrawn(void **state)
{
	uint8_t bytes[XCHG_MOST];
	size_t len = sk_message(bytes, SCM_REP, 9, "");
	int listener = peer_listen(), fd;
	struct tp_conn *conn = ask();

	(void)state;
	fd = taken(listener, XCHG_HEADER);
	vrb_cm_ops.disconnect(conn, false);
	sk_put(fd, bytes, len);
	sk_assert_ended(fd);
	vrb_cm_ops.release(conn);
	assert_int_equal(sk_count(&sk.num_events), 0);
	close(listener);
}

static void an_answer_that_has_begun_comes_in_time(void **state)
{
	uint8_t bytes[XCHG_MOST];
	int listener = peer_listen(), fd;
	struct tp_conn *conn;

	(void)state;
	sk.config.handshake_ms = SOON_MS;
	sk_message(bytes, SCM_REP, 9, "");
	conn = ask();
	fd = taken(listener, XCHG_HEADER);
	sk_put(fd, bytes, XCHG_HEADER - 1);
	sk_event(TP_CONN_UNREACHABLE);
	sk_assert_ended(fd);
	sk_done(conn);
	close(listener);
}

/* What is on its way to the loop has its turn before what is posted behind this. */
static void others_turn(struct tp_task *task)
{
	(void)task;
	usleep(50000);
}

/* Its program would have a request that nobody stands for. */
static void a_peer_hears_nothing_of_an_endpoint_that_failed(void **state)
{
	struct tp_task others = { .run = others_turn };
	struct pollfd called = { .fd = peer_listen(), .events = POLLIN };
	struct tp_conn *conn;
	uint8_t byte;
	int fd;

	(void)state;
	sk.qp.init = false;
	sk.refused = IBV_QPS_INIT;
	usleep(50000); /* the loop's thread sleeps by now */
	dapl_loop_enter(sk.dev.base.loop);
	dapl_loop_post(sk.dev.base.loop, &others);
	conn = ask();
	dapl_loop_leave(sk.dev.base.loop);
	sk_event(TP_CONN_UNREACHABLE);
	assert_int_equal(sk.err, -EIO);
	/* Nor need it hear of a connection that ended at once. */
	if (poll(&called, 1, 1000) == 1) {
		fd = accept(called.fd, NULL, NULL);
		assert_true(sk_take(fd, &byte, 1) <= 0);
		close(fd);
	}
	sk_done(conn);
	close(called.fd);
}

static void answers_without_sense_are_refused(void **state)
{
	static const struct {
		size_t at;
		uint8_t value;
	} rows[] = {
		{ 1, 6 }, { 17, 69 }, { 32, 9 }, { 38, 0xff }, { 40, 1 }, { 63, XCHG_QPT_UD }
	};
	int listener = peer_listen(), fd;
	uint8_t bytes[XCHG_MOST];
	struct tp_conn *conn;
	unsigned int i;
	size_t len;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		conn = ask();
		fd = taken(listener, XCHG_HEADER);
		len = sk_message(bytes, SCM_REP, 9, "");
		bytes[rows[i].at] = rows[i].value;
		sk_put(fd, bytes, len);
		sk_event(TP_CONN_REFUSED);
		sk_assert_ended(fd);
		sk_done(conn);
	}
	close(listener);
}

#define T(f) cmocka_unit_test_setup_teardown(f, sk_setup, sk_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(ts_4_an_answer_comes_in_pieces),
		T(ts_9_accepted_and_ended_at_once),
		T(ts_5_rejections),
		T(ts_8_resets_are_bounded),
		T(scm_14_a_close_is_asked_once_more),
		T(ts_6_nobody_listens),
		T(ts_11_an_attempt_is_withdrawn),
		T(an_answer_that_has_begun_comes_in_time),
		T(a_peer_hears_nothing_of_an_endpoint_that_failed),
		T(answers_without_sense_are_refused),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
