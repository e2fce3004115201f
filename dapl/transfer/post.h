/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Posting to an endpoint. */
#ifndef DAPL_POST_H
#define DAPL_POST_H

#include <stdarg.h>

#include "dapl/transfer/request.h"

/* The general way: any request whose arguments are checked. */
DAT_RETURN dapl_request_post(const struct dapl_request *rq);
/* A call of the InfiniBand extension; args are those of its macro in dat_ib_extensions.h. */
DAT_RETURN dapl_post_extended(const struct dapl_operation *op, DAT_HANDLE ep, va_list args);

#endif
