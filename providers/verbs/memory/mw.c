/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory windows: of type 2 for those of one QP, of type 1 for those of a protection domain.
 *
 * One of type 2 that is bound is invalidated before it is bound again, by a request of this
 * transport's own. Its device object goes with the device's QP that it is bound on, which the
 * binding may hold, and the next bind makes another. One of type 1 stays bound then, but nobody
 * knows which of its keys is the device's if binds were under way: the next bind makes another too.
 *
 * Posting may take a CQ's lock, under which dev->mw_lock is taken: mw->lock is held then, mw_lock
 * not.
 */
#include <errno.h>
#include <stdlib.h>

#include "trace/log.h"
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
	atomic_store(&mw->bound, false);
	mw->doubtful = false;
	mw->qp = NULL;
}

void vrb_mw_qp_gone(struct vrb_qp *qp)
{
	struct vrb_mw *mw;

	pthread_mutex_lock(&qp->dev->mw_lock);
	for (mw = qp->dev->mws; mw; mw = mw->next) {
		if (mw->qp != qp)
			continue;
		if (mw->base.qp_scope)
			unmake(mw);
		mw->doubtful = !mw->base.qp_scope;
		mw->qp = NULL;
	}
	pthread_mutex_unlock(&qp->dev->mw_lock);
}

void vrb_mw_invalidated(struct vrb_dev *dev, uint32_t rkey)
{
	struct vrb_mw *mw;

	pthread_mutex_lock(&dev->mw_lock);
	for (mw = dev->mws; mw; mw = mw->next)
		if (atomic_load(&mw->last_key) == rkey)
			atomic_store(&mw->bound, false);
	pthread_mutex_unlock(&dev->mw_lock);
}

/* Soft-RoCE executes some of the binds that it then flushes. */
bool vrb_mw_unbind_one(struct vrb_dev *dev, struct ibv_mr *ibmr)
{
	struct vrb_mw *mw;

	pthread_mutex_lock(&dev->mw_lock);
	for (mw = dev->mws; mw; mw = mw->next)
		if (mw->ibmw && mw->ibmr == ibmr)
			break;
	if (mw) {
		unmake(mw);
		mw->ibmr = NULL;
	}
	pthread_mutex_unlock(&dev->mw_lock);
	return mw;
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
	pthread_mutex_init(&mw->lock, NULL);
	rc = make(mw);
	if (rc) {
		pthread_mutex_destroy(&mw->lock);
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
	pthread_mutex_destroy(&mw->lock);
	free(mw);
}

/* ---- Binding; QP lock and mw->lock held ---- */

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
		return vrb_qp_refused(qp, wr, err);
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
		unmake(mw);
	if (!rc && !mw->ibmw)
		rc = make(mw);
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
	/* Soft-RoCE's driver falls over an invalidation of what the peer invalidated already. */
	if (qp->dev->vague && atomic_load(&mw->bound) && mw->base.qp_scope)
		vrb_qp_collect(qp);
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
	.alloc = mw_alloc,
	.free = mw_free,
	.bind = mw_bind,
};
