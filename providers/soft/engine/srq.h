/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared receive queues. */
#ifndef SOFT_SRQ_H
#define SOFT_SRQ_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dapl/transport.h"
#include "providers/soft/engine/qp.h"
#include "util/list.h"

struct soft_srq {
	struct tp_srq base;
	struct tp_pd *pd;
	struct soft_ring ring; /* posting under the core's lock, taking and resizing under ours */
	pthread_mutex_t lock;
	pthread_cond_t waked; /* a QP's waking became 0 */
	struct soft_list waiting;
	atomic_uint num_waiting;
	uint32_t limit;
	atomic_uint events; /* to be told of */
	struct tp_task task;
};

/* Takes a receive for the QP, or lines up for one. Lock held. */
bool soft_srq_take(struct soft_qp *qp);
/* No more need of one. Lock held. */
void soft_srq_leave(struct soft_qp *qp);
/* A QP is made for the queue, and goes. */
void soft_srq_attach(struct soft_qp *qp, struct tp_srq *srq);
void soft_srq_detach(struct soft_qp *qp);
int soft_srq_limit_recv(struct tp_qp *qp, uint32_t soft, uint32_t hard);
extern const struct dapl_srq_ops soft_srq_ops;

#endif
