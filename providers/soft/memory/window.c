/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory windows. A bound window has a key in the table of registered memory; readers take no lock,
 * so that what it is bound to is read between two looks at seq. A binding is a request of a QP: it
 * is posted with its new key, and done when its turn comes, under both locks of the QP. Whoever
 * used a window of QP scope is out of it by then. One of PD scope may be in use by any QP, and is
 * first unbound by the loop, which passes through the locks of all.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "providers/soft/device.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/memory/stag.h"
#include "providers/soft/memory/window.h"
#include "trace/log.h"

const struct tp_pd soft_window_pd;

static struct soft_mw *soft_mw(struct tp_mw *mw)
{
	return soft_container(mw, struct soft_mw, base);
}

static struct soft_stags *stags_of(struct soft_mw *mw)
{
	return &soft_dev(mw->base.pd->dev)->stags;
}

/* ---- The binding; soft_stags.lock held ---- */

static bool is_bound(struct soft_mw *mw)
{
	return atomic_load(&mw->region.key);
}

static void unbind(struct soft_mw *mw)
{
	if (!is_bound(mw))
		return;
	soft_stag_unpublish(stags_of(mw), &mw->region);
	atomic_fetch_add(&mw->seq, 1);
	atomic_store(&mw->region.key, 0);
	atomic_store(&mw->stream, 0);
	atomic_fetch_add(&mw->seq, 1);
}

/* What the window shows has to be there, and fit for the rights it grants (RMR-13, RMR-17). */
static bool fits(const struct soft_region *mr, const struct soft_mw *mw,
		 const struct soft_bind *bind)
{
	uint64_t from;

	if (!mr || mr->pd != mw->base.pd || bind->addr < mr->start)
		return false;
	from = bind->addr - mr->start;
	if (from > mr->length || bind->length > mr->length - from)
		return false;
	return !(bind->access & (TP_ACCESS_REMOTE_WRITE | TP_ACCESS_REMOTE_ATOMIC)) ||
	       (mr->access & TP_ACCESS_LOCAL_WRITE);
}

static bool rebind(struct soft_mw *mw, const struct soft_bind *bind, uint32_t key, uint64_t stream)
{
	const struct soft_region *mr = soft_stag_find(stags_of(mw), bind->mr_key);

	unbind(mw);
	if (!fits(mr, mw, bind))
		return false;
	atomic_fetch_add(&mw->seq, 1);
	atomic_store(&mw->access, bind->access);
	atomic_store(&mw->mr_key, bind->mr_key);
	atomic_store(&mw->start, bind->zero_based ? 0 : bind->addr);
	atomic_store(&mw->length, bind->length);
	atomic_store(&mw->mem, mr->mem + (bind->addr - mr->start));
	atomic_store(&mw->stream, mw->base.qp_scope ? stream : 0);
	atomic_store(&mw->region.key, key);
	atomic_fetch_add(&mw->seq, 1);
	if (!soft_stag_publish(stags_of(mw), &mw->region))
		return true;
	atomic_store(&mw->region.key, 0);
	return false;
}

/* ---- Use ---- */

/* What a window was bound to at one moment. */
struct view {
	uint32_t key, access, mr_key;
	uint64_t start, length, stream;
	uint8_t *mem;
};

/* false: it is being bound to something else, and the key that led here is dead. */
static bool look(struct soft_mw *mw, struct view *view)
{
	unsigned seq = atomic_load_explicit(&mw->seq, memory_order_acquire);

	view->key = atomic_load_explicit(&mw->region.key, memory_order_acquire);
	view->access = atomic_load_explicit(&mw->access, memory_order_acquire);
	view->mr_key = atomic_load_explicit(&mw->mr_key, memory_order_acquire);
	view->start = atomic_load_explicit(&mw->start, memory_order_acquire);
	view->length = atomic_load_explicit(&mw->length, memory_order_acquire);
	view->stream = atomic_load_explicit(&mw->stream, memory_order_acquire);
	view->mem = atomic_load_explicit(&mw->mem, memory_order_acquire);
	return !(seq & 1) && atomic_load_explicit(&mw->seq, memory_order_acquire) == seq;
}

enum soft_stag_result soft_window_check(struct soft_region *region, uint32_t key,
					const struct soft_qp *qp, uint64_t addr, uint64_t len,
					uint32_t access, bool by_mem, uint8_t **mem)
{
	struct soft_mw *mw = soft_container(region, struct soft_mw, region);
	struct view view;
	uint64_t start;

	if (!look(mw, &view) || view.key != key || !soft_stag_find(stags_of(mw), view.mr_key))
		return SOFT_STAG_INVALID;
	if (mw->base.pd != qp->pd ||
	    (mw->base.qp_scope &&
	     view.stream != atomic_load_explicit(&qp->stream, memory_order_relaxed)))
		return SOFT_STAG_PD;
	if (addr + len < addr)
		return SOFT_STAG_WRAP;
	start = by_mem ? (uintptr_t)view.mem : view.start;
	if (addr < start || addr - start > view.length || len > view.length - (addr - start))
		return SOFT_STAG_BOUNDS;
	if ((view.access & access) != access)
		return SOFT_STAG_ACCESS;
	*mem = view.mem + (addr - start);
	return SOFT_STAG_OK;
}

bool soft_window_invalidate(struct soft_qp *qp, uint32_t key)
{
	struct soft_stags *stags = &qp->dev->stags;
	struct soft_region *region;
	struct soft_mw *mw;
	bool done = false;

	/* Responses read from windows under tx_lock. */
	pthread_mutex_lock(&qp->tx_lock);
	pthread_mutex_lock(&stags->lock);
	region = key ? soft_stag_find(stags, key) : NULL;
	if (region && region->pd == &soft_window_pd) {
		mw = soft_container(region, struct soft_mw, region);
		done = mw->base.qp_scope && atomic_load(&mw->stream) == atomic_load(&qp->stream);
		if (done)
			unbind(mw);
	}
	pthread_mutex_unlock(&stags->lock);
	soft_qp_tx_unlock(qp);
	return done;
}

/* ---- Bindings whose turn has come, or never comes ---- */

enum soft_bind_result soft_window_bind(struct soft_qp *qp, struct soft_sqe *sqe)
{
	struct soft_stags *stags = &qp->dev->stags;
	struct soft_bind *bind = soft_sqe_bind(sqe);
	enum soft_bind_result result = SOFT_BIND_DONE;
	struct soft_mw *mw = bind->mw;

	if (!mw)
		return SOFT_BIND_DONE;
	pthread_mutex_lock(&stags->lock);
	if (is_bound(mw) && !mw->base.qp_scope) {
		result = SOFT_BIND_LATER;
	} else {
		if (!bind->mr_key)
			unbind(mw);
		else if (!rebind(mw, bind, sqe->rkey, atomic_load(&qp->stream)))
			result = SOFT_BIND_FAILED;
		mw->queued--;
		bind->mw = NULL;
	}
	pthread_mutex_unlock(&stags->lock);
	return result;
}

void soft_window_clear(struct soft_qp *qp)
{
	struct soft_stags *stags = &qp->dev->stags;
	struct soft_bind *bind;
	struct soft_sqe *sqe;

	pthread_mutex_lock(&qp->tx_lock);
	sqe = soft_sqe(qp, qp->sq_next);
	bind = soft_sqe_bind(sqe);
	if (qp->sq_next != atomic_load(&qp->sq.tail) && sqe->opcode == SOFT_OP_BIND && bind->mw) {
		pthread_mutex_lock(&stags->lock);
		unbind(bind->mw);
		pthread_mutex_unlock(&stags->lock);
		/* If the connection ends now it cannot be as if nothing had been done (RMR-24). */
		sqe->status = TP_WC_BIND_FAILED;
	}
	soft_qp_tx_unlock(qp);
	soft_dev_quiesce(qp->dev);
}

void soft_window_dropped(struct soft_qp *qp, struct soft_sqe *sqe)
{
	struct soft_bind *bind = soft_sqe_bind(sqe);

	if (!bind->mw)
		return;
	pthread_mutex_lock(&qp->dev->stags.lock);
	bind->mw->queued--;
	bind->mw = NULL;
	pthread_mutex_unlock(&qp->dev->stags.lock);
}

/* ---- Posting ---- */

/* Whether a connection is still there. */
static bool alive(struct soft_dev *dev, uint64_t stream)
{
	struct soft_list *node;
	bool found = false;

	pthread_mutex_lock(&dev->lock);
	for (node = dev->qps.next; node != &dev->qps && !found; node = node->next)
		found = atomic_load(&soft_container(node, struct soft_qp, node)->stream) == stream;
	pthread_mutex_unlock(&dev->lock);
	return found;
}

/* Whether a window of QP scope is bound, or about to be, on another connection (RMR-21). */
static bool in_the_way(struct soft_dev *dev, struct soft_mw *mw, uint64_t stream)
{
	uint64_t other;

	if (!mw->base.qp_scope || !stream)
		return false;
	pthread_mutex_lock(&dev->stags.lock);
	other = mw->queued ? mw->queued_stream : atomic_load(&mw->stream);
	pthread_mutex_unlock(&dev->stags.lock);
	return other && other != stream && alive(dev, other);
}

static int mw_bind(struct tp_qp *base, uint64_t wr_id, uint32_t flags, const struct tp_bind *bind,
		   uint32_t *rkey)
{
	struct soft_qp *qp = soft_container(base, struct soft_qp, base);
	uint64_t stream = atomic_load(&qp->stream);
	struct soft_mw *mw = soft_mw(bind->mw);
	struct soft_sqe *sqe;
	int rc;

	if (in_the_way(qp->dev, mw, stream))
		return -EBUSY;
	rc = soft_qp_reserve(qp, &sqe);
	if (rc)
		return rc;
	*sqe = (struct soft_sqe){
		.wr_id = wr_id,
		.opcode = SOFT_OP_BIND,
		.flags = (uint8_t)(flags | SOFT_WR_CAREFUL),
		.status = TP_WC_FLUSHED,
	};
	*soft_sqe_bind(sqe) = (struct soft_bind){
		.mw = mw,
		.mr_key = bind->mr ? bind->mr->lkey : 0,
		.addr = bind->addr,
		.length = bind->length,
		.access = bind->access,
		.zero_based = bind->zero_based,
	};
	pthread_mutex_lock(&qp->dev->stags.lock);
	if (bind->mr)
		sqe->rkey = soft_stag_draw(&qp->dev->stags);
	mw->queued++;
	mw->queued_stream = stream;
	pthread_mutex_unlock(&qp->dev->stags.lock);
	*rkey = sqe->rkey;
	soft_qp_submit(qp);
	return 0;
}

/* ---- Life ---- */

static int mw_alloc(struct tp_pd *pd, bool qp_scope, struct tp_mw **out)
{
	struct soft_mw *mw = calloc(1, sizeof(*mw));

	if (!mw) {
		dapl_err("%s: memory window not created: %s", soft_dev(pd->dev)->name,
			 dapl_strerror(ENOMEM));
		return -ENOMEM;
	}
	mw->base = (struct tp_mw){ .pd = pd, .qp_scope = qp_scope };
	mw->region.pd = &soft_window_pd;
	*out = &mw->base;
	return 0;
}

/* Takes a window that goes away out of the bindings posted on a QP; tx_lock held. */
static void take_out(struct soft_qp *qp, const struct soft_mw *mw)
{
	struct soft_sqe *sqe;

	for (uint32_t i = atomic_load(&qp->sq.head); i != atomic_load(&qp->sq.tail); i++) {
		sqe = soft_sqe(qp, i);
		if (sqe->opcode == SOFT_OP_BIND && soft_sqe_bind(sqe)->mw == mw)
			soft_window_dropped(qp, sqe);
	}
}

static void mw_free(struct tp_mw *base)
{
	struct soft_dev *dev = soft_dev(base->pd->dev);
	struct soft_mw *mw = soft_mw(base);
	struct soft_list *node;
	struct soft_qp *qp;

	pthread_mutex_lock(&dev->lock);
	for (node = dev->qps.next; node != &dev->qps; node = node->next) {
		qp = soft_container(node, struct soft_qp, node);
		pthread_mutex_lock(&qp->tx_lock);
		take_out(qp, mw);
		soft_qp_tx_unlock(qp);
	}
	pthread_mutex_unlock(&dev->lock);
	pthread_mutex_lock(&dev->stags.lock);
	unbind(mw);
	pthread_mutex_unlock(&dev->stags.lock);
	soft_dev_quiesce(dev);
	free(mw);
}

const struct dapl_mw_ops soft_mw_ops = {
	.alloc = mw_alloc,
	.free = mw_free,
	.bind = mw_bind,
};
