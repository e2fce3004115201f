/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A loop of the test's own for the engine: the services of dapl/transport.h and the sinks of
 * trace/log.h. */
#ifndef TEST_SOFT_LOOP_H
#define TEST_SOFT_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl/transport.h"

struct dapl_loop *soft_loop_start(void);
/* Ends the thread and frees; false if something was still watched, posted or timed. */
bool soft_loop_stop(struct dapl_loop *loop);
/* How often the thread woke up. */
uint64_t soft_loop_wakeups(struct dapl_loop *loop);
/* How many messages there were, and the last one. */
unsigned soft_diags(char *last, size_t size);

#endif
