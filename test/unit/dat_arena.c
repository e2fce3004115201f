/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The arena as the provider core sees it. */
#include "test/unit/dat_util.h"

#define DATS_WEAK
#include "dat/dats.h"

#include <string.h>
#include <sys/mman.h>

static int is_zero(const char *chunk)
{
	size_t i;

	for (i = 0; i < DATS_CHUNK_SIZE; i++)
		if (chunk[i])
			return 0;
	return 1;
}

static int pages_in_memory(void *chunk)
{
	unsigned char pages[DATS_CHUNK_SIZE / 4096];
	int count = 0;
	size_t i;

	assert_int_equal(mincore(chunk, DATS_CHUNK_SIZE, pages), 0);
	for (i = 0; i < NUM_OF(pages); i++)
		count += pages[i] & 1;
	return count;
}

static void chunks_are_zeroed_and_aligned(void **state)
{
	void *a, *b;

	(void)state;
	assert_int_equal(dats_arena_grant(&a), 0);
	assert_int_equal(dats_arena_grant(&b), 0);
	assert_ptr_not_equal(a, b);
	assert_int_equal((uintptr_t)a % DATS_CHUNK_SIZE, 0);
	assert_true(is_zero(a) && is_zero(b));
	memset(a, 0x55, DATS_CHUNK_SIZE);
	dats_arena_return(a);
	assert_true(is_zero(a)); /* readable, and empty */
	dats_arena_return(b);
}

static void slots_are_told_from_the_rest(void **state)
{
	char *chunk;
	void *granted;
	int i;

	(void)state;
	assert_int_equal(dats_arena_grant(&granted), 0);
	chunk = granted;
	for (i = 0; i < DATS_CHUNK_SIZE; i++)
		assert_int_equal(dats_arena_holds(chunk + i), i % DATS_SLOT_SIZE == 0);
	dats_arena_return(chunk);
	assert_true(dats_arena_holds(chunk)); /* it may still be read */
	assert_false(dats_arena_holds(NULL));
	assert_false(dats_arena_holds(&chunk));
	assert_false(dats_arena_holds((void *)UINTPTR_MAX));
}

/* As long as there are addresses, one is not granted again before 256 others have rested after it.
 */
static void reuse_is_late(void **state)
{
	static void *returned[600];
	size_t i, oldest = 0, num = 0;
	void *chunk;

	(void)state;
	for (i = 0; i < NUM_OF(returned); i++) {
		assert_int_equal(dats_arena_grant(&chunk), 0);
		assert_true(is_zero(chunk));
		if (num > oldest && chunk == returned[oldest]) {
			assert_true(num - oldest >= 256);
			oldest++;
		} else {
			size_t j;

			for (j = oldest; j < num; j++)
				assert_ptr_not_equal(chunk, returned[j]);
		}
		memset(chunk, 1, DATS_SLOT_SIZE);
		dats_arena_return(chunk);
		returned[num++] = chunk;
	}
	assert_true(oldest > 0); /* and it is granted again in the end */
}

static void memory_comes_back(void **state)
{
	void *chunk;

	(void)state;
	assert_int_equal(dats_arena_grant(&chunk), 0);
	memset(chunk, 1, DATS_CHUNK_SIZE);
	assert_int_equal(pages_in_memory(chunk), DATS_CHUNK_SIZE / 4096);
	dats_arena_return(chunk);
	assert_int_equal(pages_in_memory(chunk), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunks_are_zeroed_and_aligned),
		cmocka_unit_test(slots_are_told_from_the_rest),
		cmocka_unit_test(reuse_is_late),
		cmocka_unit_test(memory_comes_back),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
