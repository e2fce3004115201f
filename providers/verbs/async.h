/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The device's asynchronous events, on the loop. */
#ifndef VERBS_ASYNC_H
#define VERBS_ASYNC_H

#include "providers/verbs/device.h"

int vrb_async_start(struct vrb_dev *dev);
void vrb_async_stop(struct vrb_dev *dev);
/* Handles what the device has to say now. */
void vrb_async_poll(struct vrb_dev *dev);
/* The kernel took the device away. */
void vrb_async_removed(struct vrb_dev *dev);

#endif
