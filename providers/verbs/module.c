/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The transport's table. */
#include "dapl/base/config.h"
#include "dapl/transport.h"
#include "providers/verbs/verbs.h"

#define CONFIG	       vrb_config
#define CONFIG_OPTIONS vrb_options
#define TUNABLES       "providers/verbs/tunables.def"
#include "dapl/base/config_define.h"

const struct dapl_transport dapl_module_transport = {
	.version = DAPL_TRANSPORT_VERSION,
	.size = sizeof(struct dapl_transport),
	.name = "verbs",
	.provider_name = "CMA",
	.version_major = 2,
	.version_minor = 0,
	.options = vrb_options,
	.num_options = sizeof(vrb_options) / sizeof(vrb_options[0]),
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
