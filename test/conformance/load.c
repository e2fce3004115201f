/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Random traffic both ways, random ends, against a model: data intact, completions in order,
 * suppressed ones absent, every operation completes exactly once, the end comes after the flushes.
 *
 * UDAPL_LOAD_SEED      repeats a round that failed; its number was printed
 * UDAPL_LOAD_SECONDS   how long each test goes on (2)
 * UDAPL_LOAD_RECEIVES  first: no message is sent before its Receive is posted, on any device
 */
#include "conn_util.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
	DEPTH = 24,	    /* operations per queue */
	MAX_LEN = 64 << 10, /* of one operation */
	SLOT = MAX_LEN + 4096,
	WINDOW = 256 << 10, /* what the peer reads and writes */
	MAX_IOV = 8,
	RING = 128, /* more than can be under way in a direction */
	STEPS = 300,
};

struct op {
	DAT_DTOS kind;
	bool suppressed, bad;
	size_t len, off; /* off: in the peer's window */
	unsigned int seed;
	int n;
	DAT_LMR_TRIPLET iov[MAX_IOV];
	uint8_t *want; /* what a read must find */
};

struct message {
	size_t len;
	unsigned int seed;
};

struct side {
	struct ct_end end;
	struct side *peer;
	struct ct_mem *source, *sink, *window;
	uint8_t *shadow;	  /* what the window holds when all is done */
	unsigned int unsignalled; /* that flag, if posts may have it */
	unsigned int recv_unsignalled;
	bool failed, recv_failed, ended, over; /* over: its endpoint is gone */
	bool may_fail, must_succeed;

	struct op ops[RING];
	unsigned int posted, retired;

	struct message sent[RING];
	unsigned int num_sent;
	size_t room[RING]; /* of the Receives */
	DAT_LMR_TRIPLET recv_iov[RING][MAX_IOV];
	int recv_n[RING];
	unsigned int recv_posted, recv_done;
};

static bool receives_first;

/* ---- Random numbers ---- */

static uint64_t state_of_rng;

static uint32_t rnd(void)
{
	/* splitmix64 */
	uint64_t z = (state_of_rng += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t)(z >> 32);
}

static unsigned int below(unsigned int n)
{
	return rnd() % n;
}

static bool one_in(unsigned int n)
{
	return below(n) == 0;
}

static size_t some_length(size_t most)
{
	static const unsigned int spans[] = { 1, 2, 65, 1024, 4097, 20000, MAX_LEN + 1 };
	size_t len = below(spans[below(sizeof(spans) / sizeof(spans[0]))]);

	return len < most ? len : most;
}

/* ---- Memory ---- */

/* Cuts len bytes from [base, base + SLOT) into segments with gaps, some of them empty and wild. */
static int cut(const struct ct_mem *mem, size_t base, size_t len, int most, DAT_LMR_TRIPLET *iov)
{
	int n = (int)below((unsigned int)most + 1);
	size_t at = base;

	if (n == 0 && len > 0)
		n = 1;
	for (int i = 0; i < n; i++) {
		size_t part = i == n - 1 ? len : below((unsigned int)len + 1);

		at += below(4096 / MAX_IOV);
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

/* The first len bytes are the pattern, or want if that is not null. */
CU_PEER_MEMORY static void look(const DAT_LMR_TRIPLET *iov, int n, size_t len, unsigned int seed,
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

CU_PEER_MEMORY static void same_window(const struct side *s)
{
	for (size_t i = 0; i < WINDOW; i++) {
		if (s->window->base[i] != s->shadow[i])
			fail_msg("byte %zu of the window: %u instead of %u", i, s->window->base[i],
				 s->shadow[i]);
	}
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

	attr->request_completion_flags = request[below(3)];
	attr->recv_completion_flags = recv[below(3)];
	if (attr->request_completion_flags == DAT_COMPLETION_UNSIGNALLED_FLAG)
		s->unsignalled = DAT_COMPLETION_UNSIGNALLED_FLAG;
	if (attr->recv_completion_flags == DAT_COMPLETION_UNSIGNALLED_FLAG)
		s->recv_unsignalled = DAT_COMPLETION_UNSIGNALLED_FLAG;
}

static void open_side(struct cu_rig *rig, struct side *s, bool merged)
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

static void close_side(struct side *s)
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

static void post_recv(struct side *s)
{
	unsigned int i = s->recv_posted, k = i % RING;
	size_t least = i < s->peer->num_sent ? s->peer->sent[k].len : 0;
	size_t len = some_length(MAX_LEN);
	unsigned int flags = one_in(2) ? s->recv_unsignalled : 0;

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
	if (one_in(4))
		flags |= DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	if (one_in(3))
		flags |= s->unsignalled;
	if (one_in(6))
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

static DAT_RETURN post(struct side *s, struct op *op, unsigned int flags)
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
	unsigned int last = s->posted - 1 - below(3);
	size_t off = below((unsigned int)(WINDOW - len + 1));

	if (kind == DAT_DTO_RDMA_WRITE && s->posted > 3 &&
	    s->ops[last % RING].kind == DAT_DTO_RDMA_READ && one_in(2) &&
	    s->ops[last % RING].off + len <= WINDOW)
		off = s->ops[last % RING].off;
	return off;
}

static void post_request(struct side *s, DAT_DTOS kind, size_t len, bool suppressed)
{
	struct op *op = &s->ops[s->posted % RING];
	unsigned int flags;

	if (s->posted - s->retired >= DEPTH)
		return;
	if (kind == DAT_DTO_SEND && receives_first && s->num_sent == s->peer->recv_posted) {
		post_recv(s->peer);
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
	expect_ok(post(s, op, flags));
	s->posted++;
}

static void post_some_request(struct side *s)
{
	static const DAT_DTOS kinds[] = { DAT_DTO_SEND, DAT_DTO_SEND, DAT_DTO_RDMA_WRITE,
					  DAT_DTO_RDMA_WRITE, DAT_DTO_RDMA_READ };

	post_request(s, kinds[below(5)], some_length(MAX_LEN), one_in(3));
}

/* ---- Completions against the model ---- */

static void request_done(struct side *s, const DAT_DTO_COMPLETION_EVENT_DATA *done)
{
	unsigned int index = (unsigned int)done->user_cookie.as_64;
	struct op *op;

	/* DTO-31: what is passed over was suppressed and has succeeded. */
	for (; s->retired != index; s->retired++) {
		assert_true(s->retired != s->posted);
		assert_true(s->ops[s->retired % RING].suppressed);
		assert_false(s->failed);
	}
	assert_true(s->retired != s->posted);
	op = &s->ops[s->retired++ % RING];
	assert_int_equal(done->operation, op->kind);
	if (done->status != DAT_DTO_SUCCESS) {
		assert_true(s->may_fail);
		assert_false(s->must_succeed);
		if (!op->bad)
			assert_int_equal(done->status, DAT_DTO_ERR_FLUSHED);
		s->failed = true;
		return;
	}
	assert_false(s->failed);
	assert_false(op->suppressed);
	assert_false(op->bad);
	assert_int_equal(done->transfered_length, op->len);
	if (op->kind == DAT_DTO_RDMA_READ)
		look(op->iov, op->n, op->len, 0, op->want);
}

static void receive_done(struct side *s, const DAT_DTO_COMPLETION_EVENT_DATA *done)
{
	unsigned int k = s->recv_done % RING;
	const struct message *message = &s->peer->sent[k];

	assert_int_equal(done->user_cookie.as_64, s->recv_done);
	assert_true(s->recv_done != s->recv_posted);
	s->recv_done++;
	if (done->status != DAT_DTO_SUCCESS) {
		assert_true(s->may_fail);
		assert_int_equal(done->status, DAT_DTO_ERR_FLUSHED);
		s->recv_failed = true;
		return;
	}
	assert_false(s->recv_failed);
	assert_true(s->recv_done <= s->peer->num_sent);
	assert_int_equal(done->transfered_length, message->len);
	look(s->recv_iov[k], s->recv_n[k], message->len, message->seed, NULL);
}

/* EVT-5: nothing but completions and, where it is due, one end. */
static void take(struct side *s, const DAT_EVENT *event, bool merged)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *done = &event->event_data.dto_completion_event_data;

	switch (event->event_number) {
	case DAT_DTO_COMPLETION_EVENT:
		assert_ptr_equal(done->ep_handle, s->end.ep);
		if (merged && s->ended)
			fail_msg("a completion after the end");
		if (done->operation == DAT_DTO_RECEIVE)
			receive_done(s, done);
		else
			request_done(s, done);
		break;
	case DAT_CONNECTION_EVENT_DISCONNECTED:
	case DAT_CONNECTION_EVENT_BROKEN:
		assert_true(s->may_fail);
		assert_false(s->ended);
		s->ended = true;
		break;
	default:
		fail_msg("event 0x%x", event->event_number);
	}
}

/* Takes up to n events of each dispatcher; how many there were. */
static unsigned int reap(struct side *s, unsigned int n)
{
	DAT_EVD_HANDLE evds[] = { s->end.recv, s->end.request, s->end.connect };
	bool merged = evds[0] == evds[1];
	unsigned int taken = 0;

	for (int i = 0; i < (merged ? 1 : 3); i++) {
		for (unsigned int k = 0; k < n; k++) {
			DAT_EVENT event;
			DAT_RETURN rc = dat_evd_dequeue(evds[i], &event);

			if (rc == DAT_QUEUE_EMPTY)
				break;
			expect_ok(rc);
			take(s, &event, merged);
			taken++;
		}
	}
	return taken;
}

#define REAP_UNTIL(a, p, condition)                                                           \
	do {                                                                                  \
		uint64_t until_ = ct_now_us() + 2 * CT_US;                                    \
		while (!(condition)) {                                                        \
			if (reap((a), DEPTH) + reap((p), DEPTH) == 0)                         \
				ct_pause();                                                   \
			if (ct_now_us() > until_)                                             \
				fail_msg("never came true: %s; requests %u/%u, %u/%u, "       \
					 "Receives %u/%u, %u/%u",                             \
					 #condition, (a)->retired, (a)->posted, (p)->retired, \
					 (p)->posted, (a)->recv_done, (a)->recv_posted,       \
					 (p)->recv_done, (p)->recv_posted);                   \
		}                                                                             \
	} while (0)

/* ---- A round ---- */

static void traffic(struct side *sides, unsigned int steps)
{
	for (unsigned int i = 0; i < steps; i++) {
		struct side *s = &sides[below(2)];

		switch (below(4)) {
		case 0:
			post_recv(s);
			break;
		case 1:
			reap(s, 1 + below(8));
			break;
		default:
			post_some_request(s);
			break;
		}
	}
}

static void receives_for_all(struct side *s)
{
	while (s->recv_posted < s->peer->num_sent) {
		post_recv(s);
		if (s->recv_posted - s->recv_done == DEPTH) {
			REAP_UNTIL(s, s->peer, s->recv_posted - s->recv_done < DEPTH);
		}
	}
}

/* Everything completes; after one more message each way both windows are what they must be. */
static void settle(struct side *a, struct side *p)
{
	struct side *both[] = { a, p };

	receives_for_all(a);
	receives_for_all(p);
	for (int i = 0; i < 2; i++) {
		REAP_UNTIL(a, p, both[i]->posted - both[i]->retired < DEPTH / 2);
		REAP_UNTIL(a, p,
			   both[i]->num_sent < both[!i]->recv_posted ||
				   both[!i]->recv_posted - both[!i]->recv_done < DEPTH);
		post_request(both[i], DAT_DTO_SEND, 0, false);
		receives_for_all(both[!i]);
	}
	receives_for_all(a);
	receives_for_all(p);
	REAP_UNTIL(a, p,
		   a->retired == a->posted && p->retired == p->posted &&
			   a->recv_done >= p->num_sent && p->recv_done >= a->num_sent);
	same_window(a);
	same_window(p);
}

static void post_bad(struct side *s)
{
	struct op *op = &s->ops[s->posted % RING];

	REAP_UNTIL(s, s->peer, s->posted - s->retired < DEPTH);
	free(op->want);
	*op = (struct op){ .kind = DAT_DTO_SEND, .bad = true, .len = 64, .n = 1 };
	op->iov[0] = (DAT_LMR_TRIPLET){ .virtual_address = 64, .segment_length = 64 };
	/* Nothing of it reaches the peer. */
	expect_ok(post(s, op, 0));
	s->posted++;
}

enum end {
	ABRUPT,
	BY_PEER,
	BY_BOTH,
	GRACEFUL,
	FREED_BY_PEER,
	FAULT,
	NUM_ENDS,
};

static void end_it(struct side *a, struct side *p, enum end how)
{
	switch (how) {
	case ABRUPT:
		expect_ok(dat_ep_disconnect(a->end.ep, DAT_CLOSE_ABRUPT_FLAG));
		break;
	case BY_BOTH:
		expect_ok(dat_ep_disconnect(a->end.ep, DAT_CLOSE_ABRUPT_FLAG));
		/* fall through */
	case BY_PEER:
		expect_ok(dat_ep_disconnect(p->end.ep, DAT_CLOSE_ABRUPT_FLAG));
		break;
	case GRACEFUL: /* FL-12: the peer stays and has Receives for all */
		a->must_succeed = true;
		expect_ok(dat_ep_disconnect(a->end.ep, DAT_CLOSE_GRACEFUL_FLAG));
		break;
	case FREED_BY_PEER:
		expect_ok(dat_ep_free(p->end.ep));
		p->over = true;
		ct_drain(p->end.recv);
		ct_drain(p->end.request);
		ct_drain(p->end.connect);
		break;
	default:
		post_bad(a);
		break;
	}
}

/* FL-8: a marker comes after all that was posted before. */
static void flush_complete(struct side *s)
{
	DAT_BOOLEAN recv_idle, request_idle;

	if (s->over)
		return;
	assert_int_equal(s->recv_done, s->recv_posted);
	s->ended = false; /* the marker may come after the end */
	s->must_succeed = false;
	REAP_UNTIL(s, s, s->posted - s->retired < DEPTH);
	post_request(s, DAT_DTO_RDMA_WRITE, 64, true);
	REAP_UNTIL(s, s, s->retired == s->posted);
	assert_true(s->failed);
	cu_quiet(s->end.request, 0);
	expect_ok(dat_ep_get_status(s->end.ep, NULL, &recv_idle, &request_idle));
	assert_int_equal(recv_idle, DAT_TRUE);
	assert_int_equal(request_idle, DAT_TRUE);
}

/* Whether all of a side that will be reported has been, but for suppressed ones that succeeded. */
static bool is_flushed(const struct side *s)
{
	unsigned int i = s->retired;

	if (s->over)
		return true;
	while (i != s->posted && s->ops[i % RING].suppressed && !s->failed)
		i++;
	return s->ended && s->recv_done == s->recv_posted && i == s->posted;
}

static void burst(struct side *sides, enum end how)
{
	for (unsigned int i = below(2 * DEPTH); i > 0; i--) {
		struct side *s = &sides[below(2)];

		if (one_in(3))
			post_recv(s);
		else
			post_some_request(s);
		if (one_in(8))
			reap(s, 2);
	}
	/* Nothing of the first side may wait for a Receive. */
	if (how == GRACEFUL || how == FAULT)
		receives_for_all(&sides[1]);
	sides[0].may_fail = sides[1].may_fail = true;
}

static void one_round(uint64_t seed, enum end how)
{
	struct side *sides = calloc(2, sizeof(*sides)), *a = &sides[0], *p = &sides[1];
	struct cu_rig *rig;
	bool merged;

	print_message("# UDAPL_LOAD_SEED=%llu\n", (unsigned long long)seed);
	assert_non_null(sides);
	state_of_rng = seed;
	merged = one_in(2);
	rig = cu_rig_open();
	receives_first =
		ct_receives_first(&rig->attr, &rig->prov) || getenv("UDAPL_LOAD_RECEIVES") != NULL;
	a->peer = p;
	p->peer = a;
	open_side(rig, a, merged);
	open_side(rig, p, merged);
	cu_establish(rig, &a->end, &p->end);
	traffic(sides, STEPS);
	settle(a, p);
	if (how != NUM_ENDS) {
		burst(sides, how);
		end_it(a, p, how);
		REAP_UNTIL(a, p, is_flushed(a) && is_flushed(p));
		flush_complete(a);
		flush_complete(p);
	}
	close_side(a);
	close_side(p);
	cu_rig_close(rig);
	free(sides);
}

static uint64_t seconds(void)
{
	const char *text = getenv("UDAPL_LOAD_SECONDS");

	return text != NULL ? strtoull(text, NULL, 10) : 2;
}

static void rounds(enum end how)
{
	uint64_t until = ct_now_us() + seconds() * 1000000;
	const char *text = getenv("UDAPL_LOAD_SEED");
	uint64_t seed = ((uint64_t)time(NULL) << 20) ^ (uint64_t)ct_now_us();

	if (text != NULL) {
		one_round(strtoull(text, NULL, 10), how);
		return;
	}
	do {
		one_round(seed++, how);
	} while (ct_now_us() < until);
}

/* DTO-66, DTO-67, DTO-68, DTO-31, EVT-5 */
static void dto_2_64_65_traffic_both_ways(void **state)
{
	(void)state;
	rounds(NUM_ENDS);
}

/* FL-2 to FL-5, EP-152, EVT-5 */
static void fl_1_dto_2_74_75_abrupt_end(void **state)
{
	(void)state;
	rounds(ABRUPT);
}

static void fl_1_dto_2_74_75_end_by_the_peer(void **state)
{
	(void)state;
	rounds(BY_PEER);
}

static void fl_1_sim_2_end_by_both(void **state)
{
	(void)state;
	rounds(BY_BOTH);
}

static void fl_12_dto_77_graceful_end(void **state)
{
	(void)state;
	rounds(GRACEFUL);
}

static void fl_1_dto_2_74_75_peer_frees_its_endpoint(void **state)
{
	(void)state;
	rounds(FREED_BY_PEER);
}

static void fl_7_dto_75_fault(void **state)
{
	(void)state;
	rounds(FAULT);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(dto_2_64_65_traffic_both_ways),
		cmocka_unit_test(fl_1_dto_2_74_75_abrupt_end),
		cmocka_unit_test(fl_1_dto_2_74_75_end_by_the_peer),
		cmocka_unit_test(fl_1_sim_2_end_by_both),
		cmocka_unit_test(fl_12_dto_77_graceful_end),
		cmocka_unit_test(fl_1_dto_2_74_75_peer_frees_its_endpoint),
		cmocka_unit_test(fl_7_dto_75_fault),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
