/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The program's signal dispositions, which libraries that come with a module may change. */
#ifndef DAT_SIGNALS_H
#define DAT_SIGNALS_H

#include <signal.h>

struct dat_signals {
	struct sigaction was[_NSIG];
	unsigned int num_objects; /* that were loaded then */
};

void dat_signals_save(struct dat_signals *signals);
/*
 * What libraries that were loaded since have set is put back: their handlers, and that a signal is
 * ignored. What the program has set meanwhile, on another thread, stays.
 */
void dat_signals_restore(const struct dat_signals *signals, const char *library);

#endif
