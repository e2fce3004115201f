/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Asynchronous events of an IA, and the EVD they go to. */
#ifndef DAPL_ASYNC_H
#define DAPL_ASYNC_H

#include "dapl/event/evd.h"
#include "dapl/object/ia.h"

/* Queues an asynchronous error on the IA's async EVD, if it has one (EVT-25). */
void dapl_async_error(struct dapl_ia *ia, DAT_EVENT_NUMBER number, DAT_HANDLE object,
		      DAT_COUNT reason);
/* The same for a watermark that was passed, which is no error (EVT-27). */
void dapl_async_watermark(struct dapl_ia *ia, DAT_HANDLE object, DAT_COUNT reason);
/* The same for an EP that takes no more receives of its SRQ, which is none either. */
void dapl_async_last_receive(struct dapl_ia *ia, DAT_HANDLE ep);

/* As dapl_evd_post, and an overflow is reported to the IA (EVD-94). */
bool dapl_evd_append(struct dapl_evd *evd, const struct dapl_event *event);
/*
 * Moves what an EP has completed from the transport's queue into the ring, so that it stays ahead
 * of a later event (FL-5), or because the EP's slots go. What finds no room is an overflow.
 */
void dapl_evd_drain_ep(struct dapl_evd *evd, const void *ep);
/* Reports that an event was lost (EVD-94). No lock held. */
void dapl_evd_overflow(struct dapl_evd *evd);

/* evd is that of the IA, which is listed, from now on; own: it was made for that. */
void dapl_async_set(struct dapl_ia *ia, struct dapl_evd *evd, bool own);
/* The IA, which is being closed, gives up an EVD that is not its own (IA-85). */
void dapl_async_give_up(struct dapl_ia *ia);
/*
 * An EVD is about to go with the IA that owns it: no other one sends its asynchronous events there
 * any more, nor an EP of another one its connection events (IA-10).
 */
void dapl_async_forget(struct dapl_evd *evd);

#endif
