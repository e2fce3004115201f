/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The device, and the tables that make a transport of it all. */
#include "test/minimal/minimal.h"

#include "dapl/unsupported.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>

pthread_mutex_t mini_lock = PTHREAD_MUTEX_INITIALIZER;

static int device_open(const struct tp_device_init *init, struct tp_device **out)
{
	struct tp_device *dev = malloc(sizeof(*dev));

	if (!dev)
		return -ENOMEM;
	*dev = (struct tp_device){
		.transport = &dapl_module_transport,
		.up = init->up,
		.loop = init->loop,
		.owner = init->owner,
	};
	*out = dev;
	return 0;
}

static void device_close(struct tp_device *dev)
{
	free(dev);
}

static void device_query(struct tp_device *dev, struct tp_device_attr *attr)
{
	struct sockaddr_in *addr = (struct sockaddr_in *)&attr->addr;

	(void)dev;
	*attr = (struct tp_device_attr){
		.vendor_name = "udapl",
		.max_qp = 4096,
		.max_qp_wr = 4096,
		.max_sge = 8,
		.max_sge_read = 8,
		.max_sge_write = 8,
		.max_read_in = 16,
		.max_read_out = 16,
		.max_cq = 4096,
		.max_cqe = 65536,
		.max_mr = 65536,
		.max_pd = 4096,
		.max_mr_size = UINT64_C(1) << 40,
		.max_msg_size = 0x7fffffff,
		.max_rdma_size = 0x7fffffff,
		.max_private_data = MINI_MAX_DATA,
		.max_conn_qual = MINI_LAST_QUAL,
	};
	addr->sin_family = AF_INET;
	addr->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
}

static const struct dapl_device_ops device_ops = {
	.open = device_open,
	.close = device_close,
	.query = device_query,
	.read_counters = dapl_unsupported_read_counters,
};

const struct dapl_transport dapl_module_transport = {
	.version = DAPL_TRANSPORT_VERSION,
	.size = sizeof(struct dapl_transport),
	.name = "minimal",
	.provider_name = "udapl minimal",
	.version_major = 1,
	.device = &device_ops,
	.pd = &mini_pd_ops,
	.mr = &mini_mr_ops,
	.mw = &dapl_unsupported_mw_ops,
	.srq = &dapl_unsupported_srq_ops,
	.cq = &mini_cq_ops,
	.qp = &mini_qp_ops,
	.cm = &mini_cm_ops,
};
