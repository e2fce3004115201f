/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A world: its hosts, what they have, and what must be left of it at the end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dat2/dat_ib_extensions.h>

#include "test/sim/file.h"
#include "test/sim/libc.h"
#include "test/sim/life.h"
#include "test/sim/net.h"

struct world world;

enum {
	LIARS_PORT = 20000, /* and on */
};

/* One that is made before anything goes wrong. */
static void must(const char *name, DAT_RETURN rc)
{
	if (rc != DAT_SUCCESS)
		sim_fail("%s: 0x%x", name, rc);
}

#define MUST(call) must(#call, call)

/* ---- Hosts ---- */

static void make_memory(struct host *host)
{
	size_t size = sizeof(struct memory) * MAX_PAIRS + (size_t)SHARED * BUFFER;
	uint8_t *at = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
	DAT_REGION_DESCRIPTION region = { .for_va = at };

	MUST(dat_lmr_create(host->ia, DAT_MEM_TYPE_VIRTUAL, region, size, host->pz,
			    DAT_MEM_PRIV_ALL_FLAG | DAT_IB_MEM_PRIV_REMOTE_ATOMIC, DAT_VA_TYPE_VA,
			    &host->lmr, &host->key, &host->remote_key, NULL, NULL));
	host->pool = (void *)at;
	at += (size_t)SHARED * BUFFER;
	for (uint32_t i = 0; i < world.num_pairs * 2; i++)
		if (world.pair[i / 2].end[i % 2].host == host)
			world.pair[i / 2].end[i % 2].memory = (struct memory *)at + i / 2;
}

static void open_host(struct host *host)
{
	DAT_SRQ_ATTR srq = { .max_recv_dtos = SHARED, .max_recv_iov = 2 };
	DAT_IA_ATTR attr;

	MUST(dat_ia_open((DAT_NAME_PTR) "soft-lo", 64, &host->async, &host->ia));
	MUST(dat_ia_query(host->ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	memcpy(&host->address, attr.ia_address_ptr, sizeof(struct sockaddr_in));
	MUST(dat_pz_create(host->ia, &host->pz));
	make_memory(host);
	if (world.share_evd)
		MUST(dat_evd_create(host->ia, SHARED_EVENTS, DAT_HANDLE_NULL,
				    DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG |
					    DAT_EVD_CONNECTION_FLAG,
				    &host->shared));
	if (world.share_recv && sim_random(2))
		MUST(dat_srq_create(host->ia, host->pz, &srq, &host->srq));
}

static void close_host(struct host *host)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(host->async, &event) == DAT_SUCCESS)
		judge_event(&event);
	if (host->shared)
		MUST(dat_evd_free(host->shared));
	if (host->srq) {
		judge_srq(host);
		MUST(dat_srq_free(host->srq));
	}
	MUST(dat_lmr_free(host->lmr));
	MUST(dat_pz_free(host->pz));
	MUST(dat_ia_close(host->ia, DAT_CLOSE_GRACEFUL_FLAG));
	free(host->pool);
}

/* ---- Ends ---- */

static void open_end(struct end *end)
{
	const DAT_EVD_FLAGS data = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG;
	struct host *host = end->host;

	if (host->shared) {
		end->recv_evd = end->request_evd = end->conn_evd = host->shared;
		return;
	}
	if (sim_random(4) == 0)
		MUST(dat_cno_create(host->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &end->cno));
	MUST(dat_evd_create(host->ia, END_EVENTS, end->cno, data, &end->recv_evd));
	end->request_evd = end->recv_evd;
	if (sim_random(2))
		MUST(dat_evd_create(host->ia, END_EVENTS, end->cno, data, &end->request_evd));
	MUST(dat_evd_create(host->ia, 16, end->cno, DAT_EVD_CONNECTION_FLAG, &end->conn_evd));
}

static void free_end(struct end *end)
{
	if (end->ep)
		MUST(dat_ep_free(end->ep));
	if (end->host->shared)
		return;
	MUST(dat_evd_free(end->recv_evd));
	if (end->request_evd != end->recv_evd)
		MUST(dat_evd_free(end->request_evd));
	MUST(dat_evd_free(end->conn_evd));
	if (end->cno)
		MUST(dat_cno_free(end->cno));
}

static void place_ends(void)
{
	for (uint32_t i = 0; i < world.num_pairs; i++) {
		struct pair *pair = &world.pair[i];
		uint32_t host = sim_random(HOSTS);

		pair->index = i;
		pair->lies = i < sim_plan.liars;
		pair->answers = pair->lies && sim_random(2);
		for (uint32_t which = 0; which < 2; which++) {
			pair->end[which].pair = pair;
			pair->end[which].which = which;
			pair->end[which].host = &world.host[which ? !host : host];
		}
	}
}

static void open_pair(struct pair *pair)
{
	struct host *host = pair->end[1].host;

	fiber_move(pair->end[0].host->index);
	open_end(&pair->end[0]);
	fiber_move(host->index);
	open_end(&pair->end[1]);
	pair->qual = LIARS_PORT + pair->index;
	if (pair->answers)
		return;
	MUST(dat_evd_create(host->ia, 64, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &pair->cr_evd));
	MUST(dat_psp_create_any(host->ia, &pair->qual, pair->cr_evd, DAT_PSP_CONSUMER_FLAG,
				&pair->sp));
}

/* Requests that nobody has answered are rejected. */
static void free_sp(struct pair *pair)
{
	DAT_EVENT event;

	MUST(dat_psp_free(pair->sp));
	while (dat_evd_dequeue(pair->cr_evd, &event) == DAT_SUCCESS)
		dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0, NULL);
	MUST(dat_evd_free(pair->cr_evd));
}

static void free_pair(struct pair *pair)
{
	if (!life_lost(pair->end[0].host))
		free_end(&pair->end[0]);
	if (life_lost(pair->end[1].host))
		return;
	if (!pair->answers)
		free_sp(pair);
	free_end(&pair->end[1]);
}

/* ---- The plan ---- */

static uint32_t one_of(const uint32_t *from, uint32_t num)
{
	return from[sim_random(num)];
}

#define ONE_OF(...)                               \
	one_of((const uint32_t[]){ __VA_ARGS__ }, \
	       sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))

static void setting(const char *name, uint32_t value)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", value);
	setenv(name, text, 1);
}

static void make_plan(void)
{
	sim_plan.switch_one_in = ONE_OF(1, 2, 4, 16, 64);
	sim_plan.call_ns = ONE_OF(1, 200, 2000, 20000);
	sim_plan.delay_us = ONE_OF(1, 100, 1000, 20000, 200000);
	sim_plan.buffer = ONE_OF(2048, 16384, 131072, 262144);
	sim_plan.segment = ONE_OF(1, 100, 1460, 65483);
	sim_plan.short_one_in = ONE_OF(0, 0, 2, 10, 100);
	sim_plan.fault_percent = ONE_OF(0, 0, 10, 50);
	sim_plan.stop_ms = ONE_OF(0, 0, 100, 2000);
	sim_plan.crash = sim_random(8) == 0;
	sim_plan.fail_one_in = ONE_OF(0, 0, 0, 0, 3000, 300, 50);
	world.num_pairs = 1 + sim_random(MAX_PAIRS);
	sim_plan.liars = sim_random(4) ? 0 : 1 + sim_random(world.num_pairs);
	world.share_evd = sim_random(4) == 0;
	world.share_recv = sim_random(4) == 0;
	world.crc = sim_random(4) != 0;
	setting("DAPL_SOFT_CRC", world.crc);
	sim_plan.shm = sim_random(6) == 0;
	setenv("DAPL_SOFT_LINK",
	       !sim_plan.shm		? "tcp"
	       : sim_plan.fault_percent ? "shm"
					: "auto",
	       1);
	/* Given, since what is measured differs from one world to the next. */
	setting("DAPL_SOFT_DIRECT_LARGE", 32768);
	/* Time does not pass for who polls until it has. */
	setting("DAPL_BUSY_POLL", 0);
	setting("DAPL_SOFT_FPDU", ONE_OF(0, 0, 200, 60000));
	setting("DAPL_SOFT_HELD", ONE_OF(262144, 262144, 10000));
	setting("DAPL_SOFT_LINGER", ONE_OF(2000, 2000, 700));
	world.unreceived_ms = ONE_OF(10000, 10000, 500);
	setting("DAPL_SOFT_UNRECEIVED", world.unreceived_ms);
	/* It is of the process, and so of no host that crashes. */
	setting("DAT_CONTROL", sim_plan.crash ? 0 : ONE_OF(0, 0, 1));
}

static void tell_plan(void)
{
	const struct sim_plan *p = &sim_plan;

	fprintf(stderr,
		"plan: %u pairs, %u of them liars; shared dispatchers %d, receives %d; sums %d\n"
		"plan: another goes on 1 in %u calls of up to %u ns; delay %u us, buffers of %u, "
		"segments of %u, short 1 in %u; shared memory %d\n"
		"plan: connections with a fault %u %%, calls that fail 1 in %u, hosts stop each %u "
		"ms, crash %d\n",
		world.num_pairs, p->liars, world.share_evd, world.share_recv, world.crc,
		p->switch_one_in, p->call_ns, p->delay_us, p->buffer, p->segment, p->short_one_in,
		p->shm, p->fault_percent, p->fail_one_in, p->stop_ms, p->crash);
}

/* ---- The end ---- */

static uint32_t files_left(void)
{
	uint32_t count = 0;

	for (int host = 0; host <= HOSTS; host++)
		if (world.dead != (uint32_t)host + 1)
			count += sim_fd_count(host);
	return count;
}

static void check_left(uint64_t since)
{
	uint64_t patience = sim_now + 1000000000000ull;
	char text[700];

	/* What the peer must still be told is told in the background. */
	while (files_left() && sim_now < patience)
		usleep(100000);
	if (files_left())
		sim_fail("%u descriptors are left", files_left());
	for (int host = 0; host < HOSTS; host++)
		if (world.dead != (uint32_t)host + 1 && fiber_count(host))
			sim_fail("host %d has %u threads left", host, fiber_count(host));
	if (!world.dead && libc_blocks_since(since, fiber_most(), text, sizeof(text)))
		sim_fail("memory is left:%s", text);
}

/* Until it is over, or nobody waits for it any more. */
static void await_end(const struct end *end)
{
	while (!fiber_ended(end->fiber) && world.dead != (uint32_t)end->host->index + 1)
		usleep(100000);
}

static void open_world(void)
{
	place_ends();
	for (int i = 0; i < HOSTS; i++) {
		world.host[i].index = i;
		fiber_move(i);
		open_host(&world.host[i]);
	}
	for (uint32_t i = 0; i < world.num_pairs; i++)
		open_pair(&world.pair[i]);
	/* Who waits for them is on no host that something happens to. */
	fiber_move(HOSTS);
}

static void close_world(void)
{
	for (uint32_t i = 0; i < world.num_pairs; i++)
		free_pair(&world.pair[i]);
	for (int i = 0; i < HOSTS; i++)
		if (!life_lost(&world.host[i]))
			close_host(&world.host[i]);
}

static void live(void)
{
	struct fiber *faults;
	struct pair *pair;
	uint32_t i;

	libc_may_fail = true;
	for (i = 0; i < world.num_pairs; i++) {
		pair = &world.pair[i];
		pair->end[0].fiber =
			fiber_start("active", pair->end[0].host->index,
				    pair->lies && !pair->answers ? life_liar : life_active, pair);
		pair->end[1].fiber =
			fiber_start("passive", pair->end[1].host->index,
				    pair->answers ? life_false_answers : life_passive, pair);
	}
	faults = fiber_start("faults", HOSTS, host_faults, NULL);
	for (i = 0; i < 2 * world.num_pairs; i++)
		await_end(&world.pair[i / 2].end[i % 2]);
	world.over = true;
	fiber_join(faults, NULL);
	libc_may_fail = false;
}

void *world_lives(void *lives)
{
	struct host first = { .index = 0 };
	uint64_t since;

	make_plan();
	world.lives = *(uint32_t *)lives;
	if (sim_verbose)
		tell_plan();
	/* What is made once and stays. */
	open_host(&first);
	close_host(&first);
	since = libc_blocks_serial();
	open_world();
	live();
	close_world();
	check_left(since);
	return NULL;
}
