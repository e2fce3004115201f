/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Names that somebody may have meant by another. */
#ifndef UTIL_NEAR_H
#define UTIL_NEAR_H

#include <stddef.h>
#include <string.h>

enum {
	DATS_NEAR_MAX = 64,
};

static inline size_t dats_min3(size_t a, size_t b, size_t c)
{
	size_t ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* Edit distance; a name longer than DATS_NEAR_MAX is far from everything. */
static inline size_t dats_distance(const char *a, const char *b)
{
	size_t row[DATS_NEAR_MAX + 1], len = strlen(b), i, j, diagonal, above;

	if (len > DATS_NEAR_MAX)
		return len;
	for (j = 0; j <= len; j++)
		row[j] = j;
	for (i = 1; *a; a++, i++) {
		diagonal = row[0];
		row[0] = i;
		for (j = 1; j <= len; j++) {
			above = row[j];
			row[j] = dats_min3(above + 1, row[j - 1] + 1, diagonal + (*a != b[j - 1]));
			diagonal = above;
		}
	}
	return row[len];
}

#endif
