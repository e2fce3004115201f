/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The static registry: what dat.conf says, read once per process at the first need (REG-5). */
#ifndef DAT_STATIC_H
#define DAT_STATIC_H

#include "dat/conf.h"
#include "dat/loader.h"
#include "dat/object.h"

#include <pthread.h>

/* A line of the file and what became of its library. The registry's lock covers all but conf. */
struct dat_source {
	struct dat_conf_entry conf;
	struct dat_module module;
	struct dat_object object; /* the module's; until it is loaded, none */
	unsigned int num_objects; /* that were there before what is being done */
	int busy;		  /* a thread is running init or fini, without the lock (REG-7) */
	pthread_t busy_thread;
	int said; /* that it is of DAT 1.2 and serves nobody (D12-106) */
};

struct dat_static {
	const char *path; /* the file they come from; NULL: none read */
	int is_unread;	  /* it could not be read, as was said */
	struct dat_source *sources;
	size_t num_sources;
	struct dat_conf_entry *passed_over; /* lines that programs do not get (REG-19) */
	size_t num_passed_over;
};

/*
 * Reads the file if that has not been done, and says what is wrong with it. A file that could not
 * be read for lack of memory or descriptors is read again by the next call.
 */
const struct dat_static *dat_static_get(void);

/* What has been read so far; nothing before the first dat_static_get. */
const struct dat_static *dat_static_peek(void);

#endif
