/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The side that asks. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "dapl/base/fd.h"
#include "dapl/base/loop_call.h"
#include "trace/log.h"
#include "providers/verbs/addr.h"
#include "providers/verbs/cm/socket.h"

enum {
	ATTEMPTS = 5, /* where the peer resets (SCM-14) */
};

static void ready(struct tp_watch *watch, uint32_t events);

/* ---- Attempts ---- */

static void failed(struct vrb_conn *conn, int rc)
{
	switch (-rc) {
	case ETIMEDOUT:
	case EHOSTUNREACH:
	case ENETUNREACH:
	case EHOSTDOWN:
	case ENETDOWN:
	case ENODEV:
	case EADDRNOTAVAIL:
	case EACCES: /* a broadcast address, or a local firewall */
	case EPERM:
		vrb_scm_ended(conn, TP_CONN_UNREACHABLE, rc, NULL, 0);
		break;
	default:
		vrb_scm_ended(conn, TP_CONN_REFUSED, rc, NULL, 0);
	}
}

/* A socket whose address is the adapter's, so that the peer knows whom it talks to (SCM-5). */
static int bound_socket(const struct vrb_dev *dev)
{
	int fd = dapl_fd_own(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	const int on = 1;
	int err;

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
	if (!bind(fd, (const struct sockaddr *)&dev->addr, sizeof(struct sockaddr_in)))
		return fd;
	err = errno;
	dapl_fd_close(fd);
	return -err;
}

static void learn_port(struct vrb_conn *conn)
{
	struct sockaddr_in name = { .sin_family = AF_INET };
	socklen_t len = sizeof(name);

	(void)getsockname(conn->watch.fd, (struct sockaddr *)&name, &len);
	pthread_mutex_lock(&conn->dev->cm_lock);
	conn->addr.local_qual = ntohs(name.sin_port);
	pthread_mutex_unlock(&conn->dev->cm_lock);
}

static int attempt(struct vrb_conn *conn)
{
	int fd = bound_socket(conn->dev), err;

	if (fd < 0)
		return fd;
	if (connect(fd, (const struct sockaddr *)&conn->to, sizeof(conn->to)) &&
	    errno != EINPROGRESS) {
		err = errno;
		dapl_fd_close(fd);
		return -err;
	}
	conn->attempts++;
	conn->state = SCM_CONNECTING;
	err = vrb_scm_take_fd(conn, fd, ready, EPOLLOUT);
	if (!err)
		learn_port(conn);
	return err;
}

/* The peer ended the attempt without an answer: release 2.1.10 asks again, and so it expects. */
static bool again(struct vrb_conn *conn, int rc)
{
	bool reset = rc == -ECONNRESET || rc == -EPIPE;

	if (conn->attempts >= ATTEMPTS || (!reset && rc != -ENODATA) ||
	    (!reset && conn->closed_before))
		return false;
	conn->closed_before = conn->closed_before || !reset;
	vrb_scm_close_fd(conn);
	if (attempt(conn))
		return false;
	conn->dev->base.up->conn_addr(conn->base.owner);
	return true;
}

/* ---- Request and answer ---- */

static int send_request(struct vrb_conn *conn)
{
	struct scm_msg own = { .op = SCM_REQ,
			       .version = XCHG_VERSION,
			       .data = conn->data,
			       .len = (uint16_t)conn->data_len,
			       .stray = conn->closed_before };
	socklen_t len = sizeof(own.addr);
	uint8_t bytes[XCHG_MOST];
	int rc = vrb_xchg_own(conn->qp, 0, &own.end);

	if (rc)
		return rc;
	if (getsockname(conn->watch.fd, (struct sockaddr *)&own.addr, &len))
		return -errno;
	return vrb_scm_send(conn, bytes, scm_encode(bytes, &own));
}

static int connected(struct vrb_conn *conn)
{
	int err = 0;
	socklen_t len = sizeof(err);

	if (getsockopt(conn->watch.fd, SOL_SOCKET, SO_ERROR, &err, &len))
		err = errno;
	if (err)
		return -err;
	conn->state = SCM_WAIT_REP;
	err = dapl_loop_mod(conn->dev->base.loop, &conn->watch, EPOLLIN);
	return err ? err : send_request(conn);
}

static int confirm(struct vrb_conn *conn)
{
	uint8_t word[SCM_WORD];

	scm_put_rtu(word, conn->peer.version);
	return vrb_scm_send(conn, word, sizeof(word));
}

/*
 * The peer has our confirmation before the core hears of the connection: what a program ends when
 * it has seen all its connections come about must not reach the peer before the last of them has.
 * What the peer sends before the core was told waits.
 */
static void accepted(struct vrb_conn *conn)
{
	struct vrb_cq *cq = conn->qp->rq.cq;
	int rc = vrb_xchg_qp_ready(conn->qp, &conn->peer.end, 0);

	if (rc) {
		failed(conn, rc);
		return;
	}
	if (cq)
		vrb_cq_defer(cq, conn->qp);
	rc = confirm(conn);
	if (rc) {
		failed(conn, -ECONNRESET);
		return;
	}
	vrb_scm_established(conn, conn->peer.data, xchg_data_len(conn->peer.len));
	if (cq && conn->state == SCM_CONNECTED)
		vrb_cq_deliver(cq, conn->qp);
}

static void no_sense(struct vrb_conn *conn, const char *why)
{
	char text[VRB_ADDR_TEXT];

	dapl_trace_limited(scm_nonsense, DAPL_TRC_ERROR, conn, "ia=%s peer=%s why=%s",
			   conn->dev->name,
			   vrb_addr_text((const struct sockaddr_storage *)&conn->to, text), why);
	failed(conn, -EPROTO);
}

static void answered(struct vrb_conn *conn)
{
	struct scm_msg *peer = &conn->peer;
	const char *why;

	if (scm_decode(conn->in, conn->have, true, peer, &why))
		no_sense(conn, why);
	else if (peer->op == SCM_REJ_USER)
		vrb_scm_ended(conn, TP_CONN_REJECTED, -ECONNREFUSED, peer->data,
			      xchg_data_len(peer->len));
	else if (peer->op == SCM_REJ_CM)
		failed(conn, -ECONNREFUSED);
	else if (peer->end.qp_type != XCHG_QPT_RC)
		no_sense(conn, "its QP is not of RC");
	else
		accepted(conn);
}

static void expired(struct tp_timer *timer)
{
	failed(container_of(timer, struct vrb_conn, timer), -ETIMEDOUT);
}

/* Of an answer that has begun the rest comes in time. */
static void await_answer(struct vrb_conn *conn)
{
	bool began = conn->have;
	int rc = vrb_scm_recv_msg(conn);

	if (rc > 0)
		answered(conn);
	else if (rc == -EPROTONOSUPPORT || rc == -EMSGSIZE)
		no_sense(conn, dapl_strerror(-rc));
	else if (rc < 0 && !again(conn, rc))
		failed(conn, rc == -ENODATA ? -ECONNRESET : rc);
	else if (!rc && !began && conn->have)
		vrb_scm_timeout(conn, expired);
}

static void ready(struct tp_watch *watch, uint32_t events)
{
	struct vrb_conn *conn = container_of(watch, struct vrb_conn, watch);
	int rc = 0;

	(void)events;
	vrb_scm_hold(conn);
	if (conn->state == SCM_CONNECTING)
		rc = connected(conn);
	if (rc) {
		if (!again(conn, rc))
			failed(conn, rc);
	} else if (conn->state == SCM_WAIT_REP) {
		await_answer(conn);
	}
	if (conn->state == SCM_CONNECTED)
		vrb_scm_live(conn);
	vrb_scm_drop(conn);
}

/* ---- The core's call ---- */

struct start {
	struct vrb_conn *conn;
	struct vrb_qp *qp;
	struct tp_conn **out;
};

/* What is known at once the call tells (dapl_cm_ops.connect). */
static int start(void *arg)
{
	const struct start *start = arg;
	struct vrb_conn *conn = start->conn;
	uint64_t qual = conn->addr.remote_qual;
	bool nobody = !qual || qual > conn->dev->attr.max_conn_qual || !conn->to.sin_port;
	int rc = nobody ? -ECONNREFUSED : attempt(conn);

	if (rc == -EADDRNOTAVAIL || rc == -ENETUNREACH || rc == -EMFILE || rc == -ENFILE ||
	    rc == -ENOMEM)
		return rc;
	if (!rc)
		rc = vrb_xchg_qp_init(start->qp);
	vrb_scm_join(conn, start->qp);
	*start->out = &conn->base;
	if (!rc)
		return 0;
	vrb_scm_close_fd(conn); /* nothing is requested */
	vrb_scm_tell_later(conn, rc == -ECONNREFUSED ? TP_CONN_REFUSED : TP_CONN_UNREACHABLE, rc);
	return 0;
}

static int discard(void *arg)
{
	vrb_scm_drop(arg);
	return 0;
}

int vrb_scm_connect(struct tp_qp *base, const struct tp_connect *param, void *owner,
		    struct tp_conn **out)
{
	struct vrb_qp *qp = vrb_qp(base);
	struct vrb_dev *dev = qp->dev;
	struct start call = { .qp = qp, .out = out };
	int rc;

	if (param->remote->sa_family != AF_INET)
		return -EAFNOSUPPORT;
	if (param->private_data_len > XCHG_DATA)
		return -EINVAL;
	rc = vrb_qp_prepare(qp);
	if (rc)
		return rc;
	call.conn = vrb_scm_new(dev, SCM_CONNECTING);
	if (!call.conn)
		return -ENOMEM;
	call.conn->base.owner = owner;
	vrb_addr_copy(&call.conn->addr.remote, param->remote);
	call.conn->addr.remote_qual = param->conn_qual;
	memcpy(&call.conn->to, &call.conn->addr.remote, sizeof(call.conn->to));
	call.conn->to.sin_port = htons(scm_port(param->conn_qual));
	call.conn->data_len = param->private_data_len;
	if (param->private_data_len)
		memcpy(call.conn->data, param->private_data, param->private_data_len);
	rc = dapl_loop_call(dev->base.loop, start, &call);
	if (rc) {
		dapl_err("%s: connection not started: %s", dev->name, dapl_port_strerror(-rc));
		dapl_loop_call(dev->base.loop, discard, call.conn);
	}
	return rc;
}
