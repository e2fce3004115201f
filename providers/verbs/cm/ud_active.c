/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The side that asks. */
#include <errno.h>
#include <string.h>

#include "dapl/base/loop_call.h"
#include "trace/log.h"
#include "providers/verbs/cm/ud.h"

/* ---- The answer ---- */

static void failed(struct vrb_conn *conn, enum vrb_ucm_rest rest, int rc)
{
	bool local = rc == -ENODEV || rc == -EADDRNOTAVAIL;

	vrb_ucm_ended(conn, rest, local ? TP_CONN_UNREACHABLE : TP_CONN_REFUSED, rc, NULL, 0);
}

static void no_sense(struct vrb_conn *conn, const char *why)
{
	dapl_trace_limited(ucm_nonsense, DAPL_TRC_ERROR, conn->dev, "ia=%s qp=0x%x why=%s",
			   conn->dev->name, conn->to.qpn, why);
	failed(conn, UCM_TELL, -EPROTO);
}

/*
 * The peer's message is on its way before the core hears of the connection, so that what a program
 * ends when it has seen all of its connections come about finds them there at the peer. What the
 * peer sends before the core was told waits.
 */
static void accepted(struct vrb_conn *conn, const struct ucm_msg *msg)
{
	struct vrb_cq *cq = conn->qp->rq.cq;
	int rc = vrb_xchg_qp_ready(conn->qp, &conn->peer, 0);

	if (rc) {
		vrb_ucm_say(conn, UCM_RTU); /* it hears the end only then (UCM-29) */
		failed(conn, UCM_TELL, rc);
		return;
	}
	conn->own.mtu = conn->peer.mtu;
	if (cq)
		vrb_cq_defer(cq, conn->qp);
	conn->retrans = 0;
	vrb_ucm_say(conn, UCM_RTU);
	vrb_ucm_established(conn, msg->data, xchg_data_len(msg->len));
	if (cq && conn->state == UCM_CONNECTED)
		vrb_cq_deliver(cq, conn->qp);
}

/* Of datagrams: the QP is in service already, and no connection's. */
static void told(struct vrb_conn *conn, const struct ucm_msg *msg)
{
	int rc = vrb_xchg_agree(conn->dev, &conn->peer);

	if (rc) {
		failed(conn, UCM_TELL, rc);
		return;
	}
	conn->own.mtu = conn->peer.mtu;
	conn->retrans = 0;
	vrb_ucm_established(conn, msg->data, xchg_data_len(msg->len));
}

void vrb_ucm_answered(struct vrb_conn *conn, const struct ucm_msg *msg, const uint8_t *bytes)
{
	if (msg->op == UCM_REJ_USER) {
		vrb_ucm_ended(conn, UCM_FORGET, TP_CONN_REJECTED, -ECONNREFUSED, msg->data,
			      xchg_data_len(msg->len));
	} else if (msg->op == UCM_REJ_CM) {
		failed(conn, UCM_FORGET, -ECONNREFUSED);
	} else {
		conn->peer_id = msg->src_id;
		conn->peer = msg->end;
		memcpy(conn->peer_block, bytes + XCHG_AT_SRC, sizeof(conn->peer_block));
		if (!msg->src_id)
			no_sense(conn, "its connection has no number");
		else if (msg->end.qp_type != conn->own.qp_type)
			no_sense(conn, "its QP is of another type");
		else if (conn->ud)
			told(conn, msg);
		else
			accepted(conn, msg);
	}
}

/* ---- The core's call ---- */

/* The address as the program gave it, with the EP type instead of a QP number (UCM-10). */
static void fill_block(struct vrb_conn *conn)
{
	struct ucm_address addr = conn->to;

	addr.qpn = 0;
	addr.type = conn->own.qp_type;
	ucm_put_address(conn->peer_block, &addr);
}

static int ask(struct vrb_conn *conn, const struct tp_connect *param)
{
	struct ucm_msg msg;
	int rc = vrb_xchg_own(conn->qp, 0, &conn->own);

	if (rc)
		return rc;
	fill_block(conn);
	vrb_ucm_fill(conn, UCM_REQ, &msg);
	msg.data = param->private_data;
	msg.len = (uint16_t)param->private_data_len;
	vrb_ucm_ask(conn, &msg);
	return 0;
}

static enum tp_conn_event not_begun(const struct vrb_conn *conn, int rc)
{
	if (rc == -ECONNREFUSED)
		return TP_CONN_REFUSED;
	return conn->ud ? TP_CONN_BROKEN : TP_CONN_UNREACHABLE; /* the table of IBX-69 */
}

struct start {
	struct vrb_conn *conn;
	struct vrb_qp *qp;
	const struct tp_connect *param;
	struct tp_conn **out;
};

/* What is known at once the call tells (dapl_cm_ops.connect). */
static int start(void *arg)
{
	const struct start *start = arg;
	struct vrb_conn *conn = start->conn;
	int rc = vrb_ucm_enter(conn);

	if (rc)
		return rc;
	conn->port = conn->id;
	conn->addr.local_qual = conn->id;
	vrb_ucm_join(conn, start->qp);
	*start->out = &conn->base;
	if (!conn->peer_port)
		rc = -ECONNREFUSED;
	else
		rc = conn->ud ? vrb_ucm_qp_ready(start->qp) : vrb_xchg_qp_init(start->qp);
	if (!rc)
		rc = ask(conn, start->param);
	if (rc)
		vrb_ucm_tell_later(conn, UCM_FORGET, not_begun(conn, rc), rc);
	return 0;
}

static int discard(void *arg)
{
	vrb_ucm_drop(arg);
	return 0;
}

int vrb_ucm_connect(struct tp_qp *base, const struct tp_connect *param, void *owner,
		    struct tp_conn **out)
{
	struct vrb_qp *qp = vrb_qp(base);
	struct vrb_dev *dev = qp->dev;
	struct start call = { .qp = qp, .param = param, .out = out };
	struct ucm_address to;
	int rc;

	if (param->remote->sa_family != AF_INET6)
		return -EAFNOSUPPORT;
	if (param->private_data_len > XCHG_DATA)
		return -EINVAL;
	if (ucm_get_address((const uint8_t *)param->remote, &to))
		return -ENETUNREACH;
	rc = vrb_qp_prepare(qp);
	if (rc)
		return rc;
	call.conn = vrb_ucm_new(dev, UCM_WAIT_REP);
	if (!call.conn)
		return -ENOMEM;
	call.conn->active = true;
	call.conn->ud = qp->ud;
	call.conn->base.owner = owner;
	call.conn->to = to;
	/* A qualifier that cannot be meant has no listener (UCM-4). */
	call.conn->peer_port =
		param->conn_qual > dev->attr.max_conn_qual ? 0 : (uint16_t)param->conn_qual;
	memcpy(&call.conn->addr.remote, param->remote, XCHG_ADDRESS);
	call.conn->addr.remote_qual = param->conn_qual;
	rc = dapl_loop_call(dev->base.loop, start, &call);
	if (rc) {
		dapl_err("%s: connection not started: %s", dev->name, dapl_strerror(-rc));
		dapl_loop_call(dev->base.loop, discard, call.conn);
	}
	return rc;
}
