/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/verbs/map.h"

#include <string.h>

/* ---- Completions ---- */

enum tp_wc_status vrb_map_wc(enum ibv_wc_status status)
{
	static const uint8_t map[] = {
		[IBV_WC_SUCCESS] = TP_WC_SUCCESS,
		[IBV_WC_LOC_LEN_ERR] = TP_WC_LOCAL_LENGTH,
		[IBV_WC_LOC_QP_OP_ERR] = TP_WC_LOCAL_EP,
		[IBV_WC_LOC_EEC_OP_ERR] = TP_WC_TRANSPORT,
		[IBV_WC_LOC_PROT_ERR] = TP_WC_LOCAL_PROTECTION,
		[IBV_WC_WR_FLUSH_ERR] = TP_WC_FLUSHED,
		[IBV_WC_MW_BIND_ERR] = TP_WC_BIND_FAILED,
		[IBV_WC_BAD_RESP_ERR] = TP_WC_BAD_RESPONSE,
		[IBV_WC_LOC_ACCESS_ERR] = TP_WC_LOCAL_PROTECTION,
		[IBV_WC_REM_INV_REQ_ERR] = TP_WC_REMOTE_RESPONDER,
		[IBV_WC_REM_ACCESS_ERR] = TP_WC_REMOTE_ACCESS,
		[IBV_WC_REM_OP_ERR] = TP_WC_REMOTE_RESPONDER,
		[IBV_WC_RETRY_EXC_ERR] = TP_WC_TRANSPORT,
		[IBV_WC_RNR_RETRY_EXC_ERR] = TP_WC_RECEIVER_NOT_READY,
		[IBV_WC_LOC_RDD_VIOL_ERR] = TP_WC_LOCAL_PROTECTION,
		[IBV_WC_REM_INV_RD_REQ_ERR] = TP_WC_REMOTE_RESPONDER,
		[IBV_WC_REM_ABORT_ERR] = TP_WC_REMOTE_RESPONDER,
		[IBV_WC_INV_EECN_ERR] = TP_WC_TRANSPORT,
		[IBV_WC_INV_EEC_STATE_ERR] = TP_WC_TRANSPORT,
		[IBV_WC_FATAL_ERR] = TP_WC_TRANSPORT,
		[IBV_WC_RESP_TIMEOUT_ERR] = TP_WC_RECEIVER_NOT_READY,
		[IBV_WC_GENERAL_ERR] = TP_WC_TRANSPORT,
	};

	return (unsigned int)status < sizeof(map) ? map[status] : TP_WC_FLUSHED;
}

/* A receive that a refused request of the peer had taken is as good as flushed (IBX-54). */
enum tp_wc_status vrb_map_received(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_REM_INV_REQ_ERR:
		return TP_WC_LOCAL_PROTECTION; /* it must not invalidate that (DTO-61) */
	case IBV_WC_REM_ACCESS_ERR:
		return TP_WC_FLUSHED;
	default:
		return vrb_map_wc(status);
	}
}

uint32_t vrb_map_wc_flags(const struct ibv_wc *wc, bool recv)
{
	uint32_t flags = TP_WC_RECV;

	if (!recv)
		return 0;
	if (wc->wc_flags & IBV_WC_WITH_INV)
		flags |= TP_WC_INVALIDATED;
	else if (wc->wc_flags & IBV_WC_WITH_IMM)
		flags |= TP_WC_IMMEDIATE;
	if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM)
		flags |= TP_WC_IMMEDIATE | TP_WC_WRITTEN;
	return flags;
}

/* ---- Asynchronous events ---- */

struct vrb_async vrb_map_async(enum ibv_event_type type)
{
	static const struct vrb_async map[] = {
		[IBV_EVENT_CQ_ERR] = { VRB_ASYNC_CQ, TP_ASYNC_CQ_OVERFLOW },
		[IBV_EVENT_QP_FATAL] = { VRB_ASYNC_QP, TP_ASYNC_QP_ERROR },
		[IBV_EVENT_QP_REQ_ERR] = { VRB_ASYNC_QP, TP_ASYNC_QP_ERROR },
		[IBV_EVENT_QP_ACCESS_ERR] = { VRB_ASYNC_QP, TP_ASYNC_QP_ERROR },
		[IBV_EVENT_SRQ_ERR] = { VRB_ASYNC_SRQ, TP_ASYNC_SRQ_ERROR },
		[IBV_EVENT_SRQ_LIMIT_REACHED] = { VRB_ASYNC_SRQ, TP_ASYNC_SRQ_LIMIT },
		[IBV_EVENT_DEVICE_FATAL] = { VRB_ASYNC_DEVICE, TP_ASYNC_DEVICE_FATAL },
		[IBV_EVENT_PORT_ERR] = { VRB_ASYNC_PORT, TP_ASYNC_DEVICE_OTHER },
		[IBV_EVENT_PORT_ACTIVE] = { VRB_ASYNC_PORT, TP_ASYNC_DEVICE_OTHER },
		[IBV_EVENT_LID_CHANGE] = { VRB_ASYNC_PORT, TP_ASYNC_DEVICE_OTHER },
		[IBV_EVENT_PKEY_CHANGE] = { VRB_ASYNC_PORT, TP_ASYNC_DEVICE_OTHER },
		[IBV_EVENT_SM_CHANGE] = { VRB_ASYNC_PORT, TP_ASYNC_DEVICE_OTHER },
		[IBV_EVENT_GID_CHANGE] = { VRB_ASYNC_PORT, TP_ASYNC_DEVICE_OTHER },
	};
	static const struct vrb_async nothing = { .object = VRB_ASYNC_NOBODY };

	return (unsigned int)type < sizeof(map) / sizeof(map[0]) ? map[type] : nothing;
}

const char *vrb_map_port_state(enum ibv_port_state state)
{
	static const char *const name[] = {
		[IBV_PORT_NOP] = "NOP",	      [IBV_PORT_DOWN] = "DOWN",
		[IBV_PORT_INIT] = "INIT",     [IBV_PORT_ARMED] = "ARMED",
		[IBV_PORT_ACTIVE] = "ACTIVE", [IBV_PORT_ACTIVE_DEFER] = "DEFER",
	};

	return (unsigned int)state < sizeof(name) / sizeof(name[0]) ? name[state] : "UNKNOWN";
}

/* ---- Counters ---- */

const struct vrb_counters *vrb_map_counters(enum tp_counters group)
{
	static const char *const link[] = {
		"port_rcv_errors",
		"port_rcv_remote_physical_errors",
		"port_rcv_constraint_errors",
		"port_xmit_discards",
		"port_xmit_constraint_errors",
		"local_link_integrity_errors",
		"excessive_buffer_overrun_errors",
		"port_rcv_switch_relay_errors",
		"port_xmit_wait",
	};
	/* Of mlx4 and, under other names, of drivers that count the same. */
	static const char *const diag[] = {
		"rq_num_rae", "rq_num_oos",  "rq_num_rire", "rq_num_udsdprd", "sq_num_rae",
		"sq_num_oos", "sq_num_rire", "sq_num_rree", "sq_num_tree",
	};
	static const struct vrb_counters groups[] = {
		[TP_COUNTERS_LINK] = { "counters", link, sizeof(link) / sizeof(link[0]) },
		[TP_COUNTERS_DIAG] = { "hw_counters", diag, sizeof(diag) / sizeof(diag[0]) },
	};

	return &groups[group];
}

enum ibv_mtu vrb_map_mtu(int64_t bytes, enum ibv_mtu route)
{
	enum ibv_mtu code = IBV_MTU_256;

	while (code < route && bytes >= INT64_C(512) << (code - IBV_MTU_256))
		code++;
	return code;
}
