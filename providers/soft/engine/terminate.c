/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "providers/soft/engine/conn.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/memory/copy.h"
#include "providers/soft/memory/stag.h"
#include "providers/soft/wire/crc32c.h"
#include "providers/soft/wire/mpa.h"

/* false: the memory is gone. */
static bool copy_seg(struct soft_conn *conn, uint8_t *out, const struct soft_tx_seg *seg,
		     uint32_t n)
{
	if (seg->key && !soft_stag_holds(&conn->qp->prot, seg->key, seg->base, n, 0))
		return false;
	return soft_copy_out(out, seg->base, n);
}

/*
 * The bytes of the FPDU that is partly out, and how many. Where its memory is gone zeros end one of
 * an answer, whose read fails by the Terminate behind it; -1: of another one.
 */
static ssize_t fpdu_rest(struct soft_conn *conn, uint8_t *out)
{
	struct soft_tx *tx = &conn->tx;
	const struct soft_tx_mark *mark = &tx->mark[tx->mark_first];
	uint32_t start = tx->mark_first ? mark[-1].end : 0, left, n;
	ssize_t size = 0;

	if (soft_tx_idle(tx) || tx->sent == start)
		return 0;
	left = mark->end - tx->sent;
	for (uint32_t i = tx->seg_first; left; i++, left -= n) {
		n = tx->seg[i].len < left ? tx->seg[i].len : left;
		if (!copy_seg(conn, out + size, &tx->seg[i], n)) {
			if (mark->source != SOFT_TX_RESPONSE || mark->last)
				return -1;
			memset(out + size, 0, n);
		}
		size += n;
	}
	return size;
}

static size_t terminate_fpdu(struct soft_conn *conn, uint8_t *out)
{
	uint8_t plain[WIRE_MPA_LENGTH + WIRE_DDP_UNTAGGED_SIZE + SOFT_TERMINATE_MAX + 3] = { 0 };
	struct soft_tx *tx = &conn->tx;
	uint32_t ulpdu, size, sum = 0;
	uint16_t length;

	ulpdu = (uint32_t)soft_ddp_put_untagged(plain + WIRE_MPA_LENGTH, WIRE_OP_TERMINATE, true,
						WIRE_QN_TERMINATE, tx->msn[WIRE_QN_TERMINATE], 0);
	ulpdu += (uint32_t)soft_rdmap_put_terminate(plain + WIRE_MPA_LENGTH + ulpdu,
						    &conn->fault.term);
	length = htobe16((uint16_t)ulpdu);
	memcpy(plain, &length, sizeof(length));
	size = soft_mpa_fpdu(ulpdu) - WIRE_MPA_CRC_SIZE;
	if (tx->markers)
		return soft_mpa_mark(out, plain, size, &tx->marker_stream, tx->crc);
	if (tx->crc)
		sum = htole32(soft_crc32c(0, plain, size));
	memcpy(out, plain, size);
	memcpy(out + size, &sum, sizeof(sum));
	return size + sizeof(sum);
}

void soft_terminate_rest(struct soft_conn *conn, uint8_t **out, size_t *len)
{
	bool terminate = soft_conn_dead(conn) && conn->fault.terminate && !conn->tx.hold;
	struct soft_tx *tx = &conn->tx;
	size_t room;
	ssize_t rest;

	*out = NULL;
	*len = 0;
	if (soft_tx_idle(tx) && !terminate)
		return;
	room = (soft_tx_idle(tx) ? 0 : tx->mark[tx->mark_first].end - tx->sent) +
	       soft_mpa_marked_max(WIRE_MPA_LENGTH + WIRE_DDP_UNTAGGED_SIZE + SOFT_TERMINATE_MAX +
				   3);
	*out = malloc(room);
	if (!*out)
		return;
	rest = fpdu_rest(conn, *out);
	if (rest < 0) {
		free(*out);
		*out = NULL;
		return;
	}
	if (!soft_tx_idle(tx) && !rest)
		tx->marker_stream = tx->marker_start;
	*len = (size_t)rest;
	if (terminate)
		*len += terminate_fpdu(conn, *out + *len);
}

/* ---- The peer's ---- */

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

void soft_terminate_arrived(struct soft_conn *conn)
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
}
