/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "histogram.h"

#define STEP_BITS 5 /* log2 of DT_HISTOGRAM_STEPS */

const double dt_percentiles[DT_NUM_PERCENTILES] = { 50, 99, 99.9 };

/* Values below 32 have a bucket each; then every doubling has 32. */
static uint32_t bucket_of(uint64_t ns)
{
	uint32_t shift;

	if (ns < DT_HISTOGRAM_STEPS)
		return (uint32_t)ns;
	shift = 63 - STEP_BITS - (uint32_t)__builtin_clzll(ns);
	return (shift + 1) * DT_HISTOGRAM_STEPS + (uint32_t)(ns >> shift) - DT_HISTOGRAM_STEPS;
}

/* The largest value of a bucket. */
static uint64_t top_of(uint32_t bucket)
{
	uint32_t shift = bucket / DT_HISTOGRAM_STEPS;

	if (!shift)
		return bucket;
	shift--;
	return ((bucket % DT_HISTOGRAM_STEPS + DT_HISTOGRAM_STEPS + 1ull) << shift) - 1;
}

void dt_histogram_add(struct dt_histogram *histogram, uint64_t ns)
{
	histogram->bucket[bucket_of(ns)]++;
	histogram->total++;
}

uint64_t dt_histogram_percentile(const struct dt_histogram *histogram, double percent)
{
	double wanted = (double)histogram->total * percent / 100;
	uint64_t seen = 0;
	uint32_t i;

	for (i = 0; i < sizeof(histogram->bucket) / sizeof(histogram->bucket[0]); i++) {
		seen += histogram->bucket[i];
		if (seen && (double)seen >= wanted)
			return top_of(i);
	}
	return 0;
}
