/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef UTIL_CLOCK_H
#define UTIL_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds of a clock: CLOCK_MONOTONIC for durations, CLOCK_REALTIME for the time of day. */
static inline uint64_t dats_clock(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

#endif
