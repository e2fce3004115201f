/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Lists the open IAs of this module and their objects, for the control socket.
 *
 * The lock of an IA's list keeps its objects where they are. Of an EP or EVD a few words are copied
 * under its own lock, which is waited for a moment only: an object that is always in use goes
 * first.
 */
#include "dapl/adapter/inspect.h"

#include <assert.h>
#include <inttypes.h>

#include "dapl/object/counters.h"
#include "dapl/object/describe.h"
#include "dapl/object/entries.h"
#include "dapl/object/ia.h"
#include "dat/dats.h"

static void list_numbers(const struct dapl_ia *ia, FILE *out)
{
	static const char *const names[] = { "rsps", "ssps", "psps", "csps", "crs",  "rmrs",
					     "eps",  "srqs", "lmrs", "pzs",  "evds", "cnos" };
	size_t i;

	static_assert(sizeof(names) / sizeof(names[0]) == DAPL_NUM_TYPES - 1, "without IA");
	for (i = 1; i < DAPL_NUM_TYPES; i++)
		fprintf(out, "\t%s=%u", names[i - 1], ia->num_objects[i]);
}

static void list_counters(struct dapl_ia *ia, FILE *out)
{
	uint64_t value[DCNT_IA_ALL_COUNTERS];
	size_t i;

	dapl_counters_of_ia(ia, value);
	for (i = 0; i < DCNT_IA_ALL_COUNTERS; i++)
		if (value[i])
			fprintf(out, "\t%s=%" PRIu64, dapl_ia_counter_names[i], value[i]);
}

static void list_ia(void *arg, struct dapl_ia *ia)
{
	struct dapl_object *obj;
	FILE *out = arg;

	pthread_mutex_lock(&ia->lock);
	fprintf(out, "ia\tia=%lu\tclosing=%d\tname=", (unsigned long)dapl_ia_handle(ia),
		ia->closing);
	dapl_describe_text(ia->entry->info.ia_name, out);
	dapl_describe_addr("address", &ia->attr->addr, 0, out);
	list_numbers(ia, out);
	list_counters(ia, out);
	fputc('\n', out);
	for (obj = ia->objects; obj; obj = obj->next)
		/* One that is being freed has another tag already, and is no news. */
		if (obj->class->describe && dapl_object_is(obj, obj->class->type))
			obj->class->describe(obj, out);
	pthread_mutex_unlock(&ia->lock);
}

static int run(void *arg, const char *args, FILE *out)
{
	dapl_open_each(list_ia, out);
	return 0;
}

void dapl_inspect_offer(void)
{
	static struct dats_command command = {
		.name = "objects",
		.usage = "objects: open adapters, endpoints, dispatchers and service points",
		.run = run,
	};

	if (dats_control_add)
		dats_control_add(&command);
}
