/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Binding windows by requests on a QP; QP lock and mw->lock held. */
#include "providers/verbs/qp_bind.h"

#include <errno.h>

static unsigned int access_flags(uint32_t access)
{
	return (access & TP_ACCESS_REMOTE_READ ? IBV_ACCESS_REMOTE_READ : 0) |
	       (access & TP_ACCESS_REMOTE_WRITE ? IBV_ACCESS_REMOTE_WRITE : 0) |
	       (access & TP_ACCESS_REMOTE_ATOMIC ? IBV_ACCESS_REMOTE_ATOMIC : 0);
}

static void fill_info(struct ibv_mw_bind_info *info, const struct tp_bind *bind)
{
	*info = (struct ibv_mw_bind_info){ .mr = container_of(bind->mr, struct vrb_mr, base)->ibmr,
					   .addr = bind->addr,
					   .length = bind->length,
					   .mw_access_flags = access_flags(bind->access) };
}

static int invalidate(struct vrb_qp *qp, struct vrb_mw *mw, uint64_t id, uint32_t wr_flags,
		      unsigned int flags)
{
	struct ibv_send_wr ib = { .opcode = IBV_WR_LOCAL_INV,
				  .send_flags = flags,
				  .invalidate_rkey = mw->ibmw->rkey };
	int rc;

	rc = vrb_qp_post_ib(qp, vrb_queue_reserve(&qp->sq, id, wr_flags), &ib);
	if (!rc)
		atomic_store(&mw->bound, false);
	return rc;
}

/* What does nothing but complete in its turn. */
static int do_nothing(struct vrb_qp *qp, uint64_t id, uint32_t wr_flags, unsigned int flags)
{
	struct ibv_send_wr ib = { .opcode = IBV_WR_RDMA_WRITE, .send_flags = flags };

	return vrb_qp_post_ib(qp, vrb_queue_reserve(&qp->sq, id, wr_flags), &ib);
}

static int bind_type_2(struct vrb_qp *qp, struct vrb_mw *mw, const struct tp_bind *bind,
		       uint64_t id, uint32_t wr_flags, unsigned int flags)
{
	struct ibv_send_wr ib = { .opcode = IBV_WR_BIND_MW, .send_flags = flags };
	uint32_t before = mw->ibmw->rkey, key = ibv_inc_rkey(before);
	int rc;

	if (atomic_load(&mw->bound)) {
		rc = invalidate(qp, mw, 0, VRB_WR_SLOW | VRB_WR_INTERNAL | VRB_WR_UNSIGNALED, 0);
		if (rc)
			return rc;
	}
	if (qp->sq.mode != VRB_QUEUE_ACTIVE)
		return vrb_qp_post_inactive(qp, id);
	if (key == atomic_load(&mw->last_key))
		key = ibv_inc_rkey(key);
	ib.bind_mw.mw = mw->ibmw;
	ib.bind_mw.rkey = key;
	fill_info(&ib.bind_mw.bind_info, bind);
	mw->ibmr = ib.bind_mw.bind_info.mr;
	/* The peer may be told the key, and invalidate it, before this returns. */
	atomic_store(&mw->bound, true);
	rc = vrb_qp_post_ib(qp, vrb_queue_reserve(&qp->sq, id, wr_flags), &ib);
	if (rc)
		atomic_store(&mw->bound, false);
	else
		mw->ibmw->rkey = key;
	return rc;
}

/*
 * The device's own call posts it; an unbind is a bind to no bytes. It names a region all the same:
 * librxe looks at it.
 */
static int bind_type_1(struct vrb_qp *qp, struct vrb_mw *mw, const struct tp_bind *bind,
		       uint64_t id, uint32_t wr_flags, unsigned int flags)
{
	struct ibv_mw_bind info = { .send_flags = flags, .bind_info = { .mr = mw->ibmr } };
	struct vrb_wr *wr = vrb_queue_reserve(&qp->sq, id, wr_flags);
	int err;

	info.wr_id = (uintptr_t)wr;
	if (bind->mr)
		fill_info(&info.bind_info, bind);
	err = ibv_bind_mw(qp->ibqp, mw->ibmw, &info);
	if (err)
		return vrb_queue_refused(&qp->sq, wr, err);
	mw->ibmr = info.bind_info.mr;
	atomic_store(&mw->bound, bind->mr);
	return 0;
}

static int post(struct vrb_qp *qp, struct vrb_mw *mw, const struct tp_bind *bind, uint64_t id,
		uint32_t wr_flags, unsigned int flags)
{
	if (!bind->mr && !atomic_load(&mw->bound))
		return do_nothing(qp, id, wr_flags, flags);
	if (!mw->base.qp_scope)
		return bind_type_1(qp, mw, bind, id, wr_flags, flags);
	return bind->mr ? bind_type_2(qp, mw, bind, id, wr_flags, flags)
			: invalidate(qp, mw, id, wr_flags, flags);
}

/* The window becomes this QP's, with a device object that is known to be in order. */
static int claim(struct vrb_qp *qp, struct vrb_mw *mw)
{
	struct vrb_dev *dev = qp->dev;
	bool elsewhere;
	int rc = 0;

	pthread_mutex_lock(&dev->mw_lock);
	elsewhere = mw->qp && mw->qp != qp;
	if (elsewhere && mw->qp->sq.mode != VRB_QUEUE_ACTIVE) {
		mw->doubtful = true;
		elsewhere = false;
	}
	if (elsewhere && atomic_load(&mw->bound) && mw->base.qp_scope)
		rc = -EBUSY;
	else if (mw->doubtful)
		vrb_mw_unmake(mw);
	if (!rc && !mw->ibmw)
		rc = vrb_mw_make(mw);
	if (!rc)
		mw->qp = qp;
	pthread_mutex_unlock(&dev->mw_lock);
	return rc;
}

static uint32_t next_key(struct vrb_mw *mw)
{
	return ibv_inc_rkey(atomic_load(&mw->last_key));
}

static int bind_locked(struct vrb_qp *qp, struct vrb_mw *mw, uint64_t id, uint32_t flags,
		       const struct tp_bind *bind, uint32_t *rkey)
{
	uint32_t wr_flags =
		VRB_WR_SLOW | VRB_WR_POLLED | (flags & TP_WR_SIGNALED ? 0 : VRB_WR_UNSIGNALED);
	int rc = claim(qp, mw);

	if (!rc)
		rc = post(qp, mw, bind, id, wr_flags, flags);
	if (rc || !bind->mr)
		return rc;
	/* One that is flushed has a key all the same, which opens nothing (RMR-24). */
	atomic_store(&mw->last_key,
		     qp->sq.mode == VRB_QUEUE_ACTIVE ? mw->ibmw->rkey : next_key(mw));
	*rkey = atomic_load(&mw->last_key);
	return 0;
}

/*
 * Whether the device's queue has room for one more invalidation: it keeps an entry for each request
 * that the core may have outstanding.
 */
static bool may_invalidate(struct vrb_qp *qp)
{
	uint32_t own = vrb_qp_own_wrs(qp->dev);
	uint32_t left = qp->sq.extra > own ? qp->sq.extra - own : 0;
	struct vrb_wr *wr;

	if (left >= qp->sq.max_wr) /* one for each bind */
		return true;
	vrb_cq_lock(qp->sq.cq);
	for (wr = vrb_queue_head(&qp->sq); left && wr != vrb_queue_next(&qp->sq); wr = wr->next)
		left -= wr->flags & VRB_WR_INTERNAL ? 1 : 0;
	vrb_cq_unlock(qp->sq.cq);
	return left;
}

static int mw_bind(struct tp_qp *base, uint64_t wr_id, uint32_t flags, const struct tp_bind *bind,
		   uint32_t *rkey)
{
	struct vrb_qp *qp = vrb_qp(base);
	struct vrb_mw *mw = vrb_mw(bind->mw);
	bool again = atomic_load(&mw->bound) && mw->base.qp_scope;
	int rc;

	*rkey = 0;
	if (again && (qp->dev->quirks.stale_invalidate_crashes || !may_invalidate(qp)))
		vrb_qp_collect(qp);
	if (again && bind->mr && !may_invalidate(qp))
		return -ENOMEM;
	pthread_mutex_lock(&mw->lock);
	if (qp->sq.mode == VRB_QUEUE_ACTIVE) {
		rc = bind_locked(qp, mw, wr_id, flags, bind, rkey);
	} else {
		rc = vrb_qp_post_inactive(qp, wr_id);
		if (!rc && bind->mr)
			atomic_store(&mw->last_key, *rkey = next_key(mw));
	}
	pthread_mutex_unlock(&mw->lock);
	return rc;
}

const struct dapl_mw_ops vrb_mw_ops = {
	.alloc = vrb_mw_alloc,
	.free = vrb_mw_free,
	.bind = mw_bind,
};
