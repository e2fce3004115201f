/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/soft/engine/tx.h"

#include <string.h>

#include "providers/soft/engine/conn.h"
#include "providers/soft/engine/drive.h"
#include "providers/soft/engine/fpdu.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/link/link.h"
#include "providers/soft/memory/window.h"

void soft_request_fail(struct soft_conn *conn, struct soft_sqe *sqe, uint32_t status)
{
	const char *why = "an RDMA Read was posted, but the peer accepts none";

	if (status == TP_WC_LOCAL_PROTECTION)
		why = "a request's segment is not in memory registered for it";
	else if (status == TP_WC_BIND_FAILED)
		why = "a memory window was to be bound to memory that is not there for it";
	sqe->status = (uint8_t)status;
	soft_response_give_up(&conn->tx);
	soft_conn_refuse(conn, (struct soft_error){ WIRE_LAYER_RDMAP, WIRE_RDMAP_CATASTROPHIC, 0 },
			 NULL, why);
}

/* ---- Its memory ---- */

/* Names the memory of zero-based segments, which have just been checked. */
static __attribute__((noinline)) void request_translate(struct soft_conn *conn,
							struct soft_sqe *sqe)
{
	uint32_t left = sqe->length, n;
	uint8_t *mem;

	for (uint32_t i = 0; left; i++, left -= n) {
		n = sqe->sge[i].length < left ? sqe->sge[i].length : left;
		soft_stag_check(&conn->qp->prot, sqe->sge[i].lkey, sqe->sge[i].addr, n, 0, &mem);
		sqe->sge[i].addr = (uintptr_t)mem;
	}
}

/* Whether all local bytes of a request that starts are registered for it. */
static inline bool request_valid(struct soft_conn *conn, struct soft_sqe *sqe)
{
	uint32_t access = soft_sqe_access(sqe), left = sqe->length, n;
	struct tp_sge *sge = sqe->sge, *end = sge + sqe->num_sge;
	uint64_t moved = 0;
	uint8_t *mem;

	for (; left && sge < end; sge++, left -= n) {
		n = sge->length < left ? sge->length : left;
		if (soft_stag_check(&conn->qp->prot, sge->lkey, sge->addr, n, access, &mem))
			return false;
		moved |= (uintptr_t)mem - sge->addr;
	}
	if (!left && moved)
		request_translate(conn, sqe);
	return !left;
}

/* Whether those of one that has started still are. */
static __attribute__((noinline)) bool request_holds(struct soft_conn *conn,
						    const struct soft_sqe *sqe)
{
	uint32_t access = soft_sqe_access(sqe), left = sqe->length, n;

	for (uint32_t i = 0; left; i++, left -= n) {
		n = sqe->sge[i].length < left ? sqe->sge[i].length : left;
		if (!soft_stag_holds(&conn->qp->prot, sqe->sge[i].lkey,
				     (const uint8_t *)(uintptr_t)sqe->sge[i].addr, n, access))
			return false;
	}
	return true;
}

/*
 * The memory of a request is looked up once per stay in the lock: while that is held no key goes
 * away. A fault is left for when the batch is empty: what is in it was posted before.
 */
static __attribute__((noinline)) bool request_fault(struct soft_conn *conn, struct soft_sqe *sqe,
						    uint32_t status)
{
	if (soft_tx_idle(&conn->tx))
		soft_request_fail(conn, sqe, status);
	return false;
}

/* Adds payload bytes of the request under way, which is valid; false: they are gone. */
static bool request_payload(struct soft_tx *tx, struct fpdu *fpdu, const struct soft_sqe *sqe,
			    uint32_t len)
{
	bool copy = len <= copy_max(tx);
	const struct tp_sge *sge;
	uint32_t n;

	while (len) {
		sge = &sqe->sge[tx->sge];
		n = sge->length - tx->sge_off < len ? sge->length - tx->sge_off : len;
		if (!fpdu_payload(tx, fpdu, (const uint8_t *)(uintptr_t)(sge->addr + tx->sge_off),
				  n, sge->lkey, copy))
			return false;
		len -= n;
		tx->sge_off += n;
		if (tx->sge_off == sge->length) {
			tx->sge++;
			tx->sge_off = 0;
		}
	}
	return true;
}

/* ---- In flight ---- */

/* The request that has been built goes into the list of those that await an answer. */
static void add_flight(struct soft_conn *conn, enum soft_flight_kind kind, uint32_t index)
{
	struct soft_tx *tx = &conn->tx;

	tx->flight[(tx->flight_head + tx->reads++) & tx->flight_mask] =
		(struct soft_flight){ .index = index, .kind = kind };
	tx->mark[tx->mark_num - 1].asks = true;
	/* The answer comes behind what the connection is not read for. */
	if (atomic_load(&conn->rx_stalled))
		conn->qp->due |= SOFT_DRIVE_RX;
}

const struct soft_flight *soft_request_oldest(const struct soft_conn *conn)
{
	const struct soft_tx *tx = &conn->tx;

	return tx->asked ? &tx->flight[tx->flight_head & tx->flight_mask] : NULL;
}

/* ---- FPDUs ---- */

static void request_all_built(struct soft_conn *conn)
{
	conn->qp->sq_next++;
	conn->tx.source = SOFT_TX_NONE;
}

static void put_read(const struct soft_tx *tx, uint8_t *buf, const struct soft_sqe *sqe)
{
	struct soft_read_request read = {
		.sink_stag = soft_request_tag(tx, sqe->msn),
		.size = sqe->length,
		.source_stag = sqe->rkey,
		.source_to = sqe->remote_addr,
	};

	soft_rdmap_put_read(buf, &read);
}

static void put_atomic(const struct soft_tx *tx, uint8_t *buf, struct soft_sqe *sqe)
{
	const struct soft_operands *operands = soft_sqe_operands(sqe);
	struct soft_atomic atomic = {
		.id = soft_request_tag(tx, sqe->msn),
		.stag = sqe->rkey,
		.to = sqe->remote_addr,
		.compare_mask = UINT64_MAX,
	};

	if (sqe->opcode == TP_FETCH_AND_ADD) {
		atomic.code = WIRE_ATOMIC_FETCH_ADD;
		atomic.data = operands->compare_add;
	} else {
		atomic.code = WIRE_ATOMIC_CMP_SWAP;
		atomic.data = operands->swap;
		atomic.mask = UINT64_MAX;
		atomic.compare = operands->compare_add;
	}
	soft_rdmap_put_atomic(buf, &atomic);
}

/* A read or an atomic. */
static void add_fetch(struct soft_conn *conn, struct soft_sqe *sqe)
{
	struct soft_tx *tx = &conn->tx;
	struct fpdu fpdu;

	if (tp_is_atomic(sqe->opcode)) {
		fpdu = fpdu_begin_untagged(tx, WIRE_OP_ATOMIC_REQUEST, WIRE_QN_READ, sqe->msn,
					   sizeof(struct wire_atomic_request));
		put_atomic(tx, fpdu.header + WIRE_DDP_UNTAGGED_SIZE, sqe);
	} else {
		fpdu = fpdu_begin_untagged(tx, WIRE_OP_READ_REQUEST, WIRE_QN_READ, sqe->msn,
					   sizeof(struct wire_read_request));
		put_read(tx, fpdu.header + WIRE_DDP_UNTAGGED_SIZE, sqe);
	}
	fpdu_end_control(tx, &fpdu, SOFT_TX_REQUEST);
	add_flight(conn, SOFT_FLIGHT_REQUEST, conn->qp->sq_next);
	request_all_built(conn);
}

/* What follows an RDMA Write that carries an immediate (RFC 7306 section 6). */
static void add_immediate(struct soft_conn *conn, const struct soft_sqe *sqe)
{
	uint8_t opcode = sqe->flags & TP_WR_SOLICITED ? WIRE_OP_IMMEDIATE_SE : WIRE_OP_IMMEDIATE;
	struct soft_tx *tx = &conn->tx;
	struct fpdu fpdu =
		fpdu_begin_untagged(tx, opcode, WIRE_QN_SEND, sqe->msn, WIRE_IMMEDIATE_SIZE);
	uint8_t *data = fpdu.header + WIRE_DDP_UNTAGGED_SIZE;

	/* Four of the eight bytes, as they lie here (IBX-50). */
	memset(data, 0, WIRE_IMMEDIATE_SIZE);
	memcpy(data, &sqe->data, sizeof(sqe->data));
	fpdu_end_control(tx, &fpdu, SOFT_TX_REQUEST);
	tx->immediate = false;
	tx->prove_due = tx->prove;
	request_all_built(conn);
}

static __attribute__((noinline)) void put_send_invalidate(uint8_t *buf, const struct soft_sqe *sqe,
							  bool last, uint32_t mo)
{
	soft_ddp_put_untagged(buf,
			      sqe->flags & TP_WR_SOLICITED ? WIRE_OP_SEND_SE_INVALIDATE
							   : WIRE_OP_SEND_INVALIDATE,
			      last, WIRE_QN_SEND, sqe->msn, mo);
	soft_ddp_put_invalidate(buf, sqe->data);
}

static inline bool is_write(const struct soft_sqe *sqe)
{
	return sqe->opcode <= TP_RDMA_WRITE_IMM;
}

/* The header of a data segment of a request. */
static void put_header(uint8_t *buf, const struct soft_sqe *sqe, bool last, uint32_t offset)
{
	if (is_write(sqe))
		soft_ddp_put_tagged(buf, WIRE_OP_WRITE, last, sqe->rkey, sqe->remote_addr + offset);
	else if (sqe->opcode == TP_SEND)
		soft_ddp_put_untagged(buf,
				      sqe->flags & TP_WR_SOLICITED ? WIRE_OP_SEND_SE : WIRE_OP_SEND,
				      last, WIRE_QN_SEND, sqe->msn, offset);
	else
		put_send_invalidate(buf, sqe, last, offset);
}

bool soft_request_add(struct soft_conn *conn)
{
	struct soft_sqe *sqe = soft_sqe(conn->qp, conn->qp->sq_next);
	struct soft_tx *tx = &conn->tx;
	uint32_t header, n, max, left = sqe->length - tx->offset;
	uint32_t sge = tx->sge, sge_off = tx->sge_off;
	struct fpdu fpdu;
	bool last;

	if (tx->immediate) {
		add_immediate(conn, sqe);
		return true;
	}
	if (!tx->fresh && !request_holds(conn, sqe))
		return request_fault(conn, sqe, TP_WC_LOCAL_PROTECTION);
	tx->fresh = true;
	if (sqe->flags & SOFT_WR_CAREFUL) {
		add_fetch(conn, sqe);
		return true;
	}
	header = is_write(sqe) ? WIRE_DDP_TAGGED_SIZE : WIRE_DDP_UNTAGGED_SIZE;
	max = payload_max(tx, header);
	last = left <= max;
	n = last ? left : max;
	fpdu = fpdu_begin(tx, header, n);
	put_header(fpdu.header, sqe, last, tx->offset);
	fpdu_header_done(tx, &fpdu, header);
	if (!request_payload(tx, &fpdu, sqe, n)) {
		fpdu_drop(tx);
		tx->sge = sge;
		tx->sge_off = sge_off;
		return request_fault(conn, sqe, TP_WC_LOCAL_PROTECTION);
	}
	tx->offset += n;
	tx->immediate = last && sqe->opcode == TP_RDMA_WRITE_IMM;
	fpdu_end(tx, &fpdu, SOFT_TX_REQUEST, last && !tx->immediate);
	if (last && !tx->immediate) {
		tx->prove_due = tx->prove;
		request_all_built(conn);
	}
	return true;
}

/* ---- Which is next ---- */

/*
 * The next request is a binding. It is done once all before it are sent and no read is in flight:
 * RMR-10 lets what is behind it wait.
 */
static __attribute__((noinline)) bool bind_step(struct soft_conn *conn, struct soft_sqe *sqe)
{
	struct soft_tx *tx = &conn->tx;

	if (!soft_tx_idle(tx) || tx->reads || tx->bind_wait || soft_conn_dead(conn))
		return false;
	switch (soft_window_bind(&conn->qp->prot, soft_sqe_bind(sqe), sqe->rkey)) {
	case SOFT_BIND_DONE:
		sqe->done = true;
		conn->qp->sq_next++;
		tx->sq_sent++;
		soft_complete_sends(conn->qp);
		break;
	case SOFT_BIND_FAILED:
		soft_request_fail(conn, sqe, TP_WC_BIND_FAILED);
		break;
	case SOFT_BIND_LATER:
		tx->bind_wait = true;
		atomic_store(&conn->clear_wanted, true);
		dapl_loop_post(conn->base.dev->loop, &conn->task);
	}
	return sqe->done;
}

/* Whether one that may have to wait for reads can start. */
static bool request_free(const struct soft_tx *tx, const struct soft_sqe *sqe)
{
	if ((sqe->flags & TP_WR_FENCE) && tx->reads)
		return false;
	return !(sqe->flags & SOFT_WR_CAREFUL) || tx->reads < tx->ord || !tx->ord;
}

bool soft_request_ready(struct soft_conn *conn)
{
	struct soft_qp *qp = conn->qp;
	struct soft_tx *tx = &conn->tx;
	enum soft_direct direct;
	struct soft_sqe *sqe;

	while (!tx->hold && qp->sq_next != atomic_load(&qp->sq.tail) && !soft_conn_over(conn)) {
		sqe = soft_sqe(qp, qp->sq_next);
		direct = soft_direct_request(conn, sqe);
		if (direct == SOFT_DIRECT_DONE)
			continue;
		if (direct == SOFT_DIRECT_LATER)
			return false;
		if (!(sqe->flags & (TP_WR_FENCE | SOFT_WR_CAREFUL)))
			return true;
		if (sqe->opcode != SOFT_OP_BIND)
			return request_free(tx, sqe);
		if (!bind_step(conn, sqe))
			return false;
	}
	return false;
}

bool soft_request_start(struct soft_conn *conn)
{
	struct soft_sqe *sqe = soft_sqe(conn->qp, conn->qp->sq_next);
	struct soft_tx *tx = &conn->tx;

	if ((sqe->flags & SOFT_WR_CAREFUL) && !tx->ord)
		return request_fault(conn, sqe, TP_WC_REMOTE_RESPONDER);
	if (!request_valid(conn, sqe))
		return request_fault(conn, sqe, TP_WC_LOCAL_PROTECTION);
	tx->fresh = true;
	tx->source = SOFT_TX_REQUEST;
	tx->offset = tx->sge = tx->sge_off = 0;
	sqe->started = true;
	if (sqe->flags & SOFT_WR_CAREFUL)
		sqe->msn = tx->msn[WIRE_QN_READ]++;
	else if (sqe->opcode != TP_RDMA_WRITE)
		sqe->msn = tx->msn[WIRE_QN_SEND]++;
	return true;
}

void soft_request_sent(struct soft_conn *conn)
{
	struct soft_sqe *sqe = soft_sqe(conn->qp, conn->tx.sq_sent++);

	sqe->done = !(sqe->flags & SOFT_WR_CAREFUL) && !conn->tx.prove;
}

/* ---- Without a place in the queue and in a batch ---- */

/* Whether a request can be sent before anything else. */
static bool may_go(const struct soft_qp *qp, uint32_t ulpdu)
{
	const struct soft_conn *conn = qp->conn;
	const struct soft_tx *tx;

	if (!conn || soft_conn_over(conn) || soft_ring_used(&qp->sq))
		return false;
	tx = &conn->tx;
	/* Without hold the link is what it is: before that the loop may change it. */
	return !tx->hold && tx->plain && conn->link->class->reserve && soft_tx_idle(tx) &&
	       tx->source == SOFT_TX_NONE && !tx->rtr && !soft_response_owed(tx) &&
	       ulpdu <= tx->mulpdu && !conn->draining && !conn->tx_err;
}

/* Its memory is looked up and copied; false: that cannot be. */
static bool put_payload(const struct soft_qp *qp, const struct tp_wr *wr, uint8_t *place)
{
	const struct tp_sge *sge = wr->sge;
	uint32_t left = wr->length, n;
	uint8_t *mem;

	for (uint32_t i = 0; left && i < wr->num_sge; i++, sge++) {
		n = sge->length < left ? sge->length : left;
		if (!n)
			continue;
		if (soft_stag_check(&qp->prot, sge->lkey, sge->addr, n, SOFT_ACCESS_LOCAL_READ,
				    &mem) ||
		    !soft_copy_out(place, mem, n))
			return false;
		place += n;
		left -= n;
	}
	return !left;
}

static void put_wr_header(const struct soft_tx *tx, const struct tp_wr *wr, uint8_t *ddp)
{
	if (wr->opcode == TP_RDMA_WRITE)
		soft_ddp_put_tagged(ddp, WIRE_OP_WRITE, true, wr->rkey, wr->remote_addr);
	else
		soft_ddp_put_untagged(ddp,
				      wr->flags & TP_WR_SOLICITED ? WIRE_OP_SEND_SE : WIRE_OP_SEND,
				      true, WIRE_QN_SEND, tx->msn[WIRE_QN_SEND], 0);
}

static void sent_at_once(struct soft_qp *qp, const struct tp_wr *wr)
{
	qp->moved++;
	if (wr->flags & TP_WR_SIGNALED)
		soft_complete_at_once(qp, wr->wr_id);
}

bool soft_request_at_once(struct soft_qp *qp, const struct tp_wr *wr)
{
	uint32_t header = wr->opcode == TP_SEND ? WIRE_DDP_UNTAGGED_SIZE : WIRE_DDP_TAGGED_SIZE;
	uint32_t ulpdu = header + wr->length, size = soft_mpa_fpdu(ulpdu);
	uint16_t length = htobe16((uint16_t)ulpdu);
	struct soft_link *link;
	struct soft_tx *tx;
	uint8_t *place;

	if (!may_go(qp, ulpdu))
		return false;
	link = qp->conn->link;
	tx = &qp->conn->tx;
	if (wr->opcode == TP_RDMA_WRITE && link->class->direct && soft_direct_write(qp, wr)) {
		sent_at_once(qp, wr);
		return true;
	}
	place = link->class->reserve(link, size);
	if (!place || !put_payload(qp, wr, place + WIRE_MPA_LENGTH + header))
		return false;
	memcpy(place, &length, sizeof(length));
	put_wr_header(tx, wr, place + WIRE_MPA_LENGTH);
	memset(place + WIRE_MPA_LENGTH + ulpdu, 0, soft_mpa_pad(ulpdu) + WIRE_MPA_CRC_SIZE);
	link->class->commit(link, size);
	tx->msn[WIRE_QN_SEND] += wr->opcode == TP_SEND;
	tx->tail = 0;
	sent_at_once(qp, wr);
	return true;
}

/* ---- The ready-to-receive message ---- */

/* A read of nothing, which is answered all the same. */
static void add_empty_read(struct soft_conn *conn, enum soft_tx_source source,
			   enum soft_flight_kind kind)
{
	struct soft_tx *tx = &conn->tx;
	struct fpdu fpdu =
		fpdu_begin_untagged(tx, WIRE_OP_READ_REQUEST, WIRE_QN_READ, tx->msn[WIRE_QN_READ]++,
				    sizeof(struct wire_read_request));

	memset(fpdu.header + WIRE_DDP_UNTAGGED_SIZE, 0, sizeof(struct wire_read_request));
	fpdu_end_control(tx, &fpdu, source);
	add_flight(conn, kind, conn->qp->sq_next);
}

void soft_request_add_rtr(struct soft_conn *conn)
{
	struct soft_tx *tx = &conn->tx;
	struct fpdu fpdu;

	if (tx->rtr == 1 + WIRE_OP_READ_REQUEST) {
		add_empty_read(conn, SOFT_TX_RTR, SOFT_FLIGHT_RTR);
	} else if (tx->rtr == 1 + WIRE_OP_SEND) {
		fpdu = fpdu_begin_untagged(tx, WIRE_OP_SEND, WIRE_QN_SEND, tx->msn[WIRE_QN_SEND]++,
					   0);
		fpdu_end_control(tx, &fpdu, SOFT_TX_RTR);
	} else {
		fpdu = fpdu_begin(tx, WIRE_DDP_TAGGED_SIZE, 0);
		soft_ddp_put_tagged(fpdu.header, WIRE_OP_WRITE, true, 0, 0);
		fpdu_end_control(tx, &fpdu, SOFT_TX_RTR);
	}
	tx->rtr = 0;
	tx->source = SOFT_TX_NONE;
}

/* ---- Delayed acknowledgement ---- */

/*
 * iWARP has no acknowledgement of a Send or an RDMA Write. But a read is answered only after all
 * that was sent before it has been placed, and its Sends received (RFC 5040 section 5.5). So with
 * delayed acknowledgement a read of nothing follows the requests, and they complete when it is
 * answered: the target's program can see the data by then. One such read at a time, for all that
 * was built since the last one.
 */
bool soft_request_proof_ready(const struct soft_tx *tx)
{
	return tx->prove_due && !tx->prove_flying && tx->reads < tx->prove_depth;
}

void soft_request_add_proof(struct soft_conn *conn)
{
	struct soft_tx *tx = &conn->tx;

	add_empty_read(conn, SOFT_TX_PROOF, SOFT_FLIGHT_PROOF);
	tx->prove_due = false;
	tx->prove_flying = true;
	tx->source = SOFT_TX_NONE;
}

/* All requests before that one are proven. */
static void proven(struct soft_conn *conn, uint32_t end)
{
	struct soft_tx *tx = &conn->tx;
	struct soft_qp *qp = conn->qp;
	uint32_t head = atomic_load(&qp->sq.head), i = tx->prove_next;
	struct soft_sqe *sqe;

	if ((int32_t)(head - i) > 0)
		i = head;
	for (; i != end; i++) {
		sqe = soft_sqe(qp, i);
		if (!(sqe->flags & SOFT_WR_CAREFUL))
			sqe->done = true;
	}
	tx->prove_next = end;
	tx->prove_flying = false;
}

/* ---- Answers ---- */

void soft_request_answered(struct soft_conn *conn)
{
	const struct soft_flight *flight = soft_request_oldest(conn);
	struct soft_tx *tx = &conn->tx;

	tx->flight_head++;
	tx->reads--;
	tx->asked--;
	if (flight->kind == SOFT_FLIGHT_REQUEST)
		soft_sqe(conn->qp, flight->index)->done = true;
	else if (flight->kind == SOFT_FLIGHT_PROOF)
		proven(conn, flight->index);
	soft_complete_sends(conn->qp);
}
