/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DAPL_CONNECT_H
#define DAPL_CONNECT_H

#include <stdarg.h>

#include "dapl/object/object.h"
#include "dapl/transport.h"

/* The tp_upcalls.conn_event of the core. */
void dapl_ep_conn_event(void *ep, enum tp_conn_event event, int err, const void *data,
			uint32_t len);
/* The macro of dat_iw_extensions.h of that name. */
DAT_RETURN dapl_ext_socket_connect(DAT_HANDLE ep, va_list args);

#endif
