/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rings of requests and receives, and shared receive queues. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "test/zoo/verbs.h"

/* ---- Rings ---- */

void zoo_queue_init(struct zoo_queue *queue, uint32_t max, uint32_t max_sge, uint32_t max_inline)
{
	size_t data = max_sge * sizeof(struct ibv_sge);

	if (data < max_inline)
		data = max_inline;
	*queue = (struct zoo_queue){ .size = 1, .max = max, .max_sge = max_sge };
	while (queue->size < max)
		queue->size *= 2;
	queue->stride = (uint32_t)((sizeof(struct zoo_wr) + data + 15) & ~(size_t)15);
	queue->wr = zoo_alloc((size_t)queue->size * queue->stride);
}

void zoo_queue_fini(struct zoo_queue *queue)
{
	zoo_free(queue->wr);
	queue->wr = NULL;
}

struct zoo_wr *zoo_queue_at(const struct zoo_queue *queue, uint32_t seq)
{
	return (struct zoo_wr *)(void *)(queue->wr +
					 (size_t)(seq & (queue->size - 1)) * queue->stride);
}

struct zoo_wr *zoo_queue_post(struct zoo_queue *queue)
{
	return zoo_queue_at(queue, queue->posted++);
}

int zoo_recv_post(struct zoo_queue *queue, const struct ibv_recv_wr *wr)
{
	struct zoo_wr *own;

	if (zoo_queue_full(queue))
		return ENOMEM;
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > queue->max_sge)
		return EINVAL;
	own = zoo_queue_post(queue);
	own->id = wr->wr_id;
	own->num_sge = (uint32_t)wr->num_sge;
	if (wr->num_sge)
		memcpy(own->sge, wr->sg_list, own->num_sge * sizeof(*own->sge));
	return 0;
}

/* ---- Shared receive queues ---- */

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	struct zoo_card *card = zoo_card_of(pd->context);
	const struct ibv_device_attr *limits = &zoo_kind_of(card)->limits;
	int err = zoo_refuses("create_srq");
	struct zoo_srq *srq;
	struct my_srq *my;

	if (!err && (!init->attr.max_wr || init->attr.max_wr > (uint32_t)limits->max_srq_wr ||
		     init->attr.max_sge > (uint32_t)limits->max_srq_sge))
		err = EINVAL;
	my = zoo_make(card, sizeof(*my), err, card->num_srq, limits->max_srq);
	if (!my)
		return NULL;
	zoo_lock();
	srq = my->srq = zoo_alloc(sizeof(*srq));
	srq->proc = zoo_me;
	srq->pd = my(pd, pd)->pd;
	srq->pd->uses++;
	srq->async = my_context(pd->context)->async;
	srq->user = my;
	zoo_queue_init(&srq->queue, init->attr.max_wr, init->attr.max_sge, 0);
	card->num_srq++;
	zoo_link_add(&zoo->srqs, &srq->link);
	zoo_unlock();
	my->ib.context = pd->context;
	my->ib.srq_context = init->srq_context;
	my->ib.pd = pd;
	pthread_mutex_init(&my->ib.mutex, NULL);
	pthread_cond_init(&my->ib.cond, NULL);
	return &my->ib;
}

void zoo_srq_end(struct zoo_srq *srq)
{
	srq->pd->card->num_srq--;
	srq->pd->uses--;
	zoo_queue_fini(&srq->queue);
	zoo_link_del(&srq->link);
	zoo_free(srq);
}

int ibv_destroy_srq(struct ibv_srq *ib)
{
	struct my_srq *my = my(srq, ib);
	uint32_t delivered;
	int err;

	zoo_command(my->srq->pd->card);
	zoo_lock();
	if (my->srq->uses) {
		zoo_unlock();
		return EBUSY;
	}
	zoo_chan_purge(my->srq->async, my->srq);
	delivered = my->srq->delivered;
	err = zoo_destroyed(my->srq->pd->card);
	zoo_srq_end(my->srq);
	zoo_unlock();
	if (err)
		return err;
	zoo_await_acks(&ib->mutex, &ib->cond, &ib->events_completed, delivered);
	free(my);
	return 0;
}

static void resize(struct zoo_queue *queue, uint32_t max)
{
	struct zoo_queue to;
	uint32_t i;

	zoo_queue_init(&to, max, queue->max_sge, 0);
	to.posted = queue->posted;
	to.next = queue->next;
	to.retired = queue->retired;
	for (i = queue->next; i != queue->posted; i++)
		memcpy(zoo_queue_at(&to, i), zoo_queue_at(queue, i), queue->stride);
	zoo_queue_fini(queue);
	*queue = to;
}

int ibv_modify_srq(struct ibv_srq *ib, struct ibv_srq_attr *attr, int mask)
{
	struct zoo_srq *srq = my(srq, ib)->srq;
	const struct ibv_device_attr *limits = &zoo_kind_of(srq->pd->card)->limits;
	int err = zoo_refuses("modify_srq");

	if (err)
		return err;
	zoo_lock();
	if ((mask & IBV_SRQ_MAX_WR) && !(limits->device_cap_flags & IBV_DEVICE_SRQ_RESIZE))
		err = zoo_kind_of(srq->pd->card)->srq_resize_errno
			      ? zoo_kind_of(srq->pd->card)->srq_resize_errno
			      : EINVAL; /* as mlx5 says it */
	else if ((mask & IBV_SRQ_MAX_WR) && attr->max_wr > (uint32_t)limits->max_srq_wr)
		err = EINVAL;
	else if ((mask & IBV_SRQ_MAX_WR) && attr->max_wr > srq->queue.max)
		resize(&srq->queue, attr->max_wr);
	if (!err && (mask & IBV_SRQ_LIMIT) && attr->srq_limit > srq->queue.max)
		err = EINVAL;
	if (!err && (mask & IBV_SRQ_LIMIT))
		srq->limit = attr->srq_limit;
	zoo_unlock();
	return err;
}

int zoo_post_srq_recv(struct ibv_srq *ib, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct zoo_srq *srq = my(srq, ib)->srq;
	int err = 0;

	zoo_lock();
	for (; wr && !err; wr = wr->next) {
		err = zoo_recv_post(&srq->queue, wr);
		if (err)
			*bad = wr;
	}
	zoo_received_on(NULL, srq);
	zoo_unlock();
	return err;
}
