/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reserved service points. */
#include <errno.h>

#include "dapl/base/loop.h"
#include "dapl/base/status.h"
#include "dapl/connect/cr.h"
#include "dapl/connect/sp.h"
#include "dapl/object/counters.h"
#include "dapl/object/ia.h"
#include "trace/log.h"

static DAT_RETURN fire(struct dapl_ep *ep, enum dapl_ep_cause cause)
{
	struct dapl_ep_step step;

	return ep ? dapl_ep_lock_and_fire(ep, cause, &step) : DAT_SUCCESS;
}

static int no_room(const struct dapl_evd *evd)
{
	dapl_err_limited("connection request refused: EVD %p has no room for it (limit: its queue "
			 "length %u; knob: evd_min_qlen of dat_evd_create, dat_evd_resize)",
			 (const void *)evd, evd->qlen);
	return -ENOBUFS;
}

/* A CR for a request, and a place for its event; NULL where that fails. */
static int make_cr(struct dapl_rsp *rsp, struct tp_conn *conn, const struct tp_conn_request *req,
		   struct dapl_cr **cr)
{
	struct dapl_ia *ia = rsp->sp.obj.ia;

	*cr = NULL;
	if (!dapl_evd_reserve(rsp->sp.evd))
		return no_room(rsp->sp.evd); /* PSP-4: the next request may find room */
	*cr = dapl_cr_new(ia, conn, req, !rsp->ep);
	if (*cr)
		return 0;
	dapl_evd_unreserve(rsp->sp.evd);
	return -ENOMEM;
}

/*
 * The one request of an RSP arrived. The rest is done once this upcall has returned,
 * since the qualifier is free again before the consumer gets the event (RSP-5).
 */
static int arrive(struct dapl_sp *sp, struct tp_conn *conn, const struct tp_conn_request *req)
{
	struct dapl_rsp *rsp = container_of(sp, struct dapl_rsp, sp);
	struct dapl_ia *ia = sp->obj.ia;
	struct dapl_cr *cr;
	bool first;
	int err;

	pthread_mutex_lock(&ia->lock);
	first = !rsp->spent;
	rsp->spent = true;
	pthread_mutex_unlock(&ia->lock);
	if (!first)
		return -ECONNREFUSED; /* RSP-6 */
	err = make_cr(rsp, conn, req, &cr);
	pthread_mutex_lock(&ia->lock);
	rsp->cr = cr;
	rsp->spent = cr;
	pthread_mutex_unlock(&ia->lock);
	if (!err)
		dapl_loop_post(ia->loop, &rsp->task);
	return err;
}

void dapl_sp_over(void *listener_owner)
{
	struct dapl_rsp *rsp = container_of(listener_owner, struct dapl_rsp, sp);
	struct dapl_ia *ia = rsp->sp.obj.ia;

	pthread_mutex_lock(&ia->lock);
	rsp->spent = true;
	rsp->over = true;
	pthread_mutex_unlock(&ia->lock);
	dapl_loop_post(ia->loop, &rsp->task);
}

/* What the consumer is to be told, once: a request, or that none comes. */
static struct dapl_cr *take_cr(struct dapl_rsp *rsp, bool *over)
{
	struct dapl_ia *ia = rsp->sp.obj.ia;
	struct dapl_cr *cr;

	pthread_mutex_lock(&ia->lock);
	cr = rsp->cr;
	*over = rsp->over;
	rsp->cr = NULL;
	rsp->over = false;
	pthread_mutex_unlock(&ia->lock);
	return cr;
}

/* The EP is the consumer's again, who may free it at once. */
static void give_back(struct dapl_ep *ep)
{
	if (!ep || !dapl_object_enter(&ep->obj, DAPL_TYPE_EP))
		return;
	if (!fire(ep, DAPL_EP_RSP_FREE))
		dapl_ep_event(ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, NULL, 0);
	dapl_object_leave(&ep->obj);
}

static bool announced(struct dapl_rsp *rsp, struct dapl_cr *cr)
{
	if (rsp->ep && !fire(rsp->ep, DAPL_EP_REQUEST))
		dapl_cr_bring_ep(cr, rsp->ep);
	if (!cr->ep)
		dapl_evd_unreserve(rsp->sp.evd);
	else if (dapl_cr_announce(cr, &rsp->sp, true))
		return true;
	dapl_cr_discard(cr);
	return false;
}

/* Even the place that was kept is gone where completions have overrun the queue. */
static void announce_cr(struct dapl_rsp *rsp, struct dapl_cr *cr)
{
	struct dapl_ep *ep = rsp->sp.listen ? rsp->ep : NULL; /* who is told of that (IWX-12) */

	/* Before the CR is discarded: then the EP is the consumer's again. */
	if (ep && !dapl_object_enter(&ep->obj, DAPL_TYPE_EP))
		ep = NULL;
	if (!announced(rsp, cr) && ep)
		dapl_ep_event(ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, NULL, 0);
	if (ep)
		dapl_object_leave(&ep->obj);
}

static void announce(struct tp_task *task)
{
	struct dapl_rsp *rsp = container_of(task, struct dapl_rsp, task);
	struct dapl_evd *evd = rsp->sp.evd;
	struct dapl_cr *cr;
	bool over;

	cr = take_cr(rsp, &over);
	if (!cr && !over)
		return;
	/* From here on the RSP does not keep the EVD from being freed. */
	dapl_object_enter(&evd->obj, DAPL_TYPE_EVD);
	dapl_sp_unlisten(&rsp->sp);
	if (cr)
		announce_cr(rsp, cr);
	else
		give_back(rsp->ep);
	dapl_object_leave(&evd->obj);
}

/* RSP-9: what arrived and was not announced yet is refused; a waiting RSP's EP is unconnected
 * again. */
void dapl_rsp_end(struct dapl_object *obj)
{
	struct dapl_rsp *rsp = container_of(obj, struct dapl_rsp, sp.obj);
	struct dapl_evd *evd = rsp->sp.evd;
	bool waiting, over, entered;
	struct dapl_cr *cr;

	/* Until it is spent it keeps the EVD from being freed. */
	entered = dapl_object_enter(&evd->obj, DAPL_TYPE_EVD);
	dapl_sp_end(obj);
	dapl_loop_cancel(obj->ia->loop, &rsp->task);
	cr = take_cr(rsp, &over);
	pthread_mutex_lock(&obj->ia->lock);
	waiting = !rsp->spent || cr || over;
	pthread_mutex_unlock(&obj->ia->lock);
	if (cr) {
		dapl_evd_unreserve(evd);
		dapl_cr_discard(cr);
	}
	if (entered)
		dapl_object_leave(&evd->obj);
	if (waiting)
		fire(rsp->ep, DAPL_EP_RSP_FREE);
}

/* Unless it is spent (RSP-7). */
bool dapl_rsp_in_way(const struct dapl_object *obj)
{
	return !container_of(obj, const struct dapl_rsp, sp.obj)->spent;
}

const struct dapl_class dapl_rsp_class = {
	DAPL_CLASS(RSP),     .freed = DCNT_IA_RSP_FREE, .describe = dapl_sp_describe,
	.end = dapl_rsp_end, .in_way = dapl_rsp_in_way, .uses = dapl_sp_uses,
};

DAT_RETURN dapl_rsp_start(struct dapl_rsp *rsp, const struct dapl_class *class, struct dapl_ia *ia)
{
	struct dapl_ep *ep = rsp->ep;
	DAT_RETURN rc;

	rsp->sp.arrive = arrive;
	rsp->task.run = announce;
	rc = fire(ep, DAPL_EP_RSP_CREATE);
	if (rc) {
		dapl_object_release(&rsp->sp.obj);
		return rc;
	}
	rc = dapl_sp_listen(&rsp->sp, class, ia);
	if (rc)
		fire(ep, DAPL_EP_RSP_FREE);
	return rc;
}

static DAT_RETURN rsp_new(struct dapl_ia *ia, DAT_CONN_QUAL conn_qual, struct dapl_ep *ep,
			  struct dapl_evd *evd, struct dapl_rsp **out)
{
	struct dapl_rsp *rsp = dapl_object_alloc(sizeof(*rsp));
	DAT_RETURN rc;

	if (!rsp)
		return DAPL_NO_RESOURCE(MEMORY);
	rsp->sp.evd = evd;
	rsp->sp.conn_qual = conn_qual;
	rsp->ep = ep;
	rc = dapl_rsp_start(rsp, &dapl_rsp_class, ia);
	*out = rsp;
	return rc;
}

DAT_RETURN dapl_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			   DAT_EP_HANDLE ep_handle, DAT_EVD_HANDLE evd_handle,
			   DAT_RSP_HANDLE *rsp_handle)
{
	struct dapl_ia *ia = dapl_ia_get(ia_handle);
	struct dapl_ep *ep = ep_handle ? dapl_object_arg(ep_handle, DAPL_TYPE_EP) : NULL;
	struct dapl_rsp *rsp;
	struct dapl_evd *evd;
	DAT_RETURN rc;

	/* Datagrams come by PSPs alone (IBX-67). */
	if (ia && ep_handle && (!ep || ep->obj.ia != ia || ep->qp.ud))
		return DAPL_BAD_HANDLE(EP);
	rc = dapl_sp_parts(ia_handle, evd_handle, &ia, &evd);
	if (rc)
		return rc;
	if (!dapl_sp_qual_ok(ia, conn_qual))
		rc = DAPL_BAD_ARG(2);
	else if (!rsp_handle)
		rc = DAPL_BAD_ARG(5);
	else
		rc = rsp_new(ia, conn_qual, ep, evd, &rsp);
	dapl_object_unuse(&evd->obj);
	if (rc)
		return rc;
	dapl_count(ia, DCNT_IA_RSP_CREATE);
	*rsp_handle = rsp;
	return DAT_SUCCESS;
}

DAT_RETURN dapl_rsp_query(DAT_RSP_HANDLE rsp_handle, DAT_RSP_PARAM_MASK mask, DAT_RSP_PARAM *param)
{
	struct dapl_rsp *rsp;
	DAT_RETURN rc;

	rsp = dapl_object_query(rsp_handle, &dapl_rsp_class, mask, param, &rc);
	if (!rsp)
		return rc;
	*param = (DAT_RSP_PARAM){
		.ia_handle = dapl_ia_handle(rsp->sp.obj.ia),
		.conn_qual = rsp->sp.conn_qual,
		.evd_handle = rsp->sp.evd,
		.ep_handle = rsp->ep,
	};
	return DAT_SUCCESS;
}

DAT_RETURN dapl_rsp_free(DAT_RSP_HANDLE rsp_handle)
{
	return dapl_ia_free(rsp_handle, &dapl_rsp_class);
}
