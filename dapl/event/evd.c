/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/event/evd.h"

#include <errno.h>
#include <unistd.h>

#include "dapl/base/config.h"
#include "dapl/event/async.h"
#include "dapl/object/counters.h"
#include "dapl/connect/cr.h"
#include "dapl/transfer/dto.h"
#include "dapl/base/fd.h"
#include "dapl/object/ia.h"
#include "dapl/base/loop.h"
#include "dapl/transfer/srq.h"
#include "dapl/object/names.h"
#include "dapl/base/status.h"
#include "trace/log.h"

#define CQ_FLAGS (DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG)
#define ALL_FLAGS \
	(DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DEFAULT_FLAG | 0x200 /* DAT_IB_EVD_EXTENSION_FLAG */)

struct dapl_evd *dapl_evd_arg(DAT_EVD_HANDLE handle, const struct dapl_ia *ia, uint32_t flag)
{
	struct dapl_evd *evd = dapl_object_arg(handle, DAPL_TYPE_EVD);

	return evd && evd->obj.ia == ia && (evd->flags & flag) ? evd : NULL;
}

struct dapl_evd *dapl_evd_connect_arg(DAT_EVD_HANDLE handle, const struct dapl_ia *ia)
{
	struct dapl_evd *evd = dapl_object_arg(handle, DAPL_TYPE_EVD);

	if (dapl_config.strict)
		return dapl_evd_arg(handle, ia, DAT_EVD_CONNECTION_FLAG);
	return evd && evd->obj.ia->entry == ia->entry && (evd->flags & DAT_EVD_CONNECTION_FLAG)
		       ? evd
		       : NULL;
}

/* ---- Arrival ---- */

void dapl_evd_aim(struct dapl_evd *evd)
{
	static struct tp_cq nothing = { .take = dapl_plain_take };
	bool closer = evd->waiter || evd->overflowed || evd->ring.count || !evd->cq;

	evd->source = closer ? &nothing : evd->cq;
	atomic_store_explicit(&evd->bare, !evd->cq && !evd->waiter && !evd->ring.count,
			      memory_order_relaxed);
}

/* One arrival; lock held. A waiter owns the arrivals of its time, a CNO does not hear of them
 * (EVD-57). */
static bool add(struct dapl_evd *evd, const struct dapl_event *event)
{
	if (!dapl_ring_push(&evd->ring, event))
		return false;
	dapl_evd_aim(evd);
	if (evd->waiter && !event->silent && evd->ring.count >= evd->threshold)
		evd->satisfied = true;
	return true;
}

/* Whether one of the receives that were taken over as silent ones is none, as it turns out. */
static bool hear(struct dapl_evd *evd)
{
	if (!evd->unheard || !evd->cq->ops->announced(evd->cq))
		return false;
	evd->unheard = false;
	if (evd->waiter && evd->ring.count >= evd->threshold)
		evd->satisfied = true;
	return true;
}

/* Completions on their way into the ring. */
struct passage {
	struct dapl_evd *evd;
	const struct dapl_ep *ep; /* those of this one alone; NULL: all */
	bool notify, lost;	  /* one of them notifies, found no room */
};

/* Lock held. False: it is not to pass. */
static bool pass(void *arg, const struct tp_wc *wc)
{
	struct passage *passage = arg;
	struct dapl_evd *evd = passage->evd;
	struct dapl_event event;

	if (passage->ep && passage->ep != dapl_dto_ep(wc))
		return false;
	dapl_dto_event(wc, &event);
	if (dapl_evd_config(evd) == DAT_EVD_STATE_CONFIG_THRESHOLD)
		event.silent = false;
	passage->notify |= !event.silent;
	evd->unheard |= event.silent && evd->solicited && (wc->flags & TP_WC_PERHAPS);
	if (!add(evd, &event)) {
		passage->lost = true;
		if (event.srq)
			dapl_srq_let_go(event.srq);
	}
	return true;
}

bool dapl_evd_drain(struct dapl_evd *evd)
{
	struct passage passage = { .evd = evd };
	struct tp_wc wc;

	if (!evd->cq)
		return false;
	while (evd->ring.count < evd->ring.size && evd->cq->ops->poll(evd->cq, &wc) > 0)
		pass(&passage, &wc);
	return hear(evd) || passage.notify;
}

/* lock held */
static void trigger(struct dapl_evd *evd)
{
	if (evd->cno && !evd->disabled && !evd->waiter)
		dapl_cno_trigger_by(evd->cno, evd);
}

/* Completions were taken over: tells whoever is to hear of them; lock held. */
static void tell(struct dapl_evd *evd, bool notify)
{
	if (evd->satisfied)
		dapl_evd_wake(evd);
	if (notify && atomic_load_explicit(&evd->ear, memory_order_relaxed) == DAPL_EAR_CNO)
		trigger(evd);
}

/* lock held */
static void take_over(struct dapl_evd *evd)
{
	bool notify = dapl_evd_drain(evd);

	tell(evd, notify);
}

static bool is_connection(DAT_EVENT_NUMBER number)
{
	return number == DAT_CONNECTION_REQUEST_EVENT ||
	       (number >= DAT_CONNECTION_EVENT_ESTABLISHED &&
		number <= DAT_CONNECTION_EVENT_UNREACHABLE);
}

/* Lock held; gives it back. */
static bool post_held(struct dapl_evd *evd, const struct dapl_event *event)
{
	bool room;

	room = evd->ring.count < evd->qlen && add(evd, event);
	if (room) {
		evd->counts.connections += is_connection(event->number);
		if (evd->satisfied)
			dapl_evd_wake(evd);
		trigger(evd);
	}
	dapl_unlock(&evd->obj.lock);
	dapl_trace(event, DAPL_TRC_DETAIL, evd, "number=%s taken=%d",
		   dapl_event_name(event->number), room);
	return room;
}

bool dapl_evd_post(struct dapl_evd *evd, const struct dapl_event *event)
{
	dapl_lock(&evd->obj.lock);
	return post_held(evd, event);
}

bool dapl_evd_has_room(struct dapl_evd *evd)
{
	bool room;

	dapl_lock(&evd->obj.lock);
	room = evd->ring.count < evd->qlen;
	dapl_unlock(&evd->obj.lock);
	return room;
}

void dapl_evd_overflow(struct dapl_evd *evd)
{
	bool first;

	dapl_lock(&evd->obj.lock);
	first = !evd->overflowed;
	evd->overflowed = true;
	dapl_evd_aim(evd);
	dapl_unlock(&evd->obj.lock);
	if (!first)
		return;
	dapl_err_limited("EVD %p overflowed: an event was lost (limit: its queue length %u; knob: "
			 "evd_min_qlen of "
			 "dat_evd_create, dat_evd_resize)",
			 (void *)evd, evd->qlen);
	dapl_async_error(evd->obj.ia, DAT_ASYNC_ERROR_EVD_OVERFLOW, evd, DAT_EVD_OVERFLOW_ERROR);
}

bool dapl_evd_append(struct dapl_evd *evd, const struct dapl_event *event)
{
	if (dapl_evd_post(evd, event))
		return true;
	dapl_evd_overflow(evd);
	return false;
}

void dapl_evd_keep(struct dapl_evd *evd, const struct dapl_ep *ep)
{
	struct passage passage = { .evd = evd, .ep = ep };
	bool heard;

	if (!evd->cq)
		return;
	dapl_lock(&evd->obj.lock);
	evd->cq->ops->extract(evd->cq, pass, &passage);
	heard = hear(evd);
	tell(evd, heard || passage.notify);
	dapl_unlock(&evd->obj.lock);
	if (passage.lost)
		dapl_evd_overflow(evd);
}

/* ---- Completions and who hears of them ---- */

void dapl_evd_listen(struct dapl_evd *evd)
{
	bool listen = evd->cno && !evd->disabled && evd->cq && dapl_evd_has_streams(evd);

	if (evd->waiter)
		return;
	atomic_store_explicit(&evd->ear, listen ? DAPL_EAR_CNO : DAPL_EAR_NONE,
			      memory_order_seq_cst);
	if (listen)
		evd->cq->ops->arm(evd->cq, TP_ARM_NOTIFY);
}

void dapl_evd_forget(struct dapl_evd *evd)
{
	evd->unheard = false;
	evd->cq->ops->disarm(evd->cq);
	evd->cq->ops->announced(evd->cq);
}

void dapl_evd_count_stream(struct dapl_evd *evd, uint32_t *kind, int by)
{
	bool was, solicited, changed;

	dapl_lock(&evd->obj.lock);
	was = dapl_evd_has_streams(evd);
	*kind += (uint32_t)by;
	solicited = dapl_evd_config(evd) == DAT_EVD_STATE_CONFIG_SOLICITED;
	changed = evd->cq->solicited != solicited;
	if (changed) {
		evd->cq->solicited = solicited;
		evd->unheard = false;
		evd->cq->ops->announced(evd->cq);
	}
	if (changed || was != dapl_evd_has_streams(evd)) {
		dapl_evd_listen(evd);
		dapl_evd_wake(evd);
	}
	dapl_unlock(&evd->obj.lock);
}

/* On the loop: completions came that nobody waits for. */
static void look(struct tp_task *task)
{
	struct dapl_evd *evd = dapl_container(task, struct dapl_evd, task);

	dapl_lock(&evd->obj.lock);
	evd->counts.notices++;
	dapl_evd_listen(evd);
	take_over(evd);
	dapl_unlock(&evd->obj.lock);
}

void dapl_evd_cq_event(void *cq_owner)
{
	struct dapl_evd *evd = cq_owner;

	switch (atomic_load_explicit(&evd->ear, memory_order_seq_cst)) {
	case DAPL_EAR_WAITER:
		dapl_evd_wake(evd);
		break;
	case DAPL_EAR_CNO:
		dapl_loop_post(evd->obj.ia->loop, &evd->task);
		break;
	default:
		break;
	}
}

/* ---- Creation and end ---- */

/* Requests whose announcement nobody will see are refused (EVD-92). */
static void discard_events(struct dapl_evd *evd)
{
	struct dapl_event event;

	while (dapl_ring_pop(&evd->ring, &event)) {
		if (event.number == DAT_CONNECTION_REQUEST_EVENT)
			dapl_cr_discard(event.data.cr_arrival_event_data.cr_handle);
		if (event.srq)
			dapl_srq_let_go(event.srq);
	}
}

/* Retired already: nobody new comes in. */
static void end(struct dapl_object *obj)
{
	struct dapl_evd *evd = dapl_container(obj, struct dapl_evd, obj);
	struct dapl_ia *ia = obj->ia;
	struct dapl_cno *cno;
	struct tp_cq *cq;

	dapl_lock(&evd->obj.lock);
	evd->end = DAPL_END_ABORT;
	dapl_evd_wake(evd);
	dapl_unlock(&evd->obj.lock);
	dapl_object_wait_left(&evd->obj);
	dapl_lock(&evd->obj.lock);
	atomic_store(&evd->ear, DAPL_EAR_NONE);
	cno = evd->cno;
	evd->cno = NULL;
	cq = evd->cq;
	evd->cq = NULL; /* the loop may still be about to look */
	dapl_evd_aim(evd);
	dapl_unlock(&evd->obj.lock);

	if (cq)
		ia->dev->transport->cq->destroy(cq);
	dapl_loop_cancel(ia->loop, &evd->task);
	discard_events(evd);
	if (cno)
		dapl_cno_evd_gone(cno);
	if (evd->wakefd >= 0)
		dapl_fd_close(evd->wakefd);
	dapl_ring_fini(&evd->ring);
}

static void forget_and_end(struct dapl_object *obj)
{
	dapl_async_forget(dapl_container(obj, struct dapl_evd, obj));
	if (dapl_object_retire(obj))
		dapl_ia_end(obj);
}

/* The IA's own async EVD is not, unless something else refers to it, too (IA-10, IA-85). */
static bool in_way(const struct dapl_object *obj)
{
	const struct dapl_ia *ia = obj->ia;

	return !ia->async_evd_own || obj != &ia->async_evd->obj || dapl_object_users(obj) > 1;
}

const struct dapl_class dapl_evd_class = {
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
	atomic_init(&evd->wakefd, -1);
	evd->head.number = DAT_DTO_COMPLETION_EVENT;
	evd->head.evd = evd;
	evd->qlen = (uint32_t)qlen;
	evd->flags = flags;
	evd->cno = cno;
	evd->task.run = look;
	rc = DAPL_NO_RESOURCE(MEMORY);
	/* Everything the transport holds must find room behind what is queued already. */
	if (!dapl_ring_init(&evd->ring, (uint32_t)qlen + cqe)) {
		dapl_err("EVD queue of %d events not created: %s", qlen, dapl_strerror(ENOMEM));
		goto free_evd;
	}
	if (cqe) {
		dapl_evd_make_room(ia);
		err = ia->dev->transport->cq->create(ia->dev, cqe, evd, &evd->cq);
		rc = dapl_status(err, DAT_RESOURCE_TEVD);
		if (err)
			goto free_ring;
	}
	dapl_evd_aim(evd);
	if (!dapl_ia_add(ia, &evd->obj, &dapl_evd_class, ia->attr->max_cq)) {
		rc = DAPL_NO_RESOURCE(TEVD);
		goto destroy_cq;
	}
	if (cno) {
		dapl_lock(&evd->obj.lock);
		dapl_evd_listen(evd);
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
	evd = dapl_evd_hold(evd_handle);
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

/* The EVD, held, goes over to another CNO, which counts it already, or to none. */
static void change_cno(struct dapl_evd *evd, struct dapl_cno *cno)
{
	struct dapl_cno *old = evd->cno;

	take_over(evd); /* what arrived before does not trigger the new one (EVD-38) */
	evd->cno = cno;
	dapl_evd_listen(evd);
	take_over(evd); /* what arrived before the arming is not announced */
	dapl_unlock(&evd->obj.lock);
	if (old)
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
	evd = dapl_evd_hold(evd_handle);
	if (evd) {
		change_cno(evd, cno);
		return DAT_SUCCESS;
	}
	if (cno)
		dapl_object_unuse(&cno->obj);
	return DAPL_BAD_HANDLE(EVD_REQUEST);
}

static DAT_RETURN set_disabled(DAT_EVD_HANDLE evd_handle, bool disabled)
{
	struct dapl_evd *evd = dapl_evd_hold(evd_handle);

	if (!evd)
		return DAPL_BAD_HANDLE(EVD_REQUEST);
	take_over(evd); /* EVD-43 */
	evd->disabled = disabled;
	dapl_evd_listen(evd);
	take_over(evd); /* what arrived before the arming is not announced */
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
	struct dapl_evd *evd = dapl_evd_hold(evd_handle);

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

DAT_RETURN dapl_evd_post_se(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event)
{
	struct dapl_evd *evd = dapl_evd_get(evd_handle);
	struct dapl_event se = { .number = DAT_SOFTWARE_EVENT };

	if (!evd)
		return DAPL_BAD_HANDLE(EVD_REQUEST);
	if (!(evd->flags & DAT_EVD_SOFTWARE_FLAG))
		return DAPL_BAD_ARG(1);
	if (!event || event->event_number != DAT_SOFTWARE_EVENT)
		return DAPL_BAD_ARG(2);
	se.data.software_event_data.pointer = event->event_data.software_event_data.pointer;
	evd = dapl_evd_hold(evd_handle);
	if (!evd)
		return DAPL_BAD_HANDLE(EVD_REQUEST);
	/* Full is no overflow here (EVD-73). */
	return post_held(evd, &se) ? DAT_SUCCESS : dapl_fail(DAT_QUEUE_FULL, DAT_NO_SUBTYPE);
}

/* lock held; all or nothing */
static DAT_RETURN resize(struct dapl_evd *evd, uint32_t qlen)
{
	uint32_t cqe = evd->cq ? qlen : 0;
	int err;

	if (evd->waiter)
		return DAPL_BAD_STATE(EVD_WAITER);
	take_over(evd);
	if (qlen < evd->ring.count)
		return dapl_fail(DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	if (qlen == evd->qlen)
		return DAT_SUCCESS;
	if (evd->cq) {
		err = evd->cq->ops->resize(evd->cq, qlen);
		if (err)
			return dapl_status(err, DAT_RESOURCE_TEVD);
	}
	/* A ring that cannot move stays: it is the larger one then, or the queue keeps its old
	 * length. */
	if (!dapl_ring_resize(&evd->ring, qlen + cqe)) {
		dapl_err("EVD %p not resized to %u events: %s", (void *)evd, qlen,
			 dapl_strerror(ENOMEM));
		if (evd->cq)
			evd->cq->ops->resize(evd->cq, evd->qlen);
		return DAPL_NO_RESOURCE(MEMORY);
	}
	evd->qlen = qlen;
	return DAT_SUCCESS;
}

DAT_RETURN dapl_evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT qlen)
{
	struct dapl_evd *evd = dapl_evd_hold(evd_handle);
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
