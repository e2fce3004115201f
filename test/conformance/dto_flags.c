/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion flags: which completions make an event and which of those notify (DTO-25 to DTO-32).
 */
#include "conn_util.h"
#include "peer.h"

enum op {
	SEND,
	WRITE,
	READ,
	NUM_OPS
};

static const DAT_DTOS codes[NUM_OPS] = { DAT_DTO_SEND, DAT_DTO_RDMA_WRITE, DAT_DTO_RDMA_READ };

/* How long a CNO is watched that must not be triggered. */
#define SILENCE_US 150000

struct pair {
	struct cu_rig *rig;
	struct ct_end a, p;
	DAT_CNO_HANDLE requests, receives; /* of a's request EVD, of p's receive EVD */
};

static void open_pair(struct pair *pair, DAT_COMPLETION_FLAGS request, DAT_COMPLETION_FLAGS recv)
{
	DAT_EP_ATTR attr;

	memset(pair, 0, sizeof(*pair));
	pair->rig = cu_rig_open();
	ct_default_attr(pair->rig->ia, &attr);
	attr.request_completion_flags = request;
	ct_end_open(&pair->a, pair->rig->ia, &attr);
	ct_default_attr(pair->rig->ia, &attr);
	attr.recv_completion_flags = recv;
	ct_end_open(&pair->p, pair->rig->ia, &attr);
	cu_establish(pair->rig, &pair->a, &pair->p);
	pair->requests = ct_cno(pair->rig->ia);
	pair->receives = ct_cno(pair->rig->ia);
	expect_ok(dat_evd_modify_cno(pair->a.request, pair->requests));
	expect_ok(dat_evd_modify_cno(pair->p.recv, pair->receives));
}

static void close_pair(struct pair *pair)
{
	ct_end_close(&pair->a);
	ct_end_close(&pair->p);
	cu_rig_close(pair->rig);
}

static DAT_RETURN post(struct pair *pair, enum op op, uint64_t cookie, unsigned int flags)
{
	DAT_COMPLETION_FLAGS f = (DAT_COMPLETION_FLAGS)flags;

	switch (op) {
	case SEND:
		return ct_post_send(&pair->a, 0, 64, cookie, f);
	case WRITE:
		return cu_write(&pair->a, 0, 64, cookie, &pair->p.mem, 4096, f);
	default:
		return cu_read(&pair->a, 0, 64, cookie, &pair->p.mem, 4096, f);
	}
}

/* The completion that is about to come triggers the CNO, or it comes and does not. */
static void notified(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE evd, bool expected)
{
	DAT_EVD_HANDLE hint = NULL;
	DAT_RETURN rc = dat_cno_wait(cno, expected ? CT_US : SILENCE_US, &hint);

	if (expected) {
		expect_ok(rc);
		assert_ptr_equal(hint, evd);
	} else {
		expect_exact(rc, DAT_QUEUE_EMPTY);
	}
}

static void forget_triggers(DAT_CNO_HANDLE cno)
{
	DAT_EVD_HANDLE hint;

	while (dat_cno_wait(cno, 0, &hint) == DAT_SUCCESS)
		;
}

/* One request of each kind with these flags. */
static void one_request(struct pair *pair, enum op op, unsigned int flags, bool silent)
{
	const bool suppressed = flags & DAT_COMPLETION_SUPPRESS_FLAG;

	print_message("# operation %d flags 0x%x: %s\n", op, flags,
		      suppressed ? "no event"
		      : silent	 ? "silent"
				 : "notification");
	if (op == SEND)
		expect_ok(cu_recv(&pair->p, 0, 64, flags));
	forget_triggers(pair->requests);
	expect_ok(post(pair, op, flags, flags));
	if (!suppressed) {
		notified(pair->requests, pair->a.request, !silent);
		DONE(pair->a.request, pair->a.ep, flags, codes[op], 64);
	} else {
		/* DTO-31: the next event is that of the next request that is not suppressed. */
		expect_ok(post(pair, WRITE, 0xe0d, 0));
		DONE(pair->a.request, pair->a.ep, 0xe0d, DAT_DTO_RDMA_WRITE, 64);
	}
	if (op == SEND)
		DONE(pair->p.recv, pair->p.ep, flags, DAT_DTO_RECEIVE, 64);
	cu_quiet(pair->a.request, 0);
}

/* DTO-28: SOLICITED_WAIT on a write or read means nothing. */
static void requests(DAT_COMPLETION_FLAGS attribute)
{
	const bool unsignalled = attribute == DAT_COMPLETION_UNSIGNALLED_FLAG;
	struct pair pair;

	open_pair(&pair, attribute, DAT_COMPLETION_DEFAULT_FLAG);
	for (enum op op = SEND; op < NUM_OPS; op++) {
		for (unsigned int flags = 0; flags < 0x10; flags++) {
			/* DTO-27 is shown elsewhere; without strictness the bit means nothing here.
			 */
			bool silent = unsignalled && (flags & DAT_COMPLETION_UNSIGNALLED_FLAG);

			one_request(&pair, op, flags, silent);
		}
	}
	close_pair(&pair);
}

static void dto_25_requests_of_a_default_endpoint(void **state)
{
	(void)state;
	requests(DAT_COMPLETION_DEFAULT_FLAG);
}

static void dto_25_requests_of_a_threshold_endpoint(void **state)
{
	(void)state;
	requests(DAT_COMPLETION_EVD_THRESHOLD_FLAG);
}

static void dto_25_requests_of_an_unsignalled_endpoint(void **state)
{
	(void)state;
	requests(DAT_COMPLETION_UNSIGNALLED_FLAG);
}

/* ---- Receives ---------------------------------------------------------- */

static void one_receive(struct pair *pair, DAT_COMPLETION_FLAGS recv, DAT_COMPLETION_FLAGS send,
			bool silent)
{
	print_message("# receive flags 0x%x send flags 0x%x: %s\n", recv, send,
		      silent ? "silent" : "notification");
	forget_triggers(pair->receives);
	expect_ok(ct_post_recv(&pair->p, 0, 64, 5, recv));
	expect_ok(ct_post_send(&pair->a, 0, 64, 6, send));
	DONE(pair->a.request, pair->a.ep, 6, DAT_DTO_SEND, 64);
	notified(pair->receives, pair->p.recv, !silent);
	DONE(pair->p.recv, pair->p.ep, 5, DAT_DTO_RECEIVE, 64);
}

static void receives(DAT_COMPLETION_FLAGS attribute)
{
	const bool unsignalled = attribute == DAT_COMPLETION_UNSIGNALLED_FLAG;
	const bool solicited = attribute == DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	struct pair pair;

	open_pair(&pair, DAT_COMPLETION_DEFAULT_FLAG, attribute);
	for (unsigned int i = 0; i < 4; i++) {
		unsigned int recv = i & 1 ? DAT_COMPLETION_UNSIGNALLED_FLAG : 0;
		unsigned int send = i & 2 ? DAT_COMPLETION_SOLICITED_WAIT_FLAG : 0;

		one_receive(&pair, (DAT_COMPLETION_FLAGS)recv, (DAT_COMPLETION_FLAGS)send,
			    (unsignalled && recv) || (solicited && !send));
	}
	close_pair(&pair);
}

static void dto_25_receives_of_a_default_endpoint(void **state)
{
	(void)state;
	receives(DAT_COMPLETION_DEFAULT_FLAG);
}

static void dto_25_receives_of_a_threshold_endpoint(void **state)
{
	(void)state;
	receives(DAT_COMPLETION_EVD_THRESHOLD_FLAG);
}

static void dto_25_receives_of_an_unsignalled_endpoint(void **state)
{
	(void)state;
	receives(DAT_COMPLETION_UNSIGNALLED_FLAG);
}

/* DTO-29: the sender has the default flags */
static void dto_25_receives_of_a_solicited_endpoint(void **state)
{
	(void)state;
	receives(DAT_COMPLETION_SOLICITED_WAIT_FLAG);
}

/* ---- Waiters ----------------------------------------------------------- */

/* A silent arrival during a wait: it is found when the time is up, if it came before. */
static bool found_in_the_end(struct pair *pair, DAT_TIMEOUT timeout)
{
	struct ct_waiter *waiter;

	expect_ok(cu_recv(&pair->p, 0, 64, 0));
	waiter = ct_evd_waiter(pair->p.recv, timeout, 1);
	expect_ok(ct_post_send(&pair->a, 0, 64, 0, DAT_COMPLETION_DEFAULT_FLAG));
	DONE(pair->a.request, pair->a.ep, 0, DAT_DTO_SEND, 64);
	ct_waiter_join(waiter);
	ct_took(waiter->elapsed_us, timeout);
	if (waiter->rc == DAT_TIMEOUT_EXPIRED) {
		DONE(pair->p.recv, pair->p.ep, 0, DAT_DTO_RECEIVE, 64);
		return false;
	}
	expect_ok(waiter->rc);
	assert_int_equal(waiter->event.event_data.dto_completion_event_data.user_cookie.as_64, 0);
	return true;
}

static void evd_46_48_silent_arrivals_do_not_release_a_waiter(void **state)
{
	struct pair pair;
	struct ct_waiter *waiter;
	DAT_TIMEOUT timeout = 300000;

	(void)state;
	open_pair(&pair, DAT_COMPLETION_DEFAULT_FLAG, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
	/* A loaded machine may deliver the message only when the time is over. */
	while (!found_in_the_end(&pair, timeout)) {
		timeout *= 2;
		assert_true(timeout < CT_US);
	}
	expect_ok(cu_recv(&pair.p, 0, 64, 1));
	waiter = ct_evd_waiter(pair.p.recv, CT_US, 1);
	expect_ok(ct_post_send(&pair.a, 0, 64, 1, DAT_COMPLETION_SOLICITED_WAIT_FLAG));
	ct_waiter_join(waiter);
	expect_ok(waiter->rc);
	assert_true(waiter->elapsed_us < CT_US / 2);
	ct_waiters_free();
	close_pair(&pair);
}

static void evd_46_a_notification_releases_with_the_silent_before_it(void **state)
{
	struct pair pair;
	struct ct_waiter *waiter;

	(void)state;
	open_pair(&pair, DAT_COMPLETION_DEFAULT_FLAG, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
	for (unsigned int i = 0; i < 4; i++)
		expect_ok(cu_recv(&pair.p, 0, 64, i));
	waiter = ct_evd_waiter(pair.p.recv, DAT_TIMEOUT_INFINITE, 1);
	for (unsigned int i = 0; i < 4; i++)
		expect_ok(ct_post_send(&pair.a, 0, 64, i,
				       i == 3 ? DAT_COMPLETION_SOLICITED_WAIT_FLAG
					      : DAT_COMPLETION_DEFAULT_FLAG));
	ct_waiter_join(waiter);
	expect_ok(waiter->rc);
	/* The oldest is taken, the others are left. */
	assert_int_equal(waiter->event.event_data.dto_completion_event_data.user_cookie.as_64, 0);
	assert_int_equal(waiter->more, 3);
	ct_waiters_free();
	close_pair(&pair);
}

/* ---- Failures, buffers, attributes ------------------------------------- */

static void dto_26_unsuccessful_completions_notify(void **state)
{
	struct pair pair;

	(void)state;
	open_pair(&pair, DAT_COMPLETION_UNSIGNALLED_FLAG, DAT_COMPLETION_UNSIGNALLED_FLAG);
	expect_ok(ct_post_recv(&pair.p, 0, 64, 1, DAT_COMPLETION_UNSIGNALLED_FLAG));
	cu_end_connection(&pair.a, &pair.p);
	notified(pair.receives, pair.p.recv, true);
	FLUSHED(pair.p.recv, pair.p.ep, 1, DAT_DTO_RECEIVE);
	forget_triggers(pair.requests);
	expect_ok(post(&pair, SEND, 2,
		       DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG));
	notified(pair.requests, pair.a.request, true);
	FLUSHED(pair.a.request, pair.a.ep, 2, DAT_DTO_SEND);
	close_pair(&pair);
}

static void dto_31_a_signalled_completion_covers_suppressed_ones(void **state)
{
	struct pair pair;

	(void)state;
	open_pair(&pair, DAT_COMPLETION_DEFAULT_FLAG, DAT_COMPLETION_DEFAULT_FLAG);
	for (unsigned int round = 0; round < 50; round++) {
		for (unsigned int i = 0; i < 8; i++) {
			cu_fill(pair.a.mem.base + i * 512, 512, round + i);
			expect_ok(cu_write(&pair.a, i * 512, 512, i, &pair.p.mem, i * 512,
					   DAT_COMPLETION_SUPPRESS_FLAG));
		}
		expect_ok(cu_read(&pair.a, 8192, 4096, 99, &pair.p.mem, 0,
				  DAT_COMPLETION_DEFAULT_FLAG));
		DONE(pair.a.request, pair.a.ep, 99, DAT_DTO_RDMA_READ, 4096);
		for (unsigned int i = 0; i < 8; i++)
			FILLED(pair.a.mem.base + 8192 + i * 512, 512, round + i);
	}
	cu_quiet(pair.a.request, 0);
	close_pair(&pair);
}

static void dto_32_supported_flags(void **state)
{
	struct pair pair;

	(void)state;
	open_pair(&pair, DAT_COMPLETION_DEFAULT_FLAG, DAT_COMPLETION_DEFAULT_FLAG);
	assert_int_equal(pair.rig->prov.completion_flags_supported, 0x0f);
	close_pair(&pair);
}

static void dto_30_thresholds_above_one(void **state)
{
	static const DAT_COMPLETION_FLAGS attributes[] = { DAT_COMPLETION_DEFAULT_FLAG,
							   DAT_COMPLETION_EVD_THRESHOLD_FLAG };

	(void)state;
	for (unsigned int k = 0; k < 2; k++) {
		struct pair pair;
		struct ct_waiter *waiter;

		open_pair(&pair, attributes[k], attributes[k]);
		for (unsigned int i = 0; i < 4; i++)
			expect_ok(cu_recv(&pair.p, 0, 64, i));
		waiter = ct_evd_waiter(pair.p.recv, CT_US, 4);
		for (unsigned int i = 0; i < 4; i++) {
			assert_false(ct_waiter_done(waiter));
			expect_ok(ct_post_send(&pair.a, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
			DONE(pair.a.request, pair.a.ep, i, DAT_DTO_SEND, 64);
		}
		ct_waiter_join(waiter);
		expect_ok(waiter->rc);
		assert_int_equal(waiter->more, 3);
		ct_waiters_free();
		close_pair(&pair);
	}
}

#define T(f) cmocka_unit_test_teardown(f, cu_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(dto_25_requests_of_a_default_endpoint),
		T(dto_25_requests_of_a_threshold_endpoint),
		T(dto_25_requests_of_an_unsignalled_endpoint),
		T(dto_25_receives_of_a_default_endpoint),
		T(dto_25_receives_of_a_threshold_endpoint),
		T(dto_25_receives_of_an_unsignalled_endpoint),
		T(dto_25_receives_of_a_solicited_endpoint),
		T(evd_46_48_silent_arrivals_do_not_release_a_waiter),
		T(evd_46_a_notification_releases_with_the_silent_before_it),
		T(dto_26_unsuccessful_completions_notify),
		T(dto_31_a_signalled_completion_covers_suppressed_ones),
		T(dto_32_supported_flags),
		T(dto_30_thresholds_above_one),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
