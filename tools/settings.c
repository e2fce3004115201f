/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Prints what a command of the control channel ("settings", "points") answers in this process, with
 * the modules loaded that serve the named IAs, which need not open:  settings COMMAND IA...
 */
#include <stdint.h>
#include <stdio.h>

#define DATS_WEAK
#include "dat/dats.h"

int main(int argc, char **argv)
{
	DAT_EVD_HANDLE evd;
	DAT_IA_HANDLE ia;
	int i;

	if (argc < 2)
		return 2;
	for (i = 2; i < argc; i++) {
		evd = DAT_HANDLE_NULL;
		dat_ia_open(argv[i], 8, &evd, &ia);
	}
	return dats_control_run(argv[1], stdout) ? 1 : 0;
}
