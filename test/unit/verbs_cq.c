/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Whose a completion is, and what it means, where the device says little. The device is this
 * program's. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "providers/verbs/cm/cm.h"
#include "test/unit/verbs_cq_rig.h"

static void settled(struct tp_task *task)
{
	(void)task;
	sem_post(&t.settled);
}

/* What the loop has to do is done. */
static void settle(void)
{
	struct timespec deadline;

	t.settle.run = settled;
	sem_init(&t.settled, 0, 0);
	dapl_loop_post(t.dev.base.loop, &t.settle);
	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += 30;
	assert_int_equal(sem_timedwait(&t.settled, &deadline), 0);
	sem_destroy(&t.settled);
}

/* ---- Receives of an SRQ ---- */

static void a_modified_qp_is_found_by_its_new_number(void **state)
{
	const struct tp_qp_attr attr = { .pd = &t.pd.base,
					 .send_cq = &t.cq.base,
					 .recv_cq = &t.cq.base,
					 .max_send_wr = 9,
					 .max_send_sge = 1 };
	struct vrb_qp *qp = qp_new(true);

	(void)state;
	qp->sq.mode = VRB_QUEUE_IDLE; /* idle */
	assert_int_equal(vrb_qp_ops.modify(&qp->base, &attr), 0);
	assert_int_equal(t.made, 2);
	assert_null(vrb_qp_by_number(&t.dev, FIRST_NUMBER));
	assert_ptr_equal(vrb_qp_by_number(&t.dev, FIRST_NUMBER + 1), qp);
	assert_ptr_equal(t.ibqp[1].qp_context, qp);
	assert_int_equal(vrb_srq_ops.post(&t.srq->base, 7, NULL, 0), 0);
	give(FIRST_NUMBER + 1, IBV_WC_SUCCESS);
	assert_int_equal(completion().wr_id, 7);
	vrb_qp_ops.destroy(&qp->base);
	assert_null(vrb_qp_by_number(&t.dev, FIRST_NUMBER + 1));
}

static void what_comes_while_a_qp_is_destroyed_is_its_own(void **state)
{
	struct vrb_qp *qp = qp_new(true);
	struct tp_wc wc;

	(void)state;
	assert_int_equal(vrb_srq_ops.post(&t.srq->base, 7, NULL, 0), 0);
	t.last_words = true;
	vrb_qp_ops.destroy(&qp->base);
	wc = completion();
	assert_int_equal(wc.wr_id, 7);
	assert_int_equal(wc.status, TP_WC_FLUSHED);
	assert_ptr_equal(wc.qp_owner, &t);
	assert_int_equal(vrb_srq_ops.post(&t.srq->base, 8, NULL, 0), 0);
}

static void a_receive_that_is_nobodys_leaves_its_place(void **state)
{
	(void)state;
	assert_int_equal(vrb_srq_ops.post(&t.srq->base, 7, NULL, 0), 0);
	assert_int_equal(vrb_srq_ops.post(&t.srq->base, 8, NULL, 0), -ENOMEM);
	give(FIRST_NUMBER, IBV_WC_WR_FLUSH_ERR);
	no_completion();
	assert_int_equal(vrb_srq_ops.post(&t.srq->base, 8, NULL, 0), 0);
}

static void there_is_room_for_as_many_as_the_queue_has(void **state)
{
	struct vrb_qp *first = qp_new(true), *second;
	uint32_t requests = t.cq.attached - 1; /* of each QP */

	(void)state;
	assert_int_equal(vrb_srq_ops.resize(&t.srq->base, 40), 0);
	assert_int_equal(t.cq.attached, requests + 40);
	second = qp_new(true);
	assert_int_equal(t.cq.attached, 2 * requests + 40);
	vrb_qp_ops.destroy(&first->base);
	assert_int_equal(t.cq.attached, requests + 40);
	vrb_qp_ops.destroy(&second->base);
	assert_int_equal(t.cq.attached, 0);
}

/* The device tells before the call that asked for it returns. */
static void a_limit_that_is_met_at_once_is_told(void **state)
{
	(void)state;
	t.srq->base.owner = &t;
	assert_int_equal(vrb_srq_ops.post(&t.srq->base, 7, NULL, 0), 0);
	t.falls = true;
	dapl_loop_enter(t.dev.base.loop);
	assert_int_equal(vrb_srq_ops.arm(&t.srq->base, 1), 0);
	dapl_loop_leave(t.dev.base.loop);
	settle();
	assert_int_equal(t.told, 1);
}

/* SRQ-26, SRQ-27: the device takes the receive before, or while, the limit is set; nobody has polled. */
static void a_limit_that_was_met_is_told_once(void **state)
{
	struct vrb_qp *qp = qp_new(true);

	(void)state;
	t.srq->base.owner = &t;
	for (int i = 1; i <= 2; i++) {
		assert_int_equal(vrb_srq_ops.post(&t.srq->base, 7, NULL, 0), 0);
		t.taken = i == 2;
		if (!t.taken)
			give(FIRST_NUMBER, IBV_WC_SUCCESS);
		assert_int_equal(vrb_srq_ops.arm(&t.srq->base, 1), 0);
		settle();
		assert_int_equal(t.told, i);
		vrb_srq_event(t.srq, TP_ASYNC_SRQ_LIMIT); /* the device's, of the same */
		settle();
		assert_int_equal(t.told, i);
		assert_int_equal(completion().wr_id, 7);
	}
	vrb_qp_ops.destroy(&qp->base);
}

/* FL-2: a failure does not overtake what waits for the connection to be announced. */
static void a_flushed_receive_waits_behind_those_before_it(void **state)
{
	struct vrb_qp *qp = qp_new(true);

	(void)state;
	vrb_cq_defer(&t.cq, qp);
	assert_int_equal(vrb_srq_ops.post(&t.srq->base, 7, NULL, 0), 0);
	give(FIRST_NUMBER, IBV_WC_SUCCESS);
	no_completion();
	assert_int_equal(vrb_srq_ops.post(&t.srq->base, 8, NULL, 0), 0);
	give(FIRST_NUMBER, IBV_WC_WR_FLUSH_ERR);
	no_completion();
	vrb_cq_deliver(&t.cq, qp);
	assert_int_equal(completion().wr_id, 7);
	assert_int_equal(completion().wr_id, 8);
	vrb_qp_ops.destroy(&qp->base);
}

/* ---- What went wrong ---- */

static void receive_with(enum ibv_wc_status status, uint32_t means)
{
	struct vrb_qp *qp = qp_new(true);

	assert_int_equal(vrb_srq_ops.post(&t.srq->base, 7, NULL, 0), 0);
	give(FIRST_NUMBER, status);
	assert_int_equal(completion().status, means);
	assert_int_equal(atomic_load(&qp->fault), means);
	vrb_qp_ops.destroy(&qp->base);
}

/* EVT-12 */
static void a_torn_receive_of_siw_has_no_wrong_length(void **state)
{
	(void)state;
	receive_with(IBV_WC_GENERAL_ERR, TP_WC_PARTIAL_PACKET);
}

static void a_receive_of_siw_that_is_too_short(void **state)
{
	(void)state;
	receive_with(IBV_WC_LOC_LEN_ERR, TP_WC_LOCAL_LENGTH);
}

static void a_receive_of_rxe_that_is_too_short(void **state)
{
	(void)state;
	receive_with(IBV_WC_LOC_QP_OP_ERR, TP_WC_LOCAL_LENGTH);
}

/* ---- The peer closed ---- */

static void post(struct vrb_qp *qp, enum tp_opcode opcode, const struct tp_sge *sge)
{
	struct tp_wr wr = { .wr_id = 5,
			    .sge = sge,
			    .num_sge = sge ? 1 : 0,
			    .one.length = sge ? sge->length : 0,
			    .opcode = opcode,
			    .flags = TP_WR_SIGNALED };

	assert_int_equal(vrb_qp_post_send(&qp->base, &wr), 0);
}

static void event(enum ibv_event_type type)
{
	t.event = (struct ibv_async_event){ .element.qp = &t.ibqp[0], .event_type = type };
	t.pending = true;
	vrb_async_poll(&t.dev);
	assert_false(t.pending || t.unacked);
	settle();
}

static void a_request_that_meets_a_closed_connection_is_flushed(void **state)
{
	static const enum tp_opcode opcodes[] = { TP_SEND, TP_RDMA_WRITE };
	struct vrb_qp *qp = qp_new(false);

	(void)state;
	for (int i = 0; i < 2; i++) {
		post(qp, opcodes[i], NULL);
		give(FIRST_NUMBER, IBV_WC_LOC_QP_OP_ERR);
		event(IBV_EVENT_QP_FATAL);
		event(IBV_EVENT_SQ_DRAINED);
		assert_int_equal(atomic_load(&qp->fault), 0);
		assert_int_equal(t.told, 0);
		assert_int_equal(completion().status, TP_WC_FLUSHED);
	}
	vrb_qp_ops.destroy(&qp->base);
}

static void drains_meet_it_too(void **state)
{
	struct vrb_qp *qp = qp_new(false);

	(void)state;
	post(qp, TP_SEND, NULL);
	qp->sq.wr[0].flags |= VRB_WR_UNSIGNALED;
	assert_int_equal(vrb_qp_drain(qp), 0);
	assert_true(((struct vrb_wr *)(uintptr_t)t.posted)->flags & VRB_WR_INTERNAL);
	give(FIRST_NUMBER, IBV_WC_LOC_QP_OP_ERR);
	event(IBV_EVENT_QP_FATAL);
	assert_int_equal(atomic_load(&qp->fault), 0);
	assert_int_equal(t.told, 0);
	vrb_qp_ops.destroy(&qp->base);
}

/* soft-iWARP's kernel sends in the call, and SIGPIPE ends a program by default. */
static void a_post_on_a_closed_connection_raises_nothing(void **state)
{
	struct vrb_qp *qp = qp_new(false);
	sigset_t blocked;

	(void)state;
	t.closed = true;
	post(qp, TP_SEND, NULL);
	give(FIRST_NUMBER, IBV_WC_LOC_QP_OP_ERR);
	assert_int_equal(completion().status, TP_WC_FLUSHED);
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	assert_false(sigismember(&blocked, SIGPIPE));
	vrb_qp_ops.destroy(&qp->base);
}

/* The kernel is just ending the connection, and flushes what is queued. */
static void a_request_that_is_queued_and_not_told_is_taken(void **state)
{
	struct vrb_qp *qp = qp_new(false);
	struct tp_wr wr = { .wr_id = 5, .opcode = TP_SEND, .flags = TP_WR_SIGNALED };

	(void)state;
	wr.sge = &wr.one;
	t.unheard = ENOTCONN;
	assert_int_equal(qp->base.post_plain(&qp->base, &wr), 0);
	give(FIRST_NUMBER, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(completion().status, TP_WC_FLUSHED);
	post(qp, TP_RDMA_WRITE, NULL);
	qp->sq.wr[1].flags |= VRB_WR_UNSIGNALED;
	assert_int_equal(vrb_qp_drain(qp), 0);
	give(FIRST_NUMBER, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(completion().status, TP_WC_FLUSHED); /* the write's */
	no_completion();
	assert_int_equal(vrb_queue_used(&qp->sq), 0);
	assert_int_equal(atomic_load(&qp->fault), 0);
	vrb_qp_ops.destroy(&qp->base);
}

/* As after a change of the process's identity, which uverbs does not write for. */
static void a_device_that_cannot_be_told_is_a_fault(void **state)
{
	struct vrb_qp *qp = qp_new(false);

	(void)state;
	t.unheard = EACCES;
	post(qp, TP_SEND, NULL);
	assert_int_equal(atomic_load(&qp->fault), TP_WC_TRANSPORT);
	give(FIRST_NUMBER, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(completion().status, TP_WC_FLUSHED);
	no_completion();
	settle();
	vrb_qp_ops.destroy(&qp->base);
}

static uint64_t post_as(struct vrb_qp *qp, uint64_t id, enum tp_opcode opcode, uint32_t flags)
{
	struct tp_wr wr = { .wr_id = id, .opcode = opcode, .flags = flags };

	assert_int_equal(vrb_qp_post_send(&qp->base, &wr), 0);
	return t.posted;
}

static void flushed(uint64_t id)
{
	struct tp_wc wc = completion();

	assert_int_equal(wc.wr_id, id);
	assert_int_equal(wc.status, TP_WC_FLUSHED);
}

/* The device had sent the write, which makes no completion, before the answer failed (FL-2, FL-4). */
static void a_silent_write_behind_a_failed_read_is_told(void **state)
{
	struct vrb_qp *qp = qp_new(false);
	uint64_t first = post_as(qp, 1, TP_RDMA_READ, TP_WR_SIGNALED), last;

	(void)state;
	post_as(qp, 2, TP_RDMA_WRITE, 0);
	last = post_as(qp, 3, TP_RDMA_WRITE, TP_WR_SIGNALED);
	t.posted = first;
	give(FIRST_NUMBER, IBV_WC_WR_FLUSH_ERR);
	t.posted = last;
	give(FIRST_NUMBER, IBV_WC_WR_FLUSH_ERR);
	flushed(1);
	flushed(2);
	flushed(3);
	no_completion();
	vrb_qp_ops.destroy(&qp->base);
}

/* Likewise where the device tells of nothing more. */
static void a_silent_write_behind_a_read_without_an_answer_is_told(void **state)
{
	struct vrb_qp *qp = qp_new(false);

	(void)state;
	post_as(qp, 1, TP_RDMA_WRITE, 0);
	post_as(qp, 2, TP_RDMA_READ, TP_WR_SIGNALED);
	post_as(qp, 3, TP_RDMA_WRITE, 0);
	vrb_queue_flush(&qp->sq, false, NULL);
	flushed(2);
	flushed(3);
	no_completion();
	vrb_qp_ops.destroy(&qp->base);
}

/* The device was answering a read of the peer when this side ended the connection. */
static void an_answer_that_this_sides_end_cuts_off_is_no_fault(void **state)
{
	struct vrb_qp *qp = qp_new(false);

	(void)state;
	vrb_cm_end_qp(qp);
	event(IBV_EVENT_QP_REQ_ERR);
	assert_int_equal(atomic_load(&qp->fault), 0);
	assert_int_equal(t.told, 0);
	event(IBV_EVENT_QP_FATAL);
	assert_int_equal(t.told, 1);
	vrb_qp_ops.destroy(&qp->base);
}

/* Told to the connection and, once, to the program. */
static void is_a_fault(struct vrb_qp *qp, enum ibv_event_type type)
{
	event(type);
	assert_int_equal(atomic_load(&qp->fault), TP_WC_TRANSPORT);
	assert_int_equal(t.told, 1);
	vrb_qp_ops.destroy(&qp->base);
}

/* So a read that was not allowed is told of. */
static void an_answer_that_fails_before_is_one(void **state)
{
	(void)state;
	is_a_fault(qp_new(false), IBV_EVENT_QP_REQ_ERR);
}

static void a_fault_without_such_a_request_is_one(void **state)
{
	struct vrb_qp *qp = qp_new(false);

	(void)state;
	event(IBV_EVENT_SQ_DRAINED);
	assert_int_equal(atomic_load(&qp->fault), 0);
	assert_int_equal(t.told, 0);
	is_a_fault(qp, IBV_EVENT_QP_FATAL);
}

/* DTO-84 */
static void a_bad_segment_is_a_fault(void **state)
{
	const struct tp_sge nowhere = { .addr = 4096, .length = 8, .lkey = 77 };
	struct vrb_qp *qp = qp_new(false);

	(void)state;
	post(qp, TP_SEND, &nowhere);
	give(FIRST_NUMBER, IBV_WC_LOC_QP_OP_ERR);
	event(IBV_EVENT_QP_FATAL);
	assert_int_equal(atomic_load(&qp->fault), TP_WC_LOCAL_PROTECTION);
	assert_int_equal(t.told, 1);
	assert_int_equal(completion().status, TP_WC_LOCAL_PROTECTION);
	vrb_qp_ops.destroy(&qp->base);
}

/* EVT-31: the connection manager finds it before the device tells, which it may do twice. */
static void a_fault_is_told_once(void **state)
{
	struct vrb_qp *qp = qp_new(false);

	(void)state;
	assert_int_equal(vrb_cm_fault_here(qp), TP_CONN_BROKEN);
	assert_int_equal(t.told, 1);
	event(IBV_EVENT_QP_ACCESS_ERR);
	event(IBV_EVENT_QP_FATAL);
	assert_int_equal(t.told, 1);
	assert_int_equal(vrb_qp_ops.reset(&qp->base), 0);
	assert_int_equal(vrb_qp_prepare(qp), 0);
	vrb_cm_fault_here(qp); /* another */
	assert_int_equal(t.told, 2);
	vrb_qp_ops.destroy(&qp->base);
}

/* As a program may that hears of it on the loop, by a proxy agent. */
static void an_endpoint_is_freed_by_who_hears_of_its_fault(void **state)
{
	(void)state;
	t.doomed = qp_new(false);
	event(IBV_EVENT_QP_ACCESS_ERR);
	assert_int_equal(t.told, 1);
}

/* What the device has kept, and its object here is gone. */
static void what_is_left_behind_is_nobodys(void **state)
{
	struct ibv_srq left = { .srq_context = NULL };

	(void)state;
	t.ibcq.cq_context = NULL;
	t.event = (struct ibv_async_event){ .element.cq = &t.ibcq, .event_type = IBV_EVENT_CQ_ERR };
	t.pending = true;
	vrb_async_poll(&t.dev);
	t.event = (struct ibv_async_event){ .element.srq = &left,
					    .event_type = IBV_EVENT_SRQ_LIMIT_REACHED };
	t.pending = true;
	vrb_async_poll(&t.dev);
	settle();
	assert_int_equal(t.told, 0);
}

static int asked, answer;

static int req_notify_cq(struct ibv_cq *ibcq, int solicited)
{
	assert_ptr_equal(ibcq, &t.ibcq);
	(void)solicited;
	asked++;
	return answer;
}

static void a_notification_that_was_refused_is_asked_for_again(void **state)
{
	(void)state;
	asked = 0;
	answer = EIO;
	t.ctx.ops.req_notify_cq = req_notify_cq;
	vrb_cq_ops.arm(&t.cq.base, TP_ARM_WAITER);
	answer = 0;
	vrb_cq_ops.arm(&t.cq.base, TP_ARM_WAITER);
	assert_int_equal(asked, 2);
	vrb_cq_ops.arm(&t.cq.base, TP_ARM_WAITER);
	assert_int_equal(asked, 2);
}

/* ---- The device is torn away: its channel polls as an error from then on ---- */

static struct ibv_comp_channel torn;

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *ctx)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	close(ends[0]);
	torn = (struct ibv_comp_channel){ .context = ctx, .fd = ends[1] };
	return &torn;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	return close(channel->fd);
}

struct ibv_cq *ibv_create_cq(struct ibv_context *ctx, int cqe, void *user,
			     struct ibv_comp_channel *channel, int vector)
{
	assert_ptr_equal(ctx, &t.ctx);
	assert_ptr_equal(channel, &torn);
	(void)cqe;
	(void)user;
	(void)vector;
	return &t.ibcq;
}

int ibv_destroy_cq(struct ibv_cq *ibcq)
{
	assert_ptr_equal(ibcq, &t.ibcq);
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **ibcq, void **context)
{
	(void)channel;
	(void)ibcq;
	(void)context;
	errno = EIO;
	return -1;
}

static void a_torn_channel_is_not_watched_for_ever(void **state)
{
	struct tp_cq *cq;

	(void)state;
	t.ctx.ops.req_notify_cq = req_notify_cq;
	t.ctx.num_comp_vectors = 1;
	answer = EIO;
	atomic_store(&t.dev.gone, true);
	assert_int_equal(vrb_cq_ops.create(&t.dev.base, 16, &t, &cq), 0);
	cq->lock = &t.cq_lock;
	vrb_cq_drain(vrb_cq(cq), true);
	for (int i = 0; i < 20; i++) {
		usleep(1000);
		vrb_cq_lock(vrb_cq(cq));
		vrb_cq_ops.arm(cq, TP_ARM_NOTIFY); /* as the core does for a CNO */
		vrb_cq_unlock(vrb_cq(cq));
	}
	settle();
	assert_int_equal(atomic_load(&t.notices), 1);
	vrb_cq_drain(vrb_cq(cq), false);
	vrb_cq_ops.destroy(cq);
}

#define RXE(f) cmocka_unit_test_setup_teardown(f, setup_rxe, teardown)
#define SIW(f) cmocka_unit_test_setup_teardown(f, setup_siw, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		RXE(a_modified_qp_is_found_by_its_new_number),
		RXE(what_comes_while_a_qp_is_destroyed_is_its_own),
		RXE(a_receive_that_is_nobodys_leaves_its_place),
		RXE(there_is_room_for_as_many_as_the_queue_has),
		RXE(a_limit_that_is_met_at_once_is_told),
		RXE(a_limit_that_was_met_is_told_once),
		RXE(a_flushed_receive_waits_behind_those_before_it),
		SIW(a_torn_receive_of_siw_has_no_wrong_length),
		SIW(a_receive_of_siw_that_is_too_short),
		RXE(a_receive_of_rxe_that_is_too_short),
		SIW(a_request_that_meets_a_closed_connection_is_flushed),
		SIW(drains_meet_it_too),
		SIW(a_post_on_a_closed_connection_raises_nothing),
		SIW(a_request_that_is_queued_and_not_told_is_taken),
		SIW(a_device_that_cannot_be_told_is_a_fault),
		RXE(a_device_that_cannot_be_told_is_a_fault),
		SIW(a_silent_write_behind_a_failed_read_is_told),
		SIW(a_silent_write_behind_a_read_without_an_answer_is_told),
		SIW(an_answer_that_this_sides_end_cuts_off_is_no_fault),
		SIW(an_answer_that_fails_before_is_one),
		SIW(a_fault_without_such_a_request_is_one),
		SIW(a_bad_segment_is_a_fault),
		RXE(a_fault_is_told_once),
		RXE(an_endpoint_is_freed_by_who_hears_of_its_fault),
		RXE(what_is_left_behind_is_nobodys),
		RXE(a_notification_that_was_refused_is_asked_for_again),
		RXE(a_torn_channel_is_not_watched_for_ever),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
