/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The device and port of an entry of dat.conf. */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "dapl/base/fd.h"
#include "trace/log.h"
#include "providers/verbs/addr.h"
#include "providers/verbs/cm/exchange.h"

static int open_named(struct vrb_dev *dev, const char *name)
{
	struct ibv_device **all;
	int rc = -ENODEV, i;

	errno = 0;
	all = VRB_GLOBAL(ibv_get_device_list(NULL));
	if (!all && errno)
		rc = -errno;
	for (i = 0; all && all[i]; i++)
		if (!strcmp(ibv_get_device_name(all[i]), name)) {
			rc = vrb_dev_open(dev, all[i]);
			break;
		}
	if (all)
		ibv_free_device_list(all);
	/* ENOSYS: the list was not made because ib_uverbs is not loaded, or could not be looked at. */
	if (rc == -ENODEV || rc == -ENOSYS)
		rc = vrb_addr_errno(-ENODEV);
	if (rc)
		dapl_err("%s: verbs device %s: %s", dev->name, name, dapl_strerror(-rc));
	return rc;
}

static uint16_t pkey_index(const struct vrb_dev *dev, const struct ibv_port_attr *port)
{
	__be16 wanted = htobe16((uint16_t)dev->config->pkey), pkey;
	int i;

	for (i = 0; wanted && i < port->pkey_tbl_len; i++)
		if (!ibv_query_pkey(dev->ctx, dev->port, i, &pkey) && pkey == wanted)
			return (uint16_t)i;
	if (wanted)
		dapl_err("%s: port %u of %s is not in partition 0x%x (option pkey): its first one "
			 "is used",
			 dev->name, dev->port, dev->ibdev, (unsigned int)dev->config->pkey);
	return 0;
}

/* libibverbs tells of an empty place as of one with a GID of zeros. */
static bool learn_gid(struct vrb_dev *dev)
{
	static const union ibv_gid none;

	dev->gid_index = (int)dev->config->gid_index;
	dev->gid_named = true;
	return !ibv_query_gid(dev->ctx, dev->port, dev->gid_index, &dev->gid) &&
	       memcmp(&dev->gid, &none, sizeof(none));
}

static int learn(struct vrb_dev *dev)
{
	struct vrb_xchg *xchg = vrb_xchg(dev);
	struct ibv_device_attr attr;
	struct ibv_port_attr port;

	if (dev->ctx->device->transport_type == IBV_TRANSPORT_IWARP) {
		dapl_err("%s: %s is an iWARP device, whose connections are made by rdma_cm alone "
			 "(libdaplofa.so.2)",
			 dev->name, dev->ibdev);
		return -ENODEV;
	}
	if (ibv_query_device(dev->ctx, &attr) || ibv_query_port(dev->ctx, dev->port, &port)) {
		dapl_err("%s: %s has no port %u", dev->name, dev->ibdev, dev->port);
		return -ENODEV;
	}
	if (!learn_gid(dev)) {
		dapl_err("%s: port %u of %s has no GID of index %d (option gid_index)", dev->name,
			 dev->port, dev->ibdev, (int)dev->config->gid_index);
		return -EADDRNOTAVAIL;
	}
	xchg->ethernet = port.link_layer == IBV_LINK_LAYER_ETHERNET;
	xchg->active = port.state == IBV_PORT_ACTIVE;
	xchg->ack_delay = attr.local_ca_ack_delay;
	xchg->pkey_index = pkey_index(dev, &port);
	return 0;
}

void vrb_xchg_close(struct vrb_dev *dev)
{
	dapl_fd_disown(dev->ctx->cmd_fd);
	dapl_fd_disown(dev->ctx->async_fd);
	VRB_GLOBAL(ibv_close_device(dev->ctx));
}

int vrb_xchg_open(struct vrb_dev *dev, const char *params)
{
	char device[VRB_NAME_LEN];
	int rc;

	if (vrb_addr_split(params, device, sizeof(device), &dev->port) || !dev->port) {
		dapl_err("%s: \"%s\" is not a verbs device and its port", dev->name, params);
		return -EINVAL;
	}
	rc = open_named(dev, device);
	if (rc)
		return rc;
	rc = learn(dev);
	if (rc)
		vrb_xchg_close(dev);
	return rc;
}
