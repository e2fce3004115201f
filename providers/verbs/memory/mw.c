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
#include "providers/verbs/memory/memory.h"

static struct vrb_dev *dev_of(const struct vrb_mw *mw)
{
	return vrb_dev(mw->base.pd->dev);
}

/* ---- The device's window ---- */

int vrb_mw_make(struct vrb_mw *mw)
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

void vrb_mw_unmake(struct vrb_mw *mw)
{
	int err = mw->ibmw ? ibv_dealloc_mw(mw->ibmw) : 0;

	if (vrb_dev_kept(dev_of(mw), err))
		dapl_err("%s: memory window not freed: %s", dev_of(mw)->name, dapl_strerror(err));
	mw->ibmw = NULL;
	atomic_store(&mw->bound, false);
	mw->doubtful = false;
	mw->qp = NULL;
}

void vrb_mw_qp_gone(struct vrb_dev *dev, struct vrb_qp *qp)
{
	struct vrb_mw *mw;

	pthread_mutex_lock(&dev->mw_lock);
	for (mw = dev->mws; mw; mw = mw->next) {
		if (mw->qp != qp)
			continue;
		if (mw->base.qp_scope)
			vrb_mw_unmake(mw);
		mw->doubtful = !mw->base.qp_scope;
		mw->qp = NULL;
	}
	pthread_mutex_unlock(&dev->mw_lock);
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
		vrb_mw_unmake(mw);
		mw->ibmr = NULL;
	}
	pthread_mutex_unlock(&dev->mw_lock);
	return mw;
}

/* ---- Life ---- */

int vrb_mw_alloc(struct tp_pd *base, bool qp_scope, struct tp_mw **out)
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
	rc = vrb_mw_make(mw);
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

void vrb_mw_free(struct tp_mw *base)
{
	struct vrb_mw *mw = vrb_mw(base);
	struct vrb_dev *dev = dev_of(mw);

	pthread_mutex_lock(&dev->mw_lock);
	*mw->link = mw->next;
	if (mw->next)
		mw->next->link = mw->link;
	vrb_mw_unmake(mw);
	pthread_mutex_unlock(&dev->mw_lock);
	pthread_mutex_destroy(&mw->lock);
	free(mw);
}

bool vrb_mw_any(struct vrb_dev *dev)
{
	bool any;

	pthread_mutex_lock(&dev->mw_lock);
	any = dev->mws;
	pthread_mutex_unlock(&dev->mw_lock);
	return any;
}
