/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion queues and their channels. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/zoo/verbs.h"

/* ---- Channels ---- */

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *ctx)
{
	struct my_channel *my = calloc(1, sizeof(*my));

	if (my)
		my->chan = zoo_make_channel("create_comp_channel", &my->ib.fd);
	if (my && my->chan) {
		my->ib.context = ctx;
		return &my->ib;
	}
	free(my);
	return NULL;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *ib)
{
	struct my_channel *my = my(channel, ib);

	if (ib->refcnt)
		return EBUSY;
	zoo_lock();
	zoo_chan_close(my->chan);
	zoo_unlock();
	close(ib->fd);
	free(my);
	return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context)
{
	struct zoo_event *event = zoo_chan_pop(my(channel, channel)->chan, channel->fd);

	if (!event)
		return -1;
	*cq = event->user;
	*context = (*cq)->cq_context;
	zoo_lock();
	zoo_free(event);
	zoo_unlock();
	return 0;
}

/* ---- Completions ---- */

static uint32_t used(const struct zoo_cq *cq)
{
	return atomic_load(&cq->tail) - atomic_load(&cq->head);
}

static void announce(struct zoo_cq *cq)
{
	struct zoo_event *event;

	cq->armed = 0;
	if (!cq->chan)
		return;
	event = zoo_alloc(sizeof(*event));
	event->object = cq;
	event->delivered = &cq->delivered;
	event->user_of = &cq->user;
	zoo_chan_push(cq->chan, event);
}

static uint32_t ring(const struct zoo_cq *cq, uint32_t number)
{
	return number % (cq->cqe + 1);
}

void zoo_cq_push(struct zoo_cq *cq, struct zoo_queue *queue, uint32_t seq, const struct ibv_wc *wc,
		 bool solicited)
{
	if (cq->overrun)
		return;
	if (used(cq) >= cq->cqe) {
		cq->overrun = true;
		zoo_async(cq->async, cq, &cq->user, &cq->async_delivered, IBV_EVENT_CQ_ERR);
		return;
	}
	cq->wc[ring(cq, atomic_load(&cq->tail))] =
		(struct zoo_wc){ .wc = *wc, .queue = queue, .seq = seq };
	atomic_fetch_add(&cq->tail, 1);
	if (cq->armed == 2 || (cq->armed == 1 && (solicited || wc->status)))
		announce(cq);
}

int zoo_poll_cq(struct ibv_cq *ib, int num, struct ibv_wc *wc)
{
	struct zoo_cq *cq = my(cq, ib)->cq;
	struct zoo_wc *next;
	int n = 0;

	cq->resized = false;
	if (!used(cq))
		return 0;
	zoo_lock();
	for (; n < num && used(cq); n++) {
		next = &cq->wc[ring(cq, atomic_load(&cq->head))];
		wc[n] = next->wc;
		if (next->queue)
			next->queue->retired = next->seq;
		atomic_fetch_add(&cq->head, 1);
	}
	zoo_unlock();
	return n;
}

int zoo_req_notify_cq(struct ibv_cq *ib, int solicited)
{
	struct zoo_cq *cq = my(cq, ib)->cq;
	int how = solicited ? 1 : 2;

	zoo_lock();
	if (cq->armed < how)
		cq->armed = how;
	zoo_unlock();
	return 0;
}

void zoo_cq_forget(struct zoo_cq *cq, const struct zoo_queue *queue, uint32_t number, bool remove)
{
	uint32_t from = atomic_load(&cq->head), to = from, end = atomic_load(&cq->tail);
	struct zoo_wc *wc;

	for (; from != end; from++) {
		wc = &cq->wc[ring(cq, from)];
		if (wc->queue == queue)
			wc->queue = NULL;
		if (remove && wc->wc.qp_num == number)
			continue;
		cq->wc[ring(cq, to++)] = *wc;
	}
	atomic_store(&cq->tail, to);
}

/* ---- Life ---- */

/* Places for cqe completions; a power of two above, so that numbers may wrap. */
static uint32_t places(uint32_t cqe)
{
	uint32_t size = 1;

	while (size < cqe + 1)
		size *= 2;
	return size - 1;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *ctx, int cqe, void *context,
			     struct ibv_comp_channel *channel, int vector)
{
	struct zoo_card *card = zoo_card_of(ctx);
	const struct ibv_device_attr *limits = &zoo_kind_of(card)->limits;
	int err = zoo_refuses("create_cq");
	struct zoo_cq *cq;
	struct my_cq *my;

	if (!err &&
	    (cqe < 1 || cqe > limits->max_cqe || vector < 0 || vector >= ctx->num_comp_vectors))
		err = EINVAL;
	my = zoo_make(card, sizeof(*my), err, card->num_cq, limits->max_cq);
	if (!my)
		return NULL;
	zoo_lock();
	cq = my->cq = zoo_alloc(sizeof(*cq));
	cq->proc = zoo_me;
	cq->card = card;
	cq->cqe = places((uint32_t)cqe);
	cq->wc = zoo_alloc(((size_t)cq->cqe + 1) * sizeof(*cq->wc));
	cq->user = my;
	cq->vector = (uint32_t)vector;
	cq->async = my_context(ctx)->async;
	cq->chan = channel ? my(channel, channel)->chan : NULL;
	card->num_cq++;
	zoo_link_add(&zoo->cqs, &cq->link);
	zoo_unlock();
	my->ib.context = ctx;
	my->ib.channel = channel;
	my->ib.cq_context = context;
	my->ib.cqe = (int)cq->cqe;
	pthread_mutex_init(&my->ib.mutex, NULL);
	pthread_cond_init(&my->ib.cond, NULL);
	if (channel)
		channel->refcnt++;
	return &my->ib;
}

void zoo_cq_end(struct zoo_cq *cq)
{
	cq->card->num_cq--;
	zoo_link_del(&cq->link);
	zoo_free(cq->wc);
	zoo_free(cq);
}

int ibv_destroy_cq(struct ibv_cq *ib)
{
	struct my_cq *my = my(cq, ib);
	uint32_t delivered, async;
	int err;

	zoo_command(my->cq->card);
	zoo_lock();
	if (my->cq->uses) {
		zoo_unlock();
		return EBUSY;
	}
	if (my->cq->chan)
		zoo_chan_purge(my->cq->chan, my->cq);
	zoo_chan_purge(my->cq->async, my->cq);
	delivered = my->cq->delivered;
	async = my->cq->async_delivered;
	err = zoo_destroyed(my->cq->card);
	zoo_cq_end(my->cq);
	zoo_unlock();
	if (err)
		return err;
	zoo_await_acks(&ib->mutex, &ib->cond, &ib->comp_events_completed, delivered);
	zoo_await_acks(&ib->mutex, &ib->cond, &ib->async_events_completed, async);
	if (ib->channel)
		ib->channel->refcnt--;
	free(my);
	return 0;
}

static int may_resize(const struct zoo_cq *cq, int cqe)
{
	const struct zoo_kind *kind = zoo_kind_of(cq->card);
	int err = zoo_refuses("resize_cq");

	if (err)
		return err;
	switch (kind->resize) {
	case ZOO_RESIZE_UNSUPPORTED:
		return kind->resize_errno;
	case ZOO_RESIZE_BUSY:
		if (cq->resized)
			return EBUSY;
		break;
	case ZOO_RESIZES:
		break;
	}
	return cqe < 1 || cqe > kind->limits.max_cqe || (uint32_t)cqe < used(cq) ? EINVAL : 0;
}

int ibv_resize_cq(struct ibv_cq *ib, int cqe)
{
	struct zoo_cq *cq = my(cq, ib)->cq;
	uint32_t len = places((uint32_t)cqe), i;
	struct zoo_wc *wc;
	int err;

	zoo_command(cq->card);
	zoo_lock();
	err = may_resize(cq, cqe);
	if (!err) {
		wc = zoo_alloc(((size_t)len + 1) * sizeof(*wc));
		for (i = atomic_load(&cq->head); i != atomic_load(&cq->tail); i++)
			wc[i % (len + 1)] = cq->wc[ring(cq, i)];
		zoo_free(cq->wc);
		cq->wc = wc;
		cq->cqe = len;
		cq->resized = true;
		ib->cqe = (int)len;
	}
	zoo_unlock();
	return err;
}
