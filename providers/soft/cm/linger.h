/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Links whose connection is over. */
#ifndef SOFT_LINGER_H
#define SOFT_LINGER_H

#include <stddef.h>
#include <stdint.h>

struct soft_dev;
struct soft_link;

/*
 * Takes the link: sends the bytes of out (malloced, freed here, may be NULL), ends our direction,
 * discards what comes until the peer has ended too, and closes. The last tail bytes that were sent
 * before, and those of out, are of no request that completed. A peer whose host has the others may
 * take the time of option linger; one that stands still may take any. On the loop.
 */
void soft_linger(struct soft_link *link, uint8_t *out, size_t len, uint64_t tail);
/* Whether a peer's host does not have all that completed; arg: the device. On the loop. */
int soft_linger_busy(void *arg);
/* Closes all links of the device; what is in a socket is the kernel's to deliver. On the loop. */
void soft_linger_stop(struct soft_dev *dev);

#endif
