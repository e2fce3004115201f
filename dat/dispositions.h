/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The program's signal dispositions, which libraries that come with a module may change. */
#ifndef DAT_DISPOSITIONS_H
#define DAT_DISPOSITIONS_H

#include <signal.h>

struct dat_dispositions {
	struct sigaction was[_NSIG];
	unsigned int num_objects; /* that were loaded then */
};

void dat_dispositions_save(struct dat_dispositions *dispositions);
/*
 * What libraries that were loaded since have set is put back: their handlers, and that a signal is
 * ignored. What the program has set meanwhile, on another thread, stays.
 */
void dat_dispositions_restore(const struct dat_dispositions *dispositions, const char *library);

#endif
