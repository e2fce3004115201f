/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "trace/limit.h"

#include "trace/log.h"
#include "util/clock.h"

bool dapl_limit_pass(struct dapl_limit *limit, uint32_t *missed)
{
	uint64_t now = dats_clock(CLOCK_MONOTONIC), start = atomic_load(&limit->start);
	uint32_t num;

	*missed = 0;
	if ((!start || now - start >= DAPL_LIMIT_SECONDS * 1000000000ull) &&
	    atomic_compare_exchange_strong(&limit->start, &start, now)) {
		num = atomic_exchange(&limit->num, 0);
		*missed = num > DAPL_LIMIT_BURST ? num - DAPL_LIMIT_BURST : 0;
	}
	return atomic_fetch_add(&limit->num, 1) < DAPL_LIMIT_BURST;
}

void dapl_limit_missed(uint32_t missed, bool trace)
{
	if (trace)
		dapl_trace(messages_missed, DAPL_TRC_ERROR, NULL, "count=%u", missed);
	else
		dapl_err("%u messages like the next one were not written (limit: %d in %d s)",
			 missed, DAPL_LIMIT_BURST, DAPL_LIMIT_SECONDS);
}
