/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Diagnostics and traces of libdat2; what the provider core shares is declared in dats.h. */
#ifndef DAT_TRACE_H
#define DAT_TRACE_H

#include "dat/internal.h"
#include "trace/point.h"

enum {
	DAT_TRC_ERROR = DATS_TRC_ERROR,
	DAT_TRC_NORMAL = DATS_TRC_NORMAL,
	DAT_TRC_DETAIL = DATS_TRC_DETAIL,
};

/* One line on standard error about a failure, said once, where it is first known. Keeps errno. */
void dat_diag(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Text of an errno, with the limit in force and its knob where one was hit. The thread's own
 * buffer, good until its next call.
 */
const char *dat_errno_text(int err);

void dat_trace_out(const struct dats_point *point, const void *object, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* A trace record; the arguments are evaluated only when it is wanted. Keeps errno. */
#define dat_trace(point, level, object, ...) \
	DATS_TRACE(dat, point, level, dat_trace_out, object, __VA_ARGS__)

/* The levels of one component, or of both if which is NULL; "trace" of the control channel. */
int dat_trace_command(void *arg, const char *args, FILE *out);
/* The records kept in memory; "dump". */
int dat_trace_dump_command(void *arg, const char *args, FILE *out);
/* The trace points of libdat2; "points". */
int dat_trace_points_command(void *arg, const char *args, FILE *out);

#endif
