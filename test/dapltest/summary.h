/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The end of a regression: what a person can send to another one who was not there. */
#ifndef DAPLTEST_SUMMARY_H
#define DAPLTEST_SUMMARY_H

#include "ia.h"
#include "params.h"

struct dt_verdict {
	const char *name;
	bool ok;
	char reason[DT_ERROR_TEXT]; /* why it is not */
	double seconds;
};

/* A server was reached through an adapter; version is what it says of itself, "" if nothing. */
void dt_summary_met(const struct dt_ia *ia, const char *version);
void dt_summary_print(const struct dt_params *params, const struct dt_verdict *verdicts,
		      size_t num);

#endif
