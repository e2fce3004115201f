/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The model: completions (doc/spec, files 03 and 05). */
#include "test/model/model.h"

#include <string.h>

#define CANARY 0xa5

/* Whose completion it is: of an endpoint that lives, or of one that was freed or reset. */
struct owner {
	struct model_ep *ep; /* null: a ghost's */
	struct queue *queue;
	struct conn *c; /* may be null */
	int conn, half, evd, index, srq;
	uint64_t handle;
};

static bool find_owner(struct model *m, uint64_t cookie, struct owner *owner)
{
	bool recv = cookie_kind(cookie) == COOKIE_RECV;
	uint32_t index = cookie_index(cookie), life = cookie_life(cookie);
	struct model_ep *ep = &m->ep[index % MAX_EPS];

	if (ep->live && (ep->life & 0xffff) == life) {
		*owner = (struct owner){ .ep = ep,
					 .queue = recv ? &ep->recv : &ep->request,
					 .c = model_conn(m, ep),
					 .conn = ep->conn,
					 .half = ep->half,
					 .evd = recv ? ep->recv_evd : ep->request_evd,
					 .handle = ep->handle };
		return true;
	}
	for (int i = 0; i < MAX_GHOSTS; i++) {
		struct ghost *ghost = &m->ghost[i];

		if (!ghost->used || ghost->index != index || (ghost->life & 0xffff) != life)
			continue;
		*owner = (struct owner){ .queue = recv ? &ghost->recv : &ghost->request,
					 .c = ghost->conn < 0 ? NULL : &m->conn[ghost->conn],
					 .conn = ghost->conn,
					 .half = ghost->half,
					 .evd = recv ? ghost->recv_evd : ghost->request_evd,
					 .handle = ghost->handle };
		return true;
	}
	return false;
}

/* A receive from a shared queue says only by its handle who took it. */
static bool find_taker(struct model *m, const struct seen *seen, int srq, struct owner *owner)
{
	for (int i = 0; i < MAX_GHOSTS; i++) {
		struct ghost *ghost = &m->ghost[i];

		if (!ghost->used || ghost->handle != seen->handle || ghost->srq != srq ||
		    ghost->recv_evd != (int)seen->evd || ghost->conn < 0)
			continue;
		*owner = (struct owner){ .c = &m->conn[ghost->conn],
					 .conn = ghost->conn,
					 .half = ghost->half,
					 .evd = ghost->recv_evd,
					 .handle = seen->handle };
		return true;
	}
	for (int i = 0; i < MAX_EPS; i++) {
		struct model_ep *ep = &m->ep[i];

		if (!ep->live || ep->handle != seen->handle || ep->srq != srq)
			continue;
		*owner = (struct owner){ .ep = ep,
					 .c = model_conn(m, ep),
					 .conn = ep->conn,
					 .half = ep->half,
					 .evd = ep->recv_evd,
					 .index = i,
					 .handle = ep->handle };
		return true;
	}
	return false;
}

/* What every completion must satisfy. */
static bool judge(struct model *m, const struct seen *seen, const struct owner *owner,
		  const struct entry *entry)
{
	const char *name = step_name(entry->op);
	const struct half *x;

	if ((int)seen->evd != owner->evd)
		model_wrong(m, "EVT-6: completion of %s on evd %u, not %d", name, seen->evd,
			    owner->evd);
	if (entry->op != STEP_RMR_BIND && seen->handle != owner->handle)
		model_wrong(m, "EVT-7: completion of %s names another endpoint", name);
	if (!owner->c) {
		model_wrong(m, "FL-10: %s of an unconnected endpoint completed with %u", name,
			    seen->status);
		return false;
	}
	x = &owner->c->half[owner->half];
	if (seen->status == DAT_DTO_SUCCESS) {
		if (x->phase == PHASE_ENDED && owner->evd == x->evd)
			model_wrong(m,
				    "FL-5: %s succeeded after the end of its connection, on the "
				    "same evd %d",
				    name, owner->evd);
		/* One that was freed meanwhile is not told any more (EP-115), and who sends before
		 * he has seen it may see that earlier. */
		if ((entry->op == STEP_RECV || entry->op == STEP_SRQ_RECV) && owner->ep &&
		    x->phase == PHASE_START && !owner->half && owner->evd == x->evd)
			model_wrong(m, "FL-14: %s succeeded before ESTABLISHED, on the same evd %d",
				    name, owner->evd);
	} else if (seen->status == DAT_DTO_ERR_FLUSHED ||
		   (entry->op == STEP_RMR_BIND && seen->status == DAT_RMR_OPERATION_FAILED)) {
		/* A bind that the end meets half way fails, and leaves its window unbound (RMR-25).
		 */
		if (owner->ep &&
		    !(model_ep_states(m, owner->ep) & (1U << DAT_EP_STATE_DISCONNECTED)))
			model_wrong(m, "DTO-74: %s of a connected endpoint flushed", name);
	} else if (!owner->c->fault && !(seen->status == DAT_DTO_ERR_TRANSPORT &&
					 model_may_reset(m, owner->c, owner->half))) {
		model_wrong(m, "DTO-84: %s completed with %u without a fault", name, seen->status);
	}
	return true;
}

/* What the peer was told to be sent is here before the flush (FL-13). */
static void judge_loss(struct model *m, const struct conn *c, int half)
{
	const struct half *x = &c->half[half], *y = &c->half[!half];

	if (!x->lost_early || x->disconnected || x->gone || c->fault || y->sent_ok <= x->received)
		return;
	/* Elsewhere a Send is over when the peer's device has it, and what that keeps may go. */
	if (y->disconnected != 2 && !m->facts[0].ordered)
		return;
	model_wrong(m,
		    "FL-13: %u Sends succeeded before the sender's disconnect and %u arrived, "
		    "where Receives were flushed",
		    y->sent_ok, x->received);
}

/* ---- Receives ---- */

static void judge_message(struct model *m, const struct seen *seen, const struct owner *owner,
			  const struct entry *entry, uint32_t side)
{
	struct half *x = &owner->c->half[owner->half], *y = &owner->c->half[!owner->half];
	const struct message *message = &y->messages[x->received % MAX_QUEUE];
	bool invalidated = message->op == STEP_SEND_INVALIDATE;
	bool immediate = message->op == STEP_WRITE_IMMED;
	uint32_t length = immediate ? 0 : message->length; /* of what is put into the buffer */
	const uint8_t *at;

	if (x->received >= y->sent) {
		model_wrong(m, "DTO-34: a message was received that nobody sent (%u)", y->sent);
		return;
	}
	if (seen->length != message->length)
		model_wrong(m, "DTO-65, EVT-10: message %u has %u bytes, not %u", x->received,
			    seen->length, message->length);
	if (seen->number !=
		    (immediate ? (uint32_t)DAT_IB_DTO_EVENT : (uint32_t)DAT_DTO_COMPLETION_EVENT) ||
	    seen->operation != (invalidated ? (uint32_t)DAT_DTO_RECEIVE_WITH_INVALIDATE
				: immediate ? (uint32_t)DAT_IB_DTO_RECV_IMMED
					    : (uint32_t)DAT_DTO_RECEIVE) ||
	    ((invalidated || immediate) && seen->key != message->key))
		model_wrong(m,
			    "EVT-11, EVT-12, IBX-50: message %u is told by event 0x%x as operation "
			    "%u, context 0x%x, not 0x%x",
			    x->received, seen->number, seen->operation, seen->key, message->key);
	at = entry->buffer < 0 ? NULL : model_buffer(m, side, entry->buffer);
	if (at && !model_filled(at, message->pattern, length))
		model_wrong(m, "DTO-5: message %u of %u bytes has other bytes than were sent",
			    x->received, length);
	for (uint32_t i = length; at && i < entry->length; i++)
		if (at[i] != CANARY) {
			model_wrong(m, "DTO-9: byte %u of a buffer was written by a message of %u",
				    i, length);
			break;
		}
	x->received++;
	cells_settle(m, owner->conn, !owner->half, x->received);
	for (int i = 0; invalidated && i < MAX_RMRS; i++)
		if (m->rmr[i].dying && m->rmr[i].key == message->key) {
			key_dies(m, &m->rmr[i], message->key, m->rmr[i].cell);
			m->rmr[i].dying = m->rmr[i].bound = false;
		}
}

static void receive_event(struct model *m, const struct seen *seen, uint32_t side)
{
	struct owner owner;
	struct entry entry;
	uint32_t i;

	if (!find_owner(m, seen->cookie, &owner)) {
		model_wrong(m, "DTO-2: completion %#llx from nowhere on evd %u",
			    (unsigned long long)seen->cookie, seen->evd);
		return;
	}
	for (i = 0; i < owner.queue->count; i++)
		if (queue_at(owner.queue, i)->cookie == seen->cookie)
			break;
	/* Of a former endpoint some may be missing. */
	if (i == owner.queue->count || (i && owner.ep)) {
		model_wrong(m, "DTO-2, DTO-65: receive %#llx completed with status %u, %s",
			    (unsigned long long)seen->cookie, seen->status,
			    i < owner.queue->count ? "before an earlier one" : "a second time");
		return;
	}
	entry = *queue_at(owner.queue, i);
	for (i++; i; i--)
		queue_pop(owner.queue);
	if (!judge(m, seen, &owner, &entry))
		return;
	if (seen->status == DAT_DTO_SUCCESS) {
		if (owner.queue->failed)
			model_wrong(m, "DTO-75: a receive succeeded after one was flushed");
		judge_message(m, seen, &owner, &entry, side);
	} else {
		owner.queue->failed = 1;
		if (entry.early && owner.ep) {
			owner.c->half[owner.half].lost_early = true;
			judge_loss(m, owner.c, owner.half);
		}
	}
	if (owner.ep)
		model_buffer_free(m, side, entry.buffer);
}

static void srq_event(struct model *m, const struct seen *seen, uint32_t side)
{
	struct model_srq *srq = &m->srq[cookie_index(seen->cookie) % MAX_SRQS];
	struct owner owner;
	struct entry entry;
	uint32_t i;

	for (i = 0; i < srq->count; i++)
		if (srq->entry[i].cookie == seen->cookie)
			break;
	if (!srq->live || i == srq->count || !find_taker(m, seen, (int)(srq - m->srq), &owner)) {
		model_wrong(m, "SRQ-13: completion %#llx from nowhere on evd %u",
			    (unsigned long long)seen->cookie, seen->evd);
		return;
	}
	entry = srq->entry[i];
	srq->entry[i] = srq->entry[--srq->count];
	if (judge(m, seen, &owner, &entry) && seen->status == DAT_DTO_SUCCESS)
		judge_message(m, seen, &owner, &entry, side);
	if (!owner.ep && srq->lost)
		srq->lost--;
	model_buffer_free(m, side, entry.buffer);
}

/* ---- Requests ---- */

static void bind_over(struct model *m, const struct entry *entry, uint32_t status)
{
	struct model_rmr *rmr = &m->rmr[entry->rmr];

	if (status == DAT_DTO_SUCCESS && rmr->old_key)
		key_dies(m, rmr, rmr->old_key, (int)rmr->old_cell);
	rmr->binding = false;
	rmr->bound = status == DAT_DTO_SUCCESS;
	rmr->unknown = status != DAT_DTO_SUCCESS;
}

/* A request is over; seen is null for one that was suppressed. */
static void request_over(struct model *m, const struct owner *owner, const struct entry *entry,
			 const struct seen *seen, uint32_t side)
{
	bool ok = !seen || seen->status == DAT_DTO_SUCCESS;
	struct half *x = &owner->c->half[owner->half];

	if (ok && model_is_send(entry->op)) {
		x->sent_ok++;
		judge_loss(m, owner->c, !owner->half);
	}
	if (!owner->ep)
		return; /* everything was let go with its endpoint */
	if (ok && entry->op == STEP_FETCH_ADD && entry->expect_length && entry->buffer >= 0 &&
	    memcmp(model_buffer(m, side, entry->buffer) + (size_t)8 * entry->value, &entry->expect,
		   8) != 0)
		model_wrong(m, "IBX-36: an atomic add to counter %d did not find %llu", entry->cell,
			    (unsigned long long)entry->expect);
	if (!ok && entry->op == STEP_FETCH_ADD)
		m->cell[entry->cell].length = 0;
	if (entry->op == STEP_FETCH_ADD)
		counter_over(&m->cell[entry->cell], ok);
	if (entry->op == STEP_TRESPASS)
		trespass_over(m, entry, ok);
	if (ok && entry->op == STEP_READ && entry->expect &&
	    !model_filled(model_buffer(m, side, entry->buffer), entry->expect,
			  entry->expect_length))
		model_wrong(m,
			    "DTO-5, DTO-68: a read of %u bytes of cell %d found others than are "
			    "there",
			    entry->expect_length, entry->cell);
	if (ok && entry->op == STEP_READ && entry->expect)
		cell_read(m, owner->conn, owner->half, entry);
	if (entry->op == STEP_RMR_BIND)
		bind_over(m, entry, seen ? seen->status : DAT_DTO_SUCCESS);
	else if (entry->rmr >= 0 && !ok)
		window_left(m, owner->c, owner->half, entry);
	else if (entry->op == STEP_READ && entry->rmr >= 0 && m->rmr[entry->rmr].users)
		m->rmr[entry->rmr].users--;
	model_buffer_free(m, side, entry->buffer);
}

static uint32_t operation(const struct entry *entry)
{
	switch (entry->op) {
	case STEP_WRITE:
		return DAT_DTO_RDMA_WRITE;
	case STEP_READ:
		return DAT_DTO_RDMA_READ;
	case STEP_TRESPASS:
		return entry->value ? DAT_DTO_RDMA_READ : DAT_DTO_RDMA_WRITE;
	case STEP_WRITE_IMMED:
		return DAT_IB_DTO_RDMA_WRITE_IMMED;
	case STEP_FETCH_ADD:
		return DAT_IB_DTO_FETCH_ADD;
	default:
		return DAT_DTO_SEND;
	}
}

static uint32_t event_number(const struct entry *entry)
{
	switch (entry->op) {
	case STEP_RMR_BIND:
		return DAT_RMR_BIND_COMPLETION_EVENT;
	case STEP_WRITE_IMMED:
	case STEP_FETCH_ADD:
		return DAT_IB_DTO_EVENT;
	default:
		return DAT_DTO_COMPLETION_EVENT;
	}
}

static void judge_request(struct model *m, const struct seen *seen, const struct entry *entry)
{
	bool bind = entry->op == STEP_RMR_BIND;

	if (seen->number != event_number(entry)) {
		model_wrong(m, "EVT-6, EVT-16: %s completed by event 0x%x", step_name(entry->op),
			    seen->number);
		return;
	}
	if (bind && seen->handle != m->rmr[entry->rmr].handle)
		model_wrong(m, "EVT-16: bind names another rmr than %d", entry->rmr);
	if (!bind && seen->operation != operation(entry))
		model_wrong(m, "EVT-11: %s completed as operation %u", step_name(entry->op),
			    seen->operation);
	if (!bind && seen->status == DAT_DTO_SUCCESS && seen->length != entry->length)
		model_wrong(m, "EVT-10: %s of %u bytes completed with %u", step_name(entry->op),
			    entry->length, seen->length);
	if (seen->status == DAT_DTO_SUCCESS && entry->suppressed)
		model_wrong(m, "DTO-25: %s was suppressed, succeeded and made an event",
			    step_name(entry->op));
}

static void request_event(struct model *m, const struct seen *seen, uint32_t side)
{
	struct owner owner;
	struct entry entry;
	uint32_t i;

	if (!find_owner(m, seen->cookie, &owner)) {
		model_wrong(m, "DTO-2: completion %#llx from nowhere on evd %u",
			    (unsigned long long)seen->cookie, seen->evd);
		return;
	}
	for (i = 0; i < owner.queue->count; i++) {
		entry = *queue_at(owner.queue, i);
		if (entry.cookie == seen->cookie)
			break;
		if (owner.ep && !entry.suppressed) {
			model_wrong(m,
				    "DTO-65: request %#llx completed with %u before %s, posted "
				    "earlier on the same endpoint",
				    (unsigned long long)seen->cookie, seen->status,
				    step_name(entry.op));
			return;
		}
	}
	if (i == owner.queue->count) {
		model_wrong(m, "DTO-2: request %#llx completed a second time, with %u",
			    (unsigned long long)seen->cookie, seen->status);
		return;
	}
	if (!judge(m, seen, &owner, &entry))
		return;
	if (owner.ep) /* else its window may be another one by now (RMR-33) */
		judge_request(m, seen, &entry);
	if (seen->status == DAT_DTO_SUCCESS && owner.queue->failed)
		model_wrong(m, "DTO-75: a request succeeded after one had failed");
	for (; i; i--) {
		struct entry earlier = *queue_at(owner.queue, 0);

		queue_pop(owner.queue);
		if (!owner.queue->failed)
			request_over(m, &owner, &earlier, NULL, side);
		else if (owner.ep)
			model_wrong(m,
				    "DTO-26: %s %#llx was suppressed, came after a failed one and "
				    "made no event before that of %s %#llx, status %u",
				    step_name(earlier.op), (unsigned long long)earlier.cookie,
				    step_name(entry.op), (unsigned long long)entry.cookie,
				    seen->status);
	}
	queue_pop(owner.queue);
	if (seen->status != DAT_DTO_SUCCESS)
		owner.queue->failed = 1;
	request_over(m, &owner, &entry, seen, side);
}

void dto_event(struct model *m, const struct seen *seen, uint32_t side)
{
	uint32_t kind = cookie_kind(seen->cookie);

	m->completions++;
	if (kind == COOKIE_SRQ)
		srq_event(m, seen, side);
	else if (kind == COOKIE_RECV)
		receive_event(m, seen, side);
	else if (kind == COOKIE_REQUEST)
		request_event(m, seen, side);
	else
		model_wrong(m, "EVT-7: completion with cookie %#llx on evd %u",
			    (unsigned long long)seen->cookie, seen->evd);
}

void dto_abandon(struct model *m, struct model_ep *ep)
{
	uint32_t side = model_side(m, (int)(ep - m->ep));
	struct conn *c = model_conn(m, ep);

	for (uint32_t i = 0; i < ep->recv.count; i++) {
		model_buffer_free(m, side, queue_at(&ep->recv, i)->buffer);
		queue_at(&ep->recv, i)->buffer = -1;
	}
	for (uint32_t i = 0; i < ep->request.count; i++) {
		struct entry *entry = queue_at(&ep->request, i);

		model_buffer_free(m, side, entry->buffer);
		entry->buffer = -1;
		if (entry->op == STEP_FETCH_ADD)
			counter_over(&m->cell[entry->cell], false);
		if (entry->op == STEP_RMR_BIND) {
			m->rmr[entry->rmr].binding = m->rmr[entry->rmr].dying = false;
			m->rmr[entry->rmr].unknown = true;
		} else if (entry->rmr >= 0 && c) {
			window_left(m, c, ep->half, entry);
		}
	}
}

/* ---- What must still happen ---- */

static uint32_t srq_supply(const struct model *m, int srq)
{
	uint32_t wanted = 0;

	for (int i = 0; i < MAX_EPS; i++)
		if (m->ep[i].live && m->ep[i].srq == srq && m->ep[i].conn >= 0) {
			const struct half *half = m->conn[m->ep[i].conn].half;

			wanted += half[!m->ep[i].half].sent - half[m->ep[i].half].received;
		}
	return wanted + m->srq[srq].lost <= m->srq[srq].count ? wanted : 0;
}

/* How many messages of this half find a receive at the peer. */
static uint32_t deliverable(const struct model *m, const struct conn *c, int half)
{
	const struct half *x = &c->half[half], *y = &c->half[!half];
	uint32_t due = x->sent - y->received, receives;

	if (y->ep < 0)
		return 0;
	receives =
		m->ep[y->ep].srq >= 0 ? srq_supply(m, m->ep[y->ep].srq) : m->ep[y->ep].recv.count;
	return due < receives ? due : receives;
}

static bool connected(const struct conn *c)
{
	return c->half[0].phase == PHASE_CONNECTED && c->half[1].phase == PHASE_CONNECTED &&
	       !c->half[0].disconnected && !c->half[1].disconnected && !c->half[0].gone &&
	       !c->half[1].gone && !c->fault;
}

/* The first request of the endpoint that must complete with an event; null: none. */
static const struct entry *request_owed(const struct model *m, const struct model_ep *ep)
{
	const struct conn *c = &m->conn[ep->conn];
	const struct half *x = &c->half[ep->half];
	uint32_t arrives = c->half[!ep->half].received;
	const struct entry *entry;

	if (!connected(c) && x->phase != PHASE_ENDED)
		return NULL;
	arrives += deliverable(m, c, ep->half);
	for (uint32_t i = 0; i < ep->request.count; i++) {
		entry = queue_at(&ep->request, i);
		/* It waits, or is behind a Send that does (DTO-90). */
		if (x->phase != PHASE_ENDED && entry->ordinal + model_is_send(entry->op) > arrives)
			return NULL;
		if (!entry->suppressed)
			return entry;
	}
	return NULL;
}

bool dto_owes(const struct model *m, int *evd, char *what, size_t size)
{
	const struct entry *entry;
	uint32_t due;

	for (int i = 0; i < MAX_EPS; i++) {
		const struct model_ep *ep = &m->ep[i];
		const struct conn *c = ep->live && ep->conn >= 0 ? &m->conn[ep->conn] : NULL;

		if (!c)
			continue;
		entry = request_owed(m, ep);
		*evd = entry ? ep->request_evd : ep->recv_evd;
		if (entry) {
			snprintf(what, size, "DTO-2, FL-6: %s of ep %d, %u bytes, on evd %d, %s",
				 step_name(entry->op), i, entry->length, ep->request_evd,
				 connected(c) ? "connected" : "disconnected");
			return true;
		}
		if (c->half[ep->half].phase == PHASE_ENDED && ep->recv.count) {
			snprintf(what, size, "DTO-74: %u receives of ep %d on evd %d, disconnected",
				 ep->recv.count, i, ep->recv_evd);
			return true;
		}
		due = connected(c) ? deliverable(m, c, !ep->half) : 0;
		if (due) {
			snprintf(what, size, "DTO-34: %u messages for ep %d on evd %d", due, i,
				 ep->recv_evd);
			return true;
		}
	}
	return false;
}
