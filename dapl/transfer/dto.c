/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/transfer/dto.h"

#include <assert.h>
#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/base/config.h"
#include "dapl/object/names.h"
#include "dapl/base/status.h"
#include "trace/log.h"

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

/* ---- Slots ---- */

static void init_slot(struct dapl_slot *slot, struct dapl_ep *ep, bool recv)
{
	slot->wr.wr_id = (uintptr_t)slot;
	slot->wr.sge = &slot->wr.one;
	slot->wr.num_sge = 1;
	slot->wr.flags = TP_WR_SIGNALED;
	slot->complete = dapl_dto_complete;
	slot->done.ep_handle = ep;
	slot->done.status = DAT_DTO_SUCCESS;
	slot->done.operation = recv ? DAT_DTO_RECEIVE : DAT_DTO_SEND;
}

/* A ring whose next slot gets the place after tail; places say where in the ring a slot is. */
static bool new_ring(struct dapl_slots *slots, uint32_t limit, uint32_t tail, struct dapl_ep *ep,
		     bool recv)
{
	uint32_t size = 1, i;
	struct dapl_slot *slot;

	while (size <= limit)
		size *= 2;
	slot = aligned_alloc(alignof(struct dapl_slot), size * sizeof(*slot));
	if (!slot)
		return false;
	memset(slot, 0, size * sizeof(*slot));
	for (i = 0; i < size; i++) {
		init_slot(&slot[i], ep, recv);
		slot[i].next = &slot[(i + 1) & (size - 1)];
		slot[i].head = &slots->head;
		slot[i].seq = tail - ((tail - i - 1) & (size - 1));
	}
	slots->slot = slot;
	slots->next = slots->stop = &slot[tail & (size - 1)];
	slots->size = size;
	slots->limit = limit;
	return true;
}

bool dapl_slots_init(struct dapl_slots *slots, uint32_t limit, struct dapl_ep *ep)
{
	memset(slots, 0, sizeof(*slots));
	return !limit || new_ring(slots, limit, 0, ep, slots == &ep->recv);
}

bool dapl_slots_extend(struct dapl_slots *slots, uint32_t limit, struct dapl_ep *ep)
{
	uint32_t tail = atomic_load_explicit(&slots->head, memory_order_acquire);

	return new_ring(slots, limit, tail + dapl_slots_used(slots), ep, slots == &ep->recv);
}

void dapl_slots_empty(struct dapl_slots *slots, uint32_t num)
{
	if (slots->slot)
		atomic_store_explicit(&slots->head, slots->next->seq + slots->size - 1 - num,
				      memory_order_release);
	slots->stop = slots->next;
}

void dapl_slots_speak(struct dapl_slots *slots)
{
	uint32_t i;

	for (i = 0; slots->slot && i < slots->size; i++)
		slots->slot[i].silent = 0;
}

/* Next moves on; EP lock held. */
static inline void use_slot(struct dapl_slots *slots, struct dapl_slot *slot)
{
	slots->next = slot->next;
	slot->seq += slots->size;
}

static inline struct dapl_slot *take_slot(struct dapl_slots *slots)
{
	struct dapl_slot *slot = slots->next;

	use_slot(slots, slot);
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

/* All posts ever but for overflow, which is the place of the one before next; EP lock held. */
static inline uint32_t slots_tail(const struct dapl_slots *slots)
{
	return slots->next->seq + slots->size - 1;
}

/* The slot that has or gets the place + 1. */
static inline struct dapl_slot *slot_at(const struct dapl_slots *slots, uint32_t place)
{
	return &slots->slot[place & (slots->size - 1)];
}

/* The one that was taken last; EP lock held. */
static struct dapl_slot *last_slot(const struct dapl_slots *slots)
{
	return slot_at(slots, slots_tail(slots) - 1);
}

/* The transport refused what was to be in slot, the last one taken; EP lock held. */
static DAT_RETURN post_failed(struct dapl_slots *slots, struct dapl_slot *slot, int err)
{
	slots->next = slot;
	slot->seq -= slots->size;
	switch (err) {
	case -ENOTCONN: /* the connection is only just being given up or reset (DTO-22) */
		return DAPL_BAD_STATE(EP_UNCONNECTED);
	case -EBUSY: /* a bind's window (RMR-21) */
		return dapl_fail(DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	default:
		return dapl_status(err, DAT_RESOURCE_TEP);
	}
}

/*
 * Next has met stop: DAT_SUCCESS, with stop as far ahead as there is room, or why nothing can be
 * posted. EP lock held.
 */
static __attribute__((noinline)) DAT_RETURN make_room(struct dapl_ep *ep, struct dapl_slots *slots,
						      enum dapl_ep_cause cause)
{
	uint32_t used = dapl_slots_used(slots), bound = slots->limit;

	dapl_slots_posted(slots);
	if (!ep->pz || used >= slots->limit ||
	    dapl_ep_step(dapl_ep_state(ep), cause).verdict == DAPL_EP_REFUSE)
		return why_not(ep, slots, cause);
	if (slots == &ep->recv && ep->watch < bound) /* from there on one by one */
		bound = ep->watch > used ? ep->watch : used + 1;
	slots->stop = slot_at(slots, slots_tail(slots) + bound - used);
	return DAT_SUCCESS;
}

/*
 * The same for most requests, where next has met stop for no other reason than that it ran; and
 * without a call, for which registers had to be saved. False: make_room is to say. EP lock held.
 */
static inline __attribute__((always_inline)) bool refill(struct dapl_ep *ep,
							 const struct dapl_slot *next)
{
	struct dapl_slots *slots = &ep->request;
	uint32_t tail = next->seq + slots->size - 1, end;

	end = atomic_load_explicit(&slots->head, memory_order_acquire) + slots->limit;
	if (end == tail || dapl_ep_state(ep) != DAT_EP_STATE_CONNECTED)
		return false;
	slots->posted += tail - slots->counted;
	slots->counted = tail;
	slots->stop = slot_at(slots, end);
	return true;
}

DAT_RETURN dapl_request_take(struct dapl_ep *ep, struct dapl_slot **slot)
{
	struct dapl_slots *slots = &ep->request;
	DAT_RETURN rc = DAT_SUCCESS;

	if (slots->next == slots->stop)
		rc = make_room(ep, slots, DAPL_EP_POST_REQUEST);
	if (rc)
		return rc;
	*slot = take_slot(slots);
	ep->longs++;
	return DAT_SUCCESS;
}

DAT_RETURN dapl_request_refused(struct dapl_ep *ep, struct dapl_slot *slot, int err)
{
	ep->longs--;
	return post_failed(&ep->request, slot, err);
}

uint32_t dapl_request_flags(DAT_COMPLETION_FLAGS flags)
{
	return wr_flags[flags & 15];
}

#define POST_REQUEST_FORMAT "opcode=%s bytes=%u cookie=0x%llx"
DAPL_TRACE_POINT(post_request, DAPL_TRC_POST, POST_REQUEST_FORMAT);

static void fill_wr(struct tp_wr *wr, const struct dapl_request *rq)
{
	wr->sge = (const struct tp_sge *)rq->iov;
	wr->num_sge = rq->num;
	wr->opcode = rq->opcode;
	wr->flags = wr_flags[rq->flags & 15];
	wr->remote_addr = rq->remote_addr;
	if (rq->opcode == TP_CMP_AND_SWAP || rq->opcode == TP_FETCH_AND_ADD) {
		wr->atomic.compare_add = rq->compare_add;
		wr->atomic.swap = rq->swap;
		wr->atomic.rkey = rq->rkey;
	} else {
		wr->rkey = rq->rkey;
	}
	if (rq->opcode == TP_RDMA_WRITE_IMM || rq->opcode == TP_SEND_INVALIDATE)
		wr->immediate = rq->immediate;
	wr->length = rq->length;
}

/* EP lock held */
static DAT_RETURN request_failed(struct dapl_ep *ep, struct dapl_slot *slot, int err)
{
	ep->posted[slot->done.operation]--;
	ep->posted_bytes[slot->done.operation] -= slot->wr.length;
	return dapl_request_refused(ep, slot, err);
}

DAT_RETURN dapl_request_post(const struct dapl_request *rq)
{
	struct dapl_slot *slot;
	DAT_RETURN rc;
	int err;

	dapl_lock(&rq->ep->lock);
	rc = dapl_request_take(rq->ep, &slot);
	if (unlikely(rc))
		goto unlock;
	slot->done.user_cookie.as_64 = rq->cookie;
	slot->done.operation = (DAT_DTOS)rq->operation;
	slot->silent = (uint8_t)rq->flags & rq->ep->request_unsignalled;
	slot->wr.wr_id = (uintptr_t)slot;
	fill_wr(&slot->wr, rq);
	rq->ep->posted[rq->operation]++;
	rq->ep->posted_bytes[rq->operation] += rq->length;
	dapl_trace_at(post_request, rq->ep, POST_REQUEST_FORMAT, dapl_opcode_name(rq->opcode),
		      rq->length, (unsigned long long)rq->cookie);
	err = rq->ep->qp->ops->post_send(rq->ep->qp, &slot->wr);
	if (unlikely(err))
		rc = request_failed(rq->ep, slot, err);
	slot->wr.sge = &slot->wr.one;
	slot->wr.num_sge = 1;
	slot->wr.flags = TP_WR_SIGNALED;
unlock:
	dapl_unlock(&rq->ep->lock);
	return rc;
}

/* ---- The short way ---- */

/* The transport did not take the last request by the short way; the EP lock is held. Frees it. */
static __attribute__((noinline)) DAT_RETURN unpost(struct dapl_lock *lock, int result)
{
	struct dapl_ep *ep = dapl_container(lock, struct dapl_ep, lock);
	struct dapl_slot *slot = last_slot(&ep->request);
	int err = ep->qp->ops->unpost(ep->qp, &slot->wr, result);
	DAT_RETURN rc = DAT_SUCCESS;

	if (err) {
		ep->short_sends -= slot->done.operation == DAT_DTO_SEND;
		ep->posted_bytes[slot->done.operation] -= slot->wr.length;
		rc = post_failed(&ep->request, slot, err);
	}
	dapl_unlock(&ep->lock);
	return rc;
}

static __attribute__((noinline)) DAT_RETURN wake(struct dapl_lock *lock)
{
	dapl_unlock_slow(lock);
	return DAT_SUCCESS;
}

typedef uint32_t four_words __attribute__((vector_size(16)));

static_assert(offsetof(DAT_RMR_TRIPLET, segment_length) == 8 &&
		      offsetof(DAT_RMR_TRIPLET, rmr_context) == 12 &&
		      offsetof(struct tp_wr, rkey) - offsetof(struct tp_wr, remote_addr) == 8 &&
		      sizeof(((struct tp_wr *)NULL)->atomic) >= 8,
	      "address and key at once");

/* Address and key, and where nobody looks the length. */
static inline void put_remote(struct tp_wr *wr, const DAT_RMR_TRIPLET *remote)
{
	four_words words;

	memcpy(&words, remote, sizeof(words));
#ifdef __clang__
	words = __builtin_shufflevector(words, words, 0, 1, 3, 2);
#else
	words = __builtin_shuffle(words, (four_words){ 0, 1, 3, 2 });
#endif
	memcpy((char *)wr + offsetof(struct tp_wr, remote_addr), &words, sizeof(words));
}

/*
 * The short way of most requests: one segment with something in it, no flags, so that there is
 * little to write. It takes the lock and the room that are there; where they are not, the long way
 * is the one to wait, or to say what is wrong. All that is rare is a call in tail position, for
 * which no register has to be saved.
 */
static inline __attribute__((always_inline)) DAT_RETURN
post_easy(struct dapl_ep *ep, struct dapl_slot *slot, const DAT_LMR_TRIPLET *iov, DAT_UINT64 cookie)
{
	struct dapl_lock *lock = &ep->lock;
	int result;

	DAPL_FORGET_ORIGIN(lock);
	slot->done.user_cookie.as_64 = cookie;
	memcpy(&slot->wr.one, iov, sizeof(slot->wr.one));
	result = ep->qp->post(ep->qp, &slot->wr);
	if (unlikely(result))
		return unpost(lock, result);
	DAPL_FORGET_ORIGIN(result);
	if (unlikely(!dapl_tryunlock(lock)))
		return wake(lock);
	return (DAT_RETURN)result;
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
	return dapl_request_post(&(struct dapl_request){ .ep = ep,
							 .iov = iov,
							 .num = (uint32_t)num,
							 .length = (uint32_t)total,
							 .cookie = cookie.as_64,
							 .flags = flags,
							 .opcode = TP_SEND,
							 .operation = DAT_DTO_SEND });
}

static DAT_RETURN careful_rdma(struct dapl_ep *ep, DAT_COUNT num, const DAT_LMR_TRIPLET *iov,
			       DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
			       DAT_COMPLETION_FLAGS flags, bool read)
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
	return dapl_request_post(&(struct dapl_request){
		.ep = ep,
		.iov = iov,
		.num = (uint32_t)num,
		.length = (uint32_t)total,
		.remote_addr = remote->virtual_address,
		.rkey = remote->rmr_context,
		.cookie = cookie.as_64,
		.flags = flags,
		.opcode = read ? TP_RDMA_READ : TP_RDMA_WRITE,
		.operation = read ? DAT_DTO_RDMA_READ : DAT_DTO_RDMA_WRITE });
}

static __attribute__((noinline)) DAT_RETURN
careful_write(struct dapl_ep *ep, DAT_COUNT num, const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
	      const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
	return careful_rdma(ep, num, iov, cookie, remote, flags, false);
}

static inline __attribute__((always_inline)) DAT_RETURN
post_easy_send(struct dapl_ep *ep, struct dapl_slot *slot, const DAT_LMR_TRIPLET *iov,
	       DAT_UINT64 cookie, uint64_t length)
{
	use_slot(&ep->request, slot);
	ep->short_sends++;
	ep->posted_bytes[DAT_DTO_SEND] += length;
	slot->done.operation = DAT_DTO_SEND;
	slot->wr.opcode = TP_SEND;
	return post_easy(ep, slot, iov, cookie);
}

static inline __attribute__((always_inline)) DAT_RETURN
post_easy_write(struct dapl_ep *ep, struct dapl_slot *slot, const DAT_LMR_TRIPLET *iov,
		DAT_UINT64 cookie, const DAT_RMR_TRIPLET *remote, uint64_t length)
{
	use_slot(&ep->request, slot);
	ep->posted_bytes[DAT_DTO_RDMA_WRITE] += length;
	slot->done.operation = DAT_DTO_RDMA_WRITE;
	slot->wr.opcode = TP_RDMA_WRITE;
	put_remote(&slot->wr, remote);
	return post_easy(ep, slot, iov, cookie);
}

/* The arguments stay where the calls have them, whether they are used or not. */
#if __has_attribute(noipa)
#define KEEP_ARGUMENTS __attribute__((noipa))
#else
#define KEEP_ARGUMENTS __attribute__((noinline))
#endif

/* Slot is next, which has met stop; the lock is held and given back. */
static KEEP_ARGUMENTS DAT_RETURN full_send(struct dapl_ep *ep, struct dapl_slot *slot,
					   const DAT_LMR_TRIPLET *iov, DAT_UINT64 cookie)
{
	(void)slot;
	dapl_unlock(&ep->lock);
	return careful_send(ep, 1, iov, (DAT_DTO_COOKIE){ .as_64 = cookie },
			    DAT_COMPLETION_DEFAULT_FLAG);
}

static KEEP_ARGUMENTS DAT_RETURN full_write(struct dapl_ep *ep, struct dapl_slot *slot,
					    const DAT_LMR_TRIPLET *iov, DAT_UINT64 cookie,
					    const DAT_RMR_TRIPLET *remote)
{
	(void)slot;
	dapl_unlock(&ep->lock);
	return careful_write(ep, 1, iov, (DAT_DTO_COOKIE){ .as_64 = cookie }, remote,
			     DAT_COMPLETION_DEFAULT_FLAG);
}

static __attribute__((noinline)) DAT_RETURN crowded_send(struct dapl_ep *ep, struct dapl_slot *slot,
							 const DAT_LMR_TRIPLET *iov,
							 DAT_UINT64 cookie)
{
	if (unlikely(!refill(ep, slot)))
		return full_send(ep, slot, iov, cookie);
	return post_easy_send(ep, slot, iov, cookie, iov->segment_length);
}

static __attribute__((noinline)) DAT_RETURN
crowded_write(struct dapl_ep *ep, struct dapl_slot *slot, const DAT_LMR_TRIPLET *iov,
	      DAT_UINT64 cookie, const DAT_RMR_TRIPLET *remote)
{
	if (unlikely(!refill(ep, slot)))
		return full_write(ep, slot, iov, cookie, remote);
	return post_easy_write(ep, slot, iov, cookie, remote, iov->segment_length);
}

/* ---- The calls ---- */

/* One segment and no flags. */
static inline bool is_plain(DAT_COUNT num, DAT_COMPLETION_FLAGS flags)
{
	return !(((uint32_t)num - 1) | (uint32_t)flags);
}

/* Neither is NULL. False may be said of others, too, which costs the way round only. */
static inline bool surely_both(const void *a, const void *b)
{
	return (uintptr_t)a & (uintptr_t)b;
}

DAT_RETURN dapl_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			     DAT_COMPLETION_FLAGS flags)
{
	struct dapl_ep *ep = ep_handle;
	struct dapl_slot *slot;
	uint64_t length;

	if (unlikely(!dapl_object_looks(&ep->obj, DAPL_TYPE_EP)))
		return DAPL_BAD_HANDLE(EP);
	if (unlikely(!is_plain(num_segments, flags) || !local_iov ||
		     (length = local_iov->segment_length) >= ep->beyond_message ||
		     dapl_trace_wanted(post_request) || !dapl_trylock(&ep->lock)))
		return careful_send(ep, num_segments, local_iov, user_cookie, flags);
	slot = ep->request.next;
	if (unlikely(slot == ep->request.stop))
		return crowded_send(ep, slot, local_iov, user_cookie.as_64);
	return post_easy_send(ep, slot, local_iov, user_cookie.as_64, length);
}

DAT_RETURN dapl_ep_post_rdma_read(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				  DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				  const DAT_RMR_TRIPLET *remote_iov, DAT_COMPLETION_FLAGS flags)
{
	struct dapl_ep *ep = ep_handle;

	if (unlikely(!dapl_object_looks(&ep->obj, DAPL_TYPE_EP)))
		return DAPL_BAD_HANDLE(EP);
	return careful_rdma(ep, num_segments, local_iov, user_cookie, remote_iov, flags, true);
}

DAT_RETURN dapl_ep_post_rdma_write(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				   DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				   const DAT_RMR_TRIPLET *remote_iov, DAT_COMPLETION_FLAGS flags)
{
	struct dapl_ep *ep = ep_handle;
	struct dapl_slot *slot;
	uint64_t length;

	if (unlikely(!dapl_object_looks(&ep->obj, DAPL_TYPE_EP)))
		return DAPL_BAD_HANDLE(EP);
	if (unlikely(!is_plain(num_segments, flags) || !surely_both(local_iov, remote_iov) ||
		     (length = local_iov->segment_length) >= ep->beyond_rdma ||
		     dapl_trace_wanted(post_request) || !dapl_trylock(&ep->lock)))
		return careful_write(ep, num_segments, local_iov, user_cookie, remote_iov, flags);
	slot = ep->request.next;
	if (unlikely(slot == ep->request.stop))
		return crowded_write(ep, slot, local_iov, user_cookie.as_64, remote_iov);
	return post_easy_write(ep, slot, local_iov, user_cookie.as_64, remote_iov, length);
}

/* ---- Receives ---- */

/* Strict mode, an EP that is not ready, and arguments that are wrong or unusual. */
static DAT_RETURN check_recv(const struct dapl_ep *ep, DAT_COUNT num, const DAT_LMR_TRIPLET *iov,
			     DAT_COMPLETION_FLAGS flags)
{
	if (ep->srq)
		return DAPL_BAD_STATE(SRQ_IN_USE); /* DTO-43 */
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

/* The transport refused the last one; EP lock held. */
static __attribute__((noinline)) DAT_RETURN recv_failed(struct dapl_ep *ep, DAT_COUNT num,
							const DAT_LMR_TRIPLET *iov, int err)
{
	ep->recv_bytes -= num ? total_length(iov, num) : 0;
	return post_failed(&ep->recv, last_slot(&ep->recv), err);
}

/* EP lock held */
static inline __attribute__((always_inline)) DAT_RETURN
queue_recv(struct dapl_ep *ep, DAT_COUNT num, const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
	   DAT_COMPLETION_FLAGS flags)
{
	struct dapl_slot *slot = take_slot(&ep->recv);
	int err;

	ep->recv_bytes += num ? total_length(iov, num) : 0;
	slot->done.user_cookie.as_64 = cookie.as_64;
	slot->silent = (uint8_t)flags & ep->recv_unsignalled;
	err = ep->qp->ops->post_recv(ep->qp, (uintptr_t)slot, (const struct tp_sge *)iov,
				     (uint32_t)num);
	return unlikely(err) ? recv_failed(ep, num, iov, err) : DAT_SUCCESS;
}

/*
 * There seems to be no room, or there are so many receives that a watermark may be passed; the EP
 * lock is held and given back.
 */
static __attribute__((noinline)) DAT_RETURN crowded_recv(struct dapl_ep *ep, DAT_COUNT num,
							 const DAT_LMR_TRIPLET *iov,
							 DAT_DTO_COOKIE cookie,
							 DAT_COMPLETION_FLAGS flags)
{
	DAT_RETURN rc = make_room(ep, &ep->recv, DAPL_EP_POST_RECV);

	if (!rc)
		rc = queue_recv(ep, num, iov, cookie, flags);
	dapl_unlock(&ep->lock);
	if (!rc)
		dapl_ep_check_marks(ep);
	return rc;
}

#define POST_RECV_FORMAT "segments=%d cookie=0x%llx"
DAPL_TRACE_POINT(post_recv, DAPL_TRC_POST, POST_RECV_FORMAT);

static __attribute__((noinline)) DAT_RETURN careful_recv(struct dapl_ep *ep, DAT_COUNT num,
							 const DAT_LMR_TRIPLET *iov,
							 DAT_DTO_COOKIE cookie,
							 DAT_COMPLETION_FLAGS flags)
{
	DAT_RETURN rc = check_recv(ep, num, iov, flags);

	if (rc)
		return rc;
	dapl_trace_at(post_recv, ep, POST_RECV_FORMAT, num, (unsigned long long)cookie.as_64);
	dapl_lock(&ep->lock);
	if (ep->recv.next == ep->recv.stop)
		return crowded_recv(ep, num, iov, cookie, flags);
	rc = queue_recv(ep, num, iov, cookie, flags);
	dapl_unlock(&ep->lock);
	return rc;
}

DAT_RETURN dapl_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			     DAT_COMPLETION_FLAGS flags)
{
	struct dapl_ep *ep = ep_handle;
	DAT_RETURN rc;

	if (unlikely(!dapl_object_looks(&ep->obj, DAPL_TYPE_EP)))
		return DAPL_BAD_HANDLE(EP);
	if (unlikely(!is_plain(num_segments, flags) || !local_iov || !ep->max_recv_sge ||
		     dapl_trace_wanted(post_recv)))
		return careful_recv(ep, num_segments, local_iov, user_cookie, flags);
	dapl_lock(&ep->lock);
	if (unlikely(ep->recv.next == ep->recv.stop))
		return crowded_recv(ep, 1, local_iov, user_cookie, DAT_COMPLETION_DEFAULT_FLAG);
	rc = queue_recv(ep, 1, local_iov, user_cookie, DAT_COMPLETION_DEFAULT_FLAG);
	dapl_unlock(&ep->lock);
	return rc;
}
