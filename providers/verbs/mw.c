/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory windows: of type 2 for those of one QP, of type 1 for those of a protection domain.
 *
 * One of type 2 that is bound is invalidated before it is bound again, by a request of this
 * transport's own. Its device object goes with the device's QP that it is bound on, which the
 * binding may hold, and the next bind makes another.
 */
#include <errno.h>
#include <stdlib.h>

#include "dapl/trace.h"
#include "providers/verbs/verbs.h"

static struct vrb_mw *vrb_mw(struct tp_mw *base)
{
	return vrb_container(base, struct vrb_mw, base);
}

static struct vrb_dev *dev_of(const struct vrb_mw *mw)
{
	return vrb_dev(mw->base.pd->dev);
}

/* ---- The device's window ---- */

static int make(struct vrb_mw *mw)
{
	enum ibv_mw_type type = mw->base.qp_scope ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1;
	int err;

	errno = 0;
	mw->ibmw = ibv_alloc_mw(vrb_pd(mw->base.pd)->ibpd, type);
	if (mw->ibmw)
		return 0;
	err = errno ? errno : ENOMEM;
	dapl_err("%s: memory window not allocated: %s (device limit: %u)", dev_of(mw)->name,
		 dapl_strerror(err), dev_of(mw)->attr.max_mw);
	return err == ENOMEM ? -ENOMEM : -ENOSPC;
}

static void unmake(struct vrb_mw *mw)
{
	int err = mw->ibmw ? ibv_dealloc_mw(mw->ibmw) : 0;

	if (err && !atomic_load(&dev_of(mw)->gone))
		dapl_err("%s: memory window not freed: %s", dev_of(mw)->name, dapl_strerror(err));
	mw->ibmw = NULL;
	mw->bound = false;
	mw->qp = NULL;
}

void vrb_mw_qp_gone(struct vrb_qp *qp)
{
	struct vrb_mw *mw;

	pthread_mutex_lock(&qp->dev->mw_lock);
	for (mw = qp->dev->mws; mw; mw = mw->next)
		if (mw->qp == qp && mw->base.qp_scope)
			unmake(mw);
	pthread_mutex_unlock(&qp->dev->mw_lock);
}

void vrb_mw_invalidated(struct vrb_dev *dev, uint32_t rkey)
{
	struct vrb_mw *mw;

	pthread_mutex_lock(&dev->mw_lock);
	for (mw = dev->mws; mw; mw = mw->next)
		if (mw->bound && mw->last_key == rkey)
			mw->bound = false;
	pthread_mutex_unlock(&dev->mw_lock);
}

/* ---- Life ---- */

static int mw_alloc(struct tp_pd *base, bool qp_scope, struct tp_mw **out)
{
	struct vrb_dev *dev = vrb_dev(base->dev);
	struct vrb_mw *mw;
	int rc;

	if (!(qp_scope ? dev->attr.mw_qp_scope : dev->attr.mw_pd_scope))
		return -EOPNOTSUPP;
	mw = calloc(1, sizeof(*mw));
	if (!mw) {
		dapl_err("%s: memory window not allocated: %s", dev->name, dapl_strerror(ENOMEM));
		return -ENOMEM;
	}
	mw->base = (struct tp_mw){ .pd = base, .qp_scope = qp_scope };
	rc = make(mw);
	if (rc) {
		free(mw);
		return rc;
	}
	pthread_mutex_lock(&dev->mw_lock);
	mw->next = dev->mws;
	if (mw->next)
		mw->next->link = &mw->next;
	mw->link = &dev->mws;
	dev->mws = mw;
	pthread_mutex_unlock(&dev->mw_lock);
	*out = &mw->base;
	return 0;
}

static void mw_free(struct tp_mw *base)
{
	struct vrb_mw *mw = vrb_mw(base);
	struct vrb_dev *dev = dev_of(mw);

	pthread_mutex_lock(&dev->mw_lock);
	*mw->link = mw->next;
	if (mw->next)
		mw->next->link = mw->link;
	unmake(mw);
	pthread_mutex_unlock(&dev->mw_lock);
	free(mw);
}

/* ---- Binding; QP lock and mw_lock held ---- */

static unsigned int access_flags(uint32_t access)
{
	return (access & TP_ACCESS_REMOTE_READ ? IBV_ACCESS_REMOTE_READ : 0) |
	       (access & TP_ACCESS_REMOTE_WRITE ? IBV_ACCESS_REMOTE_WRITE : 0) |
	       (access & TP_ACCESS_REMOTE_ATOMIC ? IBV_ACCESS_REMOTE_ATOMIC : 0);
}

static void fill_info(struct ibv_mw_bind_info *info, const struct tp_bind *bind)
{
	*info = (struct ibv_mw_bind_info){ .mr = vrb_container(bind->mr, struct vrb_mr, base)->ibmr,
					   .addr = bind->addr,
					   .length = bind->length,
					   .mw_access_flags = access_flags(bind->access) };
}

static int invalidate(struct vrb_qp *qp, struct vrb_mw *mw, uint64_t id, uint32_t odd,
		      unsigned int flags)
{
	struct ibv_send_wr ib = { .opcode = IBV_WR_LOCAL_INV,
				  .send_flags = flags,
				  .invalidate_rkey = mw->ibmw->rkey };
	int rc;

	rc = vrb_qp_post_ib(qp, vrb_queue_take(&qp->sq, id, odd), &ib);
	if (!rc)
		mw->bound = false;
	return rc;
}

/* What does nothing but complete in its turn. */
static int do_nothing(struct vrb_qp *qp, uint64_t id, uint32_t odd, unsigned int flags)
{
	struct ibv_send_wr ib = { .opcode = IBV_WR_RDMA_WRITE, .send_flags = flags };

	return vrb_qp_post_ib(qp, vrb_queue_take(&qp->sq, id, odd), &ib);
}

static int bind_type_2(struct vrb_qp *qp, struct vrb_mw *mw, const struct tp_bind *bind,
		       uint64_t id, uint32_t odd, unsigned int flags)
{
	struct ibv_send_wr ib = { .opcode = IBV_WR_BIND_MW, .send_flags = flags };
	uint32_t key;
	int rc;

	if (mw->bound) {
		rc = invalidate(qp, mw, 0, VRB_ODD_LONG | VRB_ODD_INTERNAL | VRB_ODD_SILENT, 0);
		if (rc)
			return rc;
	}
	if (qp->sq.mode != VRB_HW)
		return vrb_qp_post_elsewhere(qp, id);
	key = ibv_inc_rkey(mw->ibmw->rkey);
	if (key == mw->last_key)
		key = ibv_inc_rkey(key);
	ib.bind_mw.mw = mw->ibmw;
	ib.bind_mw.rkey = key;
	fill_info(&ib.bind_mw.bind_info, bind);
	rc = vrb_qp_post_ib(qp, vrb_queue_take(&qp->sq, id, odd), &ib);
	if (!rc) {
		mw->ibmw->rkey = key;
		mw->bound = true;
	}
	return rc;
}

/* The device's own call posts it; an unbind is a bind to nothing. */
static int bind_type_1(struct vrb_qp *qp, struct vrb_mw *mw, const struct tp_bind *bind,
		       uint64_t id, uint32_t odd, unsigned int flags)
{
	struct ibv_mw_bind info = { .send_flags = flags };
	struct vrb_wr *wr = vrb_queue_take(&qp->sq, id, odd);
	int err;

	info.wr_id = (uintptr_t)wr;
	if (bind->mr)
		fill_info(&info.bind_info, bind);
	err = ibv_bind_mw(qp->ibqp, mw->ibmw, &info);
	if (err)
		return vrb_qp_refused(qp, wr, err);
	mw->bound = bind->mr;
	return 0;
}

static int post(struct vrb_qp *qp, struct vrb_mw *mw, const struct tp_bind *bind, uint64_t id,
		uint32_t odd, unsigned int flags)
{
	if (!mw->base.qp_scope)
		return bind_type_1(qp, mw, bind, id, odd, flags);
	if (bind->mr)
		return bind_type_2(qp, mw, bind, id, odd, flags);
	return mw->bound ? invalidate(qp, mw, id, odd, flags) : do_nothing(qp, id, odd, flags);
}

static int bind_locked(struct vrb_qp *qp, struct vrb_mw *mw, uint64_t id, uint32_t flags,
		       const struct tp_bind *bind)
{
	uint32_t odd = VRB_ODD_LONG | VRB_ODD_SAY | (flags & TP_WR_SIGNALED ? 0 : VRB_ODD_SILENT);
	int rc;

	if (mw->base.qp_scope && mw->bound && mw->qp != qp) {
		if (mw->qp->sq.mode == VRB_HW)
			return -EINVAL;
		unmake(mw);
	}
	rc = mw->ibmw ? 0 : make(mw);
	if (rc)
		return rc;
	mw->qp = qp;
	rc = post(qp, mw, bind, id, odd, flags);
	if (!rc && bind->mr)
		mw->last_key = mw->ibmw->rkey;
	return rc;
}

static int mw_bind(struct tp_qp *base, uint64_t wr_id, uint32_t flags, const struct tp_bind *bind,
		   uint32_t *rkey)
{
	struct vrb_qp *qp = vrb_qp(base);
	struct vrb_mw *mw = vrb_mw(bind->mw);
	uint32_t room = vrb_queue_full(&qp->sq) ? 0 : qp->sq.mask - vrb_queue_used(&qp->sq);
	int rc;

	*rkey = 0;
	if (room < 2)
		return -ENOMEM;
	pthread_mutex_lock(&qp->dev->mw_lock);
	if (qp->sq.mode == VRB_HW)
		rc = bind_locked(qp, mw, wr_id, flags, bind);
	else
		rc = vrb_qp_post_elsewhere(qp, wr_id);
	/* One that will be flushed has a key all the same, which opens nothing (RMR-24). */
	if (!rc && bind->mr)
		*rkey = qp->sq.mode == VRB_HW ? mw->last_key : ibv_inc_rkey(mw->last_key);
	pthread_mutex_unlock(&qp->dev->mw_lock);
	return rc;
}

const struct dapl_mw_ops vrb_mw_ops = {
	.alloc = mw_alloc,
	.free = mw_free,
	.bind = mw_bind,
};
