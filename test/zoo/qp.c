/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Queue pairs: life, states, posting. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/zoo/verbs.h"

/* ---- Making ---- */

/* Whether the adapter has a send queue of these dimensions. */
static bool sq_fits(const struct zoo_kind *kind, const struct ibv_qp_cap *cap)
{
	uint64_t data = 16 * (uint64_t)cap->max_send_sge, entry, num = 1;

	if (cap->max_send_wr > (uint32_t)kind->limits.max_qp_wr)
		return false;
	if (!kind->sq_bytes)
		return true;
	if (data < cap->max_inline_data + 4 && cap->max_inline_data)
		data = cap->max_inline_data + 4;
	entry = kind->sq_entry + data;
	entry = (entry + kind->sq_unit - 1) / kind->sq_unit * kind->sq_unit;
	while (num * kind->sq_unit < cap->max_send_wr * entry)
		num *= 2;
	return num * kind->sq_unit <= kind->sq_bytes;
}

static int check_init(const struct zoo_card *card, const struct ibv_qp_init_attr *init)
{
	const struct zoo_kind *kind = zoo_kind_of(card);
	const struct ibv_qp_cap *cap = &init->cap;
	int err = zoo_refuses("create_qp");

	if (err)
		return err;
	if ((init->qp_type != IBV_QPT_RC &&
	     (init->qp_type != IBV_QPT_UD || zoo_iwarp(kind) || init->srq)) ||
	    !init->send_cq || !init->recv_cq ||
	    cap->max_send_sge > (uint32_t)kind->limits.max_sge ||
	    cap->max_recv_sge > (uint32_t)kind->limits.max_sge ||
	    cap->max_inline_data > kind->max_inline || !sq_fits(kind, cap) ||
	    cap->max_send_wr < kind->min_wr || (!init->srq && cap->max_recv_wr < kind->min_wr) ||
	    cap->max_recv_wr > (uint32_t)kind->limits.max_qp_wr)
		return EINVAL;
	return 0;
}

static struct zoo_qp *make(struct my_qp *my, struct zoo_card *card, struct ibv_qp_init_attr *init)
{
	struct zoo_qp *qp = zoo_alloc(sizeof(*qp));

	qp->proc = zoo_me;
	qp->card = card;
	qp->pd = my(pd, my->ib.pd)->pd;
	qp->pd->uses++;
	qp->send_cq = my(cq, init->send_cq)->cq;
	qp->recv_cq = my(cq, init->recv_cq)->cq;
	qp->send_cq->uses++;
	qp->recv_cq->uses++;
	qp->srq = init->srq ? my(srq, init->srq)->srq : NULL;
	if (qp->srq)
		qp->srq->uses++;
	qp->async = my_context(my->ib.context)->async;
	qp->user = my;
	qp->type = init->qp_type;
	qp->max_inline = init->cap.max_inline_data;
	qp->all_signaled = init->sq_sig_all;
	qp->number = (zoo->next_qp++ & 0xfffff) + 0x100;
	zoo_queue_init(&qp->sq, init->cap.max_send_wr, init->cap.max_send_sge, qp->max_inline);
	zoo_queue_init(&qp->rq, init->cap.max_recv_wr, init->cap.max_recv_sge, 0);
	card->num_qp++;
	zoo_link_add(&zoo->qps, &qp->link);
	zoo_link_add(&zoo->qp_chains[qp->number % ZOO_CHAINS], &qp->chain);
	return qp;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct zoo_card *card = zoo_card_of(pd->context);
	struct my_qp *my = zoo_make(card, sizeof(*my), check_init(card, init), card->num_qp,
				    zoo_kind_of(card)->limits.max_qp);

	if (!my)
		return NULL;
	my->ib.context = pd->context;
	my->ib.qp_context = init->qp_context;
	my->ib.pd = pd;
	my->ib.send_cq = init->send_cq;
	my->ib.recv_cq = init->recv_cq;
	my->ib.srq = init->srq;
	my->ib.qp_type = init->qp_type;
	pthread_mutex_init(&my->ib.mutex, NULL);
	pthread_cond_init(&my->ib.cond, NULL);
	zoo_lock();
	my->qp = make(my, card, init);
	my->ib.qp_num = my->qp->number;
	zoo_unlock();
	return &my->ib;
}

static void forget_completions(struct zoo_qp *qp)
{
	bool remove = zoo_kind_of(qp->card)->cleans_cq;

	zoo_cq_forget(qp->send_cq, &qp->sq, qp->number, remove);
	zoo_cq_forget(qp->recv_cq, &qp->rq, qp->number, remove);
}

void zoo_qp_end(struct zoo_qp *qp)
{
	struct zoo_qp *peer;

	if (qp->id)
		zoo_iwarp_close(qp->id, -ECONNRESET);
	zoo_unbind_all(qp);
	forget_completions(qp);
	if (qp->waits_recv)
		zoo->num_waiting--;
	qp->send_cq->uses--;
	qp->recv_cq->uses--;
	if (qp->srq)
		qp->srq->uses--;
	qp->pd->uses--;
	qp->card->num_qp--;
	zoo_queue_fini(&qp->sq);
	zoo_queue_fini(&qp->rq);
	zoo_link_del(&qp->link);
	zoo_link_del(&qp->chain);
	/* Who waits for a receive of it waits for an acknowledgement from now on. */
	peer = qp->remote ? zoo_qp_find(qp->remote) : NULL;
	if (peer && peer->waits_recv) {
		zoo->num_waiting--;
		peer->waits_recv = false;
		peer->deadline = 0;
		zoo_progress(peer);
	}
	zoo_free(qp);
}

int ibv_destroy_qp(struct ibv_qp *ib)
{
	struct my_qp *my = my(qp, ib);
	uint32_t delivered;
	int err;

	zoo_command(my->qp->card);
	zoo_lock();
	while (my->qp->closing) { /* as c4iw_destroy_qp waits */
		zoo_unlock();
		usleep(1000);
		zoo_lock();
	}
	zoo_chan_purge(my->qp->async, my->qp);
	delivered = my->qp->delivered;
	err = zoo_destroyed(my->qp->card);
	zoo_qp_end(my->qp);
	zoo_unlock();
	if (err)
		return err;
	zoo_await_acks(&ib->mutex, &ib->cond, &ib->events_completed, delivered);
	free(my);
	return 0;
}

/* ---- States ---- */

static void take_attr(struct zoo_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	if (mask & IBV_QP_DEST_QPN)
		qp->remote = attr->dest_qp_num;
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC)
		qp->attr.max_dest_rd_atomic = attr->max_dest_rd_atomic;
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC)
		qp->attr.max_rd_atomic = attr->max_rd_atomic;
	if (mask & IBV_QP_MIN_RNR_TIMER)
		qp->attr.min_rnr_timer = attr->min_rnr_timer;
	if (mask & IBV_QP_TIMEOUT)
		qp->attr.timeout = attr->timeout;
	if (mask & IBV_QP_RETRY_CNT)
		qp->attr.retry_cnt = attr->retry_cnt;
	if (mask & IBV_QP_RNR_RETRY)
		qp->attr.rnr_retry = attr->rnr_retry;
	if (mask & IBV_QP_AV)
		qp->attr.ah_attr = attr->ah_attr;
	if (mask & IBV_QP_PATH_MTU)
		qp->attr.path_mtu = attr->path_mtu;
	if (mask & IBV_QP_PKEY_INDEX)
		qp->attr.pkey_index = attr->pkey_index;
	if (mask & IBV_QP_QKEY)
		qp->attr.qkey = attr->qkey;
	if (mask & IBV_QP_PORT)
		qp->attr.port_num = attr->port_num;
}

static void empty(struct zoo_queue *queue)
{
	queue->next = queue->retired = queue->posted;
}

static int change_state(struct zoo_qp *qp, enum ibv_qp_state to)
{
	enum ibv_qp_state from = qp->state;

	if (to == IBV_QPS_ERR && qp->closing && zoo_kind_of(qp->card)->closing_refuses_error)
		return EINVAL;
	if (to == IBV_QPS_ERR) {
		zoo_qp_to_error(qp);
		return 0;
	}
	if (to == IBV_QPS_RESET) {
		forget_completions(qp);
		empty(&qp->sq);
		empty(&qp->rq);
		qp->remote = 0;
		qp->comm_est = qp->holds = qp->last_wqe = qp->refused = false;
	} else if (to == from) {
		return 0;
	} else if (!(to == IBV_QPS_INIT && from == IBV_QPS_RESET) &&
		   !(to == IBV_QPS_RTR && from == IBV_QPS_INIT) &&
		   !(to == IBV_QPS_RTS && (from == IBV_QPS_RTR || from == IBV_QPS_SQE))) {
		return EINVAL;
	}
	qp->state = to;
	return 0;
}

int ibv_modify_qp(struct ibv_qp *ib, struct ibv_qp_attr *attr, int mask)
{
	struct zoo_qp *qp = my(qp, ib)->qp;
	int err = zoo_refuses("modify_qp");

	if (err)
		return err;
	zoo_command(qp->card);
	zoo_lock();
	if (qp->card->removed)
		err = EIO;
	else if ((mask & IBV_QP_PKEY_INDEX) && !zoo_pkey(qp->card, attr->pkey_index))
		err = EINVAL;
	else
		take_attr(qp, attr, mask);
	if (!err && (mask & IBV_QP_STATE))
		err = change_state(qp, attr->qp_state);
	ib->state = qp->state;
	zoo_progress(qp);
	zoo_unlock();
	return err;
}

int ibv_query_qp(struct ibv_qp *ib, struct ibv_qp_attr *attr, int mask,
		 struct ibv_qp_init_attr *init)
{
	struct zoo_qp *qp = my(qp, ib)->qp;

	(void)mask;
	memset(init, 0, sizeof(*init));
	zoo_lock();
	*attr = qp->attr;
	attr->qp_state = attr->cur_qp_state = qp->state;
	attr->dest_qp_num = qp->remote;
	zoo_unlock();
	return 0;
}

/* ---- Posting ---- */

static bool inlinable(uint32_t opcode)
{
	return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM ||
	       opcode == IBV_WR_SEND_WITH_INV || opcode == IBV_WR_RDMA_WRITE ||
	       opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static int put_inline(const struct zoo_qp *qp, struct zoo_wr *own, const struct ibv_send_wr *wr)
{
	bool first = zoo_kind_of(qp->card)->inline_first_only;
	char *to = (char *)own->sge;
	int i;

	own->length = 0;
	for (i = 0; i < wr->num_sge; i++)
		own->length += wr->sg_list[i].length;
	if (own->length > qp->max_inline)
		return ENOMEM;
	if (first && wr->num_sge)
		own->length = wr->sg_list[0].length;
	for (i = 0; i < wr->num_sge && (!first || !i); i++) {
		memcpy(to, (void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length);
		to += wr->sg_list[i].length;
	}
	return 0;
}

static void put_opcode(struct zoo_wr *own, const struct ibv_send_wr *wr)
{
	own->id = wr->wr_id;
	own->opcode = wr->opcode;
	own->flags = wr->send_flags;
	own->imm = wr->imm_data; /* or the key to invalidate */
	own->remote_addr = wr->wr.rdma.remote_addr;
	own->rkey = wr->wr.rdma.rkey;
	if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		own->compare = wr->wr.atomic.compare_add;
		own->swap = wr->wr.atomic.swap;
		own->rkey = wr->wr.atomic.rkey;
	}
	if (wr->opcode != IBV_WR_BIND_MW)
		return;
	own->mw = my(mw, wr->bind_mw.mw)->key;
	own->mr = wr->bind_mw.bind_info.mr ? my(mr, wr->bind_mw.bind_info.mr)->key : NULL;
	own->mw_key = wr->bind_mw.rkey;
	own->mw_access = wr->bind_mw.bind_info.mw_access_flags;
	own->mw_addr = wr->bind_mw.bind_info.addr;
	own->mw_length = wr->bind_mw.bind_info.length;
}

static int post_one(struct zoo_qp *qp, const struct ibv_send_wr *wr)
{
	const struct zoo_kind *kind = zoo_kind_of(qp->card);
	struct zoo_wr *own;

	if (qp->state == IBV_QPS_RESET || qp->state == IBV_QPS_INIT || qp->state == IBV_QPS_RTR)
		return EINVAL;
	if (qp->type == IBV_QPT_UD && wr->opcode != IBV_WR_SEND)
		return EINVAL;
	if (qp->state == IBV_QPS_ERR && kind->post_errno)
		return kind->post_errno;
	if (zoo_queue_full(&qp->sq))
		return ENOMEM;
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->sq.max_sge)
		return EINVAL;
	own = zoo_queue_at(&qp->sq, qp->sq.posted);
	memset(own, 0, sizeof(*own));
	put_opcode(own, wr);
	if (qp->type == IBV_QPT_UD)
		zoo_put_ah(own, wr);
	if (!inlinable(own->opcode))
		own->flags &= ~(uint32_t)IBV_SEND_INLINE;
	if (own->flags & IBV_SEND_INLINE) {
		if (put_inline(qp, own, wr))
			return ENOMEM;
	} else {
		own->num_sge = (uint32_t)wr->num_sge;
		if (wr->num_sge)
			memcpy(own->sge, wr->sg_list, own->num_sge * sizeof(*own->sge));
	}
	qp->sq.posted++;
	return 0;
}

/* What comes when the QP is in error already completes at once. */
static void flush_new(struct zoo_qp *qp)
{
	if (qp->state != IBV_QPS_ERR)
		return;
	qp->state = IBV_QPS_SQE;
	zoo_qp_to_error(qp);
}

int zoo_post_send(struct ibv_qp *ib, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct zoo_qp *qp = my(qp, ib)->qp;
	int err = 0;

	zoo_lock();
	for (; wr && !err; wr = wr->next) {
		err = post_one(qp, wr);
		if (err)
			*bad = wr;
	}
	zoo_progress(qp);
	flush_new(qp);
	zoo_unlock();
	return err;
}

int zoo_post_recv(struct ibv_qp *ib, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct zoo_qp *qp = my(qp, ib)->qp;
	int err = 0;

	zoo_lock();
	for (; wr && !err; wr = wr->next) {
		err = qp->state == IBV_QPS_RESET ? EINVAL : zoo_recv_post(&qp->rq, wr);
		if (err)
			*bad = wr;
	}
	zoo_received_on(qp, NULL);
	flush_new(qp);
	zoo_unlock();
	return err;
}
