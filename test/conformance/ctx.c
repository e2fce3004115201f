/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Consumer contexts and handle types: CTX-1 to CTX-9. */
#include "objects.h"

#define ALL_ONES UINT64_C(0xffffffffffffffff)

static void set_then_get(DAT_HANDLE handle, uint64_t value)
{
	DAT_CONTEXT context = { .as_64 = value };

	expect_ok(dat_set_consumer_context(handle, context));
	memset(&context, 0x5a, sizeof(context));
	expect_ok(dat_get_consumer_context(handle, &context));
	assert_int_equal(context.as_64, value);
}

static void has_context(DAT_HANDLE handle, uint64_t value)
{
	DAT_CONTEXT context = { .as_64 = 0x5a };

	expect_ok(dat_get_consumer_context(handle, &context));
	assert_int_equal(context.as_64, value);
}

static void is_no_handle(DAT_HANDLE handle)
{
	DAT_CONTEXT context = { .as_64 = 0 };
	DAT_HANDLE_TYPE type;

	expect(dat_set_consumer_context(handle, context), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	expect(dat_get_consumer_context(handle, &context), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	expect(dat_get_handle_type(handle, &type), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
}

/* CTX-1, CTX-2, CTX-3, CTX-4 and CTX-7 of a live object. */
static void has_a_context_and_a_type(DAT_HANDLE handle, DAT_HANDLE_TYPE kind)
{
	DAT_HANDLE_TYPE type = DAT_HANDLE_TYPE_EXTENSION_BASE;

	has_context(handle, 0);
	set_then_get(handle, ALL_ONES);
	set_then_get(handle, UINT64_C(0x8000000000000000));
	set_then_get(handle, 1);
	set_then_get(handle, 0);
	expect_ok(dat_get_handle_type(handle, &type));
	assert_int_equal(type, kind);
	expect_arg(dat_get_consumer_context(handle, NULL), 2);
	expect_arg(dat_get_handle_type(handle, NULL), 2);
}

static void ctx_t1_each_kind_has_a_context_until_it_is_destroyed(void **state)
{
	struct ct_ia *ia = *state;
	struct ct_object object;

	for (const struct ct_kind *kind = ct_kinds; kind->name != NULL; kind++) {
		DAT_HANDLE handle;

		if (!ct_object_make(&object, kind, ia)) {
			print_message("the adapter has no %s\n", kind->name);
			continue;
		}
		handle = object.handle;
		has_a_context_and_a_type(handle, kind->type);
		ct_object_destroy(&object);
		is_no_handle(handle);
		ct_object_cleanup(&object);
	}
}

static void ctx_t1_the_adapter_has_a_context_until_it_is_closed(void **state)
{
	struct ct_ia ia;
	DAT_HANDLE handle;

	(void)state;
	ct_open(&ia);
	handle = ia.ia;
	has_a_context_and_a_type(handle, DAT_HANDLE_TYPE_IA);
	ct_close(&ia);
	is_no_handle(handle);
}

static void ctx_5_contexts_are_not_inherited(void **state)
{
	struct ct_ia *ia = *state;
	struct ct_object object;
	struct ct_ia other;

	set_then_get(ia->ia, 0x1234);
	for (const struct ct_kind *kind = ct_kinds; kind->name != NULL; kind++) {
		if (!ct_object_make(&object, kind, ia))
			continue;
		has_context(object.handle, 0);
		ct_object_cleanup(&object);
	}
	ct_open(&other);
	has_context(other.ia, 0);
	set_then_get(other.ia, 0x5678);
	has_context(ia->ia, 0x1234);
	ct_close(&other);
}

static void ctx_5_a_request_has_no_context_of_its_service_point(void **state)
{
	struct ct_ia *ia = *state;
	DAT_EVD_HANDLE evd = ct_evd(ia->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG);
	struct ct_end end = { 0 };
	DAT_CR_HANDLE cr;
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;

	ct_end_open(&end, ia->ia, NULL);
	expect_ok(dat_psp_create_any(ia->ia, &qual, evd, DAT_PSP_CONSUMER_FLAG, &psp));
	set_then_get(psp, 77);
	expect_ok(dat_ep_connect(end.ep, ia->attr.ia_address_ptr, qual, CT_US, 0, NULL,
				 DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	ct_next(evd, DAT_CONNECTION_REQUEST_EVENT, &event);
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	has_context(cr, 0);
	expect_ok(dat_cr_reject(cr, 0, NULL));
	is_no_handle(cr);
}

static void ctx_6_a_context_survives_what_the_object_does(void **state)
{
	struct ct_ia *ia = *state;
	struct ct_end a = { 0 }, p = { 0 };

	ct_end_open(&a, ia->ia, NULL);
	ct_end_open(&p, ia->ia, NULL);
	set_then_get(a.ep, 0xaaaa);
	ct_end_connect(&a, &p);
	has_context(a.ep, 0xaaaa);
	set_then_get(a.ep, 0xbbbb);
	expect_ok(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG));
	ct_await(ct_ep_state(a.ep) == DAT_EP_STATE_DISCONNECTED);
	has_context(a.ep, 0xbbbb);
	expect_ok(dat_ep_reset(a.ep));
	has_context(a.ep, 0xbbbb);
}

static void ctx_8_an_async_dispatcher_is_a_dispatcher(void **state)
{
	struct ct_ia *ia = *state;

	has_a_context_and_a_type(ia->async, DAT_HANDLE_TYPE_EVD);
}

static void ctx_8_an_accepted_request_is_destroyed(void **state)
{
	struct ct_ia *ia = *state;
	struct ct_object object;
	struct ct_end end = { 0 };

	for (const struct ct_kind *kind = ct_kinds; kind->name != NULL; kind++) {
		DAT_HANDLE handle;

		if (kind->type != DAT_HANDLE_TYPE_CR)
			continue;
		assert_true(ct_object_make(&object, kind, ia));
		handle = object.handle;
		ct_end_open(&end, ia->ia, NULL);
		expect_ok(dat_cr_accept(handle, end.ep, 0, NULL));
		is_no_handle(handle);
		object.handle = DAT_HANDLE_NULL;
		ct_end_close(&end);
		ct_object_cleanup(&object);
	}
}

static void ctx_9_special_values_act_for_the_adapter_of_that_number(void **state)
{
	static DAT_EVD_HANDLE const special[] = { DAT_EVD_ASYNC_EXISTS, DAT_EVD_OUT_OF_SCOPE };
	struct ct_ia *ia = *state;

	for (int i = 0; i < 2; i++) {
		if (special[i] == ia->ia) {
			set_then_get(special[i], 99);
			has_context(ia->ia, 99);
		} else {
			is_no_handle(special[i]);
		}
	}
}

static void ctx_null_is_no_handle(void **state)
{
	(void)state;
	is_no_handle(DAT_HANDLE_NULL);
}

#define T(f) cmocka_unit_test_setup_teardown(f, ct_setup, ct_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(ctx_t1_each_kind_has_a_context_until_it_is_destroyed),
		T(ctx_t1_the_adapter_has_a_context_until_it_is_closed),
		T(ctx_5_contexts_are_not_inherited),
		T(ctx_5_a_request_has_no_context_of_its_service_point),
		T(ctx_6_a_context_survives_what_the_object_does),
		T(ctx_8_an_async_dispatcher_is_a_dispatcher),
		T(ctx_8_an_accepted_request_is_destroyed),
		T(ctx_9_special_values_act_for_the_adapter_of_that_number),
		T(ctx_null_is_no_handle),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
