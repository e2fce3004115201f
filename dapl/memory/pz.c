/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <assert.h>

#include "dapl/memory/pz.h"

#include "dapl/object/counters.h"
#include "dapl/object/ia.h"
#include "dapl/base/status.h"

static_assert(sizeof(struct dapl_pz) <= DAPL_SLOT_SIZE, "a PZ is an object");

struct dapl_pz *dapl_pz_arg(DAT_PZ_HANDLE handle, const struct dapl_ia *ia)
{
	struct dapl_pz *pz = dapl_object_arg(handle, DAPL_TYPE_PZ);

	return pz && pz->obj.ia == ia ? pz : NULL;
}

DAT_RETURN dapl_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle)
{
	struct dapl_ia *ia = dapl_ia_get(ia_handle);
	struct dapl_pz *pz;
	DAT_RETURN rc;
	int err;

	if (!ia)
		return DAPL_BAD_HANDLE(IA);
	if (!pz_handle)
		return DAPL_BAD_ARG(2);
	pz = dapl_object_alloc(sizeof(*pz));
	if (!pz)
		return DAPL_NO_RESOURCE(MEMORY);
	err = ia->dev->transport->pd->alloc(ia->dev, &pz->pd);
	rc = dapl_status(err, DAT_RESOURCE_PROTECTION_DOMAIN);
	if (err)
		goto release;
	if (!dapl_ia_add(ia, &pz->obj, DAPL_TYPE_PZ, ia->attr->max_pd)) {
		rc = DAPL_NO_RESOURCE(PROTECTION_DOMAIN);
		goto free_pd;
	}
	dapl_count(ia, DCNT_IA_PZ_CREATE);
	*pz_handle = pz;
	return DAT_SUCCESS;

free_pd:
	ia->dev->transport->pd->free(pz->pd);
release:
	dapl_object_release(&pz->obj);
	return rc;
}

DAT_RETURN dapl_pz_query(DAT_PZ_HANDLE pz_handle, DAT_PZ_PARAM_MASK mask, DAT_PZ_PARAM *param)
{
	struct dapl_pz *pz = dapl_object_self(pz_handle, DAPL_TYPE_PZ);

	if (!pz)
		return DAPL_BAD_HANDLE(PZ);
	if ((uint32_t)mask & ~(uint32_t)DAT_PZ_FIELD_ALL)
		return DAPL_BAD_ARG(2);
	if (!param)
		return mask ? DAPL_BAD_ARG(3) : DAT_SUCCESS;
	param->ia_handle = dapl_ia_handle(pz->obj.ia);
	return DAT_SUCCESS;
}

static void pz_delete(struct dapl_pz *pz)
{
	dapl_ia_remove(&pz->obj, DAPL_TYPE_PZ);
	pz->obj.ia->dev->transport->pd->free(pz->pd);
	dapl_object_release(&pz->obj);
}

void dapl_pz_destroy(struct dapl_pz *pz)
{
	if (dapl_object_retire(&pz->obj, DAPL_TYPE_PZ))
		pz_delete(pz);
}

DAT_RETURN dapl_pz_free(DAT_PZ_HANDLE pz_handle)
{
	struct dapl_pz *pz = dapl_object_self(pz_handle, DAPL_TYPE_PZ);

	if (!pz)
		return DAPL_BAD_HANDLE(PZ);
	if (dapl_object_users(&pz->obj))
		return DAPL_BAD_STATE(PZ_IN_USE);
	if (!dapl_object_retire(&pz->obj, DAPL_TYPE_PZ))
		return DAPL_BAD_HANDLE(PZ);
	dapl_count(pz->obj.ia, DCNT_IA_PZ_FREE);
	pz_delete(pz);
	return DAT_SUCCESS;
}
