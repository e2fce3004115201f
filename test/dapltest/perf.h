/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The performance test: one operation, repeated and timed. During RDMA the server's program sleeps;
 * a message (SR) it sends back, and what is timed is the way there and back.
 */
#ifndef DAPLTEST_PERF_H
#define DAPLTEST_PERF_H

#include "control.h"
#include "histogram.h"
#include "link.h"
#include "params.h"
#include "pool.h"
#include "reap.h"
#include "results.h"

/* Times of one kind of call or interval. */
struct dt_times {
	uint64_t count;
	uint64_t sum_ns;
	uint64_t min_ns;
	uint64_t max_ns;
};

/* The calls of one kind; those in which the thread lost the processor are counted apart. */
struct dt_call_times {
	struct dt_times undisturbed;
	struct dt_times disturbed;
	uint64_t switches;
};

struct dt_perf {
	struct dt_actor *actor;
	const struct dt_ia *ia;
	const struct dt_params *params;
	bool am_server;
	struct dt_link link;
	struct dt_evds evds;
	struct dt_pool pool;
	struct dt_pool in; /* SR only */
	DAT_RMR_TRIPLET remote;
	struct dt_reaper reaper; /* of the request EVD */
	struct dt_reaper recv_reaper;
	uint32_t pipeline;
	uint64_t *posted_ns; /* when each operation in flight was posted */

	struct dt_times latency;
	struct dt_histogram histogram; /* of the latency */
	struct dt_call_times posts;
	struct dt_call_times reaps;
	uint64_t elapsed_ns;
	uint64_t cpu_ns;
};

int dt_perf_create(struct dt_perf *perf, struct dt_actor *actor, const struct dt_ia *ia,
		   DAT_PZ_HANDLE pz, const struct dt_params *params, DAT_EVD_HANDLE server_cm);
void dt_perf_destroy(struct dt_perf *perf);
struct dt_link *dt_perf_link(void *perf, uint32_t index);

int dt_perf_connect(struct dt_perf *perf, const struct sockaddr_storage *address,
		    const struct dt_reply *reply);

/* Runs the client's side; the control connection is told now and then that it still runs. */
int dt_perf_run(struct dt_perf *perf, struct dt_control *control);
/* The server's side of an SR: sends back what it receives. */
int dt_perf_echo(struct dt_perf *perf);
void dt_perf_close(struct dt_perf *perf, bool graceful);
void dt_perf_print(const struct dt_perf *perf);
void dt_perf_result(const struct dt_perf *perf, struct dt_result *result);

#endif
