/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_registry.h
 * What a provider module and the registry have to do with each other.
 */
#ifndef DAT_REGISTRY_H
#define DAT_REGISTRY_H

#include "udat.h"
#include "udat_redirection.h"

#define DAT_PROVIDER_INIT_FUNC_NAME dat_provider_init
#define DAT_PROVIDER_INIT_FUNC_STR  "dat_provider_init"
#define DAT_PROVIDER_FINI_FUNC_NAME dat_provider_fini
#define DAT_PROVIDER_FINI_FUNC_STR  "dat_provider_fini"

DAT_BEGIN_DECLS

typedef void (*DAT_PROVIDER_INIT_FUNC)(IN const DAT_PROVIDER_INFO *provider_info,
				       IN const char *instance_data);

typedef void (*DAT_PROVIDER_FINI_FUNC)(IN const DAT_PROVIDER_INFO *provider_info);

void DAT_PROVIDER_INIT_FUNC_NAME(IN const DAT_PROVIDER_INFO *provider_info,
				 IN const char *instance_data);

void DAT_PROVIDER_FINI_FUNC_NAME(IN const DAT_PROVIDER_INFO *provider_info);

DAT_EXPORT DAT_RETURN DAT_API dat_registry_add_provider(IN const DAT_PROVIDER *provider,
							IN const DAT_PROVIDER_INFO *provider_info);

DAT_EXPORT DAT_RETURN DAT_API dat_registry_remove_provider(
	IN const DAT_PROVIDER *provider, IN const DAT_PROVIDER_INFO *provider_info);

DAT_EXPORT DAT_RETURN DAT_API dat_registry_providers_related(IN const DAT_NAME_PTR name1,
							     IN const DAT_NAME_PTR name2,
							     OUT DAT_HA_RELATIONSHIP *relationship);

DAT_EXPORT DAT_RETURN DAT_API dats_get_ia_handle(IN DAT_IA_HANDLE handle,
						 OUT DAT_IA_HANDLE *ia_handle);

DAT_END_DECLS

#endif /* DAT_REGISTRY_H */
