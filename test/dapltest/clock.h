/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Time: monotonic nanoseconds, absolute deadlines, processor time of this process. */
#ifndef DAPLTEST_CLOCK_H
#define DAPLTEST_CLOCK_H

#include <dat/udat.h>
#include <stdbool.h>
#include <stdint.h>

uint64_t dt_now_ns(void);
uint64_t dt_cpu_ns(void);
uint64_t dt_deadline_s(uint32_t seconds);
bool dt_expired(uint64_t deadline);

/* What is left until a deadline, in the unit and range of DAT_TIMEOUT; 0 when it has passed. */
DAT_TIMEOUT dt_left_us(uint64_t deadline);

#endif
