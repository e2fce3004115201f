/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a proxy agent may call, whatever triggered it: CNO-17, CNO-19, CNO-21, CNO-31, CNO-34. */
#include "conn_util.h"
#include "slow_agent.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* ---- An agent that makes one call on an endpoint ---- */

struct job {
	struct cu_rig *rig;
	DAT_RETURN (*call)(struct job *job);
	DAT_EVD_HANDLE evd; /* that triggered */
	DAT_RETURN rc;
	atomic_bool done;
};

static void agent(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	struct job *job = data;

	job->evd = evd;
	job->rc = job->call(job);
	atomic_store(&job->done, true);
}

static DAT_OS_WAIT_PROXY_AGENT proxy_of(struct job *job)
{
	return (DAT_OS_WAIT_PROXY_AGENT){ .instance_data = job, .proxy_agent_func = agent };
}

static DAT_RETURN call_abrupt(struct job *job)
{
	return dat_ep_disconnect(job->rig->a.ep, DAT_CLOSE_ABRUPT_FLAG);
}

static DAT_RETURN call_graceful(struct job *job)
{
	return dat_ep_disconnect(job->rig->a.ep, DAT_CLOSE_GRACEFUL_FLAG);
}

static DAT_RETURN call_connect(struct job *job)
{
	return cu_connect(&job->rig->a, job->rig->qual, CT_US);
}

static DAT_RETURN call_reset(struct job *job)
{
	return dat_ep_reset(job->rig->a.ep);
}

static DAT_RETURN call_free(struct job *job)
{
	DAT_RETURN rc = dat_ep_free(job->rig->a.ep);

	if (!rc)
		job->rig->a.ep = DAT_HANDLE_NULL;
	return rc;
}

/* The endpoint first, which has the dispatcher in use. */
static DAT_RETURN call_free_both(struct job *job)
{
	DAT_EVD_HANDLE *evds[] = { &job->rig->a.connect, &job->rig->a.recv };
	DAT_RETURN rc = call_free(job);

	for (int i = 0; i < 2 && !rc; i++) {
		rc = dat_evd_free(*evds[i]);
		if (!rc)
			*evds[i] = DAT_HANDLE_NULL;
	}
	return rc;
}

static DAT_RETURN call_recv(struct job *job)
{
	return cu_recv(&job->rig->a, 0, 64, 7);
}

static DAT_RETURN call_send(struct job *job)
{
	return ct_post_send(&job->rig->a, 0, 64, 8, DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN call_query(struct job *job)
{
	DAT_EP_PARAM param;

	return dat_ep_query(job->rig->a.ep, DAT_EP_FIELD_ALL, &param);
}

static DAT_RETURN call_marks(struct job *job)
{
	DAT_RETURN rc = dat_ep_set_watermark(job->rig->a.ep, DAT_WATERMARK_INFINITE,
					     DAT_WATERMARK_INFINITE);

	return cu_unsupported(rc) ? DAT_SUCCESS : rc;
}

static DAT_RETURN call_modify(struct job *job)
{
	DAT_EP_PARAM param = { .pz_handle = job->rig->a.pz };

	return dat_ep_modify(job->rig->a.ep, DAT_EP_FIELD_PZ_HANDLE, &param);
}

static DAT_RETURN call_close(struct job *job)
{
	return dat_ia_close(job->rig->ia, DAT_CLOSE_ABRUPT_FLAG);
}

/* What is refused in some states is still to return. */
static const struct {
	const char *name;
	DAT_RETURN (*call)(struct job *job);
} calls[] = {
	{ "abrupt disconnect", call_abrupt },
	{ "graceful disconnect", call_graceful },
	{ "connect", call_connect },
	{ "reset", call_reset },
	{ "free", call_free },
	{ "free with dispatchers", call_free_both },
	{ "receive", call_recv },
	{ "send", call_send },
	{ "query", call_query },
	{ "watermarks", call_marks },
	{ "modify", call_modify },
	{ "close", call_close },
};

/* ---- What triggers it ---- */

static void by_disconnecting(struct cu_rig *rig)
{
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_ABRUPT_FLAG));
}

static void by_disconnecting_gracefully(struct cu_rig *rig)
{
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_GRACEFUL_FLAG));
}

static void by_the_peer(struct cu_rig *rig)
{
	expect_ok(dat_ep_disconnect(rig->p.ep, DAT_CLOSE_ABRUPT_FLAG));
}

/* More receives than the soft high watermark, told on the asynchronous dispatcher. */
static void by_the_soft_mark(struct cu_rig *rig)
{
	DAT_EP_HANDLE ep = rig->a.ep;

	expect_ok(cu_recv(&rig->a, 0, 64, 1));
	expect_ok(cu_recv(&rig->a, 0, 64, 2));
	expect_ok(dat_ep_set_watermark(ep, 1, DAT_WATERMARK_INFINITE));
}

static void by_the_hard_mark(struct cu_rig *rig)
{
	DAT_EP_HANDLE ep = rig->a.ep;

	expect_ok(cu_recv(&rig->a, 0, 64, 1));
	expect_ok(cu_recv(&rig->a, 0, 64, 2));
	expect_ok(dat_ep_set_watermark(ep, DAT_WATERMARK_INFINITE, 1));
}

/* Each call by the agent returns, and so does what triggered it. */
static void each_call_returns(DAT_EVD_HANDLE (*evd_of)(struct cu_rig *rig),
			      void (*trigger)(struct cu_rig *rig))
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		struct job job = { .call = calls[i].call };
		DAT_CNO_HANDLE cno;
		void *state;

		assert_int_equal(cu_setup_connected(&state), 0);
		job.rig = state;
		expect_ok(dat_cno_create(job.rig->ia, proxy_of(&job), &cno));
		expect_ok(dat_evd_modify_cno(evd_of(job.rig), cno));
		trigger(job.rig);
		ct_await(atomic_load(&job.done));
		if (job.rc != DAT_SUCCESS && DAT_GET_TYPE(job.rc) != DAT_INVALID_STATE)
			fail_msg("%s: %s", calls[i].name, ct_rc_name(job.rc));
		if (job.call == call_close) /* it would wait for itself */
			expect_state(job.rc, IA_IN_USE);
		assert_int_equal(cu_teardown(&state), 0);
	}
}

static DAT_EVD_HANDLE connect_evd(struct cu_rig *rig)
{
	return rig->a.connect;
}

static DAT_EVD_HANDLE recv_evd(struct cu_rig *rig)
{
	return rig->a.recv;
}

static DAT_EVD_HANDLE async_evd(struct cu_rig *rig)
{
	return rig->async;
}

static void cno_19_during_dat_ep_disconnect(void **state)
{
	(void)state;
	each_call_returns(connect_evd, by_disconnecting);
	each_call_returns(connect_evd, by_disconnecting_gracefully);
}

static void cno_19_when_the_peer_disconnects(void **state)
{
	(void)state;
	each_call_returns(connect_evd, by_the_peer);
}

/* Flushed receives are taken over by whoever comes first: the service thread, or the event. */
static void flush_by_disconnecting(struct cu_rig *rig)
{
	for (int i = 0; i < 8; i++)
		expect_ok(cu_recv(&rig->a, 0, 64, 1));
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_ABRUPT_FLAG));
}

static void flush_by_the_peer(struct cu_rig *rig)
{
	for (int i = 0; i < 8; i++)
		expect_ok(cu_recv(&rig->a, 0, 64, 1));
	expect_ok(dat_ep_disconnect(rig->p.ep, DAT_CLOSE_ABRUPT_FLAG));
}

static void cno_19_with_completions(void **state)
{
	(void)state;
	each_call_returns(recv_evd, flush_by_disconnecting);
	each_call_returns(recv_evd, flush_by_the_peer);
}

static bool has_watermarks(void)
{
	struct cu_rig *rig;
	void *state;
	bool yes;

	assert_int_equal(cu_setup_ends(&state), 0);
	rig = state;
	yes = !cu_unsupported(dat_ep_set_watermark(rig->a.ep, 1, DAT_WATERMARK_INFINITE));
	assert_int_equal(cu_teardown(&state), 0);
	return yes;
}

static void cno_19_during_dat_ep_set_watermark(void **state)
{
	(void)state;
	if (!has_watermarks())
		harness_skip("this adapter has no watermarks");
	each_call_returns(async_evd, by_the_soft_mark);
	each_call_returns(connect_evd, by_the_hard_mark);
}

/* ---- Against other threads ---- */

/* Makes itself heard of again before it looks for what there is, as programs do. */
struct again {
	struct cu_rig *rig;
	DAT_CNO_HANDLE cno;
	atomic_bool ending; /* then the object may be gone */
	atomic_uint calls, wrong;
};

static void agent_again(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	DAT_OS_WAIT_PROXY_AGENT self = { .instance_data = data, .proxy_agent_func = agent_again };
	struct again *again = data;
	DAT_EP_HANDLE ep = again->rig->a.ep;
	DAT_EVENT event;

	atomic_fetch_add(&again->calls, 1);
	if (dat_cno_modify_agent(again->cno, self) && !atomic_load(&again->ending))
		atomic_fetch_add(&again->wrong, 1);
	while (dat_evd_dequeue(evd, &event) == DAT_SUCCESS) {
		dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG);
		dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG);
		dat_ep_reset(ep);
	}
}

static void *part_peer(void *arg)
{
	struct cu_rig *rig = arg;

	dat_ep_disconnect(rig->p.ep, DAT_CLOSE_ABRUPT_FLAG);
	return NULL;
}

static void until_reset(DAT_EP_HANDLE ep)
{
	ct_await((dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), dat_ep_reset(ep),
		  ct_ep_state(ep) == DAT_EP_STATE_UNCONNECTED));
}

/* One connection whose end all threads have a hand in. */
static void end_crosswise(struct again *again, bool graceful)
{
	DAT_OS_WAIT_PROXY_AGENT proxy = { .instance_data = again, .proxy_agent_func = agent_again };
	struct cu_rig *rig = again->rig;
	pthread_t thread;

	atomic_store(&again->ending, false);
	expect_ok(dat_cno_create(rig->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &again->cno));
	expect_ok(dat_cno_modify_agent(again->cno, proxy));
	expect_ok(dat_evd_modify_cno(rig->a.connect, again->cno));
	expect_ok(dat_evd_modify_cno(rig->a.recv, again->cno));
	for (int i = 0; i < 4; i++)
		expect_ok(cu_recv(&rig->a, 0, 64, 1));
	assert_int_equal(pthread_create(&thread, NULL, part_peer, rig), 0);
	if (graceful)
		dat_ep_disconnect(rig->a.ep, DAT_CLOSE_GRACEFUL_FLAG);
	until_reset(rig->a.ep);
	pthread_join(thread, NULL);
	until_reset(rig->p.ep);
	atomic_store(&again->ending, true);
	expect_ok(dat_evd_modify_cno(rig->a.connect, DAT_HANDLE_NULL));
	expect_ok(dat_evd_modify_cno(rig->a.recv, DAT_HANDLE_NULL));
	expect_ok(dat_cno_free(again->cno));
	ct_drain(rig->a.connect);
	ct_drain(rig->p.connect);
	ct_drain(rig->a.recv);
}

/* The agent's calls, this thread's and the service thread's meet crosswise. */
static void cno_19_against_another_thread(void **state)
{
	struct cu_rig *rig = *state;
	static struct again again;

	again.rig = rig;
	for (unsigned int round = 0; round < harness_rounds(200); round++) {
		if (round)
			cu_establish(rig, &rig->a, &rig->p);
		end_crosswise(&again, round % 2);
	}
	assert_int_equal(atomic_load(&again.wrong), 0);
	assert_in_range(atomic_load(&again.calls), 1, UINT32_MAX);
}

/* ---- The end of what the agent is about ---- */

static DAT_CNO_HANDLE doomed;

static DAT_RETURN call_free_cno(struct job *job)
{
	DAT_RETURN rc = dat_evd_free(job->evd);

	return rc ? rc : dat_cno_free(doomed);
}

/* CNO-31: freeing the last dispatcher would call an agent, but this one is spent. */
static void cno_19_the_agent_frees_its_object(void **state)
{
	struct cu_rig *rig = *state;
	struct job job = { .rig = rig, .call = call_free_cno };
	DAT_EVD_HANDLE evd;

	expect_ok(dat_cno_create(rig->ia, proxy_of(&job), &doomed));
	evd = ct_evd(rig->ia, 8, doomed, DAT_EVD_SOFTWARE_FLAG);
	expect_ok(ct_post_se(evd, 1));
	ct_await(atomic_load(&job.done));
	expect_ok(job.rc);
	expect_handle(dat_cno_free(doomed), CNO);
}

/* After dat_evd_free nobody is told of the dispatcher any more, and what agents use can be freed.
 */
static void cno_34_no_agent_runs_after_the_end(void **state)
{
	struct cu_rig *rig = *state;
	pthread_t thread;

	for (int i = 0; i < 10; i++) {
		struct slow slow = { .started = false };
		DAT_CNO_HANDLE cno;
		DAT_EVD_HANDLE evd;

		expect_ok(dat_cno_create(rig->ia, slow_proxy(&slow), &cno));
		evd = ct_evd(rig->ia, 8, cno, DAT_EVD_SOFTWARE_FLAG);
		expect_ok(ct_post_se(evd, 1));
		if (i % 2)
			ct_await(atomic_load(&slow.started));
		assert_int_equal(pthread_create(&thread, NULL, slow_go_on, &slow), 0);
		expect_ok(dat_evd_free(evd));
		assert_true(atomic_load(&slow.over));
		expect_ok(dat_cno_free(cno));
		pthread_join(thread, NULL);
	}
}

struct counted {
	atomic_uint *calls;
};

static void counting_agent(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	struct counted *counted = data;

	(void)evd;
	atomic_fetch_add(counted->calls, 1);
	free(counted);
}

/* CNO-17: whoever was detached is called once, however many there are and whatever is freed. */
static void cno_17_each_association_is_called_once(void **state)
{
	enum {
		ROUNDS = 500
	};
	struct cu_rig *rig = *state;
	static atomic_uint called;
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;

	expect_ok(dat_cno_create(rig->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	evd = ct_evd(rig->ia, 8, cno, DAT_EVD_SOFTWARE_FLAG);
	for (int i = 0; i < ROUNDS; i++) {
		struct counted *counted = malloc(sizeof(*counted));

		assert_non_null(counted);
		counted->calls = &called;
		expect_ok(dat_cno_modify_agent(
			cno, (DAT_OS_WAIT_PROXY_AGENT){ .instance_data = counted,
							.proxy_agent_func = counting_agent }));
		expect_ok(ct_post_se(evd, 1));
		expect_ok(dat_evd_dequeue(evd, &event));
	}
	expect_ok(dat_evd_free(evd));
	expect_ok(dat_cno_free(cno));
	assert_int_equal(atomic_load(&called), ROUNDS);
}

#define T(f)	     cmocka_unit_test(f)
#define R(set_up, f) cmocka_unit_test_setup_teardown(f, set_up, cu_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(cno_19_during_dat_ep_disconnect),
		T(cno_19_when_the_peer_disconnects),
		T(cno_19_with_completions),
		T(cno_19_during_dat_ep_set_watermark),
		R(cu_setup_connected, cno_19_against_another_thread),
		R(cu_setup_ia, cno_19_the_agent_frees_its_object),
		R(cu_setup_ia, cno_34_no_agent_runs_after_the_end),
		R(cu_setup_ia, cno_17_each_association_is_called_once),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
