/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The device: opening it, and what it can do. */
#include "providers/verbs/device.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/base/fd.h"
#include "trace/log.h"
#include "providers/verbs/map.h"

/* ---- Attributes ---- */

static uint32_t least(uint64_t a, uint64_t b)
{
	return (uint32_t)(a < b ? a : b);
}

static uint32_t positive(int value)
{
	return value > 0 ? (uint32_t)value : 0;
}

/*
 * Some devices name limits that no machine has the memory for. There are some requests more than
 * the program sees.
 */
static uint32_t queue_length(const struct vrb_dev *dev, const struct ibv_device_attr *ib)
{
	const int own = VRB_DRAIN_WRS + VRB_WAKE_WRS;

	return ib->max_qp_wr > own
		       ? least((uint32_t)(ib->max_qp_wr - own), (uint64_t)dev->config->max_wr)
		       : 0;
}

#define TYPE_2 (IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B)

/* How many there are, mlx4 does not say: as many as regions, then. */
static void fill_windows(struct vrb_dev *dev, const struct ibv_device_attr *ib)
{
	unsigned int flags = ib->device_cap_flags;
	struct tp_device_attr *attr = &dev->attr;

	attr->mw_qp_scope = flags & TYPE_2;
	attr->mw_pd_scope = flags & IBV_DEVICE_MEM_WINDOW;
	if (flags & TYPE_2)
		attr->operations |= TP_CAN(TP_SEND_INVALIDATE);
	dev->windows = attr->mw_qp_scope || attr->mw_pd_scope;
	attr->max_mw = dev->windows ? positive(ib->max_mw > 0 ? ib->max_mw : ib->max_mr) : 0;
}

/* Ports of mana did not say before 2026, and send no more than this. */
#define MAX_MSG_UNSAID (1U << 24)

static void fill_attr(struct vrb_dev *dev, const struct ibv_device_attr *ib,
		      const struct ibv_port_attr *port)
{
	uint32_t sge = positive(ib->max_sge),
		 msg = port->max_msg_sz ? port->max_msg_sz : MAX_MSG_UNSAID;
	struct tp_device_attr *attr = &dev->attr;
	unsigned int major = 0, minor = 0;

	sscanf(ib->fw_ver, "%u.%u", &major, &minor);
	*attr = (struct tp_device_attr){
		.addr = dev->addr,
		.hw_major = ib->hw_ver,
		.fw_major = major,
		.fw_minor = minor,
		.max_qp = positive(ib->max_qp),
		.max_qp_wr = queue_length(dev, ib),
		.max_sge = sge,
		.max_sge_read = ib->max_sge_rd > 0 ? least(positive(ib->max_sge_rd), sge) : sge,
		.max_sge_write = sge,
		/* rdma_cm negotiates depths of eight bits. */
		.max_read_in = least(positive(ib->max_qp_rd_atom), UINT8_MAX),
		.max_read_out = least(positive(ib->max_qp_init_rd_atom), UINT8_MAX),
		.max_cq = positive(ib->max_cq),
		.max_cqe = positive(ib->max_cqe),
		.max_mr = positive(ib->max_mr),
		.max_pd = positive(ib->max_pd),
		.max_mr_size = ib->max_mr_size,
		.max_msg_size = msg,
		.max_rdma_size = msg,
		.max_conn_qual = UINT16_MAX,
		.read_needs_remote_write = dev->quirks.read_needs_remote_write,
		.read_exposes_sink = dev->quirks.read_needs_remote_write,
		.max_srq = positive(ib->max_srq),
		.max_srq_wr = least(positive(ib->max_srq_wr), (uint64_t)dev->config->max_wr),
		/* Announced is what a DTO has. */
		.max_srq_sge = least(positive(ib->max_srq_sge), sge),
		.srq_limit = ib->max_srq > 0,
		.mtu = 128U << port->active_mtu,
		.port_num = dev->port,
		.node_guid = be64toh(ib->node_guid),
		.port_status = vrb_map_port_state(port->state),
		.ib_extension = !dev->quirks.no_ib_operations,
	};
	snprintf(attr->vendor_name, sizeof(attr->vendor_name), "%.40s (vendor 0x%x)", dev->ibdev,
		 ib->vendor_id);
	if (!dev->quirks.no_ib_operations)
		attr->operations = TP_CAN(TP_RDMA_WRITE_IMM) |
				   (ib->atomic_cap != IBV_ATOMIC_NONE ? TP_ATOMICS : 0);
	fill_windows(dev, ib);
	vrb_port_learn(dev);
}

static int query(struct vrb_dev *dev)
{
	struct ibv_device_attr ib;
	struct ibv_port_attr port;
	int rc = ibv_query_device(dev->ctx, &ib);

	if (!rc)
		rc = ibv_query_port(dev->ctx, dev->port, &port);
	if (rc) {
		dapl_err("%s: %s does not tell its attributes: %s", dev->name, dev->ibdev,
			 dapl_strerror(rc));
		return -abs(rc);
	}
	dev->quirks = vrb_quirks_of(dev->ctx->device, ib.vendor_id, port.link_layer);
	fill_attr(dev, &ib, &port);
	snprintf(dev->attr.ib_device, sizeof(dev->attr.ib_device), "%s", dev->ibdev);
	dev->max_qp_wr = positive(ib.max_qp_wr);
	return 0;
}

/* Whether CQs can be resized shows only when it is tried. */
static void probe_resize(struct vrb_dev *dev)
{
	struct ibv_cq *cq = VRB_GLOBAL(ibv_create_cq(dev->ctx, 1, NULL, NULL, 0));

	if (!cq)
		return;
	dev->no_resize = VRB_GLOBAL(ibv_resize_cq(cq, cq->cqe + 1));
	VRB_GLOBAL(ibv_destroy_cq(cq));
}

/* Whether the library has the call: cxgb4's and bnxt_re's have not, whatever the kernel says. */
static bool has_windows(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ibv_mw *mw;

	errno = 0;
	mw = ibv_alloc_mw(pd, type);
	if (mw)
		ibv_dealloc_mw(mw);
	return mw || (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL);
}

static void probe_windows(struct vrb_dev *dev)
{
	struct tp_device_attr *attr = &dev->attr;
	struct ibv_pd *pd = dev->windows ? ibv_alloc_pd(dev->ctx) : NULL;

	if (!pd)
		return;
	attr->mw_qp_scope = attr->mw_qp_scope && has_windows(pd, IBV_MW_TYPE_2);
	attr->mw_pd_scope = attr->mw_pd_scope && has_windows(pd, IBV_MW_TYPE_1);
	if (!attr->mw_qp_scope)
		attr->operations &= ~TP_CAN(TP_SEND_INVALIDATE);
	ibv_dealloc_pd(pd);
	dev->windows = attr->mw_qp_scope || attr->mw_pd_scope;
	if (!dev->windows)
		attr->max_mw = 0;
}

int vrb_dev_learn(struct vrb_dev *dev)
{
	uint32_t len;
	int rc = query(dev);

	if (rc)
		return rc;
	len = dev->quirks.first_cq_len ? least(dev->quirks.first_cq_len, dev->attr.max_cqe) : 1;
	dev->null_cq = VRB_GLOBAL(ibv_create_cq(dev->ctx, (int)len, NULL, NULL, 0));
	if (!dev->null_cq) {
		dapl_err("%s: no completion queue to be had: %s", dev->name, dapl_strerror(errno));
		return -ENOMEM;
	}
	probe_resize(dev);
	probe_windows(dev);
	return 0;
}

/* ---- Life ---- */

int vrb_own_fd(int *fd, bool nonblock)
{
	int flags;

	*fd = dapl_fd_own(*fd);
	if (*fd < 0)
		return -errno;
	if (!nonblock)
		return 0;
	flags = fcntl(*fd, F_GETFL);
	return flags < 0 || fcntl(*fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -errno : 0;
}

static void close_ctx(struct vrb_dev *dev)
{
	dapl_fd_disown(dev->ctx->cmd_fd);
	dapl_fd_disown(dev->ctx->async_fd);
	VRB_GLOBAL(ibv_close_device(dev->ctx));
}

int vrb_dev_open(struct vrb_dev *dev, struct ibv_device *device)
{
	int rc;

	dev->ctx = VRB_GLOBAL(ibv_open_device(device));
	if (!dev->ctx)
		return errno ? -errno : -ENODEV;
	rc = vrb_own_fd(&dev->ctx->cmd_fd, false);
	if (!rc)
		rc = vrb_own_fd(&dev->ctx->async_fd, true);
	if (rc)
		close_ctx(dev);
	else
		snprintf(dev->ibdev, sizeof(dev->ibdev), "%s", ibv_get_device_name(device));
	return rc;
}

void vrb_dev_close(struct vrb_dev *dev)
{
	if (dev->null_cq)
		VRB_GLOBAL(ibv_destroy_cq(dev->null_cq));
	close_ctx(dev);
}

void vrb_dev_disown(struct vrb_dev *dev, void **context)
{
	pthread_mutex_lock(&dev->async_lock);
	*context = NULL;
	pthread_mutex_unlock(&dev->async_lock);
}
