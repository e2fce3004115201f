/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Diagnostics and traces of the core and its transports; the sink is libdat2's where there is one.
 */
#ifndef DAPL_TRACE_H
#define DAPL_TRACE_H

#include <stdbool.h>

enum {
	DAPL_TRC_ERROR = 1,  /* error paths */
	DAPL_TRC_NORMAL = 3, /* calls and state changes */
	DAPL_TRC_DETAIL = 7, /* everything of diagnostic value */
};

int dapl_trace_level(void);

void dapl_diag(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void dapl_trace_out(int level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A failure, said once by whoever first knows of it: object, peer, errno text, limit and knob.
 * Keeps errno. */
#define dapl_err(...) dapl_diag(__VA_ARGS__)

/* A trace record of level 1 to 10; the arguments are evaluated only when it is wanted. Keeps errno.
 */
#define dapl_trace(level, ...)                                          \
	do {                                                            \
		if (__builtin_expect(dapl_trace_level() >= (level), 0)) \
			dapl_trace_out((level), __VA_ARGS__);           \
	} while (0)

/*
 * Text for a failed call: the errno's own text, and for EMFILE, ENFILE, ENOMEM and EAGAIN (locked
 * memory) the limit in force and its knob. The buffer is the thread's own, good until the next
 * call.
 */
const char *dapl_strerror(int err);

#endif
