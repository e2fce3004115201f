/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "harness.h"
#include "peer_memory.h"

/* A pattern whose period is no power of two, so that a shifted copy is seen. */
static inline uint8_t pattern(size_t i, unsigned int seed)
{
	return (uint8_t)((i * 7 + i / 251 + seed * 31) % 251);
}

CU_PEER_MEMORY void cu_fill(void *buf, size_t len, unsigned int seed)
{
	volatile uint8_t *p = buf;

	for (size_t i = 0; i < len; i++)
		p[i] = pattern(i, seed);
}

CU_PEER_MEMORY void cu_check_fill(const void *buf, size_t len, unsigned int seed, const char *file,
				  int line)
{
	const volatile uint8_t *p = buf;

	for (size_t i = 0; i < len; i++) {
		if (p[i] == pattern(i, seed))
			continue;
		print_error("byte %zu of %zu is 0x%02x, not 0x%02x\n", i, len, p[i],
			    pattern(i, seed));
		_fail(file, line);
	}
}

CU_PEER_MEMORY void cu_set(void *buf, uint8_t value, size_t len)
{
	const uint64_t word = value * UINT64_C(0x0101010101010101);
	volatile uint8_t *p = buf;

	for (; len && (uintptr_t)p % sizeof(word); len--)
		*p++ = value;
	for (; len >= sizeof(word); len -= sizeof(word), p += sizeof(word))
		*(volatile uint64_t *)(volatile void *)p = word;
	for (; len; len--)
		*p++ = value;
}

CU_PEER_MEMORY void cu_check_all(const void *buf, uint8_t value, size_t len, const char *file,
				 int line)
{
	const volatile uint8_t *p = buf;

	for (size_t i = 0; i < len; i++) {
		if (p[i] == value)
			continue;
		print_error("byte %zu of %zu is 0x%02x, not 0x%02x\n", i, len, p[i], value);
		_fail(file, line);
	}
}

CU_PEER_MEMORY void cu_check_same(const void *buf, const void *want, size_t len, const char *file,
				  int line)
{
	const volatile uint64_t *p = buf, *q = want;

	for (size_t i = 0; i < len / sizeof(*p); i++) {
		if (p[i] == q[i])
			continue;
		print_error("the memories differ at byte %zu of %zu\n", i * sizeof(*p), len);
		_fail(file, line);
	}
}
