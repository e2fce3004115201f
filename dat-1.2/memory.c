/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Regions and their contexts, and binds, which name a region by its context. */
#include "dat-1.2/contexts.h"
#include "dat-1.2/convert.h"
#include "dat-1.2/old.h"

/* D12-32: the parameter of DAT 1.2 for each of DAT 2.0, from 1; 0: it has no such. */
static DAT_RETURN moved_arg(DAT_RETURN rc, const uint8_t args[11])
{
	unsigned int arg = dat12_arg_of(rc);

	return arg ? dat12_bad_arg(args[arg]) : dat12_word(rc);
}

DAT_RETURN dat12_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
			    DAT_VLEN length, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
			    DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *lmr_context,
			    DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
			    DAT_VADDR *registered_address)
{
	static const uint8_t args[11] = { 0, 1, 2, 3, 4, 5, 6, 6, 7, 8, 9 };
	struct dat12_context *context;
	DAT_LMR_CONTEXT name = 0;
	DAT_RETURN rc;

	if (privileges & DAT12_NEW_PRIVILEGES)
		return dat12_bad_arg(6);
	context = dat12_context_new();
	if (!context)
		return dat12_failure(DAT_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY));
	rc = dat_lmr_create(ia, type, region, length, pz, privileges, DAT_VA_TYPE_VA, lmr, &name,
			    rmr_context, registered_length, registered_address);
	if (rc != DAT_SUCCESS) {
		dat12_context_drop(context);
		return moved_arg(rc, args);
	}
	dat12_context_add(context, ia, name, *lmr);
	if (lmr_context)
		*lmr_context = name;
	return DAT_SUCCESS;
}

DAT_RETURN dat12_lmr_free(DAT_LMR_HANDLE lmr)
{
	DAT_LMR_PARAM param = { .lmr_context = 0 };
	DAT_RETURN known = dat_lmr_query(lmr, DAT_LMR_FIELD_LMR_CONTEXT, &param), rc;

	rc = dat_lmr_free(lmr);
	if (rc == DAT_SUCCESS && known == DAT_SUCCESS)
		dat12_context_forget(param.lmr_context, lmr);
	return dat12_word(rc);
}

/* D12-94: DAT 1.2 does not say the scope, and its binds always name an endpoint. */
DAT_RETURN dat12_rmr_create(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr)
{
	DAT_RETURN rc = dat_rmr_create(pz, rmr);

	if (DAT_GET_TYPE(rc) == DAT_MODEL_NOT_SUPPORTED)
		rc = dat_rmr_create_for_ep(pz, rmr);
	return dat12_word(rc);
}

/* More IAs of a process than this do not use one context at a time. */
#define MAX_NAMESAKES 64

/*
 * Which IA the window is of libdat2 knows: it refuses regions of others. Without any it finds what
 * else is wrong first.
 */
static DAT_RETURN bind_by_context(DAT_RMR_HANDLE rmr, const DAT_LMR_TRIPLET *triplet,
				  DAT_MEM_PRIV_FLAGS privileges, DAT_EP_HANDLE ep,
				  DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
				  DAT_RMR_CONTEXT *context)
{
	const DAT_RETURN unknown = DAT_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	DAT_LMR_HANDLE lmrs[MAX_NAMESAKES] = { DAT_HANDLE_NULL };
	unsigned int num = 0, i = 0;
	DAT_RETURN rc;

	if (triplet && triplet->segment_length)
		num = dat12_contexts_find(triplet->lmr_context, lmrs, MAX_NAMESAKES);
	do
		rc = dat_rmr_bind(rmr, lmrs[i], triplet, privileges, DAT_VA_TYPE_VA, ep, cookie,
				  flags, context);
	while (rc == unknown && ++i < num);
	return rc == unknown ? DAT_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3) : rc; /* D12-93 */
}

DAT_RETURN dat12_rmr_bind(DAT_RMR_HANDLE rmr, const DAT12_LMR_TRIPLET *triplet,
			  DAT_MEM_PRIV_FLAGS privileges, DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie,
			  DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	static const uint8_t args[11] = { 0, 1, 2, 2, 3, 3, 4, 5, 6, 7, 0 };
	DAT_LMR_TRIPLET new = { .virtual_address = triplet ? triplet->address : 0,
				.segment_length = triplet ? (DAT_SEG_LENGTH)triplet->length : 0,
				.lmr_context = triplet ? triplet->context : 0 };

	if (privileges & DAT12_NEW_PRIVILEGES)
		return dat12_bad_arg(3);
	if (flags & DAT12_NEW_COMPLETION_FLAGS)
		return dat12_bad_arg(6);
	if (triplet && triplet->length >> 32)
		return dat12_failure(DAT_ERR(DAT_LENGTH_ERROR, 0));
	return moved_arg(
		bind_by_context(rmr, triplet ? &new : NULL, privileges, ep, cookie, flags, context),
		args);
}
