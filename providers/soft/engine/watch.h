/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the loop and the epoll sets of CQs are told of a connection's link. */
#ifndef SOFT_WATCH_H
#define SOFT_WATCH_H

#include <stdint.h>

struct soft_conn;
struct soft_member;

/* What the connection waits for (rx_stalled, tx_stalled) has changed. */
void soft_watch_update(struct soft_conn *conn);
/* Ditto for the epoll sets of its CQs alone. */
void soft_watch_update_cqs(struct soft_conn *conn);
/* The loop watches for the next event. */
void soft_watch_loop(struct soft_conn *conn);
/* A CQ's epoll set watches from now on, and no more; conn->lock held. -errno. */
int soft_watch_add(struct soft_member *member);
void soft_watch_remove(struct soft_member *member);

#endif
