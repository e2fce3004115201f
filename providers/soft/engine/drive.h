/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Who drives a connection. */
#ifndef SOFT_DRIVE_H
#define SOFT_DRIVE_H

#include <stdint.h>

#include "dapl/transport.h"

struct soft_conn;
struct soft_link;

/* What changed in what the connection waits for (rx.stalled, qp->tx_stalled) is taken account of.
 */
void soft_progress_watch(struct soft_conn *conn);
/* Ditto, for the epoll sets of its CQs alone, whose owner drove it just now. */
void soft_progress_doze(struct soft_conn *conn);
/* The link of a live connection is ready. */
void soft_progress_ready(struct soft_link *link, uint32_t events);
/* Drives it on the loop and waits for the next event. On the loop. */
void soft_progress_serve(struct soft_conn *conn);
/* It is no longer to be driven. On the loop. */
void soft_progress_forget(struct soft_conn *conn);
void soft_progress_tick(struct tp_timer *timer);
void soft_progress_kick(struct tp_task *task);
void soft_progress_pulse(struct tp_timer *timer);

#endif
