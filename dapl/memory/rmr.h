/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Remote memory regions: windows that are bound to parts of LMRs.
 *
 * A bind is a request of an EP, and what it does to the region counts from its completion. The
 * record of a posted bind lies beside the EP's slots; the region lists those of it that are not
 * settled. One whose success was suppressed settles when somebody asks, once a later completion
 * has given its slot back. All of this is under ia->bind_lock.
 */
#ifndef DAPL_RMR_H
#define DAPL_RMR_H

#include "dapl/transfer/dto.h"
#include "dapl/memory/lmr.h"
#include "dapl/object/object.h"
#include "dapl/memory/pz.h"
#include "dapl/transport.h"

/* What a region is bound to; all zero if to nothing. */
struct dapl_binding {
	struct dapl_lmr *lmr; /* used by the region */
	DAT_LMR_TRIPLET triplet;
	DAT_MEM_PRIV_FLAGS privileges;
	DAT_VA_TYPE va_type;
	DAT_RMR_CONTEXT context;
	struct dapl_ep *ep; /* scope EP: through which; also of an unbind that is not settled */
};

/* A posted bind. */
struct dapl_bind {
	struct dapl_rmr *rmr; /* NULL: settled */
	DAT_RMR_HANDLE handle;
	struct dapl_binding to;
	struct dapl_ep *ep;
	uint32_t seq;  /* of its slot */
	uint32_t room; /* of the EP's queue, in slots */
	bool done;     /* completed, with status */
	uint32_t status;
	struct dapl_bind *next;
};

struct dapl_rmr {
	struct dapl_object obj;
	struct dapl_pz *pz;
	struct tp_mw *mw;
	DAT_RMR_SCOPE scope;
	struct dapl_binding now;
	const struct dapl_bind *bound_by; /* what made it so; only to be compared */
	struct dapl_bind *first, **last;  /* not settled, in the order of posting */
	/* Scope EP, bound or about to be: the list of that EP. */
	struct dapl_ep *listed;
	struct dapl_rmr *next, **link;
};

/* The records of the binds of one EP, one for each slot. */
struct dapl_bind_table {
	struct dapl_bind_table *older; /* replaced when the queue grew */
	uint32_t size;
	struct dapl_bind bind[];
};

/* A bind completed: its event; gives the slot back. EVD lock held. */
DAT_EVENT_NUMBER dapl_rmr_bound(const struct tp_wc *wc, struct dapl_slot *slot,
				DAT_RMR_BIND_COMPLETION_EVENT_DATA *data);
/* The peer of ep invalidated a context (RMR-35). EVD lock held. */
void dapl_rmr_invalidated(struct dapl_ep *ep, DAT_RMR_CONTEXT context);
/* The EP's queue is gone: settles its binds, unbinds what was bound through it (RMR-37). */
void dapl_rmr_ep_gone(struct dapl_ep *ep);
/* Settles what can be, so that the use counts of LMRs are exact. No lock but below ia->lock. */
void dapl_rmr_settle_all(struct dapl_ia *ia);
extern const struct dapl_class dapl_rmr_class;

DAT_RETURN dapl_rmr_create(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr);
DAT_RETURN dapl_rmr_create_for_ep(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr);
DAT_RETURN dapl_rmr_query(DAT_RMR_HANDLE rmr, DAT_RMR_PARAM_MASK mask, DAT_RMR_PARAM *param);
DAT_RETURN dapl_rmr_bind(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr, const DAT_LMR_TRIPLET *triplet,
			 DAT_MEM_PRIV_FLAGS privileges, DAT_VA_TYPE va_type, DAT_EP_HANDLE ep,
			 DAT_RMR_COOKIE user_cookie, DAT_COMPLETION_FLAGS flags,
			 DAT_RMR_CONTEXT *context);
DAT_RETURN dapl_rmr_free(DAT_RMR_HANDLE rmr);

#endif
