/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The life of connections and listeners, whichever connection manager they are of. */
#include "providers/verbs/cm/cm.h"
#include "util/thread.h"

void vrb_cm_init(struct vrb_cm_object *object, struct vrb_dev *dev,
		 void (*free)(struct vrb_cm_object *object))
{
	object->dev = dev;
	object->free = free;
	atomic_store(&object->refs, 1);
	dats_mutex_init_recursive(&object->lock);
}

bool vrb_cm_lock(struct vrb_cm_object *object)
{
	bool open;

	pthread_mutex_lock(&object->lock);
	open = !object->closed;
	if (!open)
		pthread_mutex_unlock(&object->lock);
	return open;
}

void vrb_cm_unlock(struct vrb_cm_object *object)
{
	pthread_mutex_unlock(&object->lock);
}

void vrb_cm_close(struct vrb_cm_object *object)
{
	pthread_mutex_lock(&object->lock);
	object->closed = true;
	pthread_mutex_unlock(&object->lock);
}

void vrb_cm_get(struct vrb_cm_object *object)
{
	atomic_fetch_add(&object->refs, 1);
}

void vrb_cm_put(struct vrb_cm_object *object)
{
	if (atomic_fetch_sub(&object->refs, 1) != 1)
		return;
	pthread_mutex_destroy(&object->lock);
	object->free(object);
}
