/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Many threads: posting and dequeueing on separate and on shared endpoints and dispatchers (DTO-6,
 * EVD-7, EVD-13, GEN-24). Threads check nothing; they record the first thing that was wrong.
 */
#include "workers.h"
#include "conn_util.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Parts of workers -------------------------------------------------- */

static void put(uint8_t *buf, unsigned int value)
{
	for (size_t i = 0; i < SLOT; i++)
		buf[i] = (uint8_t)(value + i);
}

static bool is(const uint8_t *buf, unsigned int value)
{
	for (size_t i = 0; i < SLOT; i++) {
		if (buf[i] != (uint8_t)(value + i))
			return false;
	}
	return true;
}

/* DTO-90: where messages do not wait, until there is a Receive for the i-th. */
static bool may_send(struct worker *w, unsigned int i)
{
	uint64_t deadline = ct_now_us() + CT_US;

	while (w->receiver != NULL &&
	       __atomic_load_n(&w->receiver->receives, __ATOMIC_ACQUIRE) <= i) {
		if (ct_now_us() > deadline) {
			WORKER_WRONG(w, "nobody receives message %u", i);
			return false;
		}
		sched_yield();
	}
	return true;
}

/* Sends n messages, at most DEPTH at a time, polling. */
static void send_all(struct worker *w)
{
	DAT_DTO_COMPLETION_EVENT_DATA done;

	for (unsigned int i = 0; i < w->n; i++) {
		size_t off = i % DEPTH * SLOT;

		if (i >= DEPTH &&
		    (!poll_one(w, w->end->request, &done) || done.user_cookie.as_64 != i - DEPTH)) {
			WORKER_WRONG(w, "completion out of order at %u", i);
			return;
		}
		put(w->end->mem.base + off, i);
		if (!may_send(w, i))
			return;
		if (ct_post_send(w->end, off, SLOT, i, DAT_COMPLETION_DEFAULT_FLAG) !=
		    DAT_SUCCESS) {
			WORKER_WRONG(w, "post %u was refused", i);
			return;
		}
	}
	for (unsigned int i = 0; i < DEPTH && i < w->n; i++)
		poll_one(w, w->end->request, &done);
}

/* Receives n messages, waiting; half of the memory is for sending. */
static void receive_all(struct worker *w)
{
	const size_t half = 32768;
	DAT_DTO_COMPLETION_EVENT_DATA done;

	for (unsigned int i = 0; i < w->n; i++) {
		size_t off = half + i % DEPTH * SLOT;

		if (!wait_one(w, w->end->recv, &done))
			return;
		if (done.user_cookie.as_64 != i || done.transfered_length != SLOT ||
		    !is(w->end->mem.base + off, i)) {
			WORKER_WRONG(w, "message %u is wrong", i);
			return;
		}
		if (i + DEPTH < w->n && cu_recv(w->end, off, SLOT, i + DEPTH) != DAT_SUCCESS) {
			WORKER_WRONG(w, "Receive %u was refused", i + DEPTH);
			return;
		}
		__atomic_store_n(&w->receives, i + DEPTH + 1, __ATOMIC_RELEASE);
	}
}

static void post_first_receives(struct ct_end *end, unsigned int n)
{
	for (unsigned int i = 0; i < DEPTH && i < n; i++)
		expect_ok(cu_recv(end, 32768 + i * SLOT, SLOT, i));
}

static void let_follow(struct cu_rig *rig, struct worker *sender, struct worker *receiver)
{
	receiver->receives = DEPTH;
	if (ct_receives_first(&rig->attr, &rig->prov))
		sender->receiver = receiver;
}

/* ---- Separate endpoints ------------------------------------------------ */

static void dto_6_separate_endpoints_and_evds(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end a[PAIRS] = { 0 }, p[PAIRS] = { 0 };
	struct worker workers[4 * PAIRS] = { 0 };
	unsigned int n = worker_rounds(3000);

	open_pairs(rig, a, p, PAIRS);
	for (unsigned int i = 0; i < PAIRS; i++) {
		struct worker *w = &workers[4 * i];

		post_first_receives(&a[i], n);
		post_first_receives(&p[i], n);
		/* On each endpoint one thread sends while another receives. */
		w[0].end = w[1].end = &a[i];
		w[2].end = w[3].end = &p[i];
		let_follow(rig, &w[0], &w[3]);
		let_follow(rig, &w[2], &w[1]);
		for (unsigned int k = 0; k < 4; k++) {
			w[k].n = n;
			worker_start(&w[k], k % 2 ? receive_all : send_all);
		}
	}
	workers_join(workers, 4 * PAIRS);
	close_pairs(a, p, PAIRS);
}

/* RDMA both ways with the passive side only looking on. */
static void rdma_all(struct worker *w)
{
	DAT_DTO_COMPLETION_EVENT_DATA done;

	for (unsigned int i = 0; i < w->n; i++) {
		put(w->end->mem.base, i);
		if (cu_write(w->end, 0, SLOT, 1, &w->other->mem, 0, DAT_COMPLETION_SUPPRESS_FLAG) !=
			    DAT_SUCCESS ||
		    cu_read(w->end, 4096, SLOT, 2, &w->other->mem, 0,
			    DAT_COMPLETION_DEFAULT_FLAG) != DAT_SUCCESS) {
			WORKER_WRONG(w, "post was refused");
			return;
		}
		if (!poll_one(w, w->end->request, &done))
			return;
		if (!is(w->end->mem.base + 4096, i)) {
			WORKER_WRONG(w, "round %u read something else", i);
			return;
		}
	}
}

static void dto_6_rdma_on_separate_endpoints(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end a[PAIRS] = { 0 }, p[PAIRS] = { 0 };
	struct worker workers[PAIRS] = { 0 };

	open_pairs(rig, a, p, PAIRS);
	for (unsigned int i = 0; i < PAIRS; i++) {
		workers[i].end = &a[i];
		workers[i].other = &p[i];
		workers[i].n = worker_rounds(2000);
		worker_start(&workers[i], rdma_all);
	}
	workers_join(workers, PAIRS);
	close_pairs(a, p, PAIRS);
}

/* ---- Shared dispatchers ------------------------------------------------ */

/* Takes completions from a shared EVD, by polling or waiting, until all have been seen. */
static void take(struct worker *w)
{
	uint64_t deadline = ct_now_us() + 3 * CT_US;
	struct shared *s = w->shared;
	DAT_EVENT event;

	while (__atomic_load_n(&s->taken, __ATOMIC_RELAXED) < s->expected) {
		DAT_RETURN rc = dat_evd_dequeue(w->evd, &event);

		if (rc == DAT_SUCCESS) {
			const DAT_DTO_COMPLETION_EVENT_DATA *done =
				&event.event_data.dto_completion_event_data;

			if (done->status != DAT_DTO_SUCCESS ||
			    done->user_cookie.as_64 >= s->expected)
				WORKER_WRONG(w, "status %d cookie %llu", done->status,
					     (unsigned long long)done->user_cookie.as_64);
			else
				__atomic_fetch_add(&s->seen[done->user_cookie.as_64], 1,
						   __ATOMIC_RELAXED);
			__atomic_fetch_add(&s->taken, 1, __ATOMIC_RELAXED);
		} else if (rc == DAT_QUEUE_EMPTY) {
			sched_yield();
		} else {
			WORKER_WRONG(w, "dequeue returned 0x%x", rc);
			return;
		}
		if (ct_now_us() > deadline) {
			WORKER_WRONG(w, "%u of %u completions",
				     __atomic_load_n(&s->taken, __ATOMIC_RELAXED), s->expected);
			return;
		}
	}
}

/* Writes with cookies of its own; a full queue means that the takers are behind. */
static void write_some(struct worker *w)
{
	uint64_t deadline = ct_now_us() + 3 * CT_US;

	for (unsigned int i = 0; i < w->n;) {
		DAT_RETURN rc = cu_write(w->end, 0, SLOT, w->index * w->n + i, &w->other->mem,
					 w->index * SLOT, DAT_COMPLETION_DEFAULT_FLAG);

		if (rc == DAT_SUCCESS) {
			i++;
		} else if (DAT_GET_TYPE(rc) != DAT_INSUFFICIENT_RESOURCES ||
			   ct_now_us() > deadline) {
			WORKER_WRONG(w, "post returned 0x%x", rc);
			return;
		} else {
			sched_yield();
		}
	}
}

static void check_seen(struct shared *s)
{
	for (unsigned int i = 0; i < s->expected; i++) {
		if (s->seen[i] != 1)
			fail_msg("completion %u was seen %u times", i, s->seen[i]);
	}
}

static void evd_13_68_many_threads_on_one_evd(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end a[PAIRS] = { 0 }, p[PAIRS] = { 0 };
	struct worker workers[2 * PAIRS] = { 0 };
	struct shared shared = { 0 };
	DAT_EVD_HANDLE evd = ct_evd(rig->ia, PAIRS * DEPTH, NULL, DAT_EVD_DTO_FLAG);
	unsigned int n = worker_rounds(3000);

	shared.expected = PAIRS * n;
	shared.seen = calloc(shared.expected, sizeof(*shared.seen));
	for (unsigned int i = 0; i < PAIRS; i++)
		a[i].request = evd;
	open_pairs(rig, a, p, PAIRS);
	for (unsigned int i = 0; i < PAIRS; i++) {
		struct worker *poster = &workers[2 * i], *taker = &workers[2 * i + 1];

		poster->end = &a[i];
		poster->other = &p[i];
		poster->index = i;
		poster->n = n;
		taker->evd = evd;
		taker->shared = &shared;
		worker_start(poster, write_some);
		worker_start(taker, take);
	}
	workers_join(workers, 2 * PAIRS);
	check_seen(&shared);
	free(shared.seen);
	for (unsigned int i = 0; i < PAIRS; i++) {
		expect_ok(dat_ep_free(a[i].ep));
		ct_mem_close(&a[i].mem);
		ct_end_close(&p[i]);
	}
	expect_ok(dat_evd_free(evd));
}

/* ---- One endpoint ------------------------------------------------------ */

static void gen_24_many_threads_post_to_one_endpoint(void **state)
{
	struct cu_rig *rig = *state;
	struct worker workers[PAIRS + 2] = { 0 };
	struct shared shared = { 0 };
	unsigned int n = worker_rounds(1500);

	if (!rig->prov.is_thread_safe)
		harness_skip("# the provider is not thread safe");
	shared.expected = PAIRS * n;
	shared.seen = calloc(shared.expected, sizeof(*shared.seen));
	cu_establish(rig, &rig->a, &rig->p);
	for (unsigned int i = 0; i < PAIRS; i++) {
		workers[i].end = &rig->a;
		workers[i].other = &rig->p;
		workers[i].index = i;
		workers[i].n = n;
		worker_start(&workers[i], write_some);
	}
	for (unsigned int i = PAIRS; i < PAIRS + 2; i++) {
		workers[i].evd = rig->a.request;
		workers[i].shared = &shared;
		worker_start(&workers[i], take);
	}
	workers_join(workers, PAIRS + 2);
	check_seen(&shared);
	free(shared.seen);
}

/* Asks for this and that while others work. */
static void look_on(struct worker *w)
{
	while (!__atomic_load_n(&w->shared->stop, __ATOMIC_ACQUIRE)) {
		DAT_BOOLEAN recv_idle, request_idle;
		DAT_EP_STATE state;
		DAT_EP_PARAM param;
		DAT_EVD_PARAM evd;

		if (dat_ep_get_status(w->end->ep, &state, &recv_idle, &request_idle) !=
			    DAT_SUCCESS ||
		    state != DAT_EP_STATE_CONNECTED)
			WORKER_WRONG(w, "status is wrong");
		if (dat_ep_query(w->end->ep, DAT_EP_FIELD_ALL, &param) != DAT_SUCCESS)
			WORKER_WRONG(w, "query failed");
		if (dat_evd_query(w->end->recv, DAT_EVD_FIELD_ALL, &evd) != DAT_SUCCESS)
			WORKER_WRONG(w, "EVD query failed");
		sched_yield();
	}
}

/* GEN-23 */
static void gen_24_queries_during_traffic(void **state)
{
	struct cu_rig *rig = *state;
	struct worker workers[2] = { 0 }, onlooker = { 0 };
	struct shared shared = { 0 };
	unsigned int n = worker_rounds(2000);
	bool good;

	cu_establish(rig, &rig->a, &rig->p);
	post_first_receives(&rig->p, n);
	workers[0].end = &rig->a;
	workers[1].end = &rig->p;
	onlooker.end = &rig->p;
	onlooker.shared = &shared;
	workers[0].n = workers[1].n = n;
	let_follow(rig, &workers[0], &workers[1]);
	worker_start(&onlooker, look_on);
	worker_start(&workers[0], send_all);
	worker_start(&workers[1], receive_all);
	good = ended_well(workers, 2);
	__atomic_store_n(&shared.stop, 1, __ATOMIC_RELEASE);
	workers_join(&onlooker, 1);
	assert_true(good);
}

/* ---- Connections ------------------------------------------------------- */

#define E(f) cmocka_unit_test_setup_teardown(f, cu_setup_ends, cu_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		E(dto_6_separate_endpoints_and_evds), E(dto_6_rdma_on_separate_endpoints),
		E(evd_13_68_many_threads_on_one_evd), E(gen_24_many_threads_post_to_one_endpoint),
		E(gen_24_queries_during_traffic),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
