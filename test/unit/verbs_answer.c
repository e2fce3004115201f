/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* In which order a consent is passed on, to the peer and to the core. The kernel is this program's.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <cmocka.h>

#include "dapl/base/loop.h"
#include "providers/verbs/cm/rdma.h"
#include "test/unit/verbs_util.h"

enum {
	RING = 4
};

static struct {
	struct vrb_dev dev;
	struct ibv_context ctx;
	struct ibv_qp ibqp;
	struct vrb_qp qp;
	struct vrb_cq cq;
	struct dapl_lock qp_lock, cq_lock;
	struct vrb_wr ring[2][RING];
	struct rdma_event_channel channel;
	struct rdma_cm_id id;
	struct vrb_rdma rdma;
	struct vrb_conn *conn;
	struct rdma_cm_event event;
	bool pending, answer, refuses;
	int err;       /* that an event has */
	char order[8]; /* confirmed, told, of the end, and the id destroyed */
} t;

/* ---- What the kernel does ---- */

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	assert_ptr_equal(channel, &t.channel);
	if (!t.pending) {
		errno = EAGAIN;
		return -1;
	}
	t.pending = false;
	*event = &t.event;
	return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	assert_ptr_equal(event, &t.event);
	return 0;
}

int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	assert_ptr_equal(id, &t.id);
	(void)attr;
	*mask = 0;
	errno = EIO;
	return t.refuses ? -1 : 0;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	(void)mask;
	assert_ptr_equal(qp, &t.ibqp);
	if (attr->qp_state != IBV_QPS_ERR)
		assert_string_equal(t.order, "");
	return 0;
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		 struct ibv_qp_init_attr *init)
{
	(void)mask;
	(void)init;
	assert_ptr_equal(qp, &t.ibqp);
	attr->qp_state = IBV_QPS_RTS;
	return 0;
}

int ibv_get_async_event(struct ibv_context *ctx, struct ibv_async_event *event)
{
	(void)ctx;
	(void)event;
	errno = EAGAIN;
	return -1;
}

int rdma_disconnect(struct rdma_cm_id *id)
{
	assert_ptr_equal(id, &t.id);
	return 0;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	assert_ptr_equal(id, &t.id);
	strcat(t.order, "d");
	return 0;
}

int rdma_establish(struct rdma_cm_id *id)
{
	assert_ptr_equal(id, &t.id);
	strcat(t.order, "c");
	/* What the peer sends now is kept until the core has heard. */
	assert_true(t.qp.rq.deferring);
	return 0;
}

/* ---- What the core does ---- */

static void conn_event(void *owner, enum tp_conn_event event, int err, const void *data,
		       uint32_t len)
{
	assert_ptr_equal(owner, &t);
	assert_int_equal(err, t.err);
	if (event == TP_CONN_ESTABLISHED) {
		assert_int_equal(t.qp.sq.mode, VRB_QUEUE_ACTIVE); /* requests may be posted */
		if (t.answer) {
			assert_int_equal(len, 5);
			assert_memory_equal(data, "hello", 5);
			assert_true(t.qp.rq.deferring);
		}
		strcat(t.order, "t");
	} else if (event == TP_CONN_DISCONNECTED) {
		strcat(t.order, "e");
	} else {
		assert_int_equal(event, TP_CONN_BROKEN);
		strcat(t.order, "b");
	}
}

static const struct tp_upcalls up = { .conn_event = conn_event };

static int setup(void **state)
{
	(void)state;
	memset(&t, 0, sizeof(t));
	dapl_lock_init(&t.qp_lock);
	dapl_lock_init(&t.cq_lock);
	t.qp.base.lock = &t.qp_lock;
	t.cq.base.lock = &t.cq_lock;
	t.dev.base.up = &up;
	t.dev.config = &vrb_config;
	t.rdma = (struct vrb_rdma){ .dev = &t.dev, .ops = &vrb_rdma_ib, .channel = &t.channel };
	t.dev.cm = &t.rdma;
	t.dev.watching = true;
	pthread_mutex_init(&t.dev.lock, NULL);
	pthread_mutex_init(&t.dev.async_lock, NULL);
	pthread_mutex_init(&t.dev.cm_lock, NULL);
	t.channel.fd = eventfd(0, EFD_CLOEXEC);
	if (dapl_loop_create(&t.dev.base.loop) || vrb_cm.start(&t.dev))
		return -1;
	t.ibqp.context = &t.ctx;
	t.cq.base.dev = t.qp.base.dev = &t.dev.base;
	t.cq.dev = t.qp.dev = &t.dev;
	t.qp.ibqp = &t.ibqp;
	vu_queue(&t.qp.sq, &t.qp, t.ring[0], RING);
	vu_queue(&t.qp.rq, &t.qp, t.ring[1], RING);
	t.qp.sq.cq = t.qp.rq.cq = &t.cq;
	t.qp.rq.recv = t.qp.rq.plain_recv = true;
	t.conn = vrb_conn_new(&t.dev);
	t.conn->base.owner = &t;
	t.conn->qp = &t.qp;
	t.conn->id = &t.id;
	t.conn->state = VRB_CONN_CONNECTING;
	t.qp.conn = t.conn;
	t.id.context = &t.conn->object;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	vrb_cm.stop(&t.dev);
	dapl_loop_destroy(t.dev.base.loop);
	close(t.channel.fd);
	vrb_cm_put(&t.conn->object);
	return 0;
}

static void kernel_says(enum rdma_cm_event_type type)
{
	t.event.id = &t.id;
	t.event.event = type;
	t.pending = true;
	t.rdma.watch.ready(&t.rdma.watch, EPOLLIN);
	assert_false(t.pending);
}

/* A program that ends a connection as soon as it has seen all of them must not be overtaken. */
static void the_peer_is_told_before_the_core(void **state)
{
	static const char data[5] = "hello";

	(void)state;
	t.answer = true;
	t.event.param.conn.private_data = data;
	t.event.param.conn.private_data_len = sizeof(data);
	kernel_says(RDMA_CM_EVENT_CONNECT_RESPONSE);
	assert_string_equal(t.order, "ct");
	assert_int_equal(t.conn->state, VRB_CONN_OPEN);
	assert_int_equal(t.dev.num_open, 1);
	assert_false(t.qp.rq.deferring);
}

static void accepted(void)
{
	t.conn->state = VRB_CONN_ACCEPTED;
	t.qp.sq.cq = t.qp.rq.cq = NULL; /* nothing is posted */
	atomic_store(&t.qp.live, true);
}

static void a_confirmation_comes_before_the_end(void **state)
{
	(void)state;
	accepted();
	kernel_says(RDMA_CM_EVENT_ESTABLISHED);
	assert_string_equal(t.order, "t");
	kernel_says(RDMA_CM_EVENT_DISCONNECTED);
	assert_string_equal(t.order, "te");
}

/* EP-142, of a peer that ends what it has just confirmed: the kernel took the end first. */
static void an_end_stands_for_the_confirmation_it_overtook(void **state)
{
	(void)state;
	accepted();
	kernel_says(RDMA_CM_EVENT_DISCONNECTED);
	assert_string_equal(t.order, "te");
	assert_int_equal(t.conn->state, VRB_CONN_ENDED);
	assert_int_equal(t.dev.num_open, 0);
	/* The kernel may still come to it. */
	kernel_says(RDMA_CM_EVENT_ESTABLISHED);
	assert_string_equal(t.order, "te");
}

static void an_iwarp_peer_may_end_what_it_never_had(void **state)
{
	(void)state;
	t.rdma.ops = &vrb_rdma_iwarp;
	accepted();
	kernel_says(RDMA_CM_EVENT_DISCONNECTED);
	assert_string_equal(t.order, "b");
}

static void nothing(struct tp_task *task)
{
	(void)task;
}

/* Not as late as the program resets its endpoint. */
static void an_iwarp_peer_is_refused_where_the_answer_fails(void **state)
{
	(void)state;
	t.rdma.ops = &vrb_rdma_iwarp;
	accepted();
	t.conn->state = VRB_CONN_REQUEST;
	t.qp.task.run = nothing;
	t.refuses = true;
	t.err = -EIO;
	assert_int_equal(vrb_cm_ops.accept(&t.conn->base, &t.qp.base, NULL, 0, &t), 0);
	assert_string_equal(t.order, "d");
	t.dev.qp_event(&t.qp);
	assert_string_equal(t.order, "db");
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(the_peer_is_told_before_the_core),
		T(a_confirmation_comes_before_the_end),
		T(an_end_stands_for_the_confirmation_it_overtook),
		T(an_iwarp_peer_may_end_what_it_never_had),
		T(an_iwarp_peer_is_refused_where_the_answer_fails),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
