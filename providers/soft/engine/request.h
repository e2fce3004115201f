/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Requests of ours cut into FPDUs, and those of them that await an answer. Lock held. */
#ifndef SOFT_REQUEST_H
#define SOFT_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "providers/soft/engine/tx.h"

struct soft_conn;
struct soft_sqe;

/* Whether the next request may start, bindings before it done; starts it: false on a fault. */
bool soft_request_ready(struct soft_conn *conn);
bool soft_request_start(struct soft_conn *conn);
/* Adds the next FPDU of the request under way to the batch; false on a fault. */
bool soft_request_add(struct soft_conn *conn);
/* All of the oldest one that is not sent is. */
void soft_request_sent(struct soft_conn *conn);
/* Ends the connection because of a request of its own program. */
void soft_request_fail(struct soft_conn *conn, struct soft_sqe *sqe, uint32_t status);

/* The ready-to-receive message (RFC 6581 section 9.2). */
void soft_request_add_rtr(struct soft_conn *conn);
/* The read that proves what was sent before it, if it is time for one. */
bool soft_request_proof_ready(const struct soft_tx *tx);
void soft_request_add_proof(struct soft_conn *conn);

/* The oldest read or atomic in flight, or NULL; it is done. */
const struct soft_flight *soft_request_oldest(const struct soft_conn *conn);
void soft_request_answered(struct soft_conn *conn);

/* The tag by which the response names a request. */
static inline uint32_t soft_request_tag(const struct soft_tx *tx, uint32_t msn)
{
	return tx->read_tag + msn;
}

#endif
