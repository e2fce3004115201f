/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a running program answers to "objects" (dapl/adapter/inspect.h). */
#ifndef INFO_OBJECTS_H
#define INFO_OBJECTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct info_object {
	const char *kind;
	const char **keys, **values;
	size_t num;
};

struct info_objects {
	struct info_object *list;
	size_t num;
	char *text; /* which they point into */
};

/* False: why says why not. */
int info_objects_ask(pid_t pid, struct info_objects *objects, char *why, size_t size);
void info_objects_free(struct info_objects *objects);

/* The value of a key; NULL: the object has none. */
const char *info_object_get(const struct info_object *object, const char *key);
/* The same as a number; 0 if it has none. */
uint64_t info_object_number(const struct info_object *object, const char *key);

#endif
