/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A distribution of times in fixed memory: 32 steps to every doubling, so within 3 % of the truth.
 */
#ifndef DAPLTEST_HISTOGRAM_H
#define DAPLTEST_HISTOGRAM_H

#include <stdint.h>

#define DT_HISTOGRAM_STEPS 32
#define DT_NUM_PERCENTILES 3

/* 50, 99 and 99.9 in the hundred. */
extern const double dt_percentiles[DT_NUM_PERCENTILES];

struct dt_histogram {
	uint64_t total;
	uint64_t bucket[DT_HISTOGRAM_STEPS * 60];
};

void dt_histogram_add(struct dt_histogram *histogram, uint64_t ns);
/* The time that so many percent do not exceed, in ns; 0 of an empty one. */
uint64_t dt_histogram_percentile(const struct dt_histogram *histogram, double percent);

#endif
