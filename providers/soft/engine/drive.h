/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Who moves a connection's data.
 *
 * One thread at a time: its driver, who has soft_qp.lock and serves (dapl/base/lock.h). Who finds
 * one leaves with him what he wants done, and the driver does that before he unlocks. Others take
 * the lock for moments only, to change what the driver works on: they are waited for, and neither
 * their taking it nor their unlocking it moves anything.
 *
 * Who posts drives at once. For what comes in it is the thread that polls or waits on a CQ of the
 * connection, or else the adapter's service thread. The service thread watches each connection for
 * one event at a time. When one comes and a thread of the program was there since the last time,
 * the connection is handed over to it: it is not watched, but looked at as long as somebody polls,
 * soon at first and then every LOOK_MAX_NS, of many less often, and once more after each wait. A
 * connection whose CQs nobody polled in between nor waits on is taken back, of many a few at each
 * look. A poll that finds nothing to do is not polling yet: a program that looks at its memory for
 * what peers write, and takes the completions of its own requests now and then, leaves its
 * connections to the service thread, which serves them as they come. One that another thread drives
 * each time that something comes, for long, is handed over as well. Who asks a CQ for notification
 * neither polls nor waits: its connections are the service thread's.
 */
#ifndef SOFT_DRIVE_H
#define SOFT_DRIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "dapl/transport.h"
#include "providers/soft/engine/conn.h"
#include "providers/soft/engine/qp.h"
#include "providers/soft/link/link.h"

struct soft_conn;
struct soft_cq;
struct soft_dev;
struct soft_link;
struct soft_qp;
struct soft_member;

/* Of soft_qp.due, and asked of who has soft_qp.lock and drives. */
enum {
	SOFT_DRIVE_RX = 0x08, /* take in what has come */
	SOFT_DRIVE_TX = 0x10, /* send what is posted */
};

/* Has this done, by this thread or by the one that drives. The lock is not held. */
void soft_drive(struct soft_qp *qp, uint32_t what);
/* Has a request sent by this thread, past the queue (soft_request_at_once), unless somebody drives:
 * whether that was done. */
bool soft_drive_post(struct soft_qp *qp, const struct tp_wr *wr);
/* For who polls cq: does that, unless somebody drives. Whether anything moved. */
bool soft_drive_poll(struct soft_qp *qp, struct soft_cq *cq, uint32_t what);

/* ---- On the loop ---- */

void soft_drive_init(struct soft_dev *dev);
void soft_drive_stop(struct soft_dev *dev);
/* A connection opens; it is in soft_dev.conns. */
void soft_drive_open(struct soft_conn *conn);
/* Drives it and waits for the next event. */
void soft_drive_serve(struct soft_conn *conn);
/* It is no longer to be driven. */
void soft_drive_forget(struct soft_conn *conn);

/* ---- Any thread ---- */

/*
 * A CQ's thread is no longer there to be relied on: has the service thread look, at once or in
 * LOOK_MAX_NS.
 */
void soft_drive_look(struct soft_dev *dev, bool now);

/* ---- What the loop and the epoll sets of CQs are told of a link (watch.c) ---- */

/* What the connection waits for: EPOLLIN, EPOLLOUT; */
static inline uint32_t soft_watch_wanted(const struct soft_conn *conn)
{
	return (atomic_load(&conn->rx_stalled) ? 0 : EPOLLIN) |
	       (atomic_load(&conn->link->stalled) ? EPOLLOUT : 0);
}
/* that has changed. */
void soft_watch_update(struct soft_conn *conn);
/* Ditto for the epoll sets of its CQs alone. */
void soft_watch_update_cqs(struct soft_conn *conn);
/* The loop watches for the next event. */
void soft_watch_loop(struct soft_conn *conn);
/* A CQ's epoll set watches from now on, and no more; conn->lock held. -errno. */
int soft_watch_add(struct soft_member *member);
void soft_watch_remove(struct soft_member *member);

#endif
