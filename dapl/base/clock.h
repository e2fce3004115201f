/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DAPL_CLOCK_H
#define DAPL_CLOCK_H

#include <stdint.h>

#include "util/clock.h"

/* Nanoseconds of CLOCK_MONOTONIC. */
static inline uint64_t dapl_now(void)
{
	return dats_clock(CLOCK_MONOTONIC);
}

/* The absolute time a consumer's timeout in microseconds ends at; DAT_TIMEOUT_INFINITE: in nine
 * years. */
static inline uint64_t dapl_deadline(uint32_t timeout)
{
	return dapl_now() + (timeout == UINT32_MAX ? 1ull << 58 : timeout * 1000ull);
}

#endif
