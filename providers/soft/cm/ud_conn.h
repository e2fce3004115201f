/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What active and passive resolutions of datagram endpoints' addresses share. On the loop. */
#ifndef SOFT_CM_UD_CONN_H
#define SOFT_CM_UD_CONN_H

#include <stddef.h>

#include "providers/soft/cm/ud.h"
#include "providers/soft/wire/ud.h"

enum {
	SOFT_UD_FRAMES_PER_EVENT = 64,
	SOFT_UD_LINGER_MS = 5000, /* answers repeated frames for so long */
	SOFT_UD_SETUP_MAX = SOFT_UD_HEADER + WIRE_MPA_PD_CONSUMER,
};

enum soft_ud_state {
	SOFT_UD_REQUESTING, /* active */
	SOFT_UD_REQUESTED,  /* passive: the program's to answer */
	SOFT_UD_REPLYING,   /* passive: ACK awaited */
	SOFT_UD_RESOLVED,
	SOFT_UD_REJECTED, /* passive: of nobody any more */
	SOFT_UD_OVER,	  /* it failed, or was given up */
};

struct soft_ud_conn {
	union {
		struct tp_conn base;
		struct soft_any_conn any;
	};
	struct soft_dev *dev;
	enum soft_ud_state state;
	struct soft_qp *qp;	   /* until the core gives it up */
	struct soft_ud_port *port; /* passive */
	struct list node;	   /* in port->conns, or soft_cm.ud_active */
	struct tp_watch watch;	   /* active; fd -1: none */
	struct tp_timer timer;
	uint64_t give_up;
	uint32_t repeat_ms;
	bool refused; /* active: that is what was heard last, and not believed yet */
	uint64_t id;
	struct sockaddr_storage remote; /* where frames go */
	uint64_t local_qual, remote_qual;
	struct soft_ud_frame peer; /* its names; without data */
	size_t out_len;
	uint8_t out
		[SOFT_UD_SETUP_MAX]; /* the last that needs an answer, or may be asked for again */
};

static inline struct soft_ud_conn *soft_ud_conn_of(struct tp_conn *conn)
{
	return container_of(conn, struct soft_ud_conn, base);
}

struct soft_ud_conn *soft_ud_conn_new(struct soft_dev *dev, enum soft_ud_state state,
				      struct soft_ud_port *port);
/* Its port goes with it if nobody needs that any more. */
void soft_ud_conn_free(struct soft_ud_conn *conn);
void soft_ud_go(struct soft_ud_conn *conn, enum soft_ud_state state);
void soft_ud_set_timer(struct soft_ud_conn *conn, uint32_t ms);

/* Makes the frame that is sent from here on: names of the QP, and private data. */
void soft_ud_build(struct soft_ud_conn *conn, enum soft_ud_type type, const void *data,
		   uint32_t len);
void soft_ud_send_out(struct soft_ud_conn *conn);
/* Sends it, and repeats that until there is an answer or the time is over. */
void soft_ud_begin(struct soft_ud_conn *conn, uint64_t time_ms);
/* A frame without more to it. */
void soft_ud_answer(struct soft_ud_port *port, const struct sockaddr_storage *to, uint64_t id,
		    enum soft_ud_type type);

/* The outcomes, of which the core is told. */
void soft_ud_fail(struct soft_ud_conn *conn, enum tp_conn_event event, int err, const void *data,
		  uint32_t len);
void soft_ud_resolve(struct soft_ud_conn *conn, const void *data, uint32_t len);

/* Closes a port without a service point and resolutions. */
void soft_ud_port_check(struct soft_ud_port *port);

#endif
