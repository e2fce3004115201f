/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The model: access to a peer's memory that must be refused (doc/spec, file 04). Nothing is read or
 * written, and the connection breaks: from then on it may end at any time, and must.
 */
#include "test/model/model.h"

enum {
	DEAD_KEY,      /* a context that was valid once */
	BEYOND_END,    /* of a window */
	WITHOUT_RIGHT, /* that the window would have to grant */
	OTHERS_WINDOW, /* bound for another endpoint */
	UNKNOWN_KEY,
	KINDS,
	MAX_LENGTH = 2000, /* twice as much: a read */
	MAX_INSIDE = 64,
};

void key_dies(struct model *m, const struct model_rmr *rmr, uint32_t key, int cell)
{
	uint32_t side = model_side(m, (int)(rmr - m->rmr));

	m->dead[side][m->dead_count[side]++ % MAX_DEAD] = (struct dead_key){ key, cell, rmr->ep };
}

/* A binding that goes too early turns a request into a trespass. */
void window_left(struct model *m, struct conn *c, int half, const struct entry *entry)
{
	struct model_rmr *rmr = &m->rmr[entry->rmr];

	c->half[half].late |= (uint8_t)(1U << entry->rmr);
	if (entry->op == STEP_SEND_INVALIDATE)
		rmr->dying = false, rmr->unknown = true;
	else if (rmr->users)
		rmr->users--;
}

/* By a request on its way to an endpoint that has not heard of the end. */
bool window_needed(const struct model *m, int rmr)
{
	for (int i = 0; i < MAX_CONNS; i++)
		for (int half = 0; half < 2; half++) {
			const struct half *x = &m->conn[i].half[half], *y = &m->conn[i].half[!half];

			if (m->conn[i].used && x->late & 1U << rmr && y->phase != PHASE_ENDED &&
			    !y->gone)
				return true;
		}
	return m->rmr[rmr].users != 0;
}

static bool is_bound(const struct model_rmr *rmr)
{
	return rmr->live && rmr->bound && !rmr->binding && !rmr->dying && !rmr->unknown;
}

/* A window of that side that will do for an access of its kind; -1: none. */
static int find_window(const struct model *m, uint32_t side, int kind, int peer, int from)
{
	for (int i = 0; i < MAX_RMRS; i++) {
		int at = (from + i) % MAX_RMRS;
		const struct model_rmr *rmr = &m->rmr[at];
		bool theirs = rmr->ep_scope && rmr->ep != peer;

		if (!is_bound(rmr) || model_side(m, at) != side)
			continue;
		if (kind == BEYOND_END	    ? !theirs && !rmr->rights
		    : kind == WITHOUT_RIGHT ? !theirs && rmr->rights
					    : theirs && !rmr->rights)
			return at;
	}
	return -1;
}

/* Where an access of a kind goes, and with which context; false: there is nothing for it. */
static bool aim(struct model *m, struct call *call, uint32_t side, int peer)
{
	uint32_t count = m->dead_count[side] < MAX_DEAD ? m->dead_count[side] : MAX_DEAD;
	int *arg = call->step.arg, window;
	const struct dead_key *dead;

	call->request = (uint32_t)arg[3] / MAX_LENGTH % 2;
	if (arg[2] == UNKNOWN_KEY) {
		call->remote_key = m->facts[side].cell_key ^ 0x5aa50ff0;
		return true;
	}
	if (arg[2] == DEAD_KEY) {
		/* Best one that this connection could use. */
		dead = &m->dead[side][count ? (uint32_t)arg[1] % count : 0];
		for (uint32_t i = 1; i < count && dead->ep != peer; i++)
			dead = &m->dead[side][((uint32_t)arg[1] + i) % count];
		arg[1] = count ? dead->cell : arg[1];
		call->remote_key = dead->key;
		return count;
	}
	window = find_window(m, side, arg[2], peer, arg[1]);
	if (window < 0)
		return false;
	arg[1] = m->rmr[window].cell;
	call->remote_key = m->rmr[window].key;
	if (arg[2] == WITHOUT_RIGHT)
		call->request = m->rmr[window].rights == 2; /* reads what is for writes alone */
	return true;
}

/* An access of the kind that the step names or, where there is nothing for it, of another one. */
static bool aim_any(struct model *m, struct call *call, uint32_t side, int peer)
{
	int first = call->step.arg[2] % KINDS;

	for (int i = 0; i < KINDS; i++) {
		call->step.arg[2] = first == UNKNOWN_KEY ? first : (first + i) % UNKNOWN_KEY;
		if (aim(m, call, side, peer))
			return true;
	}
	return false;
}

bool trespass_prepare(struct model *m, struct call *call)
{
	int *arg = call->step.arg;
	struct model_ep *ep = &m->ep[arg[0]];
	struct conn *c = ep->live ? model_conn(m, ep) : NULL;
	uint32_t length = 8 + (uint32_t)arg[3] % MAX_LENGTH, side;

	/* Devices end such a connection in other ways. */
	if (!c || c->fault || m->facts[0].receives_first)
		return false;
	for (int half = 0; half < 2; half++)
		if (c->half[half].phase != PHASE_CONNECTED || c->half[half].disconnected ||
		    c->half[half].gone || c->half[half].ep < 0)
			return false;
	side = (uint32_t)c->half[!ep->half].side;
	if (arg[1] < 0 || arg[1] >= CELLS * (int)m->sides || model_side(m, arg[1]) != side ||
	    !aim_any(m, call, side, c->half[!ep->half].ep) || model_is_counter(m, arg[1]) ||
	    !request_prepare(m, call) || !buffer_prepare(m, call, length, true))
		return false;
	call->segments = 1;
	call->remote_at = (uintptr_t)model_cell(m, arg[1]);
	/* Its first part as well: each is checked by itself. */
	if (arg[2] == BEYOND_END)
		call->remote_at += CELL_BYTES - (length < 2 * MAX_INSIDE ? length / 2 : MAX_INSIDE);
	return true;
}

void trespass_posted(struct model *m, struct conn *c, struct entry *entry, const struct call *call)
{
	entry->value = call->request;
	entry->ordinal = 0;
	if (!c)
		return;
	c->fault = true;
	m->trespassed = true;
}

/* A write may be sent before the peer refuses it. */
void trespass_over(struct model *m, const struct entry *entry, bool ok)
{
	if (ok && entry->value)
		model_wrong(m, "RMR-33, DTO-84: a read of %u bytes succeeded that must be refused",
			    entry->length);
}
