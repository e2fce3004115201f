/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The server's side of one client, in a thread of its own. */
#ifndef DAPLTEST_SESSION_H
#define DAPLTEST_SESSION_H

#include <pthread.h>
#include <stdatomic.h>

#include "listener.h"

struct dt_session {
	struct dt_actor actor;
	const struct dt_ia *ia;
	struct dt_ports *ports;
	DAT_EVD_HANDLE server_evd; /* gets a software event when the session is over */
	DAT_CR_HANDLE cr;
	uint32_t timeout_s;
	uint32_t id;
	atomic_bool stop;
	atomic_bool over;
	bool quit_asked;
	pthread_t thread;
	struct dt_session *next;
};

/* Takes the request over, also when it fails; then the request was rejected. */
struct dt_session *dt_session_start(const struct dt_actor *server, const struct dt_ia *ia,
				    struct dt_ports *ports, DAT_EVD_HANDLE server_evd,
				    DAT_CR_HANDLE cr, uint32_t number, uint32_t timeout_s);

/* Waits for the end of the thread and frees the session. */
void dt_session_join(struct dt_session *session);

#endif
