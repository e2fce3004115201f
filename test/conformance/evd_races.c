/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completions that arrive at the worst moment: no wake-up is lost (EVD-46, CNO-6, CNO-9), nothing
 * is lost or doubled while a dispatcher is resized, moved between notification objects or made
 * unwaitable (EVD-75, EVD-37, EVD-82).
 */
#include "harness.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

enum {
	WINDOW = 8, /* receives posted ahead */
};

static int messages; /* of each test */

/* A thread that sends numbered messages, each at a moment of its own. */
struct sender {
	struct ct_ia *ia;
	struct ct_end a, p;
	pthread_t thread;
	bool running;
	bool follow;	    /* only as many messages as there are receives */
	atomic_int allowed; /* so many may be sent */
	atomic_int stop;
	_Atomic(DAT_RETURN) failed;
};

static void dawdle(unsigned int *seed)
{
	*seed = *seed * 1103515245u + 12345u;
	for (volatile unsigned int i = 0; i < (*seed >> 16) % 400; i++)
		;
}

static bool reap(struct sender *s, int *done)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(s->a.request, &event) == DAT_SUCCESS)
		++*done;
	return *done > 0;
}

static void *send_messages(void *arg)
{
	struct sender *s = arg;
	unsigned int seed = 1;
	int sent = 0, done = 0;

	while (sent < messages && !atomic_load(&s->stop)) {
		DAT_RETURN rc;

		if (sent >= atomic_load(&s->allowed)) {
			sched_yield();
			continue;
		}
		dawdle(&seed);
		rc = ct_post_send(&s->a, 0, 8, (uint64_t)sent, DAT_COMPLETION_DEFAULT_FLAG);
		if (rc == DAT_SUCCESS)
			sent++;
		else if (DAT_GET_TYPE(rc) != DAT_INSUFFICIENT_RESOURCES)
			break;
		reap(s, &done);
	}
	while (done < sent && !atomic_load(&s->stop))
		reap(s, &done);
	atomic_store(&s->failed, done == messages ? DAT_SUCCESS : DAT_INTERNAL_ERROR);
	return NULL;
}

static struct sender sender;

static struct sender *begin(struct ct_ia *ia, DAT_EVD_HANDLE recv)
{
	struct sender *s = &sender;

	memset(s, 0, sizeof(*s));
	s->ia = ia;
	s->p.recv = recv;
	ct_end_open(&s->a, ia->ia, NULL);
	ct_end_open(&s->p, ia->ia, NULL);
	ct_end_connect(&s->a, &s->p);
	for (uint64_t i = 0; i < WINDOW; i++)
		expect_ok(ct_post_recv(&s->p, i * 64, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
	assert_int_equal(pthread_create(&s->thread, NULL, send_messages, s), 0);
	s->running = true;
	return s;
}

/* A message came: the next in order. Another receive is posted for it. */
static void received(struct sender *s, const DAT_EVENT *event, int *count)
{
	uint64_t cookie = event->event_data.dto_completion_event_data.user_cookie.as_64;

	assert_int_equal(event->event_number, DAT_DTO_COMPLETION_EVENT);
	assert_int_equal(event->event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
	assert_int_equal(cookie, *count);
	++*count;
	expect_ok(ct_post_recv(&s->p, cookie % WINDOW * 64, 64, cookie + WINDOW,
			       DAT_COMPLETION_DEFAULT_FLAG));
	if (s->follow)
		atomic_store(&s->allowed, *count + WINDOW);
}

/* All messages may be sent, as far as the device lets them wait. */
static void allow_all(struct sender *s)
{
	s->follow = ct_receives_first(&s->ia->attr, &s->ia->prov);
	atomic_store(&s->allowed, s->follow ? WINDOW : messages);
}

static void join(struct sender *s)
{
	if (s->running)
		pthread_join(s->thread, NULL);
	s->running = false;
}

static void finish(struct sender *s, int count)
{
	atomic_store(&s->stop, count < messages);
	join(s);
	assert_int_equal(count, messages);
	expect_ok(atomic_load(&s->failed));
	ct_empty(s->p.recv);
}

static DAT_EVD_HANDLE dto_evd(struct ct_ia *ia, DAT_CNO_HANDLE cno)
{
	return ct_evd(ia->ia, 64, cno, DAT_EVD_DTO_FLAG);
}

/* ---- Waking ---- */

static void evd_46_no_wakeup_is_lost_one_by_one(void **state)
{
	struct ct_ia *ia = *state;
	struct sender *s = begin(ia, dto_evd(ia, DAT_HANDLE_NULL));
	DAT_RETURN rc = DAT_SUCCESS;
	DAT_EVENT event;
	DAT_COUNT more;
	int count = 0;

	/* The next message is sent about when the wait for it begins. */
	while (count < messages && rc == DAT_SUCCESS) {
		atomic_store(&s->allowed, count + 1);
		rc = dat_evd_wait(s->p.recv, CT_US, 1, &event, &more);
		if (rc == DAT_SUCCESS)
			received(s, &event, &count);
	}
	finish(s, count);
}

static void evd_46_no_wakeup_is_lost_with_a_threshold(void **state)
{
	struct ct_ia *ia = *state;
	struct sender *s = begin(ia, dto_evd(ia, DAT_HANDLE_NULL));
	DAT_RETURN rc = DAT_SUCCESS;
	DAT_EVENT event;
	DAT_COUNT more;
	int count = 0;

	while (count < messages && rc == DAT_SUCCESS) {
		int n = 1 + count % 4;

		if (n > messages - count)
			n = messages - count;
		atomic_store(&s->allowed, count + n);
		rc = dat_evd_wait(s->p.recv, CT_US, n, &event, &more);
		while (rc == DAT_SUCCESS && n-- > 0) {
			received(s, &event, &count);
			if (n > 0)
				rc = dat_evd_dequeue(s->p.recv, &event);
		}
	}
	finish(s, count);
}

static void evd_48_short_waits_lose_nothing(void **state)
{
	struct ct_ia *ia = *state;
	struct sender *s = begin(ia, dto_evd(ia, DAT_HANDLE_NULL));
	uint64_t deadline = ct_now_us() + 3 * CT_US;
	DAT_EVENT event;
	DAT_COUNT more;
	int count = 0;

	while (count < messages && ct_now_us() < deadline) {
		DAT_RETURN rc;

		atomic_store(&s->allowed, count + 1);
		rc = dat_evd_wait(s->p.recv, (DAT_TIMEOUT)(count % 50), 1, &event, &more);
		if (rc == DAT_SUCCESS)
			received(s, &event, &count);
		else if (rc != DAT_TIMEOUT_EXPIRED)
			break;
	}
	finish(s, count);
}

static void cno_6_no_wakeup_is_lost_with_completions(void **state)
{
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE cno = ct_cno(ia->ia);
	struct sender *s = begin(ia, dto_evd(ia, cno));
	DAT_RETURN rc = DAT_SUCCESS;
	DAT_EVD_HANDLE hint;
	DAT_EVENT event;
	int count = 0;

	while (count < messages && rc == DAT_SUCCESS) {
		while (dat_evd_dequeue(s->p.recv, &event) == DAT_SUCCESS)
			received(s, &event, &count);
		atomic_store(&s->allowed, count + 1);
		if (count < messages)
			rc = dat_cno_wait(cno, CT_US, &hint);
	}
	finish(s, count);
}

/* What comes at the end of a wait is told by that, or by the CNO. */
static void cno_6_no_wakeup_is_lost_behind_a_timeout(void **state)
{
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE cno = ct_cno(ia->ia);
	struct sender *s = begin(ia, dto_evd(ia, cno));
	DAT_RETURN rc = DAT_SUCCESS;
	DAT_EVD_HANDLE hint;
	DAT_EVENT event;
	DAT_COUNT more;
	int count = 0;

	while (count < messages && (rc == DAT_SUCCESS || DAT_GET_TYPE(rc) == DAT_TIMEOUT_EXPIRED)) {
		atomic_store(&s->allowed, count + 1);
		rc = dat_evd_wait(s->p.recv, (DAT_TIMEOUT)(count % 50), 1, &event, &more);
		if (rc == DAT_SUCCESS) {
			received(s, &event, &count);
			continue;
		}
		if (!more && dat_cno_wait(cno, CT_US, &hint) != DAT_SUCCESS)
			break;
		while (dat_evd_dequeue(s->p.recv, &event) == DAT_SUCCESS)
			received(s, &event, &count);
	}
	finish(s, count);
}

static void cno_9_no_readiness_is_lost(void **state)
{
	struct ct_ia *ia = *state;
	struct pollfd pfd = { .events = POLLIN };
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE hint;
	struct sender *s;
	DAT_EVENT event;
	int count = 0, ready = 1;

	expect_ok(dat_cno_fd_create(ia->ia, &pfd.fd, &cno));
	s = begin(ia, dto_evd(ia, cno));
	while (count < messages && ready == 1) {
		while (dat_evd_dequeue(s->p.recv, &event) == DAT_SUCCESS)
			received(s, &event, &count);
		atomic_store(&s->allowed, count + 1);
		if (count == messages)
			break;
		ready = poll(&pfd, 1, CT_MS);
		expect_ok(dat_cno_trigger(cno, &hint));
	}
	finish(s, count);
}

/* EVD-44 */
static void evd_41_enabling_under_traffic(void **state)
{
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE cno = ct_cno(ia->ia);
	struct sender *s = begin(ia, dto_evd(ia, cno));
	DAT_RETURN rc = DAT_SUCCESS;
	DAT_EVD_HANDLE hint;
	DAT_EVENT event;
	int count = 0;

	/* The pattern that CNO-6 promises to work: enable, drain, then wait. */
	while (count < messages && rc == DAT_SUCCESS) {
		expect_ok(dat_evd_disable(s->p.recv));
		atomic_store(&s->allowed, count + 1);
		expect_ok(dat_evd_enable(s->p.recv));
		if (dat_evd_dequeue(s->p.recv, &event) == DAT_SUCCESS) {
			received(s, &event, &count);
			continue;
		}
		rc = dat_cno_wait(cno, CT_US, &hint);
	}
	finish(s, count);
}

/* ---- Changing the dispatcher under traffic ---- */

static void evd_75_resizing_under_traffic(void **state)
{
	static const DAT_COUNT sizes[] = { 64, 200, 9, 500, 16, 1000 };
	struct ct_ia *ia = *state;
	struct sender *s = begin(ia, dto_evd(ia, DAT_HANDLE_NULL));
	uint64_t deadline = ct_now_us() + 3 * CT_US;
	DAT_EVENT event;
	int count = 0;

	allow_all(s);
	for (int i = 0; count < messages && ct_now_us() < deadline; i++) {
		DAT_RETURN rc = dat_evd_resize(s->p.recv, sizes[i % 6]);

		/* EVD-77: not below what is queued. */
		if (rc != DAT_SUCCESS)
			expect_type(rc, DAT_INVALID_STATE);
		while (dat_evd_dequeue(s->p.recv, &event) == DAT_SUCCESS)
			received(s, &event, &count);
	}
	finish(s, count);
	ct_empty(ia->async);
}

static void evd_37_moving_between_cnos_under_traffic(void **state)
{
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE cnos[3] = { ct_cno(ia->ia), ct_cno(ia->ia), DAT_HANDLE_NULL };
	struct sender *s = begin(ia, dto_evd(ia, DAT_HANDLE_NULL));
	DAT_RETURN rc = DAT_SUCCESS;
	DAT_EVD_HANDLE hint;
	DAT_EVENT event;
	int count = 0;

	for (int i = 0; count < messages && rc == DAT_SUCCESS; i++) {
		expect_ok(dat_evd_modify_cno(s->p.recv, cnos[i % 3]));
		/* EVD-38: drained once after the move. */
		while (dat_evd_dequeue(s->p.recv, &event) == DAT_SUCCESS)
			received(s, &event, &count);
		atomic_store(&s->allowed, count + 1);
		if (count < messages && cnos[i % 3] != DAT_HANDLE_NULL)
			rc = dat_cno_wait(cnos[i % 3], CT_US, &hint);
	}
	finish(s, count);
}

struct waiter_loop {
	DAT_EVD_HANDLE evd;
	atomic_int stop, releases, wrong;
};

static void *release_often(void *arg)
{
	struct waiter_loop *loop = arg;

	while (!atomic_load(&loop->stop)) {
		dat_evd_set_unwaitable(loop->evd);
		dat_evd_clear_unwaitable(loop->evd);
		sched_yield();
	}
	return NULL;
}

static void evd_82_releases_lose_no_completion(void **state)
{
	struct ct_ia *ia = *state;
	struct sender *s = begin(ia, dto_evd(ia, DAT_HANDLE_NULL));
	struct waiter_loop loop = { .evd = s->p.recv };
	uint64_t deadline = ct_now_us() + 3 * CT_US;
	pthread_t thread;
	DAT_EVENT event;
	DAT_COUNT more;
	int count = 0;

	assert_int_equal(pthread_create(&thread, NULL, release_often, &loop), 0);
	while (count < messages && ct_now_us() < deadline) {
		DAT_RETURN rc;

		atomic_store(&s->allowed, count + 1);
		rc = dat_evd_wait(s->p.recv, CT_US, 1, &event, &more);
		if (rc == DAT_SUCCESS)
			received(s, &event, &count);
		else if (DAT_GET_TYPE(rc) != DAT_INVALID_STATE)
			break;
	}
	atomic_store(&loop.stop, 1);
	pthread_join(thread, NULL);
	finish(s, count);
}

static void evd_59_software_events_among_completions(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd =
		ct_evd(ia->ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG);
	struct sender *s = begin(ia, evd);
	int count = 0, posted = 0, taken = 0;
	DAT_RETURN rc = DAT_SUCCESS;
	DAT_EVENT event;
	DAT_COUNT more;

	allow_all(s);
	while ((count < messages || taken < posted) && rc == DAT_SUCCESS) {
		if (posted - taken < 4 && count < messages)
			expect_ok(ct_post_se(evd, (uintptr_t)posted++));
		rc = dat_evd_wait(evd, CT_US, 1, &event, &more);
		if (rc != DAT_SUCCESS)
			break;
		if (event.event_number == DAT_SOFTWARE_EVENT)
			assert_int_equal((uintptr_t)event.event_data.software_event_data.pointer,
					 taken++);
		else
			received(s, &event, &count);
	}
	assert_int_equal(taken, posted);
	finish(s, count);
}

/* A test that failed midway has left its thread behind. */
static int teardown(void **state)
{
	atomic_store(&sender.stop, 1);
	join(&sender);
	return ct_teardown(state);
}

#define T(f) cmocka_unit_test_setup_teardown(f, ct_setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(evd_46_no_wakeup_is_lost_one_by_one),
		T(evd_46_no_wakeup_is_lost_with_a_threshold),
		T(evd_48_short_waits_lose_nothing),
		T(cno_6_no_wakeup_is_lost_with_completions),
		T(cno_6_no_wakeup_is_lost_behind_a_timeout),
		T(cno_9_no_readiness_is_lost),
		T(evd_41_enabling_under_traffic),
		T(evd_75_resizing_under_traffic),
		T(evd_37_moving_between_cnos_under_traffic),
		T(evd_82_releases_lose_no_completion),
		T(evd_59_software_events_among_completions),
	};

	messages = (int)harness_rounds(1500);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
