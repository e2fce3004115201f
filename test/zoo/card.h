/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What kinds of adapters there are and how each behaves; cards.c has the table and its sources. */
#ifndef ZOO_CARD_H
#define ZOO_CARD_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

/* How a CQ is resized. */
enum zoo_resize {
	ZOO_RESIZES,
	ZOO_RESIZE_UNSUPPORTED, /* errno of the row */
	ZOO_RESIZE_BUSY,	/* EBUSY until somebody polled since the last time */
};

struct zoo_kind {
	const char *name;   /* as on the keeper's command line */
	const char *device; /* as of the verbs device */
	enum ibv_transport_type transport;
	uint8_t link_layer;
	uint32_t vendor, part;
	const char *firmware;

	struct ibv_device_attr limits;
	uint32_t max_msg; /* 0: the port does not say, and takes 16 MiB */
	uint32_t max_inline;
	/* The entries that each queue of a QP has at least. */
	uint32_t min_wr;
	/* The send queue: so many bytes in all, of entries of this many bytes and 16 for each
	 * segment, rounded up to the unit and, in number, to a power of two. 0: limits.max_qp_wr is
	 * all that counts. */
	uint32_t sq_bytes, sq_entry, sq_unit;
	/* The library has no such call, whatever the kernel announces. */
	bool no_mw_call;
	/* What regions that are not pinned serve: enum ibv_odp_transport_cap_bits; 0: there are none. */
	uint32_t on_demand;
	enum zoo_resize resize;
	int resize_errno;
	int srq_resize_errno; /* 0: EINVAL, where SRQs are not resized */
	/* Of an inline request the library sends the first segment alone. */
	bool inline_first_only;
	/* Destroying a QP takes its completions off the CQs. */
	bool cleans_cq;
	/* A QP in error tells by IBV_EVENT_QP_LAST_WQE_REACHED that it has given back what it had
	 * taken of its SRQ. */
	bool last_wqe;
	/* What is posted to a QP in error is refused. */
	int post_errno;
	/* iWARP: status of a request that the peer's program refuses. */
	int reject_status;
	/* iWARP: a QP that closes cannot be moved to error. */
	bool closing_refuses_error;
	/* iWARP: connecting keeps its caller until the peer's TCP has answered, and fails where it
	 * refuses. */
	bool connect_blocks;
	/* That a request is taken back, its target does not hear. */
	bool keeps_requests;
	/* A peer's accesses through a window are held to its region's bounds alone. */
	bool no_window_bounds;
	/* A peer invalidates windows of other connections as well. */
	bool invalidates_any;
	/* Peers read what is registered for no reads of theirs. */
	bool reads_any;
	/* iWARP: what the peer's adapter refuses, the requester does not hear: a read is flushed, all
	 * else was sent, and the connection ends. Of keys that do not exist neither side tells. */
	bool no_terminate;
	/* There is no IP address: AF_IB alone. */
	bool no_ip;
	uint32_t command_us; /* a command of the firmware takes */
};

/* NULL: there is no such kind. By number: as they stand in the table. */
const struct zoo_kind *zoo_kind_by_name(const char *name);
const struct zoo_kind *zoo_kind(uint32_t number);
uint32_t zoo_kind_number(const struct zoo_kind *kind);

static inline uint32_t zoo_max_msg(const struct zoo_kind *kind)
{
	return kind->max_msg ? kind->max_msg : 1U << 24;
}

static inline bool zoo_iwarp(const struct zoo_kind *kind)
{
	return kind->transport == IBV_TRANSPORT_IWARP;
}

#endif
