/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Copies from and to the program's memory, which may be gone: a program can unmap what it has
 * registered. The fault that this causes is caught, and the copy says so; any other one is the
 * program's.
 */
#ifndef SOFT_COPY_H
#define SOFT_COPY_H

#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/*
 * A program may look at the memory meanwhile, and reset what it has seen: the last byte is stored
 * once, and after all others (DTO-47), of which memcpy promises neither; and each of the last 64 is
 * stored once. false: not all of dst is there to be written.
 */
bool soft_copy_in(void *dst, const void *src, size_t len);
/* false: not all of src is there. */
bool soft_copy_out(void *dst, const void *src, size_t len);
/* Ditto, and adds to the CRC-32C what went to dst. */
bool soft_copy_sum(uint32_t *sum, void *dst, const void *src, size_t len);
/* Whether all of src is there, for those who do not copy it themselves. */
bool soft_copy_probe(const void *src, size_t len);

/* Whenever memory is registered. Any thread. */
void soft_guard_install(void);

/*
 * How a function makes an access that may fault in memory of the program (iov, num): it calls
 * sigsetjmp(guard.env, 0) and, when that returns 0, does the access between enter and leave; it
 * returns another value after a fault. What lies between takes no lock.
 */
struct soft_guard {
	sigjmp_buf env;
	const struct iovec *iov;
	int num;
};

/*
 * Part of what glibc's loader keeps ready for every thread: a signal handler may read it, and it is
 * an instruction away. musl's has everything ready, and no such part for what is loaded later.
 */
#ifdef __GLIBC__
extern _Thread_local struct soft_guard *soft_guard_active
	__attribute__((tls_model("initial-exec")));
#else
extern _Thread_local struct soft_guard *soft_guard_active;
#endif

static inline void soft_guard_enter(struct soft_guard *guard, const struct iovec *iov, int num)
{
	guard->iov = iov;
	guard->num = num;
	soft_guard_active = guard;
	atomic_signal_fence(memory_order_seq_cst);
}

static inline void soft_guard_leave(void)
{
	atomic_signal_fence(memory_order_seq_cst);
	soft_guard_active = NULL;
}

#endif
