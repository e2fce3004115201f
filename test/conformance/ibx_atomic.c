/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Fetch-and-add and compare-and-swap. */
#include "bind_util.h"
#include "ext_util.h"

#include <pthread.h>

/* A connected rig whose passive end has memory with the right to atomics. */
struct scene {
	struct cu_rig *rig;
	struct ct_end *a, *p;
	struct ct_mem *target;
};

static int setup(void **state)
{
	static struct scene s;
	void *rig;

	cu_setup_connected(&rig);
	s.rig = rig;
	s.a = &s.rig->a;
	s.p = &s.rig->p;
	s.target = NULL;
	if (s.rig->attr.extension_supported == DAT_EXTENSION_IB)
		s.target = cu_extra_mem(s.rig, s.p->pz, 4096, XU_ALL);
	*state = &s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;
	void *rig = s->rig;

	return cu_teardown(&rig);
}

static DAT_RMR_TRIPLET word(const struct ct_mem *mem, size_t offset)
{
	return ct_target(mem, offset, 0); /* IBX-39: the length is not looked at */
}

static DAT_RETURN add(struct ct_end *end, uint64_t value, DAT_LMR_TRIPLET sink,
		      DAT_RMR_TRIPLET target, uint64_t cookie, uint32_t flags)
{
	return dat_ib_post_fetch_and_add(end->ep, value, &sink, cu_cookie(cookie), &target, flags);
}

static DAT_RETURN swap(struct ct_end *end, uint64_t compare, uint64_t value, DAT_LMR_TRIPLET sink,
		       DAT_RMR_TRIPLET target, uint64_t cookie, uint32_t flags)
{
	return dat_ib_post_cmp_and_swap(end->ep, compare, value, &sink, cu_cookie(cookie), &target,
					flags);
}

#define ADDED(end, c)                                                                \
	XDONE((end)->request, (end)->ep, (c), DAT_DTO_SUCCESS, DAT_IB_DTO_FETCH_ADD, \
	      DAT_IB_FETCH_AND_ADD, 8, 0)
#define SWAPPED(end, c)                                                             \
	XDONE((end)->request, (end)->ep, (c), DAT_DTO_SUCCESS, DAT_IB_DTO_CMP_SWAP, \
	      DAT_IB_CMP_AND_SWAP, 8, 0)

/* ---- What they do ------------------------------------------------------ */

/* IBX-24, IBX-25, IBX-42 */
static void ibx_36_fetch_and_add(void **state)
{
	static const uint64_t steps[] = { 1, 0, 0x0102030405060708, UINT64_MAX, 1ull << 63 };
	struct scene *s = *state;
	uint64_t value = 0x1122334455667788;

	xu_need(s->rig, DAT_IB_ATTR_FETCH_AND_ADD);
	xu_set_word(s->target->base + 64, value);
	for (uint64_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		expect_ok(add(s->a, steps[i], ct_segment(&s->a->mem, 0, 8), word(s->target, 64), i,
			      0));
		ADDED(s->a, i);
		/* The value before, not the sum. */
		assert_true(xu_word(s->a->mem.base) == value);
		value += steps[i];
		assert_true(xu_word(s->target->base + 64) == value);
	}
	assert_true(xu_word(s->target->base + 56) == 0);
	assert_true(xu_word(s->target->base + 72) == 0);
	/* IBX-46: nobody hears of it there. */
	ct_empty(s->p->recv);
	ct_empty(s->p->request);
}

/* An endpoint whose Sends have no segments. */
static void ep_31_the_sink_is_no_segment_of_a_send(void **state)
{
	struct ct_end a = { 0 }, p = { 0 };
	struct scene *s = *state;
	DAT_EP_ATTR attr;

	xu_need(s->rig, DAT_IB_ATTR_FETCH_AND_ADD);
	ct_default_attr(s->rig->ia, &attr);
	attr.max_request_iov = 0;
	p.pz = s->p->pz;
	ct_end_open(&a, s->rig->ia, &attr);
	ct_end_open(&p, s->rig->ia, NULL);
	cu_establish(s->rig, &a, &p);
	xu_set_word(s->target->base, 5);
	expect_ok(add(&a, 2, ct_segment(&a.mem, 0, 8), word(s->target, 0), 1, 0));
	ADDED(&a, 1);
	assert_true(xu_word(a.mem.base) == 5);
	assert_true(xu_word(s->target->base) == 7);
}

static void ibx_37_compare_and_swap(void **state)
{
	struct scene *s = *state;
	DAT_LMR_TRIPLET sink = ct_segment(&s->a->mem, 16, 8);

	xu_need(s->rig, DAT_IB_ATTR_CMP_AND_SWAP);
	xu_set_word(s->target->base, 5);
	expect_ok(swap(s->a, 5, 0xfeedfacecafebeef, sink, word(s->target, 0), 1, 0));
	SWAPPED(s->a, 1);
	assert_true(xu_word(s->a->mem.base + 16) == 5);
	assert_true(xu_word(s->target->base) == 0xfeedfacecafebeef);
	/* What is not equal stays, and that is no failure. */
	expect_ok(swap(s->a, 5, 7, sink, word(s->target, 0), 2, 0));
	SWAPPED(s->a, 2);
	assert_true(xu_word(s->a->mem.base + 16) == 0xfeedfacecafebeef);
	assert_true(xu_word(s->target->base) == 0xfeedfacecafebeef);
	/* All 64 bits are compared. */
	expect_ok(swap(s->a, 0xfeedfacecafebeee, 7, sink, word(s->target, 0), 3, 0));
	SWAPPED(s->a, 3);
	assert_true(xu_word(s->target->base) == 0xfeedfacecafebeef);
}

/* ---- The local side ---------------------------------------------------- */

static void ibx_38_only_eight_bytes_are_written(void **state)
{
	struct scene *s = *state;

	xu_need(s->rig, DAT_IB_ATTR_FETCH_AND_ADD);
	cu_set(s->a->mem.base, 0x77, 64);
	xu_set_word(s->target->base, 0);
	expect_ok(add(s->a, 1, ct_segment(&s->a->mem, 8, 48), word(s->target, 0), 1, 0));
	ADDED(s->a, 1);
	ALL(s->a->mem.base, 0x77, 8);
	ALL(s->a->mem.base + 8, 0, 8);
	ALL(s->a->mem.base + 16, 0x77, 48);
	expect_type(add(s->a, 1, ct_segment(&s->a->mem, 0, 7), word(s->target, 0), 2, 0),
		    DAT_LENGTH_ERROR);
	expect_type(add(s->a, 1, ct_segment(&s->a->mem, 0, 0), word(s->target, 0), 2, 0),
		    DAT_LENGTH_ERROR);
	assert_true(xu_word(s->target->base) == 1);
	ct_empty(s->a->request);
}

static void ibx_38_short_sinks_of_a_swap(void **state)
{
	struct scene *s = *state;

	xu_need(s->rig, DAT_IB_ATTR_CMP_AND_SWAP);
	expect_type(swap(s->a, 0, 1, ct_segment(&s->a->mem, 0, 7), word(s->target, 0), 2, 0),
		    DAT_LENGTH_ERROR);
	ct_empty(s->a->request);
}

/* An extension request that failed: IBX-26, IBX-27. */
static DAT_DTO_COMPLETION_STATUS failed(struct ct_end *end, uint64_t cookie)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_EVENT event;

	cu_poll(end->request, &event);
	dto = &event.event_data.dto_completion_event_data;
	assert_int_not_equal(dto->status, DAT_DTO_SUCCESS);
	xu_check(&event, end->request,
		 (struct xu_event){ end->ep, cookie, dto->status, DAT_IB_DTO_FETCH_ADD,
				    DAT_IB_FETCH_AND_ADD, 0, 0 },
		 __FILE__, __LINE__);
	return dto->status;
}

static void both_end(struct scene *s)
{
	cu_conn_ended(s->a->connect, s->a->ep);
	cu_conn_ended(s->p->connect, s->p->ep);
}

/* LMR-22 */
static void ibx_38_the_sink_must_be_writable(void **state)
{
	struct scene *s = *state;
	struct ct_mem *mem = cu_extra_mem(s->rig, s->a->pz, 64, DAT_MEM_PRIV_LOCAL_READ_FLAG);

	xu_need(s->rig, DAT_IB_ATTR_FETCH_AND_ADD);
	expect_ok(add(s->a, 1, ct_segment(mem, 0, 8), word(s->target, 0), 1, 0));
	assert_int_equal(failed(s->a, 1), DAT_DTO_ERR_LOCAL_PROTECTION);
	both_end(s);
}

static void ibx_41_null_triplets(void **state)
{
	struct scene *s = *state;
	DAT_LMR_TRIPLET local;
	DAT_RMR_TRIPLET remote;

	xu_need(s->rig, DAT_IB_ATTR_FETCH_AND_ADD);
	xu_need(s->rig, DAT_IB_ATTR_CMP_AND_SWAP);
	local = ct_segment(&s->a->mem, 0, 8);
	remote = word(s->target, 0);
	/* IBX-14 */
	expect_arg(dat_ib_post_fetch_and_add(s->a->ep, 1, NULL, cu_cookie(1), &remote, 0), 4);
	expect_arg(dat_ib_post_fetch_and_add(s->a->ep, 1, &local, cu_cookie(1), NULL, 0), 6);
	expect_arg(dat_ib_post_cmp_and_swap(s->a->ep, 1, 2, NULL, cu_cookie(1), &remote, 0), 5);
	expect_arg(dat_ib_post_cmp_and_swap(s->a->ep, 1, 2, &local, cu_cookie(1), NULL, 0), 7);
	ct_empty(s->a->request);
}

/* ---- The remote side --------------------------------------------------- */

/* LMR-23, IBX-18: the other rights are not sufficient. */
static void ibx_39_the_right_is_its_own(void **state)
{
	struct scene *s = *state;

	xu_need(s->rig, DAT_IB_ATTR_FETCH_AND_ADD);
	cu_set(s->p->mem.base, 0, 8);
	expect_ok(add(s->a, 1, ct_segment(&s->a->mem, 0, 8), word(&s->p->mem, 0), 1, 0));
	assert_int_equal(failed(s->a, 1), DAT_DTO_ERR_REMOTE_ACCESS);
	both_end(s);
	ALL(s->p->mem.base, 0, 8);
}

/* IBX-18, LMR-25: nor are they necessary. */
static void ibx_39_no_other_right_is_needed(void **state)
{
	struct scene *s = *state;
	struct ct_mem *mem;

	xu_need(s->rig, DAT_IB_ATTR_FETCH_AND_ADD);
	mem = cu_extra_mem(s->rig, s->p->pz, 64,
			   (DAT_MEM_PRIV_FLAGS)(DAT_MEM_PRIV_LOCAL_WRITE_FLAG |
						DAT_IB_MEM_PRIV_REMOTE_ATOMIC));
	assert_int_not_equal(mem->rmr_context, 0); /* LMR-26 */
	expect_ok(add(s->a, 3, ct_segment(&s->a->mem, 0, 8), word(mem, 8), 1, 0));
	ADDED(s->a, 1);
	assert_true(xu_word(mem->base + 8) == 3);
	/* DTO-84: a write is refused. */
	expect_ok(cu_write(s->a, 0, 8, 2, mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
	both_end(s);
	assert_true(xu_word(mem->base) == 0);
}

static void ibx_39_out_of_range(void **state)
{
	struct scene *s = *state;

	xu_need(s->rig, DAT_IB_ATTR_FETCH_AND_ADD);
	expect_ok(add(s->a, 1, ct_segment(&s->a->mem, 0, 8), word(s->target, 4096), 1, 0));
	assert_int_equal(failed(s->a, 1), DAT_DTO_ERR_REMOTE_ACCESS);
	both_end(s);
}

static void ibx_40_addresses_are_aligned(void **state)
{
	struct scene *s = *state;
	DAT_DTO_COMPLETION_STATUS status;

	xu_need(s->rig, DAT_IB_ATTR_FETCH_AND_ADD);
	expect_ok(add(s->a, 1, ct_segment(&s->a->mem, 0, 8), word(s->target, 4), 1, 0));
	status = failed(s->a, 1);
	assert_true(status == DAT_DTO_ERR_REMOTE_RESPONDER || status == DAT_DTO_ERR_REMOTE_ACCESS);
	both_end(s);
	ALL(s->target->base, 0, 64);
}

/* RMR-16, RMR-7 */
static void ibx_18_39_through_a_remote_region(void **state)
{
	struct scene *s = *state;
	DAT_RMR_HANDLE rmr;
	struct bu_bind bind;
	DAT_RMR_CONTEXT context = 0;

	xu_need(s->rig, DAT_IB_ATTR_FETCH_AND_ADD);
	rmr = bu_any_rmr(s->rig, s->p->pz);
	bind = (struct bu_bind){ .mem = &s->p->mem,
				 .offset = 64,
				 .len = 64,
				 .priv = (DAT_MEM_PRIV_FLAGS)DAT_IB_MEM_PRIV_REMOTE_ATOMIC,
				 .cookie = 9 };
	expect_ok(bu_post(s->p, rmr, bind, &context));
	BOUND(s->p->request, rmr, 9);
	xu_set_word(s->p->mem.base + 120, 41);
	expect_ok(add(s->a, 1, ct_segment(&s->a->mem, 0, 8),
		      bu_target((DAT_VADDR)(uintptr_t)s->p->mem.base + 120, 0, context), 1, 0));
	ADDED(s->a, 1);
	assert_true(xu_word(s->p->mem.base + 120) == 42);
	expect_ok(add(s->a, 1, ct_segment(&s->a->mem, 0, 8),
		      bu_target((DAT_VADDR)(uintptr_t)s->p->mem.base + 128, 0, context), 2, 0));
	assert_int_equal(failed(s->a, 2), DAT_DTO_ERR_REMOTE_ACCESS);
	both_end(s);
}

/* ---- Order, credits, atomicity ----------------------------------------- */

/* DTO-50: more than may be outstanding wait for their turn. */
static void ibx_31_45_many_in_order(void **state)
{
	struct scene *s = *state;
	DAT_LMR_TRIPLET sink;
	uint64_t i;

	xu_need(s->rig, DAT_IB_ATTR_FETCH_AND_ADD);
	xu_set_word(s->target->base, 100);
	for (i = 0; i < 12; i++) {
		sink = ct_segment(&s->a->mem, 64 + i * 8, 8);
		expect_ok(add(s->a, 1, sink, word(s->target, 0), i, 0));
	}
	/* DTO-68, DTO-33: what follows a fenced request sees them all. */
	expect_ok(cu_read(s->a, 0, 8, 12, s->target, 0, DAT_COMPLETION_BARRIER_FENCE_FLAG));
	for (i = 0; i < 12; i++)
		ADDED(s->a, i);
	DONE(s->a->request, s->a->ep, 12, DAT_DTO_RDMA_READ, 8);
	for (i = 0; i < 12; i++)
		assert_true(xu_word(s->a->mem.base + 64 + i * 8) == 100 + i);
	assert_true(xu_word(s->a->mem.base) == 112);
}

static void ibx_45_no_credits(void **state)
{
	struct scene *s = *state;
	struct ct_end a = { 0 }, p = { 0 };
	DAT_EP_ATTR attr;

	xu_need(s->rig, DAT_IB_ATTR_FETCH_AND_ADD);
	ct_default_attr(s->rig->ia, &attr);
	attr.max_rdma_read_out = 0;
	ct_end_open(&a, s->rig->ia, &attr);
	ct_end_open(&p, s->rig->ia, NULL);
	cu_establish(s->rig, &a, &p);
	expect(add(&a, 1, ct_segment(&a.mem, 0, 8), word(s->target, 0), 1, 0),
	       DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_CREDITS);
}

#define ROUNDS 300

struct adder {
	struct ct_end a, p;
	const struct ct_mem *target;
	unsigned failures;
};

static void *adder(void *arg)
{
	struct adder *t = arg;
	DAT_EVENT event;

	for (uint64_t i = 0; i < ROUNDS; i++) {
		if (add(&t->a, 1, ct_segment(&t->a.mem, 0, 8), word(t->target, 0), i, 0) !=
		    DAT_SUCCESS) {
			t->failures++;
			continue;
		}
		while (dat_evd_dequeue(t->a.request, &event) != DAT_SUCCESS)
			;
		t->failures += event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS;
	}
	return NULL;
}

/* IBX-44: each is executed, once. */
static void ibx_43_44_from_many_endpoints(void **state)
{
	struct scene *s = *state;
	struct adder t[3] = { { .failures = 0 } };
	pthread_t threads[3];

	xu_need(s->rig, DAT_IB_ATTR_FETCH_AND_ADD);
	xu_set_word(s->target->base, 0);
	for (int i = 0; i < 3; i++) {
		t[i].target = s->target;
		t[i].p.pz = s->p->pz;
		ct_end_open(&t[i].a, s->rig->ia, NULL);
		ct_end_open(&t[i].p, s->rig->ia, NULL);
		cu_establish(s->rig, &t[i].a, &t[i].p);
	}
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, adder, &t[i]), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 3; i++)
		assert_int_equal(t[i].failures, 0);
	assert_true(xu_word(s->target->base) == 3 * ROUNDS);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(ibx_36_fetch_and_add),
		T(ep_31_the_sink_is_no_segment_of_a_send),
		T(ibx_37_compare_and_swap),
		T(ibx_38_only_eight_bytes_are_written),
		T(ibx_38_short_sinks_of_a_swap),
		T(ibx_38_the_sink_must_be_writable),
		T(ibx_41_null_triplets),
		T(ibx_39_the_right_is_its_own),
		T(ibx_39_no_other_right_is_needed),
		T(ibx_39_out_of_range),
		T(ibx_40_addresses_are_aligned),
		T(ibx_18_39_through_a_remote_region),
		T(ibx_31_45_many_in_order),
		T(ibx_45_no_credits),
		T(ibx_43_44_from_many_endpoints),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
