/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The tunables and limits of the transport. Every room may include it. */
#ifndef SOFT_CONFIG_H
#define SOFT_CONFIG_H

enum soft_link_choice {
	SOFT_LINK_AUTO,
	SOFT_LINK_TCP,
	SOFT_LINK_SHM,
};

enum soft_crc_choice {
	SOFT_CRC_NO,
	SOFT_CRC_YES,
	SOFT_CRC_AUTO,
};

enum {
	SOFT_MAX_SGE = 32,
	SOFT_MAX_READS = 128,
	SOFT_MAX_WR = 65535,
	SOFT_MAX_CQE = 1 << 20,
	SOFT_MAX_LENGTH = 0x7fffffff,
};

/* struct soft_config: the process's values of the tunables; a device's are soft_dev.config. */
#define CONFIG	 soft_config
#define TUNABLES "providers/soft/tunables.def"
#include "dapl/base/config_declare.h"

#endif
