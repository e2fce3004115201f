/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The named attributes of endpoints: delayed_ack, and no other (VND-14). */
#include <string.h>

#include "dapl/endpoint/ep.h"
#include "dapl/object/ia.h"

static const char name[] = "delayed_ack";

bool dapl_ep_delayed_ack(const DAT_EP_ATTR *attr)
{
	DAT_COUNT i;

	for (i = 0; i < attr->ep_provider_specific_count; i++)
		if (!strcmp(attr->ep_provider_specific[i].value, "true"))
			return true;
	return false;
}

static bool known(const struct tp_device_attr *dev, const DAT_NAMED_ATTR *given)
{
	if (!given->name || !given->value || strcmp(given->name, name))
		return false;
	return !strcmp(given->value, "false") ||
	       (dev->delayed_ack && !strcmp(given->value, "true"));
}

bool dapl_ep_named_ok(const struct dapl_ia *ia, const DAT_EP_ATTR *attr)
{
	DAT_COUNT i, num = attr->ep_provider_specific_count;

	if (attr->ep_transport_specific_count || num < 0 || (num && !attr->ep_provider_specific))
		return false;
	for (i = 0; i < num; i++)
		if (!known(ia->attr, &attr->ep_provider_specific[i]))
			return false;
	return true;
}

void dapl_ep_name_attr(const struct tp_device_attr *dev, DAT_EP_ATTR *attr)
{
	static DAT_NAMED_ATTR no = { .name = name, .value = "false" };
	static DAT_NAMED_ATTR yes = { .name = name, .value = "true" };

	attr->ep_provider_specific = dapl_ep_delayed_ack(attr) ? &yes : &no;
	attr->ep_provider_specific_count = dev->delayed_ack;
	if (!dev->delayed_ack)
		attr->ep_provider_specific = NULL;
}
