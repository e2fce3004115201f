/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Who is registered, and who serves a request. One lock covers the entries and all of a source but
 * its line.
 */
#include "dat/registry.h"
#include "dat/arena.h"
#include "dat/fork.h"
#include "dat/source.h"
#include "dat/static.h"
#include "trace/dat_log.h"
#include "trace/options.h"

#include <stdlib.h>
#include <string.h>

static int finalised;

int dat_name_is_legal(const char *name)
{
	size_t length = name ? strnlen(name, DAT_NAME_MAX_LENGTH) : 0;

	return length > 0 && length < DAT_NAME_MAX_LENGTH;
}

void dat_registry_finalise(void)
{
	__atomic_store_n(&finalised, 1, __ATOMIC_RELEASE);
}

int dat_registry_finalised(void)
{
	return __atomic_load_n(&finalised, __ATOMIC_ACQUIRE);
}

__attribute__((constructor)) static void registry_start(void)
{
	dat_trace_options_read();
	dat_fork_watch();
}

__attribute__((destructor)) static void registry_exit(void)
{
	dat_registry_finalise();
}

/* How far an entry gets through the criteria of REG-25. */
enum match {
	MATCH_NOTHING,
	MATCH_NAME,
	MATCH_MAJOR,
	MATCH_MINOR,
	MATCH_ALL,
};

static enum match match(const DAT_PROVIDER_INFO *info, const DAT_PROVIDER_INFO *wanted)
{
	if (strcmp(info->ia_name, wanted->ia_name))
		return MATCH_NOTHING;
	if (info->dapl_version_major != wanted->dapl_version_major)
		return MATCH_NAME;
	if (info->dapl_version_minor < wanted->dapl_version_minor)
		return MATCH_MAJOR;
	return info->is_thread_safe == wanted->is_thread_safe ? MATCH_ALL : MATCH_MINOR;
}

/* Whether info serves better than best does: the smallest minor that is enough (REG-23). */
static int better(const DAT_PROVIDER_INFO *info, const DAT_PROVIDER_INFO *best,
		  const DAT_PROVIDER_INFO *wanted)
{
	return match(info, wanted) == MATCH_ALL &&
	       (!best || info->dapl_version_minor < best->dapl_version_minor);
}

static struct dat_entry *best_entry(const DAT_PROVIDER_INFO *wanted)
{
	struct dat_entry *entry, *best = NULL;

	list_for_each(entry, &dat_entries, link)
		if (better(&entry->info, best ? &best->info : NULL, wanted))
			best = entry;
	return best;
}

static struct dat_source *best_source(const struct dat_static *sr, const DAT_PROVIDER_INFO *wanted)
{
	struct dat_source *best = NULL;
	size_t i;

	for (i = 0; i < sr->num_sources; i++)
		if (better(&sr->sources[i].conf.info, best ? &best->conf.info : NULL, wanted))
			best = &sr->sources[i];
	return best;
}

static DAT_RETURN not_found(const struct dat_static *sr, const DAT_PROVIDER_INFO *wanted)
{
	static const DAT_RETURN_SUBTYPE subtypes[] = {
		[MATCH_NOTHING] = DAT_NAME_NOT_REGISTERED,
		[MATCH_NAME] = DAT_MAJOR_NOT_FOUND,
		[MATCH_MAJOR] = DAT_MINOR_NOT_FOUND,
		[MATCH_MINOR] = DAT_THREAD_SAFETY_NOT_FOUND,
		[MATCH_ALL] = DAT_NAME_NOT_REGISTERED, /* it is there, but does not load (REG-44) */
	};
	enum match furthest = MATCH_NOTHING, m;
	struct dat_entry *entry;
	size_t i;

	list_for_each(entry, &dat_entries, link)
		if ((m = match(&entry->info, wanted)) > furthest)
			furthest = m;
	for (i = 0; i < sr->num_sources; i++)
		if ((m = match(&sr->sources[i].conf.info, wanted)) > furthest)
			furthest = m;
	return DAT_ERR(DAT_PROVIDER_NOT_FOUND, subtypes[furthest]);
}

/* Tries the sources of one key in file order (REG-20). Called with the lock held. */
static struct dat_entry *load_key(const struct dat_static *sr, const DAT_PROVIDER_INFO *key)
{
	struct dat_entry *entry = NULL;
	size_t i;

	for (i = 0; i < sr->num_sources && !entry; i++)
		if (dat_info_same(&sr->sources[i].conf.info, key))
			entry = dat_source_load(&sr->sources[i]);
	return entry;
}

/* The lock is held, but not while reading dat.conf, loading, or waiting for another thread. */
static struct dat_entry *find_or_load(const DAT_PROVIDER_INFO *wanted)
{
	const struct dat_static *sr;
	const DAT_PROVIDER_INFO *key;
	struct dat_source *source, *busy;
	struct dat_entry *entry;
	int tried = 0;

	for (;;) {
		sr = dat_static_peek();
		entry = best_entry(wanted);
		source = entry ? NULL : best_source(sr, wanted);
		if (!entry && !source) {
			if (sr->path || tried++)
				return NULL;
			pthread_mutex_unlock(&dat_registry_lock);
			dat_static_get();
			pthread_mutex_lock(&dat_registry_lock);
			continue;
		}
		key = entry ? &entry->info : &source->conf.info;
		busy = dat_source_busy(key);
		if (!busy)
			return entry ? entry : load_key(sr, key);
		/* An init or fini that opens what it is about to serve would wait for itself. */
		if (dat_source_is_in(busy))
			return NULL;
		dat_source_wait();
	}
}

/* The versions before 2 are those of programs that would take the structures of theirs (D12-18). */
static DAT_RETURN refuse_major(const char *name)
{
	return DAT_ERR(DAT_PROVIDER_NOT_FOUND,
		       dat_registry_has_name(name) ? DAT_MAJOR_NOT_FOUND : DAT_NAME_NOT_REGISTERED);
}

DAT_RETURN dat_registry_acquire(const DAT_PROVIDER_INFO *wanted, struct dat_entry **entry)
{
	DAT_RETURN rc = DAT_SUCCESS;

	if (dat_registry_finalised())
		return DAT_ERR(DAT_INVALID_STATE, 0);
	if (wanted->dapl_version_major < 2)
		return refuse_major(wanted->ia_name);
	pthread_mutex_lock(&dat_registry_lock);
	*entry = find_or_load(wanted);
	if (*entry)
		(*entry)->opens++;
	else
		rc = not_found(dat_static_peek(), wanted);
	pthread_mutex_unlock(&dat_registry_lock);
	return rc;
}

DAT_RETURN dat_registry_not_found(const DAT_PROVIDER_INFO *wanted)
{
	const struct dat_static *sr = dat_static_get();
	DAT_RETURN rc;

	pthread_mutex_lock(&dat_registry_lock);
	rc = not_found(sr, wanted);
	pthread_mutex_unlock(&dat_registry_lock);
	return rc;
}

/* Another line's entry of the same key is as good. */
static struct dat_entry *entry_of(struct dat_source *source)
{
	const DAT_PROVIDER_INFO *key = &source->conf.info;
	struct dat_source *busy;
	struct dat_entry *entry;

	while ((busy = dat_source_busy(key))) {
		if (dat_source_is_in(busy))
			return NULL;
		dat_source_wait();
	}
	entry = dat_entry_find(key);
	return entry ? entry : dat_source_load(source);
}

DAT_RETURN dat_registry_acquire_source(struct dat_source *source, struct dat_entry **entry)
{
	if (dat_registry_finalised())
		return DAT_ERR(DAT_INVALID_STATE, 0);
	pthread_mutex_lock(&dat_registry_lock);
	*entry = entry_of(source);
	if (*entry)
		(*entry)->opens++;
	pthread_mutex_unlock(&dat_registry_lock);
	return *entry ? DAT_SUCCESS : DAT_ERR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
}

/* In a child libraries stay loaded and their entries registered, but nothing is open. */
void dat_registry_abandon(void)
{
	struct dat_entry *entry;

	list_for_each(entry, &dat_entries, link)
		entry->opens = 0;
	dat_source_abandon();
}

void dat_registry_release(struct dat_entry *entry)
{
	pthread_mutex_lock(&dat_registry_lock);
	if (!--entry->opens && entry->source)
		dat_source_unload(entry->source);
	pthread_mutex_unlock(&dat_registry_lock);
}

int dat_registry_has_name(const char *name)
{
	const struct dat_static *sr = dat_static_get();
	struct dat_entry *entry;
	size_t i;
	int has = 0;

	for (i = 0; i < sr->num_sources && !has; i++)
		has = !strcmp(sr->sources[i].conf.info.ia_name, name);
	pthread_mutex_lock(&dat_registry_lock);
	list_for_each(entry, &dat_entries, link)
		has = has || !strcmp(entry->info.ia_name, name);
	pthread_mutex_unlock(&dat_registry_lock);
	return has;
}

/* Called with the lock held. */
static DAT_RETURN entry_add(const DAT_PROVIDER *provider, const struct dat_parts *parts,
			    const DAT_PROVIDER_INFO *info)
{
	struct dat_source *source = dat_source_calling(info, parts);
	const DAT_PROVIDER_INFO *key = source ? &source->conf.info : info;

	if (!source && dat_source_is_in_any()) /* REG-46: the library would be unloaded under it */
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (dat_entry_find(key))
		return DAT_ERR(DAT_PROVIDER_ALREADY_REGISTERED, 0);
	if (!dat_entry_add(provider, key, parts, source))
		return DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	return DAT_SUCCESS;
}

/* What adding and removing refuse alike. */
static DAT_RETURN check_entry(const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info)
{
	if (!provider)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (!info || !dat_name_is_legal(info->ia_name))
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	return dat_registry_finalised() ? DAT_ERR(DAT_INVALID_STATE, 0) : DAT_SUCCESS;
}

static DAT_RETURN add(const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info)
{
	struct dat_parts parts = dat_entry_parts(provider);
	DAT_RETURN rc;

	pthread_mutex_lock(&dat_registry_lock);
	rc = entry_add(provider, &parts, info);
	pthread_mutex_unlock(&dat_registry_lock);
	dat_trace(provider_add, DATS_TRC_NORMAL, provider, "ia=%s major=%u minor=%u rc=0x%x",
		  info->ia_name, info->dapl_version_major, info->dapl_version_minor, rc);
	return rc;
}

/* What it has declared of the arena ends with an attempt that leaves it without an entry. */
static void forget_declaration(const DAT_PROVIDER *provider)
{
	pthread_mutex_lock(&dat_registry_lock);
	if (!dat_entry_has_provider(provider))
		dat_arena_forget(provider);
	pthread_mutex_unlock(&dat_registry_lock);
}

DAT_RETURN dat_registry_add_provider(const DAT_PROVIDER *provider,
				     const DAT_PROVIDER_INFO *provider_info)
{
	DAT_RETURN rc = check_entry(provider, provider_info);

	if (rc == DAT_SUCCESS)
		rc = add(provider, provider_info);
	if (rc != DAT_SUCCESS)
		forget_declaration(provider);
	return rc;
}

DAT_RETURN dat_registry_remove_provider(const DAT_PROVIDER *provider,
					const DAT_PROVIDER_INFO *provider_info)
{
	DAT_RETURN rc = check_entry(provider, provider_info);
	struct dat_source *source;
	struct dat_entry *entry;

	if (rc != DAT_SUCCESS)
		return rc;
	pthread_mutex_lock(&dat_registry_lock);
	source = dat_source_calling(provider_info, NULL);
	entry = dat_entry_find(source ? &source->conf.info : provider_info);
	if (!entry || entry->provider != provider)
		rc = DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	else if (entry->opens)
		rc = DAT_ERR(DAT_PROVIDER_IN_USE, 0);
	else
		dat_entry_remove(entry);
	pthread_mutex_unlock(&dat_registry_lock);
	dat_trace(provider_remove, DATS_TRC_NORMAL, provider, "ia=%s rc=0x%x",
		  provider_info->ia_name, rc);
	return rc;
}
