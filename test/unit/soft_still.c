/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The software engine: memory that is freed while peers who reach it themselves stand still, on many
 * connections. Both ends are of this process.
 */
#include "test/unit/soft_two.h"

#include <stdlib.h>

#include "providers/soft/link/shm.h"

enum {
	PAIRS = 120,
	/* Where each were waited for on its own for the time of a copy it would be two more. */
	LIMIT_MS = 10000,
};

static struct end a[PAIRS], b[PAIRS];

static struct shm_direct *own_direct(const struct end *end)
{
	return soft_shm(soft_conn(end->conn)->link)->own_direct;
}

/* The peer asks for the memory, and is in it from then on. */
static void stand_still(struct end *end, struct tp_mr *mr)
{
	post_rdma(end, TP_RDMA_WRITE, 1, out, 8, out_mr, in, mr->rkey, 0);
	post_rdma(end, TP_RDMA_READ, 2, out, 8, out_mr, in, mr->rkey, TP_WR_SIGNALED);
	assert_wc(take_wc(end->send_cq), 2, SUCCESS);
	own_direct(end)->bytes[0] = (struct iovec){ in, 8 };
	atomic_store(&own_direct(end)->access, 1);
}

/* LMR-37: all are waited for at a time. */
static void freed_while_many_stand_still(void **state)
{
	static const struct end_options options = {
		.depth = 4, .sge = 1, .read_in = 1, .read_out = 1, .one_cq = true
	};
	struct tp_mr *mr = reg(&right, in, 4096, FULL);
	uint64_t start;

	(void)state;
	for (unsigned i = 0; i < PAIRS; i++) {
		pair(&a[i], &b[i], &options);
		stand_still(&a[i], mr);
	}
	start = now_ms();
	dereg(mr);
	assert_in_range(now_ms() - start, SOFT_DIRECT_PATIENCE_NS / 1000000, LIMIT_MS);
	for (unsigned i = 0; i < PAIRS; i++) {
		/* What he has not asked the kernel for yet is gone. */
		assert_null(own_direct(&a[i])->bytes[0].iov_base);
		atomic_store(&own_direct(&a[i])->access, 2);
		unpair(&a[i], &b[i]);
	}
}

static int set_up(void **state)
{
	soft_config.link = SOFT_LINK_SHM;
	soft_config.direct = 1;
	return two_set_up(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(freed_while_many_stand_still),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	/* They choose themselves. */
	unsetenv("DAPL_SOFT_LINK");
	return cmocka_run_group_tests(tests, set_up, two_tear_down);
}
