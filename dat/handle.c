/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The table of open IAs. */
#include "dat/handle.h"
#include "dat/entry.h"
#include "dat/fork.h"
#include "trace/dat_log.h"
#include "util/thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct dat_handle_slot *dat_handle_blocks[DAT_HANDLE_NUM_BLOCKS];

pthread_mutex_t dat_handle_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t table_unpinned = PTHREAD_COND_INITIALIZER;
static int inherited; /* the parent had adapters open, and nothing has been said of that yet */

static struct dat_handle_slot *slot_of(DAT_IA_HANDLE handle)
{
	uintptr_t number = (uintptr_t)handle;

	return &dat_handle_blocks[number / DAT_HANDLE_BLOCK][number % DAT_HANDLE_BLOCK];
}

/* The next number of a block that exists, 0 after the last. 0 begins, and is never given out. */
static uintptr_t next_number(uintptr_t number)
{
	if (++number >= DAT_HANDLE_MAX)
		return 0;
	return __atomic_load_n(&dat_handle_blocks[number / DAT_HANDLE_BLOCK], __ATOMIC_ACQUIRE)
		       ? number
		       : 0;
}

/* The number of a provider's IA, NULL if it is not open. */
static DAT_IA_HANDLE number_of(DAT_IA_HANDLE ia)
{
	DAT_IA_HANDLE found = NULL;
	uintptr_t n;

	pthread_mutex_lock(&dat_handle_lock);
	for (n = next_number(0); ia && n; n = next_number(n)) {
		struct dat_handle_slot *slot = slot_of((DAT_IA_HANDLE)n);

		if (slot->ia != ia)
			continue;
		found = (DAT_IA_HANDLE)n;
		/* A provider that closed one IA may have reused its memory for the next open. */
		if (!slot->closing)
			break;
	}
	pthread_mutex_unlock(&dat_handle_lock);
	return found;
}

DAT_RETURN dat_bad_handle(DAT_HANDLE handle, DAT_RETURN_SUBTYPE kind)
{
	if (handle && __atomic_exchange_n(&inherited, 0, __ATOMIC_RELAXED))
		dat_diag("process %d was forked from one with open adapters, whose handles are "
			 "invalid here: open the adapter anew",
			 (int)getpid());
	return DAT_ERR(DAT_INVALID_HANDLE, kind);
}

DAT_RETURN dats_get_ia_handle(DAT_IA_HANDLE handle, DAT_IA_HANDLE *out)
{
	DAT_IA_HANDLE ia;

	if (!out)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ia = (uintptr_t)handle < DAT_HANDLE_MAX ? dat_handle_to_ia(handle) : number_of(handle);
	if (!ia)
		return DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	*out = ia;
	return DAT_SUCCESS;
}

DAT_IA_HANDLE dat_handle_reserve(void)
{
	struct dat_handle_slot *block;
	uintptr_t n, last = 0, free_number = 0;

	pthread_mutex_lock(&dat_handle_lock);
	for (n = next_number(0); n && !free_number; n = next_number(n)) {
		if (!slot_of((DAT_IA_HANDLE)n)->reserved)
			free_number = n;
		last = n;
	}
	if (!free_number && last + 1 < DAT_HANDLE_MAX) {
		block = calloc(DAT_HANDLE_BLOCK, sizeof(*block));
		if (block) {
			free_number = last + 1;
			__atomic_store_n(&dat_handle_blocks[free_number / DAT_HANDLE_BLOCK], block,
					 __ATOMIC_RELEASE);
		}
	}
	if (free_number)
		slot_of((DAT_IA_HANDLE)free_number)->reserved = 1;
	pthread_mutex_unlock(&dat_handle_lock);
	if (!free_number)
		dat_diag("no handle for another adapter: %s", dat_errno_text(ENOMEM));
	return (DAT_IA_HANDLE)free_number;
}

void dat_handle_publish(DAT_IA_HANDLE handle, DAT_IA_HANDLE ia, struct dat_entry *entry)
{
	struct dat_handle_slot *slot = slot_of(handle);

	pthread_mutex_lock(&dat_handle_lock);
	slot->entry = entry;
	__atomic_store_n(&slot->ia, ia, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&dat_handle_lock);
}

void dat_handle_release(DAT_IA_HANDLE handle)
{
	struct dat_handle_slot *slot = slot_of(handle);

	pthread_mutex_lock(&dat_handle_lock);
	__atomic_store_n(&slot->ia, NULL, __ATOMIC_RELEASE);
	slot->entry = NULL;
	slot->closing = 0;
	slot->reserved = 0;
	pthread_mutex_unlock(&dat_handle_lock);
}

DAT_IA_HANDLE dat_handle_begin_close(DAT_IA_HANDLE handle, struct dat_entry **entry)
{
	struct dat_handle_slot *slot;
	DAT_IA_HANDLE ia = NULL;

	pthread_mutex_lock(&dat_handle_lock);
	if (dat_handle_to_ia(handle)) {
		slot = slot_of(handle);
		if (!slot->closing) {
			slot->closing = 1;
			while (slot->pins)
				dats_cond_wait(&table_unpinned, &dat_handle_lock);
			ia = slot->ia;
			*entry = slot->entry;
		}
	}
	pthread_mutex_unlock(&dat_handle_lock);
	return ia;
}

void dat_handle_cancel_close(DAT_IA_HANDLE handle)
{
	pthread_mutex_lock(&dat_handle_lock);
	slot_of(handle)->closing = 0;
	pthread_mutex_unlock(&dat_handle_lock);
}

DAT_IA_HANDLE dat_handle_pin_name(const char *name)
{
	DAT_IA_HANDLE found = NULL;
	uintptr_t n;

	pthread_mutex_lock(&dat_handle_lock);
	for (n = next_number(0); n && !found; n = next_number(n)) {
		struct dat_handle_slot *slot = slot_of((DAT_IA_HANDLE)n);

		if (slot->ia && !slot->closing && !strcmp(slot->entry->info.ia_name, name)) {
			slot->pins++;
			found = (DAT_IA_HANDLE)n;
		}
	}
	pthread_mutex_unlock(&dat_handle_lock);
	return found;
}

void dat_handle_unpin(DAT_IA_HANDLE handle)
{
	pthread_mutex_lock(&dat_handle_lock);
	if (!--slot_of(handle)->pins)
		pthread_cond_broadcast(&table_unpinned);
	pthread_mutex_unlock(&dat_handle_lock);
}

/* The numbers stay reserved: a handle of the parent's is to stay invalid. */
void dat_handle_abandon(void)
{
	uintptr_t n;

	pthread_cond_init(&table_unpinned, NULL);
	for (n = next_number(0); n; n = next_number(n)) {
		struct dat_handle_slot *slot = slot_of((DAT_IA_HANDLE)n);

		if (slot->ia)
			inherited = 1;
		slot->ia = NULL;
		slot->entry = NULL;
		slot->closing = 0;
		slot->pins = 0;
	}
}
