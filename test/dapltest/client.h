/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The client: asks a server for a test and runs its side of it. */
#ifndef DAPLTEST_CLIENT_H
#define DAPLTEST_CLIENT_H

#include "params.h"

/* Returns 0 when all that was asked for succeeded on both sides. */
int dt_client_run(struct dt_params *params);

#endif
