/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The software engine: threads that sleep in a queue, on words of the memory that its connections
 * share with their peers (dapl_cq_ops.sleep). No wake-up is lost, nobody is woken for nothing that
 * matters, and where it cannot be done that is told.
 */
#include "test/unit/soft_two.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "providers/soft/link/shm.h"

enum {
	ROUNDS = 20000,
	SECOND_NS = 1000000000,
	LONG = 2 << 20, /* more than a ring takes */
};

static const struct dapl_transport *const t = &dapl_module_transport;
static const struct end_options options = { .depth = 16, .sge = 1, .read_in = 4, .read_out = 4 };
static const struct end_options both_on_one = { .depth = 16, .sge = 1, .one_cq = true };
static struct end a, b;
static int64_t usual_link;
static uint32_t word;

/* The last steps of a connection's beginning, and of an end, follow their events. */
static void await_sleeps(struct tp_cq *cq)
{
	uint64_t deadline = now_ms() + DEADLINE_MS;

	while (!cq_sleeps(cq)) {
		assert_true(now_ms() < deadline);
		pause_ms(1);
	}
}

static int set_up(void **state)
{
	usual_link = soft_config.link;
	soft_config.link = SOFT_LINK_SHM;
	word = 0;
	two_set_up(state);
	pair(&a, &b, &options);
	await_sleeps(a.recv_cq);
	await_sleeps(b.recv_cq);
	return 0;
}

static int tear_down(void **state)
{
	unpair(&a, &b);
	two_tear_down(state);
	soft_config.link = usual_link;
	return 0;
}

/* One may be woken for nothing. */
static int sleep_for(struct tp_cq *cq, uint64_t ns)
{
	uint64_t deadline = dapl_now() + ns;
	int rc;

	do {
		arm_cq(cq, TP_ARM_SLEEPER);
		rc = t->cq->sleep(cq, &word, 0, deadline);
		disarm_cq(cq);
	} while (!rc && !word && cq_sleeps(cq));
	return rc;
}

/* The next completion, by sleeping; its EVD lock is the test's one thread. */
static struct tp_wc doze_wc(struct tp_cq *cq)
{
	uint64_t deadline = dapl_now() + 10ull * SECOND_NS;
	struct tp_wc wc;

	for (;;) {
		if (try_wc(cq, &wc))
			return wc;
		arm_cq(cq, TP_ARM_SLEEPER);
		if (!try_wc(cq, &wc)) {
			assert_int_not_equal(t->cq->sleep(cq, &word, 0, deadline), -ETIMEDOUT);
			disarm_cq(cq);
			continue;
		}
		disarm_cq(cq);
		return wc;
	}
}

/* ---- Who is woken, and by what ---- */

static void *answer(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < ROUNDS; i++) {
		assert_wc(doze_wc(b.recv_cq), i, SUCCESS);
		post_recv(&b, i + 8, in, 64, in_mr);
		post_send(&b, i, in, 8, in_mr, 0);
	}
	return NULL;
}

/* A lost wake-up would end it after ten seconds. */
static void ping_pong(void **state)
{
	pthread_t thread;

	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		post_recv(&a, i, out, 64, out_mr);
		post_recv(&b, i, in, 64, in_mr);
	}
	assert_int_equal(pthread_create(&thread, NULL, answer, NULL), 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		post_send(&a, i, out, 8, out_mr, 0);
		assert_wc(doze_wc(a.recv_cq), i, SUCCESS);
		post_recv(&a, i + 8, out, 64, out_mr);
	}
	pthread_join(thread, NULL);
}

static void *write_later(void *arg)
{
	pause_ms(50);
	__atomic_store_n((uint32_t *)arg, 1, __ATOMIC_SEQ_CST);
	t->cq->wake(b.recv_cq);
	return NULL;
}

/* By the core, which changes the word; by nobody. */
static void by_the_word(void **state)
{
	pthread_t thread;
	uint64_t start;

	(void)state;
	start = now_ms();
	assert_int_equal(sleep_for(b.recv_cq, SECOND_NS / 10), -ETIMEDOUT);
	assert_in_range(now_ms() - start, 99, 5000);
	assert_int_equal(pthread_create(&thread, NULL, write_later, &word), 0);
	assert_int_not_equal(sleep_for(b.recv_cq, 10ull * SECOND_NS), -ETIMEDOUT);
	pthread_join(thread, NULL);
	/* Changed before it slept. */
	assert_int_equal(sleep_for(b.recv_cq, 10ull * SECOND_NS), -EAGAIN);
}

/* As one of a peer who at once puts back what a waker changes. */
static uint32_t put_back;

static uint32_t *doze_on_put_back(struct soft_link *link, uint32_t events, uint32_t *seen)
{
	(void)link;
	(void)events;
	*seen = put_back;
	return &put_back;
}

static void rouse_in_vain(struct soft_link *link)
{
	(void)link;
}

static int set_class(void *class)
{
	soft_conn(b.conn)->link->class = class;
	return 0;
}

static void by_time_where_the_peer_puts_the_word_back(void **state)
{
	const struct soft_link_class *usual = soft_conn(b.conn)->link->class;
	struct soft_link_class hostile = *usual;
	pthread_t thread;
	int rc;

	(void)state;
	hostile.doze = doze_on_put_back;
	hostile.rouse = rouse_in_vain;
	soft_dev_call(soft_dev(right.dev), set_class, &hostile);
	assert_int_equal(pthread_create(&thread, NULL, write_later, &word), 0);
	rc = sleep_for(b.recv_cq, 30ull * SECOND_NS);
	pthread_join(thread, NULL);
	soft_dev_call(soft_dev(right.dev), set_class, (void *)(uintptr_t)usual);
	assert_int_not_equal(rc, -ETIMEDOUT);
	/* Nor does it take longer than it is given. */
	word = 0;
	assert_int_equal(sleep_for(b.recv_cq, SECOND_NS / 10), -ETIMEDOUT);
}

/* However close to its beginning. */
static void *change_often(void *arg)
{
	uint32_t *turn = arg;

	for (uint32_t i = 1; i <= ROUNDS; i++) {
		while (__atomic_load_n(turn, __ATOMIC_ACQUIRE) != i)
			;
		for (volatile unsigned j = 0; j < i % 600; j++)
			;
		__atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
		t->cq->wake(b.recv_cq);
	}
	return NULL;
}

static void by_the_word_at_once(void **state)
{
	uint32_t turn = 0;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, change_often, &turn), 0);
	arm_cq(b.recv_cq, TP_ARM_SLEEPER);
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		word = 0;
		__atomic_store_n(&turn, i, __ATOMIC_RELEASE);
		while (!__atomic_load_n(&word, __ATOMIC_ACQUIRE))
			assert_int_not_equal(
				t->cq->sleep(b.recv_cq, &word, 0, dapl_now() + 5ull * SECOND_NS),
				-ETIMEDOUT);
	}
	disarm_cq(b.recv_cq);
	pthread_join(thread, NULL);
}

static void nothing(int signal)
{
	(void)signal;
}

static void *interrupt(void *arg)
{
	pause_ms(50);
	pthread_kill(*(pthread_t *)arg, SIGUSR1);
	return NULL;
}

static void by_a_signal(void **state)
{
	struct sigaction action = { .sa_handler = nothing, .sa_flags = SA_RESTART };
	pthread_t thread, self = pthread_self();

	(void)state;
	sigaction(SIGUSR1, &action, NULL);
	assert_int_equal(pthread_create(&thread, NULL, interrupt, &self), 0);
	assert_int_equal(sleep_for(b.recv_cq, 10ull * SECOND_NS), -EINTR);
	pthread_join(thread, NULL);
}

/* What is there already: nobody sleeps. */
static void what_is_there(void **state)
{
	uint64_t start = now_ms();

	(void)state;
	post_recv(&b, 1, in, 64, in_mr);
	arm_cq(b.recv_cq, TP_ARM_SLEEPER);
	post_send(&a, 2, out, 8, out_mr, 0);
	t->cq->sleep(b.recv_cq, &word, 0, dapl_now() + 10ull * SECOND_NS);
	disarm_cq(b.recv_cq);
	assert_true(now_ms() - start < 5000);
	assert_wc(take_wc(b.recv_cq), 1, SUCCESS);
}

/* Ditto for one who was about to sleep when the peer cleared the word, and another set it again. */
static void what_another_has_seen(void **state)
{
	struct soft_link *link = soft_conn(b.conn)->link;
	uint32_t seen = 0, *at;
	bool changed;

	(void)state;
	/* The service thread would change it as well, and has: that goes with the first message. */
	dapl_loop_enter(b.qp->dev->loop);
	post_recv(&b, 1, in, 64, in_mr);
	post_send(&a, 2, out, 8, out_mr, 0);
	assert_wc(take_wc(b.recv_cq), 1, SUCCESS);
	post_recv(&b, 1, in, 64, in_mr);
	at = link->class->doze(link, EPOLLIN, &seen);
	assert_non_null(at);
	assert_int_equal(*at, seen);
	post_send(&a, 2, out, 8, out_mr, 0);
	link->class->doze(link, EPOLLIN, &(uint32_t){ 0 });
	changed = *at != seen;
	dapl_loop_leave(b.qp->dev->loop);
	assert_true(changed);
	assert_wc(take_wc(b.recv_cq), 1, SUCCESS);
}

/* Who sleeps for room is woken when there is some: nobody polls here but he. */
static void *receive_late(void *arg)
{
	(void)arg;
	pause_ms(50);
	assert_wc(doze_wc(b.recv_cq), 1, SUCCESS);
	return NULL;
}

static void by_room(void **state)
{
	pthread_t thread;

	(void)state;
	post_recv(&b, 1, in, LONG, in_mr);
	post_send(&a, 2, out, LONG, out_mr, TP_WR_SIGNALED);
	assert_int_equal(pthread_create(&thread, NULL, receive_late, NULL), 0);
	assert_wc(doze_wc(a.send_cq), 2, SUCCESS);
	pthread_join(thread, NULL);
	assert_memory_equal(in, out, LONG);
}

/* Ditto, where what is to be sent comes while he sleeps. */
static void *post_late(void *arg)
{
	(void)arg;
	pause_ms(50);
	post_send(&a, 2, out, LONG, out_mr, TP_WR_SIGNALED);
	pause_ms(50);
	post_recv(&b, 1, in, LONG, in_mr);
	assert_wc(doze_wc(b.recv_cq), 1, SUCCESS);
	return NULL;
}

static void by_room_for_another(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, post_late, NULL), 0);
	assert_wc(doze_wc(a.send_cq), 2, SUCCESS);
	pthread_join(thread, NULL);
	assert_memory_equal(in, out, LONG);
}

/* A second connection comes while somebody sleeps: he is woken, and told that he cannot do so. */
static void *connect_late(void *arg)
{
	struct end *late = arg;

	pause_ms(50);
	ends_connect(&late[0], &late[1]);
	return NULL;
}

static void by_one_that_comes(void **state)
{
	struct end late[2];
	pthread_t thread;
	uint64_t start = now_ms();

	(void)state;
	end_create(&late[0], &left, &options);
	end_create(&late[1], &right, &options);
	t->qp->destroy(late[1].qp);
	late[1].attr.recv_cq = b.recv_cq;
	assert_int_equal(t->qp->create(right.dev, &late[1].attr, &late[1], &late[1].qp), 0);
	assert_int_equal(pthread_create(&thread, NULL, connect_late, late), 0);
	sleep_for(b.recv_cq, 10ull * SECOND_NS);
	assert_true(now_ms() - start < 5000);
	pthread_join(thread, NULL);
	unpair(&late[0], &late[1]);
	await_sleeps(b.recv_cq);
}

static void *disconnect_late(void *arg)
{
	pause_ms(50);
	t->cm->disconnect(((struct end *)arg)->conn, false);
	return NULL;
}

/* The peer ends: what was posted comes back, and wakes. */
static void by_the_end(void **state)
{
	pthread_t thread;

	(void)state;
	post_recv(&b, 1, in, 64, in_mr);
	assert_int_equal(pthread_create(&thread, NULL, disconnect_late, &a), 0);
	/* It is cq_event that tells, to the core, who has the word. */
	while (true) {
		struct tp_wc wc;

		if (try_wc(b.recv_cq, &wc)) {
			assert_wc(wc, 1, FLUSHED);
			break;
		}
		sleep_for(b.recv_cq, SECOND_NS / 100);
	}
	pthread_join(thread, NULL);
	end_event(&b, TP_CONN_DISCONNECTED);
}

static int nothing_there(void *arg)
{
	(void)arg;
	return 0;
}

static void *kill_late(void *arg)
{
	pause_ms(50);
	shutdown(*(int *)arg, SHUT_RDWR);
	return NULL;
}

/* Ditto, and he has told nobody: his process is gone. */
static void by_his_death(void **state)
{
	int fd = soft_conn(a.conn)->link->fd;
	uint64_t start = now_ms();
	pthread_t thread;
	struct tp_wc wc;

	(void)state;
	post_recv(&b, 1, in, 64, in_mr);
	/* What was looked at here is his service thread's from now on. */
	soft_dev_call(soft_dev(left.dev), nothing_there, NULL);
	assert_int_equal(pthread_create(&thread, NULL, kill_late, &fd), 0);
	arm_cq(b.recv_cq, TP_ARM_SLEEPER);
	t->cq->sleep(b.recv_cq, &word, 0, dapl_now() + 10ull * SECOND_NS);
	disarm_cq(b.recv_cq);
	assert_true(now_ms() - start < 5000);
	while (!try_wc(b.recv_cq, &wc))
		sleep_for(b.recv_cq, SECOND_NS / 100);
	assert_wc(wc, 1, FLUSHED);
	pthread_join(thread, NULL);
	end_any_event(&b);
	end_any_event(&a);
}

/* ---- Where it is done ---- */

static void *send_some(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < 8; i++) {
		pause_ms(20);
		post_send(&a, i, out, 8, out_mr, 0);
	}
	return NULL;
}

/* Once the service thread leaves it to who sleeps, wake-ups do not go through the socket. */
static void not_by_the_socket(void **state)
{
	int fd = soft_conn(b.conn)->link->fd;
	struct tp_wc wc;
	unsigned bytes = 0;
	pthread_t thread;
	uint8_t byte;

	(void)state;
	for (unsigned i = 0; i < 8; i++)
		post_recv(&b, i, in, 64, in_mr);
	assert_int_equal(pthread_create(&thread, NULL, send_some, NULL), 0);
	arm_cq(b.recv_cq, TP_ARM_SLEEPER);
	for (unsigned i = 0; i < 8; i++) {
		while (!try_wc(b.recv_cq, &wc))
			t->cq->sleep(b.recv_cq, &word, 0, dapl_now() + 10ull * SECOND_NS);
		while (recv(fd, &byte, 1, MSG_DONTWAIT) == 1)
			bytes++;
	}
	assert_true(bytes < 8);
	disarm_cq(b.recv_cq);
	pthread_join(thread, NULL);
}

/* A queue with a connection over TCP has a descriptor to sleep on, and no words. */
static void not_with_tcp(void **state)
{
	struct end c, d;

	(void)state;
	soft_config.link = SOFT_LINK_TCP;
	pair(&c, &d, &both_on_one);
	for (uint64_t start = now_ms(); cq_sleeps(c.recv_cq); pause_ms(1))
		assert_true(now_ms() - start < DEADLINE_MS);
	assert_true(cq_sleeps(a.recv_cq));
	unpair(&c, &d);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(ping_pong),
		T(by_the_word),
		T(by_the_word_at_once),
		T(by_a_signal),
		T(what_is_there),
		T(what_another_has_seen),
		T(by_room),
		T(by_room_for_another),
		T(by_one_that_comes),
		T(by_the_end),
		T(by_his_death),
		T(not_by_the_socket),
		T(not_with_tcp),
		T(by_time_where_the_peer_puts_the_word_back),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	/* They choose themselves. */
	unsetenv("DAPL_SOFT_LINK");
	return cmocka_run_group_tests_name("tests", tests, NULL, NULL);
}
