/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/base/clock.h"
#include "dapl/base/lock.h"
#include "providers/soft/base/device.h"

struct call {
	struct tp_task task;
	int (*fn)(void *arg);
	void *arg;
	int ret;
	uint32_t done; /* futex */
};

/* The caller may have returned by the time of the wake-up, which then wakes nobody. */
static void call_run(struct tp_task *task)
{
	struct call *call = container_of(task, struct call, task);

	call->ret = call->fn(call->arg);
	__atomic_store_n(&call->done, 1, __ATOMIC_RELEASE);
	dapl_futex_wake(&call->done, 1);
}

int soft_dev_call(struct soft_dev *dev, int (*fn)(void *arg), void *arg)
{
	struct call call = { .task.run = call_run, .fn = fn, .arg = arg };

	if (dapl_loop_is_self(dev->base.loop))
		return fn(arg);
	dapl_loop_post(dev->base.loop, &call.task);
	while (!__atomic_load_n(&call.done, __ATOMIC_ACQUIRE))
		dapl_futex_wait(&call.done, 0, dapl_deadline(UINT32_MAX));
	return call.ret;
}
