/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The registry: which providers there are, and which library has to be loaded to get one. */
#ifndef DAT_REGISTRY_INTERNAL_H
#define DAT_REGISTRY_INTERNAL_H

#include "dat/internal.h"
#include "util/list.h"

struct dat_source;
struct dat_static;

/* A provider that has registered itself: one entry of the dynamic registry (REG-1). */
struct dat_entry {
	struct list link;
	DAT_PROVIDER_INFO info;
	const DAT_PROVIDER *provider;
	int foreign;		   /* does not use the arena */
	int came_first;		   /* the program's: a module came to register the same key */
	unsigned int opens;	   /* IAs open or being opened through this entry (REG-49) */
	struct dat_source *source; /* whose library registered it; NULL: the program's own doing */
};

/*
 * Finds the entry for the request, loading a library if that is what it takes, and counts one open.
 * DAT_SUCCESS, or the PROVIDER_NOT_FOUND of REG-25, or INVALID_STATE after finalisation.
 */
DAT_RETURN dat_registry_acquire(const DAT_PROVIDER_INFO *wanted, struct dat_entry **entry);

/* As dat_registry_acquire, of what this line of dat.conf names. */
DAT_RETURN dat_registry_acquire_source(struct dat_source *source, struct dat_entry **entry);

/* Which PROVIDER_NOT_FOUND it is that nothing serves a request (REG-25). */
DAT_RETURN dat_registry_not_found(const DAT_PROVIDER_INFO *wanted);

/*
 * Says whose code is called by this thread from now on, for dats_opening; returns whose it was
 * before, to be said again afterwards.
 */
const DAT_PROVIDER *dat_registry_calls(const DAT_PROVIDER *provider);

/* Takes the open back; the last one of an entry from a library runs fini and unloads. */
void dat_registry_release(struct dat_entry *entry);

/* Whether either registry has the name in any version (HA-5). */
int dat_registry_has_name(const char *name);

/* Gives the keys to the list, up to max of them; counts all if there is no list. */
typedef DAT_COUNT dat_list_keys(const struct dat_static *sr, DAT_COUNT max,
				DAT_PROVIDER_INFO **list);

/* A list of keys as programs ask for one (REG-30 to REG-34). */
DAT_RETURN dat_registry_list(dat_list_keys *keys, DAT_COUNT max_to_return,
			     DAT_COUNT *entries_returned, DAT_PROVIDER_INFO *list[]);

/* INVALID_STATE from now on (REG-6). */
void dat_registry_finalise(void);
int dat_registry_finalised(void);

/* 1 to 255 characters with a NUL within the bounds of DAT_PROVIDER_INFO (REG-3). */
int dat_name_is_legal(const char *name);

#endif
