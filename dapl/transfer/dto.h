/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The posting path, and completions as events. */
#ifndef DAPL_DTO_H
#define DAPL_DTO_H

#include <dat/dat_ib_extensions.h>

#include "dapl/endpoint/ep.h"

/* An empty ring of ep with room for limit DTOs, in its own place for good; false: no memory. */
bool dapl_slots_init(struct dapl_slots *slots, uint32_t limit, struct dapl_ep *ep);
/* Room for limit, more than before. What is posted stays where it is, in the old slots, which are
 * the caller's to free when all is over. EP lock held. */
bool dapl_slots_extend(struct dapl_slots *slots, uint32_t limit, struct dapl_ep *ep);
/* Gives back all slots but those of the last num posts. EP lock held. */
void dapl_slots_empty(struct dapl_slots *slots, uint32_t num);
/* What was said of silence about earlier requests is forgotten; none is outstanding. */
void dapl_slots_speak(struct dapl_slots *slots);

/* DTOs that occupy a slot. EP lock held. */
static inline uint32_t dapl_slots_used(const struct dapl_slots *slots)
{
	if (!slots->slot)
		return 0;
	return slots->next->seq + slots->size - 1 -
	       atomic_load_explicit(&slots->head, memory_order_acquire);
}

/* All posts ever. EP lock held. To be asked once in 2^32 posts at least. */
static inline uint64_t dapl_slots_posted(struct dapl_slots *slots)
{
	uint32_t tail = slots->slot ? slots->next->seq + slots->size - 1 : slots->counted;

	slots->posted += (uint32_t)(tail - slots->counted);
	slots->counted = tail;
	return slots->posted;
}

/* Operations of a slot beyond DAT_DTOS and DAT_IB_DTOS. */
#define DAPL_OP_BIND DAT_DTO_BIND_MW

/* The dapl_slot.complete of an EP's own slots. */
void dapl_dto_complete(const struct tp_wc *wc, struct dapl_event *event);
/* The same for a receive from an SRQ, but that its slot and leave are the SRQ's. */
void dapl_dto_complete_shared(const struct tp_wc *wc, struct dapl_event *event);

/* ---- Posting ---- */

/* A request that passed all checks of its arguments. */
struct dapl_request {
	struct dapl_ep *ep;
	const DAT_LMR_TRIPLET *iov;
	uint32_t num;
	uint32_t length;
	DAT_VADDR remote_addr;
	DAT_RMR_CONTEXT rkey;
	DAT_UINT64 cookie;
	DAT_COMPLETION_FLAGS flags;
	uint32_t opcode;	      /* enum tp_opcode */
	uint32_t operation;	      /* DAT_DTOS, DAT_IB_DTOS */
	uint32_t immediate;	      /* or the key to invalidate; where the opcode says so */
	DAT_UINT64 compare_add, swap; /* atomics */
};

/* Posts a request of any kind. */
DAT_RETURN dapl_request_post(const struct dapl_request *rq);
/*
 * The next slot for a request that is not posted by dapl_request_post, or why there is none. EP
 * lock held, as for the second, which gives it back when the transport refused.
 */
DAT_RETURN dapl_request_take(struct dapl_ep *ep, struct dapl_slot **slot);
DAT_RETURN dapl_request_refused(struct dapl_ep *ep, struct dapl_slot *slot, int err);
/* The transport's flags for the consumer's. */
uint32_t dapl_request_flags(DAT_COMPLETION_FLAGS flags);
/* DTO-27, strict mode only: the flags a request of an EP may carry. */
bool dapl_request_flags_legal(const struct dapl_ep *ep, DAT_COMPLETION_FLAGS flags);
/* Number and array of segments (DTO-11, DTO-12), and the sum of their lengths. */
DAT_RETURN dapl_check_iov(const DAT_LMR_TRIPLET *iov, DAT_COUNT num, uint32_t max, uint64_t *total);
/* A size attribute where it counts (strict mode, not 0), or the adapter's limit. */
uint64_t dapl_size_limit(uint32_t attribute, uint32_t limit);

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

DAT_RETURN dapl_ep_post_send_with_invalidate(DAT_EP_HANDLE ep, DAT_COUNT num_segments,
					     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
					     DAT_COMPLETION_FLAGS flags,
					     DAT_BOOLEAN invalidate_flag,
					     DAT_RMR_CONTEXT rmr_context);
DAT_RETURN dapl_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep, const DAT_RMR_TRIPLET *local_iov,
					 DAT_DTO_COOKIE user_cookie,
					 const DAT_RMR_TRIPLET *remote_iov,
					 DAT_COMPLETION_FLAGS flags);

/* The macros of dat_ib_extensions.h of the same names, once their arguments are read. */
DAT_RETURN dapl_ext_fetch_and_add(DAT_HANDLE ep, DAT_UINT64 add, const DAT_LMR_TRIPLET *local,
				  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
				  DAT_COMPLETION_FLAGS flags);
DAT_RETURN dapl_ext_cmp_and_swap(DAT_HANDLE ep, DAT_UINT64 compare, DAT_UINT64 swap,
				 const DAT_LMR_TRIPLET *local, DAT_DTO_COOKIE cookie,
				 const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags);
DAT_RETURN dapl_ext_write_immediate(DAT_HANDLE ep, DAT_COUNT num, const DAT_LMR_TRIPLET *local,
				    DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
				    DAT_UINT32 immediate, DAT_COMPLETION_FLAGS flags);

#endif
