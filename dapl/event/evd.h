/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Event dispatchers: one queue of events from many streams. */
#ifndef DAPL_EVD_H
#define DAPL_EVD_H

#include <dat/dat_ib_extensions.h>

#include "dapl/event/cno.h"
#include "dapl/base/lock.h"
#include "dapl/object/object.h"
#include "dapl/base/ring.h"
#include "dapl/transport.h"

struct dapl_ep;

/* Who is to hear of a completion; read without lock by dapl_evd_cq_event. */
enum dapl_evd_ear {
	DAPL_EAR_NONE,
	DAPL_EAR_WAITER, /* a thread sleeps, or is about to, on the descriptors */
	DAPL_EAR_CNO,	 /* the loop looks and triggers the CNO */
};

/* Why a waiter is to return although no event satisfied it (EVD-58). */
enum dapl_evd_end {
	DAPL_END_NONE,
	DAPL_END_UNWAITABLE,
	DAPL_END_ABORT,
};

/* What has happened here (dapl/object/counters.h). */
struct dapl_evd_counts {
	uint64_t taken;		 /* events by dequeueing the short way */
	uint64_t kept, polled;	 /* from the ring and from the transport's queue, otherwise */
	_Atomic uint64_t missed; /* dequeues without an event */
	uint64_t waits, waited;	 /* and how many of them returned an event */
	uint64_t blocked, notified;
	uint64_t connections, notices;
};

/* users: EP streams, service points and IAs that feed it. */
struct dapl_evd {
	struct dapl_object obj; /* its lock: everything below */
	/* What the events of completions begin with, for good. */
	struct {
		DAT_EVENT_NUMBER number;
		DAT_EVD_HANDLE evd;
	} head;
	struct dapl_ring ring;
	struct tp_cq *cq; /* NULL without DTO and bind streams */
	/* What dequeue takes from: cq, or what never has anything while it is to look closer. */
	struct tp_cq *source;
	DAT_EVENT *into; /* dequeue's, while the source is asked: a register less for it to save */
	struct dapl_cno *cno;
	uint32_t qlen;
	uint32_t flags; /* DAT_EVD_FLAGS of creation */
	bool disabled, unwaitable;
	bool unheard;	    /* of the kept receives it is not known whether one is solicited */
	bool overflowed;    /* an overflow was reported and no event removed since (EVD-94) */
	uint32_t notify;    /* EP streams with UNSIGNALLED (EVD-17) */
	uint32_t solicited; /* EP streams with SOLICITED_WAIT */
	uint32_t threshold_streams; /* EP streams with neither */

	bool waiter;	/* owned by a waiter (EVD-19) */
	bool satisfied; /* the waiter's condition came true */
	enum dapl_evd_end end;
	uint32_t threshold;
	_Atomic int wakefd; /* while a thread waits that needs one, or kept; else -1 */
	uint32_t rung;	    /* futex: how often a waiting thread was woken */
	_Atomic int ear;    /* enum dapl_evd_ear */
	_Atomic bool bare;  /* no completions come here, nothing is kept, and nobody waits */
	struct tp_task task;
	struct dapl_evd_counts counts;
	uint64_t counted_before[DCNT_EVD_ALL_COUNTERS]; /* where the last reset was */
};

static inline struct dapl_evd *dapl_evd_get(DAT_EVD_HANDLE handle)
{
	return dapl_object_self(handle, DAPL_TYPE_EVD);
}

/* The same, with its lock held: it is not freed before that is given back. */
static inline struct dapl_evd *dapl_evd_hold(DAT_EVD_HANDLE handle)
{
	return dapl_object_hold(handle, DAPL_TYPE_EVD);
}

extern const struct dapl_class dapl_evd_class;

/* An EVD of ia that carries the stream flag; NULL otherwise. */
struct dapl_evd *dapl_evd_arg(DAT_EVD_HANDLE handle, const struct dapl_ia *ia, uint32_t flag);
/*
 * The same for the connect EVD of an EP. Programs of release 2.1.10, its dapltest among them, use
 * one for the EPs of several opens of an adapter: strict mode alone refuses that (GEN-22).
 */
struct dapl_evd *dapl_evd_connect_arg(DAT_EVD_HANDLE handle, const struct dapl_ia *ia);

/* A new EVD in the IA's list, which cno, if any, counts already; DAT_SUCCESS or why not. */
DAT_RETURN dapl_evd_new(struct dapl_ia *ia, DAT_COUNT qlen, struct dapl_cno *cno, uint32_t flags,
			struct dapl_evd **out);

/* Appends an event and tells whoever waits. False: full, the event is lost; says so to nobody. */
bool dapl_evd_post(struct dapl_evd *evd, const struct dapl_event *event);
/* Whether an event would find room now. */
bool dapl_evd_has_room(struct dapl_evd *evd);
/* As dapl_evd_post, and an overflow is reported to the IA (EVD-94). */
bool dapl_evd_append(struct dapl_evd *evd, const struct dapl_event *event);
/*
 * Moves what an EP has completed from the transport's queue into the ring, so that it stays ahead
 * of a later event (FL-5), or because the EP's slots go. What finds no room is an overflow.
 */
void dapl_evd_keep(struct dapl_evd *evd, const struct dapl_ep *ep);
/* Reports that an event was lost (EVD-94). No lock held. */
void dapl_evd_overflow(struct dapl_evd *evd);
/* The tp_upcalls.cq_event of the core. */
void dapl_evd_cq_event(void *evd);

/* evd.c and evd_wait.c share these; lock held. */
/* Takes over all completions; true if one of them notifies. */
bool dapl_evd_drain(struct dapl_evd *evd);
/* Has the transport's completions heard by whoever is to hear them when no thread waits. */
void dapl_evd_listen(struct dapl_evd *evd);
/* Sets source; after every change of what it depends on. */
void dapl_evd_aim(struct dapl_evd *evd);
/* Whether completions may come; before, nobody knows what to ask for. */
static inline bool dapl_evd_has_streams(const struct dapl_evd *evd)
{
	return evd->notify || evd->solicited || evd->threshold_streams;
}

/*
 * DAT_EVD_STATE_CONFIG_* (EVD-17). Where streams of several kinds come together, which strict mode
 * refuses (EVD-30), every completion notifies.
 */
static inline uint32_t dapl_evd_config(const struct dapl_evd *evd)
{
	if (evd->notify && !evd->solicited && !evd->threshold_streams)
		return DAT_EVD_STATE_CONFIG_NOTIFY;
	if (evd->solicited && !evd->notify && !evd->threshold_streams)
		return DAT_EVD_STATE_CONFIG_SOLICITED;
	return DAT_EVD_STATE_CONFIG_THRESHOLD;
}

/* Counts an EP stream of a kind, notify, solicited or threshold_streams, in or out. No lock held.
 */
void dapl_evd_count_stream(struct dapl_evd *evd, uint32_t *kind, int by);
/* What was announced before counts no more. */
void dapl_evd_forget(struct dapl_evd *evd);
/* Gets a sleeping waiter to look again. */
void dapl_evd_wake(struct dapl_evd *evd);
/* Gives up what waits could do without, when a descriptor that is needed would be the last. */
void dapl_evd_make_room(struct dapl_ia *ia);

/* evd_counters.c: of its class */
void dapl_evd_describe(struct dapl_object *obj, FILE *out);
void dapl_evd_read_counters(struct dapl_object *obj, struct dapl_counters_view *view);

DAT_RETURN dapl_evd_create(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_CNO_HANDLE cno,
			   DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd);
DAT_RETURN dapl_evd_query(DAT_EVD_HANDLE evd, DAT_EVD_PARAM_MASK mask, DAT_EVD_PARAM *param);
DAT_RETURN dapl_evd_modify_cno(DAT_EVD_HANDLE evd, DAT_CNO_HANDLE cno);
DAT_RETURN dapl_evd_enable(DAT_EVD_HANDLE evd);
DAT_RETURN dapl_evd_disable(DAT_EVD_HANDLE evd);
DAT_RETURN dapl_evd_wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold,
			 DAT_EVENT *event, DAT_COUNT *n_more);
DAT_RETURN dapl_evd_resize(DAT_EVD_HANDLE evd, DAT_COUNT qlen);
DAT_RETURN dapl_evd_post_se(DAT_EVD_HANDLE evd, const DAT_EVENT *event);
DAT_RETURN dapl_evd_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event);
DAT_RETURN dapl_evd_free(DAT_EVD_HANDLE evd);
DAT_RETURN dapl_evd_set_unwaitable(DAT_EVD_HANDLE evd);
DAT_RETURN dapl_evd_clear_unwaitable(DAT_EVD_HANDLE evd);

#endif
