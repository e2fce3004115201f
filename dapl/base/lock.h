/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The lock of the posting and polling paths: an atomic instruction and a jump to take it and to
 * unlock it when nobody else wants it, a futex when somebody does. Under TSan it is a mutex, so
 * that lock orders are checked as well.
 */
#ifndef DAPL_LOCK_H
#define DAPL_LOCK_H

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "util/compiler.h"

/*
 * Sleeps while *word is seen, until woken or until deadline (dapl_now()): 0, or a negative errno:
 * -EAGAIN (it was not seen), -EINTR, -ETIMEDOUT. There always is a deadline: the kernel restarts a
 * wait without one behind a signal handler with SA_RESTART, and CNO-30 wants it to end.
 */
int dapl_futex_wait(uint32_t *word, uint32_t seen, uint64_t deadline);
void dapl_futex_wake(uint32_t *word, int num);

static inline bool dapl_mutex_is_locked(pthread_mutex_t *mutex)
{
	if (pthread_mutex_trylock(mutex))
		return true;
	pthread_mutex_unlock(mutex);
	return false;
}

/*
 * What a function opens with that needs a lock, of either kind. By whom it is held is not known:
 * that it is by nobody shows wherever there is one thread.
 */
#ifdef DAPL_DEBUG
#define dapl_assert_held(lock)	      assert(dapl_is_locked(lock))
#define dapl_assert_mutex_held(mutex) assert(dapl_mutex_is_locked(mutex))
#else
#define dapl_assert_held(lock)	      ((void)(lock))
#define dapl_assert_mutex_held(mutex) ((void)(mutex))
#endif

struct dapl_lock;
/* As dapl_lock; false: it was not free before the deadline (dapl_now()), rounded up. */
bool dapl_lock_until(struct dapl_lock *lock, uint64_t deadline);

#ifdef WITH_TSAN

/* Not in place: objects must fit into their slots in this build, too. */
struct dapl_lock {
	pthread_mutex_t *mutex;
};

static inline void dapl_lock_init(struct dapl_lock *lock)
{
	lock->mutex = malloc(sizeof(*lock->mutex));
	if (!lock->mutex)
		abort();
	pthread_mutex_init(lock->mutex, NULL);
}

static inline void dapl_lock_fini(struct dapl_lock *lock)
{
	pthread_mutex_destroy(lock->mutex);
	free(lock->mutex);
}

static inline void dapl_lock(struct dapl_lock *lock)
{
	pthread_mutex_lock(lock->mutex);
}

static inline void dapl_unlock(struct dapl_lock *lock)
{
	pthread_mutex_unlock(lock->mutex);
}

/* False: somebody has it. */
static inline bool dapl_trylock(struct dapl_lock *lock)
{
	return !pthread_mutex_trylock(lock->mutex);
}

static inline bool dapl_is_locked(struct dapl_lock *lock)
{
	return dapl_mutex_is_locked(lock->mutex);
}

/* False: somebody waits, and dapl_unlock_slow is to follow. */
static inline bool dapl_tryunlock(struct dapl_lock *lock)
{
	pthread_mutex_unlock(lock->mutex);
	return true;
}

static inline void dapl_unlock_slow(struct dapl_lock *lock)
{
}

#else

/* Bits of state. */
enum {
	DAPL_LOCK_HELD = 1,
	DAPL_LOCK_WANTED = 2
};

struct dapl_lock {
	_Atomic uint32_t state;
};

void dapl_lock_slow(struct dapl_lock *lock);
void dapl_unlock_slow(struct dapl_lock *lock);

static inline void dapl_lock_init(struct dapl_lock *lock)
{
	atomic_store_explicit(&lock->state, 0, memory_order_relaxed);
}

static inline void dapl_lock_fini(struct dapl_lock *lock)
{
}

static inline bool dapl_trylock(struct dapl_lock *lock)
{
	return !(atomic_fetch_or_explicit(&lock->state, DAPL_LOCK_HELD, memory_order_acquire) &
		 DAPL_LOCK_HELD);
}

static inline bool dapl_is_locked(struct dapl_lock *lock)
{
	return atomic_load_explicit(&lock->state, memory_order_relaxed) & DAPL_LOCK_HELD;
}

static inline void dapl_lock(struct dapl_lock *lock)
{
	if (unlikely(!dapl_trylock(lock)))
		dapl_lock_slow(lock);
}

static inline bool dapl_tryunlock(struct dapl_lock *lock)
{
	return atomic_fetch_sub_explicit(&lock->state, DAPL_LOCK_HELD, memory_order_release) ==
	       DAPL_LOCK_HELD;
}

static inline void dapl_unlock(struct dapl_lock *lock)
{
	if (unlikely(!dapl_tryunlock(lock)))
		dapl_unlock_slow(lock);
}

#endif

#endif
