/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Parses dat.conf. Pure: it neither reads files nor writes messages. */
#include "dat/conf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As much of a bad field as a message repeats. */
#define QUOTE_MAX 40

static const char *const field_names[] = {
	[DAT_CONF_LINE] = "line",
	[DAT_CONF_IA_NAME] = "ia_name",
	[DAT_CONF_API_VERSION] = "api_version",
	[DAT_CONF_THREAD_SAFETY] = "thread_safety",
	[DAT_CONF_DEFAULT] = "default",
	[DAT_CONF_LIB_PATH] = "lib_path",
	[DAT_CONF_PROVIDER_VERSION] = "provider_version",
	[DAT_CONF_IA_PARAMS] = "ia_params",
	[DAT_CONF_PLATFORM_PARAMS] = "platform_params",
};

/* One line under parsing. */
struct cursor {
	const char *at, *end;
	char *token; /* the field read last, unquoted; has room for the whole line */
	size_t token_length;
	int field; /* its number */
	struct dat_conf_diag *diag;
};

const char *dat_conf_field_name(int field)
{
	return field >= 0 && field <= DAT_CONF_NUM_FIELDS ? field_names[field] : "excess";
}

int dat_info_same(const DAT_PROVIDER_INFO *a, const DAT_PROVIDER_INFO *b)
{
	return !strcmp(a->ia_name, b->ia_name) && a->dapl_version_major == b->dapl_version_major &&
	       a->dapl_version_minor == b->dapl_version_minor &&
	       a->is_thread_safe == b->is_thread_safe;
}

/* Fails the line. The reason holds text from the file, so what cannot be printed is masked. */
static int __attribute__((format(printf, 2, 3))) bad(struct cursor *c, const char *fmt, ...)
{
	va_list args;
	char *p;

	c->diag->field = c->field;
	va_start(args, fmt);
	vsnprintf(c->diag->reason, sizeof(c->diag->reason), fmt, args);
	va_end(args);
	for (p = c->diag->reason; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	return -EINVAL;
}

static int bad_token(struct cursor *c, const char *expected)
{
	return bad(c, "\"%.*s\" is not %s", QUOTE_MAX, c->token, expected);
}

static int is_blank(char ch)
{
	return ch == ' ' || ch == '\t';
}

static int is_digit(char ch)
{
	return ch >= '0' && ch <= '9';
}

static void skip_blanks(struct cursor *c)
{
	while (c->at < c->end && is_blank(*c->at))
		c->at++;
}

/* Nothing but a comment is left (REG-15). */
static int at_end(struct cursor *c)
{
	skip_blanks(c);
	return c->at == c->end || *c->at == '#';
}

static int quoted_token(struct cursor *c)
{
	while (++c->at < c->end && *c->at != '"') {
		if (*c->at == '\\' && ++c->at == c->end)
			break;
		c->token[c->token_length++] = *c->at;
	}
	if (c->at >= c->end)
		return bad(c, "the quoted string does not end on its line");
	c->at++;
	if (c->at < c->end && !is_blank(*c->at))
		return bad(c, "no blank after the closing quote");
	return 0;
}

static int next_token(struct cursor *c)
{
	int err = 0;

	c->field++;
	c->token_length = 0;
	if (at_end(c))
		return bad(c, "missing; an entry has %d fields", DAT_CONF_NUM_FIELDS);
	if (*c->at == '"')
		err = quoted_token(c);
	else
		while (c->at < c->end && !is_blank(*c->at))
			c->token[c->token_length++] = *c->at++;
	c->token[c->token_length] = '\0';
	if (!err && memchr(c->token, '\0', c->token_length))
		return bad(c, "holds a NUL byte");
	return err;
}

/* Decimal digits up to any other character, which the caller judges. NULL: none, or overflow. */
static const char *parse_number(const char *text, DAT_UINT32 *number)
{
	uint64_t value = 0;

	if (!is_digit(*text))
		return NULL;
	for (; is_digit(*text); text++) {
		value = value * 10 + (uint64_t)(*text - '0');
		if (value > UINT32_MAX)
			return NULL;
	}
	*number = (DAT_UINT32)value;
	return text;
}

/* major.minor and nothing after it. */
static int parse_version(const char *text, DAT_UINT32 *major, DAT_UINT32 *minor)
{
	text = parse_number(text, major);
	if (!text || *text != '.')
		return -EINVAL;
	text = parse_number(text + 1, minor);
	return text && !*text ? 0 : -EINVAL;
}

static int parse_ia_name(struct cursor *c, DAT_PROVIDER_INFO *info)
{
	if (!c->token_length)
		return bad(c, "empty");
	if (c->token_length >= sizeof(info->ia_name))
		return bad(c, "%zu characters long; %zu are allowed", c->token_length,
			   sizeof(info->ia_name) - 1);
	memcpy(info->ia_name, c->token, c->token_length + 1);
	return 0;
}

static int parse_api_version(struct cursor *c, DAT_PROVIDER_INFO *info, int *user)
{
	*user = c->token[0] == 'u';
	if ((!*user && c->token[0] != 'k') ||
	    parse_version(c->token + 1, &info->dapl_version_major, &info->dapl_version_minor))
		return bad_token(c, "a version such as u2.0 (u or k, major, dot, minor)");
	return 0;
}

/* One of two words, the first of which stands for true. */
static int parse_choice(struct cursor *c, const char *yes, const char *no, DAT_BOOLEAN *value)
{
	if (!strcmp(c->token, yes))
		*value = DAT_TRUE;
	else if (!strcmp(c->token, no))
		*value = DAT_FALSE;
	else
		return bad(c, "\"%.*s\" is neither %s nor %s", QUOTE_MAX, c->token, yes, no);
	return 0;
}

static int parse_provider_version(struct cursor *c)
{
	const char *dot = strchr(c->token, '.');
	DAT_UINT32 major, minor;

	if (!dot || dot == c->token || parse_version(dot + 1, &major, &minor))
		return bad_token(
			c, "a provider version such as dapl.2.0 (id, dot, major, dot, minor)");
	return 0;
}

static int keep_token(struct cursor *c, char **copy)
{
	*copy = strdup(c->token);
	return *copy ? 0 : -ENOMEM;
}

static int parse_default(struct cursor *c, struct dat_conf_entry *entry)
{
	DAT_BOOLEAN is_default = DAT_FALSE;
	int err = parse_choice(c, "default", "nondefault", &is_default);

	entry->is_default = is_default == DAT_TRUE;
	return err;
}

static int parse_field(struct cursor *c, struct dat_conf_entry *entry)
{
	switch (c->field) {
	case DAT_CONF_IA_NAME:
		return parse_ia_name(c, &entry->info);
	case DAT_CONF_API_VERSION:
		return parse_api_version(c, &entry->info, &entry->user);
	case DAT_CONF_THREAD_SAFETY:
		return parse_choice(c, "threadsafe", "nonthreadsafe", &entry->info.is_thread_safe);
	case DAT_CONF_DEFAULT:
		return parse_default(c, entry);
	case DAT_CONF_LIB_PATH:
		return c->token_length ? keep_token(c, &entry->lib_path) : bad(c, "empty");
	case DAT_CONF_PROVIDER_VERSION:
		return parse_provider_version(c);
	case DAT_CONF_IA_PARAMS:
		return keep_token(c, &entry->ia_params);
	default:
		return 0;
	}
}

static void entry_clear(struct dat_conf_entry *entry)
{
	free(entry->lib_path);
	free(entry->ia_params);
	memset(entry, 0, sizeof(*entry));
}

/* 1: the line is an entry; 0: it is none; -EINVAL: it is bad; -ENOMEM. */
static int parse_line(struct cursor *c, struct dat_conf_entry *entry)
{
	int err = 0;

	if (at_end(c))
		return 0;
	while (!err && c->field < DAT_CONF_NUM_FIELDS) {
		err = next_token(c);
		if (!err)
			err = parse_field(c, entry);
	}
	if (!err && !at_end(c)) {
		c->field++;
		err = bad(c, "an entry has %d fields", DAT_CONF_NUM_FIELDS);
	}
	if (!err)
		return 1;
	entry_clear(entry);
	return err;
}

/* Room for one more element after num. */
static int grow(void **array, size_t num, size_t size)
{
	void *larger;

	if (num & (num - 1)) /* the capacity is the next power of two */
		return 0;
	larger = realloc(*array, (num ? 2 * num : 1) * size);
	if (!larger)
		return -ENOMEM;
	*array = larger;
	return 0;
}

/* Several entries with one key are legal and kept in order (REG-20), but seldom meant. */
static int note_duplicate(const struct dat_conf *conf, const struct dat_conf_entry *entry,
			  struct dat_conf_diag *diag)
{
	size_t i;

	for (i = 0; i < conf->num_entries; i++) {
		if (!dat_info_same(&conf->entries[i].info, &entry->info))
			continue;
		diag->field = DAT_CONF_IA_NAME;
		snprintf(diag->reason, sizeof(diag->reason),
			 "duplicate of line %u, used only if that one cannot be loaded",
			 conf->entries[i].line);
		return 1;
	}
	return 0;
}

static int add_diag(struct dat_conf *conf, const struct dat_conf_diag *diag)
{
	if (grow((void **)&conf->diags, conf->num_diags, sizeof(*diag)))
		return -ENOMEM;
	conf->diags[conf->num_diags++] = *diag;
	return 0;
}

/* The entry's strings pass to the list. */
static int add_entry(struct dat_conf *conf, const struct dat_conf_entry *entry)
{
	int wanted = entry->user && entry->is_default;
	struct dat_conf_entry **list = wanted ? &conf->entries : &conf->passed_over;
	size_t *num = wanted ? &conf->num_entries : &conf->num_passed_over;

	if (grow((void **)list, *num, sizeof(*entry)))
		return -ENOMEM;
	(*list)[(*num)++] = *entry;
	return 0;
}

static int take_line(struct dat_conf *conf, const char *line, size_t length, unsigned int number,
		     char *token)
{
	struct dat_conf_entry entry = { .line = number };
	struct dat_conf_diag diag = { .line = number };
	struct cursor c = { .at = line, .end = line + length, .token = token, .diag = &diag };
	int kind, err = 0;

	while (c.end > c.at && c.end[-1] == '\r')
		c.end--;
	kind = parse_line(&c, &entry);
	if (kind == -ENOMEM)
		return kind;
	if (kind == -EINVAL)
		return add_diag(conf, &diag);
	if (!kind)
		return 0;
	if (entry.user && entry.is_default && note_duplicate(conf, &entry, &diag))
		err = add_diag(conf, &diag);
	if (!err)
		err = add_entry(conf, &entry);
	if (err)
		entry_clear(&entry);
	return err;
}

int dat_conf_parse(const char *text, size_t length, struct dat_conf *conf)
{
	static const char byte_order_mark[] = "\xef\xbb\xbf"; /* of UTF-8 */
	const char *at = text, *end = text + length, *eol;
	unsigned int number = 0;
	char *token = malloc(length + 1);
	int err = token ? 0 : -ENOMEM;

	memset(conf, 0, sizeof(*conf));
	if (length >= 3 && !memcmp(text, byte_order_mark, 3))
		at += 3;
	while (!err && at < end) {
		eol = memchr(at, '\n', (size_t)(end - at));
		if (!eol)
			eol = end;
		err = take_line(conf, at, (size_t)(eol - at), ++number, token);
		at = eol < end ? eol + 1 : end;
	}
	free(token);
	if (err)
		dat_conf_free(conf);
	return err;
}

void dat_conf_free(struct dat_conf *conf)
{
	size_t i;

	for (i = 0; i < conf->num_entries; i++)
		entry_clear(&conf->entries[i]);
	for (i = 0; i < conf->num_passed_over; i++)
		entry_clear(&conf->passed_over[i]);
	free(conf->entries);
	free(conf->passed_over);
	free(conf->diags);
	memset(conf, 0, sizeof(*conf));
}

const char *dat_conf_legacy_library(const struct dat_conf_entry *entry)
{
	static const struct {
		const char *name, *served_by; /* NULL: by itself */
	} libraries[] = {
		{ "libdaplofa.so", NULL },
		{ "libdaplsoft.so", NULL },
		{ "libdaplcma.so", "libdaplofa.so.2" },
		{ "libdapl-cma.so", "libdaplofa.so.2" },
		{ "libdaplscm.so", "libdaplofa.so.2" },
	};
	const char *slash = strrchr(entry->lib_path, '/');
	const char *base = slash ? slash + 1 : entry->lib_path;
	size_t i, length;

	if (entry->info.dapl_version_major != 1 || entry->info.dapl_version_minor != 2)
		return NULL;
	for (i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		length = strlen(libraries[i].name);
		if (strncmp(base, libraries[i].name, length) ||
		    (base[length] && base[length] != '.'))
			continue;
		return libraries[i].served_by ? libraries[i].served_by : entry->lib_path;
	}
	return NULL;
}
