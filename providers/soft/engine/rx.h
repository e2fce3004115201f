/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The incoming side of a connection: FPDUs off the link (rx.c), and where their payload goes
 * (place.c). */
#ifndef SOFT_RX_H
#define SOFT_RX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "providers/soft/wire/ddp.h"
#include "providers/soft/wire/wire.h"

struct soft_conn;
struct soft_sqe;

enum {
	/* A message of 256 bytes with all around it; and any but Sends, Writes and answers to reads. */
	SOFT_RX_TINY = 320,
	SOFT_RX_SMALL = 4096,
	SOFT_RX_LARGE = 65536 + 4096, /* any FPDU, and some of the next */
	SOFT_RX_TAIL = 64,	      /* bytes of a message that are placed last */
	SOFT_RX_CONTROL = 64,
	SOFT_HELD_AWAITING = 128, /* times soft_config.held_bytes while an answer is to come */
};

enum soft_rx_sink {
	SOFT_SINK_WRITE,
	SOFT_SINK_READ,
	SOFT_SINK_RECV,
	SOFT_SINK_HELD,
	SOFT_SINK_CONTROL,
};

/* A segment of a Send that came before its Receive, or what came behind one and must wait. */
struct soft_held {
	struct soft_held *next;
	struct soft_ddp ddp;
	uint32_t len;
	uint32_t written; /* as in struct soft_rx */
	bool wrote;
	uint8_t data[];
};

struct soft_rx {
	bool open;	    /* data may be taken in */
	bool waiting_first; /* no FPDU has come so far, and somebody wants to know */
	bool pause_first;   /* stop after it, the loop goes on */
	bool crc;
	bool stalled;	/* not reading: a Send waits for its Receive, with no room to keep it, */
	bool no_memory; /* or an FPDU waits for memory */
	bool checked;	/* the sum of the FPDU at the head of the stage is right */
	uint32_t msn[WIRE_QN_COUNT];
	uint32_t send_mo; /* bytes that arrived of the Send under way */
	uint32_t written; /* bytes of the last RDMA Write so far */
	bool writing;	  /* more of it is to come */
	bool wrote;	  /* it was the last message but for answers: an immediate belongs to it */

	/* The FPDU under way, from header to CRC. */
	bool busy;
	uint8_t sink; /* enum soft_rx_sink */
	struct soft_ddp ddp;
	uint32_t pos, left;    /* of the payload: placed, and not */
	uint32_t tail;	       /* so many bytes at the end go through the stage */
	struct soft_sqe *read; /* NULL: one of our own for nothing */
	uint32_t read_offset;  /* bytes of the oldest read that are complete */
	struct soft_held *filling;
	uint8_t control[SOFT_RX_CONTROL];

	struct soft_held *held, **held_end;
	size_t held_bytes;
	uint32_t run_head; /* the oldest Receive when this run began */
	bool hold_all;	   /* no more comes than what the socket has: keep it, whatever its size */
	int err;	   /* with which the stream ended */
	bool cut;	   /* it ended in order, within an FPDU */

	/* Memory that the peer may reach himself (direct.c): whether there is any, and the key of
	 * the last; 0: that is gone. */
	bool exposes;
	bool revoked;  /* some that he may be at just now */
	bool outlives; /* he still was when the wait for that was given up */
	uint32_t exposed;

	/* The stage: tiny, or a small or large one as long as it is of use. */
	uint8_t *stage;
	uint32_t size, begin, end; /* its own, and of what it holds */
	uint32_t full;		   /* reads in a row that filled it */
	uint32_t most;		   /* that it held since the last keepalive */
	uint8_t tiny[SOFT_RX_TINY];
};

void soft_rx_init(struct soft_conn *conn);
/* Frees what it has; also a second time. */
void soft_rx_fini(struct soft_conn *conn);
/* Takes in what has come, lock held, connection live. */
void soft_rx_run(struct soft_conn *conn);
/* Whether nothing that was taken in waits for more, or for a Receive. Lock held. */
static inline bool soft_rx_idle(const struct soft_rx *rx)
{
	return !rx->busy && rx->begin == rx->end && !rx->held;
}
/* Gives back a stage that is larger than was of use since the last call, lock held. */
void soft_rx_shrink(struct soft_conn *conn);

/* ---- Placement of an FPDU's payload (place.c); lock held ---- */

/* Where the FPDU's payload from pos on goes: fills iov with at most len bytes; number, or -1 on a
 * fault. */
int soft_place_iov(struct soft_conn *conn, uint32_t pos, uint32_t len, struct iovec *iov, int max);
/* Where it goes is gone. */
void soft_place_fault(struct soft_conn *conn);
/*
 * What most FPDUs are, at once: all of an RDMA Write, or of a Send whose Receive is there, by its
 * DDP header and its len bytes of payload. false: it is something else, or something is wrong with
 * it, and the steps below tell.
 */
bool soft_place_plain_write(struct soft_conn *conn, const uint8_t *ddp, const uint8_t *payload,
			    uint32_t len);
bool soft_untagged_plain_send(struct soft_conn *conn, const uint8_t *ddp, const uint8_t *payload,
			      uint32_t len);
/*
 * Whether it is a Send that may stay in the link: it lacks its Receive, and this run has delivered
 * others, who takes which may post more. The next run keeps it elsewhere unless it delivers some,
 * and nobody sleeps while the link has anything.
 */
bool soft_untagged_may_lie(const struct soft_conn *conn, const uint8_t *ddp);

/* Starts an FPDU's payload: 1, 0 if it has to wait, -1 on a fault. */
int soft_place_begin(struct soft_conn *conn);
/* Copies the next len bytes to their place; false on a fault. */
bool soft_place_copy(struct soft_conn *conn, const uint8_t *src, uint32_t len);
/* The FPDU is complete and right: delivers what it ends. false on a fault. */
bool soft_place_done(struct soft_conn *conn);

/* ---- Memory that the peer may reach himself (direct.c); lock held ---- */

enum {
	/* With a peer who stands still while he is in this side's memory: longer than the kernel
	 * takes for a piece of a copy, also where it has to bring pages back. */
	SOFT_DIRECT_PATIENCE_NS = 1000000000,
	SOFT_DIRECT_COPY_NS = 100000000, /* in which it is through with such a piece */
};

/* The peer has had access by this key. */
void soft_direct_expose(struct soft_conn *conn, uint32_t key);
/* A key is gone: the peer begins no access by it; and has none when both of the others have
 * returned, which wait until then, or each until its deadline (dapl_now). */
void soft_direct_revoke(struct soft_conn *conn, uint32_t key);
void soft_direct_await(struct soft_conn *conn, uint64_t deadline);
void soft_direct_outlast(struct soft_conn *conn, uint64_t deadline);
/* The connection ends: all keys, and waits. */
void soft_direct_close(struct soft_conn *conn);
/* The driver has done what there was to do. */
void soft_direct_settle(struct soft_conn *conn);

/* ---- What arrives in order on a queue (untagged.c); lock held ---- */

/* Sends and immediates take Receives; other messages have one segment. */
/* Start the payload of an FPDU: 1, 0 if it has to wait, -1 on a fault. */
int soft_untagged_begin(struct soft_conn *conn);
/* The FPDU is complete. A Send's: false on a fault. */
bool soft_untagged_done_send(struct soft_conn *conn);
void soft_untagged_done_immediate(struct soft_conn *conn);
void soft_untagged_done_held(struct soft_conn *conn);
/* Hands held messages to Receives that were posted since. false on a fault. */
bool soft_untagged_replay(struct soft_conn *conn);

#endif
