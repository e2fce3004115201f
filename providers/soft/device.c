/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/soft/base/addr.h"
#include "providers/soft/cm/cm.h"
#include "providers/soft/base/config.h"
#include "providers/soft/base/device.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/memory/stag.h"
#include "providers/soft/engine/drive.h"
#include "providers/soft/wire/ud.h"
#include "providers/soft/wire/wire.h"
#include "trace/log.h"

static void dev_free(struct soft_dev *dev)
{
	free(dev->cm);
	soft_stags_fini(dev->stags);
	pthread_mutex_destroy(&dev->lock);
	free(dev);
}

static int dev_open(const struct tp_device_init *init, struct tp_device **out)
{
	struct soft_dev *dev = calloc(1, sizeof(*dev));
	char text[SOFT_ADDR_TEXT];
	int rc;

	if (!dev) {
		dapl_err("%s: not opened: %s", init->ia_name, dapl_strerror(ENOMEM));
		return -ENOMEM;
	}
	rc = soft_addr_resolve(init->ia_name, init->params, &dev->addr);
	if (!rc)
		rc = soft_stags_init(dev, soft_bind_quiesce);
	if (rc) {
		free(dev);
		return rc;
	}
	dev->base = (struct tp_device){ .transport = &dapl_module_transport,
					.up = init->up,
					.loop = init->loop,
					.owner = init->owner };
	dev->config = init->config ? init->config : &soft_config;
	snprintf(dev->name, sizeof(dev->name), "%s", init->ia_name);
	pthread_mutex_init(&dev->lock, NULL);
	list_init(&dev->qps);
	soft_drive_init(dev);
	rc = soft_cm_open(dev);
	if (rc) {
		dapl_err("%s: not opened: %s", init->ia_name, dapl_strerror(-rc));
		dev_free(dev);
		return rc;
	}
	dapl_trace(soft_open, DAPL_TRC_NORMAL, dev, "ia=%s address=%s crc=%s", dev->name,
		   soft_addr_text(&dev->addr, 0, text),
		   dev->config->crc == SOFT_CRC_YES    ? "always"
		   : dev->config->crc == SOFT_CRC_AUTO ? "to other hosts"
						       : "as the peer asks");
	*out = &dev->base;
	return 0;
}

static int stop(void *arg)
{
	struct soft_dev *dev = arg;

	soft_cm_stop(dev);
	soft_drive_stop(dev);
	return 0;
}

static void dev_close(struct tp_device *base)
{
	struct soft_dev *dev = soft_dev(base);

	/* Without a connection or listener the loop may never have started, and nothing is to be
	 * stopped. */
	if (atomic_load(&dev->looped)) {
		soft_cm_settle(dev);
		soft_dev_call(dev, stop, dev);
	}
	dev_free(dev);
}

static const char *const carriers[] = {
	[SOFT_LINK_AUTO] = "shared memory on this host where it can be had, else TCP (link=auto)",
	[SOFT_LINK_TCP] = "TCP (link=tcp)",
	[SOFT_LINK_SHM] = "shared memory (link=shm)",
};

static const char *const sums[] = {
	[SOFT_CRC_NO] = "where the peer asks for it (crc=no)",
	[SOFT_CRC_YES] = "over TCP (crc=yes)",
	[SOFT_CRC_AUTO] = "to other hosts (crc=auto)",
};

static void dev_query(struct tp_device *base, struct tp_device_attr *attr)
{
	const struct soft_dev *dev = soft_dev(base);

	*attr = (struct tp_device_attr){
		.addr = dev->addr,
		.vendor_name = "software iWARP",
		.hw_major = 1,
		.fw_major = 1,
		.max_qp = 65536,
		.max_qp_wr = (uint32_t)dev->config->max_wr,
		.max_sge = SOFT_MAX_SGE,
		.max_sge_read = SOFT_MAX_SGE,
		.max_sge_write = SOFT_MAX_SGE,
		.max_read_in = SOFT_MAX_READS,
		.max_read_out = SOFT_MAX_READS,
		.max_cq = 65536,
		.max_cqe = SOFT_MAX_CQE,
		.max_mr = 1 << 20,
		.max_pd = 65536,
		.max_mr_size = 1ull << 46,
		.max_msg_size = SOFT_MAX_LENGTH,
		.max_rdma_size = SOFT_MAX_LENGTH,
		.max_datagram = SOFT_UD_MAX,
		.max_private_data = WIRE_MPA_PD_CONSUMER,
		.max_conn_qual = UINT16_MAX,
		.max_mw = 1 << 20,
		.max_srq = 65536,
		.max_srq_wr = SOFT_MAX_WR,
		.max_srq_sge = SOFT_MAX_SGE,
		.srq_limit = true,
		.srq_count = true,
		.srq_pd_differs = true,
		.recv_limits = true,
		.zero_based = true,
		.mw_pd_scope = true,
		.mw_qp_scope = true,
		.delayed_ack = true,
		.handoff = true,
		.ib_extension = true,
		.operations = TP_CAN(TP_SEND_INVALIDATE) | TP_CAN(TP_READ_TO_RKEY) |
			      TP_CAN(TP_RDMA_WRITE_IMM) | TP_ATOMICS,
		/* A stream has neither packets nor ports; programs size their messages by the MTU.
		 */
		.mtu = SOFT_UD_MAX,
		.port_num = 1,
		.port_status = "ACTIVE",
		.carried_by = carriers[dev->config->link],
		.crc = sums[dev->config->crc],
	};
	snprintf(attr->ib_device, sizeof(attr->ib_device), "%s", dev->name);
}

/* The counters as the program sees them. */
static int read_counters(struct tp_device *base, enum tp_counters group, uint64_t *value,
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

const struct dapl_device_ops soft_device_ops = {
	.open = dev_open,
	.close = dev_close,
	.query = dev_query,
	.read_counters = read_counters,
};
