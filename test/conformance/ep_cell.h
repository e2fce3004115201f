/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An endpoint in each state that one host can reach, for the tests of the state machine. */
#ifndef EP_CELL_H
#define EP_CELL_H

#include "conn_util.h"
#include "peer.h"

/* One endpoint brought into a state, each time in an IA of its own. */
struct cell {
	struct cu_rig *rig;
	struct ct_end *me, *other;
	DAT_EP_STATE state;
	DAT_CR_HANDLE cr; /* of the endpoint: P and T */
	DAT_RSP_HANDLE rsp;
	DAT_CONN_QUAL qual;  /* of the last */
	struct cu_rig *far;  /* A: whom it asks, in another open; nobody looked at far->cr */
	DAT_TIMEOUT timeout; /* A: of its attempt, to be set before */
	struct peer *peer;   /* CP: the active side, stopped */
};

struct cell_state {
	DAT_EP_STATE state;
	const char *name;
};

/* All states that can be reached; ends with a null name. */
extern const struct cell_state cell_states[];

/* The role that test programs must offer to peer_main. */
#define CELL_PEER                     \
	{                             \
		"active", cell_active \
	}
void cell_active(int fd);

/* Makes the endpoints; the state is that of cell_reach. */
void cell_open(struct cell *c, DAT_EP_STATE state);
/* false: this transport does not stop in the state. */
bool cell_reach(struct cell *c);
/* Whether a message without a receive breaks the connection; known once DP was tried. */
bool cell_transport_breaks(void);
void cell_close(struct cell *c);

#endif
