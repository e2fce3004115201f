/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The life of connections and listeners, whichever connection manager they are of. */
#include "providers/verbs/cm/cm.h"

/* dev->cm_lock held: nobody else has it locked. */
static void wait_unlocked(struct vrb_cm_object *object)
{
	struct vrb_dev *dev = object->dev;

	while (object->locked && !pthread_equal(object->by, pthread_self()))
		pthread_cond_wait(&dev->cm_unlocked, &dev->cm_lock);
}

bool vrb_cm_lock(struct vrb_cm_object *object)
{
	struct vrb_dev *dev = object->dev;
	bool open;

	pthread_mutex_lock(&dev->cm_lock);
	wait_unlocked(object);
	open = !object->closed;
	if (open) {
		object->locked++;
		object->by = pthread_self();
	}
	pthread_mutex_unlock(&dev->cm_lock);
	return open;
}

void vrb_cm_unlock(struct vrb_cm_object *object)
{
	struct vrb_dev *dev = object->dev;

	pthread_mutex_lock(&dev->cm_lock);
	object->locked--;
	pthread_cond_broadcast(&dev->cm_unlocked);
	pthread_mutex_unlock(&dev->cm_lock);
}

void vrb_cm_close(struct vrb_cm_object *object)
{
	struct vrb_dev *dev = object->dev;

	pthread_mutex_lock(&dev->cm_lock);
	wait_unlocked(object);
	object->closed = true;
	pthread_cond_broadcast(&dev->cm_unlocked);
	pthread_mutex_unlock(&dev->cm_lock);
}

void vrb_cm_get(struct vrb_cm_object *object)
{
	pthread_mutex_lock(&object->dev->cm_lock);
	object->refs++;
	pthread_mutex_unlock(&object->dev->cm_lock);
}

void vrb_cm_put(struct vrb_cm_object *object)
{
	bool last;

	pthread_mutex_lock(&object->dev->cm_lock);
	last = !--object->refs;
	pthread_mutex_unlock(&object->dev->cm_lock);
	if (last)
		object->free(object);
}
