/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The shared objects in memory: the program and its libraries. */
#ifndef DAT_OBJECT_H
#define DAT_OBJECT_H

#include <pthread.h>

extern pthread_mutex_t dat_object_lock; /* a leaf, inside dat_registry_lock; for fork */

/* The one that an address is in; none: NULL and 0. */
struct dat_object {
	const void *addr;
	const void *headers; /* its own as long as it is loaded */
	unsigned int number; /* in the order of loading, from 1 */
};

/* Of code or data. Waits for no constructor to return, as dladdr does. */
struct dat_object dat_object_of(const void *addr);

/* Whether it has been unloaded since. */
int dat_object_is_gone(const struct dat_object *object);

unsigned int dat_object_count(void);

#endif
