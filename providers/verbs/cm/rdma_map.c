/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What rdma_cm says of an end, in the terms of the transport contract. Pure. */
#include <errno.h>

#include "providers/verbs/cm/rdma.h"

static enum tp_conn_event active(enum rdma_cm_event_type type, int status, bool by_program)
{
	switch (type) {
	case RDMA_CM_EVENT_REJECTED:
		return by_program ? TP_CONN_REJECTED : TP_CONN_REFUSED;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return TP_CONN_UNREACHABLE;
	case RDMA_CM_EVENT_CONNECT_ERROR:
		switch (-status) {
		case ETIMEDOUT:
		case EHOSTUNREACH:
		case ENETUNREACH:
			return TP_CONN_UNREACHABLE;
		default:
			return TP_CONN_REFUSED;
		}
	default:
		return TP_CONN_REFUSED;
	}
}

enum tp_conn_event vrb_map_end(enum vrb_phase phase, enum rdma_cm_event_type type, int status,
			       bool by_program)
{
	switch (phase) {
	case VRB_ACTIVE:
		return active(type, status, by_program);
	case VRB_OPEN:
		if (type == RDMA_CM_EVENT_DISCONNECTED)
			return TP_CONN_DISCONNECTED;
		/* The peer's program ended what it had accepted before our accept came. */
		if (type == RDMA_CM_EVENT_REJECTED && by_program)
			return TP_CONN_DISCONNECTED;
		break;
	case VRB_ACCEPTED:
		break;
	}
	return TP_CONN_BROKEN;
}

int vrb_map_end_errno(enum rdma_cm_event_type type, int status)
{
	if (status < 0)
		return status;
	switch (type) {
	case RDMA_CM_EVENT_REJECTED:
		return -ECONNREFUSED;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		return -EHOSTUNREACH;
	case RDMA_CM_EVENT_CONNECT_ERROR:
		return -ECONNABORTED;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return -ENODEV;
	default:
		return 0;
	}
}
