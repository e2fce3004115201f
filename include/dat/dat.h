/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat.h
 * The part of the interface that user and kernel consumers have in common. Programs include
 * udat.h, which includes this.
 */
#ifndef DAT_H
#define DAT_H

#include "dat_platform_specific.h"
#include "dat_error.h"
#include "dat_types.h"
#include "dat_ia.h"
#include "dat_event.h"
#include "dat_evd.h"
#include "dat_mem.h"
#include "dat_srq.h"
#include "dat_ep.h"
#include "dat_dto.h"
#include "dat_sp.h"
#include "dat_vendor_specific.h"

typedef struct dat_provider_info {
	char ia_name[256];
	DAT_UINT32 dapl_version_major;
	DAT_UINT32 dapl_version_minor;
	DAT_BOOLEAN is_thread_safe;
} DAT_PROVIDER_INFO;

typedef enum dat_ha_relationship {
	DAT_HA_FALSE = 0,
	DAT_HA_TRUE = 1,
	DAT_HA_UNKNOWN = 2,
	DAT_HA_CONFLICTING = 3,
	DAT_HA_EXTENSION_BASE = 4
} DAT_HA_RELATIONSHIP;

DAT_BEGIN_DECLS

DAT_EXPORT DAT_RETURN DAT_API
dat_registry_list_providers(IN DAT_COUNT max_to_return, OUT DAT_COUNT *entries_returned,
			    OUT DAT_PROVIDER_INFO **dat_provider_list);

DAT_EXPORT DAT_RETURN DAT_API dat_strerror(IN DAT_RETURN dat_function_return,
					   OUT const char **major_message_string,
					   OUT const char **minor_message_string);

DAT_EXPORT DAT_RETURN DAT_API dat_set_consumer_context(IN DAT_HANDLE dat_handle,
						       IN DAT_CONTEXT context);

DAT_EXPORT DAT_RETURN DAT_API dat_get_consumer_context(IN DAT_HANDLE dat_handle,
						       OUT DAT_CONTEXT *context);

DAT_EXPORT DAT_RETURN DAT_API dat_get_handle_type(IN DAT_HANDLE dat_handle,
						  OUT DAT_HANDLE_TYPE *handle_type);

DAT_EXPORT DAT_RETURN DAT_API dat_extension_op(IN DAT_HANDLE handle, IN DAT_EXTENDED_OP operation,
					       IN...);

DAT_END_DECLS

#endif /* DAT_H */
