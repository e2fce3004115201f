/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The outgoing side: requests and read responses are cut into FPDUs, several FPDUs make a batch,
 * and the batch goes to the link in one call. A batch refers to the program's memory, so before
 * what is left of one is tried again its keys are looked up again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/uio.h>

#include "providers/soft/base/config.h"
#include "providers/soft/base/counters.h"
#include "providers/soft/base/device.h"
#include "providers/soft/engine/conn.h"
#include "providers/soft/engine/complete.h"
#include "providers/soft/engine/drive.h"
#include "providers/soft/engine/watch.h"
#include "providers/soft/engine/fpdu.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/link/link.h"
#include "providers/soft/wire/mpa.h"
#include "trace/log.h"

enum {
	RUN_BYTES = 2 << 20,	  /* so much goes out before others get their turn */
	MARKED_MULPDU = 8192,	  /* with markers every byte is copied: keep it small */
	FIRST_ADJUST = 128 << 10, /* so much is sent before the segment size is looked at again */
	ADJUST_BYTES = 64 << 20,
};

/* ---- Faults ---- */

static void local_fault(struct soft_conn *conn, struct soft_sqe *sqe, uint32_t status)
{
	const char *why = "an RDMA Read was posted, but the peer accepts none";

	if (status == TP_WC_LOCAL_PROTECTION)
		why = "a request's segment is not in memory registered for it";
	else if (status == TP_WC_BIND_FAILED)
		why = "a memory window was to be bound to memory that is not there for it";
	sqe->status = (uint8_t)status;
	soft_conn_refuse(conn, (struct soft_error){ WIRE_LAYER_RDMAP, WIRE_RDMAP_CATASTROPHIC, 0 },
			 NULL, why);
}

static uint8_t protection_code(enum soft_stag_result result)
{
	static const uint8_t codes[] = {
		[SOFT_STAG_INVALID] = WIRE_PROT_STAG,  [SOFT_STAG_BOUNDS] = WIRE_PROT_BOUNDS,
		[SOFT_STAG_ACCESS] = WIRE_PROT_ACCESS, [SOFT_STAG_PD] = WIRE_PROT_STREAM,
		[SOFT_STAG_WRAP] = WIRE_PROT_WRAP,
	};

	return codes[result];
}

/* The source of a read is not (or no longer) the peer's to read. */
static void read_fault(struct soft_conn *conn, const struct soft_response *response,
		       enum soft_stag_result result)
{
	struct soft_fault fault = {
		.event = TP_CONN_BROKEN,
		.err = -EACCES,
		.async = true,
		.terminate = true,
		.recv_status = TP_WC_FLUSHED,
	};
	uint32_t done = response->offset;

	fault.term.error.layer = WIRE_LAYER_RDMAP;
	fault.term.error.etype = WIRE_RDMAP_PROTECTION;
	fault.term.error.code = protection_code(result);
	fault.term.has_ddp = true;
	fault.term.ddp = response->ddp;
	fault.term.has_read = true;
	fault.term.read = response->read;
	fault.term.read.sink_to += done;
	fault.term.read.source_to += done;
	fault.term.read.size -= done;
	soft_conn_fail(conn, &fault);
}

/* ---- Requests ---- */

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
		local_fault(conn, sqe, status);
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

static void request_all_built(struct soft_conn *conn)
{
	conn->qp->sq_next++;
	conn->tx.source = SOFT_TX_NONE;
}

/* The request that has been built goes into the list of those that await an answer. */
static void add_flight(struct soft_conn *conn, enum soft_flight_kind kind, uint32_t index)
{
	struct soft_tx *tx = &conn->tx;

	tx->flight[(tx->flight_head + tx->reads++) & tx->flight_mask] =
		(struct soft_flight){ .index = index, .kind = kind };
	/* The answer comes behind what the connection is not read for. */
	if (atomic_load(&conn->rx_stalled))
		conn->qp->due |= SOFT_DRIVE_RX;
}

static void put_read(const struct soft_tx *tx, uint8_t *buf, const struct soft_sqe *sqe)
{
	struct soft_read_request read = {
		.sink_stag = soft_tx_sink_tag(tx, sqe->msn),
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
		.id = soft_tx_sink_tag(tx, sqe->msn),
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
	bool atomic = soft_sqe_is_atomic(sqe);
	struct soft_tx *tx = &conn->tx;
	uint32_t header = WIRE_DDP_UNTAGGED_SIZE;
	struct fpdu fpdu;

	header += atomic ? sizeof(struct wire_atomic_request) : sizeof(struct wire_read_request);
	fpdu = fpdu_begin(tx, header, 0);
	soft_ddp_put_untagged(fpdu.header, atomic ? WIRE_OP_ATOMIC_REQUEST : WIRE_OP_READ_REQUEST,
			      true, WIRE_QN_READ, sqe->msn, 0);
	if (atomic)
		put_atomic(tx, fpdu.header + WIRE_DDP_UNTAGGED_SIZE, sqe);
	else
		put_read(tx, fpdu.header + WIRE_DDP_UNTAGGED_SIZE, sqe);
	fpdu_header_done(tx, &fpdu, header);
	fpdu_end(tx, &fpdu, SOFT_TX_REQUEST, true);
	add_flight(conn, SOFT_FLIGHT_REQUEST, conn->qp->sq_next);
	request_all_built(conn);
}

/* What follows an RDMA Write that carries an immediate (RFC 7306 section 6). */
static void add_immediate(struct soft_conn *conn, const struct soft_sqe *sqe)
{
	uint32_t header = WIRE_DDP_UNTAGGED_SIZE + WIRE_IMMEDIATE_SIZE;
	struct soft_tx *tx = &conn->tx;
	struct fpdu fpdu = fpdu_begin(tx, header, 0);
	uint8_t *data = fpdu.header + WIRE_DDP_UNTAGGED_SIZE;

	soft_ddp_put_untagged(fpdu.header,
			      sqe->flags & TP_WR_SOLICITED ? WIRE_OP_IMMEDIATE_SE
							   : WIRE_OP_IMMEDIATE,
			      true, WIRE_QN_SEND, sqe->msn, 0);
	/* Four of the eight bytes, as they lie here (IBX-50). */
	memset(data, 0, WIRE_IMMEDIATE_SIZE);
	memcpy(data, &sqe->data, sizeof(sqe->data));
	fpdu_header_done(tx, &fpdu, header);
	fpdu_end(tx, &fpdu, SOFT_TX_REQUEST, true);
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

/* Adds the next FPDU of the request under way; false on a fault. */
static bool add_request(struct soft_conn *conn)
{
	struct soft_sqe *sqe = soft_sqe(conn->qp, conn->qp->sq_next);
	struct soft_tx *tx = &conn->tx;
	uint32_t header, n, left = sqe->length - tx->offset;
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
	last = left <= tx->mulpdu - header;
	n = last ? left : tx->mulpdu - header;
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

/* ---- Bindings ---- */

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
		local_fault(conn, sqe, TP_WC_BIND_FAILED);
		break;
	case SOFT_BIND_LATER:
		tx->bind_wait = true;
		atomic_store(&conn->clear_wanted, true);
		dapl_loop_post(conn->base.dev->loop, &conn->task);
	}
	return sqe->done;
}

/* ---- Which request is next ---- */

/* Whether one that may have to wait for reads can start. */
static bool request_free(const struct soft_tx *tx, const struct soft_sqe *sqe)
{
	if ((sqe->flags & TP_WR_FENCE) && tx->reads)
		return false;
	return !(sqe->flags & SOFT_WR_CAREFUL) || tx->reads < tx->ord || !tx->ord;
}

/* Whether the next request may start. */
static bool request_ready(struct soft_conn *conn)
{
	struct soft_qp *qp = conn->qp;
	struct soft_tx *tx = &conn->tx;
	struct soft_sqe *sqe;

	while (!tx->hold && qp->sq_next != atomic_load(&qp->sq.tail)) {
		sqe = soft_sqe(qp, qp->sq_next);
		if (!(sqe->flags & (TP_WR_FENCE | SOFT_WR_CAREFUL)))
			return true;
		if (sqe->opcode != SOFT_OP_BIND)
			return request_free(tx, sqe);
		if (!bind_step(conn, sqe))
			return false;
	}
	return false;
}

static bool request_start(struct soft_conn *conn)
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

/* ---- Read responses ---- */

struct soft_response *soft_tx_respond(struct soft_conn *conn, const struct soft_ddp *ddp)
{
	struct soft_tx *tx = &conn->tx;
	struct soft_response *response;

	if (tx->response_tail - tx->response_head >= tx->ird)
		return NULL;
	response = &tx->response[tx->response_tail++ & tx->response_mask];
	*response = (struct soft_response){ .ddp = *ddp };
	return response;
}

static void response_all_built(struct soft_tx *tx)
{
	tx->response_next++;
	tx->source = SOFT_TX_NONE;
}

static void add_value(struct soft_tx *tx, const struct soft_response *response)
{
	uint32_t header = WIRE_DDP_UNTAGGED_SIZE + sizeof(struct wire_atomic_response);
	struct fpdu fpdu = fpdu_begin(tx, header, 0);

	soft_ddp_put_untagged(fpdu.header, WIRE_OP_ATOMIC_RESPONSE, true, WIRE_QN_ATOMIC,
			      tx->msn[WIRE_QN_ATOMIC]++, 0);
	soft_rdmap_put_value(fpdu.header + WIRE_DDP_UNTAGGED_SIZE, response->id, response->value);
	fpdu_header_done(tx, &fpdu, header);
	fpdu_end(tx, &fpdu, SOFT_TX_RESPONSE, true);
	response_all_built(tx);
}

/* As request_fault. */
static bool response_fault(struct soft_conn *conn, const struct soft_response *response,
			   enum soft_stag_result result)
{
	if (soft_tx_idle(&conn->tx))
		read_fault(conn, response, result);
	return false;
}

/* Adds the next FPDU of the response under way; false on a fault. */
static bool add_response(struct soft_conn *conn)
{
	struct soft_tx *tx = &conn->tx;
	struct soft_response *response = &tx->response[tx->response_next & tx->response_mask];
	const struct soft_read_request *read = &response->read;
	uint32_t left = read->size - response->offset, n;
	enum soft_stag_result result = SOFT_STAG_OK;
	uint8_t *from = NULL;
	struct fpdu fpdu;
	bool last;

	if (response->ddp.opcode == WIRE_OP_ATOMIC_REQUEST) {
		add_value(tx, response);
		return true;
	}
	last = left <= tx->mulpdu - WIRE_DDP_TAGGED_SIZE;
	n = last ? left : tx->mulpdu - WIRE_DDP_TAGGED_SIZE;
	/* A read of nothing names nothing (RFC 5040 section 5.2.1). */
	if (n)
		result = soft_stag_check(&conn->qp->prot, read->source_stag,
					 read->source_to + response->offset, n,
					 TP_ACCESS_REMOTE_READ, &from);
	if (result)
		return response_fault(conn, response, result);
	fpdu = fpdu_begin(tx, WIRE_DDP_TAGGED_SIZE, n);
	soft_ddp_put_tagged(fpdu.header, WIRE_OP_READ_RESPONSE, last, read->sink_stag,
			    read->sink_to + response->offset);
	fpdu_header_done(tx, &fpdu, WIRE_DDP_TAGGED_SIZE);
	if (n && !fpdu_payload(tx, &fpdu, from, n, read->source_stag, n <= copy_max(tx))) {
		fpdu_drop(tx);
		return response_fault(conn, response, SOFT_STAG_INVALID);
	}
	fpdu_end(tx, &fpdu, SOFT_TX_RESPONSE, last);
	response->offset += n;
	if (last)
		response_all_built(tx);
	return true;
}

/* ---- The ready-to-receive message (RFC 6581 section 9.2) ---- */

static bool add_rtr(struct soft_conn *conn)
{
	struct soft_tx *tx = &conn->tx;
	uint32_t header = WIRE_DDP_TAGGED_SIZE;
	struct fpdu fpdu;

	if (tx->rtr == 1 + WIRE_OP_READ_REQUEST)
		header = WIRE_DDP_UNTAGGED_SIZE + sizeof(struct wire_read_request);
	else if (tx->rtr == 1 + WIRE_OP_SEND)
		header = WIRE_DDP_UNTAGGED_SIZE;
	fpdu = fpdu_begin(tx, header, 0);
	if (tx->rtr == 1 + WIRE_OP_READ_REQUEST) {
		soft_ddp_put_untagged(fpdu.header, WIRE_OP_READ_REQUEST, true, WIRE_QN_READ,
				      tx->msn[WIRE_QN_READ]++, 0);
		soft_rdmap_put_read(fpdu.header + WIRE_DDP_UNTAGGED_SIZE,
				    &(struct soft_read_request){ .size = 0 });
		add_flight(conn, SOFT_FLIGHT_RTR, 0);
	} else if (tx->rtr == 1 + WIRE_OP_SEND) {
		soft_ddp_put_untagged(fpdu.header, WIRE_OP_SEND, true, WIRE_QN_SEND,
				      tx->msn[WIRE_QN_SEND]++, 0);
	} else {
		soft_ddp_put_tagged(fpdu.header, WIRE_OP_WRITE, true, 0, 0);
	}
	fpdu_header_done(tx, &fpdu, header);
	fpdu_end(tx, &fpdu, SOFT_TX_RTR, true);
	tx->rtr = 0;
	tx->source = SOFT_TX_NONE;
	return true;
}

/* ---- Delayed acknowledgement ---- */

/*
 * iWARP has no acknowledgement of a Send or an RDMA Write. But a read is answered only after all
 * that was sent before it has been placed, and its Sends received (RFC 5040 section 5.5). So with
 * delayed acknowledgement a read of nothing follows the requests, and they complete when it is
 * answered: the target's program can see the data by then. One such read at a time, for all that
 * was built since the last one.
 */
static bool proof_ready(const struct soft_tx *tx)
{
	return tx->prove_due && !tx->prove_flying && tx->reads < tx->prove_depth;
}

static void add_proof(struct soft_conn *conn)
{
	uint32_t header = WIRE_DDP_UNTAGGED_SIZE + sizeof(struct wire_read_request);
	struct soft_tx *tx = &conn->tx;
	struct fpdu fpdu = fpdu_begin(tx, header, 0);

	soft_ddp_put_untagged(fpdu.header, WIRE_OP_READ_REQUEST, true, WIRE_QN_READ,
			      tx->msn[WIRE_QN_READ]++, 0);
	soft_rdmap_put_read(fpdu.header + WIRE_DDP_UNTAGGED_SIZE,
			    &(struct soft_read_request){ .size = 0 });
	fpdu_header_done(tx, &fpdu, header);
	fpdu_end(tx, &fpdu, SOFT_TX_PROOF, true);
	add_flight(conn, SOFT_FLIGHT_PROOF, conn->qp->sq_next);
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

/* ---- Building ---- */

/* Picks the message to go on with; false if there is none or it is at fault. */
static bool choose(struct soft_conn *conn)
{
	struct soft_tx *tx = &conn->tx;
	bool response = tx->response_next != tx->response_tail && !tx->hold;
	bool request;

	if (tx->rtr) {
		tx->source = SOFT_TX_RTR;
		return true;
	}
	if (tx->prove_due && proof_ready(tx)) {
		tx->source = SOFT_TX_PROOF;
		return true;
	}
	request = request_ready(conn);
	if (response && (!request || tx->response_turn)) {
		tx->response_turn = false;
		tx->source = SOFT_TX_RESPONSE;
		return true;
	}
	tx->response_turn = true;
	return request && request_start(conn);
}

/* What is built with markers is one FPDU, copied. */
static void mark_batch(struct soft_tx *tx)
{
	uint8_t *plain = tx->marked + soft_mpa_marked_max(WIRE_MPA_LENGTH + tx->mulpdu + 3);
	uint8_t *p = plain;
	size_t size;

	for (uint32_t i = 0; i < tx->seg_num; i++) {
		memcpy(p, tx->seg[i].base, tx->seg[i].len);
		p += tx->seg[i].len;
	}
	size = soft_mpa_mark(tx->marked, plain, (size_t)(p - plain), &tx->marker_stream, tx->crc);
	tx->seg[0] = (struct soft_tx_seg){ .base = tx->marked, .len = (uint32_t)size };
	tx->seg_num = 1;
	tx->built = (uint32_t)size;
	tx->mark[0].end = (uint32_t)size;
}

static bool add_fpdu(struct soft_conn *conn)
{
	struct soft_tx *tx = &conn->tx;

	if (tx->source == SOFT_TX_NONE && !choose(conn))
		return false;
	switch (tx->source) {
	case SOFT_TX_RTR:
		return add_rtr(conn);
	case SOFT_TX_PROOF:
		add_proof(conn);
		return true;
	case SOFT_TX_RESPONSE:
		return add_response(conn);
	default:
		return add_request(conn);
	}
}

/* Fills an empty batch; false if there is nothing to send. */
static bool build(struct soft_conn *conn)
{
	struct soft_tx *tx = &conn->tx;

	batch_reset(tx);
	while (!batch_full(tx) && add_fpdu(conn))
		;
	if (tx->markers && tx->mark_num)
		mark_batch(tx);
	return !soft_tx_idle(tx);
}

/* ---- Sending ---- */

static void stall(struct soft_conn *conn)
{
	if (atomic_exchange(&conn->qp->tx_stalled, true))
		return;
	soft_count(conn->dev, SOFT_COUNT_XMT_WAIT);
	soft_watch_update(conn);
}

static void unstall(struct soft_conn *conn)
{
	if (atomic_load(&conn->qp->tx_stalled)) {
		atomic_store(&conn->qp->tx_stalled, false);
		soft_watch_update(conn);
	}
}

/* The link is dead; what it still has to say on the incoming side comes first. */
static void send_failed(struct soft_conn *conn, int err)
{
	conn->tx_err = err;
	soft_conn_serve_later(conn);
}

static void message_sent(struct soft_conn *conn, uint8_t source)
{
	struct soft_tx *tx = &conn->tx;
	struct soft_sqe *sqe;

	if (source == SOFT_TX_RESPONSE) {
		tx->response_head++;
	} else if (source == SOFT_TX_REQUEST) {
		sqe = soft_sqe(conn->qp, tx->sq_sent++);
		sqe->done = !(sqe->flags & SOFT_WR_CAREFUL) && !tx->prove;
	}
}

static uint32_t choose_mulpdu(struct soft_conn *conn)
{
	uint32_t segment = conn->dev->config->fpdu ? (uint32_t)conn->dev->config->fpdu
						   : conn->link->class->segment(conn->link);
	uint32_t mulpdu = soft_mpa_mulpdu(segment, conn->tx.markers);

	return conn->tx.markers && mulpdu > MARKED_MULPDU ? MARKED_MULPDU : mulpdu;
}

/* Segments grow with the peer's window, and shrink with the path (RFC 5044 section 4.5). */
static void adjust_mulpdu(struct soft_conn *conn)
{
	struct soft_tx *tx = &conn->tx;

	if (tx->sent < tx->adjust_in) {
		tx->adjust_in -= tx->sent;
		return;
	}
	tx->adjust_in = ADJUST_BYTES;
	if (!tx->markers)
		tx->mulpdu = choose_mulpdu(conn);
}

static void advance(struct soft_conn *conn, uint32_t n)
{
	struct soft_tx *tx = &conn->tx;
	struct soft_tx_mark *mark;
	uint32_t part;

	tx->sent += n;
	tx->tail += n;
	if (soft_tx_idle(tx))
		adjust_mulpdu(conn);
	while (n) {
		part = tx->seg[tx->seg_first].len < n ? tx->seg[tx->seg_first].len : n;
		tx->seg[tx->seg_first].base += part;
		tx->seg[tx->seg_first].len -= part;
		n -= part;
		if (!tx->seg[tx->seg_first].len)
			tx->seg_first++;
	}
	for (; tx->mark_first < tx->mark_num; tx->mark_first++) {
		mark = &tx->mark[tx->mark_first];
		if (mark->end > tx->sent)
			break;
		if (!mark->last)
			continue;
		if (mark->source == SOFT_TX_REQUEST)
			tx->tail = tx->sent - mark->end;
		message_sent(conn, mark->source);
	}
	soft_complete_sends(conn->qp);
}

bool soft_tx_valid(struct soft_conn *conn)
{
	struct soft_tx *tx = &conn->tx;
	const struct soft_tx_seg *seg;

	for (uint32_t i = tx->seg_first; i < tx->seg_num; i++) {
		seg = &tx->seg[i];
		if (seg->key && !soft_stag_holds(&conn->qp->prot, seg->key, seg->base, seg->len, 0))
			return false;
	}
	return true;
}

/* Memory went away under an FPDU that is half out. */
static void batch_fault(struct soft_conn *conn)
{
	struct soft_tx *tx = &conn->tx;
	uint8_t source = tx->mark[tx->mark_first].source;

	if (source == SOFT_TX_REQUEST)
		local_fault(conn, soft_sqe(conn->qp, tx->sq_sent), TP_WC_LOCAL_PROTECTION);
	else
		read_fault(conn, &tx->response[tx->response_head & tx->response_mask],
			   SOFT_STAG_INVALID);
}

static ssize_t send_batch(struct soft_conn *conn)
{
	struct soft_tx *tx = &conn->tx;
	struct iovec iov[SOFT_TX_SEGS];
	int num = 0;

	for (uint32_t i = tx->seg_first; i < tx->seg_num; i++)
		if (tx->seg[i].len)
			iov[num++] = (struct iovec){ .iov_base = (void *)(uintptr_t)tx->seg[i].base,
						     .iov_len = tx->seg[i].len };
	return conn->link->class->send(conn->link, iov, num);
}

void soft_tx_run(struct soft_conn *conn)
{
	struct soft_tx *tx = &conn->tx;
	uint32_t done = 0;
	ssize_t n;

	if (conn->tx_err)
		return;
	tx->fresh = false;
	if (!soft_tx_idle(tx) && !soft_tx_valid(conn)) {
		batch_fault(conn);
		return;
	}
	while (!soft_tx_idle(tx) || build(conn)) {
		n = send_batch(conn);
		if (n == -EFAULT) {
			batch_fault(conn);
			return;
		}
		if (n < 0 && n != -EAGAIN) {
			send_failed(conn, (int)n);
			return;
		}
		if (n > 0) {
			advance(conn, (uint32_t)n);
			done += (uint32_t)n;
		}
		if (!soft_tx_idle(tx) || done >= RUN_BYTES) {
			stall(conn);
			return;
		}
	}
	unstall(conn);
}

/* ---- Reads in flight ---- */

const struct soft_flight *soft_tx_oldest_flight(const struct soft_conn *conn)
{
	const struct soft_tx *tx = &conn->tx;

	return tx->reads ? &tx->flight[tx->flight_head & tx->flight_mask] : NULL;
}

void soft_tx_read_done(struct soft_conn *conn)
{
	const struct soft_flight *flight = soft_tx_oldest_flight(conn);
	struct soft_tx *tx = &conn->tx;

	tx->flight_head++;
	tx->reads--;
	if (flight->kind == SOFT_FLIGHT_REQUEST)
		soft_sqe(conn->qp, flight->index)->done = true;
	else if (flight->kind == SOFT_FLIGHT_PROOF)
		proven(conn, flight->index);
	soft_complete_sends(conn->qp);
}

/* ---- Life ---- */

int soft_tx_init(struct soft_conn *conn, uint32_t ird, uint32_t ord, uint32_t prove_depth)
{
	struct soft_tx *tx = &conn->tx;
	uint32_t size = soft_ring_size(ird), flights = soft_ring_size(ord + 2);
	uint32_t head = atomic_load(&conn->qp->sq.head);
	size_t plain;

	tx->crc = conn->crc;
	tx->markers = conn->markers;
	tx->summed = tx->crc && !tx->markers;
	tx->mulpdu = choose_mulpdu(conn);
	tx->adjust_in = FIRST_ADJUST;
	tx->response = malloc(size * sizeof(*tx->response));
	tx->flight = malloc(flights * sizeof(*tx->flight));
	/* Of a large one only what is used becomes memory. */
	tx->scratch_size = tx->crc || tx->markers ? SOFT_TX_STAGE : SOFT_TX_SCRATCH;
	tx->scratch = malloc(tx->scratch_size);
	if (!tx->response || !tx->flight || !tx->scratch)
		return -ENOMEM;
	tx->flight_mask = flights - 1;
	plain = WIRE_MPA_LENGTH + tx->mulpdu + 3;
	if (tx->markers && !(tx->marked = malloc(soft_mpa_marked_max(plain) + plain)))
		return -ENOMEM;
	tx->response_mask = size - 1;
	tx->ird = ird;
	tx->ord = ord;
	tx->sq_sent = tx->prove_next = head;
	tx->prove = prove_depth;
	tx->prove_depth = prove_depth;
	for (int qn = 0; qn < WIRE_QN_COUNT; qn++)
		tx->msn[qn] = 1;
	if (getrandom(&tx->read_tag, sizeof(tx->read_tag), 0) != sizeof(tx->read_tag))
		return -errno;
	return 0;
}

void soft_tx_fini(struct soft_conn *conn)
{
	free(conn->tx.response);
	free(conn->tx.flight);
	free(conn->tx.scratch);
	free(conn->tx.marked);
}
