/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Races (SIM-1 to SIM-11, SIM-T1): two threads start at a barrier, what they may not do is counted.
 */
#include "conn_util.h"

#include <pthread.h>
#include <stdatomic.h>

/* A call that runs on another thread, from a barrier on. The threads check nothing themselves. */
struct racer {
	pthread_t thread;
	pthread_barrier_t *barrier;
	DAT_RETURN (*call)(void *arg);
	void *arg;
	DAT_RETURN rc;
};

static void *race_thread(void *arg)
{
	struct racer *racer = arg;

	pthread_barrier_wait(racer->barrier);
	racer->rc = racer->call(racer->arg);
	return NULL;
}

/* Runs both calls at the same time. */
static void race(DAT_RETURN (*one)(void *), void *one_arg, DAT_RETURN (*two)(void *), void *two_arg,
		 DAT_RETURN *one_rc, DAT_RETURN *two_rc)
{
	pthread_barrier_t barrier;
	struct racer racer = { .barrier = &barrier, .call = two, .arg = two_arg };

	pthread_barrier_init(&barrier, NULL, 2);
	assert_int_equal(pthread_create(&racer.thread, NULL, race_thread, &racer), 0);
	pthread_barrier_wait(&barrier);
	*one_rc = one(one_arg);
	pthread_join(racer.thread, NULL);
	pthread_barrier_destroy(&barrier);
	*two_rc = racer.rc;
}

static DAT_RETURN disconnect_abruptly(void *arg)
{
	return dat_ep_disconnect(((struct ct_end *)arg)->ep, DAT_CLOSE_ABRUPT_FLAG);
}

static DAT_RETURN disconnect_gracefully(void *arg)
{
	return dat_ep_disconnect(((struct ct_end *)arg)->ep, DAT_CLOSE_GRACEFUL_FLAG);
}

static DAT_RETURN free_endpoint(void *arg)
{
	return dat_ep_free(((struct ct_end *)arg)->ep);
}

struct request {
	DAT_CR_HANDLE cr;
	DAT_EP_HANDLE ep;
};

static DAT_RETURN accept_request(void *arg)
{
	struct request *request = arg;

	return dat_cr_accept(request->cr, request->ep, 0, NULL);
}

static DAT_RETURN reject_request(void *arg)
{
	return dat_cr_reject(((struct request *)arg)->cr, 0, NULL);
}

/* ---- Both sides disconnect --------------------------------------------- */

static void one_disconnected_each(struct cu_rig *rig)
{
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	STATE(rig->a.ep, DISCONNECTED);
	STATE(rig->p.ep, DISCONNECTED);
	ct_empty(rig->a.connect);
	ct_empty(rig->p.connect);
}

static void again(struct cu_rig *rig)
{
	expect_ok(dat_ep_reset(rig->a.ep));
	expect_ok(dat_ep_reset(rig->p.ep));
	cu_establish(rig, &rig->a, &rig->p);
}

static void sim_t1_both_disconnect(void **state)
{
	struct cu_rig *rig = *state;
	DAT_RETURN a, p;

	for (unsigned int round = 0; round < harness_rounds(1000); round++) {
		/* One round in four one or both are graceful. */
		race(round % 4 == 1 ? disconnect_gracefully : disconnect_abruptly, &rig->a,
		     round % 4 == 1 || round % 4 == 2 ? disconnect_gracefully : disconnect_abruptly,
		     &rig->p, &a, &p);
		expect_ok(a);
		expect_ok(p);
		one_disconnected_each(rig);
		again(rig);
	}
	cu_end_connection(&rig->a, &rig->p);
	cu_quiet(rig->a.connect, CU_QUIET);
	cu_quiet(rig->p.connect, 0);
}

/* Every request completes once, in order, with no success after a failure. */
static void all_complete(struct ct_end *end, unsigned int n)
{
	bool failed = false;

	for (unsigned int i = 0; i < n; i++) {
		DAT_DTO_COMPLETION_EVENT_DATA done = cu_completion(end->request);

		assert_int_equal(done.user_cookie.as_64, i);
		assert_false(failed && done.status == DAT_DTO_SUCCESS);
		failed = done.status != DAT_DTO_SUCCESS;
	}
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(cu_completion(end->recv).user_cookie.as_64, i);
	ct_empty(end->request);
	ct_empty(end->recv);
}

static void sim_8_both_disconnect_gracefully_with_traffic(void **state)
{
	enum {
		K = 12
	};
	struct cu_rig *rig = *state;
	DAT_RETURN a, p;

	for (unsigned int round = 0; round < harness_rounds(200); round++) {
		for (unsigned int i = 0; i < K; i++) {
			expect_ok(cu_recv(&rig->a, 32768, 4096, i));
			expect_ok(cu_recv(&rig->p, 32768, 4096, i));
		}
		for (unsigned int i = 0; i < K; i++) {
			expect_ok(ct_post_send(&rig->a, 0, 4096, i, DAT_COMPLETION_DEFAULT_FLAG));
			expect_ok(ct_post_send(&rig->p, 0, 4096, i, DAT_COMPLETION_DEFAULT_FLAG));
		}
		race(disconnect_gracefully, &rig->a, disconnect_gracefully, &rig->p, &a, &p);
		expect_ok(a);
		expect_ok(p);
		one_disconnected_each(rig);
		all_complete(&rig->a, K);
		all_complete(&rig->p, K);
		again(rig);
	}
}

static void sim_3_disconnect_against_broken(void **state)
{
	struct cu_rig *rig = *state;

	for (unsigned int round = 0; round < harness_rounds(200); round++) {
		DAT_LMR_TRIPLET seg = ct_segment(&rig->a.mem, 0, 64);
		DAT_RMR_TRIPLET bad = ct_target(&rig->p.mem, 0, 64);
		DAT_RETURN a, p;

		bad.rmr_context ^= 0x5a5a5a00;
		expect_ok(dat_ep_post_rdma_read(rig->a.ep, 1, &seg, cu_cookie(1), &bad,
						DAT_COMPLETION_DEFAULT_FLAG));
		race(disconnect_abruptly, &rig->a, disconnect_abruptly, &rig->p, &a, &p);
		expect_ok(a);
		expect_ok(p);
		cu_conn_ended(rig->a.connect, rig->a.ep);
		cu_conn_ended(rig->p.connect, rig->p.ep);
		ct_empty(rig->a.connect);
		ct_empty(rig->p.connect);
		assert_int_equal(cu_completion(rig->a.request).user_cookie.as_64, 1);
		again(rig);
	}
	cu_quiet(rig->a.connect, CU_QUIET);
}

/* ---- Establishment ----------------------------------------------------- */

/* The next connection event of an end. */
static DAT_EVENT_NUMBER next_of(struct ct_end *end)
{
	DAT_EVENT event;

	if (!cu_next(end->connect, CT_MS, &event))
		fail_msg("no connection event");
	assert_ptr_equal(event.event_data.connect_event_data.ep_handle, end->ep);
	return event.event_number;
}

/* first alone, or ESTABLISHED and then DISCONNECTED. */
static void either(struct ct_end *end, DAT_EVENT_NUMBER first)
{
	DAT_EVENT_NUMBER number = next_of(end);

	if (number == DAT_CONNECTION_EVENT_ESTABLISHED)
		number = next_of(end);
	else if (number == first)
		number = DAT_CONNECTION_EVENT_DISCONNECTED;
	if (number != DAT_CONNECTION_EVENT_DISCONNECTED)
		fail_msg("%s", cu_event_name(number));
	STATE(end->ep, DISCONNECTED);
	ct_empty(end->connect);
}

static void sim_4_abort_against_accept(void **state)
{
	struct cu_rig *rig = *state;

	for (unsigned int round = 0; round < harness_rounds(300); round++) {
		struct request request = { .cr = cu_request(rig, &rig->a), .ep = rig->p.ep };
		DAT_RETURN a, p;

		race(disconnect_abruptly, &rig->a, accept_request, &request, &a, &p);
		expect_ok(a);
		expect_ok(p);
		either(&rig->a, DAT_CONNECTION_EVENT_DISCONNECTED);
		either(&rig->p, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
		expect_ok(dat_ep_reset(rig->a.ep));
		expect_ok(dat_ep_reset(rig->p.ep));
	}
	cu_quiet(rig->a.connect, CU_QUIET);
	cu_quiet(rig->p.connect, 0);
}

static void sim_4_free_against_accept(void **state)
{
	struct cu_rig *rig = *state;

	for (unsigned int round = 0; round < harness_rounds(300); round++) {
		struct request request = { .cr = cu_request(rig, &rig->a), .ep = rig->p.ep };
		DAT_RETURN a, p;

		race(free_endpoint, &rig->a, accept_request, &request, &a, &p);
		expect_ok(a);
		expect_ok(p);
		either(&rig->p, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
		expect_ok(dat_ep_reset(rig->p.ep));
		/* ESTABLISHED may have been there before the free; nothing is added after it. */
		ct_drain(rig->a.connect);
		expect_ok(dat_ep_create(rig->ia, rig->a.pz, rig->a.recv, rig->a.request,
					rig->a.connect, NULL, &rig->a.ep));
	}
	cu_quiet(rig->a.connect, CU_QUIET);
}

/*
 * Connects with a timeout that is hardly longer than the request takes: where none arrives in that
 * time, it is tried again with more.
 */
static DAT_CR_HANDLE short_request(struct cu_rig *rig, unsigned int round, uint64_t *begun,
				   DAT_TIMEOUT *timeout)
{
	static DAT_TIMEOUT least = 2000;
	DAT_EVENT event;

	for (;;) {
		*timeout = least + round % 10 * 100;
		*begun = ct_now_us();
		expect_ok(cu_connect(&rig->a, rig->qual, *timeout));
		if (cu_next(rig->cr, *timeout / 1000 + 300, &event))
			return event.event_data.cr_arrival_event_data.cr_handle;
		cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_TIMED_OUT, NULL);
		expect_ok(dat_ep_reset(rig->a.ep));
		/* One that comes later yet is not the next attempt's. */
		while (cu_next(rig->cr, 100, &event))
			expect_ok(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0,
						NULL));
		least *= 2;
		assert_true(least < CT_US);
	}
}

static void sim_4_timeout_against_accept(void **state)
{
	struct cu_rig *rig = *state;

	for (unsigned int round = 0; round < harness_rounds(100); round++) {
		uint64_t begun;
		DAT_TIMEOUT timeout;
		DAT_EVENT_NUMBER number;
		DAT_CR_HANDLE cr = short_request(rig, round, &begun, &timeout);

		while (ct_now_us() - begun < timeout)
			;
		expect_ok(dat_cr_accept(cr, rig->p.ep, 0, NULL));
		number = next_of(&rig->a);
		if (number == DAT_CONNECTION_EVENT_ESTABLISHED) {
			cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED,
				      NULL);
			cu_end_connection(&rig->a, &rig->p);
		} else {
			assert_int_equal(number, DAT_CONNECTION_EVENT_TIMED_OUT);
			either(&rig->p, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
		}
		ct_empty(rig->a.connect);
		expect_ok(dat_ep_reset(rig->a.ep));
		expect_ok(dat_ep_reset(rig->p.ep));
	}
}

static void sim_5_passive_disconnects_while_it_completes(void **state)
{
	struct cu_rig *rig = *state;

	for (unsigned int round = 0; round < harness_rounds(300); round++) {
		DAT_CR_HANDLE cr = cu_request(rig, &rig->a);

		expect_ok(dat_cr_accept(cr, rig->p.ep, 0, NULL));
		expect_ok(dat_ep_disconnect(rig->p.ep, DAT_CLOSE_ABRUPT_FLAG));
		either(&rig->p, DAT_CONNECTION_EVENT_DISCONNECTED);
		either(&rig->a, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
		expect_ok(dat_ep_reset(rig->a.ep));
		expect_ok(dat_ep_reset(rig->p.ep));
	}
	cu_quiet(rig->a.connect, CU_QUIET);
	cu_quiet(rig->p.connect, 0);
}

static void sim_6_reject_against_timeout(void **state)
{
	struct cu_rig *rig = *state;
	unsigned int rejected = 0, late = 0;

	for (unsigned int round = 0; round < harness_rounds(100); round++) {
		uint64_t begun;
		DAT_TIMEOUT timeout;
		DAT_EVENT_NUMBER number;
		DAT_CR_HANDLE cr = short_request(rig, round, &begun, &timeout);

		/* Spins up to about the moment of the timeout. */
		while (ct_now_us() - begun < timeout - 100 + round % 7 * 40)
			;
		expect_ok(dat_cr_reject(cr, 0, NULL));
		number = next_of(&rig->a);
		if (number == DAT_CONNECTION_EVENT_PEER_REJECTED)
			rejected++;
		else if (number == DAT_CONNECTION_EVENT_TIMED_OUT)
			late++;
		else
			fail_msg("%s", cu_event_name(number));
		STATE(rig->a.ep, DISCONNECTED);
		ct_empty(rig->a.connect);
		expect_ok(dat_ep_reset(rig->a.ep));
	}
	print_message("# %u rejected, %u timed out\n", rejected, late);
	cu_quiet(rig->a.connect, CU_QUIET);
}

static void sim_7_two_threads_answer_one_request(void **state)
{
	struct cu_rig *rig = *state;

	if (!rig->prov.is_thread_safe)
		harness_skip("# the provider is not thread safe");
	for (unsigned int round = 0; round < harness_rounds(300); round++) {
		struct request request = { .cr = cu_request(rig, &rig->a), .ep = rig->p.ep };
		DAT_RETURN yes, no;

		race(accept_request, &request, reject_request, &request, &yes, &no);
		if (yes == DAT_SUCCESS) {
			expect_handle(no, CR);
			cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED,
				      NULL);
			cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED,
				      NULL);
			cu_end_connection(&rig->a, &rig->p);
		} else {
			expect_handle(yes, CR);
			expect_ok(no);
			STATE(rig->p.ep, UNCONNECTED);
			cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED,
				      NULL);
		}
		expect_ok(dat_ep_reset(rig->a.ep));
		expect_ok(dat_ep_reset(rig->p.ep));
	}
}

static void sim_7_two_threads_accept_on_one_endpoint(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end second = { 0 };

	if (!rig->prov.is_thread_safe)
		harness_skip("# the provider is not thread safe");
	ct_end_open(&second, rig->ia, NULL);
	for (unsigned int round = 0; round < harness_rounds(200); round++) {
		struct request one = { .cr = cu_request(rig, &rig->a), .ep = rig->p.ep };
		struct request two = { .cr = cu_request(rig, &second), .ep = rig->p.ep };
		struct ct_end *winner = &rig->a, *loser = &second;
		DAT_RETURN first, other;

		race(accept_request, &one, accept_request, &two, &first, &other);
		if (first != DAT_SUCCESS) {
			winner = &second;
			loser = &rig->a;
			expect_ok(other);
			expect_type(first, DAT_INVALID_STATE);
		} else {
			expect_type(other, DAT_INVALID_STATE);
		}
		expect_ok(dat_cr_reject(loser == &second ? two.cr : one.cr, 0, NULL));
		cu_conn_event(loser->connect, loser->ep, DAT_CONNECTION_EVENT_PEER_REJECTED, NULL);
		cu_conn_event(winner->connect, winner->ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
		cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
		cu_end_connection(winner, &rig->p);
		expect_ok(dat_ep_reset(winner->ep));
		expect_ok(dat_ep_reset(loser->ep));
		expect_ok(dat_ep_reset(rig->p.ep));
	}
	ct_end_close(&second);
}

/* Answers that fail: the qualifier is nobody's, the endpoint is the peer's. */
struct vain {
	pthread_t thread;
	struct request request;
	DAT_CONN_QUAL nobodys;
	DAT_RETURN wrong;
	atomic_bool over;
};

static DAT_RETURN answer_in_vain(const struct vain *vain, unsigned int i)
{
	DAT_RETURN wanted = DAT_INVALID_STATE, rc;

	if (i % 2) {
		rc = dat_cr_handoff(vain->request.cr, vain->nobodys);
		wanted = DAT_INVALID_PARAMETER;
	} else {
		rc = dat_cr_accept(vain->request.cr, vain->request.ep, 0, NULL);
	}
	return DAT_GET_TYPE(rc) == wanted || cu_unsupported(rc) ? DAT_SUCCESS : rc;
}

static void *answers_in_vain(void *arg)
{
	struct vain *vain = arg;

	for (unsigned int i = 0; i < harness_rounds(400) && !vain->wrong; i++)
		vain->wrong = answer_in_vain(vain, i);
	atomic_store(&vain->over, true);
	return NULL;
}

/* CR-16, CR-20: also while an answer is tried that fails then. */
static void sim_7_a_request_stays_until_an_answer_succeeds(void **state)
{
	struct cu_rig *rig = *state;
	struct request good = { .cr = cu_request(rig, &rig->a), .ep = rig->p.ep };
	struct vain vain = { .request = { .cr = good.cr, .ep = rig->a.ep },
			     .nobodys = cu_free_qual(rig) };
	DAT_RETURN query = DAT_SUCCESS, answer = DAT_SUCCESS;
	DAT_CR_PARAM param;

	if (!rig->prov.is_thread_safe)
		harness_skip("# the provider is not thread safe");
	assert_int_equal(pthread_create(&vain.thread, NULL, answers_in_vain, &vain), 0);
	for (unsigned int i = 0; !atomic_load(&vain.over) && !query && !answer; i++) {
		query = dat_cr_query(good.cr, DAT_CR_FIELD_ALL, &param);
		answer = answer_in_vain(&vain, i / 2);
	}
	pthread_join(vain.thread, NULL);
	expect_ok(query);
	expect_ok(answer);
	expect_ok(vain.wrong);
	expect_ok(accept_request(&good));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
}

/* ---- One connection after the other ------------------------------------ */

static void sim_11_nothing_of_the_last_connection(void **state)
{
	struct cu_rig *rig = *state;

	for (unsigned int round = 0; round < harness_rounds(200); round++) {
		/* Work that is cut off. */
		for (unsigned int i = 0; i < 8; i++) {
			expect_ok(cu_recv(&rig->p, 0, 8192, 1000));
			expect_ok(
				ct_post_send(&rig->a, 0, 8192, 1000, DAT_COMPLETION_DEFAULT_FLAG));
			expect_ok(cu_recv(&rig->a, 0, 8192, 1000));
		}
		expect_ok(dat_ep_disconnect(round % 2 ? rig->a.ep : rig->p.ep,
					    DAT_CLOSE_ABRUPT_FLAG));
		cu_conn_ended(rig->a.connect, rig->a.ep);
		cu_conn_ended(rig->p.connect, rig->p.ep);
		expect_ok(dat_ep_reset(rig->a.ep));
		expect_ok(dat_ep_reset(rig->p.ep));
		ct_drain(rig->a.recv);
		ct_drain(rig->a.request);
		ct_drain(rig->p.recv);
		expect_ok(cu_recv(&rig->p, 16384, 64, round));
		cu_establish(rig, &rig->a, &rig->p);
		cu_fill(rig->a.mem.base + 32768, 64, round);
		expect_ok(ct_post_send(&rig->a, 32768, 64, round, DAT_COMPLETION_DEFAULT_FLAG));
		DONE(rig->a.request, rig->a.ep, round, DAT_DTO_SEND, 64);
		DONE(rig->p.recv, rig->p.ep, round, DAT_DTO_RECEIVE, 64);
		FILLED(rig->p.mem.base + 16384, 64, round);
		ct_empty(rig->a.recv);
		ct_empty(rig->a.connect);
		ct_empty(rig->p.connect);
	}
}

#define C(f) cmocka_unit_test_setup_teardown(f, cu_setup_connected, cu_teardown)
#define E(f) cmocka_unit_test_setup_teardown(f, cu_setup_ends, cu_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		C(sim_t1_both_disconnect),
		C(sim_8_both_disconnect_gracefully_with_traffic),
		C(sim_3_disconnect_against_broken),
		E(sim_4_abort_against_accept),
		E(sim_4_free_against_accept),
		E(sim_4_timeout_against_accept),
		E(sim_5_passive_disconnects_while_it_completes),
		E(sim_6_reject_against_timeout),
		E(sim_7_two_threads_answer_one_request),
		E(sim_7_two_threads_accept_on_one_endpoint),
		E(sim_7_a_request_stays_until_an_answer_succeeds),
		C(sim_11_nothing_of_the_last_connection),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
