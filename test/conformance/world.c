/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "world.h"

#include <stdlib.h>

/* ---- The world ---- */

static DAT_EP_HANDLE make_ep(struct world *w)
{
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

	expect_ok(dat_ep_create(w->ia.ia, w->pz, w->dto, w->dto, w->connect, NULL, &ep));
	return ep;
}

static void reserve(struct world *w)
{
	DAT_RETURN rc = DAT_CONN_QUAL_IN_USE;
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;

	w->reserved = make_ep(w);
	/* A qualifier that was free a moment ago. */
	for (int i = 0; i < 10 && DAT_GET_TYPE(rc) == DAT_CONN_QUAL_IN_USE; i++) {
		expect_ok(dat_psp_create_any(w->ia.ia, &qual, w->requests, DAT_PSP_CONSUMER_FLAG,
					     &psp));
		expect_ok(dat_psp_free(psp));
		rc = dat_rsp_create(w->ia.ia, qual, w->reserved, w->requests, &w->rsp);
	}
	expect_ok(rc);
}

static void ask(struct world *w)
{
	DAT_EVENT event;

	ct_end_open(&w->asker, w->ia.ia, NULL);
	expect_ok(dat_ep_connect(w->asker.ep, w->ia.attr.ia_address_ptr, w->qual,
				 DAT_TIMEOUT_INFINITE, 0, NULL, DAT_QOS_BEST_EFFORT,
				 DAT_CONNECT_DEFAULT_FLAG));
	ct_next(w->requests, DAT_CONNECTION_REQUEST_EVENT, &event);
	w->cr = event.event_data.cr_arrival_event_data.cr_handle;
}

int world_setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	ct_open(&w->ia);
	ct_default_attr(w->ia.ia, &w->attr);
	w->pz = ct_pz(w->ia.ia);
	ct_mem_open(&w->mem, w->ia.ia, w->pz, 8192, DAT_MEM_PRIV_ALL_FLAG);
	w->cno = ct_cno(w->ia.ia);
	w->soft = ct_evd(w->ia.ia, 16, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG);
	w->dto = ct_evd(w->ia.ia, 128, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG);
	w->connect = ct_evd(w->ia.ia, 16, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG);
	w->requests = ct_evd(w->ia.ia, 16, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG);
	w->ep = make_ep(w);
	ct_end_open(&w->a, w->ia.ia, NULL);
	ct_end_open(&w->p, w->ia.ia, NULL);
	ct_end_connect(&w->a, &w->p);
	expect_ok(dat_psp_create_any(w->ia.ia, &w->qual, w->requests, DAT_PSP_CONSUMER_FLAG,
				     &w->psp));
	reserve(w);
	ask(w);
	*state = w;
	return 0;
}

int world_teardown(void **state)
{
	struct world *w = *state;

	ct_close(&w->ia);
	ct_waiters_free();
	free(w);
	return 0;
}

static void is_a(DAT_HANDLE handle, DAT_HANDLE_TYPE wanted)
{
	DAT_HANDLE_TYPE type = DAT_HANDLE_TYPE_EXTENSION_BASE;

	expect_ok(dat_get_handle_type(handle, &type));
	assert_int_equal(type, wanted);
}

void world_is_well(struct world *w)
{
	DAT_EVENT event;

	is_a(w->ia.ia, DAT_HANDLE_TYPE_IA);
	is_a(w->pz, DAT_HANDLE_TYPE_PZ);
	is_a(w->mem.lmr, DAT_HANDLE_TYPE_LMR);
	is_a(w->cno, DAT_HANDLE_TYPE_CNO);
	is_a(w->soft, DAT_HANDLE_TYPE_EVD);
	is_a(w->dto, DAT_HANDLE_TYPE_EVD);
	is_a(w->connect, DAT_HANDLE_TYPE_EVD);
	is_a(w->requests, DAT_HANDLE_TYPE_EVD);
	is_a(w->psp, DAT_HANDLE_TYPE_PSP);
	is_a(w->rsp, DAT_HANDLE_TYPE_RSP);
	is_a(w->cr, DAT_HANDLE_TYPE_CR);
	assert_int_equal(ct_ep_state(w->ep), DAT_EP_STATE_UNCONNECTED);
	assert_int_equal(ct_ep_state(w->reserved), DAT_EP_STATE_RESERVED);
	assert_int_equal(ct_ep_state(w->asker.ep), DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	/* GEN-8: nothing was queued, and the connection carries data. */
	ct_empty(w->soft);
	ct_empty(w->dto);
	ct_empty(w->a.connect);
	expect_ok(ct_post_recv(&w->p, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(ct_post_send(&w->a, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	ct_completion(w->p.recv, 1, DAT_DTO_SUCCESS);
	ct_completion(w->a.request, 2, DAT_DTO_SUCCESS);
	/* The pending request can be accepted. */
	expect_ok(dat_cr_accept(w->cr, w->ep, 0, NULL));
	ct_next(w->asker.connect, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	ct_next(w->connect, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
}

/* ---- The tally ---- */

sigjmp_buf world_jump;
static struct sigaction former[3];
static const int faults[3] = { SIGSEGV, SIGBUS, SIGABRT };
static int calls, crashes, wrong;

static void on_fault(int signo)
{
	siglongjmp(world_jump, signo);
}

void world_tally_begin(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_fault;
	for (int i = 0; i < 3; i++)
		assert_int_equal(sigaction(faults[i], &action, &former[i]), 0);
	calls = crashes = wrong = 0;
}

void world_tally_end(int at_least)
{
	for (int i = 0; i < 3; i++)
		sigaction(faults[i], &former[i], NULL);
	print_message("%d calls, %d crashed, %d with another result\n", calls, crashes, wrong);
	if (crashes > 0 || wrong > 0)
		fail_msg("%d of %d calls crashed, %d returned something else", crashes, calls,
			 wrong);
	assert_true(calls >= at_least);
}

static bool unsupported(DAT_RETURN rc)
{
	return DAT_GET_TYPE(rc) == DAT_MODEL_NOT_SUPPORTED ||
	       DAT_GET_TYPE(rc) == DAT_NOT_IMPLEMENTED;
}

void world_tally(DAT_RETURN rc, bool crashed, DAT_RETURN type, int subtype, bool optional,
		 const char *what, int line)
{
	bool same = DAT_GET_TYPE(rc) == type &&
		    (subtype == CT_ANY_SUBTYPE || DAT_GET_SUBTYPE(rc) == (DAT_RETURN)subtype);

	calls++;
	if (crashed) {
		crashes++;
		print_error("line %d: %s crashed\n", line, what);
		return;
	}
	/* GEN-3 */
	if ((same || (optional && unsupported(rc))) && (rc & DAT_CLASS_ERROR) != 0)
		return;
	wrong++;
	print_error("line %d: %s\n  returned %s\n  expected %s\n", line, what, ct_rc_name(rc),
		    ct_rc_name(DAT_CLASS_ERROR | type |
			       (subtype == CT_ANY_SUBTYPE ? 0 : (DAT_RETURN)subtype)));
}
