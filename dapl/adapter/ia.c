/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Opening and closing an interface adapter, and its list of objects. */
#include "dapl/object/ia.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dapl/base/config.h"
#include "dapl/object/counters.h"
#include "dapl/connect/cr.h"
#include "dapl/base/fd.h"
#include "dapl/memory/lmr.h"
#include "dapl/base/loop.h"
#include "dapl/adapter/named_attr.h"
#include "dapl/object/names.h"
#include "dapl/module.h"
#include "dapl/memory/rmr.h"
#include "dapl/transfer/srq.h"
#include "dapl/base/status.h"
#include "trace/log.h"

static_assert(sizeof(struct dapl_ia) <= DAPL_SLOT_SIZE, "an IA is an object");

const DAT_PROVIDER *dapl_ia_table(const struct dapl_ia *ia)
{
	return &ia->provider->table;
}

DAT_IA_HANDLE dapl_ia_handle(struct dapl_ia *ia)
{
	DAT_IA_HANDLE handle;

	return dats_get_ia_handle(ia, &handle) == DAT_SUCCESS ? handle : DAT_HANDLE_NULL;
}

/* ---- Objects ---- */

bool dapl_ia_add(struct dapl_ia *ia, struct dapl_object *obj, enum dapl_type type, uint32_t limit)
{
	uint32_t *count = &ia->counts[type - DAPL_TYPE_IA];
	bool room;

	pthread_mutex_lock(&ia->lock);
	room = !ia->closing && *count < limit;
	if (room) {
		++*count;
		obj->next = ia->objects;
		if (obj->next)
			obj->next->link = &obj->next;
		obj->link = &ia->objects;
		ia->objects = obj;
		dapl_object_init(obj, type, ia);
	}
	pthread_mutex_unlock(&ia->lock);
	if (!room)
		return false;
	dapl_trace(object_new, DAPL_TRC_NORMAL, obj, "type=%s ia=%p", dapl_type_name(type),
		   (void *)ia);
	dapl_count(ia, DCNT_IA_MEM_ALLOC);
	dapl_count_by(ia, DCNT_IA_MEM_ALLOC_DATA, DAPL_SLOT_SIZE);
	return true;
}

void dapl_ia_remove(struct dapl_object *obj, enum dapl_type type)
{
	struct dapl_ia *ia = obj->ia;

	dapl_trace(object_gone, DAPL_TRC_NORMAL, obj, "type=%s ia=%p", dapl_type_name(type),
		   (void *)ia);
	pthread_mutex_lock(&ia->lock);
	ia->counts[type - DAPL_TYPE_IA]--;
	*obj->link = obj->next;
	if (obj->next)
		obj->next->link = obj->link;
	pthread_mutex_unlock(&ia->lock);
	dapl_count(ia, DCNT_IA_MEM_FREE);
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

/* ---- Upcalls ---- */

static void tell(struct dapl_ia *ia, DAT_EVENT_NUMBER number, DAT_HANDLE object, DAT_COUNT reason)
{
	struct dapl_event event = { .number = number };
	struct dapl_evd *evd;

	event.data.asynch_error_event_data.dat_handle = object;
	event.data.asynch_error_event_data.reason = reason;
	pthread_mutex_lock(&ia->lock);
	evd = ia->async_evd;
	if (evd && !dapl_object_enter(&evd->obj, DAPL_TYPE_EVD))
		evd = NULL;
	pthread_mutex_unlock(&ia->lock);
	if (!evd)
		return;
	dapl_evd_post(evd, &event); /* full: dropped without a word (EVD-98) */
	dapl_object_leave(&evd->obj);
}

void dapl_ia_async(struct dapl_ia *ia, DAT_EVENT_NUMBER number, DAT_HANDLE object, DAT_COUNT reason)
{
	dapl_count(ia, DCNT_IA_ASYNC_ERROR);
	if (number == DAT_ASYNC_ERROR_EP_BROKEN)
		dapl_count(ia, DCNT_IA_ASYNC_QP_ERROR);
	if (number == DAT_ASYNC_ERROR_EVD_OVERFLOW)
		dapl_count(ia, DCNT_IA_ASYNC_CQ_ERROR);
	tell(ia, number, object, reason);
}

void dapl_ia_watermark(struct dapl_ia *ia, DAT_HANDLE object, DAT_COUNT reason)
{
	dapl_trace(watermark, DAPL_TRC_NORMAL, object, "ia=%p reason=%d", (void *)ia, reason);
	tell(ia, DAT_ASYNC_ERROR_EP_BROKEN, object, reason);
}

void dapl_ia_last_receive(struct dapl_ia *ia, DAT_HANDLE ep)
{
	tell(ia, DAT_ASYNC_ERROR_EP_BROKEN, ep, DAT_EP_OTHER_ERROR);
}

static void async_error(void *device_owner, enum tp_async_event event, void *object)
{
	struct dapl_ia *ia = device_owner;

	dapl_trace_limited(async_event, DAPL_TRC_ERROR, object, "ia=%p event=%s", (void *)ia,
			   dapl_async_event_name(event));
	switch (event) {
	case TP_ASYNC_QP_ERROR:
		dapl_ia_async(ia, DAT_ASYNC_ERROR_EP_BROKEN, object, DAT_EP_TRANSFER_TO_ERROR);
		break;
	case TP_ASYNC_CQ_OVERFLOW:
		dapl_evd_overflow(object);
		break;
	case TP_ASYNC_SRQ_ERROR:
		dapl_srq_failed(object);
		dapl_ia_async(ia, DAT_ASYNC_ERROR_EP_BROKEN, object, DAT_SRQ_TRANSFER_TO_ERROR);
		break;
	case TP_ASYNC_DEVICE_FATAL:
		dapl_internal_error("the device failed");
		dapl_ia_async(ia, DAT_ASYNC_ERROR_IA_CATASTROPHIC, dapl_ia_handle(ia),
			      DAT_IA_CATASTROPHIC_ERROR);
		break;
	case TP_ASYNC_DEVICE_OTHER:
		dapl_ia_async(ia, DAT_ASYNC_ERROR_IA_CATASTROPHIC, dapl_ia_handle(ia),
			      DAT_IA_OTHER_ERROR);
		break;
	default:
		break;
	}
}

static void async_event(void *device_owner, enum tp_async_event event, void *object)
{
	if (event == TP_ASYNC_QP_RECV_LIMIT)
		dapl_ia_watermark(device_owner, object, DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
	else if (event == TP_ASYNC_SRQ_LIMIT)
		dapl_ia_watermark(device_owner, object, DAT_SRQ_LOW_WATERMARK_EVENT);
	else
		async_error(device_owner, event, object);
}

static void hold_qp(void *owner)
{
	dapl_lock(&((struct dapl_ep *)owner)->lock);
}

static void free_qp(void *owner)
{
	dapl_unlock(&((struct dapl_ep *)owner)->lock);
}

static void hold_cq(void *owner)
{
	dapl_lock(&((struct dapl_object *)owner)->lock);
}

static void free_cq(void *owner)
{
	dapl_unlock(&((struct dapl_object *)owner)->lock);
}

static void conn_addr(void *owner)
{
	dapl_ep_learn_addr(owner);
}

static const struct tp_upcalls upcalls = {
	.conn_request = dapl_sp_request,
	.conn_event = dapl_ep_conn_event,
	.conn_addr = conn_addr,
	.cq_event = dapl_evd_cq_event,
	.async = async_event,
	.hold_qp = hold_qp,
	.free_qp = free_qp,
	.hold_cq = hold_cq,
	.free_cq = free_cq,
};

/* ---- Open ---- */

/* What *async_evd_handle asks for (IA-3, IA-5, IA-10). */
static DAT_RETURN choose_async(const struct dapl_provider *provider, DAT_EVD_HANDLE handle,
			       DAT_COUNT qlen, struct dapl_evd **given)
{
	struct dapl_evd *evd;

	*given = NULL;
	if (handle == DAT_EVD_ASYNC_EXISTS)
		return DAT_SUCCESS;
	if (!handle)
		return qlen > 0 ? DAT_SUCCESS : DAPL_BAD_ARG(2);
	evd = dapl_object_arg(handle, DAPL_TYPE_EVD);
	if (!evd || !(evd->flags & DAT_EVD_ASYNC_FLAG) ||
	    strcmp(evd->obj.ia->provider->info.ia_name, provider->info.ia_name))
		return DAPL_BAD_HANDLE(EVD_ASYNC);
	*given = evd;
	return DAT_SUCCESS;
}

static DAT_RETURN open_device(struct dapl_ia *ia)
{
	struct tp_device_init init = {
		.ia_name = ia->provider->info.ia_name,
		.params = ia->provider->params,
		.up = &upcalls,
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

/* False: no memory for one. */
static bool make_parts(struct dapl_ia *ia)
{
	ia->attr = calloc(1, sizeof(*ia->attr));
	ia->named = calloc(1, sizeof(*ia->named));
	ia->counters = calloc(1, sizeof(*ia->counters));
	ia->config = dapl_config_for_ia(ia->provider->info.ia_name);
	if (ia->attr && ia->named && ia->counters && ia->config)
		return true;
	dapl_err("%s not opened: %s", ia->provider->info.ia_name, dapl_strerror(ENOMEM));
	return false;
}

static void free_parts(struct dapl_ia *ia)
{
	free(ia->config);
	free(ia->counters);
	free(ia->named);
	free(ia->attr);
}

DAT_RETURN dapl_ia_new(struct dapl_provider *provider, enum dapl_type type, struct dapl_ia **out)
{
	struct dapl_ia *ia = dapl_object_alloc(sizeof(*ia));
	DAT_RETURN rc;
	int err;

	if (!ia)
		return DAPL_NO_RESOURCE(MEMORY);
	pthread_mutex_init(&ia->lock, NULL);
	dapl_lock_init(&ia->bind_lock);
	ia->provider = provider;
	rc = DAPL_NO_RESOURCE(MEMORY);
	if (!make_parts(ia))
		goto free_parts;
	err = dapl_loop_create(&ia->loop);
	rc = dapl_status(err, DAT_RESOURCE_DEVICE);
	if (err)
		goto free_parts;
	rc = open_device(ia);
	if (rc)
		goto destroy_loop;
	dapl_object_init(&ia->obj, type, ia);
	*out = ia;
	return DAT_SUCCESS;

destroy_loop:
	dapl_loop_destroy(ia->loop);
free_parts:
	free_parts(ia);
	dapl_lock_fini(&ia->bind_lock);
	pthread_mutex_destroy(&ia->lock);
	dapl_object_release(&ia->obj);
	return rc;
}

static void close_wakefds(struct dapl_ia *ia)
{
	for (size_t i = 0; i < DAPL_SPARE_WAKEFDS; i++)
		if (ia->spare_wakefds[i])
			dapl_fd_close(ia->spare_wakefds[i] - 1);
}

void dapl_ia_delete(struct dapl_ia *ia)
{
	dapl_object_retire(&ia->obj, DAPL_TYPE_IA);
	if (ia->agents)
		dapl_loop_destroy(ia->agents);
	dapl_module_transport.device->close(ia->dev);
	dapl_loop_destroy(ia->loop);
	close_wakefds(ia);
	free_parts(ia);
	dapl_lock_fini(&ia->bind_lock);
	pthread_mutex_destroy(&ia->lock);
	dapl_object_release(&ia->obj);
}

static DAT_RETURN make_async(struct dapl_ia *ia, DAT_COUNT qlen, struct dapl_evd **evd)
{
	if ((uint32_t)qlen > ia->attr->max_cqe)
		return DAPL_NO_RESOURCE(TEVD);
	return dapl_evd_new(ia, qlen, NULL, DAT_EVD_ASYNC_FLAG, evd);
}

/* The device may have something to say already. */
static void take_async(struct dapl_ia *ia, struct dapl_evd *evd, bool own)
{
	if (!evd)
		return;
	dapl_object_use(&evd->obj);
	pthread_mutex_lock(&ia->lock);
	ia->async_evd = evd;
	ia->async_evd_own = own;
	pthread_mutex_unlock(&ia->lock);
}

DAT_RETURN dapl_ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			DAT_IA_HANDLE *ia_handle)
{
	struct dapl_provider *provider;
	struct dapl_evd *evd;
	struct dapl_ia *ia = NULL;
	bool own = false;
	DAT_RETURN rc;

	if (!name || !(provider = dapl_provider_find(name)))
		return dapl_fail(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	if (!async_evd)
		return DAPL_BAD_ARG(3);
	if (!ia_handle)
		return DAPL_BAD_ARG(4);
	*ia_handle = DAT_HANDLE_NULL;
	rc = choose_async(provider, *async_evd, qlen, &evd);
	if (rc)
		return rc;
	rc = dapl_ia_new(provider, DAPL_TYPE_IA, &ia);
	if (rc)
		return rc;
	if (!*async_evd) {
		own = true;
		rc = make_async(ia, qlen, &evd);
	}
	if (rc) {
		dapl_ia_delete(ia);
		return rc;
	}
	take_async(ia, evd, own);
	dapl_provider_opened(ia);
	*async_evd = evd ? (DAT_EVD_HANDLE)evd : DAT_EVD_OUT_OF_SCOPE;
	*ia_handle = ia;
	return DAT_SUCCESS;
}

/* ---- Close ---- */

/* Objects that a graceful close does not mind: its own async EVD and spent RSPs (IA-83, IA-85,
 * RSP-7). */
static bool in_way(const struct dapl_ia *ia, struct dapl_object *obj)
{
	if (ia->async_evd_own && ia->async_evd && obj == &ia->async_evd->obj)
		return dapl_object_users(obj) > 1; /* IA-10 */
	if (atomic_load(&obj->type) == DAPL_TYPE_RSP)
		return !((struct dapl_rsp *)obj)->spent;
	return true;
}

/* Whether the close goes ahead; from then on nothing new is made. */
static bool start_close(struct dapl_ia *ia, bool graceful)
{
	struct dapl_object *obj;
	bool go = true;

	pthread_mutex_lock(&ia->lock);
	for (obj = graceful ? ia->objects : NULL; obj && go; obj = obj->next)
		go = !in_way(ia, obj);
	if (go)
		ia->closing = true;
	pthread_mutex_unlock(&ia->lock);
	return go;
}

static void close_ep(struct dapl_object *obj)
{
	struct dapl_ep *ep = dapl_container(obj, struct dapl_ep, obj);
	struct dapl_ep_step step;
	DAT_RETURN rc;

	dapl_lock(&ep->lock);
	rc = dapl_ep_fire(ep, DAPL_EP_CLOSE, &step);
	dapl_unlock(&ep->lock);
	if (!rc)
		dapl_ep_delete(ep);
}

static void close_one(struct dapl_object *obj, enum dapl_type type)
{
	switch (type) {
	case DAPL_TYPE_RSP:
		dapl_rsp_destroy((struct dapl_rsp *)obj);
		break;
	case DAPL_TYPE_PSP:
		dapl_psp_destroy((struct dapl_psp *)obj);
		break;
	case DAPL_TYPE_CSP:
		dapl_csp_destroy((struct dapl_csp *)obj);
		break;
	case DAPL_TYPE_CR:
		dapl_cr_discard(obj);
		break;
	case DAPL_TYPE_SRQ:
		dapl_srq_destroy((struct dapl_srq *)obj);
		break;
	case DAPL_TYPE_RMR:
		dapl_rmr_destroy((struct dapl_rmr *)obj);
		break;
	case DAPL_TYPE_EP:
		close_ep(obj);
		break;
	case DAPL_TYPE_LMR:
		dapl_lmr_destroy((struct dapl_lmr *)obj);
		break;
	case DAPL_TYPE_PZ:
		dapl_pz_destroy((struct dapl_pz *)obj);
		break;
	case DAPL_TYPE_EVD:
		dapl_provider_forget_evd((struct dapl_evd *)obj);
		dapl_evd_destroy((struct dapl_evd *)obj);
		break;
	case DAPL_TYPE_CNO:
		dapl_cno_destroy((struct dapl_cno *)obj);
		break;
	default:
		break;
	}
}

static struct dapl_object *first_of(struct dapl_ia *ia, enum dapl_type type)
{
	struct dapl_object *obj;

	pthread_mutex_lock(&ia->lock);
	for (obj = ia->objects; obj && atomic_load(&obj->type) != (uint32_t)type; obj = obj->next)
		;
	pthread_mutex_unlock(&ia->lock);
	return obj;
}

/* Whoever refers to others goes before them (IA-86). */
static void close_all(struct dapl_ia *ia)
{
	static const enum dapl_type order[] = { DAPL_TYPE_RSP, DAPL_TYPE_PSP, DAPL_TYPE_CSP,
						DAPL_TYPE_CR,  DAPL_TYPE_RMR, DAPL_TYPE_EP,
						DAPL_TYPE_SRQ, DAPL_TYPE_LMR, DAPL_TYPE_PZ,
						DAPL_TYPE_EVD, DAPL_TYPE_CNO };
	struct dapl_object *obj;
	size_t i;

	for (i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		while ((obj = first_of(ia, order[i])))
			close_one(obj, order[i]);
}

DAT_RETURN dapl_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS flags)
{
	struct dapl_ia *ia = dapl_ia_get(ia_handle);

	if (!ia)
		return DAPL_BAD_HANDLE(IA);
	if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
		return DAPL_BAD_ARG(2);
	/* A proxy agent's thread cannot wait for its own end (CNO-19). */
	if (ia->agents && dapl_loop_is_self(ia->agents))
		return DAPL_BAD_STATE(IA_IN_USE);
	if (!start_close(ia, flags == DAT_CLOSE_GRACEFUL_FLAG))
		return DAPL_BAD_STATE(IA_IN_USE);
	dapl_provider_closing(ia);
	close_all(ia);
	dapl_provider_closed(ia);
	dapl_ia_delete(ia);
	return DAT_SUCCESS;
}
