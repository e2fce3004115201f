/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/adapter/named_attr.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include <dat/dat_ib_extensions.h>
#include <dat/dat_iw_extensions.h>
#include <dat/dat_trace.h>

#include "dapl/transfer/operations.h"

#pragma weak dat_trclvl_query
#pragma weak dat_trclvl_modify

/* What has no value does not apply and is left out (IBX-119). */
static void add(struct dapl_named *named, const char *name, const char *value)
{
	assert(named->num < DAPL_MAX_NAMED);
	if (value && *value)
		named->attr[named->num++] = (DAT_NAMED_ATTR){ .name = name, .value = value };
}

/* Programs compare with "TRUE" (IBX-117). */
static const char *truth(bool value)
{
	return value ? "TRUE" : "FALSE";
}

static void add_port(struct dapl_named *named, const struct tp_device_attr *dev)
{
	uint64_t guid = dev->node_guid;

	if (guid)
		snprintf(named->guid, sizeof(named->guid), "%04x:%04x:%04x:%04x",
			 (unsigned)(guid >> 48), (unsigned)(guid >> 32 & 0xffff),
			 (unsigned)(guid >> 16 & 0xffff), (unsigned)(guid & 0xffff));
	if (dev->mtu)
		snprintf(named->mtu, sizeof(named->mtu), "%u", dev->mtu);
	if (dev->port_num)
		snprintf(named->port, sizeof(named->port), "%u", dev->port_num);
	add(named, "DAT_IB_DEVICE_NAME", dev->ib_device);
	add(named, "DAT_IB_NODE_GUID", named->guid);
	add(named, "DAT_IB_GID", dev->gid);
	add(named, "DAT_IB_GID_INDEX", dev->gid_index);
	add(named, "DAT_IB_GID_TYPE", dev->gid_type);
	add(named, "ADDRESS_CHOSEN_BY", dev->chosen_by);
	add(named, "CONNECTIONS_OVER", dev->carried_by);
	add(named, "CRC", dev->crc);
	add(named, "DAT_IB_TRANSPORT_MTU", named->mtu);
	add(named, "DAT_IB_PORT_STATUS", dev->port_status);
	add(named, "DAT_IB_PORT_NUMBER", named->port);
}

/* Its address is the value (VND-5, VND-6); there is no text to read. */
static void add_function(struct dapl_named *named, const char *name, void (*func)(void))
{
	DAT_NAMED_ATTR *attr = &named->vendor[named->num_vendor++];

	attr->name = name;
	memcpy(&attr->value, &func, sizeof(func));
}

/* Under another libdat2 there is no control of the trace (VND-7). */
static void add_vendor(struct dapl_named *named, const struct tp_device_attr *dev)
{
	named->vendor[named->num_vendor++] =
		(DAT_NAMED_ATTR){ .name = "delayed_ack_supported",
				  .value = dev->delayed_ack ? "true" : "false" };
	if (!dat_trclvl_query || !dat_trclvl_modify)
		return;
	named->vendor[named->num_vendor++] =
		(DAT_NAMED_ATTR){ .name = "vendor_extension", .value = "true" };
	named->vendor[named->num_vendor++] =
		(DAT_NAMED_ATTR){ .name = "vendor_ext_version", .value = "1.0" };
	add_function(named, "debug_query", (void (*)(void))dat_trclvl_query);
	add_function(named, "debug_modify", (void (*)(void))dat_trclvl_modify);
}

void dapl_named_init(struct dapl_named *named, const struct dapl_transport *transport,
		     const struct tp_device_attr *dev)
{
	const struct dapl_operation *op;

	*named = (struct dapl_named){ .num = 0 };
	add_vendor(named, dev);
	add(named, "DAT_IB_PROVIDER_NAME", transport->provider_name);
	add_port(named, dev);
	add(named, "DAT_IB_CONNECTIVITY_MODE", "DIRECT");
	add(named, "DAT_IB_RDMA_READ", truth(dev->max_read_out > 0));
	add(named, "DAT_EXTENSION_INTERFACE", truth(dev->ib_extension));
	for (op = dapl_ib_operations; op->name; op++)
		add(named, op->attr,
		    op->opcode == TP_SEND_UD && !dev->max_datagram
			    ? NULL
			    : truth(dapl_operation_there(op, dev)));
	add(named, DAT_IW_ATTR_SSP, truth(transport->socket));
	/* Its presence is what counts (IBX-117). */
	add(named, DAT_IB_ATTR_COUNTERS, dev->ib_extension ? "TRUE" : NULL);
}
