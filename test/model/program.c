/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "test/model/program.h"

#include <string.h>

/* ---- Choice of objects ---- */

static bool is_connected(const struct model *m, int i)
{
	const struct model_ep *ep = &m->ep[i];

	return ep->live && ep->conn >= 0 &&
	       m->conn[ep->conn].half[ep->half].phase == PHASE_CONNECTED &&
	       !m->conn[ep->conn].half[ep->half].disconnected;
}

static bool has_room(const struct model *m, int i)
{
	return is_connected(m, i) && m->ep[i].request.count < m->ep[i].max_request;
}

static bool is_idle(const struct model *m, int i)
{
	return m->ep[i].live && m->ep[i].conn < 0;
}

static bool is_over(const struct model *m, int i)
{
	const struct model_ep *ep = &m->ep[i];

	return ep->live && ep->conn >= 0 && m->conn[ep->conn].half[ep->half].phase == PHASE_ENDED;
}

static bool is_live(const struct model *m, int i)
{
	return m->ep[i].live;
}

static bool has_receives(const struct model *m, int i)
{
	return m->ep[i].live && m->ep[i].srq < 0;
}

/* One with the property, or any; while the peer stands still, one of this process. */
static int choose_ep(struct program *p, const struct model *m,
		     bool (*property)(const struct model *, int))
{
	int first = (int)program_random(p, MAX_EPS), i, at;

	if (!program_random(p, 16))
		property = is_live;
	for (i = 0; i < MAX_EPS; i++) {
		at = (first + i) % MAX_EPS;
		if (property(m, at) && !(p->stopped && model_side(m, at)))
			return at;
	}
	return first;
}

static int choose_evd(struct program *p, const struct model *m, int side)
{
	int first = (int)program_random(p, p->max_evds), i, at;

	for (i = 0; i < MAX_EVDS; i++) {
		at = (first + i) % MAX_EVDS;
		if (m->evd[at].live && (side < 0 || (int)model_side(m, at) == side) &&
		    !(p->stopped && model_side(m, at)))
			return at;
	}
	return first;
}

static int choose_sp(struct program *p, const struct model *m)
{
	int first = (int)program_random(p, MAX_SPS);

	for (int i = 0; i < MAX_SPS; i++)
		if (m->sp[(first + i) % MAX_SPS].live)
			return (first + i) % MAX_SPS;
	return first;
}

/* ---- Steps ---- */

static uint32_t length(struct program *p)
{
	uint32_t limit = program_random(p, 4) ? p->max_bytes / 8 : p->max_bytes;

	return program_random(p, 12) ? program_random(p, limit + 1) : 0;
}

static int times(struct program *p)
{
	return program_random(p, 3) ? 1 : 1 + (int)program_random(p, p->max_times);
}

static void create_ep(struct program *p, const struct model *m, int *arg)
{
	int side;

	arg[0] = (int)program_random(p, p->max_eps);
	for (uint32_t i = 0; i < p->max_eps && p->lively && m->ep[arg[0]].live; i++)
		arg[0] = (arg[0] + 1) % (int)p->max_eps;
	side = (int)model_side(m, arg[0]);
	arg[1] = choose_evd(p, m, side);
	arg[2] = program_random(p, 2) ? arg[1] : choose_evd(p, m, side);
	arg[3] = program_random(p, 2) ? arg[1] : choose_evd(p, m, side);
	arg[4] = 1 + (int)program_random(p, p->max_depth);
	arg[5] = 0;
	for (int i = 0, at = (int)program_random(p, 3 * MAX_SRQS); i < MAX_SRQS && at < MAX_SRQS;
	     i++)
		if (m->srq[(at + i) % MAX_SRQS].live &&
		    (int)model_side(m, (at + i) % MAX_SRQS) == side)
			arg[5] = 1 + (at + i) % MAX_SRQS;
}

/* An endpoint that can answer the first request that waits. */
static void answer(struct program *p, const struct model *m, int *arg)
{
	arg[0] = (int)program_random(p, MAX_CONNS);
	arg[1] = choose_ep(p, m, is_idle);
	for (int i = 0; i < MAX_CONNS; i++) {
		const struct conn *c = &m->conn[(arg[0] + i) % MAX_CONNS];

		if (!c->used || !c->request_seen || c->accepted || c->rejected)
			continue;
		for (int j = 0; j < MAX_EPS && (int)model_side(m, arg[1]) != c->sp_side; j++)
			arg[1] = choose_ep(p, m, is_idle);
		return;
	}
}

static uint32_t flags(struct program *p)
{
	uint32_t chosen = 0;

	if (!program_random(p, 4))
		chosen |= DAT_COMPLETION_SUPPRESS_FLAG;
	if (!program_random(p, 8))
		chosen |= DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	if (!program_random(p, 8))
		chosen |= DAT_COMPLETION_BARRIER_FENCE_FLAG;
	return chosen;
}

/* One that is written all the time, or the one that was chosen. */
static int scribbled_cell(const struct model *m, int chosen)
{
	int count = CELLS * (int)m->sides;

	for (int i = 0; i < count; i++)
		if (m->cell[(chosen + i) % count].scribbled)
			return (chosen + i) % count;
	return chosen;
}

/* A cell at the peer of an endpoint, and often the window that is bound to it. */
static void choose_cell(struct program *p, const struct model *m, int *arg)
{
	const struct model_ep *ep = &m->ep[arg[0]];
	int count = CELLS * (int)m->sides, side;

	arg[1] = (int)program_random(p, (uint32_t)count);
	arg[4] = 0;
	if (!ep->live || ep->conn < 0)
		return;
	side = m->conn[ep->conn].half[!ep->half].side;
	if (program_one_in(p, 4))
		arg[1] = scribbled_cell(m, arg[1]);
	while ((int)model_side(m, arg[1]) != side)
		arg[1] = (arg[1] + 1) % count;
	if (program_random(p, 3))
		return;
	for (int i = 0; i < MAX_RMRS; i++)
		if (m->rmr[i].live && m->rmr[i].bound && (int)model_side(m, i) == side) {
			arg[4] = i + 1;
			arg[1] = m->rmr[i].cell;
		}
}

static void transfer(struct program *p, const struct model *m, struct step *step)
{
	int *arg = step->arg;

	arg[0] = choose_ep(p, m, step->op == STEP_RECV ? has_receives : has_room);
	switch (step->op) {
	case STEP_RECV:
		arg[3] = times(p);
		arg[1] = program_random(p, 3) ? (int)p->max_bytes : (int)length(p);
		arg[2] = (int)program_random(p, 4);
		break;
	case STEP_SEND:
		arg[4] = times(p);
		arg[1] = program_random(p, 3) ? (int)length(p) : (int)p->max_bytes;
		arg[2] = (int)program_random(p, 4);
		arg[3] = (int)flags(p);
		break;
	case STEP_SEND_INVALIDATE:
		arg[1] = (int)program_random(p, MAX_RMRS);
		arg[2] = (int)length(p);
		for (int i = 0; i < MAX_EPS; i++)
			if (m->rmr[arg[1]].bound && m->rmr[arg[1]].ep_scope && m->ep[i].live &&
			    m->ep[i].conn >= 0 &&
			    m->conn[m->ep[i].conn].half[!m->ep[i].half].ep == m->rmr[arg[1]].ep)
				arg[0] = i;
		break;
	case STEP_FETCH_ADD:
		choose_cell(p, m, arg);
		arg[1] = (CELLS - COUNTERS) * (int)m->sides +
			 arg[1] % (p->hot ? (int)m->sides : COUNTERS * (int)m->sides);
		arg[2] = (int)program_random(p, 1000);
		arg[3] = (int)flags(p);
		arg[4] = times(p);
		break;
	case STEP_TRESPASS:
		choose_cell(p, m, arg);
		arg[2] = (int)program_random(p, 100);
		arg[3] = (int)program_random(p, 4000);
		arg[4] = 0;
		break;
	default:
		arg[5] = step->op == STEP_WRITE_IMMED ? 0 : times(p);
		choose_cell(p, m, arg);
		arg[2] = (int)program_random(p, CELL_BYTES + 1);
		if (program_random(p, 3))
			arg[2] /= 16;
		arg[3] = (int)flags(p);
		if (step->op == STEP_WRITE_IMMED)
			arg[4] = (int)program_random(p, 1 << 30);
		break;
	}
}

static void bind_window(struct program *p, const struct model *m, int *arg)
{
	uint32_t cells = CELLS * m->sides;

	arg[0] = (int)program_random(p, MAX_RMRS);
	arg[1] = (int)program_random(p, cells);
	arg[2] = choose_ep(p, m, has_room);
	for (int i = 0; i < 8 && model_side(m, arg[2]) != model_side(m, arg[0]); i++)
		arg[2] = choose_ep(p, m, has_room);
	while (model_side(m, arg[1]) != model_side(m, arg[0]))
		arg[1] = (int)((uint32_t)(arg[1] + 1) % cells);
	arg[4] = program_random(p, 2) ? 0 : 1 + (int)program_random(p, 2);
}

static bool is_asking(const struct conn *c)
{
	return c->used && !c->accepted && !c->rejected && c->half[0].phase == PHASE_START &&
	       c->half[0].ep >= 0;
}

/* Whether there are endpoints of that side, beside this one, for all that ask to be accepted. */
static bool has_others(const struct model *m, int side, int ep)
{
	int others = 0;

	for (int i = 0; i < MAX_EPS; i++)
		others += i != ep && is_idle(m, i) && (int)model_side(m, i) == side;
	for (int i = 0; i < MAX_CONNS; i++)
		others -= is_asking(&m->conn[i]) && m->conn[i].sp_side == side;
	return others > 0;
}

/* Who connects to where; false: nobody could accept it. */
static bool choose_peers(struct program *p, const struct model *m, int *arg)
{
	bool answered;

	for (int tries = p->lively ? 12 : 3; tries; tries--) {
		arg[0] = choose_ep(p, m, is_idle);
		arg[1] = choose_sp(p, m);
		answered = has_others(m, (int)model_side(m, arg[1]), arg[0]);
		if (model_side(m, arg[1]) != model_side(m, arg[0]) && answered)
			break;
	}
	return answered;
}

static void endpoint(struct program *p, const struct model *m, struct step *step)
{
	int *arg = step->arg;

	switch (step->op) {
	case STEP_EP_RESET:
		arg[0] = choose_ep(p, m, is_over);
		break;
	case STEP_CONNECT:
		if (!choose_peers(p, m, arg) && p->lively) {
			*step = (struct step){ .op = STEP_POLL,
					       .arg = { choose_evd(p, m, -1), MAX_SEEN } };
			break;
		}
		arg[2] = program_random(p, 20) ? 0 : 1 + (int)program_random(p, 100);
		break;
	case STEP_REJECT:
		arg[0] = (int)program_random(p, MAX_CONNS);
		break;
	case STEP_HANDOFF:
		arg[0] = (int)program_random(p, MAX_CONNS);
		arg[1] = choose_sp(p, m);
		break;
	case STEP_DISCONNECT:
		arg[0] = choose_ep(p, m, is_connected);
		arg[1] = program_random(p, 3) != 0;
		break;
	default:
		arg[0] = choose_ep(p, m, is_live);
		break;
	}
}

static void object(struct program *p, const struct model *m, struct step *step)
{
	static const int lengths[] = { 64, 300, 1024, 4056 };
	int *arg = step->arg;

	switch (step->op) {
	case STEP_EVD_CREATE:
	case STEP_EVD_RESIZE:
		arg[0] = (int)program_random(p, p->max_evds);
		arg[1] = lengths[program_random(p, 4)] + (int)program_random(p, 40);
		arg[2] = step->op == STEP_EVD_CREATE && p->cnos && program_random(p, 2);
		break;
	case STEP_WAIT:
		arg[0] = choose_evd(p, m, -1);
		arg[1] = program_random(p, 4) ? 1 : 1 + (int)program_random(p, 12);
		/* The service thread looks every few ms whether somebody waits. */
		arg[2] = (int)program_random(p, program_random(p, 6) ? p->max_wait_us : 20000);
		break;
	case STEP_CNO_WAIT:
		arg[0] = (int)program_random(p, p->stopped ? 1 : m->sides);
		arg[1] = (int)program_random(p, 3000);
		break;
	case STEP_SP_CREATE:
		arg[0] = (int)program_random(p, MAX_SPS);
		arg[1] = choose_evd(p, m, (int)model_side(m, arg[0]));
		break;
	case STEP_SP_FREE:
		arg[0] = (int)program_random(p, MAX_SPS);
		break;
	case STEP_SRQ_CREATE:
	case STEP_SRQ_FREE:
	case STEP_SRQ_RESIZE:
	case STEP_SRQ_QUERY:
	case STEP_SRQ_RECV:
		arg[0] = (int)program_random(p, MAX_SRQS);
		arg[1] = step->op == STEP_SRQ_RECV ? times(p) : 1 + (int)program_random(p, 200);
		break;
	default:
		arg[0] = choose_evd(p, m, -1);
		arg[1] = step->op == STEP_POLL ? 1 + (int)program_random(p, MAX_SEEN) : 0;
		break;
	}
	if (step->op == STEP_SRQ_QUERY || step->op == STEP_SRQ_FREE)
		arg[1] = 0;
}

static void rest(struct program *p, const struct model *m, struct step *step)
{
	int *arg = step->arg;

	switch (step->op) {
	case STEP_RMR_CREATE:
	case STEP_RMR_FREE:
		arg[0] = (int)program_random(p, MAX_RMRS);
		arg[1] = step->op == STEP_RMR_CREATE ? (int)program_random(p, 2) : 0;
		break;
	case STEP_RMR_BIND:
		bind_window(p, m, arg);
		break;
	case STEP_SCRIBBLE:
		arg[0] = (int)program_random(p, CELLS * m->sides);
		/* Few at a time: they take processors. */
		if (program_random(p, 4))
			arg[0] = scribbled_cell(m, arg[0]);
		arg[1] = !m->cell[arg[0]].scribbled;
		break;
	case STEP_FILL:
		arg[0] = (int)program_random(p, CELLS * m->sides);
		break;
	case STEP_PAUSE:
		arg[0] = 1 + (int)program_random(p, !p->stopped	 ? 5
						    : p->stop_ms ? p->stop_ms / 10
								 : 40);
		break;
	case STEP_STOP_PEER:
		arg[0] = p->stop_ms ? (int)(p->stop_ms + program_random(p, 2 * p->stop_ms))
				    : 1 << program_random(p, 12);
		p->stops -= p->stops != 0;
		break;
	default:
		break;
	}
}

/* What there is. */
struct census {
	uint32_t evds, sps, eps, idle, over, across, waiting;
	bool connects; /* to somebody who can accept */
};

static void count(const struct model *m, struct census *c)
{
	memset(c, 0, sizeof(*c));
	for (int i = 0; i < MAX_EVDS; i++)
		c->evds += m->evd[i].live;
	for (int i = 0; i < MAX_SPS; i++)
		c->sps += m->sp[i].live;
	for (int i = 0; i < MAX_EPS; i++) {
		c->eps += m->ep[i].live;
		c->idle += is_idle(m, i);
		c->over += is_over(m, i);
		c->across += is_connected(m, i) && m->conn[m->ep[i].conn].half[0].side !=
							   m->conn[m->ep[i].conn].half[1].side;
	}
	for (int i = 0; i < MAX_CONNS; i++) {
		const struct conn *conn = &m->conn[i];

		c->waiting +=
			conn->used && conn->request_seen && !conn->accepted && !conn->rejected;
	}
	for (uint32_t side = 0; side < m->sides; side++)
		c->connects |= has_others(m, (int)side, -1);
}

/* Most programs make what they lack, for without connections nothing much can happen. */
static uint32_t weight(const struct program *p, const struct census *c, unsigned int op)
{
	const uint32_t usual = p->weight[op];

	if (!p->lively)
		return usual;
	switch (op) {
	case STEP_EVD_CREATE:
		return 2 * c->evds < p->max_evds ? 16 * usual : usual;
	case STEP_SP_CREATE:
		return c->sps < MAX_SPS / 2 ? 16 * usual : usual;
	case STEP_EP_CREATE:
		return 4 * c->eps < 3 * p->max_eps ? 8 * usual : usual;
	case STEP_EP_FREE:
		return usual / 4;
	case STEP_EP_RESET:
		return c->over ? 4 * usual : usual / 16;
	case STEP_CONNECT:
		return c->connects ? 4 * usual : 0;
	case STEP_ACCEPT:
		return c->waiting && c->idle ? 8 * usual : 0;
	case STEP_REJECT:
		return c->waiting && !c->idle ? 16 * usual : usual;
	case STEP_STOP_PEER:
		return c->across ? 2 * usual : 0;
	default:
		return usual;
	}
}

static void next(struct program *p, const struct model *m, struct step *step)
{
	uint32_t sum = 0, at;
	struct census census;
	unsigned int op;

	count(m, &census);
	memset(step, 0, sizeof(*step));
	p->weight[STEP_STOP_PEER] =
		p->stops && !p->stopped ? program_weights[STEP_STOP_PEER] * 4 : 0;
	/* Who is not answered sends on, and gives up. */
	p->weight[STEP_DISCONNECT] = program_weights[STEP_DISCONNECT] *
				     (p->stopped ? 6 * p->disconnects : p->disconnects);
	for (op = 0; op < STEP_COUNT; op++)
		sum += weight(p, &census, op);
	at = program_random(p, sum);
	for (op = 0; at >= weight(p, &census, op); op++)
		at -= weight(p, &census, op);
	step->op = op;
	if (op == STEP_EP_CREATE)
		create_ep(p, m, step->arg);
	else if (op == STEP_ACCEPT)
		answer(p, m, step->arg);
	else if (op <= STEP_SRQ_RECV)
		object(p, m, step);
	else if (op <= STEP_DISCONNECT)
		endpoint(p, m, step);
	else if (op <= STEP_TRESPASS)
		transfer(p, m, step);
	else
		rest(p, m, step);
}

/* Whether the step would wait until the other process goes on. */
static bool waits_for_peer(const struct model *m, const struct step *step)
{
	switch (step->op) {
	case STEP_PAUSE:
		return false;
	case STEP_ACCEPT:
	case STEP_REJECT:
	case STEP_HANDOFF:
	case STEP_SETTLE:
		return true;
	default:
		return model_side(m, step->arg[0]) != 0;
	}
}

void program_next(struct program *p, const struct model *m, struct step *step)
{
	/* What comes of a trespass, before the endpoint goes for another reason. */
	if (p->trespassed && !p->stopped && !program_random(p, 4))
		*step = (struct step){ .op = STEP_SETTLE };
	else
		do
			next(p, m, step);
		while (p->stopped && waits_for_peer(m, step));
	p->trespassed = step->op == STEP_TRESPASS;
}
