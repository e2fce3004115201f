/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_mem.h
 * Memory: protection zones, local memory regions and remote memory regions. The calls that
 * register and query local regions are in udat.h.
 */
#ifndef DAT_MEM_H
#define DAT_MEM_H

#include "dat_types.h"

#define DAT_LMR_COOKIE_SIZE 40

/** Identifies a region that several processes share. */
typedef char (*DAT_LMR_COOKIE)[DAT_LMR_COOKIE_SIZE];

typedef struct dat_shared_memory {
	DAT_PVOID virtual_address;
	DAT_LMR_COOKIE shared_memory_id;
} DAT_SHARED_MEMORY;

typedef union dat_region_description {
	DAT_PVOID for_va;
	DAT_LMR_HANDLE for_lmr_handle;
	DAT_SHARED_MEMORY for_shared_memory;
} DAT_REGION_DESCRIPTION;

typedef struct dat_pz_param {
	DAT_IA_HANDLE ia_handle;
} DAT_PZ_PARAM;

typedef enum dat_pz_param_mask {
	DAT_PZ_FIELD_IA_HANDLE = 0x1,
	DAT_PZ_FIELD_ALL = 0x1
} DAT_PZ_PARAM_MASK;

typedef struct dat_lmr_param {
	DAT_IA_HANDLE ia_handle;
	DAT_MEM_TYPE mem_type;
	DAT_REGION_DESCRIPTION region_desc;
	DAT_VLEN length;
	DAT_PZ_HANDLE pz_handle;
	DAT_MEM_PRIV_FLAGS mem_priv;
	DAT_VA_TYPE va_type;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VLEN registered_size;
	DAT_VADDR registered_address;
} DAT_LMR_PARAM;

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

typedef struct dat_rmr_param {
	DAT_IA_HANDLE ia_handle;
	DAT_PZ_HANDLE pz_handle;
	DAT_LMR_TRIPLET lmr_triplet;
	DAT_MEM_PRIV_FLAGS mem_priv;
	DAT_RMR_CONTEXT rmr_context;
	DAT_RMR_SCOPE rmr_scope;
	DAT_VA_TYPE va_type;
} DAT_RMR_PARAM;

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

DAT_EXPORT DAT_RETURN DAT_API dat_pz_create(IN DAT_IA_HANDLE ia_handle,
					    OUT DAT_PZ_HANDLE *pz_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_pz_query(IN DAT_PZ_HANDLE pz_handle,
					   IN DAT_PZ_PARAM_MASK pz_param_mask,
					   OUT DAT_PZ_PARAM *pz_param);

DAT_EXPORT DAT_RETURN DAT_API dat_pz_free(IN DAT_PZ_HANDLE pz_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_lmr_free(IN DAT_LMR_HANDLE lmr_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_lmr_sync_rdma_read(IN DAT_IA_HANDLE ia_handle,
						     IN const DAT_LMR_TRIPLET *local_segments,
						     IN DAT_VLEN num_segments);

DAT_EXPORT DAT_RETURN DAT_API dat_lmr_sync_rdma_write(IN DAT_IA_HANDLE ia_handle,
						      IN const DAT_LMR_TRIPLET *local_segments,
						      IN DAT_VLEN num_segments);

DAT_EXPORT DAT_RETURN DAT_API dat_rmr_create(IN DAT_PZ_HANDLE pz_handle,
					     OUT DAT_RMR_HANDLE *rmr_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_rmr_create_for_ep(IN DAT_PZ_HANDLE pz_handle,
						    OUT DAT_RMR_HANDLE *rmr_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_rmr_query(IN DAT_RMR_HANDLE rmr_handle,
					    IN DAT_RMR_PARAM_MASK rmr_param_mask,
					    OUT DAT_RMR_PARAM *rmr_param);

DAT_EXPORT DAT_RETURN DAT_API
dat_rmr_bind(IN DAT_RMR_HANDLE rmr_handle, IN DAT_LMR_HANDLE lmr_handle,
	     IN const DAT_LMR_TRIPLET *lmr_triplet, IN DAT_MEM_PRIV_FLAGS mem_priv,
	     IN DAT_VA_TYPE va_type, IN DAT_EP_HANDLE ep_handle, IN DAT_RMR_COOKIE user_cookie,
	     IN DAT_COMPLETION_FLAGS completion_flags, OUT DAT_RMR_CONTEXT *rmr_context);

DAT_EXPORT DAT_RETURN DAT_API dat_rmr_free(IN DAT_RMR_HANDLE rmr_handle);

DAT_END_DECLS

#endif /* DAT_MEM_H */
