/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program that waits uses no processor, and a passive target that never calls DAT serves its
 * peers.
 */
#include "peer.h"
#include "harness.h"

#include <poll.h>
#include <sys/resource.h>

#define WAIT_US 2000000

/*
 * What two seconds of waiting may cost: a wake-up each ten milliseconds would cost more. An
 * emulated processor needs a hundred times as long for one, so they are counted besides.
 */
#define IDLE_US	     (harness_sanitized() || harness_emulated() ? 300000 : 20000)
#define IDLE_WAKEUPS 100

struct pair {
	struct ct_ia *ia;
	struct ct_end a, p;
};

static void pair_open(struct pair *pair, struct ct_ia *ia)
{
	memset(pair, 0, sizeof(*pair));
	pair->ia = ia;
	ct_end_open(&pair->a, ia->ia, NULL);
	ct_end_open(&pair->p, ia->ia, NULL);
	ct_end_connect(&pair->a, &pair->p);
}

/* Traffic both ways, so that whatever starts at the first need has started. */
static void warm_up(struct pair *pair)
{
	for (uint64_t i = 0; i < 10; i++) {
		expect_ok(ct_post_recv(&pair->p, 4096, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
		expect_ok(ct_post_recv(&pair->a, 4096, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
		expect_ok(ct_post_send(&pair->a, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
		expect_ok(ct_post_send(&pair->p, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
		ct_completion(pair->p.recv, i, DAT_DTO_SUCCESS);
		ct_completion(pair->a.recv, i, DAT_DTO_SUCCESS);
		ct_completion(pair->a.request, i, DAT_DTO_SUCCESS);
		ct_completion(pair->p.request, i, DAT_DTO_SUCCESS);
	}
}

/* ---- Processor time of the whole process ---- */

static uint64_t used_us(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* How often any thread of the process slept. */
static uint64_t sleeps(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	return (uint64_t)usage.ru_nvcsw;
}

static uint64_t clock_at, cpu_at, sleeps_at;

static void start_measuring(void)
{
	clock_at = ct_now_us();
	cpu_at = used_us();
	sleeps_at = sleeps();
}

static void was_idle(void)
{
	uint64_t used = used_us() - cpu_at, slept = sleeps() - sleeps_at;

	ct_took(ct_now_us() - clock_at, WAIT_US);
	print_message("%llu us of processor time in %d us, %llu times asleep\n",
		      (unsigned long long)used, WAIT_US, (unsigned long long)slept);
	if (used > IDLE_US)
		fail_msg("%llu us of processor time in %d us of waiting", (unsigned long long)used,
			 WAIT_US);
	if (slept > IDLE_WAKEUPS)
		fail_msg("%llu wake-ups in %d us of waiting", (unsigned long long)slept, WAIT_US);
}

static void wait_idle(DAT_EVD_HANDLE evd)
{
	DAT_EVENT event;
	DAT_COUNT more;

	start_measuring();
	expect_exact(dat_evd_wait(evd, WAIT_US, 1, &event, &more), DAT_TIMEOUT_EXPIRED);
	was_idle();
}

static void waiting_for_completions_is_idle(void **state)
{
	struct pair pair;

	pair_open(&pair, *state);
	warm_up(&pair);
	expect_ok(ct_post_recv(&pair.p, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	wait_idle(pair.p.recv);
}

static void waiting_for_a_software_event_is_idle(void **state)
{
	struct ct_ia *ia = *state;
	struct pair pair;

	pair_open(&pair, ia);
	warm_up(&pair);
	wait_idle(ct_evd(ia->ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG));
}

static void waiting_for_a_request_is_idle(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG);
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;

	expect_ok(dat_psp_create_any(ia->ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	wait_idle(evd);
}

static void waiting_for_the_end_of_a_connection_is_idle(void **state)
{
	struct pair pair;

	pair_open(&pair, *state);
	warm_up(&pair);
	wait_idle(pair.a.connect);
}

static void waiting_with_an_unread_message_is_idle(void **state)
{
	struct ct_ia *ia = *state;
	struct pair pair;

	/* DTO-90: a message that finds no receive waits at its sender, or on the way. */
	pair_open(&pair, ia);
	warm_up(&pair);
	expect_ok(ct_post_send(&pair.a, 0, 64, 99, DAT_COMPLETION_DEFAULT_FLAG));
	wait_idle(pair.p.recv);
	expect_ok(ct_post_recv(&pair.p, 0, 64, 98, DAT_COMPLETION_DEFAULT_FLAG));
	ct_completion(pair.p.recv, 98, DAT_DTO_SUCCESS);
}

static void waiting_on_a_cno_is_idle(void **state)
{
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE cno = ct_cno(ia->ia);
	struct pair pair;
	DAT_EVD_HANDLE hint;

	pair_open(&pair, ia);
	warm_up(&pair);
	expect_ok(dat_evd_modify_cno(pair.p.recv, cno));
	expect_ok(dat_evd_modify_cno(pair.a.connect, cno));
	expect_ok(ct_post_recv(&pair.p, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	start_measuring();
	expect_exact(dat_cno_wait(cno, WAIT_US, &hint), DAT_QUEUE_EMPTY);
	was_idle();
}

static void waiting_on_a_descriptor_is_idle(void **state)
{
	struct pollfd pfd = { .events = POLLIN };
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE cno;
	struct pair pair;

	pair_open(&pair, ia);
	warm_up(&pair);
	expect_ok(dat_cno_fd_create(ia->ia, &pfd.fd, &cno));
	expect_ok(dat_evd_modify_cno(pair.p.recv, cno));
	start_measuring();
	assert_int_equal(poll(&pfd, 1, WAIT_US / 1000 + 1), 0);
	was_idle();
}

static void a_program_that_does_something_else_is_idle(void **state)
{
	struct pair pair;

	pair_open(&pair, *state);
	warm_up(&pair);
	expect_ok(ct_post_recv(&pair.p, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	start_measuring();
	assert_int_equal(poll(NULL, 0, WAIT_US / 1000 + 1), 0);
	was_idle();
}

static void several_waiters_at_once_are_idle(void **state)
{
	struct ct_ia *ia = *state;
	struct ct_waiter *waiters[4];
	struct pair pair;

	pair_open(&pair, ia);
	warm_up(&pair);
	waiters[0] = ct_evd_waiter(pair.p.recv, DAT_TIMEOUT_INFINITE, 1);
	waiters[1] = ct_evd_waiter(pair.a.recv, DAT_TIMEOUT_INFINITE, 1);
	waiters[2] = ct_evd_waiter(pair.a.request, DAT_TIMEOUT_INFINITE, 1);
	waiters[3] = ct_cno_waiter(ct_cno(ia->ia), DAT_TIMEOUT_INFINITE);
	wait_idle(pair.p.connect);
	ct_close(ia);
	for (int i = 0; i < 4; i++) {
		ct_waiter_join(waiters[i]);
		assert_true(waiters[i]->cpu_us < IDLE_US);
	}
}

/* ---- A passive target ---- */

enum {
	TARGET = 1 << 20
};

struct offer {
	struct peer_service service;
	DAT_VADDR address;
	DAT_RMR_CONTEXT context;
};

/* What peers wrote came as from hardware: nothing in this process orders it before the look. */
__attribute__((no_sanitize("thread"))) static void look(uint8_t *to, const volatile uint8_t *from)
{
	for (size_t i = 0; i < TARGET; i++)
		to[i] = from[i];
}

/* Listens, accepts, and from then on only reads its socket: no call into the library. */
static void passive(int fd)
{
	static uint8_t seen[TARGET];
	struct ct_end end = { 0 };
	DAT_CONN_QUAL qual;
	DAT_EVD_HANDLE evd;
	struct offer offer;
	struct ct_mem mem;
	DAT_PSP_HANDLE psp;
	struct ct_ia ia;
	DAT_EVENT event;

	ct_open(&ia);
	ct_end_open(&end, ia.ia, NULL);
	ct_mem_open(&mem, ia.ia, end.pz, TARGET, DAT_MEM_PRIV_ALL_FLAG);
	memset(mem.base, 0x3c, TARGET);
	evd = ct_evd(ia.ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG);
	expect_ok(dat_psp_create_any(ia.ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	offer.service = peer_service(ia.attr.ia_address_ptr, qual);
	offer.address = (DAT_VADDR)(uintptr_t)mem.base;
	offer.context = mem.rmr_context;
	peer_put(fd, &offer, sizeof(offer));
	ct_next(evd, DAT_CONNECTION_REQUEST_EVENT, &event);
	expect_ok(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, end.ep, 0, NULL));
	ct_next(end.connect, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	/* Here the program turns to other things; a word tells it to look at its memory. */
	while (peer_get_word(fd) != 0) {
		look(seen, mem.base);
		peer_put(fd, seen, TARGET);
	}
	ct_close(&ia);
}

static void attach(struct ct_ia *ia, struct ct_end *end, const struct offer *offer)
{
	DAT_EVENT event;

	ct_end_open(end, ia->ia, NULL);
	expect_ok(peer_connect(end, &offer->service, CT_US));
	ct_next(end->connect, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
}

static DAT_RMR_TRIPLET all_of(const struct offer *offer)
{
	DAT_RMR_TRIPLET target = { .virtual_address = offer->address,
				   .segment_length = TARGET,
				   .rmr_context = offer->context };

	return target;
}

static void a_target_that_calls_nothing_serves_reads_and_writes(void **state)
{
	static uint8_t seen[TARGET];
	struct ct_ia *ia = *state;
	struct peer *peer = peer_start("passive");
	struct ct_end end = { 0 };
	DAT_DTO_COOKIE cookie = { .as_64 = 5 };
	DAT_LMR_TRIPLET segment;
	DAT_RMR_TRIPLET target;
	struct offer offer;
	struct ct_mem mem;

	peer_get(peer->fd, &offer, sizeof(offer));
	attach(ia, &end, &offer);
	ct_mem_open(&mem, ia->ia, end.pz, TARGET, DAT_MEM_PRIV_ALL_FLAG);
	segment = ct_segment(&mem, 0, TARGET);
	target = all_of(&offer);
	for (int round = 1; round <= 20; round++) {
		expect_ok(dat_ep_post_rdma_read(end.ep, 1, &segment, cookie, &target,
						DAT_COMPLETION_DEFAULT_FLAG));
		ct_completion(end.request, 5, DAT_DTO_SUCCESS);
		for (size_t i = 0; i < TARGET; i += 4095)
			assert_int_equal(mem.base[i], round == 1 ? 0x3c : round - 1);
		memset(mem.base, round, TARGET);
		expect_ok(dat_ep_post_rdma_write(end.ep, 1, &segment, cookie, &target,
						 DAT_COMPLETION_DEFAULT_FLAG));
		ct_completion(end.request, 5, DAT_DTO_SUCCESS);
		memset(mem.base, 0, TARGET);
	}
	/* DTO-68: behind a read, the last write has arrived. */
	expect_ok(dat_ep_post_rdma_read(end.ep, 1, &segment, cookie, &target,
					DAT_COMPLETION_DEFAULT_FLAG));
	ct_completion(end.request, 5, DAT_DTO_SUCCESS);
	peer_put_word(peer->fd, 1);
	peer_get(peer->fd, seen, sizeof(seen));
	for (size_t i = 0; i < TARGET; i++)
		assert_int_equal(seen[i], 20);
	peer_put_word(peer->fd, 0);
	peer_finish(peer);
}

static void a_target_that_calls_nothing_notices_the_end(void **state)
{
	struct ct_ia *ia = *state;
	struct peer *peer = peer_start("passive");
	struct ct_end end = { 0 };
	struct offer offer;
	DAT_EVENT event;

	peer_get(peer->fd, &offer, sizeof(offer));
	attach(ia, &end, &offer);
	expect_ok(dat_ep_disconnect(end.ep, DAT_CLOSE_GRACEFUL_FLAG));
	/* TMO-8: without the peer's program. */
	ct_next(end.connect, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
	peer_put_word(peer->fd, 0);
	peer_finish(peer);
}

static int teardown(void **state)
{
	peer_end_all();
	return ct_teardown(state);
}

#define T(f) cmocka_unit_test_setup_teardown(f, ct_setup, teardown)

int main(int argc, char **argv)
{
	static const struct peer_role roles[] = {
		{ "passive", passive },
		{ NULL, NULL },
	};
	static const struct CMUnitTest tests[] = {
		T(waiting_for_completions_is_idle),
		T(waiting_for_a_software_event_is_idle),
		T(waiting_for_a_request_is_idle),
		T(waiting_for_the_end_of_a_connection_is_idle),
		T(waiting_with_an_unread_message_is_idle),
		T(waiting_on_a_cno_is_idle),
		T(waiting_on_a_descriptor_is_idle),
		T(a_program_that_does_something_else_is_idle),
		T(several_waiters_at_once_are_idle),
		T(a_target_that_calls_nothing_serves_reads_and_writes),
		T(a_target_that_calls_nothing_notices_the_end),
	};

	peer_main(argc, argv, roles);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
