/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_registry.h
 * What a provider module and the registry have to do with each other.
 */
#ifndef DAT_REGISTRY_H
#define DAT_REGISTRY_H

#include "udat.h"
#include "udat_redirection.h"

/** Names of the two functions that a module exports (GEN-29). */
#define DAT_PROVIDER_INIT_FUNC_NAME dat_provider_init
#define DAT_PROVIDER_INIT_FUNC_STR  "dat_provider_init"
#define DAT_PROVIDER_FINI_FUNC_NAME dat_provider_fini
#define DAT_PROVIDER_FINI_FUNC_STR  "dat_provider_fini"

DAT_BEGIN_DECLS

/** Type of dat_provider_init (REG-45..REG-47). */
typedef void (*DAT_PROVIDER_INIT_FUNC)(IN const DAT_PROVIDER_INFO *provider_info,
				       IN const char *instance_data);

/** Type of dat_provider_fini (REG-48). */
typedef void (*DAT_PROVIDER_FINI_FUNC)(IN const DAT_PROVIDER_INFO *provider_info);

/**
 * Start a provider under a name. A module implements it and registers exactly this name before it
 * returns, or does not register if it cannot serve it (REG-45..REG-47).
 *
 * @param provider_info name, version and thread safety of the entry; valid during the call.
 * @param instance_data parameters of the entry, "" if there are none; valid during the call.
 */
void DAT_PROVIDER_INIT_FUNC_NAME(IN const DAT_PROVIDER_INFO *provider_info,
				 IN const char *instance_data);

/**
 * Stop a provider under a name. Called when no adapter opened under it is open; a module removes
 * its registration (REG-48, REG-49).
 *
 * @param provider_info what dat_provider_init was given; valid during the call.
 */
void DAT_PROVIDER_FINI_FUNC_NAME(IN const DAT_PROVIDER_INFO *provider_info);

/**
 * Register a provider under a name.
 *
 * Called by a provider module, normally from dat_provider_init, once per name it serves; also safe
 * from the constructor of a library (REG-4, REG-37..REG-40).
 *
 * @param provider the provider's table; stored, must stay valid until removed; never NULL.
 * @param provider_info name, version and thread safety, which together are the key; copied; never
 *        NULL.
 *
 * Events: none.
 * Blocking: no.
 * Threads: safe (GEN-25).
 *
 * @retval DAT_SUCCESS the provider is registered.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG1: provider is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: provider_info is NULL, or its name empty or not
 *        terminated.
 * @retval DAT_PROVIDER_ALREADY_REGISTERED the key is taken.
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY: no memory.
 * @retval DAT_INVALID_STATE the registry is shut down (REG-6).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_registry_add_provider(IN const DAT_PROVIDER *provider,
							IN const DAT_PROVIDER_INFO *provider_info);

/**
 * Remove a provider from the registry.
 *
 * New opens by it are prevented; an entry of the configuration file stays and may load the library
 * again (REG-41, REG-42).
 *
 * @param provider the table that was registered; never NULL.
 * @param provider_info the key that was registered; never NULL.
 *
 * Events: none.
 * Blocking: no.
 * Threads: safe (GEN-25).
 *
 * @retval DAT_SUCCESS the provider is removed.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG1: provider is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: provider_info is NULL, or nothing is registered
 *        under this key with this table.
 * @retval DAT_PROVIDER_IN_USE an adapter opened through the entry is still open.
 * @retval DAT_INVALID_STATE the registry is shut down (REG-6).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_registry_remove_provider(
	IN const DAT_PROVIDER *provider, IN const DAT_PROVIDER_INFO *provider_info);

/**
 * Tell whether two adapters can back each other up.
 *
 * The provider of each is asked about the other, if it has an open adapter in this process;
 * nothing is loaded or opened. The providers of this project take their answer from the tunable
 * `related` of dapl.conf (DAPL_RELATED): groups of names. Both yes: DAT_HA_TRUE; both no:
 * DAT_HA_FALSE; they differ: DAT_HA_CONFLICTING; an answer is missing: DAT_HA_UNKNOWN (HA-1..HA-8).
 *
 * @param name1 name of one adapter, 1 to 255 characters; never NULL.
 * @param name2 name of the other; equal names are related.
 * @param relationship receives the answer; never NULL.
 *
 * Events: none.
 * Blocking: no.
 * Threads: safe (GEN-23, GEN-25).
 *
 * @retval DAT_SUCCESS the answer is stored.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG1: name1 is NULL, empty or too long.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: name2 is NULL, empty or too long.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: relationship is NULL.
 * @retval DAT_PROVIDER_NOT_FOUND DAT_NAME_NOT_REGISTERED: a name is unknown.
 * @retval DAT_INVALID_STATE the registry is shut down (REG-6).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_registry_providers_related(IN const DAT_NAME_PTR name1,
							     IN const DAT_NAME_PTR name2,
							     OUT DAT_HA_RELATIONSHIP *relationship);

/**
 * Translate between the number of an adapter and the provider's pointer to it.
 *
 * For provider modules: what a query reports as an adapter must be the number that the program
 * holds (GEN-17..GEN-19).
 *
 * @param handle the number, or the pointer.
 * @param ia_handle receives the other one; never NULL.
 *
 * Events: none.
 * Blocking: no.
 * Threads: safe (GEN-25).
 *
 * @retval DAT_SUCCESS the other form is stored.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_IA: the value is unknown.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: ia_handle is NULL.
 */
DAT_EXPORT DAT_RETURN DAT_API dats_get_ia_handle(IN DAT_IA_HANDLE handle,
						 OUT DAT_IA_HANDLE *ia_handle);

DAT_END_DECLS

#endif /* DAT_REGISTRY_H */
