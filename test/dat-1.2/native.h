/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The harness for programs that are written in DAT 1.2: its calls have the arguments of 1.2. */
#ifndef NATIVE_H
#define NATIVE_H

#include "test/conformance/harness.h"

#undef dat_lmr_create
#undef dat_rmr_bind
#undef dat_cr_reject

#endif
