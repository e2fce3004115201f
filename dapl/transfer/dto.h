/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completions as events. */
#ifndef DAPL_DTO_H
#define DAPL_DTO_H

#include "dapl/event/completion.h"

/* Operations of a slot beyond DAT_DTOS and DAT_IB_DTOS. */
#define DAPL_OP_BIND DAT_DTO_BIND_MW

/* The dapl_slot.complete of an EP's own slots. */
void dapl_dto_complete(const struct tp_wc *wc, struct dapl_event *event);
/* The same for a receive from an SRQ, but that its slot and leave are the SRQ's. */
void dapl_dto_complete_shared(const struct tp_wc *wc, struct dapl_event *event);

#endif
