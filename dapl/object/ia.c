/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/object/ia.h"

#include "dapl/base/loop.h"
#include "dapl/base/status.h"
#include "dapl/object/counters.h"
#include "dapl/object/users.h"
#include "dat/dats.h"
#include "trace/log.h"
#include "util/thread.h"

DAT_IA_HANDLE dapl_ia_handle(struct dapl_ia *ia)
{
	DAT_IA_HANDLE handle;

	return dats_get_ia_handle(ia, &handle) == DAT_SUCCESS ? handle : DAT_HANDLE_NULL;
}

/* ---- Objects ---- */

bool dapl_ia_add(struct dapl_ia *ia, struct dapl_object *obj, const struct dapl_class *class,
		 uint32_t limit)
{
	uint32_t *num = &ia->num_objects[class->type - DAPL_TYPE_IA];
	bool room;

	pthread_mutex_lock(&ia->lock);
	room = !ia->closing && *num < limit;
	if (room) {
		++*num;
		obj->next = ia->objects;
		if (obj->next)
			obj->next->link = &obj->next;
		obj->link = &ia->objects;
		ia->objects = obj;
		dapl_object_init(obj, class, ia, ia->obj.provider);
	}
	pthread_mutex_unlock(&ia->lock);
	if (!room)
		return false;
	dapl_trace(object_new, DAPL_TRC_NORMAL, obj, "type=%s ia=%p", class->name, (void *)ia);
	dapl_count(ia, DCNT_IA_MEM_ALLOC);
	dapl_count_by(ia, DCNT_IA_MEM_ALLOC_DATA, DAPL_SLOT_SIZE);
	return true;
}

void dapl_ia_remove(struct dapl_object *obj)
{
	struct dapl_ia *ia = obj->ia;

	dapl_trace(object_gone, DAPL_TRC_NORMAL, obj, "type=%s ia=%p", obj->class->name,
		   (void *)ia);
	dapl_count(ia, DCNT_IA_MEM_FREE);
	pthread_mutex_lock(&ia->lock);
	ia->num_objects[obj->class->type - DAPL_TYPE_IA]--;
	*obj->link = obj->next;
	if (obj->next)
		obj->next->link = obj->link;
	if (ia->closing)
		pthread_cond_broadcast(&ia->removed);
	pthread_mutex_unlock(&ia->lock);
}

void dapl_ia_end(struct dapl_object *obj)
{
	obj->class->end(obj);
	dapl_ia_remove(obj);
	dapl_object_release(obj);
}

DAT_RETURN dapl_ia_free(DAT_HANDLE handle, const struct dapl_class *class)
{
	struct dapl_object *obj = dapl_object_self(handle, class->type);
	struct dapl_ia *ia;
	DAT_RETURN rc;

	if (!obj)
		return dapl_fail(DAT_INVALID_HANDLE, class->bad_handle);
	ia = obj->ia;
	rc = dapl_object_retire_unused(obj, class);
	if (rc) {
		if (DAT_GET_TYPE(rc) == DAT_INVALID_STATE)
			dapl_say_users(ia, obj, class);
		return rc;
	}
	if (class->freed)
		dapl_count(obj->ia, (DAT_IA_COUNTERS) class->freed);
	dapl_ia_end(obj);
	return DAT_SUCCESS;
}

int dapl_ia_need_agents(struct dapl_ia *ia)
{
	struct dapl_loop *agents;
	int err = 0;

	pthread_mutex_lock(&ia->lock);
	if (!ia->agents) {
		err = dapl_loop_create(&agents);
		if (!err)
			ia->agents = agents;
	}
	pthread_mutex_unlock(&ia->lock);
	return err;
}

/* ---- Close ---- */

bool dapl_ia_start_close(struct dapl_ia *ia, bool graceful)
{
	struct dapl_object *obj;
	bool go = true;

	pthread_mutex_lock(&ia->lock);
	for (obj = graceful ? ia->objects : NULL; obj && go; obj = obj->next)
		go = obj->class->in_way && !obj->class->in_way(obj);
	if (go)
		ia->closing = true;
	pthread_mutex_unlock(&ia->lock);
	return go;
}

/*
 * One of a type, retired: whoever frees it now finds that it is gone, and what somebody else is
 * ending is waited for, which what comes after it may depend on. NULL: none is left.
 */
static struct dapl_object *claim(struct dapl_ia *ia, int type)
{
	struct dapl_object *obj = NULL;

	pthread_mutex_lock(&ia->lock);
	while (!obj && ia->num_objects[type - DAPL_TYPE_IA]) {
		for (obj = ia->objects; obj; obj = obj->next)
			if (dapl_object_is(obj, (enum dapl_type)type) && dapl_object_retire(obj))
				break;
		if (!obj)
			dats_cond_wait(&ia->removed, &ia->lock);
	}
	pthread_mutex_unlock(&ia->lock);
	return obj;
}

void dapl_ia_close_objects(struct dapl_ia *ia)
{
	struct dapl_object *obj;
	int type;

	for (type = DAPL_TYPE_IA; type < DAPL_TYPE_IA + DAPL_NUM_TYPES; type++)
		while ((obj = claim(ia, type))) {
			if (obj->class->close)
				obj->class->close(obj);
			else
				dapl_ia_end(obj);
		}
}
