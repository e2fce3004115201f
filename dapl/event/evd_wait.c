/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Taking events out of an EVD: dequeue and wait. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "dapl/base/clock.h"
#include "dapl/base/config.h"
#include "dapl/base/fd.h"
#include "dapl/base/status.h"
#include "dapl/base/wakefd.h"
#include "dapl/event/completion.h"
#include "dapl/event/evd.h"
#include "dapl/object/code_names.h"
#include "trace/log.h"

/* ---- Delivery ---- */

#define EVENT_TAKEN_FORMAT "number=%s object=%p cookie=0x%llx status=%s"
DAPL_TRACE_POINT(event_taken, DAPL_TRC_POST, EVENT_TAKEN_FORMAT);

static void fill_extension(const struct dapl_event *from, DAT_EVENT *event)
{
	DAT_IB_EXTENSION_EVENT_DATA *ext =
		(DAT_IB_EXTENSION_EVENT_DATA *)&event->event_extension_data[0];

	const struct dapl_peer *peer;
	bool failed = false;

	switch ((int)from->number) {
	case DAT_IB_DTO_EVENT:
		failed = event->event_data.dto_completion_event_data.status;
		ext->val.immed.data = from->immediate;
		break;
	case DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED:
		peer = from->leave_arg;
		ext->remote_ah = peer->remote_ah;
		ext->context = peer->context;
		break;
	case DAT_IB_UD_CONNECTION_REJECT_EVENT:
	case DAT_IB_UD_CONNECTION_ERROR_EVENT:
		failed = true;
		break;
	}
	ext->type = from->extension;
	ext->status = failed ? DAT_IB_OP_ERR : DAT_OP_SUCCESS;
}

static void deliver(struct dapl_evd *evd, const struct dapl_event *from, DAT_EVENT *event)
{
	dapl_assert_held(&evd->obj.lock);
	event->event_number = from->number;
	event->evd_handle = evd;
	event->event_data = from->data;
	memset(event->event_extension_data, 0, sizeof(event->event_extension_data));
	if (from->number >= (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT)
		fill_extension(from, event);
	if (from->leave)
		from->leave(from, true);
	evd->overflowed = false;
	dapl_evd_choose_dequeue(evd);
	dapl_trace_at(
		event_taken, evd, EVENT_TAKEN_FORMAT, dapl_event_name(event->event_number),
		event->event_data.dto_completion_event_data.ep_handle,
		(unsigned long long)event->event_data.dto_completion_event_data.user_cookie.as_64,
		dapl_event_status(event));
}

/* The oldest event: what is in the ring comes before what the transport has added since (EVD-11).
 */
static bool take(struct dapl_evd *evd, DAT_EVENT *event)
{
	struct dapl_event next;
	struct tp_wc wc;

	dapl_assert_held(&evd->obj.lock);
	if (dapl_ring_pop(&evd->ring, &next)) {
		evd->counters.kept++;
	} else {
		if (!evd->cq || evd->cq->ops->poll(evd->cq, &wc) <= 0)
			return false;
		evd->counters.polled++;
		dapl_slot_of(wc.wr_id)->complete(&wc, &next);
	}
	deliver(evd, &next, event);
	return true;
}

/* ---- Dequeue ---- */

/* Unlocks the EVD. */
static __attribute__((noinline)) DAT_RETURN dequeue_locked(struct dapl_evd *evd, DAT_EVENT *event)
{
	DAT_RETURN rc;

	dapl_assert_held(&evd->obj.lock);
	if (!dapl_evd_get(evd)) {
		dapl_unlock(&evd->obj.lock);
		return DAPL_BAD_HANDLE(EVD_REQUEST);
	}
	if (evd->waiter)
		rc = DAPL_BAD_STATE(EVD_WAITER);
	else
		rc = take(evd, event) ? DAT_SUCCESS : DAPL_QUEUE_EMPTY;
	if (rc)
		evd->counters.missed++;
	dapl_unlock(&evd->obj.lock);
	return rc;
}

/* Whoever polls for connections never contends with the loop, which makes them, for the lock. */
static __attribute__((noinline)) DAT_RETURN dequeue_nothing(struct dapl_evd *evd)
{
	if (!dapl_evd_get(evd))
		return DAPL_BAD_HANDLE(EVD_REQUEST);
	atomic_fetch_add_explicit(&evd->counters.missed_early, 1, memory_order_relaxed);
	return DAPL_QUEUE_EMPTY;
}

/* Unlocks the EVD. */
static DAT_RETURN dequeue_empty(struct dapl_evd *evd)
{
	evd->counters.missed++;
	dapl_unlock(&evd->obj.lock);
	return DAPL_QUEUE_EMPTY;
}

static __attribute__((noinline)) DAT_RETURN dequeue_contended(struct dapl_evd *evd,
							      DAT_EVENT *event)
{
	dapl_lock(&evd->obj.lock);
	return dequeue_locked(evd, event);
}

/*
 * The fast path: the ring is empty, and what the transport has is a success. A handle of another
 * kind has this lock as well, and shows under it.
 */
DAT_RETURN dapl_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event)
{
	struct dapl_evd *evd = evd_handle;
	struct tp_wr *wr;

	if (unlikely(!event))
		return dapl_evd_get(evd) ? DAPL_BAD_ARG(2) : DAPL_BAD_HANDLE(EVD_REQUEST);
	if (unlikely(atomic_load_explicit(&evd->nothing, memory_order_relaxed)))
		return dequeue_nothing(evd);
	if (unlikely(dapl_trace_wanted(event_taken) || !dapl_trylock(&evd->obj.lock)))
		return dequeue_contended(evd, event);
	/* From here on it is not freed. */
	if (unlikely(!dapl_object_looks(&evd->obj, DAPL_TYPE_EVD) || !evd->poll_plain))
		return dequeue_locked(evd, event);
	wr = evd->poll_plain(evd->cq);
	if ((uintptr_t)wr <= (uintptr_t)TP_WR_UNTOLD)
		return wr ? dequeue_locked(evd, event) : dequeue_empty(evd);
	evd->counters.taken++;
	event->event_number = DAT_DTO_COMPLETION_EVENT;
	event->evd_handle = evd;
	dapl_slot_succeeded(container_of(wr, struct dapl_slot, wr),
			    &event->event_data.dto_completion_event_data);
	memset(event->event_extension_data, 0, sizeof(event->event_extension_data));
	dapl_unlock(&evd->obj.lock);
	return DAT_SUCCESS;
}

/* ---- Sleeping ---- */

/*
 * A waiter sleeps in the transport's queue, or on the transport's descriptor and one of its thread;
 * where it can have none of its own, or there is no transport's queue, on a word, and the loop is
 * told of completions.
 */
static void begin_sleep(struct dapl_evd *evd)
{
	const struct dapl_cq_ops *ops = evd->cq ? evd->cq->ops : NULL;
	bool streams = ops && dapl_evd_has_streams(evd);
	int fd = -1;

	dapl_assert_held(&evd->obj.lock);
	evd->in_queue = streams && ops->sleeps && ops->sleeps(evd->cq);
	if (ops && !evd->in_queue)
		fd = dapl_wakefd();
	dapl_lock(&evd->notify_lock);
	evd->target = DAPL_TARGET_WAITER;
	evd->wakefd = fd;
	__atomic_store_n(&evd->woken, 0, __ATOMIC_RELAXED);
	dapl_unlock(&evd->notify_lock);
	if (evd->in_queue)
		ops->arm(evd->cq, TP_ARM_SLEEPER);
	else if (streams)
		ops->arm(evd->cq, fd < 0 ? TP_ARM_NOTIFY : TP_ARM_WAITER);
}

/* False: woken since begin_sleep. After it a waker makes a system call. */
static bool fall_asleep(struct dapl_evd *evd)
{
	bool asleep;

	dapl_lock(&evd->notify_lock);
	asleep = !evd->woken;
	evd->asleep = asleep;
	dapl_unlock(&evd->notify_lock);
	return asleep;
}

static void end_sleep(struct dapl_evd *evd)
{
	dapl_assert_held(&evd->obj.lock);
	dapl_lock(&evd->notify_lock);
	evd->target = DAPL_TARGET_NONE;
	if (evd->asleep && evd->woken && evd->wakefd >= 0)
		dapl_eventfd_clear(evd->wakefd);
	evd->asleep = false;
	dapl_unlock(&evd->notify_lock);
	if (evd->cq)
		evd->cq->ops->disarm(evd->cq);
}

static int poll_until(struct pollfd *fds, nfds_t num, uint64_t deadline)
{
	uint64_t now = dapl_now(), left = deadline > now ? deadline - now : 0;
	struct timespec ts = { .tv_sec = (time_t)(left / 1000000000),
			       .tv_nsec = (long)(left % 1000000000) };
	int n = ppoll(fds, num, &ts, NULL);

	if (n < 0)
		return -errno;
	return n ? 0 : -ETIMEDOUT;
}

/* The descriptor of a device that was torn away is in error for good: others tell then. */
static int sleep_on_descriptors(struct dapl_evd *evd, uint64_t deadline)
{
	struct pollfd fds[2] = { { .fd = evd->wakefd, .events = POLLIN },
				 { .fd = evd->cq->ops->fd(evd->cq), .events = POLLIN } };
	int err = poll_until(fds, 2, deadline);

	if (!err && !fds[0].revents && !(fds[1].revents & POLLIN))
		err = poll_until(fds, 1, deadline);
	return err;
}

/* Until the deadline: 0 or a negative errno. Unlocks the EVD meanwhile. */
static int sleep_until(struct dapl_evd *evd, uint64_t deadline)
{
	int err;

	dapl_assert_held(&evd->obj.lock);
	if (!fall_asleep(evd))
		return 0;
	dapl_unlock(&evd->obj.lock);
	if (evd->in_queue)
		err = evd->cq->ops->sleep(evd->cq, &evd->woken, 0, deadline);
	else if (evd->wakefd < 0)
		err = dapl_futex_wait(&evd->woken, 0, deadline);
	else
		err = sleep_on_descriptors(evd, deadline);
	dapl_lock(&evd->obj.lock);
	return err == -EAGAIN ? 0 : err; /* woken before it slept */
}

/* ---- Waiting ---- */

/* Before the first sleep silent events count as well (EVD-45), after it only arrivals that notify
 * do. */
#define NOT_SLEPT 1

/* Whether the wait is over, and how; err is what the last sleep returned, or NOT_SLEPT. */
static bool over(struct dapl_evd *evd, int err, DAT_RETURN *rc)
{
	bool enough = evd->ring.count >= evd->threshold;

	dapl_assert_held(&evd->obj.lock);
	if (evd->end == DAPL_END_ABORT)
		*rc = dapl_fail(DAT_ABORT, DAT_NO_SUBTYPE);
	else if (evd->end == DAPL_END_UNWAITABLE)
		*rc = DAPL_BAD_STATE(EVD_UNWAITABLE);
	else if (enough && (evd->satisfied || err == NOT_SLEPT))
		*rc = DAT_SUCCESS;
	else if (err == -ETIMEDOUT)
		*rc = enough ? DAT_SUCCESS : DAPL_TIMEOUT_EXPIRED; /* EVD-48 */
	else if (err == -EINTR)
		*rc = dapl_fail(DAT_INTERRUPTED_CALL, DAT_NO_SUBTYPE);
	else
		return false;
	return true;
}

/* Arm, poll, sleep, poll. */
static DAT_RETURN wait_asleep(struct dapl_evd *evd, uint64_t deadline)
{
	int err = NOT_SLEPT;
	bool done;
	DAT_RETURN rc;

	dapl_assert_held(&evd->obj.lock);
	if (dapl_evd_config(evd) == DAT_EVD_STATE_CONFIG_SOLICITED)
		dapl_evd_forget_notified(evd);
	do {
		begin_sleep(evd);
		dapl_evd_drain(evd);
		done = over(evd, err, &rc);
		if (!done) {
			evd->counters.blocked += err == NOT_SLEPT;
			err = sleep_until(evd, deadline);
			evd->counters.notified += !err;
		}
		end_sleep(evd);
		if (!done) {
			dapl_evd_drain(evd);
			done = over(evd, err, &rc);
		}
	} while (!done);
	return rc;
}

enum {
	POLLS_IN_VAIN = 8, /* after so many waits that slept all the same, */
	POLL_AGAIN = 64,   /* one in so many polls first */
};

static bool may_poll(struct dapl_evd *evd)
{
	dapl_assert_held(&evd->obj.lock);
	/* What comes during a wait triggers no CNO (EVD-57), and silent events end none (EVD-46):
	 * both are told apart by when it fell asleep. */
	if (!evd->cq || !dapl_config.busy_poll_us || evd->target != DAPL_TARGET_NONE ||
	    !dapl_evd_has_streams(evd) || dapl_evd_config(evd) != DAT_EVD_STATE_CONFIG_THRESHOLD)
		return false;
	return evd->polled_in_vain++ < POLLS_IN_VAIN || !(evd->polled_in_vain % POLL_AGAIN);
}

/* Whether the wait is over without sleep: between two programs that answer each other it is. */
static bool wait_polling(struct dapl_evd *evd, uint64_t deadline, DAT_RETURN *rc)
{
	uint64_t until;

	if (!may_poll(evd))
		return false;
	until = dapl_now() + (uint64_t)dapl_config.busy_poll_us * 1000;
	if (until > deadline)
		until = deadline;
	do {
		/* Others may have events for it, or an end. */
		dapl_unlock(&evd->obj.lock);
		dapl_lock(&evd->obj.lock);
		dapl_evd_drain(evd);
		if (over(evd, NOT_SLEPT, rc)) {
			evd->polled_in_vain = 0;
			return true;
		}
	} while (dapl_now() < until);
	return false;
}

/* EVD-53: with silent completions about, a count cannot be waited for. */
static DAT_RETURN check_config(const struct dapl_evd *evd, DAT_COUNT threshold)
{
	if (threshold == 1)
		return DAT_SUCCESS;
	switch (dapl_evd_config(evd)) {
	case DAT_EVD_STATE_CONFIG_NOTIFY:
		return DAPL_BAD_STATE(EVD_CONFIG_NOTIFY);
	case DAT_EVD_STATE_CONFIG_SOLICITED:
		return DAPL_BAD_STATE(EVD_CONFIG_SOLICITED);
	default:
		return DAT_SUCCESS;
	}
}

/* The whole call once the arguments are right. Where it did wait, all that the transport has is in
 * the ring afterwards. */
static DAT_RETURN wait_one(struct dapl_evd *evd, DAT_TIMEOUT timeout, uint64_t deadline,
			   DAT_COUNT threshold)
{
	DAT_RETURN rc;

	dapl_assert_held(&evd->obj.lock);
	if (evd->end == DAPL_END_ABORT)
		return dapl_fail(DAT_ABORT, DAT_NO_SUBTYPE);
	if (evd->waiter)
		return DAPL_BAD_STATE(EVD_WAITER);
	if (evd->unwaitable)
		return DAPL_BAD_STATE(EVD_UNWAITABLE);
	rc = check_config(evd, threshold);
	if (rc)
		return rc;
	evd->waiter = true;
	dapl_evd_choose_dequeue(evd);
	evd->satisfied = false;
	evd->end = DAPL_END_NONE;
	evd->threshold = (uint32_t)threshold;
	if (!timeout || evd->ring.count >= (uint32_t)threshold)
		dapl_evd_drain(evd);
	if (evd->ring.count >= (uint32_t)threshold) /* EVD-45 */
		rc = DAT_SUCCESS;
	else if (!timeout)
		rc = DAPL_TIMEOUT_EXPIRED;
	else if (!wait_polling(evd, deadline, &rc))
		rc = wait_asleep(evd, deadline);
	evd->waiter = false;
	dapl_evd_choose_dequeue(evd);
	dapl_evd_arm(evd);
	/* Of what came before that the caller is told, not the CNO (EVD-57). */
	if (evd->target == DAPL_TARGET_CNO)
		dapl_evd_drain(evd);
	return rc;
}

DAT_RETURN dapl_evd_wait(DAT_EVD_HANDLE evd_handle, DAT_TIMEOUT timeout, DAT_COUNT threshold,
			 DAT_EVENT *event, DAT_COUNT *n_more)
{
	struct dapl_evd *evd = dapl_evd_get(evd_handle);
	uint64_t deadline = timeout ? dapl_deadline(timeout) : 0;
	DAT_RETURN rc;

	if (!evd)
		return DAPL_BAD_HANDLE(EVD_REQUEST);
	if (threshold <= 0)
		return DAPL_BAD_ARG(3);
	if (!event)
		return DAPL_BAD_ARG(4);
	if (!n_more)
		return DAPL_BAD_ARG(5);
	if (!dapl_object_enter(&evd->obj, DAPL_TYPE_EVD))
		return DAPL_BAD_HANDLE(EVD_REQUEST);
	dapl_lock(&evd->obj.lock);
	evd->counters.waits++;
	rc = (uint32_t)threshold > evd->qlen ? DAPL_BAD_ARG(3)
					     : wait_one(evd, timeout, deadline, threshold);
	if (!rc)
		evd->counters.waited += take(evd, event);
	*n_more = (DAT_COUNT)evd->ring.count;
	dapl_unlock(&evd->obj.lock);
	dapl_object_leave(&evd->obj);
	return rc;
}
