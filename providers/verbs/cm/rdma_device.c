/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The device of an rdma_cm address, and the channel of its events. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/base/fd.h"
#include "trace/log.h"
#include "util/fd.h"
#include "providers/verbs/addr.h"
#include "providers/verbs/cm/rdma.h"

static void close_channel(struct rdma_event_channel *channel)
{
	dapl_fd_disown(channel->fd);
	rdma_destroy_event_channel(channel);
}

/* The first call of librdmacm: without devices or drivers it fails. */
static int open_channel(struct vrb_dev *dev, struct vrb_rdma *rdma)
{
	int err;

	errno = 0;
	rdma->channel = rdma_create_event_channel();
	if (rdma->channel) {
		err = vrb_own_fd(&rdma->channel->fd, true);
		if (!err)
			return 0;
		dapl_err("%s: descriptor of rdma_cm not taken over: %s", dev->name,
			 dapl_strerror(err));
		close_channel(rdma->channel);
		return err;
	}
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

static bool suits(const struct vrb_wanted *wanted, const struct rdma_cm_id *id)
{
	if (!id->verbs)
		return false;
	if (!wanted->by_device)
		return true;
	return !strcmp(ibv_get_device_name(id->verbs->device), wanted->what) &&
	       (!wanted->port || wanted->port == id->port_num);
}

/* librdmacm opens the device for itself, once, and closes it when it likes. */
static void raise_numbers(struct ibv_context *ctx)
{
	if (!ctx)
		return;
	ctx->cmd_fd = dats_fd(ctx->cmd_fd);
	ctx->async_fd = dats_fd(ctx->async_fd);
}

/* 0: it is this one and open. -ENODEV: an address without a suitable device. */
static int try(struct vrb_dev *dev, const struct vrb_wanted *wanted, struct sockaddr_storage *addr)
{
	struct rdma_cm_id *id;
	int rc;

	if (rdma_create_id(vrb_rdma(dev)->channel, &id, NULL, RDMA_PS_TCP))
		return -errno;
	rc = rdma_bind_addr(id, (struct sockaddr *)addr) ? -errno : 0;
	if (!rc) {
		raise_numbers(id->verbs);
		rc = suits(wanted, id) ? vrb_dev_open(dev, id->verbs->device) : -ENODEV;
	}
	if (!rc) {
		dev->port = id->port_num;
		dev->addr = *addr;
		vrb_rdma(dev)->ops = id->verbs->device->transport_type == IBV_TRANSPORT_IWARP
					     ? &vrb_rdma_iwarp
					     : &vrb_rdma_ib;
	}
	rdma_destroy_id(id);
	return rc;
}

/* Whether a port of the device of that name is InfiniBand's. */
static bool is_infiniband(const struct vrb_wanted *wanted)
{
	struct ibv_device **all = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;
	struct ibv_port_attr port = { .link_layer = IBV_LINK_LAYER_UNSPECIFIED };
	int i;

	for (i = 0; all && all[i] && !ctx; i++)
		if (!strcmp(ibv_get_device_name(all[i]), wanted->what))
			ctx = ibv_open_device(all[i]);
	if (ctx) {
		ibv_query_port(ctx, wanted->port ? (uint8_t)wanted->port : 1, &port);
		ibv_close_device(ctx);
	}
	if (all)
		ibv_free_device_list(all);
	return port.link_layer == IBV_LINK_LAYER_INFINIBAND;
}

/* rdma_cm knows devices by the addresses of their interfaces. */
static void say_no_address(const struct vrb_dev *dev, const char *params,
			   const struct vrb_wanted *wanted)
{
	if (!wanted->by_device)
		dapl_err("%s: no RDMA device with an address of \"%s\" (%u tried)", dev->name,
			 params, wanted->num);
	else if (is_infiniband(wanted))
		dapl_err("%s: InfiniBand device %s has no IP address, without which rdma_cm does "
			 "not find it: load ib_ipoib and give the interface of the port (ib0) one",
			 dev->name, wanted->what);
	else
		dapl_err("%s: no interface of RDMA device %s has an IP address (%u tried): set it "
			 "up and give it one",
			 dev->name, wanted->what, wanted->num);
}

/* The first address with a suitable device, which is open then. */
static int try_all(struct vrb_dev *dev, struct vrb_wanted *wanted)
{
	int rc = vrb_addr_list(wanted), best = -ENODEV;
	uint32_t i;

	if (rc)
		return rc;
	for (i = 0; i < wanted->num; i++) {
		rc = try(dev, wanted, &wanted->addr[i]);
		if (rc != -ENODEV && rc != -EADDRNOTAVAIL)
			return rc;
		best = rc;
	}
	return best;
}

static int find(struct vrb_dev *dev, const char *params)
{
	struct vrb_wanted wanted;
	int rc = vrb_addr_parse(params, &wanted);

	if (rc) {
		dapl_err("%s: \"%s\" is not an interface, address, host or verbs device and a "
			 "number",
			 dev->name, params);
		return rc;
	}
	rc = try_all(dev, &wanted);
	free(wanted.addr);
	if (!rc)
		return 0;
	if (rc == -ENODEV)
		rc = vrb_addr_errno(rc);
	if (rc == -ENODEV && (wanted.num || wanted.by_device))
		say_no_address(dev, params, &wanted);
	else if (rc == -ENODEV)
		dapl_err("%s: no interface, verbs device or host \"%s\"", dev->name, wanted.what);
	else
		dapl_err("%s: \"%s\": %s", dev->name, params, dapl_strerror(rc));
	return rc;
}

int vrb_rdma_open(struct vrb_dev *dev, const char *params)
{
	struct vrb_rdma *rdma = calloc(1, sizeof(*rdma));
	int rc;

	if (!rdma) {
		dapl_err("%s: not opened: %s", dev->name, dapl_strerror(ENOMEM));
		return -ENOMEM;
	}
	rc = open_channel(dev, rdma);
	if (rc) {
		free(rdma);
		return rc;
	}
	rdma->dev = dev;
	dev->cm = rdma;
	rc = find(dev, params);
	if (rc)
		vrb_rdma_close(dev);
	return rc;
}

void vrb_rdma_close(struct vrb_dev *dev)
{
	close_channel(vrb_rdma(dev)->channel);
	free(dev->cm);
}
