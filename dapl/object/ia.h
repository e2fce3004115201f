/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An open interface adapter: the container of its objects. */
#ifndef DAPL_IA_H
#define DAPL_IA_H

#include <pthread.h>
#include <stdatomic.h>

#include "dapl/base/lock.h"
#include "dapl/object/object.h"
#include "dapl/transport.h"

struct dapl_entry;
struct dapl_evd;
struct dapl_ia_counters;

struct dapl_ia {
	struct dapl_object obj;
	struct dapl_entry *entry;
	struct tp_device *dev;
	struct dapl_loop *loop;
	_Atomic(struct dapl_loop *) agents; /* calls proxy agents; NULL before the first */
	bool agents_called;		    /* once one was; of the thread that calls them */
	struct tp_device_attr *attr;	    /* as queried at open; constant */
	struct dapl_named *named;	    /* ditto */
	void *config;			    /* the transport's tunables as they hold for this IA */

	struct dapl_ia_counters *counters;

	pthread_mutex_t lock; /* objects, num_objects, closing, async_evd */
	struct dapl_object *objects;
	uint32_t num_objects[DAPL_NUM_TYPES];
	bool closing;
	pthread_cond_t removed;	    /* an object, while closing */
	struct dapl_evd *async_evd; /* NULL: out of scope (IA-6) */
	bool async_evd_own;	    /* made by the open: goes with the close (IA-85) */
	struct dapl_lock bind_lock; /* what RMRs are bound to, and the binds that are posted */
	struct dapl_ia *next_open;  /* the list of open IAs, under the lock of entries.c */
};

/* The handle the program knows the IA by (GEN-19). */
DAT_IA_HANDLE dapl_ia_handle(struct dapl_ia *ia);

/* The IA behind an IA handle that libdat2 has translated; NULL if it is none. */
static inline struct dapl_ia *dapl_ia_get(DAT_IA_HANDLE handle)
{
	return handle ? dapl_object_arg(handle, DAPL_TYPE_IA) : NULL;
}

/*
 * Puts a new object into the IA's list and counts it; from then on the IA cannot be closed
 * gracefully. False: the adapter's limit of that type is reached, or the IA is being closed.
 */
bool dapl_ia_add(struct dapl_ia *ia, struct dapl_object *obj, const struct dapl_class *class,
		 uint32_t limit);
/* Takes it out of the list, not out of memory. */
void dapl_ia_remove(struct dapl_object *obj);
/* Ends a retired object, takes it out of the list and gives its memory back. */
void dapl_ia_end(struct dapl_object *obj);
/* dat_*_free of an object that is refused only while others refer to it. */
DAT_RETURN dapl_ia_free(DAT_HANDLE handle, const struct dapl_class *class);

/* Whether the close goes ahead; from then on nothing new is made. */
bool dapl_ia_start_close(struct dapl_ia *ia, bool graceful);
/* Whoever refers to others goes before them (IA-86). */
void dapl_ia_close_objects(struct dapl_ia *ia);

/* Sees to it that proxy agents can be called: 0 or a negative errno. No lock held. */
int dapl_ia_need_agents(struct dapl_ia *ia);

#endif
