/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dapl/connect/addr.h"

#include <netinet/in.h>

#include "dapl/base/config.h"
#include "dapl/base/status.h"
#include "trace/log.h"

/* ---- Checks ---- */

DAT_RETURN dapl_check_private_data(const struct dapl_ia *ia, DAT_COUNT size, const void *data,
				   DAT_RETURN bad_size, DAT_RETURN bad_data)
{
	if (size < 0 || (uint32_t)size > ia->attr->max_private_data)
		return bad_size;
	return size && !data ? bad_data : DAT_SUCCESS;
}

DAT_RETURN dapl_check_qos(DAT_QOS qos, DAT_RETURN bad_arg)
{
	const uint32_t known =
		DAT_QOS_HIGH_THROUGHPUT | DAT_QOS_LOW_LATENCY | DAT_QOS_ECONOMY | DAT_QOS_PREMIUM;

	if ((uint32_t)qos & ~known)
		return bad_arg;
	return qos == DAT_QOS_BEST_EFFORT ? DAT_SUCCESS : DAPL_NO_MODEL; /* EP-74 */
}

/*
 * Some adapters' addresses have IPv6's size and family and are none of IPv6: they have a QP's number
 * where those have a flow, which an adapter's own never has, no port, and perhaps no GID (UCM-2).
 */
static bool own_form(const struct dapl_ia *ia)
{
	const struct sockaddr_in6 *own = (const struct sockaddr_in6 *)&ia->attr->addr;

	return own->sin6_family == AF_INET6 && own->sin6_flowinfo;
}

void dapl_addr_forget_qp(struct dapl_ia *ia)
{
	if (own_form(ia))
		((struct sockaddr_in6 *)&ia->attr->addr)->sin6_flowinfo = 0;
}

DAT_RETURN dapl_check_comm(const struct dapl_ia *ia, const DAT_COMM *comm)
{
	if (!own_form(ia) && comm->domain == ia->attr->addr.ss_family &&
	    comm->type == SOCK_STREAM && (!comm->protocol || comm->protocol == IPPROTO_TCP))
		return DAT_SUCCESS;
	return dapl_fail(DAT_COMM_NOT_SUPPORTED, DAT_NO_SUBTYPE);
}

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

static int version(sa_family_t family)
{
	return family == AF_INET6 ? 6 : 4;
}

DAT_RETURN dapl_check_remote(const struct dapl_ia *ia, const struct sockaddr *remote)
{
	DAT_RETURN rc;

	switch (remote->sa_family) {
	case AF_INET:
		rc = check_inet((const struct sockaddr_in *)remote);
		break;
	case AF_INET6:
		rc = own_form(ia) ? DAT_SUCCESS : check_inet6((const struct sockaddr_in6 *)remote);
		break;
	default:
		return dapl_fail(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED);
	}
	if (rc || remote->sa_family == ia->attr->addr.ss_family)
		return rc;
	dapl_err("not connecting to an address of IPv%d: the adapter's is one of IPv%d",
		 version(remote->sa_family), version(ia->attr->addr.ss_family));
	return dapl_fail(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE);
}

/* ---- Addresses ---- */

uint16_t dapl_addr_port(const struct sockaddr *addr)
{
	return ntohs(addr->sa_family == AF_INET6 ? ((const struct sockaddr_in6 *)addr)->sin6_port
						 : ((const struct sockaddr_in *)addr)->sin_port);
}

DAT_CONN_QUAL dapl_addr_wire_qual(const struct dapl_ia *ia, DAT_CONN_QUAL conn_qual)
{
	const DAT_CONN_QUAL max_port = 0xffff, first = 33534, num = 32001;

	if (conn_qual <= max_port || ia->attr->max_conn_qual != max_port || dapl_config.strict)
		return conn_qual;
	return conn_qual % num + first;
}
