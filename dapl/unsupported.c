/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>

#include "dapl/unsupported.h"

static int mw_alloc(struct tp_pd *pd, bool qp_scope, struct tp_mw **mw)
{
	return -EOPNOTSUPP;
}

static void mw_free(struct tp_mw *mw)
{
}

static int mw_bind(struct tp_qp *qp, uint64_t wr_id, uint32_t flags, const struct tp_bind *bind,
		   uint32_t *rkey)
{
	return -EOPNOTSUPP;
}

const struct dapl_mw_ops dapl_unsupported_mw_ops = {
	.alloc = mw_alloc,
	.free = mw_free,
	.bind = mw_bind,
};

static int srq_create(struct tp_device *dev, const struct tp_srq_attr *attr, void *owner,
		      struct tp_srq **srq)
{
	return -EOPNOTSUPP;
}

static void srq_destroy(struct tp_srq *srq)
{
}

static int srq_resize(struct tp_srq *srq, uint32_t max_wr)
{
	return -EOPNOTSUPP;
}

static int srq_post(struct tp_srq *srq, uint64_t wr_id, const struct tp_sge *sge, uint32_t num_sge)
{
	return -EOPNOTSUPP;
}

static uint32_t srq_available(struct tp_srq *srq)
{
	return 0;
}

static int srq_arm(struct tp_srq *srq, uint32_t limit)
{
	return -EOPNOTSUPP;
}

const struct dapl_srq_ops dapl_unsupported_srq_ops = {
	.create = srq_create,
	.destroy = srq_destroy,
	.resize = srq_resize,
	.post = srq_post,
	.available = srq_available,
	.arm = srq_arm,
};

int dapl_unsupported_read_counters(struct tp_device *dev, enum tp_counters group, uint64_t *value,
				   uint32_t num)
{
	return -EOPNOTSUPP;
}

int dapl_unsupported_reset(struct tp_qp *qp)
{
	return -EOPNOTSUPP;
}

int dapl_unsupported_limit_recv(struct tp_qp *qp, uint32_t soft, uint32_t hard)
{
	return -EOPNOTSUPP;
}

int dapl_unsupported_handoff(struct tp_conn *conn, uint64_t conn_qual)
{
	return -EOPNOTSUPP;
}

void dapl_unsupported_free_ah(struct tp_device *dev, void *ah)
{
}
