/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Events, and the queue in which an EVD keeps those that it cannot leave to a transport. */
#ifndef DAPL_RING_H
#define DAPL_RING_H

#include <stdbool.h>
#include <stdint.h>

#include <dat/udat.h>
#include <dat/dat_ib_extensions.h>

/* An event on its way to the program: a DAT_EVENT without the handle of its EVD. */
struct dapl_event {
	DAT_EVENT_NUMBER number;
	bool silent;   /* does not unblock a waiter nor trigger a CNO (EVD-14) */
	bool reserved; /* a place was kept for it (dapl_evd_reserve) */
	DAT_EVENT_DATA data;
	/* Of the extension's events (IBX-20 to IBX-26). */
	DAT_IB_EXT_TYPE extension;
	DAT_UINT32 immediate; /* of a DAT_IB_DTO_EVENT */
	/* Called when it leaves the EVD, delivered to the program or dropped, with the EVD's lock
	 * or the last reference to it; NULL: nothing depends on it. */
	void (*leave)(const struct dapl_event *event, bool delivered);
	void *leave_arg; /* of DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED: struct dapl_peer */
};

/* What the extension tells of the peer of a datagram endpoint (IBX-71, IBX-72). */
struct dapl_peer {
	DAT_IB_ADDR_HANDLE remote_ah;
	DAT_CONTEXT context;
};

struct dapl_ring {
	struct dapl_event *events;
	uint32_t size, head, count;
};

/* Room for size events, touched only as far as it is used. False: no memory. */
bool dapl_ring_init(struct dapl_ring *ring, uint32_t size);
void dapl_ring_fini(struct dapl_ring *ring);
/* Into the memory of one that is empty, initialized, and large enough. Keeps order and content. */
void dapl_ring_move(struct dapl_ring *ring, const struct dapl_ring *to);
/* False: full. */
bool dapl_ring_push(struct dapl_ring *ring, const struct dapl_event *event);
/* False: empty. */
bool dapl_ring_pop(struct dapl_ring *ring, struct dapl_event *event);

#endif
