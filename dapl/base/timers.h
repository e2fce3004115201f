/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Timers by deadline: the first is at hand, the others in no order that a caller may count on.
 * Setting and cancelling stay cheap however many are set, and need no memory (a pairing heap).
 */
#ifndef DAPL_TIMERS_H
#define DAPL_TIMERS_H

#include "dapl/base/loop.h"

/* *first: the one with the earliest deadline; NULL: none is set. timer is in none. */
void dapl_timers_add(struct tp_timer **first, struct tp_timer *timer);
/* timer may be set or not. */
void dapl_timers_del(struct tp_timer **first, struct tp_timer *timer);

#endif
