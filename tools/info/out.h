/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the tools print: tables for people, JSON for programs. */
#ifndef INFO_OUT_H
#define INFO_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <json.h>

#define INFO_TABLE_COLUMNS 16

/* Rows of cells, printed with columns as wide as their widest cell. */
struct info_table {
	unsigned int columns;
	size_t num_cells;
	char **cells;
	bool right[INFO_TABLE_COLUMNS]; /* numbers stand on the right */
};

void info_table_init(struct info_table *table, unsigned int columns);
/* Begins it with a row of headings. */
void info_table_heads(struct info_table *table, const char *const *heads, unsigned int num);
/* One cell, row by row. Bytes that a terminal might obey are masked. */
void info_table_add(struct info_table *table, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void info_table_print(const struct info_table *table, const char *indent, FILE *out);
void info_table_free(struct info_table *table);

/* Prints words on lines of a screen's width. */
void info_wrap(const char *text, int indent, FILE *out);

/*
 * JSON is built with json-c; these end the program if there is no memory. Bytes that are no UTF-8
 * are taken for ISO 8859-1.
 */
struct json_object *info_json_text(const char *text);
struct json_object *info_json_object(void);
/* Each adds a member to an object. text: NULL gives null. */
struct json_object *info_json_member(struct json_object *object, const char *key);
struct json_object *info_json_list(struct json_object *object, const char *key);
void info_json_string(struct json_object *object, const char *key, const char *text);
void info_json_number(struct json_object *object, const char *key, int64_t value);
void info_json_bool(struct json_object *object, const char *key, bool value);
/* Adds an object to a list. */
struct json_object *info_json_item(struct json_object *list);
/* Prints and frees it. */
void info_json_print(struct json_object *object);

/* malloc'ed text; ends the program if there is no memory. */
char *info_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* open_memstream, calloc and realloc that do the same. */
FILE *info_text_file(char **text, size_t *size);
void *info_alloc(size_t num, size_t size);
void *info_realloc(void *old, size_t size);
/* Masks what is not printable, in place. */
char *info_mask(char *text);

#endif
