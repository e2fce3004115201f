/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What RMRs are bound to.
 *
 * A bind is a request of an EP, and what it does to the region counts from its completion. The
 * record of a posted bind lies beside the EP's slots; the region lists those of it that are not
 * settled. One whose success was suppressed settles when somebody asks, once a later completion
 * has given its slot back. All of this is under ia->bind_lock, which callers hold.
 */
#ifndef DAPL_BINDING_H
#define DAPL_BINDING_H

#include "dapl/memory/lmr.h"

/* What a region is bound to; all zero if to nothing. */
struct dapl_binding {
	struct dapl_lmr *lmr; /* used by the region */
	DAT_LMR_TRIPLET triplet;
	DAT_MEM_PRIV_FLAGS privileges;
	DAT_VA_TYPE va_type;
	DAT_RMR_CONTEXT context;
	struct dapl_binder *binder; /* scope EP: through which; also of an unbind not settled yet */
};

/* A posted bind. */
struct dapl_bind {
	struct dapl_bindings *region; /* NULL: settled */
	DAT_RMR_HANDLE handle;
	struct dapl_binding to;
	const _Atomic uint32_t *head; /* of the ring of its slot */
	uint32_t seq, ring_size;      /* its place there, and the number of places */
	bool suppressed;	      /* its success is not told */
	bool done;		      /* completed, with status */
	uint32_t status;
	struct dapl_bind *next;
};

/* A region. */
struct dapl_bindings {
	struct dapl_binding now;
	const struct dapl_bind *bound_by; /* what made it so; only to be compared */
	struct dapl_bind *first, **last;  /* not settled, in the order of posting */
	/* Scope EP, bound or about to be: the list of that EP. */
	struct dapl_binder *listed;
	struct dapl_bindings *next, **link;
};

/* What an EP has to do with binding; all zero at first. */
struct dapl_binder {
	struct dapl_bind_table *table;	       /* records, one for each slot */
	struct dapl_bindings *regions, **last; /* of scope EP, bound through this EP */
	_Atomic bool connected;		       /* the EP's state; set under its lock */
};

void dapl_bindings_init(struct dapl_bindings *region);
/* The region is freed: binds still queued complete without it (RMR-33). */
void dapl_bindings_end(struct dapl_bindings *region);
/* Applies what has completed. */
void dapl_bindings_settle(struct dapl_bindings *region);
/* What the region is bound to, or will be once everything posted has completed. */
const struct dapl_binding *dapl_bindings_newest(const struct dapl_bindings *region);

/* Whether the region is bound to an LMR, or about to be. */
bool dapl_bindings_use(const struct dapl_bindings *region, const struct dapl_object *lmr);

/* The record beside slot number index of num; NULL: no memory. EP lock held, bind_lock not. */
struct dapl_bind *dapl_bind_record(struct dapl_binder *binder, uint32_t num, uint32_t index);
/* Puts what was posted, filled in by the caller, in place of what the record was before. */
void dapl_bind_add(struct dapl_bind *record, const struct dapl_bind *bind);
/* The transport named it, which may have completed meanwhile, or refused it. */
void dapl_bind_named(struct dapl_bindings *region, struct dapl_bind *bind, DAT_RMR_CONTEXT context);
void dapl_bind_remove(struct dapl_bind *bind);
void dapl_bind_completed(struct dapl_bind *bind, uint32_t status);

/* The peer invalidated a context (RMR-35). Takes bind_lock. */
void dapl_binder_invalidated(struct dapl_binder *binder, struct dapl_ia *ia,
			     DAT_RMR_CONTEXT context);
/* No completion of its binds is to come: settles them. Takes bind_lock. */
void dapl_binder_settle(struct dapl_binder *binder, struct dapl_ia *ia);
/* The EP's queue is gone: ditto, and unbinds what was bound through it (RMR-37). Takes bind_lock. */
void dapl_binder_end(struct dapl_binder *binder, struct dapl_ia *ia);

#endif
