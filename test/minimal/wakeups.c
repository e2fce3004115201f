/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Waits, triggers and frees against each other: no wake-up is lost, no event comes twice. */
#include "test/minimal/rig.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "dapl/event/evd.h"

static pthread_t spawn(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, run, arg), 0);
	return thread;
}

static DAT_EVD_HANDLE software_evd(struct rig *rig, DAT_COUNT qlen, DAT_CNO_HANDLE cno)
{
	return ct_evd(rig->ia.ia, qlen, cno, DAT_EVD_SOFTWARE_FLAG);
}

/* ---- Posting ---- */

struct producer {
	DAT_EVD_HANDLE evd[2];
	uintptr_t count;
	atomic_uint full; /* how often there was no room */
};

/* Posts the numbers from 1 on, in turn to both dispatchers. */
static void *produce(void *arg)
{
	struct producer *p = arg;
	uintptr_t i = 1;

	while (i <= p->count) {
		if (ct_post_se(p->evd[i & 1], i) == DAT_SUCCESS)
			i++;
		else if (!(atomic_fetch_add(&p->full, 1) % 64))
			ct_pause();
	}
	return NULL;
}

/* ---- CNO-6 ---- */

/* Whoever finds all dispatchers empty and then waits is woken by whatever comes. */
static uintptr_t drain_both(struct producer *p, uintptr_t last[2])
{
	uintptr_t taken = 0, value;
	DAT_EVENT event;
	int i;

	for (i = 0; i < 2; i++)
		while (dat_evd_dequeue(p->evd[i], &event) == DAT_SUCCESS) {
			value = (uintptr_t)event.event_data.software_event_data.pointer;
			assert_true(value > last[i]);
			last[i] = value;
			taken++;
		}
	return taken;
}

static void no_trigger_is_lost(void **state)
{
	struct rig *rig = *state;
	DAT_CNO_HANDLE cno = ct_cno(rig->ia.ia);
	struct producer p = { .evd = { software_evd(rig, 4, cno), software_evd(rig, 4, cno) },
			      .count = 5000 };
	uintptr_t taken = 0, last[2] = { 0, 0 };
	pthread_t thread = spawn(produce, &p);
	DAT_EVD_HANDLE hint;

	while ((taken += drain_both(&p, last)) < p.count)
		expect_ok(dat_cno_wait(cno, CT_US, &hint));
	pthread_join(thread, NULL);
	assert_int_equal(drain_both(&p, last), 0);
}

struct sharer {
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	atomic_uintptr_t *taken;
	uintptr_t count;
	DAT_RETURN bad;
};

static void *take_turns(void *arg)
{
	struct sharer *s = arg;
	DAT_EVD_HANDLE hint;
	DAT_EVENT event;
	DAT_RETURN rc;

	while (atomic_load(s->taken) < s->count) {
		/* A timeout is all right here: somebody else may have had the trigger. */
		rc = dat_cno_wait(s->cno, 2000, &hint);
		if (rc && DAT_GET_TYPE(rc) != DAT_QUEUE_EMPTY)
			s->bad = rc;
		while (dat_evd_dequeue(s->evd, &event) == DAT_SUCCESS)
			atomic_fetch_add(s->taken, 1);
	}
	return NULL;
}

/* EVD-13, CNO-26: several on one CNO and one dispatcher; each event goes to one of them. */
static void many_share_one_cno(void **state)
{
	struct rig *rig = *state;
	DAT_CNO_HANDLE cno = ct_cno(rig->ia.ia);
	DAT_EVD_HANDLE evd = software_evd(rig, 16, cno);
	struct producer p = { .evd = { evd, evd }, .count = 3000 };
	atomic_uintptr_t taken = 0;
	struct sharer sharers[3];
	pthread_t threads[3], producer;
	int i;

	for (i = 0; i < 3; i++) {
		sharers[i] = (struct sharer){
			.cno = cno, .evd = evd, .taken = &taken, .count = p.count
		};
		threads[i] = spawn(take_turns, &sharers[i]);
	}
	producer = spawn(produce, &p);
	pthread_join(producer, NULL);
	for (i = 0; i < 3; i++) {
		pthread_join(threads[i], NULL);
		expect_ok(sharers[i].bad);
	}
	assert_int_equal(atomic_load(&taken), p.count);
	ct_empty(evd);
}

/* ---- dat_evd_wait ---- */

struct waiter {
	DAT_EVD_HANDLE evd;
	uintptr_t count, taken, last;
	unsigned int released; /* by dat_evd_set_unwaitable */
	DAT_RETURN bad;
};

/* Takes numbers in their order until count of them were there, by waits of all kinds. */
static void *wait_for_all(void *arg)
{
	struct waiter *w = arg;
	uintptr_t value;
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_RETURN rc;

	while (w->taken < w->count) {
		rc = dat_evd_wait(w->evd, w->taken % 3 ? CT_US : 300, w->taken % 5 ? 1 : 2, &event,
				  &more);
		if (DAT_GET_TYPE(rc) == DAT_INVALID_STATE) {
			w->released++;
			continue;
		}
		if (DAT_GET_TYPE(rc) == DAT_TIMEOUT_EXPIRED)
			rc = dat_evd_dequeue(w->evd, &event);
		if (DAT_GET_TYPE(rc) == DAT_QUEUE_EMPTY)
			continue;
		value = (uintptr_t)event.event_data.software_event_data.pointer;
		if (rc || value != w->last + 1) {
			w->bad = rc ? rc : DAT_INTERNAL_ERROR;
			break;
		}
		w->last = value;
		w->taken++;
	}
	return NULL;
}

/* Everything that may be done to a dispatcher while somebody waits on it. */
static void a_waiter_is_disturbed_in_every_way(void **state)
{
	struct rig *rig = *state;
	DAT_CNO_HANDLE cno = ct_cno(rig->ia.ia);
	DAT_EVD_HANDLE evd = software_evd(rig, 8, cno), hint;
	struct producer p = { .evd = { evd, evd }, .count = 3000 };
	struct waiter w = { .evd = evd, .count = p.count };
	pthread_t waiter = spawn(wait_for_all, &w), producer = spawn(produce, &p);
	int i;

	for (i = 0; i < 300; i++) {
		expect_ok(dat_evd_disable(evd));
		expect_ok(dat_evd_modify_cno(evd, i & 1 ? cno : DAT_HANDLE_NULL));
		expect_ok(dat_evd_enable(evd));
		expect_ok(dat_evd_set_unwaitable(evd));
		expect_ok(dat_evd_clear_unwaitable(evd));
		dat_evd_resize(evd, 8 + i % 5); /* refused while somebody waits */
		expect_ok(dat_cno_trigger(cno, &hint));
		ct_evd_param(evd);
		if (!(i % 16))
			ct_pause();
	}
	pthread_join(producer, NULL);
	/* A threshold of 2 may be left with one event: it times out and is dequeued. */
	pthread_join(waiter, NULL);
	expect_ok(w.bad);
	assert_int_equal(w.last, p.count);
	ct_empty(evd);
}

/* The same where completions come from the transport and the waiter sleeps on its queue. */
static void completions_wake_a_waiter_each(void **state)
{
	struct rig *rig = *state;
	struct ct_waiter *waiter;
	uint64_t i;

	for (i = 0; i < 100; i++) {
		expect_ok(ct_post_recv(&rig->b, 0, 8, i, 0));
		waiter = ct_evd_waiter(rig->b.recv, DAT_TIMEOUT_INFINITE, 1);
		expect_ok(ct_post_send(&rig->a, 0, 8, i, 0));
		ct_waiter_join(waiter);
		expect_ok(waiter->rc);
		assert_int_equal(
			waiter->event.event_data.dto_completion_event_data.user_cookie.as_64, i);
		ct_completion(rig->a.request, i, DAT_DTO_SUCCESS);
	}
}

static int torn[2];

static int torn_fd(struct tp_cq *cq)
{
	(void)cq;
	return torn[1];
}

/* As of a device that was torn away: its descriptor polls as an error from then on. */
static void a_torn_queue_lets_its_waiter_sleep(void **state)
{
	struct rig *rig = *state;
	struct dapl_evd *evd = rig->b.recv;
	const struct dapl_cq_ops *kept = evd->cq->ops;
	uint64_t cpu = ct_process_cpu_us();
	static struct dapl_cq_ops ops;
	struct ct_waiter *waiter;
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_RETURN rc;

	assert_int_equal(pipe(torn), 0);
	close(torn[0]);
	ops = *kept;
	ops.fd = torn_fd;
	evd->cq->ops = &ops;
	rc = dat_evd_wait(evd, 200000, 1, &event, &more);
	cpu = ct_process_cpu_us() - cpu;
	waiter = ct_evd_waiter(evd, DAT_TIMEOUT_INFINITE, 1);
	expect_ok(dat_evd_set_unwaitable(evd));
	ct_waiter_join(waiter);
	evd->cq->ops = kept;
	close(torn[1]);
	expect_type(rc, DAT_TIMEOUT_EXPIRED);
	assert_true(cpu < 100000);
	expect_state(waiter->rc, EVD_UNWAITABLE);
}

struct sender {
	struct rig *rig;
	uint64_t count;
	DAT_RETURN bad;
};

static void *send_all(void *arg)
{
	struct sender *s = arg;
	DAT_EVENT event;
	DAT_RETURN rc;
	uint64_t i;

	for (i = 0; i < s->count && !s->bad; i++) {
		do {
			while (dat_evd_dequeue(s->rig->a.request, &event) == DAT_SUCCESS)
				;
			rc = ct_post_send(&s->rig->a, 0, 8, i, 0);
		} while (DAT_GET_TYPE(rc) == DAT_INSUFFICIENT_RESOURCES);
		s->bad = rc;
	}
	return NULL;
}

/* CNO-6 for completions: the loop's look is what triggers. */
static void completions_lose_no_trigger(void **state)
{
	struct rig *rig = *state;
	DAT_CNO_HANDLE cno = ct_cno(rig->ib.ia);
	struct sender s = { .rig = rig, .count = 2000 };
	uint64_t taken = 0, posted = 0;
	DAT_EVD_HANDLE hint;
	pthread_t thread;
	DAT_EVENT event;

	expect_ok(dat_evd_modify_cno(rig->b.recv, cno));
	thread = spawn(send_all, &s);
	while (taken < s.count) {
		while (posted < s.count && ct_post_recv(&rig->b, 0, 8, posted, 0) == DAT_SUCCESS)
			posted++;
		expect_ok(dat_cno_wait(cno, CT_US, &hint));
		while (dat_evd_dequeue(rig->b.recv, &event) == DAT_SUCCESS) {
			assert_int_equal(
				event.event_data.dto_completion_event_data.user_cookie.as_64,
				taken);
			taken++;
		}
		if (taken < s.count && !(taken % 7))
			expect_ok(dat_evd_modify_cno(rig->b.recv, cno));
	}
	pthread_join(thread, NULL);
	expect_ok(s.bad);
}

/* ---- Frees ---- */

struct loiterer {
	DAT_EVD_HANDLE evd;
	DAT_CNO_HANDLE cno;
	atomic_uint calls;
	DAT_RETURN last;
};

static void *loiter(void *arg)
{
	struct loiterer *l = arg;
	DAT_EVD_HANDLE hint;
	DAT_EVENT event;
	DAT_COUNT more;

	do {
		l->last = l->evd ? dat_evd_wait(l->evd, 50, 1, &event, &more)
				 : dat_cno_wait(l->cno, 50, &hint);
		atomic_fetch_add(&l->calls, 1);
	} while (DAT_GET_TYPE(l->last) == DAT_TIMEOUT_EXPIRED ||
		 DAT_GET_TYPE(l->last) == DAT_QUEUE_EMPTY);
	return NULL;
}

/* EVD-90: the waiter may be inside, or just going in. */
static void a_dispatcher_is_freed_under_its_waiter(void **state)
{
	struct rig *rig = *state;
	int round;

	for (round = 0; round < 300; round++) {
		struct loiterer l = { .evd = round & 1 ? software_evd(rig, 4, NULL)
						       : ct_evd(rig->ia.ia, 4, DAT_HANDLE_NULL,
								DAT_EVD_DTO_FLAG) };
		pthread_t thread = spawn(loiter, &l);

		while (atomic_load(&l.calls) < (unsigned int)round % 4)
			ct_pause();
		expect_ok(dat_evd_free(l.evd));
		pthread_join(thread, NULL);
		assert_true(DAT_GET_TYPE(l.last) == DAT_ABORT ||
			    DAT_GET_TYPE(l.last) == DAT_INVALID_HANDLE);
	}
}

/* IA-87, also for threads that are only about to wait. */
static void an_ia_closes_under_its_waiters(void **state)
{
	int round;

	(void)state;
	for (round = 0; round < 100; round++) {
		struct loiterer on_evd = { .last = 0 }, on_cno = { .last = 0 };
		pthread_t threads[2];
		struct ct_ia ia;

		ct_open(&ia);
		on_cno.cno = ct_cno(ia.ia);
		on_evd.evd = ct_evd(ia.ia, 4, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG);
		threads[0] = spawn(loiter, &on_evd);
		threads[1] = spawn(loiter, &on_cno);
		while (atomic_load(&on_cno.calls) < (unsigned int)round % 3)
			ct_pause();
		ct_close(&ia);
		pthread_join(threads[0], NULL);
		pthread_join(threads[1], NULL);
		assert_true(DAT_GET_TYPE(on_evd.last) == DAT_ABORT ||
			    DAT_GET_TYPE(on_evd.last) == DAT_INVALID_HANDLE);
		assert_true(!on_cno.last || DAT_GET_TYPE(on_cno.last) == DAT_INVALID_HANDLE);
	}
}

static void *free_cno(void *arg)
{
	DAT_CNO_HANDLE cno = arg;
	DAT_RETURN rc;

	while (DAT_GET_TYPE(rc = dat_cno_free(cno)) == DAT_INVALID_STATE)
		;
	return rc ? arg : NULL;
}

/* CNO-31 against CNO-34: the CNO may go as soon as its last dispatcher has. */
static void a_cno_is_freed_behind_its_last_dispatcher(void **state)
{
	struct rig *rig = *state;
	int round;

	for (round = 0; round < 300; round++) {
		DAT_CNO_HANDLE cno = ct_cno(rig->ia.ia);
		DAT_EVD_HANDLE evd = software_evd(rig, 4, cno);
		pthread_t thread = spawn(free_cno, cno);
		void *failed;

		expect_ok(dat_evd_free(evd));
		pthread_join(thread, &failed);
		assert_null(failed);
	}
}

/* The loop is to look at the completions of a dispatcher that goes meanwhile. */
static void a_dispatcher_is_freed_before_the_loop_looks(void **state)
{
	struct rig *rig = *state;
	DAT_CNO_HANDLE cno = ct_cno(rig->ib.ia);
	int round;

	for (round = 0; round < 150; round++) {
		struct ct_end b = { .recv = ct_evd(rig->ib.ia, 64, cno, DAT_EVD_DTO_FLAG) };

		ct_end_open(&b, rig->ib.ia, NULL);
		ct_end_connect(&rig->a, &b);
		expect_ok(ct_post_recv(&b, 0, 8, 1, 0));
		expect_ok(ct_post_send(&rig->a, 0, 8, 1, 0));
		ct_end_close(&b);
		rig_conn_event(&rig->a, DAT_CONNECTION_EVENT_DISCONNECTED);
		ct_drain(rig->a.request);
		expect_ok(dat_ep_reset(rig->a.ep));
	}
}

/* ---- Polling ---- */

/* What the loop fills is polled without a word to the loop; with the lock taken this would stand.
 */
static void an_empty_dispatcher_is_polled_without_its_lock(void **state)
{
	struct rig *rig = *state;
	DAT_EVD_HANDLE handle = software_evd(rig, 4, DAT_HANDLE_NULL);
	struct dapl_evd *evd = handle;
	DAT_EVENT event;

	assert_true(dapl_trylock(&evd->obj.lock));
	expect_type(dat_evd_dequeue(handle, &event), DAT_QUEUE_EMPTY);
	assert_true(dapl_tryunlock(&evd->obj.lock));
	expect_ok(ct_post_se(handle, 7));
	expect_ok(dat_evd_dequeue(handle, &event));
	assert_int_equal((uintptr_t)event.event_data.software_event_data.pointer, 7);
	assert_true(dapl_trylock(&evd->obj.lock));
	expect_type(dat_evd_dequeue(handle, &event), DAT_QUEUE_EMPTY);
	assert_true(dapl_tryunlock(&evd->obj.lock));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		RIG_TEST(no_trigger_is_lost),
		RIG_TEST(many_share_one_cno),
		RIG_TEST(a_waiter_is_disturbed_in_every_way),
		RIG_CONNECTED(completions_wake_a_waiter_each),
		RIG_CONNECTED(a_torn_queue_lets_its_waiter_sleep),
		RIG_CONNECTED(completions_lose_no_trigger),
		RIG_TEST(a_dispatcher_is_freed_under_its_waiter),
		RIG_TEST(a_dispatcher_is_freed_before_the_loop_looks),
		cmocka_unit_test(an_ia_closes_under_its_waiters),
		RIG_TEST(a_cno_is_freed_behind_its_last_dispatcher),
		RIG_TEST(an_empty_dispatcher_is_polled_without_its_lock),
	};

	rig_main();
	return harness_run(tests, RIG_NUM_OF(tests));
}
