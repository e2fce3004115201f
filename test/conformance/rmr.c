/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Remote memory regions as their own program sees them. */
#include "bind_util.h"

/* ---- Creation ---------------------------------------------------------- */

static void check_scope(struct cu_rig *rig, DAT_RMR_SCOPE scope, DAT_RETURN rc, DAT_RMR_HANDLE rmr)
{
	if (!bu_has_scope(rig, scope)) {
		expect_type(rc, DAT_MODEL_NOT_SUPPORTED);
		return;
	}
	expect_ok(rc);
	assert_int_equal(bu_query(rmr).rmr_scope, scope);
	expect_ok(dat_rmr_free(rmr));
}

static void rmr_1_2_3_4_scopes_as_announced(void **state)
{
	struct cu_rig *rig = *state;
	DAT_PZ_HANDLE pz = ct_pz(rig->ia);
	DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
	DAT_RETURN rc;

	rc = dat_rmr_create(pz, &rmr);
	check_scope(rig, DAT_RMR_SCOPE_PZ, rc, rmr);
	rc = dat_rmr_create_for_ep(pz, &rmr);
	check_scope(rig, DAT_RMR_SCOPE_EP, rc, rmr);
	expect_ok(dat_pz_free(pz));
}

static void rmr_2_3_wrong_arguments(void **state)
{
	struct cu_rig *rig = *state;
	DAT_PZ_HANDLE pz = ct_pz(rig->ia);
	DAT_RMR_HANDLE rmr = bu_any_rmr(rig, pz);

	expect_ok(dat_rmr_free(rmr));
	if (bu_has_scope(rig, DAT_RMR_SCOPE_PZ))
		expect_arg(dat_rmr_create(pz, NULL), 2);
	if (bu_has_scope(rig, DAT_RMR_SCOPE_EP))
		expect_arg(dat_rmr_create_for_ep(pz, NULL), 2);
	expect_handle(dat_rmr_create(rig->cr, &rmr), PZ);
	expect_handle(dat_rmr_create_for_ep(rig->cr, &rmr), PZ);
	expect_ok(dat_pz_free(pz));
	expect_handle(dat_rmr_create(pz, &rmr), PZ);
}

/* PZ-7, PZ-8 */
static void rmr_5_the_zone_is_in_use(void **state)
{
	struct cu_rig *rig = *state;
	DAT_PZ_HANDLE pz = ct_pz(rig->ia);
	DAT_RMR_HANDLE rmr = bu_any_rmr(rig, pz);

	expect_state(dat_pz_free(pz), PZ_IN_USE);
	assert_ptr_equal(bu_query(rmr).pz_handle, pz);
	expect_ok(dat_rmr_free(rmr));
	expect_ok(dat_pz_free(pz));
}

/* ---- Queries ----------------------------------------------------------- */

static void rmr_28_31_masks(void **state)
{
	struct cu_rig *rig = *state;
	DAT_PZ_HANDLE pz = ct_pz(rig->ia);
	DAT_RMR_HANDLE rmr = bu_any_rmr(rig, pz);
	DAT_RMR_PARAM param = bu_query(rmr);

	assert_ptr_equal(param.ia_handle, rig->ia);
	assert_ptr_equal(param.pz_handle, pz);
	expect_arg(dat_rmr_query(rmr, (DAT_RMR_PARAM_MASK)0x80, &param), 2);
	expect_arg(dat_rmr_query(rmr, (DAT_RMR_PARAM_MASK)-1, &param), 2);
	expect_arg(dat_rmr_query(rmr, DAT_RMR_FIELD_RMR_CONTEXT, NULL), 3);
	expect_ok(dat_rmr_query(rmr, 0, NULL));
	expect_ok(dat_rmr_free(rmr));
	expect_handle(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param), RMR);
	expect_handle(dat_rmr_free(rmr), RMR);
}

static void rmr_29_30_what_it_is_bound_to(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *p = &rig->p;
	DAT_RMR_HANDLE rmr = bu_any_rmr(rig, p->pz);
	DAT_RMR_CONTEXT context;

	bu_check_unbound(rmr);
	expect_ok(bu_bind(p, rmr, &p->mem, 128, 256, 1, &context));
	bu_check_bound(rmr, &p->mem, 128, 256, context);
	BOUND(p->request, rmr, 1);
	bu_check_bound(rmr, &p->mem, 128, 256, context);
	context = bu_bound(p, rmr, &p->mem, 512, 64);
	bu_check_bound(rmr, &p->mem, 512, 64, context);
	bu_unbound(p, rmr);
	bu_check_unbound(rmr);
}

/* ---- Binding: arguments ------------------------------------------------ */

/* EVT-16 */
static void rmr_7_8_22_context_at_once_then_an_event(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *p = &rig->p;
	DAT_RMR_HANDLE rmr = bu_any_rmr(rig, p->pz);
	DAT_RMR_CONTEXT last = 0, context;

	for (uint64_t i = 0; i < 20; i++) {
		context = last;
		expect_ok(bu_bind(p, rmr, &p->mem, 0, 64, i << 60 | i, &context));
		assert_int_not_equal(context, last);
		assert_int_not_equal(context, 0);
		last = context;
		BOUND(p->request, rmr, i << 60 | i);
	}
	/* The value need not be wanted. */
	expect_ok(bu_bind(p, rmr, &p->mem, 0, 64, 99, NULL));
	assert_int_not_equal(bu_query(rmr).rmr_context, last);
	BOUND(p->request, rmr, 99);
	ct_empty(p->recv);
}

static void rmr_12_the_handle_counts_not_the_context(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *p = &rig->p;
	DAT_RMR_HANDLE rmr = bu_any_rmr(rig, p->pz);
	DAT_LMR_TRIPLET triplet = ct_segment(&p->mem, 64, 64);
	DAT_RMR_COOKIE cookie = { .as_64 = 3 };

	triplet.lmr_context = ~triplet.lmr_context;
	expect_ok(dat_rmr_bind(rmr, p->mem.lmr, &triplet, BU_REMOTE, DAT_VA_TYPE_VA, p->ep, cookie,
			       DAT_COMPLETION_DEFAULT_FLAG, NULL));
	BOUND(p->request, rmr, 3);
	assert_int_equal(bu_query(rmr).lmr_triplet.lmr_context, p->mem.lmr_context);
}

static void rmr_13_the_range_lies_inside(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *p = &rig->p;
	DAT_RMR_HANDLE rmr = bu_any_rmr(rig, p->pz);
	DAT_RMR_COOKIE cookie = { .as_64 = 4 };
	DAT_LMR_TRIPLET triplet;

	expect_arg(bu_bind(p, rmr, &p->mem, 0, p->mem.len + 1, 4, NULL), 3);
	expect_arg(bu_bind(p, rmr, &p->mem, (size_t)-1, 2, 4, NULL), 3);
	expect_arg(bu_bind(p, rmr, &p->mem, p->mem.len, 1, 4, NULL), 3);
	expect_arg(bu_bind(p, rmr, &p->mem, p->mem.len - 63, 64, 4, NULL), 3);
	triplet = ct_segment(&p->mem, 0, 64);
	triplet.virtual_address = (DAT_VADDR)-32;
	expect_arg(dat_rmr_bind(rmr, p->mem.lmr, &triplet, BU_REMOTE, DAT_VA_TYPE_VA, p->ep, cookie,
				DAT_COMPLETION_DEFAULT_FLAG, NULL),
		   3);
	expect_arg(dat_rmr_bind(rmr, p->mem.lmr, NULL, BU_REMOTE, DAT_VA_TYPE_VA, p->ep, cookie,
				DAT_COMPLETION_DEFAULT_FLAG, NULL),
		   3);
	ct_empty(p->request);
	bu_check_unbound(rmr);
	bu_bound(p, rmr, &p->mem, 0, p->mem.len);
	bu_bound(p, rmr, &p->mem, p->mem.len - 1, 1);
}

static void rmr_13_offsets_into_a_zero_based_region(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *p = &rig->p;
	DAT_RMR_HANDLE rmr = bu_any_rmr(rig, p->pz);
	DAT_REGION_DESCRIPTION region = { .for_va = p->mem.base };
	DAT_RMR_COOKIE cookie = { .as_64 = 5 };
	DAT_LMR_TRIPLET triplet = { .virtual_address = 0, .segment_length = 4096 };
	DAT_LMR_HANDLE lmr;

	if (!rig->attr.zb_supported)
		harness_skip("the adapter has no zero-based addresses");
	expect_ok(dat_lmr_create(rig->ia, DAT_MEM_TYPE_VIRTUAL, region, 4096, p->pz,
				 DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_ZB, &lmr, NULL, NULL, NULL,
				 NULL));
	expect_ok(dat_rmr_bind(rmr, lmr, &triplet, BU_REMOTE, DAT_VA_TYPE_VA, p->ep, cookie,
			       DAT_COMPLETION_DEFAULT_FLAG, NULL));
	BOUND(p->request, rmr, 5);
	triplet.virtual_address = 1;
	expect_arg(dat_rmr_bind(rmr, lmr, &triplet, BU_REMOTE, DAT_VA_TYPE_VA, p->ep, cookie,
				DAT_COMPLETION_DEFAULT_FLAG, NULL),
		   3);
	triplet.virtual_address = (uintptr_t)p->mem.base;
	expect_arg(dat_rmr_bind(rmr, lmr, &triplet, BU_REMOTE, DAT_VA_TYPE_VA, p->ep, cookie,
				DAT_COMPLETION_DEFAULT_FLAG, NULL),
		   3);
}

static void rmr_14_address_types(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *p = &rig->p;
	DAT_RMR_HANDLE rmr = bu_any_rmr(rig, p->pz);
	struct bu_bind bind = { .mem = &p->mem, .len = 64, .priv = BU_REMOTE, .cookie = 6 };

	bind.va_type = (DAT_VA_TYPE)2;
	expect_arg(bu_post(p, rmr, bind, NULL), 5);
	bind.va_type = (DAT_VA_TYPE)-1;
	expect_arg(bu_post(p, rmr, bind, NULL), 5);
	bind.va_type = DAT_VA_TYPE_ZB;
	if (rig->attr.zb_supported) {
		expect_ok(bu_post(p, rmr, bind, NULL));
		BOUND(p->request, rmr, 6);
		assert_int_equal(bu_query(rmr).va_type, DAT_VA_TYPE_ZB);
	} else {
		expect_type(bu_post(p, rmr, bind, NULL), DAT_MODEL_NOT_SUPPORTED);
	}
}

static void rmr_15_one_zone_for_all_three(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *p = &rig->p;
	DAT_PZ_HANDLE other = ct_pz(rig->ia);
	DAT_RMR_HANDLE rmr = bu_any_rmr(rig, p->pz), foreign = bu_any_rmr(rig, other);
	struct ct_mem *mem = cu_extra_mem(rig, other, 4096, DAT_MEM_PRIV_ALL_FLAG);

	expect_type(bu_bind(p, foreign, &p->mem, 0, 64, 7, NULL), DAT_PROTECTION_VIOLATION);
	expect_type(bu_bind(p, rmr, mem, 0, 64, 7, NULL), DAT_PROTECTION_VIOLATION);
	expect_type(bu_bind(p, foreign, mem, 0, 64, 7, NULL), DAT_PROTECTION_VIOLATION);
	ct_empty(p->request);
	expect_ok(dat_lmr_free(mem->lmr));
	mem->lmr = DAT_HANDLE_NULL;
}

static void rmr_16_only_remote_rights_count(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *p = &rig->p;
	DAT_RMR_HANDLE rmr = bu_any_rmr(rig, p->pz);
	struct bu_bind bind = { .mem = &p->mem, .len = 64, .cookie = 8 };
	int legal = 0x33;

	if (rig->attr.extension_supported == DAT_EXTENSION_IB)
		legal |= 0x40; /* IBX-18 */
	for (int priv = 0; priv <= 0xff; priv++) {
		bind.priv = (DAT_MEM_PRIV_FLAGS)priv;
		if (priv & ~legal) {
			expect_arg(bu_post(p, rmr, bind, NULL), 4);
			continue;
		}
		expect_ok(bu_post(p, rmr, bind, NULL));
		BOUND(p->request, rmr, 8);
		assert_int_equal(bu_query(rmr).mem_priv, priv);
	}
}

static void rmr_17_write_needs_local_write(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *p = &rig->p;
	DAT_RMR_HANDLE rmr = bu_any_rmr(rig, p->pz);
	struct ct_mem *mem = cu_extra_mem(rig, p->pz, 4096, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	struct bu_bind bind = { .mem = mem, .len = 64, .cookie = 9 };

	bind.priv = DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	expect(bu_post(p, rmr, bind, NULL), DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
	if (rig->attr.extension_supported == DAT_EXTENSION_IB) {
		bind.priv = (DAT_MEM_PRIV_FLAGS)0x40;
		expect(bu_post(p, rmr, bind, NULL), DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
	}
	ct_empty(p->request);
	bind.priv = DAT_MEM_PRIV_NONE_FLAG;
	expect_ok(bu_post(p, rmr, bind, NULL));
	BOUND(p->request, rmr, 9);
}

static void rmr_18_unbinding_ignores_the_rest(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *p = &rig->p;
	DAT_RMR_HANDLE rmr = bu_any_rmr(rig, p->pz);
	DAT_LMR_TRIPLET nothing = { .virtual_address = 1, .lmr_context = 77 };
	DAT_RMR_COOKIE cookie = { .as_64 = 10 };

	bu_unbound(p, rmr); /* what is not bound */
	bu_bound(p, rmr, &p->mem, 0, 64);
	expect_ok(dat_rmr_bind(rmr, DAT_HANDLE_NULL, &nothing, (DAT_MEM_PRIV_FLAGS)0xff,
			       (DAT_VA_TYPE)9, p->ep, cookie, DAT_COMPLETION_DEFAULT_FLAG, NULL));
	BOUND(p->request, rmr, 10);
	bu_check_unbound(rmr);
}

static void rmr_bind_wrong_handles(struct cu_rig *rig, DAT_RMR_HANDLE rmr)
{
	struct ct_end *p = &rig->p;
	DAT_LMR_TRIPLET triplet = ct_segment(&p->mem, 0, 64);
	DAT_RMR_COOKIE cookie = { .as_64 = 11 };
	DAT_RMR_HANDLE wrong = p->pz;

	expect_handle(dat_rmr_bind(wrong, p->mem.lmr, &triplet, BU_REMOTE, DAT_VA_TYPE_VA, p->ep,
				   cookie, DAT_COMPLETION_DEFAULT_FLAG, NULL),
		      RMR);
	expect_handle(dat_rmr_bind(rmr, p->mem.lmr, &triplet, BU_REMOTE, DAT_VA_TYPE_VA, p->pz,
				   cookie, DAT_COMPLETION_DEFAULT_FLAG, NULL),
		      EP);
	expect_handle(dat_rmr_bind(rmr, p->mem.lmr, &triplet, BU_REMOTE, DAT_VA_TYPE_VA,
				   DAT_HANDLE_NULL, cookie, DAT_COMPLETION_DEFAULT_FLAG, NULL),
		      EP);
	expect_handle(dat_rmr_bind(rmr, p->ep, &triplet, BU_REMOTE, DAT_VA_TYPE_VA, p->ep, cookie,
				   DAT_COMPLETION_DEFAULT_FLAG, NULL),
		      LMR);
	expect_handle(dat_rmr_bind(rmr, DAT_HANDLE_NULL, &triplet, BU_REMOTE, DAT_VA_TYPE_VA, p->ep,
				   cookie, DAT_COMPLETION_DEFAULT_FLAG, NULL),
		      LMR);
}

/* GEN-22 */
static void gen_21_22_handles_of_a_bind(void **state)
{
	struct cu_rig *rig = *state;
	DAT_RMR_HANDLE rmr = bu_any_rmr(rig, rig->p.pz);
	struct ct_ia other;
	struct ct_end end = { 0 };

	rmr_bind_wrong_handles(rig, rmr);
	ct_open(&other);
	ct_end_open(&end, other.ia, NULL);
	expect_handle(bu_bind(&end, rmr, &rig->p.mem, 0, 64, 12, NULL), EP);
	expect_handle(bu_bind(&rig->p, rmr, &end.mem, 0, 64, 12, NULL), LMR);
	ct_end_close(&end);
	ct_close(&other);
	ct_empty(rig->p.request);
}

/* ---- Use of the LMR ---------------------------------------------------- */

/* LMR-35 */
static void rmr_19_the_lmr_is_in_use(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *p = &rig->p;
	DAT_RMR_HANDLE rmr = bu_any_rmr(rig, p->pz), second = bu_any_rmr(rig, p->pz);
	struct ct_mem *one = cu_extra_mem(rig, p->pz, 4096, DAT_MEM_PRIV_ALL_FLAG);
	struct ct_mem *two = cu_extra_mem(rig, p->pz, 4096, DAT_MEM_PRIV_ALL_FLAG);

	expect_ok(bu_bind(p, rmr, one, 0, 64, 1, NULL));
	bu_in_use(one); /* from the return of the call on */
	BOUND(p->request, rmr, 1);
	bu_in_use(one);
	bu_bound(p, second, one, 64, 64);
	bu_bound(p, rmr, two, 0, 64); /* elsewhere */
	bu_in_use(one);
	bu_unbound(p, second);
	bu_free_lmr(one);
	bu_in_use(two);
	expect_ok(dat_rmr_free(rmr)); /* RMR-32 */
	bu_free_lmr(two);
}

static void rmr_19_suppressed_binds_let_go(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *p = &rig->p;
	DAT_RMR_HANDLE rmr = bu_any_rmr(rig, p->pz);
	struct ct_mem *one = cu_extra_mem(rig, p->pz, 4096, DAT_MEM_PRIV_ALL_FLAG);
	struct bu_bind bind = { .mem = one,
				.len = 64,
				.priv = BU_REMOTE,
				.cookie = 1,
				.flags = DAT_COMPLETION_SUPPRESS_FLAG };

	for (int i = 0; i < 5; i++)
		expect_ok(bu_post(p, rmr, bind, NULL));
	bu_unbound(p, rmr); /* completes behind all of them (DTO-31) */
	ct_empty(p->request);
	bu_free_lmr(one);
}

/* ---- Order, flags, room ------------------------------------------------ */

/* DTO-65 */
static void rmr_22_completes_in_posting_order(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *a = &rig->a, *p = &rig->p;
	DAT_RMR_HANDLE rmr = bu_any_rmr(rig, p->pz);

	expect_ok(cu_recv(a, 0, 64, 1));
	expect_ok(cu_recv(a, 64, 64, 2));
	expect_ok(bu_bind(p, rmr, &p->mem, 0, 64, 10, NULL));
	expect_ok(ct_post_send(p, 0, 64, 11, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(bu_bind(p, rmr, &p->mem, 64, 64, 12, NULL));
	expect_ok(cu_write(p, 0, 64, 13, &a->mem, 4096, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(cu_read(p, 128, 64, 14, &a->mem, 4096, DAT_COMPLETION_DEFAULT_FLAG));
	expect_ok(bu_unbind(p, rmr, 15));
	expect_ok(ct_post_send(p, 0, 64, 16, DAT_COMPLETION_DEFAULT_FLAG));
	BOUND(p->request, rmr, 10);
	DONE(p->request, p->ep, 11, DAT_DTO_SEND, 64);
	BOUND(p->request, rmr, 12);
	DONE(p->request, p->ep, 13, DAT_DTO_RDMA_WRITE, 64);
	DONE(p->request, p->ep, 14, DAT_DTO_RDMA_READ, 64);
	BOUND(p->request, rmr, 15);
	DONE(p->request, p->ep, 16, DAT_DTO_SEND, 64);
	DONE(a->recv, a->ep, 1, DAT_DTO_RECEIVE, 64);
	DONE(a->recv, a->ep, 2, DAT_DTO_RECEIVE, 64);
}

static void rmr_23_suppress_and_fence(void **state)
{
	struct cu_rig *rig = *state;
	struct ct_end *p = &rig->p;
	DAT_RMR_HANDLE rmr = bu_any_rmr(rig, p->pz);
	struct bu_bind bind = { .mem = &p->mem, .len = 64, .priv = BU_REMOTE };

	for (uint32_t flags = 0; flags < 16; flags++) {
		if (flags & DAT_COMPLETION_UNSIGNALLED_FLAG)
			continue;
		bind.flags = (DAT_COMPLETION_FLAGS)flags;
		bind.cookie = flags;
		expect_ok(bu_post(p, rmr, bind, NULL));
		if (!(flags & DAT_COMPLETION_SUPPRESS_FLAG))
			BOUND(p->request, rmr, flags);
	}
	bu_unbound(p, rmr);
	ct_empty(p->request);
}

/* DTO-27 */
static int strict_flags(void)
{
	static const int wrong[] = { 0x04, 0x10, 0x20, 0x40, 0x8000 };
	void *state = NULL;
	struct cu_rig *rig;
	struct bu_bind bind = { .len = 64, .priv = BU_REMOTE, .cookie = 1 };
	DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;

	cu_setup_connected(&state);
	rig = state;
	bind.mem = &rig->p.mem;
	if (bu_has_scope(rig, DAT_RMR_SCOPE_PZ))
		expect_ok(dat_rmr_create(rig->p.pz, &rmr));
	else if (bu_has_scope(rig, DAT_RMR_SCOPE_EP))
		expect_ok(dat_rmr_create_for_ep(rig->p.pz, &rmr));
	for (size_t i = 0; rmr && i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		bind.flags = (DAT_COMPLETION_FLAGS)wrong[i];
		if (harness_strict()) {
			expect_arg(bu_post(&rig->p, rmr, bind, NULL), 8);
			continue;
		}
		expect_ok(bu_post(&rig->p, rmr, bind, NULL));
		BOUND(rig->p.request, rmr, 1);
	}
	return cu_teardown(&state);
}

static void rmr_23_flags_that_are_not_allowed(void **state)
{
	(void)state;
	harness_both_strict("strict_flags");
}

/* DTO-25 */
static void rmr_23_unsignalled_binds_are_silent(void **state)
{
	struct cu_rig *rig = *state;
	DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
	struct ct_end a = { 0 }, p = { 0 };
	struct bu_bind bind = {
		.len = 64, .priv = BU_REMOTE, .cookie = 1, .flags = DAT_COMPLETION_UNSIGNALLED_FLAG
	};
	DAT_EP_ATTR attr;
	DAT_EVENT event;
	DAT_COUNT more;

	ct_default_attr(rig->ia, &attr);
	attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	ct_end_open(&a, rig->ia, NULL);
	ct_end_open(&p, rig->ia, &attr);
	cu_establish(rig, &a, &p);
	rmr = bu_any_rmr(rig, p.pz);
	bind.mem = &p.mem;
	expect_ok(bu_post(&p, rmr, bind, NULL));
	/* It comes, and nobody is told. */
	expect_type(dat_evd_wait(p.request, 300000, 2, &event, &more), DAT_INVALID_STATE);
	expect_ok(bu_bind(&p, rmr, &p.mem, 0, 64, 2, NULL));
	BOUND(p.request, rmr, 1);
	BOUND(p.request, rmr, 2);
}

/* Behind a send that stalls (DTO-90). */
static void rmr_26_takes_a_place_of_the_queue(void **state)
{
	struct cu_rig *rig = *state;
	DAT_RMR_HANDLE rmr;
	struct ct_end a = { 0 }, p = { 0 };
	DAT_EP_ATTR attr;
	DAT_EP_PARAM param;
	DAT_RETURN rc = DAT_SUCCESS;
	DAT_COUNT n;

	ct_default_attr(rig->ia, &attr);
	attr.max_request_dtos = 4;
	ct_end_open(&a, rig->ia, NULL);
	ct_end_open(&p, rig->ia, &attr);
	cu_establish(rig, &a, &p);
	rmr = bu_any_rmr(rig, p.pz);
	cu_query(p.ep, &param);
	bu_stall(&p);
	for (n = 1; n < param.ep_attr.max_request_dtos; n++)
		expect_ok(bu_bind(&p, rmr, &p.mem, 0, 64, (uint64_t)n, NULL));
	rc = bu_bind(&p, rmr, &p.mem, 0, 64, 99, NULL);
	if (ct_ep_state(p.ep) != DAT_EP_STATE_CONNECTED)
		harness_skip("the connection does not wait for a receive");
	expect_type(rc, DAT_INSUFFICIENT_RESOURCES);
	expect_ok(cu_recv(&a, 0, 64, 1));
	DONE(p.request, p.ep, 0x57a11, DAT_DTO_SEND, 64);
	for (n = 1; n < param.ep_attr.max_request_dtos; n++)
		BOUND(p.request, rmr, (uint64_t)n);
	bu_bound(&p, rmr, &p.mem, 0, 64);
}

/* ---- The end ----------------------------------------------------------- */

#define C(f) cmocka_unit_test_setup_teardown(f, cu_setup_connected, cu_teardown)
#define I(f) cmocka_unit_test_setup_teardown(f, cu_setup_ia, cu_teardown)

int main(int argc, char **argv)
{
	static const struct harness_child children[] = { { "strict_flags", strict_flags },
							 { NULL, NULL } };
	static const struct CMUnitTest tests[] = {
		I(rmr_1_2_3_4_scopes_as_announced),
		I(rmr_2_3_wrong_arguments),
		I(rmr_5_the_zone_is_in_use),
		I(rmr_28_31_masks),
		C(rmr_29_30_what_it_is_bound_to),
		C(rmr_7_8_22_context_at_once_then_an_event),
		C(rmr_12_the_handle_counts_not_the_context),
		C(rmr_13_the_range_lies_inside),
		C(rmr_13_offsets_into_a_zero_based_region),
		C(rmr_14_address_types),
		C(rmr_15_one_zone_for_all_three),
		C(rmr_16_only_remote_rights_count),
		C(rmr_17_write_needs_local_write),
		C(rmr_18_unbinding_ignores_the_rest),
		C(gen_21_22_handles_of_a_bind),
		C(rmr_19_the_lmr_is_in_use),
		C(rmr_19_suppressed_binds_let_go),
		C(rmr_22_completes_in_posting_order),
		C(rmr_23_suppress_and_fence),
		C(rmr_23_flags_that_are_not_allowed),
		C(rmr_23_unsignalled_binds_are_silent),
		C(rmr_26_takes_a_place_of_the_queue),
	};

	harness_child_main(argc, argv, children);
	return harness_run(tests, sizeof(tests) / sizeof(tests[0]));
}
