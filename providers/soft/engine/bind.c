/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Bindings of memory windows as requests of a QP, and what memory that goes away asks of the QPs.
 * What a binding does is memory/window.c.
 */

#include <errno.h>
#include <stdlib.h>

#include "providers/soft/base/device.h"
#include "providers/soft/engine/conn.h"
#include "providers/soft/engine/drive.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/memory/window.h"
#include "trace/log.h"

static struct soft_mw *soft_mw(struct tp_mw *mw)
{
	return container_of(mw, struct soft_mw, base);
}

static void await_peers(struct soft_dev *dev,
			void (*await)(struct soft_conn *conn, uint64_t deadline), uint64_t ns)
{
	uint64_t deadline = dapl_now() + ns;
	struct soft_qp *qp;

	list_for_each(qp, &dev->qps, node) {
		dapl_lock(&qp->lock);
		if (qp->conn)
			await(qp->conn, deadline);
		dapl_unlock(&qp->lock);
	}
}

void soft_bind_quiesce(struct soft_dev *dev, uint32_t key)
{
	struct soft_qp *qp;

	pthread_mutex_lock(&dev->lock);
	/* Who moves data looks keys up under the lock. */
	list_for_each(qp, &dev->qps, node) {
		dapl_lock(&qp->lock);
		if (key && qp->conn)
			soft_direct_revoke(qp->conn, key);
		dapl_unlock(&qp->lock);
	}
	/* All at a time, so that peers who stand still are waited for once. */
	if (key) {
		await_peers(dev, soft_direct_await, SOFT_DIRECT_PATIENCE_NS);
		await_peers(dev, soft_direct_outlast, SOFT_DIRECT_COPY_NS);
	}
	pthread_mutex_unlock(&dev->lock);
}

void soft_bind_clear(struct soft_conn *conn)
{
	struct soft_qp *qp = conn->qp;
	struct soft_bind *bind;
	struct soft_sqe *sqe;

	dapl_lock(&qp->lock);
	sqe = soft_sqe(qp, qp->sq_next);
	bind = soft_sqe_bind(sqe);
	if (qp->sq_next != atomic_load(&qp->sq.tail) && sqe->opcode == SOFT_OP_BIND && bind->mw) {
		soft_window_unbind(bind->mw);
		/* If the connection ends now it cannot be as if nothing had been done (RMR-24). */
		sqe->status = TP_WC_BIND_FAILED;
	}
	dapl_unlock(&qp->lock);
	soft_stags_settle(conn->dev->stags, 0);
	dapl_lock(&qp->lock);
	conn->tx.bind_wait = false;
	dapl_unlock(&qp->lock);
	soft_drive(qp, SOFT_DRIVE_TX);
}

/* ---- Posting ---- */

/* Whether a connection is still there. */
static bool alive(struct soft_dev *dev, uint64_t stream)
{
	struct soft_qp *qp;
	bool found = false;

	pthread_mutex_lock(&dev->lock);
	list_for_each(qp, &dev->qps, node)
		found |= atomic_load(&qp->prot.stream) == stream;
	pthread_mutex_unlock(&dev->lock);
	return found;
}

/* Whether a window of QP scope is bound, or about to be, on another connection (RMR-21). */
static bool bound_elsewhere(struct soft_dev *dev, struct soft_mw *mw, uint64_t stream)
{
	uint64_t other;

	if (!mw->base.qp_scope || !stream)
		return false;
	other = soft_window_stream(mw);
	return other && other != stream && alive(dev, other);
}

static int mw_bind(struct tp_qp *base, uint64_t wr_id, uint32_t flags, const struct tp_bind *bind,
		   uint32_t *rkey)
{
	struct soft_qp *qp = container_of(base, struct soft_qp, base);
	struct soft_mw *mw = soft_mw(bind->mw);
	struct soft_sqe *sqe;
	int rc;

	if (bound_elsewhere(qp->dev, mw, atomic_load(&qp->prot.stream)))
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
	sqe->rkey = soft_window_post(&qp->prot, soft_sqe_bind(sqe));
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

/* Takes a window that goes away out of the bindings posted on a QP; QP's lock held. */
static void take_out(struct soft_qp *qp, const struct soft_mw *mw)
{
	struct soft_sqe *sqe;

	for (uint32_t i = atomic_load(&qp->sq.head); i != atomic_load(&qp->sq.tail); i++) {
		sqe = soft_sqe(qp, i);
		if (sqe->opcode == SOFT_OP_BIND && soft_sqe_bind(sqe)->mw == mw)
			soft_window_drop(soft_sqe_bind(sqe));
	}
}

static void mw_free(struct tp_mw *base)
{
	struct soft_dev *dev = soft_dev(base->pd->dev);
	struct soft_mw *mw = soft_mw(base);
	struct soft_qp *qp;

	pthread_mutex_lock(&dev->lock);
	list_for_each(qp, &dev->qps, node) {
		dapl_lock(&qp->lock);
		take_out(qp, mw);
		dapl_unlock(&qp->lock);
	}
	pthread_mutex_unlock(&dev->lock);
	soft_window_unbind(mw);
	soft_stags_settle(dev->stags, 0);
	free(mw);
}

const struct dapl_mw_ops soft_mw_ops = {
	.alloc = mw_alloc,
	.free = mw_free,
	.bind = mw_bind,
};
