/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tools/info/objects.h"

#include <stdlib.h>
#include <string.h>

#include "tools/control.h"
#include "tools/info/out.h"

static void add_field(struct info_object *object, char *field)
{
	char *value = strchr(field, '=');

	if (!value)
		return;
	*value++ = '\0';
	object->keys = info_realloc(object->keys, (object->num + 1) * sizeof(*object->keys));
	object->values = info_realloc(object->values, (object->num + 1) * sizeof(*object->values));
	object->keys[object->num] = field;
	object->values[object->num++] = info_mask(value);
}

static void add_line(struct info_objects *objects, char *line)
{
	struct info_object *object;
	char *field;

	objects->list = info_realloc(objects->list, (objects->num + 1) * sizeof(*objects->list));
	object = &objects->list[objects->num++];
	*object = (struct info_object){ .kind = strsep(&line, "\t") };
	while ((field = strsep(&line, "\t")))
		add_field(object, field);
}

int info_objects_ask(pid_t pid, struct info_objects *objects, char *why, size_t size)
{
	char *rest, *line;
	int err;

	memset(objects, 0, sizeof(*objects));
	err = control_ask(pid, "objects", &objects->text, why, size);
	if (err)
		return err;
	rest = objects->text;
	while ((line = strsep(&rest, "\n")))
		if (*line)
			add_line(objects, line);
	return 0;
}

void info_objects_free(struct info_objects *objects)
{
	size_t i;

	for (i = 0; i < objects->num; i++) {
		free(objects->list[i].keys);
		free(objects->list[i].values);
	}
	free(objects->list);
	free(objects->text);
}

const char *info_object_get(const struct info_object *object, const char *key)
{
	size_t i;

	for (i = 0; i < object->num; i++)
		if (!strcmp(object->keys[i], key))
			return object->values[i];
	return NULL;
}

uint64_t info_object_number(const struct info_object *object, const char *key)
{
	const char *value = info_object_get(object, key);

	return value ? strtoull(value, NULL, 10) : 0;
}
