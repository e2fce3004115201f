/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Who is registered, and the life of what dat.conf names: load and init before the first open, fini
 * and unload after the last close.
 *
 * One lock covers the entries and all of a source but its line. It is never held while init or fini
 * runs (REG-7); meanwhile the source is busy, and other threads that ask for its key wait.
 */
#include "dat/registry.h"
#include "dat/dispositions.h"
#include "dat/arena.h"
#include "dat/fork.h"
#include "dat/static.h"
#include "trace/dat_log.h"
#include "trace/options.h"
#include "util/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pthread_mutex_t dat_registry_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t source_idle = PTHREAD_COND_INITIALIZER;
static struct list entries = LIST_EMPTY(entries);
static int finalised;
static __thread const DAT_PROVIDER *called;

const DAT_PROVIDER *dats_opening(void)
{
	return called;
}

const DAT_PROVIDER *dat_registry_calls(const DAT_PROVIDER *provider)
{
	const DAT_PROVIDER *before = called;

	called = provider;
	return before;
}

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

	list_for_each(entry, &entries, link)
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

static struct dat_entry *exact_entry(const DAT_PROVIDER_INFO *info)
{
	struct dat_entry *entry;

	list_for_each(entry, &entries, link)
		if (dat_info_same(&entry->info, info))
			return entry;
	return NULL;
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

	list_for_each(entry, &entries, link)
		if ((m = match(&entry->info, wanted)) > furthest)
			furthest = m;
	for (i = 0; i < sr->num_sources; i++)
		if ((m = match(&sr->sources[i].conf.info, wanted)) > furthest)
			furthest = m;
	return DAT_ERR(DAT_PROVIDER_NOT_FOUND, subtypes[furthest]);
}

/* The source with that key that is in init or fini, NULL if none is. */
static struct dat_source *busy_source(const DAT_PROVIDER_INFO *info)
{
	const struct dat_static *sr = dat_static_peek();
	size_t i;

	for (i = 0; i < sr->num_sources; i++)
		if (sr->sources[i].busy && dat_info_same(&sr->sources[i].conf.info, info))
			return &sr->sources[i];
	return NULL;
}

static void source_begin(struct dat_source *source)
{
	source->busy = 1;
	source->busy_thread = pthread_self();
	pthread_mutex_unlock(&dat_registry_lock);
}

static void source_end(struct dat_source *source)
{
	pthread_mutex_lock(&dat_registry_lock);
	source->busy = 0;
	pthread_cond_broadcast(&source_idle);
}

/*
 * What a module is told. Lines of DAT 1.2 are served by modules of DAT 2.0 (D12-104), of entries
 * that no program of DAT 2.0 finds, since they keep the version of the line.
 */
static DAT_PROVIDER_INFO announced(const struct dat_source *source)
{
	DAT_PROVIDER_INFO info = source->conf.info;

	if (dat_conf_legacy_library(&source->conf)) {
		info.dapl_version_major = 2;
		info.dapl_version_minor = 0;
	}
	return info;
}

/* Whether this thread is in init or fini of it. */
static int is_in(const struct dat_source *source)
{
	return source->busy && pthread_equal(source->busy_thread, pthread_self());
}

/* The source of the module that calls, which names itself as it was told; NULL: another caller. */
static struct dat_source *calling_source(const DAT_PROVIDER_INFO *info)
{
	const struct dat_static *sr = dat_static_peek();
	DAT_PROVIDER_INFO told;
	size_t i;

	for (i = 0; i < sr->num_sources; i++) {
		told = announced(&sr->sources[i]);
		if (is_in(&sr->sources[i]) &&
		    (dat_info_same(&told, info) || dat_info_same(&sr->sources[i].conf.info, info)))
			return &sr->sources[i];
	}
	return NULL;
}

static void call_init(struct dat_source *source, const char *library)
{
	const DAT_PROVIDER *before = dat_registry_calls(NULL);
	DAT_PROVIDER_INFO info = announced(source);

	dat_trace(module_init, DATS_TRC_NORMAL, NULL, "library=%s ia=%s params=%s", library,
		  info.ia_name, source->conf.ia_params);
	source->module.init(&info, source->conf.ia_params);
	dat_registry_calls(before);
}

/* Returns the entry that came of it. The lock is held, but not around the library's code. */
static struct dat_entry *source_load(const struct dat_static *sr, struct dat_source *source)
{
	const struct dat_conf_entry *conf = &source->conf;
	const char *legacy = dat_conf_legacy_library(conf);
	const char *library = legacy ? legacy : conf->lib_path;
	struct dat_dispositions dispositions;
	struct dat_entry *entry;
	char reason[2048];
	int rc;

	source_begin(source);
	dat_dispositions_save(&dispositions);
	rc = dat_module_load(&source->module, library, reason, sizeof(reason));
	if (!rc)
		call_init(source, library);
	dat_dispositions_restore(&dispositions, library);
	if (!rc) {
		source_end(source);
		entry = exact_entry(&conf->info);
		if (entry && !entry->came_first) { /* by a thread of the module's, maybe */
			entry->source = source;
			return entry;
		}
		snprintf(reason, sizeof(reason), "dat_provider_init did not register this name");
		source_begin(source);
	}
	dat_diag("%s:%u: field %d (%s): %s: %s: %s", sr->path, conf->line, DAT_CONF_LIB_PATH,
		 dat_conf_field_name(DAT_CONF_LIB_PATH), conf->info.ia_name, library, reason);
	dat_module_unload(&source->module);
	source_end(source);
	entry = exact_entry(&conf->info); /* registered meanwhile, and not by what was unloaded */
	return entry && entry->source != source ? entry : NULL;
}

/* Tries the sources of one key in file order (REG-20). Called with the lock held. */
static struct dat_entry *load_key(const struct dat_static *sr, const DAT_PROVIDER_INFO *key)
{
	struct dat_entry *entry = NULL;
	size_t i;

	for (i = 0; i < sr->num_sources && !entry; i++)
		if (dat_info_same(&sr->sources[i].conf.info, key))
			entry = source_load(sr, &sr->sources[i]);
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
		busy = busy_source(key);
		if (!busy)
			return entry ? entry : load_key(sr, key);
		/* An init or fini that opens what it is about to serve would wait for itself. */
		if (is_in(busy))
			return NULL;
		dats_cond_wait(&source_idle, &dat_registry_lock);
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

	while ((busy = busy_source(key))) {
		if (is_in(busy))
			return NULL;
		dats_cond_wait(&source_idle, &dat_registry_lock);
	}
	entry = exact_entry(key);
	return entry ? entry : source_load(dat_static_peek(), source);
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

static int provider_has_entry(const DAT_PROVIDER *provider)
{
	struct dat_entry *entry;

	list_for_each(entry, &entries, link)
		if (entry->provider == provider)
			return 1;
	return 0;
}

static void entry_remove(struct dat_entry *entry)
{
	list_del(&entry->link);
	if (entry->foreign)
		dat_arena_foreign_removed();
	else if (!provider_has_entry(entry->provider))
		dat_arena_forget(entry->provider);
	free(entry);
}

/* Called with the lock held; gives it up around the library's code. */
static void source_unload(struct dat_source *source)
{
	struct dat_entry *left = exact_entry(&source->conf.info);
	const DAT_PROVIDER *before = dat_registry_calls(left ? left->provider : NULL);
	DAT_PROVIDER_INFO info = announced(source);

	source_begin(source);
	dat_trace(module_fini, DATS_TRC_NORMAL, NULL, "library=%s ia=%s", source->conf.lib_path,
		  source->conf.info.ia_name);
	source->module.fini(&info);
	dat_registry_calls(before);
	pthread_mutex_lock(&dat_registry_lock);
	left = exact_entry(&source->conf.info);
	if (left && left->source == source)
		entry_remove(left); /* fini should have done that (REG-48) */
	pthread_mutex_unlock(&dat_registry_lock);
	dat_module_unload(&source->module);
	source_end(source);
}

/*
 * In a child libraries stay loaded and their entries registered, but nothing is open. What another
 * thread was loading or unloading is neither whole nor in use, and is loaded anew.
 */
void dat_registry_abandon(void)
{
	const struct dat_static *sr = dat_static_peek();
	struct dat_entry *entry;
	size_t i;

	pthread_cond_init(&source_idle, NULL);
	list_for_each(entry, &entries, link)
		entry->opens = 0;
	for (i = 0; i < sr->num_sources; i++) {
		struct dat_source *source = &sr->sources[i];

		if (!source->busy || is_in(source))
			continue;
		source->busy = 0;
		entry = exact_entry(&source->conf.info);
		if (entry && entry->source == source)
			entry_remove(entry);
	}
}

void dat_registry_release(struct dat_entry *entry)
{
	pthread_mutex_lock(&dat_registry_lock);
	if (!--entry->opens && entry->source)
		source_unload(entry->source);
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
	list_for_each(entry, &entries, link)
		has = has || !strcmp(entry->info.ia_name, name);
	pthread_mutex_unlock(&dat_registry_lock);
	return has;
}

/* Whether this thread is in init or fini of anything. */
static int is_in_any(void)
{
	const struct dat_static *sr = dat_static_peek();
	size_t i = 0;

	while (i < sr->num_sources && !is_in(&sr->sources[i]))
		i++;
	return i < sr->num_sources;
}

/* Called with the lock held. */
static DAT_RETURN entry_add(const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info)
{
	struct dat_source *source = calling_source(info);
	struct dat_entry *entry;

	if (!source && is_in_any()) /* REG-46: the library would be unloaded under it */
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	entry = exact_entry(source ? &source->conf.info : info);
	if (entry) {
		entry->came_first |= source && entry->source != source;
		return DAT_ERR(DAT_PROVIDER_ALREADY_REGISTERED, 0);
	}
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	entry->info = source ? source->conf.info : *info;
	entry->source = source;
	entry->provider = provider;
	entry->foreign = !dat_arena_has_user(provider);
	if (entry->foreign)
		dat_arena_foreign_added();
	list_add(&entries, &entry->link);
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

DAT_RETURN dat_registry_add_provider(const DAT_PROVIDER *provider,
				     const DAT_PROVIDER_INFO *provider_info)
{
	DAT_RETURN rc = check_entry(provider, provider_info);

	if (rc != DAT_SUCCESS)
		return rc;
	pthread_mutex_lock(&dat_registry_lock);
	rc = entry_add(provider, provider_info);
	if (!provider_has_entry(provider))
		dat_arena_forget(provider);
	pthread_mutex_unlock(&dat_registry_lock);
	dat_trace(provider_add, DATS_TRC_NORMAL, provider, "ia=%s major=%u minor=%u rc=0x%x",
		  provider_info->ia_name, provider_info->dapl_version_major,
		  provider_info->dapl_version_minor, rc);
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
	source = calling_source(provider_info);
	entry = exact_entry(source ? &source->conf.info : provider_info);
	if (!entry || entry->provider != provider)
		rc = DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	else if (entry->opens)
		rc = DAT_ERR(DAT_PROVIDER_IN_USE, 0);
	else
		entry_remove(entry);
	pthread_mutex_unlock(&dat_registry_lock);
	dat_trace(provider_remove, DATS_TRC_NORMAL, provider, "ia=%s rc=0x%x",
		  provider_info->ia_name, rc);
	return rc;
}

/* Whether an earlier line has the same key. */
static int is_repeated(const struct dat_static *sr, size_t index)
{
	size_t i = 0;

	while (i < index &&
	       !dat_info_same(&sr->sources[i].conf.info, &sr->sources[index].conf.info))
		i++;
	return i < index;
}

static DAT_COUNT list_keys(const struct dat_static *sr, DAT_COUNT max, DAT_PROVIDER_INFO **list)
{
	DAT_COUNT num = 0;
	size_t i;

	for (i = 0; i < sr->num_sources && num < max; i++) {
		if (is_repeated(sr, i))
			continue;
		if (list)
			*list[num] = sr->sources[i].conf.info;
		num++;
	}
	return num;
}

DAT_RETURN dat_registry_list(dat_list_keys *keys, DAT_COUNT max_to_return,
			     DAT_COUNT *entries_returned, DAT_PROVIDER_INFO *list[])
{
	const struct dat_static *sr;
	DAT_COUNT i, num;

	if (!entries_returned)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	sr = dat_static_get();
	num = keys(sr, INT32_MAX, NULL);
	*entries_returned = num;
	if (dat_registry_finalised())
		return DAT_ERR(DAT_INVALID_STATE, 0);
	if (max_to_return <= 0)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (!list)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	for (i = 0; i < num && i < max_to_return; i++)
		if (!list[i])
			return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	*entries_returned = keys(sr, max_to_return, list);
	return DAT_SUCCESS;
}

DAT_RETURN dat_registry_list_providers(DAT_COUNT max_to_return, DAT_COUNT *entries_returned,
				       DAT_PROVIDER_INFO *dat_provider_list[])
{
	return dat_registry_list(list_keys, max_to_return, entries_returned, dat_provider_list);
}
