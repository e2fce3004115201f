/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dat.conf as the tool shows it: every line that is an entry, and what is wrong with the others. */
#ifndef INFO_REGISTRY_H
#define INFO_REGISTRY_H

#include <stdbool.h>

#include "dat/conf.h"

struct info_entry {
	const struct dat_conf_entry *conf;
	const char *text; /* its line */
	size_t length;
	const struct dat_conf_entry *first; /* the one with the same key that is tried before it */
	bool used;			    /* by programs of DAT 2.0 */
};

struct info_registry {
	const char *path;
	char *text;
	struct dat_conf conf;
	struct info_entry *entries; /* in the order of their lines */
	size_t num_entries;
};

/* Reads the file; path NULL: the one that programs read. False: said why it cannot be read. */
bool info_registry_read(struct info_registry *registry, const char *path);
/* Says what belongs into a file that is not there, or is empty, and how to make it. */
void info_registry_advise(const char *path);
void info_registry_free(struct info_registry *registry);

/* Whether programs of either version open it. */
bool info_entry_opens(const struct info_entry *entry);
/* How programs use the entry, in a few words. */
const char *info_entry_use(const struct info_entry *entry);

#endif
