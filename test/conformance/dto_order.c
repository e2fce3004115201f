/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Order of requests and completions, queue slots, messages without a Receive (DTO-16, DTO-17,
 * DTO-33, DTO-64 to DTO-73, DTO-90). */
#include "conn_util.h"
#include "peer.h"

/* ---- Order ------------------------------------------------------------- */

static void dto_65_completions_in_posting_order(void **state)
{
	enum {
		N = 15
	};
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;
	static const DAT_DTOS ops[3] = { DAT_DTO_SEND, DAT_DTO_RDMA_WRITE, DAT_DTO_RDMA_READ };

	for (unsigned int round = 0; round < 20; round++) {
		for (unsigned int i = 0; i < N; i += 3)
			expect_ok(cu_recv(p, i * 64, 64, i));
		for (unsigned int i = 0; i < N; i++) {
			/* Short operations behind long ones. */
			size_t len = i % 2 ? 16 : 4096;

			if (ops[i % 3] == DAT_DTO_SEND)
				expect_ok(ct_post_send(a, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
			else if (ops[i % 3] == DAT_DTO_RDMA_WRITE)
				expect_ok(cu_write(a, 0, len, i, &p->mem, 8192,
						   DAT_COMPLETION_DEFAULT_FLAG));
			else
				expect_ok(cu_read(a, 32768, len, i, &p->mem, 0,
						  DAT_COMPLETION_DEFAULT_FLAG));
		}
		for (unsigned int i = 0; i < N; i++)
			DONE(a->request, a->ep, i, ops[i % 3], i % 3 == 0 ? 64 : i % 2 ? 16 : 4096);
		for (unsigned int i = 0; i < N; i += 3)
			DONE(p->recv, p->ep, i, DAT_DTO_RECEIVE, 64);
	}
}

static void dto_34_65_receives_in_posting_order(void **state)
{
	struct cu_rig *rig = *state;

	for (unsigned int round = 0; round < 30; round++) {
		for (unsigned int i = 0; i < 16; i++)
			expect_ok(cu_recv(&rig->p, i * 128, 128, i));
		for (unsigned int i = 0; i < 16; i++) {
			cu_fill(rig->a.mem.base + i * 128, i + 1, round + i);
			expect_ok(ct_post_send(&rig->a, i * 128, i + 1, i,
					       DAT_COMPLETION_DEFAULT_FLAG));
		}
		for (unsigned int i = 0; i < 16; i++) {
			DONE(rig->p.recv, rig->p.ep, i, DAT_DTO_RECEIVE, i + 1);
			FILLED(rig->p.mem.base + i * 128, i + 1, round + i);
			DONE(rig->a.request, rig->a.ep, i, DAT_DTO_SEND, i + 1);
		}
	}
}

static void dto_66_write_is_visible_before_a_later_send(void **state)
{
	struct cu_rig *rig = *state;

	for (unsigned int round = 0; round < 100; round++) {
		size_t len = 1 + round * 320;

		cu_fill(rig->a.mem.base, len, round);
		expect_ok(cu_recv(&rig->p, 60000, 64, round));
		expect_ok(
			cu_write(&rig->a, 0, len, 0, &rig->p.mem, 0, DAT_COMPLETION_SUPPRESS_FLAG));
		expect_ok(ct_post_send(&rig->a, 60000, 64, round, DAT_COMPLETION_DEFAULT_FLAG));
		DONE(rig->p.recv, rig->p.ep, round, DAT_DTO_RECEIVE, 64);
		FILLED(rig->p.mem.base, len, round);
		DONE(rig->a.request, rig->a.ep, round, DAT_DTO_SEND, 64);
	}
}

/* DTO-64 */
static void dto_67_68_the_later_write_wins_and_a_read_sees_it(void **state)
{
	struct cu_rig *rig = *state;

	for (unsigned int round = 0; round < 100; round++) {
		cu_fill(rig->a.mem.base, 4096, 1);
		cu_fill(rig->a.mem.base + 8192, 4096, round);
		expect_ok(cu_write(&rig->a, 0, 4096, 1, &rig->p.mem, 0,
				   DAT_COMPLETION_SUPPRESS_FLAG));
		expect_ok(cu_write(&rig->a, 8192, 4096, 2, &rig->p.mem, 0,
				   DAT_COMPLETION_SUPPRESS_FLAG));
		expect_ok(cu_read(&rig->a, 16384, 4096, 3, &rig->p.mem, 0,
				  DAT_COMPLETION_DEFAULT_FLAG));
		DONE(rig->a.request, rig->a.ep, 3, DAT_DTO_RDMA_READ, 4096);
		FILLED(rig->a.mem.base + 16384, 4096, round);
	}
}

static void dto_33_69_fenced_write_after_read(void **state)
{
	struct cu_rig *rig = *state;

	for (unsigned int round = 0; round < 50; round++) {
		cu_fill(rig->p.mem.base, 32768, round);
		cu_set(rig->a.mem.base, 0xdd, 32768);
		expect_ok(cu_read(&rig->a, 32768, 32768, 1, &rig->p.mem, 0,
				  DAT_COMPLETION_DEFAULT_FLAG));
		expect_ok(cu_write(&rig->a, 0, 32768, 2, &rig->p.mem, 0,
				   DAT_COMPLETION_BARRIER_FENCE_FLAG));
		DONE(rig->a.request, rig->a.ep, 1, DAT_DTO_RDMA_READ, 32768);
		FILLED(rig->a.mem.base + 32768, 32768, round);
		DONE(rig->a.request, rig->a.ep, 2, DAT_DTO_RDMA_WRITE, 32768);
		/* The write is in place when a later read has come back (DTO-68). */
		expect_ok(cu_read(&rig->a, 0, 1, 3, &rig->p.mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
		DONE(rig->a.request, rig->a.ep, 3, DAT_DTO_RDMA_READ, 1);
		ALL(rig->a.mem.base, 0xdd, 1);
	}
}

static void dto_70_fenced_send_forwards_what_was_read(void **state)
{
	struct cu_rig *rig = *state;

	for (unsigned int round = 0; round < 50; round++) {
		cu_fill(rig->p.mem.base, 16384, round);
		cu_set(rig->a.mem.base, 0, 16384);
		expect_ok(cu_recv(&rig->p, 32768, 16384, 7));
		expect_ok(cu_read(&rig->a, 0, 16384, 1, &rig->p.mem, 0,
				  DAT_COMPLETION_SUPPRESS_FLAG));
		expect_ok(ct_post_send(&rig->a, 0, 16384, 2, DAT_COMPLETION_BARRIER_FENCE_FLAG));
		DONE(rig->p.recv, rig->p.ep, 7, DAT_DTO_RECEIVE, 16384);
		FILLED(rig->p.mem.base + 32768, 16384, round);
		DONE(rig->a.request, rig->a.ep, 2, DAT_DTO_SEND, 16384);
	}
}

/* A message that its sender cannot get rid of before the peer posts a Receive. */
static DAT_LMR_TRIPLET big_message(struct cu_rig *rig, struct ct_end *end)
{
	return ct_segment(cu_extra_mem(rig, end->pz, CU_BIG, DAT_MEM_PRIV_LOCAL_READ_FLAG), 0,
			  CU_BIG);
}

static DAT_LMR_TRIPLET big_sink(struct cu_rig *rig, struct ct_end *end)
{
	return ct_segment(cu_extra_mem(rig, end->pz, CU_BIG, DAT_MEM_PRIV_LOCAL_WRITE_FLAG), 0,
			  CU_BIG);
}

static void dto_73_90_directions_are_independent(void **state)
{
	struct cu_rig *rig = *state;
	DAT_LMR_TRIPLET big = big_message(rig, &rig->a), sink = big_sink(rig, &rig->p);

	/* The one direction stalls for want of a Receive. */
	expect_ok(dat_ep_post_send(rig->a.ep, 1, &big, cu_cookie(0xb16),
				   DAT_COMPLETION_DEFAULT_FLAG));
	for (unsigned int i = 0; i < 50; i++) {
		expect_ok(cu_recv(&rig->a, 0, 64, i));
		expect_ok(ct_post_send(&rig->p, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
		DONE(rig->a.recv, rig->a.ep, i, DAT_DTO_RECEIVE, 64);
		DONE(rig->p.request, rig->p.ep, i, DAT_DTO_SEND, 64);
		expect_ok(cu_write(&rig->p, 0, 64, i, &rig->a.mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
		DONE(rig->p.request, rig->p.ep, i, DAT_DTO_RDMA_WRITE, 64);
	}
	cu_quiet(rig->a.request, 0);
	expect_ok(dat_ep_post_recv(rig->p.ep, 1, &sink, cu_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->p.recv, rig->p.ep, 1, DAT_DTO_RECEIVE, CU_BIG);
	DONE(rig->a.request, rig->a.ep, 0xb16, DAT_DTO_SEND, CU_BIG);
}

/* Far more than a transport keeps or buffers by itself, in messages that nobody receives. */
static void dto_73_90_reads_pass_messages_that_wait(void **state)
{
	enum {
		N = 4,
		LEN = 4 << 20
	};
	struct cu_rig *rig = *state;
	struct ct_mem *out = cu_extra_mem(rig, rig->p.pz, N * LEN, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	struct ct_mem *in = cu_extra_mem(rig, rig->a.pz, N * LEN, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
	DAT_LMR_TRIPLET iov;

	cu_fill(out->base, N * LEN, 90);
	cu_fill(rig->p.mem.base, 4096, 91);
	for (unsigned int i = 0; i < N; i++) {
		iov = ct_segment(out, i * LEN, LEN);
		expect_ok(dat_ep_post_send(rig->p.ep, 1, &iov, cu_cookie(i),
					   DAT_COMPLETION_SUPPRESS_FLAG));
	}
	/* Whether the other direction has come to a stop or not: one that is posted starts it. */
	cu_quiet(rig->a.recv, 200);
	for (unsigned int i = 0; i < 50; i++) {
		cu_set(rig->a.mem.base, 0, 4096);
		expect_ok(
			cu_read(&rig->a, 0, 4096, i, &rig->p.mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
		DONE(rig->a.request, rig->a.ep, i, DAT_DTO_RDMA_READ, 4096);
		FILLED(rig->a.mem.base, 4096, 91);
	}
	for (unsigned int i = 0; i < N; i++) {
		iov = ct_segment(in, i * LEN, LEN);
		expect_ok(dat_ep_post_recv(rig->a.ep, 1, &iov, cu_cookie(i),
					   DAT_COMPLETION_DEFAULT_FLAG));
		DONE(rig->a.recv, rig->a.ep, i, DAT_DTO_RECEIVE, LEN);
	}
	FILLED(in->base, N * LEN, 90);
}

static void dto_72_endpoints_do_not_wait_for_each_other(void **state)
{
	struct cu_rig *rig = *state;
	DAT_LMR_TRIPLET big = big_message(rig, &rig->a);
	struct ct_end a = { .recv = rig->a.recv,
			    .request = rig->a.request,
			    .connect = rig->a.connect };
	struct ct_end p = { .recv = rig->p.recv,
			    .request = rig->p.request,
			    .connect = rig->p.connect };

	/* A second connection on the same EVDs. */
	ct_end_open(&a, rig->ia, NULL);
	ct_end_open(&p, rig->ia, NULL);
	cu_establish(rig, &a, &p);
	expect_ok(dat_ep_post_send(rig->a.ep, 1, &big, cu_cookie(0xb16),
				   DAT_COMPLETION_DEFAULT_FLAG));
	for (unsigned int i = 0; i < 50; i++) {
		expect_ok(cu_recv(&p, 0, 64, i));
		expect_ok(ct_post_send(&a, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
		DONE(a.request, a.ep, i, DAT_DTO_SEND, 64);
		DONE(p.recv, p.ep, i, DAT_DTO_RECEIVE, 64);
	}
	expect_ok(dat_ep_free(a.ep));
	expect_ok(dat_ep_free(p.ep));
	ct_mem_close(&a.mem);
	ct_mem_close(&p.mem);
}

/* ---- Messages without a Receive ---------------------------------------- */

static void dto_90_small_messages_wait_for_receives(void **state)
{
	struct cu_rig *rig = *state;

	for (unsigned int i = 0; i < 16; i++) {
		cu_fill(rig->a.mem.base + i * 64, 64, i);
		expect_ok(ct_post_send(&rig->a, i * 64, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
	}
	cu_quiet(rig->p.recv, 100);
	cu_quiet(rig->a.connect, 0);
	cu_quiet(rig->p.connect, 0);
	STATE(rig->a.ep, CONNECTED);
	STATE(rig->p.ep, CONNECTED);
	for (unsigned int i = 0; i < 16; i++) {
		expect_ok(cu_recv(&rig->p, i * 64, 64, 100 + i));
		DONE(rig->p.recv, rig->p.ep, 100 + i, DAT_DTO_RECEIVE, 64);
		FILLED(rig->p.mem.base + i * 64, 64, i);
	}
	for (unsigned int i = 0; i < 16; i++)
		DONE(rig->a.request, rig->a.ep, i, DAT_DTO_SEND, 64);
}

static void dto_90_requests_stall_behind_a_message(void **state)
{
	struct cu_rig *rig = *state;
	DAT_LMR_TRIPLET big = big_message(rig, &rig->a), sink = big_sink(rig, &rig->p);

	cu_set(rig->p.mem.base, 0, 64);
	cu_set(rig->a.mem.base, 7, 64);
	expect_ok(dat_ep_post_send(rig->a.ep, 1, &big, cu_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(cu_write(&rig->a, 0, 64, 2, &rig->p.mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(cu_read(&rig->a, 4096, 64, 3, &rig->p.mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
	cu_quiet(rig->a.request, 200);
	ALL(rig->p.mem.base, 0, 64);
	expect_ok(dat_ep_post_recv(rig->p.ep, 1, &sink, cu_cookie(9), DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->a.request, rig->a.ep, 1, DAT_DTO_SEND, CU_BIG);
	DONE(rig->a.request, rig->a.ep, 2, DAT_DTO_RDMA_WRITE, 64);
	DONE(rig->a.request, rig->a.ep, 3, DAT_DTO_RDMA_READ, 64);
	ALL(rig->a.mem.base + 4096, 7, 64);
	DONE(rig->p.recv, rig->p.ep, 9, DAT_DTO_RECEIVE, CU_BIG);
}

/* ---- Slots ------------------------------------------------------------- */

#define FULL(call) expect(call, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY)

static void dto_16_receive_slots(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EP_PARAM param;

	expect_ok(dat_ep_query(rig->p.ep, DAT_EP_FIELD_ALL, &param));
	for (int i = 0; i < param.ep_attr.max_recv_dtos; i++)
		expect_ok(cu_recv(&rig->p, 0, 64, (uint64_t)i));
	FULL(cu_recv(&rig->p, 0, 64, 99));
	STATE(rig->p.ep, CONNECTED);
	/* One that has completed and been taken makes room for one. */
	expect_ok(ct_post_send(&rig->a, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->p.recv, rig->p.ep, 0, DAT_DTO_RECEIVE, 64);
	expect_ok(cu_recv(&rig->p, 0, 64, 99));
	FULL(cu_recv(&rig->p, 0, 64, 100));
}

/* DTO-1 */
static void dto_16_request_slots(void **state)
{
	struct cu_rig *rig = *state;
	DAT_LMR_TRIPLET big = big_message(rig, &rig->a), sink = big_sink(rig, &rig->p);
	DAT_EP_PARAM param;
	unsigned int n;

	expect_ok(dat_ep_query(rig->a.ep, DAT_EP_FIELD_ALL, &param));
	n = (unsigned int)param.ep_attr.max_request_dtos;
	assert_true(n <= 64);
	for (unsigned int round = 0; round < 3; round++) {
		uint64_t begun = ct_now_us();

		expect_ok(dat_ep_post_send(rig->a.ep, 1, &big, cu_cookie(0),
					   DAT_COMPLETION_DEFAULT_FLAG));
		for (unsigned int i = 1; i < n; i++)
			expect_ok(cu_write(&rig->a, 0, 64, i, &rig->p.mem, 0,
					   DAT_COMPLETION_DEFAULT_FLAG));
		FULL(cu_write(&rig->a, 0, 64, 99, &rig->p.mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
		FULL(ct_post_send(&rig->a, 0, 64, 99, DAT_COMPLETION_SUPPRESS_FLAG));
		FULL(cu_read(&rig->a, 0, 64, 99, &rig->p.mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
		/* DTO-4: whatever the peer does. */
		assert_true(ct_now_us() - begun < 2000000);
		expect_ok(dat_ep_post_recv(rig->p.ep, 1, &sink, cu_cookie(1),
					   DAT_COMPLETION_DEFAULT_FLAG));
		DONE(rig->a.request, rig->a.ep, 0, DAT_DTO_SEND, CU_BIG);
		for (unsigned int i = 1; i < n; i++)
			DONE(rig->a.request, rig->a.ep, i, DAT_DTO_RDMA_WRITE, 64);
		DONE(rig->p.recv, rig->p.ep, 1, DAT_DTO_RECEIVE, CU_BIG);
		/* DTO-3 */
		cu_quiet(rig->a.request, 0);
	}
}

static void dto_17_one_signalled_per_queue_suffices(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EP_PARAM param;
	int n;

	expect_ok(dat_ep_query(rig->a.ep, DAT_EP_FIELD_ALL, &param));
	n = param.ep_attr.max_request_dtos;
	for (unsigned int round = 0; round < 200; round++) {
		for (int i = 0; i < n - 1; i++)
			expect_ok(cu_write(&rig->a, 0, 64, 1, &rig->p.mem, 0,
					   DAT_COMPLETION_SUPPRESS_FLAG));
		expect_ok(cu_write(&rig->a, 0, 64, round, &rig->p.mem, 0,
				   DAT_COMPLETION_DEFAULT_FLAG));
		DONE(rig->a.request, rig->a.ep, round, DAT_DTO_RDMA_WRITE, 64);
	}
	cu_quiet(rig->a.request, 0);
}

static void dto_17_suppressed_only(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EP_PARAM param;
	DAT_RETURN rc = DAT_SUCCESS;
	int n, accepted;

	expect_ok(dat_ep_query(rig->a.ep, DAT_EP_FIELD_ALL, &param));
	n = param.ep_attr.max_request_dtos;
	for (accepted = 0; accepted < 10 * n && rc == DAT_SUCCESS; accepted++)
		rc = cu_write(&rig->a, 0, 64, 1, &rig->p.mem, 0, DAT_COMPLETION_SUPPRESS_FLAG);
	if (rc != DAT_SUCCESS) {
		FULL(rc);
		assert_true(accepted > n);
	}
	STATE(rig->a.ep, CONNECTED);
	cu_quiet(rig->a.request, 50);
}

/* Where the transport can tell, and all are over, there is room again: as often as one likes. */
static void dto_17_suppressed_ones_that_are_over_give_room(void **state)
{
	struct cu_rig *rig = *state;
	uint64_t until = ct_now_us() + CT_US;
	DAT_EP_PARAM param;
	DAT_RETURN rc;
	int i;

	expect_ok(dat_ep_query(rig->a.ep, DAT_EP_FIELD_ALL, &param));
	for (i = 0; i < 10 * param.ep_attr.max_request_dtos;) {
		rc = cu_write(&rig->a, 0, 64, 1, &rig->p.mem, 0, DAT_COMPLETION_SUPPRESS_FLAG);
		if (rc == DAT_SUCCESS)
			i++;
		else
			FULL(rc);
		assert_true(ct_now_us() < until);
	}
	/* Nothing was lost or told twice: the next one that tells is the next one told. */
	expect_ok(cu_write(&rig->a, 0, 64, 77, &rig->p.mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->a.request, rig->a.ep, 77, DAT_DTO_RDMA_WRITE, 64);
	cu_quiet(rig->a.request, 50);
}

#define C(f) cmocka_unit_test_setup_teardown(f, cu_setup_connected, cu_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		C(dto_65_completions_in_posting_order),
		C(dto_34_65_receives_in_posting_order),
		C(dto_66_write_is_visible_before_a_later_send),
		C(dto_67_68_the_later_write_wins_and_a_read_sees_it),
		C(dto_33_69_fenced_write_after_read),
		C(dto_70_fenced_send_forwards_what_was_read),
		C(dto_73_90_directions_are_independent),
		C(dto_73_90_reads_pass_messages_that_wait),
		C(dto_72_endpoints_do_not_wait_for_each_other),
		C(dto_90_small_messages_wait_for_receives),
		C(dto_90_requests_stall_behind_a_message),
		C(dto_16_receive_slots),
		C(dto_16_request_slots),
		C(dto_17_one_signalled_per_queue_suffices),
		C(dto_17_suppressed_only),
		C(dto_17_suppressed_ones_that_are_over_give_room),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
