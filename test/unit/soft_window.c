/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The software engine: zero-based memory, memory windows of both scopes (spec file 04 section 3).
 */
#include "test/unit/soft_window_util.h"
#include "test/unit/soft_two.h"

#include "providers/soft/base/device.h"
#include "providers/soft/memory/stag.h"

static const struct dapl_transport *const t = &dapl_module_transport;

enum {
	REGIONS = 16,
	BINDINGS = 20000,
};

/* The linker sends the engine's calls of calloc here: those of a table of keys fail. */
static atomic_bool no_memory;

void *__real_calloc(size_t num, size_t size);
void *__wrap_calloc(size_t num, size_t size);

void *__wrap_calloc(size_t num, size_t size)
{
	return atomic_load(&no_memory) && num * size > 500 ? NULL : __real_calloc(num, size);
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
	rdma_works(&a, TP_RDMA_WRITE, 0, zb->rkey, 70000);
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
	rdma_refused_then_again(TP_RDMA_WRITE, (uintptr_t)in + 100, zb->rkey, 1);
	rdma_refused_then_again(TP_RDMA_READ, 1, zb->rkey, 70000);
	dereg(zb);
	dereg(src);
}

/* ---- Binding ---- */

static void rmr_38_rights_and_range(bool qp_scope)
{
	struct tp_mw *mw = window(qp_scope);
	struct tp_bind bind = window_bind(mw, 1000, 5000, REMOTE);
	uint32_t key = bind_on(&b, &bind);
	uint64_t start = (uintptr_t)in + 1000;

	memset(in, 0, SIZE);
	rdma_works(&a, TP_RDMA_WRITE, start, key, 5000);
	assert_memory_equal(in + 1000, out, 5000);
	rdma_works(&a, TP_RDMA_READ, start + 4999, key, 1);
	assert_int_equal(in[999] | in[6000], 0);
	rdma_refused_then_again(TP_RDMA_WRITE, start - 1, key, 2);
	if (qp_scope)
		key = bind_on(&b, &bind);
	rdma_refused_then_again(TP_RDMA_READ, start, key, 5001);
	bind.access = TP_ACCESS_REMOTE_READ;
	key = bind_on(&b, &bind);
	rdma_works(&a, TP_RDMA_READ, start, key, 5000);
	rdma_refused_then_again(TP_RDMA_WRITE, start, key, 1);
	bind.access = TP_ACCESS_REMOTE_WRITE;
	key = bind_on(&b, &bind);
	rdma_works(&a, TP_RDMA_WRITE, start, key, 1);
	rdma_refused_then_again(TP_RDMA_READ, start, key, 1);
	/* No rights at all are legal, and let nobody in (RMR-17). */
	bind.access = 0;
	key = bind_on(&b, &bind);
	rdma_refused_then_again(TP_RDMA_READ, start, key, 1);
	/* Nobody on this side either: a window's key is no LMR's. */
	bind.access = REMOTE;
	key = bind_on(&b, &bind);
	b.qp->ops->post_recv(b.qp, 5, &(struct tp_sge){ start, 8, key }, 1);
	post_send(&a, 6, out, 8, out_mr, 0);
	assert_wc(take_wc(b.recv_cq), 5, LOCAL_PROTECTION);
	end_event(&a, TP_CONN_BROKEN);
	end_event(&b, TP_CONN_BROKEN);
	reconnect(&a, &b);
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
	struct tp_bind wide_bind = window_bind(pd_wide, 0, 64, REMOTE),
		       one_bind = window_bind(one, 64, 64, REMOTE);
	uint32_t wide_key = bind_on(&b, &wide_bind), one_key = bind_on(&b, &one_bind);
	struct tp_pd *other_pd;
	struct tp_mw *foreign;
	struct tp_mr_attr attr = { .addr = in, .length = 64, .access = TP_ACCESS_LOCAL_WRITE };
	struct tp_bind foreign_bind;
	struct tp_mr *foreign_mr;
	uint32_t key;

	(void)state;
	rdma_works(&a, TP_RDMA_WRITE, (uintptr_t)in, wide_key, 64);
	rdma_works(&c, TP_RDMA_WRITE, (uintptr_t)in, wide_key, 64);
	rdma_works(&a, TP_RDMA_WRITE, (uintptr_t)in + 64, one_key, 64);
	rdma_refused(&c, &d, TP_RDMA_READ, (uintptr_t)in + 64, one_key, 64);
	reconnect(&c, &d);
	rdma_works(&a, TP_RDMA_WRITE, (uintptr_t)in + 64, one_key, 64);
	/* In the way on another connection, until that is over (RMR-21). */
	assert_int_equal(t->mw->bind(d.qp, 1, 0, &one_bind, &key), -EBUSY);
	t->cm->disconnect(b.conn, false);
	end_event(&a, TP_CONN_DISCONNECTED);
	reconnect(&a, &b);
	/* The key died with its connection; that of the wider one did not. */
	rdma_works(&a, TP_RDMA_READ, (uintptr_t)in, wide_key, 64);
	rdma_refused_then_again(TP_RDMA_READ, (uintptr_t)in + 64, one_key, 64);
	one_key = bind_on(&d, &one_bind);
	rdma_works(&c, TP_RDMA_READ, (uintptr_t)in + 64, one_key, 64);
	assert_int_equal(t->mw->bind(b.qp, 1, 0, &one_bind, &key), -EBUSY);
	unbind_on(&d, one);
	one_key = bind_on(&b, &one_bind);
	rdma_works(&a, TP_RDMA_READ, (uintptr_t)in + 64, one_key, 64);
	/* Of another PD: not even with the right key. */
	assert_int_equal(t->pd->alloc(right.dev, &other_pd), 0);
	assert_int_equal(t->mw->alloc(other_pd, false, &foreign), 0);
	assert_int_equal(t->mr->reg(other_pd, &attr, &foreign_mr), 0);
	foreign_bind = (struct tp_bind){ foreign, foreign_mr, (uintptr_t)in, 64, REMOTE, false };
	key = bind_on(&b, &foreign_bind);
	rdma_refused_then_again(TP_RDMA_READ, (uintptr_t)in, key, 64);
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
	struct tp_bind bind = window_bind(mw, 0, 128, REMOTE);
	uint32_t old = 0, key;

	for (int i = 0; i < 5; i++) {
		key = bind_on(&b, &bind);
		assert_int_not_equal(key, 0);
		assert_int_not_equal(key, old);
		rdma_works(&a, TP_RDMA_WRITE, (uintptr_t)in, key, 128);
		if (old && !qp_scope)
			rdma_refused_then_again(TP_RDMA_READ, (uintptr_t)in, old, 128);
		old = key;
	}
	unbind_on(&b, mw);
	rdma_refused_then_again(TP_RDMA_READ, (uintptr_t)in, old, 128);
	unbind_on(&b, mw);
	old = bind_on(&b, &bind);
	key = bind_on(&b, &bind);
	rdma_refused_then_again(TP_RDMA_READ, (uintptr_t)in, old, 128);
	old = key = bind_on(&b, &bind);
	t->mw->free(mw);
	rdma_refused_then_again(TP_RDMA_READ, (uintptr_t)in, key, 128);
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
	struct tp_bind bind = window_bind(mw, 300, 500, REMOTE);
	struct tp_mr *zb;
	uint32_t key;

	(void)state;
	memset(in, 0, SIZE);
	bind.zero_based = true;
	key = bind_on(&b, &bind);
	rdma_works(&a, TP_RDMA_WRITE, 0, key, 500);
	assert_memory_equal(in + 300, out, 500);
	rdma_refused_then_again(TP_RDMA_READ, 1, key, 500);
	assert_int_equal(t->mr->reg(right.pd, &attr, &zb), 0);
	bind = (struct tp_bind){ mw, zb, 7, 100, REMOTE, false };
	key = bind_on(&b, &bind);
	rdma_works(&a, TP_RDMA_WRITE, 7, key, 100);
	assert_memory_equal(in + 4103, out, 100);
	assert_int_equal(in[4102], 0);
	rdma_refused_then_again(TP_RDMA_READ, 6, key, 2);
	bind.zero_based = true;
	key = bind_on(&b, &bind);
	rdma_works(&a, TP_RDMA_READ, 99, key, 1);
	rdma_refused_then_again(TP_RDMA_READ, 100, key, 1);
	t->mw->free(mw);
	dereg(zb);
}

static bool any_retired(struct soft_stags *stags)
{
	bool any;

	pthread_mutex_lock(&stags->lock);
	any = stags->retired != NULL;
	pthread_mutex_unlock(&stags->lock);
	return any;
}

/* DTO-4: binding again and again takes no more and more memory. */
static void bound_many_times(void **state)
{
	struct tp_mw *mw = window(true);
	struct soft_stags *stags = soft_dev(right.dev)->stags;
	struct tp_bind bind = window_bind(mw, 0, 100, REMOTE);
	struct tp_mr *mr[REGIONS];
	uint64_t deadline;

	(void)state;
	for (unsigned i = 0; i < REGIONS; i++)
		mr[i] = reg(&right, in, 100, FULL);
	for (unsigned i = 0; i < BINDINGS; i++)
		bind_on(&b, &bind);
	deadline = now_ms() + DEADLINE_MS;
	while (any_retired(stags)) {
		assert_true(now_ms() < deadline);
		pause_ms(1);
	}
	for (unsigned i = 0; i < REGIONS; i++)
		dereg(mr[i]);
	t->mw->free(mw);
}

/* Keeps the service thread until it is told to go on. */
struct gate {
	struct tp_task task;
	atomic_bool entered, open;
};

static void stay(struct tp_task *task)
{
	struct gate *gate = container_of(task, struct gate, task);
	uint64_t deadline = now_ms() + DEADLINE_MS;

	atomic_store(&gate->entered, true);
	while (!atomic_load(&gate->open) && now_ms() < deadline)
		pause_ms(1);
}

static void close_gate(struct gate *gate)
{
	uint64_t deadline = now_ms() + DEADLINE_MS;

	dapl_loop_post(right.loop, &gate->task);
	while (!atomic_load(&gate->entered)) {
		assert_true(now_ms() < deadline);
		pause_ms(1);
	}
}

/* Binds on b until there is no memory for it, which breaks the connection. */
static void bind_until_it_fails(const struct tp_bind *bind)
{
	const struct soft_conn *conn = soft_conn(b.conn);
	uint32_t key;

	atomic_store(&no_memory, true);
	for (unsigned i = 0; i < BINDINGS && !soft_conn_dead(conn); i++) {
		assert_int_equal(t->mw->bind(b.qp, 900, TP_WR_SIGNALED, bind, &key), 0);
		if (!soft_conn_dead(conn))
			assert_wc(take_wc(b.send_cq), 900, SUCCESS);
	}
	atomic_store(&no_memory, false);
	assert_true(soft_conn_dead(conn));
}

/* RMR-21: one that could not be bound is bound nowhere, also while that connection still ends. */
static void rmr_21_not_bound_without_memory(void **state)
{
	struct tp_mw *mw = window(true);
	struct tp_bind bind = window_bind(mw, 0, 100, REMOTE);
	static struct gate gate = { .task.run = stay };
	uint32_t key;
	int rc;

	(void)state;
	close_gate(&gate);
	bind_until_it_fails(&bind);
	rc = t->mw->bind(d.qp, 901, TP_WR_SIGNALED, &bind, &key);
	atomic_store(&gate.open, true);
	assert_int_equal(rc, 0);
	assert_wc(take_wc(d.send_cq), 901, SUCCESS);
	assert_wc(take_wc(b.send_cq), 900, BIND_FAILED);
	end_event(&a, TP_CONN_BROKEN);
	end_event(&b, TP_CONN_BROKEN);
	rdma_works(&c, TP_RDMA_WRITE, (uintptr_t)in, key, 100);
	reconnect(&a, &b);
	t->mw->free(mw);
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
		cmocka_unit_test(bound_many_times),
		cmocka_unit_test(rmr_21_not_bound_without_memory),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, windows_open, windows_close);
}
