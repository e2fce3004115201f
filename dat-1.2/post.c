/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Posting: segments of 24 bytes become segments of 16, on the stack (D12-38 to D12-43). */
#include "dat-1.2/convert.h"
#include "dat-1.2/old.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

/* More than any adapter takes in one request. */
#define MAX_SEGMENTS 256

/* The message of D12-41. */
#define TOO_LONG dat12_failure(DAT_ERR(DAT_LENGTH_ERROR, 0))

/*
 * Both triplets of DAT 2.0 are the address, the length in 32 bits and the context; a segment of DAT 1.2
 * has its address and its length side by side. Not 0: it is longer than DAT 2.0 can say.
 */
static inline uint32_t convert(const struct dat12_segment *old, void *new)
{
	const char *length = (const char *)&old->length;
	uint32_t excess;

	memcpy(new, &old->address, sizeof(old->address) + sizeof(old->length));
	if (DAT12_LOWER(1))
		memcpy((char *)new + offsetof(DAT_LMR_TRIPLET, segment_length),
		       length + sizeof(excess), sizeof(excess));
	memcpy((char *)new + offsetof(DAT_LMR_TRIPLET, lmr_context), &old->context,
	       sizeof(old->context));
	memcpy(&excess, length + sizeof(excess) - DAT12_LOWER(sizeof(excess)), sizeof(excess));
	return excess;
}

/* The compiler, which knows that it is 1, would load it anew. */
static inline DAT_COUNT unknown(DAT_COUNT num)
{
	__asm__("" : "+r"(num));
	return num;
}

#define AS_CONVERTED(type, context)                                              \
	(sizeof(type) == 16 && offsetof(type, virtual_address) == 0 &&           \
	 offsetof(type, segment_length) == 8 && offsetof(type, context) == 12 && \
	 offsetof(struct dat12_segment, length) == offsetof(struct dat12_segment, address) + 8)
static_assert(AS_CONVERTED(DAT_LMR_TRIPLET, lmr_context), "local segment");
static_assert(AS_CONVERTED(DAT_RMR_TRIPLET, rmr_context), "remote segment");

/* Neither is NULL, by one test. False may be said of others, which take the general way then. */
static inline bool surely_both(const void *a, const void *b)
{
	return (uintptr_t)a & (uintptr_t)b;
}

/*
 * Segments for libdat2. Where there are none to read it is given what the program gave, and answers
 * for that; with too many for any adapter it does not look at them.
 */
static bool local_segments(DAT_COUNT num, const struct dat12_segment *old, DAT_LMR_TRIPLET *room,
			   DAT_LMR_TRIPLET **new)
{
	bool good = true;
	DAT_COUNT i;

	*new = old &&num > 0 && num <= MAX_SEGMENTS ? room : (DAT_LMR_TRIPLET *)old;
	if (*new == room)
		for (i = 0; i < num; i++)
			good &= !convert(&old[i], &room[i]);
	return good;
}

/* ---- Sends and Receives ---- */

/* The call goes last: all other arguments stay in their registers. */

typedef DAT_RETURN (*post_func)(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE,
				DAT_COMPLETION_FLAGS);

static __attribute__((noinline)) DAT_RETURN post_many(DAT_EP_HANDLE ep, DAT_COUNT num,
						      const struct dat12_segment *old,
						      DAT_DTO_COOKIE cookie,
						      DAT_COMPLETION_FLAGS flags, post_func call)
{
	DAT_LMR_TRIPLET room[MAX_SEGMENTS], *new;

	if (flags & DAT12_NEW_COMPLETION_FLAGS)
		return dat12_bad_arg(5);
	if (!local_segments(num, old, room, &new))
		return TOO_LONG;
	return dat12_word(call(ep, num, new, cookie, flags));
}

static inline __attribute__((always_inline)) DAT_RETURN
post(post_func call, DAT_EP_HANDLE ep, DAT_COUNT num, const struct dat12_segment *old,
     DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET one;

	if (unlikely(num != 1 || !old || (flags & DAT12_NEW_COMPLETION_FLAGS)))
		return post_many(ep, num, old, cookie, flags, call);
	if (unlikely(convert(old, &one)))
		return TOO_LONG;
	return dat12_word(call(ep, unknown(num), &one, cookie, flags));
}

DAT_RETURN dat12_ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT num, DAT12_LMR_TRIPLET *iov,
			      DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	return post(dat_ep_post_send, ep, num, iov, cookie, flags);
}

DAT_RETURN dat12_ep_post_recv(DAT_EP_HANDLE ep, DAT_COUNT num, DAT12_LMR_TRIPLET *iov,
			      DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	return post(dat_ep_post_recv, ep, num, iov, cookie, flags);
}

DAT_RETURN dat12_srq_post_recv(DAT_SRQ_HANDLE srq, DAT_COUNT num, DAT12_LMR_TRIPLET *iov,
			       DAT_DTO_COOKIE cookie)
{
	DAT_LMR_TRIPLET room[MAX_SEGMENTS], *new;

	if (!local_segments(num, iov, room, &new))
		return TOO_LONG;
	return dat12_word(dat_srq_post_recv(srq, num, new, cookie));
}

/* ---- RDMA ---- */

typedef DAT_RETURN (*rdma_func)(DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE,
				const DAT_RMR_TRIPLET *, DAT_COMPLETION_FLAGS);

static __attribute__((noinline)) DAT_RETURN
rdma_many(DAT_EP_HANDLE ep, DAT_COUNT num, const struct dat12_segment *old, DAT_DTO_COOKIE cookie,
	  const struct dat12_segment *old_remote, DAT_COMPLETION_FLAGS flags, rdma_func call)
{
	DAT_LMR_TRIPLET room[MAX_SEGMENTS], *new;
	DAT_RMR_TRIPLET remote;

	if (flags & DAT12_NEW_COMPLETION_FLAGS)
		return dat12_bad_arg(6);
	if (!local_segments(num, old, room, &new) || (old_remote && convert(old_remote, &remote)))
		return TOO_LONG;
	return dat12_word(call(ep, num, new, cookie, old_remote ? &remote : NULL, flags));
}

static inline __attribute__((always_inline)) DAT_RETURN
rdma(rdma_func call, DAT_EP_HANDLE ep, DAT_COUNT num, const struct dat12_segment *old,
     DAT_DTO_COOKIE cookie, const struct dat12_segment *old_remote, DAT_COMPLETION_FLAGS flags)
{
	DAT_RMR_TRIPLET remote;
	DAT_LMR_TRIPLET one;

	if (unlikely(num != 1 || !surely_both(old, old_remote) ||
		     (flags & DAT12_NEW_COMPLETION_FLAGS)))
		return rdma_many(ep, num, old, cookie, old_remote, flags, call);
	if (unlikely(convert(old, &one) | convert(old_remote, &remote)))
		return TOO_LONG;
	return dat12_word(call(ep, unknown(num), &one, cookie, &remote, flags));
}

DAT_RETURN dat12_ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT num, DAT12_LMR_TRIPLET *iov,
				   DAT_DTO_COOKIE cookie, const DAT12_RMR_TRIPLET *remote,
				   DAT_COMPLETION_FLAGS flags)
{
	return rdma(dat_ep_post_rdma_read, ep, num, iov, cookie, remote, flags);
}

DAT_RETURN dat12_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT num, DAT12_LMR_TRIPLET *iov,
				    DAT_DTO_COOKIE cookie, const DAT12_RMR_TRIPLET *remote,
				    DAT_COMPLETION_FLAGS flags)
{
	return rdma(dat_ep_post_rdma_write, ep, num, iov, cookie, remote, flags);
}

/* ---- Synchronisation of memory ---- */

typedef DAT_RETURN (*sync_func)(DAT_IA_HANDLE, const DAT_LMR_TRIPLET *, DAT_VLEN);

/* In parts, for there is no limit on how many segments there are (D12-71). */
static DAT_RETURN sync(sync_func call, DAT_IA_HANDLE ia, const struct dat12_segment *old,
		       DAT_VLEN num)
{
	DAT_LMR_TRIPLET room[MAX_SEGMENTS], *new;
	DAT_RETURN rc;
	DAT_COUNT part;

	if (num > INT_MAX)
		return dat12_bad_arg(3);
	do {
		part = num < MAX_SEGMENTS ? (DAT_COUNT)num : MAX_SEGMENTS;
		if (!local_segments(part, old, room, &new))
			return TOO_LONG;
		rc = call(ia, new, old ? (DAT_VLEN)part : num);
		num -= (DAT_VLEN)part;
		old = old ? old + part : NULL;
	} while (rc == DAT_SUCCESS && num && old);
	return dat12_word(rc);
}

DAT_RETURN dat12_lmr_sync_rdma_read(DAT_IA_HANDLE ia, const DAT12_LMR_TRIPLET *segments,
				    DAT_VLEN num)
{
	return sync(dat_lmr_sync_rdma_read, ia, segments, num);
}

DAT_RETURN dat12_lmr_sync_rdma_write(DAT_IA_HANDLE ia, const DAT12_LMR_TRIPLET *segments,
				     DAT_VLEN num)
{
	return sync(dat_lmr_sync_rdma_write, ia, segments, num);
}
