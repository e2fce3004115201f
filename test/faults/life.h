/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The life of a program: two endpoints that use all that the interface has, on one adapter, and let
 * go of it. */
#ifndef FAULTS_LIFE_H
#define FAULTS_LIFE_H

#include <stdbool.h>
#include <stddef.h>

/* What became of it, in memory that outlives the process. */
struct report {
	const char *step;    /* where it is; a constant of the program's */
	char complaint[400]; /* what was wrong; "" where nothing was */
	bool all_told;	     /* the end of a connection and what fails with it count as refused */
	bool refused;	     /* a call returned an error other than DAT_INTERRUPTED_CALL */
	char site[256];	     /* of the call that was made to fail */
	unsigned int calls;  /* interpose_calls at the end of the life */
	int blocks, files;   /* that are left behind */
	int objects;	     /* of verbs' */
};

/*
 * Lives once on the adapter. fault: one call may fail meanwhile, so each call of the interface may
 * be refused once, with a return code that says so, and a connection may end once. Complaints are
 * in report.
 */
void life(const char *adapter, struct report *report, bool fault);

#endif
