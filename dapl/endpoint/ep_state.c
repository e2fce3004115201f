/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/endpoint/ep_state.h"

#include "dapl/base/status.h"

#define U  DAT_EP_STATE_UNCONNECTED
#define R  DAT_EP_STATE_RESERVED
#define P  DAT_EP_STATE_PASSIVE_CONNECTION_PENDING
#define A  DAT_EP_STATE_ACTIVE_CONNECTION_PENDING
#define T  DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING
#define CP DAT_EP_STATE_COMPLETION_PENDING
#define C  DAT_EP_STATE_CONNECTED
#define DP DAT_EP_STATE_DISCONNECT_PENDING
#define D  DAT_EP_STATE_DISCONNECTED

#define stay                            \
	{                               \
		.verdict = DAPL_EP_STAY \
	}
#define go(state)                                      \
	{                                              \
		.verdict = DAPL_EP_GO, .next = (state) \
	}
#define say(state, name)                                                                     \
	{                                                                                    \
		.verdict = DAPL_EP_GO, .next = (state), .event = DAT_CONNECTION_EVENT_##name \
	}
#define gone go(DAPL_EP_GONE)

/* What is not listed is refused. */
static const struct dapl_ep_step table[DAPL_EP_NUM_CAUSES][DAPL_EP_NUM_STATES] = {
	[DAPL_EP_CONNECT] = { [U] = go(A) },
	[DAPL_EP_UD_CONNECT] = { [U] = go(A), [A] = stay, [CP] = stay }, /* IBX-62 */
	[DAPL_EP_RSP_CREATE] = { [U] = go(R) },
	[DAPL_EP_RSP_FREE] = { [R] = go(U) },
	[DAPL_EP_ACCEPT] = { [U] = go(CP) },
	[DAPL_EP_UD_ACCEPT] = { [U] = go(CP), [A] = stay, [CP] = stay },
	[DAPL_EP_ACCEPT_OWN] = { [P] = go(CP), [T] = go(CP) },
	[DAPL_EP_REJECT] = { [P] = go(U), [T] = gone },
	[DAPL_EP_DISCONNECT] = {
		[A] = say(D, DISCONNECTED), /* EP-93 */
		[CP] = say(D, DISCONNECTED),
		[C] = say(D, DISCONNECTED), /* EP-94 */
		[DP] = say(D, DISCONNECTED), /* EP-96 */
		[D] = stay, /* EP-92 */
	},
	[DAPL_EP_DISCONNECT_GRACEFUL] = {
		[A] = say(D, DISCONNECTED),
		[CP] = say(D, DISCONNECTED),
		[C] = go(DP), /* EP-95 */
		[DP] = stay,
		[D] = stay,
	},
	[DAPL_EP_RESET] = { [U] = stay, [D] = go(U) },
	[DAPL_EP_FREE] = { [U] = gone, [A] = gone, [CP] = gone, [C] = gone, [DP] = gone, [D] = gone },
	[DAPL_EP_CLOSE] = { [U] = gone, [R] = gone, [P] = gone, [T] = gone, [A] = gone,
			    [CP] = gone, [C] = gone, [DP] = gone, [D] = gone },
	[DAPL_EP_MODIFY_PZ] = { [U] = stay, [T] = stay },
	[DAPL_EP_MODIFY_QUEUES] = { [U] = stay, [R] = stay, [P] = stay, [T] = stay },
	[DAPL_EP_MODIFY_U] = { [U] = stay },
	[DAPL_EP_POST_RECV] = { [U] = stay, [R] = stay, [P] = stay, [T] = stay, [A] = stay,
				[CP] = stay, [C] = stay, [DP] = stay, [D] = stay },
	[DAPL_EP_POST_REQUEST] = { [C] = stay, [D] = stay },
	[DAPL_EP_REQUEST] = { [R] = go(P) }, /* EP-132 */
	[DAPL_EP_ESTABLISHED] = {
		[A] = say(C, ESTABLISHED), /* EP-134 */
		[CP] = say(C, ESTABLISHED), /* EP-139 */
	},
	[DAPL_EP_PEER_REJECTED] = { [A] = say(D, PEER_REJECTED) }, /* EP-135 */
	[DAPL_EP_REFUSED] = {
		[A] = say(D, NON_PEER_REJECTED), /* EP-136 */
		[CP] = say(D, ACCEPT_COMPLETION_ERROR),
	},
	[DAPL_EP_TIMED_OUT] = {
		[A] = say(D, TIMED_OUT), /* EP-137 */
		[DP] = say(D, DISCONNECTED), /* EP-95 */
	},
	[DAPL_EP_UNREACHABLE] = {
		[A] = say(D, UNREACHABLE), /* EP-138 */
		[CP] = say(D, ACCEPT_COMPLETION_ERROR),
	},
	[DAPL_EP_ENDED] = {
		[A] = say(D, NON_PEER_REJECTED),
		[CP] = say(D, ACCEPT_COMPLETION_ERROR), /* EP-140 */
		[C] = say(D, DISCONNECTED), /* EP-142 */
		[DP] = say(D, DISCONNECTED), /* EP-147, EP-148 */
	},
	[DAPL_EP_BROKEN] = {
		[A] = say(D, NON_PEER_REJECTED),
		[CP] = say(D, ACCEPT_COMPLETION_ERROR), /* EP-140 */
		[C] = say(D, BROKEN), /* EP-143 to EP-146 */
		[DP] = say(D, DISCONNECTED), /* EP-148 */
	},
};

static const struct {
	const char *name;
	uint16_t subtype;
} states[DAPL_EP_NUM_STATES] = {
	[U] = { "UNCONNECTED", DAT_INVALID_STATE_EP_UNCONNECTED },
	[DAT_EP_STATE_UNCONFIGURED_UNCONNECTED] = { "UNCONFIGURED_UNCONNECTED",
						    DAT_INVALID_STATE_EP_UNCONFIGURED },
	[R] = { "RESERVED", DAT_INVALID_STATE_EP_RESERVED },
	[DAT_EP_STATE_UNCONFIGURED_RESERVED] = { "UNCONFIGURED_RESERVED",
						 DAT_INVALID_STATE_EP_UNCONFRESERVED },
	[P] = { "PASSIVE_CONNECTION_PENDING", DAT_INVALID_STATE_EP_PASSCONNPENDING },
	[DAT_EP_STATE_UNCONFIGURED_PASSIVE] = { "UNCONFIGURED_PASSIVE",
						DAT_INVALID_STATE_EP_UNCONFPASSIVE },
	[A] = { "ACTIVE_CONNECTION_PENDING", DAT_INVALID_STATE_EP_ACTCONNPENDING },
	[T] = { "TENTATIVE_CONNECTION_PENDING", DAT_INVALID_STATE_EP_TENTCONNPENDING },
	[DAT_EP_STATE_UNCONFIGURED_TENTATIVE] = { "UNCONFIGURED_TENTATIVE",
						  DAT_INVALID_STATE_EP_UNCONFTENTATIVE },
	[C] = { "CONNECTED", DAT_INVALID_STATE_EP_CONNECTED },
	[DP] = { "DISCONNECT_PENDING", DAT_INVALID_STATE_EP_DISCPENDING },
	[D] = { "DISCONNECTED", DAT_INVALID_STATE_EP_DISCONNECTED },
	[CP] = { "COMPLETION_PENDING", DAT_INVALID_STATE_EP_COMPLPENDING },
	[DAT_EP_STATE_CONNECTED_SINGLE_PATH] = { "CONNECTED_SINGLE_PATH",
						 DAT_INVALID_STATE_EP_CONNECTED },
	[DAT_EP_STATE_CONNECTED_MULTI_PATH] = { "CONNECTED_MULTI_PATH",
						DAT_INVALID_STATE_EP_CONNECTED },
	[DAPL_EP_GONE] = { "GONE", DAT_INVALID_STATE_EP_PROVIDERCONTROL },
};

struct dapl_ep_step dapl_ep_step(uint8_t state, enum dapl_ep_cause cause)
{
	return table[cause][state];
}

DAT_RETURN dapl_ep_state_error(uint8_t state)
{
	return dapl_fail(DAT_INVALID_STATE, states[state].subtype);
}

bool dapl_ep_state_connected(uint8_t state)
{
	return state == C || state == DAT_EP_STATE_CONNECTED_SINGLE_PATH ||
	       state == DAT_EP_STATE_CONNECTED_MULTI_PATH;
}

const char *dapl_ep_state_name(uint8_t state)
{
	return states[state].name;
}

const char *dapl_ep_cause_text(enum dapl_ep_cause cause)
{
	static const char *const texts[] = {
#define X(name, text) text,
		DAPL_EP_CAUSES(X)
#undef X
	};

	return texts[cause];
}
