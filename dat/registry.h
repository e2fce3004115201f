/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The registry: which providers there are, and which of them serves a request. */
#ifndef DAT_REGISTRY_INTERNAL_H
#define DAT_REGISTRY_INTERNAL_H

#include "dat/entry.h"

/*
 * Finds the entry for the request, loading a library if that is what it takes, and counts one open.
 * DAT_SUCCESS, or the PROVIDER_NOT_FOUND of REG-25, or INVALID_STATE after finalisation.
 */
DAT_RETURN dat_registry_acquire(const DAT_PROVIDER_INFO *wanted, struct dat_entry **entry);

/* As dat_registry_acquire, of what this line of dat.conf names. */
DAT_RETURN dat_registry_acquire_source(struct dat_source *source, struct dat_entry **entry);

/* Which PROVIDER_NOT_FOUND it is that nothing serves a request (REG-25). */
DAT_RETURN dat_registry_not_found(const DAT_PROVIDER_INFO *wanted);

/* Takes the open back; the last one of an entry from a library runs fini and unloads. */
void dat_registry_release(struct dat_entry *entry);

/* Whether either registry has the name in any version (HA-5). */
int dat_registry_has_name(const char *name);

/* INVALID_STATE from now on (REG-6). */
void dat_registry_finalise(void);
int dat_registry_finalised(void);

/* 1 to 255 characters with a NUL within the bounds of DAT_PROVIDER_INFO (REG-3). */
int dat_name_is_legal(const char *name);

#endif
