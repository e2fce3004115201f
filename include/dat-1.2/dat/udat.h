/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file udat.h
 * The interface of DAT 1.2 for programs. This is the header to include, with the flags of
 * dat-1.2.pc. What each call does is told in full by the headers and manual pages of DAT 2.0; what
 * differs, by libdat-1.2(7).
 */
#ifndef DAT_1_2_UDAT_H
#define DAT_1_2_UDAT_H

#include "udat_config.h"
#include "dat.h"
#include "udat_vendor_specific.h"

/** Function that a notification object calls with its argument and the dispatcher. */
typedef void (*DAT_AGENT_FUNC)(DAT_PVOID, DAT_EVD_HANDLE);

/** A function and its argument. */
typedef struct dat_os_wait_proxy_agent {
	DAT_PVOID instance_data;
	DAT_AGENT_FUNC proxy_agent_func;
} DAT_OS_WAIT_PROXY_AGENT;

/** No function. */
#ifdef __cplusplus
#define DAT_OS_WAIT_PROXY_AGENT_NULL (DAT_OS_WAIT_PROXY_AGENT{ NULL, NULL })
#else
#define DAT_OS_WAIT_PROXY_AGENT_NULL ((DAT_OS_WAIT_PROXY_AGENT){ NULL, NULL })
#endif

/** Parameters of a notification object, and which are asked for. */
typedef struct dat_cno_param {
	DAT_IA_HANDLE ia_handle;
	DAT_OS_WAIT_PROXY_AGENT agent;
} DAT_CNO_PARAM;

typedef enum dat_cno_param_mask {
	DAT_CNO_FIELD_IA_HANDLE = 0x1,
	DAT_CNO_FIELD_AGENT = 0x2,
	DAT_CNO_FIELD_ALL = 0x3
} DAT_CNO_PARAM_MASK;

DAT_BEGIN_DECLS

/**
 * Register memory for local use and, with remote privileges, for peers. The last three results
 * may be NULL.
 */
extern DAT_RETURN dat_lmr_create(IN DAT_IA_HANDLE ia_handle, IN DAT_MEM_TYPE mem_type,
				 IN DAT_REGION_DESCRIPTION region_description, IN DAT_VLEN length,
				 IN DAT_PZ_HANDLE pz_handle, IN DAT_MEM_PRIV_FLAGS privileges,
				 OUT DAT_LMR_HANDLE *lmr_handle, OUT DAT_LMR_CONTEXT *lmr_context,
				 OUT DAT_RMR_CONTEXT *rmr_context, OUT DAT_VLEN *registered_length,
				 OUT DAT_VADDR *registered_address);

/** Make an event dispatcher for the kinds of events that the flags name. */
extern DAT_RETURN dat_evd_create(IN DAT_IA_HANDLE ia_handle, IN DAT_COUNT evd_min_qlen,
				 IN DAT_CNO_HANDLE cno_handle, IN DAT_EVD_FLAGS evd_flags,
				 OUT DAT_EVD_HANDLE *evd_handle);

/** Attach a dispatcher to another notification object, or none. */
extern DAT_RETURN dat_evd_modify_cno(IN DAT_EVD_HANDLE evd_handle, IN DAT_CNO_HANDLE cno_handle);

/** Make a notification object, to wait for several dispatchers. */
extern DAT_RETURN dat_cno_create(IN DAT_IA_HANDLE ia_handle, IN DAT_OS_WAIT_PROXY_AGENT agent,
				 OUT DAT_CNO_HANDLE *cno_handle);

/** Replace the function that a notification object calls. */
extern DAT_RETURN dat_cno_modify_agent(IN DAT_CNO_HANDLE cno_handle,
				       IN DAT_OS_WAIT_PROXY_AGENT agent);

/** Read the parameters of a notification object. */
extern DAT_RETURN dat_cno_query(IN DAT_CNO_HANDLE cno_handle, IN DAT_CNO_PARAM_MASK cno_param_mask,
				OUT DAT_CNO_PARAM *cno_param);

/** Destroy a notification object that no dispatcher uses. */
extern DAT_RETURN dat_cno_free(IN DAT_CNO_HANDLE cno_handle);

/** Wait until a dispatcher of the object has an event, and tell which. */
extern DAT_RETURN dat_cno_wait(IN DAT_CNO_HANDLE cno_handle, IN DAT_TIMEOUT timeout,
			       OUT DAT_EVD_HANDLE *evd_handle);

/** Let a dispatcher notify its notification object. */
extern DAT_RETURN dat_evd_enable(IN DAT_EVD_HANDLE evd_handle);

/** Wait until threshold events have come, and take the first. */
extern DAT_RETURN dat_evd_wait(IN DAT_EVD_HANDLE evd_handle, IN DAT_TIMEOUT timeout,
			       IN DAT_COUNT threshold, OUT DAT_EVENT *event,
			       OUT DAT_COUNT *n_more_events);

/** Keep a dispatcher from notifying. */
extern DAT_RETURN dat_evd_disable(IN DAT_EVD_HANDLE evd_handle);

/** Refuse waits on a dispatcher and end the present one. */
extern DAT_RETURN dat_evd_set_unwaitable(IN DAT_EVD_HANDLE evd_handle);

/** Allow waits on a dispatcher again. */
extern DAT_RETURN dat_evd_clear_unwaitable(IN DAT_EVD_HANDLE evd_handle);

DAT_END_DECLS

#endif /* DAT_1_2_UDAT_H */
