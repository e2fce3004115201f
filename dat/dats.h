/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What libdat2 offers to the provider core beyond the public API: the handle arena, and the trace
 * and the control channel (trace/exports.h).
 */
#ifndef DAT_DATS_H
#define DAT_DATS_H

#pragma GCC visibility push(default)

#include <dat/udat.h>
#include <dat/dat_registry.h>

#include "trace/exports.h"

/*
 * The arena is one range of reserved addresses. libdat2 takes a handle for an object only if it is
 * the start of a slot of that range whose first word, the object's DAT_PROVIDER pointer, is not
 * NULL; any other value is refused without being read. Rules for who carves objects out of it:
 *
 * - Every object handle is the start of a DATS_SLOT_SIZE slot. An object may be longer than a slot
 *   if the first word of each further slot that it covers stays NULL.
 * - The first word of every slot that is not a live object is NULL: of one never used, of a freed
 *   one, and of one that holds the owner's own data.
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

/* Commits one zeroed chunk aligned to DATS_CHUNK_SIZE. 0, -ENOMEM or another negative errno. */
int dats_arena_grant(void **chunk) DATS_WEAK;

/* Takes a chunk back: it reads as zero from now on, and is granted again as late as possible. */
void dats_arena_return(void *chunk) DATS_WEAK;

/* Whether the value is the start of a slot in a chunk ever granted: only then may it be read. */
int dats_arena_holds(const void *handle) DATS_WEAK;

/*
 * The provider whose ia_open_func, open extension or dat_provider_fini libdat2 has called on this
 * thread; NULL outside of those calls. They are told a name, of which there may be several entries.
 */
const DAT_PROVIDER *dats_opening(void) DATS_WEAK;

/*
 * Adds to the number of proxy agents that this thread is in, of whichever module's objects, and
 * returns it: an agent of one waits for no agent of another either (CNO-19).
 */
int dats_agents(int more) DATS_WEAK;

/*
 * What a module does around a fork; functions may be NULL. pthread_atfork would not do: libdat2
 * holds a fork back while a module is being loaded, and glibc runs no handler in the child that
 * was registered after the fork began.
 */
struct dats_fork_watcher {
	void (*before)(void);
	void (*in_parent)(void);
	void (*in_child)(void);
	struct dats_fork_watcher *next;
};

/* From the module's constructor to its destructor. */
void dats_fork_watch(struct dats_fork_watcher *watcher) DATS_WEAK;
void dats_fork_unwatch(struct dats_fork_watcher *watcher) DATS_WEAK;

#pragma GCC visibility pop

#endif
