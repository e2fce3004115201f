/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Datagrams: sends and Receives. What may be lost is sent again. */
#include "ud_util.h"

#include <stdlib.h>
#include <unistd.h>

#define TRIES 20

/* Sends until the Receive posted at the peer completes (IBX-59), which is then in *event. */
static void deliver(struct ct_end *from, const DAT_IB_ADDR_HANDLE *to, struct ct_end *at,
		    size_t len, DAT_EVENT *event)
{
	for (int i = 0; i < TRIES; i++) {
		expect_ok(uu_send(from, len, 100, to));
		uu_sent(from, 100, len);
		if (cu_next(at->recv, 1000, event))
			return;
	}
	fail_msg("none of %d datagrams arrived", TRIES);
}

static void check_received(struct ct_end *at, const DAT_EVENT *event, uint64_t cookie, size_t len)
{
	const struct xu_event want = { .ep = at->ep,
				       .cookie = cookie,
				       .status = DAT_DTO_SUCCESS,
				       .operation = DAT_IB_DTO_RECV_UD,
				       .type = DAT_IB_UD_RECV,
				       .len = UU_HEADER + len };

	xu_check(event, at->recv, want, __FILE__, __LINE__);
}

static void dto_44_ibx_59_78_79_83_86_lengths(void **state)
{
	static const size_t lengths[] = { 0, 1, 7, 40, 1000, 2048, 4096 };
	struct cu_rig *rig = *state;
	DAT_IB_EXTENSION_EVENT_DATA active, passive;
	DAT_EVENT event;
	size_t mtu;

	xu_need(rig, DAT_IB_ATTR_UD);
	mtu = (size_t)atoi(xu_named(rig, "DAT_IB_TRANSPORT_MTU"));
	uu_resolve(rig, &rig->a, &rig->p, &active, &passive);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]) && lengths[i] <= mtu; i++) {
		cu_fill(rig->a.mem.base, lengths[i], (unsigned int)i);
		cu_set(rig->p.mem.base, 0xee, 8192);
		expect_ok(cu_recv(&rig->p, 0, 8192, i));
		deliver(&rig->a, &active.remote_ah, &rig->p, lengths[i], &event);
		check_received(&rig->p, &event, i, lengths[i]);
		FILLED(rig->p.mem.base + UU_HEADER, lengths[i], (unsigned int)i);
		ALL(rig->p.mem.base + UU_HEADER + lengths[i], 0xee, 64);
	}
	/* And back: the passive event's address is as good. */
	expect_ok(cu_recv(&rig->a, 0, 8192, 50));
	deliver(&rig->p, &passive.remote_ah, &rig->a, 16, &event);
	check_received(&rig->a, &event, 50, 16);
}

static void ibx_83_header_across_segments(void **state)
{
	struct cu_rig *rig = *state;
	DAT_IB_EXTENSION_EVENT_DATA active, passive;
	DAT_LMR_TRIPLET seg[3];
	DAT_EVENT event;

	xu_need(rig, DAT_IB_ATTR_UD);
	uu_resolve(rig, &rig->a, &rig->p, &active, &passive);
	seg[0] = ct_segment(&rig->p.mem, 0, 10);
	seg[1] = ct_segment(&rig->p.mem, 1000, 50);
	seg[2] = ct_segment(&rig->p.mem, 2000, 100);
	cu_fill(rig->a.mem.base, 60, 9);
	expect_ok(dat_ep_post_recv(rig->p.ep, 3, seg, cu_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
	deliver(&rig->a, &active.remote_ah, &rig->p, 60, &event);
	check_received(&rig->p, &event, 1, 60);
	assert_memory_equal(rig->p.mem.base + 1030, rig->a.mem.base, 20);
	assert_memory_equal(rig->p.mem.base + 2000, rig->a.mem.base + 20, 40);
}

/* Of a Receive that is too small no byte beyond it is written, and later ones work. */
static void ibx_84_short_buffer(void **state)
{
	struct cu_rig *rig = *state;
	DAT_IB_EXTENSION_EVENT_DATA active, passive;
	DAT_EVENT event;

	xu_need(rig, DAT_IB_ATTR_UD);
	uu_resolve(rig, &rig->a, &rig->p, &active, &passive);
	cu_set(rig->p.mem.base, 0xee, 4096);
	expect_ok(cu_recv(&rig->p, 0, UU_HEADER + 8, 1));
	expect_ok(uu_send(&rig->a, 64, 2, &active.remote_ah));
	uu_sent(&rig->a, 2, 64);
	if (cu_next(rig->p.recv, 1000, &event))
		assert_int_equal(event.event_data.dto_completion_event_data.status,
				 DAT_DTO_ERR_LOCAL_LENGTH);
	ALL(rig->p.mem.base + UU_HEADER + 8, 0xee, 1024);
	expect_ok(cu_recv(&rig->p, 2048, 1024, 3));
	deliver(&rig->a, &active.remote_ah, &rig->p, 8, &event);
	/* The small one takes it where the long datagram was dropped. */
	assert_int_equal(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
}

static void ibx_79_85_nobody_receives(void **state)
{
	struct cu_rig *rig = *state;
	DAT_IB_EXTENSION_EVENT_DATA active, passive;
	DAT_EVENT event;

	xu_need(rig, DAT_IB_ATTR_UD);
	uu_resolve(rig, &rig->a, &rig->p, &active, &passive);
	expect_ok(uu_send(&rig->a, 8, 1, &active.remote_ah));
	uu_sent(&rig->a, 1, 8);
	cu_quiet(rig->p.recv, CU_QUIET);
	expect_ok(cu_recv(&rig->p, 0, 1024, 2));
	cu_quiet(rig->p.recv, CU_QUIET); /* it was dropped, not kept */
	deliver(&rig->a, &active.remote_ah, &rig->p, 8, &event);
	check_received(&rig->p, &event, 2, 8);
	/* A peer that is gone. */
	expect_ok(dat_ep_free(rig->p.ep));
	rig->p.ep = DAT_HANDLE_NULL;
	expect_ok(uu_send(&rig->a, 8, 3, &active.remote_ah));
	uu_sent(&rig->a, 3, 8);
}

static void ibx_80_90_arguments(void **state)
{
	struct cu_rig *rig = *state;
	DAT_IB_EXTENSION_EVENT_DATA active, passive;
	DAT_IB_ADDR_HANDLE none = { .ah = NULL };
	DAT_LMR_TRIPLET seg[8];
	DAT_EP_PARAM param;
	DAT_EVENT event;
	size_t mtu;

	xu_need(rig, DAT_IB_ATTR_UD);
	mtu = (size_t)atoi(xu_named(rig, "DAT_IB_TRANSPORT_MTU"));
	uu_resolve(rig, &rig->a, &rig->p, &active, &passive);
	cu_query(rig->a.ep, &param);
	for (int i = 0; i < 8; i++)
		seg[i] = ct_segment(&rig->a.mem, 0, 8);
#define SEND(num, iov, to)                                               \
	dat_ib_post_send_ud(rig->a.ep, (num), (iov), (to), cu_cookie(1), \
			    DAT_COMPLETION_DEFAULT_FLAG)
	expect_arg(SEND(-1, seg, &active.remote_ah), 3);
	expect_arg(SEND(param.ep_attr.max_request_iov + 1, seg, &active.remote_ah), 3);
	expect_arg(SEND(1, NULL, &active.remote_ah), 4);
	expect_arg(SEND(1, seg, NULL), 5);
	expect_arg(SEND(1, seg, &none), 5);
	expect_arg(SEND(1, seg, &passive.remote_ah), 5); /* the peer's */
	expect_arg(uu_send(&rig->a, mtu + 1, 1, &active.remote_ah), 4);
	cu_quiet(rig->a.request, 20);
	/* The structure is read during the call alone, and no segments are legal. */
	none = active.remote_ah;
	expect_ok(cu_recv(&rig->p, 0, 1024, 2));
	expect_ok(SEND(0, NULL, &none));
	memset(&none, 0, sizeof(none));
	uu_sent(&rig->a, 1, 0);
#undef SEND
	if (cu_next(rig->p.recv, 1000, &event))
		check_received(&rig->p, &event, 2, 0);
}

/* An address is good as soon as it is there, before its peer knows of this side. */
static void ibx_81_87_before_established(void **state)
{
	struct cu_rig *rig = *state;
	DAT_IB_EXTENSION_EVENT_DATA active;
	DAT_EVENT event;

	xu_need(rig, DAT_IB_ATTR_UD);
	expect_ok(cu_recv(&rig->p, 0, 1024, 1));
	expect_ok(uu_connect(&rig->a, rig->qual, CT_US, NULL));
	expect_ok(uu_accept(uu_take_cr(rig), rig->p.ep, NULL));
	active = uu_event(&rig->a, DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED, DAT_IB_UD_REMOTE_AH,
			  NULL, &event);
	deliver(&rig->a, &active.remote_ah, &rig->p, 8, &event);
	check_received(&rig->p, &event, 1, 8);
	uu_event(&rig->p, DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED, DAT_IB_UD_PASSIVE_REMOTE_AH, NULL,
		 &event);
}

static void ibx_26_27_82_local_fault(void **state)
{
	struct cu_rig *rig = *state;
	DAT_IB_EXTENSION_EVENT_DATA active, passive;
	DAT_LMR_TRIPLET seg;
	DAT_EVENT event;

	xu_need(rig, DAT_IB_ATTR_UD);
	uu_resolve(rig, &rig->a, &rig->p, &active, &passive);
	expect_ok(cu_recv(&rig->a, 0, 1024, 1));
	seg = ct_segment(&rig->a.mem, 0, 8);
	seg.lmr_context ^= 0x5a5a00;
	expect_ok(dat_ib_post_send_ud(rig->a.ep, 1, &seg, &active.remote_ah, cu_cookie(2),
				      DAT_COMPLETION_DEFAULT_FLAG));
	XDONE(rig->a.request, rig->a.ep, 2, DAT_DTO_ERR_LOCAL_PROTECTION, DAT_IB_DTO_SEND_UD,
	      DAT_IB_UD_SEND, 0, 0);
	expect_ok(uu_send(&rig->a, 8, 3, &active.remote_ah));
	XDONE(rig->a.request, rig->a.ep, 3, DAT_DTO_ERR_FLUSHED, DAT_IB_DTO_SEND_UD, DAT_IB_UD_SEND,
	      0, 0);
	/* Receives go on. */
	deliver(&rig->p, &passive.remote_ah, &rig->a, 8, &event);
	check_received(&rig->a, &event, 1, 8);
	cu_quiet(rig->a.connect, 20);
	cu_quiet(rig->async, 0);
}

static void ud_end_on(struct cu_rig *rig, struct ct_end *end, DAT_EVD_HANDLE recv, DAT_COUNT dtos)
{
	DAT_EP_ATTR attr;

	uu_default_attr(rig, &attr);
	attr.max_recv_dtos = dtos;
	end->recv = recv;
	ct_end_open(end, rig->ia, &attr);
}

/* A datagram to an end that nobody takes the completion of. */
static void deliver_unseen(struct ct_end *from, const DAT_IB_ADDR_HANDLE *to, struct ct_end *at)
{
	uint64_t deadline = ct_now_us() + CT_US;
	DAT_BOOLEAN idle = DAT_FALSE;

	expect_ok(cu_recv(at, 0, 64, 1));
	while (!idle) {
		assert_true(ct_now_us() < deadline);
		expect_ok(uu_send(from, 8, 1, to));
		uu_sent(from, 1, 8);
		for (int i = 0; i < 100 && !idle; i++) {
			usleep(1000);
			expect_ok(dat_ep_get_status(at->ep, NULL, &idle, NULL));
		}
	}
}

/* What others have left no room for is lost, but not the endpoint's Receives. */
static void evd_99_receives_of_datagrams_outlive_a_full_queue(void **state)
{
	struct ct_end other = { 0 }, p = { 0 };
	struct cu_rig *rig = *state;
	DAT_IB_EXTENSION_EVENT_DATA to_other, to_p, passive;
	DAT_EVD_HANDLE full;
	DAT_EVENT event;
	DAT_COUNT qlen;

	xu_need(rig, DAT_IB_ATTR_UD);
	full = ct_evd(rig->ia, 1, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG);
	qlen = ct_evd_param(full).evd_qlen;
	if (qlen > 64)
		harness_skip("the shortest queue has %d places", qlen);
	ud_end_on(rig, &other, full, qlen);
	ud_end_on(rig, &p, full, 2);
	uu_resolve(rig, &rig->a, &other, &to_other, &passive);
	uu_resolve(rig, &rig->a, &p, &to_p, &passive);
	for (DAT_COUNT i = 0; i < qlen; i++)
		deliver_unseen(&rig->a, &to_other.remote_ah, &other);
	expect_ok(cu_recv(&p, 0, 64, 2));
	expect_ok(cu_recv(&p, 0, 64, 3));
	for (int i = 0; i < 4; i++) {
		expect_ok(uu_send(&rig->a, 8, 1, &to_p.remote_ah));
		uu_sent(&rig->a, 1, 8);
	}
	cu_poll(rig->async, &event);
	assert_int_equal(event.event_number, DAT_ASYNC_ERROR_EVD_OVERFLOW);
	usleep(50000); /* so that the others are lost as well */
	for (DAT_COUNT i = 0; i < qlen; i++)
		assert_true(cu_next(full, CT_MS, &event));
	deliver(&rig->a, &to_p.remote_ah, &p, 8, &event);
	check_received(&p, &event, 2, 8);
}

static void ibx_105_counters(void **state)
{
	DAT_UINT64 count[DCNT_EP_ALL_COUNTERS];
	struct cu_rig *rig = *state;
	DAT_IB_EXTENSION_EVENT_DATA active, passive;
	DAT_EVENT event;

	xu_need(rig, DAT_IB_ATTR_UD);
	uu_resolve(rig, &rig->a, &rig->p, &active, &passive);
	expect_ok(cu_recv(&rig->p, 0, 1024, 1));
	deliver(&rig->a, &active.remote_ah, &rig->p, 24, &event);
	expect_ok(dat_ib_query_counters(rig->a.ep, DCNT_EP_ALL_COUNTERS, count, 0));
	assert_true(count[DCNT_EP_POST_SEND_UD] >= 1);
	assert_int_equal(count[DCNT_EP_POST_SEND_UD_DATA], 24 * count[DCNT_EP_POST_SEND_UD]);
	assert_int_equal(count[DCNT_EP_POST_SEND], 0);
	expect_ok(dat_ib_query_counters(rig->p.ep, DCNT_EP_ALL_COUNTERS, count, 0));
	assert_int_equal(count[DCNT_EP_RECV_UD], 1);
	assert_int_equal(count[DCNT_EP_RECV_UD_DATA], UU_HEADER + 24);
	assert_int_equal(count[DCNT_EP_RECV], 0);
}

#define U(f) cmocka_unit_test_setup_teardown(f, uu_setup, cu_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		U(dto_44_ibx_59_78_79_83_86_lengths),
		U(ibx_83_header_across_segments),
		U(ibx_84_short_buffer),
		U(ibx_79_85_nobody_receives),
		U(ibx_80_90_arguments),
		U(ibx_81_87_before_established),
		U(ibx_26_27_82_local_fault),
		U(evd_99_receives_of_datagrams_outlive_a_full_queue),
		U(ibx_105_counters),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
