/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A page that people look at: latency and bandwidth of every operation against size, with plots. */
#ifndef DAPLTEST_PAGE_H
#define DAPLTEST_PAGE_H

#include "params.h"

/* Runs the sweeps against params->server and writes params->report, with two PNG files beside it.
 */
int dt_page_run(struct dt_params *params);

#endif
