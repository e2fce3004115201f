/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "providers/soft/addr.h"
#include "providers/soft/cm/budget.h"
#include "providers/soft/cm/conn.h"
#include "providers/soft/cm/handoff/handoff.h"
#include "providers/soft/cm/linger.h"
#include "providers/soft/config.h"
#include "providers/soft/device.h"
#include "providers/soft/engine/bind.h"
#include "providers/soft/engine/drive.h"
#include "providers/soft/wire/crc32c.h"
#include "providers/soft/wire/wire.h"
#include "trace/log.h"

enum {
	MAX_NAP_NS = 16000000,
};

/* ---- Calls that run on the loop ---- */

struct call {
	struct tp_task task;
	int (*fn)(void *arg);
	void *arg;
	int ret;
	sem_t done;
};

static void call_run(struct tp_task *task)
{
	struct call *call = soft_container(task, struct call, task);

	call->ret = call->fn(call->arg);
	sem_post(&call->done);
}

int soft_dev_call(struct soft_dev *dev, int (*fn)(void *arg), void *arg)
{
	struct call call = { .task.run = call_run, .fn = fn, .arg = arg };

	if (dapl_loop_is_self(dev->base.loop))
		return fn(arg);
	sem_init(&call.done, 0, 0);
	dapl_loop_post(dev->base.loop, &call.task);
	while (sem_wait(&call.done) && errno == EINTR)
		;
	/* The loop may still be on its way out of the callback, whose task is on this stack. */
	dapl_loop_cancel(dev->base.loop, &call.task);
	sem_destroy(&call.done);
	return call.ret;
}

/* ---- The device ---- */

static int dev_open(const struct tp_device_init *init, struct tp_device **out)
{
	struct soft_dev *dev = calloc(1, sizeof(*dev));
	char text[SOFT_ADDR_TEXT];
	int rc;

	if (!dev) {
		dapl_err("%s: not opened: %s", init->ia_name, dapl_strerror(ENOMEM));
		return -ENOMEM;
	}
	rc = soft_addr_resolve(init->ia_name, init->params, &dev->addr);
	if (!rc)
		rc = soft_stags_init(&dev->stags, soft_bind_quiesce);
	if (rc) {
		free(dev);
		return rc;
	}
	soft_crc32c_init();
	dev->base = (struct tp_device){ .transport = &dapl_module_transport,
					.up = init->up,
					.loop = init->loop,
					.owner = init->owner };
	dev->hooks = &soft_conn_hooks;
	dev->config = init->config ? init->config : &soft_config;
	snprintf(dev->name, sizeof(dev->name), "%s", init->ia_name);
	pthread_mutex_init(&dev->lock, NULL);
	soft_list_init(&dev->qps);
	soft_list_init(&dev->left);
	soft_list_init(&dev->conns);
	soft_list_init(&dev->awaiting);
	soft_list_init(&dev->lingers);
	for (int i = 0; i < SOFT_BUDGETS; i++)
		soft_budget_init(&dev->budget[i], (enum soft_budget_kind)i);
	dev->tick.expired = soft_progress_tick;
	dev->kick.run = soft_progress_kick;
	dev->pulse.expired = soft_progress_pulse;
	dapl_trace(soft_open, DAPL_TRC_NORMAL, dev, "ia=%s address=%s crc=%s", dev->name,
		   soft_addr_text(&dev->addr, 0, text),
		   dev->config->crc ? "always" : "as the peer asks");
	*out = &dev->base;
	return 0;
}

static int stop(void *arg)
{
	struct soft_dev *dev = arg;

	soft_door_close(dev);
	soft_linger_stop(dev);
	dapl_loop_timer_cancel(dev->base.loop, &dev->tick);
	dapl_loop_timer_cancel(dev->base.loop, &dev->pulse);
	dapl_loop_cancel(dev->base.loop, &dev->kick);
	return 0;
}

/*
 * Peers that are slow get time to take in what they were sent: option linger. The kernel tells
 * nobody that the last byte was acknowledged, so it is asked.
 */
static void settle(struct soft_dev *dev)
{
	uint64_t until = dapl_now() + (uint64_t)dev->config->linger_ms * 1000000;
	struct timespec nap = { .tv_nsec = 1000000 };

	if (dapl_loop_is_self(dev->base.loop))
		return;
	while (soft_dev_call(dev, soft_linger_busy, dev) && dapl_now() < until) {
		nanosleep(&nap, NULL);
		if (nap.tv_nsec < MAX_NAP_NS)
			nap.tv_nsec *= 2;
	}
}

static void dev_close(struct tp_device *base)
{
	struct soft_dev *dev = soft_dev(base);

	/* Without a connection or listener the loop may never have started, and nothing is to be
	 * stopped. */
	if (atomic_load(&dev->looped)) {
		settle(dev);
		soft_dev_call(dev, stop, dev);
	}
	soft_stags_fini(&dev->stags);
	pthread_mutex_destroy(&dev->lock);
	free(dev);
}

static void dev_query(struct tp_device *base, struct tp_device_attr *attr)
{
	const struct soft_dev *dev = soft_dev(base);

	*attr = (struct tp_device_attr){
		.addr = dev->addr,
		.vendor_name = "software iWARP",
		.hw_major = 1,
		.fw_major = 1,
		.max_qp = 65536,
		.max_qp_wr = (uint32_t)dev->config->max_wr,
		.max_sge = SOFT_MAX_SGE,
		.max_sge_read = SOFT_MAX_SGE,
		.max_sge_write = SOFT_MAX_SGE,
		.max_read_in = SOFT_MAX_READS,
		.max_read_out = SOFT_MAX_READS,
		.max_cq = 65536,
		.max_cqe = SOFT_MAX_CQE,
		.max_mr = 1 << 20,
		.max_pd = 65536,
		.max_mr_size = 1ull << 46,
		.max_msg_size = SOFT_MAX_LENGTH,
		.max_rdma_size = SOFT_MAX_LENGTH,
		.max_private_data = WIRE_MPA_PD_CONSUMER,
		.max_conn_qual = UINT16_MAX,
		.max_mw = 1 << 20,
		.max_srq = 65536,
		.max_srq_wr = SOFT_MAX_WR,
		.max_srq_sge = SOFT_MAX_SGE,
		.srq_limit = true,
		.srq_count = true,
		.srq_pd_differs = true,
		.recv_limits = true,
		.zero_based = true,
		.mw_pd_scope = true,
		.mw_qp_scope = true,
		.send_invalidate = true,
		.read_to_rkey = true,
		.delayed_ack = true,
		.handoff = true,
		.ib_extension = true,
		.fetch_and_add = true,
		.cmp_and_swap = true,
		.write_immediate = true,
		/* A stream has neither packets nor ports; programs size their messages by the MTU.
		 */
		.mtu = 4096,
		.port_num = 1,
		.port_status = "ACTIVE",
	};
	snprintf(attr->ib_device, sizeof(attr->ib_device), "%s", dev->name);
}

const struct dapl_device_ops soft_device_ops = {
	.open = dev_open,
	.close = dev_close,
	.query = dev_query,
	.sample = soft_sample,
};
