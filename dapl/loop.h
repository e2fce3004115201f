/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The service thread of an open IA. Its services to transports are declared in dapl/transport.h. */
#ifndef DAPL_LOOP_H
#define DAPL_LOOP_H

#include <stdatomic.h>

#include "dapl/transport.h"

/*
 * 0 or a negative errno. The thread itself starts at the first need. It tells in resting, which
 * stays as long as anybody may look, whether it leaves its work to those who help.
 */
int dapl_loop_create(struct dapl_loop **loop, atomic_bool *resting);
/* Ends the thread. Nothing is watched, posted or timed any more. */
void dapl_loop_destroy(struct dapl_loop *loop);

/*
 * Any thread, any lock: by more connections are coming about or ending than before. As long as
 * there are some, whoever looks for their events in vain can do the service thread's work.
 */
void dapl_loop_expect(struct dapl_loop *loop, int by);
/* One more look in vain. Where nothing else is done, what is due may be run here; no lock held. */
void dapl_loop_help(struct dapl_loop *loop);
/* The caller is about to sleep: the service thread does its work itself. */
void dapl_loop_resume(struct dapl_loop *loop);

/* The absolute time a consumer's timeout in microseconds ends at; DAT_TIMEOUT_INFINITE: in nine
 * years. */
static inline uint64_t dapl_deadline(uint32_t timeout)
{
	return dapl_now() + (timeout == UINT32_MAX ? 1ull << 58 : timeout * 1000ull);
}

#endif
