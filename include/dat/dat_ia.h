/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_ia.h
 * Interface adapters: what they can do, opening, querying and closing them.
 */
#ifndef DAT_IA_H
#define DAT_IA_H

#include "dat_types.h"
#include "dat_ia_attr.h"
#include "udat_config.h"

/** To dat_ia_openv: make no asynchronous dispatcher; from it: there is none (IA-3). */
#define DAT_EVD_ASYNC_EXISTS ((DAT_EVD_HANDLE)0x1)
#define DAT_EVD_OUT_OF_SCOPE ((DAT_EVD_HANDLE)0x2)

DAT_BEGIN_DECLS

/**
 * Open an interface adapter by name, asking for a version of the interface.
 *
 * Programs call dat_ia_open, which fills in the version they were compiled for. A name can be open
 * any number of times; each instance has its own handle, and objects made under one instance
 * belong to it alone (IA-1..IA-12). Names are those of dat.conf and of providers that registered
 * themselves; an entry fits when name, major version and thread safety are equal and its minor
 * version is equal or the next larger one (REG-23..REG-27). The provider's library is loaded when
 * needed (REG-43, REG-44).
 *
 * @param provider name of the adapter, NUL-terminated, 1 to 255 characters; never NULL.
 * @param asynch_evd_min_qlen events that a newly made asynchronous dispatcher must hold, more than
 *        0; ignored when none is made.
 * @param asynch_evd_handle in: DAT_HANDLE_NULL to have a dispatcher made, the handle of a
 *        dispatcher of the same provider that has DAT_EVD_ASYNC_FLAG, or DAT_EVD_ASYNC_EXISTS for
 *        none; out: the handle in use, DAT_EVD_OUT_OF_SCOPE for none (IA-3..IA-6, IA-10). Never
 *        NULL. Keeps its value on failure (IA-8).
 * @param ia_handle receives the handle, a small number; DAT_HANDLE_NULL on failure (IA-8). Never
 *        NULL.
 * @param dat_major_version_number major version wanted, DAT_VERSION_MAJOR.
 * @param dat_minor_version_number lowest minor version wanted, DAT_VERSION_MINOR.
 * @param thread_safety DAT_TRUE or DAT_FALSE, matched with the entry (REG-24).
 *
 * Events: none.
 * Blocking: for a bounded time (GEN-26).
 * Threads: safe, also against other opens and closes and the registry (GEN-23, GEN-25).
 *
 * @retval DAT_SUCCESS the adapter is open.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG1: the name is NULL, empty or too long.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: a dispatcher is to be made and the queue length
 *        is not positive.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: asynch_evd_handle is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG4: ia_handle is NULL.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG7: thread_safety is neither DAT_FALSE nor DAT_TRUE.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_EVD_ASYNC: the dispatcher passed in is not a live
 *        asynchronous one of this provider, or is DAT_EVD_OUT_OF_SCOPE.
 * @retval DAT_PROVIDER_NOT_FOUND no entry fits or none could be loaded; the subtype,
 *        DAT_NAME_NOT_REGISTERED, DAT_MAJOR_NOT_FOUND, DAT_MINOR_NOT_FOUND or
 *        DAT_THREAD_SAFETY_NOT_FOUND, tells what did not (REG-25).
 * @retval DAT_INVALID_ADDRESS the device, port or network interface of the entry does not exist or
 *        has no address.
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY: no memory; DAT_RESOURCE_TEVD: the queue
 *        length is beyond the device; DAT_RESOURCE_DEVICE: the device refuses one more context.
 * @retval DAT_INVALID_STATE the registry is shut down, at exit of the process (REG-6).
 * @retval DAT_INTERNAL_ERROR the device failed.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ia_openv(IN const DAT_NAME_PTR provider,
					   IN DAT_COUNT asynch_evd_min_qlen,
					   INOUT DAT_EVD_HANDLE *asynch_evd_handle,
					   OUT DAT_IA_HANDLE *ia_handle,
					   IN DAT_UINT32 dat_major_version_number,
					   IN DAT_UINT32 dat_minor_version_number,
					   IN DAT_BOOLEAN thread_safety);

/**
 * Open an adapter with the version that the program is compiled for; see dat_ia_openv.
 */
#define dat_ia_open(name, qlen, async_evd, ia)                                                \
	dat_ia_openv((name), (qlen), (async_evd), (ia), DAT_VERSION_MAJOR, DAT_VERSION_MINOR, \
		     DAT_THREADSAFE)

/**
 * Read the attributes of an open adapter and of its provider.
 *
 * Limits are those of the whole adapter, other users included: a request above a limit fails, one
 * below it may fail too (IA-13..IA-16). Each structure has its own mask; only selected fields may
 * be relied on. Strings, addresses and arrays in the structures belong to the provider and live
 * until the adapter is closed (GEN-11..GEN-14).
 *
 * @param ia_handle an open adapter.
 * @param async_evd_handle receives the asynchronous dispatcher, or DAT_EVD_OUT_OF_SCOPE; may be
 *        NULL (IA-14).
 * @param ia_attr_mask fields of ia_attr wanted, an OR of DAT_IA_FIELD_ values; 0 for none.
 * @param ia_attr receives the adapter's attributes; may be NULL when its mask is 0.
 * @param provider_attr_mask fields of provider_attr wanted, an OR of DAT_PROVIDER_FIELD_ values; 0
 *        for none.
 * @param provider_attr receives the provider's attributes; may be NULL when its mask is 0.
 *
 * Events: none.
 * Blocking: no.
 * Threads: safe (GEN-23).
 *
 * @retval DAT_SUCCESS the selected fields are filled.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_IA: ia_handle is not an open adapter.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: ia_attr_mask has an undefined bit.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG4: ia_attr is NULL and its mask is not 0.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG5: provider_attr_mask has an undefined bit.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG6: provider_attr is NULL and its mask is not 0.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ia_query(IN DAT_IA_HANDLE ia_handle,
					   OUT DAT_EVD_HANDLE *async_evd_handle,
					   IN DAT_IA_ATTR_MASK ia_attr_mask,
					   OUT DAT_IA_ATTR *ia_attr,
					   IN DAT_PROVIDER_ATTR_MASK provider_attr_mask,
					   OUT DAT_PROVIDER_ATTR *provider_attr);

/**
 * Close an adapter.
 *
 * A graceful close succeeds only when no object that the program made is left; the dispatcher that
 * the open made does not count (IA-82..IA-86). An abrupt close destroys whatever is left:
 * connections are ended as by an abrupt disconnect, pending requests are refused, threads in
 * dat_evd_wait return DAT_ABORT, threads in dat_cno_wait return with DAT_HANDLE_NULL, and proxy
 * agents are called once with DAT_HANDLE_NULL (IA-87..IA-90). Events that were not taken are lost.
 *
 * @param ia_handle an open adapter; not valid after success.
 * @param close_flags DAT_CLOSE_ABRUPT_FLAG or DAT_CLOSE_GRACEFUL_FLAG.
 *
 * Events: none on this side; peers see DAT_CONNECTION_EVENT_DISCONNECTED (IA-88).
 * Blocking: for a bounded time (GEN-26).
 * Threads: safe against opens and closes of other instances (GEN-25); needs serialising with every
 * other call on this instance (IA-91).
 *
 * @retval DAT_SUCCESS the adapter is closed.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_IA: ia_handle is not an open adapter.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: close_flags is neither of the two.
 * @retval DAT_INVALID_STATE DAT_INVALID_STATE_IA_IN_USE: the close is graceful and objects are
 *        left, or the caller is a proxy agent of this adapter; nothing was changed.
 * @retval DAT_INSUFFICIENT_RESOURCES the device cannot be cleaned up.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_ia_close(IN DAT_IA_HANDLE ia_handle,
					   IN DAT_CLOSE_FLAGS close_flags);

DAT_END_DECLS

#endif /* DAT_IA_H */
