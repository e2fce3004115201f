/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The provider against its own table of states (dapl/endpoint/ep_state.c): each call and each
 * occurrence is made in every state that can be reached, and verdict, next state and event must be
 * the table's. So the table, and the documentation made from it, cannot say what the provider does
 * not do.
 */
#include "ep_cell.h"

#include <arpa/inet.h>

#include "dapl/endpoint/ep_state.h"

#define FIRST_OCCURRENCE DAPL_EP_REQUEST

/* What was met, for the sum at the end. */
static bool met[DAPL_EP_NUM_CAUSES][DAPL_EP_NUM_STATES];

/* A way to make a call or to bring an occurrence about; false: not possible in this state. */
typedef bool (*maker)(struct cell *c, DAT_RETURN *rc);

/* ---- Calls ---- */

static bool connect_(struct cell *c, DAT_RETURN *rc)
{
	*rc = cu_connect(c->me, c->rig->qual, DAT_TIMEOUT_INFINITE);
	return true;
}

static bool connect_by_port(struct cell *c, DAT_RETURN *rc)
{
	struct sockaddr_storage to = cu_service(c->rig, c->rig->qual);

	*rc = dat_ep_common_connect(c->me->ep, (DAT_IA_ADDRESS_PTR)&to, DAT_TIMEOUT_INFINITE, 0,
				    NULL);
	if (ct_has_ports(c->rig->attr.ia_address_ptr))
		return true;
	/* In no state. */
	expect_type(*rc, DAT_COMM_NOT_SUPPORTED);
	cu_check_state(c->me->ep, c->state, __FILE__, __LINE__);
	return false;
}

static bool connect_like_another(struct cell *c, DAT_RETURN *rc)
{
	struct ct_end model = { 0 }, acceptor = { 0 };

	ct_end_open(&model, c->rig->ia, NULL);
	ct_end_open(&acceptor, c->rig->ia, NULL);
	cu_establish(c->rig, &model, &acceptor);
	*rc = dat_ep_dup_connect(c->me->ep, model.ep, DAT_TIMEOUT_INFINITE, 0, NULL,
				 DAT_QOS_BEST_EFFORT);
	return true;
}

static bool rsp_create(struct cell *c, DAT_RETURN *rc)
{
	DAT_RSP_HANDLE rsp;

	*rc = dat_rsp_create(c->rig->ia, cu_free_qual(c->rig), c->me->ep, c->rig->cr, &rsp);
	return true;
}

static bool rsp_free(struct cell *c, DAT_RETURN *rc)
{
	if (c->state != DAT_EP_STATE_RESERVED)
		return false;
	*rc = dat_rsp_free(c->rsp);
	return true;
}

static bool accept_given(struct cell *c, DAT_RETURN *rc)
{
	struct ct_end asker = { 0 };

	ct_end_open(&asker, c->rig->ia, NULL);
	*rc = dat_cr_accept(cu_request(c->rig, &asker), c->me->ep, 0, NULL);
	return true;
}

static bool accept_own(struct cell *c, DAT_RETURN *rc)
{
	if (c->cr == NULL)
		return false;
	*rc = dat_cr_accept(c->cr, NULL, 0, NULL);
	return true;
}

static bool reject(struct cell *c, DAT_RETURN *rc)
{
	if (c->cr == NULL)
		return false;
	*rc = dat_cr_reject(c->cr, 0, NULL);
	return true;
}

static bool hand_off(struct cell *c, DAT_RETURN *rc)
{
	if (c->cr == NULL)
		return false;
	*rc = dat_cr_handoff(c->cr, c->rig->qual);
	return !cu_unsupported(*rc);
}

static bool disconnect(struct cell *c, DAT_RETURN *rc)
{
	*rc = dat_ep_disconnect(c->me->ep, DAT_CLOSE_ABRUPT_FLAG);
	return true;
}

/* With something left to do, or the state would be gone at once. */
static bool disconnect_graceful(struct cell *c, DAT_RETURN *rc)
{
	if (c->state == DAT_EP_STATE_CONNECTED && !cell_transport_breaks()) {
		struct ct_mem *big =
			cu_extra_mem(c->rig, c->me->pz, CU_BIG, DAT_MEM_PRIV_LOCAL_READ_FLAG);
		DAT_LMR_TRIPLET seg = ct_segment(big, 0, CU_BIG);

		expect_ok(dat_ep_post_send(c->me->ep, 1, &seg, cu_cookie(1),
					   DAT_COMPLETION_DEFAULT_FLAG));
	}
	*rc = dat_ep_disconnect(c->me->ep, DAT_CLOSE_GRACEFUL_FLAG);
	return true;
}

static bool reset(struct cell *c, DAT_RETURN *rc)
{
	*rc = dat_ep_reset(c->me->ep);
	return true;
}

static bool free_(struct cell *c, DAT_RETURN *rc)
{
	*rc = dat_ep_free(c->me->ep);
	return true;
}

static bool close_(struct cell *c, DAT_RETURN *rc)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	*rc = dat_ia_close(c->rig->ia, DAT_CLOSE_ABRUPT_FLAG);
	/* The rig closes once more. */
	expect_ok(dat_ia_open(harness_ia_name(), 8, &async, &c->rig->ia));
	return true;
}

/* Sets fields to what they are. */
static DAT_RETURN modify(struct cell *c, DAT_EP_PARAM_MASK mask)
{
	DAT_EP_PARAM param;

	cu_query(c->me->ep, &param);
	return dat_ep_modify(c->me->ep, mask, &param);
}

static bool modify_pz(struct cell *c, DAT_RETURN *rc)
{
	*rc = modify(c, DAT_EP_FIELD_PZ_HANDLE);
	return true;
}

static bool modify_evds(struct cell *c, DAT_RETURN *rc)
{
	*rc = modify(c, DAT_EP_FIELD_RECV_EVD_HANDLE | DAT_EP_FIELD_REQUEST_EVD_HANDLE |
				DAT_EP_FIELD_CONNECT_EVD_HANDLE);
	return true;
}

static bool modify_sizes(struct cell *c, DAT_RETURN *rc)
{
	*rc = modify(c, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS | DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS |
				DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE |
				DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS);
	return true;
}

static bool modify_comm(struct cell *c, DAT_RETURN *rc)
{
	*rc = modify(c, DAT_EP_FIELD_COMM);
	return true;
}

static bool post_recv(struct cell *c, DAT_RETURN *rc)
{
	*rc = cu_recv(c->me, 0, 64, 1);
	return true;
}

static bool post_send(struct cell *c, DAT_RETURN *rc)
{
	*rc = ct_post_send(c->me, 0, 0, 1, DAT_COMPLETION_DEFAULT_FLAG);
	return true;
}

static bool post_write(struct cell *c, DAT_RETURN *rc)
{
	*rc = cu_write(c->me, 0, 64, 1, &c->other->mem, 0, DAT_COMPLETION_SUPPRESS_FLAG);
	return true;
}

static bool post_read(struct cell *c, DAT_RETURN *rc)
{
	*rc = cu_read(c->me, 0, 64, 1, &c->other->mem, 0, DAT_COMPLETION_BARRIER_FENCE_FLAG);
	return true;
}

static bool post_invalidating_send(struct cell *c, DAT_RETURN *rc)
{
	DAT_LMR_TRIPLET seg = ct_segment(&c->me->mem, 0, 64);

	*rc = dat_ep_post_send_with_invalidate(c->me->ep, 1, &seg, cu_cookie(1),
					       DAT_COMPLETION_DEFAULT_FLAG, DAT_FALSE, 0);
	return !cu_unsupported(*rc);
}

static bool bind_(struct cell *c, DAT_RETURN *rc)
{
	DAT_LMR_TRIPLET range = ct_segment(&c->me->mem, 0, 64);
	DAT_RMR_HANDLE rmr;

	if (cu_unsupported(c->rig->prov.rmr_scope_supported == DAT_RMR_SCOPE_EP
				   ? dat_rmr_create_for_ep(c->me->pz, &rmr)
				   : dat_rmr_create(c->me->pz, &rmr)))
		return false;
	*rc = dat_rmr_bind(rmr, c->me->mem.lmr, &range, DAT_MEM_PRIV_REMOTE_READ_FLAG,
			   DAT_VA_TYPE_VA, c->me->ep, cu_cookie(1), DAT_COMPLETION_DEFAULT_FLAG,
			   NULL);
	return true;
}

/* ---- Occurrences ---- */

static bool request(struct cell *c, DAT_RETURN *rc)
{
	(void)rc;
	if (c->state != DAT_EP_STATE_RESERVED)
		return false;
	expect_ok(cu_connect(c->other, c->qual, DAT_TIMEOUT_INFINITE));
	cu_take_cr(c->rig->cr);
	return true;
}

static bool established(struct cell *c, DAT_RETURN *rc)
{
	(void)rc;
	if (c->peer != NULL) {
		peer_continue(c->peer);
		return true;
	}
	if (c->far == NULL)
		return false;
	ct_end_open(&c->far->p, c->far->ia, NULL);
	expect_ok(dat_cr_accept(cu_take_cr(c->far->cr), c->far->p.ep, 0, NULL));
	return true;
}

static bool peer_rejected(struct cell *c, DAT_RETURN *rc)
{
	(void)rc;
	if (c->far == NULL)
		return false;
	expect_ok(dat_cr_reject(cu_take_cr(c->far->cr), 0, NULL));
	return true;
}

/* EVD-92: the request goes with the dispatcher before anybody has seen it. */
static bool refused(struct cell *c, DAT_RETURN *rc)
{
	(void)rc;
	if (c->far == NULL)
		return false;
	expect_ok(dat_psp_free(c->far->psp));
	expect_ok(dat_evd_free(c->far->cr));
	return true;
}

static bool timed_out(struct cell *c, DAT_RETURN *rc)
{
	(void)c;
	(void)rc;
	return c->far != NULL; /* the attempt has a timeout */
}

/* In a state that it leaves by itself: starts from the one before. */
static bool unreachable(struct cell *c, DAT_RETURN *rc)
{
	struct sockaddr_in nowhere = { .sin_family = AF_INET };

	(void)rc;
	if (c->far == NULL)
		return false;
	/* Of the blocks for documentation: no host has one. */
	nowhere.sin_addr.s_addr = inet_addr("192.0.2.77");
	expect_ok(dat_ep_disconnect(c->me->ep, DAT_CLOSE_ABRUPT_FLAG));
	cu_conn_event(c->me->connect, c->me->ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	expect_ok(dat_ep_reset(c->me->ep));
	return dat_ep_connect(c->me->ep, (DAT_IA_ADDRESS_PTR)&nowhere, c->rig->qual,
			      DAT_TIMEOUT_INFINITE, 0, NULL, DAT_QOS_BEST_EFFORT,
			      DAT_CONNECT_DEFAULT_FLAG) == DAT_SUCCESS;
}

/* The other side goes, in order. */
static bool ended(struct cell *c, DAT_RETURN *rc)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	(void)rc;
	switch (c->state) {
	case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
		/* IA-88: requests that nobody answered are refused. */
		expect_ok(dat_ia_close(c->far->ia, DAT_CLOSE_ABRUPT_FLAG));
		expect_ok(dat_ia_open(harness_ia_name(), 8, &async, &c->far->ia));
		return true;
	case DAT_EP_STATE_COMPLETION_PENDING:
		peer_kill(c->peer);
		return true;
	case DAT_EP_STATE_PASSIVE_CONNECTION_PENDING: /* EP-141 */
	case DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING:
	case DAT_EP_STATE_CONNECTED:
	case DAT_EP_STATE_DISCONNECT_PENDING:
		expect_ok(dat_ep_disconnect(c->other->ep, DAT_CLOSE_ABRUPT_FLAG));
		return true;
	case DAT_EP_STATE_DISCONNECTED: /* EP-149 */
		expect_ok(dat_ep_free(c->other->ep));
		return true;
	default:
		return false;
	}
}

/* An operation goes wrong: of its own, or because the other's Receive is too short for it. */
static bool broken(struct cell *c, DAT_RETURN *rc)
{
	(void)rc;
	switch (c->state) {
	case DAT_EP_STATE_COMPLETION_PENDING:
		peer_kill(c->peer);
		return true;
	case DAT_EP_STATE_CONNECTED: {
		DAT_LMR_TRIPLET wild = { .virtual_address = 64, .segment_length = 64 };

		expect_ok(dat_ep_post_send(c->me->ep, 1, &wild, cu_cookie(1),
					   DAT_COMPLETION_DEFAULT_FLAG));
		return true;
	}
	case DAT_EP_STATE_DISCONNECT_PENDING:
		expect_ok(cu_recv(c->other, 0, 64, 1));
		return true;
	default:
		return false;
	}
}

/* ---- What makes what ---- */

#define MAKERS 6

static const maker makers[DAPL_EP_NUM_CAUSES][MAKERS] = {
	[DAPL_EP_CONNECT] = { connect_, connect_by_port, connect_like_another },
	[DAPL_EP_RSP_CREATE] = { rsp_create },
	[DAPL_EP_RSP_FREE] = { rsp_free },
	[DAPL_EP_ACCEPT] = { accept_given },
	[DAPL_EP_ACCEPT_OWN] = { accept_own },
	[DAPL_EP_REJECT] = { reject, hand_off },
	[DAPL_EP_DISCONNECT] = { disconnect },
	[DAPL_EP_DISCONNECT_GRACEFUL] = { disconnect_graceful },
	[DAPL_EP_RESET] = { reset },
	[DAPL_EP_FREE] = { free_ },
	[DAPL_EP_CLOSE] = { close_ },
	[DAPL_EP_MODIFY_PZ] = { modify_pz },
	[DAPL_EP_MODIFY_QUEUES] = { modify_evds, modify_sizes },
	[DAPL_EP_MODIFY_U] = { modify_comm },
	[DAPL_EP_POST_RECV] = { post_recv },
	[DAPL_EP_POST_REQUEST] = { post_send, post_write, post_read, post_invalidating_send,
				   bind_ },
	[DAPL_EP_REQUEST] = { request },
	[DAPL_EP_ESTABLISHED] = { established },
	[DAPL_EP_PEER_REJECTED] = { peer_rejected },
	[DAPL_EP_REFUSED] = { refused },
	[DAPL_EP_TIMED_OUT] = { timed_out },
	[DAPL_EP_UNREACHABLE] = { unreachable },
	[DAPL_EP_ENDED] = { ended },
	[DAPL_EP_BROKEN] = { broken },
};

/*
 * Steps of the table that nothing outside can tell from another that is met, or that a transport
 * need not take; the table itself is compared with the specification by test/unit/core_ep_state.
 */
static bool need_not_be_met(enum dapl_ep_cause cause, DAT_EP_STATE state)
{
	if (state == DAT_EP_STATE_COMPLETION_PENDING) /* ENDED looks alike */
		return cause == DAPL_EP_REFUSED || cause == DAPL_EP_UNREACHABLE;
	if (state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING) /* REFUSED looks alike; EP-70 */
		return cause == DAPL_EP_BROKEN || cause == DAPL_EP_UNREACHABLE;
	if (state == DAT_EP_STATE_DISCONNECT_PENDING) /* half a minute; in disconnect: tmo_8 */
		return cause == DAPL_EP_TIMED_OUT;
	return false;
}

static bool of_datagrams(enum dapl_ep_cause cause)
{
	return cause == DAPL_EP_UD_CONNECT || cause == DAPL_EP_UD_ACCEPT;
}

/* ---- Comparing ---- */

/* Takes events of the endpoint until this one; none may come before it. */
static void this_event(struct cell *c, uint16_t number)
{
	/* EV-16, EP-145: a transport may know it by the other name. */
	DAT_EVENT event;

	/* TMO-6: addresses are looked for up to about one minute. */
	if (!cu_next(c->me->connect, number == DAT_CONNECTION_EVENT_UNREACHABLE ? 90000 : CT_MS,
		     &event))
		fail_msg("no %s", cu_event_name(number));
	assert_string_equal(cu_event_name(event.event_number), cu_event_name(number));
	assert_ptr_equal(event.event_data.connect_event_data.ep_handle, c->me->ep);
}

/* The state is the next, or one that follows from it without anybody's doing. */
static void this_state(struct cell *c, uint8_t next)
{
	DAT_EP_STATE now;

	if (next == DAPL_EP_GONE) {
		expect_handle(dat_ep_get_status(c->me->ep, &now, NULL, NULL), EP);
		return;
	}
	now = ct_ep_state(c->me->ep);
	if (next == DAT_EP_STATE_DISCONNECT_PENDING && cell_transport_breaks())
		next = now == DAT_EP_STATE_DISCONNECTED ? (uint8_t)now : next;
	if (now != next && next == DAT_EP_STATE_COMPLETION_PENDING)
		next = dapl_ep_step(next, DAPL_EP_ESTABLISHED).next;
	if (now != next)
		fail_msg("state %s instead of %s", dapl_ep_state_name(now),
			 dapl_ep_state_name(next));
}

static void check_call(struct cell *c, struct dapl_ep_step step, DAT_RETURN rc)
{
	switch (step.verdict) {
	case DAPL_EP_REFUSE:
		expect_exact(rc, dapl_ep_state_error(c->state));
		this_state(c, c->state);
		break;
	case DAPL_EP_STAY:
		expect_ok(rc);
		this_state(c, c->state);
		break;
	default:
		expect_ok(rc);
		if (step.event != 0)
			this_event(c, step.event);
		this_state(c, step.next);
		break;
	}
}

static void check_occurrence(struct cell *c, struct dapl_ep_step step)
{
	if (step.verdict == DAPL_EP_REFUSE) {
		cu_quiet(c->me->connect, 50);
		this_state(c, c->state);
		return;
	}
	if (step.event != 0)
		this_event(c, step.event);
	this_state(c, step.next);
}

/* An endpoint that an accept or nobody's doing lets go on has one more event to give. */
static bool may_go_on(struct dapl_ep_step step)
{
	return step.verdict == DAPL_EP_GO && (step.next == DAT_EP_STATE_COMPLETION_PENDING ||
					      step.next == DAT_EP_STATE_DISCONNECT_PENDING);
}

static void one_cell(enum dapl_ep_cause cause, const struct cell_state *s, maker make)
{
	struct dapl_ep_step step = dapl_ep_step((uint8_t)s->state, cause);
	DAT_RETURN rc = DAT_SUCCESS;
	struct cell c;

	cell_open(&c, s->state);
	if (cause == DAPL_EP_TIMED_OUT)
		c.timeout = 2000000;
	if (!cell_reach(&c)) {
		print_message("# the transport does not stop in %s\n", s->name);
		met[cause][s->state] = true;
	} else if (make(&c, &rc)) {
		print_message("# %s in %s\n", dapl_ep_cause_text(cause), s->name);
		met[cause][s->state] = true;
		if (cause < FIRST_OCCURRENCE)
			check_call(&c, step, rc);
		else
			check_occurrence(&c, step);
		if (!may_go_on(step) && cause != DAPL_EP_CLOSE)
			cu_quiet(c.me->connect, 0);
	}
	cell_close(&c);
}

static void row(enum dapl_ep_cause cause)
{
	if (of_datagrams(cause))
		harness_skip("an endpoint of datagrams has no connection: ibx_ud");
	for (const struct cell_state *s = cell_states; s->name != NULL; s++) {
		for (int i = 0; i < MAKERS && makers[cause][i] != NULL; i++)
			one_cell(cause, s, makers[cause][i]);
	}
}

/* EP-T1: EP-129 and EP-131 to EP-149, row by row. */
#define X(name, text)                               \
	static void ep_129_131_##name(void **state) \
	{                                           \
		(void)state;                        \
		row(DAPL_EP_##name);                \
	}
DAPL_EP_CAUSES(X)
#undef X

/* Runs last. Every call was made in every state in which it can be made, and every step was taken.
 */
static void ep_t1_every_pair_was_met(void **state)
{
	unsigned int calls = 0, occurrences = 0;

	(void)state;
	for (int cause = 0; cause < DAPL_EP_NUM_CAUSES; cause++) {
		if (of_datagrams((enum dapl_ep_cause)cause))
			continue;
		for (const struct cell_state *s = cell_states; s->name != NULL; s++) {
			bool only_here = cause == DAPL_EP_RSP_FREE || cause == DAPL_EP_ACCEPT_OWN ||
					 cause == DAPL_EP_REJECT;
			struct dapl_ep_step step =
				dapl_ep_step((uint8_t)s->state, (enum dapl_ep_cause)cause);

			if (met[cause][s->state])
				++*(cause < FIRST_OCCURRENCE ? &calls : &occurrences);
			else if ((cause < FIRST_OCCURRENCE && !only_here) ||
				 (step.verdict != DAPL_EP_REFUSE &&
				  !need_not_be_met((enum dapl_ep_cause)cause, s->state)))
				fail_msg("nobody met: %s in %s",
					 dapl_ep_cause_text((enum dapl_ep_cause)cause), s->name);
		}
	}
	print_message("# %u calls in states, %u occurrences\n", calls, occurrences);
	assert_true(calls >= 120);
}

int main(int argc, char **argv)
{
	static const struct peer_role roles[] = { CELL_PEER, { NULL, NULL } };
	static const struct CMUnitTest tests[] = {
#define X(name, text) cmocka_unit_test_teardown(ep_129_131_##name, cu_teardown),
		DAPL_EP_CAUSES(X)
#undef X
			cmocka_unit_test(ep_t1_every_pair_was_met),
	};

	peer_main(argc, argv, roles);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
