/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Queue pairs, and the rings of their requests and Receives. */
#ifndef SOFT_QP_H
#define SOFT_QP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

	atomic_uint driver; /* SOFT_DRIVE_*, see drive.h */
	pthread_mutex_t lock;
	uint32_t due;		/* SOFT_DRIVE_*: what the driver found to be done next */
	atomic_bool rx_starved; /* a message waits for a Receive */
	atomic_bool tx_stalled; /* the link takes no more for now */
	struct soft_ring rq, sq;
	uint32_t sq_next; /* the next request to start */

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

/* Room for one more request, in a state that takes them: 0, -ENOTCONN, -ENOMEM. */
int soft_qp_reserve(struct soft_qp *qp, struct soft_sqe **sqe);
/* The request in that room is complete. */
void soft_qp_submit(struct soft_qp *qp);

#endif
