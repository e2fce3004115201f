/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The transport: its tables, and opening an adapter. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "dapl/base/config.h"
#include "trace/log.h"
#include "providers/verbs/addr.h"
#include "providers/verbs/async.h"
#include "providers/verbs/cm/cm.h"
#include "providers/verbs/memory/memory.h"
#include "providers/verbs/qp.h"
#include "providers/verbs/qp_bind.h"
#include "providers/verbs/watchdog.h"

#define CONFIG	       vrb_config
#define CONFIG_OPTIONS vrb_options
#define TUNABLES       "providers/verbs/tunables.def"
#include "dapl/base/config_define.h"

static void dev_init(struct vrb_dev *dev, const struct tp_device_init *init)
{
	dev->base = (struct tp_device){ .transport = &dapl_module_transport,
					.up = init->up,
					.loop = init->loop,
					.owner = init->owner };
	dev->config = init->config ? init->config : &vrb_config;
	snprintf(dev->name, sizeof(dev->name), "%s", init->ia_name);
	pthread_mutex_init(&dev->cm_lock, NULL);
	pthread_mutex_init(&dev->lock, NULL);
	pthread_mutex_init(&dev->async_lock, NULL);
	pthread_mutex_init(&dev->mw_lock, NULL);
	pthread_mutex_init(&dev->number_lock, NULL);
	pthread_mutex_init(&dev->mr_lock, NULL);
	vrb_reaper_init(&dev->reaper);
}

static void dev_free(struct vrb_dev *dev)
{
	pthread_mutex_destroy(&dev->mr_lock);
	pthread_mutex_destroy(&dev->number_lock);
	pthread_mutex_destroy(&dev->mw_lock);
	pthread_mutex_destroy(&dev->async_lock);
	pthread_mutex_destroy(&dev->lock);
	pthread_mutex_destroy(&dev->cm_lock);
	free(dev->mrs);
	free(dev);
}

/* Before the first registration of the process, or libibverbs refuses. */
static int make_fork_safe(const struct vrb_dev *dev)
{
	int err = dev->config->fork_safe ? ibv_fork_init() : 0;

	if (err)
		dapl_err("%s: registered memory not made safe for fork: %s (something was "
			 "registered before?)",
			 dev->name, dapl_strerror(err));
	return -abs(err);
}

static int open_parts(struct vrb_dev *dev, const char *params)
{
	int rc = make_fork_safe(dev);

	if (rc)
		return rc;
	rc = vrb_cm.open(dev, params);
	if (rc)
		return rc;
	vrb_watchdog_init(dev);
	rc = vrb_dev_learn(dev);
	if (rc)
		goto close_dev;
	vrb_paging_learn(dev);
	vrb_qp_probe(dev);
	rc = vrb_async_start(dev);
	if (rc)
		goto close_dev;
	rc = vrb_cm.start(dev);
	if (!rc)
		return 0;
	vrb_async_stop(dev);
close_dev:
	vrb_dev_close(dev);
	vrb_cm.close(dev);
	return rc;
}

static int dev_open(const struct tp_device_init *init, struct tp_device **out)
{
	struct vrb_dev *dev = calloc(1, sizeof(*dev));
	char text[VRB_ADDR_TEXT];
	int rc;

	if (!dev) {
		dapl_err("%s: not opened: %s", init->ia_name, dapl_strerror(ENOMEM));
		return -ENOMEM;
	}
	dev_init(dev, init);
	rc = open_parts(dev, init->params);
	if (rc) {
		vrb_reaper_end(&dev->reaper);
		dev_free(dev);
		return rc;
	}
	dapl_trace(verbs_open, DAPL_TRC_NORMAL, dev, "ia=%s device=%s port=%u kind=%s address=%s",
		   dev->name, dev->ibdev, dev->port, dev->quirks.kind,
		   vrb_addr_text(&dev->addr, text));
	*out = &dev->base;
	return 0;
}

static void dev_close(struct tp_device *base)
{
	struct vrb_dev *dev = vrb_dev(base);

	vrb_reaper_end(&dev->reaper);
	vrb_watchdog_stop(dev);
	vrb_cm.stop(dev);
	vrb_async_stop(dev);
	vrb_dev_close(dev);
	vrb_cm.close(dev);
	vrb_late_free_all(dev);
	dev_free(dev);
}

static void dev_query(struct tp_device *base, struct tp_device_attr *attr)
{
	*attr = vrb_dev(base)->attr;
}

static const struct dapl_device_ops device_ops = {
	.open = dev_open,
	.close = dev_close,
	.query = dev_query,
	.read_counters = vrb_dev_counters,
};

const struct dapl_transport dapl_module_transport = {
	.version = DAPL_TRANSPORT_VERSION,
	.size = sizeof(struct dapl_transport),
	.name = "verbs",
	.provider_name = vrb_cm_name,
	.version_major = 2,
	.version_minor = 0,
	.options = vrb_options,
	.num_options = sizeof(vrb_options) / sizeof(vrb_options[0]),
	.config = &vrb_config,
	.device = &device_ops,
	.pd = &vrb_pd_ops,
	.mr = &vrb_mr_ops,
	.mw = &vrb_mw_ops,
	.srq = &vrb_srq_ops,
	.cq = &vrb_cq_ops,
	.qp = &vrb_qp_ops,
	.cm = &vrb_cm_ops,
};
