/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/adapter/ia_open.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/adapter/ib_counters.h"
#include "dapl/adapter/named_attr.h"
#include "dapl/adapter/upcalls.h"
#include "dapl/base/config.h"
#include "dapl/base/loop.h"
#include "dapl/base/status.h"
#include "dapl/base/wakefd.h"
#include "dapl/event/async.h"
#include "dapl/event/cno.h"
#include "dapl/object/counters.h"
#include "dapl/object/users.h"
#include "trace/log.h"

const struct dapl_class dapl_ia_class = {
	.name = "IA",
	.type = DAPL_TYPE_IA,
	.handle_type = DAT_HANDLE_TYPE_IA,
	.read_counters = dapl_ia_read_counters,
	.counter_names = dapl_ia_counter_names,
	.num_counters = DCNT_IA_ALL_COUNTERS,
};

/* ---- Open ---- */

/* What *async_evd_handle asks for (IA-3, IA-5, IA-10); an EVD in *given is to be left. */
static DAT_RETURN choose_async(const struct dapl_entry *entry, DAT_EVD_HANDLE handle,
			       DAT_COUNT qlen, struct dapl_evd **given)
{
	struct dapl_evd *evd;

	*given = NULL;
	if (handle == DAT_EVD_ASYNC_EXISTS)
		return DAT_SUCCESS;
	if (!handle)
		return qlen > 0 ? DAT_SUCCESS : DAPL_BAD_ARG(2);
	evd = dapl_evd_enter(handle, DAT_EVD_ASYNC_FLAG);
	if (!evd)
		return DAPL_BAD_HANDLE(EVD_ASYNC);
	if (strcmp(evd->obj.ia->entry->info.ia_name, entry->info.ia_name)) {
		dapl_evd_leave(evd);
		return DAPL_BAD_HANDLE(EVD_ASYNC);
	}
	*given = evd;
	return DAT_SUCCESS;
}

static DAT_RETURN open_device(struct dapl_ia *ia)
{
	struct tp_device_init init = {
		.ia_name = ia->entry->info.ia_name,
		.params = ia->entry->params,
		.up = &dapl_upcalls,
		.loop = ia->loop,
		.owner = ia,
		.config = ia->config,
	};
	int err = dapl_module_transport.device->open(&init, &ia->dev);

	if (err) {
		dapl_trace(ia_not_opened, DAPL_TRC_ERROR, NULL, "name=%s why=%s", init.ia_name,
			   dapl_strerror(err));
		return dapl_status(err == -EINVAL ? -EADDRNOTAVAIL : err, DAT_RESOURCE_DEVICE);
	}
	dapl_module_transport.device->query(ia->dev, ia->attr);
	dapl_named_init(ia->named, &dapl_module_transport, ia->attr);
	return DAT_SUCCESS;
}

/* What lies beside an IA, which has to fit into a slot. */
struct parts {
	struct tp_device_attr attr;
	struct dapl_named named;
	struct dapl_ia_counters counters;
};

/* False: no memory for one. */
static bool make_parts(struct dapl_ia *ia)
{
	struct parts *parts = calloc(1, sizeof(*parts));

	ia->config = dapl_config_for_ia(ia->entry->info.ia_name);
	if (parts && ia->config) {
		ia->attr = &parts->attr;
		ia->named = &parts->named;
		ia->counters = &parts->counters;
		return true;
	}
	free(parts);
	dapl_err("%s not opened: %s", ia->entry->info.ia_name, dapl_strerror(ENOMEM));
	return false;
}

static void release(struct dapl_ia *ia)
{
	free(ia->config);
	if (ia->attr)
		free(container_of(ia->attr, struct parts, attr));
	dapl_lock_fini(&ia->bind_lock);
	pthread_cond_destroy(&ia->removed);
	pthread_mutex_destroy(&ia->lock);
	dapl_object_release(&ia->obj);
}

DAT_RETURN dapl_ia_new(struct dapl_entry *entry, const struct dapl_class *class,
		       struct dapl_ia **out)
{
	struct dapl_ia *ia = dapl_object_alloc(sizeof(*ia));
	DAT_RETURN rc;
	int err;

	if (!ia)
		return DAPL_NO_RESOURCE(MEMORY);
	pthread_mutex_init(&ia->lock, NULL);
	pthread_cond_init(&ia->removed, NULL);
	dapl_lock_init(&ia->bind_lock);
	ia->entry = entry;
	rc = DAPL_NO_RESOURCE(MEMORY);
	if (!make_parts(ia))
		goto release;
	err = dapl_loop_create(&ia->loop);
	rc = dapl_status(err, DAT_RESOURCE_DEVICE);
	if (err)
		goto release;
	rc = open_device(ia);
	if (rc)
		goto destroy_loop;
	dapl_object_init(&ia->obj, class, ia, &entry->table);
	*out = ia;
	return DAT_SUCCESS;

destroy_loop:
	dapl_loop_destroy(ia->loop);
release:
	release(ia);
	return rc;
}

void dapl_ia_delete(struct dapl_ia *ia)
{
	if (ia->agents)
		dapl_loop_destroy(ia->agents);
	dapl_module_transport.device->close(ia->dev);
	dapl_loop_destroy(ia->loop);
	release(ia);
}

static DAT_RETURN make_async(struct dapl_ia *ia, DAT_COUNT qlen, struct dapl_evd **evd)
{
	if ((uint32_t)qlen > ia->attr->max_cqe)
		return DAPL_NO_RESOURCE(TEVD);
	return dapl_evd_new(ia, qlen, NULL, DAT_EVD_ASYNC_FLAG, evd);
}

/* Its async EVD is given, or none, or of its own. */
static DAT_RETURN ia_open(struct dapl_entry *entry, DAT_COUNT qlen, struct dapl_evd *given,
			  DAT_EVD_HANDLE *async_evd, struct dapl_ia **out)
{
	struct dapl_evd *evd = given;
	bool own = !*async_evd;
	struct dapl_ia *ia;
	DAT_RETURN rc;

	rc = dapl_ia_new(entry, &dapl_ia_class, &ia);
	if (rc)
		return rc;
	if (own)
		rc = make_async(ia, qlen, &evd);
	if (rc) {
		dapl_object_retire(&ia->obj);
		dapl_ia_delete(ia);
		return rc;
	}
	dapl_open_add(ia);
	if (evd)
		dapl_async_set(ia, evd, own); /* the device may have events already */
	*async_evd = evd ? (DAT_EVD_HANDLE)evd : DAT_EVD_OUT_OF_SCOPE;
	*out = ia;
	return DAT_SUCCESS;
}

DAT_RETURN dapl_ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			DAT_IA_HANDLE *ia_handle)
{
	struct dapl_entry *entry;
	struct dapl_evd *given;
	struct dapl_ia *ia;
	DAT_RETURN rc;

	if (!name || !(entry = dapl_entry_find(name)))
		return dapl_fail(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	if (!async_evd)
		return DAPL_BAD_ARG(3);
	if (!ia_handle)
		return DAPL_BAD_ARG(4);
	*ia_handle = DAT_HANDLE_NULL;
	rc = choose_async(entry, *async_evd, qlen, &given);
	if (rc)
		return rc;
	rc = ia_open(entry, qlen, given, async_evd, &ia);
	if (given)
		dapl_evd_leave(given);
	if (!rc)
		*ia_handle = ia;
	return rc;
}

/* ---- Close ---- */

DAT_RETURN dapl_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS flags)
{
	struct dapl_ia *ia = dapl_ia_get(ia_handle);

	if (!ia)
		return DAPL_BAD_HANDLE(IA);
	if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
		return DAPL_BAD_ARG(2);
	/* A proxy agent can wait neither for its own end nor for those that may wait for it
	 * (CNO-19). */
	if (dapl_cno_in_agent(ia))
		return DAPL_BAD_STATE(IA_IN_USE);
	if (!dapl_ia_start_close(ia, flags == DAT_CLOSE_GRACEFUL_FLAG)) {
		dapl_say_left(ia);
		return DAPL_BAD_STATE(IA_IN_USE);
	}
	dapl_async_give_up(ia);
	dapl_ia_close_objects(ia);
	dapl_open_remove(ia);
	dapl_object_retire(&ia->obj);
	dapl_ia_delete(ia);
	dapl_wakefd_close(); /* the next wait of this thread makes another */
	return DAT_SUCCESS;
}
