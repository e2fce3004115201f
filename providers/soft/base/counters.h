/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The counters of a device. Every room may include it. */
#ifndef SOFT_COUNTERS_H
#define SOFT_COUNTERS_H

#include <stdint.h>

#include "dapl/transport.h"

/* In the order of the IA's counters, from DCNT_IA_LNK_ERR_RCV on; the others stay 0. */
enum soft_count {
	SOFT_COUNT_RCV = 0,	  /* frames that were wrong */
	SOFT_COUNT_INTEGRITY = 5, /* ours, says the peer */
	SOFT_COUNT_XMT_WAIT = 8,  /* no room to send */
	SOFT_COUNT_DIAG = 9,
	SOFT_COUNT_RQ_RAE = SOFT_COUNT_DIAG, /* a peer's access refused */
	SOFT_COUNT_RQ_OOS,		     /* a peer's message out of sequence */
	SOFT_COUNT_RQ_RIRE,		     /* a peer's message that cannot be served */
	SOFT_COUNT_SQ_RAE = SOFT_COUNT_DIAG + 4,
	SOFT_COUNT_SQ_OOS,
	SOFT_COUNT_SQ_RIRE,
	SOFT_COUNT_SQ_RREE, /* a peer that was silent for too long */
	SOFT_COUNTS = SOFT_COUNT_DIAG + 9,
};

int soft_read_counters(struct tp_device *dev, enum tp_counters group, uint64_t *value,
		       uint32_t num);

#endif
