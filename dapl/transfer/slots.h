/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The outstanding DTOs of an endpoint: rings of slots, one for each direction. */
#ifndef DAPL_SLOTS_H
#define DAPL_SLOTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <dat/udat.h>

#include "dapl/base/status.h"
#include "dapl/event/completion.h"

/*
 * A ring in posting order, sized at creation. The poster moves next under the EP lock; whoever
 * takes a completion moves head behind its slot, which also reclaims the suppressed ones before it
 * (DTO-17, DTO-31); of those that no other follows, refusal.c asks the transport. What a post has
 * to check beforehand is checked only when next meets stop, which moves it on; whatever makes the
 * answer another one puts stop back.
 */
struct dapl_slots {
	struct dapl_slot *next, *stop;
	uint32_t size; /* the number of slots, a power of two, at least limit */
	_Atomic uint32_t head;
	struct dapl_slot *slot;
	uint32_t limit;
	uint32_t watch; /* at so many outstanding ones every post is checked; UINT32_MAX: never */
	/* Why nothing may be posted in the EP's state (DTO-18 to DTO-20), or 0. */
	DAT_RETURN refused;
};

/* An empty ring of the EP with room for limit DTOs, in its own place for good; false: no memory. */
bool dapl_slots_init(struct dapl_slots *slots, uint32_t limit, DAT_EP_HANDLE ep,
		     DAT_DTOS operation);
/*
 * Room for limit, more than before. What is posted stays where it is, in the old slots, which are
 * the caller's to free when all is over. EP lock held.
 */
bool dapl_slots_extend(struct dapl_slots *slots, uint32_t limit, DAT_EP_HANDLE ep,
		       DAT_DTOS operation);
/* Gives back all slots but those of the last num posts, whatever is to come. EP lock held. */
void dapl_slots_empty(struct dapl_slots *slots, uint32_t num);
/* No slot is silent any more; none is outstanding. */
void dapl_slots_unsilence(struct dapl_slots *slots);

/* The place of the last post; EP lock held. */
static inline uint32_t dapl_slots_tail(const struct dapl_slots *slots)
{
	return slots->next->seq + slots->size - 1;
}

/* DTOs that occupy a slot. EP lock held. */
static inline uint32_t dapl_slots_used(const struct dapl_slots *slots)
{
	if (!slots->slot)
		return 0;
	return dapl_slots_tail(slots) - atomic_load_explicit(&slots->head, memory_order_acquire);
}

/*
 * Gives back all slots but those of the last num posts, where that is more than are free; those
 * given back have no completion to come. Whoever takes one of a slot behind them moves head
 * further, and wins. EP lock held.
 */
static inline bool dapl_slots_reclaim(struct dapl_slots *slots, uint32_t num)
{
	uint32_t head = atomic_load_explicit(&slots->head, memory_order_acquire);
	uint32_t tail = dapl_slots_tail(slots);

	return num < tail - head &&
	       atomic_compare_exchange_strong_explicit(&slots->head, &head, tail - num,
						       memory_order_acq_rel, memory_order_relaxed);
}

/* Takes the next slot, where next has not met stop. EP lock held, as for what follows. */
static inline struct dapl_slot *dapl_slots_take(struct dapl_slots *slots)
{
	struct dapl_slot *slot = slots->next;

	slots->next = slot->next;
	slot->seq += slots->size;
	return slot;
}

/* The slot that was taken last. */
static inline struct dapl_slot *dapl_slots_last(const struct dapl_slots *slots)
{
	return &slots->slot[(dapl_slots_tail(slots) - 1) & (slots->size - 1)];
}

/* Undoes the last take. */
static inline void dapl_slots_untake(struct dapl_slots *slots, struct dapl_slot *slot)
{
	slots->next = slot;
	slot->seq -= slots->size;
}

/* The next post is checked. */
static inline void dapl_slots_stop(struct dapl_slots *slots)
{
	slots->stop = slots->next;
}

/* Next has met stop, which moves on as far as there is room; or why nothing can be posted. */
static inline DAT_RETURN dapl_slots_check(struct dapl_slots *slots)
{
	uint32_t bound = slots->limit, used;

	if (slots->refused)
		return slots->refused;
	used = dapl_slots_used(slots);
	if (used >= bound)
		return DAPL_NO_RESOURCE(MEMORY); /* DTO-16 */
	if (slots->watch < bound)		 /* from there on one by one */
		bound = slots->watch > used ? slots->watch : used + 1;
	slots->stop = &slots->slot[(dapl_slots_tail(slots) + bound - used) & (slots->size - 1)];
	return DAT_SUCCESS;
}

#endif
