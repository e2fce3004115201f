/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Dispatchers that streams with different completion flags share: which strict mode refuses (EP-41,
 * EVD-30), and how they work else (EVD-14, EVD-17, EVD-46, EVD-53).
 */
#include "conn_util.h"

#define DEFAULT	    DAT_COMPLETION_DEFAULT_FLAG
#define UNSIGNALLED DAT_COMPLETION_UNSIGNALLED_FLAG
#define SOLICITED   DAT_COMPLETION_SOLICITED_WAIT_FLAG
#define THRESHOLD   DAT_COMPLETION_EVD_THRESHOLD_FLAG
#define NONE	    DAT_HANDLE_NULL

static DAT_EP_ATTR with_flags(DAT_IA_HANDLE ia, DAT_COMPLETION_FLAGS recv,
			      DAT_COMPLETION_FLAGS request)
{
	DAT_EP_ATTR attr;

	ct_default_attr(ia, &attr);
	attr.recv_completion_flags = recv;
	attr.request_completion_flags = request;
	return attr;
}

/* ---- Who may share ------------------------------------------------------ */

static DAT_RETURN create(DAT_IA_HANDLE ia, DAT_EVD_HANDLE recv, DAT_EVD_HANDLE request,
			 DAT_EVD_HANDLE connect, DAT_COMPLETION_FLAGS recv_flags,
			 DAT_COMPLETION_FLAGS request_flags)
{
	DAT_EP_ATTR attr = with_flags(ia, recv_flags, request_flags);
	DAT_EP_HANDLE ep;

	if (recv == NONE)
		attr.max_recv_dtos = 0;
	if (request == NONE)
		attr.max_request_dtos = attr.max_request_iov = 0;
	return dat_ep_create(ia, NONE, recv, request, connect, &attr, &ep);
}

/* What strict mode refuses. */
#define mixed(rc)                            \
	do {                                 \
		if (harness_strict())        \
			expect_arg((rc), 6); \
		else                         \
			expect_ok((rc));     \
	} while (0)

static void unsignalled_with_others(DAT_IA_HANDLE ia)
{
	DAT_EVD_HANDLE evd = ct_evd(ia, 256, NONE, DAT_EVD_DTO_FLAG);

	expect_ok(create(ia, NONE, evd, NONE, DEFAULT, UNSIGNALLED));
	expect_ok(create(ia, evd, NONE, NONE, UNSIGNALLED, DEFAULT));
	expect_ok(create(ia, evd, evd, NONE, UNSIGNALLED, UNSIGNALLED));
	mixed(create(ia, NONE, evd, NONE, DEFAULT, THRESHOLD));
	mixed(create(ia, evd, NONE, NONE, DEFAULT, DEFAULT));
	mixed(create(ia, evd, evd, NONE, UNSIGNALLED, DEFAULT));
}

static void threshold_with_others(DAT_IA_HANDLE ia)
{
	DAT_EVD_HANDLE evd = ct_evd(ia, 256, NONE, DAT_EVD_DTO_FLAG);

	expect_ok(create(ia, evd, evd, NONE, DEFAULT, THRESHOLD));
	mixed(create(ia, NONE, evd, NONE, DEFAULT, UNSIGNALLED));
	mixed(create(ia, evd, NONE, NONE, SOLICITED, DEFAULT));
}

static void solicited_with_others(DAT_IA_HANDLE ia)
{
	DAT_EVD_HANDLE evd = ct_evd(ia, 256, NONE, DAT_EVD_DTO_FLAG);

	for (int i = 0; i < 2; i++)
		expect_ok(create(ia, evd, NONE, NONE, SOLICITED, DEFAULT));
	mixed(create(ia, evd, NONE, NONE, THRESHOLD, DEFAULT));
	mixed(create(ia, NONE, evd, NONE, DEFAULT, DEFAULT));
	mixed(create(ia, evd, evd, NONE, SOLICITED, DEFAULT));
}

static void with_other_streams(DAT_IA_HANDLE ia)
{
	const DAT_EVD_FLAGS merged =
		DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG;
	DAT_EVD_HANDLE evd = ct_evd(ia, 256, NONE, merged);

	mixed(create(ia, evd, NONE, evd, UNSIGNALLED, DEFAULT));
	mixed(create(ia, NONE, evd, evd, DEFAULT, UNSIGNALLED));
	mixed(create(ia, evd, NONE, evd, SOLICITED, DEFAULT));
	evd = ct_evd(ia, 256, NONE, merged);
	expect_ok(create(ia, evd, evd, evd, DEFAULT, THRESHOLD));
	expect_ok(create(ia, evd, evd, evd, THRESHOLD, DEFAULT));
}

/* EP-61: checked as at creation. */
static void by_modifying(DAT_IA_HANDLE ia)
{
	DAT_EP_PARAM param = { .ep_attr.request_completion_flags = UNSIGNALLED };
	struct ct_end one = { 0 }, two = { 0 };
	DAT_RETURN rc;

	ct_end_open(&one, ia, NULL);
	two.request = one.request;
	ct_end_open(&two, ia, NULL);
	rc = dat_ep_modify(one.ep, DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS, &param);
	if (harness_strict())
		expect_arg(rc, 3);
	else
		expect_ok(rc);
	expect_ok(dat_ep_free(two.ep));
	expect_ok(dat_ep_modify(one.ep, DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS, &param));
}

static int sharing(void)
{
	struct ct_ia ia;

	ct_open(&ia);
	unsignalled_with_others(ia.ia);
	threshold_with_others(ia.ia);
	solicited_with_others(ia.ia);
	with_other_streams(ia.ia);
	by_modifying(ia.ia);
	ct_close(&ia);
	return 0;
}

/* GEN-31 */
static void evd_30_ep_41_sharing(void **state)
{
	(void)state;
	harness_both_strict("sharing");
}

/* ---- Waiting for completions of several kinds --------------------------- */

/* A connected pair; a has one dispatcher for its receives and requests, with these flags. */
struct pair {
	struct ct_end a, p;
};

static void pair_open(struct pair *pair, DAT_IA_HANDLE ia, DAT_EVD_HANDLE evd,
		      DAT_COMPLETION_FLAGS recv, DAT_COMPLETION_FLAGS request)
{
	DAT_EP_ATTR attr = with_flags(ia, recv, request);

	if (harness_strict())
		harness_skip("strict mode");
	memset(pair, 0, sizeof(*pair));
	pair->a.recv = pair->a.request = evd;
	ct_end_open(&pair->a, ia, &attr);
	ct_end_open(&pair->p, ia, NULL);
	ct_end_connect(&pair->a, &pair->p);
}

static void to_peer(struct pair *pair, uint64_t cookie, DAT_COMPLETION_FLAGS flags)
{
	expect_ok(ct_post_recv(&pair->p, 0, 64, cookie, DEFAULT));
	expect_ok(ct_post_send(&pair->a, 0, 64, cookie, flags));
	ct_completion(pair->p.recv, cookie, DAT_DTO_SUCCESS);
}

static void from_peer(struct pair *pair, uint64_t cookie)
{
	expect_ok(ct_post_recv(&pair->a, 0, 64, cookie, DEFAULT));
	expect_ok(ct_post_send(&pair->p, 0, 64, cookie, DEFAULT));
	ct_completion(pair->p.request, cookie, DAT_DTO_SUCCESS);
}

static void got(struct ct_waiter *waiter, uint64_t cookie)
{
	ct_waiter_join(waiter);
	expect_ok(waiter->rc);
	assert_int_equal(waiter->event.event_data.dto_completion_event_data.user_cookie.as_64,
			 cookie);
}

/* With the last of num completions, whose cookies are 1 to num, in the order they came in. */
static void got_all(struct ct_waiter *waiter, DAT_EVD_HANDLE evd, unsigned int num)
{
	uint64_t seen;
	DAT_EVENT event;

	ct_waiter_join(waiter);
	expect_ok(waiter->rc);
	assert_int_equal(waiter->more, num - 1);
	seen = 1u << waiter->event.event_data.dto_completion_event_data.user_cookie.as_64;
	for (unsigned int i = 1; i < num; i++) {
		ct_next(evd, DAT_DTO_COMPLETION_EVENT, &event);
		seen |= 1u << event.event_data.dto_completion_event_data.user_cookie.as_64;
	}
	assert_int_equal(seen, (1u << (num + 1)) - 2);
	ct_empty(evd);
}

/* As MVAPICH2 has it: receives DEFAULT, requests UNSIGNALLED. */
static void evd_46_any_completion_releases_a_waiter(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 64, NONE, DAT_EVD_DTO_FLAG);
	struct ct_waiter *waiter;
	struct pair pair;

	pair_open(&pair, ia->ia, evd, DEFAULT, UNSIGNALLED);
	waiter = ct_evd_waiter(evd, DAT_TIMEOUT_INFINITE, 1);
	to_peer(&pair, 1, UNSIGNALLED);
	got(waiter, 1);
	waiter = ct_evd_waiter(evd, DAT_TIMEOUT_INFINITE, 1);
	from_peer(&pair, 2);
	got(waiter, 2);
	waiter = ct_evd_waiter(evd, DAT_TIMEOUT_INFINITE, 1);
	to_peer(&pair, 3, DEFAULT);
	got(waiter, 3);
	to_peer(&pair, 4, DAT_COMPLETION_SUPPRESS_FLAG);
	from_peer(&pair, 5);
	ct_completion(evd, 5, DAT_DTO_SUCCESS);
	ct_empty(evd);
}

static void evd_53_and_any_number_of_them(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 64, NONE, DAT_EVD_DTO_FLAG);
	struct ct_waiter *waiter;
	struct pair pair;
	DAT_EVENT event;
	DAT_COUNT more;

	pair_open(&pair, ia->ia, evd, DEFAULT, UNSIGNALLED);
	expect_exact(dat_evd_wait(evd, 0, 2, &event, &more), DAT_TIMEOUT_EXPIRED);
	waiter = ct_evd_waiter(evd, DAT_TIMEOUT_INFINITE, 3);
	from_peer(&pair, 1);
	to_peer(&pair, 2, UNSIGNALLED);
	assert_false(ct_waiter_done(waiter));
	to_peer(&pair, 3, UNSIGNALLED);
	got_all(waiter, evd, 3);
}

static void evd_46_unsolicited_receives_count_beside_others(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 64, NONE, DAT_EVD_DTO_FLAG);
	struct ct_waiter *waiter;
	struct pair pair;

	pair_open(&pair, ia->ia, evd, SOLICITED, DEFAULT);
	waiter = ct_evd_waiter(evd, DAT_TIMEOUT_INFINITE, 1);
	from_peer(&pair, 1);
	got(waiter, 1);
	waiter = ct_evd_waiter(evd, DAT_TIMEOUT_INFINITE, 2);
	to_peer(&pair, 1, DEFAULT);
	from_peer(&pair, 2);
	got_all(waiter, evd, 2);
}

/* The waiter went to sleep when solicited receives were all there was. */
static void evd_46_another_kind_joins_a_waiter(void **state)
{
	DAT_EP_PARAM param = { .ep_attr.recv_completion_flags = SOLICITED };
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 64, NONE, DAT_EVD_DTO_FLAG);
	struct ct_end other = { .recv = evd };
	struct ct_waiter *waiter;
	struct pair pair;

	pair_open(&pair, ia->ia, evd, DEFAULT, DEFAULT);
	expect_ok(dat_ep_disconnect(pair.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_ok(dat_ep_free(pair.a.ep));
	ct_drain(evd);
	ct_end_open(&other, ia->ia, NULL);
	expect_ok(dat_ep_modify(other.ep, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, &param));
	waiter = ct_evd_waiter(evd, DAT_TIMEOUT_INFINITE, 1);
	pair_open(&pair, ia->ia, evd, DEFAULT, DEFAULT);
	to_peer(&pair, 1, DEFAULT);
	got(waiter, 1);
}

static void evd_14_any_completion_triggers(void **state)
{
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE cno = ct_cno(ia->ia);
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 64, cno, DAT_EVD_DTO_FLAG), hint;
	struct pair pair;

	pair_open(&pair, ia->ia, evd, DEFAULT, UNSIGNALLED);
	to_peer(&pair, 1, UNSIGNALLED);
	expect_ok(dat_cno_wait(cno, CT_US, &hint));
	assert_ptr_equal(hint, evd);
	ct_completion(evd, 1, DAT_DTO_SUCCESS);
}

#define T(f) cmocka_unit_test_setup_teardown(f, ct_setup, ct_teardown)

int main(int argc, char **argv)
{
	static const struct harness_child children[] = { { "sharing", sharing }, { NULL, NULL } };
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(evd_30_ep_41_sharing),
		T(evd_46_any_completion_releases_a_waiter),
		T(evd_53_and_any_number_of_them),
		T(evd_46_unsolicited_receives_count_beside_others),
		T(evd_46_another_kind_joins_a_waiter),
		T(evd_14_any_completion_triggers),
	};

	harness_child_main(argc, argv, children);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
