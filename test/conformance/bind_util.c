/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "bind_util.h"

bool bu_has_scope(const struct cu_rig *rig, DAT_RMR_SCOPE scope)
{
#if DAT_VERSION_MAJOR > 1
	return rig->attr.max_rmrs > 0 && (rig->prov.rmr_scope_supported == DAT_RMR_SCOPE_ANY ||
					  rig->prov.rmr_scope_supported == scope);
#else /* which has one kind, whatever its scope */
	return rig->attr.max_rmrs > 0 && scope == DAT_RMR_SCOPE_PZ;
#endif
}

static DAT_RETURN create(DAT_PZ_HANDLE pz, DAT_RMR_SCOPE scope, DAT_RMR_HANDLE *rmr)
{
	return scope == DAT_RMR_SCOPE_EP ? dat_rmr_create_for_ep(pz, rmr) : dat_rmr_create(pz, rmr);
}

DAT_RMR_HANDLE bu_rmr(const struct cu_rig *rig, DAT_PZ_HANDLE pz, DAT_RMR_SCOPE scope)
{
	DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;

	if (!bu_has_scope(rig, scope))
		harness_skip("the adapter has no remote memory regions of scope %s",
			     scope == DAT_RMR_SCOPE_EP ? "EP" : "PZ");
	expect_ok(create(pz, scope, &rmr));
	assert_non_null(rmr);
	return rmr;
}

DAT_RMR_HANDLE bu_any_rmr(const struct cu_rig *rig, DAT_PZ_HANDLE pz)
{
	return bu_rmr(rig, pz,
		      bu_has_scope(rig, DAT_RMR_SCOPE_PZ) ? DAT_RMR_SCOPE_PZ : DAT_RMR_SCOPE_EP);
}

static DAT_RMR_COOKIE cookie(uint64_t value)
{
	DAT_RMR_COOKIE c = { .as_64 = value };

	return c;
}

DAT_RETURN bu_post(struct ct_end *end, DAT_RMR_HANDLE rmr, struct bu_bind bind,
		   DAT_RMR_CONTEXT *context)
{
	DAT_LMR_TRIPLET triplet = ct_segment(bind.mem, bind.offset, bind.len);

	return dat_rmr_bind(rmr, bind.mem->lmr, &triplet, bind.priv, bind.va_type, end->ep,
			    cookie(bind.cookie), bind.flags, context);
}

DAT_RETURN bu_bind(struct ct_end *end, DAT_RMR_HANDLE rmr, const struct ct_mem *mem, size_t offset,
		   size_t len, uint64_t c, DAT_RMR_CONTEXT *context)
{
	struct bu_bind bind = { .mem = mem,
				.offset = offset,
				.len = len,
				.priv = BU_REMOTE,
				.va_type = DAT_VA_TYPE_VA,
				.cookie = c };

	return bu_post(end, rmr, bind, context);
}

DAT_RETURN bu_unbind(struct ct_end *end, DAT_RMR_HANDLE rmr, uint64_t c)
{
	DAT_LMR_TRIPLET nothing = { .segment_length = 0 };

	return dat_rmr_bind(rmr, DAT_HANDLE_NULL, &nothing, DAT_MEM_PRIV_NONE_FLAG, DAT_VA_TYPE_VA,
			    end->ep, cookie(c), DAT_COMPLETION_DEFAULT_FLAG, NULL);
}

DAT_RMR_CONTEXT bu_bound(struct ct_end *end, DAT_RMR_HANDLE rmr, const struct ct_mem *mem,
			 size_t offset, size_t len)
{
	DAT_RMR_CONTEXT context = 0;

	expect_ok(bu_bind(end, rmr, mem, offset, len, 0xb1d, &context));
	BOUND(end->request, rmr, 0xb1d);
	assert_int_not_equal(context, 0);
	return context;
}

void bu_unbound(struct ct_end *end, DAT_RMR_HANDLE rmr)
{
	expect_ok(bu_unbind(end, rmr, 0xb1e));
	BOUND(end->request, rmr, 0xb1e);
}

void bu_check_done(DAT_EVD_HANDLE evd, DAT_RMR_HANDLE rmr, uint64_t c,
		   DAT_DTO_COMPLETION_STATUS status, const char *file, int line)
{
	const DAT_RMR_BIND_COMPLETION_EVENT_DATA *data;
	DAT_EVENT event;

	cu_poll(evd, &event);
	data = &event.event_data.rmr_completion_event_data;
	if (event.event_number == DAT_RMR_BIND_COMPLETION_EVENT && event.evd_handle == evd &&
	    data->rmr_handle == rmr && data->user_cookie.as_64 == c && data->status == status)
		return;
	print_error("event 0x%x, bind 0x%llx with status %d instead of 0x%llx with %d\n",
		    event.event_number, (unsigned long long)data->user_cookie.as_64,
		    (int)data->status, (unsigned long long)c, (int)status);
	_fail(file, line);
}

DAT_RMR_PARAM bu_query(DAT_RMR_HANDLE rmr)
{
	DAT_RMR_PARAM param;

	memset(&param, 0x5a, sizeof(param));
	expect_ok(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	return param;
}

void bu_in_use(const struct ct_mem *mem)
{
	expect_state(dat_lmr_free(mem->lmr), LMR_IN_USE);
}

void bu_free_lmr(struct ct_mem *mem)
{
	expect_ok(dat_lmr_free(mem->lmr));
	mem->lmr = DAT_HANDLE_NULL;
}

DAT_RMR_TRIPLET bu_target(DAT_VADDR address, size_t len, DAT_RMR_CONTEXT context)
{
	DAT_RMR_TRIPLET triplet = { .virtual_address = address,
				    .segment_length = (DAT_SEG_LENGTH)len,
				    .rmr_context = context };

	return triplet;
}

void bu_check_unbound(DAT_RMR_HANDLE rmr)
{
	DAT_RMR_PARAM param = bu_query(rmr);

	assert_true(param.lmr_triplet.virtual_address == 0);
	assert_int_equal(param.lmr_triplet.segment_length, 0);
	assert_int_equal(param.lmr_triplet.lmr_context, 0);
	assert_int_equal(param.mem_priv, 0);
	assert_int_equal(param.rmr_context, 0);
#if DAT_VERSION_MAJOR > 1
	assert_int_equal(param.va_type, 0);
#endif
}

void bu_check_bound(DAT_RMR_HANDLE rmr, const struct ct_mem *mem, size_t offset, size_t len,
		    DAT_RMR_CONTEXT context)
{
	DAT_RMR_PARAM param = bu_query(rmr);

	assert_true(param.lmr_triplet.virtual_address == (uintptr_t)mem->base + offset);
	assert_int_equal(param.lmr_triplet.segment_length, len);
	assert_int_equal(param.lmr_triplet.lmr_context, mem->lmr_context);
	assert_int_equal(param.mem_priv, BU_REMOTE);
	assert_int_equal(param.rmr_context, context);
#if DAT_VERSION_MAJOR > 1
	assert_int_equal(param.va_type, DAT_VA_TYPE_VA);
#endif
}

void bu_stall(struct ct_end *end)
{
	expect_ok(ct_post_send(end, 0, 64, 0x57a11, DAT_COMPLETION_DEFAULT_FLAG));
}
