/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory and memory windows, a part of the contract (dapl/transport.h). */
#ifndef DAPL_REGISTRATION_H
#define DAPL_REGISTRATION_H

#include <stdbool.h>
#include <stdint.h>

struct tp_device;
struct tp_qp;

/* ---- Memory ---- */

struct tp_pd {
	struct tp_device *dev;
};

struct dapl_pd_ops {
	/* -ENOMEM. No lock held. */
	int (*alloc)(struct tp_device *dev, struct tp_pd **pd);
	/* Its MRs and QPs are gone. */
	void (*free)(struct tp_pd *pd);
};

/* Rights; the values are those of DAT_MEM_PRIV_FLAGS. Local read is always implied (LMR-21). */
enum {
	TP_ACCESS_REMOTE_READ = 0x02,
	TP_ACCESS_LOCAL_WRITE = 0x10,
	TP_ACCESS_REMOTE_WRITE = 0x20,
	TP_ACCESS_REMOTE_ATOMIC = 0x40,
};

struct tp_mr_attr {
	void *addr;
	uint64_t length; /* > 0 */
	uint32_t access; /* TP_ACCESS_* */
	bool zero_based; /* keys address the region by offset; only if tp_device_attr.zero_based */
};

struct tp_mr {
	struct tp_pd *pd;
	uint32_t lkey; /* never 0, unique among live MRs of the device (LMR-27) */
	uint32_t rkey; /* 0 if access grants nothing remote (LMR-26) */
};

struct dapl_mr_ops {
	/*
	 * Registers [addr, addr + length). -EFAULT: not mapped, or not writable although
	 * LOCAL_WRITE was asked (LMR-6); -ENOMEM: host memory; -EAGAIN: the pinning limit; -ENOSPC:
	 * no key left. No lock held.
	 */
	int (*reg)(struct tp_pd *pd, const struct tp_mr_attr *attr, struct tp_mr **mr);
	/*
	 * After return neither key is valid and no access by the transport to the memory is in
	 * progress (LMR-34, LMR-36, LMR-37). Posted work that refers to it fails when its turn
	 * comes. A key value is not given out again at once (LMR-38).
	 */
	void (*dereg)(struct tp_mr *mr);
};

/* ---- Memory windows ---- */

struct tp_mw {
	struct tp_pd *pd;
	bool qp_scope; /* only the QP it was bound on takes remote access by it (RMR-3) */
};

struct tp_bind {
	struct tp_mw *mw;
	struct tp_mr *mr; /* NULL: unbind; of the mw's PD */
	uint64_t addr;	  /* as the MR is addressed; the range lies inside it */
	uint64_t length;  /* > 0 unless unbind */
	uint32_t access;  /* TP_ACCESS_REMOTE_*; 0 is legal and lets nobody in */
	bool zero_based;  /* the peer counts from addr; only if tp_device_attr.zero_based */
};

struct dapl_mw_ops {
	/* A new unbound window. -EOPNOTSUPP (the scope), -ENOMEM, -ENOSPC. No lock held. */
	int (*alloc)(struct tp_pd *pd, bool qp_scope, struct tp_mw **mw);
	/*
	 * Unbinds and frees. After return its key is not valid and no access through it is in
	 * progress (RMR-32); a bind still queued completes, with success or TP_WC_BIND_FAILED.
	 */
	void (*free)(struct tp_mw *mw);
	/*
	 * Posts the binding of a window as a request of qp: in its order, counted and completed as
	 * one, and nothing posted later takes effect at the peer before it is done (RMR-10).
	 * flags: TP_WR_SIGNALED, TP_WR_FENCE. *rkey is set at once, other than the window's last
	 * (RMR-8), 0 for an unbind. When it completes the earlier key is invalid; one that fails
	 * leaves the window unbound (RMR-25), one that is flushed as it was (RMR-24). Errors as
	 * post_send, and -EBUSY: a binding on another QP that is still connected is in the way
	 * (RMR-21). EP lock held.
	 */
	int (*bind)(struct tp_qp *qp, uint64_t wr_id, uint32_t flags, const struct tp_bind *bind,
		    uint32_t *rkey);
};

#endif
