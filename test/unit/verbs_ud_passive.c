/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The datagram connection manager's asked side, by the tries of doc/spec/08-cm-wire.md. */
#include "test/unit/verbs_ud_util.h"

static struct ucm_msg request(const char *data)
{
	struct ucm_msg msg = uk_peer(UCM_REQ, true, NULL);

	msg.data = (const uint8_t *)data;
	msg.len = (uint16_t)strlen(data);
	return msg;
}

/* Asked and accepted; ours is the consent. */
static struct tp_conn *accepted(struct ucm_msg *ours)
{
	struct ucm_msg msg = request("");
	struct tp_conn *conn;

	uk_put(&msg);
	conn = uk_request(1);
	uk_accept(conn, "");
	*ours = uk_take(UCM_REP);
	return conn;
}

static struct tp_conn *connected(struct ucm_msg *ours)
{
	struct tp_conn *conn = accepted(ours);
	struct ucm_msg msg = uk_peer(UCM_RTU, true, ours);

	uk_put(&msg);
	uk_event(TP_CONN_ESTABLISHED);
	return conn;
}

static void ended(struct tp_conn *conn, const struct ucm_msg *ours)
{
	struct ucm_msg msg = uk_peer(UCM_DREP, true, ours);

	uk_done(conn);
	uk_take(UCM_DREQ);
	uk_put(&msg);
	uk_quiet();
}

/* TU-2, TU-6, UCM-42, UCM-64 */
static void tu_2_consent(void **state)
{
	struct ucm_msg asked = request("ask"), ours, msg;
	struct tp_conn_addr addr;
	struct ucm_address peer;
	struct tp_conn *conn;

	(void)state;
	asked.end.reads_in = 16;
	uk_put(&asked);
	conn = uk_request(1);
	assert_int_equal(uk.len, 3);
	assert_memory_equal(uk.data, "ask", 3);
	assert_false(uk.truncated);
	vrb_cm_ops.addr(conn, &addr);
	assert_int_equal(ucm_get_address((uint8_t *)&addr.remote, &peer), 0);
	assert_int_equal(addr.remote.ss_family, AF_INET6);
	assert_int_equal(peer.lid, PEER_LID);
	assert_int_equal(peer.qpn, PEER_QPN);
	assert_int_equal(addr.local_qual, SERVICE);
	assert_int_equal(addr.remote_qual, PEER_PORT);
	uk_accept(conn, "answer");
	ours = uk_take(UCM_REP);
	assert_int_equal(ours.src_port, SERVICE);
	assert_int_equal(ours.dst_port, PEER_PORT);
	assert_int_equal(ours.dst_id, PEER_ID);
	assert_true(ours.src_id && ours.src_id <= UCM_ID_MAX);
	assert_int_equal(ours.end.qpn, 0x4711);
	assert_int_equal(ours.end.mtu, IBV_MTU_1024);
	assert_int_equal(xchg_get32(ours.dst + 4), PEER_EP);
	assert_int_equal(ours.len, 6);
	assert_memory_equal(ours.data, "answer", 6);
	assert_int_equal(uk.rtr.max_dest_rd_atomic, 16);
	assert_int_equal(uk.rts.max_rd_atomic, 16);
	msg = uk_peer(UCM_RTU, true, &ours);
	uk_put(&msg);
	uk_event(TP_CONN_ESTABLISHED);
	assert_int_equal(uk.len, 0);
	ended(conn, &ours);
}

/* TU-3, UCM-17 */
static void ucm_17_nobody_confirms(void **state)
{
	struct ucm_msg asked = request(""), msg;
	struct tp_conn *conn;
	unsigned int i;

	(void)state;
	uk.config.ucm_rtu_time_ms = 20;
	uk.config.ucm_retry = 3;
	uk.config.ucm_dreq_retry = 0;
	uk.config.ucm_drep_time_ms = 10;
	uk_put(&asked);
	conn = uk_request(1);
	uk_accept(conn, "");
	for (i = 0; i < 3; i++) {
		msg = uk_take(UCM_REP);
		assert_int_equal(msg.retrans, i);
	}
	uk_event(TP_CONN_BROKEN);
	uk_take(UCM_DREQ);
	uk_done(conn);
	uk_quiet();
}

/* UCM-12: hosts on Ethernet all have LID 0, and number their QPs and ports alike. */
static void ucm_12_hosts_without_a_lid(void **state)
{
	struct ucm_msg one = request("one"), other;
	struct tp_conn *first, *second;

	(void)state;
	one.end.lid = 0;
	other = one;
	one.end.gid[15] = 1;
	other.end.gid[15] = 2;
	uk_put(&one);
	first = uk_request(1);
	uk_put(&other);
	second = uk_request(2);
	assert_ptr_not_equal(first, second);
	assert_int_equal(vrb_cm_ops.reject(first, NULL, 0), 0);
	assert_int_equal(uk_take(UCM_REJ_USER).end.lid, OWN_LID);
	assert_int_equal(vrb_cm_ops.reject(second, NULL, 0), 0);
	uk_take(UCM_REJ_USER);
	uk_quiet();
}

/* TU-4, TU-8, UCM-11, UCM-21: what is repeated makes no second request. */
static void tu_4_requests_are_repeated(void **state)
{
	struct ucm_msg asked = request("ask"), ours, msg;
	struct tp_conn *conn;

	(void)state;
	uk_put(&asked);
	conn = uk_request(1);
	uk_put(&asked); /* by the wire */
	asked.retrans = 1;
	uk_put(&asked);
	uk_quiet();
	uk_accept(conn, "");
	uk_take(UCM_REP);
	asked.retrans = 2;
	uk_put(&asked);
	ours = uk_take(UCM_REP);
	assert_int_equal(ours.retrans, 1);
	msg = uk_peer(UCM_RTU, true, &ours);
	uk_put(&msg);
	uk_event(TP_CONN_ESTABLISHED);
	uk_put(&msg);
	uk_put(&asked);
	msg.op = UCM_REP;
	uk_put(&msg);
	uk_quiet();
	assert_int_equal(uk.num_requests, 1);
	ended(conn, &ours);
	uk_put(&asked);
	uk_quiet();
	assert_int_equal(uk.num_requests, 1);
}

/* TU-7, UCM-22: the program is asked once. */
static void tu_7_a_rejection_is_repeated(void **state)
{
	struct ucm_msg asked = request("ask"), msg;
	struct tp_conn *conn;

	(void)state;
	uk_put(&asked);
	conn = uk_request(1);
	assert_int_equal(vrb_cm_ops.reject(conn, "no", 2), 0);
	msg = uk_take(UCM_REJ_USER);
	assert_int_equal(msg.len, 2);
	assert_memory_equal(msg.data, "no", 2);
	assert_int_equal(msg.dst_id, PEER_ID);
	assert_int_equal(msg.end.lid, OWN_LID);
	assert_int_equal(msg.end.qpn, 0);
	assert_int_equal(msg.end.qp_type, XCHG_QPT_RC);
	assert_int_equal(msg.end.mtu, 5);
	asked.retrans = 1;
	uk_put(&asked);
	msg = uk_take(UCM_REJ_USER);
	assert_memory_equal(msg.data, "no", 2);
	assert_int_equal(uk.num_requests, 1);
	/* Until the time of option ucm_wait_time is over. */
	uk_quiet();
}

/* TU-5, UCM-44 of the refusing side: no listener, no room, the program's end. */
static void tu_5_refusals(void **state)
{
	struct ucm_msg asked = request(""), msg;

	(void)state;
	asked.dst_port = SERVICE + 1;
	uk_put(&asked);
	msg = uk_take(UCM_REJ_CM);
	assert_int_equal(msg.src_port, SERVICE + 1);
	assert_int_equal(msg.dst_id, PEER_ID);
	assert_int_equal(uk.num_requests, 0);
	asked = request("");
	uk.refuses = -ENOMEM;
	uk_put(&asked);
	uk_take(UCM_REJ_CM);
	uk.refuses = 0;
	asked.src_id++;
	asked.src_port++;
	uk_put(&asked);
	vrb_cm_ops.release(uk_request(2));
	msg = uk_take(UCM_REJ_CM);
	assert_int_equal(msg.dst_id, PEER_ID + 1);
	uk_quiet();
}

/* The peer hears an end of what it has an answer for, and this is none (UCM-29). */
static void an_accept_that_fails_is_a_refusal(void **state)
{
	static const enum ibv_qp_state refused[] = { IBV_QPS_RTR, IBV_QPS_RTS };
	struct ucm_msg asked = request(""), msg;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		uk.refused = refused[i];
		asked.src_port = ++asked.src_id;
		uk_put(&asked);
		uk_accept(uk_request(i + 1), "");
		uk_event(TP_CONN_BROKEN);
		assert_int_equal(uk.err, -EIO);
		msg = uk_take(UCM_REJ_CM);
		assert_int_equal(msg.dst_id, asked.src_id);
		assert_int_equal(msg.end.lid, OWN_LID);
		uk_done(uk.request);
		/* Whoever did not hear it asks again. */
		uk_put(&asked);
		uk_take(UCM_REJ_CM);
		uk_quiet();
	}
	assert_int_equal(uk.num_requests, i);
}

static struct ucm_msg early;

static void comes_early(struct tp_task *task)
{
	(void)task;
	uk_put(&early);
}

/* EP-141: the connection that the peer confirmed, or ended, unasked never was. */
static void a_confirmation_comes_before_an_accept_that_fails(void **state)
{
	static const enum ucm_op unasked[] = { UCM_RTU, UCM_DREQ };
	struct tp_task first = { .run = comes_early };
	struct ucm_msg asked = request("");
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(unasked) / sizeof(unasked[0]); i++) {
		asked.src_port = ++asked.src_id;
		uk_put(&asked);
		uk_request(i + 1);
		early = asked;
		early.op = unasked[i];
		early.dst_id = vrb_conn(uk.request)->id;
		uk.refused = IBV_QPS_RTR;
		dapl_loop_enter(uk.dev.base.loop);
		dapl_loop_post(uk.dev.base.loop, &first);
		uk_accept(uk.request, "");
		dapl_loop_leave(uk.dev.base.loop);
		uk_event(TP_CONN_BROKEN);
		uk_done(uk.request);
		assert_int_equal(uk.num_events, i + 1);
	}
}

#define LINGERING 16384 /* connections that are remembered after their end, at most */

/* What is kept of requests that found no room is bounded, and one that finds some is served. */
static void a_flood_is_bounded(void **state)
{
	struct ucm_msg asked = request("");
	uint32_t most = 0;
	unsigned int i;

	(void)state;
	uk.refuses = -ENOBUFS;
	for (i = 1; i <= LINGERING + 100; i++) {
		asked.src_id = asked.src_port = i;
		uk_put(&asked);
		uk_take(UCM_REJ_CM);
		uk.num_sent = uk.taken = 0;
		most = uk.ucm.num_conns > most ? uk.ucm.num_conns : most;
	}
	assert_int_equal(most, LINGERING);
	uk.refuses = 0;
	asked.src_id = asked.src_port = i;
	uk_put(&asked);
	vrb_cm_ops.release(uk_request(i));
	uk_take(UCM_REJ_CM);
}

/* UCM-29: the end comes, and the confirmation never did. */
static void ucm_29_the_end_overtakes_the_confirmation(void **state)
{
	struct ucm_msg ours, msg;
	struct tp_conn *conn = accepted(&ours);

	(void)state;
	msg = uk_peer(UCM_DREQ, true, &ours);
	uk_put(&msg);
	uk_take(UCM_DREP);
	uk_event(TP_CONN_ESTABLISHED);
	uk_event(TP_CONN_DISCONNECTED);
	uk_done(conn);
	uk_quiet();
}

/* The attempt is withdrawn: before the answer, and when it was on its way. */
static void an_attempt_is_withdrawn(void **state)
{
	struct ucm_msg asked = request(""), ours, msg = uk_peer(UCM_DREQ, true, NULL);
	const struct ucm_address *own = &uk.ucm.own;
	struct tp_conn *conn;

	(void)state;
	memset(uk.ucm.own.gid, 0xfe, sizeof(uk.ucm.own.gid));
	uk_put(&asked);
	conn = uk_request(1);
	uk_put(&msg);
	msg = uk_take(UCM_DREP);
	assert_int_equal(msg.end.lid, OWN_LID); /* else the peer knows it for another's */
	assert_memory_equal(msg.end.gid, own->gid, sizeof(own->gid));
	assert_int_equal(msg.end.qp_type, XCHG_QPT_RC);
	uk_accept(conn, "");
	uk_event(TP_CONN_BROKEN);
	uk_done(conn);
	uk_quiet();
	asked.src_port = ++asked.src_id;
	uk_put(&asked);
	conn = uk_request(2);
	uk_accept(conn, "");
	ours = uk_take(UCM_REP);
	msg = uk_peer(UCM_DREQ, true, &ours);
	msg.src_port = msg.src_id = asked.src_id;
	msg.dst_id = 0;
	uk_put(&msg);
	uk_take(UCM_DREP);
	uk_event(TP_CONN_BROKEN);
	uk_done(conn);
	uk_quiet();
}

/* The peer's process began anew, with the numbers of the one before. */
static void a_peer_that_forgot_is_asked_anew(void **state)
{
	struct ucm_msg ours, asked = request("");
	struct tp_conn *conn = connected(&ours), *again;

	(void)state;
	uk_put(&asked); /* too early for that: the wire did it */
	uk_quiet();
	uk.config.ucm_wait_time_ms = 1;
	usleep(2000);
	uk_put(&asked);
	uk_event(TP_CONN_BROKEN);
	again = uk_request(2);
	uk_done(conn);
	vrb_cm_ops.release(again);
	uk_take(UCM_REJ_CM);
	uk_quiet();
}

/* What the peer sends is here before it has confirmed (CM-8). */
static void cm_8_data_confirms(void **state)
{
	struct ucm_msg ours;
	struct tp_conn *conn = accepted(&ours);

	(void)state;
	atomic_store(&uk.qp.peer_sent, true);
	vrb_qp_notify(&uk.qp);
	uk_event(TP_CONN_ESTABLISHED);
	ended(conn, &ours);
}

/* UCM-4 */
static void ucm_4_services(void **state)
{
	struct tp_listener *other;

	(void)state;
	assert_int_equal(vrb_cm_ops.listen(&uk.dev.base, SERVICE, NULL, &other), -EADDRINUSE);
	assert_int_equal(vrb_cm_ops.listen(&uk.dev.base, SERVICE + 65536, NULL, &other),
			 -EADDRINUSE);
	assert_int_equal(vrb_cm_ops.listen(&uk.dev.base, 65536, NULL, &other), -EINVAL);
	assert_int_equal(vrb_cm_ops.listen(&uk.dev.base, UINT64_C(1) << 32, NULL, &other), -EINVAL);
	assert_int_equal(vrb_cm_ops.listen(&uk.dev.base, 0, NULL, &other), 0);
	assert_true(other->conn_qual && other->conn_qual < 65536);
	vrb_cm_ops.unlisten(other);
	assert_int_equal(vrb_cm_ops.listen(&uk.dev.base, SERVICE + 65537, NULL, &other), 0);
	assert_int_equal(other->conn_qual, SERVICE + 65537);
	vrb_cm_ops.unlisten(other);
}

/* TU-12, TU-15, UCM-23: requests without sense are nobody's, and versions before 7. */
static void tu_12_requests_without_sense(void **state)
{
	struct ucm_msg asked = request("ask");
	uint8_t bytes[XCHG_MOST] = { 0 };
	unsigned int i;

	(void)state;
	ucm_encode(bytes, &asked);
	bytes[17] = 69;
	uk_put_bytes(bytes, UCM_MOST, PEER_QPN);
	bytes[16] = 0xff;
	uk_put_bytes(bytes, UCM_MOST, PEER_QPN);
	asked.version = 6;
	uk_put(&asked);
	asked = request("");
	asked.end.lid = 0xc000;
	uk_put(&asked);
	asked = request("");
	asked.end.qpn = 0;
	uk_put(&asked);
	srand(1);
	for (i = 0; i < 5000; i++) {
		size_t at;

		for (at = 0; at < sizeof(bytes); at++)
			bytes[at] = (uint8_t)rand();
		bytes[0] = 0;
		bytes[1] = 9;
		bytes[2] = 0;
		bytes[3] = (uint8_t)(2 + rand() % 6);
		xchg_put32(bytes + 8, PEER_QPN);
		xchg_put32(bytes + 12, OWN_QPN);
		uk_put_bytes(bytes, (size_t)(rand() % 300), PEER_QPN);
	}
	uk_quiet();
	assert_int_equal(uk.num_requests, 0);
	assert_int_equal(uk.ucm.num_conns, 0);
}

/* TU-15, VER-4 */
static void tu_15_a_request_of_version_7(void **state)
{
	struct ucm_msg asked = request("old"), ours, msg;
	struct tp_conn *conn;

	(void)state;
	asked.version = 7;
	asked.src_port = 0xfff0;
	asked.end.mtu = 0;
	uk_put(&asked);
	conn = uk_request(1);
	assert_int_equal(uk.len, 3);
	uk_put(&asked); /* repetitions have no number there */
	uk_quiet();
	uk_accept(conn, "");
	ours = uk_take(UCM_REP);
	assert_int_equal(ours.version, XCHG_VERSION);
	assert_int_equal(uk.rtr.path_mtu, IBV_MTU_1024);
	msg = uk_peer(UCM_RTU, true, &ours);
	msg.src_port = 0xfff0;
	msg.version = 7;
	uk_put(&msg);
	uk_event(TP_CONN_ESTABLISHED);
	vrb_cm_ops.disconnect(conn, false);
	msg = uk_take(UCM_DREQ);
	assert_int_equal(msg.dst_port, 0xfff0);
	uk_done(conn);
}

/* RoCE: who names another GID than its own is not answered, whichever header comes before. */
static void a_request_from_another_gid_is_dropped(void **state)
{
	static const uint8_t v4[16] = { [10] = 0xff, 0xff, 10, 0, 0, 1 };
	static const uint8_t v6[16] = { 0xfe, 0x80, [14] = 1, 2 };
	uint8_t grh[VRB_UCM_GRH] = { 0 };
	struct ucm_msg msg = uk_peer(UCM_REQ, true, NULL);

	(void)state;
	uk.grh = grh;
	uk.refuses = -ECONNREFUSED;
	memcpy(msg.end.gid, v4, sizeof(v4));
	uk_put(&msg);
	grh[20] = 0x45;
	memcpy(grh + 32, v4 + 12, 4);
	grh[35]++;
	uk_put(&msg);
	uk_quiet();
	assert_int_equal(uk.num_requests, 0);
	grh[35]--;
	uk_put(&msg);
	uk_take(UCM_REJ_CM);
	memset(grh, 0, sizeof(grh));
	grh[0] = 0x60;
	memcpy(grh + 8, v6, sizeof(v6));
	msg.src_id++;
	uk_put(&msg);
	uk_quiet();
	memcpy(msg.end.gid, v6, sizeof(v6));
	uk_put(&msg);
	uk_take(UCM_REJ_CM);
	assert_int_equal(uk.num_requests, 2);
}

#define T(f) cmocka_unit_test_setup_teardown(f, uk_setup, uk_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(tu_2_consent),
		T(ucm_17_nobody_confirms),
		T(ucm_12_hosts_without_a_lid),
		T(tu_4_requests_are_repeated),
		T(tu_7_a_rejection_is_repeated),
		T(tu_5_refusals),
		T(an_accept_that_fails_is_a_refusal),
		T(a_confirmation_comes_before_an_accept_that_fails),
		T(a_flood_is_bounded),
		T(ucm_29_the_end_overtakes_the_confirmation),
		T(an_attempt_is_withdrawn),
		T(a_peer_that_forgot_is_asked_anew),
		T(cm_8_data_confirms),
		T(ucm_4_services),
		T(tu_12_requests_without_sense),
		T(tu_15_a_request_of_version_7),
		T(a_request_from_another_gid_is_dropped),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
