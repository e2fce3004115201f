/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A library that stands before libdat2 and takes its calls by their versioned names: what libdat asks
 * of libdat2 is seen, and what libdat2 answers is chosen. Calls are words, six in registers and up to
 * six on the stack, so that no header of either version is needed.
 */
#ifndef FAKE_H
#define FAKE_H

#include <stddef.h>
#include <stdint.h>

#define FAKE_WORDS 12

#pragma GCC visibility push(default)

/* The last call that was taken. */
struct fake_call {
	const char *name;
	uint64_t words[FAKE_WORDS];
	unsigned char seen[1024]; /* of what the argument that fake_look names pointed to */
};
extern struct fake_call fake_last;
extern unsigned int fake_calls; /* since fake_answer */

/* From now on every call does nothing and answers this word. */
void fake_answer(uint32_t word);
/* Also, it puts these bytes where its argument, from 0, points to; up to three of them. */
void fake_put(unsigned int argument, const void *bytes, size_t len);
/* Also, it keeps what its argument points to. */
void fake_look(unsigned int argument, size_t len);
/* After so many calls the answer is another one. */
void fake_then(unsigned int calls, uint32_t word);
/* Calls go to libdat2 again. */
void fake_off(void);

#pragma GCC visibility pop

#endif
