/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What soft-iWARP may have overlooked while it connected is followed by something. The device is
 * this program's. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>

#include "test/unit/verbs_util.h"

enum {
	RING = 8
};

static struct {
	struct vrb_dev vdev;
	struct ibv_context ctx;
	struct ibv_qp ibqp;
	struct vrb_qp qp;
	struct vrb_wr ring[RING];
	struct tp_sge sge[RING];
	struct dapl_lock lock;
	int posts;
	int result;
} t;

static int device_post(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	assert_ptr_equal(ibqp, &t.ibqp);
	assert_false(dapl_trylock(&t.lock));
	assert_int_equal(wr->opcode, IBV_WR_RDMA_WRITE);
	assert_int_equal(wr->num_sge, 0);
	assert_true(wr->send_flags & IBV_SEND_SIGNALED);
	assert_null(wr->next);
	/* Its completion is nobody's. */
	assert_true(((struct vrb_wr *)(uintptr_t)wr->wr_id)->flags & VRB_WR_INTERNAL);
	t.posts++;
	*bad = wr;
	return t.result;
}

static int setup(void **state)
{
	struct vrb_queue *sq = &t.qp.sq;

	(void)state;
	memset(&t, 0, sizeof(t));
	dapl_lock_init(&t.lock);
	t.qp.base.lock = &t.lock;
	t.ctx.ops.post_send = device_post;
	t.ibqp.context = &t.ctx;
	t.qp.base.dev = &t.vdev.base;
	t.qp.dev = &t.vdev;
	t.qp.ibqp = &t.ibqp;
	t.qp.ib_post = device_post;
	sq->sge = t.sge;
	vu_queue(sq, &t.qp, t.ring, RING);
	vrb_qp_open(&t.qp);
	assert_int_equal(sq->mode, VRB_QUEUE_ACTIVE);
	return 0;
}

/* The posts of that many checks. */
static int checks(int num)
{
	int before = t.posts;

	while (num--)
		vrb_qp_wake_peer(&t.qp);
	assert_true(dapl_trylock(&t.lock));
	dapl_unlock(&t.lock);
	return t.posts - before;
}

static void post_one(void)
{
	atomic_store(&t.qp.sq.next, vrb_queue_next(&t.qp.sq)->next);
}

static void all_done(void)
{
	atomic_store(&t.qp.sq.head, vrb_queue_next(&t.qp.sq));
}

static void who_said_nothing_says_nothing(void **state)
{
	(void)state;
	assert_int_equal(checks(20), 0);
	/* By now there is nothing that can be overlooked. */
	post_one();
	assert_int_equal(checks(20), 0);
}

static void who_spoke_speaks_twice_more(void **state)
{
	(void)state;
	post_one();
	assert_int_equal(checks(1), 0);
	assert_int_equal(checks(1), 1);
	all_done();
	assert_int_equal(checks(2), 0);
	assert_int_equal(checks(1), 1);
	assert_int_equal(checks(20), 0);
}

static void the_next_connection_begins_anew(void **state)
{
	(void)state;
	post_one();
	assert_int_equal(checks(20), 2);
	all_done();
	vrb_qp_open(&t.qp);
	assert_int_equal(checks(20), 0);
	vrb_qp_open(&t.qp);
	post_one();
	assert_int_equal(checks(20), 2);
}

static void a_connection_that_ended_is_left_alone(void **state)
{
	(void)state;
	post_one();
	t.qp.sq.mode = VRB_QUEUE_FLUSHING;
	assert_int_equal(checks(20), 0);
}

/* Where there is no room there is traffic enough. */
static void a_full_queue_is_left_alone(void **state)
{
	struct vrb_wr *next;

	(void)state;
	for (int i = 0; i < RING - 1; i++)
		post_one();
	next = vrb_queue_next(&t.qp.sq);
	assert_int_equal(checks(20), 0);
	assert_ptr_equal(vrb_queue_next(&t.qp.sq), next);
}

static void what_the_device_refuses_leaves_no_trace(void **state)
{
	struct vrb_wr *next;

	(void)state;
	post_one();
	next = vrb_queue_next(&t.qp.sq);
	t.result = ENOMEM;
	assert_int_equal(checks(20), 2);
	assert_ptr_equal(vrb_queue_next(&t.qp.sq), next);
	assert_int_equal(next->flags, 0);
	assert_int_equal(t.qp.sq.mode, VRB_QUEUE_ACTIVE);
}

#define T(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(who_said_nothing_says_nothing),   T(who_spoke_speaks_twice_more),
		T(the_next_connection_begins_anew), T(a_connection_that_ended_is_left_alone),
		T(a_full_queue_is_left_alone),	    T(what_the_device_refuses_leaves_no_trace),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
