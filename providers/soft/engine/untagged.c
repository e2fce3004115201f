/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/soft/engine/rx.h"

#include <stdlib.h>
#include <string.h>

#include "providers/soft/base/config.h"
#include "providers/soft/base/device.h"
#include "providers/soft/engine/conn.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/engine/srq.h"
#include "providers/soft/engine/tx.h"
#include "providers/soft/memory/copy.h"
#include "providers/soft/memory/window.h"

/* ---- Beginnings ---- */

static int untagged_fault(struct soft_conn *conn, uint8_t code)
{
	soft_conn_refuse(conn, (struct soft_error){ WIRE_LAYER_DDP, WIRE_DDP_ETYPE_UNTAGGED, code },
			 &conn->rx.ddp, NULL);
	return -1;
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
		soft_fault_recv(conn, ddp, TP_WC_LOCAL_LENGTH);
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

int soft_untagged_begin(struct soft_conn *conn)
{
	switch (conn->rx.ddp.opcode) {
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

/* What a Send asks to be invalidated is so before its Receive completes (DTO-58, DTO-61). */
static bool invalidate(struct soft_conn *conn, const struct soft_ddp *ddp, struct tp_wc *wc)
{
	struct soft_fault fault;

	if (!soft_window_invalidate(&conn->qp->prot, ddp->stag)) {
		fault = soft_fault_of_peer(ddp, WIRE_LAYER_RDMAP, WIRE_RDMAP_PROTECTION,
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

static void send_arrived(struct soft_rx *rx)
{
	rx->wrote = false;
	rx->send_mo += rx->pos;
	if (!rx->ddp.last)
		return;
	rx->send_mo = 0;
	rx->msn[WIRE_QN_SEND]++;
}

bool soft_untagged_done_send(struct soft_conn *conn)
{
	if (!deliver(conn, &conn->rx.ddp, conn->rx.pos))
		return false;
	send_arrived(&conn->rx);
	return true;
}

bool soft_untagged_plain_send(struct soft_conn *conn, const uint8_t *ddp, const uint8_t *payload,
			      uint32_t len)
{
	const struct tp_wc wc = { .status = TP_WC_SUCCESS, .flags = TP_WC_RECV, .byte_len = len };
	struct soft_rx *rx = &conn->rx;
	struct wire_ddp_untagged header;

	memcpy(&header, ddp, sizeof(header));
	if (header.ddp != (WIRE_DDP_V1 | WIRE_DDP_LAST) ||
	    header.rdmap != (WIRE_RDMAP_V1 | WIRE_OP_SEND) || header.qn || header.mo ||
	    header.msn != htobe32(rx->msn[WIRE_QN_SEND]) || rx->send_mo || rx->held ||
	    !soft_recv_plain(conn->qp, payload, len))
		return false;
	rx->wrote = false;
	rx->msn[WIRE_QN_SEND]++;
	soft_complete_recv(conn->qp, &wc);
	return true;
}

bool soft_untagged_may_lie(const struct soft_conn *conn, const uint8_t *ddp)
{
	const struct soft_qp *qp = conn->qp;
	struct wire_ddp_untagged header;

	memcpy(&header, ddp, sizeof(header));
	return !(header.ddp & WIRE_DDP_TAGGED) && header.qn == htobe32(WIRE_QN_SEND) &&
	       !soft_ring_used(&qp->rq) && !(qp->srq && soft_ring_used(&qp->srq->ring)) &&
	       !conn->rx.hold_all && !atomic_load(&conn->rx_stalled) &&
	       atomic_load_explicit(&qp->rq.head, memory_order_relaxed) != conn->rx.run_head;
}

void soft_untagged_done_immediate(struct soft_conn *conn)
{
	struct soft_rx *rx = &conn->rx;

	deliver_immediate(conn, &rx->ddp, rx->control, rx->wrote, rx->written);
	send_arrived(rx);
}

void soft_untagged_done_held(struct soft_conn *conn)
{
	struct soft_rx *rx = &conn->rx;

	*rx->held_end = rx->filling;
	rx->held_end = &rx->filling->next;
	rx->filling = NULL;
	if (rx->ddp.qn == WIRE_QN_SEND)
		send_arrived(rx);
	else
		rx->msn[rx->ddp.qn]++;
}

/* ---- Messages that came before their Receive ---- */

static bool replay_send(struct soft_conn *conn, const struct soft_held *held)
{
	struct iovec iov[SOFT_MAX_SGE];
	const uint8_t *src = held->data;
	int num;

	if ((uint64_t)held->ddp.mo + held->len > soft_recv_room(conn->qp))
		return soft_fault_recv(conn, &held->ddp, TP_WC_LOCAL_LENGTH);
	num = soft_recv_iov(conn->qp, held->ddp.mo, held->len, iov, SOFT_MAX_SGE);
	if (num < 0)
		return soft_fault_recv(conn, &held->ddp, TP_WC_LOCAL_PROTECTION);
	for (int i = 0; i < num; i++) {
		if (!soft_copy_in(iov[i].iov_base, src, iov[i].iov_len))
			return soft_fault_recv(conn, &held->ddp, TP_WC_LOCAL_PROTECTION);
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
		return soft_response_asked(conn, &held->ddp, held->data);
	default:
		return replay_send(conn, held);
	}
}

bool soft_untagged_replay(struct soft_conn *conn)
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
