/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Extension operations: how they are called, what their transfers have in common, and the write
 * with immediate data. */
#include "ext_util.h"

#include <assert.h>
#include <stdlib.h>

/* IBX-20; of 32 bits it is what test/abi has. */
#if UINTPTR_MAX > UINT32_MAX
static_assert(offsetof(DAT_EVENT, event_extension_data) == 56, "extension data");
static_assert(sizeof(DAT_IB_EXTENSION_EVENT_DATA) == 64, "extension data");
static_assert(offsetof(DAT_IB_EXTENSION_EVENT_DATA, status) == 4, "status");
static_assert(offsetof(DAT_IB_EXTENSION_EVENT_DATA, val.immed.data) == 8, "immediate");
static_assert(offsetof(DAT_IB_EXTENSION_EVENT_DATA, remote_ah.ah) == 16, "address handle");
static_assert(offsetof(DAT_IB_EXTENSION_EVENT_DATA, remote_ah.qpn) == 24, "queue pair");
static_assert(offsetof(DAT_IB_EXTENSION_EVENT_DATA, remote_ah.ia_addr) == 28, "address");
static_assert(offsetof(DAT_IB_EXTENSION_EVENT_DATA, context) == 56, "context");
#endif

static void need_extension(const struct cu_rig *rig)
{
	if (rig->attr.extension_supported != DAT_EXTENSION_IB)
		harness_skip("the adapter has no InfiniBand extension");
}

/* ---- What is announced ------------------------------------------------- */

static void ibx_1_2_4_version(void **state)
{
	struct cu_rig *rig = *state;

	if (rig->attr.extension_supported != DAT_EXTENSION_NONE)
		assert_int_equal(rig->attr.extension_supported, DAT_EXTENSION_IB);
	assert_int_equal(DAT_EXTENSION_IB, 1);
	assert_int_equal(rig->attr.extension_version, 209);
	assert_int_equal(DAT_IB_EXTENSION_VERSION, 209);
}

static void is_truth(const struct cu_rig *rig, const char *name, bool never)
{
	const char *value = xu_named(rig, name);

	assert_non_null(value);
	if (never)
		assert_string_equal(value, "FALSE");
	else
		assert_true(strcmp(value, "TRUE") == 0 || strcmp(value, "FALSE") == 0);
}

/* IBX-118, IBX-119: they are there without the extension as well, and what is of it is not so. */
static void ibx_3_116_117_named_attributes(void **state)
{
	struct cu_rig *rig = *state;
	bool none = rig->attr.extension_supported == DAT_EXTENSION_NONE;
	const char *reads = rig->attr.max_rdma_read_per_ep_out > 0 ? "TRUE" : "FALSE";

	assert_string_equal(xu_named(rig, "DAT_EXTENSION_INTERFACE"), none ? "FALSE" : "TRUE");
	assert_string_equal(xu_named(rig, "DAT_IB_RDMA_READ"), reads);
	assert_string_equal(xu_named(rig, "DAT_IB_CONNECTIVITY_MODE"), "DIRECT");
	is_truth(rig, DAT_IB_ATTR_FETCH_AND_ADD, none);
	is_truth(rig, DAT_IB_ATTR_CMP_AND_SWAP, none);
	is_truth(rig, DAT_IB_ATTR_IMMED_DATA, none);
	assert_true(none == (xu_named(rig, DAT_IB_ATTR_COUNTERS) == NULL));
	if (xu_named(rig, DAT_IB_ATTR_UD) != NULL)
		assert_string_equal(xu_named(rig, DAT_IB_ATTR_UD), "TRUE");
	assert_string_equal(xu_named(rig, "DAT_IB_PORT_STATUS"), "ACTIVE");
	assert_true(atoi(xu_named(rig, "DAT_IB_PORT_NUMBER")) > 0);
	/* Programs size their messages by it. */
	assert_in_range(atoi(xu_named(rig, "DAT_IB_TRANSPORT_MTU")), 256, 4096);
	assert_non_null(xu_named(rig, "DAT_IB_DEVICE_NAME"));
	assert_non_null(xu_named(rig, "DAT_IB_PROVIDER_NAME"));
	for (DAT_COUNT i = 0; i < rig->prov.num_provider_specific_attr; i++) {
		assert_non_null(rig->prov.provider_specific_attr[i].name);
		assert_int_not_equal(rig->prov.provider_specific_attr[i].value[0], '\0');
	}
}

/* ---- How they are called ----------------------------------------------- */

static void ibx_6_null_handle(void **state)
{
	(void)state;
	expect(dat_extension_op(DAT_HANDLE_NULL, DAT_IB_FETCH_AND_ADD_OP), DAT_INVALID_HANDLE,
	       DAT_INVALID_HANDLE1);
	expect(dat_extension_op(DAT_HANDLE_NULL, 0xfff), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	expect_handle(dat_extension_op(DAT_HANDLE_NULL, DAT_IB_CLOSE_QUERY_OP), IA);
}

/* IBX-122, IBX-123: the collectives are among them. */
static void ibx_10_unknown_operations(void **state)
{
	struct cu_rig *rig = *state;
	int op;

	need_extension(rig);
	for (op = 6; op <= 25; op++) {
		expect_type(dat_extension_op(rig->a.ep, op), DAT_NOT_IMPLEMENTED);
		expect_type(dat_extension_op(rig->ia, op), DAT_NOT_IMPLEMENTED);
	}
	for (op = 30; op < 0x1000; op += 37)
		expect_type(dat_extension_op(rig->a.ep, op), DAT_NOT_IMPLEMENTED);
	expect_type(dat_extension_op(rig->a.ep, -1 & 0xfff), DAT_NOT_IMPLEMENTED);
	STATE(rig->a.ep, CONNECTED);
	ct_empty(rig->a.request);
}

static void ibx_11_handles_of_other_kinds(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end spare = { 0 };
	DAT_LMR_TRIPLET local = ct_segment(&rig->a.mem, 0, 8);
	DAT_RMR_TRIPLET remote = ct_target(&rig->p.mem, 0, 8);
	DAT_HANDLE wrong[] = { rig->a.pz, rig->a.request, rig->a.mem.lmr, rig->ia, NULL };
	size_t i, n = sizeof(wrong) / sizeof(wrong[0]);

	need_extension(rig);
	ct_end_open(&spare, rig->ia, NULL);
	wrong[n - 1] = rig->psp;
	for (i = 0; i < n; i++) {
		expect_handle(
			dat_ib_post_fetch_and_add(wrong[i], 1, &local, cu_cookie(1), &remote, 0),
			EP);
		expect_handle(
			dat_ib_post_cmp_and_swap(wrong[i], 1, 1, &local, cu_cookie(1), &remote, 0),
			EP);
		expect_handle(dat_ib_post_rdma_write_immed(wrong[i], 1, &local, cu_cookie(1),
							   &remote, 1, 0),
			      EP);
	}
	/* What is no object any more is nobody's to say more about. */
	expect_ok(dat_ep_free(spare.ep));
	expect_type(dat_ib_post_fetch_and_add(spare.ep, 1, &local, cu_cookie(1), &remote, 0),
		    DAT_INVALID_HANDLE);
}

/* IBX-5, IBX-16 */
static void ibx_12_macros_convert_and_evaluate_once(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;
	DAT_LMR_TRIPLET segments[2] = { ct_segment(&a->mem, 0, 8), ct_segment(&a->mem, 8, 8) };
	DAT_LMR_TRIPLET *local = segments;
	DAT_RMR_TRIPLET target = ct_target(&p->mem, 0, 64), *remote = &target;
	uint32_t immed = 7;
	int num = 1;

	xu_need(rig, DAT_IB_ATTR_IMMED_DATA);
	expect_ok(cu_recv(p, 1024, 64, 1));
	expect_ok(dat_ib_post_rdma_write_immed(a->ep, num++, local++, cu_cookie(2), remote++,
					       immed++, 0));
	assert_int_equal(num, 2);
	assert_ptr_equal(local, &segments[1]);
	assert_ptr_equal(remote, &target + 1);
	assert_int_equal(immed, 8);
	XU_WROTE(a, 2, 8);
	XU_TOLD(p, 1, 8, 7);
}

/* IBX-19: no flag of the EVDs was asked for by any other test; the flag alone is accepted. */
static void ibx_19_the_extension_flag_of_dispatchers(void **state)
{
	struct cu_rig *rig = *state;
	DAT_EVD_HANDLE evd;

	need_extension(rig);
	evd = ct_evd(rig->ia, 8, DAT_HANDLE_NULL, (DAT_EVD_FLAGS)DAT_IB_EVD_EXTENSION_FLAG);
	expect_ok(dat_evd_free(evd));
	evd = ct_evd(rig->ia, 8, DAT_HANDLE_NULL,
		     (DAT_EVD_FLAGS)(DAT_IB_EVD_EXTENSION_FLAG | DAT_EVD_DTO_FLAG));
	expect_ok(dat_evd_free(evd));
}

static void ibx_34_what_is_not_announced(void **state)
{
	struct cu_rig *rig = *state;
	const char *value;

	need_extension(rig);
	value = xu_named(rig, DAT_IB_ATTR_IMMED_DATA);
	if (value != NULL && strcmp(value, "TRUE") == 0)
		harness_skip("the adapter has everything");
	expect_type(xu_write_immed(&rig->a, 8, &rig->p.mem, 0, 1, 1), DAT_MODEL_NOT_SUPPORTED);
}

/* ---- States, flags, room ----------------------------------------------- */

static void ibx_28_states_without_a_connection(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end end = { 0 };
	DAT_LMR_TRIPLET local;
	DAT_RMR_TRIPLET remote;

	xu_need(rig, DAT_IB_ATTR_IMMED_DATA);
	ct_end_open(&end, rig->ia, NULL);
	expect_state(xu_write_immed(&end, 8, &end.mem, 0, 1, 1), EP_UNCONNECTED);
	local = ct_segment(&end.mem, 0, 8);
	remote = ct_target(&end.mem, 0, 8);
	if (!strcmp(xu_named(rig, DAT_IB_ATTR_FETCH_AND_ADD), "TRUE"))
		expect_state(dat_ib_post_fetch_and_add(end.ep, 1, &local, cu_cookie(1), &remote, 0),
			     EP_UNCONNECTED);
	ct_empty(end.request);
}

/* IBX-24: requests keep their number, receives that no immediate completed keep theirs. */
static void ibx_26_27_28_flushed(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;

	xu_need(rig, DAT_IB_ATTR_IMMED_DATA);
	expect_ok(cu_recv(p, 0, 64, 5));
	cu_end_connection(a, p);
	FLUSHED(p->recv, p->ep, 5, DAT_DTO_RECEIVE);
	expect_ok(xu_write_immed(a, 8, &p->mem, 0, 1, 6));
	XDONE(a->request, a->ep, 6, DAT_DTO_ERR_FLUSHED, DAT_IB_DTO_RDMA_WRITE_IMMED,
	      DAT_IB_RDMA_WRITE_IMMED, 0, 0);
	/* DTO-26 */
	expect_ok(xu_post_immed(a, 0, NULL, NULL, 1, 7, DAT_COMPLETION_SUPPRESS_FLAG));
	XDONE(a->request, a->ep, 7, DAT_DTO_ERR_FLUSHED, DAT_IB_DTO_RDMA_WRITE_IMMED,
	      DAT_IB_RDMA_WRITE_IMMED, 0, 0);
}

static void ibx_29_suppressed(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;

	xu_need(rig, DAT_IB_ATTR_IMMED_DATA);
	expect_ok(cu_recv(p, 0, 64, 1));
	expect_ok(cu_recv(p, 0, 64, 2));
	expect_ok(xu_post_immed(a, 0, NULL, NULL, 11, 3, DAT_COMPLETION_SUPPRESS_FLAG));
	expect_ok(xu_post_immed(a, 0, NULL, NULL, 12, 4, DAT_COMPLETION_BARRIER_FENCE_FLAG));
	XU_WROTE(a, 4, 0);
	ct_empty(a->request);
	XU_TOLD(p, 1, 0, 11);
	XU_TOLD(p, 2, 0, 12);
}

/* DTO-27 */
static int strict_flags(void)
{
	static const uint32_t wrong[] = { 0x04, 0x10, 0x20, 0x8000 };
	void *state = NULL;
	struct cu_rig *rig;
	struct ct_end *a;
	DAT_LMR_TRIPLET local;
	DAT_RMR_TRIPLET remote;
	const char *value;

	cu_setup_connected(&state);
	rig = state;
	a = &rig->a;
	local = ct_segment(&a->mem, 0, 8);
	remote = ct_target(&rig->p.mem, 0, 8);
	value = xu_named(rig, DAT_IB_ATTR_FETCH_AND_ADD);
	for (size_t i = 0; harness_strict() && i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		if (value == NULL || strcmp(value, "TRUE") != 0)
			break;
		expect_arg(dat_ib_post_fetch_and_add(a->ep, 1, &local, cu_cookie(1), &remote,
						     wrong[i]),
			   7);
		expect_arg(dat_ib_post_cmp_and_swap(a->ep, 1, 1, &local, cu_cookie(1), &remote,
						    wrong[i]),
			   8);
		expect_arg(xu_post_immed(a, 1, &local, &remote, 1, 1, wrong[i]), 8);
		ct_empty(a->request);
	}
	if (harness_strict() && rig->attr.extension_supported == DAT_EXTENSION_IB) {
		remote.segment_length = 7; /* IBX-52, DTO-46 */
		expect_type(xu_post_immed(a, 1, &local, &remote, 1, 1, 0), DAT_LENGTH_ERROR);
	}
	return cu_teardown(&state);
}

static void ibx_29_52_strict_checks(void **state)
{
	(void)state;
	harness_both_strict("strict_flags");
}

static void ibx_30_takes_a_place_of_the_queue(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end a = { 0 }, p = { 0 };
	DAT_EP_PARAM param;
	DAT_EP_ATTR attr;
	DAT_RETURN rc;
	DAT_COUNT n;

	xu_need(rig, DAT_IB_ATTR_IMMED_DATA);
	ct_default_attr(rig->ia, &attr);
	attr.max_request_dtos = 4;
	ct_end_open(&a, rig->ia, &attr);
	ct_end_open(&p, rig->ia, NULL);
	cu_establish(rig, &a, &p);
	cu_query(a.ep, &param);
	for (n = 0; n < param.ep_attr.max_request_dtos; n++)
		expect_ok(xu_post_immed(&a, 0, NULL, NULL, (uint32_t)n, (uint64_t)n, 0));
	/* IBX-51: they wait for receives. */
	rc = xu_post_immed(&a, 0, NULL, NULL, 9, 9, 0);
	if (ct_ep_state(a.ep) != DAT_EP_STATE_CONNECTED)
		harness_skip("the connection does not wait for a receive");
	expect_type(rc, DAT_INSUFFICIENT_RESOURCES);
	for (n = 0; n < param.ep_attr.max_request_dtos; n++) {
		expect_ok(cu_recv(&p, 0, 8, (uint64_t)n));
		XU_TOLD(&p, (uint64_t)n, 0, (uint32_t)n);
		XU_WROTE(&a, (uint64_t)n, 0);
	}
	expect_ok(xu_post_immed(&a, 0, NULL, NULL, 9, 9, 0));
}

/* ---- The write with immediate data ------------------------------------- */

#define C(f) cmocka_unit_test_setup_teardown(f, cu_setup_connected, cu_teardown)
#define I(f) cmocka_unit_test_setup_teardown(f, cu_setup_ia, cu_teardown)

int main(int argc, char **argv)
{
	static const struct harness_child children[] = { { "strict_flags", strict_flags },
							 { NULL, NULL } };
	static const struct CMUnitTest tests[] = {
		I(ibx_1_2_4_version),
		I(ibx_3_116_117_named_attributes),
		I(ibx_6_null_handle),
		C(ibx_10_unknown_operations),
		C(ibx_11_handles_of_other_kinds),
		C(ibx_12_macros_convert_and_evaluate_once),
		I(ibx_19_the_extension_flag_of_dispatchers),
		C(ibx_34_what_is_not_announced),
		I(ibx_28_states_without_a_connection),
		C(ibx_26_27_28_flushed),
		C(ibx_29_suppressed),
		I(ibx_29_52_strict_checks),
		I(ibx_30_takes_a_place_of_the_queue),
	};

	harness_child_main(argc, argv, children);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
