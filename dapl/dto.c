/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/dto.h"

#include <assert.h>
#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

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
	slots->slot = aligned_alloc(alignof(struct dapl_slot), size * sizeof(*slots->slot));
	if (!slots->slot)
		return false;
	memset(slots->slot, 0, size * sizeof(*slots->slot));
	for (i = 0; i < size; i++) {
		slots->slot[i].ep = ep;
		slots->slot[i].head = head;
		slots->slot[i].wr.wr_id = (uintptr_t)&slots->slot[i];
	}
	return true;
}

static inline struct dapl_slot *slot_at(struct dapl_slots *slots, uint32_t tail)
{
	struct dapl_slot *slot = &slots->slot[tail & slots->mask];

	slot->seq = tail + 1;
	return slot;
}

/* ---- Arguments ---- */

/* Sum of the segment lengths, in 64 bits (DTO-92). */
static inline uint64_t total_length(const DAT_LMR_TRIPLET *iov, DAT_COUNT num)
{
	uint64_t total = iov->segment_length;

	while (unlikely(--num))
		total += (++iov)->segment_length;
	return total;
}

bool dapl_request_flags_legal(const struct dapl_ep *ep, DAT_COMPLETION_FLAGS flags)
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

static inline __attribute__((always_inline)) DAT_RETURN post_request(struct dapl_request rq)
{
	struct dapl_slots *slots = &rq.ep->request;
	DAT_RETURN rc = DAT_SUCCESS;
	struct dapl_slot *slot;
	uint32_t tail, used;
	int err;

	dapl_lock(&rq.ep->lock);
	tail = slots->tail;
	used = tail - atomic_load_explicit(&slots->head, memory_order_acquire);
	if (unlikely(used >= slots->room) &&
	    (used >= slots->limit ||
	     dapl_ep_step(dapl_ep_state(rq.ep), DAPL_EP_POST_REQUEST).verdict == DAPL_EP_REFUSE)) {
		rc = why_not(rq.ep, slots, DAPL_EP_POST_REQUEST);
		goto unlock;
	}
	slot = slot_at(slots, tail);
	slots->tail = tail + 1;
	slot->cookie = rq.cookie;
	slot->operation = (uint8_t)rq.operation;
	slot->silent = (uint8_t)rq.flags & rq.ep->request_unsignalled;
	slot->wr.sge = (const struct tp_sge *)rq.iov;
	slot->wr.num_sge = rq.num;
	slot->wr.opcode = rq.opcode;
	slot->wr.flags = wr_flags[rq.flags & 15];
	slot->wr.remote_addr = rq.remote_addr;
	if (rq.opcode == TP_CMP_AND_SWAP || rq.opcode == TP_FETCH_AND_ADD) {
		slot->wr.atomic.compare_add = rq.compare_add;
		slot->wr.atomic.swap = rq.swap;
		slot->wr.atomic.rkey = rq.rkey;
	} else {
		slot->wr.rkey = rq.rkey;
	}
	if (rq.opcode == TP_RDMA_WRITE_IMM || rq.opcode == TP_SEND_INVALIDATE)
		slot->wr.immediate = rq.immediate;
	slot->wr.length = rq.length;
	err = rq.ep->qp->ops->post_send(rq.ep->qp, &slot->wr);
	if (unlikely(err))
		rc = post_failed(slots, err);
unlock:
	dapl_unlock(&rq.ep->lock);
	return rc;
}

/* ---- Requests of rarer kinds ---- */

DAT_RETURN dapl_request_post(const struct dapl_request *rq)
{
	return post_request(*rq);
}

DAT_RETURN dapl_request_take(struct dapl_ep *ep, struct dapl_slot **slot)
{
	struct dapl_slots *slots = &ep->request;

	if (!ep->pz || dapl_slots_used(slots) >= slots->limit ||
	    dapl_ep_step(dapl_ep_state(ep), DAPL_EP_POST_REQUEST).verdict == DAPL_EP_REFUSE)
		return why_not(ep, slots, DAPL_EP_POST_REQUEST);
	*slot = slot_at(slots, slots->tail);
	slots->tail++;
	return DAT_SUCCESS;
}

DAT_RETURN dapl_request_refused(struct dapl_ep *ep, int err)
{
	return post_failed(&ep->request, err);
}

uint32_t dapl_request_flags(DAT_COMPLETION_FLAGS flags)
{
	return wr_flags[flags & 15];
}

/* ---- Requests whose arguments need a closer look ---- */

/* Negative numbers are too large ones. */
DAT_RETURN dapl_check_iov(const DAT_LMR_TRIPLET *iov, DAT_COUNT num, uint32_t max, uint64_t *total)
{
	*total = 0;
	if ((uint32_t)num > max)
		return DAPL_BAD_ARG(2);
	if (num && !iov)
		return DAPL_BAD_ARG(3);
	if (num)
		*total = total_length(iov, num);
	return DAT_SUCCESS;
}

uint64_t dapl_size_limit(uint32_t attribute, uint32_t limit)
{
	return dapl_config.strict && attribute ? attribute : limit;
}

/* Strict mode: DTO-46, DTO-48, DTO-49. May change how many bytes a read moves. */
static DAT_RETURN strict_length(bool read, const DAT_RMR_TRIPLET *remote, uint64_t *total)
{
	if (read ? *total < remote->segment_length : *total > remote->segment_length)
		return dapl_fail(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	if (read)
		*total = remote->segment_length;
	return DAT_SUCCESS;
}

static __attribute__((noinline)) DAT_RETURN careful_send(struct dapl_ep *ep, DAT_COUNT num,
							 const DAT_LMR_TRIPLET *iov,
							 DAT_DTO_COOKIE cookie,
							 DAT_COMPLETION_FLAGS flags)
{
	const struct dapl_ep_cold *cold = ep->cold;
	uint64_t total;
	DAT_RETURN rc;

	if (!ep->pz || !ep->request.limit)
		return DAPL_BAD_STATE(EP_NOTREADY);
	rc = dapl_check_iov(iov, num, ep->max_send_sge, &total);
	if (rc)
		return rc;
	if (total > dapl_size_limit(cold->attr.max_message_size, cold->dev_attr->max_msg_size))
		return DAPL_BAD_ARG(3); /* DTO-35 */
	if (dapl_config.strict && !dapl_request_flags_legal(ep, flags))
		return DAPL_BAD_ARG(5);
	return post_request((struct dapl_request){ .ep = ep,
						   .iov = iov,
						   .num = (uint32_t)num,
						   .length = (uint32_t)total,
						   .cookie = cookie.as_64,
						   .flags = flags,
						   .opcode = TP_SEND,
						   .operation = DAT_DTO_SEND });
}

static __attribute__((noinline)) DAT_RETURN
careful_rdma(struct dapl_ep *ep, DAT_COUNT num, const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
	     const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags, bool read)
{
	static const DAT_RMR_TRIPLET nowhere; /* DTO-56 */
	const struct dapl_ep_cold *cold = ep->cold;
	uint32_t max = ep->max_write_sge;
	uint64_t total;
	DAT_RETURN rc;

	if (!ep->pz || !ep->request.limit)
		return DAPL_BAD_STATE(EP_NOTREADY);
	if (read)
		max = cold->attr.max_rdma_read_out ? ep->max_read_sge
						   : cold->dev_attr->max_sge_read;
	rc = dapl_check_iov(iov, num, max, &total);
	if (rc)
		return rc;
	if (num && !remote)
		return DAPL_BAD_ARG(5);
	remote = remote ? remote : &nowhere;
	if (dapl_config.strict)
		rc = strict_length(read, remote, &total);
	if (rc)
		return rc;
	if (total > dapl_size_limit(cold->attr.max_rdma_size, cold->dev_attr->max_rdma_size))
		return DAPL_BAD_ARG(3); /* DTO-55 */
	if (dapl_config.strict && !dapl_request_flags_legal(ep, flags))
		return DAPL_BAD_ARG(6);
	if (read && !cold->attr.max_rdma_read_out)
		return DAPL_NO_RESOURCE(CREDITS); /* DTO-50 */
	return post_request((struct dapl_request){ .ep = ep,
						   .iov = iov,
						   .num = (uint32_t)num,
						   .length = (uint32_t)total,
						   .remote_addr = remote->virtual_address,
						   .rkey = remote->rmr_context,
						   .cookie = cookie.as_64,
						   .flags = flags,
						   .opcode = read ? TP_RDMA_READ : TP_RDMA_WRITE,
						   .operation = read ? DAT_DTO_RDMA_READ
								     : DAT_DTO_RDMA_WRITE });
}

/* ---- The calls ---- */

DAT_RETURN dapl_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			     DAT_COMPLETION_FLAGS flags)
{
	struct dapl_ep *ep = ep_handle;
	uint64_t total;

	if (unlikely(!dapl_object_is(&ep->obj, DAPL_TYPE_EP)))
		return DAPL_BAD_HANDLE(EP);
	if (unlikely((uint32_t)num_segments - 1 >= ep->max_send_sge || !local_iov))
		return careful_send(ep, num_segments, local_iov, user_cookie, flags);
	total = total_length(local_iov, num_segments);
	if (unlikely(total >= ep->beyond_message))
		return careful_send(ep, num_segments, local_iov, user_cookie, flags);
	return post_request((struct dapl_request){ .ep = ep,
						   .iov = local_iov,
						   .num = (uint32_t)num_segments,
						   .length = (uint32_t)total,
						   .cookie = user_cookie.as_64,
						   .flags = flags,
						   .opcode = TP_SEND,
						   .operation = DAT_DTO_SEND });
}

static inline __attribute__((always_inline)) DAT_RETURN
post_rdma(struct dapl_ep *ep, DAT_COUNT num, const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
	  const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags, bool read)
{
	uint64_t total;

	if (unlikely(!dapl_object_is(&ep->obj, DAPL_TYPE_EP)))
		return DAPL_BAD_HANDLE(EP);
	if (unlikely((uint32_t)num - 1 >= (read ? ep->max_read_sge : ep->max_write_sge) || !iov ||
		     !remote))
		return careful_rdma(ep, num, iov, cookie, remote, flags, read);
	total = total_length(iov, num);
	if (unlikely(total >= ep->beyond_rdma))
		return careful_rdma(ep, num, iov, cookie, remote, flags, read);
	return post_request((struct dapl_request){ .ep = ep,
						   .iov = iov,
						   .num = (uint32_t)num,
						   .length = (uint32_t)total,
						   .remote_addr = remote->virtual_address,
						   .rkey = remote->rmr_context,
						   .cookie = cookie.as_64,
						   .flags = flags,
						   .opcode = read ? TP_RDMA_READ : TP_RDMA_WRITE,
						   .operation = read ? DAT_DTO_RDMA_READ
								     : DAT_DTO_RDMA_WRITE });
}

DAT_RETURN dapl_ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT num_segments,
				  DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				  const DAT_RMR_TRIPLET *remote_iov, DAT_COMPLETION_FLAGS flags)
{
	return post_rdma(ep, num_segments, local_iov, user_cookie, remote_iov, flags, true);
}

DAT_RETURN dapl_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT num_segments,
				   DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				   const DAT_RMR_TRIPLET *remote_iov, DAT_COMPLETION_FLAGS flags)
{
	return post_rdma(ep, num_segments, local_iov, user_cookie, remote_iov, flags, false);
}

/* ---- Receives ---- */

/* Strict mode, an EP that is not ready, and arguments that are wrong or unusual. */
static __attribute__((noinline)) DAT_RETURN check_recv(const struct dapl_ep *ep, DAT_COUNT num,
						       const DAT_LMR_TRIPLET *iov,
						       DAT_COMPLETION_FLAGS flags)
{
	if (!ep->pz || !ep->recv.limit)
		return DAPL_BAD_STATE(EP_NOTREADY);
	if ((uint32_t)num > ep->max_recv_sge)
		return DAPL_BAD_ARG(2);
	if (num && !iov)
		return DAPL_BAD_ARG(3);
	if (dapl_config.strict && !recv_flags_legal(ep, flags))
		return DAPL_BAD_ARG(5);
	return DAT_SUCCESS;
}

DAT_RETURN dapl_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			     DAT_COMPLETION_FLAGS flags)
{
	struct dapl_ep *ep = ep_handle;
	struct dapl_slot *slot;
	DAT_RETURN rc = DAT_SUCCESS;
	uint32_t tail;
	int err;

	if (unlikely(!dapl_object_is(&ep->obj, DAPL_TYPE_EP)))
		return DAPL_BAD_HANDLE(EP);
	if (unlikely((uint32_t)num_segments - 1 >= ep->max_recv_sge || !local_iov || !ep->pz ||
		     dapl_config.strict)) {
		rc = check_recv(ep, num_segments, local_iov, flags);
		if (rc)
			return rc;
	}
	dapl_lock(&ep->lock);
	tail = ep->recv.tail;
	if (unlikely(dapl_slots_used(&ep->recv) >= ep->recv.limit ||
		     dapl_ep_state(ep) == DAPL_EP_GONE)) {
		rc = why_not(ep, &ep->recv, DAPL_EP_POST_RECV);
		goto unlock;
	}
	slot = slot_at(&ep->recv, tail);
	ep->recv.tail = tail + 1;
	slot->cookie = user_cookie.as_64;
	slot->operation = DAT_DTO_RECEIVE;
	slot->silent = (uint8_t)flags & ep->recv_unsignalled;
	err = ep->qp->ops->post_recv(ep->qp, (uintptr_t)slot, (const struct tp_sge *)local_iov,
				     (uint32_t)num_segments);
	if (unlikely(err))
		rc = post_failed(&ep->recv, err);
unlock:
	dapl_unlock(&ep->lock);
	return rc;
}
