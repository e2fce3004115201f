/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The reserved address range in which the objects of our own providers live. */
#include "dat/arena.h"
#include "dat/fork.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Of 32 bits of addresses the program wants most itself. */
#define RANGE_MAX (SIZE_MAX > UINT32_MAX ? (size_t)((uint64_t)16 << 30) : (size_t)256 << 20)
#define RANGE_MIN ((size_t)64 << 20)

/*
 * Chunks that rest before one is granted again while fresh ones are left: a stale handle stays an
 * error for long, and the range does not fall into more mappings than the kernel allows a process.
 */
#define CHUNKS_AT_REST 256

/* No slot starts at an odd base: until there is a range nothing passes the test. */
struct dat_arena dat_arena = { .base = 1 };

pthread_mutex_t dat_arena_lock = PTHREAD_MUTEX_INITIALIZER;

static struct {
	size_t num_chunks, num_fresh_taken;
	uint32_t *next; /* links the resting chunks, oldest first */
	uint32_t oldest, newest;
	size_t num_resting;
	const DAT_PROVIDER **users;
	size_t num_users;
} arena;

/*
 * Reserved on the first grant and without access, so that a process that never opens an IA pays
 * nothing and mlockall() has nothing to fault in.
 */
static int arena_reserve(void)
{
	size_t size, misfit;
	char *range = MAP_FAILED;

	for (size = RANGE_MAX; size >= RANGE_MIN; size /= 2) {
		range = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			     0);
		if (range != MAP_FAILED)
			break;
	}
	if (range == MAP_FAILED)
		return -errno;
	misfit = -(uintptr_t)range % DATS_CHUNK_SIZE;
	size -= misfit + (size - misfit) % DATS_CHUNK_SIZE;
	arena.next = calloc(size / DATS_CHUNK_SIZE, sizeof(*arena.next));
	if (!arena.next) {
		munmap(range, size);
		return -ENOMEM;
	}
	arena.num_chunks = size / DATS_CHUNK_SIZE;
	__atomic_store_n(&dat_arena.base, (uintptr_t)range + misfit, __ATOMIC_RELEASE);
	__atomic_store_n(&dat_arena.size, size, __ATOMIC_RELEASE);
	return 0;
}

static char *arena_chunk(size_t index)
{
	return (char *)dat_arena.base + index * DATS_CHUNK_SIZE;
}

/* Makes chunks below the bound readable before the bound admits them. */
static int arena_take_fresh(void **chunk)
{
	char *fresh = arena_chunk(arena.num_fresh_taken);
	size_t slots;

	if (arena.num_fresh_taken == arena.num_chunks)
		return -ENOMEM;
	if (mprotect(fresh, DATS_CHUNK_SIZE, PROT_READ | PROT_WRITE))
		return -errno;
	slots = ++arena.num_fresh_taken * (DATS_CHUNK_SIZE / DATS_SLOT_SIZE);
	__atomic_store_n(&dat_arena.slots, slots, __ATOMIC_RELEASE);
	*chunk = fresh;
	return 0;
}

static int arena_take_oldest(void **chunk)
{
	char *oldest = arena_chunk(arena.oldest);

	if (!arena.num_resting)
		return -ENOMEM;
	if (mprotect(oldest, DATS_CHUNK_SIZE, PROT_READ | PROT_WRITE))
		return -errno;
	arena.oldest = arena.next[arena.oldest];
	arena.num_resting--;
	*chunk = oldest;
	return 0;
}

int dats_arena_grant(void **chunk)
{
	int err = 0;

	pthread_mutex_lock(&dat_arena_lock);
	if (!arena.num_chunks)
		err = arena_reserve();
	if (!err) {
		err = -ENOMEM;
		if (arena.num_resting < CHUNKS_AT_REST)
			err = arena_take_fresh(chunk);
		if (err)
			err = arena_take_oldest(chunk);
	}
	pthread_mutex_unlock(&dat_arena_lock);
	return err;
}

void dats_arena_return(void *chunk)
{
	uint32_t index = ((uintptr_t)chunk - dat_arena.base) / DATS_CHUNK_SIZE;

	/* Pages that are locked in memory cannot be dropped. */
	if (madvise(chunk, DATS_CHUNK_SIZE, MADV_DONTNEED))
		memset(chunk, 0, DATS_CHUNK_SIZE);
	/* A failure leaves it writable, which no reader can tell. */
	mprotect(chunk, DATS_CHUNK_SIZE, PROT_READ);

	pthread_mutex_lock(&dat_arena_lock);
	if (arena.num_resting++)
		arena.next[arena.newest] = index;
	else
		arena.oldest = index;
	arena.newest = index;
	pthread_mutex_unlock(&dat_arena_lock);
}

int dats_arena_holds(const void *handle)
{
	return dat_arena_holds(handle);
}

/* Every slot of the table is a pointer to a function; two plain members come before them. */
static int table_is_full(const DAT_PROVIDER *provider)
{
	size_t at;

	for (at = offsetof(DAT_PROVIDER, ia_open_func); at < sizeof(*provider);
	     at += sizeof(void *)) {
		void *slot;

		memcpy(&slot, (const char *)provider + at, sizeof(slot));
		if (!slot)
			return 0;
	}
	return 1;
}

static size_t user_index(const DAT_PROVIDER *provider)
{
	size_t i = 0;

	while (i < arena.num_users && arena.users[i] != provider)
		i++;
	return i;
}

int dats_provider_uses_arena(const DAT_PROVIDER *provider)
{
	const DAT_PROVIDER **users;
	int err = 0;

	if (!provider || !table_is_full(provider))
		return -EINVAL;
	pthread_mutex_lock(&dat_arena_lock);
	if (user_index(provider) == arena.num_users) {
		users = realloc(arena.users, (arena.num_users + 1) * sizeof(*users));
		if (users) {
			users[arena.num_users++] = provider;
			arena.users = users;
		} else {
			err = -ENOMEM;
		}
	}
	pthread_mutex_unlock(&dat_arena_lock);
	return err;
}

int dat_arena_has_user(const DAT_PROVIDER *provider)
{
	int has;

	pthread_mutex_lock(&dat_arena_lock);
	has = user_index(provider) < arena.num_users;
	pthread_mutex_unlock(&dat_arena_lock);
	return has;
}

void dat_arena_forget(const DAT_PROVIDER *provider)
{
	size_t i;

	pthread_mutex_lock(&dat_arena_lock);
	i = user_index(provider);
	if (i < arena.num_users)
		arena.users[i] = arena.users[--arena.num_users];
	pthread_mutex_unlock(&dat_arena_lock);
}

void dat_arena_foreign_added(void)
{
	__atomic_fetch_add(&dat_arena.num_foreign, 1, __ATOMIC_RELAXED);
}

void dat_arena_foreign_removed(void)
{
	__atomic_fetch_sub(&dat_arena.num_foreign, 1, __ATOMIC_RELAXED);
}
