/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Service points of one test: one PSP for all its endpoints, or one RSP for each. */
#ifndef DAPLTEST_LISTENER_H
#define DAPLTEST_LISTENER_H

#include <pthread.h>

#include "link.h"

typedef struct dt_link *(*dt_link_finder)(void *test, uint32_t index);

/* Hands out ports near the server's own. Shared by the sessions. */
struct dt_ports {
	DAT_CONN_QUAL base;
	pthread_mutex_t lock;
	uint32_t next;
};

struct dt_listener {
	DAT_PSP_HANDLE psp;
	DAT_RSP_HANDLE *rsps;
	uint32_t num_rsps;
	DAT_CONN_QUAL port;
};

int dt_listen_psp(struct dt_actor *actor, struct dt_listener *listener, const struct dt_ia *ia,
		  DAT_EVD_HANDLE evd, struct dt_ports *ports);
int dt_listen_rsps(struct dt_actor *actor, struct dt_listener *listener, const struct dt_ia *ia,
		   DAT_EVD_HANDLE evd, struct dt_ports *ports, dt_link_finder find, void *test,
		   uint32_t count);
void dt_unlisten(struct dt_actor *actor, struct dt_listener *listener);

#endif
