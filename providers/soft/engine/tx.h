/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The outgoing side of a connection. */
#ifndef SOFT_TX_H
#define SOFT_TX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "providers/soft/wire/ddp.h"
#include "providers/soft/wire/rdmap.h"
#include "providers/soft/wire/wire.h"

struct soft_conn;
struct soft_qp;
struct soft_sqe;
struct tp_wr;

enum {
	SOFT_TX_SEGS = 72,
	SOFT_TX_MARKS = 32,
	SOFT_TX_TINY = 320,
	SOFT_TX_SCRATCH = 2048,
	/* Two FPDUs of the loopback interface, and less than malloc makes a mapping for. */
	SOFT_TX_STAGE = (128 << 10) - 64,
};

/* A piece of the bytes to be sent; key 0: our own memory. */
struct soft_tx_seg {
	const uint8_t *base;
	uint32_t len;
	uint32_t key;
};

enum soft_tx_source {
	SOFT_TX_NONE,
	SOFT_TX_REQUEST,
	SOFT_TX_RESPONSE,
	SOFT_TX_RTR,
	SOFT_TX_PROOF,
};

/* The end of an FPDU in the batch. */
struct soft_tx_mark {
	uint32_t end;
	uint8_t source;
	bool last; /* and of its message */
	bool asks; /* which the peer answers */
};

/* A read request of the peer being answered, or an atomic that has been done. */
struct soft_response {
	struct soft_read_request read;
	struct soft_ddp ddp; /* the request's header, for Terminate */
	uint32_t offset;
	uint32_t id; /* of an atomic */
	uint64_t value;
};

/* A read or atomic of ours that is not answered yet. */
enum soft_flight_kind {
	SOFT_FLIGHT_REQUEST,
	SOFT_FLIGHT_RTR,   /* the ready-to-receive read */
	SOFT_FLIGHT_PROOF, /* a read of nothing, that proves what was sent before it */
};

struct soft_flight {
	uint32_t index; /* in the SQ; of a proof: of the first request it says nothing of */
	uint32_t kind;	/* enum soft_flight_kind */
};

/* What became of a request that goes past the link. */
enum soft_direct {
	SOFT_DIRECT_NO, /* it is for the link */
	SOFT_DIRECT_DONE,
	SOFT_DIRECT_LATER, /* others first */
};

struct soft_tx {
	uint32_t mulpdu;
	uint32_t adjust_in; /* bytes until it is looked at again */
	bool crc, markers;
	bool summed; /* a CRC is formed of each FPDU as it is built */
	bool plain;  /* FPDUs are nothing but written down: no CRC, marker or proof */
	bool hold;   /* passive side before the peer's first FPDU (RFC 5044 section 7.1.2 rule 4) */
	uint8_t rtr; /* 1 + opcode of the ready-to-receive message still to be sent; 0: none */
	uint32_t marker_stream, marker_start; /* position behind and before the batch */
	uint8_t *marked;		      /* the FPDU with markers, and behind it one without */

	/* The batch: whole FPDUs, built and not yet all sent. */
	struct soft_tx_seg seg[SOFT_TX_SEGS];
	struct soft_tx_mark mark[SOFT_TX_MARKS];
	uint32_t seg_first, seg_num, mark_first, mark_num;
	uint32_t built, sent; /* bytes */
	uint64_t tail;	      /* bytes sent since the last request was sent to its end */
	uint32_t scratch_used, scratch_size;
	uint8_t *scratch; /* tiny, or a larger one as long as it is of use */
	bool large_used;  /* since the last keepalive */
	uint8_t tiny[SOFT_TX_TINY];

	/* The message being cut into FPDUs. */
	uint8_t source;	       /* enum soft_tx_source */
	bool response_turn;    /* whose message is next when both have one */
	uint32_t offset;       /* in it */
	uint32_t sge, sge_off; /* in its segments */
	bool fresh;	       /* its memory was looked up in this stay in the lock */
	bool immediate;	       /* its data are built, the immediate is next */

	uint32_t direct;     /* bytes of the next request that went past the link */
	uint32_t direct_run; /* and of all, in this stay in the lock */
	bool direct_later;   /* there are more */

	uint32_t msn[WIRE_QN_COUNT];
	bool bind_wait;	     /* the loop is clearing the window of the next request */
	uint32_t ord, reads; /* reads and atomics allowed and in flight */
	uint32_t asked;	     /* of those in flight, those that are all sent */
	uint32_t sq_sent;    /* index in the SQ of the next request to be all sent */

	/* With delayed acknowledgement, see tx.c. */
	bool prove;	      /* on, and the peer answers reads */
	bool prove_due;	      /* something is built that no proof was asked for */
	bool prove_flying;    /* a proof is awaited */
	uint32_t prove_next;  /* index in the SQ: what is before it is proven */
	uint32_t prove_depth; /* reads that may be in flight with the proof */

	uint32_t read_tag;	    /* what sink tags and request identifiers are counted from */
	struct soft_flight *flight; /* ring of those in flight */
	uint32_t flight_mask, flight_head;

	struct soft_response *response; /* ring */
	uint32_t response_mask, ird;
	uint32_t response_head, response_next, response_tail; /* oldest unsent, being cut, free */
};

/* prove_depth: as ord, for delayed acknowledgement; 0: none. */
int soft_tx_init(struct soft_conn *conn, uint32_t ird, uint32_t ord, uint32_t prove_depth);
void soft_tx_fini(struct soft_conn *conn);
/* Gives back a larger scratch that was of no use since the last call, lock held. */
void soft_tx_shrink(struct soft_conn *conn);
/* Whether nothing is built that is not all sent. */
static inline bool soft_tx_idle(const struct soft_tx *tx)
{
	return tx->sent == tx->built;
}

/* Sends what can be sent; connection live. */
void soft_tx_run(struct soft_conn *conn);

/* ---- Requests of ours, until they are answered (request.c); lock held ---- */

/* Whether the next request may start, bindings before it done; starts it: false on a fault. */
bool soft_request_ready(struct soft_conn *conn);
bool soft_request_start(struct soft_conn *conn);
/* Adds the next FPDU of the request under way to the batch; false on a fault. */
bool soft_request_add(struct soft_conn *conn);
/*
 * Sends and completes a Send or RDMA Write without other flags than TP_WR_SIGNALED and
 * TP_WR_SOLICITED, where nothing has to be sent or completed before it and the link has memory with
 * room. false: nothing was done, and it is for the queue, which also tells of faults.
 */
bool soft_request_at_once(struct soft_qp *qp, const struct tp_wr *wr);
/* Does and completes a request in the peer's memory itself, if that can be. */
enum soft_direct soft_direct_request(struct soft_conn *conn, struct soft_sqe *sqe);
/* Does an RDMA Write that may go at once; false: it is for the link. */
bool soft_direct_write(struct soft_qp *qp, const struct tp_wr *wr);
/* All of the oldest one that is not sent is. */
void soft_request_sent(struct soft_conn *conn);
/* Ends the connection because of a request of its own program. */
void soft_request_fail(struct soft_conn *conn, struct soft_sqe *sqe, uint32_t status);

/* The ready-to-receive message (RFC 6581 section 9.2). */
void soft_request_add_rtr(struct soft_conn *conn);
/* The read that proves what was sent before it, if it is time for one. */
bool soft_request_proof_ready(const struct soft_tx *tx);
void soft_request_add_proof(struct soft_conn *conn);

/* The oldest read or atomic that the peer has been asked for, or NULL; it is done. */
const struct soft_flight *soft_request_oldest(const struct soft_conn *conn);
void soft_request_answered(struct soft_conn *conn);

/* The tag by which the response names a request. */
static inline uint32_t soft_request_tag(const struct soft_tx *tx, uint32_t msn)
{
	return tx->read_tag + msn;
}

/* ---- Reads and atomics of the peer, from arrival to answer (response.c); lock held ---- */

/* A request has come, and what was sent before it is received; false on a fault. */
bool soft_response_asked(struct soft_conn *conn, const struct soft_ddp *ddp, const uint8_t *data);
/* Adds the next FPDU of the answer under way to the batch; false on a fault. */
bool soft_response_add(struct soft_conn *conn);
/* Memory went away under the oldest answer that is not all sent. */
void soft_response_gone(struct soft_conn *conn);
/* Whether any is not all sent. */
static inline bool soft_response_owed(const struct soft_tx *tx)
{
	return tx->response_head != tx->response_tail;
}
/* There will be no more. */
void soft_response_give_up(struct soft_tx *tx);

#endif
