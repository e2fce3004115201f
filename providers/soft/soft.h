/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The objects of the software RDMA engine.
 *
 * Threads. Connections are set up and taken down on the loop alone: calls of other threads that do
 * such things run there (soft_dev_call). Data moves on any thread: whoever posts, polls, or the
 * loop.
 *
 * Locks, outermost first:
 *   soft_dev.lock      list of QPs; held over rx_lock and tx_lock by deregistration only
 *   soft_cq.drive      which connections feed the CQ; held by the poller while it drives them
 *   soft_qp.rx_lock    receive queue, incoming side of the connection
 *   soft_qp.tx_lock    request queue, outgoing side of the connection
 *   soft_srq.lock      who takes and who waits
 *   soft_conn.lock     what is watched, and the first fault
 *   soft_cq.lock       adding completions
 *   soft_stags.lock    registration
 * qp->conn and qp->state change with rx_lock and tx_lock both held, so either suffices to read
 * them.
 *
 * Posts and polls never wait for these two: who finds one taken leaves rx_again or tx_again behind,
 * and the holder looks again after it let go.
 */
#ifndef SOFT_H
#define SOFT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dapl/transport.h"
#include "providers/soft/wire/ddp.h"
#include "providers/soft/link/link.h"
#include "util/list.h"
#include "providers/soft/memory/memory.h"
#include "providers/soft/wire/mpa.h"
#include "providers/soft/wire/rdmap.h"

struct soft_conn;
struct soft_dev;
struct soft_qp;
struct soft_cq;
struct soft_srq;

/* ---- Tunables (module.c); a device's own are soft_dev.config ---- */

struct soft_config {
	int64_t crc;
	int64_t mpa_revision;
	int64_t fpdu;
	int64_t handshake_ms;
	int64_t linger_ms;
	int64_t unreceived_ms;
	int64_t peer_timeout_ms;
	int64_t held_bytes;
	int64_t half_open;
	int64_t lingering;
	int64_t port_min, port_max;
	int64_t tos;
	int64_t handoff_ms;
	int64_t max_wr;
	int64_t link; /* enum soft_link_choice */
};

enum soft_link_choice {
	SOFT_LINK_AUTO,
	SOFT_LINK_TCP,
	SOFT_LINK_SHM,
};

extern struct soft_config soft_config;

enum {
	SOFT_MAX_SGE = 32,
	SOFT_MAX_READS = 128,
	SOFT_MAX_WR = 65535,
	SOFT_MAX_CQE = 1 << 20,
	SOFT_MAX_LENGTH = 0x7fffffff,
};

/* ---- Counters (counts.c) ---- */

/* In the order of the IA's counters, from DCNT_IA_LNK_ERR_RCV on; the others stay 0. */
enum soft_count {
	SOFT_COUNT_RCV = 0,	  /* frames that were wrong */
	SOFT_COUNT_INTEGRITY = 5, /* ours, says the peer */
	SOFT_COUNT_XMT_WAIT = 8,  /* no room to send */
	SOFT_COUNT_DIAG = 9,
	SOFT_COUNT_RQ_RAE = SOFT_COUNT_DIAG, /* a peer's access refused */
	SOFT_COUNT_RQ_OOS,		     /* a peer's message out of sequence */
	SOFT_COUNT_RQ_RIRE,		     /* a peer's message that cannot be served */
	SOFT_COUNT_SQ_RAE = SOFT_COUNT_DIAG + 4,
	SOFT_COUNT_SQ_OOS,
	SOFT_COUNT_SQ_RIRE,
	SOFT_COUNT_SQ_RREE, /* a peer that was silent for too long */
	SOFT_COUNTS = SOFT_COUNT_DIAG + 9,
};

struct soft_fault;
void soft_count_wait(struct soft_dev *dev);
void soft_count_fault(struct soft_dev *dev, const struct soft_fault *fault);
int soft_sample(struct tp_device *dev, enum tp_counters group, uint64_t *value, uint32_t num);

/* ---- Device (dev.c) ---- */

struct soft_dev {
	struct tp_device base;
	struct sockaddr_storage addr;
	char name[64]; /* of the IA */
	const struct soft_config *config;
	struct soft_stags stags;

	pthread_mutex_t lock;
	struct soft_list qps;
	atomic_uint_fast64_t streams; /* connections so far */
	atomic_uint_fast64_t count[SOFT_COUNTS];
	atomic_bool looped; /* something of ours ran or runs on the loop */

	/* The loop's. */
	struct soft_list left; /* connections left to their CQs' pollers */
	struct tp_timer tick;
	uint32_t tick_ms;
	struct tp_task kick;	   /* posted by disarm and arm, see progress.c */
	atomic_bool ticks_asleep;  /* no tick is due although connections are left */
	struct soft_list conns;	   /* established ones, for the pulse */
	struct soft_list awaiting; /* accepted ones, whose peer is to confirm */
	bool confirming;	   /* these are being looked at */
	struct tp_timer pulse;
	bool pulsing;
	struct soft_list lingers;
	struct soft_budget budget[SOFT_BUDGETS];
	struct soft_door *door; /* where other processes hand requests on to us; NULL: none */
	bool door_tried;	/* under lock */
};

static inline struct soft_dev *soft_dev(struct tp_device *dev)
{
	return soft_container(dev, struct soft_dev, base);
}

/* Waits until nobody who may have seen a key that is gone is at work. No lock held. */
void soft_dev_quiesce(struct soft_dev *dev);

/* Runs fn on the loop and returns what it returns. The loop is running. */
int soft_dev_call(struct soft_dev *dev, int (*fn)(void *arg), void *arg);

/* Finds the address that the parameters of an entry name (addr.c). */
int soft_addr_resolve(const char *ia_name, const char *params, struct sockaddr_storage *addr);
/* Whether an address is this host's: only then can it be bound. 0 or a negative errno. */
int soft_addr_bindable(const struct sockaddr_storage *addr);
/* Copies an AF_INET or AF_INET6 address without its port. */
void soft_addr_copy(struct sockaddr_storage *to, const struct sockaddr *from);
/* Text of an address and a qualifier, for messages. Returns buf. */
enum {
	SOFT_ADDR_TEXT = 64
};
const char *soft_addr_text(const void *addr, uint64_t qual, char buf[SOFT_ADDR_TEXT]);

extern const struct dapl_device_ops soft_device_ops;

/* ---- Completion queues (cq.c) ---- */

/* One connection's membership in a CQ. */
struct soft_member {
	struct soft_conn *conn;
	struct soft_cq *cq; /* NULL: none */
	struct soft_list node;
	bool enrolled; /* in the CQ's epoll set; under conn->lock, as events */
	bool bell;     /* counted in the CQ's bells */
	uint32_t events;
	uint32_t seen; /* the loop's: the CQ's activity when it looked last */
};

/* Of tp_wc.flags, in the queue only: what tp_cq.take may return. */
#define SOFT_WC_PLAIN 0x80000000u

struct soft_cq {
	struct tp_cq base;
	struct soft_dev *dev;

	/* The consumer's, under the core's EVD lock. */
	atomic_uint tail;
	atomic_uint activity; /* polls so far */
	bool woken;	      /* slept since the last look for room to send */
	uint32_t spins;	      /* polls since then */

	/* The producers'. */
	pthread_mutex_t lock;
	atomic_uint head;
	struct tp_wc *ring;
	uint32_t size;	/* power of two */
	uint32_t limit; /* completions it holds, <= size (EVD-93) */
	atomic_int armed;
	struct tp_task overflow;

	atomic_bool waiter; /* somebody sleeps on epfd */
	atomic_uint left;   /* connections of ours on the device's left list */

	pthread_mutex_t drive;
	struct soft_list members;
	atomic_uint cost;  /* of driving all members one by one */
	atomic_uint bells; /* members that are to be told when the set is to be ready again */
	atomic_int epfd;   /* -1 until needed */
	bool told_epfd;	   /* that it could not be made */
};

static inline struct soft_cq *soft_cq(struct tp_cq *cq)
{
	return soft_container(cq, struct soft_cq, base);
}

extern const struct dapl_cq_ops soft_cq_ops;

/* Adds a completion; wakes whoever asked. false: it was lost, the queue is full. */
bool soft_cq_add(struct soft_cq *cq, const struct tp_wc *wc);
/* Whether somebody waits for completions without polling or sleeping on the CQ. */
static inline bool soft_cq_notify(const struct soft_cq *cq)
{
	return atomic_load(&cq->armed) == TP_ARM_NOTIFY + 1;
}
/* Connections start and cease to feed the CQ. On the loop. */
void soft_cq_attach(struct soft_member *member);
void soft_cq_detach(struct soft_member *member);
/* The link has no more to tell the CQ's epoll set; conn->lock held. */
void soft_cq_forget(struct soft_member *member);
/* Brings the CQ's epoll set in line with what the connection waits for; conn->lock held. */
void soft_cq_watch(struct soft_member *member, uint32_t events);

/* ---- Queue pairs (qp.c) ---- */

enum soft_qp_state {
	SOFT_QP_IDLE,
	SOFT_QP_LIVE,
	SOFT_QP_ERROR,
};

/* A ring of requests or receives; one producer (the poster) and one consumer (whoever holds the
 * lock). */
struct soft_ring {
	uint8_t *slots;
	uint32_t stride;
	uint32_t mask;
	uint32_t max_sge;
	atomic_uint tail; /* next to post */
	atomic_uint head; /* oldest without completion */
};

enum {
	/* Opcodes beside enum tp_opcode. */
	SOFT_OP_BIND = 0x80,
	SOFT_OP_READ_TO_RKEY = 0x81, /* TP_READ_TO_RKEY in eight bits */
	/* A flag beside TP_WR_*: a read, an atomic or a binding. */
	SOFT_WR_CAREFUL = 0x80,
	SOFT_MIN_SGE = 3, /* segments there is room for in any request */
};

static inline uint32_t soft_ring_size(uint32_t num)
{
	uint32_t size = 1;

	while (size < num)
		size *= 2;
	return size;
}

/* A posted request. */
struct soft_sqe {
	uint64_t wr_id;
	uint64_t remote_addr;
	uint32_t rkey;
	uint32_t length;
	uint32_t msn;  /* of an untagged message, once started */
	uint32_t data; /* immediate, or tag to be invalidated */
	uint16_t num_sge;
	uint8_t opcode; /* enum tp_opcode, SOFT_OP_* */
	uint8_t flags;	/* TP_WR_* */
	uint8_t status; /* what it completes with if it is not done */
	bool started, done;
	struct tp_sge sge[]; /* of one that is started addr is that of the memory */
};

_Static_assert(sizeof(struct soft_bind) <= SOFT_MIN_SGE * sizeof(struct tp_sge), "");

static inline struct soft_bind *soft_sqe_bind(struct soft_sqe *sqe)
{
	return (struct soft_bind *)(void *)sqe->sge;
}

/* A posted receive. */
struct soft_rqe {
	uint64_t wr_id;
	uint32_t num_sge;
	struct tp_sge sge[];
};

/* The operands of an atomic; lie behind its one segment. */
struct soft_operands {
	uint64_t compare_add, swap;
};

static inline struct soft_operands *soft_sqe_operands(struct soft_sqe *sqe)
{
	return (struct soft_operands *)(void *)&sqe->sge[1];
}

static inline bool soft_sqe_is_atomic(const struct soft_sqe *sqe)
{
	return sqe->opcode == TP_CMP_AND_SWAP || sqe->opcode == TP_FETCH_AND_ADD;
}

/* The right that its own segments need. */
static inline uint32_t soft_sqe_access(const struct soft_sqe *sqe)
{
	if (!(sqe->flags & SOFT_WR_CAREFUL))
		return SOFT_ACCESS_LOCAL_READ;
	return sqe->opcode == SOFT_OP_READ_TO_RKEY ? TP_ACCESS_REMOTE_WRITE : TP_ACCESS_LOCAL_WRITE;
}

struct soft_qp {
	struct tp_qp base;
	struct soft_dev *dev;
	struct soft_list node; /* in soft_dev.qps */
	struct tp_pd *pd;
	struct soft_cq *send_cq, *recv_cq;
	uint32_t max_read_in, max_read_out;
	bool delayed_ack;
	atomic_int state; /* enum soft_qp_state */
	struct soft_conn *conn;
	_Atomic uint64_t stream; /* of the device's connections so far; 0 while there is none */
	atomic_bool bind_due;	 /* a binding waits for rx_lock */

	pthread_mutex_t rx_lock;
	atomic_bool rx_again;
	atomic_bool rx_starved; /* a message waits for a Receive */
	struct soft_ring rq;

	pthread_mutex_t tx_lock;
	atomic_bool tx_again;
	atomic_bool tx_stalled; /* the link takes no more for now */
	struct soft_ring sq;
	uint32_t sq_next; /* the next request to start */

	/* With a shared receive queue rq has one place, for the receive that was taken. */
	struct soft_srq *srq;
	uint32_t soft_limit, hard_limit; /* of receives taken; under rx_lock */
	struct soft_list srq_node;	 /* in soft_srq.waiting; under its lock, as waking */
	uint32_t waking;		 /* threads that wake it just now */
	atomic_uint limit_events;
	struct tp_task limit_task;
};

static inline struct soft_qp *soft_qp(struct tp_qp *qp)
{
	return soft_container(qp, struct soft_qp, base);
}

static inline struct soft_sqe *soft_sqe(struct soft_qp *qp, uint32_t index)
{
	return (struct soft_sqe *)(qp->sq.slots + (size_t)(index & qp->sq.mask) * qp->sq.stride);
}

static inline struct soft_rqe *soft_rqe(struct soft_qp *qp, uint32_t index)
{
	return (struct soft_rqe *)(qp->rq.slots + (size_t)(index & qp->rq.mask) * qp->rq.stride);
}

extern const struct dapl_qp_ops soft_qp_ops;

/* Room for one more request, in a state that takes them: 0, -ENOTCONN, -ENOMEM. */
int soft_qp_reserve(struct soft_qp *qp, struct soft_sqe **sqe);
/* The request in that room is complete. */
void soft_qp_submit(struct soft_qp *qp);
/* Let the locks go, and do what others left behind meanwhile. */
void soft_qp_rx_unlock(struct soft_qp *qp);
void soft_qp_tx_unlock(struct soft_qp *qp);
/* Have the direction worked on, by this thread or by the one that holds the lock. */
void soft_qp_rx_kick(struct soft_qp *qp);
void soft_qp_tx_kick(struct soft_qp *qp);
/* Takes in what has come and, if room, sends what had no room, unless somebody else is at it. */
void soft_qp_progress(struct soft_qp *qp, bool room);
/* Completes the oldest Receive; rx_lock held. */
void soft_qp_recv_done(struct soft_qp *qp, const struct tp_wc *result);
/* Completes requests that are done, in order; tx_lock held. */
void soft_qp_send_done(struct soft_qp *qp);
/* Whether a Receive is posted; if not, post_recv will kick. rx_lock held. */
bool soft_qp_recv_ready(struct soft_qp *qp);
/* Ditto, only asked. */
bool soft_qp_recv_there(struct soft_qp *qp);
/* Enters error: completes everything. recv_status is the oldest Receive's. Both locks held. */
void soft_qp_flush(struct soft_qp *qp, uint32_t recv_status);

/* Makes a ring of num entries, each with max_sge segments. -ENOMEM. */
int soft_ring_init(struct soft_ring *ring, uint32_t num, uint32_t max_sge, size_t entry);

/* ---- Shared receive queues (srq.c) ---- */

struct soft_srq {
	struct tp_srq base;
	struct tp_pd *pd;
	struct soft_ring ring; /* posting under the core's lock, taking and resizing under ours */
	pthread_mutex_t lock;
	pthread_cond_t waked; /* a QP's waking became 0 */
	struct soft_list waiting;
	atomic_uint num_waiting;
	uint32_t limit;
	atomic_uint events; /* to be told of */
	struct tp_task task;
};

/* Takes a receive for the QP, or lines up for one. rx_lock held. */
bool soft_srq_take(struct soft_qp *qp);
/* No more need of one. rx_lock held. */
void soft_srq_leave(struct soft_qp *qp);
/* A QP is made for the queue, and goes. */
void soft_srq_attach(struct soft_qp *qp, struct tp_srq *srq);
void soft_srq_detach(struct soft_qp *qp);
int soft_srq_limit_recv(struct tp_qp *qp, uint32_t soft, uint32_t hard);
extern const struct dapl_srq_ops soft_srq_ops;

/* ---- The outgoing side of a connection (tx.c, epilogue.c) ---- */

enum {
	SOFT_TX_SEGS = 72,
	SOFT_TX_MARKS = 32,
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

struct soft_tx {
	uint32_t mulpdu;
	uint32_t adjust_in; /* bytes until it is looked at again */
	bool crc, markers;
	bool summed; /* a CRC is formed of each FPDU as it is built */
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
	uint8_t *scratch;

	/* The message being cut into FPDUs. */
	uint8_t source;	       /* enum soft_tx_source */
	bool response_turn;    /* whose message is next when both have one */
	uint32_t offset;       /* in it */
	uint32_t sge, sge_off; /* in its segments */
	bool fresh;	       /* its memory was looked up in this stay in tx_lock */
	bool immediate;	       /* its data are built, the immediate is next */

	uint32_t msn[WIRE_QN_COUNT];
	bool rx_held;	     /* whoever runs this holds rx_lock too */
	bool bind_wait;	     /* the loop is clearing the window of the next request */
	uint32_t ord, reads; /* reads and atomics allowed and in flight */
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
/* Whether nothing is built that is not all sent. */
static inline bool soft_tx_idle(const struct soft_tx *tx)
{
	return tx->sent == tx->built;
}

/* Whether the memory the rest of the batch lies in is still registered. tx_lock held. */
bool soft_tx_valid(struct soft_conn *conn);
/* Sends what can be sent; tx_lock held, connection live. */
void soft_tx_run(struct soft_conn *conn);
/* A place for the answer to a read request or atomic that came, zeroed; NULL: more than allowed.
 * tx_lock held. */
struct soft_response *soft_tx_respond(struct soft_conn *conn, const struct soft_ddp *ddp);
/* The oldest read or atomic in flight, or NULL. tx_lock held. */
const struct soft_flight *soft_tx_oldest_flight(const struct soft_conn *conn);
/* Whether answers to reads or atomics of ours are to come. tx_lock not held. */
bool soft_tx_awaits(struct soft_conn *conn);
/* The tag by which the response names a request. */
static inline uint32_t soft_tx_sink_tag(const struct soft_tx *tx, uint32_t msn)
{
	return tx->read_tag + msn;
}
/* It is done. tx_lock held. */
void soft_tx_read_done(struct soft_conn *conn);
/*
 * The bytes that must follow for the peer to see whole FPDUs only: the rest of one that was sent in
 * part, and after it the Terminate of conn->fault, if any, in *out (malloced); NULL if there are
 * none, or they cannot be had. Both locks held.
 */
void soft_tx_epilogue(struct soft_conn *conn, uint8_t **out, size_t *len);

/* ---- The incoming side (rx.c, place.c) ---- */

enum {
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
	bool stalled; /* not reading: a Send waits for its Receive and there is no room to keep it
		       */
	bool checked; /* the sum of the FPDU at the head of the stage is right */
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
	bool hold_all; /* no more comes than what the socket has: keep it, whatever its size */
	int err;       /* with which the stream ended */

	/* The stage: small, or a large one as long as it is of use. */
	uint8_t *stage;
	uint32_t size, begin, end; /* its own, and of what it holds */
	uint32_t full;		   /* reads in a row that filled it */
	bool large_used;	   /* since the last pulse */
	uint8_t small[SOFT_RX_SMALL];
};

void soft_rx_init(struct soft_conn *conn);
void soft_rx_fini(struct soft_conn *conn);
/* Takes in what has come; rx_lock held, connection live. */
void soft_rx_run(struct soft_conn *conn);
/* Gives the large stage back if it was not used since the last call; rx_lock held. */
void soft_rx_shrink(struct soft_conn *conn);

struct iovec;
/* Where the FPDU's payload from pos on goes: fills iov with at most len bytes; number, or -1 on a
 * fault. */
int soft_place_iov(struct soft_conn *conn, uint32_t pos, uint32_t len, struct iovec *iov, int max);
/* Where it goes is gone. */
void soft_place_fault(struct soft_conn *conn);
/* Starts an FPDU's payload: 1, 0 if it has to wait, -1 on a fault. */
int soft_place_begin(struct soft_conn *conn);
/* Copies the next len bytes to their place; false on a fault. */
bool soft_place_copy(struct soft_conn *conn, const uint8_t *src, uint32_t len);
/* The FPDU is complete and right: delivers what it ends. false on a fault. */
bool soft_place_done(struct soft_conn *conn);
/* Hands held messages to Receives that were posted since. false on a fault. */
bool soft_place_held(struct soft_conn *conn);

/* ---- Connections (conn.c: life and end; cm.c: set-up) ---- */

enum soft_conn_state {
	SOFT_CONN_CONNECTING, /* active: link under way */
	SOFT_CONN_REQUESTING, /* active: request sent, reply awaited */
	SOFT_CONN_HALF_OPEN,  /* passive: request awaited */
	SOFT_CONN_REQUESTED,  /* passive: the program's to answer */
	SOFT_CONN_ACCEPTING,  /* passive: reply being sent */
	SOFT_CONN_AWAITING,   /* passive: first FPDU awaited */
	SOFT_CONN_LIVE,
	SOFT_CONN_ENDED,
};

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

/* A start-up frame coming in or going out. */
struct soft_handshake {
	size_t in_have, out_size, out_sent;
	uint8_t in[WIRE_MPA_FRAME_MAX], out[WIRE_MPA_FRAME_MAX];
};

struct soft_conn {
	struct tp_conn base;
	struct soft_dev *dev;
	struct soft_qp *qp;
	struct soft_link *link;
	enum soft_conn_state state; /* the loop's */
	bool active;
	bool released, reported; /* the loop's: freed by the core; no event may follow */
	uint32_t refs;		 /* the loop's */
	struct tp_task task;

	/* Set-up. */
	struct soft_handshake *hs;
	struct soft_listener *listener; /* half open: whose */
	struct soft_list node; /* in the listener's half-open list, soft_dev.awaiting, or conns */
	uint8_t revision;
	bool markers, crc, p2p, enhanced;
	bool tcp_only; /* shared memory was tried in vain */
	uint8_t rtr_offer, nudges;
	uint16_t peer_ird, peer_ord;
	uint64_t remote_qual_wanted;
	struct sockaddr_storage remote_wanted;

	/* Progress. */
	pthread_mutex_t lock;
	struct sockaddr_storage local, remote;
	uint64_t local_qual, remote_qual;
	uint32_t armed; /* events the loop will tell of, once; 0: not armed */
	bool attached;
	atomic_bool solo;	/* its CQs cannot watch it: always the loop's to drive */
	atomic_bool over;	/* the peer has ended, but messages wait for Receives */
	bool deaf;		/* the link would tell for ever that it is broken; under lock */
	uint32_t over_msn;	/* the loop's: the first of them when it looked last */
	uint32_t over_looks;	/* ditto: how often since one was received */
	atomic_bool rx_stalled; /* rx.stalled, for other threads */
	/* Work for the task. */
	atomic_bool arm_wanted, rx_wanted, first_seen, drained, clear_wanted;
	bool draining; /* graceful disconnect under way; under tx_lock */
	struct soft_list left_node;
	struct soft_member member[2];

	atomic_bool dead;	 /* fault is valid */
	struct soft_fault fault; /* written once, under lock */
	int tx_err;		 /* why sending failed; under tx_lock */
	struct soft_tx tx;
	struct soft_rx rx;
};

static inline struct soft_conn *soft_conn(struct tp_conn *conn)
{
	return soft_container(conn, struct soft_conn, base);
}

/* Whether the connection has come to its end, known to its own threads or not yet. */
static inline bool soft_conn_dead(const struct soft_conn *conn)
{
	return atomic_load_explicit(&conn->dead, memory_order_acquire);
}

struct soft_conn *soft_conn_alloc(struct soft_dev *dev);
/* Keep conn's memory over an upcall. On the loop. */
void soft_conn_hold(struct soft_conn *conn);
void soft_conn_drop(struct soft_conn *conn);
/* The core is through with it: frees it as soon as nobody holds it. It has ended. On the loop. */
void soft_conn_release(struct soft_conn *conn);

/*
 * Notes what ended the connection, unless something else did before, and has the loop do the rest.
 * Any thread, any lock below soft_conn.lock.
 */
void soft_conn_fail(struct soft_conn *conn, const struct soft_fault *fault);
/* Ditto for an error that the peer is to be told of; ddp and why may be NULL. */
void soft_conn_refuse(struct soft_conn *conn, struct soft_error error, const struct soft_ddp *ddp,
		      const char *why);
/* The link ended or broke: err 0 means in order. */
void soft_conn_lost(struct soft_conn *conn, int err, uint32_t recv_status);
/* What the end of the incoming stream means after sending may have failed: 0 or a negative errno.
 */
int soft_conn_stream_error(struct soft_conn *conn);

/* Binds QP and connection for the data phase; the QP is idle. On the loop. */
void soft_conn_bind(struct soft_conn *conn);
/* The data phase begins: CQs, watch, list. On the loop. */
void soft_conn_open(struct soft_conn *conn);
/* Ends it in whatever state, flushes the QP, gives the link to the linger list. No upcall. On the
 * loop. */
void soft_conn_end(struct soft_conn *conn);
/* Ends it because of conn->fault and tells the core. On the loop. */
void soft_conn_finish(struct soft_conn *conn);
/* Tells the core of an outcome and no more after it; the connection has ended. On the loop. */
void soft_conn_report(struct soft_conn *conn, enum tp_conn_event event, int err, const void *data,
		      uint32_t len);
/* conn->task. */
void soft_conn_task(struct tp_task *task);
/* "local - remote", for messages. */
const char *soft_conn_text(struct soft_conn *conn, char buf[2 * SOFT_ADDR_TEXT + 8]);

/* A service point (listener.c): one ear for each class of links. */
struct soft_listener;

struct soft_ear {
	struct soft_listener *listener;
	const struct soft_link_class *class;
	struct tp_watch watch;
};

enum {
	SOFT_EARS = 2,
};

struct soft_listener {
	struct tp_listener base;
	struct soft_dev *dev;
	struct soft_ear ear[SOFT_EARS];
	uint32_t ears;
	struct tp_timer pause;
	struct soft_list half_open; /* connections whose request has not come */
	bool starved;		    /* could not accept, and said so */
	bool paused;		    /* nobody is accepted until the timer is over */
	struct soft_list handoff_node;
};

int soft_listen(struct tp_device *dev, uint64_t conn_qual, void *owner, struct tp_listener **out);
void soft_unlisten(struct tp_listener *listener);

/* The loop's part of set-up; also called when the link is ready (cm.c). */
void soft_cm_ready(struct soft_link *link, uint32_t events);
void soft_cm_expired(struct soft_link *link);
/* Has the oldest go if there are too many whose request is awaited. false: there still are. */
bool soft_cm_room(struct soft_dev *dev);
/* A peer has connected; its request is awaited. Takes the link. */
void soft_cm_half_open(struct soft_listener *listener, struct soft_link *link);
/*
 * A peer whose request arrived elsewhere: hands it to the listener. Takes the descriptors, which
 * are those of a link's class, unless it fails: -ENOMEM, -EPROTO. On the loop.
 */
int soft_cm_adopt(struct soft_listener *listener, const int *fds, int num, const uint8_t *frame,
		  size_t len);
/* The passive side's wait for the first FPDU is over. */
void soft_cm_established(struct soft_conn *conn);
/* What peers have confirmed by now is told. */
void soft_cm_confirm(struct soft_dev *dev);

extern const struct dapl_cm_ops soft_cm_ops;

/* ---- Requests handed on (handoff.c), and taken in from other processes (door.c) ---- */

/* A listener comes and goes; the latter on the loop. */
void soft_handoff_enter(struct soft_listener *listener);
void soft_handoff_leave(struct soft_listener *listener);
int soft_handoff(struct tp_conn *conn, uint64_t conn_qual);
/* Once per device. */
void soft_door_open(struct soft_dev *dev);
/* On the loop. */
void soft_door_close(struct soft_dev *dev);

/* ---- Progress (progress.c) ---- */

/* What changed in what the connection waits for (rx.stalled, qp->tx_stalled) is taken account of.
 */
void soft_progress_watch(struct soft_conn *conn);
/* Ditto, for the epoll sets of its CQs alone, whose owner drove it just now. */
void soft_progress_doze(struct soft_conn *conn);
/* The link of a live connection is ready. */
void soft_progress_ready(struct soft_link *link, uint32_t events);
/* Drives it on the loop and waits for the next event. On the loop. */
void soft_progress_serve(struct soft_conn *conn);
/* It is no longer to be driven. On the loop. */
void soft_progress_forget(struct soft_conn *conn);
void soft_progress_tick(struct tp_timer *timer);
void soft_progress_kick(struct tp_task *task);
void soft_progress_pulse(struct tp_timer *timer);

#endif
