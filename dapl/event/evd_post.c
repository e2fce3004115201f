/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Events come into an EVD, and whoever waits for them is told. */
#include "dapl/base/fd.h"
#include "dapl/base/loop.h"
#include "dapl/base/status.h"
#include "dapl/event/completion.h"
#include "dapl/event/evd.h"
#include "dapl/object/ia.h"
#include "dapl/object/code_names.h"
#include "trace/log.h"

/* ---- Waking ---- */

/*
 * True: the waiter sleeps on its word, and the caller is to wake it there, best without a lock that
 * it takes then. The word is there even if the EVD goes meanwhile (dapl/object/object.c).
 */
static bool begin_wake(struct dapl_evd *evd)
{
	dapl_assert_held(&evd->notify_lock);
	if (evd->target != DAPL_TARGET_WAITER || evd->woken)
		return false;
	__atomic_store_n(&evd->woken, 1, __ATOMIC_RELEASE);
	/* It looks at woken before it sleeps, and often adds the completion itself, polling. */
	if (!evd->asleep)
		return false;
	if (evd->in_queue)
		evd->cq->ops->wake(evd->cq);
	else if (evd->wakefd >= 0)
		dapl_eventfd_signal(evd->wakefd);
	else
		return true;
	return false;
}

static bool begin_wake_unlocked(struct dapl_evd *evd)
{
	bool asleep;

	dapl_lock(&evd->notify_lock);
	asleep = begin_wake(evd);
	dapl_unlock(&evd->notify_lock);
	return asleep;
}

void dapl_evd_wake(struct dapl_evd *evd)
{
	if (begin_wake_unlocked(evd))
		dapl_futex_wake(&evd->woken, 1);
}

void dapl_evd_cq_event(void *cq_owner)
{
	struct dapl_evd *evd = cq_owner;
	bool asleep;

	dapl_lock(&evd->notify_lock);
	asleep = begin_wake(evd);
	if (evd->target == DAPL_TARGET_CNO)
		dapl_loop_post(evd->obj.ia->loop, &evd->task);
	dapl_unlock(&evd->notify_lock);
	if (asleep)
		dapl_futex_wake(&evd->woken, 1);
}

static void trigger_cno(struct dapl_evd *evd)
{
	dapl_assert_held(&evd->obj.lock);
	if (evd->cno && !evd->disabled && !evd->waiter)
		dapl_cno_trigger_by(evd->cno, evd);
}

/* Completions were moved into the ring. */
static void notify(struct dapl_evd *evd, bool notifies)
{
	dapl_assert_held(&evd->obj.lock);
	if (evd->satisfied)
		dapl_evd_wake(evd);
	if (notifies && evd->cq && dapl_evd_has_streams(evd))
		trigger_cno(evd);
}

/* ---- Into the ring ---- */

void dapl_evd_choose_dequeue(struct dapl_evd *evd)
{
	bool empty = !evd->waiter && !evd->ring.count;

	evd->poll_plain = empty && evd->cq && !evd->overflowed ? evd->cq->poll_plain : NULL;
	atomic_store_explicit(&evd->nothing, empty && !evd->cq, memory_order_relaxed);
}

/* A waiter owns the arrivals of its time, they trigger no CNO (EVD-57). */
static bool add(struct dapl_evd *evd, const struct dapl_event *event)
{
	dapl_assert_held(&evd->obj.lock);
	if (!dapl_ring_push(&evd->ring, event))
		return false;
	dapl_evd_choose_dequeue(evd);
	if (evd->waiter && !event->silent && evd->ring.count >= evd->threshold)
		evd->satisfied = true;
	return true;
}

/* Whether one of the receives that were taken for silent ones is none, as it turns out. */
static bool found_solicited(struct dapl_evd *evd)
{
	dapl_assert_held(&evd->obj.lock);
	if (!evd->maybe_solicited || !atomic_exchange(&evd->cq->notified, false))
		return false;
	evd->maybe_solicited = false;
	if (evd->waiter && evd->ring.count >= evd->threshold)
		evd->satisfied = true;
	return true;
}

/* Completions on their way into the ring. */
struct drain {
	struct dapl_evd *evd;
	const void *ep;	     /* those of this one alone; NULL: all */
	bool notifies, lost; /* one of them does, found no room */
};

/* False: it stays in the transport's queue. */
static bool drain_one(void *arg, const struct tp_wc *wc)
{
	struct drain *drain = arg;
	struct dapl_evd *evd = drain->evd;
	struct dapl_event event;

	dapl_assert_held(&evd->obj.lock);
	if (drain->ep && drain->ep != dapl_completion_ep(wc))
		return false;
	dapl_slot_of(wc->wr_id)->complete(wc, &event);
	if (dapl_evd_config(evd) == DAT_EVD_STATE_CONFIG_THRESHOLD)
		event.silent = false;
	drain->notifies |= !event.silent;
	evd->maybe_solicited |= event.silent && evd->streams[DAPL_STREAM_SOLICITED];
	if (!add(evd, &event)) {
		drain->lost = true;
		if (event.leave)
			event.leave(&event, false);
	}
	return true;
}

bool dapl_evd_drain(struct dapl_evd *evd)
{
	struct drain drain = { .evd = evd };
	struct tp_wc wc;

	dapl_assert_held(&evd->obj.lock);
	if (!evd->cq)
		return false;
	while (evd->ring.count < evd->ring.size && evd->cq->ops->poll(evd->cq, &wc) > 0)
		drain_one(&drain, &wc);
	return found_solicited(evd) || drain.notifies;
}

void dapl_evd_drain_notify(struct dapl_evd *evd)
{
	bool notifies = dapl_evd_drain(evd);

	notify(evd, notifies);
}

bool dapl_evd_extract(struct dapl_evd *evd, const void *ep)
{
	struct drain drain = { .evd = evd, .ep = ep };
	bool solicited;

	if (!evd->cq)
		return true;
	dapl_lock(&evd->obj.lock);
	evd->cq->ops->extract(evd->cq, drain_one, &drain);
	solicited = found_solicited(evd);
	notify(evd, solicited || drain.notifies);
	dapl_unlock(&evd->obj.lock);
	return !drain.lost;
}

/* ---- Posting ---- */

static bool is_connection(DAT_EVENT_NUMBER number)
{
	return number == DAT_CONNECTION_REQUEST_EVENT ||
	       number > (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT ||
	       (number >= DAT_CONNECTION_EVENT_ESTABLISHED &&
		number <= DAT_CONNECTION_EVENT_UNREACHABLE);
}

static bool has_room(const struct dapl_evd *evd)
{
	return evd->ring.count + evd->reserved < evd->qlen;
}

/* Unlocks the EVD. */
static bool post_unlock(struct dapl_evd *evd, const struct dapl_event *event)
{
	bool room, asleep = false;

	dapl_assert_held(&evd->obj.lock);
	evd->reserved -= event->reserved;
	room = (event->reserved || has_room(evd)) && add(evd, event);
	if (room) {
		evd->counters.connections += is_connection(event->number);
		asleep = evd->satisfied && begin_wake_unlocked(evd);
		trigger_cno(evd);
	}
	/* Without the lock the EVD may go, and the IA's loop with it. */
	asleep = asleep && !dapl_loop_wake_later(evd->obj.ia->loop, &evd->woken);
	dapl_unlock(&evd->obj.lock);
	if (asleep)
		dapl_futex_wake(&evd->woken, 1);
	dapl_trace(event, DAPL_TRC_DETAIL, evd, "number=%s taken=%d",
		   dapl_event_name(event->number), room);
	return room;
}

bool dapl_evd_post(struct dapl_evd *evd, const struct dapl_event *event)
{
	dapl_lock(&evd->obj.lock);
	return post_unlock(evd, event);
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
	evd = dapl_evd_lock(evd_handle);
	if (!evd)
		return DAPL_BAD_HANDLE(EVD_REQUEST);
	/* Full is no overflow here (EVD-73). */
	return post_unlock(evd, &se) ? DAT_SUCCESS : dapl_fail(DAT_QUEUE_FULL, DAT_NO_SUBTYPE);
}

bool dapl_evd_reserve(struct dapl_evd *evd)
{
	bool room;

	dapl_lock(&evd->obj.lock);
	room = has_room(evd);
	evd->reserved += room;
	dapl_unlock(&evd->obj.lock);
	return room;
}

void dapl_evd_unreserve(struct dapl_evd *evd)
{
	dapl_lock(&evd->obj.lock);
	evd->reserved--;
	dapl_unlock(&evd->obj.lock);
}

bool dapl_evd_set_overflowed(struct dapl_evd *evd)
{
	bool first;

	dapl_lock(&evd->obj.lock);
	first = !evd->overflowed;
	evd->overflowed = true;
	dapl_evd_choose_dequeue(evd);
	dapl_unlock(&evd->obj.lock);
	return first;
}

/* ---- Arming ---- */

void dapl_evd_arm(struct dapl_evd *evd)
{
	bool arm = evd->cno && !evd->disabled && evd->cq && dapl_evd_has_streams(evd);

	dapl_assert_held(&evd->obj.lock);
	if (evd->waiter)
		return;
	dapl_lock(&evd->notify_lock);
	evd->target = arm ? DAPL_TARGET_CNO : DAPL_TARGET_NONE;
	dapl_unlock(&evd->notify_lock);
	if (arm)
		evd->cq->ops->arm(evd->cq, TP_ARM_NOTIFY);
}

void dapl_evd_forget_notified(struct dapl_evd *evd)
{
	dapl_assert_held(&evd->obj.lock);
	evd->maybe_solicited = false;
	evd->cq->ops->disarm(evd->cq);
	atomic_store(&evd->cq->notified, false);
}

void dapl_evd_count_stream(struct dapl_evd *evd, enum dapl_stream kind, int by)
{
	bool had_streams, solicited, changed;

	dapl_lock(&evd->obj.lock);
	had_streams = dapl_evd_has_streams(evd);
	evd->streams[kind] += (uint32_t)by;
	solicited = dapl_evd_config(evd) == DAT_EVD_STATE_CONFIG_SOLICITED;
	changed = evd->cq->solicited != solicited;
	if (changed) {
		evd->cq->solicited = solicited;
		evd->maybe_solicited = false;
		atomic_store(&evd->cq->notified, false);
	}
	if (changed || had_streams != dapl_evd_has_streams(evd)) {
		dapl_evd_arm(evd);
		dapl_evd_wake(evd);
	}
	dapl_unlock(&evd->obj.lock);
}

void dapl_evd_run_task(struct tp_task *task)
{
	struct dapl_evd *evd = container_of(task, struct dapl_evd, task);

	dapl_lock(&evd->obj.lock);
	evd->counters.notices++;
	dapl_evd_arm(evd);
	dapl_evd_drain_notify(evd);
	dapl_unlock(&evd->obj.lock);
}
