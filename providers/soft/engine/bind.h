/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Bindings of memory windows as requests of a QP. */
#ifndef SOFT_BIND_H
#define SOFT_BIND_H

#include "dapl/transport.h"

struct soft_conn;
struct soft_dev;

/* soft_stags.quiesce: passes through the locks of all QPs of the device. */
void soft_bind_quiesce(struct soft_dev *dev);
/*
 * The next request binds a window of PD scope that is bound: unbinds it, waits until nobody uses
 * it, and lets the binding go on. On the loop.
 */
void soft_bind_clear(struct soft_conn *conn);
extern const struct dapl_mw_ops soft_mw_ops;

#endif
