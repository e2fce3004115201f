/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The datagram connection manager's asking side, by the tries of doc/spec/08-cm-wire.md. */
#include "dapl/base/loop_call.h"
#include "providers/verbs/async.h"
#include "test/unit/verbs_ud_util.h"

#define MS UINT64_C(1000000)

static struct ucm_msg consent(const struct ucm_msg *ours, const char *data)
{
	struct ucm_msg msg = uk_peer(UCM_REP, false, ours);

	msg.data = (const uint8_t *)data;
	msg.len = (uint16_t)strlen(data);
	return msg;
}

static struct tp_conn *connected(struct ucm_msg *asked)
{
	struct tp_conn *conn = uk_connect("");
	struct ucm_msg answer;

	*asked = uk_take(UCM_REQ);
	answer = consent(asked, "");
	uk_put(&answer);
	uk_take(UCM_RTU);
	uk_event(TP_CONN_ESTABLISHED);
	return conn;
}

/* The peer hears of the end and answers. */
static void ended(struct tp_conn *conn, const struct ucm_msg *asked)
{
	struct ucm_msg answer = uk_peer(UCM_DREP, false, asked);

	uk_done(conn);
	uk_take(UCM_DREQ);
	uk_put(&answer);
	uk_quiet();
}

/* TU-2: what each message of this side has (UCM-9, UCM-10), and TU-6: private data of its own size. */
static void tu_2_request_and_confirmation(void **state)
{
	struct tp_conn *conn = uk_connect("ask");
	struct ucm_msg asked = uk_take(UCM_REQ), answer = consent(&asked, "answer"), got;
	struct ucm_address to;

	(void)state;
	assert_int_equal(asked.src_port, asked.src_id);
	assert_int_equal(asked.dst_port, SERVICE);
	assert_int_equal(asked.dst_id, 0);
	assert_int_equal(asked.retrans, 0);
	assert_int_equal(asked.end.lid, OWN_LID);
	assert_int_equal(asked.end.qpn, 0x4711);
	assert_int_equal(asked.end.qp_type, XCHG_QPT_RC);
	assert_int_equal(asked.end.mtu, IBV_MTU_1024);
	assert_int_equal(asked.end.reads_in, 4);
	assert_int_equal(asked.len, 3);
	assert_memory_equal(asked.data, "ask", 3);
	/* The address without the QP, with this endpoint's type (UCM-66). */
	assert_int_equal(ucm_get_address(asked.dst, &to), -EPROTO);
	assert_int_equal(to.lid, PEER_LID);
	assert_int_equal(to.qpn, 0);
	assert_int_equal(to.type, XCHG_QPT_RC);
	assert_int_equal(uk.path.dlid, PEER_LID);
	assert_int_equal(uk.path.is_global, 0);
	uk_put(&answer);
	got = uk_take(UCM_RTU);
	assert_int_equal(got.src_port, asked.src_port);
	assert_int_equal(got.dst_port, SERVICE);
	assert_int_equal(got.src_id, asked.src_id);
	assert_int_equal(got.dst_id, PEER_ID);
	assert_int_equal(xchg_get16(got.dst + 2), PEER_LID);
	assert_int_equal(xchg_get32(got.dst + 4), PEER_EP);
	uk_event(TP_CONN_ESTABLISHED);
	assert_int_equal(uk.len, 6);
	assert_memory_equal(uk.data, "answer", 6);
	assert_int_equal(uk.rtr.dest_qp_num, PEER_EP);
	assert_int_equal(uk.rtr.path_mtu, IBV_MTU_1024);
	assert_int_equal(uk.rtr.rq_psn, 1);
	assert_int_equal(uk.rts.max_rd_atomic, 2);
	ended(conn, &asked);
}

/* TU-3, UCM-15, UCM-16: times double, and their number is bounded. */
static void tu_3_nobody_answers(void **state)
{
	static const unsigned int after[] = { 0, 40, 80, 160 };
	struct tp_conn *conn;
	struct ucm_msg msg, answer;
	uint64_t before;
	unsigned int i;

	(void)state;
	uk.config.ucm_rep_time_ms = 40;
	uk.config.ucm_retry = 4;
	uk.config.ucm_drep_time_ms = 10;
	uk.config.ucm_dreq_retry = 1;
	before = dapl_now();
	conn = uk_connect("");
	for (i = 0; i < 4; i++) {
		msg = uk_take(UCM_REQ);
		assert_int_equal(msg.retrans, i);
		assert_true(uk_taken_at() - before >= after[i] * MS);
	}
	uk_event(TP_CONN_UNREACHABLE);
	assert_int_equal(uk.err, -ETIMEDOUT);
	uk_done(conn);
	uk_take(UCM_DREQ);
	uk_take(UCM_DREQ);
	uk_quiet();
	/* UCM-29: it consents after all, and hears that this is over. */
	answer = consent(&msg, "");
	uk_put(&answer);
	uk_take(UCM_RTU);
	msg = uk_take(UCM_DREQ);
	assert_int_equal(msg.dst_id, PEER_ID);
}

/* On Ethernet an address handle has the MAC address that the peer had when it was made. */
static void a_silent_peer_is_looked_up_anew(void **state)
{
	struct ucm_msg asked, answer;
	struct tp_conn *conn;

	(void)state;
	uk.config.ucm_rep_time_ms = 10;
	uk.config.ucm_retry = 2;
	uk.config.ucm_drep_time_ms = 10;
	uk.config.ucm_dreq_retry = 0;
	conn = uk_connect("");
	uk_take(UCM_REQ);
	uk_take(UCM_REQ);
	uk_event(TP_CONN_UNREACHABLE);
	uk_done(conn);
	uk_take(UCM_DREQ);
	uk_quiet();
	conn = connected(&asked);
	assert_in_range(uk.num_ahs, 2, 3); /* not for each message */
	answer = uk_peer(UCM_DREQ, false, &asked);
	uk_put(&answer);
	uk_take(UCM_DREP);
	uk_event(TP_CONN_DISCONNECTED);
	uk_done(conn);
}

/* TU-3, TU-4, UCM-20: a confirmation that is lost, and all that comes twice. */
static void ucm_20_a_repeated_consent_is_confirmed(void **state)
{
	struct ucm_msg asked, answer;
	struct tp_conn *conn = connected(&asked);

	(void)state;
	answer = consent(&asked, "");
	answer.retrans = 1;
	uk_put(&answer);
	uk_take(UCM_RTU);
	answer.op = UCM_REJ_USER;
	uk_put(&answer);
	answer.op = UCM_RTU;
	uk_put(&answer);
	answer.op = UCM_DREP;
	uk_put(&answer);
	uk_quiet();
	ended(conn, &asked);
}

/* UCM-25, TU-10: the peer ends, and again. */
static void ucm_25_the_peer_ends(void **state)
{
	struct ucm_msg asked, msg;
	struct tp_conn *conn = connected(&asked);

	(void)state;
	msg = uk_peer(UCM_DREQ, false, &asked);
	uk_put(&msg);
	uk_take(UCM_DREP);
	uk_event(TP_CONN_DISCONNECTED);
	uk_put(&msg);
	uk_take(UCM_DREP);
	uk_done(conn);
	uk_put(&msg);
	uk_take(UCM_DREP);
	uk_quiet();
}

/* UCM-26: the end is repeated, in doubled times. */
static void ucm_26_an_end_that_is_lost(void **state)
{
	struct ucm_msg asked, msg;
	struct tp_conn *conn = connected(&asked);
	uint64_t before;

	(void)state;
	uk.config.ucm_drep_time_ms = 30;
	before = dapl_now();
	vrb_cm_ops.disconnect(conn, false);
	uk_take(UCM_DREQ);
	uk_take(UCM_DREQ);
	assert_true(uk_taken_at() - before >= 30 * MS);
	uk_take(UCM_DREQ);
	assert_true(uk_taken_at() - before >= 60 * MS);
	msg = uk_peer(UCM_DREP, false, &asked);
	uk_put(&msg);
	uk_quiet();
	uk_done(conn);
	uk_quiet();
}

/* UCM-27 */
static void ucm_27_both_end(void **state)
{
	struct ucm_msg asked, msg;
	struct tp_conn *conn = connected(&asked);

	(void)state;
	vrb_cm_ops.disconnect(conn, false);
	uk_take(UCM_DREQ);
	msg = uk_peer(UCM_DREQ, false, &asked);
	uk_put(&msg);
	uk_take(UCM_DREP);
	msg.op = UCM_DREP;
	uk_put(&msg);
	uk_done(conn);
	uk_quiet();
}

/* TU-5, TU-6, UCM-66: the type in a refusal is not read. */
static void tu_5_refusals(void **state)
{
	struct ucm_msg asked, msg;
	struct tp_conn *conn;
	uint8_t bytes[UCM_MOST];

	(void)state;
	conn = uk_connect("ask");
	asked = uk_take(UCM_REQ);
	msg = uk_peer(UCM_REJ_USER, false, &asked);
	msg.end.qp_type = 0;
	msg.end.qpn = 0;
	msg.data = (const uint8_t *)"because";
	msg.len = 7;
	uk_put(&msg);
	uk_event(TP_CONN_REJECTED);
	assert_int_equal(uk.len, 7);
	assert_memory_equal(uk.data, "because", 7);
	uk_put(&msg);
	uk_done(conn);
	/* As release 2.1.10 has it where nobody listens: without any number. */
	conn = uk_connect("ask");
	uk_take(UCM_REQ);
	assert_int_equal(ucm_refuse(bytes, uk.sent[uk.taken - 1].bytes), XCHG_HEADER);
	memset(bytes + 20, 0, 8);
	bytes[63] = XCHG_QPT_UD;
	uk_put_bytes(bytes, XCHG_HEADER, PEER_QPN);
	uk_event(TP_CONN_REFUSED);
	assert_int_equal(uk.len, 0);
	uk_done(conn);
	uk_quiet();
}

/* TU-9: the program gives up; the peer, of release 2.1.10, knows no end of a request and consents. */
static void tu_9_an_attempt_is_withdrawn(void **state)
{
	struct tp_conn *conn = uk_connect("");
	struct ucm_msg asked = uk_take(UCM_REQ), msg;

	(void)state;
	vrb_cm_ops.disconnect(conn, false);
	msg = uk_take(UCM_DREQ);
	assert_int_equal(msg.dst_id, 0);
	uk_done(conn);
	msg = consent(&asked, "");
	uk_put(&msg);
	uk_take(UCM_RTU);
	msg = uk_take(UCM_DREQ);
	assert_int_equal(msg.dst_id, PEER_ID);
	msg = uk_peer(UCM_DREP, false, &asked);
	uk_put(&msg);
	uk_quiet();
}

/* TU-12, UCM-68, UCM-69: answers without sense end the attempt, and those of others do not. */
static void answers_without_sense(void **state)
{
	struct ucm_msg asked, msg;
	struct tp_conn *conn = uk_connect("");
	uint8_t bytes[300] = { 0 };
	size_t len;

	(void)state;
	asked = uk_take(UCM_REQ);
	for (len = 0; len < sizeof(bytes); len++)
		uk_put_bytes(bytes, len, PEER_QPN);
#define OTHER(field, value)             \
	msg = consent(&asked, "other"); \
	msg.field = value;              \
	uk_put(&msg)
	OTHER(dst_id, asked.src_id + 1);
	OTHER(dst_port, asked.src_port + 1);
	OTHER(src_port, SERVICE + 1);
	OTHER(end.lid, PEER_LID + 1);
	OTHER(end.qpn, 0);
	OTHER(dst_qpn, OWN_QPN + 1);
	OTHER(src_qpn, PEER_QPN + 1); /* from another QP than it says */
	OTHER(version, 6);
	OTHER(op, UCM_RTU);
	OTHER(op, UCM_DREP);
	OTHER(op, 8);
	uk_quiet();
	OTHER(end.qp_type, XCHG_QPT_UD);
	uk_event(TP_CONN_REFUSED);
	uk_take(UCM_DREQ);
	uk_done(conn);
	msg = uk_peer(UCM_DREP, false, &asked);
	uk_put(&msg);
	uk_quiet();
}

/* UCM-4 */
static void ucm_4_qualifiers_nobody_can_have(void **state)
{
	static const uint64_t quals[] = { 0, 65536, UINT64_C(1) << 32 };
	struct ucm_address to = { .lid = PEER_LID, .qpn = PEER_QPN };
	struct sockaddr_in6 addr;
	struct tp_connect param = { .remote = (struct sockaddr *)&addr };
	struct tp_conn *conn;
	unsigned int i;

	(void)state;
	ucm_put_address((uint8_t *)&addr, &to);
	for (i = 0; i < 3; i++) {
		param.conn_qual = quals[i];
		assert_int_equal(vrb_cm_ops.connect(&uk.qp.base, &param, &uk.qp, &conn), 0);
		uk_event(TP_CONN_REFUSED);
		uk_done(conn);
	}
	to.qpn = 0;
	ucm_put_address((uint8_t *)&addr, &to);
	assert_int_equal(vrb_cm_ops.connect(&uk.qp.base, &param, &uk.qp, &conn), -ENETUNREACH);
	uk_quiet();
}

/* UCM-72, TU-19: the data path fails where a peer is gone without a word. */
static void ucm_72_a_fault_ends_it(void **state)
{
	struct ucm_msg asked, msg;
	struct tp_conn *conn = connected(&asked);

	(void)state;
	vrb_qp_set_fault(&uk.qp, TP_WC_TRANSPORT);
	vrb_qp_notify(&uk.qp);
	uk_event(TP_CONN_BROKEN);
	uk_take(UCM_DREQ);
	uk_done(conn);
	msg = uk_peer(UCM_DREP, false, &asked);
	uk_put(&msg);
	uk_quiet();
}

static int send_to_two(void *arg)
{
	const uint8_t bytes[XCHG_HEADER] = { 0 };
	struct ucm_address to = { .qpn = PEER_QPN, .type = XCHG_QPT_UD };
	const uint16_t *lid = arg;

	for (to.lid = *lid; to.lid < *lid + 2; to.lid++)
		vrb_ucm_send(&uk.dev, &to, bytes, sizeof(bytes));
	return 0;
}

/* Until the kernel has looked for one more. */
static void send_until(uint16_t lid, unsigned int num_ahs)
{
	int i;

	for (i = 0; i < WAIT_MS / 10 && uk.num_ahs < num_ahs; i++) {
		dapl_loop_call(uk.dev.base.loop, send_to_two, &lid);
		usleep(10000);
	}
}

/* Of two peers the one is not there that is asked first: whether the other is looked for before that is
 * again. */
static bool other_is_first(uint16_t lid, unsigned int us)
{
	unsigned int num = uk.num_ahs;

	uk.no_ah = true;
	uk.ah_us = us;
	send_until(lid, num + 1);
	assert_int_equal(uk.num_ahs, num + 1);
	uk.no_ah = false;
	send_until(lid, num + 2);
	return uk.num_ahs == num + 2;
}

/*
 * The kernel looks for peers that are not there: the loop waits for it now and then alone, and those
 * that are do not wait as long. A machine that stands still meanwhile gets more time.
 */
static void peers_are_looked_for_seldom(void **state)
{
	unsigned int us = 30000, sent;
	uint16_t lid = 1;

	(void)state;
	while (us < 2000000 && !other_is_first(lid, us)) {
		us *= 2;
		lid += 2;
	}
	assert_true(us < 2000000);
	sent = uk.num_sent;
	send_until(lid, uk.num_ahs + 1);
	assert_true(uk.num_sent > sent);
}

static void *answers_the_end(void *answer)
{
	usleep(50000);
	uk_put(answer);
	return NULL;
}

static void *is_removed(void *unused)
{
	(void)unused;
	usleep(50000);
	atomic_store(&uk.dev.cm_dead, true); /* whatever else has failed */
	vrb_async_removed(&uk.dev);
	return NULL;
}

/* The end of a connection is on its way, and nobody waits for its answer any longer. */
static void close_while(void *(*happens)(void *answer))
{
	struct ucm_msg asked, answer;
	struct tp_conn *conn = connected(&asked);
	pthread_t thread;
	uint64_t begin;

	uk.config.ucm_drep_time_ms = WAIT_MS;
	uk_done(conn);
	uk_take(UCM_DREQ);
	answer = uk_peer(UCM_DREP, false, &asked);
	begin = dapl_now();
	assert_int_equal(pthread_create(&thread, NULL, happens, &answer), 0);
	vrb_cm.stop(&uk.dev);
	assert_in_range(dapl_now() - begin, 50 * MS, WAIT_MS * MS);
	pthread_join(thread, NULL);
	assert_int_equal(vrb_cm.start(&uk.dev), 0);
}

static void the_adapter_closes_when_the_last_end_is_answered(void **state)
{
	(void)state;
	close_while(answers_the_end);
}

static void the_adapter_closes_when_its_device_is_removed(void **state)
{
	(void)state;
	close_while(is_removed);
}

#define T(f) cmocka_unit_test_setup_teardown(f, uk_setup, uk_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(tu_2_request_and_confirmation),
		T(tu_3_nobody_answers),
		T(a_silent_peer_is_looked_up_anew),
		T(ucm_20_a_repeated_consent_is_confirmed),
		T(ucm_25_the_peer_ends),
		T(ucm_26_an_end_that_is_lost),
		T(ucm_27_both_end),
		T(tu_5_refusals),
		T(tu_9_an_attempt_is_withdrawn),
		T(answers_without_sense),
		T(ucm_4_qualifiers_nobody_can_have),
		T(ucm_72_a_fault_ends_it),
		T(peers_are_looked_for_seldom),
		T(the_adapter_closes_when_the_last_end_is_answered),
		T(the_adapter_closes_when_its_device_is_removed),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
