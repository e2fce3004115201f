/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "load_side.h"

#include <stdlib.h>

bool load_receives_first;

/* ---- Random numbers ---- */

uint64_t load_random_state;

static uint32_t rnd(void)
{
	/* splitmix64 */
	uint64_t z = (load_random_state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)(z >> 32);
}

unsigned int load_below(unsigned int n)
{
	return rnd() % n;
}

bool load_one_in(unsigned int n)
{
	return load_below(n) == 0;
}

static size_t some_length(size_t most)
{
	static const unsigned int spans[] = { 1, 2, 65, 1024, 4097, 20000, MAX_LEN + 1 };
	size_t len = load_below(spans[load_below(sizeof(spans) / sizeof(spans[0]))]);

	return len < most ? len : most;
}

/* ---- Memory ---- */

/* Cuts len bytes from [base, base + SLOT) into segments with gaps, some of them empty and wild. */
static int cut(const struct ct_mem *mem, size_t base, size_t len, int most, DAT_LMR_TRIPLET *iov)
{
	int n = (int)load_below((unsigned int)most + 1);
	size_t at = base;

	if (n == 0 && len > 0)
		n = 1;
	for (int i = 0; i < n; i++) {
		size_t part = i == n - 1 ? len : load_below((unsigned int)len + 1);

		at += load_below(4096 / MAX_IOV);
		iov[i] = ct_segment(mem, at, part);
		if (part == 0) {
			iov[i].virtual_address = rnd();
			iov[i].lmr_context = rnd();
		}
		at += part;
		len -= part;
	}
	return n;
}

static uint8_t byte_of(unsigned int seed, size_t i)
{
	return (uint8_t)((i * 31 + (i >> 8) * 7 + seed) % 253);
}

CU_PEER_MEMORY static void put(const DAT_LMR_TRIPLET *iov, int n, unsigned int seed)
{
	size_t at = 0;

	for (int i = 0; i < n; i++) {
		uint8_t *p = (uint8_t *)(uintptr_t)iov[i].virtual_address;

		for (size_t k = 0; k < iov[i].segment_length; k++)
			p[k] = byte_of(seed, at++);
	}
}

CU_PEER_MEMORY void load_look(const DAT_LMR_TRIPLET *iov, int n, size_t len, unsigned int seed,
			      const uint8_t *want)
{
	size_t at = 0;

	for (int i = 0; i < n && at < len; i++) {
		const uint8_t *p = (const uint8_t *)(uintptr_t)iov[i].virtual_address;

		for (size_t k = 0; k < iov[i].segment_length && at < len; k++, at++) {
			uint8_t due = want != NULL ? want[at] : byte_of(seed, at);

			if (p[k] != due)
				fail_msg("byte %zu of %zu: %u instead of %u", at, len, p[k], due);
		}
	}
	assert_int_equal(at, len);
}

void load_same_window(const struct side *s)
{
	SAME_MEMORY(s->window->base, s->shadow, WINDOW);
}

/* ---- Set-up ---- */

static DAT_COUNT limited(DAT_COUNT limit)
{
	return limit < MAX_IOV ? limit : MAX_IOV;
}

static void choose_flags(struct side *s, DAT_EP_ATTR *attr)
{
	static const DAT_COMPLETION_FLAGS request[] = { DAT_COMPLETION_DEFAULT_FLAG,
							DAT_COMPLETION_EVD_THRESHOLD_FLAG,
							DAT_COMPLETION_UNSIGNALLED_FLAG };
	static const DAT_COMPLETION_FLAGS recv[] = { DAT_COMPLETION_DEFAULT_FLAG,
						     DAT_COMPLETION_SOLICITED_WAIT_FLAG,
						     DAT_COMPLETION_UNSIGNALLED_FLAG };

	attr->request_completion_flags = request[load_below(3)];
	attr->recv_completion_flags = recv[load_below(3)];
	if (attr->request_completion_flags == DAT_COMPLETION_UNSIGNALLED_FLAG)
		s->unsignalled = DAT_COMPLETION_UNSIGNALLED_FLAG;
	if (attr->recv_completion_flags == DAT_COMPLETION_UNSIGNALLED_FLAG)
		s->recv_unsignalled = DAT_COMPLETION_UNSIGNALLED_FLAG;
}

void side_open(struct cu_rig *rig, struct side *s, bool merged)
{
	DAT_EP_ATTR attr;

	ct_default_attr(rig->ia, &attr);
	attr.max_recv_dtos = attr.max_request_dtos = DEPTH;
	attr.max_recv_iov = attr.max_request_iov = limited(rig->attr.max_iov_segments_per_dto);
	attr.max_rdma_read_iov = limited(rig->attr.max_iov_segments_per_rdma_read);
	attr.max_rdma_write_iov = limited(rig->attr.max_iov_segments_per_rdma_write);
	if (merged) {
		cu_end_open_merged(rig, &s->end, &attr);
	} else {
		choose_flags(s, &attr);
		cu_end_open_qlen(rig, &s->end, &attr, 2 * DEPTH);
	}
	s->source = cu_extra_mem(rig, s->end.pz, (size_t)DEPTH * SLOT, DAT_MEM_PRIV_ALL_FLAG);
	s->sink = cu_extra_mem(rig, s->end.pz, (size_t)DEPTH * SLOT, DAT_MEM_PRIV_ALL_FLAG);
	s->window = cu_extra_mem(rig, s->end.pz, WINDOW, DAT_MEM_PRIV_ALL_FLAG);
	s->shadow = calloc(1, WINDOW);
	assert_non_null(s->shadow);
}

void side_close(struct side *s)
{
	for (int i = 0; i < RING; i++)
		free(s->ops[i].want);
	free(s->shadow);
}

/* ---- Posting ---- */

static int most_segments(const struct side *s, DAT_DTOS kind)
{
	DAT_EP_PARAM param;

	cu_query(s->end.ep, &param);
	switch (kind) {
	case DAT_DTO_RDMA_WRITE:
		return limited(param.ep_attr.max_rdma_write_iov);
	case DAT_DTO_RDMA_READ:
		return limited(param.ep_attr.max_rdma_read_iov);
	case DAT_DTO_RECEIVE:
		return limited(param.ep_attr.max_recv_iov);
	default:
		return limited(param.ep_attr.max_request_iov);
	}
}

void side_post_recv(struct side *s)
{
	unsigned int i = s->recv_posted, k = i % RING;
	size_t least = i < s->peer->num_sent ? s->peer->sent[k].len : 0;
	size_t len = some_length(MAX_LEN);
	unsigned int flags = load_one_in(2) ? s->recv_unsignalled : 0;

	if (i - s->recv_done == DEPTH)
		return;
	if (len < least)
		len = least;
	s->room[k] = len;
	s->recv_n[k] = cut(s->sink, (i % DEPTH) * (size_t)SLOT, len,
			   most_segments(s, DAT_DTO_RECEIVE), s->recv_iov[k]);
	expect_ok(dat_ep_post_recv(s->end.ep, s->recv_n[k], s->recv_iov[k], cu_cookie(i),
				   (DAT_COMPLETION_FLAGS)flags));
	s->recv_posted++;
}

/* Whether a read is under way that a write to the range must not overtake (DTO-69). */
static bool is_being_read(const struct side *s, size_t off, size_t len)
{
	for (unsigned int i = s->retired; i != s->posted; i++) {
		const struct op *op = &s->ops[i % RING];

		if (op->kind == DAT_DTO_RDMA_READ && op->off < off + len && off < op->off + op->len)
			return true;
	}
	return false;
}

static unsigned int some_flags(const struct side *s, const struct op *op)
{
	unsigned int flags = 0;

	if (op->suppressed)
		flags |= DAT_COMPLETION_SUPPRESS_FLAG;
	if (load_one_in(4))
		flags |= DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	if (load_one_in(3))
		flags |= s->unsignalled;
	if (load_one_in(6))
		flags |= DAT_COMPLETION_BARRIER_FENCE_FLAG;
	return flags;
}

static void note_send(struct side *s, struct op *op)
{
	unsigned int m = s->num_sent++;

	if (m < s->peer->recv_posted && op->len > s->peer->room[m % RING])
		op->len = s->peer->room[m % RING];
	s->sent[m % RING] = (struct message){ .len = op->len, .seed = op->seed };
}

static void note_write(struct side *s, const struct op *op)
{
	for (size_t i = 0; i < op->len; i++)
		s->peer->shadow[op->off + i] = byte_of(op->seed, i);
}

static void note_read(struct side *s, struct op *op)
{
	op->want = malloc(op->len + 1);
	assert_non_null(op->want);
	memcpy(op->want, s->peer->shadow + op->off, op->len);
}

DAT_RETURN side_post(struct side *s, struct op *op, unsigned int flags)
{
	DAT_RMR_TRIPLET remote = ct_target(s->peer->window, op->off, op->len);
	DAT_DTO_COOKIE cookie = cu_cookie(s->posted);

	switch (op->kind) {
	case DAT_DTO_RDMA_WRITE:
		return dat_ep_post_rdma_write(s->end.ep, op->n, op->iov, cookie, &remote,
					      (DAT_COMPLETION_FLAGS)flags);
	case DAT_DTO_RDMA_READ:
		return dat_ep_post_rdma_read(s->end.ep, op->n, op->iov, cookie, &remote,
					     (DAT_COMPLETION_FLAGS)flags);
	default:
		return dat_ep_post_send(s->end.ep, op->n, op->iov, cookie,
					(DAT_COMPLETION_FLAGS)flags);
	}
}

/* In the peer's window; writes like to be where a read is under way. */
static size_t some_place(const struct side *s, DAT_DTOS kind, size_t len)
{
	unsigned int last = s->posted - 1 - load_below(3);
	size_t off = load_below((unsigned int)(WINDOW - len + 1));

	if (kind == DAT_DTO_RDMA_WRITE && s->posted > 3 &&
	    s->ops[last % RING].kind == DAT_DTO_RDMA_READ && load_one_in(2) &&
	    s->ops[last % RING].off + len <= WINDOW)
		off = s->ops[last % RING].off;
	return off;
}

void side_post_request(struct side *s, DAT_DTOS kind, size_t len, bool suppressed)
{
	struct op *op = &s->ops[s->posted % RING];
	unsigned int flags;

	if (s->posted - s->retired >= DEPTH)
		return;
	if (kind == DAT_DTO_SEND && load_receives_first && s->num_sent == s->peer->recv_posted) {
		side_post_recv(s->peer);
		if (s->num_sent == s->peer->recv_posted)
			return;
	}
	free(op->want);
	*op = (struct op){ .kind = kind, .len = len, .seed = rnd() };
	/* DTO-17: the last slot must be got back. */
	op->suppressed = suppressed && s->posted - s->retired < DEPTH - 1;
	op->off = some_place(s, kind, len);
	flags = some_flags(s, op);
	if (kind == DAT_DTO_SEND)
		note_send(s, op);
	if (kind == DAT_DTO_RDMA_WRITE) {
		if (is_being_read(s, op->off, len))
			flags |= DAT_COMPLETION_BARRIER_FENCE_FLAG;
		note_write(s, op);
	}
	if (kind == DAT_DTO_RDMA_READ)
		note_read(s, op);
	op->n = cut(s->source, (s->posted % DEPTH) * (size_t)SLOT, op->len, most_segments(s, kind),
		    op->iov);
	if (kind != DAT_DTO_RDMA_READ)
		put(op->iov, op->n, op->seed);
	expect_ok(side_post(s, op, flags));
	s->posted++;
}

void side_post_some(struct side *s)
{
	static const DAT_DTOS kinds[] = { DAT_DTO_SEND, DAT_DTO_SEND, DAT_DTO_RDMA_WRITE,
					  DAT_DTO_RDMA_WRITE, DAT_DTO_RDMA_READ };

	side_post_request(s, kinds[load_below(5)], some_length(MAX_LEN), load_one_in(3));
}
