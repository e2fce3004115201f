/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A proxy agent that takes its time. */
#ifndef SLOW_AGENT_H
#define SLOW_AGENT_H

#include "harness.h"

#include <stdatomic.h>

struct slow {
	DAT_EVD_HANDLE spare; /* to be freed by the agent in the end */
	DAT_RETURN rc;
	atomic_bool started, go_on, over;
};

static inline void slow_agent(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	uint64_t deadline = ct_now_us() + CT_US;
	struct slow *slow = data;

	(void)evd;
	atomic_store(&slow->started, true);
	while (!atomic_load(&slow->go_on) && ct_now_us() < deadline)
		ct_pause();
	if (slow->spare != DAT_HANDLE_NULL)
		slow->rc = dat_evd_free(slow->spare);
	atomic_store(&slow->over, true);
}

static inline DAT_OS_WAIT_PROXY_AGENT slow_proxy(struct slow *slow)
{
	return (DAT_OS_WAIT_PROXY_AGENT){ .instance_data = slow, .proxy_agent_func = slow_agent };
}

/* A thread that lets it go on. */
static inline void *slow_go_on(void *data)
{
	struct slow *slow = data;

	for (int i = 0; i < 20; i++)
		ct_pause();
	atomic_store(&slow->go_on, true);
	return NULL;
}

#endif
