/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The life of what a line of dat.conf names: load and init before the first open, fini and unload
 * after the last close. The registry's lock is held by who calls, and given up around the library's
 * code (REG-7); meanwhile the source is busy, and other threads that ask for its key wait.
 */
#ifndef DAT_SOURCE_H
#define DAT_SOURCE_H

#include "dat/internal.h"

struct dat_entry;
struct dat_parts;
struct dat_source;

/* Returns the entry that came of it, NULL if none did, as is then said. */
struct dat_entry *dat_source_load(struct dat_source *source);

/* Of which no IA is open any more. */
void dat_source_unload(struct dat_source *source);

/* The source with that key that is in init or fini, NULL if none is. */
struct dat_source *dat_source_busy(const DAT_PROVIDER_INFO *key);

/* Until some source is no longer busy. */
void dat_source_wait(void);

/* Whether this thread is in init or fini of it, or of anything. */
int dat_source_is_in(const struct dat_source *source);
int dat_source_is_in_any(void);

/*
 * The source of the module that calls, which names itself as it was told; NULL: another caller. In
 * init and fini it is whatever this thread does, as in release 2.1.10. Another thread is the
 * module's if a part of what it registers is in the module or in what was loaded with it, and so
 * would not outlive it; without parts, no other thread is.
 */
struct dat_source *dat_source_calling(const DAT_PROVIDER_INFO *info, const struct dat_parts *parts);

/*
 * Says whose code is called by this thread from now on, for dats_opening; returns whose it was
 * before, to be said again afterwards.
 */
const DAT_PROVIDER *dat_calls(const DAT_PROVIDER *provider);

/* In a child: what another thread was loading or unloading is neither whole nor in use. */
void dat_source_abandon(void);

#endif
