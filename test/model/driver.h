/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Runs one program against the library, step by step beside the model. */
#ifndef DRIVER_H
#define DRIVER_H

#include "test/model/program.h"

enum {
	MAX_STEPS = 200000,
};

/* A program, how to run it, and what came of it. Lies in memory that survives the process. */
struct run {
	uint64_t seed;
	uint32_t random; /* steps to make up; 0: run those that are here */
	uint32_t sides, two_processes, threads, verbose;
	uint32_t tunables;   /* what the provider is told, see shrink.c; 0: nothing */
	uint32_t deadline_s; /* within this time anything that must happen happens */
	char ia_name[64];
	uint32_t count; /* steps: of the program, or made so far */
	uint32_t ended;
	uint64_t completions;
	char error[600]; /* empty: all was right */
	struct step step[MAX_STEPS];
};

/* In a process of its own, before any call of the library. */
void driver_run(struct run *run);

#endif
