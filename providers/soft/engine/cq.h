/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion queues. */
#ifndef SOFT_CQ_H
#define SOFT_CQ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dapl/base/lock.h"
#include "dapl/transport.h"
#include "util/list.h"

struct soft_conn;
struct soft_dev;
struct soft_link;

struct soft_cq;

/* Which connections a poll looks at. */
enum soft_polled {
	SOFT_NOT_POLLED,     /* the CQ's epoll set tells of it if at all, and its peer wakes that */
	SOFT_POLLED_IN_TURN, /* with others, where nothing came for long */
	SOFT_POLLED_ALWAYS,
};

/* One connection's membership in a CQ. */
struct soft_member {
	/* In soft_cq.busy or calm; under tp_cq.lock, as the next ones. */
	struct list polled_node;
	struct soft_conn *conn;
	struct soft_link *link; /* its */
	uint32_t came;		/* soft_cq.drives when something came last */
	atomic_uint polled;	/* enum soft_polled */

	struct soft_cq *cq; /* NULL: none */
	struct list node;
	bool enrolled; /* in the CQ's epoll set; under conn->lock, as events */
	uint32_t events;
	uint32_t polls;	    /* the loop's: of the CQ when it looked last */
	uint32_t vain_told; /* soft_cq.vain_told when its peer was told last */
};

/* Of tp_wc.flags, in the queue only: what tp_cq.poll_plain may return; what the peer's data completed.
 */
#define SOFT_WC_PLAIN 0x80000000u
#define SOFT_WC_CAME  0x20000000u
#define SOFT_WC_OURS  (SOFT_WC_PLAIN | SOFT_WC_CAME)

struct soft_cq {
	struct tp_cq base;
	struct soft_dev *dev;

	/* The consumer's, under tp_cq.lock. */
	atomic_uint tail;
	atomic_uint polls; /* that found it empty, so far, and more for those that took what came */
	bool woken;	   /* slept since the last poll that drove */
	uint32_t vain;	   /* polls since peers were told of them */
	uint32_t vain_told; /* and before */
	/* A poll that drives has its first completion put there, past the queue. NULL: there is none,
	 * or it has that. */
	struct tp_wr **takes;

	/* The producers'. */
	struct dapl_lock lock;
	atomic_uint head;
	struct tp_wc *ring;
	uint32_t size;	/* power of two */
	uint32_t limit; /* completions it holds, <= size (EVD-93) */
	atomic_int armed;
	struct tp_task overflow;

	atomic_bool waiter; /* somebody sleeps, on epfd or */
	/* on a word (cq_sleep.c). Under doze, which comes behind all other locks. */
	pthread_mutex_t doze;
	pthread_cond_t is_up;	 /* dozes became NULL */
	struct soft_link *dozes; /* whose word; NULL: nobody does */

	/* Under tp_cq.lock as well. */
	struct list members;
	struct list busy;	     /* that are polled always */
	struct list calm;	     /* and in turn */
	uint32_t num_calm, num_left; /* of calm; left to the epoll set */
	uint32_t drives;	     /* polls that looked at them, so far */
	uint32_t cost_since_look;    /* of polling them, and their completions */
	uint32_t room_cost;	     /* of those where room is to be looked for */
	uint32_t polls_since_clock;
	uint64_t clock;	   /* dapl_now() at that time */
	bool spinning;	   /* who polled until then did nothing else */
	atomic_uint cost;  /* of driving all members one by one */
	atomic_int epfd;   /* -1 until needed */
	atomic_bool blind; /* there is none, or it does not have all members */
};

static inline struct soft_cq *soft_cq(struct tp_cq *cq)
{
	return container_of(cq, struct soft_cq, base);
}

extern const struct dapl_cq_ops soft_cq_ops;

/* So much may it cost to try connections one by one rather than by epoll. */
enum {
	SOFT_CQ_FEW = 16,
	SOFT_CQ_POLLED =
		8, /* soft_cq.polls grow by that much where somebody polls for what comes */
};

static inline bool soft_cq_few(const struct soft_cq *cq)
{
	return atomic_load_explicit(&cq->cost, memory_order_relaxed) <= SOFT_CQ_FEW;
}

/* Whether somebody waits for completions without polling or sleeping on the CQ. */
static inline bool soft_cq_notify(const struct soft_cq *cq)
{
	return atomic_load(&cq->armed) == TP_ARM_NOTIFY + 1;
}

/* ---- cq_sleep.c: dapl_cq_ops.sleeps, sleep and wake ---- */

bool soft_cq_sleeps(struct tp_cq *base);
int soft_cq_sleep(struct tp_cq *base, const uint32_t *word, uint32_t seen, uint64_t deadline);
/* Also where what one is to sleep for has changed. */
void soft_cq_wake(struct tp_cq *base);
/* The link goes, and its word with it: returns once nobody sleeps there. No more members there. */
void soft_cq_wake_for_good(struct soft_cq *cq, const struct soft_link *link);

/* ---- cq_drive.c: the connections that feed it ---- */

/* They start and cease to. On the loop, lock not held. */
void soft_cq_attach(struct soft_member *member);
void soft_cq_detach(struct soft_member *member);
/* Who finds the queue empty: moves their data. Whether anything moved. Lock held. */
bool soft_cq_drive(struct soft_cq *cq);
/* Who drove goes to sleep on the epoll set: has it told of all that happens. Lock held. */
void soft_cq_watch(struct soft_cq *cq);

#endif
