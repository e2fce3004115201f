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
	pthread_cond_t all_woken; /* a QP's waking became 0 */
	struct list waiting;
	atomic_uint num_waiting;
	uint32_t limit;
	atomic_uint events;  /* to be told of */
	struct tp_task task; /* tells of them, and wakes for a receive that was returned */
};

/* A QP is made for the queue, and goes. */
void soft_srq_attach(struct soft_qp *qp, struct tp_srq *srq);
void soft_srq_detach(struct soft_qp *qp);
extern const struct dapl_srq_ops soft_srq_ops;

#endif
