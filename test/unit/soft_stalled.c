/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sends that wait for a receive (DTO-90). */
#include "test/unit/soft_two.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>

#include "providers/soft/engine/cq.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/engine/ud.h"
#include "test/unit/soft_loop.h"

static const struct dapl_transport *const t = &dapl_module_transport;

/* ---- Sends without a Receive (DTO-90) ---- */

static void late_receives(void **state)
{
	static const struct end_options options = {
		.depth = 64, .sge = 4, .read_in = 4, .read_out = 4
	};
	struct end a, b;
	struct tp_wc wc;

	(void)state;
	pair(&a, &b, &options);
	fill(out, TWO_BIG, 1);
	for (unsigned i = 0; i < 20; i++)
		post_send(&a, i, out + i * 1000, 1000 * i, out_mr, TP_WR_SIGNALED);
	/* They are kept aside: a write behind them is placed, and a read of the other side
	 * answered; one behind them waits with them (RFC 5040 section 5.5, DTO-90). */
	fill(in + 2000000, 1000, 0);
	post_rdma(&a, TP_RDMA_WRITE, 49, out, 1000, out_mr, in + 2000000, in_mr->rkey, 0);
	post_rdma(&a, TP_RDMA_READ, 50, out + 1000000, 100000, out_mr, in, in_mr->rkey,
		  TP_WR_SIGNALED);
	for (unsigned i = 0; i < 20; i++)
		assert_wc(take_wc(a.send_cq), i, SUCCESS);
	post_rdma(&b, TP_RDMA_READ, 51, in + 1000000, 100000, in_mr, out, out_mr->rkey,
		  TP_WR_SIGNALED);
	assert_wc(take_wc(b.send_cq), 51, SUCCESS);
	assert_memory_equal(in + 2000000, out, 1000);
	assert_false(try_wc(b.recv_cq, &wc));
	for (unsigned i = 0; i < 20; i++) {
		post_recv(&b, i, in, 20000, in_mr);
		wc = take_wc(b.recv_cq);
		assert_wc(wc, i, SUCCESS);
		assert_int_equal(wc.byte_len, 1000 * i);
		assert_memory_equal(in, out + i * 1000, 1000 * i);
		if (i < 19)
			assert_false(try_wc(a.send_cq, &wc));
	}
	assert_wc(take_wc(a.send_cq), 50, SUCCESS);
	unpair(&a, &b);
}

/* Who posts a Receive drives as long as a message waits for one, and no longer. */
static void posting_is_cheap_again(void **state)
{
	struct soft_qp *qp;
	struct tp_wc wc;
	struct end a, b;
	uint64_t limit = now_ms() + DEADLINE_MS;

	(void)state;
	for (int held = 0; held < 2; held++) {
		soft_config.held_bytes = held ? 256 << 10 : 0;
		pair(&a, &b, NULL);
		qp = soft_qp(b.qp);
		post_send(&a, 1, out, 100, out_mr, 0);
		while (!atomic_load(&qp->rx_starved) && now_ms() < limit)
			try_wc(b.recv_cq, &wc);
		assert_true(atomic_load(&qp->rx_starved));
		post_recv(&b, 2, in, 100, in_mr);
		assert_wc(take_wc(b.recv_cq), 2, SUCCESS);
		assert_false(atomic_load(&qp->rx_starved));
		unpair(&a, &b);
	}
	soft_config.held_bytes = 256 << 10;
}

/* More than is kept: the sender stalls, and goes on once there are Receives. */
static void backpressure(void **state)
{
	static const struct end_options options = {
		.depth = 64, .sge = 4, .read_in = 4, .read_out = 4
	};
	struct end a, b;
	uint32_t recvs, sends_left;

	(void)state;
	soft_config.held_bytes = 100000;
	pair(&a, &b, &options);
	fill(out, TWO_BIG, 9);
	for (unsigned i = 0; i < 60; i++)
		post_send(&a, i, out, TWO_BIG / 2, out_mr, TP_WR_SIGNALED);
	pause_ms(100);
	a.qp->ops->pending(a.qp, &recvs, &sends_left);
	assert_true(sends_left > 30);
	for (unsigned i = 0; i < 60; i++) {
		memset(in, 0, TWO_BIG / 2);
		post_recv(&b, i, in, TWO_BIG, in_mr);
		assert_wc(take_wc(b.recv_cq), i, SUCCESS);
		assert_true(filled(in, TWO_BIG / 2, 9));
		assert_wc(take_wc(a.send_cq), i, SUCCESS);
	}
	soft_config.held_bytes = 256 << 10;
	unpair(&a, &b);
}

/* One that waits is looked at again and again, but summed once: what changes in it then is not
 * seen. */
static void stalled_and_summed_once(void **state)
{
	struct soft_conn *conn;
	struct soft_rx *rx;
	struct tp_wc wc;
	struct end a, b;
	uint64_t limit = now_ms() + DEADLINE_MS;

	(void)state;
	soft_config.held_bytes = 0;
	pair(&a, &b, NULL);
	fill(out, 100, 3);
	post_send(&a, 1, out, 100, out_mr, 0);
	conn = soft_conn(b.conn);
	rx = &conn->rx;
	while (!atomic_load(&conn->rx_stalled) && now_ms() < limit)
		try_wc(b.recv_cq, &wc);
	dapl_lock(&conn->qp->lock);
	assert_true(conn->crc && rx->stalled);
	rx->stage[rx->begin + WIRE_MPA_LENGTH + WIRE_DDP_UNTAGGED_SIZE + 50] ^= 1;
	dapl_unlock(&conn->qp->lock);
	for (int i = 0; i < 10; i++)
		assert_false(try_wc(b.recv_cq, &wc));
	post_recv(&b, 2, in, 100, in_mr);
	assert_wc(take_wc(b.recv_cq), 2, SUCCESS);
	in[50] ^= 1;
	assert_true(filled(in, 100, 3));
	soft_config.held_bytes = 256 << 10;
	unpair(&a, &b);
}

/*
 * DTO-73: an answer behind a message that there was no memory for comes when there is some, though
 * nothing else happens, and who waits for it sleeps.
 */
static void no_memory_for_a_time(void **state)
{
	int64_t timeout = soft_config.peer_timeout_ms;
	uint64_t limit = now_ms() + DEADLINE_MS / 4;
	struct pollfd fd;
	struct tp_wc wc;
	struct end a, b;
	unsigned events;

	(void)state;
	/* Anew: the timer of adapters that are open has the old interval. */
	two_close();
	soft_config.held_bytes = 0;
	soft_config.peer_timeout_ms = 300;
	two_open(TWO_BIG, FULL, FULL);
	pair(&a, &b, NULL);
	post_send(&a, 1, out, 100, out_mr, 0);
	while (!atomic_load(&soft_conn(b.conn)->rx_stalled) && now_ms() < limit)
		try_wc(b.recv_cq, &wc);
	post_rdma(&b, TP_RDMA_READ, 2, in, 100, in_mr, out, out_mr->rkey, TP_WR_SIGNALED);
	pause_ms(100);
	assert_false(try_wc(b.send_cq, &wc));
	events = atomic_load(&b.cq_events);
	arm_cq(b.send_cq, TP_ARM_WAITER);
	fd = (struct pollfd){ .fd = t->cq->fd(b.send_cq), .events = POLLIN };
	dapl_lock(&soft_conn(b.conn)->qp->lock);
	soft_config.held_bytes = 256 << 10;
	dapl_unlock(&soft_conn(b.conn)->qp->lock);
	while (atomic_load(&b.cq_events) == events && poll(&fd, 1, 5) <= 0)
		assert_true(now_ms() < limit);
	disarm_cq(b.send_cq);
	assert_wc(take_wc(b.send_cq), 2, SUCCESS);
	unpair(&a, &b);
	two_close();
	soft_config.peer_timeout_ms = timeout;
	two_open(TWO_BIG, FULL, FULL);
}

static void stalled_and_hung_up(void **state)
{
	struct end a, b;

	(void)state;
	soft_config.held_bytes = 0;
	soft_config.unreceived_ms = 100;
	for (int polling = 0; polling < 2; polling++) {
		struct tp_wc wc;
		uint64_t limit = now_ms() + DEADLINE_MS;

		pair(&a, &b, NULL);
		post_send(&a, 1, out, 8, out_mr, 0);
		if (polling)
			for (int i = 0; i < 1000; i++)
				try_wc(b.recv_cq, &wc);
		else
			pause_ms(20);
		t->cm->disconnect(a.conn, false);
		while (polling && end_events(&b) == 1 && now_ms() < limit)
			try_wc(b.recv_cq, &wc);
		end_event(&b, TP_CONN_DISCONNECTED);
		unpair(&a, &b);
	}
	soft_config.unreceived_ms = 10000;
	soft_config.held_bytes = 256 << 10;
}

/* The sender gives up while the receiver does not read: the receiver learns of it once it has
 * received what was sent with success. */
static void stalled_and_given_up(void **state)
{
	unsigned done;
	struct end a, b;
	struct tp_wc wc;

	(void)state;
	soft_config.linger_ms = 50;
	for (int round = 0; round < 4; round++) {
		soft_config.held_bytes = round & 1 ? 0 : 100000;
		pair(&a, &b, NULL);
		for (unsigned i = 0; i < 16; i++)
			post_send(&a, i, out, TWO_BIG, out_mr, TP_WR_SIGNALED);
		pause_ms(50);
		if (round & 2)
			t->cm->disconnect(a.conn, true);
		t->cm->disconnect(a.conn, false);
		for (done = 0; try_wc(a.send_cq, &wc);)
			done += wc.status == TP_WC_SUCCESS;
		end_quiet(&b, 200);
		for (unsigned i = 0; i < 16; i++)
			post_recv(&b, i, in, TWO_BIG, in_mr);
		for (unsigned i = 0; i < done; i++)
			assert_wc(take_wc(b.recv_cq), i, SUCCESS);
		end_event2(&b, TP_CONN_BROKEN, TP_CONN_DISCONNECTED);
		unpair(&a, &b);
	}
	soft_config.linger_ms = 2000;
	soft_config.held_bytes = 256 << 10;
}

/* EVD-95: a completion without a place breaks its connection, and no other. */
static void overflow(void **state)
{
	struct end a, b, c, d;
	uint32_t recvs, requests;

	(void)state;
	pair(&a, &b, NULL);
	pair(&c, &d, NULL);
	/* The queue has 64 places (EVD-93). */
	for (unsigned i = 0; i < 65; i++) {
		post_recv(&b, i, in, 8, in_mr);
		post_send(&a, i, out, 8, out_mr, TP_WR_SIGNALED);
		assert_wc(take_wc(a.send_cq), i, SUCCESS);
		for (recvs = 1; recvs;)
			b.qp->ops->pending(b.qp, &recvs, &requests);
	}
	end_event(&b, TP_CONN_BROKEN);
	end_event(&a, TP_CONN_BROKEN);
	node_await_asyncs(&right, 1);
	assert_int_equal(right.async, TP_ASYNC_CQ_OVERFLOW);
	assert_ptr_equal(right.async_object, &b);
	post_recv(&d, 1, in, 8, in_mr);
	post_send(&c, 2, out, 8, out_mr, TP_WR_SIGNALED);
	assert_wc(take_wc(d.recv_cq), 1, SUCCESS);
	unpair(&a, &b);
	unpair(&c, &d);
}

/*
 * EVD-95, EVD-99: an endpoint of datagrams has no connection that breaks, and whoever cannot take
 * the completion of a Send would never have its place back.
 */
static void overflow_of_datagrams(void **state)
{
	enum {
		DEPTH = 4,
		PLACES = 4 * DEPTH,
	};
	static const struct end_options options = {
		.depth = DEPTH, .sge = 1, .one_cq = true, .ud = true
	};
	struct soft_ah ah = { .addr = soft_dev(left.dev)->addr };
	struct tp_wr wr = { .opcode = TP_SEND_UD, .flags = TP_WR_SIGNALED, .ah = &ah };
	unsigned asyncs = node_asyncs(&left);
	struct end a;

	(void)state;
	soft_addr_set_port(&ah.addr, 9);
	end_create(&a, &left, &options);
	for (unsigned round = 0; round < 2; round++) {
		for (wr.wr_id = 0; wr.wr_id < PLACES; wr.wr_id++)
			assert_int_equal(a.qp->ops->post_send(a.qp, &wr), 0);
		assert_int_equal(a.qp->ops->post_send(a.qp, &wr), -ENOMEM);
		for (unsigned i = 0; i < PLACES; i++)
			assert_wc(take_wc(a.send_cq), i, SUCCESS);
	}
	/* One that says nothing needs no place. */
	for (wr.wr_id = 0; wr.wr_id < PLACES; wr.wr_id++)
		assert_int_equal(a.qp->ops->post_send(a.qp, &wr), 0);
	wr.flags = 0;
	assert_int_equal(a.qp->ops->post_send(a.qp, &wr), 0);
	end_destroy(&a);
	assert_int_equal(node_asyncs(&left), asyncs);
}

struct poster {
	struct tp_qp *qp;
	struct tp_wr wr;
	atomic_bool *stop;
};

static void *post_often(void *arg)
{
	struct poster *poster = arg;

	while (!atomic_load(poster->stop))
		(void)poster->qp->ops->post_send(poster->qp, &poster->wr);
	return NULL;
}

/* Two endpoints, each with a thread of its own, fill one queue: none of their completions is lost. */
static void overflow_of_datagrams_by_two(void **state)
{
	static const struct end_options options = {
		.depth = 4, .sge = 1, .one_cq = true, .ud = true
	};
	const struct timespec moment = { .tv_nsec = 100000 };
	struct soft_ah ah = { .addr = soft_dev(left.dev)->addr };
	struct tp_wr wr = { .opcode = TP_SEND_UD, .flags = TP_WR_SIGNALED, .ah = &ah };
	unsigned asyncs = node_asyncs(&left);
	atomic_bool stop = false;
	struct poster poster[2];
	pthread_t threads[2];
	struct soft_cq *own;
	struct end a, b;
	struct tp_wc wc;

	(void)state;
	soft_addr_set_port(&ah.addr, 9);
	end_create(&a, &left, &options);
	end_create(&b, &left, &options);
	own = soft_qp(b.qp)->send_cq;
	soft_qp(b.qp)->send_cq = soft_cq(a.send_cq);
	for (int i = 0; i < 2; i++) {
		poster[i] = (struct poster){ i ? b.qp : a.qp, wr, &stop };
		assert_int_equal(pthread_create(&threads[i], NULL, post_often, &poster[i]), 0);
	}
	for (int i = 0; i < 1000; i++) {
		for (int j = 0; j < 4; j++)
			(void)try_wc(a.send_cq, &wc);
		nanosleep(&moment, NULL);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	soft_qp(b.qp)->send_cq = own;
	end_destroy(&a);
	end_destroy(&b);
	assert_int_equal(node_asyncs(&left), asyncs);
}

/* With an argument only the tests that match it run. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(late_receives),
		cmocka_unit_test(backpressure),
		cmocka_unit_test(stalled_and_summed_once),
		cmocka_unit_test(stalled_and_hung_up),
		cmocka_unit_test(stalled_and_given_up),
		cmocka_unit_test(overflow),
		cmocka_unit_test(no_memory_for_a_time),
		cmocka_unit_test(posting_is_cheap_again),
		cmocka_unit_test(overflow_of_datagrams),
		cmocka_unit_test(overflow_of_datagrams_by_two),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, two_set_up, two_tear_down);
}
