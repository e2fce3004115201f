/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DAPL_CONNECT_H
#define DAPL_CONNECT_H

#include <dat/udat.h>

#include "dapl/transport.h"

/* The tp_upcalls.conn_event of the core. */
void dapl_ep_conn_event(void *ep, enum tp_conn_event event, int err, const void *data,
			uint32_t len);

DAT_RETURN dapl_ep_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR remote, DAT_CONN_QUAL qual,
			   DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
			   const DAT_PVOID private_data, DAT_QOS qos, DAT_CONNECT_FLAGS flags);
DAT_RETURN dapl_ep_dup_connect(DAT_EP_HANDLE ep, DAT_EP_HANDLE dup, DAT_TIMEOUT timeout,
			       DAT_COUNT private_data_size, const DAT_PVOID private_data,
			       DAT_QOS qos);
DAT_RETURN dapl_ep_common_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR remote, DAT_TIMEOUT timeout,
				  DAT_COUNT private_data_size, const DAT_PVOID private_data);
DAT_RETURN dapl_ep_disconnect(DAT_EP_HANDLE ep, DAT_CLOSE_FLAGS flags);

#endif
