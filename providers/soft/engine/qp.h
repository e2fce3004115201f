/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Queue pairs, and the rings of their requests and Receives. */
#ifndef SOFT_QP_H
#define SOFT_QP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "dapl/base/lock.h"
#include "dapl/transport.h"
#include "providers/soft/engine/ring.h"
#include "providers/soft/memory/stag.h"
#include "providers/soft/memory/window.h"
#include "util/list.h"

struct soft_conn;
struct soft_cq;
struct soft_dev;
struct soft_srq;

enum soft_qp_state {
	SOFT_QP_IDLE,
	SOFT_QP_LIVE,
	SOFT_QP_ERROR,
};

enum {
	/* Opcodes beside enum tp_opcode. */
	SOFT_OP_BIND = 0x80,
	/* A flag beside TP_WR_*: a read, an atomic or a binding. */
	SOFT_WR_CAREFUL = 0x80,
};

/* A posted request. */
struct soft_sqe {
	uint64_t wr_id;
	uint64_t remote_addr;
	uint32_t rkey;
	uint32_t length;
	uint32_t msn;  /* of an untagged message, once started */
	uint32_t data; /* immediate, or tag to be invalidated */
	uint16_t num_sge;
	uint8_t opcode; /* enum tp_opcode, SOFT_OP_* */
	uint8_t flags;	/* TP_WR_* */
	uint8_t status; /* what it completes with if it is not done */
	bool started, done;
	bool direct;	     /* done by this side alone: nobody has polled for it */
	struct tp_sge sge[]; /* of one that is started addr is that of the memory */
};

_Static_assert(sizeof(struct soft_bind) <= SOFT_MIN_SGE * sizeof(struct tp_sge), "");

static inline struct soft_bind *soft_sqe_bind(struct soft_sqe *sqe)
{
	return (struct soft_bind *)(void *)sqe->sge;
}

/* A posted receive. */
struct soft_rqe {
	uint64_t wr_id;
	uint32_t num_sge;
	struct tp_sge sge[];
};

/* Copies the segments that name bytes; returns how many there are. */
static inline uint32_t soft_copy_sge(struct tp_sge *to, const struct tp_sge *from, uint32_t num)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < num; i++)
		if (from[i].length)
			to[used++] = from[i];
	return used;
}

/* The operands of an atomic; lie behind its one segment. */
struct soft_operands {
	uint64_t compare_add, swap;
};

static inline struct soft_operands *soft_sqe_operands(struct soft_sqe *sqe)
{
	return (struct soft_operands *)(void *)&sqe->sge[1];
}

/* The right that its own segments need. */
static inline uint32_t soft_sqe_access(const struct soft_sqe *sqe)
{
	if (!(sqe->flags & SOFT_WR_CAREFUL))
		return SOFT_ACCESS_LOCAL_READ;
	return sqe->opcode == TP_READ_TO_RKEY ? TP_ACCESS_REMOTE_WRITE : TP_ACCESS_LOCAL_WRITE;
}

struct soft_qp {
	struct tp_qp base;
	struct soft_dev *dev;
	struct list node; /* in soft_dev.qps */
	struct soft_protection prot;
	struct soft_cq *send_cq, *recv_cq;
	uint32_t max_read_in, max_read_out;
	bool delayed_ack;
	atomic_int state; /* enum soft_qp_state */
	struct soft_conn *conn;

	struct dapl_lock lock;	/* who has it may be the driver, see drive.h */
	uint32_t due;		/* SOFT_DRIVE_*: what the driver found to be done next */
	struct soft_cq *poller; /* what the driver polls; NULL: nothing */
	uint32_t moved;		/* grows whenever something came or went; under lock */
	atomic_bool rx_starved; /* a message waits for a Receive */
	struct soft_ring rq, sq;
	uint32_t sq_next; /* the next request to start */

	struct soft_ud *ud; /* of datagrams (ud.h); NULL: of a connection */

	/* With a shared receive queue rq has one place, for the receive that was taken. */
	struct soft_srq *srq;
	uint32_t soft_limit, hard_limit; /* of receives taken */
	struct list srq_node;		 /* in soft_srq.waiting; under its lock, as waking */
	uint32_t waking;		 /* threads that wake it just now */
	atomic_uint limit_events;
	struct tp_task limit_task;
};

static inline struct soft_qp *soft_qp(struct tp_qp *qp)
{
	return container_of(qp, struct soft_qp, base);
}

static inline struct soft_sqe *soft_sqe(struct soft_qp *qp, uint32_t index)
{
	return soft_ring_at(&qp->sq, index);
}

extern const struct dapl_qp_ops soft_qp_ops;

/* Some of them, for a QP of datagrams as well. */
int soft_qp_post_recv(struct tp_qp *qp, uint64_t wr_id, const struct tp_sge *sge, uint32_t num_sge);
int soft_qp_modify(struct tp_qp *qp, const struct tp_qp_attr *attr);
void soft_qp_pending(struct tp_qp *qp, uint32_t *recv, uint32_t *send);
void soft_qp_destroy(struct tp_qp *qp);
/* Room for one more request, in a state that takes them: 0, -ENOTCONN, -ENOMEM. */
int soft_qp_reserve(struct soft_qp *qp, struct soft_sqe **sqe);
/* The request in that room is complete. */
void soft_qp_submit(struct soft_qp *qp);

/* ---- Completions of requests and Receives (complete.c); the QP's lock held ---- */

/* Completes the oldest Receive. */
void soft_complete_recv(struct soft_qp *qp, const struct tp_wc *result);
/* A request that has no place in the queue, which is empty. */
void soft_complete_at_once(struct soft_qp *qp, uint64_t wr_id);
/* Completes requests that are done, in order. */
void soft_complete_sends(struct soft_qp *qp);
/* Enters error: completes everything. recv_status is the oldest Receive's. */
void soft_complete_flush(struct soft_qp *qp, uint32_t recv_status);
/* What was posted since then. */
void soft_complete_late(struct soft_qp *qp);
/* A request that is over as it is posted; false: there is no place for its completion. */
bool soft_complete_posted(struct soft_qp *qp, const struct tp_wc *wc);

/* ---- Receives, its own or taken from a shared queue (recv.c); the QP's lock held ---- */

/* Whether one is there; if not, who posts one drives. */
bool soft_recv_ready(struct soft_qp *qp);
/* Bytes that the oldest one takes. */
uint64_t soft_recv_room(struct soft_qp *qp);
/* Copies a message into the oldest one, if that is a QP's own, has one segment and room. */
bool soft_recv_plain(struct soft_qp *qp, const uint8_t *payload, uint32_t len);
/* Its part [from, from + len): number of pieces, -1 if a key does not allow it. */
int soft_recv_iov(struct soft_qp *qp, uint32_t from, uint32_t len, struct iovec *iov, int max);
/* The completion of one of the shared queue was lost: it is there for others again. */
void soft_recv_return(struct soft_qp *qp, const struct soft_rqe *rqe);
/* No more need of one of the shared queue. */
void soft_recv_leave(struct soft_qp *qp);

/* ---- For srq.c and qp.c ---- */

/* Takes the QP out of those that wait; the queue's lock held. */
void soft_recv_leave_line(struct soft_srq *srq, struct soft_qp *qp);
/* Tells if there are fewer than asked (SRQ-26, SRQ-27); the queue's lock held. */
void soft_recv_check_limit(struct soft_srq *srq);
/* dapl_qp_ops.limit_recv; the lock is not held. */
int soft_recv_set_limits(struct tp_qp *qp, uint32_t soft, uint32_t hard);

/* ---- Bindings of memory windows as requests (bind.c) ---- */

/* soft_stags.quiesce: passes through the locks of all QPs of the device. */
void soft_bind_quiesce(struct soft_dev *dev, uint32_t key);
/*
 * The next request binds a window of PD scope that is bound: unbinds it, waits until nobody uses
 * it, and lets the binding go on. On the loop.
 */
void soft_bind_clear(struct soft_conn *conn);
extern const struct dapl_mw_ops soft_mw_ops;

#endif
