/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/event/ring.h"

#include <stdlib.h>

bool dapl_ring_init(struct dapl_ring *ring, uint32_t size)
{
	ring->events = malloc((size_t)size * sizeof(*ring->events));
	ring->size = size;
	ring->head = 0;
	ring->count = 0;
	return ring->events;
}

void dapl_ring_fini(struct dapl_ring *ring)
{
	free(ring->events);
	ring->events = NULL;
	ring->count = 0;
}

void dapl_ring_move(struct dapl_ring *ring, const struct dapl_ring *to)
{
	struct dapl_ring moved = *to;
	struct dapl_event event;

	while (dapl_ring_pop(ring, &event))
		dapl_ring_push(&moved, &event);
	free(ring->events);
	*ring = moved;
}

bool dapl_ring_push(struct dapl_ring *ring, const struct dapl_event *event)
{
	uint32_t tail;

	if (ring->count == ring->size)
		return false;
	tail = ring->head + ring->count;
	if (tail >= ring->size)
		tail -= ring->size;
	ring->events[tail] = *event;
	ring->count++;
	return true;
}

bool dapl_ring_pop(struct dapl_ring *ring, struct dapl_event *event)
{
	if (!ring->count)
		return false;
	*event = ring->events[ring->head];
	if (++ring->head == ring->size)
		ring->head = 0;
	ring->count--;
	return true;
}
