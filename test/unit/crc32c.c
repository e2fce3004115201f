/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The CRC-32C of an FPDU: published vectors, beside a bit by bit one, chaining. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "providers/soft/wire/crc32c.h"

#define LONGEST 20000

static uint8_t data[LONGEST + 64], copied[LONGEST + 128];
static uint64_t random_state = 0x9e3779b97f4a7c15u;

static uint32_t random32(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 16);
}

/* From the definition: divide by the polynomial, one bit at a time. */
static uint32_t reference(uint32_t crc, const uint8_t *p, size_t len)
{
	crc = ~crc;
	for (; len; len--) {
		crc ^= *p++;
		for (int bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return ~crc;
}

static void published_vectors(void **state)
{
	static const uint8_t read_command[48] = {
		0x01, 0xc0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x14, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x00,
		0x00, 0x00, 0x00, 0x14, 0x00, 0x00, 0x00, 0x18, 0x28, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	};
	uint8_t zeroes[32], ones[32], up[32], down[32];

	(void)state;
	memset(zeroes, 0, 32);
	memset(ones, 0xff, 32);
	for (int i = 0; i < 32; i++) {
		up[i] = (uint8_t)i;
		down[i] = (uint8_t)(31 - i);
	}
	assert_int_equal(soft_crc32c(0, zeroes, 32), 0x8a9136aa);
	assert_int_equal(soft_crc32c(0, ones, 32), 0x62a8ab43);
	assert_int_equal(soft_crc32c(0, up, 32), 0x46dd794e);
	assert_int_equal(soft_crc32c(0, down, 32), 0x113fdb5c);
	assert_int_equal(soft_crc32c(0, read_command, 48), 0xd9963a56);
	assert_int_equal(soft_crc32c(0, "123456789", 9), 0xe3069283);
	assert_int_equal(soft_crc32c(0, "", 0), 0);
}

/* RFC 3720 B.4 and RFC 5044 section 4.4: stored least significant byte first, the 32 zeroes give AA
 * 36 91 8A. */
static void wire_order(void **state)
{
	static const uint8_t wire[4] = { 0xaa, 0x36, 0x91, 0x8a };
	uint8_t zeroes[32] = { 0 };
	uint32_t crc = soft_crc32c(0, zeroes, sizeof(zeroes));

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(crc >> (8 * i) & 0xff, wire[i]);
}

/* RFC 5044 figures 5 and 6: the sums 52 23 99 83 and 84 92 58 98. */
static void fpdu_examples(void **state)
{
	static const uint8_t first[48] = {
		[5] = 0x2a,
		[6] = 0x41,
		[7] = 0x43,
		[19] = 0x01,
	};
	static const uint8_t second[48] = {
		[1] = 0x2a, [2] = 0x41, [3] = 0x43, [15] = 0x02, [23] = 0x14,
	};

	(void)state;
	assert_int_equal(soft_crc32c(0, first, sizeof(first)), 0x83992352);
	assert_int_equal(soft_crc32c(0, second, sizeof(second)), 0x98589284);
}

static void check_range(size_t at, size_t len, size_t to)
{
	uint32_t seed = random32();
	uint32_t want = reference(seed, data + at, len);

	assert_int_equal(soft_crc32c(seed, data + at, len), want);
	memset(copied, 0xee, sizeof(copied));
	assert_int_equal(soft_crc32c_copy(seed, copied + to, data + at, len), want);
	assert_memory_equal(copied + to, data + at, len);
	for (size_t i = 0; i < 32; i++) {
		assert_int_equal(copied[to + len + i], 0xee);
		if (i < to)
			assert_int_equal(copied[to - 1 - i], 0xee);
	}
}

static void every_short_length(void **state)
{
	(void)state;
	for (size_t len = 0; len <= 600; len++)
		check_range(len % 16, len, 32 + len % 7);
}

static void random_lengths_and_alignments(void **state)
{
	(void)state;
	for (int round = 0; round < 300; round++)
		check_range(random32() % 64, random32() % LONGEST, random32() % 64);
}

static void chains(void **state)
{
	(void)state;
	for (int round = 0; round < 200; round++) {
		size_t len = random32() % LONGEST, at = 0;
		uint32_t crc = 0;

		while (at < len) {
			size_t n = random32() % (len - at) + 1;

			crc = round & 1 ? soft_crc32c(crc, data + at, n)
					: soft_crc32c_copy(crc, copied, data + at, n);
			at += n;
		}
		assert_int_equal(crc, soft_crc32c(0, data, len));
	}
}

static void empty_without_memory(void **state)
{
	(void)state;
	assert_int_equal(soft_crc32c(0x12345678, NULL, 0), 0x12345678);
	assert_int_equal(soft_crc32c_copy(0x12345678, NULL, NULL, 0), 0x12345678);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_vectors),
		cmocka_unit_test(wire_order),
		cmocka_unit_test(fpdu_examples),
		cmocka_unit_test(every_short_length),
		cmocka_unit_test(random_lengths_and_alignments),
		cmocka_unit_test(chains),
		cmocka_unit_test(empty_without_memory),
	};

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)random32();
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("crc32c", tests, NULL, NULL);
}
