/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What most tests of the software engine stand on: two devices, each with a registered buffer. */
#ifndef TEST_SOFT_TWO_H
#define TEST_SOFT_TWO_H

#include "test/unit/soft_util.h"

extern struct node left, right;
extern uint8_t *out, *in; /* aligned for atomics: out on the left, filled; in on the right, zero */
extern struct tp_mr *out_mr, *in_mr;

void two_open(size_t size, uint32_t out_access, uint32_t in_access);
/* Fails the test if a descriptor is left behind. */
void two_close(void);

/* cmocka's: buffers of TWO_BIG bytes, over the link as it is or this one, and closed again. */
#define TWO_BIG (3u << 20)
int two_set_up(void **state);
int two_set_up_tcp(void **state);
int two_set_up_shm(void **state);
int two_tear_down(void **state);

#define TWO_OVER_TCP(f)                                            \
	{                                                          \
		"tcp: " #f, f, two_set_up_tcp, two_tear_down, NULL \
	}
#define TWO_OVER_SHM(f)                                            \
	{                                                          \
		"shm: " #f, f, two_set_up_shm, two_tear_down, NULL \
	}

/* An end of each, connected. */
void pair(struct end *a, struct end *b, const struct end_options *options);
void unpair(struct end *a, struct end *b);

#endif
