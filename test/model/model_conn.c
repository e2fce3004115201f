/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The model: endpoints, service points and connections (doc/spec, file 02). */
#include <stdlib.h>
#include <string.h>

#include "test/model/model_state.h"

/* ---- Connections come and go ---- */

struct conn *conn_of_request(struct model *m, uint32_t id)
{
	for (int i = 0; i < MAX_CONNS; i++)
		if (m->conn[i].used && m->conn[i].id == id)
			return &m->conn[i];
	return NULL;
}

void conn_private_data(uint32_t id, uint32_t who, uint32_t size, uint8_t *out)
{
	for (uint32_t i = 0; i < size; i++)
		out[i] = (uint8_t)(id * 31 + who * 7 + i);
	memcpy(out, &id, sizeof(id));
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
	m->evd[c->sp_evd].orphans += !c->request_seen;
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
	conn_private_data(call->request, 0, call->private_size, call->private_data);
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
	conn_private_data(c->id, 1, call->private_size, call->private_data);
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

/* Before the call: what comes of it may be there when it returns. */
static bool prepare_end(struct model *m, const struct call *call)
{
	const struct model_ep *ep = &m->ep[call->step.arg[0]];
	const struct conn *c = model_conn(m, ep);

	m->reads_end |= ep->live && c && c->half[ep->half].reads;
	return ep->live && (call->step.op == STEP_DISCONNECT || ghost_place(m));
}

bool conn_prepare(struct model *m, struct call *call)
{
	const int *arg = call->step.arg;

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
	case STEP_DISCONNECT:
		return prepare_end(m, call);
	case STEP_CONNECT:
		return prepare_connect(m, call);
	case STEP_ACCEPT:
	case STEP_REJECT:
	case STEP_HANDOFF:
		return prepare_answer(m, call);
	default:
		return m->ep[arg[0]].live;
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
		model_print_states(states, may, sizeof(may));
		model_wrong(m, "EP-129, EVT-24: ep %d is in state %d; possible are %s",
			    call->step.arg[0], (int)result->value[0], may);
	}
	if (c)
		model_raise(&c->half[ep->half], state);
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
	model_print_states(states, may, sizeof(may));
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

	if (c && (call->step.op == STEP_EP_FREE || !arg[1]))
		c->half[ep->half].crowded |= model_unreceived(c, !ep->half) > KEPT_BYTES;
	switch (call->step.op) {
	case STEP_EP_RESET:
		if (judge(m, call, result, S_U | S_D, states) && c && result->rc == DAT_SUCCESS)
			part(m, ep, arg[0], false);
		break;
	case STEP_DISCONNECT:
		if (judge(m, call, result, ~(uint32_t)S_U, states) && c) {
			struct half *x = &c->half[ep->half];

			model_raise(x, S_DP);
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
