/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reads and atomics that the peer asks for, from their arrival to the answer. Lock held. */
#ifndef SOFT_RESPONSE_H
#define SOFT_RESPONSE_H

#include <stdbool.h>
#include <stdint.h>

#include "providers/soft/wire/ddp.h"

struct soft_conn;

/* A request has come, and what was sent before it is received; false on a fault. */
bool soft_response_asked(struct soft_conn *conn, const struct soft_ddp *ddp, const uint8_t *data);
/* Adds the next FPDU of the answer under way to the batch; false on a fault. */
bool soft_response_add(struct soft_conn *conn);
/* Memory went away under the oldest answer that is not all sent. */
void soft_response_gone(struct soft_conn *conn);

#endif
