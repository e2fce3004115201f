/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What tests of the verbs provider make by hand where the device is their own. */
#ifndef VERBS_UTIL_H
#define VERBS_UTIL_H

#include <stddef.h>

#include "providers/verbs/qp.h"

/* An empty queue of qp over a ring of size entries, a power of two. */
static inline void vu_queue(struct vrb_queue *queue, struct vrb_qp *qp, struct vrb_wr *ring,
			    size_t size)
{
	size_t i;

	queue->qp = qp;
	queue->wr = ring;
	queue->mask = (uint32_t)size - 1;
	for (i = 0; i < size; i++)
		ring[i] = (struct vrb_wr){ .queue = queue, .next = &ring[(i + 1) % size] };
	atomic_store(&queue->head, ring);
	atomic_store(&queue->next, ring);
}

#endif
