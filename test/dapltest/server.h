/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The server: listens, gives each client a session, ends when a client or a signal asks it to. */
#ifndef DAPLTEST_SERVER_H
#define DAPLTEST_SERVER_H

#include "params.h"

int dt_server_run(struct dt_params *params);

#endif
