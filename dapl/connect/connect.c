/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The calls that start a connection. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>

#include "dapl/connect/conn.h"
#include "dapl/object/counters.h"
#include "dapl/endpoint/ep.h"
#include "dapl/object/ia.h"
#include "dapl/base/loop.h"
#include "dapl/connect/sp.h"
#include "dapl/base/status.h"
#include "trace/log.h"

static const struct dapl_cm_ops *cm_of(const struct dapl_ep *ep)
{
	return ep->obj.ia->dev->transport->cm;
}

/* ---- Checks ---- */

static DAT_RETURN bad_arg(unsigned int number)
{
	return dapl_fail(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1 + number - 1);
}

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

DAT_RETURN dapl_check_comm(const struct dapl_ia *ia, const DAT_COMM *comm)
{
	if (comm->domain == ia->attr->addr.ss_family && comm->type == SOCK_STREAM &&
	    (!comm->protocol || comm->protocol == IPPROTO_TCP))
		return DAT_SUCCESS;
	return dapl_fail(DAT_COMM_NOT_SUPPORTED, DAT_NO_SUBTYPE);
}

uint16_t dapl_addr_port(const struct sockaddr *addr)
{
	return ntohs(addr->sa_family == AF_INET6 ? ((const struct sockaddr_in6 *)addr)->sin6_port
						 : ((const struct sockaddr_in *)addr)->sin_port);
}

static DAT_RETURN check_flags(DAT_CONNECT_FLAGS flags)
{
	const uint32_t known = DAT_CONNECT_MULTIPATH_FLAG | DAT_CONNECT_MULTIPATH_REQUIRED_FLAG;

	if ((uint32_t)flags & ~known)
		return DAPL_BAD_ARG(8); /* HA-14 */
	return flags & DAT_CONNECT_MULTIPATH_REQUIRED_FLAG ? DAPL_NO_MODEL
							   : DAT_SUCCESS; /* HA-13 */
}

/* ---- Calls ---- */

/* Starts the attempt; cm_lock held, state A. The consumer's time runs from since (TMO-2). */
static DAT_RETURN start(struct dapl_ep *ep, const struct tp_connect *param, DAT_TIMEOUT timeout,
			uint64_t deadline)
{
	struct dapl_ia *ia = ep->obj.ia;
	int err = cm_of(ep)->connect(ep->qp, param, ep, &ep->conn);

	if (!err) {
		dapl_count(ia, DCNT_IA_CM_REQ_TX);
		ep->cold->connects++;
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

/* What the three calls check alike; timeout is argument first, size and data are the next two. */
static DAT_RETURN check_call(const struct dapl_ep *ep, unsigned int first, DAT_TIMEOUT timeout,
			     DAT_COUNT private_data_size, const void *private_data)
{
	if (!timeout)
		return bad_arg(first);
	return dapl_check_private_data(ep->obj.ia, private_data_size, private_data,
				       bad_arg(first + 1), bad_arg(first + 2));
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
	rc = check_call(ep, 4, timeout, private_data_size, private_data);
	if (!rc)
		rc = dapl_check_qos(qos, DAPL_BAD_ARG(7));
	if (!rc)
		rc = check_flags(flags);
	if (!rc)
		rc = check_address(ep->obj.ia, (const struct sockaddr *)remote);
	if (rc)
		return rc;
	param = (struct tp_connect){ .remote = (const struct sockaddr *)remote,
				     .conn_qual = dapl_sp_wire_qual(ep->obj.ia, qual),
				     .private_data = private_data,
				     .private_data_len = (uint32_t)private_data_size };
	return connect_ep(ep, &param, timeout);
}

/* Whom a connected EP is connected to. */
static DAT_RETURN find_peer(struct dapl_ep *dup, struct tp_conn_addr *peer)
{
	uint8_t state;

	dapl_lock(&dup->lock);
	state = dapl_ep_state(dup);
	*peer = dup->cold->addr;
	dapl_unlock(&dup->lock);
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
	struct tp_connect param;
	DAT_RETURN rc;

	if (!ep || !dup || dup->obj.ia != ep->obj.ia)
		return DAPL_BAD_HANDLE(EP);
	if (!ep->connect_evd)
		return DAPL_BAD_HANDLE(EVD_CONN);
	rc = check_call(ep, 3, timeout, private_data_size, private_data);
	if (!rc)
		rc = dapl_check_qos(qos, DAPL_BAD_ARG(6));
	if (!rc)
		rc = find_peer(dup, &peer);
	if (rc)
		return rc;
	param = (struct tp_connect){ .remote = (const struct sockaddr *)&peer.remote,
				     .conn_qual = peer.remote_qual,
				     .private_data = private_data,
				     .private_data_len = (uint32_t)private_data_size };
	return connect_ep(ep, &param, timeout);
}

DAT_RETURN dapl_ep_common_connect(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote,
				  DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
				  const DAT_PVOID private_data)
{
	const struct sockaddr *addr = (const struct sockaddr *)remote;
	struct dapl_ep *ep = dapl_ep_get(ep_handle);
	struct tp_connect param;
	DAT_RETURN rc;

	if (!ep)
		return DAPL_BAD_HANDLE(EP);
	if (!ep->connect_evd)
		return DAPL_BAD_HANDLE(EVD_CONN);
	if (!remote)
		return DAPL_BAD_ARG(2);
	rc = check_call(ep, 3, timeout, private_data_size, private_data);
	if (!rc)
		rc = dapl_check_comm(ep->obj.ia, &ep->cold->comm);
	if (!rc)
		rc = check_address(ep->obj.ia, addr);
	if (!rc && !dapl_addr_port(addr))
		rc = dapl_fail(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED);
	if (rc)
		return rc;
	param = (struct tp_connect){ .remote = addr,
				     .conn_qual = dapl_addr_port(addr), /* EP-88 */
				     .private_data = private_data,
				     .private_data_len = (uint32_t)private_data_size };
	return connect_ep(ep, &param, timeout);
}
