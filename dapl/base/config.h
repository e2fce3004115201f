/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Tunables: their values, from the table of defaults, dapl.conf and the environment. */
#ifndef DAPL_CONFIG_H
#define DAPL_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dapl_option_type {
	DAPL_OPTION_BOOL,   /* int64_t: 0 or 1 */
	DAPL_OPTION_INT,    /* int64_t */
	DAPL_OPTION_CHOICE, /* int64_t: which of choices */
	DAPL_OPTION_TEXT,   /* const char *, never NULL */
};

/*
 * One tunable, as config_define.h makes it. The value lies at offset of the structure the table
 * belongs to, which has no other members.
 */
struct dapl_option {
	const char *name; /* in its section of dapl.conf */
	const char *env;  /* the environment variable that overrides it */
	enum dapl_option_type type;
	const char *unit; /* "" if none */
	const char *help;
	int64_t value_default, value_min, value_max; /* numbers */
	const char *const *choices;		     /* of a choice; NULL ends them */
	const char *text_default;		     /* of a text; NULL is "" */
	bool of_process; /* one value for all IAs: not in an IA's own section */
	bool env_judged; /* libdat2 reads the variable too, and says what is wrong with it */
	size_t offset;
};

/* The core's own tunables, section "dapl"; the defaults until dapl_config_load, constant after. */
#define CONFIG	 dapl_config
#define TUNABLES "dapl/base/tunables.def"
#include "dapl/base/config_declare.h"

extern const struct dapl_option dapl_core_options[];
extern const uint32_t dapl_num_core_options;

/*
 * Reads dapl.conf ($DAPL_CONF, else $sysconfdir/dapl.conf) and the environment into the core's
 * structure and the one of section; set-user-id programs take nothing from the environment. The
 * file holds
 *
 *   section {
 *           name = value    # a word, or "quoted"
 *   }
 *   ia "name of an IA" {
 *           name = value    # of the transport that serves it
 *   }
 *
 * and sections of other modules are skipped. Values out of range and unknown names are reported
 * once, with the nearest known name, and the default stays. Once in a process.
 */
void dapl_config_load(const char *section, const struct dapl_option *options, uint32_t num,
		      void *base);

/*
 * The transport's values for one IA: what dapl_config_load gave, and what the IA's own sections say
 * as far as the environment does not. To be freed; NULL: no memory.
 */
void *dapl_config_for_ia(const char *ia_name);

/* A tunable's effective value. */
struct dapl_setting {
	const char *section;
	const struct dapl_option *option;
	char value[256];    /* as dapl.conf would say it */
	char standard[256]; /* the default, likewise */
	char origin[300];   /* "default", "FILE:LINE" or "environment" */
};

/*
 * Calls each for every tunable of the core and the transport; with an IA's name, for those that the
 * IA's own sections decide.
 */
void dapl_config_each(const char *ia_name, void (*each)(void *arg, const struct dapl_setting *),
		      void *arg);

/*
 * Why a variable of release 2.1.10 means nothing here (old_variables.c); NULL: name is not one.
 * Not for one that a module declares as its own.
 */
const char *dapl_old_variable(const char *name);

#endif
