/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The last records of every thread, kept in memory. */
#ifndef TRACE_RECORDER_H
#define TRACE_RECORDER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define DAT_RECORDER_DEPTH 64 /* records per thread */

struct dat_record {
	uint64_t time;	/* ns since the epoch */
	uint64_t order; /* of the thread's records */
	const void *object;
	pid_t tid;
	uint16_t hook, level;
	char point[24];
	char text[176];
};

/* The calling thread's id. */
pid_t dat_recorder_tid(void);

/* Keeps a copy; the thread's oldest goes. */
void dat_recorder_put(const struct dat_record *record);

/*
 * All that are kept, by time, to be freed; unread: only those that no unread call returned before.
 * NULL: none, or no memory.
 */
struct dat_record *dat_recorder_read(int unread, size_t *num);

/* In a child: what other threads of its parent held is nobody's. */
void dat_recorder_abandon(void);

#endif
