/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Local memory regions. */
#ifndef DAPL_LMR_H
#define DAPL_LMR_H

#include "dapl/object/object.h"
#include "dapl/memory/pz.h"
#include "dapl/transport.h"

struct dapl_lmr {
	struct dapl_object obj;
	struct dapl_pz *pz;
	struct tp_mr *mr;
	DAT_LMR_CONTEXT lkey; /* of mr, which ends before the object leaves the IA's list */
	void *addr;	      /* the registered range */
	DAT_VLEN length;
	DAT_MEM_TYPE mem_type; /* as created, this and what follows */
	DAT_REGION_DESCRIPTION region;
	char cookie[DAT_LMR_COOKIE_SIZE]; /* of DAT_MEM_TYPE_SHARED_VIRTUAL */
	DAT_MEM_PRIV_FLAGS privileges;
	DAT_VA_TYPE va_type;
};

extern const struct dapl_class dapl_lmr_class;

DAT_RETURN dapl_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE mem_type, DAT_REGION_DESCRIPTION region,
			   DAT_VLEN length, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
			   DAT_VA_TYPE va_type, DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *lmr_context,
			   DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
			   DAT_VADDR *registered_address);
DAT_RETURN dapl_lmr_query(DAT_LMR_HANDLE lmr, DAT_LMR_PARAM_MASK mask, DAT_LMR_PARAM *param);
DAT_RETURN dapl_lmr_free(DAT_LMR_HANDLE lmr);
DAT_RETURN dapl_lmr_sync_rdma_read(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *segments, DAT_VLEN num);
DAT_RETURN dapl_lmr_sync_rdma_write(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *segments,
				    DAT_VLEN num);

#endif
