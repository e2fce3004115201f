/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connecting and disconnecting an endpoint, and what becomes of the connection. */
#include "dapl/connect/connect.h"

#include <errno.h>
#include <stdarg.h>

#include <dat/dat_iw_extensions.h>

#include "dapl/base/config.h"
#include "dapl/base/loop.h"
#include "dapl/base/status.h"
#include "dapl/connect/addr.h"
#include "dapl/endpoint/ep.h"
#include "dapl/endpoint/ep_ud.h"
#include "dapl/object/code_names.h"
#include "dapl/object/counters.h"
#include "dapl/object/ia.h"
#include "dapl/transfer/refusal.h"
#include "trace/log.h"

static const struct dapl_cm_ops *cm_of(const struct dapl_ep *ep)
{
	return ep->obj.ia->dev->transport->cm;
}

/* ---- Outcome ---- */

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
	char peer[DAPL_PEER_TEXT];

	if (err)
		dapl_trace_limited(ep_conn_failed, DAPL_TRC_ERROR, ep, "peer=%s event=%s why=%s",
				   dapl_ep_peer(ep, peer), dapl_event_name(number),
				   dapl_strerror(err));
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
	dapl_lock(&ep->qp.lock);
	before = dapl_ep_state(ep);
	rc = dapl_ep_fire(ep, cause_of(event), &step);
	dapl_unlock(&ep->qp.lock);
	if (rc)
		return;
	count_outcome(ep->obj.ia, before, event);
	explain(ep, step.event, err);
	dapl_ep_event(ep, step.event, data, len);
	if (event == TP_CONN_ESTABLISHED)
		dapl_ep_check_marks(&ep->qp);
}

/* ---- dat_ep_connect and its like ---- */

static DAT_RETURN check_flags(DAT_CONNECT_FLAGS flags)
{
	const uint32_t known = DAT_CONNECT_MULTIPATH_FLAG | DAT_CONNECT_MULTIPATH_REQUIRED_FLAG;

	if ((uint32_t)flags & ~known)
		return DAPL_BAD_ARG(8); /* HA-14 */
	return flags & DAT_CONNECT_MULTIPATH_REQUIRED_FLAG ? DAPL_NO_MODEL
							   : DAT_SUCCESS; /* HA-13 */
}

/* Starts the attempt, in state A. deadline: the consumer's (TMO-2), or 0. */
static DAT_RETURN start(struct dapl_ep *ep, const struct tp_connect *param, uint64_t deadline)
{
	struct dapl_ia *ia = ep->obj.ia;
	int err;

	dapl_assert_mutex_held(&ep->cold->cm_lock);
	if (param->remote)
		err = cm_of(ep)->connect(ep->qp.tp, param, ep, &ep->conn);
	else
		err = ia->dev->transport->socket->connect(ep->qp.tp, param, ep, &ep->conn);
	if (!err) {
		dapl_count(ia, DCNT_IA_CM_REQ_TX);
		ep->cold->connects++;
		dapl_ep_learn_addr(ep);
		if (deadline && dapl_ep_state(ep) == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING)
			dapl_loop_timer(ia->loop, &ep->cold->timer, deadline);
		return DAT_SUCCESS;
	}
	ep->conn = NULL;
	dapl_lock(&ep->qp.lock);
	dapl_ep_set_state(ep, DAT_EP_STATE_UNCONNECTED); /* EP-155 */
	dapl_unlock(&ep->qp.lock);
	if (err == -EINVAL && !param->remote)
		return DAPL_BAD_ARG(3); /* the socket */
	if (err == -EADDRNOTAVAIL)
		err = -EAGAIN; /* no local port left */
	return dapl_status(err, DAT_RESOURCE_TEP);
}

/* Where that fails the state is as before (GEN-8): it decides what dat_ep_modify may change. */
static DAT_RETURN start_datagrams(struct dapl_ep *ep, const struct tp_connect *param,
				  uint64_t deadline, uint8_t before)
{
	DAT_RETURN rc = dapl_ud_connect(ep, param, deadline);

	if (!rc)
		return DAT_SUCCESS;
	dapl_lock(&ep->qp.lock);
	if (dapl_ep_state(ep) == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING)
		dapl_ep_set_state(ep, before);
	dapl_unlock(&ep->qp.lock);
	return rc;
}

static DAT_RETURN connect_by(struct dapl_ep *ep, const struct tp_connect *param,
			     DAT_TIMEOUT timeout)
{
	uint64_t deadline = timeout == DAT_TIMEOUT_INFINITE ? 0 : dapl_deadline(timeout);
	struct dapl_ep_step step;
	uint8_t before;
	DAT_RETURN rc;

	pthread_mutex_lock(&ep->cold->cm_lock);
	dapl_lock(&ep->qp.lock);
	before = dapl_ep_state(ep);
	if (before == DAT_EP_STATE_UNCONNECTED && !ep->qp.pz)
		rc = dapl_not_ready(&ep->qp, &ep->qp.request);
	else
		rc = dapl_ep_fire(ep, ep->qp.ud ? DAPL_EP_UD_CONNECT : DAPL_EP_CONNECT, &step);
	dapl_unlock(&ep->qp.lock);
	if (!rc)
		rc = ep->qp.ud ? start_datagrams(ep, param, deadline, before)
			       : start(ep, param, deadline);
	pthread_mutex_unlock(&ep->cold->cm_lock);
	return rc;
}

static DAT_RETURN connect_ep(struct dapl_ep *ep, const void *remote, DAT_CONN_QUAL qual,
			     DAT_TIMEOUT timeout, DAT_COUNT size, const void *private_data)
{
	const struct tp_connect param = { .remote = remote,
					  .conn_qual = qual,
					  .private_data = private_data,
					  .private_data_len = (uint32_t)size };

	return connect_by(ep, &param, timeout);
}

/* What the three calls check alike; timeout is argument first, size and data are the next two. */
static DAT_RETURN check_call(const struct dapl_ep *ep, unsigned int first, DAT_TIMEOUT timeout,
			     DAT_COUNT private_data_size, const void *private_data)
{
	if (!timeout)
		return DAPL_BAD_ARG(first);
	return dapl_check_private_data(ep->obj.ia, private_data_size, private_data,
				       DAPL_BAD_ARG(first + 1), DAPL_BAD_ARG(first + 2));
}

DAT_RETURN dapl_ep_connect(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote, DAT_CONN_QUAL qual,
			   DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
			   const DAT_PVOID private_data, DAT_QOS qos, DAT_CONNECT_FLAGS flags)
{
	struct dapl_ep *ep = dapl_ep_get(ep_handle);
	DAT_RETURN rc;

	if (!ep)
		return DAPL_BAD_HANDLE(EP);
	if (!dapl_ep_has_connect_evd(ep))
		return DAPL_BAD_HANDLE(EVD_CONN);
	if (!remote)
		return DAPL_BAD_ARG(2);
	rc = check_call(ep, 4, timeout, private_data_size, private_data);
	if (!rc)
		rc = dapl_check_qos(qos, DAPL_BAD_ARG(7));
	if (!rc)
		rc = check_flags(flags);
	if (!rc)
		rc = dapl_check_remote(ep->obj.ia, (const struct sockaddr *)remote);
	return rc ? rc
		  : connect_ep(ep, remote, dapl_addr_wire_qual(ep->obj.ia, qual), timeout,
			       private_data_size, private_data);
}

/* Whom a connected EP is connected to. */
static DAT_RETURN find_peer(struct dapl_ep *dup, struct tp_conn_addr *peer)
{
	uint8_t state;

	dapl_lock(&dup->qp.lock);
	state = dapl_ep_state(dup);
	*peer = dup->cold->addr;
	dapl_unlock(&dup->qp.lock);
	return dapl_ep_state_connected(state) ? DAT_SUCCESS : dapl_ep_state_error(state);
}

/* The flags of the first connection say nothing that would make a difference (HA-12, HA-13). */
DAT_RETURN dapl_ep_dup_connect(DAT_EP_HANDLE ep_handle, DAT_EP_HANDLE dup_handle,
			       DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
			       const DAT_PVOID private_data, DAT_QOS qos)
{
	struct dapl_ep *dup = dapl_object_arg(dup_handle, DAPL_TYPE_EP);
	struct dapl_ep *ep = dapl_ep_get(ep_handle);
	struct tp_conn_addr peer;
	DAT_RETURN rc;

	if (!ep || !dup || dup->obj.ia != ep->obj.ia || ep->qp.ud || dup->qp.ud) /* IBX-63 */
		return DAPL_BAD_HANDLE(EP);
	if (!dapl_ep_has_connect_evd(ep))
		return DAPL_BAD_HANDLE(EVD_CONN);
	rc = check_call(ep, 3, timeout, private_data_size, private_data);
	if (!rc)
		rc = dapl_check_qos(qos, DAPL_BAD_ARG(6));
	if (!rc)
		rc = find_peer(dup, &peer);
	return rc ? rc
		  : connect_ep(ep, &peer.remote, peer.remote_qual, timeout, private_data_size,
			       private_data);
}

DAT_RETURN dapl_ep_common_connect(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote,
				  DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
				  const DAT_PVOID private_data)
{
	const struct sockaddr *addr = (const struct sockaddr *)remote;
	struct dapl_ep *ep = dapl_ep_get(ep_handle);
	DAT_RETURN rc;

	if (!ep)
		return DAPL_BAD_HANDLE(EP);
	if (!dapl_ep_has_connect_evd(ep))
		return DAPL_BAD_HANDLE(EVD_CONN);
	if (!remote)
		return DAPL_BAD_ARG(2);
	rc = check_call(ep, 3, timeout, private_data_size, private_data);
	if (!rc)
		rc = dapl_check_comm(ep->obj.ia, &ep->cold->comm);
	if (!rc)
		rc = dapl_check_remote(ep->obj.ia, addr);
	if (!rc && !dapl_addr_port(addr)) /* EP-88 */
		rc = dapl_fail(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED);
	return rc ? rc
		  : connect_ep(ep, addr, dapl_addr_port(addr), timeout, private_data_size,
			       private_data);
}

/* In the order of the macro's arguments, the socket being the third of dat_extension_op. */
DAT_RETURN dapl_ext_socket_connect(DAT_HANDLE ep_handle, va_list args)
{
	struct tp_connect param = { .socket = va_arg(args, DAT_IW_SOCKET) };
	DAT_TIMEOUT timeout = va_arg(args, DAT_TIMEOUT);
	DAT_COUNT size = va_arg(args, DAT_COUNT);
	struct dapl_ep *ep = dapl_object_arg(ep_handle, DAPL_TYPE_EP);
	DAT_RETURN rc;

	param.private_data = va_arg(args, DAT_PVOID);
	if (!ep)
		return DAPL_BAD_HANDLE(EP);
	if (!ep->obj.ia->dev->transport->socket)
		return DAPL_NOT_IMPLEMENTED; /* IWX-3 */
	if (ep->qp.ud)
		return DAPL_BAD_HANDLE(EP);
	if (!dapl_ep_has_connect_evd(ep))
		return DAPL_BAD_HANDLE(EVD_CONN);
	rc = check_call(ep, 4, timeout, size, param.private_data);
	if (rc)
		return rc;
	param.private_data_len = (uint32_t)size;
	return connect_by(ep, &param, timeout);
}

/* ---- dat_ep_disconnect ---- */

static DAT_RETURN disconnect(struct dapl_ep *ep, bool graceful)
{
	struct dapl_ep_step step;
	DAT_RETURN rc;
	bool drain;

	dapl_assert_mutex_held(&ep->cold->cm_lock);
	rc = dapl_ep_lock_and_fire(ep, graceful ? DAPL_EP_DISCONNECT_GRACEFUL : DAPL_EP_DISCONNECT,
				   &step);
	if (rc || step.verdict == DAPL_EP_STAY)
		return rc;
	drain = step.next == DAT_EP_STATE_DISCONNECT_PENDING;
	if (drain)
		dapl_ep_await_drain(ep);
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
	if (ep->qp.ud)
		return DAT_SUCCESS; /* IBX-64 */
	pthread_mutex_lock(&ep->cold->cm_lock);
	rc = disconnect(ep, flags == DAT_CLOSE_GRACEFUL_FLAG);
	pthread_mutex_unlock(&ep->cold->cm_lock);
	return rc;
}
