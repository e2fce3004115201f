/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */

#include <assert.h>
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

enum {
	/* Without its CRC. */
	TERMINATE_MAX = WIRE_MPA_LENGTH + WIRE_DDP_UNTAGGED_SIZE + SOFT_TERMINATE_MAX + 3,
};

static_assert(TERMINATE_MAX < WIRE_MPA_MARKER_INTERVAL / 2 &&
		      TERMINATE_MAX + WIRE_MPA_CRC_SIZE + 2 * WIRE_MPA_MARKER <= SOFT_RX_TINY,
	      "a Terminate has room where nothing is staged any more");

/* The left bytes of the FPDU that is partly out; what is in memory of the program is copied. */
static bool copy_rest(struct soft_conn *conn, uint32_t left)
{
	struct soft_tx *tx = &conn->tx;
	const struct soft_tx_mark *mark = &tx->mark[tx->mark_first];
	uint8_t *out = malloc(left);
	uint32_t n;

	conn->rest.copy = out;
	conn->rest.part[0] = (struct iovec){ .iov_base = out, .iov_len = left };
	if (!out)
		return false;
	for (uint32_t i = tx->seg_first; left; i++, left -= n, out += n) {
		n = tx->seg[i].len < left ? tx->seg[i].len : left;
		if (copy_seg(conn, out, &tx->seg[i], n))
			continue;
		if (mark->source != SOFT_TX_RESPONSE || mark->last)
			return false;
		memset(out, 0, n);
	}
	return true;
}

/*
 * The FPDU that is partly out. Where its memory is gone zeros end one of an answer, whose read fails
 * by the Terminate behind it; false: another one cannot be had.
 */
static bool fpdu_rest(struct soft_conn *conn)
{
	struct soft_tx *tx = &conn->tx;
	const struct soft_tx_seg *seg = &tx->seg[tx->seg_first];
	uint32_t left = tx->mark[tx->mark_first].end - tx->sent;

	if (seg->key || seg->len < left)
		return copy_rest(conn, left);
	conn->rest.part[0] =
		(struct iovec){ .iov_base = (void *)(uintptr_t)seg->base, .iov_len = left };
	return true;
}

static size_t terminate_fpdu(struct soft_conn *conn, uint8_t *out)
{
	uint8_t plain[TERMINATE_MAX] = { 0 };
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

/* Whether an FPDU of the batch is out in part. */
static bool within_fpdu(const struct soft_tx *tx)
{
	return !soft_tx_idle(tx) &&
	       tx->sent != (tx->mark_first ? tx->mark[tx->mark_first - 1].end : 0);
}

void soft_terminate_rest(struct soft_conn *conn)
{
	bool terminate = soft_conn_dead(conn) && conn->fault.terminate && !conn->tx.hold;
	struct iovec *part = conn->rest.part;
	struct soft_tx *tx = &conn->tx;

	if (within_fpdu(tx) && !fpdu_rest(conn)) {
		part[0].iov_len = 0;
		return;
	}
	if (!soft_tx_idle(tx) && !part[0].iov_len)
		tx->marker_stream = tx->marker_start;
	if (!terminate)
		return;
	/* Of what is staged nothing is taken in any more. */
	part[1].iov_base = conn->rx.tiny;
	part[1].iov_len = terminate_fpdu(conn, conn->rx.tiny);
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
