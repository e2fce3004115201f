/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The longest queues that a device makes. What it names itself is the longest of some kind: mlx5's
 * 32768 requests are blocks of 64 bytes, of which a request of one segment takes four.
 */
#include <errno.h>

#include "trace/log.h"
#include "providers/verbs/qp.h"

#define SEGMENTS 4 /* of a request, as an endpoint has them by default */

static uint32_t lesser(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static bool makes_qp(struct vrb_dev *dev, struct ibv_pd *pd, uint32_t max_wr)
{
	uint32_t sge = lesser(SEGMENTS, dev->attr.max_sge);
	struct ibv_qp_init_attr init = { .send_cq = dev->null_cq,
					 .recv_cq = dev->null_cq,
					 .cap = { .max_send_wr = max_wr + vrb_qp_extra(dev, max_wr),
						  .max_recv_wr = max_wr,
						  .max_send_sge = sge,
						  .max_recv_sge = sge },
					 .qp_type = IBV_QPT_RC };
	struct ibv_qp *qp = VRB_GLOBAL(ibv_create_qp(pd, &init));

	if (qp)
		VRB_GLOBAL(ibv_destroy_qp(qp));
	return qp;
}

static bool makes_srq(struct vrb_dev *dev, struct ibv_pd *pd, uint32_t max_wr)
{
	struct ibv_srq_init_attr init = {
		.attr = { .max_wr = max_wr, .max_sge = lesser(SEGMENTS, dev->attr.max_srq_sge) }
	};
	struct ibv_srq *srq = VRB_GLOBAL(ibv_create_srq(pd, &init));

	if (srq)
		VRB_GLOBAL(ibv_destroy_srq(srq));
	return srq;
}

/* The most that can be made, up to max. */
static uint32_t most(struct vrb_dev *dev, struct ibv_pd *pd, uint32_t max,
		     bool (*makes)(struct vrb_dev *, struct ibv_pd *, uint32_t))
{
	uint32_t can = 0, cannot = max, middle;

	if (!max || makes(dev, pd, max))
		return max;
	while (cannot - can > 1) {
		middle = can + (cannot - can) / 2;
		if (makes(dev, pd, middle))
			can = middle;
		else
			cannot = middle;
	}
	/* None: for want of something else than length. */
	return can ? can : max;
}

void vrb_qp_probe(struct vrb_dev *dev)
{
	struct ibv_pd *pd = ibv_alloc_pd(dev->ctx);

	if (!pd)
		return;
	dev->attr.max_qp_wr = most(dev, pd, dev->attr.max_qp_wr, makes_qp);
	dev->attr.max_srq_wr = most(dev, pd, dev->attr.max_srq_wr, makes_srq);
	ibv_dealloc_pd(pd);
}
