/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the programs share that do what published programs of DAT 1.2 do, call by call: both sides run
 * as threads of one process, and whatever should not be ends it.
 */
#ifndef CLIENT_H
#define CLIENT_H

#include "test/dat-1.2/native.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define need(condition)                                                                         \
	do {                                                                                    \
		if (!(condition)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                                \
		}                                                                               \
	} while (0)

#define need_ok(call)                                                                 \
	do {                                                                          \
		DAT_RETURN rc_ = (call);                                              \
		if (rc_ != DAT_SUCCESS) {                                             \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
				ct_rc_name(rc_));                                     \
			abort();                                                      \
		}                                                                     \
	} while (0)

/* What one side tells the other outside of DAT, as the programs do over a socket. */
struct client_card {
	struct sockaddr address; /* 16 bytes, no more (D12-73) */
	DAT_CONN_QUAL qual;
};

struct client_pair {
	pthread_barrier_t ready;
	struct client_card server;
};

/* Runs both sides, the server as a thread of its own. */
static inline void client_run(void *(*server)(void *), void (*client)(struct client_pair *))
{
	struct client_pair pair;
	pthread_t thread;

	need(pthread_barrier_init(&pair.ready, NULL, 2) == 0);
	need(pthread_create(&thread, NULL, server, &pair) == 0);
	client(&pair);
	need(pthread_join(thread, NULL) == 0);
	pthread_barrier_destroy(&pair.ready);
}

/* The other side has come as far. */
static inline void client_meet(struct client_pair *pair)
{
	pthread_barrier_wait(&pair->ready);
}

#endif
