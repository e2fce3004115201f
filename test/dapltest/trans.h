/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The transaction test: the same list of operations, run by both sides on every endpoint. */
#ifndef DAPLTEST_TRANS_H
#define DAPLTEST_TRANS_H

#include <pthread.h>
#include <stdatomic.h>

#include "gate.h"
#include "link.h"
#include "params.h"
#include "pool.h"
#include "reap.h"
#include "results.h"
#include "wire.h"

/* What this side does in an operation. */
enum dt_role {
	DT_ROLE_SEND,
	DT_ROLE_RECV,
	DT_ROLE_READ,
	DT_ROLE_WRITE,
	DT_ROLE_BE_READ,
	DT_ROLE_BE_WRITTEN,
};

struct dt_trans_op {
	struct dt_pool pool;
	DAT_RMR_TRIPLET remote; /* DT_ROLE_READ and DT_ROLE_WRITE */
};

struct dt_trans_ep {
	struct dt_link link;
	struct dt_trans_op *ops;
	struct dt_pool memory_out;
	struct dt_pool memory_in;
	uint32_t index; /* among all endpoints of the test */
	uint32_t requests_posted;
	uint32_t requests_done;
	uint32_t recvs_posted;
	uint32_t recvs_done;
	uint32_t recvs_taken;
};

struct dt_trans_stats {
	uint64_t wqes;
	uint64_t sent;
	uint64_t received;
	uint64_t read;
	uint64_t written;
	uint64_t started_ns;
	uint64_t ended_ns;
};

struct dt_trans;

struct dt_trans_thread {
	struct dt_trans *trans;
	struct dt_actor actor;
	uint32_t index;
	struct dt_evds evds;
	DAT_CNO_HANDLE cno;
	struct dt_reaper recv;
	struct dt_reaper request;
	struct dt_trans_ep *eps;
	uint32_t num_eps; /* whose `ops` were made, for an unwinding that knows where to stop */
	struct dt_trans_stats stats;
	pthread_t thread;
	bool completed;
};

struct dt_trans {
	struct dt_actor *actor;
	const struct dt_ia *ia;
	DAT_PZ_HANDLE pz;
	const struct dt_params *params;
	uint32_t eps_per_thread;
	bool am_server;
	atomic_bool *stop; /* set from outside or by a thread that failed: the others end too */

	enum dt_role roles[DT_ALL_OPS];
	uint8_t recv_order[DT_ALL_OPS]; /* the operations that receive, in their order */
	uint32_t num_recvs;
	uint32_t num_targets; /* operations in which the peer reads or writes our memory */
	uint32_t peer_targets;
	struct dt_link_needs needs;
	DAT_EVD_HANDLE server_cm;
	struct dt_trans_thread *threads;

	/* The client's way to the server. */
	struct sockaddr_storage address;
	struct dt_reply reply;
	struct dt_gate gate;
	atomic_bool connected; /* every endpoint was: the server has started its part */
};

/* Everything that does not need the peer. A server gives the EVD on which it waits for requests. */
int dt_trans_create(struct dt_trans *trans, struct dt_actor *actor, const struct dt_ia *ia,
		    DAT_PZ_HANDLE pz, const struct dt_params *params, uint32_t eps,
		    DAT_EVD_HANDLE server_cm, atomic_bool *stop);
void dt_trans_destroy(struct dt_trans *trans);

uint32_t dt_trans_count(const struct dt_trans *trans);
struct dt_link *dt_trans_link(void *trans, uint32_t index);

/* Runs the threads and waits for them. A client connects its endpoints first. */
int dt_trans_run(struct dt_trans *trans);

/* Ends all connections without waiting for the end, so that the peer's threads end too. */
void dt_trans_break(struct dt_trans *trans);

/* The client ends the connections; the server waits until it has, and helps only if it must. */
void dt_trans_close(struct dt_trans *trans);

void dt_trans_print(const struct dt_trans *trans);
void dt_trans_result(const struct dt_trans *trans, struct dt_result *result);

/* From trans_run.c. */
void dt_trans_first_fill(struct dt_trans_thread *thread);
int dt_trans_post_recvs(struct dt_trans_thread *thread, struct dt_trans_ep *ep);
int dt_trans_exchange(struct dt_trans_thread *thread);
int dt_trans_iterate(struct dt_trans_thread *thread);

#endif
