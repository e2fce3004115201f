/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file udat.h
 * The interface for programs. This is the header to include.
 */
#ifndef UDAT_H
#define UDAT_H

#include "udat_config.h"
#include "dat.h"
#include "dat_cno.h"
#include "udat_vendor_specific.h"

DAT_BEGIN_DECLS

DAT_EXPORT DAT_RETURN DAT_API dat_lmr_create(IN DAT_IA_HANDLE ia_handle, IN DAT_MEM_TYPE mem_type,
					     IN DAT_REGION_DESCRIPTION region_description,
					     IN DAT_VLEN length, IN DAT_PZ_HANDLE pz_handle,
					     IN DAT_MEM_PRIV_FLAGS privileges,
					     IN DAT_VA_TYPE va_type, OUT DAT_LMR_HANDLE *lmr_handle,
					     OUT DAT_LMR_CONTEXT *lmr_context,
					     OUT DAT_RMR_CONTEXT *rmr_context,
					     OUT DAT_VLEN *registered_length,
					     OUT DAT_VADDR *registered_address);

DAT_EXPORT DAT_RETURN DAT_API dat_lmr_query(IN DAT_LMR_HANDLE lmr_handle,
					    IN DAT_LMR_PARAM_MASK lmr_param_mask,
					    OUT DAT_LMR_PARAM *lmr_param);

DAT_EXPORT DAT_RETURN DAT_API dat_evd_create(IN DAT_IA_HANDLE ia_handle, IN DAT_COUNT evd_min_qlen,
					     IN DAT_CNO_HANDLE cno_handle,
					     IN DAT_EVD_FLAGS evd_flags,
					     OUT DAT_EVD_HANDLE *evd_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_evd_modify_cno(IN DAT_EVD_HANDLE evd_handle,
						 IN DAT_CNO_HANDLE cno_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_evd_enable(IN DAT_EVD_HANDLE evd_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_evd_disable(IN DAT_EVD_HANDLE evd_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_evd_wait(IN DAT_EVD_HANDLE evd_handle, IN DAT_TIMEOUT timeout,
					   IN DAT_COUNT threshold, OUT DAT_EVENT *event,
					   OUT DAT_COUNT *nmore);

DAT_EXPORT DAT_RETURN DAT_API dat_evd_set_unwaitable(IN DAT_EVD_HANDLE evd_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_evd_clear_unwaitable(IN DAT_EVD_HANDLE evd_handle);

DAT_END_DECLS

#endif /* UDAT_H */
