/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What peers' connection managers say (UCM-11, UCM-19). */
#include <errno.h>
#include <string.h>

#include "trace/log.h"
#include "providers/verbs/cm/ud.h"

/* ---- Whose it is ---- */

/* The names that both sides have for it; a peer that knows our number says it. */
static bool fits(const struct vrb_conn *conn, const struct ucm_msg *msg)
{
	return vrb_ucm_is_of(conn, msg) && (!msg->dst_id || msg->dst_id == conn->id) &&
	       (!conn->peer_id || !msg->src_id || msg->src_id == conn->peer_id);
}

static struct vrb_conn *find(struct vrb_dev *dev, const struct ucm_msg *msg)
{
	struct vrb_conn *conn = vrb_ucm_by_id(dev, msg->dst_id ? msg->dst_id : msg->dst_port);

	if (conn && fits(conn, msg))
		return conn;
	if (msg->dst_id)
		return NULL;
	list_for_each(conn, vrb_ucm_peer_chain(dev, msg), by_peer)
		if (fits(conn, msg))
			return conn;
	return NULL;
}

/* ---- By state ---- */

/* The end that a peer sends may overtake, or replace, what it confirms with. */
static void ended_by_peer(struct vrb_conn *conn, const struct ucm_msg *msg)
{
	vrb_ucm_say(conn, UCM_DREP);
	if (conn->state == UCM_CONSUMER) {
		conn->peer_gone = true; /* EP-141 */
		return;
	}
	if (vrb_ucm_awaits_rtu(conn) && msg->dst_id && !conn->ud)
		vrb_ucm_established(conn, NULL, 0);
	if (conn->state == UCM_WAIT_RTU)
		vrb_ucm_ended(conn, UCM_LINGER, TP_CONN_BROKEN, -ECONNRESET, NULL, 0);
	else if (conn->state == UCM_WAIT_REP)
		vrb_ucm_ended(conn, UCM_LINGER, TP_CONN_REFUSED, -ECONNRESET, NULL, 0);
	else if (conn->resolved)
		return; /* it has no end */
	else if (conn->state == UCM_CONNECTED && vrb_qp_found_fault(conn->qp))
		vrb_ucm_ended(conn, UCM_LINGER, vrb_cm_fault_here(conn->qp), -EIO, NULL, 0);
	else if (conn->state == UCM_CONNECTED)
		vrb_ucm_ended(conn, UCM_LINGER, TP_CONN_DISCONNECTED, 0, NULL, 0);
	else if (conn->state == UCM_DREQ_SENT)
		vrb_ucm_linger(conn);
}

/* The peer waits for a confirmation before it hears of the end (UCM-29), but of a resolution. */
static void late_reply(struct vrb_conn *conn, const struct ucm_msg *msg)
{
	conn->peer_id = msg->src_id;
	if (!conn->ud)
		vrb_ucm_say(conn, UCM_RTU);
	vrb_ucm_say_end(conn);
}

static void replied(struct vrb_conn *conn, const struct ucm_msg *msg, const uint8_t *bytes)
{
	if (!conn->active)
		return;
	if (conn->state == UCM_WAIT_REP)
		vrb_ucm_answered(conn, msg, bytes);
	else if (conn->state == UCM_CONNECTED || conn->resolved)
		vrb_ucm_say(conn, UCM_RTU);
	else if (!conn->rejected)
		late_reply(conn, msg);
}

static void rejected(struct vrb_conn *conn, const struct ucm_msg *msg, const uint8_t *bytes)
{
	if (conn->state == UCM_WAIT_REP)
		vrb_ucm_answered(conn, msg, bytes);
	else if (conn->state == UCM_DREQ_SENT && conn->active)
		vrb_ucm_linger(conn);
}

static void handle(struct vrb_conn *conn, const struct ucm_msg *msg, const uint8_t *bytes)
{
	switch (msg->op) {
	case UCM_REQ:
		break;
	case UCM_REP:
		replied(conn, msg, bytes);
		break;
	case UCM_REJ_USER:
	case UCM_REJ_CM:
		rejected(conn, msg, bytes);
		break;
	case UCM_RTU:
		if (vrb_ucm_awaits_rtu(conn))
			vrb_ucm_established(conn, NULL, 0);
		break;
	case UCM_DREQ:
		ended_by_peer(conn, msg);
		break;
	case UCM_DREP:
		if (conn->state == UCM_DREQ_SENT)
			vrb_ucm_linger(conn);
		break;
	}
}

/* ---- All that comes ---- */

static void no_sense(const struct vrb_dev *dev, uint32_t from, const char *why)
{
	dapl_trace_limited(ucm_nonsense, DAPL_TRC_ERROR, dev, "ia=%s qp=0x%x why=%s", dev->name,
			   from, why);
}

/*
 * By the GRH of RoCE version 1 or of 2 over IPv6, or by the IPv4 header in its second half, before
 * which anything may stand.
 */
static bool comes_from(const uint8_t *grh, const uint8_t gid[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return (grh[0] >> 4 == 6 && !memcmp(grh + 8, gid, 16)) ||
	       (grh[20] >> 4 == 4 && !memcmp(gid, mapped, sizeof(mapped)) &&
		!memcmp(grh + 32, gid + sizeof(mapped), 4));
}

void vrb_ucm_receive(struct vrb_dev *dev, const uint8_t *grh, const uint8_t *bytes, size_t len,
		     uint32_t from)
{
	struct vrb_conn *conn;
	struct ucm_msg msg;
	const char *why;

	if (ucm_decode(bytes, len, &msg, &why)) {
		no_sense(dev, from, why);
		return;
	}
	if (msg.src_qpn != from || msg.dst_qpn != vrb_ucm(dev)->own.qpn) {
		no_sense(dev, from, "not from, or to, the QP that it names");
		return;
	}
	/* The answer to an invented one would have the kernel look for it: see ud_queue.c. */
	if (msg.op == UCM_REQ && grh && !comes_from(grh, msg.end.gid)) {
		no_sense(dev, from, "not from the GID that it names");
		return;
	}
	if (msg.op == UCM_REQ) {
		vrb_ucm_requested(dev, &msg, bytes);
		return;
	}
	conn = find(dev, &msg);
	if (!conn)
		return; /* a late one: normal */
	vrb_ucm_hold(conn);
	handle(conn, &msg, bytes);
	vrb_ucm_drop(conn);
}
