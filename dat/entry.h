/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The entries of the dynamic registry (REG-1). dat_registry_lock is held around all of this. */
#ifndef DAT_ENTRY_H
#define DAT_ENTRY_H

#include "dat/internal.h"
#include "util/list.h"

struct dat_source;

/* A provider that has registered itself. */
struct dat_entry {
	struct list link;
	DAT_PROVIDER_INFO info;
	const DAT_PROVIDER *provider;
	int foreign;		   /* does not use the arena */
	int came_first;		   /* the program's: a module came to register the same key */
	unsigned int opens;	   /* IAs open or being opened through this entry (REG-49) */
	struct dat_source *source; /* whose library registered it; NULL: the program's own doing */
};

extern struct list dat_entries;

/* The entry of exactly this key, NULL if there is none. */
struct dat_entry *dat_entry_find(const DAT_PROVIDER_INFO *key);

/* NULL: no memory. */
struct dat_entry *dat_entry_add(const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *key,
				struct dat_source *source);
void dat_entry_remove(struct dat_entry *entry);

int dat_entry_has_provider(const DAT_PROVIDER *provider);

#endif
