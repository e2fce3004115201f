/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The life of a connection from the data phase to its end. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/soft/addr.h"
#include "providers/soft/cm/cm.h"
#include "providers/soft/cm/conn.h"
#include "providers/soft/cm/linger.h"
#include "providers/soft/counters.h"
#include "providers/soft/device.h"
#include "providers/soft/engine/drive.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/link/link.h"
#include "providers/soft/memory/window.h"
#include "trace/log.h"

/* ---- The end ---- */

/* How the link is given up. */
enum farewell {
	FAREWELL_ABORT,	 /* reset */
	FAREWELL_CLOSE,	 /* nothing to say */
	FAREWELL_LINGER, /* in order */
};

static enum farewell farewell(const struct soft_conn *conn)
{
	switch (conn->state) {
	case SOFT_CONN_CONNECTING:
	case SOFT_CONN_HALF_OPEN:
	case SOFT_CONN_REQUESTED:
		return FAREWELL_ABORT;
	case SOFT_CONN_REQUESTING:
		return FAREWELL_CLOSE;
	default:
		if (soft_conn_dead(conn) && conn->fault.event == TP_CONN_BROKEN &&
		    !conn->fault.terminate && !conn->fault.received)
			return FAREWELL_ABORT;
		return FAREWELL_LINGER;
	}
}

void soft_conn_end(struct soft_conn *conn)
{
	enum farewell how = farewell(conn);
	struct soft_link *link = conn->link;
	uint8_t *out = NULL;
	uint64_t tail = 0;
	size_t len = 0;

	if (conn->state == SOFT_CONN_ENDED)
		return;
	conn->state = SOFT_CONN_ENDED;
	conn->listener = NULL;
	soft_conn_close(conn, &out, &len, &tail);
	conn->link = NULL;
	if (!link) {
		free(out);
	} else if (how == FAREWELL_LINGER) {
		soft_linger(link, out, len, tail);
	} else {
		free(out);
		soft_link_destroy(link, how == FAREWELL_ABORT);
	}
}

void soft_conn_report(struct soft_conn *conn, enum tp_conn_event event, int err, const void *data,
		      uint32_t len)
{
	const struct soft_dev *dev = conn->dev;

	if (conn->reported)
		return;
	conn->reported = event != TP_CONN_ESTABLISHED;
	dev->base.up->conn_event(conn->base.owner, event, err, len ? data : NULL, len);
}

/* Says once what happened; an end that was asked for is no error. */
static void explain(struct soft_conn *conn)
{
	const struct soft_fault *fault = &conn->fault;
	char text[2 * SOFT_ADDR_TEXT + 8];

	if (!soft_conn_dead(conn) || !fault->err) {
		dapl_trace(soft_ended, DAPL_TRC_NORMAL, conn, "ia=%s peer=%s", conn->dev->name,
			   soft_conn_text(conn, text));
		return;
	}
	soft_conn_text(conn, text);
	if (fault->received || fault->terminate)
		dapl_err_limited(
			"%s: connection %s: ended by %s: %s (layer %u, type %u, code %u)",
			conn->dev->name, text, fault->received ? "the peer" : "this side",
			fault->why ? fault->why : soft_rdmap_error_text(&fault->term.error),
			fault->term.error.layer, fault->term.error.etype, fault->term.error.code);
	else
		dapl_trace_limited(soft_lost, DAPL_TRC_ERROR, conn, "ia=%s peer=%s why=%s",
				   conn->dev->name, text,
				   conn->link && conn->link->why ? conn->link->why
								 : dapl_strerror(-fault->err));
}

/*
 * Whether an end is to be told now; else that comes later, or has come. A peer that ends a
 * connection because it has seen all of them come about has confirmed the others before: they are
 * told first.
 */
static bool end_is_due(struct soft_conn *conn)
{
	struct soft_dev *dev = conn->dev;

	if (conn->state == SOFT_CONN_LIVE) {
		if (dev->confirming) {
			dapl_loop_post(dev->base.loop, &conn->task);
			return false;
		}
		soft_cm_confirm(dev);
	}
	return conn->state != SOFT_CONN_ENDED;
}

void soft_conn_finish(struct soft_conn *conn)
{
	enum tp_conn_event event = TP_CONN_DISCONNECTED;
	struct soft_dev *dev = conn->dev;
	void *qp_owner;
	int err = 0;

	soft_conn_hold(conn);
	if (!end_is_due(conn)) {
		soft_conn_drop(conn);
		return;
	}
	qp_owner = conn->qp->base.owner;
	if (soft_conn_dead(conn)) {
		event = conn->fault.event;
		err = conn->fault.err;
	}
	/* An accept has one of two outcomes. */
	if (conn->state != SOFT_CONN_LIVE)
		event = TP_CONN_BROKEN;
	explain(conn);
	soft_conn_end(conn);
	if (soft_conn_dead(conn) && conn->fault.async)
		dev->base.up->async(dev->base.owner, TP_ASYNC_QP_ERROR, qp_owner);
	soft_conn_report(conn, event, err, NULL, 0);
	soft_conn_drop(conn);
}

/* ---- What the engine tells ---- */

static void arrived(struct soft_conn *conn)
{
	if (conn->state == SOFT_CONN_AWAITING)
		soft_cm_established(conn);
}

static void ended(struct soft_conn *conn)
{
	if (conn->state == SOFT_CONN_LIVE || conn->state == SOFT_CONN_AWAITING)
		soft_conn_finish(conn);
}

const struct soft_conn_hooks soft_conn_hooks = {
	.arrived = arrived,
	.ended = ended,
};
