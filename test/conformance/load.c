/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Random traffic both ways, random ends, against a model: data intact, completions in order,
 * suppressed ones absent, every operation completes exactly once, the end comes after the flushes.
 *
 * UDAPL_LOAD_SEED      repeats a round that failed; its number was printed
 * UDAPL_LOAD_SECONDS   how long each test goes on (2)
 * UDAPL_LOAD_RECEIVES  first: no message is sent before its Receive is posted, on any device
 */
#include "load_side.h"
#include "conn_util.h"

#include <stdlib.h>
#include <time.h>

/* ---- Completions against the model ---- */

static void request_done(struct side *s, const DAT_DTO_COMPLETION_EVENT_DATA *done)
{
	unsigned int index = (unsigned int)done->user_cookie.as_64;
	struct op *op;

	/* DTO-31: what is passed over was suppressed and has succeeded. */
	for (; s->retired != index; s->retired++) {
		assert_true(s->retired != s->posted);
		assert_true(s->ops[s->retired % RING].suppressed);
		assert_false(s->failed);
	}
	assert_true(s->retired != s->posted);
	op = &s->ops[s->retired++ % RING];
	assert_int_equal(done->operation, op->kind);
	if (done->status != DAT_DTO_SUCCESS) {
		assert_true(s->may_fail);
		assert_false(s->must_succeed);
		if (!op->bad)
			assert_int_equal(done->status, DAT_DTO_ERR_FLUSHED);
		s->failed = true;
		return;
	}
	assert_false(s->failed);
	assert_false(op->suppressed);
	assert_false(op->bad);
	assert_int_equal(done->transfered_length, op->len);
	if (op->kind == DAT_DTO_RDMA_READ)
		load_look(op->iov, op->n, op->len, 0, op->want);
}

static void receive_done(struct side *s, const DAT_DTO_COMPLETION_EVENT_DATA *done)
{
	unsigned int k = s->recv_done % RING;
	const struct message *message = &s->peer->sent[k];

	assert_int_equal(done->user_cookie.as_64, s->recv_done);
	assert_true(s->recv_done != s->recv_posted);
	s->recv_done++;
	if (done->status != DAT_DTO_SUCCESS) {
		assert_true(s->may_fail);
		assert_int_equal(done->status, DAT_DTO_ERR_FLUSHED);
		s->recv_failed = true;
		return;
	}
	assert_false(s->recv_failed);
	assert_true(s->recv_done <= s->peer->num_sent);
	assert_int_equal(done->transfered_length, message->len);
	load_look(s->recv_iov[k], s->recv_n[k], message->len, message->seed, NULL);
}

/* EVT-5: nothing but completions and, where it is due, one end. */
static void take(struct side *s, const DAT_EVENT *event, bool merged)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *done = &event->event_data.dto_completion_event_data;

	switch (event->event_number) {
	case DAT_DTO_COMPLETION_EVENT:
		assert_ptr_equal(done->ep_handle, s->end.ep);
		if (merged && s->ended)
			fail_msg("a completion after the end");
		if (done->operation == DAT_DTO_RECEIVE)
			receive_done(s, done);
		else
			request_done(s, done);
		break;
	case DAT_CONNECTION_EVENT_DISCONNECTED:
	case DAT_CONNECTION_EVENT_BROKEN:
		assert_true(s->may_fail);
		assert_false(s->ended);
		s->ended = true;
		break;
	default:
		fail_msg("event 0x%x", event->event_number);
	}
}

/* Takes up to n events of each dispatcher; how many there were. */
static unsigned int reap(struct side *s, unsigned int n)
{
	DAT_EVD_HANDLE evds[] = { s->end.recv, s->end.request, s->end.connect };
	bool merged = evds[0] == evds[1];
	unsigned int taken = 0;

	for (int i = 0; i < (merged ? 1 : 3); i++) {
		for (unsigned int k = 0; k < n; k++) {
			DAT_EVENT event;
			DAT_RETURN rc = dat_evd_dequeue(evds[i], &event);

			if (rc == DAT_QUEUE_EMPTY)
				break;
			expect_ok(rc);
			take(s, &event, merged);
			taken++;
		}
	}
	return taken;
}

#define REAP_UNTIL(a, p, condition)                                                           \
	do {                                                                                  \
		uint64_t until_ = ct_now_us() + 2 * CT_US;                                    \
		while (!(condition)) {                                                        \
			if (reap((a), DEPTH) + reap((p), DEPTH) == 0)                         \
				ct_pause();                                                   \
			if (ct_now_us() > until_)                                             \
				fail_msg("never came true: %s; requests %u/%u, %u/%u, "       \
					 "Receives %u/%u, %u/%u",                             \
					 #condition, (a)->retired, (a)->posted, (p)->retired, \
					 (p)->posted, (a)->recv_done, (a)->recv_posted,       \
					 (p)->recv_done, (p)->recv_posted);                   \
		}                                                                             \
	} while (0)

/* ---- A round ---- */

static void traffic(struct side *sides, unsigned int steps)
{
	for (unsigned int i = 0; i < steps; i++) {
		struct side *s = &sides[load_below(2)];

		switch (load_below(4)) {
		case 0:
			side_post_recv(s);
			break;
		case 1:
			reap(s, 1 + load_below(8));
			break;
		default:
			side_post_some(s);
			break;
		}
	}
}

static void receives_for_all(struct side *s)
{
	while (s->recv_posted < s->peer->num_sent) {
		side_post_recv(s);
		if (s->recv_posted - s->recv_done == DEPTH) {
			REAP_UNTIL(s, s->peer, s->recv_posted - s->recv_done < DEPTH);
		}
	}
}

/* Everything completes; after one more message each way both windows are what they must be. */
static void settle(struct side *a, struct side *p)
{
	struct side *both[] = { a, p };

	receives_for_all(a);
	receives_for_all(p);
	for (int i = 0; i < 2; i++) {
		REAP_UNTIL(a, p, both[i]->posted - both[i]->retired < DEPTH / 2);
		REAP_UNTIL(a, p,
			   both[i]->num_sent < both[!i]->recv_posted ||
				   both[!i]->recv_posted - both[!i]->recv_done < DEPTH);
		side_post_request(both[i], DAT_DTO_SEND, 0, false);
		receives_for_all(both[!i]);
	}
	receives_for_all(a);
	receives_for_all(p);
	REAP_UNTIL(a, p,
		   a->retired == a->posted && p->retired == p->posted &&
			   a->recv_done >= p->num_sent && p->recv_done >= a->num_sent);
	load_same_window(a);
	load_same_window(p);
}

static void post_bad(struct side *s)
{
	struct op *op = &s->ops[s->posted % RING];

	REAP_UNTIL(s, s->peer, s->posted - s->retired < DEPTH);
	free(op->want);
	*op = (struct op){ .kind = DAT_DTO_SEND, .bad = true, .len = 64, .n = 1 };
	op->iov[0] = (DAT_LMR_TRIPLET){ .virtual_address = 64, .segment_length = 64 };
	/* Nothing of it reaches the peer. */
	expect_ok(side_post(s, op, 0));
	s->posted++;
}

enum end {
	ABRUPT,
	BY_PEER,
	BY_BOTH,
	GRACEFUL,
	FREED_BY_PEER,
	FAULT,
	NUM_ENDS,
};

static void end_it(struct side *a, struct side *p, enum end how)
{
	switch (how) {
	case ABRUPT:
		expect_ok(dat_ep_disconnect(a->end.ep, DAT_CLOSE_ABRUPT_FLAG));
		break;
	case BY_BOTH:
		expect_ok(dat_ep_disconnect(a->end.ep, DAT_CLOSE_ABRUPT_FLAG));
		/* fall through */
	case BY_PEER:
		expect_ok(dat_ep_disconnect(p->end.ep, DAT_CLOSE_ABRUPT_FLAG));
		break;
	case GRACEFUL: /* FL-12: the peer stays and has Receives for all */
		a->must_succeed = true;
		expect_ok(dat_ep_disconnect(a->end.ep, DAT_CLOSE_GRACEFUL_FLAG));
		break;
	case FREED_BY_PEER:
		expect_ok(dat_ep_free(p->end.ep));
		p->over = true;
		ct_drain(p->end.recv);
		ct_drain(p->end.request);
		ct_drain(p->end.connect);
		break;
	default:
		post_bad(a);
		break;
	}
}

/* FL-8: a marker comes after all that was posted before. */
static void flush_complete(struct side *s)
{
	DAT_BOOLEAN recv_idle, request_idle;

	if (s->over)
		return;
	assert_int_equal(s->recv_done, s->recv_posted);
	s->ended = false; /* the marker may come after the end */
	s->must_succeed = false;
	REAP_UNTIL(s, s, s->posted - s->retired < DEPTH);
	side_post_request(s, DAT_DTO_RDMA_WRITE, 64, true);
	REAP_UNTIL(s, s, s->retired == s->posted);
	assert_true(s->failed);
	cu_quiet(s->end.request, 0);
	expect_ok(dat_ep_get_status(s->end.ep, NULL, &recv_idle, &request_idle));
	assert_int_equal(recv_idle, DAT_TRUE);
	assert_int_equal(request_idle, DAT_TRUE);
}

/* Whether all of a side that will be reported has been, but for suppressed ones that succeeded. */
static bool is_flushed(const struct side *s)
{
	unsigned int i = s->retired;

	if (s->over)
		return true;
	while (i != s->posted && s->ops[i % RING].suppressed && !s->failed)
		i++;
	return s->ended && s->recv_done == s->recv_posted && i == s->posted;
}

static void burst(struct side *sides, enum end how)
{
	for (unsigned int i = load_below(2 * DEPTH); i > 0; i--) {
		struct side *s = &sides[load_below(2)];

		if (load_one_in(3))
			side_post_recv(s);
		else
			side_post_some(s);
		if (load_one_in(8))
			reap(s, 2);
	}
	/* Nothing of the first side may wait for a Receive. */
	if (how == GRACEFUL || how == FAULT)
		receives_for_all(&sides[1]);
	sides[0].may_fail = sides[1].may_fail = true;
}

/* What load_side.c posts keeps to DTO-17 and DTO-69. */
static void one_round(uint64_t seed, enum end how)
{
	struct side *sides = calloc(2, sizeof(*sides)), *a = &sides[0], *p = &sides[1];
	struct cu_rig *rig;
	bool merged;

	print_message("# UDAPL_LOAD_SEED=%llu\n", (unsigned long long)seed);
	assert_non_null(sides);
	load_random_state = seed;
	merged = load_one_in(2);
	rig = cu_rig_open();
	load_receives_first =
		ct_receives_first(&rig->attr, &rig->prov) || getenv("UDAPL_LOAD_RECEIVES") != NULL;
	a->peer = p;
	p->peer = a;
	side_open(rig, a, merged);
	side_open(rig, p, merged);
	cu_establish(rig, &a->end, &p->end);
	traffic(sides, STEPS);
	settle(a, p);
	if (how != NUM_ENDS) {
		burst(sides, how);
		end_it(a, p, how);
		REAP_UNTIL(a, p, is_flushed(a) && is_flushed(p));
		flush_complete(a);
		flush_complete(p);
	}
	side_close(a);
	side_close(p);
	cu_rig_close(rig);
	free(sides);
}

static uint64_t seconds(void)
{
	const char *text = getenv("UDAPL_LOAD_SECONDS");

	return text != NULL ? strtoull(text, NULL, 10) : 2;
}

static void rounds(enum end how)
{
	uint64_t until = ct_now_us() + seconds() * 1000000;
	const char *text = getenv("UDAPL_LOAD_SEED");
	uint64_t seed = ((uint64_t)time(NULL) << 20) ^ (uint64_t)ct_now_us();

	if (text != NULL) {
		one_round(strtoull(text, NULL, 10), how);
		return;
	}
	do {
		one_round(seed++, how);
	} while (ct_now_us() < until);
}

/* DTO-66, DTO-67, DTO-68, DTO-31, EVT-5 */
static void dto_2_64_65_traffic_both_ways(void **state)
{
	(void)state;
	rounds(NUM_ENDS);
}

/* FL-2 to FL-5, EP-152, EVT-5 */
static void fl_1_dto_2_74_75_abrupt_end(void **state)
{
	(void)state;
	rounds(ABRUPT);
}

static void fl_1_dto_2_74_75_end_by_the_peer(void **state)
{
	(void)state;
	rounds(BY_PEER);
}

static void fl_1_sim_2_end_by_both(void **state)
{
	(void)state;
	rounds(BY_BOTH);
}

static void fl_12_dto_77_graceful_end(void **state)
{
	(void)state;
	rounds(GRACEFUL);
}

static void fl_1_dto_2_74_75_peer_frees_its_endpoint(void **state)
{
	(void)state;
	rounds(FREED_BY_PEER);
}

static void fl_7_dto_75_fault(void **state)
{
	(void)state;
	rounds(FAULT);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(dto_2_64_65_traffic_both_ways),
		cmocka_unit_test(fl_1_dto_2_74_75_abrupt_end),
		cmocka_unit_test(fl_1_dto_2_74_75_end_by_the_peer),
		cmocka_unit_test(fl_1_sim_2_end_by_both),
		cmocka_unit_test(fl_12_dto_77_graceful_end),
		cmocka_unit_test(fl_1_dto_2_74_75_peer_frees_its_endpoint),
		cmocka_unit_test(fl_7_dto_75_fault),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
