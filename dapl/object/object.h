/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What every DAT object of the core begins with, where objects live, and how a handle becomes an
 * object.
 *
 * Locks of the core, in the order in which they nest; whoever holds one may take those below it:
 *
 *   entries         the entries and open IAs (dapl/object/entries.c)
 *   cr->lock        serialises a consumer's answers to one CR; never taken on the loop
 *   ep->cm_lock     serialises a consumer's connection calls on one EP; never taken on the loop
 *   ia->lock        the IA's list of objects, counts and close state
 *   ep->qp.lock     state, queues of slots, the transport's posting calls
 *   srq->obj.lock   posting to the SRQ
 *   evd->obj.lock   the event ring, the waiter, the transport CQ's calls
 *   ia->bind_lock   what RMRs are bound to; no transport is called with it held
 *   cno->lock       triggered state, agent
 *   the transport's own, then loop, arena
 *
 * Connection calls of the transport are made with none but cr->lock and cm_lock held.
 */
#ifndef DAPL_OBJECT_H
#define DAPL_OBJECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <dat/udat.h>
#include <dat/dat_registry.h>

#include "dapl/base/lock.h"

#define DAPL_SLOT_SIZE 512

/* The tag of a live object; anything else in its place means that the handle is stale or of no
 * object. */
enum dapl_type {
	DAPL_TYPE_NONE = 0,
	DAPL_TYPE_IA = 0x0da71a00,
	/* In the order of an abrupt close: what refers to others goes before them (IA-86). */
	DAPL_TYPE_RSP,
	DAPL_TYPE_SSP,
	DAPL_TYPE_PSP,
	DAPL_TYPE_CSP,
	DAPL_TYPE_CR,
	DAPL_TYPE_RMR,
	DAPL_TYPE_EP,
	DAPL_TYPE_SRQ,
	DAPL_TYPE_LMR,
	DAPL_TYPE_PZ,
	DAPL_TYPE_EVD,
	DAPL_TYPE_CNO,
	DAPL_TYPE_QUERY = 0x0da71b00, /* an IA that answers no call (IBX-110) */
	DAPL_TYPE_POISON = 0x0dead0ad,
};

#define DAPL_NUM_TYPES (DAPL_TYPE_CNO - DAPL_TYPE_IA + 1)

struct dapl_class;
struct dapl_counters_view;
struct dapl_ia;

/* The first word is what libdat2 dispatches on (GEN-16). */
struct dapl_object {
	const DAT_PROVIDER *provider;
	_Atomic uint32_t type;
	_Atomic uint32_t entered; /* threads inside; outlives the object, as type does */
	struct dapl_lock lock;	  /* of those that are waited at or used; ditto: look at type */
	_Atomic uint32_t users;	  /* other objects that refer to this one */
	const struct dapl_class *class;
	struct dapl_ia *ia;
	DAT_CONTEXT context;
	struct dapl_object *next, **link; /* the IA's list, under ia->lock */
};

/* What is known of all objects of a type; a function may be NULL where its comment says so. */
struct dapl_class {
	const char *name;
	enum dapl_type type;
	DAT_HANDLE_TYPE handle_type;
	DAT_RETURN_SUBTYPE bad_handle, in_use; /* what its calls answer */
	uint64_t fields;		       /* the mask of dat_*_query with all bits */
	int freed;			       /* DAT_IA_COUNTERS of dat_*_free, or 0 */
	/* Undoes its creation but for list and memory. It is retired, no lock is held. */
	void (*end)(struct dapl_object *obj);
	/* Abrupt close of the IA; it is retired. NULL: dapl_ia_end. */
	void (*close)(struct dapl_object *obj);
	/* Whether a graceful close of the IA fails for it; NULL: it does. ia->lock held. */
	bool (*in_way)(const struct dapl_object *obj);
	/* gone, which it may refer to although that is another IA's, is about to end; NULL: it
	 * never does. It may be retired, and in use by whoever ends it. Locks of both lists held. */
	void (*forget)(struct dapl_object *obj, struct dapl_object *gone);
	/* Whether part counts it among its users; NULL: it uses none. ia->lock held. */
	bool (*uses)(struct dapl_object *obj, const struct dapl_object *part);
	/* Its line of the control command "objects"; NULL: none. ia->lock held. */
	void (*describe)(struct dapl_object *obj, FILE *out);
	/* Counters of the InfiniBand extension, as dapl/object/counters.h; NULL: none. */
	void (*read_counters)(struct dapl_object *obj, struct dapl_counters_view *view);
	const char *const *counter_names;
	int num_counters;
};

/* The first members of most. */
#define DAPL_CLASS(TYPE)                                                                \
	.name = #TYPE, .type = DAPL_TYPE_##TYPE, .handle_type = DAT_HANDLE_TYPE_##TYPE, \
	.bad_handle = DAT_INVALID_HANDLE_##TYPE, .fields = DAT_##TYPE##_FIELD_ALL

/* What answers the calls of udat.h. */
#define CALL(name) __typeof__(*((const DAT_PROVIDER *)0)->name##_func) dapl_##name;
#include "dapl/object/calls.def"
#undef CALL

/* A zeroed object in the arena, without a tag yet. NULL: no memory. */
void *dapl_object_alloc_slot(void);
#define dapl_object_alloc(size)                                                       \
	({                                                                            \
		_Static_assert((size) <= DAPL_SLOT_SIZE, "an object fills one slot"); \
		dapl_object_alloc_slot();                                             \
	})
/* Fills the header and makes the handle valid; libdat2 dispatches by table. */
void dapl_object_init(struct dapl_object *obj, const struct dapl_class *class, struct dapl_ia *ia,
		      const DAT_PROVIDER *table);
/* From here on the handle is refused; the memory stays. False if another thread was first. */
bool dapl_object_retire(struct dapl_object *obj);
/* Retires it, if it is still one of class, unless others refer to it. */
DAT_RETURN dapl_object_retire_unused(struct dapl_object *obj, const struct dapl_class *class);
/* After retire: waits until all who entered have left. No lock held. */
void dapl_object_wait_left(struct dapl_object *obj);
/* Gives the memory back; its slot is used again as late as possible. */
void dapl_object_release(struct dapl_object *obj);

/*
 * What dat_*_query checks: the object, or NULL with the answer in *rc, which is success if nothing
 * is asked for.
 */
void *dapl_object_query(DAT_HANDLE handle, const struct dapl_class *class, uint64_t mask,
			const void *param, DAT_RETURN *rc);

/* Whether handle may be read as an object at all. */
bool dapl_object_readable(DAT_HANDLE handle);
/* An object of any type that a program knows, and its class; or NULL. */
struct dapl_object *dapl_object_any(DAT_HANDLE handle, const struct dapl_class **class);

/* Arguments that name objects are checked in full: any value a program passes may be looked up. */
static inline void *dapl_object_arg(DAT_HANDLE handle, enum dapl_type type)
{
	struct dapl_object *obj = handle;

	if (!dapl_object_readable(handle) ||
	    atomic_load_explicit(&obj->type, memory_order_acquire) != (uint32_t)type)
		return NULL;
	return obj;
}

/*
 * The object of an argument, which counts one more user until dapl_object_unuse: unless its IA is
 * closed, it stays as long. NULL: it is none, or gone.
 */
void *dapl_object_use_arg(DAT_HANDLE handle, enum dapl_type type);

static inline bool dapl_object_is(const struct dapl_object *obj, enum dapl_type type)
{
	return atomic_load_explicit(&obj->type, memory_order_acquire) == (uint32_t)type;
}

/*
 * As dapl_object_is on the paths where instructions count. A plain load, which the compilers fold
 * into the compare as they do no atomic one; ThreadSanitizer cannot know that a word is read whole.
 */
static inline bool dapl_object_looks(const struct dapl_object *obj, enum dapl_type type)
{
#ifdef WITH_TSAN
	return dapl_object_is(obj, type);
#else
	return *(const uint32_t *)&obj->type == (uint32_t)type;
#endif
}

/* The handle a call is dispatched on has been checked by libdat2, down to its first word. */
static inline void *dapl_object_self(DAT_HANDLE handle, enum dapl_type type)
{
	return likely(dapl_object_is(handle, type)) ? handle : NULL;
}

/*
 * The object of a handle as dapl_object_self, locked: it stays until that is unlocked, since
 * whoever frees it takes the lock once after it was retired. NULL: it is none, or gone.
 */
static inline void *dapl_object_lock(DAT_HANDLE handle, enum dapl_type type)
{
	struct dapl_object *obj = dapl_object_self(handle, type);

	if (!obj)
		return NULL;
	dapl_lock(&obj->lock);
	if (likely(dapl_object_is(obj, type)))
		return obj;
	dapl_unlock(&obj->lock);
	return NULL;
}

/*
 * Where a call may meet the end of its object and has no lock of it (EVD-90, IA-87, SIM-7): the
 * object stays until leave. False: it is gone already.
 */
bool dapl_object_enter(struct dapl_object *obj, enum dapl_type type);
void dapl_object_leave(struct dapl_object *obj);

static inline void dapl_object_use(struct dapl_object *obj)
{
	atomic_fetch_add_explicit(&obj->users, 1, memory_order_relaxed);
}

static inline void dapl_object_unuse(struct dapl_object *obj)
{
	atomic_fetch_sub_explicit(&obj->users, 1, memory_order_release);
}

static inline uint32_t dapl_object_users(const struct dapl_object *obj)
{
	return atomic_load_explicit(&obj->users, memory_order_acquire);
}

#endif
