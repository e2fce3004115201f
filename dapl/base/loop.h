/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The service thread of an open IA. Its services to transports are declared in dapl/transport.h. */
#ifndef DAPL_LOOP_H
#define DAPL_LOOP_H

#include "dapl/base/clock.h"

/* 0 or a negative errno. The thread itself starts at the first need. */
int dapl_loop_create(struct dapl_loop **loop);
/* Ends the thread. Nothing is watched, posted or timed any more. */
void dapl_loop_destroy(struct dapl_loop *loop);

#endif
