/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Setting connections up: TCP connect, MPA request and reply (RFC 5044 section 7.1, RFC 6581), and
 * the program's part in it. Everything but listen and the beginning of connect runs on the loop.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>

#include "providers/soft/addr.h"
#include "providers/soft/cm/budget.h"
#include "providers/soft/cm/cm.h"
#include "providers/soft/cm/conn.h"
#include "providers/soft/cm/handoff/handoff.h"
#include "providers/soft/cm/linger.h"
#include "providers/soft/cm/listener.h"
#include "providers/soft/config.h"
#include "providers/soft/device.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/link/link.h"
#include "providers/soft/wire/mpa.h"
#include "trace/log.h"

enum {
	GRACE_MS = 250,
};

static uint32_t handshake_ms(const struct soft_dev *dev)
{
	return (uint32_t)dev->config->handshake_ms;
}

static void take_names(struct soft_conn *conn)
{
	pthread_mutex_lock(&conn->lock);
	conn->link->class->names(conn->link, &conn->local, &conn->local_qual, &conn->remote,
				 &conn->remote_qual);
	pthread_mutex_unlock(&conn->lock);
}

static struct soft_conn *conn_alloc(struct soft_dev *dev)
{
	struct soft_conn *conn = soft_conn_alloc(dev);

	if (!conn)
		return NULL;
	conn->hs = calloc(1, sizeof(*conn->hs));
	if (conn->hs)
		return conn;
	soft_conn_release(conn);
	return NULL;
}

/* Set-up is over. */
static void open_conn(struct soft_conn *conn)
{
	free(conn->hs);
	conn->hs = NULL;
	soft_conn_open(conn);
}

/* ---- Start-up frames ---- */

/* 1 once the frame is out, 0 if not all of it, or a negative errno. */
static int send_frame(struct soft_conn *conn)
{
	struct soft_handshake *hs = conn->hs;
	struct iovec iov;
	ssize_t n;

	while (hs->out_sent < hs->out_size) {
		iov = (struct iovec){ .iov_base = hs->out + hs->out_sent,
				      .iov_len = hs->out_size - hs->out_sent };
		n = conn->link->class->send(conn->link, &iov, 1);
		if (n == -EAGAIN)
			return 0;
		if (n < 0)
			return (int)n;
		hs->out_sent += (size_t)n;
	}
	return 1;
}

/* 1 once a whole frame is in, 0 if not, -ENODATA if the peer ended, or a negative errno. Reads no
 * further. */
static int recv_frame(struct soft_conn *conn, bool reply)
{
	struct soft_handshake *hs = conn->hs;
	size_t want;
	struct iovec iov;
	ssize_t n;
	int size;

	for (;;) {
		size = soft_mpa_frame_size(hs->in, hs->in_have, reply);
		if (size < 0)
			return size;
		if (size && hs->in_have == (size_t)size)
			return 1;
		want = size ? (size_t)size : sizeof(struct wire_mpa_frame);
		iov = (struct iovec){ .iov_base = hs->in + hs->in_have,
				      .iov_len = want - hs->in_have };
		n = conn->link->class->recv(conn->link, &iov, 1);
		if (n == -EAGAIN)
			return 0;
		if (n <= 0)
			return n ? (int)n : -ENODATA;
		/* Half a frame must become a whole one in time; a program may take any time to
		 * answer. */
		if (!hs->in_have && conn->active)
			soft_link_timeout(conn->link, handshake_ms(conn->dev));
		hs->in_have += (size_t)n;
	}
}

static uint16_t depth(uint32_t reads)
{
	return (uint16_t)(reads < SOFT_MPA_NO_DEPTH ? reads : SOFT_MPA_NO_DEPTH - 1);
}

/* Reads we may have in flight: what our side asked for and what the peer accepts (EP-77). */
static uint32_t limited(uint32_t own, const struct soft_conn *conn)
{
	if (!conn->enhanced || conn->peer_ird == SOFT_MPA_NO_DEPTH)
		return own;
	return own < conn->peer_ird ? own : conn->peer_ird;
}

/* Reads that our side may have in flight, those that prove what it sent included. */
static uint32_t wanted_out(const struct soft_qp *qp)
{
	return qp->delayed_ack && !qp->max_read_out ? 1 : qp->max_read_out;
}

static uint32_t prove_depth(const struct soft_conn *conn)
{
	uint32_t reads = limited(wanted_out(conn->qp), conn);

	if (!conn->qp->delayed_ack)
		return 0;
	if (!reads)
		dapl_trace_limited(
			soft_no_proof, DAPL_TRC_ERROR, conn,
			"ia=%s no delayed acknowledgement, since the peer answers no reads",
			conn->dev->name);
	return reads;
}

/* ---- Outcomes of the active side ---- */

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
		return TP_CONN_UNREACHABLE;
	default:
		return TP_CONN_REFUSED;
	}
}

static void attempt_failed(struct soft_conn *conn, int err)
{
	const char *why = conn->link ? conn->link->why : NULL;
	char to[SOFT_ADDR_TEXT];

	soft_addr_text(&conn->remote_wanted, conn->remote_qual_wanted, to);
	if (err == -EPROTO && !why)
		dapl_err("%s: connecting to %s: the peer does not answer in MPA", conn->dev->name,
			 to);
	else
		dapl_trace(soft_connect_failed, DAPL_TRC_ERROR, conn, "ia=%s peer=%s why=%s",
			   conn->dev->name, to,
			   why ? why : dapl_strerror(err == -ENODATA ? ECONNREFUSED : -err));
	soft_conn_end(conn);
	soft_conn_report(conn, failure(err), err, NULL, 0);
}

/* Whether we ask for a CRC. */
static bool want_crc(const struct soft_conn *conn)
{
	return conn->dev->config->crc && !conn->link->class->checked;
}

static void build_request(struct soft_conn *conn, const void *data, uint32_t len)
{
	struct soft_mpa_frame frame = {
		.revision = conn->revision,
		.crc = want_crc(conn),
		.data = data,
		.len = (uint16_t)len,
	};

	if (conn->revision >= 2) {
		frame.enhanced = frame.p2p = frame.rtr_write = frame.rtr_read = true;
		frame.ird = depth(conn->qp->max_read_in);
		frame.ord = depth(wanted_out(conn->qp));
	}
	conn->hs->out_size = soft_mpa_encode(conn->hs->out, &frame);
	conn->hs->out_sent = 0;
}

static int start_on(struct soft_conn *conn, const struct soft_link_class *class)
{
	return class->connect(conn->dev, &conn->dev->addr, (struct sockaddr *)&conn->remote_wanted,
			      conn->remote_qual_wanted, &conn->link);
}

/* The peer has no shared memory for us: TCP it is. */
static void leave_shm(struct soft_conn *conn)
{
	conn->tcp_only = true;
	soft_link_destroy(conn->link, true);
	conn->link = NULL;
}

/* Starts the link; the outcome shows when it is ready. */
static int start_link(struct soft_conn *conn)
{
	int64_t choice = conn->dev->config->link;
	int rc = -ECONNREFUSED;

	if (choice != SOFT_LINK_TCP && !conn->tcp_only)
		rc = start_on(conn, &soft_link_shm);
	if (choice == SOFT_LINK_AUTO && !rc && conn->link->start_err)
		leave_shm(conn);
	if (choice != SOFT_LINK_SHM && !conn->link)
		rc = start_on(conn, &soft_link_tcp);
	if (rc)
		return rc;
	conn->link->owner = conn;
	conn->link->ready = soft_cm_ready;
	conn->link->expired = soft_cm_expired;
	conn->state = SOFT_CONN_CONNECTING;
	take_names(conn);
	return 0;
}

/* Once more, with the same request. */
static void start_again(struct soft_conn *conn)
{
	struct soft_mpa_frame frame;
	int rc;

	soft_mpa_decode(conn->hs->out, conn->hs->out_size, false, &frame);
	memcpy(conn->hs->in, frame.data, frame.len);
	rc = start_link(conn);
	if (!rc) {
		build_request(conn, conn->hs->in, frame.len);
		conn->hs->in_have = 0;
		rc = soft_link_watch(conn->link, EPOLLOUT | EPOLLONESHOT);
	}
	if (rc)
		attempt_failed(conn, rc);
}

/* A peer that knows revision 1 only closes on a request of revision 2 (RFC 6581 section 10): once
 * more. */
static void fall_back(struct soft_conn *conn)
{
	conn->revision = 1;
	soft_link_destroy(conn->link, false);
	conn->link = NULL;
	start_again(conn);
}

/* ---- The reply ---- */

static void rejected(struct soft_conn *conn, const struct soft_mpa_frame *reply)
{
	soft_conn_end(conn);
	soft_conn_report(conn, TP_CONN_REJECTED, -ECONNREFUSED, reply->data, reply->len);
}

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
static void negotiation_failed(struct soft_conn *conn, uint8_t code)
{
	soft_conn_bind(conn);
	conn->state = SOFT_CONN_LIVE;
	soft_conn_refuse(conn, (struct soft_error){ WIRE_LAYER_MPA, 0, code }, NULL, NULL);
	attempt_failed(conn, -EPROTO);
}

enum {
	NUDGES = 2,
	NUDGE_MS = 500, /* the first; the other one four times as much after it */
};

/*
 * soft-iWARP of Linux 6.1 misses a ready-to-receive message that comes in the moment in which it
 * has replied, until more comes; its program hears of no connection and says nothing. As long as
 * nothing comes from the peer it is told again, by an RDMA Write of no bytes.
 */
static void nudge(struct soft_link *link)
{
	struct soft_conn *conn = link->owner;
	struct soft_qp *qp = conn->qp;
	bool silent;

	pthread_mutex_lock(&qp->rx_lock);
	silent = conn->rx.waiting_first;
	soft_qp_rx_unlock(qp);
	if (!silent || soft_conn_dead(conn))
		return;
	pthread_mutex_lock(&qp->tx_lock);
	if (!conn->tx.rtr)
		conn->tx.rtr = 1 + WIRE_OP_WRITE;
	soft_qp_tx_unlock(qp);
	soft_qp_tx_kick(qp);
	if (++conn->nudges < NUDGES)
		soft_link_timeout(link, NUDGE_MS << (2 * conn->nudges));
}

static void reply_accepted(struct soft_conn *conn, const struct soft_mpa_frame *reply)
{
	uint32_t ird = conn->qp->max_read_in;
	int rc;

	conn->enhanced = reply->enhanced;
	conn->crc = want_crc(conn) || reply->crc;
	conn->markers = reply->markers;
	conn->peer_ird = reply->ird;
	/* The responder's depth may not exceed what we said, but if it does we can follow. */
	if (reply->enhanced && reply->ord != SOFT_MPA_NO_DEPTH && reply->ord > ird)
		ird = reply->ord;
	rc = soft_tx_init(conn, ird, limited(conn->qp->max_read_out, conn), prove_depth(conn));
	if (rc) {
		attempt_failed(conn, rc);
		return;
	}
	if (ird > SOFT_MAX_READS) {
		negotiation_failed(conn, WIRE_MPA_ERR_IRD);
		return;
	}
	conn->tx.rtr = reply->p2p ? choose_rtr(reply) : 0;
	if (reply->p2p && !conn->tx.rtr) {
		negotiation_failed(conn, WIRE_MPA_ERR_RTR);
		return;
	}
	soft_link_timeout(conn->link, 0);
	if (conn->tx.rtr && !conn->link->class->checked) {
		conn->rx.waiting_first = true;
		conn->link->expired = nudge;
		soft_link_timeout(conn->link, NUDGE_MS);
	}
	conn->state = SOFT_CONN_LIVE;
	soft_conn_bind(conn);
	soft_qp_tx_kick(conn->qp);
	soft_conn_report(conn, TP_CONN_ESTABLISHED, 0, reply->data, reply->len);
	if (conn->state == SOFT_CONN_LIVE)
		open_conn(conn);
}

static void requesting(struct soft_conn *conn)
{
	struct soft_mpa_frame reply;
	int rc = send_frame(conn);

	if (rc >= 0)
		rc = recv_frame(conn, true);
	if (rc > 0) {
		rc = soft_mpa_decode(conn->hs->in, conn->hs->in_have, true, &reply);
		if (rc || reply.revision > conn->revision || (reply.enhanced && conn->revision < 2))
			rc = -EPROTO;
		else if (reply.reject)
			rejected(conn, &reply);
		else
			reply_accepted(conn, &reply);
	} else if (rc == -ENODATA && conn->revision == 2 && !conn->hs->in_have) {
		fall_back(conn);
		return;
	} else if (!rc) {
		rc = soft_link_watch(conn->link, conn->hs->out_sent < conn->hs->out_size
							 ? EPOLLIN | EPOLLOUT
							 : EPOLLIN);
	}
	if (rc < 0)
		attempt_failed(conn, rc);
}

static void connecting(struct soft_conn *conn)
{
	int rc = conn->link->class->started(conn->link);

	if (rc && conn->dev->config->link == SOFT_LINK_AUTO && !conn->tcp_only &&
	    conn->link->class->checked) {
		leave_shm(conn);
		start_again(conn);
		return;
	}
	if (rc) {
		attempt_failed(conn, rc);
		return;
	}
	take_names(conn);
	conn->state = SOFT_CONN_REQUESTING;
	requesting(conn);
}

/* ---- The request ---- */

/* A connection of the listener whose request is awaited; NULL if there is no memory. */
static struct soft_conn *passive_alloc(struct soft_listener *listener)
{
	struct soft_conn *conn = conn_alloc(listener->dev);

	if (!conn)
		return NULL;
	conn->state = SOFT_CONN_HALF_OPEN;
	conn->listener = listener;
	soft_list_add(&listener->half_open, &conn->node);
	return conn;
}

static void passive_link(struct soft_conn *conn, struct soft_link *link)
{
	conn->link = link;
	link->owner = conn;
	link->ready = soft_cm_ready;
	link->expired = soft_cm_expired;
	conn->local_qual = conn->listener->base.conn_qual;
	take_names(conn);
}

static void refuse_request(struct soft_conn *conn)
{
	soft_conn_end(conn);
	soft_conn_release(conn);
}

static void take_request(struct soft_conn *conn, const struct soft_mpa_frame *frame)
{
	conn->revision = frame->revision;
	conn->enhanced = frame->enhanced;
	conn->p2p = frame->p2p;
	conn->crc = frame->crc || want_crc(conn);
	conn->markers = frame->markers;
	conn->peer_ird = frame->ird;
	conn->peer_ord = frame->ord;
	conn->rtr_offer = (frame->rtr_write ? 1 : 0) | (frame->rtr_read ? 2 : 0);
}

static void request_complete(struct soft_conn *conn)
{
	struct tp_conn_request request = { 0 };
	struct soft_dev *dev = conn->dev;
	struct soft_mpa_frame frame;
	void *owner = conn->listener->base.owner;

	if (soft_mpa_decode(conn->hs->in, conn->hs->in_have, false, &frame)) {
		refuse_request(conn);
		return;
	}
	take_request(conn, &frame);
	soft_link_timeout(conn->link, 0);
	/* Nothing is awaited until the program answers; one hang-up may be told of, and is ignored.
	 */
	soft_link_watch(conn->link, EPOLLONESHOT);
	conn->state = SOFT_CONN_REQUESTED;
	soft_list_del(&conn->node);
	conn->listener = NULL;
	soft_budget_leave(conn->link);
	request.private_data = frame.data;
	request.private_data_len = frame.len;
	/* A peer of revision 1 may send a few bytes more than we ever can (PD-7). */
	if (frame.len > WIRE_MPA_PD_CONSUMER) {
		request.private_data_len = WIRE_MPA_PD_CONSUMER;
		request.truncated = true;
	}
	if (dev->base.up->conn_request(owner, &conn->base, &request))
		refuse_request(conn);
}

static void half_open(struct soft_conn *conn)
{
	char text[2 * SOFT_ADDR_TEXT + 8];
	int rc = recv_frame(conn, false);

	if (rc > 0) {
		/* Only now do all links know. */
		take_names(conn);
		request_complete(conn);
	} else if (rc < 0) {
		dapl_trace_limited(soft_refused, DAPL_TRC_ERROR, conn, "ia=%s peer=%s why=%s",
				   conn->dev->name, soft_conn_text(conn, text),
				   conn->link->why  ? conn->link->why
				   : rc == -EPROTO  ? "what came is no MPA request"
				   : rc == -ENODATA ? "the peer ended before its MPA request"
						    : dapl_strerror(-rc));
		refuse_request(conn);
	}
}

bool soft_cm_room(struct soft_dev *dev)
{
	struct soft_link *link;
	struct soft_conn *conn;

	while (soft_budget_spent(dev, SOFT_BUDGET_HALF_OPEN)) {
		link = soft_budget_victim(&dev->budget[SOFT_BUDGET_HALF_OPEN], NULL);
		/* One that has had no time yet to send its request gets some. */
		if (!link || dapl_now() - link->since < GRACE_MS * 1000000ull)
			return false;
		conn = link->owner;
		soft_conn_hold(conn);
		/* Its request may just have come. */
		half_open(conn);
		if (conn->state == SOFT_CONN_HALF_OPEN) {
			char text[2 * SOFT_ADDR_TEXT + 8];

			dapl_trace_limited(soft_half_open, DAPL_TRC_ERROR, conn,
					   "ia=%s peer=%s refused, since it sent no request and "
					   "option half_open is reached",
					   dev->name, soft_conn_text(conn, text));
			refuse_request(conn);
		}
		soft_conn_drop(conn);
	}
	return true;
}

void soft_cm_half_open(struct soft_listener *listener, struct soft_link *link)
{
	struct soft_dev *dev = listener->dev;
	struct soft_conn *conn = passive_alloc(listener);

	if (!conn) {
		dapl_err_limited("%s: connection refused: %s", dev->name, dapl_strerror(ENOMEM));
		soft_link_destroy(link, true);
		return;
	}
	passive_link(conn, link);
	soft_link_timeout(link, handshake_ms(dev));
	if (soft_budget_enter(link, &dev->budget[SOFT_BUDGET_HALF_OPEN]) ||
	    soft_link_watch(link, EPOLLIN))
		refuse_request(conn);
}

int soft_cm_adopt(struct soft_listener *listener, const int *fds, int num, const uint8_t *frame,
		  size_t len)
{
	const struct soft_link_class *class = num == 1 ? &soft_link_tcp : &soft_link_shm;
	struct soft_conn *conn = passive_alloc(listener);
	struct soft_link *link;
	int rc = -ENOMEM;

	if (conn)
		rc = class->adopt(listener->dev, fds, num, (uint32_t)len, &link);
	if (rc) {
		dapl_err_limited("%s: request handed on from elsewhere not taken in: %s",
				 listener->dev->name, dapl_strerror(-rc));
		if (conn)
			refuse_request(conn);
		return rc;
	}
	passive_link(conn, link);
	/* As if it had arrived here (CR-20). */
	conn->local_qual = listener->base.conn_qual;
	memcpy(conn->hs->in, frame, len);
	conn->hs->in_have = len;
	request_complete(conn);
	return 0;
}

/* ---- Accepting ---- */

struct answer {
	struct soft_conn *conn;
	struct soft_qp *qp;
	void *owner;
	const void *data;
	uint32_t len;
};

static size_t build_reply(struct soft_conn *conn, const struct answer *answer, bool reject,
			  uint8_t *out)
{
	struct soft_mpa_frame frame = {
		.reply = true,
		.revision = conn->revision,
		.crc = conn->crc,
		.reject = reject,
		.enhanced = conn->enhanced,
		.p2p = conn->p2p,
		.data = answer->data,
		.len = (uint16_t)answer->len,
	};
	const struct soft_qp *qp = answer->qp;

	/* At least one option is named, offered or not (RFC 6581 section 9.2). */
	frame.rtr_write = (conn->rtr_offer & 1) || !conn->rtr_offer;
	frame.rtr_read = !frame.rtr_write;
	frame.ird = conn->peer_ord == SOFT_MPA_NO_DEPTH ? SOFT_MPA_NO_DEPTH
		    : qp				? depth(qp->max_read_in)
							: 0;
	frame.ord = conn->peer_ird == SOFT_MPA_NO_DEPTH ? SOFT_MPA_NO_DEPTH
		    : qp				? depth(limited(wanted_out(qp), conn))
							: 0;
	/* A ready-to-receive read needs a place (RFC 6581 section 9.1). */
	if (conn->p2p && frame.rtr_read && !frame.ird)
		frame.ird = 1;
	return soft_mpa_encode(out, &frame);
}

/* The reply is out. */
static void reply_sent(struct soft_conn *conn)
{
	if (conn->enhanced && conn->p2p) {
		conn->state = SOFT_CONN_AWAITING;
		soft_list_add(&conn->dev->awaiting, &conn->node);
		pthread_mutex_lock(&conn->qp->rx_lock);
		conn->rx.pause_first = conn->rx.open = true;
		soft_qp_rx_unlock(conn->qp);
		if (soft_link_watch(conn->link, EPOLLIN)) {
			soft_conn_lost(conn, -ENOMEM, TP_WC_FLUSHED);
			soft_conn_finish(conn);
		}
		return;
	}
	/* Without a ready-to-receive message: our requests wait for the peer's first FPDU. */
	soft_cm_established(conn);
}

static void accepting(struct soft_conn *conn)
{
	int rc = send_frame(conn);

	if (rc > 0) {
		reply_sent(conn);
	} else if (rc < 0) {
		soft_conn_lost(conn, rc, TP_WC_FLUSHED);
		soft_conn_finish(conn);
	}
}

static void awaiting(struct soft_conn *conn)
{
	soft_qp_progress(conn->qp, true);
	if (soft_conn_dead(conn)) {
		soft_conn_finish(conn);
	} else if (atomic_exchange(&conn->first_seen, false)) {
		soft_cm_established(conn);
	} else if (atomic_load(&conn->rx_stalled)) {
		/* It is there, but waits for a Receive. */
		pthread_mutex_lock(&conn->qp->rx_lock);
		conn->rx.pause_first = false;
		soft_qp_rx_unlock(conn->qp);
		soft_cm_established(conn);
	}
}

void soft_cm_confirm(struct soft_dev *dev)
{
	struct soft_list *node;
	struct soft_conn *conn;
	uint32_t num = 0;

	dev->confirming = true;
	for (node = dev->awaiting.next; node != &dev->awaiting; node = node->next)
		num++;
	/* Any of them may go meanwhile. */
	while (num-- && !soft_list_empty(&dev->awaiting)) {
		conn = soft_container(dev->awaiting.next, struct soft_conn, node);
		soft_list_del(&conn->node);
		soft_list_add(&dev->awaiting, &conn->node);
		soft_conn_hold(conn);
		awaiting(conn);
		soft_conn_drop(conn);
	}
	dev->confirming = false;
}

void soft_cm_established(struct soft_conn *conn)
{
	soft_link_timeout(conn->link, 0);
	soft_list_del(&conn->node);
	conn->state = SOFT_CONN_LIVE;
	soft_conn_report(conn, TP_CONN_ESTABLISHED, 0, NULL, 0);
	if (conn->state == SOFT_CONN_LIVE)
		open_conn(conn);
}

static int accept_on_loop(void *arg)
{
	struct answer *answer = arg;
	struct soft_conn *conn = answer->conn;
	uint32_t ird = answer->qp->max_read_in;
	int rc;

	conn->qp = answer->qp;
	rc = soft_tx_init(conn, ird ? ird : 1, limited(conn->qp->max_read_out, conn),
			  prove_depth(conn));
	if (rc) {
		dapl_err("%s: connection not accepted: %s", conn->dev->name, dapl_strerror(-rc));
		soft_tx_fini(conn);
		memset(&conn->tx, 0, sizeof(conn->tx));
		conn->qp = NULL;
		return rc;
	}
	conn->hs->out_size = build_reply(conn, answer, false, conn->hs->out);
	conn->hs->out_sent = 0;
	conn->base.owner = answer->owner;
	conn->rx.waiting_first = true;
	conn->tx.hold = true;
	soft_conn_bind(conn);
	conn->state = SOFT_CONN_ACCEPTING;
	soft_link_timeout(conn->link, handshake_ms(conn->dev));
	/* Even if the peer has gone the outcome comes by event. */
	soft_link_watch(conn->link, EPOLLOUT);
	return 0;
}

static int cm_accept(struct tp_conn *base, struct tp_qp *qp, const void *private_data, uint32_t len,
		     void *owner)
{
	struct answer answer = { soft_conn(base), soft_qp(qp), owner, private_data, len };

	return soft_dev_call(answer.conn->dev, accept_on_loop, &answer);
}

static int reject_on_loop(void *arg)
{
	struct answer *answer = arg;
	struct soft_conn *conn = answer->conn;
	uint8_t *out = malloc(WIRE_MPA_FRAME_MAX);
	size_t len;

	if (!out) {
		dapl_err("%s: connection not rejected: %s", conn->dev->name, dapl_strerror(ENOMEM));
		return -ENOMEM;
	}
	len = build_reply(conn, answer, true, out);
	soft_linger(conn->link, out, len, 0);
	conn->link = NULL;
	soft_conn_end(conn);
	soft_conn_release(conn);
	return 0;
}

static int cm_reject(struct tp_conn *base, const void *private_data, uint32_t len)
{
	struct answer answer = { soft_conn(base), NULL, NULL, private_data, len };

	return soft_dev_call(answer.conn->dev, reject_on_loop, &answer);
}

/* ---- Events of the link ---- */

void soft_cm_ready(struct soft_link *link, uint32_t events)
{
	struct soft_conn *conn = link->owner;

	(void)events;
	soft_conn_hold(conn);
	switch (conn->state) {
	case SOFT_CONN_CONNECTING:
		connecting(conn);
		break;
	case SOFT_CONN_REQUESTING:
		requesting(conn);
		break;
	case SOFT_CONN_HALF_OPEN:
		half_open(conn);
		break;
	case SOFT_CONN_ACCEPTING:
		accepting(conn);
		break;
	case SOFT_CONN_AWAITING:
		awaiting(conn);
		break;
	default:
		break;
	}
	soft_conn_drop(conn);
}

void soft_cm_expired(struct soft_link *link)
{
	struct soft_conn *conn = link->owner;
	char text[2 * SOFT_ADDR_TEXT + 8];

	dapl_trace_limited(soft_set_up_late, DAPL_TRC_ERROR, conn,
			   "ia=%s peer=%s set-up not finished in time (option handshake): ms=%u",
			   conn->dev->name, soft_conn_text(conn, text), handshake_ms(conn->dev));
	soft_conn_hold(conn);
	switch (conn->state) {
	case SOFT_CONN_HALF_OPEN:
		refuse_request(conn);
		break;
	case SOFT_CONN_REQUESTING:
		attempt_failed(conn, -ETIMEDOUT);
		break;
	case SOFT_CONN_ACCEPTING:
	case SOFT_CONN_AWAITING:
		soft_conn_lost(conn, -ETIMEDOUT, TP_WC_FLUSHED);
		soft_conn_finish(conn);
		break;
	default:
		break;
	}
	soft_conn_drop(conn);
}

/* ---- The program's calls ---- */

static int cm_connect(struct tp_qp *base, const struct tp_connect *param, void *owner,
		      struct tp_conn **out)
{
	struct soft_qp *qp = soft_qp(base);
	struct soft_dev *dev = qp->dev;
	struct soft_conn *conn = conn_alloc(dev);
	char to[SOFT_ADDR_TEXT];
	int rc = -ENOMEM;

	soft_addr_text(param->remote, param->conn_qual, to);
	if (!conn)
		goto explain;
	conn->active = true;
	conn->qp = qp;
	conn->base.owner = owner;
	conn->revision = (uint8_t)conn->dev->config->mpa_revision;
	/* Nobody listens on what TCP cannot express, nor on 0: port 0 gives the same answer. */
	conn->remote_qual_wanted = param->conn_qual > UINT16_MAX ? 0 : param->conn_qual;
	conn->remote_qual = param->conn_qual;
	soft_addr_copy(&conn->remote_wanted, param->remote);
	conn->remote = conn->remote_wanted;
	rc = start_link(conn);
	if (rc)
		goto failed;
	build_request(conn, param->private_data, param->private_data_len);
	*out = &conn->base;
	rc = soft_link_watch(conn->link, EPOLLOUT | EPOLLONESHOT);
	if (!rc)
		return 0;
	soft_link_destroy(conn->link, true);
failed:
	conn->qp = NULL;
	soft_conn_release(conn);
explain:
	dapl_err("%s: not connecting to %s: %s", dev->name, to, dapl_port_strerror(-rc));
	return rc;
}

struct disconnect {
	struct soft_conn *conn;
	bool graceful;
};

static int disconnect_on_loop(void *arg)
{
	struct disconnect *disconnect = arg;
	struct soft_conn *conn = disconnect->conn;
	struct soft_qp *qp = conn->qp;

	if (conn->state == SOFT_CONN_ENDED)
		return 0;
	if (!disconnect->graceful || conn->state != SOFT_CONN_LIVE) {
		conn->reported = true;
		soft_conn_end(conn);
		return 0;
	}
	pthread_mutex_lock(&qp->tx_lock);
	conn->draining = true;
	soft_qp_send_done(qp);
	soft_qp_tx_unlock(qp);
	return 0;
}

static void cm_disconnect(struct tp_conn *base, bool graceful)
{
	struct disconnect disconnect = { soft_conn(base), graceful };

	soft_dev_call(disconnect.conn->dev, disconnect_on_loop, &disconnect);
}

static int release_on_loop(void *arg)
{
	struct soft_conn *conn = arg;

	conn->reported = true;
	soft_conn_end(conn);
	soft_conn_release(conn);
	return 0;
}

static void cm_release(struct tp_conn *base)
{
	struct soft_conn *conn = soft_conn(base);

	soft_dev_call(conn->dev, release_on_loop, conn);
}

static void cm_addr(struct tp_conn *base, struct tp_conn_addr *addr)
{
	struct soft_conn *conn = soft_conn(base);

	pthread_mutex_lock(&conn->lock);
	addr->remote = conn->remote;
	addr->local_qual = conn->local_qual;
	addr->remote_qual = conn->remote_qual;
	pthread_mutex_unlock(&conn->lock);
}

const struct dapl_cm_ops soft_cm_ops = {
	.listen = soft_listen,
	.unlisten = soft_unlisten,
	.connect = cm_connect,
	.accept = cm_accept,
	.reject = cm_reject,
	.handoff = soft_handoff,
	.disconnect = cm_disconnect,
	.release = cm_release,
	.addr = cm_addr,
};
