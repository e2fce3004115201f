/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/config.h"

#include <confuse.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "dapl/trace.h"

struct dapl_config dapl_config;

const struct dapl_option dapl_core_options[] = {
	{ .name = "strict",
	  .env = "DAPL_STRICT",
	  .type = DAPL_OPTION_BOOL,
	  .unit = "",
	  .help = "make the checks that release 2.1.10 does not make (clauses marked strict)",
	  .value_default = 0,
	  .value_min = 0,
	  .value_max = 1,
	  .offset = offsetof(struct dapl_config, strict) },
};
const uint32_t dapl_num_core_options = sizeof(dapl_core_options) / sizeof(dapl_core_options[0]);

static int64_t *value_of(const struct dapl_option *option, void *base)
{
	return (int64_t *)((char *)base + option->offset);
}

/* ---- Near names ---- */

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* Edit distance; names longer than the row are far from everything. */
static size_t distance(const char *a, const char *b)
{
	size_t row[65], len = strlen(b), i, j, diagonal, above;

	if (len > 64)
		return len;
	for (j = 0; j <= len; j++)
		row[j] = j;
	for (i = 1; *a; a++, i++) {
		diagonal = row[0];
		row[0] = i;
		for (j = 1; j <= len; j++) {
			above = row[j];
			row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (*a != b[j - 1]));
			diagonal = above;
		}
	}
	return row[len];
}

static const char *nearest(const char *name, const struct dapl_option *options, uint32_t num)
{
	size_t best = 4, d;
	const char *found = NULL;
	uint32_t i;

	for (i = 0; i < num; i++) {
		d = distance(name, options[i].name);
		if (d < best) {
			best = d;
			found = options[i].name;
		}
	}
	return found;
}

/* ---- Values ---- */

static void set(const struct dapl_option *option, int64_t value, const char *where, void *base)
{
	if (value < option->value_min || value > option->value_max) {
		dapl_err("%s: %s is %lld, but %lld to %lld%s%s are possible; %lld stays", where,
			 option->name, (long long)value, (long long)option->value_min,
			 (long long)option->value_max, *option->unit ? " " : "", option->unit,
			 (long long)*value_of(option, base));
		return;
	}
	*value_of(option, base) = value;
}

/* An integer, or for switches also a word; false: neither. */
static bool parse(const struct dapl_option *option, const char *text, int64_t *value)
{
	static const char *const words[2][4] = { { "no", "off", "false", "0" },
						 { "yes", "on", "true", "1" } };
	char *end;
	int i, j;

	if (option->type == DAPL_OPTION_BOOL) {
		for (i = 0; i < 2; i++)
			for (j = 0; j < 4; j++)
				if (!strcasecmp(text, words[i][j])) {
					*value = i;
					return true;
				}
		return false;
	}
	errno = 0;
	*value = strtoll(text, &end, 0);
	return !errno && end != text && !*end;
}

static void from_environment(const struct dapl_option *options, uint32_t num, void *base)
{
	const char *text;
	int64_t value;
	uint32_t i;

	for (i = 0; i < num; i++) {
		text = options[i].env ? secure_getenv(options[i].env) : NULL;
		if (!text)
			continue;
		if (parse(&options[i], text, &value))
			set(&options[i], value, options[i].env, base);
		else
			dapl_err("%s: \"%s\" is not %s; %lld stays", options[i].env, text,
				 options[i].type == DAPL_OPTION_BOOL ? "yes or no" : "a number",
				 (long long)*value_of(&options[i], base));
	}
}

/* ---- The file ---- */

__attribute__((format(printf, 2, 0))) static void report(cfg_t *cfg, const char *fmt, va_list ap)
{
	char text[256];

	vsnprintf(text, sizeof(text), fmt, ap);
	dapl_err("%s:%d: %s", cfg && cfg->filename ? cfg->filename : "dapl.conf",
		 cfg ? cfg->line : 0, text);
}

/* libconfuse's options for a table; values arrive as text, so that parse and set judge them. */
static cfg_opt_t *make_opts(const struct dapl_option *options, uint32_t num)
{
	cfg_opt_t *opts = calloc(num + 2, sizeof(*opts));
	uint32_t i;

	if (!opts)
		return NULL;
	for (i = 0; i < num; i++)
		opts[i] = (cfg_opt_t)CFG_STR(options[i].name, NULL, CFGF_NODEFAULT);
	opts[num] = (cfg_opt_t)CFG_STR("__unknown", NULL, CFGF_NONE);
	opts[num + 1] = (cfg_opt_t)CFG_END();
	return opts;
}

static void take_section(cfg_t *sec, const char *path, const struct dapl_option *options,
			 uint32_t num, void *base)
{
	const char *text, *near;
	char where[512];
	int64_t value;
	uint32_t i;
	cfg_opt_t *opt;

	if (!sec)
		return;
	snprintf(where, sizeof(where), "%s, section %s", path, cfg_name(sec));
	for (i = 0; i < num; i++) {
		text = cfg_getstr(sec, options[i].name);
		if (!text)
			continue;
		if (parse(&options[i], text, &value))
			set(&options[i], value, where, base);
		else
			dapl_err("%s: %s is \"%s\", which is not %s", where, options[i].name, text,
				 options[i].type == DAPL_OPTION_BOOL ? "yes or no" : "a number");
	}
	for (opt = sec->opts; opt && opt->name; opt++) {
		if (!(opt->flags & CFGF_IGNORE_UNKNOWN) || !strcmp(opt->name, "__unknown"))
			continue;
		near = nearest(opt->name, options, num);
		dapl_err("%s: unknown name %s%s%s%s", where, opt->name, near ? ", near " : "",
			 near ? near : "", near ? "" : "");
	}
}

static void from_file(const char *path, const char *section, const struct dapl_option *options,
		      uint32_t num, void *base)
{
	cfg_opt_t *core_opts = make_opts(dapl_core_options, dapl_num_core_options);
	cfg_opt_t *opts = make_opts(options, num);
	cfg_opt_t top[3];
	cfg_t *cfg = NULL;

	if (!core_opts || !opts)
		goto free_opts;
	top[0] = (cfg_opt_t)CFG_SEC("dapl", core_opts, CFGF_IGNORE_UNKNOWN | CFGF_NODEFAULT);
	top[1] = (cfg_opt_t)CFG_SEC(section, opts, CFGF_IGNORE_UNKNOWN | CFGF_NODEFAULT);
	top[2] = (cfg_opt_t)CFG_END();
	cfg = cfg_init(top, CFGF_IGNORE_UNKNOWN);
	if (!cfg)
		goto free_opts;
	cfg_set_error_function(cfg, report);
	if (cfg_parse(cfg, path) == CFG_SUCCESS) {
		if (cfg_size(cfg, "dapl"))
			take_section(cfg_getsec(cfg, "dapl"), path, dapl_core_options,
				     dapl_num_core_options, &dapl_config);
		if (cfg_size(cfg, section))
			take_section(cfg_getsec(cfg, section), path, options, num, base);
	}
	cfg_free(cfg);
free_opts:
	free(core_opts);
	free(opts);
}

static void defaults(const struct dapl_option *options, uint32_t num, void *base)
{
	uint32_t i;

	for (i = 0; i < num; i++)
		*value_of(&options[i], base) = options[i].value_default;
}

void dapl_config_load(const char *section, const struct dapl_option *options, uint32_t num,
		      void *base)
{
	const char *path = secure_getenv("DAPL_CONF");
	bool asked = path;

	defaults(dapl_core_options, dapl_num_core_options, &dapl_config);
	defaults(options, num, base);
	if (!path)
		path = UDAPL_SYSCONFDIR "/dapl.conf";
	if (!access(path, R_OK))
		from_file(path, section, options, num, base);
	else if (asked)
		dapl_err("%s: %s", path, dapl_strerror(errno));
	from_environment(dapl_core_options, dapl_num_core_options, &dapl_config);
	from_environment(options, num, base);
}
