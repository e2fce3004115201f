/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Endpoints that come and go beside others on the same dispatcher: what the others complete
 * meanwhile stays, in order, and no overflow is told of (EVD-11, EVD-94, EP-108, EP-113, SRQ-17).
 */
#include "srq_util.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	WINDOW = 16, /* messages under way: as many as there are receives */
	QLEN = 128,
	NEIGHBOURS = 2,	 /* receives of each endpoint that comes and goes */
	PAIR_EVERY = 16, /* messages to a connection that is made and ended */
};

static int messages; /* of each test */

/* Messages from rig->a to rig->p, whose dispatcher for everything others share. */
struct stream {
	struct cu_rig *rig;
	struct su_queue *queue; /* that p takes its receives from; NULL: its own */
	struct su_queue own_queue;
	int count;		/* messages that came */
	int established, ended; /* connections of others */
	struct ct_end x, y;	/* the others */
	pthread_t thread;
	bool running;
	atomic_int credits, stop;
};

static struct stream stream;

static void *send_messages(void *arg)
{
	struct stream *s = arg;
	struct ct_end *a = &s->rig->a;
	DAT_EVENT event;
	int sent = 0;

	while (!atomic_load(&s->stop)) {
		while (dat_evd_dequeue(a->request, &event) == DAT_SUCCESS)
			;
		if (sent < atomic_load(&s->credits) &&
		    ct_post_send(a, 0, 8, (uint64_t)sent, DAT_COMPLETION_DEFAULT_FLAG) ==
			    DAT_SUCCESS)
			sent++;
	}
	return NULL;
}

static void post(struct stream *s, int i)
{
	size_t place = (size_t)i % WINDOW;

	if (s->queue)
		expect_ok(su_post(s->queue, place));
	else
		expect_ok(ct_post_recv(&s->rig->p, place * 64, 64, place,
				       DAT_COMPLETION_DEFAULT_FLAG));
}

static struct stream *begin(struct cu_rig *rig, bool srq)
{
	struct ct_end *p = &rig->p;
	struct stream *s = &stream;

	memset(s, 0, sizeof(*s));
	s->rig = rig;
	p->recv =
		ct_evd(rig->ia, QLEN, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
	p->request = p->recv;
	if (srq) {
		s->queue = &s->own_queue;
		su_open(rig, s->queue, 2 * WINDOW);
		su_pair(rig, &rig->a, p, s->queue);
	} else {
		ct_end_open(&rig->a, rig->ia, NULL);
		ct_end_open(p, rig->ia, NULL);
		cu_establish(rig, &rig->a, p);
	}
	for (int i = 0; i < WINDOW; i++)
		post(s, i);
	atomic_store(&s->credits, WINDOW);
	assert_int_equal(pthread_create(&s->thread, NULL, send_messages, s), 0);
	s->running = true;
	return s;
}

static void take_completion(struct stream *s, const DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
	if (dto->ep_handle != s->rig->p.ep) {
		assert_int_equal(dto->status, DAT_DTO_ERR_FLUSHED);
		return;
	}
	assert_int_equal(dto->status, DAT_DTO_SUCCESS);
	assert_int_equal(dto->user_cookie.as_64, s->count % WINDOW);
	post(s, s->count++);
	atomic_fetch_add(&s->credits, 1);
}

/* What the shared dispatcher has. */
static void take_all(struct stream *s)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(s->rig->p.recv, &event) == DAT_SUCCESS) {
		switch (event.event_number) {
		case DAT_CONNECTION_EVENT_ESTABLISHED:
			s->established++;
			break;
		case DAT_CONNECTION_EVENT_DISCONNECTED:
			s->ended++;
			break;
		default:
			assert_int_equal(event.event_number, DAT_DTO_COMPLETION_EVENT);
			take_completion(s, &event.event_data.dto_completion_event_data);
		}
	}
}

static void stop(struct stream *s)
{
	atomic_store(&s->stop, 1);
	if (s->running)
		pthread_join(s->thread, NULL);
	s->running = false;
}

/* An EP with an SRQ may have its last receive told of there (EVT-28), but nothing overflows. */
static void no_overflow(struct stream *s)
{
	DAT_EVENT event;

	while (dat_evd_dequeue(s->rig->async, &event) == DAT_SUCCESS)
		assert_int_not_equal(event.event_number, DAT_ASYNC_ERROR_EVD_OVERFLOW);
}

/* Others come and go beside the messages: none of these is missing then. */
static void go_on(struct stream *s, void (*churn)(struct stream *s))
{
	uint64_t deadline = ct_now_us() + 3 * CT_US;
	int last;

	while (s->count < messages && ct_now_us() < deadline) {
		churn(s);
		take_all(s);
		no_overflow(s);
	}
	last = s->count + WINDOW;
	ct_await((take_all(s), s->count >= last));
	stop(s);
	no_overflow(s);
}

/* ---- Freed ---- */

static void open_neighbour(struct stream *s, struct ct_end *end)
{
	const struct ct_end *p = &s->rig->p;
	DAT_EP_ATTR attr;

	*end = *p;
	end->connect = p->recv;
	ct_default_attr(s->rig->ia, &attr);
	if (s->queue) {
		expect_ok(dat_ep_create_with_srq(s->rig->ia, p->pz, p->recv, p->recv, p->recv,
						 s->queue->srq, &attr, &end->ep));
		return;
	}
	expect_ok(dat_ep_create(s->rig->ia, p->pz, p->recv, p->recv, p->recv, NULL, &end->ep));
}

static void post_neighbours(struct stream *s, struct ct_end *end)
{
	for (int i = 0; i < NEIGHBOURS && !s->queue; i++)
		expect_ok(cu_recv(end, 0, 64, UINT64_MAX));
}

static void create_and_free(struct stream *s)
{
	open_neighbour(s, &s->x);
	post_neighbours(s, &s->x);
	expect_ok(dat_ep_free(s->x.ep));
}

static void ep_113_a_free_takes_nothing_of_others(void **state)
{
	go_on(begin(*state, false), create_and_free);
}

static void srq_17_a_free_takes_nothing_of_others(void **state)
{
	struct stream *s = begin(*state, true);

	go_on(s, create_and_free);
	assert_int_equal(su_query(s->queue->srq).outstanding_dto_count, WINDOW);
}

/* ---- Connected and reset ---- */

static void connect_and_reset(struct stream *s)
{
	int last = s->count + PAIR_EVERY, both = s->established + 2;
	DAT_CR_HANDLE cr;

	post_neighbours(s, &s->x);
	post_neighbours(s, &s->y);
	cr = cu_request(s->rig, &s->x);
	expect_ok(dat_cr_accept(cr, s->y.ep, 0, NULL));
	ct_await((take_all(s), s->established >= both));
	expect_ok(dat_ep_disconnect(s->x.ep, DAT_CLOSE_ABRUPT_FLAG));
	ct_await((take_all(s), s->ended >= both));
	expect_ok(dat_ep_reset(s->x.ep));
	expect_ok(dat_ep_reset(s->y.ep));
	ct_await((take_all(s), s->count >= last));
}

/* FL-5 */
static void ep_108_a_reset_takes_nothing_of_others(void **state)
{
	struct stream *s = begin(*state, false);

	open_neighbour(s, &s->x);
	open_neighbour(s, &s->y);
	go_on(s, connect_and_reset);
}

static void srq_17_a_reset_takes_nothing_of_others(void **state)
{
	struct stream *s = begin(*state, true);

	open_neighbour(s, &s->x);
	open_neighbour(s, &s->y);
	go_on(s, connect_and_reset);
	assert_int_equal(su_query(s->queue->srq).outstanding_dto_count, WINDOW);
}

/* A test that failed midway has left its thread behind. */
static int teardown(void **state)
{
	stop(&stream);
	cu_teardown(state);
	stream.own_queue.mem.lmr = DAT_HANDLE_NULL; /* closed with the IA */
	if (stream.queue)
		ct_mem_close(&stream.queue->mem);
	stream.queue = NULL;
	return 0;
}

#define T(f) cmocka_unit_test_setup_teardown(f, cu_setup_ia, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(ep_113_a_free_takes_nothing_of_others),
		T(srq_17_a_free_takes_nothing_of_others),
		T(ep_108_a_reset_takes_nothing_of_others),
		T(srq_17_a_reset_takes_nothing_of_others),
	};

	messages = (int)harness_rounds(8000);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
