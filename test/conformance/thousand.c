/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A thousand connections between two processes: data on each of them, what an idle one costs, and
 * what happens when the other process dies.
 */
#include "conn_util.h"
#include "peer.h"

#include <stdlib.h>
#include <sys/resource.h>

enum {
	N = 1000,
	BATCH = 32,
	QUEUE = 16,	      /* length of the queues of each endpoint */
	SLOT = 256,	      /* bytes of a message */
	MOST_KIB = 32,	      /* memory of one connection, both sides together, of soft */
	MOST_VERBS_KIB = 48,  /* in which is what rdma-core keeps of it */
	WATCH_MS = 5 * CT_MS, /* for all connections together */
	USED = 0,	      /* the connection that is, beside idle ones */
	LATE = N - 1,
	ROUNDS = 500,	     /* over it alone */
	HEARD_WITHIN = 4000, /* more of them */
};

/* One side: all endpoints share the zone, the memory and three dispatchers. */
struct side {
	struct cu_rig *rig;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE recv, request, connect;
	struct ct_mem mem; /* a slot to receive and a slot to send per connection */
	DAT_EP_ATTR attr;
	DAT_EP_HANDLE ep[N];
	unsigned int num;
};

static size_t recv_slot(unsigned int i)
{
	return (size_t)i * 2 * SLOT;
}

static size_t send_slot(unsigned int i)
{
	return recv_slot(i) + SLOT;
}

static void allow_descriptors(void)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	if (limit.rlim_cur < 2 * N)
		harness_skip("# the limit of open files is %llu",
			     (unsigned long long)limit.rlim_cur);
}

static struct side *side_open(void)
{
	struct side *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->rig = cu_rig_open();
	s->pz = ct_pz(s->rig->ia);
	s->recv = ct_evd(s->rig->ia, N * 2, NULL, DAT_EVD_DTO_FLAG);
	s->request = ct_evd(s->rig->ia, N * 2, NULL, DAT_EVD_DTO_FLAG);
	s->connect = ct_evd(s->rig->ia, N * 2, NULL, DAT_EVD_CONNECTION_FLAG);
	ct_mem_open(&s->mem, s->rig->ia, s->pz, recv_slot(N), DAT_MEM_PRIV_ALL_FLAG);
	/* What the program registers is not the library's. */
	memset(s->mem.base, 0, s->mem.len);
	memset(s->ep, 0, sizeof(s->ep));
	ct_default_attr(s->rig->ia, &s->attr);
	s->attr.max_recv_dtos = QUEUE;
	s->attr.max_request_dtos = QUEUE;
	return s;
}

static void side_close(struct side *s)
{
	cu_rig_close(s->rig);
	s->mem.lmr = DAT_HANDLE_NULL;
	ct_mem_close(&s->mem);
	free(s);
}

/* The next endpoint, with one Receive posted. */
static struct ct_end next_end(struct side *s)
{
	struct ct_end end = { .ia = s->rig->ia, .mem = s->mem };
	unsigned int i = s->num++;

	expect_ok(dat_ep_create(s->rig->ia, s->pz, s->recv, s->request, s->connect, &s->attr,
				&end.ep));
	s->ep[i] = end.ep;
	expect_ok(cu_recv(&end, recv_slot(i), SLOT, i));
	return end;
}

static void next_established(struct side *s)
{
	DAT_EVENT event;

	assert_true(cu_next(s->connect, CT_MS, &event));
	assert_int_equal(event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* ---- The active process ------------------------------------------------ */

static void connect_all(struct side *s, int fd)
{
	struct peer_service there = peer_get_service(fd);

	while (s->num < N) {
		unsigned int n = N - s->num < BATCH ? N - s->num : BATCH;

		for (unsigned int i = 0; i < n; i++) {
			uint32_t number = s->num;
			struct ct_end end = next_end(s);

			/* The number tells the other side which of its endpoints belongs to this
			 * one. */
			expect_ok(dat_ep_connect(end.ep, (DAT_IA_ADDRESS_PTR)&there.addr,
						 there.qual, CT_US, sizeof(number), &number,
						 DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
		}
		peer_put_word(fd, n);
		for (unsigned int i = 0; i < n; i++)
			next_established(s);
	}
}

/* Each message says which connection it belongs to. */
static void fill_slot(struct side *s, unsigned int i, unsigned int seed)
{
	cu_fill(s->mem.base + send_slot(i), SLOT, i + seed);
}

static void send_on_each(struct side *s, unsigned int seed)
{
	struct ct_end end = { .mem = s->mem };

	for (unsigned int i = 0; i < N; i++) {
		end.ep = s->ep[i];
		fill_slot(s, i, seed);
		expect_ok(ct_post_send(&end, send_slot(i), SLOT, i, DAT_COMPLETION_DEFAULT_FLAG));
	}
	for (unsigned int i = 0; i < N; i++)
		assert_int_equal(cu_completion(s->request).status, DAT_DTO_SUCCESS);
}

static void receive_on_each(struct side *s, unsigned int seed)
{
	for (unsigned int i = 0; i < N; i++) {
		DAT_DTO_COMPLETION_EVENT_DATA done = cu_completion(s->recv);
		unsigned int k = (unsigned int)done.user_cookie.as_64;

		assert_int_equal(done.status, DAT_DTO_SUCCESS);
		assert_in_range(k, 0, N - 1);
		assert_ptr_equal(done.ep_handle, s->ep[k]);
		FILLED(s->mem.base + recv_slot(k), SLOT, k + seed);
	}
}

/* ---- One in use beside idle ones ---------------------------------------- */

static void hear(struct side *s, unsigned int i)
{
	struct ct_end end = { .ep = s->ep[i], .mem = s->mem };

	expect_ok(cu_recv(&end, recv_slot(i), SLOT, i));
}

static unsigned int heard(struct side *s)
{
	DAT_EVENT event;

	cu_poll(s->recv, &event);
	assert_int_equal(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
	return (unsigned int)event.event_data.dto_completion_event_data.user_cookie.as_64;
}

static void say(struct side *s, unsigned int i, bool last)
{
	struct ct_end end = { .ep = s->ep[i], .mem = s->mem };
	DAT_EVENT event;

	s->mem.base[send_slot(i)] = last;
	expect_ok(ct_post_send(&end, send_slot(i), 8, i, DAT_COMPLETION_DEFAULT_FLAG));
	cu_poll(s->request, &event);
}

/* Until the last one is asked for; after some, a message over one that was idle. */
static void echo(struct side *s)
{
	bool last = false;

	for (unsigned int i = 0; !last; i++) {
		assert_int_equal(heard(s), USED);
		last = s->mem.base[recv_slot(USED)];
		hear(s, USED);
		if (i == ROUNDS)
			say(s, LATE, false);
		say(s, USED, false);
	}
}

/* Who polls for one connection looks at the idle ones rarely, and does look. */
static void poll_for_one(struct side *s)
{
	bool late = false, last = false;
	unsigned int from = 0, i;

	hear(s, LATE);
	for (i = 0; !last; i++) {
		last = late || i == ROUNDS + HEARD_WITHIN;
		hear(s, USED);
		say(s, USED, last);
		while ((from = heard(s)) == LATE)
			late = true;
		assert_int_equal(from, USED);
	}
	print_message("# an idle connection's message was heard within %u rounds\n", i - ROUNDS);
	assert_true(late);
}

/* ---- The active process, as a whole -------------------------------------- */

static void active(int fd)
{
	struct side *s;
	size_t base;

	allow_descriptors();
	s = side_open();
	base = cu_private_kib(0);
	connect_all(s, fd);
	peer_put_word(fd, cu_private_kib(0) - base);
	/* Data, when the other side is ready for it. */
	peer_get_word(fd);
	send_on_each(s, 1);
	receive_on_each(s, 2);
	hear(s, USED);
	peer_put_word(fd, cu_private_kib(0) - base);
	echo(s);
	peer_get_word(fd);
	for (unsigned int i = 0; i < N; i++)
		expect_ok(dat_ep_disconnect(s->ep[i], DAT_CLOSE_ABRUPT_FLAG));
	peer_get_word(fd);
	side_close(s);
}

/* ---- The passive process: the test ------------------------------------- */

static void accept_all(struct side *s, int fd)
{
	while (s->num < N) {
		unsigned int n = (unsigned int)peer_get_word(fd);
		/* Requests may come in any order; the endpoint is the one with the request's
		 * number. */
		struct ct_end ends[BATCH];
		unsigned int first = s->num;

		for (unsigned int i = 0; i < n; i++)
			ends[i] = next_end(s);
		for (unsigned int i = 0; i < n; i++) {
			DAT_CR_HANDLE cr = cu_take_cr(s->rig->cr);
			DAT_CR_PARAM param;
			uint32_t number;

			expect_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
			assert_int_equal(param.private_data_size, sizeof(number));
			memcpy(&number, param.private_data, sizeof(number));
			assert_in_range(number, first, first + n - 1);
			expect_ok(dat_cr_accept(cr, ends[number - first].ep, 0, NULL));
		}
		for (unsigned int i = 0; i < n; i++)
			next_established(s);
	}
}

static struct side *connect_to_peer(struct peer **peer, size_t *base)
{
	struct side *s;

	allow_descriptors();
	s = side_open();
	*base = cu_private_kib(0);
	*peer = peer_start("active");
	peer_put_service((*peer)->fd, s->rig);
	accept_all(s, (*peer)->fd);
	return s;
}

static void all_end(struct side *s)
{
	uint8_t *seen = test_calloc(N, 1);

	for (unsigned int i = 0; i < N; i++) {
		DAT_EVENT event;
		unsigned int k;

		if (!cu_next(s->connect, WATCH_MS, &event))
			fail_msg("%u of %d connections ended", i, N);
		assert_true(event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
			    event.event_number == DAT_CONNECTION_EVENT_BROKEN);
		for (k = 0; k < N && s->ep[k] != event.event_data.connect_event_data.ep_handle; k++)
			;
		assert_in_range(k, 0, N - 1);
		assert_int_equal(seen[k]++, 0);
	}
	test_free(seen);
	cu_quiet(s->connect, 100);
}

static void report(const char *when, size_t own, size_t other)
{
	size_t most = strncmp(harness_ia_name(), "soft", 4) ? MOST_VERBS_KIB : MOST_KIB;
	size_t device;

	cu_memory_kib(0, &device);
	print_message("# %s: %zu KiB here, %zu KiB there, %.1f KiB per connection, and %.1f KiB of "
		      "the device's on each side\n",
		      when, own, other, (double)(own + other) / N, (double)device / N);
	if (!harness_sanitized())
		assert_in_range(own + other, 0, N * most);
}

static void a_thousand_connections_with_data_on_each(void **state)
{
	struct peer *peer;
	size_t base, there;
	uint64_t begun = ct_now_us();
	struct side *s = connect_to_peer(&peer, &base);

	(void)state;
	print_message("# connected in %llu ms\n", (unsigned long long)(ct_now_us() - begun) / 1000);
	there = peer_get_word(peer->fd);
	report("connected", cu_private_kib(0) - base, there);
	begun = ct_now_us();
	peer_put_word(peer->fd, 0);
	receive_on_each(s, 1);
	send_on_each(s, 2);
	there = peer_get_word(peer->fd);
	print_message("# exchanged in %llu ms\n", (unsigned long long)(ct_now_us() - begun) / 1000);
	report("after data on each", cu_private_kib(0) - base, there);
	poll_for_one(s);
	begun = ct_now_us();
	peer_put_word(peer->fd, 0);
	all_end(s);
	print_message("# ended in %llu ms\n", (unsigned long long)(ct_now_us() - begun) / 1000);
	peer_put_word(peer->fd, 0);
	peer_finish(peer);
	side_close(s);
}

static void a_thousand_connections_of_a_process_that_dies(void **state)
{
	struct peer *peer;
	size_t base;
	struct side *s = connect_to_peer(&peer, &base);

	(void)state;
	peer_get_word(peer->fd);
	peer_kill(peer);
	all_end(s);
	for (unsigned int i = 0; i < N; i++)
		assert_int_equal(cu_completion(s->recv).status, DAT_DTO_ERR_FLUSHED);
	for (unsigned int i = 0; i < N; i++)
		expect_ok(dat_ep_free(s->ep[i]));
	side_close(s);
}

#define T(f) cmocka_unit_test_teardown(f, cu_teardown)

int main(int argc, char **argv)
{
	static const struct peer_role roles[] = { { "active", active }, { NULL, NULL } };
	static const struct CMUnitTest tests[] = {
		T(a_thousand_connections_with_data_on_each),
		T(a_thousand_connections_of_a_process_that_dies),
	};

	peer_main(argc, argv, roles);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
