/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What libdat2 offers to modules of the trace and the control channel.
 *
 * It is exported under version node UDAPL_1 and referenced weakly, because a module must also load
 * under a libdat2 that knows nothing of it. Test the address before the first call.
 */
#ifndef TRACE_EXPORTS_H
#define TRACE_EXPORTS_H

#include <stdio.h>

#include "trace/point.h"

#ifndef DATS_WEAK /* defined as nothing by those that are or need our libdat2 */
#define DATS_WEAK __attribute__((weak))
#endif

#pragma GCC visibility push(default)

/* Trace hooks (VND-12). */
enum {
	DATS_HOOK_DAPL_EVENT = 0x5C3,
	DATS_HOOK_DAPL_ERROR = 0x5C4,
	DATS_HOOK_DAT_EVENT = 0x5C7,
	DATS_HOOK_DAT_ERROR = 0x5C8,
};

/*
 * A failure, said once by whoever first knows of it: one line on standard error, and a record of
 * level 1. Keeps errno.
 */
void dats_diag(int hook, const char *msg) DATS_WEAK;

/*
 * Makes a record: kept in memory up to DATS_TRC_NORMAL, and written to the sinks if the component's
 * level reaches that of the point. The component and whether it is an error follow from the hook.
 * Keeps errno.
 */
void dats_trace_record(int hook, const struct dats_point *point, const void *object,
		       const char *msg) DATS_WEAK;

/* Something is wrong here: writes records kept in memory to the sinks, each once in its life. */
void dats_trace_internal_error(const char *why) DATS_WEAK;

/* Told the level of the provider core at once and at each change. */
struct dats_follower {
	void (*level)(int level);
	struct dats_follower *next; /* libdat2's own */
};

void dats_trace_follow(struct dats_follower *follower) DATS_WEAK;
/* Not told any more after return. */
void dats_trace_unfollow(struct dats_follower *follower) DATS_WEAK;

/*
 * A setting of dapl.conf: trace_level, dat_trace_level, trace_dest, trace_file, trace_size,
 * trace_keep. What the environment or a call has set stays. 0, -EINVAL: not a value, -ENOENT.
 */
int dats_trace_default(const char *name, const char *value) DATS_WEAK;

/*
 * The control channel. A process with an open IA listens on the abstract Unix address
 * DATS_CONTROL_NAME of its process id. A client of the same user sends one line, a command's name
 * and its arguments, and reads "ok" or "error: why" on a line, then the answer until the end.
 */
#define DATS_CONTROL_NAME "udapl.control.%ld"
#define DATS_CONTROL_LINE 256

/* A named command. It stays for the life of the process, and so must its memory and its code. */
struct dats_command {
	const char *name;
	const char *usage; /* one line for "help" */
	/*
	 * Writes the answer; args is the line behind the name. 0 or a negative errno. Runs on the
	 * control thread or on one that calls dats_control_run, without a lock of libdat2.
	 */
	int (*run)(void *arg, const char *args, FILE *out);
	void *arg;
	struct dats_command *next; /* libdat2's own */
};

/* Commands of one name run all, in the order they were added. 0, -EINVAL: no name or function. */
int dats_control_add(struct dats_command *command) DATS_WEAK;

/* Runs a line in this process. 0, -ENOENT: no such command, or what the command answers. */
int dats_control_run(const char *line, FILE *out) DATS_WEAK;

#pragma GCC visibility pop

#endif
