/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Pages of registered memory: pinned, or paged in by the device, and what a fork does to them. A
 * kernel before 5.12 leaves parent and child one copy of a pinned page until either writes to it,
 * and the parent may be the one that gets the new copy, which the device does not know.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "trace/log.h"
#include "providers/verbs/memory/memory.h"

/* ---- Paging by the device ---- */

static bool pages_in(const struct vrb_dev *dev)
{
	uint32_t needed = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE |
			  IBV_ODP_SUPPORT_READ;
	struct ibv_device_attr_ex attr = { 0 };

	if (dev->attr.operations & TP_ATOMICS)
		needed |= IBV_ODP_SUPPORT_ATOMIC;
	if (dev->attr.max_srq)
		needed |= IBV_ODP_SUPPORT_SRQ_RECV;
	return !ibv_query_device_ex(dev->ctx, NULL, &attr) &&
	       (attr.odp_caps.general_caps & IBV_ODP_SUPPORT) &&
	       (attr.odp_caps.per_transport_caps.rc_odp_caps & needed) == needed;
}

/* ---- Forks ---- */

static _Atomic uint32_t regions; /* of all adapters */
static atomic_bool told;

void vrb_paging_count(int more)
{
	atomic_fetch_add(&regions, (uint32_t)more);
}

static void after_fork(void)
{
	if (!atomic_load(&regions) || ibv_is_fork_initialized() != IBV_FORK_DISABLED ||
	    atomic_exchange(&told, true))
		return;
	dapl_err("the program forks while memory is registered: this kernel does not copy such "
		 "pages then, and what the adapter writes there later may be lost (set the option "
		 "fork_safe)");
}

static void watch_forks(void)
{
	if (ibv_is_fork_initialized() == IBV_FORK_DISABLED)
		pthread_atfork(NULL, after_fork, NULL);
}

/* ---- Both ---- */

void vrb_paging_learn(struct vrb_dev *dev)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch_forks);
	dev->on_demand = dev->config->on_demand && pages_in(dev);
	if (dev->config->on_demand && !dev->on_demand)
		dapl_err("%s: registered memory stays pinned (option on_demand): %s does not page "
			 "it "
			 "in by itself",
			 dev->name, dev->ibdev);
}

/* libibverbs keeps regions from children by madvise, which in huge pages has to be told of them. */
const char *vrb_paging_hint(int err)
{
	if (err == EINVAL && ibv_is_fork_initialized() == IBV_FORK_ENABLED &&
	    !secure_getenv("RDMAV_HUGEPAGES_SAFE"))
		return " (in huge pages? with fork_safe they need RDMAV_HUGEPAGES_SAFE=1 in the "
		       "environment)";
	return "";
}
