/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Binds of RMRs as requests of an endpoint. */
#include <errno.h>

#include "dapl/base/status.h"
#include "dapl/memory/rmr.h"
#include "dapl/object/ia.h"
#include "dapl/transfer/dto.h"
#include "dapl/transfer/refusal.h"
#include "dapl/transfer/request.h"
#include "trace/log.h"

/* RMR-21 */
static bool bound_elsewhere(const struct dapl_rmr *rmr, const struct dapl_qp *qp)
{
	const struct dapl_binding *binding = dapl_bindings_newest(&rmr->bindings);

	return binding->lmr && binding->binder && binding->binder != &qp->cold->binder &&
	       atomic_load_explicit(&binding->binder->connected, memory_order_relaxed);
}

/* A bind whose arguments are right. */
struct bind_call {
	struct dapl_rmr *rmr;
	struct dapl_qp *qp;
	struct dapl_binding to;
	DAT_UINT64 cookie;
	DAT_COMPLETION_FLAGS flags;
};

static int post_to_transport(const struct bind_call *call, const struct dapl_slot *slot,
			     uint32_t *rkey)
{
	const uint32_t rights =
		TP_ACCESS_REMOTE_READ | TP_ACCESS_REMOTE_WRITE | TP_ACCESS_REMOTE_ATOMIC;
	const struct tp_bind bind = {
		.mw = call->rmr->mw,
		.mr = call->to.lmr ? call->to.lmr->mr : NULL,
		.addr = call->to.triplet.virtual_address,
		.length = call->to.triplet.segment_length,
		.access = (uint32_t)call->to.privileges & rights,
		.zero_based = call->to.va_type == DAT_VA_TYPE_ZB,
	};

	return call->qp->obj.ia->dev->transport->mw->bind(
		call->qp->tp, (uintptr_t)slot, dapl_request_flags(call->flags), &bind, rkey);
}

/* The handles may have died meanwhile. */
static DAT_RETURN check_alive(const struct bind_call *call)
{
	dapl_assert_held(&call->qp->lock);
	dapl_assert_held(&call->qp->obj.ia->bind_lock);
	if (!dapl_object_is(&call->rmr->obj, DAPL_TYPE_RMR))
		return DAPL_BAD_HANDLE(RMR);
	if (call->to.lmr && !dapl_object_is(&call->to.lmr->obj, DAPL_TYPE_LMR))
		return DAPL_BAD_HANDLE(LMR);
	dapl_bindings_settle(&call->rmr->bindings);
	if (bound_elsewhere(call->rmr, call->qp))
		return dapl_fail(DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	return DAT_SUCCESS;
}

/*
 * The record is among those of the region before the transport learns of the bind: it may complete
 * at any time from then on.
 */
static DAT_RETURN begin(const struct bind_call *call, struct dapl_bind *record,
			struct dapl_slot **slot)
{
	struct dapl_bind bind = { .region = &call->rmr->bindings,
				  .handle = call->rmr,
				  .to = call->to,
				  .suppressed = call->flags & DAT_COMPLETION_SUPPRESS_FLAG,
				  .ring_size = call->qp->request.size };
	DAT_RETURN rc = check_alive(call);

	if (!rc)
		rc = dapl_request_take(call->qp, slot);
	if (rc)
		return rc;
	bind.head = (*slot)->head;
	bind.seq = (*slot)->seq;
	if (call->rmr->scope == DAT_RMR_SCOPE_EP)
		bind.to.binder = &call->qp->cold->binder;
	dapl_bind_add(record, &bind);
	(*slot)->bind = record;
	(*slot)->done.user_cookie.as_64 = call->cookie;
	(*slot)->done.operation = (DAT_DTOS)DAPL_OP_BIND;
	(*slot)->silent = (uint8_t)call->flags & call->qp->request_unsignalled;
	return DAT_SUCCESS;
}

/* The transport is called without bind_lock, which comes behind the EVD's. */
static DAT_RETURN post(const struct bind_call *call, struct dapl_bind *record,
		       DAT_RMR_CONTEXT *context)
{
	struct dapl_ia *ia = call->qp->obj.ia;
	struct dapl_slot *slot;
	uint32_t rkey = 0;
	DAT_RETURN rc;
	int err;

	dapl_lock(&ia->bind_lock);
	rc = begin(call, record, &slot);
	dapl_unlock(&ia->bind_lock);
	if (rc)
		return rc;
	err = post_to_transport(call, slot, &rkey);
	dapl_lock(&ia->bind_lock);
	if (err)
		dapl_bind_remove(record);
	else
		dapl_bind_named(&call->rmr->bindings, record, rkey);
	dapl_unlock(&ia->bind_lock);
	if (err)
		return dapl_post_failed(call->qp, &call->qp->request, slot, err);
	if (call->flags & DAT_COMPLETION_SUPPRESS_FLAG)
		dapl_note_suppressed(call->qp->cold, slot);
	if (context)
		*context = rkey;
	return DAT_SUCCESS;
}

static DAT_RETURN bind_rmr(const struct bind_call *call, DAT_RMR_CONTEXT *context)
{
	struct dapl_qp *qp = call->qp;
	struct dapl_bind *record;
	DAT_RETURN rc = DAPL_NO_RESOURCE(MEMORY);

	dapl_lock(&qp->lock);
	record = dapl_bind_record(&qp->cold->binder, qp->request.size,
				  (uint32_t)(qp->request.next - qp->request.slot));
	if (record)
		rc = post(call, record, context);
	else
		dapl_err("EP %p: no memory for the records of %u binds: %s", (void *)qp,
			 qp->request.size, dapl_strerror(ENOMEM));
	dapl_unlock(&qp->lock);
	return rc;
}

/* What the window may be bound to (RMR-13 to RMR-17). */
static DAT_RETURN check_binding(const struct dapl_ia *ia, const struct dapl_binding *to)
{
	uint32_t known = DAT_MEM_PRIV_ALL_FLAG, rights = (uint32_t)to->privileges;

	if (ia->attr->ib_extension)
		known |= TP_ACCESS_REMOTE_ATOMIC;
	if (!dapl_lmr_covers(to->lmr, &to->triplet))
		return DAPL_BAD_ARG(3);
	if (rights & ~known)
		return DAPL_BAD_ARG(4);
	if ((int)to->va_type != DAT_VA_TYPE_VA && (int)to->va_type != DAT_VA_TYPE_ZB)
		return DAPL_BAD_ARG(5);
	if (to->va_type == DAT_VA_TYPE_ZB && !ia->attr->zero_based)
		return DAPL_NO_MODEL;
	if ((rights & (TP_ACCESS_REMOTE_WRITE | TP_ACCESS_REMOTE_ATOMIC)) &&
	    !((uint32_t)to->lmr->privileges & TP_ACCESS_LOCAL_WRITE)) {
		dapl_err_limited(
			"LMR %p: not bound for remote writes or atomics: it is registered without "
			"DAT_MEM_PRIV_LOCAL_WRITE_FLAG",
			(void *)to->lmr);
		return dapl_fail(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
	}
	return DAT_SUCCESS;
}

/* PZs of all three, flags, and the binding if it is one. */
static DAT_RETURN check_call(const struct bind_call *call)
{
	const struct dapl_lmr *lmr = call->to.lmr;
	const struct dapl_qp *qp = call->qp;

	if (!dapl_request_ready(qp))
		return dapl_not_ready(qp, &qp->request);
	if (dapl_request_flags_bad(qp, call->flags))
		return DAPL_BAD_ARG(8);
	if (qp->pz != call->rmr->pz || (lmr && lmr->pz != call->rmr->pz)) {
		dapl_err_limited("RMR %p: not bound: its protection zone is %p, that of the "
				 "endpoint %p, and "
				 "that of the LMR %p",
				 (void *)call->rmr, (void *)call->rmr->pz, (void *)qp->pz,
				 (void *)(lmr ? lmr->pz : call->rmr->pz));
		return dapl_fail(DAT_PROTECTION_VIOLATION, DAT_NO_SUBTYPE);
	}
	return lmr ? check_binding(qp->obj.ia, &call->to) : DAT_SUCCESS;
}

DAT_RETURN dapl_rmr_bind(DAT_RMR_HANDLE rmr_handle, DAT_LMR_HANDLE lmr_handle,
			 const DAT_LMR_TRIPLET *triplet, DAT_MEM_PRIV_FLAGS privileges,
			 DAT_VA_TYPE va_type, DAT_EP_HANDLE ep_handle, DAT_RMR_COOKIE user_cookie,
			 DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	struct bind_call call = { .rmr = dapl_object_self(rmr_handle, DAPL_TYPE_RMR),
				  .qp = dapl_object_arg(ep_handle, DAPL_TYPE_EP),
				  .cookie = user_cookie.as_64,
				  .flags = flags };
	DAT_RETURN rc;

	if (!call.rmr)
		return DAPL_BAD_HANDLE(RMR);
	if (!call.qp || call.qp->obj.ia != call.rmr->obj.ia || call.qp->ud) /* IBX-63 */
		return DAPL_BAD_HANDLE(EP);
	if (!triplet)
		return DAPL_BAD_ARG(3);
	if (triplet->segment_length) {
		call.to.lmr = dapl_object_arg(lmr_handle, DAPL_TYPE_LMR);
		if (!call.to.lmr || call.to.lmr->obj.ia != call.rmr->obj.ia)
			return DAPL_BAD_HANDLE(LMR);
		call.to.triplet = *triplet;
		call.to.triplet.lmr_context = call.to.lmr->mr->lkey;
		call.to.privileges = privileges;
		call.to.va_type = va_type;
	}
	rc = check_call(&call);
	return rc ? rc : bind_rmr(&call, context);
}
