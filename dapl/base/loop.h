/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The service thread of an open IA. Its services to transports are declared in dapl/transport.h. */
#ifndef DAPL_LOOP_H
#define DAPL_LOOP_H

#include "dapl/transport.h"

/* 0 or a negative errno. The thread itself starts at the first need. */
int dapl_loop_create(struct dapl_loop **loop);
/* Ends the thread. Nothing is watched, posted or timed any more. */
void dapl_loop_destroy(struct dapl_loop *loop);

/* The absolute time a consumer's timeout in microseconds ends at; DAT_TIMEOUT_INFINITE: in nine
 * years. */
static inline uint64_t dapl_deadline(uint32_t timeout)
{
	return dapl_now() + (timeout == UINT32_MAX ? 1ull << 58 : timeout * 1000ull);
}

#endif
