/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_mem.h
 * Memory: protection zones, local memory regions and remote memory regions. The calls that
 * register and query local regions are in udat.h.
 */
#ifndef DAT_MEM_H
#define DAT_MEM_H

#include "dat_types.h"
#include "dat_rmr.h"

/** Bytes of a cookie. */
#define DAT_LMR_COOKIE_SIZE 40

/** Identifies a region that several processes share. */
typedef char (*DAT_LMR_COOKIE)[DAT_LMR_COOKIE_SIZE];

/** Memory that several processes share (LMR-13..LMR-17). */
typedef struct dat_shared_memory {
	DAT_PVOID virtual_address;
	DAT_LMR_COOKIE shared_memory_id; /**< all 40 bytes count */
} DAT_SHARED_MEMORY;

/** Memory to register; the memory type tells which member counts. */
typedef union dat_region_description {
	DAT_PVOID for_va;		     /**< DAT_MEM_TYPE_VIRTUAL */
	DAT_LMR_HANDLE for_lmr_handle;	     /**< DAT_MEM_TYPE_LMR */
	DAT_SHARED_MEMORY for_shared_memory; /**< DAT_MEM_TYPE_SHARED_VIRTUAL */
} DAT_REGION_DESCRIPTION;

/** Parameters of a protection zone (PZ-4). */
typedef struct dat_pz_param {
	DAT_IA_HANDLE ia_handle;
} DAT_PZ_PARAM;

/** Selects fields of DAT_PZ_PARAM. */
typedef enum dat_pz_param_mask {
	DAT_PZ_FIELD_IA_HANDLE = 0x1,
	DAT_PZ_FIELD_ALL = 0x1
} DAT_PZ_PARAM_MASK;

/** Parameters of a local memory region (LMR-31). */
typedef struct dat_lmr_param {
	DAT_IA_HANDLE ia_handle;
	DAT_MEM_TYPE mem_type;
	DAT_REGION_DESCRIPTION region_desc;
	DAT_VLEN length;
	DAT_PZ_HANDLE pz_handle;
	DAT_MEM_PRIV_FLAGS mem_priv;
	DAT_VA_TYPE va_type;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;  /**< 0 without remote access */
	DAT_VLEN registered_size;     /**< bytes accessible */
	DAT_VADDR registered_address; /**< virtual, also if zero-based */
} DAT_LMR_PARAM;

/** Selects fields of DAT_LMR_PARAM. */
typedef enum dat_lmr_param_mask {
	DAT_LMR_FIELD_IA_HANDLE = 0x1,
	DAT_LMR_FIELD_MEM_TYPE = 0x2,
	DAT_LMR_FIELD_REGION_DESC = 0x4,
	DAT_LMR_FIELD_LENGTH = 0x8,
	DAT_LMR_FIELD_PZ_HANDLE = 0x10,
	DAT_LMR_FIELD_MEM_PRIV = 0x20,
	DAT_LMR_FIELD_VA_TYPE = 0x40,
	DAT_LMR_FIELD_LMR_CONTEXT = 0x80,
	DAT_LMR_FIELD_RMR_CONTEXT = 0x100,
	DAT_LMR_FIELD_REGISTERED_SIZE = 0x200,
	DAT_LMR_FIELD_REGISTERED_ADDRESS = 0x400,
	DAT_LMR_FIELD_ALL = 0x7ff
} DAT_LMR_PARAM_MASK;

DAT_BEGIN_DECLS

/**
 * Make a protection zone.
 *
 * Endpoints, shared receive queues and regions work together only within one zone (PZ-1..PZ-3,
 * PZ-9..PZ-11).
 *
 * @param ia_handle an open adapter.
 * @param pz_handle receives the handle; never NULL.
 *
 * Events: none.
 * Blocking: for a bounded time (GEN-26).
 * Threads: safe (PZ-3).
 *
 * @retval DAT_SUCCESS the zone exists.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_IA: ia_handle is not an open adapter.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: pz_handle is NULL.
 * @retval DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_PROTECTION_DOMAIN: max_pzs is reached;
 *        DAT_RESOURCE_MEMORY: no memory.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_pz_create(IN DAT_IA_HANDLE ia_handle,
					    OUT DAT_PZ_HANDLE *pz_handle);

/**
 * Read the parameters of a protection zone (PZ-4, PZ-5).
 *
 * @param pz_handle a zone.
 * @param pz_param_mask fields wanted, DAT_PZ_FIELD_ALL; 0 for none.
 * @param pz_param receives them; may be NULL when the mask is 0.
 *
 * Events: none.
 * Blocking: no.
 * Threads: calls on one object need serialising unless the provider is thread safe (EVD-7).
 *
 * @retval DAT_SUCCESS the selected fields are filled.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_PZ: pz_handle is not a live zone.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: the mask has an undefined bit.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG3: pz_param is NULL and the mask is not 0.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_pz_query(IN DAT_PZ_HANDLE pz_handle,
					   IN DAT_PZ_PARAM_MASK pz_param_mask,
					   OUT DAT_PZ_PARAM *pz_param);

/**
 * Destroy a protection zone (PZ-6..PZ-8).
 *
 * @param pz_handle a zone that no endpoint, shared receive queue or region belongs to; not valid
 *        after success.
 *
 * Events: none.
 * Blocking: for a bounded time (GEN-26).
 * Threads: calls on one object need serialising unless the provider is thread safe (EVD-7).
 *
 * @retval DAT_SUCCESS the zone is gone.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_PZ: pz_handle is not a live zone.
 * @retval DAT_INVALID_STATE DAT_INVALID_STATE_PZ_IN_USE: something belongs to it; nothing was
 *        changed.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_pz_free(IN DAT_PZ_HANDLE pz_handle);

/**
 * Withdraw the registration of memory.
 *
 * Both contexts become invalid; the memory itself is left alone. Transfers that still need the
 * region complete with DAT_DTO_ERR_LOCAL_PROTECTION here or DAT_DTO_ERR_REMOTE_ACCESS at the peer,
 * and break their connection (LMR-34..LMR-38).
 *
 * @param lmr_handle a region to which no RMR is bound; not valid after success.
 *
 * Events: none.
 * Blocking: for a bounded time (GEN-26).
 * Threads: calls on one object need serialising unless the provider is thread safe (EVD-7).
 *
 * @retval DAT_SUCCESS the region is gone.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_LMR: lmr_handle is not a live region.
 * @retval DAT_INVALID_STATE DAT_INVALID_STATE_LMR_IN_USE: an RMR is bound to it; nothing was
 *        changed (LMR-35).
 */
DAT_EXPORT DAT_RETURN DAT_API dat_lmr_free(IN DAT_LMR_HANDLE lmr_handle);

/**
 * Make local changes visible to a peer that will read the memory.
 *
 * Needed only where the provider's lmr_sync_req is DAT_TRUE, after the changes and before the peer
 * reads; elsewhere it does nothing (LMR-39..LMR-41).
 *
 * @param ia_handle an open adapter.
 * @param local_segments ranges of any regions of it; may be NULL when num_segments is 0. They are
 *        looked at only under DAPL_STRICT.
 * @param num_segments entries of local_segments; 0 is allowed.
 *
 * Events: none.
 * Blocking: no.
 * Threads: calls on one object need serialising unless the provider is thread safe (EVD-7).
 *
 * @retval DAT_SUCCESS the ranges are coherent.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_IA: ia_handle is not an open adapter.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: local_segments is NULL with segments to follow,
 *        or a segment is outside its region.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_lmr_sync_rdma_read(IN DAT_IA_HANDLE ia_handle,
						     IN const DAT_LMR_TRIPLET *local_segments,
						     IN DAT_VLEN num_segments);

/**
 * Make what a peer wrote visible here.
 *
 * Needed only where the provider's lmr_sync_req is DAT_TRUE, after the peer's write and before the
 * memory is read or written here, and after local changes to memory that a peer will write;
 * elsewhere it does nothing (LMR-39..LMR-41).
 *
 * @param ia_handle an open adapter.
 * @param local_segments ranges of any regions of it; may be NULL when num_segments is 0. They are
 *        looked at only under DAPL_STRICT.
 * @param num_segments entries of local_segments; 0 is allowed.
 *
 * Events: none.
 * Blocking: no.
 * Threads: calls on one object need serialising unless the provider is thread safe (EVD-7).
 *
 * @retval DAT_SUCCESS the ranges are coherent.
 * @retval DAT_INVALID_HANDLE DAT_INVALID_HANDLE_IA: ia_handle is not an open adapter.
 * @retval DAT_INVALID_PARAMETER DAT_INVALID_ARG2: local_segments is NULL with segments to follow,
 *        or a segment is outside its region.
 */
DAT_EXPORT DAT_RETURN DAT_API dat_lmr_sync_rdma_write(IN DAT_IA_HANDLE ia_handle,
						      IN const DAT_LMR_TRIPLET *local_segments,
						      IN DAT_VLEN num_segments);

DAT_END_DECLS

#endif /* DAT_MEM_H */
