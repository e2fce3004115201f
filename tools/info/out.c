/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tools/info/out.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define SCREEN_WIDTH 79

/* ---- Memory ---- */

static void *checked(void *memory)
{
	if (!memory) {
		fputs("dat-info: no memory\n", stderr);
		exit(3);
	}
	return memory;
}

void *info_alloc(size_t num, size_t size)
{
	return checked(calloc(num ? num : 1, size));
}

void *info_realloc(void *old, size_t size)
{
	return checked(realloc(old, size ? size : 1));
}

__attribute__((format(printf, 1, 0))) static char *format(const char *fmt, va_list args)
{
	char *text = NULL;

	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	return checked(text);
}

char *info_printf(const char *fmt, ...)
{
	va_list args;
	char *text;

	va_start(args, fmt);
	text = format(fmt, args);
	va_end(args);
	return text;
}

char *info_mask(char *text)
{
	char *p;

	for (p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	return text;
}

/* ---- Tables ---- */

void info_table_init(struct info_table *table, unsigned int columns)
{
	memset(table, 0, sizeof(*table));
	table->columns = columns;
}

void info_table_add(struct info_table *table, const char *fmt, ...)
{
	va_list args;

	if (!(table->num_cells & (table->num_cells - 1)))
		table->cells =
			info_realloc(table->cells, (table->num_cells ? 2 * table->num_cells : 1) *
							   sizeof(*table->cells));
	va_start(args, fmt);
	table->cells[table->num_cells++] = info_mask(format(fmt, args));
	va_end(args);
}

/* Characters, not bytes, of UTF-8. */
static int width_of(const char *text)
{
	int width = 0;

	for (; *text; text++)
		if (((unsigned char)*text & 0xc0) != 0x80)
			width++;
	return width;
}

static int column_width(const struct info_table *table, unsigned int column)
{
	int width = 0, w;
	size_t i;

	for (i = column; i < table->num_cells; i += table->columns) {
		w = width_of(table->cells[i]);
		if (w > width)
			width = w;
	}
	return width;
}

void info_table_print(const struct info_table *table, const char *indent, FILE *out)
{
	int widths[INFO_TABLE_COLUMNS], pad;
	unsigned int column;
	size_t i;

	for (column = 0; column < table->columns; column++)
		widths[column] = column_width(table, column);
	for (i = 0; i < table->num_cells; i++) {
		column = (unsigned int)(i % table->columns);
		pad = widths[column] - width_of(table->cells[i]);
		fprintf(out, "%s%*s%s", column ? "  " : indent, table->right[column] ? pad : 0, "",
			table->cells[i]);
		if (column + 1 == table->columns)
			fputc('\n', out);
		else if (!table->right[column])
			fprintf(out, "%*s", pad, "");
	}
}

void info_table_free(struct info_table *table)
{
	size_t i;

	for (i = 0; i < table->num_cells; i++)
		free(table->cells[i]);
	free(table->cells);
}

void info_wrap(const char *text, int indent, FILE *out)
{
	int column = 0, length;

	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		length = (int)strcspn(text, " ");
		if (column && column + 1 + length > SCREEN_WIDTH) {
			fputc('\n', out);
			column = 0;
		}
		column += fprintf(out, "%*s%.*s", column ? 1 : indent, "", length, text);
		text += length;
	}
	fputc('\n', out);
}

/* ---- JSON ---- */

/* The length of the UTF-8 sequence that text begins with; 0 if it is none. */
static int utf8_length(const unsigned char *text)
{
	int length = *text < 0x80   ? 1
		     : *text < 0xc2 ? 0
		     : *text < 0xe0 ? 2
		     : *text < 0xf0 ? 3
		     : *text < 0xf5 ? 4
				    : 0,
	    i;

	for (i = 1; i < length; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	return length;
}

void info_json_quote(FILE *out, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	int length;

	fputc('"', out);
	while (*p) {
		length = utf8_length(p);
		if (*p == '"' || *p == '\\') {
			fprintf(out, "\\%c", *p++);
		} else if (*p < ' ' || *p == 0x7f || !length) {
			fprintf(out, "\\u%04x", *p++);
		} else {
			fwrite(p, 1, (size_t)length, out);
			p += length;
		}
	}
	fputc('"', out);
}

void info_json_init(struct info_json *json, FILE *out)
{
	memset(json, 0, sizeof(*json));
	json->out = out;
}

static void begin(struct info_json *json, const char *key)
{
	if (json->depth)
		fprintf(json->out, "%s\n%*s", json->any[json->depth] ? "," : "", 2 * json->depth,
			"");
	json->any[json->depth] = true;
	if (key) {
		info_json_quote(json->out, key);
		fputs(": ", json->out);
	}
}

static void open_level(struct info_json *json, const char *key, char open, char close)
{
	begin(json, key);
	fputc(open, json->out);
	json->depth++;
	json->any[json->depth] = false;
	json->end[json->depth] = close;
}

void info_json_object(struct info_json *json, const char *key)
{
	open_level(json, key, '{', '}');
}

void info_json_list(struct info_json *json, const char *key)
{
	open_level(json, key, '[', ']');
}

void info_json_end(struct info_json *json)
{
	bool any = json->any[json->depth];
	char end = json->end[json->depth];

	json->depth--;
	if (any)
		fprintf(json->out, "\n%*s", 2 * json->depth, "");
	fputc(end, json->out);
	if (!json->depth)
		fputc('\n', json->out);
}

void info_json_raw(struct info_json *json, const char *key, const char *value)
{
	begin(json, key);
	fputs(value, json->out);
}

void info_json_string(struct info_json *json, const char *key, const char *text)
{
	if (!text) {
		info_json_raw(json, key, "null");
		return;
	}
	begin(json, key);
	info_json_quote(json->out, text);
}

void info_json_number(struct info_json *json, const char *key, int64_t value)
{
	begin(json, key);
	fprintf(json->out, "%lld", (long long)value);
}

void info_json_bool(struct info_json *json, const char *key, bool value)
{
	info_json_raw(json, key, value ? "true" : "false");
}
