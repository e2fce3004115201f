/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Levels, records and diagnostics of libdat2; what modules have of it is declared in exports.h. */
#ifndef TRACE_DAT_LOG_H
#define TRACE_DAT_LOG_H

#include <pthread.h>

#include "trace/exports.h"

enum dat_trace_component {
	DAT_TRC_DAT,
	DAT_TRC_DAPL,
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

int dat_trace_level(enum dat_trace_component component);
/* At run time: what stands in a file comes too late from now on. -1 leaves the level as it is. */
void dat_trace_change_level(enum dat_trace_component component, int level);
/* Unless one was set at run time. */
void dat_trace_initial_level(enum dat_trace_component component, int level);
/* Silence even about failures: DAT_TRACE_LEVEL=0 stands in the environment. */
void dat_trace_silence(void);

/* Of changes, and of who follows them; held by a thread that forks. */
extern pthread_mutex_t dat_trace_lock;

/* The levels of one component, or of both if which is NULL; "trace" of the control channel. */
int dat_trace_command(void *arg, const char *args, FILE *out);
/* The records kept in memory; "dump". */
int dat_trace_dump_command(void *arg, const char *args, FILE *out);
/* The trace points of libdat2; "points". */
int dat_trace_points_command(void *arg, const char *args, FILE *out);

#endif
