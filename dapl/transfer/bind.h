/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Binds of RMRs as requests of an endpoint. */
#ifndef DAPL_BIND_H
#define DAPL_BIND_H

#include "dapl/event/completion.h"
#include "dapl/object/object.h"

/* A bind completed: its event; gives the slot back. EVD lock held. */
DAT_EVENT_NUMBER dapl_bind_event(const struct tp_wc *wc, struct dapl_slot *slot,
				 DAT_RMR_BIND_COMPLETION_EVENT_DATA *data);

DAPL_CALL(rmr_bind);

#endif
