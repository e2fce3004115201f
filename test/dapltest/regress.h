/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command forms that users run, all of them, against one server. */
#ifndef DAPLTEST_REGRESS_H
#define DAPLTEST_REGRESS_H

#include "params.h"

int dt_regress_run(struct dt_params *params);

#endif
