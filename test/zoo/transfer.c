/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Requests are executed where they are posted, one after the other; who must wait goes on when what
 * he waits for is there. */
#include <errno.h>
#include <string.h>

#include "test/zoo/engine.h"

struct zoo_qp *zoo_qp_find(uint32_t number)
{
	struct zoo_link *link = zoo->qp_chains[number % ZOO_CHAINS];

	for (; link; link = link->next)
		if (zoo_entry(link, struct zoo_qp, chain)->number == number)
			return zoo_entry(link, struct zoo_qp, chain);
	return NULL;
}

/* ---- Completions ---- */

static enum ibv_wc_opcode opcode_of(const struct zoo_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return IBV_WC_RDMA_WRITE;
	case IBV_WR_RDMA_READ:
		return IBV_WC_RDMA_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return IBV_WC_COMP_SWAP;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return IBV_WC_FETCH_ADD;
	case IBV_WR_BIND_MW:
		return IBV_WC_BIND_MW;
	case IBV_WR_LOCAL_INV:
		return IBV_WC_LOCAL_INV;
	default:
		return IBV_WC_SEND;
	}
}

static void complete_send(struct zoo_qp *qp, const struct zoo_wr *wr, uint32_t seq,
			  enum ibv_wc_status status, uint32_t length)
{
	struct ibv_wc wc = { .wr_id = wr->id,
			     .status = status,
			     .opcode = opcode_of(wr),
			     .byte_len = length,
			     .qp_num = qp->number };

	if (!status && !(wr->flags & IBV_SEND_SIGNALED) && !qp->all_signaled)
		return;
	zoo_cq_push(qp->send_cq, &qp->sq, seq + 1, &wc, false);
}

static void complete_recv(struct zoo_qp *qp, struct ibv_wc *wc, uint32_t seq, bool solicited)
{
	wc->qp_num = qp->number;
	wc->src_qp = qp->remote;
	zoo_cq_push(qp->recv_cq, qp->srq ? NULL : &qp->rq, seq + 1, wc, solicited);
}

static void stop_waiting(struct zoo_qp *qp)
{
	if (qp->waits_recv)
		zoo->num_waiting--;
	qp->waits_recv = false;
	qp->deadline = 0;
}

static const struct zoo_wr *take_receive(struct zoo_qp *target, uint32_t *seq);

#define HELD_NS 5000000

/* The receive of a message that is cut off comes back later, unless the QP is destroyed before. */
static void hold_receive(struct zoo_qp *qp)
{
	const struct zoo_wr *recv;
	uint32_t seq;

	qp->last_wqe = true;
	recv = zoo->hold ? take_receive(qp, &seq) : NULL;
	if (!recv) {
		zoo_async(qp->async, qp, &qp->user, &qp->delivered, IBV_EVENT_QP_LAST_WQE_REACHED);
		return;
	}
	qp->holds = true;
	qp->held = recv->id;
	qp->deadline = zoo_now() + HELD_NS;
	zoo_at(qp->deadline);
}

static void give_held(struct zoo_qp *qp)
{
	struct ibv_wc wc = { .wr_id = qp->held,
			     .status = IBV_WC_WR_FLUSH_ERR,
			     .opcode = IBV_WC_RECV };

	complete_recv(qp, &wc, 0, false);
	qp->holds = false;
	zoo_async(qp->async, qp, &qp->user, &qp->delivered, IBV_EVENT_QP_LAST_WQE_REACHED);
}

static void flush_requests(struct zoo_qp *qp)
{
	stop_waiting(qp);
	for (; qp->sq.next != qp->sq.posted; qp->sq.next++)
		complete_send(qp, zoo_queue_at(&qp->sq, qp->sq.next), qp->sq.next,
			      IBV_WC_WR_FLUSH_ERR, 0);
}

void zoo_qp_to_error(struct zoo_qp *qp)
{
	struct zoo_queue *rq = &qp->rq;
	struct ibv_wc wc;

	if (qp->state == IBV_QPS_ERR || qp->state == IBV_QPS_RESET)
		return;
	qp->state = IBV_QPS_ERR;
	flush_requests(qp);
	for (; !qp->srq && rq->next != rq->posted; rq->next++) {
		wc = (struct ibv_wc){ .wr_id = zoo_queue_at(rq, rq->next)->id,
				      .status = IBV_WC_WR_FLUSH_ERR,
				      .opcode = IBV_WC_RECV };
		complete_recv(qp, &wc, rq->next, false);
	}
	if (qp->srq && zoo_kind_of(qp->card)->last_wqe && !qp->last_wqe)
		hold_receive(qp);
	if (qp->id)
		zoo_iwarp_close(qp->id, -ECONNRESET);
}

/* ---- Bytes of segments ---- */

/* The first bytes of the segments as segments; their number, or -1 if there are fewer. */
static int head_of(const struct ibv_sge *sge, uint32_t num, uint64_t length, struct ibv_sge *to)
{
	uint32_t i, n = 0;

	for (i = 0; i < num && length; i++) {
		if (!sge[i].length)
			continue;
		to[n] = sge[i];
		if (to[n].length > length)
			to[n].length = (uint32_t)length;
		length -= to[n++].length;
	}
	return length ? -1 : (int)n;
}

static uint64_t total(const struct ibv_sge *sge, uint32_t num)
{
	uint64_t sum = 0;

	while (num--)
		sum += sge++->length;
	return sum;
}

static int copy(struct zoo_proc *to_proc, const struct ibv_sge *to, struct zoo_proc *from_proc,
		const struct ibv_sge *from, uint64_t length)
{
	uint64_t to_at = 0, from_at = 0, part;
	int err = 0;

	while (length && !err) {
		part = to->length - to_at < from->length - from_at ? to->length - to_at
								   : from->length - from_at;
		if (part > length)
			part = length;
		err = zoo_copy(to_proc, to->addr + to_at, from_proc, from->addr + from_at, part);
		length -= part;
		to_at += part;
		from_at += part;
		if (to_at == to->length) {
			to++;
			to_at = 0;
		}
		if (from_at == from->length) {
			from++;
			from_at = 0;
		}
	}
	return err;
}

/* ---- The responder ---- */

#define MAX_SGE 64
/* Not statuses: there is no receive; the peer's process is gone. */
#define WAIT ((enum ibv_wc_status)1000)
#define GONE ((enum ibv_wc_status)1001)

/* What a request brings, and from where. */
struct source {
	struct zoo_proc *proc;
	struct ibv_sge sge[MAX_SGE];
	uint64_t length;
};

/* iWARP's connection ends behind the requester's completion, which names the fault. */
static void target_to_error(struct zoo_qp *target)
{
	struct zoo_id *id = target->id;

	target->id = NULL;
	zoo_qp_to_error(target);
	target->id = id;
}

/* The target found a fault of the request. */
static enum ibv_wc_status refused(struct zoo_qp *target, enum ibv_event_type event,
				  enum ibv_wc_status status)
{
	if (target->state == IBV_QPS_RTS || target->state == IBV_QPS_RTR)
		zoo_async(target->async, target, &target->user, &target->delivered, event);
	target_to_error(target);
	return status;
}

/* Of a write. */
static enum ibv_wc_status no_access(struct zoo_qp *target, uint32_t rkey)
{
	if (!zoo_kind_of(target->card)->no_terminate || zoo_key_find(rkey))
		return refused(target, IBV_EVENT_QP_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
	target_to_error(target);
	return IBV_WC_REM_ACCESS_ERR;
}

static enum ibv_wc_status receive_failed(struct zoo_qp *target, const struct zoo_wr *recv,
					 uint32_t seq, enum ibv_wc_status here,
					 enum ibv_wc_status there)
{
	struct ibv_wc wc = { .wr_id = recv->id, .status = here, .opcode = IBV_WC_RECV };

	complete_recv(target, &wc, seq, false);
	target_to_error(target);
	return there;
}

static const struct zoo_wr *take_receive(struct zoo_qp *target, uint32_t *seq)
{
	struct zoo_srq *srq = target->srq;
	struct zoo_queue *queue = srq ? &srq->queue : &target->rq;

	if (queue->next == queue->posted)
		return NULL;
	*seq = queue->next++;
	if (srq) {
		queue->retired = queue->next;
		if (srq->limit && queue->posted - queue->next < srq->limit) {
			srq->limit = 0;
			zoo_async(srq->async, srq, &srq->user, &srq->delivered,
				  IBV_EVENT_SRQ_LIMIT_REACHED);
		}
	}
	return zoo_queue_at(queue, *seq);
}

static void give_back(struct zoo_qp *target, uint32_t seq)
{
	struct zoo_queue *queue = target->srq ? &target->srq->queue : &target->rq;

	queue->next = seq;
	if (target->srq)
		queue->retired = seq;
}

static enum ibv_wc_status take_message(struct zoo_qp *target, const struct zoo_wr *wr,
				       const struct source *from)
{
	bool written = wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	struct ibv_wc wc = { .opcode = written ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV,
			     .byte_len = (uint32_t)from->length };
	struct zoo_pd *pd = target->srq ? target->srq->pd : target->pd;
	struct ibv_sge to[MAX_SGE];
	const struct zoo_wr *recv;
	int n, err = 0;
	uint32_t seq;

	recv = take_receive(target, &seq);
	if (!recv)
		return WAIT;
	wc.wr_id = recv->id;
	n = written ? 0 : head_of(recv->sge, recv->num_sge, from->length, to);
	if (n < 0)
		return receive_failed(target, recv, seq, IBV_WC_LOC_LEN_ERR,
				      IBV_WC_REM_INV_REQ_ERR);
	if (n && !zoo_allows_local(pd, to, (uint32_t)n, true))
		err = EFAULT;
	else if (n)
		err = copy(target->proc, to, from->proc, from->sge, from->length);
	if (err == ESRCH) {
		give_back(target, seq);
		return GONE;
	}
	if (err)
		return receive_failed(target, recv, seq, IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR);
	if (wr->opcode == IBV_WR_SEND_WITH_INV) {
		if (zoo_invalidate(target, wr->imm, true))
			return receive_failed(target, recv, seq, IBV_WC_REM_INV_REQ_ERR,
					      IBV_WC_REM_ACCESS_ERR);
		wc.wc_flags = IBV_WC_WITH_INV;
		wc.invalidated_rkey = wr->imm;
	} else if (written || wr->opcode == IBV_WR_SEND_WITH_IMM) {
		wc.wc_flags = IBV_WC_WITH_IMM;
		wc.imm_data = wr->imm;
	}
	complete_recv(target, &wc, seq, wr->flags & IBV_SEND_SOLICITED);
	return IBV_WC_SUCCESS;
}

static enum ibv_wc_status take_write(struct zoo_qp *target, const struct zoo_wr *wr,
				     const struct source *from)
{
	struct ibv_sge to = { .addr = wr->remote_addr, .length = (uint32_t)from->length };

	if (!zoo_allows_remote(target, wr->rkey, wr->remote_addr, from->length,
			       IBV_ACCESS_REMOTE_WRITE))
		return no_access(target, wr->rkey);
	if (from->length && copy(target->proc, &to, from->proc, from->sge, from->length))
		return refused(target, IBV_EVENT_QP_FATAL, IBV_WC_REM_OP_ERR);
	return wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM ? take_message(target, wr, from)
							: IBV_WC_SUCCESS;
}

static enum ibv_wc_status take_read(struct zoo_qp *qp, struct zoo_qp *target,
				    const struct zoo_wr *wr, const struct source *to)
{
	struct ibv_sge from = { .addr = wr->remote_addr, .length = (uint32_t)to->length };

	if (!target->attr.max_dest_rd_atomic && !zoo_iwarp(zoo_kind_of(target->card)))
		return refused(target, IBV_EVENT_QP_REQ_ERR, IBV_WC_REM_INV_REQ_ERR);
	if (!zoo_allows_remote(target, wr->rkey, wr->remote_addr, to->length,
			       IBV_ACCESS_REMOTE_READ))
		return refused(target, IBV_EVENT_QP_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
	if (to->length && copy(qp->proc, to->sge, target->proc, &from, to->length))
		return refused(target, IBV_EVENT_QP_FATAL, IBV_WC_REM_OP_ERR);
	return IBV_WC_SUCCESS;
}

static enum ibv_wc_status take_atomic(struct zoo_qp *qp, struct zoo_qp *target,
				      const struct zoo_wr *wr, const struct source *to)
{
	struct ibv_sge there = { .addr = wr->remote_addr, .length = 8 }, here = { .length = 8 };
	uint64_t was, value;

	if (wr->remote_addr % 8 || to->length < 8)
		return refused(target, IBV_EVENT_QP_REQ_ERR, IBV_WC_REM_INV_REQ_ERR);
	if (!zoo_allows_remote(target, wr->rkey, wr->remote_addr, 8, IBV_ACCESS_REMOTE_ATOMIC))
		return refused(target, IBV_EVENT_QP_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
	here.addr = (uintptr_t)&was;
	if (copy(zoo_me, &here, target->proc, &there, 8))
		return refused(target, IBV_EVENT_QP_FATAL, IBV_WC_REM_OP_ERR);
	value = wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ? was + wr->compare
		: was == wr->compare			  ? wr->swap
							  : was;
	here.addr = (uintptr_t)&value;
	if (copy(target->proc, &there, zoo_me, &here, 8))
		return refused(target, IBV_EVENT_QP_FATAL, IBV_WC_REM_OP_ERR);
	here.addr = (uintptr_t)&was;
	return copy(qp->proc, to->sge, zoo_me, &here, 8) ? IBV_WC_LOC_PROT_ERR : IBV_WC_SUCCESS;
}

/* ---- The requester ---- */

static uint16_t partition(const struct zoo_qp *qp)
{
	return zoo_pkey(qp->card, qp->attr.pkey_index) & 0x7fff;
}

/* The peer's QP, if it answers this one. */
static struct zoo_qp *target_of(const struct zoo_qp *qp)
{
	struct zoo_qp *target = qp->remote ? zoo_qp_find(qp->remote) : NULL;

	if (!target || target->remote != qp->number || target->card->removed ||
	    partition(target) != partition(qp) || target->card->port_down || qp->card->port_down ||
	    (target->state != IBV_QPS_RTR && target->state != IBV_QPS_RTS))
		return NULL;
	return target;
}

static void wait_until(struct zoo_qp *qp, uint64_t ns)
{
	if (qp->deadline)
		return;
	qp->deadline = zoo_now() + ns;
	zoo_at(qp->deadline);
}

/* Nobody acknowledges: after the last repetition the request fails. Of iWARP TCP's end tells. */
static enum ibv_wc_status unanswered(struct zoo_qp *qp)
{
	if (!zoo_iwarp(zoo_kind_of(qp->card)) && qp->attr.timeout)
		wait_until(qp, (UINT64_C(4096) << qp->attr.timeout) *
				       (1 + (uint64_t)qp->attr.retry_cnt));
	return WAIT;
}

/* Of the codes of RNR timers, in units of 10 microseconds. */
static uint64_t rnr_ns(uint8_t code)
{
	static const uint16_t units[32] = { 65535, 1,	 2,    3,     4,     6,	    8,	   12,
					    16,	   24,	 32,   48,    64,    96,    128,   192,
					    256,   384,	 512,  768,   1024,  1536,  2048,  3072,
					    4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152 };

	return (uint64_t)units[code & 31] * 10000;
}

/* InfiniBand's peer asks for time; iWARP's has no place for what came and ends the connection. */
static enum ibv_wc_status no_receive(struct zoo_qp *qp, struct zoo_qp *target)
{
	if (zoo_iwarp(zoo_kind_of(qp->card)))
		return refused(target, IBV_EVENT_QP_REQ_ERR, IBV_WC_WR_FLUSH_ERR);
	if (!qp->waits_recv)
		zoo->num_waiting++;
	qp->waits_recv = true;
	if (qp->attr.rnr_retry < 7)
		wait_until(qp, rnr_ns(target->attr.min_rnr_timer) * (1U + qp->attr.rnr_retry));
	return WAIT;
}

static bool fetches(const struct zoo_wr *wr)
{
	return wr->opcode == IBV_WR_RDMA_READ || wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* What the requester is told of the peer's fault. */
static enum ibv_wc_status told(struct zoo_qp *qp, const struct zoo_wr *wr,
			       enum ibv_wc_status status)
{
	if (!zoo_kind_of(qp->card)->no_terminate ||
	    (status != IBV_WC_REM_ACCESS_ERR && status != IBV_WC_REM_INV_REQ_ERR &&
	     status != IBV_WC_REM_OP_ERR))
		return status;
	qp->refused = true;
	return fetches(wr) ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS;
}

static enum ibv_wc_status remote(struct zoo_qp *qp, const struct zoo_wr *wr, struct source *data)
{
	struct zoo_qp *target = target_of(qp);
	enum ibv_wc_status status;

	if (!target)
		return unanswered(qp);
	if (target->state == IBV_QPS_RTR && !target->comm_est) {
		target->comm_est = true;
		zoo_async(target->async, target, &target->user, &target->delivered,
			  IBV_EVENT_COMM_EST);
	}
	switch (wr->opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
	case IBV_WR_SEND_WITH_INV:
		status = take_message(target, wr, data);
		break;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		status = take_write(target, wr, data);
		break;
	case IBV_WR_RDMA_READ:
		status = take_read(qp, target, wr, data);
		break;
	default:
		status = take_atomic(qp, target, wr, data);
		break;
	}
	if (status == GONE)
		return unanswered(qp);
	return status == WAIT ? no_receive(qp, target) : told(qp, wr, status);
}

static enum ibv_wc_status execute(struct zoo_qp *qp, struct zoo_wr *wr, uint64_t *length)
{
	struct source data = { .proc = qp->proc };

	if (wr->opcode == IBV_WR_BIND_MW)
		return zoo_bind(qp, wr);
	if (wr->opcode == IBV_WR_LOCAL_INV)
		return zoo_invalidate(qp, wr->imm, false);
	if (wr->flags & IBV_SEND_INLINE) {
		data.proc = zoo_me; /* the world is in every process */
		data.length = wr->length;
		data.sge[0] = (struct ibv_sge){ .addr = (uintptr_t)wr->sge, .length = wr->length };
	} else {
		data.length = total(wr->sge, wr->num_sge);
		head_of(wr->sge, wr->num_sge, data.length, data.sge);
		if (!zoo_allows_local(qp->pd, wr->sge, wr->num_sge, fetches(wr)))
			return IBV_WC_LOC_PROT_ERR;
	}
	*length = data.length;
	if (qp->type == IBV_QPT_UD)
		return zoo_send_datagram(qp, wr, data.proc, data.sge, MAX_SGE, data.length);
	if (data.length > zoo_max_msg(zoo_kind_of(qp->card)))
		return IBV_WC_LOC_LEN_ERR;
	return remote(qp, wr, &data);
}

static void finish(struct zoo_qp *qp, struct zoo_wr *wr, enum ibv_wc_status status, uint64_t length)
{
	stop_waiting(qp);
	if (qp->state != IBV_QPS_RTS)
		return; /* flushed meanwhile, with this one */
	complete_send(qp, wr, qp->sq.next++, status, (uint32_t)length);
	if (status && qp->type == IBV_QPT_UD)
		qp->state = IBV_QPS_SQE; /* it goes on receiving */
	else if (status || qp->refused)
		zoo_qp_to_error(qp);
}

void zoo_progress(struct zoo_qp *qp)
{
	enum ibv_wc_status status = IBV_WC_SUCCESS;
	struct zoo_wr *wr;
	uint64_t length;

	if (qp->in_progress || qp->card->removed)
		return;
	qp->in_progress = true;
	while (qp->state == IBV_QPS_RTS && qp->sq.next != qp->sq.posted && status != WAIT) {
		wr = zoo_queue_at(&qp->sq, qp->sq.next);
		length = 0;
		status = execute(qp, wr, &length);
		if (status != WAIT)
			finish(qp, wr, status, length);
	}
	qp->in_progress = false;
	if (qp->state == IBV_QPS_SQE)
		flush_requests(qp);
}

void zoo_qp_expired(struct zoo_qp *qp)
{
	bool waited = qp->waits_recv;

	stop_waiting(qp);
	if (qp->holds) {
		give_held(qp);
		return;
	}
	if (qp->closing) {
		qp->closing = false;
		zoo_qp_to_error(qp);
		return;
	}
	if (qp->state == IBV_QPS_RTS && qp->sq.next != qp->sq.posted)
		finish(qp, zoo_queue_at(&qp->sq, qp->sq.next),
		       waited ? IBV_WC_RNR_RETRY_EXC_ERR : IBV_WC_RETRY_EXC_ERR, 0);
}

void zoo_received_on(const struct zoo_qp *target, const struct zoo_srq *srq)
{
	struct zoo_link *link, *next;
	struct zoo_qp *qp, *to;

	if (!zoo->num_waiting)
		return;
	if (target) {
		qp = target->remote ? zoo_qp_find(target->remote) : NULL;
		if (qp && qp->waits_recv)
			zoo_progress(qp);
		return;
	}
	for (link = zoo->qps; link; link = next) {
		next = link->next;
		qp = zoo_entry(link, struct zoo_qp, link);
		to = qp->waits_recv ? target_of(qp) : NULL;
		if (to && to->srq == srq)
			zoo_progress(qp);
	}
}
