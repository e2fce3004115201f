/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The IA handles of programs: small integers that stand for providers' IA pointers (GEN-17). */
#ifndef DAT_HANDLE_H
#define DAT_HANDLE_H

#include "dat/internal.h"

#include <stdint.h>

struct dat_entry;

#define DAT_HANDLE_BLOCK      64
#define DAT_HANDLE_NUM_BLOCKS 1024
#define DAT_HANDLE_MAX	      (DAT_HANDLE_BLOCK * DAT_HANDLE_NUM_BLOCKS)

/* One number. ia is what readers look at without a lock; the rest belongs to the table's lock. */
struct dat_handle_slot {
	DAT_IA_HANDLE ia; /* NULL: free, or reserved for an open under way */
	struct dat_entry *entry;
	int reserved, closing;
	unsigned int pins;
};

/* Blocks come on demand and never go, so a reader needs no lock to walk them. */
extern struct dat_handle_slot *dat_handle_blocks[DAT_HANDLE_NUM_BLOCKS] DAT_HIDDEN;

/* The provider's IA behind a program's handle, NULL if the number is not live. */
static inline DAT_IA_HANDLE dat_handle_to_ia(DAT_HANDLE handle)
{
	uintptr_t number = (uintptr_t)handle;
	struct dat_handle_slot *block;

	if (unlikely(number >= DAT_HANDLE_MAX))
		return NULL;
	block = __atomic_load_n(&dat_handle_blocks[number / DAT_HANDLE_BLOCK], __ATOMIC_ACQUIRE);
	if (unlikely(!block))
		return NULL;
	return __atomic_load_n(&block[number % DAT_HANDLE_BLOCK].ia, __ATOMIC_ACQUIRE);
}

/* DAT_INVALID_HANDLE; says once of a child made by fork that its parent's handles are not its own. */
DAT_RETURN dat_bad_handle(DAT_HANDLE handle, DAT_RETURN_SUBTYPE kind)
	__attribute__((cold, noinline));

/* Sets a number aside for an open under way. NULL if there is no memory or no number left. */
DAT_IA_HANDLE dat_handle_reserve(void);

/* Makes the number stand for ia, opened through entry. */
void dat_handle_publish(DAT_IA_HANDLE handle, DAT_IA_HANDLE ia, struct dat_entry *entry);

/* Frees a number that is reserved or closing. */
void dat_handle_release(DAT_IA_HANDLE handle);

/*
 * Marks a live number as closing, after which no other close can begin and no pin be set; waits for
 * pins. Returns the provider's IA, NULL if the number is not live or already closing.
 */
DAT_IA_HANDLE dat_handle_begin_close(DAT_IA_HANDLE handle, struct dat_entry **entry);
void dat_handle_cancel_close(DAT_IA_HANDLE handle);

/* Some open IA of that name, kept from closing until it is unpinned. NULL if there is none. */
DAT_IA_HANDLE dat_handle_pin_name(const char *name);
void dat_handle_unpin(DAT_IA_HANDLE handle);

#endif
