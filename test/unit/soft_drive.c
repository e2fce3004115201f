/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The software engine: who serves a program that looks at its memory for what peers write. The
 * service thread does, unless somebody polls for it, and goes on soon after that one has stopped.
 */
#include "test/unit/soft_two.h"

#include <stdlib.h>

#include "test/unit/soft_loop.h"

enum {
	ROUNDS = 200,
	SIZE = 256, /* a byte for each round, in whole cache lines */
	POLLS = 4 * SOFT_CQ_POLLED,
	PROMPT_NS = 1000000,
};

static const struct end_options options = { .depth = 64, .sge = 1, .read_in = 1, .read_out = 1 };

/* One polls so many times, the other one writes, and who polled looks at his memory. */
struct rounds {
	unsigned polls, handed; /* and how often his connection was handed over to him */
	uint64_t took[ROUNDS];
};

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void write_rounds(struct rounds *rounds)
{
	struct end a, b;
	struct soft_dev *dev;
	uint8_t *seen;
	struct tp_wc wc;

	pair(&a, &b, &options);
	dev = soft_dev(b.node->dev);
	rounds->handed = 0;
	for (unsigned i = 0; i < ROUNDS; i++) {
		bool handed = false;
		uint64_t start;

		seen = in + i;
		out[i] = 1;
		for (unsigned j = 0; j < rounds->polls; j++)
			assert_false(try_wc(b.recv_cq, &wc));
		start = dapl_now();
		post_rdma(&a, TP_RDMA_WRITE, i, out + i, 1, out_mr, in + i, in_mr->rkey,
			  TP_WR_SIGNALED);
		while (!__atomic_load_n(seen, __ATOMIC_ACQUIRE) &&
		       dapl_now() - start < DEADLINE_MS * 1000000ull)
			handed |= atomic_load(&dev->num_handed) != 0;
		assert_true(__atomic_load_n(seen, __ATOMIC_ACQUIRE));
		rounds->took[i] = dapl_now() - start;
		rounds->handed += handed;
		assert_wc(take_wc(a.send_cq), i, SUCCESS);
	}
	qsort(rounds->took, ROUNDS, sizeof(rounds->took[0]), by_size);
	unpair(&a, &b);
}

static void one_poll_is_not_polling(void **state)
{
	struct rounds rounds = { .polls = 1 };

	(void)state;
	write_rounds(&rounds);
	assert_int_equal(rounds.handed, 0);
}

/* Of four rounds one at least is not delayed by what else the machine does. */
static void who_stops_polling_is_served_soon(void **state)
{
	struct rounds rounds = { .polls = POLLS };

	(void)state;
	write_rounds(&rounds);
	print_message("# a quarter within %llu us, half within %llu us\n",
		      (unsigned long long)rounds.took[ROUNDS / 4] / 1000,
		      (unsigned long long)rounds.took[ROUNDS / 2] / 1000);
	assert_true(rounds.handed > ROUNDS / 4);
	assert_true(rounds.took[ROUNDS / 4] < PROMPT_NS);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TWO_OVER_TCP(one_poll_is_not_polling),
		TWO_OVER_SHM(one_poll_is_not_polling),
		TWO_OVER_TCP(who_stops_polling_is_served_soon),
		TWO_OVER_SHM(who_stops_polling_is_served_soon),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	/* They choose themselves. */
	unsetenv("DAPL_SOFT_LINK");
	return cmocka_run_group_tests_name("tests", tests, NULL, NULL);
}
