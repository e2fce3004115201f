/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Threads of ours, and what they stand on. Its service to transports is declared in
 * dapl/transport.h. */
#ifndef DAPL_THREAD_H
#define DAPL_THREAD_H

#include <pthread.h>
#include <stddef.h>

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
