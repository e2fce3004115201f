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

/* ---- Ours in the peer's memory ---- */

/* The bytes that segments name, as many as length says; their number, or -1: they are not there. */
static int local_iov(const struct soft_qp *qp, const struct tp_sge *sge, uint32_t num,
		     uint32_t length, uint32_t right, struct iovec *iov)
{
	uint8_t *mem;
	int used = 0;
	uint32_t n;

	for (; length && num; num--, sge++, length -= n) {
		n = sge->length < length ? sge->length : length;
		if (!n)
			continue;
		if (soft_stag_check(&qp->prot, sge->lkey, sge->addr, n, right, &mem))
			return -1;
		iov[used++] = (struct iovec){ .iov_base = mem, .iov_len = n };
	}
	return length ? -1 : used;
}

bool soft_direct_write(struct soft_qp *qp, const struct tp_wr *wr)
{
	struct soft_link *link = qp->conn->link;
	struct iovec iov[SOFT_MAX_SGE + 1];
	struct soft_access access = { .key = wr->rkey,
				      .right = TP_ACCESS_REMOTE_WRITE,
				      .addr = wr->remote_addr,
				      .len = wr->length,
				      .iov = iov };

	if (!wr->length || !link->class->direct->apt(link, wr->length))
		return false;
	access.num = local_iov(qp, wr->sge, wr->num_sge, wr->length, SOFT_ACCESS_LOCAL_READ, iov);
	return access.num > 0 && link->class->direct->access(link, &access);
}

static bool may_begin(const struct soft_conn *conn, const struct soft_sqe *sqe)
{
	const struct soft_tx *tx = &conn->tx;

	if (!conn->link->class->direct || !tx->plain || !sqe->length || !soft_tx_idle(tx) ||
	    tx->rtr)
		return false;
	if (sqe->opcode == TP_RDMA_WRITE)
		return !(sqe->flags & TP_WR_FENCE) || !tx->reads;
	return (sqe->opcode == TP_RDMA_READ || sqe->opcode == TP_READ_TO_RKEY) && tx->ord &&
	       !((sqe->flags & TP_WR_FENCE) && tx->reads);
}

bool soft_direct_request(struct soft_conn *conn, struct soft_sqe *sqe)
{
	struct soft_link *link = conn->link;
	struct iovec iov[SOFT_MAX_SGE + 1];
	struct soft_access access = { .key = sqe->rkey,
				      .right = TP_ACCESS_REMOTE_READ,
				      .addr = sqe->remote_addr,
				      .len = sqe->length,
				      .iov = iov };

	if (!may_begin(conn, sqe) || !link->class->direct->apt(link, sqe->length))
		return false;
	if (sqe->opcode == TP_RDMA_WRITE)
		access.right = TP_ACCESS_REMOTE_WRITE;
	access.num =
		local_iov(conn->qp, sqe->sge, sqe->num_sge, sqe->length, soft_sqe_access(sqe), iov);
	if (access.num <= 0 || !link->class->direct->access(link, &access))
		return false;
	sqe->started = sqe->done = true;
	conn->qp->sq_next++;
	conn->tx.sq_sent++;
	conn->qp->moved++;
	soft_complete_sends(conn->qp);
	return true;
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
	conn->link->class->direct->revoke(conn->link, key);
}

void soft_direct_close(struct soft_conn *conn)
{
	if (conn->rx.exposes)
		conn->link->class->direct->close(conn->link);
}
