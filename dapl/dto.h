/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The posting path, and completions as events. */
#ifndef DAPL_DTO_H
#define DAPL_DTO_H

#include "dapl/ep.h"

/* Puts slots into an empty state with room for limit DTOs; false: no memory. */
bool dapl_slots_init(struct dapl_slots *slots, uint32_t limit, struct dapl_ep *ep);
/* DTOs that occupy a slot. */
static inline uint32_t dapl_slots_used(const struct dapl_slots *slots)
{
	return slots->tail - atomic_load_explicit(&slots->head, memory_order_acquire);
}

/*
 * Makes the event of a completion and gives the slot back, with those of the suppressed requests
 * before it. Returns whether the event is silent (DTO-25). The lock of the EVD it came from is
 * held.
 */
bool dapl_dto_event(const struct tp_wc *wc, DAT_EVENT_DATA *data, DAT_EVENT_NUMBER *number);

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
