/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The arena test and what lies behind it: is this value the handle of an object? */
#ifndef DAT_ARENA_H
#define DAT_ARENA_H

#include "dat/internal.h"

#include <stdint.h>

/* No object lies below it; IA numbers and other small values do. */
#define DAT_ARENA_LOW_PAGE 4096

/*
 * base and size are written once, before slots first becomes other than 0. slots counts the slots
 * up to the highest chunk granted so far and only grows, so whatever passes the test is readable
 * for ever.
 */
struct dat_arena {
	size_t slots;
	uintptr_t base;
	size_t size;	 /* of the reserved range, in bytes */
	int num_foreign; /* registered entries of providers that do not use the arena */
};

extern struct dat_arena dat_arena DAT_HIDDEN;

/*
 * Plain loads, which the compilers fold into the subtraction and the compare as they do no atomic
 * ones. An aligned word is read whole, and a bound that is out of date can only refuse what no
 * thread has been given yet. ThreadSanitizer cannot know that.
 */
#ifdef WITH_TSAN
#define DAT_ARENA_READ(member) __atomic_load_n(&dat_arena.member, __ATOMIC_RELAXED)
#else
#define DAT_ARENA_READ(member) (dat_arena.member)
#endif

/*
 * One compare refuses both what lies outside the arena and what is not the start of a slot: the
 * rotation moves the bits below the slot size to the top.
 */
static inline int dat_arena_holds(const void *handle)
{
	uintptr_t off = (uintptr_t)handle - DAT_ARENA_READ(base);

	off = off >> DATS_SLOT_SHIFT | off << (8 * sizeof(off) - DATS_SLOT_SHIFT);
	return off < DAT_ARENA_READ(slots);
}

/* The table of an object in the arena, NULL if the handle is none. */
static inline const DAT_PROVIDER *dat_arena_provider(const void *handle)
{
	if (unlikely(!dat_arena_holds(handle)))
		return NULL;
	return __atomic_load_n((const DAT_PROVIDER *const *)handle, __ATOMIC_RELAXED);
}

/*
 * The table of an object of a foreign module, NULL if the value cannot be one. What lies in the
 * range has had its test. Without a call, so that the entries of api.c need no stack frame.
 */
static inline const DAT_PROVIDER *dat_foreign_provider(const void *handle)
{
	uintptr_t value = (uintptr_t)handle;

	if (likely(!__atomic_load_n(&dat_arena.num_foreign, __ATOMIC_RELAXED)) ||
	    value < DAT_ARENA_LOW_PAGE || value % sizeof(void *) ||
	    value - DAT_ARENA_READ(base) < DAT_ARENA_READ(size))
		return NULL;
	return *(const DAT_PROVIDER *const *)handle;
}

static inline const DAT_PROVIDER *dat_handle_provider(const void *handle)
{
	const DAT_PROVIDER *provider = dat_arena_provider(handle);

	return likely(provider != NULL) ? provider : dat_foreign_provider(handle);
}

/* Whether the provider has declared that it uses the arena, until the registry has it forgotten. */
int dat_arena_has_user(const DAT_PROVIDER *provider);
void dat_arena_forget(const DAT_PROVIDER *provider);

/* The registry counts the entries of providers that have not. */
void dat_arena_foreign_added(void);
void dat_arena_foreign_removed(void);

#endif
