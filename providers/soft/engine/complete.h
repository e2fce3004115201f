/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completions of requests and Receives. The QP's lock is held. */
#ifndef SOFT_COMPLETE_H
#define SOFT_COMPLETE_H

#include <stdint.h>

struct soft_qp;
struct tp_wc;

/* Completes the oldest Receive. */
void soft_complete_recv(struct soft_qp *qp, const struct tp_wc *result);
/* Completes requests that are done, in order. */
void soft_complete_sends(struct soft_qp *qp);
/* Enters error: completes everything. recv_status is the oldest Receive's. */
void soft_complete_flush(struct soft_qp *qp, uint32_t recv_status);
/* What was posted since then. */
void soft_complete_late(struct soft_qp *qp);

#endif
