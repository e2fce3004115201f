/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the compilers have no short word for. */
#ifndef UTIL_COMPILER_H
#define UTIL_COMPILER_H

#include <stddef.h>
#include <stdint.h>

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* The structure whose member a pointer points to. */
#define container_of(ptr, type, member)                                 \
	({                                                              \
		const __typeof__(((type *)0)->member) *member_ = (ptr); \
		(type *)((uintptr_t)member_ - offsetof(type, member));  \
	})

/* ThreadSanitizer looks at every load, and wants those atomic that race on purpose. */
#if defined(__SANITIZE_THREAD__)
#define WITH_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WITH_TSAN 1
#endif
#endif

#endif
