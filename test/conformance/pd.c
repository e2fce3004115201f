/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Private data (PD-1 to PD-9, PD-T1). */
#include "conn_util.h"
#include "peer.h"

#define GUARD 16

static uint8_t *buf; /* of the largest size, and a little more */

static int setup(void **state)
{
	struct cu_rig *rig;

	cu_setup_ends(state);
	rig = *state;
	buf = test_malloc((size_t)rig->prov.max_private_data_size + GUARD);
	return 0;
}

static int teardown(void **state)
{
	test_free(buf);
	return cu_teardown(state);
}

static DAT_RETURN connect_with(struct cu_rig *rig, DAT_COUNT size, void *data)
{
	return dat_ep_connect(rig->a.ep, rig->attr.ia_address_ptr, rig->qual, DAT_TIMEOUT_INFINITE,
			      size, data, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

static void check_event_data(const DAT_EVENT *event, DAT_COUNT size, unsigned int seed)
{
	const DAT_CONNECTION_EVENT_DATA *data = &event->event_data.connect_event_data;

	assert_int_equal(data->private_data_size, size);
	if (size == 0) {
		assert_null(data->private_data);
		return;
	}
	FILLED(data->private_data, (size_t)size, seed);
	/* PD-8 */
	assert_int_equal((uintptr_t)data->private_data % 8, 0);
}

static void check_cr_data(DAT_CR_HANDLE cr, DAT_COUNT size, unsigned int seed)
{
	DAT_CR_PARAM param;

	expect_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	assert_int_equal(param.private_data_size, size);
	if (size == 0)
		assert_null(param.private_data);
	else
		FILLED(param.private_data, (size_t)size, seed);
}

/* Connect with in bytes, accept with out bytes; buffers are overwritten as soon as the calls return
 * (PD-4). */
static void accepted(struct cu_rig *rig, DAT_COUNT in, DAT_COUNT out)
{
	DAT_EVENT event;
	DAT_CR_HANDLE cr;

	print_message("# connect with %d, accept with %d\n", in, out);
	cu_fill(buf, (size_t)in, 1);
	expect_ok(connect_with(rig, in, buf));
	memset(buf, 0, (size_t)in);
	cr = cu_take_cr(rig->cr);
	check_cr_data(cr, in, 1);
	cu_fill(buf, (size_t)out, 2);
	expect_ok(dat_cr_accept(cr, rig->p.ep, out, buf));
	memset(buf, 0, (size_t)out);
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	check_event_data(&event, out, 2);
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	check_event_data(&event, 0, 0);
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
	check_event_data(&event, 0, 0);
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
	check_event_data(&event, 0, 0);
	expect_ok(dat_ep_reset(rig->a.ep));
	expect_ok(dat_ep_reset(rig->p.ep));
}

/*
 * Whether the refusal was lost: where a reply comes together with the end of its connection,
 * soft-iWARP's kernel (siw_cm) may look at the end first, and tells of a reset.
 */
static bool is_lost(const DAT_EVENT *event)
{
	return event->event_number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED &&
	       strcmp(harness_ia_name(), "ofa-siw") == 0;
}

/* False: the refusal was lost. */
static bool reject_once(struct cu_rig *rig, DAT_COUNT in, DAT_COUNT out)
{
	DAT_EVENT event;
	DAT_CR_HANDLE cr;
	bool lost;

	cu_fill(buf, (size_t)in, 3);
	expect_ok(connect_with(rig, in, buf));
	cr = cu_take_cr(rig->cr);
	check_cr_data(cr, in, 3);
	cu_fill(buf, (size_t)out, 4);
	expect_ok(dat_cr_reject(cr, out, buf));
	memset(buf, 0, (size_t)out);
	assert_true(cu_next(rig->a.connect, CT_MS, &event));
	assert_ptr_equal(event.event_data.connect_event_data.ep_handle, rig->a.ep);
	lost = is_lost(&event);
	if (!lost) {
		assert_int_equal(event.event_number, DAT_CONNECTION_EVENT_PEER_REJECTED);
		check_event_data(&event, out, 4);
	}
	expect_ok(dat_ep_reset(rig->a.ep));
	return !lost;
}

static void rejected(struct cu_rig *rig, DAT_COUNT in, DAT_COUNT out)
{
	print_message("# connect with %d, reject with %d\n", in, out);
	for (int tries = 1; !reject_once(rig, in, out); tries++)
		assert_true(tries < 3);
}

/* PD-1, PD-6 */
static void pd_t1_sizes_arrive_exactly(void **state)
{
	struct cu_rig *rig = *state;
	DAT_COUNT max = rig->prov.max_private_data_size;
	const DAT_COUNT sizes[] = { 0, 1, 7, 8, 63, max - 1, max };

	print_message("# max_private_data_size is %d\n", max);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
			if (sizes[i] > max || sizes[k] > max)
				continue;
			accepted(rig, sizes[i], sizes[k]);
			rejected(rig, sizes[i], sizes[k]);
		}
	}
}

/* PD-2, PD-3 */
static void pd_t1_bad_sizes_of_connect(void **state)
{
	struct cu_rig *rig = *state;
	DAT_COUNT max = rig->prov.max_private_data_size;

	expect_arg(connect_with(rig, -1, buf), 5);
	expect_arg(connect_with(rig, max + 1, buf), 5);
	expect_arg(connect_with(rig, INT32_MAX, buf), 5);
	expect_arg(connect_with(rig, INT32_MIN, buf), 5);
	expect_arg(connect_with(rig, 1, NULL), 6);
	STATE(rig->a.ep, UNCONNECTED);
	cu_quiet(rig->a.connect, 0);
	cu_quiet(rig->cr, 50);
}

/* PD-2, PD-3 */
static void pd_t1_bad_sizes_of_accept_and_reject(void **state)
{
	struct cu_rig *rig = *state;
	DAT_COUNT max = rig->prov.max_private_data_size;
	DAT_CR_HANDLE cr = cu_request(rig, &rig->a);

	expect_arg(dat_cr_accept(cr, rig->p.ep, -1, buf), 3);
	expect_arg(dat_cr_accept(cr, rig->p.ep, max + 1, buf), 3);
	expect_arg(dat_cr_accept(cr, rig->p.ep, 1, NULL), 4);
	expect_arg(dat_cr_reject(cr, -1, buf), 2);
	expect_arg(dat_cr_reject(cr, max + 1, buf), 2);
	expect_arg(dat_cr_reject(cr, 1, NULL), 3);
	STATE(rig->p.ep, UNCONNECTED);
	STATE(rig->a.ep, ACTIVE_CONNECTION_PENDING);
	cu_quiet(rig->a.connect, 50);
	expect_ok(dat_cr_reject(cr, 0, NULL));
}

static void pd_8_event_data_lives_and_is_writable(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end third = { 0 }, fourth = { 0 };
	DAT_CONNECTION_EVENT_DATA *data;
	DAT_EVENT event;
	DAT_CR_HANDLE cr;

	ct_end_open(&third, rig->ia, NULL);
	ct_end_open(&fourth, rig->ia, NULL);
	cr = cu_request(rig, &rig->a);
	cu_fill(buf, 56, 5);
	expect_ok(dat_cr_accept(cr, rig->p.ep, 56, buf));
	cu_conn_event(rig->a.connect, rig->a.ep, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
	data = &event.event_data.connect_event_data;
	/* Other events and the end of the connection do not end the data's life. */
	cu_conn_event(rig->p.connect, rig->p.ep, DAT_CONNECTION_EVENT_ESTABLISHED, NULL);
	cu_establish(rig, &third, &fourth);
	cu_end_connection(&rig->a, &rig->p);
	FILLED(data->private_data, 56, 5);
	cu_fill(data->private_data, 56, 6);
	FILLED(data->private_data, 56, 6);
}

static void pd_8_request_data_lives_with_the_request(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;

	cu_fill(buf, 56, 7);
	expect_ok(connect_with(rig, 56, buf));
	cr = cu_take_cr(rig->cr);
	expect_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	expect_ok(dat_ep_disconnect(rig->a.ep, DAT_CLOSE_ABRUPT_FLAG));
	expect_ok(dat_psp_free(rig->psp));
	FILLED(param.private_data, 56, 7);
	memset(param.private_data, 1, 56);
	expect_ok(dat_cr_reject(cr, 0, NULL));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(pd_t1_sizes_arrive_exactly),
		T(pd_t1_bad_sizes_of_connect),
		T(pd_t1_bad_sizes_of_accept_and_reject),
		T(pd_8_event_data_lives_and_is_writable),
		T(pd_8_request_data_lives_with_the_request),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
