/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Taking events out of an EVD: dequeue and wait. */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "dapl/transfer/dto.h"
#include "dapl/event/evd.h"
#include "dapl/base/fd.h"
#include "dapl/object/ia.h"
#include "dapl/base/loop.h"
#include "dapl/transfer/srq.h"
#include "dapl/object/names.h"
#include "dapl/base/status.h"
#include "trace/log.h"

static_assert(offsetof(DAT_EVENT, event_number) == offsetof(struct dapl_evd, head.number) -
							   offsetof(struct dapl_evd, head) &&
		      offsetof(DAT_EVENT, evd_handle) ==
			      offsetof(struct dapl_evd, head.evd) - offsetof(struct dapl_evd, head),
	      "what an event begins with");

/* How often a thread looks whether it was woken that could have no descriptor. */
#define BLIND_MS 10

#define EVENT_TAKEN_FORMAT "number=%s object=%p cookie=0x%llx status=%s"
DAPL_TRACE_POINT(event_taken, DAPL_TRC_POST, EVENT_TAKEN_FORMAT);

static inline void finish(struct dapl_evd *evd, DAT_EVENT_NUMBER number, DAT_EVENT *event)
{
	event->event_number = number;
	event->evd_handle = evd;
	memset(event->event_extension_data, 0, sizeof(event->event_extension_data));
	evd->overflowed = false;
	if (__builtin_expect(number == DAPL_IB_DTO_EVENT, 0))
		dapl_dto_extension(event);
	dapl_trace_at(
		event_taken, evd, EVENT_TAKEN_FORMAT, dapl_event_name(event->event_number),
		event->event_data.dto_completion_event_data.ep_handle,
		(unsigned long long)event->event_data.dto_completion_event_data.user_cookie.as_64,
		dapl_event_status(event));
}

/* The oldest event: what was kept comes before what the transport has finished since (EVD-11). */
static bool take(struct dapl_evd *evd, DAT_EVENT *event)
{
	struct dapl_event kept;
	struct tp_wc wc;

	if (dapl_ring_pop(&evd->ring, &kept)) {
		evd->counts.kept++;
		event->event_data = kept.data;
		if (kept.srq)
			dapl_srq_let_go(kept.srq);
		finish(evd, kept.number, event);
		dapl_evd_aim(evd);
		return true;
	}
	if (!evd->cq || evd->cq->ops->poll(evd->cq, &wc) <= 0)
		return false;
	evd->counts.polled++;
	finish(evd, dapl_dto_fill(&wc, &event->event_data), event);
	dapl_evd_aim(evd);
	return true;
}

static void count_miss(struct dapl_evd *evd)
{
	atomic_fetch_add_explicit(&evd->counts.missed, 1, memory_order_relaxed);
}

/* Dequeue but for the common case; lock held. Gives it back. */
static __attribute__((noinline)) DAT_RETURN dequeue_other(struct dapl_lock *lock, DAT_EVENT *event)
{
	struct dapl_evd *evd = dapl_container(lock, struct dapl_evd, obj.lock);
	DAT_RETURN rc;

	if (!dapl_evd_get(evd)) {
		dapl_unlock(lock);
		return DAPL_BAD_HANDLE(EVD_REQUEST);
	}
	if (evd->waiter)
		rc = DAPL_BAD_STATE(EVD_WAITER);
	else
		rc = take(evd, event) ? DAT_SUCCESS : DAPL_QUEUE_EMPTY;
	if (rc)
		count_miss(evd);
	dapl_unlock(lock);
	return rc;
}

static __attribute__((noinline)) DAT_RETURN dequeued(struct dapl_lock *lock)
{
	dapl_unlock_slow(lock);
	return DAT_SUCCESS;
}

static __attribute__((noinline)) DAT_RETURN dequeue_contended(struct dapl_evd *evd,
							      DAT_EVENT *event)
{
	dapl_lock(&evd->obj.lock);
	return dequeue_other(&evd->obj.lock, event);
}

/* Who polls for connections never fights the loop, which makes them, for the lock. */
static __attribute__((noinline)) DAT_RETURN dequeue_bare(struct dapl_evd *evd)
{
	count_miss(evd);
	return DAPL_QUEUE_EMPTY;
}

typedef DAT_UINT64 two_words __attribute__((vector_size(16)));

/* A store each and nothing else, which memset is not. */
static inline void no_extension(DAT_EVENT *event)
{
	const two_words zero = { 0, 0 };
	size_t i;

	for (i = 0; i < sizeof(event->event_extension_data); i += sizeof(zero))
		memcpy((char *)event->event_extension_data + i, &zero, sizeof(zero));
}

/* The short way: nothing is kept, and what the transport has is a success. */
DAT_RETURN dapl_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event)
{
	struct dapl_evd *evd = evd_handle;
	struct dapl_lock *lock = &evd->obj.lock;
	struct tp_wr *wr;

	if (__builtin_expect(!dapl_object_looks(&evd->obj, DAPL_TYPE_EVD), 0))
		return DAPL_BAD_HANDLE(EVD_REQUEST);
	if (__builtin_expect(!event, 0))
		return DAPL_BAD_ARG(2);
	if (__builtin_expect(atomic_load_explicit(&evd->bare, memory_order_relaxed), 0))
		return dequeue_bare(evd);
	if (__builtin_expect(dapl_trace_wanted(event_taken) || !dapl_trylock(lock), 0))
		return dequeue_contended(evd, event);
	/* From here on it is not freed. */
	if (__builtin_expect(!dapl_object_looks(&evd->obj, DAPL_TYPE_EVD), 0))
		return dequeue_other(lock, event);
	DAPL_FORGET_ORIGIN(lock);
	evd->into = event;
	wr = evd->source->take(evd->source);
	event = dapl_container(lock, struct dapl_evd, obj.lock)->into;
	if (__builtin_expect(!wr, 0))
		return dequeue_other(lock, event);
	dapl_container(lock, struct dapl_evd, obj.lock)->counts.taken++;
	memcpy(event, &dapl_container(lock, struct dapl_evd, obj.lock)->head, sizeof(evd->head));
	dapl_dto_success(dapl_container(wr, struct dapl_slot, wr),
			 &event->event_data.dto_completion_event_data);
	no_extension(event);
	if (__builtin_expect(!dapl_tryunlock(lock), 0))
		return dequeued(lock);
	/* DAT_SUCCESS. Of a constant the compiler finds a copy from before the call, and saves a
	 * register for it. */
	return (DAT_RETURN)event->event_data.dto_completion_event_data.status;
}

/* ---- Waiting ---- */

/*
 * A transport's queue takes the sleeper to ppoll, and there only a descriptor wakes it. Processes
 * have a thousand dispatchers and few threads, so one is borrowed from the IA while a thread waits.
 * Who waits for other events only sleeps on a word.
 */
void dapl_evd_wake(struct dapl_evd *evd)
{
	struct dapl_ia *ia = evd->obj.ia;
	uint64_t one = 1;
	int fd;

	if (atomic_load_explicit(&evd->ear, memory_order_acquire) != DAPL_EAR_WAITER)
		return;
	atomic_fetch_add(&ia->wakers, 1);
	__atomic_add_fetch(&evd->rung, 1, __ATOMIC_SEQ_CST);
	fd = atomic_load(&evd->wakefd);
	if (fd < 0)
		dapl_futex_wake(&evd->rung, 1);
	else
		while (write(fd, &one, sizeof(one)) < 0 && errno == EINTR)
			;
	atomic_fetch_sub(&ia->wakers, 1);
}

/* The last quarter is for what cannot do without: dispatchers, and the program. */
static int new_wakefd(void)
{
	int fd = dapl_fd_own(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	struct rlimit limit;

	if (fd < 0 || getrlimit(RLIMIT_NOFILE, &limit) || (rlim_t)fd < limit.rlim_cur / 4 * 3)
		return fd;
	dapl_fd_close(fd);
	errno = EMFILE;
	return -1;
}

static int take_spare(struct dapl_ia *ia)
{
	int fd = 0;
	size_t i;

	for (i = 0; !fd && i < DAPL_SPARE_WAKEFDS; i++)
		fd = atomic_exchange(&ia->spare_wakefds[i], 0);
	return fd - 1;
}

/* Closed while a late wake-up is on its way a descriptor might be another file by then. */
static void close_spares(struct dapl_ia *ia)
{
	int fd;

	while ((fd = take_spare(ia)) >= 0) {
		while (atomic_load(&ia->wakers))
			sched_yield();
		dapl_fd_close(fd);
	}
}

void dapl_evd_make_room(struct dapl_ia *ia)
{
	int fd = dapl_fd_own(eventfd(0, EFD_CLOEXEC));
	struct rlimit limit;

	if (fd < 0 || (!getrlimit(RLIMIT_NOFILE, &limit) && (rlim_t)fd + 1 >= limit.rlim_cur))
		close_spares(ia);
	if (fd >= 0)
		dapl_fd_close(fd);
}

static void borrow_wakefd(struct dapl_evd *evd)
{
	struct dapl_ia *ia = evd->obj.ia;
	int fd;

	if (atomic_load(&evd->wakefd) >= 0)
		return;
	fd = take_spare(ia);
	if (fd < 0)
		fd = new_wakefd();
	if (fd < 0 && !atomic_exchange(&ia->told_wakefd, true))
		dapl_err("EVD %p waits without a wake-up descriptor and looks every %d ms: %s",
			 (void *)evd, BLIND_MS, dapl_strerror(errno));
	atomic_store(&evd->wakefd, fd);
}

/*
 * Where there is no place for it, the EVD keeps it. A late wake-up reaches whoever has it next, who
 * looks for nothing then.
 */
static void return_wakefd(struct dapl_evd *evd)
{
	struct dapl_ia *ia = evd->obj.ia;
	int fd = atomic_load(&evd->wakefd);
	size_t i;

	for (i = 0; fd >= 0 && i < DAPL_SPARE_WAKEFDS; i++) {
		int none = 0;

		if (atomic_load(&ia->spare_wakefds[i]))
			continue;
		atomic_store(&evd->wakefd, -1);
		if (atomic_compare_exchange_strong(&ia->spare_wakefds[i], &none, fd + 1))
			return;
		atomic_store(&evd->wakefd, fd);
	}
}

/* Sleeps on the descriptors until the deadline: 0 or a negative errno. No lock held. */
static int sleep_on_queue(struct dapl_evd *evd, uint64_t deadline)
{
	struct pollfd fds[2] = { { .fd = atomic_load(&evd->wakefd), .events = POLLIN },
				 { .fd = evd->cq->ops->fd(evd->cq), .events = POLLIN } };
	uint64_t now = dapl_now(), left = deadline > now ? deadline - now : 0, value;
	bool blind = fds[0].fd < 0 && left > BLIND_MS * 1000000ull;
	struct timespec ts;
	int n;

	if (blind)
		left = BLIND_MS * 1000000ull;
	ts.tv_sec = (time_t)(left / 1000000000);
	ts.tv_nsec = (long)(left % 1000000000);
	n = ppoll(fds, 2, &ts, NULL);
	if (n < 0)
		return -errno;
	if (fds[0].revents)
		while (read(fds[0].fd, &value, sizeof(value)) < 0 && errno == EINTR)
			;
	return n || blind ? 0 : -ETIMEDOUT;
}

/* The same for one that had been woken `seen` times before it looked for events. */
static int sleep_on_word(struct dapl_evd *evd, uint32_t seen, uint64_t deadline)
{
	int err = dapl_futex_wait(&evd->rung, seen, deadline);

	return err == -EAGAIN ? 0 : err;
}

/* Before the first sleep silent events count as well (EVD-45), after it only arrivals that notify
 * do. */
#define NOT_SLEPT 1

/* Whether the wait is over, and how; lock held. err is what the last sleep returned, or NOT_SLEPT.
 */
static bool over(struct dapl_evd *evd, int err, DAT_RETURN *rc)
{
	bool enough = evd->ring.count >= evd->threshold;

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

/* Poll, arm, poll again, sleep; lock held on entry and exit. */
static DAT_RETURN wait_locked(struct dapl_evd *evd, uint64_t deadline)
{
	DAT_RETURN rc;
	uint32_t seen;
	int err = NOT_SLEPT;

	if (dapl_evd_config(evd) == DAT_EVD_STATE_CONFIG_SOLICITED)
		dapl_evd_forget(evd);
	for (;;) {
		seen = __atomic_load_n(&evd->rung, __ATOMIC_SEQ_CST);
		atomic_store_explicit(&evd->ear, DAPL_EAR_WAITER, memory_order_seq_cst);
		if (evd->cq && dapl_evd_has_streams(evd))
			evd->cq->ops->arm(evd->cq, TP_ARM_WAITER);
		dapl_evd_drain(evd);
		if (over(evd, err, &rc))
			break;
		if (err == NOT_SLEPT)
			evd->counts.blocked++;
		dapl_unlock(&evd->obj.lock);
		err = evd->cq ? sleep_on_queue(evd, deadline) : sleep_on_word(evd, seen, deadline);
		dapl_lock(&evd->obj.lock);
		if (evd->cq) {
			evd->cq->ops->disarm(evd->cq);
			dapl_evd_drain(evd);
		}
		if (!err)
			evd->counts.notified++;
		if (over(evd, err, &rc))
			return rc;
	}
	if (evd->cq)
		evd->cq->ops->disarm(evd->cq);
	return rc;
}

static DAT_RETURN sleep_and_look(struct dapl_evd *evd, uint64_t deadline)
{
	DAT_RETURN rc;

	if (evd->cq)
		borrow_wakefd(evd);
	rc = wait_locked(evd, deadline);
	return_wakefd(evd);
	return rc;
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

/* The whole call once the arguments are right; lock held. Where it did wait, all that the
 * transport has is in the ring afterwards. */
static DAT_RETURN wait_one(struct dapl_evd *evd, DAT_TIMEOUT timeout, uint64_t deadline,
			   DAT_COUNT threshold)
{
	DAT_RETURN rc;

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
	dapl_evd_aim(evd);
	evd->satisfied = false;
	evd->end = DAPL_END_NONE;
	evd->threshold = (uint32_t)threshold;
	if (!timeout || evd->ring.count >= (uint32_t)threshold)
		dapl_evd_drain(evd);
	if (evd->ring.count >= (uint32_t)threshold) { /* EVD-45 */
		rc = DAT_SUCCESS;
	} else if (!timeout) {
		rc = DAPL_TIMEOUT_EXPIRED;
	} else {
		rc = sleep_and_look(evd, deadline);
	}
	evd->waiter = false;
	dapl_evd_aim(evd);
	dapl_evd_listen(evd);
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
	evd->counts.waits++;
	rc = (uint32_t)threshold > evd->qlen ? DAPL_BAD_ARG(3)
					     : wait_one(evd, timeout, deadline, threshold);
	if (!rc)
		evd->counts.waited += take(evd, event);
	*n_more = (DAT_COUNT)evd->ring.count;
	dapl_unlock(&evd->obj.lock);
	dapl_object_leave(&evd->obj);
	return rc;
}
