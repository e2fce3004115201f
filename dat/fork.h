/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fork: to a child belongs nothing that its parent had open (GEN-32). It has the registry's
 * entries, the trace's settings and the commands, and opens IAs of its own.
 */
#ifndef DAT_FORK_H
#define DAT_FORK_H

#include "dat/internal.h"

#include <pthread.h>

/*
 * Held by the thread that forks, so that the child finds whole what they cover. No code of others
 * runs with one of them held.
 */
extern pthread_mutex_t dat_static_lock, dat_registry_lock, dat_handle_lock, dat_ext_lock,
	dat_arena_lock;

/* Around a fork: no module is half loaded meanwhile, unless that takes longer than a second. */
void dat_loader_hold(void);
void dat_loader_release(void);

/* In a child: what its parent had is gone. No lock is held. */
void dat_loader_abandon(void);
void dat_registry_abandon(void);
void dat_handle_abandon(void);
void dat_ext_abandon(void);

/* From now on forks are noticed. */
void dat_fork_watch(void);

#endif
