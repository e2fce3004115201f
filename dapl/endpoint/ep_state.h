/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The state machine of an endpoint as one table: state x cause -> next state and event, or refusal
 * (EP-129, EP-131). Pure: no locks, no objects. */
#ifndef DAPL_EP_STATE_H
#define DAPL_EP_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include <dat/udat.h>

/* Name and the call or occurrence it stands for; the order is that of the table's rows. */
#define DAPL_EP_CAUSES(X)                                            \
	X(CONNECT, "dat_ep_connect")                                 \
	X(UD_CONNECT, "dat_ep_connect, datagrams")                   \
	X(RSP_CREATE, "dat_rsp_create, dat_iw_ssp_create")           \
	X(RSP_FREE, "service point freed, or its socket over")       \
	X(ACCEPT, "dat_cr_accept, EP given")                         \
	X(UD_ACCEPT, "dat_cr_accept, EP given, datagrams")           \
	X(ACCEPT_OWN, "dat_cr_accept, EP of the CR")                 \
	X(REJECT, "dat_cr_reject, EP of the CR")                     \
	X(DISCONNECT, "dat_ep_disconnect, abrupt")                   \
	X(DISCONNECT_GRACEFUL, "dat_ep_disconnect, graceful")        \
	X(RESET, "dat_ep_reset")                                     \
	X(FREE, "dat_ep_free")                                       \
	X(CLOSE, "dat_ia_close, abrupt")                             \
	X(MODIFY_PZ, "dat_ep_modify, PZ")                            \
	X(MODIFY_QUEUES, "dat_ep_modify, EVDs, sizes and flags")     \
	X(MODIFY_U, "dat_ep_modify, comm and named attributes")      \
	X(POST_RECV, "dat_ep_post_recv")                             \
	X(POST_REQUEST, "dat_ep_post_send, _rdma_read, _rdma_write") \
	X(REQUEST, "request arrives at the RSP")                     \
	X(ESTABLISHED, "establishment complete")                     \
	X(PEER_REJECTED, "peer's consumer rejected")                 \
	X(REFUSED, "refused below the peer's consumer")              \
	X(TIMED_OUT, "time of the attempt or of the drain is over")  \
	X(UNREACHABLE, "address, route or host out of reach")        \
	X(ENDED, "connection ended in order")                        \
	X(BROKEN, "connection or establishment lost")

enum dapl_ep_cause {
#define X(name, text) DAPL_EP_##name,
	DAPL_EP_CAUSES(X)
#undef X
	DAPL_EP_NUM_CAUSES,
};

/* Not a state of DAT: the EP is being destroyed, everything bounces. */
#define DAPL_EP_GONE	   15
#define DAPL_EP_NUM_STATES 16

enum dapl_ep_verdict {
	DAPL_EP_REFUSE =
		0,    /* DAT_INVALID_STATE with the subtype of the state; occurrences: ignored */
	DAPL_EP_STAY, /* success without change */
	DAPL_EP_GO,   /* to next, with event if that is not 0 */
};

struct dapl_ep_step {
	uint8_t verdict;
	uint8_t next;
	uint16_t event; /* DAT_EVENT_NUMBER for the connect EVD, or 0 */
};

struct dapl_ep_step dapl_ep_step(uint8_t state, enum dapl_ep_cause cause);

/* The DAT_INVALID_STATE return that names the state. */
DAT_RETURN dapl_ep_state_error(uint8_t state);

bool dapl_ep_state_connected(uint8_t state);

/* "DAT_EP_STATE_..." without the prefix. */
const char *dapl_ep_state_name(uint8_t state);
const char *dapl_ep_cause_text(enum dapl_ep_cause cause);

#endif
