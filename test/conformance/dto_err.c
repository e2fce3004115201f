/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The error matrix: who sees what when a transfer is faulty (DTO-38, DTO-83 to DTO-89). */
#include "conn_util.h"
#include "peer.h"

/* Besides the pair under test a second one on the same EVDs, which must not notice (DTO-89). */
struct scene {
	struct cu_rig *rig;
	struct ct_end *a, *p; /* initiator and target of the faulty operation */
	struct ct_end other_a, other_p;
};

static int setup(void **state)
{
	struct scene *s = test_calloc(1, sizeof(*s));
	void *rig;

	cu_setup_connected(&rig);
	s->rig = rig;
	s->a = &s->rig->a;
	s->p = &s->rig->p;
	ct_end_open(&s->other_a, s->rig->ia, NULL);
	ct_end_open(&s->other_p, s->rig->ia, NULL);
	cu_establish(s->rig, &s->other_a, &s->other_p);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;
	void *rig = s->rig;

	test_free(s);
	*state = NULL;
	return cu_teardown(&rig);
}

/* ---- What every fault has in common ------------------------------------ */

static void others_go_on(struct scene *s)
{
	struct ct_end *a = &s->other_a, *p = &s->other_p;

	STATE(a->ep, CONNECTED);
	STATE(p->ep, CONNECTED);
	cu_fill(a->mem.base, 4096, 8);
	expect_ok(cu_recv(p, 0, 4096, 1));
	expect_ok(ct_post_send(a, 0, 4096, 2, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(a->request, a->ep, 2, DAT_DTO_SEND, 4096);
	DONE(p->recv, p->ep, 1, DAT_DTO_RECEIVE, 4096);
	FILLED(p->mem.base, 4096, 8);
	cu_quiet(a->connect, 0);
	cu_quiet(p->connect, 0);
}

/* EP-144, DTO-85: the side that found the fault says BROKEN, the other may say DISCONNECTED. */
static void both_end(struct scene *s, struct ct_end *finder)
{
	DAT_EVENT_NUMBER a = cu_conn_ended(s->a->connect, s->a->ep);
	DAT_EVENT_NUMBER p = cu_conn_ended(s->p->connect, s->p->ep);

	if (finder == s->a)
		assert_int_equal(a, DAT_CONNECTION_EVENT_BROKEN);
	else
		assert_int_equal(p, DAT_CONNECTION_EVENT_BROKEN);
	cu_quiet(s->a->connect, 50);
	cu_quiet(s->p->connect, 0);
	others_go_on(s);
}

/* Three requests behind the faulty one: flushed, in order (DTO-75). */
static void post_followers(struct scene *s)
{
	for (unsigned int i = 0; i < 3; i++)
		expect_ok(cu_write(s->a, 0, 64, 200 + i, &s->p->mem, 4096,
				   DAT_COMPLETION_DEFAULT_FLAG));
}

/*
 * The requests after the faulty one are flushed. When the initiator does not find the fault itself,
 * a prefix of them may have gone out before it heard of it (DTO-86).
 */
static void followers_are_flushed(struct scene *s, bool prefix)
{
	for (unsigned int i = 0; i < 3; i++) {
		DAT_DTO_COMPLETION_EVENT_DATA done = cu_completion(s->a->request);

		assert_int_equal(done.user_cookie.as_64, 200 + i);
		if (!prefix || done.status != DAT_DTO_SUCCESS) {
			assert_int_equal(done.status, DAT_DTO_ERR_FLUSHED);
			prefix = false;
		}
	}
	cu_quiet(s->a->request, 0);
}

/* The completion of the faulty request: exactly one, of this status. lenient: or a success
 * (DTO-86). */
static void faulty(struct scene *s, uint64_t cookie, DAT_DTO_COMPLETION_STATUS status, bool lenient)
{
	DAT_DTO_COMPLETION_EVENT_DATA done = cu_completion(s->a->request);

	assert_ptr_equal(done.ep_handle, s->a->ep);
	assert_int_equal(done.user_cookie.as_64, cookie);
	if (!lenient || done.status != DAT_DTO_SUCCESS)
		assert_int_equal(done.status, status);
	print_message("# status %d\n", done.status);
}

/* ---- Local segments of requests ---------------------------------------- */

enum op {
	SEND,
	WRITE,
	READ,
	NUM_OPS
};

static DAT_RETURN post(struct scene *s, enum op op, DAT_LMR_TRIPLET seg, DAT_COMPLETION_FLAGS flags)
{
	DAT_RMR_TRIPLET target = ct_target(&s->p->mem, 0, seg.segment_length);

	if (op == SEND)
		return dat_ep_post_send(s->a->ep, 1, &seg, cu_cookie(77), flags);
	if (op == WRITE)
		return dat_ep_post_rdma_write(s->a->ep, 1, &seg, cu_cookie(77), &target, flags);
	return dat_ep_post_rdma_read(s->a->ep, 1, &seg, cu_cookie(77), &target, flags);
}

/* A request before, the faulty one, requests after it. The target's Receives are flushed, none is
 * used. */
static void bad_local(void **state, enum op op, DAT_LMR_TRIPLET seg)
{
	struct scene *s = *state;
	DAT_DTO_COMPLETION_STATUS want = DAT_DTO_ERR_LOCAL_PROTECTION;

	expect_ok(cu_recv(s->p, 0, 4096, 1));
	expect_ok(cu_write(s->a, 0, 64, 1, &s->p->mem, 4096, DAT_COMPLETION_DEFAULT_FLAG));
	/* DTO-26: suppressed or not. */
	expect_ok(post(s, op, seg,
		       op == WRITE ? DAT_COMPLETION_SUPPRESS_FLAG : DAT_COMPLETION_DEFAULT_FLAG));
	post_followers(s);
	DONE(s->a->request, s->a->ep, 1, DAT_DTO_RDMA_WRITE, 64);
	faulty(s, 77, want, false);
	followers_are_flushed(s, false);
	FLUSHED(s->p->recv, s->p->ep, 1, DAT_DTO_RECEIVE);
	both_end(s, s->a);
}

/* The scene anew for each operation: a test has one, the others are made here. */
static void for_each_op(void **state, DAT_LMR_TRIPLET (*segment)(struct scene *), enum op first)
{
	for (enum op op = first; op < NUM_OPS; op++) {
		void *own;

		print_message("# operation %d\n", op);
		setup(&own);
		bad_local(&own, op, segment(own));
		teardown(&own);
	}
	(void)state;
}

static DAT_LMR_TRIPLET unknown_context(struct scene *s)
{
	DAT_LMR_TRIPLET seg = ct_segment(&s->a->mem, 0, 64);

	seg.lmr_context ^= 0x5a5a5a00;
	return seg;
}

static DAT_LMR_TRIPLET zero_context(struct scene *s)
{
	DAT_LMR_TRIPLET seg = ct_segment(&s->a->mem, 0, 64);

	seg.lmr_context = 0;
	return seg;
}

static DAT_LMR_TRIPLET beyond_the_end(struct scene *s)
{
	return ct_segment(&s->a->mem, s->a->mem.len - 63, 64);
}

static DAT_LMR_TRIPLET before_the_start(struct scene *s)
{
	DAT_LMR_TRIPLET seg = ct_segment(&s->a->mem, 0, 64);

	seg.virtual_address -= 1;
	return seg;
}

static DAT_LMR_TRIPLET wraps_around(struct scene *s)
{
	DAT_LMR_TRIPLET seg = ct_segment(&s->a->mem, 0, 64);

	seg.virtual_address = UINT64_MAX - 10;
	return seg;
}

static DAT_LMR_TRIPLET freed_region(struct scene *s)
{
	struct ct_mem *mem = cu_extra_mem(s->rig, s->a->pz, 4096, DAT_MEM_PRIV_ALL_FLAG);

	expect_ok(dat_lmr_free(mem->lmr));
	return ct_segment(mem, 0, 64);
}

static DAT_LMR_TRIPLET foreign_zone(struct scene *s)
{
	return ct_segment(cu_extra_mem(s->rig, s->p->pz, 4096, DAT_MEM_PRIV_ALL_FLAG), 0, 64);
}

static DAT_LMR_TRIPLET read_only(struct scene *s)
{
	return ct_segment(cu_extra_mem(s->rig, s->a->pz, 4096, DAT_MEM_PRIV_LOCAL_READ_FLAG), 0,
			  64);
}

static void dto_84_local_unknown_context(void **state)
{
	for_each_op(state, unknown_context, SEND);
}

static void dto_84_local_context_zero(void **state)
{
	for_each_op(state, zero_context, SEND);
}

static void dto_84_local_range_exceeded(void **state)
{
	for_each_op(state, beyond_the_end, SEND);
	for_each_op(state, before_the_start, SEND);
	for_each_op(state, wraps_around, SEND);
}

static void dto_84_local_region_freed(void **state)
{
	for_each_op(state, freed_region, SEND);
}

static void dto_84_local_other_zone(void **state)
{
	for_each_op(state, foreign_zone, SEND);
}

static void dto_84_sink_of_a_read_not_writable(void **state)
{
	for_each_op(state, read_only, READ);
}

static void lmr_21_local_read_is_implied(void **state)
{
	struct scene *s = *state;
	struct ct_mem *mem = cu_extra_mem(s->rig, s->a->pz, 4096, DAT_MEM_PRIV_NONE_FLAG);
	DAT_LMR_TRIPLET seg = ct_segment(mem, 0, 64);

	cu_fill(mem->base, 64, 1);
	expect_ok(cu_recv(s->p, 0, 64, 1));
	expect_ok(post(s, SEND, seg, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(s->a->request, s->a->ep, 77, DAT_DTO_SEND, 64);
	DONE(s->p->recv, s->p->ep, 1, DAT_DTO_RECEIVE, 64);
	FILLED(s->p->mem.base, 64, 1);
}

/* ---- Receives ---------------------------------------------------------- */

/* A message of len bytes meets this Receive, which fails; another one is flushed behind it. */
static void bad_receive(struct scene *s, DAT_LMR_TRIPLET *iov, DAT_COUNT n, size_t len,
			DAT_DTO_COMPLETION_STATUS status)
{
	DAT_DTO_COMPLETION_EVENT_DATA done;

	expect_ok(dat_ep_post_recv(s->p->ep, n, iov, cu_cookie(55), DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(cu_recv(s->p, 8192, 4096, 56));
	expect_ok(ct_post_send(s->a, 0, len, 77, DAT_COMPLETION_DEFAULT_FLAG));
	done = cu_completion(s->p->recv);
	assert_int_equal(done.user_cookie.as_64, 55);
	assert_int_equal(done.status, status);
	FLUSHED(s->p->recv, s->p->ep, 56, DAT_DTO_RECEIVE);
	faulty(s, 77, DAT_DTO_ERR_REMOTE_RESPONDER, true);
	both_end(s, s->p);
}

static void dto_38_84_receive_too_short(void **state)
{
	static const size_t sizes[] = { 101, 200, 4096, 30000 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct scene *s;
		DAT_LMR_TRIPLET iov[2];
		void *own;

		setup(&own);
		s = own;
		iov[0] = ct_segment(&s->p->mem, 1000, 60);
		iov[1] = ct_segment(&s->p->mem, 2000, 40);
		cu_set(s->p->mem.base, 0xee, s->p->mem.len);
		cu_set(s->a->mem.base, 0x11, s->a->mem.len);
		bad_receive(s, iov, s->rig->attr.max_iov_segments_per_dto > 1 ? 2 : 1, sizes[i],
			    DAT_DTO_ERR_LOCAL_LENGTH);
		/* All but the two segments. */
		ALL(s->p->mem.base, 0xee, 1000);
		ALL(s->p->mem.base + 1060, 0xee, 940);
		ALL(s->p->mem.base + 2040, 0xee, s->p->mem.len - 2040);
		teardown(&own);
	}
	(void)state;
}

static void dto_91_empty_receive_takes_no_data(void **state)
{
	bad_receive(*state, NULL, 0, 1, DAT_DTO_ERR_LOCAL_LENGTH);
}

static void dto_84_receive_with_unknown_context(void **state)
{
	struct scene *s = *state;
	DAT_LMR_TRIPLET seg = ct_segment(&s->p->mem, 0, 4096);

	seg.lmr_context ^= 0x5a5a5a00;
	bad_receive(s, &seg, 1, 64, DAT_DTO_ERR_LOCAL_PROTECTION);
}

static void dto_84_receive_out_of_range(void **state)
{
	struct scene *s = *state;
	DAT_LMR_TRIPLET seg = ct_segment(&s->p->mem, s->p->mem.len - 10, 4096);

	bad_receive(s, &seg, 1, 4096, DAT_DTO_ERR_LOCAL_PROTECTION);
}

static void dto_84_receive_not_writable(void **state)
{
	struct scene *s = *state;
	struct ct_mem *mem = cu_extra_mem(s->rig, s->p->pz, 4096, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	DAT_LMR_TRIPLET seg = ct_segment(mem, 0, 4096);

	bad_receive(s, &seg, 1, 64, DAT_DTO_ERR_LOCAL_PROTECTION);
	assert_int_equal(mem->base[0], 0);
}

static void dto_84_receive_of_another_zone(void **state)
{
	struct scene *s = *state;
	DAT_LMR_TRIPLET seg = ct_segment(&s->a->mem, 0, 4096);

	bad_receive(s, &seg, 1, 64, DAT_DTO_ERR_LOCAL_PROTECTION);
}

static void lmr_36_receive_into_a_freed_region(void **state)
{
	struct scene *s = *state;
	struct ct_mem *mem = cu_extra_mem(s->rig, s->p->pz, 4096, DAT_MEM_PRIV_ALL_FLAG);
	DAT_LMR_TRIPLET seg = ct_segment(mem, 0, 4096);
	DAT_DTO_COMPLETION_EVENT_DATA done;

	expect_ok(dat_ep_post_recv(s->p->ep, 1, &seg, cu_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(dat_lmr_free(mem->lmr));
	expect_ok(ct_post_send(s->a, 0, 64, 77, DAT_COMPLETION_DEFAULT_FLAG));
	done = cu_completion(s->p->recv);
	assert_int_equal(done.status, DAT_DTO_ERR_LOCAL_PROTECTION);
	faulty(s, 77, DAT_DTO_ERR_REMOTE_RESPONDER, true);
	both_end(s, s->p);
}

/* ---- Remote memory ----------------------------------------------------- */

/* A write (which may have succeeded before the fault is found) and a read, each in a scene of its
 * own. */
static void bad_remote(enum op op, DAT_RMR_TRIPLET (*target)(struct scene *, enum op))
{
	DAT_LMR_TRIPLET seg;
	DAT_RMR_TRIPLET remote;
	struct scene *s;
	void *own;

	print_message("# RDMA %s\n", op == WRITE ? "write" : "read");
	setup(&own);
	s = own;
	remote = target(s, op);
	seg = ct_segment(&s->a->mem, 0, remote.segment_length);
	expect_ok(cu_recv(s->p, 0, 64, 1));
	if (op == WRITE)
		expect_ok(dat_ep_post_rdma_write(s->a->ep, 1, &seg, cu_cookie(77), &remote,
						 DAT_COMPLETION_DEFAULT_FLAG));
	else
		expect_ok(dat_ep_post_rdma_read(s->a->ep, 1, &seg, cu_cookie(77), &remote,
						DAT_COMPLETION_DEFAULT_FLAG));
	post_followers(s);
	faulty(s, 77, DAT_DTO_ERR_REMOTE_ACCESS, op == WRITE);
	followers_are_flushed(s, op == WRITE);
	FLUSHED(s->p->recv, s->p->ep, 1, DAT_DTO_RECEIVE);
	both_end(s, s->p);
	teardown(&own);
}

static DAT_RMR_TRIPLET remote_unknown(struct scene *s, enum op op)
{
	DAT_RMR_TRIPLET target = ct_target(&s->p->mem, 0, 64);

	(void)op;
	target.rmr_context ^= 0x5a5a5a00;
	return target;
}

static DAT_RMR_TRIPLET remote_zero(struct scene *s, enum op op)
{
	DAT_RMR_TRIPLET target = ct_target(&s->p->mem, 0, 64);

	(void)op;
	target.rmr_context = 0;
	return target;
}

static DAT_RMR_TRIPLET remote_freed(struct scene *s, enum op op)
{
	struct ct_mem *mem = cu_extra_mem(s->rig, s->p->pz, 4096, DAT_MEM_PRIV_ALL_FLAG);

	(void)op;
	expect_ok(dat_lmr_free(mem->lmr));
	return ct_target(mem, 0, 64);
}

static DAT_RMR_TRIPLET remote_zone(struct scene *s, enum op op)
{
	(void)op;
	return ct_target(cu_extra_mem(s->rig, s->other_p.pz, 4096, DAT_MEM_PRIV_ALL_FLAG), 0, 64);
}

static DAT_RMR_TRIPLET remote_beyond(struct scene *s, enum op op)
{
	(void)op;
	return ct_target(&s->p->mem, s->p->mem.len - 63, 64);
}

static DAT_RMR_TRIPLET remote_far_beyond(struct scene *s, enum op op)
{
	(void)op;
	return ct_target(&s->p->mem, s->p->mem.len + 4096, 64);
}

static DAT_RMR_TRIPLET remote_before(struct scene *s, enum op op)
{
	DAT_RMR_TRIPLET target = ct_target(&s->p->mem, 0, 64);

	(void)op;
	target.virtual_address -= 1;
	return target;
}

static DAT_RMR_TRIPLET remote_wrap(struct scene *s, enum op op)
{
	DAT_RMR_TRIPLET target = ct_target(&s->p->mem, 0, 64);

	(void)op;
	target.virtual_address = UINT64_MAX - 10;
	return target;
}

static DAT_RMR_TRIPLET remote_privilege(struct scene *s, enum op op)
{
	unsigned int priv =
		DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG |
		(op == WRITE ? DAT_MEM_PRIV_REMOTE_READ_FLAG : DAT_MEM_PRIV_REMOTE_WRITE_FLAG);

	return ct_target(cu_extra_mem(s->rig, s->p->pz, 4096, (DAT_MEM_PRIV_FLAGS)priv), 0, 64);
}

#define REMOTE_TEST(name, target)          \
	static void name(void **state)     \
	{                                  \
		(void)state;               \
		bad_remote(WRITE, target); \
		bad_remote(READ, target);  \
	}

REMOTE_TEST(dto_84_remote_unknown_context, remote_unknown)
REMOTE_TEST(dto_84_remote_context_zero, remote_zero)
REMOTE_TEST(dto_84_lmr_37_remote_region_freed, remote_freed)
REMOTE_TEST(dto_84_remote_other_zone, remote_zone)
REMOTE_TEST(dto_84_remote_beyond_the_end, remote_beyond)
REMOTE_TEST(dto_84_remote_far_beyond_the_end, remote_far_beyond)
REMOTE_TEST(dto_84_remote_before_the_start, remote_before)
REMOTE_TEST(dto_84_remote_address_wraps, remote_wrap)
REMOTE_TEST(dto_84_remote_privilege_missing, remote_privilege)

static void dto_88_no_byte_outside_the_range(void **state)
{
	struct scene *s = *state;
	struct ct_mem *whole =
		cu_extra_mem(s->rig, s->p->pz, 3 * 65536, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	DAT_REGION_DESCRIPTION middle = { .for_va = whole->base + 65536 };
	DAT_LMR_TRIPLET seg = ct_segment(&s->a->mem, 0, 40000);
	DAT_RMR_TRIPLET remote;
	DAT_LMR_CONTEXT lkey;
	DAT_RMR_CONTEXT rkey;
	DAT_LMR_HANDLE lmr;

	expect_ok(dat_lmr_create(s->rig->ia, DAT_MEM_TYPE_VIRTUAL, middle, 65536, s->p->pz,
				 DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr, &lkey, &rkey, NULL,
				 NULL));
	cu_set(whole->base, 0xee, whole->len);
	cu_set(s->a->mem.base, 0x11, 40000);
	remote = ct_target(whole, 65536 + 65536 - 20000, 40000);
	remote.rmr_context = rkey;
	expect_ok(dat_ep_post_rdma_write(s->a->ep, 1, &seg, cu_cookie(77), &remote,
					 DAT_COMPLETION_DEFAULT_FLAG));
	faulty(s, 77, DAT_DTO_ERR_REMOTE_ACCESS, true);
	both_end(s, s->p);
	ALL(whole->base, 0xee, 65536);
	ALL(whole->base + 2 * 65536, 0xee, 65536);
}

/* ---- After a fault ----------------------------------------------------- */

static void dto_89_endpoint_and_regions_work_again(void **state)
{
	struct scene *s = *state;
	DAT_LMR_TRIPLET seg = ct_segment(&s->a->mem, 0, 64);
	DAT_RMR_TRIPLET bad = remote_unknown(s, READ);

	for (unsigned int i = 0; i < 5; i++) {
		expect_ok(dat_ep_post_rdma_read(s->a->ep, 1, &seg, cu_cookie(77), &bad,
						DAT_COMPLETION_DEFAULT_FLAG));
		faulty(s, 77, DAT_DTO_ERR_REMOTE_ACCESS, false);
		both_end(s, s->p);
		expect_ok(dat_ep_reset(s->a->ep));
		expect_ok(dat_ep_reset(s->p->ep));
		cu_establish(s->rig, s->a, s->p);
		cu_fill(s->a->mem.base, 64, i);
		expect_ok(cu_write(s->a, 0, 64, 1, &s->p->mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
		DONE(s->a->request, s->a->ep, 1, DAT_DTO_RDMA_WRITE, 64);
		expect_ok(cu_read(s->a, 4096, 64, 2, &s->p->mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
		DONE(s->a->request, s->a->ep, 2, DAT_DTO_RDMA_READ, 64);
		FILLED(s->a->mem.base + 4096, 64, i);
	}
}

static void dto_87_async_event_at_the_target(void **state)
{
	struct scene *s = *state;
	DAT_LMR_TRIPLET seg = ct_segment(&s->a->mem, 0, 64);
	DAT_RMR_TRIPLET bad = remote_unknown(s, READ);
	DAT_ASYNCH_ERROR_EVENT_DATA *data;
	DAT_EVENT event;

	expect_ok(dat_ep_post_rdma_read(s->a->ep, 1, &seg, cu_cookie(77), &bad,
					DAT_COMPLETION_DEFAULT_FLAG));
	ct_next(s->rig->async, DAT_ASYNC_ERROR_EP_BROKEN, &event);
	data = &event.event_data.asynch_error_event_data;
	assert_ptr_equal(data->dat_handle, s->p->ep);
	assert_in_range(data->reason, 0, 1);
}

static void dto_83_posts_do_not_check_memory(void **state)
{
	struct scene *s = *state;

	assert_int_equal(s->rig->prov.dto_async_return_guaranteed, DAT_TRUE);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define S(f) cmocka_unit_test(f) /* makes its own scenes */

int main(void)
{
	static const struct CMUnitTest tests[] = {
		S(dto_84_local_unknown_context),
		S(dto_84_local_context_zero),
		S(dto_84_local_range_exceeded),
		S(dto_84_local_region_freed),
		S(dto_84_local_other_zone),
		S(dto_84_sink_of_a_read_not_writable),
		T(lmr_21_local_read_is_implied),
		S(dto_38_84_receive_too_short),
		T(dto_91_empty_receive_takes_no_data),
		T(dto_84_receive_with_unknown_context),
		T(dto_84_receive_out_of_range),
		T(dto_84_receive_not_writable),
		T(dto_84_receive_of_another_zone),
		T(lmr_36_receive_into_a_freed_region),
		S(dto_84_remote_unknown_context),
		S(dto_84_remote_context_zero),
		S(dto_84_lmr_37_remote_region_freed),
		S(dto_84_remote_other_zone),
		S(dto_84_remote_beyond_the_end),
		S(dto_84_remote_far_beyond_the_end),
		S(dto_84_remote_before_the_start),
		S(dto_84_remote_address_wraps),
		S(dto_84_remote_privilege_missing),
		T(dto_88_no_byte_outside_the_range),
		T(dto_89_endpoint_and_regions_work_again),
		T(dto_87_async_event_at_the_target),
		T(dto_83_posts_do_not_check_memory),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
