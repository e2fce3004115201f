/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The software engine: send with invalidate, read into a key, immediate data, atomics. */
#include "test/unit/soft_joined.h"

static const struct dapl_transport *const t = &dapl_module_transport;

/* ---- Send with invalidate (DTO-58 to DTO-61) ---- */

static struct tp_mw *window(struct end *end, bool qp_scope, uint32_t *key)
{
	struct tp_bind bind = { .mr = end == &a ? out_mr : in_mr,
				.addr = (uintptr_t)(end == &a ? out : in),
				.length = JOINED_SIZE / 2,
				.access = TP_ACCESS_REMOTE_READ | TP_ACCESS_REMOTE_WRITE };

	assert_int_equal(t->mw->alloc(end->node->pd, qp_scope, &bind.mw), 0);
	assert_int_equal(t->mw->bind(end->qp, 900, TP_WR_SIGNALED, &bind, key), 0);
	assert_wc(take_wc(end->send_cq), 900, SUCCESS);
	return bind.mw;
}

static void dto_58_invalidates(void **state)
{
	static const uint32_t sizes[] = { 0, 1, 300, 70000, JOINED_SIZE / 2 };
	struct tp_bind bind = { .mr = in_mr, .addr = (uintptr_t)in, .length = 64, .access = FULL };
	struct tp_wc wc;
	uint32_t key;

	(void)state;
	bind.access = TP_ACCESS_REMOTE_READ;
	for (unsigned i = 0; i < 10; i++) {
		uint32_t len = sizes[i % 5];
		bool late = i & 1;
		struct tp_mw *mw = window(&b, true, &key);

		post_rdma(&a, TP_RDMA_READ, 1, out + JOINED_SIZE / 2, 64, out_mr, in, key,
			  TP_WR_SIGNALED);
		assert_wc(take_wc(a.send_cq), 1, SUCCESS);
		if (!late)
			post_recv(&b, 2, in + JOINED_SIZE / 2, JOINED_SIZE / 2, in_mr);
		joined_post(&a,
			    (struct tp_wr){ .wr_id = 3,
					    .opcode = TP_SEND_INVALIDATE,
					    .flags = TP_WR_SIGNALED | (i & 2 ? TP_WR_SOLICITED : 0),
					    .invalidate = key },
			    out, len, out_mr);
		/* The longest may have to wait for its Receive. */
		if (len <= 70000)
			assert_wc(take_wc(a.send_cq), 3, SUCCESS);
		if (late)
			post_recv(&b, 2, in + JOINED_SIZE / 2, JOINED_SIZE / 2, in_mr);
		if (len > 70000)
			assert_wc(take_wc(a.send_cq), 3, SUCCESS);
		wc = take_wc(b.recv_cq);
		assert_wc(wc, 2, SUCCESS);
		assert_int_equal(wc.flags,
				 TP_WC_RECV | TP_WC_INVALIDATED | (i & 2 ? TP_WC_SOLICITED : 0));
		assert_int_equal(wc.data, key);
		assert_int_equal(wc.byte_len, len);
		assert_memory_equal(in + JOINED_SIZE / 2, out, len);
		/* By then nobody can use it; the window can be bound again (RMR-35). */
		post_rdma(&a, TP_RDMA_READ, 4, out + JOINED_SIZE / 2, 8, out_mr, in, key,
			  TP_WR_SIGNALED);
		assert_wc(take_wc(a.send_cq), 4, REMOTE_ACCESS);
		end_event(&a, TP_CONN_BROKEN);
		end_event(&b, TP_CONN_BROKEN);
		joined_again();
		bind.mw = mw;
		assert_int_equal(t->mw->bind(b.qp, 5, TP_WR_SIGNALED, &bind, &key), 0);
		assert_wc(take_wc(b.send_cq), 5, SUCCESS);
		post_rdma(&a, TP_RDMA_READ, 6, out + JOINED_SIZE / 2, 8, out_mr, in, key,
			  TP_WR_SIGNALED);
		assert_wc(take_wc(a.send_cq), 6, SUCCESS);
		t->mw->free(mw);
	}
}

static void bad_invalidate(uint32_t key)
{
	unsigned asyncs = node_asyncs(&right);
	struct tp_wc wc;

	post_recv(&b, 2, in, 64, in_mr);
	post_recv(&b, 3, in, 64, in_mr);
	joined_post(&a,
		    (struct tp_wr){ .wr_id = 4,
				    .opcode = TP_SEND_INVALIDATE,
				    .flags = TP_WR_SIGNALED,
				    .invalidate = key },
		    out, 8, out_mr);
	/* A read behind it has its answer or is flushed with it. */
	post_rdma(&a, TP_RDMA_READ, 5, out, 8, out_mr, in, in_mr->rkey, TP_WR_SIGNALED);
	assert_wc(take_wc(b.recv_cq), 2, LOCAL_PROTECTION);
	assert_wc(take_wc(b.recv_cq), 3, FLUSHED);
	wc = take_wc(a.send_cq);
	assert_int_equal(wc.wr_id, 4);
	assert_true(wc.status == TP_WC_SUCCESS || wc.status == TP_WC_REMOTE_ACCESS);
	assert_wc(take_wc(a.send_cq), 5, FLUSHED);
	end_event(&a, TP_CONN_BROKEN);
	end_event(&b, TP_CONN_BROKEN);
	node_await_asyncs(&right, asyncs + 1);
	assert_int_equal(right.async, TP_ASYNC_QP_ERROR);
	joined_again();
}

/* DTO-61, RMR-36 */
static void dto_61_what_cannot_be_invalidated(void **state)
{
	struct tp_mw *pd_wide, *other;
	struct tp_bind none = { 0 };
	uint32_t key, dead;
	struct end c, d;

	(void)state;
	bad_invalidate(0);
	bad_invalidate(in_mr->rkey);
	bad_invalidate(in_mr->rkey ^ 77);
	pd_wide = window(&b, false, &key);
	bad_invalidate(key);
	post_rdma(&a, TP_RDMA_READ, 1, out, 64, out_mr, in, key, TP_WR_SIGNALED);
	assert_wc(take_wc(a.send_cq), 1, SUCCESS);
	t->mw->free(pd_wide);
	/* Of another connection. */
	end_create(&c, &left, NULL);
	end_create(&d, &right, NULL);
	ends_connect(&c, &d);
	other = window(&d, true, &key);
	bad_invalidate(key);
	post_rdma(&c, TP_RDMA_READ, 1, out, 64, out_mr, in, key, TP_WR_SIGNALED);
	assert_wc(take_wc(c.send_cq), 1, SUCCESS);
	end_destroy(&c);
	end_destroy(&d);
	t->mw->free(other);
	/* Unbound already. */
	none.mw = other = window(&b, true, &key);
	assert_int_equal(t->mw->bind(b.qp, 7, TP_WR_SIGNALED, &none, &dead), 0);
	assert_wc(take_wc(b.send_cq), 7, SUCCESS);
	bad_invalidate(key);
	t->mw->free(other);
}

/* ---- RDMA Read into a key of one's own (DTO-52) ---- */

static void dto_52_read_to_rkey(void **state)
{
	struct tp_mw *mw;
	uint32_t key;
	struct tp_sge sge = { (uintptr_t)out + 5000, 70000, out_mr->rkey };
	struct tp_wr wr = { .wr_id = 1,
			    .opcode = TP_READ_TO_RKEY,
			    .flags = TP_WR_SIGNALED,
			    .sge = &sge,
			    .num_sge = 1,
			    .length = 70000,
			    .remote_addr = (uintptr_t)in + 3,
			    .rkey = in_mr->rkey };

	(void)state;
	fill(in, JOINED_SIZE, 44);
	assert_int_equal(a.qp->ops->post_send(a.qp, &wr), 0);
	assert_wc(take_wc(a.send_cq), 1, SUCCESS);
	assert_memory_equal(out + 5000, in + 3, 70000);
	memset(out, 0, JOINED_SIZE);
	mw = window(&a, true, &key);
	sge.lkey = key;
	assert_int_equal(a.qp->ops->post_send(a.qp, &wr), 0);
	assert_wc(take_wc(a.send_cq), 1, SUCCESS);
	assert_memory_equal(out + 5000, in + 3, 70000);
	/* Outside of what is bound, and a key that grants no writing. */
	sge.addr = (uintptr_t)out + JOINED_SIZE / 2 - 69999;
	assert_int_equal(a.qp->ops->post_send(a.qp, &wr), 0);
	assert_wc(take_wc(a.send_cq), 1, LOCAL_PROTECTION);
	end_event(&a, TP_CONN_BROKEN);
	end_event(&b, TP_CONN_BROKEN);
	joined_again();
	t->mw->free(mw);
	dereg(out_mr);
	out_mr = reg(&left, out, JOINED_SIZE, TP_ACCESS_LOCAL_WRITE | TP_ACCESS_REMOTE_READ);
	sge = (struct tp_sge){ (uintptr_t)out, 70000, out_mr->rkey };
	assert_int_equal(a.qp->ops->post_send(a.qp, &wr), 0);
	assert_wc(take_wc(a.send_cq), 1, LOCAL_PROTECTION);
	end_event(&a, TP_CONN_BROKEN);
	end_event(&b, TP_CONN_BROKEN);
	joined_again();
	dereg(out_mr);
	out_mr = reg(&left, out, JOINED_SIZE, JOINED_ACCESS);
	/* Bound anew while such a read is under way: the binding waits for it. */
	mw = window(&a, true, &key);
	for (unsigned i = 0; i < 50; i++) {
		struct tp_bind bind = { .mw = mw,
					.mr = out_mr,
					.addr = (uintptr_t)out,
					.length = JOINED_SIZE,
					.access = TP_ACCESS_REMOTE_WRITE };

		sge = (struct tp_sge){ (uintptr_t)out, 70000, key };
		assert_int_equal(a.qp->ops->post_send(a.qp, &wr), 0);
		assert_int_equal(t->mw->bind(a.qp, 2, TP_WR_SIGNALED, &bind, &key), 0);
		assert_wc(take_wc(a.send_cq), 1, SUCCESS);
		assert_wc(take_wc(a.send_cq), 2, SUCCESS);
	}
	t->mw->free(mw);
}

/* ---- The fast way to a completion ---- */

/* Has the loop make the next completion, not a poll. */
static void announced(struct end *end, struct tp_cq *cq)
{
	uint64_t end_ms = now_ms() + DEADLINE_MS;

	while (!atomic_load(&end->cq_events)) {
		assert_true(now_ms() < end_ms);
		pause_ms(1);
	}
	atomic_store(&end->cq_events, 0);
	disarm_cq(cq);
}

static void listen_for(struct end *end, struct tp_cq *cq)
{
	atomic_store(&end->cq_events, 0);
	arm_cq(cq, TP_ARM_NOTIFY);
}

static struct tp_wr *polled_fast(struct tp_cq *cq)
{
	struct tp_wr *wr;

	dapl_lock(cq->lock);
	wr = cq->poll_plain(cq);
	dapl_unlock(cq->lock);
	return wr == TP_WR_UNTOLD ? NULL : wr;
}

/* tp_cq.poll_plain: successes of a Send, a write, a read, and of a receive with its length, no
 * others. */
static void plain_successes_are_polled_fast(void **state)
{
	static const enum tp_opcode ops[] = { TP_SEND, TP_RDMA_WRITE, TP_RDMA_READ };
	struct tp_wr wr = { .flags = TP_WR_SIGNALED, .length = 77 }, recv = { .length = 99 };
	struct tp_wc wc;

	(void)state;
	assert_null(polled_fast(a.send_cq));
	for (unsigned i = 0; i < 3; i++) {
		listen_for(&a, a.send_cq);
		listen_for(&b, b.recv_cq);
		if (ops[i] == TP_SEND)
			post_recv(&b, (uintptr_t)&recv, in, 64, in_mr);
		joined_post(&a,
			    (struct tp_wr){ .wr_id = (uintptr_t)&wr,
					    .opcode = ops[i],
					    .flags = TP_WR_SIGNALED,
					    .remote_addr = (uintptr_t)in,
					    .rkey = in_mr->rkey },
			    out, 41, out_mr);
		announced(&a, a.send_cq);
		assert_ptr_equal(polled_fast(a.send_cq), &wr);
		assert_null(polled_fast(a.send_cq));
		assert_false(try_wc(a.send_cq, &wc));
		assert_int_equal(wr.length, 77);
		if (ops[i] != TP_SEND)
			continue;
		announced(&b, b.recv_cq);
		assert_ptr_equal(polled_fast(b.recv_cq), &recv);
		assert_null(polled_fast(b.recv_cq));
		assert_int_equal(recv.length, 41);
	}
	disarm_cq(b.recv_cq);
}

static struct tp_wr *await_fast(struct tp_cq *cq)
{
	uint64_t end_ms = now_ms() + DEADLINE_MS;
	struct tp_wr *wr;

	while (!(wr = polled_fast(cq)))
		assert_true(now_ms() < end_ms);
	return wr;
}

static void send_some(unsigned num)
{
	for (unsigned i = 0; i < num; i++)
		joined_post(&a, (struct tp_wr){ .opcode = TP_SEND }, out, i, out_mr);
}

enum {
	BURST = 4,
	BURSTS = 2000,
};

/* Bursts of messages are polled, all in order. */
static void poll_bursts(void)
{
	struct tp_wr recv[BURST], *wr;

	for (unsigned burst = 0; burst < BURSTS; burst++) {
		for (unsigned i = 0; i < BURST; i++)
			post_recv(&b, (uintptr_t)&recv[i], in, 64, in_mr);
		send_some(BURST);
		for (unsigned i = 0; i < BURST; i++) {
			wr = await_fast(b.recv_cq);
			assert_ptr_equal(wr, &recv[i]);
			assert_int_equal(wr->length, i);
		}
	}
}

/* What a poll drives itself it takes past the queue. */
static void polls_take_past_the_queue(void **state)
{
	struct soft_cq *cq = soft_cq(b.recv_cq);
	uint32_t head = atomic_load(&cq->head), queued;

	(void)state;
	poll_bursts();
	queued = atomic_load(&cq->head) - head;
	assert_true(queued && queued <= BURSTS * BURST - BURSTS / 2);
}

static void *poll_requests(void *arg)
{
	atomic_bool *stop = arg;
	struct tp_wc wc;

	while (!atomic_load(stop))
		(void)try_wc(b.send_cq, &wc);
	return NULL;
}

/* Not before what another thread has brought into it. */
static void in_order_beside_another_poller(void **state)
{
	atomic_bool stop = false;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, poll_requests, &stop), 0);
	poll_bursts();
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
}

/* Who asked for notification is told of it also if another thread takes it first. */
static void who_asked_is_told_first(void **state)
{
	struct tp_wr recv;

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		listen_for(&b, b.recv_cq);
		post_recv(&b, (uintptr_t)&recv, in, 64, in_mr);
		send_some(1);
		assert_ptr_equal(await_fast(b.recv_cq), &recv);
		announced(&b, b.recv_cq);
	}
}

static void others_are_not(void **state)
{
	unsigned asyncs = node_asyncs(&right);
	struct tp_wc wc;

	(void)state;
	/* With more to say than its length, on both sides. */
	listen_for(&a, a.send_cq);
	listen_for(&b, b.recv_cq);
	post_recv(&b, 7, in, 64, in_mr);
	joined_post(&a,
		    (struct tp_wr){ .wr_id = 2,
				    .opcode = TP_RDMA_WRITE_IMM,
				    .flags = TP_WR_SIGNALED,
				    .remote_addr = (uintptr_t)in,
				    .rkey = in_mr->rkey },
		    out, 8, out_mr);
	announced(&a, a.send_cq);
	assert_null(polled_fast(a.send_cq));
	assert_true(try_wc(a.send_cq, &wc));
	assert_int_equal(wc.flags, 0);
	announced(&b, b.recv_cq);
	assert_null(polled_fast(b.recv_cq));
	assert_true(try_wc(b.recv_cq, &wc));
	assert_int_equal(wc.flags, TP_WC_RECV | TP_WC_IMMEDIATE | TP_WC_WRITTEN);

	/* A failure. */
	listen_for(&a, a.send_cq);
	post_rdma(&a, TP_RDMA_READ, 3, out, 8, out_mr, in, in_mr->rkey + 1, 0);
	announced(&a, a.send_cq);
	assert_null(polled_fast(a.send_cq));
	assert_true(try_wc(a.send_cq, &wc));
	assert_wc(wc, 3, REMOTE_ACCESS);
	end_event(&a, TP_CONN_BROKEN);
	end_event(&b, TP_CONN_BROKEN);
	node_await_asyncs(&right, asyncs + 1);
	joined_again();
}

/* ---- Atomics (IBX-36 to IBX-46) ---- */

enum {
	ADDERS = 4,
	ADDS = 2000,
};

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dto_58_invalidates),
		cmocka_unit_test(dto_61_what_cannot_be_invalidated),
		cmocka_unit_test(dto_52_read_to_rkey),
		cmocka_unit_test(plain_successes_are_polled_fast),
		cmocka_unit_test(polls_take_past_the_queue),
		cmocka_unit_test(in_order_beside_another_poller),
		cmocka_unit_test(who_asked_is_told_first),
		cmocka_unit_test(others_are_not),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, joined_set_up, joined_tear_down);
}
