/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Tunables: declared once in a table, read from dapl.conf, overridden by the environment. */
#ifndef DAPL_CONFIG_H
#define DAPL_CONFIG_H

#include <stddef.h>
#include <stdint.h>

enum dapl_option_type {
	DAPL_OPTION_BOOL,
	DAPL_OPTION_INT,
};

/* The value is an int64_t at offset of the structure the table belongs to. */
struct dapl_option {
	const char *name; /* in its section of dapl.conf */
	const char *env;  /* the environment variable that overrides it */
	enum dapl_option_type type;
	const char *unit; /* "" if none */
	const char *help;
	int64_t value_default, value_min, value_max;
	size_t offset;
};

/* The core's own tunables, section "dapl". */
struct dapl_config {
	int64_t strict; /* GEN-31 */
};

extern const struct dapl_option dapl_core_options[];
extern const uint32_t dapl_num_core_options;

/* The core's values; those of the module once dapl_config_load has run, else 0. Not written to
 * later. */
extern struct dapl_config dapl_config;

/*
 * Reads dapl.conf ($DAPL_CONF, else $sysconfdir/dapl.conf) and the environment into the core's
 * structure and the one of section; set-user-id programs take nothing from the environment. The
 * file holds
 *
 *   section {
 *           name = value    # a word, or "quoted"
 *   }
 *
 * and sections of other modules are skipped. Values out of range and unknown names are reported
 * once, with the nearest known name, and the default stays.
 */
void dapl_config_load(const char *section, const struct dapl_option *options, uint32_t num,
		      void *base);

#endif
