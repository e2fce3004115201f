/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "providers/soft/cm/conn_state.h"

#define go(state)                              \
	{                                      \
		.valid = true, .next = (state) \
	}
#define up(state)                                                             \
	{                                                                     \
		.valid = true, .next = (state), .tell = SOFT_TELL_ESTABLISHED \
	}
#define end(how, what)                                                           \
	{                                                                        \
		.valid = true, .next = SOFT_CONN_ENDED, .link = SOFT_LINK_##how, \
		.tell = SOFT_TELL_##what                                         \
	}

/*
 * An end that was asked for, as long as the connection is being made. A side that only closes before
 * its reply is out would be asked again, in revision 1.
 */
#define ENDS_SET_UP                                                                                \
	[SOFT_CONN_CONNECTING] = end(ABORT, NOTHING),                                              \
	[SOFT_CONN_REQUESTING] = end(CLOSE, NOTHING), [SOFT_CONN_REQUESTED] = end(ABORT, NOTHING), \
	[SOFT_CONN_ACCEPTING] = end(ABORT, NOTHING), [SOFT_CONN_AWAITING] = end(BY_FAULT, NOTHING)

/* What is not listed means nothing. */
static const struct soft_conn_step table[SOFT_CAUSES][SOFT_CONN_STATES] = {
	[SOFT_CAUSE_CONNECTED] = { [SOFT_CONN_CONNECTING] = go(SOFT_CONN_REQUESTING) },
	[SOFT_CAUSE_RETRY] = {
		[SOFT_CONN_CONNECTING] = go(SOFT_CONN_CONNECTING),
		[SOFT_CONN_REQUESTING] = go(SOFT_CONN_CONNECTING),
	},
	[SOFT_CAUSE_REPLY] = { [SOFT_CONN_REQUESTING] = up(SOFT_CONN_LIVE) },
	[SOFT_CAUSE_REJECTED] = { [SOFT_CONN_REQUESTING] = end(CLOSE, REJECTED) },
	[SOFT_CAUSE_UNFIT] = { [SOFT_CONN_REQUESTING] = end(BY_FAULT, FAILURE) },
	[SOFT_CAUSE_REQUEST] = { [SOFT_CONN_HALF_OPEN] = go(SOFT_CONN_REQUESTED) },
	[SOFT_CAUSE_ACCEPT] = { [SOFT_CONN_REQUESTED] = go(SOFT_CONN_ACCEPTING) },
	[SOFT_CAUSE_REJECT] = { [SOFT_CONN_REQUESTED] = end(ORPHAN, NOTHING) },
	[SOFT_CAUSE_HANDOFF] = { [SOFT_CONN_REQUESTED] = end(CLOSE, NOTHING) },
	[SOFT_CAUSE_REPLIED] = { [SOFT_CONN_ACCEPTING] = up(SOFT_CONN_LIVE) },
	[SOFT_CAUSE_REPLIED_CONFIRM] = { [SOFT_CONN_ACCEPTING] = go(SOFT_CONN_AWAITING) },
	[SOFT_CAUSE_CONFIRMED] = { [SOFT_CONN_AWAITING] = up(SOFT_CONN_LIVE) },
	[SOFT_CAUSE_FAILED] = {
		[SOFT_CONN_CONNECTING] = end(ABORT, FAILURE),
		[SOFT_CONN_REQUESTING] = end(CLOSE, FAILURE),
		[SOFT_CONN_HALF_OPEN] = end(ABORT, NOTHING),
		[SOFT_CONN_REQUESTED] = end(ABORT, NOTHING),
		[SOFT_CONN_ACCEPTING] = end(BY_FAULT, BROKEN), /* one of two outcomes */
		[SOFT_CONN_AWAITING] = end(BY_FAULT, BROKEN),
	},
	[SOFT_CAUSE_OVER] = {
		[SOFT_CONN_AWAITING] = end(BY_FAULT, BROKEN),
		[SOFT_CONN_LIVE] = end(BY_FAULT, FAULT),
		[SOFT_CONN_DRAINING] = end(BY_FAULT, FAULT),
	},
	[SOFT_CAUSE_DISCONNECT] = {
		ENDS_SET_UP,
		[SOFT_CONN_LIVE] = end(BY_FAULT, NOTHING),
		[SOFT_CONN_DRAINING] = end(BY_FAULT, NOTHING),
	},
	[SOFT_CAUSE_DISCONNECT_GRACEFUL] = {
		ENDS_SET_UP,
		[SOFT_CONN_LIVE] = go(SOFT_CONN_DRAINING),
		[SOFT_CONN_DRAINING] = go(SOFT_CONN_DRAINING),
	},
};

struct soft_conn_step soft_conn_step(enum soft_conn_state state, enum soft_conn_cause cause)
{
	return table[cause][state];
}
