/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/soft/cm/cm.h"

#include <errno.h>
#include <stdio.h>

#include "providers/soft/base/addr.h"
#include "providers/soft/cm/orphan.h"
#include "providers/soft/base/device.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/link/link.h"
#include "providers/soft/wire/rdmap.h"
#include "trace/log.h"

/* ---- One step ---- */

/* Whether the peer is owed an orderly end. */
static bool in_order(const struct soft_conn *conn)
{
	const struct soft_fault *fault = &conn->fault;

	return !soft_conn_dead(conn) || fault->event != TP_CONN_BROKEN || fault->terminate ||
	       fault->received;
}

static void end(struct soft_conn *conn, enum soft_conn_link how)
{
	struct soft_link *link = conn->link;

	soft_conn_close(conn);
	conn->link = NULL;
	if (how == SOFT_LINK_BY_FAULT)
		how = in_order(conn) ? SOFT_LINK_ORPHAN : SOFT_LINK_ABORT;
	if (link && how == SOFT_LINK_ORPHAN)
		soft_orphan(conn, link);
	else if (link)
		soft_link_destroy(link, how == SOFT_LINK_ABORT);
}

struct soft_conn_step soft_conn_take(struct soft_conn *conn, enum soft_conn_cause cause)
{
	struct soft_conn_step step = soft_conn_step(conn->state, cause);

	if (!step.valid)
		return step;
	conn->state = step.next;
	if (step.next == SOFT_CONN_ENDED)
		end(conn, step.link);
	return step;
}

void soft_conn_discard(struct soft_conn *conn, enum soft_conn_cause cause)
{
	soft_conn_take(conn, cause);
	soft_conn_release(conn);
}

/* ---- Steps that the core is told of ---- */

static enum tp_conn_event failure(int err)
{
	switch (-err) {
	case EHOSTUNREACH:
	case ENETUNREACH:
	case EHOSTDOWN:
	case ENETDOWN:
	case ETIMEDOUT:
	case EADDRNOTAVAIL:
	case EACCES: /* a broadcast address, or a local firewall */
	case EPERM:
	case ENOTCONN: /* the attempt is over without a reason, which a refusal would have */
		return TP_CONN_UNREACHABLE;
	default:
		return TP_CONN_REFUSED;
	}
}

static enum tp_conn_event event_of(const struct soft_conn *conn, enum soft_conn_tell tell, int err)
{
	switch (tell) {
	case SOFT_TELL_ESTABLISHED:
		return TP_CONN_ESTABLISHED;
	case SOFT_TELL_REJECTED:
		return TP_CONN_REJECTED;
	case SOFT_TELL_FAILURE:
		return failure(err);
	case SOFT_TELL_FAULT:
		return soft_conn_dead(conn) ? conn->fault.event : TP_CONN_DISCONNECTED;
	default:
		return TP_CONN_BROKEN;
	}
}

/* Unless the core has forgotten the connection. */
static void report(struct soft_conn *conn, struct soft_conn_step step, int err, const void *data,
		   uint32_t len)
{
	if (step.tell != SOFT_TELL_NOTHING && !conn->released)
		conn->dev->base.up->conn_event(conn->base.owner, event_of(conn, step.tell, err),
					       err, len ? data : NULL, len);
}

void soft_conn_tell(struct soft_conn *conn, enum soft_conn_cause cause, int err, const void *data,
		    uint32_t len)
{
	report(conn, soft_conn_take(conn, cause), err, data, len);
}

enum {
	ACCESS_TEXT = 128,
};

/* Which operation it was, on what memory, and the right that was missing. */
static const char *access_text(const struct soft_terminate *term, char text[ACCESS_TEXT])
{
	const struct soft_error *error = &term->error;
	bool right = error->layer == WIRE_LAYER_RDMAP && error->etype == WIRE_RDMAP_PROTECTION &&
		     error->code == WIRE_PROT_ACCESS;

	*text = '\0';
	if (term->has_ddp && term->ddp.tagged && term->ddp.opcode == WIRE_OP_WRITE)
		snprintf(text, ACCESS_TEXT, ": RDMA Write to context 0x%x, address 0x%llx%s",
			 term->ddp.stag, (unsigned long long)term->ddp.to,
			 right ? ", without DAT_MEM_PRIV_REMOTE_WRITE_FLAG" : "");
	else if (term->has_ddp && term->has_read && term->ddp.opcode == WIRE_OP_READ_REQUEST)
		snprintf(text, ACCESS_TEXT, ": RDMA Read of context 0x%x, address 0x%llx%s",
			 term->read.source_stag, (unsigned long long)term->read.source_to,
			 right ? ", without DAT_MEM_PRIV_REMOTE_READ_FLAG" : "");
	else if (term->has_ddp && term->ddp.opcode == WIRE_OP_ATOMIC_REQUEST && right)
		snprintf(text, ACCESS_TEXT, ": atomic, without DAT_IB_MEM_PRIV_REMOTE_ATOMIC");
	return text;
}

/* The peer left while the program's accept was on its way, whose failure nothing else explains. */
static bool left_early(const struct soft_conn *conn)
{
	int err = conn->fault.err;

	return (conn->state == SOFT_CONN_ACCEPTING || conn->state == SOFT_CONN_AWAITING) &&
	       soft_conn_dead(conn) && (!err || err == -EPIPE || err == -ECONNRESET);
}

/* Says once what happened; an end that was asked for is no error. */
static void explain(struct soft_conn *conn)
{
	const struct soft_fault *fault = &conn->fault;
	char text[2 * SOFT_ADDR_TEXT + 8], access[ACCESS_TEXT];

	soft_conn_text(conn, text);
	if (left_early(conn)) {
		dapl_err_limited("%s: connection %s: not established: the peer gave up",
				 conn->dev->name, text);
		return;
	}
	if (!soft_conn_dead(conn) || !fault->err) {
		dapl_trace(soft_ended, DAPL_TRC_NORMAL, conn, "ia=%s peer=%s", conn->dev->name,
			   text);
		return;
	}
	if (fault->received || fault->terminate)
		dapl_err_limited(
			"%s: connection %s: ended by %s: %s%s (layer %u, type %u, code %u)",
			conn->dev->name, text, fault->received ? "the peer" : "this side",
			fault->why ? fault->why : soft_error_text(&fault->term.error),
			access_text(&fault->term, access), fault->term.error.layer,
			fault->term.error.etype, fault->term.error.code);
	else
		dapl_err_limited("%s: connection %s: lost: %s", conn->dev->name, text,
				 conn->link && conn->link->why ? conn->link->why
							       : dapl_strerror(-fault->err));
}

void soft_conn_finish(struct soft_conn *conn, enum soft_conn_cause cause)
{
	struct soft_dev *dev = conn->dev;
	struct soft_conn_step step;
	void *qp_owner;

	if (!soft_conn_step(conn->state, cause).valid)
		return;
	soft_conn_hold(conn);
	qp_owner = conn->qp->base.owner;
	explain(conn);
	step = soft_conn_take(conn, cause);
	if (soft_conn_dead(conn) && conn->fault.async)
		dev->base.up->async(dev->base.owner, TP_ASYNC_QP_ERROR, qp_owner);
	report(conn, step, soft_conn_dead(conn) ? conn->fault.err : 0, NULL, 0);
	soft_conn_drop(conn);
}
