/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Protection domains, regions and windows. */
#ifndef VERBS_MEMORY_H
#define VERBS_MEMORY_H

#include "providers/verbs/device.h"

struct vrb_pd {
	struct tp_pd base;
	struct ibv_pd *ibpd;
	struct vrb_reap reap;
};

static inline struct vrb_pd *vrb_pd(struct tp_pd *base)
{
	return base ? container_of(base, struct vrb_pd, base) : NULL;
}

struct vrb_mr {
	struct tp_mr base;
	struct ibv_mr *ibmr;
	uint64_t start, end;
	bool writable;
	struct vrb_mr *next; /* same chain of dev->mrs */
};

/* A region that a QP sent inline data from lately. */
struct vrb_mr_hint {
	uint64_t start, end;
	uint32_t lkey, gen;
};

/* A window; what a QP has bound goes with it. */
struct vrb_mw {
	struct tp_mw base;
	pthread_mutex_t lock;	   /* binds; behind the QP's, before the CQ's */
	struct ibv_mw *ibmw;	   /* NULL: to be made anew by the next bind */
	struct ibv_mr *ibmr;	   /* that it was last bound to */
	_Atomic uint32_t last_key; /* that the peer may know */
	atomic_bool bound;
	/* under dev->mw_lock */
	struct vrb_qp *qp;	     /* that it was bound on, or is about to be */
	bool doubtful;		     /* how its last bind ended is not known */
	struct vrb_mw *next, **link; /* of all of the device */
};

static inline struct vrb_mw *vrb_mw(struct tp_mw *base)
{
	return container_of(base, struct vrb_mw, base);
}

extern const struct dapl_pd_ops vrb_pd_ops;
extern const struct dapl_mr_ops vrb_mr_ops;

/* The region of pd with this key, or none, is the hint from now on. */
void vrb_mr_take_hint(struct vrb_dev *dev, struct vrb_mr_hint *hint, const struct vrb_pd *pd,
		      uint32_t lkey);

/* Whether sge lies in a region of pd, so that the processor may read it as the device would. */
static inline bool vrb_mr_covers(struct vrb_dev *dev, struct vrb_mr_hint *hint,
				 const struct vrb_pd *pd, const struct tp_sge *sge)
{
	if (unlikely(hint->lkey != sge->lkey ||
		     hint->gen != atomic_load_explicit(&dev->mr_gen, memory_order_relaxed)))
		vrb_mr_take_hint(dev, hint, pd, sge->lkey);
	return sge->lkey == hint->lkey && sge->addr >= hint->start && sge->addr <= hint->end &&
	       sge->length <= hint->end - sge->addr;
}

/* Whether the device may read, or write, all of the segments. */
bool vrb_mr_allows(struct vrb_dev *dev, const struct vrb_pd *pd, const struct tp_sge *sge,
		   uint32_t num, bool write);

/* ---- Pages (paging.c) ---- */

/* What the device can do is known: whether memory stays unpinned, and who watches forks. */
void vrb_paging_learn(struct vrb_dev *dev);
/* So many regions are registered now, or fewer. */
void vrb_paging_count(int more);
/* Why a registration may have failed so, for its message, or "". */
const char *vrb_paging_hint(int err);

/* ---- Windows (mw.c; their binds: qp_bind.c) ---- */

int vrb_mw_alloc(struct tp_pd *base, bool qp_scope, struct tp_mw **out);
void vrb_mw_free(struct tp_mw *base);
/* Whether the program has any. */
bool vrb_mw_any(struct vrb_dev *dev);
/* The device's window; dev->mw_lock held. */
int vrb_mw_make(struct vrb_mw *mw);
void vrb_mw_unmake(struct vrb_mw *mw);
/* The device's QP is about to go, and with it its bindings. */
void vrb_mw_qp_gone(struct vrb_dev *dev, struct vrb_qp *qp);
/* The peer invalidated a key. */
void vrb_mw_invalidated(struct vrb_dev *dev, uint32_t rkey);
/* A region that nothing is bound to goes: ends one binding to it that was made all the same. */
bool vrb_mw_unbind_one(struct vrb_dev *dev, struct ibv_mr *ibmr);

#endif
