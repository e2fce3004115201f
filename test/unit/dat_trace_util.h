/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the tests of traces share: a program that runs itself and does one thing there. */
#ifndef DAT_TRACE_UTIL_H
#define DAT_TRACE_UTIL_H

#include "test/unit/dat_util.h"

/* What the program does when it runs itself. */
int trace_act(const char *action);

/* Runs itself with an environment and an action; what came of it is in trace_out. */
#define MAX_VARIABLES 5

struct setting {
	const char *variables[MAX_VARIABLES + 1]; /* NAME=value */
	const char *action;
};

extern struct outcome trace_out;

#define trace_run(...) trace_run_setting(&(struct setting){ __VA_ARGS__ })

void trace_run_setting(struct setting *setting);
void levels_are(const char *dat, const char *dapl, const char *expected);
/* How many lines of a text match a pattern from end to end. */
int matches(const char *text, const char *pattern);

#define WHEN "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6}Z"
#define HEAD "dat: trace " WHEN " [0-9]+\\.[0-9]+ "

#endif
