/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the tools print: tables for people, JSON for programs. */
#ifndef INFO_OUT_H
#define INFO_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
	INFO_TABLE_COLUMNS = 16,
	INFO_JSON_DEPTH = 16,
};

/* Rows of cells, printed with columns as wide as their widest cell. */
struct info_table {
	unsigned int columns;
	size_t num_cells;
	char **cells;
	bool right[INFO_TABLE_COLUMNS]; /* numbers stand on the right */
};

void info_table_init(struct info_table *table, unsigned int columns);
/* One cell, row by row. Bytes that a terminal might obey are masked. */
void info_table_add(struct info_table *table, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void info_table_print(const struct info_table *table, const char *indent, FILE *out);
void info_table_free(struct info_table *table);

/* Prints words on lines of a screen's width. */
void info_wrap(const char *text, int indent, FILE *out);

/* Writes JSON as it is told; the caller opens and closes in pairs. key: NULL inside a list. */
struct info_json {
	FILE *out;
	int depth;
	bool any[INFO_JSON_DEPTH]; /* something stands at this depth already */
	char end[INFO_JSON_DEPTH];
};

void info_json_init(struct info_json *json, FILE *out);
void info_json_object(struct info_json *json, const char *key);
void info_json_list(struct info_json *json, const char *key);
void info_json_end(struct info_json *json);
/* text: NULL gives null. */
void info_json_string(struct info_json *json, const char *key, const char *text);
void info_json_number(struct info_json *json, const char *key, int64_t value);
void info_json_bool(struct info_json *json, const char *key, bool value);
/* A value that is JSON already. */
void info_json_raw(struct info_json *json, const char *key, const char *value);

/* Writes text as a JSON string. */
void info_json_quote(FILE *out, const char *text);

/* malloc'ed text; ends the program if there is no memory. */
char *info_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* calloc and realloc that do the same. */
void *info_alloc(size_t num, size_t size);
void *info_realloc(void *old, size_t size);
/* Masks what is not printable, in place. */
char *info_mask(char *text);

#endif
