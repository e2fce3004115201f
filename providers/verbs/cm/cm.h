/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the two halves of the rdma_cm connection manager share: the calls and the kernel's events.
 */
#ifndef VERBS_CM_H
#define VERBS_CM_H

#include "providers/verbs/map.h"
#include "providers/verbs/verbs.h"

/*
 * What an rdma_cm_id's context points to. One thread at a time is busy with a subject: the loop
 * with its events, or a call. Events pin it: an id is not gone before its events are acknowledged.
 */
struct vrb_subject {
	struct vrb_dev *dev;
	bool listener;
	/* under dev->cm_lock */
	bool dead; /* nobody becomes busy with it any more */
	uint32_t busy, pins;
	pthread_t by;
};

struct vrb_listener {
	struct tp_listener base;
	struct vrb_subject subject;
	struct rdma_cm_id *id;
};

/* The thread that asks an iWARP peer (ask.c). */
struct vrb_ask {
	struct rdma_cm_id *id;
	struct rdma_conn_param param;
	void (*failed)(struct vrb_ask *ask); /* on the thread, once err is set */
	_Atomic int err;
	bool begun;
	pthread_t thread;
};

/* Loop. rdma_connect(id, param) on a thread; if that cannot be started, a negative errno. */
int vrb_ask_begin(struct vrb_ask *ask);
/* The thread is gone when these return: once rdma_connect has returned; at the deadline (dapl_now)
 * at the latest. */
void vrb_ask_end(struct vrb_ask *ask);
void vrb_ask_cut(struct vrb_ask *ask, uint64_t deadline);

enum vrb_conn_state {
	VRB_CONN_ADDR,	   /* active: resolving the address */
	VRB_CONN_ROUTE,	   /* active: finding the route */
	VRB_CONN_ASKED,	   /* active: the peer is to answer */
	VRB_CONN_REQUEST,  /* passive: the program is to answer */
	VRB_CONN_ACCEPTED, /* passive: the peer is to confirm */
	VRB_CONN_OPEN,
	VRB_CONN_ENDED,
};

struct vrb_conn {
	struct tp_conn base;
	struct vrb_subject subject;
	struct rdma_cm_id *id; /* NULL once the kernel is to forget it */
	struct vrb_qp *qp;
	enum vrb_conn_state state;
	bool silent;  /* no event is wanted any more */
	bool gone;    /* passive, unanswered: the peer gave up */
	bool counted; /* in dev->num_open */
	bool asking;  /* iWARP: the kernel waits for the peer's answer, which may keep the id */
	struct vrb_ask ask;
	uint32_t tries;
	uint32_t ports; /* iWARP: of this end that were taken below */
	struct vrb_depth depth;
	struct tp_conn_addr addr; /* local_qual under dev->cm_lock */
	struct sockaddr_storage to;
	/* What is to be told from the loop. */
	bool late;
	enum tp_conn_event late_event;
	int late_err;
	/* What is left of an attempt that was given up while the kernel asked. */
	struct vrb_reap reap;
	uint64_t reap_by; /* asking ends */
	struct rdma_cm_id *reap_id;
	struct ibv_qp *reap_qp;
	uint8_t data[VRB_PD_MAX_IWARP]; /* of the request here */
	uint32_t data_len;
};

static inline struct vrb_conn *vrb_conn(struct tp_conn *base)
{
	return vrb_container(base, struct vrb_conn, base);
}

/* False: it is dead. Nests. */
bool vrb_enter(struct vrb_subject *subject);
void vrb_leave(struct vrb_subject *subject);
/* Nobody becomes busy any more and, but for the caller, nobody is. */
void vrb_retire(struct vrb_subject *subject);
void vrb_pin(struct vrb_subject *subject);
/* The last pin frees it. */
void vrb_unpin(struct vrb_subject *subject);

struct vrb_conn *vrb_conn_new(struct vrb_dev *dev);

/* Steps of the active side; what fails is told by the error. Busy. */
int vrb_conn_resolve_addr(struct vrb_conn *conn);
int vrb_conn_resolve_route(struct vrb_conn *conn);
int vrb_conn_ask(struct vrb_conn *conn);
/* Begins anew from another port, where err of asking says that this end's is taken. Else -err. */
int vrb_conn_other_port(struct vrb_conn *conn, int err);
/* Established: the core may post, and is told. */
void vrb_conn_open(struct vrb_conn *conn, const void *data, uint32_t len);
/* Ends it, whatever its state, without a word to the core. Busy. */
void vrb_conn_end(struct vrb_conn *conn);
/* Ends it and tells the core. Loop, busy. */
void vrb_conn_over(struct vrb_conn *conn, enum tp_conn_event event, int err, const void *data,
		   uint32_t len);
/* Answers a request as if nobody listened. */
void vrb_refuse(struct vrb_dev *dev, struct rdma_cm_id *id);
/* The kernel is to forget the id. */
void vrb_conn_drop_id(struct vrb_conn *conn);

#endif
