/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/soft/copy.h"

#include <stdint.h>
#include <string.h>

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

void soft_copy_in(void *dst, const void *src, size_t len)
{
	uintptr_t end = (uintptr_t)dst + len;
	size_t word = end & -end;
	const uint8_t *from;
	uint8_t *to;

	if (!len)
		return;
	/* The last word: as wide as its alignment lets it be. */
	if (!word || word > sizeof(uint64_t))
		word = sizeof(uint64_t);
	while (word > len)
		word /= 2;
	copy_words(dst, src, len - word);
	to = (uint8_t *)dst + len - word;
	from = (const uint8_t *)src + len - word;
	if (word == 8)
		STORE(uint64_t, to, from, __ATOMIC_RELEASE);
	else if (word == 4)
		STORE(uint32_t, to, from, __ATOMIC_RELEASE);
	else if (word == 2)
		STORE(uint16_t, to, from, __ATOMIC_RELEASE);
	else
		STORE(uint8_t, to, from, __ATOMIC_RELEASE);
}
