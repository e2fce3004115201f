/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The rings that requests and Receives are posted to. */
#ifndef SOFT_RING_H
#define SOFT_RING_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/transport.h"

enum {
	SOFT_MIN_SGE = 3, /* segments there is room for in any request */
};

/* A ring of requests or receives; one producer (the poster) and one consumer (whoever holds the
 * lock). */
struct soft_ring {
	uint8_t *slots;
	uint32_t stride;
	uint32_t mask;
	uint32_t max_sge;
	atomic_uint tail; /* next to post */
	atomic_uint head; /* oldest without completion */
};

static inline uint32_t soft_ring_size(uint32_t num)
{
	uint32_t size = 1;

	while (size < num)
		size *= 2;
	return size;
}

/* Makes a ring of num entries, each with max_sge segments. -ENOMEM. */
static inline int soft_ring_init(struct soft_ring *ring, uint32_t num, uint32_t max_sge,
				 size_t entry)
{
	memset(ring, 0, sizeof(*ring));
	ring->max_sge = max_sge;
	if (max_sge < SOFT_MIN_SGE)
		max_sge = SOFT_MIN_SGE;
	ring->stride = (uint32_t)(entry + max_sge * sizeof(struct tp_sge));
	if (!num)
		return 0;
	ring->mask = soft_ring_size(num) - 1;
	ring->slots = malloc(((size_t)ring->mask + 1) * ring->stride);
	return ring->slots ? 0 : -ENOMEM;
}

static inline void *soft_ring_at(const struct soft_ring *ring, uint32_t index)
{
	return ring->slots + (size_t)(index & ring->mask) * ring->stride;
}

/* Moves what is posted to another ring, which takes the place of this one. */
static inline void soft_ring_replace(struct soft_ring *ring, const struct soft_ring *by)
{
	uint32_t head = atomic_load(&ring->head), tail = atomic_load(&ring->tail);

	for (uint32_t i = head; i != tail; i++)
		memcpy(soft_ring_at(by, i), soft_ring_at(ring, i),
		       ring->stride < by->stride ? ring->stride : by->stride);
	free(ring->slots);
	ring->slots = by->slots;
	ring->stride = by->stride;
	ring->mask = by->mask;
	ring->max_sge = by->max_sge;
}

static inline uint32_t soft_ring_used(const struct soft_ring *ring)
{
	return atomic_load(&ring->tail) - atomic_load(&ring->head);
}

static inline bool soft_ring_full(const struct soft_ring *ring, uint32_t tail)
{
	return !ring->slots ||
	       tail - atomic_load_explicit(&ring->head, memory_order_acquire) > ring->mask;
}

#endif
