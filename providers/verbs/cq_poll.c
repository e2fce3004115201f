/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a completion of the device means, and whose it is; CQ lock held. */
#include <string.h>

#include "trace/log.h"
#include "providers/verbs/map.h"
#include "providers/verbs/qp.h"

/* ---- QPs by number ---- */

static struct vrb_qp **chain(struct vrb_dev *dev, uint32_t number)
{
	return &dev->by_number[number % VRB_NUMBER_CHAINS];
}

void vrb_qp_list_number(struct vrb_qp *qp)
{
	struct vrb_dev *dev = qp->dev;
	struct vrb_qp **link;

	pthread_mutex_lock(&dev->number_lock);
	qp->number = qp->ibqp->qp_num;
	link = chain(dev, qp->number);
	qp->same_number = *link;
	*link = qp;
	pthread_mutex_unlock(&dev->number_lock);
}

void vrb_qp_unlist_number(struct vrb_qp *qp)
{
	struct vrb_dev *dev = qp->dev;
	struct vrb_qp **link;

	pthread_mutex_lock(&dev->number_lock);
	for (link = chain(dev, qp->number); *link && *link != qp; link = &(*link)->same_number)
		;
	if (*link)
		*link = qp->same_number;
	pthread_mutex_unlock(&dev->number_lock);
}

struct vrb_qp *vrb_qp_by_number(struct vrb_dev *dev, uint32_t number)
{
	struct vrb_qp *qp;

	pthread_mutex_lock(&dev->number_lock);
	for (qp = *chain(dev, number); qp && qp->number != number; qp = qp->same_number)
		;
	pthread_mutex_unlock(&dev->number_lock);
	return qp;
}

/* ---- Faults ---- */

/* Whether the segments are the program's to use as they were used. */
static bool segments_allowed(const struct vrb_wr *wr)
{
	const struct vrb_queue *queue = wr->queue;
	struct vrb_dev *dev = queue->srq ? queue->srq->dev : queue->qp->dev;
	const struct vrb_pd *pd = queue->srq ? queue->srq->pd : queue->qp->pd;
	const struct tp_wr *own = (const struct tp_wr *)(uintptr_t)wr->id;

	if (!queue->recv && !(wr->flags & VRB_WR_SLOW))
		return vrb_mr_allows(dev, pd, &own->one, 1, own->opcode == TP_RDMA_READ);
	return vrb_mr_allows(dev, pd, vrb_wr_sge(wr), wr->num_sge,
			     queue->recv || (wr->flags & VRB_WR_FETCH));
}

/* unnamed_faults: what was wrong with a request or receive that came back with status. */
static enum tp_wc_status diagnose(const struct vrb_dev *dev, const struct vrb_wr *wr,
				  enum tp_wc_status status)
{
	if (!(wr->flags & VRB_WR_INTERNAL) && !segments_allowed(wr))
		return TP_WC_LOCAL_PROTECTION;
	if (wr->queue->recv)
		return dev->quirks.receive_fault;
	return dev->quirks.closed_is_fatal && status == TP_WC_LOCAL_EP ? TP_WC_FLUSHED : status;
}

static void fail(struct vrb_queue *queue, struct vrb_qp *qp, struct vrb_wr *wr,
		 const struct ibv_wc *ib, struct tp_wc *wc)
{
	struct vrb_dev *dev = qp->dev;

	wc->status = queue->recv ? vrb_map_received(ib->status) : vrb_map_wc(ib->status);
	if (queue->failed)
		wc->status = TP_WC_FLUSHED;
	else if (!ib->status)
		wc->status = TP_WC_REMOTE_RESPONDER;
	else if (dev->quirks.unnamed_faults &&
		 (wc->status == TP_WC_LOCAL_EP || wc->status == TP_WC_TRANSPORT))
		wc->status = diagnose(dev, wr, wc->status);
	if (wc->status <= TP_WC_FLUSHED) {
		if (ib->status == IBV_WC_LOC_QP_OP_ERR)
			atomic_store(&qp->peer_closed, true);
		return;
	}
	dapl_trace_limited(verbs_wc_failed, DAPL_TRC_ERROR, qp,
			   "ia=%s qp=0x%x kind=%s status=%s vendor_code=0x%x", dev->name,
			   ib->qp_num, queue->recv ? "receive" : "request",
			   ib->status ? ibv_wc_status_str(ib->status)
				      : "atomic of a misaligned address",
			   ib->vendor_err);
	if (vrb_qp_set_fault(qp, wc->status))
		vrb_qp_notify(qp);
}

/* ---- Delivering ---- */

/* Whether the core is to have a completion of qp whose turn has come. */
static bool deliver(struct vrb_cq *cq, struct vrb_queue *queue, struct vrb_qp *qp,
		    uint32_t wr_flags, struct tp_wc *wc)
{
	/* FL-2: what comes behind a failure did not succeed, whatever the device says. */
	if (queue->failed)
		wc->status = TP_WC_FLUSHED;
	queue->failed |= wc->status && !(queue->recv && qp->ud); /* IBX-84 */
	if ((wr_flags & VRB_WR_INTERNAL) || ((wr_flags & VRB_WR_UNSIGNALED) && !wc->status))
		return false;
	return !queue->deferring || !vrb_cq_keep(cq, qp, wc);
}

/*
 * Gives out in turn what is done. A request without completion of its own is done when a later one
 * is, but for those that bring data, which all have one here. Behind one of these that failed it
 * is told of, whatever the device made of it (FL-2, FL-4).
 */
static void deliver_in_order(struct vrb_cq *cq, struct vrb_queue *queue)
{
	struct vrb_wr *wr = vrb_queue_head(queue);

	for (; wr != queue->done; wr = wr->next) {
		if (!(wr->flags & VRB_WR_DONE) &&
		    (!(wr->flags & VRB_WR_UNSIGNALED) || (wr->flags & VRB_WR_FETCH)))
			break;
		queue->fetched += wr->flags & VRB_WR_FETCH ? 1 : 0;
		queue->waiting -= wr->flags & VRB_WR_DONE ? 1 : 0;
		if (!(wr->flags & VRB_WR_DONE))
			wr->wc = (struct tp_wc){ .wr_id = wr->id };
		if (((wr->flags & VRB_WR_DONE) || queue->failed) &&
		    deliver(cq, queue, queue->qp, wr->flags, &wr->wc))
			vrb_cq_push(cq, queue->qp, &wr->wc);
		wr->flags = 0;
	}
	atomic_store_explicit(&queue->head, wr, memory_order_release);
}

/* What a success says besides. */
static void describe(const struct vrb_qp *qp, const struct ibv_wc *ib, bool recv, struct tp_wc *wc)
{
	struct vrb_dev *dev = qp->dev;

	wc->flags = vrb_map_wc_flags(ib, recv) | (recv && qp->ud ? TP_WC_DATAGRAM : 0);
	if (recv && dev->quirks.no_solicited)
		wc->flags |= TP_WC_SOLICITED; /* all count as such */
	if (dev->quirks.invalidated_as_csum && recv && (ib->wc_flags & IBV_WC_IP_CSUM_OK))
		wc->flags |= TP_WC_INVALIDATED;
	wc->byte_len = ib->byte_len;
	wc->data = ib->imm_data;
	if (wc->flags & TP_WC_INVALIDATED) {
		wc->data = ib->invalidated_rkey;
		vrb_mw_invalidated(dev, wc->data);
	}
}

/*
 * Whether the next completion of the queue is to be looked at closely. A poster may have changed
 * the answer meanwhile: it counts first and then warns.
 */
static void choose_path(struct vrb_queue *queue)
{
	bool slow = queue->recv || queue->failed || queue->deferring ||
		    atomic_load(&queue->qp->draining);

	atomic_store(&queue->slow, slow);
	if (atomic_load(&queue->fetches) != queue->fetched)
		atomic_store(&queue->slow, 1);
}

void vrb_queue_choose_path(struct vrb_queue *queue)
{
	vrb_cq_lock(queue->cq);
	choose_path(queue);
	vrb_cq_unlock(queue->cq);
}

/* A receive from an SRQ; its QP is found by its number. */
static struct vrb_qp *process_shared(struct vrb_cq *cq, const struct ibv_wc *ib, struct vrb_wr *wr,
				     struct tp_wc *wc)
{
	struct vrb_qp *qp = vrb_qp_by_number(cq->dev, ib->qp_num);
	bool given;

	if (!qp) {
		dapl_err_limited("%s: a receive of QP 0x%x, which is gone, is lost", cq->dev->name,
				 ib->qp_num);
		vrb_srq_return(wr->queue->srq, wr);
		return NULL;
	}
	if (ib->status)
		fail(&qp->rq, qp, wr, ib, wc);
	else
		describe(qp, ib, true, wc);
	wc->flags |= TP_WC_RECV;
	wc->qp_owner = qp->base.owner;
	given = deliver(cq, &qp->rq, qp, 0, wc);
	vrb_srq_return(wr->queue->srq, wr);
	return given ? qp : NULL;
}

/* A completion waits for its turn. Where nothing waits done is behind. */
static void done_out_of_order(struct vrb_queue *queue, struct vrb_wr *wr, const struct tp_wc *wc)
{
	struct vrb_wr *head = vrb_queue_head(queue);

	wr->wc = *wc;
	wr->flags |= VRB_WR_DONE;
	if (!queue->waiting++ ||
	    vrb_queue_span(queue, head, wr) >= vrb_queue_span(queue, head, queue->done))
		queue->done = wr->next;
}

/* Any completion of the device; its QP if the core is to have it now. */
struct vrb_qp *vrb_cq_process(struct vrb_cq *cq, const struct ibv_wc *ib, struct tp_wc *wc)
{
	struct vrb_wr *wr = (struct vrb_wr *)(uintptr_t)ib->wr_id;
	struct vrb_queue *queue = wr->queue;
	bool given = false;

	*wc = (struct tp_wc){ .wr_id = wr->id };
	if (queue->srq)
		return process_shared(cq, ib, wr, wc);
	if (unlikely(!queue->qp)) /* see vrb_queue_flush */
		return NULL;
	if (ib->status || (wr->flags & VRB_WR_FAILS))
		fail(queue, queue->qp, wr, ib, wc);
	else
		describe(queue->qp, ib, queue->recv, wc);
	if (queue->out_of_order) {
		done_out_of_order(queue, wr, wc);
		deliver_in_order(cq, queue);
	} else {
		given = deliver(cq, queue, queue->qp, wr->flags, wc);
		wr->flags = 0;
		atomic_store_explicit(&queue->head, wr->next, memory_order_release);
	}
	if (!queue->recv && atomic_load(&queue->qp->draining))
		vrb_qp_notify(queue->qp);
	choose_path(queue);
	return given ? queue->qp : NULL;
}

/* ---- The fast path ---- */

/* Flags of a receive that may have more to say: see describe. */
#define TELLING (IBV_WC_WITH_IMM | IBV_WC_WITH_INV | IBV_WC_IP_CSUM_OK)

/* Whether a receive is one that the fast path can tell of. */
static bool is_plain_receive(const struct vrb_queue *queue, const struct ibv_wc *ib)
{
	return queue->plain_recv && !queue->failed && !queue->deferring && !ib->status &&
	       ib->opcode == IBV_WC_RECV && !(ib->wc_flags & TELLING);
}

/* Flags of a request whose success says nothing more than that it is over. */
#define QUIET (VRB_WR_SLOW | VRB_WR_FETCH)

/* Whether a success is of the oldest request, of which the fast path can tell as well. */
static bool is_plain_request(struct vrb_queue *queue, const struct vrb_wr *wr,
			     const struct ibv_wc *ib)
{
	return !queue->recv && !(wr->flags & ~(uint32_t)QUIET) && !ib->status && !queue->failed &&
	       !queue->deferring && queue->qp && !atomic_load(&queue->qp->draining) &&
	       (!queue->out_of_order || (wr == vrb_queue_head(queue) && !queue->waiting));
}

static void end_request(struct vrb_queue *queue, struct vrb_wr *wr)
{
	queue->fetched += queue->out_of_order && (wr->flags & VRB_WR_FETCH) ? 1 : 0;
	wr->flags = 0;
	atomic_store_explicit(&queue->head, wr->next, memory_order_release);
	choose_path(queue);
}

/* The core gets it later. */
void vrb_cq_process_later(struct vrb_cq *cq, const struct ibv_wc *ib)
{
	struct tp_wc wc;
	struct vrb_qp *qp = vrb_cq_process(cq, ib, &wc);

	if (qp)
		vrb_cq_push(cq, qp, &wc);
}

/* What the fast path found but cannot tell of goes into the backlog. */
static __attribute__((noinline)) struct tp_wr *poll_slow(struct vrb_cq *cq)
{
	const struct ibv_wc *ib = &cq->ib;
	struct vrb_wr *wr = (struct vrb_wr *)(uintptr_t)ib->wr_id;
	struct tp_wr *own = (struct tp_wr *)(uintptr_t)wr->id;

	if (is_plain_receive(wr->queue, ib)) {
		atomic_store_explicit(&wr->queue->head, wr->next, memory_order_release);
		own->length = ib->byte_len;
		return own;
	}
	if (is_plain_request(wr->queue, wr, ib)) {
		end_request(wr->queue, wr);
		return own;
	}
	vrb_cq_process_later(cq, ib);
	return TP_WR_UNTOLD;
}

/* It and all before it are done. */
struct tp_wr *vrb_cq_poll_plain(struct tp_cq *base)
{
	struct vrb_cq *cq = container_of(base, struct vrb_cq, base);
	struct vrb_queue *queue;
	struct vrb_wr *wr;
	int num;

	if (unlikely(cq->count))
		return TP_WR_UNTOLD;
	num = cq->ib_poll(cq->ibcq, 1, &cq->ib);
	if (unlikely(num != 1))
		return num ? TP_WR_UNTOLD : NULL;
	wr = (struct vrb_wr *)(uintptr_t)cq->ib.wr_id;
	queue = wr->queue;
	if (unlikely((uint32_t)cq->ib.status | wr->flags |
		     atomic_load_explicit(&queue->slow, memory_order_relaxed)))
		return poll_slow(cq);
	atomic_store_explicit(&queue->head, wr->next, memory_order_release);
	return (struct tp_wr *)(uintptr_t)wr->id;
}
