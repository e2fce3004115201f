/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ep_cell.h"

#include <unistd.h>

const struct cell_state cell_states[] = {
	{ DAT_EP_STATE_UNCONNECTED, "U" },
	{ DAT_EP_STATE_RESERVED, "R" },
	{ DAT_EP_STATE_PASSIVE_CONNECTION_PENDING, "P" },
	{ DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING, "T" },
	{ DAT_EP_STATE_ACTIVE_CONNECTION_PENDING, "A" },
	{ DAT_EP_STATE_COMPLETION_PENDING, "CP" },
	{ DAT_EP_STATE_CONNECTED, "C" },
	{ DAT_EP_STATE_DISCONNECT_PENDING, "DP" },
	{ DAT_EP_STATE_DISCONNECTED, "D" },
	{ DAT_EP_STATE_UNCONNECTED, NULL },
};

/* ---- Reaching the states ----------------------------------------------- */

static void reserve(struct cell *c)
{
	c->qual = cu_free_qual(c->rig);
	expect_ok(dat_rsp_create(c->rig->ia, c->qual, c->me->ep, c->rig->cr, &c->rsp));
}

static void reach_passive(struct cell *c)
{
	reserve(c);
	expect_ok(cu_connect(c->other, c->qual, DAT_TIMEOUT_INFINITE));
	c->cr = cu_take_cr(c->rig->cr);
}

/* Gives the endpoint that the provider made what the endpoint made before had (PSP-7). */
static void reach_tentative(struct cell *c)
{
	DAT_CR_PARAM cr;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_EP_PARAM param;

	expect_ok(dat_ep_query(c->me->ep, DAT_EP_FIELD_ALL, &param));
	expect_ok(dat_ep_free(c->me->ep));
	expect_ok(dat_psp_create_any(c->rig->ia, &qual, c->rig->cr, DAT_PSP_PROVIDER_FLAG, &psp));
	expect_ok(cu_connect(c->other, qual, DAT_TIMEOUT_INFINITE));
	c->cr = cu_take_cr(c->rig->cr);
	expect_ok(dat_cr_query(c->cr, DAT_CR_FIELD_ALL, &cr));
	c->me->ep = cr.local_ep_handle;
	assert_non_null(c->me->ep);
	expect_ok(dat_ep_modify(
		c->me->ep,
		DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
			DAT_EP_FIELD_REQUEST_EVD_HANDLE | DAT_EP_FIELD_CONNECT_EVD_HANDLE |
			DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS | DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS |
			DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV | DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV,
		&param));
}

/* The active side is a process that is stopped before the accept: the connection cannot complete. A
 * transport that completes it alone has no CP that could be looked at. */
static bool reach_completion(struct cell *c)
{
	DAT_CR_HANDLE cr;
	DAT_EVENT event;

	c->peer = peer_start("active");
	peer_put_service(c->peer->fd, c->rig);
	cr = cu_take_cr(c->rig->cr);
	assert_int_equal(peer_get_word(c->peer->fd), 1);
	peer_stop(c->peer);
	expect_ok(dat_cr_accept(cr, c->me->ep, 0, NULL));
	return !cu_next(c->me->connect, 100, &event);
}

void cell_active(int fd)
{
	struct cu_rig *rig = cu_rig_open();
	struct peer_service there = peer_get_service(fd);
	DAT_EVENT event;
	char nothing;

	ct_end_open(&rig->a, rig->ia, NULL);
	expect_ok(peer_connect(&rig->a, &there, DAT_TIMEOUT_INFINITE));
	peer_put_word(fd, 1);
	cu_next(rig->a.connect, 60000, &event);
	/* The other side looks at its state yet: stay until it is done. */
	while (read(fd, &nothing, 1) > 0)
		;
	cu_rig_close(rig);
}

static enum {
	UNKNOWN,
	HOLDS,
	BREAKS
} transport;

bool cell_transport_breaks(void)
{
	return transport == BREAKS;
}

/*
 * A message that nobody receives and that no transport can buffer keeps the disconnect waiting,
 * unless the transport breaks the connection for it (DTO-90).
 */
static bool reach_disconnecting(struct cell *c)
{
	struct ct_mem *big = cu_extra_mem(c->rig, c->me->pz, CU_BIG, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	DAT_LMR_TRIPLET seg = ct_segment(big, 0, CU_BIG);
	DAT_EVENT event;

	cu_establish(c->rig, c->me, c->other);
	expect_ok(dat_ep_post_send(c->me->ep, 1, &seg, cu_cookie(0xb16),
				   DAT_COMPLETION_DEFAULT_FLAG));
	if (transport == UNKNOWN)
		transport = cu_next(c->me->connect, CU_QUIET, &event) ? BREAKS : HOLDS;
	if (transport == BREAKS)
		return false;
	expect_ok(dat_ep_disconnect(c->me->ep, DAT_CLOSE_GRACEFUL_FLAG));
	return true;
}

bool cell_reach(struct cell *c)
{
	switch (c->state) {
	case DAT_EP_STATE_RESERVED:
		reserve(c);
		break;
	case DAT_EP_STATE_PASSIVE_CONNECTION_PENDING:
		reach_passive(c);
		break;
	case DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING:
		reach_tentative(c);
		break;
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
		c->far = cu_rig_open();
		expect_ok(cu_connect_to(c->me, c->far, c->timeout));
		break;
	case DAT_EP_STATE_COMPLETION_PENDING:
		if (!reach_completion(c))
			return false;
		break;
	case DAT_EP_STATE_CONNECTED:
		cu_establish(c->rig, c->me, c->other);
		break;
	case DAT_EP_STATE_DISCONNECT_PENDING:
		if (!reach_disconnecting(c))
			return false;
		break;
	case DAT_EP_STATE_DISCONNECTED:
		cu_establish(c->rig, c->me, c->other);
		cu_end_connection(c->me, c->other);
		break;
	default:
		break;
	}
	cu_check_state(c->me->ep, c->state, __FILE__, __LINE__);
	return true;
}

void cell_open(struct cell *c, DAT_EP_STATE state)
{
	memset(c, 0, sizeof(*c));
	c->rig = cu_rig_open();
	c->me = &c->rig->a;
	c->other = &c->rig->p;
	c->state = state;
	c->timeout = DAT_TIMEOUT_INFINITE;
	ct_end_open(c->me, c->rig->ia, NULL);
	ct_end_open(c->other, c->rig->ia, NULL);
}

void cell_close(struct cell *c)
{
	peer_end_all();
	if (c->far != NULL)
		cu_rig_close(c->far);
	cu_rig_close(c->rig);
}
