/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The software engine: a stream of Sends that is ahead of its Receives (DTO-90). */
#include "test/unit/soft_two.h"

#include <stdlib.h>

#include "providers/soft/engine/conn.h"
#include "providers/soft/engine/qp.h"
#include "test/unit/soft_loop.h"

enum {
	ROUNDS = 400,
	RECEIVES = 8,
	AHEAD = 3 * RECEIVES,
	SIZE = 2048,
};

static const struct end_options options = { .depth = 64, .sge = 1, .read_in = 1, .read_out = 1 };

static uint8_t *place(uint8_t *memory, unsigned i)
{
	return memory + i % AHEAD * SIZE;
}

static uint32_t length(unsigned i)
{
	return i * 37 % SIZE;
}

static void sends(struct end *a, unsigned first, unsigned num)
{
	for (unsigned i = first; i < first + num; i++)
		post_send(a, i, place(out, i), length(i), out_mr, TP_WR_SIGNALED);
}

static void receives(struct end *b, unsigned first, unsigned num)
{
	for (unsigned i = first; i < first + num; i++)
		post_recv(b, i, place(in, i), SIZE, in_mr);
}

static void received(struct end *b, unsigned first, unsigned num)
{
	struct tp_wc wc;

	for (unsigned i = first; i < first + num; i++) {
		wc = take_wc(b->recv_cq);
		assert_wc(wc, i, SUCCESS);
		assert_int_equal(wc.byte_len, length(i));
		assert_memory_equal(place(in, i), place(out, i), length(i));
	}
}

static void sent(struct end *a, unsigned first, unsigned num)
{
	for (unsigned i = first; i < first + num; i++)
		assert_wc(take_wc(a->send_cq), i, SUCCESS);
}

static bool keeps_messages(struct end *end)
{
	struct soft_conn *conn = soft_conn(end->conn);
	bool keeps;

	/* Other threads change them. */
	dapl_lock(&conn->qp->lock);
	keeps = conn->rx.held;
	dapl_unlock(&conn->qp->lock);
	return keeps;
}

/* How often something was kept elsewhere than in the link. */
static unsigned stream(struct end *a, struct end *b)
{
	unsigned kept = 0, next = 0;

	for (unsigned i = 0; i < ROUNDS; i++, next += AHEAD) {
		receives(b, next, RECEIVES);
		sends(a, next, AHEAD);
		for (unsigned j = 0; j < AHEAD; j += RECEIVES) {
			received(b, next + j, RECEIVES);
			kept += keeps_messages(b);
			if (j + RECEIVES < AHEAD)
				receives(b, next + j + RECEIVES, RECEIVES);
		}
		sent(a, next, AHEAD);
	}
	return kept;
}

static void in_order(void **state)
{
	struct end a, b;

	(void)state;
	pair(&a, &b, &options);
	stream(&a, &b);
	assert_false(keeps_messages(&b));
	unpair(&a, &b);
}

/* Where both sides have the link's memory: unless the service thread was there before. */
static void stay_in_the_link(void **state)
{
	struct end a, b;
	unsigned kept;

	(void)state;
	pair(&a, &b, &options);
	kept = stream(&a, &b);
	print_message("# kept at %u of %u looks\n", kept, ROUNDS * AHEAD / RECEIVES);
	assert_true(kept < ROUNDS);
	assert_false(end_has_buffers(&b));
	unpair(&a, &b);
}

/* Who takes the first one, and looks at its memory alone from then on, sees a write behind them. */
static void a_write_behind_them_lands(void **state)
{
	uint8_t *last = in + AHEAD * SIZE - 1;
	uint64_t end = now_ms() + DEADLINE_MS;
	struct end a, b;
	unsigned next = 0;

	(void)state;
	pair(&a, &b, &options);
	for (unsigned i = 1; i <= 20; i++, next += AHEAD - 1) {
		receives(&b, next, RECEIVES);
		sends(&a, next, AHEAD - 1);
		out[AHEAD * SIZE - 1] = (uint8_t)i;
		post_rdma(&a, TP_RDMA_WRITE, 7, out + AHEAD * SIZE - 1, 1, out_mr, last,
			  in_mr->rkey, 0);
		assert_wc(take_wc(b.recv_cq), next, SUCCESS);
		while (__atomic_load_n(last, __ATOMIC_ACQUIRE) != i && now_ms() < end)
			;
		assert_int_equal(__atomic_load_n(last, __ATOMIC_ACQUIRE), i);
		received(&b, next + 1, RECEIVES - 1);
		receives(&b, next + RECEIVES, AHEAD - 1 - RECEIVES);
		received(&b, next + RECEIVES, AHEAD - 1 - RECEIVES);
		sent(&a, next, AHEAD - 1);
	}
	unpair(&a, &b);
}

/* Who takes some, posts Receives for the rest and sleeps is woken for these. */
static void who_sleeps_gets_them(void **state)
{
	struct end a, b;
	unsigned next = 0;

	(void)state;
	pair(&a, &b, &options);
	for (unsigned i = 0; i < ROUNDS; i++, next += AHEAD) {
		receives(&b, next, RECEIVES);
		sends(&a, next, AHEAD);
		received(&b, next, RECEIVES);
		receives(&b, next + RECEIVES, AHEAD - RECEIVES);
		for (unsigned j = RECEIVES; j < AHEAD; j++)
			assert_wc(wait_wc(&b, b.recv_cq), next + j, SUCCESS);
		sent(&a, next, AHEAD);
	}
	unpair(&a, &b);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TWO_OVER_TCP(in_order),
		TWO_OVER_SHM(in_order),
		TWO_OVER_SHM(stay_in_the_link),
		TWO_OVER_TCP(a_write_behind_them_lands),
		TWO_OVER_SHM(a_write_behind_them_lands),
		TWO_OVER_TCP(who_sleeps_gets_them),
		TWO_OVER_SHM(who_sleeps_gets_them),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	/* They choose themselves. */
	unsetenv("DAPL_SOFT_LINK");
	return cmocka_run_group_tests_name("tests", tests, NULL, NULL);
}
