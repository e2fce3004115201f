/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/missing.h"
#include "dat/conf_file.h"
#include "dat/static.h"
#include "trace/dat_log.h"
#include "util/near.h"
#include "util/read_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	NEAR = 2, /* edits */
	SHOWN = 8,
	REMEMBERED = 16,
};

/* Programs may ask for a name again and again. */
static int is_said(const char *name)
{
	static DAT_UINT32 said[REMEMBERED];
	DAT_UINT32 hash = 2166136261u, *place;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	place = &said[hash % REMEMBERED];
	return __atomic_exchange_n(place, hash, __ATOMIC_RELAXED) == hash;
}

static int is_near(const char *known, const char *name)
{
	return strstr(known, name) || dats_distance(name, known) <= NEAR;
}

static int is_repeated(const struct dat_static *sr, size_t index)
{
	size_t i = 0;

	while (strcmp(sr->sources[i].conf.info.ia_name, sr->sources[index].conf.info.ia_name))
		i++;
	return i < index;
}

/* The names of the file, or those near the given one; false: there are none. */
static int list_names(const struct dat_static *sr, const char *near, char *text, size_t size)
{
	size_t i, length = 0;
	const char *name;
	int num = 0;

	for (i = 0; i < sr->num_sources && length < size; i++) {
		name = sr->sources[i].conf.info.ia_name;
		if (is_repeated(sr, i) || (near && !is_near(name, near)))
			continue;
		if (++num > SHOWN) {
			snprintf(text + length, size - length, ", ...");
			return 1;
		}
		length += (size_t)snprintf(text + length, size - length, "%s%s", length ? ", " : "",
					   name);
	}
	return num > 0;
}

static int has_name(const struct dat_conf *conf, const char *name)
{
	size_t i = 0;

	while (i < conf->num_entries && strcmp(conf->entries[i].info.ia_name, name))
		i++;
	return i < conf->num_entries;
}

/* Whether the file that all installations share has the name, where another one is read. */
static int is_hidden(const struct dat_static *sr, const char *name)
{
	struct dat_conf conf;
	size_t length;
	char *text;
	int fd, has = 0;

	if (strcmp(sr->path, dat_conf_default_path()) || !strcmp(sr->path, DAT_CONF_FALLBACK))
		return 0;
	fd = dat_conf_open_fallback();
	if (fd < 0)
		return 0;
	text = dats_read_file(fd, &length);
	close(fd);
	if (text && !dat_conf_parse(text, length, &conf)) {
		has = has_name(&conf, name);
		dat_conf_free(&conf);
	}
	free(text);
	return has;
}

/* Whether a line has the name that programs do not get. */
static int say_passed_over(const struct dat_static *sr, const char *name)
{
	const struct dat_conf_entry *entry;
	size_t i = 0;

	while (i < sr->num_passed_over && strcmp(sr->passed_over[i].info.ia_name, name))
		i++;
	if (i == sr->num_passed_over)
		return 0;
	entry = &sr->passed_over[i];
	dat_diag("IA \"%s\" not opened: %s:%u has that name, but is %s: programs do not get it",
		 name, sr->path, entry->line, entry->user ? "nondefault" : "the kernel's");
	return 1;
}

static void say_unknown(const struct dat_static *sr, const char *name)
{
	char names[2048] = "";

	if (sr->is_unread || !sr->path || say_passed_over(sr, name))
		return;
	if (is_hidden(sr, name))
		dat_diag("IA \"%s\" not opened: %s has an entry of that name, but is not read, "
			 "because %s is there",
			 name, DAT_CONF_FALLBACK, sr->path);
	else if (list_names(sr, name, names, sizeof(names)))
		dat_diag("IA \"%s\" not opened: %s has no entry of that name; near: %s", name,
			 sr->path, names);
	else if (list_names(sr, NULL, names, sizeof(names)))
		dat_diag("IA \"%s\" not opened: %s has no entry of that name, but: %s", name,
			 sr->path, names);
	else
		dat_diag("IA \"%s\" not opened: %s has no entries; dat-info --generate writes "
			 "those of this host",
			 name, sr->path);
}

static const char *safety(DAT_BOOLEAN is_thread_safe)
{
	return is_thread_safe ? "threadsafe" : "nonthreadsafe";
}

void dat_missing_say(const DAT_PROVIDER_INFO *wanted, DAT_RETURN rc)
{
	const struct dat_static *sr = dat_static_peek();
	const DAT_PROVIDER_INFO *info;
	size_t i = 0;

	if (DAT_GET_TYPE(rc) != DAT_PROVIDER_NOT_FOUND)
		return;
	while (i < sr->num_sources && strcmp(sr->sources[i].conf.info.ia_name, wanted->ia_name))
		i++;
	if (i == sr->num_sources) {
		if (DAT_GET_SUBTYPE(rc) == DAT_NAME_NOT_REGISTERED && !is_said(wanted->ia_name))
			say_unknown(sr, wanted->ia_name);
		return;
	}
	if (DAT_GET_SUBTYPE(rc) == DAT_NAME_NOT_REGISTERED || is_said(wanted->ia_name))
		return; /* why its library does not load was said */
	info = &sr->sources[i].conf.info;
	dat_diag("IA \"%s\" not opened: the program asks for u%u.%u %s, and %s:%u is u%u.%u %s",
		 wanted->ia_name, wanted->dapl_version_major, wanted->dapl_version_minor,
		 safety(wanted->is_thread_safe), sr->path, sr->sources[i].conf.line,
		 info->dapl_version_major, info->dapl_version_minor, safety(info->is_thread_safe));
}
