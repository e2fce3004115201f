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

FILE *info_text_file(char **text, size_t *size)
{
	return checked(open_memstream(text, size));
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

void info_table_heads(struct info_table *table, const char *const *heads, unsigned int num)
{
	unsigned int i;

	info_table_init(table, num);
	for (i = 0; i < num; i++)
		info_table_add(table, "%s", heads[i]);
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

/*
 * The length of the UTF-8 sequence that text begins with; 0 if it is none. The second byte keeps it
 * from what a shorter one says, from halves of pairs, and within the code (RFC 3629, section 4).
 */
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
	if ((*text == 0xe0 && text[1] < 0xa0) || (*text == 0xed && text[1] >= 0xa0) ||
	    (*text == 0xf0 && text[1] < 0x90) || (*text == 0xf4 && text[1] >= 0x90))
		return 0;
	return length;
}

struct json_object *info_json_text(const char *text)
{
	const unsigned char *from = (const unsigned char *)text;
	char *clean = info_alloc(2 * strlen(text) + 1, 1), *to = clean;
	struct json_object *json;
	int length;

	while (*from) {
		length = utf8_length(from);
		if (!length) { /* a byte of an older alphabet, such as a file name may have */
			*to++ = (char)(0xc0 | *from >> 6);
			*to++ = (char)(0x80 | (*from & 0x3f));
			from++;
		}
		for (; length; length--)
			*to++ = (char)*from++;
	}
	json = checked(json_object_new_string(clean));
	free(clean);
	return json;
}

struct json_object *info_json_object(void)
{
	return checked(json_object_new_object());
}

struct json_object *info_json_member(struct json_object *object, const char *key)
{
	struct json_object *member = info_json_object();

	json_object_object_add(object, key, member);
	return member;
}

struct json_object *info_json_list(struct json_object *object, const char *key)
{
	struct json_object *list = checked(json_object_new_array());

	json_object_object_add(object, key, list);
	return list;
}

struct json_object *info_json_item(struct json_object *list)
{
	struct json_object *item = info_json_object();

	json_object_array_add(list, item);
	return item;
}

void info_json_string(struct json_object *object, const char *key, const char *text)
{
	json_object_object_add(object, key, text ? info_json_text(text) : NULL);
}

void info_json_number(struct json_object *object, const char *key, int64_t value)
{
	json_object_object_add(object, key, checked(json_object_new_int64(value)));
}

void info_json_bool(struct json_object *object, const char *key, bool value)
{
	json_object_object_add(object, key, checked(json_object_new_boolean(value)));
}

void info_json_print(struct json_object *object)
{
	puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PRETTY |
							    JSON_C_TO_STRING_SPACED |
							    JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(object);
}
