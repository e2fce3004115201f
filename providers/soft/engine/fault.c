/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What ends a connection: noted once, counted, and left to the loop. */
#include <errno.h>
#include <stdio.h>

#include "providers/soft/base/addr.h"
#include "providers/soft/base/counters.h"
#include "providers/soft/base/device.h"
#include "providers/soft/engine/conn.h"

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

static bool out_of_sequence(const struct soft_error *error)
{
	return error->layer == WIRE_LAYER_DDP && error->etype == WIRE_DDP_ETYPE_UNTAGGED &&
	       (error->code == WIRE_UNTAGGED_MSN || error->code == WIRE_UNTAGGED_MO);
}

static void count_fault(struct soft_dev *dev, const struct soft_fault *fault)
{
	const struct soft_error *error = &fault->term.error;

	if (fault->err == -ETIMEDOUT)
		soft_count(dev, SOFT_COUNT_SQ_RREE);
	if (!fault->terminate && !fault->received)
		return;
	if (error->layer == WIRE_LAYER_MPA)
		soft_count(dev, fault->received ? SOFT_COUNT_INTEGRITY : SOFT_COUNT_RCV);
	else if (out_of_sequence(error))
		soft_count(dev, fault->received ? SOFT_COUNT_SQ_OOS : SOFT_COUNT_RQ_OOS);
	else if (soft_rdmap_status(error) == TP_WC_REMOTE_ACCESS)
		soft_count(dev, fault->received ? SOFT_COUNT_SQ_RAE : SOFT_COUNT_RQ_RAE);
	else if (fault->received || fault->term.has_ddp)
		soft_count(dev, fault->received ? SOFT_COUNT_SQ_RIRE : SOFT_COUNT_RQ_RIRE);
}

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
	count_fault(conn->dev, fault);
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
	/* EPIPE: the peer had ended in order before it refused what we sent. */
	return conn->tx_err == -EPIPE ? 0 : conn->tx_err;
}

void soft_conn_serve_later(struct soft_conn *conn)
{
	atomic_store(&conn->serve_wanted, true);
	dapl_loop_post(conn->base.dev->loop, &conn->task);
}
