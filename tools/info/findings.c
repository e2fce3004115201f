/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tools/info/findings.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void info_find(struct info_findings *findings, bool error, const char *file, unsigned int line,
	       const char *fmt, ...)
{
	struct info_finding *finding;
	char text[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	findings->list =
		info_realloc(findings->list, (findings->num + 1) * sizeof(*findings->list));
	finding = &findings->list[findings->num];
	*finding = (struct info_finding){ .file = info_printf("%s", file),
					  .text = info_mask(info_printf("%s", text)),
					  .line = line,
					  .error = error,
					  .order = findings->num++ };
	if (error)
		findings->errors++;
}

void info_findings_append(struct info_findings *to, const struct info_findings *from)
{
	size_t i;

	for (i = 0; i < from->num; i++)
		info_find(to, from->list[i].error, from->list[i].file, from->list[i].line, "%s",
			  from->list[i].text);
}

static int by_place(const void *a, const void *b)
{
	const struct info_finding *x = a, *y = b;

	if (x->file_order != y->file_order)
		return x->file_order < y->file_order ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

void info_findings_sort(struct info_findings *findings)
{
	size_t i, first;

	for (i = 0; i < findings->num; i++) {
		for (first = 0; strcmp(findings->list[first].file, findings->list[i].file);)
			first++;
		findings->list[i].file_order = findings->list[first].order;
	}
	if (findings->num)
		qsort(findings->list, findings->num, sizeof(*findings->list), by_place);
}

void info_findings_print(const struct info_findings *findings, FILE *out)
{
	const struct info_finding *finding;
	size_t i;

	for (i = 0; i < findings->num; i++) {
		finding = &findings->list[i];
		fprintf(out, "%s:", finding->file);
		if (finding->line)
			fprintf(out, "%u:", finding->line);
		fprintf(out, " %s: %s\n", finding->error ? "error" : "warning", finding->text);
	}
}

void info_findings_json(const struct info_findings *findings, struct json_object *json)
{
	struct json_object *list = info_json_list(json, "findings"), *item;
	const struct info_finding *finding;
	size_t i;

	for (i = 0; i < findings->num; i++) {
		finding = &findings->list[i];
		item = info_json_item(list);
		info_json_string(item, "file", finding->file);
		info_json_number(item, "line", finding->line);
		info_json_string(item, "severity", finding->error ? "error" : "warning");
		info_json_string(item, "text", finding->text);
	}
}

void info_findings_free(struct info_findings *findings)
{
	size_t i;

	for (i = 0; i < findings->num; i++) {
		free(findings->list[i].file);
		free(findings->list[i].text);
	}
	free(findings->list);
}
