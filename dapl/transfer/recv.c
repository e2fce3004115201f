/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Posting of receives. */
#include "dapl/base/config.h"
#include "dapl/base/status.h"
#include "dapl/transfer/refusal.h"
#include "dapl/transfer/request.h"
#include "trace/log.h"

static DAT_RETURN check_recv(const struct dapl_qp *qp, DAT_COUNT num, const DAT_LMR_TRIPLET *iov,
			     DAT_COMPLETION_FLAGS flags)
{
	if (qp->srq)
		return DAPL_BAD_STATE(SRQ_IN_USE); /* DTO-43 */
	if (!qp->pz || !qp->recv.limit)
		return dapl_not_ready(qp, &qp->recv);
	if ((uint32_t)num > qp->max_recv_sge)
		return DAPL_BAD_ARG(2);
	if (num && !iov)
		return DAPL_BAD_ARG(3);
	if (flags && dapl_config.strict && ((uint32_t)flags & ~(uint32_t)qp->recv_unsignalled))
		return DAPL_BAD_ARG(5);
	return DAT_SUCCESS;
}

/* The transport refused the last one; unlocks. */
static __attribute__((noinline)) DAT_RETURN refused(struct dapl_lock *lock, uint64_t length,
						    int err)
{
	struct dapl_qp *qp = container_of(lock, struct dapl_qp, lock);
	DAT_RETURN rc;

	qp->posted[DCNT_EP_POST_RECV]--;
	qp->posted[DCNT_EP_POST_RECV_DATA] -= length;
	rc = dapl_post_failed(qp, &qp->recv, dapl_slots_last(&qp->recv), err);
	dapl_unlock(lock);
	return rc;
}

/* Posts, and unlocks. */
static inline DAT_RETURN post(struct dapl_qp *qp, DAT_COUNT num, const DAT_LMR_TRIPLET *iov,
			      DAT_UINT64 cookie, DAT_COMPLETION_FLAGS flags)
{
	uint64_t length = num ? dapl_total_length(iov, num) : 0;
	struct dapl_slot *slot = dapl_slots_take(&qp->recv);
	int err;

	dapl_assert_held(&qp->lock);
	qp->posted[DCNT_EP_POST_RECV]++;
	qp->posted[DCNT_EP_POST_RECV_DATA] += length;
	slot->done.user_cookie.as_64 = cookie;
	slot->silent = (uint8_t)flags & qp->recv_unsignalled;
	err = qp->tp->ops->post_recv(qp->tp, (uintptr_t)slot, (const struct tp_sge *)iov,
				     (uint32_t)num);
	if (unlikely(err))
		return refused(&qp->lock, length, err);
	dapl_unlock(&qp->lock);
	return DAT_SUCCESS;
}

#define POST_RECV_FORMAT "segments=%d cookie=0x%llx"
DAPL_TRACE_POINT(post_recv, DAPL_TRC_POST, POST_RECV_FORMAT);

static __attribute__((noinline)) DAT_RETURN recv_general(struct dapl_qp *qp, DAT_COUNT num,
							 const DAT_LMR_TRIPLET *iov,
							 DAT_DTO_COOKIE cookie,
							 DAT_COMPLETION_FLAGS flags)
{
	DAT_RETURN rc = check_recv(qp, num, iov, flags);
	bool stopped;

	if (unlikely(rc))
		return rc;
	dapl_trace_at(post_recv, qp, POST_RECV_FORMAT, num, (unsigned long long)cookie.as_64);
	dapl_lock(&qp->lock);
	stopped = qp->recv.next == qp->recv.stop;
	if (unlikely(stopped))
		rc = dapl_slots_check(&qp->recv);
	if (rc)
		dapl_unlock(&qp->lock);
	else
		rc = post(qp, num, iov, cookie.as_64, flags);
	/* From the watermark on every post is stopped. */
	if (unlikely(stopped) && !rc)
		qp->cold->check_marks(qp);
	return rc;
}

/* Something is to be checked before. */
static __attribute__((noinline)) DAT_RETURN
recv_stopped(struct dapl_lock *lock, const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie)
{
	dapl_unlock(lock);
	return recv_general(container_of(lock, struct dapl_qp, lock), 1, iov, cookie, 0);
}

/* The fast path: one segment, no flags, and nothing to be checked before. */
DAT_RETURN dapl_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			     DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			     DAT_COMPLETION_FLAGS flags)
{
	struct dapl_qp *qp = ep_handle;

	if (unlikely(!dapl_object_looks(&qp->obj, DAPL_TYPE_EP)))
		return DAPL_BAD_HANDLE(EP);
	if (unlikely(num_segments != 1 || flags || !local_iov || !qp->max_recv_sge ||
		     dapl_trace_wanted(post_recv) || !dapl_trylock(&qp->lock)))
		return recv_general(qp, num_segments, local_iov, user_cookie, flags);
	if (unlikely(qp->recv.next == qp->recv.stop))
		return recv_stopped(&qp->lock, local_iov, user_cookie);
	return post(qp, 1, local_iov, user_cookie.as_64, 0);
}
