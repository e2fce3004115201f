/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Endpoints that take their receives from an SRQ, and the limits on the receives at an endpoint. */
#include <errno.h>

#include "dapl/base/config.h"
#include "dapl/object/counters.h"
#include "dapl/endpoint/ep.h"
#include "dapl/event/async.h"
#include "dapl/object/ia.h"
#include "dapl/base/loop.h"
#include "dapl/transfer/srq.h"
#include "dapl/base/status.h"
#include "trace/log.h"

/* ---- Creation ---- */

/* Whether an SRQ is one and may be used (SRQ-34 to SRQ-36). */
static DAT_RETURN find_srq(struct dapl_ia *ia, DAT_SRQ_HANDLE handle, struct dapl_ep_parts *parts)
{
	struct dapl_srq *srq = handle ? dapl_object_use_arg(handle, DAPL_TYPE_SRQ) : NULL;

	parts->srq = srq; /* and to be left, whatever it is */
	if (!srq || srq->obj.ia != ia)
		return DAPL_BAD_HANDLE(SRQ);
	/* Its completions need a place. */
	if (!parts->recv_evd)
		return DAPL_BAD_HANDLE(EVD_RECV);
	if (atomic_load_explicit(&srq->failed, memory_order_relaxed))
		return DAPL_BAD_STATE(SRQ_ERROR);
	if (parts->pz && parts->pz != srq->pz && !ia->attr->srq_pd_differs)
		return DAPL_BAD_ARG(2);
	if (dapl_object_users(&srq->obj) > ia->attr->max_qp)
		return DAPL_NO_RESOURCE(SRQ);
	return DAT_SUCCESS;
}

DAT_RETURN dapl_ep_create_with_srq(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz,
				   DAT_EVD_HANDLE recv_evd, DAT_EVD_HANDLE request_evd,
				   DAT_EVD_HANDLE connect_evd, DAT_SRQ_HANDLE srq,
				   const DAT_EP_ATTR *ep_attr, DAT_EP_HANDLE *ep_handle)
{
	struct dapl_ia *ia = dapl_ia_get(ia_handle);
	struct dapl_ep_parts parts;
	DAT_RETURN rc;

	if (!ia)
		return DAPL_BAD_HANDLE(IA);
	if (!ia->attr->max_srq)
		return DAPL_NO_MODEL; /* EP-54, SRQ-2 */
	rc = dapl_ep_find_parts(ia, pz, recv_evd, request_evd, connect_evd, &parts);
	if (rc)
		return rc;
	rc = find_srq(ia, srq, &parts);
	if (!rc && !ep_attr && dapl_config.strict)
		rc = DAPL_BAD_ARG(7); /* SRQ-32 */
	if (rc) {
		dapl_ep_leave_parts(NULL, &parts);
		return rc;
	}
	return dapl_ep_create_of(ia, &parts, ep_attr, DAPL_BAD_ARG(7), DAPL_BAD_ARG(8), ep_handle);
}

/* ---- Watermarks ---- */

bool dapl_ep_has_watermarks(const struct tp_device_attr *dev)
{
	return dev->recv_limits || !dev->max_srq;
}

#define MARK(watermark) ((watermark) == DAT_WATERMARK_INFINITE ? UINT32_MAX : (uint32_t)(watermark))

/* Where posting begins to look closer: at the lower of the marks that are armed. */
static void set_watch(struct dapl_ep *ep)
{
	const struct dapl_ep_cold *cold = ep->cold;
	uint32_t soft = cold->soft_armed ? MARK(cold->soft_mark) : UINT32_MAX;
	uint32_t hard = MARK(cold->hard_mark);

	dapl_assert_held(&ep->qp.lock);
	ep->qp.recv.watch = soft < hard ? soft : hard;
	dapl_slots_stop(&ep->qp.recv);
}

/* Ends the connection of an EP that holds too many receives (SRQ-42, EP-124). */
static void break_connection(struct dapl_ep *ep)
{
	struct dapl_ep_step step;
	DAT_RETURN rc;

	dapl_lock(&ep->qp.lock);
	rc = dapl_ep_state(ep) == DAT_EP_STATE_CONNECTED ? dapl_ep_fire(ep, DAPL_EP_BROKEN, &step)
							 : DAPL_BAD_STATE(EP_UNCONNECTED);
	dapl_unlock(&ep->qp.lock);
	if (rc)
		return;
	dapl_err_limited(
		"EP %p: connection broken: more receives than its hard high watermark %d (knob: "
		"dat_ep_set_watermark)",
		(void *)ep, ep->cold->hard_mark);
	ep->obj.ia->dev->transport->cm->disconnect(ep->conn, false);
	dapl_ep_event(ep, step.event, NULL, 0);
}

static bool watched(struct dapl_ep *ep)
{
	bool yes;

	dapl_lock(&ep->qp.lock);
	yes = ep->qp.recv.watch != UINT32_MAX;
	dapl_unlock(&ep->qp.lock);
	return yes;
}

/* Compares; whether the hard mark is passed on a connected EP. No lock held. */
static bool check_marks(struct dapl_ep *ep)
{
	struct dapl_ep_cold *cold = ep->cold;
	uint32_t recv, request;
	bool soft, hard;

	if (!watched(ep))
		return false;
	ep->qp.tp->ops->pending(ep->qp.tp, &recv, &request);
	dapl_lock(&ep->qp.lock);
	soft = cold->soft_armed && recv > MARK(cold->soft_mark);
	hard = recv > MARK(cold->hard_mark) && dapl_ep_state(ep) == DAT_EP_STATE_CONNECTED;
	if (soft) {
		cold->soft_armed = false;
		set_watch(ep);
	}
	dapl_unlock(&ep->qp.lock);
	if (soft)
		dapl_async_watermark(ep->obj.ia, ep, DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
	return hard;
}

/* Receives may have completed since, or the mark be another one, or the connection. */
void dapl_ep_break(struct tp_task *task)
{
	struct dapl_ep *ep = container_of(task, struct dapl_ep_cold, breaker)->ep;

	if (check_marks(ep))
		break_connection(ep);
}

void dapl_ep_check_marks(struct dapl_qp *qp)
{
	struct dapl_ep *ep = container_of(qp, struct dapl_ep, qp);

	if (check_marks(ep))
		dapl_loop_post(ep->obj.ia->loop, &ep->cold->breaker);
}

DAT_RETURN dapl_ep_set_marks(struct dapl_ep *ep, DAT_COUNT soft, DAT_COUNT hard)
{
	struct dapl_ep_cold *cold = ep->cold;
	int err = 0;

	if (ep->qp.srq)
		err = ep->qp.tp->ops->limit_recv(ep->qp.tp, MARK(soft), MARK(hard));
	if (err)
		return dapl_status(err, DAT_RESOURCE_TEP);
	dapl_lock(&ep->qp.lock);
	cold->soft_mark = soft;
	cold->hard_mark = hard;
	if (!ep->qp.srq) {
		cold->soft_armed = soft != DAT_WATERMARK_INFINITE;
		set_watch(ep);
	}
	dapl_unlock(&ep->qp.lock);
	return DAT_SUCCESS;
}

/* In dat_ep_query, as the consumer gave it. */
static void show_soft(struct dapl_ep *ep, DAT_COUNT soft)
{
	dapl_lock(&ep->qp.lock);
	ep->cold->attr.srq_soft_hw = soft;
	dapl_unlock(&ep->qp.lock);
}

DAT_RETURN dapl_ep_set_soft(struct dapl_ep *ep, DAT_COUNT soft)
{
	DAT_COUNT mark = soft > 0 ? soft : DAT_WATERMARK_INFINITE;
	DAT_RETURN rc = DAT_SUCCESS;

	pthread_mutex_lock(&ep->cold->cm_lock);
	if (dapl_ep_has_watermarks(ep->obj.ia->attr)) /* else it is none */
		rc = dapl_ep_set_marks(ep, mark, ep->cold->hard_mark);
	if (!rc)
		show_soft(ep, soft);
	pthread_mutex_unlock(&ep->cold->cm_lock);
	if (!rc)
		dapl_ep_check_marks(&ep->qp);
	return rc;
}

DAT_RETURN dapl_ep_set_watermark(DAT_EP_HANDLE ep_handle, DAT_COUNT soft, DAT_COUNT hard)
{
	struct dapl_ep *ep = dapl_ep_get(ep_handle);
	DAT_RETURN rc;

	if (!ep)
		return DAPL_BAD_HANDLE(EP);
	if (soft < DAT_WATERMARK_INFINITE)
		return DAPL_BAD_ARG(2);
	if (hard < DAT_WATERMARK_INFINITE)
		return DAPL_BAD_ARG(3);
	if (!dapl_ep_has_watermarks(ep->obj.ia->attr)) /* SRQ-44 */
		return soft == DAT_WATERMARK_INFINITE && hard == DAT_WATERMARK_INFINITE
			       ? DAT_SUCCESS
			       : DAPL_NO_MODEL;
	pthread_mutex_lock(&ep->cold->cm_lock);
	rc = dapl_ep_set_marks(ep, soft, hard);
	if (!rc)
		show_soft(ep, soft);
	if (!rc && check_marks(ep))
		break_connection(ep); /* EP-126: during the call */
	pthread_mutex_unlock(&ep->cold->cm_lock);
	return rc;
}

DAT_RETURN dapl_ep_recv_query(DAT_EP_HANDLE ep_handle, DAT_COUNT *nbufs_allocated,
			      DAT_COUNT *bufs_alloc_span)
{
	struct dapl_ep *ep = dapl_ep_get(ep_handle);
	DAT_COUNT count = DAT_VALUE_UNKNOWN;
	uint32_t recv, request;

	if (!ep)
		return DAPL_BAD_HANDLE(EP);
	if (!ep->qp.srq || ep->obj.ia->attr->recv_limits) {
		ep->qp.tp->ops->pending(ep->qp.tp, &recv, &request);
		count = (DAT_COUNT)recv;
	}
	/* Every transport receives in order: the span is the count (SRQ-47). */
	if (nbufs_allocated)
		*nbufs_allocated = count;
	if (bufs_alloc_span)
		*bufs_alloc_span = count;
	return DAT_SUCCESS;
}
