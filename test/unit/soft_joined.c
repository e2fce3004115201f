/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "test/unit/soft_joined.h"

struct end a, b;

int joined_set_up(void **state)
{
	(void)state;
	two_open(JOINED_SIZE, JOINED_ACCESS, JOINED_ACCESS);
	pair(&a, &b, NULL);
	return 0;
}

int joined_tear_down(void **state)
{
	(void)state;
	unpair(&a, &b);
	two_close();
	return 0;
}

void joined_again(void)
{
	end_reset(&a);
	end_reset(&b);
	ends_connect(&a, &b);
}

void joined_post(struct end *end, struct tp_wr wr, const void *addr, uint32_t len, struct tp_mr *mr)
{
	struct tp_sge sge = { (uintptr_t)addr, len, mr ? mr->lkey : 0 };

	wr.sge = &sge;
	wr.num_sge = 1;
	wr.length = len;
	assert_int_equal(end->qp->ops->post_send(end->qp, &wr), 0);
}
