/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The posting path, and completions as events. */
#ifndef DAPL_DTO_H
#define DAPL_DTO_H

#include "dapl/ep.h"

/* An empty state with room for limit DTOs of ep, counted by *head; false: no memory. */
bool dapl_slots_init(struct dapl_slots *slots, uint32_t limit, struct dapl_ep *ep,
		     _Atomic uint32_t *head);
/* DTOs that occupy a slot. */
static inline uint32_t dapl_slots_used(const struct dapl_slots *slots)
{
	return slots->tail - atomic_load_explicit(&slots->head, memory_order_acquire);
}

/*
 * The event data of a completion; gives the slot back, with those of the suppressed requests before
 * it. The lock of the EVD it came from is held.
 */
static inline void dapl_dto_fill(const struct tp_wc *wc, DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	const struct dapl_slot *slot = (const struct dapl_slot *)(uintptr_t)wc->wr_id;

	dto->ep_handle = slot->ep;
	dto->user_cookie.as_64 = slot->cookie;
	dto->status = (DAT_DTO_COMPLETION_STATUS)wc->status;
	dto->operation = (DAT_DTOS)slot->operation;
	dto->transfered_length =
		slot->operation == DAT_DTO_RECEIVE ? wc->byte_len : slot->wr.length;
	dto->rmr_context = 0;
	atomic_store_explicit(slot->head, slot->seq, memory_order_release);
}

/* Ditto, and whether the event is silent (DTO-25). */
bool dapl_dto_event(const struct tp_wc *wc, DAT_EVENT_DATA *data);

DAT_RETURN dapl_ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT num_segments, DAT_LMR_TRIPLET *local_iov,
			     DAT_DTO_COOKIE user_cookie, DAT_COMPLETION_FLAGS flags);
DAT_RETURN dapl_ep_post_recv(DAT_EP_HANDLE ep, DAT_COUNT num_segments, DAT_LMR_TRIPLET *local_iov,
			     DAT_DTO_COOKIE user_cookie, DAT_COMPLETION_FLAGS flags);
DAT_RETURN dapl_ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT num_segments,
				  DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				  const DAT_RMR_TRIPLET *remote_iov, DAT_COMPLETION_FLAGS flags);
DAT_RETURN dapl_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT num_segments,
				   DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				   const DAT_RMR_TRIPLET *remote_iov, DAT_COMPLETION_FLAGS flags);

#endif
