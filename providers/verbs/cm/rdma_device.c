/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The device of an rdma_cm address, and the channel of its events. */
#include <endian.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
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
	rdma->channel = VRB_GLOBAL(rdma_create_event_channel());
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

static bool is_wanted(const struct vrb_wanted *wanted, const struct rdma_cm_id *id)
{
	if (!id->verbs)
		return false;
	if (!wanted->by_device)
		return true;
	return !strcmp(ibv_get_device_name(id->verbs->device), wanted->what) &&
	       (!wanted->port || wanted->port == id->port_num);
}

/* Ethernet has one. rdma_cm takes the interface's. */
static bool in_partition(const struct vrb_dev *dev, struct rdma_cm_id *id)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	uint32_t wanted = (uint32_t)dev->config->pkey & VRB_PKEY_MASK;
	struct ibv_port_attr port;
	__be16 pkey;
	int mask = 0;

	if (!wanted || ibv_query_port(id->verbs, id->port_num, &port) ||
	    port.link_layer != IBV_LINK_LAYER_INFINIBAND)
		return true;
	return !rdma_init_qp_attr(id, &attr, &mask) &&
	       !ibv_query_pkey(id->verbs, id->port_num, attr.pkey_index, &pkey) &&
	       (be16toh(pkey) & VRB_PKEY_MASK) == wanted;
}

static bool suits(struct vrb_dev *dev, const struct vrb_wanted *wanted, struct rdma_cm_id *id)
{
	if (!is_wanted(wanted, id))
		return false;
	return vrb_rdma(dev)->by_gid ? vrb_gid_partition(dev, id->verbs, id->port_num)
				     : in_partition(dev, id);
}

/* librdmacm opens the device for itself, once, and closes it when it likes. */
static void raise_numbers(struct ibv_context *ctx)
{
	if (!ctx)
		return;
	ctx->cmd_fd = dats_fd(ctx->cmd_fd);
	ctx->async_fd = dats_fd(ctx->async_fd);
}

/* For who asks why it is this one. */
static void note_choice(struct vrb_dev *dev, const struct vrb_wanted *wanted)
{
	char interface[IF_NAMESIZE];

	vrb_addr_interface(&dev->addr, interface, sizeof(interface));
	if (vrb_rdma(dev)->by_gid)
		snprintf(dev->chosen_by, sizeof(dev->chosen_by),
			 "GID of %.64s port %u, which has no IP address", dev->ibdev, dev->port);
	else if (wanted->by_device)
		snprintf(dev->chosen_by, sizeof(dev->chosen_by),
			 "first address on %.64s port %u: interface %s", dev->ibdev, dev->port,
			 interface);
	else if (!strcmp(interface, wanted->what))
		snprintf(dev->chosen_by, sizeof(dev->chosen_by),
			 "first address of interface %s: %.64s port %u", interface, dev->ibdev,
			 dev->port);
	else
		snprintf(dev->chosen_by, sizeof(dev->chosen_by),
			 "address of interface %s: %.64s port %u", interface, dev->ibdev,
			 dev->port);
}

/* 0: it is this one and open. -ENODEV: an address without a suitable device. */
static int try(struct vrb_dev *dev, const struct vrb_wanted *wanted,
	       const struct sockaddr_storage *addr)
{
	struct vrb_rdma *rdma = vrb_rdma(dev);
	struct sockaddr_storage wire = *addr;
	struct rdma_cm_id *id;
	int rc;

	if (VRB_GLOBAL(rdma_create_id(rdma->channel, &id, NULL, RDMA_PS_TCP)))
		return -errno;
	vrb_gid_wire(dev, &wire);
	rc = VRB_GLOBAL(rdma_bind_addr(id, (struct sockaddr *)&wire)) ? -errno : 0;
	if (!rc) {
		raise_numbers(id->verbs);
		rc = suits(dev, wanted, id) ? vrb_dev_open(dev, id->verbs->device) : -ENODEV;
	}
	if (!rc) {
		dev->port = id->port_num;
		dev->addr = *addr;
		rdma->ops = id->verbs->device->transport_type == IBV_TRANSPORT_IWARP
				    ? &vrb_rdma_iwarp
				    : &vrb_rdma_ib;
		dev->gid = id->route.addr.addr.ibaddr.sgid;
		note_choice(dev, wanted);
	}
	VRB_GLOBAL(rdma_destroy_id(id));
	return rc;
}

/* rdma_cm knows devices by the addresses of their interfaces, and those of InfiniBand by GIDs. */
static void say_no_address(const struct vrb_dev *dev, const char *params,
			   const struct vrb_wanted *wanted, uint32_t num)
{
	if (dev->config->pkey)
		dapl_err("%s: no RDMA device with an address of \"%s\" in partition 0x%x (option "
			 "pkey; %u tried)",
			 dev->name, params, (unsigned int)dev->config->pkey, num + wanted->num);
	else if (!wanted->by_device)
		dapl_err("%s: no RDMA device with an address of \"%s\" (%u tried)", dev->name,
			 params, num);
	else if (wanted->num)
		dapl_err(
			"%s: InfiniBand device %s has no IP address, and rdma_cm takes none of its "
			"%u GIDs (AF_IB, since Linux 3.11): load ib_ipoib and give the interface "
			"of "
			"the port (ib0) an address",
			dev->name, wanted->what, wanted->num);
	else if (wanted->port)
		dapl_err("%s: no interface of port %u of RDMA device %s has an IP address (%u "
			 "tried): set it up and give it one",
			 dev->name, wanted->port, wanted->what, num);
	else
		dapl_err("%s: no interface of RDMA device %s has an IP address (%u tried): set it "
			 "up and give it one",
			 dev->name, wanted->what, num);
}

static bool lies_with_address(int rc)
{
	return rc == -ENODEV || rc == -EADDRNOTAVAIL;
}

/* The first address with a suitable device, which is open then; -EADDRNOTAVAIL: no address can be used
 * at all, -ENODEV: one can, without a suitable device. */
static int try_all(struct vrb_dev *dev, struct vrb_wanted *wanted)
{
	int rc, best = wanted->num ? -EADDRNOTAVAIL : -ENODEV;
	uint32_t i;

	for (i = 0; i < wanted->num; i++) {
		rc = try(dev, wanted, &wanted->addr[i]);
		if (!lies_with_address(rc))
			return rc;
		if (rc == -ENODEV)
			best = rc;
	}
	return best;
}

/* librdmacm refuses the family if the kernel does. */
static int try_gids(struct vrb_dev *dev, struct vrb_wanted *wanted)
{
	int rc = vrb_gid_list(wanted);

	vrb_rdma(dev)->by_gid = true;
	if (!rc)
		rc = try_all(dev, wanted);
	return rc == -EINVAL || rc == -EAFNOSUPPORT ? -ENODEV : rc;
}

static int find_wanted(struct vrb_dev *dev, const char *params, struct vrb_wanted *wanted)
{
	int rc = vrb_addr_list(wanted);
	uint32_t num = wanted->num;

	if (!rc)
		rc = try_all(dev, wanted);
	if (lies_with_address(rc) && wanted->by_device)
		rc = try_gids(dev, wanted);
	if (!rc)
		return 0;
	if (rc == -ENODEV)
		rc = vrb_addr_errno(rc);
	if (rc == -ENODEV && (num || wanted->by_device))
		say_no_address(dev, params, wanted, num);
	else if (rc == -ENODEV)
		dapl_err("%s: no interface, verbs device or host \"%s\"", dev->name, wanted->what);
	else
		dapl_err("%s: \"%s\": %s", dev->name, params, dapl_strerror(rc));
	return rc;
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
	rc = find_wanted(dev, params, &wanted);
	free(wanted.addr);
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
