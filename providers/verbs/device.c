/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The adapter: opening it, what it can do, and what it says unasked. */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "dapl/base/fd.h"
#include "trace/log.h"
#include "providers/verbs/map.h"
#include "providers/verbs/verbs.h"

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

static void fill_windows(struct vrb_dev *dev, const struct ibv_device_attr *ib)
{
	unsigned int flags = ib->max_mw > 0 ? ib->device_cap_flags : 0;
	struct tp_device_attr *attr = &dev->attr;

	attr->mw_qp_scope = flags & TYPE_2;
	attr->mw_pd_scope = flags & IBV_DEVICE_MEM_WINDOW;
	attr->send_invalidate = flags & TYPE_2;
	dev->windows = attr->mw_qp_scope || attr->mw_pd_scope;
	attr->max_mw = dev->windows ? positive(ib->max_mw) : 0;
}

/* Eight groups of four digits (IBX-116). */
static void fill_gid(struct vrb_dev *dev)
{
	char *to = dev->attr.gid;
	union ibv_gid gid;
	int i;

	if (ibv_query_gid(dev->ctx, dev->port, 0, &gid))
		return;
	for (i = 0; i < 16; i += 2)
		to += sprintf(to, "%s%02x%02x", i ? ":" : "", gid.raw[i], gid.raw[i + 1]);
}

static void fill_attr(struct vrb_dev *dev, const struct ibv_device_attr *ib,
		      const struct ibv_port_attr *port)
{
	uint32_t sge = positive(ib->max_sge);
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
		.max_msg_size = port->max_msg_sz,
		.max_rdma_size = port->max_msg_sz,
		.max_private_data = dev->iwarp ? VRB_PD_MAX_IWARP : VRB_PD_MAX,
		.max_conn_qual = UINT16_MAX,
		.read_needs_remote_write = dev->iwarp,
		.read_exposes_sink = dev->iwarp,
		.max_srq = positive(ib->max_srq),
		.max_srq_wr = least(positive(ib->max_srq_wr), (uint64_t)dev->config->max_wr),
		.max_srq_sge = positive(ib->max_srq_sge),
		.srq_limit = ib->max_srq > 0,
		.mtu = 128U << port->active_mtu,
		.port_num = dev->port,
		.node_guid = be64toh(ib->node_guid),
		.port_status = vrb_map_port_state(port->state),
		/* iWARP's operations end with RFC 5040 here (IBX-2). */
		.ib_extension = !dev->iwarp,
		.write_immediate = !dev->iwarp,
		.fetch_and_add = !dev->iwarp && ib->atomic_cap != IBV_ATOMIC_NONE,
		.cmp_and_swap = !dev->iwarp && ib->atomic_cap != IBV_ATOMIC_NONE,
	};
	snprintf(attr->vendor_name, sizeof(attr->vendor_name), "%.40s (vendor 0x%x)", dev->ibdev,
		 ib->vendor_id);
	fill_windows(dev, ib);
	fill_gid(dev);
}

/* Devices whose only words for local faults are "operation error" and "general error". */
#define VENDOR_RXE 0xffffff
#define VENDOR_SIW 0x626d74

static int learn_attr(struct vrb_dev *dev)
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
	fill_attr(dev, &ib, &port);
	snprintf(dev->attr.ib_device, sizeof(dev->attr.ib_device), "%s", dev->ibdev);
	dev->roce = !dev->iwarp && port.link_layer == IBV_LINK_LAYER_ETHERNET;
	dev->max_qp_wr = positive(ib.max_qp_wr);
	dev->siw = ib.vendor_id == VENDOR_SIW;
	dev->vague = ib.vendor_id == VENDOR_RXE || ib.vendor_id == VENDOR_SIW;
	return 0;
}

/* ---- Asynchronous events ---- */

static void device_gone(struct vrb_dev *dev)
{
	struct vrb_qp *qp;

	if (atomic_exchange(&dev->gone, true))
		return;
	dapl_err("%s: device %s is gone or failed", dev->name, dev->ibdev);
	pthread_mutex_lock(&dev->lock);
	for (qp = dev->qps; qp; qp = qp->next) {
		atomic_store(&qp->fault, TP_WC_TRANSPORT);
		vrb_qp_notify(qp);
	}
	pthread_mutex_unlock(&dev->lock);
}

void vrb_dev_removed(struct vrb_dev *dev)
{
	bool first = !atomic_load(&dev->gone);

	device_gone(dev);
	if (first)
		dev->base.up->async(dev->base.owner, TP_ASYNC_DEVICE_FATAL, NULL);
}

/*
 * soft-iWARP calls it fatal that a request met a connection that the peer had closed. The request's
 * completion is there before the event.
 */
static bool only_closed(struct vrb_qp *qp, const struct ibv_async_event *event)
{
	if (!qp->dev->siw || event->event_type != IBV_EVENT_QP_FATAL)
		return false;
	vrb_qp_collect(qp);
	return atomic_load(&qp->peer_closed) && !atomic_load(&qp->fault);
}

static void qp_event(struct vrb_dev *dev, const struct ibv_async_event *event)
{
	struct vrb_qp *qp = event->element.qp->qp_context;
	uint32_t none = 0;

	if (!qp || only_closed(qp, event)) /* NULL: abandoned */
		return;
	if (atomic_compare_exchange_strong(&qp->fault, &none, TP_WC_TRANSPORT))
		dapl_err_limited("%s: QP 0x%x: %s", dev->name, event->element.qp->qp_num,
				 ibv_event_type_str(event->event_type));
	dapl_loop_post(dev->base.loop, &qp->notice);
	vrb_qp_notify(qp);
}

/*
 * The core hears of an object's event from a task: what it does then may end with the object
 * destroyed, for which libibverbs waits until the event is acknowledged.
 */
static void handle(struct vrb_dev *dev, const struct ibv_async_event *event)
{
	struct vrb_async what = vrb_map_async(event->event_type);
	struct vrb_cq *cq;

	dapl_trace(verbs_async, DAPL_TRC_NORMAL, dev, "ia=%s device=%s event=%s", dev->name,
		   dev->ibdev, ibv_event_type_str(event->event_type));
	switch (what.object) {
	case VRB_ASYNC_NOBODY:
		break;
	case VRB_ASYNC_CQ:
		cq = event->element.cq->cq_context;
		dapl_loop_post(dev->base.loop, &cq->overflow);
		break;
	case VRB_ASYNC_QP:
		qp_event(dev, event);
		break;
	case VRB_ASYNC_SRQ:
		vrb_srq_event(event->element.srq->srq_context, what.event);
		break;
	case VRB_ASYNC_DEVICE:
		if (what.event == TP_ASYNC_DEVICE_FATAL)
			vrb_dev_removed(dev);
		else
			dev->base.up->async(dev->base.owner, what.event, NULL);
		break;
	}
}

void vrb_dev_events(struct vrb_dev *dev)
{
	struct ibv_async_event event;

	while (!ibv_get_async_event(dev->ctx, &event)) {
		handle(dev, &event);
		ibv_ack_async_event(&event);
	}
}

static void async_ready(struct tp_watch *watch, uint32_t events)
{
	struct vrb_dev *dev = vrb_container(watch, struct vrb_dev, async);

	vrb_dev_events(dev);
	if (errno == EAGAIN && !(events & EPOLLERR))
		return;
	/* A device that was torn away answers nothing any more. */
	dapl_loop_del(dev->base.loop, watch);
	vrb_dev_removed(dev);
}

/* ---- Life ---- */

static int nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -errno : 0;
}

/* Whether CQs can be resized shows only when it is tried. */
static void probe_resize(struct vrb_dev *dev)
{
	struct ibv_cq *cq = ibv_create_cq(dev->ctx, 1, NULL, NULL, 0);

	if (!cq)
		return;
	dev->no_resize = ibv_resize_cq(cq, cq->cqe + 1);
	ibv_destroy_cq(cq);
}

/*
 * libsiw takes the offset 0x90000 of a mapping for a failure, and the kernel gives out offsets from
 * the lowest free one on: the first queue of a soft-iWARP context has to cover it.
 */
static int null_length(const struct vrb_dev *dev)
{
	const int covering = 20000; /* of 32 bytes */

	if (!dev->iwarp)
		return 1;
	return (int)dev->attr.max_cqe < covering ? (int)dev->attr.max_cqe : covering;
}

static int start(struct vrb_dev *dev)
{
	int rc = nonblocking(dev->ctx->async_fd);

	if (!rc)
		rc = learn_attr(dev);
	if (rc)
		return rc;
	dev->null_cq = ibv_create_cq(dev->ctx, null_length(dev), NULL, NULL, 0);
	if (!dev->null_cq) {
		dapl_err("%s: no completion queue to be had: %s", dev->name, dapl_strerror(errno));
		return -ENOMEM;
	}
	probe_resize(dev);
	dev->async = (struct tp_watch){ .ready = async_ready, .fd = dev->ctx->async_fd };
	return dapl_loop_add(dev->base.loop, &dev->async, EPOLLIN);
}

static void dev_init(struct vrb_dev *dev, const struct tp_device_init *init)
{
	dev->base = (struct tp_device){ .transport = &dapl_module_transport,
					.up = init->up,
					.loop = init->loop,
					.owner = init->owner };
	dev->config = init->config ? init->config : &vrb_config;
	snprintf(dev->name, sizeof(dev->name), "%s", init->ia_name);
	pthread_mutex_init(&dev->cm_lock, NULL);
	pthread_cond_init(&dev->cm_left, NULL);
	pthread_mutex_init(&dev->lock, NULL);
	pthread_mutex_init(&dev->mw_lock, NULL);
	pthread_mutex_init(&dev->number_lock, NULL);
	pthread_mutex_init(&dev->mr_lock, NULL);
	vrb_reaper_init(&dev->reaper);
}

static void dev_free(struct vrb_dev *dev)
{
	pthread_mutex_destroy(&dev->mr_lock);
	pthread_mutex_destroy(&dev->number_lock);
	pthread_mutex_destroy(&dev->mw_lock);
	pthread_mutex_destroy(&dev->lock);
	pthread_cond_destroy(&dev->cm_left);
	pthread_mutex_destroy(&dev->cm_lock);
	free(dev->mrs);
	free(dev);
}

int vrb_own_fd(int *fd)
{
	*fd = dapl_fd_own(*fd);
	return *fd < 0 ? -errno : 0;
}

void vrb_close_ctx(struct ibv_context *ctx)
{
	dapl_fd_disown(ctx->cmd_fd);
	dapl_fd_disown(ctx->async_fd);
	ibv_close_device(ctx);
}

static void close_channel(struct rdma_event_channel *channel)
{
	dapl_fd_disown(channel->fd);
	rdma_destroy_event_channel(channel);
}

static int prepare_channel(struct rdma_event_channel *channel)
{
	int rc = vrb_own_fd(&channel->fd);

	if (!rc)
		rc = nonblocking(channel->fd);
	if (rc)
		close_channel(channel);
	return rc;
}

/* The first call of librdmacm: without devices or drivers it fails. */
static int open_channel(struct vrb_dev *dev)
{
	int err;

	errno = 0;
	dev->channel = rdma_create_event_channel();
	if (dev->channel)
		return prepare_channel(dev->channel);
	err = errno ? errno : ENODEV;
	if (err != EMFILE && err != ENFILE)
		err = -vrb_addr_errno(-err);
	if (err == ENODEV || err == ENOENT || err == ENOSYS) {
		dapl_err("%s: no RDMA devices (are their drivers and rdma_ucm loaded?): %s",
			 dev->name, dapl_strerror(err));
		return -ENODEV;
	}
	dapl_err("%s: rdma_cm does not answer: %s", dev->name, dapl_strerror(err));
	return -err;
}

/* Before the first registration of the process, or libibverbs refuses. */
static int make_fork_safe(const struct vrb_dev *dev)
{
	int err = dev->config->fork_safe ? ibv_fork_init() : 0;

	if (err)
		dapl_err("%s: registered memory not made safe for fork: %s (something was "
			 "registered before?)",
			 dev->name, dapl_strerror(err));
	return -abs(err);
}

static int dev_open(const struct tp_device_init *init, struct tp_device **out)
{
	struct vrb_dev *dev = calloc(1, sizeof(*dev));
	char text[VRB_ADDR_TEXT];
	int rc;

	if (!dev) {
		dapl_err("%s: not opened: %s", init->ia_name, dapl_strerror(ENOMEM));
		return -ENOMEM;
	}
	dev_init(dev, init);
	rc = make_fork_safe(dev);
	if (rc)
		goto free_dev;
	rc = open_channel(dev);
	if (rc)
		goto free_dev;
	rc = vrb_addr_open(dev, init->params);
	if (rc)
		goto destroy_channel;
	rc = start(dev);
	if (rc)
		goto close_ctx;
	rc = vrb_cm_start(dev);
	if (rc)
		goto unwatch;
	dapl_trace(verbs_open, DAPL_TRC_NORMAL, dev, "ia=%s device=%s port=%u kind=%s address=%s",
		   dev->name, dev->ibdev, dev->port, dev->iwarp ? "iWARP" : "InfiniBand or RoCE",
		   vrb_addr_text(&dev->addr, text));
	*out = &dev->base;
	return 0;

unwatch:
	dapl_loop_del(dev->base.loop, &dev->async);
close_ctx:
	if (dev->null_cq)
		ibv_destroy_cq(dev->null_cq);
	vrb_close_ctx(dev->ctx);
destroy_channel:
	close_channel(dev->channel);
free_dev:
	vrb_reaper_end(&dev->reaper);
	dev_free(dev);
	return rc;
}

static void dev_close(struct tp_device *base)
{
	struct vrb_dev *dev = vrb_dev(base);

	vrb_reaper_end(&dev->reaper);
	vrb_cm_stop(dev);
	dapl_loop_del(base->loop, &dev->async);
	close_channel(dev->channel);
	ibv_destroy_cq(dev->null_cq);
	vrb_close_ctx(dev->ctx);
	dev_free(dev);
}

static void dev_query(struct tp_device *base, struct tp_device_attr *attr)
{
	*attr = vrb_dev(base)->attr;
}

const struct dapl_device_ops vrb_device_ops = {
	.open = dev_open,
	.close = dev_close,
	.query = dev_query,
	.sample = vrb_dev_counters,
};
