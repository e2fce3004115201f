/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Prints what a command of the control channel ("settings", "points") answers in this process, with
 * the modules loaded that serve the named IAs, which need not open:  run-command COMMAND IA...
 */
#include <stdint.h>
#include <stdio.h>

#define DATS_WEAK
#include "dat/dats.h"

#define MAX_IAS 64

int main(int argc, char **argv)
{
	DAT_IA_HANDLE ia[MAX_IAS];
	int i, num = 0, result;
	DAT_EVD_HANDLE evd;

	if (argc < 2 || argc > 2 + MAX_IAS)
		return 2;
	for (i = 2; i < argc; i++) {
		evd = DAT_HANDLE_NULL;
		if (dat_ia_open(argv[i], 8, &evd, &ia[num]) == DAT_SUCCESS)
			num++;
	}
	result = dats_control_run(argv[1], stdout) ? 1 : 0;
	while (num)
		dat_ia_close(ia[--num], DAT_CLOSE_ABRUPT_FLAG);
	return result;
}
