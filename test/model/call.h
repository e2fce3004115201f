/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the model asks of the library and what came of it, as plain data: it is carried out in this
 * process, by a thread, or sent to the other process.
 */
#ifndef CALL_H
#define CALL_H

#include "test/model/step.h"

enum {
	MAX_SIDES = 2,
	MAX_EVDS = 12,
	MAX_EPS = 32,
	MAX_SPS = 6,
	MAX_SRQS = 4,
	MAX_RMRS = 8,
	MAX_REQUESTS = 256, /* connection requests, by the lowest bits of their number */
	MAX_SEGMENTS = 4,
	MAX_SEEN = 32, /* events of one call */
	PRIVATE_BYTES = 40,

	/* The memory of a side: buffers of two sizes, and cells that the peer reaches. */
	SMALL_BUFFERS = 768,
	SMALL_BYTES = 2048,
	BIG_BUFFERS = 48,
	BIG_BYTES = 128 << 10,
	CELLS = 24,
	CELL_BYTES = 16 << 10,
	COUNTERS = 2, /* the last cells are for atomics */
	BUFFER_BYTES = SMALL_BUFFERS * SMALL_BYTES + BIG_BUFFERS * BIG_BYTES,
	ARENA_BYTES = BUFFER_BYTES + CELLS * CELL_BYTES,
};

struct call {
	struct step step;
	uint32_t side;
	uint32_t repeat; /* posts: how many, the cookies count up */
	uint64_t cookie;
	uint64_t qual; /* who listens */
	uint64_t at;   /* address of the bytes */
	uint32_t length, segments;
	uint64_t remote_at;
	uint32_t remote_key, flags;
	uint32_t request; /* number of a connection request */
	uint8_t private_data[PRIVATE_BYTES];
	uint32_t private_size;
};

/* An event as it was taken. */
struct seen {
	uint32_t number, evd;
	uint64_t handle; /* endpoint, or whatever the event is about */
	uint64_t cookie; /* or the pointer of a software event, or the qualifier */
	uint32_t status, length, operation, key;
	uint32_t request; /* number that a connection request carries */
	uint32_t private_size;
	uint8_t private_data[PRIVATE_BYTES];
	bool unread;	/* the private data were not looked at */
	bool evd_right; /* names the dispatcher it came from */
};

struct result {
	uint32_t rc;   /* of the last call that was made */
	uint32_t done; /* posts that succeeded before it */
	uint64_t value[4];
	uint32_t seen_count;
	bool empty; /* a dequeue found nothing */
	struct seen seen[MAX_SEEN];
};

#endif
