/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <semaphore.h>

#include "providers/soft/base/device.h"

struct call {
	struct tp_task task;
	int (*fn)(void *arg);
	void *arg;
	int ret;
	sem_t done;
};

static void call_run(struct tp_task *task)
{
	struct call *call = container_of(task, struct call, task);

	call->ret = call->fn(call->arg);
	sem_post(&call->done);
}

int soft_dev_call(struct soft_dev *dev, int (*fn)(void *arg), void *arg)
{
	struct call call = { .task.run = call_run, .fn = fn, .arg = arg };

	if (dapl_loop_is_self(dev->base.loop))
		return fn(arg);
	sem_init(&call.done, 0, 0);
	dapl_loop_post(dev->base.loop, &call.task);
	while (sem_wait(&call.done) && errno == EINTR)
		;
	sem_destroy(&call.done);
	return call.ret;
}
