/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/memory/lmr.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include <dat/dat_ib_extensions.h>

#include "dapl/base/config.h"
#include "dapl/base/status.h"
#include "dapl/memory/rmr.h"
#include "dapl/object/counters.h"
#include "dapl/object/ia.h"
#include "dapl/object/users.h"

static_assert(TP_ACCESS_REMOTE_READ == (int)DAT_MEM_PRIV_REMOTE_READ_FLAG &&
		      TP_ACCESS_LOCAL_WRITE == (int)DAT_MEM_PRIV_LOCAL_WRITE_FLAG &&
		      TP_ACCESS_REMOTE_WRITE == (int)DAT_MEM_PRIV_REMOTE_WRITE_FLAG &&
		      TP_ACCESS_REMOTE_ATOMIC == (int)DAT_IB_MEM_PRIV_REMOTE_ATOMIC,
	      "privileges pass through as access rights");

#define REMOTE_CHANGE (TP_ACCESS_REMOTE_WRITE | TP_ACCESS_REMOTE_ATOMIC)
#define ACCESS	      (TP_ACCESS_REMOTE_READ | TP_ACCESS_LOCAL_WRITE | REMOTE_CHANGE)

/*
 * Memory that other processes have too is registered like any other: what names it among them means
 * nothing to the adapter and is only remembered (LMR-13 to LMR-17).
 */
static DAT_RETURN locate_shared(struct dapl_lmr *lmr)
{
	DAT_SHARED_MEMORY *shared = &lmr->region.for_shared_memory;

	if (!shared->shared_memory_id)
		return DAPL_BAD_ARG(3);
	memcpy(lmr->cookie, shared->shared_memory_id, sizeof(lmr->cookie));
	shared->shared_memory_id = &lmr->cookie;
	lmr->addr = shared->virtual_address;
	return DAT_SUCCESS;
}

/* Which memory is meant (LMR-9 to LMR-20). */
static DAT_RETURN locate(struct dapl_lmr *lmr, struct dapl_ia *ia)
{
	struct dapl_lmr *source;
	DAT_RETURN rc;

	switch ((int)lmr->mem_type) {
	case DAT_MEM_TYPE_VIRTUAL:
		lmr->addr = lmr->region.for_va;
		break;
	case DAT_MEM_TYPE_LMR:
		source = dapl_object_arg(lmr->region.for_lmr_handle, DAPL_TYPE_LMR);
		if (!source || source->obj.ia != ia)
			return DAPL_BAD_HANDLE(LMR);
		lmr->addr = source->addr;
		lmr->length = source->length;
		break;
	case DAT_MEM_TYPE_SHARED_VIRTUAL:
		rc = locate_shared(lmr);
		if (rc)
			return rc;
		break;
	default:
		return DAPL_BAD_ARG(2);
	}
	if (!lmr->length)
		return dapl_fail(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	if (!lmr->addr || lmr->length > UINTPTR_MAX - (uintptr_t)lmr->addr)
		return DAPL_BAD_ARG(3);
	if (lmr->length > ia->attr->max_mr_size)
		return DAPL_BAD_ARG(4);
	return DAT_SUCCESS;
}

static DAT_RETURN check_rights(const struct dapl_lmr *lmr, const struct dapl_ia *ia)
{
	uint32_t priv = (uint32_t)lmr->privileges, known = DAT_MEM_PRIV_ALL_FLAG;

	if (ia->attr->ib_extension)
		known |= TP_ACCESS_REMOTE_ATOMIC;
	if (priv & ~known)
		return DAPL_BAD_ARG(6); /* LMR-25 */
	if ((priv & REMOTE_CHANGE) && !(priv & TP_ACCESS_LOCAL_WRITE))
		return DAPL_BAD_ARG(6); /* LMR-24 */
	switch ((int)lmr->va_type) {
	case DAT_VA_TYPE_VA:
		return DAT_SUCCESS;
	case DAT_VA_TYPE_ZB:
		return ia->attr->zero_based ? DAT_SUCCESS : DAPL_NO_MODEL; /* LMR-20 */
	default:
		return DAPL_BAD_ARG(7);
	}
}

static DAT_RETURN pin(struct dapl_lmr *lmr, struct dapl_ia *ia)
{
	struct tp_mr_attr attr = {
		.addr = lmr->addr,
		.length = lmr->length,
		.access = (uint32_t)lmr->privileges & ACCESS,
		.zero_based = lmr->va_type == DAT_VA_TYPE_ZB,
	};
	int err;

	if (!(ia->attr->operations & TP_ATOMICS))
		attr.access &= ~(uint32_t)TP_ACCESS_REMOTE_ATOMIC;
	err = ia->dev->transport->mr->reg(lmr->pz->pd, &attr, &lmr->mr);

	switch (err) {
	case -EFAULT:
		return DAPL_BAD_ARG(3); /* LMR-6 */
	default:
		return dapl_status(err, DAT_RESOURCE_MEMORY_REGION);
	}
}

static void unpin(struct dapl_lmr *lmr)
{
	lmr->pz->obj.ia->dev->transport->mr->dereg(lmr->mr);
}

static void end(struct dapl_object *obj)
{
	struct dapl_lmr *lmr = container_of(obj, struct dapl_lmr, obj);

	unpin(lmr);
	dapl_object_unuse(&lmr->pz->obj);
}

static bool uses(struct dapl_object *obj, const struct dapl_object *part)
{
	return &container_of(obj, struct dapl_lmr, obj)->pz->obj == part;
}

const struct dapl_class dapl_lmr_class = {
	DAPL_CLASS(LMR),	   .uses = uses, .in_use = DAT_INVALID_STATE_LMR_IN_USE,
	.freed = DCNT_IA_LMR_FREE, .end = end,
};

/* Fills in, registers and publishes lmr; the memory is the caller's to give back on failure. */
static DAT_RETURN set_up(struct dapl_lmr *lmr, struct dapl_ia *ia)
{
	DAT_RETURN rc = locate(lmr, ia);

	if (!rc)
		rc = check_rights(lmr, ia);
	if (!rc)
		rc = pin(lmr, ia);
	if (rc)
		return rc;
	lmr->lkey = lmr->mr->lkey;
	if (!dapl_ia_add(ia, &lmr->obj, &dapl_lmr_class, ia->attr->max_mr)) {
		unpin(lmr);
		return DAPL_NO_RESOURCE(MEMORY_REGION);
	}
	return DAT_SUCCESS;
}

DAT_RETURN dapl_lmr_create(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
			   DAT_REGION_DESCRIPTION region, DAT_VLEN length, DAT_PZ_HANDLE pz_handle,
			   DAT_MEM_PRIV_FLAGS privileges, DAT_VA_TYPE va_type,
			   DAT_LMR_HANDLE *lmr_handle, DAT_LMR_CONTEXT *lmr_context,
			   DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
			   DAT_VADDR *registered_address)
{
	struct dapl_ia *ia = dapl_ia_get(ia_handle);
	struct dapl_lmr *lmr;
	struct dapl_pz *pz;
	DAT_RETURN rc;

	if (!ia)
		return DAPL_BAD_HANDLE(IA);
	pz = dapl_pz_use(pz_handle, ia);
	if (!pz)
		return DAPL_BAD_HANDLE(PZ);
	rc = DAPL_BAD_ARG(8);
	if (!lmr_handle)
		goto unuse_pz;
	lmr = dapl_object_alloc(sizeof(*lmr));
	rc = DAPL_NO_RESOURCE(MEMORY);
	if (!lmr)
		goto unuse_pz;
	lmr->pz = pz;
	lmr->mem_type = mem_type;
	lmr->region = region;
	lmr->length = length;
	lmr->privileges = privileges;
	lmr->va_type = va_type;
	rc = set_up(lmr, ia);
	if (rc)
		goto release;
	dapl_count(ia, DCNT_IA_LMR_CREATE);
	*lmr_handle = lmr;
	if (lmr_context)
		*lmr_context = lmr->mr->lkey;
	if (rmr_context)
		*rmr_context = lmr->mr->rkey;
	if (registered_length)
		*registered_length = lmr->length;
	if (registered_address)
		*registered_address = (DAT_VADDR)(uintptr_t)lmr->addr;
	return DAT_SUCCESS;

release:
	dapl_object_release(&lmr->obj);
unuse_pz:
	dapl_object_unuse(&pz->obj);
	return rc;
}

DAT_RETURN dapl_lmr_query(DAT_LMR_HANDLE lmr_handle, DAT_LMR_PARAM_MASK mask, DAT_LMR_PARAM *param)
{
	struct dapl_lmr *lmr;
	DAT_RETURN rc;

	lmr = dapl_object_query(lmr_handle, &dapl_lmr_class, mask, param, &rc);
	if (!lmr)
		return rc;
	*param = (DAT_LMR_PARAM){
		.ia_handle = dapl_ia_handle(lmr->obj.ia),
		.mem_type = lmr->mem_type,
		.region_desc = lmr->region,
		.length = lmr->length,
		.pz_handle = lmr->pz,
		.mem_priv = lmr->privileges,
		.va_type = lmr->va_type,
		.lmr_context = lmr->mr->lkey,
		.rmr_context = lmr->mr->rkey,
		.registered_size = lmr->length,
		.registered_address = (DAT_VADDR)(uintptr_t)lmr->addr,
	};
	return DAT_SUCCESS;
}

DAT_RETURN dapl_lmr_free(DAT_LMR_HANDLE lmr_handle)
{
	struct dapl_lmr *lmr = dapl_object_self(lmr_handle, DAPL_TYPE_LMR);
	struct dapl_ia *ia;
	DAT_RETURN rc;

	if (!lmr)
		return DAPL_BAD_HANDLE(LMR);
	ia = lmr->obj.ia;
	if (dapl_object_users(&lmr->obj))
		dapl_rmr_settle_all(ia);
	dapl_lock(&ia->bind_lock); /* from here on no RMR is bound to it (LMR-35) */
	rc = dapl_object_retire_unused(&lmr->obj, &dapl_lmr_class);
	dapl_unlock(&ia->bind_lock);
	if (DAT_GET_TYPE(rc) == DAT_INVALID_STATE)
		dapl_say_users(ia, &lmr->obj, &dapl_lmr_class);
	if (rc)
		return rc;
	dapl_count(ia, DCNT_IA_LMR_FREE);
	dapl_ia_end(&lmr->obj);
	return DAT_SUCCESS;
}

/* ---- Coherence ---- */

bool dapl_lmr_covers(const struct dapl_lmr *lmr, const DAT_LMR_TRIPLET *range)
{
	uint64_t start = lmr->va_type == DAT_VA_TYPE_ZB ? 0 : (uintptr_t)lmr->addr;
	uint64_t offset = range->virtual_address - start;

	return offset <= lmr->length && range->segment_length <= lmr->length - offset;
}

static bool holds(const struct dapl_object *obj, const DAT_LMR_TRIPLET *segment)
{
	const struct dapl_lmr *lmr = container_of(obj, const struct dapl_lmr, obj);

	return dapl_object_is(obj, DAPL_TYPE_LMR) && lmr->lkey == segment->lmr_context &&
	       dapl_lmr_covers(lmr, segment);
}

static bool is_registered(struct dapl_ia *ia, const DAT_LMR_TRIPLET *segment)
{
	struct dapl_object *obj;

	pthread_mutex_lock(&ia->lock);
	for (obj = ia->objects; obj; obj = obj->next)
		if (holds(obj, segment))
			break;
	pthread_mutex_unlock(&ia->lock);
	return obj;
}

/*
 * Memory is coherent on every transport of the project: nothing to do but check (LMR-40, LMR-41),
 * and what takes time is checked only if asked for.
 */
DAT_RETURN dapl_lmr_sync_rdma_read(DAT_IA_HANDLE ia_handle, const DAT_LMR_TRIPLET *segments,
				   DAT_VLEN num)
{
	struct dapl_ia *ia = dapl_ia_get(ia_handle);
	DAT_VLEN i;

	if (!ia)
		return DAPL_BAD_HANDLE(IA);
	if (num && !segments)
		return DAPL_BAD_ARG(2);
	for (i = 0; dapl_config.strict && i < num; i++)
		if (segments[i].segment_length && !is_registered(ia, &segments[i]))
			return DAPL_BAD_ARG(2);
	return DAT_SUCCESS;
}

DAT_RETURN dapl_lmr_sync_rdma_write(DAT_IA_HANDLE ia_handle, const DAT_LMR_TRIPLET *segments,
				    DAT_VLEN num)
{
	return dapl_lmr_sync_rdma_read(ia_handle, segments, num);
}
