/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tools/info/tunables.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/base/dapl_conf.h"
#include "trace/log.h"

const char *info_tunables_path(void)
{
	const char *path = secure_getenv("DAPL_CONF");

	return path ? path : UDAPL_SYSCONFDIR "/dapl.conf";
}

/* ---- Messages ---- */

/* The length of the variable's name that text begins with; 0: with none of ours. */
static size_t variable_length(const char *text)
{
	size_t length = 0;

	if (strncmp(text, "DAPL_", 5) && strncmp(text, "DAT_", 4))
		return 0;
	while (isupper((unsigned char)text[length]) || isdigit((unsigned char)text[length]) ||
	       text[length] == '_')
		length++;
	return length;
}

/* The message behind "FILE"; NULL: it is not about the file. */
static const char *behind_path(const char *message)
{
	size_t length = strlen(info_tunables_path());

	return !strncmp(message, info_tunables_path(), length) && message[length] == ':'
		       ? message + length + 1
		       : NULL;
}

bool info_tunables_message(const char *message)
{
	size_t length = variable_length(message);

	if (behind_path(message))
		return true;
	return length && (message[length] == ':' || message[length] == ' ');
}

static bool found_before(const struct info_findings *findings, const char *file, unsigned int line,
			 const char *text)
{
	size_t i;

	for (i = 0; i < findings->num; i++)
		if (findings->list[i].line == line && !strcmp(findings->list[i].file, file) &&
		    !strcmp(findings->list[i].text, text))
			return true;
	return false;
}

static void find_once(struct info_findings *findings, bool error, const char *file,
		      unsigned int line, const char *text)
{
	if (!found_before(findings, file, line, text))
		info_find(findings, error, file, line, "%s", text);
}

static void take_message(struct info_tunables *tunables, const char *message)
{
	const char *text = behind_path(message);
	unsigned long line = 0;
	char *end;

	if (!text) { /* a variable without effect does no harm */
		find_once(&tunables->findings, !strstr(message, " has no effect"), "environment", 0,
			  message);
		return;
	}
	if (isdigit((unsigned char)*text)) {
		line = strtoul(text, &end, 10);
		text = end + strspn(end, ":,");
	}
	find_once(&tunables->findings, true, info_tunables_path(), (unsigned int)line,
		  text + strspn(text, " "));
}

/* ---- Tunables ---- */

static bool same(const struct info_tunable *a, const struct info_tunable *b)
{
	return !strcmp(a->field[INFO_TUNABLE_IA], b->field[INFO_TUNABLE_IA]) &&
	       !strcmp(a->field[INFO_TUNABLE_SECTION], b->field[INFO_TUNABLE_SECTION]) &&
	       !strcmp(a->field[INFO_TUNABLE_NAME], b->field[INFO_TUNABLE_NAME]);
}

/* The fields of a line, the last of which may hold anything. False: too few. */
static bool split(const char *line, struct info_tunable *tunable)
{
	char *rest = tunable->line = info_printf("%s", line);
	int i;

	for (i = 0; i < INFO_TUNABLE_FIELDS && rest; i++)
		tunable->field[i] = i + 1 < INFO_TUNABLE_FIELDS ? strsep(&rest, "\t") : rest;
	return i == INFO_TUNABLE_FIELDS;
}

static void take_line(struct info_tunables *tunables, const char *line)
{
	struct info_tunable tunable;
	bool known = !split(line, &tunable);
	size_t i;

	for (i = 0; i < tunables->num && !known; i++)
		known = same(&tunables->list[i], &tunable);
	if (known) {
		free(tunable.line);
		return;
	}
	tunables->list =
		info_realloc(tunables->list, (tunables->num + 1) * sizeof(*tunables->list));
	tunables->list[tunables->num++] = tunable;
}

void info_tunables_take(struct info_tunables *tunables, const struct info_probe *probe)
{
	size_t i;

	for (i = 0; i < probe->num_attrs; i++)
		if (!strcmp(probe->attrs[i].group, "setting"))
			take_line(tunables, probe->attrs[i].text);
	for (i = 0; i < probe->num_remarks; i++)
		take_message(tunables, probe->remarks[i]);
}

/* ---- Sections ---- */

static bool is_taken(const struct info_tunables *tunables, const char *section)
{
	size_t i;

	for (i = 0; i < tunables->num; i++)
		if (!strcmp(tunables->list[i].field[INFO_TUNABLE_SECTION], section))
			return true;
	return false;
}

static bool has_entry(const struct info_registry *registry, const char *name)
{
	size_t i;

	for (i = 0; i < registry->num_entries; i++)
		if (info_entry_opens(&registry->entries[i]) &&
		    !strcmp(registry->entries[i].conf->info.ia_name, name))
			return true;
	return false;
}

/* A module has said already what is near one of its own. */
static bool is_told(const struct info_findings *findings, unsigned int line)
{
	size_t i;

	for (i = 0; i < findings->num; i++)
		if (findings->list[i].line == line)
			return true;
	return false;
}

static void judge_line(struct info_tunables *tunables, const struct info_registry *registry,
		       const struct dapl_conf_line *line)
{
	char text[300];

	if (is_told(&tunables->findings, (unsigned int)line->line))
		return;
	if (*line->title && !has_entry(registry, line->title))
		snprintf(text, sizeof(text), "%s: no entry of %s has the name \"%.100s\"",
			 line->name, registry->path, line->title);
	else if (!*line->title && !is_taken(tunables, line->section))
		snprintf(text, sizeof(text),
			 "%s: no library of %s that could be loaded takes section %s", line->name,
			 registry->path, line->section);
	else
		return;
	find_once(&tunables->findings, false, info_tunables_path(), (unsigned int)line->line, text);
}

static struct info_tunables *judged;

/* What the reader of the file complains of, in place of the modules' own way to say it. */
void dapl_diag(const char *fmt, ...)
{
	char text[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	take_message(judged, text);
}

void info_tunables_judge(struct info_tunables *tunables, const struct info_registry *registry)
{
	struct dapl_conf conf = { .lines = NULL };
	int err;
	uint32_t i;

	judged = tunables;
	err = dapl_conf_read(info_tunables_path(), &conf);
	if (err && err != -ENOENT) /* else the modules have said so if it matters */
		find_once(&tunables->findings, true, info_tunables_path(), 0, strerror(-err));
	for (i = 0; i < conf.num_lines; i++)
		judge_line(tunables, registry, &conf.lines[i]);
	dapl_conf_free(&conf);
}

void info_tunables_free(struct info_tunables *tunables)
{
	size_t i;

	for (i = 0; i < tunables->num; i++)
		free(tunables->list[i].line);
	free(tunables->list);
	info_findings_free(&tunables->findings);
}
