/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The tunables and limits of the transport. Every room may include it. */
#ifndef SOFT_CONFIG_H
#define SOFT_CONFIG_H

#include <stdint.h>

/* Defaults and help are in module.c. */
struct soft_config {
	int64_t crc;
	int64_t mpa_revision;
	int64_t fpdu;
	int64_t handshake_ms;
	int64_t linger_ms;
	int64_t unreceived_ms;
	int64_t peer_timeout_ms;
	int64_t held_bytes;
	int64_t half_open;
	int64_t lingering;
	int64_t port_min, port_max;
	int64_t tos;
	int64_t handoff_ms;
	int64_t max_wr;
	int64_t link; /* enum soft_link_choice */
};

enum soft_link_choice {
	SOFT_LINK_AUTO,
	SOFT_LINK_TCP,
	SOFT_LINK_SHM,
};

/* The process's; what a device goes by is soft_dev.config. */
extern struct soft_config soft_config;

enum {
	SOFT_MAX_SGE = 32,
	SOFT_MAX_READS = 128,
	SOFT_MAX_WR = 65535,
	SOFT_MAX_CQE = 1 << 20,
	SOFT_MAX_LENGTH = 0x7fffffff,
};

#endif
