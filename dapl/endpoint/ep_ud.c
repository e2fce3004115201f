/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/endpoint/ep_ud.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/base/loop.h"
#include "dapl/base/status.h"
#include "dapl/object/code_names.h"
#include "dapl/object/counters.h"
#include "dapl/object/ia.h"
#include "trace/log.h"

static const struct dapl_cm_ops *cm_of(const struct dapl_ep *ep)
{
	return ep->obj.ia->dev->transport->cm;
}

/* ---- Life ---- */

static void timed_out(struct tp_timer *timer);

static void insert(struct dapl_resolution **list, struct dapl_resolution *rsl)
{
	rsl->next = *list;
	rsl->link = list;
	if (rsl->next)
		rsl->next->link = &rsl->next;
	*list = rsl;
}

static void unlink_resolution(struct dapl_resolution *rsl)
{
	*rsl->link = rsl->next;
	if (rsl->next)
		rsl->next->link = rsl->link;
	rsl->link = NULL;
}

static struct dapl_resolution *new_resolution(struct dapl_ep *ep, bool active)
{
	struct dapl_resolution *rsl = calloc(1, sizeof(*rsl));

	if (!rsl) {
		dapl_err("endpoint %p: no address resolved: %s", (void *)ep, dapl_strerror(ENOMEM));
		return NULL;
	}
	rsl->ep = ep;
	rsl->active = active;
	rsl->timer.expired = timed_out;
	dapl_lock(&ep->qp.lock);
	insert(&ep->cold->resolutions, rsl);
	dapl_unlock(&ep->qp.lock);
	return rsl;
}

/* Waits for a callback of it that runs. It is in no list any more; no lock held. */
static void free_resolution(struct dapl_resolution *rsl)
{
	dapl_loop_timer_cancel(rsl->ep->obj.ia->loop, &rsl->timer);
	if (rsl->conn)
		cm_of(rsl->ep)->release(rsl->conn);
	free(rsl->private_data);
	free(rsl);
}

/* Frees what is in a list. */
static void free_all(struct dapl_ep *ep, struct dapl_resolution **list)
{
	struct dapl_resolution *rsl;

	for (;;) {
		dapl_lock(&ep->qp.lock);
		rsl = *list;
		if (rsl)
			unlink_resolution(rsl);
		dapl_unlock(&ep->qp.lock);
		if (!rsl)
			return;
		free_resolution(rsl);
	}
}

static void discard(struct dapl_resolution *rsl)
{
	dapl_lock(&rsl->ep->qp.lock);
	unlink_resolution(rsl);
	dapl_unlock(&rsl->ep->qp.lock);
	free_resolution(rsl);
}

void dapl_ud_end(struct dapl_ep *ep)
{
	free_all(ep, &ep->cold->resolutions);
	free_all(ep, &ep->cold->failed);
}

void dapl_ud_free_ahs(struct dapl_ep *ep)
{
	struct tp_device *dev = ep->obj.ia->dev;
	void *ah;

	while ((ah = dapl_ah_take(&ep->qp.cold->ahs)))
		cm_of(ep)->free_ah(dev, ah);
}

/* ---- Begin ---- */

DAT_RETURN dapl_ud_connect(struct dapl_ep *ep, const struct tp_connect *param, uint64_t deadline)
{
	struct dapl_resolution *rsl;
	int err;

	dapl_assert_mutex_held(&ep->cold->cm_lock);
	free_all(ep, &ep->cold->failed);
	rsl = new_resolution(ep, true);
	if (!rsl)
		return DAPL_NO_RESOURCE(MEMORY);
	err = cm_of(ep)->connect(ep->qp.tp, param, rsl, &rsl->conn);
	if (err) {
		rsl->conn = NULL;
		discard(rsl);
		return dapl_status(err == -EADDRNOTAVAIL ? -EAGAIN : err, DAT_RESOURCE_TEP);
	}
	dapl_count(ep->obj.ia, DCNT_IA_CM_REQ_TX);
	dapl_count(ep->obj.ia, DCNT_IA_CM_AH_REQ_TX);
	dapl_lock(&ep->qp.lock);
	ep->cold->connects++;
	if (deadline && !rsl->over)
		dapl_loop_timer(ep->obj.ia->loop, &rsl->timer, deadline);
	dapl_unlock(&ep->qp.lock);
	return DAT_SUCCESS;
}

int dapl_ud_accept(struct dapl_ep *ep, struct tp_conn *conn, void *request, uint32_t request_len,
		   const void *private_data, uint32_t len)
{
	struct dapl_resolution *rsl;
	int err;

	dapl_assert_mutex_held(&ep->cold->cm_lock);
	free_all(ep, &ep->cold->failed);
	rsl = new_resolution(ep, false);
	if (!rsl)
		return -ENOMEM;
	rsl->conn = conn;
	rsl->private_data = request;
	rsl->private_data_size = request_len;
	err = cm_of(ep)->accept(conn, ep->qp.tp, private_data, len, rsl);
	if (!err)
		return 0;
	rsl->conn = NULL;
	rsl->private_data = NULL;
	discard(rsl);
	return err;
}

/* ---- Outcome; on the loop ---- */

/* Whether it had none yet. */
static bool settle(struct dapl_resolution *rsl)
{
	bool first;

	dapl_lock(&rsl->ep->qp.lock);
	first = !rsl->over && rsl->link;
	rsl->over = true;
	dapl_unlock(&rsl->ep->qp.lock);
	if (first)
		dapl_loop_timer_cancel(rsl->ep->obj.ia->loop, &rsl->timer);
	return first;
}

/* It came to nothing: a later connect or accept frees it, unless it has data to show (IBX-73). */
static void fail(struct dapl_resolution *rsl)
{
	struct dapl_ep *ep = rsl->ep;

	dapl_lock(&ep->qp.lock);
	if (rsl->link && !rsl->private_data) {
		unlink_resolution(rsl);
		insert(&ep->cold->failed, rsl);
	}
	dapl_unlock(&ep->qp.lock);
}

static void store_data(struct dapl_resolution *rsl, const void *data, uint32_t len)
{
	void *copy = len ? malloc(len) : NULL;

	if (copy)
		memcpy(copy, data, len);
	else if (len)
		dapl_err_limited("endpoint %p: %u bytes of private data dropped: %s",
				 (void *)rsl->ep, len, dapl_strerror(ENOMEM));
	free(rsl->private_data);
	rsl->private_data = copy;
	rsl->private_data_size = copy ? len : 0;
}

static void peer_left(const struct dapl_event *event, bool delivered)
{
	free(event->leave_arg);
}

static void post(struct dapl_resolution *rsl, struct dapl_event *event)
{
	DAT_CONNECTION_EVENT_DATA *conn = &event->data.connect_event_data;

	conn->ep_handle = rsl->ep;
	if (event->number == (DAT_EVENT_NUMBER)DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED ||
	    event->number == (DAT_EVENT_NUMBER)DAT_IB_UD_CONNECTION_REJECT_EVENT) {
		conn->private_data = rsl->private_data;
		conn->private_data_size = (DAT_COUNT)rsl->private_data_size;
	}
	if (!dapl_ep_append_event(rsl->ep, event) && event->leave)
		event->leave(event, false);
}

/* The EP holds the handle from here on, unless it is being freed. */
static bool hold_ah(struct dapl_resolution *rsl, void *ah)
{
	struct dapl_ep *ep = rsl->ep;
	bool held;

	dapl_lock(&ep->qp.lock);
	held = rsl->link && dapl_ah_add(&ep->qp.cold->ahs, ah);
	rsl->established = held;
	dapl_unlock(&ep->qp.lock);
	if (!held)
		cm_of(ep)->free_ah(ep->obj.ia->dev, ah);
	return held;
}

static bool establish(struct dapl_resolution *rsl, const struct tp_ud_peer *from)
{
	struct dapl_peer *peer = calloc(1, sizeof(*peer));
	struct dapl_event event = {
		.number = (DAT_EVENT_NUMBER)DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED,
		.extension = rsl->active ? DAT_IB_UD_REMOTE_AH : DAT_IB_UD_PASSIVE_REMOTE_AH,
		.leave = peer_left,
		.leave_arg = peer,
	};
	struct dapl_ia *ia = rsl->ep->obj.ia;
	struct tp_conn_addr addr = { .local_qual = 0 };

	if (!peer) {
		dapl_err_limited("endpoint %p: no address resolved: %s", (void *)rsl->ep,
				 dapl_strerror(ENOMEM));
		cm_of(rsl->ep)->free_ah(ia->dev, from->ah);
		return false;
	}
	if (!hold_ah(rsl, from->ah)) {
		free(peer);
		return false;
	}
	cm_of(rsl->ep)->addr(rsl->conn, &addr);
	peer->remote_ah.ah = from->ah;
	peer->remote_ah.qpn = from->qpn;
	memcpy(&peer->remote_ah.ia_addr, &addr.remote, sizeof(peer->remote_ah.ia_addr));
	peer->context.as_ptr = rsl;
	dapl_count(ia, rsl->active ? DCNT_IA_CM_ACTIVE_EST : DCNT_IA_CM_PASSIVE_EST);
	dapl_count(ia, DCNT_IA_CM_AH_RESOLVED);
	post(rsl, &event);
	return true;
}

/* What the consumer is told of a failure (IBX-74 to IBX-76). */
static void tell_failure(struct dapl_resolution *rsl, enum tp_conn_event cause)
{
	struct dapl_event event = {
		.number = (DAT_EVENT_NUMBER)DAT_IB_UD_CONNECTION_ERROR_EVENT,
		.extension = DAT_IB_UD_CONNECT_ERROR,
	};

	if (rsl->active && (cause == TP_CONN_REJECTED || cause == TP_CONN_REFUSED)) {
		event.number = (DAT_EVENT_NUMBER)DAT_IB_UD_CONNECTION_REJECT_EVENT;
		event.extension = DAT_IB_UD_CONNECT_REJECT;
	} else if (rsl->active && cause == TP_CONN_UNREACHABLE) {
		event.number = DAT_CONNECTION_EVENT_UNREACHABLE;
	}
	if (cause == TP_CONN_REJECTED)
		dapl_count(rsl->ep->obj.ia, DCNT_IA_CM_USER_REJ_RX);
	else
		dapl_count_cm_error(rsl->ep->obj.ia, cause == TP_CONN_UNREACHABLE
							     ? DCNT_IA_CM_ERR_TIMEOUT
							     : DCNT_IA_CM_ERR_REFUSED);
	post(rsl, &event);
}

void dapl_ud_event(void *conn_owner, enum tp_conn_event event, int err,
		   const struct tp_ud_peer *peer, const void *data, uint32_t len)
{
	struct dapl_resolution *rsl = conn_owner;
	struct dapl_ep *ep = rsl->ep;

	dapl_trace(ud_event, DAPL_TRC_DETAIL, ep, "event=%s err=%d bytes=%u active=%d",
		   dapl_conn_event_name(event), err, len, rsl->active);
	if (!settle(rsl)) {
		if (event == TP_CONN_ESTABLISHED)
			cm_of(ep)->free_ah(ep->obj.ia->dev, peer->ah);
		return;
	}
	/* A passive one shows its request (IBX-69). */
	if (rsl->active || event != TP_CONN_ESTABLISHED)
		store_data(rsl, data, len);
	if (event == TP_CONN_ESTABLISHED && establish(rsl, peer))
		return;
	if (err)
		dapl_trace_limited(ud_failed, DAPL_TRC_ERROR, ep, "event=%s why=%s",
				   dapl_conn_event_name(event), dapl_strerror(err));
	tell_failure(rsl, event == TP_CONN_ESTABLISHED ? TP_CONN_BROKEN : event);
	fail(rsl);
}

static void timed_out(struct tp_timer *timer)
{
	struct dapl_resolution *rsl = container_of(timer, struct dapl_resolution, timer);
	struct dapl_event event = { .number = DAT_CONNECTION_EVENT_TIMED_OUT };
	struct dapl_ep *ep = rsl->ep;
	bool first;

	dapl_lock(&ep->qp.lock);
	first = !rsl->over && rsl->link;
	rsl->over = true;
	dapl_unlock(&ep->qp.lock);
	if (!first)
		return;
	dapl_count_cm_error(ep->obj.ia, DCNT_IA_CM_ERR_TIMEOUT);
	dapl_err_limited("endpoint %p: no address resolved: no answer within the program's time",
			 (void *)ep);
	cm_of(ep)->disconnect(rsl->conn, false);
	post(rsl, &event);
	fail(rsl);
}

/* ---- Calls of the extension ---- */

/* The endpoint of a call, or why there is none (IBX-93). */
static struct dapl_ep *ud_ep(DAT_HANDLE handle, DAT_RETURN *rc)
{
	struct dapl_ep *ep = dapl_object_arg(handle, DAPL_TYPE_EP);

	if (ep && !ep->obj.ia->attr->max_datagram)
		*rc = DAPL_NOT_IMPLEMENTED;
	else if (!ep || !ep->qp.ud)
		*rc = DAPL_BAD_HANDLE(EP);
	else
		return ep;
	return NULL;
}

DAT_RETURN dapl_ext_ud_ah_free(DAT_HANDLE handle, va_list args)
{
	const DAT_IB_ADDR_HANDLE *peer = va_arg(args, DAT_IB_ADDR_HANDLE *);
	struct dapl_ep *ep;
	DAT_RETURN rc;
	bool held;

	ep = ud_ep(handle, &rc);
	if (!ep)
		return rc;
	if (!peer || !peer->ah)
		return DAPL_BAD_ARG(3);
	dapl_lock(&ep->qp.lock);
	held = dapl_ah_remove(&ep->qp.cold->ahs, peer->ah);
	dapl_unlock(&ep->qp.lock);
	if (!held)
		return DAPL_BAD_ARG(3);
	cm_of(ep)->free_ah(ep->obj.ia->dev, peer->ah);
	return DAT_SUCCESS;
}

/* Any value may be looked for (IBX-92). */
static struct dapl_resolution *take_established(struct dapl_ep *ep, const void *wanted)
{
	struct dapl_resolution *rsl;

	dapl_lock(&ep->qp.lock);
	for (rsl = ep->cold->resolutions; rsl; rsl = rsl->next)
		if (rsl == wanted && rsl->established)
			break;
	if (rsl)
		unlink_resolution(rsl);
	dapl_unlock(&ep->qp.lock);
	return rsl;
}

DAT_RETURN dapl_ext_ud_cm_free(DAT_HANDLE handle, va_list args)
{
	DAT_CONTEXT context = va_arg(args, DAT_CONTEXT);
	struct dapl_resolution *rsl;
	struct dapl_ep *ep;
	DAT_RETURN rc;

	ep = ud_ep(handle, &rc);
	if (!ep)
		return rc;
	pthread_mutex_lock(&ep->cold->cm_lock);
	rsl = take_established(ep, context.as_ptr);
	if (rsl)
		free_resolution(rsl);
	pthread_mutex_unlock(&ep->cold->cm_lock);
	return rsl ? DAT_SUCCESS : DAPL_BAD_HANDLE(EP);
}
