/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * InfiniBand ports without an IP address: rdma_cm knows them by their GIDs (AF_IB), asks the subnet
 * for the path and listens on the same service IDs as with IP addresses. Programs have the GID as
 * an IPv6 address, as of the managers of release 2.1.10 that knew no others.
 *
 * A kernel takes a request of AF_IB for one of IP if its private data looks like rdma_cm's header
 * (cma_save_ip_info of drivers/infiniband/core/cma.c), and refuses it if that has another version:
 * the header stands in each request, with no address, and its port tells the peer's.
 */
#include <errno.h>
#include <infiniband/ib.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "providers/verbs/addr.h"
#include "providers/verbs/cm/rdma.h"

#define SERVICE_TCP	    UINT64_C(0x0000000001060000) /* RDMA_PS_TCP's service IDs; a port below */
#define DEFAULT_PKEY	    0xffff
#define TCLASS_OF_FLOW(tos) ((uint32_t)(tos) << 20)

static int add_port(struct vrb_wanted *wanted, struct ibv_context *ctx, uint8_t number)
{
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6 };
	struct ibv_port_attr port;
	union ibv_gid gid;

	if (ibv_query_port(ctx, number, &port) || port.link_layer != IBV_LINK_LAYER_INFINIBAND ||
	    ibv_query_gid(ctx, number, 0, &gid))
		return 0;
	memcpy(&sin6.sin6_addr, &gid, sizeof(gid));
	return vrb_addr_add(wanted, (const struct sockaddr *)&sin6);
}

static int add_device(struct vrb_wanted *wanted, struct ibv_device *device)
{
	struct ibv_context *ctx = VRB_GLOBAL(ibv_open_device(device));
	struct ibv_device_attr attr;
	uint8_t i;
	int rc;

	if (!ctx)
		return errno ? -errno : -ENODEV;
	rc = -ibv_query_device(ctx, &attr);
	for (i = 1; !rc && i <= attr.phys_port_cnt; i++)
		if (!wanted->port || wanted->port == i)
			rc = add_port(wanted, ctx, i);
	VRB_GLOBAL(ibv_close_device(ctx));
	return rc;
}

int vrb_gid_list(struct vrb_wanted *wanted)
{
	struct ibv_device **all = VRB_GLOBAL(ibv_get_device_list(NULL));
	int i, rc = 0;

	free(wanted->addr);
	wanted->addr = NULL;
	wanted->num = 0;
	for (i = 0; all && all[i] && !rc; i++)
		if (!strcmp(ibv_get_device_name(all[i]), wanted->what))
			rc = add_device(wanted, all[i]);
	if (all)
		ibv_free_device_list(all);
	return rc;
}

bool vrb_gid_partition(struct vrb_dev *dev, struct ibv_context *ctx, uint8_t port)
{
	uint32_t wanted = (uint32_t)dev->config->pkey & VRB_PKEY_MASK;
	__be16 *pkey = &vrb_rdma(dev)->pkey;
	struct ibv_port_attr attr;
	int i;

	if (!wanted && ibv_query_pkey(ctx, port, 0, pkey))
		*pkey = htobe16(DEFAULT_PKEY);
	if (!wanted)
		return true;
	if (ibv_query_port(ctx, port, &attr))
		return false;
	for (i = 0; i < attr.pkey_tbl_len; i++)
		if (!ibv_query_pkey(ctx, port, i, pkey) &&
		    (be16toh(*pkey) & VRB_PKEY_MASK) == wanted)
			return true;
	return false;
}

void vrb_gid_wire(const struct vrb_dev *dev, struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 from = *(const struct sockaddr_in6 *)addr;
	struct sockaddr_ib *to = (struct sockaddr_ib *)addr;

	if (!vrb_rdma(dev)->by_gid)
		return;
	memset(addr, 0, sizeof(*addr));
	to->sib_family = AF_IB;
	to->sib_pkey = vrb_rdma(dev)->pkey;
	to->sib_flowinfo = htobe32(TCLASS_OF_FLOW(dev->config->tos));
	memcpy(&to->sib_addr, &from.sin6_addr, sizeof(to->sib_addr));
	to->sib_sid = htobe64(SERVICE_TCP | ntohs(from.sin6_port));
	to->sib_sid_mask = UINT64_MAX;
}
