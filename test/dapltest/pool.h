/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A registered buffer of equal segments, and the pattern with which -V fills and checks it. */
#ifndef DAPLTEST_POOL_H
#define DAPLTEST_POOL_H

#include <dat/udat.h>
#include <stdbool.h>
#include <stdint.h>

#include "ia.h"

struct dt_pool {
	unsigned char *memory;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_LMR_TRIPLET *iov;
	uint32_t num_segs;
	uint32_t seg_size;
	uint32_t stride; /* from one segment to the next; what lies between is guarded */
	uint64_t size;
};

/* Whether the host has so much memory to give: a client must not be able to end its server. */
bool dt_pool_fits(uint64_t size);
/*
 * `scattered` keeps guard bytes between the segments, so that a transfer that ignores the segments
 * or exceeds one is seen; without it they are adjacent, as a peer's RDMA needs them.
 */
int dt_pool_create(struct dt_actor *actor, struct dt_pool *pool, const struct dt_ia *ia,
		   DAT_PZ_HANDLE pz, uint32_t num_segs, uint32_t seg_size, bool scattered,
		   DAT_MEM_PRIV_FLAGS privileges);
int dt_pool_destroy(struct dt_actor *actor, struct dt_pool *pool);

/* How a peer addresses the whole of it. */
DAT_RMR_TRIPLET dt_pool_remote(const struct dt_pool *pool);

struct dt_mismatch {
	uint32_t segment;
	uint32_t byte;
	unsigned char expected;
	unsigned char got;
	const unsigned char *where;
};

/* Every byte depends on the seed and its place: lost, moved and stale data are all seen. */
void dt_pool_fill(struct dt_pool *pool, uint64_t seed);
void dt_pool_clear(struct dt_pool *pool);
bool dt_pool_check(const struct dt_pool *pool, uint64_t seed, struct dt_mismatch *mismatch);

#endif
