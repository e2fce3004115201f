/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The software engine: which of a queue's connections a poll looks at. */
#include "test/unit/soft_two.h"

#include <unistd.h>

enum {
	MANY = 20,     /* more than are always polled */
	TOO_MANY = 80, /* than are polled in turn */
	IN_TURN = 64,  /* and looked at by one poll */
	CROWD = 200,
	IDLE = 3000, /* polls until nothing came for long */
	ROUNDS = 40,
	SOCKETS = 16, /* two polls look at them all, and each 16th for room */
};

static const struct end_options options = { .depth = 4, .sge = 1, .read_in = 1, .read_out = 1 };
static struct end from[CROWD], to[CROWD];
static struct soft_cq *cq;
static unsigned num;

/* So many connections feed one queue, and nothing comes. */
static void connect_all(unsigned many)
{
	struct end_options fed = options;

	new_cq(right.dev, 256, &to[0], &fed.recv_cq);
	cq = container_of(fed.recv_cq, struct soft_cq, base);
	for (num = 0; num < many; num++) {
		end_create(&from[num], &left, &options);
		end_create(&to[num], &right, &fed);
		ends_connect(&from[num], &to[num]);
	}
}

static void disconnect_down_to(unsigned few)
{
	while (num > few) {
		num--;
		unpair(&from[num], &to[num]);
	}
}

static void disconnect_all(void)
{
	disconnect_down_to(0);
	free_cq(&cq->base);
}

/* How many polls it takes to find the message of one of them. */
static unsigned polls_for(unsigned which)
{
	unsigned polls = 0;
	struct tp_wc wc;

	post_recv(&to[which], which, in, 8, in_mr);
	post_send(&from[which], 0, out, 8, out_mr, TP_WR_SIGNALED);
	assert_wc(take_wc(from[which].send_cq), 0, SUCCESS);
	do
		polls++;
	while (!try_wc(&cq->base, &wc) && polls < 100000000);
	assert_wc(wc, which, SUCCESS);
	return polls;
}

/* In most rounds so many do: the service thread may drive a connection just then. */
static void assert_found_within(unsigned polls)
{
	unsigned late = 0;

	for (unsigned i = 0; i < ROUNDS; i++)
		late += polls_for(i * 7 % num) > polls;
	assert_true(late < ROUNDS / 2);
}

struct where {
	unsigned always, in_turn, left;
};

static bool are_there(const struct where *where)
{
	struct soft_member *member;
	unsigned found[3] = { 0 };
	uint32_t calm, left_to_set;

	dapl_lock(cq->base.lock);
	list_for_each(member, &cq->members, node)
		found[atomic_load(&member->polled)]++;
	calm = cq->num_calm;
	left_to_set = cq->num_left;
	dapl_unlock(cq->base.lock);
	assert_int_equal(calm, found[SOFT_POLLED_IN_TURN]);
	assert_int_equal(left_to_set, found[SOFT_NOT_POLLED]);
	return found[SOFT_POLLED_ALWAYS] == where->always &&
	       found[SOFT_POLLED_IN_TURN] == where->in_turn &&
	       found[SOFT_NOT_POLLED] == where->left;
}

/* After polls in vain; something of the set-up may still be on its way at first. */
static void settle(struct where where)
{
	uint64_t limit = now_ms() + DEADLINE_MS;

	do
		poll_in_vain(&cq->base, IDLE);
	while (!are_there(&where) && now_ms() < limit);
	assert_true(are_there(&where));
}

static void idle_ones_are_polled_in_turn(void **state)
{
	(void)state;
	connect_all(MANY);
	settle((struct where){ .in_turn = MANY });
	assert_found_within(MANY + 1);
	/* But for those whose message the service thread has taken. */
	assert_true(cq->num_calm < MANY / 2);
	settle((struct where){ .in_turn = MANY });
	disconnect_all();
}

/* What has no place among them is told of by the epoll set, which is looked at soon. */
static void others_are_left_to_the_set(void **state)
{
	(void)state;
	connect_all(TOO_MANY);
	settle((struct where){ .in_turn = IN_TURN, .left = TOO_MANY - IN_TURN });
	assert_found_within(300);
	disconnect_all();
}

/* A message to each, and polls until all have come. */
static void one_to_each(void)
{
	struct tp_wc wc;

	for (unsigned i = 0; i < num; i++) {
		post_recv(&to[i], i, in, 8, in_mr);
		post_send(&from[i], 0, out, 8, out_mr, TP_WR_SIGNALED);
		assert_wc(take_wc(from[i].send_cq), 0, SUCCESS);
	}
	for (unsigned i = 0; i < num; i += try_wc(&cq->base, &wc))
		;
}

/* How soon they are taken for idle does not depend on how many there are. */
static void a_crowd_gets_idle_as_soon(void **state)
{
	(void)state;
	connect_all(CROWD);
	settle((struct where){ .in_turn = IN_TURN, .left = CROWD - IN_TURN });
	one_to_each();
	poll_in_vain(&cq->base, IDLE);
	assert_true(are_there(&(struct where){ .in_turn = IN_TURN, .left = CROWD - IN_TURN }));
	disconnect_all();
}

/* To look at a socket costs a call. */
static void over_tcp_all_are_left(void **state)
{
	(void)state;
	connect_all(MANY);
	settle((struct where){ .left = MANY });
	assert_found_within(300);
	disconnect_all();
}

static void sleep_and_wake(void)
{
	arm_cq(&cq->base, TP_ARM_WAITER);
	disarm_cq(&cq->base);
}

/* Who goes to sleep has the set told of all of them; once few are left, they are polled again. */
static void a_sleeper_leaves_all(void **state)
{
	(void)state;
	connect_all(MANY);
	settle((struct where){ .in_turn = MANY });
	sleep_and_wake();
	assert_true(are_there(&(struct where){ .left = MANY }));
	assert_found_within(300);
	poll_in_vain(&cq->base, 1);
	sleep_and_wake();
	assert_true(are_there(&(struct where){ .left = MANY }));
	disconnect_down_to(SOFT_CQ_FEW);
	assert_true(are_there(&(struct where){ .always = SOFT_CQ_FEW }));
	settle((struct where){ .in_turn = SOFT_CQ_FEW });
	assert_found_within(SOFT_CQ_FEW + 1);
	disconnect_all();
}

/* Who has slept, or works between polls, finds at once what is polled in turn. */
static void found_at_once(bool slept)
{
	unsigned late = 0;

	connect_all(SOFT_CQ_FEW);
	for (unsigned i = 0; i < ROUNDS; i++) {
		settle((struct where){ .in_turn = SOFT_CQ_FEW });
		for (int poll = 0; !slept && poll < 512; poll++) {
			usleep(10);
			poll_in_vain(&cq->base, 1);
		}
		if (slept)
			sleep_and_wake();
		late += polls_for(i * 7 % num) > 1;
	}
	assert_true(late < ROUNDS / 2);
	disconnect_all();
}

static void one_who_slept_looks_at_all(void **state)
{
	(void)state;
	found_at_once(true);
}

static void one_who_works_looks_at_all(void **state)
{
	(void)state;
	found_at_once(false);
}

static atomic_bool *stalled(unsigned which)
{
	return &soft_conn(to[which].conn)->link->stalled;
}

/* Requests that wait for room are not forgotten where a poll cannot look at all that are busy. */
static void room_is_looked_for_everywhere(void **state)
{
	unsigned waiting = 0;

	(void)state;
	connect_all(SOCKETS);
	for (unsigned round = 0; round < ROUNDS; round++)
		one_to_each();
	for (unsigned i = 0; i < num; i++)
		atomic_store(stalled(i), true);
	for (unsigned round = 0; round < ROUNDS; round++)
		one_to_each();
	/* The loop takes the lock before it takes a link away. */
	dapl_lock(cq->base.lock);
	for (unsigned i = 0; i < num; i++)
		waiting += atomic_load(stalled(i));
	dapl_unlock(cq->base.lock);
	assert_int_equal(waiting, 0);
	disconnect_all();
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TWO_OVER_SHM(idle_ones_are_polled_in_turn),
		TWO_OVER_SHM(others_are_left_to_the_set),
		TWO_OVER_SHM(a_crowd_gets_idle_as_soon),
		TWO_OVER_TCP(over_tcp_all_are_left),
		TWO_OVER_SHM(a_sleeper_leaves_all),
		TWO_OVER_SHM(one_who_slept_looks_at_all),
		TWO_OVER_SHM(one_who_works_looks_at_all),
		TWO_OVER_TCP(room_is_looked_for_everywhere),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("tests", tests, NULL, NULL);
}
