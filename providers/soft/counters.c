/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The counters of a device as the program sees them. */
#include "providers/soft/base/counters.h"
#include "providers/soft/base/device.h"

int soft_read_counters(struct tp_device *base, enum tp_counters group, uint64_t *value,
		       uint32_t num)
{
	struct soft_dev *dev = soft_dev(base);
	uint32_t first = group == TP_COUNTERS_LINK ? 0 : SOFT_COUNT_DIAG;
	uint32_t all = (group == TP_COUNTERS_LINK ? SOFT_COUNT_DIAG : SOFT_COUNTS) - first;

	if (num > all)
		num = all;
	for (uint32_t i = 0; i < num; i++)
		value[i] = atomic_load_explicit(&dev->count[first + i], memory_order_relaxed);
	return (int)num;
}
