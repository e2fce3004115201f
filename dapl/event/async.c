/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/event/async.h"

#include "dapl/object/counters.h"
#include "dapl/object/entries.h"
#include "trace/log.h"

static void post(struct dapl_ia *ia, DAT_EVENT_NUMBER number, DAT_HANDLE object, DAT_COUNT reason)
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

void dapl_async_error(struct dapl_ia *ia, DAT_EVENT_NUMBER number, DAT_HANDLE object,
		      DAT_COUNT reason)
{
	dapl_count(ia, DCNT_IA_ASYNC_ERROR);
	if (number == DAT_ASYNC_ERROR_EP_BROKEN)
		dapl_count(ia, DCNT_IA_ASYNC_QP_ERROR);
	if (number == DAT_ASYNC_ERROR_EVD_OVERFLOW)
		dapl_count(ia, DCNT_IA_ASYNC_CQ_ERROR);
	post(ia, number, object, reason);
}

void dapl_async_watermark(struct dapl_ia *ia, DAT_HANDLE object, DAT_COUNT reason)
{
	dapl_trace(watermark, DAPL_TRC_NORMAL, object, "ia=%p reason=%d", (void *)ia, reason);
	post(ia, DAT_ASYNC_ERROR_EP_BROKEN, object, reason);
}

void dapl_async_last_receive(struct dapl_ia *ia, DAT_HANDLE ep)
{
	post(ia, DAT_ASYNC_ERROR_EP_BROKEN, ep, DAT_EP_OTHER_ERROR);
}

/* ---- Overflow ---- */

void dapl_evd_overflow(struct dapl_evd *evd)
{
	if (!dapl_evd_set_overflowed(evd))
		return;
	dapl_err_limited("EVD %p overflowed: an event was lost (limit: its queue length %u; knob: "
			 "evd_min_qlen of dat_evd_create, dat_evd_resize)",
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

void dapl_evd_drain_ep(struct dapl_evd *evd, const void *ep)
{
	if (!dapl_evd_extract(evd, ep))
		dapl_evd_overflow(evd);
}

/* ---- The EVD they go to ---- */

void dapl_async_set(struct dapl_ia *ia, struct dapl_evd *evd, bool own)
{
	dapl_object_use(&evd->obj);
	pthread_mutex_lock(&ia->lock);
	ia->async_evd = evd;
	ia->async_evd_own = own;
	/* Its own IA, which is closing, may have had it forgotten before. */
	if (!dapl_object_is(&evd->obj, DAPL_TYPE_EVD))
		ia->async_evd = NULL;
	pthread_mutex_unlock(&ia->lock);
}

static void give_up(void *arg, struct dapl_ia *ia)
{
	if (ia != arg)
		return;
	pthread_mutex_lock(&ia->lock);
	if (ia->async_evd && !ia->async_evd_own) {
		dapl_object_unuse(&ia->async_evd->obj);
		ia->async_evd = NULL;
	}
	pthread_mutex_unlock(&ia->lock);
}

/* Under the lock of the list of open IAs: the EVD's own may be closing and about to forget it. */
void dapl_async_give_up(struct dapl_ia *ia)
{
	dapl_open_each(give_up, ia);
}

static void forget(void *arg, struct dapl_ia *ia)
{
	struct dapl_evd *evd = arg;
	struct dapl_object *obj;

	pthread_mutex_lock(&ia->lock);
	if (ia->async_evd == evd)
		ia->async_evd = NULL;
	for (obj = ia->objects; obj; obj = obj->next)
		if (obj->class->forget)
			obj->class->forget(obj, &evd->obj);
	pthread_mutex_unlock(&ia->lock);
}

void dapl_async_forget(struct dapl_evd *evd)
{
	dapl_open_each(forget, evd);
}
