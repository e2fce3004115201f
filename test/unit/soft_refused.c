/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The software engine: the peer's requests before one that is refused are answered first, so that
 * the first to fail is the one that did (DTO-84, DTO-86), over both links.
 */
#include "test/unit/soft_two.h"

#include <stdlib.h>

enum {
	SIZE = 1 << 20,
	READS = 3,
	STUCK_READS = 14,
	LINGER_MS = 100,
	TOLD_MS = 3000, /* many times that, and far less than any other limit */
};

static struct end a, b;
static int64_t usual_link;

static int set_up(void **state)
{
	(void)state;
	two_open(SIZE, FULL | TP_ACCESS_REMOTE_ATOMIC, FULL | TP_ACCESS_REMOTE_ATOMIC);
	return 0;
}

static int set_up_shm(void **state)
{
	unsetenv("DAPL_SOFT_LINK");
	usual_link = soft_config.link;
	soft_config.link = SOFT_LINK_SHM;
	return set_up(state);
}

static int tear_down(void **state)
{
	(void)state;
	two_close();
	soft_config.linger_ms = 2000;
	soft_config.held_bytes = 256 << 10;
	return 0;
}

static int tear_down_shm(void **state)
{
	soft_config.link = usual_link;
	return tear_down(state);
}

static void read_from(struct end *end, unsigned id)
{
	bool right_end = end == &b;

	post_rdma(end, TP_RDMA_READ, id, right_end ? in : out, SIZE, right_end ? in_mr : out_mr,
		  right_end ? out : in, right_end ? out_mr->rkey : in_mr->rkey, TP_WR_SIGNALED);
}

static void both_broken(void)
{
	end_event(&a, TP_CONN_BROKEN);
	end_event(&b, TP_CONN_BROKEN);
	unpair(&a, &b);
}

/* What the target refuses, behind reads that it does not. */
static void behind_reads(struct tp_wr wr, uint32_t len, uint32_t status, bool async)
{
	struct tp_sge sge = { (uintptr_t)out, len, out_mr->lkey };
	unsigned asyncs = node_asyncs(&right);
	struct tp_wc wc;

	pair(&a, &b, NULL);
	post_recv(&b, 9, in, 8, in_mr);
	for (unsigned i = 0; i < READS; i++)
		read_from(&a, i);
	wr.wr_id = READS;
	wr.flags = TP_WR_SIGNALED;
	wr.sge = &sge;
	wr.num_sge = 1;
	wr.length = len;
	assert_int_equal(a.qp->ops->post_send(a.qp, &wr), 0);
	for (unsigned i = 0; i < READS; i++)
		assert_wc(take_wc(a.send_cq), i, SUCCESS);
	wc = take_wc(a.send_cq);
	assert_int_equal(wc.wr_id, READS);
	if (wr.opcode != TP_RDMA_READ && !tp_is_atomic(wr.opcode) && wc.status == TP_WC_SUCCESS)
		status = TP_WC_SUCCESS;
	assert_int_equal(wc.status, status);
	if (async)
		node_await_asyncs(&right, asyncs + 1);
	both_broken();
}

#define REMOTE(op, where, key)                                               \
	(struct tp_wr)                                                       \
	{                                                                    \
		.opcode = op, .remote_addr = (uintptr_t)(where), .rkey = key \
	}

static void read_refused(void **state)
{
	(void)state;
	behind_reads(REMOTE(TP_RDMA_READ, in, in_mr->rkey ^ 0x5a5a), 8, TP_WC_REMOTE_ACCESS, true);
}

static void atomic_refused(void **state)
{
	struct tp_wr wr = { .opcode = TP_FETCH_AND_ADD, .remote_addr = (uintptr_t)in };

	(void)state;
	wr.atomic.rkey = in_mr->rkey ^ 0x5a5a;
	behind_reads(wr, 8, TP_WC_REMOTE_ACCESS, true);
	/* Where none can be done. */
	wr.atomic.rkey = in_mr->rkey;
	wr.remote_addr += 4;
	behind_reads(wr, 8, TP_WC_REMOTE_RESPONDER, true);
}

static void write_refused(void **state)
{
	struct tp_mr *mr = reg(&right, in, SIZE, TP_ACCESS_REMOTE_READ);

	(void)state;
	behind_reads(REMOTE(TP_RDMA_WRITE, in, in_mr->rkey ^ 0x5a5a), 8, TP_WC_REMOTE_ACCESS, true);
	behind_reads(REMOTE(TP_RDMA_WRITE, in + 1, in_mr->rkey), SIZE, TP_WC_REMOTE_ACCESS, true);
	behind_reads(REMOTE(TP_RDMA_WRITE, in, mr->rkey), 8, TP_WC_REMOTE_ACCESS, true);
	dereg(mr);
}

static void send_too_long(void **state)
{
	(void)state;
	behind_reads((struct tp_wr){ .opcode = TP_SEND }, 9, TP_WC_REMOTE_RESPONDER, false);
}

static void invalidate_refused(void **state)
{
	(void)state;
	behind_reads((struct tp_wr){ .opcode = TP_SEND_INVALIDATE, .invalidate = 0x5a5a }, 8,
		     TP_WC_REMOTE_ACCESS, true);
}

/* Each has answers to send, and neither waits for the other one to take them. */
static void both_refuse(void **state)
{
	uint64_t start;

	(void)state;
	pair(&a, &b, NULL);
	start = now_ms();
	for (unsigned i = 0; i < READS; i++) {
		read_from(&a, i);
		read_from(&b, i);
	}
	post_rdma(&a, TP_RDMA_WRITE, READS, out, 8, out_mr, in, in_mr->rkey ^ 0x5a5a, 0);
	post_rdma(&b, TP_RDMA_WRITE, READS, in, 8, in_mr, out, out_mr->rkey ^ 0x5a5a, 0);
	both_broken();
	assert_true(now_ms() - start < (uint64_t)soft_config.linger_ms);
}

/* A peer that takes none of its answers keeps the end from nobody. */
static void nobody_takes_answers(void **state)
{
	struct end_options options = {
		.depth = 2 * STUCK_READS, .sge = 1, .read_in = STUCK_READS, .read_out = STUCK_READS
	};
	uint64_t start;

	(void)state;
	soft_config.held_bytes = 0;
	soft_config.linger_ms = LINGER_MS;
	pair(&a, &b, &options);
	/* It has no Receive for this one, and no room to keep it. */
	post_send(&b, 1, in, 8, in_mr, 0);
	for (unsigned i = 0; i < STUCK_READS; i++)
		read_from(&a, i);
	post_rdma(&a, TP_RDMA_WRITE, STUCK_READS, out, 8, out_mr, in, in_mr->rkey ^ 0x5a5a, 0);
	start = now_ms();
	end_event(&b, TP_CONN_BROKEN);
	assert_true(now_ms() - start < TOLD_MS);
	post_recv(&a, 5, out, 8, out_mr);
	assert_int_equal(take_wc(a.recv_cq).wr_id, 5);
	end_event2(&a, TP_CONN_BROKEN, TP_CONN_DISCONNECTED);
	unpair(&a, &b);
}

/* What was accepted and cannot be answered any more comes before what is refused. */
static void gone_under_way(void)
{
	struct tp_mr *mr = reg(&right, in, SIZE, FULL);
	struct end_options options = {
		.depth = 2 * STUCK_READS, .sge = 1, .read_in = STUCK_READS, .read_out = STUCK_READS
	};
	struct tp_wc wc;

	soft_config.held_bytes = 0;
	pair(&a, &b, &options);
	post_send(&b, 1, in, 8, in_mr, 0);
	for (unsigned i = 0; i < STUCK_READS; i++)
		post_rdma(&a, TP_RDMA_READ, i, out, SIZE, out_mr, in, mr->rkey, TP_WR_SIGNALED);
	post_rdma(&a, TP_RDMA_WRITE, STUCK_READS, out, 8, out_mr, in, in_mr->rkey ^ 0x5a5a,
		  TP_WR_SIGNALED);
	pause_ms(50);
	dereg(mr);
	post_recv(&a, 5, out, 8, out_mr);
	end_event(&b, TP_CONN_BROKEN);
	end_event(&a, TP_CONN_BROKEN);
	for (unsigned i = 0; i <= STUCK_READS; i++) {
		wc = take_wc(a.send_cq);
		assert_int_equal(wc.wr_id, i);
		if (wc.status != TP_WC_SUCCESS)
			break;
	}
	/* Also of one that was half out the peer is told why. */
	assert_true(wc.wr_id < STUCK_READS);
	assert_int_equal(wc.status, TP_WC_REMOTE_ACCESS);
	unpair(&a, &b);
}

static void answer_gone(void **state)
{
	(void)state;
	gone_under_way();
}

static void answer_gone_without_crc(void **state)
{
	int64_t usual = soft_config.crc;

	(void)state;
	soft_config.crc = SOFT_CRC_NO;
	gone_under_way();
	soft_config.crc = usual;
}

int main(int argc, char **argv)
{
#define TCP(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define SHM(name)                                                                  \
	{                                                                          \
#name " over shared memory", name, set_up_shm, tear_down_shm, NULL \
	}
#define CASE(name) TCP(name), SHM(name)
	const struct CMUnitTest tests[] = {
		CASE(read_refused),	    CASE(atomic_refused),     CASE(write_refused),
		CASE(send_too_long),	    CASE(invalidate_refused), CASE(both_refuse),
		CASE(nobody_takes_answers), CASE(answer_gone),	      CASE(answer_gone_without_crc),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
