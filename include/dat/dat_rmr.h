/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_rmr.h
 * Remote memory regions: windows on local ones that are bound and invalidated by requests.
 */
#ifndef DAT_RMR_H
#define DAT_RMR_H

#include "dat_types.h"

/** Parameters of a remote memory region (RMR-28..RMR-30). */
typedef struct dat_rmr_param {
	DAT_IA_HANDLE ia_handle;
	DAT_PZ_HANDLE pz_handle;
	DAT_LMR_TRIPLET lmr_triplet; /**< the range; 0 if unbound */
	DAT_MEM_PRIV_FLAGS mem_priv;
	DAT_RMR_CONTEXT rmr_context; /**< 0 if unbound */
	DAT_RMR_SCOPE rmr_scope;
	DAT_VA_TYPE va_type;
} DAT_RMR_PARAM;

/** Selects fields of DAT_RMR_PARAM. */
typedef enum dat_rmr_param_mask {
	DAT_RMR_FIELD_IA_HANDLE = 0x1,
	DAT_RMR_FIELD_PZ_HANDLE = 0x2,
	DAT_RMR_FIELD_LMR_TRIPLET = 0x4,
	DAT_RMR_FIELD_MEM_PRIV = 0x8,
	DAT_RMR_FIELD_RMR_CONTEXT = 0x10,
	DAT_RMR_FIELD_RMR_SCOPE = 0x20,
	DAT_RMR_FIELD_VA_TYPE = 0x40,
	DAT_RMR_FIELD_ALL = 0x7f
} DAT_RMR_PARAM_MASK;

DAT_BEGIN_DECLS

/**
 * Make a remote memory region, unbound, for all endpoints of a zone.
 *
 * Once bound, every endpoint of the zone accepts access through its context (RMR-1, RMR-2,
 * RMR-4..RMR-6).
 *
 * @param pz_handle zone of the region for life; never NULL.
 * @param rmr_handle receives the handle; never NULL.
 *
 * Events: none.
 * Blocking: for a bounded time (GEN-26).
 * Threads: calls on one object need serialising unless the provider is thread safe (EVD-7).
 *
 * @retval DAT_SUCCESS the region exists.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_PZ: pz_handle is not a live zone.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: rmr_handle is NULL.
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY_REGION: max_rmrs is reached;
 *        DAT_RESOURCE_MEMORY: no memory.
 * @retval DAT_MODEL_NOT_SUPPORTED rmr_scope_supported excludes this scope, or there are no RMRs.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_rmr_create(IN DAT_PZ_HANDLE pz_handle,
					     OUT DAT_RMR_HANDLE *rmr_handle);

/**
 * Make a remote memory region, unbound, for one endpoint.
 *
 * Once bound, only the connection of the endpoint that it was bound through accepts access through
 * its context, and that peer can invalidate it (RMR-1, RMR-3..RMR-6, RMR-36).
 *
 * @param pz_handle zone of the region for life; never NULL.
 * @param rmr_handle receives the handle; never NULL.
 *
 * Events: none.
 * Blocking: for a bounded time (GEN-26).
 * Threads: calls on one object need serialising unless the provider is thread safe (EVD-7).
 *
 * @retval DAT_SUCCESS the region exists.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_PZ: pz_handle is not a live zone.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: rmr_handle is NULL.
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY_REGION: max_rmrs is reached;
 *        DAT_RESOURCE_MEMORY: no memory.
 * @retval DAT_MODEL_NOT_SUPPORTED rmr_scope_supported excludes this scope, or there are no RMRs.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_rmr_create_for_ep(IN DAT_PZ_HANDLE pz_handle,
						    OUT DAT_RMR_HANDLE *rmr_handle);

/**
 * Read the parameters of a remote memory region.
 *
 * They are those of the last successful dat_rmr_bind, completed or not; for an unbound region the
 * fields of the binding are zero (RMR-28..RMR-31).
 *
 * @param rmr_handle a remote memory region.
 * @param rmr_param_mask fields wanted, an OR of DAT_RMR_FIELD_ values; 0 for none.
 * @param rmr_param receives them; may be NULL when the mask is 0.
 *
 * Events: none.
 * Blocking: no.
 * Threads: calls on one object need serialising unless the provider is thread safe (EVD-7).
 *
 * @retval DAT_SUCCESS the selected fields are filled.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_RMR: rmr_handle is not a live remote memory
 *        region.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: the mask has an undefined bit.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: rmr_param is NULL and the mask is not 0.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_rmr_query(IN DAT_RMR_HANDLE rmr_handle,
					    IN DAT_RMR_PARAM_MASK rmr_param_mask,
					    OUT DAT_RMR_PARAM *rmr_param);

/**
 * Bind a remote memory region to a range of a local one, or unbind it.
 *
 * The bind is a request on the endpoint: later requests wait for it, so a message posted after it
 * may carry the new context to the peer. When it completes, the context of the former binding is
 * invalid. A length of 0 unbinds; the other values of the binding are then ignored
 * (RMR-7..RMR-27).
 *
 * @param rmr_handle a remote memory region.
 * @param lmr_handle the local region, of the same zone; may be DAT_HANDLE_NULL when unbinding.
 * @param lmr_triplet the range: address, or offset for a zero-based region, and length; its
 *        context is ignored. Never NULL.
 * @param mem_priv an OR of the remote DAT_MEM_PRIV_ flags to grant; local ones have no effect.
 *        Write and atomics need DAT_MEM_PRIV_LOCAL_WRITE_FLAG on the local region (RMR-16,
 *        RMR-17).
 * @param va_type DAT_VA_TYPE_VA: the peer uses the addresses of the local region; DAT_VA_TYPE_ZB:
 *        offsets from the start of the range.
 * @param ep_handle a connected or disconnected endpoint of the same zone; on the latter the bind
 *        is flushed and the former binding stays.
 * @param user_cookie 64 bits that come back in the completion.
 * @param completion_flags an OR of DAT_COMPLETION_SUPPRESS_FLAG, _UNSIGNALLED_FLAG and
 *        _BARRIER_FENCE_FLAG (RMR-23).
 * @param rmr_context receives the context for the peer, another one than before; may be NULL;
 *        undefined when unbinding.
 *
 * Events: DAT_RMR_BIND_COMPLETION_EVENT on the endpoint's request dispatcher, unless suppressed
 * and successful (EVT-16, EVT-17).
 * Blocking: no.
 * Threads: posts of one kind to one object need serialising unless the provider is thread safe
 * (DTO-6).
 *
 * @retval DAT_SUCCESS the bind is accepted and will complete exactly once.
 * @retval DAT_INVALID_HANDLE the subtype DAT_INVALID_HANDLE_RMR, DAT_INVALID_HANDLE_LMR or
 *        DAT_INVALID_HANDLE_EP names the handle that is not live.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: lmr_triplet is NULL or the range leaves the
 *        local region.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG4: mem_priv has an undefined bit.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG5: va_type is neither of the two.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG8: flags that are not allowed here (RMR-23,
 *        DTO-27).
 * @retval DAT_INVALID_STATE the endpoint is neither connected nor disconnected and the subtype
 *        names its state; or a region of scope endpoint is bound through another endpoint (RMR-21,
 *        RMR-24).
 * @retval DAT_PROTECTION_VIOLATION region, local region and endpoint are not of one zone.
 * @retval DAT_PRIVILEGES_VIOLATION DAT_PRIVILEGES_WRITE: the local region lacks local write
 *        (RMR-17).
 * @retval DAT_MODEL_NOT_SUPPORTED zero-based addressing is not supported.
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY: max_request_dtos are outstanding; or
 *        another resource is short.
 */
DAT_EXPORT DAT_RETURN DAT_API
dat_rmr_bind(IN DAT_RMR_HANDLE rmr_handle, IN DAT_LMR_HANDLE lmr_handle,
	     IN const DAT_LMR_TRIPLET *lmr_triplet, IN DAT_MEM_PRIV_FLAGS mem_priv,
	     IN DAT_VA_TYPE va_type, IN DAT_EP_HANDLE ep_handle, IN DAT_RMR_COOKIE user_cookie,
	     IN DAT_COMPLETION_FLAGS completion_flags, OUT DAT_RMR_CONTEXT *rmr_context);

/**
 * Destroy a remote memory region, unbinding it first.
 *
 * Its context is invalid from the return on. A bind still queued completes with the stale handle
 * (RMR-32, RMR-33).
 *
 * @param rmr_handle a remote memory region, bound or not; not valid after success.
 *
 * Events: none for the unbinding.
 * Blocking: for a bounded time (GEN-26).
 * Threads: calls on one object need serialising unless the provider is thread safe (EVD-7).
 *
 * @retval DAT_SUCCESS the region is gone.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_RMR: rmr_handle is not a live remote memory
 *        region.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_rmr_free(IN DAT_RMR_HANDLE rmr_handle);

DAT_END_DECLS

#endif /* DAT_RMR_H */
