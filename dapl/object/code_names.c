/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/object/code_names.h"

#include <dat/dat_ib_extensions.h>

#define NAME(code)   \
	case (code): \
		return #code

const char *dapl_event_name(DAT_EVENT_NUMBER number)
{
	switch ((int)number) {
		NAME(DAT_DTO_COMPLETION_EVENT);
		NAME(DAT_RMR_BIND_COMPLETION_EVENT);
		NAME(DAT_CONNECTION_REQUEST_EVENT);
		NAME(DAT_CONNECTION_EVENT_ESTABLISHED);
		NAME(DAT_CONNECTION_EVENT_PEER_REJECTED);
		NAME(DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
		NAME(DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
		NAME(DAT_CONNECTION_EVENT_DISCONNECTED);
		NAME(DAT_CONNECTION_EVENT_BROKEN);
		NAME(DAT_CONNECTION_EVENT_TIMED_OUT);
		NAME(DAT_CONNECTION_EVENT_UNREACHABLE);
		NAME(DAT_ASYNC_ERROR_EVD_OVERFLOW);
		NAME(DAT_ASYNC_ERROR_IA_CATASTROPHIC);
		NAME(DAT_ASYNC_ERROR_EP_BROKEN);
		NAME(DAT_ASYNC_ERROR_TIMED_OUT);
		NAME(DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
		NAME(DAT_HA_DOWN_TO_1);
		NAME(DAT_HA_UP_TO_MULTI_PATH);
		NAME(DAT_SOFTWARE_EVENT);
		NAME(DAT_IB_DTO_EVENT);
		NAME(DAT_IB_UD_CONNECTION_REQUEST_EVENT);
		NAME(DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED);
		NAME(DAT_IB_UD_CONNECTION_REJECT_EVENT);
		NAME(DAT_IB_UD_CONNECTION_ERROR_EVENT);
	}
	return "unknown";
}

static const char *dto_status_name(DAT_DTO_COMPLETION_STATUS status)
{
	switch ((int)status) {
		NAME(DAT_DTO_SUCCESS);
		NAME(DAT_DTO_ERR_FLUSHED);
		NAME(DAT_DTO_ERR_LOCAL_LENGTH);
		NAME(DAT_DTO_ERR_LOCAL_EP);
		NAME(DAT_DTO_ERR_LOCAL_PROTECTION);
		NAME(DAT_DTO_ERR_BAD_RESPONSE);
		NAME(DAT_DTO_ERR_REMOTE_ACCESS);
		NAME(DAT_DTO_ERR_REMOTE_RESPONDER);
		NAME(DAT_DTO_ERR_TRANSPORT);
		NAME(DAT_DTO_ERR_RECEIVER_NOT_READY);
		NAME(DAT_DTO_ERR_PARTIAL_PACKET);
		NAME(DAT_RMR_OPERATION_FAILED);
		NAME(DAT_DTO_ERR_LOCAL_MM_ERROR);
	}
	return "unknown";
}

const char *dapl_event_status(const DAT_EVENT *event)
{
	switch ((int)event->event_number) {
	case DAT_DTO_COMPLETION_EVENT:
	case DAT_RMR_BIND_COMPLETION_EVENT:
	case DAT_IB_DTO_EVENT:
		return dto_status_name(event->event_data.dto_completion_event_data.status);
	default:
		return "";
	}
}

const char *dapl_conn_event_name(enum tp_conn_event event)
{
	static const char *const names[] = {
		[TP_CONN_ESTABLISHED] = "established", [TP_CONN_REJECTED] = "rejected",
		[TP_CONN_REFUSED] = "refused",	       [TP_CONN_UNREACHABLE] = "unreachable",
		[TP_CONN_DISCONNECTED] = "ended",      [TP_CONN_BROKEN] = "broken",
	};

	return names[event];
}

const char *dapl_async_event_name(enum tp_async_event event)
{
	static const char *const names[] = {
		[TP_ASYNC_QP_ERROR] = "QP_ERROR",
		[TP_ASYNC_CQ_OVERFLOW] = "CQ_OVERFLOW",
		[TP_ASYNC_QP_RECV_LIMIT] = "QP_RECV_LIMIT",
		[TP_ASYNC_SRQ_LIMIT] = "SRQ_LIMIT",
		[TP_ASYNC_SRQ_ERROR] = "SRQ_ERROR",
		[TP_ASYNC_DEVICE_FATAL] = "DEVICE_FATAL",
		[TP_ASYNC_DEVICE_OTHER] = "DEVICE_OTHER",
	};

	return names[event];
}
