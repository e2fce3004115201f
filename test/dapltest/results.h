/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the tests found, kept until the end and then told to a machine: as JSON or as TAP. */
#ifndef DAPLTEST_RESULTS_H
#define DAPLTEST_RESULTS_H

#include "histogram.h"
#include "params.h"
#include "report.h"

/* One test that ran, or did not. What does not apply to its kind is 0. */
struct dt_result {
	enum dt_test test;
	char name[96];
	bool ok;
	char error[DT_ERROR_TEXT];

	enum dt_xfer xfer;
	bool polling;
	uint32_t seg_size, num_segs, pipeline, threads, eps;
	uint64_t count; /* operations, or objects of a limit test */
	double seconds, cpu_percent;
	double mean_us, min_us, max_us, post_us, reap_us;
	double percentile_us[DT_NUM_PERCENTILES];
	uint64_t sent, received, read, written; /* bytes */
};

/* Keeps a copy. Called from one thread. */
void dt_results_add(const struct dt_result *result);
/* The result added last; null before the first. */
const struct dt_result *dt_results_last(void);
uint32_t dt_results_count(void);
const struct dt_result *dt_results_at(uint32_t index);

/* Writes them all on standard output, in the format that was asked for; text needs nothing. */
void dt_results_print(const struct dt_params *params);
/* Bytes moved by all, both directions and kinds. */
uint64_t dt_results_bytes(void);

#endif
