/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Dispatchers that are full: EVD-93 to EVD-99. */
#include "harness.h"

/* Fills a dispatcher with software events; how many. */
static DAT_COUNT fill(DAT_EVD_HANDLE evd)
{
	DAT_COUNT qlen = ct_evd_param(evd).evd_qlen;

	for (DAT_COUNT i = 0; i < qlen; i++)
		expect_ok(ct_post_se(evd, (uintptr_t)i + 1));
	expect_type(ct_post_se(evd, 1), DAT_QUEUE_FULL);
	return qlen;
}

/* The report of an overflow on the adapter's dispatcher (EVD-94). */
static void reported(struct ct_ia *ia, DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	ct_next(ia->async, DAT_ASYNC_ERROR_EVD_OVERFLOW, &event);
	assert_ptr_equal(event.event_data.asynch_error_event_data.dat_handle, evd);
	assert_int_equal(event.event_data.asynch_error_event_data.reason, DAT_EVD_OVERFLOW_ERROR);
}

static DAT_RETURN connect_to(struct ct_ia *ia, struct ct_end *end, DAT_CONN_QUAL qual)
{
	return dat_ep_connect(end->ep, ia->attr.ia_address_ptr, qual, CT_US * 2, 0, NULL,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

/* ---- Connection requests ---- */

struct listener {
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;
};

static void listen_on(struct listener *l, struct ct_ia *ia, DAT_EVD_FLAGS flags)
{
	l->evd = ct_evd(ia->ia, 4, DAT_HANDLE_NULL, flags);
	expect_ok(dat_psp_create_any(ia->ia, &l->qual, l->evd, DAT_PSP_CONSUMER_FLAG, &l->psp));
}

/* One request that finds the dispatcher full: the peer is refused (EVD-96). */
static void refused(struct ct_ia *ia, struct ct_end *end, struct listener *l)
{
	DAT_EVENT event;

	expect_ok(connect_to(ia, end, l->qual));
	ct_next(end->connect, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, &event);
	expect_ok(dat_ep_reset(end->ep));
}

static void evd_93_96_a_lost_request_is_refused(void **state)
{
	struct ct_ia *ia = *state;
	struct ct_end end = { 0 };
	struct listener l;
	DAT_COUNT n;

	ct_end_open(&end, ia->ia, NULL);
	listen_on(&l, ia, DAT_EVD_SOFTWARE_FLAG | DAT_EVD_CR_FLAG);
	n = fill(l.evd);
	refused(ia, &end, &l);
	/* EVD-93: what was queued is intact. */
	for (DAT_COUNT i = 0; i < n; i++)
		ct_take_se(l.evd, (uintptr_t)i + 1);
	ct_empty(l.evd);
	/* No request object remains. */
	expect_ok(dat_psp_free(l.psp));
	expect_ok(dat_evd_free(l.evd));
	ct_end_close(&end);
	expect_ok(dat_ia_close(ia->ia, DAT_CLOSE_GRACEFUL_FLAG));
	ia->ia = DAT_HANDLE_NULL;
}

static void evd_94_one_report_until_an_event_is_removed(void **state)
{
	struct ct_ia *ia = *state;
	struct ct_end end = { 0 };
	struct listener l;

	ct_end_open(&end, ia->ia, NULL);
	listen_on(&l, ia, DAT_EVD_SOFTWARE_FLAG | DAT_EVD_CR_FLAG);
	fill(l.evd);
	refused(ia, &end, &l);
	reported(ia, l.evd);
	refused(ia, &end, &l);
	refused(ia, &end, &l);
	ct_empty(ia->async);
	/* With one event removed and replaced, the next loss is told again. */
	ct_take_se(l.evd, 1);
	expect_ok(ct_post_se(l.evd, 1));
	refused(ia, &end, &l);
	reported(ia, l.evd);
	ct_empty(ia->async);
}

static void evd_99_a_drained_dispatcher_works_again(void **state)
{
	struct ct_ia *ia = *state;
	struct ct_end end = { 0 };
	struct listener l;
	DAT_EVENT event;

	ct_end_open(&end, ia->ia, NULL);
	listen_on(&l, ia, DAT_EVD_SOFTWARE_FLAG | DAT_EVD_CR_FLAG);
	fill(l.evd);
	refused(ia, &end, &l);
	ct_drain(l.evd);
	expect_ok(connect_to(ia, &end, l.qual));
	ct_next(l.evd, DAT_CONNECTION_REQUEST_EVENT, &event);
	expect_ok(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0, NULL));
	ct_next(end.connect, DAT_CONNECTION_EVENT_PEER_REJECTED, &event);
}

static void evd_98_a_full_async_dispatcher_drops_and_stays_usable(void **state)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	struct ct_end end = { 0 };
	struct listener l;
	struct ct_ia ia;
	DAT_COUNT qlen;
	DAT_EVENT event;

	(void)state;
	memset(&ia, 0, sizeof(ia));
	expect_ok(dat_ia_open(harness_ia_name(), 1, &async, &ia.ia));
	expect_ok(dat_ia_query(ia.ia, NULL, DAT_IA_FIELD_ALL, &ia.attr, 0, NULL));
	ia.async = async;
	qlen = ct_evd_param(async).evd_qlen;
	if (qlen > 64) {
		ct_close(&ia);
		harness_skip("the shortest async queue has %d places", qlen);
	}
	ct_end_open(&end, ia.ia, NULL);
	listen_on(&l, &ia, DAT_EVD_SOFTWARE_FLAG | DAT_EVD_CR_FLAG);
	fill(l.evd);
	for (DAT_COUNT i = 0; i < qlen + 3; i++) {
		refused(&ia, &end, &l);
		expect_ok(dat_evd_dequeue(l.evd, &event));
		expect_ok(ct_post_se(l.evd, 1));
	}
	for (DAT_COUNT i = 0; i < qlen; i++)
		reported(&ia, l.evd);
	ct_empty(async);
	refused(&ia, &end, &l);
	reported(&ia, l.evd);
	ct_close(&ia);
}

/* ---- Connection events ---- */

static void evd_97_a_lost_connection_event_leaves_the_state(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE full =
		ct_evd(ia->ia, 4, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG | DAT_EVD_CONNECTION_FLAG);
	struct ct_end a = { .connect = full }, p = { 0 };
	struct listener l;
	DAT_EVENT event;

	ct_end_open(&a, ia->ia, NULL);
	ct_end_open(&p, ia->ia, NULL);
	listen_on(&l, ia, DAT_EVD_CR_FLAG);
	fill(full);
	expect_ok(connect_to(ia, &a, l.qual));
	ct_next(l.evd, DAT_CONNECTION_REQUEST_EVENT, &event);
	expect_ok(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, p.ep, 0, NULL));
	ct_next(p.connect, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	ct_await(ct_ep_state(a.ep) == DAT_EP_STATE_CONNECTED);
	reported(ia, full);
	/* The connection works. */
	expect_ok(ct_post_recv(&p, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(ct_post_send(&a, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	ct_completion(p.recv, 1, DAT_DTO_SUCCESS);
	ct_completion(a.request, 2, DAT_DTO_SUCCESS);
	/* With room again the next event comes. */
	ct_drain(full);
	expect_ok(dat_ep_disconnect(p.ep, DAT_CLOSE_ABRUPT_FLAG));
	ct_next(full, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
}

/* ---- Completions ---- */

/* EVD-95 for the endpoint whose completion finds no place. */
static void breaks(struct ct_ia *ia, struct ct_end *end, DAT_EVD_HANDLE full)
{
	DAT_EVENT event;

	ct_next(end->connect, DAT_CONNECTION_EVENT_BROKEN, &event);
	assert_ptr_equal(event.event_data.connect_event_data.ep_handle, end->ep);
	assert_int_equal(ct_ep_state(end->ep), DAT_EP_STATE_DISCONNECTED);
	reported(ia, full);
}

static void evd_95_a_lost_completion_breaks_the_connection(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE full = ct_evd(ia->ia, 1, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG);
	DAT_COUNT qlen = ct_evd_param(full).evd_qlen;
	struct ct_end a = { 0 }, p = { .recv = full };
	DAT_EP_ATTR attr;

	ct_default_attr(ia->ia, &attr);
	if (qlen + 1 > ia->attr.max_dto_per_ep)
		harness_skip("the shortest queue has %d places", qlen);
	attr.max_recv_dtos = attr.max_request_dtos = qlen + 1;
	a.request = ct_evd(ia->ia, qlen + 16, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG);
	ct_end_open(&a, ia->ia, &attr);
	ct_end_open(&p, ia->ia, &attr);
	ct_end_connect(&a, &p);
	for (DAT_COUNT i = 0; i <= qlen; i++)
		expect_ok(ct_post_recv(&p, 0, 8, (uint64_t)i, DAT_COMPLETION_DEFAULT_FLAG));
	for (DAT_COUNT i = 0; i <= qlen; i++)
		expect_ok(ct_post_send(&a, 0, 8, (uint64_t)i, DAT_COMPLETION_DEFAULT_FLAG));
	breaks(ia, &p, full);
	/* EVD-93: the queued ones are intact, the new one was lost. */
	for (DAT_COUNT i = 0; i < qlen; i++)
		ct_completion(full, (uint64_t)i, DAT_DTO_SUCCESS);
	ct_empty(full);
}

/* So many receives of p complete that wait for their consumer. */
static void complete(struct ct_end *a, struct ct_end *p, uint64_t first, uint64_t num)
{
	DAT_BOOLEAN idle = DAT_FALSE;

	for (uint64_t i = first; i < first + num; i++)
		expect_ok(ct_post_recv(p, 0, 8, i, DAT_COMPLETION_DEFAULT_FLAG));
	for (uint64_t i = first; i < first + num; i++)
		expect_ok(ct_post_send(a, 0, 8, i, DAT_COMPLETION_DEFAULT_FLAG));
	for (uint64_t i = first; i < first + num; i++)
		ct_completion(a->request, i, DAT_DTO_SUCCESS);
	ct_await(dat_ep_get_status(p->ep, NULL, &idle, NULL) == DAT_SUCCESS && idle);
}

/*
 * The completions of one endpoint, more of them than the queue was made for, outlive the reset and
 * the end of another one that feeds the same queue.
 */
static void evd_95_nothing_is_lost_by_another_endpoints_reset(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE shared = ct_evd(ia->ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG);
	struct ct_end a = { 0 }, p = { .recv = shared }, other = { .recv = shared }, peer = { 0 };
	uint64_t posted = 0, taken = 0;
	DAT_EVENT event;
	DAT_COUNT more;

	ct_end_open(&a, ia->ia, NULL);
	ct_end_open(&p, ia->ia, NULL);
	ct_end_open(&peer, ia->ia, NULL);
	ct_end_open(&other, ia->ia, NULL);
	ct_end_connect(&a, &p);
	ct_end_connect(&peer, &other);
	/* A wait that takes one moves the others aside, and makes room for as many again. */
	for (int i = 0; i < 3; i++) {
		complete(&a, &p, posted, 7);
		posted += 7;
		expect_ok(dat_evd_wait(shared, 0, 1, &event, &more));
		assert_int_equal(event.event_data.dto_completion_event_data.user_cookie.as_64,
				 taken++);
	}
	complete(&a, &p, posted, 5);
	posted += 5;
	expect_ok(dat_ep_disconnect(other.ep, DAT_CLOSE_ABRUPT_FLAG));
	ct_next(other.connect, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
	expect_ok(dat_ep_reset(other.ep));
	expect_ok(dat_ep_free(other.ep));
	for (; taken < posted; taken++)
		ct_completion(shared, taken, DAT_DTO_SUCCESS);
	ct_empty(shared);
	ct_empty(ia->async);
	assert_int_equal(ct_ep_state(p.ep), DAT_EP_STATE_CONNECTED);
}

/* Takes what is there: software events, numbered from one on, and completions. */
static void take_both(DAT_EVD_HANDLE evd, DAT_COUNT *events, DAT_COUNT *completions)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(evd, &event) == DAT_SUCCESS) {
		if (event.event_number == DAT_DTO_COMPLETION_EVENT) {
			++*completions;
			continue;
		}
		++*events;
		assert_int_equal((uintptr_t)event.event_data.software_event_data.pointer, *events);
	}
}

/*
 * A device that keeps completions in a queue of its own cannot know of the software events: the
 * completion may find room, or be lost with everything that follows from it. The software events
 * stay in either case.
 */
static void evd_93_software_events_survive_a_completion_too_many(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE full =
		ct_evd(ia->ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG);
	struct ct_end a = { 0 }, p = { .recv = full };
	DAT_COUNT n, left = 0, completions = 0;
	uint64_t deadline = ct_now_us() + 2 * CT_US;
	DAT_BOOLEAN idle = DAT_FALSE;

	ct_end_open(&a, ia->ia, NULL);
	ct_end_open(&p, ia->ia, NULL);
	ct_end_connect(&a, &p);
	n = fill(full);
	expect_ok(ct_post_recv(&p, 0, 8, 1, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(ct_post_send(&a, 0, 8, 2, DAT_COMPLETION_DEFAULT_FLAG));
	ct_await(dat_ep_get_status(p.ep, NULL, &idle, NULL) == DAT_SUCCESS && idle);
	take_both(full, &left, &completions);
	assert_int_equal(left, n);
	/* Idle may be told before the completion is there. */
	while (completions == 0 && ct_ep_state(p.ep) == DAT_EP_STATE_CONNECTED) {
		assert_true(ct_now_us() < deadline);
		take_both(full, &left, &completions);
	}
	assert_in_range(completions, 0, 1);
	if (completions == 0)
		breaks(ia, &p, full);
}

static void evd_95_other_endpoints_are_untouched(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE full = ct_evd(ia->ia, 1, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG);
	DAT_COUNT qlen = ct_evd_param(full).evd_qlen;
	struct ct_end a = { 0 }, p = { .recv = full }, b = { 0 }, q = { 0 };

	if (qlen > 8)
		harness_skip("the shortest queue has %d places", qlen);
	ct_end_open(&a, ia->ia, NULL);
	ct_end_open(&p, ia->ia, NULL);
	ct_end_open(&b, ia->ia, NULL);
	ct_end_open(&q, ia->ia, NULL);
	ct_end_connect(&a, &p);
	ct_end_connect(&b, &q);
	for (DAT_COUNT i = 0; i <= qlen; i++) {
		expect_ok(ct_post_recv(&p, 0, 8, 1, DAT_COMPLETION_DEFAULT_FLAG));
		expect_ok(ct_post_send(&a, 0, 8, 2, DAT_COMPLETION_DEFAULT_FLAG));
	}
	breaks(ia, &p, full);
	expect_ok(ct_post_recv(&q, 0, 8, 3, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(ct_post_send(&b, 0, 8, 4, DAT_COMPLETION_DEFAULT_FLAG));
	ct_completion(q.recv, 3, DAT_DTO_SUCCESS);
	ct_completion(b.request, 4, DAT_DTO_SUCCESS);
}

static void evd_100_enough_places_never_overflow(void **state)
{
	enum {
		QUEUE = 16,
		ROUNDS = 20
	};
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 2 * QUEUE + 2, DAT_HANDLE_NULL,
				    DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
	struct ct_end a = { 0 }, p = { .recv = evd, .request = evd, .connect = evd };
	DAT_EP_ATTR attr;
	DAT_EVENT event;

	ct_default_attr(ia->ia, &attr);
	attr.max_recv_dtos = attr.max_request_dtos = QUEUE;
	ct_end_open(&a, ia->ia, &attr);
	ct_end_open(&p, ia->ia, &attr);
	ct_end_connect(&a, &p);
	for (int round = 0; round < ROUNDS; round++) {
		for (uint64_t i = 0; i < QUEUE; i++) {
			expect_ok(ct_post_recv(&p, 64, 8, i, DAT_COMPLETION_DEFAULT_FLAG));
			expect_ok(ct_post_recv(&a, 64, 8, i, DAT_COMPLETION_DEFAULT_FLAG));
		}
		for (uint64_t i = 0; i < QUEUE; i++) {
			expect_ok(ct_post_send(&a, 0, 8, i, DAT_COMPLETION_DEFAULT_FLAG));
			expect_ok(ct_post_send(&p, 0, 8, i, DAT_COMPLETION_DEFAULT_FLAG));
		}
		for (int i = 0; i < 2 * QUEUE; i++)
			ct_next(evd, DAT_DTO_COMPLETION_EVENT, &event);
		for (uint64_t i = 0; i < QUEUE; i++) {
			ct_completion(a.recv, i, DAT_DTO_SUCCESS);
			ct_completion(a.request, i, DAT_DTO_SUCCESS);
		}
	}
	ct_empty(ia->async);
	assert_int_equal(ct_ep_state(p.ep), DAT_EP_STATE_CONNECTED);
}

#define T(f) cmocka_unit_test_setup_teardown(f, ct_setup, ct_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(evd_93_96_a_lost_request_is_refused),
		T(evd_94_one_report_until_an_event_is_removed),
		T(evd_99_a_drained_dispatcher_works_again),
		T(evd_98_a_full_async_dispatcher_drops_and_stays_usable),
		T(evd_97_a_lost_connection_event_leaves_the_state),
		T(evd_95_nothing_is_lost_by_another_endpoints_reset),
		T(evd_95_a_lost_completion_breaks_the_connection),
		T(evd_93_software_events_survive_a_completion_too_many),
		T(evd_95_other_endpoints_are_untouched),
		T(evd_100_enough_places_never_overflow),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
