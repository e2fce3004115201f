/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The model: what is told of connections, and what must be (doc/spec, file 02). */
#include <string.h>

#include "test/model/model_state.h"

/* ---- Events ---- */

static void check_private(struct model *m, const struct seen *seen, uint32_t id, uint32_t who,
			  uint32_t size)
{
	uint8_t expected[PRIVATE_BYTES];

	conn_private_data(id, who, size ? size : 4, expected);
	if (seen->private_size != size || memcmp(seen->private_data, expected, size) != 0)
		model_wrong(m,
			    "PD-5: event 0x%x of connection %u has %u bytes of private data, not "
			    "the %u that were sent",
			    seen->number, id, seen->private_size, size);
}

void conn_request(struct model *m, const struct seen *seen, uint32_t side)
{
	struct conn *c = conn_of_request(m, seen->request);

	if (seen->status != DAT_SUCCESS) {
		model_wrong(m, "CR-1: dat_cr_query of a new request: 0x%x", seen->status);
		return;
	}
	if (!c && m->possible[seen->request % 65536]) {
		m->possible[seen->request % 65536] = 0;
		if (m->evd[seen->evd].orphans)
			m->evd[seen->evd].orphans--;
		else
			m->evd[seen->evd].stragglers -= m->evd[seen->evd].stragglers != 0;
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

static bool legal(const struct model *m, const struct conn *c, int half, uint32_t number)
{
	const struct half *x = &c->half[half], *y = &c->half[!half];

	if (x->phase == PHASE_ENDED)
		return false;
	if (x->phase == PHASE_CONNECTED)
		return (number == DAT_CONNECTION_EVENT_DISCONNECTED &&
			(x->disconnected || model_may_end(c, half))) ||
		       (number == DAT_CONNECTION_EVENT_BROKEN &&
			(c->fault || model_may_reset(m, c, half)));
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
		return half && (c->short_time || m->facts[0].gives_up || model_may_end(c, half));
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		return !half && m->facts[0].gives_up;
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
		model_raise(x, S_C);
		return;
	}
	x->phase = PHASE_ENDED;
	model_raise(x, S_D);
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
		    !legal(m, &m->conn[ghost->conn], ghost->half, seen->number))
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
	if (!c || !legal(m, c, half, seen->number)) {
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

/* More was sent by the other half than this one has received or posted Receives for. */
static bool starved(const struct model *m, const struct half *x, const struct half *y)
{
	if (m->ep[x->ep].srq >= 0)
		return y->sent > x->received;
	return y->sent > x->received + m->ep[x->ep].recv.count;
}

/* A Send of this half waits, or may wait, for a receive that nobody posted. */
static bool stuck(const struct model *m, const struct conn *c, int half)
{
	const struct half *x = &c->half[half], *y = &c->half[!half];

	return y->ep >= 0 && x->ep >= 0 && starved(m, y, x);
}

/*
 * More waits at this half for Receives than the provider keeps, so that what comes behind it, the
 * peer's end, is not heard before Receives are posted (EP-98).
 */
static bool deaf(const struct model *m, const struct conn *c, int half)
{
	const struct half *x = &c->half[half];

	return x->ep >= 0 && model_unreceived(c, half) > KEPT_BYTES &&
	       starved(m, x, &c->half[!half]);
}

static bool outcome_owed(const struct model *m, const struct conn *c, int half)
{
	const struct half *x = &c->half[half], *y = &c->half[!half];

	if (x->phase == PHASE_ENDED || x->ep < 0)
		return false;
	if (x->phase == PHASE_CONNECTED && !x->disconnected && deaf(m, c, half))
		return false;
	if (x->disconnected == 1 || y->disconnected == 1)
		return true;
	if (c->fault && !stuck(m, c, 0) && !stuck(m, c, 1))
		return true;
	if (x->phase == PHASE_START)
		return half || c->accepted || c->rejected || c->short_time || x->disconnected;
	if (y->phase == PHASE_ENDED || y->gone)
		return true;
	return (x->disconnected && !stuck(m, c, half)) ||
	       (y->disconnected && !stuck(m, c, !half) && !stuck(m, c, half));
}

bool conn_owes(const struct model *m, int *evd, char *what, size_t size)
{
	for (int i = 0; i < MAX_CONNS; i++) {
		const struct conn *c = &m->conn[i];

		if (!c->used)
			continue;
		/* Who gave up before it was heard is told so, and nobody else is. */
		if (!c->request_seen && !c->refused && !c->short_time && !c->half[0].disconnected &&
		    c->half[0].phase == PHASE_START && c->half[0].ep >= 0) {
			*evd = c->sp_evd;
			snprintf(what, size, "PSP-1: request %u of ep %d on evd %d", c->id,
				 c->half[0].ep, c->sp_evd);
			return true;
		}
		for (int half = 0; half < 2; half++)
			if (outcome_owed(m, c, half)) {
				*evd = c->half[half].evd;
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
