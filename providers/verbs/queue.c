/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/verbs/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/log.h"

int vrb_queue_init(struct vrb_queue *queue, const struct vrb_dev *dev, bool recv, uint32_t max_wr,
		   uint32_t extra, uint32_t max_sge)
{
	uint32_t size = 1, i;

	while (size <= max_wr + extra)
		size *= 2;
	*queue = (struct vrb_queue){ .recv = recv,
				     .plain_recv = recv,
				     .slow = recv,
				     .out_of_order = !recv && dev->quirks.reads_out_of_order,
				     .copies_sge = dev->quirks.unnamed_faults,
				     .pads_sge = recv && dev->quirks.receive_needs_segment,
				     .mask = size - 1,
				     .max_wr = max_wr,
				     .extra = extra,
				     .max_sge = max_sge };
	queue->wr = calloc(size, sizeof(*queue->wr));
	queue->sge = calloc((size_t)size * (max_sge ? max_sge : 1), sizeof(*queue->sge));
	if (!queue->wr || !queue->sge) {
		dapl_err("%s: queue of %u %s not made: %s", dev->name, max_wr,
			 recv ? "receives" : "requests", dapl_strerror(ENOMEM));
		vrb_queue_fini(queue);
		return -ENOMEM;
	}
	for (i = 0; i < size; i++) {
		queue->wr[i].queue = queue;
		queue->wr[i].next = &queue->wr[(i + 1) & queue->mask];
	}
	queue->done = queue->wr;
	atomic_store(&queue->head, queue->wr);
	atomic_store(&queue->next, queue->wr);
	return 0;
}

void vrb_queue_fini(struct vrb_queue *queue)
{
	free(queue->wr);
	free(queue->sge);
}

void vrb_queue_reset(struct vrb_queue *queue)
{
	uint32_t i;

	for (i = 0; i <= queue->mask; i++)
		queue->wr[i].flags = 0;
	queue->done = vrb_queue_next(queue);
	atomic_store(&queue->head, vrb_queue_next(queue));
	queue->mode = VRB_QUEUE_IDLE;
	queue->failed = false;
	queue->slow = queue->recv;
	queue->fetched = atomic_load(&queue->fetches);
	queue->waiting = 0;
}

void vrb_queue_move(struct vrb_queue *to, const struct vrb_queue *from)
{
	uint32_t i;

	*to = *from;
	for (i = 0; i <= to->mask; i++)
		to->wr[i].queue = to;
}

void vrb_queue_move_receives(struct vrb_queue *to, struct vrb_queue *from)
{
	struct vrb_wr *old;

	for (old = vrb_queue_head(from); old != vrb_queue_next(from); old = old->next)
		vrb_wr_copy_sge(vrb_queue_reserve(to, old->id, 0), vrb_wr_sge(old), old->num_sge,
				UINT64_MAX);
}

void vrb_wr_copy_sge(struct vrb_wr *wr, const struct tp_sge *sge, uint32_t num, uint64_t length)
{
	struct tp_sge *begin = vrb_wr_sge(wr), *to = begin;

	for (; num && length; num--, sge++) {
		if (!sge->length)
			continue;
		*to = *sge;
		if (to->length > length)
			to->length = (uint32_t)length;
		length -= to++->length;
	}
	wr->num_sge = (uint16_t)(to - begin);
}

/* Drivers say ENOMEM of a full queue. */
const char *vrb_post_strerror(int err)
{
	return abs(err) == ENOMEM ? "the queue is full" : dapl_strerror(err);
}

void vrb_wr_recv(const struct vrb_wr *wr, struct ibv_recv_wr *ib)
{
	static struct ibv_sge none;

	*ib = (struct ibv_recv_wr){ .wr_id = (uintptr_t)wr,
				    .sg_list = (struct ibv_sge *)vrb_wr_sge(wr),
				    .num_sge = wr->num_sge };
	if (!ib->num_sge && wr->queue->pads_sge) {
		ib->sg_list = &none;
		ib->num_sge = 1;
	}
}
