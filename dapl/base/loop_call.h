/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A function that the caller waits for while the loop runs it. */
#ifndef DAPL_LOOP_CALL_H
#define DAPL_LOOP_CALL_H

#include "dapl/base/lock.h"
#include "dapl/base/loop.h"
#include "util/compiler.h"

struct dapl_loop_call {
	struct tp_task task;
	int (*fn)(void *arg);
	void *arg;
	int ret;
	uint32_t done; /* futex */
};

/* The caller may have returned by the time of the wake-up, which then wakes nobody. */
static inline void dapl_loop_call_run(struct tp_task *task)
{
	struct dapl_loop_call *call = container_of(task, struct dapl_loop_call, task);

	call->ret = call->fn(call->arg);
	__atomic_store_n(&call->done, 1, __ATOMIC_RELEASE);
	dapl_futex_wake(&call->done, 1);
}

/* What fn returns; called on the loop it runs at once. No lock that work on the loop may take. */
static inline int dapl_loop_call(struct dapl_loop *loop, int (*fn)(void *arg), void *arg)
{
	struct dapl_loop_call call = { .task.run = dapl_loop_call_run, .fn = fn, .arg = arg };

	if (dapl_loop_is_self(loop))
		return fn(arg);
	dapl_loop_post(loop, &call.task);
	while (!__atomic_load_n(&call.done, __ATOMIC_ACQUIRE))
		dapl_futex_wait(&call.done, 0, dapl_deadline(UINT32_MAX));
	return call.ret;
}

#endif
