/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "test/interop/victim.h"

#include <dat2/dat_ib_extensions.h>

#include <stdio.h>
#include <string.h>

#define NAME(n)       \
	{             \
		n, #n \
	}

struct name {
	uint32_t value;
	const char *text;
};

static const struct name events[] = {
	NAME(DAT_DTO_COMPLETION_EVENT),
	NAME(DAT_RMR_BIND_COMPLETION_EVENT),
	NAME(DAT_IB_DTO_EVENT),
	NAME(DAT_CONNECTION_REQUEST_EVENT),
	NAME(DAT_CONNECTION_EVENT_ESTABLISHED),
	NAME(DAT_CONNECTION_EVENT_PEER_REJECTED),
	NAME(DAT_CONNECTION_EVENT_NON_PEER_REJECTED),
	NAME(DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR),
	NAME(DAT_CONNECTION_EVENT_DISCONNECTED),
	NAME(DAT_CONNECTION_EVENT_BROKEN),
	NAME(DAT_CONNECTION_EVENT_TIMED_OUT),
	NAME(DAT_CONNECTION_EVENT_UNREACHABLE),
	NAME(DAT_ASYNC_ERROR_EVD_OVERFLOW),
	NAME(DAT_ASYNC_ERROR_IA_CATASTROPHIC),
	NAME(DAT_ASYNC_ERROR_EP_BROKEN),
	NAME(DAT_ASYNC_ERROR_TIMED_OUT),
	NAME(DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR),
	NAME(DAT_SOFTWARE_EVENT),
};

static const struct name statuses[] = {
	NAME(DAT_DTO_SUCCESS),
	NAME(DAT_DTO_ERR_FLUSHED),
	NAME(DAT_DTO_ERR_LOCAL_LENGTH),
	NAME(DAT_DTO_ERR_LOCAL_EP),
	NAME(DAT_DTO_ERR_LOCAL_PROTECTION),
	NAME(DAT_DTO_ERR_BAD_RESPONSE),
	NAME(DAT_DTO_ERR_REMOTE_ACCESS),
	NAME(DAT_DTO_ERR_REMOTE_RESPONDER),
	NAME(DAT_DTO_ERR_TRANSPORT),
	NAME(DAT_DTO_ERR_RECEIVER_NOT_READY),
	NAME(DAT_DTO_ERR_PARTIAL_PACKET),
	NAME(DAT_RMR_OPERATION_FAILED),
	NAME(DAT_DTO_ERR_LOCAL_MM_ERROR),
};

static const struct name operations[] = {
	NAME(DAT_DTO_SEND),
	NAME(DAT_DTO_RDMA_WRITE),
	NAME(DAT_DTO_RDMA_READ),
	NAME(DAT_DTO_RECEIVE),
	NAME(DAT_DTO_RECEIVE_WITH_INVALIDATE),
	NAME(DAT_IB_DTO_RDMA_WRITE_IMMED),
	NAME(DAT_IB_DTO_RECV_IMMED),
	NAME(DAT_IB_DTO_RECV_MSG_IMMED),
	NAME(DAT_IB_DTO_FETCH_ADD),
	NAME(DAT_IB_DTO_CMP_SWAP),
};

static const struct name states[] = {
	NAME(DAT_EP_STATE_UNCONNECTED),
	NAME(DAT_EP_STATE_RESERVED),
	NAME(DAT_EP_STATE_PASSIVE_CONNECTION_PENDING),
	NAME(DAT_EP_STATE_ACTIVE_CONNECTION_PENDING),
	NAME(DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING),
	NAME(DAT_EP_STATE_CONNECTED),
	NAME(DAT_EP_STATE_DISCONNECT_PENDING),
	NAME(DAT_EP_STATE_DISCONNECTED),
	NAME(DAT_EP_STATE_COMPLETION_PENDING),
};

static const char *find(const struct name *table, size_t count, uint32_t value)
{
	for (size_t i = 0; i < count; i++)
		if (table[i].value == value)
			return table[i].text;
	return "?";
}

#define FIND(table, value) find(table, sizeof(table) / sizeof(table[0]), (uint32_t)(value))

const char *victim_event_name(DAT_EVENT_NUMBER number)
{
	return FIND(events, number);
}

const char *victim_status_name(DAT_DTO_COMPLETION_STATUS status)
{
	return FIND(statuses, status);
}

const char *victim_operation_name(DAT_DTOS operation)
{
	return FIND(operations, operation);
}

const char *victim_state_name(DAT_EP_STATE state)
{
	return FIND(states, state);
}

const char *victim_result(DAT_RETURN ret)
{
	static _Thread_local char text[160];
	const char *major = "?", *minor = "?";

	if (ret == DAT_SUCCESS)
		return "DAT_SUCCESS";
	dat_strerror(ret, &major, &minor);
	if (DAT_GET_SUBTYPE(ret))
		snprintf(text, sizeof(text), "%s/%s", major, minor);
	else
		snprintf(text, sizeof(text), "%s", major);
	for (char *c = strchr(text, ' '); c; c = strchr(c, ' '))
		*c = '_';
	return text;
}
