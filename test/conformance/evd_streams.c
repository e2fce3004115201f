/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Dispatchers fed by endpoints: the completion configuration (EVD-17, EVD-53), silent events
 * (EVD-14, EVD-46, EVD-48), merged streams (EVD-12, EVD-59).
 */
#include "harness.h"

#define CONFIG 0x30
#define MERGED (DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG)

struct pair {
	struct ct_end a, p;
};

/* Connects two ends whose dispatchers may be given; the active end has these attributes. */
static void pair_open(struct pair *pair, struct ct_ia *ia, const DAT_EP_ATTR *active,
		      const DAT_EP_ATTR *passive)
{
	ct_end_open(&pair->a, ia->ia, active);
	ct_end_open(&pair->p, ia->ia, passive);
	ct_end_connect(&pair->a, &pair->p);
}

static DAT_EP_ATTR with_flags(struct ct_ia *ia, DAT_COMPLETION_FLAGS recv,
			      DAT_COMPLETION_FLAGS request)
{
	DAT_EP_ATTR attr;

	ct_default_attr(ia->ia, &attr);
	attr.recv_completion_flags = recv;
	attr.request_completion_flags = request;
	return attr;
}

/* ---- Configuration ---- */

/* It is told in strict mode only. */
static void config_is(DAT_EVD_HANDLE evd, DAT_EVD_STATE config)
{
	assert_int_equal(ct_evd_param(evd).evd_state & CONFIG, harness_strict() ? config : 0);
}

static void unsignalled_requests_make_notify(struct ct_ia *ia)
{
	DAT_EP_ATTR attr =
		with_flags(ia, DAT_COMPLETION_EVD_THRESHOLD_FLAG, DAT_COMPLETION_UNSIGNALLED_FLAG);
	DAT_EVD_HANDLE request = ct_evd(ia->ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG);
	struct ct_end end = { .request = request };

	config_is(request, DAT_EVD_STATE_CONFIG_THRESHOLD);
	ct_end_open(&end, ia->ia, &attr);
	config_is(request, DAT_EVD_STATE_CONFIG_NOTIFY);
	config_is(end.recv, DAT_EVD_STATE_CONFIG_THRESHOLD);
	expect_ok(dat_ep_free(end.ep));
	config_is(request, DAT_EVD_STATE_CONFIG_THRESHOLD);
}

static void unsignalled_receives_make_notify(struct ct_ia *ia)
{
	DAT_EP_ATTR attr =
		with_flags(ia, DAT_COMPLETION_UNSIGNALLED_FLAG, DAT_COMPLETION_EVD_THRESHOLD_FLAG);
	struct ct_end end = { 0 };

	ct_end_open(&end, ia->ia, &attr);
	config_is(end.recv, DAT_EVD_STATE_CONFIG_NOTIFY);
	config_is(end.request, DAT_EVD_STATE_CONFIG_THRESHOLD);
	expect_ok(dat_ep_free(end.ep));
	config_is(end.recv, DAT_EVD_STATE_CONFIG_THRESHOLD);
}

static void solicited_receives_make_solicited(struct ct_ia *ia)
{
	DAT_EP_ATTR attr = with_flags(ia, DAT_COMPLETION_SOLICITED_WAIT_FLAG,
				      DAT_COMPLETION_EVD_THRESHOLD_FLAG);
	struct ct_end one = { 0 }, two = { 0 };

	ct_end_open(&one, ia->ia, &attr);
	config_is(one.recv, DAT_EVD_STATE_CONFIG_SOLICITED);
	two.recv = one.recv;
	ct_end_open(&two, ia->ia, &attr);
	/* While at least one endpoint is there. */
	expect_ok(dat_ep_free(one.ep));
	config_is(one.recv, DAT_EVD_STATE_CONFIG_SOLICITED);
	expect_ok(dat_ep_free(two.ep));
	config_is(one.recv, DAT_EVD_STATE_CONFIG_THRESHOLD);
}

static void default_and_threshold_make_threshold(struct ct_ia *ia)
{
	DAT_EP_ATTR attr = with_flags(ia, DAT_COMPLETION_DEFAULT_FLAG, DAT_COMPLETION_DEFAULT_FLAG);
	struct ct_end one = { 0 }, two = { 0 };

	ct_end_open(&one, ia->ia, &attr);
	ct_end_open(&two, ia->ia, NULL);
	config_is(one.recv, DAT_EVD_STATE_CONFIG_THRESHOLD);
	config_is(one.request, DAT_EVD_STATE_CONFIG_THRESHOLD);
	config_is(two.recv, DAT_EVD_STATE_CONFIG_THRESHOLD);
}

static void modifying_the_endpoint_changes_the_configuration(struct ct_ia *ia)
{
	DAT_EP_PARAM param = { .ep_attr.request_completion_flags =
				       DAT_COMPLETION_UNSIGNALLED_FLAG };
	struct ct_end end = { 0 };

	ct_end_open(&end, ia->ia, NULL);
	expect_ok(dat_ep_modify(end.ep, DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS, &param));
	config_is(end.request, DAT_EVD_STATE_CONFIG_NOTIFY);
	param.ep_attr.request_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
	expect_ok(dat_ep_modify(end.ep, DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS, &param));
	config_is(end.request, DAT_EVD_STATE_CONFIG_THRESHOLD);
}

static int configuration(void)
{
	struct ct_ia ia;

	ct_open(&ia);
	unsignalled_requests_make_notify(&ia);
	unsignalled_receives_make_notify(&ia);
	solicited_receives_make_solicited(&ia);
	default_and_threshold_make_threshold(&ia);
	modifying_the_endpoint_changes_the_configuration(&ia);
	ct_close(&ia);
	return 0;
}

/* GEN-31 */
static void evd_17_configuration(void **state)
{
	(void)state;
	harness_both_strict("configuration");
}

static void evd_53_thresholds_need_their_configuration(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EP_ATTR attr =
		with_flags(ia, DAT_COMPLETION_SOLICITED_WAIT_FLAG, DAT_COMPLETION_UNSIGNALLED_FLAG);
	struct ct_end end = { 0 };
	DAT_EVENT event;
	DAT_COUNT more;

	ct_end_open(&end, ia->ia, &attr);
	expect_state(dat_evd_wait(end.request, 0, 2, &event, &more), EVD_CONFIG_NOTIFY);
	expect_state(dat_evd_wait(end.recv, 0, 2, &event, &more), EVD_CONFIG_SOLICITED);
	expect_exact(dat_evd_wait(end.request, 0, 1, &event, &more), DAT_TIMEOUT_EXPIRED);
	expect_exact(dat_evd_wait(end.recv, 0, 1, &event, &more), DAT_TIMEOUT_EXPIRED);
	/* A threshold that is none is an argument error all the same. */
	expect_arg(dat_evd_wait(end.request, 0, 0, &event, &more), 3);
	expect_ok(dat_ep_free(end.ep));
	expect_exact(dat_evd_wait(end.request, 0, 2, &event, &more), DAT_TIMEOUT_EXPIRED);
	expect_exact(dat_evd_wait(end.recv, 0, 2, &event, &more), DAT_TIMEOUT_EXPIRED);
}

/* ---- Silent events ---- */

/* A pair whose active end may make its requests silent. */
static void silent_pair(struct pair *pair, struct ct_ia *ia, DAT_CNO_HANDLE cno)
{
	DAT_EP_ATTR attr =
		with_flags(ia, DAT_COMPLETION_EVD_THRESHOLD_FLAG, DAT_COMPLETION_UNSIGNALLED_FLAG);

	memset(pair, 0, sizeof(*pair));
	pair->a.request = ct_evd(ia->ia, 64, cno, DAT_EVD_DTO_FLAG);
	pair_open(pair, ia, &attr, NULL);
}

/* One message from a to p, whose send completion has the flags. */
static void send_one(struct pair *pair, uint64_t cookie, DAT_COMPLETION_FLAGS flags)
{
	expect_ok(ct_post_recv(&pair->p, 0, 64, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(ct_post_send(&pair->a, 0, 64, cookie, flags));
	ct_completion(pair->p.recv, cookie, DAT_DTO_SUCCESS);
}

/* Waits until n events are queued, taking none: n + 1 are never reached. */
static void await_queued(DAT_EVD_HANDLE evd, DAT_COUNT n)
{
	DAT_COUNT more = -1, qlen = ct_evd_param(evd).evd_qlen;
	DAT_EVENT event;

	assert_true(n < qlen);
	ct_await(dat_evd_wait(evd, 0, qlen, &event, &more) == DAT_TIMEOUT_EXPIRED && more == n);
}

static void evd_46_a_silent_event_releases_nobody(void **state)
{
	struct ct_ia *ia = *state;
	struct ct_waiter *waiter;
	struct pair pair;

	silent_pair(&pair, ia, DAT_HANDLE_NULL);
	waiter = ct_evd_waiter(pair.a.request, DAT_TIMEOUT_INFINITE, 1);
	send_one(&pair, 1, DAT_COMPLETION_UNSIGNALLED_FLAG);
	send_one(&pair, 2, DAT_COMPLETION_UNSIGNALLED_FLAG);
	for (int i = 0; i < 200 && !ct_waiter_done(waiter); i++)
		ct_pause();
	assert_false(ct_waiter_done(waiter));
	/* A notification releases it, and it gets the oldest, silent one. */
	send_one(&pair, 3, DAT_COMPLETION_DEFAULT_FLAG);
	ct_waiter_join(waiter);
	expect_ok(waiter->rc);
	assert_int_equal(waiter->event.event_data.dto_completion_event_data.user_cookie.as_64, 1);
	assert_int_equal(waiter->more, 2);
	ct_completion(pair.a.request, 2, DAT_DTO_SUCCESS);
	ct_completion(pair.a.request, 3, DAT_DTO_SUCCESS);
}

static void evd_45_silent_events_count_when_the_wait_begins(void **state)
{
	struct ct_ia *ia = *state;
	struct pair pair;
	DAT_EVENT event;
	DAT_COUNT more;

	silent_pair(&pair, ia, DAT_HANDLE_NULL);
	send_one(&pair, 1, DAT_COMPLETION_UNSIGNALLED_FLAG);
	ct_await(dat_evd_wait(pair.a.request, 0, 1, &event, &more) == DAT_SUCCESS);
	assert_int_equal(event.event_data.dto_completion_event_data.user_cookie.as_64, 1);
	assert_int_equal(more, 0);
	/* And by dequeueing. */
	send_one(&pair, 2, DAT_COMPLETION_UNSIGNALLED_FLAG);
	ct_await(dat_evd_dequeue(pair.a.request, &event) == DAT_SUCCESS);
	assert_int_equal(event.event_data.dto_completion_event_data.user_cookie.as_64, 2);
}

static void evd_48_silent_events_are_found_when_the_time_is_up(void **state)
{
	struct ct_ia *ia = *state;
	struct ct_waiter *waiter;
	struct pair pair;

	silent_pair(&pair, ia, DAT_HANDLE_NULL);
	waiter = ct_evd_waiter(pair.a.request, 1500000, 1);
	send_one(&pair, 1, DAT_COMPLETION_UNSIGNALLED_FLAG);
	ct_waiter_join(waiter);
	expect_ok(waiter->rc);
	assert_int_equal(waiter->event.event_data.dto_completion_event_data.user_cookie.as_64, 1);
	ct_took(waiter->elapsed_us, 1500000);
}

static void evd_14_a_silent_event_triggers_no_cno(void **state)
{
	struct ct_ia *ia = *state;
	DAT_CNO_HANDLE cno = ct_cno(ia->ia);
	struct pair pair;
	DAT_EVD_HANDLE hint;
	DAT_EVENT event;

	silent_pair(&pair, ia, cno);
	send_one(&pair, 1, DAT_COMPLETION_UNSIGNALLED_FLAG);
	expect_exact(dat_cno_wait(cno, 200000, &hint), DAT_QUEUE_EMPTY);
	ct_await(dat_evd_dequeue(pair.a.request, &event) == DAT_SUCCESS);
	send_one(&pair, 2, DAT_COMPLETION_DEFAULT_FLAG);
	expect_ok(dat_cno_wait(cno, CT_US, &hint));
	assert_ptr_equal(hint, pair.a.request);
}

static void evd_14_an_unsuccessful_completion_always_notifies(void **state)
{
	struct ct_ia *ia = *state;
	struct ct_waiter *waiter;
	struct pair pair;

	silent_pair(&pair, ia, DAT_HANDLE_NULL);
	expect_ok(dat_ep_disconnect(pair.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	ct_await(ct_ep_state(pair.a.ep) == DAT_EP_STATE_DISCONNECTED);
	waiter = ct_evd_waiter(pair.a.request, DAT_TIMEOUT_INFINITE, 1);
	/* FL-8: flushed at once. */
	expect_ok(ct_post_send(&pair.a, 0, 64, 9, DAT_COMPLETION_UNSIGNALLED_FLAG));
	ct_waiter_join(waiter);
	expect_ok(waiter->rc);
	assert_int_equal(waiter->event.event_data.dto_completion_event_data.status,
			 DAT_DTO_ERR_FLUSHED);
}

static void evd_14_silent_receives(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EP_ATTR attr =
		with_flags(ia, DAT_COMPLETION_UNSIGNALLED_FLAG, DAT_COMPLETION_EVD_THRESHOLD_FLAG);
	struct pair pair = { 0 };
	struct ct_waiter *waiter;

	pair_open(&pair, ia, NULL, &attr);
	expect_ok(ct_post_recv(&pair.p, 0, 64, 1, DAT_COMPLETION_UNSIGNALLED_FLAG));
	expect_ok(ct_post_recv(&pair.p, 64, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	waiter = ct_evd_waiter(pair.p.recv, DAT_TIMEOUT_INFINITE, 1);
	expect_ok(ct_post_send(&pair.a, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
	ct_completion(pair.a.request, 1, DAT_DTO_SUCCESS);
	for (int i = 0; i < 200 && !ct_waiter_done(waiter); i++)
		ct_pause();
	assert_false(ct_waiter_done(waiter));
	expect_ok(ct_post_send(&pair.a, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	ct_waiter_join(waiter);
	expect_ok(waiter->rc);
	assert_int_equal(waiter->event.event_data.dto_completion_event_data.user_cookie.as_64, 1);
	assert_int_equal(waiter->more, 1);
}

static void dto_25_only_solicited_receives_notify(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EP_ATTR attr = with_flags(ia, DAT_COMPLETION_SOLICITED_WAIT_FLAG,
				      DAT_COMPLETION_EVD_THRESHOLD_FLAG);
	struct pair pair = { 0 };
	struct ct_waiter *waiter;

	pair_open(&pair, ia, NULL, &attr);
	for (uint64_t i = 1; i <= 3; i++)
		expect_ok(ct_post_recv(&pair.p, i * 64, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
	waiter = ct_evd_waiter(pair.p.recv, DAT_TIMEOUT_INFINITE, 1);
	for (uint64_t i = 1; i <= 2; i++) {
		expect_ok(ct_post_send(&pair.a, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
		ct_completion(pair.a.request, i, DAT_DTO_SUCCESS);
	}
	for (int i = 0; i < 200 && !ct_waiter_done(waiter); i++)
		ct_pause();
	assert_false(ct_waiter_done(waiter));
	expect_ok(ct_post_send(&pair.a, 0, 64, 3, DAT_COMPLETION_SOLICITED_WAIT_FLAG));
	ct_waiter_join(waiter);
	expect_ok(waiter->rc);
	assert_int_equal(waiter->event.event_data.dto_completion_event_data.user_cookie.as_64, 1);
	assert_int_equal(waiter->more, 2);
}

/* ---- Thresholds on completions ---- */

static void evd_46_a_threshold_of_completions(void **state)
{
	struct ct_ia *ia = *state;
	struct pair pair = { 0 };
	struct ct_waiter *waiter;

	pair_open(&pair, ia, NULL, NULL);
	for (uint64_t i = 1; i <= 4; i++)
		expect_ok(ct_post_recv(&pair.p, i * 64, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
	waiter = ct_evd_waiter(pair.p.recv, DAT_TIMEOUT_INFINITE, 4);
	for (uint64_t i = 1; i <= 4; i++) {
		assert_false(ct_waiter_done(waiter));
		expect_ok(ct_post_send(&pair.a, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
		ct_completion(pair.a.request, i, DAT_DTO_SUCCESS);
	}
	ct_waiter_join(waiter);
	expect_ok(waiter->rc);
	assert_int_equal(waiter->event.event_data.dto_completion_event_data.user_cookie.as_64, 1);
	assert_int_equal(waiter->more, 3);
	for (uint64_t i = 2; i <= 4; i++)
		ct_completion(pair.p.recv, i, DAT_DTO_SUCCESS);
}

static void evd_48_a_timed_out_threshold_counts_completions(void **state)
{
	struct ct_ia *ia = *state;
	struct pair pair = { 0 };
	DAT_EVENT event;
	DAT_COUNT more;

	pair_open(&pair, ia, NULL, NULL);
	send_one(&pair, 1, DAT_COMPLETION_DEFAULT_FLAG);
	send_one(&pair, 2, DAT_COMPLETION_DEFAULT_FLAG);
	await_queued(pair.a.request, 2);
	expect_exact(dat_evd_wait(pair.a.request, 50000, 3, &event, &more), DAT_TIMEOUT_EXPIRED);
	assert_int_equal(more, 2);
	ct_completion(pair.a.request, 1, DAT_DTO_SUCCESS);
	ct_completion(pair.a.request, 2, DAT_DTO_SUCCESS);
}

/* ---- Merged streams ---- */

static void evd_12_established_precedes_completions_on_one_dispatcher(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE cr = ct_evd(ia->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG);
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 64, DAT_HANDLE_NULL, MERGED);
	struct ct_end a = { .recv = evd, .request = evd, .connect = evd }, p = { 0 };
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;

	ct_end_open(&a, ia->ia, NULL);
	ct_end_open(&p, ia->ia, NULL);
	expect_ok(dat_psp_create_any(ia->ia, &qual, cr, DAT_PSP_CONSUMER_FLAG, &psp));
	expect_ok(ct_post_recv(&a, 0, 64, 7, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(dat_ep_connect(a.ep, ia->attr.ia_address_ptr, qual, CT_US, 0, NULL,
				 DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	ct_next(cr, DAT_CONNECTION_REQUEST_EVENT, &event);
	expect_ok(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, p.ep, 0, NULL));
	ct_next(p.connect, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	expect_ok(ct_post_send(&p, 0, 64, 8, DAT_COMPLETION_DEFAULT_FLAG));
	ct_next(evd, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	ct_completion(evd, 7, DAT_DTO_SUCCESS);
}

static void evd_12_the_end_follows_successful_completions(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 64, DAT_HANDLE_NULL, MERGED);
	struct pair pair = { .p = { .recv = evd, .request = evd, .connect = evd } };
	bool ended = false;
	int received = 0;
	DAT_EVENT event;
	DAT_COUNT more;

	pair_open(&pair, ia, NULL, NULL);
	for (uint64_t i = 0; i < 8; i++)
		expect_ok(ct_post_recv(&pair.p, i * 64, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
	for (uint64_t i = 0; i < 4; i++)
		expect_ok(ct_post_send(&pair.a, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(dat_ep_disconnect(pair.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	/* Four messages, four flushed receives and the end, which may come before flushed ones
	 * only. */
	for (int i = 0; i < 9; i++) {
		expect_ok(dat_evd_wait(evd, CT_US, 1, &event, &more));
		if (event.event_number != DAT_DTO_COMPLETION_EVENT) {
			assert_int_equal(event.event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
			ended = true;
		} else if (event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS) {
			assert_false(ended);
			received++;
		}
	}
	assert_true(ended);
	assert_int_equal(received, 4);
	ct_empty(evd);
}

static void evd_59_any_stream_releases_a_waiter_at_once(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 64, DAT_HANDLE_NULL, MERGED);
	struct pair pair = { .p = { .recv = evd, .request = evd, .connect = evd } };
	struct ct_waiter *waiter;

	pair_open(&pair, ia, NULL, NULL);
	waiter = ct_evd_waiter(evd, CT_US * 2, 1);
	expect_ok(ct_post_se(evd, 1));
	ct_waiter_join(waiter);
	expect_ok(waiter->rc);
	assert_int_equal(waiter->event.event_number, DAT_SOFTWARE_EVENT);

	expect_ok(ct_post_recv(&pair.p, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	waiter = ct_evd_waiter(evd, CT_US * 2, 1);
	expect_ok(ct_post_send(&pair.a, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	ct_waiter_join(waiter);
	expect_ok(waiter->rc);
	assert_int_equal(waiter->event.event_number, DAT_DTO_COMPLETION_EVENT);

	waiter = ct_evd_waiter(evd, CT_US * 2, 1);
	expect_ok(dat_ep_disconnect(pair.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	ct_waiter_join(waiter);
	expect_ok(waiter->rc);
	assert_int_equal(waiter->event.event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static void evd_46_streams_count_together(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 64, DAT_HANDLE_NULL, MERGED);
	struct pair pair = { .p = { .recv = evd, .request = evd, .connect = evd } };
	struct ct_waiter *waiter;

	pair_open(&pair, ia, NULL, NULL);
	expect_ok(ct_post_recv(&pair.p, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	waiter = ct_evd_waiter(evd, DAT_TIMEOUT_INFINITE, 2);
	expect_ok(ct_post_se(evd, 1));
	expect_ok(ct_post_send(&pair.a, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	ct_waiter_join(waiter);
	expect_ok(waiter->rc);
	assert_int_equal(waiter->more, 1);
	assert_int_equal(ct_drain(evd), 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, ct_setup, ct_teardown)

int main(int argc, char **argv)
{
	static const struct harness_child children[] = {
		{ "configuration", configuration },
		{ NULL, NULL },
	};
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(evd_17_configuration),
		T(evd_53_thresholds_need_their_configuration),
		T(evd_46_a_silent_event_releases_nobody),
		T(evd_45_silent_events_count_when_the_wait_begins),
		T(evd_48_silent_events_are_found_when_the_time_is_up),
		T(evd_14_a_silent_event_triggers_no_cno),
		T(evd_14_an_unsuccessful_completion_always_notifies),
		T(evd_14_silent_receives),
		T(dto_25_only_solicited_receives_notify),
		T(evd_46_a_threshold_of_completions),
		T(evd_48_a_timed_out_threshold_counts_completions),
		T(evd_12_established_precedes_completions_on_one_dispatcher),
		T(evd_12_the_end_follows_successful_completions),
		T(evd_59_any_stream_releases_a_waiter_at_once),
		T(evd_46_streams_count_together),
	};

	harness_child_main(argc, argv, children);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
