/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A connection as the engine sees it, and what ended it. Its life is in cm/cm.h. */
#ifndef SOFT_ENGINE_CONN_H
#define SOFT_ENGINE_CONN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "dapl/transport.h"
#include "providers/soft/base/addr.h"
#include "providers/soft/base/device.h"
#include "providers/soft/engine/cq.h"
#include "providers/soft/engine/rx.h"
#include "providers/soft/engine/tx.h"
#include "providers/soft/memory/stag.h"
#include "providers/soft/wire/ddp.h"
#include "providers/soft/wire/rdmap.h"
#include "util/list.h"

struct soft_dev;
struct soft_link;
struct soft_qp;
struct soft_setup;

/* The first thing that ended a connection. */
struct soft_fault {
	enum tp_conn_event event;
	int err;
	bool async;	/* the peer's access was at fault here */
	bool terminate; /* tell the peer */
	struct soft_terminate term;
	uint32_t recv_status; /* of the oldest Receive */
	bool transport;	      /* the oldest request gets TP_WC_TRANSPORT */
	bool received;	      /* term came from the peer */
	const char *why;      /* for the message; NULL: what term says */
};

/* What a connection that ends leaves to be sent. */
struct soft_rest {
	struct iovec part[2]; /* one behind the other, in buffers of the connection */
	uint8_t *copy;	      /* malloced for one of them, or NULL */
	uint64_t tail; /* the last of the bytes sent before that are of no request that completed */
	bool fault;    /* the peer is to hear of an error */
	bool owed;     /* it is the answer to the peer's request, which it must have */
	/* The manager's (cm/orphan.c), while it is sent. */
	struct soft_link *link;
	size_t len;	 /* of both parts, at first */
	uint64_t unsent; /* when the timer was set */
	bool finished;	 /* our end is out */
	bool ended;	 /* the peer's has come */
};

struct soft_conn {
	union {
		struct tp_conn base;
		struct soft_any_conn any;
	};
	struct soft_dev *dev;
	struct soft_qp *qp;
	struct soft_link *link;
	uint8_t state; /* the manager's, as setup: enum soft_conn_state, on the loop */
	bool released; /* the loop's: freed by the core */
	uint32_t refs; /* the loop's */
	struct tp_task task;
	struct soft_setup *setup; /* freed when the data phase begins */
	struct soft_rest rest;	  /* once it has ended */
	struct list node;	  /* in a list of the manager's, or soft_dev.conns */
	bool markers, crc;
	bool large; /* FPDUs need not fit into a segment of TCP: both sides said so */
	/* Why it has this link, and a CRC or none; NULL: not known. Under lock, as what follows. */
	const char *link_name, *link_why, *crc_why;
	uint8_t rtr_repeats;
	bool driven; /* the loop's: another thread drove when an event came */

	/* Progress. */
	pthread_mutex_t lock;
	struct sockaddr_storage local, remote;
	uint64_t local_qual, remote_qual;
	uint32_t armed; /* events the loop will tell of, once; 0: not armed */
	bool attached;
	bool broken;		   /* the link would tell for ever that it is; under lock */
	atomic_bool unreceived;	   /* the peer has ended, but messages wait for Receives */
	uint32_t unreceived_msn;   /* the loop's: the first of them when it looked last */
	uint32_t unreceived_looks; /* ditto: how often since one was received */
	atomic_bool rx_stalled;	   /* rx.stalled, for other threads */
	/* The loop's, under the QP's lock: the message that waits for a Receive, and since when. */
	uint32_t starved_msn;
	uint64_t starved_since; /* 0: none did */
	bool starved_told;
	/* Work for the task. */
	atomic_bool serve_wanted, first_seen, drained, clear_wanted;
	bool draining;		 /* graceful disconnect under way; under the QP's lock */
	struct list handed_node; /* in soft_dev.handed; the loop's */
	struct soft_member member[2];

	atomic_bool dead;	 /* fault is valid */
	atomic_bool refusing;	 /* it is to be, behind the answers that are owed */
	bool refusing_timed;	 /* the loop's: it looks whether they go out */
	uint64_t refusing_tail;	 /* the loop's: tx.tail when it looked last */
	struct soft_fault fault; /* written once, under lock */
	int tx_err;		 /* why sending failed; under the QP's lock */
	struct soft_tx tx;
	struct soft_rx rx;
};

static inline struct soft_conn *soft_conn(struct tp_conn *conn)
{
	return container_of(conn, struct soft_conn, base);
}

/* Whether the connection has come to its end, known to its own threads or not yet. */
static inline bool soft_conn_dead(const struct soft_conn *conn)
{
	return atomic_load_explicit(&conn->dead, memory_order_acquire);
}

/* Whether nothing more is taken in, and none of our requests begun. */
static inline bool soft_conn_over(const struct soft_conn *conn)
{
	return atomic_load_explicit(&conn->refusing, memory_order_relaxed) || soft_conn_dead(conn);
}

/* Whether a message waits for a Receive. The QP's lock is held. */
static inline bool soft_conn_starved(struct soft_conn *conn)
{
	return !soft_conn_dead(conn) &&
	       (conn->rx.held || (conn->rx.stalled && !conn->rx.no_memory));
}

struct soft_conn *soft_conn_alloc(struct soft_dev *dev);
/* Take and drop a reference, so that conn's memory outlasts an upcall. On the loop. */
void soft_conn_hold(struct soft_conn *conn);
void soft_conn_drop(struct soft_conn *conn);
/* The core is through with it: frees it with the last reference. It is closed. On the loop. */
void soft_conn_release(struct soft_conn *conn);

/* Binds QP and connection for the data phase; the QP is idle. On the loop. */
void soft_conn_bind(struct soft_conn *conn);
/*
 * An accepted connection takes in the first FPDU and no more; whether that is here, or waits for a
 * Receive or for memory. On the loop.
 */
void soft_conn_await_first(struct soft_conn *conn);
bool soft_conn_first_here(struct soft_conn *conn);
/* Says once more that this side is ready. false: nothing is to be said, the peer has answered. */
bool soft_conn_repeat_rtr(struct soft_conn *conn);
/* The data phase begins: CQs, watch, list. On the loop. */
void soft_conn_open(struct soft_conn *conn);
/* Once all requests are done hooks.ended is called. On the loop. */
void soft_conn_drain(struct soft_conn *conn);
/* Takes it out of all lists, parts it from its QP and flushes that. The link and rest are left. On
 * the loop. */
void soft_conn_close(struct soft_conn *conn);

/* What whoever sets connections up is told (soft_dev.hooks), on the loop. */
struct soft_conn_hooks {
	void (*arrived)(struct soft_conn *conn); /* the peer's first FPDU, if rx.waiting_first */
	void (*ended)(struct soft_conn *conn);	 /* by conn->fault, or it is drained */
};

/* ---- Faults (fault.c) ---- */

/* The completion status (enum tp_wc_status) of the request at which the peer sent this error
 * (DTO-84). */
uint32_t soft_error_status(const struct soft_error *error);

/* A name for the error, for messages. */
const char *soft_error_text(const struct soft_error *error);

/*
 * Notes what ended the connection, unless something else did before, and has the loop do the rest.
 * What the peer is to be told of it hears behind the answers to what it asked for before, so that
 * the first of its requests to fail is the one that did: until they are out the connection takes
 * nothing in and begins no request, and a peer that takes none of them in the time of option linger
 * goes without. Any thread, any lock below soft_conn.lock; the QP's is held if the peer is told.
 */
void soft_conn_fail(struct soft_conn *conn, const struct soft_fault *fault);
/* Ditto for an error that the peer is to be told of; ddp and why may be NULL. */
void soft_conn_refuse(struct soft_conn *conn, struct soft_error error, const struct soft_ddp *ddp,
		      const char *why);
/* The link ended or broke: err 0 means in order. */
void soft_conn_lost(struct soft_conn *conn, int err, uint32_t recv_status);
/*
 * What the end of the incoming stream means after sending may have failed: 0 or a negative errno.
 * The QP's lock held.
 */
int soft_conn_stream_error(struct soft_conn *conn);

/* A fault of the peer, at which it and the program are told. */
struct soft_fault soft_fault_of_peer(const struct soft_ddp *ddp, uint8_t layer, uint8_t etype,
				     uint8_t code);
/* The peer's access to our memory is wrong; read: by such a request. */
void soft_fault_access(struct soft_conn *conn, enum soft_stag_result result,
		       const struct soft_ddp *ddp, const struct soft_read_request *read);
/* A Receive of ours is not fit for the message. Returns false. */
bool soft_fault_recv(struct soft_conn *conn, const struct soft_ddp *ddp, uint32_t status);

/* Has the loop drive it. Any thread. */
void soft_conn_serve_later(struct soft_conn *conn);

/* "local - remote", for messages. */
const char *soft_conn_text(struct soft_conn *conn, char buf[2 * SOFT_ADDR_TEXT + 8]);

/* ---- The last bytes of a connection, and the peer's Terminate (terminate.c); lock held ---- */

/*
 * The bytes that must follow for the peer to see whole FPDUs only, in conn->rest: those of one that
 * was sent in part, and after it the Terminate of conn->fault, if any. None if they cannot be had.
 */
void soft_terminate_rest(struct soft_conn *conn);
/* One has come: it ends the connection. */
void soft_terminate_arrived(struct soft_conn *conn);

#endif
