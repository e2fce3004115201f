/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The datagram connection manager resolves the addresses of datagram endpoints (UCM-41 to UCM-46, TU-18). */
#include "test/unit/verbs_ud_util.h"
#include "providers/verbs/watchdog.h"

static int setup(void **state)
{
	int rc = uk_setup(state);

	uk.qp.ud = true;
	return rc;
}

/* The QP is served until it is destroyed, which this one never is. */
static int teardown(void **state)
{
	if (uk.qp.served)
		vrb_watchdog_remove(&uk.dev);
	return uk_teardown(state);
}

static struct ucm_msg of_ud(enum ucm_op op, bool asked, const struct ucm_msg *ours)
{
	struct ucm_msg msg = uk_peer(op, asked, ours);

	msg.end.qp_type = XCHG_QPT_UD;
	msg.end.reads_in = 0;
	return msg;
}

static void check_peer(void)
{
	assert_ptr_equal(uk.peer.ah, &uk.ah);
	assert_int_equal(uk.peer.qpn, PEER_EP);
	assert_int_equal(uk.path.dlid, PEER_LID);
}

/* ---- The asking side ---- */

static struct tp_conn *resolved(struct ucm_msg *asked, struct ucm_msg *answer)
{
	struct tp_conn *conn = uk_connect("ask");
	struct ucm_msg confirmed;

	*asked = uk_take(UCM_REQ);
	*answer = of_ud(UCM_REP, false, asked);
	answer->data = (const uint8_t *)"yes";
	answer->len = 3;
	uk_put(answer);
	confirmed = uk_take(UCM_RTU);
	assert_int_equal(confirmed.dst_id, PEER_ID);
	assert_int_equal(confirmed.end.qp_type, XCHG_QPT_UD);
	uk_event(TP_CONN_ESTABLISHED);
	return conn;
}

/* UCM-41, UCM-42; UCM-45: nothing is said at the end, and what the peer repeats is answered after it. */
static void ucm_42_the_asking_side_gets_the_address(void **state)
{
	struct ucm_msg asked, answer, end;
	struct tp_conn *conn = resolved(&asked, &answer);

	(void)state;
	assert_int_equal(asked.end.qp_type, XCHG_QPT_UD);
	assert_int_equal(asked.end.qpn, 0x4711);
	assert_int_equal(asked.dst[27], XCHG_QPT_UD); /* UCM-10 */
	assert_int_equal(uk.len, 3);
	check_peer();
	uk_put(&answer);
	uk_take(UCM_RTU);
	end = of_ud(UCM_DREQ, false, &asked);
	uk_put(&end);
	uk_take(UCM_DREP);
	uk_quiet();
	uk_done(conn);
	uk_quiet();
	uk_put(&answer);
	uk_take(UCM_RTU);
	uk_quiet();
}

/* An answer that comes too late is not confirmed (IBX-76). */
static void ibx_76_a_given_up_attempt_is_withdrawn(void **state)
{
	struct tp_conn *conn = uk_connect("");
	struct ucm_msg asked = uk_take(UCM_REQ), answer = of_ud(UCM_REP, false, &asked), msg;

	(void)state;
	uk_done(conn);
	uk_take(UCM_DREQ);
	uk_put(&answer);
	msg = uk_take(UCM_DREQ);
	assert_int_equal(msg.dst_id, PEER_ID);
	msg = of_ud(UCM_DREP, false, &asked);
	uk_put(&msg);
	uk_quiet();
}

/* UCM-44; and UCM-69 the other way round: an endpoint of connections answers. */
static void ucm_44_refusals(void **state)
{
	struct tp_conn *conn = uk_connect("");
	struct ucm_msg asked = uk_take(UCM_REQ), answer = of_ud(UCM_REJ_USER, false, &asked);

	(void)state;
	answer.data = (const uint8_t *)"no";
	answer.len = 2;
	uk_put(&answer);
	uk_event(TP_CONN_REJECTED);
	assert_int_equal(uk.len, 2);
	uk_done(conn);
	conn = uk_connect("");
	asked = uk_take(UCM_REQ);
	answer = of_ud(UCM_REJ_CM, false, &asked);
	uk_put(&answer);
	uk_event(TP_CONN_REFUSED);
	uk_done(conn);
	conn = uk_connect("");
	asked = uk_take(UCM_REQ);
	answer = of_ud(UCM_REP, false, &asked);
	answer.end.qp_type = XCHG_QPT_RC;
	uk_put(&answer);
	uk_event(TP_CONN_REFUSED);
	uk_take(UCM_DREQ);
	uk_done(conn);
	answer = of_ud(UCM_DREP, false, &asked);
	uk_put(&answer);
	uk_quiet();
}

static void without_a_handle_there_is_no_confirmation(void **state)
{
	struct tp_conn *conn = uk_connect("");
	struct ucm_msg asked = uk_take(UCM_REQ), answer = of_ud(UCM_REP, false, &asked);

	(void)state;
	uk.no_ah = true;
	uk_put(&answer);
	uk_event(TP_CONN_BROKEN);
	assert_int_equal(uk.err, -ENOMEM);
	uk.no_ah = false;
	uk_take(UCM_DREQ);
	uk_done(conn);
	answer = of_ud(UCM_DREP, false, &asked);
	uk_put(&answer);
	uk_quiet();
}

/* The endpoint can be used as before an attempt that could not begin (IBX-62). */
static void a_qp_that_is_not_made_ready_can_be_later(void **state)
{
	static const enum ibv_qp_state refused[] = { IBV_QPS_RTR, IBV_QPS_RTS };
	struct ucm_msg asked, answer;
	struct tp_conn *conn;

	(void)state;
	assert_int_equal(vrb_qp_post_recv(&uk.qp.base, 7, NULL, 0), 0);
	for (int i = 0; i < 2; i++) {
		uk.refused = refused[i];
		conn = uk_connect("");
		uk_event(TP_CONN_BROKEN);
		uk_done(conn);
		assert_int_equal(uk.receives, 0);
		assert_int_equal(vrb_qp_post_recv(&uk.qp.base, 8, NULL, 0), 0);
	}
	conn = resolved(&asked, &answer);
	assert_int_equal(uk.receives, 3);
	assert_int_equal(vrb_queue_used(&uk.qp.rq), 3);
	uk_done(conn);
}

/* ---- The side that is asked ---- */

static struct tp_conn *accepted(struct ucm_msg *ours)
{
	struct ucm_msg asked = of_ud(UCM_REQ, true, NULL);
	struct tp_conn *conn;

	uk_put(&asked);
	conn = uk_request(1);
	assert_true(uk.ud);
	uk_accept(conn, "yes");
	*ours = uk_take(UCM_REP);
	assert_int_equal(ours->end.qp_type, XCHG_QPT_UD);
	assert_int_equal(ours->end.qpn, 0x4711);
	assert_int_equal(ours->end.mtu, IBV_MTU_1024); /* the lesser of both */
	return conn;
}

static void ucm_42_the_other_side_gets_the_address(void **state)
{
	struct ucm_msg ours, msg;
	struct tp_conn *conn = accepted(&ours);

	(void)state;
	msg = of_ud(UCM_RTU, true, &ours);
	uk_put(&msg);
	uk_event(TP_CONN_ESTABLISHED);
	check_peer();
	uk_put(&msg);
	uk_done(conn);
	/* A request that the network kept for long is none of a new connection. */
	msg = of_ud(UCM_REQ, true, NULL);
	msg.retrans = 1;
	uk_put(&msg);
	uk_quiet();
	assert_int_equal(uk.num_requests, 1);
}

/* IBX-76: the asking side says that it has given up, which does not confirm here. */
static void ibx_76_it_is_never_confirmed(void **state)
{
	struct ucm_msg ours, msg;
	struct tp_conn *conn = accepted(&ours);

	(void)state;
	msg = of_ud(UCM_DREQ, true, &ours);
	uk_put(&msg);
	uk_take(UCM_DREP);
	uk_event(TP_CONN_BROKEN);
	uk_done(conn);
	uk_quiet();
}

/* An endpoint that is freed refuses whom it had accepted, while that has not heard of it. */
static void ibx_65_freed_before_it_is_confirmed(void **state)
{
	struct ucm_msg ours, msg;
	struct tp_conn *conn = accepted(&ours);

	(void)state;
	uk_done(conn);
	msg = uk_take(UCM_REJ_CM);
	assert_int_equal(msg.end.qp_type, XCHG_QPT_UD); /* UCM-10 */
	assert_int_equal(msg.dst_id, PEER_ID);
	msg = of_ud(UCM_RTU, true, &ours);
	uk_put(&msg);
	uk_quiet();
}

/* Its QP fails while it accepts. */
static void a_qp_that_was_flushed_is_not_offered(void **state)
{
	struct ucm_msg asked = of_ud(UCM_REQ, true, NULL);
	struct tp_conn *conn;

	(void)state;
	uk_put(&asked);
	conn = uk_request(1);
	uk.flushes = true;
	uk_accept(conn, "yes");
	uk_event(TP_CONN_BROKEN);
	assert_int_equal(uk.err, -EIO);
	uk_take(UCM_REJ_CM);
	uk_done(conn);
	uk_quiet();
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(ucm_42_the_asking_side_gets_the_address),
		T(ibx_76_a_given_up_attempt_is_withdrawn),
		T(ucm_44_refusals),
		T(without_a_handle_there_is_no_confirmation),
		T(a_qp_that_is_not_made_ready_can_be_later),
		T(ucm_42_the_other_side_gets_the_address),
		T(ibx_76_it_is_never_confirmed),
		T(ibx_65_freed_before_it_is_confirmed),
		T(a_qp_that_was_flushed_is_not_offered),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
