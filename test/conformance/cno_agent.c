/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Proxy agents of notification objects: CNO-16 to CNO-24, CNO-31, CNO-34. */
#include "harness.h"
#include "slow_agent.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

/* What an agent saw, and what it shall do. Static: closing the adapter calls agents, too. */
struct seen {
	atomic_int calls;
	_Atomic(DAT_EVD_HANDLE) evd;
	DAT_CNO_HANDLE again;	/* associate itself again there */
	DAT_EVD_HANDLE dequeue; /* and take events from there */
	atomic_int taken, wrong;
};

static void agent(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	DAT_OS_WAIT_PROXY_AGENT self = { .instance_data = data, .proxy_agent_func = agent };
	struct seen *seen = data;
	DAT_EVENT event;

	atomic_store(&seen->evd, evd);
	if (seen->again != DAT_HANDLE_NULL &&
	    dat_cno_modify_agent(seen->again, self) != DAT_SUCCESS)
		atomic_fetch_add(&seen->wrong, 1);
	if (evd != DAT_HANDLE_NULL && seen->dequeue != DAT_HANDLE_NULL) {
		while (dat_evd_dequeue(seen->dequeue, &event) == DAT_SUCCESS)
			atomic_fetch_add(&seen->taken, 1);
	}
	atomic_fetch_add(&seen->calls, 1);
}

static DAT_OS_WAIT_PROXY_AGENT agent_of(struct seen *seen)
{
	DAT_OS_WAIT_PROXY_AGENT a = { .instance_data = seen, .proxy_agent_func = agent };

	return a;
}

static DAT_CNO_HANDLE cno_with(struct ct_ia *ia, struct seen *seen)
{
	DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;

	memset(seen, 0, sizeof(*seen));
	expect_ok(dat_cno_create(ia->ia, agent_of(seen), &cno));
	return cno;
}

static DAT_EVD_HANDLE soft_evd(struct ct_ia *ia, DAT_CNO_HANDLE cno)
{
	return ct_evd(ia->ia, 64, cno, DAT_EVD_SOFTWARE_FLAG);
}

static void called(struct seen *seen, int times, DAT_EVD_HANDLE evd)
{
	ct_await(atomic_load(&seen->calls) >= times);
	assert_int_equal(atomic_load(&seen->calls), times);
	assert_ptr_equal(atomic_load(&seen->evd), evd);
}

static void has_agent(DAT_CNO_HANDLE cno, struct seen *seen)
{
	DAT_CNO_PARAM param;

	memset(&param, 0xa5, sizeof(param));
	expect_ok(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param));
	if (seen == NULL) {
		DAT_CNO_PARAM none;

		memset(&none, 0, sizeof(none));
		assert_int_equal(param.proxy_type, DAT_PROXY_TYPE_NONE);
		assert_memory_equal(&param.proxy, &none.proxy, sizeof(none.proxy));
		return;
	}
	assert_int_equal(param.proxy_type, DAT_PROXY_TYPE_AGENT);
	assert_ptr_equal(param.proxy.agent.instance_data, seen);
	assert_true(param.proxy.agent.proxy_agent_func == agent);
}

static void cno_7_a_null_function_means_no_agent(void **state)
{
	DAT_OS_WAIT_PROXY_AGENT none = { .instance_data = &none, .proxy_agent_func = NULL };
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd, hint;
	DAT_CNO_HANDLE cno;

	expect_ok(dat_cno_create(ia->ia, none, &cno));
	has_agent(cno, NULL);
	evd = soft_evd(ia, cno);
	expect_ok(ct_post_se(evd, 1));
	expect_ok(dat_cno_wait(cno, 0, &hint));
	assert_ptr_equal(hint, evd);
}

static void cno_17_an_agent_is_called_once(void **state)
{
	struct ct_ia *ia = *state;
	static struct seen seen;
	DAT_CNO_HANDLE cno = cno_with(ia, &seen);
	DAT_EVD_HANDLE evd = soft_evd(ia, cno);

	has_agent(cno, &seen);
	expect_ok(ct_post_se(evd, 1));
	/* EVD-70: the trigger happens before the post returns. */
	called(&seen, 1, evd);
	/* CNO-24 */
	has_agent(cno, NULL);
	expect_ok(ct_post_se(evd, 2));
	expect_ok(ct_post_se(evd, 3));
	called(&seen, 1, evd);
}

static void cno_20_calling_the_agent_consumes_nothing(void **state)
{
	struct ct_ia *ia = *state;
	static struct seen seen;
	DAT_CNO_HANDLE cno = cno_with(ia, &seen);
	DAT_EVD_HANDLE evd = soft_evd(ia, cno), hint;
	struct ct_waiter *waiter;

	expect_ok(ct_post_se(evd, 1));
	called(&seen, 1, evd);
	expect_ok(dat_cno_wait(cno, 0, &hint));
	assert_ptr_equal(hint, evd);
	/* A waiter is released and the agent called, by one trigger. */
	expect_ok(dat_cno_modify_agent(cno, agent_of(&seen)));
	waiter = ct_cno_waiter(cno, DAT_TIMEOUT_INFINITE);
	expect_ok(ct_post_se(evd, 2));
	ct_waiter_join(waiter);
	expect_ok(waiter->rc);
	assert_ptr_equal(waiter->hint, evd);
	called(&seen, 2, evd);
}

static void cno_16_modifying_invokes_nothing(void **state)
{
	struct ct_ia *ia = *state;
	static struct seen seen, other;
	DAT_CNO_HANDLE cno = cno_with(ia, &seen);
	DAT_EVD_HANDLE evd = soft_evd(ia, cno), hint;

	memset(&other, 0, sizeof(other));
	expect_ok(dat_cno_modify_agent(cno, DAT_OS_WAIT_PROXY_AGENT_NULL));
	has_agent(cno, NULL);
	expect_ok(ct_post_se(evd, 1));
	assert_int_equal(atomic_load(&seen.calls), 0);
	/* Triggered, and stays so. */
	expect_ok(dat_cno_modify_agent(cno, agent_of(&other)));
	assert_int_equal(atomic_load(&other.calls), 0);
	has_agent(cno, &other);
	expect_ok(dat_cno_wait(cno, 0, &hint));
	assert_ptr_equal(hint, evd);
	expect_ok(ct_post_se(evd, 2));
	called(&other, 1, evd);
	assert_int_equal(atomic_load(&seen.calls), 0);
}

static void cno_18_a_triggered_object_calls_its_agent_again(void **state)
{
	struct ct_ia *ia = *state;
	static struct seen seen;
	DAT_CNO_HANDLE cno = cno_with(ia, &seen);
	DAT_EVD_HANDLE evd = soft_evd(ia, cno);

	/* Nobody waits in between, so the object stays triggered. */
	for (int i = 1; i <= 10; i++) {
		expect_ok(ct_post_se(evd, 1));
		called(&seen, i, evd);
		expect_ok(dat_cno_modify_agent(cno, agent_of(&seen)));
	}
}

static void *post_many(void *evd)
{
	for (uintptr_t i = 0; i < 4000; i++) {
		DAT_EVENT event;

		ct_post_se(evd, i);
		dat_evd_dequeue(evd, &event);
	}
	return NULL;
}

/*
 * An old agent may still be running when another takes its place; each association is called once
 * at most all the same.
 */
static void cno_21_agents_change_under_traffic(void **state)
{
	struct ct_ia *ia = *state;
	static struct seen seen, other;
	DAT_CNO_HANDLE cno = cno_with(ia, &seen);
	DAT_EVD_HANDLE evd = soft_evd(ia, cno);
	int associated[2] = { 1, 0 };
	pthread_t thread;

	memset(&other, 0, sizeof(other));
	assert_int_equal(pthread_create(&thread, NULL, post_many, evd), 0);
	for (int i = 1; i < 2000; i++) {
		expect_ok(dat_cno_modify_agent(cno, agent_of(i % 2 ? &other : &seen)));
		associated[i % 2]++;
	}
	pthread_join(thread, NULL);
	expect_ok(dat_cno_modify_agent(cno, DAT_OS_WAIT_PROXY_AGENT_NULL));
	assert_in_range(atomic_load(&seen.calls), 0, associated[0]);
	assert_in_range(atomic_load(&other.calls), 0, associated[1]);
	ct_drain(evd);
	expect_ok(ct_post_se(evd, 1));
	assert_in_range(atomic_load(&seen.calls) + atomic_load(&other.calls), 0, 2000);
}

static void cno_19_the_agent_may_call_the_library(void **state)
{
	struct ct_ia *ia = *state;
	static struct seen seen;
	DAT_CNO_HANDLE cno = cno_with(ia, &seen);
	DAT_EVD_HANDLE evd = soft_evd(ia, cno);

	seen.again = cno;
	seen.dequeue = evd;
	for (int i = 1; i <= 50; i++) {
		expect_ok(ct_post_se(evd, (uintptr_t)i));
		called(&seen, i, evd);
	}
	assert_int_equal(atomic_load(&seen.taken), 50);
	assert_int_equal(atomic_load(&seen.wrong), 0);
	ct_empty(evd);
}

static void cno_19_completions_call_the_agent(void **state)
{
	struct ct_ia *ia = *state;
	static struct seen seen;
	DAT_CNO_HANDLE cno = cno_with(ia, &seen);
	struct ct_end a = { 0 }, p = { .recv = ct_evd(ia->ia, 64, cno, DAT_EVD_DTO_FLAG) };

	ct_end_open(&a, ia->ia, NULL);
	ct_end_open(&p, ia->ia, NULL);
	ct_end_connect(&a, &p);
	seen.again = cno;
	seen.dequeue = p.recv;
	for (int i = 1; i <= 20; i++) {
		expect_ok(ct_post_recv(&p, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
		expect_ok(ct_post_send(&a, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
		ct_completion(a.request, 2, DAT_DTO_SUCCESS);
		ct_await(atomic_load(&seen.taken) == i);
	}
	assert_int_equal(atomic_load(&seen.wrong), 0);
}

/* A program may try, wherever its agent is called. */
struct closing {
	DAT_IA_HANDLE ia;
	pthread_t caller; /* who frees */
	atomic_int calls, here, wrong;
};

static void close_it(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	struct closing *c = data;
	DAT_RETURN rc = dat_ia_close(c->ia, DAT_CLOSE_ABRUPT_FLAG);

	(void)evd;
	if (rc != (DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_IA_IN_USE))
		atomic_fetch_add(&c->wrong, 1);
	if (pthread_equal(pthread_self(), c->caller))
		atomic_fetch_add(&c->here, 1);
	atomic_fetch_add(&c->calls, 1);
}

static void cno_19_the_agent_may_not_close_its_adapter(void **state)
{
	struct ct_ia *ia = *state;
	static struct closing c;
	DAT_OS_WAIT_PROXY_AGENT agent = { .instance_data = &c, .proxy_agent_func = close_it };
	uint64_t deadline = ct_now_us() + CT_US;

	memset(&c, 0, sizeof(c));
	c.ia = ia->ia;
	c.caller = pthread_self();
	/* The agent's thread may be the first, or the one that frees the dispatcher. */
	for (int i = 1; i <= 300 || (!atomic_load(&c.here) && ct_now_us() < deadline); i++) {
		DAT_CNO_HANDLE cno;
		DAT_EVD_HANDLE evd;

		expect_ok(dat_cno_create(ia->ia, agent, &cno));
		evd = soft_evd(ia, cno);
		expect_ok(ct_post_se(evd, 1));
		expect_ok(dat_evd_free(evd));
		assert_int_equal(atomic_load(&c.calls), i);
		assert_int_equal(atomic_load(&c.wrong), 0);
		expect_ok(dat_cno_free(cno));
	}
	assert_true(atomic_load(&c.here) > 0);
}

static void *nice_value(void *arg)
{
	atomic_store((atomic_int *)arg, getpriority(PRIO_PROCESS, 0));
	return NULL;
}

/* Its own, and that of a thread which it starts. */
static void note_nice_values(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	atomic_int *seen = data;
	pthread_t thread;

	(void)evd;
	nice_value(&seen[0]);
	if (!pthread_create(&thread, NULL, nice_value, &seen[1]))
		pthread_join(thread, NULL);
	atomic_store(&seen[2], 1);
}

/* The service thread's may be lower. */
static void cno_19_the_agent_has_the_programs_nice_value(void **state)
{
	struct ct_ia *ia = *state;
	static atomic_int seen[3];
	DAT_OS_WAIT_PROXY_AGENT agent = { .instance_data = seen,
					  .proxy_agent_func = note_nice_values };
	DAT_CNO_HANDLE cno;

	expect_ok(dat_cno_create(ia->ia, agent, &cno));
	expect_ok(ct_post_se(soft_evd(ia, cno), 1));
	ct_await(atomic_load(&seen[2]));
	assert_int_equal(atomic_load(&seen[0]), getpriority(PRIO_PROCESS, 0));
	assert_int_equal(atomic_load(&seen[1]), getpriority(PRIO_PROCESS, 0));
}

static void evd_57_no_agent_for_a_dispatcher_with_a_waiter(void **state)
{
	struct ct_ia *ia = *state;
	static struct seen seen;
	DAT_CNO_HANDLE cno = cno_with(ia, &seen);
	DAT_EVD_HANDLE evd = soft_evd(ia, cno);
	struct ct_waiter *waiter = ct_evd_waiter(evd, DAT_TIMEOUT_INFINITE, 1);

	expect_ok(ct_post_se(evd, 1));
	ct_waiter_join(waiter);
	expect_ok(waiter->rc);
	assert_int_equal(atomic_load(&seen.calls), 0);
	has_agent(cno, &seen);
}

static void cno_31_the_agent_hears_of_the_last_dispatcher(void **state)
{
	struct ct_ia *ia = *state;
	static struct seen seen;
	DAT_CNO_HANDLE cno = cno_with(ia, &seen);
	DAT_EVD_HANDLE one = soft_evd(ia, cno), two = soft_evd(ia, cno);

	atomic_store(&seen.evd, (DAT_EVD_HANDLE)&seen);
	expect_ok(dat_evd_free(one));
	assert_int_equal(atomic_load(&seen.calls), 0);
	expect_ok(dat_evd_free(two));
	called(&seen, 1, DAT_HANDLE_NULL);
	has_agent(cno, NULL);
	expect_ok(dat_cno_free(cno));
}

static void cno_34_freeing_drops_the_agent(void **state)
{
	struct ct_ia *ia = *state;
	static struct seen seen;
	DAT_CNO_HANDLE cno = cno_with(ia, &seen);

	expect_ok(dat_cno_free(cno));
	assert_int_equal(atomic_load(&seen.calls), 0);
}

/* ---- In several threads ---- */

/* Two dispatchers, each with an agent that waits to be called: the thread that calls is busy. */
struct queued {
	DAT_CNO_HANDLE cno, busy_cno;
	DAT_EVD_HANDLE evd[2], busy_evd;
	struct slow slow[2], busy;
};

static void queue_agents(struct queued *q, DAT_IA_HANDLE ia, bool spare)
{
	memset(q, 0, sizeof(*q));
	expect_ok(dat_cno_create(ia, slow_proxy(&q->busy), &q->busy_cno));
	q->busy_evd = ct_evd(ia, 8, q->busy_cno, DAT_EVD_SOFTWARE_FLAG);
	expect_ok(ct_post_se(q->busy_evd, 1));
	ct_await(atomic_load(&q->busy.started));
	q->cno = ct_cno(ia);
	for (int i = 0; i < 2; i++) {
		q->evd[i] = ct_evd(ia, 8, q->cno, DAT_EVD_SOFTWARE_FLAG);
		if (spare)
			q->slow[i].spare = ct_evd(ia, 8, q->cno, DAT_EVD_SOFTWARE_FLAG);
	}
}

static void queue_agent(struct queued *q, int i)
{
	expect_ok(dat_cno_modify_agent(q->cno, slow_proxy(&q->slow[i])));
	expect_ok(ct_post_se(q->evd[i], 1));
}

static void end_queued(struct queued *q)
{
	atomic_store(&q->busy.go_on, true);
	expect_ok(dat_evd_free(q->busy_evd));
	expect_ok(dat_cno_free(q->busy_cno));
	expect_ok(dat_cno_free(q->cno));
}

struct freeing {
	pthread_t thread;
	DAT_EVD_HANDLE evd;
	DAT_RETURN rc;
	atomic_bool done;
};

static void *free_evd(void *arg)
{
	struct freeing *f = arg;

	f->rc = dat_evd_free(f->evd);
	atomic_store(&f->done, true);
	return NULL;
}

static void start_freeing(struct freeing *f, DAT_EVD_HANDLE evd)
{
	memset(f, 0, sizeof(*f));
	f->evd = evd;
	assert_int_equal(pthread_create(&f->thread, NULL, free_evd, f), 0);
}

static void end_freeing(struct freeing *f)
{
	ct_await(atomic_load(&f->done));
	pthread_join(f->thread, NULL);
	expect_ok(f->rc);
}

/* CNO-31: whoever frees a dispatcher may have to call an agent, which others wait for as well. */
static void cno_31_no_agent_runs_in_another_thread_that_frees(void **state)
{
	struct ct_ia *ia = *state;
	static struct freeing freeing;
	static struct queued q;
	pthread_t thread;
	bool over;

	queue_agents(&q, ia->ia, false);
	queue_agent(&q, 0);
	start_freeing(&freeing, q.evd[0]);
	ct_await(atomic_load(&q.slow[0].started));
	assert_int_equal(pthread_create(&thread, NULL, slow_go_on, &q.slow[0]), 0);
	expect_ok(dat_evd_free(q.evd[1]));
	over = atomic_load(&q.slow[0].over);
	pthread_join(thread, NULL);
	end_freeing(&freeing);
	end_queued(&q);
	assert_true(over);
}

/* An agent that frees waits for none that may wait for it. */
static void cno_19_agents_of_two_threads_free(void **state)
{
	struct ct_ia *ia = *state;
	static struct freeing freeing[2];
	static struct queued q;

	queue_agents(&q, ia->ia, true);
	for (int i = 0; i < 2; i++) {
		queue_agent(&q, i);
		start_freeing(&freeing[i], q.evd[i]);
		ct_await(atomic_load(&q.slow[i].started));
	}
	for (int i = 0; i < 2; i++)
		atomic_store(&q.slow[i].go_on, true);
	for (int i = 0; i < 2; i++) {
		end_freeing(&freeing[i]);
		expect_ok(q.slow[i].rc);
	}
	end_queued(&q);
}

static void cno_22_23_every_mask_fills_everything(void **state)
{
	struct ct_ia *ia = *state;
	static struct seen seen;
	DAT_CNO_HANDLE cno = cno_with(ia, &seen);
	DAT_CNO_PARAM param;

	assert_int_equal(DAT_CNO_FIELD_ALL, 4);
	for (int mask = 1; mask <= 7; mask++) {
		memset(&param, 0xa5, sizeof(param));
		expect_ok(dat_cno_query(cno, (DAT_CNO_PARAM_MASK)mask, &param));
		assert_ptr_equal(param.ia_handle, ia->ia);
		assert_int_equal(param.proxy_type, DAT_PROXY_TYPE_AGENT);
		assert_ptr_equal(param.proxy.agent.instance_data, &seen);
	}
	expect_ok(dat_cno_query(cno, (DAT_CNO_PARAM_MASK)0, NULL));
	for (int bit = 3; bit < 32; bit++)
		expect_arg(dat_cno_query(cno, (DAT_CNO_PARAM_MASK)(1u << bit), &param), 2);
	expect_arg(dat_cno_query(cno, DAT_CNO_FIELD_ALL, NULL), 3);
}

#define T(f) cmocka_unit_test_setup_teardown(f, ct_setup, ct_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(cno_7_a_null_function_means_no_agent),
		T(cno_17_an_agent_is_called_once),
		T(cno_20_calling_the_agent_consumes_nothing),
		T(cno_16_modifying_invokes_nothing),
		T(cno_18_a_triggered_object_calls_its_agent_again),
		T(cno_21_agents_change_under_traffic),
		T(cno_19_the_agent_may_call_the_library),
		T(cno_19_completions_call_the_agent),
		T(cno_19_the_agent_may_not_close_its_adapter),
		T(cno_19_the_agent_has_the_programs_nice_value),
		T(evd_57_no_agent_for_a_dispatcher_with_a_waiter),
		T(cno_31_the_agent_hears_of_the_last_dispatcher),
		T(cno_34_freeing_drops_the_agent),
		T(cno_31_no_agent_runs_in_another_thread_that_frees),
		T(cno_19_agents_of_two_threads_free),
		T(cno_22_23_every_mask_fills_everything),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
