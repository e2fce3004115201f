/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Prints the tunables of the modules that serve the named IAs, which need not open. */
#include <stdint.h>
#include <stdio.h>

#define DATS_WEAK
#include "dat/dats.h"

int main(int argc, char **argv)
{
	DAT_EVD_HANDLE evd;
	DAT_IA_HANDLE ia;
	int i;

	for (i = 1; i < argc; i++) {
		evd = DAT_HANDLE_NULL;
		dat_ia_open(argv[i], 8, &evd, &ia);
	}
	return dats_control_run("settings", stdout) ? 1 : 0;
}
