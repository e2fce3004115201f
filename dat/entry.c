/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/entry.h"
#include "dat/arena.h"
#include "dat/conf.h"
#include "dat/fork.h"

#include <stdlib.h>

pthread_mutex_t dat_registry_lock = PTHREAD_MUTEX_INITIALIZER;
struct list dat_entries = LIST_EMPTY(dat_entries);

struct dat_entry *dat_entry_find(const DAT_PROVIDER_INFO *key)
{
	struct dat_entry *entry;

	list_for_each(entry, &dat_entries, link)
		if (dat_info_same(&entry->info, key))
			return entry;
	return NULL;
}

struct dat_parts dat_entry_parts(const DAT_PROVIDER *provider)
{
	struct dat_parts parts = {
		.table = dat_object_of(provider),
		.code = dat_object_of((const void *)provider->ia_open_func),
	};

	return parts;
}

struct dat_entry *dat_entry_add(const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *key,
				const struct dat_parts *parts, struct dat_source *source)
{
	struct dat_entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	entry->info = *key;
	entry->parts = *parts;
	entry->source = source;
	entry->provider = provider;
	entry->foreign = !dat_arena_has_user(provider);
	if (entry->foreign)
		dat_arena_foreign_added();
	list_add(&dat_entries, &entry->link);
	return entry;
}

int dat_entry_has_provider(const DAT_PROVIDER *provider)
{
	struct dat_entry *entry;

	list_for_each(entry, &dat_entries, link)
		if (entry->provider == provider)
			return 1;
	return 0;
}

void dat_entry_remove(struct dat_entry *entry)
{
	list_del(&entry->link);
	if (entry->foreign)
		dat_arena_foreign_removed();
	else if (!dat_entry_has_provider(entry->provider))
		dat_arena_forget(entry->provider);
	free(entry);
}

static struct dat_entry *entry_of_gone_object(void)
{
	struct dat_entry *entry;

	list_for_each(entry, &dat_entries, link)
		if (!entry->opens && (dat_object_is_gone(&entry->parts.table) ||
				      dat_object_is_gone(&entry->parts.code)))
			return entry;
	return NULL;
}

void dat_entry_sweep(void)
{
	struct dat_entry *entry;

	while ((entry = entry_of_gone_object()))
		dat_entry_remove(entry);
}
