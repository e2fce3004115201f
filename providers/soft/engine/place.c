/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Placement and delivery (RFC 5041 sections 5 and 7, RFC 5040 section 5): every segment is checked
 * before a byte of it is placed, and again each time its placement is taken up after the lock was
 * released, because keys may be gone by then.
 */
#include "providers/soft/engine/rx.h"

#include <string.h>
#include <sys/uio.h>

#include "providers/soft/base/config.h"
#include "providers/soft/engine/conn.h"
#include "providers/soft/engine/drive.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/engine/tx.h"
#include "providers/soft/memory/copy.h"

/* The sink of our own read went away. */
static bool sink_fault(struct soft_conn *conn, struct soft_sqe *sqe)
{
	sqe->status = TP_WC_LOCAL_PROTECTION;
	soft_conn_refuse(conn, (struct soft_error){ WIRE_LAYER_DDP, WIRE_DDP_CATASTROPHIC, 0 },
			 NULL,
			 "the sink of a read or an atomic is not in memory registered for it");
	return false;
}

/* ---- Where bytes go ---- */

/* The part [from, from + len) of the sink of a read, whose segments are known by their memory. */
static int sink_iov(struct soft_conn *conn, const struct soft_sqe *sqe, uint32_t from, uint32_t len,
		    struct iovec *iov, int max)
{
	const struct tp_sge *sge = sqe->sge;
	uint32_t n;
	uint8_t *mem;
	int used = 0;

	for (uint32_t i = 0; i < sqe->num_sge && len && used < max; i++, sge++) {
		if (from >= sge->length) {
			from -= sge->length;
			continue;
		}
		mem = (uint8_t *)(uintptr_t)sge->addr + from;
		n = sge->length - from < len ? sge->length - from : len;
		if (!soft_stag_holds(&conn->qp->prot, sge->lkey, mem, n, soft_sqe_access(sqe)))
			return -1;
		iov[used++] = (struct iovec){ .iov_base = mem, .iov_len = n };
		len -= n;
		from = 0;
	}
	return used;
}

static int write_iov(struct soft_conn *conn, uint32_t pos, uint32_t len, struct iovec *iov)
{
	struct soft_ddp *ddp = &conn->rx.ddp;
	enum soft_stag_result result;
	uint8_t *mem;

	result = soft_stag_check(&conn->qp->prot, ddp->stag, ddp->to + pos, len,
				 TP_ACCESS_REMOTE_WRITE, &mem);
	if (result) {
		soft_fault_access(conn, result, ddp, NULL);
		return -1;
	}
	*iov = (struct iovec){ .iov_base = mem, .iov_len = len };
	soft_direct_expose(conn, ddp->stag);
	return 1;
}

int soft_place_iov(struct soft_conn *conn, uint32_t pos, uint32_t len, struct iovec *iov, int max)
{
	struct soft_rx *rx = &conn->rx;
	int num;

	switch (rx->sink) {
	case SOFT_SINK_WRITE:
		return write_iov(conn, pos, len, iov);
	case SOFT_SINK_READ:
		num = sink_iov(conn, rx->read, rx->read_offset + pos, len, iov, max);
		if (num < 0)
			sink_fault(conn, rx->read);
		return num;
	case SOFT_SINK_RECV:
		num = soft_recv_iov(conn->qp, rx->ddp.mo + pos, len, iov, max);
		if (num < 0)
			soft_fault_recv(conn, &rx->ddp, TP_WC_LOCAL_PROTECTION);
		return num;
	case SOFT_SINK_HELD:
		*iov = (struct iovec){ .iov_base = rx->filling->data + pos, .iov_len = len };
		return 1;
	default:
		*iov = (struct iovec){ .iov_base = rx->control + pos, .iov_len = len };
		return 1;
	}
}

void soft_place_fault(struct soft_conn *conn)
{
	struct soft_rx *rx = &conn->rx;

	if (rx->sink == SOFT_SINK_WRITE)
		soft_fault_access(conn, SOFT_STAG_INVALID, &rx->ddp, NULL);
	else if (rx->sink == SOFT_SINK_READ)
		sink_fault(conn, rx->read);
	else
		soft_fault_recv(conn, &rx->ddp, TP_WC_LOCAL_PROTECTION);
}

bool soft_place_copy(struct soft_conn *conn, const uint8_t *src, uint32_t len)
{
	struct iovec iov[SOFT_MAX_SGE];
	struct soft_rx *rx = &conn->rx;
	int num;

	if (!len)
		return true;
	num = soft_place_iov(conn, rx->pos, len, iov, SOFT_MAX_SGE);
	if (num < 0)
		return false;
	for (int i = 0; i < num; i++) {
		if (!soft_copy_in(iov[i].iov_base, src, iov[i].iov_len)) {
			soft_place_fault(conn);
			return false;
		}
		src += iov[i].iov_len;
	}
	rx->pos += len;
	rx->left -= len;
	return true;
}

/* ---- Beginnings ---- */

static int begin_write(struct soft_conn *conn)
{
	struct iovec iov;

	conn->rx.sink = SOFT_SINK_WRITE;
	/* Tag and offset of an empty write are not looked at (RFC 5041 section 5.2). */
	return conn->rx.left && write_iov(conn, 0, conn->rx.left, &iov) < 0 ? -1 : 1;
}

/* Whether a response is the rest of the read, in order; sqe NULL: one of our own for nothing. */
static bool answers(const struct soft_conn *conn, const struct soft_sqe *sqe)
{
	const struct soft_rx *rx = &conn->rx;
	const struct soft_ddp *ddp = &rx->ddp;
	uint32_t left;

	if (!sqe)
		return ddp->last && !rx->left;
	left = sqe->length - rx->read_offset;
	return !tp_is_atomic(sqe->opcode) &&
	       (!rx->left || (ddp->stag == soft_request_tag(&conn->tx, sqe->msn) &&
			      ddp->to == rx->read_offset)) &&
	       rx->left <= left && ddp->last == (rx->left == left);
}

/* The request of the oldest flight, NULL if it is none; false: nothing is awaited. */
static bool oldest_flight(struct soft_conn *conn, struct soft_sqe **sqe)
{
	const struct soft_flight *flight = soft_request_oldest(conn);

	*sqe = flight && flight->kind == SOFT_FLIGHT_REQUEST ? soft_sqe(conn->qp, flight->index)
							     : NULL;
	return flight;
}

static int response_fault(struct soft_conn *conn, struct soft_sqe *sqe, struct soft_error error)
{
	if (sqe)
		sqe->status = TP_WC_BAD_RESPONSE;
	soft_conn_refuse(conn, error, &conn->rx.ddp, "a response that answers no request");
	return -1;
}

static int begin_read_response(struct soft_conn *conn)
{
	struct soft_rx *rx = &conn->rx;
	struct soft_sqe *sqe;

	if (!oldest_flight(conn, &sqe) || !answers(conn, sqe))
		return response_fault(conn, sqe,
				      (struct soft_error){ WIRE_LAYER_DDP, WIRE_DDP_ETYPE_TAGGED,
							   WIRE_TAGGED_STAG });
	rx->sink = SOFT_SINK_READ;
	rx->read = sqe;
	return 1;
}

bool soft_place_plain_write(struct soft_conn *conn, const uint8_t *ddp, const uint8_t *payload,
			    uint32_t len)
{
	struct soft_rx *rx = &conn->rx;
	struct wire_ddp_tagged header;
	uint8_t *mem;

	memcpy(&header, ddp, sizeof(header));
	if (header.ddp != (WIRE_DDP_TAGGED | WIRE_DDP_V1 | WIRE_DDP_LAST) ||
	    header.rdmap != (WIRE_RDMAP_V1 | WIRE_OP_WRITE) || rx->writing)
		return false;
	if (len && (soft_stag_check(&conn->qp->prot, be32toh(header.stag), be64toh(header.to), len,
				    TP_ACCESS_REMOTE_WRITE, &mem) ||
		    !soft_copy_in(mem, payload, len)))
		return false;
	if (len)
		soft_direct_expose(conn, be32toh(header.stag));
	rx->written = len;
	rx->wrote = true;
	return true;
}

int soft_place_begin(struct soft_conn *conn)
{
	struct soft_rx *rx = &conn->rx;

	rx->pos = 0;
	rx->tail = 0;
	if (rx->ddp.last)
		rx->tail = rx->left < SOFT_RX_TAIL ? rx->left : SOFT_RX_TAIL;
	switch (rx->ddp.opcode) {
	case WIRE_OP_WRITE:
		return begin_write(conn);
	case WIRE_OP_READ_RESPONSE:
		return begin_read_response(conn);
	default:
		return soft_untagged_begin(conn);
	}
}

/* ---- Deliveries ---- */

/* A read or atomic of ours is over. */
static bool flight_done(struct soft_conn *conn)
{
	struct soft_qp *qp = conn->qp;

	soft_request_answered(conn);
	/* A fenced request or a read beyond the depth may go on now. */
	if (atomic_load(&qp->sq.tail) != atomic_load(&qp->sq.head))
		qp->due |= SOFT_DRIVE_TX;
	return true;
}

static bool done_read_response(struct soft_conn *conn)
{
	struct soft_rx *rx = &conn->rx;

	rx->read_offset += rx->pos;
	if (!rx->ddp.last)
		return true;
	rx->read_offset = 0;
	return flight_done(conn);
}

static bool done_atomic_response(struct soft_conn *conn)
{
	struct soft_rx *rx = &conn->rx;
	struct soft_sqe *sqe;
	struct iovec iov;
	uint64_t value;
	uint32_t id;

	rx->msn[WIRE_QN_ATOMIC]++;
	soft_rdmap_get_value(rx->control, &id, &value);
	if (!oldest_flight(conn, &sqe) || !sqe || !tp_is_atomic(sqe->opcode) ||
	    id != soft_request_tag(&conn->tx, sqe->msn)) {
		response_fault(conn, sqe,
			       (struct soft_error){ WIRE_LAYER_DDP, WIRE_DDP_ETYPE_UNTAGGED,
						    WIRE_UNTAGGED_NO_BUFFER });
		return false;
	}
	if (sink_iov(conn, sqe, 0, sizeof(value), &iov, 1) != 1 ||
	    !soft_copy_in(iov.iov_base, &value, sizeof(value)))
		return sink_fault(conn, sqe);
	return flight_done(conn);
}

static void write_arrived(struct soft_rx *rx)
{
	rx->written = (rx->writing ? rx->written : 0) + rx->pos;
	rx->writing = !rx->ddp.last;
	rx->wrote = rx->ddp.last;
}

static bool done_control(struct soft_conn *conn)
{
	struct soft_rx *rx = &conn->rx;

	switch (rx->ddp.opcode) {
	case WIRE_OP_IMMEDIATE:
	case WIRE_OP_IMMEDIATE_SE:
		soft_untagged_done_immediate(conn);
		return true;
	case WIRE_OP_ATOMIC_RESPONSE:
		return done_atomic_response(conn);
	case WIRE_OP_TERMINATE:
		soft_terminate_arrived(conn);
		return false;
	default:
		rx->msn[WIRE_QN_READ]++;
		return soft_response_asked(conn, &rx->ddp, rx->control);
	}
}

bool soft_place_done(struct soft_conn *conn)
{
	struct soft_rx *rx = &conn->rx;

	switch (rx->sink) {
	case SOFT_SINK_WRITE:
		write_arrived(rx);
		return true;
	case SOFT_SINK_READ:
		return done_read_response(conn);
	case SOFT_SINK_RECV:
		return soft_untagged_done_send(conn);
	case SOFT_SINK_HELD:
		soft_untagged_done_held(conn);
		return true;
	default:
		return done_control(conn);
	}
}
