/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_registry.h
 * What a provider module and the registry have to do with each other.
 */
#ifndef DAT_1_2_DAT_REGISTRY_H
#define DAT_1_2_DAT_REGISTRY_H

#include "udat.h"
#include "udat_redirection.h"

/** Names of the two functions that a module exports. */
#define DAT_PROVIDER_INIT_FUNC_NAME dat_provider_init
#define DAT_PROVIDER_INIT_FUNC_STR  "dat_provider_init"
#define DAT_PROVIDER_FINI_FUNC_NAME dat_provider_fini
#define DAT_PROVIDER_FINI_FUNC_STR  "dat_provider_fini"

DAT_BEGIN_DECLS

/** Types of the two. */
typedef void (*DAT_PROVIDER_INIT_FUNC)(const DAT_PROVIDER_INFO *, const char *);
typedef void (*DAT_PROVIDER_FINI_FUNC)(const DAT_PROVIDER_INFO *);

/** Start a provider under a name. */
void DAT_PROVIDER_INIT_FUNC_NAME(IN const DAT_PROVIDER_INFO *provider_info,
				 IN const char *instance_data);

/** Stop a provider under a name. */
void DAT_PROVIDER_FINI_FUNC_NAME(IN const DAT_PROVIDER_INFO *provider_info);

/**
 * Register a provider. Those of DAT 1.2 are refused with DAT_MODEL_NOT_SUPPORTED; others are
 * handed on to the registry of DAT 2.0.
 */
extern DAT_RETURN dat_registry_add_provider(IN const DAT_PROVIDER *provider,
					    IN const DAT_PROVIDER_INFO *provider_info);

/** Take a registration back. */
extern DAT_RETURN dat_registry_remove_provider(IN const DAT_PROVIDER *provider,
					       IN const DAT_PROVIDER_INFO *provider_info);

DAT_END_DECLS

#endif /* DAT_1_2_DAT_REGISTRY_H */
