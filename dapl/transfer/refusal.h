/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What becomes of posts that are refused for what an endpoint lacks, and what a user is told. */
#ifndef DAPL_REFUSAL_H
#define DAPL_REFUSAL_H

#include "dapl/transfer/qp.h"

/* INVALID_STATE(EP_NOTREADY) for a call, and what is missing for it (DTO-18, DTO-19). */
DAT_RETURN dapl_not_ready(const struct dapl_qp *qp, const struct dapl_slots *slots);
/*
 * dapl_slots_check refused a request with rc: says what there is to say of it and returns it, or 0
 * where there is room now, as suppressed requests are over.
 */
DAT_RETURN dapl_post_refused(struct dapl_qp *qp, DAT_RETURN rc);

/* A request was posted whose completion is suppressed; EP lock held. */
static inline void dapl_note_suppressed(struct dapl_qp_cold *cold, const struct dapl_slot *slot)
{
	cold->num_suppressed = cold->suppressed + 1 == slot->seq ? cold->num_suppressed + 1 : 1;
	cold->suppressed = slot->seq;
}

#endif
