/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_cno.h
 * Consumer notification objects: one place to wait for several event dispatchers.
 */
#ifndef DAT_CNO_H
#define DAT_CNO_H

#include "dat_types.h"

DAT_BEGIN_DECLS

/** Function that a CNO calls when an event arrives and nobody waits on it. */
typedef void (*DAT_AGENT_FUNC)(IN DAT_PVOID instance_data, IN DAT_EVD_HANDLE evd_handle);

typedef struct dat_os_wait_proxy_agent {
	DAT_PVOID instance_data;
	DAT_AGENT_FUNC proxy_agent_func;
} DAT_OS_WAIT_PROXY_AGENT;

#ifdef __cplusplus
#define DAT_OS_WAIT_PROXY_AGENT_NULL (DAT_OS_WAIT_PROXY_AGENT{ NULL, NULL })
#else
#define DAT_OS_WAIT_PROXY_AGENT_NULL ((DAT_OS_WAIT_PROXY_AGENT){ NULL, NULL })
#endif

typedef enum dat_proxy_type {
	DAT_PROXY_TYPE_NONE = 0,
	DAT_PROXY_TYPE_AGENT = 1,
	DAT_PROXY_TYPE_FD = 2
} DAT_PROXY_TYPE;

typedef struct dat_cno_param {
	DAT_IA_HANDLE ia_handle;
	DAT_PROXY_TYPE proxy_type;
	union {
		DAT_OS_WAIT_PROXY_AGENT agent;
		DAT_FD fd;
		DAT_PVOID none;
	} proxy;
} DAT_CNO_PARAM;

typedef enum dat_cno_param_mask {
	DAT_CNO_FIELD_IA_HANDLE = 0x1,
	DAT_CNO_FIELD_PROXY_TYPE = 0x2,
	DAT_CNO_FIELD_PROXY = 0x3,
	DAT_CNO_FIELD_ALL = 0x4
} DAT_CNO_PARAM_MASK;

DAT_EXPORT DAT_RETURN DAT_API dat_cno_create(IN DAT_IA_HANDLE ia_handle,
					     IN DAT_OS_WAIT_PROXY_AGENT agent,
					     OUT DAT_CNO_HANDLE *cno_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_cno_fd_create(IN DAT_IA_HANDLE ia_handle,
						OUT DAT_FD *file_descriptor,
						OUT DAT_CNO_HANDLE *cno_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_cno_modify_agent(IN DAT_CNO_HANDLE cno_handle,
						   IN DAT_OS_WAIT_PROXY_AGENT agent);

DAT_EXPORT DAT_RETURN DAT_API dat_cno_query(IN DAT_CNO_HANDLE cno_handle,
					    IN DAT_CNO_PARAM_MASK cno_param_mask,
					    OUT DAT_CNO_PARAM *cno_param);

DAT_EXPORT DAT_RETURN DAT_API dat_cno_wait(IN DAT_CNO_HANDLE cno_handle, IN DAT_TIMEOUT timeout,
					   OUT DAT_EVD_HANDLE *evd_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_cno_trigger(IN DAT_CNO_HANDLE cno_handle,
					      OUT DAT_EVD_HANDLE *evd_handle);

DAT_EXPORT DAT_RETURN DAT_API dat_cno_free(IN DAT_CNO_HANDLE cno_handle);

DAT_END_DECLS

#endif /* DAT_CNO_H */
