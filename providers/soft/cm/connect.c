/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Everything but the beginning of connect runs on the loop. */
#include "providers/soft/cm/cm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "providers/soft/base/addr.h"
#include "providers/soft/cm/setup.h"
#include "providers/soft/cm/ud.h"
#include "providers/soft/base/config.h"
#include "providers/soft/base/device.h"
#include "providers/soft/engine/conn.h"
#include "providers/soft/engine/drive.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/link/link.h"
#include "trace/log.h"

static const char *reason(const struct soft_conn *conn, int err)
{
	if (conn->link && conn->link->why)
		return conn->link->why;
	if (err == -EPROTO)
		return "the peer does not answer in MPA";
	if (err == -ENODATA && conn->setup->by_socket && conn->setup->revision > 1)
		return "the peer closed without an answer (option mpa_revision, if it knows 1 "
		       "only)";
	return err == -ENODATA ? "the peer closed without an answer" : dapl_strerror(-err);
}

static void failed(struct soft_conn *conn, enum soft_conn_cause cause, int err)
{
	char to[SOFT_ADDR_TEXT];

	dapl_err_limited("%s: not connected to %s: %s", conn->dev->name,
			 soft_addr_text(&conn->setup->remote, conn->setup->remote_qual, to),
			 reason(conn, err));
	soft_conn_tell(conn, cause, err, NULL, 0);
}

/* ---- The request ---- */

static void build_request(struct soft_conn *conn, const void *data, uint32_t len)
{
	uint8_t revision = conn->setup->revision;
	struct soft_mpa_frame frame = {
		.revision = revision,
		.crc = soft_setup_wants_crc(conn),
		.data = data,
		.len = (uint16_t)len,
	};

	if (revision >= 2) {
		frame.large = soft_setup_wants_large(conn);
		frame.enhanced = frame.p2p = frame.rtr_write = frame.rtr_read = true;
		frame.ird = soft_setup_depth(conn->qp->max_read_in);
		frame.ord = soft_setup_depth(soft_setup_reads_out(conn->qp));
	}
	soft_setup_build(conn, &frame);
}

static void connect_ready(struct soft_link *link, uint32_t events);
static void connect_expired(struct soft_link *link);

static int start_over(struct soft_conn *conn, const struct soft_link_class *class)
{
	return class->connect(conn->dev, &conn->dev->addr, (struct sockaddr *)&conn->setup->remote,
			      conn->setup->remote_qual, &conn->link);
}

static void drop_link(struct soft_conn *conn, bool abort)
{
	soft_link_destroy(conn->link, abort);
	conn->link = NULL;
}

static void tcp_only(struct soft_conn *conn, const char *why)
{
	conn->setup->tcp_only = true;
	pthread_mutex_lock(&conn->lock);
	conn->link_why = why ? why : "shared memory could not be had";
	pthread_mutex_unlock(&conn->lock);
}

/* Starts the link, over shared memory if that may be; the outcome shows when it is ready. */
static int start_link(struct soft_conn *conn)
{
	const struct soft_setup *setup = conn->setup;
	int64_t choice = conn->dev->config->link;
	int rc = -ECONNREFUSED;

	if (choice == SOFT_LINK_AUTO && !setup->tcp_only &&
	    !soft_addr_same_host(&conn->dev->addr, &setup->remote))
		tcp_only(conn, "the peer is on another host");
	if (choice != SOFT_LINK_TCP && !setup->tcp_only)
		rc = start_over(conn, &soft_link_shm);
	if (choice == SOFT_LINK_AUTO && rc && !setup->tcp_only)
		tcp_only(conn, NULL);
	if (choice == SOFT_LINK_AUTO && !rc && conn->link->start_err) {
		tcp_only(conn, conn->link->why);
		drop_link(conn, true);
	}
	if (choice != SOFT_LINK_SHM && !conn->link)
		rc = start_over(conn, &soft_link_tcp);
	if (!rc)
		soft_setup_link(conn, conn->link, connect_ready, connect_expired);
	return rc;
}

/*
 * A program may take any time to answer, but its host has the request by and by. In pieces, as the
 * service thread looks after connections that are made.
 */
static void await_reply(struct soft_conn *conn)
{
	uint32_t timeout = (uint32_t)conn->dev->config->peer_timeout_ms;

	if (timeout)
		soft_link_timeout(conn->link, timeout / 3 + 1);
}

static void connected(struct soft_conn *conn)
{
	soft_setup_names(conn);
	soft_conn_take(conn, SOFT_CAUSE_CONNECTED);
	await_reply(conn);
}

/*
 * Within a host the link is there by now, and takes the request; else it is waited for. What fails
 * is told once the link is ready. On the loop.
 */
static int await_link(struct soft_conn *conn)
{
	struct soft_link *link = conn->link;
	int rc = link->start_err ? 0 : soft_setup_send(conn);

	if (rc > 0) {
		rc = link->class->started(link);
		if (!rc) {
			connected(conn);
			return soft_link_watch(link, EPOLLIN);
		}
	}
	if (rc < 0 && rc != -EPIPE) /* which is no reason */
		link->start_err = rc;
	return soft_link_watch(link, EPOLLOUT | EPOLLONESHOT);
}

/* Once more over another link, with the same private data. */
static void start_again(struct soft_conn *conn, bool abort)
{
	struct soft_setup *setup = conn->setup;
	struct soft_mpa_frame frame;
	int rc;

	drop_link(conn, abort);
	soft_conn_take(conn, SOFT_CAUSE_RETRY);
	soft_mpa_decode(setup->out, setup->out_size, false, &frame);
	memcpy(setup->in, frame.data, frame.len);
	rc = start_link(conn);
	if (!rc) {
		build_request(conn, setup->in, frame.len);
		setup->in_have = 0;
		rc = await_link(conn);
	}
	if (rc)
		failed(conn, SOFT_CAUSE_FAILED, rc);
}

/* ---- The reply ---- */

/* Which message tells the responder that we are ready; 0: none that both know. */
static uint8_t choose_rtr(const struct soft_mpa_frame *reply)
{
	if (reply->rtr_write)
		return 1 + WIRE_OP_WRITE;
	if (reply->rtr_read)
		return 1 + WIRE_OP_READ_REQUEST;
	if (reply->rtr_send)
		return 1 + WIRE_OP_SEND;
	return 0;
}

/* Negotiation failed: the peer is told by a Terminate (RFC 6581 section 8). */
static void unfit(struct soft_conn *conn, uint8_t code)
{
	soft_conn_bind(conn);
	soft_conn_refuse(conn, (struct soft_error){ WIRE_LAYER_MPA, 0, code }, NULL, NULL);
	failed(conn, SOFT_CAUSE_UNFIT, -EPROTO);
}

enum {
	RTR_REPEATS = 2,
	RTR_REPEAT_MS = 500, /* the first; the other one four times as much after it */
};

/*
 * soft-iWARP of Linux 6.1 misses a ready-to-receive message that comes in the moment in which it
 * has replied, until more comes; its program hears of no connection and says nothing. As long as
 * nothing comes from the peer it is told again, by an RDMA Write of no bytes.
 */
static void repeat_rtr(struct soft_link *link)
{
	struct soft_conn *conn = link->owner;

	if (soft_conn_repeat_rtr(conn) && ++conn->rtr_repeats < RTR_REPEATS)
		soft_link_timeout(link, RTR_REPEAT_MS << (2 * conn->rtr_repeats));
}

static void reply_accepted(struct soft_conn *conn, const struct soft_mpa_frame *reply)
{
	uint32_t ird = conn->qp->max_read_in;
	int rc;

	conn->setup->enhanced = reply->enhanced;
	conn->setup->peer_ird = reply->ird;
	soft_setup_crc(conn, reply->crc);
	conn->markers = reply->markers;
	conn->large = reply->large && conn->setup->revision >= 2 && soft_setup_wants_large(conn);
	/* The responder's depth may not exceed what we said, but if it does we can follow. */
	if (reply->enhanced && reply->ord != SOFT_MPA_NO_DEPTH && reply->ord > ird)
		ird = reply->ord;
	rc = soft_setup_tx(conn, ird);
	if (rc) {
		failed(conn, SOFT_CAUSE_FAILED, rc);
		return;
	}
	if (ird > SOFT_MAX_READS) {
		unfit(conn, WIRE_MPA_ERR_IRD);
		return;
	}
	conn->tx.rtr = reply->p2p ? choose_rtr(reply) : 0;
	if (reply->p2p && !conn->tx.rtr) {
		unfit(conn, WIRE_MPA_ERR_RTR);
		return;
	}
	soft_link_timeout(conn->link, 0);
	if (conn->tx.rtr && !conn->link->class->checked) {
		conn->rx.waiting_first = true;
		conn->link->expired = repeat_rtr;
		soft_link_timeout(conn->link, RTR_REPEAT_MS);
	}
	soft_conn_bind(conn);
	soft_drive(conn->qp, SOFT_DRIVE_TX);
	soft_setup_done(conn, SOFT_CAUSE_REPLY, reply->data, reply->len);
}

static int reply_complete(struct soft_conn *conn)
{
	struct soft_setup *setup = conn->setup;
	struct soft_mpa_frame reply;
	int rc = soft_mpa_decode(setup->in, setup->in_have, true, &reply);

	if (rc || reply.revision > setup->revision || (reply.enhanced && setup->revision < 2))
		return -EPROTO;
	/* A peer of revision 1 may send a few bytes more than we ever can (PD-7). */
	if (reply.len > WIRE_MPA_PD_CONSUMER)
		reply.len = WIRE_MPA_PD_CONSUMER;
	if (reply.reject)
		soft_conn_tell(conn, SOFT_CAUSE_REJECTED, -ECONNREFUSED, reply.data, reply.len);
	else
		reply_accepted(conn, &reply);
	return 0;
}

/* Whether the link could not be had, which ends the attempt, or goes on over TCP where the peer has
 * no shared memory for us. */
static bool give_up_link(struct soft_conn *conn)
{
	int rc = conn->link->class->started(conn->link);

	if (rc && conn->dev->config->link == SOFT_LINK_AUTO && !conn->setup->tcp_only &&
	    conn->link->class->checked) {
		tcp_only(conn, conn->link->why);
		start_again(conn, true);
	} else if (rc) {
		failed(conn, SOFT_CAUSE_FAILED, rc);
	}
	return rc;
}

static void requesting(struct soft_conn *conn)
{
	struct soft_setup *setup = conn->setup;
	int rc = soft_setup_send(conn);

	if (rc >= 0)
		rc = soft_setup_recv(conn, true);
	if (rc > 0) {
		rc = reply_complete(conn);
	} else if (rc && conn->link->class->checked && give_up_link(conn)) {
		return;
	} else if (rc == -ENODATA && setup->revision == 2 && !setup->in_have && !setup->by_socket) {
		/* A peer that knows revision 1 only closes on a request of revision 2 (RFC 6581
		 * section 10): once more. */
		setup->revision = 1;
		start_again(conn, false);
		return;
	} else if (!rc) {
		rc = soft_link_watch(conn->link, setup->out_sent < setup->out_size
							 ? EPOLLIN | EPOLLOUT
							 : EPOLLIN);
	}
	if (rc < 0)
		failed(conn, SOFT_CAUSE_FAILED, rc);
}

static void connecting(struct soft_conn *conn)
{
	if (give_up_link(conn))
		return;
	connected(conn);
	requesting(conn);
}

/* ---- Events ---- */

static void connect_ready(struct soft_link *link, uint32_t events)
{
	struct soft_conn *conn = link->owner;

	soft_conn_hold(conn);
	if (conn->state == SOFT_CONN_CONNECTING)
		connecting(conn);
	else if (conn->state == SOFT_CONN_REQUESTING)
		requesting(conn);
	soft_conn_drop(conn);
}

static void connect_expired(struct soft_link *link)
{
	struct soft_conn *conn = link->owner;
	uint32_t timeout = (uint32_t)conn->dev->config->peer_timeout_ms;

	if (conn->setup->in_have) {
		soft_setup_late(conn);
	} else if (!link->class->lost(link, timeout)) {
		await_reply(conn);
		return;
	}
	soft_conn_hold(conn);
	failed(conn, SOFT_CAUSE_FAILED, -ETIMEDOUT);
	soft_conn_drop(conn);
}

/* ---- The call ---- */

struct call {
	struct soft_conn *conn;
	const struct tp_connect *param;
	struct tp_conn **out;
};

static int request_on_loop(void *arg)
{
	struct call *call = arg;

	build_request(call->conn, call->param->private_data, call->param->private_data_len);
	*call->out = &call->conn->base;
	return await_link(call->conn);
}

static int connect_stream(struct soft_qp *qp, const struct tp_connect *param, void *owner,
			  struct tp_conn **out)
{
	struct soft_dev *dev = qp->dev;
	struct soft_conn *conn = soft_setup_alloc(dev, SOFT_CONN_CONNECTING);
	struct call call = { conn, param, out };
	struct soft_setup *setup;
	char to[SOFT_ADDR_TEXT];
	int rc = -ENOMEM;

	if (!conn)
		goto explain;
	setup = conn->setup;
	conn->qp = qp;
	conn->base.owner = owner;
	setup->revision = (uint8_t)dev->config->mpa_revision;
	/* Nobody listens on what TCP cannot express, nor on 0: port 0 gives the same answer. */
	setup->remote_qual = param->conn_qual > UINT16_MAX ? 0 : param->conn_qual;
	conn->remote_qual = param->conn_qual;
	soft_addr_copy(&setup->remote, param->remote);
	conn->remote = setup->remote;
	rc = start_link(conn);
	if (rc)
		goto failed;
	rc = soft_dev_call(dev, request_on_loop, &call);
	if (!rc)
		return 0;
	drop_link(conn, true);
failed:
	conn->qp = NULL;
	soft_conn_release(conn);
explain:
	dapl_err("%s: not connecting to %s: %s", dev->name,
		 soft_addr_text(param->remote, param->conn_qual, to), dapl_port_strerror(-rc));
	return rc;
}

static int start_request(void *arg)
{
	struct call *call = arg;
	struct soft_conn *conn = call->conn;
	int rc = soft_link_watch(conn->link, EPOLLOUT | EPOLLONESHOT);

	if (rc)
		return rc;
	soft_link_take(conn->link);
	await_reply(conn);
	*call->out = &conn->base;
	return 0;
}

/* Over a socket of the program: it is connected, so the request is next. */
static int connect_over(struct soft_conn *conn, const struct tp_connect *param,
			struct tp_conn **out)
{
	struct call call = { conn, param, out };
	struct soft_setup *setup = conn->setup;
	int rc;

	rc = soft_link_of_socket(conn->dev, param->socket, &conn->link);
	if (rc)
		return rc;
	soft_setup_link(conn, conn->link, connect_ready, connect_expired);
	conn->link_why = "the program's socket";
	setup->by_socket = setup->tcp_only = true;
	setup->remote = conn->remote;
	setup->remote_qual = conn->remote_qual;
	build_request(conn, param->private_data, param->private_data_len);
	rc = soft_dev_call(conn->dev, start_request, &call);
	if (rc)
		drop_link(conn, false);
	return rc;
}

int soft_connect_socket(struct tp_qp *base, const struct tp_connect *param, void *owner,
			struct tp_conn **out)
{
	struct soft_qp *qp = soft_qp(base);
	struct soft_conn *conn = soft_setup_alloc(qp->dev, SOFT_CONN_REQUESTING);
	int rc = -ENOMEM;

	if (conn) {
		conn->qp = qp;
		conn->base.owner = owner;
		conn->setup->revision = (uint8_t)qp->dev->config->mpa_revision;
		rc = connect_over(conn, param, out);
	}
	if (rc && conn) {
		conn->qp = NULL;
		soft_conn_release(conn);
	}
	if (rc && rc != -EINVAL)
		dapl_err("%s: not connecting over socket %d: %s", qp->dev->name, param->socket,
			 dapl_strerror(-rc));
	return rc;
}

int soft_connect(struct tp_qp *base, const struct tp_connect *param, void *owner,
		 struct tp_conn **out)
{
	struct soft_qp *qp = soft_qp(base);

	return qp->ud ? soft_ud_connect(qp, param, owner, out)
		      : connect_stream(qp, param, owner, out);
}
