/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The states of endpoints, as sets of those that are possible. */
#ifndef MODEL_STATE_H
#define MODEL_STATE_H

#include "test/model/model.h"

#define BIT(state) (1U << (state))

enum {
	S_U = BIT(DAT_EP_STATE_UNCONNECTED),
	S_A = BIT(DAT_EP_STATE_ACTIVE_CONNECTION_PENDING),
	S_CP = BIT(DAT_EP_STATE_COMPLETION_PENDING),
	S_C = BIT(DAT_EP_STATE_CONNECTED),
	S_DP = BIT(DAT_EP_STATE_DISCONNECT_PENDING),
	S_D = BIT(DAT_EP_STATE_DISCONNECTED),
	/* Ranks: a connection only goes on, it never goes back. */
	RANK_START = 1,
	RANK_C,
	RANK_DP,
	RANK_D,
};

/* The endpoint was seen to be in this state: no earlier one is possible any more. */
void model_raise(struct half *x, uint32_t state);
void model_print_states(uint32_t states, char *out, size_t size);

#endif
