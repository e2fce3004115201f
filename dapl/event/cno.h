/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Notification objects: sticky triggers that threads, agents and descriptors wait for. */
#ifndef DAPL_CNO_H
#define DAPL_CNO_H

#include <pthread.h>
#include <stdatomic.h>

#include "dapl/object/object.h"
#include "dapl/transport.h"

struct dapl_agent;
struct dapl_evd;
struct dapl_ia;

struct dapl_cno {
	struct dapl_object obj; /* users: EVDs that point here, and calls that may have one do so */
	atomic_uint evds;	/* that do */
	pthread_mutex_t lock;
	bool triggered;
	DAT_EVD_HANDLE last;	     /* the EVD of the latest trigger */
	struct dapl_agent *agent;    /* NULL: none */
	struct dapl_agent *detached; /* by triggers, and not called yet */
	struct tp_task task;	     /* on ia->agents: calls them */
	uint32_t callers;	     /* other threads that do */
	pthread_cond_t called;	     /* there are none */
	int fd;			     /* -1 unless made by dat_cno_fd_create */
	uint32_t word;		     /* futex: changes whenever a sleeper should look again */
	uint32_t waiters;	     /* threads inside dat_cno_wait */
	uint32_t release_all;	     /* counts CNO-31 and CNO-32 releases */
};

extern const struct dapl_class dapl_cno_class;

/* A trigger by evd (CNO-3); the EVD's lock is held. */
void dapl_cno_trigger_by(struct dapl_cno *cno, DAT_EVD_HANDLE evd);
/* An EVD that points here is freed; with the last one every waiter returns with a NULL EVD, and the
 * agent is invoked so (CNO-31). No lock held; cno may be freed at once by somebody else. */
void dapl_cno_evd_gone(struct dapl_cno *cno);

/* The CNO of an argument, which counts one more user; NULL: it is none of ia. No lock held. */
struct dapl_cno *dapl_cno_use(DAT_CNO_HANDLE handle, const struct dapl_ia *ia);

/* Whether this thread is in an agent, of ia or of another adapter (CNO-19). */
bool dapl_cno_in_agent(const struct dapl_ia *ia);

static inline struct dapl_cno *dapl_cno_get(DAT_CNO_HANDLE handle)
{
	return dapl_object_self(handle, DAPL_TYPE_CNO);
}

#endif
