/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Notification objects: CNO-1 to CNO-15 and CNO-22 to CNO-35. Agents are in cno_agent.c. */
#include "harness.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <unistd.h>

static DAT_EVD_HANDLE soft_evd(struct ct_ia *ia, DAT_CNO_HANDLE cno)
{
	return ct_evd(ia->ia, 16, cno, DAT_EVD_SOFTWARE_FLAG);
}

static void untriggered(DAT_CNO_HANDLE cno)
{
	DAT_EVD_HANDLE hint = (DAT_EVD_HANDLE)&hint;

	expect_exact(dat_cno_wait(cno, 0, &hint), DAT_QUEUE_EMPTY);
	/* CNO-27 */
	assert_null(hint);
}

static void triggered_by(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE evd)
{
	DAT_EVD_HANDLE hint = DAT_HANDLE_NULL;

	expect_ok(dat_cno_wait(cno, 0, &hint));
	assert_ptr_equal(hint, evd);
}

/* ---- Triggering ---- */

static void cno_1_a_new_object_is_untriggered(void **state)
{
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE cno = ct_cno(ia->ia);
	DAT_CNO_PARAM param;

	untriggered(cno);
	expect_ok(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param));
	assert_ptr_equal(param.ia_handle, ia->ia);
	assert_int_equal(param.proxy_type, DAT_PROXY_TYPE_NONE);
	expect_ok(dat_cno_free(cno));
}

static void cno_2_an_arrival_triggers(void **state)
{
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE cno = ct_cno(ia->ia);
	DAT_EVD_HANDLE evd = soft_evd(ia, cno);

	expect_ok(ct_post_se(evd, 1));
	/* EVD-70: before the post returned. */
	triggered_by(cno, evd);
	untriggered(cno);
	/* CNO-29: the event is where it was. */
	ct_take_se(evd, 1);
}

static void cno_2_arrivals_of_every_stream_trigger(void **state)
{
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE cno = ct_cno(ia->ia);
	DAT_EVD_HANDLE cr = ct_evd(ia->ia, 8, cno, DAT_EVD_CR_FLAG);
	struct ct_end a = { .connect = ct_evd(ia->ia, 8, cno, DAT_EVD_CONNECTION_FLAG) };
	struct ct_end p = { .recv = ct_evd(ia->ia, 64, cno, DAT_EVD_DTO_FLAG) };
	DAT_EVD_HANDLE hint;
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;

	ct_end_open(&a, ia->ia, NULL);
	ct_end_open(&p, ia->ia, NULL);
	expect_ok(dat_psp_create_any(ia->ia, &qual, cr, DAT_PSP_CONSUMER_FLAG, &psp));
	expect_ok(dat_ep_connect(a.ep, ia->attr.ia_address_ptr, qual, CT_US, 0, NULL,
				 DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	expect_ok(dat_cno_wait(cno, CT_US, &hint));
	assert_ptr_equal(hint, cr);
	expect_ok(dat_evd_dequeue(cr, &event));
	expect_ok(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, p.ep, 0, NULL));
	expect_ok(dat_cno_wait(cno, CT_US, &hint));
	assert_ptr_equal(hint, a.connect);
	expect_ok(dat_evd_dequeue(a.connect, &event));
	assert_int_equal(event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
	ct_next(p.connect, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	expect_ok(ct_post_recv(&p, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(ct_post_send(&a, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(dat_cno_wait(cno, CT_US, &hint));
	assert_ptr_equal(hint, p.recv);
	expect_ok(dat_evd_dequeue(p.recv, &event));
	assert_int_equal(event.event_data.dto_completion_event_data.user_cookie.as_64, 1);
}

static void cno_3_a_waiter_is_released_and_the_object_stays_untriggered(void **state)
{
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE cno = ct_cno(ia->ia);
	DAT_EVD_HANDLE evd = soft_evd(ia, cno);
	struct ct_waiter *waiter = ct_cno_waiter(cno, DAT_TIMEOUT_INFINITE);

	expect_ok(ct_post_se(evd, 1));
	ct_waiter_join(waiter);
	expect_ok(waiter->rc);
	assert_ptr_equal(waiter->hint, evd);
	untriggered(cno);
}

static void cno_4_triggers_coalesce_and_the_latest_is_told(void **state)
{
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE cno = ct_cno(ia->ia);
	DAT_EVD_HANDLE first = soft_evd(ia, cno), second = soft_evd(ia, cno);

	expect_ok(ct_post_se(first, 1));
	expect_ok(ct_post_se(second, 1));
	expect_ok(ct_post_se(second, 2));
	triggered_by(cno, second);
	untriggered(cno);
	expect_ok(ct_post_se(second, 3));
	expect_ok(ct_post_se(first, 2));
	triggered_by(cno, first);
	untriggered(cno);
}

static void cno_25_a_trigger_waits_for_its_waiter(void **state)
{
	static const DAT_TIMEOUT timeouts[] = { 0, 1, CT_US, DAT_TIMEOUT_INFINITE };
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE cno = ct_cno(ia->ia);
	DAT_EVD_HANDLE evd = soft_evd(ia, cno), hint;

	for (int i = 0; i < 4; i++) {
		expect_ok(ct_post_se(evd, 1));
		expect_ok(dat_cno_wait(cno, timeouts[i], &hint));
		assert_ptr_equal(hint, evd);
		untriggered(cno);
	}
}

static void cno_5_a_hint_may_name_an_empty_dispatcher(void **state)
{
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE cno = ct_cno(ia->ia);
	DAT_EVD_HANDLE evd = soft_evd(ia, cno);

	expect_ok(ct_post_se(evd, 1));
	ct_take_se(evd, 1);
	triggered_by(cno, evd);
}

/* ---- Waiting ---- */

static void cno_27_timeouts_are_kept(void **state)
{
	static const DAT_TIMEOUT timeouts[] = { 0, 1, 300, 999, 1000, 1500, 50000, 200000 };
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE cno = ct_cno(ia->ia);

	soft_evd(ia, cno);
	for (size_t i = 0; i < sizeof(timeouts) / sizeof(timeouts[0]); i++) {
		uint64_t start = ct_now_us();
		DAT_EVD_HANDLE hint = (DAT_EVD_HANDLE)&hint;

		expect_exact(dat_cno_wait(cno, timeouts[i], &hint), DAT_QUEUE_EMPTY);
		ct_took(ct_now_us() - start, timeouts[i]);
		assert_null(hint);
	}
}

static void cno_27_the_longest_waits(void **state)
{
	static const DAT_TIMEOUT timeouts[] = { DAT_TIMEOUT_INFINITE, 4294967294u, 0x80000000u };
	struct ct_ia *ia = *state;

	for (int i = 0; i < 3; i++) {
		DAT_CNO_HANDLE cno = ct_cno(ia->ia);
		DAT_EVD_HANDLE evd = soft_evd(ia, cno);
		struct ct_waiter *waiter = ct_cno_waiter(cno, timeouts[i]);
		uint64_t until = ct_now_us() + 100000;

		while (ct_now_us() < until)
			ct_pause();
		assert_false(ct_waiter_done(waiter));
		expect_ok(ct_post_se(evd, 1));
		ct_waiter_join(waiter);
		expect_ok(waiter->rc);
	}
}

static void cno_wait_checks_its_pointer(void **state)
{
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE cno = ct_cno(ia->ia);
	DAT_EVD_HANDLE evd = soft_evd(ia, cno);

	expect_ok(ct_post_se(evd, 1));
	expect_arg(dat_cno_wait(cno, 0, NULL), 3);
	triggered_by(cno, evd);
}

static void cno_26_any_number_of_threads_wait(void **state)
{
	enum {
		WAITERS = 5
	};
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE cno = ct_cno(ia->ia);
	DAT_EVD_HANDLE evd = soft_evd(ia, cno);
	struct ct_waiter *waiters[WAITERS];
	int released = 0;

	for (int i = 0; i < WAITERS; i++)
		waiters[i] = ct_cno_waiter(cno, DAT_TIMEOUT_INFINITE);
	/* Each trigger releases one or more; posting goes on until all have returned. */
	for (int posts = 0; released < WAITERS && posts < WAITERS; posts++) {
		int before = released;

		expect_ok(ct_post_se(evd, (uintptr_t)posts));
		do {
			released = 0;
			for (int i = 0; i < WAITERS; i++)
				released += ct_waiter_done(waiters[i]);
			ct_pause();
		} while (released == before);
	}
	for (int i = 0; i < WAITERS; i++) {
		ct_waiter_join(waiters[i]);
		expect_ok(waiters[i]->rc);
		assert_ptr_equal(waiters[i]->hint, evd);
	}
}

static void cno_33_waiting_without_dispatchers_is_legal(void **state)
{
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE cno = ct_cno(ia->ia);
	struct ct_waiter *waiter = ct_cno_waiter(cno, DAT_TIMEOUT_INFINITE);
	DAT_EVD_HANDLE evd = soft_evd(ia, DAT_HANDLE_NULL);

	expect_ok(dat_evd_modify_cno(evd, cno));
	assert_false(ct_waiter_done(waiter));
	expect_ok(ct_post_se(evd, 1));
	ct_waiter_join(waiter);
	expect_ok(waiter->rc);
	assert_ptr_equal(waiter->hint, evd);
}

static atomic_int handled;

static void on_signal(int signo)
{
	(void)signo;
	atomic_fetch_add(&handled, 1);
}

static void interrupt(struct ct_ia *ia, int flags)
{
	DAT_CNO_HANDLE cno = ct_cno(ia->ia);
	DAT_EVD_HANDLE evd = soft_evd(ia, cno);
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };
	struct ct_waiter *waiter;

	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	for (int i = 0; i < 10; i++) {
		waiter = ct_cno_waiter(cno, i & 1 ? DAT_TIMEOUT_INFINITE : CT_US * 6);
		ct_waiter_signal(waiter, SIGUSR1);
		ct_waiter_join(waiter);
		expect_type(waiter->rc, DAT_INTERRUPTED_CALL);
		/* CNO-28: it consumes nothing. */
		expect_ok(ct_post_se(evd, 1));
		triggered_by(cno, evd);
	}
}

static void cno_30_a_signal_interrupts_the_wait(void **state)
{
	interrupt(*state, 0);
}

static void cno_30_a_restarting_handler_interrupts_too(void **state)
{
	interrupt(*state, SA_RESTART);
}

/* ---- Races ---- */

struct race {
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	atomic_int posted, wrong;
};

enum {
	TRIGGERS = 2000
};

static void *trigger_often(void *arg)
{
	struct race *race = arg;

	for (int i = 0; i < TRIGGERS; i++) {
		/* One at a time: the next only after the previous was consumed. */
		while (ct_post_se(race->evd, (uintptr_t)i) != DAT_SUCCESS)
			ct_pause();
		atomic_fetch_add(&race->posted, 1);
	}
	return NULL;
}

static void cno_6_no_wakeup_is_lost(void **state)
{
	struct ct_ia *ia = *state;
	struct race race = { .cno = ct_cno(ia->ia) };
	int taken = 0, idle = 0;
	pthread_t thread;
	DAT_EVENT event;

	race.evd = soft_evd(ia, race.cno);
	assert_int_equal(pthread_create(&thread, NULL, trigger_often, &race), 0);
	while (taken < TRIGGERS && idle == 0) {
		DAT_EVD_HANDLE hint;

		while (dat_evd_dequeue(race.evd, &event) == DAT_SUCCESS)
			taken++;
		if (taken < TRIGGERS)
			idle += dat_cno_wait(race.cno, CT_US, &hint) == DAT_QUEUE_EMPTY;
	}
	pthread_join(thread, NULL);
	assert_int_equal(taken, TRIGGERS);
	assert_int_equal(idle, 0);
}

static void *trigger_singly(void *arg)
{
	struct race *race = arg;

	for (int i = 0; i < 500; i++) {
		atomic_store(&race->posted, 1);
		ct_post_se(race->evd, 1);
		/* Until the other side has seen it. */
		while (atomic_load(&race->posted) != 0 && atomic_load(&race->wrong) == 0)
			sched_yield();
	}
	return NULL;
}

/* Short waits that end about when the trigger comes: it is either returned or stays. */
static void cno_28_a_timeout_does_not_swallow_a_trigger(void **state)
{
	struct ct_ia *ia = *state;
	struct race race = { .cno = ct_cno(ia->ia) };
	uint64_t deadline = ct_now_us() + 3 * CT_US;
	pthread_t thread;
	int seen = 0;

	race.evd = soft_evd(ia, race.cno);
	assert_int_equal(pthread_create(&thread, NULL, trigger_singly, &race), 0);
	while (seen < 500 && ct_now_us() < deadline) {
		DAT_EVD_HANDLE hint;
		DAT_RETURN rc = dat_cno_wait(race.cno, (DAT_TIMEOUT)(seen % 60), &hint);

		if (rc == DAT_QUEUE_EMPTY)
			continue;
		if (rc != DAT_SUCCESS || hint != race.evd)
			break;
		seen++;
		ct_drain(race.evd);
		atomic_store(&race.posted, 0);
	}
	atomic_store(&race.wrong, seen < 500);
	pthread_join(thread, NULL);
	assert_int_equal(seen, 500);
}

/* ---- Release of all ---- */

/* EVD-91 */
static void cno_31_freeing_the_last_dispatcher_releases_all(void **state)
{
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE cno = ct_cno(ia->ia);
	DAT_EVD_HANDLE one = soft_evd(ia, cno), two = soft_evd(ia, cno);
	struct ct_waiter *waiters[3];

	for (int i = 0; i < 3; i++)
		waiters[i] = ct_cno_waiter(cno, DAT_TIMEOUT_INFINITE);
	expect_ok(dat_evd_free(one));
	for (int i = 0; i < 3; i++)
		assert_false(ct_waiter_done(waiters[i]));
	expect_ok(dat_evd_free(two));
	for (int i = 0; i < 3; i++) {
		ct_waiter_join(waiters[i]);
		expect_ok(waiters[i]->rc);
		assert_null(waiters[i]->hint);
	}
	expect_ok(dat_cno_free(cno));
}

static void cno_31_taking_the_last_dispatcher_away_releases_nobody(void **state)
{
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE cno = ct_cno(ia->ia);
	DAT_EVD_HANDLE evd = soft_evd(ia, cno);
	struct ct_waiter *waiter = ct_cno_waiter(cno, DAT_TIMEOUT_INFINITE);

	expect_ok(dat_evd_modify_cno(evd, DAT_HANDLE_NULL));
	for (int i = 0; i < 100 && !ct_waiter_done(waiter); i++)
		ct_pause();
	assert_false(ct_waiter_done(waiter));
	expect_ok(dat_evd_modify_cno(evd, cno));
	expect_ok(ct_post_se(evd, 1));
	ct_waiter_join(waiter);
	expect_ok(waiter->rc);
}

static void cno_34_35_an_object_in_use_is_not_freed(void **state)
{
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE cno = ct_cno(ia->ia);
	DAT_EVD_HANDLE evd = soft_evd(ia, cno);
	struct ct_waiter *waiter;

	expect_state(dat_cno_free(cno), CNO_IN_USE);
	expect_ok(dat_evd_modify_cno(evd, DAT_HANDLE_NULL));
	waiter = ct_cno_waiter(cno, DAT_TIMEOUT_INFINITE);
	expect_state(dat_cno_free(cno), CNO_IN_USE);
	/* How to get rid of the waiter. */
	expect_ok(dat_evd_modify_cno(evd, cno));
	expect_ok(ct_post_se(evd, 1));
	ct_waiter_join(waiter);
	expect_ok(waiter->rc);
	expect_ok(dat_evd_modify_cno(evd, DAT_HANDLE_NULL));
	expect_ok(dat_cno_free(cno));
	expect_handle(dat_cno_free(cno), CNO);
}

static void cno_34_a_pending_trigger_is_dropped(void **state)
{
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE cno = ct_cno(ia->ia);
	DAT_EVD_HANDLE evd = soft_evd(ia, cno);

	expect_ok(ct_post_se(evd, 1));
	expect_ok(dat_evd_modify_cno(evd, DAT_HANDLE_NULL));
	expect_ok(dat_cno_free(cno));
	ct_take_se(evd, 1);
}

/* ---- dat_cno_trigger ---- */

static void cno_13_14_15_trigger_collects(void **state)
{
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE cno = ct_cno(ia->ia);
	DAT_EVD_HANDLE evd = soft_evd(ia, cno);
	DAT_EVD_HANDLE hint = (DAT_EVD_HANDLE)&hint;

	expect_ok(dat_cno_trigger(cno, &hint));
	assert_null(hint);
	expect_ok(ct_post_se(evd, 1));
	expect_ok(dat_cno_trigger(cno, &hint));
	assert_ptr_equal(hint, evd);
	untriggered(cno);
	expect_ok(dat_cno_trigger(cno, &hint));
	assert_null(hint);
	expect_arg(dat_cno_trigger(cno, NULL), 2);
}

/* ---- Descriptors ---- */

/* Stopping the process interrupts. */
static bool is_ready(int epoll)
{
	struct epoll_event got;
	int n;

	do
		n = epoll_wait(epoll, &got, 1, CT_MS);
	while (n < 0 && errno == EINTR);
	return n == 1;
}

/* The recipe of doc/cno-epoll.md. */
static void cno_6_an_epoll_loop_loses_nothing(void **state)
{
	struct ct_ia *ia = *state;
	struct epoll_event want = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC), taken = 0;
	struct race race = { .cno = DAT_HANDLE_NULL };
	DAT_EVD_HANDLE hint;
	pthread_t thread;
	DAT_EVENT event;
	DAT_FD fd;

	expect_ok(dat_cno_fd_create(ia->ia, &fd, &race.cno));
	race.evd = soft_evd(ia, race.cno);
	assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &want), 0);
	assert_int_equal(pthread_create(&thread, NULL, trigger_often, &race), 0);
	while (taken < TRIGGERS && is_ready(epoll)) {
		expect_ok(dat_cno_trigger(race.cno, &hint));
		while (dat_evd_dequeue(race.evd, &event) == DAT_SUCCESS)
			taken++;
	}
	pthread_join(thread, NULL);
	assert_int_equal(taken, TRIGGERS);
	close(epoll);
}

#define T(f) cmocka_unit_test_setup_teardown(f, ct_setup, ct_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(cno_1_a_new_object_is_untriggered),
		T(cno_2_an_arrival_triggers),
		T(cno_2_arrivals_of_every_stream_trigger),
		T(cno_3_a_waiter_is_released_and_the_object_stays_untriggered),
		T(cno_4_triggers_coalesce_and_the_latest_is_told),
		T(cno_25_a_trigger_waits_for_its_waiter),
		T(cno_5_a_hint_may_name_an_empty_dispatcher),
		T(cno_27_timeouts_are_kept),
		T(cno_27_the_longest_waits),
		T(cno_wait_checks_its_pointer),
		T(cno_26_any_number_of_threads_wait),
		T(cno_33_waiting_without_dispatchers_is_legal),
		T(cno_30_a_signal_interrupts_the_wait),
		T(cno_30_a_restarting_handler_interrupts_too),
		T(cno_6_no_wakeup_is_lost),
		T(cno_28_a_timeout_does_not_swallow_a_trigger),
		T(cno_31_freeing_the_last_dispatcher_releases_all),
		T(cno_31_taking_the_last_dispatcher_away_releases_nobody),
		T(cno_34_35_an_object_in_use_is_not_freed),
		T(cno_34_a_pending_trigger_is_dropped),
		T(cno_13_14_15_trigger_collects),
		T(cno_6_an_epoll_loop_loses_nothing),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
