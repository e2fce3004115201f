/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/dto.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "dapl/config.h"
#include "dapl/status.h"

/* A caller's segment array goes to the transport as it is. */
static_assert(sizeof(DAT_LMR_TRIPLET) == sizeof(struct tp_sge), "segment size");
static_assert(offsetof(DAT_LMR_TRIPLET, virtual_address) == offsetof(struct tp_sge, addr),
	      "segment");
static_assert(offsetof(DAT_LMR_TRIPLET, segment_length) == offsetof(struct tp_sge, length),
	      "segment");
static_assert(offsetof(DAT_LMR_TRIPLET, lmr_context) == offsetof(struct tp_sge, lkey), "segment");

#define same_status(tp, dat) static_assert((int)(tp) == (int)(dat), "completion status")
same_status(TP_WC_SUCCESS, DAT_DTO_SUCCESS);
same_status(TP_WC_FLUSHED, DAT_DTO_ERR_FLUSHED);
same_status(TP_WC_LOCAL_LENGTH, DAT_DTO_ERR_LOCAL_LENGTH);
same_status(TP_WC_LOCAL_EP, DAT_DTO_ERR_LOCAL_EP);
same_status(TP_WC_LOCAL_PROTECTION, DAT_DTO_ERR_LOCAL_PROTECTION);
same_status(TP_WC_BAD_RESPONSE, DAT_DTO_ERR_BAD_RESPONSE);
same_status(TP_WC_REMOTE_ACCESS, DAT_DTO_ERR_REMOTE_ACCESS);
same_status(TP_WC_REMOTE_RESPONDER, DAT_DTO_ERR_REMOTE_RESPONDER);
same_status(TP_WC_TRANSPORT, DAT_DTO_ERR_TRANSPORT);
same_status(TP_WC_RECEIVER_NOT_READY, DAT_DTO_ERR_RECEIVER_NOT_READY);
same_status(TP_WC_PARTIAL_PACKET, DAT_DTO_ERR_PARTIAL_PACKET);
same_status(TP_WC_BIND_FAILED, DAT_RMR_OPERATION_FAILED);

#define unlikely(x) __builtin_expect(!!(x), 0)

/* ---- Slots ---- */

bool dapl_slots_init(struct dapl_slots *slots, uint32_t limit, struct dapl_ep *ep)
{
	uint32_t size = 1, i;

	while (size < limit)
		size *= 2;
	*slots = (struct dapl_slots){ .size = size, .limit = limit };
	if (!limit)
		return true;
	slots->slot = calloc(size, sizeof(*slots->slot));
	if (!slots->slot)
		return false;
	for (i = 0; i < size; i++)
		slots->slot[i].ep = ep;
	return true;
}

/* The next free slot, or NULL; EP lock held. It is taken by moving the tail. */
static inline struct dapl_slot *next_slot(struct dapl_slots *slots)
{
	struct dapl_slot *slot;

	if (unlikely(dapl_slots_used(slots) >= slots->limit))
		return NULL;
	slot = &slots->slot[slots->tail & (slots->size - 1)];
	slot->seq = slots->tail;
	return slot;
}

static inline void give_back(struct dapl_slots *slots, const struct dapl_slot *slot)
{
	atomic_store_explicit(&slots->head, slot->seq + 1, memory_order_release);
}

/* ---- Completions ---- */

/* A successful receive is silent by what the receiver and the sender asked for (DTO-25). */
static inline bool recv_silent(const struct dapl_ep *ep, const struct dapl_slot *slot,
			       const struct tp_wc *wc)
{
	if (ep->recv_mode == DAT_COMPLETION_SOLICITED_WAIT_FLAG)
		return !(wc->flags & TP_WC_SOLICITED);
	return slot->silent;
}

bool dapl_dto_event(const struct tp_wc *wc, DAT_EVENT_DATA *data, DAT_EVENT_NUMBER *number)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &data->dto_completion_event_data;
	struct dapl_slot *slot = (struct dapl_slot *)(uintptr_t)wc->wr_id;
	struct dapl_ep *ep = slot->ep;
	bool recv = slot->operation == DAT_DTO_RECEIVE;
	bool silent = recv ? recv_silent(ep, slot, wc) : slot->silent;

	*number = DAT_DTO_COMPLETION_EVENT;
	dto->ep_handle = ep;
	dto->user_cookie.as_64 = slot->cookie;
	dto->status = (DAT_DTO_COMPLETION_STATUS)wc->status;
	dto->transfered_length = recv ? wc->byte_len : slot->length;
	dto->operation = (DAT_DTOS)slot->operation;
	dto->rmr_context = 0;
	if (unlikely(wc->status)) {
		dto->transfered_length = 0;
		silent = false; /* DTO-26 */
	}
	give_back(recv ? &ep->recv : &ep->request, slot);
	return silent;
}

/* ---- Arguments ---- */

/* Sum of the segment lengths, in 64 bits (DTO-92). */
static inline uint64_t total_length(const DAT_LMR_TRIPLET *iov, DAT_COUNT num)
{
	uint64_t total = 0;
	DAT_COUNT i;

	for (i = 0; i < num; i++)
		total += iov[i].segment_length;
	return total;
}

static inline DAT_RETURN check_iov(const DAT_LMR_TRIPLET *iov, DAT_COUNT num, uint32_t max)
{
	if (unlikely((uint32_t)num > max))
		return DAPL_BAD_ARG(2); /* DTO-12; negative numbers too */
	if (unlikely(num && !iov))
		return DAPL_BAD_ARG(3);
	return DAT_SUCCESS;
}

/* DTO-27, strict mode only: the flags a request of an EP may carry. */
static bool request_flags_legal(const struct dapl_ep *ep, DAT_COMPLETION_FLAGS flags)
{
	uint32_t legal = DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG |
			 DAT_COMPLETION_BARRIER_FENCE_FLAG;

	if (ep->request_mode == DAT_COMPLETION_UNSIGNALLED_FLAG)
		legal |= DAT_COMPLETION_UNSIGNALLED_FLAG;
	return !((uint32_t)flags & ~legal);
}

static bool recv_flags_legal(const struct dapl_ep *ep, DAT_COMPLETION_FLAGS flags)
{
	uint32_t legal = 0;

	if (ep->recv_mode == DAT_COMPLETION_UNSIGNALLED_FLAG)
		legal = DAT_COMPLETION_UNSIGNALLED_FLAG;
	return !((uint32_t)flags & ~legal);
}

/* ---- Requests ---- */

/* Why an EP takes no request at all (DTO-18 to DTO-20), or that it is full (DTO-16). */
static DAT_RETURN why_not(const struct dapl_ep *ep, const struct dapl_slots *slots,
			  enum dapl_ep_cause cause)
{
	uint8_t state = dapl_ep_state(ep);

	if (!ep->pz || !slots->limit)
		return DAPL_BAD_STATE(EP_NOTREADY);
	if (dapl_ep_step(state, cause).verdict == DAPL_EP_REFUSE)
		return dapl_ep_state_error(state);
	return DAPL_NO_RESOURCE(MEMORY);
}

static inline uint32_t wr_flags(DAT_COMPLETION_FLAGS flags)
{
	return (flags & DAT_COMPLETION_SUPPRESS_FLAG ? 0 : TP_WR_SIGNALED) |
	       (flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG ? TP_WR_SOLICITED : 0) |
	       (flags & DAT_COMPLETION_BARRIER_FENCE_FLAG ? TP_WR_FENCE : 0);
}

/* wr holds all but the id and the flags. */
static inline DAT_RETURN post_request(struct dapl_ep *ep, struct tp_wr *wr, DAT_DTOS operation,
				      DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct dapl_slot *slot = NULL;
	DAT_RETURN rc;
	uint8_t state;
	int err;

	pthread_mutex_lock(&ep->lock);
	state = atomic_load_explicit(&ep->state, memory_order_relaxed);
	if (__builtin_expect(state == DAT_EP_STATE_CONNECTED, 1) ||
	    dapl_ep_step(state, DAPL_EP_POST_REQUEST).verdict != DAPL_EP_REFUSE)
		slot = next_slot(&ep->request);
	if (unlikely(!slot)) {
		rc = why_not(ep, &ep->request, DAPL_EP_POST_REQUEST);
		goto unlock;
	}
	slot->cookie = cookie.as_64;
	slot->length = wr->length;
	slot->operation = (uint8_t)operation;
	slot->silent = ep->request_mode == DAT_COMPLETION_UNSIGNALLED_FLAG &&
		       (flags & DAT_COMPLETION_UNSIGNALLED_FLAG);
	wr->wr_id = (uintptr_t)slot;
	wr->flags = wr_flags(flags);
	ep->request.tail++;
	err = ep->qp->ops->post_send(ep->qp, wr);
	rc = DAT_SUCCESS;
	if (unlikely(err)) {
		ep->request.tail--;
		/* -ENOTCONN: the connection is only just being given up or reset (DTO-22). */
		rc = err == -ENOTCONN ? DAPL_BAD_STATE(EP_UNCONNECTED)
				      : dapl_status(err, DAT_RESOURCE_TEP);
	}
unlock:
	pthread_mutex_unlock(&ep->lock);
	return rc;
}

DAT_RETURN dapl_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			     DAT_COMPLETION_FLAGS flags)
{
	struct dapl_ep *ep = dapl_ep_get(ep_handle);
	struct tp_wr wr;
	uint64_t total;
	DAT_RETURN rc;

	if (unlikely(!ep))
		return DAPL_BAD_HANDLE(EP);
	rc = check_iov(local_iov, num_segments, ep->max_send_sge);
	if (unlikely(rc))
		return ep->request.limit ? rc : why_not(ep, &ep->request, DAPL_EP_POST_REQUEST);
	total = total_length(local_iov, num_segments);
	if (unlikely(total > ep->max_message))
		return DAPL_BAD_ARG(3);
	if (unlikely(dapl_config()->strict) && !request_flags_legal(ep, flags))
		return DAPL_BAD_ARG(5);
	wr.opcode = TP_SEND;
	wr.sge = (const struct tp_sge *)local_iov;
	wr.num_sge = (uint32_t)num_segments;
	wr.length = (uint32_t)total;
	wr.remote_addr = 0;
	wr.rkey = 0;
	return post_request(ep, &wr, DAT_DTO_SEND, user_cookie, flags);
}

/* What an RDMA moves, and whether it may (DTO-46, DTO-48, DTO-49, DTO-55). */
static DAT_RETURN rdma_length(const struct dapl_ep *ep, enum tp_opcode opcode, uint64_t total,
			      const DAT_RMR_TRIPLET *remote, uint32_t *length)
{
	if (unlikely(dapl_config()->strict) && remote) {
		if (opcode == TP_RDMA_WRITE ? total > remote->segment_length
					    : total < remote->segment_length)
			return dapl_fail(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
		if (opcode == TP_RDMA_READ)
			total = remote->segment_length;
	}
	if (unlikely(total > ep->max_rdma))
		return DAPL_BAD_ARG(3);
	*length = (uint32_t)total;
	return DAT_SUCCESS;
}

static inline DAT_RETURN post_rdma(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				   DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				   const DAT_RMR_TRIPLET *remote_iov, DAT_COMPLETION_FLAGS flags,
				   enum tp_opcode opcode)
{
	struct dapl_ep *ep = dapl_ep_get(ep_handle);
	bool read = opcode == TP_RDMA_READ;
	struct tp_wr wr;
	DAT_RETURN rc;

	if (unlikely(!ep))
		return DAPL_BAD_HANDLE(EP);
	rc = check_iov(local_iov, num_segments, read ? ep->max_read_sge : ep->max_write_sge);
	if (unlikely(rc))
		return ep->request.limit ? rc : why_not(ep, &ep->request, DAPL_EP_POST_REQUEST);
	if (unlikely(num_segments && !remote_iov))
		return DAPL_BAD_ARG(5);
	rc = rdma_length(ep, opcode, total_length(local_iov, num_segments), remote_iov, &wr.length);
	if (unlikely(rc))
		return rc;
	if (unlikely(dapl_config()->strict) && !request_flags_legal(ep, flags))
		return DAPL_BAD_ARG(6);
	if (unlikely(read && !ep->max_read_out))
		return DAPL_NO_RESOURCE(CREDITS);
	wr.opcode = opcode;
	wr.sge = (const struct tp_sge *)local_iov;
	wr.num_sge = (uint32_t)num_segments;
	wr.remote_addr = remote_iov ? remote_iov->virtual_address : 0;
	wr.rkey = remote_iov ? remote_iov->rmr_context : 0;
	return post_request(ep, &wr, read ? DAT_DTO_RDMA_READ : DAT_DTO_RDMA_WRITE, user_cookie,
			    flags);
}

DAT_RETURN dapl_ep_post_rdma_read(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				  DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				  const DAT_RMR_TRIPLET *remote_iov, DAT_COMPLETION_FLAGS flags)
{
	return post_rdma(ep_handle, num_segments, local_iov, user_cookie, remote_iov, flags,
			 TP_RDMA_READ);
}

DAT_RETURN dapl_ep_post_rdma_write(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				   DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				   const DAT_RMR_TRIPLET *remote_iov, DAT_COMPLETION_FLAGS flags)
{
	return post_rdma(ep_handle, num_segments, local_iov, user_cookie, remote_iov, flags,
			 TP_RDMA_WRITE);
}

/* ---- Receives ---- */

DAT_RETURN dapl_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			     DAT_COMPLETION_FLAGS flags)
{
	struct dapl_ep *ep = dapl_ep_get(ep_handle);
	struct dapl_slot *slot = NULL;
	DAT_RETURN rc;
	int err;

	if (unlikely(!ep))
		return DAPL_BAD_HANDLE(EP);
	rc = check_iov(local_iov, num_segments, ep->max_recv_sge);
	if (unlikely(rc))
		return ep->recv.limit ? rc : why_not(ep, &ep->recv, DAPL_EP_POST_RECV);
	if (unlikely(dapl_config()->strict) && !recv_flags_legal(ep, flags))
		return DAPL_BAD_ARG(5);
	pthread_mutex_lock(&ep->lock);
	if (__builtin_expect(ep->pz && dapl_ep_state(ep) != DAPL_EP_GONE, 1))
		slot = next_slot(&ep->recv);
	if (unlikely(!slot)) {
		rc = why_not(ep, &ep->recv, DAPL_EP_POST_RECV);
		goto unlock;
	}
	slot->cookie = user_cookie.as_64;
	slot->operation = DAT_DTO_RECEIVE;
	slot->silent = ep->recv_mode == DAT_COMPLETION_UNSIGNALLED_FLAG &&
		       (flags & DAT_COMPLETION_UNSIGNALLED_FLAG);
	ep->recv.tail++;
	err = ep->qp->ops->post_recv(ep->qp, (uintptr_t)slot, (const struct tp_sge *)local_iov,
				     (uint32_t)num_segments);
	if (unlikely(err)) {
		ep->recv.tail--;
		rc = dapl_status(err, DAT_RESOURCE_TEP);
	}
unlock:
	pthread_mutex_unlock(&ep->lock);
	return rc;
}
