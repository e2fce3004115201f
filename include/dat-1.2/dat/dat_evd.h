/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/**
 * @file dat_evd.h
 * Event dispatchers.
 */
#ifndef DAT_1_2_DAT_EVD_H
#define DAT_1_2_DAT_EVD_H

#include "dat_event.h"

/** Kinds of events that a dispatcher takes. */
typedef enum dat_evd_flags {
	DAT_EVD_SOFTWARE_FLAG = 0x1,
	DAT_EVD_CR_FLAG = 0x10,
	DAT_EVD_DTO_FLAG = 0x20,
	DAT_EVD_CONNECTION_FLAG = 0x40,
	DAT_EVD_RMR_BIND_FLAG = 0x80,
	DAT_EVD_ASYNC_FLAG = 0x100,
	DAT_EVD_DEFAULT_FLAG = 0x1f0
} DAT_EVD_FLAGS;

/** State of a dispatcher. */
typedef enum dat_evd_state {
	DAT_EVD_STATE_ENABLED = 0x1,
	DAT_EVD_STATE_DISABLED = 0x2,
	DAT_EVD_STATE_WAITABLE = 0x4,
	DAT_EVD_STATE_UNWAITABLE = 0x8,
	DAT_EVD_STATE_CONFIG_NOTIFY = 0x10,
	DAT_EVD_STATE_CONFIG_SOLICITED = 0x20,
	DAT_EVD_STATE_CONFIG_THRESHOLD = 0x30
} DAT_EVD_STATE;

/** Parameters that dat_evd_query is asked for. */
typedef enum dat_evd_param_mask {
	DAT_EVD_FIELD_IA_HANDLE = 0x1,
	DAT_EVD_FIELD_EVD_QLEN = 0x2,
	DAT_EVD_FIELD_EVD_STATE = 0x4,
	DAT_EVD_FIELD_CNO = 0x8,
	DAT_EVD_FIELD_EVD_FLAGS = 0x10,
	DAT_EVD_FIELD_ALL = 0x1f
} DAT_EVD_PARAM_MASK;

/** Parameters of a dispatcher. */
typedef struct dat_evd_param {
	DAT_IA_HANDLE ia_handle;
	DAT_COUNT evd_qlen;
	DAT_EVD_STATE evd_state;
	DAT_CNO_HANDLE cno_handle;
	DAT_EVD_FLAGS evd_flags;
} DAT_EVD_PARAM;

DAT_BEGIN_DECLS

/** Change the least length of an event dispatcher's queue. */
extern DAT_RETURN dat_evd_resize(IN DAT_EVD_HANDLE evd_handle, IN DAT_COUNT evd_min_qlen);

/** Put a software event on a dispatcher. */
extern DAT_RETURN dat_evd_post_se(IN DAT_EVD_HANDLE evd_handle, IN const DAT_EVENT *event);

/** Take the next event, or return DAT_QUEUE_EMPTY at once. */
extern DAT_RETURN dat_evd_dequeue(IN DAT_EVD_HANDLE evd_handle, OUT DAT_EVENT *event);

/** Read the parameters of an event dispatcher. */
extern DAT_RETURN dat_evd_query(IN DAT_EVD_HANDLE evd_handle, IN DAT_EVD_PARAM_MASK evd_param_mask,
				OUT DAT_EVD_PARAM *evd_param);

/** Destroy an event dispatcher that nothing uses. */
extern DAT_RETURN dat_evd_free(IN DAT_EVD_HANDLE evd_handle);

DAT_END_DECLS

#endif /* DAT_1_2_DAT_EVD_H */
