/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/base/loop_call.h"
#include "providers/soft/base/device.h"

int soft_dev_call(struct soft_dev *dev, int (*fn)(void *arg), void *arg)
{
	return dapl_loop_call(dev->base.loop, fn, arg);
}
