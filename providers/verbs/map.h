/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What verbs say, in the terms of the transport contract. Pure. */
#ifndef VERBS_MAP_H
#define VERBS_MAP_H

#include <infiniband/verbs.h>
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
	VRB_ASYNC_PORT, /* the device's, if the port is the adapter's */
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

/* The verbs' code of a packet size in bytes, rounded down, and not above the route's. */
enum ibv_mtu vrb_map_mtu(int64_t bytes, enum ibv_mtu route);

#endif
