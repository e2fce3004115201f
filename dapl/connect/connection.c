/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What happens to a connection once it was asked for, up to its end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/base/config.h"
#include "dapl/connect/conn.h"
#include "dapl/object/counters.h"
#include "dapl/endpoint/ep.h"
#include "dapl/event/async.h"
#include "dapl/object/ia.h"
#include "dapl/base/loop.h"
#include "dapl/object/names.h"
#include "dapl/base/status.h"
#include "trace/log.h"

static const struct dapl_cm_ops *cm_of(const struct dapl_ep *ep)
{
	return ep->obj.ia->dev->transport->cm;
}

/* ---- Steps and events ---- */

DAT_RETURN dapl_ep_fire(struct dapl_ep *ep, enum dapl_ep_cause cause, struct dapl_ep_step *step)
{
	uint8_t state = atomic_load_explicit(&ep->state, memory_order_relaxed);

	*step = dapl_ep_step(state, cause);
	if (step->verdict == DAPL_EP_REFUSE)
		return dapl_ep_state_error(state);
	if (step->verdict == DAPL_EP_GO) {
		dapl_trace(ep_state, DAPL_TRC_NORMAL, ep, "from=%s to=%s cause=%s",
			   dapl_ep_state_name(state), dapl_ep_state_name(step->next),
			   dapl_ep_cause_text(cause));
		dapl_ep_set_state(ep, step->next);
	}
	return DAT_SUCCESS;
}

/* A copy that lives as long as EVT-22 says. */
static void *keep_private_data(struct dapl_ep *ep, const void *data, uint32_t len)
{
	void *copy = malloc(len);

	if (!copy) {
		dapl_err_limited("EP %p: %u bytes of private data dropped: %s", (void *)ep, len,
				 dapl_strerror(ENOMEM));
		return NULL;
	}
	memcpy(copy, data, len);
	free(ep->cold->private_data);
	ep->cold->private_data = copy;
	return copy;
}

/* The connect EVD, which stays until dapl_object_leave; NULL: there is none (any more). */
static struct dapl_evd *enter_connect_evd(struct dapl_ep *ep)
{
	struct dapl_evd *evd;

	dapl_lock(&ep->lock);
	evd = ep->connect_evd;
	if (evd && !dapl_object_enter(&evd->obj, DAPL_TYPE_EVD))
		evd = NULL;
	dapl_unlock(&ep->lock);
	return evd;
}

void dapl_ep_forget(struct dapl_object *obj, struct dapl_object *evd)
{
	struct dapl_ep *ep = container_of(obj, struct dapl_ep, obj);
	bool forget;

	dapl_lock(&ep->lock);
	forget = ep->connect_evd && &ep->connect_evd->obj == evd;
	if (forget)
		ep->connect_evd = NULL;
	dapl_unlock(&ep->lock);
	if (forget)
		dapl_object_unuse(evd);
}

/*
 * Programs of release 2.1.10 wait for an asynchronous event of an EP with an SRQ before they free
 * it: no more receives of the SRQ complete for it. In strict mode there is none (EVT-28).
 */
static void tell_last_receive(struct dapl_ep *ep, DAT_EVENT_NUMBER number)
{
	bool ended = number == DAT_CONNECTION_EVENT_DISCONNECTED ||
		     number == DAT_CONNECTION_EVENT_BROKEN;

	if (ended && ep->srq && !dapl_config.strict)
		dapl_async_last_receive(ep->obj.ia, ep);
}

void dapl_ep_event(struct dapl_ep *ep, DAT_EVENT_NUMBER number, const void *data, uint32_t len)
{
	struct dapl_event event = { .number = number };
	DAT_CONNECTION_EVENT_DATA *conn = &event.data.connect_event_data;
	struct dapl_evd *evd;

	tell_last_receive(ep, number);
	evd = number ? enter_connect_evd(ep) : NULL;
	if (!evd)
		return; /* EVD-15 */
	conn->ep_handle = ep;
	if (len)
		conn->private_data = keep_private_data(ep, data, len);
	conn->private_data_size = conn->private_data ? (DAT_COUNT)len : 0;
	if (number != DAT_CONNECTION_EVENT_ESTABLISHED)
		dapl_evd_keep(evd, ep);
	dapl_evd_append(evd, &event);
	dapl_object_leave(&evd->obj);
}

/* EP lock held. */
static void keep_addr(struct dapl_ep *ep, const struct tp_conn_addr *addr)
{
	/* The consumer may be reading it (EP-57). */
	if (memcmp(&ep->cold->addr.remote, &addr->remote, sizeof(addr->remote)))
		ep->cold->addr.remote = addr->remote;
	ep->cold->addr.local_qual = addr->local_qual;
	ep->cold->addr.remote_qual = addr->remote_qual;
	ep->cold->addr_known = true;
}

void dapl_ep_set_addr(struct dapl_ep *ep, const struct tp_conn_addr *addr)
{
	dapl_lock(&ep->lock);
	keep_addr(ep, addr);
	dapl_unlock(&ep->lock);
}

/* Asks under the lock: what the loop has learned is not overwritten with what was before. */
void dapl_ep_learn_addr(struct dapl_ep *ep)
{
	struct tp_conn_addr addr = { .local_qual = 0 };

	dapl_lock(&ep->lock);
	cm_of(ep)->addr(ep->conn, &addr);
	keep_addr(ep, &addr);
	dapl_unlock(&ep->lock);
}

static enum dapl_ep_cause cause_of(enum tp_conn_event event)
{
	switch (event) {
	case TP_CONN_ESTABLISHED:
		return DAPL_EP_ESTABLISHED;
	case TP_CONN_REJECTED:
		return DAPL_EP_PEER_REJECTED;
	case TP_CONN_REFUSED:
		return DAPL_EP_REFUSED;
	case TP_CONN_UNREACHABLE:
		return DAPL_EP_UNREACHABLE;
	case TP_CONN_DISCONNECTED:
		return DAPL_EP_ENDED;
	case TP_CONN_BROKEN:
		break;
	}
	return DAPL_EP_BROKEN;
}

/* Once, for whoever looks for the reason of a connection that failed. */
static void explain(struct dapl_ep *ep, DAT_EVENT_NUMBER number, int err)
{
	char peer[DAPL_ADDR_LEN];

	if (!err)
		return;
	dapl_lock(&ep->lock);
	dapl_addr_text(&ep->cold->addr.remote, ep->cold->addr.remote_qual, peer);
	dapl_unlock(&ep->lock);
	dapl_trace_limited(ep_conn_failed, DAPL_TRC_ERROR, ep, "peer=%s event=%s why=%s", peer,
			   dapl_event_name(number), dapl_strerror(err));
}

/* The messages that the outcome says came or went, in the words of InfiniBand (26 to 66 of IBX's
 * table). */
static void count_outcome(struct dapl_ia *ia, uint8_t before, enum tp_conn_event event)
{
	bool active = before == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING;

	switch (event) {
	case TP_CONN_ESTABLISHED:
		dapl_count(ia, active ? DCNT_IA_CM_REP_RX : DCNT_IA_CM_RTU_RX);
		dapl_count(ia, active ? DCNT_IA_CM_ACTIVE_EST : DCNT_IA_CM_PASSIVE_EST);
		if (active)
			dapl_count(ia, DCNT_IA_CM_RTU_TX);
		break;
	case TP_CONN_REJECTED:
		dapl_count(ia, DCNT_IA_CM_USER_REJ_RX);
		break;
	case TP_CONN_REFUSED:
		dapl_count(ia, DCNT_IA_CM_ERR_REJ_RX);
		dapl_count_cm_error(ia, DCNT_IA_CM_ERR_REFUSED);
		break;
	case TP_CONN_UNREACHABLE:
		dapl_count_cm_error(ia, DCNT_IA_CM_ERR_TIMEOUT);
		break;
	case TP_CONN_DISCONNECTED:
		dapl_count(ia, before == DAT_EP_STATE_DISCONNECT_PENDING ? DCNT_IA_CM_DREP_RX
									 : DCNT_IA_CM_DREQ_RX);
		break;
	case TP_CONN_BROKEN:
		dapl_count_cm_error(ia, DCNT_IA_CM_ERR_RESET);
		break;
	}
}

void dapl_ep_conn_event(void *conn_owner, enum tp_conn_event event, int err, const void *data,
			uint32_t len)
{
	struct dapl_ep *ep = conn_owner;
	struct dapl_ep_step step;
	uint8_t before;
	DAT_RETURN rc;

	dapl_trace(conn_event, DAPL_TRC_DETAIL, ep, "event=%s err=%d bytes=%u",
		   dapl_conn_event_name(event), err, len);
	dapl_ep_learn_addr(ep);
	/* Not later: who sees the new state may begin to drain. */
	dapl_loop_timer_cancel(ep->obj.ia->loop, &ep->cold->timer);
	dapl_lock(&ep->lock);
	before = dapl_ep_state(ep);
	rc = dapl_ep_fire(ep, cause_of(event), &step);
	dapl_unlock(&ep->lock);
	if (rc)
		return;
	count_outcome(ep->obj.ia, before, event);
	explain(ep, step.event, err);
	dapl_ep_event(ep, step.event, data, len);
	if (event == TP_CONN_ESTABLISHED)
		dapl_ep_check_marks(ep);
}

static uint32_t requests_left(struct dapl_ep *ep)
{
	uint32_t recv, request;

	ep->qp->ops->pending(ep->qp, &recv, &request);
	return request;
}

/* A graceful disconnect waits for left requests, and so long for the next of them (TMO-8). */
static void await_drain(struct dapl_ep *ep, uint32_t left)
{
	ep->cold->left = left;
	dapl_loop_timer(ep->obj.ia->loop, &ep->cold->timer,
			dapl_now() + (uint64_t)dapl_config.drain_ms * 1000000);
}

/* Whether some completed meanwhile: the time begins anew. */
static bool drains_on(struct dapl_ep *ep)
{
	uint32_t left;

	if (dapl_ep_state(ep) != DAT_EP_STATE_DISCONNECT_PENDING)
		return false;
	left = requests_left(ep);
	if (left >= ep->cold->left)
		return false;
	await_drain(ep, left);
	return true;
}

void dapl_ep_timed_out(struct tp_timer *timer)
{
	struct dapl_ep_cold *cold = container_of(timer, struct dapl_ep_cold, timer);
	struct dapl_ep *ep = cold->ep;
	struct dapl_ep_step step;
	DAT_RETURN rc;

	if (drains_on(ep))
		return;
	dapl_lock(&ep->lock);
	rc = dapl_ep_fire(ep, DAPL_EP_TIMED_OUT, &step);
	dapl_unlock(&ep->lock);
	if (rc)
		return;
	if (step.event == DAT_CONNECTION_EVENT_TIMED_OUT)
		dapl_count_cm_error(ep->obj.ia, DCNT_IA_CM_ERR_TIMEOUT);
	else
		dapl_trace(ep_drain_ended, DAPL_TRC_ERROR, ep,
			   "requests=%u none completed in time (option drain): ms=%lld", cold->left,
			   (long long)dapl_config.drain_ms);
	cm_of(ep)->disconnect(ep->conn, false);
	dapl_ep_event(ep, step.event, NULL, 0);
}

void dapl_ep_drop_conn(struct dapl_ep *ep)
{
	dapl_loop_timer_cancel(ep->obj.ia->loop, &ep->cold->timer);
	dapl_loop_cancel(ep->obj.ia->loop, &ep->cold->breaker);
	if (!ep->conn)
		return;
	cm_of(ep)->release(ep->conn);
	ep->conn = NULL;
}

/* ---- dat_ep_disconnect ---- */

/* cm_lock held */
static DAT_RETURN disconnect(struct dapl_ep *ep, bool graceful)
{
	struct dapl_ep_step step;
	DAT_RETURN rc;
	bool drain;

	dapl_lock(&ep->lock);
	rc = dapl_ep_fire(ep, graceful ? DAPL_EP_DISCONNECT_GRACEFUL : DAPL_EP_DISCONNECT, &step);
	dapl_unlock(&ep->lock);
	if (rc || step.verdict == DAPL_EP_STAY)
		return rc;
	drain = step.next == DAT_EP_STATE_DISCONNECT_PENDING;
	if (drain)
		await_drain(ep, requests_left(ep));
	else
		dapl_loop_timer_cancel(ep->obj.ia->loop, &ep->cold->timer);
	ep->cold->disconnects++;
	dapl_count(ep->obj.ia, DCNT_IA_CM_DREQ_TX);
	cm_of(ep)->disconnect(ep->conn, drain);
	dapl_ep_event(ep, step.event, NULL, 0);
	return DAT_SUCCESS;
}

DAT_RETURN dapl_ep_disconnect(DAT_EP_HANDLE ep_handle, DAT_CLOSE_FLAGS flags)
{
	struct dapl_ep *ep = dapl_ep_get(ep_handle);
	DAT_RETURN rc;

	if (!ep)
		return DAPL_BAD_HANDLE(EP);
	if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
		return DAPL_BAD_ARG(2);
	pthread_mutex_lock(&ep->cold->cm_lock);
	rc = disconnect(ep, flags == DAT_CLOSE_GRACEFUL_FLAG);
	pthread_mutex_unlock(&ep->cold->cm_lock);
	return rc;
}
