/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The extension's header, what an adapter without datagrams says, and zero-based addresses. */
#include "ext_util.h"

/* ---- The header ---- */

static void ibx_17_other_names(void **state)
{
	(void)state;
	assert_int_equal(DAT_QUERY_COUNTERS_OP, DAT_IB_QUERY_COUNTERS_OP);
	assert_int_equal(DAT_PRINT_COUNTERS_OP, DAT_IB_PRINT_COUNTERS_OP);
	assert_string_equal(DAT_ATTR_COUNTERS, DAT_IB_ATTR_COUNTERS);
	assert_true(dat_ib_post_recv_ud == dat_ep_post_recv);
#if !defined(dat_query_counters) || !defined(dat_print_counters)
	fail_msg("a name is missing");
#endif
}

static void ibx_20_layout_of_an_extension_event(void **state)
{
	typedef DAT_IB_EXTENSION_EVENT_DATA data;
	const size_t base = offsetof(DAT_EVENT, event_extension_data);

	(void)state;
	assert_int_equal(base, 56);
	assert_int_equal(sizeof(data), 64);
	assert_int_equal(base + offsetof(data, type), 56);
	assert_int_equal(base + offsetof(data, status), 60);
	assert_int_equal(base + offsetof(data, val.immed.data), 64);
	assert_int_equal(base + offsetof(data, remote_ah.ah), 72);
	assert_int_equal(base + offsetof(data, remote_ah.qpn), 80);
	assert_int_equal(base + offsetof(data, remote_ah.ia_addr), 84);
	assert_int_equal(offsetof(data, coll), offsetof(data, remote_ah));
	assert_int_equal(base + offsetof(data, context), 112);
}

static void ibx_120_121_texts(void **state)
{
	const char *text = NULL;

	(void)state;
	expect_ok(dat_strerror_extension((DAT_IB_RETURN)DAT_IB_ERR, &text));
	assert_string_equal(text, "DAT_IB_ERR");
	expect_ok(
		dat_strerror_extension((DAT_IB_RETURN)(DAT_CLASS_ERROR | DAT_LENGTH_ERROR), &text));
	assert_string_equal(text, "DAT_LENGTH_ERROR");
	expect_ok(dat_strerror_ext_status(DAT_OP_SUCCESS, &text));
	assert_string_equal(text, " ");
	expect_ok(dat_strerror_ext_status(DAT_IB_OP_ERR, &text));
	assert_string_equal(text, "DAT_IB_OP_ERR");
	expect_type(dat_strerror_ext_status((DAT_IB_STATUS)77, &text), DAT_INVALID_PARAMETER);
	assert_string_equal(text, "unknown extension status");
}

/* ---- Operations ---- */

static DAT_RETURN add_one(struct ct_end *a, const struct ct_mem *to, uint64_t cookie)
{
	DAT_LMR_TRIPLET sink = ct_segment(&a->mem, 0, 8);
	DAT_RMR_TRIPLET target = ct_target(to, 0, 8);

	return dat_ib_post_fetch_and_add(a->ep, 1, &sink, cu_cookie(cookie), &target,
					 DAT_COMPLETION_DEFAULT_FLAG);
}

/* Programs read cookie, status and length where ordinary completions have them. */
static void ibx_21_the_standard_part_is_filled(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_mem *target;
	DAT_EVENT event;

	xu_need(rig, DAT_IB_ATTR_FETCH_AND_ADD);
	target = cu_extra_mem(rig, rig->p.pz, 4096, XU_ALL);
	expect_ok(add_one(&rig->a, target, 7));
	assert_true(cu_next(rig->a.request, CT_MS, &event));
	assert_int_equal(event.event_number, DAT_IB_DTO_EVENT);
	assert_ptr_equal(event.event_data.dto_completion_event_data.ep_handle, rig->a.ep);
	assert_int_equal(event.event_data.dto_completion_event_data.user_cookie.as_64, 7);
	assert_int_equal(event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
	assert_int_equal(event.event_data.dto_completion_event_data.transfered_length, 8);
}

/* Behind a message that nobody takes the operation cannot be done; the call returns all the same.
 */
static void ibx_15_operations_do_not_wait(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_mem *target, *big;
	DAT_UINT64 counters[DCNT_EP_ALL_COUNTERS];
	DAT_LMR_TRIPLET seg;

	xu_need(rig, DAT_IB_ATTR_FETCH_AND_ADD);
	target = cu_extra_mem(rig, rig->p.pz, 4096, XU_ALL);
	big = cu_extra_mem(rig, rig->a.pz, CU_BIG, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	seg = ct_segment(big, 0, CU_BIG);
	expect_ok(dat_ep_post_send(rig->a.ep, 1, &seg, cu_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(add_one(&rig->a, target, 2));
	expect_ok(dat_ib_query_counters(rig->a.ep, DCNT_EP_ALL_COUNTERS, counters, 0));
	cu_quiet(rig->a.request, 20);
	STATE(rig->a.ep, CONNECTED);
}

/* ---- Datagrams ---- */

static void without_datagrams(const struct cu_rig *rig)
{
	const char *value = xu_named(rig, DAT_IB_ATTR_UD);

	if (value != NULL && strcmp(value, "TRUE") == 0)
		harness_skip("the adapter has datagrams");
}

static void ibx_57_60_ep_8_no_datagram_endpoint(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EP_ATTR attr;
	DAT_EP_HANDLE ep;

	without_datagrams(rig);
	ct_default_attr(rig->ia, &attr);
	attr.service_type = (DAT_SERVICE_TYPE)DAT_IB_SERVICE_TYPE_UD;
	expect_type(dat_ep_create(rig->ia, rig->a.pz, rig->a.recv, rig->a.request, rig->a.connect,
				  &attr, &ep),
		    DAT_MODEL_NOT_SUPPORTED);
	/* Whatever its size of messages would be. */
	attr.max_message_size = 0;
	expect_type(dat_ep_create(rig->ia, rig->a.pz, rig->a.recv, rig->a.request, rig->a.connect,
				  &attr, &ep),
		    DAT_MODEL_NOT_SUPPORTED);
}

static void ibx_60_no_datagram_endpoint_with_a_shared_queue(void **state)
{
	struct cu_rig *rig = *state;
	DAT_SRQ_ATTR queue = { .max_recv_dtos = 4, .max_recv_iov = 1 };
	DAT_EP_ATTR attr;
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep;

	if (!rig->prov.srq_supported)
		harness_skip("the adapter has no shared receive queues");
	ct_default_attr(rig->ia, &attr);
	attr.service_type = (DAT_SERVICE_TYPE)DAT_IB_SERVICE_TYPE_UD;
	expect_ok(dat_srq_create(rig->ia, rig->a.pz, &queue, &srq));
	expect_type(dat_ep_create_with_srq(rig->ia, rig->a.pz, rig->a.recv, rig->a.request,
					   rig->a.connect, srq, &attr, &ep),
		    DAT_MODEL_NOT_SUPPORTED);
	/* Nothing holds the queue. */
	expect_ok(dat_srq_free(srq));
}

static void ibx_93_nothing_of_datagrams_to_free(void **state)
{
	struct cu_rig *rig = *state;
	DAT_CONTEXT none = { .as_64 = 0 };

	without_datagrams(rig);
	/* IBX-13: a member of the union. */
	expect_type(dat_ib_ud_cm_free(rig->a.ep, none.as_64), DAT_NOT_IMPLEMENTED);
	expect_type(dat_ib_ud_ah_free(rig->a.ep, NULL), DAT_NOT_IMPLEMENTED);
}

/* Whether the endpoint or the capability is looked at first is open (GEN-7). */
static void ibx_33_34_no_datagram_over_a_connection(void **state)
{
	struct cu_rig *rig = *state;
	DAT_LMR_TRIPLET seg = ct_segment(&rig->a.mem, 0, 8);
	DAT_IB_ADDR_HANDLE ah = { .ah = NULL };
	DAT_RETURN rc;

	if (rig->attr.extension_supported != DAT_EXTENSION_IB)
		harness_skip("the adapter has no extension");
	rc = dat_ib_post_send_ud(rig->a.ep, 1, &seg, &ah, cu_cookie(1),
				 DAT_COMPLETION_DEFAULT_FLAG);
	if (!cu_unsupported(rc))
		expect_handle(rc, EP);
	cu_quiet(rig->a.request, 0);
	STATE(rig->a.ep, CONNECTED);
}

/* ---- Zero-based addresses ---- */

/* Offsets from the first byte that was registered, which need not be the first of a page. */
static void lmr_19_offsets_for_both_sides(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_mem *own = &rig->a.mem, *far = &rig->p.mem;
	DAT_REGION_DESCRIPTION a = { .for_va = own->base + 100 }, p = { .for_va = far->base + 300 };
	DAT_LMR_HANDLE here, there;
	DAT_VADDR address = 0;
	DAT_LMR_TRIPLET local = { .virtual_address = 10, .segment_length = 64 };
	DAT_RMR_TRIPLET remote = { .virtual_address = 20, .segment_length = 64 };

	if (!rig->attr.zb_supported)
		harness_skip("the adapter has no zero-based addresses");
	expect_ok(dat_lmr_create(rig->ia, DAT_MEM_TYPE_VIRTUAL, a, 1000, rig->a.pz,
				 DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_ZB, &here, &local.lmr_context,
				 NULL, NULL, &address));
	assert_true(address == (DAT_VADDR)(uintptr_t)(own->base + 100));
	expect_ok(dat_lmr_create(rig->ia, DAT_MEM_TYPE_VIRTUAL, p, 1000, rig->p.pz,
				 DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_ZB, &there, NULL,
				 &remote.rmr_context, NULL, NULL));
	cu_fill(own->base + 110, 64, 3);
	expect_ok(dat_ep_post_rdma_write(rig->a.ep, 1, &local, cu_cookie(1), &remote,
					 DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->a.request, rig->a.ep, 1, DAT_DTO_RDMA_WRITE, 64);
	local.virtual_address = 900;
	expect_ok(dat_ep_post_rdma_read(rig->a.ep, 1, &local, cu_cookie(2), &remote,
					DAT_COMPLETION_DEFAULT_FLAG));
	DONE(rig->a.request, rig->a.ep, 2, DAT_DTO_RDMA_READ, 64);
	FILLED(far->base + 320, 64, 3);
	FILLED(own->base + 1000, 64, 3);
}

/* ---- Paths ---- */

static void ha_11_values_of_the_connect_flags(void **state)
{
	(void)state;
	assert_int_equal(DAT_CONNECT_DEFAULT_FLAG, 0);
	assert_int_equal(DAT_CONNECT_MULTIPATH_FLAG, 1);
	assert_int_equal(DAT_CONNECT_MULTIPATH_REQUESTED_FLAG, 1);
	assert_int_equal(DAT_CONNECT_MULTIPATH_REQUIRED_FLAG, 2);
}

#define T(f) cmocka_unit_test_setup_teardown(f, cu_setup_connected, cu_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(ibx_17_other_names),
		T(ibx_20_layout_of_an_extension_event),
		T(ibx_120_121_texts),
		T(ibx_21_the_standard_part_is_filled),
		T(ibx_15_operations_do_not_wait),
		T(ibx_57_60_ep_8_no_datagram_endpoint),
		T(ibx_60_no_datagram_endpoint_with_a_shared_queue),
		T(ibx_93_nothing_of_datagrams_to_free),
		T(ibx_33_34_no_datagram_over_a_connection),
		T(lmr_19_offsets_for_both_sides),
		T(ha_11_values_of_the_connect_flags),
	};

	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
