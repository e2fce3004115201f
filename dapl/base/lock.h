/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The lock of the posting and polling paths: an atomic instruction and a jump to take it and to
 * unlock it when nobody else wants it, a futex when somebody does. ThreadSanitizer is told that it
 * is a mutex, so that lock orders are checked as well.
 */
#ifndef DAPL_LOCK_H
#define DAPL_LOCK_H

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/compiler.h"

/*
 * Sleeps while *word is seen, until woken or until deadline (dapl_now()): 0, or a negative errno:
 * -EAGAIN (it was not seen), -EINTR, -ETIMEDOUT. There always is a deadline: the kernel restarts a
 * wait without one behind a signal handler with SA_RESTART, and CNO-30 wants it to end.
 */
int dapl_futex_wait(uint32_t *word, uint32_t seen, uint64_t deadline);
void dapl_futex_wake(uint32_t *word, int num);
/* Ditto for a word in memory that is shared with other processes; all are woken. */
int dapl_futex_wait_shared(uint32_t *word, uint32_t seen, uint64_t deadline);
void dapl_futex_wake_shared(uint32_t *word);

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

#ifdef WITH_TSAN
#include <sanitizer/tsan_interface.h>
#define dapl_tsan_mutex(step, ...) __tsan_mutex_##step(__VA_ARGS__)
#define dapl_tsan_left(lock)	   __tsan_release(lock)
#define dapl_tsan_found(lock)	   __tsan_acquire(lock)
#define dapl_tsan_tried(lock, taken)                                                           \
	__tsan_mutex_post_lock(lock,                                                           \
			       (taken) ? __tsan_mutex_try_lock                                 \
				       : __tsan_mutex_try_lock | __tsan_mutex_try_lock_failed, \
			       0)
#else
#define dapl_tsan_mutex(step, ...)   ((void)0)
#define dapl_tsan_left(lock)	     ((void)0)
#define dapl_tsan_found(lock)	     ((void)0)
#define dapl_tsan_tried(lock, taken) ((void)0)
#endif

/* Bits of state. */
enum {
	DAPL_LOCK_HELD = 1,
	DAPL_LOCK_WANTED = 2,
	DAPL_LOCK_SERVING = 4, /* whoever holds it does what others ask for meanwhile */
	DAPL_LOCK_REQUESTS = 0x78,
};

struct dapl_lock {
	_Atomic uint32_t state;
};

void dapl_lock_slow(struct dapl_lock *lock);
/* As dapl_lock; false: it was not free before the deadline (dapl_now()), rounded up. */
bool dapl_lock_until(struct dapl_lock *lock, uint64_t deadline);
void dapl_unlock_slow(struct dapl_lock *lock);

static inline void dapl_lock_init(struct dapl_lock *lock)
{
	dapl_tsan_mutex(create, lock, 0);
	atomic_store_explicit(&lock->state, 0, memory_order_relaxed);
}

static inline void dapl_lock_fini(struct dapl_lock *lock)
{
	dapl_tsan_mutex(destroy, lock, 0);
}

/* Takes it, and sets more of the bits; false: somebody has it. */
static inline bool dapl_lock_take(struct dapl_lock *lock, uint32_t bits)
{
	return !(atomic_fetch_or_explicit(&lock->state, bits, memory_order_acquire) &
		 DAPL_LOCK_HELD);
}

/* False: somebody has it. */
static inline bool dapl_trylock(struct dapl_lock *lock)
{
	bool taken;

	dapl_tsan_mutex(pre_lock, lock, __tsan_mutex_try_lock);
	taken = dapl_lock_take(lock, DAPL_LOCK_HELD);
	dapl_tsan_tried(lock, taken);
	return taken;
}

static inline bool dapl_is_locked(struct dapl_lock *lock)
{
	return atomic_load_explicit(&lock->state, memory_order_relaxed) & DAPL_LOCK_HELD;
}

static inline void dapl_lock(struct dapl_lock *lock)
{
	dapl_tsan_mutex(pre_lock, lock, 0);
	if (unlikely(!dapl_lock_take(lock, DAPL_LOCK_HELD)))
		dapl_lock_slow(lock);
	dapl_tsan_mutex(post_lock, lock, 0, 0);
}

/* False: somebody waits, and dapl_unlock_slow is to follow. */
static inline bool dapl_tryunlock(struct dapl_lock *lock)
{
	bool alone;

	dapl_tsan_mutex(pre_unlock, lock, 0);
	alone = atomic_fetch_sub_explicit(&lock->state, DAPL_LOCK_HELD, memory_order_release) ==
		DAPL_LOCK_HELD;
	dapl_tsan_mutex(post_unlock, lock, 0);
	return alone;
}

static inline void dapl_unlock(struct dapl_lock *lock)
{
	if (unlikely(!dapl_tryunlock(lock)))
		dapl_unlock_slow(lock);
}

/* ---- Taken in order to serve ---- */

/*
 * What is to be done under the lock, named by bits of DAPL_LOCK_REQUESTS, is done by who has it if
 * he serves: nobody waits for him. Others who take the lock are waited for, and serve nobody.
 */
bool dapl_serve_slow(struct dapl_lock *lock, uint32_t requests);
uint32_t dapl_serve_end_slow(struct dapl_lock *lock);
/*
 * He serves no longer, though he has the lock until dapl_unlock: what has been asked for so far. So
 * one who is asked again and again lets others have it.
 */
uint32_t dapl_serve_stop(struct dapl_lock *lock);

/* From this state of it; false: *state is another one. */
static inline bool dapl_serve_from(struct dapl_lock *lock, uint32_t *state)
{
	return atomic_compare_exchange_strong_explicit(&lock->state, state,
						       *state | DAPL_LOCK_HELD | DAPL_LOCK_SERVING,
						       memory_order_acq_rel, memory_order_relaxed);
}

/* Takes the lock in order to serve; false: somebody has it. */
static inline bool dapl_serve_try(struct dapl_lock *lock)
{
	uint32_t state = 0;
	bool taken;

	dapl_tsan_mutex(pre_lock, lock, __tsan_mutex_try_lock);
	taken = dapl_serve_from(lock, &state) ||
		(state == DAPL_LOCK_WANTED && dapl_serve_from(lock, &state));
	dapl_tsan_tried(lock, taken);
	return taken;
}

/* Ditto; false: who has it serves, and will do what is asked for. */
static inline bool dapl_serve(struct dapl_lock *lock, uint32_t requests)
{
	return likely(dapl_serve_try(lock)) || dapl_serve_slow(lock, requests);
}

/* Unlocks it: 0; or what has been asked for meanwhile, which is to be done first. */
static inline uint32_t dapl_serve_end(struct dapl_lock *lock)
{
	uint32_t state = DAPL_LOCK_HELD | DAPL_LOCK_SERVING;

	dapl_tsan_mutex(pre_unlock, lock, 0);
	if (unlikely(!atomic_compare_exchange_strong_explicit(
		    &lock->state, &state, 0, memory_order_acq_rel, memory_order_relaxed)))
		return dapl_serve_end_slow(lock);
	dapl_tsan_mutex(post_unlock, lock, 0);
	return 0;
}

#endif
