/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/verbs/srq.h"

#include <errno.h>
#include <stdlib.h>

#include "trace/log.h"
#include "providers/verbs/cq.h"

/* ---- Entries ---- */

static int add_block(struct vrb_srq *srq, uint32_t num)
{
	struct vrb_srq_block *block = calloc(1, sizeof(*block));
	struct vrb_queue *queue;
	uint32_t i;

	if (!block)
		return -ENOMEM;
	queue = &block->queue;
	queue->recv = true;
	queue->slow = true;
	queue->copies_sge = srq->dev->quirks.unnamed_faults;
	queue->pads_sge = srq->dev->quirks.receive_needs_segment;
	queue->srq = srq;
	queue->max_sge = srq->max_sge;
	queue->wr = calloc(num, sizeof(*queue->wr));
	queue->sge = calloc((size_t)num * srq->max_sge, sizeof(*queue->sge));
	if (!queue->wr || !queue->sge) {
		free(queue->wr);
		free(queue->sge);
		free(block);
		return -ENOMEM;
	}
	for (i = 0; i < num; i++) {
		queue->wr[i].queue = queue;
		queue->wr[i].next = srq->unused;
		srq->unused = &queue->wr[i];
	}
	block->next = srq->blocks;
	srq->blocks = block;
	return 0;
}

static void free_blocks(struct vrb_srq *srq)
{
	struct vrb_srq_block *block;

	while ((block = srq->blocks)) {
		srq->blocks = block->next;
		free(block->queue.wr);
		free(block->queue.sge);
		free(block);
	}
}

/* SRQ lock held; the only one that takes off the list, and all at once. */
static struct vrb_wr *take_entry(struct vrb_srq *srq)
{
	struct vrb_wr *wr;

	if (!srq->unused)
		srq->unused = atomic_exchange_explicit(&srq->returned, NULL, memory_order_acquire);
	wr = srq->unused;
	if (wr)
		srq->unused = wr->next;
	return wr;
}

/* ---- Where receives complete ---- */

/* A CQ, how many QPs take receives there, and for how many receives it has room. */
struct vrb_srq_use {
	struct vrb_cq *cq;
	uint32_t qps, num;
	struct vrb_srq_use *next;
};

/* Where the use of cq is, or would be; lock held, as below. */
static struct vrb_srq_use **find_use(struct vrb_srq *srq, const struct vrb_cq *cq)
{
	struct vrb_srq_use **link = &srq->uses;

	while (*link && (*link)->cq != cq)
		link = &(*link)->next;
	return link;
}

static int extend(struct vrb_srq_use *use, uint32_t max_wr)
{
	int rc;

	if (use->num >= max_wr) /* since a resize that failed half-way */
		return 0;
	rc = vrb_cq_attach(use->cq, max_wr - use->num);
	if (!rc)
		use->num = max_wr;
	return rc;
}

static void leave(struct vrb_srq_use **link)
{
	struct vrb_srq_use *use = *link;

	if (--use->qps)
		return;
	*link = use->next;
	vrb_cq_detach(use->cq, use->num);
	free(use);
}

int vrb_srq_attach(struct vrb_srq *srq, struct vrb_cq *cq)
{
	struct vrb_srq_use **link;
	int rc = -ENOMEM;

	if (!cq)
		return 0;
	pthread_mutex_lock(&srq->lock);
	link = find_use(srq, cq);
	if (!*link) {
		*link = calloc(1, sizeof(**link));
		if (!*link) {
			dapl_err("%s: completion queue not extended by %u: %s", srq->dev->name,
				 srq->max_wr, dapl_strerror(ENOMEM));
			goto out;
		}
		(*link)->cq = cq;
	}
	(*link)->qps++;
	rc = extend(*link, srq->max_wr);
	if (rc)
		leave(link);
out:
	pthread_mutex_unlock(&srq->lock);
	return rc;
}

void vrb_srq_detach(struct vrb_srq *srq, struct vrb_cq *cq)
{
	if (!cq)
		return;
	pthread_mutex_lock(&srq->lock);
	leave(find_use(srq, cq));
	pthread_mutex_unlock(&srq->lock);
}

/* The CQs make room for what they have not. */
static int grow(struct vrb_srq *srq, uint32_t max_wr)
{
	struct vrb_srq_use *use;
	int rc = 0;

	pthread_mutex_lock(&srq->lock);
	for (use = srq->uses; use && !rc; use = use->next)
		rc = extend(use, max_wr);
	if (!rc)
		srq->max_wr = max_wr;
	pthread_mutex_unlock(&srq->lock);
	return rc;
}

/* ---- Limit ---- */

/* On the loop. The queue may be gone once the core was told of one of them. */
static void tell(struct tp_task *task)
{
	struct vrb_srq *srq = container_of(task, struct vrb_srq, task);
	const struct vrb_dev *dev = srq->dev;
	enum tp_async_event event = TP_ASYNC_SRQ_LIMIT;

	if (!srq->base.owner)
		return;
	if (atomic_exchange(&srq->broken, false)) {
		event = TP_ASYNC_SRQ_ERROR;
		if (atomic_load(&srq->at_limit))
			dapl_loop_post(dev->base.loop, task);
	} else if (!atomic_exchange(&srq->at_limit, false) ||
		   !atomic_exchange(&srq->armed, false)) {
		return;
	}
	dev->base.up->async(dev->base.owner, event, srq->base.owner);
}

void vrb_srq_event(struct vrb_srq *srq, enum tp_async_event event)
{
	atomic_store(event == TP_ASYNC_SRQ_LIMIT ? &srq->at_limit : &srq->broken, true);
	dapl_loop_post(srq->dev->base.loop, &srq->task);
}

static uint32_t srq_available(struct tp_srq *base)
{
	struct vrb_srq *srq = vrb_srq(base);

	return srq->posted - atomic_load(&srq->completed);
}

/* How many are there, without those that the device took and nobody has polled yet. */
static uint32_t count_available(struct vrb_srq *srq)
{
	struct vrb_srq_use *use;

	pthread_mutex_lock(&srq->lock);
	for (use = srq->uses; use; use = use->next)
		vrb_cq_collect(use->cq);
	pthread_mutex_unlock(&srq->lock);
	return srq_available(&srq->base);
}

/*
 * The device tells only when a receive is taken: what is below the limit already is told here, as
 * is what fell below it while it was set.
 */
static int srq_arm(struct tp_srq *base, uint32_t limit)
{
	struct vrb_srq *srq = vrb_srq(base);
	struct ibv_srq_attr attr = { .srq_limit = limit <= count_available(srq) ? limit : 0 };
	int err;

	atomic_store(&srq->at_limit, false); /* before the device may tell of this one */
	atomic_store(&srq->armed, limit);
	err = ibv_modify_srq(srq->ibsrq, &attr, IBV_SRQ_LIMIT);
	if (err) {
		dapl_err("%s: limit of %u receives not set: %s", srq->dev->name, limit,
			 dapl_strerror(err));
		return -abs(err);
	}
	if (limit > count_available(srq))
		vrb_srq_event(srq, TP_ASYNC_SRQ_LIMIT);
	return 0;
}

/* ---- Posting ---- */

static int srq_post(struct tp_srq *base, uint64_t wr_id, const struct tp_sge *sge, uint32_t num_sge)
{
	struct vrb_srq *srq = vrb_srq(base);
	struct ibv_recv_wr ib, *bad;
	struct vrb_wr *wr;
	int err;

	wr = num_sge <= srq->max_sge ? take_entry(srq) : NULL;
	if (!wr)
		return -ENOMEM;
	wr->id = wr_id;
	vrb_wr_recv_from(wr->queue, wr, sge, num_sge, &ib);
	err = abs(ibv_post_srq_recv(srq->ibsrq, &ib, &bad)); /* not all drivers agree on the sign */
	if (!err) {
		srq->posted++;
		return 0;
	}
	wr->next = srq->unused;
	srq->unused = wr;
	dapl_err("%s: shared receive queue does not take a receive: %s", srq->dev->name,
		 vrb_post_strerror(err));
	return err == ENOMEM ? -ENOMEM : -EIO;
}

/* ---- Life ---- */

static int failed(struct vrb_dev *dev, uint32_t max_wr, uint32_t max_sge, int err)
{
	dapl_err("%s: shared receive queue of %u receives of %u segments not made: %s (device "
		 "limits: %u queues of %u receives of %u)",
		 dev->name, max_wr, max_sge, dapl_strerror(err), dev->attr.max_srq,
		 dev->attr.max_srq_wr, dev->attr.max_srq_sge);
	return err == ENOSPC || err == EMFILE || err == ENFILE ? -ENOSPC : -ENOMEM;
}

static void srq_free(struct vrb_srq *srq)
{
	pthread_mutex_destroy(&srq->lock);
	free_blocks(srq);
	free(srq);
}

static int srq_create(struct tp_device *base, const struct tp_srq_attr *attr, void *owner,
		      struct tp_srq **out)
{
	struct vrb_dev *dev = vrb_dev(base);
	struct ibv_srq_init_attr init = { .attr = { .max_wr = attr->max_wr,
						    .max_sge = attr->max_sge } };
	struct vrb_srq *srq = calloc(1, sizeof(*srq));
	int rc = -ENOMEM;

	if (!dev->attr.max_srq) {
		free(srq);
		return -EOPNOTSUPP;
	}
	if (!srq)
		return failed(dev, attr->max_wr, attr->max_sge, ENOMEM);
	srq->base = (struct tp_srq){ .dev = base, .ops = &vrb_srq_ops, .owner = owner };
	srq->dev = dev;
	srq->pd = vrb_pd(attr->pd);
	srq->max_wr = attr->max_wr;
	srq->max_sge = attr->max_sge ? attr->max_sge : 1;
	srq->task.run = tell;
	pthread_mutex_init(&srq->lock, NULL);
	init.srq_context = srq;
	init.attr.max_sge = srq->max_sge;
	rc = add_block(srq, attr->max_wr);
	if (rc)
		goto fail;
	errno = 0;
	srq->ibsrq = VRB_GLOBAL(ibv_create_srq(srq->pd->ibpd, &init));
	if (!srq->ibsrq) {
		rc = errno ? -errno : -ENOMEM;
		goto fail;
	}
	*out = &srq->base;
	return 0;

fail:
	srq_free(srq);
	return failed(dev, attr->max_wr, attr->max_sge, abs(rc));
}

static void srq_finish(struct vrb_reap *item)
{
	struct vrb_srq *srq = container_of(item, struct vrb_srq, reap);
	int err = VRB_GLOBAL(ibv_destroy_srq(srq->ibsrq));

	if (err) {
		vrb_dev_disown(srq->dev, &srq->ibsrq->srq_context);
		if (vrb_dev_kept(srq->dev, err))
			dapl_err("%s: shared receive queue not destroyed: %s", srq->dev->name,
				 dapl_strerror(err));
	}
	dapl_loop_cancel(srq->dev->base.loop, &srq->task); /* of a last event */
	srq_free(srq);
}

static void srq_destroy(struct tp_srq *base)
{
	struct vrb_srq *srq = vrb_srq(base);

	srq->base.owner = NULL;
	dapl_loop_cancel(srq->dev->base.loop, &srq->task);
	srq->reap.run = srq_finish;
	vrb_reap_after(srq->dev, &srq->reap);
}

/* One that shrinks stays as it is. */
static int srq_resize(struct tp_srq *base, uint32_t max_wr)
{
	struct vrb_srq *srq = vrb_srq(base);
	struct ibv_srq_attr attr = { .max_wr = max_wr };
	int err;

	if (max_wr <= srq->max_wr)
		return 0;
	err = abs(ibv_modify_srq(srq->ibsrq, &attr, IBV_SRQ_MAX_WR));
	if (!err)
		err = -add_block(srq, max_wr - srq->max_wr);
	if (!err)
		err = -grow(srq, max_wr);
	if (!err)
		return 0;
	dapl_err("%s: shared receive queue of %u receives not extended to %u: %s", srq->dev->name,
		 srq->max_wr, max_wr, dapl_strerror(err));
	return err == ENOMEM ? -ENOMEM : -EOPNOTSUPP;
}

const struct dapl_srq_ops vrb_srq_ops = {
	.create = srq_create,
	.destroy = srq_destroy,
	.resize = srq_resize,
	.post = srq_post,
	.available = srq_available,
	.arm = srq_arm,
};
