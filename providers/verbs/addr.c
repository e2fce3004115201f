/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Field 7 of dat.conf: "interface-or-address-or-host 0" or "verbs-device port". */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "dapl/base/fd.h"
#include "trace/log.h"
#include "util/fd.h"
#include "providers/verbs/verbs.h"

#define MAX_CANDIDATES 64

/* Addresses that may be meant; the first that lies on a suitable device is it. */
struct candidates {
	struct sockaddr_storage addr[MAX_CANDIDATES];
	uint32_t num;
};

struct wanted {
	char what[256];
	unsigned int port; /* of a verbs device; 0: any */
	bool by_device;
};

/* ---- Text ---- */

socklen_t vrb_addr_len(const struct sockaddr_storage *addr)
{
	return addr->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					   : sizeof(struct sockaddr_in);
}

void vrb_addr_set_port(struct sockaddr_storage *addr, uint16_t port)
{
	if (addr->ss_family == AF_INET6)
		((struct sockaddr_in6 *)addr)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)addr)->sin_port = htons(port);
}

const char *vrb_addr_text(const struct sockaddr_storage *addr, char text[VRB_ADDR_TEXT])
{
	char host[INET6_ADDRSTRLEN] = "?";
	uint16_t port;

	if (addr->ss_family == AF_INET6) {
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)addr)->sin6_addr, host,
			  sizeof(host));
		port = ((const struct sockaddr_in6 *)addr)->sin6_port;
	} else {
		inet_ntop(AF_INET, &((const struct sockaddr_in *)addr)->sin_addr, host,
			  sizeof(host));
		port = ((const struct sockaddr_in *)addr)->sin_port;
	}
	snprintf(text, VRB_ADDR_TEXT, "%s port %u", host, ntohs(port));
	return text;
}

/* ---- Candidates ---- */

static void add(struct candidates *list, const struct sockaddr *addr)
{
	struct sockaddr_storage *to;

	if (list->num == MAX_CANDIDATES)
		return;
	to = &list->addr[list->num++];
	memset(to, 0, sizeof(*to));
	memcpy(to, addr,
	       addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					   : sizeof(struct sockaddr_in));
	vrb_addr_set_port(to, 0);
}

static bool link_local(const struct sockaddr *addr)
{
	return addr->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)addr)->sin6_addr);
}

/* The addresses of one interface, or of all, IPv4 first and those of the link alone last. */
static int add_interfaces(struct candidates *list, const char *name)
{
	struct ifaddrs *all, *i;
	int round;

	if (getifaddrs(&all))
		return -errno;
	for (round = 0; round < 3; round++)
		for (i = all; i; i = i->ifa_next) {
			if (!i->ifa_addr || (name && strcmp(i->ifa_name, name)))
				continue;
			if (round == 0 ? i->ifa_addr->sa_family == AF_INET
				       : i->ifa_addr->sa_family == AF_INET6 &&
						 link_local(i->ifa_addr) == (round == 2))
				add(list, i->ifa_addr);
		}
	freeifaddrs(all);
	return 0;
}

static int add_host(struct candidates *list, const char *name)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *all, *i;
	int rc = getaddrinfo(name, NULL, &hints, &all);

	if (rc)
		return rc == EAI_MEMORY ? -ENOMEM : -ENODEV;
	for (i = all; i; i = i->ai_next)
		if (i->ai_family == AF_INET || i->ai_family == AF_INET6)
			add(list, i->ai_addr);
	freeaddrinfo(all);
	return 0;
}

static bool is_verbs_device(const char *name)
{
	struct ibv_device **all = ibv_get_device_list(NULL);
	bool found = false;
	int i;

	for (i = 0; all && all[i] && !found; i++)
		found = !strcmp(ibv_get_device_name(all[i]), name);
	if (all)
		ibv_free_device_list(all);
	return found;
}

static int list_candidates(struct wanted *wanted, struct candidates *list)
{
	errno = 0;
	if (if_nametoindex(wanted->what))
		return add_interfaces(list, wanted->what);
	if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
		return -errno;
	wanted->by_device = is_verbs_device(wanted->what);
	if (wanted->by_device)
		return add_interfaces(list, NULL);
	return add_host(list, wanted->what);
}

static int parse(const char *params, struct wanted *wanted)
{
	int n;

	memset(wanted, 0, sizeof(*wanted));
	n = sscanf(params, " %255s %u", wanted->what, &wanted->port);
	return n >= 1 && wanted->port <= UINT8_MAX ? 0 : -EINVAL;
}

/* ---- Devices ---- */

static bool suits(const struct wanted *wanted, const struct rdma_cm_id *id)
{
	if (!id->verbs)
		return false;
	if (!wanted->by_device)
		return true;
	return !strcmp(ibv_get_device_name(id->verbs->device), wanted->what) &&
	       (!wanted->port || wanted->port == id->port_num);
}

static int open_device(struct vrb_dev *dev, const struct rdma_cm_id *id,
		       const struct sockaddr_storage *addr)
{
	int rc;

	dev->ctx = ibv_open_device(id->verbs->device);
	if (!dev->ctx)
		return errno ? -errno : -ENODEV;
	rc = vrb_own_fd(&dev->ctx->cmd_fd);
	if (!rc)
		rc = vrb_own_fd(&dev->ctx->async_fd);
	if (rc) {
		vrb_close_ctx(dev->ctx);
		return rc;
	}
	dev->port = id->port_num;
	dev->addr = *addr;
	snprintf(dev->ibdev, sizeof(dev->ibdev), "%s", ibv_get_device_name(id->verbs->device));
	dev->iwarp = id->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
	return 0;
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
static int try(struct vrb_dev *dev, const struct wanted *wanted, struct sockaddr_storage *addr)
{
	struct rdma_cm_id *id;
	int rc;

	if (rdma_create_id(dev->channel, &id, NULL, RDMA_PS_TCP))
		return -errno;
	rc = rdma_bind_addr(id, (struct sockaddr *)addr) ? -errno : 0;
	if (!rc) {
		raise_numbers(id->verbs);
		rc = suits(wanted, id) ? open_device(dev, id, addr) : -ENODEV;
	}
	rdma_destroy_id(id);
	return rc;
}

/*
 * The libraries below do not say when they find nothing because they can open nothing. Beside the
 * device's own they have so many descriptors open at a time at most.
 */
#define SPARE 8

int vrb_addr_errno(int rc)
{
	int fd[SPARE], num = 0;

	while (num < SPARE && (fd[num] = dapl_fd_own(eventfd(0, EFD_CLOEXEC))) >= 0)
		num++;
	if (num < SPARE)
		rc = -errno;
	while (num > 0)
		dapl_fd_close(fd[--num]);
	return rc;
}

int vrb_addr_open(struct vrb_dev *dev, const char *params)
{
	struct candidates list = { .num = 0 };
	struct wanted wanted;
	uint32_t i;
	int rc = parse(params, &wanted), best;

	if (rc) {
		dapl_err("%s: \"%s\" is not an interface, address, host or verbs device and a "
			 "number",
			 dev->name, params);
		return rc;
	}
	rc = list_candidates(&wanted, &list);
	best = rc ? rc : -ENODEV;
	for (i = 0; !rc && i < list.num; i++) {
		rc = try(dev, &wanted, &list.addr[i]);
		if (!rc)
			return 0;
		if (rc != -ENODEV && rc != -EADDRNOTAVAIL)
			break;
		best = rc;
		rc = 0;
	}
	rc = rc ? rc : best;
	if (rc == -ENODEV)
		rc = vrb_addr_errno(rc);
	if (rc == -ENODEV && list.num)
		dapl_err("%s: no RDMA device with an address of \"%s\" (%u tried)", dev->name,
			 params, list.num);
	else if (rc == -ENODEV)
		dapl_err("%s: no interface, verbs device or host \"%s\"", dev->name, wanted.what);
	else
		dapl_err("%s: \"%s\": %s", dev->name, params, dapl_strerror(rc));
	return rc;
}
