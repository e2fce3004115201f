/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What an input must not bring about ends the harness with the place. */
#ifndef TEST_FUZZ_INSIST_H
#define TEST_FUZZ_INSIST_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define insist(what)                                                                           \
	do {                                                                                   \
		if (!(what)) {                                                                 \
			fprintf(stderr, "%s:%d: not so: %s (errno: %s)\n", __FILE__, __LINE__, \
				#what, strerror(errno));                                       \
			abort();                                                               \
		}                                                                              \
	} while (0)

#endif
