/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What peers and other users can cause is said so often and no more. */
#ifndef TRACE_LIMIT_H
#define TRACE_LIMIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	DAPL_LIMIT_BURST = 10, /* messages of one place in the code */
	DAPL_LIMIT_SECONDS = 5,
};

/* Of one place; zeroed. */
struct dapl_limit {
	_Atomic uint64_t start; /* of the period under way; 0: none yet */
	atomic_uint num;	/* messages in it */
};

/* Whether one more may be said; missed: how many could not be in the period before, to be told. */
bool dapl_limit_pass(struct dapl_limit *limit, uint32_t *missed);
/* Tells of them, in the trace alone or as a diagnostic. */
void dapl_limit_missed(uint32_t missed, bool trace);

#endif
