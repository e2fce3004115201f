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

/* ---- Life ---- */

struct soft_conn *soft_conn_alloc(struct soft_dev *dev)
{
	struct soft_conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		return NULL;
	conn->hs = calloc(1, sizeof(*conn->hs));
	if (!conn->hs) {
		free(conn);
		return NULL;
	}
	conn->base.dev = &dev->base;
	conn->dev = dev;
	conn->task.run = soft_conn_task;
	soft_list_init(&conn->node);
	soft_list_init(&conn->left_node);
	pthread_mutex_init(&conn->lock, NULL);
	soft_rx_init(conn);
	return conn;
}

static void conn_free(struct soft_conn *conn)
{
	dapl_loop_cancel(conn->base.dev->loop, &conn->task);
	soft_rx_fini(conn);
	soft_tx_fini(conn);
	pthread_mutex_destroy(&conn->lock);
	free(conn->hs);
	free(conn);
}

void soft_conn_hold(struct soft_conn *conn)
{
	conn->refs++;
}

void soft_conn_drop(struct soft_conn *conn)
{
	if (!--conn->refs && conn->released)
		conn_free(conn);
}

void soft_conn_release(struct soft_conn *conn)
{
	conn->released = true;
	if (!conn->refs)
		conn_free(conn);
}

const char *soft_conn_text(struct soft_conn *conn, char buf[2 * SOFT_ADDR_TEXT + 8])
{
	char local[SOFT_ADDR_TEXT], remote[SOFT_ADDR_TEXT];

	pthread_mutex_lock(&conn->lock);
	soft_addr_text(&conn->local, conn->local_qual, local);
	soft_addr_text(&conn->remote, conn->remote_qual, remote);
	pthread_mutex_unlock(&conn->lock);
	snprintf(buf, 2 * SOFT_ADDR_TEXT + 8, "%s - %s", local, remote);
	return buf;
}

/* ---- Faults ---- */

void soft_conn_fail(struct soft_conn *conn, const struct soft_fault *fault)
{
	bool first;

	pthread_mutex_lock(&conn->lock);
	first = !soft_conn_dead(conn);
	if (first) {
		conn->fault = *fault;
		atomic_store_explicit(&conn->dead, true, memory_order_release);
	}
	pthread_mutex_unlock(&conn->lock);
	if (!first)
		return;
	soft_count_fault(conn->dev, fault);
	dapl_loop_post(conn->base.dev->loop, &conn->task);
}

void soft_conn_refuse(struct soft_conn *conn, struct soft_error error, const struct soft_ddp *ddp,
		      const char *why)
{
	struct soft_fault fault = {
		.event = TP_CONN_BROKEN,
		.err = -EPROTO,
		.terminate = true,
		.recv_status = TP_WC_FLUSHED,
		.term = { .error = error },
		.transport = error.layer == WIRE_LAYER_MPA,
		.why = why,
	};

	if (ddp) {
		fault.term.has_ddp = true;
		fault.term.ddp = *ddp;
	}
	soft_conn_fail(conn, &fault);
}

void soft_conn_lost(struct soft_conn *conn, int err, uint32_t recv_status)
{
	struct soft_fault fault = {
		.event = err ? TP_CONN_BROKEN : TP_CONN_DISCONNECTED,
		.err = err,
		.recv_status = recv_status,
		.transport = err,
	};

	soft_conn_fail(conn, &fault);
}

int soft_conn_stream_error(struct soft_conn *conn)
{
	int err;

	pthread_mutex_lock(&conn->qp->tx_lock);
	err = conn->tx_err;
	pthread_mutex_unlock(&conn->qp->tx_lock);
	/* EPIPE: the peer had ended in order before it refused what we sent. */
	return err == -EPIPE ? 0 : err;
}

/* ---- Data phase ---- */

void soft_conn_bind(struct soft_conn *conn)
{
	struct soft_qp *qp = conn->qp;

	pthread_mutex_lock(&qp->rx_lock);
	pthread_mutex_lock(&qp->tx_lock);
	conn->rx.crc = conn->crc;
	qp->conn = conn;
	atomic_store(&qp->stream, atomic_fetch_add(&conn->dev->streams, 1) + 1);
	atomic_store(&qp->tx_stalled, false);
	atomic_store(&qp->rx_starved, false);
	atomic_store(&qp->state, SOFT_QP_LIVE);
	soft_qp_tx_unlock(qp);
	soft_qp_rx_unlock(qp);
}

static void attach(struct soft_conn *conn)
{
	struct soft_qp *qp = conn->qp;

	conn->member[0].cq = qp->recv_cq;
	if (qp->send_cq != qp->recv_cq)
		conn->member[1].cq = qp->send_cq;
	pthread_mutex_lock(&conn->lock);
	conn->attached = true;
	pthread_mutex_unlock(&conn->lock);
	for (int i = 0; i < 2; i++) {
		conn->member[i].conn = conn;
		if (!conn->member[i].cq)
			continue;
		conn->member[i].seen = atomic_load(&conn->member[i].cq->activity);
		soft_cq_attach(&conn->member[i]);
	}
}

void soft_conn_open(struct soft_conn *conn)
{
	struct soft_dev *dev = conn->dev;
	struct soft_qp *qp = conn->qp;

	free(conn->hs);
	conn->hs = NULL;
	pthread_mutex_lock(&qp->rx_lock);
	conn->rx.open = true;
	soft_qp_rx_unlock(qp);
	conn->link->ready = soft_progress_ready;
	soft_list_add(&dev->conns, &conn->node);
	attach(conn);
	if (!dev->pulsing)
		soft_progress_pulse(&dev->pulse);
	soft_progress_serve(conn);
}

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

/*
 * Parts QP and connection; both locks held. What can no longer be had of an FPDU that is partly out
 * stays out: the peer gets what was sent before it, and an end within an FPDU.
 */
static void part(struct soft_conn *conn, struct soft_qp *qp, uint8_t **out, size_t *len)
{
	bool dead = soft_conn_dead(conn);
	uint32_t recv_status = dead ? conn->fault.recv_status : TP_WC_FLUSHED;
	struct soft_sqe *oldest;

	if (qp->conn == conn && (!dead || conn->fault.terminate))
		soft_tx_epilogue(conn, out, len);
	if (qp->conn == conn && dead && conn->fault.transport &&
	    atomic_load(&qp->sq.head) != atomic_load(&qp->sq.tail)) {
		soft_qp_send_done(qp);
		oldest = soft_sqe(qp, atomic_load(&qp->sq.head));
		if (atomic_load(&qp->sq.head) != atomic_load(&qp->sq.tail) &&
		    oldest->status == TP_WC_FLUSHED)
			oldest->status = TP_WC_TRANSPORT;
	}
	qp->conn = NULL;
	soft_qp_flush(qp, recv_status);
}

static void leave_lists(struct soft_conn *conn)
{
	soft_progress_forget(conn);
	for (int i = 0; i < 2; i++) {
		if (conn->member[i].cq)
			soft_cq_detach(&conn->member[i]);
		conn->member[i].cq = NULL;
	}
	conn->listener = NULL;
	soft_list_del(&conn->node);
}

void soft_conn_end(struct soft_conn *conn)
{
	enum farewell how = farewell(conn);
	struct soft_link *link = conn->link;
	struct soft_qp *qp = conn->qp;
	uint8_t *out = NULL;
	uint64_t tail = 0;
	size_t len = 0;

	if (conn->state == SOFT_CONN_ENDED)
		return;
	leave_lists(conn);
	conn->state = SOFT_CONN_ENDED;
	if (qp) {
		pthread_mutex_lock(&qp->rx_lock);
		pthread_mutex_lock(&qp->tx_lock);
		part(conn, qp, &out, &len);
		tail = conn->tx.tail;
		conn->qp = NULL;
		soft_qp_tx_unlock(qp);
		soft_qp_rx_unlock(qp);
	}
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

/* A window of PD scope is to be bound anew: first nobody may use it any more. */
static void clear_window(struct soft_conn *conn)
{
	struct soft_qp *qp = conn->qp;

	soft_window_clear(qp);
	pthread_mutex_lock(&qp->tx_lock);
	conn->tx.bind_wait = false;
	soft_qp_tx_unlock(qp);
	soft_qp_tx_kick(qp);
}

void soft_conn_task(struct tp_task *task)
{
	struct soft_conn *conn = soft_container(task, struct soft_conn, task);
	bool arm = atomic_exchange(&conn->arm_wanted, false);
	bool serve = atomic_exchange(&conn->rx_wanted, false) || arm;

	soft_conn_hold(conn);
	if (conn->state == SOFT_CONN_AWAITING && atomic_exchange(&conn->first_seen, false) &&
	    !soft_conn_dead(conn))
		soft_cm_established(conn);
	if (conn->state == SOFT_CONN_LIVE || conn->state == SOFT_CONN_AWAITING) {
		if (soft_conn_dead(conn) || atomic_load(&conn->drained))
			soft_conn_finish(conn);
		else if (serve && conn->attached)
			soft_progress_serve(conn);
	}
	if (conn->qp && atomic_exchange(&conn->clear_wanted, false))
		clear_window(conn);
	soft_conn_drop(conn);
}
