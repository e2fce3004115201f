/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The model: objects, dispatchers, and what steps of every kind have in common. */
#include "test/model/model.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void model_wrong(struct model *m, const char *format, ...)
{
	va_list args;

	if (m->errors++)
		return;
	va_start(args, format);
	vsnprintf(m->error, sizeof(m->error), format, args);
	va_end(args);
}

/* Objects belong to the sides in turn. */
uint32_t model_side(const struct model *m, int object)
{
	return (uint32_t)object % m->sides;
}

/* ---- Bytes ---- */

static uint64_t pattern_word(uint64_t pattern, uint32_t i)
{
	uint64_t x = (pattern + i) * 0x9e3779b97f4a7c15ULL;

	return x ^ x >> 29;
}

void model_fill(uint8_t *at, uint64_t pattern, uint32_t length)
{
	uint64_t word;
	uint32_t i;

	for (i = 0; i + 8 <= length; i += 8) {
		word = pattern_word(pattern, i);
		memcpy(at + i, &word, 8);
	}
	word = pattern_word(pattern, i);
	memcpy(at + i, &word, length - i);
}

bool model_filled(const uint8_t *at, uint64_t pattern, uint32_t length)
{
	uint64_t word;
	uint32_t i;

	for (i = 0; i + 8 <= length; i += 8) {
		word = pattern_word(pattern, i);
		if (memcmp(at + i, &word, 8) != 0)
			return false;
	}
	word = pattern_word(pattern, i);
	return !memcmp(at + i, &word, length - i);
}

uint8_t *model_buffer(const struct model *m, uint32_t side, int buffer)
{
	size_t offset = buffer < SMALL_BUFFERS
				? (size_t)buffer * SMALL_BYTES
				: (size_t)SMALL_BUFFERS * SMALL_BYTES +
					  (size_t)(buffer - SMALL_BUFFERS) * BIG_BYTES;

	return m->arena[side] + offset;
}

/* -1: none is left */
int model_buffer_take(struct model *m, uint32_t side, uint32_t length)
{
	int first = length <= SMALL_BYTES ? 0 : SMALL_BUFFERS;
	int end = length <= SMALL_BYTES ? SMALL_BUFFERS : SMALL_BUFFERS + BIG_BUFFERS;

	for (int i = first; i < end; i++)
		if (!m->buffer_used[side][i]) {
			m->buffer_used[side][i] = true;
			return i;
		}
	return -1;
}

void model_buffer_free(struct model *m, uint32_t side, int buffer)
{
	if (buffer >= 0)
		m->buffer_used[side][buffer] = false;
}

uint8_t *model_cell(const struct model *m, int cell)
{
	return m->arena[model_side(m, cell)] + BUFFER_BYTES + (size_t)cell / m->sides * CELL_BYTES;
}

bool model_is_counter(const struct model *m, int cell)
{
	return cell >= (CELLS - COUNTERS) * (int)m->sides;
}

/* ---- Queues ---- */

/* What takes a receive of the peer. */
bool model_is_send(uint32_t op)
{
	return op == STEP_SEND || op == STEP_SEND_INVALIDATE || op == STEP_WRITE_IMMED;
}

struct entry *queue_at(const struct queue *queue, uint32_t index)
{
	return &queue->entry[(queue->head + index) % MAX_QUEUE];
}

void queue_pop(struct queue *queue)
{
	queue->head = (queue->head + 1) % MAX_QUEUE;
	queue->count--;
}

uint64_t model_cookie(struct model *m, uint32_t kind, const struct model_ep *ep, int index)
{
	return (uint64_t)kind << 60 | (uint64_t)index << 48 |
	       (uint64_t)(ep ? ep->life & 0xffff : 0) << 32 | ++m->serial;
}

struct conn *model_conn(struct model *m, const struct model_ep *ep)
{
	return ep->conn < 0 ? NULL : &m->conn[ep->conn];
}

/* ---- Dispatchers ---- */

static uint32_t load_of(const struct model *m, int evd, int recv_evd, int request_evd,
			int connect_evd, const struct queue *recv, const struct queue *request)
{
	(void)m;
	return (recv_evd == evd ? recv->count : 0) + (request_evd == evd ? request->count : 0) +
	       (connect_evd == evd ? 3 : 0);
}

/* How many events there may be, or may come without a further step (EVD-100). */
uint32_t model_load(const struct model *m, int evd)
{
	uint32_t load = m->evd[evd].se_count + m->evd[evd].orphans + 4 + m->slack;
	bool srq[MAX_SRQS] = { false };

	for (int i = 0; i < MAX_EPS; i++) {
		const struct model_ep *ep = &m->ep[i];

		if (!ep->live)
			continue;
		load += load_of(m, evd, ep->recv_evd, ep->request_evd, ep->connect_evd, &ep->recv,
				&ep->request);
		if (ep->srq >= 0 && ep->recv_evd == evd)
			srq[ep->srq] = true;
	}
	for (int i = 0; i < MAX_GHOSTS; i++) {
		const struct ghost *ghost = &m->ghost[i];

		if (!ghost->used)
			continue;
		load += load_of(m, evd, ghost->recv_evd, ghost->request_evd, ghost->connect_evd,
				&ghost->recv, &ghost->request);
		if (ghost->srq >= 0 && ghost->recv_evd == evd)
			srq[ghost->srq] = true;
	}
	for (int i = 0; i < MAX_SRQS; i++)
		load += srq[i] ? m->srq[i].count : 0;
	for (int i = 0; i < MAX_CONNS; i++)
		load += m->conn[i].used && !m->conn[i].request_seen && m->conn[i].sp_evd == evd;
	return load;
}

static bool evd_in_use(const struct model *m, int evd)
{
	for (int i = 0; i < MAX_EPS; i++)
		if (m->ep[i].live && (m->ep[i].recv_evd == evd || m->ep[i].request_evd == evd ||
				      m->ep[i].connect_evd == evd))
			return true;
	for (int i = 0; i < MAX_SPS; i++)
		if (m->sp[i].live && m->sp[i].evd == evd)
			return true;
	return false;
}

static void ghost_release(struct model *m, struct ghost *ghost)
{
	if (ghost->recv_evd >= 0 || ghost->request_evd >= 0 || ghost->connect_evd >= 0)
		return;
	free(ghost->recv.entry);
	free(ghost->request.entry);
	ghost->used = false;
	if (ghost->conn >= 0)
		model_conn_release(m, ghost->conn);
}

/* The dispatcher was found empty, or is gone: nothing of former endpoints can be there. */
static void ghosts_leave(struct model *m, int evd, bool freed)
{
	struct ghost *ghost;
	struct half *half;

	for (int i = 0; i < MAX_GHOSTS; i++) {
		ghost = &m->ghost[i];
		if (!ghost->used || (!freed && ghost->batch == m->batch))
			continue;
		half = ghost->conn >= 0 ? &m->conn[ghost->conn].half[ghost->half] : NULL;
		if (ghost->connect_evd == evd && !freed && half && !half->mute &&
		    half->phase != PHASE_ENDED)
			model_wrong(m,
				    "EP-97: evd %d is empty and the end of the connection of an "
				    "endpoint that was reset was never told",
				    evd);
		ghost->recv_evd = ghost->recv_evd == evd ? -1 : ghost->recv_evd;
		ghost->request_evd = ghost->request_evd == evd ? -1 : ghost->request_evd;
		ghost->connect_evd = ghost->connect_evd == evd ? -1 : ghost->connect_evd;
		ghost_release(m, ghost);
	}
}

static bool evd_prepare(struct model *m, struct call *call)
{
	int *arg = call->step.arg;
	struct model_evd *evd = &m->evd[arg[0]];

	if (call->step.op == STEP_EVD_CREATE)
		return !evd->live && arg[1] > 0;
	if (!evd->live)
		return false;
	switch (call->step.op) {
	case STEP_EVD_FREE:
		return !evd_in_use(m, arg[0]);
	case STEP_EVD_RESIZE:
		if ((uint32_t)arg[1] < model_load(m, arg[0]))
			return false;
		/* Posts that are made at the same time must not rely on the longer queue. */
		if ((uint32_t)arg[1] < evd->qlen && m->slack)
			evd->qlen = (uint32_t)arg[1];
		return true;
	case STEP_POST_SE:
		call->cookie = (uint64_t)COOKIE_SE << 60 | (uint64_t)arg[0] << 48 |
			       (evd->se_next + evd->se_count);
		return model_load(m, arg[0]) < evd->qlen;
	default:
		return true;
	}
}

static void evd_done(struct model *m, const struct call *call, const struct result *result)
{
	const int *arg = call->step.arg;
	struct model_evd *evd = &m->evd[arg[0]];

	if (result->rc != DAT_SUCCESS) {
		model_wrong(m, "%s of evd %d: 0x%x", step_name(call->step.op), arg[0], result->rc);
		return;
	}
	switch (call->step.op) {
	case STEP_EVD_CREATE:
		*evd = (struct model_evd){ .live = true, .cno = arg[2] != 0 };
		/* fall through */
	case STEP_EVD_RESIZE:
		if (result->value[0] < (uint64_t)arg[1])
			model_wrong(m, "EVD-21, EVD-75: evd %d has room for %d events, not %d",
				    arg[0], (int)result->value[0], arg[1]);
		/* fall through */
	case STEP_EVD_QUERY:
		if (call->step.op == STEP_EVD_QUERY && result->value[0] != evd->qlen)
			model_wrong(m, "EVD-32: evd %d has length %d, not %u", arg[0],
				    (int)result->value[0], evd->qlen);
		evd->qlen = (uint32_t)result->value[0];
		break;
	case STEP_POST_SE:
		evd->se_count++;
		break;
	default:
		evd->live = false;
		ghosts_leave(m, arg[0], true);
		break;
	}
}

/* ---- Events ---- */

static void software_event(struct model *m, const struct seen *seen)
{
	struct model_evd *evd = &m->evd[seen->evd];

	if (!evd->se_count || cookie_kind(seen->cookie) != COOKIE_SE ||
	    cookie_index(seen->cookie) != seen->evd || (uint32_t)seen->cookie != evd->se_next) {
		model_wrong(m, "EVD-11: software event %#llx on evd %u, where %u of %u is next",
			    (unsigned long long)seen->cookie, seen->evd, evd->se_next,
			    evd->se_count);
		return;
	}
	evd->se_next++;
	evd->se_count--;
}

static void asynchronous_event(struct model *m, const struct seen *seen)
{
	bool broken = seen->number == DAT_ASYNC_ERROR_EP_BROKEN;

	if (m->trespassed)
		return;
	/* The end of a connection whose endpoint has a shared queue, unless checks are strict. */
	if (broken && seen->status == DAT_EP_OTHER_ERROR && m->srq_ends)
		return;
	if (broken && m->facts[0].fails_answers && m->reads_end)
		return;
	model_wrong(m, "EVT-25: asynchronous event 0x%x, reason %u, without a cause", seen->number,
		    seen->status);
}

static void event(struct model *m, const struct seen *seen, uint32_t side)
{
	if (!seen->evd_right)
		model_wrong(m, "EVT-2: event 0x%x of evd %u names another", seen->number,
			    seen->evd);
	if (seen->number == DAT_DTO_COMPLETION_EVENT ||
	    seen->number == DAT_RMR_BIND_COMPLETION_EVENT ||
	    seen->number == (uint32_t)DAT_IB_DTO_EVENT)
		dto_event(m, seen, side);
	else if (seen->number == DAT_CONNECTION_REQUEST_EVENT)
		conn_request(m, seen, side);
	else if (seen->number == DAT_SOFTWARE_EVENT)
		software_event(m, seen);
	else if (seen->number >= DAT_CONNECTION_EVENT_ESTABLISHED &&
		 seen->number <= DAT_CONNECTION_EVENT_UNREACHABLE)
		conn_event(m, seen, side);
	else if (seen->evd == MAX_EVDS)
		asynchronous_event(m, seen);
	else
		model_wrong(m, "EVT-5: event 0x%x on evd %u", seen->number, seen->evd);
}

static void judge_wait(struct model *m, const struct call *call, const struct result *result)
{
	const int *arg = call->step.arg;
	struct model_evd *evd = &m->evd[arg[0]];
	uint32_t possible = model_load(m, arg[0]) + evd->stragglers;
	int64_t more = (int64_t)result->value[0];

	if ((uint32_t)arg[1] > evd->qlen) {
		if (DAT_GET_TYPE(result->rc) != DAT_INVALID_PARAMETER)
			model_wrong(m, "EVD-52: threshold %d of %u: 0x%x", arg[1], evd->qlen,
				    result->rc);
		return;
	}
	if (result->rc == DAT_TIMEOUT_EXPIRED) {
		if (more < 0 || more >= arg[1] || evd->at_least >= (uint32_t)arg[1])
			model_wrong(m, "EVD-48: time is up with %d of %d events, at least %u",
				    (int)more, arg[1], evd->at_least);
	} else if (result->rc != DAT_SUCCESS) {
		model_wrong(m, "EVD-63: dat_evd_wait on evd %d: 0x%x", arg[0], result->rc);
		return;
	} else if (more < arg[1] - 1 || more + 1 > possible) {
		model_wrong(m,
			    "EVD-47: %d more events on evd %d, threshold %d, at most %u possible",
			    (int)more, arg[0], arg[1], possible);
	}
	if (more >= 0 && (uint32_t)more < evd->at_least - (result->rc == DAT_SUCCESS) &&
	    evd->at_least)
		model_wrong(m, "EVD-11: %d events on evd %d where %u had been", (int)more, arg[0],
			    evd->at_least);
	evd->at_least = more > 0 ? (uint32_t)more : 0;
}

static void judge_poll(struct model *m, const struct call *call, const struct result *result)
{
	uint32_t index = (uint32_t)call->step.arg[0];
	struct model_evd *evd = &m->evd[index];

	if (result->rc != DAT_SUCCESS && result->rc != DAT_QUEUE_EMPTY)
		model_wrong(m, "EVD-65: dat_evd_dequeue on evd %u: 0x%x", index, result->rc);
	if (index == MAX_EVDS)
		return;
	if (result->empty && evd->at_least > result->seen_count)
		model_wrong(m, "EVD-47: evd %u is empty after %u events where %u had been", index,
			    result->seen_count, evd->at_least);
	evd->at_least -= result->seen_count < evd->at_least ? result->seen_count : evd->at_least;
	if (result->empty && evd->se_count)
		model_wrong(m, "EVD-69: evd %u is empty and %u software events are missing", index,
			    evd->se_count);
	if (result->empty)
		ghosts_leave(m, (int)index, false);
}

static void judge_cno(struct model *m, const struct result *result)
{
	if (result->rc != DAT_SUCCESS && DAT_GET_TYPE(result->rc) != DAT_QUEUE_EMPTY)
		model_wrong(m, "CNO-25: dat_cno_wait: 0x%x", result->rc);
	if (result->rc == DAT_SUCCESS && result->value[0] < MAX_EVDS &&
	    !m->evd[result->value[0]].cno)
		model_wrong(m, "CNO-26: evd %u triggered, which has no CNO",
			    (uint32_t)result->value[0]);
}

/* ---- Shared receive queues ---- */

static uint32_t srq_undelivered(const struct model *m, int srq)
{
	uint32_t sum = 0;

	for (int i = 0; i < MAX_EPS; i++)
		if (m->ep[i].live && m->ep[i].srq == srq && m->ep[i].conn >= 0) {
			const struct half *half = m->conn[m->ep[i].conn].half;

			sum += half[!m->ep[i].half].sent - half[m->ep[i].half].received;
		}
	return sum;
}

static bool srq_prepare(const struct model *m, const struct call *call)
{
	const int *arg = call->step.arg;
	const struct model_srq *srq = &m->srq[arg[0]];

	if (!m->facts[model_side(m, arg[0])].has_srq)
		return false;
	if (call->step.op == STEP_SRQ_CREATE)
		return !srq->live && arg[1] > 0;
	if (!srq->live)
		return false;
	if (call->step.op == STEP_SRQ_RESIZE)
		return m->facts[model_side(m, arg[0])].resizes_srqs && arg[1] > (int)srq->count &&
		       arg[1] < MAX_QUEUE;
	if (call->step.op == STEP_SRQ_FREE) {
		for (int i = 0; i < MAX_GHOSTS; i++)
			if (m->ghost[i].used && m->ghost[i].srq == arg[0])
				return false;
		return !srq->users;
	}
	return true;
}

static void srq_counts(struct model *m, int index, const struct result *result)
{
	struct model_srq *srq = &m->srq[index];
	int64_t available = (int64_t)result->value[1], outstanding = (int64_t)result->value[2];
	int64_t least = (int64_t)srq->count - srq->lost;

	if (outstanding != DAT_VALUE_UNKNOWN &&
	    (outstanding > (int64_t)srq->count || outstanding < least))
		model_wrong(m, "SRQ-17: srq %d has %d slots in use, not %d to %u", index,
			    (int)outstanding, (int)least, srq->count);
	least -= srq_undelivered(m, index);
	if (available != DAT_VALUE_UNKNOWN &&
	    (available > (int64_t)srq->count || available < least))
		model_wrong(m, "SRQ-17: srq %d has %d receives available, not %d to %u", index,
			    (int)available, (int)least, srq->count);
}

static void srq_done(struct model *m, const struct call *call, const struct result *result)
{
	const int *arg = call->step.arg;
	struct model_srq *srq = &m->srq[arg[0]];

	if (call->step.op == STEP_SRQ_RESIZE && DAT_GET_TYPE(result->rc) == DAT_MODEL_NOT_SUPPORTED)
		return; /* GEN-10 */
	if (result->rc != DAT_SUCCESS) {
		model_wrong(m, "%s of srq %d: 0x%x", step_name(call->step.op), arg[0], result->rc);
		return;
	}
	if (call->step.op == STEP_SRQ_FREE) {
		for (uint32_t i = 0; i < srq->count; i++)
			model_buffer_free(m, model_side(m, arg[0]), srq->entry[i].buffer);
		srq->live = false;
		return;
	}
	if (call->step.op == STEP_SRQ_CREATE) {
		srq->live = true;
		srq->count = srq->lost = srq->users = 0;
	}
	if (call->step.op != STEP_SRQ_QUERY && result->value[0] < (uint64_t)arg[1])
		model_wrong(m, "SRQ-5, SRQ-24: srq %d has %d slots, not %d", arg[0],
			    (int)result->value[0], arg[1]);
	srq->max = result->value[0] < MAX_QUEUE ? (uint32_t)result->value[0] : MAX_QUEUE;
	srq_counts(m, arg[0], result);
}

/* ---- Steps ---- */

bool model_prepare(struct model *m, const struct step *step, struct call *call)
{
	memset(call, 0, sizeof(*call));
	call->step = *step;
	call->side = model_side(m, step->arg[0]);
	call->repeat = 1;
	if (step->op == STEP_CNO_WAIT)
		return step->arg[0] >= 0 && step->arg[0] < (int)m->sides;
	if (step->op <= STEP_WAIT)
		return (step->op == STEP_POLL && step->arg[0] == MAX_EVDS) || evd_prepare(m, call);
	if (step->op >= STEP_SRQ_CREATE && step->op <= STEP_SRQ_QUERY)
		return srq_prepare(m, call);
	if (step->op <= STEP_DISCONNECT && step->op != STEP_SRQ_RECV)
		return conn_prepare(m, call);
	return dto_prepare(m, call);
}

void model_done(struct model *m, const struct call *call, const struct result *result)
{
	enum step_op op = call->step.op;

	if (op == STEP_WAIT)
		judge_wait(m, call, result);
	if (op == STEP_CNO_WAIT) {
		judge_cno(m, result);
		return;
	}
	for (uint32_t i = 0; i < result->seen_count; i++)
		event(m, &result->seen[i], call->side);
	if (op == STEP_POLL)
		judge_poll(m, call, result);
	else if (op < STEP_POLL)
		evd_done(m, call, result);
	else if (op >= STEP_SRQ_CREATE && op <= STEP_SRQ_QUERY)
		srq_done(m, call, result);
	else if (op != STEP_WAIT && op <= STEP_DISCONNECT && op != STEP_SRQ_RECV)
		conn_done(m, call, result);
	else if (op != STEP_WAIT)
		dto_done(m, call, result);
}

bool model_owes(const struct model *m, int *evd, char *what, size_t size)
{
	return conn_owes(m, evd, what, size) || dto_owes(m, evd, what, size);
}

void model_quiet(struct model *m)
{
	/* Nobody keeps room for them any more, yet a peer that is slow may bring them. */
	for (int i = 0; i < MAX_EVDS; i++) {
		m->evd[i].stragglers += m->evd[i].orphans;
		m->evd[i].orphans = 0;
	}
	counters_quiet(m);
	for (int i = 0; i < CELLS * (int)m->sides; i++) {
		struct cell *cell = &m->cell[i];

		if (cell->conn < 0 && cell->pattern && !cell->scribbled &&
		    !model_is_counter(m, i) &&
		    !model_filled(model_cell(m, i), cell->pattern, cell->length))
			model_wrong(m, "DTO-88: cell %d has bytes that nobody wrote", i);
	}
}

void model_init(struct model *m, uint32_t sides)
{
	memset(m, 0, sizeof(*m));
	m->sides = sides;
	for (int i = 0; i < MAX_EPS; i++) {
		m->ep[i].recv.entry = calloc(MAX_QUEUE, sizeof(struct entry));
		m->ep[i].request.entry = calloc(MAX_QUEUE, sizeof(struct entry));
		m->ep[i].conn = -1;
	}
	for (int i = 0; i < MAX_SRQS; i++)
		m->srq[i].entry = calloc(MAX_QUEUE, sizeof(struct entry));
	for (int i = 0; i < MAX_CONNS; i++)
		for (int h = 0; h < 2; h++)
			m->conn[i].half[h].messages = calloc(MAX_QUEUE, sizeof(struct message));
	for (int i = 0; i < CELLS * MAX_SIDES; i++)
		m->cell[i].conn = m->cell[i].rmr = -1;
}

void model_fini(struct model *m)
{
	for (int i = 0; i < MAX_EPS; i++) {
		free(m->ep[i].recv.entry);
		free(m->ep[i].request.entry);
	}
	for (int i = 0; i < MAX_SRQS; i++)
		free(m->srq[i].entry);
	for (int i = 0; i < MAX_GHOSTS; i++)
		if (m->ghost[i].used) {
			free(m->ghost[i].recv.entry);
			free(m->ghost[i].request.entry);
		}
	for (int i = 0; i < MAX_CONNS; i++)
		for (int h = 0; h < 2; h++)
			free(m->conn[i].half[h].messages);
}
