/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One side of a connection that moves at random what the tests of load move, and what it expects.
 */
#ifndef LOAD_SIDE_H
#define LOAD_SIDE_H

#include "conn_util.h"

enum {
	DEPTH = 24,	    /* operations per queue */
	MAX_LEN = 64 << 10, /* of one operation */
	SLOT = MAX_LEN + 4096,
	WINDOW = 256 << 10, /* what the peer reads and writes */
	MAX_IOV = 8,
	RING = 128, /* more than can be under way in a direction */
	STEPS = 300,
};

struct op {
	DAT_DTOS kind;
	bool suppressed, bad;
	size_t len, off; /* off: in the peer's window */
	unsigned int seed;
	int n;
	DAT_LMR_TRIPLET iov[MAX_IOV];
	uint8_t *want; /* what a read must find */
};

struct message {
	size_t len;
	unsigned int seed;
};

struct side {
	struct ct_end end;
	struct side *peer;
	struct ct_mem *source, *sink, *window;
	uint8_t *shadow;	  /* what the window holds when all is done */
	unsigned int unsignalled; /* that flag, if posts may have it */
	unsigned int recv_unsignalled;
	bool failed, recv_failed, ended, over; /* over: its endpoint is gone */
	bool may_fail, must_succeed;

	struct op ops[RING];
	unsigned int posted, retired;

	struct message sent[RING];
	unsigned int num_sent;
	size_t room[RING]; /* of the Receives */
	DAT_LMR_TRIPLET recv_iov[RING][MAX_IOV];
	int recv_n[RING];
	unsigned int recv_posted, recv_done;
};

extern bool load_receives_first;
extern uint64_t load_random_state;

unsigned int load_below(unsigned int n);
bool load_one_in(unsigned int n);
/* The first len bytes are the pattern, or want if that is not null. */
CU_PEER_MEMORY void load_look(const DAT_LMR_TRIPLET *iov, int n, size_t len, unsigned int seed,
			      const uint8_t *want);
void load_same_window(const struct side *s);
void side_open(struct cu_rig *rig, struct side *s, bool merged);
void side_close(struct side *s);
void side_post_recv(struct side *s);
DAT_RETURN side_post(struct side *s, struct op *op, unsigned int flags);
void side_post_request(struct side *s, DAT_DTOS kind, size_t len, bool suppressed);
void side_post_some(struct side *s);

#endif
