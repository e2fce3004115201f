/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The lock of the posting and polling paths: an atomic instruction and a jump to take it and to
 * give it back when nobody else wants it, a futex when somebody does. Under TSan it is a mutex, so
 * that lock orders are checked as well.
 */
#ifndef DAPL_LOCK_H
#define DAPL_LOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define DAPL_LOCK_MUTEX 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
#define DAPL_LOCK_MUTEX 1
#endif

/*
 * The compiler forgets how the pointer was made: what is used after a call is reached through it
 * alone, and no second register has to be saved for what it points into.
 */
#define DAPL_FORGET_ORIGIN(pointer) __asm__("" : "+r"(pointer))

/*
 * Sleeps while *word is seen, until woken or until deadline (dapl_now()): 0, or a negative errno:
 * -EAGAIN (it was not seen), -EINTR, -ETIMEDOUT. There always is a deadline: the kernel restarts a
 * wait without one behind a signal handler with SA_RESTART, and CNO-30 wants it to end.
 */
int dapl_futex_wait(uint32_t *word, uint32_t seen, uint64_t deadline);
void dapl_futex_wake(uint32_t *word, int num);

struct dapl_lock;
/* As dapl_lock; false: it was not free before the deadline (dapl_now()), rounded up. */
bool dapl_lock_until(struct dapl_lock *lock, uint64_t deadline);

#ifdef DAPL_LOCK_MUTEX

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

/* False: somebody waits, and dapl_unlock_slow is to follow. */
static inline bool dapl_tryunlock(struct dapl_lock *lock)
{
	pthread_mutex_unlock(lock->mutex);
	return true;
}

static inline void dapl_unlock_slow(struct dapl_lock *lock)
{
	(void)lock;
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
	(void)lock;
}

static inline bool dapl_trylock(struct dapl_lock *lock)
{
	return !(atomic_fetch_or_explicit(&lock->state, DAPL_LOCK_HELD, memory_order_acquire) &
		 DAPL_LOCK_HELD);
}

static inline void dapl_lock(struct dapl_lock *lock)
{
	if (__builtin_expect(!dapl_trylock(lock), 0))
		dapl_lock_slow(lock);
}

static inline bool dapl_tryunlock(struct dapl_lock *lock)
{
	return atomic_fetch_sub_explicit(&lock->state, DAPL_LOCK_HELD, memory_order_release) ==
	       DAPL_LOCK_HELD;
}

static inline void dapl_unlock(struct dapl_lock *lock)
{
	if (__builtin_expect(!dapl_tryunlock(lock), 0))
		dapl_unlock_slow(lock);
}

#endif

#endif
