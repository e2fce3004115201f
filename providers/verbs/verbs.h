/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The verbs transport: adapters with a libibverbs driver.
 *
 * Every work request lies in a ring of its queue until its completion is known here, so that a
 * queue can be flushed even when the device cannot, receives can be posted before there is a QP to
 * post them to, and outstanding work can be counted.
 *
 * Locks, in the order in which they nest: dev->lock, queue->lock, cq->lock. No two of one kind.
 */
#ifndef VERBS_VERBS_H
#define VERBS_VERBS_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dapl/transport.h"
#include "providers/verbs/lock.h"

#define vrb_container(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))
#define vrb_likely(x)			 __builtin_expect(!!(x), 1)
#define vrb_unlikely(x)			 __builtin_expect(!!(x), 0)

#define VRB_NAME_LEN 64

struct vrb_config {
	int64_t max_inline, max_wr;
	int64_t ack_retry, ack_timer;
	int64_t rnr_retry, rnr_timer;
	int64_t arp_timeout_ms, arp_retry;
	int64_t route_timeout_ms, route_retry;
	int64_t flush_ms, pulse_ms;
};

extern struct vrb_config vrb_config;

struct vrb_conn;
struct vrb_cq;
struct vrb_mr;
struct vrb_qp;

/* ---- Device ---- */

struct vrb_dev {
	struct tp_device base;
	char name[256]; /* of the IA */
	const struct vrb_config *config;
	char ibdev[VRB_NAME_LEN];
	struct ibv_context *ctx;
	uint8_t port;
	bool iwarp;
	bool no_resize;	  /* its CQs keep the length they are made with */
	bool vague;	  /* it calls all local faults the same: their segments are looked at */
	atomic_bool gone; /* the device was removed: nothing will complete any more */
	struct sockaddr_storage addr;
	struct tp_device_attr attr;
	struct tp_watch async;
	struct ibv_cq *null_cq; /* of queues that the program makes no use of */

	struct rdma_event_channel *channel;
	struct tp_watch cm;
	atomic_bool cm_watched;
	pthread_mutex_t cm_lock; /* who is busy with which connection or listener */
	pthread_cond_t cm_left;

	pthread_mutex_t lock; /* everything below */
	struct vrb_qp *qps;
	uint32_t num_open; /* connections */
	bool pulsing;
	struct tp_timer pulse;

	pthread_mutex_t mr_lock;
	struct vrb_mr **mrs; /* by local key, chained */
	uint32_t num_mrs;
	_Atomic uint32_t mr_gen; /* counts deregistrations */
};

static inline struct vrb_dev *vrb_dev(struct tp_device *base)
{
	return vrb_container(base, struct vrb_dev, base);
}

extern const struct dapl_device_ops vrb_device_ops;

/* On the loop: what the device has to say is heard now. */
void vrb_dev_events(struct vrb_dev *dev);
/* On the loop: the kernel took the device away. */
void vrb_dev_removed(struct vrb_dev *dev);

/* addr.c: the adapter's address that an entry of dat.conf means, and the open verbs device it is
 * on. */
int vrb_addr_open(struct vrb_dev *dev, const char *params);
/* "address port" for messages. */
#define VRB_ADDR_TEXT 64
const char *vrb_addr_text(const struct sockaddr_storage *addr, char text[VRB_ADDR_TEXT]);
socklen_t vrb_addr_len(const struct sockaddr_storage *addr);
void vrb_addr_set_port(struct sockaddr_storage *addr, uint16_t port);

/* ---- Memory ---- */

struct vrb_pd {
	struct tp_pd base;
	struct ibv_pd *ibpd;
};

static inline struct vrb_pd *vrb_pd(struct tp_pd *base)
{
	return vrb_container(base, struct vrb_pd, base);
}

struct vrb_mr {
	struct tp_mr base;
	struct ibv_mr *ibmr;
	uint64_t start, end;
	bool writable;
	struct vrb_mr *next; /* same chain of dev->mrs */
};

/* A region that a QP sent inline data from lately. */
struct vrb_mr_hint {
	uint64_t start, end;
	uint32_t lkey, gen;
};

extern const struct dapl_pd_ops vrb_pd_ops;
extern const struct dapl_mr_ops vrb_mr_ops;

/* Whether sge lies in a region of pd, so that the processor may read it as the device would. */
bool vrb_mr_covers(struct vrb_dev *dev, struct vrb_mr_hint *hint, const struct vrb_pd *pd,
		   const struct tp_sge *sge);

/* Whether the device may read, or write, all of the segments. */
bool vrb_mr_allows(struct vrb_dev *dev, const struct vrb_pd *pd, const struct tp_sge *sge,
		   uint32_t num, bool write);

/* ---- Completion queues ---- */

struct vrb_cq {
	struct tp_cq base;
	struct vrb_dev *dev;
	struct ibv_cq *ibcq;
	struct ibv_comp_channel *channel;
	struct vrb_lock lock; /* polling, and everything below but armed */

	/* Completions that were taken off the device's queue for somebody else's sake, or made
	 * here. */
	struct tp_wc *stash;
	uint32_t first, count, size;
	/* Those of connections the program does not know to be established yet. */
	struct tp_wc *held;
	struct vrb_qp **held_by;
	uint32_t num_held, held_size;

	uint32_t attached; /* work requests that may be outstanding at once */
	uint32_t cqe;	   /* asked for by the core */
	uint32_t drainers; /* QPs whose last request is waited for */

	atomic_bool armed;
	_Atomic uint32_t unacked;
	struct tp_watch watch;
	atomic_bool watched;
};

static inline struct vrb_cq *vrb_cq(struct tp_cq *base)
{
	return base ? vrb_container(base, struct vrb_cq, base) : NULL;
}

extern const struct dapl_cq_ops vrb_cq_ops;

/* Room for num more outstanding work requests; the end of it. */
int vrb_cq_attach(struct vrb_cq *cq, uint32_t num);
void vrb_cq_detach(struct vrb_cq *cq, uint32_t num);
/* Takes everything off the device's queue. */
void vrb_cq_collect(struct vrb_cq *cq);
/* Adds a completion; the lock is held. */
void vrb_cq_push(struct vrb_cq *cq, const struct tp_wc *wc);
/* Gives out what was held for qp. */
void vrb_cq_unhold(struct vrb_cq *cq, struct vrb_qp *qp);
/* The loop polls until drain is ended as often as it was begun. */
void vrb_cq_drain(struct vrb_cq *cq, bool begin);

/* ---- Queue pairs ---- */

enum vrb_mode {
	VRB_KEEP,  /* idle: receives stay here, requests are refused */
	VRB_HW,	   /* the device has what is in the ring */
	VRB_FLUSH, /* the device has what is before hw_tail and is to flush it; the rest stays here
		    */
	VRB_DONE,  /* flushed; what comes is flushed at once */
};

struct vrb_wr {
	uint64_t id; /* the core's */
	struct vrb_queue *queue;
	uint32_t seq;
	uint16_t num_sge; /* receives in VRB_KEEP, and all of a vague device */
	bool sink;	  /* writes to its segments; of a vague device */
	bool internal;	  /* a marker of this transport */
	bool silent;	  /* success makes no completion */
	bool done;	  /* its completion came out of turn and waits here; under cq->lock */
	struct tp_wc wc;
};

/* One direction of a QP. */
struct vrb_queue {
	struct vrb_lock lock; /* mode, tail, hw_tail and posting to the device */
	enum vrb_mode mode;
	bool recv;
	bool unordered; /* the device completes reads behind what was posted later */
	uint32_t done;	/* then: end of what it has completed; under cq->lock */
	bool failed;	/* a completion was no success; under cq->lock */
	bool gated;	/* successful completions are held back; under cq->lock */
	uint32_t mask, tail;
	uint32_t hw_tail;      /* VRB_FLUSH: end of what the device has */
	uint32_t flush_to;     /* VRB_FLUSH: end of what it makes completions of */
	_Atomic uint32_t head; /* under cq->lock or, in VRB_KEEP, lock */
	struct vrb_wr *wr;
	struct vrb_cq *cq;
	struct vrb_qp *qp;
	struct tp_sge *sge; /* max_sge for each of the ring, or, for requests, for one */
	bool keeps;	    /* for each */
	uint32_t max_sge, max_wr;
};

struct vrb_qp {
	struct tp_qp base;
	struct vrb_dev *dev;
	struct vrb_pd *pd;
	struct ibv_qp *ibqp;
	struct vrb_queue sq, rq;
	uint32_t max_inline;
	struct vrb_mr_hint hint;
	atomic_bool draining;	/* the loop is to hear when sq is empty */
	_Atomic uint32_t fault; /* enum tp_wc_status of the first failure, 0 if none */
	atomic_bool live;	/* the device may have completions of it */
	uint32_t max_read_in, max_read_out;
	uint32_t seen;	       /* sq.head at the last pulse */
	struct vrb_conn *conn; /* under dev->cm_lock */
	struct tp_task task;   /* the connection is to be looked at */
	struct vrb_qp *next, **link;
};

static inline struct vrb_qp *vrb_qp(struct tp_qp *base)
{
	return vrb_container(base, struct vrb_qp, base);
}

static inline uint32_t vrb_queue_used(struct vrb_queue *queue)
{
	return queue->tail - atomic_load_explicit(&queue->head, memory_order_acquire);
}

extern const struct dapl_qp_ops vrb_qp_ops;

/* qp.c: posting. */
int vrb_qp_post_send(struct tp_qp *base, const struct tp_wr *wr);
int vrb_qp_post_recv(struct tp_qp *base, uint64_t wr_id, const struct tp_sge *sge,
		     uint32_t num_sge);
/* What was wrong with a request or receive that a vague device gave back. */
enum tp_wc_status vrb_qp_explain(const struct vrb_wr *wr, enum tp_wc_status status);
/* A request of no effect whose completion tells that all before it are done. */
int vrb_qp_post_marker(struct vrb_qp *qp);
/* Gives the device the receives that were kept; it is in a state to take them. */
int vrb_qp_post_kept(struct vrb_qp *qp);
/* Ends posting to the device; and gives back, in order, all that the device will not. */
void vrb_queue_stop(struct vrb_queue *queue);
void vrb_queue_finish(struct vrb_queue *queue, bool gave_up);
/* The QP failed or is drained: the loop is to look at its connection. Any lock. */
void vrb_qp_kick(struct vrb_qp *qp);

/* ---- qp_life.c ---- */

/* What the peers agreed on. */
struct vrb_depth {
	uint8_t in, out;
};

/* A device QP for a connection about to begin. */
int vrb_qp_prepare(struct vrb_qp *qp);
/* Ready for receives; then, in one or two steps, for the peer (the QPs of iWARP follow the kernel).
 */
int vrb_qp_to_init(struct vrb_qp *qp, struct rdma_cm_id *id);
int vrb_qp_to_rts(struct vrb_qp *qp, struct rdma_cm_id *id, const struct vrb_depth *depth);
/* Requests may be posted. */
void vrb_qp_open(struct vrb_qp *qp);
/* Takes its completions, and others, off the device's queues. */
void vrb_qp_collect(struct vrb_qp *qp);
/* Whether the device put it in error by itself. */
bool vrb_qp_found_fault(struct vrb_qp *qp);
/* Error: everything outstanding completes before this returns. May be called again. */
void vrb_qp_fail(struct vrb_qp *qp);

/* ---- Connections ---- */

extern const struct dapl_cm_ops vrb_cm_ops;

/* On the loop: something happened to the QP of a connection. */
void vrb_cm_look(struct vrb_qp *qp);
/* The kernel's events. */
int vrb_cm_start(struct vrb_dev *dev);
void vrb_cm_stop(struct vrb_dev *dev);

#endif
