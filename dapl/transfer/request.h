/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What every request goes through: its arguments, and room for it. */
#ifndef DAPL_REQUEST_H
#define DAPL_REQUEST_H

#include "dapl/transfer/operations.h"
#include "dapl/transfer/qp.h"
#include "dapl/transfer/refusal.h"
#include "dapl/transfer/slots.h"

/* A request, as far as its arguments are read and checked. */
struct dapl_request {
	struct dapl_qp *qp;
	const struct dapl_operation *op;
	const DAT_LMR_TRIPLET *iov;
	uint32_t num;
	uint32_t length;
	DAT_VADDR remote_addr;
	DAT_RMR_CONTEXT rkey;
	DAT_UINT64 cookie;
	DAT_COMPLETION_FLAGS flags;
	uint32_t immediate;	      /* or the key to invalidate; where the opcode says so */
	DAT_UINT64 compare_add, swap; /* atomics */
};

/* Posts a request whose arguments are checked. */
DAT_RETURN dapl_request_post(const struct dapl_request *rq);
/* Ditto; EP lock held. */
DAT_RETURN dapl_request_post_locked(const struct dapl_request *rq);
/* Checks and posts an RDMA request whose number of segments is argument arg of the call. */
DAT_RETURN dapl_request_rdma(struct dapl_request *rq, DAT_COUNT num, const DAT_RMR_TRIPLET *remote,
			     unsigned int arg);
/* Next has met stop: as dapl_slots_check, of requests. EP lock held, as for the next. */
static inline DAT_RETURN dapl_request_check(struct dapl_qp *qp)
{
	DAT_RETURN rc = dapl_slots_check(&qp->request);

	return rc ? dapl_post_refused(qp, rc) : DAT_SUCCESS;
}

/* The next slot for a request that goes another way, or why there is none. */
DAT_RETURN dapl_request_take(struct dapl_qp *qp, struct dapl_slot **slot);
/* The transport refused what was to be in slot, the last one of slots that was taken. */
DAT_RETURN dapl_post_failed(struct dapl_qp *qp, struct dapl_slots *slots, struct dapl_slot *slot,
			    int err);

/* tp_qp.post_plain of a transport that has none. */
int dapl_post_plain(struct tp_qp *qp, struct tp_wr *wr);

/* ---- Arguments ---- */

/* The transport's flags for the consumer's. */
static inline uint32_t dapl_request_flags(DAT_COMPLETION_FLAGS flags)
{
	return (flags & DAT_COMPLETION_SUPPRESS_FLAG ? 0 : TP_WR_SIGNALED) |
	       (flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG ? TP_WR_SOLICITED : 0) |
	       (flags & DAT_COMPLETION_BARRIER_FENCE_FLAG ? TP_WR_FENCE : 0);
}

/* Strict mode: whether a request of the EP may not carry the flags (DTO-27). */
bool dapl_request_flags_bad(const struct dapl_qp *qp, DAT_COMPLETION_FLAGS flags);
/*
 * Number and array of segments (DTO-11, DTO-12), and the sum of their lengths. The number is
 * argument arg of the call, the array is the next.
 */
DAT_RETURN dapl_check_iov(const DAT_LMR_TRIPLET *iov, DAT_COUNT num, uint32_t max, unsigned int arg,
			  uint64_t *total);

/* Whether requests may be posted at all, connected or not. */
static inline bool dapl_request_ready(const struct dapl_qp *qp)
{
	return qp->pz && qp->request.limit;
}

/* Sum of the lengths of one segment at least, in 64 bits (DTO-92). */
static inline uint64_t dapl_total_length(const DAT_LMR_TRIPLET *iov, DAT_COUNT num)
{
	uint64_t total = iov->segment_length;

	while (unlikely(--num))
		total += (++iov)->segment_length;
	return total;
}

#endif
