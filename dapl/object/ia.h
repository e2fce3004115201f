/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An open interface adapter: the root of all its objects. */
#ifndef DAPL_IA_H
#define DAPL_IA_H

#include <pthread.h>
#include <stdatomic.h>

#include "dapl/base/lock.h"
#include "dapl/object/object.h"
#include "dapl/transport.h"

struct dapl_evd;
struct dapl_ia_counters;
struct dapl_provider;

#define DAPL_SPARE_WAKEFDS 32

struct dapl_ia {
	struct dapl_object obj;
	struct dapl_provider *provider;
	struct tp_device *dev;
	struct dapl_loop *loop;
	_Atomic(struct dapl_loop *) agents; /* calls proxy agents; NULL before the first */
	struct tp_device_attr *attr;	    /* as queried at open; constant */
	struct dapl_named *named;	    /* ditto */
	void *config;			    /* the transport's tunables as they hold for this IA */

	struct dapl_ia_counters *counters;

	pthread_mutex_t lock; /* objects, counts, closing, async_evd */
	struct dapl_object *objects;
	uint32_t counts[DAPL_NUM_TYPES];
	bool closing;
	struct dapl_evd *async_evd; /* NULL: out of scope (IA-6) */
	bool async_evd_own;	    /* made by the open: goes with the close (IA-85) */
	struct dapl_lock bind_lock; /* what RMRs are bound to, and the binds that are posted */
	_Atomic int spare_wakefds[DAPL_SPARE_WAKEFDS]; /* for threads that wait, plus 1; 0: none */
	_Atomic uint32_t wakers;		       /* threads that may hold one to write to */
	_Atomic bool told_wakefd;		       /* that there was none */
	struct dapl_ia *next_open; /* provider.c's list of open IAs, under its lock */
};

/* The function table of the IA's entry. */
const DAT_PROVIDER *dapl_ia_table(const struct dapl_ia *ia);

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
bool dapl_ia_add(struct dapl_ia *ia, struct dapl_object *obj, enum dapl_type type, uint32_t limit);
/* Takes it out of the list, not out of memory. */
void dapl_ia_remove(struct dapl_object *obj, enum dapl_type type);

/* Sees to it that proxy agents can be called: 0 or a negative errno. No lock held. */
int dapl_ia_need_agents(struct dapl_ia *ia);

/* An IA with device and loop, without async EVD; type is DAPL_TYPE_IA or DAPL_TYPE_QUERY. */
DAT_RETURN dapl_ia_new(struct dapl_provider *provider, enum dapl_type type, struct dapl_ia **out);
/* It has no objects any more. */
void dapl_ia_delete(struct dapl_ia *ia);
/* Fills what is not NULL. */
void dapl_ia_fill(struct dapl_ia *ia, DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR *provider_attr);

/* Queues an asynchronous event on the IA's async EVD, if it has one (EVT-25). */
void dapl_ia_async(struct dapl_ia *ia, DAT_EVENT_NUMBER number, DAT_HANDLE object,
		   DAT_COUNT reason);

/* The same for a watermark that was passed, which is no error (EVT-27). */
void dapl_ia_watermark(struct dapl_ia *ia, DAT_HANDLE object, DAT_COUNT reason);
/* The same for an EP that takes no more receives of its SRQ, which is none either. */
void dapl_ia_last_receive(struct dapl_ia *ia, DAT_HANDLE ep);

DAT_RETURN dapl_ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			DAT_IA_HANDLE *ia_handle);
DAT_RETURN dapl_ia_query(DAT_IA_HANDLE ia_handle, DAT_EVD_HANDLE *async_evd,
			 DAT_IA_ATTR_MASK ia_mask, DAT_IA_ATTR *ia_attr,
			 DAT_PROVIDER_ATTR_MASK provider_mask, DAT_PROVIDER_ATTR *provider_attr);
DAT_RETURN dapl_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS flags);
DAT_RETURN dapl_ia_ha_related(DAT_IA_HANDLE ia_handle, const DAT_NAME_PTR name,
			      DAT_BOOLEAN *answer);
DAT_RETURN dapl_set_consumer_context(DAT_HANDLE handle, DAT_CONTEXT context);
DAT_RETURN dapl_get_consumer_context(DAT_HANDLE handle, DAT_CONTEXT *context);
DAT_RETURN dapl_get_handle_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *type);

#endif
