/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Diagnostics and traces of a module: the core and its transports. libdat2 has the sinks. */
#ifndef TRACE_LOG_H
#define TRACE_LOG_H

#include <stdbool.h>
#include <stdio.h>

#include "trace/limit.h"
#include "trace/point.h"

enum {
	DAPL_TRC_ERROR = DATS_TRC_ERROR,
	DAPL_TRC_NORMAL = DATS_TRC_NORMAL,
	DAPL_TRC_DETAIL = DATS_TRC_DETAIL,
	DAPL_TRC_POST = DATS_TRC_POST,
};

void dapl_diag(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void dapl_trace_out(const struct dats_point *point, const void *object, const char *fmt, ...)
	__attribute__((cold, noinline, format(printf, 3, 4)));

/* A failure, said once by whoever first knows of it. Keeps errno. */
#define dapl_err(...) dapl_diag(__VA_ARGS__)

/*
 * A trace point (trace/point.h): its name, its level, the object it is about or NULL, a format in
 * which every conversion has its name before it ("from=%s to=%s"), at most seven arguments. Records
 * up to DAPL_TRC_NORMAL are kept in memory at every level, so nothing that a program does per
 * message belongs there. The arguments may be evaluated twice, and are only when somebody wants
 * them. The point stands in the man page udapl-probes(7). Keeps errno.
 */
#define dapl_trace(point, level, object, ...) \
	DATS_TRACE(dapl, point, level, dapl_trace_out, object, __VA_ARGS__)

/* For what a peer or another user can cause. Each place has a limit of its own (limit.h). */
#define dapl_err_limited(...)                                      \
	do {                                                       \
		static struct dapl_limit limit_;                   \
		uint32_t missed_;                                  \
		if (dapl_limit_pass(&limit_, &missed_)) {          \
			if (missed_)                               \
				dapl_limit_missed(missed_, false); \
			dapl_err(__VA_ARGS__);                     \
		}                                                  \
	} while (0)
#define dapl_trace_limited(point, level, object, ...)                  \
	do {                                                           \
		static struct dapl_limit limit_;                       \
		uint32_t missed_;                                      \
		if (dapl_limit_pass(&limit_, &missed_)) {              \
			if (missed_)                                   \
				dapl_limit_missed(missed_, true);      \
			dapl_trace(point, level, object, __VA_ARGS__); \
		}                                                      \
	} while (0)

/*
 * Where a few instructions count, in pieces: a point at the top of the file, above level
 * DAPL_TRC_NORMAL; whether somebody wants it, which sends the program the long way round; and there
 * the record.
 */
#define DAPL_TRACE_POINT(point, level, format) DATS_POINT(dapl, point, level, format)
#define dapl_trace_wanted(point)	       DATS_WANTED(dapl, point)
#define dapl_trace_at(point, object, ...)                                              \
	do {                                                                           \
		if (DATS_WANTED(dapl, point))                                          \
			DATS_RECORD(dapl, point, dapl_trace_out, object, __VA_ARGS__); \
	} while (0)

/* The module's trace points, as "points" of the control channel tells them. */
void dapl_trace_points(FILE *out);

/* Something happened that should be impossible: what is kept in memory is written out. */
void dapl_internal_error(const char *why);

/*
 * Text for a failed call: the errno's own text, and for EMFILE, ENFILE, ENOMEM and EAGAIN (locked
 * memory) the limit in force and its knob. The buffer is the thread's own, good until the next
 * call.
 */
const char *dapl_strerror(int err);
/* The same of a call that found no port for this end of a connection. */
const char *dapl_port_strerror(int err);

#endif
