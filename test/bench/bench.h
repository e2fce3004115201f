/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One measured pair of processes: what runs over DAT and what over plain TCP, in the same run. */
#ifndef UDAPL_BENCH_H
#define UDAPL_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>

enum bench_op {
	BENCH_SEND,
	BENCH_WRITE,
	BENCH_READ,   /* a stream, or one by one from who is busy elsewhere */
	BENCH_MEMORY, /* writes seen in memory by one who dequeues nothing */
	BENCH_REAP,   /* ditto, and dequeues his own write once a round */
};

struct bench_case {
	enum bench_op op;
	bool waiting; /* sleep for events; else poll */
	bool stream;  /* bandwidth; else ping-pong */
	bool both;    /* a stream of writes both ways */
	bool turns;   /* a ping-pong over all endpoints in turn, each after a silence */
	size_t size;
	unsigned int count; /* messages of one round, one way */
	float *trips;	    /* the seconds of each round trip, or NULL */
};

#define BENCH_MAX_SIZE	    ((size_t)4 << 20)
#define BENCH_MAX_ENDPOINTS 2000

/* Address of the passive end, port 0. */
extern struct sockaddr_in bench_server;

double bench_now(void);
/* Says what failed and ends the process. */
__attribute__((noreturn, format(printf, 1, 2))) void bench_die(const char *fmt, ...);

/*
 * The two ends. control is a connected stream socket between the processes, used outside the
 * measured part only. run returns the seconds the round took; the figure of the active end counts.
 */
struct bench_dat;
/* Streams of writes and turns go over all endpoints, the rest over the first one. */
struct bench_dat *bench_dat_open(const char *ia_name, bool active, int control, int endpoints);
/* Before both ends meet for a run: a peer that is faster writes at once. */
void bench_dat_clear(struct bench_dat *dat, const struct bench_case *bc);
double bench_dat_run(struct bench_dat *dat, const struct bench_case *bc, bool active);
void bench_dat_close(struct bench_dat *dat);

/* Connections per second, each with an endpoint of its own, made and ended one after the other. */
double bench_dat_rate(const char *ia_name, bool active, int control, unsigned int count);
double bench_tcp_rate(bool active, int control, unsigned int count);

int bench_tcp_open(bool active, int control);
double bench_tcp_run(int fd, const struct bench_case *bc, bool active);

#endif
