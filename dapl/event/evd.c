/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/event/evd.h"

#include <errno.h>

#include "dapl/base/config.h"
#include "dapl/base/loop.h"
#include "dapl/base/status.h"
#include "dapl/base/wakefd.h"
#include "dapl/event/async.h"
#include "dapl/object/counters.h"
#include "dapl/object/ia.h"
#include "trace/log.h"

#define CQ_FLAGS (DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG)
#define ALL_FLAGS \
	(DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DEFAULT_FLAG | 0x200 /* DAT_IB_EVD_EXTENSION_FLAG */)

struct dapl_evd *dapl_evd_use(DAT_EVD_HANDLE handle, const struct dapl_ia *ia, uint32_t flag)
{
	struct dapl_evd *evd = dapl_object_use_arg(handle, DAPL_TYPE_EVD);

	if (!evd || (evd->obj.ia == ia && (evd->flags & flag)))
		return evd;
	dapl_object_unuse(&evd->obj);
	return NULL;
}

struct dapl_evd *dapl_evd_enter(DAT_EVD_HANDLE handle, uint32_t flag)
{
	struct dapl_evd *evd = dapl_object_arg(handle, DAPL_TYPE_EVD);

	if (!evd || !dapl_object_enter(&evd->obj, DAPL_TYPE_EVD))
		return NULL;
	if ((evd->flags & flag) && dapl_object_use_arg(handle, DAPL_TYPE_EVD))
		return evd;
	dapl_object_leave(&evd->obj);
	return NULL;
}

void dapl_evd_leave(struct dapl_evd *evd)
{
	dapl_object_unuse(&evd->obj);
	dapl_object_leave(&evd->obj);
}

/* ---- Creation and end ---- */

static void drop_events(struct dapl_evd *evd)
{
	struct dapl_event event;

	while (dapl_ring_pop(&evd->ring, &event))
		if (event.leave)
			event.leave(&event, false);
}

/* Retired already: nobody new comes in. */
static void end(struct dapl_object *obj)
{
	struct dapl_evd *evd = container_of(obj, struct dapl_evd, obj);
	struct dapl_ia *ia = obj->ia;
	struct dapl_cno *cno;
	struct tp_cq *cq;

	dapl_lock(&evd->obj.lock);
	evd->end = DAPL_END_ABORT;
	dapl_evd_wake(evd);
	dapl_unlock(&evd->obj.lock);
	dapl_object_wait_left(&evd->obj);
	dapl_lock(&evd->obj.lock);
	cno = evd->cno;
	evd->cno = NULL;
	dapl_evd_arm(evd); /* no more */
	cq = evd->cq;
	evd->cq = NULL; /* the loop may still be about to look */
	dapl_evd_choose_dequeue(evd);
	dapl_unlock(&evd->obj.lock);

	if (cq)
		ia->dev->transport->cq->destroy(cq);
	dapl_loop_cancel(ia->loop, &evd->task);
	drop_events(evd);
	if (cno)
		dapl_cno_evd_gone(cno);
	dapl_ring_fini(&evd->ring);
	dapl_lock_fini(&evd->notify_lock);
}

static void forget_and_end(struct dapl_object *obj)
{
	dapl_async_forget(container_of(obj, struct dapl_evd, obj));
	dapl_ia_end(obj);
}

/* The IA's own async EVD is not, unless something else refers to it, too (IA-10, IA-85). */
static bool in_way(const struct dapl_object *obj)
{
	const struct dapl_ia *ia = obj->ia;

	return !ia->async_evd_own || obj != &ia->async_evd->obj || dapl_object_users(obj) > 1;
}

static bool uses(struct dapl_object *obj, const struct dapl_object *part)
{
	struct dapl_evd *evd = container_of(obj, struct dapl_evd, obj);
	bool found;

	dapl_lock(&obj->lock);
	found = evd->cno && &evd->cno->obj == part;
	dapl_unlock(&obj->lock);
	return found;
}

const struct dapl_class dapl_evd_class = {
	.uses = uses,
	.name = "EVD",
	.type = DAPL_TYPE_EVD,
	.handle_type = DAT_HANDLE_TYPE_EVD,
	.bad_handle = DAT_INVALID_HANDLE_EVD_REQUEST,
	.in_use = DAT_INVALID_STATE_EVD_IN_USE,
	.fields = DAT_EVD_FIELD_ALL,
	.freed = DCNT_IA_EVD_FREE,
	.end = end,
	.close = forget_and_end,
	.in_way = in_way,
	.describe = dapl_evd_describe,
	.read_counters = dapl_evd_read_counters,
	.counter_names = dapl_evd_counter_names,
	.num_counters = DCNT_EVD_ALL_COUNTERS,
};

DAT_RETURN dapl_evd_new(struct dapl_ia *ia, DAT_COUNT qlen, struct dapl_cno *cno, uint32_t flags,
			struct dapl_evd **out)
{
	uint32_t cqe = flags & CQ_FLAGS ? (uint32_t)qlen : 0;
	struct dapl_evd *evd;
	DAT_RETURN rc;
	int err;

	evd = dapl_object_alloc(sizeof(*evd));
	if (!evd)
		return DAPL_NO_RESOURCE(MEMORY);
	dapl_lock_init(&evd->notify_lock);
	evd->qlen = (uint32_t)qlen;
	evd->flags = flags;
	evd->cno = cno;
	evd->task.run = dapl_evd_run_task;
	rc = DAPL_NO_RESOURCE(MEMORY);
	/* Everything the transport holds must find room behind what is queued already. */
	if (!dapl_ring_init(&evd->ring, (uint32_t)qlen + cqe)) {
		dapl_err("EVD queue of %d events not created: %s", qlen, dapl_strerror(ENOMEM));
		goto free_evd;
	}
	if (cqe) {
		dapl_wakefd_close(); /* the last one is better used for the queue */
		err = ia->dev->transport->cq->create(ia->dev, cqe, evd, &evd->cq);
		rc = dapl_status(err, DAT_RESOURCE_TEVD);
		if (err)
			goto free_ring;
		evd->cq->lock = &evd->obj.lock;
	}
	dapl_evd_choose_dequeue(evd);
	if (!dapl_ia_add(ia, &evd->obj, &dapl_evd_class, ia->attr->max_cq)) {
		rc = DAPL_NO_RESOURCE(TEVD);
		goto destroy_cq;
	}
	if (cno) {
		atomic_fetch_add(&cno->evds, 1);
		dapl_lock(&evd->obj.lock);
		dapl_evd_arm(evd);
		dapl_unlock(&evd->obj.lock);
	}
	*out = evd;
	return DAT_SUCCESS;

destroy_cq:
	if (evd->cq)
		ia->dev->transport->cq->destroy(evd->cq);
free_ring:
	dapl_ring_fini(&evd->ring);
free_evd:
	dapl_lock_fini(&evd->notify_lock);
	dapl_object_release(&evd->obj);
	return rc;
}

static DAT_RETURN create(struct dapl_ia *ia, DAT_COUNT qlen, struct dapl_cno *cno, uint32_t flags,
			 DAT_EVD_HANDLE *evd_handle)
{
	struct dapl_evd *evd;
	DAT_RETURN rc;

	if (qlen <= 0)
		return DAPL_BAD_ARG(2);
	if (!flags || (flags & ~(uint32_t)ALL_FLAGS))
		return DAPL_BAD_ARG(4);
	if (!evd_handle)
		return DAPL_BAD_ARG(5);
	if ((uint32_t)qlen > ia->attr->max_cqe)
		return DAPL_NO_RESOURCE(TEVD);
	rc = dapl_evd_new(ia, qlen, cno, flags, &evd);
	if (rc)
		return rc;
	dapl_count(ia, DCNT_IA_EVD_CREATE);
	*evd_handle = evd;
	return DAT_SUCCESS;
}

DAT_RETURN dapl_evd_create(DAT_IA_HANDLE ia_handle, DAT_COUNT qlen, DAT_CNO_HANDLE cno_handle,
			   DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd_handle)
{
	struct dapl_ia *ia = dapl_ia_get(ia_handle);
	struct dapl_cno *cno = NULL;
	DAT_RETURN rc;

	if (!ia)
		return DAPL_BAD_HANDLE(IA);
	if (cno_handle) {
		cno = dapl_cno_use(cno_handle, ia);
		if (!cno)
			return DAPL_BAD_HANDLE(CNO);
	}
	rc = create(ia, qlen, cno, (uint32_t)flags, evd_handle);
	if (rc && cno)
		dapl_object_unuse(&cno->obj);
	return rc;
}

DAT_RETURN dapl_evd_free(DAT_EVD_HANDLE evd_handle)
{
	return dapl_ia_free(evd_handle, &dapl_evd_class);
}

/* ---- The other calls ---- */

/* Programs compare the state with ENABLED and WAITABLE, so more comes in strict mode only (EVD-17).
 */
static DAT_EVD_STATE state(const struct dapl_evd *evd)
{
	return (DAT_EVD_STATE)((evd->disabled ? DAT_EVD_STATE_DISABLED : DAT_EVD_STATE_ENABLED) |
			       (evd->unwaitable ? DAT_EVD_STATE_UNWAITABLE
						: DAT_EVD_STATE_WAITABLE) |
			       (dapl_config.strict ? dapl_evd_config(evd) : 0));
}

DAT_RETURN dapl_evd_query(DAT_EVD_HANDLE evd_handle, DAT_EVD_PARAM_MASK mask, DAT_EVD_PARAM *param)
{
	struct dapl_evd *evd;
	DAT_RETURN rc;

	if (!dapl_object_query(evd_handle, &dapl_evd_class, mask, param, &rc))
		return rc;
	evd = dapl_evd_lock(evd_handle);
	if (!evd)
		return DAPL_BAD_HANDLE(EVD_REQUEST);
	param->ia_handle = dapl_ia_handle(evd->obj.ia);
	param->evd_qlen = (DAT_COUNT)evd->qlen;
	param->evd_state = state(evd);
	param->cno_handle = evd->cno;
	param->evd_flags = (DAT_EVD_FLAGS)evd->flags;
	dapl_unlock(&evd->obj.lock);
	return DAT_SUCCESS;
}

/* cno, if any, counts the EVD already. */
static void change_cno(struct dapl_evd *evd, struct dapl_cno *cno)
{
	struct dapl_cno *old = evd->cno;

	dapl_assert_held(&evd->obj.lock);
	dapl_evd_drain_notify(evd); /* triggers the old one (EVD-38) */
	if (cno)
		atomic_fetch_add(&cno->evds, 1);
	evd->cno = cno;
	dapl_evd_arm(evd);
	dapl_evd_drain_notify(evd); /* what came before the CQ was armed */
	if (!old)
		return;
	atomic_fetch_sub(&old->evds, 1);
	dapl_object_unuse(&old->obj);
}

DAT_RETURN dapl_evd_modify_cno(DAT_EVD_HANDLE evd_handle, DAT_CNO_HANDLE cno_handle)
{
	struct dapl_evd *evd = dapl_evd_get(evd_handle);
	struct dapl_cno *cno = NULL;

	if (!evd)
		return DAPL_BAD_HANDLE(EVD_REQUEST);
	if (cno_handle) {
		cno = dapl_cno_use(cno_handle, evd->obj.ia);
		if (!cno)
			return DAPL_BAD_HANDLE(CNO);
	}
	evd = dapl_evd_lock(evd_handle);
	if (!evd) {
		if (cno)
			dapl_object_unuse(&cno->obj);
		return DAPL_BAD_HANDLE(EVD_REQUEST);
	}
	change_cno(evd, cno);
	dapl_unlock(&evd->obj.lock);
	return DAT_SUCCESS;
}

static DAT_RETURN set_disabled(DAT_EVD_HANDLE evd_handle, bool disabled)
{
	struct dapl_evd *evd = dapl_evd_lock(evd_handle);

	if (!evd)
		return DAPL_BAD_HANDLE(EVD_REQUEST);
	dapl_evd_drain_notify(evd); /* EVD-43 */
	evd->disabled = disabled;
	dapl_evd_arm(evd);
	dapl_evd_drain_notify(evd); /* what came before the CQ was armed */
	dapl_unlock(&evd->obj.lock);
	return DAT_SUCCESS;
}

DAT_RETURN dapl_evd_enable(DAT_EVD_HANDLE evd_handle)
{
	return set_disabled(evd_handle, false);
}

DAT_RETURN dapl_evd_disable(DAT_EVD_HANDLE evd_handle)
{
	return set_disabled(evd_handle, true);
}

static DAT_RETURN set_unwaitable(DAT_EVD_HANDLE evd_handle, bool unwaitable)
{
	struct dapl_evd *evd = dapl_evd_lock(evd_handle);

	if (!evd)
		return DAPL_BAD_HANDLE(EVD_REQUEST);
	evd->unwaitable = unwaitable;
	if (unwaitable && evd->waiter) {
		evd->end = DAPL_END_UNWAITABLE;
		dapl_evd_wake(evd);
	}
	dapl_unlock(&evd->obj.lock);
	return DAT_SUCCESS;
}

DAT_RETURN dapl_evd_set_unwaitable(DAT_EVD_HANDLE evd_handle)
{
	return set_unwaitable(evd_handle, true);
}

DAT_RETURN dapl_evd_clear_unwaitable(DAT_EVD_HANDLE evd_handle)
{
	return set_unwaitable(evd_handle, false);
}

/* All or nothing. */
static DAT_RETURN resize(struct dapl_evd *evd, uint32_t qlen)
{
	uint32_t cqe = evd->cq ? qlen : 0;
	struct dapl_ring ring;
	int err;

	dapl_assert_held(&evd->obj.lock);
	if (evd->waiter)
		return DAPL_BAD_STATE(EVD_WAITER);
	dapl_evd_drain_notify(evd);
	if (qlen == evd->qlen)
		return DAT_SUCCESS;
	if (qlen < evd->ring.count + evd->reserved)
		return dapl_fail(DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	if (!dapl_ring_init(&ring, qlen + cqe)) {
		dapl_err("EVD %p not resized to %u events: %s", (void *)evd, qlen,
			 dapl_strerror(ENOMEM));
		return DAPL_NO_RESOURCE(MEMORY);
	}
	if (evd->cq) {
		err = evd->cq->ops->resize(evd->cq, qlen);
		if (err) {
			dapl_ring_fini(&ring);
			return dapl_status(err, DAT_RESOURCE_TEVD);
		}
	}
	dapl_ring_move(&evd->ring, &ring);
	evd->qlen = qlen;
	return DAT_SUCCESS;
}

DAT_RETURN dapl_evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT qlen)
{
	struct dapl_evd *evd = dapl_evd_lock(evd_handle);
	DAT_RETURN rc;

	if (!evd)
		return DAPL_BAD_HANDLE(EVD_REQUEST);
	if (qlen <= 0 || (uint32_t)qlen > evd->obj.ia->attr->max_cqe)
		rc = DAPL_BAD_ARG(2);
	else
		rc = resize(evd, (uint32_t)qlen);
	dapl_unlock(&evd->obj.lock);
	return rc;
}
