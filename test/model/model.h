/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the interface promises, as a model: objects, states, queues, and who waits for what. It
 * makes no call. A step is prepared (is it possible, and with which arguments), carried out by
 * somebody, and its result judged; so is each event. What a race leaves open is open here: a state
 * is a set of states, an outcome one of several. Each judgement names its clause of doc/spec.
 */
#ifndef MODEL_H
#define MODEL_H

#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>

#include "test/model/call.h"
#include "test/model/exec.h"

enum {
	MAX_CONNS = 64,
	MAX_QUEUE = 1024,
	MAX_GHOSTS = 64,
	MAX_DEAD = 16,
	STILL_MS = 1000,     /* a process may stand still for so long under load */
	KEPT_BYTES = 200000, /* of messages that wait for Receives; the provider keeps a few more */
};

/* What was posted and has not been seen to complete. */
struct entry {
	uint64_t cookie;
	uint32_t op; /* enum step_op */
	uint32_t length;
	uint32_t value;	  /* of a trespass: it reads; of atomics: its place among them */
	uint32_t ordinal; /* messages of the connection that were sent before it */
	uint64_t expect;  /* pattern that a read must find, 0: any */
	uint32_t expect_length;
	int16_t buffer; /* -1: none */
	int16_t cell, rmr;
	bool suppressed;
	bool early; /* a receive that was there before an end was possible */
};

struct queue {
	struct entry *entry; /* MAX_QUEUE */
	uint32_t head, count;
	uint32_t failed; /* an unsuccessful completion was seen */
};

enum phase {
	PHASE_START,	 /* connect, or accept, was called */
	PHASE_CONNECTED, /* ESTABLISHED was seen */
	PHASE_ENDED,	 /* the last event was seen */
};

struct message {
	uint32_t length, key, immediate;
	uint64_t pattern;
	uint8_t op;
};

/* One end of a connection. */
struct half {
	int ep; /* -1: none yet, or none any more */
	uint64_t handle;
	int side, evd, recv_evd, request_evd;
	enum phase phase;
	uint8_t disconnected; /* 0, 1 abrupt, 2 graceful */
	bool gone;	      /* its endpoint was freed or reset */
	bool mute;	      /* freed: what it would still be told may stay away */
	uint8_t rank;	      /* no state earlier than this can be any more */
	uint32_t sent, sent_ok, received;
	bool reads;		  /* it asked for what may be unanswered when it ends */
	bool lost_early;	  /* a receive that was there early was flushed */
	bool crowded;		  /* it ended at once, behind more than the peer takes in */
	uint8_t late;		  /* a bit per window that requests which are over may still use */
	struct message *messages; /* what it sent, MAX_QUEUE */
};

struct conn {
	bool used;
	uint32_t id;
	uint64_t sp_handle, qual;
	int sp_evd, sp_side;
	struct half half[2]; /* active, passive */
	bool request_seen, accepted, rejected, short_time;
	bool refused; /* may be: who listened is gone */
	bool fault;   /* a peer's memory was accessed where that is not allowed: it breaks */
	uint32_t private_size[2];
};

struct model_ep {
	bool live;
	uint32_t life;
	uint64_t handle;
	int recv_evd, request_evd, connect_evd;
	int srq; /* -1: none */
	uint32_t max_recv, max_request;
	int conn; /* -1: none */
	int half;
	struct queue recv, request;
};

/* What an endpoint left behind on dispatchers when it was freed or reset. */
struct ghost {
	bool used;
	uint64_t handle;
	uint32_t index, life;
	uint32_t batch;				/* in which that happened */
	int recv_evd, request_evd, connect_evd; /* -1: nothing of it can be there any more */
	int conn, half;
	int srq;
	struct queue recv, request;
};

struct model_evd {
	bool live, cno;
	uint32_t qlen;
	uint32_t at_least;   /* events that are certainly there */
	uint32_t orphans;    /* requests that nobody wants any more and that may still arrive */
	uint32_t stragglers; /* of them, those that did not come until all was quiet */
	uint32_t se_next, se_count; /* number of the oldest software event, how many */
};

struct model_srq {
	bool live;
	uint32_t max, users;
	struct entry *entry; /* MAX_QUEUE, in no order */
	uint32_t count;
	uint32_t lost; /* how many may have gone with endpoints */
};

struct model_rmr {
	bool live, ep_scope, bound, binding, dying, unknown;
	uint64_t handle;
	uint32_t key;
	int cell, ep;
	uint32_t ep_life;
	uint32_t users;		    /* operations of the peer that need it */
	uint32_t rights;	    /* 0: all, 1: reads alone, 2: writes alone */
	uint32_t old_key, old_cell; /* of the binding that one under way replaces; 0: none */
};

/* A context that was valid once. */
struct dead_key {
	uint32_t key;
	int cell, ep; /* that it was bound by */
};

struct model_sp {
	bool live;
	uint64_t handle, qual;
	int evd;
};

/* A counter has its value as the pattern, and length 8 where that is known. */
struct cell {
	uint64_t pattern; /* what is there, 0: not known */
	uint32_t length;  /* as far as that is known */
	bool scribbled;
	int conn, half; /* who writes to it, conn -1: nobody */
	uint32_t conn_id;
	uint32_t after; /* messages sent before the last write */
	int rmr;	/* used for it, -1: none */
	uint64_t sum;	/* of what was added to a counter */
	uint32_t adds;	/* that are outstanding */
	bool sum_lost;	/* one of them may have been done or not */
};

struct model {
	uint32_t sides, batch, errors;
	char error[512]; /* the first thing that was wrong */
	uint8_t *arena[MAX_SIDES];
	struct exec_facts facts[MAX_SIDES];
	uint32_t slack; /* events that calls made at once may add */
	bool srq_ends, reads_end, trespassed;
	struct dead_key dead[MAX_SIDES][MAX_DEAD];
	uint32_t dead_count[MAX_SIDES]; /* that there ever were */
	bool stood_still; /* the other process did, for longer than is waited for it */
	uint64_t serial;
	uint32_t next_conn;
	struct model_evd evd[MAX_EVDS];
	struct model_sp sp[MAX_SPS];
	struct model_srq srq[MAX_SRQS];
	struct model_ep ep[MAX_EPS];
	struct model_rmr rmr[MAX_RMRS];
	struct conn conn[MAX_CONNS];
	struct ghost ghost[MAX_GHOSTS];
	struct cell cell[CELLS * MAX_SIDES];
	uint8_t possible[65536]; /* by number: a request of it may still arrive */
	/* Such requests came, and are to be rejected. */
	uint32_t orphan[MAX_SEEN], orphan_side, orphans;
	bool buffer_used[MAX_SIDES][SMALL_BUFFERS + BIG_BUFFERS];
	uint64_t completions;
};

void model_init(struct model *m, uint32_t sides);
void model_fini(struct model *m);

/* Whether the step is possible, and the call that it is. Reserves what it needs. */
bool model_prepare(struct model *m, const struct step *step, struct call *call);
/* Where the write that was prepared will be seen to arrive, and nothing else; or null. */
const uint8_t *model_watched(const struct model *m, const struct call *call);
/* Judges the result of a call, events included. */
void model_done(struct model *m, const struct call *call, const struct result *result);
/* What must still happen by itself; false: nothing, and everything is quiet. */
/* evd: where it will be seen. */
bool model_owes(const struct model *m, int *evd, char *what, size_t size);
/* Everything is quiet: what the cells hold, and what does not come any more. */
void model_quiet(struct model *m);

/* States that an endpoint may be in, a bit for each DAT_EP_STATE. */
uint32_t model_ep_states(const struct model *m, const struct model_ep *ep);
/* An end of the connection of this half that it did not ask for is possible. */
bool model_may_end(const struct conn *c, int half);
/* What comes to this half may be cut off, for it takes in nothing (EP-98). */
bool model_may_reset(const struct model *m, const struct conn *c, int half);
/* Bytes of messages that this half has not received, however they were sent. */
uint64_t model_unreceived(const struct conn *c, int half);

/* ---- Shared by the files of the model ---- */

__attribute__((format(printf, 2, 3))) void model_wrong(struct model *m, const char *format, ...);
uint32_t model_side(const struct model *m, int object);
struct conn *model_conn(struct model *m, const struct model_ep *ep);
void model_fill(uint8_t *at, uint64_t pattern, uint32_t length);
bool model_filled(const uint8_t *at, uint64_t pattern, uint32_t length);
uint8_t *model_buffer(const struct model *m, uint32_t side, int buffer);
int model_buffer_take(struct model *m, uint32_t side, uint32_t length);
void model_buffer_free(struct model *m, uint32_t side, int buffer);
uint8_t *model_cell(const struct model *m, int cell);
bool model_is_counter(const struct model *m, int cell);
bool model_is_send(uint32_t op);
uint64_t model_cookie(struct model *m, uint32_t kind, const struct model_ep *ep, int index);
struct entry *queue_at(const struct queue *queue, uint32_t index);
void queue_pop(struct queue *queue);
uint32_t model_load(const struct model *m, int evd);
void model_conn_release(struct model *m, int conn);

struct conn *conn_of_request(struct model *m, uint32_t id);
void conn_private_data(uint32_t id, uint32_t who, uint32_t size, uint8_t *out);
bool conn_prepare(struct model *m, struct call *call);
void conn_done(struct model *m, const struct call *call, const struct result *result);
void conn_event(struct model *m, const struct seen *seen, uint32_t side);
void conn_request(struct model *m, const struct seen *seen, uint32_t side);
bool conn_owes(const struct model *m, int *evd, char *what, size_t size);

bool dto_prepare(struct model *m, struct call *call);
void dto_done(struct model *m, const struct call *call, const struct result *result);
void dto_event(struct model *m, const struct seen *seen, uint32_t side);
bool dto_owes(const struct model *m, int *evd, char *what, size_t size);
/* The requests that were outstanding do not use buffers, cells and windows any more. */
void dto_abandon(struct model *m, struct model_ep *ep);
bool request_prepare(struct model *m, struct call *call);
bool buffer_prepare(struct model *m, struct call *call, uint32_t length, int fill);

void cell_fill(struct model *m, int index);
void cell_look(struct model *m, struct cell *cell);
void cell_read(struct model *m, int conn, int half, const struct entry *entry);
void cells_settle(struct model *m, int conn, int half, uint32_t received);
void cells_read_any(struct model *m, int cell, const struct queue *keep);
void counter_added(struct cell *cell, uint64_t value);
void counter_over(struct cell *cell, bool ok);
bool counter_fill(struct model *m, int index);
void counters_quiet(struct model *m);

/* A request of this half is over without success, and may still arrive and need its window. */
void window_left(struct model *m, struct conn *c, int half, const struct entry *entry);
bool window_needed(const struct model *m, int rmr);
bool trespass_prepare(struct model *m, struct call *call);
void trespass_posted(struct model *m, struct conn *c, struct entry *entry, const struct call *call);
void trespass_over(struct model *m, const struct entry *entry, bool ok);
void key_dies(struct model *m, const struct model_rmr *rmr, uint32_t key, int cell);

enum {
	COOKIE_SE = 1,
	COOKIE_RECV,
	COOKIE_REQUEST,
	COOKIE_SRQ,
};

static inline uint32_t cookie_kind(uint64_t cookie)
{
	return (uint32_t)(cookie >> 60);
}

static inline uint32_t cookie_index(uint64_t cookie)
{
	return (uint32_t)(cookie >> 48) & 0xfff;
}

static inline uint32_t cookie_life(uint64_t cookie)
{
	return (uint32_t)(cookie >> 32) & 0xffff;
}

#endif
