/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The side that is asked: listeners, requests, and their answers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/base/loop_call.h"
#include "trace/log.h"
#include "providers/verbs/cm/ud.h"

enum {
	SERVICES = 65536, /* UCM-4 */
};

/* ---- Requests ---- */

static void say_refused(const struct vrb_dev *dev, const struct ucm_msg *msg, const char *why)
{
	dapl_trace_limited(ucm_refused, DAPL_TRC_ERROR, dev,
			   "ia=%s lid=%u qp=0x%x service=%u why=%s", dev->name, msg->end.lid,
			   msg->src_qpn, msg->dst_port, why);
}

static struct ucm_address sender(const struct ucm_msg *msg)
{
	struct ucm_address addr = { .lid = msg->end.lid, .qpn = msg->src_qpn, .type = XCHG_QPT_UD };

	memcpy(addr.gid, msg->end.gid, sizeof(addr.gid));
	return addr;
}

static void refuse_unknown(struct vrb_dev *dev, const struct ucm_msg *msg, const uint8_t *bytes)
{
	const struct ucm_address to = sender(msg);
	uint8_t answer[UCM_MOST];

	vrb_ucm_send(dev, &to, answer, ucm_refuse(answer, bytes));
}

static struct vrb_conn *earlier(struct vrb_dev *dev, const struct ucm_msg *msg)
{
	struct vrb_conn *conn;

	list_for_each(conn, vrb_ucm_peer_chain(dev, msg), by_peer)
		if (vrb_ucm_is_of(conn, msg) && conn->peer_id == msg->src_id)
			return conn;
	return NULL;
}

/*
 * A peer asks with the names of a connection that is here: for the same one again; or it has
 * forgotten that, as a process does that began anew with the numbers of the one before.
 */
static bool is_repeated(const struct vrb_conn *conn, const struct ucm_msg *msg)
{
	uint64_t wait_ns = (uint64_t)conn->dev->config->ucm_wait_time_ms * 1000000;

	return conn->peer.qpn == msg->end.qpn &&
	       (conn->state != UCM_CONNECTED || dapl_now() - conn->since < wait_ns);
}

static void repeated(struct vrb_conn *conn)
{
	if (conn->out_len && (conn->state == UCM_WAIT_RTU || conn->rejected))
		vrb_ucm_repeat(conn);
}

static void forgotten(struct vrb_conn *conn)
{
	vrb_ucm_hold(conn);
	if (conn->state == UCM_CONSUMER)
		conn->peer_gone = true;
	else
		vrb_ucm_ended(conn, UCM_FORGET, TP_CONN_BROKEN, -ECONNRESET, NULL, 0);
	vrb_ucm_leave(conn);
	vrb_ucm_drop(conn);
}

static void take_names(struct vrb_conn *conn, const struct ucm_msg *msg, const uint8_t *bytes)
{
	const struct ucm_address *own = &vrb_ucm(conn->dev)->own;

	conn->port = msg->dst_port;
	conn->peer_port = msg->src_port;
	conn->peer_id = msg->src_id;
	conn->to = sender(msg);
	conn->peer = msg->end;
	conn->ud = msg->end.qp_type == XCHG_QPT_UD;
	/* By these the peer knows an answer before there is an endpoint. */
	conn->own = (struct xchg_end){ .lid = own->lid, .qp_type = msg->end.qp_type };
	memcpy(conn->own.gid, own->gid, sizeof(conn->own.gid));
	memcpy(conn->peer_block, bytes + XCHG_AT_SRC, sizeof(conn->peer_block));
	ucm_put_address((uint8_t *)&conn->addr.remote, &conn->to);
	conn->addr.remote_qual = msg->src_port;
	vrb_ucm_enter_peer(conn);
}

static int tell_core(struct vrb_conn *conn, void *owner, const struct ucm_msg *msg)
{
	struct tp_conn_request req = { .private_data = msg->data,
				       .private_data_len = xchg_data_len(msg->len),
				       .truncated = msg->len > XCHG_DATA,
				       .ud = conn->ud };

	return conn->dev->base.up->conn_request(owner, &conn->base, &req);
}

static void request(struct vrb_ucm_listener *listener, const struct ucm_msg *msg,
		    const uint8_t *bytes)
{
	struct vrb_conn *conn = vrb_ucm_new(listener->dev, UCM_CONSUMER);

	if (!conn)
		return; /* it is asked again */
	if (vrb_ucm_enter(conn)) {
		say_refused(conn->dev, msg, "too many connections");
		refuse_unknown(conn->dev, msg, bytes);
		vrb_ucm_drop(conn);
		return;
	}
	take_names(conn, msg, bytes);
	conn->addr.local_qual = listener->base.conn_qual;
	if (!tell_core(conn, listener->base.owner, msg))
		return;
	vrb_ucm_refuse(conn, UCM_REJ_CM, NULL, 0);
	vrb_ucm_drop(conn);
}

void vrb_ucm_requested(struct vrb_dev *dev, const struct ucm_msg *msg, const uint8_t *bytes)
{
	struct vrb_ucm_listener *listener = vrb_ucm_listener(dev, msg->dst_port);
	struct vrb_conn *conn = earlier(dev, msg);

	if (conn && is_repeated(conn, msg)) {
		repeated(conn);
		return;
	}
	if (conn)
		forgotten(conn);
	if (listener)
		request(listener, msg, bytes);
	else
		refuse_unknown(dev, msg, bytes);
}

/* ---- dat_psp_create and its like ---- */

struct listen {
	struct vrb_ucm_listener *listener;
	struct tp_listener **out;
};

static uint16_t free_service(struct vrb_dev *dev)
{
	uint32_t service;

	for (service = SERVICES - 1; service; service--)
		if (!vrb_ucm_listener(dev, service))
			break;
	return (uint16_t)service;
}

static int listen_now(void *arg)
{
	const struct listen *call = arg;
	struct vrb_ucm_listener *listener = call->listener;
	struct vrb_dev *dev = listener->dev;

	if (!listener->base.conn_qual)
		listener->base.conn_qual = free_service(dev);
	if (!listener->base.conn_qual)
		return -EADDRNOTAVAIL;
	listener->service = (uint16_t)listener->base.conn_qual;
	if (vrb_ucm_listener(dev, listener->service))
		return -EADDRINUSE;
	*call->out = &listener->base;
	list_add(&vrb_ucm(dev)->listeners, &listener->node);
	return 0;
}

int vrb_ucm_listen(struct tp_device *base, uint64_t qual, void *owner, struct tp_listener **out)
{
	struct vrb_dev *dev = vrb_dev(base);
	struct listen call = { .out = out };
	int rc;

	if (qual > dev->attr.max_conn_qual || (qual && !(qual % SERVICES)))
		return -EINVAL;
	call.listener = calloc(1, sizeof(*call.listener));
	if (!call.listener) {
		dapl_err("%s: not listening on qualifier %llu: %s", dev->name,
			 (unsigned long long)qual, dapl_strerror(ENOMEM));
		return -ENOMEM;
	}
	call.listener->base =
		(struct tp_listener){ .dev = base, .owner = owner, .conn_qual = qual };
	call.listener->dev = dev;
	rc = dapl_loop_call(base->loop, listen_now, &call);
	if (!rc)
		return 0;
	dapl_trace(ucm_in_use, DAPL_TRC_ERROR, dev, "ia=%s qualifier=%llu why=%s", dev->name,
		   (unsigned long long)qual, dapl_strerror(-rc));
	free(call.listener);
	return rc;
}

static int unlisten(void *arg)
{
	struct vrb_ucm_listener *listener = arg;

	list_del(&listener->node);
	free(listener);
	return 0;
}

void vrb_ucm_unlisten(struct tp_listener *base)
{
	dapl_loop_call(base->dev->loop, unlisten,
		       container_of(base, struct vrb_ucm_listener, base));
}

/* ---- Answers ---- */

struct answer {
	struct vrb_conn *conn;
	struct vrb_qp *qp;
	void *owner;
	const void *data;
	uint32_t len;
	int rc; /* of the QP */
};

static int send_reply(struct vrb_conn *conn, const struct answer *answer)
{
	struct ucm_msg msg;
	int rc = vrb_xchg_own(conn->qp, conn->peer.mtu, &conn->own);

	if (rc)
		return rc;
	vrb_ucm_fill(conn, UCM_REP, &msg);
	msg.data = answer->data;
	msg.len = (uint16_t)answer->len;
	vrb_ucm_ask(conn, &msg);
	return 0;
}

static int reply(void *arg)
{
	const struct answer *answer = arg;
	struct vrb_conn *conn = answer->conn;
	int rc = conn->peer_gone ? -ECONNRESET : answer->rc;

	/* The device may have failed it since: it is flushed on this thread. */
	if (!rc && conn->ud)
		rc = vrb_ucm_qp_ready(answer->qp);
	conn->base.owner = answer->owner;
	vrb_ucm_join(conn, answer->qp);
	conn->state = UCM_WAIT_RTU;
	if (!rc)
		rc = send_reply(conn, answer);
	if (rc)
		vrb_ucm_tell_later(conn, UCM_TELL, TP_CONN_BROKEN, rc);
	return 0;
}

/*
 * The QP is ready before the peer hears of it (CM-8), and takes as many reads as an active side of
 * release 2.1.10 issues, which looks at its own limit alone (UCM-64).
 */
int vrb_ucm_accept(struct tp_conn *base, struct tp_qp *qp_base, const void *data, uint32_t len,
		   void *owner)
{
	struct vrb_conn *conn = vrb_conn(base);
	struct vrb_qp *qp = vrb_qp(qp_base);
	struct answer answer = { .conn = conn, .qp = qp, .owner = owner, .data = data, .len = len };
	int rc = vrb_qp_prepare(qp);

	if (rc)
		return rc;
	answer.rc = conn->ud ? vrb_ucm_qp_ready(qp) : vrb_xchg_qp_init(qp);
	if (!answer.rc)
		answer.rc = conn->ud ? vrb_xchg_agree(conn->dev, &conn->peer)
				     : vrb_xchg_qp_ready(qp, &conn->peer, conn->peer.reads_in);
	return dapl_loop_call(conn->dev->base.loop, reply, &answer);
}

/* A rejection tells of no endpoint: what else it has is the request's, and where that came to (UCM-9). */
void vrb_ucm_refuse(struct vrb_conn *conn, enum ucm_op op, const void *data, uint32_t len)
{
	struct ucm_msg msg;

	if (!conn->id || conn->peer_gone) {
		vrb_ucm_leave(conn);
		return;
	}
	vrb_ucm_fill(conn, op, &msg);
	msg.end = conn->peer;
	msg.end.lid = conn->own.lid;
	msg.end.qpn = 0;
	memcpy(msg.end.gid, conn->own.gid, sizeof(msg.end.gid));
	msg.data = data;
	msg.len = (uint16_t)len;
	conn->rejected = true;
	conn->out_len = ucm_encode(conn->out, &msg);
	vrb_ucm_send(conn->dev, &conn->to, conn->out, conn->out_len);
	vrb_ucm_linger(conn);
}

static int refuse(void *arg)
{
	const struct answer *answer = arg;

	vrb_ucm_refuse(answer->conn, UCM_REJ_USER, answer->data, answer->len);
	vrb_ucm_drop(answer->conn);
	return 0;
}

int vrb_ucm_reject(struct tp_conn *base, const void *data, uint32_t len)
{
	struct answer answer = { .conn = vrb_conn(base), .data = data, .len = len };

	return dapl_loop_call(base->dev->loop, refuse, &answer);
}
