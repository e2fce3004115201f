/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/config.h"

#include <confuse.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

/*
 * libconfuse stops at the first name it was not told of, and takes no notice of the rest. So the
 * file is read until no such name turns up any more, each time with the one found added: to a
 * section of ours as an option that is reported and ignored, at the top as another module's
 * section. Then it is read for good.
 */
enum {
	MAX_NAMES = 64, /* of a section, ours and unknown ones */
	MAX_SECTIONS = 16,
	MAX_PASSES = 1024,
	NAME_LEN = 64,
};

struct section {
	char name[NAME_LEN];
	bool ours; /* else another module's to judge */
	const struct dapl_option *options;
	uint32_t num_options;
	void *base;
	uint32_t num_names;
	char names[MAX_NAMES][NAME_LEN];
	cfg_opt_t opts[MAX_NAMES + 1];
};

/* One reading of a file; libconfuse's callbacks take no argument of ours. */
struct reading {
	const char *path;
	bool for_good; /* values are taken, and what is wrong is reported */
	bool again;    /* a name was added */
	bool stopped;  /* at something else */
	uint32_t num_sections;
	struct section section[MAX_SECTIONS];
	cfg_opt_t top[MAX_SECTIONS + 1];
};

static __thread struct reading *reading;

static struct section *find_section(const char *name)
{
	uint32_t i;

	for (i = 0; i < reading->num_sections; i++)
		if (!strcmp(reading->section[i].name, name))
			return &reading->section[i];
	return NULL;
}

static struct section *add_section(const char *name, bool ours, const struct dapl_option *options,
				   uint32_t num, void *base)
{
	struct section *section = &reading->section[reading->num_sections];
	uint32_t i;

	if (reading->num_sections == MAX_SECTIONS || num > MAX_NAMES || strlen(name) >= NAME_LEN)
		return NULL;
	reading->num_sections++;
	memcpy(section->name, name, strlen(name) + 1);
	section->ours = ours;
	section->options = options;
	section->num_options = num;
	section->base = base;
	for (i = 0; i < num; i++)
		snprintf(section->names[i], NAME_LEN, "%s", options[i].name);
	section->num_names = num;
	return section;
}

static bool has_name(const struct section *section, const char *name)
{
	uint32_t i;

	for (i = 0; i < section->num_names; i++)
		if (!strcmp(section->names[i], name))
			return true;
	return false;
}

/* A name in a section of ours that is no option; true if it could be added. */
static bool add_name(cfg_t *cfg, const char *name)
{
	struct section *section = find_section(cfg_name(cfg));
	const char *near;

	if (!section || has_name(section, name) || section->num_names == MAX_NAMES ||
	    strlen(name) >= NAME_LEN)
		return false;
	near = nearest(name, section->options, section->num_options);
	if (section->ours)
		dapl_err("%s:%d, section %s: unknown name %s%s%s", reading->path, cfg->line,
			 section->name, name, near ? ", near: " : "", near ? near : "");
	memcpy(section->names[section->num_names++], name, strlen(name) + 1);
	return true;
}

/*
 * Whether libconfuse complains of a name it was not told of, and the name could be added. Told by
 * the arguments, since the text is translated: it names one thing, which is not known.
 */
static bool learn(cfg_t *cfg, const char *fmt, va_list ap)
{
	const char *arg = strchr(fmt, '%'), *name;

	if (!arg || strncmp(arg, "%s", 2) || strchr(arg + 1, '%'))
		return false;
	name = va_arg(ap, const char *);
	if (!isalpha((unsigned char)*name) && *name != '_')
		return false;
	if (!strcmp(cfg_name(cfg), "root"))
		return !find_section(name) && add_section(name, false, NULL, 0, NULL);
	return add_name(cfg, name);
}

__attribute__((format(printf, 2, 0))) static void complaint(cfg_t *cfg, const char *fmt, va_list ap)
{
	char text[256];
	va_list copy;

	if (!reading->for_good) {
		va_copy(copy, ap);
		reading->again = learn(cfg, fmt, copy);
		va_end(copy);
		return;
	}
	if (reading->stopped)
		return;
	reading->stopped = true;
	vsnprintf(text, sizeof(text), fmt, ap);
	dapl_err("%s:%d: %s; the rest is ignored", reading->path, cfg->line, text);
}

/* libconfuse has read a value. */
static int value_read(cfg_t *cfg, cfg_opt_t *opt)
{
	struct section *section = find_section(cfg_name(cfg));
	const struct dapl_option *option = NULL;
	const char *text = cfg_opt_getstr(opt);
	char where[512];
	int64_t value;
	uint32_t i;

	for (i = 0; section && i < section->num_options && !option; i++)
		if (!strcmp(section->options[i].name, cfg_opt_name(opt)))
			option = &section->options[i];
	if (!reading->for_good || !option || !text)
		return 0;
	snprintf(where, sizeof(where), "%s:%d, section %s", reading->path, cfg->line,
		 section->name);
	if (parse(option, text, &value))
		set(option, value, where, section->base);
	else
		dapl_err("%s: %s is \"%s\", which is not %s; %lld stays", where, option->name, text,
			 option->type == DAPL_OPTION_BOOL ? "yes or no" : "a number",
			 (long long)*value_of(option, section->base));
	return 0;
}

/* libconfuse's tables of what is known by now. */
static void make_opts(void)
{
	struct section *section;
	uint32_t i, j;

	for (i = 0; i < reading->num_sections; i++) {
		section = &reading->section[i];
		for (j = 0; j < section->num_names; j++)
			section->opts[j] =
				(cfg_opt_t)CFG_STR(section->names[j], NULL, CFGF_NODEFAULT);
		section->opts[j] = (cfg_opt_t)CFG_END();
		reading->top[i] = (cfg_opt_t)CFG_SEC(section->name, section->opts, CFGF_NODEFAULT);
	}
	reading->top[i] = (cfg_opt_t)CFG_END();
}

static void set_callbacks(cfg_t *cfg)
{
	char path[2 * NAME_LEN + 1];
	struct section *section;
	uint32_t i, j;

	cfg_set_error_function(cfg, complaint);
	for (i = 0; i < reading->num_sections; i++) {
		section = &reading->section[i];
		for (j = 0; j < section->num_options; j++) {
			snprintf(path, sizeof(path), "%s|%s", section->name, section->names[j]);
			cfg_set_validate_func(cfg, path, value_read);
		}
	}
}

static void read_once(FILE *file)
{
	cfg_t *cfg;

	reading->again = false;
	make_opts();
	cfg = cfg_init(reading->top, CFGF_NONE);
	if (!cfg)
		return;
	set_callbacks(cfg);
	rewind(file);
	cfg_parse_fp(cfg, file);
	cfg_free(cfg);
}

static void read_file(FILE *file, const char *path, const char *section,
		      const struct dapl_option *options, uint32_t num, void *base)
{
	int pass;

	reading = calloc(1, sizeof(*reading));
	if (!reading) {
		dapl_err("%s: not read: %s", path, dapl_strerror(ENOMEM));
		return;
	}
	reading->path = path;
	add_section("dapl", true, dapl_core_options, dapl_num_core_options, &dapl_config);
	if (!find_section(section))
		add_section(section, true, options, num, base);
	for (pass = 0; pass < MAX_PASSES; pass++) {
		read_once(file);
		if (!reading->again)
			break;
	}
	reading->for_good = true;
	read_once(file);
	free(reading);
	reading = NULL;
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
	FILE *file;

	defaults(dapl_core_options, dapl_num_core_options, &dapl_config);
	defaults(options, num, base);
	if (!path)
		path = UDAPL_SYSCONFDIR "/dapl.conf";
	file = fopen(path, "re");
	if (file) {
		read_file(file, path, section, options, num, base);
		fclose(file);
	} else if (asked || errno != ENOENT) {
		dapl_err("%s: %s", path, dapl_strerror(errno));
	}
	from_environment(dapl_core_options, dapl_num_core_options, &dapl_config);
	from_environment(options, num, base);
}
