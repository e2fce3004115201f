/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_evd.h
 * Event dispatchers: the queues that events are taken from. The calls that create them and wait
 * on them are in udat.h.
 */
#ifndef DAT_EVD_H
#define DAT_EVD_H

#include "dat_event.h"

typedef enum dat_evd_flags {
	DAT_EVD_SOFTWARE_FLAG = 0x1,
	DAT_EVD_CR_FLAG = 0x10,
	DAT_EVD_DTO_FLAG = 0x20,
	DAT_EVD_CONNECTION_FLAG = 0x40,
	DAT_EVD_RMR_BIND_FLAG = 0x80,
	DAT_EVD_ASYNC_FLAG = 0x100,
	DAT_EVD_DEFAULT_FLAG = 0x1f0,
	DAT_EVD_EXTENSION_BASE = 0x200
} DAT_EVD_FLAGS;

typedef enum dat_evd_state {
	DAT_EVD_STATE_ENABLED = 0x1,
	DAT_EVD_STATE_DISABLED = 0x2,
	DAT_EVD_STATE_WAITABLE = 0x4,
	DAT_EVD_STATE_UNWAITABLE = 0x8,
	DAT_EVD_STATE_CONFIG_NOTIFY = 0x10,
	DAT_EVD_STATE_CONFIG_SOLICITED = 0x20,
	DAT_EVD_STATE_CONFIG_THRESHOLD = 0x30
} DAT_EVD_STATE;

typedef struct dat_evd_param {
	DAT_IA_HANDLE ia_handle;
	DAT_COUNT evd_qlen;
	DAT_EVD_STATE evd_state;
	DAT_CNO_HANDLE cno_handle;
	DAT_EVD_FLAGS evd_flags;
} DAT_EVD_PARAM;

typedef enum dat_evd_param_mask {
	DAT_EVD_FIELD_IA_HANDLE = 0x1,
	DAT_EVD_FIELD_EVD_QLEN = 0x2,
	DAT_EVD_FIELD_EVD_STATE = 0x4,
	DAT_EVD_FIELD_CNO = 0x8,
	DAT_EVD_FIELD_EVD_FLAGS = 0x10,
	DAT_EVD_FIELD_ALL = 0x1f
} DAT_EVD_PARAM_MASK;

DAT_BEGIN_DECLS

DAT_EXPORT DAT_RETURN DAT_API dat_evd_resize(IN DAT_EVD_HANDLE evd_handle, IN DAT_COUNT evd_qlen);

DAT_EXPORT DAT_RETURN DAT_API dat_evd_post_se(IN DAT_EVD_HANDLE evd_handle,
					      IN const DAT_EVENT *event);

DAT_EXPORT DAT_RETURN DAT_API dat_evd_dequeue(IN DAT_EVD_HANDLE evd_handle, OUT DAT_EVENT *event);

DAT_EXPORT DAT_RETURN DAT_API dat_evd_query(IN DAT_EVD_HANDLE evd_handle,
					    IN DAT_EVD_PARAM_MASK evd_param_mask,
					    OUT DAT_EVD_PARAM *evd_param);

DAT_EXPORT DAT_RETURN DAT_API dat_evd_free(IN DAT_EVD_HANDLE evd_handle);

DAT_END_DECLS

#endif /* DAT_EVD_H */
