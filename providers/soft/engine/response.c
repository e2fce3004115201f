/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/soft/engine/tx.h"

#include "providers/soft/engine/conn.h"
#include "providers/soft/engine/drive.h"
#include "providers/soft/engine/fpdu.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/engine/rx.h"
#include "providers/soft/memory/copy.h"
#include "providers/soft/memory/stag.h"

enum {
	ANSWER_TAIL = 8, /* bytes of the last FPDU of a long answer */
};

/* ---- Arrival ---- */

/* NULL: more than allowed. */
static struct soft_response *place_for_answer(struct soft_conn *conn, const struct soft_ddp *ddp)
{
	struct soft_tx *tx = &conn->tx;
	struct soft_response *response;

	if (tx->response_tail - tx->response_head >= tx->ird)
		return NULL;
	response = &tx->response[tx->response_tail++ & tx->response_mask];
	*response = (struct soft_response){ .ddp = *ddp };
	return response;
}

/* More is asked for than was agreed. */
static bool too_many(struct soft_conn *conn, const struct soft_ddp *ddp)
{
	struct soft_fault fault = soft_fault_of_peer(ddp, WIRE_LAYER_DDP, WIRE_DDP_ETYPE_UNTAGGED,
						     WIRE_UNTAGGED_NO_BUFFER);

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
		soft_fault_access(conn, result, ddp, &read);
		return false;
	}
	response = place_for_answer(conn, ddp);
	if (!response)
		return too_many(conn, ddp);
	response->read = read;
	if (read.size)
		soft_direct_expose(conn, read.source_stag);
	conn->qp->due |= SOFT_DRIVE_TX;
	return true;
}

/* Whether it is one there is, of memory where it can be done. */
static bool atomic_valid(struct soft_conn *conn, const struct soft_ddp *ddp,
			 const struct soft_atomic *atomic, const uint8_t *mem)
{
	struct soft_fault fault;
	uint8_t code = WIRE_OPER_OPCODE;

	if (soft_atomic_known(atomic)) {
		if ((uintptr_t)mem % sizeof(uint64_t) == 0)
			return true;
		code = WIRE_OPER_STREAM; /* RFC 7306 section 8.2 */
	}
	fault = soft_fault_of_peer(ddp, WIRE_LAYER_RDMAP, WIRE_RDMAP_OPERATION, code);
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
	enum soft_stag_result result;
	struct soft_response *response;
	struct soft_atomic atomic;
	uint8_t *mem = NULL;

	soft_rdmap_get_atomic(data, &atomic);
	result = soft_stag_check(&conn->qp->prot, atomic.stag, atomic.to, sizeof(uint64_t),
				 TP_ACCESS_REMOTE_ATOMIC, &mem);
	if (result && soft_atomic_known(&atomic)) {
		soft_fault_access(conn, result, ddp, NULL);
		return false;
	}
	if (!atomic_valid(conn, ddp, &atomic, mem))
		return false;
	response = place_for_answer(conn, ddp);
	if (!response)
		return too_many(conn, ddp);
	response->id = atomic.id;
	if (!try_atomic(&atomic, (uint64_t *)(void *)mem, &response->value)) {
		conn->tx.response_tail--;
		soft_fault_access(conn, SOFT_STAG_INVALID, ddp, NULL);
		return false;
	}
	conn->qp->due |= SOFT_DRIVE_TX;
	return true;
}

bool soft_response_asked(struct soft_conn *conn, const struct soft_ddp *ddp, const uint8_t *data)
{
	return ddp->opcode == WIRE_OP_READ_REQUEST ? read_arrived(conn, ddp, data)
						   : atomic_arrived(conn, ddp, data);
}

/* ---- Answers ---- */

void soft_response_give_up(struct soft_tx *tx)
{
	tx->response_tail = tx->response_next = tx->response_head;
}

/* The source of a read is no longer the peer's to read, which comes before anything refused since. */
static void read_fault(struct soft_conn *conn, const struct soft_response *response,
		       enum soft_stag_result result)
{
	struct soft_read_request read = response->read;

	soft_response_give_up(&conn->tx);
	atomic_store(&conn->refusing, false);
	read.sink_to += response->offset;
	read.source_to += response->offset;
	read.size -= response->offset;
	soft_fault_access(conn, result, &response->ddp, &read);
}

void soft_response_gone(struct soft_conn *conn)
{
	const struct soft_tx *tx = &conn->tx;

	read_fault(conn, &tx->response[tx->response_head & tx->response_mask], SOFT_STAG_INVALID);
}

static void response_all_built(struct soft_tx *tx)
{
	tx->response_next++;
	tx->source = SOFT_TX_NONE;
}

static void add_value(struct soft_tx *tx, const struct soft_response *response)
{
	struct fpdu fpdu =
		fpdu_begin_untagged(tx, WIRE_OP_ATOMIC_RESPONSE, WIRE_QN_ATOMIC,
				    tx->msn[WIRE_QN_ATOMIC]++, sizeof(struct wire_atomic_response));

	soft_rdmap_put_value(fpdu.header + WIRE_DDP_UNTAGGED_SIZE, response->id, response->value);
	fpdu_end_control(tx, &fpdu, SOFT_TX_RESPONSE);
	response_all_built(tx);
}

/* A fault is left for when the batch is empty: what is in it came before. */
static bool response_fault(struct soft_conn *conn, const struct soft_response *response,
			   enum soft_stag_result result)
{
	if (soft_tx_idle(&conn->tx))
		read_fault(conn, response, result);
	return false;
}

/*
 * The last FPDU of an answer is a copy: where the memory goes under one that is half out, its rest
 * is made up, so that the peer can be told, and what is made up must not complete his read.
 */
static uint32_t payload_size(const struct soft_tx *tx, uint32_t left)
{
	uint32_t max = payload_max(tx, WIRE_DDP_TAGGED_SIZE);

	if (left <= max && left <= copy_max(tx))
		return left;
	left -= ANSWER_TAIL;
	return left < max ? left : max;
}

bool soft_response_add(struct soft_conn *conn)
{
	struct soft_tx *tx = &conn->tx;
	struct soft_response *response = &tx->response[tx->response_next & tx->response_mask];
	const struct soft_read_request *read = &response->read;
	uint32_t left = read->size - response->offset, n = payload_size(tx, left);
	enum soft_stag_result result = SOFT_STAG_OK;
	uint8_t *from = NULL;
	struct fpdu fpdu;
	bool last = n == left;

	if (response->ddp.opcode == WIRE_OP_ATOMIC_REQUEST) {
		add_value(tx, response);
		return true;
	}
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
