/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Orphans: links whose connection is over. The last bytes go out, then our end; what still comes is
 * discarded until the peer has ended too. Closing at once would let the kernel answer unread data
 * with a reset, and the peer would lose what it had not read (EP-98, FL-13).
 *
 * What was completed with success is in the socket and may be long in coming out of it: a peer that
 * stands still has no room for it. As long as its host answers the link stays, as it does for the
 * answer to a request that was rejected. Bytes of requests
 * that did not complete are cut off once the peer has taken nothing for the time of option linger:
 * one that posts no Receives must hear of the end, and cannot hear of it in order, for it would be
 * behind them. For the peer's end there is the same time. All on the loop.
 */
#ifndef SOFT_ORPHAN_H
#define SOFT_ORPHAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct soft_conn;
struct soft_dev;
struct soft_link;

/* Takes the link, sends conn->rest and ends. It keeps the connection, and needs no memory. */
void soft_orphan(struct soft_conn *conn, struct soft_link *link);
/* Whether a peer's host does not have all that was to be sent, and would be cut off. */
bool soft_orphans_unsent(const struct soft_dev *dev);
/* Closes all links of the device; what completed and is in a socket is the kernel's to deliver. */
void soft_orphans_close(struct soft_dev *dev);

#endif
