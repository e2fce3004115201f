/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Requests that go to the device as they are, and when each of them is over. The device is this
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
#include <cmocka.h>

#include "test/unit/verbs_cq_rig.h"

/* As the core posts. */
static uint64_t post_own(struct vrb_qp *qp, struct tp_wr *wr, enum tp_opcode opcode, uint32_t flags)
{
	*wr = (struct tp_wr){ .wr_id = (uintptr_t)wr,
			      .sge = &wr->one,
			      .num_sge = 1,
			      .one = { .addr = 4096, .length = 8, .lkey = 77 },
			      .opcode = opcode,
			      .flags = flags | TP_WR_WHOLE };
	assert_int_equal(vrb_qp_post_send(&qp->base, wr), 0);
	return t.posted;
}

static struct tp_wr *told(uint64_t posted)
{
	t.posted = posted;
	give(FIRST_NUMBER, IBV_WC_SUCCESS);
	return vrb_cq_poll_plain(&t.cq.base);
}

static void a_suppressed_request_is_over_with_the_next(void **state)
{
	struct vrb_qp *qp = qp_new(false);
	struct tp_wr wr[3];
	uint64_t last;

	(void)state;
	post_own(qp, &wr[0], TP_RDMA_WRITE, 0);
	post_own(qp, &wr[1], TP_RDMA_READ, 0);
	last = post_own(qp, &wr[2], TP_SEND, TP_WR_SIGNALED | TP_WR_SOLICITED);
	assert_ptr_equal(told(last), &wr[2]);
	assert_int_equal(vrb_queue_used(&qp->sq), 0);
	no_completion();
	vrb_qp_ops.destroy(&qp->base);
}

/* Its segment lies where the core keeps it. */
static void a_bad_segment_of_a_suppressed_one_is_named(void **state)
{
	struct vrb_qp *qp = qp_new(false);
	struct tp_wr wr;

	(void)state;
	post_own(qp, &wr, TP_RDMA_READ, 0);
	give(FIRST_NUMBER, IBV_WC_LOC_QP_OP_ERR);
	assert_ptr_equal(vrb_cq_poll_plain(&t.cq.base), TP_WR_UNTOLD);
	assert_int_equal(completion().status, TP_WC_LOCAL_PROTECTION);
	vrb_qp_ops.destroy(&qp->base);
}

/* soft-iWARP completes reads behind what was posted later. */
static void reads_are_told_at_once_in_their_turn(void **state)
{
	struct vrb_qp *qp = qp_new(false);
	uint64_t first, second, third;
	struct tp_wr wr[3];

	(void)state;
	first = post_own(qp, &wr[0], TP_RDMA_READ, TP_WR_SIGNALED);
	second = post_own(qp, &wr[1], TP_RDMA_WRITE, TP_WR_SIGNALED);
	third = post_own(qp, &wr[2], TP_RDMA_READ, TP_WR_SIGNALED);
	assert_ptr_equal(told(first), &wr[0]);
	assert_ptr_equal(told(third), TP_WR_UNTOLD);
	no_completion();
	assert_ptr_equal(told(second), TP_WR_UNTOLD);
	assert_int_equal(completion().wr_id, (uintptr_t)&wr[1]);
	assert_int_equal(completion().wr_id, (uintptr_t)&wr[2]);
	no_completion();
	first = post_own(qp, &wr[0], TP_RDMA_WRITE, TP_WR_SIGNALED);
	second = post_own(qp, &wr[1], TP_RDMA_READ, TP_WR_SIGNALED);
	assert_ptr_equal(told(first), &wr[0]);
	assert_ptr_equal(told(second), &wr[1]);
	assert_int_equal(vrb_queue_used(&qp->sq), 0);
	vrb_qp_ops.destroy(&qp->base);
}

/* The write's waits for the read's, and comes right behind it. */
static void a_success_behind_a_suppressed_one_is_told(void **state)
{
	struct vrb_qp *qp = qp_new(false);
	uint64_t first, last;
	struct tp_wr wr[3];

	(void)state;
	first = post_own(qp, &wr[0], TP_RDMA_READ, TP_WR_SIGNALED);
	post_own(qp, &wr[1], TP_RDMA_WRITE, 0);
	last = post_own(qp, &wr[2], TP_RDMA_WRITE, TP_WR_SIGNALED);
	assert_ptr_equal(told(last), TP_WR_UNTOLD);
	no_completion();
	assert_ptr_equal(told(first), TP_WR_UNTOLD);
	assert_int_equal(completion().wr_id, (uintptr_t)&wr[0]);
	assert_int_equal(completion().wr_id, (uintptr_t)&wr[2]);
	no_completion();
	assert_int_equal(vrb_queue_used(&qp->sq), 0);
	vrb_qp_ops.destroy(&qp->base);
}

/* What was told the fast way may be more than a ring ago. */
static void those_behind_what_waits_are_not_over(struct vrb_qp *qp)
{
	uint64_t read, write, silent;
	struct tp_wr wr[5];
	struct tp_wc wc;

	read = post_own(qp, &wr[0], TP_RDMA_READ, TP_WR_SIGNALED);
	write = post_own(qp, &wr[1], TP_RDMA_WRITE, TP_WR_SIGNALED);
	silent = post_own(qp, &wr[2], TP_RDMA_WRITE, 0);
	post_own(qp, &wr[3], TP_RDMA_WRITE, 0);
	post_own(qp, &wr[4], TP_RDMA_READ, TP_WR_SIGNALED);
	assert_ptr_equal(told(write), TP_WR_UNTOLD);
	no_completion();
	assert_ptr_equal(told(read), TP_WR_UNTOLD);
	assert_int_equal(completion().wr_id, (uintptr_t)&wr[0]);
	assert_int_equal(completion().wr_id, (uintptr_t)&wr[1]);
	no_completion();
	assert_int_equal(vrb_queue_used(&qp->sq), 3);
	t.posted = silent;
	give(FIRST_NUMBER, IBV_WC_REM_ACCESS_ERR);
	wc = completion();
	assert_int_equal(wc.wr_id, (uintptr_t)&wr[2]);
	assert_int_equal(wc.status, TP_WC_REMOTE_ACCESS);
	vrb_qp_ops.destroy(&qp->base);
}

static void told_at_once(struct vrb_qp *qp, enum tp_opcode opcode)
{
	struct tp_wr wr;

	for (uint32_t i = 0; i < 2 * (qp->sq.mask + 1) - 4; i++)
		assert_ptr_equal(told(post_own(qp, &wr, opcode, TP_WR_SIGNALED)), &wr);
}

static void none_is_over_too_early_behind_sends(void **state)
{
	struct vrb_qp *qp = qp_new(false);

	(void)state;
	told_at_once(qp, TP_SEND);
	those_behind_what_waits_are_not_over(qp);
}

static void none_is_over_too_early_behind_reads(void **state)
{
	struct vrb_qp *qp = qp_new(false);

	(void)state;
	told_at_once(qp, TP_RDMA_READ);
	those_behind_what_waits_are_not_over(qp);
}

static void a_ring_takes_no_more_than_it_has(void **state)
{
	struct vrb_qp *qp = qp_new(false);
	struct tp_wr wr[64], more;

	(void)state;
	for (uint32_t i = 0; i < qp->sq.mask; i++)
		post_own(qp, &wr[i], TP_RDMA_WRITE, TP_WR_SIGNALED);
	more = (struct tp_wr){
		.wr_id = (uintptr_t)&more, .sge = &more.one, .num_sge = 1, .one.length = 8
	};
	assert_int_equal(vrb_qp_post_send(&qp->base, &more), -ENOMEM);
	vrb_qp_ops.destroy(&qp->base);
}

static enum ibv_wr_opcode opcode;

static int post_noted(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	opcode = wr->opcode;
	return post_send(ibqp, wr, bad);
}

/* DTO-56, where a device does not complete an empty read: a write of nothing stands for it. */
static void a_read_without_segments_is_none(void **state)
{
	struct vrb_qp *qp;
	struct tp_wr wr = { .wr_id = (uintptr_t)&wr,
			    .opcode = TP_RDMA_READ,
			    .flags = TP_WR_SIGNALED };

	(void)state;
	t.ctx.ops.post_send = post_noted;
	qp = qp_new(false);
	assert_int_equal(vrb_qp_post_send(&qp->base, &wr), 0);
	assert_int_equal(opcode, IBV_WR_RDMA_WRITE);
	vrb_qp_ops.destroy(&qp->base);
}

/* With room for one request all of them are in the same slot. */
static void a_post_that_meets_a_reset_takes_no_place(void **state)
{
	struct vrb_qp *qp = qp_new(false);
	struct tp_wr wr = { .wr_id = (uintptr_t)&wr,
			    .sge = &wr.one,
			    .num_sge = 1,
			    .one = { .addr = 4096, .length = 8, .lkey = 77 },
			    .opcode = TP_SEND,
			    .flags = TP_WR_SIGNALED };
	uint32_t recv, send;

	(void)state;
	assert_int_equal(qp->base.post_plain(&qp->base, &wr), 0);
	assert_ptr_equal(told(t.posted), &wr);
	assert_int_equal(vrb_qp_ops.reset(&qp->base), 0);
	assert_int_equal(qp->base.post_plain(&qp->base, &wr), -ENOTCONN);
	assert_int_equal(vrb_qp_post_send(&qp->base, &wr), -ENOTCONN);
	vrb_qp_ops.pending(&qp->base, &recv, &send);
	assert_int_equal(send, 0);
	vrb_qp_ops.destroy(&qp->base);
}

/* ---- Requests that the device refuses ---- */

static int refusal;
static enum ibv_qp_state state_of_qp;

static int refuse(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	return refusal ? refusal : post_send(ibqp, wr, bad);
}

int ibv_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask,
		 struct ibv_qp_init_attr *init)
{
	(void)ibqp;
	(void)mask;
	(void)init;
	attr->qp_state = state_of_qp;
	return 0;
}

/* libcxgb4 refuses what is posted to a QP in error, and so the drain behind a suppressed one. */
static void a_suppressed_one_is_flushed_without_a_drain(void **state)
{
	struct vrb_qp *qp;
	struct tp_wr wr[2];
	struct tp_wc wc;

	(void)state;
	t.ctx.ops.post_send = refuse;
	qp = qp_new(false);
	post_own(qp, &wr[0], TP_RDMA_WRITE, 0);
	refusal = -EINVAL;
	state_of_qp = IBV_QPS_ERR;
	give(FIRST_NUMBER, IBV_WC_WR_FLUSH_ERR);
	post_own(qp, &wr[1], TP_SEND, TP_WR_SIGNALED);
	vrb_qp_to_error(qp);
	refusal = 0;
	assert_null(t.dev.late);
	wc = completion();
	assert_int_equal(wc.wr_id, (uintptr_t)&wr[0]);
	assert_int_equal(wc.status, TP_WC_FLUSHED);
	wc = completion();
	assert_int_equal(wc.wr_id, (uintptr_t)&wr[1]);
	assert_int_equal(wc.status, TP_WC_FLUSHED);
	no_completion();
	vrb_qp_ops.destroy(&qp->base);
}

/* What was refused is waited for by nobody: completions are told the fast way again. */
static void a_refused_read_is_not_awaited(void **state)
{
	struct vrb_qp *qp;
	struct tp_wr wr = { .wr_id = (uintptr_t)&wr,
			    .sge = &wr.one,
			    .num_sge = 1,
			    .one = { .addr = 4096, .length = 8, .lkey = 77 },
			    .opcode = TP_RDMA_READ,
			    .flags = TP_WR_SIGNALED | TP_WR_WHOLE };

	(void)state;
	t.ctx.ops.post_send = refuse;
	qp = qp_new(false);
	refusal = ENOMEM;
	state_of_qp = IBV_QPS_RTS;
	assert_int_equal(vrb_qp_post_send(&qp->base, &wr), -ENOMEM);
	refusal = 0;
	assert_ptr_equal(told(post_own(qp, &wr, TP_RDMA_WRITE, TP_WR_SIGNALED)), &wr);
	assert_int_equal(atomic_load(&qp->sq.slow), 0);
	vrb_qp_ops.destroy(&qp->base);
}

static int refuse_receive(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return refusal ? refusal : post_srq_recv(srq, wr, bad);
}

/* Drivers say so with either sign; the entry is there for the next one. */
static void a_full_shared_queue_has_no_room(void **state)
{
	const struct tp_sge sge = { .addr = 4096, .length = 8, .lkey = 77 };

	(void)state;
	t.ctx.ops.post_srq_recv = refuse_receive;
	refusal = ENOMEM;
	assert_int_equal(vrb_srq_ops.post(&t.srq->base, 1, &sge, 1), -ENOMEM);
	refusal = -ENOMEM;
	assert_int_equal(vrb_srq_ops.post(&t.srq->base, 1, &sge, 1), -ENOMEM);
	refusal = -EINVAL;
	assert_int_equal(vrb_srq_ops.post(&t.srq->base, 1, &sge, 1), -EIO);
	refusal = 0;
	assert_int_equal(vrb_srq_ops.post(&t.srq->base, 1, &sge, 1), 0);
}

/* ---- Datagrams ---- */

static unsigned int send_flags, polls;

static int post_datagram(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	send_flags = wr->send_flags;
	return post_send(ibqp, wr, bad);
}

/* The device flushes a little after the QP is in error. */
static int flush_late(struct ibv_cq *ibcq, int num, struct ibv_wc *wc)
{
	if (++polls == 2)
		give(FIRST_NUMBER, IBV_WC_WR_FLUSH_ERR);
	return poll_cq(ibcq, num, wc);
}

/* FL-4: a suppressed one that is the last is awaited, and was no success. */
static void a_suppressed_datagram_is_flushed(void **state)
{
	struct tp_wr wr = { .wr_id = 5, .opcode = TP_SEND };
	struct vrb_qp *qp;
	struct tp_wc wc;

	(void)state;
	t.ctx.ops.post_send = post_datagram;
	qp = qp_new(false);
	qp->ud = true;
	assert_int_equal(vrb_ud_post_send(&qp->base, &wr), 0);
	assert_true(send_flags & IBV_SEND_SIGNALED);
	give(FIRST_NUMBER, IBV_WC_SUCCESS);
	no_completion();
	assert_int_equal(vrb_queue_used(&qp->sq), 0);
	assert_int_equal(vrb_ud_post_send(&qp->base, &wr), 0);
	polls = 0;
	t.ctx.ops.poll_cq = flush_late;
	vrb_qp_to_error(qp);
	assert_true(polls >= 2);
	wc = completion();
	assert_int_equal(wc.wr_id, 5);
	assert_int_equal(wc.status, TP_WC_FLUSHED);
	no_completion();
	vrb_qp_ops.destroy(&qp->base);
}

#define RXE(f) cmocka_unit_test_setup_teardown(f, setup_rxe, teardown)
#define SIW(f) cmocka_unit_test_setup_teardown(f, setup_siw, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		RXE(a_suppressed_request_is_over_with_the_next),
		RXE(a_bad_segment_of_a_suppressed_one_is_named),
		SIW(reads_are_told_at_once_in_their_turn),
		SIW(a_success_behind_a_suppressed_one_is_told),
		SIW(none_is_over_too_early_behind_sends),
		SIW(none_is_over_too_early_behind_reads),
		SIW(a_ring_takes_no_more_than_it_has),
		SIW(a_read_without_segments_is_none),
		RXE(a_post_that_meets_a_reset_takes_no_place),
		RXE(a_suppressed_one_is_flushed_without_a_drain),
		SIW(a_refused_read_is_not_awaited),
		RXE(a_full_shared_queue_has_no_room),
		RXE(a_suppressed_datagram_is_flushed),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
