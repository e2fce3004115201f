/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Diagnostics and traces of libdat2; the sink that the provider core shares is declared in dats.h.
 */
#ifndef DAT_TRACE_H
#define DAT_TRACE_H

#include "dat/internal.h"

#if defined(HAVE_SYS_SDT_H) && HAVE_SYS_SDT_H
#include <sys/sdt.h>
#define DAT_PROBE(level, fmt) DTRACE_PROBE2(dat, trace, level, fmt)
#else
#define DAT_PROBE(level, fmt)
#endif

/* Named trace levels (VND-11). */
enum {
	DAT_TRC_ERROR = 1,  /* error paths */
	DAT_TRC_NORMAL = 3, /* calls and state changes */
	DAT_TRC_DETAIL = 7, /* everything of diagnostic value */
};

struct dat_trace {
	int levels[2]; /* DAT, DAPL */
	int quiet;     /* DAT_TRACE_LEVEL=0 stands in the environment */
	int to_stderr, to_syslog;
};

extern struct dat_trace dat_trace_state DAT_HIDDEN;

/* One line on standard error about a failure, said once, where it is first known. Keeps errno. */
void dat_diag(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Text of an errno, with the limit in force and its knob where one was hit. The thread's own
 * buffer, good until its next call.
 */
const char *dat_errno_text(int err);

void dat_trace_out(int level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A trace record; the arguments are evaluated only when it is wanted. Keeps errno. */
#define dat_trace(level, fmt, ...)                                                            \
	do {                                                                                  \
		DAT_PROBE(level, fmt);                                                        \
		if (unlikely(__atomic_load_n(&dat_trace_state.levels[0], __ATOMIC_RELAXED) >= \
			     (level)))                                                        \
			dat_trace_out((level), fmt, ##__VA_ARGS__);                           \
	} while (0)

#endif
