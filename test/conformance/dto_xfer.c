/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Moving data: lengths, segments, alignment, large and empty transfers (DTO-34 to DTO-57, DTO-91 to
 * DTO-95). */
#include "conn_util.h"
#include "peer.h"

#include <pthread.h>
#include <stdlib.h>

#define SPAN (200 * 1024) /* of the memory the length tests use */

struct wide {
	struct ct_mem *a, *p;
};

static struct wide widen(struct cu_rig *rig, size_t len)
{
	struct wide w = {
		.a = cu_extra_mem(rig, rig->a.pz, len, DAT_MEM_PRIV_ALL_FLAG),
		.p = cu_extra_mem(rig, rig->p.pz, len, DAT_MEM_PRIV_ALL_FLAG),
	};

	return w;
}

/* Lengths around the boundaries that transports have: words, cache lines, segments, pages, frames.
 */
static const size_t lengths[] = {
	0,     1,     2,     3,	    4,	   5,	  7,	 8,	 9,	 15,
	16,    31,    63,    64,    65,	   127,	  255,	 256,	 511,	 1023,
	1024,  1408,  1434,  1442,  1448,  1460,  1461,	 1500,	 2047,	 2048,
	4095,  4096,  4097,  8191,  8192,  9000,  16383, 16384,	 16385,	 32767,
	32768, 65467, 65468, 65469, 65535, 65536, 65537, 100000, 131072, 131073,
};

#define NUM_LENGTHS (sizeof(lengths) / sizeof(lengths[0]))

static void one_send(struct cu_rig *rig, struct wide *w, size_t len, size_t shift)
{
	DAT_LMR_TRIPLET out = ct_segment(w->a, shift, len);
	DAT_LMR_TRIPLET in = ct_segment(w->p, 3 * shift, len + 16);

	cu_fill(w->a->base + shift, len, (unsigned int)len);
	cu_set(w->p->base + 3 * shift, 0xee, len + 16);
	expect_ok(dat_ep_post_recv(rig->p.ep, 1, &in, cu_cookie(len), DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(
		dat_ep_post_send(rig->a.ep, 1, &out, cu_cookie(~len), DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->p.recv, rig->p.ep, len, DAT_DTO_RECEIVE, len);
	DONE(rig->a.request, rig->a.ep, ~len, DAT_DTO_SEND, len);
	FILLED(w->p->base + 3 * shift, len, (unsigned int)len);
	ALL(w->p->base + 3 * shift + len, 0xee, 16);
}

/* DTO-93 */
static void dto_34_38_send_every_length(void **state)
{
	struct cu_rig *rig = *state;
	struct wide w = widen(rig, SPAN);

	for (size_t i = 0; i < NUM_LENGTHS; i++) {
		one_send(rig, &w, lengths[i], 0);
		one_send(rig, &w, lengths[i], 1 + i % 63);
	}
}

/* Writes, reads back elsewhere, and looks at the neighbours. */
static void one_rdma(struct cu_rig *rig, struct wide *w, size_t len, size_t shift)
{
	DAT_LMR_TRIPLET local = ct_segment(w->a, shift, len);
	DAT_RMR_TRIPLET remote = ct_target(w->p, 16 + 3 * shift, len);
	uint8_t *there = w->p->base + 16 + 3 * shift;

	cu_fill(w->a->base + shift, len, (unsigned int)len);
	cu_set(there - 16, 0xee, len + 32);
	expect_ok(dat_ep_post_rdma_write(rig->a.ep, 1, &local, cu_cookie(1), &remote,
					 DAT_COMPLETION_SUPPRESS_FLAG));
	local = ct_segment(w->a, 0, len);
	expect_ok(dat_ep_post_rdma_read(rig->a.ep, 1, &local, cu_cookie(2), &remote,
					DAT_COMPLETION_BARRIER_FENCE_FLAG));
	DONE(rig->a.request, rig->a.ep, 2, DAT_DTO_RDMA_READ, len);
	/* DTO-68, and the write is there as well. */
	FILLED(w->a->base, len, (unsigned int)len);
	FILLED(there, len, (unsigned int)len);
	ALL(there - 16, 0xee, 16);
	ALL(there + len, 0xee, 16);
}

static void dto_45_48_rdma_every_length(void **state)
{
	struct cu_rig *rig = *state;
	struct wide w = widen(rig, SPAN);

	for (size_t i = 0; i < NUM_LENGTHS; i++) {
		one_rdma(rig, &w, lengths[i], 0);
		one_rdma(rig, &w, lengths[i], 1 + i % 63);
	}
	/* DTO-41 */
	cu_quiet(rig->p.recv, 0);
	cu_quiet(rig->p.request, 0);
}

/* The sum of the segments is what counts, not what the triplet says of the remote side. */
static void dto_57_what_is_accessed_is_checked(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_mem *p = &rig->p.mem;
	DAT_LMR_TRIPLET local = ct_segment(&rig->a.mem, 0, 64);
	DAT_RMR_TRIPLET remote = ct_target(p, p->len - 64, 64);

	cu_fill(rig->a.mem.base, 64, 7);
	remote.segment_length = 0x10000;
	expect_ok(dat_ep_post_rdma_write(rig->a.ep, 1, &local, cu_cookie(1), &remote,
					 DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->a.request, rig->a.ep, 1, DAT_DTO_RDMA_WRITE, 64);
	expect_ok(cu_read(&rig->a, 128, 64, 2, p, p->len - 64, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->a.request, rig->a.ep, 2, DAT_DTO_RDMA_READ, 64);
	FILLED(rig->a.mem.base + 128, 64, 7);
}

/* The program may spoil what is on its way, and nothing else: what arrives has the right length. */
CU_PEER_MEMORY static void dto_8_buffers_that_change_under_way(void **state)
{
	struct cu_rig *rig = *state;
	struct wide w = widen(rig, SPAN);
	DAT_LMR_TRIPLET from = ct_segment(w.a, 0, SPAN), to = ct_segment(w.p, 0, SPAN);

	for (unsigned int round = 0; round < 8; round++) {
		expect_ok(dat_ep_post_recv(rig->p.ep, 1, &to, cu_cookie(1),
					   DAT_COMPLETION_DEFAULT_FLAG));
		expect_ok(dat_ep_post_send(rig->a.ep, 1, &from, cu_cookie(2),
					   DAT_COMPLETION_DEFAULT_FLAG));
		for (size_t i = 0; i < SPAN; i += 512) {
			((volatile uint8_t *)w.a->base)[i] ^= 0xff;
			((volatile uint8_t *)w.p->base)[i] ^= 0xff;
		}
		DONE(rig->a.request, rig->a.ep, 2, DAT_DTO_SEND, SPAN);
		DONE(rig->p.recv, rig->p.ep, 1, DAT_DTO_RECEIVE, SPAN);
	}
	STATE(rig->a.ep, CONNECTED);
	one_send(rig, &w, 4096, 0);
}

/* ---- Segments ---------------------------------------------------------- */

static struct cu_rig *with_most_segments(struct ct_end *a, struct ct_end *p)
{
	struct cu_rig *rig = cu_rig_open();
	DAT_EP_ATTR attr;

	ct_default_attr(rig->ia, &attr);
	attr.max_request_iov = rig->attr.max_iov_segments_per_dto;
	attr.max_recv_iov = rig->attr.max_iov_segments_per_dto;
	attr.max_rdma_read_iov = rig->attr.max_iov_segments_per_rdma_read;
	attr.max_rdma_write_iov = rig->attr.max_iov_segments_per_rdma_write;
	ct_end_open(a, rig->ia, &attr);
	ct_end_open(p, rig->ia, &attr);
	cu_establish(rig, a, p);
	return rig;
}

/* Segments of lengths 1, 2, 3 ... scattered over the memory; their sum. */
static size_t scatter(struct ct_mem *mem, DAT_LMR_TRIPLET *iov, int n)
{
	size_t sum = 0;

	for (int i = 0; i < n; i++) {
		size_t len = (size_t)(i % 37) + 1;

		iov[i] = ct_segment(mem, (size_t)i * 64 + 5, len);
		sum += len;
	}
	return sum;
}

static CU_PEER_MEMORY void put_pattern(const DAT_LMR_TRIPLET *iov, int n, unsigned int seed)
{
	uint8_t all[64 * 64];
	size_t at = 0;

	cu_fill(all, sizeof(all), seed);
	for (int i = 0; i < n; i++) {
		volatile uint8_t *to = (uint8_t *)(uintptr_t)iov[i].virtual_address;

		for (size_t k = 0; k < iov[i].segment_length; k++)
			to[k] = all[at + k];
		at += iov[i].segment_length;
	}
}

static CU_PEER_MEMORY void check_pattern(const DAT_LMR_TRIPLET *iov, int n, unsigned int seed)
{
	uint8_t all[64 * 64];
	size_t at = 0;

	cu_fill(all, sizeof(all), seed);
	for (int i = 0; i < n; i++) {
		const volatile uint8_t *from = (const uint8_t *)(uintptr_t)iov[i].virtual_address;

		for (size_t k = 0; k < iov[i].segment_length; k++)
			assert_int_equal(from[k], all[at + k]);
		at += iov[i].segment_length;
	}
}

static void dto_12_most_segments(void **state)
{
	struct ct_end a = { 0 }, p = { 0 };
	struct cu_rig *rig = with_most_segments(&a, &p);
	DAT_LMR_TRIPLET out[64], in[64];
	DAT_RMR_TRIPLET remote;
	int n = rig->attr.max_iov_segments_per_dto < 64 ? rig->attr.max_iov_segments_per_dto : 64;
	int writes = rig->attr.max_iov_segments_per_rdma_write < 64
			     ? rig->attr.max_iov_segments_per_rdma_write
			     : 64;
	int reads = rig->attr.max_iov_segments_per_rdma_read < 64
			    ? rig->attr.max_iov_segments_per_rdma_read
			    : 64;
	size_t len;

	(void)state;
	len = scatter(&a.mem, out, n);
	assert_int_equal(scatter(&p.mem, in, n), len);
	put_pattern(out, n, 1);
	expect_ok(dat_ep_post_recv(p.ep, n, in, cu_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(dat_ep_post_send(a.ep, n, out, cu_cookie(2), DAT_COMPLETION_DEFAULT_FLAG));
	DONE(p.recv, p.ep, 1, DAT_DTO_RECEIVE, len);
	DONE(a.request, a.ep, 2, DAT_DTO_SEND, len);
	check_pattern(in, n, 1);
	len = scatter(&a.mem, out, writes);
	put_pattern(out, writes, 2);
	remote = ct_target(&p.mem, 32768, len);
	expect_ok(dat_ep_post_rdma_write(a.ep, writes, out, cu_cookie(3), &remote,
					 DAT_COMPLETION_DEFAULT_FLAG));
	DONE(a.request, a.ep, 3, DAT_DTO_RDMA_WRITE, len);
	len = scatter(&a.mem, out, reads);
	cu_set(a.mem.base, 0, 64 * 64 + 64);
	/* Elsewhere: the write may still be on its way (DTO-5). */
	remote = ct_target(&p.mem, 49152, len);
	cu_fill(p.mem.base + 49152, len, 3);
	expect_ok(dat_ep_post_rdma_read(a.ep, reads, out, cu_cookie(4), &remote,
					DAT_COMPLETION_DEFAULT_FLAG));
	DONE(a.request, a.ep, 4, DAT_DTO_RDMA_READ, len);
	check_pattern(out, reads, 3);
	ct_end_close(&a);
	ct_end_close(&p);
	cu_rig_close(rig);
}

static void dto_15_overlapping_sources(void **state)
{
	struct cu_rig *rig = *state;
	DAT_LMR_TRIPLET out[3] = {
		ct_segment(&rig->a.mem, 0, 100),
		ct_segment(&rig->a.mem, 50, 100),
		ct_segment(&rig->a.mem, 0, 100),
	};

	if (rig->attr.max_iov_segments_per_dto < 3)
		harness_skip("the adapter has fewer than three segments");
	cu_fill(rig->a.mem.base, 200, 1);
	expect_ok(cu_recv(&rig->p, 0, 300, 1));
	expect_ok(dat_ep_post_send(rig->a.ep, 3, out, cu_cookie(2), DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->p.recv, rig->p.ep, 1, DAT_DTO_RECEIVE, 300);
	assert_memory_equal(rig->p.mem.base, rig->a.mem.base, 100);
	assert_memory_equal(rig->p.mem.base + 100, rig->a.mem.base + 50, 100);
	assert_memory_equal(rig->p.mem.base + 200, rig->a.mem.base, 100);
}

/* ---- Nothing, and much ------------------------------------------------- */

static void dto_36_91_empty_messages(void **state)
{
	struct cu_rig *rig = *state;

	/* A Receive without any buffer takes an empty message. */
	expect_ok(dat_ep_post_recv(rig->p.ep, 0, NULL, cu_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(cu_recv(&rig->p, 0, 64, 2));
	expect_ok(cu_recv(&rig->p, 0, 64, 3));
	expect_ok(ct_post_send(&rig->a, 0, 0, 1, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(ct_post_send(&rig->a, 0, 0, 2, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(ct_post_send(&rig->a, 0, 64, 3, DAT_COMPLETION_DEFAULT_FLAG));
	for (unsigned int i = 1; i <= 3; i++) {
		DONE(rig->a.request, rig->a.ep, i, DAT_DTO_SEND, i == 3 ? 64 : 0);
		DONE(rig->p.recv, rig->p.ep, i, DAT_DTO_RECEIVE, i == 3 ? 64 : 0);
	}
}

/* Receives that name no byte, posted to idle endpoints, on which the connection depends. */
static void dto_10_91_empty_receives_posted_before_connecting(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *ends[] = { &rig->a, &rig->p };
	DAT_LMR_TRIPLET wild[2] = { { .virtual_address = 1, .lmr_context = 0xbadbad },
				    { .virtual_address = 2, .lmr_context = 0xbadbad } };
	DAT_COUNT num = rig->attr.max_iov_segments_per_dto > 1 ? 2 : 1;

	for (DAT_COUNT i = 0; i < 2; i++) {
		expect_ok(dat_ep_post_recv(ends[i]->ep, i ? num : 0, i ? wild : NULL, cu_cookie(1),
					   DAT_COMPLETION_DEFAULT_FLAG));
		expect_ok(dat_ep_post_recv(ends[i]->ep, i ? 0 : num, i ? NULL : wild, cu_cookie(2),
					   DAT_COMPLETION_DEFAULT_FLAG));
	}
	cu_establish(rig, &rig->a, &rig->p);
	for (int i = 0; i < 4; i++) {
		expect_ok(ct_post_send(ends[i % 2], 0, 0, 3, DAT_COMPLETION_DEFAULT_FLAG));
		DONE(ends[i % 2]->request, ends[i % 2]->ep, 3, DAT_DTO_SEND, 0);
		DONE(ends[1 - i % 2]->recv, ends[1 - i % 2]->ep, i / 2 + 1, DAT_DTO_RECEIVE, 0);
	}
}

static void dto_56_empty_rdma_is_not_validated(void **state)
{
	struct cu_rig *rig = *state;
	DAT_LMR_TRIPLET seg = ct_segment(&rig->a.mem, 0, 0);
	DAT_RMR_TRIPLET wild = { .virtual_address = 1,
				 .segment_length = 0,
				 .rmr_context = 0xbadbad };

	expect_ok(cu_write(&rig->a, 0, 64, 1, &rig->p.mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(dat_ep_post_rdma_write(rig->a.ep, 1, &seg, cu_cookie(2), &wild,
					 DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(dat_ep_post_rdma_read(rig->a.ep, 1, &seg, cu_cookie(3), &wild,
					DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(dat_ep_post_rdma_read(rig->a.ep, 0, NULL, cu_cookie(4), &wild,
					DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(cu_read(&rig->a, 0, 64, 5, &rig->p.mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->a.request, rig->a.ep, 1, DAT_DTO_RDMA_WRITE, 64);
	DONE(rig->a.request, rig->a.ep, 2, DAT_DTO_RDMA_WRITE, 0);
	DONE(rig->a.request, rig->a.ep, 3, DAT_DTO_RDMA_READ, 0);
	DONE(rig->a.request, rig->a.ep, 4, DAT_DTO_RDMA_READ, 0);
	DONE(rig->a.request, rig->a.ep, 5, DAT_DTO_RDMA_READ, 64);
	STATE(rig->a.ep, CONNECTED);
}

/* Fills in words: the byte pattern would take longer than the transfer. */
static CU_PEER_MEMORY void fill_words(struct ct_mem *mem, uint64_t seed)
{
	volatile uint64_t *p = (uint64_t *)mem->base;

	for (size_t i = 0; i < mem->len / 8; i++)
		p[i] = i * UINT64_C(0x9e3779b97f4a7c15) + seed;
}

static void dto_large_messages(void **state)
{
	struct cu_rig *rig = *state;
	struct wide w = widen(rig, CU_BIG);
	DAT_LMR_TRIPLET out = ct_segment(w.a, 0, CU_BIG), in = ct_segment(w.p, 0, CU_BIG);
	DAT_RMR_TRIPLET remote = ct_target(w.p, 0, CU_BIG);

	fill_words(w.a, 1);
	expect_ok(dat_ep_post_recv(rig->p.ep, 1, &in, cu_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(dat_ep_post_send(rig->a.ep, 1, &out, cu_cookie(2), DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->p.recv, rig->p.ep, 1, DAT_DTO_RECEIVE, CU_BIG);
	DONE(rig->a.request, rig->a.ep, 2, DAT_DTO_SEND, CU_BIG);
	SAME_MEMORY(w.a->base, w.p->base, w.a->len);
	fill_words(w.a, 2);
	expect_ok(dat_ep_post_rdma_write(rig->a.ep, 1, &out, cu_cookie(3), &remote,
					 DAT_COMPLETION_SUPPRESS_FLAG));
	/* The empty fenced read tells that the write is in place. */
	expect_ok(cu_read(&rig->a, 0, 8, 4, &rig->p.mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->a.request, rig->a.ep, 4, DAT_DTO_RDMA_READ, 8);
	SAME_MEMORY(w.a->base, w.p->base, w.a->len);
	fill_words(w.p, 3);
	expect_ok(dat_ep_post_rdma_read(rig->a.ep, 1, &out, cu_cookie(5), &remote,
					DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->a.request, rig->a.ep, 5, DAT_DTO_RDMA_READ, CU_BIG);
	SAME_MEMORY(w.a->base, w.p->base, w.a->len);
}

static void dto_73_large_messages_both_ways_at_once(void **state)
{
	struct cu_rig *rig = *state;
	struct wide out = widen(rig, CU_BIG / 4), in = widen(rig, CU_BIG / 4);
	DAT_LMR_TRIPLET seg;

	fill_words(out.a, 1);
	fill_words(out.p, 2);
	seg = ct_segment(in.a, 0, CU_BIG / 4);
	expect_ok(dat_ep_post_recv(rig->a.ep, 1, &seg, cu_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
	seg = ct_segment(in.p, 0, CU_BIG / 4);
	expect_ok(dat_ep_post_recv(rig->p.ep, 1, &seg, cu_cookie(2), DAT_COMPLETION_DEFAULT_FLAG));
	seg = ct_segment(out.a, 0, CU_BIG / 4);
	expect_ok(dat_ep_post_send(rig->a.ep, 1, &seg, cu_cookie(3), DAT_COMPLETION_DEFAULT_FLAG));
	seg = ct_segment(out.p, 0, CU_BIG / 4);
	expect_ok(dat_ep_post_send(rig->p.ep, 1, &seg, cu_cookie(4), DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->a.recv, rig->a.ep, 1, DAT_DTO_RECEIVE, CU_BIG / 4);
	DONE(rig->p.recv, rig->p.ep, 2, DAT_DTO_RECEIVE, CU_BIG / 4);
	DONE(rig->a.request, rig->a.ep, 3, DAT_DTO_SEND, CU_BIG / 4);
	DONE(rig->p.request, rig->p.ep, 4, DAT_DTO_SEND, CU_BIG / 4);
	SAME_MEMORY(out.a->base, in.p->base, out.a->len);
	SAME_MEMORY(out.p->base, in.a->base, out.p->len);
}

static void dto_42_receive_larger_than_a_message(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end a = { 0 }, p = { 0 };
	DAT_EP_ATTR attr;

	ct_default_attr(rig->ia, &attr);
	attr.max_message_size = 100;
	ct_end_open(&a, rig->ia, NULL);
	ct_end_open(&p, rig->ia, &attr);
	expect_ok(cu_recv(&p, 0, 65536, 1));
	cu_establish(rig, &a, &p);
	expect_ok(ct_post_send(&a, 0, 50, 2, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(p.recv, p.ep, 1, DAT_DTO_RECEIVE, 50);
	ct_end_close(&a);
	ct_end_close(&p);
}

/* ---- The last byte ----------------------------------------------------- */

/*
 * Waits until *last has the value; the transport changes it behind the compiler's back. The lock
 * keeps later reads behind this one, as an acquiring load would, which ThreadSanitizer would look
 * at.
 */
static CU_PEER_MEMORY void spin_for(const uint8_t *last, uint8_t value)
{
	static pthread_mutex_t barrier = PTHREAD_MUTEX_INITIALIZER;
	const volatile uint8_t *p = last;
	uint64_t deadline = ct_now_us() + CT_US;

	while (*p != value) {
		if (ct_now_us() > deadline)
			fail_msg("the last byte does not change");
	}
	pthread_mutex_lock(&barrier);
	pthread_mutex_unlock(&barrier);
}

static void dto_47_the_last_byte_comes_last(void **state)
{
	static const size_t sizes[] = { 2, 8, 100, 1460, 4096, 16384, 65536 };
	struct cu_rig *rig = *state;

	for (unsigned int round = 0; round < 40; round++) {
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			size_t len = sizes[i];
			uint8_t value = (uint8_t)(1 + round);

			cu_set(rig->p.mem.base, 0, len);
			cu_set(rig->a.mem.base, value, len);
			expect_ok(cu_write(&rig->a, 0, len, round, &rig->p.mem, 0,
					   DAT_COMPLETION_DEFAULT_FLAG));
			spin_for(rig->p.mem.base + len - 1, value);
			ALL(rig->p.mem.base, value, len);
			DONE(rig->a.request, rig->a.ep, round, DAT_DTO_RDMA_WRITE, len);
		}
	}
}

/* ---- Read depth -------------------------------------------------------- */

static void reads_with(struct cu_rig *rig, DAT_COUNT out, DAT_COUNT in)
{
	enum {
		N = 16
	};
	struct ct_end a = { 0 }, p = { 0 };
	DAT_EP_ATTR attr;

	print_message("# %d out, %d in\n", out, in);
	ct_default_attr(rig->ia, &attr);
	attr.max_rdma_read_out = out;
	ct_end_open(&a, rig->ia, &attr);
	ct_default_attr(rig->ia, &attr);
	attr.max_rdma_read_in = in;
	ct_end_open(&p, rig->ia, &attr);
	cu_establish(rig, &a, &p);
	for (unsigned int i = 0; i < N; i++) {
		cu_fill(p.mem.base + i * 2048, 2048, i);
		expect_ok(cu_read(&a, i * 2048, 2048, i, &p.mem, i * 2048,
				  DAT_COMPLETION_DEFAULT_FLAG));
	}
	for (unsigned int i = 0; i < N; i++) {
		DONE(a.request, a.ep, i, DAT_DTO_RDMA_READ, 2048);
		FILLED(a.mem.base + i * 2048, 2048, i);
	}
	STATE(a.ep, CONNECTED);
	ct_end_close(&a);
	ct_end_close(&p);
}

static void dto_50_51_more_reads_than_the_depth(void **state)
{
	struct cu_rig *rig = *state;

	reads_with(rig, 1, 4);
	reads_with(rig, 4, 1);
	reads_with(rig, rig->attr.max_rdma_read_per_ep_out, 1);
	reads_with(rig, 2, 2);
	reads_with(rig, rig->attr.max_rdma_read_per_ep_out, rig->attr.max_rdma_read_per_ep_in);
}

static void dto_50_no_reads_out(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end a = { 0 }, p = { 0 };
	DAT_EP_ATTR attr;

	ct_default_attr(rig->ia, &attr);
	attr.max_rdma_read_out = 0;
	ct_end_open(&a, rig->ia, &attr);
	ct_end_open(&p, rig->ia, NULL);
	cu_establish(rig, &a, &p);
	expect(cu_read(&a, 0, 64, 1, &p.mem, 0, DAT_COMPLETION_DEFAULT_FLAG),
	       DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_CREDITS);
	expect_ok(cu_write(&a, 0, 64, 2, &p.mem, 0, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(a.request, a.ep, 2, DAT_DTO_RDMA_WRITE, 64);
	ct_end_close(&a);
	ct_end_close(&p);
}

/* ---- Two instances of the IA ------------------------------------------- */

static void dto_95_between_two_opens_of_one_ia(void **state)
{
	struct cu_rig *rig = *state, *other = cu_rig_open();
	struct ct_end a = { 0 };

	cu_end_connection(&rig->a, &rig->p);
	expect_ok(dat_ep_reset(rig->p.ep));
	ct_end_open(&a, other->ia, NULL);
	cu_establish(rig, &a, &rig->p);
	cu_fill(a.mem.base, 4096, 1);
	expect_ok(cu_recv(&rig->p, 0, 4096, 1));
	expect_ok(ct_post_send(&a, 0, 4096, 2, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(a.request, a.ep, 2, DAT_DTO_SEND, 4096);
	DONE(rig->p.recv, rig->p.ep, 1, DAT_DTO_RECEIVE, 4096);
	FILLED(rig->p.mem.base, 4096, 1);
	ct_end_close(&a);
	cu_rig_close(other);
}

#define C(f) cmocka_unit_test_setup_teardown(f, cu_setup_connected, cu_teardown)
#define E(f) cmocka_unit_test_setup_teardown(f, cu_setup_ends, cu_teardown)
#define N(f) cmocka_unit_test_teardown(f, cu_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		C(dto_34_38_send_every_length),
		C(dto_45_48_rdma_every_length),
		C(dto_57_what_is_accessed_is_checked),
		C(dto_8_buffers_that_change_under_way),
		N(dto_12_most_segments),
		C(dto_15_overlapping_sources),
		C(dto_36_91_empty_messages),
		E(dto_10_91_empty_receives_posted_before_connecting),
		C(dto_56_empty_rdma_is_not_validated),
		C(dto_large_messages),
		C(dto_73_large_messages_both_ways_at_once),
		E(dto_42_receive_larger_than_a_message),
		C(dto_47_the_last_byte_comes_last),
		E(dto_50_51_more_reads_than_the_depth),
		E(dto_50_no_reads_out),
		C(dto_95_between_two_opens_of_one_ia),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
