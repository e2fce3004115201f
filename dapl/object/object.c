/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/object/object.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "dapl/base/clock.h"
#include "dapl/base/fork.h"
#include "dapl/base/lock.h"
#include "dapl/base/status.h"
#include "dat/dats.h"
#include "trace/log.h"

static_assert(DAPL_SLOT_SIZE == DATS_SLOT_SIZE, "an object fills one slot of the arena");

#define SLOTS_PER_CHUNK (DATS_CHUNK_SIZE / DAPL_SLOT_SIZE)

/*
 * A free slot: its first word stays NULL, so that libdat2 refuses it (dat/dats.h), and what a
 * thread that comes late looks at is still there.
 */
struct free_slot {
	void *null;
	_Atomic uint32_t poison; /* where an object has its tag */
	_Atomic uint32_t entered;
	struct dapl_lock lock;
	_Atomic uint32_t users;
	const struct dapl_class *class; /* what it was, and whose */
	struct dapl_ia *ia;
	DAT_CONTEXT context;
	struct free_slot *next; /* where an object has what only its IA's list looks at */
};

static_assert(offsetof(struct free_slot, poison) == offsetof(struct dapl_object, type) &&
		      offsetof(struct free_slot, entered) ==
			      offsetof(struct dapl_object, entered) &&
		      offsetof(struct free_slot, lock) == offsetof(struct dapl_object, lock) &&
		      offsetof(struct free_slot, class) == offsetof(struct dapl_object, class) &&
		      offsetof(struct free_slot, next) == offsetof(struct dapl_object, next),
	      "a freed object's tag is the poison");

/* In the first slot of a chunk, whose handle is as that of a freed object. */
struct chunk {
	void *null;
	_Atomic uint32_t poison, entered;
	struct chunk *next;
};

static_assert(offsetof(struct chunk, poison) == offsetof(struct dapl_object, type),
	      "nor has the head of a chunk a tag");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct chunk *chunks;
static struct free_slot *oldest, **newest = &oldest;
static size_t num_free;

/*
 * The range used where libdat2 has no arena (release 2.1.10's). Reserved readable, so that a wild
 * handle inside it reads as zero.
 */
#define OWN_RANGE (SIZE_MAX > UINT32_MAX ? (size_t)1 << 30 : (size_t)256 << 20)
static char *own_base;
static size_t own_used;

static int own_grant(void **chunk)
{
	char *base = own_base;

	if (!base) {
		base = mmap(NULL, OWN_RANGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			    -1, 0);
		if (base == MAP_FAILED)
			return -1;
		own_base = base;
	}
	if (own_used + DATS_CHUNK_SIZE > OWN_RANGE)
		return -1;
	if (mprotect(base + own_used, DATS_CHUNK_SIZE, PROT_READ | PROT_WRITE))
		return -1;
	*chunk = base + own_used;
	own_used += DATS_CHUNK_SIZE;
	return 0;
}

static bool own_holds(const void *handle)
{
	uintptr_t offset = (uintptr_t)handle - (uintptr_t)own_base;

	return own_base && offset < OWN_RANGE && offset % DAPL_SLOT_SIZE == 0;
}

static void put_slot(struct free_slot *slot)
{
	slot->next = NULL;
	*newest = slot;
	newest = &slot->next;
	num_free++;
}

/*
 * Chunks never go back: the module stays mapped (dapl/module.c), and a thread that comes late,
 * after the last IA was closed, must still find the lock of its object.
 */
static void grow(void)
{
	struct free_slot *slot;
	struct chunk *chunk;
	void *granted;
	int i;

	if (dats_arena_grant ? dats_arena_grant(&granted) : own_grant(&granted))
		return;
	chunk = granted;
	chunk->next = chunks;
	__atomic_store_n(&chunks, chunk, __ATOMIC_RELEASE); /* a fork finds a whole list */
	for (i = 1; i < SLOTS_PER_CHUNK; i++) {
		slot = (struct free_slot *)((char *)chunk + i * DAPL_SLOT_SIZE);
		dapl_lock_init(&slot->lock);
		put_slot(slot);
	}
}

/*
 * A child has none of its parent's objects, and never an object of its own where one was. What
 * they refer to stays as it is: it is the parent's.
 */
static void in_child(void)
{
	struct dapl_object *obj;
	struct chunk *chunk;
	int i;

	pthread_mutex_init(&lock, NULL);
	for (chunk = chunks; chunk; chunk = chunk->next)
		for (i = 1; i < SLOTS_PER_CHUNK; i++) {
			obj = (struct dapl_object *)((char *)chunk + i * DAPL_SLOT_SIZE);
			obj->provider = NULL;
			obj->type = DAPL_TYPE_POISON;
		}
	chunks = NULL;
	oldest = NULL;
	newest = &oldest;
	num_free = 0;
}

__attribute__((constructor)) static void watch_forks(void)
{
	static struct dats_fork_watcher watcher = { .in_child = in_child };

	dapl_fork_watch(&watcher);
}

/* Slots kept back from reuse, so that a stale handle meets its poison and not a successor. */
#define QUARANTINE (SLOTS_PER_CHUNK / 2)

void *dapl_object_alloc_slot(void)
{
	struct free_slot *slot;

	pthread_mutex_lock(&lock);
	if (num_free <= QUARANTINE)
		grow();
	slot = oldest;
	if (slot) {
		oldest = slot->next;
		if (!oldest)
			newest = &oldest;
		num_free--;
	}
	pthread_mutex_unlock(&lock);
	if (!slot) {
		dapl_err_limited("no memory for another DAT object: %s", dapl_strerror(ENOMEM));
		return NULL;
	}
	memset(&slot->ia, 0, DAPL_SLOT_SIZE - offsetof(struct free_slot, ia));
	return slot;
}

void dapl_object_init(struct dapl_object *obj, const struct dapl_class *class, struct dapl_ia *ia,
		      const DAT_PROVIDER *table)
{
	obj->class = class;
	obj->ia = ia;
	obj->context.as_64 = 0;
	atomic_store_explicit(&obj->users, 0, memory_order_relaxed);
	__atomic_store_n(&obj->provider, table, __ATOMIC_RELAXED);
	atomic_store_explicit(&obj->type, class->type, memory_order_release);
}

static bool retire(struct dapl_object *obj, const struct dapl_class *class)
{
	uint32_t expected = class->type;

	return atomic_compare_exchange_strong(&obj->type, &expected, DAPL_TYPE_POISON);
}

bool dapl_object_retire(struct dapl_object *obj)
{
	return retire(obj, obj->class);
}

DAT_RETURN dapl_object_retire_unused(struct dapl_object *obj, const struct dapl_class *class)
{
	DAT_RETURN rc = DAT_SUCCESS;

	/* No new user in between; another thread may have ended it, and it may be free by now. */
	dapl_lock(&obj->lock);
	if (!dapl_object_is(obj, class->type))
		rc = dapl_fail(DAT_INVALID_HANDLE, class->bad_handle);
	else if (dapl_object_users(obj))
		rc = dapl_fail(DAT_INVALID_STATE, class->in_use);
	else if (!retire(obj, class))
		rc = dapl_fail(DAT_INVALID_HANDLE, class->bad_handle);
	dapl_unlock(&obj->lock);
	return rc;
}

void *dapl_object_use_arg(DAT_HANDLE handle, enum dapl_type type)
{
	struct dapl_object *obj = dapl_object_arg(handle, type);
	bool live;

	if (!obj)
		return NULL;
	dapl_lock(&obj->lock);
	live = dapl_object_is(obj, type);
	if (live)
		dapl_object_use(obj);
	dapl_unlock(&obj->lock);
	return live ? obj : NULL;
}

void *dapl_object_query(DAT_HANDLE handle, const struct dapl_class *class, uint64_t mask,
			const void *param, DAT_RETURN *rc)
{
	struct dapl_object *obj = dapl_object_self(handle, class->type);

	*rc = DAT_SUCCESS;
	if (!obj)
		*rc = dapl_fail(DAT_INVALID_HANDLE, class->bad_handle);
	else if (mask & ~class->fields)
		*rc = DAPL_BAD_ARG(2);
	else if (!param && mask)
		*rc = DAPL_BAD_ARG(3);
	return *rc || !param ? NULL : obj;
}

/* In entered: somebody waits until there are none. */
#define AWAITED 0x80000000u

bool dapl_object_enter(struct dapl_object *obj, enum dapl_type type)
{
	atomic_fetch_add(&obj->entered, 1);
	if (atomic_load(&obj->type) == (uint32_t)type)
		return true;
	dapl_object_leave(obj);
	return false;
}

void dapl_object_leave(struct dapl_object *obj)
{
	if (atomic_fetch_sub(&obj->entered, 1) == (AWAITED | 1))
		dapl_futex_wake((uint32_t *)&obj->entered, 1);
}

void dapl_object_wait_left(struct dapl_object *obj)
{
	uint32_t seen;

	while ((seen = atomic_fetch_or(&obj->entered, AWAITED) & ~AWAITED))
		dapl_futex_wait((uint32_t *)&obj->entered, AWAITED | seen,
				dapl_deadline(UINT32_MAX));
	atomic_fetch_and(&obj->entered, ~AWAITED);
}

void dapl_object_release(struct dapl_object *obj)
{
	struct free_slot *slot = (struct free_slot *)obj;

	atomic_store_explicit(&obj->type, DAPL_TYPE_POISON, memory_order_release);
	__atomic_store_n(&obj->provider, NULL, __ATOMIC_RELEASE);
	pthread_mutex_lock(&lock);
	put_slot(slot);
	pthread_mutex_unlock(&lock);
}

bool dapl_object_readable(DAT_HANDLE handle)
{
	return dats_arena_holds ? dats_arena_holds(handle) : own_holds(handle);
}

struct dapl_object *dapl_object_any(DAT_HANDLE handle, const struct dapl_class **class)
{
	struct dapl_object *obj = handle;

	if (!dapl_object_readable(handle) ||
	    atomic_load_explicit(&obj->type, memory_order_acquire) - DAPL_TYPE_IA >= DAPL_NUM_TYPES)
		return NULL;
	*class = obj->class;
	return *class ? obj : NULL;
}
