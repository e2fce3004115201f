/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Binds of RMRs as requests of an endpoint. */
#ifndef DAPL_BIND_H
#define DAPL_BIND_H

#include "dapl/object/object.h"

DAPL_CALL(rmr_bind);

#endif
