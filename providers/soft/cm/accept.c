/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/soft/cm/accept.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "providers/soft/base/addr.h"
#include "providers/soft/cm/budget.h"
#include "providers/soft/cm/cm.h"
#include "providers/soft/cm/listener.h"
#include "providers/soft/cm/setup.h"
#include "providers/soft/cm/ud.h"
#include "providers/soft/base/device.h"
#include "providers/soft/engine/conn.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/link/link.h"
#include "trace/log.h"

enum {
	GRACE_MS = 250,
	MESSAGE_BURST = 1 << 20, /* bytes of one message at a time: others wait meanwhile */
};

static void accept_ready(struct soft_link *link, uint32_t events);
static void accept_expired(struct soft_link *link);

/* ---- The request ---- */

/* A connection of the listener whose request is awaited; NULL if there is no memory. */
static struct soft_conn *passive_alloc(struct soft_listener *listener)
{
	struct soft_conn *conn = soft_setup_alloc(listener->dev, SOFT_CONN_HALF_OPEN);

	if (!conn)
		return NULL;
	conn->setup->listener = listener;
	list_add(&listener->half_open, &conn->node);
	return conn;
}

/* No request comes: of a socket of the program, that is all its listener waits for. */
static void refuse(struct soft_conn *conn)
{
	struct soft_listener *listener = conn->setup->listener;

	soft_conn_discard(conn, SOFT_CAUSE_FAILED);
	if (listener->by_socket)
		listener->dev->base.up->listener_over(listener->base.owner);
}

static const char *reason(const struct soft_conn *conn, int err)
{
	if (conn->link->why)
		return conn->link->why;
	if (err == -EPROTO)
		return "what came is no MPA request";
	if (err == -ETIMEDOUT)
		return "no MPA request in time (option handshake)";
	return err == -ENODATA ? "the peer ended before its MPA request" : dapl_strerror(-err);
}

/* Of a listener any peer can be the one: only that of a socket fails a connection of the program. */
static void say_refused(struct soft_conn *conn, int err)
{
	char text[2 * SOFT_ADDR_TEXT + 8];

	if (conn->setup->listener->by_socket)
		dapl_err_limited("%s: no request over socket %s: %s", conn->dev->name,
				 soft_conn_text(conn, text), reason(conn, err));
	else
		dapl_trace_limited(soft_refused, DAPL_TRC_ERROR, conn, "ia=%s peer=%s why=%s",
				   conn->dev->name, soft_conn_text(conn, text), reason(conn, err));
}

static void take_request(struct soft_conn *conn, const struct soft_mpa_frame *frame)
{
	struct soft_setup *setup = conn->setup;

	soft_setup_crc(conn, frame->crc);
	conn->markers = frame->markers;
	conn->large = frame->large && soft_setup_wants_large(conn);
	setup->revision = frame->revision;
	setup->enhanced = frame->enhanced;
	setup->p2p = frame->p2p;
	setup->peer_ird = frame->ird;
	setup->peer_ord = frame->ord;
	setup->offers_write = frame->rtr_write;
	setup->offers_read = frame->rtr_read;
}

static void request_complete(struct soft_conn *conn)
{
	struct tp_conn_request request = { 0 };
	struct soft_setup *setup = conn->setup;
	struct soft_listener *listener = setup->listener;
	struct soft_mpa_frame frame;
	int rc;

	rc = soft_mpa_decode(setup->in, setup->in_have, false, &frame);
	if (rc) {
		say_refused(conn, rc);
		refuse(conn);
		return;
	}
	take_request(conn, &frame);
	soft_link_timeout(conn->link, 0);
	/* Nothing is awaited until the program answers; one hang-up may be told of, and is ignored.
	 */
	soft_link_watch(conn->link, EPOLLONESHOT);
	soft_conn_take(conn, SOFT_CAUSE_REQUEST);
	list_del(&conn->node);
	setup->listener = NULL;
	soft_budget_leave(conn->link);
	request.private_data = frame.data;
	request.private_data_len = frame.len;
	/* A peer of revision 1 may send a few bytes more than we ever can (PD-7). */
	if (frame.len > WIRE_MPA_PD_CONSUMER) {
		request.private_data_len = WIRE_MPA_PD_CONSUMER;
		request.truncated = true;
	}
	/* Unless that fails the listener may be gone afterwards. */
	rc = conn->dev->base.up->conn_request(listener->base.owner, &conn->base, &request);
	if (!rc)
		return;
	setup->listener = listener;
	refuse(conn);
}

/* 1 once all that goes before the request is out, 0 if not, or a negative errno. */
static int send_message(struct soft_conn *conn)
{
	struct soft_listener *listener = conn->setup->listener;
	size_t end = listener->message_len;
	int rc;

	if (end - listener->message_sent > MESSAGE_BURST)
		end = listener->message_sent + MESSAGE_BURST;
	rc = soft_link_send_all(conn->link, listener->message, end, &listener->message_sent);
	return rc > 0 && end < listener->message_len ? 0 : rc;
}

/* 1 once the request is here, 0 if it is awaited, or a negative errno. */
static int recv_request(struct soft_conn *conn)
{
	int rc = soft_setup_recv(conn, false);

	return rc ? rc : soft_link_watch(conn->link, EPOLLIN);
}

static void half_open(struct soft_conn *conn)
{
	int rc = send_message(conn);

	if (rc > 0)
		rc = recv_request(conn);
	if (rc > 0) {
		if (!conn->remote.ss_family) /* not all links know before */
			soft_setup_names(conn);
		request_complete(conn);
	} else if (rc < 0) {
		say_refused(conn, rc);
		refuse(conn);
	}
}

bool soft_accept_room(struct soft_dev *dev)
{
	char text[2 * SOFT_ADDR_TEXT + 8];
	struct soft_link *link;
	struct soft_conn *conn;

	while (soft_budget_exceeded(dev, SOFT_BUDGET_HALF_OPEN)) {
		link = soft_budget_victim(&dev->cm->budget[SOFT_BUDGET_HALF_OPEN], NULL);
		/* Those of other adapters do not keep it from its first. */
		if (!link)
			return true;
		/* One that has had no time yet to send its request gets some. */
		if (dapl_now() - soft_budget_since(link) < GRACE_MS * 1000000ull)
			return false;
		conn = link->owner;
		soft_conn_hold(conn);
		/* Its request may just have come. */
		half_open(conn);
		if (conn->state == SOFT_CONN_HALF_OPEN) {
			dapl_trace_limited(soft_half_open, DAPL_TRC_ERROR, conn,
					   "ia=%s peer=%s refused, since it sent no request and "
					   "option half_open is reached",
					   dev->name, soft_conn_text(conn, text));
			soft_conn_discard(conn, SOFT_CAUSE_FAILED);
		}
		soft_conn_drop(conn);
	}
	return true;
}

void soft_accept_link(struct soft_listener *listener, struct soft_link *link)
{
	struct soft_dev *dev = listener->dev;
	struct soft_conn *conn = passive_alloc(listener);

	if (!conn) {
		dapl_err_limited("%s: connection refused: %s", dev->name, dapl_strerror(ENOMEM));
		soft_link_destroy(link, true);
		return;
	}
	conn->local_qual = listener->base.conn_qual;
	soft_setup_link(conn, link, accept_ready, accept_expired);
	soft_setup_timeout(conn);
	if (soft_budget_enter(link, &dev->cm->budget[SOFT_BUDGET_HALF_OPEN], &conn->remote)) {
		soft_conn_discard(conn, SOFT_CAUSE_FAILED);
		return;
	}
	soft_conn_hold(conn);
	half_open(conn); /* within a host the request is here as a rule */
	soft_conn_drop(conn);
}

int soft_accept_socket(struct soft_listener *listener, struct soft_link *link)
{
	struct soft_conn *conn = passive_alloc(listener);
	int rc = conn ? soft_link_watch(link, EPOLLOUT) : -ENOMEM;

	if (rc) {
		soft_link_destroy(link, false);
		if (conn)
			soft_conn_discard(conn, SOFT_CAUSE_FAILED);
		return rc;
	}
	soft_setup_link(conn, link, accept_ready, accept_expired);
	conn->link_why = "the program's socket";
	listener->base.conn_qual = conn->local_qual;
	soft_link_take(link);
	soft_setup_timeout(conn);
	return 0;
}

int soft_accept_adopt(struct soft_listener *listener, const int *fds, int num, const uint8_t *frame,
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
			soft_conn_discard(conn, SOFT_CAUSE_FAILED);
		return rc;
	}
	soft_setup_link(conn, link, accept_ready, accept_expired);
	/* As if it had arrived here (CR-20). */
	conn->local_qual = listener->base.conn_qual;
	memcpy(conn->setup->in, frame, len);
	conn->setup->in_have = len;
	request_complete(conn);
	return 0;
}

void soft_accept_stop(struct soft_listener *listener)
{
	while (!list_empty(&listener->half_open))
		soft_conn_discard(container_of(listener->half_open.next, struct soft_conn, node),
				  SOFT_CAUSE_FAILED);
}

/* ---- The reply ---- */

struct answer {
	struct soft_conn *conn;
	struct soft_qp *qp;
	void *owner;
	const void *data;
	uint32_t len;
};

static void build_reply(const struct answer *answer)
{
	struct soft_conn *conn = answer->conn;
	const struct soft_setup *setup = conn->setup;
	const struct soft_qp *qp = answer->qp;
	struct soft_mpa_frame frame = {
		.reply = true,
		.revision = setup->revision,
		.crc = conn->crc,
		.large = conn->large,
		.reject = !qp,
		.enhanced = setup->enhanced,
		.p2p = setup->p2p,
		.data = answer->data,
		.len = (uint16_t)answer->len,
		/* At least one option is named, offered or not (RFC 6581 section 9.2). */
		.rtr_write = setup->offers_write || !setup->offers_read,
		.ird = SOFT_MPA_NO_DEPTH,
		.ord = SOFT_MPA_NO_DEPTH,
	};

	frame.rtr_read = !frame.rtr_write;
	if (setup->peer_ord != SOFT_MPA_NO_DEPTH)
		frame.ird = qp ? soft_setup_depth(qp->max_read_in) : 0;
	if (setup->peer_ird != SOFT_MPA_NO_DEPTH)
		frame.ord =
			qp ? soft_setup_depth(soft_setup_limit(conn, soft_setup_reads_out(qp))) : 0;
	/* A ready-to-receive read needs a place (RFC 6581 section 9.1). */
	if (setup->p2p && frame.rtr_read && !frame.ird)
		frame.ird = 1;
	soft_setup_build(conn, &frame);
}

static void accept_failed(struct soft_conn *conn, int err)
{
	soft_conn_lost(conn, err, TP_WC_FLUSHED);
	soft_conn_finish(conn, SOFT_CAUSE_FAILED);
}

static void established(struct soft_conn *conn, enum soft_conn_cause cause)
{
	soft_link_timeout(conn->link, 0);
	list_del(&conn->node);
	soft_setup_done(conn, cause, NULL, 0);
}

static bool awaits_rtr(const struct soft_conn *conn)
{
	return conn->setup->enhanced && conn->setup->p2p;
}

static int await_rtr(struct soft_conn *conn)
{
	soft_conn_take(conn, SOFT_CAUSE_REPLIED_CONFIRM);
	list_add(&conn->dev->cm->awaiting, &conn->node);
	soft_conn_await_first(conn);
	return soft_link_watch(conn->link, EPOLLIN);
}

static void accepting(struct soft_conn *conn)
{
	int rc = conn->setup->err ? conn->setup->err : soft_setup_send(conn);

	if (rc < 0) {
		accept_failed(conn, rc);
	} else if (rc > 0 && awaits_rtr(conn)) {
		rc = await_rtr(conn);
		if (rc)
			accept_failed(conn, rc);
	} else if (rc > 0) {
		/* Without a ready-to-receive message: our requests wait for the peer's first FPDU.
		 */
		established(conn, SOFT_CAUSE_REPLIED);
	}
}

static void awaiting(struct soft_conn *conn)
{
	bool here = soft_conn_first_here(conn);

	if (soft_conn_dead(conn))
		soft_conn_finish(conn, SOFT_CAUSE_OVER);
	else if (here)
		established(conn, SOFT_CAUSE_CONFIRMED);
}

void soft_accept_confirmed(struct soft_conn *conn)
{
	if (conn->state == SOFT_CONN_AWAITING)
		established(conn, SOFT_CAUSE_CONFIRMED);
}

void soft_accept_confirm_all(struct soft_dev *dev)
{
	struct list *list = &dev->cm->awaiting;
	struct soft_conn *conn;
	uint32_t num = 0;

	dev->cm->confirming = true;
	list_for_each(conn, list, node)
		num++;
	/* Any of them may go meanwhile. */
	while (num-- && !list_empty(list)) {
		conn = container_of(list->next, struct soft_conn, node);
		list_del(&conn->node);
		list_add(list, &conn->node);
		soft_conn_hold(conn);
		awaiting(conn);
		soft_conn_drop(conn);
	}
	dev->cm->confirming = false;
}

/* ---- Events ---- */

static void accept_ready(struct soft_link *link, uint32_t events)
{
	struct soft_conn *conn = link->owner;

	soft_conn_hold(conn);
	if (conn->state == SOFT_CONN_HALF_OPEN)
		half_open(conn);
	else if (conn->state == SOFT_CONN_ACCEPTING)
		accepting(conn);
	else if (conn->state == SOFT_CONN_AWAITING)
		awaiting(conn);
	soft_conn_drop(conn);
}

static void accept_expired(struct soft_link *link)
{
	struct soft_conn *conn = link->owner;
	bool by_socket = conn->state == SOFT_CONN_HALF_OPEN && conn->setup->listener->by_socket;
	int err = conn->setup->err;

	if (by_socket)
		say_refused(conn, -ETIMEDOUT);
	else if (!err)
		soft_setup_late(conn);
	soft_conn_hold(conn);
	if (conn->state == SOFT_CONN_HALF_OPEN)
		refuse(conn);
	else
		accept_failed(conn, err ? err : -ETIMEDOUT);
	soft_conn_drop(conn);
}

/* ---- The program's answer ---- */

/* What the core has to be told comes by event, also that the peer has gone; a failure by timer. */
static int reply(struct soft_conn *conn)
{
	int rc = soft_setup_send(conn);

	if (rc < 0)
		return rc;
	if (rc && awaits_rtr(conn))
		return await_rtr(conn);
	return soft_link_watch(conn->link, EPOLLOUT);
}

static int accept_on_loop(void *arg)
{
	struct answer *answer = arg;
	struct soft_conn *conn = answer->conn;
	uint32_t ird = answer->qp->max_read_in;
	int rc;

	conn->qp = answer->qp;
	rc = soft_setup_tx(conn, ird ? ird : 1);
	if (rc) {
		dapl_err("%s: connection not accepted: %s", conn->dev->name, dapl_strerror(-rc));
		soft_tx_fini(conn);
		memset(&conn->tx, 0, sizeof(conn->tx));
		conn->qp = NULL;
		return rc;
	}
	build_reply(answer);
	conn->base.owner = answer->owner;
	conn->rx.waiting_first = true;
	conn->tx.hold = true;
	soft_conn_bind(conn);
	soft_conn_take(conn, SOFT_CAUSE_ACCEPT);
	soft_setup_timeout(conn);
	rc = reply(conn);
	if (rc) {
		conn->setup->err = rc;
		soft_link_timeout(conn->link, 1);
	}
	return 0;
}

int soft_accept(struct tp_conn *base, struct tp_qp *qp, const void *private_data, uint32_t len,
		void *owner)
{
	struct answer answer = { soft_conn(base), soft_qp(qp), owner, private_data, len };

	if (soft_is_ud(base))
		return soft_ud_accept(base, qp, private_data, len, owner);
	return soft_dev_call(answer.conn->dev, accept_on_loop, &answer);
}

static int reject_on_loop(void *arg)
{
	struct answer *answer = arg;
	struct soft_conn *conn = answer->conn;

	build_reply(answer);
	conn->rest.owed = true;
	conn->rest.part[0] =
		(struct iovec){ .iov_base = conn->setup->out, .iov_len = conn->setup->out_size };
	soft_conn_discard(conn, SOFT_CAUSE_REJECT);
	return 0;
}

int soft_reject(struct tp_conn *base, const void *private_data, uint32_t len)
{
	struct answer answer = { soft_conn(base), NULL, NULL, private_data, len };

	if (soft_is_ud(base))
		return soft_ud_reject(base, private_data, len);
	return soft_dev_call(answer.conn->dev, reject_on_loop, &answer);
}
