/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Steps of an endpoint's state, the events they make, and what it knows of its connection. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/base/config.h"
#include "dapl/base/loop.h"
#include "dapl/base/status.h"
#include "dapl/endpoint/ep.h"
#include "dapl/event/async.h"
#include "dapl/object/counters.h"
#include "dapl/object/ia.h"
#include "trace/log.h"

static void update_slots(struct dapl_ep *ep, struct dapl_slots *slots, enum dapl_ep_cause cause)
{
	uint8_t state = dapl_ep_state(ep);

	dapl_assert_held(&ep->qp.lock);
	slots->refused = DAT_SUCCESS;
	if (!ep->qp.pz || !slots->limit)
		slots->refused = DAPL_BAD_STATE(EP_NOTREADY);
	else if (dapl_ep_step(state, cause).verdict == DAPL_EP_REFUSE)
		slots->refused = dapl_ep_state_error(state);
	dapl_slots_stop(slots);
}

void dapl_ep_update_slots(struct dapl_ep *ep)
{
	/* Datagrams need no connection (IBX-62). */
	update_slots(ep, &ep->qp.request, ep->qp.ud ? DAPL_EP_POST_RECV : DAPL_EP_POST_REQUEST);
	update_slots(ep, &ep->qp.recv, DAPL_EP_POST_RECV);
}

void dapl_ep_set_state(struct dapl_ep *ep, uint8_t state)
{
	dapl_assert_held(&ep->qp.lock);
	atomic_store_explicit(&ep->state, state, memory_order_release);
	atomic_store_explicit(&ep->qp.cold->binder.connected, dapl_ep_state_connected(state),
			      memory_order_relaxed);
	dapl_ep_update_slots(ep);
}

DAT_RETURN dapl_ep_fire(struct dapl_ep *ep, enum dapl_ep_cause cause, struct dapl_ep_step *step)
{
	uint8_t state = atomic_load_explicit(&ep->state, memory_order_relaxed);

	dapl_assert_held(&ep->qp.lock);
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

DAT_RETURN dapl_ep_lock_and_fire(struct dapl_ep *ep, enum dapl_ep_cause cause,
				 struct dapl_ep_step *step)
{
	DAT_RETURN rc;

	dapl_lock(&ep->qp.lock);
	rc = dapl_ep_fire(ep, cause, step);
	dapl_unlock(&ep->qp.lock);
	return rc;
}

/* A copy that lives as long as EVT-22 says. */
static void *copy_private_data(struct dapl_ep *ep, const void *data, uint32_t len)
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

	dapl_lock(&ep->qp.lock);
	evd = ep->connect_evd;
	if (evd && !dapl_object_enter(&evd->obj, DAPL_TYPE_EVD))
		evd = NULL;
	dapl_unlock(&ep->qp.lock);
	return evd;
}

bool dapl_ep_has_connect_evd(struct dapl_ep *ep)
{
	bool has;

	dapl_lock(&ep->qp.lock);
	has = ep->connect_evd;
	dapl_unlock(&ep->qp.lock);
	return has;
}

void dapl_ep_forget(struct dapl_object *obj, struct dapl_object *evd)
{
	struct dapl_ep *ep = container_of(obj, struct dapl_ep, obj);
	bool forget;

	dapl_lock(&ep->qp.lock);
	forget = ep->connect_evd && &ep->connect_evd->obj == evd;
	if (forget)
		ep->connect_evd = NULL;
	dapl_unlock(&ep->qp.lock);
	if (forget)
		dapl_object_unuse(evd);
}

/*
 * Programs of release 2.1.10 wait for an asynchronous event of an EP with an SRQ before they free
 * it: no more receives of the SRQ complete for it. In strict mode there is none (EVT-28).
 */
static void post_last_receive(struct dapl_ep *ep, DAT_EVENT_NUMBER number)
{
	bool ended = number == DAT_CONNECTION_EVENT_DISCONNECTED ||
		     number == DAT_CONNECTION_EVENT_BROKEN;

	if (ended && ep->qp.srq && !dapl_config.strict)
		dapl_async_last_receive(ep->obj.ia, ep);
}

void dapl_ep_event(struct dapl_ep *ep, DAT_EVENT_NUMBER number, const void *data, uint32_t len)
{
	struct dapl_event event = { .number = number };
	DAT_CONNECTION_EVENT_DATA *conn = &event.data.connect_event_data;
	struct dapl_evd *evd;

	post_last_receive(ep, number);
	evd = number ? enter_connect_evd(ep) : NULL;
	if (!evd)
		return; /* EVD-15 */
	conn->ep_handle = ep;
	if (len)
		conn->private_data = copy_private_data(ep, data, len);
	conn->private_data_size = conn->private_data ? (DAT_COUNT)len : 0;
	if (number != DAT_CONNECTION_EVENT_ESTABLISHED)
		dapl_evd_drain_ep(evd, ep);
	dapl_evd_append(evd, &event);
	dapl_object_leave(&evd->obj);
}

bool dapl_ep_append_event(struct dapl_ep *ep, const struct dapl_event *event)
{
	struct dapl_evd *evd = enter_connect_evd(ep);
	bool room;

	if (!evd)
		return false;
	room = dapl_evd_append(evd, event);
	dapl_object_leave(&evd->obj);
	return room;
}

static void store_addr(struct dapl_ep *ep, const struct tp_conn_addr *addr)
{
	dapl_assert_held(&ep->qp.lock);
	/* The consumer may be reading it (EP-57). */
	if (memcmp(&ep->cold->addr.remote, &addr->remote, sizeof(addr->remote)))
		ep->cold->addr.remote = addr->remote;
	ep->cold->addr.local_qual = addr->local_qual;
	ep->cold->addr.remote_qual = addr->remote_qual;
	ep->cold->addr.link = addr->link;
	ep->cold->addr.link_why = addr->link_why;
	ep->cold->addr.crc = addr->crc;
	ep->cold->addr.crc_why = addr->crc_why;
	ep->cold->addr_known = true;
}

void dapl_ep_set_addr(struct dapl_ep *ep, const struct tp_conn_addr *addr)
{
	dapl_lock(&ep->qp.lock);
	store_addr(ep, addr);
	dapl_unlock(&ep->qp.lock);
}

/* Asks under the lock: what the loop has learned is not overwritten with what was before. */
void dapl_ep_learn_addr(struct dapl_ep *ep)
{
	struct tp_conn_addr addr = { .local_qual = 0 };

	dapl_lock(&ep->qp.lock);
	ep->obj.ia->dev->transport->cm->addr(ep->conn, &addr);
	store_addr(ep, &addr);
	dapl_unlock(&ep->qp.lock);
}

const char *dapl_ep_peer(struct dapl_ep *ep, char text[DAPL_PEER_TEXT])
{
	char host[INET6_ADDRSTRLEN] = "?";
	struct sockaddr_storage addr;
	DAT_CONN_QUAL qual;

	dapl_lock(&ep->qp.lock);
	addr = ep->cold->addr.remote;
	qual = ep->cold->addr.remote_qual;
	dapl_unlock(&ep->qp.lock);
	if (addr.ss_family == AF_INET)
		inet_ntop(AF_INET, &((struct sockaddr_in *)&addr)->sin_addr, host, sizeof(host));
	else if (addr.ss_family == AF_INET6)
		inet_ntop(AF_INET6, &((struct sockaddr_in6 *)&addr)->sin6_addr, host, sizeof(host));
	snprintf(text, DAPL_PEER_TEXT, "%s qualifier %llu", host, (unsigned long long)qual);
	return text;
}

/* ---- Time limits ---- */

static uint32_t outstanding(struct dapl_ep *ep)
{
	uint32_t recv, request;

	ep->qp.tp->ops->pending(ep->qp.tp, &recv, &request);
	return request;
}

void dapl_ep_await_drain(struct dapl_ep *ep)
{
	ep->cold->undrained = outstanding(ep);
	dapl_loop_timer(ep->obj.ia->loop, &ep->cold->timer,
			dapl_now() + (uint64_t)dapl_config.drain_ms * 1000000);
}

/* Whether some completed meanwhile: the time begins anew. */
static bool keeps_draining(struct dapl_ep *ep)
{
	if (dapl_ep_state(ep) != DAT_EP_STATE_DISCONNECT_PENDING ||
	    outstanding(ep) >= ep->cold->undrained)
		return false;
	dapl_ep_await_drain(ep);
	return true;
}

void dapl_ep_timed_out(struct tp_timer *timer)
{
	struct dapl_ep_cold *cold = container_of(timer, struct dapl_ep_cold, timer);
	struct dapl_ep *ep = cold->ep;
	char peer[DAPL_PEER_TEXT];
	struct dapl_ep_step step;
	DAT_RETURN rc;

	if (keeps_draining(ep))
		return;
	rc = dapl_ep_lock_and_fire(ep, DAPL_EP_TIMED_OUT, &step);
	if (rc)
		return;
	if (step.event == DAT_CONNECTION_EVENT_TIMED_OUT) {
		dapl_count_cm_error(ep->obj.ia, DCNT_IA_CM_ERR_TIMEOUT);
		dapl_err_limited("endpoint %p: not connected to %s: no answer within the program's "
				 "time",
				 (void *)ep, dapl_ep_peer(ep, peer));
	} else {
		dapl_err_limited("endpoint %p: connection to %s ended with %u requests "
				 "outstanding: none completed within %lld ms (option drain)",
				 (void *)ep, dapl_ep_peer(ep, peer), cold->undrained,
				 (long long)dapl_config.drain_ms);
	}
	ep->obj.ia->dev->transport->cm->disconnect(ep->conn, false);
	dapl_ep_event(ep, step.event, NULL, 0);
}

void dapl_ep_drop_conn(struct dapl_ep *ep)
{
	dapl_loop_timer_cancel(ep->obj.ia->loop, &ep->cold->timer);
	dapl_loop_cancel(ep->obj.ia->loop, &ep->cold->breaker);
	if (!ep->conn)
		return;
	ep->obj.ia->dev->transport->cm->release(ep->conn);
	ep->conn = NULL;
}
