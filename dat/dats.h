/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What libdat2 offers to the provider core beyond the public API: the handle arena and the trace
 * sink.
 *
 * All of it is exported under version node UDAPL_1 and referenced weakly, because a module must
 * also load under a libdat2 that knows nothing of it. Test the address before the first call.
 */
#ifndef DAT_DATS_H
#define DAT_DATS_H

#include <stdio.h>

#include <dat/udat.h>
#include <dat/dat_registry.h>
#include <dat/dat_trace.h>

#include "trace/point.h"

#ifndef DATS_WEAK /* defined as nothing by those that are or need our libdat2 */
#define DATS_WEAK __attribute__((weak))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The arena is one range of reserved addresses. libdat2 takes a handle for an object only if it is
 * the start of a slot of that range whose first word, the object's DAT_PROVIDER pointer, is not
 * NULL; any other value is refused without being read. Rules for who carves objects out of it:
 *
 * - Every object handle is the start of a DATS_SLOT_SIZE slot. An object may be longer than a slot
 * if the first word of each further slot that it covers stays NULL.
 * - The first word of every slot that is not a live object is NULL: of one never used, of a freed
 * one, and of one that holds the owner's own data.
 */
#define DATS_SLOT_SHIFT 9
#define DATS_SLOT_SIZE	(1 << DATS_SLOT_SHIFT)
#define DATS_CHUNK_SIZE (64 * 1024)

/*
 * Declares that every handle of this provider lies in the arena, and that its table has no NULL
 * slot; call it before dat_registry_add_provider with the same pointer. A provider that never does
 * so is foreign: as long as one is registered, handles outside the arena are read too. The
 * declaration ends when the last entry with this table leaves the registry, or when adding the
 * first one fails. Tables that objects point to may be copies of this one.
 *
 * Returns 0, -EINVAL if a slot is NULL, -ENOMEM.
 */
int dats_provider_uses_arena(const DAT_PROVIDER *provider) DATS_WEAK;

/* Commits one zeroed chunk aligned to DATS_CHUNK_SIZE. Returns 0, -ENOMEM or another negative
 * errno. */
int dats_arena_grant(void **chunk) DATS_WEAK;

/* Takes a chunk back: it reads as zero from now on, and is granted again as late as possible. */
void dats_arena_return(void *chunk) DATS_WEAK;

/* Whether the value is the start of a slot in a chunk that was ever granted: only then may it be
 * read. */
int dats_arena_holds(const void *handle) DATS_WEAK;

/*
 * The provider whose ia_open_func or open extension libdat2 has called on this thread; NULL outside
 * of those calls. They are told a name, of which there may be several entries.
 */
const DAT_PROVIDER *dats_opening(void) DATS_WEAK;

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

/* Writes the records kept in memory, each once in its life, to the sinks: something is wrong here.
 */
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

/* Runs a line in this process. 0, -ENOENT: no such command, -EINVAL, or what the command answers.
 */
int dats_control_run(const char *line, FILE *out) DATS_WEAK;

#ifdef __cplusplus
}
#endif

#endif
