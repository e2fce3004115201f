/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/adapter/ha.h"

#include <stddef.h>
#include <string.h>

#define BETWEEN_NAMES  " \t\n,"
#define BETWEEN_GROUPS ";"

/* Whether the len bytes from group on name it. */
static bool has(const char *group, size_t len, const char *name)
{
	const char *end = group + len;
	size_t word;

	while (group < end) {
		group += strspn(group, BETWEEN_NAMES);
		word = strcspn(group, BETWEEN_NAMES BETWEEN_GROUPS);
		if (group < end && word == strlen(name) && !memcmp(group, name, word))
			return true;
		group += word;
	}
	return false;
}

bool dapl_ha_together(const char *groups, const char *one, const char *other)
{
	size_t len;

	for (; *groups; groups += len + (groups[len] != '\0')) {
		len = strcspn(groups, BETWEEN_GROUPS);
		if (has(groups, len, one) && has(groups, len, other))
			return true;
	}
	return false;
}
