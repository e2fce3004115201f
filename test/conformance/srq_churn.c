/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Many endpoints on one shared receive queue and one pair of dispatchers, which come and go under
 * traffic. */
#include "peer.h"
#include "srq_util.h"

enum {
	PAIRS = 6,
	PLACES = 48,
	MOST = 5,  /* messages of a pair in a round */
	BURST = 8, /* messages of a process */
};

struct churn {
	struct cu_rig *rig;
	struct su_queue q;
	struct ct_end a[PAIRS], p[PAIRS];
	bool posted[PLACES];
	unsigned int outstanding, received[PAIRS];
};

/* Every place that is free is posted. */
static void refill(struct churn *churn)
{
	for (uint64_t i = 0; i < PLACES; i++) {
		if (churn->posted[i])
			continue;
		expect_ok(su_post(&churn->q, i));
		churn->posted[i] = true;
		churn->outstanding++;
	}
}

static void one_pair(struct churn *churn, unsigned int i)
{
	struct ct_end *p = &churn->p[i];

	if (p->ep == DAT_HANDLE_NULL) {
		p->recv = churn->p[0].recv;
		p->request = churn->p[0].request;
		su_end_open(churn->rig, p, &churn->q);
	}
	cu_establish(churn->rig, &churn->a[i], p);
}

/* The message of pair i has its number, and the round's. */
static void fill(struct churn *churn, unsigned int i, unsigned int round)
{
	cu_set(churn->a[i].mem.base, (uint8_t)(round * PAIRS + i), 64);
}

/* Takes what completed at the queue's dispatcher: each place once, with what its sender sent. */
static void take(struct churn *churn, unsigned int round)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	unsigned int i;
	DAT_EVENT event;
	uint64_t place;

	while (dat_evd_dequeue(churn->p[0].recv, &event) == DAT_SUCCESS) {
		assert_int_equal(event.event_number, DAT_DTO_COMPLETION_EVENT);
		dto = &event.event_data.dto_completion_event_data;
		place = dto->user_cookie.as_64;
		assert_true(place < PLACES && churn->posted[place]);
		churn->posted[place] = false;
		churn->outstanding--;
		if (dto->status != DAT_DTO_SUCCESS)
			continue;
		for (i = 0; i < PAIRS && churn->p[i].ep != dto->ep_handle; i++)
			;
		assert_true(i < PAIRS);
		churn->received[i]++;
		assert_int_equal(dto->transfered_length, 64);
		ALL(churn->q.mem.base + place * 64, (uint8_t)(round * PAIRS + i), 64);
	}
}

static unsigned int number_of(unsigned int i, unsigned int round)
{
	return 1 + (i + round) % MOST;
}

/* Both sides at once, before anybody has waited for what was sent. */
static bool is_cut(unsigned int i, unsigned int round)
{
	return (i + round) % 3 == 0;
}

static void open_all(struct churn *churn, struct cu_rig *rig)
{
	memset(churn, 0, sizeof(*churn));
	churn->rig = rig;
	su_open(rig, &churn->q, PLACES);
	churn->p[0].recv = ct_evd(rig->ia, 2 * PLACES, NULL, DAT_EVD_DTO_FLAG);
	churn->p[0].request = ct_evd(rig->ia, 64, NULL, DAT_EVD_DTO_FLAG);
	for (unsigned int i = 0; i < PAIRS; i++) {
		ct_end_open(&churn->a[i], rig->ia, NULL);
		one_pair(churn, i);
	}
}

static void send_all(struct churn *churn, unsigned int round)
{
	for (unsigned int i = 0; i < PAIRS; i++) {
		churn->received[i] = 0;
		fill(churn, i, round);
		for (unsigned int n = 0; n < number_of(i, round); n++)
			expect_ok(
				ct_post_send(&churn->a[i], 0, 64, n, DAT_COMPLETION_DEFAULT_FLAG));
		if (!is_cut(i, round))
			continue;
		expect_ok(dat_ep_disconnect(churn->a[i].ep, DAT_CLOSE_ABRUPT_FLAG));
		expect_ok(dat_ep_disconnect(churn->p[i].ep, DAT_CLOSE_ABRUPT_FLAG));
	}
}

static bool all_there(struct churn *churn, unsigned int round)
{
	take(churn, round);
	for (unsigned int i = 0; i < PAIRS; i++) {
		assert_true(churn->received[i] <= number_of(i, round));
		if (!is_cut(i, round) && churn->received[i] < number_of(i, round))
			return false;
	}
	return true;
}

/* The endpoints are used again, or others come, in turn. */
static void renew(struct churn *churn, unsigned int i, unsigned int round)
{
	struct ct_end *a = &churn->a[i], *p = &churn->p[i];

	cu_conn_event(a->connect, a->ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	cu_conn_event(p->connect, p->ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	expect_ok(dat_ep_reset(a->ep));
	ct_drain(a->request);
	take(churn, round);
	if ((i + round) % 2) {
		expect_ok(dat_ep_reset(p->ep));
		return;
	}
	expect_ok(dat_ep_free(p->ep));
	take(churn, round);
	p->ep = DAT_HANDLE_NULL;
	ct_mem_close(&p->mem);
}

static void srq_14_endpoints_that_come_and_go_under_traffic(void **state)
{
	unsigned int rounds = harness_rounds(30);
	struct cu_rig *rig = *state;
	struct churn churn;

	open_all(&churn, rig);
	for (unsigned int round = 0; round < rounds; round++) {
		refill(&churn);
		send_all(&churn, round);
		ct_await(all_there(&churn, round));
		for (unsigned int i = 0; i < PAIRS; i++) {
			if (is_cut(i, round))
				renew(&churn, i, round);
			ct_drain(churn.a[i].request);
		}
		if (rig->prov.srq_info_supported & 2)
			assert_int_equal(su_query(churn.q.srq).outstanding_dto_count,
					 churn.outstanding);
		for (unsigned int i = 0; i < PAIRS; i++)
			if (is_cut(i, round))
				one_pair(&churn, i);
	}
	/* Nothing was lost on the way: each of the receives is there for a message. */
	refill(&churn);
	fill(&churn, 0, rounds);
	for (unsigned int n = 0; n < PLACES; n++) {
		expect_ok(ct_post_send(&churn.a[0], 0, 64, n, DAT_COMPLETION_DEFAULT_FLAG));
		assert_int_equal(cu_completion(churn.a[0].request).status, DAT_DTO_SUCCESS);
	}
	churn.received[0] = 0;
	ct_await((take(&churn, rounds), churn.received[0] == PLACES));
	assert_int_equal(churn.outstanding, 0);
}

/* ---- A peer that is killed ------------------------------------------------- */

/* Sends to the queue of the process that started it, until it is killed. */
static void sender(int fd)
{
	struct cu_rig *rig = cu_rig_open();
	struct peer_service there = peer_get_service(fd);

	ct_end_open(&rig->a, rig->ia, NULL);
	expect_ok(peer_connect(&rig->a, &there, CT_US));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	for (;;) {
		peer_get_word(fd);
		for (unsigned int n = 0; n < BURST; n++) {
			expect_ok(ct_post_send(&rig->a, 0, 64, n, DAT_COMPLETION_DEFAULT_FLAG));
			assert_int_equal(cu_completion(rig->a.request).status, DAT_DTO_SUCCESS);
		}
	}
}

/* Takes the completions of an endpoint that were successful, and what was flushed. */
static void take_of(struct churn *churn, struct ct_end *p, unsigned int num)
{
	DAT_DTO_COMPLETION_EVENT_DATA dto;

	for (unsigned int n = 0; n < num; n++) {
		dto = cu_completion(p->recv);
		assert_ptr_equal(dto.ep_handle, p->ep);
		assert_int_equal(dto.status, DAT_DTO_SUCCESS);
		assert_true(churn->posted[dto.user_cookie.as_64]);
		churn->posted[dto.user_cookie.as_64] = false;
		churn->outstanding--;
	}
}

/* Takes what completes from now on, whoever's it is. */
static void take_rest(struct churn *churn)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(churn->p[0].recv, &event) == DAT_SUCCESS) {
		churn->posted[event.event_data.dto_completion_event_data.user_cookie.as_64] = false;
		churn->outstanding--;
	}
}

/* A connection to a process that is killed while it sends. */
static void one_victim(struct churn *churn, unsigned int bursts)
{
	struct ct_end p = { .recv = churn->p[0].recv, .request = churn->p[0].request };
	struct cu_rig *rig = churn->rig;
	struct peer *peer = peer_start("sender");

	su_end_open(rig, &p, &churn->q);
	peer_put_service(peer->fd, rig);
	expect_ok(dat_cr_accept(cu_take_cr(rig->cr), p.ep, 0, NULL));
	cu_conn_event(p.connect, p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	for (unsigned int i = 0; i < bursts; i++) {
		peer_put_word(peer->fd, i);
		take_of(churn, &p, BURST);
		refill(churn);
	}
	peer_put_word(peer->fd, bursts);
	take_of(churn, &p, bursts % BURST);
	peer_kill(peer);
	cu_conn_ended(p.connect, p.ep);
	expect_ok(dat_ep_free(p.ep));
	ct_mem_close(&p.mem);
	expect_ok(dat_evd_free(p.connect));
	take_rest(churn);
}

/* DTO-89: the other connections of the queue go on, and it has all its places. */
static void srq_14_peers_that_are_killed(void **state)
{
	unsigned int rounds = harness_rounds(10);
	struct cu_rig *rig = *state;
	struct churn churn;

	open_all(&churn, rig);
	for (unsigned int round = 0; round < rounds; round++) {
		refill(&churn);
		one_victim(&churn, round);
		refill(&churn);
		send_all(&churn, 1);
		ct_await(all_there(&churn, 1));
		for (unsigned int i = 0; i < PAIRS; i++) {
			if (is_cut(i, 1)) {
				renew(&churn, i, 1);
				one_pair(&churn, i);
			}
			ct_drain(churn.a[i].request);
		}
		if (rig->prov.srq_info_supported & 2)
			assert_int_equal(su_query(churn.q.srq).outstanding_dto_count,
					 churn.outstanding);
	}
}

#define T(f) cmocka_unit_test_setup_teardown(f, cu_setup_ia, cu_teardown)

int main(int argc, char **argv)
{
	static const struct peer_role roles[] = { { "sender", sender }, { NULL, NULL } };
	static const struct CMUnitTest tests[] = {
		T(srq_14_endpoints_that_come_and_go_under_traffic),
		T(srq_14_peers_that_are_killed),
	};

	peer_main(argc, argv, roles);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
