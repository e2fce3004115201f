/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The write with immediate data. */
#include "ext_util.h"

/* ---- The write with immediate data ------------------------------------- */

/* IBX-24, IBX-25, DTO-40 */
static void ibx_47_48_written_then_told(void **state)
{
	static const size_t lengths[] = { 1, 8, 1000, 16384, 65536 };
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;
	struct ct_mem *from = cu_extra_mem(rig, a->pz, 65536, DAT_MEM_PRIV_ALL_FLAG);
	struct ct_mem *to = cu_extra_mem(rig, p->pz, 65536, DAT_MEM_PRIV_ALL_FLAG);
	DAT_LMR_TRIPLET segment;
	DAT_RMR_TRIPLET target;

	xu_need(rig, DAT_IB_ATTR_IMMED_DATA);
	cu_set(p->mem.base, 0x66, 64);
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		cu_fill(from->base, lengths[i], i + 1);
		cu_set(to->base, 0, to->len);
		segment = ct_segment(from, 0, lengths[i]);
		target = ct_target(to, 0, lengths[i]);
		expect_ok(cu_recv(p, 0, 64, i)); /* its length does not matter */
		expect_ok(xu_post_immed(a, 1, &segment, &target, 0xabcd0000 + i, 100 + i, 0));
		XU_TOLD(p, i, lengths[i], 0xabcd0000 + i);
		FILLED(to->base, lengths[i], i + 1);
		ALL(to->base + lengths[i], 0, to->len - lengths[i]);
		XU_WROTE(a, 100 + i, lengths[i]);
	}
	ALL(p->mem.base, 0x66, 64); /* the receives' buffer */
}

static void ibx_47_an_empty_receive_suffices(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;

	xu_need(rig, DAT_IB_ATTR_IMMED_DATA);
	expect_ok(dat_ep_post_recv(p->ep, 0, NULL, cu_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
	cu_fill(a->mem.base, 4096, 3);
	expect_ok(xu_write_immed(a, 4096, &p->mem, 8192, 0xffffffff, 2));
	XU_TOLD(p, 1, 4096, 0xffffffff);
	FILLED(p->mem.base + 8192, 4096, 3);
	XU_WROTE(a, 2, 4096);
}

static void ibx_32_47_several_segments(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;
	DAT_LMR_TRIPLET segments[4] = { ct_segment(&a->mem, 0, 100), ct_segment(&a->mem, 0, 0),
					ct_segment(&a->mem, 200, 50), ct_segment(&a->mem, 100, 1) };
	DAT_RMR_TRIPLET target = ct_target(&p->mem, 4096, 4096);

	xu_need(rig, DAT_IB_ATTR_IMMED_DATA);
	segments[1].lmr_context = 0; /* DTO-10 */
	cu_fill(a->mem.base, 256, 4);
	expect_ok(cu_recv(p, 0, 64, 1));
	expect_ok(xu_post_immed(a, 4, segments, &target, 5, 2, 0));
	memset(segments, 0xff, sizeof(segments)); /* DTO-7 */
	memset(&target, 0xff, sizeof(target));
	XU_TOLD(p, 1, 151, 5);
	XU_WROTE(a, 2, 151);
	assert_int_equal(memcmp(p->mem.base + 4096, a->mem.base, 100), 0);
	assert_int_equal(memcmp(p->mem.base + 4196, a->mem.base + 200, 50), 0);
	assert_int_equal(memcmp(p->mem.base + 4246, a->mem.base + 100, 1), 0);
}

static void ibx_49_nothing_to_write(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;
	DAT_LMR_TRIPLET empty = { .segment_length = 0, .lmr_context = 1 };
	DAT_RMR_TRIPLET wild = { .virtual_address = 1, .segment_length = 9, .rmr_context = 1 };

	xu_need(rig, DAT_IB_ATTR_IMMED_DATA);
	for (uint64_t i = 0; i < 4; i++)
		expect_ok(cu_recv(p, 0, 64, i));
	expect_ok(xu_post_immed(a, 0, NULL, NULL, 1, 10, 0));
	expect_ok(xu_post_immed(a, 0, NULL, &wild, 2, 11, 0));
	expect_ok(xu_post_immed(a, 1, &empty, NULL, 3, 12, 0));
	expect_ok(xu_post_immed(a, 1, &empty, &wild, 4, 13, 0));
	for (uint64_t i = 0; i < 4; i++) {
		XU_TOLD(p, i, 0, (uint32_t)i + 1);
		XU_WROTE(a, 10 + i, 0);
	}
}

static void ibx_50_the_bits_are_carried_unchanged(void **state)
{
	static const uint32_t bits[] = { 0, 1, 0x80000000, 0x01020304, 0xdeadbeef, UINT32_MAX };
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;

	xu_need(rig, DAT_IB_ATTR_IMMED_DATA);
	for (uint64_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		expect_ok(cu_recv(p, 0, 64, i));
		expect_ok(xu_post_immed(a, 0, NULL, NULL, bits[i], i, 0));
		XU_TOLD(p, i, 0, bits[i]);
		XU_WROTE(a, i, 0);
	}
}

static void ibx_14_52_wrong_arguments(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a;
	DAT_LMR_TRIPLET local[64] = { ct_segment(&a->mem, 0, 8) };
	DAT_RMR_TRIPLET remote = ct_target(&rig->p.mem, 0, 8);
	DAT_EP_PARAM param;

	xu_need(rig, DAT_IB_ATTR_IMMED_DATA);
	cu_query(a->ep, &param);
	assert_int_equal(param.ep_attr.max_rdma_write_iov, 0);
	expect_arg(xu_post_immed(a, -1, local, &remote, 1, 1, 0), 3);
	expect_arg(xu_post_immed(a, 65, local, &remote, 1, 1, 0), 3);
	expect_arg(xu_post_immed(a, param.ep_attr.max_request_iov + 1, local, &remote, 1, 1, 0), 3);
	expect_arg(xu_post_immed(a, 1, NULL, &remote, 1, 1, 0), 4);
	expect_arg(xu_post_immed(a, 1, local, NULL, 1, 1, 0), 6);
	if (rig->attr.max_rdma_size < UINT32_MAX) {
		local[0].segment_length = rig->attr.max_rdma_size + 1;
		expect_arg(xu_post_immed(a, 1, local, &remote, 1, 1, 0), 4);
	}
	ct_empty(a->request);
	STATE(a->ep, CONNECTED);
}

/* IBX-35, DTO-84 to DTO-86 */
static void ibx_54_refused_nobody_is_told(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;
	struct ct_mem *mem = cu_extra_mem(rig, p->pz, 4096,
					  (DAT_MEM_PRIV_FLAGS)(DAT_MEM_PRIV_REMOTE_READ_FLAG |
							       DAT_MEM_PRIV_LOCAL_WRITE_FLAG));
	DAT_EVENT event;

	xu_need(rig, DAT_IB_ATTR_IMMED_DATA);
	expect_ok(cu_recv(p, 0, 64, 1));
	cu_set(a->mem.base, 0x99, 64);
	expect_ok(xu_write_immed(a, 64, mem, 0, 77, 2));
	cu_poll(a->request, &event);
	assert_true(event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS ||
		    event.event_data.dto_completion_event_data.status == DAT_DTO_ERR_REMOTE_ACCESS);
	FLUSHED(p->recv, p->ep, 1, DAT_DTO_RECEIVE);
	cu_conn_ended(a->connect, a->ep);
	cu_conn_ended(p->connect, p->ep);
	ALL(mem->base, 0, mem->len);
}

/* DTO-65, DTO-66 */
static void ibx_31_one_order_for_all(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;

	xu_need(rig, DAT_IB_ATTR_IMMED_DATA);
	for (uint64_t i = 0; i < 4; i++)
		expect_ok(cu_recv(p, 32768, 64, i));
	cu_fill(a->mem.base, 64, 7);
	expect_ok(ct_post_send(a, 0, 8, 10, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(cu_write(a, 0, 64, 11, &p->mem, 128, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(xu_post_immed(a, 0, NULL, NULL, 50, 12, 0));
	expect_ok(cu_read(a, 4096, 64, 13, &p->mem, 128, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(xu_write_immed(a, 64, &p->mem, 256, 51, 14));
	expect_ok(ct_post_send(a, 0, 8, 15, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(p->recv, p->ep, 0, DAT_DTO_RECEIVE, 8);
	XU_TOLD(p, 1, 0, 50);
	FILLED(p->mem.base + 128, 64, 7); /* IBX-48 */
	XU_TOLD(p, 2, 64, 51);
	FILLED(p->mem.base + 256, 64, 7);
	/* IBX-55: ordinary sends stay ordinary. */
	DONE(p->recv, p->ep, 3, DAT_DTO_RECEIVE, 8);
	DONE(a->request, a->ep, 10, DAT_DTO_SEND, 8);
	DONE(a->request, a->ep, 11, DAT_DTO_RDMA_WRITE, 64);
	XU_WROTE(a, 12, 0);
	DONE(a->request, a->ep, 13, DAT_DTO_RDMA_READ, 64);
	XU_WROTE(a, 14, 64);
	DONE(a->request, a->ep, 15, DAT_DTO_SEND, 8);
	FILLED(a->mem.base + 4096, 64, 7);
}

/* Events that wait in the dispatcher keep what came with them; a wait counts them (IBX-22). */
static void ibx_23_kept_until_they_are_wanted(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;
	DAT_EVENT event;
	DAT_COUNT more;

	xu_need(rig, DAT_IB_ATTR_IMMED_DATA);
	for (uint64_t i = 0; i < 3; i++)
		expect_ok(cu_recv(p, 0, 64, i));
	expect_ok(xu_post_immed(a, 0, NULL, NULL, 0x10, 10, 0));
	expect_ok(ct_post_send(a, 0, 8, 11, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(xu_write_immed(a, 8, &p->mem, 4096, 0x12, 12));
	expect_ok(dat_evd_wait(p->recv, CT_US, 3, &event, &more));
	assert_int_equal(more, 2);
	xu_check(&event, p->recv,
		 (struct xu_event){ p->ep, 0, DAT_DTO_SUCCESS, DAT_IB_DTO_RECV_IMMED,
				    DAT_IB_RDMA_WRITE_IMMED_DATA, 0, 0x10 },
		 __FILE__, __LINE__);
	DONE(p->recv, p->ep, 1, DAT_DTO_RECEIVE, 8);
	XU_TOLD(p, 2, 8, 0x12);
}

/* EVT-3: what is no extension event has no such data, also behind one that has. */
static void ibx_22_ordinary_events_have_no_data(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;
	static const uint8_t zero[64];
	DAT_EVENT event;

	xu_need(rig, DAT_IB_ATTR_IMMED_DATA);
	expect_ok(cu_recv(p, 0, 64, 1));
	expect_ok(cu_recv(p, 0, 64, 2));
	expect_ok(xu_post_immed(a, 0, NULL, NULL, 0xffffffff, 3, 0));
	expect_ok(ct_post_send(a, 0, 8, 4, DAT_COMPLETION_DEFAULT_FLAG));
	cu_poll(p->recv, &event);
	assert_int_equal(event.event_number, DAT_IB_DTO_EVENT);
	cu_poll(p->recv, &event);
	assert_int_equal(event.event_number, DAT_DTO_COMPLETION_EVENT);
	assert_memory_equal(event.event_extension_data, zero, sizeof(zero));
	assert_int_equal(event.event_data.dto_completion_event_data.rmr_context, 0);
}

/* DTO-25: only those whose sender asked for it notify. */
static void ibx_53_solicited(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end a = { 0 }, p = { 0 };
	DAT_EP_ATTR attr;
	DAT_EVENT event;
	DAT_COUNT more;

	xu_need(rig, DAT_IB_ATTR_IMMED_DATA);
	ct_default_attr(rig->ia, &attr);
	attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	ct_end_open(&a, rig->ia, NULL);
	ct_end_open(&p, rig->ia, &attr);
	cu_establish(rig, &a, &p);
	expect_ok(cu_recv(&p, 0, 64, 1));
	expect_ok(cu_recv(&p, 0, 64, 2));
	struct ct_waiter *waiter = ct_evd_waiter(p.recv, CT_US, 1);

	expect_ok(xu_post_immed(&a, 0, NULL, NULL, 1, 10, 0));
	XU_WROTE(&a, 10, 0);
	expect_ok(xu_post_immed(&a, 0, NULL, NULL, 2, 11, DAT_COMPLETION_SOLICITED_WAIT_FLAG));
	ct_waiter_join(waiter);
	expect_ok(waiter->rc);
	/* The silent one is first, and did not end the wait: the other is there as well. */
	xu_check(&waiter->event, p.recv,
		 (struct xu_event){ p.ep, 1, DAT_DTO_SUCCESS, DAT_IB_DTO_RECV_IMMED,
				    DAT_IB_RDMA_WRITE_IMMED_DATA, 0, 1 },
		 __FILE__, __LINE__);
	assert_int_equal(waiter->more, 1);
	expect_ok(dat_evd_wait(p.recv, 0, 1, &event, &more));
	xu_check(&event, p.recv,
		 (struct xu_event){ p.ep, 2, DAT_DTO_SUCCESS, DAT_IB_DTO_RECV_IMMED,
				    DAT_IB_RDMA_WRITE_IMMED_DATA, 0, 2 },
		 __FILE__, __LINE__);
}

#define C(f) cmocka_unit_test_setup_teardown(f, cu_setup_connected, cu_teardown)
#define I(f) cmocka_unit_test_setup_teardown(f, cu_setup_ia, cu_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		C(ibx_47_48_written_then_told),
		C(ibx_47_an_empty_receive_suffices),
		C(ibx_32_47_several_segments),
		C(ibx_49_nothing_to_write),
		C(ibx_50_the_bits_are_carried_unchanged),
		C(ibx_14_52_wrong_arguments),
		C(ibx_54_refused_nobody_is_told),
		C(ibx_31_one_order_for_all),
		C(ibx_23_kept_until_they_are_wanted),
		C(ibx_22_ordinary_events_have_no_data),
		I(ibx_53_solicited),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
