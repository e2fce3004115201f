/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What siw-peer has of its device, and how it answers. */
#ifndef SIW_PEER_H
#define SIW_PEER_H

#include "test/interop/commands.h"

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>

#define MAX_REGIONS 256
#define MAX_EPS	    64
#define MAX_NOTES   256
#define MAX_LISTENS 16
#define CQ_LENGTH   4096
#define OP_SHIFT    56 /* of a work request's number: operation above, cookie below */

/* Registered memory. */
struct region {
	struct memory memory;
	struct ibv_mr *mr;
};

struct endpoint {
	struct ibv_qp *qp;
	struct rdma_cm_id *id;
	unsigned reads_in, reads_out;
	const char *state;
};

struct listening {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
};

/* A connection event not yet told. */
struct note {
	struct endpoint *ep;
	enum rdma_cm_event_type kind;
	int status;
	size_t length;
	uint8_t data[256];
};

enum operation {
	OP_RECV,
	OP_SEND,
	OP_WRITE,
	OP_READ,
};

extern struct sockaddr_storage own;
extern struct rdma_cm_id *device_id;
extern struct rdma_event_channel *ep_channel;
extern struct ibv_pd *pd;
extern struct ibv_cq *cq;
extern struct ibv_comp_channel *completions;
extern struct region regions[MAX_REGIONS];
extern struct endpoint eps[MAX_EPS];
extern struct rdma_cm_id *requests[MAX_NOTES];
extern unsigned num_requests;
extern struct listening listens[MAX_LISTENS];
extern struct note notes[MAX_NOTES];
extern unsigned first_note, num_notes;
extern const char pending[];

/* The outcome of calls that return 0, an errno value, or -1 and errno. */
void print_result(int ret);
struct endpoint *ep_of(const struct command *cmd);
struct region *region_of(const struct command *cmd);
bool readable(int fd, int64_t end);

/* The verb "wait", in siw-events.c. */
void do_wait(const struct command *cmd);

#endif
