/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Transfers into shared receive queues. */
#include "ext_util.h"
#include "srq_util.h"

#include <pthread.h>
#include <stdatomic.h>

/* ---- Transfers --------------------------------------------------------- */

/* EVT-9 */
static void srq_1_13_14_several_endpoints(void **state)
{
	struct cu_rig *rig = *state;
	struct su_queue q;
	struct ct_end a[3] = { { 0 } }, p[3] = { { 0 } };
	uint64_t seen = 0;

	su_open(rig, &q, 32);
	su_fill(&q, 0, 29);
	for (int i = 0; i < 3; i++) {
		if (i == 1)
			p[1].recv = p[0].recv; /* SRQ-38: shared or not */
		su_pair(rig, &a[i], &p[i], &q);
	}
	for (unsigned n = 0; n < 10; n++) {
		for (int i = 0; i < 3; i++) {
			su_send(&a[i], 8 + n, n * 3 + (unsigned)i);
			seen |= 1ull << su_taken(&p[i], &q, 8 + n, n * 3 + (unsigned)i);
		}
	}
	assert_true(seen == (1ull << 30) - 1); /* each once */
	for (int i = 0; i < 3; i++)
		ct_empty(p[i].recv);
}

static void srq_14_one_connections_messages_in_order(void **state)
{
	struct cu_rig *rig = *state;
	struct su_queue q;
	struct ct_end a = { 0 }, p = { 0 };

	su_open(rig, &q, 32);
	su_pair(rig, &a, &p, &q);
	su_fill(&q, 0, 15);
	for (unsigned n = 0; n < 15; n++) {
		cu_fill(a.mem.base + n * 64, 32, n);
		expect_ok(ct_post_send(&a, n * 64, 32, n, DAT_COMPLETION_DEFAULT_FLAG));
	}
	for (unsigned n = 0; n < 15; n++)
		su_taken(&p, &q, 32, n);
	/* The places come back out of order and are used again. */
	for (unsigned round = 0; round < 20; round++) {
		su_fill(&q, 100, 110);
		for (unsigned n = 0; n < 11; n++) {
			ct_drain(a.request);
			cu_fill(a.mem.base, 16, n);
			expect_ok(ct_post_send(&a, 0, 16, n, DAT_COMPLETION_DEFAULT_FLAG));
			su_taken(&p, &q, 16, n);
		}
	}
}

/* DTO-90 */
static void srq_15_an_empty_queue(void **state)
{
	struct cu_rig *rig = *state;
	struct su_queue q;
	struct ct_end a = { 0 }, p = { 0 };

	su_open(rig, &q, 8);
	su_pair(rig, &a, &p, &q);
	cu_fill(a.mem.base, 40, 9);
	expect_ok(ct_post_send(&a, 0, 40, 1, DAT_COMPLETION_DEFAULT_FLAG));
	cu_quiet(p.recv, 50);
	if (ct_ep_state(p.ep) != DAT_EP_STATE_CONNECTED)
		harness_skip("the connection does not wait for a receive");
	expect_ok(su_post(&q, 3));
	assert_int_equal(su_taken(&p, &q, 40, 9), 3);
	DONE(a.request, a.ep, 1, DAT_DTO_SEND, 40);
}

/* DTO-7, DTO-9, DTO-10, DTO-11, DTO-13 */
static void srq_10_segments(void **state)
{
	struct cu_rig *rig = *state;
	struct su_queue q;
	struct ct_end a = { 0 }, p = { 0 };
	DAT_LMR_TRIPLET segments[2];
	DAT_DTO_COMPLETION_EVENT_DATA dto;

	su_open(rig, &q, 8);
	su_pair(rig, &a, &p, &q);
	segments[0] = ct_segment(&q.mem, 0, 30);
	segments[1] = ct_segment(&q.mem, 1000, 70);
	expect_ok(dat_srq_post_recv(q.srq, 2, segments, cu_cookie(UINT64_MAX)));
	memset(segments, 0xff, sizeof(segments));
	su_send(&a, 100, 4);
	dto = cu_completion(p.recv);
	assert_true(dto.user_cookie.as_64 == UINT64_MAX);
	assert_int_equal(dto.transfered_length, 100);
	assert_int_equal(memcmp(q.mem.base, a.mem.base, 30), 0);
	assert_int_equal(memcmp(q.mem.base + 1000, a.mem.base + 30, 70), 0);
	/* DTO-91 */
	expect_ok(dat_srq_post_recv(q.srq, 0, NULL, cu_cookie(0)));
	su_send(&a, 0, 5);
	dto = cu_completion(p.recv);
	assert_int_equal(dto.status, DAT_DTO_SUCCESS);
	assert_true(dto.user_cookie.as_64 == 0);
	assert_int_equal(dto.transfered_length, 0);
	segments[0] = ct_segment(&q.mem, 0, 64);
	segments[1] = (DAT_LMR_TRIPLET){ .segment_length = 0, .lmr_context = 5 };
	expect_ok(dat_srq_post_recv(q.srq, 2, segments, cu_cookie(0)));
	su_send(&a, 64, 6);
	assert_int_equal(su_taken(&p, &q, 64, 6), 0);
}

/* DTO-84; the other connection of the queue goes on (DTO-89) */
static void fault(struct cu_rig *rig, bool short_buffer)
{
	struct su_queue q;
	struct ct_end a = { 0 }, p = { 0 }, other_a = { 0 }, other_p = { 0 };
	DAT_LMR_TRIPLET segment;
	DAT_DTO_COMPLETION_EVENT_DATA dto;

	su_open(rig, &q, 8);
	su_pair(rig, &a, &p, &q);
	su_pair(rig, &other_a, &other_p, &q);
	segment = ct_segment(&q.mem, 0, short_buffer ? 8 : 64);
	if (!short_buffer)
		segment.lmr_context ^= 0x5a5a5a5a;
	expect_ok(dat_srq_post_recv(q.srq, 1, &segment, cu_cookie(77)));
	expect_ok(ct_post_send(&a, 0, 32, 1, DAT_COMPLETION_DEFAULT_FLAG));
	dto = cu_completion(p.recv);
	assert_int_equal(dto.status,
			 short_buffer ? DAT_DTO_ERR_LOCAL_LENGTH : DAT_DTO_ERR_LOCAL_PROTECTION);
	assert_ptr_equal(dto.ep_handle, p.ep);
	assert_true(dto.user_cookie.as_64 == 77);
	assert_int_equal(dto.operation, DAT_DTO_RECEIVE);
	cu_conn_ended(p.connect, p.ep);
	cu_conn_ended(a.connect, a.ep);
	su_fill(&q, 5, 5);
	su_send(&other_a, 32, 2);
	assert_int_equal(su_taken(&other_p, &q, 32, 2), 5);
}

static void srq_12_13_bad_memory(void **state)
{
	fault(*state, false);
}

static void srq_13_a_message_too_long(void **state)
{
	fault(*state, true);
}

/* FL-11, DTO-74 */
static void dto_82_the_queue_is_not_flushed(void **state)
{
	struct cu_rig *rig = *state;
	struct su_queue q;
	struct ct_end a = { 0 }, p = { 0 }, next_a = { 0 }, next_p = { 0 };
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EVENT event;

	su_open(rig, &q, 8);
	su_pair(rig, &a, &p, &q);
	su_fill(&q, 0, 3);
	/* EP-104 */
	expect_ok(dat_ep_get_status(p.ep, NULL, &recv_idle, &request_idle));
	assert_int_equal(recv_idle, DAT_TRUE);
	su_send(&a, 16, 1);
	su_taken(&p, &q, 16, 1);
	cu_end_connection(&a, &p);
	assert_false(cu_next(p.recv, 100, &event));
	expect_ok(dat_ep_free(p.ep));
	if (rig->prov.srq_info_supported & 2)
		assert_int_equal(su_query(q.srq).outstanding_dto_count, 3);
	su_pair(rig, &next_a, &next_p, &q);
	for (unsigned i = 2; i < 5; i++) {
		su_send(&next_a, 16, i);
		su_taken(&next_p, &q, 16, i);
	}
}

/* FL-11, SRQ-14: a receive whose message was cut off is flushed, and its place comes back. */
static void fl_11_a_receive_that_is_cut_off(void **state)
{
	unsigned int rounds = harness_rounds(20), posted = 0, taken = 0;
	struct cu_rig *rig = *state;
	struct ct_end a = { 0 }, p = { 0 };
	struct ct_mem *from, *to;
	DAT_LMR_TRIPLET segment;
	struct su_queue q;
	DAT_EVENT event;
	DAT_COUNT left;

	su_open(rig, &q, 8);
	a.pz = q.pz;
	ct_end_open(&a, rig->ia, NULL);
	from = cu_extra_mem(rig, q.pz, CU_BIG, DAT_MEM_PRIV_ALL_FLAG);
	to = cu_extra_mem(rig, q.pz, CU_BIG, DAT_MEM_PRIV_ALL_FLAG);
	for (unsigned int i = 0; i < rounds; i++) {
		p = (struct ct_end){ .recv = p.recv, .request = p.request, .connect = p.connect };
		su_end_open(rig, &p, &q);
		cu_establish(rig, &a, &p);
		segment = ct_segment(to, 0, CU_BIG);
		if (posted == taken) {
			expect_ok(dat_srq_post_recv(q.srq, 1, &segment, cu_cookie(i)));
			posted++;
		}
		segment = ct_segment(from, 0, CU_BIG);
		expect_ok(dat_ep_post_send(a.ep, 1, &segment, cu_cookie(i),
					   DAT_COMPLETION_DEFAULT_FLAG));
		expect_ok(dat_ep_disconnect(i % 4 < 2 ? p.ep : a.ep, DAT_CLOSE_ABRUPT_FLAG));
		cu_conn_ended(p.connect, p.ep);
		cu_conn_ended(a.connect, a.ep);
		expect_ok(dat_ep_free(p.ep));
		ct_mem_close(&p.mem);
		expect_ok(dat_ep_reset(a.ep));
		ct_drain(a.request);
		while (dat_evd_dequeue(p.recv, &event) == DAT_SUCCESS)
			taken++;
		if (rig->prov.srq_info_supported & 2)
			assert_int_equal(su_query(q.srq).outstanding_dto_count, posted - taken);
	}
	print_message("%u of %u messages were cut off or arrived\n", taken, rounds);
	/* What was not taken is there to be taken. */
	if (posted > taken) {
		p = (struct ct_end){ .recv = p.recv, .request = p.request, .connect = p.connect };
		su_end_open(rig, &p, &q);
		cu_establish(rig, &a, &p);
		su_send(&a, 64, 1);
		assert_int_equal(cu_completion(p.recv).status, DAT_DTO_SUCCESS);
		taken++;
	}
	left = su_query(q.srq).max_recv_dtos - (DAT_COUNT)(posted - taken);
	for (DAT_COUNT i = 0; i < left; i++)
		expect_ok(su_post(&q, 1));
	expect_type(su_post(&q, 1), DAT_INSUFFICIENT_RESOURCES);
}

/*
 * As release 2.1.10 has it, one event tells that no more receives of the queue complete for the
 * endpoint. In strict mode there is none, even where the device says so.
 */
static int last_receive(void)
{
	struct cu_rig *rig = cu_rig_open();
	DAT_ASYNCH_ERROR_EVENT_DATA *data;
	struct su_queue q;
	struct ct_end a = { 0 }, p = { 0 };
	DAT_EVENT event;

	su_open(rig, &q, 8);
	su_pair(rig, &a, &p, &q);
	su_fill(&q, 0, 3);
	cu_end_connection(&a, &p);
	if (!harness_strict()) {
		cu_poll(rig->async, &event);
		assert_int_equal(event.event_number, DAT_ASYNC_ERROR_EP_BROKEN);
		data = &event.event_data.asynch_error_event_data;
		assert_ptr_equal(data->dat_handle, p.ep);
		assert_int_equal(data->reason, DAT_EP_OTHER_ERROR);
	}
	cu_quiet(rig->async, 200);
	cu_rig_close(rig);
	return 0;
}

static void evt_28_the_last_receive_of_an_endpoint(void **state)
{
	su_need(*state);
	harness_both_strict("last-receive");
}

/* DTO-40, IBX-47 */
static void ibx_47_immediate_data_takes_one_as_well(void **state)
{
	struct cu_rig *rig = *state;
	struct su_queue q;
	struct ct_end a = { 0 }, p = { 0 };
	DAT_LMR_TRIPLET from;
	DAT_RMR_TRIPLET to;

	xu_need(rig, DAT_IB_ATTR_IMMED_DATA);
	su_open(rig, &q, 8);
	su_pair(rig, &a, &p, &q);
	su_fill(&q, 6, 6);
	from = ct_segment(&a.mem, 0, 8);
	to = ct_target(&p.mem, 0, 8);
	expect_ok(dat_ib_post_rdma_write_immed(a.ep, 1, &from, cu_cookie(2), &to, 0x1badcafe, 0));
	XDONE(p.recv, p.ep, 6, DAT_DTO_SUCCESS, DAT_IB_DTO_RECV_IMMED, DAT_IB_RDMA_WRITE_IMMED_DATA,
	      8, 0x1badcafe);
	if (rig->prov.srq_info_supported & 2)
		assert_int_equal(su_query(q.srq).outstanding_dto_count, 0);
}

/* ---- Counts ------------------------------------------------------------ */

/* ---- The end, threads -------------------------------------------------- */

/* IA-83, IA-84 */
static void ia_84_closing_with_queues_in_use(void **state)
{
	struct cu_rig *rig = *state;
	struct su_queue q;
	struct cu_rig other = { .ia = DAT_HANDLE_NULL };
	struct ct_end a = { 0 }, p = { 0 };
	struct ct_ia ia;

	su_need(rig);
	ct_open(&ia);
	other.ia = ia.ia;
	memcpy((void *)&other.prov, &ia.prov, sizeof(ia.prov)); /* has a const member */
	su_open(&other, &q, 8);
	su_end_open(&other, &p, &q);
	su_fill(&q, 0, 7);
	ct_end_open(&a, rig->ia, NULL);
	cu_establish(rig, &p, &a);
	expect_state(dat_ia_close(ia.ia, DAT_CLOSE_GRACEFUL_FLAG), IA_IN_USE);
	ct_close(&ia);
	cu_conn_ended(a.connect, a.ep);
	expect_handle(dat_srq_free(q.srq), SRQ);
	p.mem.lmr = q.mem.lmr = DAT_HANDLE_NULL;
	ct_mem_close(&p.mem);
	ct_mem_close(&q.mem);
}

#define MESSAGES 400
#define AHEAD	 4 /* of what was taken: the queue has receives for both connections */

struct taker {
	struct ct_end a, p;
	struct su_queue *queue;
	atomic_uint taken;
	unsigned failures, not_sent;
};

/* Takes its messages, and posts a new receive for each. */
static void *taker(void *arg)
{
	struct taker *t = arg;
	const DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	while (t->taken < MESSAGES) {
		if (dat_evd_dequeue(t->p.recv, &event) != DAT_SUCCESS)
			continue;
		dto = &event.event_data.dto_completion_event_data;
		t->failures += dto->status != DAT_DTO_SUCCESS || dto->ep_handle != t->p.ep ||
			       dto->transfered_length != 8;
		t->failures += su_post(t->queue, dto->user_cookie.as_64) != DAT_SUCCESS;
		t->taken++;
	}
	return NULL;
}

static void *sender(void *arg)
{
	struct taker *t = arg;
	DAT_EVENT event;

	for (uint64_t i = 0; i < MESSAGES; i++) {
		while (atomic_load(&t->taken) + AHEAD <= i)
			sched_yield();
		t->not_sent +=
			ct_post_send(&t->a, 0, 8, i, DAT_COMPLETION_DEFAULT_FLAG) != DAT_SUCCESS;
		while (dat_evd_dequeue(t->a.request, &event) != DAT_SUCCESS)
			;
	}
	return NULL;
}

/* DTO-6 with a provider that is thread safe */
static void srq_14_threads(void **state)
{
	struct cu_rig *rig = *state;
	struct su_queue q;
	struct taker t[2] = { { .taken = 0 } };
	pthread_t threads[4];

	su_open(rig, &q, 16);
	su_fill(&q, 0, 15);
	for (int i = 0; i < 2; i++) {
		t[i].queue = &q;
		su_pair(rig, &t[i].a, &t[i].p, &q);
	}
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pthread_create(&threads[i], NULL, taker, &t[i]), 0);
		assert_int_equal(pthread_create(&threads[2 + i], NULL, sender, &t[i]), 0);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 2; i++)
		assert_int_equal(t[i].failures + t[i].not_sent, 0);
	su_check_counts(rig, q.srq, 16, 16);
}

#define I(f) cmocka_unit_test_setup_teardown(f, cu_setup_ia, cu_teardown)

int main(int argc, char **argv)
{
	static const struct harness_child children[] = { { "last-receive", last_receive },
							 { NULL, NULL } };
	static const struct CMUnitTest tests[] = {
		I(srq_1_13_14_several_endpoints),
		I(srq_14_one_connections_messages_in_order),
		I(srq_15_an_empty_queue),
		I(srq_10_segments),
		I(srq_12_13_bad_memory),
		I(srq_13_a_message_too_long),
		I(dto_82_the_queue_is_not_flushed),
		I(fl_11_a_receive_that_is_cut_off),
		I(evt_28_the_last_receive_of_an_endpoint),
		I(ibx_47_immediate_data_takes_one_as_well),
		I(ia_84_closing_with_queues_in_use),
		I(srq_14_threads),
	};

	harness_child_main(argc, argv, children);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
