/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A function that runs as if the loop ran it. */
#ifndef DAPL_LOOP_CALL_H
#define DAPL_LOOP_CALL_H

#include "dapl/base/loop.h"

/* What fn returns. No lock that work on the loop may take. */
static inline int dapl_loop_call(struct dapl_loop *loop, int (*fn)(void *arg), void *arg)
{
	int rc;

	if (dapl_loop_is_self(loop))
		return fn(arg);
	dapl_loop_enter(loop);
	rc = fn(arg);
	dapl_loop_leave(loop);
	return rc;
}

#endif
