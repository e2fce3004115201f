/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Names of codes, for traces and listings. None is ever NULL. */
#ifndef DAPL_CODE_NAMES_H
#define DAPL_CODE_NAMES_H

#include <dat/udat.h>

#include "dapl/transport.h"

/* As the standard's headers spell them; "unknown" for other numbers. */
const char *dapl_event_name(DAT_EVENT_NUMBER number);

/* Of a completion, "" of other events. */
const char *dapl_event_status(const DAT_EVENT *event);

const char *dapl_conn_event_name(enum tp_conn_event event);
const char *dapl_async_event_name(enum tp_async_event event);

#endif
