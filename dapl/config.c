/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/config.h"

#include <errno.h>
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

/* Sections of "name = value", a value being a word or "quoted"; # starts a comment. */
enum token {
	TOKEN_END,
	TOKEN_TEXT,
	TOKEN_OPEN,
	TOKEN_CLOSE,
	TOKEN_EQUALS,
	TOKEN_BAD, /* unterminated or too long */
};

struct reader {
	FILE *file;
	const char *path;
	unsigned int line;
	char text[256]; /* of the last TOKEN_TEXT */
};

static int skip_space(struct reader *in)
{
	bool comment = false;
	int c;

	while ((c = getc(in->file)) != EOF) {
		if (c == '\n') {
			in->line++;
			comment = false;
		} else if (c == '#') {
			comment = true;
		} else if (!comment && !strchr(" \t\r", c)) {
			break;
		}
	}
	return c;
}

static enum token quoted(struct reader *in)
{
	size_t len = 0;
	int c;

	while ((c = getc(in->file)) != '"') {
		if (c == '\\')
			c = getc(in->file);
		if (c == EOF || c == '\n' || len == sizeof(in->text) - 1)
			return TOKEN_BAD;
		in->text[len++] = (char)c;
	}
	in->text[len] = '\0';
	return TOKEN_TEXT;
}

static enum token word(struct reader *in, int c)
{
	size_t len = 0;

	for (; c != EOF && !strchr(" \t\r\n#\"={}", c); c = getc(in->file)) {
		if (len == sizeof(in->text) - 1)
			return TOKEN_BAD;
		in->text[len++] = (char)c;
	}
	ungetc(c, in->file);
	in->text[len] = '\0';
	return TOKEN_TEXT;
}

static enum token next_token(struct reader *in)
{
	int c = skip_space(in);

	switch (c) {
	case EOF:
		return TOKEN_END;
	case '{':
		return TOKEN_OPEN;
	case '}':
		return TOKEN_CLOSE;
	case '=':
		return TOKEN_EQUALS;
	case '"':
		return quoted(in);
	default:
		return word(in, c);
	}
}

/* A section's tunables. */
struct section {
	const char *name;
	const struct dapl_option *options;
	uint32_t num;
	void *base;
};

static void take(const struct section *section, const char *name, const struct reader *in)
{
	const struct dapl_option *option = NULL;
	const char *near;
	char where[512];
	int64_t value;
	uint32_t i;

	snprintf(where, sizeof(where), "%s:%u, section %s", in->path, in->line, section->name);
	for (i = 0; i < section->num && !option; i++)
		if (!strcmp(section->options[i].name, name))
			option = &section->options[i];
	if (!option) {
		near = nearest(name, section->options, section->num);
		dapl_err("%s: unknown name %s%s%s", where, name, near ? ", near: " : "",
			 near ? near : "");
	} else if (parse(option, in->text, &value)) {
		set(option, value, where, section->base);
	} else {
		dapl_err("%s: %s is \"%s\", which is not %s; %lld stays", where, name, in->text,
			 option->type == DAPL_OPTION_BOOL ? "yes or no" : "a number",
			 (long long)*value_of(option, section->base));
	}
}

/* From behind the opening brace to the closing one; section NULL: another module's to judge. */
static bool read_section(struct reader *in, const struct section *section)
{
	char name[sizeof(in->text)];
	enum token token;

	while ((token = next_token(in)) == TOKEN_TEXT) {
		memcpy(name, in->text, sizeof(name));
		if (next_token(in) != TOKEN_EQUALS || next_token(in) != TOKEN_TEXT)
			return false;
		if (section)
			take(section, name, in);
	}
	return token == TOKEN_CLOSE;
}

static void read_file(struct reader *in, const struct section *sections, uint32_t num)
{
	enum token token;
	bool good = true;
	uint32_t i;

	while (good && (token = next_token(in)) != TOKEN_END) {
		for (i = 0; i < num && strcmp(sections[i].name, in->text); i++)
			;
		good = token == TOKEN_TEXT && next_token(in) == TOKEN_OPEN &&
		       read_section(in, i < num ? &sections[i] : NULL);
	}
	if (!good)
		dapl_err("%s:%u: not of the form \"section { name = value }\"; the rest is ignored",
			 in->path, in->line);
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
	const struct section sections[] = {
		{ "dapl", dapl_core_options, dapl_num_core_options, &dapl_config },
		{ section, options, num, base },
	};
	const char *path = secure_getenv("DAPL_CONF");
	struct reader in = { .line = 1 };
	bool asked = path;

	defaults(dapl_core_options, dapl_num_core_options, &dapl_config);
	defaults(options, num, base);
	if (!path)
		path = UDAPL_SYSCONFDIR "/dapl.conf";
	in.path = path;
	in.file = fopen(path, "re");
	if (in.file) {
		read_file(&in, sections, 2);
		fclose(in.file);
	} else if (asked || errno != ENOENT) {
		dapl_err("%s: %s", path, dapl_strerror(errno));
	}
	from_environment(dapl_core_options, dapl_num_core_options, &dapl_config);
	from_environment(options, num, base);
}
