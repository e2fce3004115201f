/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The entries of the dynamic registry (REG-1). Who calls holds dat_registry_lock. */
#ifndef DAT_ENTRY_H
#define DAT_ENTRY_H

#include "dat/internal.h"
#include "dat/object.h"
#include "util/list.h"

struct dat_source;

/* What a provider is made of: either may be in no object, but in memory of the heap. */
struct dat_parts {
	struct dat_object table, code;
};

/* A provider that has registered itself. */
struct dat_entry {
	struct list link;
	DAT_PROVIDER_INFO info;
	const DAT_PROVIDER *provider;
	int foreign; /* does not use the arena */
	struct dat_parts parts;
	unsigned int opens;	   /* IAs open or being opened through this entry (REG-49) */
	struct dat_source *source; /* whose library registered it; NULL: the program's own */
};

extern struct list dat_entries;

/* The entry of exactly this key, NULL if there is none. */
struct dat_entry *dat_entry_find(const DAT_PROVIDER_INFO *key);

/* NULL: no memory. */
struct dat_entry *dat_entry_add(const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *key,
				const struct dat_parts *parts, struct dat_source *source);
void dat_entry_remove(struct dat_entry *entry);

/* Removes the entries of which a part was in an object that is no longer loaded. */
void dat_entry_sweep(void);

/* Needs no lock. */
struct dat_parts dat_entry_parts(const DAT_PROVIDER *provider);

int dat_entry_has_provider(const DAT_PROVIDER *provider);

#endif
