/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a check has found, by file and line. */
#ifndef INFO_FINDINGS_H
#define INFO_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/info/out.h"

struct info_finding {
	char *file, *text;
	unsigned int line; /* 0: of the file as a whole, or of no line */
	bool error;	   /* else a warning */
	size_t order, file_order;
};

struct info_findings {
	struct info_finding *list;
	size_t num, errors;
};

void info_find(struct info_findings *findings, bool error, const char *file, unsigned int line,
	       const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* By file, in the order in which they came, and line. */
void info_findings_sort(struct info_findings *findings);
void info_findings_print(const struct info_findings *findings, FILE *out);
/* Adds copies of those of another list. */
void info_findings_append(struct info_findings *to, const struct info_findings *from);
void info_findings_json(const struct info_findings *findings, struct json_object *json);
void info_findings_free(struct info_findings *findings);

#endif
