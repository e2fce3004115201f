/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The model: which states an endpoint may be in (EP-129 to EP-149). */
#include "test/model/model_state.h"

bool model_may_end(const struct conn *c, int half)
{
	const struct half *peer = &c->half[!half];

	return c->fault || peer->disconnected || peer->gone || peer->phase == PHASE_ENDED ||
	       (c->short_time && half && peer->phase == PHASE_START);
}

bool model_may_reset(const struct model *m, const struct conn *c, int half)
{
	const struct half *peer = &c->half[!half];

	if (m->facts[0].fails_answers && peer->reads && (peer->disconnected || peer->gone))
		return true;
	return m->facts[0].resets && (peer->disconnected == 1 || peer->gone) &&
	       (peer->crowded || m->stood_still);
}

uint64_t model_unreceived(const struct conn *c, int half)
{
	const struct half *x = &c->half[half], *y = &c->half[!half];
	uint64_t bytes = 0;

	for (uint32_t i = x->received; i != y->sent; i++)
		bytes += y->messages[i % MAX_QUEUE].length;
	return bytes;
}

/* What is due when the connection has not been told to be established yet. */
static uint32_t start_states(const struct model *m, const struct conn *c, int half)
{
	const struct half *x = &c->half[half];
	uint32_t states = x->disconnected ? S_DP | S_D : half ? S_CP : S_A;

	if (c->accepted && !x->disconnected)
		states |= S_C;
	if (model_may_end(c, half) || c->rejected || c->refused || c->short_time ||
	    m->facts[0].gives_up)
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
		states = start_states(m, c, ep->half);
	else if (x->phase == PHASE_ENDED)
		states = S_D;
	else
		states = (x->disconnected ? S_DP | S_D : S_C) |
			 (model_may_end(c, ep->half) ? S_D : 0);
	return states & from_rank[x->rank];
}

void model_raise(struct half *x, uint32_t state)
{
	uint8_t rank = state & (S_A | S_CP) ? RANK_START
		       : state & S_C	    ? RANK_C
		       : state & S_DP	    ? RANK_DP
					    : RANK_D;

	if (rank > x->rank)
		x->rank = rank;
}

void model_print_states(uint32_t states, char *out, size_t size)
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
