/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/transfer/request.h"

#include <assert.h>
#include <errno.h>

#include "dapl/base/config.h"
#include "dapl/base/status.h"

/* A caller's segment array goes to the transport as it is. */
static_assert(sizeof(DAT_LMR_TRIPLET) == sizeof(struct tp_sge), "segment size");
static_assert(offsetof(DAT_LMR_TRIPLET, virtual_address) == offsetof(struct tp_sge, addr),
	      "segment");
static_assert(offsetof(DAT_LMR_TRIPLET, segment_length) == offsetof(struct tp_sge, length),
	      "segment");
static_assert(offsetof(DAT_LMR_TRIPLET, lmr_context) == offsetof(struct tp_sge, lkey), "segment");

/* ---- Arguments ---- */

bool dapl_request_flags_bad(const struct dapl_qp *qp, DAT_COMPLETION_FLAGS flags)
{
	uint32_t legal = DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG |
			 DAT_COMPLETION_BARRIER_FENCE_FLAG | qp->request_unsignalled;

	return dapl_config.strict && ((uint32_t)flags & ~legal);
}

/* Negative numbers are too large ones. */
DAT_RETURN dapl_check_iov(const DAT_LMR_TRIPLET *iov, DAT_COUNT num, uint32_t max, unsigned int arg,
			  uint64_t *total)
{
	*total = 0;
	if ((uint32_t)num > max)
		return DAPL_BAD_ARG(arg);
	if (num && !iov)
		return DAPL_BAD_ARG(arg + 1);
	if (num)
		*total = dapl_total_length(iov, num);
	return DAT_SUCCESS;
}

/* ---- Room ---- */

DAT_RETURN dapl_post_failed(struct dapl_qp *qp, struct dapl_slots *slots, struct dapl_slot *slot,
			    int err)
{
	dapl_assert_held(&qp->lock);
	dapl_slots_untake(slots, slot);
	switch (err) {
	case -ENOTCONN: /* the connection is only just being given up or reset (DTO-22) */
		return DAPL_BAD_STATE(EP_UNCONNECTED);
	case -EBUSY: /* a bind's window (RMR-21) */
		return dapl_fail(DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	default:
		return dapl_status(err, DAT_RESOURCE_TEP);
	}
}

DAT_RETURN dapl_request_take(struct dapl_qp *qp, struct dapl_slot **slot)
{
	struct dapl_slots *slots = &qp->request;
	DAT_RETURN rc = slots->next == slots->stop ? dapl_request_check(qp) : DAT_SUCCESS;

	dapl_assert_held(&qp->lock);
	if (!rc)
		*slot = dapl_slots_take(slots);
	return rc;
}

int dapl_post_plain(struct tp_qp *qp, struct tp_wr *wr)
{
	return qp->ops->post_send(qp, wr);
}
