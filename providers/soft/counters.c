/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Running counters of a device: what ended connections, by whose fault, and how often there was no
 * room to send.
 */
#include <errno.h>

#include "providers/soft/counters.h"
#include "providers/soft/device.h"
#include "providers/soft/engine/conn.h"

static void count(struct soft_dev *dev, enum soft_count what)
{
	atomic_fetch_add_explicit(&dev->count[what], 1, memory_order_relaxed);
}

void soft_count_wait(struct soft_dev *dev)
{
	count(dev, SOFT_COUNT_XMT_WAIT);
}

static bool out_of_sequence(const struct soft_error *error)
{
	return error->layer == WIRE_LAYER_DDP && error->etype == WIRE_DDP_ETYPE_UNTAGGED &&
	       (error->code == WIRE_UNTAGGED_MSN || error->code == WIRE_UNTAGGED_MO);
}

void soft_count_fault(struct soft_dev *dev, const struct soft_fault *fault)
{
	const struct soft_error *error = &fault->term.error;

	if (fault->err == -ETIMEDOUT)
		count(dev, SOFT_COUNT_SQ_RREE);
	if (!fault->terminate && !fault->received)
		return;
	if (error->layer == WIRE_LAYER_MPA)
		count(dev, fault->received ? SOFT_COUNT_INTEGRITY : SOFT_COUNT_RCV);
	else if (out_of_sequence(error))
		count(dev, fault->received ? SOFT_COUNT_SQ_OOS : SOFT_COUNT_RQ_OOS);
	else if (soft_rdmap_status(error) == TP_WC_REMOTE_ACCESS)
		count(dev, fault->received ? SOFT_COUNT_SQ_RAE : SOFT_COUNT_RQ_RAE);
	else if (fault->received || fault->term.has_ddp)
		count(dev, fault->received ? SOFT_COUNT_SQ_RIRE : SOFT_COUNT_RQ_RIRE);
}

int soft_sample(struct tp_device *base, enum tp_counters group, uint64_t *value, uint32_t num)
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
