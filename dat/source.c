/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/source.h"
#include "dat/dispositions.h"
#include "dat/entry.h"
#include "dat/fork.h"
#include "dat/static.h"
#include "trace/dat_log.h"
#include "util/thread.h"

#include <pthread.h>
#include <stdio.h>

static pthread_cond_t source_idle = PTHREAD_COND_INITIALIZER;
static __thread const DAT_PROVIDER *called;

const DAT_PROVIDER *dats_opening(void)
{
	return called;
}

const DAT_PROVIDER *dat_calls(const DAT_PROVIDER *provider)
{
	const DAT_PROVIDER *before = called;

	called = provider;
	return before;
}

struct dat_source *dat_source_busy(const DAT_PROVIDER_INFO *key)
{
	const struct dat_static *sr = dat_static_peek();
	size_t i;

	for (i = 0; i < sr->num_sources; i++)
		if (sr->sources[i].busy && dat_info_same(&sr->sources[i].conf.info, key))
			return &sr->sources[i];
	return NULL;
}

void dat_source_wait(void)
{
	dats_cond_wait(&source_idle, &dat_registry_lock);
}

static void source_begin(struct dat_source *source)
{
	source->busy = 1;
	source->busy_thread = pthread_self();
	source->num_objects = dat_object_count();
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

int dat_source_is_in(const struct dat_source *source)
{
	return source->busy && pthread_equal(source->busy_thread, pthread_self());
}

int dat_source_is_in_any(void)
{
	const struct dat_static *sr = dat_static_peek();
	size_t i = 0;

	while (i < sr->num_sources && !dat_source_is_in(&sr->sources[i]))
		i++;
	return i < sr->num_sources;
}

static int came_with(const struct dat_source *source, const struct dat_object *object)
{
	return object->number > source->num_objects ||
	       (object->headers && object->headers == source->object.headers);
}

/* Whether it is a thread of the module's that registers. */
static int is_of(const struct dat_source *source, const struct dat_parts *parts)
{
	return source->busy && parts &&
	       (came_with(source, &parts->table) || came_with(source, &parts->code));
}

struct dat_source *dat_source_calling(const DAT_PROVIDER_INFO *info, const struct dat_parts *parts)
{
	const struct dat_static *sr = dat_static_peek();
	struct dat_source *source;
	DAT_PROVIDER_INFO told;
	size_t i;

	for (i = 0; i < sr->num_sources; i++) {
		source = &sr->sources[i];
		if (!dat_source_is_in(source) && !is_of(source, parts))
			continue;
		told = announced(source);
		if (dat_info_same(&told, info) || dat_info_same(&source->conf.info, info))
			return source;
	}
	return NULL;
}

static void call_init(struct dat_source *source, const char *library)
{
	const DAT_PROVIDER *before = dat_calls(NULL);
	DAT_PROVIDER_INFO info = announced(source);

	dat_trace(module_init, DATS_TRC_NORMAL, NULL, "library=%s ia=%s params=%s", library,
		  info.ia_name, source->conf.ia_params);
	source->module.init(&info, source->conf.ia_params);
	dat_calls(before);
}

static int load_and_init(struct dat_source *source, const char *library, char *reason, size_t size)
{
	struct dat_object object;

	if (dat_module_load(&source->module, library, reason, size))
		return -1;
	object = dat_object_of((const void *)source->module.init);
	pthread_mutex_lock(&dat_registry_lock);
	source->object = object;
	pthread_mutex_unlock(&dat_registry_lock);
	call_init(source, library);
	return 0;
}

/* What the source's module has registered, NULL: nothing. */
static struct dat_entry *own_entry(const struct dat_source *source)
{
	struct dat_entry *entry = dat_entry_find(&source->conf.info);

	return entry && entry->source == source ? entry : NULL;
}

static void remove_own_entry(const struct dat_source *source)
{
	struct dat_entry *entry = own_entry(source);

	if (entry)
		dat_entry_remove(entry);
}

/* The source is busy and stays so; the lock is not held. */
static void unload(struct dat_source *source)
{
	pthread_mutex_lock(&dat_registry_lock);
	remove_own_entry(source); /* fini should have done that (REG-48) */
	pthread_mutex_unlock(&dat_registry_lock);
	dat_module_unload(&source->module);
	pthread_mutex_lock(&dat_registry_lock);
	dat_entry_sweep();
	pthread_mutex_unlock(&dat_registry_lock);
}

struct dat_entry *dat_source_load(struct dat_source *source)
{
	const struct dat_conf_entry *conf = &source->conf;
	const char *legacy = dat_conf_legacy_library(conf);
	const char *library = legacy ? legacy : conf->lib_path;
	struct dat_dispositions dispositions;
	struct dat_entry *entry;
	char reason[2048] = "dat_provider_init did not register this name";

	source->object.headers = NULL;
	source_begin(source);
	dat_dispositions_save(&dispositions);
	load_and_init(source, library, reason, sizeof(reason));
	dat_dispositions_restore(&dispositions, library);
	source_end(source);
	entry = own_entry(source);
	if (entry && source->module.dl)
		return entry;
	source_begin(source);
	dat_diag("%s:%u: field %d (%s): %s: %s: %s", dat_static_peek()->path, conf->line,
		 DAT_CONF_LIB_PATH, dat_conf_field_name(DAT_CONF_LIB_PATH), conf->info.ia_name,
		 library, reason);
	unload(source);
	source_end(source);
	return dat_entry_find(&conf->info); /* the program's, maybe */
}

void dat_source_unload(struct dat_source *source)
{
	struct dat_entry *left = own_entry(source);
	const DAT_PROVIDER *before = dat_calls(left ? left->provider : NULL);
	DAT_PROVIDER_INFO info = announced(source);

	source_begin(source);
	dat_trace(module_fini, DATS_TRC_NORMAL, NULL, "library=%s ia=%s", source->conf.lib_path,
		  source->conf.info.ia_name);
	source->module.fini(&info);
	dat_calls(before);
	unload(source);
	source_end(source);
}

void dat_source_abandon(void)
{
	const struct dat_static *sr = dat_static_peek();
	size_t i;

	pthread_cond_init(&source_idle, NULL);
	for (i = 0; i < sr->num_sources; i++) {
		struct dat_source *source = &sr->sources[i];

		if (!source->busy || dat_source_is_in(source))
			continue;
		source->busy = 0;
		remove_own_entry(source);
	}
}
