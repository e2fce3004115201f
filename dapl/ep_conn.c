/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connecting and disconnecting an endpoint. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dapl/conn.h"
#include "dapl/ep.h"
#include "dapl/ia.h"
#include "dapl/loop.h"
#include "dapl/status.h"
#include "dapl/trace.h"

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
		dapl_trace(DAPL_TRC_NORMAL, "EP %p %s -> %s: %s", (void *)ep,
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
		dapl_err("EP %p: %u bytes of private data dropped: %s", (void *)ep, len,
			 dapl_strerror(ENOMEM));
		return NULL;
	}
	memcpy(copy, data, len);
	free(ep->cold->private_data);
	ep->cold->private_data = copy;
	return copy;
}

void dapl_ep_event(struct dapl_ep *ep, DAT_EVENT_NUMBER number, const void *data, uint32_t len)
{
	struct dapl_event event = { .number = number };
	DAT_CONNECTION_EVENT_DATA *conn = &event.data.connect_event_data;

	if (!number || !ep->connect_evd)
		return; /* EVD-15 */
	conn->ep_handle = ep;
	if (len)
		conn->private_data = keep_private_data(ep, data, len);
	conn->private_data_size = conn->private_data ? (DAT_COUNT)len : 0;
	if (number != DAT_CONNECTION_EVENT_ESTABLISHED)
		dapl_evd_keep(ep->connect_evd);
	dapl_evd_append(ep->connect_evd, &event);
}

void dapl_ep_set_addr(struct dapl_ep *ep, const struct tp_conn_addr *addr)
{
	dapl_lock(&ep->lock);
	/* The consumer may be reading it (EP-57). */
	if (memcmp(&ep->cold->addr.remote, &addr->remote, sizeof(addr->remote)))
		ep->cold->addr.remote = addr->remote;
	ep->cold->addr.local_qual = addr->local_qual;
	ep->cold->addr.remote_qual = addr->remote_qual;
	ep->cold->addr_known = true;
	dapl_unlock(&ep->lock);
}

void dapl_ep_learn_addr(struct dapl_ep *ep)
{
	struct tp_conn_addr addr = { .local_qual = 0 };

	cm_of(ep)->addr(ep->conn, &addr);
	dapl_ep_set_addr(ep, &addr);
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
	dapl_trace(DAPL_TRC_ERROR, "EP %p to %s: event 0x%x: %s", (void *)ep, peer, number,
		   dapl_strerror(err));
}

void dapl_ep_conn_event(void *conn_owner, enum tp_conn_event event, int err, const void *data,
			uint32_t len)
{
	struct dapl_ep *ep = conn_owner;
	struct dapl_ep_step step;
	DAT_RETURN rc;

	dapl_ep_learn_addr(ep);
	dapl_lock(&ep->lock);
	rc = dapl_ep_fire(ep, cause_of(event), &step);
	dapl_unlock(&ep->lock);
	dapl_loop_timer_cancel(ep->obj.ia->loop, &ep->cold->timer);
	if (rc)
		return;
	explain(ep, step.event, err);
	dapl_ep_event(ep, step.event, data, len);
}

void dapl_ep_timed_out(struct tp_timer *timer)
{
	struct dapl_ep_cold *cold = dapl_container(timer, struct dapl_ep_cold, timer);
	struct dapl_ep *ep = cold->ep;
	struct dapl_ep_step step;
	DAT_RETURN rc;

	dapl_lock(&ep->lock);
	rc = dapl_ep_fire(ep, DAPL_EP_TIMED_OUT, &step);
	dapl_unlock(&ep->lock);
	if (rc)
		return;
	cm_of(ep)->disconnect(ep->conn, false);
	dapl_ep_event(ep, step.event, NULL, 0);
}

void dapl_ep_drop_conn(struct dapl_ep *ep)
{
	dapl_loop_timer_cancel(ep->obj.ia->loop, &ep->cold->timer);
	if (!ep->conn)
		return;
	cm_of(ep)->release(ep->conn);
	ep->conn = NULL;
}

/* ---- dat_ep_connect ---- */

DAT_RETURN dapl_check_private_data(const struct dapl_ia *ia, DAT_COUNT size, const void *data,
				   DAT_RETURN bad_size, DAT_RETURN bad_data)
{
	if (size < 0 || (uint32_t)size > ia->attr->max_private_data)
		return bad_size;
	return size && !data ? bad_data : DAT_SUCCESS;
}

void dapl_addr_text(const struct sockaddr_storage *addr, uint64_t qual, char text[DAPL_ADDR_LEN])
{
	char host[INET6_ADDRSTRLEN] = "?";

	if (addr->ss_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)addr)->sin_addr, host,
			  sizeof(host));
	else if (addr->ss_family == AF_INET6)
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)addr)->sin6_addr, host,
			  sizeof(host));
	snprintf(text, DAPL_ADDR_LEN, "%s qualifier %llu", host, (unsigned long long)qual);
}

/* EP-70: what is wrong with an address at first sight. */
static DAT_RETURN check_inet(const struct sockaddr_in *sin)
{
	uint32_t addr = ntohl(sin->sin_addr.s_addr);

	if (addr == INADDR_ANY || (addr >= 0xf0000000 && addr != INADDR_BROADCAST))
		return dapl_fail(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED);
	if (addr == INADDR_BROADCAST || IN_MULTICAST(addr))
		return dapl_fail(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED);
	return DAT_SUCCESS;
}

static DAT_RETURN check_inet6(const struct sockaddr_in6 *sin6)
{
	if (IN6_IS_ADDR_UNSPECIFIED(&sin6->sin6_addr))
		return dapl_fail(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED);
	if (IN6_IS_ADDR_MULTICAST(&sin6->sin6_addr))
		return dapl_fail(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED);
	return DAT_SUCCESS;
}

static DAT_RETURN check_address(const struct dapl_ia *ia, const struct sockaddr *remote)
{
	DAT_RETURN rc;

	switch (remote->sa_family) {
	case AF_INET:
		rc = check_inet((const struct sockaddr_in *)remote);
		break;
	case AF_INET6:
		rc = check_inet6((const struct sockaddr_in6 *)remote);
		break;
	default:
		return dapl_fail(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED);
	}
	if (!rc && remote->sa_family != ia->attr->addr.ss_family)
		rc = dapl_fail(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE);
	return rc;
}

DAT_RETURN dapl_check_qos(DAT_QOS qos, DAT_RETURN bad_arg)
{
	const uint32_t known =
		DAT_QOS_HIGH_THROUGHPUT | DAT_QOS_LOW_LATENCY | DAT_QOS_ECONOMY | DAT_QOS_PREMIUM;

	if ((uint32_t)qos & ~known)
		return bad_arg;
	return qos == DAT_QOS_BEST_EFFORT ? DAT_SUCCESS : DAPL_NO_MODEL; /* EP-74 */
}

static DAT_RETURN check_flags(DAT_CONNECT_FLAGS flags)
{
	const uint32_t known = DAT_CONNECT_MULTIPATH_FLAG | DAT_CONNECT_MULTIPATH_REQUIRED_FLAG;

	if ((uint32_t)flags & ~known)
		return DAPL_BAD_ARG(8); /* HA-14 */
	return flags & DAT_CONNECT_MULTIPATH_REQUIRED_FLAG ? DAPL_NO_MODEL
							   : DAT_SUCCESS; /* HA-13 */
}

/* Starts the attempt; cm_lock held, state A. The consumer's time runs from since (TMO-2). */
static DAT_RETURN start(struct dapl_ep *ep, const struct tp_connect *param, DAT_TIMEOUT timeout,
			uint64_t deadline)
{
	struct dapl_ia *ia = ep->obj.ia;
	int err = cm_of(ep)->connect(ep->qp, param, ep, &ep->conn);

	if (!err) {
		dapl_ep_learn_addr(ep);
		if (timeout != DAT_TIMEOUT_INFINITE &&
		    dapl_ep_state(ep) == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING)
			dapl_loop_timer(ia->loop, &ep->cold->timer, deadline);
		return DAT_SUCCESS;
	}
	ep->conn = NULL;
	dapl_lock(&ep->lock);
	dapl_ep_set_state(ep, DAT_EP_STATE_UNCONNECTED); /* EP-155 */
	dapl_unlock(&ep->lock);
	if (err == -EADDRNOTAVAIL)
		err = -EAGAIN; /* no local port left */
	return dapl_status(err, DAT_RESOURCE_TEP);
}

static DAT_RETURN connect_ep(struct dapl_ep *ep, const struct tp_connect *param,
			     DAT_TIMEOUT timeout)
{
	uint64_t deadline = dapl_deadline(timeout);
	struct dapl_ep_step step;
	DAT_RETURN rc;

	pthread_mutex_lock(&ep->cold->cm_lock);
	dapl_lock(&ep->lock);
	if (dapl_ep_state(ep) == DAT_EP_STATE_UNCONNECTED && !ep->pz)
		rc = DAPL_BAD_STATE(EP_NOTREADY);
	else
		rc = dapl_ep_fire(ep, DAPL_EP_CONNECT, &step);
	dapl_unlock(&ep->lock);
	if (!rc)
		rc = start(ep, param, timeout, deadline);
	pthread_mutex_unlock(&ep->cold->cm_lock);
	return rc;
}

DAT_RETURN dapl_ep_connect(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote, DAT_CONN_QUAL qual,
			   DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
			   const DAT_PVOID private_data, DAT_QOS qos, DAT_CONNECT_FLAGS flags)
{
	struct dapl_ep *ep = dapl_ep_get(ep_handle);
	struct tp_connect param;
	DAT_RETURN rc;

	if (!ep)
		return DAPL_BAD_HANDLE(EP);
	if (!ep->connect_evd)
		return DAPL_BAD_HANDLE(EVD_CONN);
	if (!remote)
		return DAPL_BAD_ARG(2);
	if (!timeout)
		return DAPL_BAD_ARG(4);
	rc = dapl_check_private_data(ep->obj.ia, private_data_size, private_data, DAPL_BAD_ARG(5),
				     DAPL_BAD_ARG(6));
	if (!rc)
		rc = dapl_check_qos(qos, DAPL_BAD_ARG(7));
	if (!rc)
		rc = check_flags(flags);
	if (!rc)
		rc = check_address(ep->obj.ia, (const struct sockaddr *)remote);
	if (rc)
		return rc;
	param = (struct tp_connect){ .remote = (const struct sockaddr *)remote,
				     .conn_qual = qual,
				     .private_data = private_data,
				     .private_data_len = (uint32_t)private_data_size };
	return connect_ep(ep, &param, timeout);
}

/* ---- dat_ep_disconnect ---- */

/* cm_lock held */
static DAT_RETURN disconnect(struct dapl_ep *ep, bool graceful)
{
	struct dapl_ep_step step;
	DAT_RETURN rc;

	dapl_lock(&ep->lock);
	rc = dapl_ep_fire(ep, graceful ? DAPL_EP_DISCONNECT_GRACEFUL : DAPL_EP_DISCONNECT, &step);
	dapl_unlock(&ep->lock);
	if (rc || step.verdict == DAPL_EP_STAY)
		return rc;
	dapl_loop_timer_cancel(ep->obj.ia->loop, &ep->cold->timer);
	cm_of(ep)->disconnect(ep->conn, step.next == DAT_EP_STATE_DISCONNECT_PENDING);
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
