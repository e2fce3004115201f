/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The software engine: messages without a Receive whose sender has ended the connection (FL-13). */
#include "test/unit/soft_two.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit/soft_loop.h"

static const struct dapl_transport *const t = &dapl_module_transport;

enum {
	MESSAGES = 40,
	POSTED = 7,
	SIZE = 1000,
	BIG = 64 << 20,
	STILL_MS = 500, /* so long the receiver stands still: many times the linger time */
	IDLE_WAKEUPS = 40,
};

static const struct end_options options = { .depth = 64, .sge = 1, .read_in = 1, .read_out = 1 };

static int set_up(void **state)
{
	(void)state;
	soft_config.linger_ms = 50;
	two_open(MESSAGES * SIZE, FULL, FULL);
	return 0;
}

static int64_t usual_link;

static int set_up_shm(void **state)
{
	unsetenv("DAPL_SOFT_LINK");
	usual_link = soft_config.link;
	soft_config.link = SOFT_LINK_SHM;
	return set_up(state);
}

static int tear_down(void **state)
{
	(void)state;
	two_close();
	soft_config.linger_ms = 2000;
	soft_config.unreceived_ms = 10000;
	soft_config.held_bytes = 256 << 10;
	return 0;
}

static int tear_down_shm(void **state)
{
	soft_config.link = usual_link;
	return tear_down(state);
}

static void post(struct end *end, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++)
		post_recv(end, i, in + (size_t)i * SIZE, SIZE, in_mr);
}

/* All are sent, some are received, and the sender has ended. */
static void sent(struct end *a, struct end *b, int64_t held)
{
	soft_config.held_bytes = held;
	pair(a, b, &options);
	post(b, 0, POSTED);
	for (unsigned i = 0; i < MESSAGES; i++)
		post_send(a, i, out + (size_t)i * SIZE, SIZE, out_mr, TP_WR_SIGNALED);
	for (unsigned i = 0; i < MESSAGES; i++)
		assert_wc(take_wc(a->send_cq), i, SUCCESS);
	t->cm->disconnect(a->conn, true);
	end_event(a, TP_CONN_DISCONNECTED);
}

static void received(struct end *b, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++)
		assert_wc(take_wc(b->recv_cq), i, SUCCESS);
	assert_memory_equal(in, out, (size_t)to * SIZE);
}

static void late(int64_t held)
{
	uint64_t wakeups;
	struct end a, b;

	sent(&a, &b, held);
	end_destroy(&a);
	received(&b, 0, POSTED);
	wakeups = soft_loop_wakeups(right.loop);
	pause_ms(STILL_MS);
	assert_true(soft_loop_wakeups(right.loop) - wakeups < IDLE_WAKEUPS);
	end_quiet(&b, 0);
	post(&b, POSTED, MESSAGES);
	received(&b, POSTED, MESSAGES);
	end_event(&b, TP_CONN_DISCONNECTED);
	end_destroy(&b);
}

static void held(void **state)
{
	(void)state;
	late(256 << 10);
}

static void held_in_part(void **state)
{
	(void)state;
	late(10 * SIZE);
}

static void not_held(void **state)
{
	(void)state;
	late(0);
}

/* One at a time, each sooner than the time that one may take. */
static void slowly(void **state)
{
	struct end a, b;

	(void)state;
	soft_config.unreceived_ms = STILL_MS;
	sent(&a, &b, 256 << 10);
	received(&b, 0, POSTED);
	for (unsigned i = POSTED; i < POSTED + 8; i++) {
		pause_ms(STILL_MS / 4);
		post(&b, i, i + 1);
		received(&b, i, i + 1);
	}
	end_quiet(&b, 0);
	post(&b, POSTED + 8, MESSAGES);
	received(&b, POSTED + 8, MESSAGES);
	end_event(&b, TP_CONN_DISCONNECTED);
	unpair(&a, &b);
}

/* What the sender has not sent to its end when it gives up is cut off, what is complete is not. */
static void cut_off(void **state)
{
	uint8_t *big = calloc(1, BIG);
	struct tp_mr *mr = reg(&left, big, BIG, FULL);
	struct end a, b;

	(void)state;
	pair(&a, &b, &options);
	for (unsigned i = 0; i < MESSAGES; i++)
		post_send(&a, i, out + (size_t)i * SIZE, SIZE, out_mr, TP_WR_SIGNALED);
	post_send(&a, MESSAGES, big, BIG, mr, TP_WR_SIGNALED);
	for (unsigned i = 0; i < MESSAGES; i++)
		assert_wc(take_wc(a.send_cq), i, SUCCESS);
	pause_ms(20);
	t->cm->disconnect(a.conn, false);
	assert_wc(take_wc(a.send_cq), MESSAGES, FLUSHED);
	end_destroy(&a);
	pause_ms(STILL_MS);
	end_quiet(&b, 0);
	post(&b, 0, MESSAGES);
	received(&b, 0, MESSAGES);
	end_event2(&b, TP_CONN_BROKEN, TP_CONN_DISCONNECTED);
	end_destroy(&b);
	dereg(mr);
	free(big);
}

/* Over shared memory it is cut off in order, however full the memory is, and in time. */
static void cut_in_order(void **state)
{
	uint8_t *big = calloc(1, BIG);
	struct tp_mr *mr = reg(&left, big, BIG, FULL);
	struct end a, b;

	(void)state;
	soft_config.held_bytes = 0;
	pair(&a, &b, &options);
	post_send(&a, 1, big, BIG, mr, TP_WR_SIGNALED);
	pause_ms(20);
	/* The answer is behind the Send. */
	post_rdma(&b, TP_RDMA_READ, 2, in, 8, in_mr, out, out_mr->rkey, TP_WR_SIGNALED);
	pause_ms(20);
	t->cm->disconnect(a.conn, false);
	assert_wc(take_wc(a.send_cq), 1, FLUSHED);
	end_event(&b, TP_CONN_DISCONNECTED);
	assert_wc(take_wc(b.send_cq), 2, FLUSHED);
	unpair(&a, &b);
	dereg(mr);
	free(big);
}

/* Nobody receives them: the end comes all the same, and what is lost is said. */
static void never(void **state)
{
	unsigned diags = soft_diags(NULL, 0);
	char said[512];
	struct end a, b;

	(void)state;
	soft_config.unreceived_ms = 100;
	for (int64_t held = 0; held <= 256 << 10; held += 256 << 10) {
		sent(&a, &b, held);
		received(&b, 0, POSTED);
		end_event(&b, TP_CONN_DISCONNECTED);
		assert_true(soft_diags(said, sizeof(said)) > diags);
		assert_non_null(strstr(said, "option unreceived"));
		unpair(&a, &b);
	}
}

/*
 * FL-13: the peer has ended in order, and this side sends on, which nobody takes: that is what a
 * program does that has not heard of the end. It hears of that, not of its own messages' fate.
 */
static void sends_meanwhile(void **state)
{
	struct tp_wc wc;
	struct end a, b;

	(void)state;
	soft_config.unreceived_ms = STILL_MS;
	for (int64_t held = 0; held <= 256 << 10; held += 256 << 10) {
		sent(&a, &b, held);
		received(&b, 0, POSTED);
		end_destroy(&a);
		for (unsigned i = 0; i < MESSAGES; i++) {
			post_send(&b, i, in, SIZE, in_mr, TP_WR_SIGNALED);
			pause_ms(STILL_MS / MESSAGES / 2);
		}
		end_event(&b, TP_CONN_DISCONNECTED);
		for (unsigned i = 0; i < MESSAGES; i++) {
			wc = take_wc(b.send_cq);
			assert_int_equal(wc.wr_id, i);
			assert_true(wc.status == TP_WC_SUCCESS || wc.status == TP_WC_FLUSHED);
		}
		end_destroy(&b);
	}
}

/* One who sleeps on the queue meanwhile is not woken for nothing, and hears of the end. */
static void asleep(void **state)
{
	struct pollfd watch = { .events = POLLIN };
	struct end a, b;
	struct tp_wc wc;

	(void)state;
	for (int64_t held = 0; held <= 256 << 10; held += 256 << 10) {
		soft_config.unreceived_ms = 10000;
		sent(&a, &b, held);
		received(&b, 0, POSTED);
		end_destroy(&a);
		pause_ms(STILL_MS);
		arm_cq(b.recv_cq, TP_ARM_WAITER);
		assert_false(try_wc(b.recv_cq, &wc));
		watch.fd = t->cq->fd(b.recv_cq);
		assert_int_equal(poll(&watch, 1, STILL_MS), 0);
		post(&b, POSTED, MESSAGES);
		disarm_cq(b.recv_cq);
		received(&b, POSTED, MESSAGES);
		end_event(&b, TP_CONN_DISCONNECTED);
		end_destroy(&b);
	}
}

/* Whose program ends it waits for nothing. */
static void ended_here(void **state)
{
	struct end a, b;

	(void)state;
	for (int graceful = 0; graceful < 2; graceful++) {
		sent(&a, &b, 256 << 10);
		received(&b, 0, POSTED);
		t->cm->disconnect(b.conn, graceful);
		if (graceful)
			end_event(&b, TP_CONN_DISCONNECTED);
		unpair(&a, &b);
	}
}

int main(int argc, char **argv)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(held),
		CASE(held_in_part),
		CASE(not_held),
		CASE(slowly),
		CASE(cut_off),
		CASE(never),
		CASE(sends_meanwhile),
		CASE(asleep),
		CASE(ended_here),
		/* The last: they forget the environment. */
		cmocka_unit_test_setup_teardown(cut_in_order, set_up_shm, tear_down_shm),
		cmocka_unit_test_setup_teardown(sends_meanwhile, set_up_shm, tear_down_shm),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
