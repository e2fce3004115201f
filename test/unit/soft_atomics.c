/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Writes with immediate data, and atomics. */
#include "test/unit/soft_joined.h"

static const struct dapl_transport *const t = &dapl_module_transport;

/* ---- Write with immediate (IBX-47 to IBX-54) ---- */

static void ibx_47_write_immediate(void **state)
{
	static const uint32_t sizes[] = { 0, 1, 8, 300, 4096, 70000, JOINED_SIZE / 2 };
	struct tp_wc wc;

	(void)state;
	for (unsigned i = 0; i < 14; i++) {
		uint32_t len = sizes[i % 7], data = 0x01020304u * (i + 1);
		bool late = i > 6;

		fill(out, len, i);
		memset(in, 0, JOINED_SIZE);
		if (!late)
			assert_int_equal(b.qp->ops->post_recv(b.qp, 7, NULL, 0), 0);
		/* A write before it is not counted with it. */
		post_rdma(&a, TP_RDMA_WRITE, 1, out, 100, out_mr, in + JOINED_SIZE - 100,
			  in_mr->rkey, 0);
		joined_post(&a,
			    (struct tp_wr){ .wr_id = 2,
					    .opcode = TP_RDMA_WRITE_IMM,
					    .flags = TP_WR_SIGNALED | (i & 1 ? TP_WR_SOLICITED : 0),
					    .immediate = data,
					    .remote_addr = len ? (uintptr_t)in + 11 : 0,
					    .rkey = len ? in_mr->rkey : 0 },
			    out, len, out_mr);
		post_send(&a, 3, out, 5, out_mr, 0);
		assert_wc(take_wc(a.send_cq), 2, SUCCESS);
		if (late) {
			pause_ms(2);
			assert_int_equal(b.qp->ops->post_recv(b.qp, 7, NULL, 0), 0);
		}
		wc = take_wc(b.recv_cq);
		assert_wc(wc, 7, SUCCESS);
		assert_int_equal(wc.flags, TP_WC_RECV | TP_WC_IMMEDIATE | TP_WC_WRITTEN |
						   (i & 1 ? TP_WC_SOLICITED : 0));
		assert_int_equal(wc.data, data);
		assert_int_equal(wc.byte_len, len);
		assert_true(filled(in + 11, len, i));
		post_recv(&b, 8, in, 64, in_mr);
		wc = take_wc(b.recv_cq);
		assert_wc(wc, 8, SUCCESS);
		assert_int_equal(wc.flags, TP_WC_RECV);
		assert_int_equal(wc.byte_len, 5);
	}
}

/* IBX-54: no Receive is consumed by one that is refused. */
static void ibx_54_refused(void **state)
{
	struct tp_wc wc;

	(void)state;
	post_recv(&b, 7, in, 64, in_mr);
	joined_post(&a,
		    (struct tp_wr){ .wr_id = 2,
				    .opcode = TP_RDMA_WRITE_IMM,
				    .flags = TP_WR_SIGNALED,
				    .immediate = 9,
				    .remote_addr = (uintptr_t)in + JOINED_SIZE - 7,
				    .rkey = in_mr->rkey },
		    out, 8, out_mr);
	assert_wc(take_wc(b.recv_cq), 7, FLUSHED);
	wc = take_wc(a.send_cq);
	assert_true(wc.wr_id == 2 &&
		    (wc.status == TP_WC_SUCCESS || wc.status == TP_WC_REMOTE_ACCESS));
	end_event(&a, TP_CONN_BROKEN);
	end_event(&b, TP_CONN_BROKEN);
	joined_again();
}

/* ---- Atomics (IBX-36 to IBX-46) ---- */

static void post_atomic(struct end *end, enum tp_opcode opcode, uint64_t id, uint64_t arg,
			uint64_t swap, const void *remote, uint32_t rkey, void *result)
{
	struct tp_mr *mr = end->node == &left ? out_mr : in_mr;
	struct tp_sge sge = { (uintptr_t)result, 8, mr->lkey };
	struct tp_wr wr = { .wr_id = id,
			    .opcode = opcode,
			    .flags = TP_WR_SIGNALED,
			    .sge = &sge,
			    .num_sge = 1,
			    .length = 8,
			    .remote_addr = (uintptr_t)remote,
			    .atomic = { .compare_add = arg, .swap = swap, .rkey = rkey } };

	assert_int_equal(end->qp->ops->post_send(end->qp, &wr), 0);
}

static void ibx_36_37_operations(void **state)
{
	uint64_t *word = (uint64_t *)(void *)(in + 64), got, value = 0xfffffffffffffff0u;

	(void)state;
	*word = value;
	for (unsigned i = 0; i < 100; i++) {
		/* To an address without alignment (IBX-38). */
		post_atomic(&a, TP_FETCH_AND_ADD, i, i, 0, word, in_mr->rkey, out + 3);
		assert_wc(take_wc(a.send_cq), i, SUCCESS);
		memcpy(&got, out + 3, 8);
		assert_int_equal(got, value);
		value += i;
		assert_int_equal(*word, value);
	}
	post_atomic(&a, TP_CMP_AND_SWAP, 1, value + 1, 5, word, in_mr->rkey, out);
	assert_wc(take_wc(a.send_cq), 1, SUCCESS);
	assert_int_equal(*(uint64_t *)(void *)out, value);
	assert_int_equal(*word, value);
	post_atomic(&a, TP_CMP_AND_SWAP, 1, value, 0x123456789abcdef, word, in_mr->rkey, out);
	assert_wc(take_wc(a.send_cq), 1, SUCCESS);
	assert_int_equal(*(uint64_t *)(void *)out, value);
	assert_int_equal(*word, 0x123456789abcdef);
}

/* IBX-31, IBX-45, DTO-50: many more than may be in flight, among reads and writes, in order. */
static void ibx_45_order(void **state)
{
	uint64_t *word = (uint64_t *)(void *)in, *got = (uint64_t *)(void *)(out + 4096);
	uint64_t *seen = (uint64_t *)(void *)(out + 8192);
	static const struct end_options options = {
		.depth = 128, .sge = 4, .read_in = 2, .read_out = 3
	};
	struct end c, d;

	(void)state;
	end_create(&c, &left, &options);
	end_create(&d, &right, &options);
	ends_connect(&c, &d);
	*word = 0;
	for (unsigned round = 0; round < 20; round++) {
		for (unsigned i = 0; i < 40; i++) {
			post_atomic(&c, TP_FETCH_AND_ADD, i, 1, 0, word, in_mr->rkey, &got[i]);
			post_rdma(&c, TP_RDMA_READ, 100 + i, &seen[i], 8, out_mr, word, in_mr->rkey,
				  TP_WR_SIGNALED);
			if (i % 4 == 0)
				post_rdma(&c, TP_RDMA_WRITE, 200 + i, out, 1000, out_mr, in + 4096,
					  in_mr->rkey, TP_WR_SIGNALED);
		}
		for (unsigned i = 0; i < 40; i++) {
			assert_wc(take_wc(c.send_cq), i, SUCCESS);
			assert_wc(take_wc(c.send_cq), 100 + i, SUCCESS);
			if (i % 4 == 0)
				assert_wc(take_wc(c.send_cq), 200 + i, SUCCESS);
			assert_int_equal(got[i], round * 40 + i);
			assert_true(seen[i] > got[i]);
		}
	}
	end_destroy(&c);
	end_destroy(&d);
}

/* One running diagnostic counter. */
static uint64_t counter(struct node *node, enum soft_count what)
{
	uint64_t value[9] = { 0 };

	assert_int_equal(t->device->read_counters(node->dev, TP_COUNTERS_DIAG, value, 9), 9);
	return value[what - SOFT_COUNT_DIAG];
}

static void bad_atomic(const void *remote, uint32_t rkey, uint32_t status)
{
	unsigned asyncs = node_asyncs(&right);
	bool access = status == TP_WC_REMOTE_ACCESS;
	enum soft_count rq = access ? SOFT_COUNT_RQ_RAE : SOFT_COUNT_RQ_RIRE;
	enum soft_count sq = access ? SOFT_COUNT_SQ_RAE : SOFT_COUNT_SQ_RIRE;
	uint64_t there = counter(&right, rq), here = counter(&left, sq);
	uint8_t before[64];

	memcpy(before, in, 64);
	post_atomic(&a, TP_FETCH_AND_ADD, 1, 1, 0, remote, rkey, out);
	assert_int_equal(take_wc(a.send_cq).status, status);
	end_event(&a, TP_CONN_BROKEN);
	end_event(&b, TP_CONN_BROKEN);
	node_await_asyncs(&right, asyncs + 1);
	assert_int_equal(right.async, TP_ASYNC_QP_ERROR);
	assert_memory_equal(before, in, 64);
	assert_int_equal(counter(&right, rq), there + 1);
	assert_int_equal(counter(&left, sq), here + 1);
	joined_again();
}

/* IBX-39, IBX-40 */
static void ibx_39_40_refusals(void **state)
{
	struct tp_mr *plain = reg(&right, in, 64, FULL);
	struct tp_mr *shifted;
	struct tp_mr_attr attr = {
		.addr = in + 4, .length = 32, .access = JOINED_ACCESS, .zero_based = true
	};
	uint32_t status;

	(void)state;
	bad_atomic(in, plain->rkey, TP_WC_REMOTE_ACCESS);
	bad_atomic(in, in_mr->rkey ^ 3, TP_WC_REMOTE_ACCESS);
	bad_atomic(in + JOINED_SIZE, in_mr->rkey, TP_WC_REMOTE_ACCESS);
	bad_atomic(in + JOINED_SIZE - 4, in_mr->rkey, TP_WC_REMOTE_ACCESS);
	for (unsigned i = 1; i < 8; i++)
		bad_atomic(in + i, in_mr->rkey, TP_WC_REMOTE_RESPONDER);
	/* What counts is the address in memory. */
	assert_int_equal(t->mr->reg(right.pd, &attr, &shifted), 0);
	bad_atomic((void *)8, shifted->rkey, TP_WC_REMOTE_RESPONDER);
	post_atomic(&a, TP_FETCH_AND_ADD, 1, 1, 0, (void *)4, shifted->rkey, out);
	assert_wc(take_wc(a.send_cq), 1, SUCCESS);
	dereg(shifted);
	dereg(plain);
	/* Its own sink. */
	plain = reg(&left, out, 64, 0);
	for (int i = 0; i < 2; i++) {
		struct tp_sge sge = { (uintptr_t)out, i ? 4 : 8, i ? out_mr->lkey : plain->lkey };
		struct tp_wr wr = { .wr_id = 1,
				    .opcode = TP_FETCH_AND_ADD,
				    .sge = &sge,
				    .num_sge = 1,
				    .length = 8,
				    .remote_addr = (uintptr_t)in,
				    .atomic = { .compare_add = 1, .rkey = in_mr->rkey } };

		assert_int_equal(a.qp->ops->post_send(a.qp, &wr), 0);
		status = take_wc(a.send_cq).status;
		assert_int_equal(status, TP_WC_LOCAL_PROTECTION);
		end_event(&a, TP_CONN_BROKEN);
		end_event(&b, TP_CONN_BROKEN);
		joined_again();
	}
	dereg(plain);
}

/* IBX-43, IBX-44: from several connections at once; nothing is lost or done twice. */
struct adder {
	struct end mine, theirs;
	uint64_t *got;
	pthread_t thread;
};

enum {
	ADDERS = 4,
	ADDS = 2000,
};

static void *add(void *arg)
{
	struct adder *adder = arg;

	for (unsigned i = 0; i < ADDS; i++) {
		post_atomic(&adder->mine, TP_FETCH_AND_ADD, i, 1, 0, in + 128, in_mr->rkey,
			    &adder->got[i]);
		if (i % 8 == 7)
			for (unsigned n = 0; n < 8; n++)
				if (take_wc(adder->mine.send_cq).status != TP_WC_SUCCESS)
					return arg;
	}
	return NULL;
}

static void ibx_43_atomic(void **state)
{
	struct adder *adder = calloc(ADDERS, sizeof(*adder));
	bool *seen = calloc(ADDERS * ADDS, 1);
	void *failed;

	(void)state;
	memset(in + 128, 0, 8);
	for (unsigned i = 0; i < ADDERS; i++) {
		adder[i].got = (uint64_t *)(void *)(out + i * ADDS * 8);
		end_create(&adder[i].mine, &left, NULL);
		end_create(&adder[i].theirs, &right, NULL);
		ends_connect(&adder[i].mine, &adder[i].theirs);
	}
	for (unsigned i = 0; i < ADDERS; i++)
		assert_int_equal(pthread_create(&adder[i].thread, NULL, add, &adder[i]), 0);
	for (unsigned i = 0; i < ADDERS; i++) {
		pthread_join(adder[i].thread, &failed);
		assert_null(failed);
		for (unsigned n = 0; n < ADDS; n++) {
			assert_true(adder[i].got[n] < ADDERS * ADDS);
			assert_false(seen[adder[i].got[n]]);
			seen[adder[i].got[n]] = true;
		}
		end_destroy(&adder[i].mine);
		end_destroy(&adder[i].theirs);
	}
	assert_int_equal(*(uint64_t *)(void *)(in + 128), ADDERS * ADDS);
	free(seen);
	free(adder);
}

/* DTO-90: what asks for an answer waits behind a Send without a Receive, and is done after it. */
static void dto_90_atomic_waits(void **state)
{
	uint64_t *word = (uint64_t *)(void *)in;
	struct tp_wc wc;

	(void)state;
	*word = 7;
	post_send(&a, 1, out, 8, out_mr, TP_WR_SIGNALED);
	post_atomic(&a, TP_FETCH_AND_ADD, 2, 1, 0, word, in_mr->rkey, out + 64);
	assert_wc(take_wc(a.send_cq), 1, SUCCESS);
	pause_ms(30);
	assert_false(try_wc(a.send_cq, &wc));
	assert_int_equal(*word, 7);
	post_recv(&b, 3, in + 64, 8, in_mr);
	assert_wc(take_wc(b.recv_cq), 3, SUCCESS);
	assert_wc(take_wc(a.send_cq), 2, SUCCESS);
	assert_int_equal(*word, 8);
	assert_int_equal(*(uint64_t *)(void *)(out + 64), 7);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ibx_47_write_immediate), cmocka_unit_test(ibx_54_refused),
		cmocka_unit_test(ibx_36_37_operations),	  cmocka_unit_test(ibx_45_order),
		cmocka_unit_test(ibx_39_40_refusals),	  cmocka_unit_test(ibx_43_atomic),
		cmocka_unit_test(dto_90_atomic_waits),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, joined_set_up, joined_tear_down);
}
