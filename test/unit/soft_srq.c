/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The software engine: shared receive queues (spec file 05 section 13). */
#include "test/unit/soft_two.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const struct dapl_transport *const t = &dapl_module_transport;

#define SIZE (1u << 20)

enum {
	PAIRS = 3,
};

static struct end a[PAIRS], b[PAIRS];
static struct tp_srq *srq;
static int srq_owner;

static struct tp_srq *make_srq(struct tp_pd *pd, uint32_t max_wr)
{
	struct tp_srq_attr attr = { .pd = pd, .max_wr = max_wr, .max_sge = 4 };
	struct tp_srq *made;

	assert_int_equal(t->srq->create(right.dev, &attr, &srq_owner, &made), 0);
	assert_ptr_equal(made->owner, &srq_owner);
	return made;
}

static void end_on_srq(struct end *end, uint32_t recv_cqe)
{
	struct tp_qp_attr attr = { .pd = right.pd,
				   .max_send_wr = 16,
				   .max_send_sge = 4,
				   .max_read_in = 4,
				   .max_read_out = 4,
				   .srq = srq };

	memset(end, 0, sizeof(*end));
	end->node = &right;
	new_cq(right.dev, 256, end, &end->send_cq);
	new_cq(right.dev, recv_cqe, end, &end->recv_cq);
	attr.send_cq = end->send_cq;
	attr.recv_cq = end->recv_cq;
	assert_int_equal(t->qp->create(right.dev, &attr, end, &end->qp), 0);
}

static int set_up(void **state)
{
	static const struct end_options deep = {
		.depth = 256, .sge = 4, .read_in = 4, .read_out = 4
	};

	(void)state;
	two_open(SIZE, FULL, FULL);
	srq = make_srq(right.pd, 64);
	for (int i = 0; i < PAIRS; i++) {
		end_create(&a[i], &left, &deep);
		end_on_srq(&b[i], 256);
		ends_connect(&a[i], &b[i]);
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (int i = 0; i < PAIRS; i++) {
		end_destroy(&a[i]);
		end_destroy(&b[i]);
	}
	t->srq->destroy(srq);
	two_close();
	return 0;
}

static void post_srq(uint64_t id, void *addr, uint32_t len, struct tp_mr *mr)
{
	struct tp_sge sge = { (uintptr_t)addr, len, mr->lkey };

	assert_int_equal(t->srq->post(srq, id, &sge, 1), 0);
}

static uint32_t taken(struct end *end)
{
	uint32_t recv, send;

	end->qp->ops->pending(end->qp, &recv, &send);
	return recv;
}

static void send_to(int i, uint32_t len)
{
	post_send(&a[i], 50, out, len, out_mr, TP_WR_SIGNALED);
	assert_wc(take_wc(a[i].send_cq), 50, SUCCESS);
}

/* SRQ-13, SRQ-17 */
static void srq_13_any_connection(void **state)
{
	struct tp_wc wc;

	(void)state;
	for (unsigned round = 0; round < 20; round++) {
		for (unsigned i = 0; i < 9; i++)
			post_srq(i, in + i * 100000, 100000, in_mr);
		assert_int_equal(t->srq->available(srq), 9);
		for (unsigned i = 0; i < 9; i++) {
			send_to(i % PAIRS, i * 11111);
			wc = take_wc(b[i % PAIRS].recv_cq);
			assert_wc(wc, i, SUCCESS);
			assert_ptr_equal(wc.qp_owner, &b[i % PAIRS]);
			assert_int_equal(wc.byte_len, i * 11111);
			assert_memory_equal(in + i * 100000, out, i * 11111);
			assert_int_equal(t->srq->available(srq), 8 - i);
		}
	}
}

/* SRQ-15: a stream that is ahead of the Receives. */
static void srq_15_ahead_of_the_queue(void **state)
{
	enum {
		RECEIVES = 8,
		AHEAD = 24,
		LENGTH = 400
	};
	struct tp_wc wc;

	(void)state;
	for (unsigned round = 0; round < 300; round++) {
		int i = (int)round % PAIRS;

		for (unsigned n = 0; n < RECEIVES; n++)
			post_srq(n, in + n * LENGTH, LENGTH, in_mr);
		for (unsigned n = 0; n < AHEAD; n++)
			post_send(&a[i], n, out + n, LENGTH - n, out_mr, TP_WR_SIGNALED);
		for (unsigned n = 0; n < AHEAD; n++) {
			if (n == RECEIVES)
				for (unsigned m = n; m < AHEAD; m++)
					post_srq(m, in + m * LENGTH, LENGTH, in_mr);
			wc = take_wc(b[i].recv_cq);
			assert_wc(wc, n, SUCCESS);
			assert_int_equal(wc.byte_len, LENGTH - n);
			assert_memory_equal(in + n * LENGTH, out + n, LENGTH - n);
			assert_wc(take_wc(a[i].send_cq), n, SUCCESS);
		}
		assert_int_equal(taken(&b[i]), 0);
	}
}

/* SRQ-15, DTO-90 */
static void srq_15_empty_queue(void **state)
{
	struct tp_wc wc;

	(void)state;
	for (unsigned i = 0; i < 30; i++)
		send_to(i % PAIRS, 100 + i);
	pause_ms(20);
	for (int i = 0; i < PAIRS; i++) {
		assert_false(try_wc(b[i].recv_cq, &wc));
		assert_int_equal(taken(&b[i]), 0);
	}
	for (unsigned n = 0; n < 30; n++) {
		uint64_t limit = now_ms() + DEADLINE_MS;
		int i = 0;

		post_srq(n, in, 4096, in_mr);
		while (!try_wc(b[i].recv_cq, &wc)) {
			i = (i + 1) % PAIRS;
			assert_true(now_ms() < limit);
		}
		assert_wc(wc, n, SUCCESS);
		assert_ptr_equal(wc.qp_owner, &b[i]);
	}
	/* More than is kept aside. */
	soft_config.held_bytes = 10000;
	for (unsigned i = 0; i < 12; i++)
		post_send(&a[i % PAIRS], i, out, 60000, out_mr, TP_WR_SIGNALED);
	pause_ms(20);
	for (unsigned i = 0; i < 12; i++)
		post_srq(i, in + i * 60000, 60000, in_mr);
	for (unsigned i = 0; i < 12; i++) {
		wc = take_wc(b[i % PAIRS].recv_cq);
		assert_int_equal(wc.status, TP_WC_SUCCESS);
		assert_int_equal(wc.byte_len, 60000);
		assert_wc(take_wc(a[i % PAIRS].send_cq), i, SUCCESS);
	}
	soft_config.held_bytes = 256 << 10;
}

/* DTO-82, SRQ-7: only what was taken is flushed; the rest stays for others. */
static void dto_82_flush(void **state)
{
	struct tp_wc wc;

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		post_srq(i, in, SIZE, in_mr);
	t->cm->disconnect(b[0].conn, false);
	end_event(&a[0], TP_CONN_DISCONNECTED);
	assert_false(try_wc(b[0].recv_cq, &wc));
	assert_int_equal(t->srq->available(srq), 4);
	send_to(1, 5);
	assert_wc(take_wc(b[1].recv_cq), 0, SUCCESS);
	end_reset(&a[0]);
	end_reset(&b[0]);
	ends_connect(&a[0], &b[0]);
	send_to(0, 6);
	assert_wc(take_wc(b[0].recv_cq), 1, SUCCESS);
	/* A fault of one connection: one receive is lost with it. */
	dereg(in_mr);
	in_mr = reg(&right, in, SIZE, FULL);
	send_to(2, 7);
	wc = take_wc(b[2].recv_cq);
	assert_wc(wc, 2, LOCAL_PROTECTION);
	assert_ptr_equal(wc.qp_owner, &b[2]);
	end_event(&b[2], TP_CONN_BROKEN);
	end_event(&a[2], TP_CONN_BROKEN);
	assert_false(try_wc(b[2].recv_cq, &wc));
	assert_int_equal(t->srq->available(srq), 1);
	end_reset(&a[2]);
	end_reset(&b[2]);
	ends_connect(&a[2], &b[2]);
	send_to(1, 7);
	assert_wc(take_wc(b[1].recv_cq), 3, LOCAL_PROTECTION);
	end_event(&b[1], TP_CONN_BROKEN);
	end_event(&a[1], TP_CONN_BROKEN);
	end_reset(&a[1]);
	end_reset(&b[1]);
	ends_connect(&a[1], &b[1]);
	/* One that waits in line goes, and is not waked. */
	send_to(1, 8);
	send_to(0, 9);
	t->cm->disconnect(b[1].conn, false);
	end_event(&a[1], TP_CONN_DISCONNECTED);
	post_srq(7, in, 64, in_mr);
	assert_wc(take_wc(b[0].recv_cq), 7, SUCCESS);
	end_reset(&a[1]);
	end_reset(&b[1]);
	ends_connect(&a[1], &b[1]);
}

/* SRQ-21, SRQ-24 */
static void srq_21_resize(void **state)
{
	struct tp_sge sge = { (uintptr_t)in, 64, in_mr->lkey };
	unsigned n;

	(void)state;
	for (n = 0; n < 64; n++)
		post_srq(n, in, 64, in_mr);
	assert_int_equal(t->srq->post(srq, 64, &sge, 1), -ENOMEM);
	assert_int_equal(t->srq->resize(srq, 200), 0);
	for (; n < 200; n++)
		post_srq(n, in, 64, in_mr);
	assert_int_equal(t->srq->resize(srq, 200), 0);
	for (n = 0; n < 200; n++) {
		send_to((int)n % PAIRS, 8);
		assert_wc(take_wc(b[n % PAIRS].recv_cq), n, SUCCESS);
	}
	assert_int_equal(t->srq->available(srq), 0);
}

static void await_limit(unsigned num, enum tp_async_event event, void *object)
{
	node_await_asyncs(&right, num);
	assert_int_equal(right.async, event);
	assert_ptr_equal(right.async_object, object);
}

/* SRQ-25 to SRQ-28 */
static void srq_26_low_watermark(void **state)
{
	unsigned asyncs = node_asyncs(&right);

	(void)state;
	assert_int_equal(t->srq->arm(srq, 0), 0);
	/* Now, once per setting. */
	assert_int_equal(t->srq->arm(srq, 1), 0);
	assert_int_equal(t->srq->arm(srq, 3), 0);
	await_limit(asyncs + 2, TP_ASYNC_SRQ_LIMIT, &srq_owner);
	for (unsigned i = 0; i < 5; i++)
		post_srq(i, in, 64, in_mr);
	assert_int_equal(t->srq->arm(srq, 5), 0);
	assert_int_equal(t->srq->arm(srq, 4), 0);
	pause_ms(10);
	assert_int_equal(node_asyncs(&right), asyncs + 2);
	send_to(0, 1);
	assert_wc(take_wc(b[0].recv_cq), 0, SUCCESS);
	pause_ms(10);
	assert_int_equal(node_asyncs(&right), asyncs + 2);
	send_to(1, 1);
	assert_wc(take_wc(b[1].recv_cq), 1, SUCCESS);
	await_limit(asyncs + 3, TP_ASYNC_SRQ_LIMIT, &srq_owner);
	for (unsigned i = 2; i < 5; i++) {
		send_to(1, 1);
		assert_wc(take_wc(b[1].recv_cq), i, SUCCESS);
	}
	pause_ms(10);
	assert_int_equal(node_asyncs(&right), asyncs + 3);
}

/* SRQ-39 to SRQ-42 */
static void srq_41_42_high_watermarks(void **state)
{
	unsigned asyncs = node_asyncs(&right);

	(void)state;
	assert_int_equal(b[0].qp->ops->limit_recv(b[0].qp, 1, 1), 0);
	post_srq(1, in, 64, in_mr);
	send_to(0, 1);
	assert_wc(take_wc(b[0].recv_cq), 1, SUCCESS);
	/* One taken is more than none. Once per setting. */
	assert_int_equal(b[0].qp->ops->limit_recv(b[0].qp, 0, UINT32_MAX), 0);
	assert_int_equal(node_asyncs(&right), asyncs);
	for (unsigned i = 0; i < 3; i++) {
		post_srq(2, in, 64, in_mr);
		send_to(0, 1);
		assert_wc(take_wc(b[0].recv_cq), 2, SUCCESS);
		await_limit(asyncs + 1, TP_ASYNC_QP_RECV_LIMIT, &b[0]);
	}
	assert_int_equal(node_asyncs(&right), asyncs + 1);
	assert_int_equal(b[0].qp->ops->limit_recv(b[0].qp, UINT32_MAX, 0), 0);
	post_srq(3, in, 64, in_mr);
	send_to(0, 1);
	end_event(&b[0], TP_CONN_BROKEN);
	end_event2(&a[0], TP_CONN_BROKEN, TP_CONN_DISCONNECTED);
	end_reset(&a[0]);
	end_reset(&b[0]);
	assert_int_equal(b[0].qp->ops->limit_recv(b[0].qp, UINT32_MAX, UINT32_MAX), 0);
	ends_connect(&a[0], &b[0]);
	while (t->srq->available(srq)) {
		send_to(0, 1);
		take_wc(b[0].recv_cq);
	}
	/* Without a shared queue there is nothing to take. */
	assert_int_equal(a[0].qp->ops->limit_recv(a[0].qp, 1, 1), -EOPNOTSUPP);
}

/* SRQ-34: the buffers are of the queue's PD, RDMA is of the QP's. */
static void srq_34_two_pds(void **state)
{
	struct tp_mr_attr attr = { .addr = in, .length = SIZE, .access = TP_ACCESS_LOCAL_WRITE };
	struct tp_srq *usual = srq;
	struct tp_pd *pd;
	struct tp_mr *mr;
	struct end c, d;

	(void)state;
	assert_int_equal(t->pd->alloc(right.dev, &pd), 0);
	assert_int_equal(t->mr->reg(pd, &attr, &mr), 0);
	srq = make_srq(pd, 4);
	end_create(&c, &left, NULL);
	end_on_srq(&d, 256);
	ends_connect(&c, &d);
	post_srq(1, in, 64, mr);
	post_send(&c, 2, out, 64, out_mr, 0);
	assert_wc(take_wc(d.recv_cq), 1, SUCCESS);
	post_rdma(&c, TP_RDMA_READ, 3, out, 64, out_mr, in, in_mr->rkey, TP_WR_SIGNALED);
	assert_wc(take_wc(c.send_cq), 3, SUCCESS);
	post_srq(4, in, 64, in_mr);
	post_send(&c, 5, out, 64, out_mr, 0);
	assert_wc(take_wc(d.recv_cq), 4, LOCAL_PROTECTION);
	end_destroy(&c);
	end_destroy(&d);
	t->srq->destroy(srq);
	srq = usual;
	dereg(mr);
	t->pd->free(pd);
}

/* EVD-93, SRQ-17: a receive whose completion is lost is there for others. */
static void evd_93_a_lost_completion_takes_no_receive(void **state)
{
	struct tp_srq *usual = srq;
	struct end c, d, e, f;

	(void)state;
	srq = make_srq(right.pd, 2);
	end_create(&c, &left, NULL);
	end_on_srq(&d, 1);
	end_create(&e, &left, NULL);
	end_on_srq(&f, 2);
	ends_connect(&c, &d);
	ends_connect(&e, &f);
	post_srq(1, in, 64, in_mr);
	post_srq(2, in, 64, in_mr);
	post_send(&c, 3, out, 64, out_mr, 0);
	post_send(&c, 4, out, 64, out_mr, 0);
	end_event(&d, TP_CONN_BROKEN);
	end_event2(&c, TP_CONN_BROKEN, TP_CONN_DISCONNECTED);
	assert_wc(take_wc(d.recv_cq), 1, SUCCESS);
	assert_int_equal(t->srq->available(srq), 1);
	post_send(&e, 5, out, 64, out_mr, 0);
	assert_wc(take_wc(f.recv_cq), 2, SUCCESS);
	end_destroy(&c);
	end_destroy(&d);
	end_destroy(&e);
	end_destroy(&f);
	t->srq->destroy(srq);
	srq = usual;
}

/* Many at once, with receives coming in a trickle from two threads' point of view. */
struct sender {
	struct end *end;
	pthread_t thread;
};

enum {
	MESSAGES = 2000,
	SLOTS = 5, /* for one message each */
	SLOT_SIZE = 300,
};

static void *send_all(void *arg)
{
	struct sender *sender = arg;

	for (unsigned i = 0; i < MESSAGES; i++) {
		post_send(sender->end, i, out, i % SLOT_SIZE, out_mr, TP_WR_SIGNALED);
		if (take_wc(sender->end->send_cq).status != TP_WC_SUCCESS)
			return arg;
	}
	return NULL;
}

static void all_at_once(void **state)
{
	struct sender sender[PAIRS];
	unsigned got[PAIRS] = { 0 }, posted = 0, total = 0;
	uint64_t unused[SLOTS] = { 0, 1, 2, 3, 4 };
	unsigned num_unused = SLOTS;
	uint64_t limit = now_ms() + 6 * DEADLINE_MS;
	struct tp_wc wc;
	void *failed;

	(void)state;
	for (int i = 0; i < PAIRS; i++) {
		sender[i].end = &a[i];
		assert_int_equal(pthread_create(&sender[i].thread, NULL, send_all, &sender[i]), 0);
	}
	while (total < PAIRS * MESSAGES) {
		for (; posted < PAIRS * MESSAGES && num_unused; posted++) {
			num_unused--;
			post_srq(unused[num_unused], in + unused[num_unused] * SLOT_SIZE, SLOT_SIZE,
				 in_mr);
		}
		for (int i = 0; i < PAIRS; i++) {
			if (!try_wc(b[i].recv_cq, &wc))
				continue;
			assert_int_equal(wc.status, TP_WC_SUCCESS);
			assert_int_equal(wc.byte_len, got[i] % SLOT_SIZE);
			unused[num_unused++] = wc.wr_id;
			got[i]++;
			total++;
		}
		assert_true(now_ms() < limit);
	}
	for (int i = 0; i < PAIRS; i++) {
		pthread_join(sender[i].thread, &failed);
		assert_null(failed);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(srq_13_any_connection),
		cmocka_unit_test(srq_15_ahead_of_the_queue),
		cmocka_unit_test(srq_15_empty_queue),
		cmocka_unit_test(dto_82_flush),
		cmocka_unit_test(srq_21_resize),
		cmocka_unit_test(srq_26_low_watermark),
		cmocka_unit_test(srq_41_42_high_watermarks),
		cmocka_unit_test(srq_34_two_pds),
		cmocka_unit_test(evd_93_a_lost_completion_takes_no_receive),
		cmocka_unit_test(all_at_once),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
