/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/base/lock.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dapl/base/clock.h"

/*
 * The call that every kernel has, and every filter of calls knows, takes two words also where the C
 * library's times have 64 bits; none but an uptime of 68 years is too long for them.
 */
static int wait(uint32_t *word, int op, uint32_t seen, uint64_t deadline)
{
	const struct {
		long sec, nsec;
	} until = { (long)(deadline / 1000000000), (long)(deadline % 1000000000) };

	return syscall(SYS_futex, word, op, seen, &until, NULL, FUTEX_BITSET_MATCH_ANY) ? -errno
											: 0;
}

int dapl_futex_wait(uint32_t *word, uint32_t seen, uint64_t deadline)
{
	return wait(word, FUTEX_WAIT_BITSET_PRIVATE, seen, deadline);
}

int dapl_futex_wait_shared(uint32_t *word, uint32_t seen, uint64_t deadline)
{
	return wait(word, FUTEX_WAIT_BITSET, seen, deadline);
}

void dapl_futex_wake(uint32_t *word, int num)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, num, NULL, NULL, 0);
}

void dapl_futex_wake_shared(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* What is held for a post or a poll is soon free again: look a few times before going to sleep. */
#define SPINS 100

#define BOTH (uint32_t)(DAPL_LOCK_HELD | DAPL_LOCK_WANTED)

/* Takes it, and marks it as wanted by others, who may sleep: 0; or what its word is now. */
static uint32_t take_wanted(struct dapl_lock *lock)
{
	uint32_t state = atomic_fetch_or_explicit(&lock->state, BOTH, memory_order_acquire);

	return state & DAPL_LOCK_HELD ? state | BOTH : 0;
}

void dapl_lock_slow(struct dapl_lock *lock)
{
	uint32_t state;
	int i;

	for (i = 0; i < SPINS; i++)
		if (!dapl_is_locked(lock) && dapl_lock_take(lock, DAPL_LOCK_HELD))
			return;
	/* Who slept cannot tell whether others still do: it stays wanted. */
	while ((state = take_wanted(lock)))
		syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, state, NULL, NULL, 0);
}

static bool take_until(struct dapl_lock *lock, uint64_t deadline)
{
	uint32_t state;

	while ((state = take_wanted(lock)))
		if (dapl_futex_wait((uint32_t *)&lock->state, state, deadline) == -ETIMEDOUT)
			return false;
	return true;
}

bool dapl_lock_until(struct dapl_lock *lock, uint64_t deadline)
{
	bool taken;

	dapl_tsan_mutex(pre_lock, lock, __tsan_mutex_try_lock);
	taken = dapl_lock_take(lock, DAPL_LOCK_HELD) || take_until(lock, deadline);
	dapl_tsan_tried(lock, taken);
	return taken;
}

/* It is free by now, and may have been taken again: only the mark goes. */
void dapl_unlock_slow(struct dapl_lock *lock)
{
	atomic_fetch_and_explicit(&lock->state, ~(uint32_t)DAPL_LOCK_WANTED, memory_order_relaxed);
	syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Leaves requests to who has it; false: he serves nobody, or nobody has it. */
static bool leave(struct dapl_lock *lock, uint32_t requests)
{
	uint32_t state = atomic_load_explicit(&lock->state, memory_order_relaxed);

	dapl_tsan_left(lock);
	while ((state & DAPL_LOCK_HELD) && (state & DAPL_LOCK_SERVING))
		if (atomic_compare_exchange_weak_explicit(&lock->state, &state, state | requests,
							  memory_order_acq_rel,
							  memory_order_relaxed))
			return true;
	return false;
}

bool dapl_serve_slow(struct dapl_lock *lock, uint32_t requests)
{
	if (leave(lock, requests))
		return false;
	dapl_lock(lock);
	atomic_fetch_or_explicit(&lock->state, DAPL_LOCK_SERVING, memory_order_relaxed);
	return true;
}

uint32_t dapl_serve_end_slow(struct dapl_lock *lock)
{
	uint32_t state = atomic_load_explicit(&lock->state, memory_order_relaxed), requests, next;

	do {
		requests = state & DAPL_LOCK_REQUESTS;
		next = state & ~(uint32_t)(requests ? DAPL_LOCK_REQUESTS : DAPL_LOCK_SERVING);
	} while (!atomic_compare_exchange_weak_explicit(
		&lock->state, &state, next, memory_order_acq_rel, memory_order_relaxed));
	dapl_tsan_mutex(post_unlock, lock, 0);
	if (requests) {
		/* It has been held all the time. */
		dapl_tsan_mutex(pre_lock, lock, 0);
		dapl_tsan_mutex(post_lock, lock, 0, 0);
		dapl_tsan_found(lock);
		return requests;
	}
	if (atomic_fetch_sub_explicit(&lock->state, DAPL_LOCK_HELD, memory_order_release) !=
	    DAPL_LOCK_HELD)
		dapl_unlock_slow(lock);
	return 0;
}

uint32_t dapl_serve_stop(struct dapl_lock *lock)
{
	uint32_t state = atomic_fetch_and_explicit(
		&lock->state, ~(uint32_t)(DAPL_LOCK_SERVING | DAPL_LOCK_REQUESTS),
		memory_order_acq_rel);

	dapl_tsan_found(lock);
	return state & DAPL_LOCK_REQUESTS;
}
