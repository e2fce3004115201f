/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_ib_extensions.h
 * The InfiniBand extension: atomics, immediate data, unreliable datagrams, counters and a query
 * that does not open the adapter. Every call is a macro over dat_extension_op.
 */
#ifndef DAT_IB_EXTENSIONS_H
#define DAT_IB_EXTENSIONS_H

#include "udat.h"
#include "dat_ib_collective.h"
#include "dat_ib_counters.h"
#include "dat_ib_post.h"
#include "dat_ib_types.h"
#include "dat_ib_ud.h"

/**
 * Read the attributes of an adapter that is not open.
 *
 * The device is opened just far enough; nothing else can be done with the handle but
 * dat_ib_close_query, until which strings and arrays in the structures live (IBX-106..IBX-114).
 *
 * @param name name of the adapter, less than 256 characters; never NULL.
 * @param ia_handle receives the query handle, DAT_HANDLE_NULL on failure; never NULL.
 * @param ia_mask fields of ia_attr wanted.
 * @param ia_attr DAT_IA_ATTR to fill; may be NULL if prov_attr is not.
 * @param prov_mask fields of prov_attr wanted.
 * @param prov_attr DAT_PROVIDER_ATTR to fill; may be NULL if ia_attr is not.
 *
 * Events: none.
 * Blocking: for the time that loading a library and opening a device takes (IBX-15).
 * Threads: safe (GEN-23).
 *
 * @retval DAT_SUCCESS the selected fields are filled.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_ARG3: name is NULL.
 * @retval DAT_INVALID_PARAMETER name is too long; DAT_INVALID_ARG4: ia_handle is NULL;
 *        DAT_INVALID_ARG5: both structures are NULL; else as for dat_ia_query.
 * @retval DAT_PROVIDER_NOT_FOUND the name is unknown.
 * @retval DAT_INSUFFICIENT_RESOURCES no memory or no device.
 * @retval DAT_INTERNAL_ERROR the device failed; other codes are those of dat_ia_openv.
 * @retval DAT_NOT_IMPLEMENTED the provider has no extension.
 */
#define dat_ib_open_query(name, ia_handle, ia_mask, ia_attr, prov_mask, prov_attr)      \
	dat_extension_op(DAT_HANDLE_NULL, DAT_IB_OPEN_QUERY_OP, (DAT_NAME_PTR)(name),   \
			 (DAT_HANDLE *)(ia_handle), (DAT_IA_ATTR_MASK)(ia_mask),        \
			 (DAT_IA_ATTR *)(ia_attr), (DAT_PROVIDER_ATTR_MASK)(prov_mask), \
			 (DAT_PROVIDER_ATTR *)(prov_attr))

/**
 * Release what dat_ib_open_query opened (IBX-112, IBX-115).
 *
 * @param ia_handle a query handle; not valid after success.
 *
 * Events: none.
 * Blocking: for the time that closing a device takes (IBX-15).
 * Threads: safe (GEN-23).
 *
 * @retval DAT_SUCCESS everything is released.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_IA: ia_handle is NULL, closed or an adapter of
 *        dat_ia_open.
 * @retval DAT_NOT_IMPLEMENTED the provider has no extension.
 */
#define dat_ib_close_query(ia_handle) \
	dat_extension_op((DAT_HANDLE)(ia_handle), DAT_IB_CLOSE_QUERY_OP)

/**
 * Text for the type of a return value, those of the extension included (IBX-120).
 *
 * @param value the return value.
 * @param message receives the text, a constant; never NULL.
 * @return what dat_strerror returns.
 */
static inline DAT_RETURN dat_strerror_extension(IN DAT_IB_RETURN value, OUT const char **message)
{
	if (DAT_GET_TYPE(value) == DAT_IB_ERR) {
		*message = "DAT_IB_ERR";
		return DAT_SUCCESS;
	}
	return dat_strerror((DAT_RETURN)value, message, NULL);
}

/**
 * Text for the status of an extension event (IBX-121).
 *
 * @param value the status.
 * @param message receives the text, a constant; never NULL.
 * @return DAT_SUCCESS, or DAT_INVALID_PARAMETER if the status is unknown.
 */
static inline DAT_RETURN dat_strerror_ext_status(IN DAT_IB_STATUS value, OUT const char **message)
{
	switch (value) {
	case DAT_OP_SUCCESS:
		*message = " ";
		return DAT_SUCCESS;
	case DAT_IB_OP_ERR:
		*message = "DAT_IB_OP_ERR";
		return DAT_SUCCESS;
	default:
		*message = "unknown extension status";
		return DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG1;
	}
}

#endif /* DAT_IB_EXTENSIONS_H */
