/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The queue of a dispatcher: order, dequeueing, software events, resizing; EVD-11 to EVD-13, EVD-64
 * to EVD-81. */
#include "harness.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* ---- Software events and order ---- */

static void evd_11_events_come_in_order_each_once(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 16, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG);
	uintptr_t next_in = 1, next_out = 1;

	/* Round the ring several times, at every fill level. */
	for (int level = 1; level <= 16; level++) {
		for (int round = 0; round < 5; round++) {
			while (next_in - next_out < (uintptr_t)level)
				expect_ok(ct_post_se(evd, next_in++));
			ct_take_se(evd, next_out++);
		}
		while (next_out < next_in)
			ct_take_se(evd, next_out++);
		ct_empty(evd);
	}
}

/* EVT-32 */
static void evd_69_the_event_is_copied_and_completed(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 4, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG);
	DAT_EVENT event;

	memset(&event, 0xa5, sizeof(event));
	event.event_number = DAT_SOFTWARE_EVENT;
	event.evd_handle = (DAT_EVD_HANDLE)&event;
	/* Nothing is dereferenced through it. */
	event.event_data.software_event_data.pointer = (DAT_PVOID)(uintptr_t)0xdead0001;
	expect_ok(dat_evd_post_se(evd, &event));
	memset(&event, 0x5a, sizeof(event));
	ct_take_se(evd, 0xdead0001);
}

static void evt_1_size_and_places(void **state)
{
	(void)state;
	if (sizeof(void *) != 8)
		harness_skip("# the clause is of processors of 64 bits");
	assert_int_equal(sizeof(DAT_EVENT), 120);
	assert_int_equal(offsetof(DAT_EVENT, event_number), 0);
	assert_int_equal(offsetof(DAT_EVENT, evd_handle), 8);
	assert_int_equal(offsetof(DAT_EVENT, event_data), 16);
	assert_int_equal(offsetof(DAT_EVENT, event_extension_data), 56);
}

static void has_no_extension_data(const DAT_EVENT *event)
{
	static const char zero[sizeof(event->event_extension_data)];

	assert_memory_equal(event->event_extension_data, zero, sizeof(zero));
}

static void evt_3_extension_data_are_zero(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 4, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG);
	struct ct_end a = { 0 }, p = { 0 };
	DAT_EVENT event;
	DAT_COUNT more;

	memset(&event, 0xa5, sizeof(event));
	event.event_number = DAT_SOFTWARE_EVENT;
	expect_ok(dat_evd_post_se(evd, &event));
	memset(&event, 0xa5, sizeof(event));
	expect_ok(dat_evd_dequeue(evd, &event));
	has_no_extension_data(&event);

	ct_end_open(&a, ia->ia, NULL);
	ct_end_open(&p, ia->ia, NULL);
	ct_end_connect(&a, &p);
	expect_ok(ct_post_recv(&p, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(ct_post_send(&a, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	memset(&event, 0xa5, sizeof(event));
	expect_ok(dat_evd_wait(p.recv, CT_US, 1, &event, &more));
	has_no_extension_data(&event);
	expect_ok(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG));
	memset(&event, 0xa5, sizeof(event));
	expect_ok(dat_evd_wait(a.connect, CT_US, 1, &event, &more));
	has_no_extension_data(&event);
}

static void evd_71_only_dispatchers_of_software_events_take_them(void **state)
{
	static const DAT_EVD_FLAGS others[] = { DAT_EVD_CR_FLAG,	 DAT_EVD_DTO_FLAG,
						DAT_EVD_CONNECTION_FLAG, DAT_EVD_RMR_BIND_FLAG,
						DAT_EVD_ASYNC_FLAG,	 DAT_EVD_DEFAULT_FLAG };
	struct ct_ia *ia = *state;

	for (int i = 0; i < 6; i++) {
		DAT_EVD_HANDLE evd = ct_evd(ia->ia, 4, DAT_HANDLE_NULL, others[i]);

		expect_arg(ct_post_se(evd, 1), 1);
		ct_empty(evd);
		expect_ok(dat_evd_free(evd));
	}
	expect_arg(ct_post_se(ia->async, 1), 1);
}

static void evd_72_only_software_events_are_posted(void **state)
{
	static const DAT_EVENT_NUMBER others[] = { (DAT_EVENT_NUMBER)0,
						   DAT_DTO_COMPLETION_EVENT,
						   DAT_RMR_BIND_COMPLETION_EVENT,
						   DAT_CONNECTION_REQUEST_EVENT,
						   DAT_CONNECTION_EVENT_ESTABLISHED,
						   DAT_ASYNC_ERROR_EVD_OVERFLOW,
						   (DAT_EVENT_NUMBER)0x10000,
						   (DAT_EVENT_NUMBER)0x10002 };
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 4, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG);
	DAT_EVENT event = { 0 };

	assert_int_equal(DAT_SOFTWARE_EVENT, 0x10001);
	for (int i = 0; i < 8; i++) {
		event.event_number = others[i];
		expect_arg(dat_evd_post_se(evd, &event), 2);
	}
	expect_arg(dat_evd_post_se(evd, NULL), 2);
	ct_empty(evd);
}

static void evd_73_74_exactly_qlen_events_fit(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 5, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG);
	DAT_COUNT qlen = ct_evd_param(evd).evd_qlen;

	for (int round = 0; round < 3; round++) {
		for (DAT_COUNT i = 0; i < qlen; i++)
			expect_ok(ct_post_se(evd, (uintptr_t)i + 1));
		expect_type(ct_post_se(evd, 999), DAT_QUEUE_FULL);
		expect_type(ct_post_se(evd, 999), DAT_QUEUE_FULL);
		for (DAT_COUNT i = 0; i < qlen; i++)
			ct_take_se(evd, (uintptr_t)i + 1);
		ct_empty(evd);
	}
	/* It is no overflow. */
	ct_empty(ia->async);
}

/* ---- Dequeueing ---- */

static void evd_64_dequeue_works_in_every_state(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 4, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG);

	for (int set = 0; set < 4; set++) {
		expect_ok(set & 1 ? dat_evd_enable(evd) : dat_evd_disable(evd));
		expect_ok(set & 2 ? dat_evd_set_unwaitable(evd) : dat_evd_clear_unwaitable(evd));
		expect_ok(ct_post_se(evd, 7));
		ct_take_se(evd, 7);
		ct_empty(evd);
	}
	ct_empty(ia->async);
}

static void evd_65_an_empty_queue_leaves_the_event_alone(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE soft = ct_evd(ia->ia, 4, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG);
	DAT_EVD_HANDLE dto = ct_evd(ia->ia, 4, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG);
	DAT_EVENT event, untouched;

	memset(&untouched, 0xa5, sizeof(untouched));
	event = untouched;
	assert_int_equal(DAT_QUEUE_EMPTY, 0x000d0000);
	expect_exact(dat_evd_dequeue(soft, &event), DAT_QUEUE_EMPTY);
	expect_exact(dat_evd_dequeue(dto, &event), DAT_QUEUE_EMPTY);
	expect_exact(dat_evd_dequeue(ia->async, &event), DAT_QUEUE_EMPTY);
	assert_memory_equal(&event, &untouched, sizeof(event));
}

static void evd_66_dequeue_refuses_a_null_pointer(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 4, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG);

	expect_arg(dat_evd_dequeue(evd, NULL), 2);
	expect_ok(ct_post_se(evd, 1));
	expect_arg(dat_evd_dequeue(evd, NULL), 2);
	ct_take_se(evd, 1);
}

static void evd_67_polling_makes_progress_by_itself(void **state)
{
	struct ct_ia *ia = *state;
	struct ct_end a = { 0 }, p = { 0 };
	DAT_EVENT event;

	ct_end_open(&a, ia->ia, NULL);
	ct_end_open(&p, ia->ia, NULL);
	ct_end_connect(&a, &p);
	expect_ok(ct_post_recv(&p, 0, 4096, 1, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(ct_post_send(&a, 0, 4096, 2, DAT_COMPLETION_DEFAULT_FLAG));
	ct_await(dat_evd_dequeue(p.recv, &event) == DAT_SUCCESS);
	assert_int_equal(event.event_data.dto_completion_event_data.user_cookie.as_64, 1);
	assert_int_equal(event.event_data.dto_completion_event_data.transfered_length, 4096);
	ct_await(dat_evd_dequeue(a.request, &event) == DAT_SUCCESS);
	assert_int_equal(event.event_data.dto_completion_event_data.user_cookie.as_64, 2);
}

/* ---- EVD-13, EVD-68: several threads on one queue ---- */

enum {
	TAKERS = 4,
	POSTERS = 2,
	EVENTS = 5000
};

struct crowd {
	DAT_EVD_HANDLE evd;
	atomic_int taken;
	_Atomic(DAT_RETURN) wrong;
	atomic_uchar seen[POSTERS * EVENTS];
};

static void *take(void *arg)
{
	struct crowd *crowd = arg;
	DAT_EVENT event;

	while (atomic_load(&crowd->taken) < POSTERS * EVENTS) {
		DAT_RETURN rc = dat_evd_dequeue(crowd->evd, &event);

		if (rc == DAT_SUCCESS) {
			uintptr_t n = (uintptr_t)event.event_data.software_event_data.pointer;

			atomic_fetch_add(&crowd->seen[n], 1);
			atomic_fetch_add(&crowd->taken, 1);
		} else if (rc != DAT_QUEUE_EMPTY) {
			atomic_store(&crowd->wrong, rc);
			break;
		}
	}
	return NULL;
}

struct poster {
	struct crowd *crowd;
	uintptr_t first;
};

static void *post(void *arg)
{
	struct poster *poster = arg;

	for (uintptr_t i = 0; i < EVENTS && atomic_load(&poster->crowd->wrong) == 0;) {
		DAT_RETURN rc = ct_post_se(poster->crowd->evd, poster->first + i);

		if (rc == DAT_SUCCESS)
			i++;
		else if (DAT_GET_TYPE(rc) != DAT_QUEUE_FULL)
			atomic_store(&poster->crowd->wrong, rc);
		else
			ct_pause();
	}
	return NULL;
}

static void evd_68_threads_dequeue_each_event_once(void **state)
{
	struct ct_ia *ia = *state;
	struct crowd *crowd = calloc(1, sizeof(*crowd));
	struct poster posters[POSTERS];
	pthread_t takers[TAKERS], threads[POSTERS];
	int doubles = 0;

	assert_non_null(crowd);
	crowd->evd = ct_evd(ia->ia, 64, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG);
	for (int i = 0; i < TAKERS; i++)
		assert_int_equal(pthread_create(&takers[i], NULL, take, crowd), 0);
	for (int i = 0; i < POSTERS; i++) {
		posters[i].crowd = crowd;
		posters[i].first = (uintptr_t)i * EVENTS;
		assert_int_equal(pthread_create(&threads[i], NULL, post, &posters[i]), 0);
	}
	for (int i = 0; i < POSTERS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < TAKERS; i++)
		pthread_join(takers[i], NULL);
	for (int i = 0; i < POSTERS * EVENTS; i++)
		doubles += atomic_load(&crowd->seen[i]) != 1;
	expect_ok(atomic_load(&crowd->wrong));
	free(crowd);
	assert_int_equal(doubles, 0);
}

/* ---- Resizing ---- */

/* EVD-76 */
static void evd_75_resizing_keeps_events_and_order(void **state)
{
	static const DAT_COUNT sizes[] = { 9, 64, 10, 300, 5, 17 };
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG);
	uintptr_t in = 1, out = 1;

	for (int i = 0; i < 6; i++) {
		while (in - out < 5)
			expect_ok(ct_post_se(evd, in++));
		expect_ok(dat_evd_resize(evd, sizes[i]));
		assert_true(ct_evd_param(evd).evd_qlen >= sizes[i]);
		ct_take_se(evd, out++);
		ct_take_se(evd, out++);
	}
	while (out < in)
		ct_take_se(evd, out++);
	ct_empty(evd);
}

static void evd_74_exactly_the_new_length_fits(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 4, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG);
	DAT_COUNT qlen;

	expect_ok(dat_evd_resize(evd, 100));
	qlen = ct_evd_param(evd).evd_qlen;
	for (DAT_COUNT i = 0; i < qlen; i++)
		expect_ok(ct_post_se(evd, (uintptr_t)i));
	expect_type(ct_post_se(evd, 1), DAT_QUEUE_FULL);
	for (DAT_COUNT i = 0; i < qlen; i++)
		ct_take_se(evd, (uintptr_t)i);
}

static void evd_75_endpoints_keep_working(void **state)
{
	struct ct_ia *ia = *state;
	struct ct_end a = { 0 }, p = { 0 };

	ct_end_open(&a, ia->ia, NULL);
	ct_end_open(&p, ia->ia, NULL);
	ct_end_connect(&a, &p);
	for (uint64_t i = 0; i < 6; i++)
		expect_ok(ct_post_recv(&p, i * 64, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
	for (uint64_t i = 0; i < 3; i++)
		expect_ok(ct_post_send(&a, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
	/* With completions queued, and on their way. */
	expect_ok(dat_evd_resize(a.request, 200));
	expect_ok(dat_evd_resize(p.recv, 200));
	assert_true(ct_evd_param(p.recv).evd_qlen >= 200);
	for (uint64_t i = 3; i < 6; i++)
		expect_ok(ct_post_send(&a, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
	for (uint64_t i = 0; i < 6; i++) {
		ct_completion(p.recv, i, DAT_DTO_SUCCESS);
		ct_completion(a.request, i, DAT_DTO_SUCCESS);
	}
	ct_empty(p.recv);
	ct_empty(a.request);
}

static void evd_77_queued_events_are_not_cut_off(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 32, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG);
	DAT_COUNT qlen = ct_evd_param(evd).evd_qlen;

	for (uintptr_t i = 0; i < 20; i++)
		expect_ok(ct_post_se(evd, i));
	expect_type(dat_evd_resize(evd, 19), DAT_INVALID_STATE);
	expect_type(dat_evd_resize(evd, 1), DAT_INVALID_STATE);
	assert_int_equal(ct_evd_param(evd).evd_qlen, qlen);
	expect_ok(dat_evd_resize(evd, 20));
	for (uintptr_t i = 0; i < 20; i++)
		ct_take_se(evd, i);
}

static void evd_78_impossible_lengths_are_refused(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG);
	DAT_COUNT qlen = ct_evd_param(evd).evd_qlen;

	expect_arg(dat_evd_resize(evd, 0), 2);
	expect_arg(dat_evd_resize(evd, -1), 2);
	if (ia->attr.max_evd_qlen < 0x7fffffff)
		expect_arg(dat_evd_resize(evd, ia->attr.max_evd_qlen + 1), 2);
	assert_int_equal(ct_evd_param(evd).evd_qlen, qlen);
}

static void evd_79_a_waiter_refuses_resizing(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG);
	struct ct_waiter *waiter = ct_evd_waiter(evd, DAT_TIMEOUT_INFINITE, 1);

	expect_state(dat_evd_resize(evd, 100), EVD_WAITER);
	expect_ok(ct_post_se(evd, 1));
	ct_waiter_join(waiter);
	expect_ok(waiter->rc);
	expect_ok(dat_evd_resize(evd, 100));
}

static void evd_80_the_same_length_changes_nothing(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG);
	DAT_COUNT qlen = ct_evd_param(evd).evd_qlen;

	expect_ok(ct_post_se(evd, 1));
	expect_ok(dat_evd_resize(evd, qlen));
	assert_int_equal(ct_evd_param(evd).evd_qlen, qlen);
	ct_take_se(evd, 1);
}

/* Also where it has more than its length: completions wait in a queue of their own. */
static void evd_80_the_same_length_with_more_events(void **state)
{
	struct ct_ia *ia = *state;
	struct ct_end a = { 0 }, p = { .recv = ct_evd(ia->ia, 8, DAT_HANDLE_NULL,
						      DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG) };
	DAT_COUNT qlen = ct_evd_param(p.recv).evd_qlen;

	ct_end_open(&a, ia->ia, NULL);
	ct_end_open(&p, ia->ia, NULL);
	ct_end_connect(&a, &p);
	for (uint64_t i = 1; i <= 3; i++) {
		expect_ok(ct_post_recv(&p, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
		expect_ok(ct_post_send(&a, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
		ct_completion(a.request, i, DAT_DTO_SUCCESS);
	}
	for (DAT_COUNT i = 1; i <= qlen; i++)
		expect_ok(ct_post_se(p.recv, (uintptr_t)i));
	expect_ok(dat_evd_resize(p.recv, qlen));
	assert_int_equal(ct_evd_param(p.recv).evd_qlen, qlen);
}

static void evd_81_the_adapters_dispatcher_is_resized(void **state)
{
	struct ct_ia *ia = *state;

	expect_ok(dat_evd_resize(ia->async, 200));
	assert_true(ct_evd_param(ia->async).evd_qlen >= 200);
	ct_empty(ia->async);
}

#define T(f) cmocka_unit_test_setup_teardown(f, ct_setup, ct_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(evd_11_events_come_in_order_each_once),
		T(evd_69_the_event_is_copied_and_completed),
		T(evt_1_size_and_places),
		T(evt_3_extension_data_are_zero),
		T(evd_71_only_dispatchers_of_software_events_take_them),
		T(evd_72_only_software_events_are_posted),
		T(evd_73_74_exactly_qlen_events_fit),
		T(evd_64_dequeue_works_in_every_state),
		T(evd_65_an_empty_queue_leaves_the_event_alone),
		T(evd_66_dequeue_refuses_a_null_pointer),
		T(evd_67_polling_makes_progress_by_itself),
		T(evd_68_threads_dequeue_each_event_once),
		T(evd_75_resizing_keeps_events_and_order),
		T(evd_74_exactly_the_new_length_fits),
		T(evd_75_endpoints_keep_working),
		T(evd_77_queued_events_are_not_cut_off),
		T(evd_78_impossible_lengths_are_refused),
		T(evd_79_a_waiter_refuses_resizing),
		T(evd_80_the_same_length_changes_nothing),
		T(evd_80_the_same_length_with_more_events),
		T(evd_81_the_adapters_dispatcher_is_resized),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
