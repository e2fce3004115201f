/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Common service points: named by address and port, with a communicator as sockets have. */
#include <netinet/in.h>
#include <string.h>

#include "dapl/base/status.h"
#include "dapl/connect/addr.h"
#include "dapl/connect/cr.h"
#include "dapl/connect/sp.h"
#include "dapl/object/ia.h"

const struct dapl_class dapl_csp_class = {
	DAPL_CLASS(CSP),
	.uses = dapl_sp_uses,
	.describe = dapl_sp_describe,
	.end = dapl_sp_end,
};

static int arrive(struct dapl_sp *sp, struct tp_conn *conn, const struct tp_conn_request *req)
{
	return dapl_cr_arrive(sp, conn, req, false);
}

/* CSP-3: the IA's own address, or the wildcard. */
static bool is_local(const struct dapl_ia *ia, const struct sockaddr *addr)
{
	const struct sockaddr *own = (const struct sockaddr *)&ia->attr->addr;
	const struct in6_addr *addr6 = &((const struct sockaddr_in6 *)addr)->sin6_addr;
	uint32_t addr4 = ((const struct sockaddr_in *)addr)->sin_addr.s_addr;

	if (addr->sa_family == AF_INET)
		return addr4 == htonl(INADDR_ANY) ||
		       addr4 == ((const struct sockaddr_in *)own)->sin_addr.s_addr;
	return IN6_IS_ADDR_UNSPECIFIED(addr6) ||
	       IN6_ARE_ADDR_EQUAL(addr6, &((const struct sockaddr_in6 *)own)->sin6_addr);
}

static DAT_RETURN check_address(const struct dapl_ia *ia, const struct sockaddr *addr)
{
	if (addr->sa_family != ia->attr->addr.ss_family)
		return dapl_fail(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED);
	if (!is_local(ia, addr))
		return dapl_fail(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED);
	return DAT_SUCCESS;
}

static struct sockaddr_storage copy_address(const struct sockaddr *addr)
{
	struct sockaddr_storage copy = { .ss_family = addr->sa_family };

	memcpy(&copy, addr,
	       addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					   : sizeof(struct sockaddr_in));
	return copy;
}

/* The codes of a qualifier as those of a port (CSP-4). */
static DAT_RETURN as_port(DAT_RETURN rc)
{
	switch (DAT_GET_TYPE(rc)) {
	case DAT_CONN_QUAL_IN_USE:
		return dapl_fail(DAT_PORT_IN_USE, DAT_NO_SUBTYPE);
	case DAT_CONN_QUAL_UNAVAILABLE:
		return DAPL_NO_RESOURCE(DEVICE);
	default:
		return rc;
	}
}

static DAT_RETURN create_on(struct dapl_ia *ia, DAT_COMM *comm, DAT_IA_ADDRESS_PTR address,
			    struct dapl_evd *evd, DAT_CSP_HANDLE *csp_handle)
{
	const struct sockaddr *addr = (const struct sockaddr *)address;
	struct dapl_csp *csp;
	DAT_RETURN rc;

	if (!comm)
		return DAPL_BAD_ARG(2);
	if (!address)
		return DAPL_BAD_ARG(3);
	if (!csp_handle)
		return DAPL_BAD_ARG(5);
	rc = dapl_check_comm(ia, comm);
	if (!rc)
		rc = check_address(ia, addr);
	if (rc)
		return rc;
	csp = dapl_object_alloc(sizeof(*csp));
	if (!csp)
		return DAPL_NO_RESOURCE(MEMORY);
	csp->sp.arrive = arrive;
	csp->sp.evd = evd;
	csp->sp.conn_qual = dapl_addr_port(addr);
	csp->comm = *comm;
	csp->addr = copy_address(addr);
	rc = as_port(dapl_sp_listen(&csp->sp, &dapl_csp_class, ia));
	if (!rc)
		*csp_handle = csp;
	return rc;
}

DAT_RETURN dapl_csp_create(DAT_IA_HANDLE ia_handle, DAT_COMM *comm, DAT_IA_ADDRESS_PTR address,
			   DAT_EVD_HANDLE evd_handle, DAT_CSP_HANDLE *csp_handle)
{
	struct dapl_evd *evd;
	struct dapl_ia *ia;
	DAT_RETURN rc;

	rc = dapl_sp_parts(ia_handle, evd_handle, &ia, &evd);
	if (rc)
		return rc;
	rc = create_on(ia, comm, address, evd, csp_handle);
	dapl_object_unuse(&evd->obj);
	return rc;
}

/* The address as given, with the port that was chosen where it had none. */
static DAT_IA_ADDRESS_PTR address_with_port(struct dapl_csp *csp)
{
	in_port_t port = htons((uint16_t)dapl_sp_qual(&csp->sp));
	pthread_mutex_t *lock = &csp->sp.obj.ia->lock;

	pthread_mutex_lock(lock);
	/* Once, since the consumer may be reading what an earlier query returned. */
	if (!dapl_addr_port((const struct sockaddr *)&csp->addr)) {
		if (csp->addr.ss_family == AF_INET6)
			((struct sockaddr_in6 *)&csp->addr)->sin6_port = port;
		else
			((struct sockaddr_in *)&csp->addr)->sin_port = port;
	}
	pthread_mutex_unlock(lock);
	return (DAT_IA_ADDRESS_PTR)&csp->addr;
}

DAT_RETURN dapl_csp_query(DAT_CSP_HANDLE csp_handle, DAT_CSP_PARAM_MASK mask, DAT_CSP_PARAM *param)
{
	struct dapl_csp *csp;
	DAT_RETURN rc;

	csp = dapl_object_query(csp_handle, &dapl_csp_class, mask, param, &rc);
	if (!csp)
		return rc;
	*param = (DAT_CSP_PARAM){
		.ia_handle = dapl_ia_handle(csp->sp.obj.ia),
		.comm = &csp->comm,
		.address_ptr = address_with_port(csp),
		.evd_handle = csp->sp.evd,
	};
	return DAT_SUCCESS;
}

DAT_RETURN dapl_csp_free(DAT_CSP_HANDLE csp_handle)
{
	return dapl_ia_free(csp_handle, &dapl_csp_class);
}
