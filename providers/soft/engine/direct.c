/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * RDMA Writes and Reads in the peer's memory itself, where the link has a way to that
 * (soft_direct_ops). They stand in no FPDU: each is done when its turn comes, once the peer is
 * through with all that was sent before it. What cannot be done so, faults among it, goes by the
 * link. The peer's own rights are as soft_stag_check gave them when he was asked first; bindings of
 * windows change and are not exposed.
 */
#include "providers/soft/base/config.h"
#include "providers/soft/engine/conn.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/engine/rx.h"
#include "providers/soft/engine/tx.h"
#include "providers/soft/link/link.h"

enum {
	RUN_BYTES = 2 << 20, /* so much is copied before others get their turn */
};

/* ---- Ours in the peer's memory ---- */

/*
 * The part [from, from + len) of the bytes that segments name: how many pieces it has, or -1: it is
 * not all there.
 */
static int local_iov(const struct soft_qp *qp, const struct tp_sge *sge, uint32_t num,
		     uint32_t from, uint32_t len, uint32_t right, struct iovec *iov)
{
	uint8_t *mem;
	int used = 0;
	uint32_t n;

	for (; len && num; num--, sge++) {
		if (from >= sge->length) {
			from -= sge->length;
			continue;
		}
		n = sge->length - from < len ? sge->length - from : len;
		if (soft_stag_check(&qp->prot, sge->lkey, sge->addr + from, n, right, &mem))
			return -1;
		iov[used++] = (struct iovec){ .iov_base = mem, .iov_len = n };
		from = 0;
		len -= n;
	}
	return len ? -1 : used;
}

bool soft_direct_write(struct soft_qp *qp, const struct tp_wr *wr)
{
	struct soft_link *link = qp->conn->link;
	struct iovec iov[SOFT_MAX_SGE + 1];
	struct soft_access access = { .key = wr->rkey,
				      .right = TP_ACCESS_REMOTE_WRITE,
				      .addr = wr->remote_addr,
				      .len = wr->length,
				      .iov = iov,
				      .last = true };

	if (!wr->length || !link->class->direct->apt(link, wr->length))
		return false;
	access.num =
		local_iov(qp, wr->sge, wr->num_sge, 0, wr->length, SOFT_ACCESS_LOCAL_READ, iov);
	return access.num > 0 && link->class->direct->access(link, &access);
}

/* Whether it is such a request, and its turn. */
static bool may_begin(const struct soft_conn *conn, const struct soft_sqe *sqe)
{
	const struct soft_tx *tx = &conn->tx;

	if (!conn->link->class->direct || !tx->plain || !sqe->length || !soft_tx_idle(tx) ||
	    tx->rtr || ((sqe->flags & TP_WR_FENCE) && tx->reads))
		return false;
	if (sqe->opcode != TP_RDMA_WRITE &&
	    ((sqe->opcode != TP_RDMA_READ && sqe->opcode != TP_READ_TO_RKEY) || !tx->ord))
		return false;
	return tx->direct || conn->link->class->direct->apt(conn->link, sqe->length);
}

/* The next piece of it: false, that could not be done. */
static bool copy_piece(struct soft_conn *conn, const struct soft_sqe *sqe)
{
	struct iovec iov[SOFT_MAX_SGE + 1];
	struct soft_tx *tx = &conn->tx;
	uint32_t left = sqe->length - tx->direct;
	struct soft_access access = {
		.key = sqe->rkey,
		.right = sqe->opcode == TP_RDMA_WRITE ? TP_ACCESS_REMOTE_WRITE
						      : TP_ACCESS_REMOTE_READ,
		.addr = sqe->remote_addr + tx->direct,
		.len = left < RUN_BYTES ? left : RUN_BYTES,
		.iov = iov,
		.last = left <= RUN_BYTES,
	};

	access.num = local_iov(conn->qp, sqe->sge, sqe->num_sge, tx->direct, access.len,
			       soft_sqe_access(sqe), iov);
	if (access.num <= 0 || !conn->link->class->direct->access(conn->link, &access))
		return false;
	tx->direct += access.len;
	tx->direct_run += access.len;
	conn->qp->moved++;
	return true;
}

enum soft_direct soft_direct_request(struct soft_conn *conn, struct soft_sqe *sqe)
{
	struct soft_tx *tx = &conn->tx;

	if (!may_begin(conn, sqe)) {
		/* An answer to the peer has come in between. */
		tx->direct_later |= tx->direct;
		return tx->direct ? SOFT_DIRECT_LATER : SOFT_DIRECT_NO;
	}
	if (tx->direct_run < RUN_BYTES && !copy_piece(conn, sqe)) {
		tx->direct = 0;
		return SOFT_DIRECT_NO;
	}
	if (tx->direct < sqe->length) {
		tx->direct_later = true;
		return SOFT_DIRECT_LATER;
	}
	tx->direct = 0;
	sqe->started = sqe->done = sqe->direct = true;
	conn->qp->sq_next++;
	tx->sq_sent++;
	soft_complete_sends(conn->qp);
	return SOFT_DIRECT_DONE;
}

/* ---- The peer's in ours ---- */

void soft_direct_expose(struct soft_conn *conn, uint32_t key)
{
	const struct soft_protection *prot = &conn->qp->prot;
	const struct soft_region *region;
	struct soft_exposed what;

	if (!conn->link->class->direct || conn->rx.exposed == key)
		return;
	region = soft_stag_find(prot->stags, key);
	if (!region || region->pd != prot->pd)
		return;
	what = (struct soft_exposed){ .key = key,
				      .access = region->access,
				      .start = region->start,
				      .length = region->length,
				      .mem = region->mem };
	conn->link->class->direct->expose(conn->link, &what);
	conn->rx.exposed = key;
	conn->rx.exposes = true;
}

void soft_direct_revoke(struct soft_conn *conn, uint32_t key)
{
	if (!conn->rx.exposes)
		return;
	if (conn->rx.exposed == key)
		conn->rx.exposed = 0;
	conn->rx.revoked |= conn->link->class->direct->revoke(conn->link, key);
}

void soft_direct_await(struct soft_conn *conn, uint64_t deadline)
{
	if (conn->rx.revoked)
		conn->rx.outlives = !conn->link->class->direct->await(conn->link, deadline);
	conn->rx.revoked = false;
}

void soft_direct_outlast(struct soft_conn *conn, uint64_t deadline)
{
	if (conn->rx.outlives)
		conn->link->class->direct->outlast(conn->link, deadline);
	conn->rx.outlives = false;
}

void soft_direct_close(struct soft_conn *conn)
{
	if (!conn->rx.exposes)
		return;
	conn->link->class->direct->close(conn->link);
	conn->rx.revoked = true;
	soft_direct_await(conn, dapl_now() + SOFT_DIRECT_PATIENCE_NS);
	soft_direct_outlast(conn, dapl_now() + SOFT_DIRECT_COPY_NS);
}

void soft_direct_settle(struct soft_conn *conn)
{
	if (conn->rx.exposes)
		conn->link->class->direct->settle(
			conn->link, soft_rx_idle(&conn->rx) && !soft_response_owed(&conn->tx) &&
					    !soft_conn_over(conn));
}
