/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The software engine: zero-based memory, memory windows of both scopes (spec file 04 section 3).
 */
#include "test/unit/soft_two.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const struct dapl_transport *const t = &dapl_module_transport;

#define SIZE   (1u << 20)
#define REMOTE (TP_ACCESS_REMOTE_READ | TP_ACCESS_REMOTE_WRITE)

static struct end a, b, c, d; /* a - b, and a second pair of the same devices */

static int set_up(void **state)
{
	(void)state;
	/* The one on the right lets nobody in. */
	two_open(SIZE, FULL, TP_ACCESS_LOCAL_WRITE);
	pair(&a, &b, NULL);
	pair(&c, &d, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unpair(&a, &b);
	unpair(&c, &d);
	two_close();
	return 0;
}

static struct tp_mw *window(bool qp_scope)
{
	struct tp_mw *mw;

	assert_int_equal(t->mw->alloc(right.pd, qp_scope, &mw), 0);
	assert_ptr_equal(mw->pd, right.pd);
	assert_int_equal(mw->qp_scope, qp_scope);
	return mw;
}

static struct tp_bind to(struct tp_mw *mw, uint32_t from, uint32_t len, uint32_t access)
{
	return (struct tp_bind){
		.mw = mw, .mr = in_mr, .addr = (uintptr_t)in + from, .length = len, .access = access
	};
}

/* Binds and waits for it. */
static uint32_t bind_on(struct end *end, const struct tp_bind *bind)
{
	uint32_t key = 0;

	assert_int_equal(t->mw->bind(end->qp, 900, TP_WR_SIGNALED, bind, &key), 0);
	assert_wc(take_wc(end->send_cq), 900, SUCCESS);
	return key;
}

static void unbind_on(struct end *end, struct tp_mw *mw)
{
	struct tp_bind none = { .mw = mw };

	assert_int_equal(bind_on(end, &none), 0);
}

/* One RDMA that must work. */
static void works(struct end *end, enum tp_opcode opcode, uint64_t remote, uint32_t rkey,
		  uint32_t len)
{
	post_rdma(end, opcode, 1, out, len, out_mr, (void *)(uintptr_t)remote, rkey,
		  TP_WR_SIGNALED);
	assert_wc(take_wc(end->send_cq), 1, SUCCESS);
	/* A write is only known to have worked by what is behind it. */
	post_rdma(end, TP_RDMA_READ, 2, NULL, 0, NULL, NULL, 0, TP_WR_SIGNALED);
	assert_wc(take_wc(end->send_cq), 2, SUCCESS);
}

/* One that must be refused; the pair is over after that. */
static void refused(struct end *end, struct end *target, enum tp_opcode opcode, uint64_t remote,
		    uint32_t rkey, uint32_t len)
{
	unsigned asyncs = node_asyncs(&right);
	struct tp_wc wc;

	post_rdma(end, opcode, 1, out, len, out_mr, (void *)(uintptr_t)remote, rkey,
		  TP_WR_SIGNALED);
	wc = take_wc(end->send_cq);
	if (opcode == TP_RDMA_READ || wc.status != TP_WC_SUCCESS)
		assert_int_equal(wc.status, TP_WC_REMOTE_ACCESS);
	end_event(end, TP_CONN_BROKEN);
	end_event(target, TP_CONN_BROKEN);
	node_await_asyncs(&right, asyncs + 1);
	assert_int_equal(right.async, TP_ASYNC_QP_ERROR);
}

static void again(struct end *end, struct end *target)
{
	end_reset(end);
	end_reset(target);
	ends_connect(end, target);
}

static void refused_then_again(enum tp_opcode opcode, uint64_t remote, uint32_t rkey, uint32_t len)
{
	refused(&a, &b, opcode, remote, rkey, len);
	again(&a, &b);
}

/* ---- Zero-based memory (LMR-19) ---- */

static void zero_based_region(void **state)
{
	struct tp_mr_attr attr = {
		.addr = in + 100, .length = 70000, .access = FULL, .zero_based = true
	};
	struct tp_mr_attr src_attr = {
		.addr = out + 50, .length = 80000, .access = FULL, .zero_based = true
	};
	struct tp_mr *zb, *src;
	struct tp_sge sge[2];
	struct tp_wr wr = { .wr_id = 3, .flags = TP_WR_SIGNALED, .sge = sge, .num_sge = 2 };

	(void)state;
	assert_int_equal(t->mr->reg(right.pd, &attr, &zb), 0);
	assert_int_equal(t->mr->reg(left.pd, &src_attr, &src), 0);
	/* A Receive and a Send by offsets. */
	sge[0] = (struct tp_sge){ 5, 60000, zb->lkey };
	assert_int_equal(b.qp->ops->post_recv(b.qp, 4, sge, 1), 0);
	sge[0] = (struct tp_sge){ 0, 1000, src->lkey };
	sge[1] = (struct tp_sge){ 20000, 50000, src->lkey };
	wr.opcode = TP_SEND;
	wr.length = 51000;
	assert_int_equal(a.qp->ops->post_send(a.qp, &wr), 0);
	assert_wc(take_wc(b.recv_cq), 4, SUCCESS);
	assert_wc(take_wc(a.send_cq), 3, SUCCESS);
	assert_memory_equal(in + 105, out + 50, 1000);
	assert_memory_equal(in + 1105, out + 20050, 50000);
	/* RDMA to an offset, and back into one. */
	works(&a, TP_RDMA_WRITE, 0, zb->rkey, 70000);
	assert_memory_equal(in + 100, out, 70000);
	fill(in, SIZE, 9);
	sge[0] = (struct tp_sge){ 1, 40000, src->lkey };
	sge[1] = (struct tp_sge){ 60000, 10, src->lkey };
	wr.opcode = TP_RDMA_READ;
	wr.length = 40010;
	wr.remote_addr = 10;
	wr.rkey = zb->rkey;
	assert_int_equal(a.qp->ops->post_send(a.qp, &wr), 0);
	assert_wc(take_wc(a.send_cq), 3, SUCCESS);
	assert_memory_equal(out + 51, in + 110, 40000);
	assert_memory_equal(out + 60050, in + 40110, 10);
	/* Addresses are not offsets, and one byte more is too much. */
	refused_then_again(TP_RDMA_WRITE, (uintptr_t)in + 100, zb->rkey, 1);
	refused_then_again(TP_RDMA_READ, 1, zb->rkey, 70000);
	dereg(zb);
	dereg(src);
}

/* ---- Binding ---- */

static void rmr_38_rights_and_range(bool qp_scope)
{
	struct tp_mw *mw = window(qp_scope);
	struct tp_bind bind = to(mw, 1000, 5000, REMOTE);
	uint32_t key = bind_on(&b, &bind);
	uint64_t start = (uintptr_t)in + 1000;

	memset(in, 0, SIZE);
	works(&a, TP_RDMA_WRITE, start, key, 5000);
	assert_memory_equal(in + 1000, out, 5000);
	works(&a, TP_RDMA_READ, start + 4999, key, 1);
	assert_int_equal(in[999] | in[6000], 0);
	refused_then_again(TP_RDMA_WRITE, start - 1, key, 2);
	if (qp_scope)
		key = bind_on(&b, &bind);
	refused_then_again(TP_RDMA_READ, start, key, 5001);
	bind.access = TP_ACCESS_REMOTE_READ;
	key = bind_on(&b, &bind);
	works(&a, TP_RDMA_READ, start, key, 5000);
	refused_then_again(TP_RDMA_WRITE, start, key, 1);
	bind.access = TP_ACCESS_REMOTE_WRITE;
	key = bind_on(&b, &bind);
	works(&a, TP_RDMA_WRITE, start, key, 1);
	refused_then_again(TP_RDMA_READ, start, key, 1);
	/* No rights at all are legal, and let nobody in (RMR-17). */
	bind.access = 0;
	key = bind_on(&b, &bind);
	refused_then_again(TP_RDMA_READ, start, key, 1);
	/* Nobody on this side either: a window's key is no LMR's. */
	bind.access = REMOTE;
	key = bind_on(&b, &bind);
	b.qp->ops->post_recv(b.qp, 5, &(struct tp_sge){ start, 8, key }, 1);
	post_send(&a, 6, out, 8, out_mr, 0);
	assert_wc(take_wc(b.recv_cq), 5, LOCAL_PROTECTION);
	end_event(&a, TP_CONN_BROKEN);
	end_event(&b, TP_CONN_BROKEN);
	again(&a, &b);
	t->mw->free(mw);
}

static void rmr_38_pd_scope(void **state)
{
	(void)state;
	rmr_38_rights_and_range(false);
}

static void rmr_38_qp_scope(void **state)
{
	(void)state;
	rmr_38_rights_and_range(true);
}

/* RMR-2, RMR-3, RMR-37 */
static void rmr_3_scopes(void **state)
{
	struct tp_mw *pd_wide = window(false), *one = window(true);
	struct tp_bind wide_bind = to(pd_wide, 0, 64, REMOTE), one_bind = to(one, 64, 64, REMOTE);
	uint32_t wide_key = bind_on(&b, &wide_bind), one_key = bind_on(&b, &one_bind);
	struct tp_pd *other_pd;
	struct tp_mw *foreign;
	struct tp_mr_attr attr = { .addr = in, .length = 64, .access = TP_ACCESS_LOCAL_WRITE };
	struct tp_bind foreign_bind;
	struct tp_mr *foreign_mr;
	uint32_t key;

	(void)state;
	works(&a, TP_RDMA_WRITE, (uintptr_t)in, wide_key, 64);
	works(&c, TP_RDMA_WRITE, (uintptr_t)in, wide_key, 64);
	works(&a, TP_RDMA_WRITE, (uintptr_t)in + 64, one_key, 64);
	refused(&c, &d, TP_RDMA_READ, (uintptr_t)in + 64, one_key, 64);
	again(&c, &d);
	works(&a, TP_RDMA_WRITE, (uintptr_t)in + 64, one_key, 64);
	/* In the way on another connection, until that is over (RMR-21). */
	assert_int_equal(t->mw->bind(d.qp, 1, 0, &one_bind, &key), -EBUSY);
	t->cm->disconnect(b.conn, false);
	end_event(&a, TP_CONN_DISCONNECTED);
	again(&a, &b);
	/* The key died with its connection; that of the wider one did not. */
	works(&a, TP_RDMA_READ, (uintptr_t)in, wide_key, 64);
	refused_then_again(TP_RDMA_READ, (uintptr_t)in + 64, one_key, 64);
	one_key = bind_on(&d, &one_bind);
	works(&c, TP_RDMA_READ, (uintptr_t)in + 64, one_key, 64);
	assert_int_equal(t->mw->bind(b.qp, 1, 0, &one_bind, &key), -EBUSY);
	unbind_on(&d, one);
	one_key = bind_on(&b, &one_bind);
	works(&a, TP_RDMA_READ, (uintptr_t)in + 64, one_key, 64);
	/* Of another PD: not even with the right key. */
	assert_int_equal(t->pd->alloc(right.dev, &other_pd), 0);
	assert_int_equal(t->mw->alloc(other_pd, false, &foreign), 0);
	assert_int_equal(t->mr->reg(other_pd, &attr, &foreign_mr), 0);
	foreign_bind = (struct tp_bind){ foreign, foreign_mr, (uintptr_t)in, 64, REMOTE, false };
	key = bind_on(&b, &foreign_bind);
	refused_then_again(TP_RDMA_READ, (uintptr_t)in, key, 64);
	t->mw->free(foreign);
	dereg(foreign_mr);
	t->pd->free(other_pd);
	t->mw->free(pd_wide);
	t->mw->free(one);
}

/* RMR-8, RMR-11, RMR-18, RMR-20, RMR-32, RMR-34 */
static void rmr_11_old_keys_are_dead(bool qp_scope)
{
	struct tp_mw *mw = window(qp_scope);
	struct tp_bind bind = to(mw, 0, 128, REMOTE);
	uint32_t old = 0, key;

	for (int i = 0; i < 5; i++) {
		key = bind_on(&b, &bind);
		assert_int_not_equal(key, 0);
		assert_int_not_equal(key, old);
		works(&a, TP_RDMA_WRITE, (uintptr_t)in, key, 128);
		if (old && !qp_scope)
			refused_then_again(TP_RDMA_READ, (uintptr_t)in, old, 128);
		old = key;
	}
	unbind_on(&b, mw);
	refused_then_again(TP_RDMA_READ, (uintptr_t)in, old, 128);
	unbind_on(&b, mw);
	old = bind_on(&b, &bind);
	key = bind_on(&b, &bind);
	refused_then_again(TP_RDMA_READ, (uintptr_t)in, old, 128);
	old = key = bind_on(&b, &bind);
	t->mw->free(mw);
	refused_then_again(TP_RDMA_READ, (uintptr_t)in, key, 128);
}

static void rmr_11_pd_scope(void **state)
{
	(void)state;
	rmr_11_old_keys_are_dead(false);
}

static void rmr_11_qp_scope(void **state)
{
	(void)state;
	rmr_11_old_keys_are_dead(true);
}

/* RMR-14: the peer counts from the start of what is bound; of a zero-based region, too. */
static void rmr_14_zero_based(void **state)
{
	struct tp_mr_attr attr = { .addr = in + 4096,
				   .length = 10000,
				   .access = TP_ACCESS_LOCAL_WRITE,
				   .zero_based = true };
	struct tp_mw *mw = window(false);
	struct tp_bind bind = to(mw, 300, 500, REMOTE);
	struct tp_mr *zb;
	uint32_t key;

	(void)state;
	memset(in, 0, SIZE);
	bind.zero_based = true;
	key = bind_on(&b, &bind);
	works(&a, TP_RDMA_WRITE, 0, key, 500);
	assert_memory_equal(in + 300, out, 500);
	refused_then_again(TP_RDMA_READ, 1, key, 500);
	assert_int_equal(t->mr->reg(right.pd, &attr, &zb), 0);
	bind = (struct tp_bind){ mw, zb, 7, 100, REMOTE, false };
	key = bind_on(&b, &bind);
	works(&a, TP_RDMA_WRITE, 7, key, 100);
	assert_memory_equal(in + 4103, out, 100);
	assert_int_equal(in[4102], 0);
	refused_then_again(TP_RDMA_READ, 6, key, 2);
	bind.zero_based = true;
	key = bind_on(&b, &bind);
	works(&a, TP_RDMA_READ, 99, key, 1);
	refused_then_again(TP_RDMA_READ, 100, key, 1);
	t->mw->free(mw);
	dereg(zb);
}

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
		bind = to(mw[i % 4], 4096 * (1 + i % 7), 4096, REMOTE);
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
		works(&a, TP_RDMA_READ, bind.addr, key, 4096);
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
	struct tp_bind bind = to(mw, 0, 64, REMOTE), none = { .mw = mw };
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
		works(&a, TP_RDMA_READ, (uintptr_t)in, key[11], 64);
		refused_then_again(TP_RDMA_READ, (uintptr_t)in, key[9], 64);
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
	works(&a, TP_RDMA_READ, (uintptr_t)in, key, 64);
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
	again(&a, &b);
	refused_then_again(TP_RDMA_READ, (uintptr_t)in, key, 64);
	refused_then_again(TP_RDMA_READ, (uintptr_t)in, late, 64);
	bind.mr = gone;
	key = bind_on(&b, &bind);
	works(&a, TP_RDMA_READ, (uintptr_t)in, key, 64);
	dereg(gone);
	refused_then_again(TP_RDMA_READ, (uintptr_t)in, key, 64);
	dereg(sink);
	t->mw->free(mw);
}

/* RMR-24: a binding that is flushed leaves the window as it was. */
static void rmr_24_flushed(void **state)
{
	struct tp_mw *mw = window(false);
	struct tp_bind bind = to(mw, 0, 64, REMOTE), none = { .mw = mw };
	uint32_t key = bind_on(&d, &bind), other;

	(void)state;
	t->cm->disconnect(b.conn, false);
	end_event(&a, TP_CONN_DISCONNECTED);
	assert_int_equal(t->mw->bind(b.qp, 1, 0, &bind, &other), 0);
	assert_int_equal(t->mw->bind(b.qp, 2, 0, &none, &other), 0);
	assert_wc(take_wc(b.send_cq), 1, FLUSHED);
	assert_wc(take_wc(b.send_cq), 2, FLUSHED);
	works(&c, TP_RDMA_READ, (uintptr_t)in, key, 64);
	again(&a, &b);
	works(&a, TP_RDMA_READ, (uintptr_t)in, key, 64);
	/* Freed while a binding of it waits behind a read (RMR-33). */
	for (unsigned i = 0; i < 4; i++)
		post_rdma(&b, TP_RDMA_READ, 3, in, SIZE, in_mr, out, out_mr->rkey, TP_WR_SIGNALED);
	assert_int_equal(t->mw->bind(b.qp, 4, TP_WR_SIGNALED, &bind, &other), 0);
	t->mw->free(mw);
	for (unsigned i = 0; i < 4; i++)
		assert_wc(take_wc(b.send_cq), 3, SUCCESS);
	assert_wc(take_wc(b.send_cq), 4, SUCCESS);
	refused_then_again(TP_RDMA_READ, (uintptr_t)in, other, 64);
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
	struct tp_bind bind = to(mw, 0, SIZE, REMOTE), none = { .mw = mw };
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
		for (unsigned i = 0; i < SIZE; i++)
			if (in[i] != 0x77)
				fail_msg("round %u: octet %u written after the unbinding", round,
					 i);
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
			again(from, into);
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
	struct tp_bind bind = to(mw, 0, 64, REMOTE);

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
		cmocka_unit_test(zero_based_region),
		cmocka_unit_test(rmr_38_pd_scope),
		cmocka_unit_test(rmr_38_qp_scope),
		cmocka_unit_test(rmr_3_scopes),
		cmocka_unit_test(rmr_11_pd_scope),
		cmocka_unit_test(rmr_11_qp_scope),
		cmocka_unit_test(rmr_14_zero_based),
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
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
