/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "clock.h"

#include <time.h>

static uint64_t read_clock(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t dt_now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t dt_cpu_ns(void)
{
	return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t dt_deadline_s(uint32_t seconds)
{
	return dt_now_ns() + (uint64_t)seconds * 1000000000u;
}

bool dt_expired(uint64_t deadline)
{
	return dt_now_ns() >= deadline;
}

DAT_TIMEOUT dt_left_us(uint64_t deadline)
{
	uint64_t now = dt_now_ns();
	uint64_t us;

	if (now >= deadline)
		return 0;
	us = (deadline - now + 999) / 1000;
	return us < DAT_TIMEOUT_INFINITE ? (DAT_TIMEOUT)us : DAT_TIMEOUT_INFINITE - 1;
}
