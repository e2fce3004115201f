/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/memory/pz.h"

#include "dapl/base/status.h"
#include "dapl/object/counters.h"
#include "dapl/object/ia.h"

static void end(struct dapl_object *obj)
{
	obj->ia->dev->transport->pd->free(container_of(obj, struct dapl_pz, obj)->pd);
}

const struct dapl_class dapl_pz_class = {
	DAPL_CLASS(PZ),
	.in_use = DAT_INVALID_STATE_PZ_IN_USE,
	.freed = DCNT_IA_PZ_FREE,
	.end = end,
};

struct dapl_pz *dapl_pz_use(DAT_PZ_HANDLE handle, const struct dapl_ia *ia)
{
	struct dapl_pz *pz = dapl_object_use_arg(handle, DAPL_TYPE_PZ);

	if (!pz || pz->obj.ia == ia)
		return pz;
	dapl_object_unuse(&pz->obj);
	return NULL;
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
	if (!dapl_ia_add(ia, &pz->obj, &dapl_pz_class, ia->attr->max_pd)) {
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
	struct dapl_pz *pz;
	DAT_RETURN rc;

	pz = dapl_object_query(pz_handle, &dapl_pz_class, mask, param, &rc);
	if (!pz)
		return rc;
	param->ia_handle = dapl_ia_handle(pz->obj.ia);
	return DAT_SUCCESS;
}

DAT_RETURN dapl_pz_free(DAT_PZ_HANDLE pz_handle)
{
	return dapl_ia_free(pz_handle, &dapl_pz_class);
}
