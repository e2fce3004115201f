/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/base/lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "dapl/base/clock.h"

int dapl_futex_wait(uint32_t *word, uint32_t seen, uint64_t deadline)
{
	struct timespec ts = { .tv_sec = (time_t)(deadline / 1000000000),
			       .tv_nsec = (long)(deadline % 1000000000) };

	return syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, seen, &ts, NULL,
		       FUTEX_BITSET_MATCH_ANY)
		       ? -errno
		       : 0;
}

void dapl_futex_wake(uint32_t *word, int num)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, num, NULL, NULL, 0);
}

#ifdef WITH_TSAN

bool dapl_lock_until(struct dapl_lock *lock, uint64_t deadline)
{
	uint64_t now = dapl_now(), wall;
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	wall = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	wall += deadline > now ? deadline - now : 0;
	ts = (struct timespec){ .tv_sec = (time_t)(wall / 1000000000),
				.tv_nsec = (long)(wall % 1000000000) };
	return !pthread_mutex_timedlock(lock->mutex, &ts);
}

#else

/* What is held for a post or a poll is soon free again: look a few times before going to sleep. */
#define SPINS 100

void dapl_lock_slow(struct dapl_lock *lock)
{
	const uint32_t both = DAPL_LOCK_HELD | DAPL_LOCK_WANTED;
	int i;

	for (i = 0; i < SPINS; i++) {
		if (!(atomic_load_explicit(&lock->state, memory_order_relaxed) & DAPL_LOCK_HELD) &&
		    !(atomic_fetch_or_explicit(&lock->state, DAPL_LOCK_HELD, memory_order_acquire) &
		      DAPL_LOCK_HELD))
			return;
	}
	/* Who slept cannot tell whether others still do: it stays wanted. */
	while (atomic_fetch_or_explicit(&lock->state, both, memory_order_acquire) & DAPL_LOCK_HELD)
		syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, both, NULL, NULL, 0);
}

bool dapl_lock_until(struct dapl_lock *lock, uint64_t deadline)
{
	const uint32_t both = DAPL_LOCK_HELD | DAPL_LOCK_WANTED;

	if (dapl_trylock(lock))
		return true;
	while (atomic_fetch_or_explicit(&lock->state, both, memory_order_acquire) & DAPL_LOCK_HELD)
		if (dapl_futex_wait((uint32_t *)&lock->state, both, deadline) == -ETIMEDOUT)
			return false;
	return true;
}

/* It is free by now, and may have been taken again: only the mark goes. */
void dapl_unlock_slow(struct dapl_lock *lock)
{
	atomic_fetch_and_explicit(&lock->state, ~(uint32_t)DAPL_LOCK_WANTED, memory_order_relaxed);
	syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

#endif
