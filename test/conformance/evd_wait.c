/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Waiting on dispatchers: EVD-45 to EVD-63, and what releases a waiter. */
#include "harness.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#define MERGED (DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG)

/* The streams that a transport may implement in different ways. */
static const DAT_EVD_FLAGS kinds[] = {
	DAT_EVD_SOFTWARE_FLAG, DAT_EVD_DTO_FLAG,   DAT_EVD_CONNECTION_FLAG,
	DAT_EVD_CR_FLAG,       DAT_EVD_ASYNC_FLAG, (DAT_EVD_FLAGS)MERGED,
};

static DAT_EVD_HANDLE soft_evd(struct ct_ia *ia)
{
	return ct_evd(ia->ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG);
}

static void is_se(const DAT_EVENT *event, DAT_EVD_HANDLE evd, uintptr_t value)
{
	assert_int_equal(event->event_number, DAT_SOFTWARE_EVENT);
	assert_ptr_equal(event->evd_handle, evd);
	assert_int_equal((uintptr_t)event->event_data.software_event_data.pointer, value);
}

/* ---- Thresholds ---- */

static void evd_45_enough_events_returns_at_once(void **state)
{
	static const DAT_TIMEOUT timeouts[] = { 0, 1, 1000, CT_US, DAT_TIMEOUT_INFINITE };
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = soft_evd(ia);
	DAT_EVENT event;
	DAT_COUNT more;

	for (int i = 0; i < 5; i++) {
		for (uintptr_t n = 1; n <= 3; n++)
			expect_ok(ct_post_se(evd, n));
		expect_ok(dat_evd_wait(evd, timeouts[i], 3, &event, &more));
		is_se(&event, evd, 1);
		/* EVD-47 */
		assert_int_equal(more, 2);
		expect_ok(dat_evd_wait(evd, timeouts[i], 2, &event, &more));
		is_se(&event, evd, 2);
		assert_int_equal(more, 1);
		expect_ok(dat_evd_wait(evd, timeouts[i], 1, &event, &more));
		is_se(&event, evd, 3);
		assert_int_equal(more, 0);
	}
}

static void evd_46_the_threshold_releases_not_the_first_event(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = soft_evd(ia);
	struct ct_waiter *waiter = ct_evd_waiter(evd, DAT_TIMEOUT_INFINITE, 4);

	for (uintptr_t n = 1; n <= 3; n++)
		expect_ok(ct_post_se(evd, n));
	for (int i = 0; i < 100 && !ct_waiter_done(waiter); i++)
		ct_pause();
	assert_false(ct_waiter_done(waiter));
	expect_ok(ct_post_se(evd, 4));
	ct_waiter_join(waiter);
	expect_ok(waiter->rc);
	is_se(&waiter->event, evd, 1);
	assert_int_equal(waiter->more, 3);
	for (uintptr_t n = 2; n <= 4; n++)
		ct_take_se(evd, n);
}

static void evd_52_thresholds_are_from_one_to_the_length(void **state)
{
	struct ct_ia *ia = *state;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		DAT_EVD_HANDLE evd = ct_evd(ia->ia, 8, DAT_HANDLE_NULL, kinds[i]);
		DAT_COUNT qlen = ct_evd_param(evd).evd_qlen, more;
		DAT_EVENT event;

		expect_arg(dat_evd_wait(evd, 0, 0, &event, &more), 3);
		expect_arg(dat_evd_wait(evd, 0, -1, &event, &more), 3);
		expect_arg(dat_evd_wait(evd, 0, qlen + 1, &event, &more), 3);
		expect_arg(dat_evd_wait(evd, 0, 0x7fffffff, &event, &more), 3);
		expect_exact(dat_evd_wait(evd, 0, 1, &event, &more), DAT_TIMEOUT_EXPIRED);
		/* EVD-53: no endpoint, so any of them. */
		expect_exact(dat_evd_wait(evd, 0, qlen, &event, &more), DAT_TIMEOUT_EXPIRED);
	}
}

static void evd_52_a_full_queue_reaches_the_highest_threshold(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = soft_evd(ia);
	DAT_COUNT qlen = ct_evd_param(evd).evd_qlen, more;
	DAT_EVENT event;

	for (DAT_COUNT i = 0; i < qlen; i++)
		expect_ok(ct_post_se(evd, (uintptr_t)i));
	expect_ok(dat_evd_wait(evd, 0, qlen, &event, &more));
	assert_int_equal(more, qlen - 1);
}

static void evd_62_pointers_are_checked(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = soft_evd(ia);
	DAT_EVENT event;
	DAT_COUNT more;

	expect_ok(ct_post_se(evd, 1));
	expect_arg(dat_evd_wait(evd, 0, 1, NULL, &more), 4);
	expect_arg(dat_evd_wait(evd, 0, 1, &event, NULL), 5);
	expect_ok(dat_evd_wait(evd, 0, 1, &event, &more));
	is_se(&event, evd, 1);
}

/* ---- Timeouts, measured ---- */

static void timed_out(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout)
{
	uint64_t start = ct_now_us();
	DAT_COUNT more = -1;
	DAT_EVENT event;

	expect_exact(dat_evd_wait(evd, timeout, 1, &event, &more), DAT_TIMEOUT_EXPIRED);
	ct_took(ct_now_us() - start, timeout);
	assert_int_equal(more, 0);
}

static void evd_49_no_timeout_never_blocks(void **state)
{
	struct ct_ia *ia = *state;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		DAT_EVD_HANDLE evd = ct_evd(ia->ia, 8, DAT_HANDLE_NULL, kinds[i]);
		uint64_t cpu = ct_thread_cpu_us();

		for (int n = 0; n < 50; n++)
			timed_out(evd, 0);
		assert_true(ct_thread_cpu_us() - cpu < CT_SLACK_US);
	}
	assert_int_equal(DAT_TIMEOUT_EXPIRED, 0x000f0000);
}

/* EVD-58 */
static void evd_51_timeouts_are_kept(void **state)
{
	static const DAT_TIMEOUT timeouts[] = { 1, 300, 999, 1000, 1500, 7900, 50000, 150000 };
	struct ct_ia *ia = *state;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		DAT_EVD_HANDLE evd = ct_evd(ia->ia, 8, DAT_HANDLE_NULL, kinds[i]);

		for (size_t n = 0; n < sizeof(timeouts) / sizeof(timeouts[0]); n++)
			timed_out(evd, timeouts[n]);
	}
}

static void evd_51_short_timeouts_are_short(void **state)
{
	struct ct_ia *ia = *state;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		DAT_EVD_HANDLE evd = ct_evd(ia->ia, 8, DAT_HANDLE_NULL, kinds[i]);
		uint64_t best = UINT64_MAX;

		/* A loaded machine delays some of them, never all of fifty. */
		for (int n = 0; n < 50; n++) {
			uint64_t start = ct_now_us();
			DAT_EVENT event;
			DAT_COUNT more;

			expect_exact(dat_evd_wait(evd, 2000, 1, &event, &more),
				     DAT_TIMEOUT_EXPIRED);
			if (ct_now_us() - start < best)
				best = ct_now_us() - start;
		}
		assert_in_range(best, 2000, 20000);
	}
}

/* Seven arrivals while a thread waits for eight; whether all of them came in its time. */
static bool wait_with_arrivals(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout)
{
	uint64_t begun = ct_now_us(), next = begun, last = begun;
	struct ct_waiter *waiter = ct_evd_waiter(evd, timeout, 8);

	for (uintptr_t n = 0; n < 7; n++) {
		expect_ok(ct_post_se(evd, n));
		last = ct_now_us();
		next += timeout / 8;
		while (ct_now_us() < next)
			ct_pause();
	}
	ct_waiter_join(waiter);
	expect_exact(waiter->rc, DAT_TIMEOUT_EXPIRED);
	ct_took(waiter->elapsed_us, timeout);
	/* EVD-48: nothing is removed. */
	for (uintptr_t n = 0; n < 7; n++)
		ct_take_se(evd, n);
	if (last - begun >= timeout)
		return false;
	/* EVD-48: the count is told. */
	assert_int_equal(waiter->more, 7);
	return true;
}

static void evd_51_wakeups_do_not_prolong_the_wait(void **state)
{
	DAT_EVD_HANDLE evd = soft_evd(*state);
	DAT_TIMEOUT timeout = 400000;

	/* A loaded machine may hold the arrivals up until the time is over. */
	while (!wait_with_arrivals(evd, timeout)) {
		timeout *= 2;
		assert_true(timeout < CT_US);
	}
}

static void evd_50_the_longest_waits(void **state)
{
	static const DAT_TIMEOUT timeouts[] = { DAT_TIMEOUT_INFINITE, 4294967294u, 0x80000000u,
						0x7fffffffu };
	struct ct_ia *ia = *state;
	struct ct_waiter *waiters[6][4];
	DAT_EVD_HANDLE evds[6][4];
	uint64_t until;

	for (int i = 0; i < 6; i++) {
		for (int n = 0; n < 4; n++) {
			evds[i][n] = ct_evd(ia->ia, 8, DAT_HANDLE_NULL, kinds[i]);
			waiters[i][n] = ct_evd_waiter(evds[i][n], timeouts[n], 1);
		}
	}
	until = ct_now_us() + 300000;
	while (ct_now_us() < until)
		ct_pause();
	for (int i = 0; i < 6; i++) {
		for (int n = 0; n < 4; n++) {
			assert_false(ct_waiter_done(waiters[i][n]));
			expect_ok(dat_evd_set_unwaitable(evds[i][n]));
			ct_waiter_join(waiters[i][n]);
			expect_state(waiters[i][n]->rc, EVD_UNWAITABLE);
		}
	}
}

/* ---- One waiter ---- */

/* EVD-19 */
static void evd_54_55_a_waiter_is_alone(void **state)
{
	struct ct_ia *ia = *state;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		DAT_EVD_HANDLE evd = ct_evd(ia->ia, 8, DAT_HANDLE_NULL, kinds[i]);
		struct ct_waiter *waiter = ct_evd_waiter(evd, DAT_TIMEOUT_INFINITE, 1);
		uint64_t start = ct_now_us();
		DAT_EVENT event;
		DAT_COUNT more;

		expect_state(dat_evd_wait(evd, 0, 1, &event, &more), EVD_WAITER);
		expect_state(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more), EVD_WAITER);
		expect_state(dat_evd_dequeue(evd, &event), EVD_WAITER);
		/* EVD-63 */
		expect_arg(dat_evd_wait(evd, 0, 0, &event, &more), 3);
		assert_true(ct_now_us() - start < CT_SLACK_US);
		assert_false(ct_waiter_done(waiter));
		expect_ok(dat_evd_set_unwaitable(evd));
		ct_waiter_join(waiter);
	}
}

static void evd_55_queued_events_stay_with_the_waiter(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = soft_evd(ia);
	struct ct_waiter *waiter = ct_evd_waiter(evd, DAT_TIMEOUT_INFINITE, 3);
	DAT_EVENT event;
	DAT_COUNT more;

	expect_ok(ct_post_se(evd, 1));
	expect_ok(ct_post_se(evd, 2));
	expect_state(dat_evd_dequeue(evd, &event), EVD_WAITER);
	expect_state(dat_evd_wait(evd, 0, 1, &event, &more), EVD_WAITER);
	expect_ok(ct_post_se(evd, 3));
	ct_waiter_join(waiter);
	expect_ok(waiter->rc);
	is_se(&waiter->event, evd, 1);
	assert_int_equal(waiter->more, 2);
}

enum {
	RACERS = 4,
	RACES = 300
};

struct race {
	DAT_EVD_HANDLE evd;
	atomic_int wrong;
};

/* Each wait ends with an event, with the refusal of a second waiter, or in time. */
static void *race_to_wait(void *arg)
{
	struct race *race = arg;
	DAT_EVENT event;
	DAT_COUNT more;

	for (int i = 0; i < RACES; i++) {
		DAT_RETURN rc = dat_evd_wait(race->evd, 200, 1, &event, &more);

		if (rc != DAT_SUCCESS && rc != DAT_TIMEOUT_EXPIRED &&
		    (DAT_GET_TYPE(rc) != DAT_INVALID_STATE ||
		     DAT_GET_SUBTYPE(rc) != DAT_INVALID_STATE_EVD_WAITER))
			atomic_fetch_add(&race->wrong, 1);
	}
	return NULL;
}

static void evd_7_threads_may_wait_at_once(void **state)
{
	struct ct_ia *ia = *state;
	struct race race = { .evd = soft_evd(ia) };
	pthread_t threads[RACERS];

	for (int i = 0; i < RACERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, race_to_wait, &race), 0);
	for (int i = 0; i < RACES; i++) {
		ct_post_se(race.evd, 1);
		expect_ok(dat_evd_enable(race.evd));
	}
	for (int i = 0; i < RACERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(atomic_load(&race.wrong), 0);
}

/* ---- CNO ---- */

static void evd_57_arrivals_for_a_waiter_do_not_trigger(void **state)
{
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE cno = ct_cno(ia->ia);
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 8, cno, DAT_EVD_SOFTWARE_FLAG);
	struct ct_waiter *waiter = ct_evd_waiter(evd, DAT_TIMEOUT_INFINITE, 3);
	DAT_EVD_HANDLE hint;

	expect_ok(ct_post_se(evd, 1));
	expect_ok(ct_post_se(evd, 2));
	expect_exact(dat_cno_wait(cno, 0, &hint), DAT_QUEUE_EMPTY);
	expect_ok(ct_post_se(evd, 3));
	ct_waiter_join(waiter);
	expect_ok(waiter->rc);
	/* What is left does not trigger afterwards. */
	expect_exact(dat_cno_wait(cno, 0, &hint), DAT_QUEUE_EMPTY);
	/* The next arrival does. */
	expect_ok(ct_post_se(evd, 4));
	expect_ok(dat_cno_wait(cno, 0, &hint));
	assert_ptr_equal(hint, evd);
}

/* ---- What else releases a waiter ---- */

static void evd_56_an_unwaitable_dispatcher_refuses(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = soft_evd(ia);
	DAT_EVENT event;
	DAT_COUNT more;

	expect_ok(ct_post_se(evd, 1));
	expect_ok(dat_evd_set_unwaitable(evd));
	expect_state(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more), EVD_UNWAITABLE);
	expect_state(dat_evd_wait(evd, 0, 1, &event, &more), EVD_UNWAITABLE);
	/* EVD-84 */
	expect_ok(dat_evd_clear_unwaitable(evd));
	expect_ok(dat_evd_wait(evd, 0, 1, &event, &more));
	is_se(&event, evd, 1);
}

/* EVD-58 */
static void evd_82_unwaitable_releases_without_an_event(void **state)
{
	struct ct_ia *ia = *state;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		DAT_EVD_HANDLE evd = ct_evd(ia->ia, 8, DAT_HANDLE_NULL, kinds[i]);
		struct ct_waiter *waiter = ct_evd_waiter(evd, DAT_TIMEOUT_INFINITE, 2);
		bool soft = (kinds[i] & DAT_EVD_SOFTWARE_FLAG) != 0;

		if (soft)
			expect_ok(ct_post_se(evd, 1));
		expect_ok(dat_evd_set_unwaitable(evd));
		ct_waiter_join(waiter);
		expect_state(waiter->rc, EVD_UNWAITABLE);
		if (soft)
			ct_take_se(evd, 1);
		ct_empty(evd);
	}
}

static void evd_86_clearing_at_once_does_not_swallow_the_release(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = soft_evd(ia);

	for (int i = 0; i < 50; i++) {
		struct ct_waiter *waiter = ct_evd_waiter(evd, DAT_TIMEOUT_INFINITE, 1);

		expect_ok(dat_evd_set_unwaitable(evd));
		expect_ok(dat_evd_clear_unwaitable(evd));
		ct_waiter_join(waiter);
		expect_state(waiter->rc, EVD_UNWAITABLE);
	}
	assert_int_equal(ct_evd_param(evd).evd_state & 0xc, DAT_EVD_STATE_WAITABLE);
}

/* EVD-58 */
static void evd_90_freeing_releases_with_abort(void **state)
{
	struct ct_ia *ia = *state;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		DAT_EVD_HANDLE evd = ct_evd(ia->ia, 8, DAT_HANDLE_NULL, kinds[i]);
		struct ct_waiter *waiter = ct_evd_waiter(evd, DAT_TIMEOUT_INFINITE, 2);

		expect_ok(dat_evd_free(evd));
		ct_waiter_join(waiter);
		expect_type(waiter->rc, DAT_ABORT);
		expect_handle(dat_evd_free(evd), EVD_REQUEST);
	}
}

static void evd_59_a_software_event_releases_at_once_whatever_the_streams(void **state)
{
	struct ct_ia *ia = *state;

	for (unsigned int set = 0; set < 32; set++) {
		unsigned int flags = DAT_EVD_SOFTWARE_FLAG;
		struct ct_waiter *waiter;
		DAT_EVD_HANDLE evd;

		flags |= (set << 4) & 0x1f0;
		evd = ct_evd(ia->ia, 8, DAT_HANDLE_NULL, (DAT_EVD_FLAGS)flags);
		waiter = ct_evd_waiter(evd, CT_US, 1);
		expect_ok(ct_post_se(evd, set));
		ct_waiter_join(waiter);
		expect_ok(waiter->rc);
		is_se(&waiter->event, evd, set);
		assert_true(waiter->elapsed_us < CT_US / 2);
		expect_ok(dat_evd_free(evd));
	}
}

/* ---- Signals ---- */

static atomic_int handled;

static void on_signal(int signo)
{
	(void)signo;
	atomic_fetch_add(&handled, 1);
}

static void handle_usr1(int flags)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_signal;
	action.sa_flags = flags;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	atomic_store(&handled, 0);
}

static void interrupt_each_kind(struct ct_ia *ia, DAT_TIMEOUT timeout)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		DAT_EVD_HANDLE evd = ct_evd(ia->ia, 8, DAT_HANDLE_NULL, kinds[i]);
		bool soft = (kinds[i] & DAT_EVD_SOFTWARE_FLAG) != 0;
		struct ct_waiter *waiter;

		if (soft)
			expect_ok(ct_post_se(evd, 1));
		waiter = ct_evd_waiter(evd, timeout, 2);
		ct_waiter_signal(waiter, SIGUSR1);
		ct_waiter_join(waiter);
		expect_type(waiter->rc, DAT_INTERRUPTED_CALL);
		assert_int_equal(waiter->more, soft ? 1 : 0);
		if (soft)
			ct_take_se(evd, 1);
		ct_empty(evd);
	}
	assert_int_equal(atomic_load(&handled), sizeof(kinds) / sizeof(kinds[0]));
}

/* EVD-58, EVD-61 */
static void evd_60_a_signal_interrupts_the_wait(void **state)
{
	handle_usr1(0);
	interrupt_each_kind(*state, DAT_TIMEOUT_INFINITE);
}

static void evd_60_a_signal_interrupts_the_wait_with_a_timeout(void **state)
{
	handle_usr1(0);
	interrupt_each_kind(*state, CT_US * 6);
}

static void evd_60_a_restarting_handler_interrupts_too(void **state)
{
	handle_usr1(SA_RESTART);
	interrupt_each_kind(*state, DAT_TIMEOUT_INFINITE);
}

static void evd_60_a_signal_interrupts_with_a_cno(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 8, ct_cno(ia->ia), DAT_EVD_DTO_FLAG);
	struct ct_waiter *waiter;

	handle_usr1(0);
	waiter = ct_evd_waiter(evd, DAT_TIMEOUT_INFINITE, 1);
	ct_waiter_signal(waiter, SIGUSR1);
	ct_waiter_join(waiter);
	expect_type(waiter->rc, DAT_INTERRUPTED_CALL);
}

static void evd_60_an_interrupted_dispatcher_works_on(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = soft_evd(ia);
	struct ct_waiter *waiter;

	handle_usr1(0);
	for (uintptr_t i = 0; i < 20; i++) {
		waiter = ct_evd_waiter(evd, DAT_TIMEOUT_INFINITE, 1);
		ct_waiter_signal(waiter, SIGUSR1);
		ct_waiter_join(waiter);
		expect_type(waiter->rc, DAT_INTERRUPTED_CALL);
		waiter = ct_evd_waiter(evd, DAT_TIMEOUT_INFINITE, 1);
		expect_ok(ct_post_se(evd, i));
		ct_waiter_join(waiter);
		expect_ok(waiter->rc);
		is_se(&waiter->event, evd, i);
	}
}

#define T(f) cmocka_unit_test_setup_teardown(f, ct_setup, ct_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(evd_45_enough_events_returns_at_once),
		T(evd_46_the_threshold_releases_not_the_first_event),
		T(evd_52_thresholds_are_from_one_to_the_length),
		T(evd_52_a_full_queue_reaches_the_highest_threshold),
		T(evd_62_pointers_are_checked),
		T(evd_49_no_timeout_never_blocks),
		T(evd_51_timeouts_are_kept),
		T(evd_51_short_timeouts_are_short),
		T(evd_51_wakeups_do_not_prolong_the_wait),
		T(evd_50_the_longest_waits),
		T(evd_54_55_a_waiter_is_alone),
		T(evd_55_queued_events_stay_with_the_waiter),
		T(evd_7_threads_may_wait_at_once),
		T(evd_57_arrivals_for_a_waiter_do_not_trigger),
		T(evd_56_an_unwaitable_dispatcher_refuses),
		T(evd_82_unwaitable_releases_without_an_event),
		T(evd_86_clearing_at_once_does_not_swallow_the_release),
		T(evd_90_freeing_releases_with_abort),
		T(evd_59_a_software_event_releases_at_once_whatever_the_streams),
		T(evd_60_a_signal_interrupts_the_wait),
		T(evd_60_a_signal_interrupts_the_wait_with_a_timeout),
		T(evd_60_a_restarting_handler_interrupts_too),
		T(evd_60_a_signal_interrupts_with_a_cno),
		T(evd_60_an_interrupted_dispatcher_works_on),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
