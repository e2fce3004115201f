/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Public service points. */
#include "dapl/base/status.h"
#include "dapl/connect/cr.h"
#include "dapl/connect/sp.h"
#include "dapl/object/counters.h"
#include "dapl/object/ia.h"

const struct dapl_class dapl_psp_class = {
	DAPL_CLASS(PSP),      .freed = DCNT_IA_PSP_FREE,
	.uses = dapl_sp_uses, .describe = dapl_sp_describe,
	.end = dapl_sp_end,
};

static int arrive(struct dapl_sp *sp, struct tp_conn *conn, const struct tp_conn_request *req)
{
	const struct dapl_psp *psp = container_of(sp, struct dapl_psp, sp);

	return dapl_cr_arrive(sp, conn, req, psp->flags == DAT_PSP_PROVIDER_FLAG);
}

/* any: the transport chooses the qualifier, which *conn_qual becomes. */
static DAT_RETURN create_on(struct dapl_ia *ia, DAT_CONN_QUAL *conn_qual, bool any,
			    struct dapl_evd *evd, DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp_handle)
{
	struct dapl_psp *psp;
	DAT_RETURN rc;

	if (any ? !conn_qual : !dapl_sp_qual_ok(ia, *conn_qual))
		return DAPL_BAD_ARG(2);
	if (flags != DAT_PSP_CONSUMER_FLAG && flags != DAT_PSP_PROVIDER_FLAG)
		return DAPL_BAD_ARG(4);
	if (!psp_handle)
		return DAPL_BAD_ARG(5);
	psp = dapl_object_alloc(sizeof(*psp));
	if (!psp)
		return DAPL_NO_RESOURCE(MEMORY);
	psp->sp.arrive = arrive;
	psp->sp.evd = evd;
	psp->sp.conn_qual = any ? 0 : *conn_qual;
	psp->flags = flags;
	rc = dapl_sp_listen(&psp->sp, &dapl_psp_class, ia);
	if (rc)
		return rc;
	dapl_count(ia, any ? DCNT_IA_PSP_CREATE_ANY : DCNT_IA_PSP_CREATE);
	if (any)
		*conn_qual = dapl_sp_qual(&psp->sp);
	*psp_handle = psp;
	return DAT_SUCCESS;
}

static DAT_RETURN create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *conn_qual, bool any,
			 DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp_handle)
{
	struct dapl_evd *evd;
	struct dapl_ia *ia;
	DAT_RETURN rc;

	rc = dapl_sp_parts(ia_handle, evd_handle, &ia, &evd);
	if (rc)
		return rc;
	rc = create_on(ia, conn_qual, any, evd, flags, psp_handle);
	dapl_object_unuse(&evd->obj);
	return rc;
}

DAT_RETURN dapl_psp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL conn_qual, DAT_EVD_HANDLE evd,
			   DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp)
{
	return create(ia, &conn_qual, false, evd, flags, psp);
}

DAT_RETURN dapl_psp_create_any(DAT_IA_HANDLE ia, DAT_CONN_QUAL *conn_qual, DAT_EVD_HANDLE evd,
			       DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp)
{
	return create(ia, conn_qual, true, evd, flags, psp);
}

DAT_RETURN dapl_psp_query(DAT_PSP_HANDLE psp_handle, DAT_PSP_PARAM_MASK mask, DAT_PSP_PARAM *param)
{
	struct dapl_psp *psp;
	DAT_RETURN rc;

	psp = dapl_object_query(psp_handle, &dapl_psp_class, mask, param, &rc);
	if (!psp)
		return rc;
	*param = (DAT_PSP_PARAM){
		.ia_handle = dapl_ia_handle(psp->sp.obj.ia),
		.conn_qual = dapl_sp_qual(&psp->sp),
		.evd_handle = psp->sp.evd,
		.psp_flags = psp->flags,
	};
	return DAT_SUCCESS;
}

DAT_RETURN dapl_psp_free(DAT_PSP_HANDLE psp_handle)
{
	return dapl_ia_free(psp_handle, &dapl_psp_class);
}
