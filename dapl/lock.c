/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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

#ifndef DAPL_LOCK_MUTEX

/* What is held for a post or a poll is soon free again: look a few times before going to sleep. */
#define SPINS 100

void dapl_lock_slow(struct dapl_lock *lock)
{
	uint32_t free;
	int i;

	for (i = 0; i < SPINS; i++) {
		free = DAPL_LOCK_FREE;
		if (atomic_load_explicit(&lock->state, memory_order_relaxed) == DAPL_LOCK_FREE &&
		    atomic_compare_exchange_strong_explicit(&lock->state, &free, DAPL_LOCK_HELD,
							    memory_order_acquire,
							    memory_order_relaxed))
			return;
		__asm__ volatile("" ::: "memory");
	}
	while (atomic_exchange_explicit(&lock->state, DAPL_LOCK_WANTED, memory_order_acquire) !=
	       DAPL_LOCK_FREE)
		syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, DAPL_LOCK_WANTED, NULL, NULL,
			0);
}

void dapl_unlock_slow(struct dapl_lock *lock)
{
	syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

#endif
