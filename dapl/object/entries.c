/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/object/entries.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/base/fork.h"
#include "dapl/object/ia.h"
#include "dat/dats.h"
#include "trace/log.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct dapl_entry *entries; /* registered */
static struct dapl_entry *idle;	   /* no more, or not again yet */
static struct dapl_ia *open_ias;

static void in_child(void)
{
	pthread_mutex_init(&lock, NULL);
	open_ias = NULL;
}

__attribute__((constructor)) static void watch_forks(void)
{
	static struct dats_fork_watcher watcher = { .in_child = in_child };

	dapl_fork_watch(&watcher);
}

/* ---- Entries ---- */

/* The lists are whole at any time, since they change by one store. */
static void put(struct dapl_entry **list, struct dapl_entry *entry)
{
	pthread_mutex_lock(&lock);
	entry->next = *list;
	__atomic_store_n(list, entry, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
}

static bool same_key(const DAT_PROVIDER_INFO *a, const DAT_PROVIDER_INFO *b)
{
	return !strcmp(a->ia_name, b->ia_name) && a->dapl_version_major == b->dapl_version_major &&
	       a->dapl_version_minor == b->dapl_version_minor &&
	       a->is_thread_safe == b->is_thread_safe;
}

/* Of any parameters, or of any table, where that is NULL. */
static struct dapl_entry *take(struct dapl_entry **list, const DAT_PROVIDER_INFO *info,
			       const char *params, const DAT_PROVIDER *table)
{
	struct dapl_entry **link, *entry;

	pthread_mutex_lock(&lock);
	for (link = list; (entry = *link); link = &entry->next)
		if (same_key(&entry->info, info) && (!params || !strcmp(entry->params, params)) &&
		    (!table || table == &entry->table))
			break;
	if (entry)
		*link = entry->next;
	pthread_mutex_unlock(&lock);
	return entry;
}

static struct dapl_entry *entry_new(const DAT_PROVIDER_INFO *info, const char *params,
				    const DAT_PROVIDER *table)
{
	struct dapl_entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		goto no_memory;
	entry->table = *table;
	entry->info = *info;
	entry->table.device_name = strdup(info->ia_name);
	entry->params = strdup(params);
	if (entry->table.device_name && entry->params)
		return entry;
	free((char *)entry->table.device_name);
	free(entry->params);
	free(entry);
no_memory:
	dapl_err("IA %s not registered: %s", info->ia_name, dapl_strerror(ENOMEM));
	return NULL;
}

struct dapl_entry *dapl_entry_add(const DAT_PROVIDER_INFO *info, const char *params,
				  const DAT_PROVIDER *table)
{
	struct dapl_entry *entry = take(&idle, info, params, NULL);

	if (!entry)
		entry = entry_new(info, params, table);
	if (entry)
		put(&entries, entry);
	return entry;
}

struct dapl_entry *dapl_entry_remove(const DAT_PROVIDER_INFO *info)
{
	return take(&entries, info, NULL, dats_opening ? dats_opening() : NULL);
}

void dapl_entry_retire(struct dapl_entry *entry)
{
	put(&idle, entry);
}

struct dapl_entry *dapl_entry_find(const char *ia_name)
{
	const DAT_PROVIDER *opening = dats_opening ? dats_opening() : NULL;
	struct dapl_entry *entry;

	pthread_mutex_lock(&lock);
	for (entry = entries; entry; entry = entry->next)
		if (!strcmp(entry->info.ia_name, ia_name) && (!opening || opening == &entry->table))
			break;
	pthread_mutex_unlock(&lock);
	return entry;
}

void dapl_entry_each(void (*each)(void *arg, const char *ia_name), void *arg)
{
	struct dapl_entry *entry;

	pthread_mutex_lock(&lock);
	for (entry = entries; entry; entry = entry->next)
		each(arg, entry->info.ia_name);
	pthread_mutex_unlock(&lock);
}

/* ---- Open IAs ---- */

void dapl_open_add(struct dapl_ia *ia)
{
	pthread_mutex_lock(&lock);
	ia->next_open = open_ias;
	open_ias = ia;
	pthread_mutex_unlock(&lock);
}

void dapl_open_remove(struct dapl_ia *ia)
{
	struct dapl_ia **link;

	pthread_mutex_lock(&lock);
	for (link = &open_ias; *link && *link != ia; link = &(*link)->next_open)
		;
	if (*link)
		*link = ia->next_open;
	pthread_mutex_unlock(&lock);
}

void dapl_open_each(void (*each)(void *arg, struct dapl_ia *ia), void *arg)
{
	struct dapl_ia *ia;

	pthread_mutex_lock(&lock);
	for (ia = open_ias; ia; ia = ia->next_open)
		each(arg, ia);
	pthread_mutex_unlock(&lock);
}
