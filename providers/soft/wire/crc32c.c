/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/soft/wire/crc32c.h"

#include <endian.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define HARDWARE	1
#define HARDWARE_TARGET __attribute__((target("sse4.2,pclmul")))
#elif defined(__aarch64__) && defined(__linux__) && defined(__AARCH64EL__)
#include <arm_neon.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#define HARDWARE	1
#define HARDWARE_TARGET /* the assembler is told where the instructions stand */
#endif

#define POLYNOMIAL 0x82f63b78u /* 0x1EDC6F41 reflected */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct soft_crc32c_impl *_Atomic chosen;

static inline uint64_t load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* ---- Portable: eight tables, eight bytes a step
 * ----------------------------------------------------- */

static uint32_t slice[8][256];

static void slice_init(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (int bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ (crc & 1 ? POLYNOMIAL : 0);
		slice[0][i] = crc;
	}
	for (uint32_t i = 0; i < 256; i++)
		for (int t = 1; t < 8; t++)
			slice[t][i] = slice[0][slice[t - 1][i] & 0xff] ^ (slice[t - 1][i] >> 8);
}

static uint32_t portable_sum(uint32_t crc, const void *buf, size_t len)
{
	const uint8_t *p = buf;

	crc = ~crc;
	for (; len >= 8; len -= 8, p += 8) {
		uint64_t v = le64toh(load64(p)) ^ crc;

		crc = slice[7][v & 0xff] ^ slice[6][v >> 8 & 0xff] ^ slice[5][v >> 16 & 0xff] ^
		      slice[4][v >> 24 & 0xff] ^ slice[3][v >> 32 & 0xff] ^
		      slice[2][v >> 40 & 0xff] ^ slice[1][v >> 48 & 0xff] ^ slice[0][v >> 56];
	}
	for (; len; len--)
		crc = slice[0][(crc ^ *p++) & 0xff] ^ (crc >> 8);
	return ~crc;
}

static uint32_t portable_copy(uint32_t crc, void *dst, const void *src, size_t len)
{
	const uint8_t *from = src;
	uint8_t *to = dst;

	/* In pieces that are still in the first level cache when they are summed. */
	while (len) {
		size_t n = len < 4096 ? len : 4096;

		memcpy(to, from, n);
		crc = portable_sum(crc, to, n);
		from += n;
		to += n;
		len -= n;
	}
	return crc;
}

static bool portable_usable(void)
{
	return true;
}

/* ---- Hardware: the processor's CRC instruction, three chains at once
 * --------------------------------- */

#ifdef HARDWARE

/*
 * The instruction takes three cycles, and one can start in each: three chains over neighbouring
 * thirds of a stretch run at full rate. To join them the first two sums move over the bytes behind
 * them, which is one multiplication by a power of x each: shift[n] moves over n words of 64 bits.
 * The product of two reflected 32 bit values is one bit short of 64, and reducing it with the CRC
 * instruction multiplies it by x^32; hence shift[n] = x^(64n - 33).
 */
#define LANE_WORDS	128 /* the longest chain */
#define LANES_MIN_BYTES 192 /* below, joining costs more than it gains */

static uint32_t shift[2 * LANE_WORDS + 1];

static uint32_t times_x(uint32_t a)
{
	return (a >> 1) ^ (a & 1 ? POLYNOMIAL : 0);
}

static void hardware_init(void)
{
	uint32_t power = 0x80000000u; /* 1 = x^0, reflected */

	for (int i = 0; i < 64 - 33; i++)
		power = times_x(power);
	for (int n = 1; n <= 2 * LANE_WORDS; n++) {
		shift[n] = power;
		for (int i = 0; i < 64; i++)
			power = times_x(power);
	}
}

#if defined(__x86_64__)

static bool hardware_usable(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
}

HARDWARE_TARGET static inline uint64_t word(uint64_t crc, uint64_t v)
{
	return _mm_crc32_u64(crc, v);
}

HARDWARE_TARGET static inline uint32_t byte(uint32_t crc, uint8_t v)
{
	return _mm_crc32_u8(crc, v);
}

HARDWARE_TARGET static inline uint64_t multiply(uint32_t a, uint32_t b)
{
	__m128i va = _mm_cvtsi32_si128((int)a);
	__m128i vb = _mm_cvtsi32_si128((int)b);

	return (uint64_t)_mm_cvtsi128_si64(_mm_clmulepi64_si128(va, vb, 0));
}

#define HARDWARE_NAME "sse4.2"

#else

static bool hardware_usable(void)
{
	unsigned long caps = getauxval(AT_HWCAP);

	return (caps & HWCAP_CRC32) && (caps & HWCAP_PMULL);
}

static inline uint64_t word(uint64_t crc, uint64_t v)
{
	uint32_t sum;

	__asm__(".arch_extension crc\n\tcrc32cx %w0, %w1, %x2" : "=r"(sum) : "r"(crc), "r"(v));
	return sum;
}

static inline uint32_t byte(uint32_t crc, uint8_t v)
{
	uint32_t sum;

	__asm__(".arch_extension crc\n\tcrc32cb %w0, %w1, %w2" : "=r"(sum) : "r"(crc), "r"(v));
	return sum;
}

static inline uint64_t multiply(uint32_t a, uint32_t b)
{
	uint64x2_t product;

	__asm__(".arch_extension aes\n\tpmull %0.1q, %1.1d, %2.1d"
		: "=w"(product)
		: "w"(vdup_n_u64(a)), "w"(vdup_n_u64(b)));
	return vgetq_lane_u64(product, 0);
}

#define HARDWARE_NAME "armv8-crc"

#endif

/* Sums, and copies as well if to is not NULL: always inlined, so that each caller gets its own
 * loop. */
HARDWARE_TARGET static inline __attribute__((always_inline)) uint64_t
take(uint64_t crc, const uint8_t *from, uint8_t *to)
{
	uint64_t v = load64(from);

	if (to)
		memcpy(to, &v, sizeof(v));
	return word(crc, v);
}

/* Three chains of n words, n >= 2; returns the sum of all. */
HARDWARE_TARGET static inline __attribute__((always_inline)) uint64_t
lanes(uint64_t crc0, const uint8_t *p, uint8_t *to, size_t n)
{
	size_t lane = n * 8, at = 0;
	uint64_t crc1 = 0, crc2 = 0, last;

	for (; at < lane - 8; at += 8) {
		crc0 = take(crc0, p + at, to ? to + at : NULL);
		crc1 = take(crc1, p + lane + at, to ? to + lane + at : NULL);
		crc2 = take(crc2, p + 2 * lane + at, to ? to + 2 * lane + at : NULL);
	}
	crc0 = take(crc0, p + at, to ? to + at : NULL);
	crc1 = take(crc1, p + lane + at, to ? to + lane + at : NULL);
	last = load64(p + 2 * lane + at);
	if (to)
		memcpy(to + 2 * lane + at, &last, sizeof(last));
	last ^= multiply((uint32_t)crc0, shift[2 * n]) ^ multiply((uint32_t)crc1, shift[n]);
	return word(crc2, last);
}

HARDWARE_TARGET static inline __attribute__((always_inline)) uint32_t
hardware(uint32_t seed, const uint8_t *p, uint8_t *to, size_t len)
{
	uint64_t crc = (uint32_t)~seed;

	while (len >= LANES_MIN_BYTES) {
		size_t n = len / 24 < LANE_WORDS ? len / 24 : LANE_WORDS;

		crc = lanes(crc, p, to, n);
		p += n * 24;
		to = to ? to + n * 24 : NULL;
		len -= n * 24;
	}
	for (; len >= 8; len -= 8) {
		crc = take(crc, p, to);
		p += 8;
		to = to ? to + 8 : NULL;
	}
	for (; len; len--) {
		uint8_t v = *p++;

		if (to)
			*to++ = v;
		crc = byte((uint32_t)crc, v);
	}
	return ~(uint32_t)crc;
}

HARDWARE_TARGET static uint32_t hardware_sum(uint32_t crc, const void *buf, size_t len)
{
	return hardware(crc, buf, NULL, len);
}

HARDWARE_TARGET static uint32_t hardware_copy(uint32_t crc, void *dst, const void *src, size_t len)
{
	return len ? hardware(crc, src, dst, len) : crc;
}

#endif

/* ---- The choice
 * --------------------------------------------------------------------------------------- */

static const struct soft_crc32c_impl impls[] = {
#ifdef HARDWARE
	{
		.name = HARDWARE_NAME,
		.usable = hardware_usable,
		.sum = hardware_sum,
		.copy = hardware_copy,
	},
#endif
	{
		.name = "portable",
		.usable = portable_usable,
		.sum = portable_sum,
		.copy = portable_copy,
	},
};

#define NUM_IMPLS (sizeof(impls) / sizeof(impls[0]))

static void choose(void)
{
	const struct soft_crc32c_impl *impl = impls;

	slice_init();
#ifdef HARDWARE
	hardware_init();
#endif
	while (!impl->usable())
		impl++;
	atomic_store_explicit(&chosen, impl, memory_order_release);
}

void soft_crc32c_init(void)
{
	pthread_once(&once, choose);
}

const struct soft_crc32c_impl *soft_crc32c_impl(size_t index)
{
	return index < NUM_IMPLS ? &impls[index] : NULL;
}

const struct soft_crc32c_impl *soft_crc32c_chosen(void)
{
	const struct soft_crc32c_impl *impl = atomic_load_explicit(&chosen, memory_order_acquire);

	if (__builtin_expect(!impl, 0)) {
		soft_crc32c_init();
		impl = atomic_load_explicit(&chosen, memory_order_acquire);
	}
	return impl;
}

uint32_t soft_crc32c(uint32_t crc, const void *buf, size_t len)
{
	return soft_crc32c_chosen()->sum(crc, buf, len);
}

uint32_t soft_crc32c_copy(uint32_t crc, void *dst, const void *src, size_t len)
{
	return soft_crc32c_chosen()->copy(crc, dst, src, len);
}
