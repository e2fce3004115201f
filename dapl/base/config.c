/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/base/config.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "dapl/base/config_file.h"
#include "trace/log.h"

#define NEAR_NAME     3 /* edits that make one name of another at most */
#define NEAR_VARIABLE 2

struct dapl_config dapl_config;

const struct dapl_option dapl_core_options[] = {
	{ .name = "strict",
	  .env = "DAPL_STRICT",
	  .type = DAPL_OPTION_BOOL,
	  .unit = "",
	  .help = "Make the checks that release 2.1.10 does not make (clauses marked strict).",
	  .value_default = 0,
	  .value_min = 0,
	  .value_max = 1,
	  .of_process = true,
	  .offset = offsetof(struct dapl_config, strict) },
	{ .name = "related",
	  .env = "DAPL_RELATED",
	  .type = DAPL_OPTION_TEXT,
	  .unit = "",
	  .help = "Adapters that can back each other up, as dat_registry_providers_related tells: "
		  "groups separated by semicolons, each of names separated by blanks or commas.",
	  .of_process = true,
	  .offset = offsetof(struct dapl_config, related) },
	{ .name = "drain",
	  .env = "DAPL_DRAIN",
	  .type = DAPL_OPTION_INT,
	  .unit = "ms",
	  .help = "How long a graceful disconnect waits for the next of its requests to complete, "
		  "such as a Send for which the peer posts no Receive. Then the rest is flushed. "
		  "Longer "
		  "than the longest transfer takes.",
	  .value_default = 30000,
	  .value_min = 1,
	  .value_max = 86400000,
	  .of_process = true,
	  .offset = offsetof(struct dapl_config, drain_ms) },
	{ .name = "trace_level",
	  .env = "DAPL_TRACE_LEVEL",
	  .type = DAPL_OPTION_INT,
	  .unit = "",
	  .help = "What the provider libraries trace: 1 errors, 3 calls and changes of state, 7 "
		  "detail, 10 every request and completion.",
	  .value_default = 0,
	  .value_min = 0,
	  .value_max = 10,
	  .of_process = true,
	  .offset = offsetof(struct dapl_config, trace_level) },
	{ .name = "dat_trace_level",
	  .env = "DAT_TRACE_LEVEL",
	  .type = DAPL_OPTION_INT,
	  .unit = "",
	  .help = "What the registry library traces.",
	  .value_default = 0,
	  .value_min = 0,
	  .value_max = 10,
	  .of_process = true,
	  .env_judged = true,
	  .offset = offsetof(struct dapl_config, dat_trace_level) },
	{ .name = "trace_dest",
	  .env = "DAT_TRACE_DEST",
	  .type = DAPL_OPTION_TEXT,
	  .unit = "",
	  .help = "Where records go: stderr, syslog, file or none, or several with commas between.",
	  .text_default = "stderr",
	  .of_process = true,
	  .env_judged = true,
	  .offset = offsetof(struct dapl_config, trace_dest) },
	{ .name = "trace_file",
	  .env = "DAT_TRACE_FILE",
	  .type = DAPL_OPTION_TEXT,
	  .unit = "",
	  .help = "The file of trace_dest = file. %p stands for the process id. The variable "
		  "alone chooses file as well.",
	  .of_process = true,
	  .env_judged = true,
	  .offset = offsetof(struct dapl_config, trace_file) },
	{ .name = "trace_size",
	  .env = "DAT_TRACE_SIZE",
	  .type = DAPL_OPTION_INT,
	  .unit = "bytes",
	  .help = "A trace file that is so large is moved aside, to its name with .1 at the end. "
		  "0: never.",
	  .value_default = 16 << 20,
	  .value_min = 0,
	  .value_max = INT64_MAX,
	  .of_process = true,
	  .env_judged = true,
	  .offset = offsetof(struct dapl_config, trace_size) },
	{ .name = "trace_keep",
	  .env = "DAT_TRACE_KEEP",
	  .type = DAPL_OPTION_INT,
	  .unit = "files",
	  .help = "How many files moved aside are kept.",
	  .value_default = 2,
	  .value_min = 0,
	  .value_max = 99,
	  .of_process = true,
	  .env_judged = true,
	  .offset = offsetof(struct dapl_config, trace_keep) },
};
const uint32_t dapl_num_core_options = sizeof(dapl_core_options) / sizeof(dapl_core_options[0]);

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
	int *origins; /* one per option; NULL if nobody asks */
};

static struct table core, transport;
static struct dapl_config_file conf; /* kept: texts lie in it, and IAs' own sections */
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

static const char *nearest(const struct table *table, const char *name)
{
	size_t best = NEAR_NAME + 1, d;
	const char *found = NULL;
	uint32_t i;

	for (i = 0; i < table->num; i++) {
		d = distance(name, table->options[i].name);
		if (d < best) {
			best = d;
			found = table->options[i].name;
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

static void print_number(const struct dapl_option *option, int64_t value, char *out, size_t size)
{
	if (option->type == DAPL_OPTION_CHOICE)
		snprintf(out, size, "%s", option->choices[value]);
	else
		snprintf(out, size, "%lld", (long long)value);
}

static void print_value(const struct table *table, const struct dapl_option *option, char *out,
			size_t size)
{
	if (option->type == DAPL_OPTION_TEXT)
		snprintf(out, size, "%s", *text_of(table, option));
	else if (option->type == DAPL_OPTION_BOOL)
		snprintf(out, size, "%s", *number_of(table, option) ? "yes" : "no");
	else
		print_number(option, *number_of(table, option), out, size);
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

/* An integer, or for switches also a word; false: neither. */
static bool parse(const struct dapl_option *option, const char *text, int64_t *value)
{
	static const char *const words[] = { "no",   "yes", "off", "on", "false",
					     "true", "0",   "1",   NULL };
	char *end;

	if (option->type == DAPL_OPTION_CHOICE)
		return one_of(text, option->choices, value);
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

static bool fits(const struct dapl_option *option, const char *text)
{
	int64_t value;

	return parse(option, text, &value) && value >= option->value_min &&
	       value <= option->value_max;
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

static void say_range(const struct table *table, const struct dapl_option *option, int64_t value,
		      const char *where)
{
	dapl_err("%s: %s is %lld, but %lld to %lld%s%s are possible; %lld stays", where,
		 option->name, (long long)value, (long long)option->value_min,
		 (long long)option->value_max, *option->unit ? " " : "", option->unit,
		 (long long)*number_of(table, option));
}

/* Takes a value; false, with a report, if it is none. */
static bool assign(const struct table *table, const struct dapl_option *option, const char *text,
		   const char *where, int origin)
{
	char kind[256], now[256];
	int64_t value;

	if (option->type == DAPL_OPTION_TEXT) {
		*text_of(table, option) = text;
	} else if (origin == ORIGIN_ENV && option->env_judged && !fits(option, text)) {
		return false;
	} else if (!parse(option, text, &value)) {
		print_number(option, *number_of(table, option), now, sizeof(now));
		if (origin == ORIGIN_ENV)
			dapl_err("%s: \"%s\" is not %s; %s stays", where, text,
				 kind_of(option, kind, sizeof(kind)), now);
		else
			dapl_err("%s: %s is \"%s\", which is not %s; %s stays", where, option->name,
				 text, kind_of(option, kind, sizeof(kind)), now);
		return false;
	} else if (option->type == DAPL_OPTION_INT &&
		   (value < option->value_min || value > option->value_max)) {
		say_range(table, option, value, where);
		return false;
	} else {
		*number_of(table, option) = value;
	}
	if (table->origins)
		table->origins[option - table->options] = origin;
	return true;
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
static const char *keep_text(const char *text)
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
			text = keep_text(text);
		if (text)
			assign(table, option, text, option->env, ORIGIN_ENV);
	}
}

static bool knows_variable(const struct table *table, const char *name)
{
	uint32_t i;

	for (i = 0; i < table->num; i++)
		if (table->options[i].env && !strcmp(table->options[i].env, name))
			return true;
	return false;
}

static const char *near_variable(const struct table *table, const char *name)
{
	uint32_t i;

	for (i = 0; i < table->num; i++)
		if (table->options[i].env && distance(name, table->options[i].env) <= NEAR_VARIABLE)
			return table->options[i].env;
	return NULL;
}

static void judge_variable(const char *name)
{
	const char *why = dapl_config_unused(name), *near;

	if (knows_variable(&core, name) || knows_variable(&transport, name))
		return;
	near = near_variable(&transport, name);
	if (!near)
		near = near_variable(&core, name);
	if (why)
		dapl_err("%s has no effect on provider %s: %s", name, transport.section, why);
	else if (near)
		dapl_err("%s: unknown variable, near: %s", name, near);
}

/* Variables under our prefix that do not do what their setter believes. */
static void judge_environment(void)
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
			judge_variable(name);
	}
}

/* ---- The file ---- */

static void line_where(const struct dapl_config_line *line, char *out, size_t size)
{
	snprintf(out, size, "%s:%d, section %s%s%s", conf_path, line->line, line->section,
		 *line->title ? " " : "", line->title);
}

static void say_unknown(const struct table *table, const struct dapl_config_line *line,
			const char *where)
{
	const char *near = nearest(table, line->name);

	dapl_err("%s: unknown name %s%s%s", where, line->name, near ? ", near: " : "",
		 near ? near : "");
}

static void take_line(const struct table *table, const struct dapl_config_line *line)
{
	const struct dapl_option *option = find_option(table, line->name);
	char where[512];

	line_where(line, where, sizeof(where));
	if (option)
		assign(table, option, line->value, where, line->line);
	else
		say_unknown(table, line, where);
}

/* Other sections are other modules', unless they look as if one of ours was meant. */
static void judge_section(const struct dapl_config_line *line)
{
	const struct table *const tables[] = { &core, &transport };
	const char *section = line->section;
	size_t i;

	for (i = 0; i < 2; i++)
		if (2 * distance(section, tables[i]->section) < strlen(section))
			dapl_err("%s:%d: unknown section %s, near: %s", conf_path, line->line,
				 section, tables[i]->section);
}

static void take_file(void)
{
	const struct dapl_config_line *line;
	uint32_t i;

	for (i = 0; i < conf.num_lines; i++) {
		line = &conf.lines[i];
		if (!strcmp(line->section, core.section))
			take_line(&core, line);
		else if (!strcmp(line->section, transport.section))
			take_line(&transport, line);
		else if (!*line->title)
			judge_section(line);
	}
}

static void read_file(void)
{
	const char *path = secure_getenv("DAPL_CONF");
	bool asked = path;
	int err;

	dapl_config_file_free(&conf);
	free(conf_path);
	conf_path = strdup(path ? path : UDAPL_SYSCONFDIR "/dapl.conf");
	if (!conf_path) {
		dapl_err("dapl.conf not read: %s", dapl_strerror(ENOMEM));
		return;
	}
	err = dapl_config_file_read(conf_path, &conf);
	if (err && (asked || err != -ENOENT))
		dapl_err("%s: %s", conf_path, dapl_strerror(err));
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
	judge_environment();
}

/* ---- One IA ---- */

static void judge_ia_line(const struct dapl_config_line *line, const char *where)
{
	const struct table *table = find_option(&core, line->name) ? &core : &transport;

	if (find_option(table, line->name))
		dapl_err("%s: %s is the whole process's; it belongs into section %s", where,
			 line->name, table->section);
	else
		say_unknown(&transport, line, where);
}

static void take_ia_line(const struct table *table, struct dapl_config_line *line)
{
	const struct dapl_option *option = find_option(table, line->name);
	char where[512];
	int origin;

	line_where(line, where, sizeof(where));
	if (!option || option->of_process) {
		if (!line->told)
			judge_ia_line(line, where);
		line->told = true;
		return;
	}
	origin = transport.origins ? transport.origins[option - table->options] : ORIGIN_DEFAULT;
	if (origin != ORIGIN_ENV && !line->told)
		line->told = !assign(table, option, line->value, where, line->line);
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

static pthread_mutex_t told_lock = PTHREAD_MUTEX_INITIALIZER; /* of what has been told */

static void in_child(void)
{
	pthread_mutex_init(&told_lock, NULL);
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, in_child);
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
	pthread_mutex_lock(&told_lock);
	for (i = 0; i < conf.num_lines; i++)
		if (*conf.lines[i].title && !strcmp(conf.lines[i].title, ia_name))
			take_ia_line(table, &conf.lines[i]);
	pthread_mutex_unlock(&told_lock);
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

/* ---- Telling ---- */

static void each_of(const struct table *table, bool changed_only,
		    void (*each)(void *arg, const struct dapl_setting *), void *arg)
{
	struct dapl_setting setting;
	uint32_t i;
	int origin;

	for (i = 0; i < table->num; i++) {
		origin = table->origins ? table->origins[i] : ORIGIN_DEFAULT;
		if (changed_only && origin == ORIGIN_DEFAULT)
			continue;
		setting.section = table->section;
		setting.option = &table->options[i];
		print_value(table, setting.option, setting.value, sizeof(setting.value));
		if (origin == ORIGIN_DEFAULT)
			snprintf(setting.origin, sizeof(setting.origin), "default");
		else if (origin == ORIGIN_ENV)
			snprintf(setting.origin, sizeof(setting.origin), "environment");
		else
			snprintf(setting.origin, sizeof(setting.origin), "%s:%d", conf_path,
				 origin);
		each(arg, &setting);
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
