/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The connection manager's part of a device, and the steps of connections. */
#ifndef SOFT_CM_H
#define SOFT_CM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl/transport.h"
#include "providers/soft/cm/budget.h"
#include "providers/soft/cm/conn_state.h"
#include "providers/soft/engine/conn.h"
#include "util/list.h"

struct soft_dev;

/* The loop's. */
struct soft_cm {
	struct list awaiting; /* accepted connections whose peer is to confirm */
	bool confirming;      /* these are being looked at */
	struct list orphans;
	struct list ud_active, ud_ports; /* of datagram endpoints, see ud.h */
	struct soft_budget budget[SOFT_BUDGETS];
};

/* 0 or -ENOMEM. */
int soft_cm_open(struct soft_dev *dev);
/*
 * Gives peers the time of option linger to take in what they were sent, unless on the loop. Nothing
 * promises to tell that the last byte was acknowledged, so SIOCOUTQ is asked in intervals: Linux
 * wakes an edge-triggered watch at that of a FIN, but by the way only; timestamps of acknowledgements
 * (SO_TIMESTAMPING) would have to be asked for with each byte sent; SO_LINGER blocks in close.
 */
void soft_cm_settle(struct soft_dev *dev);
/* Closes what is left. On the loop. */
void soft_cm_stop(struct soft_dev *dev);

void soft_disconnect(struct tp_conn *conn, bool graceful);
void soft_release(struct tp_conn *conn);
void soft_conn_addr(struct tp_conn *conn, struct tp_conn_addr *addr);

/* ---- The active side of setting up (connect.c) ---- */

int soft_connect(struct tp_qp *qp, const struct tp_connect *param, void *owner,
		 struct tp_conn **out);
/* Ditto, over a socket of the program. */
int soft_connect_socket(struct tp_qp *qp, const struct tp_connect *param, void *owner,
			struct tp_conn **out);

/* ---- The steps of a connection's life, and its end (end.c); on the loop ---- */

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
