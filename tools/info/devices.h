/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* RDMA devices of this host, as sysfs tells of them. */
#ifndef INFO_DEVICES_H
#define INFO_DEVICES_H

#include <stdbool.h>
#include <stddef.h>

enum info_device_kind {
	INFO_DEVICE_CA,	   /* InfiniBand or RoCE */
	INFO_DEVICE_RNIC,  /* iWARP */
	INFO_DEVICE_OTHER, /* a switch, or nothing that verbs programs use */
};

struct info_port {
	char *device;
	unsigned int number;
	enum info_device_kind kind;
	bool active;
	char **netdevs;
	size_t num_netdevs;
};

/* The ports of all devices below sysfs, sorted. Returns their number; 0 if there are none. */
size_t info_devices(const char *sysfs, struct info_port **ports);
void info_devices_free(struct info_port *ports, size_t num);

#endif
