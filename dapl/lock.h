/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The lock of the posting and polling paths: two instructions beyond the atomic ones when nobody
 * else wants it, a futex when somebody does. Under TSan it is a mutex, so that lock orders are
 * checked as well.
 */
#ifndef DAPL_LOCK_H
#define DAPL_LOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define DAPL_LOCK_MUTEX 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
#define DAPL_LOCK_MUTEX 1
#endif

/*
 * Sleeps while *word is seen, until woken or until deadline (dapl_now()): 0, or a negative errno:
 * -EAGAIN (it was not seen), -EINTR, -ETIMEDOUT. There always is a deadline: the kernel restarts a
 * wait without one behind a signal handler with SA_RESTART, and CNO-30 wants it to end.
 */
int dapl_futex_wait(uint32_t *word, uint32_t seen, uint64_t deadline);
void dapl_futex_wake(uint32_t *word, int num);

#ifdef DAPL_LOCK_MUTEX

struct dapl_lock {
	pthread_mutex_t mutex;
};

static inline void dapl_lock_init(struct dapl_lock *lock)
{
	pthread_mutex_init(&lock->mutex, NULL);
}

static inline void dapl_lock_fini(struct dapl_lock *lock)
{
	pthread_mutex_destroy(&lock->mutex);
}

static inline void dapl_lock(struct dapl_lock *lock)
{
	pthread_mutex_lock(&lock->mutex);
}

static inline void dapl_unlock(struct dapl_lock *lock)
{
	pthread_mutex_unlock(&lock->mutex);
}

#else

enum {
	DAPL_LOCK_FREE,
	DAPL_LOCK_HELD,
	DAPL_LOCK_WANTED
};

struct dapl_lock {
	_Atomic uint32_t state;
};

void dapl_lock_slow(struct dapl_lock *lock);
void dapl_unlock_slow(struct dapl_lock *lock);

static inline void dapl_lock_init(struct dapl_lock *lock)
{
	atomic_store_explicit(&lock->state, DAPL_LOCK_FREE, memory_order_relaxed);
}

static inline void dapl_lock_fini(struct dapl_lock *lock)
{
	(void)lock;
}

static inline void dapl_lock(struct dapl_lock *lock)
{
	uint32_t expected = DAPL_LOCK_FREE;

	if (__builtin_expect(!atomic_compare_exchange_strong_explicit(
				     &lock->state, &expected, DAPL_LOCK_HELD, memory_order_acquire,
				     memory_order_relaxed),
			     0))
		dapl_lock_slow(lock);
}

static inline void dapl_unlock(struct dapl_lock *lock)
{
	if (__builtin_expect(atomic_exchange_explicit(&lock->state, DAPL_LOCK_FREE,
						      memory_order_release) == DAPL_LOCK_WANTED,
			     0))
		dapl_unlock_slow(lock);
}

#endif

#endif
