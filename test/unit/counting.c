/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A provider module that counts what the registry does with it. */
#include "test/unit/counting.h"

#include <pthread.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAMES 16

struct counting_ia {
	const DAT_PROVIDER *provider;
	struct counting *counting;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Which counters belong to a name. */
static struct {
	DAT_PROVIDER_INFO info;
	struct counting *counting;
} names[MAX_NAMES];

static struct counting *find(const char *name, int forget)
{
	struct counting *found = NULL;
	int i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < MAX_NAMES; i++)
		if (names[i].counting && !strcmp(names[i].info.ia_name, name)) {
			found = names[i].counting;
			if (forget)
				names[i].counting = NULL;
		}
	pthread_mutex_unlock(&lock);
	return found;
}

static void remember(const DAT_PROVIDER_INFO *info, struct counting *counting)
{
	int i = 0;

	pthread_mutex_lock(&lock);
	while (i < MAX_NAMES && names[i].counting)
		i++;
	if (i < MAX_NAMES) {
		names[i].info = *info;
		names[i].counting = counting;
	}
	pthread_mutex_unlock(&lock);
}

static void count(int *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static DAT_RETURN counting_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *evd, DAT_IA_ATTR_MASK ia_mask,
				 DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR_MASK provider_mask,
				 DAT_PROVIDER_ATTR *provider_attr)
{
	(void)ia;
	(void)evd;
	(void)ia_mask;
	(void)ia_attr;
	(void)provider_mask;
	(void)provider_attr;
	return DAT_SUCCESS;
}

static DAT_RETURN counting_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	struct counting_ia *object = (struct counting_ia *)ia;

	(void)flags;
	count(&object->counting->closes);
	free(object);
	return DAT_SUCCESS;
}

static DAT_RETURN counting_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *evd,
				DAT_IA_HANDLE *ia);

static DAT_PROVIDER table = {
	.device_name = "counting",
	.ia_open_func = counting_open,
	.ia_query_func = counting_query,
	.ia_close_func = counting_close,
};

static DAT_RETURN counting_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *evd,
				DAT_IA_HANDLE *ia)
{
	struct counting *counting = find(name, 0);
	struct counting_ia *object;

	(void)qlen;
	(void)evd;
	if (!counting)
		return DAT_CLASS_ERROR | DAT_INTERNAL_ERROR;
	if (!__atomic_load_n(&counting->inside, __ATOMIC_RELAXED))
		count(&counting->wrong);
	if (counting->open_rc != DAT_SUCCESS)
		return counting->open_rc;
	object = calloc(1, sizeof(*object));
	object->provider = &table;
	object->counting = counting;
	count(&counting->opens);
	*ia = (DAT_IA_HANDLE)object;
	return DAT_SUCCESS;
}

static void *add(void *arg)
{
	struct counting *counting = arg;
	DAT_PROVIDER_INFO info = counting->info;

	if (counting->other_name)
		strcpy(info.ia_name, "another-name");
	counting->add_rc = dat_registry_add_provider(&table, &info);
	return NULL;
}

static void *withdraw(void *arg)
{
	struct counting *counting = arg;

	if (dat_registry_remove_provider(&table, &counting->info) != DAT_SUCCESS)
		count(&counting->wrong);
	return NULL;
}

static void in_thread(struct counting *counting, void *(*step)(void *))
{
	pthread_t thread;

	pthread_create(&thread, NULL, step, counting);
	pthread_join(thread, NULL);
}

/* In a thread of its own if the test wants to know whether the registry holds a lock (REG-7). */
static void perform(struct counting *counting, void *(*step)(void *))
{
	if (counting->from_thread)
		in_thread(counting, step);
	else
		step(counting);
}

static void *add_again(void *arg)
{
	struct counting *counting = arg;

	if (dat_registry_add_provider(&table, &counting->info) !=
	    (DAT_CLASS_ERROR | DAT_PROVIDER_ALREADY_REGISTERED))
		count(&counting->wrong);
	return NULL;
}

__attribute__((visibility("default"))) void dat_provider_init(const DAT_PROVIDER_INFO *info,
							      const char *instance_data)
{
	struct counting *counting = (struct counting *)(uintptr_t)strtoull(instance_data, NULL, 16);

	if (__atomic_exchange_n(&counting->inside, 1, __ATOMIC_ACQ_REL))
		count(&counting->wrong);
	counting->info = *info;
	snprintf(counting->instance_data, sizeof(counting->instance_data), "%s", instance_data);
	count(&counting->inits);
	remember(info, counting);
	if (counting->meanwhile)
		in_thread(counting, counting->meanwhile);
	if (counting->twice)
		in_thread(counting, add);
	if (counting->twice)
		add_again(counting);
	else if (!counting->skip_register)
		perform(counting, add);
	if (counting->skip_register || counting->other_name || counting->add_rc) {
		find(info->ia_name, 1);
		counting->inside = 0;
	}
}

__attribute__((visibility("default"))) void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
	struct counting *counting = find(info->ia_name, 1);

	if (!counting)
		return;
	count(&counting->finis);
	if (__atomic_load_n(&counting->opens, __ATOMIC_RELAXED) !=
	    __atomic_load_n(&counting->closes, __ATOMIC_RELAXED))
		count(&counting->wrong);
	if (!counting->leave_entry)
		perform(counting, withdraw);
	if (!__atomic_exchange_n(&counting->inside, 0, __ATOMIC_ACQ_REL))
		count(&counting->wrong);
}
