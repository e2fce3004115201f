/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Two devices and an end of each, connected for all tests of a program. */
#ifndef TEST_SOFT_JOINED_H
#define TEST_SOFT_JOINED_H

#include "test/unit/soft_two.h"

#define JOINED_SIZE   (1u << 20)
#define JOINED_ACCESS (FULL | TP_ACCESS_REMOTE_ATOMIC)

extern struct end a, b;

/* cmocka's. */
int joined_set_up(void **state);
int joined_tear_down(void **state);

/* After one of them failed. */
void joined_again(void);
/* wr with one segment. */
void joined_post(struct end *end, struct tp_wr wr, const void *addr, uint32_t len,
		 struct tp_mr *mr);

#endif
