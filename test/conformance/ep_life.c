/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The life of endpoints: reset, free, and a thousand connections (EP-106 to EP-116, EP-T3, EP-T4).
 */
#include "conn_util.h"
#include "peer.h"

#include <malloc.h>
#include <stdlib.h>

/* ---- dat_ep_reset ------------------------------------------------------ */

static void ep_106_reset_keeps_attributes_and_handles(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a;
	DAT_CONTEXT context = { .as_64 = 0x77 }, got;
	DAT_EP_PARAM before, after;

	expect_ok(dat_set_consumer_context(a->ep, context));
	cu_end_connection(a, &rig->p);
	/* There may be gaps. */
	memset(&before, 0, sizeof(before));
	memset(&after, 0, sizeof(after));
	expect_ok(dat_ep_query(a->ep, DAT_EP_FIELD_ALL, &before));
	expect_ok(dat_ep_reset(a->ep));
	STATE(a->ep, UNCONNECTED);
	expect_ok(dat_ep_query(a->ep, DAT_EP_FIELD_ALL, &after));
	assert_ptr_equal(after.pz_handle, before.pz_handle);
	assert_ptr_equal(after.recv_evd_handle, before.recv_evd_handle);
	assert_ptr_equal(after.request_evd_handle, before.request_evd_handle);
	assert_ptr_equal(after.connect_evd_handle, before.connect_evd_handle);
	assert_memory_equal(&after.ep_attr, &before.ep_attr,
			    offsetof(DAT_EP_ATTR, ep_transport_specific));
	expect_ok(dat_get_consumer_context(a->ep, &got));
	assert_true(got.as_64 == context.as_64);
	cu_quiet(a->connect, 0);
}

/* DTO-79 */
static void ep_107_reset_of_an_unconnected_endpoint_keeps_receives(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;

	expect_ok(cu_recv(p, 0, 64, 11));
	expect_ok(dat_ep_reset(p->ep));
	STATE(p->ep, UNCONNECTED);
	cu_quiet(p->recv, 0);
	cu_establish(rig, a, p);
	cu_fill(a->mem.base, 64, 1);
	expect_ok(ct_post_send(a, 0, 64, 12, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(a->request, a->ep, 12, DAT_DTO_SEND, 64);
	DONE(p->recv, p->ep, 11, DAT_DTO_RECEIVE, 64);
	FILLED(p->mem.base, 64, 1);
}

static void ep_108_109_no_old_completion_after_reset(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;
	DAT_BOOLEAN recv_idle, request_idle;

	for (unsigned int i = 0; i < 8; i++) {
		expect_ok(cu_recv(a, 0, 64, i));
		expect_ok(cu_write(a, 0, 64, i, &p->mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
	}
	cu_end_connection(a, p);
	expect_ok(dat_ep_reset(a->ep));
	ct_drain(a->recv);
	ct_drain(a->request);
	expect_ok(dat_ep_get_status(a->ep, NULL, &recv_idle, &request_idle));
	assert_int_equal(recv_idle, DAT_TRUE);
	assert_int_equal(request_idle, DAT_TRUE);
	cu_quiet(a->recv, 100);
	cu_quiet(a->request, 0);
	/* The queues are empty: as many fit as the attribute says. */
	for (unsigned int i = 0; i < 16; i++)
		expect_ok(cu_recv(a, 0, 64, i));
}

/* DTO-79 */
static void ep_108_a_marker_finds_the_end_of_the_flush(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;

	for (unsigned int i = 0; i < 5; i++)
		expect_ok(cu_recv(a, 0, 64, i));
	cu_end_connection(a, p);
	expect_ok(cu_recv(a, 0, 64, 99));
	expect_ok(ct_post_send(a, 0, 64, 98, DAT_COMPLETION_DEFAULT_FLAG));
	for (unsigned int i = 0; i < 5; i++)
		FLUSHED(a->recv, a->ep, i, DAT_DTO_RECEIVE);
	FLUSHED(a->recv, a->ep, 99, DAT_DTO_RECEIVE);
	FLUSHED(a->request, a->ep, 98, DAT_DTO_SEND);
	expect_ok(dat_ep_reset(a->ep));
	cu_quiet(a->recv, 50);
	cu_quiet(a->request, 0);
}

static void ep_106_reconnects_at_once_after_reset(void **state)
{
	struct cu_rig *rig = *state;

	for (unsigned int i = 0; i < 20; i++) {
		expect_ok(cu_recv(&rig->p, 0, 64, i));
		expect_ok(ct_post_send(&rig->a, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
		DONE(rig->a.request, rig->a.ep, i, DAT_DTO_SEND, 64);
		DONE(rig->p.recv, rig->p.ep, i, DAT_DTO_RECEIVE, 64);
		cu_end_connection(&rig->a, &rig->p);
		expect_ok(dat_ep_reset(rig->a.ep));
		expect_ok(dat_ep_reset(rig->p.ep));
		/* SIM-10: the roles are free to change. */
		if (i % 2 == 0)
			cu_establish(rig, &rig->p, &rig->a);
		else
			cu_establish(rig, &rig->a, &rig->p);
	}
}

static void ep_110_reset_arguments(void **state)
{
	struct cu_rig *rig = *state;

	expect_handle(dat_ep_reset(NULL), EP);
	expect_handle(dat_ep_reset(rig->a.pz), EP);
	expect_ok(dat_ep_free(rig->a.ep));
	expect_handle(dat_ep_reset(rig->a.ep), EP);
}

/* ---- dat_ep_free ------------------------------------------------------- */

static void free_all_of(struct ct_end *end)
{
	DAT_EP_HANDLE ep = end->ep;

	ct_end_close(end); /* EP-114: every object can be freed next */
	expect_handle(dat_ep_free(ep), EP);
}

static void post_some(struct ct_end *end)
{
	for (unsigned int i = 0; i < 4; i++)
		expect_ok(cu_recv(end, 0, 64, i));
}

static void ep_t4_free_in_unconnected(void **state)
{
	struct cu_rig *rig = *state;

	post_some(&rig->a);
	free_all_of(&rig->a);
}

static void ep_t4_free_in_active_pending(void **state)
{
	struct cu_rig *rig = *state;

	post_some(&rig->a);
	cu_request(rig, &rig->a);
	STATE(rig->a.ep, ACTIVE_CONNECTION_PENDING);
	free_all_of(&rig->a);
}

static void ep_t4_free_in_connected(void **state)
{
	struct cu_rig *rig = *state;

	post_some(&rig->a);
	cu_establish(rig, &rig->a, &rig->p);
	free_all_of(&rig->a);
	/* EP-112, EV-17 */
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	STATE(rig->p.ep, DISCONNECTED);
}

static void ep_t4_free_in_disconnect_pending(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_mem *big = cu_extra_mem(rig, rig->a.pz, CU_BIG, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	DAT_LMR_TRIPLET seg = ct_segment(big, 0, CU_BIG);

	post_some(&rig->a);
	cu_establish(rig, &rig->a, &rig->p);
	expect_ok(dat_ep_post_send(rig->a.ep, 1, &seg, cu_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	STATE(rig->a.ep, DISCONNECT_PENDING);
	expect_ok(dat_lmr_free(big->lmr));
	free_all_of(&rig->a);
	cu_conn_ended(rig->p.connect, rig->p.ep);
}

static void ep_t4_free_in_disconnected(void **state)
{
	struct cu_rig *rig = *state;

	post_some(&rig->a);
	cu_establish(rig, &rig->a, &rig->p);
	cu_end_connection(&rig->a, &rig->p);
	free_all_of(&rig->a);
}

static void active(int fd)
{
	struct cu_rig *rig = cu_rig_open();
	struct peer_service there = peer_get_service(fd);
	DAT_EVENT event;

	ct_end_open(&rig->a, rig->ia, NULL);
	expect_ok(peer_connect(&rig->a, &there, DAT_TIMEOUT_INFINITE));
	peer_put_word(fd, 1);
	cu_next(rig->a.connect, 60000, &event);
	cu_rig_close(rig);
}

static void ep_t4_free_in_completion_pending(void **state)
{
	struct cu_rig *rig = *state;
	struct peer *peer = peer_start("active");
	DAT_CR_HANDLE cr;

	post_some(&rig->p);
	peer_put_service(peer->fd, rig);
	cr = cu_take_cr(rig->cr);
	assert_int_equal(peer_get_word(peer->fd), 1);
	peer_stop(peer);
	expect_ok(dat_cr_accept(cr, rig->p.ep, 0, NULL));
	free_all_of(&rig->p);
	peer_continue(peer);
	peer_finish(peer);
}

static void ep_111_free_refused_in_reserved_passive_tentative(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CONN_QUAL qual = cu_free_qual(rig);
	DAT_RSP_HANDLE rsp;
	DAT_CR_HANDLE cr;

	expect_ok(dat_rsp_create(rig->ia, qual, rig->p.ep, rig->cr, &rsp));
	expect_state(dat_ep_free(rig->p.ep), EP_RESERVED);
	expect_ok(cu_connect(&rig->a, qual, DAT_TIMEOUT_INFINITE));
	cr = cu_take_cr(rig->cr);
	expect_state(dat_ep_free(rig->p.ep), EP_PASSCONNPENDING);
	expect_ok(dat_cr_reject(cr, 0, NULL));
	expect_ok(dat_ep_free(rig->p.ep));
}

/* DTO-80 */
static void ep_113_no_completion_after_free(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a;
	DAT_EVENT event;

	post_some(a);
	for (unsigned int i = 0; i < 8; i++)
		expect_ok(cu_write(a, 0, 4096, i, &rig->p.mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(dat_ep_free(a->ep));
	while (dat_evd_dequeue(a->request, &event) == DAT_SUCCESS)
		assert_ptr_equal(event.event_data.dto_completion_event_data.ep_handle, a->ep);
	ct_drain(a->recv);
	cu_quiet(a->request, 100);
	cu_quiet(a->recv, 0);
	cu_quiet(a->connect, 0);
}

/* EP-116 */
static void ep_115_every_call_refuses_a_freed_endpoint(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a;
	DAT_EP_PARAM param;
	DAT_CONTEXT context;
	DAT_RSP_HANDLE rsp;

	expect_ok(dat_ep_free(a->ep));
	expect_handle(dat_ep_free(a->ep), EP);
	expect_handle(dat_ep_query(a->ep, DAT_EP_FIELD_ALL, &param), EP);
	expect_handle(dat_ep_modify(a->ep, 0, &param), EP);
	expect_handle(dat_ep_get_status(a->ep, NULL, NULL, NULL), EP);
	expect_handle(dat_ep_reset(a->ep), EP);
	expect_handle(dat_ep_disconnect(a->ep, DAT_CLOSE_ABRUPT_FLAG), EP);
	expect_handle(cu_connect(a, rig->qual, DAT_TIMEOUT_INFINITE), EP);
	expect_handle(cu_recv(a, 0, 64, 0), EP);
	expect_handle(ct_post_send(a, 0, 64, 0, DAT_COMPLETION_DEFAULT_FLAG), EP);
	expect_handle(cu_write(a, 0, 64, 0, &rig->p.mem, 0, DAT_COMPLETION_DEFAULT_FLAG), EP);
	expect_handle(cu_read(a, 0, 64, 0, &rig->p.mem, 0, DAT_COMPLETION_DEFAULT_FLAG), EP);
	expect_handle(dat_rsp_create(rig->ia, cu_free_qual(rig), a->ep, rig->cr, &rsp), EP);
	expect(dat_get_consumer_context(a->ep, &context), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
}

/* ---- Many lives -------------------------------------------------------- */

static void one_life(struct cu_rig *rig, unsigned int round)
{
	struct ct_end *a = &rig->a, *p = &rig->p;

	expect_ok(cu_recv(a, 0, 256, round));
	expect_ok(cu_recv(p, 0, 256, round));
	cu_establish(rig, a, p);
	expect_ok(ct_post_send(a, 256, 256, round, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(ct_post_send(p, 256, 256, round, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(a->request, a->ep, round, DAT_DTO_SEND, 256);
	DONE(p->request, p->ep, round, DAT_DTO_SEND, 256);
	DONE(a->recv, a->ep, round, DAT_DTO_RECEIVE, 256);
	DONE(p->recv, p->ep, round, DAT_DTO_RECEIVE, 256);
	if (round % 2 == 0)
		cu_end_connection(a, p);
	else
		cu_end_connection(p, a);
	expect_ok(dat_ep_reset(a->ep));
	expect_ok(dat_ep_reset(p->ep));
}

/* What a dispatcher makes for the first wait that sleeps. */
static void wait_on_each(struct cu_rig *rig)
{
	struct ct_end *ends[] = { &rig->a, &rig->p };

	cu_quiet(rig->cr, 1);
	for (int i = 0; i < 2; i++) {
		cu_quiet(ends[i]->recv, 1);
		cu_quiet(ends[i]->request, 1);
		cu_quiet(ends[i]->connect, 1);
	}
}

struct sample {
	unsigned int fds;
	size_t used;  /* KiB that malloc has given out */
	size_t limit; /* what private memory may become: the heap is touched bit by bit */
};

static struct sample sample(void)
{
#ifdef __GLIBC__
	struct mallinfo2 heap = mallinfo2();
#else /* counts nothing: the limit alone can be looked at */
	struct {
		size_t uordblks, hblkhd, arena;
	} heap = { 0 };
#endif

	return (struct sample){ .fds = cu_count_fds(),
				.used = (heap.uordblks + heap.hblkhd) / 1024,
				.limit = cu_private_kib(0) + heap.arena / 1024 + 256 };
}

static void check_growth(const struct sample *before)
{
	uint64_t deadline = ct_now_us() + CT_US;
	struct sample now;
	size_t kib;

	/* The ends of the last connections may linger. */
	ct_await(cu_count_fds() <= before->fds);
	while ((now = sample()).used > before->used + 64 && ct_now_us() < deadline)
		ct_pause();
	kib = cu_private_kib(0);
	print_message("# in use %zu KiB, then %zu KiB; private memory %zu KiB of at most %zu KiB\n",
		      before->used, now.used, kib, before->limit);
	if (harness_sanitized())
		return;
	assert_in_range(now.used, 0, before->used + 64);
	assert_in_range(kib, 0, before->limit);
}

static void ep_t3_a_thousand_connections_of_one_pair(void **state)
{
	struct cu_rig *rig = *state;
	struct sample before = { 0 };

	wait_on_each(rig);
	for (unsigned int round = 0; round < harness_rounds(1000); round++) {
		if (round == harness_rounds(1000) / 5)
			before = sample();
		one_life(rig, round);
	}
	check_growth(&before);
}

static void ep_t3_a_thousand_pairs_of_endpoints(void **state)
{
	struct cu_rig *rig = *state;
	struct sample before = { 0 };

	wait_on_each(rig);
	for (unsigned int round = 0; round < harness_rounds(1000); round++) {
		if (round == harness_rounds(1000) / 5)
			before = sample();
		expect_ok(dat_ep_free(rig->a.ep));
		expect_ok(dat_ep_free(rig->p.ep));
		expect_ok(dat_ep_create(rig->ia, rig->a.pz, rig->a.recv, rig->a.request,
					rig->a.connect, NULL, &rig->a.ep));
		expect_ok(dat_ep_create(rig->ia, rig->p.pz, rig->p.recv, rig->p.request,
					rig->p.connect, NULL, &rig->p.ep));
		one_life(rig, round);
	}
	check_growth(&before);
}

#define E(f) cmocka_unit_test_setup_teardown(f, cu_setup_ends, cu_teardown)
#define C(f) cmocka_unit_test_setup_teardown(f, cu_setup_connected, cu_teardown)

int main(int argc, char **argv)
{
	static const struct peer_role roles[] = { { "active", active }, { NULL, NULL } };
	static const struct CMUnitTest tests[] = {
		C(ep_106_reset_keeps_attributes_and_handles),
		E(ep_107_reset_of_an_unconnected_endpoint_keeps_receives),
		C(ep_108_109_no_old_completion_after_reset),
		C(ep_108_a_marker_finds_the_end_of_the_flush),
		C(ep_106_reconnects_at_once_after_reset),
		E(ep_110_reset_arguments),
		E(ep_t4_free_in_unconnected),
		E(ep_t4_free_in_active_pending),
		E(ep_t4_free_in_connected),
		E(ep_t4_free_in_disconnect_pending),
		E(ep_t4_free_in_disconnected),
		E(ep_t4_free_in_completion_pending),
		E(ep_111_free_refused_in_reserved_passive_tentative),
		C(ep_113_no_completion_after_free),
		E(ep_115_every_call_refuses_a_freed_endpoint),
		E(ep_t3_a_thousand_connections_of_one_pair),
		E(ep_t3_a_thousand_pairs_of_endpoints),
	};

	/* Connections by datagrams are known for a minute after their ends, for a late peer. */
	setenv("DAPL_UCM_WAIT_TIME", "10", 0);
	peer_main(argc, argv, roles);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
