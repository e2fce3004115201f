/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The tp_upcalls of the core. */
#ifndef DAPL_UPCALLS_H
#define DAPL_UPCALLS_H

#include "dapl/transport.h"

extern const struct tp_upcalls dapl_upcalls;

#endif
