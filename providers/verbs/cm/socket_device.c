/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The address of the adapter. */
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/log.h"
#include "providers/verbs/addr.h"
#include "providers/verbs/cm/socket.h"

/* ---- The address (SCM-2) ---- */

/* How willingly an interface's address is taken; 0: not at all. */
static int rank(const struct vrb_dev *dev, const struct ifaddrs *i)
{
	const char *wanted = dev->config->netdev;

	if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET || !(i->ifa_flags & IFF_UP))
		return 0;
	if (*wanted)
		return !strcmp(i->ifa_name, wanted);
	if (i->ifa_flags & IFF_LOOPBACK)
		return 1;
	return strstr(i->ifa_name, "ib") ? 2 : 3;
}

static int find_address(struct vrb_dev *dev, char name[IF_NAMESIZE])
{
	struct ifaddrs *all, *i;
	int best = 0, is;

	if (getifaddrs(&all)) {
		dapl_err("%s: interfaces not told: %s", dev->name, dapl_strerror(errno));
		return -errno;
	}
	for (i = all; i; i = i->ifa_next) {
		is = rank(dev, i);
		if (is <= best)
			continue;
		best = is;
		vrb_addr_copy(&dev->addr, i->ifa_addr);
		snprintf(name, IF_NAMESIZE, "%s", i->ifa_name);
	}
	freeifaddrs(all);
	if (best)
		return 0;
	if (*dev->config->netdev)
		dapl_err("%s: interface %s (option netdev) is down or has no IPv4 address",
			 dev->name, dev->config->netdev);
	else
		dapl_err("%s: no interface of this host has an IPv4 address", dev->name);
	return -EADDRNOTAVAIL;
}

/* ---- Opening ---- */

static int find(struct vrb_dev *dev, const char *params)
{
	char interface[IF_NAMESIZE] = "";
	int rc = vrb_xchg_open(dev, params);

	if (rc)
		return rc;
	rc = find_address(dev, interface);
	if (rc)
		vrb_xchg_close(dev);
	snprintf(dev->chosen_by, sizeof(dev->chosen_by),
		 "address of interface %s%s, for the sockets of %.64s port %u", interface,
		 *dev->config->netdev ? " (netdev)" : "", dev->ibdev, dev->port);
	return rc;
}

int vrb_scm_open(struct vrb_dev *dev, const char *params)
{
	struct vrb_scm *scm = calloc(1, sizeof(*scm));
	int rc;

	if (!scm) {
		dapl_err("%s: not opened: %s", dev->name, dapl_strerror(ENOMEM));
		return -ENOMEM;
	}
	list_init(&scm->half_open);
	dev->cm = scm;
	rc = find(dev, params);
	if (rc)
		free(scm);
	return rc;
}

void vrb_scm_close(struct vrb_dev *dev)
{
	free(dev->cm);
}
