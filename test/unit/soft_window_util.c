/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "test/unit/soft_window_util.h"

static const struct dapl_transport *const t = &dapl_module_transport;

struct end c, d;

int windows_open(void **state)
{
	(void)state;
	/* The one on the right lets nobody in. */
	two_open(SIZE, FULL, TP_ACCESS_LOCAL_WRITE);
	pair(&a, &b, NULL);
	pair(&c, &d, NULL);
	return 0;
}

int windows_close(void **state)
{
	(void)state;
	unpair(&a, &b);
	unpair(&c, &d);
	two_close();
	return 0;
}

struct tp_mw *window(bool qp_scope)
{
	struct tp_mw *mw;

	assert_int_equal(t->mw->alloc(right.pd, qp_scope, &mw), 0);
	assert_ptr_equal(mw->pd, right.pd);
	assert_int_equal(mw->qp_scope, qp_scope);
	return mw;
}

struct tp_bind window_bind(struct tp_mw *mw, uint32_t from, uint32_t len, uint32_t access)
{
	return (struct tp_bind){
		.mw = mw, .mr = in_mr, .addr = (uintptr_t)in + from, .length = len, .access = access
	};
}

uint32_t bind_on(struct end *end, const struct tp_bind *bind)
{
	uint32_t key = 0;

	assert_int_equal(t->mw->bind(end->qp, 900, TP_WR_SIGNALED, bind, &key), 0);
	assert_wc(take_wc(end->send_cq), 900, SUCCESS);
	return key;
}

void unbind_on(struct end *end, struct tp_mw *mw)
{
	struct tp_bind none = { .mw = mw };

	assert_int_equal(bind_on(end, &none), 0);
}

void rdma_works(struct end *end, enum tp_opcode opcode, uint64_t remote, uint32_t rkey,
		uint32_t len)
{
	post_rdma(end, opcode, 1, out, len, out_mr, (void *)(uintptr_t)remote, rkey,
		  TP_WR_SIGNALED);
	assert_wc(take_wc(end->send_cq), 1, SUCCESS);
	/* A write is only known to have worked by what is behind it. */
	post_rdma(end, TP_RDMA_READ, 2, NULL, 0, NULL, NULL, 0, TP_WR_SIGNALED);
	assert_wc(take_wc(end->send_cq), 2, SUCCESS);
}

void rdma_refused(struct end *end, struct end *target, enum tp_opcode opcode, uint64_t remote,
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

void reconnect(struct end *end, struct end *target)
{
	end_reset(end);
	end_reset(target);
	ends_connect(end, target);
}

void rdma_refused_then_again(enum tp_opcode opcode, uint64_t remote, uint32_t rkey, uint32_t len)
{
	rdma_refused(&a, &b, opcode, remote, rkey, len);
	reconnect(&a, &b);
}
