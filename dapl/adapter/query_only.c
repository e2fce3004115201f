/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Adapters that are opened to be asked for their attributes only (IBX-106 to IBX-115). libdat2 has
 * found the module and holds it until the close.
 */
#include "dapl/adapter/query_only.h"

#include "dapl/adapter/ia_open.h"
#include "dapl/base/status.h"
#include "dapl/connect/addr.h"

/* An IA that answers no call (IBX-110). */
static const struct dapl_class query_class = {
	.name = "query",
	.type = DAPL_TYPE_QUERY,
};

DAT_RETURN dapl_ext_open_query(va_list args)
{
	const char *name = va_arg(args, DAT_NAME_PTR);
	DAT_HANDLE *handle = va_arg(args, DAT_HANDLE *);
	DAT_IA_ATTR_MASK ia_mask = va_arg(args, DAT_IA_ATTR_MASK);
	DAT_IA_ATTR *ia_attr = va_arg(args, DAT_IA_ATTR *);
	DAT_PROVIDER_ATTR_MASK provider_mask = va_arg(args, DAT_PROVIDER_ATTR_MASK);
	DAT_PROVIDER_ATTR *provider_attr = va_arg(args, DAT_PROVIDER_ATTR *);
	struct dapl_entry *entry;
	struct dapl_ia *ia;
	DAT_RETURN rc;

	if (!name)
		return dapl_fail(DAT_INVALID_HANDLE, DAT_INVALID_ARG3); /* IBX-108 */
	if (!handle)
		return DAPL_BAD_ARG(4);
	if (!ia_attr && !provider_attr)
		return DAPL_BAD_ARG(5); /* IBX-107 */
	if (ia_attr && ((DAT_UINT64)ia_mask & ~(DAT_UINT64)DAT_IA_FIELD_ALL))
		return DAPL_BAD_ARG(5);
	if (provider_attr && ((DAT_UINT64)provider_mask & ~(DAT_UINT64)DAT_PROVIDER_FIELD_ALL))
		return DAPL_BAD_ARG(7);
	entry = dapl_entry_find(name);
	if (!entry)
		return dapl_fail(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	rc = dapl_ia_new(entry, &query_class, &ia);
	if (rc)
		return rc;
	dapl_addr_forget_qp(ia);
	dapl_ia_fill(ia, ia_mask ? ia_attr : NULL, provider_mask ? provider_attr : NULL);
	*handle = ia;
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
