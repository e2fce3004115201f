/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The named attributes of an adapter: those of the provider (IBX-116), those of the vendor (VND-1).
 */
#ifndef DAPL_NAMED_H
#define DAPL_NAMED_H

#include <dat/udat.h>

#include "dapl/transport.h"

#define DAPL_MAX_NAMED	24
#define DAPL_NUM_VENDOR 5

struct dapl_named {
	DAT_NAMED_ATTR attr[DAPL_MAX_NAMED];
	DAT_COUNT num;
	DAT_NAMED_ATTR vendor[DAPL_NUM_VENDOR];
	DAT_COUNT num_vendor;
	char guid[20], mtu[12], port[12];
};

/* Fills it from what the transport says; keeps pointers to transport and dev. */
void dapl_named_init(struct dapl_named *named, const struct dapl_transport *transport,
		     const struct tp_device_attr *dev);

#endif
