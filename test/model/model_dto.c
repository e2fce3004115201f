/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The model: transfers, their order, their bytes (doc/spec, files 04 and 05). */
#include "test/model/model.h"

#include <string.h>

#define BIT(state) (1U << (state))
#define CANARY	   0xa5
#define S_OPEN	   (BIT(DAT_EP_STATE_CONNECTED) | BIT(DAT_EP_STATE_DISCONNECTED))

/* ---- Posts ---- */

bool buffer_prepare(struct model *m, struct call *call, uint32_t length, int fill)
{
	int buffer = model_buffer_take(m, call->side, length);
	uint8_t *at;

	if (buffer < 0)
		return false;
	at = model_buffer(m, call->side, buffer);
	if (fill)
		model_fill(at, call->cookie, length);
	else
		memset(at, CANARY, length);
	call->at = (uintptr_t)at;
	call->length = length;
	call->flags |= (uint32_t)(buffer + 1) << 16; /* for dto_done; exec masks it out */
	return true;
}

/* Of a Receive or a Send. */
static uint32_t segments_most(const struct model *m)
{
	uint32_t most = m->facts[0].segments;

	return most < MAX_SEGMENTS ? most : MAX_SEGMENTS;
}

static bool prepare_recv(struct model *m, struct call *call)
{
	const int *arg = call->step.arg;
	struct model_ep *ep = &m->ep[arg[0]];
	const struct conn *c = model_conn(m, ep);
	uint32_t length = (uint32_t)arg[1], ordinal;
	const struct half *peer;

	if (!ep->live || ep->srq >= 0 || ep->recv.count >= ep->max_recv ||
	    ep->recv.count >= MAX_QUEUE - 1 ||
	    model_load(m, ep->recv_evd) >= m->evd[ep->recv_evd].qlen)
		return false;
	/* A message that is on its way, or being sent at the same time, must fit. */
	if (m->slack && length < SMALL_BYTES)
		length = SMALL_BYTES;
	if (c) {
		peer = &c->half[!ep->half];
		ordinal = c->half[ep->half].received + ep->recv.count;
		if (ordinal < peer->sent &&
		    peer->messages[ordinal % MAX_QUEUE].op != STEP_WRITE_IMMED &&
		    peer->messages[ordinal % MAX_QUEUE].length > length)
			length = peer->messages[ordinal % MAX_QUEUE].length;
	}
	call->cookie = model_cookie(m, COOKIE_RECV, ep, arg[0]);
	call->segments = 1 + (uint32_t)arg[2] % segments_most(m);
	return buffer_prepare(m, call, length, false);
}

static bool prepare_srq_recv(struct model *m, struct call *call)
{
	struct model_srq *srq = &m->srq[call->step.arg[0]];

	if (!srq->live || srq->count >= srq->max || srq->count >= MAX_QUEUE - 1)
		return false;
	for (int i = 0; i < MAX_EPS; i++)
		if (m->ep[i].live && m->ep[i].srq == call->step.arg[0] &&
		    model_load(m, m->ep[i].recv_evd) >= m->evd[m->ep[i].recv_evd].qlen)
			return false;
	call->cookie = model_cookie(m, COOKIE_SRQ, NULL, call->step.arg[0]);
	call->segments = 1 + (uint32_t)call->cookie % segments_most(m);
	return buffer_prepare(m, call, SMALL_BYTES, false);
}

/* What all requests need. */
/* Whether what it sends may break the attempt. */
static bool too_early(struct model *m, const struct model_ep *ep)
{
	const struct conn *c = model_conn(m, ep);

	return c && m->facts[0].connecting_first && ep->half && c->half[0].phase == PHASE_START;
}

bool request_prepare(struct model *m, struct call *call)
{
	struct model_ep *ep = &m->ep[call->step.arg[0]];

	if (!ep->live || too_early(m, ep) || ep->request.count >= ep->max_request ||
	    ep->request.count >= MAX_QUEUE - 1 ||
	    model_load(m, ep->request_evd) >= m->evd[ep->request_evd].qlen)
		return false;
	call->cookie = model_cookie(m, COOKIE_REQUEST, ep, call->step.arg[0]);
	return true;
}

/* The longest message that the receive it will meet can take; -1: it must not be sent now. */
static int message_limit(const struct model *m, const struct model_ep *ep)
{
	const struct conn *c = ep->conn < 0 ? NULL : &m->conn[ep->conn];
	const struct half *x, *y;
	const struct model_ep *peer;

	if (!c)
		return SMALL_BYTES;
	x = &c->half[ep->half];
	y = &c->half[!ep->half];
	if (x->sent - y->received >= MAX_QUEUE - 2)
		return -1;
	if (y->ep < 0)
		return m->facts[0].receives_first ? -1 : SMALL_BYTES;
	peer = &m->ep[y->ep];
	if (peer->srq >= 0 || (m->slack && !m->facts[0].receives_first))
		return m->facts[0].receives_first ? -1 : SMALL_BYTES;
	if (x->sent < y->received + peer->recv.count)
		return (int)queue_at(&peer->recv, x->sent - y->received)->length;
	return m->facts[0].receives_first ? -1 : BIG_BYTES;
}

static bool prepare_send(struct model *m, struct call *call)
{
	const int *arg = call->step.arg;
	int limit, length = arg[1];

	if (!request_prepare(m, call))
		return false;
	limit = message_limit(m, &m->ep[arg[0]]);
	if (limit < 0)
		return false;
	call->segments = 1 + (uint32_t)arg[2] % segments_most(m);
	call->flags = (uint32_t)arg[3] &
		      (DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG |
		       DAT_COMPLETION_BARRIER_FENCE_FLAG);
	return buffer_prepare(m, call, (uint32_t)(length < limit ? length : limit), true);
}

/* The window a peer's operation goes through, if the step names one that will do. */
static bool remote_key(struct model *m, struct call *call, const struct conn *c, int half, int cell,
		       int rmr)
{
	struct model_rmr *window = rmr > 0 && rmr <= MAX_RMRS ? &m->rmr[rmr - 1] : NULL;
	uint32_t side = model_side(m, cell);

	call->remote_at = (uintptr_t)model_cell(m, cell);
	call->remote_key = m->facts[side].cell_key;
	call->request = 0;
	if (!window)
		return true;
	if (!window->live || !window->bound || window->binding || window->dying ||
	    window->unknown || window->cell != cell)
		return false;
	if (window->ep_scope &&
	    (window->ep != c->half[!half].ep || window->ep_life != m->ep[window->ep].life))
		return false;
	/* What the operation is has to be among the rights that the window grants. */
	if (window->rights && window->rights != (call->step.op == STEP_READ ? 1 : 2))
		return false;
	call->remote_key = window->key;
	call->request = (uint32_t)rmr;
	return true;
}

static bool prepare_rdma(struct model *m, struct call *call)
{
	const int *arg = call->step.arg;
	struct model_ep *ep = &m->ep[arg[0]];
	struct cell *cell = &m->cell[arg[1]];
	uint32_t length = (uint32_t)arg[2] % (CELL_BYTES + 1);
	struct conn *c = model_conn(m, ep);
	uint32_t most;
	bool write = call->step.op != STEP_READ, immediate = call->step.op == STEP_WRITE_IMMED;

	if (!c || c->half[!ep->half].ep < 0 ||
	    (uint32_t)c->half[!ep->half].side != model_side(m, arg[1]) ||
	    model_is_counter(m, arg[1]) || !request_prepare(m, call) ||
	    !remote_key(m, call, c, ep->half, arg[1], immediate ? 0 : arg[4]) ||
	    (immediate && (!m->facts[0].has_immediate || message_limit(m, ep) < 0)))
		return false;
	cell_look(m, cell);
	if (write && (cell->scribbled ||
		      (cell->conn >= 0 && (cell->conn != ep->conn || cell->half != ep->half)) ||
		      (cell->conn >= 0 && cell->rmr >= 0)))
		return false;
	most = write ? m->facts[0].write_segments : m->facts[0].read_segments;
	most = most && most < MAX_SEGMENTS ? most : MAX_SEGMENTS;
	call->segments = 1 + (uint32_t)call->cookie % most;
	call->flags = (uint32_t)arg[3] &
		      (DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG);
	return buffer_prepare(m, call, length, write);
}

/* How many requests more there may be. */
static uint32_t request_room(const struct model *m, const struct model_ep *ep)
{
	const uint32_t limit = ep->max_request < MAX_QUEUE ? ep->max_request : MAX_QUEUE - 1;
	uint32_t queue = limit - ep->request.count;
	uint32_t events = m->evd[ep->request_evd].qlen - model_load(m, ep->request_evd);

	/* Others may be made at the same time. */
	events = m->slack ? events * 2 / m->slack : events;
	return queue < events ? queue : events ? events : 1;
}

/* Several are posted at once, by the thread that has the step. */
static bool prepare_atomic(struct model *m, struct call *call)
{
	const int *arg = call->step.arg;
	struct model_ep *ep = &m->ep[arg[0]];
	struct conn *c = model_conn(m, ep);
	uint32_t room;

	if (!c || c->half[!ep->half].ep < 0 || !m->facts[0].has_atomic ||
	    (uint32_t)c->half[!ep->half].side != model_side(m, arg[1]) ||
	    !model_is_counter(m, arg[1]) || !request_prepare(m, call))
		return false;
	remote_key(m, call, c, ep->half, arg[1], 0);
	room = request_room(m, ep);
	room = room < SMALL_BYTES / 8 ? room : SMALL_BYTES / 8;
	call->repeat = arg[4] > 1 ? (uint32_t)arg[4] : 1;
	call->repeat = call->repeat < room ? call->repeat : room;
	m->serial += call->repeat;
	call->segments = 1;
	call->flags = (uint32_t)arg[3] & DAT_COMPLETION_SUPPRESS_FLAG;
	if (!buffer_prepare(m, call, 8 * call->repeat, false))
		return false;
	call->length = 8;
	return true;
}

/* ---- Windows ---- */

static bool prepare_rmr(struct model *m, struct call *call)
{
	const int *arg = call->step.arg;
	struct model_rmr *rmr = &m->rmr[arg[0]];
	const struct model_ep *ep;
	uint32_t scopes = m->facts[call->side].has_rmr;

	if (call->step.op == STEP_RMR_CREATE)
		return !rmr->live && scopes &&
		       (scopes - 1 == DAT_RMR_SCOPE_ANY ||
			scopes - 1 == (arg[1] ? DAT_RMR_SCOPE_EP : DAT_RMR_SCOPE_PZ));
	for (int i = 0; i < CELLS * (int)m->sides; i++)
		cell_look(m, &m->cell[i]);
	if (!rmr->live || window_needed(m, arg[0]) || rmr->binding)
		return false;
	/* On its way to be invalidated: by a message that will not come if its endpoint is gone. */
	if (rmr->dying && m->ep[rmr->ep].live && m->ep[rmr->ep].life == rmr->ep_life)
		return false;
	if (call->step.op == STEP_RMR_FREE)
		return true;
	ep = &m->ep[arg[2]];
	if (rmr->dying || rmr->unknown || !ep->live || ep->conn < 0 ||
	    model_side(m, arg[1]) != call->side || model_side(m, arg[2]) != call->side ||
	    (rmr->bound && rmr->ep_scope && rmr->ep != arg[2]) ||
	    ep->request.count >= ep->max_request ||
	    model_load(m, ep->request_evd) >= m->evd[ep->request_evd].qlen)
		return false;
	call->cookie = model_cookie(m, COOKIE_REQUEST, ep, arg[2]);
	call->at = (uintptr_t)model_cell(m, arg[1]);
	call->length = CELL_BYTES;
	return true;
}

static bool prepare_invalidate(struct model *m, struct call *call)
{
	const int *arg = call->step.arg;
	struct model_ep *ep = &m->ep[arg[0]];
	struct model_rmr *rmr = &m->rmr[arg[1]];
	struct conn *c = model_conn(m, ep);
	int limit;

	if (!c || c->half[!ep->half].ep < 0 || !rmr->live || !rmr->ep_scope || !rmr->bound ||
	    rmr->binding || rmr->dying || rmr->unknown || rmr->users ||
	    rmr->ep != c->half[!ep->half].ep || rmr->ep_life != m->ep[rmr->ep].life ||
	    !request_prepare(m, call))
		return false;
	limit = message_limit(m, ep);
	call->segments = 1;
	call->remote_key = rmr->key;
	return limit >= 0 &&
	       buffer_prepare(m, call, (uint32_t)(arg[2] < limit ? arg[2] : limit), true);
}

static bool prepare_memory(struct model *m, struct call *call)
{
	int index = call->step.arg[0];
	struct cell *cell = &m->cell[index];

	if (index >= CELLS * (int)m->sides)
		return false;
	cell_look(m, cell);
	if (cell->conn >= 0)
		return false;
	if (model_is_counter(m, index)) {
		if (call->step.op == STEP_SCRIBBLE)
			return false;
		return counter_fill(m, index);
	}
	if (call->step.op == STEP_SCRIBBLE) {
		call->step.arg[0] = index / (int)m->sides;
		call->request = (uint32_t)index;
		return cell->scribbled != (call->step.arg[1] != 0);
	}
	if (cell->scribbled)
		return false;
	cells_read_any(m, index, NULL);
	cell_fill(m, index);
	return true;
}

bool dto_prepare(struct model *m, struct call *call)
{
	switch (call->step.op) {
	case STEP_RECV:
		return prepare_recv(m, call);
	case STEP_SRQ_RECV:
		return prepare_srq_recv(m, call);
	case STEP_SEND:
		return prepare_send(m, call);
	case STEP_WRITE:
	case STEP_READ:
	case STEP_WRITE_IMMED:
		return prepare_rdma(m, call);
	case STEP_FETCH_ADD:
		return prepare_atomic(m, call);
	case STEP_SEND_INVALIDATE:
		return prepare_invalidate(m, call);
	case STEP_TRESPASS:
		return trespass_prepare(m, call);
	case STEP_RMR_CREATE:
	case STEP_RMR_BIND:
	case STEP_RMR_FREE:
		return prepare_rmr(m, call);
	case STEP_SCRIBBLE:
	case STEP_FILL:
		return prepare_memory(m, call);
	default:
		return false;
	}
}

/* ---- Results of posts ---- */

static struct entry *push(struct queue *queue, const struct call *call)
{
	struct entry *entry = queue_at(queue, queue->count++);

	*entry = (struct entry){ .cookie = call->cookie,
				 .op = call->step.op,
				 .length = call->length,
				 .buffer = (int16_t)((call->flags >> 16) - 1),
				 .cell = -1,
				 .rmr = -1,
				 .suppressed = call->flags & DAT_COMPLETION_SUPPRESS_FLAG };
	return entry;
}

static void sent(struct model *m, struct model_ep *ep, struct entry *entry, const struct call *call)
{
	struct conn *c = model_conn(m, ep);
	struct half *x;

	if (!c)
		return;
	x = &c->half[ep->half];
	entry->ordinal = x->sent;
	x->messages[x->sent++ % MAX_QUEUE] =
		(struct message){ .length = call->length,
				  .pattern = call->cookie,
				  .op = (uint8_t)call->step.op,
				  .key = call->step.op == STEP_WRITE_IMMED
						 ? (uint32_t)call->step.arg[4]
						 : call->remote_key };
	if (call->step.op == STEP_SEND_INVALIDATE) {
		entry->rmr = (int16_t)call->step.arg[1];
		m->rmr[call->step.arg[1]].dying = true;
	}
}

static void rdma_posted(struct model *m, struct model_ep *ep, struct entry *entry,
			const struct call *call)
{
	const int *arg = call->step.arg;
	struct cell *cell = &m->cell[arg[1]];
	struct conn *c = model_conn(m, ep);
	bool fenced = call->flags & DAT_COMPLETION_BARRIER_FENCE_FLAG;

	entry->ordinal = c->half[ep->half].sent;
	entry->cell = (int16_t)arg[1];
	entry->rmr = (int16_t)((int)call->request - 1);
	if (entry->rmr >= 0)
		m->rmr[entry->rmr].users++;
	if (call->step.op == STEP_READ) {
		c->half[ep->half].reads = true;
		if (!cell->scribbled &&
		    (cell->conn < 0 || (cell->conn == ep->conn && cell->half == ep->half)))
			entry->expect = cell->pattern;
		entry->expect_length = cell->length < call->length ? cell->length : call->length;
		return;
	}
	entry->cell = -1; /* not a read of it */
	cells_read_any(m, arg[1], fenced ? &ep->request : NULL);
	if (call->length) {
		cell->pattern = call->cookie;
		cell->length = call->length;
	}
	cell->conn = ep->conn;
	cell->conn_id = c->id;
	cell->half = ep->half;
	cell->after = c->half[ep->half].sent;
	cell->rmr = entry->rmr;
	entry->rmr = -1; /* the cell has it now */
}

static void atomic_posted(struct model *m, struct model_ep *ep, struct entry *entry,
			  const struct call *call)
{
	const int *arg = call->step.arg;
	struct cell *cell = &m->cell[arg[1]];
	struct conn *c = model_conn(m, ep);

	entry->buffer = -1;
	entry->cell = (int16_t)arg[1];
	entry->ordinal = c->half[ep->half].sent;
	cell_look(m, cell);
	/* With several at once nobody knows which is first. */
	if (cell->conn >= 0 && (cell->conn != ep->conn || cell->half != ep->half)) {
		cells_read_any(m, arg[1], &ep->request);
		cell->length = 0;
	}
	entry->expect_length = cell->length;
	entry->expect = cell->pattern;
	cell->pattern += (uint64_t)arg[2];
	counter_added(cell, (uint64_t)arg[2]);
	cell->conn = ep->conn;
	cell->conn_id = c->id;
	cell->half = ep->half;
	cell->after = ~0U;
}

/* What the last of several finds is known, and the buffer is theirs until then. */
static void atomics_posted(struct model *m, struct model_ep *ep, struct entry *entry,
			   const struct call *call, uint32_t count)
{
	const int16_t buffer = entry->buffer;

	atomic_posted(m, ep, entry, call);
	for (uint32_t i = 1; i < count; i++) {
		entry = push(&ep->request, call);
		entry->cookie += i;
		atomic_posted(m, ep, entry, call);
	}
	entry->buffer = buffer;
	entry->value = count - 1;
}

static void request_done(struct model *m, const struct call *call, const struct result *result,
			 struct model_ep *ep)
{
	uint32_t states = model_ep_states(m, ep);
	struct entry *entry;

	if (result->rc != DAT_SUCCESS &&
	    (DAT_GET_TYPE(result->rc) != DAT_INVALID_STATE || !(states & ~S_OPEN)))
		model_wrong(m, "DTO-20: %s on ep %d: 0x%x; possible states 0x%x, %u requests of %u",
			    step_name(call->step.op), call->step.arg[0], result->rc, states,
			    ep->request.count, ep->max_request);
	if (!result->done) {
		model_buffer_free(m, call->side, (int)(call->flags >> 16) - 1);
		return;
	}
	if (!(states & S_OPEN))
		model_wrong(m, "DTO-20: %s on ep %d accepted; possible states 0x%x",
			    step_name(call->step.op), call->step.arg[0], states);
	entry = push(&ep->request, call);
	if (call->step.op == STEP_FETCH_ADD)
		atomics_posted(m, ep, entry, call, result->done);
	else if (call->step.op == STEP_TRESPASS)
		trespass_posted(m, model_conn(m, ep), entry, call);
	else if (call->step.op != STEP_SEND && call->step.op != STEP_SEND_INVALIDATE)
		rdma_posted(m, ep, entry, call);
	if (model_is_send(call->step.op))
		sent(m, ep, entry, call);
}

static void recv_done(struct model *m, const struct call *call, const struct result *result)
{
	struct model_ep *ep = &m->ep[call->step.arg[0]];
	struct conn *c = model_conn(m, ep);
	struct entry *entry;

	if (!result->done) {
		model_buffer_free(m, call->side, (int)(call->flags >> 16) - 1);
		model_wrong(m, "DTO-16, DTO-20: receive on ep %d, %u of %u: 0x%x",
			    call->step.arg[0], ep->recv.count, ep->max_recv, result->rc);
		return;
	}
	entry = push(&ep->recv, call);
	entry->early = !c || (!c->half[ep->half].disconnected && !model_may_end(c, ep->half));
}

static void srq_recv_done(struct model *m, const struct call *call, const struct result *result)
{
	struct model_srq *srq = &m->srq[call->step.arg[0]];
	struct queue end = { .entry = srq->entry, .count = srq->count };

	if (!result->done) {
		model_buffer_free(m, call->side, (int)(call->flags >> 16) - 1);
		model_wrong(m, "SRQ-10, SRQ-11: receive for srq %d, %u of %u: 0x%x",
			    call->step.arg[0], srq->count, srq->max, result->rc);
		return;
	}
	push(&end, call);
	srq->count = end.count;
}

static void bind_done(struct model *m, const struct call *call, const struct result *result)
{
	const int *arg = call->step.arg;
	struct model_rmr *rmr = &m->rmr[arg[0]];
	struct model_ep *ep = &m->ep[arg[2]];
	uint32_t states = model_ep_states(m, ep);
	struct entry *entry;

	if (result->rc != DAT_SUCCESS) {
		if (DAT_GET_TYPE(result->rc) != DAT_INVALID_STATE || !(states & ~S_OPEN))
			model_wrong(m,
				    "RMR-24: bind of rmr %d by ep %d: 0x%x; possible states 0x%x",
				    arg[0], arg[2], result->rc, states);
		return;
	}
	rmr->old_key = rmr->bound ? rmr->key : 0;
	rmr->old_cell = (uint32_t)rmr->cell;
	if (rmr->bound && result->value[0] == rmr->key)
		model_wrong(m, "RMR-8: rmr %d has the same context again", arg[0]);
	entry = push(&ep->request, call);
	entry->rmr = (int16_t)arg[0];
	entry->ordinal = ep->conn < 0 ? 0 : m->conn[ep->conn].half[ep->half].sent;
	rmr->binding = true;
	rmr->key = (uint32_t)result->value[0];
	rmr->cell = arg[1];
	rmr->rights = (uint32_t)arg[4];
	rmr->ep = arg[2];
	rmr->ep_life = ep->life;
}

static void rmr_done(struct model *m, const struct call *call, const struct result *result)
{
	struct model_rmr *rmr = &m->rmr[call->step.arg[0]];

	if (call->step.op == STEP_RMR_BIND) {
		bind_done(m, call, result);
		return;
	}
	if (result->rc != DAT_SUCCESS)
		model_wrong(m, "%s of rmr %d: 0x%x", step_name(call->step.op), call->step.arg[0],
			    result->rc);
	if (call->step.op == STEP_RMR_FREE && rmr->bound)
		key_dies(m, rmr, rmr->key, rmr->cell);
	*rmr = (struct model_rmr){ .live = call->step.op == STEP_RMR_CREATE,
				   .ep_scope = call->step.arg[1] != 0,
				   .handle = result->value[0] };
}

void dto_done(struct model *m, const struct call *call, const struct result *result)
{
	switch (call->step.op) {
	case STEP_RECV:
		recv_done(m, call, result);
		break;
	case STEP_SRQ_RECV:
		srq_recv_done(m, call, result);
		break;
	case STEP_RMR_CREATE:
	case STEP_RMR_BIND:
	case STEP_RMR_FREE:
		rmr_done(m, call, result);
		break;
	case STEP_SCRIBBLE:
		m->cell[call->request].scribbled = call->step.arg[1] != 0;
		m->cell[call->request].pattern = 0;
		cells_read_any(m, (int)call->request, NULL);
		break;
	case STEP_FILL:
		break;
	default:
		request_done(m, call, result, &m->ep[call->step.arg[0]]);
		break;
	}
}
