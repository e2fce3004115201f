/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tools/info/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dat/conf_file.h"
#include "util/read_file.h"
#include "tools/info/out.h"

static int open_file(struct info_registry *registry)
{
	int passed_over = 0, fd;

	if (registry->path) {
		fd = open(registry->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		return fd >= 0 ? fd : -errno;
	}
	fd = dat_conf_open(&registry->path, &passed_over);
	if (passed_over)
		fprintf(stderr, "dat-info: %s: %s; trying %s\n", dat_conf_default_path(),
			strerror(-passed_over), DAT_CONF_FALLBACK);
	return fd;
}

/* Where line number begins in the text; its length goes to *length. */
static const char *line_of(const char *text, size_t size, unsigned int number, size_t *length)
{
	const char *end = text + size, *eol;

	for (;;) {
		eol = memchr(text, '\n', (size_t)(end - text));
		if (!eol)
			eol = end;
		if (!--number || eol == end)
			break;
		text = eol + 1;
	}
	*length = (size_t)(eol - text);
	return text;
}

static int by_line(const void *a, const void *b)
{
	const struct info_entry *x = a, *y = b;

	return x->conf->line < y->conf->line ? -1 : x->conf->line > y->conf->line;
}

static void add_entry(struct info_registry *registry, size_t size,
		      const struct dat_conf_entry *conf, bool used)
{
	struct info_entry *entry = &registry->entries[registry->num_entries++];
	size_t i;

	used = used && conf->info.dapl_version_major >= 2;
	*entry = (struct info_entry){ .conf = conf, .used = used };
	entry->text = line_of(registry->text, size, conf->line, &entry->length);
	for (i = 0; used && i < registry->conf.num_entries && !entry->first; i++) {
		if (&registry->conf.entries[i] == conf)
			break;
		if (dat_info_same(&registry->conf.entries[i].info, &conf->info))
			entry->first = &registry->conf.entries[i];
	}
}

static void make_entries(struct info_registry *registry, size_t size)
{
	const struct dat_conf *conf = &registry->conf;
	size_t i;

	registry->entries =
		info_alloc(conf->num_entries + conf->num_passed_over, sizeof(*registry->entries));
	for (i = 0; i < conf->num_entries; i++)
		add_entry(registry, size, &conf->entries[i], true);
	for (i = 0; i < conf->num_passed_over; i++)
		add_entry(registry, size, &conf->passed_over[i], false);
	qsort(registry->entries, registry->num_entries, sizeof(*registry->entries), by_line);
}

void info_registry_advise(const char *path)
{
	fprintf(stderr,
		"dat-info: this file names the adapters that programs open, one a line, as this "
		"one "
		"for tests on this host:\n"
		"    soft-lo u2.0 nonthreadsafe default libdaplsoft.so.2 udapl.1.0 \"lo\" \"\"\n"
		"dat-info: this makes one for this host, as a user who may write it: "
		"dat-info --generate >%s\n",
		path);
}

bool info_registry_read(struct info_registry *registry, const char *path)
{
	size_t size = 0;
	int fd, err = 0;

	memset(registry, 0, sizeof(*registry));
	registry->path = path;
	fd = open_file(registry);
	if (fd < 0) {
		err = -fd;
	} else {
		registry->text = dats_read_file(fd, &size);
		err = registry->text ? 0 : errno;
		close(fd);
	}
	if (!err)
		err = -dat_conf_parse(registry->text, size, &registry->conf);
	if (err) {
		fprintf(stderr, "dat-info: %s: %s\n",
			*registry->path ? registry->path
			: path		? "the name of the file is empty"
					: "DAT_OVERRIDE is empty",
			strerror(err));
		if (err == ENOENT && *registry->path)
			info_registry_advise(registry->path);
		free(registry->text);
		return false;
	}
	make_entries(registry, size);
	return true;
}

void info_registry_free(struct info_registry *registry)
{
	free(registry->entries);
	dat_conf_free(&registry->conf);
	free(registry->text);
}

bool info_entry_opens(const struct info_entry *entry)
{
	return entry->used || !strcmp(info_entry_use(entry), "1.2");
}

const char *info_entry_use(const struct info_entry *entry)
{
	if (!entry->conf->user)
		return "kernel";
	if (!entry->conf->is_default)
		return "nondefault";
	if (entry->conf->info.dapl_version_major < 2)
		return dat_conf_legacy_library(entry->conf) ? "1.2" : "unserved";
	return entry->first ? "fallback" : "used";
}
