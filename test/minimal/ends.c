/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Waiting, CNOs and the ends of a connection, over the smallest transport. */
#include "test/minimal/rig.h"

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

/* ---- Waiting ---- */

static void a_threshold_is_waited_for(void **state)
{
	struct rig *rig = *state;
	struct ct_waiter *waiter = ct_evd_waiter(rig->b.recv, CT_US, 3);
	uint64_t i;

	for (i = 0; i < 3; i++) {
		assert_false(ct_waiter_done(waiter));
		expect_ok(ct_post_recv(&rig->b, 0, 8, i, DAT_COMPLETION_DEFAULT_FLAG));
		expect_ok(ct_post_send(&rig->a, 0, 8, i, DAT_COMPLETION_SUPPRESS_FLAG));
	}
	ct_waiter_join(waiter);
	expect_ok(waiter->rc);
	assert_int_equal(waiter->more, 2);
	assert_int_equal(waiter->event.event_data.dto_completion_event_data.user_cookie.as_64, 0);
}

/* DTO-25, EVD-46: unsolicited messages are silent. */
static void only_solicited_messages_wake(void **state)
{
	struct rig *rig = *state;
	struct ct_end b = { 0 };
	struct ct_waiter *waiter;
	DAT_EP_ATTR attr;

	ct_default_attr(rig->ib.ia, &attr);
	attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	ct_end_open(&b, rig->ib.ia, &attr);
	ct_end_connect(&rig->a, &b);
	waiter = ct_evd_waiter(b.recv, CT_US, 1);
	expect_ok(ct_post_recv(&b, 0, 8, 1, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(ct_post_recv(&b, 0, 8, 2, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(ct_post_send(&rig->a, 0, 8, 3, DAT_COMPLETION_DEFAULT_FLAG));
	ct_completion(rig->a.request, 3, DAT_DTO_SUCCESS);
	assert_false(ct_waiter_done(waiter));
	expect_ok(ct_post_send(&rig->a, 0, 8, 4, DAT_COMPLETION_SOLICITED_WAIT_FLAG));
	ct_waiter_join(waiter);
	expect_ok(waiter->rc);
	assert_int_equal(waiter->more, 1);
	ct_end_close(&b);
}

static void a_timeout_is_never_early(void **state)
{
	struct rig *rig = *state;
	uint64_t start;
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_TIMEOUT us;

	for (us = 1; us < 100000; us = us * 7 + 13) {
		start = ct_now_us();
		expect_exact(dat_evd_wait(rig->a.recv, us, 1, &event, &more), DAT_TIMEOUT_EXPIRED);
		ct_took(ct_now_us() - start, us);
	}
}

/* ---- CNO ---- */

static DAT_EVD_HANDLE cno_trigger(DAT_CNO_HANDLE cno)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	expect_ok(dat_cno_trigger(cno, &evd));
	return evd;
}

static void completions_trigger_a_cno(void **state)
{
	struct rig *rig = *state;
	DAT_CNO_HANDLE cno = ct_cno(rig->ib.ia);
	DAT_EVD_HANDLE hint;
	int i;

	expect_ok(dat_evd_modify_cno(rig->b.recv, cno));
	for (i = 0; i < 20; i++) {
		expect_ok(ct_post_recv(&rig->b, 0, 8, 1, DAT_COMPLETION_DEFAULT_FLAG));
		expect_ok(ct_post_send(&rig->a, 0, 8, 2, DAT_COMPLETION_DEFAULT_FLAG));
		ct_completion(rig->a.request, 2, DAT_DTO_SUCCESS);
		expect_ok(dat_cno_wait(cno, CT_US, &hint));
		assert_ptr_equal(hint, rig->b.recv);
		assert_int_equal(ct_drain(rig->b.recv), 1);
	}
	expect_exact(dat_cno_wait(cno, 1000, &hint), DAT_QUEUE_EMPTY);
}

/* CNO-6: what comes while the EVD is re-pointed triggers one of the two. */
static void no_trigger_is_lost_when_the_cno_changes(void **state)
{
	struct rig *rig = *state;
	DAT_CNO_HANDLE cno[2] = { ct_cno(rig->ib.ia), ct_cno(rig->ib.ia) };
	int i;

	for (i = 0; i < 100; i++) {
		expect_ok(ct_post_recv(&rig->b, 0, 8, 1, DAT_COMPLETION_DEFAULT_FLAG));
		expect_ok(dat_evd_modify_cno(rig->b.recv, cno[0]));
		expect_ok(ct_post_send(&rig->a, 0, 8, 2, DAT_COMPLETION_DEFAULT_FLAG));
		ct_completion(rig->a.request, 2, DAT_DTO_SUCCESS);
		if (i & 1)
			expect_ok(dat_evd_modify_cno(rig->b.recv, cno[1]));
		else
			expect_ok(dat_evd_disable(rig->b.recv));
		assert_ptr_equal(cno_trigger(cno[0]), rig->b.recv);
		assert_null(cno_trigger(cno[1]));
		expect_ok(dat_evd_enable(rig->b.recv));
		assert_null(cno_trigger(cno[0]));
		assert_int_equal(ct_drain(rig->b.recv), 1);
	}
}

struct agent {
	DAT_CNO_HANDLE cno;
	atomic_int calls;
	_Atomic(DAT_EVD_HANDLE) evd;
};

static void on_trigger(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	struct agent *agent = data;
	DAT_OS_WAIT_PROXY_AGENT again = { agent, on_trigger };
	DAT_EVENT event;

	if (evd) {
		while (dat_evd_dequeue(evd, &event) == DAT_SUCCESS)
			;
		dat_cno_modify_agent(agent->cno, again);
	}
	atomic_store(&agent->evd, evd);
	atomic_fetch_add(&agent->calls, 1);
}

static void an_agent_may_call_and_arm_itself_again(void **state)
{
	struct rig *rig = *state;
	struct agent agent = { .calls = 0 };
	DAT_OS_WAIT_PROXY_AGENT proxy = { &agent, on_trigger };
	int i;

	expect_ok(dat_cno_create(rig->ib.ia, proxy, &agent.cno));
	expect_ok(dat_evd_modify_cno(rig->b.recv, agent.cno));
	for (i = 0; i < 20; i++) {
		expect_ok(ct_post_recv(&rig->b, 0, 8, 1, DAT_COMPLETION_DEFAULT_FLAG));
		expect_ok(ct_post_send(&rig->a, 0, 8, 2, DAT_COMPLETION_DEFAULT_FLAG));
		ct_completion(rig->a.request, 2, DAT_DTO_SUCCESS);
		ct_await(atomic_load(&agent.calls) == i + 1);
		assert_ptr_equal(atomic_load(&agent.evd), rig->b.recv);
	}
	ct_close(&rig->ib);
	assert_int_equal(atomic_load(&agent.calls), 21);
	assert_null(atomic_load(&agent.evd));
}

static void a_descriptor_is_readable_while_triggered(void **state)
{
	struct rig *rig = *state;
	struct pollfd fd = { .events = POLLIN };
	DAT_CNO_HANDLE cno;

	expect_ok(dat_cno_fd_create(rig->ib.ia, &fd.fd, &cno));
	expect_ok(dat_evd_modify_cno(rig->b.connect, cno));
	assert_int_equal(poll(&fd, 1, 0), 0);
	rig_connect(rig, CT_US);
	expect_ok(dat_cr_accept(rig_take_cr(rig), rig->b.ep, 0, NULL));
	assert_int_equal(poll(&fd, 1, CT_MS), 1);
	assert_ptr_equal(cno_trigger(cno), rig->b.connect);
	assert_int_equal(poll(&fd, 1, 0), 0);
	rig_conn_event(&rig->b, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* ---- Ends ---- */

static void an_abrupt_close_takes_everything(void **state)
{
	struct rig *rig = *state;
	DAT_CNO_HANDLE cno = ct_cno(rig->ib.ia);
	struct ct_waiter *on_evd, *on_cno;
	struct ct_end spare = { 0 };
	DAT_RSP_HANDLE rsp;

	ct_end_open(&spare, rig->ib.ia, NULL);
	expect_ok(dat_rsp_create(rig->ib.ia, rig->qual + 1, spare.ep, rig->cr, &rsp));
	ct_evd(rig->ib.ia, 8, cno, DAT_EVD_SOFTWARE_FLAG);
	on_evd = ct_evd_waiter(rig->b.recv, DAT_TIMEOUT_INFINITE, 1);
	on_cno = ct_cno_waiter(cno, DAT_TIMEOUT_INFINITE);
	expect_ok(ct_post_send(&rig->b, 0, 8, 1, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(ct_post_recv(&rig->b, 0, 8, 2, DAT_COMPLETION_DEFAULT_FLAG));
	ct_close(&rig->ib);
	ct_waiter_join(on_evd);
	/* A flushed receive may be there before the EVD goes. */
	if (on_evd->rc)
		expect_type(on_evd->rc, DAT_ABORT);
	ct_waiter_join(on_cno);
	expect_ok(on_cno->rc);
	assert_null(on_cno->hint);
	rig_conn_event(&rig->a, DAT_CONNECTION_EVENT_DISCONNECTED);
	/* Stale handles are refused. */
	expect_handle(dat_ep_free(rig->b.ep), EP);
	expect_handle(dat_psp_free(rig->psp), PSP);
	expect_handle(dat_cno_free(cno), CNO);
	ct_mem_close(&(struct ct_mem){ .base = spare.mem.base, .len = spare.mem.len });
}

static void a_pending_request_is_refused_by_a_close(void **state)
{
	struct rig *rig = *state;

	rig_connect(rig, CT_US);
	rig_take_cr(rig);
	ct_close(&rig->ib);
	rig_conn_event(&rig->a, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

static DAT_COUNT queued(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_COUNT more;

	expect_exact(dat_evd_wait(evd, 0, ct_evd_param(evd).evd_qlen, &event, &more),
		     DAT_TIMEOUT_EXPIRED);
	return more;
}

/* EVD-92 */
static void a_request_nobody_took_goes_with_its_dispatcher(void **state)
{
	struct rig *rig = *state;

	rig_connect(rig, CT_US);
	ct_await(queued(rig->cr) == 1);
	expect_ok(dat_psp_free(rig->psp));
	expect_ok(dat_evd_free(rig->cr));
	rig_conn_event(&rig->a, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

/* ---- What meets while the transport is held ---- */

static _Atomic int held, go;

/* Until the test says so, or for a while. */
static void hold(void)
{
	uint64_t deadline = ct_now_us() + CT_US;

	atomic_store(&held, 1);
	while (!atomic_load(&go) && ct_now_us() < deadline)
		poll(NULL, 0, 1);
}

static void set_hook(const char *name, void (*before)(void))
{
	void *module = dlopen("libdaplminimal.so", RTLD_NOW | RTLD_NOLOAD);
	void (*_Atomic *hook)(void);

	assert_non_null(module);
	hook = dlsym(module, name);
	assert_non_null(hook);
	if (before)
		held = go = 0;
	atomic_store(hook, before);
	dlclose(module);
}

static void connect_to(struct rig *rig, struct ct_end *end, DAT_CONN_QUAL qual)
{
	expect_ok(dat_ep_connect(end->ep, rig->ib.attr.ia_address_ptr, qual, CT_US, 0, NULL,
				 DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

static DAT_CR_HANDLE take_from(DAT_EVD_HANDLE evd, DAT_RSP_HANDLE rsp)
{
	DAT_EVENT event;

	ct_next(evd, DAT_CONNECTION_REQUEST_EVENT, &event);
	assert_ptr_equal(event.event_data.cr_arrival_event_data.sp_handle.rsp_handle, rsp);
	return event.event_data.cr_arrival_event_data.cr_handle;
}

/* PSP-4: the place that one request has found is not another's. */
static void rsp_4_a_request_without_room_does_not_spend_its_point(void **state)
{
	struct rig *rig = *state;
	DAT_EVD_HANDLE evd = ct_evd(rig->ib.ia, 1, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG);
	struct ct_end a = { 0 }, b = { 0 };
	DAT_RSP_HANDLE rsp[2];

	ct_end_open(&a, rig->ia.ia, NULL);
	ct_end_open(&b, rig->ib.ia, NULL);
	expect_ok(dat_rsp_create(rig->ib.ia, rig->qual + 1, rig->b.ep, evd, &rsp[0]));
	expect_ok(dat_rsp_create(rig->ib.ia, rig->qual + 2, b.ep, evd, &rsp[1]));
	set_hook("mini_before_request", hold);
	connect_to(rig, &rig->a, rig->qual + 1);
	ct_await(atomic_load(&held));
	connect_to(rig, &a, rig->qual + 2);
	set_hook("mini_before_request", NULL);
	atomic_store(&go, 1);
	rig_conn_event(&a, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	assert_int_equal(ct_ep_state(b.ep), DAT_EP_STATE_RESERVED);
	expect_ok(dat_cr_accept(take_from(evd, rsp[0]), DAT_HANDLE_NULL, 0, NULL));
	rig_conn_event(&rig->a, DAT_CONNECTION_EVENT_ESTABLISHED);
	/* Now there is room again. */
	expect_ok(dat_ep_reset(a.ep));
	connect_to(rig, &a, rig->qual + 2);
	expect_ok(dat_cr_reject(take_from(evd, rsp[1]), 0, NULL));
	rig_conn_event(&a, DAT_CONNECTION_EVENT_PEER_REJECTED);
	ct_end_close(&a);
	ct_end_close(&b);
	expect_ok(dat_rsp_free(rsp[0]));
	expect_ok(dat_rsp_free(rsp[1]));
	expect_ok(dat_evd_free(evd));
}

/* EP-124, SRQ-40: of receives that have completed before it acts a hard watermark is not passed. */
static void ep_124_a_hard_watermark_counts_when_it_acts(void **state)
{
	struct rig *rig = *state;
	struct ct_end a = { 0 };
	int i;

	ct_end_open(&a, rig->ia.ia, NULL);
	expect_ok(dat_ep_set_watermark(rig->b.ep, DAT_WATERMARK_INFINITE, 1));
	set_hook("mini_before_request", hold);
	connect_to(rig, &a, rig->qual);
	ct_await(atomic_load(&held));
	set_hook("mini_before_request", NULL);
	for (i = 0; i < 2; i++)
		expect_ok(ct_post_recv(&rig->b, 0, 8, 1, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(ct_post_send(&rig->a, 0, 8, 1, DAT_COMPLETION_SUPPRESS_FLAG));
	ct_completion(rig->b.recv, 1, DAT_DTO_SUCCESS);
	atomic_store(&go, 1);
	/* The second request comes behind all that the service thread had to do. */
	for (i = 0; i < 2; i++) {
		expect_ok(dat_cr_reject(rig_take_cr(rig), 0, NULL));
		rig_conn_event(&a, DAT_CONNECTION_EVENT_PEER_REJECTED);
		expect_ok(dat_ep_reset(a.ep));
		if (!i)
			connect_to(rig, &a, rig->qual);
	}
	assert_int_equal(ct_ep_state(rig->b.ep), DAT_EP_STATE_CONNECTED);
	expect_ok(ct_post_recv(&rig->b, 0, 8, 2, DAT_COMPLETION_DEFAULT_FLAG));
	rig_conn_event(&rig->b, DAT_CONNECTION_EVENT_BROKEN);
	ct_end_close(&a);
}

static void *free_endpoint(void *ep)
{
	return (void *)(uintptr_t)dat_ep_free(ep);
}

/* A new dispatcher where the freed one was; others that come before go. */
static DAT_EVD_HANDLE successor(DAT_IA_HANDLE ia, DAT_EVD_HANDLE freed)
{
	DAT_EVD_HANDLE evd;
	int i;

	for (i = 0; i < 1000; i++) {
		evd = ct_evd(ia, 1, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG);
		if (evd == freed)
			return evd;
		expect_ok(dat_evd_free(evd));
	}
	fail_msg("memory of a dispatcher is not used again");
	return DAT_HANDLE_NULL;
}

/* IA-84: the endpoint's connect dispatcher is another adapter's, which goes meanwhile. */
static void ia_84_a_close_meets_the_free_of_anothers_endpoint(void **state)
{
	struct rig *rig = *state;
	DAT_EVD_HANDLE connect, evd;
	struct ct_ia other;
	DAT_EP_HANDLE ep;
	pthread_t thread;
	void *rc;

	if (harness_strict())
		skip();
	ct_open(&other);
	connect = ct_evd(other.ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG);
	expect_ok(dat_ep_create(rig->ia.ia, rig->a.pz, rig->a.recv, rig->a.request, connect, NULL,
				&ep));
	set_hook("mini_before_destroy", hold);
	assert_int_equal(pthread_create(&thread, NULL, free_endpoint, ep), 0);
	ct_await(atomic_load(&held));
	set_hook("mini_before_destroy", NULL);
	ct_close(&other);
	evd = successor(rig->ib.ia, connect);
	atomic_store(&go, 1);
	pthread_join(thread, &rc);
	expect_ok((DAT_RETURN)(uintptr_t)rc);
	expect_ok(dat_evd_free(evd));
}

struct connecting {
	DAT_EP_HANDLE ep;
	atomic_bool begun;
	DAT_RETURN rc;
};

/* In vain, until the endpoint has no dispatcher for it. */
static void *connect_in_vain(void *arg)
{
	uint64_t deadline = ct_now_us() + CT_US;
	struct connecting *c = arg;

	do {
		c->rc = dat_ep_connect(c->ep, NULL, 1, 0, 0, NULL, DAT_QOS_BEST_EFFORT, 0);
		atomic_store_explicit(&c->begun, true, memory_order_relaxed);
	} while (DAT_GET_TYPE(c->rc) == DAT_INVALID_PARAMETER && ct_now_us() < deadline);
	return NULL;
}

/* IA-84: made for ThreadSanitizer. */
static void ia_84_a_close_meets_a_connect_of_anothers_endpoint(void **state)
{
	struct rig *rig = *state;
	struct connecting c = { .begun = false };
	struct ct_ia other;
	pthread_t thread;

	if (harness_strict())
		skip();
	ct_open(&other);
	expect_ok(dat_ep_create(rig->ia.ia, rig->a.pz, rig->a.recv, rig->a.request,
				ct_evd(other.ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG), NULL,
				&c.ep));
	assert_int_equal(pthread_create(&thread, NULL, connect_in_vain, &c), 0);
	ct_await(atomic_load_explicit(&c.begun, memory_order_relaxed));
	ct_close(&other);
	pthread_join(thread, NULL);
	expect_handle(c.rc, EVD_CONN);
	expect_ok(dat_ep_free(c.ep));
}

static void ends_are_used_again_and_again(void **state)
{
	struct rig *rig = *state;
	int round;

	for (round = 0; round < 200; round++) {
		expect_ok(ct_post_recv(&rig->b, 0, 8, 1, DAT_COMPLETION_DEFAULT_FLAG));
		rig_establish(rig);
		expect_ok(ct_post_send(&rig->a, 0, 8, 2, DAT_COMPLETION_DEFAULT_FLAG));
		ct_completion(rig->b.recv, 1, DAT_DTO_SUCCESS);
		ct_completion(rig->a.request, 2, DAT_DTO_SUCCESS);
		expect_ok(ct_post_recv(&rig->a, 0, 8, 3, DAT_COMPLETION_DEFAULT_FLAG));
		expect_ok(dat_ep_disconnect(round & 1 ? rig->a.ep : rig->b.ep,
					    DAT_CLOSE_ABRUPT_FLAG));
		rig_conn_event(&rig->a, DAT_CONNECTION_EVENT_DISCONNECTED);
		rig_conn_event(&rig->b, DAT_CONNECTION_EVENT_DISCONNECTED);
		ct_completion(rig->a.recv, 3, DAT_DTO_ERR_FLUSHED);
		expect_ok(dat_ep_reset(rig->a.ep));
		expect_ok(dat_ep_reset(rig->b.ep));
	}
	ct_empty(rig->ia.async);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		RIG_CONNECTED(a_threshold_is_waited_for),
		RIG_TEST(only_solicited_messages_wake),
		RIG_TEST(a_timeout_is_never_early),
		RIG_CONNECTED(completions_trigger_a_cno),
		RIG_CONNECTED(no_trigger_is_lost_when_the_cno_changes),
		RIG_CONNECTED(an_agent_may_call_and_arm_itself_again),
		RIG_TEST(a_descriptor_is_readable_while_triggered),
		RIG_CONNECTED(an_abrupt_close_takes_everything),
		RIG_TEST(a_pending_request_is_refused_by_a_close),
		RIG_TEST(a_request_nobody_took_goes_with_its_dispatcher),
		RIG_TEST(rsp_4_a_request_without_room_does_not_spend_its_point),
		RIG_CONNECTED(ep_124_a_hard_watermark_counts_when_it_acts),
		RIG_TEST(ia_84_a_close_meets_the_free_of_anothers_endpoint),
		RIG_TEST(ia_84_a_close_meets_a_connect_of_anothers_endpoint),
		RIG_TEST(ends_are_used_again_and_again),
	};

	rig_main();
	return harness_run(tests, RIG_NUM_OF(tests));
}
