/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_mem.h
 * Protection zones, local and remote memory regions.
 */
#ifndef DAT_1_2_DAT_MEM_H
#define DAT_1_2_DAT_MEM_H

#include "dat_types.h"

/** The 40 bytes by which processes find memory that they share. */
#define DAT_LMR_COOKIE_SIZE 40
typedef char (*DAT_LMR_COOKIE)[DAT_LMR_COOKIE_SIZE];

/** Memory that processes share. */
typedef struct dat_shared_memory {
	DAT_PVOID virtual_address;
	DAT_LMR_COOKIE shared_memory_id;
} DAT_SHARED_MEMORY;

/** Memory to be registered; the type of memory tells which member counts. */
typedef union dat_region_description {
	DAT_PVOID for_va;
	DAT_LMR_HANDLE for_lmr_handle;
	DAT_SHARED_MEMORY for_shared_memory;
} DAT_REGION_DESCRIPTION;

/** Parameters of a local memory region, and which are asked for. */
typedef struct dat_lmr_param {
	DAT_IA_HANDLE ia_handle;
	DAT_MEM_TYPE mem_type;
	DAT_REGION_DESCRIPTION region_desc;
	DAT_VLEN length;
	DAT_PZ_HANDLE pz_handle;
	DAT_MEM_PRIV_FLAGS mem_priv;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VLEN registered_size; /**< bytes that are accessible */
	DAT_VADDR registered_address;
} DAT_LMR_PARAM;

typedef enum dat_lmr_param_mask {
	DAT_LMR_FIELD_IA_HANDLE = 0x1,
	DAT_LMR_FIELD_MEM_TYPE = 0x2,
	DAT_LMR_FIELD_REGION_DESC = 0x4,
	DAT_LMR_FIELD_LENGTH = 0x8,
	DAT_LMR_FIELD_PZ_HANDLE = 0x10,
	DAT_LMR_FIELD_MEM_PRIV = 0x20,
	DAT_LMR_FIELD_LMR_CONTEXT = 0x40,
	DAT_LMR_FIELD_RMR_CONTEXT = 0x80,
	DAT_LMR_FIELD_REGISTERED_SIZE = 0x100,
	DAT_LMR_FIELD_REGISTERED_ADDRESS = 0x200,
	DAT_LMR_FIELD_ALL = 0x3ff
} DAT_LMR_PARAM_MASK;

/** Parameters of a remote memory region, and which are asked for. */
typedef struct dat_rmr_param {
	DAT_IA_HANDLE ia_handle;
	DAT_PZ_HANDLE pz_handle;
	DAT_LMR_TRIPLET lmr_triplet;
	DAT_MEM_PRIV_FLAGS mem_priv;
	DAT_RMR_CONTEXT rmr_context;
} DAT_RMR_PARAM;

typedef enum dat_rmr_param_mask {
	DAT_RMR_FIELD_IA_HANDLE = 0x1,
	DAT_RMR_FIELD_PZ_HANDLE = 0x2,
	DAT_RMR_FIELD_LMR_TRIPLET = 0x4,
	DAT_RMR_FIELD_MEM_PRIV = 0x8,
	DAT_RMR_FIELD_RMR_CONTEXT = 0x10,
	DAT_RMR_FIELD_ALL = 0x1f
} DAT_RMR_PARAM_MASK;

/** Parameters of a protection zone, and which are asked for. */
typedef struct dat_pz_param {
	DAT_IA_HANDLE ia_handle;
} DAT_PZ_PARAM;

typedef enum dat_pz_param_mask {
	DAT_PZ_FIELD_IA_HANDLE = 0x1,
	DAT_PZ_FIELD_ALL = 0x1
} DAT_PZ_PARAM_MASK;

DAT_BEGIN_DECLS

/** Read the parameters of a memory region. */
extern DAT_RETURN dat_lmr_query(IN DAT_LMR_HANDLE lmr_handle, IN DAT_LMR_PARAM_MASK lmr_param_mask,
				OUT DAT_LMR_PARAM *lmr_param);

/** End a registration of memory. */
extern DAT_RETURN dat_lmr_free(IN DAT_LMR_HANDLE lmr_handle);

/** Make memory ready for RDMA Reads of peers. */
extern DAT_RETURN dat_lmr_sync_rdma_read(IN DAT_IA_HANDLE ia_handle,
					 IN const DAT_LMR_TRIPLET *local_segments,
					 IN DAT_VLEN num_segments);

/** Make what peers have written visible. */
extern DAT_RETURN dat_lmr_sync_rdma_write(IN DAT_IA_HANDLE ia_handle,
					  IN const DAT_LMR_TRIPLET *local_segments,
					  IN DAT_VLEN num_segments);

/** Make a remote memory region, to be bound to part of a local one. */
extern DAT_RETURN dat_rmr_create(IN DAT_PZ_HANDLE pz_handle, OUT DAT_RMR_HANDLE *rmr_handle);

/** Read the parameters of a remote memory region. */
extern DAT_RETURN dat_rmr_query(IN DAT_RMR_HANDLE rmr_handle, IN DAT_RMR_PARAM_MASK rmr_param_mask,
				OUT DAT_RMR_PARAM *rmr_param);

/**
 * Queue a bind of a remote memory region to a segment; one of length 0 unbinds. The context in
 * the triplet names the local region.
 */
extern DAT_RETURN dat_rmr_bind(IN DAT_RMR_HANDLE rmr_handle, IN const DAT_LMR_TRIPLET *lmr_triplet,
			       IN DAT_MEM_PRIV_FLAGS mem_priv, IN DAT_EP_HANDLE ep_handle,
			       IN DAT_RMR_COOKIE user_cookie,
			       IN DAT_COMPLETION_FLAGS completion_flags,
			       OUT DAT_RMR_CONTEXT *context);

/** Destroy a remote memory region. */
extern DAT_RETURN dat_rmr_free(IN DAT_RMR_HANDLE rmr_handle);

/** Make a protection zone. */
extern DAT_RETURN dat_pz_create(IN DAT_IA_HANDLE ia_handle, OUT DAT_PZ_HANDLE *pz_handle);

/** Read the parameters of a protection zone. */
extern DAT_RETURN dat_pz_query(IN DAT_PZ_HANDLE pz_handle, IN DAT_PZ_PARAM_MASK pz_param_mask,
			       OUT DAT_PZ_PARAM *pz_param);

/** Destroy a protection zone that nothing uses. */
extern DAT_RETURN dat_pz_free(IN DAT_PZ_HANDLE pz_handle);

DAT_END_DECLS

#endif /* DAT_1_2_DAT_MEM_H */
