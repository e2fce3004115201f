/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Threads that work on endpoints and say what was wrong. */
#ifndef WORKERS_H
#define WORKERS_H

#include "conn_util.h"

#include <pthread.h>
#include <stdio.h>

enum {
	PAIRS = 4,
	DEPTH = 16, /* the default length of both queues */
	SLOT = 256, /* bytes of one message */
};

/* Fewer rounds under a sanitizer, which slows everything down. */
unsigned int worker_rounds(unsigned int n);

struct worker {
	pthread_t thread;
	void (*run)(struct worker *);
	struct ct_end *end, *other;
	DAT_EVD_HANDLE evd;
	unsigned int index, n;
	struct shared *shared;
	struct worker *receiver; /* a sender must not overtake this one's Receives; or null */
	unsigned int receives;	 /* posted by this receiver */
	char wrong[160];
};

/* What several workers count together. */
struct shared {
	unsigned int *seen; /* per cookie */
	unsigned int expected, taken, stop;
};

#define WORKER_WRONG(w, ...)                                                   \
	do {                                                                   \
		if ((w)->wrong[0] == '\0')                                     \
			snprintf((w)->wrong, sizeof((w)->wrong), __VA_ARGS__); \
	} while (0)

void worker_start(struct worker *w, void (*run)(struct worker *));
/* True if none found anything wrong. */
bool ended_well(struct worker *workers, unsigned int n);
void workers_join(struct worker *workers, unsigned int n);
void open_pairs(struct cu_rig *rig, struct ct_end *a, struct ct_end *p, unsigned int n);
void close_pairs(struct ct_end *a, struct ct_end *p, unsigned int n);
/* Dequeues until a completion comes; false after CT_MS without one. */
bool poll_one(struct worker *w, DAT_EVD_HANDLE evd, DAT_DTO_COMPLETION_EVENT_DATA *done);
bool wait_one(struct worker *w, DAT_EVD_HANDLE evd, DAT_DTO_COMPLETION_EVENT_DATA *done);

#endif
