/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The active side of setting up. */
#ifndef SOFT_CONNECT_H
#define SOFT_CONNECT_H

#include "dapl/transport.h"

int soft_connect(struct tp_qp *qp, const struct tp_connect *param, void *owner,
		 struct tp_conn **out);

#endif
