/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/object/users.h"

#include <stdio.h>

#include "dapl/object/entries.h"
#include "trace/log.h"

enum {
	SHOWN = 6,
	TEXT = 256,
};

static bool refers(struct dapl_object *user, const struct dapl_object *obj)
{
	const struct dapl_class *class = user->class;

	return class->uses && dapl_object_is(user, class->type) && class->uses(user, obj);
}

void dapl_say_users(struct dapl_ia *ia, const struct dapl_object *obj,
		    const struct dapl_class *class)
{
	struct dapl_object *user;
	char text[TEXT] = "";
	size_t len = 0;
	int num = 0;

	pthread_mutex_lock(&ia->lock);
	for (user = ia->objects; user; user = user->next) {
		if (!refers(user, obj) || ++num > SHOWN)
			continue;
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s %p", len ? ", " : "",
					user->class->name, (void *)user);
	}
	pthread_mutex_unlock(&ia->lock);
	dapl_err_limited("%s %p: not freed: in use by %s%s", class->name, (const void *)obj,
			 num ? text : "an adapter", num > SHOWN ? " and others" : "");
}

static bool in_way(const struct dapl_object *obj)
{
	return !obj->class->in_way || obj->class->in_way(obj);
}

void dapl_say_left(struct dapl_ia *ia)
{
	uint32_t num[DAPL_NUM_TYPES] = { 0 };
	const char *names[DAPL_NUM_TYPES] = { NULL };
	struct dapl_object *obj;
	char text[TEXT] = "";
	size_t len = 0;
	int i;

	pthread_mutex_lock(&ia->lock);
	for (obj = ia->objects; obj; obj = obj->next) {
		if (!in_way(obj))
			continue;
		num[obj->class->type - DAPL_TYPE_IA]++;
		names[obj->class->type - DAPL_TYPE_IA] = obj->class->name;
	}
	pthread_mutex_unlock(&ia->lock);
	for (i = 0; i < DAPL_NUM_TYPES; i++)
		if (num[i])
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%u %s",
						len ? ", " : "", num[i], names[i]);
	dapl_err_limited("%s: not closed gracefully, objects are left: %s", ia->entry->info.ia_name,
			 text);
}
