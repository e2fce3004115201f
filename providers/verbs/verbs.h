/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The verbs transport: adapters with a libibverbs driver.
 *
 * Every work request lies in a ring of its queue until its completion is known here, so that a
 * queue can be flushed even when the device cannot, receives can be posted before there is a QP to
 * post them to, and outstanding work can be counted.
 *
 * Locks: the posting side of a queue is under the core's lock of the QP's owner ("QP lock"), a CQ
 * under that of its owner ("CQ lock"), so that posting and polling take none here. Whoever is not
 * called with it takes it by vrb_qp_lock or vrb_cq_lock, the QP's first. dev->lock may be held
 * then, and an SRQ's before the CQ's; the other locks of this transport are leaves.
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
#include "util/compiler.h"

#define vrb_container container_of
#define vrb_likely    likely
#define vrb_unlikely  unlikely

#define VRB_NAME_LEN	  64
#define VRB_NUMBER_CHAINS 64

/* struct vrb_config: the process's values of the tunables; a device's are vrb_dev.config. */
#define CONFIG	 vrb_config
#define TUNABLES "providers/verbs/tunables.def"
#include "dapl/base/config_declare.h"

struct vrb_conn;
struct vrb_cq;
struct vrb_srq;
struct vrb_mr;
struct vrb_qp;
struct vrb_queue;
struct vrb_srq_use;

/* ---- What the kernel takes its time for (reap.c) ---- */

struct vrb_reap {
	void (*run)(struct vrb_reap *item);
	struct vrb_reap *next;
};

struct vrb_reaper {
	pthread_mutex_t lock; /* a leaf; everything below */
	pthread_cond_t more;
	struct vrb_reap *first;
	bool busy, stop, started;
	pthread_t thread;
};

void vrb_reaper_init(struct vrb_reaper *reaper);
/* Everything is done when it returns. */
void vrb_reaper_end(struct vrb_reaper *reaper);

/* ---- Device ---- */

struct vrb_dev {
	struct tp_device base;
	char name[256]; /* of the IA */
	const struct vrb_config *config;
	char ibdev[VRB_NAME_LEN];
	struct ibv_context *ctx;
	uint8_t port;
	bool iwarp;
	bool roce;
	bool windows;	    /* it has memory windows */
	uint32_t max_qp_wr; /* what it names itself */
	bool no_resize;	    /* its CQs keep the length they are made with */
	bool siw;   /* soft-iWARP, which announces no solicited receives and flushes at once */
	bool vague; /* it calls all local faults the same: their segments are looked at */
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

	struct vrb_reaper reaper;

	pthread_mutex_t mw_lock; /* which windows are bound through which QP */
	struct vrb_mw *mws;

	pthread_mutex_t number_lock; /* the QPs that have an SRQ */
	struct vrb_qp *by_number[VRB_NUMBER_CHAINS];

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

/* run, which may block, comes when all before it have run; of the second, before it returns if
 * there are none. */
void vrb_reap(struct vrb_dev *dev, struct vrb_reap *item);
void vrb_reap_after(struct vrb_dev *dev, struct vrb_reap *item);

/* sample.c */
int vrb_dev_counters(struct tp_device *base, enum tp_counters group, uint64_t *value, uint32_t num);
/* On the loop: what the device has to say is heard now. */
void vrb_dev_events(struct vrb_dev *dev);
/* On the loop: the kernel took the device away. */
void vrb_dev_removed(struct vrb_dev *dev);

/* addr.c: the adapter's address that an entry of dat.conf means, and the open verbs device it is
 * on. */
int vrb_addr_open(struct vrb_dev *dev, const char *params);
/*
 * What rdma-core has opened for the device is the module's as any other descriptor
 * (dapl/base/fd.h), its number stands where rdma-core looks for it. 0 or -errno.
 */
int vrb_own_fd(int *fd);
void vrb_close_ctx(struct ibv_context *ctx);
/* Why there really is nothing: rc, or the lack of descriptors that is behind it. */
int vrb_addr_errno(int rc);
/* "address port" for messages. */
#define VRB_ADDR_TEXT 64
const char *vrb_addr_text(const struct sockaddr_storage *addr, char text[VRB_ADDR_TEXT]);
socklen_t vrb_addr_len(const struct sockaddr_storage *addr);
void vrb_addr_set_port(struct sockaddr_storage *addr, uint16_t port);

/* ---- Memory ---- */

struct vrb_pd {
	struct tp_pd base;
	struct ibv_pd *ibpd;
	struct vrb_reap reap;
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

/* A window; what a QP has bound goes with it. */
struct vrb_mw {
	struct tp_mw base;
	pthread_mutex_t lock;	   /* binds; behind the QP's, before the CQ's */
	struct ibv_mw *ibmw;	   /* NULL: to be made anew by the next bind */
	struct ibv_mr *ibmr;	   /* that it was last bound to */
	_Atomic uint32_t last_key; /* that the peer may know */
	atomic_bool bound;
	/* under dev->mw_lock */
	struct vrb_qp *qp;	     /* that it was bound on, or is about to be */
	bool doubtful;		     /* how its last bind ended is not known */
	struct vrb_mw *next, **link; /* of all of the device */
};

extern const struct dapl_mw_ops vrb_mw_ops;

/* mw.c: the device's QP is about to go, and with it its bindings. */
void vrb_mw_qp_gone(struct vrb_qp *qp);
/* The peer invalidated a key. */
void vrb_mw_invalidated(struct vrb_dev *dev, uint32_t rkey);
/* A region that nothing is bound to goes: ends one binding to it that was made all the same. */
bool vrb_mw_unbind_one(struct vrb_dev *dev, struct ibv_mr *ibmr);

extern const struct dapl_pd_ops vrb_pd_ops;
extern const struct dapl_mr_ops vrb_mr_ops;

/* Whether sge lies in a region of pd, so that the processor may read it as the device would. */
bool vrb_mr_covers(struct vrb_dev *dev, struct vrb_mr_hint *hint, const struct vrb_pd *pd,
		   const struct tp_sge *sge);

/* Whether the device may read, or write, all of the segments. */
bool vrb_mr_allows(struct vrb_dev *dev, const struct vrb_pd *pd, const struct tp_sge *sge,
		   uint32_t num, bool write);

/* ---- Completion queues ---- */

enum vrb_armed {
	VRB_NOT_ARMED,
	VRB_ARMED_SOLICITED,
	VRB_ARMED_ALL,
};

struct vrb_cq {
	struct tp_cq base;
	struct vrb_dev *dev;
	struct ibv_cq *ibcq;
	int (*ib_poll)(struct ibv_cq *cq, int num, struct ibv_wc *wc); /* the device's own */
	struct ibv_wc ib;
	struct ibv_comp_channel *channel;
	/* Under the CQ lock, but for armed and what follows. */

	/* Completions that were taken off the device's queue for somebody else's sake, or made
	 * here. */
	struct tp_wc *backlog;
	uint32_t first, count, size;
	/* Those of connections the program does not know to be established yet. */
	struct tp_wc *deferred;
	struct vrb_qp **deferred_by;
	uint32_t num_deferred, deferred_size;

	uint32_t attached; /* work requests that may be outstanding at once */
	uint32_t cqe;	   /* asked for by the core */
	uint32_t drainers; /* QPs whose last request is waited for */

	_Atomic int armed; /* enum vrb_armed */
	atomic_bool announced;
	_Atomic uint32_t unacked;
	struct tp_task overflow; /* a completion was lost */
	struct vrb_reap reap;
	struct tp_watch watch;
	bool watched; /* CQ lock */
};

static inline struct vrb_cq *vrb_cq(struct tp_cq *base)
{
	return base ? vrb_container(base, struct vrb_cq, base) : NULL;
}

extern const struct dapl_cq_ops vrb_cq_ops;

static inline void vrb_cq_lock(struct vrb_cq *cq)
{
	cq->base.dev->up->hold_cq(cq->base.owner);
}

static inline void vrb_cq_unlock(struct vrb_cq *cq)
{
	cq->base.dev->up->free_cq(cq->base.owner);
}

/* Room for num more outstanding work requests; the end of it. These and the next take the lock. */
int vrb_cq_attach(struct vrb_cq *cq, uint32_t num);
void vrb_cq_detach(struct vrb_cq *cq, uint32_t num);
/* Sees to it that the queue's next completions are looked at closely, or no more. */
void vrb_queue_choose_path(struct vrb_queue *queue);
/* Takes everything off the device's queue. */
void vrb_cq_collect(struct vrb_cq *cq);
/* Adds a completion of qp, which fails where there is no room (EVD-95); the lock is held. */
void vrb_cq_push(struct vrb_cq *cq, struct vrb_qp *qp, const struct tp_wc *wc);
/* Has what qp receives held back from now on; gives out what was held. */
void vrb_cq_defer(struct vrb_cq *cq, struct vrb_qp *qp);
void vrb_cq_deliver(struct vrb_cq *cq, struct vrb_qp *qp);
/* The loop polls until drain is ended as often as it was begun. */
void vrb_cq_drain(struct vrb_cq *cq, bool begin);

/* ---- Queue pairs ---- */

enum vrb_mode {
	VRB_QUEUE_IDLE,	    /* idle: receives stay here, requests are refused */
	VRB_QUEUE_ACTIVE,   /* the device has what is in the ring */
	VRB_QUEUE_FLUSHING, /* the device has what is before hw_tail and is to flush it; the rest
			     * stays here
			     */
	VRB_QUEUE_FLUSHED,  /* flushed; what comes is flushed at once */
};

/* What a work request is besides a plain one that went the short way. */
enum {
	VRB_WR_SLOW = 0x1,	 /* it went the long way: its segments are beside the ring */
	VRB_WR_INTERNAL = 0x2,	 /* of this transport: a marker, an invalidation */
	VRB_WR_UNSIGNALED = 0x4, /* success makes no completion */
	VRB_WR_FETCH = 0x8,	 /* writes to its segments */
	VRB_WR_DONE = 0x10,	 /* its completion came out of turn and waits here; CQ lock */
	VRB_WR_POLLED = 0x20,	 /* its success is told by poll */
	VRB_WR_FAILS = 0x40,	 /* the device has a harmless one instead of it; it fails */
};

struct vrb_wr {
	uint64_t id;		 /* the core's; of a request the address of its tp_wr */
	struct vrb_queue *queue; /* for good, as is next */
	struct vrb_wr *next;
	uint32_t flags;
	uint16_t num_sge; /* receives in VRB_QUEUE_IDLE, and all of a vague device but short ones */
	struct tp_wc wc;
};

/* Requests of the transport's own that a QP has room for. */
#define VRB_DRAIN_WRS 2 /* of a drain, and of the stop behind it */
#define VRB_WAKE_WRS  2 /* soft-iWARP: see vrb_qp_wake_peer */

/* One direction of a QP. */
struct vrb_queue {
	_Atomic(struct vrb_wr *) next; /* of the ring, to be used */
	_Atomic(struct vrb_wr *) head; /* the oldest; CQ lock or, in VRB_QUEUE_IDLE, QP lock */
	_Atomic uint32_t slow; /* take looks at every completion: for what is below, and the QP */
	bool recv;
	bool out_of_order;	  /* the device completes reads behind what was posted later */
	_Atomic uint32_t fetches; /* out_of_order: requests that bring data, posted; QP lock */
	uint32_t fetched;	  /* and done; CQ lock */
	bool failed;		  /* a completion was no success; CQ lock */
	bool deferring;		  /* successful completions are held back; CQ lock */
	enum vrb_mode mode;	  /* QP lock */
	struct vrb_wr *done;	  /* out_of_order: end of what the device has completed; CQ lock */
	struct vrb_wr *hw_end;	  /* VRB_QUEUE_FLUSHING: end of what the device has */
	struct vrb_wr *flush_to;  /* VRB_QUEUE_FLUSHING: end of what it makes completions of */
	uint32_t mask;
	uint64_t seen;	     /* how far it was at the last pulse */
	struct vrb_srq *srq; /* this is the SRQ's: no ring */
	struct vrb_wr *wr;
	struct vrb_cq *cq;
	struct vrb_qp *qp;
	struct tp_sge *sge; /* max_sge for each of the ring, or, for requests, for one */
	bool copies_sge;    /* for each */
	uint32_t max_sge, max_wr;
};

struct vrb_qp {
	struct tp_qp base;
	struct vrb_dev *dev;
	struct vrb_pd *pd;
	struct ibv_qp *ibqp;
	struct vrb_queue sq, rq;
	struct ibv_send_wr *bad; /* of the last post; nobody reads it */
	/* The device's own, without its ways to it. */
	int (*ib_post)(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
	struct vrb_srq *srq; /* where its receives come from; rq has none then */
	bool silent;	     /* requests without completions were posted; QP lock */
	uint32_t max_inline;
	struct vrb_mr_hint hint;
	atomic_bool draining;	 /* the loop is to hear when sq is empty */
	_Atomic uint32_t fault;	 /* enum tp_wc_status of the first failure, 0 if none */
	atomic_bool live;	 /* the device may have completions of it */
	atomic_bool peer_closed; /* a request failed, and for no other reason */
	uint32_t max_read_in, max_read_out;
	uint32_t number; /* while listed by it, which only QPs with an SRQ are */
	struct vrb_qp *same_number;
	struct vrb_conn *conn; /* under dev->cm_lock */
	struct tp_task task;   /* the connection is to be looked at */
	struct tp_task notice; /* the device found a fault */
	struct vrb_qp *next, **link;
	bool init;	       /* it is in that state since it was made */
	uint32_t pulses;       /* since its connection was established; loop */
	struct vrb_wr *opened; /* what sq was to use first then; QP lock */
};

static inline struct vrb_qp *vrb_qp(struct tp_qp *base)
{
	return vrb_container(base, struct vrb_qp, base);
}

static inline void vrb_qp_lock(struct vrb_qp *qp)
{
	qp->base.dev->up->hold_qp(qp->base.owner);
}

static inline void vrb_qp_unlock(struct vrb_qp *qp)
{
	qp->base.dev->up->free_qp(qp->base.owner);
}

static inline struct vrb_wr *vrb_queue_head(struct vrb_queue *queue)
{
	return atomic_load_explicit(&queue->head, memory_order_acquire);
}

static inline struct vrb_wr *vrb_queue_next(struct vrb_queue *queue)
{
	return atomic_load_explicit(&queue->next, memory_order_relaxed);
}

/* How far wr is ahead of from. */
static inline uint32_t vrb_queue_span(const struct vrb_queue *queue, const struct vrb_wr *from,
				      const struct vrb_wr *wr)
{
	return (uint32_t)(wr - from) & queue->mask;
}

static inline uint32_t vrb_queue_used(struct vrb_queue *queue)
{
	return vrb_queue_span(queue, vrb_queue_head(queue), vrb_queue_next(queue));
}

extern const struct dapl_qp_ops vrb_qp_ops;

/* qp.c: posting. */
int vrb_qp_post_send(struct tp_qp *base, const struct tp_wr *wr);
int vrb_qp_post_recv(struct tp_qp *base, uint64_t wr_id, const struct tp_sge *sge,
		     uint32_t num_sge);
int vrb_qp_unpost(struct tp_qp *base, struct tp_wr *wr, int result);
/* The QP's short way, by its mode and device; QP lock held. */
void vrb_qp_choose_post(struct vrb_qp *qp);
/* Whether a QP takes one more request, and the ring's entry for it; QP lock held. */
bool vrb_queue_full(struct vrb_queue *queue);
struct vrb_wr *vrb_queue_reserve(struct vrb_queue *queue, uint64_t id, uint32_t wr_flags);
/* Posts ib as wr. What the device does not take is given back or refused; QP lock held. */
int vrb_qp_post_ib(struct vrb_qp *qp, struct vrb_wr *wr, struct ibv_send_wr *ib);
/* Whatever is not VRB_QUEUE_ACTIVE: -ENOTCONN, or the request is flushed; QP lock held. */
int vrb_qp_post_inactive(struct vrb_qp *qp, uint64_t id);
/* What the device did not take with err is given back or refused; QP lock held. */
int vrb_qp_refused(struct vrb_qp *qp, struct vrb_wr *wr, int err);
/* Copies the segments of a receive; and where to. */
void vrb_wr_copy_sge(struct vrb_wr *own, const struct tp_sge *sge, uint32_t num);
struct tp_sge *vrb_wr_sge(struct vrb_wr *own);
/* What was wrong with a request or receive that a vague device gave back. */
enum tp_wc_status vrb_wr_diagnose(const struct vrb_wr *wr, enum tp_wc_status status);
/* A request of no effect whose completion tells that all before it are done. */
int vrb_qp_post_drain(struct vrb_qp *qp);
/* Gives the device the receives that were kept; it is in a state to take them. */
int vrb_qp_post_receives(struct vrb_qp *qp);
/* soft-iWARP, at each pulse: has the peer's driver see what it may have overlooked. */
void vrb_qp_wake_peer(struct vrb_qp *qp);
/* Ends posting to the device; and gives back, in order, all that the device will not. */
void vrb_queue_stop(struct vrb_queue *queue);
void vrb_queue_flush(struct vrb_queue *queue, bool gave_up);
/* The QP failed or is drained: the loop is to look at its connection. Any lock. */
void vrb_qp_notify(struct vrb_qp *qp);

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
void vrb_qp_to_error(struct vrb_qp *qp);
/* The same, and the device's QP, if there is one, is the caller's to destroy. */
struct ibv_qp *vrb_qp_orphan(struct vrb_qp *qp);

/* ---- Shared receive queues (srq.c) ---- */

/* Entries, which come in any order; queue is what they name. */
struct vrb_srq_block {
	struct vrb_queue queue;
	struct vrb_srq_block *next;
};

struct vrb_srq {
	struct tp_srq base;
	struct vrb_dev *dev;
	struct vrb_pd *pd;
	struct ibv_srq *ibsrq;
	struct vrb_srq_block *blocks;
	pthread_mutex_t lock;		   /* uses and max_wr; before the CQ's */
	struct vrb_srq_use *uses;	   /* CQs where its receives may complete */
	struct vrb_wr *unused;		   /* SRQ lock of the core */
	_Atomic(struct vrb_wr *) returned; /* completed; any CQ lock */
	uint32_t max_wr, max_sge;
	uint32_t posted;	    /* SRQ lock */
	_Atomic uint32_t completed; /* any CQ lock */
	atomic_bool late, broken;   /* the limit, or a fault, is to be told from the loop */
	struct tp_task task;
	struct vrb_reap reap;
};

static inline struct vrb_srq *vrb_srq(struct tp_srq *base)
{
	return base ? vrb_container(base, struct vrb_srq, base) : NULL;
}

extern const struct dapl_srq_ops vrb_srq_ops;

/* Room in cq for all receives, however many there will be, as long as a QP takes them there. */
int vrb_srq_attach(struct vrb_srq *srq, struct vrb_cq *cq);
void vrb_srq_detach(struct vrb_srq *srq, struct vrb_cq *cq);
/* On the loop: the device reports its limit or a fault. */
void vrb_srq_event(struct vrb_srq *srq, enum tp_async_event event);
/* A receive completed; any CQ lock held. */
void vrb_srq_return(struct vrb_srq *srq, struct vrb_wr *wr);
/* QPs with an SRQ are found by their number. */
void vrb_srq_list(struct vrb_qp *qp);
void vrb_srq_delist(struct vrb_qp *qp);
struct vrb_qp *vrb_srq_find(struct vrb_dev *dev, uint32_t number);

/* ---- Connections ---- */

extern const struct dapl_cm_ops vrb_cm_ops;

/* On the loop: something happened to the QP of a connection. */
void vrb_cm_look(struct vrb_qp *qp);
/* The kernel's events. */
int vrb_cm_start(struct vrb_dev *dev);
void vrb_cm_stop(struct vrb_dev *dev);

#endif
