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

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* ---- Slots ---- */

bool dapl_slots_init(struct dapl_slots *slots, uint32_t limit, struct dapl_ep *ep,
		     _Atomic uint32_t *head)
{
	uint32_t size = 1, i;

	while (size < limit)
		size *= 2;
	*slots = (struct dapl_slots){ .mask = size - 1, .limit = limit };
	if (!limit)
		return true;
	slots->slot = calloc(size, sizeof(*slots->slot));
	if (!slots->slot)
		return false;
	for (i = 0; i < size; i++) {
		slots->slot[i].ep = ep;
		slots->slot[i].head = head;
	}
	return true;
}

/* The next free slot, or NULL; EP lock held. It is taken by moving the tail. */
static inline struct dapl_slot *next_slot(struct dapl_slots *slots)
{
	uint32_t tail = slots->tail;
	struct dapl_slot *slot;

	if (unlikely(tail - atomic_load_explicit(&slots->head, memory_order_acquire) >=
		     slots->limit))
		return NULL;
	slot = &slots->slot[tail & slots->mask];
	slot->seq = tail + 1;
	return slot;
}

/* ---- Completions ---- */

bool dapl_dto_event(const struct tp_wc *wc, DAT_EVENT_DATA *data)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto = &data->dto_completion_event_data;
	bool silent = ((const struct dapl_slot *)(uintptr_t)wc->wr_id)->silent;
	const struct dapl_ep *ep;

	dapl_dto_fill(wc, dto);
	ep = dto->ep_handle;
	if (wc->status)
		return false; /* DTO-26 */
	if (dto->operation == DAT_DTO_RECEIVE &&
	    ep->recv_mode == DAT_COMPLETION_SOLICITED_WAIT_FLAG)
		return !(wc->flags & TP_WC_SOLICITED);
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

static inline bool iov_ok(const DAT_LMR_TRIPLET *iov, DAT_COUNT num, uint32_t max)
{
	return (uint32_t)num <= max && (iov || !num);
}

/* What is wrong with it: DTO-12, negative numbers too, and DTO-11. */
static DAT_RETURN bad_iov(DAT_COUNT num, uint32_t max)
{
	return (uint32_t)num > max ? DAPL_BAD_ARG(2) : DAPL_BAD_ARG(3);
}

/* DTO-27, strict mode only: the flags a request of an EP may carry. */
static bool request_flags_legal(const struct dapl_ep *ep, DAT_COMPLETION_FLAGS flags)
{
	uint32_t legal = DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG |
			 DAT_COMPLETION_BARRIER_FENCE_FLAG | ep->request_unsignalled;

	return !((uint32_t)flags & ~legal);
}

static bool recv_flags_legal(const struct dapl_ep *ep, DAT_COMPLETION_FLAGS flags)
{
	return !((uint32_t)flags & ~(uint32_t)ep->recv_unsignalled);
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

/* The consumer's flags as a transport's. */
#define SUPPRESS  DAT_COMPLETION_SUPPRESS_FLAG
#define SOLICITED DAT_COMPLETION_SOLICITED_WAIT_FLAG
#define FENCE	  DAT_COMPLETION_BARRIER_FENCE_FLAG
#define WR_FLAGS(f)                                                                    \
	(((f)&SUPPRESS ? 0 : TP_WR_SIGNALED) | ((f)&SOLICITED ? TP_WR_SOLICITED : 0) | \
	 ((f)&FENCE ? TP_WR_FENCE : 0))
#define WR_FLAGS_4(f) WR_FLAGS(f), WR_FLAGS((f) + 1), WR_FLAGS((f) + 2), WR_FLAGS((f) + 3)

static const uint8_t wr_flags[16] = { WR_FLAGS_4(0), WR_FLAGS_4(4), WR_FLAGS_4(8), WR_FLAGS_4(12) };

/* The transport refused; EP lock held. */
static DAT_RETURN post_failed(struct dapl_slots *slots, int err)
{
	slots->tail--;
	/* -ENOTCONN: the connection is only just being given up or reset (DTO-22). */
	return err == -ENOTCONN ? DAPL_BAD_STATE(EP_UNCONNECTED)
				: dapl_status(err, DAT_RESOURCE_TEP);
}

/* wr holds where to and from; the rest of it and the slot are filled in here. */
static inline __attribute__((always_inline)) DAT_RETURN
post_request(struct dapl_ep *ep, struct tp_wr *wr, DAT_DTOS operation, DAT_DTO_COOKIE cookie,
	     DAT_COMPLETION_FLAGS flags)
{
	struct dapl_slot *slot = NULL;
	DAT_RETURN rc = DAT_SUCCESS;
	uint8_t state;
	int err;

	wr->next = NULL;
	wr->flags = wr_flags[flags & 15];
	wr->immediate = 0;
	dapl_lock(&ep->lock);
	state = atomic_load_explicit(&ep->state, memory_order_relaxed);
	if (likely(state == DAT_EP_STATE_CONNECTED) ||
	    dapl_ep_step(state, DAPL_EP_POST_REQUEST).verdict != DAPL_EP_REFUSE)
		slot = next_slot(&ep->request);
	if (unlikely(!slot)) {
		rc = why_not(ep, &ep->request, DAPL_EP_POST_REQUEST);
		goto unlock;
	}
	slot->cookie = cookie.as_64;
	slot->length = wr->length;
	slot->operation = (uint8_t)operation;
	slot->silent = flags & ep->request_unsignalled;
	wr->wr_id = (uintptr_t)slot;
	ep->request.tail++;
	err = ep->qp->ops->post_send(ep->qp, wr);
	if (unlikely(err))
		rc = post_failed(&ep->request, err);
unlock:
	dapl_unlock(&ep->lock);
	return rc;
}

/* The answer to a request whose arguments are not right: that it is not ready comes first. */
static DAT_RETURN refuse(const struct dapl_ep *ep, DAT_RETURN rc)
{
	return ep->request.limit ? rc : why_not(ep, &ep->request, DAPL_EP_POST_REQUEST);
}

DAT_RETURN dapl_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			     DAT_COMPLETION_FLAGS flags)
{
	struct dapl_ep *ep = dapl_ep_get(ep_handle);
	struct tp_wr wr;
	uint64_t total;

	if (unlikely(!ep))
		return DAPL_BAD_HANDLE(EP);
	if (unlikely(!iov_ok(local_iov, num_segments, ep->max_send_sge)))
		return refuse(ep, bad_iov(num_segments, ep->max_send_sge));
	total = total_length(local_iov, num_segments);
	if (unlikely(total > ep->max_message))
		return DAPL_BAD_ARG(3);
	if (unlikely(dapl_config.strict) && !request_flags_legal(ep, flags))
		return DAPL_BAD_ARG(5);
	wr.opcode = TP_SEND;
	wr.sge = (const struct tp_sge *)local_iov;
	wr.num_sge = (uint32_t)num_segments;
	wr.length = (uint32_t)total;
	wr.remote_addr = 0;
	wr.rkey = 0;
	return post_request(ep, &wr, DAT_DTO_SEND, user_cookie, flags);
}

/* Strict mode: DTO-27, DTO-46, DTO-48, DTO-49. May change how many bytes a read moves. */
static DAT_RETURN strict_rdma(const struct dapl_ep *ep, bool read, const DAT_RMR_TRIPLET *remote,
			      DAT_COMPLETION_FLAGS flags, uint64_t *total)
{
	if (remote && (read ? *total < remote->segment_length : *total > remote->segment_length))
		return dapl_fail(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	if (!request_flags_legal(ep, flags))
		return DAPL_BAD_ARG(6);
	if (remote && read)
		*total = remote->segment_length;
	return DAT_SUCCESS;
}

static inline __attribute__((always_inline)) DAT_RETURN
post_rdma(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments, DAT_LMR_TRIPLET *local_iov,
	  DAT_DTO_COOKIE user_cookie, const DAT_RMR_TRIPLET *remote_iov, DAT_COMPLETION_FLAGS flags,
	  enum tp_opcode opcode)
{
	static const DAT_RMR_TRIPLET nowhere;
	struct dapl_ep *ep = dapl_ep_get(ep_handle);
	bool read = opcode == TP_RDMA_READ;
	struct tp_wr wr;
	uint64_t total;
	DAT_RETURN rc;
	uint32_t max;

	if (unlikely(!ep))
		return DAPL_BAD_HANDLE(EP);
	max = read ? ep->max_read_sge : ep->max_write_sge;
	if (unlikely(!iov_ok(local_iov, num_segments, max)))
		return refuse(ep, bad_iov(num_segments, max));
	total = total_length(local_iov, num_segments);
	if (unlikely(!remote_iov)) {
		if (num_segments)
			return DAPL_BAD_ARG(5);
		remote_iov = &nowhere; /* DTO-56 */
	}
	if (unlikely(dapl_config.strict)) {
		rc = strict_rdma(ep, read, remote_iov, flags, &total);
		if (rc)
			return rc;
	}
	if (unlikely(total > ep->max_rdma))
		return DAPL_BAD_ARG(3);
	if (unlikely(read && !ep->max_read_out))
		return DAPL_NO_RESOURCE(CREDITS);
	wr.opcode = opcode;
	wr.sge = (const struct tp_sge *)local_iov;
	wr.num_sge = (uint32_t)num_segments;
	wr.length = (uint32_t)total;
	wr.remote_addr = remote_iov->virtual_address;
	wr.rkey = remote_iov->rmr_context;
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
	DAT_RETURN rc = DAT_SUCCESS;
	int err;

	if (unlikely(!ep))
		return DAPL_BAD_HANDLE(EP);
	if (unlikely(!iov_ok(local_iov, num_segments, ep->max_recv_sge)))
		return ep->recv.limit ? bad_iov(num_segments, ep->max_recv_sge)
				      : why_not(ep, &ep->recv, DAPL_EP_POST_RECV);
	if (unlikely(dapl_config.strict) && !recv_flags_legal(ep, flags))
		return DAPL_BAD_ARG(5);
	dapl_lock(&ep->lock);
	if (__builtin_expect(ep->pz && dapl_ep_state(ep) != DAPL_EP_GONE, 1))
		slot = next_slot(&ep->recv);
	if (unlikely(!slot)) {
		rc = why_not(ep, &ep->recv, DAPL_EP_POST_RECV);
		goto unlock;
	}
	slot->cookie = user_cookie.as_64;
	slot->operation = DAT_DTO_RECEIVE;
	slot->silent = flags & ep->recv_unsignalled;
	ep->recv.tail++;
	err = ep->qp->ops->post_recv(ep->qp, (uintptr_t)slot, (const struct tp_sge *)local_iov,
				     (uint32_t)num_segments);
	if (unlikely(err))
		rc = post_failed(&ep->recv, err);
unlock:
	dapl_unlock(&ep->lock);
	return rc;
}
