/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One side of a scripted life: a server or a client opens an adapter, makes all that the interface
 * has, connects (the server hands the request on to its second service point), moves data in every
 * way, disconnects, resets and is rejected once, frees everything and closes. Every byte is looked
 * at; every request and Receive must complete once.
 */
#ifndef LIFE_SIDE_H
#define LIFE_SIDE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct side_plan {
	bool server;
	const char *adapter;
	const char *host;  /* where the server is; NULL: at the client's own address */
	uint16_t port;	   /* the server's, and the one above it */
	uint32_t limit_ms; /* in which whatever must happen happens */
	uint32_t idle_ms;  /* so long nothing is said once all keys are known */
	uint32_t rounds;   /* of data */
};

/* Where a side is and what became of it; in memory that both sides and their parent share. */
struct side_report {
	const char *step; /* a constant of the program's */
	char complaint[300];
	atomic_bool ready;	   /* the server listens, the client has its endpoint */
	atomic_bool lived;	   /* the first life is over */
	atomic_bool go;		   /* set by the parent: begin the next one */
	atomic_bool gone;	   /* set by the parent: the peer is, or its way */
	atomic_bool may_end;	   /* set by the parent: this life may end at any time */
	_Atomic uint64_t heard_at; /* when the connection's end was told, in ms; 0: not */
	_Atomic uint32_t event;	   /* by which this life ended */
	_Atomic uint32_t rounds;   /* of data that this life has got through */
	int blocks, files;	   /* held at the end */
};

/* Lives so often; before each after the first one it waits for report->go. */
void side_run(const struct side_plan *plan, struct side_report *report, uint32_t lives);
uint64_t side_now(void);

#endif
