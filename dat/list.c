/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The lists of providers that programs ask for: what dat.conf says (REG-28 to REG-36). */
#include "dat/list.h"
#include "dat/registry.h"
#include "dat/static.h"

/* Whether an earlier line has the same key. */
static int is_repeated(const struct dat_static *sr, size_t index)
{
	size_t i = 0;

	while (i < index &&
	       !dat_info_same(&sr->sources[i].conf.info, &sr->sources[index].conf.info))
		i++;
	return i < index;
}

static DAT_COUNT list_keys(const struct dat_static *sr, DAT_COUNT max, DAT_PROVIDER_INFO **list)
{
	DAT_COUNT num = 0;
	size_t i;

	for (i = 0; i < sr->num_sources && num < max; i++) {
		if (is_repeated(sr, i))
			continue;
		if (list)
			*list[num] = sr->sources[i].conf.info;
		num++;
	}
	return num;
}

DAT_RETURN dat_list(dat_list_keys *keys, DAT_COUNT max_to_return, DAT_COUNT *entries_returned,
		    DAT_PROVIDER_INFO *list[])
{
	const struct dat_static *sr;
	DAT_COUNT i, num;

	if (!entries_returned)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	sr = dat_static_get();
	num = keys(sr, INT32_MAX, NULL);
	*entries_returned = num;
	if (dat_registry_finalised())
		return DAT_ERR(DAT_INVALID_STATE, 0);
	if (max_to_return <= 0)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (!list)
		return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	for (i = 0; i < num && i < max_to_return; i++)
		if (!list[i])
			return DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	*entries_returned = keys(sr, max_to_return, list);
	return DAT_SUCCESS;
}

DAT_RETURN dat_registry_list_providers(DAT_COUNT max_to_return, DAT_COUNT *entries_returned,
				       DAT_PROVIDER_INFO *dat_provider_list[])
{
	return dat_list(list_keys, max_to_return, entries_returned, dat_provider_list);
}
