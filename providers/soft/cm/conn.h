/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The life of a connection. */
#ifndef SOFT_CONN_H
#define SOFT_CONN_H

#include <stdint.h>

#include "dapl/transport.h"
#include "providers/soft/engine/conn.h"
#include "providers/soft/wire/wire.h"

struct soft_dev;

/* A start-up frame coming in or going out. */
struct soft_handshake {
	size_t in_have, out_size, out_sent;
	uint8_t in[WIRE_MPA_FRAME_MAX], out[WIRE_MPA_FRAME_MAX];
};

/* Ends it in whatever state, flushes the QP, gives the link to the linger list. No upcall. On the
 * loop. */
void soft_conn_end(struct soft_conn *conn);
/* Ends it because of conn->fault and tells the core. On the loop. */
void soft_conn_finish(struct soft_conn *conn);
/* Tells the core of an outcome and no more after it; the connection has ended. On the loop. */
void soft_conn_report(struct soft_conn *conn, enum tp_conn_event event, int err, const void *data,
		      uint32_t len);

extern const struct soft_conn_hooks soft_conn_hooks;

#endif
