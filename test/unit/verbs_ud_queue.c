/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The QP that all messages of an adapter go through fails, and comes back. */
#include "test/unit/verbs_ud_util.h"

#include <stdio.h>

#include "dapl/base/loop_call.h"
#include "providers/verbs/async.h"

static unsigned int count(const unsigned int *counter)
{
	unsigned int num;

	pthread_mutex_lock(&uk.lock);
	num = *counter;
	pthread_mutex_unlock(&uk.lock);
	return num;
}

/* The next message of this kind: others may be repeated. */
static struct ucm_msg next(enum ucm_op op)
{
	struct ucm_msg msg;
	const char *why;

	for (;; uk.taken++) {
		uk_await(&uk.num_sent, uk.taken + 1);
		assert_int_equal(
			ucm_decode(uk.sent[uk.taken].bytes, uk.sent[uk.taken].len, &msg, &why), 0);
		if (msg.op == op)
			return uk_take(op);
	}
}

static void messages_end(enum ibv_wc_status status)
{
	pthread_mutex_lock(&uk.lock);
	uk.cm_sends = status;
	pthread_mutex_unlock(&uk.lock);
}

/* It is in service for the second time, with all of its receives, and peers are heard and answered. */
static void is_back(void)
{
	struct ucm_msg msg;
	struct tp_conn *conn;

	uk_await(&uk.cm_begun, 2);
	assert_int_equal(count(&uk.cm_receives), uk.ucm.queue.size);
	conn = uk_connect("");
	msg = next(UCM_REQ);
	msg = uk_peer(UCM_REP, false, &msg);
	uk_put(&msg);
	uk_event(TP_CONN_ESTABLISHED);
	next(UCM_RTU);
	uk_done(conn);
	next(UCM_DREQ);
}

static void tell_event(struct ibv_async_event event)
{
	pthread_mutex_lock(&uk.lock);
	uk.event_of_device = event;
	pthread_mutex_unlock(&uk.lock);
	vrb_async_poll(&uk.dev);
}

static void tell(enum ibv_event_type type)
{
	tell_event((struct ibv_async_event){ .element.qp = &uk.cmqp, .event_type = type });
}

static void its_event_brings_it_back(void **state)
{
	(void)state;
	uk_cm_state(IBV_QPS_ERR);
	tell(IBV_EVENT_QP_FATAL);
	is_back();
	assert_int_equal(count(&uk.cm_resets), 1);
}

static void a_flush_that_nobody_asked_for_brings_it_back(void **state)
{
	(void)state;
	uk_cm_state(IBV_QPS_ERR);
	/* Both before it is reset, as a device has it. */
	pthread_mutex_lock(&uk.lock);
	uk.cm_wc[uk.num_cm_wcs++] = (struct ibv_wc){ .status = IBV_WC_WR_FLUSH_ERR };
	pthread_mutex_unlock(&uk.lock);
	uk_cm_received(IBV_WC_WR_FLUSH_ERR);
	is_back();
	assert_int_equal(count(&uk.cm_resets), 1);
}

static void a_receive_that_failed_brings_it_back(void **state)
{
	(void)state;
	uk_cm_state(IBV_QPS_ERR);
	uk_cm_received(IBV_WC_LOC_PROT_ERR);
	is_back();
}

/* That it did shows when the next one is to be sent. */
static void a_message_that_failed_brings_it_back(void **state)
{
	struct tp_conn *conn = uk_connect("");

	(void)state;
	next(UCM_REQ);
	messages_end(IBV_WC_LOC_QP_OP_ERR);
	uk_cm_state(IBV_QPS_ERR);
	uk_done(conn);
	uk_await(&uk.cm_begun, 2);
	messages_end(IBV_WC_SUCCESS);
	next(UCM_DREQ);
	is_back();
}

static void a_device_that_refuses_is_asked_again(void **state)
{
	(void)state;
	uk.cm_refusals = 3;
	uk_cm_state(IBV_QPS_ERR);
	tell(IBV_EVENT_QP_FATAL);
	is_back();
	assert_int_equal(count(&uk.cm_resets), 4);
}

/* As of a message that is too long, on devices that stay in service then. */
static void where_it_stays_in_service_it_is_left_alone(void **state)
{
	(void)state;
	uk_cm_received(IBV_WC_LOC_LEN_ERR);
	tell(IBV_EVENT_QP_REQ_ERR);
	uk_quiet();
	assert_int_equal(count(&uk.cm_resets), 0);
	assert_int_equal(count(&uk.cm_receives), uk.ucm.queue.size);
}

/* UCM-16: an attempt meanwhile has its time, as where a peer is silent; and the adapter closes. */
static void nobody_waits_for_it(void **state)
{
	struct tp_conn *conn;

	(void)state;
	uk.config.ucm_rep_time_ms = 10;
	uk.config.ucm_retry = 2;
	uk.cm_refusals = 1000;
	uk_cm_state(IBV_QPS_ERR);
	tell(IBV_EVENT_QP_FATAL);
	uk_await(&uk.cm_resets, 1);
	conn = uk_connect("");
	uk_event(TP_CONN_UNREACHABLE);
	uk_done(conn);
	assert_int_equal(count(&uk.num_sent), 0);
	assert_int_equal(count(&uk.num_ahs), 0); /* for what is not sent */
	assert_int_equal(count(&uk.cm_begun), 1);
}

/* ---- What else becomes of it ---- */

static void all_is_heard(void)
{
	int i;

	for (i = 0; i < WAIT_MS && count(&uk.num_cm_wcs); i++)
		usleep(1000);
	assert_int_equal(count(&uk.num_cm_wcs), 0);
}

static void a_device_that_gives_no_notice_is_looked_at(void **state)
{
	(void)state;
	pthread_mutex_lock(&uk.lock);
	uk.no_notice = true;
	pthread_mutex_unlock(&uk.lock);
	uk_cm_received(IBV_WC_SUCCESS);
	all_is_heard();
	pthread_mutex_lock(&uk.lock);
	uk.cm_wc[uk.num_cm_wcs++] = (struct ibv_wc){ .status = IBV_WC_SUCCESS };
	pthread_mutex_unlock(&uk.lock);
	all_is_heard();
}

static void the_end_of_its_completion_queue_is_said(void **state)
{
	char text[512] = "";
	int old = dup(STDERR_FILENO);
	FILE *file = tmpfile();

	(void)state;
	assert_non_null(file);
	dup2(fileno(file), STDERR_FILENO);
	tell_event((struct ibv_async_event){ .element.cq = &uk.ibcq[1],
					     .event_type = IBV_EVENT_CQ_ERR });
	dup2(old, STDERR_FILENO);
	close(old);
	rewind(file);
	assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
	fclose(file);
	assert_non_null(strstr(text, "completion queue of connection messages failed"));
	/* Nor is it said to be in service again when its QP follows it. */
	uk_cm_state(IBV_QPS_ERR);
	tell(IBV_EVENT_QP_FATAL);
	uk_cm_received(IBV_WC_WR_FLUSH_ERR);
	uk_quiet();
	assert_int_equal(count(&uk.cm_resets), 0);
}

/* As bnxt_re's library does of one that is too long. */
static void a_queue_that_is_refused_without_a_reason_is_missed(void **state)
{
	(void)state;
	uk.config.ucm_drep_time_ms = 1;
	vrb_cm.stop(&uk.dev);
	uk.no_cq = true;
	assert_int_equal(vrb_cm.start(&uk.dev), -ENOMEM);
	uk.no_cq = false;
	assert_int_equal(vrb_cm.start(&uk.dev), 0);
}

static int own_lid(void *arg)
{
	(void)arg;
	return uk.ucm.own.lid;
}

static void change_lid(void)
{
	int i;

	uk.lid = OWN_LID + 1;
	tell_event((struct ibv_async_event){ .element.port_num = uk.dev.port,
					     .event_type = IBV_EVENT_PORT_ACTIVE });
	for (i = 0; i < WAIT_MS && dapl_loop_call(uk.dev.base.loop, own_lid, NULL) != uk.lid; i++)
		usleep(1000);
}

/* Or the peer does not know whose answer it is. */
static void a_port_with_another_lid_answers_by_that(void **state)
{
	struct ucm_msg msg = uk_peer(UCM_REQ, true, NULL);

	(void)state;
	uk.refuses = -ENOMEM;
	change_lid();
	uk_put(&msg);
	assert_int_equal(next(UCM_REJ_CM).end.lid, OWN_LID + 1);
}

static void a_request_is_rejected_by_the_lid_that_it_came_to(void **state)
{
	struct ucm_msg msg = uk_peer(UCM_REQ, true, NULL);
	struct tp_conn *conn;

	(void)state;
	uk_put(&msg);
	conn = uk_request(1);
	change_lid();
	assert_int_equal(vrb_cm_ops.reject(conn, "no", 2), 0);
	assert_int_equal(next(UCM_REJ_USER).end.lid, OWN_LID);
}

#define T(f) cmocka_unit_test_setup_teardown(f, uk_setup, uk_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(its_event_brings_it_back),
		T(a_flush_that_nobody_asked_for_brings_it_back),
		T(a_receive_that_failed_brings_it_back),
		T(a_message_that_failed_brings_it_back),
		T(a_device_that_refuses_is_asked_again),
		T(where_it_stays_in_service_it_is_left_alone),
		T(nobody_waits_for_it),
		T(a_device_that_gives_no_notice_is_looked_at),
		T(the_end_of_its_completion_queue_is_said),
		T(a_queue_that_is_refused_without_a_reason_is_missed),
		T(a_port_with_another_lid_answers_by_that),
		T(a_request_is_rejected_by_the_lid_that_it_came_to),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
