/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The transport's tables and tunables. */
#include "dapl/base/config.h"
#include "dapl/transport.h"
#include "providers/verbs/verbs.h"

struct vrb_config vrb_config = {
	.max_inline = 64,
	.max_wr = 16383,
	.ack_retry = 7,
	.ack_timer = 0,
	.rnr_retry = 7,
	.rnr_timer = 12,
	.arp_timeout_ms = 4000,
	.arp_retry = 15,
	.route_timeout_ms = 4000,
	.route_retry = 15,
	.sl = -1,
	.tclass = -1,
	.flush_ms = 500,
	.pulse_ms = 100,
};

#define NUMBER(option, variable, of, what, standard, least, most, member)                   \
	{                                                                                   \
		.name = (option), .env = (variable), .type = DAPL_OPTION_INT, .unit = (of), \
		.help = (what), .value_default = (standard), .value_min = (least),          \
		.value_max = (most), .offset = offsetof(struct vrb_config, member)          \
	}

static const struct dapl_option options[] = {
	NUMBER("max_inline", "DAPL_MAX_INLINE", "bytes",
	       "Sends and RDMA writes up to this length are handed to the device with their data, "
	       "as "
	       "far as it can. 0: never.",
	       64, 0, 4096, max_inline),
	NUMBER("max_wr", "DAPL_WR_MAX", "requests",
	       "How many requests, and Receives, an endpoint may have outstanding at most, where "
	       "the "
	       "device names a higher limit.",
	       65535, 1, 1 << 20, max_wr),
	NUMBER("ack_retry", "DAPL_ACK_RETRY", "",
	       "How often the device repeats what the peer does not acknowledge. On soft-RoCE, for "
	       "which 7 is without end, 6 at the most.",
	       7, 0, 7, ack_retry),
	NUMBER("ack_timer", "DAPL_ACK_TIMER", "exponent",
	       "How long the device waits for an acknowledgement, as the exponent of two of 4.096 "
	       "microseconds. 0: what the route says.",
	       0, 0, 31, ack_timer),
	NUMBER("rnr_retry", "DAPL_RNR_RETRY", "",
	       "How often the peer's device repeats a message that finds no Receive here. 7: "
	       "without "
	       "end.",
	       7, 0, 7, rnr_retry),
	NUMBER("rnr_timer", "DAPL_RNR_TIMER", "code",
	       "When the peer's device repeats it, as InfiniBand's RNR timer code: 12 is 0.64 ms, "
	       "0 is "
	       "655 ms.",
	       12, 0, 31, rnr_timer),
	NUMBER("arp_timeout", "DAPL_CM_ARP_TIMEOUT_MS", "ms",
	       "How long an attempt to resolve the peer's address may take.", 4000, 1, 600000,
	       arp_timeout_ms),
	NUMBER("arp_retry", "DAPL_CM_ARP_RETRY_COUNT", "", "How often it is repeated.", 15, 0, 1000,
	       arp_retry),
	NUMBER("route_timeout", "DAPL_CM_ROUTE_TIMEOUT_MS", "ms",
	       "How long an attempt to find the route to the peer may take.", 4000, 1, 600000,
	       route_timeout_ms),
	NUMBER("route_retry", "DAPL_CM_ROUTE_RETRY_COUNT", "", "How often it is repeated.", 15, 0,
	       1000, route_retry),
	NUMBER("tos", "DAPL_CM_TOS", "",
	       "Traffic class of connections: the DS field of IPv4 and IPv6, from which RoCE and "
	       "InfiniBand derive theirs.",
	       0, 0, 255, tos),
	NUMBER("mtu", "DAPL_IB_MTU", "bytes",
	       "Largest packet of a connection, rounded down to 256, 512, 1024, 2048 or 4096, "
	       "where the route allows a larger one; both sides must have the same. 0: what the "
	       "route says. InfiniBand and RoCE.",
	       0, 0, 4096, mtu),
	NUMBER("sl", "DAPL_IB_SL", "",
	       "Service level of connections. -1: what the route says. InfiniBand and RoCE.", -1,
	       -1, 15, sl),
	NUMBER("tclass", "DAPL_TCLASS", "",
	       "Traffic class in the global routing header. -1: what the route, or tos, says. "
	       "InfiniBand and RoCE.",
	       -1, -1, 255, tclass),
	NUMBER("hop_limit", "DAPL_HOP_LIMIT", "hops",
	       "Hop limit in the global routing header. 0: what the route says. InfiniBand: that "
	       "of RoCE is the kernel's choice.",
	       0, 0, 255, hop_limit),
	NUMBER("flush", "DAPL_VERBS_FLUSH", "ms",
	       "How long the device may take to give back the work of a connection that ended. "
	       "Then it "
	       "is given back without the device.",
	       500, 1, 60000, flush_ms),
	{ .name = "fork_safe",
	  .env = "DAPL_VERBS_FORK_SAFE",
	  .type = DAPL_OPTION_BOOL,
	  .unit = "",
	  .help = "Whether registered memory stays the parent's where the program forks "
		  "(ibv_fork_init), which costs registrations time. Recent kernels see to it by "
		  "themselves.",
	  .value_default = 0,
	  .value_min = 0,
	  .value_max = 1,
	  .offset = offsetof(struct vrb_config, fork_safe) },
	NUMBER("pulse", "DAPL_VERBS_PULSE", "ms",
	       "How often connections whose requests nobody asks about are looked at, so that "
	       "their "
	       "failure is told.",
	       100, 1, 60000, pulse_ms),
};

const struct dapl_transport dapl_module_transport = {
	.version = DAPL_TRANSPORT_VERSION,
	.size = sizeof(struct dapl_transport),
	.name = "verbs",
	.provider_name = "CMA",
	.version_major = 2,
	.version_minor = 0,
	.options = options,
	.num_options = sizeof(options) / sizeof(options[0]),
	.config = &vrb_config,
	.device = &vrb_device_ops,
	.pd = &vrb_pd_ops,
	.mr = &vrb_mr_ops,
	.mw = &vrb_mw_ops,
	.srq = &vrb_srq_ops,
	.cq = &vrb_cq_ops,
	.qp = &vrb_qp_ops,
	.cm = &vrb_cm_ops,
};
