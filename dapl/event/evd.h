/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Event dispatchers: one queue of events from many streams. */
#ifndef DAPL_EVD_H
#define DAPL_EVD_H

#include <dat/dat_ib_extensions.h>

#include "dapl/base/lock.h"
#include "dapl/event/cno.h"
#include "dapl/event/completion.h"
#include "dapl/event/ring.h"
#include "dapl/object/object.h"
#include "dapl/transport.h"

/* Who is told when the transport adds a completion. */
enum dapl_evd_target {
	DAPL_TARGET_NONE,
	DAPL_TARGET_WAITER, /* a thread that sleeps, or is about to */
	DAPL_TARGET_CNO,    /* the service thread looks, and triggers the CNO */
};

/* Why a waiter is to return although no event satisfied it (EVD-58). */
enum dapl_evd_end {
	DAPL_END_NONE,
	DAPL_END_UNWAITABLE,
	DAPL_END_ABORT,
};

/* What has happened here (dapl/object/counters.h). */
struct dapl_evd_counters {
	uint64_t taken;	       /* events by the fast path of dequeue */
	uint64_t kept, polled; /* from the ring and from the transport's queue, otherwise */
	uint64_t missed;       /* dequeues without an event, and those that took no lock */
	_Atomic uint64_t missed_early;
	uint64_t waits, waited; /* and how many of them returned an event */
	uint64_t blocked, notified;
	uint64_t connections, notices;
};

/* users: EP streams, service points and IAs that feed it. */
struct dapl_evd {
	struct dapl_object obj; /* its lock: everything down to task */
	struct dapl_ring ring;
	struct tp_cq *cq; /* NULL without DTO and bind streams */
	/* The transport's, while the ring is empty and dequeue has nothing else to look at. */
	struct tp_wr *(*poll_plain)(struct tp_cq *cq);
	/* Nothing is queued, and no completions come here. Asked before it is known that this is an
	 * EVD: no bool, which may not be just any byte. */
	_Atomic uint8_t nothing;
	struct dapl_cno *cno;
	uint32_t qlen;
	uint32_t reserved; /* of its places */
	uint32_t flags;	   /* DAT_EVD_FLAGS of creation */
	bool disabled, unwaitable;
	bool maybe_solicited; /* of the receives in the ring it is not known whether one is */
	bool overflowed;      /* an overflow was reported and no event removed since (EVD-94) */
	uint32_t streams[DAPL_NUM_STREAMS]; /* of EPs, by kind */

	bool waiter;	/* owned by a waiter (EVD-19) */
	bool satisfied; /* the waiter's condition came true */
	enum dapl_evd_end end;
	uint32_t threshold;
	uint32_t polled_in_vain; /* waits since one was over before it slept */
	struct dapl_evd_counters counters;
	uint64_t counted_before[DCNT_EVD_ALL_COUNTERS]; /* where the last reset was */
	struct tp_task task;				/* of DAPL_TARGET_CNO */

	/* What whoever adds a completion needs, under a lock that is taken behind all others but
	 * the loop's. */
	struct dapl_lock notify_lock;
	enum dapl_evd_target target;
	bool asleep;	/* the waiter has looked at woken for the last time before it sleeps */
	bool in_queue;	/* it sleeps in the transport's queue (dapl_cq_ops.sleep) */
	int wakefd;	/* of the thread that waits; -1: it sleeps on woken */
	uint32_t woken; /* futex: 1 when the waiter is to look again */
};

static inline struct dapl_evd *dapl_evd_get(DAT_EVD_HANDLE handle)
{
	return dapl_object_self(handle, DAPL_TYPE_EVD);
}

/* The same, locked: it is not freed before it is unlocked. */
static inline struct dapl_evd *dapl_evd_lock(DAT_EVD_HANDLE handle)
{
	return dapl_object_lock(handle, DAPL_TYPE_EVD);
}

extern const struct dapl_class dapl_evd_class;

/* An EVD of ia that carries the stream flag, which counts one more user; NULL otherwise. */
struct dapl_evd *dapl_evd_use(DAT_EVD_HANDLE handle, const struct dapl_ia *ia, uint32_t flag);
/*
 * The same, of any IA, which may be closed meanwhile: it stays until dapl_evd_leave, but may be
 * retired before, and have been forgotten by all that referred to it then.
 */
struct dapl_evd *dapl_evd_enter(DAT_EVD_HANDLE handle, uint32_t flag);
void dapl_evd_leave(struct dapl_evd *evd);

/* A new EVD in the IA's list, which cno, if any, counts already; DAT_SUCCESS or why not. */
DAT_RETURN dapl_evd_new(struct dapl_ia *ia, DAT_COUNT qlen, struct dapl_cno *cno, uint32_t flags,
			struct dapl_evd **out);

/* Whether completions may come; before, it is not known what to arm the CQ for. */
static inline bool dapl_evd_has_streams(const struct dapl_evd *evd)
{
	return evd->streams[DAPL_STREAM_THRESHOLD] || evd->streams[DAPL_STREAM_SOLICITED] ||
	       evd->streams[DAPL_STREAM_NOTIFY];
}

/*
 * DAT_EVD_STATE_CONFIG_* (EVD-17). Where streams of several kinds come together, which strict mode
 * refuses (EVD-30), every completion notifies.
 */
static inline uint32_t dapl_evd_config(const struct dapl_evd *evd)
{
	bool notify = evd->streams[DAPL_STREAM_NOTIFY];
	bool solicited = evd->streams[DAPL_STREAM_SOLICITED];

	if (evd->streams[DAPL_STREAM_THRESHOLD] || notify == solicited)
		return DAT_EVD_STATE_CONFIG_THRESHOLD;
	return notify ? DAT_EVD_STATE_CONFIG_NOTIFY : DAT_EVD_STATE_CONFIG_SOLICITED;
}

/* ---- evd_post.c: events come in, and whoever waits is told; no lock held ---- */

/* Appends an event. False: full, the event is lost and nobody told. */
bool dapl_evd_post(struct dapl_evd *evd, const struct dapl_event *event);
/* Keeps a place for one event, which says so when it is posted; false: there is none. */
bool dapl_evd_reserve(struct dapl_evd *evd);
void dapl_evd_unreserve(struct dapl_evd *evd);
/* Moves the completions of an EP into the ring; false: one found no room and is lost. */
bool dapl_evd_extract(struct dapl_evd *evd, const void *ep);
/* An event was lost; false: that is known already. */
bool dapl_evd_set_overflowed(struct dapl_evd *evd);
/* Counts an EP stream in or out. */
void dapl_evd_count_stream(struct dapl_evd *evd, enum dapl_stream kind, int by);
/* The tp_upcalls.cq_event of the core; any lock may be held. */
void dapl_evd_cq_event(void *evd);

/* Within event/; EVD lock held. */
/* Moves all completions into the ring; true if one of them notifies. */
bool dapl_evd_drain(struct dapl_evd *evd);
/* The same, and tells whoever is to know. */
void dapl_evd_drain_notify(struct dapl_evd *evd);
/* When no thread waits: has the transport tell of completions for the CNO, if there is one. */
void dapl_evd_arm(struct dapl_evd *evd);
/* That the transport was notified before counts no more. */
void dapl_evd_forget_notified(struct dapl_evd *evd);
/* Chooses how dequeue goes, after every change of what that depends on. */
void dapl_evd_choose_dequeue(struct dapl_evd *evd);
/* Gets a waiter that sleeps to look again. */
void dapl_evd_wake(struct dapl_evd *evd);
/* The loop's part of a notification. */
void dapl_evd_run_task(struct tp_task *task);

/* evd_counters.c: of its class */
void dapl_evd_describe(struct dapl_object *obj, FILE *out);
void dapl_evd_read_counters(struct dapl_object *obj, struct dapl_counters_view *view);

#endif
