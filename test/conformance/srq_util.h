/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the tests of shared receive queues share. */
#ifndef SRQ_UTIL_H
#define SRQ_UTIL_H

#include "conn_util.h"

/* A queue and memory of its zone, from which its receives are made. */
struct su_queue {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_SRQ_HANDLE srq;
	struct ct_mem mem;
};

/* Skips the test where the adapter has no shared receive queues. */
void su_need(const struct cu_rig *rig);
/* A queue of num receives with up to two segments, and a zone of its own. */
void su_open(struct cu_rig *rig, struct su_queue *queue, DAT_COUNT num);
/* Frees the queue, if its handle is not null, its memory and its zone. */
void su_close(struct su_queue *queue);
DAT_SRQ_PARAM su_query(DAT_SRQ_HANDLE srq);

/* The receive of 64 bytes at place i of the queue's memory; the cookie is i. */
DAT_RETURN su_post(struct su_queue *queue, uint64_t i);
/* Posts places first to last. */
void su_fill(struct su_queue *queue, uint64_t first, uint64_t last);

/* An end that takes its receives from the queue, in its zone; what is null is made. */
void su_end_open(struct cu_rig *rig, struct ct_end *end, struct su_queue *queue);
/* Such an end, connected to an ordinary one. */
void su_pair(struct cu_rig *rig, struct ct_end *a, struct ct_end *p, struct su_queue *queue);
/* A message of len bytes filled with seed, and its completion at the sender. */
void su_send(struct ct_end *a, size_t len, unsigned seed);
/* Takes the completion of a receive from the queue, which has this message; its place. */
uint64_t su_taken(struct ct_end *p, struct su_queue *queue, size_t len, unsigned seed);

/* What dat_srq_query tells of the Receives, as far as the adapter counts them. */
void su_check_counts(struct cu_rig *rig, DAT_SRQ_HANDLE srq, DAT_COUNT available,
		     DAT_COUNT outstanding);

#endif
