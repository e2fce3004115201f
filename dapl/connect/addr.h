/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Checks of the arguments that connection calls share, and addresses. */
#ifndef DAPL_ADDR_H
#define DAPL_ADDR_H

#include <sys/socket.h>

#include "dapl/object/ia.h"

/* PD-2: 0, or the failure for the argument that is wrong. */
DAT_RETURN dapl_check_private_data(const struct dapl_ia *ia, DAT_COUNT size, const void *data,
				   DAT_RETURN bad_size, DAT_RETURN bad_data);
/* Best effort is all there is: bad_arg for an undefined value, else DAT_MODEL_NOT_SUPPORTED. */
DAT_RETURN dapl_check_qos(DAT_QOS qos, DAT_RETURN bad_arg);
/* CSP-2, EP-89: whether a communicator means this IA's kind of connections. */
DAT_RETURN dapl_check_comm(const struct dapl_ia *ia, const DAT_COMM *comm);
/* EP-70: what is wrong with a remote address at first sight. */
DAT_RETURN dapl_check_remote(const struct dapl_ia *ia, const struct sockaddr *remote);

/* UCM-2: an address that names a QP names none from here on, for an adapter that takes no requests. */
void dapl_addr_forget_qp(struct dapl_ia *ia);

/* The port of an AF_INET or AF_INET6 address, in host byte order. */
uint16_t dapl_addr_port(const struct sockaddr *addr);

/*
 * Under which qualifier the transport knows it. Those beyond a 16-bit port number are mapped onto
 * one as release 2.1.10 does it, so that programs that use them run and meet their old peers; in
 * strict mode they stay what they are: not expressible (PSP-9, EP-71).
 */
DAT_CONN_QUAL dapl_addr_wire_qual(const struct dapl_ia *ia, DAT_CONN_QUAL conn_qual);

#endif
