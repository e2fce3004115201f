/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What sizes.c measures over: two connected ends in this process, 0 and 1, each with memory of its
 * own. Whatever fails is told on standard error and ends the process.
 */
#ifndef VM_SIZES_H
#define VM_SIZES_H

#include <stddef.h>

#define SIZES_MOST  ((size_t)1 << 20)
#define SIZES_DEPTH 16

struct sizes_ops {
	void (*open)(const char *where);
	void (*post_recv)(int side, size_t size);
	void (*post_send)(int side, size_t size);
	void (*post_write)(int side, size_t size); /* into the other's memory */
	/* Polls until one has completed, which is a success. */
	void (*reap_recv)(int side);
	void (*reap_request)(int side);
	/* So many more ends, not connected, of SIZES_DEPTH requests and receives of one segment
	 * each, with completion queues of their own. They are left to the end of the process. */
	void (*crowd)(int num);
	/* Connects two more ends, one after the other num times, each time from nothing but their
	 * completion queues to nothing again. */
	void (*connect)(int num);
	void (*close)(void);
};

extern const struct sizes_ops sizes_dat, sizes_verbs;

#endif
