/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The transport's tables and tunables. */
#include "dapl/base/config.h"
#include "dapl/transport.h"
#include "providers/soft/cm/accept.h"
#include "providers/soft/cm/cm.h"
#include "providers/soft/cm/handoff.h"
#include "providers/soft/cm/listener.h"
#include "providers/soft/cm/ud.h"
#include "providers/soft/base/config.h"
#include "providers/soft/base/device.h"
#include "providers/soft/engine/cq.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/engine/srq.h"
#include "providers/soft/memory/stag.h"
#include "providers/soft/memory/window.h"

static const char *const crcs[] = { "no", "yes", "auto", NULL };
static const char *const directs[] = { "no", "auto", NULL };
static const char *const links[] = { "auto", "tcp", "shm", NULL };

#define CONFIG	       soft_config
#define CONFIG_OPTIONS soft_options
#define TUNABLES       "providers/soft/tunables.def"
#include "dapl/base/config_define.h"

static const struct dapl_cm_ops cm_ops = {
	.listen = soft_listen,
	.unlisten = soft_unlisten,
	.connect = soft_connect,
	.accept = soft_accept,
	.reject = soft_reject,
	.handoff = soft_handoff,
	.free_ah = soft_ud_free_ah,
	.disconnect = soft_disconnect,
	.release = soft_release,
	.addr = soft_conn_addr,
};

static const struct dapl_socket_ops socket_ops = {
	.listen = soft_listen_socket,
	.connect = soft_connect_socket,
};

const struct dapl_transport dapl_module_transport = {
	.version = DAPL_TRANSPORT_VERSION,
	.size = sizeof(struct dapl_transport),
	.name = "soft",
	.provider_name = "soft",
	.version_major = 2,
	.version_minor = 0,
	.options = soft_options,
	.num_options = sizeof(soft_options) / sizeof(soft_options[0]),
	.config = &soft_config,
	.device = &soft_device_ops,
	.pd = &soft_pd_ops,
	.mr = &soft_mr_ops,
	.mw = &soft_mw_ops,
	.srq = &soft_srq_ops,
	.cq = &soft_cq_ops,
	.qp = &soft_qp_ops,
	.cm = &cm_ops,
	.socket = &socket_ops,
};
