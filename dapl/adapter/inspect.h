/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The control command "objects" (dat/dats.h): the IAs of the module that are open, and what they
 * have. */
#ifndef DAPL_INSPECT_H
#define DAPL_INSPECT_H

/*
 * Adds the command. Its answer is a line per object: its kind, then KEY=VALUE, with tabs between;
 * a reader skips keys that it does not know. An IA comes before what belongs to it.
 *
 *   ia   ia (its handle), name, address, closing, how many it has of each kind of object, and its
 *        counters that are not 0, by the names of dat_ib_extensions.h
 *   ep   ia, ep (its handle), state; and unless the EP was too busy to be looked at: local and
 *        remote (address and qualifier, of an EP that has a peer), recv_evd, request_evd,
 *        connect_evd, recvs, max_recvs, requests, max_requests (outstanding, and how many may be),
 *        connects, disconnects; posted by it: sends, sent_bytes, writes, written_bytes, reads,
 *        read_bytes, atomics; completed, unless the dispatcher was too busy: received,
 *        received_bytes. And errors, flushed: completions that failed
 *   evd  ia, evd, streams, qlen, events (kept by the core, without what the device still has),
 *        waiter, disabled, overflowed, cno
 *   psp, rsp, csp   ia, sp, qual, evd, listening
 */
void dapl_inspect_offer(void);

#endif
