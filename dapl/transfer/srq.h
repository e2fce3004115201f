/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared receive queues. */
#ifndef DAPL_SRQ_H
#define DAPL_SRQ_H

#include "dapl/transfer/dto.h"
#include "dapl/base/lock.h"
#include "dapl/object/object.h"
#include "dapl/memory/pz.h"
#include "dapl/transport.h"

/*
 * How many receives of a queue are posted, taken or not dequeued yet (SRQ-17). Events on EVDs count
 * and may outlive the queue (SRQ-9).
 */
struct dapl_srq_count {
	_Atomic uint32_t outstanding;
	_Atomic uint32_t holders; /* the queue, and events on EVDs */
};

struct dapl_srq_slot {
	struct dapl_slot slot; /* of it only the cookie counts, and complete */
	struct dapl_srq *srq;
	struct dapl_srq_slot *next; /* free ones */
};

/* Slots that were made together. */
struct dapl_srq_chunk {
	struct dapl_srq_chunk *next;
	struct dapl_srq_slot slot[];
};

/* users: EPs. */
struct dapl_srq {
	struct dapl_object obj; /* its lock: posting, and what follows down to low_watermark */
	struct dapl_pz *pz;
	struct tp_srq *srq;
	struct dapl_srq_slot *spare; /* free slots, the poster's */
	struct dapl_srq_chunk *chunks;
	uint32_t limit, num_slots, max_sge;
	DAT_COUNT low_watermark;
	_Atomic bool failed; /* SRQ-20 */
	struct dapl_srq_count *count;
	_Atomic(struct dapl_srq_slot *) returned; /* free slots, as completions bring them back */
};

extern const struct dapl_class dapl_srq_class;

/* The transport reports an error of the queue. */
void dapl_srq_failed(struct dapl_srq *srq);

#endif
