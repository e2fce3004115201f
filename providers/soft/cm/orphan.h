/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Orphans: links whose connection is over. The last bytes go out, then our end; what still comes is
 * discarded until the peer has ended too. Closing at once would let the kernel answer unread data
 * with a reset, and the peer would lose what it had not read (EP-98, FL-13).
 *
 * What was completed with success is in the socket and may be long in coming out of it: a peer that
 * stands still has no room for it. As long as its host answers the link stays. For the rest, and
 * for the peer's end, there is the time of option linger. All on the loop.
 */
#ifndef SOFT_ORPHAN_H
#define SOFT_ORPHAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct soft_dev;
struct soft_link;

/*
 * Takes the link, sends out (malloced, freed here, may be NULL) and ends. The last tail bytes that
 * were sent before, and those of out, are of no request that completed.
 */
void soft_orphan(struct soft_link *link, uint8_t *out, size_t len, uint64_t tail);
/* Whether a peer's host does not have all that completed. */
bool soft_orphans_undelivered(const struct soft_dev *dev);
/* Closes all links of the device; what is in a socket is the kernel's to deliver. */
void soft_orphans_close(struct soft_dev *dev);

#endif
