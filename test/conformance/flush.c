/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What becomes of outstanding work when a connection ends (FL-1 to FL-15, DTO-74 to DTO-81). */
#include "conn_util.h"

enum {
	RECVS = 12,
	WRITES = 12,
	CHUNK = 4 * 1024 * 1024, /* bytes of one large write */
};

/* ---- FL-T1 ------------------------------------------------------------- */

struct account {
	unsigned int total, good;
	bool failed; /* FL-2: from the first failure on all fail */
};

/* One completion of a direction: in posting order, and no success after a failure. */
static void count(struct account *account, const DAT_DTO_COMPLETION_EVENT_DATA *done,
		  DAT_EP_HANDLE ep)
{
	assert_ptr_equal(done->ep_handle, ep);
	assert_int_equal(done->user_cookie.as_64, account->total);
	account->total++;
	if (done->status == DAT_DTO_SUCCESS) {
		assert_false(account->failed);
		account->good++;
	} else {
		account->failed = true;
	}
}

static void collect(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, unsigned int n, struct account *account)
{
	memset(account, 0, sizeof(*account));
	while (account->total < n) {
		DAT_DTO_COMPLETION_EVENT_DATA done = cu_completion(evd);

		count(account, &done, ep);
	}
	cu_quiet(evd, 50);
}

static void post_work(struct cu_rig *rig, unsigned int writes)
{
	struct ct_mem *from = cu_extra_mem(rig, rig->a.pz, CHUNK, DAT_MEM_PRIV_ALL_FLAG);
	struct ct_mem *to = cu_extra_mem(rig, rig->p.pz, CHUNK, DAT_MEM_PRIV_ALL_FLAG);
	DAT_LMR_TRIPLET seg = ct_segment(from, 0, CHUNK);
	DAT_RMR_TRIPLET target = ct_target(to, 0, CHUNK);

	for (unsigned int i = 0; i < RECVS; i++)
		expect_ok(cu_recv(&rig->a, 0, 64, i));
	for (unsigned int i = 0; i < writes; i++)
		expect_ok(dat_ep_post_rdma_write(rig->a.ep, 1, &seg, cu_cookie(i), &target,
						 DAT_COMPLETION_DEFAULT_FLAG));
}

static void check_flushed(struct cu_rig *rig, unsigned int writes)
{
	struct account recvs, requests;

	collect(rig->a.recv, rig->a.ep, RECVS, &recvs);
	assert_int_equal(recvs.good, 0);
	collect(rig->a.request, rig->a.ep, writes, &requests);
	print_message("# %u of %u writes had been done\n", requests.good, writes);
	cu_quiet(rig->a.connect, CU_QUIET);
}

/* DTO-74 */
static void fl_t1_local_disconnect(void **state)
{
	struct cu_rig *rig = *state;

	post_work(rig, WRITES);
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	STATE(rig->a.ep, DISCONNECTED);
	check_flushed(rig, WRITES);
	cu_conn_ended(rig->p.connect, rig->p.ep);
}

/* DTO-74 */
static void fl_t1_peer_disconnects(void **state)
{
	struct cu_rig *rig = *state;

	post_work(rig, WRITES);
	expect_ok(dat_ep_disconnect(rig->p.ep, DAT_CLOSE_ABRUPT_FLAG));
	cu_conn_ended(rig->a.connect, rig->a.ep);
	check_flushed(rig, WRITES);
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
}

static void fl_t1_peer_frees_its_endpoint(void **state)
{
	struct cu_rig *rig = *state;

	post_work(rig, WRITES);
	expect_ok(dat_ep_free(rig->p.ep));
	cu_conn_ended(rig->a.connect, rig->a.ep);
	check_flushed(rig, WRITES);
}

static void fl_t1_receives_only(void **state)
{
	struct cu_rig *rig = *state;

	post_work(rig, 0);
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	check_flushed(rig, 0);
}

static void fl_t1_receives_only_graceful(void **state)
{
	struct cu_rig *rig = *state;

	post_work(rig, 0);
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	check_flushed(rig, 0);
}

/* ---- FL-T2, FL-12 ------------------------------------------------------ */

static void fl_t2_graceful_completes_what_was_posted(void **state)
{
	enum {
		K = 12,
		LEN = 5000
	};
	struct cu_rig *rig = *state;

	for (unsigned int i = 0; i < K; i++) {
		cu_fill(rig->a.mem.base + i * LEN, LEN, i);
		expect_ok(cu_recv(&rig->p, i * LEN, LEN, i));
	}
	for (unsigned int i = 0; i < K; i++)
		expect_ok(ct_post_send(&rig->a, i * LEN, LEN, i, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	for (unsigned int i = 0; i < K; i++)
		DONE(rig->a.request, rig->a.ep, i, DAT_DTO_SEND, LEN);
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	for (unsigned int i = 0; i < K; i++) {
		DONE(rig->p.recv, rig->p.ep, i, DAT_DTO_RECEIVE, LEN);
		FILLED(rig->p.mem.base + i * LEN, LEN, i);
	}
	cu_quiet(rig->a.connect, CU_QUIET);
}

/* Puts a into DP: a message nobody receives. */
static void pend(struct cu_rig *rig)
{
	struct ct_mem *big = cu_extra_mem(rig, rig->a.pz, CU_BIG, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	DAT_LMR_TRIPLET seg = ct_segment(big, 0, CU_BIG);

	expect_ok(dat_ep_post_send(rig->a.ep, 1, &seg, cu_cookie(0xb16),
				   DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	STATE(rig->a.ep, DISCONNECT_PENDING);
}

static void fl_12_messages_that_arrive_while_pending(void **state)
{
	struct cu_rig *rig = *state;

	for (unsigned int i = 0; i < 4; i++)
		expect_ok(cu_recv(&rig->a, i * 64, 64, i));
	pend(rig);
	for (unsigned int i = 0; i < 3; i++) {
		cu_fill(rig->p.mem.base + i * 64, 64, i);
		expect_ok(ct_post_send(&rig->p, i * 64, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
		DONE(rig->p.request, rig->p.ep, i, DAT_DTO_SEND, 64);
		DONE(rig->a.recv, rig->a.ep, i, DAT_DTO_RECEIVE, 64);
		FILLED(rig->a.mem.base + i * 64, 64, i);
	}
	expect_state(ct_post_send(&rig->a, 0, 64, 9, DAT_COMPLETION_DEFAULT_FLAG), EP_DISCPENDING);
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	FLUSHED(rig->a.recv, rig->a.ep, 3, DAT_DTO_RECEIVE);
	FLUSHED(rig->a.request, rig->a.ep, 0xb16, DAT_DTO_SEND);
}

static void dto_77_receives_posted_while_pending(void **state)
{
	struct cu_rig *rig = *state;

	pend(rig);
	expect_ok(cu_recv(&rig->a, 0, 64, 1));
	expect_ok(cu_recv(&rig->a, 0, 64, 2));
	expect_ok(ct_post_send(&rig->p, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->a.recv, rig->a.ep, 1, DAT_DTO_RECEIVE, 64);
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	FLUSHED(rig->a.recv, rig->a.ep, 2, DAT_DTO_RECEIVE);
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
}

/* ---- Flags, order, posts in D ------------------------------------------ */

static void fl_4_dto_76_suppressed_requests_are_reported_when_flushed(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_mem *big = cu_extra_mem(rig, rig->a.pz, CU_BIG, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	DAT_LMR_TRIPLET seg = ct_segment(big, 0, CU_BIG);

	/* One that succeeds is not reported; those behind the message are. */
	expect_ok(cu_write(&rig->a, 0, 64, 50, &rig->p.mem, 0, DAT_COMPLETION_SUPPRESS_FLAG));
	expect_ok(cu_read(&rig->a, 0, 64, 51, &rig->p.mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->a.request, rig->a.ep, 51, DAT_DTO_RDMA_READ, 64);
	expect_ok(dat_ep_post_send(rig->a.ep, 1, &seg, cu_cookie(0), DAT_COMPLETION_SUPPRESS_FLAG));
	for (unsigned int i = 1; i < 6; i++)
		expect_ok(cu_write(&rig->a, 0, 64, i, &rig->p.mem, 0,
				   i % 2 ? DAT_COMPLETION_SUPPRESS_FLAG
					 : DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	FLUSHED(rig->a.request, rig->a.ep, 0, DAT_DTO_SEND);
	for (unsigned int i = 1; i < 6; i++)
		FLUSHED(rig->a.request, rig->a.ep, i, DAT_DTO_RDMA_WRITE);
	cu_quiet(rig->a.request, 50);
}

static void fl_8_posts_in_disconnected(void **state)
{
	struct cu_rig *rig = *state;

	for (unsigned int i = 0; i < 4; i++)
		expect_ok(cu_recv(&rig->a, 0, 64, i));
	cu_end_connection(&rig->a, &rig->p);
	for (unsigned int i = 4; i < 8; i++) {
		expect_ok(cu_recv(&rig->a, 0, 64, i));
		expect_ok(
			cu_write(&rig->a, 0, 64, i, &rig->p.mem, 0, DAT_COMPLETION_SUPPRESS_FLAG));
	}
	for (unsigned int i = 0; i < 8; i++)
		FLUSHED(rig->a.recv, rig->a.ep, i, DAT_DTO_RECEIVE);
	for (unsigned int i = 4; i < 8; i++)
		FLUSHED(rig->a.request, rig->a.ep, i, DAT_DTO_RDMA_WRITE);
	/* Many more than the queue is deep, if they are taken. */
	for (unsigned int i = 0; i < 100; i++) {
		expect_ok(cu_recv(&rig->a, 0, 64, i));
		FLUSHED(rig->a.recv, rig->a.ep, i, DAT_DTO_RECEIVE);
	}
}

static void fl_8_a_full_queue_in_disconnected(void **state)
{
	struct cu_rig *rig = *state;

	cu_end_connection(&rig->a, &rig->p);
	for (unsigned int i = 0; i < 16; i++)
		expect_ok(cu_recv(&rig->a, 0, 64, i));
	for (unsigned int i = 0; i < 16; i++)
		FLUSHED(rig->a.recv, rig->a.ep, i, DAT_DTO_RECEIVE);
}

/* ---- Everything on one EVD --------------------------------------------- */

static int setup_merged(void **state)
{
	struct cu_rig *rig;

	cu_setup_ia(state);
	rig = *state;
	cu_end_open_merged(rig, &rig->a, NULL);
	cu_end_open_merged(rig, &rig->p, NULL);
	cu_establish(rig, &rig->a, &rig->p);
	return 0;
}

/* Reads all events of an end up to the flush of n Receives; the number of successes. */
static unsigned int successes_before_the_end(struct ct_end *end, unsigned int n)
{
	unsigned int good = 0, flushed = 0, ended = 0;
	DAT_EVENT event;

	while (flushed < n || ended == 0) {
		assert_true(cu_next(end->recv, CT_MS, &event));
		if (event.event_number != DAT_DTO_COMPLETION_EVENT) {
			assert_int_equal(event.event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
			ended++;
		} else if (event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS) {
			/* FL-5 */
			assert_int_equal(ended, 0);
			good++;
		} else {
			flushed++;
		}
	}
	assert_int_equal(ended, 1);
	cu_quiet(end->recv, 50);
	return good;
}

static void fl_5_successes_come_before_disconnected(void **state)
{
	enum {
		K = 8,
		SPARE = 4
	};
	struct cu_rig *rig = *state;

	for (unsigned int round = 0; round < 30; round++) {
		for (unsigned int i = 0; i < K + SPARE; i++)
			expect_ok(cu_recv(&rig->p, 0, 1024, i));
		for (unsigned int i = 0; i < K; i++)
			expect_ok(ct_post_send(&rig->a, 0, 1024, i, DAT_COMPLETION_DEFAULT_FLAG));
		expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_GRACEFUL_FLAG));
		assert_int_equal(successes_before_the_end(&rig->p, SPARE), K);
		assert_int_equal(successes_before_the_end(&rig->a, 0), K);
		expect_ok(dat_ep_reset(rig->a.ep));
		expect_ok(dat_ep_reset(rig->p.ep));
		cu_establish(rig, &rig->a, &rig->p);
	}
}

static void fl_7_the_faulty_completion_comes_before_broken(void **state)
{
	struct cu_rig *rig = *state;
	DAT_LMR_TRIPLET seg = ct_segment(&rig->a.mem, 0, 64);
	DAT_EVENT event;

	seg.lmr_context ^= 0x5a5a5a00;
	expect_ok(dat_ep_post_send(rig->a.ep, 1, &seg, cu_cookie(3), DAT_COMPLETION_DEFAULT_FLAG));
	assert_true(cu_next(rig->a.recv, CT_MS, &event));
	assert_int_equal(event.event_number, DAT_DTO_COMPLETION_EVENT);
	assert_int_equal(event.event_data.dto_completion_event_data.status,
			 DAT_DTO_ERR_LOCAL_PROTECTION);
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_BROKEN, NULL);
}

static void fl_14_established_comes_before_receives(void **state)
{
	struct cu_rig *rig = *state;

	for (unsigned int round = 0; round < 50; round++) {
		expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_ABRUPT_FLAG));
		cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
		cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
		expect_ok(dat_ep_reset(rig->a.ep));
		expect_ok(dat_ep_reset(rig->p.ep));
		expect_ok(cu_recv(&rig->a, 0, 64, round));
		expect_ok(dat_cr_accept(cu_request(rig, &rig->a), rig->p.ep, 0, NULL));
		cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
		expect_ok(ct_post_send(&rig->p, 0, 64, round, DAT_COMPLETION_DEFAULT_FLAG));
		cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
		DONE(rig->a.recv, rig->a.ep, round, DAT_DTO_RECEIVE, 64);
		DONE(rig->p.recv, rig->p.ep, round, DAT_DTO_SEND, 64);
	}
}

/* ---- Delivery ---------------------------------------------------------- */

static void fl_13_what_was_sent_is_delivered(void **state)
{
	enum {
		K = 10
	};
	struct cu_rig *rig = *state;

	for (unsigned int round = 0; round < 50; round++) {
		for (unsigned int i = 0; i < 16; i++)
			expect_ok(cu_recv(&rig->p, i * 2048, 2048, i));
		for (unsigned int i = 0; i < K; i++) {
			cu_fill(rig->a.mem.base + i * 2048, 2048, round + i);
			expect_ok(ct_post_send(&rig->a, i * 2048, 2048, i,
					       DAT_COMPLETION_DEFAULT_FLAG));
		}
		for (unsigned int i = 0; i < K; i++)
			DONE(rig->a.request, rig->a.ep, i, DAT_DTO_SEND, 2048);
		expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_ABRUPT_FLAG));
		for (unsigned int i = 0; i < K; i++) {
			DONE(rig->p.recv, rig->p.ep, i, DAT_DTO_RECEIVE, 2048);
			FILLED(rig->p.mem.base + i * 2048, 2048, round + i);
		}
		for (unsigned int i = K; i < 16; i++)
			FLUSHED(rig->p.recv, rig->p.ep, i, DAT_DTO_RECEIVE);
		cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
		cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
		expect_ok(dat_ep_reset(rig->a.ep));
		expect_ok(dat_ep_reset(rig->p.ep));
		cu_establish(rig, &rig->a, &rig->p);
	}
}

static void fl_15_an_evd_that_overflows(void **state)
{
	enum {
		MANY = 1024
	};
	struct cu_rig *rig = *state;
	struct ct_end a = { 0 };
	DAT_EP_ATTR attr;
	DAT_EVENT event;
	unsigned int many = (unsigned int)rig->attr.max_dto_per_ep, q, left = 0;

	many = many < MANY ? many : MANY;
	a.recv = ct_evd(rig->ia, 1, NULL, DAT_EVD_DTO_FLAG);
	q = (unsigned int)ct_evd_param(a.recv).evd_qlen;
	assert_in_range(q, 1, many / 2);
	ct_default_attr(rig->ia, &attr);
	attr.max_recv_dtos = (DAT_COUNT)many;
	ct_end_open(&a, rig->ia, &attr);
	cu_end_connection(&rig->a, &rig->p);
	expect_ok(dat_ep_reset(rig->p.ep));
	cu_establish(rig, &a, &rig->p);
	for (unsigned int i = 0; i < many; i++)
		expect_ok(cu_recv(&a, 0, 64, i));
	expect_ok(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG));
	cu_conn_event(a.connect, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	STATE(a.ep, DISCONNECTED);
	ct_next(rig->async, DAT_ASYNC_ERROR_EVD_OVERFLOW, &event);
	assert_ptr_equal(event.event_data.asynch_error_event_data.dat_handle, a.recv);
	/* EVD-93: the first are there, as many as the queue is long at least; the last are lost. */
	while (dat_evd_dequeue(a.recv, &event) == DAT_SUCCESS) {
		assert_int_equal(event.event_data.dto_completion_event_data.user_cookie.as_64,
				 left);
		left++;
	}
	print_message("# queue length %u, %u events left of %u\n", q, left, many);
	assert_in_range(left, q, many - 1);
	cu_quiet(a.recv, 50);
	ct_end_close(&a);
}

/* DTO-81 */
static void fl_6_the_flush_needs_no_further_call(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_waiter *waiter;

	for (unsigned int i = 0; i < 8; i++)
		expect_ok(cu_recv(&rig->a, 0, 64, i));
	waiter = ct_evd_waiter(rig->a.recv, 5000000, 8);
	expect_ok(dat_ep_disconnect(rig->p.ep, DAT_CLOSE_ABRUPT_FLAG));
	ct_waiter_join(waiter);
	expect_ok(waiter->rc);
	assert_int_equal(waiter->more, 7);
	assert_true(waiter->elapsed_us < 5000000);
}

#define C(f) cmocka_unit_test_setup_teardown(f, cu_setup_connected, cu_teardown)
#define M(f) cmocka_unit_test_setup_teardown(f, setup_merged, cu_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		C(fl_t1_local_disconnect),
		C(fl_t1_peer_disconnects),
		C(fl_t1_peer_frees_its_endpoint),
		C(fl_t1_receives_only),
		C(fl_t1_receives_only_graceful),
		C(fl_t2_graceful_completes_what_was_posted),
		C(fl_12_messages_that_arrive_while_pending),
		C(dto_77_receives_posted_while_pending),
		C(fl_4_dto_76_suppressed_requests_are_reported_when_flushed),
		C(fl_8_posts_in_disconnected),
		C(fl_8_a_full_queue_in_disconnected),
		M(fl_5_successes_come_before_disconnected),
		M(fl_7_the_faulty_completion_comes_before_broken),
		M(fl_14_established_comes_before_receives),
		C(fl_13_what_was_sent_is_delivered),
		C(fl_15_an_evd_that_overflows),
		C(fl_6_the_flush_needs_no_further_call),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
