/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Posting: arguments, limits and what a refused post leaves behind (DTO-3 to DTO-19, DTO-27,
 * DTO-35, DTO-46 to DTO-57). */
#include "conn_util.h"
#include "peer.h"

/* The four posts that move data, so that a rule about arguments can be tried on each. */
enum post {
	SEND,
	RECV,
	WRITE,
	READ,
	NUM_POSTS
};

static const char *const names[NUM_POSTS] = { "send", "receive", "RDMA write", "RDMA read" };

static DAT_RMR_TRIPLET target; /* what RDMA aims at when a test does not say */

static DAT_RETURN post(enum post what, DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
		       uint64_t cookie, DAT_COMPLETION_FLAGS flags)
{
	switch (what) {
	case SEND:
		return dat_ep_post_send(ep, n, iov, cu_cookie(cookie), flags);
	case RECV:
		return dat_ep_post_recv(ep, n, iov, cu_cookie(cookie), flags);
	case WRITE:
		return dat_ep_post_rdma_write(ep, n, iov, cu_cookie(cookie), &target, flags);
	default:
		return dat_ep_post_rdma_read(ep, n, iov, cu_cookie(cookie), &target, flags);
	}
}

#define FOR_EACH_POST(p) for (enum post p = SEND; p < NUM_POSTS; p++)

static int setup(void **state)
{
	struct cu_rig *rig;

	cu_setup_connected(state);
	rig = *state;
	target = ct_target(&rig->p.mem, 0, 64);
	return 0;
}

static void still_works(struct cu_rig *rig)
{
	STATE(rig->a.ep, CONNECTED);
	cu_quiet(rig->a.request, 0);
	cu_quiet(rig->a.recv, 0);
	cu_quiet(rig->a.connect, 0);
	expect_ok(cu_recv(&rig->p, 0, 64, 1));
	expect_ok(ct_post_send(&rig->a, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->a.request, rig->a.ep, 2, DAT_DTO_SEND, 64);
	DONE(rig->p.recv, rig->p.ep, 1, DAT_DTO_RECEIVE, 64);
}

/* ---- Handles, counts and pointers -------------------------------------- */

static void dto_bad_endpoint(void **state)
{
	struct cu_rig *rig = *state;
	DAT_LMR_TRIPLET seg = ct_segment(&rig->a.mem, 0, 64);

	FOR_EACH_POST(p) {
		print_message("# %s\n", names[p]);
		expect_handle(post(p, NULL, 1, &seg, 0, DAT_COMPLETION_DEFAULT_FLAG), EP);
		expect_handle(post(p, rig->a.pz, 1, &seg, 0, DAT_COMPLETION_DEFAULT_FLAG), EP);
	}
	still_works(rig);
}

/* The most that a post of the connected endpoints may have. */
static DAT_COUNT segments_of(struct cu_rig *rig, enum post what)
{
	DAT_EP_PARAM param;

	cu_query(rig->a.ep, &param);
	switch (what) {
	case RECV:
		return param.ep_attr.max_recv_iov;
	case READ:
		return param.ep_attr.max_rdma_read_iov;
	case WRITE:
		return param.ep_attr.max_rdma_write_iov;
	default:
		return param.ep_attr.max_request_iov;
	}
}

static void dto_11_null_segments(void **state)
{
	struct cu_rig *rig = *state;

	FOR_EACH_POST(p) {
		print_message("# %s\n", names[p]);
		expect_arg(post(p, rig->a.ep, 1, NULL, 0, DAT_COMPLETION_DEFAULT_FLAG), 3);
		expect_arg(post(p, rig->a.ep, 1, NULL, 0, DAT_COMPLETION_SUPPRESS_FLAG), 3);
		if (segments_of(rig, p) > 1)
			expect_arg(post(p, rig->a.ep, 2, NULL, 0, DAT_COMPLETION_DEFAULT_FLAG), 3);
	}
	still_works(rig);
	/* Without segments the pointer is ignored. */
	expect_ok(post(RECV, rig->p.ep, 0, NULL, 3, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(post(SEND, rig->a.ep, 0, NULL, 4, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(post(WRITE, rig->a.ep, 0, (DAT_LMR_TRIPLET *)8, 5, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->p.recv, rig->p.ep, 3, DAT_DTO_RECEIVE, 0);
	DONE(rig->a.request, rig->a.ep, 4, DAT_DTO_SEND, 0);
	DONE(rig->a.request, rig->a.ep, 5, DAT_DTO_RDMA_WRITE, 0);
}

static void dto_12_number_of_segments(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EP_PARAM param;
	DAT_LMR_TRIPLET iov[64];
	int limit[NUM_POSTS];

	expect_ok(dat_ep_query(rig->a.ep, DAT_EP_FIELD_ALL, &param));
	limit[SEND] = param.ep_attr.max_request_iov;
	limit[RECV] = param.ep_attr.max_recv_iov;
	limit[WRITE] =
		param.ep_attr.max_rdma_write_iov ? param.ep_attr.max_rdma_write_iov : limit[SEND];
	limit[READ] =
		param.ep_attr.max_rdma_read_iov ? param.ep_attr.max_rdma_read_iov : limit[SEND];
	for (int i = 0; i < 64; i++)
		iov[i] = ct_segment(&rig->a.mem, (size_t)i, 1);
	FOR_EACH_POST(p) {
		print_message("# %s: %d\n", names[p], limit[p]);
		assert_in_range(limit[p], 1, 63);
		expect_arg(post(p, rig->a.ep, -1, iov, 0, DAT_COMPLETION_DEFAULT_FLAG), 2);
		expect_arg(post(p, rig->a.ep, limit[p] + 1, iov, 0, DAT_COMPLETION_DEFAULT_FLAG),
			   2);
		expect_arg(post(p, rig->a.ep, INT32_MAX, iov, 0, DAT_COMPLETION_DEFAULT_FLAG), 2);
		expect_arg(post(p, rig->a.ep, INT32_MIN, iov, 0, DAT_COMPLETION_DEFAULT_FLAG), 2);
	}
	still_works(rig);
}

static void dto_12_rdma_limit_zero_is_the_request_limit(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end a = { 0 }, p = { 0 };
	DAT_LMR_TRIPLET iov[4];
	DAT_EP_ATTR attr;
	DAT_COUNT reads;

	if (rig->attr.max_iov_segments_per_dto < 3)
		harness_skip("the adapter has fewer than three segments");
	ct_default_attr(rig->ia, &attr);
	attr.max_request_iov = 3;
	attr.max_rdma_read_iov = 0;
	attr.max_rdma_write_iov = 0;
	ct_end_open(&a, rig->ia, &attr);
	ct_end_open(&p, rig->ia, NULL);
	cu_establish(rig, &a, &p);
	target = ct_target(&p.mem, 0, 3);
	for (size_t i = 0; i < 4; i++)
		iov[i] = ct_segment(&a.mem, i, 1);
	expect_ok(post(WRITE, a.ep, 3, iov, 1, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(a.request, a.ep, 1, DAT_DTO_RDMA_WRITE, 3);
	reads = rig->attr.max_iov_segments_per_rdma_read;
	if (reads >= 3) {
		expect_ok(post(READ, a.ep, 3, iov, 2, DAT_COMPLETION_DEFAULT_FLAG));
		DONE(a.request, a.ep, 2, DAT_DTO_RDMA_READ, 3);
	}
	ct_end_close(&a);
	ct_end_close(&p);
}

static void dto_14_null_remote(void **state)
{
	struct cu_rig *rig = *state;
	DAT_LMR_TRIPLET *nowhere = (DAT_LMR_TRIPLET *)(uintptr_t)sizeof(DAT_LMR_TRIPLET);
	DAT_LMR_TRIPLET seg = ct_segment(&rig->a.mem, 0, 64);

	expect_arg(dat_ep_post_rdma_write(rig->a.ep, 1, &seg, cu_cookie(0), NULL,
					  DAT_COMPLETION_DEFAULT_FLAG),
		   5);
	expect_arg(dat_ep_post_rdma_read(rig->a.ep, 1, &seg, cu_cookie(0), NULL,
					 DAT_COMPLETION_DEFAULT_FLAG),
		   5);
	/* DTO-56 */
	expect_ok(dat_ep_post_rdma_write(rig->a.ep, 0, NULL, cu_cookie(5), NULL,
					 DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(dat_ep_post_rdma_read(rig->a.ep, 0, NULL, cu_cookie(6), NULL,
					DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->a.request, rig->a.ep, 5, DAT_DTO_RDMA_WRITE, 0);
	DONE(rig->a.request, rig->a.ep, 6, DAT_DTO_RDMA_READ, 0);
	/* Nor is an array of no segments looked at. */
	expect_ok(dat_ep_post_rdma_write(rig->a.ep, 0, nowhere, cu_cookie(7), &target,
					 DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(dat_ep_post_rdma_read(rig->a.ep, 0, nowhere, cu_cookie(8), &target,
					DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->a.request, rig->a.ep, 7, DAT_DTO_RDMA_WRITE, 0);
	DONE(rig->a.request, rig->a.ep, 8, DAT_DTO_RDMA_READ, 0);
	still_works(rig);
}

/* ---- Segments ---------------------------------------------------------- */

static void dto_9_segments_in_array_order(void **state)
{
	struct cu_rig *rig = *state;
	DAT_LMR_TRIPLET in[4] = {
		ct_segment(&rig->p.mem, 3000, 10),
		ct_segment(&rig->p.mem, 0, 0),
		ct_segment(&rig->p.mem, 1000, 20),
		ct_segment(&rig->p.mem, 2000, 30),
	};
	DAT_LMR_TRIPLET out[3] = {
		ct_segment(&rig->a.mem, 5000, 7),
		ct_segment(&rig->a.mem, 100, 1),
		ct_segment(&rig->a.mem, 7000, 17),
	};
	uint8_t want[25];

	if (rig->attr.max_iov_segments_per_dto < 4)
		harness_skip("the adapter has fewer than four segments");
	cu_fill(want, 25, 9);
	memcpy(rig->a.mem.base + 5000, want, 7);
	memcpy(rig->a.mem.base + 100, want + 7, 1);
	memcpy(rig->a.mem.base + 7000, want + 8, 17);
	memset(rig->p.mem.base, 0xee, 4096);
	expect_ok(dat_ep_post_recv(rig->p.ep, 4, in, cu_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(dat_ep_post_send(rig->a.ep, 3, out, cu_cookie(2), DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->p.recv, rig->p.ep, 1, DAT_DTO_RECEIVE, 25);
	assert_memory_equal(rig->p.mem.base + 3000, want, 10);
	assert_memory_equal(rig->p.mem.base + 1000, want + 10, 15);
	for (size_t i = 0; i < 4096; i++) {
		bool inside = (i >= 3000 && i < 3010) || (i >= 1000 && i < 1015);

		if (!inside)
			assert_int_equal(rig->p.mem.base[i], 0xee);
	}
}

static void dto_10_empty_segments_are_not_looked_at(void **state)
{
	struct cu_rig *rig = *state;
	DAT_LMR_TRIPLET nothing = { .virtual_address = 0x10,
				    .segment_length = 0,
				    .lmr_context = 0xdeadbeef };
	DAT_LMR_TRIPLET in[3] = { nothing, ct_segment(&rig->p.mem, 0, 64), nothing };
	DAT_LMR_TRIPLET out[3] = { nothing, ct_segment(&rig->a.mem, 0, 64), nothing };

	if (rig->attr.max_iov_segments_per_dto < 3)
		harness_skip("the adapter has fewer than three segments");
	cu_fill(rig->a.mem.base, 64, 4);
	expect_ok(dat_ep_post_recv(rig->p.ep, 3, in, cu_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
	FOR_EACH_POST(p) {
		if (p == RECV || (p == READ && rig->attr.max_iov_segments_per_rdma_read < 3))
			continue;
		expect_ok(post(p, rig->a.ep, 3, out, p, DAT_COMPLETION_DEFAULT_FLAG));
	}
	DONE(rig->p.recv, rig->p.ep, 1, DAT_DTO_RECEIVE, 64);
	DONE(rig->a.request, rig->a.ep, SEND, DAT_DTO_SEND, 64);
	DONE(rig->a.request, rig->a.ep, WRITE, DAT_DTO_RDMA_WRITE, 64);
	FILLED(rig->p.mem.base, 64, 4);
}

static void dto_7_segment_arrays_may_be_reused_at_once(void **state)
{
	struct cu_rig *rig = *state;
	DAT_LMR_TRIPLET seg;
	DAT_RMR_TRIPLET remote;

	assert_int_equal(rig->prov.iov_ownership_on_return, DAT_IOV_CONSUMER);
	for (unsigned int i = 0; i < 8; i++) {
		seg = ct_segment(&rig->p.mem, i * 64, 64);
		expect_ok(dat_ep_post_recv(rig->p.ep, 1, &seg, cu_cookie(i),
					   DAT_COMPLETION_DEFAULT_FLAG));
		memset(&seg, 0xff, sizeof(seg));
	}
	for (unsigned int i = 0; i < 8; i++) {
		cu_fill(rig->a.mem.base + i * 64, 64, i);
		seg = ct_segment(&rig->a.mem, i * 64, 64);
		expect_ok(dat_ep_post_send(rig->a.ep, 1, &seg, cu_cookie(i),
					   DAT_COMPLETION_DEFAULT_FLAG));
		memset(&seg, 0xff, sizeof(seg));
		seg = ct_segment(&rig->a.mem, i * 64, 64);
		remote = ct_target(&rig->p.mem, 4096 + i * 64, 64);
		expect_ok(dat_ep_post_rdma_write(rig->a.ep, 1, &seg, cu_cookie(i), &remote,
						 DAT_COMPLETION_DEFAULT_FLAG));
		memset(&seg, 0xff, sizeof(seg));
		memset(&remote, 0xff, sizeof(remote));
	}
	for (unsigned int i = 0; i < 8; i++) {
		DONE(rig->a.request, rig->a.ep, i, DAT_DTO_SEND, 64);
		DONE(rig->a.request, rig->a.ep, i, DAT_DTO_RDMA_WRITE, 64);
		DONE(rig->p.recv, rig->p.ep, i, DAT_DTO_RECEIVE, 64);
		FILLED(rig->p.mem.base + i * 64, 64, i);
	}
}

static void dto_13_cookies(void **state)
{
	static const uint64_t cookies[] = { 0, 0, 1, UINT64_MAX, UINT64_C(0x8000000000000000), 1 };
	struct cu_rig *rig = *state;
	const size_t n = sizeof(cookies) / sizeof(cookies[0]);

	for (size_t i = 0; i < n; i++)
		expect_ok(cu_recv(&rig->p, 0, 64, cookies[i]));
	for (size_t i = 0; i < n; i++)
		expect_ok(ct_post_send(&rig->a, 0, 64, cookies[n - 1 - i],
				       DAT_COMPLETION_DEFAULT_FLAG));
	for (size_t i = 0; i < n; i++) {
		DONE(rig->p.recv, rig->p.ep, cookies[i], DAT_DTO_RECEIVE, 64);
		DONE(rig->a.request, rig->a.ep, cookies[n - 1 - i], DAT_DTO_SEND, 64);
	}
}

/* ---- Endpoints that lack something ------------------------------------- */

/* EP-130 */
static void dto_18_no_completion_evd(void **state)
{
	struct cu_rig *rig = *state;
	DAT_LMR_TRIPLET seg = ct_segment(&rig->a.mem, 0, 64);
	DAT_EP_HANDLE ep;

	expect_ok(dat_ep_create(rig->ia, rig->a.pz, NULL, NULL, rig->a.connect, NULL, &ep));
	expect_state(post(RECV, ep, 1, &seg, 0, DAT_COMPLETION_DEFAULT_FLAG), EP_NOTREADY);
	expect_ok(dat_ep_free(ep));
}

/* EVD-15: a stream without an EVD has no events */
static void dto_18_connected_without_request_evd(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end a = { .pz = rig->a.pz, .ia = rig->ia }, p = { 0 };
	DAT_LMR_TRIPLET seg = ct_segment(&rig->a.mem, 0, 64);

	a.connect = ct_evd(rig->ia, 8, NULL, DAT_EVD_CONNECTION_FLAG);
	expect_ok(dat_ep_create(rig->ia, a.pz, NULL, NULL, a.connect, NULL, &a.ep));
	ct_end_open(&p, rig->ia, NULL);
	cu_establish(rig, &a, &p);
	FOR_EACH_POST(i) {
		expect_state(post(i, a.ep, 1, &seg, 0, DAT_COMPLETION_DEFAULT_FLAG), EP_NOTREADY);
	}
	STATE(a.ep, CONNECTED);
	expect_ok(dat_ep_free(a.ep));
	ct_end_close(&p);
}

/* EP-130 */
static void dto_19_no_protection_zone(void **state)
{
	struct cu_rig *rig = *state;
	DAT_LMR_TRIPLET seg = ct_segment(&rig->a.mem, 0, 64);
	DAT_EP_HANDLE ep;

	expect_ok(dat_ep_create(rig->ia, NULL, rig->a.recv, rig->a.request, rig->a.connect, NULL,
				&ep));
	expect_state(post(RECV, ep, 1, &seg, 0, DAT_COMPLETION_DEFAULT_FLAG), EP_NOTREADY);
	expect_ok(dat_ep_free(ep));
}

/* ---- Sizes ------------------------------------------------------------- */

/* Two segments that together are one byte too long: refused before any memory is looked at. */
static void dto_35_55_92_beyond_the_adapters_maximum(void **state)
{
	struct cu_rig *rig = *state;
	DAT_LMR_TRIPLET iov[2] = { ct_segment(&rig->a.mem, 0, 1), ct_segment(&rig->a.mem, 0, 1) };
	DAT_LMR_TRIPLET big;

	if (rig->attr.max_iov_segments_per_dto < 2)
		harness_skip("the adapter has a single segment");
	iov[0].segment_length = rig->attr.max_message_size;
	expect_arg(post(SEND, rig->a.ep, 2, iov, 0, DAT_COMPLETION_DEFAULT_FLAG), 3);
	iov[1].segment_length = UINT32_MAX;
	iov[0].segment_length = UINT32_MAX;
	expect_arg(post(SEND, rig->a.ep, 2, iov, 0, DAT_COMPLETION_DEFAULT_FLAG), 3);
	target.segment_length = UINT32_MAX;
	expect_arg(post(WRITE, rig->a.ep, 2, iov, 0, DAT_COMPLETION_DEFAULT_FLAG), 3);
	if (rig->attr.max_rdma_size != UINT32_MAX) {
		big = ct_segment(&rig->a.mem, 0, 1);
		big.segment_length = rig->attr.max_rdma_size + 1;
		expect_arg(post(WRITE, rig->a.ep, 1, &big, 0, DAT_COMPLETION_DEFAULT_FLAG), 3);
		expect_arg(post(READ, rig->a.ep, 1, &big, 0, DAT_COMPLETION_DEFAULT_FLAG), 3);
	}
	still_works(rig);
}

/* ---- Flags ------------------------------------------------------------- */

/* Whether a post takes these flags in strict mode, the endpoint's attribute being unsignalled or
 * not. */
static bool legal(enum post what, unsigned int flags, bool unsignalled)
{
	unsigned int allowed = what == RECV ? 0 : 0x0b;

	return (flags & ~(allowed | (unsignalled ? 4U : 0))) == 0;
}

/* The next completion, silent or not, is a success. */
static void succeeds(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;

	cu_poll(evd, &event);
	assert_int_equal(event.event_number, DAT_DTO_COMPLETION_EVENT);
	assert_int_equal(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
}

static void try_flags(struct ct_end *a, struct ct_end *p, enum post what, unsigned int flags,
		      bool unsignalled)
{
	DAT_LMR_TRIPLET seg = ct_segment(&a->mem, 0, 64);
	DAT_EVD_HANDLE evd = what == RECV ? a->recv : a->request;
	DAT_RETURN rc;

	if (what == SEND)
		expect_ok(cu_recv(p, 0, 64, 0));
	rc = post(what, a->ep, 1, &seg, flags, (DAT_COMPLETION_FLAGS)flags);
	if (harness_strict() && !legal(what, flags, unsignalled)) {
		expect(rc, DAT_INVALID_PARAMETER,
		       what == SEND || what == RECV ? DAT_INVALID_ARG5 : DAT_INVALID_ARG6);
		cu_quiet(evd, 0);
		if (what == SEND) /* use up the Receive */
			rc = ct_post_send(a, 0, 64, flags, DAT_COMPLETION_DEFAULT_FLAG);
		else
			return;
		flags = 0;
	}
	expect_ok(rc);
	if (what == RECV) {
		expect_ok(ct_post_send(p, 0, 64, 0, DAT_COMPLETION_DEFAULT_FLAG));
		succeeds(p->request);
	}
	if (what != RECV && (flags & DAT_COMPLETION_SUPPRESS_FLAG)) {
		expect_ok(cu_write(a, 0, 0, 0xe0d, &p->mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
		DONE(a->request, a->ep, 0xe0d, DAT_DTO_RDMA_WRITE, 0);
	} else {
		succeeds(evd);
	}
	if (what == SEND)
		succeeds(p->recv);
}

static int post_flags(void)
{
	struct cu_rig *rig = cu_rig_open();

	for (unsigned int unsignalled = 0; unsignalled < 2; unsignalled++) {
		struct ct_end a = { 0 }, p = { 0 };
		DAT_EP_ATTR attr;

		ct_default_attr(rig->ia, &attr);
		if (unsignalled) {
			attr.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
			attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
		}
		ct_end_open(&a, rig->ia, &attr);
		ct_end_open(&p, rig->ia, NULL);
		cu_establish(rig, &a, &p);
		target = ct_target(&p.mem, 0, 64);
		for (unsigned int flags = 0; flags < 0x80; flags++) {
			FOR_EACH_POST(i) {
				print_message("# %s with flags 0x%x%s\n", names[i], flags,
					      unsignalled ? ", unsignalled endpoint" : "");
				try_flags(&a, &p, i, flags, unsignalled);
			}
		}
		STATE(a.ep, CONNECTED);
		ct_end_close(&a);
		ct_end_close(&p);
	}
	cu_rig_close(rig);
	return 0;
}

/* GEN-31 */
static void dto_27_illegal_flags(void **state)
{
	(void)state;
	harness_both_strict("post-flags");
}

/* ---- Posts that a provider may lack ------------------------------------ */

static void dto_52_to_54_read_to_rmr(void **state)
{
	struct cu_rig *rig = *state;
	DAT_RMR_TRIPLET local = ct_target(&rig->a.mem, 0, 64);
	DAT_RETURN rc;

	rc = dat_ep_post_rdma_read_to_rmr(rig->a.ep, &local, cu_cookie(1), &target,
					  DAT_COMPLETION_DEFAULT_FLAG);
	if (!cu_unsupported(rc)) {
		expect_ok(rc);
		DONE(rig->a.request, rig->a.ep, 1, DAT_DTO_RDMA_READ, 64);
		expect_arg(dat_ep_post_rdma_read_to_rmr(rig->a.ep, NULL, cu_cookie(1), &target,
							DAT_COMPLETION_DEFAULT_FLAG),
			   2);
	}
	expect_handle(dat_ep_post_rdma_read_to_rmr(NULL, &local, cu_cookie(1), &target,
						   DAT_COMPLETION_DEFAULT_FLAG),
		      EP);
	still_works(rig);
}

static void dto_58_to_63_send_with_invalidate(void **state)
{
	struct cu_rig *rig = *state;
	DAT_LMR_TRIPLET seg = ct_segment(&rig->a.mem, 0, 64);
	DAT_RETURN rc;

	expect_handle(dat_ep_post_send_with_invalidate(NULL, 1, &seg, cu_cookie(1),
						       DAT_COMPLETION_DEFAULT_FLAG, DAT_FALSE, 0),
		      EP);
	rc = dat_ep_post_send_with_invalidate(rig->a.ep, 1, &seg, cu_cookie(1),
					      DAT_COMPLETION_DEFAULT_FLAG, DAT_FALSE, 0);
	if (!cu_unsupported(rc)) {
		expect_ok(rc);
		expect_ok(cu_recv(&rig->p, 0, 64, 7));
		DONE(rig->a.request, rig->a.ep, 1, DAT_DTO_SEND, 64);
		DONE(rig->p.recv, rig->p.ep, 7, DAT_DTO_RECEIVE, 64);
	}
	still_works(rig);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, cu_teardown)

int main(int argc, char **argv)
{
	static const struct harness_child children[] = {
		{ "post-flags", post_flags },
		{ NULL, NULL },
	};
	static const struct CMUnitTest tests[] = {
		T(dto_bad_endpoint),
		T(dto_11_null_segments),
		T(dto_12_number_of_segments),
		T(dto_12_rdma_limit_zero_is_the_request_limit),
		T(dto_14_null_remote),
		T(dto_9_segments_in_array_order),
		T(dto_10_empty_segments_are_not_looked_at),
		T(dto_7_segment_arrays_may_be_reused_at_once),
		T(dto_13_cookies),
		T(dto_18_no_completion_evd),
		T(dto_18_connected_without_request_evd),
		T(dto_19_no_protection_zone),
		T(dto_35_55_92_beyond_the_adapters_maximum),
		T(dto_27_illegal_flags),
		T(dto_52_to_54_read_to_rmr),
		T(dto_58_to_63_send_with_invalidate),
	};

	harness_child_main(argc, argv, children);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
