/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls of the C library that fail on demand. The wrappers are the program's, so that the loader
 * finds them before the C library; only calls that libdat2 and the providers make are counted and
 * can fail.
 */
#ifndef FAULTS_INTERPOSE_H
#define FAULTS_INTERPOSE_H

#include <stdbool.h>
#include <stddef.h>

/* One way in which one call can fail. */
struct fault {
	const char *call;
	int error; /* errno, or what the call returns in its place; 0: half of what was asked for */
};

/* All of them, grouped by call. */
extern const struct fault faults[];
extern const size_t num_faults;

/* Finds the libraries that are loaded by now: theirs are the calls that count from here on. */
void interpose_start(void);
/* How often the call of faults[fault] was made since interpose_start. */
unsigned int interpose_calls(size_t fault);
/* Call number at (from 1) of faults[fault] will fail, once; 0: none will. */
void interpose_arm(size_t fault, unsigned int at);
/* Whether it did. */
bool interpose_failed(void);
/* Where: a file and an offset in it; "" before. */
const char *interpose_site(void);
/*
 * Steps: calls of the libraries that have a wrapper, whether they can fail or not, and whatever
 * the program calls one.
 */
void interpose_step(void);
unsigned int interpose_steps(void);
/* The process sends itself a signal before step number at (from 1). */
void interpose_signal(unsigned int at, int number);
/* Blocks of memory that the libraries have allocated and not freed. */
int interpose_blocks(void);
/* Objects of libibverbs and librdmacm. */
int interpose_objects(void);

#endif
