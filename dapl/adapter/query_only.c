/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Adapters that are opened to be asked for their attributes only (IBX-106 to IBX-115). libdat2 has
 * found the module and holds it until the close.
 */
#include "dapl/adapter/query_only.h"

#include "dapl/adapter/ia_open.h"
#include "dapl/base/status.h"

/* An IA that answers no call (IBX-110). */
static const struct dapl_class query_class = {
	.name = "query",
	.type = DAPL_TYPE_QUERY,
};

static DAT_RETURN check(const struct dapl_open_query *query)
{
	if (!query->name)
		return dapl_fail(DAT_INVALID_HANDLE, DAT_INVALID_ARG3); /* IBX-108 */
	if (!query->handle)
		return DAPL_BAD_ARG(4);
	if (!query->ia_attr && !query->provider_attr)
		return DAPL_BAD_ARG(5); /* IBX-107 */
	if (query->ia_attr && ((DAT_UINT64)query->ia_mask & ~(DAT_UINT64)DAT_IA_FIELD_ALL))
		return DAPL_BAD_ARG(5);
	if (query->provider_attr &&
	    ((DAT_UINT64)query->provider_mask & ~(DAT_UINT64)DAT_PROVIDER_FIELD_ALL))
		return DAPL_BAD_ARG(7);
	return DAT_SUCCESS;
}

DAT_RETURN dapl_ext_open_query(const struct dapl_open_query *query)
{
	struct dapl_entry *entry;
	struct dapl_ia *ia;
	DAT_RETURN rc;

	rc = check(query);
	if (rc)
		return rc;
	entry = dapl_entry_find(query->name);
	if (!entry)
		return dapl_fail(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	rc = dapl_ia_new(entry, &query_class, &ia);
	if (rc)
		return rc;
	dapl_ia_fill(ia, query->ia_mask ? query->ia_attr : NULL,
		     query->provider_mask ? query->provider_attr : NULL);
	*query->handle = ia;
	return DAT_SUCCESS;
}

DAT_RETURN dapl_ext_close_query(DAT_HANDLE handle)
{
	struct dapl_ia *ia = dapl_object_arg(handle, DAPL_TYPE_QUERY);

	if (!ia || !dapl_object_retire(&ia->obj))
		return DAPL_BAD_HANDLE(IA);
	dapl_ia_delete(ia);
	return DAT_SUCCESS;
}
