/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/transfer/refusal.h"

#include "trace/log.h"

DAT_RETURN dapl_not_ready(const struct dapl_qp *qp, const struct dapl_slots *slots)
{
	bool recv = slots == &qp->recv;

	if (!qp->pz)
		dapl_err_limited("endpoint %p: not ready for %s: it has no protection zone, which "
				 "dat_ep_create or dat_ep_modify gives it",
				 (const void *)qp, recv ? "receives" : "requests");
	else
		dapl_err_limited(
			"endpoint %p: not ready for %s: it has no room for them, as when it "
			"is made without a %s dispatcher (limit: its max_%s_dtos, 0)",
			(const void *)qp, recv ? "receives" : "requests",
			recv ? "receive" : "request", recv ? "recv" : "request");
	return DAPL_BAD_STATE(EP_NOTREADY);
}

/* Whether no request that is outstanding will tell that those before it are over (DTO-17). */
static bool all_suppressed(const struct dapl_qp *qp)
{
	return qp->cold->num_suppressed >= dapl_slots_used(&qp->request) &&
	       qp->cold->suppressed == dapl_slots_tail(&qp->request);
}

/* Gives back the slots of those that are over, which is known only where the transport can tell. */
static DAT_RETURN reclaim_suppressed(struct dapl_qp *qp)
{
	struct tp_qp *tp = qp->tp;
	uint32_t num;

	if (!tp->ops->unfinished) {
		dapl_err_limited("endpoint %p: no room for another request: the completions of all "
				 "%u are suppressed, and only one that is not tells that those "
				 "before it are over; post one in so many without "
				 "DAT_COMPLETION_SUPPRESS_FLAG and take its event (limit: the "
				 "endpoint's max_request_dtos)",
				 (const void *)qp, qp->request.limit);
		return DAPL_NO_RESOURCE(MEMORY);
	}
	if (!tp->ops->unfinished(tp, &num) || !dapl_slots_reclaim(&qp->request, num))
		return DAPL_NO_RESOURCE(MEMORY);
	return dapl_slots_check(&qp->request);
}

DAT_RETURN dapl_post_refused(struct dapl_qp *qp, DAT_RETURN rc)
{
	dapl_assert_held(&qp->lock);
	if (rc == DAPL_BAD_STATE(EP_NOTREADY))
		return dapl_not_ready(qp, &qp->request);
	if (rc == DAPL_NO_RESOURCE(MEMORY) && all_suppressed(qp))
		return reclaim_suppressed(qp);
	return rc;
}
