/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The grammar of dat.conf (REG-12 to REG-19): text in, entries and located diagnostics out. */
#ifndef DAT_CONF_H
#define DAT_CONF_H

#include "dat/internal.h"

/* The fields of an entry, numbered as people count them; 0 stands for the line as a whole. */
enum dat_conf_field {
	DAT_CONF_LINE,
	DAT_CONF_IA_NAME,
	DAT_CONF_API_VERSION,
	DAT_CONF_THREAD_SAFETY,
	DAT_CONF_DEFAULT,
	DAT_CONF_LIB_PATH,
	DAT_CONF_PROVIDER_VERSION,
	DAT_CONF_IA_PARAMS,
	DAT_CONF_PLATFORM_PARAMS,
	DAT_CONF_NUM_FIELDS = DAT_CONF_PLATFORM_PARAMS,
};

/* An entry. It belongs to the static registry if it is user level and default (REG-19). */
struct dat_conf_entry {
	DAT_PROVIDER_INFO info;
	char *lib_path, *ia_params;
	unsigned int line;
	int user, is_default;
};

/* What is wrong with a line, at most one each. But for duplicates, the entry is dropped for it. */
struct dat_conf_diag {
	unsigned int line;
	int field;
	char reason[200];
};

struct dat_conf {
	struct dat_conf_entry *entries;
	size_t num_entries;
	struct dat_conf_entry *passed_over; /* legal, but of the kernel or nondefault */
	size_t num_passed_over;
	struct dat_conf_diag *diags;
	size_t num_diags;
};

/* Returns 0, or -ENOMEM with nothing to free. */
int dat_conf_parse(const char *text, size_t length, struct dat_conf *conf);
void dat_conf_free(struct dat_conf *conf);

/*
 * The library that serves programs of DAT 1.2 by this line, which says u1.2: the line's own if it is
 * one of ours, or ours for what release 1.2.19's lines name (D12-105); NULL if there is none. A line
 * of DAT 2.0 serves them as it is.
 */
const char *dat_conf_legacy_library(const struct dat_conf_entry *entry);

/* "ia_name", "api_version" and so on, for the number of a field. */
const char *dat_conf_field_name(int field);

/* Whether two keys are the same quadruple (REG-2). */
int dat_info_same(const DAT_PROVIDER_INFO *a, const DAT_PROVIDER_INFO *b);

#endif
