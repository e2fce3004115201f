/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/soft/wire/crc32c.h"

#include <stdbool.h>
#include <string.h>

#include "config.h"

#ifdef HAVE_ISAL
#include <isa-l/crc.h>

/* ISA-L knows the fastest way of each processor. It leaves both inversions to its caller. */
static inline uint32_t sum_by_library(uint32_t crc, const uint8_t *buf, size_t len)
{
	return len ? crc32_iscsi((uint8_t *)(uintptr_t)buf, (int)len, crc) : crc;
}
#else
enum {
	SLICES = 8,
};

/* What a byte does to the sum when so many more follow. */
static uint32_t slices[SLICES][256];

__attribute__((constructor)) static void make_slices(void)
{
	uint32_t crc;

	for (uint32_t byte = 0; byte < 256; byte++) {
		crc = byte;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
		slices[0][byte] = crc;
	}
	for (int i = 1; i < SLICES; i++)
		for (uint32_t byte = 0; byte < 256; byte++) {
			crc = slices[i - 1][byte];
			slices[i][byte] = crc >> 8 ^ slices[0][crc & 255];
		}
}

/* Eight bytes at a time; as ISA-L without the inversions. */
static uint32_t sum_by_library(uint32_t crc, const uint8_t *buf, size_t len)
{
	uint32_t next;

	for (; len >= SLICES; len -= SLICES, buf += SLICES) {
		crc ^= (uint32_t)buf[0] | (uint32_t)buf[1] << 8 | (uint32_t)buf[2] << 16 |
		       (uint32_t)buf[3] << 24;
		next = slices[3][buf[4]] ^ slices[2][buf[5]] ^ slices[1][buf[6]] ^
		       slices[0][buf[7]];
		crc = slices[7][crc & 255] ^ slices[6][crc >> 8 & 255] ^
		      slices[5][crc >> 16 & 255] ^ slices[4][crc >> 24] ^ next;
	}
	for (; len; len--)
		crc = crc >> 8 ^ slices[0][(crc ^ *buf++) & 255];
	return crc;
}
#endif

static inline uint32_t copy_by_library(uint32_t crc, uint8_t *to, const uint8_t *from, size_t len)
{
	return len ? sum_by_library(crc, memcpy(to, from, len), len) : crc;
}

#ifdef __x86_64__
#include <immintrin.h>

#define HAS_INSTRUCTION	 __builtin_cpu_supports("sse4.2")
#define WITH_INSTRUCTION __attribute__((target("sse4.2")))

/*
 * A plain loop over the processor's instruction is faster below LIBRARY_MIN bytes, and for those
 * behind the last full LIBRARY_UNIT. Of more than LIBRARY_MAX the library may sum far parts at the
 * same time, which drive each other out of the cache: 23 GB/s of 4 KiB are 11 of 256 KiB.
 */
#define LIBRARY_MIN  256
#define LIBRARY_UNIT 64
#define LIBRARY_MAX  4096

/* Copies as well if to is not NULL. Inlined, so that this is not asked of each word. */
WITH_INSTRUCTION static inline __attribute__((always_inline)) uint32_t
each_word(uint64_t crc, uint8_t *to, const uint8_t *from, size_t len)
{
	uint64_t word;

	for (; len >= sizeof(word); len -= sizeof(word), from += sizeof(word)) {
		memcpy(&word, from, sizeof(word));
		crc = _mm_crc32_u64(crc, word);
		if (to) {
			memcpy(to, &word, sizeof(word));
			to += sizeof(word);
		}
	}
	for (; len; len--) {
		uint8_t byte = *from++;

		crc = _mm_crc32_u8((uint32_t)crc, byte);
		if (to)
			*to++ = byte;
	}
	return (uint32_t)crc;
}

/* How many of so many bytes are for the library to sum next; 0: none. */
static inline size_t for_library(size_t len)
{
	if (len >= LIBRARY_MAX)
		return LIBRARY_MAX;
	return len >= LIBRARY_MIN ? len - len % LIBRARY_UNIT : 0;
}

WITH_INSTRUCTION static uint32_t sum(uint32_t crc, const uint8_t *buf, size_t len)
{
	size_t part;

	while ((part = for_library(len))) {
		crc = sum_by_library(crc, buf, part);
		buf += part;
		len -= part;
	}
	return each_word(crc, NULL, buf, len);
}

WITH_INSTRUCTION static uint32_t copy(uint32_t crc, uint8_t *to, const uint8_t *from, size_t len)
{
	size_t part;

	while ((part = for_library(len))) {
		crc = copy_by_library(crc, to, from, part);
		to += part;
		from += part;
		len -= part;
	}
	return each_word(crc, to, from, len);
}

#else
#define HAS_INSTRUCTION false
#define sum		sum_by_library
#define copy		copy_by_library
#endif

uint32_t soft_crc32c(uint32_t crc, const void *buf, size_t len)
{
	return ~(HAS_INSTRUCTION ? sum(~crc, buf, len) : sum_by_library(~crc, buf, len));
}

uint32_t soft_crc32c_copy(uint32_t crc, void *dst, const void *src, size_t len)
{
	return ~(HAS_INSTRUCTION ? copy(~crc, dst, src, len)
				 : copy_by_library(~crc, dst, src, len));
}
