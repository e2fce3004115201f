/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completions that wait: for the core to poll, or for their connection to be announced. */
#include <stdlib.h>

#include "trace/log.h"
#include "providers/verbs/qp.h"

bool vrb_cq_grow(struct vrb_cq *cq, uint32_t num)
{
	uint32_t size = cq->size ? cq->size : 16, i;
	struct tp_wc *backlog;

	if (num <= cq->size)
		return true;
	while (size < num)
		size *= 2;
	backlog = malloc((size_t)size * sizeof(*backlog));
	if (!backlog)
		return false;
	for (i = 0; i < cq->count; i++)
		backlog[i] = cq->backlog[(cq->first + i) & (cq->size - 1)];
	free(cq->backlog);
	cq->backlog = backlog;
	cq->size = size;
	cq->first = 0;
	return true;
}

static __attribute__((cold)) void lose_completion(struct vrb_cq *cq, struct vrb_qp *qp)
{
	if (vrb_qp_set_fault(qp, TP_WC_TRANSPORT))
		dapl_trace_limited(verbs_cq_full, DAPL_TRC_ERROR, qp, "ia=%s qp=0x%x length=%u",
				   cq->dev->name, qp->ibqp ? qp->ibqp->qp_num : 0, cq->cqe);
	vrb_qp_notify(qp);
	dapl_loop_post(cq->dev->base.loop, &cq->overflow);
}

void vrb_cq_push(struct vrb_cq *cq, struct vrb_qp *qp, const struct tp_wc *wc)
{
	if (cq->count >= cq->cqe || (cq->count == cq->size && !vrb_cq_grow(cq, cq->count + 1))) {
		lose_completion(cq, qp);
		return;
	}
	cq->backlog[(cq->first + cq->count++) & (cq->size - 1)] = *wc;
}

void vrb_cq_pop(struct vrb_cq *cq, struct tp_wc *wc)
{
	*wc = cq->backlog[cq->first & (cq->size - 1)];
	cq->first++;
	cq->count--;
}

bool vrb_cq_keep(struct vrb_cq *cq, struct vrb_qp *qp, const struct tp_wc *wc)
{
	uint32_t size = cq->deferred_size ? cq->deferred_size * 2 : 16;
	struct vrb_deferred *larger;

	if (cq->num_deferred == cq->deferred_size) {
		larger = realloc(cq->deferred, size * sizeof(*larger));
		if (!larger)
			return false;
		cq->deferred = larger;
		cq->deferred_size = size;
	}
	cq->deferred[cq->num_deferred++] = (struct vrb_deferred){ .wc = *wc, .qp = qp };
	return true;
}

void vrb_cq_defer(struct vrb_cq *cq, struct vrb_qp *qp)
{
	vrb_cq_lock(cq);
	qp->rq.deferring = true;
	vrb_cq_unlock(cq);
}

void vrb_cq_deliver(struct vrb_cq *cq, struct vrb_qp *qp)
{
	uint32_t i, kept = 0;
	bool any;

	vrb_cq_lock(cq);
	for (i = 0; i < cq->num_deferred; i++) {
		if (cq->deferred[i].qp == qp)
			vrb_cq_push(cq, qp, &cq->deferred[i].wc);
		else
			cq->deferred[kept++] = cq->deferred[i];
	}
	any = kept != cq->num_deferred;
	cq->num_deferred = kept;
	qp->rq.deferring = false;
	vrb_cq_unlock(cq);
	if (any)
		vrb_cq_notify(cq);
}
