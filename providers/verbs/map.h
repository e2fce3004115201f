/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What verbs and rdma_cm say, in the terms of the transport contract. Pure. */
#ifndef VERBS_MAP_H
#define VERBS_MAP_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

#include "dapl/transport.h"

/* EVT-14 */
enum tp_wc_status vrb_map_wc(enum ibv_wc_status status);
/* Of a receive. */
enum tp_wc_status vrb_map_received(enum ibv_wc_status status);

/* What a success is: a receive, and what came with it. */
uint32_t vrb_map_wc_flags(const struct ibv_wc *wc, bool recv);

/* EVT-28: whom an asynchronous event concerns, and what it means for him. */
enum vrb_async_object {
	VRB_ASYNC_NOBODY,
	VRB_ASYNC_CQ,
	VRB_ASYNC_QP,
	VRB_ASYNC_SRQ,
	VRB_ASYNC_DEVICE,
};

struct vrb_async {
	enum vrb_async_object object;
	enum tp_async_event event;
};

struct vrb_async vrb_map_async(enum ibv_event_type type);

/* The kernel's names of a group of counters, in the group's order; NULL: it has none. */
struct vrb_counters {
	const char *folder;
	const char *const *name;
	uint32_t num;
};

const struct vrb_counters *vrb_map_counters(enum tp_counters group);

/* IBX-116 */
const char *vrb_map_port_state(enum ibv_port_state state);

/* Where a connection stands when the kernel ends it. */
enum vrb_phase {
	VRB_ACTIVE,   /* asked for here, not established */
	VRB_ACCEPTED, /* asked for by the peer and accepted, not established */
	VRB_OPEN,
};

/* An event that ends a connection or an attempt; how it ended is what the core is told. */
enum tp_conn_event vrb_map_end(enum vrb_phase phase, enum rdma_cm_event_type type, int status,
			       bool iwarp);
/* A negative errno for its status. */
int vrb_map_end_errno(enum rdma_cm_event_type type, int status);

/* ---- Private data ---- */

/*
 * InfiniBand's connection messages carry a fixed number of bytes, 56 of a request's for the
 * program. It is sent as it is, as by release 2.1.10, and its length in what it leaves free: in a
 * request the end of the 56 bytes, marked by the flow control bit being off, else the bytes behind
 * them.
 */
#define VRB_PD_MAX	 56  /* of an InfiniBand or RoCE device */
#define VRB_PD_MAX_IWARP 240 /* of an iWARP device, where the length is sent */
#define VRB_PD_FRAME	 60

struct vrb_pd_frame {
	uint8_t bytes[VRB_PD_FRAME];
	uint8_t len;
	bool flow_control;
};

void vrb_pd_request(struct vrb_pd_frame *frame, const void *data, uint32_t len);
void vrb_pd_reply(struct vrb_pd_frame *frame, const void *data, uint32_t len);
/* How many of the bytes that came are the program's. */
uint32_t vrb_pd_request_len(const void *data, uint32_t len, bool flow_control);
uint32_t vrb_pd_reply_len(const void *data, uint32_t len);

/* Room for the private data of a rejection. */
#define VRB_PD_REJECT_MAX 244

/* Private data of a rejection by the consumer, into at; its length on the wire. */
uint32_t vrb_pd_reject(uint8_t *at, const void *data, uint32_t len, bool iwarp);
/* Whether a rejection comes from the peer's consumer; *mark: how much of it is before his data. */
bool vrb_pd_rejected(const void *data, uint32_t len, bool iwarp, uint32_t *mark);

/* The verbs' code of a packet size in bytes, rounded down, and not above the route's. */
enum ibv_mtu vrb_map_mtu(int64_t bytes, enum ibv_mtu route);

#endif
