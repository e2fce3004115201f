/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What adapters differ in and the software devices do not show, on those of the zoo: each test is
 * for the kinds that test/zoo/zoo.sh runs it on. What happens without each mend: mended.md.
 */
#include "test/conformance/bind_util.h"
#include "test/conformance/conn_util.h"
#include "test/conformance/srq_util.h"

#include "test/zoo/asks.h"

/* ---- Ends ---- */

/* What the connection managers have for one message, as zoo.sh says; the last repetition counts. */
static uint64_t cm_time_us(void)
{
	return 16 * 1000 * (uint64_t)number("ZOO_CM_TIMEOUT_MS", 4295);
}

/* Every connection is ended by one side, which is gone at once: the other hears of it in time. */
static uint64_t end_one(struct ct_end *by, struct ct_end *other)
{
	uint64_t begin = ct_now_us();

	expect_ok(dat_ep_disconnect(by->ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_ok(dat_ep_free(by->ep));
	cu_conn_event(other->connect, other->ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
	ct_drain(by->connect);
	expect_ok(dat_ep_create(by->ia, by->pz, by->recv, by->request, by->connect, NULL, &by->ep));
	expect_ok(dat_ep_reset(other->ep));
	return ct_now_us() - begin;
}

static void an_end_is_heard_though_messages_are_lost(void **state)
{
	unsigned int rounds = number("ZOO_CONNECTIONS", 300);
	struct cu_rig *rig = *state;
	uint64_t begin = ct_now_us(), took, longest = 0, cpu = ct_process_cpu_us();
	uint32_t before = count("ids");

	for (unsigned int i = 0; i < rounds; i++) {
		cu_establish(rig, &rig->a, &rig->p);
		took = i % 2 ? end_one(&rig->a, &rig->p) : end_one(&rig->p, &rig->a);
		if (took > longest)
			longest = took;
	}
	ct_await(count("ids") == before);
	ct_await(count("msgs") == 0);
	print_message("# %u connections in %llu ms (%llu ms on the processor), the longest end "
		      "%llu us of %llu\n",
		      rounds, (unsigned long long)(ct_now_us() - begin) / 1000,
		      (unsigned long long)(ct_process_cpu_us() - cpu) / 1000,
		      (unsigned long long)longest, (unsigned long long)cm_time_us());
	assert_true(longest < cm_time_us() + 2000000); /* of a loaded machine */
}

static void an_end_is_heard_and_nothing_is_left(void **state)
{
	(void)state;
	assert_int_equal(count("ids") + count("qps") + count("cqs") + count("srqs") + count("mrs") +
				 count("pds") + count("msgs"),
			 0);
}

/* The kernel would repeat the reply after 4.3 s, and be answered. */
static void what_is_sent_establishes_a_connection(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CR_HANDLE cr;
	uint64_t begin;

	expect_ok(cu_recv(&rig->p, 0, 64, 1));
	cr = cu_request(rig, &rig->a);
	set("lose_rtu", 1);
	begin = ct_now_us();
	expect_ok(dat_cr_accept(cr, rig->p.ep, 0, NULL));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	cu_quiet(rig->p.connect, 50);
	expect_ok(ct_post_send(&rig->a, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	assert_true(ct_now_us() - begin < 2000000);
	DONE(rig->p.recv, rig->p.ep, 1, DAT_DTO_RECEIVE, 64);
	DONE(rig->a.request, rig->a.ep, 2, DAT_DTO_SEND, 64);
	expect_ok(cu_recv(&rig->a, 0, 64, 3));
	expect_ok(ct_post_send(&rig->p, 0, 64, 4, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->a.recv, rig->a.ep, 3, DAT_DTO_RECEIVE, 64);
}

/* Nobody answers the end any more. */
static void an_end_without_an_answer_is_bounded(void **state)
{
	struct cu_rig *rig = *state;
	uint64_t begin, cpu;

	cu_establish(rig, &rig->a, &rig->p);
	expect_ok(cu_recv(&rig->a, 0, 64, 1));
	set("loss", 1000);
	begin = ct_now_us();
	cpu = ct_thread_cpu_us();
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	FLUSHED(rig->a.recv, rig->a.ep, 1, DAT_DTO_RECEIVE);
	expect_ok(dat_ep_free(rig->a.ep));
	rig->a.ep = DAT_HANDLE_NULL;
	print_message("# %llu us, %llu of them on the processor\n",
		      (unsigned long long)(ct_now_us() - begin),
		      (unsigned long long)(ct_thread_cpu_us() - cpu));
	assert_true(ct_now_us() - begin < 2000000);
	assert_true(ct_thread_cpu_us() - cpu < 100000);
	set("loss", 0);
}

/* Each endpoint ends in the middle of a message, whose receive is flushed. */
static void a_shared_queue_keeps_its_receives(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end a = { 0 }, p = { 0 };
	uint64_t begin, took = 0;
	struct su_queue queue;

	su_open(rig, &queue, 8);
	su_fill(&queue, 0, 7);
	for (int i = 0; i < 20; i++) {
		su_pair(rig, &a, &p, &queue);
		begin = ct_now_us();
		expect_ok(dat_ep_disconnect(p.ep, DAT_CLOSE_ABRUPT_FLAG));
		expect_ok(dat_ep_free(p.ep));
		took += ct_now_us() - begin;
		expect_ok(su_post(&queue, cu_completion(p.recv).user_cookie.as_64));
		cu_conn_event(a.connect, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED, NULL);
		ct_end_close(&a);
		ct_mem_close(&p.mem);
		ct_drain(p.connect);
		p.ep = DAT_HANDLE_NULL;
	}
	/* The device takes 5 ms for each. */
	print_message("# 20 ends took %llu us\n", (unsigned long long)took);
	assert_true(took < 4000000);
	su_pair(rig, &a, &p, &queue);
	for (unsigned int i = 0; i < 8; i++) {
		su_send(&a, 64, i);
		su_taken(&p, &queue, 64, i);
	}
}

/* ---- What is announced ---- */

/* The largest of each. */
static void what_is_announced_can_be_made(void **state)
{
	struct cu_rig *rig = *state;
	DAT_SRQ_ATTR srq_attr = { .max_recv_iov = 1, .low_watermark = DAT_SRQ_LW_DEFAULT };
	const DAT_IA_ATTR *ia = &rig->attr;
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep;
	DAT_EP_ATTR attr;

	ct_default_attr(rig->ia, &attr);
	attr.max_request_dtos = attr.max_recv_dtos = ia->max_dto_per_ep;
	print_message("# max_dto_per_ep %d\n", ia->max_dto_per_ep);
	expect_ok(
		dat_evd_create(rig->ia, ia->max_evd_qlen, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd));
	expect_ok(dat_ep_create(rig->ia, rig->a.pz, evd, evd, rig->a.connect, &attr, &ep));
	expect_ok(dat_ep_free(ep));
	expect_ok(dat_evd_free(evd));
	if (!rig->prov.srq_supported)
		return;
	srq_attr.max_recv_dtos = ia->max_recv_per_srq;
	expect_ok(dat_srq_create(rig->ia, rig->a.pz, &srq_attr, &srq));
	expect_ok(dat_srq_free(srq));
}

/* Where a message can wait for its receive: the active end has another endpoint. */
static void active_of(struct cu_rig *rig, DAT_COUNT requests)
{
	DAT_EP_ATTR attr;

	if (ct_receives_first(&rig->attr, &rig->prov))
		harness_skip("over iWARP no message waits for a receive");
	ct_default_attr(rig->ia, &attr);
	attr.max_request_dtos = requests;
	expect_ok(dat_ep_free(rig->a.ep));
	expect_ok(dat_ep_create(rig->ia, rig->a.pz, rig->a.recv, rig->a.request, rig->a.connect,
				&attr, &rig->a.ep));
}

#define BINDS 64

/* Behind a message that waits. Of windows of type 2, each but the first takes two entries: what was
 * bound is invalidated. The window is younger than the endpoint, which connects after it. */
static void as_many_binds_as_requests(void **state)
{
	struct cu_rig *rig = *state;
	bool type_2 = bu_has_scope(rig, DAT_RMR_SCOPE_EP);
	DAT_RMR_HANDLE rmr;

	active_of(rig, BINDS + 1);
	rmr = bu_rmr(rig, rig->a.pz, type_2 ? DAT_RMR_SCOPE_EP : DAT_RMR_SCOPE_PZ);
	cu_establish(rig, &rig->a, &rig->p);
	bu_stall(&rig->a);
	for (uint64_t i = 0; i < BINDS; i++)
		expect_ok(bu_bind(&rig->a, rmr, &rig->a.mem, 0, 64, i, NULL));
	expect_ok(cu_recv(&rig->p, 0, 64, 1));
	DONE(rig->a.request, rig->a.ep, 0x57a11, DAT_DTO_SEND, 64);
	for (uint64_t i = 0; i < BINDS; i++)
		BOUND(rig->a.request, rmr, i);
}

#define REQUESTS 20

/* The window is younger than the connection, whose queue has room for a few invalidations. */
static void binds_leave_room_for_requests(void **state)
{
	struct cu_rig *rig = *state;
	bool type_2 = bu_has_scope(rig, DAT_RMR_SCOPE_EP);
	DAT_RMR_HANDLE rmr;
	DAT_RETURN rc;
	uint64_t binds, i;

	active_of(rig, REQUESTS);
	cu_establish(rig, &rig->a, &rig->p);
	rmr = bu_rmr(rig, rig->a.pz, type_2 ? DAT_RMR_SCOPE_EP : DAT_RMR_SCOPE_PZ);
	bu_stall(&rig->a);
	for (binds = 0, rc = DAT_SUCCESS; !rc && binds < REQUESTS - 1; binds += !rc)
		rc = bu_bind(&rig->a, rmr, &rig->a.mem, 0, 64, binds, NULL);
	print_message("# %llu binds\n", (unsigned long long)binds);
	assert_true(binds > 1);
	if (rc)
		assert_int_equal(DAT_GET_TYPE(rc), DAT_INSUFFICIENT_RESOURCES);
	for (i = binds; i < REQUESTS - 1; i++)
		expect_ok(ct_post_send(&rig->a, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
	for (i = binds; i < REQUESTS; i++)
		expect_ok(cu_recv(&rig->p, 0, 64, i));
	DONE(rig->a.request, rig->a.ep, 0x57a11, DAT_DTO_SEND, 64);
	for (i = 0; i < binds; i++)
		BOUND(rig->a.request, rmr, i);
	for (; i < REQUESTS - 1; i++)
		DONE(rig->a.request, rig->a.ep, i, DAT_DTO_SEND, 64);
	expect_ok(bu_bind(&rig->a, rmr, &rig->a.mem, 0, 64, i, NULL));
	BOUND(rig->a.request, rmr, i);
}

/* Nobody polls between: bnxt_re refuses to resize a CQ again until somebody did. */
static void a_queue_grows_with_each_endpoint(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EP_HANDLE ep[4];
	DAT_EP_ATTR attr;
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	uint32_t before;

	ct_default_attr(rig->ia, &attr);
	attr.max_recv_dtos = attr.max_request_dtos = 200;
	expect_ok(dat_evd_create(rig->ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd));
	before = count("cqe");
	for (int i = 0; i < 4; i++)
		expect_ok(
			dat_ep_create(rig->ia, rig->a.pz, evd, evd, rig->a.connect, &attr, &ep[i]));
	print_message("# %u entries, and %u then\n", before, count("cqe"));
	assert_true(count("cqe") >= 4 * 400);
	for (int i = 0; i < 4; i++)
		expect_ok(dat_ep_free(ep[i]));
	expect_ok(dat_evd_free(evd));
}

/* Libraries of irdma and i40iw sent the first segment of an inline request alone. */
static void a_small_message_has_all_its_segments(void **state)
{
	struct cu_rig *rig = *state;
	DAT_LMR_TRIPLET iov[3];
	uint8_t *from, *to;

	if (rig->attr.max_iov_segments_per_dto < 3)
		harness_skip("# the adapter has no three segments");
	cu_establish(rig, &rig->a, &rig->p);
	from = rig->a.mem.base;
	to = rig->p.mem.base;
	expect_ok(cu_recv(&rig->p, 0, 64, 1));
	for (int i = 0; i < 3; i++) {
		memset(from + 100 * i, 'a' + i, 8);
		iov[i] = ct_segment(&rig->a.mem, 100 * (size_t)i, 8);
	}
	expect_ok(dat_ep_post_send(rig->a.ep, 3, iov, cu_cookie(2), DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->p.recv, rig->p.ep, 1, DAT_DTO_RECEIVE, 24);
	DONE(rig->a.request, rig->a.ep, 2, DAT_DTO_SEND, 24);
	assert_memory_equal(to, "aaaaaaaabbbbbbbbcccccccc", 24);
}

/* ---- Devices ---- */

static int open_it(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	return dat_ia_open(harness_ia_name(), 8, &async, &ia) == DAT_SUCCESS;
}

/* As of release 2.1.10, programs have its GID as an IPv6 address (AF_IB carries it). */
static void without_an_address_its_gid_is_the_address(void **state)
{
	static const uint8_t gid[16] = { 0xfe, 0x80, [12] = 127, 0, 0, 1 };
	struct cu_rig *rig = *state;
	const struct sockaddr_in6 *own = (const void *)rig->attr.ia_address_ptr, *peer;
	DAT_EP_PARAM at_a, at_p;

	assert_int_equal(own->sin6_family, AF_INET6);
	assert_memory_equal(&own->sin6_addr, gid, sizeof(gid));
	cu_establish(rig, &rig->a, &rig->p);
	expect_ok(dat_ep_query(rig->a.ep, DAT_EP_FIELD_ALL, &at_a));
	expect_ok(dat_ep_query(rig->p.ep, DAT_EP_FIELD_ALL, &at_p));
	peer = (const void *)at_p.remote_ia_address_ptr;
	assert_int_equal(peer->sin6_family, AF_INET6);
	assert_memory_equal(&peer->sin6_addr, gid, sizeof(gid));
	assert_int_equal(at_p.remote_port_qual, at_a.local_port_qual);
	assert_int_equal(at_a.remote_port_qual, rig->qual);
}

static void without_an_address_a_message_says_what_is_missing(void **state)
{
	struct harness_result result;

	(void)state;
	harness_spawn_ok("open", NULL);
	harness_spawn("open", NULL, &result);
	assert_non_null(strstr(result.err, "has no IP address"));
	assert_non_null(strstr(result.err, "ib_ipoib"));
}

static void an_address_that_moved_is_not_connected(void **state)
{
	struct cu_rig *rig = *state;

	set("moved", 0);
	expect_ok(cu_connect(&rig->a, rig->qual, CT_US));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_UNREACHABLE, NULL);
}

static void interrupts_are_spread(void **state)
{
	(void)state;
	assert_true(count("vectors") > 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, cu_setup_ends, cu_teardown)

int main(int argc, char **argv)
{
	static const struct harness_child children[] = { { "open", open_it }, { NULL, NULL } };
	static const struct CMUnitTest tests[] = {
		T(an_end_is_heard_though_messages_are_lost),
		T(what_is_sent_establishes_a_connection),
		T(an_end_without_an_answer_is_bounded),
		T(a_shared_queue_keeps_its_receives),
		T(what_is_announced_can_be_made),
		T(as_many_binds_as_requests),
		T(binds_leave_room_for_requests),
		T(an_address_that_moved_is_not_connected),
		T(a_queue_grows_with_each_endpoint),
		T(a_small_message_has_all_its_segments),
		T(interrupts_are_spread),
		T(without_an_address_its_gid_is_the_address),
		cmocka_unit_test(without_an_address_a_message_says_what_is_missing),
		cmocka_unit_test(an_end_is_heard_and_nothing_is_left),
	};

	harness_child_main(argc, argv, children);

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
