/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What threads do to each other in the core: no crash, no lost event, no lost slot, no wait for
 * ever. */
#include "test/minimal/rig.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* A small generator for each thread; which way a round goes is all it decides. */
static uint32_t dice(uint32_t *seed, uint32_t faces)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (*seed >> 16) % faces;
}

static pthread_t spawn(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, run, arg), 0);
	return thread;
}

static bool one_of(DAT_RETURN rc, DAT_RETURN a, DAT_RETURN b)
{
	return DAT_GET_TYPE(rc) == a || DAT_GET_TYPE(rc) == b;
}

/* ---- Posts against the ends of connections ---- */

struct poster {
	struct ct_end *end;
	const struct ct_end *peer;
	atomic_bool *stop;
	DAT_RETURN bad; /* an answer that no post may get */
	atomic_uint posted;
};

static void *post_all_the_time(void *arg)
{
	struct poster *p = arg;
	DAT_LMR_TRIPLET local = ct_segment(&p->end->mem, 0, 64);
	DAT_RMR_TRIPLET remote = ct_target(&p->peer->mem, 0, 64);
	uint32_t seed = (uint32_t)(uintptr_t)p;
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };
	DAT_RETURN rc;

	while (!atomic_load(p->stop)) {
		switch (dice(&seed, 4)) {
		case 0:
			rc = dat_ep_post_send(p->end->ep, 1, &local, cookie, 0);
			break;
		case 1:
			rc = dat_ep_post_rdma_write(p->end->ep, 1, &local, cookie, &remote, 0);
			break;
		case 2:
			rc = dat_ep_post_rdma_read(p->end->ep, 1, &local, cookie, &remote,
						   DAT_COMPLETION_SUPPRESS_FLAG);
			break;
		default:
			rc = dat_ep_post_recv(p->end->ep, 1, &local, cookie, 0);
			break;
		}
		if (!rc)
			atomic_fetch_add(&p->posted, 1);
		else if (!one_of(rc, DAT_INVALID_STATE, DAT_INSUFFICIENT_RESOURCES))
			p->bad = rc;
	}
	return NULL;
}

struct reaper {
	DAT_EVD_HANDLE evd;
	atomic_bool *stop;
	uint64_t reaped;
};

static void *reap_all_the_time(void *arg)
{
	struct reaper *r = arg;
	DAT_EVENT event;
	DAT_COUNT more;

	while (!atomic_load(r->stop)) {
		if (dat_evd_wait(r->evd, 500, 1, &event, &more) == DAT_SUCCESS)
			r->reaped++;
		while (dat_evd_dequeue(r->evd, &event) == DAT_SUCCESS)
			r->reaped++;
	}
	return NULL;
}

/* All slots of an unconnected EP are free: as many receives as it was made for, and no more. */
static void no_slot_is_lost(struct ct_end *end)
{
	DAT_EP_PARAM param;
	DAT_COUNT i;

	ct_drain(end->recv);
	ct_drain(end->request);
	expect_ok(dat_ep_query(end->ep, DAT_EP_FIELD_ALL, &param));
	for (i = 0; i < param.ep_attr.max_recv_dtos; i++)
		expect_ok(ct_post_recv(end, 0, 8, 1, 0));
	expect_type(ct_post_recv(end, 0, 8, 1, 0), DAT_INSUFFICIENT_RESOURCES);
}

static void end_connection(struct rig *rig, uint32_t how)
{
	DAT_EP_HANDLE ep = how & 1 ? rig->a.ep : rig->b.ep;

	expect_ok(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
	if (how & 2)
		expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	rig_conn_event(&rig->a, DAT_CONNECTION_EVENT_DISCONNECTED);
	rig_conn_event(&rig->b, DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_ok(dat_ep_reset(rig->a.ep));
	expect_ok(dat_ep_reset(rig->b.ep));
}

/* A thread may begin late. */
static bool all_posted(struct poster *posters, int num)
{
	while (num && atomic_load(&posters[num - 1].posted))
		num--;
	return !num;
}

static void posts_race_with_disconnect_and_reset(void **state)
{
	enum {
		ROUNDS = 150
	};
	struct rig *rig = *state;
	uint64_t until = ct_now_us() + 3 * CT_US;
	atomic_bool stop = false;
	struct poster posters[4] = { { .end = &rig->a, .peer = &rig->b, .stop = &stop },
				     { .end = &rig->b, .peer = &rig->a, .stop = &stop },
				     { .end = &rig->a, .peer = &rig->b, .stop = &stop },
				     { .end = &rig->b, .peer = &rig->a, .stop = &stop } };
	struct reaper reapers[4] = { { rig->a.recv, &stop, 0 },
				     { rig->a.request, &stop, 0 },
				     { rig->b.recv, &stop, 0 },
				     { rig->b.request, &stop, 0 } };
	pthread_t threads[8];
	uint32_t seed = 1;
	int i;

	for (i = 0; i < 4; i++) {
		threads[i] = spawn(post_all_the_time, &posters[i]);
		threads[4 + i] = spawn(reap_all_the_time, &reapers[i]);
	}
	for (i = 0; i < ROUNDS || (!all_posted(posters, 4) && ct_now_us() < until); i++) {
		rig_establish(rig);
		if (dice(&seed, 2))
			ct_pause();
		end_connection(rig, dice(&seed, 4));
	}
	atomic_store(&stop, true);
	for (i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	/* What was posted between the last reset and the stop is still posted. */
	expect_ok(dat_psp_free(rig->psp));
	rig_connect(rig, CT_US);
	rig_conn_event(&rig->a, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	expect_ok(dat_ep_reset(rig->a.ep));
	no_slot_is_lost(&rig->a);
	for (i = 0; i < 4; i++) {
		if (posters[i].bad)
			expect_ok(posters[i].bad);
		assert_true(atomic_load(&posters[i].posted) > 0);
	}
}

/* ---- Both at once ---- */

struct pairing {
	pthread_barrier_t barrier;
	DAT_RETURN (*call)(struct pairing *pairing, int which);
	DAT_EP_HANDLE ep[2];
	DAT_CR_HANDLE cr;
	DAT_RETURN rc[2];
};

struct half {
	struct pairing *pairing;
	int which;
};

static void *run_half(void *arg)
{
	struct half *half = arg;

	pthread_barrier_wait(&half->pairing->barrier);
	half->pairing->rc[half->which] = half->pairing->call(half->pairing, half->which);
	return NULL;
}

static void run_both(struct pairing *pairing)
{
	struct half halves[2] = { { pairing, 0 }, { pairing, 1 } };
	pthread_t threads[2];

	pthread_barrier_init(&pairing->barrier, NULL, 2);
	threads[0] = spawn(run_half, &halves[0]);
	threads[1] = spawn(run_half, &halves[1]);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	pthread_barrier_destroy(&pairing->barrier);
}

static DAT_RETURN disconnect_half(struct pairing *pairing, int which)
{
	return dat_ep_disconnect(pairing->ep[which], DAT_CLOSE_ABRUPT_FLAG);
}

/* SIM-2 */
static void both_sides_disconnect(void **state)
{
	struct rig *rig = *state;
	struct pairing pairing = { .call = disconnect_half, .ep = { rig->a.ep, rig->b.ep } };
	int round;

	for (round = 0; round < 150; round++) {
		rig_establish(rig);
		run_both(&pairing);
		expect_ok(pairing.rc[0]);
		expect_ok(pairing.rc[1]);
		rig_conn_event(&rig->a, DAT_CONNECTION_EVENT_DISCONNECTED);
		rig_conn_event(&rig->b, DAT_CONNECTION_EVENT_DISCONNECTED);
		expect_ok(dat_ep_reset(rig->a.ep));
		expect_ok(dat_ep_reset(rig->b.ep));
		ct_empty(rig->a.connect);
		ct_empty(rig->b.connect);
	}
}

static DAT_RETURN answer_half(struct pairing *pairing, int which)
{
	return which ? dat_cr_accept(pairing->cr, pairing->ep[1], 0, NULL)
		     : dat_cr_reject(pairing->cr, 0, NULL);
}

/* SIM-7 */
static void one_of_two_answers_counts(void **state)
{
	struct rig *rig = *state;
	struct pairing pairing = { .call = answer_half, .ep = { NULL, rig->b.ep } };
	int round, accepted;

	for (round = 0; round < 150; round++) {
		rig_connect(rig, CT_US);
		pairing.cr = rig_take_cr(rig);
		run_both(&pairing);
		accepted = !pairing.rc[1];
		expect_ok(pairing.rc[accepted]);
		expect_handle(pairing.rc[!accepted], CR);
		if (accepted) {
			rig_conn_event(&rig->a, DAT_CONNECTION_EVENT_ESTABLISHED);
			rig_conn_event(&rig->b, DAT_CONNECTION_EVENT_ESTABLISHED);
			end_connection(rig, 0);
		} else {
			rig_conn_event(&rig->a, DAT_CONNECTION_EVENT_PEER_REJECTED);
			expect_ok(dat_ep_reset(rig->a.ep));
		}
	}
}

static DAT_RETURN free_half(struct pairing *pairing, int which)
{
	return which ? dat_ep_disconnect(pairing->ep[1], DAT_CLOSE_ABRUPT_FLAG)
		     : dat_ep_free(pairing->ep[0]);
}

/* EP-112, EP-114 */
static void a_free_meets_the_peers_disconnect(void **state)
{
	struct rig *rig = *state;
	struct pairing pairing = { .call = free_half };
	int round;

	for (round = 0; round < 100; round++) {
		struct ct_end a = { 0 };

		ct_end_open(&a, rig->ia.ia, NULL);
		expect_ok(ct_post_recv(&a, 0, 8, 1, 0));
		ct_end_connect(&a, &rig->b);
		pairing.ep[0] = a.ep;
		pairing.ep[1] = rig->b.ep;
		run_both(&pairing);
		expect_ok(pairing.rc[0]);
		expect_ok(pairing.rc[1]);
		rig_conn_event(&rig->b, DAT_CONNECTION_EVENT_DISCONNECTED);
		expect_ok(dat_ep_reset(rig->b.ep));
		/* The dispatchers can go at once. */
		ct_mem_close(&a.mem);
		expect_ok(dat_pz_free(a.pz));
		expect_ok(dat_evd_free(a.recv));
		expect_ok(dat_evd_free(a.request));
		expect_ok(dat_evd_free(a.connect));
	}
}

/* ---- Timeouts ---- */

static DAT_EVENT_NUMBER next_event(struct ct_end *end)
{
	DAT_EVENT event;
	DAT_COUNT more;

	expect_ok(dat_evd_wait(end->connect, CT_US, 1, &event, &more));
	assert_ptr_equal(event.event_data.connect_event_data.ep_handle, end->ep);
	return event.event_number;
}

/* SIM-4: the active side's end decides what the passive side may see. */
static void an_accept_meets_the_timeout(void **state)
{
	struct rig *rig = *state;
	DAT_EVENT_NUMBER a, b;
	unsigned int outcomes[2] = { 0, 0 };
	uint32_t seed = 7;
	int round;

	for (round = 0; round < 150; round++) {
		rig_connect(rig, 1 + dice(&seed, 600));
		expect_ok(dat_cr_accept(rig_take_cr(rig), rig->b.ep, 0, NULL));
		a = next_event(&rig->a);
		b = next_event(&rig->b);
		if (a == DAT_CONNECTION_EVENT_ESTABLISHED) {
			assert_int_equal(b, DAT_CONNECTION_EVENT_ESTABLISHED);
			end_connection(rig, 1);
			outcomes[0]++;
			continue;
		}
		assert_int_equal(a, DAT_CONNECTION_EVENT_TIMED_OUT);
		if (b == DAT_CONNECTION_EVENT_ESTABLISHED)
			b = next_event(&rig->b);
		assert_true(b == DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR ||
			    b == DAT_CONNECTION_EVENT_DISCONNECTED);
		expect_ok(dat_ep_reset(rig->a.ep));
		expect_ok(dat_ep_reset(rig->b.ep));
		outcomes[1]++;
	}
	print_message("%u established, %u timed out\n", outcomes[0], outcomes[1]);
}

/* ---- Service points that come and go ---- */

struct connector {
	struct rig *rig;
	atomic_bool *stop;
	atomic_uint outcomes;
	DAT_RETURN bad;
	DAT_EVENT_NUMBER odd;
};

/* Connects again and again to one qualifier; each attempt has one outcome. */
static void *connect_often(void *arg)
{
	struct connector *k = arg;
	struct ct_end *end = &k->rig->a;
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_RETURN rc;

	while (!atomic_load(k->stop)) {
		rc = dat_ep_connect(end->ep, k->rig->ib.attr.ia_address_ptr, k->rig->qual, CT_US, 0,
				    NULL, DAT_QOS_BEST_EFFORT, 0);
		if (!rc)
			rc = dat_evd_wait(end->connect, CT_US, 1, &event, &more);
		if (!rc && event.event_number != DAT_CONNECTION_EVENT_NON_PEER_REJECTED &&
		    event.event_number != DAT_CONNECTION_EVENT_PEER_REJECTED)
			k->odd = event.event_number;
		if (!rc)
			rc = dat_ep_reset(end->ep);
		if (rc) {
			k->bad = rc;
			break;
		}
		atomic_fetch_add(&k->outcomes, 1);
	}
	return NULL;
}

static void reject_all(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(evd, &event) == DAT_SUCCESS)
		expect_ok(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0, NULL));
}

static void service_points_come_and_go(void **state)
{
	struct rig *rig = *state;
	atomic_bool stop = false;
	struct connector connector = { .rig = rig, .stop = &stop };
	pthread_t thread;
	DAT_RSP_HANDLE rsp;
	uint32_t seed = 3;
	int round;

	expect_ok(dat_psp_free(rig->psp));
	thread = spawn(connect_often, &connector);
	for (round = 0; round < 200; round++) {
		DAT_EVD_HANDLE evd = ct_evd(rig->ib.ia, 4, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG);

		if (round & 1) {
			expect_ok(dat_psp_create(rig->ib.ia, rig->qual, evd,
						 round & 2 ? DAT_PSP_PROVIDER_FLAG
							   : DAT_PSP_CONSUMER_FLAG,
						 &rig->psp));
			if (dice(&seed, 2))
				ct_pause();
			if (dice(&seed, 2))
				reject_all(evd);
			expect_ok(dat_psp_free(rig->psp));
		} else {
			expect_ok(dat_rsp_create(rig->ib.ia, rig->qual, rig->b.ep, evd, &rsp));
			if (dice(&seed, 2))
				ct_pause();
			if (dice(&seed, 2))
				reject_all(evd);
			expect_ok(dat_rsp_free(rsp));
		}
		/* What was not taken is refused (EVD-92). */
		expect_ok(dat_evd_free(evd));
		assert_int_equal(ct_ep_state(rig->b.ep), DAT_EP_STATE_UNCONNECTED);
	}
	/* It may begin late, and finds nobody then. */
	ct_await(atomic_load(&connector.outcomes));
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	expect_ok(connector.bad);
	assert_int_equal(connector.odd, 0);
	assert_true(atomic_load(&connector.outcomes) > 0);
}

/* ---- Closing under load ---- */

static void an_ia_closes_while_its_peers_are_busy(void **state)
{
	int round;

	(void)state;
	for (round = 0; round < 40; round++) {
		struct rig *rig;
		atomic_bool stop = false;
		struct poster posters[2];
		pthread_t threads[2];
		struct ct_waiter *waiter;
		void *made;
		int i;

		rig_setup_connected(&made);
		rig = made;
		posters[0] = (struct poster){ .end = &rig->a, .peer = &rig->b, .stop = &stop };
		posters[1] = posters[0];
		for (i = 0; i < 2; i++)
			threads[i] = spawn(post_all_the_time, &posters[i]);
		waiter = ct_evd_waiter(rig->b.connect, DAT_TIMEOUT_INFINITE, 1);
		ct_close(&rig->ib);
		rig_conn_event(&rig->a, DAT_CONNECTION_EVENT_DISCONNECTED);
		atomic_store(&stop, true);
		for (i = 0; i < 2; i++)
			pthread_join(threads[i], NULL);
		ct_waiter_join(waiter);
		expect_type(waiter->rc, DAT_ABORT);
		rig_teardown(&made);
	}
}

struct closer {
	DAT_IA_HANDLE ia;
	pthread_barrier_t *barrier;
	DAT_RETURN rc;
};

static void *close_it(void *arg)
{
	struct closer *closer = arg;

	pthread_barrier_wait(closer->barrier);
	closer->rc = dat_ia_close(closer->ia, DAT_CLOSE_ABRUPT_FLAG);
	return NULL;
}

/* IA-10: the one that lends its async EVD and the one that borrowed it. */
static void the_owner_of_a_shared_async_evd_closes(void **state)
{
	int round;

	(void)state;
	for (round = 0; round < 100; round++) {
		pthread_barrier_t barrier;
		struct closer closers[2];
		DAT_EVD_HANDLE async;
		pthread_t threads[2];
		struct ct_ia owner;
		int i;

		ct_open(&owner);
		async = owner.async;
		closers[0] = (struct closer){ .ia = owner.ia, .barrier = &barrier };
		closers[1] = (struct closer){ .barrier = &barrier };
		expect_ok(dat_ia_open(harness_ia_name(), 0, &async, &closers[1].ia));
		pthread_barrier_init(&barrier, NULL, 2);
		for (i = 0; i < 2; i++)
			threads[i] = spawn(close_it, &closers[i]);
		for (i = 0; i < 2; i++) {
			pthread_join(threads[i], NULL);
			expect_ok(closers[i].rc);
		}
		pthread_barrier_destroy(&barrier);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		RIG_TEST(posts_race_with_disconnect_and_reset),
		RIG_TEST(both_sides_disconnect),
		RIG_TEST(one_of_two_answers_counts),
		RIG_TEST(a_free_meets_the_peers_disconnect),
		RIG_TEST(an_accept_meets_the_timeout),
		RIG_TEST(service_points_come_and_go),
		cmocka_unit_test(an_ia_closes_while_its_peers_are_busy),
		cmocka_unit_test(the_owner_of_a_shared_async_evd_closes),
	};

	rig_main();
	return harness_run(tests, RIG_NUM_OF(tests));
}
