/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a device owes of a QP that ends, and does not give in time. The device is this program's. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "dapl/base/clock.h"
#include "providers/verbs/cm/cm.h"
#include "test/unit/verbs_cq_rig.h"

enum {
	LONG_MS = 60000,
	SOON_MS = 30000,
};

static struct vrb_config config;

static void wait_for_flush(uint64_t ms)
{
	config = vrb_config;
	config.flush_ms = ms;
	t.dev.config = &config;
}

static int post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)ibqp;
	(void)bad;
	t.posted = wr->wr_id;
	return 0;
}

/* A QP whose peer has not answered yet, with a receive that the device has. */
static struct vrb_qp *asking_qp(uint64_t id)
{
	const struct tp_qp_attr attr = { .pd = &t.pd.base,
					 .send_cq = &t.cq.base,
					 .recv_cq = &t.cq.base,
					 .max_send_wr = 2,
					 .max_send_sge = 1,
					 .max_recv_wr = 2,
					 .max_recv_sge = 1 };
	struct tp_qp *qp;

	t.ctx.ops.post_recv = post_recv;
	assert_int_equal(vrb_qp_ops.create(&t.dev.base, &attr, &t, &qp), 0);
	qp->lock = &t.qp_lock;
	assert_int_equal(vrb_qp_ops.post_recv(qp, id, NULL, 0), 0);
	assert_int_equal(vrb_qp_post_receives(vrb_qp(qp)), 0);
	atomic_store(&vrb_qp(qp)->live, true);
	return vrb_qp(qp);
}

static void flushed(uint64_t id)
{
	struct tp_wc wc = completion();

	assert_int_equal(wc.wr_id, id);
	assert_int_equal(wc.status, TP_WC_FLUSHED);
}

/* ---- Work that the device owes ---- */

/* As of a connection attempt that is given up: the QP is somebody else's to destroy, later. */
static void what_an_abandoned_qp_owes_is_nobodys(void **state)
{
	struct vrb_qp *qp = asking_qp(5);

	(void)state;
	wait_for_flush(1);
	assert_ptr_equal(vrb_qp_orphan(qp), &t.ibqp[0]);
	flushed(5);
	give(FIRST_NUMBER, IBV_WC_WR_FLUSH_ERR);
	no_completion();
	vrb_qp_ops.destroy(&qp->base);
	give(FIRST_NUMBER, IBV_WC_WR_FLUSH_ERR);
	no_completion();
	vrb_late_free_all(&t.dev);
}

static void what_an_abandoned_qp_gave_keeps_no_ring(void **state)
{
	struct vrb_qp *qp = asking_qp(5);

	(void)state;
	give(FIRST_NUMBER, IBV_WC_WR_FLUSH_ERR);
	assert_ptr_equal(vrb_qp_orphan(qp), &t.ibqp[0]);
	flushed(5);
	no_completion();
	assert_null(t.dev.late);
	vrb_qp_ops.destroy(&qp->base);
}

/* ---- An event that is looked at ---- */

static sem_t looked_at, freed;
static atomic_bool looking;

static bool in_time(sem_t *sem, time_t seconds)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += seconds;
	return !sem_timedwait(sem, &until);
}

/* In the message about it, which takes a moment, or until the QP is freed. */
const char *ibv_event_type_str(enum ibv_event_type type)
{
	const struct vrb_qp *qp = t.event.element.qp ? t.event.element.qp->qp_context : NULL;

	if (type != IBV_EVENT_QP_FATAL || !atomic_load(&qp->fault))
		return "event";
	atomic_store(&looking, true);
	sem_post(&looked_at);
	(void)in_time(&freed, 1);
	atomic_store(&looking, false);
	return "event";
}

static void *look(void *arg)
{
	vrb_async_poll(arg);
	return NULL;
}

/* The device's own QP is destroyed later, which the event would keep it from. */
static void an_abandoned_qp_outlives_its_event(void **state)
{
	struct vrb_qp *qp = asking_qp(5);
	bool looked;
	pthread_t thread;

	(void)state;
	wait_for_flush(1);
	sem_init(&looked_at, 0, 0);
	sem_init(&freed, 0, 0);
	t.event = (struct ibv_async_event){ .element.qp = &t.ibqp[0],
					    .event_type = IBV_EVENT_QP_FATAL };
	t.pending = true;
	assert_int_equal(pthread_create(&thread, NULL, look, &t.dev), 0);
	assert_true(in_time(&looked_at, SOON_MS / 1000));
	assert_ptr_equal(vrb_qp_orphan(qp), &t.ibqp[0]);
	looked = atomic_load(&looking);
	sem_post(&freed);
	pthread_join(thread, NULL);
	assert_false(looked);
	assert_null(t.ibqp[0].qp_context);
	flushed(5);
	vrb_qp_ops.destroy(&qp->base);
	vrb_late_free_all(&t.dev);
}

/* ---- A CQ that the device has given up ---- */

/* EVD-95: no receive of the SRQ can come back there. */
static void a_dead_cq_is_not_waited_for(void **state)
{
	struct vrb_qp *qp = qp_new(true);
	uint64_t begin = dapl_now();

	(void)state;
	wait_for_flush(LONG_MS);
	t.dev.quirks.no_last_wqe = false;
	t.ctx.async_fd = -1;
	atomic_store(&t.cq.dead, true);
	vrb_qp_to_error(qp);
	assert_true(dapl_now() - begin < (uint64_t)SOON_MS * 1000000);
	vrb_qp_ops.destroy(&qp->base);
}

/* The core gives it its lock later, and the queue may die before. */
static void a_dead_cq_leaves_a_qp_alone_that_is_not_in_use(void **state)
{
	const struct tp_qp_attr attr = { .pd = &t.pd.base,
					 .send_cq = &t.cq.base,
					 .recv_cq = &t.cq.base,
					 .max_send_wr = 2,
					 .max_send_sge = 1 };
	struct tp_qp *qp;

	(void)state;
	assert_int_equal(vrb_qp_ops.create(&t.dev.base, &attr, &t, &qp), 0);
	atomic_store(&t.cq.dead, true);
	vrb_qp_cq_died(&t.dev);
	assert_int_equal(atomic_load(&vrb_qp(qp)->fault), 0);
	qp->lock = &t.qp_lock;
	atomic_store(&vrb_qp(qp)->live, true);
	vrb_qp_open(vrb_qp(qp));
	assert_int_equal(atomic_load(&vrb_qp(qp)->fault), TP_WC_TRANSPORT);
	vrb_qp_ops.destroy(qp);
}

/* ---- Ends ---- */

static int refuse_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)ibqp;
	(void)wr;
	(void)bad;
	return ENOMEM;
}

/* Or a graceful end waits for ever. */
static void an_end_that_cannot_be_told_of_is_a_fault(void **state)
{
	struct tp_wr wr = { .wr_id = 5, .opcode = TP_SEND };
	struct vrb_qp *qp = qp_new(false);

	(void)state;
	assert_int_equal(vrb_qp_post_send(&qp->base, &wr), 0);
	t.ctx.ops.post_send = refuse_send;
	qp->sq.cq = NULL; /* which nobody is to wait for here */
	vrb_cm_begin_drain(qp);
	assert_int_equal(atomic_load(&qp->fault), TP_WC_TRANSPORT);
	qp->sq.cq = &t.cq;
	wait_for_flush(1);
	vrb_qp_ops.destroy(&qp->base);
	vrb_late_free_all(&t.dev);
}

/* What a peer sent establishes the connection that it was sent on. */
static void a_new_connection_has_heard_nothing_yet(void **state)
{
	struct vrb_qp *qp = qp_new(false);

	(void)state;
	t.event = (struct ibv_async_event){ .element.qp = &t.ibqp[0],
					    .event_type = IBV_EVENT_COMM_EST };
	t.pending = true;
	vrb_async_poll(&t.dev);
	assert_true(atomic_load(&qp->peer_sent));
	assert_int_equal(vrb_qp_ops.reset(&qp->base), 0);
	assert_false(atomic_load(&qp->peer_sent));
	vrb_qp_ops.destroy(&qp->base);
}

#define RXE(f) cmocka_unit_test_setup_teardown(f, setup_rxe, teardown)
#define SIW(f) cmocka_unit_test_setup_teardown(f, setup_siw, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		RXE(what_an_abandoned_qp_owes_is_nobodys),
		RXE(what_an_abandoned_qp_gave_keeps_no_ring),
		SIW(what_an_abandoned_qp_gave_keeps_no_ring),
		RXE(an_abandoned_qp_outlives_its_event),
		RXE(a_dead_cq_is_not_waited_for),
		RXE(a_dead_cq_leaves_a_qp_alone_that_is_not_in_use),
		RXE(an_end_that_cannot_be_told_of_is_a_fault),
		RXE(a_new_connection_has_heard_nothing_yet),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
