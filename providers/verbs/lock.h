/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A lock that costs two atomic instructions where nobody else wants it, and sleeps where somebody
 * has it. */
#ifndef VERBS_LOCK_H
#define VERBS_LOCK_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

struct vrb_lock {
	_Atomic int state; /* 0 free, 1 held, 2 held and wanted */
};

static inline void vrb_lock(struct vrb_lock *lock)
{
	int free = 0;

	if (__builtin_expect(atomic_compare_exchange_strong_explicit(&lock->state, &free, 1,
								     memory_order_acquire,
								     memory_order_relaxed),
			     1))
		return;
	while (atomic_exchange_explicit(&lock->state, 2, memory_order_acquire))
		syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

static inline void vrb_unlock(struct vrb_lock *lock)
{
	if (__builtin_expect(atomic_exchange_explicit(&lock->state, 0, memory_order_release) == 2,
			     0))
		syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

#endif
