/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What tests of the datagram connection manager share: a device and a core that are the program's, and
 * a peer that is its messages.
 */
#ifndef VERBS_UD_UTIL_H
#define VERBS_UD_UTIL_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <cmocka.h>

#include "dapl/base/loop.h"
#include "providers/verbs/cm/ud.h"

enum {
	RING = 4,
	WAIT_MS = 10000,
	QUIET_MS = 60, /* in which nothing is to happen */
	SENT = 256,
	CM_WCS = 8,
	OWN_LID = 0x11,
	OWN_QPN = 0x8632,
	PEER_LID = 0x22,
	PEER_QPN = 0x921b,
	PEER_PORT = 0x12345, /* of its connection, where it asked */
	PEER_ID = 0x2345,
	PEER_EP = 0x222,
	SERVICE = 0x4d2,
};

extern struct uk {
	struct vrb_dev dev;
	struct vrb_ucm ucm;
	struct ibv_context ctx;
	struct ibv_pd ibpd;
	struct ibv_cq ibcq[2];
	struct ibv_mr mr;
	struct ibv_comp_channel channel;
	struct vrb_pd pd;
	struct ibv_qp ibqp, cmqp;
	struct vrb_qp qp;
	struct dapl_lock qp_lock;
	struct vrb_wr ring[2][RING];
	struct tp_sge sge[RING]; /* of the second */
	struct tp_listener *listener;
	struct vrb_config config;
	struct ibv_qp_attr rtr, rts; /* as last set */
	enum ibv_qp_state state;     /* of the QP, if it is not ready to send */
	enum ibv_qp_state refused;   /* once: it is not put in this one */
	unsigned int receives;	     /* that it has */
	bool flushes;		     /* once: the QP fails and is flushed while the port is asked */
	struct ibv_ah ah;
	const uint8_t *grh;	 /* of what comes */
	bool no_ah;		 /* none is made */
	unsigned int ah_us;	 /* which takes so long */
	unsigned int num_ahs;	 /* that were asked for */
	struct ibv_ah_attr path; /* of the last address handle */

	/* The manager's own QP. */
	enum ibv_qp_state cm_state;
	unsigned int cm_refusals;    /* how often it is not reset */
	unsigned int cm_begun;	     /* how often it was put in service */
	unsigned int cm_resets;	     /* or was to be reset; all of them under lock */
	unsigned int cm_receives;    /* that it has */
	bool no_cq;		     /* is to be had for it, and no reason told */
	enum ibv_wc_status cm_sends; /* how what it sends ends */
	struct ibv_wc cm_wc[CM_WCS]; /* what its receives say; under lock */
	unsigned int num_cm_wcs;
	bool no_notice;				/* of them, is to be had; under lock */
	uint16_t lid;				/* that the port got, or 0 */
	struct ibv_async_event event_of_device; /* is there if it has an element; under lock */

	/* What the core has heard, and the peer, on the loop. */
	pthread_mutex_t lock;
	struct tp_conn *request;
	int refuses; /* the core, requests */
	unsigned int num_requests, num_events, seen;
	enum tp_conn_event event[64];
	int err;
	uint8_t data[256];
	uint32_t len;
	bool truncated, ud;
	struct tp_ud_peer peer; /* of a resolution */
	struct {
		uint8_t bytes[UCM_MOST];
		size_t len;
		uint64_t at; /* ns */
	} sent[SENT];
	unsigned int num_sent, taken;
} uk;

int uk_setup(void **state);
int uk_teardown(void **state);

/* Waits until a counter of what is heard is at least num. */
void uk_await(const unsigned int *counter, unsigned int num);
/* The next event is this one. */
void uk_event(enum tp_conn_event event);
/* Nothing more is told to the core, nor sent. */
void uk_quiet(void);
struct tp_conn *uk_request(unsigned int num);
void uk_accept(struct tp_conn *conn, const char *data);
void uk_done(struct tp_conn *conn);
struct tp_conn *uk_connect(const char *data);

/* The manager's QP: it fails, as soon as something looks; a receive of it completes. */
void uk_cm_state(enum ibv_qp_state state);
void uk_cm_received(enum ibv_wc_status status);

/* The next message that the peer gets, which is of this kind; with its time. */
struct ucm_msg uk_take(enum ucm_op op);
uint64_t uk_taken_at(void);
/* One of the peer: asked, of the side that asks; ours: what was said of the connection here, or NULL. */
struct ucm_msg uk_peer(enum ucm_op op, bool asked, const struct ucm_msg *ours);
/* It comes here. */
void uk_put(const struct ucm_msg *msg);
void uk_put_bytes(const void *bytes, size_t len, uint32_t from);

#endif
