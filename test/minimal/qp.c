/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Queue pairs, and the execution of what was posted to them. */
#include "test/minimal/minimal.h"

#include "dapl/unsupported.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static struct mini_qp *qp_of(struct tp_qp *base)
{
	return mini_container(base, mini_qp, base);
}

/* ---- Queues ---- */

static struct mini_work *work_new(const struct tp_wr *wr)
{
	struct mini_work *work = malloc(sizeof(*work) + wr->num_sge * sizeof(work->sge[0]));

	if (!work)
		return NULL;
	work->next = NULL;
	work->wr = *wr;
	if (wr->num_sge)
		memcpy(work->sge, wr->sge, wr->num_sge * sizeof(work->sge[0]));
	work->wr.sge = work->sge;
	return work;
}

static void append(struct mini_queue *queue, struct mini_work *work)
{
	*queue->end = work;
	queue->end = &work->next;
	queue->count++;
}

static void drop_first(struct mini_queue *queue)
{
	struct mini_work *work = queue->first;

	queue->first = work->next;
	if (!queue->first)
		queue->end = &queue->first;
	queue->count--;
	free(work);
}

/* Completes the oldest request. False: its completion was lost. */
static bool send_done(struct mini_qp *qp, enum tp_wc_status status)
{
	const struct tp_wr *wr = &qp->send.first->wr;
	const struct tp_wc wc = { .wr_id = wr->wr_id, .status = status };
	bool kept = true;

	if (status || wr->flags & TP_WR_SIGNALED)
		kept = mini_cq_add(qp->attr.send_cq, &wc);
	drop_first(&qp->send);
	return kept;
}

/* Ditto the oldest receive, with the message of wr if it got one. */
static bool recv_done(struct mini_qp *qp, enum tp_wc_status status, const struct tp_wr *wr)
{
	struct tp_wc wc = { .wr_id = qp->recv.first->wr.wr_id, .status = status };
	bool kept;

	if (!status) {
		wc.flags = TP_WC_RECV | (wr->flags & TP_WR_SOLICITED ? TP_WC_SOLICITED : 0);
		wc.byte_len = wr->length;
	}
	kept = mini_cq_add(qp->attr.recv_cq, &wc);
	drop_first(&qp->recv);
	return kept;
}

void mini_qp_fail(struct mini_qp *qp)
{
	qp->state = MINI_ERROR;
	qp->conn = NULL;
	while (qp->recv.first)
		recv_done(qp, TP_WC_FLUSHED, NULL);
	while (qp->send.first)
		send_done(qp, TP_WC_FLUSHED);
}

/* ---- Execution ---- */

/* What a request completes with, and the peer's receive if it is a Send. */
struct verdict {
	enum tp_wc_status here, there;
};

static struct verdict do_send(const struct mini_qp *qp, const struct mini_qp *to,
			      const struct tp_wr *wr)
{
	const struct mini_side source = { qp->attr.pd, wr->sge, wr->num_sge, 0 };
	const struct tp_wr *recv = &to->recv.first->wr;
	const struct mini_side sink = { to->attr.pd, recv->sge, recv->num_sge,
					TP_ACCESS_LOCAL_WRITE };
	uint64_t room = 0;
	uint32_t i;

	for (i = 0; i < recv->num_sge; i++)
		room += recv->sge[i].length;
	if (room < wr->length)
		return (struct verdict){ TP_WC_REMOTE_RESPONDER, TP_WC_LOCAL_LENGTH };
	if (mini_copy(&source, &sink, wr->length) != MINI_COPIED)
		return (struct verdict){ TP_WC_REMOTE_RESPONDER, TP_WC_LOCAL_PROTECTION };
	return (struct verdict){ TP_WC_SUCCESS, TP_WC_SUCCESS };
}

static enum tp_wc_status do_rdma(const struct mini_qp *qp, const struct mini_qp *to,
				 const struct tp_wr *wr)
{
	const struct tp_sge sge = { wr->remote_addr, wr->length, wr->rkey };
	bool read = wr->opcode == TP_RDMA_READ;
	const struct mini_side local = { qp->attr.pd, wr->sge, wr->num_sge,
					 read ? TP_ACCESS_LOCAL_WRITE : 0 };
	const struct mini_side remote = { to->attr.pd, &sge, 1,
					  read ? TP_ACCESS_REMOTE_READ : TP_ACCESS_REMOTE_WRITE };
	enum mini_copied result;

	if (read && !to->attr.max_read_in)
		return TP_WC_REMOTE_RESPONDER;
	result = read ? mini_copy(&remote, &local, wr->length)
		      : mini_copy(&local, &remote, wr->length);
	if (result == MINI_COPIED)
		return TP_WC_SUCCESS;
	return result == (read ? MINI_BAD_SINK : MINI_BAD_SOURCE) ? TP_WC_LOCAL_PROTECTION
								  : TP_WC_REMOTE_ACCESS;
}

/* Executes the oldest request. False: it waits for a receive. */
static bool run_one(struct mini_qp *qp)
{
	struct mini_conn *conn = qp->conn;
	struct mini_qp *to = conn->peer->qp;
	const struct tp_wr *wr = &qp->send.first->wr;
	const struct mini_side source = { qp->attr.pd, wr->sge, wr->num_sge, 0 };
	struct verdict verdict;
	bool kept = true;

	if (wr->opcode == TP_SEND && !mini_allowed(&source)) {
		verdict.here = TP_WC_LOCAL_PROTECTION;
	} else if (wr->opcode == TP_SEND) {
		if (!to->recv.first)
			return false;
		verdict = do_send(qp, to, wr);
		kept = recv_done(to, verdict.there, wr);
	} else {
		verdict.here = do_rdma(qp, to, wr);
		conn->peer->fault |= verdict.here == TP_WC_REMOTE_ACCESS;
	}
	kept &= send_done(qp, verdict.here);
	if (verdict.here || !kept)
		mini_conn_end(conn, TP_CONN_BROKEN);
	return true;
}

void mini_qp_run(struct mini_qp *qp)
{
	while (qp->conn && qp->conn->open && qp->conn->peer->open && qp->send.first)
		if (!run_one(qp))
			return;
	if (qp->conn && qp->conn->draining && !qp->send.first)
		mini_conn_end(qp->conn, TP_CONN_DISCONNECTED);
}

/* ---- Calls ---- */

static int qp_create(struct tp_device *dev, const struct tp_qp_attr *attr, void *owner,
		     struct tp_qp **out)
{
	struct mini_qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return -ENOMEM;
	qp->base = (struct tp_qp){ .dev = dev, .ops = &mini_qp_ops, .owner = owner };
	qp->attr = *attr;
	qp->send.end = &qp->send.first;
	qp->recv.end = &qp->recv.first;
	*out = &qp->base;
	return 0;
}

static int qp_modify(struct tp_qp *base, const struct tp_qp_attr *attr)
{
	struct mini_qp *qp = qp_of(base);

	/* The queues have no size, and the number of segments is the core's to check. */
	pthread_mutex_lock(&mini_lock);
	qp->attr = *attr;
	pthread_mutex_unlock(&mini_lock);
	return 0;
}

static int qp_reset(struct tp_qp *base)
{
	struct mini_qp *qp = qp_of(base);

	pthread_mutex_lock(&mini_lock);
	mini_qp_fail(qp); /* for posts on their way while this was called */
	qp->state = MINI_IDLE;
	pthread_mutex_unlock(&mini_lock);
	return 0;
}

static void qp_destroy(struct tp_qp *base)
{
	void (*before)(void) = atomic_load(&mini_before_destroy);
	struct mini_qp *qp = qp_of(base);

	if (before)
		before();
	pthread_mutex_lock(&mini_lock);
	while (qp->recv.first)
		drop_first(&qp->recv);
	while (qp->send.first)
		drop_first(&qp->send);
	pthread_mutex_unlock(&mini_lock);
	free(qp);
}

static int qp_post_send(struct tp_qp *base, struct tp_wr *wr)
{
	struct mini_work *work = work_new(wr);
	struct mini_qp *qp = qp_of(base);
	int rc = 0;

	if (!work)
		return -ENOMEM;
	pthread_mutex_lock(&mini_lock);
	if (qp->state == MINI_IDLE) {
		free(work);
		rc = -ENOTCONN;
		goto unlock;
	}
	append(&qp->send, work);
	if (qp->state == MINI_ERROR)
		mini_qp_fail(qp);
	else
		mini_qp_run(qp);
unlock:
	pthread_mutex_unlock(&mini_lock);
	return rc;
}

static int qp_post_recv(struct tp_qp *base, uint64_t wr_id, const struct tp_sge *sge,
			uint32_t num_sge)
{
	const struct tp_wr wr = { .wr_id = wr_id, .sge = sge, .num_sge = num_sge };
	struct mini_work *work = work_new(&wr);
	struct mini_qp *qp = qp_of(base);

	if (!work)
		return -ENOMEM;
	pthread_mutex_lock(&mini_lock);
	append(&qp->recv, work);
	if (qp->state == MINI_ERROR)
		mini_qp_fail(qp);
	else if (qp->state == MINI_CONNECTED)
		mini_qp_run(qp->conn->peer->qp);
	pthread_mutex_unlock(&mini_lock);
	return 0;
}

static void qp_pending(struct tp_qp *base, uint32_t *recv, uint32_t *send)
{
	struct mini_qp *qp = qp_of(base);

	pthread_mutex_lock(&mini_lock);
	*recv = qp->recv.count;
	*send = qp->send.count;
	pthread_mutex_unlock(&mini_lock);
}

const struct dapl_qp_ops mini_qp_ops = {
	.create = qp_create,
	.modify = qp_modify,
	.reset = qp_reset,
	.destroy = qp_destroy,
	.post_send = qp_post_send,
	.post_recv = qp_post_recv,
	.limit_recv = dapl_unsupported_limit_recv,
	.pending = qp_pending,
};
