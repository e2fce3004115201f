/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Posting of requests: the general way, and the fast path of plain requests. */
#include <assert.h>
#include <string.h>

#include "dapl/base/config.h"
#include "dapl/base/status.h"
#include "dapl/object/ia.h"
#include "dapl/transfer/refusal.h"
#include "dapl/transfer/request.h"
#include "trace/log.h"

/* ---- The operations ---- */

#define COUNTED(number) .counter = (number), .counts_bytes = true

static const struct dapl_operation op_send = {
	.name = "SEND", .opcode = TP_SEND, .dto = DAT_DTO_SEND, COUNTED(DCNT_EP_POST_SEND)
};
static const struct dapl_operation op_send_invalidate = { .name = "SEND_INVALIDATE",
							  .opcode = TP_SEND_INVALIDATE,
							  .dto = DAT_DTO_SEND,
							  COUNTED(DCNT_EP_POST_SEND) };
static const struct dapl_operation op_write = { .name = "RDMA_WRITE",
						.opcode = TP_RDMA_WRITE,
						.dto = DAT_DTO_RDMA_WRITE,
						COUNTED(DCNT_EP_POST_WRITE) };
static const struct dapl_operation op_read = { .name = "RDMA_READ",
					       .opcode = TP_RDMA_READ,
					       .dto = DAT_DTO_RDMA_READ,
					       COUNTED(DCNT_EP_POST_READ) };
static const struct dapl_operation op_read_to_rmr = { .name = "RDMA_READ_TO_RMR",
						      .opcode = TP_READ_TO_RKEY,
						      .dto = DAT_DTO_RDMA_READ,
						      COUNTED(DCNT_EP_POST_READ) };

/* ---- The general way ---- */

#define POST_REQUEST_FORMAT "opcode=%s bytes=%u cookie=0x%llx"
DAPL_TRACE_POINT(post_request, DAPL_TRC_POST, POST_REQUEST_FORMAT);

static void fill_wr(struct tp_wr *wr, const struct dapl_request *rq)
{
	uint32_t opcode = rq->op->opcode;

	wr->sge = (const struct tp_sge *)rq->iov;
	wr->num_sge = rq->num;
	wr->opcode = opcode;
	wr->flags = dapl_request_flags(rq->flags);
	wr->remote_addr = rq->remote_addr;
	if (tp_is_atomic(opcode)) {
		wr->atomic.compare_add = rq->compare_add;
		wr->atomic.swap = rq->swap;
		wr->atomic.rkey = rq->rkey;
	} else {
		wr->rkey = rq->rkey;
	}
	wr->immediate = rq->immediate;
	wr->length = rq->length;
}

static void count(const struct dapl_request *rq, uint64_t by)
{
	uint64_t *counter = &rq->qp->posted[rq->op->counter];

	counter[0] += by;
	if (rq->op->counts_bytes)
		counter[1] += by * rq->length;
}

static DAT_RETURN post(const struct dapl_request *rq, struct dapl_slot *slot)
{
	struct dapl_qp *qp = rq->qp;
	int err;

	dapl_assert_held(&qp->lock);
	slot->done.user_cookie.as_64 = rq->cookie;
	slot->done.operation = (DAT_DTOS)rq->op->dto;
	slot->silent = (uint8_t)rq->flags & qp->request_unsignalled;
	slot->wr.wr_id = (uintptr_t)slot;
	fill_wr(&slot->wr, rq);
	count(rq, 1);
	dapl_trace_at(post_request, qp, POST_REQUEST_FORMAT, rq->op->name, rq->length,
		      (unsigned long long)rq->cookie);
	err = qp->tp->ops->post_send(qp->tp, &slot->wr);
	slot->wr.sge = &slot->wr.one;
	slot->wr.num_sge = 1;
	slot->wr.flags = TP_WR_SIGNALED;
	if (!err) {
		if (rq->flags & DAT_COMPLETION_SUPPRESS_FLAG)
			dapl_note_suppressed(qp->cold, slot);
		return DAT_SUCCESS;
	}
	count(rq, -1ull);
	return dapl_post_failed(qp, &qp->request, slot, err);
}

DAT_RETURN dapl_request_post_locked(const struct dapl_request *rq)
{
	struct dapl_slot *slot;
	DAT_RETURN rc = dapl_request_take(rq->qp, &slot);

	return rc ? rc : post(rq, slot);
}

DAT_RETURN dapl_request_post(const struct dapl_request *rq)
{
	DAT_RETURN rc;

	dapl_lock(&rq->qp->lock);
	rc = dapl_request_post_locked(rq);
	dapl_unlock(&rq->qp->lock);
	return rc;
}

/* ---- Sends ---- */

/* Everything but the flag of dat_ep_post_send_with_invalidate, which comes last. */
static DAT_RETURN check_send(struct dapl_request *rq, DAT_COUNT num)
{
	const struct dapl_qp *qp = rq->qp;
	uint64_t total;
	DAT_RETURN rc;

	if (qp->ud)
		return DAPL_BAD_HANDLE(EP); /* IBX-63 */
	if (!dapl_request_ready(qp))
		return dapl_not_ready(qp, &qp->request);
	rc = dapl_check_iov(rq->iov, num, qp->max_send_sge, 2, &total);
	if (rc)
		return rc;
	if (total > qp->cold->max_message)
		return DAPL_BAD_ARG(3); /* DTO-35 */
	if (dapl_request_flags_bad(qp, rq->flags))
		return DAPL_BAD_ARG(5);
	rq->num = (uint32_t)num;
	rq->length = (uint32_t)total;
	return DAT_SUCCESS;
}

static __attribute__((noinline)) DAT_RETURN send_general(struct dapl_qp *qp, DAT_COUNT num,
							 const DAT_LMR_TRIPLET *iov,
							 DAT_DTO_COOKIE cookie,
							 DAT_COMPLETION_FLAGS flags)
{
	struct dapl_request rq = {
		.qp = qp, .op = &op_send, .iov = iov, .cookie = cookie.as_64, .flags = flags
	};
	DAT_RETURN rc = check_send(&rq, num);

	return rc ? rc : dapl_request_post(&rq);
}

DAT_RETURN dapl_ep_post_send_with_invalidate(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
					     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
					     DAT_COMPLETION_FLAGS flags,
					     DAT_BOOLEAN invalidate_flag,
					     DAT_RMR_CONTEXT rmr_context)
{
	struct dapl_request rq = { .qp = dapl_qp_get(ep_handle),
				   .op = invalidate_flag ? &op_send_invalidate : &op_send,
				   .iov = local_iov,
				   .cookie = user_cookie.as_64,
				   .flags = flags,
				   .immediate = rmr_context };
	DAT_RETURN rc;

	if (!rq.qp)
		return DAPL_BAD_HANDLE(EP);
	if (!dapl_operation_there(&op_send_invalidate, rq.qp->obj.ia->attr))
		return DAPL_NO_MODEL;
	rc = check_send(&rq, num_segments);
	if (rc)
		return rc;
	if ((uint32_t)invalidate_flag > DAT_TRUE)
		return DAPL_BAD_ARG(6); /* DTO-63 */
	return dapl_request_post(&rq);
}

/* ---- RDMA ---- */

/* Strict mode: DTO-46, DTO-48, DTO-49. May change how many bytes a read moves. */
static DAT_RETURN check_remote(bool read, const DAT_RMR_TRIPLET *remote, uint64_t *total)
{
	if (!dapl_config.strict)
		return DAT_SUCCESS;
	if (read ? *total < remote->segment_length : *total > remote->segment_length)
		return dapl_fail(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	if (read)
		*total = remote->segment_length;
	return DAT_SUCCESS;
}

static uint32_t max_segments(const struct dapl_qp *qp, uint32_t opcode)
{
	if (opcode == TP_READ_TO_RKEY)
		return 1;
	return opcode == TP_RDMA_READ ? qp->max_read_sge : qp->max_write_sge;
}

DAT_RETURN dapl_request_rdma(struct dapl_request *rq, DAT_COUNT num, const DAT_RMR_TRIPLET *remote,
			     unsigned int arg)
{
	static const DAT_RMR_TRIPLET nowhere; /* DTO-56 */
	uint32_t opcode = rq->op->opcode;
	bool read = opcode == TP_RDMA_READ || opcode == TP_READ_TO_RKEY;
	bool immediate = opcode == TP_RDMA_WRITE_IMM;
	const struct dapl_qp *qp = rq->qp;
	uint64_t total;
	DAT_RETURN rc;

	if (qp->ud)
		return DAPL_BAD_HANDLE(EP); /* IBX-33, IBX-63 */
	if (!dapl_request_ready(qp))
		return dapl_not_ready(qp, &qp->request);
	rc = dapl_check_iov(rq->iov, num, max_segments(qp, opcode), arg, &total);
	if (rc)
		return rc;
	if (!remote && (immediate ? total != 0 : num != 0)) /* IBX-49 */
		return DAPL_BAD_ARG(arg + 3);
	remote = remote ? remote : &nowhere;
	rc = check_remote(read, remote, &total);
	if (rc)
		return rc;
	if (total > qp->cold->max_rdma)
		return DAPL_BAD_ARG(arg + 1); /* DTO-55 */
	if (dapl_request_flags_bad(qp, rq->flags))
		return DAPL_BAD_ARG(arg + (immediate ? 5 : 4));
	if (read && !qp->cold->max_read_out)
		return DAPL_NO_RESOURCE(CREDITS); /* DTO-50 */
	rq->num = (uint32_t)num;
	rq->length = (uint32_t)total;
	rq->remote_addr = remote->virtual_address;
	rq->rkey = remote->rmr_context;
	return dapl_request_post(rq);
}

static __attribute__((noinline)) DAT_RETURN
rdma_general(struct dapl_qp *qp, const struct dapl_operation *op, DAT_COUNT num,
	     const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
	     DAT_COMPLETION_FLAGS flags)
{
	struct dapl_request rq = {
		.qp = qp, .op = op, .iov = iov, .cookie = cookie.as_64, .flags = flags
	};

	return dapl_request_rdma(&rq, num, remote, 2);
}

static_assert(offsetof(DAT_RMR_TRIPLET, virtual_address) == offsetof(struct tp_sge, addr) &&
		      offsetof(DAT_RMR_TRIPLET, segment_length) ==
			      offsetof(struct tp_sge, length) &&
		      offsetof(DAT_RMR_TRIPLET, rmr_context) == offsetof(struct tp_sge, lkey),
	      "the sink of a read to RMR is a segment");

/* Its sink is a segment that the call does not count. */
DAT_RETURN dapl_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep_handle, const DAT_RMR_TRIPLET *local_iov,
					 DAT_DTO_COOKIE user_cookie,
					 const DAT_RMR_TRIPLET *remote_iov,
					 DAT_COMPLETION_FLAGS flags)
{
	struct dapl_request rq = { .qp = dapl_qp_get(ep_handle),
				   .op = &op_read_to_rmr,
				   .iov = (const DAT_LMR_TRIPLET *)local_iov,
				   .cookie = user_cookie.as_64,
				   .flags = flags };

	if (!rq.qp)
		return DAPL_BAD_HANDLE(EP);
	if (!dapl_operation_there(rq.op, rq.qp->obj.ia->attr))
		return DAPL_NO_MODEL;
	return dapl_request_rdma(&rq, 1, remote_iov, 1);
}

/* ---- The fast path ---- */

/*
 * Whether the fast path is for a request: one segment of *length, less than *below bytes, no flags,
 * and nobody who traces it or has the lock, which is taken then.
 */
static inline __attribute__((always_inline)) bool
begin_fast(struct dapl_qp *qp, DAT_COUNT num, const DAT_LMR_TRIPLET *iov,
	   DAT_COMPLETION_FLAGS flags, const uint64_t *below, uint32_t *length)
{
	if (num != 1)
		return false;
	*length = iov->segment_length;
	return *length < *below && !flags && !dapl_trace_wanted(post_request) &&
	       dapl_trylock(&qp->lock);
}

/* Neither is NULL, by one test. False may be said of others, which take the general way then. */
static inline bool surely_both(const void *a, const void *b)
{
	return (uintptr_t)a & (uintptr_t)b;
}

static __attribute__((noinline)) DAT_RETURN end_fast(struct dapl_qp *qp, DAT_RETURN rc)
{
	dapl_unlock(&qp->lock);
	return rc;
}

/* The transport refused what is in slot, the last one. */
static __attribute__((noinline)) DAT_RETURN end_refused(struct dapl_qp *qp, uint32_t counter,
							struct dapl_slot *slot, int err)
{
	qp->posted[counter]--;
	qp->posted[counter + 1] -= slot->wr.length;
	return end_fast(qp, dapl_post_failed(qp, &qp->request, slot, err));
}

/*
 * The transport did not take the last one on its fast path, to which the lock is all that is left
 * of the QP by then.
 */
static __attribute__((noinline)) DAT_RETURN post_again(struct dapl_lock *lock, uint32_t counter)
{
	struct dapl_qp *qp = container_of(lock, struct dapl_qp, lock);
	struct dapl_slot *slot = dapl_slots_last(&qp->request);
	int err = qp->tp->ops->post_send(qp->tp, &slot->wr);

	return err ? end_refused(qp, counter, slot, err) : end_fast(qp, DAT_SUCCESS);
}

/* A request of one segment in a slot; remote is NULL for a Send. */
static inline __attribute__((always_inline)) void
fill_fast(struct dapl_qp *qp, struct dapl_slot *slot, uint32_t opcode, uint32_t dto,
	  uint32_t counter, const DAT_LMR_TRIPLET *iov, uint32_t length, DAT_UINT64 cookie,
	  const DAT_RMR_TRIPLET *remote)
{
	qp->posted[counter]++;
	memcpy(&slot->wr.one, iov, sizeof(slot->wr.one));
	slot->wr.opcode = opcode;
	if (remote) {
		slot->wr.remote_addr = remote->virtual_address;
		slot->wr.rkey = remote->rmr_context;
	}
	slot->done.user_cookie.as_64 = cookie;
	slot->done.operation = (DAT_DTOS)dto;
	qp->posted[counter + 1] += length;
}

/* Posts where there is room, and unlocks; remote is NULL for a Send. */
static inline __attribute__((always_inline)) DAT_RETURN
post_fast(struct dapl_qp *qp, uint32_t opcode, uint32_t dto, uint32_t counter,
	  const DAT_LMR_TRIPLET *iov, uint32_t length, DAT_UINT64 cookie,
	  const DAT_RMR_TRIPLET *remote)
{
	struct dapl_slot *slot = dapl_slots_take(&qp->request);

	fill_fast(qp, slot, opcode, dto, counter, iov, length, cookie, remote);
	if (unlikely(qp->tp->post_plain(qp->tp, &slot->wr)))
		return post_again(&qp->lock, counter);
	dapl_unlock(&qp->lock);
	return DAT_SUCCESS;
}

/* Next has met stop. */
static __attribute__((noinline)) DAT_RETURN
post_checked(struct dapl_qp *qp, const struct dapl_operation *op, const DAT_LMR_TRIPLET *iov,
	     DAT_UINT64 cookie, const DAT_RMR_TRIPLET *remote)
{
	DAT_RETURN rc = dapl_request_check(qp);

	if (rc)
		return end_fast(qp, rc);
	return post_fast(qp, op->opcode, op->dto, op->counter, iov, iov->segment_length, cookie,
			 remote);
}

/* ---- Nearly as fast: with flags, and of several segments ---- */

#define SIMPLE_FLAGS                                                         \
	(DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG | \
	 DAT_COMPLETION_BARRIER_FENCE_FLAG)

/* As begin_fast, of a request with such flags and max segments at most, none of them empty. */
static inline __attribute__((always_inline)) bool
begin_simple(struct dapl_qp *qp, DAT_COUNT num, uint32_t max, const DAT_LMR_TRIPLET *iov,
	     DAT_COMPLETION_FLAGS flags, uint64_t below, uint32_t *length)
{
	const DAT_LMR_TRIPLET *end;
	uint64_t total = 0;

	if (!iov || (uint32_t)num - 1 >= max || ((uint32_t)flags & ~(uint32_t)SIMPLE_FLAGS) ||
	    dapl_trace_wanted(post_request))
		return false;
	end = iov + num;
	do {
		if (!iov->segment_length)
			return false;
		total += iov->segment_length;
	} while (++iov < end);
	*length = (uint32_t)total;
	return total < below && dapl_trylock(&qp->lock);
}

/* Posts, and unlocks; remote is NULL for a Send. */
static inline __attribute__((always_inline)) DAT_RETURN
post_simple(struct dapl_qp *qp, const struct dapl_operation *op, uint32_t num,
	    const DAT_LMR_TRIPLET *iov, uint32_t length, DAT_UINT64 cookie,
	    const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
	DAT_RETURN rc = unlikely(qp->request.next == qp->request.stop) ? dapl_request_check(qp)
								       : DAT_SUCCESS;
	struct dapl_slot *slot;
	int err;

	if (unlikely(rc))
		return end_fast(qp, rc);
	slot = dapl_slots_take(&qp->request);
	fill_fast(qp, slot, op->opcode, op->dto, op->counter, iov, length, cookie, remote);
	if (num > 1) {
		slot->wr.sge = (const struct tp_sge *)iov;
		slot->wr.num_sge = num;
		slot->wr.length = length;
	}
	slot->wr.wr_id = (uintptr_t)slot;
	slot->wr.flags = dapl_request_flags(flags) | TP_WR_WHOLE;
	err = qp->tp->ops->post_send(qp->tp, &slot->wr);
	slot->wr.flags = TP_WR_SIGNALED;
	if (num > 1) {
		slot->wr.sge = &slot->wr.one;
		slot->wr.num_sge = 1;
	}
	if (unlikely(err))
		return end_refused(qp, op->counter, slot, err);
	if (flags & DAT_COMPLETION_SUPPRESS_FLAG)
		dapl_note_suppressed(qp->cold, slot);
	dapl_unlock(&qp->lock);
	return DAT_SUCCESS;
}

static __attribute__((noinline)) DAT_RETURN send_simple(struct dapl_qp *qp, DAT_COUNT num,
							const DAT_LMR_TRIPLET *iov,
							DAT_DTO_COOKIE cookie,
							DAT_COMPLETION_FLAGS flags)
{
	uint32_t length;

	if (!begin_simple(qp, num, qp->max_send_sge, iov, flags, qp->plain_send_below, &length))
		return send_general(qp, num, iov, cookie, flags);
	return post_simple(qp, &op_send, (uint32_t)num, iov, length, cookie.as_64, NULL, flags);
}

static __attribute__((noinline)) DAT_RETURN
write_simple(struct dapl_qp *qp, DAT_COUNT num, const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
	     const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
	uint32_t length;

	if (!remote ||
	    !begin_simple(qp, num, qp->max_write_sge, iov, flags, qp->plain_write_below, &length))
		return rdma_general(qp, &op_write, num, iov, cookie, remote, flags);
	return post_simple(qp, &op_write, (uint32_t)num, iov, length, cookie.as_64, remote, flags);
}

static __attribute__((noinline)) DAT_RETURN
read_simple(struct dapl_qp *qp, DAT_COUNT num, const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
	    const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
	uint32_t length;

	if (!remote ||
	    !begin_simple(qp, num, qp->max_read_sge, iov, flags, qp->plain_read_below, &length))
		return rdma_general(qp, &op_read, num, iov, cookie, remote, flags);
	return post_simple(qp, &op_read, (uint32_t)num, iov, length, cookie.as_64, remote, flags);
}

/* ---- The calls ---- */

DAT_RETURN dapl_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			     DAT_COMPLETION_FLAGS flags)
{
	struct dapl_qp *qp = ep_handle;
	uint32_t length;

	if (unlikely(!dapl_object_looks(&qp->obj, DAPL_TYPE_EP)))
		return DAPL_BAD_HANDLE(EP);
	if (unlikely(!local_iov || !begin_fast(qp, num_segments, local_iov, flags,
					       &qp->plain_send_below, &length)))
		return send_simple(qp, num_segments, local_iov, user_cookie, flags);
	if (unlikely(qp->request.next == qp->request.stop))
		return post_checked(qp, &op_send, local_iov, user_cookie.as_64, NULL);
	return post_fast(qp, TP_SEND, DAT_DTO_SEND, DCNT_EP_POST_SEND, local_iov, length,
			 user_cookie.as_64, NULL);
}

DAT_RETURN dapl_ep_post_rdma_write(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				   DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				   const DAT_RMR_TRIPLET *remote_iov, DAT_COMPLETION_FLAGS flags)
{
	struct dapl_qp *qp = ep_handle;
	uint32_t length;

	if (unlikely(!dapl_object_looks(&qp->obj, DAPL_TYPE_EP)))
		return DAPL_BAD_HANDLE(EP);
	if (unlikely(!surely_both(local_iov, remote_iov) ||
		     !begin_fast(qp, num_segments, local_iov, flags, &qp->plain_write_below,
				 &length)))
		return write_simple(qp, num_segments, local_iov, user_cookie, remote_iov, flags);
	if (unlikely(qp->request.next == qp->request.stop))
		return post_checked(qp, &op_write, local_iov, user_cookie.as_64, remote_iov);
	return post_fast(qp, TP_RDMA_WRITE, DAT_DTO_RDMA_WRITE, DCNT_EP_POST_WRITE, local_iov,
			 length, user_cookie.as_64, remote_iov);
}

DAT_RETURN dapl_ep_post_rdma_read(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
				  DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
				  const DAT_RMR_TRIPLET *remote_iov, DAT_COMPLETION_FLAGS flags)
{
	struct dapl_qp *qp = ep_handle;
	uint32_t length;

	if (unlikely(!dapl_object_looks(&qp->obj, DAPL_TYPE_EP)))
		return DAPL_BAD_HANDLE(EP);
	if (unlikely(!surely_both(local_iov, remote_iov) || num_segments != 1 ||
		     !local_iov->segment_length ||
		     !begin_fast(qp, num_segments, local_iov, flags, &qp->plain_read_below,
				 &length)))
		return read_simple(qp, num_segments, local_iov, user_cookie, remote_iov, flags);
	return post_simple(qp, &op_read, 1, local_iov, length, user_cookie.as_64, remote_iov,
			   DAT_COMPLETION_DEFAULT_FLAG);
}
