/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/memory/rmr.h"

#include "dapl/base/status.h"
#include "dapl/object/counters.h"
#include "dapl/object/ia.h"

void dapl_rmr_settle_all(struct dapl_ia *ia)
{
	struct dapl_object *obj;

	pthread_mutex_lock(&ia->lock);
	dapl_lock(&ia->bind_lock);
	for (obj = ia->objects; obj; obj = obj->next)
		if (dapl_object_is(obj, DAPL_TYPE_RMR))
			dapl_bindings_settle(&container_of(obj, struct dapl_rmr, obj)->bindings);
	dapl_unlock(&ia->bind_lock);
	pthread_mutex_unlock(&ia->lock);
}

/* The window first: until it is gone its LMRs are in use. */
static void end(struct dapl_object *obj)
{
	struct dapl_rmr *rmr = container_of(obj, struct dapl_rmr, obj);

	obj->ia->dev->transport->mw->free(rmr->mw);
	dapl_lock(&obj->ia->bind_lock);
	dapl_bindings_end(&rmr->bindings);
	dapl_unlock(&obj->ia->bind_lock);
	dapl_object_unuse(&rmr->pz->obj);
}

static bool uses(struct dapl_object *obj, const struct dapl_object *part)
{
	struct dapl_rmr *rmr = container_of(obj, struct dapl_rmr, obj);
	bool found;

	dapl_lock(&obj->ia->bind_lock);
	found = &rmr->pz->obj == part || dapl_bindings_use(&rmr->bindings, part);
	dapl_unlock(&obj->ia->bind_lock);
	return found;
}

const struct dapl_class dapl_rmr_class = {
	DAPL_CLASS(RMR),
	.uses = uses,
	.freed = DCNT_IA_RMR_FREE,
	.end = end,
};

static DAT_RETURN create(DAT_PZ_HANDLE pz_handle, DAT_RMR_SCOPE scope, DAT_RMR_HANDLE *out)
{
	struct dapl_pz *pz = dapl_object_use_arg(pz_handle, DAPL_TYPE_PZ);
	const struct tp_device_attr *dev;
	struct dapl_rmr *rmr;
	DAT_RETURN rc;
	int err;

	if (!pz)
		return DAPL_BAD_HANDLE(PZ);
	dev = pz->obj.ia->attr;
	rc = DAPL_NO_MODEL; /* RMR-1, RMR-4 */
	if (!dev->max_mw || !(scope == DAT_RMR_SCOPE_EP ? dev->mw_qp_scope : dev->mw_pd_scope))
		goto unuse_pz;
	rc = DAPL_BAD_ARG(2);
	if (!out)
		goto unuse_pz;
	rmr = dapl_object_alloc(sizeof(*rmr));
	rc = DAPL_NO_RESOURCE(MEMORY);
	if (!rmr)
		goto unuse_pz;
	rmr->pz = pz;
	rmr->scope = scope;
	dapl_bindings_init(&rmr->bindings);
	err = pz->obj.ia->dev->transport->mw->alloc(pz->pd, scope == DAT_RMR_SCOPE_EP, &rmr->mw);
	rc = dapl_status(err, DAT_RESOURCE_MEMORY_REGION);
	if (err)
		goto release;
	if (dapl_ia_add(pz->obj.ia, &rmr->obj, &dapl_rmr_class, dev->max_mw)) {
		dapl_count(pz->obj.ia, DCNT_IA_RMR_CREATE);
		*out = rmr;
		return DAT_SUCCESS;
	}
	rc = DAPL_NO_RESOURCE(MEMORY_REGION);
	pz->obj.ia->dev->transport->mw->free(rmr->mw);
release:
	dapl_object_release(&rmr->obj);
unuse_pz:
	dapl_object_unuse(&pz->obj);
	return rc;
}

DAT_RETURN dapl_rmr_create(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr)
{
	return create(pz, DAT_RMR_SCOPE_PZ, rmr);
}

DAT_RETURN dapl_rmr_create_for_ep(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr)
{
	return create(pz, DAT_RMR_SCOPE_EP, rmr);
}

DAT_RETURN dapl_rmr_free(DAT_RMR_HANDLE rmr_handle)
{
	return dapl_ia_free(rmr_handle, &dapl_rmr_class);
}

DAT_RETURN dapl_rmr_query(DAT_RMR_HANDLE rmr_handle, DAT_RMR_PARAM_MASK mask, DAT_RMR_PARAM *param)
{
	struct dapl_rmr *rmr;
	const struct dapl_binding *binding;
	struct dapl_ia *ia;
	DAT_RETURN rc;

	rmr = dapl_object_query(rmr_handle, &dapl_rmr_class, mask, param, &rc);
	if (!rmr)
		return rc;
	ia = rmr->obj.ia;
	param->ia_handle = dapl_ia_handle(ia);
	param->pz_handle = rmr->pz;
	param->rmr_scope = rmr->scope;
	dapl_lock(&ia->bind_lock);
	dapl_bindings_settle(&rmr->bindings);
	binding = dapl_bindings_newest(&rmr->bindings);
	param->lmr_triplet = binding->triplet;
	param->mem_priv = binding->privileges;
	param->rmr_context = binding->context;
	param->va_type = binding->va_type;
	dapl_unlock(&ia->bind_lock);
	return DAT_SUCCESS;
}
