/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Queue pairs. */
#ifndef VERBS_QP_H
#define VERBS_QP_H

#include "providers/verbs/cq.h"
#include "providers/verbs/memory/memory.h"
#include "providers/verbs/srq.h"

struct vrb_conn; /* each connection manager's own */

/* As ibv_context_ops.post_send. */
typedef int vrb_post_fn(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);

struct vrb_qp {
	struct tp_qp base;
	struct vrb_dev *dev;
	struct vrb_pd *pd;
	struct ibv_qp *ibqp;
	struct vrb_queue sq, rq;
	struct ibv_send_wr *bad; /* of the last post; nobody reads it */
	/* The device's own, past the checks of the library. */
	vrb_post_fn *ib_post;
	struct vrb_srq *srq; /* where its receives come from; rq has none then */
	uint32_t max_inline;
	struct vrb_mr_hint hint;
	atomic_bool draining;	 /* the loop is told when sq is empty */
	_Atomic uint32_t fault;	 /* enum tp_wc_status of the first failure, 0 if none */
	atomic_bool fault_told;	 /* the core was, or is about to be */
	atomic_bool live;	 /* the device may have completions of it */
	atomic_bool peer_sent;	 /* before its connection was established */
	atomic_bool peer_closed; /* a request failed, and for no other reason */
	atomic_bool ended;	 /* by this side, which has put it in error or is about to */
	atomic_bool last_wqe;	 /* in error: it has nothing of its SRQ any more */
	uint32_t max_read_in, max_read_out;
	uint32_t number; /* while listed by it, which only QPs with an SRQ are */
	struct vrb_qp *same_number;
	struct vrb_conn *conn; /* the connection manager's; under dev->cm_lock */
	struct tp_task task;   /* the connection manager is to look at it */
	struct tp_task notice; /* the device found a fault */
	struct vrb_qp *next, **link;
	bool init;		  /* it is in that state since it was made */
	uint32_t checks;	  /* of the watchdog, since it was connected; loop */
	struct vrb_wr *connected; /* what sq was to use first then; QP lock */
	bool ud;		  /* of datagrams (qp_ud.c) */
	bool served;		  /* the same: the connection manager knows it; loop */
	uint32_t qkey;		  /* the same: of what it sends */
};

static inline struct vrb_qp *vrb_qp(struct tp_qp *base)
{
	return container_of(base, struct vrb_qp, base);
}

static inline void vrb_qp_lock(struct vrb_qp *qp)
{
	dapl_lock(qp->base.lock);
}

static inline void vrb_qp_unlock(struct vrb_qp *qp)
{
	dapl_unlock(qp->base.lock);
}

/* The QP failed or is drained: the connection manager looks at it on the loop. Any lock. */
static inline void vrb_qp_notify(struct vrb_qp *qp)
{
	dapl_loop_post(qp->dev->base.loop, &qp->task);
}

/* Its first failure, of which the connection manager hears; false: it is not the first. */
static inline bool vrb_qp_set_fault(struct vrb_qp *qp, uint32_t status)
{
	uint32_t none = 0;

	return atomic_compare_exchange_strong(&qp->fault, &none, status);
}

extern const struct dapl_qp_ops vrb_qp_ops;

/* Of sq.extra, what is no bind's. */
static inline uint32_t vrb_qp_own_wrs(const struct vrb_dev *dev)
{
	return VRB_DRAIN_WRS + (dev->quirks.needs_wake ? VRB_WAKE_WRS : 0);
}

/* ---- QPs of datagrams (qp_ud.c) ---- */

/* dapl_qp_ops.post_send */
int vrb_ud_post_send(struct tp_qp *base, struct tp_wr *wr);
/* Loop. The connection manager looks at it from now on: qp->served. */
void vrb_ud_qp_serve(struct vrb_qp *qp);
/* It never does again. */
void vrb_ud_qp_leave(struct vrb_qp *qp);

/* ---- Posting (qp_post.c); QP lock held ---- */

int vrb_qp_post_send(struct tp_qp *base, struct tp_wr *wr);
int vrb_qp_post_recv(struct tp_qp *base, uint64_t wr_id, const struct tp_sge *sge,
		     uint32_t num_sge);
/* post_is_a_call: ib_post of such a device, and of one with post_raises_sigpipe. */
vrb_post_fn vrb_qp_post_by_call, vrb_qp_post_by_call_quietly;
/* What tp_qp.post_plain is from now on. */
void vrb_qp_choose_post(struct vrb_qp *qp);
/* Posts ib as wr. What the device does not take is given back or refused. */
int vrb_qp_post_ib(struct vrb_qp *qp, struct vrb_wr *wr, struct ibv_send_wr *ib);
/* The queue is not active: -ENOTCONN, or the request is flushed. */
int vrb_qp_post_inactive(struct vrb_qp *qp, uint64_t id);
/* A write of no bytes whose completion tells that all before it are done. */
int vrb_qp_post_drain(struct vrb_qp *qp);
/* Takes the lock: posts one if the last of the requests has no completion of its own. */
int vrb_qp_drain(struct vrb_qp *qp);
/* Takes the lock: gives the device the receives of an idle QP; it is in a state to take them. */
int vrb_qp_post_receives(struct vrb_qp *qp);
/* Takes the lock. needs_wake, at each check of the watchdog: has the peer's driver see what it may
 * have overlooked. */
void vrb_qp_wake_peer(struct vrb_qp *qp);

/* ---- Flushing (qp_flush.c) ---- */

/* QP lock held. */
void vrb_queue_set_mode(struct vrb_queue *queue, enum vrb_mode mode);
/* A post to a queue in error; QP lock held. */
void vrb_queue_post_flushed(struct vrb_queue *queue, uint64_t id);
/* The device did not take a request or receive with err: it is given back or refused; QP lock held.
 */
int vrb_queue_refused(struct vrb_queue *queue, struct vrb_wr *wr, int err);
/* Where the last of the device's completions will be; QP lock held. */
struct vrb_wr *vrb_queue_last_signaled(struct vrb_queue *queue);
/* Ends posting to the device; gives back, in order, all that the device will not. Both take the
 * lock. */
void vrb_queue_stop(struct vrb_queue *queue);
/* spare: takes the ring, which the device may still name, and gives its own for it; or NULL. */
void vrb_queue_flush(struct vrb_queue *queue, bool gave_up, struct vrb_queue *spare);

/* ---- QPs that the device has not flushed in time (qp_late.c) ---- */

struct vrb_late {
	struct vrb_reap reap;
	struct vrb_dev *dev;
	struct vrb_late *next;
	struct ibv_qp *ibqp;
	uint32_t number;
	struct vrb_queue sq, rq; /* spare ones, and then the QP's */
};

/* NULL: no memory. */
struct vrb_late *vrb_late_new(struct vrb_qp *qp);
/* The rings are the device's from here on, until it is closed. */
void vrb_late_keep(struct vrb_late *late);
/* The reaper does it. */
void vrb_late_destroy(struct vrb_late *late, struct ibv_qp *ibqp);
/* Nothing polls any more. */
void vrb_late_free_all(struct vrb_dev *dev);

/* ---- The device's QP (qp_state.c) ---- */

/* Room for requests of the transport's own: drains, wakes, and, where the program has windows, an
 * invalidation before each bind. */
uint32_t vrb_qp_extra(struct vrb_dev *dev, uint32_t max_send_wr);
/* Before it connects: room for binds, if the program has windows since it was made (qp.c). */
void vrb_qp_make_room(struct vrb_qp *qp);
/* The longest queues that can be made are what the device announces (qp_probe.c). */
void vrb_qp_probe(struct vrb_dev *dev);
int vrb_qp_make_ib(struct vrb_qp *qp);
/* What the device says of its QP it says of this one, which stays where it is, from here on. */
void vrb_qp_adopt_ib(struct vrb_qp *qp);
/* With what it has; nothing of it completes any more. */
void vrb_qp_destroy_ib(struct vrb_qp *qp);
/* Makes it for a connection about to begin. */
int vrb_qp_prepare(struct vrb_qp *qp);
/* Ready for receives; to receive; to send; with what the connection manager knows of the path. */
int vrb_qp_to_init(struct vrb_qp *qp, struct ibv_qp_attr *attr, int mask);
/* What the operator wants of a path instead of what the route says. */
void vrb_path_options(const struct vrb_config *config, struct ibv_ah_attr *path);
int vrb_qp_to_rtr(struct vrb_qp *qp, struct ibv_qp_attr *attr, int mask, uint8_t reads_in);
int vrb_qp_to_rts(struct vrb_qp *qp, struct ibv_qp_attr *attr, int mask, uint8_t reads_out);
/* Requests may be posted. */
void vrb_qp_open(struct vrb_qp *qp);
/* Takes its completions, and others, off the device's queues. */
void vrb_qp_collect(struct vrb_qp *qp);
/* The device has let go of the SRQ, or is gone. Any thread. */
void vrb_qp_last_wqe(struct vrb_qp *qp);
/* Whether the device put it in error by itself. */
bool vrb_qp_found_fault(struct vrb_qp *qp);
/* The device completes nothing of it any more: a CQ of it overflowed there. */
static inline bool vrb_qp_is_mute(const struct vrb_qp *qp)
{
	return (qp->sq.cq && atomic_load(&qp->sq.cq->dead)) ||
	       (qp->rq.cq && atomic_load(&qp->rq.cq->dead));
}
/* A CQ of the device is dead: the connections of its QPs break (EVD-95). Loop. */
void vrb_qp_cq_died(struct vrb_dev *dev);
/* Error: everything outstanding completes before this returns. May be called again. */
void vrb_qp_to_error(struct vrb_qp *qp);
/* The same, and the device's QP, if there is one, is the caller's to destroy. */
struct ibv_qp *vrb_qp_orphan(struct vrb_qp *qp);

#endif
