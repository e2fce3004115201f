/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "pool.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT  4096
#define GUARD_SIZE 64
#define GUARD_BYTE 0xa5
#define CLEAR_BYTE 0x5a

static unsigned char *segment(const struct dt_pool *pool, uint32_t index)
{
	return pool->memory + (size_t)index * pool->stride;
}

static int pool_register(struct dt_actor *actor, struct dt_pool *pool, const struct dt_ia *ia,
			 DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges)
{
	DAT_REGION_DESCRIPTION region = { .for_va = pool->memory };
	DAT_VLEN registered_size = 0;
	DAT_VADDR registered_address = 0;
	DAT_VADDR start = (DAT_VADDR)(uintptr_t)pool->memory;
	DAT_RETURN ret;

	ret = dat_lmr_create(ia->handle, DAT_MEM_TYPE_VIRTUAL, region, pool->size, pz, privileges,
			     DAT_VA_TYPE_VA, &pool->lmr, &pool->lmr_context, &pool->rmr_context,
			     &registered_size, &registered_address);
	if (ret != DAT_SUCCESS) {
		pool->lmr = DAT_HANDLE_NULL;
		return dt_fail_dat(actor, ret, "dat_lmr_create");
	}
	if (registered_address > start || registered_address + registered_size < start + pool->size)
		return dt_fail(actor, "dat_lmr_create bogus in: %p, %llx out 0x%llx, %llx",
			       (void *)pool->memory, (unsigned long long)pool->size,
			       (unsigned long long)registered_address,
			       (unsigned long long)registered_size);
	dt_debug(3, "lmr_create OK [%p, %llx, lctx=%x]", (void *)pool->memory,
		 (unsigned long long)pool->size, (unsigned int)pool->lmr_context);
	return 0;
}

/* Smaller ones than this cannot end a host whose kernel promises more memory than it has. */
#define MODEST ((uint64_t)64 << 20)

bool dt_pool_fits(uint64_t size)
{
	unsigned long long available;
	char line[128];
	FILE *file;
	int found = 0;

	if (size <= MODEST)
		return true;
	file = fopen("/proc/meminfo", "r");
	while (file && !found && fgets(line, sizeof(line), file))
		found = sscanf(line, "MemAvailable: %llu kB", &available) == 1;
	if (file)
		fclose(file);
	return !found || size / 1024 < available;
}

static int allocate(struct dt_pool *pool)
{
	void *memory;

	pool->iov = calloc(pool->num_segs, sizeof(*pool->iov));
	if (!pool->iov || posix_memalign(&memory, ALIGNMENT, pool->size)) {
		free(pool->iov);
		pool->iov = NULL;
		return -1;
	}
	pool->memory = memory;
	memset(pool->memory, GUARD_BYTE, pool->size);
	return 0;
}

int dt_pool_create(struct dt_actor *actor, struct dt_pool *pool, const struct dt_ia *ia,
		   DAT_PZ_HANDLE pz, uint32_t num_segs, uint32_t seg_size, bool scattered,
		   DAT_MEM_PRIV_FLAGS privileges)
{
	memset(pool, 0, sizeof(*pool));
	pool->num_segs = num_segs;
	pool->seg_size = seg_size;
	pool->stride = scattered ? seg_size + GUARD_SIZE : seg_size;
	pool->size = (uint64_t)num_segs * pool->stride;
	if (!dt_pool_fits(pool->size) || allocate(pool))
		return dt_fail(actor, "no memory for a buffer of %llu bytes",
			       (unsigned long long)pool->size);
	if (pool_register(actor, pool, ia, pz, privileges)) {
		dt_pool_destroy(actor, pool);
		return -1;
	}
	for (uint32_t i = 0; i < num_segs; i++)
		pool->iov[i] = (DAT_LMR_TRIPLET){
			.virtual_address = (DAT_VADDR)(uintptr_t)segment(pool, i),
			.segment_length = seg_size,
			.lmr_context = pool->lmr_context,
		};
	dt_pool_clear(pool);
	return 0;
}

int dt_pool_destroy(struct dt_actor *actor, struct dt_pool *pool)
{
	DAT_RETURN ret = DAT_SUCCESS;

	if (pool->lmr)
		ret = dat_lmr_free(pool->lmr);
	free(pool->iov);
	free(pool->memory);
	memset(pool, 0, sizeof(*pool));
	return ret == DAT_SUCCESS ? 0 : dt_fail_dat(actor, ret, "dat_lmr_free");
}

DAT_RMR_TRIPLET dt_pool_remote(const struct dt_pool *pool)
{
	return (DAT_RMR_TRIPLET){
		.virtual_address = (DAT_VADDR)(uintptr_t)pool->memory,
		.segment_length = (DAT_SEG_LENGTH)pool->size,
		.rmr_context = pool->rmr_context,
	};
}

static uint64_t pattern_word(uint64_t seed, uint64_t index)
{
	uint64_t word = seed + (index + 1) * UINT64_C(0x9e3779b97f4a7c15);

	return word ^ word >> 29;
}

static unsigned char pattern_byte(uint64_t seed, uint64_t offset)
{
	return (unsigned char)(pattern_word(seed, offset / 8) >> (offset % 8 * 8));
}

/* The pattern runs through the whole transfer, whatever the segments on either side are. */
static void fill(unsigned char *to, uint64_t offset, uint32_t size, uint64_t seed)
{
	uint32_t i = 0;

	for (; i < size && (offset + i) % 8; i++)
		to[i] = pattern_byte(seed, offset + i);
	for (; size - i >= 8; i += 8) {
		uint64_t word = htole64(pattern_word(seed, (offset + i) / 8));

		memcpy(to + i, &word, 8);
	}
	for (; i < size; i++)
		to[i] = pattern_byte(seed, offset + i);
}

/* The first byte that differs, or `size`. */
static uint32_t find_difference(const unsigned char *in, uint64_t offset, uint32_t size,
				uint64_t seed)
{
	uint32_t i = 0;

	for (; i < size && (offset + i) % 8; i++)
		if (in[i] != pattern_byte(seed, offset + i))
			return i;
	for (; size - i >= 8; i += 8) {
		uint64_t word = htole64(pattern_word(seed, (offset + i) / 8));

		if (memcmp(in + i, &word, 8))
			break;
	}
	for (; i < size; i++)
		if (in[i] != pattern_byte(seed, offset + i))
			return i;
	return size;
}

void dt_pool_fill(struct dt_pool *pool, uint64_t seed)
{
	for (uint32_t i = 0; i < pool->num_segs; i++)
		fill(segment(pool, i), (uint64_t)i * pool->seg_size, pool->seg_size, seed);
}

void dt_pool_clear(struct dt_pool *pool)
{
	for (uint32_t i = 0; i < pool->num_segs; i++)
		memset(segment(pool, i), CLEAR_BYTE, pool->seg_size);
}

static bool check_guard(const struct dt_pool *pool, uint32_t index, struct dt_mismatch *mismatch)
{
	const unsigned char *guard = segment(pool, index) + pool->seg_size;

	for (uint32_t i = 0; i < pool->stride - pool->seg_size; i++) {
		if (guard[i] == GUARD_BYTE)
			continue;
		*mismatch = (struct dt_mismatch){ index, pool->seg_size + i, GUARD_BYTE, guard[i],
						  guard + i };
		return false;
	}
	return true;
}

bool dt_pool_check(const struct dt_pool *pool, uint64_t seed, struct dt_mismatch *mismatch)
{
	for (uint32_t i = 0; i < pool->num_segs; i++) {
		const unsigned char *bytes = segment(pool, i);
		uint64_t offset = (uint64_t)i * pool->seg_size;
		uint32_t at = find_difference(bytes, offset, pool->seg_size, seed);

		if (at < pool->seg_size) {
			*mismatch = (struct dt_mismatch){ i, at, pattern_byte(seed, offset + at),
							  bytes[at], bytes + at };
			return false;
		}
		if (!check_guard(pool, i, mismatch))
			return false;
	}
	return true;
}
