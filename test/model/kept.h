/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Makes a test of a program that once failed, as main.c prints it. */
#ifndef KEPT_H
#define KEPT_H

#include "test/model/step.h"

int kept_main(int argc, char **argv, const struct step *steps, size_t count, unsigned int sides,
	      unsigned int two_processes, unsigned int threads);

#define KEPT(program, sides, two_processes, threads)                                          \
	int main(int argc, char **argv)                                                       \
	{                                                                                     \
		return kept_main(argc, argv, program, sizeof(program) / sizeof((program)[0]), \
				 sides, two_processes, threads);                              \
	}

#endif
