/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Many threads: posting and dequeueing on separate and on shared endpoints and dispatchers (DTO-6,
 * EVD-7, EVD-13, GEN-24). Threads check nothing; they record the first thing that was wrong.
 */
#include "conn_util.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	PAIRS = 4,
	DEPTH = 16, /* the default length of both queues */
	SLOT = 256, /* bytes of one message */
};

/* Fewer rounds under a sanitizer, which slows everything down. */
static unsigned int rounds(unsigned int n)
{
	return harness_rounds(harness_sanitized() ? n / 5 : n);
}

struct worker {
	pthread_t thread;
	void (*run)(struct worker *);
	struct ct_end *end, *other;
	DAT_EVD_HANDLE evd;
	unsigned int index, n;
	struct shared *shared;
	struct worker *receiver; /* a sender must not overtake this one's Receives; or null */
	unsigned int receives;	 /* posted by this receiver */
	char wrong[160];
};

/* What several workers count together. */
struct shared {
	unsigned int *seen; /* per cookie */
	unsigned int expected, taken, stop;
};

#define WRONG(w, ...)                                                          \
	do {                                                                   \
		if ((w)->wrong[0] == '\0')                                     \
			snprintf((w)->wrong, sizeof((w)->wrong), __VA_ARGS__); \
	} while (0)

static void *worker_thread(void *arg)
{
	struct worker *w = arg;

	w->run(w);
	return NULL;
}

static void start(struct worker *w, void (*run)(struct worker *))
{
	w->run = run;
	assert_int_equal(pthread_create(&w->thread, NULL, worker_thread, w), 0);
}

/* True if none found anything wrong. */
static bool ended_well(struct worker *workers, unsigned int n)
{
	bool good = true;

	for (unsigned int i = 0; i < n; i++)
		pthread_join(workers[i].thread, NULL);
	for (unsigned int i = 0; i < n; i++) {
		if (workers[i].wrong[0] != '\0')
			print_error("thread %u: %s\n", i, workers[i].wrong);
		good = good && workers[i].wrong[0] == '\0';
	}
	return good;
}

static void join(struct worker *workers, unsigned int n)
{
	assert_true(ended_well(workers, n));
}

static void open_pairs(struct cu_rig *rig, struct ct_end *a, struct ct_end *p, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		ct_end_open(&a[i], rig->ia, NULL);
		ct_end_open(&p[i], rig->ia, NULL);
		cu_establish(rig, &a[i], &p[i]);
	}
}

static void close_pairs(struct ct_end *a, struct ct_end *p, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		ct_end_close(&a[i]);
		ct_end_close(&p[i]);
	}
}

/* ---- Parts of workers -------------------------------------------------- */

/* Dequeues until a completion comes; false after CT_MS without one. */
static bool poll_one(struct worker *w, DAT_EVD_HANDLE evd, DAT_DTO_COMPLETION_EVENT_DATA *done)
{
	uint64_t deadline = ct_now_us() + CT_US;
	DAT_EVENT event;
	DAT_RETURN rc;

	while ((rc = dat_evd_dequeue(evd, &event)) == DAT_QUEUE_EMPTY) {
		if (ct_now_us() > deadline) {
			WRONG(w, "no completion");
			return false;
		}
		sched_yield();
	}
	if (rc != DAT_SUCCESS || event.event_number != DAT_DTO_COMPLETION_EVENT) {
		WRONG(w, "dequeue returned 0x%x, event 0x%x", rc, event.event_number);
		return false;
	}
	*done = event.event_data.dto_completion_event_data;
	if (done->status != DAT_DTO_SUCCESS) {
		WRONG(w, "status %d", done->status);
		return false;
	}
	return true;
}

static bool wait_one(struct worker *w, DAT_EVD_HANDLE evd, DAT_DTO_COMPLETION_EVENT_DATA *done)
{
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_RETURN rc = dat_evd_wait(evd, CT_US, 1, &event, &more);

	if (rc != DAT_SUCCESS || event.event_number != DAT_DTO_COMPLETION_EVENT) {
		WRONG(w, "wait returned 0x%x", rc);
		return false;
	}
	*done = event.event_data.dto_completion_event_data;
	if (done->status != DAT_DTO_SUCCESS)
		WRONG(w, "status %d", done->status);
	return done->status == DAT_DTO_SUCCESS;
}

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
			WRONG(w, "nobody receives message %u", i);
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
			WRONG(w, "completion out of order at %u", i);
			return;
		}
		put(w->end->mem.base + off, i);
		if (!may_send(w, i))
			return;
		if (ct_post_send(w->end, off, SLOT, i, DAT_COMPLETION_DEFAULT_FLAG) !=
		    DAT_SUCCESS) {
			WRONG(w, "post %u was refused", i);
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
			WRONG(w, "message %u is wrong", i);
			return;
		}
		if (i + DEPTH < w->n && cu_recv(w->end, off, SLOT, i + DEPTH) != DAT_SUCCESS) {
			WRONG(w, "Receive %u was refused", i + DEPTH);
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
	unsigned int n = rounds(3000);

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
			start(&w[k], k % 2 ? receive_all : send_all);
		}
	}
	join(workers, 4 * PAIRS);
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
			WRONG(w, "post was refused");
			return;
		}
		if (!poll_one(w, w->end->request, &done))
			return;
		if (!is(w->end->mem.base + 4096, i)) {
			WRONG(w, "round %u read something else", i);
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
		workers[i].n = rounds(2000);
		start(&workers[i], rdma_all);
	}
	join(workers, PAIRS);
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
				WRONG(w, "status %d cookie %llu", done->status,
				      (unsigned long long)done->user_cookie.as_64);
			else
				__atomic_fetch_add(&s->seen[done->user_cookie.as_64], 1,
						   __ATOMIC_RELAXED);
			__atomic_fetch_add(&s->taken, 1, __ATOMIC_RELAXED);
		} else if (rc == DAT_QUEUE_EMPTY) {
			sched_yield();
		} else {
			WRONG(w, "dequeue returned 0x%x", rc);
			return;
		}
		if (ct_now_us() > deadline) {
			WRONG(w, "%u of %u completions",
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
			WRONG(w, "post returned 0x%x", rc);
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
	unsigned int n = rounds(3000);

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
		start(poster, write_some);
		start(taker, take);
	}
	join(workers, 2 * PAIRS);
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
	unsigned int n = rounds(1500);

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
		start(&workers[i], write_some);
	}
	for (unsigned int i = PAIRS; i < PAIRS + 2; i++) {
		workers[i].evd = rig->a.request;
		workers[i].shared = &shared;
		start(&workers[i], take);
	}
	join(workers, PAIRS + 2);
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
			WRONG(w, "status is wrong");
		if (dat_ep_query(w->end->ep, DAT_EP_FIELD_ALL, &param) != DAT_SUCCESS)
			WRONG(w, "query failed");
		if (dat_evd_query(w->end->recv, DAT_EVD_FIELD_ALL, &evd) != DAT_SUCCESS)
			WRONG(w, "EVD query failed");
		sched_yield();
	}
}

/* GEN-23 */
static void gen_24_queries_during_traffic(void **state)
{
	struct cu_rig *rig = *state;
	struct worker workers[2] = { 0 }, onlooker = { 0 };
	struct shared shared = { 0 };
	unsigned int n = rounds(2000);
	bool good;

	cu_establish(rig, &rig->a, &rig->p);
	post_first_receives(&rig->p, n);
	workers[0].end = &rig->a;
	workers[1].end = &rig->p;
	onlooker.end = &rig->p;
	onlooker.shared = &shared;
	workers[0].n = workers[1].n = n;
	let_follow(rig, &workers[0], &workers[1]);
	start(&onlooker, look_on);
	start(&workers[0], send_all);
	start(&workers[1], receive_all);
	good = ended_well(workers, 2);
	__atomic_store_n(&shared.stop, 1, __ATOMIC_RELEASE);
	join(&onlooker, 1);
	assert_true(good);
}

/* ---- Connections ------------------------------------------------------- */

/* Connects, exchanges, disconnects and resets a pair of its own, over a service point of its own.
 */
static void live_often(struct worker *w)
{
	struct ct_end *a = w->end, *p = w->other;
	DAT_EVD_HANDLE cr_evd;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
	DAT_DTO_COMPLETION_EVENT_DATA done;
	DAT_EVENT event;
	DAT_COUNT more;

	if (dat_evd_create(a->ia, 8, NULL, DAT_EVD_CR_FLAG, &cr_evd) != DAT_SUCCESS ||
	    dat_psp_create_any(a->ia, &qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp) != DAT_SUCCESS) {
		WRONG(w, "no service point");
		return;
	}
	for (unsigned int i = 0; i < w->n && w->wrong[0] == '\0'; i++) {
		if (cu_recv(p, 0, SLOT, i) != DAT_SUCCESS ||
		    cu_connect(a, qual, CT_US) != DAT_SUCCESS ||
		    dat_evd_wait(cr_evd, CT_US, 1, &event, &more) != DAT_SUCCESS ||
		    dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, p->ep, 0,
				  NULL) != DAT_SUCCESS)
			WRONG(w, "round %u does not connect", i);
		else if (dat_evd_wait(a->connect, CT_US, 1, &event, &more) != DAT_SUCCESS ||
			 event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED ||
			 dat_evd_wait(p->connect, CT_US, 1, &event, &more) != DAT_SUCCESS ||
			 event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
			WRONG(w, "round %u is not established", i);
		else if (ct_post_send(a, 0, SLOT, i, DAT_COMPLETION_DEFAULT_FLAG) != DAT_SUCCESS ||
			 !wait_one(w, p->recv, &done) || !poll_one(w, a->request, &done))
			WRONG(w, "round %u does not send", i);
		else if (dat_ep_disconnect(i % 2 ? a->ep : p->ep, DAT_CLOSE_ABRUPT_FLAG) !=
				 DAT_SUCCESS ||
			 dat_evd_wait(a->connect, CT_US, 1, &event, &more) != DAT_SUCCESS ||
			 dat_evd_wait(p->connect, CT_US, 1, &event, &more) != DAT_SUCCESS ||
			 dat_ep_reset(a->ep) != DAT_SUCCESS || dat_ep_reset(p->ep) != DAT_SUCCESS)
			WRONG(w, "round %u does not end", i);
	}
	if (dat_psp_free(psp) != DAT_SUCCESS || dat_evd_free(cr_evd) != DAT_SUCCESS)
		WRONG(w, "the service point stays");
}

static void gen_24_connections_on_many_threads(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end a[PAIRS] = { 0 }, p[PAIRS] = { 0 };
	struct worker workers[PAIRS] = { 0 };

	for (unsigned int i = 0; i < PAIRS; i++) {
		ct_end_open(&a[i], rig->ia, NULL);
		ct_end_open(&p[i], rig->ia, NULL);
		workers[i].end = &a[i];
		workers[i].other = &p[i];
		workers[i].n = rounds(200);
		start(&workers[i], live_often);
	}
	join(workers, PAIRS);
	close_pairs(a, p, PAIRS);
}

/* Makes and frees objects of every kind. */
static void make_and_free(struct worker *w)
{
	DAT_IA_HANDLE ia = w->end->ia;
	static uint8_t memory[PAIRS][4096];
	DAT_REGION_DESCRIPTION region = { .for_va = memory[w->index] };

	for (unsigned int i = 0; i < w->n && w->wrong[0] == '\0'; i++) {
		DAT_EVD_HANDLE dto, conn, cr;
		DAT_PSP_HANDLE psp;
		DAT_CONN_QUAL qual;
		DAT_LMR_HANDLE lmr;
		DAT_PZ_HANDLE pz;
		DAT_EP_HANDLE ep;

		if (dat_pz_create(ia, &pz) != DAT_SUCCESS ||
		    dat_evd_create(ia, 32, NULL, DAT_EVD_DTO_FLAG, &dto) != DAT_SUCCESS ||
		    dat_evd_create(ia, 8, NULL, DAT_EVD_CONNECTION_FLAG, &conn) != DAT_SUCCESS ||
		    dat_evd_create(ia, 8, NULL, DAT_EVD_CR_FLAG, &cr) != DAT_SUCCESS ||
		    dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, 4096, pz,
				   DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr, NULL, NULL, NULL,
				   NULL) != DAT_SUCCESS ||
		    dat_ep_create(ia, pz, dto, dto, conn, NULL, &ep) != DAT_SUCCESS ||
		    dat_psp_create_any(ia, &qual, cr, DAT_PSP_CONSUMER_FLAG, &psp) != DAT_SUCCESS)
			WRONG(w, "round %u: a create failed", i);
		else if (dat_psp_free(psp) != DAT_SUCCESS || dat_ep_free(ep) != DAT_SUCCESS ||
			 dat_lmr_free(lmr) != DAT_SUCCESS || dat_evd_free(cr) != DAT_SUCCESS ||
			 dat_evd_free(conn) != DAT_SUCCESS || dat_evd_free(dto) != DAT_SUCCESS ||
			 dat_pz_free(pz) != DAT_SUCCESS)
			WRONG(w, "round %u: a free failed", i);
	}
}

/* GEN-23: with is_thread_safe every call is safe */
static void gen_24_objects_on_many_threads(void **state)
{
	struct cu_rig *rig = *state;
	struct worker workers[PAIRS] = { 0 };

	for (unsigned int i = 0; i < PAIRS; i++) {
		workers[i].end = &rig->a;
		workers[i].index = i;
		workers[i].n = rounds(300);
		start(&workers[i], make_and_free);
	}
	join(workers, PAIRS);
}

/* Posts until the connection has ended and its own posts are flushed (DTO-22). */
static void post_until_flushed(struct worker *w)
{
	uint64_t deadline = ct_now_us() + CT_US;
	uint64_t posted = 0, taken = 0;
	bool ended = false;
	DAT_EVENT event;

	while (!ended || taken < posted) {
		DAT_RETURN rc = ended ? DAT_SUCCESS
				      : cu_write(w->end, 0, SLOT, posted, &w->other->mem, 0,
						 DAT_COMPLETION_DEFAULT_FLAG);

		if (rc == DAT_SUCCESS && !ended)
			posted++;
		else if (!ended && DAT_GET_TYPE(rc) != DAT_INSUFFICIENT_RESOURCES)
			WRONG(w, "post returned 0x%x", rc);
		while (dat_evd_dequeue(w->end->request, &event) == DAT_SUCCESS) {
			const DAT_DTO_COMPLETION_EVENT_DATA *done =
				&event.event_data.dto_completion_event_data;

			if (done->user_cookie.as_64 != taken++)
				WRONG(w, "completion out of order");
			if (done->status != DAT_DTO_SUCCESS)
				ended = true;
			else if (ended)
				WRONG(w, "a success after a failure");
		}
		if (ct_now_us() > deadline || w->wrong[0] != '\0') {
			WRONG(w, "%llu of %llu completions", (unsigned long long)taken,
			      (unsigned long long)posted);
			return;
		}
	}
}

static void dto_22_disconnect_while_another_thread_posts(void **state)
{
	struct cu_rig *rig = *state;

	for (unsigned int round = 0; round < rounds(100); round++) {
		struct worker poster = { .end = &rig->a, .other = &rig->p };

		cu_establish(rig, &rig->a, &rig->p);
		start(&poster, post_until_flushed);
		for (unsigned int i = 0; i < round % 5; i++)
			ct_pause();
		expect_ok(dat_ep_disconnect(round % 2 ? rig->a.ep : rig->p.ep,
					    DAT_CLOSE_ABRUPT_FLAG));
		join(&poster, 1);
		cu_conn_ended(rig->a.connect, rig->a.ep);
		cu_conn_ended(rig->p.connect, rig->p.ep);
		expect_ok(dat_ep_reset(rig->a.ep));
		expect_ok(dat_ep_reset(rig->p.ep));
		ct_drain(rig->a.request);
	}
}

#define E(f) cmocka_unit_test_setup_teardown(f, cu_setup_ends, cu_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		E(dto_6_separate_endpoints_and_evds),
		E(dto_6_rdma_on_separate_endpoints),
		E(evd_13_68_many_threads_on_one_evd),
		E(gen_24_many_threads_post_to_one_endpoint),
		E(gen_24_queries_during_traffic),
		E(gen_24_connections_on_many_threads),
		E(gen_24_objects_on_many_threads),
		E(dto_22_disconnect_while_another_thread_posts),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
