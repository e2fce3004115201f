/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Placement and delivery (RFC 5041 sections 5 and 7, RFC 5040 section 5): every segment is checked
 * before a byte of it is placed, and again each time its placement is taken up after the lock was
 * released, because keys may be gone by then.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "providers/soft/base/config.h"
#include "providers/soft/base/device.h"
#include "providers/soft/engine/conn.h"
#include "providers/soft/engine/complete.h"
#include "providers/soft/engine/drive.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/engine/recv.h"
#include "providers/soft/engine/srq.h"
#include "providers/soft/memory/copy.h"
#include "providers/soft/memory/window.h"
#include "trace/log.h"

/* ---- Faults ---- */

/* A fault of the peer, at which it and the program are told. */
static struct soft_fault peer_fault(const struct soft_ddp *ddp, uint8_t layer, uint8_t etype,
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

/* The peer's access to our memory is wrong; read: by such a request. */
static void access_fault(struct soft_conn *conn, enum soft_stag_result result,
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

	fault = peer_fault(ddp, WIRE_LAYER_RDMAP, WIRE_RDMAP_PROTECTION, source[result]);
	fault.err = -EACCES;
	if (ddp->tagged)
		fault.term.error = tagged[result];
	if (read) {
		fault.term.has_read = true;
		fault.term.read = *read;
	}
	soft_conn_fail(conn, &fault);
}

/* A Receive of ours is not fit for the message. */
static bool recv_fault(struct soft_conn *conn, const struct soft_ddp *ddp, uint32_t status)
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

/* The sink of our own read went away. */
static bool sink_fault(struct soft_conn *conn, struct soft_sqe *sqe)
{
	sqe->status = TP_WC_LOCAL_PROTECTION;
	soft_conn_refuse(conn, (struct soft_error){ WIRE_LAYER_DDP, WIRE_DDP_CATASTROPHIC, 0 },
			 NULL,
			 "the sink of a read or an atomic is not in memory registered for it");
	return false;
}

static int untagged_fault(struct soft_conn *conn, uint8_t code)
{
	soft_conn_refuse(conn, (struct soft_error){ WIRE_LAYER_DDP, WIRE_DDP_ETYPE_UNTAGGED, code },
			 &conn->rx.ddp, NULL);
	return -1;
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
		access_fault(conn, result, ddp, NULL);
		return -1;
	}
	*iov = (struct iovec){ .iov_base = mem, .iov_len = len };
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
			recv_fault(conn, &rx->ddp, TP_WC_LOCAL_PROTECTION);
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
		access_fault(conn, SOFT_STAG_INVALID, &rx->ddp, NULL);
	else if (rx->sink == SOFT_SINK_READ)
		sink_fault(conn, rx->read);
	else
		recv_fault(conn, &rx->ddp, TP_WC_LOCAL_PROTECTION);
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
	return !soft_sqe_is_atomic(sqe) &&
	       (!rx->left || (ddp->stag == soft_tx_sink_tag(&conn->tx, sqe->msn) &&
			      ddp->to == rx->read_offset)) &&
	       rx->left <= left && ddp->last == (rx->left == left);
}

/* The request of the oldest flight, NULL if it is none; false: nothing is awaited. */
static bool oldest_flight(struct soft_conn *conn, struct soft_sqe **sqe)
{
	const struct soft_flight *flight = soft_tx_oldest_flight(conn);

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

/* Whether a segment is the one that must come next on its queue. */
static bool in_sequence(struct soft_conn *conn)
{
	struct soft_rx *rx = &conn->rx;
	struct soft_ddp *ddp = &rx->ddp;

	if (ddp->msn != rx->msn[ddp->qn]) {
		untagged_fault(conn, WIRE_UNTAGGED_MSN);
		return false;
	}
	if (ddp->mo != (ddp->qn == WIRE_QN_SEND ? rx->send_mo : 0) ||
	    ddp->mo + rx->left < ddp->mo) {
		untagged_fault(conn, WIRE_UNTAGGED_MO);
		return false;
	}
	return true;
}

/*
 * Whether so many more bytes may be kept. An answer to a request of this side comes in the same
 * stream behind what the peer sent before: it must not wait for a Receive (DTO-73), so that more is
 * kept as long as there is one to come.
 */
static bool held_room(struct soft_conn *conn, size_t size)
{
	size_t total = conn->rx.held_bytes + size, limit = (size_t)conn->dev->config->held_bytes;

	return total <= limit || (total <= limit * SOFT_HELD_AWAITING && conn->tx.reads);
}

/* Keeps a segment for a Receive to come; 0 if there is no room. */
static int begin_held(struct soft_conn *conn)
{
	struct soft_rx *rx = &conn->rx;
	size_t size = sizeof(struct soft_held) + rx->left;

	if (!rx->hold_all && !held_room(conn, size))
		return 0;
	rx->filling = malloc(size);
	if (!rx->filling)
		return 0;
	rx->filling->next = NULL;
	rx->filling->ddp = rx->ddp;
	rx->filling->len = rx->left;
	rx->filling->written = rx->written;
	rx->filling->wrote = rx->wrote;
	rx->held_bytes += size;
	rx->sink = SOFT_SINK_HELD;
	return 1;
}

static int begin_send(struct soft_conn *conn)
{
	struct soft_rx *rx = &conn->rx;
	struct soft_ddp *ddp = &rx->ddp;

	if (!in_sequence(conn))
		return -1;
	if (rx->held || !soft_recv_ready(conn->qp))
		return begin_held(conn);
	rx->sink = SOFT_SINK_RECV;
	if ((uint64_t)ddp->mo + rx->left > soft_recv_room(conn->qp)) {
		recv_fault(conn, ddp, TP_WC_LOCAL_LENGTH);
		return -1;
	}
	return 1;
}

/* A message of one segment that has this many bytes. */
static int begin_fixed(struct soft_conn *conn, uint32_t size)
{
	struct soft_rx *rx = &conn->rx;

	if (!in_sequence(conn))
		return -1;
	if (rx->left > size || !rx->ddp.last)
		return untagged_fault(conn, WIRE_UNTAGGED_TOO_LONG);
	if (rx->left < size && rx->ddp.opcode != WIRE_OP_TERMINATE) {
		soft_conn_refuse(conn,
				 (struct soft_error){ WIRE_LAYER_RDMAP, WIRE_RDMAP_OPERATION,
						      WIRE_OPER_STREAM },
				 &rx->ddp, "a message shorter than its kind");
		return -1;
	}
	rx->sink = SOFT_SINK_CONTROL;
	return 1;
}

static int begin_immediate(struct soft_conn *conn)
{
	int rc = begin_fixed(conn, WIRE_IMMEDIATE_SIZE);

	if (rc > 0 && (conn->rx.held || !soft_recv_ready(conn->qp)))
		return begin_held(conn);
	return rc;
}

/* What is answered waits for the Sends before it to be received (RFC 5040 section 5.5). */
static int begin_request(struct soft_conn *conn, uint32_t size)
{
	int rc = begin_fixed(conn, size);

	return rc > 0 && conn->rx.held ? begin_held(conn) : rc;
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
	case WIRE_OP_READ_REQUEST:
		return begin_request(conn, sizeof(struct wire_read_request));
	case WIRE_OP_ATOMIC_REQUEST:
		return begin_request(conn, sizeof(struct wire_atomic_request));
	case WIRE_OP_ATOMIC_RESPONSE:
		return begin_fixed(conn, sizeof(struct wire_atomic_response));
	case WIRE_OP_TERMINATE:
		return begin_fixed(conn, SOFT_RX_CONTROL);
	case WIRE_OP_IMMEDIATE:
	case WIRE_OP_IMMEDIATE_SE:
		return begin_immediate(conn);
	default:
		return begin_send(conn);
	}
}

/* ---- Deliveries ---- */

/* A read or atomic of ours is over. */
static bool flight_done(struct soft_conn *conn)
{
	struct soft_qp *qp = conn->qp;

	soft_tx_read_done(conn);
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
	if (!oldest_flight(conn, &sqe) || !sqe || !soft_sqe_is_atomic(sqe) ||
	    id != soft_tx_sink_tag(&conn->tx, sqe->msn)) {
		response_fault(conn, sqe,
			       (struct soft_error){ WIRE_LAYER_DDP, WIRE_DDP_ETYPE_UNTAGGED,
						    WIRE_UNTAGGED_NO_BUFFER });
		return false;
	}
	if (sink_iov(conn, sqe, 0, sizeof(value), &iov, 1) < 0 ||
	    !soft_copy_in(iov.iov_base, &value, sizeof(value)))
		return sink_fault(conn, sqe);
	return flight_done(conn);
}

/* What a Send asks to be invalidated is so before its Receive completes (DTO-58, DTO-61). */
static bool invalidate(struct soft_conn *conn, const struct soft_ddp *ddp, struct tp_wc *wc)
{
	struct soft_fault fault;

	if (!soft_window_invalidate(&conn->qp->prot, ddp->stag)) {
		fault = peer_fault(ddp, WIRE_LAYER_RDMAP, WIRE_RDMAP_PROTECTION,
				   WIRE_PROT_INVALIDATE);
		fault.recv_status = TP_WC_LOCAL_PROTECTION;
		soft_conn_fail(conn, &fault);
		return false;
	}
	wc->flags |= TP_WC_INVALIDATED;
	wc->data = ddp->stag;
	return true;
}

static bool deliver(struct soft_conn *conn, const struct soft_ddp *ddp, uint32_t len)
{
	struct tp_wc wc = { .status = TP_WC_SUCCESS,
			    .flags = TP_WC_RECV,
			    .byte_len = ddp->mo + len };

	if (!ddp->last)
		return true;
	if (ddp->opcode != WIRE_OP_SEND) {
		if (ddp->opcode != WIRE_OP_SEND_INVALIDATE)
			wc.flags |= TP_WC_SOLICITED;
		if (ddp->opcode != WIRE_OP_SEND_SE && !invalidate(conn, ddp, &wc))
			return false;
	}
	soft_complete_recv(conn->qp, &wc);
	return true;
}

/* wrote: an RDMA Write of written bytes came right before it. */
static void deliver_immediate(struct soft_conn *conn, const struct soft_ddp *ddp,
			      const uint8_t *data, bool wrote, uint32_t written)
{
	struct tp_wc wc = { .status = TP_WC_SUCCESS, .flags = TP_WC_RECV | TP_WC_IMMEDIATE };

	memcpy(&wc.data, data, sizeof(wc.data));
	if (wrote) {
		wc.flags |= TP_WC_WRITTEN;
		wc.byte_len = written;
	}
	if (ddp->opcode == WIRE_OP_IMMEDIATE_SE)
		wc.flags |= TP_WC_SOLICITED;
	soft_complete_recv(conn->qp, &wc);
}

static void write_arrived(struct soft_rx *rx)
{
	rx->written = (rx->writing ? rx->written : 0) + rx->pos;
	rx->writing = !rx->ddp.last;
	rx->wrote = rx->ddp.last;
}

static void send_arrived(struct soft_rx *rx)
{
	rx->wrote = false;
	rx->send_mo += rx->pos;
	if (!rx->ddp.last)
		return;
	rx->send_mo = 0;
	rx->msn[WIRE_QN_SEND]++;
}

static void done_held(struct soft_rx *rx)
{
	*rx->held_end = rx->filling;
	rx->held_end = &rx->filling->next;
	rx->filling = NULL;
	if (rx->ddp.qn == WIRE_QN_SEND)
		send_arrived(rx);
	else
		rx->msn[rx->ddp.qn]++;
}

/* More is asked for than was agreed. */
static bool too_many(struct soft_conn *conn, const struct soft_ddp *ddp)
{
	struct soft_fault fault =
		peer_fault(ddp, WIRE_LAYER_DDP, WIRE_DDP_ETYPE_UNTAGGED, WIRE_UNTAGGED_NO_BUFFER);

	soft_conn_fail(conn, &fault);
	return false;
}

static bool read_arrived(struct soft_conn *conn, const struct soft_ddp *ddp, const uint8_t *data)
{
	enum soft_stag_result result = SOFT_STAG_OK;
	struct soft_qp *qp = conn->qp;
	struct soft_response *response;
	struct soft_read_request read;
	uint8_t *mem;

	soft_rdmap_get_read(data, &read);
	if (read.size)
		result = soft_stag_check(&qp->prot, read.source_stag, read.source_to, read.size,
					 TP_ACCESS_REMOTE_READ, &mem);
	if (result) {
		access_fault(conn, result, ddp, &read);
		return false;
	}
	response = soft_tx_respond(conn, ddp);
	if (!response)
		return too_many(conn, ddp);
	response->read = read;
	conn->qp->due |= SOFT_DRIVE_TX;
	return true;
}

/* Whether an atomic may be done; the memory it is done in. */
static bool atomic_valid(struct soft_conn *conn, const struct soft_ddp *ddp,
			 const struct soft_atomic *atomic, uint8_t **mem)
{
	enum soft_stag_result result;
	struct soft_fault fault;
	uint8_t code = WIRE_OPER_OPCODE;

	result = soft_stag_check(&conn->qp->prot, atomic->stag, atomic->to, sizeof(uint64_t),
				 TP_ACCESS_REMOTE_ATOMIC, mem);
	if (soft_atomic_known(atomic)) {
		if (result) {
			access_fault(conn, result, ddp, NULL);
			return false;
		}
		if ((uintptr_t)*mem % sizeof(uint64_t) == 0)
			return true;
		code = WIRE_OPER_STREAM; /* RFC 7306 section 8.2 */
	}
	fault = peer_fault(ddp, WIRE_LAYER_RDMAP, WIRE_RDMAP_OPERATION, code);
	soft_conn_fail(conn, &fault);
	return false;
}

/* In one step for all who see the memory (IBX-43). */
static __attribute__((noinline)) uint64_t do_atomic(const struct soft_atomic *atomic, uint64_t *mem)
{
	uint64_t old = __atomic_load_n(mem, __ATOMIC_RELAXED);

	while (!__atomic_compare_exchange_n(mem, &old, soft_atomic_result(atomic, old), true,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		;
	return old;
}

/* false: the memory is gone. */
static bool try_atomic(const struct soft_atomic *atomic, uint64_t *mem, uint64_t *value)
{
	const struct iovec where = { .iov_base = mem, .iov_len = sizeof(*mem) };
	struct soft_guard guard;

	if (sigsetjmp(guard.env, 0))
		return false;
	soft_guard_enter(&guard, &where, 1);
	*value = do_atomic(atomic, mem);
	soft_guard_leave();
	return true;
}

/* Done as soon as it is here, once its answer has a place; the answer follows those before it. */
static bool atomic_arrived(struct soft_conn *conn, const struct soft_ddp *ddp, const uint8_t *data)
{
	struct soft_response *response;
	struct soft_atomic atomic;
	uint8_t *mem;

	soft_rdmap_get_atomic(data, &atomic);
	if (!atomic_valid(conn, ddp, &atomic, &mem))
		return false;
	response = soft_tx_respond(conn, ddp);
	if (!response)
		return too_many(conn, ddp);
	response->id = atomic.id;
	if (!try_atomic(&atomic, (uint64_t *)(void *)mem, &response->value)) {
		access_fault(conn, SOFT_STAG_INVALID, ddp, NULL);
		return false;
	}
	conn->qp->due |= SOFT_DRIVE_TX;
	return true;
}

static bool request_arrived(struct soft_conn *conn, const struct soft_ddp *ddp, const uint8_t *data)
{
	return ddp->opcode == WIRE_OP_READ_REQUEST ? read_arrived(conn, ddp, data)
						   : atomic_arrived(conn, ddp, data);
}

/* Whether a request under way is the one a Terminate names; without a header it is the oldest one.
 */
static bool named(const struct soft_sqe *sqe, const struct soft_terminate *term)
{
	const struct soft_ddp *ddp = &term->ddp;

	if (!term->has_ddp)
		return true;
	if (ddp->tagged)
		return sqe->opcode <= TP_RDMA_WRITE_IMM && sqe->rkey == ddp->stag &&
		       ddp->to - sqe->remote_addr <= sqe->length;
	return ddp->msn == sqe->msn && sqe->opcode != TP_RDMA_WRITE &&
	       (ddp->qn == WIRE_QN_READ) == !!(sqe->flags & SOFT_WR_CAREFUL);
}

/* The request that the peer's Terminate is about gets the status that goes with it (DTO-84). */
static void blame(struct soft_conn *conn, const struct soft_terminate *term)
{
	struct soft_qp *qp = conn->qp;
	struct soft_sqe *sqe;

	/* An error of the peer's own is no answer to any of our requests, unless it names one. */
	if (!term->has_ddp && term->error.etype == WIRE_RDMAP_CATASTROPHIC)
		return;
	for (uint32_t i = atomic_load(&qp->sq.head); i != atomic_load(&qp->sq.tail); i++) {
		sqe = soft_sqe(qp, i);
		if (sqe->started && !sqe->done && named(sqe, term)) {
			sqe->status = (uint8_t)soft_error_status(&term->error);
			break;
		}
	}
}

static bool done_terminate(struct soft_conn *conn)
{
	struct soft_fault fault = {
		.event = TP_CONN_BROKEN,
		.err = -EREMOTEIO,
		.received = true,
		.recv_status = TP_WC_FLUSHED,
	};

	if (!soft_rdmap_get_terminate(conn->rx.control, conn->rx.pos, &fault.term))
		fault.err = -EPROTO;
	blame(conn, &fault.term);
	fault.transport = fault.term.error.layer == WIRE_LAYER_MPA;
	soft_conn_fail(conn, &fault);
	return false;
}

static bool done_control(struct soft_conn *conn)
{
	struct soft_rx *rx = &conn->rx;

	switch (rx->ddp.opcode) {
	case WIRE_OP_IMMEDIATE:
	case WIRE_OP_IMMEDIATE_SE:
		deliver_immediate(conn, &rx->ddp, rx->control, rx->wrote, rx->written);
		send_arrived(rx);
		return true;
	case WIRE_OP_ATOMIC_RESPONSE:
		return done_atomic_response(conn);
	case WIRE_OP_TERMINATE:
		return done_terminate(conn);
	default:
		rx->msn[WIRE_QN_READ]++;
		return request_arrived(conn, &rx->ddp, rx->control);
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
		if (!deliver(conn, &rx->ddp, rx->pos))
			return false;
		send_arrived(rx);
		return true;
	case SOFT_SINK_HELD:
		done_held(rx);
		return true;
	default:
		return done_control(conn);
	}
}

/* ---- Messages that came before their Receive ---- */

static bool replay_send(struct soft_conn *conn, const struct soft_held *held)
{
	struct iovec iov[SOFT_MAX_SGE];
	const uint8_t *src = held->data;
	int num;

	if ((uint64_t)held->ddp.mo + held->len > soft_recv_room(conn->qp))
		return recv_fault(conn, &held->ddp, TP_WC_LOCAL_LENGTH);
	num = soft_recv_iov(conn->qp, held->ddp.mo, held->len, iov, SOFT_MAX_SGE);
	if (num < 0)
		return recv_fault(conn, &held->ddp, TP_WC_LOCAL_PROTECTION);
	for (int i = 0; i < num; i++) {
		if (!soft_copy_in(iov[i].iov_base, src, iov[i].iov_len))
			return recv_fault(conn, &held->ddp, TP_WC_LOCAL_PROTECTION);
		src += iov[i].iov_len;
	}
	return deliver(conn, &held->ddp, held->len);
}

static bool replay(struct soft_conn *conn, const struct soft_held *held)
{
	switch (held->ddp.opcode) {
	case WIRE_OP_IMMEDIATE:
	case WIRE_OP_IMMEDIATE_SE:
		deliver_immediate(conn, &held->ddp, held->data, held->wrote, held->written);
		return true;
	case WIRE_OP_READ_REQUEST:
	case WIRE_OP_ATOMIC_REQUEST:
		return request_arrived(conn, &held->ddp, held->data);
	default:
		return replay_send(conn, held);
	}
}

bool soft_place_held(struct soft_conn *conn)
{
	struct soft_rx *rx = &conn->rx;
	struct soft_held *held;

	while ((held = rx->held) && (held->ddp.qn != WIRE_QN_SEND || soft_recv_ready(conn->qp))) {
		if (!replay(conn, held))
			return false;
		rx->held = held->next;
		if (!rx->held)
			rx->held_end = &rx->held;
		rx->held_bytes -= sizeof(*held) + held->len;
		free(held);
	}
	return true;
}
