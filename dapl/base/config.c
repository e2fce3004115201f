/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/base/config.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "dapl/base/dapl_conf.h"
#include "trace/log.h"
#include "util/near.h"

#define CONFIG	       dapl_config
#define CONFIG_OPTIONS dapl_core_options
#define TUNABLES       "dapl/base/tunables.def"
#include "dapl/base/config_define.h"

const uint32_t dapl_num_core_options = sizeof(dapl_core_options) / sizeof(dapl_core_options[0]);

enum {
	NEAR_NAME = 3, /* edits that make one name of another at most */
	NEAR_VARIABLE = 2,
};

/* Where a value comes from: ORIGIN_DEFAULT, ORIGIN_ENV, or the number of a line of the file. */
enum {
	ORIGIN_DEFAULT = 0,
	ORIGIN_ENV = -1,
};

/* A table of tunables with its values. */
struct table {
	const char *section;
	const struct dapl_option *options;
	uint32_t num;
	char *base;
	int *origins; /* one per option; NULL: no memory */
};

static struct table core, transport;
static struct dapl_conf conf; /* kept: texts lie in it, and IAs' own sections */
static char *conf_path;
static char **env_texts;
static uint32_t num_env_texts;

static int64_t *number_of(const struct table *table, const struct dapl_option *option)
{
	return (int64_t *)(table->base + option->offset);
}

static const char **text_of(const struct table *table, const struct dapl_option *option)
{
	return (const char **)(table->base + option->offset);
}

/* ---- Near names ---- */

/* The name, or the variable, that is nearer than *best, which follows; NULL: none. */
static const char *nearest(const struct table *table, const char *name, bool variable, size_t *best)
{
	const char *known, *found = NULL;
	uint32_t i;
	size_t d;

	for (i = 0; i < table->num; i++) {
		known = variable ? table->options[i].env : table->options[i].name;
		d = known ? dats_distance(name, known) : *best;
		if (d < *best) {
			*best = d;
			found = known;
		}
	}
	return found;
}

static const struct dapl_option *find_option(const struct table *table, const char *name)
{
	uint32_t i;

	for (i = 0; i < table->num; i++)
		if (!strcmp(table->options[i].name, name))
			return &table->options[i];
	return NULL;
}

/* ---- Values ---- */

/* As dapl.conf would say it. */
static void print_value(const struct dapl_option *option, const void *value, char *out, size_t size)
{
	const char *const *text = value;
	const int64_t *number = value;

	if (option->type == DAPL_OPTION_TEXT)
		snprintf(out, size, "%s", *text ? *text : "");
	else if (option->type == DAPL_OPTION_BOOL)
		snprintf(out, size, "%s", *number ? "yes" : "no");
	else if (option->type == DAPL_OPTION_CHOICE)
		snprintf(out, size, "%s", option->choices[*number]);
	else
		snprintf(out, size, "%lld", (long long)*number);
}

static bool one_of(const char *text, const char *const *words, int64_t *value)
{
	int64_t i;

	for (i = 0; words[i]; i++)
		if (!strcasecmp(text, words[i])) {
			*value = i;
			return true;
		}
	return false;
}

/* An integer or a word: what is chosen between yes, no and more is also a switch. false: neither. */
static bool parse(const struct dapl_option *option, const char *text, int64_t *value)
{
	static const char *const words[] = { "no",   "yes", "off", "on", "false",
					     "true", "0",   "1",   NULL };
	char *end;

	if (option->type == DAPL_OPTION_CHOICE)
		return one_of(text, option->choices, value) ||
		       (one_of(text, words, value) &&
			one_of(words[*value % 2], option->choices, value));
	if (option->type == DAPL_OPTION_BOOL) {
		if (!one_of(text, words, value))
			return false;
		*value %= 2;
		return true;
	}
	errno = 0;
	*value = strtoll(text, &end, 0);
	return !errno && end != text && !*end;
}

static bool in_range(const struct dapl_option *option, int64_t value)
{
	return option->type != DAPL_OPTION_INT ||
	       (value >= option->value_min && value <= option->value_max);
}

/* What a value must be, for those who wrote another. */
static const char *kind_of(const struct dapl_option *option, char *out, size_t size)
{
	size_t used, i;

	if (option->type == DAPL_OPTION_INT)
		return "a number";
	if (option->type == DAPL_OPTION_BOOL)
		return "yes or no";
	used = (size_t)snprintf(out, size, "one of");
	for (i = 0; option->choices[i] && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s %s", i ? "," : "",
					 option->choices[i]);
	return out;
}

/* Takes a value; false: it is none. */
static bool assign(const struct table *table, const struct dapl_option *option, const char *text,
		   int origin)
{
	int64_t value;

	if (option->type == DAPL_OPTION_TEXT)
		*text_of(table, option) = text;
	else if (parse(option, text, &value) && in_range(option, value))
		*number_of(table, option) = value;
	else
		return false;
	if (table->origins)
		table->origins[option - table->options] = origin;
	return true;
}

/* What is wrong with a value that was not taken. file: not a variable's, which its name tells. */
static void report_wrong(const struct table *table, const struct dapl_option *option,
			 const char *text, const char *where, bool file)
{
	int64_t stays = *number_of(table, option), value;
	char kind[256], now[256];

	if (parse(option, text, &value)) {
		dapl_err("%s: %s is %lld, but %lld to %lld%s%s are possible; %lld stays", where,
			 option->name, (long long)value, (long long)option->value_min,
			 (long long)option->value_max, *option->unit ? " " : "", option->unit,
			 (long long)stays);
		return;
	}
	print_value(option, number_of(table, option), now, sizeof(now));
	if (file)
		dapl_err("%s: %s is \"%s\", which is not %s; %s stays", where, option->name, text,
			 kind_of(option, kind, sizeof(kind)), now);
	else
		dapl_err("%s: \"%s\" is not %s; %s stays", where, text,
			 kind_of(option, kind, sizeof(kind)), now);
}

static void defaults(const struct table *table)
{
	const struct dapl_option *option;
	uint32_t i;

	for (i = 0; i < table->num; i++) {
		option = &table->options[i];
		if (option->type == DAPL_OPTION_TEXT)
			*text_of(table, option) = option->text_default ? option->text_default : "";
		else
			*number_of(table, option) = option->value_default;
	}
}

/* ---- The environment ---- */

/* The environment may change, the value must not. */
static const char *copy_text(const char *text)
{
	char **more = realloc(env_texts, (num_env_texts + 1) * sizeof(*more)), *copy;

	if (!more)
		return NULL;
	env_texts = more;
	copy = strdup(text);
	if (copy)
		env_texts[num_env_texts++] = copy;
	return copy;
}

static void from_environment(const struct table *table)
{
	const struct dapl_option *option;
	const char *text;
	uint32_t i;

	for (i = 0; i < table->num; i++) {
		option = &table->options[i];
		text = option->env ? secure_getenv(option->env) : NULL;
		if (text && option->type == DAPL_OPTION_TEXT)
			text = copy_text(text);
		if (text && !assign(table, option, text, ORIGIN_ENV) && !option->env_judged)
			report_wrong(table, option, text, option->env, false);
	}
}

static void check_variable(const char *name)
{
	const char *why = dapl_old_variable(name), *near, *of_core;
	size_t best = NEAR_VARIABLE + 1;

	near = nearest(&transport, name, true, &best);
	of_core = nearest(&core, name, true, &best);
	if (!best)
		return;
	if (why)
		dapl_err("%s has no effect on provider %s: %s", name, transport.section, why);
	else if (near || of_core)
		dapl_err("%s: unknown variable, near: %s", name, of_core ? of_core : near);
}

/* Variables under our prefix that do not do what their setter believes. */
static void check_environment(void)
{
	char name[64];
	char **entry;
	size_t len;

	for (entry = environ; entry && *entry; entry++) {
		len = strcspn(*entry, "=");
		if (strncmp(*entry, "DAPL_", 5) || len >= sizeof(name))
			continue;
		memcpy(name, *entry, len);
		name[len] = '\0';
		if (secure_getenv(name))
			check_variable(name);
	}
}

/* ---- The file ---- */

static void line_where(const struct dapl_conf_line *line, char *out, size_t size)
{
	snprintf(out, size, "%s:%d, section %s%s%s", conf_path, line->line, line->section,
		 *line->title ? " " : "", line->title);
}

static void report_unknown(const struct table *table, const struct dapl_conf_line *line,
			   const char *where)
{
	size_t best = NEAR_NAME + 1;
	const char *near = nearest(table, line->name, false, &best);

	dapl_err("%s: unknown name %s%s%s", where, line->name, near ? ", near: " : "",
		 near ? near : "");
}

static void take_line(const struct table *table, const struct dapl_conf_line *line)
{
	const struct dapl_option *option = find_option(table, line->name);
	char where[512];

	line_where(line, where, sizeof(where));
	if (!option)
		report_unknown(table, line, where);
	else if (!assign(table, option, line->value, line->line))
		report_wrong(table, option, line->value, where, true);
}

/* Other sections are other modules', unless they look as if one of ours was meant. */
static void check_section(const struct dapl_conf_line *line)
{
	const struct table *const tables[] = { &core, &transport };
	const char *section = line->section;
	size_t i;

	for (i = 0; i < 2; i++)
		if (2 * dats_distance(section, tables[i]->section) < strlen(section))
			dapl_err("%s:%d: unknown section %s, near: %s", conf_path, line->line,
				 section, tables[i]->section);
}

static void take_file(void)
{
	const struct dapl_conf_line *line;
	uint32_t i;

	for (i = 0; i < conf.num_lines; i++) {
		line = &conf.lines[i];
		if (!strcmp(line->section, core.section))
			take_line(&core, line);
		else if (!strcmp(line->section, transport.section))
			take_line(&transport, line);
		else if (!*line->title)
			check_section(line);
	}
}

static void read_file(void)
{
	const char *path = secure_getenv("DAPL_CONF");
	bool asked = path;
	int err;

	dapl_conf_free(&conf);
	free(conf_path);
	conf_path = strdup(path ? path : UDAPL_SYSCONFDIR "/dapl.conf");
	if (!conf_path) {
		dapl_err("dapl.conf not read: %s", dapl_strerror(ENOMEM));
		return;
	}
	err = dapl_conf_read(conf_path, &conf);
	if (err && (asked || err != -ENOENT))
		dapl_err("%s: %s", *conf_path ? conf_path : "DAPL_CONF is empty",
			 dapl_strerror(err));
}

/* ---- The whole ---- */

static void table_set(struct table *table, const char *section, const struct dapl_option *options,
		      uint32_t num, void *base)
{
	free(table->origins);
	*table = (struct table){ section, options, num, base,
				 calloc(num ? num : 1, sizeof(*table->origins)) };
	defaults(table);
}

void dapl_config_load(const char *section, const struct dapl_option *options, uint32_t num,
		      void *base)
{
	uint32_t i;

	for (i = 0; i < num_env_texts; i++)
		free(env_texts[i]);
	num_env_texts = 0;
	table_set(&core, "dapl", dapl_core_options, dapl_num_core_options, &dapl_config);
	table_set(&transport, section, options, num, base);
	read_file();
	take_file();
	from_environment(&core);
	from_environment(&transport);
	check_environment();
}

/* ---- One IA ---- */

static void report_not_of_ia(const struct dapl_conf_line *line, const char *where)
{
	const struct table *table = find_option(&core, line->name) ? &core : &transport;

	if (find_option(table, line->name))
		dapl_err("%s: %s is the whole process's; it belongs into section %s", where,
			 line->name, table->section);
	else
		report_unknown(&transport, line, where);
}

static void take_ia_line(const struct table *table, struct dapl_conf_line *line)
{
	const struct dapl_option *option = find_option(table, line->name);
	char where[512];

	if (option && option->of_process)
		option = NULL;
	if (option && transport.origins && transport.origins[option - table->options] == ORIGIN_ENV)
		return;
	if ((option && assign(table, option, line->value, line->line)) ||
	    atomic_exchange(&line->reported, true))
		return;
	line_where(line, where, sizeof(where));
	if (option)
		report_wrong(table, option, line->value, where, true);
	else
		report_not_of_ia(line, where);
}

static size_t table_size(const struct table *table)
{
	size_t size = sizeof(int64_t);
	uint32_t i;

	for (i = 0; i < table->num; i++)
		if (table->options[i].offset + sizeof(int64_t) > size)
			size = table->options[i].offset + sizeof(int64_t);
	return size;
}

static bool make_ia_table(const char *ia_name, struct table *table)
{
	uint32_t i;

	*table = transport;
	table->base = malloc(table_size(&transport));
	table->origins = calloc(table->num ? table->num : 1, sizeof(*table->origins));
	if (!table->base || !table->origins) {
		free(table->base);
		free(table->origins);
		return false;
	}
	if (table->num)
		memcpy(table->base, transport.base, table_size(&transport));
	for (i = 0; i < conf.num_lines; i++)
		if (*conf.lines[i].title && !strcmp(conf.lines[i].title, ia_name))
			take_ia_line(table, &conf.lines[i]);
	return true;
}

void *dapl_config_for_ia(const char *ia_name)
{
	struct table table;

	if (!make_ia_table(ia_name, &table))
		return NULL;
	free(table.origins);
	return table.base;
}

/* ---- Listing ---- */

static void each_one(const struct table *table, const struct dapl_option *option, int origin,
		     void (*each)(void *arg, const struct dapl_setting *), void *arg)
{
	struct dapl_setting setting = { .section = table->section, .option = option };
	const void *standard = &option->value_default;

	if (option->type == DAPL_OPTION_TEXT)
		standard = &option->text_default;
	print_value(option, table->base + option->offset, setting.value, sizeof(setting.value));
	print_value(option, standard, setting.standard, sizeof(setting.standard));
	if (origin == ORIGIN_DEFAULT)
		snprintf(setting.origin, sizeof(setting.origin), "default");
	else if (origin == ORIGIN_ENV)
		snprintf(setting.origin, sizeof(setting.origin), "environment");
	else
		snprintf(setting.origin, sizeof(setting.origin), "%s:%d", conf_path, origin);
	each(arg, &setting);
}

static void each_of(const struct table *table, bool changed_only,
		    void (*each)(void *arg, const struct dapl_setting *), void *arg)
{
	uint32_t i;
	int origin;

	for (i = 0; i < table->num; i++) {
		origin = table->origins ? table->origins[i] : ORIGIN_DEFAULT;
		if (!changed_only || origin != ORIGIN_DEFAULT)
			each_one(table, &table->options[i], origin, each, arg);
	}
}

void dapl_config_each(const char *ia_name, void (*each)(void *arg, const struct dapl_setting *),
		      void *arg)
{
	struct table table;

	if (!ia_name) {
		each_of(&core, false, each, arg);
		each_of(&transport, false, each, arg);
	} else if (make_ia_table(ia_name, &table)) {
		each_of(&table, true, each, arg);
		free(table.origins);
		free(table.base);
	}
}
