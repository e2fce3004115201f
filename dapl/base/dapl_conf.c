/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libconfuse stops at the first name that it was not given. So the file is read again and again,
 * each time with the unknown name added, until there is none; then once more for its values. Which
 * names mean anything is checked by others, after that.
 */
#include "dapl/base/dapl_conf.h"

#include <confuse.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/log.h"
#include "util/fd.h"
#include "util/read_file.h"

enum {
	MAX_NAMES = 128, /* that occur in sections of one name */
	MAX_SECTIONS = 24,
	NAME_LEN = 64,
};

/* The section that belongs to one IA has a title. */
static const char titled_section[] = "ia";

struct section {
	char name[NAME_LEN];
	uint32_t num_names;
	char names[MAX_NAMES][NAME_LEN];
	cfg_opt_t opts[MAX_NAMES + 1];
};

/* One reading of a file; libconfuse's callbacks take no argument of ours. */
struct reading {
	const char *path;
	struct dapl_conf *out;
	bool final;   /* values are taken, and what is wrong is reported */
	bool again;   /* a name was added */
	bool stopped; /* at something else */
	bool no_memory;
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

static bool add_section(const char *name)
{
	struct section *section = &reading->section[reading->num_sections];

	if (reading->num_sections == MAX_SECTIONS || strlen(name) >= NAME_LEN)
		return false;
	reading->num_sections++;
	memcpy(section->name, name, strlen(name) + 1);
	return true;
}

static bool add_name(struct section *section, const char *name)
{
	uint32_t i;

	for (i = 0; i < section->num_names; i++)
		if (!strcmp(section->names[i], name))
			return false;
	if (section->num_names == MAX_NAMES || strlen(name) >= NAME_LEN)
		return false;
	memcpy(section->names[section->num_names++], name, strlen(name) + 1);
	return true;
}

/*
 * Whether libconfuse complains of a name it was not given, and the name could be added. Shown by
 * the arguments, since the text is translated: it names one thing, which is not known.
 */
static bool add_unknown(cfg_t *cfg, const char *fmt, va_list ap)
{
	const char *arg = strchr(fmt, '%'), *name;
	struct section *section;

	if (!arg || strncmp(arg, "%s", 2) || strchr(arg + 1, '%'))
		return false;
	name = va_arg(ap, const char *);
	if (!isalpha((unsigned char)*name) && *name != '_')
		return false;
	if (!strcmp(cfg_name(cfg), "root"))
		return !find_section(name) && add_section(name);
	section = find_section(cfg_name(cfg));
	return section && add_name(section, name);
}

__attribute__((format(printf, 2, 0))) static void on_error(cfg_t *cfg, const char *fmt, va_list ap)
{
	char text[256];
	va_list copy;

	if (!reading->final) {
		va_copy(copy, ap);
		reading->again = add_unknown(cfg, fmt, copy);
		va_end(copy);
		return;
	}
	if (reading->stopped)
		return;
	reading->stopped = true;
	vsnprintf(text, sizeof(text), fmt, ap);
	dapl_err("%s:%d: %s; the rest is ignored", reading->path, cfg->line, text);
}

static void line_free(struct dapl_conf_line *line)
{
	free(line->section);
	free(line->title);
	free(line->name);
	free(line->value);
}

static bool add_line(struct dapl_conf *out, const struct dapl_conf_line *from)
{
	struct dapl_conf_line *more, *line;

	more = realloc(out->lines, (out->num_lines + 1) * sizeof(*more));
	if (!more)
		return false;
	out->lines = more;
	line = &more[out->num_lines];
	line->section = strdup(from->section);
	line->title = strdup(from->title);
	line->name = strdup(from->name);
	line->value = strdup(from->value);
	line->line = from->line;
	line->reported = false;
	if (line->section && line->title && line->name && line->value) {
		out->num_lines++;
		return true;
	}
	line_free(line);
	return false;
}

/* libconfuse has read a value. */
static int value_read(cfg_t *cfg, cfg_opt_t *opt)
{
	const char *title = cfg_title(cfg), *text = cfg_opt_getstr(opt);
	struct dapl_conf_line line = {
		.section = (char *)cfg_name(cfg),
		.title = (char *)(title ? title : ""),
		.name = (char *)cfg_opt_name(opt),
		.value = (char *)text,
		.line = cfg->line,
	};

	if (reading->final && text && !add_line(reading->out, &line))
		reading->no_memory = true;
	return 0;
}

/* libconfuse's tables of what is known by now. */
static void make_opts(void)
{
	struct section *section;
	cfg_flag_t flags;
	uint32_t i, j;

	for (i = 0; i < reading->num_sections; i++) {
		section = &reading->section[i];
		flags = strcmp(section->name, titled_section) ? CFGF_NODEFAULT
							      : CFGF_MULTI | CFGF_TITLE;
		for (j = 0; j < section->num_names; j++) {
			section->opts[j] =
				(cfg_opt_t)CFG_STR(section->names[j], NULL, CFGF_NODEFAULT);
			section->opts[j].validcb = value_read;
		}
		section->opts[j] = (cfg_opt_t)CFG_END();
		reading->top[i] = (cfg_opt_t)CFG_SEC(section->name, section->opts, flags);
	}
	reading->top[i] = (cfg_opt_t)CFG_END();
}

static void read_once(const char *text)
{
	cfg_t *cfg;

	reading->again = false;
	make_opts();
	cfg = cfg_init(reading->top, CFGF_NONE);
	if (!cfg) {
		reading->no_memory = true;
		return;
	}
	cfg_set_error_function(cfg, on_error);
	cfg_parse_buf(cfg, text);
	cfg_free(cfg);
}

/* Of text at a quotation mark or "${": its end. */
static char *skip_quoted(char *text)
{
	char quote = *text++, *brace;

	if (quote == '$')
		return (brace = strchr(text, '}')) ? brace + 1 : text;
	while (*text && *text != quote)
		if (*text == '\\' && text[1])
			text += 2;
		else if (quote == '"' && !strncmp(text, "${", 2))
			text = skip_quoted(text);
		else
			text++;
	return *text ? text + 1 : text;
}

/* Of text at a comment: its end; elsewhere text. Within a word, "//" is a part of it. */
static char *skip_comment(char *text, bool in_word)
{
	char *end;

	if (*text == '#' || (!in_word && !strncmp(text, "//", 2)))
		return text + strcspn(text, "\n");
	if (in_word || strncmp(text, "/*", 2))
		return text;
	end = strstr(text + 2, "*/");
	return end ? end + 2 : text + strlen(text);
}

/* libconfuse miscounts the lines of comments, and takes none between a name and its value. */
static void blank_comments(char *text)
{
	bool in_word = false;
	char *end;

	while (*text) {
		end = skip_comment(text, in_word);
		if (end != text) {
			for (; text < end; text++)
				if (*text != '\n')
					*text = ' ';
			in_word = false;
		} else if (*text == '"' || *text == '\'' || !strncmp(text, "${", 2)) {
			text = skip_quoted(text);
			in_word = false;
		} else {
			in_word = !strchr(" \t\r\n{}()=,+*", *text);
			text++;
		}
	}
}

/* What libconfuse takes for the end of the file, though more comes. */
static void report_nul(const char *text, size_t length)
{
	size_t end = strlen(text), i;
	int line = 1;

	if (end == length || reading->stopped)
		return;
	for (i = 0; i < end; i++)
		line += text[i] == '\n';
	dapl_err("%s:%d: holds a NUL byte; the rest is ignored", reading->path, line);
}

static int parse(const char *path, const char *text, size_t length, struct dapl_conf *out)
{
	int err;

	reading = calloc(1, sizeof(*reading));
	if (!reading)
		return -ENOMEM;
	reading->path = path;
	reading->out = out;
	do
		read_once(text);
	while (reading->again && !reading->no_memory);
	reading->final = true;
	read_once(text);
	report_nul(text, length);
	err = reading->no_memory ? -ENOMEM : 0;
	free(reading);
	reading = NULL;
	return err;
}

int dapl_conf_read(const char *path, struct dapl_conf *out)
{
	int fd = dats_fd(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)), err;
	size_t length;
	char *text;

	memset(out, 0, sizeof(*out));
	if (fd < 0)
		return -errno;
	text = dats_read_file(fd, &length); /* libconfuse ends the program if a read fails */
	err = errno;
	close(fd);
	if (!text)
		return -err;
	blank_comments(text);
	err = parse(path, text, length, out);
	free(text);
	if (err)
		dapl_conf_free(out);
	return err;
}

void dapl_conf_free(struct dapl_conf *file)
{
	uint32_t i;

	for (i = 0; i < file->num_lines; i++)
		line_free(&file->lines[i]);
	free(file->lines);
	memset(file, 0, sizeof(*file));
}
