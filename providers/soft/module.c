/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The transport's tables and tunables. */
#include "dapl/base/config.h"
#include "dapl/transport.h"
#include "providers/soft/cm/accept.h"
#include "providers/soft/cm/cm.h"
#include "providers/soft/cm/connect.h"
#include "providers/soft/cm/handoff/handoff.h"
#include "providers/soft/cm/listener.h"
#include "providers/soft/config.h"
#include "providers/soft/device.h"
#include "providers/soft/engine/bind.h"
#include "providers/soft/engine/cq.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/engine/srq.h"
#include "providers/soft/memory/stag.h"
#include "providers/soft/memory/window.h"

struct soft_config soft_config = {
	.crc = 1,
	.mpa_revision = 2,
	.handshake_ms = 10000,
	.linger_ms = 2000,
	.unreceived_ms = 10000,
	.peer_timeout_ms = 30000,
	.held_bytes = 256 << 10,
	.port_max = 65535,
	.handoff_ms = 1000,
	.max_wr = SOFT_MAX_WR,
	.link = SOFT_LINK_TCP,
};

static const char *const links[] = { "auto", "tcp", "shm", NULL };

static const struct dapl_option options[] = {
	{
		.name = "crc",
		.env = "DAPL_SOFT_CRC",
		.type = DAPL_OPTION_BOOL,
		.unit = "",
		.help = "Ask for a CRC in every FPDU. RFC 5044 section 4.4 makes that the default; "
			"without it "
			"there is one only if the peer asks. Switch it off where TCP's checksum or "
			"the memory of "
			"one host is trusted.",
		.value_default = 1,
		.value_min = 0,
		.value_max = 1,
		.offset = offsetof(struct soft_config, crc),
	},
	{
		.name = "mpa_revision",
		.env = "DAPL_SOFT_MPA_REVISION",
		.type = DAPL_OPTION_INT,
		.unit = "",
		.help = "Revision of the MPA request of an active side. 2 falls back to 1 on a "
			"peer that ends the "
			"connection; 1 is for peers that reset it instead.",
		.value_default = 2,
		.value_min = 1,
		.value_max = 2,
		.offset = offsetof(struct soft_config, mpa_revision),
	},
	{
		.name = "fpdu",
		.env = "DAPL_SOFT_FPDU",
		.type = DAPL_OPTION_INT,
		.unit = "bytes",
		.help = "Size of an FPDU. 0: that of a TCP segment of the connection, as RFC 5044 "
			"section 4.5 "
			"asks. Larger ones are faster between two software engines.",
		.value_default = 0,
		.value_min = 0,
		.value_max = 65535,
		.offset = offsetof(struct soft_config, fpdu),
	},
	{
		.name = "handshake",
		.env = "DAPL_SOFT_HANDSHAKE",
		.type = DAPL_OPTION_INT,
		.unit = "ms",
		.help = "Time in which a peer must complete an MPA frame it owes: a request from "
			"the moment TCP is "
			"connected, a reply from its first byte, the first message from the "
			"accept.",
		.value_default = 10000,
		.value_min = 10,
		.value_max = 600000,
		.offset = offsetof(struct soft_config, handshake_ms),
	},
	{
		.name = "linger",
		.env = "DAPL_SOFT_LINGER",
		.type = DAPL_OPTION_INT,
		.unit = "ms",
		.help = "How long after a disconnect a peer whose host has everything that was "
			"sent may take to end its side before the descriptor is closed, and how "
			"long closing the adapter waits for hosts that do not have everything. A "
			"peer that stands still is not cut off.",
		.value_default = 2000,
		.value_min = 1,
		.value_max = 600000,
		.offset = offsetof(struct soft_config, linger_ms),
	},
	{
		.name = "unreceived",
		.env = "DAPL_SOFT_UNRECEIVED",
		.type = DAPL_OPTION_INT,
		.unit = "ms",
		.help = "How long messages of a peer that has disconnected wait for the next "
			"Receive before they are lost and the program is told of the disconnect.",
		.value_default = 10000,
		.value_min = 1,
		.value_max = 86400000,
		.offset = offsetof(struct soft_config, unreceived_ms),
	},
	{
		.name = "peer_timeout",
		.env = "DAPL_SOFT_PEER_TIMEOUT",
		.type = DAPL_OPTION_INT,
		.unit = "ms",
		.help = "How long a host may leave everything unanswered, idle connections' probes "
			"included, "
			"before its connections are broken. 0: as long as TCP takes.",
		.value_default = 30000,
		.value_min = 0,
		.value_max = 86400000,
		.offset = offsetof(struct soft_config, peer_timeout_ms),
	},
	{
		.name = "held",
		.env = "DAPL_SOFT_HELD",
		.type = DAPL_OPTION_INT,
		.unit = "bytes",
		.help = "Memory per connection for messages that come before a Receive is posted "
			"for them. When it "
			"is full the connection is not read until a Receive is posted, or a read "
			"or "
			"an atomic: "
			"while one is to be answered up to 128 times as much is kept, because the "
			"answer comes behind these messages.",
		.value_default = 256 << 10,
		.value_min = 0,
		.value_max = 1 << 30,
		.offset = offsetof(struct soft_config, held_bytes),
	},
	{
		.name = "half_open",
		.env = "DAPL_SOFT_HALF_OPEN",
		.type = DAPL_OPTION_INT,
		.unit = "connections",
		.help = "Peers that may be connected to the process without having sent an MPA "
			"request. For more, the oldest of the address that has most of them are "
			"refused. 0: a quarter of the descriptors that the process may have, and "
			"at most 1024.",
		.value_default = 0,
		.value_min = 0,
		.value_max = 1 << 20,
		.offset = offsetof(struct soft_config, half_open),
	},
	{
		.name = "lingering",
		.env = "DAPL_SOFT_LINGERING",
		.type = DAPL_OPTION_INT,
		.unit = "connections",
		.help = "Connections of the process that are over, or were rejected, and whose "
			"peer has not ended its side or not taken in all that was sent. For more, "
			"the oldest of the address that has most of them are closed, those with "
			"something to deliver last. 0: as half_open.",
		.value_default = 0,
		.value_min = 0,
		.value_max = 1 << 20,
		.offset = offsetof(struct soft_config, lingering),
	},
	{
		.name = "port_min",
		.env = "DAPL_SOFT_PORT_MIN",
		.type = DAPL_OPTION_INT,
		.unit = "",
		.help = "The lowest of the connection qualifiers that are given out where the "
			"program "
			"leaves the choice, for firewalls. 0: the system chooses.",
		.value_default = 0,
		.value_min = 0,
		.value_max = 65535,
		.offset = offsetof(struct soft_config, port_min),
	},
	{
		.name = "port_max",
		.env = "DAPL_SOFT_PORT_MAX",
		.type = DAPL_OPTION_INT,
		.unit = "",
		.help = "The highest of them.",
		.value_default = 65535,
		.value_min = 1,
		.value_max = 65535,
		.offset = offsetof(struct soft_config, port_max),
	},
	{
		.name = "tos",
		.env = "DAPL_CM_TOS",
		.type = DAPL_OPTION_INT,
		.unit = "",
		.help = "Traffic class of connections: the DS field of IPv4 and IPv6.",
		.value_default = 0,
		.value_min = 0,
		.value_max = 255,
		.offset = offsetof(struct soft_config, tos),
	},
	{
		.name = "handoff",
		.env = "DAPL_SOFT_HANDOFF",
		.type = DAPL_OPTION_INT,
		.unit = "ms",
		.help = "How long handing a connection request to another process may take in all.",
		.value_default = 1000,
		.value_min = 1,
		.value_max = 60000,
		.offset = offsetof(struct soft_config, handoff_ms),
	},
	{
		.name = "max_wr",
		.env = "DAPL_WR_MAX",
		.type = DAPL_OPTION_INT,
		.unit = "requests",
		.help = "How many requests, and Receives, an endpoint may have outstanding at "
			"most.",
		.value_default = SOFT_MAX_WR,
		.value_min = 1,
		.value_max = SOFT_MAX_WR,
		.offset = offsetof(struct soft_config, max_wr),
	},
	{
		.name = "link",
		.env = "DAPL_SOFT_LINK",
		.type = DAPL_OPTION_CHOICE,
		.unit = "",
		.help = "What carries connections: tcp, unless something else is asked for; shm, "
			"memory that the two processes share, which must be the same user's on "
			"this host, or there is no connection; auto, shm where that can be had, "
			"else tcp. With auto and shm, service points take both.",
		.value_default = SOFT_LINK_TCP,
		.choices = links,
		.offset = offsetof(struct soft_config, link),
	},
};

static const struct dapl_cm_ops cm_ops = {
	.listen = soft_handoff_listen,
	.unlisten = soft_unlisten,
	.connect = soft_connect,
	.accept = soft_accept,
	.reject = soft_reject,
	.handoff = soft_handoff,
	.disconnect = soft_disconnect,
	.release = soft_release,
	.addr = soft_conn_addr,
};

const struct dapl_transport dapl_module_transport = {
	.version = DAPL_TRANSPORT_VERSION,
	.size = sizeof(struct dapl_transport),
	.name = "soft",
	.provider_name = "soft",
	.version_major = 2,
	.version_minor = 0,
	.options = options,
	.num_options = sizeof(options) / sizeof(options[0]),
	.config = &soft_config,
	.device = &soft_device_ops,
	.pd = &soft_pd_ops,
	.mr = &soft_mr_ops,
	.mw = &soft_mw_ops,
	.srq = &soft_srq_ops,
	.cq = &soft_cq_ops,
	.qp = &soft_qp_ops,
	.cm = &cm_ops,
};
