/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The Receives of a QP: its own, or taken from a shared queue. The QP's lock is held. */
#ifndef SOFT_RECV_H
#define SOFT_RECV_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

struct soft_qp;
struct soft_srq;
struct tp_qp;

/* Whether one is there; if not, who posts one drives. */
bool soft_recv_ready(struct soft_qp *qp);
/* Bytes that the oldest one takes. */
uint64_t soft_recv_room(struct soft_qp *qp);
/* Its part [from, from + len): number of pieces, -1 if a key does not allow it. */
int soft_recv_iov(struct soft_qp *qp, uint32_t from, uint32_t len, struct iovec *iov, int max);
/* No more need of one of the shared queue. */
void soft_recv_leave(struct soft_qp *qp);

/* ---- For srq.c and qp.c ---- */

/* Takes the QP out of those that wait; the queue's lock held. */
void soft_recv_leave_line(struct soft_srq *srq, struct soft_qp *qp);
/* Tells if there are fewer than asked (SRQ-26, SRQ-27); the queue's lock held. */
void soft_recv_check_limit(struct soft_srq *srq);
/* dapl_qp_ops.limit_recv; the lock is not held. */
int soft_recv_set_limits(struct tp_qp *qp, uint32_t soft, uint32_t hard);

#endif
