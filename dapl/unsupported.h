/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* For the tables of a transport: what it does not support answers -EOPNOTSUPP. */
#ifndef DAPL_UNSUPPORTED_H
#define DAPL_UNSUPPORTED_H

#include "dapl/transport.h"

extern const struct dapl_mw_ops dapl_unsupported_mw_ops;
extern const struct dapl_srq_ops dapl_unsupported_srq_ops;
int dapl_unsupported_read_counters(struct tp_device *dev, enum tp_counters group, uint64_t *value,
				   uint32_t num);
int dapl_unsupported_reset(struct tp_qp *qp);
int dapl_unsupported_limit_recv(struct tp_qp *qp, uint32_t soft, uint32_t hard);
int dapl_unsupported_handoff(struct tp_conn *conn, uint64_t conn_qual);
void dapl_unsupported_free_ah(struct tp_device *dev, void *ah);

#endif
