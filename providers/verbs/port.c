/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The port: which of its GIDs is the adapter's, and what its events mean. RoCE has two GIDs for an
 * address, of version 1 and 2; rdma_cm takes that of version 2 unless the administrator's
 * default_roce_mode says otherwise (cma_set_default_gid_type of drivers/infiniband/core/cma.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dapl/base/fd.h"
#include "providers/verbs/device.h"
#include "providers/verbs/map.h"
#include "trace/log.h"

#define MAX_GIDS 1024 /* looked at */

/* ---- GIDs ---- */

/* The version of RoCE that the administrator wants; 0: none is said. */
static int roce_mode(const struct vrb_dev *dev)
{
	char path[128 + VRB_NAME_LEN], mode[32] = "";
	int fd;

	snprintf(path, sizeof(path), "/sys/kernel/config/rdma_cm/%s/ports/%u/default_roce_mode",
		 dev->ibdev, dev->port);
	fd = dapl_fd_own(open(path, O_RDONLY | O_CLOEXEC));
	if (fd < 0)
		return 0;
	if (read(fd, mode, sizeof(mode) - 1) < 0)
		mode[0] = 0;
	dapl_fd_close(fd);
	return strstr(mode, "v1") ? 1 : strstr(mode, "v2") ? 2 : 0;
}

/* The one that is wanted or, if there is none, the last of the others; or the one that is named. */
static int find(const struct vrb_dev *dev, struct ibv_gid_entry *found)
{
	uint32_t wanted = roce_mode(dev) == 1 ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2;
	struct ibv_gid_entry entry;
	struct ibv_port_attr port;
	int index = -1, i;

	if (ibv_query_port(dev->ctx, dev->port, &port))
		return -1;
	for (i = 0; i < port.gid_tbl_len && i < MAX_GIDS; i++) {
		if (dev->gid_named && i != dev->gid_index)
			continue;
		if (ibv_query_gid_ex(dev->ctx, dev->port, (uint32_t)i, &entry, 0) ||
		    memcmp(&entry.gid, &dev->gid, sizeof(dev->gid)))
			continue;
		index = i;
		*found = entry;
		if (entry.gid_type == wanted)
			break;
	}
	return index;
}

/* Eight groups of four digits (IBX-116). */
static void put_gid(char *to, const union ibv_gid *gid)
{
	int i;

	for (i = 0; i < 16; i += 2)
		to += sprintf(to, "%s%02x%02x", i ? ":" : "", gid->raw[i], gid->raw[i + 1]);
}

void vrb_port_learn(struct vrb_dev *dev)
{
	struct tp_device_attr *attr = &dev->attr;
	static const union ibv_gid none;
	struct ibv_gid_entry entry;
	size_t len;

	if (!memcmp(&dev->gid, &none, sizeof(none)) &&
	    ibv_query_gid(dev->ctx, dev->port, 0, &dev->gid))
		return;
	put_gid(attr->gid, &dev->gid);
	snprintf(attr->chosen_by, sizeof(attr->chosen_by), "%s", dev->chosen_by);
	dev->gid_index = find(dev, &entry);
	if (dev->gid_index < 0)
		return;
	snprintf(attr->gid_index, sizeof(attr->gid_index), "%d", dev->gid_index);
	if (entry.gid_type == IBV_GID_TYPE_IB)
		return;
	snprintf(attr->gid_type, sizeof(attr->gid_type), "RoCE v%d",
		 entry.gid_type == IBV_GID_TYPE_ROCE_V1 ? 1 : 2);
	len = strlen(attr->chosen_by);
	snprintf(attr->chosen_by + len, sizeof(attr->chosen_by) - len, "; %s by %s", attr->gid_type,
		 dev->gid_named	  ? "gid_index"
		 : roce_mode(dev) ? "default_roce_mode"
				  : "rdma_cm's default");
}

/* ---- Events ---- */

static bool gid_is_there(const struct vrb_dev *dev)
{
	struct ibv_gid_entry entry;

	return dev->gid_index < 0 || find(dev, &entry) >= 0;
}

static void say(const struct vrb_dev *dev, const char *what)
{
	dapl_err_limited("%s: port %u of %s %s", dev->name, dev->port, dev->ibdev, what);
}

bool vrb_port_event(struct vrb_dev *dev, const struct ibv_async_event *event)
{
	if (event->element.port_num != dev->port)
		return false;
	switch (event->event_type) {
	case IBV_EVENT_PORT_ERR:
		say(dev, "is down");
		return true;
	case IBV_EVENT_PORT_ACTIVE:
		say(dev, "is up again");
		return false;
	case IBV_EVENT_GID_CHANGE:
		if (gid_is_there(dev))
			return false;
		say(dev, "has lost the adapter's address: its connections break");
		return true;
	default:
		return true;
	}
}
