/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "config.h"

#include "dat/object.h"

#include <link.h>
#include <stdint.h>

/* A child forked meanwhile would find the loader's own lock taken for ever. */
pthread_mutex_t dat_object_lock = PTHREAD_MUTEX_INITIALIZER;

struct search {
	uintptr_t addr;
	unsigned int num_objects;
	struct dat_object found;
};

static int look(struct dl_phdr_info *object, size_t size, void *arg)
{
	struct search *search = arg;
	const ElfW(Phdr) * segment;
	uintptr_t offset = search->addr - object->dlpi_addr;
	int i;

	(void)size;
	search->num_objects++;
	for (i = 0; i < object->dlpi_phnum; i++) {
		segment = &object->dlpi_phdr[i];
		if (segment->p_type != PT_LOAD || offset - segment->p_vaddr >= segment->p_memsz)
			continue;
		search->found.headers = object->dlpi_phdr;
		search->found.number = search->num_objects;
	}
	return 0;
}

static struct search search_all(const void *addr)
{
	struct search search = { .addr = (uintptr_t)addr, .found.addr = addr };

	pthread_mutex_lock(&dat_object_lock);
	dl_iterate_phdr(look, &search);
	pthread_mutex_unlock(&dat_object_lock);
	return search;
}

struct dat_object dat_object_of(const void *addr)
{
	return search_all(addr).found;
}

int dat_object_is_gone(const struct dat_object *object)
{
	return object->headers && dat_object_of(object->addr).headers != object->headers;
}

unsigned int dat_object_count(void)
{
	return search_all(NULL).num_objects;
}
