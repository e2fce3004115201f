/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The socket connection manager: QPs' numbers and addresses are exchanged over a TCP connection,
 * which lives as long as theirs. All of a connection and of a listener is the loop's; calls of other
 * threads wait for it there (dapl_loop_call).
 */
#ifndef VERBS_SOCKET_H
#define VERBS_SOCKET_H

#include "util/list.h"
#include "providers/verbs/cm/exchange.h"
#include "providers/verbs/cm/scm_wire.h"

/* What a device has of it: dev->cm. */
struct vrb_scm {
	struct vrb_xchg xchg;
	struct list half_open; /* connections whose request is awaited, oldest first */
	uint32_t num_half_open;
};

static inline struct vrb_scm *vrb_scm(const struct vrb_dev *dev)
{
	return dev->cm;
}

struct vrb_scm_listener {
	struct tp_listener base;
	struct vrb_dev *dev;
	struct tp_watch watch;
	struct tp_timer pause; /* accepting goes on then */
	bool paused, failed;
};

/* The states of SCM-10. */
enum vrb_scm_state {
	SCM_CONNECTING, /* active: TCP */
	SCM_WAIT_REP,	/* active: the peer is to answer */
	SCM_WAIT_REQ,	/* passive: the peer is to ask */
	SCM_CONSUMER,	/* passive: the program is to answer */
	SCM_WAIT_RTU,	/* passive: the peer is to confirm */
	SCM_CONNECTED,
	SCM_CLOSED,
};

struct vrb_conn {
	struct tp_conn base;
	struct vrb_dev *dev;
	struct vrb_qp *qp;
	enum vrb_scm_state state;
	uint32_t holds;	       /* who is about to look at it again; the core is one of them */
	bool quiet;	       /* no event is wanted any more */
	bool peer_gone;	       /* passive, unanswered: the peer gave up */
	bool refused;	       /* passive, the program's answer failed: the peer knows */
	bool watched;	       /* by the watchdog */
	struct tp_watch watch; /* fd -1: no socket */
	struct tp_timer timer; /* it is over then */
	struct tp_task task;   /* something is to be told from the loop */
	enum tp_conn_event pending_event;
	int pending_err;
	struct tp_conn_addr addr; /* local_qual under dev->cm_lock */
	/* Passive, SCM_WAIT_REQ. */
	struct list node;
	struct vrb_scm_listener *listener;
	uint64_t since;
	/* Active. */
	struct sockaddr_in to;
	uint32_t attempts;
	bool closed_before; /* the peer ended an attempt in order: once more, in the old form */
	uint8_t data[XCHG_DATA];
	uint32_t data_len;
	/* What has come. */
	uint8_t in[XCHG_MOST];
	size_t have;
	struct scm_msg peer;
};

static inline struct vrb_conn *vrb_conn(struct tp_conn *base)
{
	return container_of(base, struct vrb_conn, base);
}

/* ---- socket_device.c ---- */

/* struct vrb_cm.open and close. */
int vrb_scm_open(struct vrb_dev *dev, const char *params);
void vrb_scm_close(struct vrb_dev *dev);

/* ---- socket_conn.c; loop ---- */

/* With one hold, the caller's. Any thread. */
struct vrb_conn *vrb_scm_new(struct vrb_dev *dev, enum vrb_scm_state state);
void vrb_scm_hold(struct vrb_conn *conn);
void vrb_scm_drop(struct vrb_conn *conn);
/* A TCP connection is its; 0 or -errno, and then fd is closed. */
int vrb_scm_take_fd(struct vrb_conn *conn, int fd, void (*ready)(struct tp_watch *, uint32_t),
		    uint32_t events);
void vrb_scm_close_fd(struct vrb_conn *conn);
/* It is over if nothing comes in time (option handshake). */
void vrb_scm_timeout(struct vrb_conn *conn, void (*expired)(struct tp_timer *));
void vrb_scm_join(struct vrb_conn *conn, struct vrb_qp *qp);
void vrb_scm_tell_later(struct vrb_conn *conn, enum tp_conn_event event, int err);
int vrb_scm_send(struct vrb_conn *conn, const void *data, size_t len);
/* More of what is to be size bytes long. 1: it is all there; 0: not yet; -ENODATA: the peer has ended;
 * -errno. */
int vrb_scm_recv(struct vrb_conn *conn, size_t size);
/* The same of a request or an answer, whose length it tells itself. */
int vrb_scm_recv_msg(struct vrb_conn *conn);
/* Established: the core may post, and is told. */
void vrb_scm_established(struct vrb_conn *conn, const void *data, uint32_t len);
/* What an established one's socket has to say. */
void vrb_scm_live(struct vrb_conn *conn);
/* Ends it, whatever its state, without a word to the core. */
void vrb_scm_end(struct vrb_conn *conn);
/* Ends it and tells the core. */
void vrb_scm_ended(struct vrb_conn *conn, enum tp_conn_event event, int err, const void *data,
		   uint32_t len);

/* ---- socket_active.c and socket_passive.c: struct dapl_cm_ops ---- */

int vrb_scm_connect(struct tp_qp *base, const struct tp_connect *param, void *owner,
		    struct tp_conn **out);
int vrb_scm_listen(struct tp_device *base, uint64_t qual, void *owner, struct tp_listener **out);
void vrb_scm_unlisten(struct tp_listener *base);
int vrb_scm_accept(struct tp_conn *base, struct tp_qp *qp_base, const void *data, uint32_t len,
		   void *owner);
int vrb_scm_reject(struct tp_conn *base, const void *data, uint32_t len);
/* Loop. Answers a request as if nobody listened, and closes. */
void vrb_scm_refuse(struct vrb_conn *conn);
/* Loop. Those whose request is awaited: of one listener, or all (NULL). */
void vrb_scm_drop_half_open(struct vrb_dev *dev, const struct vrb_scm_listener *listener);

#endif
