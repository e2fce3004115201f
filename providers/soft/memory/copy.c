/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/soft/memory/copy.h"

#include <string.h>

#include "providers/soft/wire/crc32c.h"

/* Of so long a message, and of the end of a longer one, each byte is stored once. */
enum {
	ONCE_ALL = 256,
	ONCE_AT_END = 64,
};

/* One store; atomic ones are neither split nor put together. */
#define STORE(type, dst, src, order)                                      \
	do {                                                              \
		type value_;                                              \
		memcpy(&value_, (src), sizeof(value_));                   \
		__atomic_store_n((type *)(void *)(dst), value_, (order)); \
	} while (0)

#define STEP(type, dst, src, len)                            \
	do {                                                 \
		STORE(type, (dst), (src), __ATOMIC_RELAXED); \
		(dst) += sizeof(type);                       \
		(src) += sizeof(type);                       \
		(len) -= sizeof(type);                       \
	} while (0)

/* By naturally aligned words, as wide as there are. */
static inline void copy_words(uint8_t *dst, const uint8_t *src, size_t len)
{
	if (len >= 1 && ((uintptr_t)dst & 1))
		STEP(uint8_t, dst, src, len);
	if (len >= 2 && ((uintptr_t)dst & 2))
		STEP(uint16_t, dst, src, len);
	if (len >= 4 && ((uintptr_t)dst & 4))
		STEP(uint32_t, dst, src, len);
	while (len >= 32) {
		STEP(uint64_t, dst, src, len);
		STEP(uint64_t, dst, src, len);
		STEP(uint64_t, dst, src, len);
		STEP(uint64_t, dst, src, len);
	}
	while (len >= 8)
		STEP(uint64_t, dst, src, len);
	if (len >= 4)
		STEP(uint32_t, dst, src, len);
	if (len >= 2)
		STEP(uint16_t, dst, src, len);
	if (len >= 1)
		STEP(uint8_t, dst, src, len);
}

static __attribute__((noinline)) void copy_once(uint8_t *dst, const uint8_t *src, size_t len)
{
	uintptr_t end = (uintptr_t)dst + len;
	size_t word = end & -end, bulk = len - ONCE_AT_END;

	if (len > ONCE_ALL) {
		memcpy(dst, src, bulk);
		dst += bulk;
		src += bulk;
		len -= bulk;
	}
	/* The last word: as wide as its alignment lets it be. */
	if (!word || word > sizeof(uint64_t))
		word = sizeof(uint64_t);
	while (word > len)
		word /= 2;
	copy_words(dst, src, len - word);
	dst += len - word;
	src += len - word;
	if (word == 8)
		STORE(uint64_t, dst, src, __ATOMIC_RELEASE);
	else if (word == 4)
		STORE(uint32_t, dst, src, __ATOMIC_RELEASE);
	else if (word == 2)
		STORE(uint16_t, dst, src, __ATOMIC_RELEASE);
	else
		STORE(uint8_t, dst, src, __ATOMIC_RELEASE);
}

/*
 * Makes an access that may fault in the len bytes at mem, and returns from the function: true, or
 * false after a fault.
 */
#define GUARDED(mem, len, access)                                              \
	do {                                                                   \
		const struct iovec iov_ = { (void *)(uintptr_t)(mem), (len) }; \
		struct soft_guard guard_;                                      \
                                                                               \
		if (sigsetjmp(guard_.env, 0))                                  \
			return false;                                          \
		soft_guard_enter(&guard_, &iov_, 1);                           \
		access;                                                        \
		soft_guard_leave();                                            \
		return true;                                                   \
	} while (0)

bool soft_copy_in(void *dst, const void *src, size_t len)
{
	if (!len)
		return true;
	GUARDED(dst, len, copy_once(dst, src, len));
}

bool soft_copy_out(void *dst, const void *src, size_t len)
{
	GUARDED(src, len, memcpy(dst, src, len));
}

bool soft_copy_sum(uint32_t *sum, void *dst, const void *src, size_t len)
{
	GUARDED(src, len, *sum = soft_crc32c_copy(*sum, dst, src, len));
}

/* No page is smaller. */
static __attribute__((noinline)) void touch_pages(const volatile uint8_t *mem, size_t len)
{
	const size_t page = 4096;

	(void)mem[0];
	for (size_t at = page - (uintptr_t)mem % page; at < len; at += page)
		(void)mem[at];
}

bool soft_copy_probe(const void *src, size_t len)
{
	if (!len)
		return true;
	GUARDED(src, len, touch_pages(src, len));
}
