/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The software engine: connections, transfers and their order, through dapl/transport.h. */
#include "test/unit/soft_two.h"

#include <poll.h>
#include <semaphore.h>

#include "test/unit/soft_loop.h"

static const struct dapl_transport *const t = &dapl_module_transport;

/* ---- Transfers ---- */

static const uint32_t sizes[] = { 0,	 1,	3,     8,     63,     64,	65,
				  255,	 256,	257,   4000,  4048,   4060,	4064,
				  4065,	 4068,	4096,  8192,  60000,  65455,	65456,
				  65457, 65460, 65461, 65536, 131072, 1u << 20, TWO_BIG - 16 };
#define NUM_SIZES (sizeof(sizes) / sizeof(sizes[0]))

static void sends(bool waiting)
{
	struct end a, b;
	struct tp_wc wc;

	pair(&a, &b, NULL);
	for (unsigned i = 0; i < NUM_SIZES; i++) {
		fill(out, sizes[i], i);
		memset(in, 0, sizes[i] + 1);
		post_recv(&b, i, in, sizes[i] + 7, in_mr);
		post_send(&a, 100 + i, out, sizes[i], out_mr,
			  TP_WR_SIGNALED | (i & 1 ? TP_WR_SOLICITED : 0));
		wc = waiting ? wait_wc(&b, b.recv_cq) : take_wc(b.recv_cq);
		assert_wc(wc, i, SUCCESS);
		assert_int_equal(wc.byte_len, sizes[i]);
		assert_int_equal(wc.flags, TP_WC_RECV | (i & 1 ? TP_WC_SOLICITED : 0));
		assert_true(filled(in, sizes[i], i));
		assert_wc(waiting ? wait_wc(&a, a.send_cq) : take_wc(a.send_cq), 100 + i, SUCCESS);
	}
	unpair(&a, &b);
}

/* A loop that stands until it is let go. */
struct stop {
	struct tp_task task;
	sem_t stands, go;
};

static void stand(struct tp_task *task)
{
	struct stop *stop = container_of(task, struct stop, task);

	sem_post(&stop->stands);
	while (sem_wait(&stop->go))
		;
}

static void stop_loop(struct node *node, struct stop *stop)
{
	memset(stop, 0, sizeof(*stop));
	stop->task.run = stand;
	sem_init(&stop->stands, 0, 0);
	sem_init(&stop->go, 0, 0);
	dapl_loop_post(node->loop, &stop->task);
	while (sem_wait(&stop->stands))
		;
}

/*
 * A program that ends its connections when it has seen all of them: its peer, who hears of the last
 * confirmation and of the first end at the same time, tells them in this order.
 */
static void confirmations_before_later_ends(void **state)
{
	struct stop at_left, at_right;
	struct event *up, *down;
	struct end a, b, c, d;

	(void)state;
	pair(&a, &b, NULL);
	end_create(&c, &left, NULL);
	end_create(&d, &right, NULL);
	end_connect(&c, &right, NULL, 0);
	d.conn = node_request(&right);
	stop_loop(&left, &at_left);
	assert_int_equal(t->cm->accept(d.conn, d.qp, NULL, 0, &d), 0);
	pause_ms(50); /* for the answer to be on its way */
	stop_loop(&right, &at_right);
	sem_post(&at_left.go);
	end_event(&c, TP_CONN_ESTABLISHED);
	t->cm->disconnect(a.conn, false);
	pause_ms(50); /* for the end to be there */
	sem_post(&at_right.go);
	up = end_event(&d, TP_CONN_ESTABLISHED);
	down = end_event(&b, TP_CONN_DISCONNECTED);
	assert_true(up->turn < down->turn);
	unpair(&c, &d);
	end_destroy(&a);
	end_destroy(&b);
}

static void sends_polling(void **state)
{
	(void)state;
	sends(false);
}

static void sends_waiting(void **state)
{
	(void)state;
	sends(true);
}

static void sends_without_crc(void **state)
{
	(void)state;
	soft_config.crc = 0;
	sends(false);
	soft_config.crc = 1;
}

static void sends_in_small_fpdus(void **state)
{
	(void)state;
	soft_config.fpdu = 1448;
	sends(false);
	soft_config.fpdu = 200;
	sends(false);
	soft_config.fpdu = 0;
}

static void rdma(void **state)
{
	struct end a, b;

	(void)state;
	pair(&a, &b, NULL);
	for (unsigned i = 0; i < NUM_SIZES; i++) {
		fill(out, sizes[i], i);
		memset(in, 0, sizes[i] + 9);
		post_rdma(&a, TP_RDMA_WRITE, i, out, sizes[i], out_mr, in + 5, in_mr->rkey,
			  TP_WR_SIGNALED);
		assert_wc(take_wc(a.send_cq), i, SUCCESS);
		/* A read behind the write returns what it wrote (DTO-68); the target calls nothing.
		 */
		memset(out, 0, sizes[i] + 1);
		post_rdma(&a, TP_RDMA_READ, i, out + 1, sizes[i], out_mr, in + 5, in_mr->rkey,
			  TP_WR_SIGNALED);
		assert_wc(take_wc(a.send_cq), i, SUCCESS);
		assert_true(filled(in + 5, sizes[i], i));
		assert_true(filled(out + 1, sizes[i], i));
		assert_int_equal(in[sizes[i] + 5], 0);
	}
	unpair(&a, &b);
}

static void segments(void **state)
{
	struct end a, b;
	struct tp_sge sge[4] = { { (uintptr_t)out, 100, out_mr->lkey },
				 { 0xdead, 0, 12345 }, /* names nothing: not looked at (DTO-10) */
				 { (uintptr_t)out + 1000, 70000, out_mr->lkey },
				 { (uintptr_t)out + 90000, 1, out_mr->lkey } };
	struct tp_sge sink[2] = { { (uintptr_t)in, 5000, in_mr->lkey },
				  { (uintptr_t)in + 200000, 70000, in_mr->lkey } };
	struct tp_wr wr = { .wr_id = 1,
			    .opcode = TP_SEND,
			    .flags = TP_WR_SIGNALED,
			    .sge = sge,
			    .num_sge = 4,
			    .length = 70101 };
	struct tp_wc wc;

	(void)state;
	pair(&a, &b, NULL);
	fill(out, TWO_BIG, 3);
	assert_int_equal(b.qp->ops->post_recv(b.qp, 9, sink, 2), 0);
	assert_int_equal(a.qp->ops->post_send(a.qp, &wr), 0);
	wc = take_wc(b.recv_cq);
	assert_wc(wc, 9, SUCCESS);
	assert_int_equal(wc.byte_len, 70101);
	assert_memory_equal(in, out, 100);
	assert_memory_equal(in + 100, out + 1000, 4900);
	assert_memory_equal(in + 200000, out + 5900, 65100);
	assert_int_equal(in[200000 + 65100], out[90000]);
	assert_wc(take_wc(a.send_cq), 1, SUCCESS);
	/* A read into several segments; less than they hold. */
	fill(in, TWO_BIG, 99);
	wr.opcode = TP_RDMA_READ;
	wr.remote_addr = (uintptr_t)in;
	wr.rkey = in_mr->rkey;
	wr.length = 70000;
	assert_int_equal(a.qp->ops->post_send(a.qp, &wr), 0);
	assert_wc(take_wc(a.send_cq), 1, SUCCESS);
	assert_memory_equal(in, out, 100);
	assert_memory_equal(in + 100, out + 1000, 69900);
	unpair(&a, &b);
}

/* The last byte of n at p by the naturally aligned word it is in, which ThreadSanitizer goes by. */
static uint8_t last_byte(const uint8_t *p, uint32_t n)
{
	const uint8_t *end = p + n;

	if (n >= 8 && (uintptr_t)end % 8 == 0)
		return (uint8_t)(__atomic_load_n((const uint64_t *)(const void *)(end - 8),
						 __ATOMIC_ACQUIRE) >>
				 56);
	return __atomic_load_n(end - 1, __ATOMIC_ACQUIRE);
}

/* DTO-47: who sees the last byte sees all. */
static void last_byte_last(void **state)
{
	static const uint32_t len[] = { 1, 7, 8, 64, 72, 3000, 5000, 66000, 200001 };
	uint64_t limit;
	struct end a, b;

	(void)state;
	pair(&a, &b, NULL);
	for (unsigned round = 1; round <= 40; round++) {
		uint32_t n = len[round % 9];

		memset(out, (int)round, n);
		post_rdma(&a, TP_RDMA_WRITE, round, out, n, out_mr, in, in_mr->rkey,
			  TP_WR_SIGNALED);
		limit = now_ms() + DEADLINE_MS;
		while (last_byte(in, n) != round)
			assert_true(now_ms() < limit);
		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(in[i], round);
		assert_wc(take_wc(a.send_cq), round, SUCCESS);
	}
	unpair(&a, &b);
}

/* ---- Order ---- */

static void order_and_suppression(void **state)
{
	static const struct end_options options = {
		.depth = 64, .sge = 4, .read_in = 2, .read_out = 8, .one_cq = true
	};
	struct end a, b;
	struct tp_wc wc;

	(void)state;
	pair(&a, &b, &options);
	/* More reads than the peer takes (2), among writes and sends, some without completion. */
	for (unsigned i = 0; i < 16; i++)
		post_recv(&b, i, in + i * 64, 64, in_mr);
	for (unsigned i = 0; i < 16; i++) {
		post_rdma(&a, TP_RDMA_READ, 100 + 3 * i, out + 8192 * i, 8192, out_mr, in + 1000000,
			  in_mr->rkey, TP_WR_SIGNALED);
		post_rdma(&a, TP_RDMA_WRITE, 101 + 3 * i, out, 64, out_mr, in + 2000000,
			  in_mr->rkey, 0);
		post_send(&a, 102 + 3 * i, out, 16, out_mr,
			  TP_WR_SIGNALED | (i % 4 ? 0 : TP_WR_FENCE));
	}
	for (unsigned i = 0; i < 16; i++) {
		assert_wc(take_wc(a.send_cq), 100 + 3 * i, SUCCESS);
		assert_wc(take_wc(a.send_cq), 102 + 3 * i, SUCCESS);
		assert_wc(take_wc(b.recv_cq), i, SUCCESS);
	}
	assert_false(try_wc(a.send_cq, &wc));
	unpair(&a, &b);
}

/* DTO-69, DTO-70: a fence holds a request back until earlier reads are done. */
static void fence(void **state)
{
	struct end a, b;

	(void)state;
	pair(&a, &b, NULL);
	for (unsigned i = 0; i < 30; i++) {
		fill(in, 1 << 20, i);
		memset(out, 0, 1 << 20);
		post_recv(&b, 5, in + (1 << 20), 1 << 20, in_mr);
		post_rdma(&a, TP_RDMA_READ, 1, out, 1 << 20, out_mr, in, in_mr->rkey,
			  TP_WR_SIGNALED);
		post_send(&a, 2, out, 1 << 20, out_mr, TP_WR_SIGNALED | TP_WR_FENCE);
		assert_wc(take_wc(a.send_cq), 1, SUCCESS);
		assert_wc(take_wc(a.send_cq), 2, SUCCESS);
		assert_wc(take_wc(b.recv_cq), 5, SUCCESS);
		assert_true(filled(in + (1 << 20), 1 << 20, i));
	}
	unpair(&a, &b);
}

/* EP-77: a peer that takes no reads at all. */
static void no_reads(void **state)
{
	static const struct end_options options = {
		.depth = 16, .sge = 4, .read_in = 0, .read_out = 4
	};
	struct end a, b;

	(void)state;
	pair(&a, &b, &options);
	post_rdma(&a, TP_RDMA_READ, 1, out, 8, out_mr, in, in_mr->rkey, 0);
	assert_wc(take_wc(a.send_cq), 1, REMOTE_RESPONDER);
	end_event(&a, TP_CONN_BROKEN);
	end_event(&b, TP_CONN_BROKEN);
	unpair(&a, &b);
}

/* ---- Ends ---- */

/* FL-1 to FL-4: everything completes once, in order, finished ones first. */
static void flush_order(void **state)
{
	static const struct end_options options = {
		.depth = 32, .sge = 4, .read_in = 4, .read_out = 4
	};
	struct end a, b;
	struct tp_wc wc;
	bool failed;

	(void)state;
	for (int round = 0; round < 20; round++) {
		bool active = round & 1;

		pair(&a, &b, &options);
		for (unsigned i = 0; i < 20; i++)
			post_recv(&a, i, out + (2 << 20), 8, out_mr);
		for (unsigned i = 0; i < 20; i++)
			if (i % 5 == 4)
				post_rdma(&a, TP_RDMA_READ, i, out + (1 << 20), 1 << 20, out_mr,
					  in + (1 << 20), in_mr->rkey, TP_WR_SIGNALED);
			else
				post_rdma(&a, TP_RDMA_WRITE, i, out, 1 << 20, out_mr, in,
					  in_mr->rkey, TP_WR_SIGNALED);
		t->cm->disconnect(active ? a.conn : b.conn, false);
		end_event(active ? &b : &a, TP_CONN_DISCONNECTED);
		failed = false;
		for (unsigned i = 0; i < 20; i++) {
			assert_true(try_wc(a.send_cq, &wc));
			assert_int_equal(wc.wr_id, i);
			assert_true(wc.status == TP_WC_FLUSHED ||
				    (wc.status == TP_WC_SUCCESS && !failed));
			failed |= wc.status != TP_WC_SUCCESS;
		}
		for (unsigned i = 0; i < 20; i++) {
			assert_true(try_wc(a.recv_cq, &wc));
			assert_wc(wc, i, FLUSHED);
		}
		/* FL-8: posts to a QP in error are flushed in their turn, also unsignaled ones. */
		post_recv(&a, 40, out, 8, out_mr);
		post_send(&a, 41, out, 8, out_mr, 0);
		assert_wc(take_wc(a.recv_cq), 40, FLUSHED);
		assert_wc(take_wc(a.send_cq), 41, FLUSHED);
		assert_false(try_wc(a.send_cq, &wc) || try_wc(a.recv_cq, &wc));
		unpair(&a, &b);
	}
}

/* FL-13: what was sent before the disconnect is received. */
static void data_before_the_end(void **state)
{
	struct end a, b;

	(void)state;
	for (int round = 0; round < 20; round++) {
		pair(&a, &b, NULL);
		fill(out, 300000, (unsigned)round);
		for (unsigned i = 0; i < 8; i++)
			post_recv(&b, i, in + i * 300000, 300000, in_mr);
		for (unsigned i = 0; i < 8; i++)
			post_send(&a, i, out, 300000, out_mr, TP_WR_SIGNALED);
		/* Graceful: all are processed first (EP-95). */
		t->cm->disconnect(a.conn, true);
		for (unsigned i = 0; i < 8; i++) {
			assert_wc(take_wc(b.recv_cq), i, SUCCESS);
			assert_true(filled(in + i * 300000, 300000, (unsigned)round));
		}
		end_event(&a, TP_CONN_DISCONNECTED);
		end_event(&b, TP_CONN_DISCONNECTED);
		for (unsigned i = 0; i < 8; i++)
			assert_wc(take_wc(a.send_cq), i, SUCCESS);
		unpair(&a, &b);
	}
}

static void graceful_with_reads(void **state)
{
	struct end a, b;

	(void)state;
	pair(&a, &b, NULL);
	for (unsigned i = 0; i < 10; i++)
		post_rdma(&a, TP_RDMA_READ, i, out, TWO_BIG / 2, out_mr, in, in_mr->rkey,
			  TP_WR_SIGNALED);
	post_recv(&a, 30, out, 8, out_mr);
	t->cm->disconnect(a.conn, true);
	for (unsigned i = 0; i < 10; i++)
		assert_wc(take_wc(a.send_cq), i, SUCCESS);
	end_event(&a, TP_CONN_DISCONNECTED);
	assert_wc(take_wc(a.recv_cq), 30, FLUSHED);
	end_event(&b, TP_CONN_DISCONNECTED);
	/* Graceful that cannot end, ended abruptly. */
	end_reset(&a);
	end_reset(&b);
	soft_config.held_bytes = 0;
	ends_connect(&a, &b);
	for (unsigned i = 0; i < 16; i++)
		post_send(&a, i, out, TWO_BIG / 2, out_mr, TP_WR_SIGNALED);
	t->cm->disconnect(a.conn, true);
	end_quiet(&a, 50);
	t->cm->disconnect(a.conn, false);
	end_quiet(&a, 5);
	unpair(&a, &b);
	soft_config.held_bytes = 256 << 10;
}

/* ---- Progress ---- */

static uint64_t cpu_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void sleepers_cost_nothing(void **state)
{
	uint64_t before, cpu;
	bool quiet = false;
	struct tp_wc wc;
	struct end a, b;
	struct pollfd fd;

	(void)state;
	pair(&a, &b, NULL);
	/* Make both sides used to being polled. */
	for (unsigned i = 0; i < 100; i++) {
		post_recv(&b, i, in, 8, in_mr);
		post_send(&a, i, out, 8, out_mr, TP_WR_SIGNALED);
		assert_wc(wait_wc(&b, b.recv_cq), i, SUCCESS);
		assert_wc(take_wc(a.send_cq), i, SUCCESS);
	}
	/* Who has heard of the peer does not ask whether that is there. */
	post_recv(&a, 100, out, 8, out_mr);
	post_send(&b, 100, in, 8, in_mr, TP_WR_SIGNALED);
	assert_wc(take_wc(a.recv_cq), 100, SUCCESS);
	assert_wc(take_wc(b.send_cq), 100, SUCCESS);
	arm_cq(b.recv_cq, TP_ARM_WAITER);
	fd = (struct pollfd){ .fd = t->cq->fd(b.recv_cq), .events = POLLIN };
	pause_ms(400);
	/* On a busy machine the loop comes to rest later, and time is counted that others had. */
	for (int i = 0; i < 10 && !quiet; i++) {
		before = soft_loop_wakeups(right.loop);
		cpu = cpu_time();
		assert_int_equal(poll(&fd, 1, 300), 0);
		cpu = cpu_time() - cpu;
		quiet = soft_loop_wakeups(right.loop) - before <= 2 && cpu < 5000000;
	}
	assert_true(quiet);
	/* The sleeper goes; from then on the loop serves. */
	disarm_cq(b.recv_cq);
	assert_false(try_wc(b.recv_cq, &wc));
	post_rdma(&a, TP_RDMA_READ, 1, out, 100000, out_mr, in, in_mr->rkey, TP_WR_SIGNALED);
	assert_wc(take_wc(a.send_cq), 1, SUCCESS);
	unpair(&a, &b);
}

/* A CQ armed for notification has its connections driven by the loop, whoever polled it before. */
static void notification(void **state)
{
	struct end a, b;
	struct tp_wc wc;
	uint64_t limit;

	(void)state;
	pair(&a, &b, NULL);
	for (unsigned i = 0; i < 300; i++) {
		unsigned seen = atomic_load(&b.cq_events);

		post_recv(&b, i, in, 8, in_mr);
		if (i % 3 == 0)
			for (int n = 0; n < 200; n++)
				try_wc(b.recv_cq, &wc);
		arm_cq(b.recv_cq, TP_ARM_NOTIFY);
		assert_false(try_wc(b.recv_cq, &wc));
		post_send(&a, i, out, 8, out_mr, TP_WR_SIGNALED);
		limit = now_ms() + DEADLINE_MS;
		while (atomic_load(&b.cq_events) == seen)
			assert_true(now_ms() < limit);
		assert_wc(take_wc(b.recv_cq), i, SUCCESS);
		assert_wc(take_wc(a.send_cq), i, SUCCESS);
		assert_int_equal(atomic_load(&b.cq_events), seen + 1);
	}
	unpair(&a, &b);
}

/* With an argument only the tests that match it run. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(confirmations_before_later_ends),
		cmocka_unit_test(sends_polling),
		cmocka_unit_test(sends_waiting),
		cmocka_unit_test(sends_without_crc),
		cmocka_unit_test(sends_in_small_fpdus),
		cmocka_unit_test(rdma),
		cmocka_unit_test(segments),
		cmocka_unit_test(last_byte_last),
		cmocka_unit_test(order_and_suppression),
		cmocka_unit_test(fence),
		cmocka_unit_test(no_reads),
		cmocka_unit_test(flush_order),
		cmocka_unit_test(data_before_the_end),
		cmocka_unit_test(graceful_with_reads),
		cmocka_unit_test(sleepers_cost_nothing),
		cmocka_unit_test(notification),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, two_set_up, two_tear_down);
}
