/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The connection manager's part of a device, and what it does for all connections. */
#ifndef SOFT_CM_H
#define SOFT_CM_H

#include <stdbool.h>
#include <stdint.h>

#include "dapl/transport.h"
#include "providers/soft/cm/budget.h"
#include "util/list.h"

struct soft_dev;

/* The loop's. */
struct soft_cm {
	struct list awaiting; /* accepted connections whose peer is to confirm */
	bool confirming;      /* these are being looked at */
	struct list orphans;
	struct soft_budget budget[SOFT_BUDGETS];
};

/* 0 or -ENOMEM. */
int soft_cm_open(struct soft_dev *dev);
/*
 * Gives peers the time of option linger to take in what they were sent, unless on the loop. The
 * kernel tells nobody that the last byte was acknowledged, so it is asked in intervals.
 */
void soft_cm_settle(struct soft_dev *dev);
/* Closes what is left. On the loop. */
void soft_cm_stop(struct soft_dev *dev);

void soft_disconnect(struct tp_conn *conn, bool graceful);
void soft_release(struct tp_conn *conn);
void soft_conn_addr(struct tp_conn *conn, struct tp_conn_addr *addr);

#endif
