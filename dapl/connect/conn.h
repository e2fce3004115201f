/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the connection calls of endpoints, service points and requests check alike. */
#ifndef DAPL_CONN_H
#define DAPL_CONN_H

#include <sys/socket.h>

#include "dapl/object/ia.h"

#define DAPL_ADDR_LEN 96

/* PD-2: 0, or the failure for the argument that is wrong. */
DAT_RETURN dapl_check_private_data(const struct dapl_ia *ia, DAT_COUNT size, const void *data,
				   DAT_RETURN bad_size, DAT_RETURN bad_data);
/* Best effort is all there is: bad_arg for an undefined value, else DAT_MODEL_NOT_SUPPORTED. */
DAT_RETURN dapl_check_qos(DAT_QOS qos, DAT_RETURN bad_arg);
/* CSP-2, EP-89: whether a communicator means this IA's kind of connections. */
DAT_RETURN dapl_check_comm(const struct dapl_ia *ia, const DAT_COMM *comm);
/* The port of an AF_INET or AF_INET6 address, in host byte order. */
uint16_t dapl_addr_port(const struct sockaddr *addr);
/* An address and qualifier as text for messages. */
void dapl_addr_text(const struct sockaddr_storage *addr, uint64_t qual, char text[DAPL_ADDR_LEN]);

#endif
