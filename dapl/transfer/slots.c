/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/transfer/slots.h"

#include <stdalign.h>
#include <stdlib.h>

#include "dapl/transfer/dto.h"

/* A ring whose next slot gets the place after tail; places say where in the ring a slot is. */
static bool new_ring(struct dapl_slots *slots, uint32_t limit, uint32_t tail, DAT_EP_HANDLE ep,
		     DAT_DTOS operation)
{
	uint32_t size = 1, i;
	struct dapl_slot *slot;

	while (size < limit)
		size *= 2;
	slot = aligned_alloc(alignof(struct dapl_slot), size * sizeof(*slot));
	if (!slot)
		return false;
	for (i = 0; i < size; i++) {
		slot[i] = (struct dapl_slot){
			.wr = { .wr_id = (uintptr_t)&slot[i],
				.sge = &slot[i].wr.one,
				.num_sge = 1,
				.flags = TP_WR_SIGNALED },
			.done = { .ep_handle = ep, .operation = operation },
			.complete = dapl_dto_complete,
			.next = &slot[(i + 1) & (size - 1)],
			.head = &slots->head,
			.seq = tail - ((tail - i - 1) & (size - 1)),
		};
	}
	slots->slot = slot;
	slots->next = slots->stop = &slot[tail & (size - 1)];
	slots->size = size;
	slots->limit = limit;
	return true;
}

bool dapl_slots_init(struct dapl_slots *slots, uint32_t limit, DAT_EP_HANDLE ep, DAT_DTOS operation)
{
	*slots = (struct dapl_slots){ .watch = UINT32_MAX };
	return !limit || new_ring(slots, limit, 0, ep, operation);
}

bool dapl_slots_extend(struct dapl_slots *slots, uint32_t limit, DAT_EP_HANDLE ep,
		       DAT_DTOS operation)
{
	uint32_t tail = atomic_load_explicit(&slots->head, memory_order_acquire);

	return new_ring(slots, limit, tail + dapl_slots_used(slots), ep, operation);
}

void dapl_slots_empty(struct dapl_slots *slots, uint32_t num)
{
	if (slots->slot)
		atomic_store_explicit(&slots->head, dapl_slots_tail(slots) - num,
				      memory_order_release);
	dapl_slots_stop(slots);
}

void dapl_slots_unsilence(struct dapl_slots *slots)
{
	uint32_t i;

	for (i = 0; slots->slot && i < slots->size; i++)
		slots->slot[i].silent = 0;
}
