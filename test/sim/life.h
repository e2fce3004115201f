/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Lives of connections: two ends that connect, exchange what chance says, and end. Each end is a
 * thread of its own on its host; what must have come of it is judged as it comes.
 */
#ifndef SIM_LIFE_H
#define SIM_LIFE_H

#include <dat2/udat.h>
#include <pthread.h>

#include "test/sim/sim.h"

enum {
	HOSTS = 2,
	MAX_PAIRS = 8,
	QUEUE = 32,	   /* requests, and receives, of an end */
	BUFFER = 16 << 10, /* of a request or receive */
	TARGETS = 8,
	TARGET = 4 << 10,
	MESSAGES = 64, /* that an end sends in a life */
	DATA = 60,     /* private, at most */
	SHARED = 64,   /* receives of an SRQ */
	SHARED_EVENTS = 4000,
	END_EVENTS = 256,
	GHOSTS = 64,
	PATIENCE_S = 1200, /* by then everything has come to an end; TCP gives up after 924 */
};

enum op {
	OP_RECV,
	OP_SEND,
	OP_WRITE,
	OP_READ,
	OP_ADD,
	OP_BIND,
	OP_IMMEDIATE, /* a write with immediate data */
	OP_INVALIDATE,
	OP_TRESPASS_READ, /* what the peer's window does not allow: it ends the connection */
	OP_TRESPASS_WRITE,
};

struct post {
	enum op op;
	uint32_t length;
	uint32_t slot;	 /* of the buffers, or the target */
	uint32_t target; /* of a read: what was written there, + 1; 0: the source */
	bool window;	 /* needs the peer's window until it completes */
	uint64_t number;
};

/* What takes a Receive of the peer. */
struct message {
	enum op op;
	uint32_t length, immediate;
	uint32_t writes; /* before it */
	DAT_RMR_CONTEXT window;
};

/* The window of an end: over its targets, for its peer. */
struct window {
	DAT_RMR_HANDLE rmr;
	bool of_ep;		   /* bound for its endpoint alone */
	DAT_RMR_CONTEXT key;	   /* that may be used; 0: none */
	DAT_RMR_CONTEXT next;	   /* of the bind, once its call has returned */
	DAT_RMR_CONTEXT old, dead; /* what a bind replaces; what was valid once */
	DAT_MEM_PRIV_FLAGS rights;
	bool binding;		   /* that has not completed */
	bool dying;		   /* is being invalidated, or cannot be used any more */
	uint32_t readers;	   /* requests of the peer that need it */
	uint32_t writers, arrived; /* the peer's writes up to the last that does; that are here */
};

/* What was posted and has not completed, in order. */
struct posts {
	struct post post[QUEUE];
	uint32_t first, count;
	uint64_t posted;
	bool failed; /* one has: none that follows succeeds */
};

enum phase {
	PHASE_IDLE,
	PHASE_CONNECTING,
	PHASE_CONNECTED,
	PHASE_OVER,
};

struct pair;
struct host;

/* Its memory, the same for all its lives. */
struct memory {
	uint8_t in[QUEUE][BUFFER], out[QUEUE][BUFFER];
	uint8_t target[TARGETS + 1][TARGET]; /* nobody may write to the last */
	uint8_t source[TARGET];
	uint64_t counter;
};

struct end {
	struct pair *pair;
	struct host *host;
	uint32_t which;	     /* 0: it connects */
	struct fiber *fiber; /* that plays it */
	DAT_EP_HANDLE ep;
	DAT_EVD_HANDLE recv_evd, request_evd, conn_evd;
	DAT_CNO_HANDLE cno; /* of these three, or DAT_HANDLE_NULL */
	struct window window;
	struct message message[MESSAGES];
	struct memory *memory;
	struct posts recv, request;
	enum phase phase;
	uint32_t outcome; /* the event that ended it, or its attempt */
	uint32_t sent, sent_ok, received, writes, wrote_ok, requests_ok;
	uint32_t receives_then; /* receives posted before messages could be lost without */
	uint64_t added;
	enum {
		STAYS,
		ABRUPT,
		GRACEFUL
	} left; /* what it called */
	bool busy;
};

struct life {
	uint64_t id;
	uint64_t conns; /* of the world when it began, as refusals and stops */
	uint32_t refusals;
	uint32_t stops;
	bool rejected, accepted, patient, ending, excused;
	uint64_t ended;	    /* when an end disconnected first */
	bool scribbles[2];  /* the source of that end changes all the time */
	bool trespassed[2]; /* that end has */
	uint32_t write_length[2][TARGETS];
	uint32_t call, reply; /* bytes of private data, with the request and the answer */
};

struct pair {
	uint32_t index;
	struct end end[2];
	struct life life;
	DAT_PSP_HANDLE sp;
	DAT_EVD_HANDLE cr_evd;
	DAT_CONN_QUAL qual;
	bool lies;    /* an end is no library: the active one */
	bool answers; /* or, with this, the passive one */
	bool quit;
};

struct host {
	int index;
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT key;
	DAT_RMR_CONTEXT remote_key;
	DAT_EVD_HANDLE async, shared; /* shared: of all ends, or DAT_HANDLE_NULL */
	DAT_SRQ_HANDLE srq;
	pthread_mutex_t taking;	 /* from the shared one: who takes judges */
	uint8_t (*pool)[BUFFER]; /* of the SRQ */
	bool posted[SHARED];
	struct sockaddr_storage address;
};

struct world {
	struct host host[HOSTS];
	struct pair pair[MAX_PAIRS];
	uint32_t num_pairs, lives, lives_begun;
	bool share_evd, share_recv, crc;
	uint32_t unreceived_ms; /* how long messages of a peer that has ended wait for Receives */
	uint32_t stops;		/* of hosts, so far */
	uint32_t dead;		/* number of the host + 1 that has crashed; 0: none */
	uint32_t leaves;	/* of that whose program ends */
	bool over;
	struct {
		uint64_t life;
		uint32_t left[2][2]; /* of each end: receives, requests that may still be told */
	} ghost[GHOSTS];
};

extern struct world world;

/* The ends' programs. */
void *life_active(void *pair);
void *life_passive(void *pair);
/* Ends that are no library, and say what they like: an active and a passive one. */
void *life_liar(void *pair);
void *life_false_answers(void *pair);
/* A host is lost: nobody waits for its ends any more. */
bool life_lost(const struct host *host);
void life_begin(struct pair *pair);
/* Until the passive end has come to its end. */
void life_await_passive(struct pair *pair);

void life_post_recv(struct end *end);
void life_post_request(struct end *end);
/* A read or an atomic. */
void life_post_question(struct end *end);
/* An access that must be refused, if there is one. */
void life_trespass(struct end *end);
/* A bind is over. */
void life_bound(struct end *end, bool ok);

/* What happens to hosts. */
void *host_faults(void *unused);

/* ---- Judging ---- */

uint64_t life_cookie(const struct end *end, bool recv, uint64_t number);
/* An event that was taken from a dispatcher. */
void judge_event(const DAT_EVENT *event);
/* Both ends have come to their end. */
void judge_life(struct pair *pair);
/* Whether something has happened that may spoil it. */
bool judge_excused(struct pair *pair);
/* What an end leaves behind on dispatchers; it does not wait for it. */
void judge_forget(struct end *end);
/* A call returned: false, it was refused, which a refusal below it excuses. */
bool judge_call(const struct end *end, const char *name, DAT_RETURN rc);
void judge_fill(uint8_t *at, uint64_t pattern, uint32_t length);
uint64_t judge_pattern(const struct end *end, enum op op, uint64_t number);
/* Private data of an end that makes the attempt, or answers it. */
void judge_private(const struct end *end, const void *data, DAT_COUNT size, uint32_t sent);
/* The endpoint's state after the last event of a connection. */
void judge_state(const struct end *end);
/* Nobody uses the SRQ any more. */
void judge_srq(const struct host *host);

/* ---- Worlds ---- */

/* Runs a world to its end. */
void *world_lives(void *seed);

#endif
