/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Bindings among other requests, and what nobody reaches any more. */
#include "test/unit/soft_window_util.h"
#include "test/unit/soft_two.h"

static const struct dapl_transport *const t = &dapl_module_transport;

/* ---- Bindings among other requests ---- */

/* RMR-9, RMR-10, RMR-22, DTO-65: the key that a Send behind the binding carries is good. */
static void rmr_10_fences(bool qp_scope)
{
	struct tp_mw *mw[4];
	struct tp_bind bind;
	uint32_t key, *told = (uint32_t *)(void *)in;

	for (int i = 0; i < 4; i++)
		mw[i] = window(qp_scope);
	for (unsigned i = 0; i < 200; i++) {
		bind = window_bind(mw[i % 4], 4096 * (1 + i % 7), 4096, REMOTE);
		post_recv(&a, i, out + 8192, 64, out_mr);
		if (i % 3 == 0)
			post_rdma(&b, TP_RDMA_READ, 1, in + 500000, 100000, in_mr, out,
				  out_mr->rkey, TP_WR_SIGNALED);
		post_rdma(&b, TP_RDMA_WRITE, 2, in + 600000, 100000, in_mr, out + 600000,
			  out_mr->rkey, TP_WR_SIGNALED);
		assert_int_equal(t->mw->bind(b.qp, 3, i % 5 ? TP_WR_SIGNALED : 0, &bind, told), 0);
		post_send(&b, 4, in, 4, in_mr, TP_WR_SIGNALED);
		assert_wc(take_wc(a.recv_cq), i, SUCCESS);
		memcpy(&key, out + 8192, sizeof(key));
		rdma_works(&a, TP_RDMA_READ, bind.addr, key, 4096);
		if (i % 3 == 0)
			assert_wc(take_wc(b.send_cq), 1, SUCCESS);
		assert_wc(take_wc(b.send_cq), 2, SUCCESS);
		if (i % 5)
			assert_wc(take_wc(b.send_cq), 3, SUCCESS);
		assert_wc(take_wc(b.send_cq), 4, SUCCESS);
	}
	for (int i = 0; i < 4; i++)
		t->mw->free(mw[i]);
}

static void rmr_10_pd_scope(void **state)
{
	(void)state;
	rmr_10_fences(false);
}

static void rmr_10_qp_scope(void **state)
{
	(void)state;
	rmr_10_fences(true);
}

/* Many bindings of one window, queued at once: only the last one counts. */
static void queued_bindings(bool qp_scope)
{
	struct tp_mw *mw = window(qp_scope);
	struct tp_bind bind = window_bind(mw, 0, 64, REMOTE), none = { .mw = mw };
	uint32_t key[12];

	for (int round = 0; round < 20; round++) {
		for (unsigned i = 0; i < 12; i++)
			assert_int_equal(t->mw->bind(b.qp, i, TP_WR_SIGNALED,
						     i % 4 == 2 ? &none : &bind, &key[i]),
					 0);
		for (unsigned i = 0; i < 12; i++) {
			assert_wc(take_wc(b.send_cq), i, SUCCESS);
			for (unsigned j = 0; j < i; j++)
				assert_true(!key[i] || key[i] != key[j]);
		}
		rdma_works(&a, TP_RDMA_READ, (uintptr_t)in, key[11], 64);
		rdma_refused_then_again(TP_RDMA_READ, (uintptr_t)in, key[9], 64);
	}
	t->mw->free(mw);
}

static void queued_pd_scope(void **state)
{
	(void)state;
	queued_bindings(false);
}

static void queued_qp_scope(void **state)
{
	(void)state;
	queued_bindings(true);
}

/* RMR-25: the memory has gone before the binding's turn; the window is unbound after that. */
static void rmr_25_failed_binding(void **state)
{
	struct tp_mr *gone = reg(&right, in, 4096, TP_ACCESS_LOCAL_WRITE);
	struct tp_mw *mw = window(false);
	struct tp_bind bind = { mw, gone, (uintptr_t)in, 64, REMOTE, false };
	uint32_t key = bind_on(&b, &bind), late;
	struct tp_mr *sink = reg(&right, in + 8192, SIZE - 8192, TP_ACCESS_LOCAL_WRITE);

	(void)state;
	rdma_works(&a, TP_RDMA_READ, (uintptr_t)in, key, 64);
	/* What is bound to memory that goes goes with it. */
	bind.mr = reg(&right, in, 4096, TP_ACCESS_LOCAL_WRITE);
	late = bind.mr->lkey;
	dereg(bind.mr);
	bind.mr = &(struct tp_mr){ .pd = right.pd, .lkey = late };
	post_recv(&b, 8, in, 8, in_mr);
	assert_int_equal(t->mw->bind(b.qp, 7, 0, &bind, &late), 0);
	assert_wc(take_wc(b.send_cq), 7, BIND_FAILED);
	assert_wc(take_wc(b.recv_cq), 8, FLUSHED);
	end_event(&b, TP_CONN_BROKEN);
	end_event2(&a, TP_CONN_BROKEN, TP_CONN_DISCONNECTED);
	reconnect(&a, &b);
	rdma_refused_then_again(TP_RDMA_READ, (uintptr_t)in, key, 64);
	rdma_refused_then_again(TP_RDMA_READ, (uintptr_t)in, late, 64);
	bind.mr = gone;
	key = bind_on(&b, &bind);
	rdma_works(&a, TP_RDMA_READ, (uintptr_t)in, key, 64);
	dereg(gone);
	rdma_refused_then_again(TP_RDMA_READ, (uintptr_t)in, key, 64);
	dereg(sink);
	t->mw->free(mw);
}

/* RMR-24: a binding that is flushed leaves the window as it was. */
static void rmr_24_flushed(void **state)
{
	struct tp_mw *mw = window(false);
	struct tp_bind bind = window_bind(mw, 0, 64, REMOTE), none = { .mw = mw };
	uint32_t key = bind_on(&d, &bind), other;

	(void)state;
	t->cm->disconnect(b.conn, false);
	end_event(&a, TP_CONN_DISCONNECTED);
	assert_int_equal(t->mw->bind(b.qp, 1, 0, &bind, &other), 0);
	assert_int_equal(t->mw->bind(b.qp, 2, 0, &none, &other), 0);
	assert_wc(take_wc(b.send_cq), 1, FLUSHED);
	assert_wc(take_wc(b.send_cq), 2, FLUSHED);
	rdma_works(&c, TP_RDMA_READ, (uintptr_t)in, key, 64);
	reconnect(&a, &b);
	rdma_works(&a, TP_RDMA_READ, (uintptr_t)in, key, 64);
	/* Freed while a binding of it waits behind a read (RMR-33). */
	for (unsigned i = 0; i < 4; i++)
		post_rdma(&b, TP_RDMA_READ, 3, in, SIZE, in_mr, out, out_mr->rkey, TP_WR_SIGNALED);
	assert_int_equal(t->mw->bind(b.qp, 4, TP_WR_SIGNALED, &bind, &other), 0);
	t->mw->free(mw);
	for (unsigned i = 0; i < 4; i++)
		assert_wc(take_wc(b.send_cq), 3, SUCCESS);
	assert_wc(take_wc(b.send_cq), 4, SUCCESS);
	rdma_refused_then_again(TP_RDMA_READ, (uintptr_t)in, other, 64);
	/* An idle QP takes none. */
	mw = window(true);
	bind.mw = mw;
	t->cm->disconnect(b.conn, false);
	end_event(&a, TP_CONN_DISCONNECTED);
	end_reset(&a);
	end_reset(&b);
	assert_int_equal(t->mw->bind(b.qp, 1, 0, &bind, &other), -ENOTCONN);
	ends_connect(&a, &b);
	t->mw->free(mw);
}

struct poller {
	struct end *end;
	pthread_t thread;
	atomic_bool stop;
};

static void *poll_all(void *arg)
{
	struct poller *poller = arg;
	struct tp_wc wc;

	while (!atomic_load(&poller->stop))
		try_wc(poller->end->recv_cq, &wc);
	return NULL;
}

/*
 * RMR-11, DTO-58: once the unbinding is complete nobody writes through the window any more, also
 * who was in the middle of it, on another thread and, where that may be, another connection.
 */
static void nobody_is_left(bool qp_scope, bool by_peer)
{
	struct end *from = qp_scope ? &a : &c, *into = qp_scope ? &b : &d;
	struct tp_mw *mw = window(qp_scope);
	struct tp_bind bind = window_bind(mw, 0, SIZE, REMOTE), none = { .mw = mw };
	struct tp_wr wr = { .opcode = TP_SEND_INVALIDATE };
	struct poller poller = { .end = into };
	unsigned cut = 0;
	struct tp_wc wc;
	uint32_t key;

	if (!by_peer)
		assert_int_equal(pthread_create(&poller.thread, NULL, poll_all, &poller), 0);
	/* Until some writes were still to come, which on a fast machine takes some more. */
	for (unsigned round = 0; round < 60 || (!by_peer && !cut && round < 3000); round++) {
		memset(in, 0, SIZE);
		key = bind_on(&b, &bind);
		for (unsigned i = 0; i < 6; i++)
			post_rdma(from, TP_RDMA_WRITE, i, out, SIZE, out_mr, in, key, 0);
		if (by_peer) {
			post_recv(&b, 9, NULL, 0, NULL);
			wr.invalidate = key;
			assert_int_equal(a.qp->ops->post_send(a.qp, &wr), 0);
			assert_wc(take_wc(b.recv_cq), 9, SUCCESS);
		} else {
			pause_ms((int)round % 4);
			assert_int_equal(t->mw->bind(b.qp, 900, TP_WR_SIGNALED, &none, &key), 0);
			do
				wc = take_wc(b.send_cq);
			while (wc.wr_id != 900);
			assert_int_equal(wc.status, TP_WC_SUCCESS);
		}
		memset(in, 0x77, SIZE);
		pause_ms(1);
		if (in[0] != 0x77 || memcmp(in, in + 1, SIZE - 1))
			fail_msg("round %u: something was written after the unbinding", round);
		if (!by_peer) {
			post_rdma(from, TP_RDMA_READ, 7, out, 0, NULL, NULL, 0, TP_WR_SIGNALED);
			do
				wc = take_wc(from->send_cq);
			while (wc.wr_id != 7);
			if (wc.status == TP_WC_SUCCESS)
				continue;
			cut++;
			end_event(from, TP_CONN_BROKEN);
			end_event(into, TP_CONN_BROKEN);
			reconnect(from, into);
		}
	}
	assert_true(by_peer || cut);
	atomic_store(&poller.stop, true);
	if (!by_peer)
		pthread_join(poller.thread, NULL);
	t->mw->free(mw);
}

static void rmr_11_nobody_is_left_pd_scope(void **state)
{
	(void)state;
	nobody_is_left(false, false);
}

static void rmr_11_nobody_is_left_qp_scope(void **state)
{
	(void)state;
	nobody_is_left(true, false);
	nobody_is_left(true, true);
}

/* Keys are all different, do not count up, and the table does not grow with what has gone. */
static void keys(void **state)
{
	enum {
		NUM = 20000
	};
	uint32_t *key = calloc(NUM, sizeof(*key)), near = 0;
	struct tp_mw *mw = window(true);
	struct tp_bind bind = window_bind(mw, 0, 64, REMOTE);

	(void)state;
	for (unsigned i = 0; i < NUM; i++) {
		key[i] = bind_on(&b, &bind);
		if (i && key[i] - key[i - 1] + 65536 < 131072)
			near++;
	}
	/* By chance two in a row are that near once in 32768 times. */
	assert_true(near < 20);
	for (unsigned i = 0; i < NUM; i += 97)
		for (unsigned j = 0; j < NUM; j++)
			assert_true(i == j || key[i] != key[j]);
	t->mw->free(mw);
	free(key);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rmr_10_pd_scope),
		cmocka_unit_test(rmr_10_qp_scope),
		cmocka_unit_test(queued_pd_scope),
		cmocka_unit_test(queued_qp_scope),
		cmocka_unit_test(rmr_25_failed_binding),
		cmocka_unit_test(rmr_24_flushed),
		cmocka_unit_test(rmr_11_nobody_is_left_pd_scope),
		cmocka_unit_test(rmr_11_nobody_is_left_qp_scope),
		cmocka_unit_test(keys),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, windows_open, windows_close);
}
