/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The model: endpoints, service points, connections and their states (doc/spec, file 02). */
#include "test/model/model.h"

#include <stdlib.h>
#include <string.h>

#define BIT(state) (1U << (state))

enum {
	S_U = BIT(DAT_EP_STATE_UNCONNECTED),
	S_A = BIT(DAT_EP_STATE_ACTIVE_CONNECTION_PENDING),
	S_CP = BIT(DAT_EP_STATE_COMPLETION_PENDING),
	S_C = BIT(DAT_EP_STATE_CONNECTED),
	S_DP = BIT(DAT_EP_STATE_DISCONNECT_PENDING),
	S_D = BIT(DAT_EP_STATE_DISCONNECTED),
	/* Ranks: a connection only goes on, it never goes back. */
	RANK_START = 1,
	RANK_C,
	RANK_DP,
	RANK_D,
};

/* ---- States ---- */

bool model_may_end(const struct conn *c, int half)
{
	const struct half *peer = &c->half[!half];

	return c->fault || peer->disconnected || peer->gone || peer->phase == PHASE_ENDED;
}

/* What is due when the connection has not been told to be established yet. */
static uint32_t start_states(const struct conn *c, int half)
{
	const struct half *x = &c->half[half];
	uint32_t states = x->disconnected ? S_DP | S_D : half ? S_CP : S_A;

	if (c->accepted && !x->disconnected)
		states |= S_C;
	if (model_may_end(c, half) || c->rejected || c->refused || c->short_time)
		states |= S_D;
	return states;
}

uint32_t model_ep_states(const struct model *m, const struct model_ep *ep)
{
	static const uint32_t from_rank[] = { ~0U, ~0U, S_C | S_DP | S_D, S_DP | S_D, S_D };
	const struct conn *c = ep->conn < 0 ? NULL : &m->conn[ep->conn];
	const struct half *x;
	uint32_t states;

	if (!c)
		return S_U;
	x = &c->half[ep->half];
	if (x->phase == PHASE_START)
		states = start_states(c, ep->half);
	else if (x->phase == PHASE_ENDED)
		states = S_D;
	else
		states = (x->disconnected ? S_DP | S_D : S_C) |
			 (model_may_end(c, ep->half) ? S_D : 0);
	return states & from_rank[x->rank];
}

static void raise_rank(struct half *x, uint32_t state)
{
	uint8_t rank = state & (S_A | S_CP) ? RANK_START
		       : state & S_C	    ? RANK_C
		       : state & S_DP	    ? RANK_DP
					    : RANK_D;

	if (rank > x->rank)
		x->rank = rank;
}

static void print_states(uint32_t states, char *out, size_t size)
{
	static const char *const names[] = {
		[DAT_EP_STATE_UNCONNECTED] = "U",
		[DAT_EP_STATE_ACTIVE_CONNECTION_PENDING] = "A",
		[DAT_EP_STATE_COMPLETION_PENDING] = "CP",
		[DAT_EP_STATE_CONNECTED] = "C",
		[DAT_EP_STATE_DISCONNECT_PENDING] = "DP",
		[DAT_EP_STATE_DISCONNECTED] = "D",
	};
	size_t at = 0;

	out[0] = 0;
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]) && at < size; i++)
		if (states & BIT(i) && names[i])
			at += (size_t)snprintf(out + at, size - at, "%s ", names[i]);
}

/* ---- Connections come and go ---- */

static struct conn *conn_of_request(struct model *m, uint32_t id)
{
	for (int i = 0; i < MAX_CONNS; i++)
		if (m->conn[i].used && m->conn[i].id == id)
			return &m->conn[i];
	return NULL;
}

static void private_data(uint32_t id, uint32_t who, uint32_t size, uint8_t *out)
{
	for (uint32_t i = 0; i < size; i++)
		out[i] = (uint8_t)(id * 31 + who * 7 + i);
	memcpy(out, &id, sizeof(id));
}

static void check_private(struct model *m, const struct seen *seen, uint32_t id, uint32_t who,
			  uint32_t size)
{
	uint8_t expected[PRIVATE_BYTES];

	private_data(id, who, size ? size : 4, expected);
	if (seen->private_size != size || memcmp(seen->private_data, expected, size) != 0)
		model_wrong(m,
			    "PD-5: event 0x%x of connection %u has %u bytes of private data, not "
			    "the %u that were sent",
			    seen->number, id, seen->private_size, size);
}

/* Its slot is free when nobody refers to it and no request waits for an answer. */
void model_conn_release(struct model *m, int conn)
{
	struct conn *c = &m->conn[conn];

	for (int i = 0; i < MAX_EPS; i++)
		if (m->ep[i].live && m->ep[i].conn == conn)
			return;
	for (int i = 0; i < MAX_GHOSTS; i++)
		if (m->ghost[i].used && m->ghost[i].conn == conn)
			return;
	if (c->request_seen && !c->accepted && !c->rejected)
		return;
	m->possible[c->id % 65536] = !c->request_seen;
	c->used = false;
}

static int new_conn(struct model *m)
{
	bool busy;

	for (int i = 0; i < MAX_CONNS; i++) {
		if (m->conn[i].used)
			continue;
		do {
			busy = false;
			m->next_conn++;
			for (int j = 0; j < MAX_CONNS; j++)
				busy |= m->conn[j].used &&
					m->conn[j].id % MAX_REQUESTS == m->next_conn % MAX_REQUESTS;
		} while (busy);
		return i;
	}
	return -1;
}

static void start_half(struct model *m, struct conn *c, int half, int ep)
{
	struct half *x = &c->half[half];
	struct message *messages = x->messages;
	struct model_ep *e = &m->ep[ep];

	*x = (struct half){ .ep = ep,
			    .handle = e->handle,
			    .side = (int)model_side(m, ep),
			    .evd = e->connect_evd,
			    .recv_evd = e->recv_evd,
			    .request_evd = e->request_evd,
			    .rank = RANK_START,
			    .messages = messages };
	e->conn = (int)(c - m->conn);
	e->half = half;
}

/* An event for this handle could be one that a former endpoint left. */
static bool haunted(const struct model *m, const struct model_ep *ep)
{
	for (int i = 0; i < MAX_GHOSTS; i++)
		if (m->ghost[i].used && m->ghost[i].handle == ep->handle &&
		    (m->ghost[i].connect_evd >= 0 || m->ghost[i].srq >= 0))
			return true;
	return false;
}

static void leave_ghost(struct model *m, struct model_ep *ep, int index)
{
	struct conn *c = model_conn(m, ep);
	struct ghost *ghost = NULL;
	struct queue queue;

	for (int i = 0; i < MAX_GHOSTS; i++)
		if (!m->ghost[i].used) {
			ghost = &m->ghost[i];
			break;
		}
	*ghost = (struct ghost){
		.used = true,
		.handle = ep->handle,
		.index = (uint32_t)index,
		.life = ep->life,
		.batch = m->batch,
		.recv_evd = ep->recv_evd,
		.request_evd = ep->request_evd,
		.connect_evd = c && c->half[ep->half].phase != PHASE_ENDED ? ep->connect_evd : -1,
		.conn = ep->conn,
		.half = ep->half,
		.srq = ep->srq,
	};
	queue = ep->recv;
	ghost->recv = queue;
	queue = ep->request;
	ghost->request = queue;
	ep->recv = (struct queue){ .entry = calloc(MAX_QUEUE, sizeof(struct entry)) };
	ep->request = (struct queue){ .entry = calloc(MAX_QUEUE, sizeof(struct entry)) };
}

static bool ghost_place(const struct model *m)
{
	for (int i = 0; i < MAX_GHOSTS; i++)
		if (!m->ghost[i].used)
			return true;
	return false;
}

/* The endpoint leaves its connection: freed, or reset. */
static void part(struct model *m, struct model_ep *ep, int index, bool freed)
{
	struct conn *c = model_conn(m, ep);
	uint32_t undelivered;

	dto_abandon(m, ep);
	leave_ghost(m, ep, index);
	for (int i = 0; i < MAX_EVDS; i++)
		m->evd[i].at_least = 0;
	if (c) {
		undelivered = c->half[!ep->half].sent - c->half[ep->half].received;
		m->srq_ends |= ep->srq >= 0;
		if (ep->srq >= 0)
			m->srq[ep->srq].lost += undelivered;
		c->half[ep->half].gone = true;
		c->half[ep->half].mute = freed;
		c->half[ep->half].ep = -1;
	}
	ep->conn = -1;
	ep->life++;
}

/* ---- Steps ---- */

static bool prepare_create(const struct model *m, const struct call *call)
{
	const int *arg = call->step.arg;
	int load[MAX_EVDS] = { 0 };

	if (m->ep[arg[0]].live || arg[4] < 1 || arg[4] > 256)
		return false;
	for (int i = 1; i <= 3; i++) {
		if (model_side(m, arg[i]) != call->side || !m->evd[arg[i]].live)
			return false;
		load[arg[i]] += 4;
	}
	for (int i = 0; i < MAX_EVDS; i++)
		if (load[i] && model_load(m, i) + (uint32_t)load[i] > m->evd[i].qlen)
			return false;
	if (!arg[5])
		return true;
	return model_side(m, arg[5] - 1) == call->side && m->srq[arg[5] - 1].live &&
	       model_load(m, arg[1]) + m->srq[arg[5] - 1].max + 8 < m->evd[arg[1]].qlen;
}

static bool prepare_connect(struct model *m, struct call *call)
{
	const int *arg = call->step.arg;
	struct model_ep *ep = &m->ep[arg[0]];
	struct model_sp *sp = &m->sp[arg[1]];
	int conn;

	if (!ep->live || !sp->live || ep->conn >= 0 || haunted(m, ep) ||
	    model_load(m, sp->evd) >= m->evd[sp->evd].qlen)
		return false;
	conn = new_conn(m);
	if (conn < 0)
		return false;
	call->qual = sp->qual;
	call->request = m->next_conn;
	call->private_size = 4 + call->request * 7 % (PRIVATE_BYTES - 4);
	private_data(call->request, 0, call->private_size, call->private_data);
	return true;
}

/* The connection whose request a step names by a small number: the nth that waits. */
static struct conn *waiting_request(struct model *m, int n)
{
	for (int i = 0; i < MAX_CONNS; i++) {
		struct conn *c = &m->conn[(n + i) % MAX_CONNS];

		if (c->used && c->request_seen && !c->accepted && !c->rejected)
			return c;
	}
	return NULL;
}

static bool prepare_answer(struct model *m, struct call *call)
{
	const int *arg = call->step.arg;
	struct conn *c = waiting_request(m, arg[0]);
	struct model_ep *ep = &m->ep[arg[1]];

	if (!c)
		return false;
	call->side = (uint32_t)c->sp_side;
	call->request = c->id;
	call->private_size = 4 + c->id * 3 % (PRIVATE_BYTES - 4);
	private_data(c->id, 1, call->private_size, call->private_data);
	if (call->step.op == STEP_ACCEPT)
		return ep->live && ep->conn < 0 && model_side(m, arg[1]) == call->side &&
		       !haunted(m, ep);
	if (call->step.op == STEP_HANDOFF) {
		if (!m->sp[arg[1]].live || model_side(m, arg[1]) != call->side ||
		    model_load(m, m->sp[arg[1]].evd) >= m->evd[m->sp[arg[1]].evd].qlen)
			return false;
		call->qual = m->sp[arg[1]].qual;
	}
	return true;
}

bool conn_prepare(struct model *m, struct call *call)
{
	const int *arg = call->step.arg;
	struct model_ep *ep = &m->ep[arg[0]];

	switch (call->step.op) {
	case STEP_SP_CREATE:
		return !m->sp[arg[0]].live && m->evd[arg[1]].live &&
		       model_side(m, arg[1]) == call->side;
	case STEP_SP_FREE:
		return m->sp[arg[0]].live;
	case STEP_EP_CREATE:
		return prepare_create(m, call);
	case STEP_EP_FREE:
	case STEP_EP_RESET:
		return ep->live && ghost_place(m);
	case STEP_CONNECT:
		return prepare_connect(m, call);
	case STEP_ACCEPT:
	case STEP_REJECT:
	case STEP_HANDOFF:
		return prepare_answer(m, call);
	default:
		return ep->live;
	}
}

static void created(struct model *m, const int *arg, const struct result *result)
{
	struct model_ep *ep = &m->ep[arg[0]];

	ep->live = true;
	ep->life++;
	ep->handle = result->value[0];
	ep->recv_evd = arg[1];
	ep->request_evd = arg[2];
	ep->connect_evd = arg[3];
	ep->srq = arg[5] - 1;
	ep->max_recv = (uint32_t)result->value[1];
	ep->max_request = (uint32_t)result->value[2];
	ep->conn = -1;
	m->srq_ends |= ep->srq >= 0;
	if (ep->srq >= 0)
		m->srq[ep->srq].users++;
	if (result->value[1] < (uint64_t)arg[4] || result->value[2] < (uint64_t)arg[4])
		model_wrong(m, "EP-45: ep %d has depths %u and %u, not %d", arg[0], ep->max_recv,
			    ep->max_request, arg[4]);
}

static void connecting(struct model *m, const struct call *call)
{
	const int *arg = call->step.arg;
	int conn = -1;
	struct conn *c;
	struct message *messages[2];

	for (int i = 0; i < MAX_CONNS && conn < 0; i++)
		conn = m->conn[i].used ? -1 : i;
	c = &m->conn[conn];
	for (int h = 0; h < 2; h++)
		messages[h] = c->half[h].messages;
	*c = (struct conn){ .used = true,
			    .id = call->request,
			    .sp_handle = m->sp[arg[1]].handle,
			    .qual = m->sp[arg[1]].qual,
			    .sp_evd = m->sp[arg[1]].evd,
			    .sp_side = (int)model_side(m, arg[1]),
			    .short_time = arg[2] != 0,
			    .private_size = { call->private_size, 0 } };
	for (int h = 0; h < 2; h++)
		c->half[h] = (struct half){ .ep = -1, .messages = messages[h] };
	m->possible[c->id % 65536] = 0;
	start_half(m, c, 0, arg[0]);
}

static void answered(struct model *m, const struct call *call)
{
	struct conn *c = conn_of_request(m, call->request);
	const int *arg = call->step.arg;

	if (!c)
		return;
	c->private_size[1] = call->private_size;
	if (call->step.op == STEP_REJECT) {
		c->rejected = true;
		model_conn_release(m, (int)(c - m->conn));
	} else if (call->step.op == STEP_ACCEPT) {
		c->accepted = true;
		start_half(m, c, 1, arg[1]);
	} else {
		c->request_seen = false;
		c->sp_handle = m->sp[arg[1]].handle;
		c->qual = m->sp[arg[1]].qual;
		c->sp_evd = m->sp[arg[1]].evd;
	}
}

static void sp_done(struct model *m, const struct call *call, const struct result *result)
{
	struct model_sp *sp = &m->sp[call->step.arg[0]];

	if (call->step.op == STEP_SP_CREATE) {
		*sp = (struct model_sp){ .live = true,
					 .handle = result->value[0],
					 .qual = result->value[1],
					 .evd = call->step.arg[1] };
		return;
	}
	sp->live = false;
	for (int i = 0; i < MAX_CONNS; i++)
		if (m->conn[i].used && m->conn[i].sp_handle == sp->handle &&
		    m->conn[i].qual == sp->qual && !m->conn[i].request_seen)
			m->conn[i].refused = true;
}

static void query_done(struct model *m, const struct call *call, const struct result *result)
{
	struct model_ep *ep = &m->ep[call->step.arg[0]];
	uint32_t states = model_ep_states(m, ep), state = BIT(result->value[0]);
	struct conn *c = model_conn(m, ep);
	char may[64];

	if (!(state & states)) {
		print_states(states, may, sizeof(may));
		model_wrong(m, "EP-129, EVT-24: ep %d is in state %d; possible are %s",
			    call->step.arg[0], (int)result->value[0], may);
	}
	if (c)
		raise_rank(&c->half[ep->half], state);
	states = model_ep_states(m, ep);
	if (!(BIT(result->value[3]) & states))
		model_wrong(m, "EP-129: ep %d went from state %d to %d", call->step.arg[0],
			    (int)result->value[0], (int)result->value[3]);
	if (!result->value[1] && !ep->recv.count && ep->srq < 0)
		model_wrong(m, "EP-103: ep %d has no receive and recv_idle is false",
			    call->step.arg[0]);
	if (!result->value[2] && !ep->request.count)
		model_wrong(m, "EP-103: ep %d has no request and request_idle is false",
			    call->step.arg[0]);
	if (result->value[1] && !c && ep->recv.count)
		model_wrong(m,
			    "EP-103, FL-10: ep %d is unconnected with %u receives and recv_idle "
			    "is true",
			    call->step.arg[0], ep->recv.count);
}

/* Which results the possible states allow; false: wrong, and said. */
static bool judge(struct model *m, const struct call *call, const struct result *result,
		  uint32_t good, uint32_t states)
{
	bool ok = result->rc == DAT_SUCCESS;
	char may[64];

	if (ok ? states & good : DAT_GET_TYPE(result->rc) == DAT_INVALID_STATE && states & ~good)
		return true;
	print_states(states, may, sizeof(may));
	model_wrong(m, "EP-129: %s of %d: 0x%x; possible states are %s", step_name(call->step.op),
		    call->step.arg[0], result->rc, may);
	return false;
}

static void ep_done(struct model *m, const struct call *call, const struct result *result)
{
	const int *arg = call->step.arg;
	struct model_ep *ep = &m->ep[arg[0]];
	uint32_t states = model_ep_states(m, ep);
	struct conn *c = model_conn(m, ep);

	switch (call->step.op) {
	case STEP_EP_RESET:
		if (judge(m, call, result, S_U | S_D, states) && c && result->rc == DAT_SUCCESS)
			part(m, ep, arg[0], false);
		break;
	case STEP_DISCONNECT:
		if (judge(m, call, result, ~(uint32_t)S_U, states) && c) {
			struct half *x = &c->half[ep->half];

			raise_rank(x, S_DP);
			if (!arg[1] || !x->disconnected)
				x->disconnected = arg[1] ? 2 : 1;
		}
		break;
	default:
		if (judge(m, call, result, ~0U, states) && result->rc == DAT_SUCCESS) {
			part(m, ep, arg[0], true);
			if (ep->srq >= 0)
				m->srq[ep->srq].users--;
			ep->live = false;
		}
		break;
	}
}

void conn_done(struct model *m, const struct call *call, const struct result *result)
{
	enum step_op op = call->step.op;

	if (op == STEP_EP_RESET || op == STEP_DISCONNECT || op == STEP_EP_FREE) {
		ep_done(m, call, result);
		return;
	}
	if (op == STEP_HANDOFF && (DAT_GET_TYPE(result->rc) == DAT_NOT_IMPLEMENTED ||
				   DAT_GET_TYPE(result->rc) == DAT_MODEL_NOT_SUPPORTED))
		return; /* CR-23 */
	if (result->rc != DAT_SUCCESS)
		model_wrong(m, "%s of %d: 0x%x", step_name(op), call->step.arg[0], result->rc);
	else if (op == STEP_EP_CREATE)
		created(m, call->step.arg, result);
	else if (op == STEP_EP_QUERY)
		query_done(m, call, result);
	else if (op == STEP_CONNECT)
		connecting(m, call);
	else if (op == STEP_SP_CREATE || op == STEP_SP_FREE)
		sp_done(m, call, result);
	else
		answered(m, call);
}

/* ---- Events ---- */

void conn_request(struct model *m, const struct seen *seen, uint32_t side)
{
	struct conn *c = conn_of_request(m, seen->request);

	if (seen->status != DAT_SUCCESS) {
		model_wrong(m, "CR-1: dat_cr_query of a new request: 0x%x", seen->status);
		return;
	}
	if (!c && m->possible[seen->request % 65536]) {
		m->possible[seen->request % 65536] = 0;
		m->orphan[m->orphans++] = seen->request;
		m->orphan_side = side;
		return;
	}
	if (!c || c->request_seen || (int)seen->evd != c->sp_evd || (int)side != c->sp_side) {
		model_wrong(m, "PSP-1: connection request %u on evd %u from nowhere", seen->request,
			    seen->evd);
		return;
	}
	if (seen->handle != c->sp_handle || seen->cookie != c->qual)
		model_wrong(m, "EV-2: request %u names another service point", seen->request);
	if (seen->key)
		model_wrong(m, "PD-7: request %u is told to be truncated", seen->request);
	check_private(m, seen, c->id, 0, c->private_size[0]);
	c->request_seen = true;
}

static bool legal(const struct conn *c, int half, uint32_t number)
{
	const struct half *x = &c->half[half], *y = &c->half[!half];

	if (x->phase == PHASE_ENDED)
		return false;
	if (x->phase == PHASE_CONNECTED)
		return (number == DAT_CONNECTION_EVENT_DISCONNECTED &&
			(x->disconnected || model_may_end(c, half))) ||
		       (number == DAT_CONNECTION_EVENT_BROKEN && c->fault);
	switch (number) {
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		return c->accepted && x->rank <= RANK_D;
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		return !half && c->rejected;
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		return !half &&
		       (c->refused || c->fault || (c->accepted && (y->disconnected || y->gone)));
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		return !half && c->short_time;
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
		return half && (c->short_time || model_may_end(c, half));
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		return x->disconnected;
	default:
		return false;
	}
}

static const char *event_name(uint32_t number)
{
	static const char *const names[] = { "ESTABLISHED",	  "PEER_REJECTED",
					     "NON_PEER_REJECTED", "ACCEPT_COMPLETION_ERROR",
					     "DISCONNECTED",	  "BROKEN",
					     "TIMED_OUT",	  "UNREACHABLE" };

	return names[number - DAT_CONNECTION_EVENT_ESTABLISHED];
}

static void told(struct model *m, struct conn *c, int half, const struct seen *seen)
{
	struct half *x = &c->half[half];
	bool accepted = seen->number == DAT_CONNECTION_EVENT_ESTABLISHED && !half;

	/* Of an endpoint that was freed or reset the data are gone (EVT-22). */
	if (!x->gone && !seen->unread)
		check_private(m, seen, c->id, 1,
			      accepted || seen->number == DAT_CONNECTION_EVENT_PEER_REJECTED
				      ? c->private_size[1]
				      : 0);

	if (seen->number == DAT_CONNECTION_EVENT_ESTABLISHED) {
		x->phase = PHASE_CONNECTED;
		raise_rank(x, S_C);
		return;
	}
	x->phase = PHASE_ENDED;
	raise_rank(x, S_D);
}

void conn_event(struct model *m, const struct seen *seen, uint32_t side)
{
	struct conn *c;
	int half = 0, index = -1;

	(void)side;
	for (int i = 0; i < MAX_GHOSTS; i++) {
		struct ghost *ghost = &m->ghost[i];

		if (!ghost->used || ghost->handle != seen->handle ||
		    ghost->connect_evd != (int)seen->evd ||
		    !legal(&m->conn[ghost->conn], ghost->half, seen->number))
			continue;
		told(m, &m->conn[ghost->conn], ghost->half, seen);
		return;
	}
	for (int i = 0; i < MAX_EPS && index < 0; i++)
		if (m->ep[i].live && m->ep[i].handle == seen->handle &&
		    m->ep[i].connect_evd == (int)seen->evd)
			index = i;
	c = index < 0 ? NULL : model_conn(m, &m->ep[index]);
	if (c)
		half = m->ep[index].half;
	if (!c || !legal(c, half, seen->number)) {
		model_wrong(m,
			    "EP-151, EP-152: %s on evd %u for ep %d (%s, phase %d, called "
			    "disconnect %d; peer phase %d, disconnect %d, gone %d)",
			    event_name(seen->number), seen->evd, index,
			    !c	   ? "no connection"
			    : half ? "passive"
				   : "active",
			    c ? (int)c->half[half].phase : -1, c ? c->half[half].disconnected : 0,
			    c ? (int)c->half[!half].phase : -1, c ? c->half[!half].disconnected : 0,
			    c ? c->half[!half].gone : 0);
		return;
	}
	told(m, c, half, seen);
}

/* ---- What must still happen ---- */

/* A Send of this half waits, or may wait, for a receive that nobody posted. */
static bool stuck(const struct model *m, const struct conn *c, int half)
{
	const struct half *x = &c->half[half], *y = &c->half[!half];

	if (y->ep < 0 || x->ep < 0)
		return false;
	if (m->ep[y->ep].srq >= 0)
		return x->sent > y->received;
	return x->sent > y->received + m->ep[y->ep].recv.count;
}

static bool outcome_owed(const struct model *m, const struct conn *c, int half)
{
	const struct half *x = &c->half[half], *y = &c->half[!half];

	if (x->phase == PHASE_ENDED || x->ep < 0)
		return false;
	if (x->disconnected == 1 || y->disconnected == 1)
		return true;
	if (x->phase == PHASE_START)
		return half || c->accepted || c->rejected || c->short_time || x->disconnected;
	if (y->phase == PHASE_ENDED || y->gone)
		return true;
	return (x->disconnected && !stuck(m, c, half)) ||
	       (y->disconnected && !stuck(m, c, !half) && !stuck(m, c, half));
}

bool conn_owes(const struct model *m, char *what, size_t size)
{
	for (int i = 0; i < MAX_CONNS; i++) {
		const struct conn *c = &m->conn[i];

		if (!c->used)
			continue;
		if (!c->request_seen && !c->refused && !c->half[0].disconnected &&
		    c->half[0].phase == PHASE_START && c->half[0].ep >= 0) {
			snprintf(what, size, "PSP-1: request %u of ep %d on evd %d", c->id,
				 c->half[0].ep, c->sp_evd);
			return true;
		}
		for (int half = 0; half < 2; half++)
			if (outcome_owed(m, c, half)) {
				snprintf(what, size,
					 "EP-151, EP-152: an event for ep %d on evd %d (%s, phase "
					 "%d, "
					 "disconnect %d; peer ep %d, phase %d, disconnect %d)",
					 c->half[half].ep, c->half[half].evd,
					 half ? "passive" : "active", c->half[half].phase,
					 c->half[half].disconnected, c->half[!half].ep,
					 c->half[!half].phase, c->half[!half].disconnected);
				return true;
			}
	}
	return false;
}
