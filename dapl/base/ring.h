/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The software queue of an EVD: events that must be kept, oldest first. */
#ifndef DAPL_RING_H
#define DAPL_RING_H

#include <stdbool.h>
#include <stdint.h>

#include <dat/udat.h>

struct dapl_srq_count;

/* An event as it waits: a DAT_EVENT without the handle of its EVD and the extension data. */
struct dapl_event {
	DAT_EVENT_NUMBER number;
	bool silent; /* does not unblock a waiter nor trigger a CNO (EVD-14) */
	DAT_EVENT_DATA data;
	struct dapl_srq_count *srq; /* to be let go when the event goes; NULL: none */
};

struct dapl_ring {
	struct dapl_event *events;
	uint32_t size, head, count;
};

/* Room for size events, touched only as far as it is used. False: no memory. */
bool dapl_ring_init(struct dapl_ring *ring, uint32_t size);
void dapl_ring_fini(struct dapl_ring *ring);
/* Keeps order and content; size >= count. False: no memory, nothing changed. */
bool dapl_ring_resize(struct dapl_ring *ring, uint32_t size);
/* False: full. */
bool dapl_ring_push(struct dapl_ring *ring, const struct dapl_event *event);
/* False: empty. */
bool dapl_ring_pop(struct dapl_ring *ring, struct dapl_event *event);

#endif
