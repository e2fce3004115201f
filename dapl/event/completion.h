/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What an EVD needs to know of the requests and receives whose completions it takes. */
#ifndef DAPL_COMPLETION_H
#define DAPL_COMPLETION_H

#include <stdatomic.h>

#include "dapl/event/ring.h"
#include "dapl/transport.h"

/* The kinds of an EP's streams, by the one completion flag that counts (DTO-24, EVD-17). */
enum dapl_stream {
	DAPL_STREAM_THRESHOLD, /* neither of the others */
	DAPL_STREAM_SOLICITED, /* SOLICITED_WAIT */
	DAPL_STREAM_NOTIFY,    /* UNSIGNALLED */
	DAPL_NUM_STREAMS
};

/*
 * One outstanding DTO. Its address is the work request id. What hardly changes is set once: a post
 * fills in the rest, and the transport gets the work request as it lies here. Between posts wr is
 * set for a signalled request of one segment.
 */
struct dapl_slot {
	struct tp_wr wr;		    /* of a receive only the length */
	DAT_DTO_COMPLETION_EVENT_DATA done; /* a success as it is told, but for the length */
	/* Makes any completion an event and gives the slot back. EVD lock held. */
	void (*complete)(const struct tp_wc *wc, struct dapl_event *event);
	struct dapl_slot *next;
	_Atomic uint32_t *head; /* of its direction */
	uint32_t seq;		/* place in the order of posting, + 1; of its last use */
	uint8_t silent;		/* UNSIGNALLED was given and counts (DTO-25) */
	uint64_t moved;		/* bytes of all its plain successes; under the EVD's lock */
	struct dapl_bind *bind; /* of a bind */
} __attribute__((aligned(64)));

static inline struct dapl_slot *dapl_slot_of(uint64_t wr_id)
{
	return (struct dapl_slot *)(uintptr_t)wr_id;
}

/* Its place and those before it are free again: it completed (DTO-17). */
static inline void dapl_slot_free(const struct dapl_slot *slot)
{
	atomic_store_explicit(slot->head, slot->seq, memory_order_release);
}

/*
 * The event data of a success that tp_cq.poll_plain told of; gives the slot back, with those of
 * the suppressed requests before it. EVD lock held.
 */
static inline void dapl_slot_succeeded(struct dapl_slot *slot, DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	*dto = slot->done;
	dto->transfered_length = slot->wr.length;
	slot->moved += slot->wr.length;
	dapl_slot_free(slot);
}

/* The endpoint of a completion: of a receive from an SRQ that of the QP which took it. */
static inline void *dapl_completion_ep(const struct tp_wc *wc)
{
	const struct dapl_slot *slot = dapl_slot_of(wc->wr_id);

	return slot->done.ep_handle ? slot->done.ep_handle : wc->qp_owner;
}

#endif
