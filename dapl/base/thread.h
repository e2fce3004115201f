/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Threads of ours, and what they stand on. */
#ifndef DAPL_THREAD_H
#define DAPL_THREAD_H

#include <pthread.h>
#include <stddef.h>

/* For the stack of a thread that runs no code of the program's. */
#define DAPL_SMALL_STACK ((size_t)256 * 1024)

/* The calling thread is let in at once where another one runs, as far as it may ask for that. */
void dapl_thread_raise_priority(void);
/* And not any more: it is as the program's first thread, as is what it starts. */
void dapl_thread_drop_priority(void);

/*
 * Starts a thread that leaves the program's signals to the program's threads. stack in bytes,
 * beside those of the program's thread-local variables. 0 or an errno.
 */
int dapl_thread_start(pthread_t *thread, const char *name, size_t stack, void *(*run)(void *),
		      void *arg);

/* A thread's stack; zeroed: the system's. */
struct dapl_stack {
	void *memory;
	size_t size; /* in bytes, with its guard page */
};

/*
 * As dapl_thread_start, for a thread that runs the program's code too: with all the stack that the
 * system gives, but none of it in huge pages, and from *stack, which is to be zeroed.
 */
int dapl_thread_start_on(struct dapl_stack *stack, pthread_t *thread, const char *name,
			 void *(*run)(void *), void *arg);
/* When its thread has been joined, or was not started. */
void dapl_stack_free(struct dapl_stack *stack);

#endif
