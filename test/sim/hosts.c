/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What happens to hosts: they stand still, crash, or their program ends without a word. */
#include <unistd.h>

#include "test/sim/file.h"
#include "test/sim/libc.h"
#include "test/sim/life.h"
#include "test/sim/net.h"

#define MS 1000000ull

static void stop(void)
{
	uint32_t host = sim_random(HOSTS);

	world.stops++;
	fiber_freeze((int)host, sim_now + sim_random(1u << sim_random(15)) * MS);
}

/*
 * Its process is killed, or the machine is gone, which it cannot be without its peer where they
 * share memory. The libraries of all hosts are in one process: what is the process' own must not be
 * held by who never goes on.
 */
static void crash(uint32_t host)
{
	while (fiber_holding((int)host))
		usleep(10);
	world.dead = host + 1;
	fiber_freeze((int)host, SIM_NEVER);
	if (sim_random(2) && !sim_plan.shm)
		net_cut((int)host);
	else
		sim_fd_close_all((int)host);
}

/* Its program closes its adapter with all there is. */
static void leave(uint32_t host)
{
	DAT_RETURN rc;

	world.leaves = host + 1;
	for (uint32_t i = 0; i < world.num_pairs * 2; i++)
		while (world.pair[i / 2].end[i % 2].host == &world.host[host] &&
		       !fiber_ended(world.pair[i / 2].end[i % 2].fiber))
			usleep(100000);
	libc_may_fail = false;
	fiber_move((int)host);
	rc = dat_ia_close(world.host[host].ia, DAT_CLOSE_ABRUPT_FLAG);
	fiber_move(HOSTS);
	if (rc != DAT_SUCCESS)
		sim_fail("dat_ia_close, abruptly: 0x%x", rc);
}

void *host_faults(void *unused)
{
	uint32_t when = sim_random(world.lives), host = sim_random(HOSTS);

	(void)unused;
	while (!world.over) {
		usleep(sim_random((sim_plan.stop_ms ? sim_plan.stop_ms : 1000) * 1000));
		if (sim_plan.crash && world.lives_begun > when) {
			if (sim_random(2))
				crash(host);
			else
				leave(host);
			break;
		}
		if (sim_plan.stop_ms && !world.over)
			stop();
	}
	return NULL;
}
