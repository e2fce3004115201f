/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The datagram connection manager: QPs' numbers and addresses are exchanged by datagrams between UD
 * QPs, one of each adapter. All of a connection and of a listener is the loop's; calls of other
 * threads wait for it there (dapl_loop_call).
 */
#ifndef VERBS_UD_H
#define VERBS_UD_H

#include "util/list.h"
#include "providers/verbs/cm/exchange.h"
#include "providers/verbs/cm/ucm_wire.h"

enum {
	VRB_UCM_CHAINS = 4096,
	VRB_UCM_AH_CHAINS = 256,
	VRB_UCM_AH_MOST = 4096, /* peers' adapters that are remembered */
	VRB_UCM_GRH = 40,	/* bytes before each datagram that came */
};

/* Loop. A datagram came from a QP; grh: RoCE's routing header, or NULL. */
typedef void vrb_ucm_receiver(struct vrb_dev *dev, const uint8_t *grh, const uint8_t *bytes,
			      size_t len, uint32_t from);

/* The QP of the manager, with a ring of messages to be sent and one of those to come (ud_queue.c). */
struct vrb_ucm_queue {
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *send_cq, *recv_cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *bytes;
	uint32_t size;	       /* messages of each ring */
	uint32_t posted, sent; /* that were ever posted, and are sent */
	struct tp_watch watch;
	vrb_ucm_receiver *receive;
	struct tp_task more;  /* there was no end of what came */
	struct tp_timer look; /* the device gives no notice of it */
	struct list ahs[VRB_UCM_AH_CHAINS], oldest_ah;
	uint32_t num_ahs;
	uint64_t no_ah_until; /* see make_ah; dapl_now */
	/* The QP is in error: nothing is sent until it is back. */
	bool broken;
	struct tp_timer mend;
	uint32_t mends, refused; /* tried in a row, and by the device refused */
	uint64_t mended_at;	 /* the last one; dapl_now */
};

/* What a device has of it: dev->cm. */
struct vrb_ucm {
	struct vrb_xchg xchg;
	struct vrb_dev *dev;
	struct vrb_ucm_queue queue;
	struct ucm_address own;
	struct list listeners;
	struct list by_id[VRB_UCM_CHAINS], by_peer[VRB_UCM_CHAINS];
	uint32_t last_id, num_conns;
	struct list lingering; /* connections in UCM_TIME_WAIT, oldest first */
	uint32_t num_lingering;
	uint32_t num_ending; /* in UCM_DREQ_SENT; futex, woken when there is none any more */
};

static inline struct vrb_ucm *vrb_ucm(const struct vrb_dev *dev)
{
	return dev->cm;
}

struct vrb_ucm_listener {
	struct tp_listener base;
	struct vrb_dev *dev;
	uint16_t service;
	struct list node;
};

/* The states of UCM-14. */
enum vrb_ucm_state {
	UCM_WAIT_REP, /* active: the peer is to answer */
	UCM_CONSUMER, /* passive: the program is to answer */
	UCM_WAIT_RTU, /* passive: the peer is to confirm */
	UCM_CONNECTED,
	UCM_DREQ_SENT, /* over for the core; the peer is to hear of it */
	UCM_TIME_WAIT, /* the same; what the peer repeats is answered */
	UCM_CLOSED,    /* nothing is known of it on the wire */
};

/* What of a connection that is over is left on the wire. */
enum vrb_ucm_rest {
	UCM_TELL,   /* the peer is to hear of it */
	UCM_LINGER, /* it knows; what it repeats is answered */
	UCM_FORGET, /* it knows, and repeats nothing */
};

struct vrb_conn {
	struct tp_conn base;
	struct vrb_dev *dev;
	struct vrb_qp *qp;
	enum vrb_ucm_state state;
	uint32_t
		holds; /* who is about to look at it again; the core is one of them, and the wire */
	bool active;   /* this side asked */
	bool rejected; /* the program refused it: so are repetitions */
	bool quiet;    /* no event is wanted any more */
	bool peer_gone;	     /* passive, unanswered: the peer gave up */
	bool watched;	     /* by the watchdog */
	bool ud;	     /* of endpoints of datagrams: it resolves their addresses */
	bool resolved;	     /* and did: the core hears nothing more of it */
	struct tp_task task; /* something is to be told from the loop */
	enum vrb_ucm_rest pending_rest;
	enum tp_conn_event pending_event;
	int pending_err;
	struct tp_conn_addr addr;
	/* Its names on the wire (UCM-5, UCM-12). */
	struct list by_id, by_peer, rest;
	uint32_t id, peer_id, port, peer_port;
	struct ucm_address to;
	struct xchg_end own, peer;
	uint8_t peer_block[XCHG_ADDRESS]; /* dst of what is sent */
	/* The message that is repeated until it is answered (UCM-15). */
	uint8_t out[UCM_MOST];
	size_t out_len;
	struct tp_timer timer;
	uint64_t since; /* its state */
	uint32_t sendings;
	uint8_t retrans;
};

static inline struct vrb_conn *vrb_conn(struct tp_conn *base)
{
	return container_of(base, struct vrb_conn, base);
}

/* For the core it is. */
static inline bool vrb_ucm_is_over(const struct vrb_conn *conn)
{
	return conn->state == UCM_DREQ_SENT || conn->state == UCM_TIME_WAIT ||
	       conn->state == UCM_CLOSED;
}

/* Passive: the peer was answered, and is to confirm. */
static inline bool vrb_ucm_awaits_rtu(const struct vrb_conn *conn)
{
	return conn->state == UCM_WAIT_RTU && conn->out_len;
}

/* ---- ud_device.c ---- */

/* struct vrb_cm.open and close. */
int vrb_ucm_open(struct vrb_dev *dev, const char *params);
void vrb_ucm_close(struct vrb_dev *dev);

/* ---- ud_queue.c ---- */

/* Makes the QP and its rings; 0 or -errno, with a message. */
int vrb_ucm_queue_open(struct vrb_dev *dev);
void vrb_ucm_queue_close(struct vrb_dev *dev);
/* What comes is received, on the loop, from here on; 0 or -errno. */
int vrb_ucm_queue_start(struct vrb_dev *dev, vrb_ucm_receiver *receive);
void vrb_ucm_queue_stop(struct vrb_dev *dev);
/* Loop. It may be lost, here as on its way. */
void vrb_ucm_send(struct vrb_dev *dev, const struct ucm_address *to, const void *bytes, size_t len);
/* Loop. A peer does not answer: where it is may have changed. */
void vrb_ucm_forget(struct vrb_dev *dev, const struct ucm_address *to);

/* ---- ud_qp.c: 0 or an errno of verbs ---- */

int vrb_ucm_to_init(const struct vrb_dev *dev, struct ibv_qp *ibqp, uint16_t pkey_index);
int vrb_ucm_to_rts(struct ibv_qp *ibqp);
/* An endpoint's QP of datagrams, which exists, sends and receives; 0 or -errno. One call at a time. */
int vrb_ucm_qp_ready(struct vrb_qp *qp);
/* NULL and errno. */
struct ibv_ah *vrb_ucm_ah(const struct vrb_dev *dev, struct ibv_pd *pd, uint16_t lid,
			  const uint8_t gid[16]);
/* dapl_cm_ops.free_ah */
void vrb_ucm_free_ah(struct tp_device *base, void *ah);

/* ---- ud_receive.c ---- */

vrb_ucm_receiver vrb_ucm_receive;

/* ---- ud_conn.c; loop, but for vrb_ucm_new ---- */

/* With one hold, the caller's. */
struct vrb_conn *vrb_ucm_new(struct vrb_dev *dev, enum vrb_ucm_state state);
void vrb_ucm_hold(struct vrb_conn *conn);
void vrb_ucm_drop(struct vrb_conn *conn);
/* Gives it its number, by which it is found; -EADDRNOTAVAIL: there are too many. The wire has a hold. */
int vrb_ucm_enter(struct vrb_conn *conn);
/* A passive one: is found by its peer's names. */
void vrb_ucm_enter_peer(struct vrb_conn *conn);
struct vrb_conn *vrb_ucm_by_id(struct vrb_dev *dev, uint32_t id);
/* A passive one whose peer has these names; all of it is the caller's to compare. */
/* Whether the message has the names of this connection, which both sides know (UCM-12). */
bool vrb_ucm_is_of(const struct vrb_conn *conn, const struct ucm_msg *msg);
struct list *vrb_ucm_peer_chain(struct vrb_dev *dev, const struct ucm_msg *msg);
struct vrb_ucm_listener *vrb_ucm_listener(struct vrb_dev *dev, uint32_t service);
void vrb_ucm_join(struct vrb_conn *conn, struct vrb_qp *qp);
void vrb_ucm_tell_later(struct vrb_conn *conn, enum vrb_ucm_rest rest, enum tp_conn_event event,
			int err);
/* A message from what is known of the connection. */
void vrb_ucm_fill(const struct vrb_conn *conn, enum ucm_op op, struct ucm_msg *msg);
/* Sends one once. */
void vrb_ucm_say(struct vrb_conn *conn, enum ucm_op op);
/* Sends one, and again until another state is entered. */
void vrb_ucm_ask(struct vrb_conn *conn, const struct ucm_msg *msg);
/* The last one that was asked, once more. */
void vrb_ucm_repeat(struct vrb_conn *conn);
/* Established: the core may post, and is told. Of datagrams: it gets the peer's address. */
void vrb_ucm_established(struct vrb_conn *conn, const void *data, uint32_t len);
/* Tells the peer of the end, until it answers. */
void vrb_ucm_say_end(struct vrb_conn *conn);
/* The wire knows it no more. */
void vrb_ucm_leave(struct vrb_conn *conn);
/* What the peer repeats is answered for a while. */
void vrb_ucm_linger(struct vrb_conn *conn);
/* Ends it, whatever its state, without a word to the core. */
void vrb_ucm_end(struct vrb_conn *conn, enum vrb_ucm_rest rest);
/* Ends it and tells the core. */
void vrb_ucm_ended(struct vrb_conn *conn, enum vrb_ucm_rest rest, enum tp_conn_event event, int err,
		   const void *data, uint32_t len);
/* The device is gone: no peer is told of an end any more. */
void vrb_ucm_forget_ends(struct vrb_dev *dev);
/* The adapter closes: the wire has nothing to do with any of them. */
void vrb_ucm_drop_all(struct vrb_dev *dev);

/* ---- ud_active.c and ud_passive.c: struct dapl_cm_ops, and what comes ---- */

int vrb_ucm_connect(struct tp_qp *base, const struct tp_connect *param, void *owner,
		    struct tp_conn **out);
/* What came instead of, or with, the answer. */
void vrb_ucm_answered(struct vrb_conn *conn, const struct ucm_msg *msg, const uint8_t *bytes);
int vrb_ucm_listen(struct tp_device *base, uint64_t qual, void *owner, struct tp_listener **out);
void vrb_ucm_unlisten(struct tp_listener *base);
void vrb_ucm_requested(struct vrb_dev *dev, const struct ucm_msg *msg, const uint8_t *bytes);
int vrb_ucm_accept(struct tp_conn *base, struct tp_qp *qp_base, const void *data, uint32_t len,
		   void *owner);
int vrb_ucm_reject(struct tp_conn *base, const void *data, uint32_t len);
/* Loop. Refuses a request, for the program or in its place; repetitions are refused again. */
void vrb_ucm_refuse(struct vrb_conn *conn, enum ucm_op op, const void *data, uint32_t len);

#endif
