/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The life of a connection as one table: state x cause -> next state, what becomes of the link, and
 * what the core is told. Pure: no locks, no objects.
 */
#ifndef SOFT_CONN_STATE_H
#define SOFT_CONN_STATE_H

#include <stdbool.h>
#include <stdint.h>

enum soft_conn_state {
	SOFT_CONN_CONNECTING, /* active: link under way */
	SOFT_CONN_REQUESTING, /* active: request sent, reply awaited */
	SOFT_CONN_HALF_OPEN,  /* passive: request awaited */
	SOFT_CONN_REQUESTED,  /* passive: the program's to answer */
	SOFT_CONN_ACCEPTING,  /* passive: reply being sent */
	SOFT_CONN_AWAITING,   /* passive: first FPDU awaited */
	SOFT_CONN_LIVE,
	SOFT_CONN_DRAINING, /* graceful disconnect: requests under way are done first */
	SOFT_CONN_ENDED,    /* has neither QP nor link */
	SOFT_CONN_STATES,
};

enum soft_conn_cause {
	/* Active set-up */
	SOFT_CAUSE_CONNECTED,
	SOFT_CAUSE_RETRY,    /* over another link, or in another revision of MPA */
	SOFT_CAUSE_REPLY,    /* the peer accepts */
	SOFT_CAUSE_REJECTED, /* the peer's program rejects */
	SOFT_CAUSE_UNFIT,    /* the reply asks for what this side cannot do */
	/* Passive set-up */
	SOFT_CAUSE_REQUEST,
	SOFT_CAUSE_ACCEPT,
	SOFT_CAUSE_REJECT,
	SOFT_CAUSE_HANDOFF,
	SOFT_CAUSE_REPLIED,	    /* the reply is out, and nothing is to confirm it */
	SOFT_CAUSE_REPLIED_CONFIRM, /* the reply is out, and the first FPDU is to confirm it */
	SOFT_CAUSE_CONFIRMED,
	/* Ends */
	SOFT_CAUSE_FAILED,     /* set-up failed, or its time is over */
	SOFT_CAUSE_OVER,       /* the data phase ended: by a fault, or drained */
	SOFT_CAUSE_DISCONNECT, /* or freed by the core */
	SOFT_CAUSE_DISCONNECT_GRACEFUL,
	SOFT_CAUSES,
};

enum soft_conn_link {
	SOFT_LINK_STAYS,
	SOFT_LINK_ABORT,    /* reset */
	SOFT_LINK_CLOSE,    /* nothing is to be said */
	SOFT_LINK_ORPHAN,   /* in order, see orphan.h */
	SOFT_LINK_BY_FAULT, /* aborted if the fault leaves nothing to be said, else in order */
};

enum soft_conn_tell {
	SOFT_TELL_NOTHING,
	SOFT_TELL_ESTABLISHED,
	SOFT_TELL_REJECTED,
	SOFT_TELL_FAILURE, /* TP_CONN_REFUSED or TP_CONN_UNREACHABLE, as the error asks */
	SOFT_TELL_BROKEN,
	SOFT_TELL_FAULT, /* the fault's event; TP_CONN_DISCONNECTED if there is none */
};

struct soft_conn_step {
	bool valid;   /* else the cause means nothing in this state */
	uint8_t next; /* enum soft_conn_state */
	uint8_t link; /* enum soft_conn_link */
	uint8_t tell; /* enum soft_conn_tell */
};

struct soft_conn_step soft_conn_step(enum soft_conn_state state, enum soft_conn_cause cause);

#endif
