/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the tests of windows share: two pairs of ends, windows, and RDMA that works or is refused.
 */
#ifndef SOFT_WINDOW_UTIL_H
#define SOFT_WINDOW_UTIL_H

#include "test/unit/soft_joined.h"

#define SIZE   (1u << 20)
#define REMOTE (TP_ACCESS_REMOTE_READ | TP_ACCESS_REMOTE_WRITE)

extern struct end c, d; /* connected, as a and b are */

int windows_open(void **state);
int windows_close(void **state);
struct tp_mw *window(bool qp_scope);
struct tp_bind window_bind(struct tp_mw *mw, uint32_t from, uint32_t len, uint32_t access);
/* Binds and waits for it. */
uint32_t bind_on(struct end *end, const struct tp_bind *bind);
void unbind_on(struct end *end, struct tp_mw *mw);
/* One RDMA that must work. */
void rdma_works(struct end *end, enum tp_opcode opcode, uint64_t remote, uint32_t rkey,
		uint32_t len);
/* One that must be refused; the pair is over after that. */
void rdma_refused(struct end *end, struct end *target, enum tp_opcode opcode, uint64_t remote,
		  uint32_t rkey, uint32_t len);
void reconnect(struct end *end, struct end *target);
void rdma_refused_then_again(enum tp_opcode opcode, uint64_t remote, uint32_t rkey, uint32_t len);

#endif
