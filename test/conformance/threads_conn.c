/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Threads that connect, make and free objects, and disconnect. */
#include "workers.h"
#include "conn_util.h"

#include <limits.h>
#include <stdio.h>

/* What sanitizers add to a frame is no measure. */
#ifdef SANITIZED
#define SMALL_STACK (1 << 20)
#else
#define SMALL_STACK PTHREAD_STACK_MIN
#endif

/* ---- Parts of workers -------------------------------------------------- */

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
		WORKER_WRONG(w, "no service point");
		return;
	}
	for (unsigned int i = 0; i < w->n && w->wrong[0] == '\0'; i++) {
		if (cu_recv(p, 0, SLOT, i) != DAT_SUCCESS ||
		    cu_connect(a, qual, CT_US) != DAT_SUCCESS ||
		    dat_evd_wait(cr_evd, CT_US, 1, &event, &more) != DAT_SUCCESS ||
		    dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, p->ep, 0,
				  NULL) != DAT_SUCCESS)
			WORKER_WRONG(w, "round %u does not connect", i);
		else if (dat_evd_wait(a->connect, CT_US, 1, &event, &more) != DAT_SUCCESS ||
			 event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED ||
			 dat_evd_wait(p->connect, CT_US, 1, &event, &more) != DAT_SUCCESS ||
			 event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
			WORKER_WRONG(w, "round %u is not established", i);
		else if (ct_post_send(a, 0, SLOT, i, DAT_COMPLETION_DEFAULT_FLAG) != DAT_SUCCESS ||
			 !wait_one(w, p->recv, &done) || !poll_one(w, a->request, &done))
			WORKER_WRONG(w, "round %u does not send", i);
		else if (dat_ep_disconnect(i % 2 ? a->ep : p->ep, DAT_CLOSE_ABRUPT_FLAG) !=
				 DAT_SUCCESS ||
			 dat_evd_wait(a->connect, CT_US, 1, &event, &more) != DAT_SUCCESS ||
			 dat_evd_wait(p->connect, CT_US, 1, &event, &more) != DAT_SUCCESS ||
			 dat_ep_reset(a->ep) != DAT_SUCCESS || dat_ep_reset(p->ep) != DAT_SUCCESS)
			WORKER_WRONG(w, "round %u does not end", i);
	}
	if (dat_psp_free(psp) != DAT_SUCCESS || dat_evd_free(cr_evd) != DAT_SUCCESS)
		WORKER_WRONG(w, "the service point stays");
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
		workers[i].n = worker_rounds(200);
		worker_start(&workers[i], live_often);
	}
	workers_join(workers, PAIRS);
	close_pairs(a, p, PAIRS);
}

struct small {
	struct worker worker;
	const struct cu_rig *rig;
};

static void *live_and_refuse(void *arg)
{
	struct small *small = arg;
	struct worker *w = &small->worker;
	DAT_EVENT event;
	DAT_COUNT more;

	live_often(w);
	if (cu_connect(w->end, small->rig->qual, CT_US) != DAT_SUCCESS ||
	    dat_evd_wait(small->rig->cr, CT_US, 1, &event, &more) != DAT_SUCCESS ||
	    dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0, NULL) !=
		    DAT_SUCCESS ||
	    dat_evd_wait(w->end->connect, CT_US, 1, &event, &more) != DAT_SUCCESS ||
	    event.event_number != DAT_CONNECTION_EVENT_PEER_REJECTED)
		WORKER_WRONG(w, "not rejected");
	return NULL;
}

/* A program that has thousands of threads gives them little. */
static void gen_24_connections_on_a_small_stack(void **state)
{
	struct cu_rig *rig = *state;
	struct small small = { { .end = &rig->a, .other = &rig->p, .n = 20 }, rig };
	pthread_attr_t attr;
	pthread_t thread;

	assert_int_equal(pthread_attr_init(&attr), 0);
	assert_int_equal(pthread_attr_setstacksize(&attr, SMALL_STACK), 0);
	assert_int_equal(pthread_create(&thread, &attr, live_and_refuse, &small), 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
	assert_string_equal(small.worker.wrong, "");
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
			WORKER_WRONG(w, "round %u: a create failed", i);
		else if (dat_psp_free(psp) != DAT_SUCCESS || dat_ep_free(ep) != DAT_SUCCESS ||
			 dat_lmr_free(lmr) != DAT_SUCCESS || dat_evd_free(cr) != DAT_SUCCESS ||
			 dat_evd_free(conn) != DAT_SUCCESS || dat_evd_free(dto) != DAT_SUCCESS ||
			 dat_pz_free(pz) != DAT_SUCCESS)
			WORKER_WRONG(w, "round %u: a free failed", i);
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
		workers[i].n = worker_rounds(300);
		worker_start(&workers[i], make_and_free);
	}
	workers_join(workers, PAIRS);
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
			WORKER_WRONG(w, "post returned 0x%x", rc);
		while (dat_evd_dequeue(w->end->request, &event) == DAT_SUCCESS) {
			const DAT_DTO_COMPLETION_EVENT_DATA *done =
				&event.event_data.dto_completion_event_data;

			if (done->user_cookie.as_64 != taken++)
				WORKER_WRONG(w, "completion out of order");
			if (done->status != DAT_DTO_SUCCESS)
				ended = true;
			else if (ended)
				WORKER_WRONG(w, "a success after a failure");
		}
		if (ct_now_us() > deadline || w->wrong[0] != '\0') {
			WORKER_WRONG(w, "%llu of %llu completions", (unsigned long long)taken,
				     (unsigned long long)posted);
			return;
		}
	}
}

static void dto_22_disconnect_while_another_thread_posts(void **state)
{
	struct cu_rig *rig = *state;

	for (unsigned int round = 0; round < worker_rounds(100); round++) {
		struct worker poster = { .end = &rig->a, .other = &rig->p };

		cu_establish(rig, &rig->a, &rig->p);
		worker_start(&poster, post_until_flushed);
		for (unsigned int i = 0; i < round % 5; i++)
			ct_pause();
		expect_ok(dat_ep_disconnect(round % 2 ? rig->a.ep : rig->p.ep,
					    DAT_CLOSE_ABRUPT_FLAG));
		workers_join(&poster, 1);
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
		E(gen_24_connections_on_many_threads),
		E(gen_24_connections_on_a_small_stack),
		E(gen_24_objects_on_many_threads),
		E(dto_22_disconnect_while_another_thread_posts),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
