/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The steps of a connection's life, and its end. All on the loop. */
#ifndef SOFT_END_H
#define SOFT_END_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "providers/soft/cm/conn_state.h"
#include "providers/soft/engine/conn.h"

/*
 * Takes the connection to the state that the table names. If that is the end: flushes the QP and
 * gives the link up. No upcall. valid is false, and nothing done, if the cause means nothing now.
 */
struct soft_conn_step soft_conn_take(struct soft_conn *conn, enum soft_conn_cause cause);
/* Ditto, and tells the core what the table says: err is why, data the peer's. */
void soft_conn_tell(struct soft_conn *conn, enum soft_conn_cause cause, int err, const void *data,
		    uint32_t len);
/* Ditto for an end that conn->fault tells of, or an orderly one. */
void soft_conn_finish(struct soft_conn *conn, enum soft_conn_cause cause);
/* Ends a connection of which the core knows nothing, or no more, and frees it. */
void soft_conn_discard(struct soft_conn *conn, enum soft_conn_cause cause);

#endif
