/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Where trace records go: standard error, syslog, a file, a function of the program's. */
#ifndef TRACE_SINK_H
#define TRACE_SINK_H

#include <pthread.h>
#include <stdint.h>

#include <dat/dat_trace.h>

/* Bits of dat_sink_choose. */
enum {
	DAT_SINK_STDERR = 0x1,
	DAT_SINK_SYSLOG = 0x2,
	DAT_SINK_FILE = 0x4,
};

/*
 * The file is opened with its first record. In path %p is the process id. One of at least size
 * bytes is moved aside to PATH.1, and so on up to PATH.keep. What cannot be written is told once on
 * standard error; where the file cannot be opened its records go there, and where it cannot be moved
 * aside it grows to twice its size before that is tried again.
 */
void dat_sink_choose(int sinks);
void dat_sink_file(const char *path, uint64_t size, unsigned int keep);
/* The one before runs no more after return, unless it is that one that calls. */
void dat_sink_callback(DAT_TRACE_FUNC func, void *arg);

/*
 * Hands a record on; line ends with a newline. on_stderr: standard error knows already. Keeps
 * errno.
 */
void dat_sink_write(int hook, int level, const char *line, int on_stderr);

/* One line on standard error, whatever is chosen. Never raises SIGPIPE. */
void dat_sink_stderr(const char *line);

/* Covers the file; held by a thread that forks. In the child the file is to be opened anew. */
extern pthread_mutex_t dat_sink_lock;
void dat_sink_abandon(void);

#endif
