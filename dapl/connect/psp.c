/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Public service points, and what all service points share. */
#include <assert.h>
#include <errno.h>

#include "dapl/base/config.h"
#include "dapl/object/counters.h"
#include "dapl/connect/cr.h"
#include "dapl/object/ia.h"
#include "dapl/connect/sp.h"
#include "dapl/base/status.h"
#include "trace/log.h"

static_assert(sizeof(struct dapl_psp) <= DAPL_SLOT_SIZE, "a PSP is an object");

/* ---- All service points ---- */

int dapl_sp_request(void *listener_owner, struct tp_conn *conn, const struct tp_conn_request *req)
{
	struct dapl_sp *sp = listener_owner;
	struct dapl_ia *ia = sp->obj.ia; /* an RSP may be gone afterwards */
	int err;

	dapl_trace(conn_request, DAPL_TRC_NORMAL, sp, "qualifier=%llu bytes=%u",
		   (unsigned long long)dapl_sp_qual(sp), req->private_data_len);
	dapl_count(ia, DCNT_IA_CM_REQ_RX);
	err = sp->arrive(sp, conn, req);
	if (err)
		dapl_count_cm_error(ia, DCNT_IA_CM_ERR_REJ_TX);
	return err;
}

DAT_CONN_QUAL dapl_sp_wire_qual(const struct dapl_ia *ia, DAT_CONN_QUAL conn_qual)
{
	const DAT_CONN_QUAL max_port = 0xffff, first = 33534, num = 32001;

	if (conn_qual <= max_port || ia->attr->max_conn_qual != max_port || dapl_config.strict)
		return conn_qual;
	return conn_qual % num + first;
}

bool dapl_sp_qual_ok(const struct dapl_ia *ia, DAT_CONN_QUAL conn_qual)
{
	return conn_qual && dapl_sp_wire_qual(ia, conn_qual) <= ia->attr->max_conn_qual;
}

DAT_RETURN dapl_sp_listen(struct dapl_sp *sp, struct dapl_ia *ia, struct dapl_evd *evd,
			  DAT_CONN_QUAL conn_qual)
{
	const struct dapl_cm_ops *cm = ia->dev->transport->cm;
	int err;

	/* First: a request may arrive, and end an RSP's listening, before listen has returned. */
	dapl_object_use(&evd->obj);
	err = cm->listen(ia->dev, dapl_sp_wire_qual(ia, conn_qual), sp, &sp->listener);
	if (!err) {
		dapl_count(ia, DCNT_IA_CM_LISTEN);
		pthread_mutex_lock(&ia->lock);
		if (!sp->conn_qual)
			sp->conn_qual = sp->listener->conn_qual;
		sp->listening = sp->listener; /* an RSP may be done with it already */
		pthread_mutex_unlock(&ia->lock);
		return DAT_SUCCESS;
	}
	dapl_object_unuse(&evd->obj);
	if (err == -EADDRNOTAVAIL && !conn_qual)
		return dapl_fail(DAT_CONN_QUAL_UNAVAILABLE, DAT_NO_SUBTYPE);
	if (err == -EINVAL)
		return DAPL_BAD_ARG(2);
	return dapl_status(err, DAT_RESOURCE_DEVICE);
}

DAT_CONN_QUAL dapl_sp_qual(struct dapl_sp *sp)
{
	DAT_CONN_QUAL conn_qual;

	pthread_mutex_lock(&sp->obj.ia->lock);
	conn_qual = sp->conn_qual ? sp->conn_qual : sp->listener->conn_qual;
	pthread_mutex_unlock(&sp->obj.ia->lock);
	return conn_qual;
}

void dapl_sp_unlisten(struct dapl_sp *sp)
{
	struct dapl_ia *ia = sp->obj.ia;
	struct tp_listener *listener;

	pthread_mutex_lock(&ia->lock); /* the program and the loop may both want to stop an RSP */
	listener = sp->listener;
	sp->listener = NULL;
	sp->listening = false;
	pthread_mutex_unlock(&ia->lock);
	if (!listener)
		return;
	ia->dev->transport->cm->unlisten(listener);
	dapl_object_unuse(&sp->evd->obj);
}

void dapl_sp_end(struct dapl_object *obj)
{
	dapl_sp_unlisten(container_of(obj, struct dapl_sp, obj));
	dapl_object_wait_left(obj); /* a request may be handed off to it */
}

static bool listens_on(struct dapl_object *obj, enum dapl_type type, DAT_CONN_QUAL conn_qual)
{
	const struct dapl_sp *sp = container_of(obj, struct dapl_sp, obj);

	if (type != DAPL_TYPE_PSP && type != DAPL_TYPE_RSP && type != DAPL_TYPE_CSP)
		return false;
	return sp->listening && sp->conn_qual == conn_qual && dapl_object_enter(obj, type);
}

struct dapl_sp *dapl_sp_find(struct dapl_ia *ia, DAT_CONN_QUAL conn_qual)
{
	struct dapl_object *obj;

	pthread_mutex_lock(&ia->lock);
	for (obj = ia->objects; obj; obj = obj->next)
		if (listens_on(obj, atomic_load(&obj->type), conn_qual))
			break;
	pthread_mutex_unlock(&ia->lock);
	return obj ? container_of(obj, struct dapl_sp, obj) : NULL;
}

struct dapl_ep *dapl_sp_make_ep(struct dapl_ia *ia)
{
	const struct dapl_ep_parts none = { .pz = NULL };
	struct dapl_ep *ep;
	DAT_EP_ATTR attr;

	dapl_ep_default_attr(ia, &none, &attr);
	if (dapl_ep_new(ia, &none, &attr, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING, &ep))
		return NULL;
	return ep;
}

void dapl_sp_unmake_ep(struct dapl_ep *ep)
{
	struct dapl_ep_step step;
	DAT_RETURN rc;

	dapl_lock(&ep->lock);
	rc = dapl_ep_fire(ep, DAPL_EP_REJECT, &step);
	ep->cold->addr_known = false;
	dapl_unlock(&ep->lock);
	if (!rc && step.next == DAPL_EP_GONE)
		dapl_ep_delete(ep);
}

int dapl_sp_hand_over(struct dapl_sp *sp, struct tp_conn *conn, const struct tp_conn_request *req,
		      struct dapl_ep *ep)
{
	struct dapl_cr *cr = dapl_cr_new(sp->obj.ia, conn, req);

	if (!cr)
		goto free_ep;
	if (ep)
		dapl_cr_bring_ep(cr, ep);
	if (dapl_cr_announce(cr, sp))
		return 0;
	/* PSP-4: refused without a trace here. */
	dapl_object_retire(&cr->obj);
	dapl_ia_end(&cr->obj);
free_ep:
	if (ep)
		dapl_sp_unmake_ep(ep);
	return -ENOBUFS;
}

/* ---- PSP ---- */

const struct dapl_class dapl_psp_class = {
	.name = "PSP",
	.type = DAPL_TYPE_PSP,
	.handle_type = DAT_HANDLE_TYPE_PSP,
	.bad_handle = DAT_INVALID_HANDLE_PSP,
	.fields = DAT_PSP_FIELD_ALL,
	.freed = DCNT_IA_PSP_FREE,
	.rank = DAPL_RANK_SP,
	.end = dapl_sp_end,
};

static int psp_arrive(struct dapl_sp *sp, struct tp_conn *conn, const struct tp_conn_request *req)
{
	struct dapl_psp *psp = container_of(sp, struct dapl_psp, sp);
	struct dapl_ep *ep = NULL;

	if (psp->flags == DAT_PSP_PROVIDER_FLAG && !(ep = dapl_sp_make_ep(sp->obj.ia)))
		return -ENOMEM;
	return dapl_sp_hand_over(sp, conn, req, ep);
}

static DAT_RETURN psp_new(struct dapl_ia *ia, DAT_CONN_QUAL conn_qual, struct dapl_evd *evd,
			  DAT_PSP_FLAGS flags, struct dapl_psp **out)
{
	struct dapl_psp *psp = dapl_object_alloc(sizeof(*psp));
	DAT_RETURN rc;

	if (!psp)
		return DAPL_NO_RESOURCE(MEMORY);
	psp->sp.arrive = psp_arrive;
	psp->sp.evd = evd;
	psp->sp.conn_qual = conn_qual;
	psp->flags = flags;
	/* Listed first: a request may arrive before listen has returned. */
	if (!dapl_ia_add(ia, &psp->sp.obj, &dapl_psp_class, UINT32_MAX)) {
		dapl_object_release(&psp->sp.obj);
		return DAPL_BAD_HANDLE(IA);
	}
	rc = dapl_sp_listen(&psp->sp, ia, evd, conn_qual);
	if (rc) {
		dapl_ia_remove(&psp->sp.obj);
		dapl_object_release(&psp->sp.obj);
		return rc;
	}
	*out = psp;
	return DAT_SUCCESS;
}

static DAT_RETURN check_create(DAT_IA_HANDLE ia_handle, DAT_EVD_HANDLE evd_handle,
			       struct dapl_ia **ia, struct dapl_evd **evd)
{
	*ia = dapl_ia_get(ia_handle);
	if (!*ia)
		return DAPL_BAD_HANDLE(IA);
	*evd = dapl_evd_arg(evd_handle, *ia, DAT_EVD_CR_FLAG);
	return *evd ? DAT_SUCCESS : DAPL_BAD_HANDLE(EVD_CR);
}

static bool flags_ok(DAT_PSP_FLAGS flags)
{
	return flags == DAT_PSP_CONSUMER_FLAG || flags == DAT_PSP_PROVIDER_FLAG;
}

DAT_RETURN dapl_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			   DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS flags,
			   DAT_PSP_HANDLE *psp_handle)
{
	struct dapl_psp *psp;
	struct dapl_evd *evd;
	struct dapl_ia *ia;
	DAT_RETURN rc;

	rc = check_create(ia_handle, evd_handle, &ia, &evd);
	if (rc)
		return rc;
	if (!dapl_sp_qual_ok(ia, conn_qual))
		return DAPL_BAD_ARG(2);
	if (!flags_ok(flags))
		return DAPL_BAD_ARG(4);
	if (!psp_handle)
		return DAPL_BAD_ARG(5);
	rc = psp_new(ia, conn_qual, evd, flags, &psp);
	if (rc)
		return rc;
	dapl_count(ia, DCNT_IA_PSP_CREATE);
	*psp_handle = psp;
	return DAT_SUCCESS;
}

DAT_RETURN dapl_psp_create_any(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *conn_qual,
			       DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS flags,
			       DAT_PSP_HANDLE *psp_handle)
{
	struct dapl_psp *psp;
	struct dapl_evd *evd;
	struct dapl_ia *ia;
	DAT_RETURN rc;

	rc = check_create(ia_handle, evd_handle, &ia, &evd);
	if (rc)
		return rc;
	if (!conn_qual)
		return DAPL_BAD_ARG(2);
	if (!flags_ok(flags))
		return DAPL_BAD_ARG(4);
	if (!psp_handle)
		return DAPL_BAD_ARG(5);
	rc = psp_new(ia, 0, evd, flags, &psp);
	if (rc)
		return rc;
	dapl_count(ia, DCNT_IA_PSP_CREATE_ANY);
	*conn_qual = dapl_sp_qual(&psp->sp);
	*psp_handle = psp;
	return DAT_SUCCESS;
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
