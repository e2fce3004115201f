/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The life of a connection in the engine: bound to a QP, open for data, closed. */
#include "providers/soft/engine/conn.h"

#include <stdlib.h>

#include "providers/soft/base/device.h"
#include "providers/soft/engine/drive.h"
#include "providers/soft/engine/qp.h"

static void conn_task(struct tp_task *task)
{
	struct soft_conn *conn = container_of(task, struct soft_conn, task);
	bool serve = atomic_exchange(&conn->serve_wanted, false);

	soft_conn_hold(conn);
	if (!soft_conn_dead(conn) && atomic_exchange(&conn->first_seen, false))
		conn->dev->hooks->arrived(conn);
	if (soft_conn_dead(conn) || atomic_load(&conn->drained))
		conn->dev->hooks->ended(conn);
	else if (serve && conn->attached)
		soft_drive_serve(conn);
	if (conn->qp && atomic_exchange(&conn->clear_wanted, false))
		soft_bind_clear(conn);
	soft_conn_drop(conn);
}

struct soft_conn *soft_conn_alloc(struct soft_dev *dev)
{
	struct soft_conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		return NULL;
	conn->base.dev = &dev->base;
	conn->dev = dev;
	conn->task.run = conn_task;
	list_init(&conn->node);
	list_init(&conn->handed_node);
	pthread_mutex_init(&conn->lock, NULL);
	soft_rx_init(conn);
	return conn;
}

static void conn_free(struct soft_conn *conn)
{
	dapl_loop_cancel(conn->base.dev->loop, &conn->task);
	soft_rx_fini(conn);
	soft_tx_fini(conn);
	free(conn->rest.copy);
	pthread_mutex_destroy(&conn->lock);
	free(conn->setup);
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

void soft_conn_bind(struct soft_conn *conn)
{
	struct soft_qp *qp = conn->qp;

	dapl_lock(&qp->lock);
	conn->rx.crc = conn->crc;
	qp->conn = conn;
	atomic_store(&qp->prot.stream, atomic_fetch_add(&conn->dev->streams, 1) + 1);
	atomic_store(&qp->rx_starved, false);
	atomic_store(&qp->state, SOFT_QP_LIVE);
	dapl_unlock(&qp->lock);
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
		conn->member[i].polls = atomic_load(&conn->member[i].cq->polls);
		soft_cq_attach(&conn->member[i]);
	}
}

void soft_conn_open(struct soft_conn *conn)
{
	struct soft_qp *qp = conn->qp;

	dapl_lock(&qp->lock);
	conn->rx.open = true;
	dapl_unlock(&qp->lock);
	list_add(&conn->dev->conns, &conn->node);
	attach(conn);
	soft_drive_open(conn);
}

bool soft_conn_repeat_rtr(struct soft_conn *conn)
{
	struct soft_qp *qp = conn->qp;
	bool silent;

	dapl_lock(&qp->lock);
	silent = conn->rx.waiting_first && !soft_conn_dead(conn);
	if (silent && !conn->tx.rtr)
		conn->tx.rtr = 1 + WIRE_OP_WRITE;
	dapl_unlock(&qp->lock);
	if (silent)
		soft_drive(qp, SOFT_DRIVE_TX);
	return silent;
}

static void set_pause_first(struct soft_conn *conn, bool pause)
{
	dapl_lock(&conn->qp->lock);
	conn->rx.pause_first = pause;
	conn->rx.open = true;
	dapl_unlock(&conn->qp->lock);
}

void soft_conn_await_first(struct soft_conn *conn)
{
	set_pause_first(conn, true);
}

bool soft_conn_first_here(struct soft_conn *conn)
{
	bool waits;

	soft_drive(conn->qp, SOFT_DRIVE_RX | SOFT_DRIVE_TX);
	if (soft_conn_dead(conn))
		return false;
	if (atomic_exchange(&conn->first_seen, false))
		return true;
	dapl_lock(&conn->qp->lock);
	waits = conn->rx.held || conn->rx.stalled;
	dapl_unlock(&conn->qp->lock);
	if (!waits)
		return false;
	/* It, or its beginning, is there, but waits for a Receive or for memory. */
	set_pause_first(conn, false);
	return true;
}

void soft_conn_drain(struct soft_conn *conn)
{
	struct soft_qp *qp = conn->qp;

	dapl_lock(&qp->lock);
	conn->draining = true;
	soft_complete_sends(qp);
	dapl_unlock(&qp->lock);
}

/*
 * Parts QP and connection; lock held. What can no longer be had of an FPDU that is partly out
 * stays out: the peer gets what was sent before it, and an end within an FPDU.
 */
static void part(struct soft_conn *conn, struct soft_qp *qp)
{
	bool dead = soft_conn_dead(conn);
	uint32_t recv_status = dead ? conn->fault.recv_status : TP_WC_FLUSHED;
	struct soft_sqe *oldest;

	if (qp->conn == conn && (!dead || conn->fault.terminate))
		soft_terminate_rest(conn);
	conn->rest.tail = conn->tx.tail;
	conn->rest.fault = dead && conn->fault.event == TP_CONN_BROKEN;
	if (qp->conn == conn && dead && conn->fault.transport &&
	    atomic_load(&qp->sq.head) != atomic_load(&qp->sq.tail)) {
		soft_complete_sends(qp);
		oldest = soft_sqe(qp, atomic_load(&qp->sq.head));
		if (atomic_load(&qp->sq.head) != atomic_load(&qp->sq.tail) &&
		    oldest->status == TP_WC_FLUSHED)
			oldest->status = TP_WC_TRANSPORT;
	}
	soft_direct_close(conn);
	qp->conn = NULL;
	soft_complete_flush(qp, recv_status);
}

void soft_conn_close(struct soft_conn *conn)
{
	struct soft_qp *qp = conn->qp;

	soft_drive_forget(conn);
	for (int i = 0; i < 2; i++) {
		if (conn->member[i].cq)
			soft_cq_detach(&conn->member[i]);
		conn->member[i].cq = NULL;
	}
	list_del(&conn->node);
	if (!qp)
		return;
	dapl_lock(&qp->lock);
	part(conn, qp);
	soft_rx_fini(conn);
	/* What is still to be sent may lie there; else it is kept from nobody who waits for the peer
	 * to take that. */
	if (!conn->rest.part[0].iov_len || conn->rest.copy)
		soft_tx_fini(conn);
	conn->qp = NULL;
	dapl_unlock(&qp->lock);
}
