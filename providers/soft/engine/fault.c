/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What ends a connection: noted once, counted, and left to the loop. */
#include <errno.h>
#include <stdio.h>

#include "providers/soft/base/addr.h"
#include "providers/soft/base/device.h"
#include "providers/soft/engine/conn.h"

/* ---- Meaning ---- */

struct meaning {
	uint8_t layer, etype;
	int16_t code; /* -1: any */
	uint32_t status;
	const char *text;
};

#define RDMAP(etype, ...)                                         \
	{                                                         \
		WIRE_LAYER_RDMAP, WIRE_RDMAP_##etype, __VA_ARGS__ \
	}
#define DDP(etype, ...)                                       \
	{                                                     \
		WIRE_LAYER_DDP, WIRE_DDP_##etype, __VA_ARGS__ \
	}
#define MPA(...)                               \
	{                                      \
		WIRE_LAYER_MPA, 0, __VA_ARGS__ \
	}

/* The first row that fits. */
static const struct meaning meanings[] = {
	RDMAP(PROTECTION, WIRE_PROT_STAG, TP_WC_REMOTE_ACCESS, "unknown tag"),
	RDMAP(PROTECTION, WIRE_PROT_BOUNDS, TP_WC_REMOTE_ACCESS, "range outside the region"),
	RDMAP(PROTECTION, WIRE_PROT_ACCESS, TP_WC_REMOTE_ACCESS, "access right missing"),
	RDMAP(PROTECTION, WIRE_PROT_STREAM, TP_WC_REMOTE_ACCESS, "tag of another protection zone"),
	RDMAP(PROTECTION, WIRE_PROT_INVALIDATE, TP_WC_REMOTE_ACCESS, "tag cannot be invalidated"),
	RDMAP(PROTECTION, -1, TP_WC_REMOTE_ACCESS, "remote protection error"),
	RDMAP(OPERATION, WIRE_OPER_VERSION, TP_WC_REMOTE_RESPONDER, "RDMAP version"),
	RDMAP(OPERATION, WIRE_OPER_OPCODE, TP_WC_REMOTE_RESPONDER, "unexpected opcode"),
	RDMAP(OPERATION, WIRE_OPER_INVALIDATE, TP_WC_REMOTE_ACCESS, "tag cannot be invalidated"),
	RDMAP(OPERATION, -1, TP_WC_REMOTE_RESPONDER, "remote operation error"),
	RDMAP(CATASTROPHIC, -1, TP_WC_REMOTE_RESPONDER, "local error"),
	DDP(ETYPE_TAGGED, WIRE_TAGGED_STAG, TP_WC_REMOTE_ACCESS, "unknown tag"),
	DDP(ETYPE_TAGGED, WIRE_TAGGED_BOUNDS, TP_WC_REMOTE_ACCESS, "range outside the region"),
	DDP(ETYPE_TAGGED, WIRE_TAGGED_STREAM, TP_WC_REMOTE_ACCESS,
	    "tag of another protection zone"),
	DDP(ETYPE_TAGGED, WIRE_TAGGED_VERSION, TP_WC_REMOTE_RESPONDER, "DDP version"),
	DDP(ETYPE_TAGGED, -1, TP_WC_REMOTE_ACCESS, "tagged buffer error"),
	DDP(ETYPE_UNTAGGED, WIRE_UNTAGGED_NO_BUFFER, TP_WC_REMOTE_RESPONDER,
	    "no buffer for the message"),
	DDP(ETYPE_UNTAGGED, WIRE_UNTAGGED_MSN, TP_WC_REMOTE_RESPONDER, "message out of sequence"),
	DDP(ETYPE_UNTAGGED, WIRE_UNTAGGED_MO, TP_WC_REMOTE_RESPONDER, "segment out of sequence"),
	DDP(ETYPE_UNTAGGED, WIRE_UNTAGGED_TOO_LONG, TP_WC_REMOTE_RESPONDER,
	    "message longer than the Receive"),
	DDP(ETYPE_UNTAGGED, -1, TP_WC_REMOTE_RESPONDER, "untagged buffer error"),
	DDP(CATASTROPHIC, -1, TP_WC_REMOTE_RESPONDER, "local error"),
	MPA(WIRE_MPA_ERR_CRC, TP_WC_TRANSPORT, "wrong CRC"),
	MPA(WIRE_MPA_ERR_IRD, TP_WC_TRANSPORT, "RDMA Read depth"),
	MPA(WIRE_MPA_ERR_RTR, TP_WC_TRANSPORT, "ready-to-receive options"),
	MPA(-1, TP_WC_TRANSPORT, "framing error"),
};

static const struct meaning *meaning(const struct soft_error *error)
{
	static const struct meaning unknown = { .status = TP_WC_TRANSPORT,
						.text = "unknown error" };
	const struct meaning *row = meanings;

	for (; row < meanings + sizeof(meanings) / sizeof(meanings[0]); row++)
		if (row->layer == error->layer && row->etype == error->etype &&
		    (row->code < 0 || row->code == error->code))
			return row;
	return &unknown;
}

uint32_t soft_error_status(const struct soft_error *error)
{
	return meaning(error)->status;
}

const char *soft_error_text(const struct soft_error *error)
{
	return meaning(error)->text;
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
	else if (soft_error_status(error) == TP_WC_REMOTE_ACCESS)
		soft_count(dev, fault->received ? SOFT_COUNT_SQ_RAE : SOFT_COUNT_RQ_RAE);
	else if (fault->received || fault->term.has_ddp)
		soft_count(dev, fault->received ? SOFT_COUNT_SQ_RIRE : SOFT_COUNT_RQ_RIRE);
}

/* Whether it ends the connection now. */
static bool note(struct soft_conn *conn, const struct soft_fault *fault)
{
	bool first = !soft_conn_dead(conn);

	if (first && !atomic_load(&conn->refusing))
		conn->fault = *fault;
	if (first && fault->terminate && soft_response_owed(&conn->tx)) {
		atomic_store(&conn->refusing, true);
		return false;
	}
	if (first)
		atomic_store_explicit(&conn->dead, true, memory_order_release);
	return first;
}

void soft_conn_fail(struct soft_conn *conn, const struct soft_fault *fault)
{
	bool ends;

	pthread_mutex_lock(&conn->lock);
	ends = note(conn, fault);
	pthread_mutex_unlock(&conn->lock);
	if (ends) {
		count_fault(conn->dev, &conn->fault);
		dapl_loop_post(conn->base.dev->loop, &conn->task);
	} else if (!soft_conn_dead(conn)) {
		soft_conn_serve_later(conn);
	}
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

/* ---- In placement ---- */

struct soft_fault soft_fault_of_peer(const struct soft_ddp *ddp, uint8_t layer, uint8_t etype,
				     uint8_t code)
{
	return (struct soft_fault){
		.event = TP_CONN_BROKEN,
		.err = layer == WIRE_LAYER_RDMAP && etype == WIRE_RDMAP_PROTECTION ? -EACCES
										   : -EPROTO,
		.async = true,
		.terminate = true,
		.recv_status = TP_WC_FLUSHED,
		.term = { .error = { layer, etype, code }, .has_ddp = true, .ddp = *ddp },
	};
}

void soft_fault_access(struct soft_conn *conn, enum soft_stag_result result,
		       const struct soft_ddp *ddp, const struct soft_read_request *read)
{
	/* By the layer that detects it: DDP checks tags and bounds, RDMAP rights and read sources.
	 */
	static const struct soft_error tagged[] = {
		[SOFT_STAG_INVALID] = { WIRE_LAYER_DDP, WIRE_DDP_ETYPE_TAGGED, WIRE_TAGGED_STAG },
		[SOFT_STAG_BOUNDS] = { WIRE_LAYER_DDP, WIRE_DDP_ETYPE_TAGGED, WIRE_TAGGED_BOUNDS },
		[SOFT_STAG_ACCESS] = { WIRE_LAYER_RDMAP, WIRE_RDMAP_PROTECTION, WIRE_PROT_ACCESS },
		[SOFT_STAG_PD] = { WIRE_LAYER_DDP, WIRE_DDP_ETYPE_TAGGED, WIRE_TAGGED_STREAM },
		[SOFT_STAG_WRAP] = { WIRE_LAYER_DDP, WIRE_DDP_ETYPE_TAGGED, WIRE_TAGGED_WRAP },
	};
	static const uint8_t source[] = {
		[SOFT_STAG_INVALID] = WIRE_PROT_STAG,  [SOFT_STAG_BOUNDS] = WIRE_PROT_BOUNDS,
		[SOFT_STAG_ACCESS] = WIRE_PROT_ACCESS, [SOFT_STAG_PD] = WIRE_PROT_STREAM,
		[SOFT_STAG_WRAP] = WIRE_PROT_WRAP,
	};
	struct soft_fault fault;

	fault = soft_fault_of_peer(ddp, WIRE_LAYER_RDMAP, WIRE_RDMAP_PROTECTION, source[result]);
	fault.err = -EACCES;
	if (ddp->tagged)
		fault.term.error = tagged[result];
	if (read) {
		fault.term.has_read = true;
		fault.term.read = *read;
	}
	soft_conn_fail(conn, &fault);
}

bool soft_fault_recv(struct soft_conn *conn, const struct soft_ddp *ddp, uint32_t status)
{
	struct soft_fault fault = {
		.event = TP_CONN_BROKEN,
		.err = status == TP_WC_LOCAL_LENGTH ? -EMSGSIZE : -EFAULT,
		.terminate = true,
		.recv_status = status,
		.term = { .has_ddp = true, .ddp = *ddp },
	};

	if (status == TP_WC_LOCAL_LENGTH)
		fault.term.error = (struct soft_error){ WIRE_LAYER_DDP, WIRE_DDP_ETYPE_UNTAGGED,
							WIRE_UNTAGGED_TOO_LONG };
	else
		fault.term.error = (struct soft_error){ WIRE_LAYER_DDP, WIRE_DDP_CATASTROPHIC, 0 };
	soft_conn_fail(conn, &fault);
	return false;
}
