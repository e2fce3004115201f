/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The device, below all rooms: what belongs to one of them it knows by name only.
 *
 * Threads. Connections are set up and taken down on the loop alone: calls of other threads that do
 * such things run there (soft_dev_call). Data moves on any thread, see engine/drive.h.
 *
 * Locks, outermost first:
 *   tp_cq.lock         the core's; which connections feed the CQ; the poller's while it drives them
 *   soft_dev.lock      list of QPs; held over soft_qp.lock by deregistration only
 *   soft_qp.lock       the queues and both directions of the connection; qp->conn and qp->state
 *   soft_srq.lock      who takes and who waits
 *   soft_conn.lock     what is watched, and the first fault
 *   soft_cq.lock       adding completions
 *   soft_stags.lock    registration
 */
#ifndef SOFT_DEVICE_H
#define SOFT_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "dapl/transport.h"
#include "util/list.h"

struct soft_cm;
struct soft_config;
struct soft_conn_hooks;
struct soft_stags;

/* What a connection, or the resolution of a datagram endpoint's peer, begins with. */
struct soft_any_conn {
	struct tp_conn base;
	bool ud;
};

/*
 * The counters of a device, in the order of the IA's, from DCNT_IA_LNK_ERR_RCV on; the others stay
 * 0.
 */
enum soft_count {
	SOFT_COUNT_RCV = 0,	  /* frames that were wrong */
	SOFT_COUNT_INTEGRITY = 5, /* ours, says the peer */
	SOFT_COUNT_XMT_WAIT = 8,  /* no room to send */
	SOFT_COUNT_DIAG = 9,
	SOFT_COUNT_RQ_RAE = SOFT_COUNT_DIAG, /* a peer's access refused */
	SOFT_COUNT_RQ_OOS,		     /* a peer's message out of sequence */
	SOFT_COUNT_RQ_RIRE,		     /* a peer's message that cannot be served */
	SOFT_COUNT_SQ_RAE = SOFT_COUNT_DIAG + 4,
	SOFT_COUNT_SQ_OOS,
	SOFT_COUNT_SQ_RIRE,
	SOFT_COUNT_SQ_RREE, /* a peer that was silent for too long */
	SOFT_COUNTS = SOFT_COUNT_DIAG + 9,
};

struct soft_dev {
	struct tp_device base;
	struct sockaddr_storage addr;
	char name[64]; /* of the IA */
	const struct soft_config *config;
	const struct soft_conn_hooks *hooks; /* engine/conn.h */
	struct soft_stags *stags;

	pthread_mutex_t lock;
	struct list qps;
	atomic_uint_fast64_t streams; /* connections so far */
	atomic_uint_fast64_t count[SOFT_COUNTS];
	atomic_bool looped; /* something of ours ran or runs on the loop */

	/* The loop's. */
	struct list handed;	/* connections that threads of the program drive (drive.h) */
	atomic_uint num_handed; /* for other threads */
	struct tp_timer look;	/* whether they are still there */
	atomic_bool looking;	/* it is set */
	uint64_t look_ns;	/* for so long from one look to the next */
	uint64_t look_least_ns; /* and not less, where there are many */
	bool look_doubted;	/* the last look found some that nobody drove: they had one more */
	pthread_mutex_t look_lock; /* when the timer is set, and to when */
	uint64_t look_at;
	struct list conns;	   /* established ones */
	struct tp_timer keepalive; /* as long as there are any */
	bool keeping;
	struct soft_cm *cm;
};

static inline struct soft_dev *soft_dev(struct tp_device *dev)
{
	return container_of(dev, struct soft_dev, base);
}

static inline void soft_count(struct soft_dev *dev, enum soft_count what)
{
	atomic_fetch_add_explicit(&dev->count[what], 1, memory_order_relaxed);
}

/* Runs fn on the loop and returns what it returns. The loop is running. */
int soft_dev_call(struct soft_dev *dev, int (*fn)(void *arg), void *arg);

extern const struct dapl_device_ops soft_device_ops;

#endif
