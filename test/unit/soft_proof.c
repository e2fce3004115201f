/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The software engine: delayed acknowledgement (VND-16). */
#include "test/unit/soft_two.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct dapl_transport *const t = &dapl_module_transport;

#define SIZE (1u << 20)

static int set_up(void **state)
{
	(void)state;
	two_open(SIZE, FULL, FULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	two_close();
	return 0;
}

/* An initiator with or without it, and a target that knows nothing of it. */
static void pair_delayed(struct end *a, struct end *b, bool delayed, uint32_t read_out,
			 uint32_t read_in)
{
	struct end_options mine = { .depth = 64, .sge = 4, .read_in = 4, .read_out = read_out };
	struct end_options theirs = { .depth = 64, .sge = 4, .read_in = read_in, .read_out = 4 };

	end_create(a, &left, &mine);
	end_create(b, &right, &theirs);
	a->attr.delayed_ack = delayed;
	assert_int_equal(a->qp->ops->modify(a->qp, &a->attr), 0);
	ends_connect(a, b);
}

/* A Send completes when it is received, and not before (DTO-90). */
static void vnd_16_send_is_received(void **state)
{
	struct end a, b;
	struct tp_wc wc;

	(void)state;
	for (int delayed = 0; delayed < 2; delayed++) {
		pair_delayed(&a, &b, delayed, 4, 4);
		post_send(&a, 1, out, 100, out_mr, TP_WR_SIGNALED);
		if (!delayed)
			assert_wc(take_wc(a.send_cq), 1, SUCCESS);
		pause_ms(50);
		assert_false(try_wc(a.send_cq, &wc));
		post_recv(&b, 2, in, 100, in_mr);
		if (delayed)
			assert_wc(take_wc(a.send_cq), 1, SUCCESS);
		assert_wc(take_wc(b.recv_cq), 2, SUCCESS);
		unpair(&a, &b);
	}
}

/* An RDMA Write that completes is in the target's memory; one that the target refuses fails. */
static void vnd_16_write_is_placed(void **state)
{
	struct end a, b;
	struct tp_wc wc;

	(void)state;
	pair_delayed(&a, &b, true, 4, 4);
	for (unsigned i = 0; i < 300; i++) {
		uint32_t len = 1 + i * 3001 % (SIZE / 2);

		fill(out, len, i);
		post_rdma(&a, TP_RDMA_WRITE, i, out, len, out_mr, in, in_mr->rkey, TP_WR_SIGNALED);
		assert_wc(take_wc(a.send_cq), i, SUCCESS);
		assert_true(filled(in, len, i));
	}
	unpair(&a, &b);
	for (int i = 0; i < 30; i++) {
		pair_delayed(&a, &b, true, 4, 4);
		post_rdma(&a, TP_RDMA_WRITE, 1, out, 8, out_mr, in, in_mr->rkey, TP_WR_SIGNALED);
		post_rdma(&a, TP_RDMA_WRITE, 2, out, 8, out_mr, in + SIZE - 7, in_mr->rkey,
			  TP_WR_SIGNALED);
		post_rdma(&a, TP_RDMA_WRITE, 3, out, 8, out_mr, in, in_mr->rkey, TP_WR_SIGNALED);
		wc = take_wc(a.send_cq);
		assert_int_equal(wc.wr_id, 1);
		/* Its proof may have been on its way when the second one failed. */
		if (wc.status == TP_WC_SUCCESS) {
			assert_wc(take_wc(a.send_cq), 2, REMOTE_ACCESS);
			assert_wc(take_wc(a.send_cq), 3, FLUSHED);
		}
		end_event(&a, TP_CONN_BROKEN);
		end_event(&b, TP_CONN_BROKEN);
		unpair(&a, &b);
	}
}

/* Among reads, atomics and fences, more than the queue or the depth holds, suppressed ones too. */
static void in_order(void **state)
{
	struct end a, b;
	struct tp_wc wc;

	(void)state;
	for (uint32_t depth = 0; depth < 4; depth++) {
		pair_delayed(&a, &b, true, depth, 4);
		for (unsigned round = 0; round < 30; round++) {
			for (unsigned i = 0; i < 10; i++) {
				post_recv(&b, i, in, 4096, in_mr);
				post_send(&a, 4 * i, out, 4096, out_mr,
					  TP_WR_SIGNALED | (i % 3 ? 0 : TP_WR_FENCE));
				post_rdma(&a, depth ? TP_RDMA_READ : TP_RDMA_WRITE, 4 * i + 1,
					  out + 8192, 100, out_mr, in + 8192, in_mr->rkey,
					  i % 2 ? TP_WR_SIGNALED : 0);
				post_rdma(&a, TP_RDMA_WRITE, 4 * i + 2, out, 30000, out_mr,
					  in + 65536, in_mr->rkey, TP_WR_SIGNALED);
			}
			for (unsigned i = 0; i < 10; i++) {
				assert_wc(take_wc(a.send_cq), 4 * i, SUCCESS);
				if (i % 2)
					assert_wc(take_wc(a.send_cq), 4 * i + 1, SUCCESS);
				assert_wc(take_wc(a.send_cq), 4 * i + 2, SUCCESS);
				assert_wc(take_wc(b.recv_cq), i, SUCCESS);
			}
		}
		assert_false(try_wc(a.send_cq, &wc));
		/* Graceful: all is proven first. */
		post_rdma(&a, TP_RDMA_WRITE, 9, out, 100000, out_mr, in, in_mr->rkey,
			  TP_WR_SIGNALED);
		t->cm->disconnect(a.conn, true);
		assert_wc(take_wc(a.send_cq), 9, SUCCESS);
		end_event(&a, TP_CONN_DISCONNECTED);
		unpair(&a, &b);
	}
}

/* The passive side may have it, too; a peer that answers no reads proves nothing. */
static void who_has_it(void **state)
{
	struct end a, b;
	struct tp_wc wc;

	(void)state;
	end_create(&a, &left, NULL);
	end_create(&b, &right, NULL);
	b.attr.delayed_ack = true;
	assert_int_equal(b.qp->ops->modify(b.qp, &b.attr), 0);
	ends_connect(&a, &b);
	post_send(&b, 1, in, 100, in_mr, TP_WR_SIGNALED);
	post_send(&a, 1, out, 100, out_mr, TP_WR_SIGNALED);
	assert_wc(take_wc(a.send_cq), 1, SUCCESS);
	pause_ms(30);
	assert_false(try_wc(b.send_cq, &wc));
	post_recv(&a, 2, out, 100, out_mr);
	assert_wc(take_wc(b.send_cq), 1, SUCCESS);
	unpair(&a, &b);
	pair_delayed(&a, &b, true, 4, 0);
	post_send(&a, 1, out, 100, out_mr, TP_WR_SIGNALED);
	assert_wc(take_wc(a.send_cq), 1, SUCCESS);
	unpair(&a, &b);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vnd_16_send_is_received),
		cmocka_unit_test(vnd_16_write_is_placed),
		cmocka_unit_test(in_order),
		cmocka_unit_test(who_has_it),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
