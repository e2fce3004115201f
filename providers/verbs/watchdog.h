/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Looks at connections whose completions nobody asks for: requests that fail would fail unheard
 * (EP-144), and so would more completions than there is room for (EVD-95).
 */
#ifndef VERBS_WATCHDOG_H
#define VERBS_WATCHDOG_H

#include "providers/verbs/device.h"

void vrb_watchdog_init(struct vrb_dev *dev);
void vrb_watchdog_stop(struct vrb_dev *dev);
/* A connection was established; ended. */
void vrb_watchdog_add(struct vrb_dev *dev);
void vrb_watchdog_remove(struct vrb_dev *dev);

#endif
